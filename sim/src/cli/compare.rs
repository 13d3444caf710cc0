//! `sordino compare`: run folders beside each other.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::{print, print_json};
use crate::files::write_atomically;
use crate::report::grid;
use crate::study::compare::{Side, compare};

/// `sordino compare`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sordino compare results/z1 results/z2 --methods dp-fts-de,dp-prior --svg z.svg")]
pub struct Arguments {
    /// Run folders of the trust model `federated` over the same functions: equal [objective], seed, agents and rounds
    #[arg(value_name = "DIR", required = true, num_args = 2..=8)]
    folders: Vec<PathBuf>,
    /// Methods to compare [default: all that are in more than one folder]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    methods: Vec<String>,
    /// How the tables are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File for the picture of all curves, replaced if it is there
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
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
    let sides = arguments.folders.iter().map(|path| Side::open(path)).collect::<Result<Vec<_>, _>>();
    let found = compare(&sides.map_err(CliError::input)?, &arguments.methods).map_err(CliError::input)?;
    if let Some(path) = &arguments.svg {
        write_atomically(path, found.figure().as_bytes())
            .map_err(|error| CliError::failure(format!("{}: cannot be written: {error}", path.display())))?;
    }
    let (tables, remarks) = (found.tables(), found.remarks());
    match arguments.format {
        Format::Text => print(&grid::text(&tables, &remarks)),
        Format::Markdown => print(&grid::markdown(&tables, &remarks)),
        Format::Latex => print(&grid::latex(&tables, &remarks)),
        Format::Json => print_json(&found),
    }
}
