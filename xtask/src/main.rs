//! Every command a developer needs, once.
//!
//! | command | what it does |
//! |---|---|
//! | `cargo xtask test` | what CI runs: tools, formatting, lints, documentation, host tests, real federations on loopback, the Python wheel, the web page in a browser, firmware in QEMU, digests everywhere, every reproduction with one or two runs |
//! | `cargo xtask firmware [--write]` | runs the firmware on Cortex-M4F and M0 code and links operations that cannot panic; `--write` regenerates its script `firmware-example/federation.bin` and `docs/device-table.md` |
//! | `cargo xtask devices` | of `test` everything that an emulator runs, as it does beside the rest: firmware, the template, the device on the wire, digests |
//! | `cargo xtask panics` | of that the operations and parties that cannot panic |
//! | `cargo xtask template` | `templates/embassy-agent`: its federation is what `sordino export` writes; built for three targets, run in QEMU, also as a member of a federated prior |
//! | `cargo xtask networked` | the device on the wire: firmware with Ethernet and TLS in QEMU as an agent of a federation over HTTPS |
//! | `cargo xtask digests [--write]` | compares the digest tables on six targets; `--write` regenerates them in `tests/vectors/`, and what `firmware --write` does |
//! | `cargo xtask api [--write]` | compares the names of everything public with `docs/api/`; `--write` regenerates the lists |
//! | `cargo xtask habits` | spelling, licences, examples, packages, the book |
//! | `cargo xtask c [--write]` | core for C: header, example on this machine and on a Cortex-M4F; `--write` regenerates the header |
//! | `cargo xtask python` | builds the wheel of `python/`, installs it into `target/python` and runs its tests |
//! | `cargo xtask web` | builds `web/` into one file, `target/web/sordino.html`, and compares it with the program in a browser |
//! | `cargo xtask reproduce` | all reproductions that need no data file at full size, and which of their bands hold; half an hour on two cores |
//! | `cargo xtask bench [WORKLOAD …] [--python]` | the comparisons under `bench/` and where the time of one default run goes; `--python` adds scikit-learn and numpy |
//! | `cargo xtask fuzz [TARGET …] [--seconds N] [--seed N]` | random edits of everything that is read from outside, a minute for each target |
//! | `cargo xtask fleet [AGENTS_MAX]` | what a federation of a thousand to a million agents costs, in time and memory |
//! | `cargo xtask net-bench [AGENTS]` | what a real federation over HTTPS costs: rounds of 200 and 9,000 agents, handshakes, memory of a connection |

mod bench;
mod c;
mod device_table;
mod digests;
mod elf;
mod firmware;
mod habits;
mod networked;
mod once;
mod panic_free;
mod process;
mod python;
mod reproduce;
mod simulator;
mod suite;
mod template;
mod tools;
mod web;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask test | devices | firmware [--write] | panics | template | networked | digests [--write] | api [--write] | \
     habits | c [--write] | python | web | reproduce | bench [WORKLOAD …] [--python] | fleet [AGENTS_MAX] | \
     net-bench [AGENTS] | \
     fuzz [TARGET …] [--seconds N] [--seed N]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let write = words.len() == 2 && words.last() == Some(&"--write") && words.pop().is_some();
    let mut report = process::Report::default();
    match (words.as_slice(), write) {
        (["test"], false) => suite::run(&mut report),
        (["devices"], false) => suite::devices(&mut report),
        (["firmware"], _) => {
            firmware::run(&mut report, write);
            panic_free::run(&mut report);
        }
        (["panics"], false) => panic_free::run(&mut report),
        (["template"], false) => template::run(&mut report),
        (["networked"], false) => networked::run(&mut report),
        (["digests"], _) => {
            let devices = firmware::run(&mut report, write);
            digests::run(&mut report, &devices, write);
            simulator::run(&mut report, write);
        }
        (["c"], _) => c::run(&mut report, write),
        (["python"], false) => python::run(&mut report),
        (["web"], false) => web::run(&mut report),
        (["reproduce"], false) => reproduce::full(&mut report),
        (["bench", workloads @ ..], false) => bench::run(&mut report, workloads),
        (["fleet", arguments @ ..], false) => bench::fleet(&mut report, arguments),
        (["net-bench", arguments @ ..], false) => bench::net(&mut report, arguments),
        (["fuzz", arguments @ ..], false) => bench::fuzz(&mut report, arguments),
        (["habits"], false) => {
            habits::run(&mut report);
            report.step("examples", habits::examples);
        }
        (["api"], _) => {
            report.step("documentation", suite::documentation);
            habits::names(&mut report, write);
        }
        (["help" | "--help" | "-h"], false) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    report.finish()
}
