//! Who is protected from whom in a scenario of the trust model `federated`.

use sordino_core::privacy::accountant::{Accountant, AccountantError, MomentsAccountant, PldAccountant, RdpAccountant};

use crate::metrics::release_event;
use crate::record::Explanation;
use crate::scenario::{Guarantee, ObjectiveConfig, Scenario};
use crate::text::significant;

/// What the broadcasts of every method promise.
///
/// **Errors**: the accountants'; none for a scenario that was read.
pub fn explain(scenario: &Scenario) -> Result<Explanation, AccountantError> {
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
        for (name, what, mut accountant) in accountants() {
            accountant.compose(&release_event(scenario), rounds)?;
            let (epsilon, quality) = match accountant.epsilon(p.delta) {
                Ok(loss) => (format!("ε = {}", significant(loss.epsilon, 4)), loss.quality.name()),
                Err(AccountantError::NoFiniteEpsilon { .. }) => ("no finite ε".to_owned(), "none"),
                Err(error) => return Err(error),
            };
            cost.push(format!(
                "{epsilon} at δ = {} after {rounds} releases by {name} ({}).",
                significant(p.delta, 3),
                what.unwrap_or(quality)
            ));
        }
        cost.push("One loss for each method alone: who publishes several pays for each.".to_owned());
        cost.push(match p.max_epsilon {
            Some(most) => format!("A release that would lead beyond ε = {most} is refused before noise is drawn."),
            None => "No budget is set (privacy.max_epsilon): nothing is refused.".to_owned(),
        });
    }
    Ok(Explanation { protected, relation, not_protected, cost })
}

/// Names, what is said of them beside their quality, and the accountants.
fn accountants() -> [(&'static str, Option<&'static str>, Box<dyn Accountant>); 3] {
    [
        ("PLD", None, Box::new(PldAccountant::new())),
        ("RDP", Some("looser; what the budget's filter counts"), Box::new(RdpAccountant::new())),
        ("moments", Some("loosest; what the paper prints"), Box::new(MomentsAccountant::new())),
    ]
}
