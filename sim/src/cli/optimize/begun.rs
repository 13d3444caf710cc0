//! The prior file that a search begins with: a path, or an address, whose file is fetched once and kept in the folder.

use std::path::Path;
use std::process::{Command, Stdio};

use sordino_host::prior::PriorFile;

use crate::cli::error::CliError;
use crate::cli::handover::beside;

/// What a file that was fetched is called in the folder.
const FETCHED: &str = "prior.safetensors";
/// The program that fetches.
const FETCHES: &str = "sordino-net";

/// The file that `--prior` names, for the search in this folder.
///
/// **Errors**: no such file, one that is none, or a server that does not give it.
pub fn prior(named: &str, folder: &Path) -> Result<PriorFile, CliError> {
    if !named.starts_with("https://") {
        return PriorFile::load(Path::new(named)).map_err(CliError::input);
    }
    let kept = folder.join(FETCHED);
    if kept.exists() {
        // A search that goes on began with this one; the server may have a later one.
        return PriorFile::load(&kept).map_err(CliError::input);
    }
    let mut fetch = Command::new(beside(FETCHES));
    fetch.args(["fetch", named, "--out", "-"]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = fetch.output().map_err(|error| {
        CliError::failure(format!(
            "--prior: {FETCHES} fetches files and is neither beside this program nor in PATH ({error}); build it with: cargo build \
             --release -p {FETCHES}"
        ))
    })?;
    if !output.status.success() {
        return Err(CliError::failure("--prior: the file was not fetched; nothing was run"));
    }
    PriorFile::parse(&output.stdout).map_err(CliError::failure)
}

/// Keeps a file that was fetched in the folder of its search.
///
/// **Errors**: those of the system.
pub fn keep(named: &str, file: &PriorFile, folder: &Path) -> Result<(), CliError> {
    if named.starts_with("https://") { file.save(&folder.join(FETCHED)).map_err(CliError::failure) } else { Ok(()) }
}
