//! What a search begins with and keeps in its folder: a prior file (a path, or an address, whose
//! file is fetched once), and the command that measures.

use std::io::ErrorKind;
use std::path::Path;

use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::progress::log::note;
use sordino_host::files::write_privately;
use sordino_host::prior::PriorFile;

use super::folder::failed;
use crate::cli::prior::file::{is_address, named as read};
use sordino_experiment::command_line::error::CliError;

/// What a file that was fetched is called in the folder.
const FETCHED: &str = "prior.safetensors";
/// What a search's values were measured with, beside them.
pub const COMMAND: &str = "command.txt";
/// A command line is read up to this length.
const COMMAND_MAX: u64 = 1 << 20;

/// The file that `--prior` names, for the search in this folder.
///
/// **Errors**: no such file, one that is none, or a server that does not give it.
pub fn prior(named: &str, folder: &Path) -> Result<PriorFile, CliError> {
    if named.contains("://") && !is_address(named) {
        return Err(CliError::input(format!(
            "--prior {named}: admissible: a file, or an address that begins with https://; nothing was run"
        )));
    }
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

/// What a command is to the values of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It gave the last of them.
    Known,
    /// It has given none yet, and no other command is known to have given one.
    New,
    /// Another command gave them: this one is on trial until it gives a value.
    OnTrial,
}

/// What a command is to the values of the search in a folder. Says so where they are of another
/// one: its files may have moved, or it may measure something else.
///
/// **Errors**: those of the system.
pub fn standing(command: &str, known: usize, folder: &Path) -> Result<Standing, CliError> {
    let path = folder.join(COMMAND);
    match read_to_string_bounded(&path, COMMAND_MAX) {
        Ok(before) if before == command => Ok(Standing::Known),
        Ok(_) if known > 0 => {
            note(&format!(
                "another command than that of the {known} values in {}: all count as values of one function",
                folder.display()
            ));
            Ok(Standing::OnTrial)
        }
        Ok(_) => Ok(Standing::New),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Standing::New),
        Err(error) => Err(failed(&path, error)),
    }
}

/// Keeps the command of a search in its folder: the one that gave its last value.
///
/// **Errors**: those of the system.
pub fn keep_command(command: &str, folder: &Path) -> Result<(), CliError> {
    let path = folder.join(COMMAND);
    // A command line may hold a password.
    write_privately(&path, command.as_bytes()).map_err(CliError::failure)
}
