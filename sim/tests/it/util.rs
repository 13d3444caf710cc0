//! Starts `sordino` as a user does, in a folder of the test's own, and looks at what it leaves.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::Value;
use sordino_engine::Model;
use sordino_experiment::progress::{Progress, Stage, Step};
use sordino_experiment::scenario::{Scenario, Shipped};

pub use crate::tree::{files, scratch};

/// Where data sets without a licence are, on machines that have them. Tests that need one say that
/// it is not there. A folder that `SORDINO_DATA` names and that is not there is a mistake.
pub fn shared_data() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    std::env::var_os("SORDINO_DATA").map_or_else(
        || PathBuf::from(beside),
        |named| {
            assert!(
                Path::new(&named).is_dir(),
                "SORDINO_DATA: no folder {named:?}"
            );
            named.into()
        },
    )
}

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

/// What a run that succeeds prints.
pub fn printed(folder: &Path, arguments: &[&str]) -> String {
    text(&done(folder, arguments).stdout).to_owned()
}

/// Arguments, and settings behind them, each after a `--set`; of a key that is set again the last.
pub fn with<'a>(arguments: &[&'a str], settings: &[&'a str]) -> Vec<&'a str> {
    let key = |setting: &'a str| setting.split_once('=').map(|(key, _)| key);
    let mut words = arguments.to_vec();
    for (place, setting) in settings.iter().copied().enumerate() {
        let later = &settings[place + 1..];
        if later.iter().all(|other| key(other) != key(setting)) {
            words.extend(["--set", setting]);
        }
    }
    words
}

/// Runs, expects one line on standard error, nothing on standard output, and this code.
pub fn refused(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = sordino(folder, arguments);
    let message = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?}: {}",
        text(&output.stdout)
    );
    assert!(
        message.starts_with("error: ") && message.lines().count() == 1,
        "{arguments:?}: {message}"
    );
    message.trim_end().to_owned()
}

/// Whether this process ignores a signal, as one does that a shell started in the background; what
/// it starts then ignores it as well.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap_or("0");
    let ignored = u64::from_str_radix(digits.trim(), 16).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}

/// Settings as the library takes them.
pub fn settings(settings: &[&str]) -> Vec<String> {
    settings.iter().map(ToString::to_string).collect()
}

/// [`SMALL`] with more tables at its end, and with settings.
pub fn small(tables: &str, set: &[&str]) -> Scenario {
    let text = format!("{}{tables}", include_str!("../small.toml"));
    Scenario::parse("small", &text, &settings(set)).unwrap_or_else(|error| panic!("{error}"))
}

/// A shipped scenario of any trust model, or why it is refused.
pub fn shipped(name: &str, set: &[&str]) -> Result<Box<dyn Model>, String> {
    let shipped = Shipped::find(name).unwrap();
    sordino_engine::parse(shipped.name, shipped.text, &settings(set))
        .map_err(|error| error.to_string())
}

/// A scenario without the lines that begin with a key.
pub fn without(key: &str, text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with(key))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Stops an execution after so many rounds of any method of a federation, or so many jobs of
/// another model.
pub struct StopAfter {
    left: AtomicU32,
    pub stop: Arc<AtomicBool>,
}

impl StopAfter {
    pub fn new(left: u32) -> Self {
        Self {
            left: AtomicU32::new(left),
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) <= 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Progress for StopAfter {
    fn advance(&self, step: &Step) {
        if matches!(step.stage, Stage::Done { .. }) {
            self.count();
        }
    }

    fn job(&self, _name: &str) {
        self.count();
    }
}

/// What the program printed, as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Charges in the joined ledger of a run folder, whose lines are stretches of releases of some
/// runs.
pub fn charges(ledger: &str) -> u64 {
    let of = |line: Value| {
        let number = |key: &str| line[key].as_u64().unwrap();
        (number("last_release") + 1 - number("first_release"))
            * line["runs"].as_array().unwrap().len() as u64
    };
    ledger
        .lines()
        .map(|line| of(serde_json::from_str(line).unwrap()))
        .sum()
}
