//! Who is protected from whom in a scenario of the trust model `output`.

use sordino_experiment::record::Explanation;
use sordino_experiment::scenario::output::{OutputMethod, OutputObjective, OutputScenario};

use super::problem::{compares, worst_case_delta};

/// What no method protects.
const NOT_PROTECTED: &[&str] = &[
    "The training records: they must be public, or disjoint from the scored ones and protected in another way.",
    "The list of candidates, the kernel, its constants: public, and void the guarantee if fitted to the scored records.",
    "That a tuning took place, when, and how long it took.",
    "The model itself, if it is published too: only the choice of candidate and its score are covered.",
];

/// What is published, and what it tells.
pub fn explain(scenario: &OutputScenario) -> Explanation {
    let release = &scenario.release;
    let prior = &scenario.prior;
    let records = scenario.objective.records();
    let range = range(&release.epsilons);
    let mut protected = Vec::new();
    let mut relation = Vec::new();
    let mut cost = Vec::new();
    if compares(scenario, OutputMethod::WorstCase) {
        protected.push(format!(
            "With worst-case: each of the {records} records that the candidates are scored on is protected from every reader \
             of the published candidate and score, whatever the data are."
        ));
        cost.push(format!(
            "worst-case: {range} for candidate and score together, {} of it spent on the score; {}.",
            release.value_share,
            deltas(scenario)
        ));
    }
    if compares(scenario, OutputMethod::PriorConditional) {
        protected.push(
            "With prior-conditional: a record is protected only with high probability over validation functions drawn from \
             the stated Gaussian process. For your own data set it promises nothing."
                .to_owned(),
        );
        cost.push(format!(
            "prior-conditional: {range} at δ = {} for candidate and score together, under the prior; no accountant may add \
             it to other losses.",
            2.0 * prior.delta
        ));
    }
    let open: Vec<&str> = [OutputMethod::Best, OutputMethod::GpUcb]
        .into_iter()
        .filter(|method| compares(scenario, *method))
        .map(OutputMethod::name)
        .collect();
    if !open.is_empty() {
        protected.push(format!(
            "With {}: nobody; candidate and score are published as they are.",
            open.join(", ")
        ));
    }
    if compares(scenario, OutputMethod::Random) {
        protected
            .push("With random: a candidate drawn without looking at any record; nothing needs protection.".to_owned());
    }
    if cost.is_empty() {
        relation.push("None: no method of this scenario is private.".to_owned());
        cost.push("No loss is bounded.".to_owned());
    } else {
        relation.push(format!(
            "Two validation sets of {records} records that differ in one record, replaced by any other; how many there are is \
             public."
        ));
        relation.push(match scenario.objective {
            OutputObjective::GpSample(_) => format!(
                "A score is promised to be a mean over {records} records within its range, so that one moves it by at most \
                 one {records}th: a promise that nothing here can check."
            ),
            OutputObjective::Winequality(_) => "One record changes a candidate's count of right answers by at most 1: \
                 counts are whole numbers, so this is exact."
                .to_owned(),
        });
        if compares(scenario, OutputMethod::PriorConditional) {
            relation.push(format!(
                "prior-conditional also needs that functions of neighbouring sets have covariance at least k₁ = {}: your promise, \
                 checked by nobody.",
                prior.similarity
            ));
        }
    }
    let not_protected = NOT_PROTECTED.iter().map(ToString::to_string).collect();
    Explanation {
        protected,
        relation,
        not_protected,
        cost,
    }
}

fn range(epsilons: &[f64]) -> String {
    match epsilons {
        [one] => format!("ε = {one}"),
        [first, .., last] => format!("ε from {first} to {last}"),
        [] => "ε".to_owned(),
    }
}

/// δ of `worst-case` at every ε, in words, as the releases are charged.
fn deltas(scenario: &OutputScenario) -> String {
    let mut parts: Vec<(String, f64, f64)> = Vec::new();
    for epsilon in &scenario.release.epsilons {
        let said = match worst_case_delta(scenario, *epsilon) {
            Ok(0.0) => "pure (δ = 0)".to_owned(),
            Ok(delta) => format!("δ = {delta:e}"),
            Err(error) => format!("no release ({error})"),
        };
        match parts.last_mut() {
            Some(last) if last.0 == said => last.2 = *epsilon,
            _ => parts.push((said, *epsilon, *epsilon)),
        }
    }
    match parts.as_slice() {
        [(one, ..)] => one.clone(),
        several => several
            .iter()
            .map(|(said, low, high)| {
                if low == high {
                    format!("{said} at ε = {low}")
                } else {
                    format!("{said} from ε = {low} to {high}")
                }
            })
            .collect::<Vec<_>>()
            .join(", "),
    }
}
