//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`run()`], [`run_with`], [`Own`] | executes a scenario; over functions of the caller's; into a run folder |
//! | [`lockstep`], `tokio` | the two executors |
//! | `remote`, [`held`], [`wired`] | agents elsewhere: the server's side, the agents' side, the bytes between them |
//! | `job` | what all runs and methods of an execution share |
//! | `explain`, [`ledger`] | who is protected from whom; the charges of all methods |
//! | [`mod@run`] | one method from beginning to end, over any [`collective::Collective`] |
//! | [`prior`] | the parties of the federated prior, over the same collective |
//! | [`custom`] | methods whose parties are handed in; random search, pooled data, agents alone |
//! | [`vote`] | one private vote for the best candidate, then every agent for itself |
//! | [`campaign`], [`named`] | a campaign of sites, each in units of its own; the axes of a scenario with their names |
//! | [`agreement`], [`export`] | what both sides of a real federation agree on; what a device that takes part must be compiled with |
//! | [`context`], [`host`], [`lent`] | what the parties borrow; the server and its ledger; what is stored, and from where |
//! | [`shard`], `arena`, [`link`], `message` | the agents; where they lie side by side; links, and faults that wrap them |
//! | [`blocks`], [`regret_counts`], `recorder` | the transcript in blocks of agents; regrets as counts; what is written down about a round |

use std::num::NonZeroU32;

use custom::Custom;
use job::{Job, Place, run_seed};
use remote::may_travel;
use run::Surroundings;
use sordino_core::math::Scalar;
use sordino_experiment::journal::Journal;
use sordino_experiment::metrics::summarize;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, MethodRun, Record, stored_name};
use sordino_experiment::scenario::unused::Unused;
use sordino_experiment::scenario::{Head, Method, ObjectiveConfig, ScalarKind, Scenario};
use sordino_experiment::world::spread::{self, Spread};
use sordino_experiment::world::{self, Family, command};
use sordino_report::chart::Picture;
use sordino_report::read::RunFiles;
use sordino_report::view::View;
use sordino_report::{federation, observations, read};

use super::contract::{DriverKind, Jobs, Model, ModelError, Options, TrustModel};
use super::jobs::{FirstFailure, first_error_or_all, unfinished, whole_runs};
use super::part::Share;

pub mod agreement;
pub(crate) mod arena;
pub mod blocks;
pub mod campaign;
pub mod collective;
pub mod context;
pub mod custom;
mod draws;
mod error;
mod explain;
pub mod export;
pub mod held;
pub mod host;
mod job;
pub mod ledger;
pub mod lent;
pub mod link;
pub mod lockstep;
pub(crate) mod message;
pub mod named;
mod own;
pub mod prior;
pub(crate) mod recorder;
pub mod regret_counts;
pub(crate) mod remote;
pub mod run;
pub mod shard;
mod together;
pub(crate) mod tokio;
pub mod vote;
pub mod wired;

pub use error::{DriverError, RemoteError};
pub use own::Own;

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

    fn unused(&self, settings: &[String]) -> Vec<Unused> {
        Scenario::unused(self, settings)
    }

    fn work(&self) -> Vec<String> {
        self.federation
            .methods
            .iter()
            .map(|method| method.name().to_owned())
            .collect()
    }

    fn indivisible(&self) -> Option<&'static str> {
        let asked = matches!(self.objective, ObjectiveConfig::Command(_));
        asked.then_some("its functions are the answers of a program, of which one table is kept")
    }

    fn jobs(&self) -> Jobs {
        Jobs {
            count: self.steps(),
            unit: "rounds",
        }
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        recorded(self, run(self, options, progress)?, options)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Ok(explain::explain(self).map_err(DriverError::Accountant)?)
    }

    /// If no run is complete, the finished methods of the first run.
    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        let mut shorter = self.clone();
        let all = self.federation.methods.len();
        let runs = whole_runs(journal, self.runs, all)?;
        let parts = journal.finished_parts()?;
        shorter
            .federation
            .methods
            .retain(|method| runs > 0 || parts.contains(&stored_name(0, method.name())));
        let said = match runs {
            0 => format!(
                "{} of {all} methods of one run",
                shorter.federation.methods.len()
            ),
            _ => format!("{runs} of {} runs", self.runs),
        };
        (shorter.runs, shorter.description) = (runs.max(1), unfinished(&said, &self.description));
        Ok((!shorter.federation.methods.is_empty()).then(|| Box::new(shorter) as Box<dyn Model>))
    }

    fn kept(&self, key: &str) -> Vec<(String, String)> {
        let run = self
            .own
            .iter()
            .filter(|own| self.federation.methods.contains(&own.method.named()));
        run.filter_map(|own| {
            let value = match own.keys.set.as_ref()?.get(key)? {
                // As people write it: 2, not 2.0.
                toml::Value::Float(number) => number.to_string(),
                other => other.to_string(),
            };
            Some((own.method.name().to_owned(), value))
        })
        .collect()
    }

    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError> {
        let record = read::run_record(files, self).map_err(DriverError::Folder)?;
        Ok(federation::page::view(&record))
    }

    fn pictures(&self, files: RunFiles<'_>) -> Result<Vec<Picture>, ModelError> {
        let record = read::run_record(files, self).map_err(DriverError::Folder)?;
        Ok(federation::pictures::pictures(&record))
    }
}

/// What a scenario's results leave for programs.
fn recorded(
    scenario: &Scenario,
    results: Vec<MethodRun>,
    options: &Options,
) -> Result<Record, ModelError> {
    let summary = summarize(scenario, &results).map_err(DriverError::Accountant)?;
    let mut kept = Vec::new();
    if let Some(journal) = options.journal.as_deref() {
        kept.push(("ledger.jsonl", ledger::joined(journal, &results)?));
        if scenario.federation.observations {
            let points =
                observations::candidates(&journal.candidates()).map_err(DriverError::Folder)?;
            let names = observations::names(&journal.names()).map_err(DriverError::Folder)?;
            kept.push((
                "observations.csv",
                observations::all(&results, &points, &names, &scenario.objective),
            ));
            kept.push((
                "agents.csv",
                observations::best(&results, &points, &names, &scenario.objective),
            ));
        }
        if let ObjectiveConfig::Command(config) = &scenario.objective {
            let answers =
                command::ordered(config, &journal.answers()).map_err(DriverError::Objective)?;
            kept.push((command::FILE, answers));
        }
    }
    let cautions = [scenario.cautions(), doubts(scenario, options)?].concat();
    federation::record(scenario, &results, &summary, kept, &cautions, options.chain)
        .map_err(ModelError::failure)
}

/// Where the values that were seen contradict the scenario's constants. A table's values were
/// counted when it was read, so that parts can be put together without it.
fn doubts(scenario: &Scenario, options: &Options) -> Result<Vec<String>, DriverError> {
    let Some(journal) = options.journal.as_deref() else {
        return Ok(Vec::new());
    };
    let found = match &scenario.objective {
        ObjectiveConfig::Command(config) => Spread::of_answers(config, &journal.answers()),
        _ => Spread::kept(&journal.spread()),
    };
    let found = found.map_err(DriverError::Objective)?;
    Ok(found.map_or(Vec::new(), |found| spread::doubts(scenario, &found)))
}

/// Executes every method of every run of a scenario. The result is in the order of runs, then of
/// methods, and is the same for every [`Options`].
///
/// **Errors**: [`DriverError`]; the first that occurred ends the execution.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    // Without data, too, what is finished can be looked at.
    if let Some(results) = finished(scenario, options, progress)? {
        return Ok(results);
    }
    run_over(
        scenario,
        &*loaded(scenario, options)?,
        &[],
        options,
        progress,
    )
}

/// The functions that the scenario itself names.
fn loaded(scenario: &Scenario, options: &Options) -> Result<Box<dyn Family>, DriverError> {
    let answers = options.journal.as_deref().map(Journal::answers);
    sordino_experiment::world::load_beside(scenario, options.data.as_deref(), answers.as_deref())
        .map_err(DriverError::Objective)
}

/// The same over functions of the caller's, in a scenario whose objective is `custom`; [`Own`]
/// leaves a run folder, too.
///
/// **Errors**: as [`run()`]; functions of other agents, dimension or digest than the scenario says.
pub fn run_with(
    scenario: &Scenario,
    family: &dyn Family,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    world::custom::check(scenario, family).map_err(DriverError::Objective)?;
    match finished(scenario, options, progress)? {
        Some(results) => Ok(results),
        None => run_over(scenario, family, &[], options, progress),
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

fn run_over(
    scenario: &Scenario,
    family: &dyn Family,
    methods: &[(String, Custom)],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    if options.hub.is_some() {
        may_travel(scenario)?;
    }
    match scenario.surrogate.scalar {
        ScalarKind::F64 => run_in::<f64>(scenario, family, methods, options, progress),
        ScalarKind::F32 => run_in::<f32>(scenario, family, methods, options, progress),
    }
}

fn run_in<T: Scalar>(
    scenario: &Scenario,
    family: &dyn Family,
    customs: &[(String, Custom)],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    let job = Job::<T>::new(scenario, family, customs, options)?;
    let run_context = |index| job.run(index, family.realize(run_seed(scenario, index)));
    let around = Surroundings {
        progress,
        journal: options.journal.as_deref(),
        interval: options.interval,
        stop: &options.stop,
        failure: None,
    };
    let control = ::tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(DriverError::Runtime)?;
    let own = |index| own_methods(scenario, options.share, index);
    let own_runs = (0..scenario.runs).filter(|index| own(*index).next().is_some());
    let one_by_one = |place: Place<'_>| {
        control.block_on(async {
            let mut results = Vec::new();
            for index in own_runs.clone() {
                let run = run_context(index)?;
                for method in own(index) {
                    results.push(job.method(method, &run, place, around).await?);
                }
            }
            all_of(scenario, results)
        })
    };
    match (options.hub.as_deref(), options.driver) {
        (Some(hub), _) => one_by_one(Place::Elsewhere(hub)),
        (None, DriverKind::Lockstep) => one_by_one(Place::Here),
        (None, DriverKind::Tokio) => {
            let pool = &*options.pool()?;
            let threads = pool.current_num_threads();
            let jobs: usize = own_runs.clone().map(|index| own(index).count()).sum();
            // Enough jobs keep the pool busy by themselves; otherwise one job is cut into parts,
            // small enough to even out.
            let shards = options.shards.map_or(
                if jobs >= 4 * threads {
                    1
                } else {
                    4 * threads as u32
                },
                NonZeroU32::get,
            );
            let job = &job;
            let run_context = &run_context;
            let own = &own;
            let failure = &FirstFailure::default();
            let of_job = |place| Surroundings {
                failure: Some((failure, place)),
                ..around
            };
            let of_job = &of_job;
            control.block_on(async {
                let runs = own_runs.map(|index| async move {
                    let first = u64::from(index) * scenario.methods().count() as u64;
                    if of_job(first).ends_early() {
                        return Err(DriverError::Interrupted);
                    }
                    let run = &run_context(index).inspect_err(|_| failure.fail(first))?;
                    let jobs = own(index).zip(first..).map(|(method, place)| async move {
                        let around = of_job(place);
                        if around.ends_early() {
                            return Err(DriverError::Interrupted);
                        }
                        let here = Place::Pool(pool, shards);
                        let ended = job.method(method, run, here, around).await;
                        ended.inspect_err(|_| failure.fail(place))
                    });
                    first_error_or_all(together::at_most(threads + 1, jobs).await, is_interruption)
                });
                // Two runs at a time hide the end of one behind the beginning of the next; more
                // would only hold memory.
                let results = together::at_most(2, runs).await;
                let results = first_error_or_all(results, is_interruption)?;
                all_of(scenario, results.into_iter().flatten().collect())
            })
        }
    }
}

/// True if an execution was ended on request, or because another has failed.
fn is_interruption(error: &DriverError) -> bool {
    matches!(error, DriverError::Interrupted)
}

/// The methods of a run that are to be done here.
fn own_methods(
    scenario: &Scenario,
    share: Option<Share>,
    run: u32,
) -> impl Iterator<Item = Method> {
    let first = u64::from(run) * scenario.methods().count() as u64;
    scenario
        .methods()
        .zip(first..)
        .filter(move |(_, job)| share.is_none_or(|share| share.takes(*job)))
        .map(|(method, _)| method)
}

/// The results, if they cover all jobs.
fn all_of(scenario: &Scenario, results: Vec<MethodRun>) -> Result<Vec<MethodRun>, DriverError> {
    let all = scenario.runs as usize * scenario.methods().count();
    if results.len() == all {
        Ok(results)
    } else {
        Err(DriverError::PartDone)
    }
}
