//! The simulator's digests: whatever the threads, the driver and the profile, one digest a
//! scenario, the one that is checked in. Part of `cargo xtask digests` and `cargo xtask test`.

use std::fs;
use std::process::Command;

use crate::digests::widths;
use crate::once;
use crate::process::{self, Report, cargo};

/// Arguments of `sordino run`, short versions of what ships.
const SCENARIOS: [&str; 5] = [
    "default --runs 1 --set federation.rounds=6",
    // The list that `default` had before `alone` and `vote`, whose digest stays.
    r#"default --runs 1 --set federation.rounds=6 --set federation.methods=["ts","fts","fts-de","dp-fts","dp-fts-de","pure-noise","uniform-weights","global-init","prior-noise","dp-prior"]"#,
    "gp-2d --runs 2 --set federation.rounds=3",
    "winequality --runs 1 --set federation.rounds=2",
    "firmware",
];

/// Ways to execute that must not show.
const WAYS: [&str; 4] = [
    "--driver lockstep",
    "--driver tokio --threads 1",
    "--driver tokio --threads 2",
    "--driver tokio --threads 5",
];

const PATH: &str = "tests/vectors/simulator.txt";

/// Executes every scenario every way in both profiles; with `write`, the reference driver in the
/// debug profile says first what is expected.
pub fn run(report: &mut Report, write: bool) {
    if write {
        report.step("write simulator digests", || {
            let binary = build("debug")?;
            let mut text = String::new();
            for scenario in SCENARIOS {
                text = format!(
                    "{text}{}  {scenario}\n",
                    digest(&binary, scenario, WAYS[0])?
                );
            }
            fs::write(process::root().join(PATH), text)
                .map_err(|error| format!("{PATH}: {error}"))?;
            Ok(PATH.to_owned())
        });
    }
    report.step("simulator: every width of vectors", || {
        let expected = fs::read_to_string(process::root().join(PATH))
            .map_err(|error| format!("{PATH}: {error}"))?;
        let binary = build("release")?;
        let widths = widths()?;
        for width in &widths {
            for scenario in SCENARIOS {
                let line = format!(
                    "{}  {scenario}",
                    digest_at(&binary, scenario, WAYS[0], Some(width))?
                );
                if !expected.lines().any(|expected| expected == line) {
                    return Err(format!(
                        "{PATH} has no line `{line}` (SORDINO_WIDTH={width})"
                    ));
                }
            }
        }
        Ok(format!(
            "{} scenarios at {}, one digest each",
            SCENARIOS.len(),
            widths.join(", ")
        ))
    });
    for profile in ["debug", "release"] {
        report.step(&format!("simulator: {profile}"), || {
            let expected = fs::read_to_string(process::root().join(PATH))
                .map_err(|error| format!("{PATH}: {error}"))?;
            let binary = build(profile)?;
            for scenario in SCENARIOS {
                for way in WAYS {
                    let line = format!("{}  {scenario}", digest(&binary, scenario, way)?);
                    println!("{line}  {way}");
                    if !expected.lines().any(|expected| expected == line) {
                        return Err(format!("{PATH} has no line `{line}` ({way})"));
                    }
                }
            }
            Ok(format!(
                "{} scenarios, {} ways each, one digest each",
                SCENARIOS.len(),
                WAYS.len()
            ))
        });
    }
}

/// Builds the simulator and returns the path of its program.
fn build(profile: &str) -> Result<std::path::PathBuf, String> {
    if profile == "debug" {
        return once::program("sordino");
    }
    process::run(&mut cargo(&[
        "build",
        "-q",
        "-p",
        "sordino-sim",
        "--release",
    ]))?;
    Ok(process::target_folder()
        .join("release")
        .join(format!("sordino{}", std::env::consts::EXE_SUFFIX)))
}

fn digest(binary: &std::path::Path, scenario: &str, way: &str) -> Result<String, String> {
    digest_at(binary, scenario, way, None)
}

/// [`digest`] with vectors of this width at most.
fn digest_at(
    binary: &std::path::Path,
    scenario: &str,
    way: &str,
    width: Option<&str>,
) -> Result<String, String> {
    let out = process::target_folder().join("xtask-run");
    // The program refuses a folder that exists; a missing one is no error.
    let _ = fs::remove_dir_all(&out);
    let words = scenario
        .split(' ')
        .chain(way.split(' '))
        .chain(["--format", "json", "--out"]);
    let mut command = Command::new(binary);
    command
        .arg("run")
        .args(words)
        .arg(&out)
        .current_dir(process::root())
        .envs(width.map(|width| ("SORDINO_WIDTH", width)));
    let said = process::run_unseen(&mut command)?;
    first_digest(&said)
        .map(str::to_owned)
        .ok_or_else(|| format!("sordino run {scenario} {way}: no digest"))
}

/// The execution's digest precedes those of its methods.
fn first_digest(json: &str) -> Option<&str> {
    json.split("\"digest\": \"")
        .nth(1)?
        .split('"')
        .next()
        .filter(|digest| digest.len() == 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_digest() {
        let digest = "ab".repeat(32);
        let json = format!(
            "{{\n  \"runs\": 1,\n  \"digest\": \"{digest}\",\n  \"methods\": [{{\"digest\": \"x\"}}]}}"
        );
        assert_eq!(first_digest(&json), Some(digest.as_str()));
        assert_eq!(first_digest("{}"), None);
    }
}
