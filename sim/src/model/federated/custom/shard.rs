//! Agents of a handed-in method, in an arena: their initial points, then what they choose and send.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::ServerError;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, Stream};
use sordino_core::wire::{self, Kind, ScalarTag};

use super::super::arena::{Arena, Seat, State};
use super::super::error::DriverError;
use super::super::fabric::{Crew, Partial, Snapshot};
use super::super::lent::Lent;
use super::super::link::{Collects, Door, Faulty, Link, Reach};
use super::super::shard::observed;
use super::context::CustomContext;
use super::{CustomError, Message, Sight};
use crate::progress::{Stage, Step};
use crate::record::{Source, is_report_round};

/// The state of an agent besides its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    observations: u32,
}

impl State for AgentState {
    fn observations(&self) -> u32 {
        self.observations
    }
}

/// The part of an order that is the same for all members.
#[derive(Clone)]
pub struct CustomOrder {
    /// Round t = 0..=T; the first queries are round 0.
    pub round: u32,
    /// What the server sent after the previous round.
    pub broadcast: Option<Arc<[f64]>>,
    /// Whether messages are collected at the end of this round.
    pub collecting: bool,
}

/// Consecutive agents of one method.
pub struct CustomShard<T> {
    context: Arc<CustomContext<T>>,
    arena: Arena<T, AgentState>,
}

/// The messages of one round; a second one from the same agent for the same round is refused.
#[derive(Default)]
struct Inbox {
    messages: Vec<Message>,
    seen: BTreeSet<(u32, u32)>,
}

impl Collects for Inbox {
    fn take<T: Scalar>(&mut self, agent: u32, round: u32, vector: &[T]) -> Result<(), ServerError> {
        if !self.seen.insert((agent, round)) {
            return Err(ServerError::DuplicateUpload { agent, broadcast: round });
        }
        self.messages.push(Message { agent, round, numbers: vector.iter().map(|x| x.to_f64()).collect() });
        Ok(())
    }
}

impl<T: Scalar> Crew for CustomShard<T> {
    type Context = CustomContext<T>;
    type Order = CustomOrder;
    type State = AgentState;

    fn enrolled(context: &CustomContext<T>) -> u32 {
        context.ground.agents
    }

    fn muster(
        context: &Arc<CustomContext<T>>,
        agents: Range<u32>,
        snapshot: Option<&mut Snapshot<AgentState>>,
    ) -> Result<Self, DriverError> {
        let log = 2 * (context.ground.initial_points + context.ground.rounds) as usize;
        let fresh = |_| AgentState { observations: 0 };
        Ok(CustomShard {
            arena: Arena::new(&context.base, agents, [log, 0], fresh, snapshot)?,
            context: context.clone(),
        })
    }

    fn range(&self) -> Range<u32> {
        self.arena.range()
    }

    fn lent(&self) -> Lent<'_, AgentState> {
        self.arena.lent()
    }

    fn step(context: &CustomContext<T>, order: &CustomOrder, stage: Stage) -> Step {
        context.base.step(order.round, stage)
    }

    fn advance(&mut self, order: &CustomOrder) -> Result<Partial, DriverError> {
        let context = self.context.clone();
        let (base, ground, length) = (&context.base, &context.ground, context.message_len());
        let inbox = order.collecting.then(Inbox::default);
        let (door, late) = (Door::new(base, inbox, length), std::mem::take(&mut self.arena.late));
        let mut link = Faulty::new(door, base, (order.round, order.round), length, late)?;
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), length)];
        let (mut leaves, mut observations, mut log) = (Vec::new(), Vec::new(), Vec::new());
        self.arena.each(|Seat { agent, state, log: kept, best, .. }| {
            let reach = link.reaches(agent, order.broadcast.is_some());
            if order.round > 0 && reach == Reach::Away {
                leaves.push(AgentLeaf::new(agent, order.round, 0).end::<T>(&[]));
                return Ok(());
            }
            let broadcast = order.broadcast.as_deref().filter(|_| reach == Reach::Broadcast);
            log.clear();
            let pairs = kept[..2 * state.observations as usize].chunks_exact(2);
            log.extend(pairs.map(|pair| (pair[0].to_f64() as u32, pair[1].to_f64())));
            let mut coins = base.run.seed.stream(Party::Agent(agent), Purpose::RandomPolicy, order.round);
            let count = if order.round == 0 { ground.initial_points } else { 1 };
            let mut record = AgentLeaf::new(agent, order.round, count);
            for _ in 0..count {
                let sight = Sight { ground, agent, round: order.round, log: &log, broadcast };
                let candidate = next(&context, &sight, &mut coins)?;
                let answer = base.run.objective.query(agent, candidate, state.observations)?;
                let y = T::from_f64(answer.y);
                *best = best.max(answer.value);
                record.observation(candidate, y);
                if base.observed {
                    let source = match (order.round, broadcast) {
                        (0, _) => Source::Initial,
                        (_, Some(_)) => Source::Prior,
                        (_, None) => Source::Own,
                    };
                    observations.push(observed(agent, order.round, candidate, answer, source));
                }
                let place = 2 * state.observations as usize;
                (kept[place], kept[place + 1]) = (T::from_u32(candidate), y);
                state.observations += 1;
                log.push((candidate, y.to_f64()));
            }
            if !order.collecting {
                leaves.push(record.end::<T>(&[]));
                return Ok(());
            }
            let sight = Sight { ground, agent, round: order.round, log: &log, broadcast };
            let numbers = context.agents().message(&sight, &mut coins);
            let who = || format!("agent {agent}");
            sendable(&context, order.round, &numbers, Some(length), who)?;
            let vector: Vec<T> = numbers.into_iter().map(T::from_f64).collect();
            let used = wire::encode(base.frame_header(Kind::Upload, agent, order.round), &vector, &mut frame)?;
            leaves.push(record.end(&vector));
            link.send(agent, &mut frame[..used])
        })?;
        let (inbox, faults, late) = link.collected()?;
        self.arena.late = late;
        let partial = self.arena.partial(base, &leaves, faults, is_report_round(order.round, ground.rounds), None);
        Ok(Partial { observations, messages: inbox.map_or(Vec::new(), |inbox| inbox.messages), ..partial })
    }
}

/// The initial points are the same as in every method of the run that has one region; then the agent chooses.
fn next<T: Scalar>(context: &CustomContext<T>, sight: &Sight<'_>, coins: &mut Stream) -> Result<u32, DriverError> {
    let (count, agent) = (context.ground.count(), sight.agent);
    if sight.round == 0 {
        let point = sight.log.len() as u32;
        return Ok(context.base.run.seed.stream(Party::Agent(agent), Purpose::InitialPoints, point).below(count));
    }
    let candidate = context.agents().next(sight, coins);
    if candidate < count {
        return Ok(candidate);
    }
    let method = context.base.method.name().to_owned();
    Err(CustomError::Candidate { method, agent, round: sight.round, candidate, count }.into())
}

/// Refuses too few or too many numbers, and numbers that are not finite in the format used to compute.
pub(super) fn sendable<T: Scalar>(
    context: &CustomContext<T>,
    round: u32,
    numbers: &[f64],
    expected: Option<usize>,
    who: impl Fn() -> String,
) -> Result<(), CustomError> {
    let bad = numbers.iter().filter(|x| !T::from_f64(**x).to_f64().is_finite()).count();
    if bad == 0 && expected.is_none_or(|expected| numbers.len() == expected) {
        return Ok(());
    }
    let count = expected.map_or(String::new(), |expected| format!("{expected} "));
    let (method, admissible) = (context.base.method.name().to_owned(), format!("{count}finite numbers"));
    Err(CustomError::Numbers { method, round, who: who(), len: numbers.len(), bad, admissible })
}
