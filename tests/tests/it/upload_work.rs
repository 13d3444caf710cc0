//! How long a server takes for an upload must not tell the secret sample: instructions of the
//! release build, counted by valgrind's callgrind. The firmware counts the same on two devices
//! (`cargo xtask firmware`).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use firmware_example::upload::{KINDS, Kind, alike};
use serde_json::Value;

/// Uploads of a measurement.
const CALLS: u32 = 20;
/// Fewer instructions than coordinates of the sums: the uploads were not counted.
const LEAST: u32 = CALLS * 512;

/// Whether callgrind can run here; `cargo xtask test` installs it or fails.
fn has_valgrind() -> bool {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    version.is_ok_and(|output| output.status.success())
}

/// Builds the program in the release profile, whatever the profile of this test, and returns its
/// path.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--release",
            "-p",
            "firmware-example",
            "--example",
            "upload_work",
        ])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let paths: Vec<PathBuf> = messages
        .filter_map(|m| m["executable"].as_str().map(PathBuf::from))
        .collect();
    paths.into_iter().next_back().expect("an executable")
}

/// Instructions inside the function `counted` of the program, all calls together.
fn count(program: &Path, way: &str, format: &str, kind: Kind, coin: &str) -> u32 {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=upload_work::counted",
        ])
        .arg(program)
        .args([way, format, &format!("{kind:?}"), coin, &CALLS.to_string()])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let collected = log
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .expect("a count")
        .1;
    collected.trim().parse().unwrap()
}

#[test]
fn upload_work_does_not_depend_on_the_coin() {
    if !has_valgrind() {
        // Past the capture of the test harness: a person shall see it.
        let line = "SKIPPED upload_work_does_not_depend_on_the_coin: valgrind is missing";
        writeln!(
            std::io::stderr(),
            "{line} (Debian: `sudo apt-get install valgrind`)"
        )
        .unwrap();
        return;
    }
    let program = build();
    for format in ["f32", "f64"] {
        let mut counts = Vec::new();
        for kind in KINDS {
            let [selected, passed] =
                ["selected", "passed"].map(|coin| count(&program, "server", format, kind, coin));
            println!("{format} {kind:?}: {selected} selected, {passed} not, in {CALLS} uploads");
            assert!(
                selected > LEAST && passed > LEAST,
                "{format} {kind:?}: {selected}, {passed} instructions"
            );
            assert!(
                alike(selected, passed),
                "{format} {kind:?}: {selected} instructions selected, {passed} not"
            );
            counts.extend([selected, passed]);
        }
        // Finite or not: with hardware that has doubles the vector does not tell either.
        let least = counts.iter().min().unwrap();
        let most = counts.iter().max().unwrap();
        assert!(alike(*least, *most), "{format}: {counts:?} over {KINDS:?}");
    }
    // Negative control: a server before which agents outside the sample are sent away.
    let [selected, passed] =
        ["selected", "passed"].map(|coin| count(&program, "leaky", "f32", Kind::Short, coin));
    assert!(
        selected > LEAST && passed > 0 && !alike(selected, passed),
        "control: {selected} selected, {passed} not"
    );
}

#[test]
fn a_thousandth_is_alike_and_more_is_not() {
    assert!(alike(1000, 1000) && alike(999, 1000) && alike(100_000, 99_900));
    assert!(!alike(998, 1000) && !alike(1000, 998) && !alike(100_000, 99_899) && !alike(0, 1));
}
