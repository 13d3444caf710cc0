//! The ε that an agent accepts, whatever the terms admit.

use sordino_core::federated::Server;
use sordino_core::math::Scalar;
use sordino_core::privacy::Event;
use sordino_core::privacy::budget::{BudgetError, Filter};

use super::{AgentEnd, Awaited, HostAgent};

impl<T: Scalar> HostAgent<T> {
    /// Tells once that the ε it accepts is used up.
    pub(super) fn says_spent(&mut self, round: u32) {
        let (Some(teller), Some(epsilon_max)) = (&mut self.teller, self.epsilon_max) else { return };
        if !std::mem::replace(&mut self.told_spent, true) {
            teller.say(Awaited::Spent { round, given: self.given.len() as u32, epsilon_max });
        }
    }

    /// Whether one more contribution fits what this agent admits.
    pub(super) fn affords(&self) -> Result<bool, AgentEnd> {
        let Some(epsilon_max) = self.epsilon_max else {
            return Ok(true);
        };
        let unprotected = AgentEnd::NotOurs { what: "a budget where releases are not private" };
        let event = self.event()?.ok_or(unprotected)?;
        let mut filter = Filter::new(epsilon_max, self.shared.agreement.announced.delta)?;
        // A budget that was lowered may be below what was given already.
        let given = self.given.iter().try_for_each(|_| filter.charge(&event));
        match given.and_then(|()| filter.admits(&event)) {
            Ok(()) => Ok(true),
            Err(BudgetError::Exhausted { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn event(&self) -> Result<Option<Event>, AgentEnd> {
        let refused = |_| AgentEnd::NotOurs { what: "a configuration without a mechanism" };
        Server::<T>::event_of(&self.shared.agreement.config).map_err(refused)
    }
}
