//! `sordino report`: the page of a run folder or of a sweep.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::{print, unfinished};
use crate::files::write_atomically;
use crate::progress::log;
use crate::report::{html, read};
use crate::scenario::AnyScenario;
use crate::study::sweep::SweepFolder;

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
        match read::scenario(folder).map_err(CliError::input)? {
            AnyScenario::Federated(_) => {
                let record = read::run_folder(folder).map_err(CliError::input)?;
                html::page(&record, record.scenario.objective.regret_name())
            }
            // Its page is made from what the runs held in memory; the folder has it since.
            scenario => {
                let path = folder.join(PAGE);
                return if path.exists() {
                    print(&format!("{}\n", path.display()))
                } else {
                    Err(CliError::input(format!(
                        "{}: is not there; pages of trust model {} are written by the run: sordino run {} --out NEW",
                        path.display(),
                        scenario.trust().name(),
                        folder.join("scenario.toml").display()
                    )))
                };
            }
        }
    };
    let path = folder.join(PAGE);
    write_atomically(&path, page.as_bytes())
        .map_err(|error| CliError::failure(format!("{}: cannot be written: {error}", path.display())))?;
    print(&format!("{}\n", path.display()))
}
