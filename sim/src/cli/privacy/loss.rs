//! `sordino privacy epsilon` and `delta`: one number by one accountant.

use clap::Args;
use serde::Serialize;
use sordino_core::privacy::NeighboringRelation;
use sordino_core::privacy::accountant::AccountantError;
use sordino_experiment::text::{percent_at_most, significant_up};

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::{Format, print, print_json};
use sordino_lab::privacy::asked::{Choice, Releases, failure, nonnegative};

/// `sordino privacy epsilon`.
#[derive(Debug, Args)]
pub struct EpsilonArguments {
    #[command(flatten)]
    releases: Releases,
    /// In (0, 1): added to every bound by e^ε; not the probability that the bound fails
    #[arg(long, value_name = "D", value_parser = failure())]
    delta: f64,
    #[command(flatten)]
    how: How,
}

/// `sordino privacy delta`.
#[derive(Debug, Args)]
pub struct DeltaArguments {
    #[command(flatten)]
    releases: Releases,
    /// The ε at which δ is computed, from 0 to 1e6
    #[arg(long, value_name = "E", value_parser = nonnegative())]
    epsilon: f64,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct How {
    /// How the losses are added up
    #[arg(long, value_enum, default_value_t)]
    accountant: Choice,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct EpsilonAnswer {
    epsilon: f64,
    epsilon_between_contributions: Option<f64>,
    best_guess: f64,
    order: Option<f64>,
    accountant: Choice,
    neighboring_relation: NeighboringRelation,
}

#[derive(Serialize)]
struct DeltaAnswer {
    delta: f64,
    epsilon: f64,
    accountant: Choice,
    neighboring_relation: NeighboringRelation,
}

/// Prints ε at the given δ.
pub fn epsilon(arguments: &EpsilonArguments) -> Result<(), CliError> {
    let EpsilonArguments {
        releases,
        delta,
        how,
    } = arguments;
    let event = releases.event();
    let accountant = how
        .accountant
        .after(&event, releases.rounds)
        .map_err(CliError::input)?;
    let loss = accountant.epsilon(*delta).map_err(CliError::input)?;
    let between = match accountant.replace_epsilon(*delta) {
        Ok(spent) => Some(spent.epsilon),
        Err(AccountantError::NoFiniteEpsilon { .. }) => None,
        Err(error) => return Err(CliError::input(error)),
    };
    let guess = accountant.best_guess().map_err(CliError::input)?;
    match how.format {
        Format::Json => print_json(&EpsilonAnswer {
            epsilon: loss.epsilon,
            epsilon_between_contributions: between,
            best_guess: guess,
            order: loss.order,
            accountant: how.accountant,
            neighboring_relation: event.relation(),
        }),
        Format::Text => print(&format!(
            "ε = {} at δ = {delta} ({} accountant{}{}; neighbouring relation \"{}\")\nbetween any two things that an agent may have \
             sent: {}\nthe best guess whether its contributions were used is right at most {} % of the time, \
             where both are as likely beforehand\n",
            significant_up(loss.epsilon, 6),
            how.accountant.name(),
            loss.order
                .map_or(String::new(), |order| format!(", order {order}")),
            if loss.order.is_none() {
                format!(", {}", loss.quality.name())
            } else {
                String::new()
            },
            event.relation(),
            between.map_or("no finite ε".to_owned(), |epsilon| format!(
                "ε = {}",
                significant_up(epsilon, 6)
            )),
            percent_at_most(guess)
        )),
    }
}

/// Prints δ at the given ε.
pub fn delta(arguments: &DeltaArguments) -> Result<(), CliError> {
    let DeltaArguments {
        releases,
        epsilon,
        how,
    } = arguments;
    let event = releases.event();
    let delta = how
        .accountant
        .delta(&event, releases.rounds, *epsilon)
        .map_err(CliError::input)?;
    match how.format {
        Format::Json => print_json(&DeltaAnswer {
            delta,
            epsilon: *epsilon,
            accountant: how.accountant,
            neighboring_relation: event.relation(),
        }),
        Format::Text => print(&format!(
            "δ = {} at ε = {epsilon} ({} accountant; neighbouring relation \"{}\")\n",
            significant_up(delta, 6),
            how.accountant.name(),
            event.relation()
        )),
    }
}
