//! Jobs of an experiment on all cores, and a journal of finished ones, so that an interrupted execution goes on.
//!
//! A job is a function of the scenario, its data and its own address, never of another job: order, threads and
//! interruptions cannot show in a result. The journal keeps one file a job, written beside its place, synced, renamed;
//! it begins with the digest of scenario and data and ends with a digest of all before.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::{Digest, Frame};

use crate::files::{read_bounded, read_to_string_bounded, write_atomically};
use crate::journal::checkpoint::same;
use crate::model::{ExperimentError, Options, Progress};

/// Folder of the journal within a run folder.
const JOBS: &str = "jobs";
/// What the journal belongs to, as a digest.
const HEAD: &str = "head";
/// The same as far as people can read it.
const SCENARIO: &str = "scenario.toml";
/// A longer resolved scenario is not read.
const SCENARIO_BYTES_MAX: u64 = 1 << 22;
/// A longer result of a job is not read.
const JOB_BYTES_MAX: u64 = 1 << 32;
/// Bytes of a digest.
const DIGEST: usize = 32;
/// Files of data beyond this length are told apart by length and name alone.
const BYTES_MAX: u64 = 1 << 28;

/// Finished jobs on disk.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    head: Digest,
}

impl Journal {
    /// A journal in this run folder of an experiment whose every key is written out in `scenario`.
    ///
    /// **Errors**: [`ExperimentError::Input`] if it is of another scenario, with the lines that differ, of other data or
    /// another version; the system's, as [`ExperimentError::Failure`].
    pub fn open(run_folder: &Path, scenario: &str, data: Option<&Path>) -> Result<Journal, ExperimentError> {
        let journal = Journal { folder: run_folder.join(JOBS), head: head(scenario, data) };
        fs::create_dir_all(&journal.folder).map_err(|error| failure(&journal.folder, &error))?;
        let path = journal.folder.join(HEAD);
        let text = journal.folder.join(SCENARIO);
        match read_bounded(&path, DIGEST as u64) {
            Ok(found) if found == journal.head.0 => {}
            Ok(_) => {
                let there = read_to_string_bounded(&text, SCENARIO_BYTES_MAX).unwrap_or_else(|_| scenario.to_owned());
                same(run_folder, &there, scenario).map_err(|error| ExperimentError::Input(error.to_string()))?;
                let message = format!("{}: of other data or another version", run_folder.display());
                return Err(ExperimentError::Input(message));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                for (path, bytes) in [(&text, scenario.as_bytes()), (&path, &journal.head.0)] {
                    write_atomically(path, bytes).map_err(|error| failure(path, &error))?;
                }
            }
            Err(error) => return Err(failure(&path, &error)),
        }
        Ok(journal)
    }

    /// The scenario file of an unfinished execution in this run folder.
    pub fn scenario_file(run_folder: &Path) -> PathBuf {
        run_folder.join(JOBS).join(SCENARIO)
    }

    /// Removes it: the results are written.
    ///
    /// **Errors**: the system's, as [`ExperimentError::Failure`].
    pub fn remove(&self) -> Result<(), ExperimentError> {
        fs::remove_dir_all(&self.folder).map_err(|error| failure(&self.folder, &error))
    }

    /// Removes what a killed process left of it in a folder that is complete.
    pub fn remove_left(run_folder: &Path) {
        let _ = fs::remove_dir_all(run_folder.join(JOBS));
    }

    /// Removes it if no job is finished.
    pub fn discard_if_empty(&self) {
        let mut files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        if !files.any(|file| file.path().extension().is_some_and(|extension| extension == "bin")) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    fn path(&self, job: usize) -> PathBuf {
        self.folder.join(format!("{job:06}.bin"))
    }

    fn read<R: DeserializeOwned>(&self, job: usize) -> Result<Option<R>, ExperimentError> {
        let path = self.path(job);
        let bytes = match read_bounded(&path, JOB_BYTES_MAX) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| failure(&path, &error))?,
        };
        let refuse =
            |why: &str| ExperimentError::Input(format!("{}: {why}; remove it to do this part again", path.display()));
        let (body, end) = bytes.split_last_chunk::<DIGEST>().ok_or_else(|| refuse("damaged"))?;
        if seal(body).0 != *end {
            return Err(refuse("damaged"));
        }
        let result = body.strip_prefix(&self.head.0).ok_or_else(|| refuse("of another scenario or other data"))?;
        postcard::from_bytes(result).map(Some).map_err(|_| refuse("written by another version"))
    }

    fn write<R: Serialize>(&self, job: usize, result: &R) -> Result<(), ExperimentError> {
        let path = self.path(job);
        let mut bytes = self.head.0.to_vec();
        bytes.extend(postcard::to_allocvec(result).map_err(|error| failure(&path, &error))?);
        let end = seal(&bytes);
        bytes.extend(end.0);
        write_atomically(&path, &bytes).map_err(|error| ExperimentError::Failure(error.to_string()))
    }
}

fn failure(path: &Path, error: &dyn std::fmt::Display) -> ExperimentError {
    ExperimentError::Failure(format!("{}: {error}", path.display()))
}

fn seal(bytes: &[u8]) -> Digest {
    let mut frame = Frame::leaf();
    frame.bytes(bytes);
    frame.end()
}

/// What a finished job belongs to: scenario, program, the bytes of its data (for a folder those of its files by name).
fn head(scenario: &str, data: Option<&Path>) -> Digest {
    let mut frame = Frame::leaf();
    frame.bytes(env!("CARGO_PKG_VERSION").as_bytes());
    frame.digest(&seal(scenario.as_bytes()));
    let mut files: Vec<PathBuf> = match data {
        Some(path) if path.is_dir() => fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect(),
        Some(path) => vec![path.to_owned()],
        None => Vec::new(),
    };
    files.sort();
    for file in files {
        let length = fs::metadata(&file).map_or(0, |found| found.len());
        frame.bytes(file.file_name().unwrap_or_default().as_encoded_bytes());
        frame.u64(length);
        if length <= BYTES_MAX {
            frame.digest(&seal(&read_bounded(&file, BYTES_MAX).unwrap_or_default()));
        }
    }
    frame.end()
}

/// Does every job that the journal does not hold. The results are in the order of the jobs, whatever the threads.
///
/// **Errors**: the first that occurred in the order of the jobs; [`ExperimentError::Interrupted`] if the flag of the
/// options was set before all were begun.
pub fn execute<J: Sync, R: Serialize + DeserializeOwned + Send>(
    jobs: &[J],
    options: &Options,
    progress: Progress<'_>,
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
    use super::*;
    use std::sync::Arc;

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
