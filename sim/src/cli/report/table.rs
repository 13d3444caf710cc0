//! `sordino report --table`: one table of a run folder or of a sweep for people, papers and
//! programs.

use std::path::Path;

use sordino_experiment::record::distinct;
use sordino_lab::compare::Side;
use sordino_lab::sweep::{SweepFolder, paired, table as sweep_table};
use sordino_report::differences::few;
use sordino_report::grid;
use sordino_report::tables::{Kind, Table, TableError, table};

use super::super::unfinished;
use super::format::Format;
use super::kept;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::command_line::print::warn;

/// Prints the table, or writes it to `out`.
pub fn execute(
    folder: &Path,
    kind: Kind,
    methods: &[String],
    format: Option<Format>,
    out: Option<&Path>,
) -> Result<(), CliError> {
    out.map_or(Ok(()), kept::refuse)?;
    let format = format
        .or_else(|| out.and_then(ending))
        .unwrap_or(Format::Text);
    let (found, warning) = if SweepFolder::is_one(folder) {
        of_sweep(folder, kind, methods)?
    } else {
        of_run(folder, kind, methods)?
    };
    if let (Kind::Paired, [only]) = (kind, methods) {
        return Err(CliError::input(format!(
            "--methods {only}: --table paired compares two methods or more; name them, the first is what a sweep compares the \
             others with"
        )));
    }
    let grids = [found.grid];
    let remarks = &found.remarks;
    let text = match format {
        Format::Text => grid::text(&grids, remarks),
        Format::Markdown => grid::markdown(&grids, remarks),
        Format::Latex => grid::latex(&grids, remarks),
        Format::Csv => found.csv,
        Format::Json => format!("{:#}\n", found.json),
        Format::Svg | Format::Pdf | Format::Png => {
            return Err(CliError::input(
                "--format: a table is text, markdown, latex, csv or json",
            ));
        }
    };
    match out {
        None => {
            warn(warning, &text);
            print(&text)
        }
        Some(path) => {
            warn(warning, "");
            kept::write(path, text.as_bytes())?;
            print(&format!("{}\n", path.display()))
        }
    }
}

/// The form that the ending of a file asks for, if it is one of a table.
fn ending(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "csv" => Some(Format::Csv),
        "json" => Some(Format::Json),
        "md" => Some(Format::Markdown),
        "tex" => Some(Format::Latex),
        "svg" => Some(Format::Svg),
        "pdf" => Some(Format::Pdf),
        "png" => Some(Format::Png),
        _ => None,
    }
}

/// What is said where there is no table of this folder, which has these methods.
fn refused(folder: &Path, error: TableError, there: &[&str]) -> CliError {
    match error {
        TableError::NoMethod(unknown) => CliError::input(format!(
            "--methods {unknown}: is not in {}, which has {}",
            folder.display(),
            there.join(", ")
        )),
        error @ TableError::Json(_) => CliError::failure(error),
    }
}

fn of_run(
    folder: &Path,
    kind: Kind,
    methods: &[String],
) -> Result<(Table, Option<String>), CliError> {
    unfinished::refuse_unfinished(folder)?;
    // Checked as for the page: a table is what papers quote.
    let results = Side::open(folder).map_err(CliError::input)?.results;
    let there: Vec<&str> = results
        .summary
        .methods
        .iter()
        .map(|method| method.name.as_str())
        .collect();
    let found = table(&results, kind, methods).map_err(|error| refused(folder, error, &there))?;
    Ok((found, few(results.summary.runs as usize)))
}

fn of_sweep(
    folder: &Path,
    kind: Kind,
    methods: &[String],
) -> Result<(Table, Option<String>), CliError> {
    let sweep = SweepFolder::open(folder)?;
    let index = sweep.checked_index()?;
    let warning = (!sweep.is_complete(&index)).then(|| unfinished::sweep(&sweep, &index));
    let there = index.clone();
    let names = distinct(
        there
            .entries
            .iter()
            .flat_map(|entry| &entry.methods)
            .map(|method| method.name.as_str()),
    );
    let made = match kind {
        Kind::Summary => sweep_table::table(index, methods),
        Kind::Paired => paired::table(index, methods),
    };
    let found = made.map_err(|error| refused(folder, error, &names))?;
    Ok((found, warning))
}
