//! The masks of an agent of two servers: which were used is stored before one is made.

use std::path::{Path, PathBuf};

use sordino_core::federated::Encoding;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::shares::{
    AgentKey, Attempts, Contribution, HideError, Modulus, PublicKey, SecretKey, ShareError, Store,
};
use sordino_core::math::Scalar;
use sordino_host::entropy::{self, NoEntropy};
use sordino_host::files::{FileError, read_bounded, write_privately};
use sordino_host::shares::open_key;
use sordino_host::signature::KeyError;
use zeroize::Zeroizing;

use crate::beside::beside;
use crate::identity::io_at;

/// The file of an agent's masks: the next attempt of each.
pub const MASKS: &str = "agent.masks";
/// The file of its X25519 key.
const MASK_KEY: &str = "agent.masks.key";
/// The file of the attempts is read up to this length.
const BYTES_MAX: u64 = 1 << 10;

/// Why an agent has no masks, or no share. Nothing left it then.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The helper's key agrees on no secret.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// Which masks were used cannot be read.
    #[error("{}: does not say which masks were used: {error}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// Which masks were used is not known any more.
    #[error(
        "{}: is missing, and the key of its masks is there: a mask that was used could serve a second vector, so nothing is sent; \
         take part with a new invitation in a new folder",
        path.display()
    )]
    Lost {
        /// Path of the file.
        path: PathBuf,
    },
    /// They are of another federation.
    #[error("{}: masks of another federation", path.display())]
    OtherRun {
        /// Path of the file.
        path: PathBuf,
    },
    /// The contribution does not become integers, or there is no mask for it, or that it is used
    /// cannot be stored.
    #[error(transparent)]
    Hide(#[from] HideError<FileError>),
    /// Two servers, and no key of a helper.
    #[error(
        "the terms name two servers, and nothing says which key the second has: nothing is sent to one server alone"
    )]
    NoHelper,
    /// One server, and the key of a helper.
    #[error(
        "a helper is named, and the terms name one server, which would see everything: nothing is sent"
    )]
    OneServer,
    /// Numbers to give, and no release they could be given to.
    #[error("there is nothing that this contribution could be added to")]
    NoRelease,
}

/// Where attempts are kept: a file, or nowhere for an agent of a rehearsal that has no file either.
struct Place<'p>(Option<&'p Path>);

impl Store for Place<'_> {
    type Error = FileError;
    fn store(&mut self, attempts: &Attempts) -> Result<(), FileError> {
        let Some(path) = self.0 else { return Ok(()) };
        // An empty file would forget which were used.
        let text = serde_json::to_vec(attempts).map_err(|error| io_at(path)(error.into()))?;
        beside(|| write_privately(path, &text))
    }
}

/// What hides the contributions of one agent.
pub struct Masks {
    key: AgentKey,
    public: PublicKey,
    attempts: Attempts,
    file: Option<PathBuf>,
}

impl Masks {
    /// Those in this folder, begun if there are none.
    ///
    /// **Errors**: [`MaskError`]; [`MaskError::Lost`] if the key is there and what was used is not.
    pub fn open(
        folder: &Path,
        agreement: &Agreement,
        helper: &PublicKey,
    ) -> Result<Self, MaskError> {
        let [file, key] = [MASKS, MASK_KEY].map(|name| folder.join(name));
        let attempts = match read_bounded(&file, BYTES_MAX) {
            Ok(bytes) => {
                let read = serde_json::from_slice::<Attempts>(&bytes);
                read.map_err(|error| MaskError::Format {
                    path: file.clone(),
                    error,
                })?
            }
            Err(error) if error.is_missing() && key.exists() => {
                return Err(MaskError::Lost { path: file });
            }
            Err(error) if error.is_missing() => {
                // Before the key: a key without attempts is one whose masks are not known.
                let attempts = Attempts::new(agreement.digest());
                Place(Some(&file)).store(&attempts)?;
                attempts
            }
            Err(error) => return Err(error.into()),
        };
        if *attempts.run() != agreement.digest() {
            return Err(MaskError::OtherRun { path: file });
        }
        Self::with(&open_key(&key)?, helper, attempts, Some(file))
    }

    /// Masks of an agent that is forgotten with its process, which nothing goes on from.
    ///
    /// **Errors**: [`MaskError::Entropy`], [`MaskError::Share`].
    pub fn in_memory(agreement: &Agreement, helper: &PublicKey) -> Result<Self, MaskError> {
        let key = SecretKey::new(*entropy::secret()?);
        Self::with(&key, helper, Attempts::new(agreement.digest()), None)
    }

    fn with(
        key: &SecretKey,
        helper: &PublicKey,
        attempts: Attempts,
        file: Option<PathBuf>,
    ) -> Result<Self, MaskError> {
        Ok(Masks {
            key: key.with_helper(helper)?,
            public: key.public_key(),
            attempts,
            file,
        })
    }

    /// What both servers are told.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// The share of a contribution to the release of an epoch, behind its attempt, appended to a
    /// frame. The attempt is stored first.
    ///
    /// **Errors**: [`MaskError`]; nothing was appended then.
    pub(super) fn append<T: Scalar>(
        &mut self,
        epoch: u32,
        encoding: &JointVectors,
        upload: &[T],
        frame: &mut Vec<u8>,
    ) -> Result<(), MaskError> {
        let mut integers = Zeroizing::new(vec![0; encoding.sums_len()]);
        let mut hidden = vec![0; Modulus::Bits64.hidden_len(integers.len())];
        let contribution = Contribution {
            epoch,
            encoding,
            numbers: upload,
        };
        let attempts = &mut self.attempts;
        let place = &mut Place(self.file.as_deref());
        let used = self
            .key
            .hide(contribution, attempts, place, &mut integers, &mut hidden)?;
        frame.extend_from_slice(&hidden[..used]);
        Ok(())
    }
}
