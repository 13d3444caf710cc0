//! The methods of all runs that are to be done here: one by one, or side by side on a pool.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use rayon::ThreadPool;
use sordino_core::math::Scalar;
use sordino_experiment::metrics::statistics;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{MethodRun, Record, stored_name};
use sordino_experiment::scenario::{Method, ObjectiveConfig, ScalarKind, Scenario};
use sordino_experiment::world::{Family, command};
use sordino_report::{federation, observations};

use super::super::contract::{DriverKind, ModelError, Options};
use super::super::hub::Task;
use super::super::jobs::{FirstFailure, first_error_or_all};
use super::brought::Brought;
use super::context::RunContext;
use super::driver::Driver;
use super::error::DriverError;
use super::job::{Context, Job};
use super::kept;
use super::ledger;
use super::remote::may_travel;
use super::run::{Federated, Surroundings, run_method};
use super::shard::Shard;
use super::wired::Travels;

/// Executes every method of every run, and says what the results leave for programs.
///
/// **Errors**: as [`results`], and an accountant's.
pub fn record(
    scenario: &Scenario,
    brought: &Brought,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Record, ModelError> {
    let results = results(scenario, brought, options, progress)?;
    recorded(scenario, &results, options)
}

/// What a scenario's results leave for programs.
fn recorded(
    scenario: &Scenario,
    results: &[MethodRun],
    options: &Options,
) -> Result<Record, ModelError> {
    let statistics = statistics(scenario, results).map_err(DriverError::Accountant)?;
    let mut beside = Vec::new();
    if let Some(journal) = options.journal.as_deref() {
        beside.push(("ledger.jsonl", ledger::joined(journal, results)?));
        if scenario.federation.observations {
            let tables = observations::tables(
                &journal.candidates(),
                &journal.names(),
                results,
                &scenario.objective,
            );
            beside.extend(tables.map_err(DriverError::Folder)?);
        }
        if let ObjectiveConfig::Command(config) = &scenario.objective {
            let answers =
                command::ordered(config, &journal.answers()).map_err(DriverError::Objective)?;
            beside.push((command::FILE, answers));
        }
    }
    let cautions = [scenario.cautions(), kept::doubts(scenario, options)?].concat();
    federation::record(
        scenario,
        results,
        &statistics,
        beside,
        &cautions,
        options.chain,
    )
    .map_err(ModelError::failure)
}

/// Executes every method of every run of a scenario, with what was brought to it.
///
/// **Errors**: [`DriverError`]; the first that occurred ends the execution.
pub fn results(
    scenario: &Scenario,
    brought: &Brought,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    // Without data, too, what is finished can be looked at.
    if let Some(results) = finished(scenario, options, progress)? {
        return Ok(results);
    }
    if options.hub.is_some() {
        may_travel(scenario)?;
    }
    let family = &*brought.family(scenario, options)?;
    match scenario.surrogate.scalar {
        ScalarKind::F64 => all::<f64>(scenario, family, brought, options, progress),
        ScalarKind::F32 => all::<f32>(scenario, family, brought, options, progress),
    }
}

/// All results, if the journal has them.
fn finished(
    scenario: &Scenario,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<Vec<MethodRun>>, DriverError> {
    let jobs = (0..scenario.runs).flat_map(|run| {
        scenario
            .federation
            .methods
            .iter()
            .map(move |method| (run, method))
    });
    let results = jobs.map(|(run, method)| match &options.journal {
        Some(journal) => journal.finished(&stored_name(run, method.name())),
        None => Ok(None),
    });
    let results: Option<Vec<MethodRun>> = results.collect::<Result<_, _>>()?;
    if results.is_some() {
        progress.found(scenario.steps());
    }
    Ok(results)
}

fn all<T: Scalar>(
    scenario: &Scenario,
    family: &dyn Family,
    brought: &Brought,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    let execution = Execution {
        scenario,
        family,
        options,
        job: Job::<T>::new(scenario, family, brought, options)?,
        around: Surroundings {
            progress,
            journal: options.journal.as_deref(),
            interval: options.interval,
            stop: &options.stop,
            failure: None,
        },
    };
    let control = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(DriverError::Runtime)?;
    let results = match (options.hub.as_deref(), options.driver) {
        (Some(hub), _) => control.block_on(execution.one_by_one(Driver::Hub(hub))),
        (None, DriverKind::Lockstep) => control.block_on(execution.one_by_one(Driver::Lockstep)),
        (None, DriverKind::Tokio) => {
            let pool = &*options.pool()?;
            control.block_on(execution.side_by_side(pool))
        }
    }?;
    // The results, if they cover all jobs.
    if results.len() == scenario.runs as usize * scenario.methods().count() {
        Ok(results)
    } else {
        Err(DriverError::PartDone)
    }
}

/// True if an execution was ended on request, or because another has failed.
fn is_interruption(error: &DriverError) -> bool {
    matches!(error, DriverError::Interrupted)
}

/// What is executed, over what, and with what.
struct Execution<'e, T> {
    scenario: &'e Scenario,
    family: &'e dyn Family,
    options: &'e Options,
    job: Job<'e, T>,
    around: Surroundings<'e>,
}

impl<T: Scalar> Execution<'_, T> {
    /// The number of a run's first job among those of all runs.
    fn first_job(&self, run: u32) -> u64 {
        u64::from(run) * self.scenario.methods().count() as u64
    }

    /// The methods of a run that are to be done here.
    fn methods(&self, run: u32) -> impl Iterator<Item = Method> {
        let share = self.options.share;
        self.scenario
            .methods()
            .zip(self.first_job(run)..)
            .filter(move |(_, job)| share.is_none_or(|share| share.takes(*job)))
            .map(|(method, _)| method)
    }

    /// The runs of which a method is to be done here.
    fn runs(&self) -> impl Iterator<Item = u32> {
        (0..self.scenario.runs).filter(|run| self.methods(*run).next().is_some())
    }

    /// What all methods of a run share.
    ///
    /// **Errors**: features that cannot be drawn.
    fn run(&self, run: u32) -> Result<Vec<Arc<RunContext<T>>>, DriverError> {
        let objective = self.family.realize(self.scenario.run_seed(run));
        self.job.run(run, objective)
    }

    /// All methods of all runs, each after the other.
    ///
    /// **Errors**: the first.
    async fn one_by_one(&self, driver: Driver<'_>) -> Result<Vec<MethodRun>, DriverError> {
        let mut results = Vec::new();
        for run in self.runs() {
            let shared = self.run(run)?;
            for method in self.methods(run) {
                let ended = self.method(method, run, &shared, driver, self.around);
                results.push(ended.await?);
            }
        }
        Ok(results)
    }

    /// All methods of all runs on a pool. Where one fails, those after it end early.
    ///
    /// **Errors**: the first in the order of the jobs.
    async fn side_by_side(&self, pool: &ThreadPool) -> Result<Vec<MethodRun>, DriverError> {
        let driver = Driver::Pool(pool, self.shards(pool.current_num_threads()));
        let limit = pool.current_num_threads() + 1;
        let failure = FirstFailure::default();
        let runs = self
            .runs()
            .map(|run| self.methods_of(run, driver, limit, &failure));
        // Two runs at a time hide the end of one behind the beginning of the next; more would only
        // hold memory.
        let results = at_most(2, runs).await;
        let results = first_error_or_all(results, is_interruption)?;
        Ok(results.into_iter().flatten().collect())
    }

    /// Shards of each method. Enough jobs keep the pool busy by themselves; otherwise the agents of
    /// one job are cut into shards, small enough to even out.
    fn shards(&self, threads: usize) -> u32 {
        let jobs: usize = self.runs().map(|run| self.methods(run).count()).sum();
        match self.options.shards {
            Some(shards) => NonZeroU32::get(shards),
            None if jobs >= 4 * threads => 1,
            None => 4 * threads as u32,
        }
    }

    /// All methods of one run, so many at a time.
    ///
    /// **Errors**: the first in the order of the jobs.
    async fn methods_of(
        &self,
        run: u32,
        driver: Driver<'_>,
        limit: usize,
        failure: &FirstFailure,
    ) -> Result<Vec<MethodRun>, DriverError> {
        let first = self.first_job(run);
        if self.beside(failure, first).ends_early() {
            return Err(DriverError::Interrupted);
        }
        let shared = self.run(run).inspect_err(|_| failure.fail(first))?;
        let shared = &shared;
        let jobs = self.methods(run).zip(first..);
        let jobs = jobs.map(|(method, place)| async move {
            let around = self.beside(failure, place);
            if around.ends_early() {
                return Err(DriverError::Interrupted);
            }
            let ended = self.method(method, run, shared, driver, around).await;
            ended.inspect_err(|_| failure.fail(place))
        });
        first_error_or_all(at_most(limit, jobs).await, is_interruption)
    }

    /// One method in one run, whoever advances its agents.
    ///
    /// **Errors**: [`DriverError`]; the first that occurred.
    async fn method(
        &self,
        method: Method,
        run: u32,
        shared: &[Arc<RunContext<T>>],
        driver: Driver<'_>,
        around: Surroundings<'_>,
    ) -> Result<MethodRun, DriverError> {
        let task = &Task {
            run,
            method: method.name().to_owned(),
        };
        match self.job.context(method, shared)? {
            Context::Draws(context) => run_by(driver, task, context, around).await,
            Context::Prior(context) => run_by(driver, task, context, around).await,
            Context::Vote(context) => run_by(driver, task, context, around).await,
            Context::Campaign(context) => run_by(driver, task, context, around).await,
            Context::Custom(context) => run_by(driver, task, context, around).await,
        }
    }

    /// The surroundings of the job at this place among others that may fail.
    fn beside<'s>(&'s self, failure: &'s FirstFailure, place: u64) -> Surroundings<'s> {
        Surroundings {
            failure: Some((failure, place)),
            ..self.around
        }
    }
}

/// One method in one run, whatever its kind.
async fn run_by<M: Federated>(
    driver: Driver<'_>,
    task: &Task,
    method: Arc<M>,
    around: Surroundings<'_>,
) -> Result<MethodRun, DriverError>
where
    Shard<M>: Travels<Context = M, State = M::State>,
{
    let agents =
        |was: Option<&mut _>| driver.agents::<Shard<M>>(task, &method, was, around.progress);
    run_method(method.clone(), around, agents).await
}

/// Drives the futures, at most `limit` at a time, begun in their order. Their results come in the
/// same order.
///
/// **Cost**: a wake polls all that are running, so `limit` should be small.
async fn at_most<F: Future>(limit: usize, futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting = futures.enumerate();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut results: Vec<(usize, F::Output)> = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < limit.max(1)
                && let Some((place, future)) = waiting.next()
            {
                running.push((place, Box::pin(future)));
            }
            let before = running.len();
            running.retain_mut(|(place, future)| match future.as_mut().poll(context) {
                Poll::Ready(result) => {
                    results.push((*place, result));
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                still if still == before => return Poll::Pending,
                // What ended makes room: the next are begun, and those that run are asked once
                // more.
                _ => {}
            }
        }
    })
    .await;
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn at_most_two_run_and_results_keep_their_order() {
        let running = Cell::new(0);
        let most = Cell::new(0);
        let running = &running;
        let most = &most;
        // Future i is pending i mod 4 times.
        let futures = (0..9u32).map(|i| async move {
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            let mut left = i % 4;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                left = left.wrapping_sub(1);
                if left == u32::MAX {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            running.set(running.get() - 1);
            i * i
        });
        let control = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let results = control.block_on(at_most(2, futures));
        assert_eq!(results, (0..9).map(|i| i * i).collect::<Vec<_>>());
        assert_eq!((most.get(), running.get()), (2, 0));
        assert!(
            control
                .block_on(at_most(3, std::iter::empty::<std::future::Ready<()>>()))
                .is_empty()
        );
    }
}
