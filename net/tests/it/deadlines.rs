//! Rounds close at their deadline, whoever has answered; who is absent costs utility and nothing
//! else.

use std::fs::File;
use std::time::{Duration, Instant};

use sordino_core::privacy::accountant::RdpAccountant;
use sordino_net::agent::AgentEnd;
use sordino_net::join::JoinError;

use super::util::{Federation, PATIENCE, Process, bounded, program, runtime, said, take_part};

/// ε of a ledger, as `replay` tells it.
fn epsilon(said: &str) -> f64 {
    let after = said.split("ε ").nth(1).unwrap();
    after.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn absent_agents_do_not_hold_a_round_and_cost_no_epsilon() {
    const ROUNDS: u32 = 6;
    const AGENTS: u32 = 10;
    let run = |name, present: usize| {
        let federation = Federation::new(
            name,
            AGENTS,
            ROUNDS,
            &["--deadline", "400ms", "--linger", "400ms"],
        );
        let start = Instant::now();
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let agents: Vec<_> = invitations[..present]
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        assert!(server.ended().success(), "{}", federation.heard());
        let taken = start.elapsed();
        // The server may be gone before somebody's last question; such an agent waits for it to
        // come back.
        agents.iter().for_each(|agent| agent.abort());
        drop(runtime);
        let given = invitations[..present]
            .iter()
            .map(|invitation| federation.given(invitation).len());
        let given: Vec<usize> = given.collect();
        let said = federation.replay();
        assert!(said.contains("broadcasts 6, charges 6"), "{said}");
        (taken, given, epsilon(&said))
    };
    bounded(move || {
        let (taken, given, some) = run("absent", 7);
        // Seven rounds of 400 ms, whoever is absent: not earlier, and not for ever.
        assert!(
            taken >= Duration::from_millis(7 * 400) && taken < PATIENCE,
            "{taken:?}"
        );
        assert!(given.iter().all(|rounds| *rounds >= 1), "{given:?}");
        let (_, _, none) = run("nobody", 0);
        assert_eq!(some, none, "who takes part is not what a release costs");
        assert!(some > 0.0);
    });
}

#[test]
fn a_revoked_agent_is_refused_and_the_rest_goes_on() {
    bounded(|| {
        let federation = Federation::new("revoked", 2, 6, &["--deadline", "1s", "--linger", "5s"]);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let mut agents: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        // The same agent a second time, with the same folder.
        let start = Instant::now();
        while !federation.has_begun(&invitations[0]) {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(10));
        }
        let twice = runtime.block_on(take_part(federation.joining(&invitations[0])));
        assert!(matches!(&twice, Err(JoinError::Busy { .. })), "{twice:?}");
        // Both have given something.
        let start = Instant::now();
        let has_given = |invitation| {
            federation.has_begun(invitation) && !federation.given(invitation).is_empty()
        };
        while !invitations.iter().all(has_given) {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(10));
        }
        let folder = federation.place.server().display().to_string();
        assert!(said(&["revoke", &folder, "1"]).status.success());
        let shut_out = runtime.block_on(tokio_within(agents.remove(1))).unwrap();
        assert!(
            matches!(&shut_out, Err(JoinError::Agent(AgentEnd::Refused))),
            "{shut_out:?}"
        );
        let before = federation.given(&invitations[0]).len();
        let given_before = federation.given(&invitations[1]).len();
        let rest = runtime
            .block_on(tokio_within(agents.remove(0)))
            .unwrap()
            .unwrap();
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(rest.given.len() > before, "the rest goes on");
        assert_eq!(federation.given(&invitations[1]).len(), given_before);
        let said = federation.replay();
        assert!(said.contains("charges 6"), "{said}");
    });
}

async fn tokio_within<R>(task: tokio::task::JoinHandle<R>) -> Result<R, tokio::task::JoinError> {
    tokio::time::timeout(PATIENCE, task)
        .await
        .expect("an end within the patience")
}

#[test]
fn an_agent_contributes_to_no_more_than_its_own_budget_and_goes_on() {
    const ROUNDS: u32 = 8;
    const MOST: f64 = 6.0;
    bounded(|| {
        let federation = Federation::new(
            "own-budget",
            2,
            ROUNDS,
            &["--close-early", "--deadline", "100s", "--linger", "1s"],
        );
        let server = federation.serve();
        let invitations = federation.invite();
        let invitation = &invitations[0];
        let runtime = runtime();
        runtime.spawn(take_part(federation.joining(&invitations[1])));
        let mut joining = federation.joining(invitation);
        joining.epsilon_max = Some(MOST);
        let joined = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, take_part(joining))
                .await
                .unwrap()
        });
        let joined = joined.unwrap();
        assert!(server.ended().success(), "{}", federation.heard());
        assert_eq!(joined.observations, 2 + ROUNDS, "it measures to the end");
        // As many as fit, by an accountant of the test.
        let agreement = federation.terms(invitation).agreement;
        let event = agreement.protocol.event(0).unwrap().unwrap();
        let fit = (1..=ROUNDS).take_while(|rounds| {
            let mut accountant = RdpAccountant::new();
            accountant.compose(&event, *rounds).unwrap();
            accountant
                .epsilon(agreement.announced.delta)
                .unwrap()
                .epsilon
                <= MOST
        });
        let fit = fit.count();
        assert!(
            (1..ROUNDS as usize).contains(&fit),
            "{fit} rounds fit: choose another budget"
        );
        let given = federation.given(invitation);
        assert_eq!(given, (0..fit as u32).collect::<Vec<u32>>());
        // The other one has the budget of the terms, which is larger than eight rounds.
        assert_eq!(
            federation.given(&invitations[1]),
            (0..ROUNDS).collect::<Vec<u32>>()
        );
    });
}

/// 503 with a time to come back ended `join`.
#[test]
fn an_agent_that_is_told_later_comes_back() {
    bounded(|| {
        let federation = Federation::new(
            "later",
            2,
            2,
            &["--close-early", "--deadline", "60s", "--linger", "2s"],
        );
        let server = federation.serve();
        let invitations = federation.invite();
        // A list that the server cannot read: nobody is enrolled while it is so.
        let list = federation.place.server().join("invitations.jsonl");
        let whole = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, format!("{whole}no line\n")).unwrap();
        let runtime = runtime();
        let agents: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!federation.place.server().join("enrolled.jsonl").exists());
        assert!(agents.iter().all(|agent| !agent.is_finished()));
        std::fs::write(&list, whole).unwrap();
        for agent in agents {
            let joined = runtime.block_on(tokio_within(agent)).unwrap().unwrap();
            assert_eq!(joined.given, [0, 1]);
        }
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

/// How many have joined is presence, which the terms make public or not.
#[test]
fn an_agent_says_once_what_it_waits_for() {
    bounded(|| {
        for (early, name) in [(true, "awaited-agents"), (false, "awaited-deadline")] {
            let more: &[&str] = if early {
                &["--deadline", "10m", "--close-early"]
            } else {
                &["--deadline", "10m"]
            };
            let federation = Federation::new(name, 2, 3, more);
            let mut server = federation.serve();
            let line = federation.invite().remove(0).to_string();
            let path = federation.place.0.join("agent.log");
            let folder = federation.place.0.join("agent").display().to_string();
            let mut command = program(&[
                "join",
                &line,
                "--folder",
                &folder,
                "--command",
                "echo 1",
                "--max-epsilon",
                "100",
            ]);
            command.stderr(File::create(&path).unwrap());
            let _agent = Process::start(command);
            let heard = |what: &str, until: &dyn Fn(&str) -> bool| {
                let start = Instant::now();
                loop {
                    let heard = std::fs::read_to_string(&path).unwrap();
                    if until(&heard) {
                        return heard;
                    }
                    assert!(start.elapsed() < PATIENCE, "{what}: {heard}");
                    std::thread::sleep(Duration::from_millis(10));
                }
            };
            let agents = "agent 0: waiting for other agents: 1 of 2 have joined; round 1 closes within 10 min unless it is held for more answers\n";
            let deadline = "agent 0: waiting for the end of round 1, within 10 min unless it is held for more answers\n";
            let (awaited, never) = if early {
                (agents, "the end")
            } else {
                (deadline, "joined")
            };
            heard(awaited, &|heard| heard.contains(awaited));
            // It asks several times in this time: the server sends it away for 200 ms.
            std::thread::sleep(Duration::from_secs(1));
            let said = heard("again", &|_| true);
            assert!(
                said.matches("waiting").count() == 1 && !said.contains(never),
                "{said}"
            );
            server.kill();
            let lost = "waiting for the server at ";
            let said = heard(lost, &|heard| heard.contains(lost));
            assert_eq!(said.matches(lost).count(), 1, "{said}");
        }
    });
}
