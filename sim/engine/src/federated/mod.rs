//! Executing a scenario: who runs the parties, and what comes back.
//!
//! | name | what it is |
//! |---|---|
//! | [`run()`], [`Own`], `brought` | executes a scenario; with functions or methods of the caller's; what these are |
//! | `execute`, `job`, [`driver`] | all methods of all runs, one by one or side by side; what they share; who advances the agents of one |
//! | `remote`, [`held`], [`wired`] | agents elsewhere: the server's side, the agents' side, the bytes between them |
//! | `kept`, `error` | what a run keeps of its functions beside the results; why a driver stops |
//! | `explain`, [`ledger`] | who is protected from whom; the charges of all methods |
//! | [`mod@run`] | one method from beginning to end, over any [`collective::Collective`] |
//! | `draws` | methods that share draws of their posteriors, or nothing |
//! | [`prior`] | the parties of the federated prior, over the same collective |
//! | [`custom`] | methods whose parties are handed in; random search, pooled data, agents alone |
//! | [`vote`] | one private vote for the best candidate, then every agent for itself |
//! | [`campaign`], [`named`] | a campaign of sites, each in units of its own; the axes of a scenario with their names |
//! | [`agreement`], [`export`] | what both sides of a real federation agree on; what a device that takes part must be compiled with |
//! | [`context`], [`host`], [`lent`] | what the parties borrow; the server and its ledger; what is stored, and from where |
//! | [`shard`], `arena`, `turn`, [`link`], `message` | the agents; where they lie side by side; an order on its way through them; links, and faults that wrap them |
//! | [`blocks`], [`regret_counts`], `recorder` | the transcript in blocks of agents; regrets as counts; what is written down about a round |

use brought::Brought;
use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, MethodRun, Record, stored_name};
use sordino_experiment::scenario::unused::Unused;
use sordino_experiment::scenario::{FEDERATED, Head, ObjectiveConfig, Scenario};
use sordino_report::chart::Picture;
use sordino_report::federation::{page, pictures};
use sordino_report::read::RunFiles;
use sordino_report::view::View;

use super::contract::{Model, ModelError, Options, Steps, TrustModel};
use super::jobs::{unfinished, whole_runs};

pub mod agreement;
pub(crate) mod arena;
pub mod blocks;
mod brought;
pub mod campaign;
pub mod collective;
pub mod context;
pub mod custom;
mod draws;
pub mod driver;
mod error;
mod execute;
mod explain;
pub mod export;
pub mod held;
pub mod host;
mod job;
mod kept;
pub mod ledger;
pub mod lent;
pub mod link;
pub(crate) mod message;
pub mod named;
mod own;
pub mod prior;
pub(crate) mod recorder;
pub mod regret_counts;
pub(crate) mod remote;
pub mod run;
pub mod shard;
pub mod turn;
pub mod vote;
pub mod wired;

pub use error::{DriverError, RemoteError};
pub use own::Own;

/// A trusted server sees every agent's vector; the others only what it releases.
pub const TRUST: TrustModel = TrustModel {
    name: FEDERATED,
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

    fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        Scenario::unused(self, keys)
    }

    fn jobs(&self) -> Vec<String> {
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

    fn steps(&self) -> Steps {
        Steps {
            count: self.steps(),
            unit: "rounds",
        }
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        execute::record(self, Brought::NOTHING, options, progress)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Ok(explain::explain(self).map_err(DriverError::Accountant)?)
    }

    /// If no run is complete, the finished methods of the first run.
    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        let mut shorter = self.clone();
        let all = self.federation.methods.len();
        let runs = whole_runs(journal, self.runs, all)?;
        let jobs = journal.finished_jobs()?;
        shorter
            .federation
            .methods
            .retain(|method| runs > 0 || jobs.contains(&stored_name(0, method.name())));
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
        Ok(page::view(files, self).map_err(DriverError::Folder)?)
    }

    fn pictures(&self, files: RunFiles<'_>) -> Result<Vec<Picture>, ModelError> {
        Ok(pictures::pictures(files, self).map_err(DriverError::Folder)?)
    }
}

/// What every method of a scenario did in every run, in the order of runs, then of methods; the
/// same for every [`Options`]. [`Own`] has functions and methods of the caller's, and both leave a
/// run folder by `execute` of `sordino-lab`.
///
/// **Errors**: [`DriverError`]; the first that occurred ends the execution.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<MethodRun>, DriverError> {
    execute::results(scenario, Brought::NOTHING, options, progress)
}
