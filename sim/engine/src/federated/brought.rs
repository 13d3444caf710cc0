//! What a program brings to a scenario: functions, and methods that are none of the simulator's.

use std::sync::Arc;

use sordino_experiment::journal::Journal;
use sordino_experiment::scenario::method::Kind;
use sordino_experiment::scenario::{Method, ObjectiveConfig, Scenario};
use sordino_experiment::world::command::Commands;
use sordino_experiment::world::oracle::Oracle;
use sordino_experiment::world::{Family, load_beside};

use super::super::contract::Options;
use super::custom::{Custom, CustomError, builtin};
use super::error::DriverError;

/// Functions and methods of a caller's own; by default there are none.
#[derive(Clone, Default)]
pub struct Brought {
    /// Functions in the place of those that the scenario names.
    pub functions: Option<Functions>,
    /// Methods under the names of their tables.
    pub methods: Vec<(String, Custom)>,
}

/// Functions in the place of a scenario's.
#[derive(Clone)]
pub enum Functions {
    /// Points, values, optimum, noise.
    Family(Arc<dyn Family>),
    /// Values alone, in the place of a program's answers.
    Asked(Arc<dyn Oracle>),
}

impl Brought {
    /// What a scenario has that is executed as it is.
    pub const NOTHING: &Self = &Brought {
        functions: None,
        methods: Vec::new(),
    };

    /// The functions of a scenario's agents: those that were brought, or else those that it names.
    ///
    /// **Errors**: functions that cannot be built, or data that do not fit.
    pub fn family(
        &self,
        scenario: &Scenario,
        options: &Options,
    ) -> Result<Arc<dyn Family>, DriverError> {
        let answers = options.journal.as_deref().map(Journal::answers);
        let data = options.data.as_deref();
        match (&self.functions, &scenario.objective) {
            (Some(Functions::Family(family)), _) => Ok(family.clone()),
            (Some(Functions::Asked(oracle)), ObjectiveConfig::Command(config)) => {
                let (agents, oracle) = (scenario.federation.agents, oracle.clone());
                let asked = Commands::asking(config, agents, data, answers.as_deref(), oracle)?;
                Ok(Arc::new(asked))
            }
            (Some(Functions::Asked(_)), _) => {
                Err(DriverError::Check("a function in place of no program"))
            }
            (None, _) => Ok(load_beside(scenario, data, answers.as_deref())?.into()),
        }
    }

    /// The parties of a method that was handed in or is built in the same form; nothing for all
    /// others.
    ///
    /// **Errors**: [`CustomError::Missing`].
    pub fn handed_in(&self, method: Method) -> Result<Option<Custom>, CustomError> {
        if method.parts().kind != Kind::Custom {
            return Ok(builtin::of(method));
        }
        let mut methods = self.methods.iter();
        match methods.find(|(name, _)| *name == method.name()) {
            Some((_, custom)) => Ok(Some(custom.clone())),
            None => Err(CustomError::Missing(method.name().to_owned())),
        }
    }
}
