//! Functions of a caller's own, executed like any other scenario.

use std::sync::Arc;

use super::super::contract::{Jobs, Model, ModelError, Options};
use super::{DriverError, recorded, run_with};
use crate::journal::Journal;
use crate::progress::Progress;
use crate::record::{Explanation, Record};
use crate::scenario::{Head, ObjectiveConfig, Scenario};
use crate::world::{Family, ObjectiveError, custom};

/// A scenario whose objective is `custom`, with its functions: what [`execute`](crate::study::execute) makes a run folder
/// of. The folder names the functions and their digest; `sordino report` reads it.
#[derive(Clone)]
pub struct Own {
    scenario: Scenario,
    family: Arc<dyn Family>,
}

impl Own {
    /// Joins them; the scenario gets the digest of the functions, unless it names one.
    ///
    /// **Errors**: [`ObjectiveError::Other`]: another kind of objective; functions of other agents, dimension or digest than
    /// the scenario says.
    pub fn new(mut scenario: Scenario, family: Arc<dyn Family>) -> Result<Self, ObjectiveError> {
        if let ObjectiveConfig::Custom(config) = &mut scenario.objective {
            config.digest.get_or_insert_with(|| family.digest().to_string());
        }
        custom::check(&scenario, &*family)?;
        Ok(Own { scenario, family })
    }

    /// The scenario, with the digest.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Own").field("scenario", &self.scenario).finish_non_exhaustive()
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
        None
    }

    fn jobs(&self) -> Jobs {
        Model::jobs(&self.scenario)
    }

    fn run(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let results = run_with(&self.scenario, &*self.family, options, progress)
            .map_err(|error: DriverError| ModelError::from(error))?;
        recorded(&self.scenario, results, options)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Model::explain(&self.scenario)
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        Model::finished(&self.scenario, journal)
    }
}
