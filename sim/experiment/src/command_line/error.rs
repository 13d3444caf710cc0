//! One line for every error with its causes, and its exit code. Packages above say for their own
//! errors which it is.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::journal::JournalError;
use crate::progress::log::{self, Line, Log};
use crate::scenario::ScenarioError;
use crate::text::chain;
use crate::world::ObjectiveError;

/// Why a command ended early.
#[derive(Debug)]
pub struct CliError {
    code: u8,
    message: String,
}

impl CliError {
    /// Usage or bad input: exit code 2.
    pub fn input(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CliError {
            code: 2,
            message: chain(&*why.into()),
        }
    }

    /// Anything else: exit code 1.
    pub fn failure(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        CliError {
            code: 1,
            message: chain(&*why.into()),
        }
    }

    /// It was interrupted: the exit code is that of the signal, 130 for Ctrl-C and 143 for SIGTERM.
    pub fn interrupted(why: impl Into<Box<dyn Error + Send + Sync>>, code: u8) -> Self {
        CliError {
            code,
            message: chain(&*why.into()),
        }
    }

    /// What clap says about a line for `program` in several lines, as one line.
    pub fn usage(error: &clap::Error, program: &str) -> Self {
        let text = error.to_string();
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let body = lines
            .iter()
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let said: Vec<&str> = body
            .map(|line| line.trim_start_matches("error: "))
            .collect();
        CliError::input(format!("{}; see {program} --help", said.join(" ")))
    }

    /// Whether the input was wrong, rather than anything else.
    pub fn is_input(&self) -> bool {
        self.code == 2
    }

    /// Prints the line and gives the code.
    pub fn report(&self) -> ExitCode {
        let line: Vec<&str> = self.message.lines().map(str::trim).collect();
        let message = line.join(" ");
        match Log::chosen() {
            Log::Json => Line {
                event: "error",
                message: Some(&message),
                ..Line::default()
            }
            .write(),
            Log::Text => log::say(&format!("error: {message}")),
        }
        ExitCode::from(self.code)
    }
}

/// The message with all causes.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ScenarioError> for CliError {
    fn from(error: ScenarioError) -> Self {
        CliError::input(error)
    }
}

impl From<ObjectiveError> for CliError {
    fn from(error: ObjectiveError) -> Self {
        CliError::input(error)
    }
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::OtherScenario { .. }
            | JournalError::OtherData { .. }
            | JournalError::Data { .. } => CliError::input(error),
            error => CliError::failure(error),
        }
    }
}
