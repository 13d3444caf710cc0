//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`run()`], [`run_with`], [`Own`] | executes a scenario; over functions of the caller's; into a run folder |
//! | [`lockstep`], [`tokio`] | the two executors |
//! | `explain`, [`ledger`] | who is protected from whom; the charges of all methods |
//! | [`mod@run`] | one method from beginning to end, over any [`fabric::Fabric`] |
//! | [`prior`] | the parties of the federated prior, over the same fabric |
//! | [`context`], [`host`], [`saved`] | what the parties borrow; the server; what is stored |
//! | [`shard`], [`arena`], [`link`] | the agents; where they lie side by side; links, and faults that wrap them |
//! | [`blocks`], [`books`] | the transcript in blocks of agents; what is written down of a round |

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use sordino_core::domain::Regions;
use sordino_core::math::Scalar;

use super::contract::{DriverKind, Jobs, Model, ModelError, Options, TrustModel};
use super::jobs::{unfinished, whole_runs};
use crate::journal::Journal;
use crate::metrics::summarize;
use crate::progress::Progress;
use crate::record::{Explanation, MethodRun, Record, stored_name};
use crate::report::{federation, observations, read};
use crate::scenario::{Head, Method, ObjectiveConfig, ScalarKind, Scenario};
use crate::world::{Family, command, custom};
use context::{MethodContext, RunContext, ScenarioContext};
use lockstep::Lockstep;
use prior::context::{PriorContext, PriorNumbers};
use run::Surroundings;

pub mod arena;
pub mod blocks;
pub mod books;
pub mod context;
mod error;
mod explain;
pub mod fabric;
pub mod host;
pub mod ledger;
pub mod link;
pub mod lockstep;
mod own;
pub mod prior;
pub mod run;
pub mod saved;
pub mod shard;
mod together;
pub mod tokio;

pub use error::DriverError;
pub use own::Own;
use tokio::Pooled;

/// A trusted server sees every agent's vector; the others only what it releases.
pub const TRUST: TrustModel = TrustModel {
    name: "federated",
    description: "a trusted server aggregates; readers of its broadcasts are not trusted",
    sections: Scenario::sections,
    read: |root| Ok(Box::new(Scenario::read(root)?)),
};

impl Model for Scenario {
    fn head(&self) -> Head {
        Scenario::head(self)
    }

    fn resolved(&self) -> String {
        Scenario::resolved(self)
    }

    fn reads(&self) -> Option<&'static str> {
        self.objective.reads()
    }

    fn jobs(&self) -> Jobs {
        Jobs { count: self.steps(), unit: "rounds" }
    }

    fn run(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        recorded(self, run(self, options, progress)?, options)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Ok(explain::explain(self).map_err(DriverError::Accountant)?)
    }

    /// If no run is whole, the methods of the first run that are.
    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        let (mut shorter, all) = (self.clone(), self.federation.methods.len());
        let runs = whole_runs(journal, self.runs, all)?;
        let parts = journal.finished_parts()?;
        shorter.federation.methods.retain(|method| runs > 0 || parts.contains(&stored_name(0, method.name())));
        let said = match runs {
            0 => format!("{} of {all} methods of one run", shorter.federation.methods.len()),
            _ => format!("{runs} of {} runs", self.runs),
        };
        (shorter.runs, shorter.description) = (runs.max(1), unfinished(&said, &self.description));
        Ok((!shorter.federation.methods.is_empty()).then(|| Box::new(shorter) as Box<dyn Model>))
    }

    fn page_again(&self, folder: &Path) -> Result<Option<String>, ModelError> {
        let record = read::run_folder(folder, self).map_err(DriverError::Folder)?;
        Ok(Some(federation::page::page(&record, self.explain()?)))
    }
}

/// What a scenario's results leave.
fn recorded(scenario: &Scenario, results: Vec<MethodRun>, options: &Options) -> Result<Record, ModelError> {
    let summary = summarize(scenario, &results).map_err(DriverError::Accountant)?;
    let mut kept = Vec::new();
    if let Some(journal) = options.journal.as_deref() {
        kept.push(("ledger.jsonl", ledger::joined(journal, &results)?));
        if scenario.federation.observations {
            let points = observations::candidates(&journal.candidates()).map_err(DriverError::Folder)?;
            kept.push(("observations.csv", observations::all(&results, &points)));
            kept.push(("agents.csv", observations::best(&results)));
        }
        if let ObjectiveConfig::Command(config) = &scenario.objective {
            let answers = command::ordered(config, &journal.answers()).map_err(DriverError::Objective)?;
            kept.push((command::FILE, answers));
        }
    }
    Ok(federation::record(scenario, results, summary, scenario.explain()?, kept, options.chain))
}

/// Executes every method of every run of a scenario. The result is in the order of runs, then of methods, and is the
/// same for every [`Options`].
///
/// **Errors**: [`DriverError`]; the first that occurred ends the execution.
pub fn run(scenario: &Scenario, options: &Options, progress: &dyn Progress) -> Result<Vec<MethodRun>, DriverError> {
    // Without data, too, what is finished can be looked at.
    if let Some(results) = finished(scenario, options)? {
        return Ok(results);
    }
    let answers = options.journal.as_deref().map(Journal::answers);
    let family = crate::world::load_beside(scenario, options.data.as_deref(), answers.as_deref())
        .map_err(DriverError::Objective)?;
    run_over(scenario, &*family, options, progress)
}

/// The same over functions of the caller's, in a scenario whose objective is `custom`; [`Own`] leaves a run folder, too.
///
/// **Errors**: as [`run()`]; functions of other agents, dimension or digest than the scenario says.
pub fn run_with(
    scenario: &Scenario,
    family: &dyn Family,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    custom::check(scenario, family).map_err(DriverError::Objective)?;
    match finished(scenario, options)? {
        Some(results) => Ok(results),
        None => run_over(scenario, family, options, progress),
    }
}

/// All results, if the journal has them.
fn finished(scenario: &Scenario, options: &Options) -> Result<Option<Vec<MethodRun>>, DriverError> {
    let jobs = (0..scenario.runs).flat_map(|run| scenario.federation.methods.iter().map(move |method| (run, method)));
    let done = |(run, method): (u32, &Method)| match &options.journal {
        Some(journal) => journal.finished(&stored_name(run, method.name())),
        None => Ok(None),
    };
    Ok(jobs.map(done).collect::<Result<Option<Vec<MethodRun>>, _>>()?)
}

fn run_over(
    scenario: &Scenario,
    family: &dyn Family,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    match scenario.surrogate.scalar {
        ScalarKind::F64 => run_in::<f64>(scenario, family, options, progress),
        ScalarKind::F32 => run_in::<f32>(scenario, family, options, progress),
    }
}

fn run_in<T: Scalar>(
    scenario: &Scenario,
    family: &dyn Family,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    let job = Job::<T>::new(scenario, family, options)?;
    let run_context = |index| {
        let objective = family.realize(run_seed(scenario, index));
        RunContext::new(scenario, job.shared.clone(), index, objective).map(Arc::new)
    };
    let around =
        Surroundings { progress, journal: options.journal.as_deref(), interval: options.interval, stop: &options.stop };
    let control = ::tokio::runtime::Builder::new_current_thread().build().map_err(DriverError::Runtime)?;
    let methods = &scenario.federation.methods;
    match options.driver {
        DriverKind::Lockstep => control.block_on(async {
            let mut results = Vec::new();
            for index in 0..scenario.runs {
                let run = run_context(index)?;
                for method in methods {
                    results.push(job.method(*method, run.clone(), None, around).await?);
                }
            }
            Ok(results)
        }),
        DriverKind::Tokio => {
            let pool = &*options.pool()?;
            let threads = pool.current_num_threads();
            let jobs = scenario.runs as usize * methods.len();
            // Enough jobs keep the pool busy by themselves; otherwise one job is cut into parts, small enough to even out.
            let shards =
                options.shards.map_or(if jobs >= 4 * threads { 1 } else { 4 * threads as u32 }, NonZeroU32::get);
            let (job, run_context) = (&job, &run_context);
            control.block_on(async {
                let runs = (0..scenario.runs).map(|index| async move {
                    let run = run_context(index)?;
                    let jobs =
                        methods.iter().map(|method| job.method(*method, run.clone(), Some((pool, shards)), around));
                    let results: Vec<_> = together::at_most(threads + 1, jobs).await;
                    results.into_iter().collect::<Result<Vec<_>, DriverError>>()
                });
                // Two runs at a time hide the end of one behind the beginning of the next; more would only hold memory.
                let results: Vec<_> = together::at_most(2, runs).await;
                Ok(results.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
            })
        }
    }
}

/// What all runs and methods of an execution share.
struct Job<'j, T> {
    scenario: &'j Scenario,
    workspace_bytes: Option<usize>,
    shared: Arc<ScenarioContext<T>>,
    prior: Option<Arc<PriorNumbers<T>>>,
}

impl<'j, T: Scalar> Job<'j, T> {
    fn new(scenario: &'j Scenario, family: &dyn Family, options: &Options) -> Result<Self, DriverError> {
        let objective = family.realize(run_seed(scenario, 0));
        let (candidates, dim) = (objective.candidates(), objective.dim());
        regions_have_candidates(scenario, candidates, dim)?;
        if let Some(journal) = options.journal.as_deref().filter(|_| scenario.federation.observations) {
            observations::keep_candidates(&journal.candidates(), candidates, dim).map_err(DriverError::Folder)?;
        }
        let shared = Arc::new(ScenarioContext::new(scenario, candidates, dim)?);
        let needed = scenario.federation.methods.iter().any(|method| method.is_prior());
        let prior = if needed { PriorNumbers::new(scenario, candidates, dim)? } else { None };
        Ok(Job { scenario, workspace_bytes: options.workspace_bytes, shared, prior })
    }

    /// One method in one run: by one member in this thread, or by so many shards on a pool.
    async fn method(
        &self,
        method: Method,
        run: Arc<RunContext<T>>,
        pool: Option<(&::rayon::ThreadPool, u32)>,
        around: Surroundings<'_>,
    ) -> Result<MethodRun, DriverError> {
        if let Some(numbers) = self.prior.as_ref().filter(|_| method.is_prior()) {
            let (shared, numbers) = (self.shared.clone(), numbers.clone());
            let context =
                &Arc::new(PriorContext::new(self.scenario, method, run, shared, numbers, self.workspace_bytes)?);
            return match pool {
                None => prior::run::run_method(context.clone(), around, |was| Lockstep::new(context, was)).await,
                Some((pool, shards)) => {
                    let build = |was: Option<&_>| Pooled::new(pool, context, shards, was, around.progress);
                    prior::run::run_method(context.clone(), around, build).await
                }
            };
        }
        let context = &Arc::new(MethodContext::new(self.scenario, method, run, self.workspace_bytes)?);
        match pool {
            None => run::run_method(context.clone(), around, |was| Lockstep::new(context, was)).await,
            Some((pool, shards)) => {
                let build = |was: Option<&_>| Pooled::new(pool, context, shards, was, around.progress);
                run::run_method(context.clone(), around, build).await
            }
        }
    }
}

/// A region without a candidate has nothing that its agents could explore.
fn regions_have_candidates(scenario: &Scenario, candidates: &[f64], dim: usize) -> Result<(), DriverError> {
    if !scenario.federation.methods.iter().any(|method| method.uses_regions()) {
        return Ok(());
    }
    let regions = Regions::new(&scenario.federation.splits).map_err(DriverError::Domain)?;
    let mut found = vec![false; regions.count() as usize];
    candidates.chunks_exact(dim).for_each(|point| found[regions.region_of(point) as usize] = true);
    match found.iter().position(|found| !found) {
        Some(region) => Err(DriverError::EmptyRegion { region: region as u32, regions: regions.count() }),
        None => Ok(()),
    }
}

fn run_seed(scenario: &Scenario, index: u32) -> sordino_core::random::RunSeed {
    sordino_core::random::RunSeed::new(scenario.seed, index)
}
