//! Executes the units of a sweep on all cores: the whole, or a part of it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sweep`] | all units to their ends, and the index of what became of them |
//! | [`part`] | some of the jobs of a run or of every unit of a sweep, and the mark that says which |
//!
//! There are as many units at a time as threads, and all share one pool: a unit that ends late
//! still has every core. A unit that fails is recorded by the [`Sink`], and the others go on.

pub mod part;
pub mod sweep;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sordino_engine::{Model, ModelError, Options, Part};
use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::journal::{Journal, SUMMARY};
use sordino_experiment::pool::pool;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::record::Summary;

use crate::execute::{self, ExecuteError, OpenRun, Place};
use crate::sweep::{SweepError, SweepFolder};
use crate::work::Unit;

/// The name of the file that says why a run failed.
const ERROR: &str = "error.txt";
/// A longer summary is not read.
const SUMMARY_BYTES_MAX: u64 = 1 << 26;

/// What was done of a unit.
#[derive(Debug)]
enum Done {
    /// All of it, now or by an earlier execution.
    Whole(Summary),
    /// The jobs of a part.
    Share,
}

/// Why a unit has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    /// It was asked to stop.
    Interrupted,
    /// It cannot be carried out; the text says why.
    Failed(String),
}

/// Takes down how units end. Called from any thread.
trait Sink: Sync {
    /// A unit begins, on a thread of its own.
    fn begins(&self, _unit: &Unit) {}

    /// A unit has ended, well or not.
    ///
    /// **Errors**: what ends everything: a result that cannot be written down.
    fn ends(&self, unit: &Unit, ended: Result<Done, Ended>) -> Result<(), SweepError>;
}

/// Does the work of the units with these numbers, whole or their jobs of `part`, until all are
/// done, one of them cannot be written down, or the flag of the options is set.
///
/// **Errors**: the system's; the first error of the sink; [`SweepError::WorkerLost`].
fn drive(
    folder: &SweepFolder,
    units: &[&Unit],
    part: Option<Part>,
    options: &Options,
    writer: &ProgressWriter,
    sink: &impl Sink,
) -> Result<(), SweepError> {
    let options = Options {
        pool: Some(pool(options.threads).map_err(SweepError::Threads)?),
        ..options.clone()
    };
    let threads = options.pool()?.current_num_threads();
    let points = folder.plan.points();
    spread(threads, units, &options.stop, |unit| {
        sink.begins(unit);
        let ended = caught(|| {
            let model = folder
                .plan
                .load(&points[unit.number])
                .map_err(Ended::failed)?;
            let options = Options {
                share: unit.share(part),
                ..options.clone()
            };
            let path = folder.run(&unit.folder);
            let place = place(&path, &*model, &options)?;
            let told = writer.of_folder(&unit.folder);
            match place {
                Place::Complete if part.is_some() => Err(Ended::failed(format!(
                    "{}: holds a whole run, not a part of one",
                    path.display()
                ))),
                Place::Complete => complete(&path),
                Place::Open(open) if part.is_some() => open
                    .share(&*model, &options, &told)
                    .map(|()| Done::Share)
                    .map_err(|error| Ended::from(ExecuteError::Model(error))),
                Place::Open(open) => whole(open, &*model, &options, &told),
            }
        });
        sink.ends(unit, ended)
    })
}

/// Goes on in the folder of a unit, or begins it; the remains of one that cannot be resumed are
/// removed first.
fn place(path: &Path, model: &dyn Model, options: &Options) -> Result<Place, Ended> {
    if !Journal::is_begun(path) {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Ended::failed(error));
            }
            _ => {}
        }
    }
    let data = options.data.as_deref();
    execute::begin_or_resume(path, model, data).map_err(Ended::failed)
}

/// Executes a whole unit.
fn whole(
    open: OpenRun,
    model: &dyn Model,
    options: &Options,
    told: &dyn sordino_experiment::progress::Progress,
) -> Result<Done, Ended> {
    let path = open.path().to_owned();
    let record = open.execute(model, options, told)?;
    let _ = std::fs::remove_file(path.join(ERROR));
    Ok(Done::Whole(record.summary))
}

/// A unit that was complete before.
fn complete(path: &Path) -> Result<Done, Ended> {
    // One that was tried again may have been killed before it removed this.
    let _ = std::fs::remove_file(path.join(ERROR));
    let path = path.join(SUMMARY);
    let at = |error: &dyn std::fmt::Display| Ended::failed(format!("{}: {error}", path.display()));
    let text = read_to_string_bounded(&path, SUMMARY_BYTES_MAX).map_err(|error| at(&error))?;
    Ok(Done::Whole(
        Summary::parse(&text).map_err(|error| at(&error))?,
    ))
}

/// Does all units on this many threads, begun in order, until one of them fails or the flag is set.
///
/// **Errors**: the first error of `work`; [`SweepError::WorkerLost`].
fn spread(
    threads: usize,
    units: &[&Unit],
    stop: &AtomicBool,
    work: impl Fn(&Unit) -> Result<(), SweepError> + Sync,
) -> Result<(), SweepError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let all = || -> Result<(), SweepError> {
        while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
                break;
            }
            work(unit).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(units.len()))
            .map(|_| scope.spawn(all))
            .collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(Err(SweepError::WorkerLost)));
        // Everybody is waited for before anything is said.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// The outcome of a unit; a panic is a failure of that unit only.
fn caught<R>(work: impl FnOnce() -> Result<R, Ended>) -> Result<R, Ended> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Ended::failed(
            "the program panicked: this is a fault of sordino",
        ))
    })
}

impl Ended {
    fn failed(why: impl std::fmt::Display) -> Self {
        Ended::Failed(why.to_string())
    }
}

impl From<ExecuteError> for Ended {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Model(ModelError::Interrupted) => Ended::Interrupted,
            error => Ended::failed(error),
        }
    }
}
