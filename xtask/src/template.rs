//! The template for devices, built as its reader builds it: for three targets, with both parties and with one, and run
//! in QEMU. Its federation is what `sordino export` writes of the scenario beside it; that its frames are accepted, and
//! the same under another agreement refused, its own server asserts with core's code for servers.

use crate::process::{self, Report, cargo, root};
use crate::tools;

/// Ways to run it, and what it then prints when its parties come to their end.
const RUNS: [(&[&str], &[&str]); 4] = [
    (&[], &["reporter: 4", "agent: 9"]),
    (&["--no-default-features", "--features", "agent"], &["agent: 9"]),
    (&["--no-default-features", "--features", "reporter"], &["reporter: 4"]),
    (&["--example", "one_file"], &["one file: 9"]),
];

/// The template's federation: a scenario, and what is written of it.
const FEDERATION: [&str; 2] = ["templates/embassy-agent/federation.toml", "templates/embassy-agent/src/federation.rs"];

/// Builds and runs `templates/embassy-agent`.
pub fn run(report: &mut Report) {
    report.step("template for devices: its federation", federation);
    report.step("template for devices", || {
        let folder = root().join("templates/embassy-agent");
        let target = root().join("target/template");
        let in_folder = |words: &[&str]| {
            let mut command = cargo(words);
            command.current_dir(&folder).env("CARGO_TARGET_DIR", &target);
            command
        };
        for triple in [tools::M0, tools::RISCV] {
            process::run(&mut in_folder(&["build", "--release", "--locked", "--target", triple]))?;
        }
        for (words, end) in RUNS {
            let mut command = in_folder(&["run", "--release", "--locked", "--target", tools::M4F]);
            let said = process::run(command.args(words))?;
            // All of it, and nothing of a party that was left out.
            if said.lines().count() != end.len() || end.iter().any(|line| !said.lines().any(|found| found == *line)) {
                return Err(format!("with {words:?} the template says {said:?}, not {end:?}"));
            }
        }
        Ok(format!("{} ways to run it on M4F come to their end, 3 targets", RUNS.len()))
    });
}

/// Whether the module that is checked in is the one that is written. The program is called as the template's README says,
/// but for its words about the federation's number and deadline.
fn federation() -> Result<String, String> {
    let [scenario, module] = FEDERATION;
    let words = ["run", "-q", "-p", "sordino-sim", "--bin", "sordino", "--", "export", scenario, "--lang", "rust"];
    let written = process::run(cargo(&words).current_dir(root()))?;
    let kept = std::fs::read_to_string(root().join(module)).map_err(|error| format!("{module}: {error}"))?;
    if written != kept {
        return Err(format!("{module} is another: `cargo run --release -- export {scenario} --lang rust > {module}`"));
    }
    Ok(format!("{} lines as `sordino export` writes them", kept.lines().count()))
}
