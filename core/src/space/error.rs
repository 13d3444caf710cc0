//! Why a space, or a point of one, was refused.

use core::fmt;

use super::{CHOICES_MAX, Kind};
use crate::domain::DIM_MAX;

/// Why a space, or a point of one, was refused.
///
/// **Example**: that of [`crate::space`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SpaceError {
    /// No axis, or more than [`DIM_MAX`].
    Dimension {
        /// Number of axes given.
        dim: usize,
    },
    /// Every axis is context, so there is nothing to ask.
    NothingSearched,
    /// Real bounds that are not finite with low < high.
    Bounds {
        /// The axis, 0-based.
        axis: usize,
        /// Lower bound given.
        low: f64,
        /// Upper bound given.
        high: f64,
    },
    /// Whole bounds without low < high, or further apart than 2³¹ − 2.
    Integers {
        /// The axis, 0-based.
        axis: usize,
        /// Lower bound given.
        low: i32,
        /// Upper bound given.
        high: i32,
    },
    /// A category or an ordinal without choices, or with more than [`CHOICES_MAX`].
    Choices {
        /// The axis, 0-based.
        axis: usize,
        /// Number of choices given.
        count: u32,
    },
    /// A logarithmic scale for what is not positive, or is no number.
    Logarithm {
        /// The axis, 0-based.
        axis: usize,
    },
    /// A format does not tell the values of an axis apart, or not their coordinates.
    Format {
        /// The axis, 0-based.
        axis: usize,
        /// What its values are.
        kind: Kind,
        /// The format, `"f32"` or `"f64"`.
        format: &'static str,
    },
    /// A point of another number of axes.
    Coordinates {
        /// Number of axes.
        expected: usize,
        /// Number of coordinates given.
        given: usize,
    },
    /// A value that its axis does not admit.
    Value {
        /// The axis, 0-based.
        axis: usize,
        /// The value given, in the user's units.
        value: f64,
        /// What the axis admits.
        kind: Kind,
    },
}

impl fmt::Display for Kind {
    /// What is admissible, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Real { low, high } => write!(f, "a number from {low} to {high}"),
            Kind::Integer { low, high } => write!(f, "a whole number from {low} to {high}"),
            Kind::Category { choices: count } => {
                write!(f, "the number of one of {count} choices, from 0")
            }
            Kind::Ordinal { levels: count } => {
                write!(f, "the number of one of {count} levels, from 0")
            }
        }
    }
}

impl fmt::Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SpaceError::Dimension { dim } => write!(f, "{dim} axes; 1..={DIM_MAX} are admissible"),
            SpaceError::NothingSearched => {
                write!(f, "every axis is context; at least one must be searched")
            }
            SpaceError::Bounds { axis, low, high } => {
                write!(
                    f,
                    "axis {axis}: bounds [{low}, {high}] must be finite with low < high"
                )
            }
            SpaceError::Integers { axis, low, high } => {
                write!(
                    f,
                    "axis {axis}: whole bounds [{low}, {high}] must have low < high, less than 2147483647 apart"
                )
            }
            SpaceError::Choices { axis, count } => {
                write!(
                    f,
                    "axis {axis}: {count} choices; 1..={CHOICES_MAX} are admissible"
                )
            }
            SpaceError::Logarithm { axis } => {
                write!(
                    f,
                    "axis {axis}: a logarithmic scale is for numbers, and the least of them must be above 0"
                )
            }
            SpaceError::Format { axis, kind, format } => {
                write!(
                    f,
                    "axis {axis}: {format} does not tell apart what is {kind}"
                )
            }
            SpaceError::Coordinates { expected, given } => {
                write!(f, "{given} coordinates for {expected} axes")
            }
            SpaceError::Value { axis, value, kind } => {
                write!(f, "axis {axis}: {value} is not {kind}")
            }
        }
    }
}

impl core::error::Error for SpaceError {}
