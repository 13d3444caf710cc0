//! The ledger of an audit, and sources whose draws can be foreseen.

use rand_core::TryCryptoRng;
use sordino_core::privacy::{Charge, Event, Ledger, NoiseSource, Provenance, Secret, Simulated};

use super::error::RunError;

/// The ledger of an audit. It lives in memory, because everything an audit releases is about
/// invented agents and is thrown away. It pays only for the claimed event, so that a party which
/// charges less than it should is found; the ledger of a control pays for anything.
pub(super) struct AuditLedger {
    claimed: Option<Event>,
    charges: u32,
}

impl AuditLedger {
    /// An empty ledger that pays only for this event, or for any event if none is given.
    pub(super) const fn new(claimed: Option<Event>) -> Self {
        AuditLedger {
            claimed,
            charges: 0,
        }
    }

    /// Number of events charged.
    pub(super) const fn charges(&self) -> u32 {
        self.charges
    }
}

impl<P: Provenance> Ledger<P> for AuditLedger {
    type Error = RunError;
    fn write(&mut self, charge: &Charge<P>) -> Result<(), RunError> {
        for found in charge.events() {
            if let Some(claimed) = self.claimed.filter(|claimed| claimed != found) {
                return Err(RunError::Charge {
                    found: *found,
                    claimed,
                });
            }
            self.charges += 1;
        }
        Ok(())
    }
}

/// A source whose words a control may know before they are drawn, if it has a seed.
pub(super) trait Foreseen: NoiseSource {
    /// A copy of the source, to be drawn from in advance; `None` if the source is secret.
    fn ahead(&self) -> Option<Simulated>;
}

impl Foreseen for Simulated {
    fn ahead(&self) -> Option<Simulated> {
        Some(self.clone())
    }
}

impl<R: TryCryptoRng> Foreseen for Secret<R> {
    fn ahead(&self) -> Option<Simulated> {
        None
    }
}
