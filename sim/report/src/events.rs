//! What private methods release, in words: two methods with the same ε may pay for quite different
//! events.

use sordino_experiment::metrics::{Paid, SMALL_DELTA, Statistics};
use sordino_experiment::scenario::{Method, Scenario};
use sordino_experiment::text::{percent_at_most, significant, significant_up};

/// What one method releases, as accountants see it; `None` unless it is private.
pub fn event(scenario: &Scenario, statistics: &Statistics, method: Method) -> Option<String> {
    let found = statistics
        .methods
        .iter()
        .find(|found| found.method == method)?;
    let (releases, _) = (found.releases, found.losses?);
    let scenario = scenario.of(method);
    let prior = scenario.prior.as_ref().filter(|_| method.is_prior());
    let planned = scenario.planned(method);
    // A private method skips a release for one reason alone: its budget.
    let most = scenario.privacy.max_epsilon.filter(|_| releases < planned);
    let (count, rest) = match (releases, most) {
        (0, Some(most)) => return Some(format!("no release: the first {}", refused(most, method))),
        (_, Some(most)) => (
            format!("{releases} of {planned}"),
            format!("; the next {}", refused(most, method)),
        ),
        (0, None) => return Some("no release".to_owned()),
        (_, None) => (releases.to_string(), String::new()),
    };
    if method.is_vote() {
        let together = scenario.prior.as_ref().and_then(|prior| prior.together());
        let z = together.map_or(String::new(), |together| shown(&[together.value()]));
        return Some(format!(
            "{count} Gaussian release of multiplier {z}, of one vote of each agent{rest}"
        ));
    }
    if let Some(prior) = scenario.prior.as_ref()
        && method.is_campaign()
    {
        let made = prior
            .campaign
            .get(..releases as usize)
            .unwrap_or(&prior.campaign);
        return Some(format!(
            "{count} Gaussian releases of multiplier {}, each of all agents{rest}",
            shown(made)
        ));
    }
    let Some(prior) = prior else {
        let q = scenario.privacy.sampling_probability;
        let z = scenario.privacy.noise_multiplier;
        let z = shown(&[z.value()]);
        return Some(format!(
            "{count} Gaussian releases of multiplier {z}, each of a secret {q} of the agents{rest}"
        ));
    };
    let made = prior
        .noise_multipliers
        .get(..releases as usize)
        .unwrap_or(&prior.noise_multipliers);
    Some(format!(
        "{count} Gaussian releases of multiplier {}, each of all agents{rest}",
        shown(made)
    ))
}

/// Why a method does not make its next release. Budgets of samples are counted by Rényi
/// divergences, whose ε is larger than the tight one beside this sentence.
fn refused(most: f64, method: Method) -> String {
    let counted = if method.samples() {
        " by Rényi divergences, which count its budget"
    } else {
        ""
    };
    format!("would exceed privacy.max_epsilon = {most}{counted}")
}

/// The events of all private methods, a sentence for each kind; methods with the same plan may
/// differ in their budgets.
pub fn sentences(scenario: &Scenario, statistics: &Statistics) -> Vec<String> {
    let mut said = Vec::new();
    for paid in &statistics.paid {
        let mut found: Vec<(Vec<&str>, String)> = Vec::new();
        for method in &paid.methods {
            let Some(event) = event(scenario, statistics, *method) else {
                continue;
            };
            match found.iter_mut().find(|(_, known)| *known == event) {
                Some((names, _)) => names.push(method.name()),
                None => found.push((vec![method.name()], event)),
            }
        }
        let sentences = found
            .into_iter()
            .map(|(names, event)| format!("{}: {event}", names.join(", ")));
        said.extend(sentences);
    }
    said
}

/// ε between two contributions and the best guess, a sentence for each kind of event.
pub fn between(statistics: &Statistics) -> Vec<String> {
    statistics
        .paid
        .iter()
        .filter_map(|paid| between_of(statistics, paid))
        .collect()
}

/// The sentence of [`between`] for one kind of event.
fn between_of(statistics: &Statistics, paid: &Paid) -> Option<String> {
    let [loss, small] = statistics
        .methods
        .iter()
        .find(|found| paid.methods.contains(&found.method))
        .and_then(|found| found.losses)?;
    let names: Vec<&str> = paid.methods.iter().map(|method| method.name()).collect();
    let at_small = if loss.delta == SMALL_DELTA {
        String::new()
    } else {
        format!(", {} at δ = {SMALL_DELTA:e}", bound(small.between))
    };
    Some(format!(
        "{}: between any two things that an agent may have sent ε is {} at δ = {}{at_small}; the best guess whether its contributions \
         were used is right at most {} % of the time",
        names.join(", "),
        bound(loss.between),
        significant(loss.delta, 3),
        percent_at_most(loss.best_guess)
    ))
}

/// An ε in words, which may have no finite bound.
fn bound(epsilon: Option<f64>) -> String {
    epsilon.map_or("no finite ε".to_owned(), |epsilon| {
        significant_up(epsilon, 3)
    })
}

/// The remark beside a table in which private methods have unequal ε; `None` if their ε are equal.
pub fn unequal(statistics: &Statistics) -> Option<String> {
    let told: Vec<Option<f64>> = statistics
        .methods
        .iter()
        .filter_map(|method| Some(method.losses?[0].tight))
        .collect();
    let one = told.windows(2).all(|pair| match (pair[0], pair[1]) {
        (Some(a), Some(b)) => !((a - b).abs() > 1e-3 * a.max(b)),
        (a, b) => a == b,
    });
    let said = "Private methods of this run differ in ε: a lower regret beside a larger ε was paid for in privacy.";
    (!one).then(|| said.to_owned())
}

/// One multiplier, or the range of several.
pub fn shown(multipliers: &[f64]) -> String {
    let low = multipliers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = multipliers.iter().copied().fold(0.0, f64::max);
    let low = significant(low, 3);
    let high = significant(high, 3);
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}
