//! A part of one scenario.

use std::path::Path;
use std::sync::Arc;

use sordino_engine::{Model, ModelError, Options, Part, Share};
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::progress::Progress;
use sordino_report::folder::RunFolder;

use super::error::PartError;
use super::mark::Mark;

/// A part in its folder, which is locked as long as this value lives.
#[derive(Debug)]
pub struct Begun {
    folder: RunFolder,
    /// Which part of which execution it is.
    pub mark: Mark,
    journal: Arc<Journal>,
}

/// Begins in a new folder, or goes on in one (`resume`); `None` if the part there is complete.
///
/// **Errors**: [`PartError`]: a folder that is taken, holds another part or something else.
pub fn begin(
    path: &Path,
    resume: bool,
    part: Part,
    model: &dyn Model,
    data: Option<&Path>,
) -> Result<Option<Begun>, PartError> {
    let mark = Mark::of_run(part, model)?;
    let folder = if resume {
        RunFolder::open(path)?
    } else {
        RunFolder::create(path)?
    };
    if mark.claim(path)? {
        return Ok(None);
    }
    let journal = Journal::begin_or_resume(path, &model.resolved(), data)?;
    // A summary would mean that somebody made a whole of the part's folder.
    let journal = journal.ok_or_else(|| JournalError::NothingToResume {
        path: path.to_owned(),
    })?;
    Ok(Some(Begun {
        folder,
        mark,
        journal: Arc::new(journal),
    }))
}

/// Does the jobs of the part that are not done yet, and marks the part complete.
///
/// **Errors**: [`PartError::Interrupted`], after which the journal holds the finished jobs; those
/// of the model.
pub fn execute(
    begun: Begun,
    model: &dyn Model,
    options: Options,
    progress: &dyn Progress,
) -> Result<Mark, PartError> {
    let share = Share {
        part: begun.mark.part(),
        first: 0,
    };
    let journal = &begun.journal;
    let options = Options {
        journal: Some(begun.journal.clone()),
        share: Some(share),
        ..options
    };
    match model.run(&options, progress) {
        // A part of one part has every job, and still leaves no summary: the whole is made by the
        // merge.
        Ok(_) | Err(ModelError::PartDone) => begun.mark.complete(begun.folder.path()),
        Err(error) => {
            if !matches!(error, ModelError::Interrupted) {
                // A part that could not begin, for want of its data say, may be begun again.
                journal.discard_if_empty();
                if !Journal::is_begun(begun.folder.path()) {
                    begun.mark.give_up(begun.folder.path());
                    begun.folder.discard_if_empty();
                }
            }
            Err(error.into())
        }
    }
}
