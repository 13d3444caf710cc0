//! The ledger: every event with its place in the sequence, in a form that outlives the program.
//!
//! A host appends the entry and makes it durable *before* the noise is drawn ([`crate::privacy`]); after a crash it
//! reads the ledger back through [`Replay`]. What an entry means the second time depends on the noise:
//!
//! * simulated: the same seed draws the same noise again, so the same release happens once, and is charged once;
//! * secret: the second draw is a new release of the same data, and is charged again. Never too little.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::accountant::{AccountantError, RdpAccountant};
use super::event::Event;
use crate::random::SourceKind;

/// Version of [`LedgerEntry`]; a reader refuses every other.
pub const LEDGER_SCHEMA: u16 = 1;

/// One charge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// [`LEDGER_SCHEMA`].
    pub schema: u16,
    /// Number of the release within its run, from 0.
    pub sequence: u64,
    /// What it costs.
    pub event: Event,
}

impl LedgerEntry {
    /// The charge of release `sequence`.
    pub const fn new(sequence: u64, event: Event) -> Self {
        LedgerEntry { schema: LEDGER_SCHEMA, sequence, event }
    }
}

/// Why a ledger cannot be trusted. Nothing may be released then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LedgerError {
    /// Written by another version.
    Schema(u16),
    /// A release is missing before this one, or an older one comes again.
    Sequence {
        /// The place found.
        found: u64,
        /// The place expected, or the one before it (charged again).
        expected: u64,
    },
    /// The same release with another cost: the configuration changed under a simulated run.
    Changed {
        /// Its place.
        sequence: u64,
    },
    /// The event could not be accounted.
    Accountant(AccountantError),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::Schema(found) => write!(f, "ledger schema {found}, this program reads {LEDGER_SCHEMA}"),
            LedgerError::Sequence { found, expected } => {
                write!(f, "ledger holds release {found} where {expected} was expected")
            }
            LedgerError::Changed { sequence } => write!(f, "release {sequence} was charged before at another cost"),
            LedgerError::Accountant(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for LedgerError {}

impl From<AccountantError> for LedgerError {
    fn from(e: AccountantError) -> Self {
        LedgerError::Accountant(e)
    }
}

/// Reads entries in order and knows what they add up to.
#[derive(Clone, Debug)]
pub struct Replay {
    accountant: RdpAccountant,
    last: Option<LedgerEntry>,
    kind: SourceKind,
}

impl Replay {
    /// An empty ledger for noise of this kind.
    pub const fn new(kind: SourceKind) -> Self {
        Replay { accountant: RdpAccountant::new(), last: None, kind }
    }

    /// Adds one entry. True if it was charged, false if a simulated release was seen before.
    pub fn read(&mut self, entry: &LedgerEntry) -> Result<bool, LedgerError> {
        if entry.schema != LEDGER_SCHEMA {
            return Err(LedgerError::Schema(entry.schema));
        }
        let expected = self.next();
        match self.last {
            Some(last) if entry.sequence == last.sequence => {
                if self.kind == SourceKind::Simulation {
                    let same = entry.event == last.event;
                    return if same { Ok(false) } else { Err(LedgerError::Changed { sequence: entry.sequence }) };
                }
            }
            _ if entry.sequence == expected => {}
            _ => return Err(LedgerError::Sequence { found: entry.sequence, expected }),
        }
        self.accountant.compose(&entry.event, 1)?;
        self.last = Some(*entry);
        Ok(true)
    }

    /// Number of the next release.
    pub fn next(&self) -> u64 {
        self.last.map_or(0, |last| last.sequence + 1)
    }

    /// What the entries add up to.
    pub const fn accountant(&self) -> &RdpAccountant {
        &self.accountant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::event::NeighboringRelation;

    const ONE: Event = Event::PureEpsilon { epsilon: 1.0, relation: NeighboringRelation::ReplaceOne };
    const TWO: Event = Event::PureEpsilon { epsilon: 2.0, relation: NeighboringRelation::ReplaceOne };

    #[test]
    fn a_second_charge_counts_for_secret_noise_only() {
        for (kind, releases) in [(SourceKind::Simulation, 2), (SourceKind::Secret, 3)] {
            let mut replay = Replay::new(kind);
            for sequence in [0, 1, 1] {
                replay.read(&LedgerEntry::new(sequence, ONE)).unwrap();
            }
            assert_eq!((replay.accountant().releases(), replay.next()), (releases, 2));
        }
    }

    #[test]
    fn refuses_gaps_versions_and_changes() {
        let mut replay = Replay::new(SourceKind::Simulation);
        assert!(matches!(replay.read(&LedgerEntry::new(1, ONE)), Err(LedgerError::Sequence { found: 1, expected: 0 })));
        assert_eq!(replay.read(&LedgerEntry { schema: 2, sequence: 0, event: ONE }), Err(LedgerError::Schema(2)));
        assert_eq!(replay.read(&LedgerEntry::new(0, ONE)), Ok(true));
        assert_eq!(replay.read(&LedgerEntry::new(0, TWO)), Err(LedgerError::Changed { sequence: 0 }));
        let bad = Event::PureEpsilon { epsilon: f64::NAN, relation: NeighboringRelation::ReplaceOne };
        assert!(matches!(replay.read(&LedgerEntry::new(1, bad)), Err(LedgerError::Accountant(_))));
        assert_eq!(replay.accountant().releases(), 1);
    }
}
