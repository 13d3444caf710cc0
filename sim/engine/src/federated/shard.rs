//! Consecutive agents of one federation, whatever its method, and what an order makes them do.
//!
//! Arena, links with their faults, transcript and observations are the same for all methods and are
//! here. What one agent does is its method's ([`Agents`]).

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::Digest;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{
    Collector, CollectorStorage, Counters, Encoding, Partial as Sums, Share, Wiped,
};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Kind, ScalarTag};
use sordino_experiment::progress::{Stage, Step};
use sordino_experiment::record::{Observed, Source, is_report_round};

use super::arena::{AgentSlot, Arena, State};
use super::collective::{AgentGroup, Call, Partial, Snapshot};
use super::context::MethodContext;
use super::error::DriverError;
use super::lent::Lent;
use super::link::{Collects, Door, Faulty, Link, Reach};
use super::message::Message;

/// The numbers of a collector, which it borrows.
#[derive(Default)]
pub struct Numbers {
    sums: Vec<i64>,
    flags: Vec<u8>,
    counters: Counters,
}

/// What was collected.
#[derive(Default)]
pub struct Collected {
    /// Integer sums, for a server that takes sums.
    pub sums: Option<Sums<Wiped<u8>, Wiped<i64>>>,
    /// Messages, for a server that takes them one by one.
    pub messages: Vec<Message>,
}

/// The agents' half of a method.
pub trait Agents: Send + Sync + Sized + 'static {
    /// The numbers they compute with.
    type Number: Scalar;
    /// What they are told.
    type Order: Clone + Send + 'static;
    /// What one of them keeps besides its log.
    type State: State + Serialize + DeserializeOwned + Send;
    /// What all of them read, prepared once for an order.
    type View<'v>: Copy
    where
        Self: 'v;
    /// Where their uploads go.
    type Collector<'c>: Collects
    where
        Self: 'c;

    /// What every method has: run, faults, marks of frames.
    fn base(&self) -> &MethodContext<Self::Number>;

    /// Numbers of one agent: of its log, and of its workspace.
    ///
    /// **Errors**: public numbers that do not fit each other.
    fn lengths(&self) -> Result<[usize; 2], DriverError>;

    /// An agent before its first point.
    fn fresh(&self, agent: u32) -> Self::State;

    /// What an order asks for.
    fn call(&self, order: &Self::Order) -> Call;

    /// What all agents read.
    ///
    /// **Errors**: public numbers that do not fit each other.
    fn view(&self) -> Result<Self::View<'_>, DriverError>;

    /// Where these agents' uploads to an order go; nothing if none are taken.
    ///
    /// **Errors**: an order that is not for these agents.
    fn collector<'c>(
        &'c self,
        order: &Self::Order,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Self::Collector<'c>>, DriverError>;

    /// Takes one agent through an order.
    ///
    /// **Errors**: an agent that refuses what it must not refuse.
    fn act(
        &self,
        view: Self::View<'_>,
        order: &Self::Order,
        turn: &mut Turn<'_, Self::Number, Self::Collector<'_>>,
        slot: AgentSlot<'_, Self::Number, Self::State>,
    ) -> Result<(), DriverError>;

    /// What a collector took.
    fn collected(collector: Self::Collector<'_>) -> Collected;
}

/// Consecutive agents of one federation.
pub struct Shard<M: Agents> {
    method: Arc<M>,
    arena: Arena<M::Number, M::State>,
}

impl<M: Agents> AgentGroup for Shard<M> {
    type Context = M;
    type Order = M::Order;
    type State = M::State;

    fn enrolled(method: &M) -> u32 {
        method.base().config.parameters().agents
    }

    fn build(
        method: &Arc<M>,
        agents: Range<u32>,
        snapshot: Option<&mut Snapshot<M::State>>,
    ) -> Result<Self, DriverError> {
        let arena = Arena::new(
            method.base(),
            agents,
            method.lengths()?,
            |agent| method.fresh(agent),
            snapshot,
        )?;
        Ok(Shard {
            arena,
            method: method.clone(),
        })
    }

    fn range(&self) -> Range<u32> {
        self.arena.range()
    }

    fn lent(&self) -> Lent<'_, M::State> {
        self.arena.lent()
    }

    fn step(method: &M, order: &M::Order, stage: Stage) -> Step {
        method.base().step(method.call(order).round, stage)
    }

    fn advance(&mut self, order: &M::Order) -> Result<Partial, DriverError> {
        let method = self.method.clone();
        let base = method.base();
        let view = method.view()?;
        let call = method.call(order);
        let mut numbers = Numbers::default();
        let collector = method.collector(order, self.arena.range(), &mut numbers)?;
        let door = Door::new(base, collector, call.upload_len);
        let late = std::mem::take(&mut self.arena.late);
        let link = Faulty::new(door, base, call, late)?;
        let frame = vec![0; wire::frame_len_max(ScalarTag::of::<M::Number>(), call.upload_len)];
        let mut turn = Turn {
            base,
            round: call.round,
            link,
            frame,
            leaves: Vec::new(),
            observations: Vec::new(),
        };
        self.arena
            .each(|slot| method.act(view, order, &mut turn, slot))?;
        let Turn {
            link,
            leaves,
            observations,
            ..
        } = turn;
        let (collector, faults, late) = link.collected()?;
        self.arena.late = late;
        let Collected { sums, messages } = collector.map(M::collected).unwrap_or_default();
        let report = call.queries && is_report_round(call.round, base.config.parameters().rounds);
        let partial = self.arena.partial(base, &leaves, faults, report, sums);
        Ok(Partial {
            observations,
            messages,
            ..partial
        })
    }
}

/// One evaluation of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Index of the candidate.
    pub candidate: u32,
    /// How many observations it made before.
    pub number: u32,
    /// Whose choice it was.
    pub source: Source,
}

/// The leaf of the transcript that one agent's turn becomes.
pub struct Leaf {
    agent: u32,
    written: AgentLeaf,
}

/// One order on its way through the agents of a shard: their links, and what is written down.
pub struct Turn<'m, T, C> {
    base: &'m MethodContext<T>,
    round: u32,
    link: Faulty<'m, T, Door<'m, T, C>>,
    frame: Vec<u8>,
    leaves: Vec<Digest>,
    observations: Vec<Observed>,
}

impl<T: Scalar, C: Collects> Turn<'_, T, C> {
    /// What reaches an agent, with or without a broadcast. Asked once for each agent.
    pub fn reaches(&mut self, agent: u32, broadcast: bool) -> Reach {
        self.link.reaches(agent, broadcast)
    }

    /// The agent's leaf of the transcript, for `queries` observations.
    pub fn leaf(&self, agent: u32, queries: u32) -> Leaf {
        let written = AgentLeaf::new(agent, self.round, queries);
        Leaf { agent, written }
    }

    /// The agent of a leaf evaluates its function at a candidate. Returns what it observes.
    ///
    /// **Errors**: a function that cannot be evaluated there.
    pub fn evaluate(
        &mut self,
        leaf: &mut Leaf,
        best: &mut f64,
        query: Query,
    ) -> Result<T, DriverError> {
        let Query {
            candidate,
            number,
            source,
        } = query;
        let agent = leaf.agent;
        let answer = self.base.run.objective.query(agent, candidate, number)?;
        let y = T::from_f64(answer.y);
        *best = best.max(answer.value);
        leaf.written.observation(candidate, y);
        if self.base.observed {
            let round = self.round;
            self.observations.push(Observed {
                agent,
                round,
                candidate,
                y: answer.y,
                value: answer.value,
                source,
            });
        }
        Ok(y)
    }

    /// The agent of a leaf sends `vector` for broadcast number `broadcast` and is done with the order.
    ///
    /// **Errors**: a frame that must not be refused and is.
    pub fn upload(&mut self, leaf: Leaf, broadcast: u32, vector: &[T]) -> Result<(), DriverError> {
        let Leaf { agent, written } = leaf;
        let header = self.base.frame_header(Kind::Upload, agent, broadcast);
        let used = wire::encode(header, vector, &mut self.frame)?;
        self.leaves.push(written.end(vector));
        self.link.send(agent, &mut self.frame[..used])
    }

    /// The agent sends nothing and is done with the order.
    pub fn silent(&mut self, leaf: Leaf) {
        self.leaves.push(leaf.written.end::<T>(&[]));
    }
}

/// A collector over numbers of a shard's own, for the agents of `share`.
///
/// **Errors**: a share of another release, or of other agents.
pub fn collector<'c, E: Encoding, F: AsRef<[u8]>>(
    encoding: E,
    share: &Share<F>,
    numbers: &'c mut Numbers,
) -> Result<Collector<'c, E>, DriverError> {
    numbers.sums = vec![0; encoding.sums_len()];
    numbers.flags = vec![0; share.agents().len()];
    let Numbers {
        sums,
        flags,
        counters,
    } = numbers;
    Ok(Collector::new(
        encoding,
        share,
        CollectorStorage {
            sums,
            flags,
            counters,
        },
    )?)
}

/// The sums that a collector took.
pub fn sums<E: Encoding>(collector: Collector<'_, E>) -> Collected {
    Collected {
        sums: Some(collector.finish().to_owned()),
        messages: Vec::new(),
    }
}
