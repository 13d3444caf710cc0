//! Functions brought along by a program that uses this library.

use super::{Family, ObjectiveError};
use crate::scenario::{ObjectiveConfig, Scenario};

/// Whether the functions are those of the scenario.
///
/// **Errors**: [`ObjectiveError::Other`]: another kind of objective; functions of other agents,
/// dimension or digest.
pub fn check(scenario: &Scenario, family: &dyn Family) -> Result<(), ObjectiveError> {
    let ObjectiveConfig::Custom(config) = &scenario.objective else {
        return Err(ObjectiveError::other(
            "kind",
            "custom",
            "another `objective.kind`",
        ));
    };
    let functions = family.realize(scenario.run_seed(0));
    if functions.agents() != scenario.federation.agents {
        return Err(ObjectiveError::other(
            "agents",
            functions.agents(),
            scenario.federation.agents,
        ));
    }
    if functions.dim() != config.dim {
        return Err(ObjectiveError::other(
            "dimension",
            functions.dim(),
            config.dim,
        ));
    }
    match &config.digest {
        Some(wanted) if *wanted != family.digest().to_string() => {
            Err(ObjectiveError::other("digest", family.digest(), wanted))
        }
        _ => Ok(()),
    }
}
