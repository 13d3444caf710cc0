//! Results on standard output, for people or programs.

use std::io::{ErrorKind, Write};

use clap::ValueEnum;

use super::error::CliError;
use crate::progress::log;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// Prints a result. A reader that closed the pipe has read enough.
pub fn print(text: &str) -> Result<(), CliError> {
    print_bytes(text.as_bytes())
}

/// As [`print()`], for other programs.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::failure(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON object.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::failure(error.to_string()))?;
    print(&(text + "\n"))
}

/// Warns on standard error, unless what is printed says the same.
pub fn warn(warning: Option<String>, printed: &str) {
    if let Some(warning) = warning.filter(|warning| !printed.contains(warning)) {
        log::note(&format!("warning: {warning}"));
    }
}
