//! What outlives the program: checkpoints and finished methods.
//!
//! Everything is written beside its place, synced, renamed, and the folder synced: a crash leaves the old file or the
//! new one. A file begins with a line that says what it is, of which format and which scenario, and ends with a
//! SHA-256 of all before it; one that does not fit is refused, never guessed at.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sordino_core::digest::{Digest, Frame};
use sordino_core::federated::ServerState;
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::RdpAccountant;

use crate::driver::context::MethodContext;
use crate::driver::host::ServerHost;
use crate::driver::{DriverError, Method, MethodRun};
use crate::fabric::Snapshot;
use crate::ledger::Ledger;
use crate::scenario::Scenario;

/// First line of every file, before the scenario's digest.
const MAGIC: &str = "sordino checkpoint 2";
/// Folder of the state within a run folder.
const STATE: &str = "state";
/// The same while it is being dropped.
const DROPPED: &str = "state.dropped";
/// The joined ledger of a complete execution.
const LEDGER: &str = "ledger.jsonl";
/// What the state belongs to.
const SCENARIO: &str = "scenario.toml";
/// Checkpoints kept of a method that is running.
const KEEP: usize = 2;
/// A file longer than this is not read.
const BYTES_MAX: u64 = 1 << 34;

/// Where an execution keeps what it must not lose.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    scenario: Digest,
    interval: Duration,
    saved: Mutex<BTreeMap<(u32, Method), Instant>>,
}

/// A method between two rounds.
#[derive(Serialize, Deserialize)]
pub struct Saved {
    /// The server's state.
    pub server: ServerState,
    /// What is spent. The budget is the scenario's: no file can raise it.
    pub spent: RdpAccountant,
    broadcast: Option<Vec<u8>>,
    /// The books.
    pub books: MethodRun,
    /// All agents.
    pub agents: Snapshot,
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

/// Writes a file so that a crash leaves the old one or the new one.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let beside = path.with_extension("new");
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(io_at(path))
}

impl Store {
    /// Begins in a folder that holds no state yet.
    pub fn create(folder: &Path, scenario: &Scenario, interval: Duration) -> Result<Self, StoreError> {
        let state = folder.join(STATE);
        fs::create_dir_all(&state).map_err(io_at(&state))?;
        write_atomically(&state.join(SCENARIO), scenario.resolved().as_bytes())?;
        Ok(Self::open(state, scenario, interval))
    }

    /// Goes on in a folder whose state is that of the same scenario.
    ///
    /// **Errors**: [`StoreError::NothingToResume`], [`StoreError::OtherScenario`] with the lines that differ.
    pub fn resume(folder: &Path, scenario: &Scenario, interval: Duration) -> Result<Self, StoreError> {
        let state = folder.join(STATE);
        let path = state.join(SCENARIO);
        let there = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NothingToResume { path: folder.to_owned() });
            }
            Err(error) => return Err(StoreError::Io { path, error }),
        };
        let here = scenario.resolved();
        if there != here {
            return Err(StoreError::OtherScenario { path: folder.to_owned(), difference: difference(&there, &here) });
        }
        Ok(Self::open(state, scenario, interval))
    }

    /// Begins in a new folder, or goes on in one that holds state. Nothing if the execution there is complete.
    ///
    /// **Errors**: as [`Store::resume`]; a folder that holds anything else.
    pub fn begin_or_resume(folder: &Path, scenario: &Scenario, interval: Duration) -> Result<Option<Self>, StoreError> {
        let (state, ledger) = (folder.join(STATE), folder.join(LEDGER));
        if !state.exists() && ledger.exists() {
            // Killed while the state was being dropped.
            let _ = fs::remove_dir_all(folder.join(DROPPED));
            return Ok(None);
        }
        let entries = fs::read_dir(folder).map_err(io_at(folder))?.flatten();
        // A folder with a state that says nothing yet: killed at the very beginning.
        let fresh = entries.into_iter().all(|entry| entry.file_name() == STATE) && !state.join(SCENARIO).exists();
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

    fn open(folder: PathBuf, scenario: &Scenario, interval: Duration) -> Self {
        let mut frame = Frame::leaf();
        frame.bytes(scenario.resolved().as_bytes());
        Store { folder, scenario: frame.end(), interval, saved: Mutex::default() }
    }

    fn name<T>(&self, method: &MethodContext<T>, ending: &str) -> PathBuf {
        self.folder.join(format!("run-{:05}.{}.{ending}", method.run.index, method.method))
    }

    /// The result of a method that was finished before.
    pub fn finished<T>(&self, method: &MethodContext<T>) -> Result<Option<MethodRun>, DriverError> {
        Ok(self.read(&self.name(method, "done"))?)
    }

    /// Writes the result of a method and drops its checkpoints.
    pub fn finish<T>(&self, method: &MethodContext<T>, run: &MethodRun) -> Result<(), DriverError> {
        self.write(&self.name(method, "done"), run)?;
        for (_, path) in self.checkpoints(method)? {
            fs::remove_file(&path).map_err(io_at(&path))?;
        }
        Ok(())
    }

    /// Whether a checkpoint of this method is due.
    pub fn is_due<T>(&self, method: &MethodContext<T>) -> bool {
        let mut saved = self.saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let last = saved.entry((method.run.index, method.method)).or_insert_with(Instant::now);
        last.elapsed() >= self.interval
    }

    /// Writes a checkpoint and drops all but the last few.
    pub fn save<T>(&self, method: &MethodContext<T>, state: &Saved) -> Result<(), DriverError> {
        let round = state.books.chain.len();
        self.write(&self.name(method, &format!("{round:08}.checkpoint")), state)?;
        let mut old = self.checkpoints(method)?;
        old.sort();
        for (_, path) in old.iter().rev().skip(KEEP) {
            fs::remove_file(path).map_err(io_at(path))?;
        }
        let mut saved = self.saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        saved.insert((method.run.index, method.method), Instant::now());
        Ok(())
    }

    /// The last checkpoint of a method.
    pub fn latest<T>(&self, method: &MethodContext<T>) -> Result<Option<Saved>, DriverError> {
        match self.checkpoints(method)?.into_iter().max() {
            Some((_, path)) => Ok(self.read(&path)?),
            None => Ok(None),
        }
    }

    fn checkpoints<T>(&self, method: &MethodContext<T>) -> Result<Vec<(u64, PathBuf)>, StoreError> {
        let prefix = format!("run-{:05}.{}.", method.run.index, method.method);
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
        write_atomically(path, &bytes)
    }

    fn read<V: for<'de> Deserialize<'de>>(&self, path: &Path) -> Result<Option<V>, StoreError> {
        let damaged = |what| StoreError::Damaged { path: path.to_owned(), what };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_at(path)(error)),
            Ok(metadata) if metadata.len() > BYTES_MAX => return Err(damaged("is too long to be a checkpoint")),
            Ok(_) => {}
        }
        let bytes = fs::read(path).map_err(io_at(path))?;
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

    /// The ledger of a method, with all it was charged so far.
    pub fn ledger<T>(&self, method: &MethodContext<T>) -> Result<Ledger, DriverError> {
        Ok(Ledger::open(self.name(method, "ledger.jsonl"))?)
    }

    /// Joins the ledgers of all methods in the order of runs and methods into `ledger.jsonl`, and drops the rest of
    /// the state: the execution is complete.
    pub fn complete(&self, results: &[MethodRun]) -> Result<(), StoreError> {
        let folder = self.folder.parent().unwrap_or(&self.folder);
        let mut lines = String::new();
        for run in results {
            let path = self.folder.join(format!("run-{:05}.{}.ledger.jsonl", run.run, run.method));
            if run.releases == 0 {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(io_at(&path))?;
            if text.lines().count() != run.releases as usize {
                let message = format!("{} charges for {} releases", text.lines().count(), run.releases);
                return Err(StoreError::Ledger { path, line: text.lines().count(), message });
            }
            for line in text.lines() {
                let head = format!("{{\"run\":{},\"method\":\"{}\",", run.run, run.method);
                lines.push_str(&line.replacen('{', &head, 1));
                lines.push('\n');
            }
        }
        write_atomically(&folder.join(LEDGER), lines.as_bytes())?;
        let dropped = folder.join(DROPPED);
        fs::rename(&self.folder, &dropped).map_err(io_at(&self.folder))?;
        fs::remove_dir_all(&dropped).map_err(io_at(&dropped))
    }
}

impl Saved {
    /// A method as it is between two rounds.
    pub fn new<T: Scalar>(
        _store: &Store,
        _method: &MethodContext<T>,
        server: &ServerHost<T>,
        books: &MethodRun,
        agents: Snapshot,
    ) -> Self {
        let broadcast = server.broadcast().map(|vectors| {
            let mut bytes = vec![0; vectors.len() * T::BYTES];
            bytes.chunks_exact_mut(T::BYTES).zip(vectors).for_each(|(bytes, x)| x.write_le(bytes));
            bytes
        });
        Saved {
            server: server.state().clone(),
            spent: server.filter().accountant().clone(),
            broadcast,
            books: books.clone(),
            agents,
        }
    }

    /// The vectors of the last broadcast.
    pub fn broadcast<T: Scalar>(&self) -> Option<Vec<T>> {
        Some(self.broadcast.as_ref()?.chunks_exact(T::BYTES).map(T::read_le).collect())
    }
}

/// The first few lines in which two scenarios differ.
fn difference(there: &str, here: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (there.lines().collect(), here.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(come).take(6).collect::<Vec<_>>().join("; ")
}
