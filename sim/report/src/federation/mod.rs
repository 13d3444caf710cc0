//! What an execution of a federation leaves: summary and files for programs, and what is shown of
//! them.

pub mod page;
pub mod pictures;

use serde::Serialize;
use sordino_experiment::metrics::{Statistics, loss_after};
use sordino_experiment::record::{Left, MethodRun, PRIORS, Record, Summary, noise, prior_name};
use sordino_experiment::scenario::{CAMPAIGN_RELEASES, Scenario};
use sordino_experiment::world::fault::FaultCounts;

use super::columns::Columns;
use super::differing::differing;
use super::json;
use super::read::{FORMAT, ReadError, RunFiles, RunRecord, run_record};
use super::readme::readme;
use super::rows::{csv, short};
use sordino_experiment::journal::SUMMARY;

/// What stands below the columns.
const REMARK: &str = "The columns marked *not releasable* exist in simulation only: a server that told them would break its \
                      guarantee.\n\n```python\nimport pandas as pd\ncurves = \
                      pd.read_csv(\"rounds.csv\").groupby([\"method\", \"round\"])[\"regret\"].agg([\"mean\", \"sem\"])\n```";

/// What the files of a run say, which agree with its summary.
///
/// **Errors**: as [`run_record`]; [`ReadError::Inconsistent`] where rounds or scenario give other
/// regrets or losses than the run had when it was written down: a file of them was changed, and a
/// smaller ε may not be told of the same releases.
pub fn read(files: RunFiles<'_>, scenario: &Scenario) -> Result<RunRecord, ReadError> {
    let record = run_record(files, scenario)?;
    let written = files.summary()?;
    let computed = json::summary(scenario, &record.statistics, &record.cautions);
    match difference(&written, &computed) {
        None => Ok(record),
        Some(message) => Err(ReadError::Inconsistent {
            path: files.text(SUMMARY)?.0,
            message,
        }),
    }
}

/// The first number of a method in which these two summaries differ, in words.
fn difference(written: &Summary, computed: &Summary) -> Option<String> {
    let found = differing(&written.methods, &computed.methods)?;
    Some(format!(
        "it has {}, and from scenario.toml, rounds.csv and the transcript follows {}: one of these files was changed after the run",
        found.first, found.second
    ))
}

/// Summary and files for programs. `kept` are files beside them: the ledger of all methods,
/// observations, the answers of a user's program; `cautions` are what a reader is warned of. With
/// `chain`, the digests of all rounds are included.
///
/// **Errors**: a transcript that cannot be written as JSON.
pub fn record(
    scenario: &Scenario,
    results: &[MethodRun],
    statistics: &Statistics,
    kept: Vec<(&'static str, String)>,
    cautions: &[String],
    chain: bool,
) -> serde_json::Result<Record> {
    let columns = columns(scenario, results, statistics);
    let points = results
        .iter()
        .flat_map(|result| (0..result.regret.len()).map(move |round| (result, round)));
    let mut files = vec![
        ("rounds.csv", columns.csv(points)),
        (
            "transcript.jsonl",
            transcript(scenario, results, statistics, chain)?,
        ),
    ];
    if results.iter().any(|result| !result.faults.is_empty()) {
        files.push(("faults.csv", faults(results)));
    }
    files.extend(kept);
    let priors = priors(results);
    let told = if priors.is_empty() {
        None
    } else {
        Some(PRIORS)
    };
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).chain(told).collect();
    let remark = without_priors(results) + REMARK;
    files.push((
        "README.md",
        readme(&scenario.head().trust, &names, columns.meanings(), &remark),
    ));
    Ok(Record {
        summary: json::summary(scenario, statistics, cautions),
        files,
        priors,
    })
}

/// The prior files that were left.
fn priors(results: &[MethodRun]) -> Vec<(String, Vec<u8>)> {
    let left = results
        .iter()
        .filter_map(|result| Some((result.method, result.prior.as_ref()?.as_ref().ok()?)));
    left.map(|(method, left)| (prior_name(method.name()), left.bytes.clone()))
        .collect()
}

/// Which methods leave no prior file although they learn something in common, and why.
fn without_priors(results: &[MethodRun]) -> String {
    let mut said = String::new();
    for result in results {
        if let Some(Err(why)) = &result.prior {
            let name = prior_name(result.method.name());
            said += &format!("No `{name}`: {why}.\n\n");
        }
    }
    said
}

/// A round of one method in one run.
type At<'r> = (&'r MethodRun, usize);

/// A count; empty where there is none.
fn count(count: Option<&u32>) -> String {
    count.map_or(String::new(), u32::to_string)
}

/// One of the three quantiles of regret over agents; empty at a round that states none.
fn quantile((run, round): &At<'_>, place: usize) -> String {
    let quantiles = run
        .regret_quantiles
        .iter()
        .find(|(t, _)| *t as usize == *round);
    short(quantiles.map(|(_, three)| three[place]))
}

/// Columns of `rounds.csv`: one line for each run, method and round. A field is empty where there
/// is no value, and for the ε of a run that released the same as the first.
fn columns<'c>(
    scenario: &'c Scenario,
    results: &'c [MethodRun],
    statistics: &'c Statistics,
) -> Columns<'c, At<'c>> {
    Columns::new()
        .told(
            "run",
            "0-based; runs of one number are paired over methods: same functions, initial points and noise",
            |(result, _): &At<'c>| result.run.to_string(),
        )
        .told("method", "its name", |(result, _)| result.method.to_string())
        .told("round", "t: 0 after the initial points, then 1 to T", |(_, round)| round.to_string())
        .told(
            "regret",
            "mean over agents of the best-so-far noise-free regret, to five digits (model tuning: 1 − AUC)",
            |(result, round)| short(result.regret.get(*round).copied()),
        )
        .told(
            "regret_p10",
            "10 % quantile of the same over agents, to three digits; at the first round, the last, every ⌈T/10⌉-th",
            |at| quantile(at, 0),
        )
        .told("regret_p50", "the median", |at| quantile(at, 1))
        .told("regret_p90", "the 90 % quantile", |at| quantile(at, 2))
        .told(
            "clipped",
            "how many of the selected uploads were longer than the clipping radius, at the broadcast after this round. *Not \
             releasable*",
            |(result, round)| count(result.clipped.get(*round)),
        )
        .told(
            "selected",
            "how many agents were selected for that broadcast. *Not releasable*",
            |(result, round)| count(result.selected.get(*round)),
        )
        .told(
            "epsilon",
            "tight ε of all releases up to that round, at the scenario's δ, rounded up to four decimals; private methods only, \
             in run 0: it is the same in every run",
            |at| epsilon(scenario, results, statistics, at),
        )
}

/// ε after a round; empty for a method without a promise, and for a run that released the same as
/// the method's first, whose line says it.
fn epsilon(
    scenario: &Scenario,
    results: &[MethodRun],
    statistics: &Statistics,
    (result, round): &At<'_>,
) -> String {
    let first = results.iter().find(|first| first.method == result.method);
    let is_said =
        first.is_some_and(|first| first.run != result.run && first.releases == result.releases);
    match statistics.paid_by(result.method) {
        Some(paid) if !is_said => {
            let releases = releases_after(scenario, result, *round as u32);
            spent(&paid.losses, releases)
        }
        _ => String::new(),
    }
}

/// Releases that a method made up to a round, the one after it among them.
fn releases_after(scenario: &Scenario, result: &MethodRun, round: u32) -> u32 {
    let method = scenario.method(result.method);
    let prior = method
        .filter(|method| method.is_prior())
        .and_then(|method| scenario.of(method).prior.as_ref());
    let planned = match prior {
        Some(prior) => prior.releases_after(round),
        None if method.is_some_and(|method| method.is_vote()) => 1,
        None if method.is_some_and(|method| method.is_campaign()) => CAMPAIGN_RELEASES,
        None => round + 1,
    };
    result.releases.min(planned)
}

/// ε of this many releases to four decimals, rounded up; `inf` without a finite bound.
fn spent(losses: &[(u32, Option<f64>)], releases: u32) -> String {
    loss_after(losses, releases).map_or("inf".to_owned(), |epsilon| {
        format!("{:?}", json::rounded_up(epsilon))
    })
}

/// What happened on the links. Simulation only: only the server knows who answered.
fn faults(results: &[MethodRun]) -> String {
    let mut rows = Vec::new();
    for result in results {
        for (round, counts) in result.faults.iter().enumerate() {
            let address = [
                result.run.to_string(),
                result.method.to_string(),
                round.to_string(),
            ];
            let counts = counts.values().map(|count| count.to_string());
            rows.push(address.into_iter().chain(counts));
        }
    }
    let head = ["run", "method", "round"];
    csv(head.into_iter().chain(FaultCounts::NAMES), rows)
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chain: Vec<String>,
    /// Digest of the prior file.
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<&'a str>,
}

/// A head line, then one line for each run and method with its digest and, if `chain`, the digests
/// after every round.
fn transcript(
    scenario: &Scenario,
    results: &[MethodRun],
    statistics: &Statistics,
    chain: bool,
) -> serde_json::Result<String> {
    let head = Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        seed: scenario.seed,
        runs: scenario.runs,
        noise: noise(),
        digest: statistics.digest.to_string(),
    };
    let mut out = serde_json::to_string(&head)? + "\n";
    for result in results {
        let line = Line {
            run: result.run,
            method: result.method.name(),
            digest: result.digest.to_string(),
            releases: result.releases,
            chain: result
                .chain
                .iter()
                .filter(|_| chain)
                .map(ToString::to_string)
                .collect(),
            prior: result
                .prior
                .as_ref()
                .and_then(|prior| prior.as_ref().ok())
                .map(|Left { digest, .. }| digest.as_str()),
        };
        out += &(serde_json::to_string(&line)? + "\n");
    }
    Ok(out)
}
