//! `cargo xtask bench [WORKLOAD …]`: measurements, never tests; nothing here can fail CI.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{self, Report, cargo};

/// Python packages that the comparison installs.
const PYTHON_PACKAGES: [&str; 2] = ["numpy", "scikit-learn"];
/// Seconds that installing them, and then running them, may take.
const PYTHON_SECONDS: &str = "900";

/// Where the time of one default run goes, then the comparisons with other crates, as plain code
/// and for this processor. Arguments choose among the comparisons; `--python` adds scikit-learn and
/// numpy.
pub fn run(report: &mut Report, arguments: &[&str]) {
    let python = arguments.contains(&"--python");
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|word| *word != "--python")
        .collect();
    report.step("time of one dp-fts-de run", || example("time", &[]));
    for (name, flags) in [("plain", ""), ("native", "-C target-cpu=native")] {
        report.step(&format!("comparisons, {name}"), || {
            let folder = process::target_folder().join(format!("bench-{name}"));
            let mut command = cargo(&[
                "run",
                "--release",
                "-q",
                "--manifest-path",
                "bench/Cargo.toml",
                "--target-dir",
            ]);
            command.arg(folder).arg("--").args(&arguments);
            if !flags.is_empty() {
                command.env("RUSTFLAGS", flags);
            }
            process::run(&mut command).map(|_| String::new())
        });
    }
    if python {
        report.step("comparisons, Python", peers_in_python);
    }
}

/// A program that may take so many seconds, on one thread as everything else here.
fn bounded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command
        .arg(PYTHON_SECONDS)
        .arg(program)
        .current_dir(process::root());
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(variable, "1");
    }
    command
}

/// scikit-learn and numpy on the same workloads, in a virtual environment under `target/` that is
/// made once.
fn peers_in_python() -> Result<String, String> {
    let folder = process::target_folder().join("bench-python");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if !ready.exists() {
        process::run(
            bounded("python3".as_ref())
                .args(["-m", "venv"])
                .arg(&folder),
        )?;
        process::run(
            bounded(&python)
                .args(["-m", "pip", "install", "--quiet"])
                .args(PYTHON_PACKAGES),
        )?;
        fs::write(&ready, "").map_err(|error| format!("{}: {error}", ready.display()))?;
    }
    process::run(bounded(&python).arg("bench/peers.py")).map(|_| String::new())
}

/// `cargo xtask fuzz [TARGET …] [--seconds N] [--seed N]`: random edits of what is read from
/// outside, with the checks of the dev profile.
pub fn fuzz(report: &mut Report, arguments: &[&str]) {
    report.step("random edits", || {
        let mut command = cargo(&[
            "run",
            "--package",
            "sordino-tests",
            "--example",
            "fuzz",
            "--",
        ]);
        process::run(command.args(arguments)).map(|_| String::new())
    });
}

/// `cargo xtask fleet [AGENTS_MAX]`: what a federation of a thousand to a million agents costs.
pub fn fleet(report: &mut Report, arguments: &[&str]) {
    report.step("a thousand to a million agents", || {
        example("fleet", arguments)
    });
}

/// What a real federation costs on this machine: not for CI, because it is about time.
pub fn net(report: &mut Report, arguments: &[&str]) {
    report.step("a federation over HTTPS", || {
        process::run(&mut cargo(&[
            "build",
            "--release",
            "-p",
            "sordino-net",
            "--bins",
        ]))?;
        let mut command = cargo(&[
            "run",
            "--release",
            "-q",
            "-p",
            "sordino-net",
            "--example",
            "load",
            "--",
        ]);
        process::run(command.args(arguments)).map(|_| String::new())
    });
    report.step("two servers, processor time", || {
        let example = [
            "run",
            "--release",
            "-q",
            "-p",
            "sordino-net",
            "--example",
            "two_servers",
        ];
        process::run(&mut cargo(&example)).map(|_| String::new())
    });
}

fn example(name: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = cargo(&[
        "run",
        "--release",
        "-q",
        "-p",
        "sordino-sim",
        "--example",
        name,
        "--",
    ]);
    process::run(command.args(arguments)).map(|_| String::new())
}
