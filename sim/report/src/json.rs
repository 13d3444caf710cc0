//! The summary of a federation for programs: one object on standard output and in the run folder.

use serde_json::{Map, Value};
use sordino_experiment::metrics::{MethodStatistics, Statistics};
use sordino_experiment::record::{Loss, MethodSummary, Summary};
use sordino_experiment::scenario::Scenario;

use super::curves::told_rounds;
use super::events;

/// The whole output of `sordino run --format json`.
pub fn summary(scenario: &Scenario, statistics: &Statistics, cautions: &[String]) -> Summary {
    let told = told_rounds(scenario.federation.rounds);
    let methods = statistics.methods.iter().map(|method| MethodSummary {
        name: method.method.name().to_owned(),
        digest: Some(method.digest.to_string()),
        guarantee: method.guarantee().name().to_owned(),
        neighboring_relation: method.losses.map(|_| "replace_special".to_owned()),
        measures: vec![
            method
                .curve
                .last()
                .copied()
                .unwrap_or_default()
                .measure("final_regret"),
            method.summed_regret.measure("summed_regret"),
        ],
        regret_at: told
            .iter()
            .filter_map(|t| method.curve.get(*t as usize).map(|at| (*t, at.mean)))
            .collect(),
        losses: method.losses.map_or(Vec::new(), |[at, small]| {
            vec![
                Loss::new("epsilon_pld", at.tight),
                Loss::new("delta", at.delta),
                Loss::new("epsilon_pld_at_1e-5", small.tight),
            ]
        }),
        facts: facts(scenario, statistics, method),
    });
    let cautions = cautions.to_vec();
    Summary {
        cautions,
        ..Summary::new(&scenario.head(), &statistics.digest, methods.collect())
    }
}

/// Four decimals, rounded up: a bound stays one.
pub(super) fn rounded_up(x: f64) -> f64 {
    (x * 1e4).ceil() / 1e4
}

/// What a private method released, what two contributions of one agent can be told apart by
/// (nothing where there is no finite bound), and how often the best guess about one agent is right
/// at most.
fn facts(
    scenario: &Scenario,
    statistics: &Statistics,
    method: &MethodStatistics,
) -> Map<String, Value> {
    let event = events::event(scenario, statistics, method.method)
        .map(|event| ("event".to_owned(), event.into()));
    let told = method.losses.map(|[loss, small]| {
        [
            (
                "epsilon_between_contributions".to_owned(),
                loss.between.map(rounded_up).into(),
            ),
            (
                "epsilon_between_contributions_at_1e-5".to_owned(),
                small.between.map(rounded_up).into(),
            ),
            ("best_guess".to_owned(), rounded_up(loss.best_guess).into()),
        ]
    });
    event
        .into_iter()
        .chain(told.into_iter().flatten())
        .collect()
}
