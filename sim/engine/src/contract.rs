//! What every trust model is to the rest of the program.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::ValueEnum;
use rayon::ThreadPool;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::pool::PoolError;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, Record};
use sordino_experiment::scenario::Head;
use sordino_experiment::scenario::unused::Unused;
use sordino_report::chart::Picture;
use sordino_report::read::RunFiles;
use sordino_report::view::View;

use super::hub::Hub;
use super::part::Share;

/// Which driver executes the parties of a federation. The transcript is the same with either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DriverKind {
    /// One thread, virtual time: the reference
    Lockstep,
    /// Tasks and a pool of threads
    #[default]
    Tokio,
}

/// How to execute. Nothing here changes a result; `chain` changes what is recorded, `share` which
/// results are computed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads for arithmetic; `None` uses all cores.
    pub threads: Option<NonZeroUsize>,
    /// Threads shared with other executions; `None` starts `threads` new ones.
    pub pool: Option<Arc<ThreadPool>>,
    /// File or folder of scenarios that read data.
    pub data: Option<PathBuf>,
    /// Where finished jobs and checkpoints are kept; `None` keeps nothing.
    pub journal: Option<Arc<Journal>>,
    /// Time between two checkpoints of a job.
    pub interval: Duration,
    /// Set from outside: no further job is begun, and a federation stops at the end of a round,
    /// after a checkpoint.
    pub stop: Arc<AtomicBool>,
    /// The executor of federations.
    pub driver: DriverKind,
    /// Shards into which the tokio driver cuts the agents of a federation; `None` lets it choose.
    pub shards: Option<NonZeroU32>,
    /// Memory for posteriors that are kept between rounds; `None` is 256 MiB. A larger federation
    /// rebuilds them.
    pub workspace_bytes: Option<usize>,
    /// The jobs to do here, if the others are done elsewhere; `None` means all of them.
    pub share: Option<Share>,
    /// Where the agents of federations are held, if not in this process.
    pub hub: Option<Arc<dyn Hub>>,
    /// Whether the record of a federation keeps the digest after every round, or only the last one.
    pub chain: bool,
}

impl Options {
    /// The threads to compute on.
    ///
    /// **Errors**: the system's.
    pub fn pool(&self) -> Result<Arc<ThreadPool>, PoolError> {
        self.pool
            .clone()
            .map_or_else(|| sordino_experiment::pool::pool(self.threads), Ok)
    }
}

/// What went wrong in code that only one trust model knows: its error with all causes, or a
/// sentence.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an execution ended early; displayed in one line.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The scenario, its settings or its data do not fit: exit code 2.
    #[error(transparent)]
    Input(Cause),
    /// Anything else that went wrong.
    #[error(transparent)]
    Failure(Cause),
    /// It was interrupted on request; what is finished is in the journal.
    #[error("interrupted")]
    Interrupted,
    /// Every job of the share is done and in the journal; the jobs of other parts are not here.
    #[error("only the jobs of one part are here")]
    PartDone,
}

impl ModelError {
    /// The error for input that does not fit.
    pub fn input(why: impl Into<Cause>) -> Self {
        ModelError::Input(why.into())
    }

    /// The error for anything that went wrong although the input fits.
    pub fn failure(why: impl Into<Cause>) -> Self {
        ModelError::Failure(why.into())
    }
}

impl From<JournalError> for ModelError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Io { .. } => ModelError::failure(error),
            error => ModelError::input(error),
        }
    }
}

impl From<PoolError> for ModelError {
    fn from(error: PoolError) -> Self {
        ModelError::failure(error)
    }
}

/// A trust model whose scenarios are executed.
pub type TrustModel = sordino_experiment::scenario::TrustModel<dyn Model>;

/// What an execution is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// How many there are.
    pub count: u64,
    /// What they are, in the plural.
    pub unit: &'static str,
}

/// A scenario of one trust model, ready to be executed: all that the program knows of it.
pub trait Model: std::fmt::Debug + Send + Sync {
    /// Trust model, name, seed, runs.
    fn head(&self) -> Head;

    /// The scenario with every default written out: TOML that reads back as the same scenario.
    fn resolved(&self) -> String;

    /// What `--data` must name, for scenarios that read a file or a folder; `None` for all others.
    fn reads(&self) -> Option<&'static str>;

    /// The names of the jobs of each run, in order. The journal keeps each result under its run and
    /// job, and the parts of an execution are made of jobs.
    fn jobs(&self) -> Vec<String>;

    /// Why its jobs cannot be done by several processes; `None` if they can.
    fn indivisible(&self) -> Option<&'static str> {
        None
    }

    /// The methods that set this key for themselves, whatever the scenario says, with their values.
    fn kept(&self, _key: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Which of these dotted keys, set at one time, do nothing.
    fn unused(&self, keys: &[&str]) -> Vec<Unused>;

    /// What an execution of all runs is counted in, and how many of them there are.
    fn steps(&self) -> Steps {
        Steps {
            count: u64::from(self.head().runs) * self.jobs().len() as u64,
            unit: "jobs",
        }
    }

    /// Executes all runs of all methods. What it leaves is for programs: the summary, `rounds.csv`,
    /// `README.md` and the files of its own. It is the same for all [`Options`] but `chain` and
    /// `share`; without a journal it lacks what a journal keeps, such as the
    /// ledger.
    ///
    /// **Errors**: [`ModelError`]; the first that occurred ends the execution.
    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError>;

    /// What people see of that, made of the files alone.
    ///
    /// **Errors**: files that were changed.
    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError>;

    /// Pictures other than those of every trust model, made of the files alone.
    ///
    /// **Errors**: files that were changed.
    fn pictures(&self, _files: RunFiles<'_>) -> Result<Vec<Picture>, ModelError> {
        Ok(Vec::new())
    }

    /// What its releases promise, in plain words.
    ///
    /// **Errors**: a loss that cannot be computed.
    fn explain(&self) -> Result<Explanation, ModelError>;

    /// A smaller scenario, of the runs whose jobs are all in the journal; `None` if there is no
    /// such run.
    ///
    /// **Errors**: the journal's.
    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError>;
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Input(why) => CliError::input(why),
            ModelError::Failure(_) | ModelError::Interrupted | ModelError::PartDone => {
                CliError::failure(error)
            }
        }
    }
}
