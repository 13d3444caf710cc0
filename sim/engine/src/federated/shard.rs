//! Consecutive agents of one federation, whatever its method, and what an order makes them do.
//!
//! Arena, links with their faults, transcript and observations are the same for all methods and are
//! here. What one agent does is its method's ([`Agents`]).

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::math::Scalar;
use sordino_experiment::progress::{Stage, Step};
use sordino_experiment::record::is_report_round;

use super::arena::{AgentSlot, Arena, State};
use super::blocks;
use super::collective::{AgentGroup, Call, Partial, Snapshot};
use super::context::MethodContext;
use super::error::DriverError;
use super::lent::Lent;
use super::link::Collects;
use super::regret_counts::RegretCounts;
use super::turn::{Collected, Numbers, Turn, Written};

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
        let fresh = agents.clone().map(|agent| method.fresh(agent)).collect();
        let lengths = method.lengths()?;
        let arena = Arena::new(method.base(), agents, lengths, fresh, snapshot)?;
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
        let late = std::mem::take(&mut self.arena.late);
        let mut turn = Turn::new(base, call, collector, late)?;
        for place in 0..self.arena.len() {
            method.act(view, order, &mut turn, self.arena.slot(place))?;
        }
        let Written {
            collector,
            faults,
            late,
            leaves,
            observations,
        } = turn.ended()?;
        self.arena.late = late;
        let Collected { sums, messages } = collector.map(M::collected).unwrap_or_default();
        let agents = self.arena.range();
        let parameters = base.config.parameters();
        let regrets = self.arena.regrets(base);
        let pieces = blocks::cut(agents.start, parameters.agents, &leaves, &regrets);
        let regrets = if call.queries && is_report_round(call.round, parameters.rounds) {
            RegretCounts::of(&regrets)
        } else {
            RegretCounts::default()
        };
        Ok(Partial {
            agents,
            collected: sums,
            pieces,
            regrets,
            faults,
            observations,
            messages,
            answered: None,
        })
    }
}
