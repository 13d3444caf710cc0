//! Agents side by side in one arena, their links, and the collector of their uploads.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::digest::Digest;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Collector, CollectorStorage, Counters, Input, Output, ServerError, Workspace,
    log_len, workspace_len,
};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Header, Kind, ScalarTag, WireError};

use super::blocks;
use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Crew, Order, Partial, Snapshot};
use crate::progress::{Stage, Step};
use crate::record::is_report_round;
use crate::world::fault::{Fate, FaultCounts};

/// Consecutive agents of one federation.
///
/// An agent is a few words of state and a slice of `logs`; no allocation, no task of its own.
pub struct Shard<T> {
    method: Arc<MethodContext<T>>,
    first: u32,
    states: Vec<AgentState>,
    logs: Vec<T>,
    workspaces: Vec<T>,
    kept: bool,
    best: Vec<f64>,
    late: Vec<(u32, Vec<u8>)>,
}

/// What a round leaves behind while it goes on.
pub(super) struct Round<C> {
    pub(super) collector: Option<C>,
    pub(super) leaves: Vec<Digest>,
    pub(super) faults: FaultCounts,
    pub(super) held: Vec<Vec<u8>>,
    pub(super) late: Vec<(u32, Vec<u8>)>,
}

/// Takes the uploads of one broadcast or release, of whichever method.
pub(super) trait Collects {
    /// Takes one upload, or refuses it by name.
    fn take<T: Scalar>(&mut self, agent: u32, broadcast: u32, vector: &[T]) -> Result<(), ServerError>;
}

impl Collects for Collector<'_> {
    fn take<T: Scalar>(&mut self, agent: u32, broadcast: u32, vector: &[T]) -> Result<(), ServerError> {
        self.upload(agent, broadcast, vector)
    }
}

impl<T: Scalar> Shard<T> {
    /// Agents `first..first + count`, before their first point.
    fn new(method: &Arc<MethodContext<T>>, first: u32, count: u32) -> Result<Self, DriverError> {
        let (config, public) = (&method.config, method.public()?);
        let length = workspace_len(config, &public);
        let kept = length * size_of::<T>() * config.parameters().agents as usize <= method.workspace_bytes;
        Ok(Shard {
            first,
            states: (first..first + count).map(|agent| AgentState::new(agent, method.run.seed)).collect(),
            logs: vec![T::ZERO; log_len(config) * count as usize],
            workspaces: vec![T::ZERO; length * if kept { count as usize } else { 1 }],
            kept,
            best: vec![f64::NEG_INFINITY; count as usize],
            late: Vec::new(),
            method: method.clone(),
        })
    }

    /// The same agents as they were when the snapshot of all agents was taken.
    fn restore(
        method: &Arc<MethodContext<T>>,
        first: u32,
        count: u32,
        snapshot: &Snapshot,
    ) -> Result<Self, DriverError> {
        let mut shard = Shard::new(method, first, count)?;
        let length = log_len(&method.config);
        let mut bytes = &snapshot.logs[..];
        for (i, state) in snapshot.states.iter().enumerate() {
            let filled = 2 * state.observations() as usize;
            let Some((log, rest)) = bytes.split_at_checked(filled * T::BYTES).filter(|_| filled <= length) else {
                return Err(DriverError::Snapshot { agent: state.agent() });
            };
            bytes = rest;
            let Some(place) = (i as u32).checked_sub(first).filter(|place| *place < count) else { continue };
            let place = place as usize;
            for (x, bytes) in shard.logs[place * length..].iter_mut().zip(log.chunks_exact(T::BYTES)) {
                *x = T::read_le(bytes);
            }
            // A copy knows nothing of a workspace: its posteriors are rebuilt once.
            shard.states[place] = state.clone();
            shard.best[place] = *snapshot.best.get(i).ok_or(DriverError::Snapshot { agent: i as u32 })?;
        }
        let range = first..first + count;
        shard.late = snapshot.late.iter().filter(|(agent, _)| range.contains(agent)).cloned().collect();
        Ok(shard)
    }
}

impl<T: Scalar> Crew for Shard<T> {
    type Context = MethodContext<T>;
    type Order = Order<T>;
    type State = AgentState;

    fn enrolled(method: &MethodContext<T>) -> u32 {
        method.config.parameters().agents
    }

    fn muster(
        method: &Arc<MethodContext<T>>,
        agents: Range<u32>,
        snapshot: Option<&Snapshot>,
    ) -> Result<Self, DriverError> {
        let (first, count) = (agents.start, agents.end - agents.start);
        match snapshot {
            None => Shard::new(method, first, count),
            Some(snapshot) => Shard::restore(method, first, count, snapshot),
        }
    }

    fn step(method: &MethodContext<T>, order: &Order<T>, stage: Stage) -> Step {
        method.step(order.round, stage)
    }

    fn snapshot(&self) -> Snapshot {
        let length = self.logs.len() / self.states.len().max(1);
        let mut logs = Vec::new();
        for (state, log) in self.states.iter().zip(self.logs.chunks(length.max(1))) {
            for x in &log[..2 * state.observations() as usize] {
                let start = logs.len();
                logs.resize(start + T::BYTES, 0);
                x.write_le(&mut logs[start..]);
            }
        }
        let (first, states, best, late) = (self.first, self.states.clone(), self.best.clone(), self.late.clone());
        Snapshot { first, states, logs, best, late }
    }

    fn range(&self) -> Range<u32> {
        self.first..self.first + self.states.len() as u32
    }

    /// One round: until every agent uploads, waits, is away or is done.
    fn advance(&mut self, order: &Order<T>) -> Result<Partial, DriverError> {
        let method = self.method.clone();
        let (config, objective) = (&method.config, &*method.run.objective);
        let public = method.public()?;
        let p = config.parameters();
        let range = self.range();
        let mut sums = vec![0; config.broadcast_len()];
        let mut counters = Counters::default();
        let mut flags = vec![0; if order.share.is_some() { range.len() } else { 0 }];
        let collector = match order.share.as_ref().map(|share| share.part(range.clone())) {
            Some(Some(share)) => {
                let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
                Some(Collector::new(config, &share, storage).map_err(DriverError::Server)?)
            }
            Some(None) => return Err(DriverError::Check("an order without the sample of a member's own agents")),
            None => None,
        };
        let mut round = Round {
            collector,
            leaves: Vec::with_capacity(self.states.len()),
            faults: FaultCounts::default(),
            held: Vec::new(),
            late: Vec::new(),
        };
        let mut incoming = vec![T::ZERO; p.feature_count as usize];
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), incoming.len())];
        // What missed the last deadline arrives first.
        for (_, frame) in std::mem::take(&mut self.late) {
            round.deliver(&method, &frame, &mut incoming)?;
        }
        let workspace_len = self.workspaces.len() / if self.kept { self.states.len().max(1) } else { 1 };
        let logs = self.logs.chunks_exact_mut(log_len(config));
        for (i, ((state, log), best)) in self.states.iter_mut().zip(logs).zip(&mut self.best).enumerate() {
            let index = state.agent();
            let fate = method.faults.fate(method.run.seed, index, config.region_of_agent(index), order.round);
            let workspace = if self.kept {
                Workspace::Kept(&mut self.workspaces[i * workspace_len..(i + 1) * workspace_len])
            } else {
                Workspace::Lent(&mut self.workspaces)
            };
            let storage = AgentStorage { log, workspace };
            let mut agent = Agent::attach(config, &public, state, storage).map_err(DriverError::Agent)?;
            round.faults.absent += u32::from(fate.absent);
            round.faults.broadcasts_lost += u32::from(!fate.absent && fate.broadcast_lost && order.broadcast.is_some());
            let (mut input, observations) = match (&order.broadcast, order.round) {
                (_, 0) => (Input::Start, p.initial_points),
                _ if fate.absent => (Input::Missed, 0),
                (Some(vectors), _) if !fate.broadcast_lost => (Input::Broadcast { vectors, maximum: order.maximum }, 1),
                _ => (Input::NoBroadcast, 1),
            };
            let mut record = AgentLeaf::new(index, order.round, observations);
            let leaf = loop {
                match agent.handle(input).map_err(DriverError::Agent)? {
                    Output::Evaluate { candidate, number, .. } => {
                        let answer = objective.query(index, candidate, number)?;
                        let y = T::from_f64(answer.y);
                        *best = best.max(answer.value);
                        record.observation(candidate, y);
                        input = Input::Observed(y);
                    }
                    Output::Upload(vector) => {
                        let header = method.frame_header(Kind::Upload, index, order.round);
                        let used = wire::encode(header, vector, &mut frame).map_err(DriverError::Wire)?;
                        let leaf = record.end(vector);
                        round.send(&method, &fate, index, &mut frame[..used], &mut incoming)?;
                        break leaf;
                    }
                    Output::Wait | Output::Done => break record.end::<T>(&[]),
                }
            };
            round.leaves.push(leaf);
        }
        for frame in std::mem::take(&mut round.held) {
            round.deliver(&method, &frame, &mut incoming)?;
        }
        let Round { collector, leaves, faults, late, .. } = round;
        self.late = late;
        let optima = &method.run.optima[range.start as usize..];
        let regrets: Vec<f64> = self.best.iter().zip(optima).map(|(best, optimum)| optimum - best).collect();
        Ok(Partial {
            collected: collector.map(|collector| collector.finish().to_owned()),
            pieces: blocks::cut(range.start, p.agents, &leaves, &regrets),
            agents: range,
            regrets: if is_report_round(order.round, p.rounds) { regrets } else { Vec::new() },
            faults,
        })
    }
}

impl<C: Collects> Round<C> {
    /// Puts an agent's frame on its link.
    pub(super) fn send<T: Scalar>(
        &mut self,
        method: &MethodContext<T>,
        fate: &Fate,
        agent: u32,
        frame: &mut [u8],
        incoming: &mut [T],
    ) -> Result<(), DriverError> {
        if fate.lost {
            self.faults.lost += 1;
            return Ok(());
        }
        if let Some(bit) = fate.flip {
            let bit = bit as usize % (frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        if fate.oversize {
            let header = Header { len: 0, ..method.frame_header(Kind::Upload, agent, 0) };
            let mut long = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), incoming.len() + 1)];
            let used =
                wire::encode(header, &vec![T::ZERO; incoming.len() + 1], &mut long).map_err(DriverError::Wire)?;
            return self.deliver(method, &long[..used], incoming);
        }
        if fate.late {
            self.faults.late += 1;
            self.late.push((agent, frame.to_vec()));
        } else if fate.held {
            self.held.push(frame.to_vec());
        } else {
            self.deliver(method, frame, incoming)?;
        }
        if fate.duplicate && !fate.late {
            self.deliver(method, frame, incoming)?;
        }
        Ok(())
    }

    /// Takes a frame off a link: to the collector, or refused by name.
    pub(super) fn deliver<T: Scalar>(
        &mut self,
        method: &MethodContext<T>,
        frame: &[u8],
        incoming: &mut [T],
    ) -> Result<(), DriverError> {
        let (header, payload) = match wire::decode(frame, incoming.len() as u32) {
            Ok(decoded) => decoded,
            Err(WireError::TooLong { .. }) => {
                self.faults.refused_oversize += 1;
                return Ok(());
            }
            Err(_) => {
                self.faults.refused_corrupt += 1;
                return Ok(());
            }
        };
        if header.deployment != method.deployment || header.config != method.config_id {
            return Err(DriverError::ForeignFrame { deployment: header.deployment, config: header.config });
        }
        let Some(collector) = &mut self.collector else {
            self.faults.refused_stale += 1;
            return Ok(());
        };
        payload.read(incoming).map_err(DriverError::Wire)?;
        match collector.take(header.agent, header.round, incoming) {
            Ok(()) => Ok(()),
            Err(ServerError::DuplicateUpload { .. }) => {
                self.faults.refused_duplicate += 1;
                Ok(())
            }
            Err(ServerError::WrongBroadcast { .. }) => {
                self.faults.refused_stale += 1;
                Ok(())
            }
            Err(error) => Err(DriverError::Server(error)),
        }
    }
}
