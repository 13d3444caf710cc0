//! The run folder of a federation, read back and checked; and the files of any run folder. What all
//! trust models have in common is read by [`results`](super::results) and
//! [`curves`](super::curves).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sordino_core::digest::Digest;
use sordino_core::federated::transcript;
use sordino_core::privacy::accountant::AccountantError;
use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::journal::SUMMARY;
use sordino_experiment::metrics::{self, Statistics};
use sordino_experiment::record::{MethodRun, Record, Summary};
use sordino_experiment::scenario::{MethodName, Scenario};
use sordino_experiment::text::from_hex;
use sordino_experiment::world::fault::FaultCounts;

/// Format of `transcript.jsonl`: the version of the digests in it.
pub(super) const FORMAT: u32 = transcript::VERSION;
/// The longest file that is read.
const BYTES_MAX: u64 = 1 << 30;

/// Why a folder is not a run folder.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is missing or cannot be read.
    #[error("{path}: cannot be read; is this a run folder? {error}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// A file cannot be written.
    #[error("{path}: cannot be written: {error}")]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// A line that is not as `README.md` of the folder describes it.
    #[error("{path}:{line}: {message}")]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
    /// The parts do not belong together.
    #[error("{path}: {message}")]
    Inconsistent {
        /// Path of the file.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
    /// A loss cannot be computed.
    #[error(transparent)]
    Accountant(#[from] AccountantError),
}

impl ReadError {
    /// The error of a CSV file, with its line.
    pub(super) fn csv(path: &Path, error: &csv::Error) -> Self {
        let line = error.position().map_or(0, csv::Position::line);
        ReadError::line(path, line, error.to_string().replace('\n', " "))
    }

    /// The error of a line, 1-based.
    pub(super) fn line(path: &Path, line: u64, message: impl Into<String>) -> Self {
        ReadError::Line {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    /// The error of a file that does not fit the others.
    pub(super) fn inconsistent(path: &Path, message: impl Into<String>) -> Self {
        ReadError::Inconsistent {
            path: path.to_owned(),
            message: message.into(),
        }
    }

    /// The error of a file that the system does not let us read.
    pub(super) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        ReadError::Unreadable {
            path: path.to_owned(),
            error,
        }
    }
}

/// The content of a run folder.
#[derive(Debug)]
pub struct RunRecord {
    /// What every method did in every run.
    pub results: Vec<MethodRun>,
    /// Statistics of the results, computed again.
    pub statistics: Statistics,
    /// What its reader is warned of.
    pub cautions: Vec<String>,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
    digest: String,
}

#[derive(Deserialize)]
struct Line {
    run: u32,
    method: MethodName,
    digest: String,
    releases: u32,
    #[serde(default)]
    chain: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    run: u32,
    method: MethodName,
    round: usize,
    regret: f64,
    regret_p10: Option<f64>,
    regret_p50: Option<f64>,
    regret_p90: Option<f64>,
    clipped: Option<u32>,
    selected: Option<u32>,
}

impl Row {
    /// Whether it is of this run and method.
    fn is_of(&self, result: &MethodRun) -> bool {
        result.run == self.run && result.method == self.method
    }
}

/// The files of a run: in the memory of the program that has just made them, or in a folder.
/// Whoever reads them cannot tell which, so that a page made by a run and one made again later are
/// the same.
#[derive(Clone, Copy, Debug)]
pub enum RunFiles<'a> {
    /// What an execution leaves, not yet written.
    Made(&'a Record),
    /// A complete run folder.
    Folder(&'a Path),
}

impl<'a> RunFiles<'a> {
    /// Path and text of a file.
    ///
    /// **Errors**: [`ReadError::Unreadable`]: it is not there, or too long.
    pub fn text(self, name: &str) -> Result<(PathBuf, Cow<'a, str>), ReadError> {
        match self {
            RunFiles::Made(record) => match record.files.iter().find(|file| file.0 == name) {
                Some((_, text)) => Ok((PathBuf::from(name), Cow::Borrowed(text))),
                None => Err(ReadError::Unreadable {
                    path: PathBuf::from(name),
                    error: ErrorKind::NotFound.into(),
                }),
            },
            RunFiles::Folder(folder) => {
                text(folder, name).map(|(path, text)| (path, Cow::Owned(text)))
            }
        }
    }

    /// What is, or becomes, `summary.json`.
    ///
    /// **Errors**: [`ReadError::Unreadable`]; [`ReadError::Inconsistent`] if it is not a summary.
    pub fn summary(self) -> Result<Summary, ReadError> {
        match self {
            RunFiles::Made(record) => Ok(record.summary.clone()),
            RunFiles::Folder(folder) => {
                let (path, written) = text(folder, SUMMARY)?;
                Summary::parse(&written)
                    .map_err(|message| ReadError::Inconsistent { path, message })
            }
        }
    }
}

/// What a scenario's files say, its statistics computed again.
///
/// **Errors**: as [`results`]; an accountant's.
pub fn run_record(files: RunFiles<'_>, scenario: &Scenario) -> Result<RunRecord, ReadError> {
    let results = results(files, scenario)?;
    Ok(RunRecord {
        statistics: metrics::statistics(scenario, &results).map_err(ReadError::Accountant)?,
        results,
        cautions: files.summary()?.cautions,
    })
}

/// Reads what every method did in every run and checks that the files belong together: every run
/// and method of the scenario is there once, with every round, and the digests combine to the one
/// in the head.
///
/// **Errors**: a file that is missing, damaged, or of another scenario.
pub fn results(files: RunFiles<'_>, scenario: &Scenario) -> Result<Vec<MethodRun>, ReadError> {
    let (path, transcript) = files.text("transcript.jsonl")?;
    let (head, mut results) = transcript_lines(&path, &transcript)?;
    let (path, rounds) = files.text("rounds.csv")?;
    fill_rounds(&path, &rounds, &mut results)?;
    if !scenario.faults.is_none() {
        let (path, faults) = files.text("faults.csv")?;
        fill_faults(&path, &faults, &mut results)?;
    }
    let rounds = scenario.federation.rounds as usize + 1;
    let expected = scenario.runs as usize * scenario.federation.methods.len();
    if results.len() != expected {
        let message = format!(
            "{} runs of methods; the scenario has {expected}",
            results.len()
        );
        return Err(ReadError::inconsistent(&path, message));
    }
    for result in &results {
        let complete = result.regret.len() == rounds && [0, rounds].contains(&result.chain.len());
        if !complete
            || result.run >= scenario.runs
            || !scenario.federation.methods.contains(&result.method)
        {
            let message = format!(
                "run {}, {} is incomplete or not the scenario's",
                result.run, result.method
            );
            return Err(ReadError::inconsistent(&path, message));
        }
    }
    let digest = metrics::digest(scenario, &results);
    if digest.to_string() != head.digest {
        let message = format!(
            "the digests combine to {digest}, the head says {}",
            head.digest
        );
        return Err(ReadError::inconsistent(&path, message));
    }
    Ok(results)
}

/// Path and text of a file in a folder, if it is not too long.
pub fn text(folder: &Path, name: &str) -> Result<(PathBuf, String), ReadError> {
    let path = folder.join(name);
    let text = read_to_string_bounded(&path, BYTES_MAX)
        .map_err(|error| ReadError::unreadable(&path, error))?;
    Ok((path, text))
}

/// The digest that a line of a transcript states.
fn stated_digest(path: &Path, line: u64, text: &str) -> Result<Digest, ReadError> {
    from_hex(text)
        .map(Digest)
        .ok_or_else(|| ReadError::line(path, line, format!("`{text}` is not a digest")))
}

fn transcript_lines(path: &Path, text: &str) -> Result<(Head, Vec<MethodRun>), ReadError> {
    let mut lines = (1..).zip(text.lines());
    let head: Head = match lines.next() {
        Some((number, text)) => serde_json::from_str(text)
            .map_err(|error| ReadError::line(path, number, error.to_string()))?,
        None => return Err(ReadError::line(path, 1, "the file is empty")),
    };
    if head.format != FORMAT {
        let message = format!(
            "format {} is unknown; this program reads format {FORMAT}",
            head.format
        );
        return Err(ReadError::line(path, 1, message));
    }
    let mut results: Vec<MethodRun> = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, text) in lines {
        let line: Line = serde_json::from_str(text)
            .map_err(|error| ReadError::line(path, number, error.to_string()))?;
        let chain = line
            .chain
            .iter()
            .map(|text| stated_digest(path, number, text))
            .collect::<Result<Vec<_>, _>>()?;
        if !seen.insert((line.run, line.method)) {
            let message = format!("run {}, {} is there twice", line.run, line.method);
            return Err(ReadError::line(path, number, message));
        }
        let digest = stated_digest(path, number, &line.digest)?;
        if chain.last().is_some_and(|last| *last != digest) {
            let message = "the digest is not the end of the chain";
            return Err(ReadError::line(path, number, message));
        }
        results.push(MethodRun {
            digest,
            chain,
            releases: line.releases,
            ..MethodRun::new(line.method, line.run)
        });
    }
    Ok((head, results))
}

#[derive(Deserialize)]
struct FaultRow {
    run: u32,
    method: MethodName,
    #[serde(flatten)]
    counts: FaultCounts,
}

fn fill_faults(path: &Path, text: &str, results: &mut [MethodRun]) -> Result<(), ReadError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.deserialize() {
        let row: FaultRow = row.map_err(|error| ReadError::csv(path, &error))?;
        let found = results
            .iter_mut()
            .find(|result| result.run == row.run && result.method == row.method);
        let result = found.ok_or_else(|| {
            let message = format!("run {}, {} is not in the transcript", row.run, row.method);
            ReadError::inconsistent(path, message)
        })?;
        result.faults.push(row.counts);
    }
    Ok(())
}

fn fill_rounds(path: &Path, text: &str, results: &mut [MethodRun]) -> Result<(), ReadError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut current = 0;
    for (place, row) in reader.deserialize().enumerate() {
        let row: Row = row.map_err(|error| ReadError::csv(path, &error))?;
        // Rows of one run and method stand together, mostly in the transcript's order.
        if !results.get(current).is_some_and(|result| row.is_of(result)) {
            let next = current + 1;
            current = results
                .get(next)
                .filter(|result| row.is_of(result))
                .map(|_| next)
                .or_else(|| results.iter().position(|result| row.is_of(result)))
                .ok_or_else(|| {
                    // Below the head; no field has several lines.
                    let line = place as u64 + 2;
                    let message =
                        format!("run {}, {} is not in the transcript", row.run, row.method);
                    ReadError::line(path, line, message)
                })?;
        }
        let result = &mut results[current];
        if row.round != result.regret.len() || !row.regret.is_finite() {
            let message = format!(
                "run {}, {}: round {} is out of order or not finite",
                row.run, row.method, row.round
            );
            return Err(ReadError::inconsistent(path, message));
        }
        result.regret.push(row.regret);
        if let (Some(low), Some(middle), Some(high)) =
            (row.regret_p10, row.regret_p50, row.regret_p90)
        {
            result
                .regret_quantiles
                .push((row.round as u32, [low, middle, high]));
        }
        result.clipped.extend(row.clipped);
        result.selected.extend(row.selected);
    }
    Ok(())
}
