//! Why a rehearsal ends without a digest.

use sordino_engine::federated::DriverError;
use sordino_experiment::scenario::Method;
use sordino_experiment::world::ObjectiveError;
use sordino_host::entropy::NoEntropy;

use crate::agent::AgentEnd;
use crate::agent::masks::MaskError;
use crate::door::OfferError;
use crate::help::desk::Refused;
use crate::help::line::LineError;
use crate::identity::IdentityError;
use crate::link::LinkError;
use crate::provision::ProvisionError;
use crate::rounds::Stop;
use crate::terms::TermsError;

/// Why a rehearsal has no digest.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The scenario has faults of its own: a network needs no others.
    #[error("the scenario has faults of its own; rehearse it with faults switched off")]
    Faults,
    /// A device takes part in one run.
    #[error("a device takes part in one run, this scenario has {runs}: --set runs=1")]
    DeviceRuns {
        /// Runs of the scenario.
        runs: u32,
    },
    /// A method whose agents are hosts.
    #[error("--device: no machine of a device runs the method {}; admissible: methods that share draws, the federated prior, and campaigns", .0.name())]
    DeviceMethod(Method),
    /// The ablation of a campaign: its sites would contribute what they know all the same.
    #[error("method {}: sites of a network contribute what they know, and no zeros; admissible: campaign, or `sordino run`", .0.name())]
    NoSignal(Method),
    /// The space has fewer points than agents have first points, so a virtual design has fewer too.
    #[error(
        "federation.initial_points = {asked}: a virtual design of this space has {designed} points, and a campaign over a network begins with as many"
    )]
    Design {
        /// Points of a virtual design.
        designed: usize,
        /// First points of a simulated agent.
        asked: u32,
    },
    /// A method that was not handed in.
    #[error("the method {} was not handed in: it is rehearsed as one of the scenario's", .0.name())]
    NotOwn(Method),
    /// The helper cannot be made.
    #[error("the helper: {0}")]
    Helper(#[from] Refused),
    /// The helper does not answer.
    #[error("the helper: {0}")]
    Line(#[from] LineError),
    /// An agent has no masks.
    #[error(transparent)]
    Masks(#[from] MaskError),
    /// The folder of agents that die cannot be made.
    #[error("--deaths: {0}")]
    Deaths(#[source] std::io::Error),
    /// The functions cannot be built.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// The public number of the run.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The terms of the federation.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A key cannot be made.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The system's entropy.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// What a device is given cannot be written.
    #[error(transparent)]
    Device(#[from] ProvisionError),
    /// What follows from releases cannot be offered to a device.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// No listener on loopback.
    #[error("cannot listen on loopback: {0}")]
    Listen(#[source] std::io::Error),
    /// The server's side.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// An agent was not enrolled.
    #[error("agent {agent} was not enrolled: {error}")]
    Enrol {
        /// Index of the agent.
        agent: u32,
        /// Why it was not enrolled.
        #[source]
        error: LinkError,
    },
    /// An agent ended early.
    #[error("agent {agent}: {error}")]
    Agent {
        /// Index of the agent.
        agent: u32,
        /// Why it ended early.
        #[source]
        error: AgentEnd,
    },
    /// A task was lost: it panicked.
    #[error("a task was lost")]
    Lost,
    /// The deadline passed while answers were missing.
    #[error("round {round}: only {answered} agents answered before the deadline")]
    Deadline {
        /// The round it happened in.
        round: u32,
        /// Answers that came.
        answered: u32,
    },
}
