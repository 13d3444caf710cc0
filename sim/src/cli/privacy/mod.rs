//! `sordino privacy`: what releases cost, without running anything.
//!
//! | module | question |
//! |---|---|
//! | [`loss`] | `epsilon`, `delta`: one number by one accountant |
//! | [`table`] | `table`: a CSV file of parameters, three accountants beside each row |
//! | [`calibrate`] | `calibrate`: a target gives the third parameter |
//! | [`explain`] | `explain`: who is protected from whom, in plain words |
//! | [`compare`] | `compare`: ε over rounds by every accountant, as a picture |

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, MomentsAccountant, PldAccountant, PrivacySpent, RdpAccountant,
};
use sordino_core::privacy::{Event, NeighboringRelation};

use super::Format;
use super::error::CliError;

pub mod calibrate;
pub mod compare;
pub mod explain;
pub mod loss;
pub mod table;

/// `sordino privacy`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// ε of Poisson-sampled Gaussian releases at a δ
    Epsilon(loss::EpsilonArguments),
    /// δ of Poisson-sampled Gaussian releases at an ε
    Delta(loss::DeltaArguments),
    /// A CSV file with columns q, z, steps, delta: the same rows with the losses appended
    Table(table::Arguments),
    /// What is left out of sampling probability, noise multiplier and rounds, for a target (ε, δ)
    Calibrate(calibrate::Arguments),
    /// Who is protected from whom in a scenario, what is not protected, what it costs
    Explain(explain::Arguments),
    /// Draw ε over rounds for all accountants
    Compare(compare::Arguments),
}

/// Answers.
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

/// The releases that are asked about.
#[derive(Clone, Copy, Debug, Args)]
struct Releases {
    /// Probability with which each agent is selected, in (0, 1]
    #[arg(long, value_name = "Q", value_parser = probability())]
    sampling_probability: f64,
    /// Noise standard deviation over sensitivity, positive
    #[arg(long, value_name = "Z", value_parser = multiplier())]
    noise_multiplier: f64,
    /// Number of releases
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    rounds: u32,
}

impl Releases {
    fn event(&self) -> Event {
        sampled(self.sampling_probability, self.noise_multiplier)
    }
}

fn sampled(sampling_probability: f64, noise_multiplier: f64) -> Event {
    Event::PoissonSampledGaussian {
        sampling_probability,
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// Who adds the losses up: the names that users know. What each can do is core's trait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    /// Privacy-loss distributions: tight, never below the truth
    #[default]
    Pld,
    /// Rényi divergences of fractional orders: what a budget's filter counts
    Rdp,
    /// The paper's: integer orders 2 to 33
    Moments,
}

impl Choice {
    /// The closest first.
    const ALL: [Choice; 3] = [Choice::Pld, Choice::Rdp, Choice::Moments];

    const fn name(self) -> &'static str {
        match self {
            Choice::Pld => "PLD",
            Choice::Rdp => "RDP",
            Choice::Moments => "moments",
        }
    }

    /// The accountant of this name, after so many equal releases.
    fn after(self, event: &Event, rounds: u32) -> Result<Box<dyn Accountant>, AccountantError> {
        let mut accountant: Box<dyn Accountant> = match self {
            Choice::Pld => Box::new(PldAccountant::new()),
            Choice::Rdp => Box::new(RdpAccountant::new()),
            Choice::Moments => Box::new(MomentsAccountant::new()),
        };
        accountant.compose(event, rounds)?;
        Ok(accountant)
    }

    /// ε of equal releases at δ.
    fn epsilon(self, event: &Event, rounds: u32, delta: f64) -> Result<PrivacySpent, AccountantError> {
        self.after(event, rounds)?.epsilon(delta)
    }

    /// δ of equal releases at ε; an upper bound.
    fn delta(self, event: &Event, rounds: u32, epsilon: f64) -> Result<f64, AccountantError> {
        self.after(event, rounds)?.delta(epsilon)
    }
}

type Parser<T> = fn(&str) -> Result<T, String>;

fn in_range(text: &str, low: f64, high: f64, admissible: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (low..=high).contains(&x) => Ok(x),
        _ => Err(format!("admissible: {admissible}")),
    }
}

fn probability() -> Parser<f64> {
    |text| in_range(text, f64::MIN_POSITIVE, 1.0, "a probability in (0, 1]")
}

fn multiplier() -> Parser<f64> {
    |text| in_range(text, 1e-3, 1e6, "a number from 0.001 to 1e6")
}

fn failure() -> Parser<f64> {
    |text| in_range(text, f64::MIN_POSITIVE, 1.0 - f64::EPSILON, "a number in (0, 1)")
}

fn nonnegative() -> Parser<f64> {
    |text| in_range(text, 0.0, 1e6, "a number from 0 to 1e6")
}
