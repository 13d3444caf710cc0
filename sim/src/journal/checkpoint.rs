//! What outlives the program: checkpoints and finished methods.
//!
//! Everything is written beside its place, synced, renamed, and the folder synced: a crash leaves the old file or the
//! new one. A file begins with a line that says what it is, of which format and which scenario, and ends with a
//! SHA-256 of all before it; one that does not fit is refused, never guessed at.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::{Digest, Frame};

pub use crate::files::write_atomically;
use crate::files::{LOCK, read_bounded, read_to_string_bounded};

/// First line of every file, before the scenario's digest.
const MAGIC: &str = "sordino checkpoint 3";
/// Folder of the state within a run folder.
const STATE: &str = "state";
/// The same while it is being dropped.
const DROPPED: &str = "state.dropped";
/// The joined ledger of a complete execution.
const LEDGER: &str = "ledger.jsonl";
/// The file that makes a folder complete: the last that is written.
pub const SUMMARY: &str = "summary.json";
/// What the state belongs to, and the folder.
const SCENARIO: &str = "scenario.toml";
/// Checkpoints kept of a method that is running.
const KEEP: usize = 2;
/// A checkpoint or a ledger longer than this is not read.
const BYTES_MAX: u64 = 1 << 34;
/// A resolved scenario longer than this is not read.
const SCENARIO_BYTES_MAX: u64 = 1 << 22;

/// Where an execution keeps what it must not lose.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    scenario: Digest,
    interval: Duration,
    saved: Mutex<BTreeMap<String, Instant>>,
}

/// What one method has in the joined ledger.
#[derive(Clone, Debug)]
pub struct LedgerPart {
    /// Under which it is stored.
    pub name: String,
    /// Fields that every line of it begins with: JSON without braces.
    pub fields: String,
    /// How many charges there must be.
    pub charges: u32,
}

/// Why a stored file cannot be used.
#[derive(Debug)]
pub enum StoreError {
    /// The system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is damaged or of another format.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The folder belongs to another scenario.
    OtherScenario {
        /// The folder.
        path: PathBuf,
        /// Lines that differ: `-` there, `+` here.
        difference: String,
    },
    /// The folder holds no unfinished execution.
    NothingToResume {
        /// The folder.
        path: PathBuf,
    },
    /// The ledger does not fit the execution.
    Ledger {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Io { path, error } => write!(f, "{}: {error}", path.display()),
            StoreError::Damaged { path, what } => {
                write!(f, "{}: {what}; remove it to go on from an older checkpoint", path.display())
            }
            StoreError::OtherScenario { path, difference } => {
                write!(f, "{} belongs to another scenario ({difference})", path.display())
            }
            StoreError::NothingToResume { path } => write!(
                f,
                "{}: holds no unfinished run; name a new folder, or leave --resume away to see what it is",
                path.display()
            ),
            StoreError::Ledger { path, line, message } => write!(f, "{}, line {line}: {message}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    |error| StoreError::Io { path: path.to_owned(), error }
}

/// True if the folder holds a whole execution of the scenario that is written out in `resolved`.
///
/// **Errors**: [`StoreError::OtherScenario`] with the lines that differ, if it holds one of another scenario.
pub fn is_complete(folder: &Path, resolved: &str) -> Result<bool, StoreError> {
    if !folder.join(SUMMARY).is_file() {
        return Ok(false);
    }
    let path = folder.join(SCENARIO);
    let there = read_to_string_bounded(&path, SCENARIO_BYTES_MAX).map_err(io_at(&path))?;
    // Its first line says which version wrote it.
    let comments = there.lines().take_while(|line| line.starts_with('#')).map(|line| line.len() + 1).sum::<usize>();
    same(folder, there.get(comments..).unwrap_or(""), resolved).map(|()| true)
}

/// Both are the same scenario written out.
///
/// **Errors**: [`StoreError::OtherScenario`] with the lines that differ.
pub(crate) fn same(folder: &Path, there: &str, here: &str) -> Result<(), StoreError> {
    if there == here {
        return Ok(());
    }
    Err(StoreError::OtherScenario { path: folder.to_owned(), difference: difference(there, here) })
}

impl Store {
    /// Begins in a folder that holds no state yet.
    pub fn create(folder: &Path, scenario: &str, interval: Duration) -> Result<Self, StoreError> {
        let state = folder.join(STATE);
        fs::create_dir_all(&state).map_err(io_at(&state))?;
        let path = state.join(SCENARIO);
        write_atomically(&path, scenario.as_bytes()).map_err(io_at(&path))?;
        Ok(Self::open(state, scenario, interval))
    }

    /// Goes on in a folder whose state is that of the same scenario.
    ///
    /// **Errors**: [`StoreError::NothingToResume`], [`StoreError::OtherScenario`] with the lines that differ.
    pub fn resume(folder: &Path, scenario: &str, interval: Duration) -> Result<Self, StoreError> {
        let state = folder.join(STATE);
        let path = state.join(SCENARIO);
        let there = match read_to_string_bounded(&path, SCENARIO_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NothingToResume { path: folder.to_owned() });
            }
            Err(error) => return Err(StoreError::Io { path, error }),
        };
        same(folder, &there, scenario)?;
        Ok(Self::open(state, scenario, interval))
    }

    /// The scenario file of an unfinished execution in this folder.
    pub fn scenario_file(folder: &Path) -> PathBuf {
        folder.join(STATE).join(SCENARIO)
    }

    /// Begins in a new folder, or goes on in one that holds state. Nothing if the execution there is complete.
    ///
    /// **Errors**: as [`Store::resume`], also if the execution there is complete; a folder that holds anything else.
    pub fn begin_or_resume(folder: &Path, scenario: &str, interval: Duration) -> Result<Option<Self>, StoreError> {
        let state = folder.join(STATE);
        // A summary without a ledger was written by a program that did not write it last.
        if folder.join(LEDGER).exists() && is_complete(folder, scenario)? {
            // Killed before the state was dropped, or while it was.
            let _ = fs::remove_dir_all(folder.join(DROPPED));
            let _ = fs::remove_dir_all(&state);
            return Ok(None);
        }
        let entries = fs::read_dir(folder).map_err(io_at(folder))?.flatten();
        // A folder with a state that says nothing yet: killed at the very beginning.
        let mut names = entries.map(|entry| entry.file_name());
        let fresh = names.all(|name| name == STATE || name == LOCK) && !state.join(SCENARIO).exists();
        if fresh { Self::create(folder, scenario, interval) } else { Self::resume(folder, scenario, interval) }
            .map(Some)
    }

    /// Removes the state if no method got far enough to leave any.
    pub fn discard_if_empty(&self) {
        let left = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let worth_keeping = |name: &str| name.ends_with(".done") || name.ends_with(".checkpoint");
        if !left.into_iter().any(|entry| entry.file_name().to_str().is_some_and(worth_keeping)) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    fn open(folder: PathBuf, scenario: &str, interval: Duration) -> Self {
        let mut frame = Frame::leaf();
        frame.bytes(scenario.as_bytes());
        Store { folder, scenario: frame.end(), interval, saved: Mutex::default() }
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }

    /// The result of a method that was finished before.
    pub fn finished<V: DeserializeOwned>(&self, name: &str) -> Result<Option<V>, StoreError> {
        self.read(&self.path(name, "done"))
    }

    /// The results of all methods that are finished, in the order of runs and methods' names.
    pub fn all_finished<V: DeserializeOwned>(&self) -> Result<Vec<V>, StoreError> {
        let entries = fs::read_dir(&self.folder).map_err(io_at(&self.folder))?.flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "done"));
        paths.sort();
        paths.iter().filter_map(|path| self.read(path).transpose()).collect()
    }

    /// Writes the result of a method and drops its checkpoints.
    pub fn finish(&self, name: &str, result: &impl Serialize) -> Result<(), StoreError> {
        self.write(&self.path(name, "done"), result)?;
        for (_, path) in self.checkpoints(name)? {
            fs::remove_file(&path).map_err(io_at(&path))?;
        }
        Ok(())
    }

    /// Whether a checkpoint of this method is due.
    pub fn is_due(&self, name: &str) -> bool {
        let mut saved = self.saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let last = saved.entry(name.to_owned()).or_insert_with(Instant::now);
        last.elapsed() >= self.interval
    }

    /// Writes a checkpoint before `round` and drops all but the last few.
    pub fn save(&self, name: &str, round: usize, state: &impl Serialize) -> Result<(), StoreError> {
        self.write(&self.path(name, &format!("{round:08}.checkpoint")), state)?;
        let mut old = self.checkpoints(name)?;
        old.sort();
        for (_, path) in old.iter().rev().skip(KEEP) {
            fs::remove_file(path).map_err(io_at(path))?;
        }
        let mut saved = self.saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        saved.insert(name.to_owned(), Instant::now());
        Ok(())
    }

    /// The last checkpoint of a method.
    pub fn latest<V: DeserializeOwned>(&self, name: &str) -> Result<Option<V>, StoreError> {
        match self.checkpoints(name)?.into_iter().max() {
            Some((_, path)) => self.read(&path),
            None => Ok(None),
        }
    }

    fn checkpoints(&self, name: &str) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        let prefix = format!("{name}.");
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(io_at(&self.folder))? {
            let path = entry.map_err(io_at(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            let round = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".checkpoint"));
            if let Some(round) = round.and_then(|digits| digits.parse().ok()) {
                found.push((round, path));
            }
        }
        Ok(found)
    }

    fn write<V: Serialize>(&self, path: &Path, value: &V) -> Result<(), StoreError> {
        let mut bytes = format!("{MAGIC} {} {}\n", env!("CARGO_PKG_VERSION"), self.scenario).into_bytes();
        let damaged = StoreError::Damaged { path: path.to_owned(), what: "cannot be encoded" };
        let body = postcard::to_allocvec(value).map_err(|_| damaged)?;
        bytes.extend(body);
        let mut frame = Frame::leaf();
        frame.bytes(&bytes);
        bytes.extend(frame.end().0);
        write_atomically(path, &bytes).map_err(io_at(path))
    }

    fn read<V: DeserializeOwned>(&self, path: &Path) -> Result<Option<V>, StoreError> {
        let damaged = |what| StoreError::Damaged { path: path.to_owned(), what };
        let bytes = match read_bounded(path, BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(io_at(path))?,
        };
        let (content, digest) =
            bytes.len().checked_sub(32).map(|at| bytes.split_at(at)).ok_or_else(|| damaged("is too short"))?;
        let mut frame = Frame::leaf();
        frame.bytes(content);
        if frame.end().0 != digest {
            return Err(damaged("does not have the digest it ends with"));
        }
        let line = content.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("has no first line"))?;
        let (head, body) = content.split_at(line);
        let expected = format!("{MAGIC} {} {}", env!("CARGO_PKG_VERSION"), self.scenario);
        if head != expected.as_bytes() {
            return Err(damaged("is of another version or scenario"));
        }
        postcard::from_bytes(&body[1..]).map(Some).map_err(|_| damaged("does not decode"))
    }

    /// Where the ledger of a method is, with all it was charged so far.
    pub fn ledger(&self, name: &str) -> PathBuf {
        self.path(name, "ledger.jsonl")
    }

    /// Joins the charges of all methods in the order of runs and methods into `ledger.jsonl`.
    ///
    /// **Errors**: a ledger that does not have one charge for each release of its method.
    pub fn join_ledgers(&self, parts: &[LedgerPart]) -> Result<(), StoreError> {
        let folder = self.folder.parent().unwrap_or(&self.folder);
        let mut lines = String::new();
        for part in parts.iter().filter(|part| part.charges > 0) {
            let path = self.ledger(&part.name);
            let text = read_to_string_bounded(&path, BYTES_MAX).map_err(io_at(&path))?;
            // The first line says what the ledger is for.
            let charges = text.lines().count().saturating_sub(1);
            if charges != part.charges as usize {
                let message = format!("{charges} charges for {} releases", part.charges);
                return Err(StoreError::Ledger { path, line: text.lines().count(), message });
            }
            for line in text.lines().skip(1) {
                // The chain runs through the ledger of one method: nothing could be checked by it among others.
                let charge =
                    line.rsplit_once(",\"chain\":").map_or(line.to_owned(), |(charge, _)| format!("{charge}}}"));
                lines.push_str(&charge.replacen('{', &format!("{{{},", part.fields), 1));
                lines.push('\n');
            }
        }
        let path = folder.join(LEDGER);
        write_atomically(&path, lines.as_bytes()).map_err(io_at(&path))
    }

    /// Drops the state: the folder holds everything.
    pub fn discard(&self) -> Result<(), StoreError> {
        let dropped = self.folder.parent().unwrap_or(&self.folder).join(DROPPED);
        fs::rename(&self.folder, &dropped).map_err(io_at(&self.folder))?;
        fs::remove_dir_all(&dropped).map_err(io_at(&dropped))
    }
}

/// The first few lines in which two scenarios differ.
fn difference(there: &str, here: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (there.lines().collect(), here.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(come).take(6).collect::<Vec<_>>().join("; ")
}
