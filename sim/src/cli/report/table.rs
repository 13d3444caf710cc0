//! `sordino report --table`: one table of a run folder for people, papers and programs.

use std::path::Path;

use clap::ValueEnum;

use super::super::error::CliError;
use super::super::print;
use super::format::Format;
use crate::files::write_atomically;
use crate::progress::log;
use crate::report::differences::few;
use crate::report::results::Results;
use crate::report::{grid, tables};
use crate::study::sweep::SweepFolder;

/// Tables of a run folder.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Table {
    /// What every method reached and what its releases cost
    Summary,
    /// Differences between every two methods, run by run: t test, Holm, Wilcoxon
    Paired,
}

/// Prints the table, or writes it to `out`.
pub fn execute(
    folder: &Path,
    kind: Table,
    methods: &[String],
    format: Option<Format>,
    out: Option<&Path>,
) -> Result<(), CliError> {
    if SweepFolder::is_one(folder) {
        return Err(CliError::input(format!(
            "{}: is a sweep, whose tables are index.csv (a line for each run) and summary.csv; --table is for its run folders",
            folder.display()
        )));
    }
    let results = Results::open(folder).map_err(CliError::input)?;
    let kind = match kind {
        Table::Summary => tables::Kind::Summary,
        Table::Paired => tables::Kind::Paired,
    };
    let found = tables::table(&results, kind, methods).map_err(|unknown| {
        let there: Vec<&str> = results.summary.methods.iter().map(|method| method.name.as_str()).collect();
        CliError::input(format!("--methods {unknown}: is not in {}, which has {}", folder.display(), there.join(", ")))
    })?;
    let (grids, remarks) = ([found.grid], &found.remarks);
    let text = match format.unwrap_or(Format::Text) {
        Format::Text => grid::text(&grids, remarks),
        Format::Markdown => grid::markdown(&grids, remarks),
        Format::Latex => grid::latex(&grids, remarks),
        Format::Csv => found.csv,
        Format::Json => format!("{:#}\n", found.json),
        Format::Svg | Format::Pdf | Format::Png => {
            return Err(CliError::input("--format: a table is text, markdown, latex, csv or json"));
        }
    };
    if let Some(warning) = few(results.summary.runs as usize) {
        log::note(&format!("warning: {warning}"));
    }
    match out {
        None => print(&text),
        Some(path) => {
            write_atomically(path, text.as_bytes())
                .map_err(|error| CliError::failure(format!("{}: cannot be written: {error}", path.display())))?;
            print(&format!("{}\n", path.display()))
        }
    }
}
