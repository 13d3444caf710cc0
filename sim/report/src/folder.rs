//! The run folder.
//!
//! Nothing in it depends on the machine, the time, the driver or the number of threads: two
//! executions of one scenario leave equal folders. `README.md` in the folder says what its files
//! and columns mean.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::files::{
    FolderLock, LockError, folder_of, write_atomically, write_durably,
};
use sordino_experiment::journal::SUMMARY;
use sordino_experiment::record::Record;

/// The file with the scenario.
pub const SCENARIO: &str = "scenario.toml";
/// Its first line, up to the version that wrote it.
const WRITTEN_BY: &str = "# Every key written out; sordino ";

/// The text of [`SCENARIO`]: every key, below a line that says who wrote it.
pub fn scenario_file(resolved: &str) -> String {
    format!("{WRITTEN_BY}{}.\n{resolved}", env!("CARGO_PKG_VERSION"))
}

/// The version in the first line of a text made by [`scenario_file`]; `unknown` if that line is not
/// there.
pub fn writer(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("");
    line.strip_prefix(WRITTEN_BY)
        .and_then(|line| line.strip_suffix('.'))
        .unwrap_or("unknown")
}

/// A run folder that could not be made or filled.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Something exists at this path already.
    #[error(
        "--out {0}: exists already; name a new folder, nothing is overwritten (--resume goes on with an interrupted run)"
    )]
    Exists(PathBuf),
    /// Another process writes into the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The operating system refused.
    #[error("{path}: cannot be written: {error}")]
    Io {
        /// The path that was to be written.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

/// A folder to be filled by this process only: it is locked as long as this value lives.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: FolderLock,
}

impl RunFolder {
    /// Makes the folder at this path, which must be free.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        let parent = folder_of(path);
        std::fs::create_dir_all(parent).map_err(|error| FolderError::Io {
            path: parent.to_owned(),
            error,
        })?;
        std::fs::create_dir(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Exists(path.to_owned()),
            _ => FolderError::Io {
                path: path.to_owned(),
                error,
            },
        })?;
        Self::locked(path)
    }

    /// Opens the folder at this path, made if it does not exist.
    ///
    /// **Errors**: [`FolderError::Lock`] if another process writes into it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        std::fs::create_dir_all(path).map_err(|error| FolderError::Io {
            path: path.to_owned(),
            error,
        })?;
        Self::locked(path)
    }

    fn locked(path: &Path) -> Result<Self, FolderError> {
        let lock = FolderLock::take(path).map_err(FolderError::Lock)?;
        Ok(RunFolder {
            path: path.to_owned(),
            lock,
        })
    }

    /// Makes the next free numbered folder under `parent`: 0001-name, 0002-name, …
    pub fn create_numbered(parent: &Path, name: &str) -> Result<Self, FolderError> {
        let taken = std::fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .split('-')
                    .next()?
                    .parse::<u32>()
                    .ok()
            })
            .max()
            .unwrap_or(0);
        let name: String = name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || c == '-' || c == '_' {
                    c
                } else {
                    '-'
                }
            })
            .take(60)
            .collect();
        // Another process may take a number at the same time.
        let mut number = taken.saturating_add(1);
        loop {
            match Self::create(&parent.join(format!("{number:04}-{name}"))) {
                Err(FolderError::Exists(_)) if number < u32::MAX => number += 1,
                result => return result,
            }
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder if nothing was written into it.
    pub fn discard_if_empty(self) {
        drop(self.lock);
        let _ = std::fs::remove_dir(&self.path);
    }

    /// Writes one file of the folder and syncs it to disk.
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes one file that is no text, and syncs it to disk.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let path = self.path.join(name);
        write_durably(&path, bytes).map_err(|error| FolderError::Io { path, error })
    }

    /// Writes `summary.json`, whole or not at all: its presence says that the folder is complete,
    /// so nothing may be written after it.
    pub fn seal(&self, summary: &impl Serialize) -> Result<(), FolderError> {
        let path = self.path.join(SUMMARY);
        let written = pretty(summary).and_then(|text| write_atomically(&path, text.as_bytes()));
        written.map_err(|error| FolderError::Io { path, error })
    }

    /// Writes the files of an execution and seals the folder.
    ///
    /// **Errors**: the system's; the folder is then not sealed.
    pub fn fill(&self, record: &Record) -> Result<(), FolderError> {
        record
            .files
            .iter()
            .try_for_each(|(name, text)| self.write(name, text))?;
        record
            .priors
            .iter()
            .try_for_each(|(name, bytes)| self.write_bytes(name, bytes))?;
        self.seal(&record.summary)
    }
}

/// A value as JSON for people and programs.
///
/// **Errors**: a value that cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

impl From<FolderError> for CliError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Exists(_) => CliError::input(error),
            FolderError::Lock(_) | FolderError::Io { .. } => CliError::failure(error),
        }
    }
}
