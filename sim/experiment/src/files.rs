//! Files as this program reads and writes them: every read in here has a bound, every write leaves
//! the old file or the new one, and a folder that is being written has one writer.
//!
//! Only regular files are read. A pipe, a terminal or a device is refused by name, `/dev/stdin`
//! included: data are read again when a run is resumed, and input without a length may never end.
//! Instead of `sordino run <(generate)`, write the output of `generate` to a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sordino_core::digest::{Digest, Frame};
pub use sordino_host::files::folder_of;
use sordino_host::files::{self, LOCK_WAIT};

/// Name of the file in a folder that a process locks while it writes into the folder.
pub const LOCK: &str = ".lock";
/// How many bytes of a lock file, which names its holder, are shown.
const HOLDER_MAX: u64 = 200;

/// The whole of a regular file of at most `bytes_max` bytes
/// ([`sordino_host::files::read_bounded`]), with an error that leaves the path to its caller.
///
/// **Errors**: the system's; a path that is not a regular file, or a longer file.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    Ok(files::read_bounded(path, bytes_max)?)
}

/// The same, read as text.
///
/// **Errors**: as [`read_bounded`]; [`io::ErrorKind::InvalidData`] if it is not UTF-8.
pub fn read_to_string_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    Ok(files::read_text(path, bytes_max)?)
}

/// SHA-256 of a file's bytes, as scenarios say which files they were made for.
pub fn digest_of(bytes: &[u8]) -> Digest {
    let mut digest = Frame::leaf();
    digest.bytes(bytes);
    digest.end()
}

/// Of a file that the scenario was not made for, why it is refused: `wanted` is the digest under
/// the scenario's `key`, if it has one.
pub fn other_file(key: &str, found: &Digest, wanted: Option<&str>) -> Option<String> {
    let found = found.to_string();
    let wanted = wanted.filter(|wanted| **wanted != found)?;
    Some(format!(
        "its digest is {found}, the scenario was made for a file of digest {wanted}; give that file, or leave {key} away"
    ))
}

/// Writes a file so that a crash leaves the old one or the new one.
///
/// **Errors**: the system's.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Ok(files::write_atomically(path, bytes)?)
}

/// Writes a file and waits until its bytes are on the disk.
///
/// **Errors**: the system's.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Ok(files::write_durably(path, bytes)?)
}

/// Why a folder cannot be written into.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process is writing into it.
    #[error(
        "{folder}: another process writes into this folder{}{}; wait until it ends, stop it, or name another folder",
        if .holder.is_empty() { "" } else { ": " },
        crate::text::Quoted(.holder)
    )]
    Held {
        /// Path of the folder.
        folder: PathBuf,
        /// The holder that the lock file names; empty if it cannot be read.
        holder: String,
    },
    /// The system refused.
    #[error("{path}: cannot be locked: {error}")]
    Io {
        /// Path of the lock file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

impl LockError {
    /// The system's refusal, with the path of the file.
    fn io(path: &Path, error: io::Error) -> Self {
        LockError::Io {
            path: path.to_owned(),
            error,
        }
    }
}

/// The right to write into a folder, held until this value is dropped or the process ends, however
/// it ends.
///
/// The system's advisory lock on the file [`LOCK`] within the folder; a file that a killed process
/// left behind is not locked and does not matter. On a file system without locks the right is given
/// without a lock.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    _file: File,
}

impl FolderLock {
    /// Takes the lock of a folder that exists, and clears away what a killed writer left half
    /// written.
    ///
    /// **Errors**: [`LockError::Held`] if another process has it still after a second.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(LOCK);
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(|error| LockError::io(&path, error))?;
            match files::lock(&file, LOCK_WAIT) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_to_string_bounded(&path, HOLDER_MAX).unwrap_or_default();
                    return Err(LockError::Held {
                        folder: folder.to_owned(),
                        holder: holder.trim().to_owned(),
                    });
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(LockError::io(&path, error)),
            }
            // Whoever held it before has removed the file between our opening and locking it: not
            // the one others see.
            if is_at(&file, &path).map_err(|error| LockError::io(&path, error))? {
                let _ = file.set_len(0).and_then(|()| {
                    (&file).write_all(format!("process {}\n", std::process::id()).as_bytes())
                });
                let taken = FolderLock { path, _file: file };
                // What a writer that was killed had not finished.
                return match files::remove_leftovers(folder) {
                    Ok(()) => Ok(taken),
                    Err(error) => Err(LockError::io(folder, error.into())),
                };
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is still locked: who opened it before finds out that it is no longer at its
        // place.
        let _ = fs::remove_file(&self.path);
    }
}

/// True if the open file is the one that is found at the path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("sordino-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_read_has_a_bound_and_wants_a_regular_file() {
        let folder = scratch("read");
        let path = folder.join("a");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_bounded(&path, 10).unwrap(), b"0123456789");
        let long = read_bounded(&path, 9).unwrap_err();
        assert_eq!(
            (long.kind(), long.to_string()),
            (io::ErrorKind::FileTooLarge, "longer than 9 bytes".into())
        );
        let directory = read_bounded(&folder, 10).unwrap_err();
        assert_eq!(directory.kind(), io::ErrorKind::IsADirectory);
        assert_eq!(
            read_bounded(&folder.join("no"), 10).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(
            read_to_string_bounded(&path, 10).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        if cfg!(unix) {
            let device = read_bounded(Path::new("/dev/zero"), 10)
                .unwrap_err()
                .to_string();
            assert_eq!(device, "is not a regular file but a device");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_writer_at_a_time_and_a_file_left_behind_blocks_nobody() {
        let folder = scratch("lock");
        let first = FolderLock::take(&folder).unwrap();
        let said = FolderLock::take(&folder).unwrap_err().to_string();
        assert!(
            said.contains(&format!("process {}", std::process::id())),
            "{said}"
        );
        drop(first);
        assert!(!folder.join(LOCK).exists());
        fs::write(folder.join(LOCK), "process 1\n").unwrap();
        drop(FolderLock::take(&folder).unwrap());
        // Many at once: never two inside, and each of them comes in at last.
        let inside = std::sync::atomic::AtomicU32::new(0);
        let entered = std::sync::atomic::AtomicU32::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let lock = loop {
                            match FolderLock::take(&folder) {
                                Ok(lock) => break lock,
                                Err(LockError::Held { .. }) => std::thread::yield_now(),
                                Err(error) => panic!("{error}"),
                            }
                        };
                        assert_eq!(inside.fetch_add(1, order), 0);
                        entered.fetch_add(1, order);
                        inside.fetch_sub(1, order);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(entered.load(order), 200);
        fs::remove_dir_all(folder).unwrap();
    }
}
