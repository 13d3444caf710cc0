//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`Method`] | the methods and ablations by their names |
//! | [`DriverKind`] | which executor; both give the same transcript |
//! | [`RunOptions`] | what may change how long an execution takes, and nothing else |
//! | [`MethodRun`] | what one method did in one run |
//! | [`Progress`] | whom to tell how far it has come |

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;

/// A federated method or ablation of PAPERS.md §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every agent alone: own posterior draws only.
    Ts,
    /// One region, server mean, uniform weights, nothing private.
    Fts,
    /// Sub-regions and weights, nothing private.
    FtsDe,
    /// One region, private.
    DpFts,
    /// Sub-regions and weights, private.
    DpFtsDe,
    /// Ablation of `dp-fts-de`: the signal replaced by zero, the noise kept.
    PureNoise,
    /// Ablation of `dp-fts-de`: every agent weighs the same in every region.
    UniformWeights,
    /// Ablation of `dp-fts-de`: initial points from the whole domain.
    GlobalInit,
}

impl Method {
    /// All methods, in the order of tables.
    pub const ALL: [Method; 8] = [
        Method::Ts,
        Method::Fts,
        Method::FtsDe,
        Method::DpFts,
        Method::DpFtsDe,
        Method::PureNoise,
        Method::UniformWeights,
        Method::GlobalInit,
    ];

    /// The name in scenarios, tables and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Ts => "ts",
            Method::Fts => "fts",
            Method::FtsDe => "fts-de",
            Method::DpFts => "dp-fts",
            Method::DpFtsDe => "dp-fts-de",
            Method::PureNoise => "pure-noise",
            Method::UniformWeights => "uniform-weights",
            Method::GlobalInit => "global-init",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What the method's releases promise.
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Method::Ts => Guarantee::NothingReleased,
            Method::Fts | Method::FtsDe => Guarantee::None,
            _ => Guarantee::DifferentialPrivacy,
        }
    }

    /// True if the domain is split into the scenario's regions; false if there is one region only.
    pub const fn uses_regions(self) -> bool {
        !matches!(self, Method::Ts | Method::Fts | Method::DpFts)
    }

    /// True for the variants of `dp-fts-de` with one thing changed.
    pub const fn is_ablation(self) -> bool {
        matches!(self, Method::PureNoise | Method::UniformWeights | Method::GlobalInit)
    }
}

impl core::fmt::Display for Method {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// What the releases of a method promise to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Guarantee {
    /// No vector leaves an agent.
    #[serde(rename = "nothing released")]
    NothingReleased,
    /// Vectors leave and nothing protects them.
    #[serde(rename = "none")]
    None,
    /// Differential privacy of the broadcasts, if the noise is secret.
    #[serde(rename = "dp")]
    DifferentialPrivacy,
}

/// Who executes the parties. The transcript is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverKind {
    /// One thread, virtual time: the reference.
    Lockstep,
    /// Parties as tasks, arithmetic spread over the cores.
    #[default]
    Tokio,
}

/// How to execute; none of it changes a result.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads for arithmetic; `None` is all cores.
    pub threads: Option<NonZeroUsize>,
    /// The executor.
    pub driver: DriverKind,
    /// Where the data of a model-tuning objective lies.
    pub data: Option<std::path::PathBuf>,
}

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
}

/// Whom an execution tells how far it has come. Called from any thread.
pub trait Progress: Sync {
    /// `round` of `method` in `run` is done (0 is the initial round); `waiting_for` says what comes next, in words.
    fn advance(&self, run: u32, method: Method, round: u32, waiting_for: &str);
}

/// Tells nobody.
impl Progress for () {
    fn advance(&self, _run: u32, _method: Method, _round: u32, _waiting_for: &str) {}
}
