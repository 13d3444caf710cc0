//! How many releases an agent agreed to, in its folder: where its data has no count
//! ([`data`](crate::data)), nothing else says so after a restart.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sordino_host::files::{FileError, if_there, read_bounded, write_privately};

use super::JoinError;

/// The file of an agent's folder that has the number.
const FILE: &str = "agreed.json";
/// It is read up to this length.
const BYTES_MAX: u64 = 4096;

/// What the file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agreed {
    releases: u32,
}

/// Releases that the agent of this folder agreed to; 0 if nothing says so.
///
/// **Errors**: [`JoinError::File`], [`JoinError::Damaged`].
pub(super) fn releases(folder: &Path) -> Result<u32, JoinError> {
    let path = folder.join(FILE);
    let Some(bytes) = if_there(read_bounded(&path, BYTES_MAX))? else {
        return Ok(0);
    };
    serde_json::from_slice::<Agreed>(&bytes)
        .map(|agreed| agreed.releases)
        .map_err(|_| JoinError::Damaged { path })
}

/// Writes down what was agreed to.
///
/// **Errors**: [`FileError`].
pub(super) fn remember(folder: &Path, releases: u32) -> Result<(), FileError> {
    let text = serde_json::json!({ "releases": releases }).to_string();
    write_privately(&folder.join(FILE), format!("{text}\n").as_bytes())
}
