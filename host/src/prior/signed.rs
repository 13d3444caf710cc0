//! Who says that a file is theirs.

use super::error::{PriorFileError, refuse};
use crate::hex::bytes_of;
use crate::signature::{Fingerprint, KeyError, SigningKey, verified};

/// A signature that fits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signed {
    pub(super) public_key: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) signer: Fingerprint,
}

/// The text that is signed: which kind of file it is, and the digest of all of it.
fn text(format: &str, digest: &str) -> String {
    format!("{format}\n{digest}\n")
}

/// The bytes of an entry in hexadecimal digits.
fn bytes(what: &str, text: Option<&str>) -> Result<Vec<u8>, PriorFileError> {
    text.and_then(bytes_of).ok_or_else(|| {
        refuse(
            what,
            text.map_or("missing".into(), |text| format!("{text:.60?}")),
            "hexadecimal digits",
        )
    })
}

impl Signed {
    /// Signs a file of this digest.
    pub(super) fn new(format: &str, key: &SigningKey, digest: &str) -> Result<Self, KeyError> {
        let signature = key.sign(text(format, digest).as_bytes())?;
        Ok(Signed {
            public_key: key.public_key().to_vec(),
            signature,
            signer: key.fingerprint(),
        })
    }

    /// Both halves as a header has them, which must fit the digest.
    pub(super) fn read(
        format: &str,
        key: Option<&str>,
        signature: Option<&str>,
        digest: &str,
    ) -> Result<Self, PriorFileError> {
        let public_key = bytes("key", key)?;
        let signature = bytes("signature", signature)?;
        match verified(&public_key, text(format, digest).as_bytes(), &signature) {
            Some(signer) => Ok(Signed {
                public_key,
                signature,
                signer,
            }),
            None => Err(refuse(
                "signature",
                "not of this key and digest",
                "that of the key in the file, ECDSA P-256",
            )),
        }
    }
}
