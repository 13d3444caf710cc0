//! `sordino-net help-serve`: the second of two servers.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::progress::log::Log;
use sordino_host::ledger::CounterPlace;

use super::common;
use super::signals::{Ends, Signals};
use crate::help::serve::{Helping, serve};
use crate::progress::done;

/// Arguments of `help-serve`.
#[derive(Clone, Debug, Args)]
pub struct HelpServe {
    /// Folder for everything that must not be lost, on another machine than the leader's, of
    /// somebody else; start again with the same folder to go on
    folder: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8444")]
    listen: String,
    /// Address at which the leader finds it [default: --listen]
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Take for the leader who has a certificate for sordino:RUN/leader that this authority signed,
    /// its certificate in PEM or DER, and not who shows a token
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Agree to no terms whose releases cost more than this ε together [default: what the terms
    /// say]
    #[arg(long, value_name = "EPSILON")]
    max_epsilon: Option<f64>,
    /// State folder of the ledger's second count, which is in its folder `ledgers`; that of `join`
    /// on this machine, so that both tell of each other [default: $XDG_STATE_HOME/sordino, or
    /// ~/.local/state/sordino]
    #[arg(long, value_name = "DIR")]
    counter: Option<PathBuf>,
    /// Time from a question to its answer: longer than an answer takes, so that the time of the
    /// noise does not show
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = common::duration)]
    delay: Duration,
    /// How long it stays after the last answer, to repeat it
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = common::duration)]
    linger: Duration,
    /// Progress on standard error: lines for people, or JSON objects
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Helps until every release was answered, and for a while longer.
pub fn execute(arguments: &HelpServe) -> Result<ExitCode, CliError> {
    arguments.log.begin();
    let folder = arguments.folder.clone();
    let signals = Signals::of(Ends::Well, move || {
        if folder.exists() {
            let path = folder.display();
            format!("{path} has every answer and its charge: the same command goes on")
        } else {
            "nothing was begun".to_owned()
        }
    })?;
    let epsilon_max = arguments.max_epsilon;
    if epsilon_max.is_some_and(|most| !(most > 0.0 && most.is_finite())) {
        return Err(CliError::input(
            "--max-epsilon: a number above 0 is expected",
        ));
    }
    let counter = match &arguments.counter {
        Some(folder) => CounterPlace::under(folder).map_err(CliError::failure)?,
        None => CounterPlace::of_user().map_err(CliError::failure)?,
    };
    let authority = arguments.ca.as_deref().map(common::authority).transpose()?;
    let listen = arguments.listen.clone();
    let address = arguments.address.clone();
    let delay = arguments.delay;
    let linger = arguments.linger;
    let helping = Helping {
        listen,
        address,
        authority,
        counter,
        epsilon_max,
        delay,
        linger,
    };
    match signals.or_done(serve(&arguments.folder, helping))? {
        ControlFlow::Continue(ended) => ended.map_err(CliError::failure)?,
        ControlFlow::Break(code) => return Ok(code),
    }
    let path = arguments.folder.display();
    let last = format!("done; sordino replay {path} checks it\n");
    print(&last)?;
    done(&last, &arguments.folder);
    Ok(ExitCode::SUCCESS)
}
