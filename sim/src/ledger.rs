//! The ledger of a simulated server: one JSON line for each charge, which says that it is simulated.
//!
//! A line is appended before the noise of the release is drawn, and synced before anything made from the release is
//! written: a checkpoint, a result, an output. In a simulation a resumed run draws the same noise again for a release
//! that was charged already: it is charged once.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::PathBuf;

use serde::Serialize;
use sordino_core::privacy::event::Event;
use sordino_core::privacy::ledger::{LedgerEntry, Replay};
use sordino_core::random::SourceKind;

use crate::checkpoint::{StoreError, io_at};
use crate::driver::DriverError;
use crate::files::read_bounded;
use crate::report::json::noise;

/// A longer ledger is not read.
const BYTES_MAX: u64 = 1 << 30;

/// A line as it is written.
#[derive(Serialize)]
struct Line<'e> {
    #[serde(flatten)]
    entry: &'e LedgerEntry,
    noise: String,
}

/// Charges of one method in the order of its releases; kept in memory only if there is no file.
#[derive(Debug)]
pub struct Ledger {
    file: Option<(File, PathBuf)>,
    replay: Replay,
    entries: Vec<LedgerEntry>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger { file: None, replay: Replay::new(SourceKind::Simulation), entries: Vec::new() }
    }
}

impl Ledger {
    /// Opens a file, with all it was charged so far; a last line without its end was never acted upon and is dropped.
    ///
    /// **Errors**: a line that does not fit, with its number.
    pub fn open(path: PathBuf) -> Result<Self, StoreError> {
        let mut ledger = Ledger::default();
        let (mut valid, mut line_number) = (0u64, 0);
        let existing = match read_bounded(&path, BYTES_MAX) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_at(&path)(error)),
        };
        if let Some(bytes) = existing {
            let mut reader = bytes.as_slice();
            let mut line = String::new();
            loop {
                line.clear();
                let read = reader.read_line(&mut line).map_err(io_at(&path))?;
                // A line without its end was being written when the program died: it was never acted upon.
                if read == 0 || !line.ends_with('\n') {
                    break;
                }
                line_number += 1;
                let wrong = |message: String| StoreError::Ledger { path: path.clone(), line: line_number, message };
                let entry: LedgerEntry = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
                ledger.replay.read(&entry).map_err(|e| wrong(e.to_string()))?;
                ledger.entries.push(entry);
                valid += read as u64;
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(io_at(&path))?;
        file.set_len(valid).map_err(io_at(&path))?;
        ledger.file = Some((file, path));
        Ok(ledger)
    }

    /// Writes a charge down, unless this simulated release was charged before.
    ///
    /// **Errors**: the file cannot be written; the release was charged at another cost. Nothing may be released then.
    pub fn append(&mut self, sequence: u64, event: Event) -> Result<(), DriverError> {
        let entry = LedgerEntry::new(sequence, event);
        if let Some(before) = self.entries.get(sequence as usize) {
            return if *before == entry {
                Ok(())
            } else {
                Err(DriverError::Check("a release is charged at another cost"))
            };
        }
        self.replay.read(&entry).map_err(DriverError::Ledger)?;
        if let Some((file, path)) = &mut self.file {
            let mut line = serde_json::to_string(&Line { entry: &entry, noise: noise() })
                .map_err(|_| DriverError::Check("a charge cannot be written"))?;
            line.push('\n');
            file.write_all(line.as_bytes()).map_err(|error| StoreError::Io { path: path.clone(), error })?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// How many releases are charged.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing is charged.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes all charges durable.
    pub fn sync(&mut self) -> Result<(), DriverError> {
        match &self.file {
            Some((file, path)) => Ok(file.sync_data().map_err(|error| StoreError::Io { path: path.clone(), error })?),
            None => Ok(()),
        }
    }
}
