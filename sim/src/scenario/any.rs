//! A scenario of any trust model; the key `trust` decides, federated if it is missing.

use super::federated::{Scenario, federated};
use super::head::Head;
use super::local::LocalScenario;
use super::output::OutputScenario;
use super::outsourced::OutsourcedScenario;
use super::reader::{Problem, ScenarioError, Section};
use super::root::with_root;
use super::trust::Trust;

/// A scenario of any trust model.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyScenario {
    /// Of `federated`.
    Federated(Box<Scenario>),
    /// Of `outsourced`.
    Outsourced(Box<OutsourcedScenario>),
    /// Of `local`.
    Local(Box<LocalScenario>),
    /// Of `output`.
    Output(Box<OutputScenario>),
}

impl AnyScenario {
    /// Reads a scenario from TOML, after the `key=value` settings were applied to it; the key `trust` decides how.
    ///
    /// **Errors**: as [`Scenario::parse`].
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<AnyScenario, ScenarioError> {
        with_root(source, text, settings, |mut root| {
            let trust = trust(&root)?;
            if trust == Trust::Federated {
                return Ok(AnyScenario::Federated(Box::new(federated(root)?)));
            }
            let head = Head::read(trust, &mut root)?;
            Ok(match trust {
                Trust::Outsourced => AnyScenario::Outsourced(Box::new(OutsourcedScenario::read(head, root)?)),
                Trust::Local => AnyScenario::Local(Box::new(LocalScenario::read(head, root)?)),
                Trust::Output | Trust::Federated => AnyScenario::Output(Box::new(OutputScenario::read(head, root)?)),
            })
        })
    }

    /// Name, seed and runs.
    pub fn head(&self) -> Head {
        match self {
            AnyScenario::Federated(scenario) => scenario.head(),
            AnyScenario::Outsourced(scenario) => scenario.head.clone(),
            AnyScenario::Local(scenario) => scenario.head.clone(),
            AnyScenario::Output(scenario) => scenario.head.clone(),
        }
    }

    /// Its trust model.
    pub fn trust(&self) -> Trust {
        match self {
            AnyScenario::Federated(_) => Trust::Federated,
            AnyScenario::Outsourced(_) => Trust::Outsourced,
            AnyScenario::Local(_) => Trust::Local,
            AnyScenario::Output(_) => Trust::Output,
        }
    }

    /// What `--data` must name, for scenarios that read a file or a folder; nothing for all others.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            AnyScenario::Federated(scenario) => scenario.objective.reads(),
            AnyScenario::Outsourced(scenario) => scenario.objective.reads(),
            AnyScenario::Local(scenario) => scenario.objective.reads(),
            AnyScenario::Output(_) => None,
        }
    }

    /// The scenario with every default written out: TOML that reads back as the same scenario.
    pub fn resolved(&self) -> String {
        match self {
            AnyScenario::Federated(scenario) => scenario.resolved(),
            AnyScenario::Outsourced(scenario) => scenario.resolved(),
            AnyScenario::Local(scenario) => scenario.resolved(),
            AnyScenario::Output(scenario) => scenario.resolved(),
        }
    }
}

fn trust(root: &Section) -> Result<Trust, Problem> {
    let choices = Trust::ALL.map(|trust| (trust.name(), trust));
    root.clone().choice("trust", &choices, Some(Trust::Federated))
}
