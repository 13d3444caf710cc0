//! The acceptance test: a federation over HTTPS has the digest that `sordino run` prints, on a good and a bad network.

use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_net::rehearsal::{Options, Outcome, rehearse};
use sordino_sim::model::Options as Executing;
use sordino_sim::model::federated::run;
use sordino_sim::scenario::{Method, Scenario, Shipped, method};

use super::util::{Place, bounded, runtime};

pub fn scenario(name: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<String> = settings.iter().map(|setting| setting.to_string()).collect();
    Shipped::find(name).unwrap().parse(&settings).unwrap()
}

/// What `sordino run --runs 1` prints for this one method.
pub fn simulated(scenario: &Scenario, method: Method) -> Digest {
    let mut scenario = scenario.clone();
    (scenario.runs, scenario.federation.methods) = (1, vec![method.named()]);
    let runs = run(&scenario, &Executing::default(), &()).unwrap();
    combine([combine(runs.iter().map(|run| &run.digest))].iter())
}

fn rehearsed(scenario: &Scenario, method: Method, chaos: bool) -> Outcome {
    let options = Options { chaos, deadline: Duration::from_secs(120), ..Options::default() };
    runtime().block_on(rehearse(scenario, method, options)).unwrap()
}

#[test]
fn the_firmware_scenario_over_https_is_the_simulator_s_to_the_bit() {
    bounded(|| {
        let scenario = scenario("firmware", &[]);
        let outcome = rehearsed(&scenario, method::DP_FTS_DE, false);
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        // And the one that is checked in, on which Cortex-M agrees.
        let table = include_str!("../../../tests/vectors/simulator.txt");
        assert!(table.contains(&format!("{}  firmware", outcome.digest)), "{}", outcome.digest);
        assert_eq!((outcome.agents, outcome.rounds, outcome.cuts), (8, 7, 0));
    });
}

#[test]
fn joint_draws_in_double_precision_and_every_kind_of_release_are_the_simulator_s() {
    bounded(|| {
        let settings = ["federation.agents=24", "federation.rounds=12", "objective.points_per_axis=200"];
        let scenario = scenario("default", &settings);
        let digests = [method::DP_FTS_DE, method::FTS, method::TS].map(|method| {
            let outcome = rehearsed(&scenario, method, false);
            assert_eq!(outcome.digest, simulated(&scenario, method), "{method}");
            outcome.digest
        });
        assert!(digests[0] != digests[1] && digests[1] != digests[2]);
        // Negative control: another number is another digest.
        let other = Scenario { seed: scenario.seed + 1, ..scenario.clone() };
        assert_ne!(rehearsed(&other, method::DP_FTS_DE, false).digest, digests[0]);
        // A budget that ends in the middle: agents go on alone.
        let mut short = scenario;
        short.privacy.max_epsilon = Some(3.0);
        assert_eq!(rehearsed(&short, method::DP_FTS_DE, false).digest, simulated(&short, method::DP_FTS_DE));
    });
}

#[test]
fn a_network_that_cuts_every_connection_changes_nothing() {
    bounded(|| {
        let scenario = scenario("firmware", &["federation.rounds=12"]);
        let outcome = rehearsed(&scenario, method::DP_FTS_DE, true);
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        assert!(outcome.cuts >= 20, "only {} connections were cut", outcome.cuts);
    });
}

#[test]
fn the_default_scenario_with_all_its_agents_and_rounds_is_the_simulator_s() {
    bounded(|| {
        let scenario = scenario("default", &[]);
        let outcome = rehearsed(&scenario, method::DP_FTS_DE, false);
        assert_eq!((outcome.agents, outcome.rounds), (200, 41));
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
    });
}

#[test]
fn a_method_that_no_carrier_knows_is_refused_by_name() {
    bounded(|| {
        let scenario = scenario("firmware", &[]);
        let options = Options::default();
        let refused = runtime().block_on(rehearse(&scenario, method::DP_PRIOR, options)).unwrap_err();
        assert!(refused.to_string().starts_with("method dp-prior: "), "{refused}");
    });
}

#[test]
fn agents_that_die_at_any_moment_change_nothing() {
    bounded(|| {
        let scenario = scenario("firmware", &["federation.rounds=30"]);
        let place = Place::new("deaths");
        let deaths = Some(place.0.clone());
        let options = Options { deadline: Duration::from_secs(120), deaths, ..Options::default() };
        let outcome = runtime().block_on(rehearse(&scenario, method::DP_FTS_DE, options)).unwrap();
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        println!("{} deaths", outcome.deaths);
        assert!(outcome.deaths >= 10, "only {} deaths", outcome.deaths);
    });
}
