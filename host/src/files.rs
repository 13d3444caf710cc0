//! Files: writing so that a crash leaves the old content or the new, reading with a bound.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::entropy;

/// Time between two attempts to take a lock.
const ATTEMPT_EVERY: Duration = Duration::from_millis(10);
/// How long a lock is waited for that its holder keeps as long as it works.
pub const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// A folder, a pipe, a device or a socket: its end may never come.
    #[error("{path}: is not a regular file but a {found}")]
    NotRegular {
        /// Path of what is there.
        path: PathBuf,
        /// What is there instead: a directory, a pipe, a socket, a device.
        found: &'static str,
    },
    /// The file is longer than the bound.
    #[error("{path}: longer than {bytes_max} bytes")]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// The most bytes that are read.
        bytes_max: u64,
    },
    /// The content is not UTF-8.
    #[error("{path}: not UTF-8 text")]
    NotText {
        /// Path of the file.
        path: PathBuf,
    },
}

impl FileError {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// The same without the path, for messages that name it themselves.
impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io { error, .. } => error,
            FileError::NotRegular { found, .. } => {
                let kind = if found == "directory" {
                    io::ErrorKind::IsADirectory
                } else {
                    io::ErrorKind::InvalidInput
                };
                io::Error::new(kind, format!("is not a regular file but a {found}"))
            }
            FileError::TooLong { bytes_max, .. } => io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("longer than {bytes_max} bytes"),
            ),
            FileError::NotText { .. } => {
                io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text")
            }
        }
    }
}

/// What stands where a regular file was expected.
fn kind(found: &fs::Metadata) -> &'static str {
    let found = found.file_type();
    if found.is_dir() {
        "directory"
    } else if found.is_fifo() {
        "pipe"
    } else if found.is_socket() {
        "socket"
    } else {
        "device"
    }
}

pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> FileError + '_ {
    |error| FileError::Io {
        path: path.to_owned(),
        error,
    }
}

/// The folder in which a path stands; `.` for a name alone.
///
/// ```
/// use std::path::Path;
/// assert_eq!(sordino_host::files::folder_of(Path::new("a/b")), Path::new("a"));
/// assert_eq!(sordino_host::files::folder_of(Path::new("b")), Path::new("."));
/// ```
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Refuses a path at which this process may make no file, by the nearest folder above it that is
/// there. Nothing is made; what is made afterwards may still fail.
///
/// **Errors**: [`FileError::Io`].
pub(crate) fn may_be_made(path: &Path) -> Result<(), FileError> {
    let mut folder = path;
    loop {
        folder = folder_of(folder);
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => return Err(io_at(folder)(io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder != Path::new(".") => {}
            Err(error) => return Err(io_at(folder)(error)),
        }
    }
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, access).map_err(|error| io_at(folder)(error.into()))
}

/// Takes the system's advisory lock of a file within this time, at least [`LOCK_WAIT`] for a lock
/// that lasts: a process that is just being started holds a copy of its parent's lock for a moment,
/// also if the parent was killed meanwhile.
///
/// **Errors**: [`TryLockError::WouldBlock`] if another process has it still; the system's.
///
/// ```
/// use sordino_host::files::{LOCK_WAIT, lock};
/// let path = std::env::temp_dir().join(format!("sordino-lock-{}", std::process::id()));
/// let file = std::fs::File::create(&path)?;
/// lock(&file, LOCK_WAIT)?;
/// assert!(lock(&std::fs::File::open(&path)?, LOCK_WAIT).is_err());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lock(file: &File, wait: Duration) -> Result<(), TryLockError> {
    let last = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < last => thread::sleep(ATTEMPT_EVERY),
            settled => return settled,
        }
    }
}

/// Opens what must be a regular file; a pipe neither blocks nor is read.
///
/// **Errors**: [`FileError::Io`], [`FileError::NotRegular`].
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    // Without this flag, opening a pipe waits for somebody at its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let opened = options.custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            return Err(match fs::metadata(path) {
                Ok(found) if !found.is_file() => FileError::NotRegular {
                    path: path.to_owned(),
                    found: kind(&found),
                },
                _ => io_at(path)(error),
            });
        }
    };
    let found = file.metadata().map_err(io_at(path))?;
    if found.is_file() {
        Ok(file)
    } else {
        Err(FileError::NotRegular {
            path: path.to_owned(),
            found: kind(&found),
        })
    }
}

/// Reads a regular file of at most `bytes_max` bytes. The bound holds for what is actually read,
/// not for the length that the system states.
///
/// **Errors**: [`FileError`].
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    read_all(
        &open_regular(path, OpenOptions::new().read(true))?,
        path,
        bytes_max,
    )
}

/// As [`read_bounded`], for text.
///
/// **Errors**: [`FileError`].
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String, FileError> {
    String::from_utf8(read_bounded(path, bytes_max)?).map_err(|_| FileError::NotText {
        path: path.to_owned(),
    })
}

/// What was read, or nothing if there is no such file.
///
/// **Errors**: every other one of the reading.
///
/// ```
/// use std::path::Path;
/// use sordino_host::files::{if_there, read_text};
/// assert!(if_there(read_text(Path::new("/nowhere"), 9))?.is_none());
/// assert!(if_there(read_text(Path::new("/"), 9)).is_err());
/// # Ok::<(), sordino_host::files::FileError>(())
/// ```
pub fn if_there<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The rest of an open file, at most `bytes_max` bytes; `path` is for messages.
pub(crate) fn read_all(mut file: &File, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(io_at(path))?;
    if bytes.len() as u64 > bytes_max {
        return Err(FileError::TooLong {
            path: path.to_owned(),
            bytes_max,
        });
    }
    Ok(bytes)
}

/// Number of random names that are tried beside a file; even one that is taken is practically
/// impossible.
const NAMES_MAX: u32 = 8;

/// The mode of a file that its owner alone may read or write.
const OWNER_ALONE: u32 = 0o600;

/// Writes a file so that a crash leaves the old one or the new one: it is written under another
/// name in the same folder, synced, and renamed, and the folder is synced. The new file has the
/// permissions of the old one. The other name, `PATH.` 16 random hexadecimal digits `.new`, belongs
/// to no existing file, so that no link is followed. Only a crash leaves it behind, until
/// [`remove_leftovers`].
///
/// **Errors**: [`FileError::Io`]; the old file is untouched then, unless only its folder could not
/// be synced.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    stream_atomically(path, |file| file.write_all(bytes))
}

/// As [`write_atomically`], for content produced while it is written: `write` receives the new
/// file, unbuffered.
///
/// **Errors**: [`FileError::Io`], also if `write` fails; the old file is untouched then, unless
/// only its folder could not be synced.
pub fn stream_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let old = match fs::metadata(path) {
        Ok(found) => Some(found.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_at(path)(error)),
    };
    replace(path, old, write)
}

/// As [`write_atomically`], but only the owner may read or write the file (0600), regardless of its
/// folder and of the permissions of the old file.
///
/// **Errors**: [`FileError::Io`]; the old file is untouched then, unless only its folder could not
/// be synced.
pub fn write_privately(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace(path, Some(Permissions::from_mode(OWNER_ALONE)), |file| {
        file.write_all(bytes)
    })
}

/// As [`write_privately`], but an existing file stays as it is: of several processes only one makes
/// it, and a crash leaves the whole file or none.
///
/// **Returns** whether this call made it.
///
/// **Errors**: [`FileError::Io`].
pub fn create_privately(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    create_with(path, Some(Permissions::from_mode(OWNER_ALONE)), bytes)
}

/// As [`create_privately`], for a file that others may read.
///
/// **Errors**: [`FileError::Io`].
pub fn create(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    create_with(path, None, bytes)
}

fn create_with(
    path: &Path,
    permissions: Option<Permissions>,
    bytes: &[u8],
) -> Result<bool, FileError> {
    let beside = write_beside(path, permissions, |file| file.write_all(bytes))?;
    // A link, unlike a rename, replaces nothing.
    let made = match fs::hard_link(&beside, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(io_at(path)(error)),
    };
    let removed = fs::remove_file(&beside).map_err(io_at(&beside));
    let made = made?;
    removed?;
    sync_folder(path)?;
    Ok(made)
}

fn replace(
    path: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let beside = write_beside(path, permissions, write)?;
    let renamed = fs::rename(&beside, path).map_err(io_at(path));
    if renamed.is_err() {
        // If this fails as well, the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    renamed?;
    sync_folder(path)
}

/// Writes and syncs a new file beside `path`, with these permissions or the usual ones, and returns
/// its path.
fn write_beside(
    path: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<PathBuf, FileError> {
    let (mut file, beside) = create_beside(path, permissions.is_some())?;
    // Before the first byte: what few may read is never open to many.
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| write(&mut file))
        .and_then(|()| file.sync_all())
        .map_err(io_at(&beside));
    if written.is_err() {
        // As above.
        let _ = fs::remove_file(&beside);
    }
    written.map(|()| beside)
}

/// A new file beside `path`, and where it is; only its owner may read it if it is `private`.
fn create_beside(path: &Path, private: bool) -> Result<(File, PathBuf), FileError> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(if private { OWNER_ALONE } else { 0o666 });
    let mut tries = 0;
    loop {
        let name = entropy::name().map_err(|error| io_at(path)(io::Error::other(error)))?;
        let beside = with_suffix(path, &format!(".{}.new", &name[..16]));
        tries += 1;
        match options.open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < NAMES_MAX => {}
            Err(error) => return Err(io_at(&beside)(error)),
        }
    }
}

/// Removes what a crash during [`write_atomically`] or its variants left in a folder. Only the
/// folder's single writer may call it.
///
/// **Errors**: [`FileError::Io`].
pub fn remove_leftovers(folder: &Path) -> Result<(), FileError> {
    for entry in fs::read_dir(folder).map_err(io_at(folder))? {
        let entry = entry.map_err(io_at(folder))?;
        if entry.file_name().to_str().is_some_and(is_leftover)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            fs::remove_file(entry.path()).map_err(io_at(&entry.path()))?;
        }
    }
    Ok(())
}

/// Whether a file name is one that [`write_atomically`] makes beside another.
fn is_leftover(name: &str) -> bool {
    let random = name
        .strip_suffix(".new")
        .and_then(|name| name.rsplit_once('.'));
    random.is_some_and(|(of, digits)| {
        !of.is_empty()
            && digits.len() == 16
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Writes a file and waits until its bytes are on the disk.
///
/// **Errors**: [`FileError::Io`].
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = File::create(path).map_err(io_at(path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(io_at(path))
}

/// Makes the name of a file durable: syncs the folder that holds it.
///
/// **Errors**: [`FileError::Io`].
pub fn sync_folder(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(io_at(folder))
}

/// Makes a folder and the missing ones above it, accessible to the owner alone (0700), and makes
/// their names durable; existing folders stay as they are.
///
/// **Errors**: [`FileError::Io`].
pub fn create_folders_privately(path: &Path) -> Result<(), FileError> {
    make_folders(path, sync_folder)
}

/// `sync` is called with every folder that was made, from the outermost: its name is in the folder
/// that holds it, so the last that is synced upwards is the first that was there.
fn make_folders(
    path: &Path,
    sync: impl FnMut(&Path) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let missing: Vec<_> = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        .collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io_at(path))?;
    missing.into_iter().rev().try_for_each(sync)
}

/// The path with something added to its file name: `a.jsonl` and `.lock` give `a.jsonl.lock`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn place(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("sordino-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A child that its killed parent had begun to start keeps the parent's lock for a moment.
    #[test]
    fn a_lock_that_is_given_back_within_the_wait_is_taken() {
        let path = std::env::temp_dir().join(format!("sordino-waited-{}", std::process::id()));
        let held = File::create(&path).unwrap();
        held.lock().unwrap();
        let other = File::open(&path).unwrap();
        assert!(matches!(
            lock(&other, Duration::ZERO),
            Err(TryLockError::WouldBlock)
        ));
        let holder = thread::spawn(move || {
            thread::sleep(3 * ATTEMPT_EVERY);
            drop(held);
        });
        lock(&other, Duration::from_secs(60)).unwrap();
        holder.join().unwrap();
        fs::remove_file(path).unwrap();
    }

    /// Hygiene 16: `/dev/zero` has length 0 and no end; a pipe blocks whoever opens it.
    #[test]
    fn reading_is_bounded_by_what_is_read() {
        assert!(matches!(
            read_bounded(Path::new("/dev/zero"), 100),
            Err(FileError::NotRegular { .. })
        ));
        let folder = place("bound");
        let pipe = folder.join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        assert!(matches!(
            read_bounded(&pipe, 100),
            Err(FileError::NotRegular { .. })
        ));
        assert!(matches!(
            read_bounded(&folder, 100),
            Err(FileError::NotRegular { .. })
        ));
        let file = folder.join("file");
        fs::write(&file, [65; 100]).unwrap();
        assert_eq!(read_text(&file, 100).unwrap().len(), 100);
        assert!(matches!(
            read_bounded(&file, 99),
            Err(FileError::TooLong { bytes_max: 99, .. })
        ));
        fs::write(&file, [255]).unwrap();
        assert!(matches!(
            read_text(&file, 99),
            Err(FileError::NotText { .. })
        ));
        assert!(
            read_bounded(&folder.join("none"), 1)
                .unwrap_err()
                .is_missing()
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = place("whole");
        let path = folder.join("a.json");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new one");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write_atomically(&folder.join("none/a"), b"").is_err());
        assert_eq!(
            with_suffix(Path::new("x/a.jsonl"), ".lock"),
            Path::new("x/a.jsonl.lock")
        );
        fs::remove_dir_all(folder).unwrap();
    }

    /// What an agent observed was open to all in a folder that was there before; so stays what an
    /// older version left open.
    #[test]
    fn private_files_are_for_their_owner_whatever_was_there() {
        let folder = place("private");
        let mode = |name: &str| {
            fs::metadata(folder.join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("open"), b"old").unwrap();
        fs::set_permissions(folder.join("open"), Permissions::from_mode(0o644)).unwrap();
        for name in ["fresh", "open"] {
            write_privately(&folder.join(name), b"new").unwrap();
            assert_eq!(
                (fs::read(folder.join(name)).unwrap(), mode(name)),
                (b"new".to_vec(), 0o600)
            );
        }
        // The negative control: the usual way to write keeps what is open, and makes what the mask
        // lets through.
        fs::set_permissions(folder.join("open"), Permissions::from_mode(0o644)).unwrap();
        write_atomically(&folder.join("open"), b"usual").unwrap();
        assert_eq!(mode("open"), 0o644);
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            2,
            "nothing is left beside them"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    /// A death while a key was made left an empty file under its name.
    #[test]
    fn a_file_is_made_once_and_whole() {
        let folder = place("once");
        let path = folder.join("agent.key");
        assert!(create_privately(&path, b"first").unwrap());
        assert!(!create_privately(&path, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing is left beside it"
        );
        // A death before the link: all bytes are beside the name, and the name is free.
        fs::remove_file(&path).unwrap();
        write_beside(&path, Some(Permissions::from_mode(OWNER_ALONE)), |file| {
            file.write_all(b"never seen")
        })
        .unwrap();
        assert!(!path.exists());
        remove_leftovers(&folder).unwrap();
        assert!(create_privately(&path, b"third").unwrap());
        assert!(create_privately(&folder.join("none/a"), b"").is_err());
        let made: Vec<_> = (0..8u8)
            .map(|n| {
                let path = folder.join("raced");
                std::thread::spawn(move || create_privately(&path, &[n; 9]).unwrap())
            })
            .collect();
        assert_eq!(
            made.into_iter()
                .map(|made| made.join().unwrap())
                .filter(|made| *made)
                .count(),
            1
        );
        let raced = fs::read(folder.join("raced")).unwrap();
        assert!(raced.len() == 9 && raced.iter().all(|byte| *byte == raced[0]));
        fs::remove_dir_all(folder).unwrap();
    }

    /// A ledger of 0600 became 0644; a rename that failed left the temporary file.
    #[test]
    fn a_new_file_has_the_old_ones_mode_and_nothing_is_left_beside_it() {
        let folder = place("mode");
        let path = folder.join("a.json");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        write_atomically(&path, b"old").unwrap();
        let usual = folder.join("usual");
        File::create(&usual).unwrap();
        assert_eq!(
            mode(&path),
            mode(&usual),
            "a first file is like every other"
        );
        for wanted in [0o600, 0o640, 0o444, 0o606] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            write_atomically(&path, b"new").unwrap();
            assert_eq!(mode(&path), wanted);
        }
        // A folder of this name cannot be replaced.
        fs::create_dir(folder.join("taken")).unwrap();
        assert!(write_atomically(&folder.join("taken"), b"new").is_err());
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            3,
            "a.json, usual, taken"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn leftovers_of_a_death_are_known_by_their_names() {
        let folder = place("leftovers");
        for name in [
            "a.json",
            "a.json.new",
            "b.0123456789abcdef",
            "c.json.0123456789ABCDEF.new",
            ".0123456789abcdef.new",
        ] {
            fs::write(folder.join(name), "").unwrap();
        }
        let (file, beside) = create_beside(&folder.join("a.json"), false).unwrap();
        drop(file);
        assert!(beside.is_file());
        remove_leftovers(&folder).unwrap();
        assert!(!beside.exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_are_made_as_deep_as_asked() {
        let folder = place("deep");
        create_folders_privately(&folder.join("a/b/c")).unwrap();
        create_folders_privately(&folder.join("a/b/c")).unwrap();
        assert!(folder.join("a/b/c").is_dir());
        fs::write(folder.join("file"), "").unwrap();
        assert!(create_folders_privately(&folder.join("file/a")).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    /// A power loss after set-up could take a private folder's name, and with it the charges of its
    /// first rounds.
    #[test]
    fn every_folder_that_is_made_is_synced_where_its_name_is() {
        let folder = place("synced");
        let mut synced = Vec::new();
        let mut make = |path: &Path| {
            synced.clear();
            let made = make_folders(path, |folder| {
                assert!(folder.is_dir(), "it is synced after it was made");
                synced.push(folder.to_owned());
                sync_folder(folder)
            });
            made.map(|()| synced.clone())
        };
        let deep = folder.join("a/b/c");
        assert_eq!(
            make(&deep).unwrap(),
            [folder.join("a"), folder.join("a/b"), deep.clone()]
        );
        assert_eq!(make(&deep).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(make(&folder.join("a/d")).unwrap(), [folder.join("a/d")]);
        for made in ["a", "a/b", "a/b/c", "a/d"] {
            assert_eq!(
                fs::metadata(folder.join(made))
                    .unwrap()
                    .permissions()
                    .mode()
                    & 0o777,
                0o700,
                "{made}"
            );
        }
        let failed = make_folders(&folder.join("e"), |folder| {
            Err(io_at(folder)(io::Error::other("no")))
        });
        assert!(failed.is_err(), "a folder that cannot be synced is told");
        fs::remove_dir_all(folder).unwrap();
    }
}
