//! Why a file is no prior file.

use std::fmt;

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

pub(super) fn refuse(what: &str, found: impl fmt::Display, admissible: &str) -> PriorFileError {
    PriorFileError { what: what.into(), found: found.to_string(), admissible: admissible.into() }
}
