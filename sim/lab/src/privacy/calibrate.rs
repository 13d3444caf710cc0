//! A target (ε, δ) and two of three parameters give the third.

use clap::{Args, ValueEnum};
use serde::Serialize;
use sordino_core::privacy::accountant::pld::calibrate as tight;
use sordino_core::privacy::calibrate::{self, CalibrateError, Target};
use sordino_core::privacy::{Event, NeighboringRelation, SamplingProbability};

use super::asked::{Choice, failure, multiplier, positive, probability, sampled};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::whole;

/// Which accountant the search asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Privacy-loss distributions: less noise for the same ε
    #[default]
    Pld,
    /// Rényi: what a budget's filter charges during a run
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
    /// The accountant that judges what is found.
    pub const fn accountant(self) -> Choice {
        self.solver().accountant
    }

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

/// What is asked for: exactly two of sampling probability, noise multiplier and rounds are given.
#[derive(Clone, Copy, Debug, Args)]
pub struct Question {
    /// ε to stay within, positive
    #[arg(long, value_name = "E", value_parser = positive())]
    pub epsilon: f64,
    /// δ to stay within, in (0, 1)
    #[arg(long, value_name = "D", value_parser = failure())]
    pub delta: f64,
    /// Probability with which each agent is selected; if left out, the largest is found
    #[arg(long, value_name = "Q", value_parser = probability())]
    pub sampling_probability: Option<f64>,
    /// Noise standard deviation over sensitivity; if left out, the smallest is found
    #[arg(long, value_name = "Z", value_parser = multiplier())]
    pub noise_multiplier: Option<f64>,
    /// Number of releases; if left out, the largest is found
    #[arg(long, value_name = "T", value_parser = whole::<u32>(1, 1_000_000_000))]
    pub rounds: Option<u32>,
    /// Accountant whose ε stays within the target
    #[arg(long, value_enum, default_value_t)]
    pub accountant: Search,
}

/// Parameters that meet the target.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer {
    /// Name of the parameter that was left out.
    pub found: &'static str,
    /// The accountant whose ε stays within the target.
    pub accountant: Search,
    /// Probability with which each agent is selected.
    pub sampling_probability: f64,
    /// Noise standard deviation over sensitivity.
    pub noise_multiplier: f64,
    /// Number of releases.
    pub rounds: u32,
    /// δ of all ε here.
    pub delta: f64,
    /// ε that was asked for.
    pub epsilon_target: f64,
    /// ε by Rényi divergences.
    pub epsilon_rdp: f64,
    /// ε by privacy-loss distributions.
    pub epsilon_pld: f64,
    /// Which two inputs are compared.
    pub neighboring_relation: NeighboringRelation,
}

/// The parameter that is left out: its name, and all three, as (name, q, z, rounds).
fn search(question: &Question) -> Result<(&'static str, f64, f64, u32), CliError> {
    let target = Target::new(question.epsilon, question.delta).map_err(CliError::input)?;
    let solver = question.accountant.solver();
    let Question {
        delta,
        sampling_probability,
        noise_multiplier,
        rounds,
        ..
    } = *question;
    match (sampling_probability, noise_multiplier, rounds) {
        (Some(q), None, Some(rounds)) => {
            let probability = SamplingProbability::new(q).map_err(CliError::input)?;
            let z =
                (solver.noise_multiplier)(&target, probability, rounds).map_err(CliError::input)?;
            Ok(("noise_multiplier", q, z, rounds))
        }
        (Some(q), Some(z), None) => {
            let event = sampled(q, z);
            let rounds = (solver.rounds)(&target, &event).map_err(CliError::input)?;
            if rounds == 0 {
                let epsilon = epsilon(solver.accountant, &event, 1, delta)?;
                return Err(CliError::input(format!(
                    "the target cannot be met: one release costs epsilon {epsilon}"
                )));
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

/// ε of so many releases by an accountant.
fn epsilon(by: Choice, event: &Event, rounds: u32, delta: f64) -> Result<f64, CliError> {
    by.epsilon(event, rounds, delta)
        .map(|loss| loss.epsilon)
        .map_err(CliError::input)
}

/// Finds the parameter that is left out, and checks what was found with both accountants.
///
/// **Errors**: not exactly two parameters; a target that cannot be met, with the ε that comes
/// closest.
pub fn find(question: &Question) -> Result<Answer, CliError> {
    let (found, sampling_probability, noise_multiplier, rounds) = search(question)?;
    let Question {
        epsilon: epsilon_target,
        delta,
        accountant,
        ..
    } = *question;
    let event = sampled(sampling_probability, noise_multiplier);
    let epsilon_rdp = epsilon(Choice::Rdp, &event, rounds, delta)?;
    let epsilon_pld = epsilon(Choice::Pld, &event, rounds, delta)?;
    // What is told was checked by another call than the search's.
    let judged = epsilon(accountant.solver().accountant, &event, rounds, delta)?;
    if !(judged <= epsilon_target) {
        return Err(CliError::failure(CalibrateError::Unattainable {
            at: noise_multiplier,
            epsilon: judged,
        }));
    }
    Ok(Answer {
        found,
        accountant,
        sampling_probability,
        noise_multiplier,
        rounds,
        delta,
        epsilon_target,
        epsilon_rdp,
        epsilon_pld,
        neighboring_relation: event.relation(),
    })
}
