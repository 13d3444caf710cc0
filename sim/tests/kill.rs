//! `kill -9` at random moments, `--resume`, and the folder is the one of an uninterrupted run, byte for byte.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sordino_core::random::Stream;

/// What must be equal. (`report.html`, tables and pictures are made from these.)
const FILES: [&str; 5] = ["rounds.csv", "transcript.jsonl", "summary.json", "ledger.jsonl", "scenario.toml"];
const KILLS: u32 = 20;

fn command(out: &Path, resume: bool) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.toml");
    command.args(["run", scenario, "--checkpoint-every", "0", "--set", "faults.straggler=0.2", "--out"]).arg(out);
    command.args(["--set", "federation.methods=[\"ts\",\"fts-de\",\"dp-fts-de\"]"]);
    if resume {
        command.arg("--resume");
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn files(folder: &Path) -> Vec<String> {
    FILES
        .iter()
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")))
        .collect()
}

#[test]
fn killed_at_random_moments_and_resumed_leaves_the_same_folder() {
    let root: PathBuf = std::env::temp_dir().join(format!("sordino-kill-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    let whole = root.join("whole");
    let started = std::time::Instant::now();
    assert!(command(&whole, false).status().unwrap().success());
    let length = started.elapsed();
    let expected = files(&whole);
    assert!(expected[3].lines().count() == 2 * 14, "every release of two runs is in the ledger");
    let mut moments = Stream::from_seed(3);
    let (mut kills, mut attempt) = (0, 0);
    while kills < KILLS {
        attempt += 1;
        let folder = root.join(format!("killed-{attempt}"));
        // A few kills in one folder, at moments within the length of a whole run, then to the end.
        for _ in 0..4 {
            let mut child = command(&folder, true).spawn().unwrap();
            std::thread::sleep(length.mul_f64(0.9 * moments.unit::<f64>()).max(Duration::from_millis(1)));
            if child.try_wait().unwrap().is_some() {
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        if !folder.join("summary.json").exists() || folder.join("state").exists() {
            let output = command(&folder, true).stderr(Stdio::piped()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(files(&folder), expected, "attempt {attempt}");
        assert!(!folder.join("state").exists());
    }
    std::fs::remove_dir_all(&root).unwrap();
}
