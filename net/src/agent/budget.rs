//! The ε that an agent accepts, whatever the terms admit.

use sordino_core::privacy::budget::BudgetError;

use super::{AgentEnd, Awaited, HostAgent};
use crate::cost::{Cost, Spending};
use crate::party::{Number, Party};

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// Tells once that the ε it accepts is used up.
    pub(super) fn says_spent(&mut self, round: u32) {
        let (Some(teller), Some(epsilon_max)) = (&mut self.teller, self.epsilon_max) else { return };
        if !std::mem::replace(&mut self.told_spent, true) {
            teller.say(Awaited::Spent { round, given: self.given.len() as u32, epsilon_max });
        }
    }

    /// Whether a contribution to this release fits what this agent admits.
    pub(super) fn affords(&self, release: u32) -> Result<bool, AgentEnd> {
        let Some(epsilon_max) = self.epsilon_max else {
            return Ok(true);
        };
        let agreement = self.shared.agreement();
        let unprotected = AgentEnd::NotOurs { what: "a budget where releases are not private" };
        let cost = Cost::of(&agreement.protocol).ok().flatten().ok_or(unprotected)?;
        let mut spending = Spending::new(P::ACCOUNTING, epsilon_max, agreement.announced.delta)?;
        // A budget that was lowered may be below what was given already.
        let given = self.given.iter().try_for_each(|release| spending.charge(&cost.event(*release)));
        match given.and_then(|()| spending.charge(&cost.event(release))) {
            Ok(()) => Ok(true),
            Err(BudgetError::Exhausted { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
