//! `cargo xtask test`: everything CI runs. A failed step does not stop the others.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::process::{
    self, Beside, Report, cargo, count_failed, count_tests, failed_tests, has_passed, told,
};
use crate::{
    c, digests, firmware, habits, networked, once, panic_free, python, reproduce, simulator,
    template, tools, web,
};

/// Packages whose code is linted and documented.
const PACKAGES: [&str; 16] = [
    "sordino-core",
    "sordino-c",
    "sordino-host",
    "sordino-experiment",
    "sordino-report",
    "sordino-engine",
    "sordino-lab",
    "sordino-papers",
    "sordino-sim",
    "sordino-net",
    "sordino-cluster",
    "sordino-figures",
    "sordino-tests",
    "xtask",
    "firmware-example",
    "sordino-web",
];

/// The longest that the doctests of one step take, with building them: minutes on a machine that is
/// busy with other things. An example that does not end has to fail, and a test harness has no
/// limit of its own.
const DOCTESTS: Duration = Duration::from_secs(600);

/// How many tests of one program run at a time, for cargo's harness.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// So many tests may fail beside others if each of them passes alone. More are no accident.
const ALONE: usize = 3;

/// Unit and integration tests, `threads` of them for each processor at a time, then the doctests of
/// the same packages as a step of their own. Many tests wait for programs and clocks, so up to
/// [`ALONE`] that fail are run once more, one at a time; the table names them, and what they said.
/// `command` has a verb of cargo and more for these packages.
fn tests(report: &mut Report, name: &str, threads: usize, command: impl Fn(&[&str]) -> Command) {
    let all = |kind: &str| command(&["test", "--no-fail-fast", kind]);
    report.step(name, || {
        let mut command = all("--tests");
        if std::env::var_os(TEST_THREADS).is_none() {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            command.env(TEST_THREADS, (threads * processors).to_string());
        }
        let ended = process::run_keeping(&mut command);
        let Err(error) = ended.1 else {
            return Ok(count_tests(&ended.0));
        };
        // What no clock decides gives the same twice.
        if threads == 1 {
            return Err(format!("{error}; {}", told(&failed_tests(&ended.0))));
        }
        forgiven(&ended.0, &error, |names| {
            let mut alone = all("--tests");
            alone.args([&["--", "--exact", "--test-threads=1"], names].concat());
            process::run(&mut alone)
        })
    });
    report.step(&format!("{name}: doctests"), || {
        process::run_within(DOCTESTS, &mut all("--doc")).map(|output| count_tests(&output))
    });
}

/// What a table says of tests that failed with this output: `again` runs those of these names one
/// at a time, and has what that printed.
fn forgiven(
    output: &str,
    error: &str,
    again: impl FnOnce(&[&str]) -> Result<String, String>,
) -> Result<String, String> {
    let failed = failed_tests(output);
    let refused = match failed[..] {
        [] => format!(
            "{error}; no test is named, {} counted",
            count_failed(output)
        ),
        _ => format!("{error}; {}", told(&failed)),
    };
    // A program with a harness of its own may count what it does not name.
    let is_named = count_failed(output) == failed.len() as u32;
    if failed.is_empty() || failed.len() > ALONE || !is_named {
        return Err(refused);
    }
    let names: Vec<&str> = failed.iter().map(|test| test.name).collect();
    let again = again(&names).map_err(|alone| format!("{refused}; alone: {alone}"))?;
    // A program that aborted has no result, and a name that is of no test passes too.
    let ended = "test result:";
    let all_ended = again.matches(ended).count() == output.matches(ended).count();
    if !names.iter().all(|name| has_passed(&again, name)) || !all_ended {
        return Err(refused);
    }
    Ok(format!(
        "{}; of these {} PASSED ONLY ALONE, ON A SECOND TRY: {}",
        count_tests(output),
        names.len(),
        told(&failed)
    ))
}

/// What later steps build in folders of their own, built before its turn and at a low priority:
/// many steps wait for clocks, or for one thread, and leave processors idle. What fails here fails
/// again in its step, which says so.
fn ahead() {
    process::step_aside();
    let builds: [fn() -> Result<(), String>; 4] = [
        habits::programs,
        || c::generator().map(|_| ()),
        networked::lint_and_build,
        template::build,
    ];
    for build in builds {
        if let Err(error) = build() {
            println!("built ahead: {error}");
        }
    }
}

/// Runs all steps.
pub fn run(report: &mut Report) {
    std::thread::scope(|scope| {
        steps(report, || {
            scope.spawn(ahead);
        });
    });
}

/// All steps, one after the other; `ready` is called once targets and emulators are there.
fn steps(report: &mut Report, ready: impl FnOnce()) {
    let packages: Vec<&str> = PACKAGES
        .iter()
        .flat_map(|package| ["-p", package])
        .collect();
    let quiet = |mut command: Command| process::run(&mut command).map(|_| String::new());

    report.step("lock files", lock_files);
    report.step("one build for both programs", built_once);
    report.step("embedded targets", tools::targets);
    report.step("emulator", || {
        tools::program("qemu-system-arm", "qemu-system-arm")
    });
    report.step("instruction counter", || {
        tools::program("valgrind", "valgrind")
    });
    report.step("broker", tools::broker);
    report.step("node", || tools::program("node", "nodejs"));
    report.step("certificates", tools::openssl);
    report.step("fonts", tools::fonts);
    ready();
    report.step("formatting", || quiet(cargo(&["fmt", "--all", "--check"])));
    report.step("lints", || {
        let options = [
            "--all-targets",
            "--features",
            "sordino-net/mqtt",
            "--",
            "-D",
            "warnings",
        ];
        let all = [&["clippy"], packages.as_slice(), &options].concat();
        quiet(cargo(&all))?;
        quiet(cargo(&[
            "clippy",
            "-p",
            "sordino-core",
            "--",
            "-D",
            "warnings",
        ]))?;
        // With the host's library in reach, methods such as `ln` of a plain `f64` would be the
        // system's: denied by lint.
        quiet(cargo(&[
            "clippy",
            "-p",
            "sordino-core",
            "--features",
            "dispatch,alloc",
            "--",
            "-D",
            "warnings",
        ]))?;
        let glue = [
            "clippy",
            "-p",
            "sordino-core",
            "--features",
            "defmt,rand_core-06,rand_core-09",
            "--target",
        ];
        quiet(cargo(
            &[&glue[..], &[tools::M4F, "--", "-D", "warnings"]].concat(),
        ))?;
        let device = [
            "clippy",
            "-p",
            "firmware-example",
            "-p",
            "sordino-c",
            "--target",
            tools::M4F,
        ];
        quiet(cargo(&[&device[..], &["--", "-D", "warnings"]].concat()))
    });
    report.step("documentation", documentation);
    habits::names(report, false);
    habits::run(report);
    // Among them servers and agents on loopback, killed and lied to; a head and two workers,
    // killed, resumed, joined late; figures as PDF and PNG.
    tests(report, "host tests", 3, once::of_all);
    report.step("examples", habits::examples);
    // Here with its default features, as on a device; among the others with `alloc` and `dispatch`.
    tests(report, "core alone", 1, |words| {
        let core = [
            "-p",
            "sordino-core",
            "--features",
            "rand_core-06,rand_core-09",
        ];
        cargo(&[words, &core].concat())
    });
    report.step("developer tools", || {
        process::run(&mut cargo(&["test", "-p", "xtask"])).map(|output| count_tests(&output))
    });
    // Emulators compute on one processor. In a process of its own each half has its own output and
    // its own table.
    let devices = Beside::start("devices");
    c::run(report, false);
    python::run(report);
    web::run(report);
    simulator::run(report, false);
    reproduce::short(report);
    report.step("devices", || devices?.ended());
}

/// `cargo xtask devices`: everything that runs on an emulator or on the wire to one, and the
/// digests that are compared between this machine and those.
pub fn devices(report: &mut Report) {
    let devices = firmware::run(report, false);
    panic_free::run(report);
    template::run(report);
    networked::run(report);
    digests::run(report, &devices, false);
}

/// Folders with a lock file of their own. A crate that core takes on has to be in each of them.
const LOCKED: [&str; 5] = [
    ".",
    "python",
    "bench",
    "firmware-networked",
    "templates/embassy-agent",
];

/// Whether every lock file has what its packages ask for, which a build finds out an hour later.
fn lock_files() -> Result<String, String> {
    for folder in LOCKED {
        let mut command = cargo(&["metadata", "--locked", "--format-version", "1"]);
        process::run_quietly(command.current_dir(process::root().join(folder))).map_err(|error| {
            format!("{folder}/Cargo.lock lacks crates: `cargo metadata` in that folder writes it ({error})")
        })?;
    }
    Ok(format!("{} are up to date", LOCKED.len()))
}

/// What a package is built of: a line for each crate, with its version and features.
fn tree(package: &str) -> Result<BTreeSet<String>, String> {
    let words = [
        "tree",
        "--locked",
        "-p",
        package,
        "-e",
        "normal",
        "--prefix",
        "none",
        "-f",
        "{p} [{f}]",
    ];
    let output = process::run_quietly(&mut cargo(&words))?;
    Ok(output
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect())
}

/// Whether `sordino-net` takes what it shares with `sordino` with the same features, so that who
/// installs both builds it once.
fn built_once() -> Result<String, String> {
    let program = tree("sordino-sim")?;
    let network = tree("sordino-net")?;
    let named: BTreeSet<&str> = network.iter().map(|line| package_of(line)).collect();
    let shared = program
        .iter()
        .filter(|line| named.contains(package_of(line)));
    let (same, other): (Vec<_>, Vec<_>) = shared.partition(|line| network.contains(*line));
    let ours = same
        .iter()
        .filter(|line| line.starts_with("sordino-"))
        .count();
    match other.iter().map(|line| line.as_str()).collect::<Vec<_>>()[..] {
        [] if ours > 0 => Ok(format!(
            "{} crates are built once, {ours} of them ours",
            same.len()
        )),
        [] => {
            Err("the two programs share no package of ours: this check compares nothing".to_owned())
        }
        ref other => Err(format!(
            "sim/Cargo.toml: not the features that sordino-net has of {}",
            other.join(", ")
        )),
    }
}

/// Name and version of a package in a line of `cargo tree` that ends with its features.
fn package_of(line: &str) -> &str {
    line.rsplit_once(" [").map_or(line, |(package, _)| package)
}

/// Documentation of some packages; a warning is an error.
fn pages(words: &[&str]) -> Result<String, String> {
    process::run(cargo(&[&["doc", "--no-deps"], words].concat()).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Documentation of all packages, without warnings.
pub fn documentation() -> Result<String, String> {
    let packages: Vec<&str> = PACKAGES
        .iter()
        .flat_map(|package| ["-p", package])
        .collect();
    // The simulator switches on core's feature `alloc`; alone, core has its default features.
    pages(&["-p", "sordino-core"])?;
    pages(&packages).map(|_| String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tests_that_fail_are_forgiven_if_they_pass_alone() {
        let ended = |passed: u32, failed: u32| {
            format!("test result: told. {passed} passed; {failed} failed; 0 ignored\n")
        };
        let output = format!("test a ... FAILED\n{}{}", ended(7, 1), ended(1, 0));
        let alone = format!("test a ... ok\n{}{}", ended(1, 0), ended(0, 0));
        let said = forgiven(&output, "exit status: 101", |names| {
            assert_eq!(names, ["a"]);
            Ok(alone.clone())
        });
        assert!(said.is_ok_and(|said| said.contains("ONLY ALONE") && said.contains("a:")));
        // It fails again, it was not run, a program aborted, too many failed, none is named.
        let refused = |output: &str, again: Result<String, String>| {
            forgiven(output, "exit status: 101", |_| again).is_err()
        };
        assert!(refused(&output, Err("exit status: 101".into())));
        assert!(refused(&output, Ok(ended(1, 0) + &ended(0, 0))));
        let aborted = format!("test a ... FAILED\n{}", ended(7, 1));
        assert!(refused(&aborted, Ok(alone.clone())));
        let many = "test a ... FAILED\n".repeat(ALONE + 1) + &ended(7, 4) + &ended(1, 0);
        assert!(refused(&many, Ok(alone.clone())));
        let unnamed = format!("test a ... FAILED\n{}{}", ended(7, 1), ended(1, 1));
        assert!(refused(&unnamed, Ok(alone.clone())));
        assert!(refused(&(ended(7, 0) + &ended(1, 0)), Ok(alone)));
    }
}
