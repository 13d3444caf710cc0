//! A server's keys: the one it has, the one it will have, and what its seals are made from.
//!
//! | file | what |
//! |---|---|
//! | `server.key` | the key that it shows |
//! | `server.next.key` | the key that it will show after `sordino rotate`; unused until then |
//! | `seal.key` | 32 random bytes from which its seals are made; they stay when the key changes |
//!
//! All three are made when a folder is begun. Afterwards a missing `server.key` or `seal.key` is an
//! error: with another one it would be another server, or a server that does not recognise its own
//! history. Only the next key is drawn whenever it is missing, by the commands that name it.
//!
//! Every invitation names the fingerprints of the first two, so that an agent recognises the server
//! before a rotation and after it. [`rotate`] makes the next key the present one and draws another:
//! invitations made since the previous rotation remain good, older ones name neither key.
//! `sordino rotate` refuses while some slot has only older ones. Keys are never announced over the
//! network: someone who stole the present key cannot make agents accept another one.
//!
//! A helper has the first two as well. Its address names both, for its leader, and it has no seals.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use rustls::ServerConfig;
use sordino_host::files::{FileError, create_privately, read_bounded, write_privately};
use tokio::sync::watch;
use zeroize::{Zeroize, Zeroizing};

use crate::identity::{Identity, IdentityError, Sealer, io_at};
use sordino_host::signature::Fingerprint;

const PRESENT: &str = "server.key";
const NEXT: &str = "server.next.key";
const SEALS: &str = "seal.key";

/// How often a running server checks whether its key was changed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The keys of one server.
pub struct Keys {
    folder: PathBuf,
    /// The key that it shows.
    pub present: Identity,
    seals: [u8; 32],
}

impl Keys {
    /// The keys of a folder that is being begun: made where they are missing.
    ///
    /// **Errors**: [`IdentityError`].
    pub fn begin(folder: &Path) -> Result<Self, IdentityError> {
        let _alone = lock(folder)?;
        Identity::open(&folder.join(PRESENT))?;
        let mut seed = Zeroizing::new([0; 32]);
        SystemRandom::new()
            .fill(&mut seed[..])
            .map_err(|_| IdentityError::Entropy)?;
        create_privately(&folder.join(SEALS), &seed[..])?;
        Self::open(folder)
    }

    /// The keys in a folder that was begun; nothing is made.
    ///
    /// **Errors**: [`IdentityError`]; [`IdentityError::File`] if one is missing.
    pub fn open(folder: &Path) -> Result<Self, IdentityError> {
        let present = Identity::read_file(&folder.join(PRESENT))?;
        let path = folder.join(SEALS);
        let found = Zeroizing::new(read_bounded(&path, 64)?);
        let seals = found[..].try_into().map_err(|_| IdentityError::Seed {
            path,
            found: found.len(),
        })?;
        Ok(Keys {
            folder: folder.to_owned(),
            present,
            seals,
        })
    }

    /// What invitations name: who the server is, and who it will be. The next key is drawn if there
    /// is none.
    ///
    /// **Errors**: [`IdentityError`].
    pub fn pins(&self) -> Result<[Fingerprint; 2], IdentityError> {
        pins_with(&self.folder, &self.present)
    }

    /// The seals of this run's frames.
    pub fn sealer(&self) -> Sealer {
        Sealer::new(&self.seals)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.seals.zeroize();
    }
}

/// The key that the server or helper of a folder shows, and the next, which is drawn if there is
/// none.
///
/// **Errors**: [`IdentityError`]; [`IdentityError::File`] if the present key is missing.
pub fn pins(folder: &Path) -> Result<[Fingerprint; 2], IdentityError> {
    pins_with(folder, &Identity::read_file(&folder.join(PRESENT))?)
}

fn pins_with(folder: &Path, present: &Identity) -> Result<[Fingerprint; 2], IdentityError> {
    let _alone = lock(folder)?;
    Ok([
        present.fingerprint()?,
        next(folder, present)?.fingerprint()?,
    ])
}

/// One process at a time changes keys; a server that runs holds another lock.
fn lock(folder: &Path) -> Result<File, FileError> {
    let path = folder.join(".keys.lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(io_at(&path))?;
    file.lock().map_err(io_at(&path))?;
    Ok(file)
}

/// The next key of a folder whose keys are locked; another one if it is the present one, as after a
/// rotation that was cut off.
fn next(folder: &Path, present: &Identity) -> Result<Identity, IdentityError> {
    let path = folder.join(NEXT);
    let found = Identity::open(&path)?;
    if found.fingerprint()? != present.fingerprint()? {
        return Ok(found);
    }
    let made = Identity::generate()?;
    write_privately(&path, made.secret())?;
    Ok(made)
}

/// Makes the next key the present one and draws another; returns the new pair. A running server
/// shows the present key to new connections from the next second on. `expected` is the next key as
/// the caller knew it: of two processes that rotate at the same time, the second does nothing.
///
/// **Errors**: [`IdentityError::Rotated`] if the next key is no longer `expected`. After any other
/// [`IdentityError`] the keys are as before, or the rotation is complete except for the next key,
/// which the next command draws.
pub fn rotate(folder: &Path, expected: Fingerprint) -> Result<[Fingerprint; 2], IdentityError> {
    {
        let _alone = lock(folder)?;
        let next = next(folder, &Identity::read_file(&folder.join(PRESENT))?)?;
        let found = next.fingerprint()?;
        if found != expected {
            return Err(IdentityError::Rotated { expected, found });
        }
        write_privately(&folder.join(PRESENT), next.secret())?;
    }
    pins(folder)
}

/// What a door shows: the newest is taken for every connection.
pub type Shown = watch::Receiver<Arc<ServerConfig>>;

/// Shows one key that never changes.
///
/// **Errors**: [`IdentityError::Tls`].
pub fn always(identity: &Identity) -> Result<Shown, IdentityError> {
    // A receiver keeps what was sent last, whether the sender is there or not.
    Ok(watch::channel(identity.server()?).1)
}

/// The key of the folder and how to show it, if it is another than the one that is shown.
fn other_than(
    folder: &Path,
    shown: Fingerprint,
) -> Result<Option<(Fingerprint, Arc<ServerConfig>)>, IdentityError> {
    // Never made here: a key that is missing is no reason to be somebody else.
    let present = Identity::read_file(&folder.join(PRESENT))?;
    let now = present.fingerprint()?;
    Ok(if now == shown {
        None
    } else {
        Some((now, present.server()?))
    })
}

/// Shows the present key of a folder, and its successor as soon as it is rotated. Reports each
/// change once, and each failure to read a key once. It never ends.
pub async fn follow(
    folder: &Path,
    mut shown: Fingerprint,
    show: watch::Sender<Arc<ServerConfig>>,
    mut tell: impl FnMut(Result<Fingerprint, &IdentityError>),
) {
    let mut failed = false;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        match other_than(folder, shown) {
            Ok(None) => failed = false,
            Ok(Some((now, config))) => {
                (shown, failed) = (now, false);
                show.send_replace(config);
                tell(Ok(now));
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    tell(Err(&error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_shows_what_invitations_named_and_keeps_the_seals() {
        let folder = std::env::temp_dir().join(format!("sordino-net-keys-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(
            Keys::open(&folder).is_err() && !folder.join(PRESENT).exists(),
            "looking makes no key"
        );
        Keys::begin(&folder).unwrap();
        let open = || Keys::open(&folder).unwrap();
        let seal = |keys: &Keys| keys.sealer().seal(3, &Default::default());
        let sealed = seal(&open());
        assert!(!folder.join(NEXT).exists(), "nobody was told the next key");
        let [first, second] = open().pins().unwrap();
        assert_ne!(first, second);
        Keys::begin(&folder).unwrap();
        assert_eq!(
            (open().pins().unwrap(), seal(&open())),
            ([first, second], sealed),
            "made once"
        );
        let [now, third] = rotate(&folder, second).unwrap();
        assert_eq!(now, second);
        assert!(third != first && third != second);
        let again = rotate(&folder, second);
        assert!(
            matches!(again, Err(IdentityError::Rotated { found, .. }) if found == third),
            "two at one time"
        );
        assert_eq!(
            (open().pins().unwrap(), seal(&open())),
            ([second, third], sealed)
        );
        // Killed between the two writes: the next key is the present one, and is drawn again.
        std::fs::copy(folder.join(NEXT), folder.join(PRESENT)).unwrap();
        let [now, fourth] = open().pins().unwrap();
        assert_eq!(now, third);
        assert!(![first, second, third].contains(&fourth));
        std::fs::write(folder.join(SEALS), [0; 31]).unwrap();
        assert!(matches!(
            Keys::open(&folder),
            Err(IdentityError::Seed { found: 31, .. })
        ));
        // Other seals would not know what was sealed before.
        std::fs::remove_file(folder.join(SEALS)).unwrap();
        assert!(
            matches!(Keys::open(&folder), Err(IdentityError::File(error)) if error.is_missing())
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
