//! Why a file is no prior file.

use std::fmt;

use crate::space::SpaceError;
use crate::text::{chain, plain};

/// Why a file is none, and what would be one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {found}; admissible: {admissible}")]
pub struct PriorFileError {
    /// The entry that is wrong.
    pub what: String,
    /// What was found there.
    pub found: String,
    /// What is admissible there.
    pub admissible: String,
}

/// The most characters of what was found that are shown.
const SHOWN: usize = 200;

/// A refusal; what a file says is shown in part, and without what would change a terminal.
pub(crate) fn refuse(what: &str, found: impl fmt::Display, admissible: &str) -> PriorFileError {
    let found = found.to_string();
    let shown: String = found.chars().take(SHOWN).collect();
    let rest = if shown.len() < found.len() { "…" } else { "" };
    let what: String = what.chars().take(SHOWN).collect();
    PriorFileError {
        what: plain(&what),
        found: plain(&shown) + rest,
        admissible: admissible.into(),
    }
}

/// The refusal of a space that core cannot search: its cause, such as the number of axes.
pub(super) fn unsearchable(error: SpaceError) -> PriorFileError {
    refuse(
        "space",
        chain(&error),
        "1 to 16 parameters, at least one of them searched",
    )
}
