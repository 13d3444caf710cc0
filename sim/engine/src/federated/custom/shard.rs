//! Agents of a handed-in method: their initial points, then what they choose and send.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::ServerError;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, Stream};
use sordino_experiment::record::Source;
use sordino_host::campaign::initial_point;

use super::super::arena::{AgentSlot, State};
use super::super::collective::Call;
use super::super::context::MethodContext;
use super::super::error::DriverError;
use super::super::link::{Collects, Reach};
use super::super::shard::Agents;
use super::super::turn::{Collected, Leaf, Numbers, Query, Turn};
use super::context::CustomContext;
use super::{CustomError, Message, Sight};

/// The state of an agent besides its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    observations: u32,
}

impl AgentState {
    /// Before the first observation.
    pub fn new() -> Self {
        AgentState { observations: 0 }
    }

    /// Observations so far.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// What it has observed: candidates and values.
    pub fn log<T: Scalar>(&self, kept: &[T]) -> Vec<(u32, f64)> {
        let pairs = kept.chunks_exact(2).take(self.observations as usize);
        pairs
            .map(|pair| (pair[0].to_f64() as u32, pair[1].to_f64()))
            .collect()
    }

    /// Evaluates wherever `choose` says after what was observed before, with its reason, and writes
    /// it all down.
    /// Returns the leaf of the transcript, and the log with the new observations.
    ///
    /// **Errors**: those of `choose`; a function that cannot be evaluated there.
    pub fn query<T: Scalar, C: Collects>(
        &mut self,
        kept: &mut [T],
        best: &mut f64,
        turn: &mut Turn<'_, T, C>,
        asked: Queries,
        mut choose: impl FnMut(&[(u32, f64)]) -> Result<(u32, Source), DriverError>,
    ) -> Result<(Leaf, Vec<(u32, f64)>), DriverError> {
        let Queries { agent, count } = asked;
        let mut leaf = turn.leaf(agent, count);
        let mut log = self.log(kept);
        for _ in 0..count {
            let (candidate, source) = choose(&log)?;
            let query = Query {
                candidate,
                number: self.observations,
                source,
            };
            let y = turn.evaluate(&mut leaf, best, query)?;
            self.keep(kept, candidate, y);
            log.push((candidate, y.to_f64()));
        }
        Ok((leaf, log))
    }

    fn keep<T: Scalar>(&mut self, kept: &mut [T], candidate: u32, y: T) {
        let place = 2 * self.observations as usize;
        (kept[place], kept[place + 1]) = (T::from_u32(candidate), y);
        self.observations += 1;
    }
}

/// The queries of an agent in one round.
#[derive(Clone, Copy, Debug)]
pub struct Queries {
    /// Index of the agent.
    pub agent: u32,
    /// How many times.
    pub count: u32,
}

impl Default for AgentState {
    fn default() -> Self {
        Self::new()
    }
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

/// The messages of one round; a second one from the same agent for the same round is refused.
#[derive(Default)]
pub struct Inbox {
    messages: Vec<Message>,
    seen: BTreeSet<(u32, u32)>,
}

impl Collects for Inbox {
    fn take<T: Scalar>(&mut self, agent: u32, round: u32, vector: &[T]) -> Result<(), ServerError> {
        if !self.seen.insert((agent, round)) {
            return Err(ServerError::DuplicateUpload {
                agent,
                broadcast: round,
            });
        }
        self.messages.push(Message {
            agent,
            round,
            numbers: vector.iter().map(|x| x.to_f64()).collect(),
        });
        Ok(())
    }
}

impl<T: Scalar> Agents for CustomContext<T> {
    type Number = T;
    type Order = CustomOrder;
    type State = AgentState;
    type View<'v> = ();
    type Collector<'c> = Inbox;

    fn base(&self) -> &MethodContext<T> {
        &self.base
    }

    fn lengths(&self) -> Result<[usize; 2], DriverError> {
        Ok([
            2 * (self.ground.initial_points + self.ground.rounds) as usize,
            0,
        ])
    }

    fn fresh(&self, _: u32) -> AgentState {
        AgentState::new()
    }

    fn call(&self, order: &CustomOrder) -> Call {
        Call {
            round: order.round,
            coins: order.round,
            queries: true,
            upload_len: self.message_len(),
        }
    }

    fn view(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn collector<'c>(
        &'c self,
        order: &CustomOrder,
        _: Range<u32>,
        _: &'c mut Numbers,
    ) -> Result<Option<Inbox>, DriverError> {
        Ok(order.collecting.then(Inbox::default))
    }

    fn act(
        &self,
        (): (),
        order: &CustomOrder,
        turn: &mut Turn<'_, T, Inbox>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent,
            state,
            log: kept,
            best,
            ..
        } = slot;
        let ground = &self.ground;
        let round = order.round;
        let reach = turn.reaches(agent, order.broadcast.is_some());
        if round > 0 && reach == Reach::Away {
            turn.silent(turn.leaf(agent, 0));
            return Ok(());
        }
        let broadcast = order
            .broadcast
            .as_deref()
            .filter(|_| reach == Reach::Broadcast);
        let mut coins =
            self.base
                .run
                .seed
                .stream(Party::Agent(agent), Purpose::RandomPolicy, round);
        let queries = if round == 0 { ground.initial_points } else { 1 };
        let source = match (round, broadcast) {
            (0, _) => Source::Initial,
            (_, Some(_)) => Source::Prior,
            (_, None) => Source::Own,
        };
        let asked = Queries {
            agent,
            count: queries,
        };
        let (leaf, log) = state.query(kept, best, turn, asked, |log| {
            let sight = Sight {
                ground,
                agent,
                round,
                log,
                broadcast,
            };
            Ok((next(self, &sight, &mut coins)?, source))
        })?;
        if !order.collecting {
            turn.silent(leaf);
            return Ok(());
        }
        let numbers = self.agents().message(
            &Sight {
                ground,
                agent,
                round,
                log: &log,
                broadcast,
            },
            &mut coins,
        );
        sendable(self, round, &numbers, Some(self.message_len()), || {
            format!("agent {agent}")
        })?;
        let vector: Vec<T> = numbers.into_iter().map(T::from_f64).collect();
        turn.upload(leaf, round, &vector)
    }

    fn collected(inbox: Inbox) -> Collected {
        Collected {
            sums: None,
            messages: inbox.messages,
        }
    }
}

/// The initial points are the same as in every method of the run that has one region.
pub fn initial(seed: RunSeed, sight: &Sight<'_>) -> u32 {
    initial_point(
        seed,
        sight.agent,
        sight.log.len() as u32,
        sight.ground.count(),
    )
}

/// An initial point, or what the agent chooses.
fn next<T: Scalar>(
    context: &CustomContext<T>,
    sight: &Sight<'_>,
    coins: &mut Stream,
) -> Result<u32, DriverError> {
    let count = context.ground.count();
    let agent = sight.agent;
    if sight.round == 0 {
        return Ok(initial(context.base.run.seed, sight));
    }
    let candidate = context.agents().next(sight, coins);
    if candidate < count {
        return Ok(candidate);
    }
    let method = context.base.method.name().to_owned();
    Err(CustomError::Candidate {
        method,
        agent,
        round: sight.round,
        candidate,
        count,
    }
    .into())
}

/// Refuses too few or too many numbers, and numbers that are not finite in the format used to
/// compute.
pub(super) fn sendable<T: Scalar>(
    context: &CustomContext<T>,
    round: u32,
    numbers: &[f64],
    expected: Option<usize>,
    who: impl Fn() -> String,
) -> Result<(), CustomError> {
    let bad = numbers
        .iter()
        .filter(|x| !T::from_f64(**x).to_f64().is_finite())
        .count();
    if bad == 0 && expected.is_none_or(|expected| numbers.len() == expected) {
        return Ok(());
    }
    let count = expected.map_or(String::new(), |expected| format!("{expected} "));
    let method = context.base.method.name().to_owned();
    let admissible = format!("{count}finite numbers");
    Err(CustomError::Numbers {
        method,
        round,
        who: who(),
        len: numbers.len(),
        bad,
        admissible,
    })
}
