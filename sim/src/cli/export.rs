//! `sordino export`: a federation as constants for a device's program.

use std::path::PathBuf;

use clap::Args;
use sordino_core::federated::exchange::Announced;
use sordino_engine as model;
use sordino_engine::federated::context::simulated_deployment;
use sordino_engine::federated::export::{Export, Language, text as source_text};
use sordino_experiment::scenario::{FEDERATED, Scenario, set_once};
use sordino_experiment::world;

use sordino_experiment::command_line::chosen::{one_method, scenario_text};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::whole;
use sordino_experiment::command_line::print;
use sordino_lab::command::data::of_data;

/// `sordino export`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A federated scenario from `sordino list`, or a TOML file
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// A module for Rust or a header for C
    #[arg(long, value_enum)]
    lang: Language,
    /// Which method [default: the scenario's only one, or dp-fts-de]
    #[arg(long)]
    method: Option<String>,
    /// Replace a value of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Data file of scenarios that read one
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// The federation's random public number, 16 hexadecimal digits, as its invitations have it
    /// [default: the simulation's]
    #[arg(long, value_name = "HEX", value_parser = deployment)]
    deployment: Option<u64>,
    /// How long a round is open, in milliseconds, as the server announces it
    #[arg(long, value_name = "MS", default_value_t = 21_600_000, value_parser = whole::<u64>(1, OPEN_MS_MAX))]
    deadline_ms: u64,
    /// The server announces that a round may end when all have answered
    #[arg(long)]
    close_early: bool,
}

/// The longest a round is open: a year.
const OPEN_MS_MAX: u64 = 365 * 86_400_000;

fn deployment(text: &str) -> Result<u64, String> {
    match u64::from_str_radix(text, 16) {
        Ok(number) if text.len() == 16 => Ok(number),
        _ => Err("admissible: 16 hexadecimal digits".to_owned()),
    }
}

/// Prints the source file.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    set_once(&arguments.settings)?;
    let (source, text) = scenario_text(&arguments.scenario)?;
    let taken = of_data(&text, &arguments.settings, arguments.data.as_deref())?;
    let settings = &taken.settings;
    let head = model::parse(&source, &text, settings)
        .map_err(|error| taken.refused(error))?
        .head();
    if head.trust != FEDERATED {
        let why = format!(
            "scenario {} is of trust model {}: only federated ones are exported",
            head.name, head.trust
        );
        return Err(CliError::input(why));
    }
    let scenario = Scenario::parse(&source, &text, settings)?;
    let (scenario, method) = one_method(&scenario, arguments.method.as_deref())?;
    let seed = scenario.run_seed(0);
    // Only the list of points is used: what a device measures there is its own.
    let functions = world::load(&scenario, arguments.data.as_deref())?.realize(seed);
    let announced = Announced {
        epsilon_max: scenario.privacy.max_epsilon,
        // A real one has a deployment of its own, and the δ that `serve` takes.
        delta: match arguments.deployment {
            Some(_) => scenario.privacy.announced_delta(scenario.federation.agents),
            None => scenario.privacy.delta,
        },
        deadline_ms: arguments.deadline_ms,
        may_close_early: arguments.close_early,
    };
    let run = arguments
        .deployment
        .unwrap_or_else(|| simulated_deployment(seed));
    let export = Export::new(
        &scenario,
        method,
        functions.candidates(),
        functions.dim(),
        run,
        announced,
    );
    print(&source_text(
        &export.map_err(CliError::input)?,
        arguments.lang,
    ))
}
