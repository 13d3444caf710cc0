//! The ledger's file: locked by name, written at its end, and checked again through its path.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::LedgerError;
use crate::files::{
    self, LOCK_WAIT, folder_of, io_at, open_regular, read_all, sync_folder, with_suffix,
};

/// Ledgers are read up to this length.
pub(super) const BYTES_MAX: u64 = 256 << 20;
/// Takes the lock of a ledger's file.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), LedgerError> {
    files::lock(file, LOCK_WAIT).map_err(|refused| match refused {
        fs::TryLockError::WouldBlock => LedgerError::Busy {
            path: path.to_owned(),
        },
        fs::TryLockError::Error(error) => io_at(path)(error).into(),
    })
}

/// The name of a ledger, held against every other process: the file itself may be replaced, the
/// lock beside it stays.
pub(super) struct Name {
    /// Absolute; links are followed.
    pub path: PathBuf,
    _held: File,
}

impl Name {
    /// Takes the lock `PATH.lock`.
    pub fn take(path: &Path) -> Result<Name, LedgerError> {
        let path = resolved(path)?;
        let beside = with_suffix(&path, ".lock");
        let held = open_regular(
            &beside,
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600),
        )?;
        lock(&held, &beside)?;
        Ok(Name { path, _held: held })
    }
}

/// The absolute path, links followed; of a file that does not exist yet, its folder's.
pub(super) fn resolved(path: &Path) -> Result<PathBuf, LedgerError> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder = folder_of(path);
            let folder = fs::canonicalize(folder).map_err(io_at(folder))?;
            Ok(path
                .file_name()
                .map_or(folder.clone(), |name| folder.join(name)))
        }
        Err(error) => Err(io_at(path)(error).into()),
    }
}

/// The absolute path, links followed as far as there is anything: of a file whose folders may not
/// exist yet.
pub(super) fn planned(path: &Path) -> Result<PathBuf, LedgerError> {
    let path = std::path::absolute(path).map_err(io_at(path))?;
    for known in path.ancestors() {
        match fs::canonicalize(known) {
            Ok(found) => {
                let rest = path.strip_prefix(known).unwrap_or(Path::new(""));
                return Ok(if rest.as_os_str().is_empty() {
                    found
                } else {
                    found.join(rest)
                });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_at(known)(error).into()),
        }
    }
    Ok(path)
}

/// Whether a path names the file of a ledger or its lock, links followed; also where neither is
/// there yet. What a program writes beside a ledger it does not write there.
///
/// **Errors**: [`LedgerError::File`] where the system does not say what a path leads to.
///
/// ```
/// use std::path::Path;
/// use sordino_host::ledger::is_of_ledger;
/// let ledger = Path::new("no-such-file.jsonl");
/// assert!(is_of_ledger(Path::new("./no-such-file.jsonl.lock"), ledger)?);
/// assert!(!is_of_ledger(Path::new("no-such-file.key"), ledger)?);
/// # Ok::<(), sordino_host::ledger::LedgerError>(())
/// ```
pub fn is_of_ledger(path: &Path, ledger: &Path) -> Result<bool, LedgerError> {
    let path = planned(path)?;
    let ledger = planned(ledger)?;
    Ok(path == ledger || path == with_suffix(&ledger, ".lock"))
}

/// Whether a file is there and holds anything.
pub(super) fn is_begun(path: &Path) -> Result<bool, LedgerError> {
    match fs::metadata(path) {
        Ok(found) => Ok(!found.is_file() || found.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_at(path)(error).into()),
    }
}

/// An open ledger file.
pub(super) struct Place {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Place {
    /// Opens or makes the file, locks it, and reads all of it.
    pub fn open(path: &Path) -> Result<(Place, Vec<u8>), LedgerError> {
        let file = open_regular(
            path,
            OpenOptions::new().read(true).append(true).create(true),
        )?;
        lock(&file, path)?;
        let bytes = read_all(&file, path, BYTES_MAX)?;
        Ok((
            Place {
                path: path.to_owned(),
                file,
                length: bytes.len() as u64,
            },
            bytes,
        ))
    }

    /// Drops all after the first `length` bytes.
    pub fn truncate(&mut self, length: u64) -> Result<(), LedgerError> {
        self.file.set_len(length).map_err(io_at(&self.path))?;
        self.length = length;
        Ok(())
    }

    /// Appends a line and its line feed.
    pub fn append(&mut self, line: &str) -> Result<(), LedgerError> {
        let text = format!("{line}\n");
        self.file
            .write_all(text.as_bytes())
            .map_err(io_at(&self.path))?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Makes what was appended durable.
    pub fn sync(&self) -> Result<(), LedgerError> {
        Ok(self.file.sync_all().map_err(io_at(&self.path))?)
    }

    /// Makes what was appended durable, and its name as well.
    pub fn sync_with_name(&self) -> Result<(), LedgerError> {
        self.sync()?;
        Ok(sync_folder(&self.path)?)
    }

    /// The refusal of a path where another file is by now.
    fn replaced(&self) -> LedgerError {
        LedgerError::Replaced {
            path: self.path.clone(),
        }
    }

    /// Checks through the path that the file there is the open one, has the length it was left
    /// with, and ends with this line.
    ///
    /// **Errors**: [`LedgerError::Replaced`].
    pub fn verify(&self, line: &str) -> Result<(), LedgerError> {
        let mut seen = match open_regular(&self.path, OpenOptions::new().read(true)) {
            Ok(seen) => seen,
            Err(error) if error.is_missing() => return Err(self.replaced()),
            Err(error) => return Err(error.into()),
        };
        let own = self.file.metadata().map_err(io_at(&self.path))?;
        let there = seen.metadata().map_err(io_at(&self.path))?;
        let same = (own.dev(), own.ino()) == (there.dev(), there.ino());
        let text = format!("{line}\n");
        if !same || there.len() != self.length || self.length < text.len() as u64 {
            return Err(self.replaced());
        }
        let mut end = Vec::with_capacity(text.len());
        seen.seek(SeekFrom::Start(self.length - text.len() as u64))
            .map_err(io_at(&self.path))?;
        seen.take(text.len() as u64)
            .read_to_end(&mut end)
            .map_err(io_at(&self.path))?;
        if end == text.as_bytes() {
            Ok(())
        } else {
            Err(self.replaced())
        }
    }
}
