//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`DriverKind`] | which executor; both give the same transcript |
//! | [`RunOptions`] | what may change how long an execution takes, and nothing else |
//! | [`run()`] | executes a scenario |
//! | [`lockstep`], [`tokio`] | the two executors |
//! | [`mod@run`] | one method from beginning to end, over any [`fabric::Fabric`] |
//! | [`context`], [`shard`], [`host`], [`saved`] | what the parties borrow; the agents; the server; what is stored |
//! | [`blocks`], [`books`] | the transcript in blocks of agents; what is written down of a round |

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::stream::{self, StreamExt};
use sordino_core::math::Scalar;

use crate::journal::checkpoint::Store;
use crate::pool::pool;
use crate::progress::Progress;
use crate::record::MethodRun;
use crate::scenario::{ScalarKind, Scenario};
use crate::world::Family;
use context::{MethodContext, RunContext, ScenarioContext};
use run::Surroundings;

pub mod blocks;
pub mod books;
pub mod context;
mod error;
pub mod fabric;
pub mod host;
pub mod lockstep;
pub mod run;
pub mod saved;
pub mod shard;
pub mod tokio;

pub use error::DriverError;

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
