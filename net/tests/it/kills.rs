//! A private server under kill −9, and a folder that is older than its releases.

use std::time::Duration;

use bytes::Bytes;
use sordino_core::federated::exchange::{AgentExchange, Heard, Millis, Reply, Want};
use sordino_core::random::Stream;
use sordino_core::wire::{self, ScalarTag};
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::link::Link;
use sordino_net::rounds::Asked;
use sordino_net::terms::Terms;

use super::util::{Federation, PATIENCE, ended, holds, runtime, take_part};

/// A number whose bytes stand in no other file.
const MARK: f32 = f32::from_bits(0x4b1d_5ec7);

/// An agent that uploads marked numbers in every round, and tells the chain it saw in the end.
async fn marked(invitation: Invitation) -> String {
    let tls = Identity::generate().unwrap().client(&invitation.pins).unwrap();
    let mut link = Link::new(&invitation.address, invitation.deployment, tls, Duration::from_secs(5));
    while link.enrol(invitation.slot, &invitation.token).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let bytes = loop {
        match link.terms().await {
            Ok(bytes) => break bytes,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let agreement = Terms::from_bytes(&bytes, Some(&invitation.terms)).unwrap().agreement;
    let mut exchange = AgentExchange::new(&agreement, invitation.slot);
    let last = agreement.config.parameters().rounds;
    let vector = vec![MARK; agreement.config.parameters().feature_count as usize];
    loop {
        let failed = match exchange.want(Millis(0)) {
            Want::Done => return exchange.have().chain.to_string(),
            Want::Refused => panic!("refused"),
            Want::Wait(_) => {
                exchange.later(0, Millis(0));
                true
            }
            Want::Work => {
                exchange.made();
                false
            }
            Want::Ask(have) => match link.ask(&have).await {
                Ok(Asked::Frame { bytes, current, seal }) => {
                    let (header, payload) = wire::decode(&bytes, 1 << 20).unwrap();
                    let heard = exchange.frame(&header, &payload, current, seal).unwrap();
                    assert!(matches!(heard, Heard::Enter | Heard::Again | Heard::Missed));
                    false
                }
                Ok(Asked::Later { .. }) | Err(_) => true,
                Ok(other) => panic!("{other:?}"),
            },
            Want::Give(header) => {
                let numbers = if header.round < last { &vector[..] } else { &[] };
                let mut frame = vec![0; wire::frame_len_max(ScalarTag::F32, numbers.len())];
                let used = wire::encode(header, numbers, &mut frame).unwrap();
                match link.give(header.round, invitation.slot, Bytes::copy_from_slice(&frame[..used])).await {
                    Ok(reply) => {
                        assert_ne!(reply, Reply::NotYou);
                        exchange.told(header.round, reply, Millis(0));
                        false
                    }
                    Err(_) => true,
                }
            }
        };
        if failed {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Rounds of the federation.
const ROUNDS: u32 = 40;

#[test]
fn a_killed_server_charges_once_tells_one_history_and_stores_no_upload() {
    let federation = Federation::new("kills", 5, ROUNDS, &["--close-early", "--deadline", "60s", "--linger", "2s"]);
    let mut server = federation.serve();
    let mut invitations = federation.invite();
    let runtime = runtime();
    let marked = runtime.spawn(marked(invitations.remove(0)));
    let joining: Vec<_> = invitations.iter().map(|invitation| federation.joining(invitation)).collect();
    let agents: Vec<_> = joining.into_iter().map(|joining| runtime.spawn(take_part(joining))).collect();
    let (mut stream, mut kills) = (Stream::from_seed(5), 0);
    let mark = MARK.to_le_bytes();
    let folder = federation.place.server();
    // The last frame is left alone: agents that have it are gone.
    let last = folder.join(format!("frames/{ROUNDS:06}.frame"));
    let frames = || whole_frames(&folder);
    loop {
        // A life of a round or more, so that it gets on, and a death at any moment of the next.
        let (before, start) = (frames(), std::time::Instant::now());
        while frames() == before && !last.exists() {
            assert!(start.elapsed() < PATIENCE, "the server does not get on");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(u64::from(stream.below(40_000))));
        if last.exists() {
            break;
        }
        server.kill().unwrap();
        server.wait().unwrap();
        kills += 1;
        assert!(!holds(&folder, &[mark, mark].concat()), "an upload is on the disk");
        server = federation.serve();
    }
    let chains = runtime.block_on(async {
        let mut chains = vec![tokio::time::timeout(PATIENCE, marked).await.unwrap().unwrap()];
        for agent in agents {
            let joined = tokio::time::timeout(PATIENCE, agent).await.unwrap().unwrap().unwrap();
            assert_eq!(joined.given.len(), ROUNDS as usize, "every round was contributed to once");
            chains.push(joined.chain.to_string());
        }
        chains
    });
    assert!(ended(server).status.success());
    assert!(chains.iter().all(|chain| *chain == chains[0]), "{chains:?}");
    let replay = federation.command("replay");
    let said = String::from_utf8(replay.stdout).unwrap();
    assert!(replay.status.success(), "{said}{}", String::from_utf8_lossy(&replay.stderr));
    assert!(said.contains("frames 41, broadcasts 40, charges 40"), "{said} after {kills} kills");
    assert!(said.contains(&chains[0]), "{said}");
    assert!(!holds(&folder, &[mark, mark].concat()));
    println!("{kills} kills");
    assert!(kills >= 10, "only {kills} kills: the machine is too fast for this test");
    // Negative control of the search.
    std::fs::write(folder.join("frames/x"), [mark, mark].concat()).unwrap();
    assert!(holds(&folder, &[mark, mark].concat()));
}

#[test]
fn a_folder_from_yesterday_is_refused_by_the_ledger_and_by_the_agents() {
    let federation = Federation::new("yesterday", 2, 60, &["--close-early", "--deadline", "60s"]);
    let mut server = federation.serve();
    let invitations = federation.invite();
    let runtime = runtime();
    let agents: Vec<_> =
        invitations.iter().map(|invitation| runtime.spawn(take_part(federation.joining(invitation)))).collect();
    let (folder, counter) = (federation.place.server(), federation.place.0.join("counter"));
    let frames = || whole_frames(&folder);
    let wait_for = |count| {
        let start = std::time::Instant::now();
        while frames() < count {
            assert!(start.elapsed() < PATIENCE, "{} frames", frames());
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    wait_for(4);
    // Not while it writes: whole files of one moment.
    server.kill().unwrap();
    server.wait().unwrap();
    let old = federation.place.0.join("old");
    copy(&folder, &old.join("server"));
    copy(&counter, &old.join("counter"));
    let mut server = federation.serve();
    let before = frames();
    wait_for(before + 4);
    server.kill().unwrap();
    server.wait().unwrap();
    // The folder alone: its ledger is older than the second count says.
    std::fs::remove_dir_all(&folder).unwrap();
    copy(&old.join("server"), &folder);
    let refused = federation.serve_to_end();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("ledger"), "{said}");
    // Folder and second count, everything the machine had: now only the agents know better.
    std::fs::remove_dir_all(&counter).unwrap();
    copy(&old.join("counter"), &counter);
    let refused = federation.serve_to_end();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("its folder is older than what it released"), "{said}");
    agents.iter().for_each(|agent| agent.abort());
}

/// Frames that were kept, not those that are just being written.
fn whole_frames(folder: &std::path::Path) -> usize {
    let files = std::fs::read_dir(folder.join("frames")).unwrap();
    files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "frame")).count()
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &place);
        } else {
            std::fs::copy(&path, &place).unwrap();
        }
    }
}
