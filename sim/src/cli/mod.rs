//! The command line: arguments in, exit code out.
//!
//! | module | command |
//! |---|---|
//! | [`run`] | `sordino run`, and bare `sordino` |
//! | [`sweep`] | `sordino sweep` |
//! | [`list`] | `sordino list` |
//! | [`scenario`] | `sordino scenario`, `sordino init` |
//! | [`report`] | `sordino report` |
//! | `unfinished` | what it says of a folder that is not complete |
//! | [`privacy`] | `sordino privacy` |
//! | [`audit`] | `sordino audit` |
//! | [`reproduce`] | `sordino reproduce` |
//! | [`tune`] | `sordino tune` |
//! | [`handover`] | `sordino serve`, `join` and the others of `sordino-net` |
//! | `print` | results on standard output |
//! | [`error`] | one line for every error, and its exit code |
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 2 usage or bad input,
//! 1 anything else.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod audit;
pub mod compare;
pub mod error;
pub mod handover;
mod interrupt;
pub mod list;
mod print;
pub mod privacy;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod scenario;
pub mod sweep;
pub mod tune;
mod unfinished;

use error::CliError;
pub use print::{Format, print, print_json};

/// Private federated Bayesian optimisation: simulator.
///
/// Without a command: `sordino run default`.
#[derive(Debug, Parser)]
#[command(name = "sordino", version, max_term_width = 100, after_help = handover::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Execute a scenario, print its table, write a run folder
    Run(run::Arguments),
    /// Execute a grid of settings under several seeds, each in a run folder, with an index
    Sweep(sweep::Arguments),
    /// List the scenarios that are compiled in, by trust model (some read data: `--data`)
    List,
    /// What a scenario may say
    Scenario(scenario::Arguments),
    /// Write a scenario to begin with: every key with its meaning; it runs as it stands
    Init(scenario::Init),
    /// Write the page of a run folder or of a sweep: one HTML file that needs no network
    Report(report::Arguments),
    /// Compare run folders over the same functions: paired differences, one picture
    Compare(compare::Arguments),
    /// What releases cost
    Privacy(privacy::Arguments),
    /// Does the shipped release path leak more than claimed? Exit code 1 if so
    Audit(audit::Arguments),
    /// What of the papers comes out: expected, measured, holds
    Reproduce(reproduce::Arguments),
    /// Tune your own training command and publish one private result
    #[command(after_help = tune::PRECONDITION, after_long_help = tune::long_help())]
    Tune(tune::Arguments),
}

/// Executes one command line, the program's name included.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if handover::is_for_net(&arguments) {
        return handover::hand_over(&arguments).report();
    }
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        // Help and version arrive as errors that belong on standard output.
        Err(error) if !error.use_stderr() => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return CliError::usage(&error).report(),
    };
    let result = match parsed.command {
        None => run::execute(&run::Arguments::default()),
        Some(Command::Run(arguments)) => run::execute(&arguments),
        Some(Command::Sweep(arguments)) => sweep::execute(&arguments),
        Some(Command::List) => list::execute(),
        Some(Command::Scenario(arguments)) => scenario::execute(&arguments),
        Some(Command::Init(arguments)) => scenario::init(&arguments),
        Some(Command::Report(arguments)) => report::execute(&arguments),
        Some(Command::Compare(arguments)) => compare::execute(&arguments),
        Some(Command::Privacy(arguments)) => privacy::execute(&arguments),
        Some(Command::Audit(arguments)) => audit::execute(&arguments),
        Some(Command::Reproduce(arguments)) => reproduce::execute(&arguments),
        Some(Command::Tune(arguments)) => tune::execute(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
