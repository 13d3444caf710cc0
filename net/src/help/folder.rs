//! The folder of a helper: everything that it must not lose. Nothing of an agent but the public
//! half of its key.
//!
//! | file | what |
//! |---|---|
//! | `server.key`, `server.next.key` | the key that it shows, and signs its promise with; the next one ([`crate::keys`]) |
//! | `masks.key` | the X25519 key of its masks: whoever has it and the leader's disk sees vectors |
//! | `token` | what makes a server the leader, once |
//! | `authority.der` | the certificate of the authority that says who the leader is, in the place of the token, where there is one |
//! | `url` | where it is, with key and token: what the leader's `serve --helper` is told |
//! | `pins` | the keys of this helper that its leader knows, as it said last |
//! | `revoked.jsonl` | agents that its owner shut out |
//! | `leader` | who the leader is: the key of its connections, or the name in its certificate |
//! | `terms.bin` | the terms, as the leader handed them over |
//! | `agents.json` | the public keys of agents |
//! | `answers.json` | what it answered, and the last charge; replaced in one rename |
//! | `ledger.jsonl` | every charge |
//! | `.lock` | held by the one helper that runs here |

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use sordino_core::federated::shares::SecretKey;
use sordino_host::entropy::{self, NoEntropy};
use sordino_host::files::{
    FileError, create_folders_privately, create_privately, if_there, read_bounded, read_text,
    remove_leftovers, write_privately,
};
use sordino_host::ledger::{Contents, LedgerError};
use sordino_host::shares::{Answered, HelperError, open_key};
use sordino_host::signature::{Fingerprint, KeyError};

use super::address::HelperAddress;
use super::gate::LedBy;
use crate::authority::{AuthorityError, Leaders};
use crate::folder::TERMS;
use crate::identity::{CERTIFICATE_BYTES_MAX, Identity, IdentityError, lock_folder};
use crate::invitation::Token;
use crate::keys;
use crate::shares::MaskKey;
use crate::terms::{Difference, TERMS_BYTES_MAX, Terms, TermsError};

/// The key of its masks, by which a folder of a helper is recognised.
pub const MASKS: &str = "masks.key";
/// Where it is, for its leader's command.
const URL: &str = "url";
/// Keys of this helper that its leader knows.
const PINS: &str = "pins";
/// The certificate of the authority that says who the leader is.
const AUTHORITY: &str = "authority.der";
/// What it answered.
pub const ANSWERS: &str = "answers.json";
/// Every charge, line by line.
pub const LEDGER: &str = "ledger.jsonl";
/// What it answered is read up to this length: 64 releases of 2¹⁴ numbers, as text.
const ANSWERS_BYTES_MAX: u64 = 1 << 27;
/// The keys of agents are read up to this length.
const AGENTS_BYTES_MAX: u64 = 1 << 27;

/// Why a helper's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HelpFolderError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key that it shows.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The key of its masks.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The terms that it has.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// What it answered.
    #[error(transparent)]
    Helper(#[from] HelperError),
    /// Its ledger refuses, or cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Another helper holds it.
    #[error("{}: another helper runs in this folder", path.display())]
    Busy {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The authority that says who the leader is.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// It was begun with another authority.
    #[error("{}: begun with another --ca ({difference}); give that one, or begin another folder", path.display())]
    OtherAuthority {
        /// Path of the folder.
        path: PathBuf,
        /// The certificates, by their digests.
        difference: Difference,
    },
    /// It is a server's.
    #[error("{}: the folder of a server; a helper has a folder of its own, on a machine of its own", path.display())]
    Server {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A file holds something else.
    #[error("{}: {what}", path.display())]
    Wrong {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Removes a file that may be missing.
fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(FileError::Io {
            path: path.to_owned(),
            error,
        }),
        _ => Ok(()),
    }
}

/// A helper's folder, and what in it never changes.
pub struct HelpFolder {
    path: PathBuf,
    /// The lock of the helper that runs here; none for those who only look.
    _held: Option<File>,
    /// The key that it shows.
    pub identity: Identity,
}

impl HelpFolder {
    /// Whether this folder is a helper's.
    pub fn is_one(path: &Path) -> bool {
        path.join(MASKS).exists()
    }

    /// The folder of the one helper that runs here, begun if it is empty, with the certificate of
    /// an authority that says who the leader is, or without. It is locked before anything of it is
    /// written or read; the lock ends with this value.
    ///
    /// **Errors**: [`HelpFolderError::Busy`] while another helper runs in it, which is left as it
    /// was; [`HelpFolderError::OtherAuthority`] if it was begun with another one;
    /// [`HelpFolderError`].
    pub fn begin(path: &Path, authority: Option<&[u8]>) -> Result<Self, HelpFolderError> {
        create_folders_privately(path)?;
        if path.join("round.bin").exists() || path.join("seal.key").exists() {
            return Err(HelpFolderError::Server {
                path: path.to_owned(),
            });
        }
        let lock = lock_folder(path)?.ok_or_else(|| HelpFolderError::Busy {
            path: path.to_owned(),
        })?;
        remove_leftovers(path)?;
        // Of a folder that was begun a missing key is an error: nobody would recognise another one.
        let key = path.join("server.key");
        let identity = if HelpFolder::is_one(path) {
            Identity::read_file(&key)?
        } else {
            Identity::open(&key)?
        };
        let folder = HelpFolder {
            path: path.to_owned(),
            _held: Some(lock),
            identity,
        };
        if !HelpFolder::is_one(path) {
            match authority {
                Some(certificate) => write_privately(&path.join(AUTHORITY), certificate)?,
                // One that a death before the last line below left.
                None => remove(&path.join(AUTHORITY))?,
            }
        }
        let begun = folder.certificate()?;
        if let Some(difference) = Difference::of_authorities([begun.as_deref(), authority]) {
            return Err(HelpFolderError::OtherAuthority {
                path: path.to_owned(),
                difference,
            });
        }
        let mut token = entropy::secret()?;
        create_privately(&path.join("token"), &token[..16])?;
        token.fill(0);
        // Last: by it the folder is recognised.
        open_key(&path.join(MASKS))?;
        Ok(folder)
    }

    /// The certificate of the authority that says who the leader is; nothing where a token does.
    fn certificate(&self) -> Result<Option<Vec<u8>>, HelpFolderError> {
        let path = self.path.join(AUTHORITY);
        Ok(if_there(read_bounded(&path, CERTIFICATE_BYTES_MAX))?)
    }

    /// The authority that says who the leader is; nothing where a token does.
    ///
    /// **Errors**: [`HelpFolderError::Authority`].
    pub fn authority(&self) -> Result<Option<Leaders>, HelpFolderError> {
        Ok(self
            .certificate()?
            .map(|certificate| Leaders::new(&certificate))
            .transpose()?)
    }

    /// A folder that was begun, for those who only look: nothing is made or locked.
    ///
    /// **Errors**: [`HelpFolderError`].
    pub fn open(path: &Path) -> Result<Self, HelpFolderError> {
        Ok(HelpFolder {
            path: path.to_owned(),
            _held: None,
            identity: Identity::read_file(&path.join("server.key"))?,
        })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn wrong(&self, name: &str, what: impl Into<String>) -> HelpFolderError {
        HelpFolderError::Wrong {
            path: self.path.join(name),
            what: what.into(),
        }
    }

    /// The secret key of its masks.
    ///
    /// **Errors**: [`HelpFolderError::Key`], [`HelpFolderError::File`] if it is missing.
    pub fn masks(&self) -> Result<SecretKey, HelpFolderError> {
        // Never made here: with another one nothing opens that was masked for this one.
        read_bounded(&self.path.join(MASKS), 33)?;
        Ok(open_key(&self.path.join(MASKS))?)
    }

    /// The public half, which invitations name.
    ///
    /// **Errors**: as [`HelpFolder::masks`].
    pub fn mask_key(&self) -> Result<MaskKey, HelpFolderError> {
        Ok(self.masks()?.public_key().into())
    }

    /// What makes a server the leader.
    ///
    /// **Errors**: [`HelpFolderError::Wrong`] unless it is 16 bytes.
    pub fn token(&self) -> Result<Token, HelpFolderError> {
        let bytes = read_bounded(&self.path.join("token"), 17)?;
        bytes[..]
            .try_into()
            .map_err(|_| self.wrong("token", format!("{} bytes, 16 are expected", bytes.len())))
    }

    /// Writes down where it is, for the leader's command; returns it.
    ///
    /// **Errors**: [`HelpFolderError`].
    pub fn set_address(&self, address: &str) -> Result<HelperAddress, HelpFolderError> {
        let token = if self.certificate()?.is_some() {
            None
        } else {
            Some(self.token()?)
        };
        let address = HelperAddress {
            address: address.to_owned(),
            token,
            pins: keys::pins(&self.path)?.into(),
        };
        write_privately(&self.path.join(URL), format!("{address}\n").as_bytes())?;
        Ok(address)
    }

    /// Writes down where it is with the keys of this moment, after a rotation; nothing before it
    /// ever ran.
    ///
    /// **Errors**: [`HelpFolderError`].
    pub fn renew_address(&self) -> Result<(), HelpFolderError> {
        let Some(text) = if_there(read_text(&self.path.join(URL), 1 << 12))? else {
            return Ok(());
        };
        let known: HelperAddress = text
            .parse()
            .map_err(|error| self.wrong(URL, format!("{error}")))?;
        self.set_address(&known.address).map(drop)
    }

    /// The keys of this helper that its leader knows, as it said last; nothing before it said any.
    ///
    /// **Errors**: [`HelpFolderError::Wrong`].
    pub fn pins_of_leader(&self) -> Result<Option<Vec<Fingerprint>>, HelpFolderError> {
        let Some(text) = if_there(read_text(&self.path.join(PINS), 1 << 10))? else {
            return Ok(None);
        };
        let pins = text
            .lines()
            .map(|pin| pin.parse().map_err(|why: &str| self.wrong(PINS, why)));
        pins.collect::<Result<_, _>>().map(Some)
    }

    /// Writes down which keys of this helper its leader knows.
    ///
    /// **Errors**: [`FileError`].
    pub fn set_pins_of_leader(&self, pins: &[Fingerprint]) -> Result<(), FileError> {
        let lines: String = pins.iter().map(|pin| format!("{pin}\n")).collect();
        write_privately(&self.path.join(PINS), lines.as_bytes())
    }

    /// Who the leader is; nothing before there is one.
    ///
    /// **Errors**: [`HelpFolderError`].
    pub fn leader(&self) -> Result<Option<LedBy>, HelpFolderError> {
        let Some(text) = if_there(read_text(&self.path.join("leader"), 1 << 10))? else {
            return Ok(None);
        };
        let leader = text.trim().parse();
        leader
            .map(Some)
            .map_err(|why: &str| self.wrong("leader", why))
    }

    /// Writes down who the leader is.
    ///
    /// **Errors**: [`FileError`].
    pub fn bind(path: &Path, leader: LedBy) -> Result<(), FileError> {
        write_privately(&path.join("leader"), format!("{leader}\n").as_bytes())
    }

    /// The terms; nothing before the leader handed them over.
    ///
    /// **Errors**: [`HelpFolderError::Terms`].
    pub fn terms(&self) -> Result<Option<Terms>, HelpFolderError> {
        let bytes = if_there(read_bounded(&self.path.join(TERMS), TERMS_BYTES_MAX))?;
        let terms = bytes.map(|bytes| Terms::from_bytes(&bytes, None));
        Ok(terms.transpose()?)
    }

    /// Keeps the terms.
    ///
    /// **Errors**: [`HelpFolderError`].
    pub fn keep(&self, terms: &Terms) -> Result<(), HelpFolderError> {
        Ok(write_privately(
            &self.path.join(TERMS),
            &terms.to_stored()?,
        )?)
    }

    /// The public keys of agents.
    ///
    /// **Errors**: [`HelpFolderError::Wrong`].
    pub fn agents(&self) -> Result<BTreeMap<u32, MaskKey>, HelpFolderError> {
        let Some(bytes) = if_there(read_bounded(&self.agents_path(), AGENTS_BYTES_MAX))? else {
            return Ok(BTreeMap::new());
        };
        serde_json::from_slice(&bytes).map_err(|error| self.wrong("agents.json", error.to_string()))
    }

    /// Where these keys are kept.
    pub fn agents_path(&self) -> PathBuf {
        self.path.join("agents.json")
    }

    /// What it answered, as it was stored; nothing before the first answer.
    ///
    /// **Errors**: [`HelpFolderError::File`].
    pub fn answers(&self) -> Result<Option<Vec<u8>>, HelpFolderError> {
        let path = self.path.join(ANSWERS);
        Ok(if_there(read_bounded(&path, ANSWERS_BYTES_MAX))?)
    }

    /// How many answers it gave, and what its ledger holds for them: equal in a folder that is
    /// whole. Nothing before the first answer.
    ///
    /// **Errors**: [`HelpFolderError`]; [`HelperError::OtherRun`] for answers of other terms.
    pub fn books(&self) -> Result<Option<(u64, Contents)>, HelpFolderError> {
        let Some(stored) = self.answers()? else {
            return Ok(None);
        };
        let answered = Answered::read(&stored)?;
        if self
            .terms()?
            .is_none_or(|terms| terms.agreement.digest() != answered.run)
        {
            return Err(HelperError::OtherRun { epoch: 0 }.into());
        }
        let contents = Contents::read(&self.path.join(LEDGER), answered.planned.as_ref())?;
        Ok(Some((answered.questions.len() as u64, contents)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the files of a folder.
    fn files(path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Two helpers that began one folder at once both wrote keys into it.
    #[test]
    fn a_folder_is_locked_before_anything_is_written() {
        let root = std::env::temp_dir().join(format!("sordino-help-{}", std::process::id()));
        let path = root.join("helper");
        create_folders_privately(&path).unwrap();
        let other = lock_folder(&path).unwrap().unwrap();
        assert!(matches!(
            HelpFolder::begin(&path, None),
            Err(HelpFolderError::Busy { .. })
        ));
        assert_eq!(files(&path), [".lock"]);
        drop(other);
        let folder = HelpFolder::begin(&path, None).unwrap();
        let begun = files(&path);
        assert_eq!(begun, [".lock", "masks.key", "server.key", "token"]);
        let token = folder.token().unwrap();
        // As long as it runs no other one does, and who only looks may.
        assert!(matches!(
            HelpFolder::begin(&path, None),
            Err(HelpFolderError::Busy { .. })
        ));
        assert_eq!(HelpFolder::open(&path).unwrap().token().unwrap(), token);
        drop(folder);
        let again = HelpFolder::begin(&path, None).unwrap();
        assert_eq!((again.token().unwrap(), files(&path)), (token, begun));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
