//! Agents of a campaign: initial points, a contribution to each release, then what a search asks
//! that begins with the file.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::{Collector, Share, Wiped};
use sordino_core::math::Scalar;
use sordino_core::privacy::SourceKind;
use sordino_experiment::record::Source;
use sordino_host::campaign::initial_point;

use super::super::arena::{AgentSlot, State};
use super::super::collective::Call;
use super::super::context::MethodContext;
use super::super::custom::shard::{AgentState, Queries};
use super::super::error::DriverError;
use super::super::link::Reach;
use super::super::shard::Agents;
use super::super::turn::{self, Collected, Numbers, Turn};
use super::context::CampaignContext;

/// A release that is open: its index, the opening of all agents (`None` on the way to another
/// process, which is sent only that of its own agents), and how its noise will be drawn.
pub type OpenRelease = (u32, Option<Arc<Share<Wiped<u8>>>>, SourceKind);

/// The part of an order that is the same for all members.
#[derive(Clone)]
pub struct CampaignOrder {
    /// Round t = 0..=T; the first points are round 0.
    pub round: u32,
    /// Sums of all releases before it, M + 1 numbers each.
    pub released: Arc<[f64]>,
    /// The release to which agents contribute; nothing where they query.
    pub release: Option<OpenRelease>,
}

/// What an agent keeps besides its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteState {
    values: AgentState,
    /// Whether it has the file.
    heard: bool,
}

impl State for SiteState {
    fn observations(&self) -> u32 {
        self.values.observations()
    }
}

impl<T: Scalar> Agents for CampaignContext<T> {
    type Number = T;
    type Order = CampaignOrder;
    type State = SiteState;
    type View<'v> = ();
    type Collector<'c> = Collector<'c, JointVectors>;

    fn base(&self) -> &MethodContext<T> {
        &self.base
    }

    fn lengths(&self) -> Result<[usize; 2], DriverError> {
        let parameters = self.base.config.parameters();
        Ok([
            2 * (parameters.initial_points + parameters.rounds) as usize,
            0,
        ])
    }

    fn fresh(&self, _: u32) -> SiteState {
        SiteState {
            values: AgentState::new(),
            heard: false,
        }
    }

    /// Links have coins of their own in a release, as those of a federated prior have.
    fn call(&self, order: &CampaignOrder) -> Call {
        let upload_len = self.contribution_len();
        let round = order.round;
        let release = order.release.as_ref().map(|(release, ..)| *release);
        let coins = release.map_or(round, |release| {
            self.base.config.parameters().rounds + 1 + release
        });
        Call {
            round,
            coins,
            queries: release.is_none(),
            upload_len,
        }
    }

    fn view(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn collector<'c>(
        &'c self,
        order: &CampaignOrder,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Self::Collector<'c>>, DriverError> {
        let Some((_, share, _)) = &order.release else {
            return Ok(None);
        };
        let share = share.as_ref().and_then(|share| share.part(agents));
        let share = share.ok_or(DriverError::Check(
            "an order without the opening of a member's own agents",
        ))?;
        let encoding = self.releases().encoding(&order.released)?;
        let encoding =
            encoding.ok_or(DriverError::Check("an order of a release after the last"))?;
        turn::collector(encoding, &share, numbers).map(Some)
    }

    fn act(
        &self,
        (): (),
        order: &CampaignOrder,
        turn: &mut Turn<'_, T, Self::Collector<'_>>,
        slot: AgentSlot<'_, T, SiteState>,
    ) -> Result<(), DriverError> {
        match &order.release {
            None => self.query(order, turn, slot),
            Some((release, ..)) => self.contribute((*release, &order.released), turn, slot),
        }
    }

    fn collected(collector: Self::Collector<'_>) -> Collected {
        turn::sums(collector)
    }
}

impl<T: Scalar> CampaignContext<T> {
    /// The queries of a round. Who has heard the file once keeps it.
    fn query(
        &self,
        order: &CampaignOrder,
        turn: &mut Turn<'_, T, Collector<'_, JointVectors>>,
        slot: AgentSlot<'_, T, SiteState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent,
            state,
            log: kept,
            best,
            ..
        } = slot;
        let round = order.round;
        let reach = turn.reaches(agent, !order.released.is_empty());
        if round > 0 && reach == Reach::Away {
            turn.silent(turn.leaf(agent, 0));
            return Ok(());
        }
        state.heard |= !order.released.is_empty() && reach == Reach::Broadcast;
        let parameters = self.base.config.parameters();
        let queries = if round == 0 {
            parameters.initial_points
        } else {
            1
        };
        let released = match state.heard {
            true => &order.released[..],
            false => &[],
        };
        let asked = Queries {
            agent,
            count: queries,
        };
        let count = self.base.run.shared.candidates().count();
        let (leaf, _) = state
            .values
            .query(kept, best, turn, asked, |log| match round {
                0 => {
                    let number = log.len() as u32;
                    let first = initial_point(self.base.run.seed, agent, number, count);
                    Ok((first, Source::Initial))
                }
                _ => self.next(agent, log, released),
            })?;
        turn.silent(leaf);
        Ok(())
    }

    /// What an agent that is present contributes to a release after these sums.
    fn contribute(
        &self,
        (release, released): (u32, &[f64]),
        turn: &mut Turn<'_, T, Collector<'_, JointVectors>>,
        slot: AgentSlot<'_, T, SiteState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent,
            state,
            log: kept,
            ..
        } = slot;
        let leaf = turn.leaf(agent, 0);
        if turn.reaches(agent, true) != Reach::Broadcast {
            turn.silent(leaf);
            return Ok(());
        }
        if !self.base.method.parts().signal {
            let nothing = vec![T::ZERO; self.contribution_len()];
            return turn.upload(leaf, release, &nothing);
        }
        let log = state.values.log(kept);
        let values: Vec<(&[f64], f64)> = log
            .iter()
            .map(|(candidate, y)| (self.point(*candidate), *y))
            .collect();
        match self.releases().contribution(released, &values)? {
            Some(vector) => {
                let vector: Vec<T> = vector.into_iter().map(T::from_f64).collect();
                turn.upload(leaf, release, &vector)
            }
            None => {
                turn.silent(leaf);
                Ok(())
            }
        }
    }
}
