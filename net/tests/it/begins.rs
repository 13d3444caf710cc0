//! Nothing begins, and nothing is released or charged, before the agents are there that are needed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::util::{Federation, PATIENCE, bounded, runtime, said, take_part};

/// Several deadlines of the federations below.
const SEVERAL_DEADLINES: Duration = Duration::from_millis(1200);

type Agent = JoinHandle<Result<Joined, JoinError>>;

fn begun(runtime: &Runtime, federation: &Federation, invitation: &Invitation) -> Agent {
    runtime.spawn(take_part(federation.joining(invitation)))
}

/// Waits until the servers have said this.
fn heard(federation: &Federation, what: &str) {
    let start = Instant::now();
    while !federation.heard().contains(what) {
        assert!(start.elapsed() < PATIENCE, "{what}: {}", federation.heard());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn frames(federation: &Federation) -> usize {
    std::fs::read_dir(federation.place.server().join("frames"))
        .unwrap()
        .count()
}

/// A server without agents made and charged all its rounds: "frames 11, charges 10, ε 2.041, done".
#[test]
fn a_server_without_its_agents_begins_no_round_and_charges_nothing() {
    bounded(|| {
        let federation =
            Federation::waiting("alone", 2, 3, &["--deadline", "100ms", "--linger", "2s"]);
        let mut server = federation.serve();
        let invitations = federation.invite();
        heard(
            &federation,
            "0 of 2 agents have joined, the first round begins when 2 have",
        );
        std::thread::sleep(SEVERAL_DEADLINES);
        // Killed while it waits, it waits again.
        server.kill();
        let mut server = federation.serve();
        let runtime = runtime();
        let first = begun(&runtime, &federation, &invitations[0]);
        heard(&federation, "1 of 2 agents have joined");
        std::thread::sleep(SEVERAL_DEADLINES);
        server.kill();
        let server = federation.serve();
        std::thread::sleep(SEVERAL_DEADLINES);
        assert_eq!(
            frames(&federation),
            1,
            "the frame of the first round, which nobody has heard"
        );
        assert!(
            federation.replay().contains("broadcasts 0, charges 0"),
            "{}",
            federation.replay()
        );
        assert!(!first.is_finished());
        // Both are there: now it runs, and charges what it releases.
        let second = begun(&runtime, &federation, &invitations[1]);
        for agent in [first, second] {
            let joined = runtime.block_on(async {
                tokio::time::timeout(PATIENCE, agent)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap()
            });
            assert!(joined.given.contains(&0), "{joined:?}");
        }
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            federation.replay().contains("broadcasts 3, charges 3"),
            "{}",
            federation.replay()
        );
    });
}

/// Agents that have joined and are gone: rounds went on, noised and charged.
#[test]
fn a_release_below_the_public_minimum_is_held() {
    bounded(|| {
        let more = ["--min-agents", "2", "--deadline", "300ms", "--linger", "3s"];
        let federation = Federation::waiting("held", 3, 5, &more);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let stays = begun(&runtime, &federation, &invitations[0]);
        heard(
            &federation,
            "1 of 3 agents have joined, the first round begins when 2 have",
        );
        let leaves = begun(&runtime, &federation, &invitations[1]);
        let start = Instant::now();
        while frames(&federation) < 3 {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(5));
        }
        leaves.abort();
        drop(runtime.block_on(leaves));
        heard(
            &federation,
            "is held: 1 of at least 2 agents have contributed; nothing is released or charged",
        );
        let before = frames(&federation);
        let said = federation.replay();
        assert!(before < 6, "too late to be held: {}", federation.heard());
        std::thread::sleep(SEVERAL_DEADLINES);
        server.kill();
        let server = federation.serve();
        std::thread::sleep(SEVERAL_DEADLINES);
        assert_eq!(
            (frames(&federation), federation.replay()),
            (before, said),
            "nothing was released or charged"
        );
        // It comes back, and the round is released.
        let comes_back = begun(&runtime, &federation, &invitations[1]);
        for agent in [stays, comes_back] {
            runtime.block_on(async {
                tokio::time::timeout(PATIENCE, agent)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap()
            });
        }
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            federation.replay().contains("broadcasts 5, charges 5"),
            "{}",
            federation.replay()
        );
    });
}

/// An answer without numbers counted: a release of noise alone cost as much as one of all.
#[test]
fn agents_that_have_nothing_to_give_do_not_release_a_round() {
    bounded(|| {
        let more = ["--min-agents", "2", "--deadline", "300ms"];
        let federation = Federation::waiting("nothing-to-give", 2, 3, &more);
        let _server = federation.serve();
        let runtime = runtime();
        let agents: Vec<Agent> = [None, Some(1e-6)]
            .into_iter()
            .zip(&federation.invite())
            .map(|(epsilon_max, invitation)| {
                let mut joining = federation.joining(invitation);
                if epsilon_max.is_some() {
                    joining.epsilon_max = epsilon_max;
                }
                runtime.spawn(take_part(joining))
            })
            .collect();
        heard(
            &federation,
            "round 1 is held: 1 of at least 2 agents have contributed; nothing is released or charged",
        );
        std::thread::sleep(SEVERAL_DEADLINES);
        assert!(
            federation.replay().contains("broadcasts 0, charges 0"),
            "{}",
            federation.replay()
        );
        assert!(agents.iter().all(|agent| !agent.is_finished()));
    });
}

#[test]
fn a_federation_begins_at_the_time_that_was_said_and_not_before() {
    bounded(|| {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let at = (now + 4).to_string();
        let more = [
            "--min-agents",
            "0",
            "--begin-at",
            &at,
            "--deadline",
            "50ms",
            "--linger",
            "50ms",
        ];
        let federation = Federation::waiting("at", 2, 2, &more);
        let mut server = federation.serve();
        heard(
            &federation,
            "the first round begins when 0 have, and not before",
        );
        server.kill();
        let server = federation.serve();
        std::thread::sleep(Duration::from_millis(500));
        let charged = federation.replay();
        assert!(server.ended().success(), "{}", federation.heard());
        let ended = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        assert!(
            charged.contains("charges 0") || ended >= now + 4,
            "{charged}"
        );
        assert!(ended >= now + 4, "it began too early");
        // Over, it begins at once.
        assert!(
            federation.replay().contains("charges 2"),
            "{}",
            federation.replay()
        );
    });
}

#[test]
fn an_agent_that_is_shut_out_neither_counts_nor_is_waited_for() {
    bounded(|| {
        let federation =
            Federation::waiting("shut-out", 3, 2, &["--deadline", "200ms", "--linger", "2s"]);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let first = begun(&runtime, &federation, &invitations[0]);
        heard(
            &federation,
            "1 of 3 agents have joined, the first round begins when 3 have",
        );
        let shut_out = begun(&runtime, &federation, &invitations[1]);
        heard(
            &federation,
            "2 of 3 agents have joined, the first round begins when 3 have",
        );
        let folder = federation.place.server().display().to_string();
        assert!(said(&["revoke", &folder, "1"]).status.success());
        heard(
            &federation,
            "1 of 3 agents have joined, the first round begins when 2 have",
        );
        let nobody = said(&["invite", &folder, "--agents", "1"]);
        let told = String::from_utf8_lossy(&nobody.stderr).into_owned();
        assert!(
            nobody.status.success() && nobody.stdout.is_empty(),
            "{nobody:?}"
        );
        assert!(told.contains("agent 1 is shut out, for good"), "{told}");
        std::thread::sleep(SEVERAL_DEADLINES);
        assert!(
            federation.replay().contains("charges 0"),
            "{}",
            federation.replay()
        );
        let last = begun(&runtime, &federation, &invitations[2]);
        for agent in [first, last] {
            runtime.block_on(async {
                tokio::time::timeout(PATIENCE, agent)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap()
            });
        }
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            runtime.block_on(shut_out).unwrap().is_err(),
            "it is told that it was shut out"
        );
        assert!(
            federation.replay().contains("broadcasts 2, charges 2"),
            "{}",
            federation.replay()
        );
    });
}
