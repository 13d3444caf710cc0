//! What the releases of private methods are, in words: two methods of one ε may pay for quite different events.

use crate::metrics::{Paid, Statistics};
use crate::scenario::{Method, Scenario};
use crate::text::significant;

/// What one method releases, as accountants see it; nothing unless it is private.
pub fn event(scenario: &Scenario, summary: &Statistics, method: Method) -> Option<String> {
    let found = summary.methods.iter().find(|found| found.method == method)?;
    let (releases, _) = (found.releases, found.losses?);
    let scenario = scenario.of(method);
    let Some(prior) = scenario.prior.as_ref().filter(|_| method.is_prior()) else {
        let (q, z) = (scenario.privacy.sampling_probability, scenario.privacy.noise_multiplier);
        return Some(format!(
            "{releases} Gaussian releases of multiplier {}, each of a secret {q} of the agents",
            shown(&[z.value()])
        ));
    };
    let made = prior.noise_multipliers.get(..releases as usize).unwrap_or(&prior.noise_multipliers);
    Some(format!("{releases} Gaussian releases of multiplier {}, each of all agents", shown(made)))
}

/// The events of all private methods, a sentence for each kind.
pub fn sentences(scenario: &Scenario, summary: &Statistics) -> Vec<String> {
    let sentence = |paid: &Paid| {
        let event = event(scenario, summary, *paid.methods.first()?)?;
        let names: Vec<&str> = paid.methods.iter().map(|method| method.name()).collect();
        Some(format!("{}: {event}", names.join(", ")))
    };
    summary.paid.iter().filter_map(sentence).collect()
}

/// One multiplier, or the ends of several.
pub fn shown(multipliers: &[f64]) -> String {
    let low = multipliers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = multipliers.iter().copied().fold(0.0, f64::max);
    let (low, high) = (significant(low, 3), significant(high, 3));
    if low == high { low } else { format!("{low} to {high}") }
}
