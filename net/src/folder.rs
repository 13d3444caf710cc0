//! The folder of a server: everything that must not be lost, and no data of any one agent.
//!
//! | file | what |
//! |---|---|
//! | `terms.bin` | the agreement with its candidates, written once |
//! | `server.key`, `server.next.key`, `seal.key` | the server's keys, readable by its owner alone ([`crate::keys`]) |
//! | `address` | what invitations name |
//! | `round.bin` | the round that is open: its frame, the server's state, the charge it cost; replaced in one rename |
//! | `frames/000017.frame` | every frame that was announced |
//! | `ledger.jsonl` | every charge |
//! | `invitations.jsonl`, `enrolled.jsonl`, `revoked.jsonl` | which key belongs to which agent ([`crate::enrolment`]) |
//! | `stopped` | why nothing more may be released from this folder, if an agent showed that it is an older copy, or a release was refused after its noise was added |
//! | `last` | when the last frame was announced first: a server that starts again stays for the rest of its time |
//! | `prior.safetensors` | of a campaign: the file of its releases so far, which anybody may have |
//! | `status.json` | how the federation stands, for `sordino status` |
//! | `.lock` | held by the one server that runs here |
//!
//! **Uploads are never here.** A server that restarts inside a round asks everybody again.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::ServerState;
use sordino_core::federated::exchange::after;
use sordino_core::wire::{self, WireError};
use sordino_host::files::{
    FileError, create_folders_privately, if_there, read_bounded, read_text, remove_leftovers,
    write_privately,
};
use sordino_host::ledger::Planned;
use sordino_host::prior::PriorFile;
use sordino_host::server::StoredServer;
use sordino_host::signature::KeyError;

use crate::identity::{IdentityError, io_at, lock_folder};
use crate::keys::Keys;
use crate::stored::{self, VersionError};
use crate::terms::{Difference, TERMS_BYTES_MAX, Terms, TermsError};

/// A frame is read up to this length: 64 regions of 2¹⁴ numbers.
const FRAME_BYTES_MAX: u64 = (64 << 17) + 1024;

/// And the server's state before it up to this one: the posterior of 512 features.
const STATE_BYTES_MAX: u64 = 16 << 20;

/// What the file of the open round is called in its first line.
const ROUND: &str = "round";
/// The round that is open.
const OPEN_ROUND: &str = "round.bin";
/// When the last frame was announced first, in seconds since 1970.
const LAST: &str = "last";
/// What was agreed on, also in an agent's folder and a helper's.
pub(crate) const TERMS: &str = "terms.bin";
/// The ledger, with every charge.
pub(crate) const LEDGER: &str = "ledger.jsonl";
/// The file of a campaign's releases.
pub const PRIOR: &str = "prior.safetensors";
/// Says that nothing more may be released from the folder.
const STOPPED: &str = "stopped";

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The file of a campaign cannot be signed.
    #[error(transparent)]
    Sign(#[from] KeyError),
    /// The terms of the federation.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// No server has begun it.
    #[error(
        "{0}: no folder of a server, which has a file terms.bin; it is what `sordino serve … --folder {0}` was given, which begins \
         one, on the server's machine",
        path.display()
    )]
    NoFolder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// Another server holds it.
    #[error("{}: another server runs in this folder", path.display())]
    Busy {
        /// Path of the folder.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error(
        "{}: belongs to user {owner}, and this is user {us}, whose files its server could not read: run it as that user, \
         sudo -u '#{owner}' sordino …",
        path.display()
    )]
    Foreign {
        /// Path of the folder.
        path: PathBuf,
        /// Number of the user that it belongs to.
        owner: u32,
        /// Number of the user that runs this.
        us: u32,
    },
    /// An agent showed that it is an older copy.
    #[error("{}: stopped for good: {why}", path.display())]
    Stopped {
        /// Path of the folder.
        path: PathBuf,
        /// What the server said when it stopped.
        why: String,
    },
    /// It was begun under terms other than those of the scenario to be served.
    #[error("{}: begun under other terms ({difference}); agents agreed to those, so serve the scenario it was begun with, \
                 or another folder",
                path.display())]
    OtherTerms {
        /// Path of the folder.
        path: PathBuf,
        /// The first field that differs.
        difference: Difference,
    },
    /// A file of a newer program.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A file of the server's is not as it writes it.
    #[error("{file}: {what}")]
    Damaged {
        /// Name of the file.
        file: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A frame of the history does not decode.
    #[error("frame of round {round}")]
    Frame {
        /// The round it is of.
        round: u32,
        /// What is wrong with it.
        #[source]
        error: WireError,
    },
    /// A frame of the history does not continue the one before.
    #[error("frame of round {round}: does not continue the frames before it")]
    Broken {
        /// The round it is of.
        round: u32,
    },
}

impl FolderError {
    /// What of the open round does not decode.
    fn round(what: impl ToString) -> Self {
        FolderError::Damaged {
            file: OPEN_ROUND,
            what: what.to_string(),
        }
    }
}

/// The round that is open, as it is stored: in front of its frame.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open<S = ServerState, K = ()> {
    /// t, the round that is open.
    pub round: u32,
    /// How often it was begun before this time.
    pub attempt: u16,
    /// The server between the rounds.
    pub server: StoredServer<S, K>,
    /// The charge of the broadcast in the frame, none if it cost nothing; or that of a release that
    /// was refused.
    pub planned: Option<Planned>,
}

impl<K> Open<ServerState, K> {
    /// Whether the charge is of a release that was refused after its noise was added: it is not of
    /// the broadcast in the frame, but of the one that never followed.
    pub fn is_refused(&self) -> bool {
        (self.planned.as_ref())
            .is_some_and(|planned| planned.release() == u64::from(self.server.releases()))
    }
}

/// What was found of the rounds; `K` is what the method keeps.
pub struct Found<K = ()> {
    /// The round that was open.
    pub open: Open<ServerState, K>,
    /// The frame of that round.
    pub frame: Bytes,
    /// The digests after 0, 1, …, round + 1 frames.
    pub history: Vec<Digest>,
    /// All frames, this one included.
    pub frames: Vec<Bytes>,
}

/// A folder, and what in it never changes.
pub struct Folder {
    path: PathBuf,
    /// The lock, once it is taken.
    held: OnceLock<File>,
    /// The server's keys.
    pub keys: Keys,
    /// The terms of the federation.
    pub terms: Terms,
}

/// Refuses a folder of another user's: what is written into it would be files that its server
/// cannot read.
///
/// **Errors**: [`FolderError::Foreign`]; [`FileError`].
pub fn is_ours(path: &Path) -> Result<(), FolderError> {
    let found = path.metadata().map_err(|error| FileError::Io {
        path: path.to_owned(),
        error,
    })?;
    let us = rustix::process::geteuid().as_raw();
    if found.uid() == us {
        return Ok(());
    }
    Err(FolderError::Foreign {
        path: path.to_owned(),
        owner: found.uid(),
        us,
    })
}

/// The lock of a folder, from which what a death left behind is removed.
fn locked(path: &Path) -> Result<File, FolderError> {
    let Some(file) = lock_folder(path)? else {
        return Err(FolderError::Busy {
            path: path.to_owned(),
        });
    };
    remove_leftovers(path)?;
    remove_leftovers(&path.join("frames"))?;
    Ok(file)
}

/// Why nothing more may be released from a server's folder; nothing if that was not written down.
///
/// **Errors**: [`FileError`] if it cannot be read.
pub(crate) fn why_stopped(path: &Path) -> Result<Option<String>, FileError> {
    let why = if_there(read_text(&path.join(STOPPED), 1 << 12))?;
    Ok(why.map(|why| why.trim().to_owned()))
}

impl Folder {
    /// A folder that was begun.
    ///
    /// **Errors**: [`FolderError`].
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let terms = read_bounded(&path.join(TERMS), TERMS_BYTES_MAX);
        let terms = terms.map_err(|error| match error.is_missing() {
            true => FolderError::NoFolder {
                path: path.to_owned(),
            },
            false => error.into(),
        })?;
        let terms = Terms::from_bytes(&terms, None)?;
        let keys = Keys::open(path)?;
        Ok(Folder {
            path: path.to_owned(),
            held: OnceLock::new(),
            keys,
            terms,
        })
    }

    /// The folder of these terms, begun now if it is empty, and locked before anything of it is
    /// written. Of the terms only the run may differ from what the folder was begun with: it is
    /// drawn once, and the folder's own is used.
    ///
    /// **Errors**: [`FolderError`]; [`FolderError::OtherTerms`] if the folder was begun under other
    /// terms, [`FolderError::Busy`] while another server runs in it.
    pub fn begin(path: &Path, terms: Terms) -> Result<Self, FolderError> {
        create_folders_privately(&path.join("frames"))?;
        let held = locked(path)?;
        let file = path.join(TERMS);
        if !file.exists() {
            write_privately(&file, &terms.to_stored()?)?;
        }
        // No frame was sealed and nobody was told a key yet.
        if !path.join(OPEN_ROUND).exists() {
            Keys::begin(path)?;
        }
        let folder = Folder {
            held: held.into(),
            ..Folder::open(path)?
        };
        let mut asked = terms;
        asked.agreement.deployment = folder.terms.agreement.deployment;
        folder
            .terms
            .difference(&asked)
            .map_or(Ok(folder), |difference| {
                Err(FolderError::OtherTerms {
                    path: path.to_owned(),
                    difference,
                })
            })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock, unless it is held already; it ends with this value.
    ///
    /// **Errors**: [`FolderError::Busy`].
    pub fn lock(&self) -> Result<(), FolderError> {
        if self.held.get().is_none() {
            // Held by now in any case.
            drop(self.held.set(locked(&self.path)?));
        }
        Ok(())
    }

    /// Writes down that nothing more may be released from this folder, and why.
    ///
    /// **Errors**: [`FolderError::File`].
    pub fn stop(&self, why: &str) -> Result<(), FolderError> {
        Ok(write_privately(
            &self.path.join(STOPPED),
            format!("{why}\n").as_bytes(),
        )?)
    }

    /// Whether that was written down.
    ///
    /// **Errors**: [`FolderError::Stopped`] if it was, [`FolderError::File`] if it cannot be read.
    pub fn stopped(&self) -> Result<(), FolderError> {
        why_stopped(&self.path)?.map_or(Ok(()), |why| {
            Err(FolderError::Stopped {
                path: self.path.clone(),
                why,
            })
        })
    }

    /// What invitations name.
    ///
    /// **Errors**: [`FolderError::File`].
    pub fn address(&self) -> Result<String, FolderError> {
        Ok(read_text(&self.path.join("address"), 1 << 10)?
            .trim()
            .to_owned())
    }

    /// Writes down what invitations name.
    ///
    /// **Errors**: [`FolderError::File`].
    pub(crate) fn set_address(&self, address: &str) -> Result<(), FolderError> {
        Ok(write_privately(
            &self.path.join("address"),
            format!("{address}\n").as_bytes(),
        )?)
    }

    /// Makes round, frame, state and charge durable in one rename. Only afterwards may the ledger
    /// be synced, and then the frame announced.
    ///
    /// **Errors**: [`FolderError`]; nothing may leave then.
    pub fn commit<K: Serialize>(
        &self,
        open: &Open<&ServerState, K>,
        frame: &[u8],
    ) -> Result<(), FolderError> {
        let open = serde_json::to_vec(open).map_err(FolderError::round)?;
        let mut bytes = stored::with_version(ROUND, &open);
        bytes.push(b'\n');
        bytes.extend_from_slice(frame);
        Ok(write_privately(&self.path.join(OPEN_ROUND), &bytes)?)
    }

    /// How long ago the last frame was announced first; writes down that it is now, if it was not
    /// yet.
    ///
    /// **Errors**: [`FolderError::File`], [`FolderError::Damaged`] if the file is not a number.
    pub(crate) fn since_the_last(&self) -> Result<Duration, FolderError> {
        let path = self.path.join(LAST);
        let now = SystemTime::now();
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let Some(text) = if_there(read_text(&path, 1 << 10))? else {
            write_privately(&path, format!("{}\n", now.as_secs()).as_bytes())?;
            return Ok(Duration::ZERO);
        };
        let seconds = text.trim().parse().map_err(|_| FolderError::Damaged {
            file: LAST,
            what: "admissible: seconds since 1970".to_owned(),
        })?;
        // A clock that was put back says nothing.
        Ok(now.saturating_sub(Duration::from_secs(seconds)))
    }

    /// Writes the file of the releases so far, signed with the server's key, unless it is there
    /// already; returns its bytes.
    ///
    /// **Errors**: [`FolderError`].
    pub fn publish(&self, file: PriorFile) -> Result<Bytes, FolderError> {
        let path = self.path.join(PRIOR);
        let digest = file.digest();
        let signer = self.keys.present.fingerprint()?;
        let is_there =
            |there: &PriorFile| there.digest() == digest && there.signer() == Some(signer);
        // A signature differs each time: what was fetched once stays what is fetched.
        if let Some(there) = PriorFile::load(&path).ok().filter(is_there) {
            return Ok(there.to_bytes().into());
        }
        let bytes = file.sign(&self.keys.present.signing_key()?)?.to_bytes();
        write_privately(&path, &bytes)?;
        Ok(bytes.into())
    }

    /// Keeps a frame that is about to be announced, for agents that were away and for
    /// [`Folder::history`].
    ///
    /// **Errors**: [`FolderError::File`].
    pub fn keep(&self, round: u32, frame: &[u8]) -> Result<(), FolderError> {
        Ok(write_privately(&self.frame_path(round), frame)?)
    }

    fn frame_path(&self, round: u32) -> PathBuf {
        self.path.join(format!("frames/{round:06}.frame"))
    }

    /// Everything that was found; none before the first round.
    ///
    /// **Errors**: [`FolderError`].
    pub fn found<K: DeserializeOwned>(&self) -> Result<Option<Found<K>>, FolderError> {
        let path = self.path.join(OPEN_ROUND);
        let bytes_max = FRAME_BYTES_MAX + STATE_BYTES_MAX;
        let Some(bytes) = if_there(read_bounded(&path, bytes_max))? else {
            return Ok(None);
        };
        let (bytes, _) = stored::content(ROUND, &bytes)?;
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| FolderError::round("has no first line"))?;
        let open: Open<ServerState, K> =
            serde_json::from_slice(&bytes[..end]).map_err(FolderError::round)?;
        let frame = Bytes::copy_from_slice(&bytes[end + 1..]);
        let mut frames = Vec::new();
        for round in 0..open.round {
            frames.push(read_bounded(&self.frame_path(round), FRAME_BYTES_MAX)?.into());
        }
        frames.push(frame.clone());
        let history = self.history(&frames)?;
        Ok(Some(Found {
            open,
            frame,
            history,
            frames,
        }))
    }

    /// The digests after 0, 1, … of these frames, each of which must continue the one before.
    ///
    /// **Errors**: [`FolderError::Frame`], [`FolderError::Broken`].
    pub fn history(&self, frames: &[Bytes]) -> Result<Vec<Digest>, FolderError> {
        let mut chain = self.terms.agreement.digest();
        let mut history = vec![chain];
        for (round, frame) in frames.iter().enumerate() {
            let round = round as u32;
            let (header, payload) = wire::decode(frame, self.terms.agreement.frame_numbers_max())
                .map_err(|error| FolderError::Frame { round, error })?;
            chain = after(&chain, &header, &payload);
            if header.round != round || header.chain != wire::prefix(&chain) {
                return Err(FolderError::Broken { round });
            }
            history.push(chain);
        }
        Ok(history)
    }

    /// Whether a frame was announced, the first one at least.
    ///
    /// **Errors**: [`FolderError::File`].
    pub(crate) fn has_frames(&self) -> Result<bool, FolderError> {
        let first = self.frame_path(0);
        Ok(first.try_exists().map_err(io_at(&first))?)
    }

    /// All frames that were announced, in order.
    ///
    /// **Errors**: [`FolderError::File`].
    pub fn frames(&self) -> Result<Vec<Bytes>, FolderError> {
        let mut frames = Vec::new();
        loop {
            let path = self.frame_path(frames.len() as u32);
            match if_there(read_bounded(&path, FRAME_BYTES_MAX))? {
                Some(frame) => frames.push(frame.into()),
                None => return Ok(frames),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `revoke` as root left a list that its server could not read.
    #[test]
    fn a_folder_of_another_user_is_refused_by_both_numbers() {
        let folder = std::env::temp_dir().join(format!("sordino-is-ours-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(is_ours(&folder).is_ok());
        // Only root gives folders away, and only root owns the root of the tree.
        let other = if std::os::unix::fs::chown(&folder, Some(65_534), None).is_ok() {
            folder.clone()
        } else {
            "/".into()
        };
        let refused = is_ours(&other).unwrap_err().to_string();
        let owner = other.metadata().unwrap().uid();
        assert!(
            refused.contains(&format!("belongs to user {owner}, and this is user ")),
            "{refused}"
        );
        std::fs::remove_dir(folder).unwrap();
    }
}
