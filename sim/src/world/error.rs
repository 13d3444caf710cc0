//! Why an objective could not be built.

use std::fmt;
use std::path::PathBuf;

use crate::text::Quoted;

/// Why an objective could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// The objective reads a file and none was named.
    NoData {
        /// The file that is meant.
        file: &'static str,
    },
    /// A folder is named where one file is read.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The file that is meant.
        file: &'static str,
    },
    /// The file cannot be read.
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is longer than any that is meant.
    TooLong {
        /// Which file.
        path: PathBuf,
        /// The most bytes that are read.
        bytes_max: u64,
    },
    /// A column that must be there is not.
    NoColumn {
        /// Which file.
        path: PathBuf,
        /// Name of the column.
        column: String,
    },
    /// A row with another number of fields than the header, or bytes that are not text.
    Row {
        /// Which file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What the CSV reader says.
        message: String,
    },
    /// A field that is not admissible.
    Field {
        /// Which file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// Name of the column.
        column: String,
        /// The field as it stands.
        value: String,
        /// What would have been taken.
        admissible: &'static str,
    },
    /// A task without both labels in both halves: no machine can be trained or judged.
    OneClass {
        /// Which file.
        path: PathBuf,
        /// Which task.
        task: usize,
        /// Which half.
        split: &'static str,
    },
    /// The kernel is too rough for the grid.
    TooRough {
        /// Columns that were tried.
        rank: usize,
        /// Variance that still lacks at the worst point.
        residual: f64,
        /// What may lack.
        tolerance: f64,
    },
}

impl fmt::Display for ObjectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectiveError::NoData { file } => write!(f, "this scenario reads {file}; name it with --data PATH"),
            ObjectiveError::Folder { path, file } => write!(
                f,
                "{}: is a folder, and this scenario reads one file; name it, as in --data {}",
                path.display(),
                path.join(file).display()
            ),
            ObjectiveError::Unreadable { path, error } => write!(f, "{}: cannot be read: {error}", path.display()),
            ObjectiveError::TooLong { path, bytes_max } => {
                write!(f, "{}: longer than {bytes_max} bytes; is this the right file?", path.display())
            }
            ObjectiveError::NoColumn { path, column } => {
                write!(f, "{}:1: column `{column}` is missing from the header", path.display())
            }
            ObjectiveError::Row { path, line, message } => {
                write!(f, "{}:{line}: {}", path.display(), Quoted(message))
            }
            ObjectiveError::Field { path, line, column, value, admissible } => {
                write!(
                    f,
                    "{}:{line}: `{}` is `{}`; admissible: {admissible}",
                    path.display(),
                    Quoted(column),
                    Quoted(value)
                )
            }
            ObjectiveError::OneClass { path, task, split } => {
                write!(f, "{}: task {task} has only one label among its {split} rows; both are needed", path.display())
            }
            ObjectiveError::TooRough { rank, residual, tolerance } => write!(
                f,
                "the kernel is too rough for this grid: {rank} columns leave a variance of {residual:.2e}, \
                 at most {tolerance:.2e} may be left; take fewer points, a longer lengthscale or a smoother kernel"
            ),
        }
    }
}

impl std::error::Error for ObjectiveError {}
