//! The ledgers of all methods, joined once every method is finished.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_core::privacy::Event;
use sordino_experiment::files::read_to_string_bounded;
use sordino_experiment::journal::Journal;
use sordino_experiment::record::{MethodRun, stored_name};

use super::error::DriverError;

/// A longer ledger is not read.
const BYTES_MAX: u64 = 1 << 34;

/// What a ledger says about one release. The chain is left out: it runs through the ledger of one
/// method, and was checked by the server that went on with it.
#[derive(Deserialize)]
struct Charge {
    release: u64,
    #[serde(flatten)]
    terms: Terms,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Terms {
    events: Vec<Event>,
    noise: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One line: consecutive releases of a method that were charged the same in some runs.
#[derive(Serialize)]
struct Stretch {
    method: &'static str,
    runs: Vec<u32>,
    first_release: u64,
    last_release: u64,
    #[serde(flatten)]
    terms: Terms,
}

/// The path of a method's ledger, which holds all charges so far.
pub fn path(journal: &Journal, job: &str) -> PathBuf {
    journal.path(job, "ledger.jsonl")
}

/// The charges of all methods, methods and releases in the order in which they were first made.
///
/// **Errors**: a ledger that does not have one charge for each release of its method, or that
/// cannot be read; the system's.
pub fn joined(journal: &Journal, results: &[MethodRun]) -> Result<String, DriverError> {
    let mut lines: Vec<Stretch> = Vec::new();
    for result in results.iter().filter(|result| result.releases > 0) {
        for stretch in stretches(journal, result)? {
            let same = lines.iter_mut().find(|line| {
                line.method == stretch.method
                    && (line.first_release, line.last_release)
                        == (stretch.first_release, stretch.last_release)
                    && line.terms == stretch.terms
            });
            match same {
                Some(line) => line.runs.push(result.run),
                None => lines.push(stretch),
            }
        }
    }
    lines
        .iter()
        .map(|line| serde_json::to_string(line).map(|line| line + "\n"))
        .collect::<Result<_, _>>()
        .map_err(DriverError::Json)
}

fn stretches(journal: &Journal, result: &MethodRun) -> Result<Vec<Stretch>, DriverError> {
    let path = path(journal, &stored_name(result.run, result.method.name()));
    let text =
        read_to_string_bounded(&path, BYTES_MAX).map_err(|error| DriverError::Unreadable {
            path: path.clone(),
            error,
        })?;
    // The first line says what the ledger is for.
    let charges = text.lines().count().saturating_sub(1);
    if charges != result.releases as usize {
        return Err(DriverError::Charges {
            path,
            charges,
            releases: result.releases,
        });
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    for line in text.lines().skip(1) {
        let Charge { release, terms } = serde_json::from_str(line).map_err(DriverError::Json)?;
        match stretches.last_mut() {
            Some(last) if last.last_release + 1 == release && last.terms == terms => {
                last.last_release = release
            }
            _ => stretches.push(Stretch {
                method: result.method.name(),
                runs: vec![result.run],
                first_release: release,
                last_release: release,
                terms,
            }),
        }
    }
    Ok(stretches)
}
