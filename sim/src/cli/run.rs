//! `sordino run`: executes a scenario.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::{Format, interrupt, print, print_json};
use crate::files::read_to_string_bounded;
use crate::journal::checkpoint::is_complete;
use crate::journal::jobs::Journal;
use crate::model::experiment::{Experiment, ExperimentError};
use crate::model::federated::{DriverError, DriverKind, RunOptions};
use crate::model::{self, Engine, engine};
use crate::progress::log::{self, Log};
use crate::progress::teller::Teller;
use crate::report::folder::RunFolder;
use crate::report::{json, table};
use crate::scenario::{AnyScenario, SHIPPED, Scenario, Shipped, nearest};
use crate::study::execute::{self, ExecuteError, Place};

/// Scenario files are read up to this length.
const BYTES_MAX: u64 = 1 << 20;
/// Where run folders go if nobody says.
const RUNS: &str = "sordino-runs";

/// `sordino run`.
#[derive(Clone, Debug, Default, Args)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file [default: default]
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: Option<String>,
    /// Seed of everything that is simulated [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Paired runs [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Threads for arithmetic; changes no result [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Who executes the parties; changes no result
    #[arg(long, value_enum, default_value_t)]
    driver: DriverArgument,
    /// Replace a value of the scenario, as in federation.agents=50; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Data file of scenarios that read one, or folder of data files
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Run folder, which must not exist [default: a new numbered folder under sordino-runs/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the interrupted run in --out, or start it if the folder is new
    #[arg(long, requires = "out")]
    resume: bool,
    /// Seconds between two checkpoints of a method; changes no result
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    checkpoint_every: f64,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum DriverArgument {
    /// One thread, virtual time: the reference
    Lockstep,
    /// Tasks and a pool of threads
    #[default]
    Tokio,
}

/// A shipped scenario by name, or a file, of whichever trust model.
pub fn load(name: &str, settings: &[String]) -> Result<AnyScenario, CliError> {
    let (source, text) = scenario_text(name)?;
    Ok(AnyScenario::parse(&source, &text, settings)?)
}

/// Refuses `--data` that nobody would read: whoever gives it believes that it counts.
pub fn check_data<'s>(
    scenarios: impl IntoIterator<Item = &'s AnyScenario>,
    data: Option<&Path>,
) -> Result<(), CliError> {
    let mut scenarios = scenarios.into_iter().peekable();
    let name = scenarios.peek().map_or(String::new(), |scenario| format!(" `{}`", scenario.head().name));
    match data {
        Some(path) if scenarios.all(|scenario| scenario.reads().is_none()) => Err(CliError::input(format!(
            "--data {}: scenario{name} reads no data; leave --data away, or run one that does (see sordino list)",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Name and text of a shipped scenario or of a file.
pub fn scenario_text(name: &str) -> Result<(String, String), CliError> {
    if let Some(shipped) = Shipped::find(name) {
        return Ok((shipped.name.to_owned(), shipped.text.to_owned()));
    }
    let path = Path::new(name);
    if !name.contains(['/', '\\', '.']) && !path.exists() {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let near = nearest(name, &names).map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
        return Err(CliError::input(format!(
            "there is no scenario `{name}`{near} Shipped are {}; a file is named by its path",
            names.join(", ")
        )));
    }
    let unreadable = |error: std::io::Error| CliError::input(format!("{name}: cannot be read: {error}"));
    Ok((name.to_owned(), read_to_string_bounded(path, BYTES_MAX).map_err(unreadable)?))
}

/// Executes, prints, writes the folder.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments.log.begin();
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    settings.extend(arguments.runs.map(|runs| format!("runs={runs}")));
    let scenario = load(arguments.scenario.as_deref().unwrap_or("default"), &settings)?;
    check_data([&scenario], arguments.data.as_deref())?;
    match engine(scenario) {
        Engine::Rounds(scenario) => execute_federated(&scenario, arguments),
        Engine::Jobs(experiment) => execute_other(&*experiment, arguments),
    }
}

fn folder(arguments: &Arguments, name: &str) -> Result<RunFolder, CliError> {
    Ok(match &arguments.out {
        Some(path) => RunFolder::create(path)?,
        None => RunFolder::create_numbered(Path::new(RUNS), name)?,
    })
}

fn execute_other(scenario: &dyn Experiment, arguments: &Arguments) -> Result<(), CliError> {
    let head = scenario.head();
    let folder = match &arguments.out {
        Some(path) if arguments.resume => RunFolder::open(path)?,
        _ => folder(arguments, &head.name)?,
    };
    if is_complete(folder.path(), &scenario.resolved())? {
        Journal::remove_left(folder.path());
        log::note(&format!("{}: complete already; nothing to resume", folder.path().display()));
        return Ok(());
    }
    let journal = Arc::new(Journal::open(folder.path(), &scenario.resolved(), arguments.data.as_deref())?);
    let options = model::Options {
        threads: arguments.threads,
        data: arguments.data.clone(),
        journal: Some(journal.clone()),
        stop: Some(interrupt::flag()),
    };
    let mut teller = Teller::of_jobs("run", &head.name);
    let result = scenario.execute(&options, &|done, total, what| teller.job(done, total, what));
    teller.finish();
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(ExperimentError::Interrupted) => {
            let again = interrupt::command(&std::env::args().collect::<Vec<_>>(), folder.path());
            return Err(CliError::failure(format!("interrupted; finished parts are kept; to go on: {again}")));
        }
        Err(error) => {
            journal.discard_if_empty();
            folder.discard_if_empty();
            return Err(error.into());
        }
    };
    folder.fill_with(&scenario.resolved(), &outcome)?;
    journal.remove()?;
    match arguments.format {
        Format::Json => print_json(&outcome.summary)?,
        Format::Text => print(&format!(
            "{}: {}\nseed {}, runs {}\n\n{}",
            head.name, head.description, head.seed, head.runs, outcome.table
        ))?,
    }
    log::done(Some(folder.path()), Some(&outcome.summary.digest));
    Ok(())
}

/// A number of seconds up to a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 86400".into()),
    }
}

fn execute_federated(scenario: &Scenario, arguments: &Arguments) -> Result<(), CliError> {
    let interval = Duration::from_secs_f64(arguments.checkpoint_every);
    let place = match &arguments.out {
        Some(path) if arguments.resume => execute::begin_or_resume(path, scenario, interval)?,
        _ => execute::begin(folder(arguments, &scenario.name)?, scenario, interval)?,
    };
    let Place::Open(folder, store) = place else {
        let path = arguments.out.as_deref().unwrap_or(Path::new("."));
        log::note(&format!("{}: complete already; nothing to resume", path.display()));
        return Ok(());
    };
    let path = folder.path().to_owned();
    let mut teller = Teller::of_rounds("run", &scenario.name, scenario.steps());
    let options = RunOptions {
        threads: arguments.threads,
        driver: match arguments.driver {
            DriverArgument::Lockstep => DriverKind::Lockstep,
            DriverArgument::Tokio => DriverKind::Tokio,
        },
        data: arguments.data.clone(),
        stop: interrupt::flag(),
        ..RunOptions::default()
    };
    let result = execute::federated(scenario, folder, store, options, &teller);
    teller.finish();
    let summary = match result {
        Err(ExecuteError::Driver(DriverError::Interrupted)) => {
            let again = interrupt::command(&std::env::args().collect::<Vec<_>>(), &path);
            return Err(CliError::failure(format!("interrupted after a checkpoint; to go on: {again}")));
        }
        result => result?,
    };
    match arguments.format {
        Format::Json => print_json(&json::summary(scenario, &summary))?,
        Format::Text => print(&format!(
            "{}: {}\nseed {}, runs {}\n\n{}\ndigest {}\n",
            scenario.name,
            scenario.description,
            scenario.seed,
            scenario.runs,
            table::methods(scenario, &summary, scenario.objective.regret_name()),
            summary.digest
        ))?,
    }
    if arguments.format == Format::Json {
        log::note(table::NOT_PRIVATE);
    }
    log::done(Some(&path), Some(&summary.digest.to_string()));
    Ok(())
}
