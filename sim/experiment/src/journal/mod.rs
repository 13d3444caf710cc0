//! What survives a kill: named bytes, for any trust model; the journal does not know the types that
//! it stores. What it keeps beside them (candidates, names, answers) are files of its folder.
//!
//! An execution has jobs. A finished job leaves its result, an unfinished one its latest
//! checkpoints. Every file is written under another name, synced and renamed, then the folder is
//! synced: a crash leaves the old file or the new one. A file begins with the digest of what it
//! belongs to (program, scenario, data) and ends with the SHA-256 of everything before; one that
//! does not match is refused, never guessed at.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::{Digest, Frame};
use sordino_host::files::open_regular;

mod error;
mod gather;
mod sealed;

use error::io_at;

pub use error::JournalError;

use crate::files::{LOCK, read_bounded, read_to_string_bounded, write_atomically};
use crate::text::difference;

/// The file that makes a folder complete: it is written last.
pub const SUMMARY: &str = "summary.json";
/// The file that says which part of an execution a folder holds.
pub const PART: &str = "part.json";
/// Folder of the state within a run folder.
const STATE: &str = "state";
/// Folder of the state while it is being dropped.
const DROPPED: &str = "state.dropped";
/// The scenario that the state and the run folder belong to, for people to read.
const SCENARIO: &str = "scenario.toml";
/// Digest of the scenario together with program and data.
const HEAD: &str = "head";
/// Endings of the files of jobs.
const DONE: &str = "done";
const CHECKPOINT: &str = "checkpoint";
/// The points of the candidates, one a line.
const CANDIDATES: &str = "candidates.csv";
/// The names of agents, one a line as JSON.
const NAMES: &str = "names.jsonl";
/// Where the values of all agents lie, as JSON.
const SPREAD: &str = "spread.json";
/// The table of a program's answers.
const ANSWERS: &str = "answers.csv";
/// Version of the storage format.
const VERSION: u32 = 8;
/// Checkpoints kept of an unfinished job.
const KEEP: usize = 2;
/// A longer file is not read.
const BYTES_MAX: u64 = 1 << 34;
/// A resolved scenario longer than this is not read.
const SCENARIO_BYTES_MAX: u64 = 1 << 22;
/// Data files beyond this length are distinguished by length and name alone.
const DATA_BYTES_MAX: u64 = 1 << 28;
/// Bytes of a digest.
const DIGEST: usize = 32;

/// True if the folder holds a complete execution of the scenario that is written out in `resolved`.
///
/// **Errors**: [`JournalError::OtherScenario`] with the lines that differ, if it holds one of
/// another scenario.
fn is_complete(folder: &Path, resolved: &str) -> Result<bool, JournalError> {
    if !folder.join(SUMMARY).is_file() {
        return Ok(false);
    }
    let path = folder.join(SCENARIO);
    let there = read_to_string_bounded(&path, SCENARIO_BYTES_MAX).map_err(io_at(&path))?;
    // Its first line says which version wrote it.
    let comments = there
        .lines()
        .take_while(|line| line.starts_with('#'))
        .map(|line| line.len() + 1)
        .sum::<usize>();
    same(folder, there.get(comments..).unwrap_or(""), resolved).map(|()| true)
}

/// Checks that both texts are the same scenario.
fn same(folder: &Path, there: &str, here: &str) -> Result<(), JournalError> {
    match difference(there, here) {
        None => Ok(()),
        Some(difference) => Err(JournalError::OtherScenario {
            path: folder.to_owned(),
            difference,
        }),
    }
}

/// The digest of program, scenario and data that stands in the state of a journal.
///
/// **Errors**: [`JournalError::Io`] if there is none; [`JournalError::Damaged`].
fn stored_head(state: &Path) -> Result<Digest, JournalError> {
    let path = state.join(HEAD);
    let bytes = read_bounded(&path, DIGEST as u64).map_err(io_at(&path))?;
    let bytes = bytes.try_into();
    Ok(Digest(bytes.map_err(|_| {
        JournalError::damaged(&path, "is no digest")
    })?))
}

/// Where an execution stores what it must not lose.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    head: Digest,
}

impl Journal {
    /// Begins in a run folder that holds no state yet; `scenario` with every key written out,
    /// `data` that it reads.
    ///
    /// **Errors**: the system's.
    pub fn create(
        folder: &Path,
        scenario: &str,
        data: Option<&Path>,
    ) -> Result<Self, JournalError> {
        // Before anything is made: data that cannot be read are refused.
        let head = head(scenario, data)?;
        let state = folder.join(STATE);
        fs::create_dir_all(&state).map_err(io_at(&state))?;
        let path = state.join(SCENARIO);
        write_atomically(&path, scenario.as_bytes()).map_err(io_at(&path))?;
        Self::open(folder, state, head)
    }

    /// Goes on in a run folder whose state belongs to the same scenario and data.
    ///
    /// **Errors**: [`JournalError::NothingToResume`], [`JournalError::OtherScenario`] with the
    /// lines that differ, [`JournalError::OtherData`].
    pub fn resume(
        folder: &Path,
        scenario: &str,
        data: Option<&Path>,
    ) -> Result<Self, JournalError> {
        Self::check(folder, scenario)?;
        Self::open(folder, folder.join(STATE), head(scenario, data)?)
    }

    /// Looks at what is finished in a run folder, whatever its data; nothing may be written.
    ///
    /// **Errors**: as [`Journal::resume`].
    pub fn look(folder: &Path, scenario: &str) -> Result<Self, JournalError> {
        Self::check(folder, scenario)?;
        let state = folder.join(STATE);
        let head = match stored_head(&state) {
            Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                head(scenario, None)?
            }
            found => found?,
        };
        Ok(Journal {
            folder: state,
            head,
        })
    }

    /// Begins in a new folder, or goes on in one that holds state. `None` if the execution there is
    /// complete.
    ///
    /// **Errors**: as [`Journal::resume`], also if the execution there is complete; a folder that
    /// holds anything else.
    pub fn begin_or_resume(
        folder: &Path,
        scenario: &str,
        data: Option<&Path>,
    ) -> Result<Option<Self>, JournalError> {
        let state = folder.join(STATE);
        if is_complete(folder, scenario)? {
            // Killed before the state was dropped, or while it was.
            let _ = fs::remove_dir_all(folder.join(DROPPED));
            let _ = fs::remove_dir_all(&state);
            return Ok(None);
        }
        let entries = fs::read_dir(folder).map_err(io_at(folder))?.flatten();
        // A folder with a state that says nothing yet: killed at the very beginning.
        let mut names = entries.map(|entry| entry.file_name());
        let fresh = names.all(|name| name == STATE || name == LOCK || name == PART)
            && !state.join(SCENARIO).exists();
        let begun = if fresh { Self::create } else { Self::resume };
        begun(folder, scenario, data).map(Some)
    }

    fn check(folder: &Path, scenario: &str) -> Result<(), JournalError> {
        same(folder, &Self::scenario(folder)?, scenario)
    }

    fn open(run_folder: &Path, folder: PathBuf, head: Digest) -> Result<Self, JournalError> {
        match stored_head(&folder) {
            Ok(found) if found.0 == head.0 => {}
            Ok(_) => {
                return Err(JournalError::OtherData {
                    path: run_folder.to_owned(),
                });
            }
            Err(JournalError::Io { path, error }) if error.kind() == io::ErrorKind::NotFound => {
                write_atomically(&path, &head.0).map_err(io_at(&path))?;
            }
            Err(error) => return Err(error),
        }
        Ok(Journal { folder, head })
    }

    /// The scenario file of an unfinished execution in this run folder.
    pub fn scenario_file(folder: &Path) -> PathBuf {
        folder.join(STATE).join(SCENARIO)
    }

    /// True if an execution, or part of one, is stored in this run folder.
    pub fn is_begun(folder: &Path) -> bool {
        Self::scenario_file(folder).exists() || folder.join(SUMMARY).exists()
    }

    /// Path of a file that belongs to a job, with an ending that the caller chooses.
    pub fn path(&self, job: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{job}.{ending}"))
    }

    /// The names of all finished jobs, sorted.
    ///
    /// **Errors**: the system's.
    pub fn finished_jobs(&self) -> Result<Vec<String>, JournalError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(io_at(&self.folder))? {
            let name = entry.map_err(io_at(&self.folder))?.file_name();
            let job = name
                .to_str()
                .and_then(|name| name.strip_suffix(DONE)?.strip_suffix('.'));
            names.extend(job.map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The result of a job that was finished before.
    ///
    /// **Errors**: a file that is damaged or of another execution; the system's.
    pub fn finished<V: DeserializeOwned>(&self, job: &str) -> Result<Option<V>, JournalError> {
        self.read(&self.path(job, DONE))
    }

    /// Keeps the result of a job and drops its checkpoints.
    ///
    /// **Errors**: the system's.
    pub fn finish(&self, job: &str, result: &impl Serialize) -> Result<(), JournalError> {
        self.write(&self.path(job, DONE), result)?;
        for (_, path) in self.checkpoints(job)? {
            fs::remove_file(&path).map_err(io_at(&path))?;
        }
        Ok(())
    }

    /// Keeps a checkpoint of a job and drops all but the last few; a larger `number` is later.
    ///
    /// **Errors**: the system's.
    pub fn save(
        &self,
        job: &str,
        number: usize,
        state: &impl Serialize,
    ) -> Result<(), JournalError> {
        self.write(&self.path(job, &format!("{number:08}.{CHECKPOINT}")), state)?;
        let mut old = self.checkpoints(job)?;
        old.sort();
        for (_, path) in old.iter().rev().skip(KEEP) {
            fs::remove_file(path).map_err(io_at(path))?;
        }
        Ok(())
    }

    /// The last checkpoint of a job.
    ///
    /// **Errors**: as [`Journal::finished`].
    pub fn latest<V: DeserializeOwned>(&self, job: &str) -> Result<Option<V>, JournalError> {
        match self.checkpoints(job)?.into_iter().max() {
            Some((_, path)) => self.read(&path),
            None => Ok(None),
        }
    }

    fn checkpoints(&self, job: &str) -> Result<Vec<(u64, PathBuf)>, JournalError> {
        let prefix = format!("{job}.");
        let suffix = format!(".{CHECKPOINT}");
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(io_at(&self.folder))? {
            let path = entry.map_err(io_at(&self.folder))?.path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or("");
            let number = name
                .strip_prefix(&prefix)
                .and_then(|rest| rest.strip_suffix(&suffix));
            if let Some(number) = number.and_then(|digits| digits.parse().ok()) {
                found.push((number, path));
            }
        }
        Ok(found)
    }

    fn write<V: Serialize>(&self, path: &Path, value: &V) -> Result<(), JournalError> {
        sealed::write(path, &self.head, value)
    }

    fn read<V: DeserializeOwned>(&self, path: &Path) -> Result<Option<V>, JournalError> {
        sealed::read(path, BYTES_MAX, &self.head)
    }

    /// Path of the table of a user's program's answers.
    pub fn answers(&self) -> PathBuf {
        self.folder.join(ANSWERS)
    }

    /// Path of the file with the candidates' points.
    pub fn candidates(&self) -> PathBuf {
        self.folder.join(CANDIDATES)
    }

    /// Path of the file with the names of agents.
    pub fn names(&self) -> PathBuf {
        self.folder.join(NAMES)
    }

    /// Path of the file that says where the values of all agents lie.
    pub fn spread(&self) -> PathBuf {
        self.folder.join(SPREAD)
    }

    /// Removes the state if no job got far enough to leave any, and no program was asked. A folder
    /// that cannot be listed is kept.
    pub fn discard_if_empty(&self) {
        let Ok(mut files) = fs::read_dir(&self.folder) else {
            return;
        };
        if files.all(|file| file.is_ok_and(|file| !holds_work(&file.path()))) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    /// Drops the state: the folder holds everything.
    ///
    /// **Errors**: the system's.
    pub fn discard(&self) -> Result<(), JournalError> {
        let dropped = self.folder.parent().unwrap_or(&self.folder).join(DROPPED);
        fs::rename(&self.folder, &dropped).map_err(io_at(&self.folder))?;
        fs::remove_dir_all(&dropped).map_err(io_at(&dropped))
    }
}

/// The head and the beginning of a first line of answers are not longer.
const HEAD_BYTES_MAX: u64 = 1 << 20;

/// Whether a file of the state is of a job, or a table with an answer.
fn holds_work(file: &Path) -> bool {
    let job = file
        .extension()
        .is_some_and(|ending| ending == DONE || ending == CHECKPOINT);
    job || file.ends_with(ANSWERS) && has_answers(file)
}

/// Whether a table may have a line below its head, which it has even if there are no answers. What
/// cannot be read is kept.
fn has_answers(file: &Path) -> bool {
    let Ok(file) = open_regular(file, OpenOptions::new().read(true)) else {
        return true;
    };
    let lines = BufReader::new(file.take(HEAD_BYTES_MAX)).split(b'\n');
    let begin: io::Result<Vec<_>> = lines.take(2).collect();
    !begin.is_ok_and(|lines| lines.len() < 2)
}

/// How often a job keeps a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    last: Instant,
    every: Duration,
}

impl Pace {
    /// Starts counting now.
    pub fn new(every: Duration) -> Self {
        Pace {
            last: Instant::now(),
            every,
        }
    }

    /// Whether the next checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }
}

fn seal(bytes: &[u8]) -> Digest {
    let mut frame = Frame::leaf();
    frame.bytes(bytes);
    frame.end()
}

/// Digest of what stored jobs belong to: format and program, scenario, the bytes of its data (for
/// a folder, of its files in order of name). Of a file longer than any table only name and length
/// count.
///
/// **Errors**: [`JournalError::Data`] for data that cannot be read.
pub fn head(scenario: &str, data: Option<&Path>) -> Result<Digest, JournalError> {
    let unread = |path: &Path| {
        let path = path.to_owned();
        |error| JournalError::Data { path, error }
    };
    let mut frame = Frame::leaf();
    frame.u32(VERSION);
    frame.bytes(env!("CARGO_PKG_VERSION").as_bytes());
    frame.digest(&seal(scenario.as_bytes()));
    let mut files = match data {
        Some(path) if path.is_dir() => fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(unread(path))?,
        Some(path) => vec![path.to_owned()],
        None => Vec::new(),
    };
    files.sort();
    for file in files {
        let found = fs::metadata(&file).map_err(unread(&file))?;
        frame.bytes(file.file_name().unwrap_or_default().as_encoded_bytes());
        frame.u64(found.len());
        if found.is_file() && found.len() <= DATA_BYTES_MAX {
            let bytes = read_bounded(&file, DATA_BYTES_MAX).map_err(unread(&file))?;
            frame.digest(&seal(&bytes));
        }
    }
    Ok(frame.end())
}
