//! Who is protected from whom in a scenario of the trust model `federated`.

use sordino_core::privacy::accountant::{Accountant, AccountantError, MomentsAccountant, PldAccountant, RdpAccountant};

use crate::metrics::spending;
use crate::record::Explanation;
use crate::report::events::shown;
use crate::scenario::{Guarantee, ObjectiveConfig, Scenario};
use crate::text::significant;

/// What the broadcasts of every method promise.
///
/// **Errors**: the accountants'; none for a scenario that was read.
pub fn explain(scenario: &Scenario) -> Result<Explanation, AccountantError> {
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
    Ok(Explanation {
        protected: protected(scenario, &private),
        relation: relation(scenario, &private),
        not_protected,
        cost: if private.is_empty() { vec!["No loss is bounded.".to_owned()] } else { cost(scenario)? },
    })
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
fn cost(scenario: &Scenario) -> Result<Vec<String>, AccountantError> {
    let (p, mut said) = (&scenario.privacy, Vec::new());
    for prior in [false, true] {
        let names = names(scenario, Guarantee::DifferentialPrivacy, Some(prior));
        let mut private =
            scenario.federation.methods.iter().filter(|m| m.guarantee() == Guarantee::DifferentialPrivacy);
        let Some(method) = private.find(|method| method.is_prior() == prior) else {
            continue;
        };
        let planned = scenario.prior.as_ref().filter(|_| prior);
        let releases = planned.map_or(scenario.federation.rounds, |prior| prior.plan.releases.len() as u32);
        let (event, count) = spending(scenario, *method, releases);
        for (name, what, mut accountant) in accountants() {
            accountant.compose(&event, count)?;
            let (epsilon, quality) = match accountant.epsilon(p.delta) {
                Ok(loss) => (format!("ε = {}", significant(loss.epsilon, 4)), loss.quality.name()),
                Err(AccountantError::NoFiniteEpsilon { .. }) => ("no finite ε".to_owned(), "none"),
                Err(error) => return Err(error),
            };
            said.push(format!(
                "{names}: {epsilon} at δ = {} after {releases} releases by {name} ({}).",
                significant(p.delta, 3),
                what.unwrap_or(quality)
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

/// Names, what is said of them beside their quality, and the accountants.
fn accountants() -> [(&'static str, Option<&'static str>, Box<dyn Accountant>); 3] {
    [
        ("PLD", None, Box::new(PldAccountant::new())),
        ("RDP", Some("looser; what the budget's filter counts"), Box::new(RdpAccountant::new())),
        ("moments", Some("loosest; what the paper prints"), Box::new(MomentsAccountant::new())),
    ]
}
