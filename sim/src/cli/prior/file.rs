//! The file that a question is about: a path, or the address of a campaign's file.

use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use sordino_host::prior::PriorFile;

use crate::cli::handover::beside;
use sordino_experiment::command_line::error::CliError;

/// The program that fetches.
const FETCHES: &str = "sordino-net";

/// A file that is read.
#[derive(Clone, Debug, Args)]
pub struct OfFile {
    /// A prior file, as `sordino prior publish` writes it, or the address of a campaign's, as its
    /// server prints it
    #[arg(value_name = "FILE|URL")]
    pub file: String,
}

impl OfFile {
    /// The file, checked.
    ///
    /// **Errors**: one line with path, entry and what is admissible; of an address also what the
    /// server or its key say.
    pub fn load(&self) -> Result<PriorFile, CliError> {
        named(&self.file)
    }
}

/// Whether a name is an address.
pub fn is_address(named: &str) -> bool {
    named.starts_with("https://")
}

/// The file of this path or at this address, checked; what is fetched is signed by the key that the
/// address names.
///
/// **Errors**: no such file, one that is none, or a server that does not give it.
pub fn named(named: &str) -> Result<PriorFile, CliError> {
    if !is_address(named) {
        return PriorFile::load(Path::new(named)).map_err(CliError::input);
    }
    let mut fetch = Command::new(beside(FETCHES));
    fetch
        .args(["fetch", named, "--out", "-"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = fetch.output().map_err(|error| {
        CliError::failure(format!(
            "{FETCHES} fetches files and is neither beside this program nor in PATH ({error}); build it with: cargo build --release \
             -p {FETCHES}"
        ))
    })?;
    if !output.status.success() {
        return Err(CliError::failure(
            "the prior file was not fetched; nothing was done",
        ));
    }
    PriorFile::parse(&output.stdout).map_err(CliError::failure)
}
