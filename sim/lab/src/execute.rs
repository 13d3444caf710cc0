//! Executes one scenario of any trust model, in one run folder or in memory, and makes what people
//! see of it.

use std::path::Path;
use std::sync::Arc;

use sordino_engine::{Model, ModelError, Options, Share, jobs};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::journal::{Journal, JournalError, SUMMARY};
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Record, Summary};
use sordino_report::folder::{FolderError, RunFolder, SCENARIO, scenario_file};
use sordino_report::read::RunFiles;
use sordino_report::results::Results;

/// A longer summary is not read.
const SUMMARY_BYTES_MAX: u64 = 1 << 26;

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
#[derive(Debug)]
pub enum Place {
    /// To be executed, from the beginning or from the jobs that are finished.
    Open(OpenRun),
    /// The folder already holds the complete execution.
    Complete,
}

/// The folder of an execution that is not complete, locked as long as this value lives, and the
/// journal of what is finished.
#[derive(Debug)]
pub struct OpenRun {
    folder: RunFolder,
    journal: Arc<Journal>,
}

/// The summary of a complete folder, as it was written and as it is read.
///
/// **Errors**: a file that is missing, too long or no summary.
pub fn summary(folder: &Path) -> Result<(String, Summary), String> {
    let path = folder.join(SUMMARY);
    read_to_string_bounded(&path, SUMMARY_BYTES_MAX)
        .map_err(|error| error.to_string())
        .and_then(|text| Summary::parse(&text).map(|summary| (text, summary)))
        .map_err(|error| format!("{}: {error}", path.display()))
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
    begin_in(RunFolder::open(path)?, model, data)
}

/// The same in a folder that this process holds already: a new one, say.
///
/// **Errors**: as [`begin_or_resume`].
pub(crate) fn begin_in(
    folder: RunFolder,
    model: &dyn Model,
    data: Option<&Path>,
) -> Result<Place, ExecuteError> {
    let journal = match Journal::begin_or_resume(folder.path(), &model.resolved(), data) {
        Ok(journal) => journal,
        Err(error) => {
            // One that was made for this, and nothing is in it.
            folder.discard_if_empty();
            return Err(error.into());
        }
    };
    Ok(journal.map_or(Place::Complete, |journal| {
        Place::Open(OpenRun {
            folder,
            journal: Arc::new(journal),
        })
    }))
}

/// Executes a scenario in the folder at `path`, with its page: a new folder, or one that was
/// interrupted, which goes on. `None` if the folder is complete already. The files that the
/// scenario reads are those of `options.data`, the journal is the folder's own.
///
/// **Errors**: as [`begin_or_resume`] and [`OpenRun::execute`].
pub fn run_in(
    path: &Path,
    model: &dyn Model,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<Record>, ExecuteError> {
    match begin_or_resume(path, model, options.data.as_deref())? {
        Place::Open(run) => run.execute(model, options, progress).map(Some),
        Place::Complete => Ok(None),
    }
}

impl OpenRun {
    /// The folder with a journal of one's own, as a merge gathers it.
    pub fn new(folder: RunFolder, journal: Journal) -> Self {
        OpenRun {
            folder,
            journal: Arc::new(journal),
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Executes the scenario, fills the folder, seals it and drops the state.
    ///
    /// **Errors**: [`ExecuteError`]; [`ModelError::Interrupted`], after which the journal holds the
    /// finished work. It stays for a run that resumes; a folder in which nothing was left is
    /// removed.
    pub fn execute(
        self,
        model: &dyn Model,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Record, ExecuteError> {
        let record = match executed(model, &self.with_journal(options), progress) {
            Ok(record) => record,
            Err(error) => {
                if !matches!(error, ModelError::Interrupted) {
                    self.discard_if_empty();
                }
                return Err(error.into());
            }
        };
        self.folder.fill(&record)?;
        // Nothing is written after it; what is left of the state is dropped by the next run that
        // comes here.
        self.journal.discard()?;
        Ok(record)
    }

    /// True if every job of a share is done, and its seal holds: nothing need be read or drawn for
    /// it.
    ///
    /// **Errors**: a result that is damaged.
    pub fn is_done(&self, model: &dyn Model, share: Option<Share>) -> Result<bool, JournalError> {
        for name in jobs::names(model, share) {
            if self.journal.finished::<()>(&name)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does the jobs of `options.share` that are not done yet. Their results stay in the journal:
    /// a share of one part has every job, and still leaves no summary, because the whole is made by
    /// the merge.
    ///
    /// **Errors**: the model's; [`ModelError::Interrupted`], after which the journal holds the
    /// finished jobs.
    pub fn share(
        &self,
        model: &dyn Model,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<(), ModelError> {
        match model.compute(&self.with_journal(options), progress) {
            Ok(_) | Err(ModelError::PartDone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes the journal if nothing is finished, and then the folder if nothing else is in it.
    pub fn discard_if_empty(self) {
        self.drop_empty_journal();
        self.folder.discard_if_empty();
    }

    /// Removes the journal if nothing is finished; true if nothing is begun any more.
    pub(crate) fn drop_empty_journal(&self) -> bool {
        self.journal.discard_if_empty();
        !Journal::is_begun(self.folder.path())
    }

    fn with_journal(&self, options: &Options) -> Options {
        Options {
            journal: Some(self.journal.clone()),
            ..options.clone()
        }
    }
}

/// Executes all runs of all methods: the files of a complete run folder, in memory.
///
/// **Errors**: as [`Model::compute`] and [`Model::view`].
pub fn executed(
    model: &dyn Model,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Record, ModelError> {
    complete(model, model.compute(options, progress)?)
}

/// Adds to the files for programs the scenario, and the table, picture and page that are made of
/// all of them.
///
/// **Errors**: as [`Model::view`].
pub fn complete(model: &dyn Model, mut record: Record) -> Result<Record, ModelError> {
    record
        .files
        .push((SCENARIO, scenario_file(&model.resolved())));
    let shown = shown(model, RunFiles::Made(&record))?;
    record.files.extend(shown);
    Ok(record)
}

/// Table, picture and page of a complete run: (name, text). A run and `sordino report` make them by
/// this function, of files that programs read.
///
/// **Errors**: files that are missing or do not belong together.
pub fn shown(
    model: &dyn Model,
    files: RunFiles<'_>,
) -> Result<Vec<(&'static str, String)>, ModelError> {
    // A trust model's own check comes first: it knows which line of its files is wrong.
    let view = model.view(files)?;
    let results = Results::read(files).map_err(ModelError::input)?;
    Ok(view.files(&model.head(), model.resolved(), model.explain()?, &results))
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
