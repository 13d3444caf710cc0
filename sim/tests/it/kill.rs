//! `kill -9` at random moments, `--resume`, and the folder is the one of an uninterrupted run or
//! sweep, byte for byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sordino_core::random::Stream;

use crate::util::{SMALL, charges, files, is_ignored, text};

const KILLS: u32 = 20;
/// How long a process may take to begin, or to end.
const PATIENCE: Duration = Duration::from_secs(180);

const METHODS: &str = "federation.methods=[\"ts\",\"fts-de\",\"dp-fts-de\"]";

/// What is executed, and killed.
struct Case {
    name: &'static str,
    arguments: Vec<&'static str>,
    /// Releases of private methods: charges of all ledgers.
    releases: u64,
}

impl Case {
    fn command(&self, out: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
        command
            .args(&self.arguments)
            .args(["--checkpoint-every", "0", "--resume", "--out"])
            .arg(out);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

fn killed_and_resumed_leaves_the_same_folder(case: &Case) {
    let root: PathBuf =
        std::env::temp_dir().join(format!("sordino-kill-{}-{}", case.name, std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    let whole = root.join("whole");
    let started = std::time::Instant::now();
    assert!(case.command(&whole).status().unwrap().success());
    let length = started.elapsed();
    let expected = files(&whole);
    let ledgers = expected
        .iter()
        .filter(|(path, _)| path.ends_with("ledger.jsonl"));
    let charges: u64 = ledgers.map(|(_, ledger)| charges(text(ledger))).sum();
    assert_eq!(
        charges, case.releases,
        "every release is charged exactly once"
    );
    let mut moments = Stream::from_seed(3);
    let mut kills = 0;
    let mut attempt = 0;
    while kills < KILLS {
        attempt += 1;
        let folder = root.join(format!("killed-{attempt}"));
        // A few kills in one folder, at moments within the length of a whole run, then to the end.
        for _ in 0..4 {
            let mut child = case.command(&folder).spawn().unwrap();
            std::thread::sleep(
                length
                    .mul_f64(0.9 * moments.unit::<f64>())
                    .max(Duration::from_millis(1)),
            );
            if child.try_wait().unwrap().is_some() {
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        // Complete already is no error either.
        let output = case
            .command(&folder)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let found = files(&folder);
        assert!(
            found.keys().eq(expected.keys()),
            "attempt {attempt}: {:?}",
            found.keys()
        );
        for (name, bytes) in &found {
            assert!(
                *bytes == expected[name],
                "attempt {attempt}: {}",
                name.display()
            );
        }
    }
    std::fs::remove_dir_all(&root).unwrap();
}

/// A signal that asks: what is finished is kept, the code is that of shells, and the command that
/// is told goes on.
#[test]
fn who_ends_it_by_a_signal_is_told_how_to_go_on() {
    let root = std::env::temp_dir().join(format!("sordino-asked-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    let sweep = ["--seeds", "0..3", "--set", "federation.rounds=9999,10000"];
    for (signal, code, words) in [
        (
            "TERM",
            143,
            vec!["run", SMALL, "--set", "federation.rounds=10000"],
        ),
        ("INT", 130, [&["sweep", SMALL][..], &sweep].concat()),
    ] {
        if is_ignored(code - 128) {
            continue;
        }
        let out = root.join(signal);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
        command
            .args(words)
            .args(["--set", METHODS, "--log", "json", "--out"])
            .arg(&out);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It has begun once there is progress.
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let begun = lines.any(|line| line.unwrap().contains("\"progress\""));
        assert!(begun);
        let pid = child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(sent.unwrap().success());
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{rest:?}");
        let last = rest.last().unwrap();
        let told = format!("--out {} --resume", out.display());
        assert!(
            last.contains("interrupted") && last.contains(&told),
            "{last}"
        );
    }
    std::fs::remove_dir_all(&root).unwrap();
}

/// The thread that hears signals wrote to standard error itself. Where that is a full pipe that
/// nobody reads, the second SIGTERM was never heard, and so was every one after it.
#[test]
fn a_run_whose_standard_error_nobody_reads_hears_the_second_signal() {
    let root = std::env::temp_dir().join(format!("sordino-unread-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let (_unread, full) = std::io::pipe().unwrap();
    let mut filling = full.try_clone().unwrap();
    // It never ends: the pipe is full soon.
    std::thread::spawn(move || filling.write_all(&[b'.'; 1 << 22]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(["run", SMALL, "--set", "federation.rounds=10000", "--out"])
        .arg(&root)
        .stdout(Stdio::null())
        .stderr(full)
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !root.exists() {
        assert!(start.elapsed() < PATIENCE, "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.unwrap().success());
    }
    let start = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(ended, Some(143));
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_run() {
    killed_and_resumed_leaves_the_same_folder(&Case {
        name: "run",
        arguments: vec![
            "run",
            SMALL,
            "--set",
            "faults.straggler=0.2",
            "--set",
            METHODS,
        ],
        releases: 2 * 14,
    });
}

#[test]
fn a_sweep() {
    let values = "federation.rounds=8,14";
    killed_and_resumed_leaves_the_same_folder(&Case {
        name: "sweep",
        arguments: vec![
            "sweep", SMALL, "--set", METHODS, "--set", values, "--runs", "1", "--seeds", "0..2",
        ],
        releases: 2 * (8 + 14),
    });
}
