//! `--log json`: one JSON object in each line on standard error, instead of progress.
//!
//! Every line has `event` and `seconds` since the start; further fields as they apply:
//!
//! | event | when | fields |
//! |---|---|---|
//! | `start` | once; `reproduce`: for each setting | `command`, `version`, `scenario`, `total` (in `unit`s, if known) |
//! | `run_start`, `run_done`, `run_failed` | a run folder of a sweep | `folder`, `run_number`, `of`; `digest`; `message` |
//! | `progress` | at most ten times a second, and when a method ends | `run`, `method`, `round`, `rounds`, `epsilon_spent`, `epsilon_left`, `what`, `done`, `total`, `unit`, `rate`, `remaining_seconds` |
//! | `progress` of `optimize` | after each value | `done`, `total`, `unit`, `value`, `best` |
//! | `waiting` | a stage of a round that takes long: every five seconds | `what`, `waited_seconds`, and as `progress` |
//! | `worker_joined`, `worker_lost`, `worker_took_over` | a worker of `sordino cluster` | `worker`, `agents`, `message` |
//! | `worker`, `worker_done` | each worker every five seconds, and at the end | `worker`, `agents`, `rate` (agents' steps a second of its work), `memory_bytes`, `message` |
//! | `note` | a message for people | `message` |
//! | `done` | once, at the end | `out`, `digest` |
//! | `error` | once, instead | `message` |
//!
//! `run` counts paired runs within a scenario from 0, `run_number` run folders of a sweep. `rate`
//! is in units a second, `remaining_seconds` an estimate from it. `epsilon_spent` is what all
//! releases so far cost at the scenario's δ: the tight ε of the table and `rounds.csv`.
//! `epsilon_left` is what remains of `max_epsilon` as its filter counts (Rényi; exactly for the
//! federated prior). Nothing that only a trusted server knows is written: neither who was selected
//! or answered nor how many were clipped.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;

/// How the program reports its progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Log {
    /// A bar, or a line for every tenth
    #[default]
    Text,
    /// One JSON object in each line
    Json,
}

/// Standard error belongs to the whole program, and so does its format.
static JSON: AtomicBool = AtomicBool::new(false);
static START: OnceLock<Instant> = OnceLock::new();

impl Log {
    /// Makes this the format of all progress from now on.
    pub fn begin(self) {
        elapsed();
        JSON.store(self == Log::Json, Ordering::Relaxed);
    }

    /// The format that was chosen.
    pub fn chosen() -> Log {
        if JSON.load(Ordering::Relaxed) {
            Log::Json
        } else {
            Log::Text
        }
    }
}

/// Time since the program started.
pub fn elapsed() -> Duration {
    START.get_or_init(Instant::now).elapsed()
}

/// Writes a line for people on standard error. Where that is gone, a closed terminal say, nobody
/// reads it, and the work goes on.
pub fn say(line: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a note for people.
pub fn note(text: &str) {
    match Log::chosen() {
        Log::Json => Line {
            event: "note",
            message: Some(text),
            ..Line::default()
        }
        .write(),
        Log::Text => say(text),
    }
}

/// Reports that the results are there, in a folder if there is one.
pub fn done(out: Option<&std::path::Path>, digest: Option<&str>) {
    let seconds = elapsed().as_secs_f64();
    let out = out.map(|path| path.display().to_string());
    match (Log::chosen(), &out) {
        (Log::Json, _) => Line {
            event: "done",
            out: out.as_deref(),
            digest,
            ..Line::default()
        }
        .write(),
        (Log::Text, Some(out)) => say(&format!("wrote {out} in {seconds:.1} s")),
        (Log::Text, None) => say(&format!("done in {seconds:.1} s")),
    }
}

/// One line of the log, as JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line<'a> {
    /// Name of what happened.
    pub event: &'a str,
    /// Seconds since the program started.
    pub seconds: f64,
    /// The command of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    /// The program's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    /// Name of the scenario or experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<&'a str>,
    /// Run folder of a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<&'a str>,
    /// 0-based number of that folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_number: Option<u64>,
    /// Number of run folders in the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// 0-based paired run within a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// Name of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'a str>,
    /// The round the method is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The last round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// ε of all releases so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_spent: Option<f64>,
    /// What the scenario's `max_epsilon` leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_left: Option<f64>,
    /// What was done, or what is awaited, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<&'a str>,
    /// Time waited, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<f64>,
    /// Units done, in this process or found finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// Units of work in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is counted: `rounds` of all methods and runs, or `jobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'a str>,
    /// Units a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Estimated time that remains, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_seconds: Option<f64>,
    /// The value that a command gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The best value so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// A worker of a cluster, machine and process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<&'a str>,
    /// Agents that the worker holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// Memory that the worker uses, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Where the results are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<&'a str>,
    /// Digest of the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<&'a str>,
    /// A message for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

impl Line<'_> {
    /// Writes the line. A closed standard error is no reason to stop.
    pub fn write(&self) {
        let seconds = (elapsed().as_secs_f64() * 1e3).round() / 1e3;
        if let Ok(mut text) = serde_json::to_string(&Line {
            seconds,
            ..self.clone()
        }) {
            text.push('\n');
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_fields_are_left_away() {
        let line = Line {
            event: "progress",
            seconds: 1.5,
            run: Some(0),
            rate: Some(2.0),
            ..Line::default()
        };
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"event":"progress","seconds":1.5,"run":0,"rate":2.0}"#
        );
    }
}
