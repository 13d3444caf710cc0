//! Who wrote it: signatures of a publisher's or a server's key, ECDSA on P-256 with SHA-256.
//!
//! A key is named by its fingerprint, SHA-256 of its SubjectPublicKeyInfo in DER (RFC 5480): what
//! `openssl pkey -pubin -outform DER | sha256sum` prints. It is the key that TLS uses in a real
//! federation, so that one key speaks for a server, signs its promises and its files.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::FromStr;

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::{
    FileError, create_privately, folder_of, if_there, io_at, may_be_made, read_bounded,
};
use crate::hex::{from_hex, hex};

/// What a SubjectPublicKeyInfo of a key on P-256 begins with, in DER; a point follows (RFC 5480).
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Key files are read up to this length.
pub const KEY_BYTES_MAX: u64 = 4096;

/// SHA-256 of a public key (its SubjectPublicKeyInfo in DER): 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a public key, its SubjectPublicKeyInfo in DER.
    pub fn of(public_key: &[u8]) -> Self {
        Fingerprint(Sha256::digest(public_key).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text)
            .map(Fingerprint)
            .ok_or("a fingerprint is 64 hexadecimal digits")
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The bytes are not a key of the kind that the file holds.
    #[error("{path}: not {admissible}: {why}")]
    Key {
        /// Path of the file.
        path: String,
        /// What the file is to hold.
        admissible: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Others than its owner may read or write it.
    #[error("{0}: others may read or write this key; admissible: a file of mode 600")]
    Open(String),
    /// It cannot sign, or the system has no randomness.
    #[error("the key cannot sign")]
    Signature,
}

/// The bytes of a key that is its owner's alone, in the file at `path`; `make` makes it if there is
/// no file.
///
/// **Errors**: [`KeyError::File`]; [`KeyError::Open`]; that of `make`.
pub(crate) fn kept<K: AsRef<[u8]>>(
    path: &Path,
    bytes_max: u64,
    make: impl FnOnce() -> Result<K, KeyError>,
) -> Result<Vec<u8>, KeyError> {
    if let Some(bytes) = found(path, bytes_max)? {
        return Ok(bytes);
    }
    // Another process may be faster: then its key is the one.
    create_privately(path, make()?.as_ref())?;
    Ok(read_bounded(path, bytes_max)?)
}

/// The bytes of a key that is its owner's alone, if there is a file.
fn found(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, KeyError> {
    let Some(bytes) = if_there(read_bounded(path, bytes_max))? else {
        return Ok(None);
    };
    // A file whose mode cannot be read is not believed to be its owner's alone.
    let mode = std::fs::metadata(path).map_or(u32::MAX, |file| file.permissions().mode());
    if mode & 0o077 != 0 {
        return Err(KeyError::Open(path.display().to_string()));
    }
    Ok(Some(bytes))
}

/// A key that signs.
///
/// ```
/// use sordino_host::signature::{Fingerprint, SigningKey, verified};
///
/// let folder = std::env::temp_dir().join(format!("sordino-key-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// // A missing file is made, and only its owner may read it.
/// let key = SigningKey::open(&folder.join("publisher.key"))?;
/// let signature = key.sign(b"a text")?;
/// assert_eq!(verified(key.public_key(), b"a text", &signature), Some(key.fingerprint()));
/// assert_eq!(verified(key.public_key(), b"another", &signature), None);
/// assert_eq!(SigningKey::open(&folder.join("publisher.key"))?.fingerprint(), key.fingerprint());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SigningKey {
    pair: EcdsaKeyPair,
    public_key: Vec<u8>,
}

impl SigningKey {
    /// The key in this file, PKCS #8 in DER. A missing file is made, whole or not at all, and only
    /// its owner may read it.
    ///
    /// **Errors**: [`KeyError`].
    pub fn open(path: &Path) -> Result<Self, KeyError> {
        let bytes = kept(path, KEY_BYTES_MAX, || {
            let random = SystemRandom::new();
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
                .map_err(|_| KeyError::Signature)
        })?;
        Self::of_file(path, &bytes)
    }

    /// The key in this file, if there is one; none is made.
    ///
    /// **Errors**: [`KeyError`], also for a path at which none can be made.
    pub fn find(path: &Path) -> Result<Option<Self>, KeyError> {
        let Some(bytes) = found(path, KEY_BYTES_MAX)? else {
            // No folder is made for a key.
            folder_of(path).metadata().map_err(io_at(path))?;
            may_be_made(path)?;
            return Ok(None);
        };
        Self::of_file(path, &bytes).map(Some)
    }

    fn of_file(path: &Path, bytes: &[u8]) -> Result<Self, KeyError> {
        Self::from_pkcs8(bytes).map_err(|why| KeyError::Key {
            path: path.display().to_string(),
            admissible: "a P-256 key in PKCS #8",
            why: why.to_string(),
        })
    }

    /// The key in these bytes, PKCS #8 in DER.
    ///
    /// **Errors**: that of ring, for bytes that are no key on P-256.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, ring::error::KeyRejected> {
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, bytes, &SystemRandom::new())?;
        let public_key = [&P256_PREFIX[..], pair.public_key().as_ref()].concat();
        Ok(SigningKey { pair, public_key })
    }

    /// Its public half, SubjectPublicKeyInfo in DER.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// What others know it by.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.public_key)
    }

    /// A signature (ASN.1) of SHA-256 of a text. Two signatures of one text differ.
    ///
    /// **Errors**: [`KeyError::Signature`].
    pub fn sign(&self, text: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self
            .pair
            .sign(&SystemRandom::new(), text)
            .map_err(|_| KeyError::Signature)?;
        Ok(signature.as_ref().to_vec())
    }
}

/// Whose signature this is, under a text: the fingerprint of the key, or none if it is not by this
/// key, or not of this text.
pub fn verified(public_key: &[u8], text: &[u8], signature: &[u8]) -> Option<Fingerprint> {
    let point = public_key.strip_prefix(&P256_PREFIX)?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
        .verify(text, signature)
        .ok()?;
    Some(Fingerprint::of(public_key))
}
