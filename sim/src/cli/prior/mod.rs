//! `sordino prior`: files of what others learned, with an ε written on each.
//!
//! | module | question |
//! |---|---|
//! | `publish` | `publish`: a table of studies becomes a file |
//! | `arguments` | what is asked of it |
//! | `studies` | the table |
//! | `signals` | Ctrl-C and SIGTERM: what is charged is written |
//! | `dry` | `publish --dry-run`: what it would cost |
//! | `file` | the file that is read |
//! | `label` | `show`, `verify`: what a file says, and whether it is whole |
//! | `picture` | what a file believes along each parameter |
//! | `export` | `export`: constants for a device |
//! | [`sordino_host::prior`] | the file |

use clap::{Args, Subcommand};

use sordino_experiment::command_line::error::CliError;

mod arguments;
mod dry;
mod export;
pub mod file;
mod label;
mod picture;
mod publish;
mod signals;
mod studies;

/// `sordino prior`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Make a file of what many studies have in common; each study is protected
    Publish(Box<publish::Arguments>),
    /// Show a file's label: what it is of, who is protected and how far, what it is worth
    Show(label::Show),
    /// Check that a file is whole and its label possible
    Verify(label::Verify),
    /// Print a file as constants for a device: a Rust module, a C header or the numbers alone
    Export(export::Arguments),
}

/// Answers the question that was asked.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.question {
        Question::Publish(arguments) => publish::execute(arguments),
        Question::Show(arguments) => label::show(arguments),
        Question::Verify(arguments) => label::verify(arguments),
        Question::Export(arguments) => export::execute(arguments),
    }
}
