//! Why an objective could not be built.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::Quoted;

/// Why an objective could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// A design whose points leave out names of a category.
    #[error(
        "the design has no candidate with {missing} as `{input}`; admissible: an `objective.candidates` and \
         `objective.design` that reach every name, such as \"sobol\""
    )]
    Names {
        /// The name of the input.
        input: String,
        /// Names that no candidate has.
        missing: String,
    },
    /// The objective reads a file, but none was named.
    #[error("this scenario reads {file}; name it with --data PATH")]
    NoData {
        /// The file that is meant.
        file: &'static str,
    },
    /// A folder is named where a file is read.
    #[error(
        "{path}: is a folder, and this scenario reads one file; name it, as in --data {}",
        .path.join(.file).display()
    )]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The file that is meant.
        file: &'static str,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {error}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// A file cannot be written.
    #[error("{path}: cannot be written: {error}")]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// The file is longer than any valid one.
    #[error("{path}: longer than {bytes_max} bytes; is this the right file?")]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// The most bytes that are read.
        bytes_max: u64,
    },
    /// A file that must be unpacked first.
    #[error("{path}: is compressed; unpack it (gunzip --keep {path}) and name the CSV file")]
    Compressed {
        /// Path of the file.
        path: PathBuf,
    },
    /// A field that does not hold a dictionary as Python prints it.
    #[error("{path}:{line}: `{column}`: {error}")]
    Literal {
        /// Path of the file.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// What is wrong with it.
        #[source]
        error: super::literal::LiteralError,
    },
    /// A dictionary without the entry that is needed, or with an entry of another kind.
    #[error("{path}:{line}: entry `{}` of `result` {found}; admissible: {admissible}", Quoted(.entry))]
    Entry {
        /// Path of the file.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// The entry that is needed.
        entry: String,
        /// What is there instead.
        found: String,
        /// What would have been accepted.
        admissible: String,
    },
    /// A required column is missing.
    #[error("{path}:1: there is no column `{}`; there are {}", Quoted(.column), Quoted(.there))]
    NoColumn {
        /// Path of the file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// The columns that are there.
        there: String,
    },
    /// A row with another number of fields than the header, or bytes that are not text.
    #[error("{path}:{line}: {}", Quoted(.message))]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// What the CSV reader says.
        message: String,
    },
    /// A field that is not admissible.
    #[error("{path}:{line}: `{}` is `{}`; admissible: {admissible}", Quoted(.column), Quoted(.value))]
    Field {
        /// Path of the file.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// Name of the column.
        column: String,
        /// The field as it stands.
        value: String,
        /// What would have been accepted.
        admissible: String,
    },
    /// Too few or too many of something.
    #[error("{path}: {found}; admissible: {admissible}")]
    Count {
        /// The path of the file.
        path: PathBuf,
        /// How many there are.
        found: usize,
        /// What would have been accepted.
        admissible: &'static str,
    },
    /// A table that contradicts itself or does not fit its scenario.
    #[error("{path}: {message}")]
    Table {
        /// The path of the file.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
    /// The functions belong to another program.
    #[error(
        "the functions `{}` are of a program that uses the library (sim/examples/own_objective.rs); sordino reads its run \
         folders (sordino report) and cannot run it",
        Quoted(.function)
    )]
    Custom {
        /// What they are called.
        function: String,
    },
    /// The user's program failed as often as it is allowed to.
    #[error("objective.command, asked {tries} times for {}, {error}", Quoted(.question))]
    Program {
        /// What it was asked, as JSON.
        question: String,
        /// How often it was asked.
        tries: u32,
        /// How it failed the last time.
        #[source]
        error: sordino_host::program::ProgramError,
    },
    /// The user's program answers with something that is not a number.
    #[error(
        "objective.command, asked {tries} times for {}, answered `{}`; admissible: one line with a finite number up to \
         1e12",
        Quoted(.question),
        Quoted(.answer)
    )]
    Answer {
        /// What it was asked, as JSON.
        question: String,
        /// What it said instead.
        answer: String,
        /// How often it was asked.
        tries: u32,
    },
    /// A function of a program that uses this library gave no answer.
    #[error("the function, asked for {}, failed: {error}", Quoted(.question))]
    Function {
        /// What it was asked, as JSON.
        question: String,
        /// Why there is no value.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Functions that are not those of the scenario.
    #[error("the functions have {what} {found}, the scenario says {wanted}")]
    Other {
        /// What differs: agents, dimension, digest.
        what: &'static str,
        /// What the functions have.
        found: String,
        /// What the scenario says.
        wanted: String,
    },
    /// A task without both labels in both halves: no machine can be trained or judged.
    #[error("{path}: task {task} has only one label among its {split} rows; both are needed")]
    OneClass {
        /// Path of the file.
        path: PathBuf,
        /// Index of the task.
        task: usize,
        /// Name of the half, training or validation.
        split: &'static str,
    },
    /// The kernel is too rough for the grid.
    #[error(
        "the kernel is too rough for this grid: {rank} columns leave a variance of {residual:.2e}, at most \
         {tolerance:.2e} may be left; take fewer points, a longer lengthscale or a smoother kernel"
    )]
    TooRough {
        /// Columns that were tried.
        rank: usize,
        /// Variance that is still missing at the worst point.
        residual: f64,
        /// The most variance that may be missing.
        tolerance: f64,
    },
}

impl ObjectiveError {
    /// The system's refusal to read a file.
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        ObjectiveError::Unreadable {
            path: path.to_owned(),
            error,
        }
    }

    /// The system's refusal to write a file.
    pub(super) fn unwritable(path: &Path, error: io::Error) -> Self {
        ObjectiveError::Unwritable {
            path: path.to_owned(),
            error,
        }
    }

    /// What the functions have, and what the scenario says instead.
    pub(super) fn other(what: &'static str, found: impl Display, wanted: impl Display) -> Self {
        ObjectiveError::Other {
            what,
            found: found.to_string(),
            wanted: wanted.to_string(),
        }
    }
}
