//! `sordino-net rehearse`: a simulated federation over HTTPS, in one process.

use std::time::Duration;

use clap::Args;
use sordino_sim::cli::Format;
use sordino_sim::cli::error::CliError;

use super::common;
use crate::rehearsal::{Options, Outcome, rehearse};

/// Arguments of `rehearse`.
#[derive(Clone, Debug, Args)]
pub struct Rehearse {
    /// A federated scenario from `sordino list`, or a TOML file
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// Which method [default: the scenario's only one, or dp-fts-de]
    #[arg(long)]
    method: Option<String>,
    /// Replace a value of the scenario, as in federation.agents=50; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Cut every connection after 2 to 14 kB
    #[arg(long)]
    chaos: bool,
    /// A round that is not complete after this time ends the rehearsal
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = common::duration)]
    deadline: Duration,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Executes the command.
pub fn execute(arguments: &Rehearse) -> Result<(), CliError> {
    let (scenario, method) = common::scenario(&arguments.scenario, &arguments.settings, arguments.method.as_deref())?;
    let options = Options { chaos: arguments.chaos, deadline: arguments.deadline };
    let outcome = common::wait(rehearse(&scenario, method, options))?.map_err(CliError::failure)?;
    let Outcome { digest, agents, rounds, cuts, repeated } = outcome;
    match arguments.format {
        Format::Json => println!(
            "{}",
            serde_json::json!({
                "digest": digest.to_string(), "method": method.name(), "agents": agents, "rounds": rounds, "cuts": cuts,
                "repeated": repeated,
            })
        ),
        _ => {
            println!(
                "{agents} agents, {rounds} rounds over HTTPS, {cuts} connections cut, {repeated} answers repeated"
            );
            println!("digest {digest}");
        }
    }
    Ok(())
}
