//! What an agent sends to a server that takes no sums.

use serde::{Deserialize, Serialize};

/// What an agent sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The index of its sender.
    pub agent: u32,
    /// The round at whose end it was sent; a late message is from an earlier round.
    pub round: u32,
    /// The numbers that it sent.
    pub numbers: Vec<f64>,
}
