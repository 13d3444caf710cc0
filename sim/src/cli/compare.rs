//! `sordino compare`: run folders beside each other.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sordino_lab::compare::{Side, compare};
use sordino_report::differences::few;
use sordino_report::grid;

use super::report::figure;
use super::report::kept;
use super::unfinished;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::warn;
use sordino_experiment::command_line::{print, print_json};

/// `sordino compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sordino compare results/z1 results/z2 --methods dp-fts-de,dp-prior --figure z.pdf --width \
                        174mm"
)]
pub struct Arguments {
    /// Run folders of one trust model over the same functions: equal [objective], seed, rounds and,
    /// of a federation, agents
    #[arg(value_name = "DIR", required = true, num_args = 2..=8)]
    folders: Vec<PathBuf>,
    /// Methods to compare [default: all that are in more than one folder]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    methods: Vec<String>,
    /// How the tables are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File for the picture of all curves, svg, pdf or png by its ending; replaced if it is there
    #[arg(long, alias = "svg", value_name = "FILE")]
    figure: Option<PathBuf>,
    #[command(flatten)]
    sheet: figure::Sheeted,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A table for people
    #[default]
    Text,
    /// Tables of Markdown
    Markdown,
    /// `tabular` with the rules of `booktabs`
    Latex,
    /// One JSON object
    Json,
}

/// Reads the folders, checks that they can be compared, prints tables and writes the picture.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments
        .folders
        .iter()
        .try_for_each(|folder| unfinished::refuse(folder))?;
    let sides = arguments
        .folders
        .iter()
        .map(|path| Side::open(path))
        .collect::<Result<Vec<_>, _>>();
    let found =
        compare(&sides.map_err(CliError::input)?, &arguments.methods).map_err(CliError::input)?;
    let format = arguments
        .figure
        .as_deref()
        .map(|path| figure::format(None, path))
        .transpose()?;
    arguments.figure.as_deref().map_or(Ok(()), kept::refuse)?;
    if let Some((path, format)) = arguments.figure.as_deref().zip(format) {
        figure::save(&found.picture(), &arguments.sheet, format, path)?;
    }
    let tables = found.tables();
    let remarks = found.remarks();
    match arguments.format {
        Format::Text => print(&grid::text(&tables, &remarks)),
        Format::Markdown => print(&grid::markdown(&tables, &remarks)),
        Format::Latex => print(&grid::latex(&tables, &remarks)),
        // The other forms say so in a remark.
        Format::Json => {
            warn(few(found.runs as usize), "");
            print_json(&found)
        }
    }
}
