//! Jobs of an experiment on all cores; finished ones are in the journal, so that an interrupted execution goes on.
//!
//! A job is a function of the scenario, its data and its own address, never of another job: order, threads and
//! interruptions cannot show in a result.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::experiment::{ExperimentError, Options};
use crate::progress::JobProgress;

/// Does every job that the journal does not hold. The results are in the order of the jobs, whatever the threads.
///
/// **Errors**: the first that occurred in the order of the jobs; [`ExperimentError::Interrupted`] if the flag of the
/// options was set before all were begun.
pub fn execute<J: Sync, R: Serialize + DeserializeOwned + Send>(
    jobs: &[J],
    options: &Options,
    progress: JobProgress<'_>,
    label: impl Fn(&J) -> String + Sync,
    work: impl Fn(&J) -> Result<R, ExperimentError> + Sync,
) -> Result<Vec<R>, ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.map_or(0, std::num::NonZeroUsize::get))
        .build()
        .map_err(|error| ExperimentError::Failure(error.to_string()))?;
    let (done, total) = (AtomicU64::new(0), jobs.len() as u64);
    let stopped =
        || options.stop.as_ref().is_some_and(|stop: &std::sync::Arc<AtomicBool>| stop.load(Ordering::Relaxed));
    let one = |(place, job): (usize, &J)| {
        let journal = options.journal.as_deref();
        let known = journal.map_or(Ok(None), |journal| journal.read(place))?;
        let result = match known {
            Some(result) => result,
            None if stopped() => return Err(ExperimentError::Interrupted),
            None => {
                let result = work(job)?;
                journal.map_or(Ok(()), |journal| journal.write(place, &result))?;
                result
            }
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, total, &label(job));
        Ok(result)
    };
    let results: Vec<Result<R, ExperimentError>> =
        pool.install(|| jobs.par_iter().enumerate().with_max_len(1).map(one).collect());
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::journal::jobs::Journal;

    fn squares(options: &Options, calls: &AtomicU64) -> Result<Vec<u64>, ExperimentError> {
        let jobs: Vec<u64> = (0..20).collect();
        execute(&jobs, options, &|_, _, _| (), u64::to_string, |x| {
            calls.fetch_add(1, Ordering::Relaxed);
            // The first execution is interrupted here.
            if let Some(stop) = options.stop.as_ref().filter(|_| *x == 7) {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(x * x)
        })
    }

    #[test]
    fn an_interrupted_execution_goes_on_where_it_was() {
        let folder = std::env::temp_dir().join(format!("sordino-jobs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let journal = |scenario: &str| Some(Arc::new(Journal::open(&folder, scenario, None).unwrap()));
        let calls = AtomicU64::new(0);
        let one = std::num::NonZeroUsize::new(1);
        let mut options = Options { threads: one, stop: Some(Arc::default()), ..Options::default() };
        options.journal = journal("a = 1");
        assert!(matches!(squares(&options, &calls), Err(ExperimentError::Interrupted)));
        let first = calls.load(Ordering::Relaxed);
        assert!((1..20).contains(&first));
        let again = Options { threads: one, journal: journal("a = 1"), ..Options::default() };
        assert_eq!(squares(&again, &calls).unwrap(), (0..20).map(|x| x * x).collect::<Vec<u64>>());
        assert_eq!(calls.load(Ordering::Relaxed), 20, "every job was done once");
        // Of another scenario: refused, not mixed.
        let other = Journal::open(&folder, "a = 2", None).unwrap_err();
        assert!(other.to_string().contains("another scenario"));
        // A damaged file: refused.
        let file = folder.join("jobs/000003.bin");
        let mut bytes = fs::read(&file).unwrap();
        bytes[33] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(squares(&again, &calls).unwrap_err().to_string().contains("damaged"));
        again.journal.unwrap().remove().unwrap();
        fs::remove_dir(&folder).unwrap();
    }
}
