//! How every program of this family begins, prints and ends.
//!
//! | module | what it holds |
//! |---|---|
//! | [`error`] | one line for every error, and its exit code |
//! | [`mod@print`] | results on standard output |
//! | [`number`] | numbers among the arguments |
//! | [`chosen`] | the scenario and the method that a command line names |
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 2
//! usage or bad input, 130 after Ctrl-C, 143 after SIGTERM, 1 anything else.

use std::ffi::OsString;
use std::process::{ExitCode, Termination};

use clap::Parser;
use sordino_host::width;

use crate::progress::log;
use crate::world::oracle::tell_failures;

pub mod chosen;
pub mod error;
pub mod number;
pub mod print;

use error::CliError;
pub use print::{Format, print, print_bytes, print_json};

/// Reads a command line, sets the width of vectors from the environment, and says whom failures of
/// an oracle are told to: how every program of this family begins.
///
/// **Errors**: the exit code of a line that was refused, or that asked for help; what there is to
/// say is said.
pub fn parsed<A: Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<A, ExitCode> {
    let parsed = match A::try_parse_from(number::joined(arguments)) {
        Ok(parsed) => parsed,
        // Help and version arrive as errors that belong on standard output.
        Err(error) if !error.use_stderr() => {
            let _ = error.print();
            return Err(ExitCode::SUCCESS);
        }
        Err(error) => return Err(CliError::usage(&error, A::command().get_name()).report()),
    };
    tell_failures(log::note);
    match width::from_environment() {
        Ok(_) => Ok(parsed),
        Err(error) => Err(CliError::input(error).report()),
    }
}

/// Reports an error, and says how the program ends.
pub fn ended(result: Result<impl Termination, CliError>) -> ExitCode {
    match result {
        Ok(done) => done.report(),
        Err(error) => error.report(),
    }
}
