//! One scenario into one run folder.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sordino_core::privacy::accountant::AccountantError;

use crate::journal::checkpoint::{LedgerPart, Store, StoreError};
use crate::metrics::{Summary, summarize};
use crate::model::federated::{self, DriverError, RunOptions};
use crate::progress::Progress;
use crate::record::{MethodRun, stored_name};
use crate::report::folder::{FolderError, RunFolder};
use crate::report::json;
use crate::scenario::Scenario;

/// Why an execution left no complete folder.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The execution ended early.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The folder could not be made or filled.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What survives a kill could not be kept or used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A loss cannot be computed.
    #[error(transparent)]
    Accountant(#[from] AccountantError),
}

/// A folder and its state, or that there is nothing left to do in it.
pub enum Place {
    /// To be executed, from the beginning or from a checkpoint.
    Open(RunFolder, Arc<Store>),
    /// The folder holds the whole execution already.
    Complete,
}

/// Goes on in the folder at `path`, or begins it if it is new or empty.
///
/// **Errors**: a folder of another scenario, complete or not, with the difference; of anything else; one that another
/// process writes into.
pub fn begin_or_resume(path: &Path, scenario: &Scenario, interval: Duration) -> Result<Place, ExecuteError> {
    let folder = RunFolder::open(path)?;
    let store = Store::begin_or_resume(path, &scenario.resolved(), interval).map_err(ExecuteError::Store)?;
    Ok(store.map_or(Place::Complete, |store| Place::Open(folder, Arc::new(store))))
}

/// Begins in a folder that is new.
pub fn begin(folder: RunFolder, scenario: &Scenario, interval: Duration) -> Result<Place, ExecuteError> {
    let store = Store::create(folder.path(), &scenario.resolved(), interval).map_err(ExecuteError::Store)?;
    Ok(Place::Open(folder, Arc::new(store)))
}

/// Executes the scenario, fills the folder, joins the ledgers, seals the folder and drops the state.
///
/// **Errors**: [`ExecuteError`]; [`DriverError::Interrupted`] after a checkpoint. What a method left stays for whoever
/// resumes; a folder in which nothing was left is removed.
pub fn federated(
    scenario: &Scenario,
    folder: RunFolder,
    store: Arc<Store>,
    options: RunOptions,
    progress: &dyn Progress,
) -> Result<Summary, ExecuteError> {
    let options = RunOptions { store: Some(store.clone()), ..options };
    let results = match federated::run(scenario, &options, progress) {
        Ok(results) => results,
        Err(error) => {
            if !matches!(error, DriverError::Interrupted) {
                store.discard_if_empty();
                folder.discard_if_empty();
            }
            return Err(error.into());
        }
    };
    let summary = summarize(scenario, &results).map_err(ExecuteError::Accountant)?;
    folder.fill(scenario, &results, &summary, scenario.objective.regret_name())?;
    store.join_ledgers(&ledger_parts(&results)).map_err(ExecuteError::Store)?;
    // Nothing is written after it; what is left of the state is dropped by whoever comes next.
    folder.seal(&json::summary(scenario, &summary))?;
    store.discard().map_err(ExecuteError::Store)?;
    Ok(summary)
}

/// What each method must have charged, in the order of the results.
pub fn ledger_parts(results: &[MethodRun]) -> Vec<LedgerPart> {
    let part = |result: &MethodRun| LedgerPart {
        name: stored_name(result.run, result.method),
        fields: format!("\"run\":{},\"method\":\"{}\"", result.run, result.method),
        charges: result.releases,
    };
    results.iter().map(part).collect()
}
