//! `cargo xtask digests`: one table of digests, five ways to compute it.
//!
//! Every program prints the table between two marks; `tests/vectors/digests.txt` is what all of them must print.

use std::fs;
use std::process::Command;

use crate::firmware::Output;
use crate::process::{self, Report, cargo};
use crate::tools;

/// Lines between these two belong to the table.
const BEGIN: &str = "--- digests";
const END: &str = "---";

/// Computes the table everywhere and compares; with `write`, the host's debug table becomes the expected one first.
/// `devices` is what the firmware printed.
pub fn run(report: &mut Report, devices: &[Output], write: bool) {
    let path = process::root().join("tests/vectors/digests.txt");
    let host = |profile: &[&str]| {
        process::run(&mut cargo(&[&["run", "-q", "-p", "firmware-example"], profile].concat()))
            .and_then(|out| table(&out))
    };
    if write {
        report.step("digests: write", || {
            let text = host(&[])?;
            fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(format!("{} rows", text.lines().count()))
        });
    }
    let expected = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
    let mut compare = |name: &str, table: &dyn Fn() -> Result<String, String>| {
        report.step(&format!("digests: {name}"), || difference(&expected.clone()?, &table()?));
    };
    compare("host, debug", &|| host(&[]));
    compare("host, release", &|| host(&["--release"]));
    for target in [tools::M4F, tools::M0] {
        let text = devices.iter().find(|output| output.target == target).map(|output| output.text.as_str());
        compare(target, &|| table(text.ok_or("the firmware did not run")?));
    }
    compare(tools::WASM, &|| wasm().and_then(|out| table(&out)));
}

/// Runs the same table under node.
fn wasm() -> Result<String, String> {
    process::run(&mut cargo(&[
        "build",
        "-q",
        "--release",
        "-p",
        "firmware-example",
        "--example",
        "digests_wasm",
        "--target",
        tools::WASM,
    ]))?;
    let module = process::target_folder().join(tools::WASM).join("release/examples/digests_wasm.wasm");
    process::run(Command::new("node").arg(process::root().join("xtask/src/wasm.mjs")).arg(module))
}

/// The lines between the marks.
fn table(output: &str) -> Result<String, String> {
    let mut lines = output.lines().skip_while(|line| *line != BEGIN).skip(1);
    let mut text = String::new();
    loop {
        match lines.next() {
            Some(END) => return Ok(text),
            Some(line) => text = text + line + "\n",
            None => return Err(format!("no line `{BEGIN}` … `{END}` in the output")),
        }
    }
}

/// Names the first row that differs.
fn difference(expected: &str, actual: &str) -> Result<String, String> {
    for (want, got) in expected.lines().zip(actual.lines()) {
        if want != got {
            return Err(format!("bits differ\n  expected {want}\n  computed {got}"));
        }
    }
    let (want, got) = (expected.lines().count(), actual.lines().count());
    if want == got && want > 0 {
        Ok(format!("{want} rows equal"))
    } else {
        Err(format!("{got} rows instead of {want}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_the_table_out_and_names_a_difference() {
        let a = table("x\n--- digests\none 1\ntwo 2\n---\ny\n").unwrap();
        assert_eq!(a, "one 1\ntwo 2\n");
        assert!(difference(&a, &a).is_ok());
        assert!(difference(&a, "one 1\ntwo 3\n").unwrap_err().contains("two 3"));
        assert!(difference(&a, "one 1\n").is_err());
        assert!(difference("", "").is_err());
        assert!(table("nothing").is_err());
    }
}
