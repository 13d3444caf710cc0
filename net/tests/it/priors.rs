//! A federated prior that is served: killed at any moment, counted exactly, and refused where its
//! plan does not fit.

use std::time::Duration;

use sordino_core::privacy::accountant::{Accountant, GaussianAccountant};
use sordino_core::random::Stream;

use super::util::{Federation, PATIENCE, bounded, runtime, said, take_part};

const AGENTS: u32 = 4;
const ROUNDS: u32 = 20;
/// Releases of the usual plan in so many rounds: three after the initial points, then after rounds
/// 4, 8 and 16.
const RELEASES: u32 = 6;
/// ε that all releases of the plan may cost.
const PLAN: f64 = 0.9;
/// What one agent accepts.
const MOST: f64 = 0.6;

fn prior(name: &str, budget: &str) -> Federation {
    let epsilon = format!("prior.epsilon={PLAN}");
    let budget = format!("privacy.max_epsilon={budget}");
    let methods = "federation.methods=[\"dp-prior\"]";
    let mut more = vec![
        "--close-early",
        "--deadline",
        "60s",
        "--linger",
        "2s",
        "--delay",
        "500ms",
    ];
    for setting in [methods, &epsilon, &budget, "prior.points_per_axis=12"] {
        more.extend(["--set", setting]);
    }
    Federation::new(name, AGENTS, ROUNDS, &more)
}

#[test]
fn a_federated_prior_that_is_killed_charges_each_release_once_and_agents_make_all_queries() {
    bounded(|| {
        // Exactly what the plan costs: its last release is not refused.
        let federation = prior("prior-kills", &PLAN.to_string());
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let agents: Vec<_> = invitations
            .iter()
            .enumerate()
            .map(|(index, invitation)| {
                let mut joining = federation.joining(invitation);
                joining.epsilon_max = Some(if index == 0 { MOST } else { PLAN });
                runtime.spawn(take_part(joining))
            })
            .collect();
        // A life ends when one frame more is whole, long before the next can be: the delay is
        // longer than the wait.
        let mut stream = Stream::from_seed(3);
        let mut kills = 0;
        while !federation.lives(
            RELEASES,
            true,
            Duration::from_millis(u64::from(stream.below(60))),
        ) {
            server.kill();
            kills += 1;
            server = federation.serve();
        }
        let mut chains = Vec::new();
        for (index, agent) in agents.into_iter().enumerate() {
            let joined = runtime.block_on(async { tokio::time::timeout(PATIENCE, agent).await });
            let joined = joined.unwrap().unwrap().unwrap();
            assert_eq!(joined.observations, 2 + ROUNDS, "agent {index}");
            let given: Vec<u32> = if index == 0 {
                (0..fitting(&federation)).collect()
            } else {
                (0..RELEASES).collect()
            };
            assert_eq!(joined.given, given, "agent {index}");
            chains.push(joined.chain.to_string());
        }
        assert!(chains.iter().all(|chain| *chain == chains[0]), "{chains:?}");
        assert!(server.ended().success(), "{}", federation.heard());
        let replayed = federation.replay();
        assert!(
            replayed.contains("frames 7, broadcasts 6, charges 6"),
            "{replayed} after {kills} kills"
        );
        assert!(replayed.contains(&chains[0]), "{replayed}");
        for invitation in &invitations {
            let folder = federation.joining(invitation).folder.display().to_string();
            let output = said(&["replay", &folder]);
            let told = String::from_utf8(output.stdout).unwrap();
            assert!(
                output.status.success() && told.contains(&chains[0]),
                "{told}"
            );
        }
        // Frames 0 to 5 each ended a life, unless this thread slept through one.
        assert!(kills >= 3, "only {kills} kills");
    });
}

/// How many of the first releases cost at most [`MOST`], by an accountant of the test.
fn fitting(federation: &Federation) -> u32 {
    let promise = federation.command("promise");
    let promise: serde_json::Value =
        serde_json::from_slice(promise.stdout.split(|byte| *byte == b'\n').next().unwrap())
            .unwrap();
    let multipliers: Vec<f64> =
        serde_json::from_value(promise["noise_multipliers"].clone()).unwrap();
    let delta = promise["delta"].as_f64().unwrap();
    assert_eq!(multipliers.len(), RELEASES as usize);
    // Negative control: the whole plan costs more than the agent accepts, and no more than was
    // promised.
    let whole = cost(&multipliers, delta);
    assert!(
        whole > MOST
            && whole <= PLAN
            && promise["epsilon_of_all_rounds"].as_f64().unwrap() == whole,
        "{whole}"
    );
    (1..=multipliers.len())
        .take_while(|count| cost(&multipliers[..*count], delta) <= MOST)
        .count() as u32
}

fn cost(multipliers: &[f64], delta: f64) -> f64 {
    let mut accountant = GaussianAccountant::new();
    for z in multipliers {
        accountant
            .compose(&sordino_core::federated::prior::event(*z), 1)
            .unwrap();
    }
    accountant.epsilon(delta).unwrap().epsilon
}

#[test]
fn a_plan_that_the_budget_cuts_off_is_refused_with_both_numbers() {
    bounded(|| {
        let federation = prior("prior-plan", "0.8");
        assert_eq!(
            federation.serve().ended().code(),
            Some(2),
            "{}",
            federation.heard()
        );
        let heard = federation.heard();
        let costs = heard
            .split("the plan of 6 releases costs ε = ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let costs: f64 = costs.unwrap().parse().unwrap();
        assert!(
            (0.85..=PLAN).contains(&costs) && heard.contains("more than the budget of ε = 0.8"),
            "{heard}"
        );
    });
}
