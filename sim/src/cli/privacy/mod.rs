//! `sordino privacy`: what releases cost, without running anything.
//!
//! | module | question |
//! |---|---|
//! | `loss` | `epsilon`, `delta`: one number by one accountant |
//! | `table` | `table`: a CSV file of parameters, three accountants beside each row |
//! | `calibrate` | `calibrate`: a target gives the third parameter |
//! | `explain` | `explain`: who is protected from whom, in plain words |
//! | `compare` | `compare`: ε by every accountant, as a table, and over rounds as a picture |
//!
//! [`asked`](sordino_lab::privacy::asked) holds the arguments that several of them take.

use clap::{Args, Subcommand};

use sordino_experiment::command_line::error::CliError;

mod calibrate;
mod compare;
mod explain;
mod loss;
mod table;

/// `sordino privacy`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Compute ε of Poisson-sampled Gaussian releases at a δ
    Epsilon(loss::EpsilonArguments),
    /// Compute δ of Poisson-sampled Gaussian releases at an ε
    Delta(loss::DeltaArguments),
    /// Append the losses to the rows of a CSV file with columns q, z, steps, delta
    Table(table::Arguments),
    /// Find the one of sampling probability, noise multiplier and rounds that is left out, for a
    /// target (ε, δ)
    Calibrate(calibrate::Arguments),
    /// Explain who is protected from whom in a scenario, what is not protected, and what it costs
    Explain(explain::Arguments),
    /// Compare ε of all accountants after the last release; draw it over rounds
    Compare(compare::Arguments),
}

/// Answers the question that was asked.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.question {
        Question::Epsilon(arguments) => loss::epsilon(arguments),
        Question::Delta(arguments) => loss::delta(arguments),
        Question::Table(arguments) => table::execute(arguments),
        Question::Calibrate(arguments) => calibrate::execute(arguments),
        Question::Explain(arguments) => explain::execute(arguments),
        Question::Compare(arguments) => compare::execute(arguments),
    }
}
