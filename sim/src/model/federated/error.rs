//! What can go wrong while a scenario is executed.

use std::fmt;
use std::path::PathBuf;

use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::{AgentError, ConfigError, PublicError, ServerError};
use sordino_core::kernel::KernelError;
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::wire::WireError;
use sordino_host::ledger::LedgerError;
use sordino_host::server::HostError;

use crate::journal::JournalError;
use crate::model::contract::ModelError;
use crate::pool::PoolError;
use crate::report::read::ReadError;
use crate::world::ObjectiveError;
use crate::world::fault::TraceError;

/// Why an execution ended early.
#[derive(Debug)]
pub enum DriverError {
    /// The functions could not be built.
    Objective(ObjectiveError),
    /// The candidates or regions are not admissible.
    Domain(DomainError),
    /// The surrogate's kernel is not admissible.
    Kernel(KernelError),
    /// The features are not admissible.
    Features(FeatureError),
    /// The configuration of the federation is not admissible.
    Config(ConfigError),
    /// The public context does not fit the configuration.
    Public(PublicError),
    /// An agent refused.
    Agent(AgentError),
    /// The server refused.
    Server(ServerError),
    /// The server's host refused; an exhausted budget is no error.
    Host(HostError),
    /// A frame was refused.
    Wire(WireError),
    /// A frame of another execution.
    ForeignFrame {
        /// Its deployment.
        deployment: u64,
        /// Its configuration.
        config: u64,
    },
    /// What survives a kill could not be kept or used.
    Journal(JournalError),
    /// The ledger cannot be used.
    Ledger(LedgerError),
    /// A ledger cannot be read once its method is finished.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The ledger of a finished method does not have one charge for each release.
    Charges {
        /// The file.
        path: PathBuf,
        /// How many charges it has.
        charges: usize,
        /// How many releases there were.
        releases: u32,
    },
    /// A loss cannot be computed.
    Accountant(AccountantError),
    /// A run folder cannot be read back.
    Folder(ReadError),
    /// The trace of availability could not be read.
    Trace(TraceError),
    /// A snapshot does not hold what its agents need.
    Snapshot {
        /// The first agent it lacks.
        agent: u32,
    },
    /// A check that is always on failed: the program is wrong, and nothing more is released.
    Check(&'static str),
    /// Stopped from outside after a checkpoint.
    Interrupted,
    /// The thread pool could not be built.
    Threads(PoolError),
    /// The control loop could not be built.
    Runtime(std::io::Error),
    /// A worker ended without a result: it panicked.
    WorkerLost,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::Objective(error) => write!(f, "{error}"),
            DriverError::Domain(error) => write!(f, "{error}"),
            DriverError::Kernel(error) => write!(f, "{error}"),
            DriverError::Features(error) => write!(f, "{error}"),
            DriverError::Config(error) => write!(f, "{error}"),
            DriverError::Public(error) => write!(f, "{error}"),
            DriverError::Agent(error) => write!(f, "{error}"),
            DriverError::Server(error) => write!(f, "{error}"),
            DriverError::Host(error) => write!(f, "{error}"),
            DriverError::Wire(error) => write!(f, "{error}"),
            DriverError::ForeignFrame { deployment, config } => {
                write!(
                    f,
                    "a frame of another execution arrived (deployment {deployment:016x}, configuration {config:016x})"
                )
            }
            DriverError::Journal(error) => write!(f, "{error}"),
            DriverError::Unreadable { path, error } => write!(f, "{}: {error}", path.display()),
            DriverError::Charges { path, charges, releases } => {
                write!(f, "{}: {charges} charges for {releases} releases", path.display())
            }
            DriverError::Accountant(error) => write!(f, "{error}"),
            DriverError::Folder(error) => write!(f, "{error}"),
            DriverError::Ledger(error) => write!(f, "{error}"),
            DriverError::Trace(error) => write!(f, "{error}"),
            DriverError::Snapshot { agent } => write!(f, "the checkpoint does not hold agent {agent}"),
            DriverError::Check(what) => write!(f, "internal check failed: {what}"),
            DriverError::Interrupted => write!(f, "interrupted"),
            DriverError::Threads(error) => write!(f, "{error}"),
            DriverError::Runtime(error) => write!(f, "no control loop: {error}"),
            DriverError::WorkerLost => write!(f, "a worker ended without a result"),
        }
    }
}

impl std::error::Error for DriverError {}

impl From<PoolError> for DriverError {
    fn from(error: PoolError) -> Self {
        DriverError::Threads(error)
    }
}

impl From<JournalError> for DriverError {
    fn from(error: JournalError) -> Self {
        DriverError::Journal(error)
    }
}

impl From<AccountantError> for DriverError {
    fn from(error: AccountantError) -> Self {
        DriverError::Accountant(error)
    }
}

impl From<DriverError> for ModelError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Interrupted => ModelError::Interrupted,
            DriverError::Journal(error) => error.into(),
            DriverError::Objective(_) | DriverError::Folder(_) => ModelError::Input(error.to_string()),
            error => ModelError::Failure(error.to_string()),
        }
    }
}

impl From<HostError> for DriverError {
    fn from(error: HostError) -> Self {
        DriverError::Host(error)
    }
}

impl From<LedgerError> for DriverError {
    fn from(error: LedgerError) -> Self {
        DriverError::Ledger(error)
    }
}

impl From<PublicError> for DriverError {
    fn from(error: PublicError) -> Self {
        DriverError::Public(error)
    }
}
