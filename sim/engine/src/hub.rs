//! A federation whose agents are elsewhere: what an execution needs from their holders.
//!
//! A hub moves bytes and knows nothing about their meaning: `super::federated::remote` writes and
//! reads them on the server's side, [`super::federated::held`] on the agents' side. Agents are
//! handed out in lots of consecutive ones, which stay the same as long as a method runs: the holder
//! of a lot may change, but the lot's answers do not.

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
pub struct EncodedOrder {
    /// The part that is the same for all members, the broadcast included.
    pub common: Vec<u8>,
    /// The part about its own agents for the holder of each lot, in the order of the lots.
    pub parts: Vec<Vec<u8>>,
}

/// How far the holders of the agents have come in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Agents whose lots have answered.
    pub done: u32,
    /// Which workers are awaited, in words.
    pub awaited: String,
}

/// Why a hub gave up. Losing a holder is not a reason.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// An interruption was requested while no worker was there to finish the round.
    #[error("interrupted")]
    Interrupted,
    /// Anything else, with its causes.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

/// The holders of a federation's agents. Calls come one after the other.
pub trait Hub: Debug + Send + Sync {
    /// Takes up a task: fresh agents, or agents as in the snapshots, one for each lot. What was
    /// held before is dropped.
    ///
    /// **Errors**: [`HubError`].
    fn begin(
        &self,
        task: &Task,
        lots: &[Range<u32>],
        snapshots: Option<Vec<Vec<u8>>>,
    ) -> Result<(), HubError>;

    /// Takes all agents through an order, once, even if workers are lost in the meantime; `tell` is
    /// called with its progress.
    ///
    /// **Returns** answers that together cover all lots, in any order.
    ///
    /// **Errors**: [`HubError`].
    fn round(
        &self,
        encoded: EncodedOrder,
        tell: &mut dyn FnMut(&Heard),
    ) -> Result<Vec<Vec<u8>>, HubError>;

    /// The state of all agents between two orders: one snapshot for each lot, in the order of the
    /// lots. Earlier orders are no longer needed.
    ///
    /// **Errors**: [`HubError`].
    fn snapshot(&self) -> Result<Vec<Vec<u8>>, HubError>;
}
