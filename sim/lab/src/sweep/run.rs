//! All runs of a sweep on all cores.
//!
//! There are as many runs at a time as threads, and all share one pool: a run that ends late still
//! has every core. A run that fails is recorded and the others go on.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use sordino_engine::{self as model, Model, ModelError, Share};
use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::journal::{Journal, SUMMARY};
use sordino_experiment::pool::pool;
use sordino_experiment::progress::log::Line;
use sordino_experiment::progress::writer::{FolderWriter, ProgressWriter};
use sordino_experiment::record::Summary;
use sordino_experiment::text::first_three;

use super::compared::Compared;
use super::folder::{SweepError, SweepFolder};
use super::index::{Entry, Index, Status};
use super::page::page;
use crate::execute::{self, ExecuteError, Place};

/// The name of the file that says why a run failed.
const ERROR: &str = "error.txt";
/// A longer summary is not read.
const SUMMARY_BYTES_MAX: u64 = 1 << 26;
/// Time between two writes of the index during a sweep.
const INDEX_EVERY: Duration = Duration::from_secs(2);

/// How to execute; none of it changes a result.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads for arithmetic; `None` is all cores.
    pub threads: Option<NonZeroUsize>,
    /// Path of the data, for scenarios that read some.
    pub data: Option<PathBuf>,
    /// Time between two checkpoints of a method.
    pub interval: Duration,
    /// Flag, set from outside, that stops the sweep.
    pub stop: Arc<AtomicBool>,
}

/// Executes all runs that are not done, and writes the index, its tables and the page.
///
/// **Errors**: the folder's; [`SweepError::Interrupted`]. A failed run is no error: it is in the
/// index.
pub fn run(
    folder: &SweepFolder,
    mut index: Index,
    options: &Options,
    writer: &ProgressWriter,
) -> Result<Index, SweepError> {
    let pool = pool(options.threads).map_err(SweepError::Threads)?;
    let jobs: Vec<usize> = index
        .entries
        .iter()
        .filter(|entry| entry.status != Status::Done)
        .map(|entry| entry.number)
        .collect();
    folder.write_index(&index)?;
    let points = folder.plan.points();
    let of = index.entries.len() as u64;
    let shared = Mutex::new((&mut index, Instant::now()));
    let settled = AtomicUsize::new(0);
    let work = |number: usize| -> Result<(), SweepError> {
        let mut entry = lock(&shared).0.entries[number].clone();
        let name = entry.folder.clone();
        let line = Line {
            folder: Some(&name),
            run_number: Some(number as u64),
            of: Some(of),
            ..Line::default()
        };
        writer.event(Line {
            event: "run_start",
            ..line.clone()
        });
        let ended = caught(|| {
            let scenario = folder.plan.load(&points[number]).map_err(failed)?;
            one(
                &*scenario,
                &folder.run(&name),
                options,
                &pool,
                &writer.of_folder(&name),
            )
        });
        if !settle(&mut entry, ended, &folder.run(&name)) {
            return Ok(());
        }
        settled.fetch_add(1, Ordering::Relaxed);
        folder.record(&entry)?;
        let digest = entry.digest.as_deref();
        match &entry.error {
            None => writer.event(Line {
                event: "run_done",
                digest,
                ..line
            }),
            Some(error) => writer.event(Line {
                event: "run_failed",
                message: Some(error),
                ..line
            }),
        }
        let mut shared = lock(&shared);
        shared.0.entries[number] = entry.clone();
        if shared.1.elapsed() > INDEX_EVERY {
            shared.1 = Instant::now();
            folder.write_index(shared.0)?;
        }
        Ok(())
    };
    let results = spread(pool.current_num_threads(), &jobs, &options.stop, work);
    // Also where what was interrupted had failed before, and is recorded as failed still.
    if results.is_err() || settled.into_inner() < jobs.len() {
        let written = folder.write_index(&index);
        results?;
        written?;
        return Err(SweepError::Interrupted);
    }
    index.seal();
    folder.condense(&index, &page(folder, &index))?;
    folder.complete()?;
    Ok(index)
}

/// Does all jobs on this many threads, begun in order, until one of them fails or the flag is set.
///
/// **Errors**: the first error of `work`; [`SweepError::WorkerLost`].
pub fn spread(
    threads: usize,
    jobs: &[usize],
    stop: &AtomicBool,
    work: impl Fn(usize) -> Result<(), SweepError> + Sync,
) -> Result<(), SweepError> {
    let next = AtomicUsize::new(0);
    let all = || -> Result<(), SweepError> {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            work(*job)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs.len()))
            .map(|_| scope.spawn(all))
            .collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(Err(SweepError::WorkerLost)));
        // Everybody is waited for before anything is said.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// The outcome of a run; a panic is a failure of that run only.
pub fn caught<R>(run: impl FnOnce() -> Result<R, Ended>) -> Result<R, Ended> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Ended::Failed(
            "the program panicked: this is a fault of sordino".into(),
        ))
    })
}

/// Writes into an entry how its run ended; `false`, with nothing written, if it was interrupted.
fn settle(entry: &mut Entry, ended: Result<Summary, Ended>, path: &Path) -> bool {
    match ended {
        Ok(summary) => {
            (entry.status, entry.error) = (Status::Done, None);
            (entry.digest, entry.methods) = (Some(summary.digest), summary.methods);
            entry.cautions = summary.cautions;
            entry.compared = Compared::read(path);
        }
        Err(Ended::Interrupted) => return false,
        Err(Ended::Failed(error)) => {
            let error = error.replace('\n', " ");
            // The reason also stands where somebody will look for the results.
            let _ = std::fs::create_dir_all(path);
            let _ = std::fs::write(path.join(ERROR), format!("{error}\n"));
            (entry.status, entry.error) = (Status::Failed, Some(error));
            (entry.digest, entry.methods) = (None, Vec::new());
            entry.cautions = Vec::new();
            entry.compared = None;
        }
    }
    true
}

fn lock<'m, V>(mutex: &'m Mutex<V>) -> std::sync::MutexGuard<'m, V> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run was asked to stop.
    Interrupted,
    /// The run cannot be carried out; the text says why.
    Failed(String),
}

/// A run that cannot be carried out.
pub fn failed(error: impl std::fmt::Display) -> Ended {
    Ended::Failed(error.to_string())
}

impl Options {
    /// How one run is executed, or a share of it.
    pub fn of_run(&self, pool: &Arc<ThreadPool>, share: Option<Share>) -> model::Options {
        model::Options {
            pool: Some(pool.clone()),
            data: self.data.clone(),
            interval: self.interval,
            stop: self.stop.clone(),
            share,
            ..model::Options::default()
        }
    }

    /// Goes on in the folder of a run, or begins it; the remains of a run that cannot be resumed
    /// are removed first.
    pub fn place(&self, path: &Path, model: &dyn Model) -> Result<Place, Ended> {
        if !Journal::is_begun(path) {
            match std::fs::remove_dir_all(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        execute::begin_or_resume(path, model, self.data.as_deref()).map_err(failed)
    }
}

fn one(
    model: &dyn Model,
    path: &Path,
    options: &Options,
    pool: &Arc<ThreadPool>,
    told: &FolderWriter<'_>,
) -> Result<Summary, Ended> {
    let (folder, journal) = match options.place(path, model)? {
        Place::Open(folder, journal) => (folder, journal),
        Place::Complete => {
            // A run that was tried again may have been killed before it removed this.
            let _ = std::fs::remove_file(path.join(ERROR));
            return summary(&path.join(SUMMARY));
        }
    };
    let how = options.of_run(pool, None);
    match execute::execute(model, folder, journal, how, told) {
        Ok(record) => {
            let _ = std::fs::remove_file(path.join(ERROR));
            Ok(record.summary)
        }
        Err(ExecuteError::Model(ModelError::Interrupted)) => Err(Ended::Interrupted),
        Err(error) => Err(failed(error)),
    }
}

/// The summary of a run that was complete before.
fn summary(path: &Path) -> Result<Summary, Ended> {
    let at = |error: String| Ended::Failed(format!("{}: {error}", path.display()));
    let text =
        read_to_string_bounded(path, SUMMARY_BYTES_MAX).map_err(|error| at(error.to_string()))?;
    Summary::parse(&text).map_err(at)
}

/// The folders of runs with a status, as one line for people.
pub fn named(index: &Index, status: Status) -> String {
    let names: Vec<&str> = index
        .entries
        .iter()
        .filter(|entry| entry.status == status)
        .map(|entry: &Entry| entry.folder.as_str())
        .collect();
    first_three(&names, ", ")
}
