//! Pictures of a federation besides those that every trust model has.

use crate::chart::{Chart, Picture};
use crate::charts;
use crate::read::RunRecord;

/// Privacy loss, spread over agents, clipping, faults: those that this run has.
pub fn pictures(record: &RunRecord) -> Vec<Picture> {
    let scenario = &record.scenario;
    let summary = &record.summary;
    let picture = |name: &str, title: &str, text: &str, charts: Vec<Chart>| Picture {
        name: name.to_owned(),
        title: format!("{}: {title}", scenario.name),
        text: text.to_owned(),
        charts,
        ruler: None,
    };
    let one = |chart: Option<Chart>| chart.into_iter().collect();
    let spread = charts::spreads(summary, scenario.objective.regret_name());
    let mut found = vec![
        picture(
            "privacy-loss",
            "privacy loss over releases",
            LOSS,
            one(charts::losses(scenario, summary)),
        ),
        picture("spread", "spread over agents", SPREAD, spread),
        picture(
            "clipping",
            "clipped vectors (not releasable)",
            CLIPPING,
            one(charts::clipping(summary)),
        ),
        picture(
            "faults",
            "faults by round (not releasable)",
            FAULTS,
            one(charts::faults(&record.results)),
        ),
    ];
    found.retain(|picture| !picture.charts.is_empty());
    found
}

const LOSS: &str = "ε of the first releases of a private method, by privacy-loss distributions; zero-out neighbours.";
const SPREAD: &str =
    "Median over agents, and the range from the 10 % to the 90 % quantile; means over runs.";
const CLIPPING: &str =
    "Share of uploads that were clipped, by broadcast; exists in simulation alone.";
const FAULTS: &str =
    "Mean number of agents or frames for each method, run and round; exists in simulation alone.";
