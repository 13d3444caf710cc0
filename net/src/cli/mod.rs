//! The command line: arguments in, exit code out.
//!
//! | module | command |
//! |---|---|
//! | `server` | `serve`, `invite`, `revoke` |
//! | `papers` | `replay`, `promise`: what a server's folder says |
//! | `join` | `join` |
//! | `rehearse` | `rehearse` |
//! | `common` | what several of them read |
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 2 usage or bad input, 1
//! anything else.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod common;
mod join;
mod papers;
mod rehearse;
mod server;

/// Private federated Bayesian optimisation over a real network.
#[derive(Debug, Parser)]
#[command(name = "sordino-net", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a federation with secret noise; goes on where it was
    Serve(server::Serve),
    /// Print an invitation for each agent
    Invite(server::Invite),
    /// Take part in a federation
    Join(join::Join),
    /// Shut an agent out: its slot stays and counts as zero
    Revoke(server::Revoke),
    /// Check a server's folder: history, charges, loss
    Replay(papers::Folder),
    /// What a federation promises, signed with the server's key
    Promise(papers::Folder),
    /// Run a simulated federation over HTTPS on this machine; prints the digest of `sordino run`
    Rehearse(rehearse::Rehearse),
}

/// Executes one command line, the program's name included.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        // Help and version arrive as errors that belong on standard output.
        Err(error) => {
            return match error.print() {
                Ok(()) if !error.use_stderr() => ExitCode::SUCCESS,
                _ => ExitCode::from(2),
            };
        }
    };
    let result = match parsed.command {
        Command::Serve(arguments) => server::serve(&arguments),
        Command::Invite(arguments) => server::invite(&arguments),
        Command::Join(arguments) => join::execute(&arguments),
        Command::Revoke(arguments) => server::revoke(&arguments),
        Command::Replay(arguments) => papers::replay(&arguments),
        Command::Promise(arguments) => papers::promise(&arguments),
        Command::Rehearse(arguments) => rehearse::execute(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
