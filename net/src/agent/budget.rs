//! The ε that an agent accepts, whatever the terms admit.

use sordino_core::federated::exchange::Reply;
use sordino_core::privacy::budget::BudgetError;

use super::{AgentEnd, Awaited, HostAgent};
use crate::cost::{Cost, Spending};
use crate::party::{Number, Party};

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// Tells once that the ε it accepts is used up.
    pub(super) fn says_spent(&mut self, round: u32) {
        let (Some(teller), Some(epsilon_max)) = (&mut self.teller, self.epsilon_max) else {
            return;
        };
        if !std::mem::replace(&mut self.told_spent, true) {
            teller.say(Awaited::Spent {
                round,
                given: self.given.len() as u32,
                epsilon_max,
            });
        }
    }

    /// Tells that the count of its data holds no contribution to this round.
    pub(super) fn says_uncounted(&mut self, round: u32) {
        if let Some(teller) = &mut self.teller {
            teller.say(Awaited::Uncounted { round });
        }
    }

    /// Remembers whether a contribution arrived when its round was over. A server that was started
    /// again says so of an attempt that is over, and takes the same contribution to the next one.
    pub(super) fn says_taken(&mut self, round: u32, reply: Reply) {
        match reply {
            Reply::Over if self.given.contains(&round) => self.late = Some(round),
            Reply::Taken | Reply::Already => self.late = None,
            _ => {}
        }
    }

    /// With the frame of this round the one before is over: tells if its contribution was not
    /// taken.
    pub(super) fn says_late(&mut self, round: u32) {
        let late = self.late.take().filter(|late| *late < round);
        if let (Some(round), Some(teller)) = (late, &mut self.teller) {
            teller.say(Awaited::Late { round });
        }
    }

    /// Whether a contribution to this release fits what this agent admits.
    pub(super) fn affords(&self, release: u32) -> Result<bool, AgentEnd> {
        let Some(epsilon_max) = self.epsilon_max else {
            return Ok(true);
        };
        let cost = self.cost_or("a budget where releases are not private")?;
        let mut spending = Spending::new(
            cost.accounting(),
            epsilon_max,
            self.shared.agreement().announced.delta,
        )?;
        // A budget that was lowered may be below what was given already.
        let given = self
            .given
            .iter()
            .try_for_each(|release| spending.charge(&cost.event(*release)));
        match given.and_then(|()| spending.charge(&cost.event(release))) {
            Ok(()) => Ok(true),
            Err(BudgetError::Exhausted { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What releases cost; where they are not private, the file is not ours for this reason.
    pub(super) fn cost_or(&self, unprotected: &'static str) -> Result<Cost, AgentEnd> {
        let cost = Cost::of(&self.shared.agreement().protocol)
            .map_err(|error| AgentEnd::Cost(Box::new(error)))?;
        cost.ok_or(AgentEnd::NotOurs { what: unprotected })
    }
}
