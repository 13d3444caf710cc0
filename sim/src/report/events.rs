//! What the releases of private methods are, in words: two methods of one ε may pay for quite different events.

use crate::metrics::Statistics;
use crate::scenario::{Method, Scenario};
use crate::text::significant;

/// What one method releases, as accountants see it; nothing unless it is private.
pub fn event(scenario: &Scenario, summary: &Statistics, method: Method) -> Option<String> {
    let found = summary.methods.iter().find(|found| found.method == method)?;
    let (releases, _) = (found.releases, found.losses?);
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
    [false, true]
        .into_iter()
        .filter_map(|prior| {
            let private = summary.methods.iter().filter(|found| found.losses.is_some());
            let of: Vec<Method> = private.map(|found| found.method).filter(|m| m.is_prior() == prior).collect();
            let event = event(scenario, summary, *of.first()?)?;
            let names: Vec<&str> = of.iter().map(|method| method.name()).collect();
            Some(format!("{}: {event}", names.join(", ")))
        })
        .collect()
}

/// One multiplier, or the ends of several.
pub fn shown(multipliers: &[f64]) -> String {
    let low = multipliers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = multipliers.iter().copied().fold(0.0, f64::max);
    let (low, high) = (significant(low, 3), significant(high, 3));
    if low == high { low } else { format!("{low} to {high}") }
}
