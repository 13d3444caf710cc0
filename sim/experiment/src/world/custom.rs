//! Functions brought along by a program that uses this library.

use sordino_core::random::RunSeed;

use super::{Family, ObjectiveError};
use crate::scenario::{ObjectiveConfig, Scenario};

/// Whether the functions are those of the scenario.
///
/// **Errors**: [`ObjectiveError::Other`]: another kind of objective; functions of other agents,
/// dimension or digest.
pub fn check(scenario: &Scenario, family: &dyn Family) -> Result<(), ObjectiveError> {
    let other = |what, found: String, wanted: String| {
        Err(ObjectiveError::Other {
            what,
            found,
            wanted,
        })
    };
    let ObjectiveConfig::Custom(config) = &scenario.objective else {
        return other("kind", "custom".into(), "another `objective.kind`".into());
    };
    let functions = family.realize(RunSeed::new(scenario.seed, 0));
    if functions.agents() != scenario.federation.agents {
        return other(
            "agents",
            functions.agents().to_string(),
            scenario.federation.agents.to_string(),
        );
    }
    if functions.dim() != config.dim {
        return other(
            "dimension",
            functions.dim().to_string(),
            config.dim.to_string(),
        );
    }
    match &config.digest {
        Some(wanted) if *wanted != family.digest().to_string() => {
            other("digest", family.digest().to_string(), wanted.clone())
        }
        _ => Ok(()),
    }
}
