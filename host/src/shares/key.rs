//! The key of a helper or an agent, in a file.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sordino_core::federated::Wiped;
use sordino_core::federated::shares::SecretKey;

use crate::entropy::{self, NoEntropy};
use crate::files::{create_privately, read_bounded};
use crate::signature::KeyError;

/// The X25519 key in this file, 32 bytes. A missing file is made, whole or not at all, and only its
/// owner may read it.
///
/// **Errors**: [`KeyError`]; [`KeyError::Signature`] if the system has no randomness.
pub fn open_key(path: &Path) -> Result<SecretKey, KeyError> {
    let bytes = match read_bounded(path, 33) {
        Err(error) if error.is_missing() => {
            let made = entropy::secret().map_err(|NoEntropy { .. }| KeyError::Signature)?;
            // Another process may be faster: then its key is the one.
            create_privately(path, &*made)?;
            read_bounded(path, 33)?
        }
        found => {
            let bytes = found?;
            // A file whose mode cannot be read is not believed to be its owner's alone.
            let mode = std::fs::metadata(path).map_or(u32::MAX, |file| file.permissions().mode());
            if mode & 0o077 != 0 {
                return Err(KeyError::Open(path.display().to_string()));
            }
            bytes
        }
    };
    let bytes = Wiped::from(bytes);
    let bytes = bytes.as_ref();
    let key = bytes.try_into().map_err(|_| KeyError::Key {
        path: path.display().to_string(),
        why: format!("{} bytes, 32 needed", bytes.len()),
    })?;
    Ok(SecretKey::new(key))
}
