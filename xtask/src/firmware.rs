//! `cargo xtask firmware`: the firmware in QEMU, on Cortex-M4F and on M0 code.
//!
//! The firmware measures and asserts by itself and ends with an exit code; here its output is shown, and with
//! `--write` its rows of measurements become `docs/device-table.md`.

use crate::process::{self, Report, cargo, run_keeping};
use crate::{device_table, tools};

/// Targets in the order of the table: (triple, what it is called).
const DEVICES: [(&str, &str); 2] = [(tools::M4F, "M4F, mps2-an386"), (tools::M0, "M0 code, mps2-an385")];

/// What one target printed.
pub struct Output {
    /// The target triple.
    pub target: &'static str,
    /// Everything on standard output.
    pub text: String,
}

/// Runs the firmware on both targets and returns what it printed.
pub fn run(report: &mut Report, write: bool) -> Vec<Output> {
    if write {
        report.step("script of the federation", || {
            let example = ["run", "-q", "-p", "sordino-tests", "--example", "firmware_script"];
            process::run(&mut cargo(&example)).map(|output| output.trim().to_owned())
        });
    }
    let mut outputs = Vec::new();
    for (target, name) in DEVICES {
        report.step(&format!("firmware on {name}"), || {
            // The runner is named in `.cargo/config.toml`.
            let (text, result) =
                run_keeping(&mut cargo(&["run", "--release", "-p", "firmware-example", "--target", target]));
            let note = text.lines().rev().find(|line| !line.is_empty()).unwrap_or_default().to_owned();
            outputs.push(Output { target, text });
            result.map(|()| note)
        });
    }
    report.step("a reset at every step", resets);
    report.step("programs for a device", programs);
    if write {
        report.step("device table", || device_table::write(&outputs));
    }
    outputs
}

/// Two kinds of agent, reporter and optimizer, reset at every step on both targets; what they end with is what they end with here.
fn resets() -> Result<String, String> {
    let example = ["run", "--release", "-q", "-p", "firmware-example", "--example", "resets"];
    let here = process::run(&mut cargo(&example))?;
    for (target, name) in DEVICES {
        let (text, result) = run_keeping(cargo(&example).args(["--target", target]));
        result?;
        if let Some(line) = here.lines().find(|line| !text.lines().any(|found| found == *line)) {
            return Err(format!("{name} does not say {line:?}"));
        }
        let resets = text.lines().filter(|line| line.contains(" resets of ")).count();
        if resets != here.lines().count() {
            return Err(format!("{name}: {resets} of {} devices came to an end", here.lines().count()));
        }
    }
    Ok(format!("{} devices, the same end on {} targets and here", here.lines().count(), DEVICES.len()))
}

/// Small programs for a device: what each says here it says on a Cortex-M4F, line by line.
fn programs() -> Result<String, String> {
    const PROGRAMS: [&str; 3] = ["sensor", "reports", "member"];
    for program in PROGRAMS {
        let example = ["run", "--release", "-q", "-p", "firmware-example", "--example", program];
        let here = process::run(&mut cargo(&example))?;
        let there = process::run(cargo(&example).args(["--target", DEVICES[0].0]))?;
        if here.trim().is_empty() || here != there {
            return Err(format!("{program} says something else on {}", DEVICES[0].1));
        }
    }
    Ok(format!("{} say the same on {} and here", PROGRAMS.join(", "), DEVICES[0].1))
}
