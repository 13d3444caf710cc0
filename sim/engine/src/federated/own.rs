//! Functions and methods of a caller's own, executed like any other scenario.

use std::sync::Arc;

use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, MethodRun, Record};
use sordino_experiment::scenario::unused::Unused;
use sordino_experiment::scenario::{Head, Method, ObjectiveConfig, Scenario};
use sordino_experiment::world::oracle::Oracle;
use sordino_experiment::world::{self, Family, ObjectiveError};
use sordino_report::chart::Picture;
use sordino_report::read::RunFiles;
use sordino_report::view::View;

use super::super::contract::{Model, ModelError, Options, Steps};
use super::brought::{Brought, Functions};
use super::custom::{Custom, CustomError, join};
use super::error::DriverError;
use super::execute;

/// A scenario with what a program brings to it: functions, and methods for its tables `[[method]]`
/// of base `custom`. `execute` of `sordino-lab` makes a run folder from it, which names them with
/// their digests; `sordino report` reads it.
///
/// | made by | objective of the scenario | what the caller brings |
/// |---|---|---|
/// | [`Own::new`] | `custom` | points, values, optimum, noise; the folder names their digest |
/// | [`Own::asking`] | `command` | values alone, for settings by name; every answer is kept and never asked for again |
/// | [`Own::methods`] | any other | methods alone |
#[derive(Clone)]
pub struct Own {
    scenario: Scenario,
    brought: Brought,
}

impl Own {
    /// Joins scenario and functions; the scenario gets the digest of the functions, unless it names
    /// one.
    ///
    /// **Errors**: [`ObjectiveError::Other`]: another kind of objective; functions of other agents,
    /// dimension or digest than the scenario says.
    pub fn new(mut scenario: Scenario, family: Arc<dyn Family>) -> Result<Self, ObjectiveError> {
        if let ObjectiveConfig::Custom(config) = &mut scenario.objective {
            config
                .digest
                .get_or_insert_with(|| family.digest().to_string());
        }
        world::custom::check(&scenario, &*family)?;
        Ok(Own {
            scenario,
            brought: Brought {
                functions: Some(Functions::Family(family)),
                ..Brought::default()
            },
        })
    }

    /// A function in place of the program that the scenario names; a program with the same answers
    /// gives the same results. The answers are in `values.csv` of the run folder.
    ///
    /// **Errors**: [`ObjectiveError::Other`]: another kind of objective.
    pub fn asking(scenario: Scenario, oracle: Arc<dyn Oracle>) -> Result<Self, ObjectiveError> {
        match scenario.objective {
            ObjectiveConfig::Command(_) => Ok(Own {
                scenario,
                brought: Brought {
                    functions: Some(Functions::Asked(oracle)),
                    ..Brought::default()
                },
            }),
            _ => Err(ObjectiveError::Other {
                what: "kind",
                found: "command".into(),
                wanted: "another `objective.kind`".into(),
            }),
        }
    }

    /// A scenario over the functions that it names itself, with methods under the names of their
    /// tables.
    ///
    /// **Errors**: [`CustomError`]: methods that the scenario does not name, or that have another
    /// digest.
    pub fn methods<'n>(
        scenario: Scenario,
        methods: impl IntoIterator<Item = (&'n str, Custom)>,
    ) -> Result<Self, CustomError> {
        Own {
            scenario,
            brought: Brought::default(),
        }
        .with_methods(methods)
    }

    /// The same with methods under the names of their tables.
    ///
    /// **Errors**: as [`Own::methods`].
    pub fn with_methods<'n>(
        mut self,
        methods: impl IntoIterator<Item = (&'n str, Custom)>,
    ) -> Result<Self, CustomError> {
        let named = methods.into_iter();
        let named = named.map(|(name, custom)| (name.to_owned(), custom));
        self.brought.methods.extend(named);
        join(&mut self.scenario, &self.brought.methods)?;
        Ok(self)
    }

    /// What every method did in every run.
    ///
    /// **Errors**: as [`run`](super::run()).
    pub fn results(
        &self,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Vec<MethodRun>, DriverError> {
        execute::results(&self.scenario, &self.brought, options, progress)
    }

    /// The functions of its agents.
    ///
    /// **Errors**: as [`run`](super::run()), for functions that cannot be built.
    pub fn family(&self, options: &Options) -> Result<Arc<dyn Family>, DriverError> {
        self.brought.family(&self.scenario, options)
    }

    /// What was handed in for a method; nothing for one that the program has itself.
    ///
    /// **Errors**: [`CustomError::Missing`].
    pub fn handed_in(&self, method: Method) -> Result<Option<Custom>, CustomError> {
        self.brought.handed_in(method)
    }

    /// The scenario, with the digest.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Own")
            .field("scenario", &self.scenario)
            .finish_non_exhaustive()
    }
}

impl Model for Own {
    fn head(&self) -> Head {
        self.scenario.head()
    }

    fn resolved(&self) -> String {
        self.scenario.resolved()
    }

    fn reads(&self) -> Option<&'static str> {
        if matches!(self.brought.functions, Some(Functions::Family(_))) {
            None
        } else {
            self.scenario.objective.reads()
        }
    }

    fn jobs(&self) -> Vec<String> {
        self.scenario.jobs()
    }

    fn indivisible(&self) -> Option<&'static str> {
        Model::indivisible(&self.scenario)
    }

    fn kept(&self, key: &str) -> Vec<(String, String)> {
        Model::kept(&self.scenario, key)
    }

    fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        Model::unused(&self.scenario, keys)
    }

    fn steps(&self) -> Steps {
        Model::steps(&self.scenario)
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        execute::record(&self.scenario, &self.brought, options, progress)
    }

    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError> {
        self.scenario.view(files)
    }

    fn pictures(&self, files: RunFiles<'_>) -> Result<Vec<Picture>, ModelError> {
        self.scenario.pictures(files)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Model::explain(&self.scenario)
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        Model::finished(&self.scenario, journal)
    }
}
