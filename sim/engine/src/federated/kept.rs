//! What a run keeps of its functions beside the results, and the record that is made of both.

use sordino_experiment::journal::Journal;
use sordino_experiment::metrics::summarize;
use sordino_experiment::record::{MethodRun, Record};
use sordino_experiment::scenario::{ObjectiveConfig, Scenario};
use sordino_experiment::world::spread::{self, Spread};
use sordino_experiment::world::{Objective, command};
use sordino_report::{federation, observations};

use super::super::contract::{ModelError, Options};
use super::error::DriverError;
use super::ledger;

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

/// What a scenario's results leave for programs.
pub fn record(
    scenario: &Scenario,
    results: &[MethodRun],
    options: &Options,
) -> Result<Record, ModelError> {
    let summary = summarize(scenario, results).map_err(DriverError::Accountant)?;
    let mut kept = Vec::new();
    if let Some(journal) = options.journal.as_deref() {
        kept.push(("ledger.jsonl", ledger::joined(journal, results)?));
        if scenario.federation.observations {
            let points =
                observations::candidates(&journal.candidates()).map_err(DriverError::Folder)?;
            let names = observations::names(&journal.names()).map_err(DriverError::Folder)?;
            kept.push((
                "observations.csv",
                observations::all(results, &points, &names, &scenario.objective),
            ));
            kept.push((
                "agents.csv",
                observations::best(results, &points, &names, &scenario.objective),
            ));
        }
        if let ObjectiveConfig::Command(config) = &scenario.objective {
            let answers =
                command::ordered(config, &journal.answers()).map_err(DriverError::Objective)?;
            kept.push((command::FILE, answers));
        }
    }
    let cautions = [scenario.cautions(), doubts(scenario, options)?].concat();
    federation::record(scenario, results, &summary, kept, &cautions, options.chain)
        .map_err(ModelError::failure)
}

/// Where the values that were seen contradict the scenario's constants. A table's values were
/// counted when it was read, so that parts can be put together without it.
fn doubts(scenario: &Scenario, options: &Options) -> Result<Vec<String>, DriverError> {
    let Some(journal) = options.journal.as_deref() else {
        return Ok(Vec::new());
    };
    let found = match &scenario.objective {
        ObjectiveConfig::Command(config) => Spread::of_answers(config, &journal.answers()),
        _ => Spread::kept(&journal.spread()),
    };
    let found = found.map_err(DriverError::Objective)?;
    Ok(found.map_or(Vec::new(), |found| spread::doubts(scenario, &found)))
}
