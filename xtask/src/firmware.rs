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
    if write {
        report.step("device table", || device_table::write(&outputs));
    }
    outputs
}
