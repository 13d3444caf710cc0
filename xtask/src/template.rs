//! The template for devices, built as its reader builds it: for three targets, and run in QEMU.

use crate::process::{self, Report, cargo, root};
use crate::tools;

/// What the template prints when both parties come to their end.
const END: [&str; 2] = ["reporter: 4", "agent: 9"];

/// Builds and runs `templates/embassy-agent`.
pub fn run(report: &mut Report) {
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
        let said = process::run(&mut in_folder(&["run", "--release", "--locked", "--target", tools::M4F]))?;
        match END.iter().find(|line| !said.lines().any(|found| found == **line)) {
            None => Ok(format!("{} parties at their end, 3 targets", END.len())),
            Some(line) => Err(format!("the template does not say {line:?}")),
        }
    });
}
