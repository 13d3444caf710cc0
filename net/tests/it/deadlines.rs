//! Rounds close at their deadline, whoever has answered; who is absent costs utility and nothing else.

use std::time::{Duration, Instant};

use sordino_net::join::JoinError;

use super::util::{Federation, PATIENCE, ended, runtime, take_part};

/// ε of a ledger, as `replay` tells it.
fn epsilon(said: &str) -> f64 {
    let after = said.split("ε ").nth(1).unwrap();
    after.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn absent_agents_do_not_hold_a_round_and_cost_no_epsilon() {
    const ROUNDS: u32 = 6;
    let run = |name, present: usize| {
        let more = ["--deadline", "400ms", "--linger", "400ms"];
        let federation = Federation::new(name, 4, ROUNDS, &more);
        let start = Instant::now();
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let agents: Vec<_> = invitations[..present]
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        assert!(ended(server).status.success());
        let taken = start.elapsed();
        let given: Vec<usize> = runtime.block_on(async {
            let mut given = Vec::new();
            for agent in agents {
                // The server may be gone before the last question: such an agent would wait for it to come back.
                match tokio::time::timeout(Duration::from_secs(2), agent).await {
                    Ok(joined) => given.push(joined.unwrap().unwrap().given.len()),
                    Err(_elapsed) => {}
                }
            }
            given
        });
        let replay = federation.command("replay");
        let said = String::from_utf8(replay.stdout).unwrap();
        assert!(replay.status.success() && said.contains("broadcasts 6, charges 6"), "{said}");
        (taken, given, epsilon(&said))
    };
    let (taken, given, some) = run("absent", 2);
    // Seven rounds of 400 ms, whoever is absent: not earlier, and not for ever.
    assert!(taken >= Duration::from_millis(7 * 400) && taken < PATIENCE, "{taken:?}");
    assert!(given.iter().all(|rounds| *rounds >= 1), "{given:?}");
    let (_, _, none) = run("nobody", 0);
    assert_eq!(some, none, "who takes part is not what a release costs");
    assert!(some > 0.0);
}

#[test]
fn a_revoked_agent_is_refused_and_the_rest_goes_on() {
    let federation = Federation::new("revoked", 2, 4, &["--deadline", "1500ms", "--linger", "500ms"]);
    let server = federation.serve();
    let invitations = federation.invite();
    let runtime = runtime();
    let agents: Vec<_> =
        invitations.iter().map(|invitation| runtime.spawn(take_part(federation.joining(invitation)))).collect();
    std::thread::sleep(Duration::from_millis(700));
    let folder = federation.place.server().display().to_string();
    let output = super::util::program(&["revoke", &folder, "1"]).output().unwrap();
    assert!(output.status.success());
    let outcome = runtime.block_on(async {
        let mut outcome = Vec::new();
        for agent in agents {
            outcome.push(tokio::time::timeout(PATIENCE, agent).await.map(|joined| joined.unwrap()));
        }
        outcome
    });
    assert!(matches!(&outcome[0], Ok(Ok(joined)) if joined.given.len() == 4), "{outcome:?}");
    match &outcome[1] {
        Ok(Err(JoinError::Agent(error))) => assert!(error.to_string().contains("shut it out"), "{error}"),
        other => panic!("{other:?}"),
    }
    assert!(ended(server).status.success());
    // Its slot is no longer there to enrol with, not even for the key that had it.
    let said = String::from_utf8(federation.command("replay").stdout).unwrap();
    assert!(said.contains("charges 4"), "{said}");
}

#[test]
fn an_agent_stops_by_itself_before_its_own_budget_is_exceeded() {
    let federation = Federation::new("own-budget", 2, 8, &["--deadline", "500ms", "--linger", "300ms"]);
    let mut server = federation.serve();
    let invitation = federation.invite().remove(0);
    let mut joining = federation.joining(&invitation);
    // At q = 0.25, z = 1 and δ = 1e-5 eight rounds cost about twice as much.
    joining.epsilon_max = Some(3.0);
    let refused = runtime().block_on(async { tokio::time::timeout(PATIENCE, take_part(joining)).await.unwrap() });
    match refused {
        Err(JoinError::Agent(error)) => assert!(error.to_string().contains("own budget is spent"), "{error}"),
        other => panic!("{other:?}"),
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
