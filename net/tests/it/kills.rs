//! A private server and its agents under kill −9, a folder that is older than its releases, a disk
//! without room.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_core::federated::exchange::{AgentExchange, Agreement, Heard, Millis, Reply, Want};
use sordino_core::federated::shares::PublicKey;
use sordino_core::random::Stream;
use sordino_core::wire::{self, Header, ScalarTag};
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::link::Link;
use sordino_net::rounds::Asked;
use sordino_net::terms::Terms;

use super::deaths::Mortal;
use super::util::{
    Federation, PATIENCE, Process, bounded, copy, holds, program, runtime, take_part, whole_frames,
};

/// A number whose bytes stand in no other file.
const MARK: f32 = f32::from_bits(0x4b1d_5ec7);

/// An agent that uploads marked numbers in every round, and tells the chain it saw in the end.
async fn marked(invitation: Invitation) -> String {
    bare(invitation, None, |header, agreement| {
        let vector = vec![MARK; agreement.protocol.upload_len()];
        let numbers = if header.round < agreement.protocol.epochs() {
            &vector[..]
        } else {
            &[]
        };
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::F32, numbers.len())];
        let used = wire::encode(header, numbers, &mut frame).unwrap();
        frame.truncate(used);
        frame
    })
    .await
}

/// An agent without a machine, which answers every round with the bytes that it is given, and tells
/// the chain it saw in the end.
pub(super) async fn bare(
    invitation: Invitation,
    masks: Option<PublicKey>,
    answer: impl Fn(Header, &Agreement) -> Vec<u8>,
) -> String {
    let tls = Identity::generate()
        .unwrap()
        .client(&invitation.pins)
        .unwrap();
    let mut link = Link::new(
        &invitation.address,
        invitation.deployment,
        tls,
        Duration::from_secs(5),
    );
    while link
        .enrol_with(invitation.slot, invitation.token.as_ref(), masks.as_ref())
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let bytes = loop {
        match link.terms().await {
            Ok(bytes) => break bytes,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let agreement = Terms::from_bytes(&bytes, Some(&invitation.terms))
        .unwrap()
        .agreement;
    let mut exchange = AgentExchange::new(&agreement, invitation.slot);
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
                Ok(Asked::Frame {
                    bytes,
                    current,
                    seal,
                }) => {
                    let (header, payload) = wire::decode(&bytes, 1 << 20).unwrap();
                    let heard = exchange.frame(&header, &payload, current, seal).unwrap();
                    assert!(matches!(heard, Heard::Enter | Heard::Again | Heard::Missed));
                    false
                }
                Ok(Asked::Later { .. }) | Err(_) => true,
                Ok(other) => panic!("{other:?}"),
            },
            Want::Give(header) => {
                match link
                    .give(
                        header.round,
                        invitation.slot,
                        Bytes::from(answer(header, &agreement)),
                    )
                    .await
                {
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
/// The server dies at least so often.
const KILLS: u32 = 40;

/// An agent as a process of its own, whose command measures.
fn agent_process(federation: &Federation, invitation: &Invitation) -> Process {
    let folder = federation.joining(invitation).folder.display().to_string();
    let mut command = program(&[
        "join",
        &invitation.to_string(),
        "--command",
        "echo $SORDINO_X0",
        "--folder",
        &folder,
        "--max-epsilon",
        "100",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::start(command)
}

/// A server with a linger so short that it ends with its agents, and rounds long enough to die in.
fn killable(name: &str, agents: u32, rounds: u32) -> Federation {
    let more = [
        "--close-early",
        "--deadline",
        "60s",
        "--linger",
        "2s",
        "--delay",
        "20ms",
    ];
    Federation::new(name, agents, rounds, &more)
}

#[test]
fn a_server_killed_forty_times_charges_once_tells_one_history_and_stores_no_upload() {
    bounded(|| {
        let federation = killable("kills", 5, ROUNDS);
        let mut server = Mortal::new(|| federation.serve());
        let mut invitations = federation.invite();
        let runtime = runtime();
        // One agent marks its uploads, one is a process that dies as well.
        let marked = runtime.spawn(marked(invitations.remove(0)));
        let mortal = invitations.remove(0);
        let mut agent = Mortal::new(|| agent_process(&federation, &mortal));
        let rest = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))));
        let rest: Vec<_> = rest.collect();
        let mut stream = Stream::from_seed(5);
        let mark = MARK.to_le_bytes();
        // The last frame is left alone: agents that have it are gone.
        let folder = federation.place.server();
        loop {
            // One life in three gets on, the others may end before anybody noticed; death at any
            // moment.
            let gets_on = stream.below(3) == 0;
            let ended = federation.lives(
                ROUNDS,
                gets_on,
                Duration::from_micros(u64::from(stream.below(40_000))),
            );
            if ended {
                break;
            }
            server.dies();
            assert!(
                !holds(&folder, &[mark, mark].concat()),
                "an upload is on the disk"
            );
            if stream.below(2) == 0 {
                agent.falls(Duration::ZERO);
            }
            server.returns();
        }
        let kills = server.kills;
        let chains = runtime.block_on(async {
            let mut chains = vec![
                tokio::time::timeout(PATIENCE, marked)
                    .await
                    .unwrap()
                    .unwrap(),
            ];
            for agent in rest {
                let joined = tokio::time::timeout(PATIENCE, agent)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap();
                assert_eq!(
                    joined.given.len(),
                    ROUNDS as usize,
                    "every round was contributed to once"
                );
                chains.push(joined.chain.to_string());
            }
            chains
        });
        assert!(agent.ended().success());
        let kept = federation.agent(&mortal);
        assert_eq!(
            kept.given(),
            (0..ROUNDS).collect::<Vec<u32>>(),
            "every round, and once"
        );
        assert_eq!(kept.exchange().have().chain.to_string(), chains[0]);
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(chains.iter().all(|chain| *chain == chains[0]), "{chains:?}");
        let said = federation.replay();
        assert!(
            said.contains("frames 41, broadcasts 40, charges 40"),
            "{said} after {kills} kills"
        );
        assert!(said.contains(&chains[0]), "{said}");
        println!("{kills} kills");
        assert!(
            kills >= KILLS,
            "only {kills} kills: the machine is too fast for this test"
        );
        // Negative control of the search.
        std::fs::write(folder.join("frames/x"), [mark, mark].concat()).unwrap();
        assert!(holds(&folder, &[mark, mark].concat()));
    });
}

fn wait_for_frames(federation: &Federation, count: usize) {
    let folder = federation.place.server();
    let start = Instant::now();
    while whole_frames(&folder) < count {
        assert!(
            start.elapsed() < PATIENCE,
            "{} frames: {}",
            whole_frames(&folder),
            federation.heard()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_folder_from_yesterday_is_refused_by_the_ledger_and_by_the_agents() {
    bounded(|| {
        let federation = killable("yesterday", 2, 60);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let agents: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        let folder = federation.place.server();
        let counter = federation.place.0.join("counter");
        wait_for_frames(&federation, 4);
        // Not while it writes: whole files of one moment.
        server.kill();
        let old = federation.place.0.join("old");
        copy(&folder, &old.join("server"));
        copy(&counter, &old.join("counter"));
        let mut server = federation.serve();
        wait_for_frames(&federation, whole_frames(&folder) + 4);
        server.kill();
        // The folder alone: its ledger is older than the second count says.
        std::fs::remove_dir_all(&folder).unwrap();
        copy(&old.join("server"), &folder);
        let said = federation.refused();
        assert!(said.contains("ledger"), "{said}");
        // Folder and second count, everything the machine had: now only the agents know better.
        std::fs::remove_dir_all(&counter).unwrap();
        copy(&old.join("counter"), &counter);
        let said = federation.refused();
        assert!(
            said.contains("its folder is older than what it released"),
            "{said}"
        );
        // It stays so, whoever starts it again and whether an agent asks or not.
        agents.iter().for_each(|agent| agent.abort());
        let said = federation.refused();
        assert!(said.contains("stopped for good"), "{said}");
    });
}

/// An agent that asks only when the restored server has made as many frames again was told "a fork"
/// and gave up; the server went on and said nothing.
#[test]
fn a_folder_from_yesterday_is_known_by_an_agent_that_asks_late() {
    bounded(|| {
        // Rounds close without anybody: both histories are made by the clock.
        let federation =
            Federation::new("late", 2, 400, &["--deadline", "50ms", "--linger", "60s"]);
        let mut server = federation.serve();
        let invitation = federation.invite().remove(0);
        let folder = federation.place.server();
        let counter = federation.place.0.join("counter");
        let runtime = runtime();
        wait_for_frames(&federation, 2);
        server.kill();
        let old = federation.place.0.join("old");
        copy(&folder, &old.join("server"));
        copy(&counter, &old.join("counter"));
        let mut server = federation.serve();
        let agent = runtime.spawn(take_part(federation.joining(&invitation)));
        // Until it has heard what the copy does not know.
        let known = whole_frames(&old.join("server"));
        let start = Instant::now();
        let heard = || federation.agent(&invitation).exchange().have().frames as usize;
        while !federation.has_begun(&invitation) || heard() < known + 3 {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(10));
        }
        agent.abort();
        drop(runtime.block_on(agent));
        server.kill();
        let heard = heard();
        // Keys that were shown since are not what this is about.
        std::fs::copy(
            folder.join("enrolled.jsonl"),
            old.join("server/enrolled.jsonl"),
        )
        .unwrap();
        for (place, from) in [(&folder, "server"), (&counter, "counter")] {
            std::fs::remove_dir_all(place).unwrap();
            copy(&old.join(from), place);
        }
        let server = federation.serve();
        wait_for_frames(&federation, heard + 3);
        let agent = runtime.spawn(take_part(federation.joining(&invitation)));
        assert_eq!(server.ended().code(), Some(1), "{}", federation.heard());
        let said = federation.heard();
        assert!(
            said.contains(&format!(
                "{heard} frames sealed by this server, which has others"
            )),
            "{said}"
        );
        agent.abort();
        let said = federation.refused();
        assert!(said.contains("stopped for good"), "{said}");
    });
}

#[test]
fn nothing_leaves_a_server_that_cannot_write() {
    const ROUNDS: u32 = 12;
    bounded(|| {
        let federation = killable("full", 2, ROUNDS);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let agents: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        wait_for_frames(&federation, 3);
        server.kill();
        let folder = federation.place.server();
        let ledger = folder.join("ledger.jsonl");
        // From here on no file can grow beyond the next kilobyte that the ledger fills, as on a
        // full disk: a write fails in its middle.
        let blocks = std::fs::metadata(&ledger).unwrap().len() / 512 + 1;
        let mut limited = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script, env!("CARGO_BIN_EXE_sordino-net")]);
        let status = federation.serve_as(limited).ended();
        assert_eq!(status.code(), Some(1), "{}", federation.heard());
        let whole = whole_lines(&ledger);
        let kept = whole_frames(&folder);
        assert!(kept < ROUNDS as usize, "it was to stop before its end");
        for invitation in &invitations {
            // Frame 0 tells nothing, every other one a release: each is kept, and was charged
            // before it left.
            let heard = federation.agent(invitation).exchange().have().frames as usize;
            assert!(
                heard <= kept && heard <= whole,
                "{heard} frames heard, {kept} kept, {whole} charges"
            );
        }
        // With room again it goes on, and what was charged was charged once.
        let server = federation.serve();
        let chains = runtime.block_on(async {
            let mut chains = Vec::new();
            for agent in agents {
                let joined = tokio::time::timeout(PATIENCE, agent)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap();
                chains.push(joined.chain);
            }
            chains
        });
        assert!(server.ended().success(), "{}", federation.heard());
        let said = federation.replay();
        assert!(
            said.contains("frames 13, broadcasts 12, charges 12"),
            "{said}"
        );
        assert!(
            chains.iter().all(|chain| said.contains(&chain.to_string())),
            "{said} {chains:?}"
        );
    });
}

/// Lines that were written to their end: the head of a ledger, then a charge each.
fn whole_lines(path: &Path) -> usize {
    std::fs::read(path)
        .unwrap()
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}
