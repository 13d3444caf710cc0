//! `cargo xtask bench`: measurements, never tests; nothing here can fail CI.

use crate::process::{self, Report, cargo};

/// Where the time of one default run goes, then the comparisons with other crates where they are checked out.
pub fn run(report: &mut Report) {
    if process::root().join("sim/examples/time.rs").exists() {
        report.step("time of one dp-fts-de run", || {
            process::run(&mut cargo(&["run", "--release", "-q", "-p", "sordino-sim", "--example", "time"]))
                .map(|_| String::new())
        });
    }
    if process::root().join("bench/Cargo.toml").exists() {
        // Two builds, each with a target folder of its own, so that neither throws the other away.
        for (name, flags) in [("baseline", ""), ("native", "-C target-cpu=native")] {
            report.step(&format!("comparisons, target-cpu {name}"), || {
                let folder = process::root().join("target").join(format!("bench-{name}"));
                let mut command = cargo(&["run", "--release", "-q", "--manifest-path", "bench/Cargo.toml"]);
                command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", folder);
                process::run(&mut command).map(|_| String::new())
            });
        }
    }
}
