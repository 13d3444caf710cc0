//! What an execution of a federation leaves: table, summary, page, and its files for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::read::{FORMAT, RunRecord};
use super::{figure, html, json, table};
use crate::metrics::{Summary, loss_after};
use crate::record::{MethodRun, Record, noise};
use crate::scenario::{Guarantee, Scenario};
use crate::world::fault::FaultCounts;

const README: &str = include_str!("folder.md");

/// Everything but what a folder adds; `ledger` with the charges of all methods, if they were written down.
pub fn record(scenario: &Scenario, results: Vec<MethodRun>, summary: Summary, ledger: Option<String>) -> Record {
    let regret_name = scenario.objective.regret_name();
    let mut files = vec![
        ("README.md", README.to_owned()),
        ("rounds.csv", rounds(&results, &summary)),
        ("transcript.jsonl", transcript(scenario, &results, &summary)),
        ("regret.svg", figure::regret(scenario, &summary, regret_name)),
    ];
    if results.iter().any(|result| !result.faults.is_empty()) {
        files.push(("faults.csv", faults(&results)));
    }
    files.extend(ledger.map(|ledger| ("ledger.jsonl", ledger)));
    let (text, written) = (table::methods(scenario, &summary, regret_name), json::summary(scenario, &summary));
    let record =
        RunRecord { scenario: scenario.clone(), version: env!("CARGO_PKG_VERSION").to_owned(), results, summary };
    files.push(("report.html", html::page(&record, regret_name)));
    Record { summary: written, table: text, files }
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
