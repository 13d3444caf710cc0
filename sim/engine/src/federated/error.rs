//! What can go wrong while a scenario is executed.

use std::path::PathBuf;

use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::prior::ContextError;
use sordino_core::federated::prior::agent::AgentError as PriorAgentError;
use sordino_core::federated::shares::ShareError;
use sordino_core::federated::{AgentError, ConfigError, PublicError, ServerError};
use sordino_core::kernel::KernelError;
use sordino_core::privacy::SourceKind;
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::wire::WireError;
use sordino_experiment::journal::JournalError;
use sordino_experiment::pool::PoolError;
use sordino_experiment::scenario::Method;
use sordino_experiment::world::ObjectiveError;
use sordino_experiment::world::fault::TraceError;
use sordino_host::campaign::SiteError;
use sordino_host::ledger::LedgerError;
use sordino_host::server::HostError;
use sordino_report::read::ReadError;

use super::super::hub::HubError;
use super::custom::CustomError;
use crate::contract::ModelError;

/// Why an execution ended early.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The functions could not be built.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// The candidates or regions are not admissible.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A region in which no candidate lies.
    #[error(
        "region {region} of {regions} has no candidate, and its agents nothing to explore; admissible: federation.splits \
         in which every part has one"
    )]
    EmptyRegion {
        /// Number of the region.
        region: u32,
        /// How many there are.
        regions: u32,
    },
    /// A method that cannot leave the process it runs in.
    #[error(
        "method {}: runs in one process only; admissible over a network: ts, methods that share draws (fts, dp-fts and their \
         variants), the federated prior (prior, dp-prior and its variants), and vote; a campaign is served from a space file \
         (`sordino serve SPACE.toml`)", .0.name()
    )]
    NotCarried(Method),
    /// A method whose releases follow a plan, in a scenario that has none.
    #[error(
        "method {name}: the scenario has no plan of releases ([prior]); it has one where federation.methods names the method: \
         --set 'federation.methods=[\"{name}\"]'", name = .0.name()
    )]
    NoPlan(Method),
    /// A scenario of which no campaign can be made.
    #[error("method {}: {why}", .method.name())]
    NoCampaign {
        /// Name and parts of the method.
        method: Method,
        /// What is wrong with the scenario, and what is admissible, in words.
        why: String,
    },
    /// A site of a campaign refused.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The surrogate's kernel is not admissible.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The features are not admissible.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The configuration of the federation is not admissible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The public context does not fit the configuration.
    #[error(transparent)]
    Public(#[from] PublicError),
    /// An agent refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The server refused.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The helper of two servers refused, or its leader.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The features of a federated prior cannot be made.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// An agent of a federated prior refused.
    #[error(transparent)]
    PriorAgent(#[from] PriorAgentError),
    /// The server's host refused; an exhausted budget is not an error.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A frame was refused.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A frame from another execution.
    #[error(
        "a frame of another execution arrived (deployment {deployment:016x}, configuration {config:016x})"
    )]
    ForeignFrame {
        /// Its deployment.
        deployment: u64,
        /// Its configuration.
        config: u64,
    },
    /// The state that should survive a kill could not be stored or used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A ledger cannot be read once its method is finished.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// The ledger of a finished method does not have one charge for each release.
    #[error("{}: {charges} charges for {releases} releases", path.display())]
    Charges {
        /// Path of the file.
        path: PathBuf,
        /// How many charges it has.
        charges: usize,
        /// How many releases there were.
        releases: u32,
    },
    /// A line of such a ledger cannot be read or written.
    #[error("a line of a ledger: {0}")]
    Json(#[source] serde_json::Error),
    /// A loss cannot be computed.
    #[error(transparent)]
    Accountant(#[from] AccountantError),
    /// A run folder cannot be read back.
    #[error(transparent)]
    Folder(ReadError),
    /// The trace of availability could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A snapshot does not hold what its agents need.
    #[error("the checkpoint does not hold agent {agent}")]
    Snapshot {
        /// The first agent it lacks.
        agent: u32,
    },
    /// A check that is always on failed: the program is wrong, and nothing more is released.
    #[error("internal check failed: {0}")]
    Check(&'static str),
    /// A method that was handed in does not fit, or does what it must not.
    #[error(transparent)]
    Custom(#[from] CustomError),
    /// Agents cannot be held elsewhere, or their holders gave up.
    #[error(transparent)]
    Remote(RemoteError),
    /// Stopped from outside after a checkpoint.
    #[error("interrupted")]
    Interrupted,
    /// Every job of the share is done; the jobs of other parts are not here.
    #[error("only the jobs of one part are here")]
    PartDone,
    /// The thread pool could not be built.
    #[error(transparent)]
    Threads(#[from] PoolError),
    /// The control loop could not be built.
    #[error("no control loop: {0}")]
    Runtime(#[source] std::io::Error),
    /// A worker ended without a result: it panicked.
    #[error("a worker ended without a result")]
    WorkerLost,
}

/// Why agents of a run cannot be held elsewhere, or what went wrong with those that are.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Coins and noise are secret.
    #[error(
        "an order made with {0} must not leave its process: it carries the secret sample; only simulated sources may be \
         run on other machines"
    )]
    Secret(SourceKind),
    /// A part of the run that is code or a program of the caller's.
    #[error("{what} cannot be run on other machines: {why}; admissible: {admissible}")]
    Stays {
        /// What was asked for, by name.
        what: String,
        /// Why it stays where it is.
        why: &'static str,
        /// What may be asked for.
        admissible: &'static str,
    },
    /// Bytes that are not what they should be.
    #[error("{0} that arrived does not decode")]
    Undecodable(&'static str),
    /// What another process should have, and no bytes hold.
    #[error("{0} cannot be written for another process")]
    Unsendable(&'static str),
    /// Answers about the wrong number of agents, or about some of them twice.
    #[error("answers are about {found} agents, or of some of them twice; {expected} are enrolled")]
    Agents {
        /// How many they are about.
        found: u64,
        /// All enrolled agents.
        expected: u32,
    },
    /// The holders of the agents gave up.
    #[error(transparent)]
    Hub(Box<dyn std::error::Error + Send + Sync>),
    /// An interruption was requested while no worker was there to finish the round.
    #[error("interrupted")]
    Interrupted,
}

impl RemoteError {
    /// What stays in its process, why, and what may be asked for instead.
    pub(super) fn stays(
        what: impl Into<String>,
        why: &'static str,
        admissible: &'static str,
    ) -> Self {
        RemoteError::Stays {
            what: what.into(),
            why,
            admissible,
        }
    }
}

impl From<HubError> for RemoteError {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Interrupted => RemoteError::Interrupted,
            HubError::Failed(cause) => RemoteError::Hub(cause),
        }
    }
}

impl From<RemoteError> for DriverError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Interrupted => DriverError::Interrupted,
            error => DriverError::Remote(error),
        }
    }
}

impl From<DriverError> for ModelError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Interrupted => ModelError::Interrupted,
            DriverError::PartDone => ModelError::PartDone,
            DriverError::Journal(error) => error.into(),
            // The scenario is right; the user's program or function is not, or the disk is full.
            DriverError::Objective(
                ObjectiveError::Program { .. }
                | ObjectiveError::Answer { .. }
                | ObjectiveError::Function { .. }
                | ObjectiveError::Unwritable { .. },
            )
            | DriverError::Folder(ReadError::Unwritable { .. }) => ModelError::failure(error),
            DriverError::Custom(
                CustomError::Missing(_) | CustomError::Unknown { .. } | CustomError::Other { .. },
            )
            | DriverError::Objective(_)
            | DriverError::Folder(_)
            | DriverError::Trace(_)
            | DriverError::Remote(RemoteError::Stays { .. })
            | DriverError::NoCampaign { .. }
            | DriverError::EmptyRegion { .. } => ModelError::input(error),
            error => ModelError::failure(error),
        }
    }
}
