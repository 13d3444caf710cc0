//! `cargo xtask test`: everything CI runs. A failed step does not stop the others.

use crate::process::{self, Report, cargo, count_tests};
use crate::{digests, firmware, panic_free, simulator, template, tools};

/// Packages whose code is linted and documented.
const PACKAGES: [&str; 7] =
    ["sordino-core", "sordino-host", "sordino-sim", "sordino-net", "sordino-tests", "xtask", "firmware-example"];

/// Runs all steps.
pub fn run(report: &mut Report) {
    let packages: Vec<&str> = PACKAGES.iter().flat_map(|package| ["-p", package]).collect();
    let quiet = |mut command: std::process::Command| process::run(&mut command).map(|_| String::new());

    report.step("embedded targets", tools::targets);
    report.step("emulator", || tools::program("qemu-system-arm", "qemu-system-arm"));
    report.step("instruction counter", || tools::program("valgrind", "valgrind"));
    report.step("node", || tools::program("node", "nodejs"));
    report.step("formatting", || quiet(cargo(&["fmt", "--all", "--check"])));
    report.step("lints", || {
        let all = [&["clippy"], packages.as_slice(), &["--all-targets", "--", "-D", "warnings"]].concat();
        quiet(cargo(&all))?;
        quiet(cargo(&["clippy", "-p", "sordino-core", "--", "-D", "warnings"]))?;
        let glue = ["clippy", "-p", "sordino-core", "--features", "defmt,rand_core-06,rand_core-09", "--target"];
        quiet(cargo(&[&glue[..], &[tools::M4F, "--", "-D", "warnings"]].concat()))?;
        quiet(cargo(&["clippy", "-p", "firmware-example", "--target", tools::M4F, "--", "-D", "warnings"]))
    });
    report.step("documentation", || {
        let all = [&["doc", "--no-deps"], packages.as_slice()].concat();
        let mut command = cargo(&all);
        command.env("RUSTDOCFLAGS", "-D warnings");
        quiet(command)?;
        // The simulator switches on core's feature `alloc`; alone, core has its default features.
        let mut alone = cargo(&["doc", "--no-deps", "-p", "sordino-core"]);
        alone.env("RUSTDOCFLAGS", "-D warnings");
        quiet(alone)
    });
    report.step("host tests", || process::run(&mut cargo(&["test"])).map(|output| count_tests(&output)));
    // Servers and agents on loopback, killed and lied to; a package of its own, because nobody else needs its crates.
    report.step("real federations", || {
        process::run(&mut cargo(&["test", "-p", "sordino-net"])).map(|output| count_tests(&output))
    });
    report.step("core alone", || {
        process::run(&mut cargo(&["test", "-p", "sordino-core", "--features", "rand_core-06,rand_core-09"]))
            .map(|output| count_tests(&output))
    });
    report.step("developer tools", || {
        process::run(&mut cargo(&["test", "-p", "xtask"])).map(|output| count_tests(&output))
    });
    let devices = firmware::run(report, false);
    panic_free::run(report);
    template::run(report);
    digests::run(report, &devices, false);
    simulator::run(report, false);
}
