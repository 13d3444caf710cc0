//! What can be wrong with a stored execution.

use std::io;
use std::path::{Path, PathBuf};

/// Why a stored execution cannot be used.
#[derive(Debug)]
pub enum JournalError {
    /// The operating system refused.
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The data cannot be read.
    Data {
        /// Path of the file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is damaged or of another format.
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The folder belongs to another scenario.
    OtherScenario {
        /// Path of the folder.
        path: PathBuf,
        /// Lines that differ: `-` in the folder, `+` in the scenario given now.
        difference: String,
    },
    /// The folder belongs to this scenario with other data, or was begun by another version.
    OtherData {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The folder holds no unfinished execution.
    NothingToResume {
        /// Path of the folder.
        path: PathBuf,
    },
}

impl JournalError {
    /// What is wrong with a file.
    pub(super) fn damaged(path: &Path, what: &'static str) -> Self {
        JournalError::Damaged {
            path: path.to_owned(),
            what,
        }
    }
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JournalError::Io { path, error } => write!(f, "{}: {error}", path.display()),
            JournalError::Data { path, error } => {
                write!(f, "{}: cannot be read: {error}", path.display())
            }
            JournalError::Damaged { path, what } => {
                write!(
                    f,
                    "{}: {what}; remove it to do this part again from what is left",
                    path.display()
                )
            }
            JournalError::OtherScenario { path, difference } => {
                let begun = if difference.contains("digest = ") {
                    "; its data file is another one"
                } else {
                    ""
                };
                let sides = "`-` is the folder's, `+` what is asked for now";
                write!(
                    f,
                    "{} belongs to another scenario{begun} ({difference}; {sides})",
                    path.display()
                )
            }
            JournalError::OtherData { path } => {
                write!(f, "{}: of other data or another version", path.display())
            }
            JournalError::NothingToResume { path } => write!(
                f,
                "{}: holds no unfinished run; name a new folder, or omit --resume to see what it is",
                path.display()
            ),
        }
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            JournalError::Io { error, .. } | JournalError::Data { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// The system's refusal, with the path of the file.
pub fn io_at(path: &Path) -> impl Fn(io::Error) -> JournalError + '_ {
    |error| JournalError::Io {
        path: path.to_owned(),
        error,
    }
}
