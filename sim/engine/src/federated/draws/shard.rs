//! What an agent does in a round: it queries, with the last broadcast as a hint, and uploads a
//! draw.

use std::ops::Range;

use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Collector, Draws, Input, Output, Public, log_len,
    workspace_len,
};
use sordino_core::math::Scalar;
use sordino_experiment::record::Source;

use super::super::arena::AgentSlot;
use super::super::collective::{Call, Order};
use super::super::context::MethodContext;
use super::super::error::DriverError;
use super::super::link::Reach;
use super::super::shard::Agents;
use super::super::turn::{self, Collected, Numbers, Query, Turn};

impl<T: Scalar> Agents for MethodContext<T> {
    type Number = T;
    type Order = Order<T>;
    type State = AgentState;
    type View<'v> = Public<'v, T>;
    type Collector<'c> = Collector<'c, Draws<'c>>;

    fn base(&self) -> &MethodContext<T> {
        self
    }

    fn lengths(&self) -> Result<[usize; 2], DriverError> {
        Ok([log_len(&self.config), workspace_len(&self.public()?)])
    }

    fn fresh(&self, agent: u32) -> AgentState {
        AgentState::new(agent, self.run.seed)
    }

    fn call(&self, order: &Order<T>) -> Call {
        let upload_len = self.config.parameters().feature_count as usize;
        Call {
            round: order.round,
            coins: order.round,
            queries: true,
            upload_len,
        }
    }

    fn view(&self) -> Result<Public<'_, T>, DriverError> {
        self.public()
    }

    fn collector<'c>(
        &'c self,
        order: &Order<T>,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Collector<'c, Draws<'c>>>, DriverError> {
        let Some(share) = &order.share else {
            return Ok(None);
        };
        let other = DriverError::Check("an order without the sample of a member's own agents");
        let share = share.part(agents).ok_or(other)?;
        turn::collector(
            Draws::new(&self.config, share.broadcast())?,
            &share,
            numbers,
        )
        .map(Some)
    }

    /// One round: until the agent uploads, waits, is away or is done.
    fn act(
        &self,
        public: Public<'_, T>,
        order: &Order<T>,
        turn: &mut Turn<'_, T, Collector<'_, Draws<'_>>>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent: index,
            state,
            log,
            workspace,
            best,
        } = slot;
        let reach = turn.reaches(index, order.broadcast.is_some());
        let mut agent = Agent::attach(&public, state, AgentStorage { log, workspace })?;
        let (mut input, queries) = match (&order.broadcast, reach) {
            _ if order.round == 0 => (Input::Start, self.config.parameters().initial_points),
            (_, Reach::Away) => (Input::Missed, 0),
            (Some(vectors), Reach::Broadcast) => (
                Input::Broadcast {
                    vectors,
                    maximum: order.maximum,
                },
                1,
            ),
            _ => (Input::NoBroadcast, 1),
        };
        let mut leaf = turn.leaf(index, queries);
        loop {
            match agent.handle(input)? {
                Output::Evaluate {
                    candidate, number, ..
                } => {
                    let source = order.chosen_by(reach == Reach::Broadcast, candidate);
                    let query = Query {
                        candidate,
                        number,
                        source,
                    };
                    input = Input::Observed(turn.evaluate(&mut leaf, best, query)?);
                }
                Output::Upload(vector) => return turn.upload(leaf, order.round, vector),
                Output::Wait | Output::Done => {
                    turn.silent(leaf);
                    return Ok(());
                }
            }
        }
    }

    fn collected(collector: Collector<'_, Draws<'_>>) -> Collected {
        turn::sums(collector)
    }
}

impl<T> Order<T> {
    /// Whose choice a query of this round is; `reached` tells whether the broadcast arrived.
    fn chosen_by(&self, reached: bool, candidate: u32) -> Source {
        match (self.round, self.maximum) {
            (0, _) => Source::Initial,
            (_, Some(maximum)) if reached && maximum == candidate => Source::Server,
            _ => Source::Own,
        }
    }
}
