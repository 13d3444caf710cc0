//! The command line: arguments in, exit code out.
//!
//! | module | command |
//! |---|---|
//! | `server` | `serve`, `invite` |
//! | `upkeep` | `rotate`, `revoke`: of a server, or of a helper |
//! | `help` | `help-serve`: the second of two servers |
//! | `campaign` | what `serve` is told of a campaign |
//! | `settings` | in which settings a folder was begun with others |
//! | `papers` | `replay`, `verify`: what a folder documents |
//! | `promise` | `promise`: what is promised, signed |
//! | `join` | `join`, `terms` |
//! | `status` | `status`: how a federation stands |
//! | `fetch` | `fetch`: the file of a campaign |
//! | `rehearse` | `rehearse` |
//! | `bridge` (feature `mqtt`) | `bridge` |
//! | `common` | what several of them read |
//! | `signals` | what ends them |
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, or a
//! server that SIGTERM ended; 143 another command that SIGTERM ended; 130 ended by Ctrl-C (129, 131
//! by a hangup or a quit); 2 usage or bad input; 1 anything else.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{ended, parsed};

mod audit;
#[cfg(feature = "mqtt")]
mod bridge;
mod campaign;
mod common;
mod fetch;
mod help;
mod join;
mod papers;
mod promise;
mod rehearse;
mod server;
mod settings;
mod signals;
mod status;
mod upkeep;

/// Private federated Bayesian optimisation over a real network.
#[derive(Debug, Parser)]
#[command(name = "sordino-net", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a federation with secret noise; started again, it goes on where it was
    Serve(Box<server::Serve>),
    /// Help a federation of two servers as the second of them; started again, it goes on where it
    /// was
    HelpServe(help::HelpServe),
    /// Print an invitation for each agent
    Invite(server::Invite),
    /// Print what an invitation asks for, before anything is agreed to
    Terms(join::Terms),
    /// Take part in a federation
    Join(join::Join),
    /// Fetch the file of a campaign by its address: no account, no key of one's own
    Fetch(fetch::Fetch),
    /// Print how a federation stands: who has joined, who is missing, what is spent
    Status(status::Status),
    /// Replace the key of a server, or of its helper, with the next one, which invitations or the
    /// helper's address already name
    Rotate(upkeep::Rotate),
    /// Shut an agent out: its slot stays, and counts as zero
    Revoke(upkeep::Revoke),
    /// Check a folder: history, charges and loss of a server, answers and charges of a helper,
    /// queries and uploads of an agent
    Replay(papers::Replay),
    /// Print what a federation promises, signed with the key of its server or helper
    Promise(promise::Promise),
    /// Check the signature of what `promise` printed
    Verify(papers::Verify),
    /// Run a simulated federation over HTTPS on this machine; prints the digest of `sordino run`
    Rehearse(rehearse::Rehearse),
    /// Carry connections between agents and a server over an MQTT 5 broker that need not be trusted
    #[cfg(feature = "mqtt")]
    Bridge(bridge::Bridge),
}

/// The declaration of the command line, against which the documentation's commands are checked.
pub fn program() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

/// Executes one command line, the program's name included.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parsed(arguments) {
        Ok(Arguments { command }) => ended(execute(command)),
        Err(code) => code,
    }
}

/// Executes a command: the exit code of one that may be stopped, or 0.
fn execute(command: Command) -> Result<ExitCode, CliError> {
    let executed = match command {
        Command::Serve(arguments) => return server::serve(&arguments),
        Command::HelpServe(arguments) => return help::execute(&arguments),
        Command::Terms(arguments) => return join::terms(&arguments),
        Command::Join(arguments) => return join::execute(&arguments),
        Command::Fetch(arguments) => return fetch::execute(&arguments),
        Command::Invite(arguments) => server::invite(&arguments),
        Command::Status(arguments) => status::execute(&arguments),
        Command::Rotate(arguments) => upkeep::rotate(&arguments),
        Command::Revoke(arguments) => upkeep::revoke(&arguments),
        Command::Replay(arguments) => papers::replay(&arguments),
        Command::Promise(arguments) => promise::promise(&arguments),
        Command::Verify(arguments) => papers::verify(&arguments),
        Command::Rehearse(arguments) => rehearse::execute(&arguments),
        #[cfg(feature = "mqtt")]
        Command::Bridge(arguments) => bridge::execute(&arguments),
    };
    executed.map(|()| ExitCode::SUCCESS)
}
