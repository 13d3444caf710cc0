//! Why a step of the federated prior was refused.

use core::fmt;

use crate::linalg::NotPositiveDefinite;
use crate::math::Scalar;

/// A step that was refused; the object it belongs to is as before unless its documentation says
/// otherwise. No variant depends on another party's data.
///
/// **Example**: that of [`super::Observations`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PriorError {
    /// A slice of the wrong length.
    Length {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice given.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// A number that is not finite, or outside the range its documentation states.
    Number {
        /// Name of the number.
        what: &'static str,
        /// The number as given.
        value: f64,
        /// The admissible range.
        admissible: &'static str,
    },
    /// A vector that is longer than what honest parties send, so that nothing is learned from it.
    Norm {
        /// Name of the vector.
        what: &'static str,
        /// Its L2 norm; infinite if that overflows.
        value: f64,
        /// The largest admissible norm.
        largest: f64,
    },
    /// A candidate that does not exist.
    Candidate {
        /// Its place in the list it was found in.
        entry: usize,
        /// Number of candidates.
        candidates: usize,
    },
    /// An update without the terms of its release: [`super::PublicState::prepare`] comes first.
    NotPrepared,
    /// A public context that was made for another configuration.
    OtherConfig,
    /// Landmarks that are not those of the agreement.
    OtherLandmarks,
    /// An agreement on two servers, of which none may see a contribution.
    TwoServers,
    /// A covariance that is not positive definite at working precision.
    Singular(NotPositiveDefinite),
}

impl fmt::Display for PriorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PriorError::Length {
                what,
                len,
                expected,
            } => write!(f, "{what}: {len} entries, {expected} expected"),
            PriorError::Number {
                what,
                value,
                admissible,
            } => write!(f, "{what} = {value} is outside {admissible}"),
            PriorError::Norm {
                what,
                value,
                largest,
            } => {
                write!(f, "norm of the {what} = {value} is outside [0, {largest}]")
            }
            PriorError::Candidate { entry, candidates } => {
                write!(
                    f,
                    "entry {entry} names no candidate of the {candidates} there are"
                )
            }
            PriorError::NotPrepared => {
                f.write_str("the release has no terms yet: prepare comes before update")
            }
            PriorError::OtherConfig => {
                f.write_str("the public context was made for another configuration")
            }
            PriorError::OtherLandmarks => {
                f.write_str("the landmarks are not those of the agreement")
            }
            PriorError::TwoServers => f.write_str(
                "where there are two servers a contribution is hidden, which this site cannot",
            ),
            PriorError::Singular(_) => {
                f.write_str("a covariance of the federated prior cannot be factored")
            }
        }
    }
}

impl core::error::Error for PriorError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            PriorError::Singular(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NotPositiveDefinite> for PriorError {
    fn from(error: NotPositiveDefinite) -> Self {
        PriorError::Singular(error)
    }
}

/// `len` is exactly `expected`.
pub(super) fn exactly(what: &'static str, len: usize, expected: usize) -> Result<(), PriorError> {
    if len == expected {
        Ok(())
    } else {
        Err(PriorError::Length {
            what,
            len,
            expected,
        })
    }
}

/// Refuses a number that is outside its range.
pub(super) fn judge<T: Scalar>(
    what: &'static str,
    value: T,
    holds: bool,
    admissible: &'static str,
) -> Result<(), PriorError> {
    if holds {
        Ok(())
    } else {
        Err(PriorError::Number {
            what,
            value: value.to_f64(),
            admissible,
        })
    }
}

/// `len` is at least `expected`.
pub(super) fn at_least(what: &'static str, len: usize, expected: usize) -> Result<(), PriorError> {
    if len >= expected {
        Ok(())
    } else {
        Err(PriorError::Length {
            what,
            len,
            expected,
        })
    }
}
