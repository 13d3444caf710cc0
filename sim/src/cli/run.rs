//! `sordino run`: executes a scenario.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::progress::Bar;
use super::{Format, interrupt, print, print_json};
use crate::checkpoint::Store;
use crate::driver::{self, DriverError, DriverKind, RunOptions};
use crate::experiment::jobs::Journal;
use crate::experiment::{self, Experiment, ExperimentError};
use crate::metrics::summarize;
use crate::report::folder::RunFolder;
use crate::report::{json, table};
use crate::scenario::{AnyScenario, ObjectiveConfig, SHIPPED, Scenario, Shipped};

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
    if let Some(shipped) = Shipped::find(name) {
        return Ok(shipped.load(settings)?);
    }
    let path = Path::new(name);
    if !name.contains(['/', '\\', '.']) && !path.exists() {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        return Err(CliError::input(format!(
            "there is no scenario `{name}`; shipped are {}; a file is named by its path",
            names.join(", ")
        )));
    }
    let unreadable = |error: std::io::Error| CliError::input(format!("{name}: cannot be read: {error}"));
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > BYTES_MAX {
        return Err(CliError::input(format!("{name}: longer than {BYTES_MAX} bytes; is this a scenario?")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(AnyScenario::parse(name, &text, settings)?)
}

/// The file that a complete run folder has, written last.
const COMPLETE: &str = "summary.json";

/// What the regret of this scenario is called.
pub fn regret_name(scenario: &Scenario) -> &'static str {
    match scenario.objective {
        ObjectiveConfig::GpSample(_) => "regret",
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => "1 - AUC",
    }
}

/// Executes, prints, writes the folder.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    settings.extend(arguments.runs.map(|runs| format!("runs={runs}")));
    match load(arguments.scenario.as_deref().unwrap_or("default"), &settings)? {
        AnyScenario::Federated(scenario) => execute_federated(&scenario, arguments),
        AnyScenario::Other(experiment) => execute_other(&*experiment, arguments),
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
        Some(path) if arguments.resume && path.join(COMPLETE).exists() => {
            eprintln!("{}: complete already; nothing to resume", path.display());
            return Ok(());
        }
        Some(path) if arguments.resume => RunFolder::open(path)?,
        _ => folder(arguments, &head.name)?,
    };
    let journal = Arc::new(Journal::open(folder.path(), &scenario.resolved(), arguments.data.as_deref())?);
    let options = experiment::Options {
        threads: arguments.threads,
        data: arguments.data.clone(),
        journal: Some(journal.clone()),
        stop: Some(interrupt::flag()),
    };
    let bar = Bar::of_jobs();
    let start = Instant::now();
    let result = scenario.execute(&options, &|done, total, what| bar.job(done, total, what));
    bar.finish();
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
    folder.fill_with(scenario, &outcome)?;
    journal.remove()?;
    match arguments.format {
        Format::Json => print_json(&outcome.summary)?,
        Format::Text => print(&format!(
            "{}: {}\nseed {}, runs {}\n\n{}",
            head.name, head.description, head.seed, head.runs, outcome.table
        ))?,
    }
    eprintln!("wrote {} in {:.1} s", folder.path().display(), start.elapsed().as_secs_f64());
    Ok(())
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 86400".into()),
    }
}

fn execute_federated(scenario: &Scenario, arguments: &Arguments) -> Result<(), CliError> {
    let interval = Duration::from_secs_f64(arguments.checkpoint_every);
    let (folder, store) = match &arguments.out {
        Some(path) if arguments.resume => {
            let folder = RunFolder::open(path)?;
            match Store::begin_or_resume(path, scenario, interval).map_err(DriverError::Store)? {
                Some(store) => (folder, Ok(store)),
                None => {
                    eprintln!("{}: complete already; nothing to resume", path.display());
                    return Ok(());
                }
            }
        }
        _ => {
            let folder = folder(arguments, &scenario.name)?;
            let store = Store::create(folder.path(), scenario, interval);
            (folder, store)
        }
    };
    let store = Arc::new(store.map_err(DriverError::Store)?);
    let stop = interrupt::flag();
    let options = RunOptions {
        threads: arguments.threads,
        driver: match arguments.driver {
            DriverArgument::Lockstep => DriverKind::Lockstep,
            DriverArgument::Tokio => DriverKind::Tokio,
        },
        data: arguments.data.clone(),
        store: Some(store.clone()),
        stop,
        ..RunOptions::default()
    };
    let bar = Bar::new(scenario.runs, scenario.federation.methods.len(), scenario.federation.rounds);
    let start = Instant::now();
    let results = driver::run(scenario, &options, &bar);
    bar.finish();
    let results = match results {
        Ok(results) => results,
        Err(DriverError::Interrupted) => {
            let again = interrupt::command(&std::env::args().collect::<Vec<_>>(), folder.path());
            return Err(CliError::failure(format!("interrupted after a checkpoint; to go on: {again}")));
        }
        Err(error) => {
            store.discard_if_empty();
            folder.discard_if_empty();
            return Err(error.into());
        }
    };
    let summary = summarize(scenario, &results).map_err(CliError::failure)?;
    let name = regret_name(scenario);
    folder.fill(scenario, &results, &summary, name)?;
    store.complete(&results).map_err(DriverError::Store)?;
    match arguments.format {
        Format::Json => print_json(&json::summary(scenario, &summary))?,
        Format::Text => print(&format!(
            "{}: {}\nseed {}, runs {}\n\n{}\ndigest {}\n",
            scenario.name,
            scenario.description,
            scenario.seed,
            scenario.runs,
            table::methods(scenario, &summary, name),
            summary.digest
        ))?,
    }
    if arguments.format == Format::Json {
        eprintln!("{}", table::NOT_PRIVATE);
    }
    eprintln!("wrote {} in {:.1} s", folder.path().display(), start.elapsed().as_secs_f64());
    Ok(())
}
