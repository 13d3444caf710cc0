//! Why a part cannot be executed, or why parts make no whole.

use std::io;
use std::path::{Path, PathBuf};

use sordino_engine::{ModelError, Part};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::journal::JournalError;
use sordino_report::folder::FolderError;

use crate::execute::ExecuteError;
use crate::sweep::{GridError, SweepError};

/// Why a part cannot be executed, or why parts make no whole, in one line.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// A part without a job.
    #[error(
        "part {part} has nothing to do: there are {jobs} jobs; admissible: at most {jobs} parts"
    )]
    Nothing {
        /// The part that was asked for.
        part: Part,
        /// Jobs of the whole execution.
        jobs: u64,
    },
    /// A scenario whose jobs belong together.
    #[error("scenario `{scenario}` cannot be cut into parts: {why}; omit --part")]
    Indivisible {
        /// Name of the scenario.
        scenario: String,
        /// Why its jobs belong together.
        why: &'static str,
    },
    /// The folder holds a part, but the whole or another part was asked for.
    #[error(
        "{path}: holds part {there} of an execution; go on with it by --part {there}, or put all of them together with sordino merge"
    )]
    Holds {
        /// Path of the folder.
        path: PathBuf,
        /// The part it holds.
        there: Part,
    },
    /// The folder holds something else.
    #[error("{path}: holds no part of an execution (no part.json); {cure}")]
    None {
        /// Path of the folder.
        path: PathBuf,
        /// What to do instead.
        cure: &'static str,
    },
    /// A `part.json` that this program did not write.
    #[error("{path}: {message}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A part of another version of the program, whose bits may differ.
    #[error(
        "{path}: part {part} was made by sordino {there}, this is {here}; let one version do all parts"
    )]
    Version {
        /// Path of the folder.
        path: PathBuf,
        /// The part it holds.
        part: Part,
        /// The version that made it.
        there: String,
        /// This program's version.
        here: &'static str,
    },
    /// A part of an execution other than that of the first folder named.
    #[error("{path}: part {part} is not of the execution of {first} ({difference})")]
    Foreign {
        /// Path of the folder.
        path: PathBuf,
        /// The part it holds.
        part: Part,
        /// The folder it is compared with.
        first: PathBuf,
        /// Lines that differ: `-` in the first folder, `+` in this one.
        difference: String,
    },
    /// A part that is not complete.
    #[error(
        "{path}: part {part} is not complete; execute it again with --part {part} --resume, into the same folder"
    )]
    Unfinished {
        /// Path of the folder.
        path: PathBuf,
        /// The part it holds.
        part: Part,
    },
    /// Two folders hold the same part.
    #[error("part {part} is given twice: {first} and {second}; every part once")]
    Twice {
        /// The part that both hold.
        part: Part,
        /// The folder that was named first.
        first: PathBuf,
        /// The folder that was named later.
        second: PathBuf,
    },
    /// Parts that were not given.
    #[error(
        "{count} of {of} parts are missing: {named}; execute them, or name their folders as well"
    )]
    Missing {
        /// Number of missing parts.
        count: usize,
        /// Number of all parts.
        of: u32,
        /// The first of the missing parts.
        named: String,
    },
    /// A part that lacks a result, or holds a result of another part.
    #[error("{path}: part {part} {fault} {job}; execute it again into a new folder")]
    Jobs {
        /// Path of the folder.
        path: PathBuf,
        /// The part it holds.
        part: Part,
        /// `lacks` or `holds another part's`.
        fault: &'static str,
        /// The job's name.
        job: String,
    },
    /// Runs of a sweep that could not be carried out.
    #[error("{failed} of {of} runs failed: {named}; --resume tries them again")]
    Failed {
        /// Number of failed runs.
        failed: usize,
        /// Number of runs that have jobs in this part.
        of: usize,
        /// The first failed runs, each with the reason.
        named: String,
    },
    /// Stopped from outside; what is finished is kept.
    #[error("interrupted")]
    Interrupted,
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// A scenario of the sweep is refused.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The folder of the sweep cannot be used.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The run cannot be executed, or its folder not filled.
    #[error(transparent)]
    Execute(ExecuteError),
}

impl PartError {
    /// What is wrong with a file that this program would not write so.
    pub(super) fn damaged(path: &Path, what: impl std::fmt::Display) -> Self {
        PartError::Damaged {
            path: path.to_owned(),
            message: what.to_string(),
        }
    }
}

impl From<JournalError> for PartError {
    fn from(error: JournalError) -> Self {
        ExecuteError::Journal(error).into()
    }
}

impl From<FolderError> for PartError {
    fn from(error: FolderError) -> Self {
        ExecuteError::Folder(error).into()
    }
}

impl From<ExecuteError> for PartError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Model(ModelError::Interrupted) => PartError::Interrupted,
            error => PartError::Execute(error),
        }
    }
}

impl From<PartError> for CliError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Failed { .. } | PartError::Interrupted | PartError::Io { .. } => {
                CliError::failure(error)
            }
            PartError::Execute(error) => error.into(),
            PartError::Sweep(error) => error.into(),
            error => CliError::input(error),
        }
    }
}
