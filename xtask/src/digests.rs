//! `cargo xtask digests`: the same numbers, computed six ways, and on this machine at every width
//! of its vectors.
//!
//! | what every program prints | what it must be | where |
//! |---|---|---|
//! | the digest table | `tests/vectors/digests.txt` | host in debug and release, and at every width of its vectors; M4F, M0 code, M33, WebAssembly |
//! | the scripted federation | `tests/vectors/federation.txt` | the same without WebAssembly |

use std::fs;
use std::process::Command;

use crate::process::{self, Output, Report, cargo};
use crate::{once, tools};

/// A table between two marks in an output, and the file that it must equal.
struct Golden {
    name: &'static str,
    begin: &'static str,
    path: &'static str,
}

const DIGESTS: Golden = Golden {
    name: "digests",
    begin: "--- digests",
    path: "tests/vectors/digests.txt",
};
const FEDERATION: Golden = Golden {
    name: "federation",
    begin: "--- federation",
    path: "tests/vectors/federation.txt",
};
const END: &str = "---";
/// Beginning of the line that names the widths of the host's vectors.
const WIDTHS: &str = "widths: ";

/// Computes both tables everywhere and compares; with `write`, the host's debug build says first
/// what is expected. `devices` is what the firmware printed.
pub fn run(report: &mut Report, devices: &[Output], write: bool) {
    if write {
        report.step("write tables", || {
            let output = host("debug")?;
            for golden in [DIGESTS, FEDERATION] {
                let path = process::root().join(golden.path);
                fs::write(&path, golden.cut(&output)?)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
            Ok(format!("{}, {}", DIGESTS.path, FEDERATION.path))
        });
    }
    let mut compare = |name: &str, output: Result<&str, String>, goldens: &[&Golden]| {
        for golden in goldens {
            report.step(&format!("{}: {name}", golden.name), || {
                golden.compare(output.as_ref().map_err(Clone::clone)?)
            });
        }
    };
    let both = [&DIGESTS, &FEDERATION];
    for profile in ["debug", "release"] {
        let output = host(profile);
        compare(
            &format!("host, {profile}"),
            output.as_deref().map_err(Clone::clone),
            &both,
        );
    }
    match widths() {
        Ok(widths) => widths.iter().for_each(|width| {
            let output = host_at(width);
            compare(
                &format!("host, release, {width}"),
                output.as_deref().map_err(Clone::clone),
                &both,
            );
        }),
        Err(error) => compare("host, every width", Err(error), &both),
    }
    for target in [tools::M4F, tools::M0, tools::M33] {
        let output = devices
            .iter()
            .find(|output| output.target == target)
            .map(|output| output.text.as_str());
        compare(
            target,
            output.ok_or_else(|| "the firmware did not run".to_owned()),
            &both,
        );
    }
    let output = wasm();
    compare(
        tools::WASM,
        output.as_deref().map_err(Clone::clone),
        &[&DIGESTS],
    );
}

/// What the firmware's host program says in a profile.
fn host(profile: &str) -> Result<String, String> {
    process::run(&mut match profile {
        "debug" => Command::new(once::program("firmware-example")?),
        _ => cargo(&["run", "-q", "-p", "firmware-example", "--release"]),
    })
}

/// The widths of vectors that this machine has, narrowest first, as the host's program says; wider
/// ones cannot be tested here.
pub fn widths() -> Result<Vec<String>, String> {
    let output = host("release")?;
    let line = output.lines().find_map(|line| line.strip_prefix(WIDTHS));
    let names: Vec<String> = line
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        Err(format!("no line `{WIDTHS}…` in the output"))
    } else {
        Ok(names)
    }
}

/// The firmware's host program, which uses vectors of this width and says so.
fn host_at(width: &str) -> Result<String, String> {
    let mut command = cargo(&["run", "-q", "-p", "firmware-example", "--release"]);
    let output = process::run(command.env("SORDINO_WIDTH", width))?;
    let says = format!("width: {width}");
    if output.lines().any(|line| line == says) {
        Ok(output)
    } else {
        Err(format!("no line `{says}` in the output"))
    }
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
    let module = process::target_folder()
        .join(tools::WASM)
        .join("release/examples/digests_wasm.wasm");
    process::run(
        Command::new("node")
            .arg(process::root().join("xtask/src/wasm.mjs"))
            .arg(module),
    )
}

impl Golden {
    /// The lines between the marks.
    fn cut(&self, output: &str) -> Result<String, String> {
        let mut lines = output
            .lines()
            .skip_while(|line| *line != self.begin)
            .skip(1);
        let mut text = String::new();
        loop {
            match lines.next() {
                Some(END) => return Ok(text),
                Some(line) => text = text + line + "\n",
                None => return Err(format!("no lines `{}` … `{END}` in the output", self.begin)),
            }
        }
    }

    fn compare(&self, output: &str) -> Result<String, String> {
        let path = process::root().join(self.path);
        let expected =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        difference(&expected, &self.cut(output)?)
    }
}

/// Names the first row that differs.
fn difference(expected: &str, actual: &str) -> Result<String, String> {
    for (want, got) in expected.lines().zip(actual.lines()) {
        if want != got {
            return Err(format!("bits differ\n  expected {want}\n  computed {got}"));
        }
    }
    let want = expected.lines().count();
    let got = actual.lines().count();
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
        let a = DIGESTS
            .cut("x\n--- digests\none 1\ntwo 2\n---\ny\n")
            .unwrap();
        assert_eq!(a, "one 1\ntwo 2\n");
        assert!(difference(&a, &a).is_ok());
        assert!(
            difference(&a, "one 1\ntwo 3\n")
                .unwrap_err()
                .contains("two 3")
        );
        assert!(difference(&a, "one 1\n").is_err());
        assert!(difference("", "").is_err());
        assert!(DIGESTS.cut("nothing").is_err());
    }
}
