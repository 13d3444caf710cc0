//! The ledger on disk: one JSON line for every charge, durable before the noise is drawn.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sordino_core::privacy::ledger::{LedgerEntry, Replay};
use sordino_core::privacy::{Charge, Event, Private, SourceKind};

/// Ledgers are read up to this length.
const BYTES_MAX: u64 = 64 << 20;

/// A ledger that is open and locked.
pub struct Ledger {
    file: File,
    path: PathBuf,
    replay: Replay,
    epsilon: f64,
}

impl Ledger {
    /// Opens or creates a ledger, locks it against others, and adds up what it holds.
    ///
    /// **Errors**: one line; a ledger that cannot be read to its end is never written to.
    pub fn open(path: &Path) -> Result<Ledger, String> {
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        let new = !path.exists();
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(named)?;
        lock(&file).map_err(|error| format!("{}: in use by another run: {error}", path.display()))?;
        if new {
            // The name itself must survive as well.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(named)?;
        }
        let mut text = String::new();
        Read::by_ref(&mut file).take(BYTES_MAX + 1).read_to_string(&mut text).map_err(named)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(format!("{}: longer than {BYTES_MAX} bytes; is this a ledger?", path.display()));
        }
        let (mut replay, mut epsilon) = (Replay::new(SourceKind::Secret), 0.0);
        for (line, text) in text.lines().enumerate() {
            let wrong = |error: String| format!("{}:{}: {error}; nothing is released", path.display(), line + 1);
            let entry: LedgerEntry = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
            replay.read(&entry).map_err(|error| wrong(error.to_string()))?;
            epsilon += loss(&entry.event).ok_or_else(|| wrong("not a charge of this command".into()))?;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(format!("{}: the last line is cut off; nothing is released", path.display()));
        }
        Ok(Ledger { file, path: path.to_owned(), replay, epsilon })
    }

    /// ε charged so far; losses of pure releases add.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Appends the charges and makes them durable.
    ///
    /// **Errors**: one line; then nothing may be released.
    pub fn charge(&mut self, events: &[Event]) -> Result<(), String> {
        let mut text = String::new();
        for event in events {
            let entry = LedgerEntry::new(self.replay.next(), *event);
            self.replay.read(&entry).map_err(|error| error.to_string())?;
            self.epsilon += loss(event).unwrap_or(f64::INFINITY);
            text.push_str(&serde_json::to_string(&entry).map_err(|error| error.to_string())?);
            text.push('\n');
        }
        let written = self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(text.as_bytes()));
        written.and_then(|()| self.file.sync_all()).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl sordino_core::privacy::Ledger<Private> for Ledger {
    type Error = String;
    fn write(&mut self, charge: &Charge<Private>) -> Result<(), String> {
        self.charge(charge.events())
    }
}

/// Takes the lock, patiently: a process that is just being started holds a copy of it for a moment.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..100 {
        if file.try_lock().is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    file.try_lock()
}

/// ε of the events this command makes.
pub fn loss(event: &Event) -> Option<f64> {
    match event {
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => Some(*epsilon),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::privacy::NeighboringRelation;

    #[test]
    fn charges_outlive_the_program_and_damage_is_refused() {
        let path = std::env::temp_dir().join(format!("sordino-ledger-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let event = Event::PureEpsilon { epsilon: 0.5, relation: NeighboringRelation::ReplaceOne };
        let mut ledger = Ledger::open(&path).unwrap();
        assert!(Ledger::open(&path).is_err(), "locked");
        ledger.charge(&[event, event]).unwrap();
        drop(ledger);
        let mut again = Ledger::open(&path).unwrap();
        assert_eq!(again.epsilon(), 1.0);
        again.charge(&[event]).unwrap();
        drop(again);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        for damaged in [&text[..text.len() - 1], &text[..text.len() - 20], "{}\n", "x", &text[10..]] {
            std::fs::write(&path, damaged).unwrap();
            assert!(Ledger::open(&path).is_err(), "{damaged}");
        }
        // An entry missing in the middle.
        let lines: Vec<&str> = text.lines().collect();
        std::fs::write(&path, format!("{}\n{}\n", lines[0], lines[2])).unwrap();
        assert!(Ledger::open(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
