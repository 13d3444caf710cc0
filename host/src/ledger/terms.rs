//! What a ledger is for: names, accounting and budget, checked before anything is written.

use sordino_core::privacy::SourceKind;

use super::LedgerError;
use super::line::{Accounting, Head, LEDGER_VERSION};

/// The longest name of a data set or unit, in bytes.
const NAME_MAX: usize = 256;
/// What a name may be, in words.
pub(super) const NAME_ADMISSIBLE: &str =
    "1 to 256 bytes without control characters, no white space at either end";

/// Whether a data set or a unit may have this name.
pub(super) fn is_name(name: &str) -> bool {
    let length = (1..=NAME_MAX).contains(&name.len());
    length && !name.chars().any(char::is_control) && name.trim() == name
}

/// What a ledger is for: its first line.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Name of the data set, or of the run of a simulation; 1 to 256 bytes, no control characters,
    /// no white space at either end.
    pub data: String,
    /// Whose presence or value is protected, for example "agent"; the same rules as for the name of
    /// the data set.
    pub unit: String,
    /// Number of records, public. If none, that of an existing ledger is not compared.
    pub records: Option<u64>,
    /// How losses add up.
    pub accounting: Accounting,
    /// The largest ε, > 0. A new ledger of secret noise needs one; if none, that of an existing
    /// ledger is not compared. A simulated ledger without one admits everything.
    pub epsilon_max: Option<f64>,
    /// The δ of the budget: in [0, 1) where δ is summed, in (0, 1) under Rényi or Gaussian
    /// accounting.
    pub delta: f64,
}

/// The refusal of a term.
fn refuse(key: &'static str, admissible: &'static str) -> Result<(), LedgerError> {
    Err(LedgerError::Terms { key, admissible })
}

impl Terms {
    /// Refuses names and numbers that are not valid.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        if !is_name(&self.data) {
            return refuse("data set", NAME_ADMISSIBLE);
        }
        if !is_name(&self.unit) {
            return refuse("unit", NAME_ADMISSIBLE);
        }
        if self
            .epsilon_max
            .is_some_and(|most| !(most > 0.0 && most.is_finite()))
        {
            return refuse("max_epsilon", "a finite number above 0");
        }
        let delta = self.delta < 1.0
            && (self.delta > 0.0 || (self.delta == 0.0 && self.accounting == Accounting::Sum));
        if delta {
            Ok(())
        } else {
            refuse("delta", "[0, 1), and above 0 unless delta is summed")
        }
    }

    /// The first line of a ledger for it.
    pub(super) fn head(&self, kind: SourceKind, id: Option<String>) -> Head {
        Head {
            sordino_ledger: LEDGER_VERSION,
            noise: kind.to_string(),
            id,
            data: self.data.clone(),
            unit: self.unit.clone(),
            records: self.records,
            accountant: self.accounting,
            epsilon_max: self.epsilon_max,
            delta: self.delta,
        }
    }
}
