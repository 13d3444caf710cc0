//! `cargo xtask test`: everything CI runs. A failed step does not stop the others.

use crate::process::{self, Report, cargo, count_tests};
use crate::{c, digests, firmware, habits, networked, panic_free, python, simulator, template, tools, web};

/// Packages whose code is linted and documented.
const PACKAGES: [&str; 12] = [
    "sordino-core",
    "sordino-c",
    "sordino-host",
    "sordino-sim",
    "sordino-net",
    "sordino-cluster",
    "sordino-figures",
    "sordino-tests",
    "xtask",
    "firmware-example",
    "sordino-python",
    "sordino-web",
];

/// Runs all steps.
pub fn run(report: &mut Report) {
    let packages: Vec<&str> = PACKAGES.iter().flat_map(|package| ["-p", package]).collect();
    let quiet = |mut command: std::process::Command| process::run(&mut command).map(|_| String::new());

    report.step("embedded targets", tools::targets);
    report.step("emulator", || tools::program("qemu-system-arm", "qemu-system-arm"));
    report.step("instruction counter", || tools::program("valgrind", "valgrind"));
    report.step("broker", tools::broker);
    report.step("node", || tools::program("node", "nodejs"));
    report.step("certificates", tools::openssl);
    report.step("fonts", tools::fonts);
    report.step("formatting", || quiet(cargo(&["fmt", "--all", "--check"])));
    report.step("lints", || {
        let options = ["--all-targets", "--features", "sordino-net/mqtt", "--", "-D", "warnings"];
        let all = [&["clippy"], packages.as_slice(), &options].concat();
        quiet(cargo(&all))?;
        quiet(cargo(&["clippy", "-p", "sordino-core", "--", "-D", "warnings"]))?;
        // With the host's library in reach, methods such as `ln` of a plain `f64` would be the system's: denied by lint.
        quiet(cargo(&["clippy", "-p", "sordino-core", "--features", "dispatch,alloc", "--", "-D", "warnings"]))?;
        let glue = ["clippy", "-p", "sordino-core", "--features", "defmt,rand_core-06,rand_core-09", "--target"];
        quiet(cargo(&[&glue[..], &[tools::M4F, "--", "-D", "warnings"]].concat()))?;
        let device = ["clippy", "-p", "firmware-example", "-p", "sordino-c", "--target", tools::M4F];
        quiet(cargo(&[&device[..], &["--", "-D", "warnings"]].concat()))
    });
    report.step("documentation", documentation);
    habits::names(report, false);
    habits::run(report);
    report.step("host tests", || {
        process::run(&mut cargo(&["test", "--no-fail-fast"])).map(|output| count_tests(&output))
    });
    report.step("examples", habits::examples);
    // Servers and agents on loopback, killed and lied to; a head and two workers, killed, resumed, joined late; figures as
    // PDF and PNG. Packages of their own, because nobody else needs their crates, and built together, because what they
    // share is most of the work.
    report.step("real federations, a cluster, PDF and PNG", || {
        let packages = ["-p", "sordino-net", "-p", "sordino-cluster", "-p", "sordino-figures"];
        let words = [&["test", "--no-fail-fast", "--features", "sordino-net/mqtt"], &packages[..]].concat();
        process::run(&mut cargo(&words)).map(|output| count_tests(&output))
    });
    report.step("core alone", || {
        process::run(&mut cargo(&["test", "-p", "sordino-core", "--features", "rand_core-06,rand_core-09"]))
            .map(|output| count_tests(&output))
    });
    report.step("core alone, for hosts", || {
        process::run(&mut cargo(&["test", "-p", "sordino-core", "--features", "dispatch"]))
            .map(|output| count_tests(&output))
    });
    report.step("developer tools", || {
        process::run(&mut cargo(&["test", "-p", "xtask"])).map(|output| count_tests(&output))
    });
    c::run(report, false);
    python::run(report);
    web::run(report);
    let devices = firmware::run(report, false);
    panic_free::run(report);
    template::run(report);
    networked::run(report);
    digests::run(report, &devices, false);
    simulator::run(report, false);
}

/// Documentation of all packages, without warnings.
pub fn documentation() -> Result<String, String> {
    let packages: Vec<&str> = PACKAGES.iter().flat_map(|package| ["-p", package]).collect();
    let pages = |words: &[&str]| {
        process::run(cargo(&[&["doc", "--no-deps"], words].concat()).env("RUSTDOCFLAGS", "-D warnings"))
    };
    // The simulator switches on core's feature `alloc`; alone, core has its default features.
    pages(&["-p", "sordino-core"])?;
    pages(&packages).map(|_| String::new())
}
