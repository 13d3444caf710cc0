//! What a rehearsal wants to know about an agent besides its uploads; never present in a real
//! federation.

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::transcript::{AgentLeaf, Step, steps, steps_max};
use sordino_core::math::Scalar;

/// Bytes of one step of the transcript: a leaf, and the agent's best value after it.
pub(crate) const SLOT_BYTES: usize = 32 + 8;

/// What an agent has observed, as its simulation knows it.
pub(super) struct Watched<T> {
    protocol: Protocol,
    observe: Box<dyn Fn(u32, u32) -> [f64; 2] + Send>,
    /// Candidate, value as measured, best value without noise so far.
    observations: Vec<(u32, T, f64)>,
}

impl<T: Scalar> Watched<T> {
    pub(super) fn new(
        protocol: &Protocol,
        observe: impl Fn(u32, u32) -> [f64; 2] + Send + 'static,
    ) -> Self {
        Watched {
            protocol: protocol.clone(),
            observe: Box::new(observe),
            observations: Vec::new(),
        }
    }

    /// The next observation was made, at this candidate.
    pub(super) fn observed(&mut self, candidate: u32) {
        let [measured, value] = (self.observe)(candidate, self.observations.len() as u32);
        let best = self
            .observations
            .last()
            .map_or(f64::NEG_INFINITY, |(.., best)| *best);
        self.observations
            .push((candidate, T::from_f64(measured), best.max(value)));
    }

    /// Appends the steps of an epoch that ended with this upload, and as many empty ones as there
    /// is room for.
    pub(super) fn append(&self, agent: u32, epoch: u32, upload: &[T], frame: &mut Vec<u8>) {
        let end = frame.len() + SLOT_BYTES * steps_max(&self.protocol);
        for step in steps(&self.protocol, epoch) {
            let best = step
                .observations
                .1
                .checked_sub(1)
                .and_then(|last| self.observations.get(last as usize));
            frame.extend_from_slice(&self.leaf(agent, step, upload).0);
            frame.extend_from_slice(
                &best
                    .map_or(f64::NEG_INFINITY, |(.., best)| *best)
                    .to_le_bytes(),
            );
        }
        frame.resize(end, 0);
    }

    fn leaf(
        &self,
        agent: u32,
        Step {
            round,
            observations: (from, until),
            gives,
        }: Step,
        upload: &[T],
    ) -> Digest {
        let mut leaf = AgentLeaf::new(agent, round, until - from);
        for (candidate, measured, _) in self
            .observations
            .iter()
            .take(until as usize)
            .skip(from as usize)
        {
            leaf.observation(*candidate, *measured);
        }
        leaf.end(if gives { upload } else { &[] })
    }
}
