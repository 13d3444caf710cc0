//! A whole sweep: every unit to its end, and the index of what became of them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_engine::{Model, Options, Part};
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::log::Line;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::record::Summary;

use super::{Ended, Execution, drive};
use crate::execute::{self, Place};
use crate::sweep::compared::Compared;
use crate::sweep::page::page;
use crate::sweep::{Entry, Index, Status, SweepError, SweepFolder};
use crate::work::{Unit, Work};

/// The name of the file that says why a run failed.
const ERROR: &str = "error.txt";
/// Time between two writes of the index during a sweep.
const INDEX_EVERY: Duration = Duration::from_secs(2);

/// Executes all units that are not done, and writes the index, its tables and the page; `index` and
/// `work` are the folder's.
///
/// **Errors**: the folder's; [`SweepError::Interrupted`]. A failed unit is no error: it is in the
/// index.
pub fn run(
    folder: &SweepFolder,
    index: Index,
    work: &Work,
    options: &Options,
    writer: &ProgressWriter,
) -> Result<Index, SweepError> {
    let left: Vec<&Unit> = work
        .units
        .iter()
        .filter(|unit| index.entries[unit.number].status != Status::Done)
        .collect();
    folder.write_index(&index)?;
    let taken = Taken {
        folder,
        writer,
        of: work.units.len() as u64,
        state: Mutex::new(State {
            index,
            written: Instant::now(),
            settled: 0,
        }),
    };
    let driven = drive(folder, &left, &taken, options, writer);
    let State {
        mut index, settled, ..
    } = taken
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    // Also where what was interrupted had failed before, and is recorded as failed still.
    if driven.is_err() || settled < left.len() {
        let written = folder.write_index(&index);
        driven?;
        written?;
        return Err(SweepError::Interrupted);
    }
    index.seal();
    folder.condense(&index, &page(folder, &index))?;
    folder.complete()?;
    Ok(index)
}

/// The index while it is filled.
struct State {
    index: Index,
    written: Instant,
    /// Units that have ended, well or not, and were not interrupted.
    settled: usize,
}

/// Puts every end into the index.
struct Taken<'s> {
    folder: &'s SweepFolder,
    writer: &'s ProgressWriter,
    of: u64,
    state: Mutex<State>,
}

impl Taken<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line<'l>(&self, event: &'static str, unit: &'l Unit) -> Line<'l> {
        Line {
            event,
            folder: Some(&unit.folder),
            run_number: Some(unit.number as u64),
            of: Some(self.of),
            ..Line::default()
        }
    }
}

impl Execution for Taken<'_> {
    type Done = Summary;

    fn part(&self) -> Option<Part> {
        None
    }

    fn begins(&self, unit: &Unit) {
        self.writer.event(self.line("run_start", unit));
    }

    fn execute(
        &self,
        unit: &Unit,
        model: &dyn Model,
        place: Place,
        options: &Options,
        told: &dyn Progress,
    ) -> Result<Summary, Ended> {
        let path = self.folder.run(&unit.folder);
        let summary = match place {
            Place::Open(open) => open.execute(model, options, told)?.summary,
            Place::Complete => {
                told.found(unit.jobs * unit.steps);
                execute::summary(&path).map_err(Ended::Failed)?.1
            }
        };
        // One that was tried again; it may have been killed before it removed this.
        let _ = std::fs::remove_file(path.join(ERROR));
        Ok(summary)
    }

    fn ends(&self, unit: &Unit, ended: Result<Summary, Ended>) -> Result<(), SweepError> {
        let mut entry = self.state().index.entries[unit.number].clone();
        if !settle(&mut entry, ended, &self.folder.run(&unit.folder)) {
            return Ok(());
        }
        self.folder.record(&entry)?;
        self.writer.event(match &entry.error {
            None => Line {
                digest: entry.digest.as_deref(),
                ..self.line("run_done", unit)
            },
            Some(error) => Line {
                message: Some(error),
                ..self.line("run_failed", unit)
            },
        });
        let mut state = self.state();
        state.settled += 1;
        state.index.entries[unit.number] = entry;
        if state.written.elapsed() > INDEX_EVERY {
            state.written = Instant::now();
            self.folder.write_index(&state.index)?;
        }
        Ok(())
    }
}

/// Writes into an entry how its unit ended; `false`, with nothing written, if it was interrupted.
fn settle(entry: &mut Entry, ended: Result<Summary, Ended>, path: &Path) -> bool {
    match ended {
        Ok(summary) => {
            (entry.status, entry.error) = (Status::Done, None);
            (entry.digest, entry.methods) = (Some(summary.digest), summary.methods);
            entry.cautions = summary.cautions;
            entry.compared = Compared::read(path);
        }
        Err(Ended::Interrupted) => return false,
        Err(Ended::Failed(error)) => {
            let error = error.replace('\n', " ");
            // The reason also stands where somebody will look for the results.
            let _ = std::fs::create_dir_all(path);
            let _ = std::fs::write(path.join(ERROR), format!("{error}\n"));
            (entry.status, entry.error) = (Status::Failed, Some(error));
            (entry.digest, entry.methods) = (None, Vec::new());
            entry.cautions = Vec::new();
            entry.compared = None;
        }
    }
    true
}
