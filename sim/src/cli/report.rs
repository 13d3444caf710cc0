//! `sordino report`: the page of a run folder or of a sweep.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::{print, unfinished};
use crate::files::write_atomically;
use crate::model;
use crate::progress::log;
use crate::report::read;
use crate::study::sweep::SweepFolder;

/// The scenario within a folder.
const SCENARIO: &str = "scenario.toml";
/// The page within a folder.
const PAGE: &str = "report.html";

/// `sordino report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A run folder, of any trust model, or the folder of a sweep; of an unfinished one the finished part is drawn
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Reads the folder, checks it, writes `report.html` into it anew.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let folder = &arguments.folder;
    let page = if SweepFolder::is_one(folder) {
        let sweep = SweepFolder::open(folder)?;
        let index = sweep.index()?;
        if !sweep.is_complete(&index) {
            log::note(&unfinished::sweep(&sweep, &index));
        }
        crate::study::sweep::page::page(&sweep, &index)
    } else if let Some(page) = unfinished::page(folder)? {
        page
    } else {
        let (scenario, text) = read::text(folder, SCENARIO).map_err(CliError::input)?;
        let model = model::parse(&scenario.display().to_string(), &text, &[])?;
        match model.page_again(folder)? {
            Some(page) => page,
            // The page was made from what the runs held in memory; the folder has it since.
            None if folder.join(PAGE).exists() => return print(&format!("{}\n", folder.join(PAGE).display())),
            None => {
                return Err(CliError::input(format!(
                    "{}: is not there; pages of trust model {} are written by the run: sordino run {} --out NEW",
                    folder.join(PAGE).display(),
                    model.head().trust,
                    scenario.display()
                )));
            }
        }
    };
    let path = folder.join(PAGE);
    write_atomically(&path, page.as_bytes())
        .map_err(|error| CliError::failure(format!("{}: cannot be written: {error}", path.display())))?;
    print(&format!("{}\n", path.display()))
}
