//! `sordino-net rehearse`: a simulated federation over HTTPS, in one process.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sordino_core::federated::shares::Trust;
use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::scenario::set_once;

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
    /// Who is trusted with contributions, one-server or two-servers; as --set privacy.trust=…
    /// [default: what the scenario says]
    #[arg(long)]
    trust: Option<Trust>,
    /// Cut every connection after 2 to 14 kB
    #[arg(long)]
    chaos: bool,
    /// Kill agents at random moments and let them go on from their files in this folder, which must
    /// be empty
    #[arg(long, value_name = "DIR")]
    deaths: Option<PathBuf>,
    /// Leave agent 0 to a device, such as `firmware-networked` in QEMU, and write into this file
    /// what the device is given
    #[arg(long, value_name = "FILE")]
    device: Option<PathBuf>,
    #[cfg(feature = "mqtt")]
    #[command(flatten)]
    via: super::bridge::Via,
    /// End the rehearsal if a round is not complete after this time
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = common::duration)]
    deadline: Duration,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Executes the command.
pub fn execute(arguments: &Rehearse) -> Result<(), CliError> {
    let mut settings = arguments.settings.clone();
    settings.extend(
        arguments
            .trust
            .map(|trust| format!("privacy.trust=\"{trust}\"")),
    );
    set_once(&settings)?;
    let (scenario, method) =
        common::scenario(&arguments.scenario, &settings, arguments.method.as_deref())?;
    common::tell_unused(&scenario, method, &arguments.settings);
    if let Some(folder) = &arguments.deaths {
        let shown = folder.display();
        let found = std::fs::create_dir_all(folder).and_then(|()| std::fs::read_dir(folder));
        let mut found =
            found.map_err(|error| CliError::failure(format!("--deaths {shown}: {error}")))?;
        if found.next().is_some() {
            return Err(CliError::input(format!(
                "--deaths {shown}: an empty folder is expected"
            )));
        }
    }
    let deaths = arguments.deaths.clone();
    let device = arguments.device.clone();
    let options = Options {
        chaos: arguments.chaos,
        deadline: arguments.deadline,
        deaths,
        device,
        #[cfg(feature = "mqtt")]
        broker: arguments.via.broker()?,
    };
    let outcome = common::wait(rehearse(&scenario, method, options))?.map_err(CliError::failure)?;
    let Outcome {
        digest,
        agents,
        rounds,
        cuts,
        repeated,
        deaths,
        mut round_times,
    } = outcome;
    round_times.sort();
    let median_ms = round_times[round_times.len() / 2].as_secs_f64() * 1e3;
    let seconds: f64 = round_times.iter().map(Duration::as_secs_f64).sum();
    let rate = f64::from(agents) * round_times.len() as f64 / seconds;
    match arguments.format {
        Format::Json => {
            let told = serde_json::json!({
                "digest": digest.to_string(), "method": method.name(), "agents": agents, "rounds": rounds, "cuts": cuts,
                "repeated": repeated, "deaths": deaths, "median_round_ms": median_ms, "client_rounds_per_second": rate,
            });
            print(&format!("{told}\n"))
        }
        Format::Text => print(&format!(
            "{agents} agents, {rounds} rounds over HTTPS, {cuts} connections cut, {deaths} deaths, {repeated} answers \
             repeated; {median_ms:.1} ms a round (median), {rate:.0} answers a second\ndigest {digest}\n"
        )),
    }
}
