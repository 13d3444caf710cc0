//! Why a ledger cannot be used, or a charge was refused.

use std::fmt;
use std::path::PathBuf;

use sordino_core::privacy::SourceKind;
use sordino_core::privacy::accountant::AccountantError;

use crate::entropy::NoEntropy;
use crate::files::FileError;

/// Why a ledger cannot be opened, or a charge was not written down. Nothing may be released then.
#[derive(Debug)]
pub enum LedgerError {
    /// A file could not be read or written.
    File(FileError),
    /// Another process has it open.
    Busy {
        /// The file whose lock is held.
        path: PathBuf,
    },
    /// A line is not what this program wrote there.
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The ledger is for something else than what is asked.
    Mismatch {
        /// The ledger.
        path: PathBuf,
        /// What differs.
        key: &'static str,
        /// What the ledger's first line says.
        ledger: String,
        /// What is asked.
        asked: String,
    },
    /// A term that no ledger can have.
    Terms {
        /// Which term.
        key: &'static str,
        /// What is admissible.
        admissible: &'static str,
    },
    /// The file at the path is no longer the one that was opened, or does not end as it was left.
    Replaced {
        /// The ledger.
        path: PathBuf,
    },
    /// The ledger holds fewer charges than were seen in it before, or others: an older copy, or another history.
    RolledBack {
        /// The ledger.
        path: PathBuf,
        /// Charges that it holds.
        found: u64,
        /// Charges that were seen in it.
        known: u64,
        /// Where that is kept.
        counter: PathBuf,
    },
    /// Another ledger of the same data set is open.
    DataSetBusy {
        /// The name of the data set.
        data: String,
        /// The file whose lock is held.
        path: PathBuf,
    },
    /// The data set has charges in another ledger.
    OtherLedger {
        /// The name of the data set.
        data: String,
        /// Where the other ledger was last seen.
        path: PathBuf,
        /// Its number of charges.
        charges: u64,
        /// Where that is kept.
        counter: PathBuf,
    },
    /// The second counter cannot be kept.
    Counter {
        /// Why.
        error: FileError,
    },
    /// No folder for the second counter: neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
    NoStateFolder,
    /// The counter's own file does not say what a counter says.
    CounterDamaged {
        /// The file.
        path: PathBuf,
    },
    /// The charge would exceed the budget. Nothing was written.
    OverBudget {
        /// ε after the charge.
        epsilon: f64,
        /// The most that is admitted.
        epsilon_max: f64,
        /// δ after the charge.
        delta: f64,
        /// The most that is admitted.
        delta_max: f64,
    },
    /// A simulated release was charged before at another cost.
    Changed {
        /// Its number.
        release: u64,
    },
    /// The charge of a release whose coins and noise are made otherwise than the ledger is for.
    OtherKind {
        /// What the ledger is for.
        ledger: SourceKind,
        /// How the release is made.
        release: SourceKind,
    },
    /// An earlier release was never charged.
    Gap {
        /// The release that is charged now.
        release: u64,
        /// How many charges there are.
        charges: u64,
    },
    /// The events cannot be accounted.
    Accountant(AccountantError),
    /// An earlier charge failed half-way; open the ledger again.
    Broken,
    /// No random name for a new ledger.
    NoEntropy(NoEntropy),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::File(error) => error.fmt(f),
            LedgerError::Busy { path } => write!(f, "{}: in use by another process", path.display()),
            LedgerError::Damaged { path, line, problem } => write!(f, "{}, line {line}: {problem}", path.display()),
            LedgerError::Mismatch { path, key, ledger, asked } => {
                write!(f, "{}: the ledger is for {key} {ledger}, asked is {key} {asked}", path.display())
            }
            LedgerError::Terms { key, admissible } => write!(f, "{key} of a ledger: admissible: {admissible}"),
            LedgerError::Replaced { path } => write!(
                f,
                "{}: the ledger was removed, replaced or edited while it was open; leave it alone and start again",
                path.display()
            ),
            LedgerError::RolledBack { path, found, known, counter } => write!(
                f,
                "{}: holds {found} charges, or others than the {known} that were made in it (as {} says): put its \
                 newest copy back",
                path.display(),
                counter.display()
            ),
            LedgerError::DataSetBusy { data, path } => write!(
                f,
                "another ledger of the data set {data:?} is in use by another process ({} is locked): one at a time, \
                 because neither sees what the other is about to spend",
                path.display()
            ),
            LedgerError::OtherLedger { data, path, charges, counter } => write!(
                f,
                "the data set {data:?} has {charges} charges in another ledger, last seen at {} (as {} says): use \
                 that one, because losses in two ledgers add up and neither budget knows the other",
                path.display(),
                counter.display()
            ),
            LedgerError::Counter { error } => write!(f, "the second count of charges cannot be kept: {error}"),
            LedgerError::NoStateFolder => f.write_str(
                "the second count of charges cannot be kept: neither XDG_STATE_HOME nor HOME is an absolute path",
            ),
            LedgerError::CounterDamaged { path } => write!(
                f,
                "{}: not a count of charges; remove it if the ledger it belongs to is known to be the newest",
                path.display()
            ),
            LedgerError::OverBudget { epsilon, epsilon_max, delta, delta_max } => {
                write!(f, "budget spent: epsilon would be {epsilon}, at most {epsilon_max} is admitted")?;
                if delta > delta_max { write!(f, "; delta {delta:e}, at most {delta_max:e}") } else { Ok(()) }
            }
            LedgerError::Changed { release } => write!(f, "release {release} was charged before at another cost"),
            LedgerError::OtherKind { ledger, release } => {
                write!(f, "the ledger is for releases by {ledger}, this one is by {release}")
            }
            LedgerError::Gap { release, charges } => {
                write!(f, "release {release} is charged where the ledger holds {charges} charges: one is missing")
            }
            LedgerError::Accountant(error) => error.fmt(f),
            LedgerError::Broken => f.write_str("an earlier charge failed half-way; the ledger must be opened again"),
            LedgerError::NoEntropy(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LedgerError::File(error) | LedgerError::Counter { error } => error.source(),
            LedgerError::Accountant(error) => error.source(),
            LedgerError::NoEntropy(error) => error.source(),
            _ => None,
        }
    }
}

impl From<FileError> for LedgerError {
    fn from(error: FileError) -> Self {
        LedgerError::File(error)
    }
}

impl From<AccountantError> for LedgerError {
    fn from(error: AccountantError) -> Self {
        LedgerError::Accountant(error)
    }
}
