//! What a server asks of its ledger, and how a stored party recognises its ledger.

use serde::{Deserialize, Serialize};
use sordino_core::privacy::Event;

use super::line::Chain;
use super::{Ledger, LedgerError};

/// What a server asks of its ledger besides writing charges down. [`Ledger`] is the shipped
/// implementation; a test wraps it.
pub trait Budgeted {
    /// See [`Ledger::admits_release`].
    ///
    /// **Errors**: as there.
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError>;

    /// See [`Ledger::mark`].
    fn mark(&self) -> Mark;

    /// See [`Ledger::holds`].
    ///
    /// **Errors**: as there.
    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError>;

    /// See [`Ledger::sync`].
    ///
    /// **Errors**: as there.
    fn sync(&mut self) -> Result<(), LedgerError>;
}

impl Budgeted for Ledger {
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        Ledger::admits_release(self, release, events)
    }

    fn mark(&self) -> Mark {
        Ledger::mark(self)
    }

    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        Ledger::holds(self, mark)
    }

    fn sync(&mut self) -> Result<(), LedgerError> {
        Ledger::sync(self)
    }
}

/// How far a ledger was written: a stored party keeps this mark to recognise its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub(super) charges: u64,
    pub(super) chain: Chain,
}

impl Mark {
    /// Charges that the ledger held.
    pub const fn charges(&self) -> u64 {
        self.charges
    }

    /// The chain of the ledger's last line, 64 hexadecimal digits: what a file that names the
    /// ledger's head writes down.
    pub fn chain(&self) -> String {
        self.chain.hex()
    }
}
