//! The agents of a federation: what an order makes them do.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Collector, CollectorStorage, Counters, Draws, Input, Output, log_len,
    workspace_len,
};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Kind, ScalarTag};

use super::arena::{Arena, Seat};
use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Crew, Order, Partial, Snapshot};
use super::lent::Lent;
use super::link::{Door, Faulty, Link, Reach};
use crate::progress::{Stage, Step};
use crate::record::{Observed, Source, is_report_round};
use crate::world::Answer;

/// Consecutive agents of one federation.
pub struct Shard<T> {
    method: Arc<MethodContext<T>>,
    arena: Arena<T, AgentState>,
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
        snapshot: Option<&mut Snapshot>,
    ) -> Result<Self, DriverError> {
        let lengths = [log_len(&method.config), workspace_len(&method.public()?)];
        let fresh = |agent| AgentState::new(agent, method.run.seed);
        Ok(Shard { arena: Arena::new(method, agents, lengths, fresh, snapshot)?, method: method.clone() })
    }

    fn step(method: &MethodContext<T>, order: &Order<T>, stage: Stage) -> Step {
        method.step(order.round, stage)
    }

    fn lent(&self) -> Lent<'_, AgentState> {
        self.arena.lent()
    }

    fn range(&self) -> Range<u32> {
        self.arena.range()
    }

    /// One round: until every agent uploads, waits, is away or is done.
    fn advance(&mut self, order: &Order<T>) -> Result<Partial, DriverError> {
        let method = self.method.clone();
        let (config, objective, public) = (&method.config, &*method.run.objective, method.public()?);
        let p = config.parameters();
        let (range, length) = (self.arena.range(), p.feature_count as usize);
        let (mut sums, mut counters) = (vec![0; config.broadcast_len()], Counters::default());
        let mut flags = vec![0; if order.share.is_some() { range.len() } else { 0 }];
        let collector = match order.share.as_ref().map(|share| share.part(range)) {
            Some(Some(share)) => {
                let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
                Some(Collector::new(Draws::new(config, share.broadcast())?, &share, storage)?)
            }
            Some(None) => return Err(DriverError::Check("an order without the sample of a member's own agents")),
            None => None,
        };
        let (door, late) = (Door::new(&method, collector, length), std::mem::take(&mut self.arena.late));
        let mut link = Faulty::new(door, &method, (order.round, order.round), length, late)?;
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), length)];
        let (mut leaves, mut observations) = (Vec::new(), Vec::new());
        self.arena.each(|Seat { agent: index, state, log, workspace, best }| {
            let reach = link.reaches(index, order.broadcast.is_some());
            let mut agent = Agent::attach(&public, state, AgentStorage { log, workspace })?;
            let (mut input, count) = match (&order.broadcast, reach) {
                _ if order.round == 0 => (Input::Start, p.initial_points),
                (_, Reach::Away) => (Input::Missed, 0),
                (Some(vectors), Reach::Broadcast) => (Input::Broadcast { vectors, maximum: order.maximum }, 1),
                _ => (Input::NoBroadcast, 1),
            };
            let mut record = AgentLeaf::new(index, order.round, count);
            let leaf = loop {
                match agent.handle(input)? {
                    Output::Evaluate { candidate, number, .. } => {
                        let answer = objective.query(index, candidate, number)?;
                        let y = T::from_f64(answer.y);
                        *best = best.max(answer.value);
                        record.observation(candidate, y);
                        if method.observed {
                            let source = order.source(reach == Reach::Broadcast, candidate);
                            observations.push(observed(index, order.round, candidate, answer, source));
                        }
                        input = Input::Observed(y);
                    }
                    Output::Upload(vector) => {
                        let header = method.frame_header(Kind::Upload, index, order.round);
                        let used = wire::encode(header, vector, &mut frame)?;
                        link.send(index, &mut frame[..used])?;
                        break record.end(vector);
                    }
                    Output::Wait | Output::Done => break record.end::<T>(&[]),
                }
            };
            leaves.push(leaf);
            Ok(())
        })?;
        let (collector, faults, late) = link.collected()?;
        self.arena.late = late;
        let collected = collector.map(|collector| collector.finish().to_owned());
        let partial = self.arena.partial(&method, &leaves, faults, is_report_round(order.round, p.rounds), collected);
        Ok(Partial { observations, ..partial })
    }
}

impl<T> Order<T> {
    /// Whose choice a query of this round is; `reached` tells whether the broadcast arrived.
    fn source(&self, reached: bool, candidate: u32) -> Source {
        match (self.round, self.maximum) {
            (0, _) => Source::Initial,
            (_, Some(maximum)) if reached && maximum == candidate => Source::Server,
            _ => Source::Own,
        }
    }
}

/// An observation as it is written down.
pub(super) fn observed(agent: u32, round: u32, candidate: u32, answer: Answer, source: Source) -> Observed {
    Observed { agent, round, candidate, y: answer.y, value: answer.value, source }
}
