//! `sordino report`: the page of a run folder.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::print;
use super::run::regret_name;
use crate::report::{html, read};

/// `sordino report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A run folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Reads the folder, checks it, writes `report.html` into it anew.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let record = read::run_folder(&arguments.folder).map_err(CliError::input)?;
    let path = arguments.folder.join("report.html");
    let page = html::page(&record, regret_name(&record.scenario));
    std::fs::write(&path, page)
        .map_err(|error| CliError::failure(format!("{}: cannot be written: {error}", path.display())))?;
    print(&format!("{}\n", path.display()))
}
