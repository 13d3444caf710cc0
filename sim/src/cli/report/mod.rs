//! `sordino report`: the page of a run folder or of a sweep, one of its pictures, one of its
//! tables.

use std::path::PathBuf;

use clap::Args;
use sordino_engine as model;
use sordino_experiment::files::write_atomically;
use sordino_experiment::progress::log;
use sordino_lab::execute;
use sordino_lab::parts::mark::refuse_part;
use sordino_lab::sweep::SweepFolder;
use sordino_report::folder::SCENARIO;
use sordino_report::read::{self, RunFiles};
use sordino_report::sheet::COLUMN;
use sordino_report::tables::Kind;
use sordino_report::view::PAGE;

use super::unfinished;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;

pub mod figure;
mod format;
pub mod kept;
mod table;

use format::Format;

/// `sordino report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sordino report results/a\n  sordino report results/a --figure regret --width 84mm --no-title \
                  --methods ts,dp-fts-de --out regret.pdf\n  sordino report results/a --table paired --format latex\nA wrong \
                  name of a figure is answered with those that the folder has."
)]
pub struct Arguments {
    /// A run folder, of any trust model, or the folder of a sweep; if it is unfinished, the
    /// finished part is drawn
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write one picture to a file (--out) instead of the page: `regret`, `utility`, `epsilon`, …
    #[arg(long, value_name = "NAME", requires = "out", conflicts_with = "table")]
    figure: Option<String>,
    /// Print one table instead of writing the page; a sweep has `summary`
    #[arg(long, value_enum)]
    table: Option<Kind>,
    /// Show only these methods, or other names in the figure [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    methods: Vec<String>,
    #[command(flatten)]
    sheet: figure::Sheeted,
    /// Of a figure: svg, pdf or png; of a table: text, markdown, latex, csv or json [default: the
    /// ending of --out; text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// File for the figure or table, replaced if it is there
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads the folder, checks it, writes what is asked for.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.folder.is_file() {
        return Err(CliError::input(format!(
            "{}: a file; the folder of a run or of a sweep is needed, as --out of `sordino run` names it",
            arguments.folder.display()
        )));
    }
    refuse_part(&arguments.folder)?;
    let methods = &arguments.methods[..];
    let out = arguments.out.as_deref();
    match (&arguments.figure, arguments.table) {
        (Some(name), _) => {
            let wanted = figure::Wanted {
                name,
                methods,
                sheet: &arguments.sheet,
                format: arguments.format,
                out,
            };
            figure::execute(&arguments.folder, &wanted)
        }
        (None, Some(kind)) => {
            of_figures(&arguments.sheet, "it changes no table")?;
            table::execute(&arguments.folder, kind, methods, arguments.format, out)
        }
        (None, None) => {
            let whole = "without it the whole page is written";
            let either = "--figure or --table";
            only(!arguments.methods.is_empty(), "--methods", either, whole)?;
            only(arguments.out.is_some(), "--out", either, whole)?;
            only(arguments.format.is_some(), "--format", either, whole)?;
            of_figures(&arguments.sheet, whole)?;
            page(&arguments.folder)
        }
    }
}

/// Refuses what changes figures alone.
fn of_figures(sheet: &figure::Sheeted, without: &str) -> Result<(), CliError> {
    only(sheet.no_title, "--no-title", "--figure", without)?;
    only(sheet.width != COLUMN, "--width", "--figure", without)?;
    only(sheet.axis.is_some(), "--axis", "--figure", without)
}

/// Refuses an option that is given where only these have a use for it.
fn only(given: bool, name: &str, wants: &str, without: &str) -> Result<(), CliError> {
    match given {
        true => Err(CliError::input(format!("{name} is for {wants}; {without}"))),
        false => Ok(()),
    }
}

fn page(folder: &std::path::Path) -> Result<(), CliError> {
    let path = folder.join(PAGE);
    let made = if SweepFolder::is_one(folder) {
        let sweep = SweepFolder::open(folder)?;
        let index = sweep.checked_index()?;
        if !sweep.is_complete(&index) {
            log::note(&unfinished::sweep(&sweep, &index));
        }
        vec![(PAGE, sordino_lab::sweep::page::page(&sweep, &index))]
    } else if let Some(page) = unfinished::page(folder)? {
        vec![(PAGE, page)]
    } else {
        let (scenario, text) = read::text(folder, SCENARIO).map_err(CliError::input)?;
        let model = model::parse(&scenario.display().to_string(), &text, &[])?;
        execute::shown(&*model, RunFiles::Folder(folder))?
    };
    for (name, text) in made {
        let path = folder.join(name);
        write_atomically(&path, text.as_bytes()).map_err(|error| {
            CliError::failure(format!("{}: cannot be written: {error}", path.display()))
        })?;
    }
    print(&format!("{}\n", path.display()))
}
