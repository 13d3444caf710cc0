//! What an agent writes down: it goes on after kill −9, its folder replays, and a folder that was
//! changed does not.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use sordino_core::random::Stream;
use sordino_net::invitation::Invitation;

use super::util::{Federation, PATIENCE, Process, bounded, program, runtime, said, take_part};

/// Rounds of the federation.
const ROUNDS: u32 = 40;
/// The agent dies at least so often.
const KILLS: u32 = 12;

/// An agent as a process, whose command measures something that is never the same twice.
fn agent_process(federation: &Federation, invitation: &Invitation) -> Process {
    let folder = federation.joining(invitation).folder.display().to_string();
    let measure = "echo \"$SORDINO_X0 $(date +%N)\" | awk '{ print $1 + $2 / 1e10 }'";
    let mut command = program(&[
        "join",
        &invitation.to_string(),
        "--command",
        measure,
        "--folder",
        &folder,
        "--max-epsilon",
        "100",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::start(command)
}

fn replay(folder: &Path) -> Output {
    said(&["replay", &folder.display().to_string()])
}

/// What a replay that must fail says.
fn refused(folder: &Path) -> String {
    let output = replay(folder);
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}{says}",
        String::from_utf8_lossy(&output.stdout)
    );
    says
}

#[test]
fn an_agent_that_is_killed_goes_on_and_its_folder_replays() {
    bounded(|| {
        let more = [
            "--close-early",
            "--deadline",
            "60s",
            "--linger",
            "20s",
            "--delay",
            "20ms",
        ];
        let federation = Federation::new("journals", 2, ROUNDS, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let other = runtime.spawn(take_part(federation.joining(&invitations[1])));
        let mortal = &invitations[0];
        let folder = federation.joining(mortal).folder;
        let mut stream = Stream::from_seed(11);
        let mut kills = 0;
        let mut agent = agent_process(&federation, mortal);
        let heard = || {
            if federation.has_begun(mortal) {
                federation.agent(mortal).exchange().have().frames
            } else {
                0
            }
        };
        while kills < KILLS {
            // Every second life gets on; death at any moment.
            let before = heard();
            let start = Instant::now();
            while kills % 2 == 1 && heard() == before && before <= ROUNDS {
                assert!(
                    start.elapsed() < PATIENCE,
                    "the agent does not get on: {}",
                    federation.heard()
                );
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(Duration::from_micros(u64::from(stream.below(60_000))));
            assert!(
                !agent.is_over(),
                "{kills} kills: the federation is too short for this test"
            );
            agent.kill();
            kills += 1;
            agent = agent_process(&federation, mortal);
        }
        assert!(agent.ended().success());
        let chain = runtime
            .block_on(async { tokio::time::timeout(PATIENCE, other).await.unwrap() })
            .unwrap()
            .unwrap()
            .chain;
        assert!(server.ended().success(), "{}", federation.heard());
        let output = replay(&folder);
        let says = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{says}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let frames = ROUNDS + 1;
        let points = ROUNDS + 2;
        let expected = format!(
            "{frames} frames of which 0 were missed, {points} queries and {ROUNDS} uploads"
        );
        assert!(
            says.contains(&expected) && says.contains(&chain.to_string()),
            "{says}"
        );
        // The other agent's replays to another journal with the same history.
        let output = replay(&federation.joining(&invitations[1]).folder);
        assert!(String::from_utf8_lossy(&output.stdout).contains(&chain.to_string()));
        // An agent that is over needs no server, which is gone: the same command tells what it did.
        let again = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, take_part(federation.joining(mortal))).await
        });
        assert_eq!(
            (
                again.unwrap().unwrap().chain,
                uploads_of(&federation, mortal)
            ),
            (chain, ROUNDS as usize)
        );
        changes_are_named(&folder);
    });
}

fn uploads_of(federation: &Federation, invitation: &Invitation) -> usize {
    federation.given(invitation).len()
}

/// Every kind of change, each mended again; the last one cuts the journal off.
fn changes_are_named(folder: &Path) {
    let journal = folder.join("agent.journal");
    let file = folder.join("agent.bin");
    let whole = fs::read_to_string(&journal).unwrap();
    let state = fs::read(&file).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let at = |step: &str| {
        lines
            .iter()
            .position(|line| line.contains(&format!("\"step\":\"{step}\"")))
            .unwrap()
    };
    let written = |lines: Vec<String>| fs::write(&journal, lines.join("\n") + "\n").unwrap();
    let changed = |line: usize, from: &str, to: &str| -> Vec<String> {
        let lines = lines.iter().enumerate();
        lines
            .map(|(i, text)| {
                if i == line {
                    text.replacen(from, to, 1)
                } else {
                    text.to_string()
                }
            })
            .collect()
    };
    // One character of each kind of line: named by the number of the line.
    for (step, from, to) in [
        ("begin", "\"seed\":", "\"seed\":1"),
        ("frame", "\"missed\":false", "\"missed\":true"),
        ("value", "\"value\":", "\"value\":1"),
        ("upload", "\"round\":0", "\"round\":1"),
    ] {
        let line = at(step);
        written(changed(line, from, to));
        let says = refused(folder);
        assert!(
            says.contains(&format!("agent.journal: line {}: ", line + 1)),
            "{step}: {says}"
        );
    }
    // With digests that fit the change: what comes out again differs, or the agent's file counts
    // other lines.
    let line = at("value");
    written(rehashed(&changed(line, "\"value\":", "\"value\":1")));
    let says = refused(folder);
    assert!(
        says.contains("not those beside which the agent's state was stored"),
        "{says}"
    );
    fs::write(&journal, &whole).unwrap();
    // Both files of another moment, and the state alone.
    fs::write(&file, &state[..state.len() - 1]).unwrap();
    assert!(refused(folder).contains("does not decode, or was cut off"));
    fs::remove_file(&file).unwrap();
    assert!(refused(folder).contains("agent.bin"));
    fs::write(&file, &state).unwrap();
    written(
        lines[..lines.len() - 1]
            .iter()
            .map(|line| line.to_string())
            .collect(),
    );
    let says = refused(folder);
    assert!(
        says.contains("it was cut off")
            && says.contains(&format!("ends after line {}", lines.len() - 1)),
        "{says}"
    );
    // Negative control: as it was, it replays.
    fs::write(&journal, &whole).unwrap();
    assert!(replay(folder).status.success());
}

/// The same steps under digests of their own, as somebody writes them who knows how.
fn rehashed(lines: &[String]) -> Vec<String> {
    let place = std::env::temp_dir().join(format!("sordino-net-rehashed-{}", std::process::id()));
    drop(fs::remove_file(&place));
    let mut journal = sordino_net::journal::Journal::resume(&place, Default::default()).unwrap();
    for (i, line) in lines.iter().enumerate() {
        let step =
            sordino_net::journal::parse(&place, i as u32 + 1, &line.as_bytes()[65..]).unwrap();
        journal.write(&step).unwrap();
    }
    journal.flush().unwrap();
    let text = fs::read_to_string(&place).unwrap();
    fs::remove_file(&place).unwrap();
    text.lines().map(String::from).collect()
}

/// An agent that was away missed rounds: its journal says so, and replays.
#[test]
fn rounds_that_were_missed_replay_as_missed() {
    bounded(|| {
        let federation =
            Federation::new("missed", 2, 12, &["--deadline", "150ms", "--linger", "20s"]);
        let mut server = federation.serve();
        let invitation = federation.invite().remove(0);
        let runtime = runtime();
        let folder = federation.joining(&invitation).folder;
        let heard = || federation.agent(&invitation).exchange().have().frames;
        let agent = runtime.spawn(take_part(federation.joining(&invitation)));
        let start = Instant::now();
        while !federation.has_begun(&invitation) || heard() < 2 {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(2));
        }
        agent.abort();
        drop(runtime.block_on(agent));
        let away = heard();
        let frame = |round: u32| {
            federation
                .place
                .server()
                .join(format!("frames/{round:06}.frame"))
        };
        while !frame((away + 3).min(12)).exists() {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(5));
        }
        let joined = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, take_part(federation.joining(&invitation)))
                .await
                .unwrap()
        });
        joined.unwrap();
        server.kill();
        let output = replay(&folder);
        let says = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{says}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let missed: u32 = says
            .split("of which ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(says.contains("13 frames") && missed >= 1, "{says}");
    });
}
