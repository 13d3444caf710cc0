//! `sordino run`: executes a scenario.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sordino_engine::hub::Hub;
use sordino_engine::{DriverKind, Model, ModelError, Options, Part, federated, parse};
use sordino_experiment::command_line::chosen::scenario_text;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{self, whole};
use sordino_experiment::command_line::print::warn;
use sordino_experiment::command_line::{Format, print, print_json};
use sordino_experiment::progress::log::{self, Log};
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::record::Record;
use sordino_experiment::scenario::{Head, set_once};
use sordino_report::differences::few;
use sordino_report::folder::RunFolder;
use sordino_report::page::warning;
use sordino_report::read::RunFiles;
use sordino_report::table as tables;

use super::data;
use super::interrupt::{self, KEPT};
use super::unused::unused;
use crate::driver::part;
use crate::execute::{self, ExecuteError, OpenRun, Place};
use crate::parts::mark;

/// Where run folders go by default.
const RUNS: &str = "sordino-runs";

/// Arguments of `sordino run`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file [default: default]
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: Option<String>,
    /// Seed of everything that is simulated [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0, i64::MAX as u64))]
    seed: Option<u64>,
    /// Paired runs [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = number::runs)]
    runs: Option<u32>,
    /// Threads for arithmetic; changes no result [default: all cores]
    #[arg(long, value_name = "N", value_parser = number::threads)]
    threads: Option<NonZeroUsize>,
    /// Who executes the parties; changes no result
    #[arg(long, value_enum, default_value_t)]
    driver: DriverKind,
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
    /// Do only the jobs of one part of N, as in 2/3; sordino merge puts the parts together
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "chain")]
    part: Option<Part>,
    /// Seconds between two checkpoints of a method; changes no result
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = number::seconds)]
    checkpoint_every: f64,
    /// Keep the digest after every round in transcript.jsonl, to see where two executions diverge
    /// [default: the last]
    #[arg(long)]
    chain: bool,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

impl Arguments {
    /// Refuses options that have no meaning where the agents are held elsewhere.
    ///
    /// **Errors**: the option and what to give instead.
    pub fn for_a_hub(&self) -> Result<(), CliError> {
        let (option, instead) = match self {
            Arguments { part: Some(_), .. } => (
                "--part",
                "one federation is not cut into parts; run parts by sordino run",
            ),
            Arguments {
                threads: Some(_), ..
            } => ("--threads", "give it to the workers, which compute"),
            Arguments {
                driver: DriverKind::Lockstep,
                ..
            } => ("--driver", "the agents are held by the workers"),
            _ => return Ok(()),
        };
        Err(CliError::input(format!(
            "{option}: has no meaning for a cluster; {instead}"
        )))
    }
}

/// Executes, prints, writes the folder.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    execute_on(arguments, |_, _| Ok(None))
}

/// The same with the agents of a federation held by those that `hub` names; it is asked once,
/// before a folder is made.
///
/// **Errors**: those of `hub`, and as [`execute`](fn@execute).
pub fn execute_on(
    arguments: &Arguments,
    hub: impl FnOnce(&dyn Model, &Options) -> Result<Option<Arc<dyn Hub>>, CliError>,
) -> Result<(), CliError> {
    arguments.log.begin();
    let model = &*asked(arguments)?;
    let mut options = options(arguments);
    if let (Some(part), Some(path)) = (arguments.part, &arguments.out) {
        let data = options.data.as_deref();
        let begun = part::begin_run(path, arguments.resume, part, model, data)?;
        return super::parts::run("run", part, path, begun, &options, arguments.format);
    }
    if let Some(path) = &arguments.out {
        mark::refuse_part(path)?;
    }
    options.hub = hub(model, &options)?;
    let folder = folder(arguments, &model.head().name)?;
    let path = folder.path().to_owned();
    match execute::begin_in(folder, model, options.data.as_deref())? {
        Place::Open(open) => all_of_it(open, model, &options, arguments.format),
        Place::Complete => complete_already(&path, model, arguments.format),
    }
}

/// The scenario that is asked for; tells of settings that nothing of it uses.
fn asked(arguments: &Arguments) -> Result<Box<dyn Model>, CliError> {
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    settings.extend(arguments.runs.map(|runs| format!("runs={runs}")));
    // With those that have an option of their own.
    set_once(&settings)?;
    let name = arguments.scenario.as_deref().unwrap_or("default");
    let chosen = chosen(name, &settings, arguments.data.as_deref())?;
    let told = unused(
        &*chosen.model,
        &chosen.source,
        &chosen.text,
        &chosen.settings,
        &arguments.settings,
    );
    for unused in told {
        log::note(&warning(&unused.to_string()));
    }
    let model = chosen.model;
    check_chain(arguments.chain, &model.head())?;
    Ok(model)
}

/// A scenario by the name of a shipped one or of a file, of any trust model, with what it takes
/// from its data.
///
/// **Errors**: a name, a key or a value that is refused; data that cannot be read, that do not fit,
/// or that nothing reads.
pub fn scenario(
    name: &str,
    settings: &[String],
    data: Option<&Path>,
) -> Result<Box<dyn Model>, CliError> {
    Ok(chosen(name, settings, data)?.model)
}

/// A scenario and what it was read from.
struct Chosen {
    model: Box<dyn Model>,
    source: String,
    text: String,
    /// What was set, and what was taken from the data.
    settings: Vec<String>,
}

/// As [`scenario`].
fn chosen(name: &str, settings: &[String], data: Option<&Path>) -> Result<Chosen, CliError> {
    let (source, text) = scenario_text(name)?;
    let taken = data::of_data(&text, settings, data)?;
    let model = parse(&source, &text, &taken.settings).map_err(|error| taken.refused(error))?;
    data::check_data([&*model], data)?;
    Ok(Chosen {
        model,
        source,
        text,
        settings: taken.settings,
    })
}

/// All runs of all methods, the folder filled, the table printed.
fn all_of_it(
    open: OpenRun,
    model: &dyn Model,
    options: &Options,
    format: Format,
) -> Result<(), CliError> {
    let head = model.head();
    let path = open.path().to_owned();
    let steps = model.steps();
    let mut writer = ProgressWriter::new("run", &head.name, steps.unit, steps.count);
    let result = open.execute(model, options, &writer);
    writer.finish();
    let record = match result {
        Err(ExecuteError::Model(ModelError::Interrupted)) => {
            return Err(interrupt::ended(KEPT, &path));
        }
        result => result?,
    };
    show(&head, &record, format)?;
    log::done(Some(&path), Some(&record.summary.digest));
    Ok(())
}

/// Nothing is left to do; programs get the summary as it was written.
///
/// **Errors**: files of the folder that are missing, damaged, or do not belong together.
fn complete_already(path: &Path, model: &dyn Model, format: Format) -> Result<(), CliError> {
    let path_shown = path.display();
    let shown = execute::shown(model, RunFiles::Folder(path)).map_err(|error| {
        CliError::input(format!(
            "{path_shown}: is sealed as complete and cannot be read as that ({error}); run again into another folder"
        ))
    })?;
    log::note(&format!(
        "{path_shown}: complete already; nothing to resume"
    ));
    let missing = shown.iter().filter(|(name, _)| !path.join(name).exists());
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        log::note(&format!(
            "{} is not there any more; `sordino report {path_shown}` makes it again",
            missing.join(", ")
        ));
    }
    match format {
        Format::Json => print(&execute::summary(path).map_err(CliError::failure)?.0),
        Format::Text => Ok(()),
    }
}

/// Refuses to keep digests of scenarios that have none by round.
pub fn check_chain(chain: bool, head: &Head) -> Result<(), CliError> {
    if !chain || head.trust == federated::TRUST.name {
        return Ok(());
    }
    let name = &head.name;
    Err(CliError::input(format!(
        "--chain: scenario `{name}` leaves no transcript.jsonl, as federations do; omit --chain"
    )))
}

fn options(arguments: &Arguments) -> Options {
    Options {
        threads: arguments.threads,
        driver: arguments.driver,
        data: arguments.data.clone(),
        interval: Duration::from_secs_f64(arguments.checkpoint_every),
        stop: interrupt::flag(),
        chain: arguments.chain,
        ..Options::default()
    }
}

/// Prints what an execution amounts to. Its table has its cautions; beside JSON they go to standard
/// error.
pub fn show(head: &Head, record: &Record, format: Format) -> Result<(), CliError> {
    match format {
        Format::Json => {
            print_json(&record.summary)?;
            record
                .summary
                .cautions
                .iter()
                .for_each(|caution| log::note(&warning(caution)));
            log::note(tables::NOT_PRIVATE);
            warn(few(head.runs as usize), "");
        }
        Format::Text => {
            print(&format!(
                "{}: {}\nseed {}, runs {}\n\n{}",
                head.name,
                head.description,
                head.seed,
                head.runs,
                record.table()
            ))?;
            warn(few(head.runs as usize), record.table());
        }
    }
    Ok(())
}

fn folder(arguments: &Arguments, name: &str) -> Result<RunFolder, CliError> {
    Ok(match &arguments.out {
        Some(path) if arguments.resume => RunFolder::open(path)?,
        Some(path) => RunFolder::create(path)?,
        None => RunFolder::create_numbered(Path::new(RUNS), name)?,
    })
}
