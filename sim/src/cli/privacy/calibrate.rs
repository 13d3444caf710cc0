//! `sordino privacy calibrate`: a target (ε, δ) and two of three parameters give the third.

use clap::Args;
use sordino_core::privacy::calibrate::MULTIPLIER_MIN;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::{Format, print, print_json};
use sordino_experiment::text::significant_up;
use sordino_lab::privacy::calibrate::{Answer, Question, find};

/// `sordino privacy calibrate`: what is left out of sampling probability, noise multiplier and
/// rounds is found.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    question: Question,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Finds and prints.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let answer = find(&arguments.question)?;
    if arguments.format == Format::Json {
        return print_json(&answer);
    }
    let Answer {
        sampling_probability: q,
        noise_multiplier: z,
        rounds,
        delta,
        epsilon_target,
        ..
    } = answer;
    // Every digit: a rounded one might miss the target.
    let line = match answer.found {
        "noise_multiplier" if z <= MULTIPLIER_MIN => {
            format!("noise multiplier {z}, the least that is searched")
        }
        "noise_multiplier" => format!("noise multiplier {z}, the smallest"),
        "rounds" => format!("rounds {rounds}, the most"),
        _ => format!("sampling probability {q}, the largest"),
    };
    print(&format!(
        "{line} for ε ≤ {epsilon_target} at δ = {delta} by the {} accountant\nthere ε = {} by RDP, {} by PLD \
         (sampling probability {q}, noise multiplier {z}, rounds {rounds}; neighbouring relation \"{}\")\n",
        answer.accountant.accountant().name(),
        significant_up(answer.epsilon_rdp, 6),
        significant_up(answer.epsilon_pld, 6),
        answer.neighboring_relation
    ))
}
