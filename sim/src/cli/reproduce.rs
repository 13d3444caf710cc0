//! `sordino reproduce`: which results of the papers can be reproduced.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{Cell, CellAlignment, Table};
use serde_json::json;
use sordino_experiment::progress::log::{self, Log};
use sordino_experiment::text::significant;
use sordino_papers::reproduce::{Experiment, Options, Report};
use sordino_report::folder::RunFolder;
use sordino_report::table::LINES;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, number, print, print_json};

/// `sordino reproduce`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Name of an experiment; without one, the catalogue is listed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Runs (functions); fewer than the default make bands fail by chance [default: the
    /// experiment's]
    #[arg(long, value_name = "N", value_parser = number::runs)]
    runs: Option<u32>,
    /// Threads for arithmetic; changes no result [default: all cores]
    #[arg(long, value_name = "N", value_parser = number::threads)]
    threads: Option<NonZeroUsize>,
    /// Data file or folder of experiments that read one
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Folder for pictures and tables, which must not exist [default: nothing is written]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Prints expected | measured | holds; an error if a band does not hold.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments.log.begin();
    let Some(name) = &arguments.name else {
        return match arguments.format {
            Format::Text => print(&catalogue()),
            Format::Json => {
                let all = Experiment::all().map(|experiment| {
                    json!({ "name": experiment.name, "description": experiment.description })
                });
                print_json(&json!({ "experiments": all.collect::<Vec<_>>() }))
            }
        };
    };
    let Some(experiment) = Experiment::find(name) else {
        let names: Vec<&str> = Experiment::all()
            .map(|experiment| experiment.name)
            .collect();
        return Err(CliError::input(format!(
            "there is no experiment `{name}`; there are {}",
            names.join(", ")
        )));
    };
    let options = Options {
        runs: arguments.runs,
        threads: arguments.threads,
        data: arguments.data.clone(),
    };
    experiment.check(&options).map_err(CliError::input)?;
    log::note(&format!("{}: {}", experiment.name, experiment.description));
    let folder = arguments
        .out
        .as_deref()
        .map(RunFolder::create)
        .transpose()?;
    let report = match experiment.execute(&options) {
        Ok(report) => report,
        Err(error) => {
            folder.into_iter().for_each(RunFolder::discard_if_empty);
            return Err(CliError::input(error));
        }
    };
    if let Some(folder) = &folder {
        folder.write("bands.txt", &text(&report))?;
        report
            .files
            .iter()
            .try_for_each(|(name, text)| folder.write(name, text))?;
    }
    log::done(folder.as_ref().map(RunFolder::path), None);
    match arguments.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(&text(&report))?,
    }
    let chance = match report.has_few_runs() {
        true => format!(
            "; they are for {} runs, and with {} some fail by chance",
            report.runs_of_bands, report.runs
        ),
        false => String::new(),
    };
    match report.failed() {
        0 => Ok(()),
        failed => Err(CliError::failure(format!(
            "{failed} of {} bands do not hold{chance}",
            report.bands.len()
        ))),
    }
}

fn catalogue() -> String {
    let width = Experiment::all()
        .map(|experiment| experiment.name.len())
        .max()
        .unwrap_or(0);
    Experiment::all()
        .map(|experiment| format!("{:width$}  {}\n", experiment.name, experiment.description))
        .collect()
}

fn text(report: &Report) -> String {
    let mut table = Table::new();
    table
        .load_style(LINES)
        .set_header(["band", "expected", "measured", "holds"]);
    for band in &report.bands {
        table.add_row([
            Cell::new(&band.name),
            Cell::new(&band.expected),
            Cell::new(significant(band.measured, 4)).set_alignment(CellAlignment::Right),
            Cell::new(if band.holds { "yes" } else { "NO" }),
        ]);
    }
    let mut out = format!("{}\nruns: {}\n{table}\n", report.experiment, report.runs);
    for remark in &report.remarks {
        out.push_str(&format!("{remark}\n"));
    }
    out
}
