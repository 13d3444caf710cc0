//! Why a ledger cannot be used, or a charge was refused.

use std::path::{Path, PathBuf};

use sordino_core::privacy::SourceKind;
use sordino_core::privacy::accountant::AccountantError;

use crate::entropy::NoEntropy;
use crate::files::FileError;
use crate::text::{significant_down, significant_up};

/// A smaller ε than this is no room: no command takes one.
const ROOM_MIN: f64 = 1e-5;

/// Why a ledger cannot be opened, or a charge was not written down. Nothing may be released then.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process has it open.
    #[error("{path}: in use by another process")]
    Busy {
        /// The file whose lock is held.
        path: PathBuf,
    },
    /// A line is not what this program wrote there.
    #[error("{path}, line {line}: {problem}")]
    Damaged {
        /// Path of the ledger.
        path: PathBuf,
        /// Line of the file, 1-based.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The ledger is for something other than what was asked for.
    #[error("{path}: the ledger is for {key} {ledger}, {key} {asked} was asked for")]
    Mismatch {
        /// Path of the ledger.
        path: PathBuf,
        /// Name of the term that differs.
        key: &'static str,
        /// What the ledger's first line says.
        ledger: String,
        /// The value that was asked for.
        asked: String,
    },
    /// A term that no ledger can have.
    #[error("{key} of a ledger: admissible: {admissible}")]
    Terms {
        /// Name of the term.
        key: &'static str,
        /// What is admissible.
        admissible: &'static str,
    },
    /// A name that people take for another: it would open a second budget for the same records.
    #[error(
        "the data set's name `{}` has `{}` (U+{:04X}), which looks like another character or like none; admissible: letters of \
         one alphabet, typed plainly, with - and ' for dashes and quotes",
        name.escape_debug(), character.escape_debug(), u32::from(*character)
    )]
    LookAlike {
        /// Name of the data set.
        name: String,
        /// The character that is taken for another.
        character: char,
    },
    /// The file at the path is no longer the one that was opened, or does not end as it was left.
    #[error(
        "{path}: the ledger was removed, replaced or edited while it was open; leave it alone and start again"
    )]
    Replaced {
        /// Path of the ledger.
        path: PathBuf,
    },
    /// The ledger holds fewer charges than were seen in it before, or different ones: an older
    /// copy, or another history.
    #[error(
        "{path}: holds {found} charges, or others than the {known} that were made in it (as {counter} says): put its \
         newest copy back, which was last seen at {seen}"
    )]
    RolledBack {
        /// Path of the ledger.
        path: PathBuf,
        /// Charges that it holds.
        found: u64,
        /// Charges that were seen in it.
        known: u64,
        /// Where it was when it was last charged or opened.
        seen: PathBuf,
        /// Where that is kept.
        counter: PathBuf,
    },
    /// Another ledger of the same data set is open.
    #[error(
        "another ledger of the data set {data:?} is in use by another process ({path} is locked): one at a time, \
         because neither sees what the other is about to spend"
    )]
    DataSetBusy {
        /// The name of the data set.
        data: String,
        /// The file whose lock is held.
        path: PathBuf,
    },
    /// The data set has charges in another ledger.
    #[error(
        "the data set {data:?} has {charges} charges in {} (as {} says): {}, because losses in two ledgers add up \
         and neither budget knows the other",
        place(path, *gone),
        counter.display(),
        advice(*gone, other.as_deref())
    )]
    OtherLedger {
        /// Whether that is where this one is: it was removed, or another was put in its place.
        gone: bool,
        /// The name of the data set.
        data: Box<str>,
        /// What the other ledger counts, where that is not what was asked for: then it cannot be
        /// used.
        other: Option<Box<str>>,
        /// Where the other ledger was last seen.
        path: PathBuf,
        /// Its number of charges.
        charges: u64,
        /// Where that is kept.
        counter: Box<Path>,
    },
    /// The second counter cannot be kept.
    #[error("the second count of charges cannot be kept: {error}")]
    Counter {
        /// Why the counter could not be read or written.
        #[source]
        error: FileError,
    },
    /// No folder for the second counter: neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
    #[error(
        "the second count of charges cannot be kept: neither XDG_STATE_HOME nor HOME is an absolute path"
    )]
    NoStateFolder,
    /// The counter's file is not a counter.
    #[error(
        "{path}: not a count of charges; remove it if the ledger it belongs to is known to be the newest"
    )]
    CounterDamaged {
        /// Path of the counter's file.
        path: PathBuf,
    },
    /// The charge would exceed the budget. Nothing was written.
    #[error(
        "budget spent: epsilon would be {epsilon}, at most {epsilon_max} is admitted{}",
        if .delta > .delta_max { format!("; delta {delta:e}, at most {delta_max:e}") } else { String::new() }
    )]
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
    /// The budget of the data set has no room for what is asked. Nothing was written.
    #[error(
        "budget spent: the data set {data:?} is named in the ledger {path}, which holds ε {} of {epsilon_max} at δ = {delta}; this \
         would make it {}; {}",
        significant_up(*.spent, 4),
        significant_up(*.epsilon, 4),
        fits(*.left)
    )]
    NoRoom {
        /// Path of the ledger.
        path: PathBuf,
        /// The name of the data set.
        data: String,
        /// ε of all charges so far.
        spent: f64,
        /// ε with what is asked.
        epsilon: f64,
        /// The most that is admitted.
        epsilon_max: f64,
        /// The δ of all of these.
        delta: f64,
        /// ε that still fits, from below; none where that depends on what is released.
        left: Option<f64>,
    },
    /// A simulated release was charged before at another cost.
    #[error("release {release} was charged before at another cost")]
    Changed {
        /// Number of the release.
        release: u64,
    },
    /// The coins and noise of the release are not of the kind that the ledger is for.
    #[error("the ledger is for releases by {ledger}, this one is by {release}")]
    OtherKind {
        /// What the ledger is for.
        ledger: SourceKind,
        /// How the release is made.
        release: SourceKind,
    },
    /// An earlier release was never charged.
    #[error(
        "release {release} is charged where the ledger holds {charges} charges: one is missing"
    )]
    Gap {
        /// The release that is charged now.
        release: u64,
        /// How many charges there are.
        charges: u64,
    },
    /// The events cannot be accounted.
    #[error(transparent)]
    Accountant(#[from] AccountantError),
    /// An earlier charge failed halfway; open the ledger again.
    #[error("an earlier charge failed halfway; the ledger must be opened again")]
    Broken,
    /// The system gave no randomness for the name of a new ledger.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// Where the charges of a data set are.
fn place(path: &Path, gone: bool) -> String {
    let path = path.display();
    if gone {
        format!("the ledger that was at {path} and is gone")
    } else {
        format!("another ledger, last seen at {path}")
    }
}

/// What to do about charges elsewhere.
fn advice(gone: bool, other: Option<&str>) -> String {
    match other {
        _ if gone => "put its newest copy back".into(),
        None => "use that one".into(),
        Some(other) => {
            format!(
                "it counts {other}, which is not what is asked for, so the two cannot share a ledger"
            )
        }
    }
}

/// What still fits a budget, in words.
fn fits(left: Option<f64>) -> String {
    match left {
        None => "a smaller ε may fit".into(),
        Some(left) if left < ROOM_MIN => "nothing more fits".into(),
        Some(left) => format!("at most ε {} still fits", significant_down(left, 3)),
    }
}

impl LedgerError {
    /// A line of the ledger, 1-based, is not what this program wrote there.
    pub(super) fn damaged(path: &Path, line: usize, problem: impl Into<String>) -> Self {
        LedgerError::Damaged {
            path: path.to_owned(),
            line,
            problem: problem.into(),
        }
    }

    /// The second counter cannot be kept.
    pub(super) fn counter(error: FileError) -> Self {
        LedgerError::Counter { error }
    }
}
