//! `sordino privacy explain`: who is protected from whom, in plain words.

use clap::Args;
use serde::Serialize;

use super::super::{print, print_json, run};
use super::{AccountantError, Choice, CliError, Format};
use crate::metrics::release_event;
use crate::model::{Engine, engine};
use crate::record::Explanation;
use crate::scenario::{Guarantee, ObjectiveConfig, Scenario, Trust};
use crate::text::significant;

/// `sordino privacy explain`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// Replace a value of the scenario, as in privacy.noise_multiplier=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The answer: sentences under five questions.
#[derive(Serialize)]
struct Answer {
    scenario: String,
    trust: Trust,
    #[serde(flatten)]
    explanation: Explanation,
    simulation: &'static str,
}

const SIMULATION: &str =
    "Runs of this scenario are simulations: the seed reveals the noise, so what they print is not private.";

/// Prints.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let scenario = run::load(&arguments.scenario, &arguments.settings)?;
    let answer = match engine(scenario) {
        Engine::Rounds(scenario) => federated(&scenario)?,
        Engine::Jobs(experiment) => Answer {
            scenario: experiment.head().name.clone(),
            trust: experiment.head().trust,
            explanation: experiment.explain(),
            simulation: SIMULATION,
        },
    };
    match arguments.format {
        Format::Json => print_json(&answer),
        Format::Text => print(&answer.text()),
    }
}

impl Answer {
    fn text(&self) -> String {
        let mut out = format!("{}: {} ({})\n", self.scenario, self.trust.name(), self.trust.description());
        for (title, sentences) in [
            ("Who is protected from whom", &self.explanation.protected),
            ("Which inputs are compared", &self.explanation.relation),
            ("What is not protected", &self.explanation.not_protected),
            ("What it costs", &self.explanation.cost),
        ] {
            out.push_str(&format!("\n{title}\n"));
            sentences.iter().for_each(|sentence| out.push_str(&format!("  - {sentence}\n")));
        }
        out.push_str(&format!("\n{}\n", self.simulation));
        out
    }
}

fn federated(scenario: &Scenario) -> Result<Answer, CliError> {
    let names = |guarantee: Guarantee| {
        let of: Vec<&str> = scenario
            .federation
            .methods
            .iter()
            .filter(|method| method.guarantee() == guarantee)
            .map(|method| method.name())
            .collect();
        of.join(", ")
    };
    let (private, open, alone) =
        (names(Guarantee::DifferentialPrivacy), names(Guarantee::None), names(Guarantee::NothingReleased));
    let (p, rounds) = (&scenario.privacy, scenario.federation.rounds);
    let mut protected = Vec::new();
    if !private.is_empty() {
        protected.push(format!(
            "With {private}: each of the {} agents, with everything it observed, is protected from the other agents \
             and from every reader of the server's {rounds} broadcasts, whatever else they know.",
            scenario.federation.agents
        ));
        protected.push("Not from the server: it sees the vectors of agents and is trusted.".into());
    }
    if !open.is_empty() {
        protected.push(format!("With {open}: nobody; the server's broadcasts carry no noise."));
    }
    if !alone.is_empty() {
        protected.push(format!("With {alone}: nothing leaves an agent, so nothing needs protection."));
    }
    let relation = if private.is_empty() {
        vec!["None: no method of this scenario is private.".to_owned()]
    } else {
        vec![
            "Zero-out: an agent that takes part against the same agent sending nothing. It keeps its slot and its \
             weights, so the number of agents is public."
                .to_owned(),
            format!(
                "Each agent enters a broadcast with probability {}, in secret; its joint vector is clipped to norm {} \
                 and the noise is {} times the most it can change the sum.",
                p.sampling_probability, p.clipping_norm, p.noise_multiplier
            ),
        ]
    };
    let mut not_protected = vec![
        "That an agent is enrolled, how many there are, their weights and their regions.".to_owned(),
        "An agent's own queries, from whoever evaluates them.".to_owned(),
        "What is true of many agents alike: the broadcasts are meant to tell that.".to_owned(),
        "Which agents were selected, if the server tells; the loss below counts on its secrecy.".to_owned(),
        "Timing: an observer of when messages are sent may learn more.".to_owned(),
    ];
    if matches!(scenario.objective, ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_)) {
        not_protected.push("One record of an agent's data by itself: the unit of protection is the agent.".to_owned());
    }
    let mut cost = Vec::new();
    if private.is_empty() {
        cost.push("No loss is bounded.".to_owned());
    } else {
        for accountant in Choice::ALL {
            let (epsilon, quality) = match accountant.epsilon(&release_event(scenario), rounds, p.delta) {
                Ok(loss) => (format!("ε = {}", significant(loss.epsilon, 4)), loss.quality.name()),
                Err(AccountantError::NoFiniteEpsilon { .. }) => ("no finite ε".to_owned(), "none"),
                Err(error) => return Err(CliError::input(error)),
            };
            let what = match accountant {
                Choice::Pld => quality,
                Choice::Rdp => "looser; what the budget's filter counts",
                Choice::Moments => "loosest; what the paper prints",
            };
            cost.push(format!(
                "{epsilon} at δ = {} after {rounds} releases by {} ({what}).",
                significant(p.delta, 3),
                accountant.name()
            ));
        }
        cost.push("One loss for each method alone: who publishes several pays for each.".to_owned());
        cost.push(match p.max_epsilon {
            Some(most) => format!("A release that would lead beyond ε = {most} is refused before noise is drawn."),
            None => "No budget is set (privacy.max_epsilon): nothing is refused.".to_owned(),
        });
    }
    Ok(Answer {
        scenario: scenario.name.clone(),
        trust: Trust::Federated,
        explanation: Explanation { protected, relation, not_protected, cost },
        simulation: SIMULATION,
    })
}
