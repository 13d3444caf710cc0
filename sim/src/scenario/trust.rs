//! Which trust model a scenario is of: the key `trust`, federated if it is missing.

use super::reader::{Problem, Section};
use super::{Scenario, ScenarioError, federated};
use crate::model::{self, Experiment};

/// Who may see what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// A trusted server sees every agent's vector; the others only what it releases.
    Federated,
    /// A curator holds the inputs; whoever optimises sees a projection of them.
    Outsourced,
    /// Nobody is trusted: every user perturbs the own reward.
    Local,
    /// One party tunes on its own data and publishes the result.
    Output,
}

impl Trust {
    /// All, in the order of `sordino list`.
    pub const ALL: [Trust; 4] = [Trust::Federated, Trust::Outsourced, Trust::Local, Trust::Output];

    /// The value of the key `trust`.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Federated => "federated",
            Trust::Outsourced => "outsourced",
            Trust::Local => "local",
            Trust::Output => "output",
        }
    }

    /// One line for people.
    pub const fn description(self) -> &'static str {
        match self {
            Trust::Federated => "a trusted server aggregates; readers of its broadcasts are not trusted",
            Trust::Outsourced => "a curator holds the inputs; whoever optimises is not trusted",
            Trust::Local => "nobody is trusted: every user perturbs the own reward",
            Trust::Output => "one party tunes on its own data; readers of the result are not trusted",
        }
    }
}

/// A scenario of any trust model.
#[derive(Debug)]
pub enum AnyScenario {
    /// Of `federated`.
    Federated(Box<Scenario>),
    /// Of another, ready to be executed.
    Other(Box<dyn Experiment>),
}

impl AnyScenario {
    /// Reads a scenario from TOML, after the `key=value` settings were applied to it; the key `trust` decides how.
    ///
    /// **Errors**: as [`Scenario::parse`].
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<AnyScenario, ScenarioError> {
        federated::with_root(source, text, settings, |root| match trust(&root)? {
            Trust::Federated => Ok(AnyScenario::Federated(Box::new(federated::federated(root)?))),
            other => Ok(AnyScenario::Other(model::read(other, root)?)),
        })
    }

    /// Its trust model.
    pub fn trust(&self) -> Trust {
        match self {
            AnyScenario::Federated(_) => Trust::Federated,
            AnyScenario::Other(experiment) => experiment.head().trust,
        }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        match self {
            AnyScenario::Federated(scenario) => scenario.seed,
            AnyScenario::Other(experiment) => experiment.head().seed,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            AnyScenario::Federated(scenario) => &scenario.name,
            AnyScenario::Other(experiment) => &experiment.head().name,
        }
    }

    /// Number of its runs.
    pub fn runs(&self) -> u32 {
        match self {
            AnyScenario::Federated(scenario) => scenario.runs,
            AnyScenario::Other(experiment) => experiment.head().runs,
        }
    }

    /// What `--data` must name, for scenarios that read a file or a folder; nothing for all others.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            AnyScenario::Federated(scenario) => scenario.objective.reads(),
            AnyScenario::Other(experiment) => experiment.reads(),
        }
    }

    /// One line for people.
    pub fn description(&self) -> &str {
        match self {
            AnyScenario::Federated(scenario) => &scenario.description,
            AnyScenario::Other(experiment) => &experiment.head().description,
        }
    }
}

fn trust(root: &Section) -> Result<Trust, Problem> {
    let choices = Trust::ALL.map(|trust| (trust.name(), trust));
    root.clone().choice("trust", &choices, Some(Trust::Federated))
}
