//! `sordino sweep`: every combination of some keys' values, under every seed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sordino_engine::{Options, Part};
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::log::{self, Log};
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::scenario::unused::Unused;
use sordino_lab::driver::part::begin_sweep;
use sordino_lab::driver::sweep::run;
use sordino_lab::parts::mark::refuse_part;
use sordino_lab::sweep::grid::GridError;
use sordino_lab::sweep::table::shown;
use sordino_lab::sweep::{Index, Plan, Status, SweepError, SweepFolder, grid};
use sordino_lab::work::Work;
use sordino_report::page::warning;

use sordino_experiment::command_line::chosen::scenario_text;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, number, print, print_json};
use sordino_lab::command::data::{check_data, of_data};
use sordino_lab::command::interrupt;
use sordino_lab::command::parts;
use sordino_lab::command::unused::unused;

/// `sordino sweep`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example:\n  sordino sweep default --set privacy.noise_multiplier=0.5,1,2 --set federation.agents=50,200 \
                        --seeds 0..5 --out my-sweep\n  sordino report my-sweep"
)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file, of any trust model
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// A key and its values, as in privacy.noise_multiplier=0.5,1,2; may be repeated: the sweep is
    /// the product of all. A single value replaces the scenario's, as in `sordino run`
    #[arg(long = "set", value_name = "KEY=VALUE,…")]
    settings: Vec<String>,
    /// Seeds, as in 0..5 (0 to 4), 0..=5 or 1,2,7; runs of one seed are paired over the sweep
    /// [default: the scenario's]
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Paired runs within each run folder [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = number::runs)]
    runs: Option<u32>,
    /// Folder of the sweep, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Go on with the sweep in --out, or start it if the folder is new; failed runs are tried again
    #[arg(long)]
    resume: bool,
    /// Threads for arithmetic; changes no result [default: all cores]
    #[arg(long, value_name = "N", value_parser = number::threads)]
    threads: Option<NonZeroUsize>,
    /// Data file of scenarios that read one
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Do only the jobs of one part of N, as in 2/3; sordino merge puts the parts together
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
    /// Seconds between two checkpoints of a method; changes no result
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = number::seconds)]
    checkpoint_every: f64,
    /// Text for people or one JSON object: the index
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Checks every run, executes those that are not done, writes the index and the page.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments.log.begin();
    let (source, text) = scenario_text(&arguments.scenario)?;
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.runs.map(|runs| format!("runs={runs}")));
    let taken = of_data(&text, &settings, arguments.data.as_deref())?;
    let seeds = arguments
        .seeds
        .as_deref()
        .map(grid::seeds)
        .transpose()
        .map_err(CliError::input)?;
    let plan = Plan::new(&source, &text, &taken.settings, seeds).map_err(|error| {
        let of_table = if let GridError::Scenario { error, .. } = &error {
            taken.tells(error)
        } else {
            None
        };
        of_table.map_or_else(|| CliError::input(error), CliError::input)
    })?;
    if arguments.data.is_some() {
        let points = plan.points();
        let cells = points
            .iter()
            .step_by(plan.seeds.len())
            .map(|point| plan.load(point));
        let scenarios = cells
            .collect::<Result<Vec<_>, _>>()
            .map_err(CliError::input)?;
        check_data(
            scenarios.iter().map(|scenario| &**scenario),
            arguments.data.as_deref(),
        )?;
    }
    used(&plan)?;
    let options = Options {
        threads: arguments.threads,
        data: arguments.data.clone(),
        interval: Duration::from_secs_f64(arguments.checkpoint_every),
        stop: interrupt::flag(),
        ..Options::default()
    };
    if let Some(part) = arguments.part {
        let out = &arguments.out;
        let begun = begin_sweep(out, arguments.resume, part, plan)?;
        return parts::run("sweep", part, out, begun, &options, arguments.format);
    }
    refuse_part(&arguments.out)?;
    let folder = SweepFolder::begin(&arguments.out, plan, arguments.resume)?;
    let index = folder.index()?;
    if folder.is_complete(&index) {
        let index = folder.checked_index()?;
        log::note(&format!(
            "{}: complete already; nothing to resume",
            folder.path().display()
        ));
        return match arguments.format {
            Format::Json => print_json(&index),
            Format::Text => Ok(()),
        };
    }
    let done = index.count(Status::Done);
    if done < index.entries.len() {
        folder.of_this_version()?;
    }
    let work = Work::of_sweep(&folder.plan).map_err(CliError::input)?;
    let steps = work.steps(None);
    let mut writer = ProgressWriter::new("sweep", &index.scenario, work.counted_in, steps);
    let found = index
        .entries
        .iter()
        .zip(&work.units)
        .filter(|(entry, _)| entry.status == Status::Done)
        .map(|(_, unit)| unit.jobs * unit.steps);
    writer.found(found.sum());
    writer.note(&format!(
        "{}: {} runs, {done} of them done",
        index.scenario,
        index.entries.len()
    ));
    let result = run(&folder, index, &work, &options, &writer);
    writer.finish();
    let index = match result {
        Err(SweepError::Interrupted) => {
            return Err(interrupt::ended(
                "interrupted after checkpoints",
                folder.path(),
            ));
        }
        result => result?,
    };
    show(&folder, &index, arguments.format)
}

/// Tells which settings nothing uses, at any point of the grid.
fn used(plan: &Plan) -> Result<(), CliError> {
    let mut everywhere: Option<Vec<Unused>> = None;
    for point in plan.points().iter().step_by(plan.seeds.len()) {
        let set = plan
            .axes
            .iter()
            .zip(&point.values)
            .map(|(axis, value)| format!("{}={value}", axis.key));
        let mut told = unused(
            &*plan.load(point).map_err(CliError::input)?,
            &plan.source,
            &plan.scenario,
            &plan.settings(&point.values, Some(point.seed)),
            &set.collect::<Vec<_>>(),
        );
        if let Some(before) = everywhere {
            told.retain(|told| before.iter().any(|other| other.key == told.key));
        }
        if told.is_empty() {
            return Ok(());
        }
        everywhere = Some(told);
    }
    everywhere
        .unwrap_or_default()
        .iter()
        .for_each(|told| log::note(&warning(&told.to_string())));
    Ok(())
}

/// Prints what a sweep amounts to.
///
/// **Errors**: runs that failed.
pub fn show(folder: &SweepFolder, index: &Index, format: Format) -> Result<(), CliError> {
    match format {
        Format::Json => {
            print_json(index)?;
            index
                .cautions()
                .iter()
                .for_each(|caution| log::note(&warning(caution)));
        }
        Format::Text => {
            let digest = index
                .digest
                .as_deref()
                .unwrap_or("none: not all runs are done");
            print(&shown(index).text(digest))?;
        }
    }
    log::done(Some(folder.path()), index.digest.as_deref());
    match index.count(Status::Failed) {
        0 => Ok(()),
        failed => Err(CliError::failure(format!(
            "{failed} of {} runs failed: {}; index.csv says why, --resume tries them again",
            index.entries.len(),
            index.named(Status::Failed)
        ))),
    }
}
