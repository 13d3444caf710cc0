//! Starts `sordino` as a user does, in a folder of the test's own, and looks at what it leaves.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub use crate::tree::{files, scratch};

/// A small federated scenario of all methods.
pub const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.toml");

/// The program with its arguments, called in `folder`.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    command.args(arguments).current_dir(folder);
    command
}

pub fn sordino(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What the program said on standard error.
pub fn said(output: &Output) -> &str {
    text(&output.stderr)
}

/// Runs and expects success.
pub fn done(folder: &Path, arguments: &[&str]) -> Output {
    let output = sordino(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    output
}

/// Runs, expects one line on standard error, nothing on standard output, and this code.
pub fn refused(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = sordino(folder, arguments);
    let message = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{arguments:?}: {message}");
    message.trim_end().to_owned()
}

/// What the program printed, as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Charges in the joined ledger of a run folder, whose lines are stretches of releases of some runs.
pub fn charges(ledger: &str) -> u64 {
    let of = |line: Value| {
        let number = |key: &str| line[key].as_u64().unwrap();
        (number("last_release") + 1 - number("first_release")) * line["runs"].as_array().unwrap().len() as u64
    };
    ledger.lines().map(|line| of(serde_json::from_str(line).unwrap())).sum()
}
