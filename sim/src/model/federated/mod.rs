//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`Method`] | the methods and ablations by their names |
//! | [`DriverKind`] | which executor; both give the same transcript |
//! | [`RunOptions`] | what may change how long an execution takes, and nothing else |
//! | [`MethodRun`] | what one method did in one run |
//! | [`Progress`], [`Step`], [`Stage`] | whom to tell how far it has come |
//! | [`run()`] | executes a scenario |
//! | [`lockstep`], [`tokio`] | the two executors |
//! | [`mod@run`] | one method from beginning to end, over any [`fabric::Fabric`] |
//! | [`context`], [`shard`], [`host`], [`books`] | what the parties borrow; the agents; the server; what is written down |

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::math::Scalar;

use crate::journal::checkpoint::Store;
use crate::scenario::{ScalarKind, Scenario};
use crate::world::Family;
use crate::world::fault::FaultCounts;
use context::{MethodContext, RunContext, ScenarioContext};
use run::Surroundings;

pub mod books;
pub mod context;
mod error;
pub mod fabric;
pub mod host;
pub mod lockstep;
pub mod run;
pub mod shard;
pub mod tokio;

pub use error::DriverError;

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
    /// Parts into which the tokio driver cuts the agents of a federation; `None` lets it choose.
    pub shards: Option<NonZeroU32>,
    /// Memory for posteriors that are kept between rounds; `None` is 256 MiB. A larger federation rebuilds them.
    pub workspace_bytes: Option<usize>,
    /// Where the data of a model-tuning objective lies.
    pub data: Option<std::path::PathBuf>,
    /// Where checkpoints and the ledger go; `None` keeps nothing.
    pub store: Option<Arc<Store>>,
    /// Set from outside to stop at the end of a round, after a checkpoint.
    pub stop: Arc<AtomicBool>,
    /// Threads shared with other executions; `None` makes `threads` of its own.
    pub pool: Option<Arc<::rayon::ThreadPool>>,
}

/// A pool of so many threads, all cores if nobody says.
///
/// **Errors**: [`DriverError::Threads`].
pub fn pool(threads: Option<NonZeroUsize>) -> Result<Arc<::rayon::ThreadPool>, DriverError> {
    let threads = threads.or(std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let pool = ::rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(DriverError::Threads)?;
    Ok(Arc::new(pool))
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
    /// What happened on the links, by round; empty if the scenario has no faults.
    pub faults: Vec<FaultCounts>,
}

/// How far one method of one run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// 0-based run.
    pub run: u32,
    /// Which method.
    pub method: Method,
    /// The round it is in; 0 is the initial one.
    pub round: u32,
    /// T, the last round.
    pub rounds: u32,
    /// What is awaited in the round, or that it is over.
    pub stage: Stage,
}

/// What a round waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The agents' steps. Tells how many agents have done theirs, not who was selected or answered.
    Agents {
        /// Agents that have done their step.
        done: u32,
        /// All enrolled agents.
        of: u32,
    },
    /// The charge to be written down and the noise.
    Release,
    /// The checkpoint to be written and synced.
    Checkpoint,
    /// The round is over; told once for each round.
    Done {
        /// ε of all releases so far at the scenario's δ (Rényi accountant); nothing if nothing private was released.
        epsilon: Option<f64>,
        /// The ε that may be spent, if the scenario names one.
        epsilon_max: Option<f64>,
    },
}

impl<T> MethodContext<T> {
    /// This method in a stage of `round`.
    pub fn step(&self, round: u32, stage: Stage) -> Step {
        let rounds = self.config.parameters().rounds;
        Step { run: self.run.index, method: self.method, round, rounds, stage }
    }
}

/// Whom an execution tells how far it has come. Called from any thread.
pub trait Progress: Sync {
    /// A method entered a stage of a round.
    fn advance(&self, step: &Step);
}

/// Tells nobody.
impl Progress for () {
    fn advance(&self, _step: &Step) {}
}

/// Executes every method of every run of a scenario. The result is in the order of runs, then of methods, and is the
/// same for every [`RunOptions`].
///
/// **Errors**: [`DriverError`]; the first that occurred ends the execution.
pub fn run(scenario: &Scenario, options: &RunOptions, progress: &dyn Progress) -> Result<Vec<MethodRun>, DriverError> {
    let family = crate::world::load(scenario, options.data.as_deref()).map_err(DriverError::Objective)?;
    match scenario.surrogate.scalar {
        ScalarKind::F64 => run_in::<f64>(scenario, &*family, options, progress),
        ScalarKind::F32 => run_in::<f32>(scenario, &*family, options, progress),
    }
}

fn run_in<T: Scalar>(
    scenario: &Scenario,
    family: &dyn Family,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    let shared = {
        let objective = family.realize(run_seed(scenario, 0));
        Arc::new(ScenarioContext::<T>::new(scenario, objective.candidates(), objective.dim())?)
    };
    let run_context = |index| {
        let objective = family.realize(run_seed(scenario, index));
        RunContext::new(scenario, shared.clone(), index, objective).map(Arc::new)
    };
    let around = Surroundings { progress, store: options.store.as_deref(), stop: &options.stop };
    let control = ::tokio::runtime::Builder::new_current_thread().build().map_err(DriverError::Runtime)?;
    let methods = &scenario.federation.methods;
    match options.driver {
        DriverKind::Lockstep => control.block_on(async {
            let mut results = Vec::new();
            for index in 0..scenario.runs {
                let run = run_context(index)?;
                for method in methods {
                    let context =
                        Arc::new(MethodContext::new(scenario, *method, run.clone(), options.workspace_bytes)?);
                    let build = |snapshot: Option<&_>| lockstep::Lockstep::new(&context, snapshot);
                    results.push(run::run_method(context.clone(), around, build).await?);
                }
            }
            Ok(results)
        }),
        DriverKind::Tokio => {
            let pool = &*options.pool.clone().map_or_else(|| pool(options.threads), Ok)?;
            let threads = pool.current_num_threads();
            let jobs = scenario.runs as usize * methods.len();
            // Enough jobs keep the pool busy by themselves; otherwise one job is cut into parts, small enough to even out.
            let shards =
                options.shards.map_or(if jobs >= 4 * threads { 1 } else { 4 * threads as u32 }, NonZeroU32::get);
            let run_context = &run_context;
            control.block_on(async {
                let runs = (0..scenario.runs).map(|index| async move {
                    let run = run_context(index)?;
                    let jobs = methods.iter().map(|method| {
                        let context =
                            MethodContext::new(scenario, *method, run.clone(), options.workspace_bytes).map(Arc::new);
                        async move {
                            let context = context?;
                            let build =
                                |snapshot: Option<&_>| tokio::Pooled::new(pool, &context, shards, snapshot, progress);
                            run::run_method(context.clone(), around, build).await
                        }
                    });
                    let results: Vec<_> = stream::iter(jobs).buffered(threads + 1).collect().await;
                    results.into_iter().collect::<Result<Vec<_>, DriverError>>()
                });
                // Two runs at a time hide the end of one behind the beginning of the next; more would only hold memory.
                let results: Vec<_> = stream::iter(runs).buffered(2).collect().await;
                Ok(results.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
            })
        }
    }
}

fn run_seed(scenario: &Scenario, index: u32) -> sordino_core::random::RunSeed {
    sordino_core::random::RunSeed::new(scenario.seed, index)
}
