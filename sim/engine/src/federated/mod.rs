//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`run()`], [`run_with`], [`Own`] | executes a scenario; over functions of the caller's; into a run folder |
//! | [`lockstep`], `tokio` | the two executors |
//! | `remote`, [`held`], [`wired`] | agents elsewhere: the server's side, the agents' side, the bytes between them |
//! | `execute`, `job` | all methods of all runs, one by one or side by side; what they share |
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

use execute::run_over;
use sordino_experiment::journal::Journal;
use sordino_experiment::metrics::summarize;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, MethodRun, Record, stored_name};
use sordino_experiment::scenario::unused::Unused;
use sordino_experiment::scenario::{Head, ObjectiveConfig, Scenario};
use sordino_experiment::world::spread::{self, Spread};
use sordino_experiment::world::{self, Family, command};
use sordino_report::chart::Picture;
use sordino_report::read::RunFiles;
use sordino_report::view::View;
use sordino_report::{federation, observations, read};

use super::contract::{Jobs, Model, ModelError, Options, TrustModel};
use super::jobs::{unfinished, whole_runs};

pub mod agreement;
pub(crate) mod arena;
pub mod blocks;
pub mod campaign;
pub mod collective;
pub mod context;
pub mod custom;
mod draws;
mod error;
mod execute;
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
