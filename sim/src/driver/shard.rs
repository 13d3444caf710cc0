//! Agents side by side in one arena, and what they say in a round.

use sordino_core::digest::Digest;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{Agent, AgentState, Input, Output, storage_len};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Header, Kind, ScalarTag};

use super::DriverError;
use super::context::MethodContext;

/// Consecutive agents of one federation: states, numbers, and what simulation alone may know of them.
pub struct Shard<T> {
    first: u32,
    states: Vec<AgentState>,
    storage: Vec<T>,
    storage_len: usize,
    best: Vec<f64>,
    leaves: Vec<Digest>,
    frames: Vec<u8>,
    frame_ends: Vec<usize>,
}

/// How a round begins for every agent.
#[derive(Clone, Copy)]
pub enum RoundStart<'b, T> {
    /// Initial points.
    First,
    /// The server's vectors.
    Broadcast(&'b [T]),
    /// Nothing was broadcast.
    NoBroadcast,
}

impl<T: Scalar> Shard<T> {
    /// Agents `first..first + count`, before their first point.
    pub fn new(method: &MethodContext<T>, first: u32, count: u32) -> Result<Self, DriverError> {
        let storage_len = storage_len(&method.config, &method.public()?);
        Ok(Shard {
            first,
            states: (first..first + count).map(|agent| AgentState::new(agent, method.run.seed)).collect(),
            storage: vec![T::ZERO; storage_len * count as usize],
            storage_len,
            best: vec![f64::NEG_INFINITY; count as usize],
            leaves: vec![Digest::default(); count as usize],
            frames: Vec::new(),
            frame_ends: Vec::new(),
        })
    }

    /// Index of its first agent.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Its agents' leaves of the round, in order.
    pub fn leaves(&self) -> &[Digest] {
        &self.leaves
    }

    /// Its agents' best noise-free values so far.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// The uploads of the round as wire frames, in agent order; empty if nothing was uploaded.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.frame_ends.iter().copied());
        starts.zip(&self.frame_ends).map(|(start, end)| &self.frames[start..*end])
    }

    /// Takes every agent through one round: until it uploads, waits or is done.
    pub fn advance(&mut self, method: &MethodContext<T>, start: RoundStart<'_, T>) -> Result<(), DriverError> {
        let public = method.public()?;
        let (config, objective) = (&method.config, &*method.run.objective);
        self.frames.clear();
        self.frame_ends.clear();
        let storages = self.storage.chunks_exact_mut(self.storage_len);
        for (((state, storage), best), leaf) in
            self.states.iter_mut().zip(storages).zip(&mut self.best).zip(&mut self.leaves)
        {
            let index = state.agent();
            let mut agent = Agent::attach(config, &public, state, storage).map_err(DriverError::Agent)?;
            let (mut input, round, observations) = match start {
                RoundStart::First => (Input::Start, 0, config.parameters().initial_points),
                RoundStart::Broadcast(vectors) => (Input::Broadcast(vectors), agent.state().round() + 1, 1),
                RoundStart::NoBroadcast => (Input::NoBroadcast, agent.state().round() + 1, 1),
            };
            let mut record = AgentLeaf::new(index, round, observations);
            *leaf = loop {
                match agent.handle(input).map_err(DriverError::Agent)? {
                    Output::Evaluate { candidate, number, .. } => {
                        let y = T::from_f64(objective.observe(index, candidate, number));
                        *best = best.max(objective.value(index, candidate));
                        record.observation(candidate, y);
                        input = Input::Observed(y);
                    }
                    Output::Upload(vector) => {
                        let end = self.frames.len();
                        self.frames.resize(end + wire::frame_len_max(ScalarTag::of::<T>(), vector.len()), 0);
                        let header = frame_header(method, index, round);
                        let used = wire::encode(header, vector, &mut self.frames[end..]).map_err(DriverError::Wire)?;
                        self.frames.truncate(end + used);
                        self.frame_ends.push(end + used);
                        break record.end(vector);
                    }
                    Output::Wait | Output::Done => break record.end::<T>(&[]),
                }
            };
        }
        Ok(())
    }
}

/// The header of an upload of this run.
fn frame_header<T>(method: &MethodContext<T>, agent: u32, round: u32) -> Header {
    Header {
        version: wire::VERSION,
        kind: Kind::Upload,
        scalar: ScalarTag::F64,
        run: method.run.seed.value(),
        config: method.config_id,
        agent,
        round,
        len: 0,
    }
}
