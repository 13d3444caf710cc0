//! What an execution leaves: the numbers of one method in one run, the files of a run folder, what may be said of it.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::privacy::SourceKind;

use crate::scenario::Method;
use crate::world::fault::FaultCounts;

/// What one method did in one run. Everything but the times and the fields marked *not releasable* is in the digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRun {
    /// Which method.
    pub method: Method,
    /// 0-based run.
    pub run: u32,
    /// The last link of `chain`.
    pub digest: Digest,
    /// The chain after t = 0..=T: T+1 digests.
    pub chain: Vec<Digest>,
    /// Mean over agents of the best-so-far noise-free regret, t = 0..=T: T+1 numbers.
    pub regret: Vec<f64>,
    /// The 10 %, 50 % and 90 % quantiles over agents of the same, t = 0..=T; empty if not kept.
    pub regret_quantiles: Vec<[f64; 3]>,
    /// Broadcasts that were made, each charged once.
    pub releases: u32,
    /// Share of uploads longer than the clipping radius, by broadcast. Simulation only: *not releasable*.
    pub clipped_share: Vec<f64>,
    /// Share of agents that were selected, by broadcast. Simulation only: *not releasable*.
    pub selected_share: Vec<f64>,
    /// What happened on the links, by round; empty if the scenario has no faults.
    pub faults: Vec<FaultCounts>,
}

/// The name under which one method of one run is stored.
pub fn stored_name(run: u32, method: Method) -> String {
    format!("run-{run:05}.{method}")
}

/// What an execution leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The text on the terminal.
    pub table: String,
    /// The same for programs.
    pub summary: serde_json::Value,
    /// Further files of the run folder: (name, text).
    pub files: Vec<(&'static str, String)>,
}

/// Who is protected from whom: sentences under four questions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Who is protected from whom.
    pub protected: Vec<String>,
    /// Which inputs are compared.
    pub relation: Vec<String>,
    /// What is not protected.
    pub not_protected: Vec<String>,
    /// What it costs.
    pub cost: Vec<String>,
}

/// The value of `noise` of everything simulated: "simulation: not private".
pub fn noise() -> String {
    SourceKind::Simulation.to_string()
}
