//! The prior file that a search begins with: a path, or an address, whose file is fetched once and
//! kept in the folder.

use std::path::Path;

use sordino_host::prior::PriorFile;

use crate::cli::prior::file::{is_address, named as read};
use sordino_experiment::command_line::error::CliError;

/// What a file that was fetched is called in the folder.
const FETCHED: &str = "prior.safetensors";

/// The file that `--prior` names, for the search in this folder.
///
/// **Errors**: no such file, one that is none, or a server that does not give it.
pub fn prior(named: &str, folder: &Path) -> Result<PriorFile, CliError> {
    let kept = folder.join(FETCHED);
    // A search that goes on began with the one that it keeps; the server may have a later one.
    if is_address(named) && kept.exists() {
        PriorFile::load(&kept).map_err(CliError::input)
    } else {
        read(named)
    }
}

/// Keeps a file that was fetched in the folder of its search.
///
/// **Errors**: those of the system.
pub fn keep(named: &str, file: &PriorFile, folder: &Path) -> Result<(), CliError> {
    if is_address(named) {
        file.save(&folder.join(FETCHED)).map_err(CliError::failure)
    } else {
        Ok(())
    }
}
