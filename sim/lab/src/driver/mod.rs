//! Executes the units of a sweep on all cores: the whole, or a part of it; and a part of a run.
//!
//! | module | what it holds |
//! |---|---|
//! | [`sweep`] | all units to their ends, and the index of what became of them |
//! | [`part`] | some of the jobs of a run or of every unit of a sweep, and the mark that says which |
//!
//! There are as many units at a time as threads, and all share one pool: a unit that ends late
//! still has every core. A unit that fails is taken down, and the others go on.

pub mod part;
pub mod sweep;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sordino_engine::{Model, ModelError, Options, Part};
use sordino_experiment::journal::Journal;
use sordino_experiment::pool::pool;
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::writer::ProgressWriter;

use crate::execute::{self, ExecuteError, Place};
use crate::sweep::{SweepError, SweepFolder};
use crate::work::Unit;

/// Why a unit has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    /// It was asked to stop.
    Interrupted,
    /// It cannot be carried out; the text says why.
    Failed(String),
}

/// What is done of each unit, and where it is taken down how that ended. Called from any thread.
trait Execution: Sync {
    /// What a unit comes to.
    type Done;

    /// The part whose jobs are done; `None` if all are.
    fn part(&self) -> Option<Part>;

    /// A unit begins, on a thread of its own.
    fn begins(&self, _unit: &Unit) {}

    /// Does what is left of a unit in its folder.
    ///
    /// **Errors**: why it has no result.
    fn execute(
        &self,
        unit: &Unit,
        model: &dyn Model,
        place: Place,
        options: &Options,
        told: &dyn Progress,
    ) -> Result<Self::Done, Ended>;

    /// A unit has ended, well or not.
    ///
    /// **Errors**: what ends everything: a result that cannot be written down.
    fn ends(&self, unit: &Unit, ended: Result<Self::Done, Ended>) -> Result<(), SweepError>;
}

/// Executes these units until all are done, one of them cannot be written down, or the flag of the
/// options is set.
///
/// **Errors**: the system's; the first error of [`Execution::ends`]; [`SweepError::WorkerLost`].
fn drive(
    folder: &SweepFolder,
    units: &[&Unit],
    execution: &impl Execution,
    options: &Options,
    writer: &ProgressWriter,
) -> Result<(), SweepError> {
    let pool = pool(options.threads).map_err(SweepError::Threads)?;
    let points = folder.plan.points();
    spread(pool.current_num_threads(), units, &options.stop, |unit| {
        execution.begins(unit);
        let ended = caught(|| {
            let point = &points[unit.number];
            let model = folder.plan.load(point).map_err(Ended::failed)?;
            let options = Options {
                pool: Some(pool.clone()),
                share: unit.share(execution.part()),
                ..options.clone()
            };
            let place = place(&folder.run(&unit.folder), &*model, &options)?;
            let told = writer.of_folder(&unit.folder);
            execution.execute(unit, &*model, place, &options, &told)
        });
        execution.ends(unit, ended)
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
            let ended = catch_unwind(AssertUnwindSafe(|| work(unit)));
            ended
                .unwrap_or(Err(SweepError::WorkerLost))
                .inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
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
