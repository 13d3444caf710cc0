//! Agents of a vote: initial points, a ballot, the winner, then their own draws.

use std::ops::Range;

use sordino_core::federated::{Collector, Draws};
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, Stream};
use sordino_experiment::record::Source;

use super::super::arena::AgentSlot;
use super::super::collective::{Call, Order};
use super::super::context::MethodContext;
use super::super::custom::shard::{AgentState, Queries, initial};
use super::super::custom::{Chooser, Sight};
use super::super::error::DriverError;
use super::super::link::Reach;
use super::super::shard::Agents;
use super::super::turn::{self, Collected, Numbers, Turn};
use super::context::VoteContext;

impl<T: Scalar> Agents for VoteContext<T> {
    type Number = T;
    type Order = Order<T>;
    type State = AgentState;
    type View<'v> = ();
    type Collector<'c> = Collector<'c, Draws<'c>>;

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

    fn call(&self, order: &Order<T>) -> Call {
        let upload_len = self.ground.count() as usize;
        Call {
            round: order.round,
            coins: order.round,
            queries: true,
            upload_len,
        }
    }

    fn view(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn collector<'c>(
        &'c self,
        order: &Order<T>,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Self::Collector<'c>>, DriverError> {
        let Some(share) = &order.share else {
            return Ok(None);
        };
        let other = DriverError::Check("an order without the opening of a member's own agents");
        let share = share.part(agents).ok_or(other)?;
        turn::collector(
            Draws::new(&self.ballot, share.broadcast())?,
            &share,
            numbers,
        )
        .map(Some)
    }

    fn act(
        &self,
        (): (),
        order: &Order<T>,
        turn: &mut Turn<'_, T, Self::Collector<'_>>,
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
        let reach = turn.reaches(agent, order.maximum.is_some());
        if round > 0 && reach == Reach::Away {
            turn.silent(turn.leaf(agent, 0));
            return Ok(());
        }
        let mut coins =
            self.base
                .run
                .seed
                .stream(Party::Agent(agent), Purpose::RandomPolicy, round);
        let winner = order.maximum.filter(|_| reach == Reach::Broadcast);
        let (queries, source) = match (round, winner) {
            (0, _) => (ground.initial_points, Source::Initial),
            (_, Some(_)) => (1, Source::Server),
            (_, None) => (1, Source::Own),
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
                broadcast: None,
            };
            Ok((self.next(&sight, winner, &mut coins), source))
        })?;
        // An agent votes before it hears whether the budget admits the release.
        if !self.collects(round) {
            turn.silent(leaf);
            return Ok(());
        }
        let sight = Sight {
            ground,
            agent,
            round,
            log: &log,
            broadcast: None,
        };
        let ballot: Vec<T> = self
            .voter
            .message(&sight, &mut coins)
            .into_iter()
            .map(T::from_f64)
            .collect();
        turn.upload(leaf, round, &ballot)
    }

    fn collected(collector: Self::Collector<'_>) -> Collected {
        turn::sums(collector)
    }
}

impl<T: Scalar> VoteContext<T> {
    /// The same initial points as every method of the run; the winner; then a draw of the agent's
    /// own posterior.
    fn next(&self, sight: &Sight<'_>, winner: Option<u32>, coins: &mut Stream) -> u32 {
        match (sight.round, winner) {
            (0, _) => initial(self.base.run.seed, sight),
            (_, Some(winner)) => winner,
            (_, None) => self.voter.next(sight, coins),
        }
    }
}
