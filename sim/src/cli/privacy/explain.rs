//! `sordino privacy explain`: who is protected from whom, in plain words.

use clap::Args;
use serde::Serialize;

use super::super::{print, print_json, run};
use super::{AccountantError, Choice, CliError, Format};
use crate::metrics::spending;
use crate::model::{Engine, engine};
use crate::record::Explanation;
use crate::report::events::shown;
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

/// The methods of one guarantee, by name; of the federated prior or not.
fn names(scenario: &Scenario, guarantee: Guarantee, prior: Option<bool>) -> String {
    let methods = scenario.federation.methods.iter().filter(|method| method.guarantee() == guarantee);
    let of: Vec<&str> = methods
        .filter(|method| prior.is_none_or(|prior| method.is_prior() == prior))
        .map(|method| method.name())
        .collect();
    of.join(", ")
}

fn federated(scenario: &Scenario) -> Result<Answer, CliError> {
    let private = names(scenario, Guarantee::DifferentialPrivacy, None);
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
    let explanation = Explanation {
        protected: protected(scenario, &private),
        relation: relation(scenario, &private),
        not_protected,
        cost: if private.is_empty() { vec!["No loss is bounded.".to_owned()] } else { cost(scenario)? },
    };
    Ok(Answer { scenario: scenario.name.clone(), trust: Trust::Federated, explanation, simulation: SIMULATION })
}

fn protected(scenario: &Scenario, private: &str) -> Vec<String> {
    let mut said = Vec::new();
    if !private.is_empty() {
        said.push(format!(
            "With {private}: each of the {} agents, with everything it observed, is protected from the other agents and \
             from every reader of the server's broadcasts, whatever else they know.",
            scenario.federation.agents
        ));
        said.push("Not from the server: it sees the vectors of agents and is trusted.".into());
    }
    let (open, alone) = (names(scenario, Guarantee::None, None), names(scenario, Guarantee::NothingReleased, None));
    if !open.is_empty() {
        said.push(format!("With {open}: nobody; what the server broadcasts carries no noise that protects anybody."));
    }
    if !alone.is_empty() {
        said.push(format!("With {alone}: nothing leaves an agent, so nothing needs protection."));
    }
    said
}

fn relation(scenario: &Scenario, private: &str) -> Vec<String> {
    if private.is_empty() {
        return vec!["None: no method of this scenario is private.".to_owned()];
    }
    let p = &scenario.privacy;
    let mut said = vec![
        "Zero-out: an agent that takes part against the same agent sending nothing. It keeps its slot and its weights, so \
         the number of agents is public."
            .to_owned(),
    ];
    let sampled = names(scenario, Guarantee::DifferentialPrivacy, Some(false));
    if !sampled.is_empty() {
        said.push(format!(
            "With {sampled}: {} broadcasts. Each agent enters one with probability {}, in secret; its joint vector is \
             clipped to norm {} and the noise is {} times the most it can change the sum.",
            scenario.federation.rounds, p.sampling_probability, p.clipping_norm, p.noise_multiplier
        ));
    }
    let everybody = names(scenario, Guarantee::DifferentialPrivacy, Some(true));
    if let Some(prior) = scenario.prior.as_ref().filter(|_| !everybody.is_empty()) {
        said.push(format!(
            "With {everybody}: {} releases, after the rounds {:?}. Every agent enters each of them; its joint vector is \
             clipped to a norm that follows from earlier releases alone, and the noise is {} times the most it can change \
             the sum.",
            prior.plan.releases.len(),
            prior.plan.releases,
            shown(&prior.noise_multipliers)
        ));
    }
    said
}

/// ε of all releases by every accountant: of the sampled ones, then of the federated prior's.
fn cost(scenario: &Scenario) -> Result<Vec<String>, CliError> {
    let (p, mut said) = (&scenario.privacy, Vec::new());
    for prior in [false, true] {
        let names = names(scenario, Guarantee::DifferentialPrivacy, Some(prior));
        let Some(method) = scenario
            .federation
            .methods
            .iter()
            .find(|method| method.guarantee() == Guarantee::DifferentialPrivacy && method.is_prior() == prior)
        else {
            continue;
        };
        let planned = scenario.prior.as_ref().filter(|_| prior);
        let releases = planned.map_or(scenario.federation.rounds, |prior| prior.plan.releases.len() as u32);
        let (event, count) = spending(scenario, *method, releases);
        for accountant in Choice::ALL {
            let (epsilon, quality) = match accountant.epsilon(&event, count, p.delta) {
                Ok(loss) => (format!("ε = {}", significant(loss.epsilon, 4)), loss.quality.name()),
                Err(AccountantError::NoFiniteEpsilon { .. }) => ("no finite ε".to_owned(), "none"),
                Err(error) => return Err(CliError::input(error)),
            };
            let what = match accountant {
                Choice::Pld => quality,
                Choice::Rdp => "looser; what the budget's filter counts",
                Choice::Moments => "loosest; what the paper prints",
            };
            said.push(format!(
                "{names}: {epsilon} at δ = {} after {releases} releases by {} ({what}).",
                significant(p.delta, 3),
                accountant.name()
            ));
        }
    }
    said.push("One loss for each method alone: who publishes several pays for each.".to_owned());
    said.push(match p.max_epsilon {
        Some(most) => format!("A release that would lead beyond ε = {most} is refused before noise is drawn."),
        None => "No budget is set (privacy.max_epsilon): nothing is refused.".to_owned(),
    });
    Ok(said)
}
