//! What the trust models beside `federated` have in common: a scenario that executes itself in jobs.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::journal::jobs::{Journal, JournalError};
use crate::progress::JobProgress;
use crate::record::{Explanation, Outcome};
use crate::scenario::Head;

/// How to execute; none of it changes a result.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads for arithmetic; `None` is all cores.
    pub threads: Option<NonZeroUsize>,
    /// File or folder of scenarios that read data.
    pub data: Option<PathBuf>,
    /// Where finished jobs are kept.
    pub journal: Option<Arc<Journal>>,
    /// Set from outside: no further job is begun.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Why an execution ended early; says so in one line.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The scenario, its settings or its data do not fit: exit code 2.
    #[error("{0}")]
    Input(String),
    /// Anything else.
    #[error("{0}")]
    Failure(String),
    /// Somebody asked for it; finished jobs are in the journal.
    #[error("interrupted")]
    Interrupted,
}

impl From<JournalError> for ExperimentError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Input(text) => ExperimentError::Input(text),
            JournalError::Failure(text) => ExperimentError::Failure(text),
        }
    }
}

/// A scenario that is ready to be executed.
pub trait Experiment: std::fmt::Debug + Send + Sync {
    /// Name, seed, runs.
    fn head(&self) -> &Head;

    /// The scenario with every default written out: TOML that reads back as the same scenario.
    fn resolved(&self) -> String;

    /// Executes all runs of all methods.
    ///
    /// **Errors**: [`ExperimentError`]; the first that occurred ends the execution.
    fn execute(&self, options: &Options, progress: JobProgress<'_>) -> Result<Outcome, ExperimentError>;

    /// What its releases promise, in plain words.
    fn explain(&self) -> Explanation;
}
