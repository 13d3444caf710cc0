//! The run folder.
//!
//! Nothing in it depends on the machine, the time, the driver or the number of threads: two executions of one scenario
//! leave equal folders. `README.md` in the folder says what its files and columns mean.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::{FORMAT, RunRecord};
use super::{figure, html, table};
use crate::files::{FolderLock, LockError, write_atomically, write_durably};
use crate::journal::checkpoint::SUMMARY;
use crate::metrics::{Summary, loss_after};
use crate::record::{MethodRun, Outcome, noise};
use crate::scenario::{Guarantee, Scenario};
use crate::world::fault::FaultCounts;

const README: &str = include_str!("folder.md");

/// A run folder that could not be made or filled.
#[derive(Debug)]
pub enum FolderError {
    /// There is something at this place already.
    Exists(PathBuf),
    /// Another process writes into it.
    Lock(LockError),
    /// The system refused.
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FolderError::Exists(path) => {
                write!(
                    f,
                    "--out {}: exists already; name a new folder, nothing is overwritten (--resume goes on with an \
                     interrupted run)",
                    path.display()
                )
            }
            FolderError::Lock(error) => write!(f, "{error}"),
            FolderError::Io { path, error } => write!(f, "{}: cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

/// A folder to be filled, by this process alone: it is locked as long as this value lives.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: FolderLock,
}

impl RunFolder {
    /// Makes the folder at this place, which must be free.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|error| FolderError::Io { path: parent.to_owned(), error })?;
        }
        std::fs::create_dir(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Exists(path.to_owned()),
            _ => FolderError::Io { path: path.to_owned(), error },
        })?;
        Self::locked(path)
    }

    /// The folder at this place, made if it is not there.
    ///
    /// **Errors**: [`FolderError::Lock`] if another process writes into it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        std::fs::create_dir_all(path).map_err(|error| FolderError::Io { path: path.to_owned(), error })?;
        Self::locked(path)
    }

    fn locked(path: &Path) -> Result<Self, FolderError> {
        let lock = FolderLock::take(path).map_err(FolderError::Lock)?;
        Ok(RunFolder { path: path.to_owned(), lock })
    }

    /// Makes the next free numbered folder under `parent`: 0001-name, 0002-name, …
    pub fn create_numbered(parent: &Path, name: &str) -> Result<Self, FolderError> {
        let taken = std::fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.split('-').next()?.parse::<u32>().ok())
            .max()
            .unwrap_or(0);
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).take(60).collect();
        // Another process may take a number at the same time.
        let mut number = taken.saturating_add(1);
        loop {
            match Self::create(&parent.join(format!("{number:04}-{name}"))) {
                Err(FolderError::Exists(_)) if number < u32::MAX => number += 1,
                result => return result,
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder if nothing was written into it.
    pub fn discard_if_empty(self) {
        drop(self.lock);
        let _ = std::fs::remove_dir(&self.path);
    }

    /// Writes one file of the folder, down to the disk.
    pub fn write(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        write_durably(&path, text.as_bytes()).map_err(|error| FolderError::Io { path, error })
    }

    /// Writes `summary.json`, whole or not at all: its presence says that the folder is complete, so nothing may be
    /// written after it.
    pub fn seal(&self, summary: &impl Serialize) -> Result<(), FolderError> {
        let path = self.path.join(SUMMARY);
        write_atomically(&path, pretty(summary).as_bytes()).map_err(|error| FolderError::Io { path, error })
    }

    /// Writes what an experiment of another trust model left, and seals the folder; `resolved` is its scenario with every
    /// key written out.
    pub fn fill_with(&self, resolved: &str, outcome: &Outcome) -> Result<(), FolderError> {
        let version = env!("CARGO_PKG_VERSION");
        self.write("scenario.toml", &format!("# Every key written out; sordino {version}.\n{resolved}"))?;
        self.write("table.txt", &outcome.table)?;
        outcome.files.iter().try_for_each(|(name, text)| self.write(name, text))?;
        self.seal(&outcome.summary)
    }

    /// Writes everything but the ledger and what seals the folder.
    pub fn fill(
        &self,
        scenario: &Scenario,
        results: &[MethodRun],
        summary: &Summary,
        regret_name: &str,
    ) -> Result<(), FolderError> {
        let version = env!("CARGO_PKG_VERSION");
        self.write("README.md", README)?;
        self.write("scenario.toml", &format!("# Every key written out; sordino {version}.\n{}", scenario.resolved()))?;
        self.write("rounds.csv", &rounds(results, summary))?;
        if results.iter().any(|result| !result.faults.is_empty()) {
            self.write("faults.csv", &faults(results))?;
        }
        self.write("transcript.jsonl", &transcript(scenario, results, summary))?;
        self.write("table.txt", &table::methods(scenario, summary, regret_name))?;
        self.write("regret.svg", &figure::regret(scenario, summary, regret_name))?;
        let record = RunRecord {
            scenario: scenario.clone(),
            version: version.to_owned(),
            results: results.to_vec(),
            summary: summary.clone(),
        };
        self.write("report.html", &html::page(&record, regret_name))
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).map_or_else(|error| error.to_string(), |text| text + "\n")
}

/// One line for each run, method and round. Empty fields are values that do not exist.
fn rounds(results: &[MethodRun], summary: &Summary) -> String {
    let mut out =
        String::from("run,method,round,regret,regret_p10,regret_p50,regret_p90,clipped_share,selected_share,epsilon\n");
    let field = |value: Option<&f64>| value.map_or(String::new(), |x| format!("{x:?}"));
    for result in results {
        let private = result.method.guarantee() == Guarantee::DifferentialPrivacy;
        for (round, regret) in result.regret.iter().enumerate() {
            let quantiles = result.regret_quantiles.iter().find(|(t, _)| *t as usize == round).map(|(_, three)| three);
            // The broadcast after this round is counted.
            let releases = result.releases.min(round as u32 + 1);
            let _ = writeln!(
                out,
                "{},{},{round},{regret:?},{},{},{},{},{},{}",
                result.run,
                result.method,
                field(quantiles.map(|three| &three[0])),
                field(quantiles.map(|three| &three[1])),
                field(quantiles.map(|three| &three[2])),
                field(result.clipped_share.get(round)),
                field(result.selected_share.get(round)),
                if private { spent(summary, releases) } else { String::new() },
            );
        }
    }
    out
}

/// ε of so many releases to six decimals, rounded up; `inf` without a finite bound.
fn spent(summary: &Summary, releases: u32) -> String {
    loss_after(&summary.losses, releases)
        .map_or("inf".to_owned(), |epsilon| format!("{:?}", (epsilon * 1e6).ceil() / 1e6))
}

/// What happened on the links. Simulation only: who answered is known to the server alone.
fn faults(results: &[MethodRun]) -> String {
    let mut out = format!("run,method,round,{}\n", FaultCounts::NAMES.join(","));
    for result in results {
        for (round, counts) in result.faults.iter().enumerate() {
            let values = counts.values().map(|count| count.to_string()).join(",");
            let _ = writeln!(out, "{},{},{round},{values}", result.run, result.method);
        }
    }
    out
}

#[derive(Serialize)]
struct Head<'a> {
    format: u32,
    version: &'a str,
    scenario: &'a str,
    seed: u64,
    runs: u32,
    noise: String,
    digest: String,
}

#[derive(Serialize)]
struct Line<'a> {
    run: u32,
    method: &'a str,
    digest: String,
    releases: u32,
    chain: Vec<String>,
}

/// A head line, then one line for each run and method with the chain of digests, round by round.
fn transcript(scenario: &Scenario, results: &[MethodRun], summary: &Summary) -> String {
    let head = Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        seed: scenario.seed,
        runs: scenario.runs,
        noise: noise(),
        digest: summary.digest.to_string(),
    };
    let line = |value: serde_json::Result<String>| value.unwrap_or_else(|error| error.to_string()) + "\n";
    let mut out = line(serde_json::to_string(&head));
    for result in results {
        out.push_str(&line(serde_json::to_string(&Line {
            run: result.run,
            method: result.method.name(),
            digest: result.digest.to_string(),
            releases: result.releases,
            chain: result.chain.iter().map(ToString::to_string).collect(),
        })));
    }
    out
}
