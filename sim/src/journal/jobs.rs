//! Finished jobs of an execution, so that an interrupted one goes on.
//!
//! The journal keeps one file a job, written beside its place, synced, renamed;
//! it begins with the digest of scenario and data and ends with a digest of all before.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::{Digest, Frame};

use super::checkpoint::same;
use crate::files::{read_bounded, read_to_string_bounded, write_atomically};

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

/// Why a journal cannot be used; says so in one line.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It is of another scenario, other data or another version, or damaged: exit code 2.
    #[error("{0}")]
    Input(String),
    /// Anything else.
    #[error("{0}")]
    Failure(String),
}

/// Finished jobs on disk.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    head: Digest,
}

impl Journal {
    /// A journal in this run folder of an experiment whose every key is written out in `scenario`.
    ///
    /// **Errors**: [`JournalError::Input`] if it is of another scenario, with the lines that differ, of other data or
    /// another version; the system's, as [`JournalError::Failure`].
    pub fn open(run_folder: &Path, scenario: &str, data: Option<&Path>) -> Result<Journal, JournalError> {
        let journal = Journal { folder: run_folder.join(JOBS), head: head(scenario, data) };
        fs::create_dir_all(&journal.folder).map_err(|error| failure(&journal.folder, &error))?;
        let path = journal.folder.join(HEAD);
        let text = journal.folder.join(SCENARIO);
        match read_bounded(&path, DIGEST as u64) {
            Ok(found) if found == journal.head.0 => {}
            Ok(_) => {
                let there = read_to_string_bounded(&text, SCENARIO_BYTES_MAX).unwrap_or_else(|_| scenario.to_owned());
                same(run_folder, &there, scenario).map_err(|error| JournalError::Input(error.to_string()))?;
                let message = format!("{}: of other data or another version", run_folder.display());
                return Err(JournalError::Input(message));
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
    /// **Errors**: the system's, as [`JournalError::Failure`].
    pub fn remove(&self) -> Result<(), JournalError> {
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

    /// The result of a job, if it is finished.
    ///
    /// **Errors**: [`JournalError::Input`] if its file is damaged or of another scenario; the system's.
    pub fn read<R: DeserializeOwned>(&self, job: usize) -> Result<Option<R>, JournalError> {
        let path = self.path(job);
        let bytes = match read_bounded(&path, JOB_BYTES_MAX) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| failure(&path, &error))?,
        };
        let refuse =
            |why: &str| JournalError::Input(format!("{}: {why}; remove it to do this part again", path.display()));
        let (body, end) = bytes.split_last_chunk::<DIGEST>().ok_or_else(|| refuse("damaged"))?;
        if seal(body).0 != *end {
            return Err(refuse("damaged"));
        }
        let result = body.strip_prefix(&self.head.0).ok_or_else(|| refuse("of another scenario or other data"))?;
        postcard::from_bytes(result).map(Some).map_err(|_| refuse("written by another version"))
    }

    /// Keeps the result of a job.
    ///
    /// **Errors**: the system's, as [`JournalError::Failure`].
    pub fn write<R: Serialize>(&self, job: usize, result: &R) -> Result<(), JournalError> {
        let path = self.path(job);
        let mut bytes = self.head.0.to_vec();
        bytes.extend(postcard::to_allocvec(result).map_err(|error| failure(&path, &error))?);
        let end = seal(&bytes);
        bytes.extend(end.0);
        write_atomically(&path, &bytes).map_err(|error| JournalError::Failure(error.to_string()))
    }
}

fn failure(path: &Path, error: &dyn std::fmt::Display) -> JournalError {
    JournalError::Failure(format!("{}: {error}", path.display()))
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
