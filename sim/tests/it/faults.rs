//! The scenario `faults`: the run finishes, the checkers hold, ε is what it is without faults, and
//! regret shows the price.

use sordino_engine::{Options, federated};
use sordino_experiment::metrics::{Paired, Statistics, statistics};
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{Method, Shipped, method};

fn run(settings: &[&str]) -> (Vec<MethodRun>, Statistics) {
    let mut settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    settings.push("runs=6".into());
    let scenario = Shipped::find("faults").unwrap().parse(&settings).unwrap();
    // The checkers are part of the server: an error here is a finding of theirs.
    let results = federated::run(&scenario, &Options::default(), &()).unwrap();
    let summary = statistics(&scenario, &results).unwrap();
    (results, summary)
}

/// Frequencies within four standard errors (level 6e-5 each), and not those of other probabilities.
#[test]
fn faults_cost_utility_and_no_privacy() {
    let (with, with_summary) = run(&[]);
    let (without, without_summary) = run(&["faults.dropout=0", "faults.straggler=0"]);
    assert_eq!(with.len(), without.len());
    for (with, without) in with_summary.methods.iter().zip(&without_summary.methods) {
        assert_eq!(
            (with.releases, with.losses),
            (without.releases, without.losses),
            "{}",
            with.method
        );
        assert_eq!(
            with.losses.is_some(),
            [method::DP_FTS_DE, method::PURE_NOISE].contains(&with.method)
        );
    }
    assert!(without.iter().all(|run| run.faults.is_empty()));
    let of =
        |method: Method, count: fn(&sordino_experiment::world::fault::FaultCounts) -> u32| -> f64 {
            with.iter()
                .filter(|run| run.method == method)
                .flat_map(|run| &run.faults)
                .map(|f| f64::from(count(f)))
                .sum()
        };
    let steps = 6.0 * 30.0 * 60.0;
    let z = |count: f64, n: f64, p: f64| (count - n * p) / (n * p * (1.0 - p)).sqrt();
    let absent = of(method::TS, |faults| faults.absent);
    assert!(
        z(absent, steps, 0.3).abs() < 4.0 && z(absent, steps, 0.33).abs() > 4.0,
        "{absent}"
    );
    let late = of(method::DP_FTS_DE, |faults| faults.late);
    // What misses the deadline arrives in the next round and is refused there: all of it, and
    // nothing else.
    let stale = of(method::DP_FTS_DE, |faults| faults.refused_stale);
    assert!(late > 0.0 && stale == late, "{late} late, {stale} refused");
    // The price, run by run. (Nothing is said of `fts-de`: what it saves or loses is smaller than
    // its spread.)
    for (with, without) in with_summary.methods.iter().zip(&without_summary.methods) {
        let paired = Paired::of(&with.sums, &without.sums);
        let clear = paired.mean > 0.0 && paired.smaller <= 1;
        assert!(
            clear || with.method == method::FTS_DE,
            "{}: {paired:?}",
            with.method
        );
    }
}
