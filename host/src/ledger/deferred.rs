//! A ledger whose charge becomes durable together with the broadcast it pays for, before either is
//! announced.
//!
//! [`Ledger`] writes a charge down before its noise is drawn: after a crash between the two, a
//! charge was paid for which nothing left. A server that keeps a journal can avoid that loss.
//! Nobody learns anything from noise that died with its process; what must be durable is the charge
//! of a broadcast that *leaves*. So here a charge is only *planned* when the noise is drawn. The
//! server then writes state, broadcast and plan in one file, in one rename; next it syncs this
//! ledger, which writes the plan down; only then does it announce.
//!
//! | crash | on disk | the ledger then |
//! |---|---|---|
//! | before the rename | the round before | holds what it held before: nothing left, nothing is charged |
//! | after the rename | state, broadcast, plan | writes the planned charge down, once, however often this is repeated |
//!
//! **The promise of the host**: nothing made from a release is announced before the rename *and*
//! [`Budgeted::sync`] have returned. A host without a journal takes [`Ledger`].

use serde::{Deserialize, Serialize};
use sordino_core::privacy::{Charge, Event, Provenance};

use super::line::Entry;
use super::{Budgeted, Ledger, LedgerError, Mark};

/// A charge that will be written down: a journal keeps it beside the broadcast it pays for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    pub(super) entry: Entry,
    pub(super) mark: Mark,
}

impl Planned {
    /// Number of the release that is charged, from 0.
    pub fn release(&self) -> u64 {
        self.entry.release
    }
}

/// A ledger that writes its last charge down when it is synced.
pub struct Deferred {
    ledger: Ledger,
    planned: Option<Planned>,
}

impl Deferred {
    /// Goes on with a ledger. `planned` is the charge that a journal held: it is written down now.
    ///
    /// **Errors**: [`LedgerError`]; nothing may be released then.
    pub fn new(mut ledger: Ledger, planned: Option<&Planned>) -> Result<Self, LedgerError> {
        planned.map_or(Ok(()), |planned| ledger.settle(planned))?;
        Ok(Deferred {
            ledger,
            planned: None,
        })
    }

    /// The charge that is not written down yet.
    pub fn planned(&self) -> Option<&Planned> {
        self.planned.as_ref()
    }

    /// The ledger, without what is planned.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn settle(&mut self) -> Result<(), LedgerError> {
        if let Some(planned) = &self.planned {
            self.ledger.settle(planned)?;
        }
        self.planned = None;
        Ok(())
    }
}

/// Plans the charge: durable only after [`Budgeted::sync`], see the promise of the host above.
impl<P: Provenance> sordino_core::privacy::Ledger<P> for Deferred {
    type Error = LedgerError;

    fn write(&mut self, charge: &Charge<P>) -> Result<(), LedgerError> {
        if P::KIND != self.ledger.kind() {
            return Err(LedgerError::OtherKind {
                ledger: self.ledger.kind(),
                release: P::KIND,
            });
        }
        // A plan that nobody settled may have been announced for all that is known here: it counts.
        self.settle()?;
        self.planned = self.ledger.plan(charge.release(), charge.events())?;
        Ok(())
    }
}

impl Budgeted for Deferred {
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        self.settle()?;
        self.ledger.admits_release(release, events)
    }

    fn mark(&self) -> Mark {
        self.planned
            .as_ref()
            .map_or(self.ledger.mark(), |planned| planned.mark)
    }

    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        self.ledger.holds(mark)
    }

    fn sync(&mut self) -> Result<(), LedgerError> {
        self.settle()?;
        self.ledger.sync()
    }
}
