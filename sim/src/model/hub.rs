//! A federation whose agents are elsewhere: what an execution needs of those who hold them.
//!
//! A hub moves bytes and knows nothing of what they mean: [`super::federated::remote`] writes and reads them on the side of
//! the books, [`super::federated::post`] on that of the agents. Agents are handed out in lots, consecutive ones, which stay
//! the same as long as a method runs: who holds a lot may change, what it answers does not.

use std::fmt::Debug;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Agents of one method in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Index of the run, 0-based.
    pub run: u32,
    /// Name of the method, as the scenario lists it.
    pub method: String,
}

/// An order as it leaves the process. Inside the trust boundary, and of simulated sources alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// What all members are told, the broadcast among it.
    pub common: Vec<u8>,
    /// What the holder of each lot is told of its own agents, in the order of the lots.
    pub parts: Vec<Vec<u8>>,
}

/// How far a round has come among those who hold the agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Agents whose lots have answered.
    pub done: u32,
    /// Who is awaited, in words.
    pub awaited: String,
}

/// Why a hub gave up. A holder that is lost is no reason.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Somebody asked for it while nobody was there to finish the round.
    #[error("interrupted")]
    Interrupted,
    /// Anything else, with its causes.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

/// Those who hold the agents of a federation. Calls come one after the other.
pub trait Hub: Debug + Send + Sync {
    /// Takes up a task: fresh agents, or agents as in the snapshots, one for each lot. What was held before is dropped.
    ///
    /// **Errors**: [`HubError`].
    fn begin(&self, task: &Task, lots: &[Range<u32>], snapshots: Option<Vec<Vec<u8>>>) -> Result<(), HubError>;

    /// Takes all agents through an order, once, whoever is lost meanwhile; `tell` hears how it goes on.
    ///
    /// **Returns** answers that together are those of all lots, in any order.
    ///
    /// **Errors**: [`HubError`].
    fn round(&self, letter: Letter, tell: &mut dyn FnMut(&Heard)) -> Result<Vec<Vec<u8>>, HubError>;

    /// What all agents are between two orders: one snapshot for each lot, in the order of the lots. Orders before it are
    /// not needed any more.
    ///
    /// **Errors**: [`HubError`].
    fn snapshot(&self) -> Result<Vec<Vec<u8>>, HubError>;
}
