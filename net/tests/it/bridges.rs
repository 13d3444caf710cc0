//! The bridge as it is used: the server's end and the agents' end are processes of their own, which
//! share a broker alone. Needs mosquitto, a package of Debian.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::brokers::Mosquitto;
use super::util::{
    Federation, PATIENCE, Place, Process, bounded, free_port, program, runtime, take_part,
};

/// One end of a bridge, as `sordino-net bridge` runs it.
fn end(mosquitto: &Mosquitto, side: &str, address: &str) -> Process {
    let broker = format!("127.0.0.1:{}", mosquitto.port);
    let mut command = program(&[
        "bridge", "--broker", &broker, "--bridge", "wards", side, address,
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::start(command)
}

#[test]
fn a_federation_over_two_ends_and_a_broker_between_them() {
    const ROUNDS: u32 = 20;
    bounded(|| {
        let mosquitto = Mosquitto::new("two-ends", "");
        let _broker = mosquitto.start();
        // What invitations name is the agents' end: the server's port is known to the server's end
        // alone.
        let near = format!("127.0.0.1:{}", free_port());
        let more = [
            "--close-early",
            "--deadline",
            "60s",
            "--linger",
            "3s",
            "--address",
            &near,
            "--delay",
            "20ms",
        ];
        let federation = Federation::new("two-ends", 3, ROUNDS, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        assert!(
            invitations
                .iter()
                .all(|invitation| invitation.address == near)
        );
        let door = federation.listens();
        assert_ne!(door, near);
        let mut of_server = end(&mosquitto, "--to", &door);
        let mut of_agents = end(&mosquitto, "--listen", &near);
        let runtime = runtime();
        let agents: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        // Each end dies in the middle, and another one takes its place.
        let last = |count: usize| {
            federation
                .place
                .server()
                .join(format!("frames/{count:06}.frame"))
                .exists()
        };
        for (round, kill_far) in [(3, true), (7, false), (11, true)] {
            let start = Instant::now();
            while !last(round) {
                assert!(
                    start.elapsed() < PATIENCE,
                    "round {round}: {}",
                    federation.heard()
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            if kill_far {
                of_server.kill();
                of_server = end(&mosquitto, "--to", &door);
            } else {
                of_agents.kill();
                of_agents = end(&mosquitto, "--listen", &near);
            }
        }
        let joined: Vec<_> = agents
            .into_iter()
            .map(|agent| {
                let ended = runtime
                    .block_on(async { tokio::time::timeout(PATIENCE, agent).await.unwrap() });
                ended.unwrap().unwrap()
            })
            .collect();
        assert!(server.ended().success(), "{}", federation.heard());
        for agent in &joined {
            assert_eq!(
                (agent.given.len(), agent.chain),
                (ROUNDS as usize, joined[0].chain)
            );
        }
        let said = federation.replay();
        assert!(
            said.contains("frames 21, broadcasts 20, charges 20")
                && said.contains(&joined[0].chain.to_string()),
            "{said}"
        );
        assert!(!of_server.is_over() && !of_agents.is_over());
    });
}

/// A login that was refused, a wrong host and a wrong port were all the same silence.
#[test]
fn a_broker_that_is_not_there_is_told_once() {
    bounded(|| {
        let place = Place::new("no-broker");
        let log = place.0.join("log");
        let broker = format!("127.0.0.1:{}", free_port());
        let mut command = program(&["bridge", "--broker", &broker, "--to", "127.0.0.1:1"]);
        command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap());
        let mut end = Process::start(command);
        let heard = || std::fs::read_to_string(&log).unwrap();
        let start = Instant::now();
        while heard().is_empty() {
            assert!(start.elapsed() < PATIENCE, "nothing is told");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Three more attempts.
        std::thread::sleep(Duration::from_secs(1));
        let said = heard();
        assert!(
            said.contains(&format!(
                "waiting for the broker at {broker}, tried again: "
            )),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!end.is_over());
        end.kill();
    });
}
