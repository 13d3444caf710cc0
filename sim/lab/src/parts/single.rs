//! A part of one scenario.

use std::path::Path;
use std::sync::Arc;

use sordino_engine::{Model, ModelError, Options, Part, Share};
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::progress::Progress;
use sordino_report::folder::RunFolder;

use super::error::PartError;
use super::mark::Mark;
use crate::execute;

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
    let options = Options {
        share: Some(share),
        ..options
    };
    let Begun {
        folder,
        mark,
        journal,
    } = begun;
    let Err(error) = execute::share(model, &journal, options, progress) else {
        return mark.complete(folder.path());
    };
    if !matches!(error, ModelError::Interrupted) {
        // A part that could not begin, for want of its data say, may be begun again.
        journal.discard_if_empty();
        if !Journal::is_begun(folder.path()) {
            mark.give_up(folder.path());
            folder.discard_if_empty();
        }
    }
    Err(error.into())
}
