//! What an execution of a federation leaves: summary and files for programs, and what is shown of them.

pub mod page;
pub mod pictures;

use serde::Serialize;

use super::json;
use super::read::FORMAT;
use super::readme::readme;
use super::rows::{csv, short};
use crate::metrics::{Statistics, loss_after};
use crate::record::{MethodRun, Record, noise};
use crate::scenario::Scenario;
use crate::world::fault::FaultCounts;

/// Columns of `rounds.csv`.
const COLUMNS: &[(&str, &str)] = &[
    ("run", "0-based; runs of one number are paired over methods: same functions, initial points and noise"),
    ("method", "its name"),
    ("round", "t: 0 after the initial points, then 1 to T"),
    ("regret", "mean over agents of the best-so-far noise-free regret, to five digits (model tuning: 1 − AUC)"),
    (
        "regret_p10",
        "10 % quantile of the same over agents, to three digits; at the first round, the last, every ⌈T/10⌉-th",
    ),
    ("regret_p50", "the median"),
    ("regret_p90", "the 90 % quantile"),
    (
        "clipped",
        "how many of the selected uploads were longer than the clipping radius, at the broadcast after this round. *Not \
         releasable*",
    ),
    ("selected", "how many agents were selected for that broadcast. *Not releasable*"),
    (
        "epsilon",
        "tight ε of all releases up to that round, at the scenario's δ, rounded up to four decimals; private methods only, \
         in run 0: it is the same in every run",
    ),
];

/// What stands below the columns.
const REMARK: &str = "The columns marked *not releasable* exist in simulation only: a server that told them would break its \
                      guarantee.\n\n```python\nimport pandas as pd\ncurves = \
                      pd.read_csv(\"rounds.csv\").groupby([\"method\", \"round\"])[\"regret\"].agg([\"mean\", \"sem\"])\n```";

/// Summary and files for programs. `kept` are files that were written during the run: the ledger of all methods and the
/// answers of a user's program; `cautions` are what a reader is warned of. With `chain`, the digests of all rounds are
/// included.
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
    let mut files = vec![
        ("rounds.csv", rounds(scenario, results, statistics)),
        ("transcript.jsonl", transcript(scenario, results, statistics, chain)?),
    ];
    if results.iter().any(|result| !result.faults.is_empty()) {
        files.push(("faults.csv", faults(results)));
    }
    files.extend(kept);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    files.push(("README.md", readme(&scenario.head().trust, &names, COLUMNS, REMARK)));
    Ok(Record { summary: json::summary(scenario, statistics, cautions), files })
}

/// One line for each run, method and round. A field is empty where there is no value, and for the ε of a run that
/// released the same as the first.
fn rounds(scenario: &Scenario, results: &[MethodRun], summary: &Statistics) -> String {
    let count = |count: Option<&u32>| count.map_or(String::new(), u32::to_string);
    let row = |result: &MethodRun, round: usize| {
        let paid = summary.paid_by(result.method);
        let quantiles = result.regret_quantiles.iter().find(|(t, _)| *t as usize == round).map(|(_, three)| three);
        // The releases after this round are counted.
        let method = scenario.method(result.method);
        let planned = method.filter(|method| method.is_prior()).and_then(|method| scenario.of(method).prior.as_ref());
        let planned = match planned {
            Some(prior) => prior.releases_after(round as u32),
            None if method.is_some_and(|method| method.is_vote()) => 1,
            None => round as u32 + 1,
        };
        let releases = result.releases.min(planned);
        let first = results.iter().find(|first| first.method == result.method).unwrap_or(result);
        let told = paid.filter(|_| first.run == result.run || first.releases != result.releases);
        [
            result.run.to_string(),
            result.method.to_string(),
            round.to_string(),
            short(result.regret.get(round).copied()),
            short(quantiles.map(|three| three[0])),
            short(quantiles.map(|three| three[1])),
            short(quantiles.map(|three| three[2])),
            count(result.clipped.get(round)),
            count(result.selected.get(round)),
            told.map_or(String::new(), |paid| spent(&paid.losses, releases)),
        ]
    };
    let rows = results.iter().flat_map(|result| (0..result.regret.len()).map(move |round| row(result, round)));
    csv(COLUMNS.iter().map(|(name, _)| *name), rows)
}

/// ε of this many releases to four decimals, rounded up; `inf` without a finite bound.
fn spent(losses: &[(u32, Option<f64>)], releases: u32) -> String {
    loss_after(losses, releases).map_or("inf".to_owned(), |epsilon| format!("{:?}", (epsilon * 1e4).ceil() / 1e4))
}

/// What happened on the links. Simulation only: only the server knows who answered.
fn faults<'r>(results: &'r [MethodRun]) -> String {
    let row = |result: &MethodRun, round: usize, counts: &FaultCounts| {
        let address = [result.run.to_string(), result.method.to_string(), round.to_string()];
        address.into_iter().chain(counts.values().map(|count| count.to_string()))
    };
    let of =
        |result: &'r MethodRun| result.faults.iter().enumerate().map(move |(round, counts)| row(result, round, counts));
    csv(["run", "method", "round"].into_iter().chain(FaultCounts::NAMES), results.iter().flat_map(of))
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
}

/// A head line, then one line for each run and method with its digest and, if `chain`, the digests after every round.
fn transcript(
    scenario: &Scenario,
    results: &[MethodRun],
    summary: &Statistics,
    chain: bool,
) -> serde_json::Result<String> {
    let head = Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        scenario: &scenario.name,
        seed: scenario.seed,
        runs: scenario.runs,
        noise: noise(),
        digest: summary.digest.to_string(),
    };
    let mut out = serde_json::to_string(&head)? + "\n";
    for result in results {
        let line = Line {
            run: result.run,
            method: result.method.name(),
            digest: result.digest.to_string(),
            releases: result.releases,
            chain: result.chain.iter().filter(|_| chain).map(ToString::to_string).collect(),
        };
        out += &(serde_json::to_string(&line)? + "\n");
    }
    Ok(out)
}
