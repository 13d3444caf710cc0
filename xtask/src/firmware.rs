//! `cargo xtask firmware`: the firmware in QEMU, on Cortex-M4F, on M0 code and on Cortex-M33.
//!
//! The firmware measures and asserts by itself and ends with an exit code; here its output is
//! shown, and with `--write` its rows of measurements become `docs/device-table.md`.

use std::process::Command;

use crate::process::{self, Output, Report, cargo, run_keeping};
use crate::{device_table, tools};

/// Targets in the order of the table: (triple, what it is called).
const DEVICES: [(&str, &str); 3] = [
    (tools::M4F, "M4F, mps2-an386"),
    (tools::M0, "M0 code, mps2-an385"),
    (tools::M33, "M33, mps2-an505"),
];
/// Those that are reset at every step, and measured at `opt-level = "s"` as well.
const BOTH: [(&str, &str); 2] = [DEVICES[0], DEVICES[1]];

/// Runs the firmware on all targets and returns what it printed.
pub fn run(report: &mut Report, write: bool) -> Vec<Output> {
    if write {
        report.step("script of the federation", || {
            let example = [
                "run",
                "-q",
                "-p",
                "sordino-tests",
                "--example",
                "firmware_script",
            ];
            process::run(&mut cargo(&example)).map(|output| output.trim().to_owned())
        });
    }
    let mut outputs = Vec::new();
    for (target, name) in DEVICES {
        report.step(&format!("firmware on {name}"), || {
            let (output, result) = firmware(target, "3");
            let note = output.last_line();
            outputs.push(output);
            result.map(|()| note)
        });
    }
    report.step("a reset at every step", resets);
    report.step("programs for a device", programs);
    if write {
        let mut for_size = Vec::new();
        for (target, name) in BOTH {
            report.step(&format!("firmware for size on {name}"), || {
                let (output, result) = firmware(target, "s");
                let note = output.last_line();
                for_size.push(output);
                result.map(|()| note)
            });
        }
        report.step("device table", || device_table::write(&outputs, &for_size));
    }
    outputs
}

/// Runs the firmware at a level of optimisation; bounds are asserted at 3.
fn firmware(target: &'static str, level: &str) -> (Output, Result<(), String>) {
    // The runner is named in `.cargo/config.toml`.
    let mut command = cargo(&[
        "run",
        "--profile",
        "device",
        "-p",
        "firmware-example",
        "--target",
        target,
    ]);
    command.env("CARGO_PROFILE_DEVICE_OPT_LEVEL", level);
    if level != "3" {
        command.env("SORDINO_UNBOUNDED", "1");
    }
    let (text, result) = run_keeping(&mut command);
    (Output { target, text }, result)
}

/// An example of the firmware on a device.
fn on_device(target: &str, example: &str) -> Command {
    let words = [
        "run",
        "--profile",
        "device",
        "-q",
        "-p",
        "firmware-example",
        "--example",
        example,
        "--target",
        target,
    ];
    cargo(&words)
}

/// Two kinds of agent, reporter and optimizer, reset at every step on both targets; what they end
/// with is what they end with here.
fn resets() -> Result<String, String> {
    let example = [
        "run",
        "--release",
        "-q",
        "-p",
        "firmware-example",
        "--example",
        "resets",
    ];
    let here = process::run(&mut cargo(&example))?;
    for (target, name) in BOTH {
        let (text, result) = run_keeping(&mut on_device(target, "resets"));
        result?;
        if let Some(line) = here
            .lines()
            .find(|line| !text.lines().any(|found| found == *line))
        {
            return Err(format!("{name} does not say {line:?}"));
        }
        let resets = text
            .lines()
            .filter(|line| line.contains(" resets of "))
            .count();
        if resets != here.lines().count() {
            return Err(format!(
                "{name}: {resets} of {} devices came to an end",
                here.lines().count()
            ));
        }
    }
    Ok(format!(
        "{} devices, the same end on {} targets and here",
        here.lines().count(),
        BOTH.len()
    ))
}

/// Small programs for a device, and the most lines of each: an optimizer, a reporter, an agent, a
/// search with a prior file.
const PROGRAMS: [(&str, usize); 4] = [
    ("sensor", 40),
    ("reports", 115),
    ("member", 200),
    ("newcomer", 130),
];

/// What each program says here it says on a Cortex-M4F, line by line.
fn programs() -> Result<String, String> {
    for (program, _) in PROGRAMS {
        let example = [
            "run",
            "--release",
            "-q",
            "-p",
            "firmware-example",
            "--example",
            program,
        ];
        let here = process::run(&mut cargo(&example))?;
        let there = process::run(&mut on_device(DEVICES[0].0, program))?;
        if here.trim().is_empty() || here != there {
            return Err(format!("{program} says something else on {}", DEVICES[0].1));
        }
    }
    Ok(format!(
        "{} say the same on {} and here",
        PROGRAMS.map(|(program, _)| program).join(", "),
        DEVICES[0].1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The agent under embassy, in the folder of the template.
    const ONE_FILE: (&str, usize) = ("templates/embassy-agent/examples/one_file.rs", 235);

    #[test]
    fn programs_are_short() {
        let examples = PROGRAMS
            .map(|(program, most)| (format!("firmware-example/examples/{program}.rs"), most));
        for (path, most) in examples
            .into_iter()
            .chain([(ONE_FILE.0.to_owned(), ONE_FILE.1)])
        {
            let text = std::fs::read_to_string(process::root().join(&path)).unwrap();
            let lines = text.lines().count();
            assert!(
                lines > 20 && lines <= most,
                "{path}: {lines} lines, more than {most}"
            );
            // Not by longer lines: it is formatted as everything else here.
            assert!(
                text.lines().all(|line| line.chars().count() <= 110),
                "{path}"
            );
        }
    }
}
