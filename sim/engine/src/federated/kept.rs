//! What a run keeps of its functions beside the results, and what it says against the scenario.

use sordino_experiment::journal::Journal;
use sordino_experiment::scenario::{ObjectiveConfig, Scenario};
use sordino_experiment::world::spread::{self, Spread};
use sordino_experiment::world::{Objective, command};
use sordino_report::observations;

use super::super::contract::Options;
use super::error::DriverError;

/// Keeps what a report says of the functions beside the results: candidates and names where
/// observations are wanted, and how far agents' functions differ where that is known.
///
/// **Errors**: a file that cannot be written.
pub fn keep(
    journal: &Journal,
    scenario: &Scenario,
    objective: &dyn Objective,
) -> Result<(), DriverError> {
    if scenario.federation.observations {
        let candidates = objective.candidates();
        observations::keep_candidates(&journal.candidates(), candidates, objective.dim())
            .map_err(DriverError::Folder)?;
        observations::keep_names(&journal.names(), objective.agent_names())
            .map_err(DriverError::Folder)?;
    }
    if spread::is_known(&scenario.objective)
        && let Some(found) = Spread::of_objective(objective)
    {
        found
            .keep(&journal.spread())
            .map_err(DriverError::Objective)?;
    }
    Ok(())
}

/// Where the values that were seen contradict the scenario's constants. A table's values were
/// counted when it was read, so that parts can be put together without it.
///
/// **Errors**: what was kept and cannot be read.
pub fn doubts(scenario: &Scenario, options: &Options) -> Result<Vec<String>, DriverError> {
    let Some(journal) = options.journal.as_deref() else {
        return Ok(Vec::new());
    };
    let (found, beyond) = match &scenario.objective {
        ObjectiveConfig::Command(config) => {
            let answers = command::answers(&journal.answers()).map_err(DriverError::Objective)?;
            (
                Spread::of_answers(config, &answers),
                spread::beyond(config, &answers),
            )
        }
        _ => {
            let kept = Spread::kept(&journal.spread()).map_err(DriverError::Objective)?;
            (kept, None)
        }
    };
    let doubts = found.map_or(Vec::new(), |found| spread::doubts(scenario, &found));
    Ok(doubts.into_iter().chain(beyond).collect())
}
