//! Rehearsals of methods whose agents are choosers: the private vote, and methods of another
//! program; and who refuses which.

#[path = "../../../sim/examples/own_method.rs"]
mod example;

use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_engine::Options as Executing;
use sordino_engine::federated::Own;
use sordino_experiment::scenario::{Method, Scenario, method};
use sordino_net::rehearsal::{Options, Outcome, rehearse_own};

use super::rehearsals::{rehearsed, scenario, simulated};
use super::util::{Place, bounded, runtime};

/// A vote among a hundred candidates, and 20 rounds after it.
const VOTE: [&str; 4] = [
    "federation.methods=[\"vote\"]",
    "federation.agents=12",
    "federation.rounds=20",
    "objective.points_per_axis=100",
];

#[test]
fn a_vote_is_the_simulator_s_in_both_formats_with_both_draws_on_a_bad_network_and_with_deaths() {
    bounded(|| {
        let mut digests = Vec::new();
        for (scalar, draw, chaos) in [
            ("f64", "joint", true),
            ("f32", "joint", false),
            ("f64", "features", false),
        ] {
            let [scalar, draw] = [
                format!("surrogate.scalar=\"{scalar}\""),
                format!("surrogate.own_draw=\"{draw}\""),
            ];
            let scenario = scenario("default", &[&VOTE[..], &[&scalar, &draw]].concat());
            let outcome = rehearsed(&scenario, method::VOTE, chaos);
            assert_eq!(
                outcome.digest,
                simulated(&scenario, method::VOTE),
                "{scalar} {draw}"
            );
            // The ballots, then the shares with everything that follows.
            assert_eq!((outcome.agents, outcome.rounds), (12, 2));
            assert_eq!(outcome.cuts > 0, chaos, "{} cuts", outcome.cuts);
            digests.push(outcome.digest);
        }
        assert!(digests[0] != digests[1] && digests[0] != digests[2]);
        let scenario = scenario("default", &VOTE);
        let place = Place::new("deaths-vote");
        let options = Options {
            deadline: Duration::from_secs(120),
            deaths: Some(place.0.clone()),
            ..Options::default()
        };
        let outcome = runtime()
            .block_on(sordino_net::rehearsal::rehearse(
                &scenario,
                method::VOTE,
                options,
            ))
            .unwrap();
        assert_eq!(outcome.digest, digests[0]);
        assert!(outcome.deaths >= 10, "only {} deaths", outcome.deaths);
        // Negative control: other noise on the shares is another digest.
        let other = Scenario {
            seed: scenario.seed + 1,
            ..scenario.clone()
        };
        assert_ne!(rehearsed(&other, method::VOTE, false).digest, digests[0]);
    });
}

/// The agents vote, and hear of no shares: the ballot was not released.
#[test]
fn a_vote_that_the_budget_refuses_is_the_simulator_s() {
    bounded(|| {
        let scenario = scenario("default", &VOTE);
        let mut short = scenario.clone();
        short.privacy.max_epsilon = Some(scenario.prior.as_ref().unwrap().plan.epsilon / 2.0);
        let digest = rehearsed(&short, method::VOTE, false).digest;
        assert_eq!(digest, simulated(&short, method::VOTE));
        assert_ne!(digest, simulated(&scenario, method::VOTE));
    });
}

fn method_of(own: &Own, name: &str) -> Method {
    own.scenario()
        .methods()
        .find(|method| method.name() == name)
        .unwrap()
}

fn rehearsed_own(own: &Own, name: &str, options: Options) -> Outcome {
    let options = Options {
        deadline: Duration::from_secs(120),
        ..options
    };
    runtime()
        .block_on(rehearse_own(own, method_of(own, name), options))
        .unwrap()
}

/// What `sordino run` would print for this one method of a program that uses the library.
fn simulated_own(own: &Own, name: &str) -> Digest {
    let runs = own.results(&Executing::default(), &()).unwrap();
    let of = runs.iter().filter(|run| run.method.name() == name);
    let runs: Vec<Digest> = of.map(|run| combine([run.digest].iter())).collect();
    combine(runs.iter())
}

#[test]
fn a_method_in_one_file_is_rehearsed_by_one_line_on_good_and_bad_networks_and_with_deaths() {
    bounded(|| {
        let small = ["runs=2", "federation.rounds=6", "federation.agents=9"].map(String::from);
        let own = example::own(&small).unwrap();
        let expected = simulated_own(&own, "noisy-rumour");
        let good = rehearsed_own(&own, "noisy-rumour", Options::default());
        assert_eq!(
            (good.digest, good.agents, good.rounds, good.cuts),
            (expected, 9, 2 * 7, 0)
        );
        let bad = rehearsed_own(
            &own,
            "noisy-rumour",
            Options {
                chaos: true,
                ..Options::default()
            },
        );
        assert_eq!(bad.digest, expected);
        assert!(bad.cuts >= 10, "only {} connections were cut", bad.cuts);
        let place = Place::new("deaths-own");
        let dying = Options {
            deaths: Some(place.0.clone()),
            ..Options::default()
        };
        let dead = rehearsed_own(&own, "noisy-rumour", dying);
        assert_eq!(dead.digest, expected);
        assert!(dead.deaths >= 10, "only {} deaths", dead.deaths);
        // The other method, in the other format; two methods are two digests.
        let single = [&small[..], &["surrogate.scalar=\"f32\"".into()]].concat();
        let single = example::own(&single).unwrap();
        let quiet = rehearsed_own(&single, "rumour", Options::default()).digest;
        assert_eq!(quiet, simulated_own(&single, "rumour"));
        assert_ne!(quiet, expected);
        // A method without a server, which the program has itself.
        assert_eq!(
            rehearsed_own(&own, "random", Options::default()).digest,
            simulated_own(&own, "random")
        );
    });
}
