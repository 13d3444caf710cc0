//! The file that a question is about.

use std::path::PathBuf;

use clap::Args;
use sordino_host::prior::PriorFile;

use crate::cli::error::CliError;

/// A file that is read.
#[derive(Clone, Debug, Args)]
pub struct OfFile {
    /// A prior file, as `sordino prior publish` writes it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

impl OfFile {
    /// The file, checked.
    ///
    /// **Errors**: one line with path, entry and what is admissible.
    pub fn load(&self) -> Result<PriorFile, CliError> {
        PriorFile::load(&self.file).map_err(CliError::input)
    }
}
