//! A scenario of any trust model; the key `trust` decides, federated if it is missing.

use super::federated::Scenario;
use super::head::Head;
use super::local::LocalScenario;
use super::output::OutputScenario;
use super::outsourced::OutsourcedScenario;
use super::reader::ScenarioError;
use super::root::with_root;
use super::rule::Ruled;
use super::sections::SectionTables;
use super::trust::Trust;

/// A scenario of any trust model.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyScenario {
    /// Of `federated`.
    Federated(Box<Scenario>),
    /// Of `outsourced`.
    Outsourced(Box<OutsourcedScenario>),
    /// The trust model `local`.
    Local(Box<LocalScenario>),
    /// The trust model `output`.
    Output(Box<OutputScenario>),
}

impl AnyScenario {
    /// Reads a scenario from TOML, after the `key=value` settings were applied to it; the key `trust` decides how.
    ///
    /// **Errors**: as [`Scenario::parse`].
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<AnyScenario, ScenarioError> {
        with_root(source, text, settings, |root| {
            let trust = root.clone().required("trust", &Trust::RULE, Some(Trust::Federated))?;
            Ok(match trust {
                Trust::Federated => AnyScenario::Federated(Box::new(Scenario::read(root)?)),
                Trust::Outsourced => AnyScenario::Outsourced(Box::new(OutsourcedScenario::read(root)?)),
                Trust::Local => AnyScenario::Local(Box::new(LocalScenario::read(root)?)),
                Trust::Output => AnyScenario::Output(Box::new(OutputScenario::read(root)?)),
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

impl Trust {
    /// Everything that its scenarios may say, section by section; first what stands above all sections.
    pub fn sections(self) -> Vec<SectionTables> {
        let sections = match self {
            Trust::Federated => Scenario::sections(),
            Trust::Outsourced => OutsourcedScenario::sections(),
            Trust::Local => LocalScenario::sections(),
            Trust::Output => OutputScenario::sections(),
        };
        [SectionTables::of::<Head>("")].into_iter().chain(sections).collect()
    }
}
