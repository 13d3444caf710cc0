//! A server's keys: the one it has, the one it will have, and what its seals are made from.
//!
//! | file | what |
//! |---|---|
//! | `server.key` | the key that it shows |
//! | `server.next.key` | the key that it will show after `sordino rotate`; it serves nothing before |
//! | `seal.key` | the seed of its seals, which stays when the key changes |
//!
//! Every invitation names the fingerprints of the first two, so that an agent knows the server before a rotation and after
//! it. [`rotate`] makes the next key the present one and draws another: invitations that were made since the rotation before
//! go on, older ones name neither key. Which slots have only such, `rotate` says before it does anything. Nothing of this
//! is told over the network: whoever stole the present key cannot teach agents another one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use sordino_host::files::{FileError, create_privately, read_bounded, write_privately};
use tokio::sync::watch;

use crate::identity::{Fingerprint, Identity, IdentityError, Sealer};

const PRESENT: &str = "server.key";
const NEXT: &str = "server.next.key";
const SEALS: &str = "seal.key";

/// How often a server that runs looks whether its key was changed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The keys of one server.
pub struct Keys {
    /// The key that it shows.
    pub present: Identity,
    /// Who it will be.
    pub next: Fingerprint,
    seals: [u8; 32],
}

impl Keys {
    /// The keys in a folder of this run, made if they are not there.
    ///
    /// **Errors**: [`IdentityError`].
    pub fn open(folder: &Path, deployment: u64) -> Result<Self, IdentityError> {
        let _alone = lock(folder)?;
        let present = Identity::open(&folder.join(PRESENT))?;
        let next = next(folder, &present)?.fingerprint()?;
        let path = folder.join(SEALS);
        let seals = match read_bounded(&path, 64) {
            Err(error) if error.is_missing() => {
                let seed = present.seal_seed(deployment);
                create_privately(&path, &seed)?;
                seed
            }
            found => {
                let found = found?;
                found[..].try_into().map_err(|_| IdentityError::Seed { path, found: found.len() })?
            }
        };
        Ok(Keys { present, next, seals })
    }

    /// What invitations name: who the server is, and who it will be.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn pins(&self) -> Result<[Fingerprint; 2], IdentityError> {
        Ok([self.present.fingerprint()?, self.next])
    }

    /// What seals the frames of this run.
    pub fn sealer(&self) -> Sealer {
        Sealer::new(&self.seals)
    }
}

/// One process at a time changes keys; a server that runs holds another lock.
fn lock(folder: &Path) -> Result<File, FileError> {
    let path = folder.join(".keys.lock");
    let io = |error| FileError::Io { path: path.clone(), error };
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(io)?;
    file.lock().map_err(io)?;
    Ok(file)
}

/// The next key of a folder whose keys are locked; another one if it is the present one, as after a rotation that was cut
/// off.
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

/// The next key becomes the present one, and another is drawn; the new keys. A server that runs shows it to connections
/// that are made from the next second on.
///
/// **Errors**: [`IdentityError`]; the keys are as before then, or the rotation is whole but for the next key, which the
/// next command draws.
pub fn rotate(folder: &Path, deployment: u64) -> Result<[Fingerprint; 2], IdentityError> {
    // The seeds of seals follow from the first key: they are written down before it goes.
    Keys::open(folder, deployment)?;
    {
        let _alone = lock(folder)?;
        let next = next(folder, &Identity::open(&folder.join(PRESENT))?)?;
        write_privately(&folder.join(PRESENT), next.secret())?;
    }
    Keys::open(folder, deployment)?.pins()
}

/// What a door shows: the newest is taken for every connection.
pub type Shown = watch::Receiver<Arc<ServerConfig>>;

/// Shows one key for ever.
///
/// **Errors**: [`IdentityError::Tls`].
pub fn always(identity: &Identity) -> Result<Shown, IdentityError> {
    // A receiver keeps what was sent last, whether the sender is there or not.
    Ok(watch::channel(identity.server()?).1)
}

/// Shows the present key of a folder, and the next one as soon as it was rotated; tells each change, and every reason why
/// a change could not be made, once. It never ends.
pub async fn follow(
    folder: &Path,
    mut shown: Fingerprint,
    show: watch::Sender<Arc<ServerConfig>>,
    mut tell: impl FnMut(Result<Fingerprint, &IdentityError>),
) {
    let mut failed = false;
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        // Never made here: a key that is missing is no reason to be somebody else.
        let read = || -> Result<Option<(Fingerprint, Arc<ServerConfig>)>, IdentityError> {
            let present = Identity::read_file(&folder.join(PRESENT))?;
            let now = present.fingerprint()?;
            Ok(if now == shown { None } else { Some((now, present.server()?)) })
        };
        match read() {
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
        let open = || Keys::open(&folder, 7).unwrap();
        let seal = |keys: &Keys| keys.sealer().seal(3, &Default::default());
        let [first, second] = open().pins().unwrap();
        assert_ne!(first, second);
        assert_eq!(open().pins().unwrap(), [first, second], "made once");
        let (sealed, of_first) = (seal(&open()), Sealer::new(&open().present.seal_seed(7)));
        assert_eq!(sealed, of_first.seal(3, &Default::default()), "as before there was a file of it");
        let [now, third] = rotate(&folder, 7).unwrap();
        assert_eq!(now, second);
        assert!(third != first && third != second);
        assert_eq!((open().pins().unwrap(), seal(&open())), ([second, third], sealed));
        assert_ne!(Sealer::new(&open().present.seal_seed(7)).seal(3, &Default::default()), sealed);
        // Killed between the two writes: the next key is the present one, and is drawn again.
        std::fs::copy(folder.join(NEXT), folder.join(PRESENT)).unwrap();
        let [now, fourth] = open().pins().unwrap();
        assert_eq!(now, third);
        assert!(![first, second, third].contains(&fourth));
        std::fs::write(folder.join(SEALS), [0; 31]).unwrap();
        assert!(matches!(Keys::open(&folder, 7), Err(IdentityError::Seed { found: 31, .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
