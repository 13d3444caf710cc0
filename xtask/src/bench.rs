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
        report.step("comparisons", || {
            process::run(&mut cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml"]))
                .map(|_| String::new())
        });
    }
}
