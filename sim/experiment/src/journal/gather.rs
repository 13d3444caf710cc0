//! Merges the journals of all parts of an execution into one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    CANDIDATES, CHECKPOINT, HEAD, Journal, JournalError, NAMES, SCENARIO, SCENARIO_BYTES_MAX,
    SPREAD, STATE, head, io_at, same, stored_head,
};
use crate::files::{read_to_string_bounded, write_atomically};

impl Journal {
    /// Begins in a run folder that holds no state yet, with everything that the journals in the
    /// folders `parts` have finished; those journals are left as they are. If the scenario reads
    /// `data`, they are compared with theirs.
    ///
    /// **Errors**: [`JournalError::OtherScenario`], [`JournalError::OtherData`] with the first
    /// folder that differs from the others; [`JournalError::Damaged`] with a file that two of them
    /// have; no folder at all; the system's.
    pub fn gather(
        folder: &Path,
        parts: &[PathBuf],
        data: Option<&Path>,
    ) -> Result<Self, JournalError> {
        let first = parts.first().ok_or_else(|| JournalError::NothingToResume {
            path: folder.to_owned(),
        })?;
        let scenario = Self::scenario(first)?;
        let digest = stored_head(&first.join(STATE))?;
        if data.is_some() && head(&scenario, data)?.0 != digest.0 {
            return Err(JournalError::OtherData {
                path: first.clone(),
            });
        }
        let state = folder.join(STATE);
        fs::create_dir_all(&state).map_err(io_at(&state))?;
        for part in parts {
            let own = Self::scenario(part)?;
            let other = stored_head(&part.join(STATE))?;
            same(part, &own, &scenario)?;
            if other.0 != digest.0 {
                return Err(JournalError::OtherData { path: part.clone() });
            }
            take(&part.join(STATE), &state)?;
        }
        let path = state.join(HEAD);
        write_atomically(&path, &digest.0).map_err(io_at(&path))?;
        // The last: without it there is nothing to go on with.
        let path = state.join(SCENARIO);
        write_atomically(&path, scenario.as_bytes()).map_err(io_at(&path))?;
        Ok(Journal {
            folder: state,
            head: digest,
        })
    }

    /// The scenario of the journal in a folder, with every key written out.
    ///
    /// **Errors**: [`JournalError::NothingToResume`] if there is none; the system's.
    pub fn scenario(folder: &Path) -> Result<String, JournalError> {
        let path = Self::scenario_file(folder);
        read_to_string_bounded(&path, SCENARIO_BYTES_MAX).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => JournalError::NothingToResume {
                path: folder.to_owned(),
            },
            _ => JournalError::Io { path, error },
        })
    }
}

/// Copies the finished jobs of a journal.
fn take(from: &Path, to: &Path) -> Result<(), JournalError> {
    for entry in fs::read_dir(from).map_err(io_at(from))? {
        let path = entry.map_err(io_at(from))?.path();
        let name = path.file_name().unwrap_or_default();
        if name == SCENARIO
            || name == HEAD
            || path.extension().is_some_and(|ending| ending == CHECKPOINT)
        {
            continue;
        }
        let place = to.join(name);
        // Candidates, names and spread are functions of scenario and data: all parts have the same.
        if !place.exists() {
            fs::copy(&path, &place).map_err(io_at(&path))?;
        } else if name != CANDIDATES && name != NAMES && name != SPREAD {
            return Err(JournalError::damaged(&path, "is in another part as well"));
        }
    }
    Ok(())
}
