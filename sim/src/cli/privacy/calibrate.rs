//! `sordino privacy calibrate`: a target (ε, δ) and two of three parameters give the third.

use clap::{Args, ValueEnum};
use serde::Serialize;
use sordino_core::privacy::accountant::pld::calibrate as tight;
use sordino_core::privacy::calibrate::{self, CalibrateError, Target};
use sordino_core::privacy::{Event, NeighboringRelation, SamplingProbability};

use super::asked::{Choice, failure, in_range, multiplier, probability, sampled};
use crate::cli::error::CliError;
use crate::cli::print::{Format, print, print_json};
use crate::text::significant;

/// Which accountant the search asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Search {
    /// Privacy-loss distributions: less noise for the same ε
    #[default]
    Pld,
    /// Rényi: what a budget filter charges while running
    Rdp,
}

/// Searches for each parameter that may be left out.
struct Solver {
    /// Its answer is judged again by this one.
    accountant: Choice,
    noise_multiplier: fn(&Target, SamplingProbability, u32) -> Result<f64, CalibrateError>,
    rounds: fn(&Target, &Event) -> Result<u32, CalibrateError>,
    sampling_probability: fn(&Target, f64, u32) -> Result<SamplingProbability, CalibrateError>,
}

impl Search {
    const fn solver(self) -> Solver {
        match self {
            Search::Pld => Solver {
                accountant: Choice::Pld,
                noise_multiplier: tight::noise_multiplier,
                rounds: tight::rounds,
                sampling_probability: tight::sampling_probability,
            },
            Search::Rdp => Solver {
                accountant: Choice::Rdp,
                noise_multiplier: calibrate::noise_multiplier,
                rounds: calibrate::rounds,
                sampling_probability: calibrate::sampling_probability,
            },
        }
    }
}

/// `sordino privacy calibrate`: what is left out of sampling probability, noise multiplier and rounds is found.
#[derive(Debug, Args)]
pub struct Arguments {
    /// ε to stay within, positive
    #[arg(long, value_name = "E", value_parser = positive)]
    epsilon: f64,
    /// δ to stay within, in (0, 1)
    #[arg(long, value_name = "D", value_parser = failure())]
    delta: f64,
    /// Probability with which each agent is selected; left out: the largest is found
    #[arg(long, value_name = "Q", value_parser = probability())]
    sampling_probability: Option<f64>,
    /// Noise standard deviation over sensitivity; left out: the smallest is found
    #[arg(long, value_name = "Z", value_parser = multiplier())]
    noise_multiplier: Option<f64>,
    /// Number of releases; left out: the most are found
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    rounds: Option<u32>,
    /// Accountant whose ε stays within the target
    #[arg(long, value_enum, default_value_t)]
    accountant: Search,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn positive(text: &str) -> Result<f64, String> {
    in_range(text, 1e-6, 1e6, "a number from 1e-6 to 1e6")
}

/// Parameters that meet the target.
#[derive(Serialize)]
struct Answer {
    found: &'static str,
    accountant: Search,
    sampling_probability: f64,
    noise_multiplier: f64,
    rounds: u32,
    delta: f64,
    epsilon_target: f64,
    epsilon_rdp: f64,
    epsilon_pld: f64,
    neighboring_relation: NeighboringRelation,
}

/// The parameter that is left out: its name, and all three, as (name, q, z, rounds).
fn search(arguments: &Arguments) -> Result<(&'static str, f64, f64, u32), CliError> {
    let target = Target::new(arguments.epsilon, arguments.delta).map_err(CliError::input)?;
    let probability = |q: f64| SamplingProbability::new(q).map_err(CliError::input);
    let solver = arguments.accountant.solver();
    let Arguments { delta, sampling_probability, noise_multiplier, rounds, .. } = *arguments;
    match (sampling_probability, noise_multiplier, rounds) {
        (Some(q), None, Some(rounds)) => {
            let z = (solver.noise_multiplier)(&target, probability(q)?, rounds).map_err(CliError::input)?;
            Ok(("noise_multiplier", q, z, rounds))
        }
        (Some(q), Some(z), None) => {
            let event = sampled(q, z);
            let rounds = (solver.rounds)(&target, &event).map_err(CliError::input)?;
            if rounds == 0 {
                let epsilon = solver.accountant.epsilon(&event, 1, delta).map_err(CliError::input)?.epsilon;
                return Err(CliError::input(format!("the target cannot be met: one release costs epsilon {epsilon}")));
            }
            Ok(("rounds", q, z, rounds))
        }
        (None, Some(z), Some(rounds)) => {
            let q = (solver.sampling_probability)(&target, z, rounds).map_err(CliError::input)?;
            Ok(("sampling_probability", q.value(), z, rounds))
        }
        _ => Err(CliError::input(
            "exactly two of --sampling-probability, --noise-multiplier and --rounds are given; the third is found",
        )),
    }
}

/// Finds, checks with both accountants, prints.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let (found, q, z, rounds) = search(arguments)?;
    let (solver, delta) = (arguments.accountant.solver(), arguments.delta);
    let event = sampled(q, z);
    let by = |accountant: Choice| {
        accountant.epsilon(&event, rounds, delta).map(|loss| loss.epsilon).map_err(CliError::input)
    };
    let (epsilon_rdp, epsilon_pld) = (by(Choice::Rdp)?, by(Choice::Pld)?);
    // What is printed was checked by another call than the search's.
    let (judged, name) = (by(solver.accountant)?, solver.accountant.name());
    if !(judged <= arguments.epsilon) {
        return Err(CliError::failure(CalibrateError::Unattainable { at: z, epsilon: judged }));
    }
    match arguments.format {
        Format::Json => print_json(&Answer {
            found,
            accountant: arguments.accountant,
            sampling_probability: q,
            noise_multiplier: z,
            rounds,
            delta: arguments.delta,
            epsilon_target: arguments.epsilon,
            epsilon_rdp,
            epsilon_pld,
            neighboring_relation: event.relation(),
        }),
        Format::Text => {
            // Every digit: a rounded one might miss the target.
            let line = match found {
                "noise_multiplier" => format!("noise multiplier {z}, the smallest"),
                "rounds" => format!("rounds {rounds}, the most"),
                _ => format!("sampling probability {q}, the largest"),
            };
            print(&format!(
                "{line} for ε ≤ {} at δ = {} by the {name} accountant\nthere ε = {} by RDP, {} by PLD \
                 (sampling probability {q}, noise multiplier {z}, rounds {rounds}; neighbouring relation \"{}\")\n",
                arguments.epsilon,
                arguments.delta,
                significant(epsilon_rdp, 6),
                significant(epsilon_pld, 6),
                event.relation()
            ))
        }
    }
}
