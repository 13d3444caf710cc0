//! What the agent's data gave to all federations: a count by name, outside its folder.

use sordino_host::ledger::contributions::Contributions;

use super::{AgentEnd, HostAgent};
use crate::beside::beside;
use crate::cost::Cost;
use crate::party::{Number, Party};

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// Writes every contribution into this count before it leaves; what the agent gave already is
    /// taken over.
    ///
    /// **Errors**: [`AgentEnd`].
    pub fn counting(&mut self, mut count: Contributions) -> Result<(), AgentEnd> {
        if !self.given.is_empty() {
            let cost = self.cost()?;
            count.adopt(
                self.given
                    .iter()
                    .map(|release| (*release, cost.event(*release))),
            )?;
        }
        self.count = Some(count);
        Ok(())
    }

    /// Writes down that it gives to this release, if there is a count; false if that is more than
    /// it agreed to.
    pub(super) fn counts(&mut self, release: u32) -> Result<bool, AgentEnd> {
        if self.count.is_none() {
            return Ok(true);
        }
        let event = self.cost()?.event(release);
        self.count.as_mut().map_or(Ok(true), |count| {
            Ok(beside(|| count.give(release, &event))?)
        })
    }

    /// It gives nothing more: what it agreed to and did not give is free for other federations.
    pub(crate) fn settle(&mut self) -> Result<(), AgentEnd> {
        self.count
            .as_mut()
            .map_or(Ok(()), |count| Ok(beside(|| count.settle())?))
    }

    fn cost(&self) -> Result<Cost, AgentEnd> {
        self.cost_or("a count where releases are not private")
    }
}
