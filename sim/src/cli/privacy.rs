//! `sordino privacy epsilon`: what releases cost, without running anything.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use sordino_core::privacy::accountant::{MomentsAccountant, RdpAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};

use super::error::CliError;
use super::{Format, print, print_json};
use crate::report::significant;

/// `sordino privacy`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Loss of Poisson-sampled Gaussian releases
    Epsilon(EpsilonArguments),
}

#[derive(Debug, Args)]
struct EpsilonArguments {
    /// Probability with which each agent is selected, in (0, 1]
    #[arg(long, value_name = "Q", value_parser = in_range(f64::MIN_POSITIVE, 1.0, "a probability in (0, 1]"))]
    sampling_probability: f64,
    /// Noise standard deviation over sensitivity, positive
    #[arg(long, value_name = "Z", value_parser = in_range(1e-3, 1e6, "a number from 0.001 to 1e6"))]
    noise_multiplier: f64,
    /// Number of releases
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    rounds: u32,
    /// Probability with which the bound may fail, in (0, 1)
    #[arg(long, value_name = "D", value_parser = in_range(f64::MIN_POSITIVE, 1.0 - f64::EPSILON, "a number in (0, 1)"))]
    delta: f64,
    /// How the losses are added up
    #[arg(long, value_enum, default_value_t)]
    accountant: Accountant,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Accountant {
    /// The paper's: integer orders 2 to 33
    Moments,
    /// Rényi divergences of fractional orders
    #[default]
    Rdp,
}

fn in_range(
    low: f64,
    high: f64,
    admissible: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.trim().parse::<f64>() {
        Ok(x) if (low..=high).contains(&x) => Ok(x),
        _ => Err(format!("admissible: {admissible}")),
    }
}

#[derive(Serialize)]
struct Answer {
    epsilon: Option<f64>,
    order: Option<f64>,
    accountant: Accountant,
    neighboring_relation: NeighboringRelation,
}

/// Prints the loss.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let Question::Epsilon(arguments) = &arguments.question;
    let event = Event::PoissonSampledGaussian {
        sampling_probability: arguments.sampling_probability,
        noise_multiplier: arguments.noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let spent = match arguments.accountant {
        Accountant::Moments => {
            let mut accountant = MomentsAccountant::new();
            accountant.compose(&event, arguments.rounds).and_then(|()| accountant.epsilon(arguments.delta))
        }
        Accountant::Rdp => {
            let mut accountant = RdpAccountant::new();
            accountant.compose(&event, arguments.rounds).and_then(|()| accountant.epsilon(arguments.delta))
        }
    }
    .map_err(CliError::input)?;
    let answer = Answer {
        epsilon: Some(spent.epsilon),
        order: spent.order,
        accountant: arguments.accountant,
        neighboring_relation: event.relation(),
    };
    match arguments.format {
        Format::Json => print_json(&answer),
        Format::Text => print(&format!(
            "ε = {} at δ = {} ({} accountant{}; neighbouring relation \"{}\")\n",
            significant(spent.epsilon, 6),
            arguments.delta,
            match arguments.accountant {
                Accountant::Moments => "moments",
                Accountant::Rdp => "RDP",
            },
            spent.order.map_or(String::new(), |order| format!(", order {order}")),
            event.relation()
        )),
    }
}
