//! Executes one scenario of any trust model into one run folder.

use std::path::Path;
use std::sync::Arc;

use sordino_engine::{Model, ModelError, Options};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::progress::Progress;
use sordino_experiment::record::Record;
use sordino_report::folder::{FolderError, RunFolder};

/// Why an execution left no complete folder.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The execution ended early.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The folder could not be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The journal could not be written or used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A folder with its journal, or the fact that nothing is left to do in it.
pub enum Place {
    /// To be executed, from the beginning or from the parts that are finished.
    Open(RunFolder, Arc<Journal>),
    /// The folder already holds the complete execution.
    Complete,
}

/// Goes on in the folder at `path`, or begins it if it is new or empty; `data` are the files that
/// the scenario reads.
///
/// **Errors**: a folder of another scenario, complete or not, with the difference; a folder of
/// anything else; one that another process writes into.
pub fn begin_or_resume(
    path: &Path,
    model: &dyn Model,
    data: Option<&Path>,
) -> Result<Place, ExecuteError> {
    let folder = RunFolder::open(path)?;
    let journal = Journal::begin_or_resume(path, &model.resolved(), data)?;
    Ok(journal.map_or(Place::Complete, |journal| {
        Place::Open(folder, Arc::new(journal))
    }))
}

/// Begins in a new folder.
///
/// **Errors**: the system's.
pub fn begin(
    folder: RunFolder,
    model: &dyn Model,
    data: Option<&Path>,
) -> Result<Place, ExecuteError> {
    let journal = Journal::create(folder.path(), &model.resolved(), data)?;
    Ok(Place::Open(folder, Arc::new(journal)))
}

/// Does the jobs of `options.share` that are not done yet. Their results stay in the journal: a
/// share of one part has every job, and still leaves no summary, because the whole is made by the
/// merge.
///
/// **Errors**: the model's; [`ModelError::Interrupted`], after which the journal holds the finished
/// jobs.
pub fn share(
    model: &dyn Model,
    journal: &Arc<Journal>,
    options: Options,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    let options = Options {
        journal: Some(journal.clone()),
        ..options
    };
    match model.run(&options, progress) {
        Ok(_) | Err(ModelError::PartDone) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Executes the scenario, fills the folder, seals it and drops the state.
///
/// **Errors**: [`ExecuteError`]; [`ModelError::Interrupted`], after which the journal holds the
/// finished work. It stays for a run that resumes; a folder in which nothing was left is removed.
pub fn execute(
    model: &dyn Model,
    folder: RunFolder,
    journal: Arc<Journal>,
    options: Options,
    progress: &dyn Progress,
) -> Result<Record, ExecuteError> {
    let options = Options {
        journal: Some(journal.clone()),
        ..options
    };
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
    folder.fill(&record)?;
    // Nothing is written after it; what is left of the state is dropped by the next run that comes
    // here.
    journal.discard()?;
    Ok(record)
}

impl From<ExecuteError> for CliError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Model(error) => error.into(),
            ExecuteError::Folder(error) => error.into(),
            ExecuteError::Journal(error) => error.into(),
        }
    }
}
