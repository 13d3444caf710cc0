//! The key of a helper or an agent, in a file.

use std::path::Path;

use sordino_core::federated::Wiped;
use sordino_core::federated::shares::SecretKey;

use crate::entropy::{self, NoEntropy};
use crate::signature::{KeyError, kept};

/// The X25519 key in this file, 32 bytes. A missing file is made, whole or not at all, and only its
/// owner may read it.
///
/// **Errors**: [`KeyError`]; [`KeyError::Signature`] if the system has no randomness.
pub fn open_key(path: &Path) -> Result<SecretKey, KeyError> {
    let bytes = kept(path, 33, || {
        entropy::secret().map_err(|NoEntropy { .. }| KeyError::Signature)
    })?;
    let bytes = Wiped::from(bytes);
    let bytes = bytes.as_ref();
    let key = bytes.try_into().map_err(|_| KeyError::Key {
        path: path.display().to_string(),
        admissible: "a key of 32 bytes",
        why: format!("it has {} bytes", bytes.len()),
    })?;
    Ok(SecretKey::new(key))
}
