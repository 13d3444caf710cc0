//! Every observation of a federation, and every agent's best, as tables for programs.
//!
//! Simulation only: *not releasable*. Observations are what a federation protects.

use std::path::Path;

use super::read::ReadError;
use super::rows::{csv, number};
use crate::files::{read_to_string_bounded, write_atomically};
use crate::record::{MethodRun, Observed};

/// A longer list of candidates is not read.
const BYTES_MAX: u64 = 1 << 30;

/// Writes the points of the candidates down, one a line, unless they are there: a run that is told later knows them.
///
/// **Errors**: the system's.
pub fn keep_candidates(path: &Path, points: &[f64], dim: usize) -> Result<(), ReadError> {
    if path.exists() {
        return Ok(());
    }
    let line = |point: &[f64]| point.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(",") + "\n";
    let text: String = points.chunks_exact(dim.max(1)).map(line).collect();
    write_atomically(path, text.as_bytes()).map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })
}

/// The lines that were kept.
///
/// **Errors**: the system's.
pub fn candidates(path: &Path) -> Result<Vec<String>, ReadError> {
    let text = read_to_string_bounded(path, BYTES_MAX)
        .map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// A line for each observation: run, method, agent, round, whose choice, candidate, its point, y, value.
pub fn all(results: &[MethodRun], points: &[String]) -> String {
    let dim = points.first().map_or(0, |point| point.split(',').count());
    let axes: Vec<String> = (1..=dim).map(|axis| format!("x{axis}")).collect();
    let head = ["run", "method", "agent", "round", "source", "candidate"].into_iter();
    let row = |result: &MethodRun, seen: &Observed| -> Vec<String> {
        let address =
            [result.run.to_string(), result.method.to_string(), seen.agent.to_string(), seen.round.to_string()];
        let point = points.get(seen.candidate as usize).map_or("", String::as_str);
        let chosen = [seen.source.name().to_owned(), seen.candidate.to_string()];
        let point = point.split(',').map(str::to_owned);
        let found = [number(Some(seen.y)), number(Some(seen.value))];
        address.into_iter().chain(chosen).chain(point).chain(found).collect()
    };
    let rows = results.iter().flat_map(|result| result.observations.iter().map(move |seen| row(result, seen)));
    csv(head.chain(axes.iter().map(String::as_str)).chain(["y", "value"]), rows)
}

/// A line for each agent of each method and run: how often it observed, the best candidate it met and its value.
pub fn best(results: &[MethodRun]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for result in results {
        let mut seen: Vec<&Observed> = result.observations.iter().collect();
        seen.sort_by_key(|seen| seen.agent);
        for own in seen.chunk_by(|a, b| a.agent == b.agent) {
            // The first of equals.
            let best = own.iter().fold(own[0], |best, seen| if seen.value > best.value { seen } else { best });
            rows.push(vec![
                result.run.to_string(),
                result.method.to_string(),
                best.agent.to_string(),
                own.len().to_string(),
                best.round.to_string(),
                best.candidate.to_string(),
                number(Some(best.value)),
            ]);
        }
    }
    csv(["run", "method", "agent", "observations", "best_round", "best_candidate", "best_value"], rows)
}
