//! Why a prior or a search is refused.

use core::fmt;

use super::storage::LANDMARKS_MAX;
use crate::domain::DIM_MAX;
use crate::linalg::NotPositiveDefinite;
use crate::optimizer::CANDIDATES_MAX;

/// Why the numbers of a prior file are refused.
///
/// **Example**: that of [`super::PublicPrior`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PublicPriorError {
    /// No dimension, or more than [`DIM_MAX`].
    Dimension {
        /// Number of dimensions given.
        dim: usize,
    },
    /// No landmark, more than [`LANDMARKS_MAX`], or a part of one.
    Landmarks {
        /// How many numbers were given.
        len: usize,
        /// Number of coordinates of a landmark.
        dim: usize,
    },
    /// A slice that is not as long as the landmarks ask for.
    Length {
        /// Which slice it is.
        what: &'static str,
        /// Its length as given.
        len: usize,
        /// The length it must have; of lent storage the least.
        expected: usize,
    },
    /// So many numbers in one row as no file has.
    Numbers {
        /// How many numbers were given.
        len: usize,
        /// Number of coordinates of a landmark.
        dim: usize,
    },
    /// A number that is not finite or outside of its range.
    Number {
        /// Which slice or number.
        what: &'static str,
        /// Place in the slice, 0-based.
        index: usize,
        /// The value as given.
        value: f64,
        /// The range it must lie in.
        admissible: &'static str,
    },
    /// Two landmarks are nearly the same, or one is determined by the others: k(P, P) has no stable
    /// factor.
    Singular(NotPositiveDefinite),
    /// The covariance of the weights is none: it has a negative eigenvalue.
    Covariance(NotPositiveDefinite),
}

impl fmt::Display for PublicPriorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublicPriorError::Dimension { dim } => {
                write!(f, "prior: dimension {dim} is outside 1..={DIM_MAX}")
            }
            PublicPriorError::Landmarks { len, dim } => {
                write!(
                    f,
                    "prior: {len} numbers are not 1 to {LANDMARKS_MAX} landmarks of {dim} coordinates"
                )
            }
            PublicPriorError::Length {
                what,
                len,
                expected,
            } => {
                write!(
                    f,
                    "prior: {what} holds {len} numbers; {expected} are needed"
                )
            }
            PublicPriorError::Numbers { len, dim } => {
                write!(
                    f,
                    "prior: no file in {dim} dimensions has {len} numbers: 2 + M({dim} + 1) + M(M + 1)/2 for M landmarks"
                )
            }
            PublicPriorError::Number {
                what,
                index,
                value,
                admissible,
            } => {
                write!(
                    f,
                    "prior: {what}, number {index}: {value:e} is outside {admissible}"
                )
            }
            PublicPriorError::Singular(error) => {
                write!(
                    f,
                    "prior: the landmarks are not distinct enough for their lengthscale: {error}"
                )
            }
            PublicPriorError::Covariance(error) => {
                write!(
                    f,
                    "prior: the covariance of the weights has a negative eigenvalue: {error}"
                )
            }
        }
    }
}

impl core::error::Error for PublicPriorError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            PublicPriorError::Singular(error) | PublicPriorError::Covariance(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a search refuses; it is as it was then.
///
/// **Example**: that of [`super::NewcomerSettings`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NewcomerError {
    /// Candidates of no dimension, of more than [`DIM_MAX`], or not of the prior's.
    Dimension {
        /// Number of dimensions given.
        dim: usize,
        /// The prior's; nothing without one.
        prior: Option<usize>,
    },
    /// No candidate, more than [`CANDIDATES_MAX`], or a part of one.
    Candidates {
        /// How many numbers were given.
        len: usize,
        /// Number of coordinates of a candidate.
        dim: usize,
    },
    /// A coordinate that is not a finite number in \[0, 1].
    Coordinate {
        /// Index of the candidate, 0-based.
        candidate: usize,
        /// Axis of the coordinate, 0-based.
        axis: usize,
        /// The value as given.
        value: f64,
    },
    /// A noise fraction outside \[10⁻⁶, 1].
    NoiseFraction {
        /// The value given.
        value: f64,
    },
    /// No room for one observation.
    Capacity {
        /// Observations asked for.
        capacity: usize,
    },
    /// The storage lent is too short.
    Storage {
        /// Numbers needed.
        needed: usize,
        /// How many numbers were given.
        given: usize,
    },
    /// The table of moments does not have two numbers for each candidate, or is not finite.
    Moments {
        /// The first candidate that does not fit.
        candidate: usize,
        /// Candidates that the table has room for.
        rows: usize,
        /// Number of candidates.
        candidates: usize,
    },
    /// The table of moments is of another file or another list: it says something else about a
    /// candidate than this file does.
    MomentsOfAnother {
        /// The first candidate that was compared and differs.
        candidate: usize,
    },
    /// A candidate that is not in the list.
    Candidate {
        /// The index given.
        index: usize,
        /// Number of candidates.
        candidates: usize,
    },
    /// A value that is not finite, or so far from the first one that the difference is not.
    Value {
        /// The value given.
        value: f64,
    },
    /// All rows are in use.
    Full {
        /// The most observations that are held.
        capacity: usize,
    },
}

impl fmt::Display for NewcomerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NewcomerError::Dimension {
                dim,
                prior: Some(prior),
            } => {
                write!(
                    f,
                    "candidates have {dim} coordinates, the prior's landmarks {prior}"
                )
            }
            NewcomerError::Dimension { dim, prior: None } => {
                write!(f, "dimension {dim} is outside 1..={DIM_MAX}")
            }
            NewcomerError::Candidates { len, dim } => {
                write!(
                    f,
                    "{len} numbers are not 1 to {CANDIDATES_MAX} candidates of {dim} coordinates"
                )
            }
            NewcomerError::Coordinate {
                candidate,
                axis,
                value,
            } => {
                write!(
                    f,
                    "candidate {candidate}, axis {axis}: coordinate {value:e} is outside [0, 1]"
                )
            }
            NewcomerError::NoiseFraction { value } => {
                write!(
                    f,
                    "the noise fraction is {value:e}; it must be in [1e-6, 1]"
                )
            }
            NewcomerError::Capacity { capacity } => {
                write!(f, "the capacity is {capacity}; it must be at least 1")
            }
            NewcomerError::Storage { needed, given } => {
                write!(
                    f,
                    "storage for {needed} numbers is needed, {given} were given"
                )
            }
            NewcomerError::Moments {
                candidate,
                rows,
                candidates,
            } => write!(
                f,
                "the table of moments, {rows} rows for {candidates} candidates, does not fit candidate {candidate}: make it \
                 from this prior and this list"
            ),
            NewcomerError::MomentsOfAnother { candidate } => write!(
                f,
                "the table of moments is of another file or list: it says something else about candidate {candidate}; make it \
                 from this prior and this list"
            ),
            NewcomerError::Candidate { index, candidates } => {
                write!(f, "there is no candidate {index}; there are {candidates}")
            }
            NewcomerError::Value { value } => {
                write!(
                    f,
                    "the value {value:e} is not finite, or its distance from the first one is not"
                )
            }
            NewcomerError::Full { capacity } => {
                write!(
                    f,
                    "all {capacity} rows of the capacity are in use: lend more storage"
                )
            }
        }
    }
}

impl core::error::Error for NewcomerError {}
