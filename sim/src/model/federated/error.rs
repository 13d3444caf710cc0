//! What can go wrong while a scenario is executed.

use std::fmt;

use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::prior::agent::AgentError as PriorAgentError;
use sordino_core::federated::prior::server::ReleaseError;
use sordino_core::federated::{AgentError, ConfigError, PublicError, ServerError};
use sordino_core::kernel::KernelError;
use sordino_core::wire::WireError;
use sordino_host::ledger::LedgerError;
use sordino_host::server::HostError;

use crate::journal::checkpoint::StoreError;
use crate::pool::PoolError;
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
    /// An agent of a federated prior refused.
    PriorAgent(PriorAgentError),
    /// A step of a federated prior, or its collector, refused.
    Release(ReleaseError),
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
    /// A file that outlives the program could not be written or used.
    Store(StoreError),
    /// The ledger cannot be used.
    Ledger(LedgerError),
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
            DriverError::PriorAgent(error) => write!(f, "{error}"),
            DriverError::Release(error) => write!(f, "{error}"),
            DriverError::Host(error) => write!(f, "{error}"),
            DriverError::Wire(error) => write!(f, "{error}"),
            DriverError::ForeignFrame { deployment, config } => {
                write!(
                    f,
                    "a frame of another execution arrived (deployment {deployment:016x}, configuration {config:016x})"
                )
            }
            DriverError::Store(error) => write!(f, "{error}"),
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

impl From<StoreError> for DriverError {
    fn from(error: StoreError) -> Self {
        DriverError::Store(error)
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
