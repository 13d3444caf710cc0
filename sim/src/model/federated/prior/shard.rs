//! Agents of a federated prior: the queries of a round, and what they contribute to a release.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::prior::agent::{Agent, AgentState, Input, Output, log_len, workspace_len};
use sordino_core::federated::prior::{Draw, JointVectors, Terms, levels};
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{Collector, CollectorStorage, Counters, Share, Wiped};
use sordino_core::math::Scalar;
use sordino_core::privacy::SourceKind;
use sordino_core::wire::{self, Kind, ScalarTag};

use super::super::arena::{Arena, Seat};
use super::super::error::DriverError;
use super::super::fabric::{Crew, Partial, Snapshot};
use super::super::lent::Lent;
use super::super::link::{Door, Faulty, Link, Reach};
use super::super::shard::observed;
use super::context::PriorContext;
use crate::progress::{Stage, Step};
use crate::record::{Source, is_report_round};

/// The common draw w_t, M numbers, and Φw_t, one for each candidate; shared by all members.
pub type CommonDraw<T> = Arc<(Vec<T>, Vec<T>)>;

/// The part of an order that is the same for all members.
#[derive(Clone)]
pub enum PriorOrder<T> {
    /// A round of queries; round 0 is the initial points.
    Query {
        /// Round t = 0..=T; the first queries are round 0.
        round: u32,
        /// `None` before the first release.
        draw: Option<CommonDraw<T>>,
    },
    /// Contributions to a release.
    Release {
        /// The round after which it is made.
        round: u32,
        /// Index of the release, 0-based.
        release: u32,
        /// Noise variance κ and constant C of the release.
        terms: Terms<T>,
        /// Weights w of the public posterior, M numbers.
        weights: Arc<[T]>,
        /// z of this release.
        noise_multiplier: f64,
        /// The opening of all agents; `None` on the way to another process, which is sent only that of its own agents.
        share: Option<Arc<Share<Wiped<u8>>>>,
        /// How the noise will be drawn. An order of secret sources never leaves its process.
        source: SourceKind,
    },
}

/// Consecutive agents of one federated prior.
pub struct PriorShard<T> {
    context: Arc<PriorContext<T>>,
    arena: Arena<T, AgentState>,
}

impl<T: Scalar> Crew for PriorShard<T> {
    type Context = PriorContext<T>;
    type Order = PriorOrder<T>;
    type State = AgentState;

    fn enrolled(context: &PriorContext<T>) -> u32 {
        context.config().parameters().agents
    }

    fn muster(
        context: &Arc<PriorContext<T>>,
        agents: Range<u32>,
        snapshot: Option<&mut Snapshot<AgentState>>,
    ) -> Result<Self, DriverError> {
        let (m, public) = (context.config().features(), context.public()?);
        let log = log_len(context.config().design_len(), context.rounds() as usize);
        let (_, rank) = public.prior();
        let lengths = [log, workspace_len(log / 2, m, rank, levels(&context.models))];
        let fresh = |agent| AgentState::new(agent, context.base.run.seed);
        let arena = Arena::new(&context.base, agents, lengths, fresh, snapshot)?;
        Ok(PriorShard { arena, context: context.clone() })
    }

    fn range(&self) -> Range<u32> {
        self.arena.range()
    }

    fn advance(&mut self, order: &PriorOrder<T>) -> Result<Partial, DriverError> {
        match order {
            PriorOrder::Query { round, draw } => {
                let draw = draw.as_deref().map(|(weights, values)| Draw { weights, values });
                self.query(*round, draw)
            }
            PriorOrder::Release { .. } => self.contribute(order),
        }
    }

    fn lent(&self) -> Lent<'_, AgentState> {
        self.arena.lent()
    }

    fn step(context: &PriorContext<T>, order: &PriorOrder<T>, stage: Stage) -> Step {
        let (PriorOrder::Query { round, .. } | PriorOrder::Release { round, .. }) = order;
        context.base.step(*round, stage)
    }
}

impl<T: Scalar> PriorShard<T> {
    /// Takes every agent through the queries of a round: until it waits, is away or is done.
    fn query(&mut self, t: u32, draw: Option<Draw<'_, T>>) -> Result<Partial, DriverError> {
        let context = self.context.clone();
        let (base, config, public) = (&context.base, context.config(), context.public()?);
        let (objective, length) = (&*base.run.objective, config.contribution_len());
        let (door, late) =
            (Door::<T, Collector<'_, JointVectors>>::new(base, None, length), std::mem::take(&mut self.arena.late));
        let mut link = Faulty::new(door, base, (t, t), length, late)?;
        let (mut leaves, mut observations) = (Vec::new(), Vec::new());
        self.arena.each(|Seat { agent: index, state, log, workspace, best }| {
            let reach = link.reaches(index, draw.is_some());
            let mut agent = Agent::attach(&public, &context.models, context.rounds(), state, log, workspace)?;
            let (mut input, count) = match (draw, reach) {
                _ if t == 0 => (Input::Start, config.parameters().initial_points),
                (_, Reach::Away) => (Input::Missed, 0),
                (Some(draw), Reach::Broadcast) => (Input::Draw(draw), 1),
                _ => (Input::NoDraw, 1),
            };
            let mut record = AgentLeaf::new(index, t, count);
            while let Output::Evaluate(candidate) = agent.handle(input)? {
                let answer = objective.query(index, candidate, agent.state().observations())?;
                let y = T::from_f64(answer.y);
                *best = best.max(answer.value);
                record.observation(candidate, y);
                if base.observed {
                    let source = match (t, draw, reach) {
                        (0, ..) => Source::Initial,
                        (_, Some(_), Reach::Broadcast) => Source::Prior,
                        _ => Source::Own,
                    };
                    observations.push(observed(index, t, candidate, answer, source));
                }
                input = Input::Observed(y - context.offset());
            }
            leaves.push(record.end::<T>(&[]));
            Ok(())
        })?;
        let (_, faults, late) = link.collected()?;
        self.arena.late = late;
        let partial = self.arena.partial(base, &leaves, faults, is_report_round(t, context.rounds()), None);
        Ok(Partial { observations, ..partial })
    }

    /// Lets every agent that is present contribute to a release.
    ///
    /// Links have coins of their own in a release, those of "round" T + 1 + j, so that releases after the same round do
    /// not lose the same vectors.
    fn contribute(&mut self, order: &PriorOrder<T>) -> Result<Partial, DriverError> {
        let PriorOrder::Release { round: t, release, terms, weights, noise_multiplier, share, .. } = order else {
            return Err(DriverError::Check("an order to query where a release was meant"));
        };
        let context = self.context.clone();
        let (base, config, public) = (&context.base, context.config(), context.public()?);
        let (range, length) = (self.arena.range(), config.contribution_len());
        let (mut sums, mut flags, mut counters) = (vec![0; length], vec![0; range.len()], Counters::default());
        let share = share.as_ref().and_then(|share| share.part(range));
        let share = share.ok_or(DriverError::Check("an order without the opening of a member's own agents"))?;
        let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
        let collector = Collector::new(JointVectors::new(config, terms, *noise_multiplier)?, &share, storage)?;
        let (silence, late) = (vec![T::ZERO; length], std::mem::take(&mut self.arena.late));
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), length)];
        let door = Door::new(base, Some(collector), length);
        let mut link = Faulty::new(door, base, (*t, context.rounds() + 1 + release), length, late)?;
        let mut leaves = Vec::new();
        self.arena.each(|Seat { agent: index, state, log, workspace, .. }| {
            let record = AgentLeaf::new(index, *t, 0);
            if link.reaches(index, true) != Reach::Broadcast {
                leaves.push(record.end::<T>(&[]));
                return Ok(());
            }
            let mut agent = Agent::attach(&public, &context.models, context.rounds(), state, log, workspace)?;
            let Output::Upload(vector) = agent.handle(Input::Terms { terms: *terms, weights })? else {
                return Err(DriverError::Check("an agent that was given terms sent nothing"));
            };
            let vector = if base.method.parts().signal { vector } else { &silence[..] };
            let header = base.frame_header(Kind::Upload, index, *release);
            let used = wire::encode(header, vector, &mut frame)?;
            leaves.push(record.end(vector));
            link.send(index, &mut frame[..used])
        })?;
        let (collector, faults, late) = link.collected()?;
        self.arena.late = late;
        let collected = collector.map(|collector| collector.finish().to_owned());
        Ok(self.arena.partial(base, &leaves, faults, false, collected))
    }
}
