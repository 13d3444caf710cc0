//! A whole sweep: every unit to its end, and the index of what became of them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_engine::Options;
use sordino_experiment::progress::log::Line;
use sordino_experiment::progress::writer::ProgressWriter;

use super::{Done, ERROR, Ended, Sink, drive};
use crate::sweep::compared::Compared;
use crate::sweep::page::page;
use crate::sweep::{Entry, Index, Status, SweepError, SweepFolder};
use crate::work::{Unit, Work};

/// Time between two writes of the index during a sweep.
const INDEX_EVERY: Duration = Duration::from_secs(2);

/// Executes all units that are not done, and writes the index, its tables and the page.
///
/// **Errors**: the folder's; [`SweepError::Version`]; [`SweepError::Interrupted`]. A failed unit is no error: it is in the
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
    folder.of_this_version()?;
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
    let driven = drive(folder, &left, None, options, writer, &taken);
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

impl Sink for Taken<'_> {
    fn begins(&self, unit: &Unit) {
        self.writer.event(self.line("run_start", unit));
    }

    fn ends(&self, unit: &Unit, ended: Result<Done, Ended>) -> Result<(), SweepError> {
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
fn settle(entry: &mut Entry, ended: Result<Done, Ended>, path: &Path) -> bool {
    match ended {
        Ok(Done::Whole(summary)) => {
            (entry.status, entry.error) = (Status::Done, None);
            (entry.digest, entry.methods) = (Some(summary.digest), summary.methods);
            entry.cautions = summary.cautions;
            entry.compared = Compared::read(path);
        }
        Ok(Done::Share) | Err(Ended::Interrupted) => return false,
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
