//! What an execution of a federation decided, as a chain of digests.
//!
//! **Layout** (little-endian, frozen by vectors): an agent's leaf is agent, round, number of observations (u32 each),
//! then (candidate u32, value) each, then the length of the upload (u32, 0 if none) and its numbers. The frame of round
//! t is d_{t−1}, t (u32), the leaves in agent order, the length of the broadcast (u32) and its numbers.

use crate::digest::{Digest, Frame};
use crate::math::Scalar;

/// One agent's part of a round.
#[derive(Clone)]
pub struct AgentLeaf(Frame);

impl AgentLeaf {
    /// Begins the leaf of `agent` in `round`, which made `observations` observations.
    pub fn new(agent: u32, round: u32, observations: u32) -> Self {
        let mut frame = Frame::leaf();
        frame.u32(agent);
        frame.u32(round);
        frame.u32(observations);
        AgentLeaf(frame)
    }

    /// Appends an observation: where, and the value as the agent was told it.
    pub fn observation<T: Scalar>(&mut self, candidate: u32, value: T) {
        self.0.u32(candidate);
        self.0.scalars(&[value]);
    }

    /// Ends the leaf with the uploaded weights; empty if nothing was uploaded.
    pub fn end<T: Scalar>(mut self, upload: &[T]) -> Digest {
        self.0.u32(upload.len() as u32);
        self.0.scalars(upload);
        self.0.end()
    }
}

/// The next element of the chain: round t after `previous`, with every agent's leaf and the broadcast (empty if none).
pub fn link<'l, T: Scalar>(
    previous: &Digest,
    round: u32,
    leaves: impl Iterator<Item = &'l Digest>,
    broadcast: &[T],
) -> Digest {
    let mut frame = previous.frame();
    frame.u32(round);
    leaves.for_each(|leaf| frame.digest(leaf));
    frame.u32(broadcast.len() as u32);
    frame.scalars(broadcast);
    frame.end()
}
