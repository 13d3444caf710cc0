//! The agents of a federated prior: the queries of a round, and what they contribute to a release.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::prior::agent::{
    Agent, AgentState, Input, Output, log_len, workspace_len,
};
use sordino_core::federated::prior::{Draw, JointVectors, Public, Terms, levels};
use sordino_core::federated::{Collector, Share, Wiped};
use sordino_core::math::Scalar;
use sordino_core::privacy::SourceKind;
use sordino_experiment::record::Source;

use super::super::arena::AgentSlot;
use super::super::collective::Call;
use super::super::context::MethodContext;
use super::super::error::DriverError;
use super::super::link::Reach;
use super::super::shard::Agents;
use super::super::turn::{self, Collected, Numbers, Query, Turn};
use super::context::PriorContext;

/// The common draw w_t, M numbers, and Φw_t, one for each candidate; shared by all members.
pub type CommonDraw<T> = Arc<(Vec<T>, Vec<T>)>;

/// The last release that took place: its index, and its M + 1 sums.
pub type Last<T> = (u32, Arc<[T]>);

/// The part of an order that is the same for all members.
#[derive(Clone)]
pub enum PriorOrder<T> {
    /// A round of queries; round 0 is the initial points.
    Query {
        /// Round t = 0..=T; the first queries are round 0.
        round: u32,
        /// `None` before the first release.
        draw: Option<CommonDraw<T>>,
        /// For members that keep the posterior themselves; `None` before the first release, and on
        /// the way to another process.
        last: Option<Last<T>>,
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
        /// The opening of all agents; `None` on the way to another process, which is sent only that
        /// of its own agents.
        share: Option<Arc<Share<Wiped<u8>>>>,
        /// How the noise will be drawn. An order of secret sources never leaves its process.
        source: SourceKind,
        /// As in a round of queries.
        last: Option<Last<T>>,
    },
}

/// Where joint vectors go.
type Vectors<'c> = Collector<'c, JointVectors>;

impl<T: Scalar> Agents for PriorContext<T> {
    type Number = T;
    type Order = PriorOrder<T>;
    type State = AgentState;
    type View<'v> = Public<'v, T>;
    type Collector<'c> = Vectors<'c>;

    fn base(&self) -> &MethodContext<T> {
        &self.base
    }

    fn lengths(&self) -> Result<[usize; 2], DriverError> {
        let m = self.config().features();
        let public = self.public()?;
        let log = log_len(self.config().design_len(), self.rounds() as usize);
        let (_, rank) = public.prior();
        Ok([log, workspace_len(log / 2, m, rank, levels(&self.models))])
    }

    fn fresh(&self, agent: u32) -> AgentState {
        AgentState::new(agent, self.base.run.seed)
    }

    /// Links have coins of their own in a release, those of "round" T + 1 + j, so that releases
    /// after the same round do not lose the same vectors.
    fn call(&self, order: &PriorOrder<T>) -> Call {
        let upload_len = self.config().contribution_len();
        match *order {
            PriorOrder::Query { round, .. } => Call {
                round,
                coins: round,
                queries: true,
                upload_len,
            },
            PriorOrder::Release { round, release, .. } => Call {
                round,
                coins: self.rounds() + 1 + release,
                queries: false,
                upload_len,
            },
        }
    }

    fn view(&self) -> Result<Public<'_, T>, DriverError> {
        self.public()
    }

    fn collector<'c>(
        &'c self,
        order: &PriorOrder<T>,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Vectors<'c>>, DriverError> {
        let PriorOrder::Release {
            terms,
            noise_multiplier,
            share,
            ..
        } = order
        else {
            return Ok(None);
        };
        let share = share.as_ref().and_then(|share| share.part(agents));
        let share = share.ok_or(DriverError::Check(
            "an order without the opening of a member's own agents",
        ))?;
        turn::collector(
            JointVectors::new(self.config(), terms, *noise_multiplier)?,
            &share,
            numbers,
        )
        .map(Some)
    }

    fn act(
        &self,
        public: Public<'_, T>,
        order: &PriorOrder<T>,
        turn: &mut Turn<'_, T, Vectors<'_>>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        match order {
            PriorOrder::Query { round, draw, .. } => {
                let draw = draw
                    .as_deref()
                    .map(|(weights, values)| Draw { weights, values });
                self.query(public, (*round, draw), turn, slot)
            }
            PriorOrder::Release {
                release,
                terms,
                weights,
                ..
            } => self.contribute(public, (*release, *terms, weights), turn, slot),
        }
    }

    fn collected(collector: Vectors<'_>) -> Collected {
        turn::sums(collector)
    }
}

impl<T: Scalar> PriorContext<T> {
    /// The queries of a round: until the agent waits, is away or is done.
    fn query(
        &self,
        public: Public<'_, T>,
        (round, draw): (u32, Option<Draw<'_, T>>),
        turn: &mut Turn<'_, T, Vectors<'_>>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent: index,
            state,
            log,
            workspace,
            best,
        } = slot;
        let reach = turn.reaches(index, draw.is_some());
        let mut agent = Agent::attach(&public, &self.models, self.rounds(), state, log, workspace)?;
        let (mut input, queries) = match (draw, reach) {
            _ if round == 0 => (Input::Start, self.config().parameters().initial_points),
            (_, Reach::Away) => (Input::Missed, 0),
            (Some(draw), Reach::Broadcast) => (Input::Draw(draw), 1),
            _ => (Input::NoDraw, 1),
        };
        let mut leaf = turn.leaf(index, queries);
        while let Output::Evaluate(candidate) = agent.handle(input)? {
            let number = agent.state().observations();
            let source = match agent.trust() {
                None => Source::Initial,
                Some(trust) if trust > T::ZERO => Source::Prior,
                Some(_) => Source::Own,
            };
            let query = Query {
                candidate,
                number,
                source,
            };
            let y = turn.evaluate(&mut leaf, best, query)?;
            input = Input::Observed(y - self.offset());
        }
        turn.silent(leaf);
        Ok(())
    }

    /// What an agent that is present contributes to a release.
    fn contribute(
        &self,
        public: Public<'_, T>,
        (release, terms, weights): (u32, Terms<T>, &[T]),
        turn: &mut Turn<'_, T, Vectors<'_>>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent: index,
            state,
            log,
            workspace,
            ..
        } = slot;
        let leaf = turn.leaf(index, 0);
        if turn.reaches(index, true) != Reach::Broadcast {
            turn.silent(leaf);
            return Ok(());
        }
        let mut agent = Agent::attach(&public, &self.models, self.rounds(), state, log, workspace)?;
        let Output::Upload(vector) = agent.handle(Input::Terms { terms, weights })? else {
            return Err(DriverError::Check(
                "an agent that was given terms sent nothing",
            ));
        };
        if self.base.method.parts().signal {
            return turn.upload(leaf, release, vector);
        }
        turn.upload(
            leaf,
            release,
            &vec![T::ZERO; self.config().contribution_len()],
        )
    }
}
