//! Independent jobs on all cores; finished ones are in the journal, so that an interrupted
//! execution can go on.
//!
//! A job is a function of the scenario, its data and its own address, never of another job: order,
//! threads and interruptions cannot show in a result.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{stored_name, stored_run};
use sordino_experiment::scenario::Head;

use super::contract::{Model, ModelError, Options};
use super::part::Share;

/// Which job failed first, in the order of jobs: those behind it need not be begun or gone on with,
/// and those before it go on, so that the error that is said depends on no thread.
#[derive(Debug)]
pub struct FirstFailure(AtomicU64);

impl Default for FirstFailure {
    fn default() -> Self {
        FirstFailure(AtomicU64::new(u64::MAX))
    }
}

impl FirstFailure {
    /// The job at this place has failed.
    pub(crate) fn fail(&self, place: u64) {
        self.0.fetch_min(place, Ordering::Relaxed);
    }

    /// True if a job before this place has failed.
    pub(crate) fn is_before(&self, place: u64) -> bool {
        self.0.load(Ordering::Relaxed) < place
    }
}

/// Does every job of the share that the journal does not hold; `name` gives the run of a job and
/// its name within the run. The results are in the order of the jobs, whatever the threads.
///
/// **Errors**: the first in the order of the jobs; jobs behind it are not begun any more.
/// [`ModelError::Interrupted`] if the flag of the options was set before all were begun;
/// [`ModelError::PartDone`] if all went well but some jobs belong to other parts.
pub fn execute<J: Sync, R: Serialize + DeserializeOwned + Send>(
    jobs: &[J],
    options: &Options,
    progress: &dyn Progress,
    name: impl Fn(&J) -> (u32, String) + Sync,
    work: impl Fn(&J) -> Result<R, ModelError> + Sync,
) -> Result<Vec<R>, ModelError> {
    let failure = FirstFailure::default();
    let one = |(place, job): (usize, &J)| -> Result<Option<R>, ModelError> {
        let place = place as u64;
        let (run, name) = name(job);
        let stored = stored_name(run, &name);
        let journal = options.journal.as_deref();
        let known = journal.map_or(Ok(None), |journal| journal.finished(&stored))?;
        if known.is_some() {
            progress.found(1);
            return Ok(known);
        }
        if options.share.is_some_and(|share| !share.takes(place)) {
            return Ok(None);
        }
        if options.stop.load(Ordering::Relaxed) || failure.is_before(place) {
            return Err(ModelError::Interrupted);
        }
        let result = work(job)?;
        if let Some(journal) = journal {
            journal.finish(&stored, &result)?;
        }
        progress.job(&format!("run {}, {name}", run + 1));
        Ok(Some(result))
    };
    let pool = options.pool()?;
    let results: Vec<Result<Option<R>, ModelError>> = pool.install(|| {
        jobs.par_iter()
            .with_max_len(1)
            .enumerate()
            .map(|(place, job)| one((place, job)).inspect_err(|_| failure.fail(place as u64)))
            .collect()
    });
    let is_interruption = |error: &ModelError| matches!(error, ModelError::Interrupted);
    let results = first_error_or_all(results, is_interruption)?;
    let results: Option<Vec<R>> = results.into_iter().collect();
    results.ok_or(ModelError::PartDone)
}

/// All results, or the first error. Jobs end by an interruption also because one before them has
/// failed: an execution was interrupted only if nothing else went wrong.
///
/// **Errors**: as said.
pub(crate) fn first_error_or_all<R, E>(
    results: Vec<Result<R, E>>,
    is_interruption: impl Fn(&E) -> bool,
) -> Result<Vec<R>, E> {
    let mut interrupted = None;
    let mut all = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(result) => all.push(result),
            Err(error) if is_interruption(&error) => interrupted = Some(error),
            Err(error) => return Err(error),
        }
    }
    interrupted.map_or(Ok(all), Err)
}

/// The names under which the journal keeps the results of a scenario's jobs, in order: all of them,
/// or those of a share.
pub fn names(model: &dyn Model, share: Option<Share>) -> Vec<String> {
    let jobs = model.jobs();
    let all =
        (0..model.head().runs).flat_map(|run| jobs.iter().map(move |name| stored_name(run, name)));
    all.zip(0..)
        .filter(|(_, job)| share.is_none_or(|share| share.takes(*job)))
        .map(|(name, _)| name)
        .collect()
}

/// How many runs, from the first on, have all of their jobs in the journal.
///
/// **Errors**: the journal's.
pub(crate) fn whole_runs(journal: &Journal, runs: u32, in_a_run: usize) -> Result<u32, ModelError> {
    let mut finished: BTreeMap<u32, usize> = BTreeMap::new();
    for run in journal
        .finished_jobs()?
        .iter()
        .filter_map(|job| stored_run(job))
    {
        *finished.entry(run).or_default() += 1;
    }
    Ok((0..runs)
        .take_while(|run| finished.get(run) == Some(&in_a_run))
        .count() as u32)
}

/// The model with fewer runs, if some are complete: fewer runs are a prefix of more. `head` finds
/// the model's [`Head`].
///
/// **Errors**: the journal's.
pub fn finished<M: Model + Clone + 'static>(
    model: &M,
    journal: &Journal,
    head: impl FnOnce(&mut M) -> &mut Head,
) -> Result<Option<Box<dyn Model>>, ModelError> {
    let mut shorter = model.clone();
    let all = model.head().runs;
    let runs = whole_runs(journal, all, model.jobs().len())?;
    let head = head(&mut shorter);
    (head.runs, head.description) = (
        runs,
        unfinished(&format!("{runs} of {all} runs"), &head.description),
    );
    Ok((runs > 0).then(|| Box::new(shorter) as Box<dyn Model>))
}

/// The description of the finished part of a scenario.
pub fn unfinished(said: &str, description: &str) -> String {
    format!("Unfinished: {said}. {description}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::num::NonZeroUsize;
    use std::sync::Arc;

    fn squares(options: &Options, calls: &AtomicU64, stop_at: u32) -> Result<Vec<u32>, ModelError> {
        let jobs: Vec<u32> = (0..20).collect();
        execute(
            &jobs,
            options,
            &(),
            |x| (x / 2, format!("half-{}", x % 2)),
            |x| {
                calls.fetch_add(1, Ordering::Relaxed);
                // The first execution is interrupted here.
                options.stop.store(*x == stop_at, Ordering::Relaxed);
                Ok(x * x)
            },
        )
    }

    /// On one thread the jobs are done in order, so that what was begun after the failure shows.
    #[test]
    fn the_first_error_ends_the_others() {
        let calls = AtomicU64::new(0);
        let options = Options {
            threads: NonZeroUsize::new(1),
            ..Options::default()
        };
        let ended = execute(
            &[0u32, 1, 2, 3, 4, 5],
            &options,
            &(),
            |x| (*x, "square".to_owned()),
            |x| {
                calls.fetch_add(1, Ordering::Relaxed);
                if *x == 2 {
                    return Err(ModelError::failure("two is refused"));
                }
                Ok(x * x)
            },
        );
        assert_eq!(ended.unwrap_err().to_string(), "two is refused");
        assert_eq!(calls.into_inner(), 3, "no job is begun after the error");
        // On many threads a later job may fail earlier: the first in order is said all the same.
        for _ in 0..20 {
            let ended = execute(
                &[0u32, 1, 2, 3, 4, 5],
                &Options::default(),
                &(),
                |x| (*x, "square".to_owned()),
                |x| match x {
                    0 | 1 => Ok(*x),
                    2 => {
                        std::thread::sleep(std::time::Duration::from_millis(3));
                        Err(ModelError::failure("two is refused"))
                    }
                    _ => Err(ModelError::failure("a later one is refused")),
                },
            );
            assert_eq!(ended.unwrap_err().to_string(), "two is refused");
        }
        let results = vec![Ok(1), Err("stopped"), Ok(2), Err("broken"), Err("later")];
        let is_interruption = |error: &&str| *error == "stopped";
        assert_eq!(first_error_or_all(results, is_interruption), Err("broken"));
        let results = vec![Ok(1), Err("stopped")];
        assert_eq!(first_error_or_all(results, is_interruption), Err("stopped"));
    }

    #[test]
    fn an_interrupted_execution_goes_on_where_it_was() {
        let folder = std::env::temp_dir().join(format!("sordino-jobs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let calls = AtomicU64::new(0);
        let with = |journal| Options {
            threads: NonZeroUsize::new(1),
            journal: Some(Arc::new(journal)),
            ..Options::default()
        };
        let options = with(Journal::create(&folder, "a = 1", None).unwrap());
        assert!(matches!(
            squares(&options, &calls, 7),
            Err(ModelError::Interrupted)
        ));
        let first = calls.load(Ordering::Relaxed);
        assert!((1..20).contains(&first));
        let journal = Journal::look(&folder, "a = 1").unwrap();
        assert_eq!(journal.finished_jobs().unwrap().len() as u64, first);
        // A reader need not know how many there are.
        let whole = whole_runs(&journal, 10, 2).unwrap();
        assert!(whole < 10 && u64::from(whole) <= first / 2, "{whole}");
        let again = with(Journal::resume(&folder, "a = 1", None).unwrap());
        assert_eq!(
            squares(&again, &calls, 99).unwrap(),
            (0..20).map(|x| x * x).collect::<Vec<u32>>()
        );
        assert_eq!(calls.load(Ordering::Relaxed), 20, "every job was done once");
        assert_eq!(whole_runs(&journal, 10, 2).unwrap(), 10);
        // Of another scenario, of other data: refused, not mixed.
        let other = Journal::resume(&folder, "a = 2", None).unwrap_err();
        assert!(other.to_string().contains("another scenario"));
        let file = folder.join("data.csv");
        fs::write(&file, "1,2").unwrap();
        let other = Journal::resume(&folder, "a = 1", Some(&file)).unwrap_err();
        assert!(other.to_string().contains("other data"), "{other}");
        // A damaged file: refused.
        let file = folder.join("state/run-00001.half-1.done");
        let mut bytes = fs::read(&file).unwrap();
        bytes[33] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(
            squares(&again, &calls, 99)
                .unwrap_err()
                .to_string()
                .contains("damaged")
        );
        again.journal.unwrap().discard().unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
