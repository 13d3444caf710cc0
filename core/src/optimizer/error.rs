//! Why an optimiser refuses.

use core::fmt;

use crate::domain::DomainError;
use crate::kernel::KernelError;
use crate::space::SpaceError;
use crate::surrogate::SurrogateError;

/// Why an optimiser refuses.
///
/// **Example**: that of [`super::Settings`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OptimizerError {
    /// A box is not valid, or a list of candidates is too long.
    Domain(DomainError),
    /// The space is not valid, or not in the format computed with; or a point is none of it
    /// ([`SpaceError::Value`]).
    Space(SpaceError),
    /// The space has axes of context, and [`Optimizer::given`](super::Optimizer::given) was never
    /// called.
    NoContext,
    /// A lengthscale that is not positive and finite.
    Kernel(KernelError),
    /// The surrogate refuses: storage, noise, capacity, numbers.
    Surrogate(SurrogateError),
    /// A fit found no parameters under which the model can be computed; lengthscale, noise and
    /// model are as they were.
    Fit(SurrogateError),
    /// A value beyond [`value_max`](super::value_max): it would hide all others, and sums of
    /// squares might overflow.
    Value {
        /// The value given.
        value: f64,
        /// The largest magnitude of a value.
        largest: f64,
    },
    /// A log with fitted parameters of more observations than it tells of.
    Told {
        /// Observations of the fit.
        fitted: u32,
        /// Observations that were told.
        told: u32,
    },
    /// An upper confidence bound's width that is infinite or NaN.
    Width {
        /// The width given.
        width: f64,
    },
}

impl From<DomainError> for OptimizerError {
    fn from(error: DomainError) -> Self {
        OptimizerError::Domain(error)
    }
}

impl From<SpaceError> for OptimizerError {
    fn from(error: SpaceError) -> Self {
        OptimizerError::Space(error)
    }
}

impl From<KernelError> for OptimizerError {
    fn from(error: KernelError) -> Self {
        OptimizerError::Kernel(error)
    }
}

impl From<SurrogateError> for OptimizerError {
    fn from(error: SurrogateError) -> Self {
        OptimizerError::Surrogate(error)
    }
}

impl fmt::Display for OptimizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptimizerError::Domain(error) => error.fmt(f),
            OptimizerError::Space(error) => error.fmt(f),
            OptimizerError::NoContext => {
                write!(
                    f,
                    "the context of the question was not given: one number for each axis of context"
                )
            }
            OptimizerError::Kernel(error) => error.fmt(f),
            OptimizerError::Surrogate(SurrogateError::Full { capacity }) => write!(
                f,
                "all {capacity} rows of the capacity are in use: set a larger capacity, or let the oldest go (drop_oldest, \
                 WhenFull::DropOldest)"
            ),
            OptimizerError::Surrogate(error) => error.fmt(f),
            OptimizerError::Fit(SurrogateError::Singular(inner)) => {
                write!(
                    f,
                    "nothing was fitted: the covariances of the observations have no factor ({inner})"
                )
            }
            OptimizerError::Fit(error) => write!(f, "nothing was fitted: {error}"),
            OptimizerError::Value { value, largest } => {
                write!(
                    f,
                    "the value {value:e} is outside [-{largest:e}, {largest:e}]: count it in a larger unit"
                )
            }
            OptimizerError::Told { fitted, told } => {
                write!(
                    f,
                    "the log has a fit of {fitted} observations and tells of {told}: the fit is of another log"
                )
            }
            OptimizerError::Width { width } => {
                write!(
                    f,
                    "the width of the upper confidence bound is {width:e}; it must be finite"
                )
            }
        }
    }
}

impl core::error::Error for OptimizerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            OptimizerError::Domain(error) => error.source(),
            OptimizerError::Space(error) => error.source(),
            OptimizerError::Kernel(error) => error.source(),
            OptimizerError::Surrogate(error) => error.source(),
            OptimizerError::Fit(error) => Some(error),
            _ => None,
        }
    }
}
