//! Pictures of a federation besides those that every trust model has.

use sordino_experiment::scenario::Scenario;

use super::read;
use crate::chart::{Chart, Picture};
use crate::charts;
use crate::read::{ReadError, RunFiles};

/// Privacy loss, spread over agents, clipping, faults: those that this run has.
///
/// **Errors**: as [`read`].
pub fn pictures(files: RunFiles<'_>, scenario: &Scenario) -> Result<Vec<Picture>, ReadError> {
    let record = read(files, scenario)?;
    let statistics = &record.statistics;
    let found: [(&str, &str, &str, Vec<Chart>); 4] = [
        (
            "privacy-loss",
            "privacy loss over releases",
            LOSS,
            charts::losses(scenario, statistics).into_iter().collect(),
        ),
        (
            "spread",
            "spread over agents",
            SPREAD,
            charts::spreads(statistics, scenario.objective.regret_name()),
        ),
        (
            "clipping",
            "clipped vectors (not releasable)",
            CLIPPING,
            charts::clipping(statistics).into_iter().collect(),
        ),
        (
            "faults",
            "faults by round (not releasable)",
            FAULTS,
            charts::faults(&record.results).into_iter().collect(),
        ),
    ];
    Ok(found
        .into_iter()
        .filter(|(.., charts)| !charts.is_empty())
        .map(|(name, title, text, charts)| Picture {
            name: name.to_owned(),
            title: format!("{}: {title}", scenario.name),
            text: text.to_owned(),
            charts,
            ruler: None,
        })
        .collect())
}

const LOSS: &str = "ε of the first releases of a private method, by privacy-loss distributions; zero-out neighbours.";
const SPREAD: &str =
    "Median over agents, and the range from the 10 % to the 90 % quantile; means over runs.";
const CLIPPING: &str =
    "Share of uploads that were clipped, by broadcast; exists in simulation alone.";
const FAULTS: &str =
    "Mean number of agents or frames for each method, run and round; exists in simulation alone.";
