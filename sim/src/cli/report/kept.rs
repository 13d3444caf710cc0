//! Which files a figure or a table does not replace: those of a run or of a sweep.

use std::path::Path;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::files::{folder_of, write_atomically};
use sordino_experiment::journal::SUMMARY;
use sordino_lab::sweep::SweepFolder;
use sordino_report::folder::SCENARIO;
use sordino_report::readme;

/// Writes what `--out` names, whole or not at all.
///
/// **Errors**: as [`refuse`]; the system's.
pub fn write(out: &Path, bytes: &[u8]) -> Result<(), CliError> {
    refuse(out)?;
    write_atomically(out, bytes).map_err(|error| {
        CliError::failure(format!("{}: cannot be written: {error}", out.display()))
    })
}

/// Refuses a file that a run or a sweep has left, or may still leave, in its folder: what is in it
/// cannot be made again from a table.
///
/// **Errors**: such a file, in whatever folder it is.
pub fn refuse(out: &Path) -> Result<(), CliError> {
    let (Ok(parent), Some(name)) = (folder_of(out).canonicalize(), out.file_name()) else {
        // A folder that is not there is told of where the file is written.
        return Ok(());
    };
    let path = parent.join(name);
    for folder in parent.ancestors() {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let first = below
            .components()
            .next()
            .and_then(|first| first.as_os_str().to_str());
        let is_kept = first.is_some_and(|first| {
            is_run(folder) && readme::is_of_run(first)
                || SweepFolder::is_one(folder) && SweepFolder::has(first)
        });
        if is_kept {
            return Err(CliError::input(format!(
                "--out {}: is a file of the run or sweep in {}, which is not replaced; name another file",
                out.display(),
                folder.display()
            )));
        }
    }
    Ok(())
}

/// Whether a folder is that of a run, complete or under way.
fn is_run(folder: &Path) -> bool {
    folder.join(SCENARIO).is_file()
        && (folder.join(SUMMARY).is_file() || folder.join("state").is_dir())
}
