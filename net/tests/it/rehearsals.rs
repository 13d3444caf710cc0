//! The acceptance test: a federation over HTTPS has the digest that `sordino run` prints, on a good
//! and a bad network.

use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_engine::Options as Executing;
use sordino_engine::federated::run;
use sordino_experiment::scenario::{Method, Scenario, Shipped, method};
use sordino_net::rehearsal::{Options, Outcome, rehearse};

use super::util::{Place, bounded, runtime};

pub fn scenario(name: &str, settings: &[&str]) -> Scenario {
    let mut settings: Vec<String> = settings.iter().map(|setting| setting.to_string()).collect();
    settings.push("runs=1".into());
    Shipped::find(name).unwrap().parse(&settings).unwrap()
}

/// What `sordino run` prints for this one method.
pub fn simulated(scenario: &Scenario, method: Method) -> Digest {
    let mut scenario = scenario.clone();
    scenario.federation.methods = vec![method.named()];
    let runs = run(&scenario, &Executing::default(), &()).unwrap();
    let runs: Vec<Digest> = runs
        .iter()
        .map(|run| combine([run.digest].iter()))
        .collect();
    combine(runs.iter())
}

pub fn rehearsed(scenario: &Scenario, method: Method, chaos: bool) -> Outcome {
    let options = Options {
        chaos,
        deadline: Duration::from_secs(120),
        ..Options::default()
    };
    runtime()
        .block_on(rehearse(scenario, method, options))
        .unwrap()
}

#[test]
fn the_firmware_scenario_over_https_is_the_simulator_s_to_the_bit() {
    bounded(|| {
        let scenario = scenario("firmware", &[]);
        let outcome = rehearsed(&scenario, method::DP_FTS_DE, false);
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        // And the one that is checked in, on which Cortex-M agrees.
        let table = include_str!("../../../tests/vectors/simulator.txt");
        assert!(
            table.contains(&format!("{}  firmware", outcome.digest)),
            "{}",
            outcome.digest
        );
        assert_eq!((outcome.agents, outcome.rounds, outcome.cuts), (8, 7, 0));
    });
}

#[test]
fn joint_draws_in_double_precision_and_every_kind_of_release_are_the_simulator_s() {
    bounded(|| {
        let settings = [
            "federation.agents=24",
            "federation.rounds=12",
            "objective.points_per_axis=200",
        ];
        let scenario = scenario("default", &settings);
        let digests = [method::DP_FTS_DE, method::FTS, method::TS].map(|method| {
            let outcome = rehearsed(&scenario, method, false);
            assert_eq!(outcome.digest, simulated(&scenario, method), "{method}");
            outcome.digest
        });
        assert!(digests[0] != digests[1] && digests[1] != digests[2]);
        // Negative control: another number is another digest.
        let other = Scenario {
            seed: scenario.seed + 1,
            ..scenario.clone()
        };
        assert_ne!(
            rehearsed(&other, method::DP_FTS_DE, false).digest,
            digests[0]
        );
        // A budget that ends in the middle: agents go on alone.
        let mut short = scenario;
        short.privacy.max_epsilon = Some(3.0);
        assert_eq!(
            rehearsed(&short, method::DP_FTS_DE, false).digest,
            simulated(&short, method::DP_FTS_DE)
        );
    });
}

#[test]
fn a_network_that_cuts_every_connection_changes_nothing() {
    bounded(|| {
        let scenario = scenario("firmware", &["federation.rounds=12"]);
        let outcome = rehearsed(&scenario, method::DP_FTS_DE, true);
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        assert!(
            outcome.cuts >= 20,
            "only {} connections were cut",
            outcome.cuts
        );
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
        let scenario = scenario("firmware", &["federation.methods=[\"random\"]"]);
        let options = Options::default();
        let refused = runtime()
            .block_on(rehearse(&scenario, method::RANDOM, options))
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("method random: runs in one process only"),
            "{refused}"
        );
        // Of a scenario whose list they are not in, two have no plan, and no command says how many
        // releases that would be.
        for method in [method::VOTE, method::DP_PRIOR] {
            let refused = runtime()
                .block_on(rehearse(&scenario, method, Options::default()))
                .unwrap_err()
                .to_string();
            let remedy = format!("--set 'federation.methods=[\"{}\"]'", method.name());
            assert!(
                refused.contains("no plan of releases") && refused.contains(&remedy),
                "{refused}"
            );
        }
        // A vote is a host's.
        let votes = self::scenario("firmware", &["federation.methods=[\"vote\"]"]);
        let options = Options {
            device: Some("device.bin".into()),
            ..Options::default()
        };
        let refused = runtime()
            .block_on(rehearse(&votes, method::VOTE, options))
            .unwrap_err()
            .to_string();
        assert!(
            refused.starts_with("--device: no machine of a device runs the method vote"),
            "{refused}"
        );
        // A device takes part in one run.
        let several = Scenario {
            runs: 3,
            ..scenario
        };
        let options = Options {
            device: Some("device.bin".into()),
            ..Options::default()
        };
        let refused = runtime()
            .block_on(rehearse(&several, method::DP_FTS_DE, options))
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("this scenario has 3: --set runs=1"),
            "{refused}"
        );
    });
}

/// Three releases after the initial points, then after rounds 4, 8 and 16: epochs without a query,
/// with many, and the last.
const PRIOR: [&str; 5] = [
    "federation.methods=[\"dp-prior\"]",
    "federation.agents=12",
    "federation.rounds=20",
    "objective.points_per_axis=100",
    "prior.points_per_axis=16",
];

#[test]
fn a_federated_prior_is_the_simulator_s_in_both_formats_on_a_bad_network_and_with_deaths() {
    bounded(|| {
        for scalar in ["f64", "f32"] {
            let format = format!("surrogate.scalar=\"{scalar}\"");
            let scenario = scenario("default", &[&PRIOR[..], &[&format]].concat());
            let expected = simulated(&scenario, method::DP_PRIOR);
            let outcome = rehearsed(&scenario, method::DP_PRIOR, scalar == "f32");
            assert_eq!((outcome.digest, outcome.rounds), (expected, 7), "{scalar}");
            assert_eq!(outcome.cuts > 0, scalar == "f32", "{} cuts", outcome.cuts);
        }
        let scenario = scenario("default", &PRIOR);
        let place = Place::new("deaths-prior");
        let options = Options {
            deadline: Duration::from_secs(120),
            deaths: Some(place.0.clone()),
            ..Options::default()
        };
        let outcome = runtime()
            .block_on(rehearse(&scenario, method::DP_PRIOR, options))
            .unwrap();
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_PRIOR));
        assert!(outcome.deaths >= 10, "only {} deaths", outcome.deaths);
        // Negative control: other common draws are another digest.
        let other = Scenario {
            seed: scenario.seed + 1,
            ..scenario.clone()
        };
        assert_ne!(
            rehearsed(&other, method::DP_PRIOR, false).digest,
            outcome.digest
        );
    });
}

#[test]
fn a_budget_that_ends_inside_a_plan_and_two_runs_are_the_simulator_s() {
    bounded(|| {
        let mut short = scenario("default", &PRIOR);
        let plan = short.prior.as_ref().unwrap().plan.epsilon;
        short.privacy.max_epsilon = Some(plan / 2.0);
        let unbounded = scenario("default", &PRIOR);
        let [outcome, whole] = [&short, &unbounded]
            .map(|scenario| rehearsed(scenario, method::DP_PRIOR, false).digest);
        assert_eq!(outcome, simulated(&short, method::DP_PRIOR));
        assert_ne!(outcome, whole);
        // Runs one after the other, as `sordino run` combines them.
        let mut several = unbounded;
        several.runs = 2;
        several.federation.methods = vec![method::DP_PRIOR.named()];
        let runs = run(&several, &Executing::default(), &()).unwrap();
        let expected = combine(
            runs.iter()
                .map(|run| combine([run.digest].iter()))
                .collect::<Vec<_>>()
                .iter(),
        );
        assert_eq!(
            rehearsed(&several, method::DP_PRIOR, false).digest,
            expected
        );
    });
}

#[test]
fn agents_that_die_at_any_moment_change_nothing() {
    bounded(|| {
        let scenario = scenario("firmware", &["federation.rounds=30"]);
        let place = Place::new("deaths");
        let deaths = Some(place.0.clone());
        let options = Options {
            deadline: Duration::from_secs(120),
            deaths,
            ..Options::default()
        };
        let outcome = runtime()
            .block_on(rehearse(&scenario, method::DP_FTS_DE, options))
            .unwrap();
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        println!("{} deaths", outcome.deaths);
        assert!(outcome.deaths >= 10, "only {} deaths", outcome.deaths);
    });
}
