//! One scenario of any trust model into one run folder.

use std::path::Path;
use std::sync::Arc;

use crate::journal::{Journal, JournalError};
use crate::model::{Model, ModelError, Options};
use crate::progress::Progress;
use crate::record::Record;
use crate::report::folder::{FolderError, RunFolder};

/// Why an execution left no complete folder.
#[derive(Debug)]
pub enum ExecuteError {
    /// The execution ended early.
    Model(ModelError),
    /// The folder could not be made or filled.
    Folder(FolderError),
    /// What survives a kill could not be kept or used.
    Journal(JournalError),
}

impl std::fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExecuteError::Model(error) => write!(f, "{error}"),
            ExecuteError::Folder(error) => write!(f, "{error}"),
            ExecuteError::Journal(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ExecuteError {}

impl From<FolderError> for ExecuteError {
    fn from(error: FolderError) -> Self {
        ExecuteError::Folder(error)
    }
}

impl From<JournalError> for ExecuteError {
    fn from(error: JournalError) -> Self {
        ExecuteError::Journal(error)
    }
}

/// A folder and what is kept in it until it is complete, or that there is nothing left to do in it.
pub enum Place {
    /// To be executed, from the beginning or from what is finished.
    Open(RunFolder, Arc<Journal>),
    /// The folder holds the whole execution already.
    Complete,
}

/// Goes on in the folder at `path`, or begins it if it is new or empty; `data` is what the scenario reads.
///
/// **Errors**: a folder of another scenario, complete or not, with the difference; of anything else; one that another
/// process writes into.
pub fn begin_or_resume(path: &Path, model: &dyn Model, data: Option<&Path>) -> Result<Place, ExecuteError> {
    let folder = RunFolder::open(path)?;
    let journal = Journal::begin_or_resume(path, &model.resolved(), data)?;
    Ok(journal.map_or(Place::Complete, |journal| Place::Open(folder, Arc::new(journal))))
}

/// Begins in a folder that is new.
///
/// **Errors**: the system's.
pub fn begin(folder: RunFolder, model: &dyn Model, data: Option<&Path>) -> Result<Place, ExecuteError> {
    let journal = Journal::create(folder.path(), &model.resolved(), data)?;
    Ok(Place::Open(folder, Arc::new(journal)))
}

/// Executes the scenario, fills the folder, seals it and drops the state.
///
/// **Errors**: [`ExecuteError`]; [`ModelError::Interrupted`] with what is finished in the journal. What was left stays for
/// a run that resumes; a folder in which nothing was left is removed.
pub fn execute(
    model: &dyn Model,
    folder: RunFolder,
    journal: Arc<Journal>,
    options: Options,
    progress: &dyn Progress,
) -> Result<Record, ExecuteError> {
    let options = Options { journal: Some(journal.clone()), ..options };
    let record = match model.run(&options, progress) {
        Ok(record) => record,
        Err(error) => {
            if !matches!(error, ModelError::Interrupted) {
                journal.discard_if_empty();
                folder.discard_if_empty();
            }
            return Err(ExecuteError::Model(error));
        }
    };
    folder.fill(&model.resolved(), &record)?;
    // Nothing is written after it; what is left of the state is dropped by the next run that comes here.
    journal.discard()?;
    Ok(record)
}
