//! What an optimiser is resumed from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{OptimizerError, Point};
use crate::domain::DIM_MAX;
use crate::math::Scalar;
use crate::snapshot::Stored;
use crate::surrogate::SurrogateError;

/// What a fit finds.
///
/// **Example**: that of [`LogEntry`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters<T> {
    /// Lengthscale of each axis as a fraction of its side of the box, positive.
    pub lengthscales: Point<T>,
    /// Noise variance as a fraction of the function's variance, positive.
    pub noise_fraction: T,
    /// Observations that were accepted before the fit: the next one is due by their number.
    pub told: u32,
}

/// One line of the log that [`Optimizer::resume`](super::Optimizer::resume) reads; with postcard at
/// most 6 + 4(D + 1) bytes in `f32`, 6 + 8(D + 1) in `f64`.
///
/// ```
/// use sordino_core::domain::BoxDomain;
/// use sordino_core::optimizer::{self, LogEntry, Optimizer, Parameters, Point, Settings};
///
/// let lengthscales = Point::from_slice(&[0.1])?;
/// let fitted = LogEntry::Fitted(Parameters { lengthscales, noise_fraction: 0.01, told: 2 });
/// let log = [LogEntry::told(&[0.2], 1.0)?, LogEntry::told(&[0.8], 2.0)?, fitted];
/// let (domain, storage) = (BoxDomain::new(&[(0.0, 1.0)])?, vec![0.0; optimizer::storage_len(1, 10)]);
/// let mut resumed = Optimizer::resume(domain, Settings::default(), 10, storage, log)?;
/// assert_eq!((resumed.len(), resumed.lengthscales()), (2, &[0.1][..]));
/// assert_eq!(resumed.best().map(|(point, _)| point[0]), Some(0.8));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogEntry<T> {
    /// What [`Optimizer::observe`](super::Optimizer::observe) was told.
    Told {
        /// In the user's units, one number an axis.
        point: Point<T>,
        /// The value observed there.
        value: T,
    },
    /// [`Optimizer::parameters`](super::Optimizer::parameters) after a fit, by
    /// [`Optimizer::take_fit`](super::Optimizer::take_fit).
    Fitted(Parameters<T>),
    /// In place of older entries: how many observations were accepted in them. Only their number is
    /// known: it ends the initial points, and numbers those that a Sobol sequence goes on with.
    Forgotten {
        /// Accepted observations and failures whose entries are gone.
        observations: u32,
    },
    /// What [`Optimizer::fail`](super::Optimizer::fail) was told.
    Failed {
        /// In the user's units, one number an axis.
        point: Point<T>,
    },
}

impl<T: Scalar + Serialize + DeserializeOwned> Stored for LogEntry<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xf4 } else { 0xf8 };
    // Which entry, number of axes, one number an axis, the noise, how much was told in four bytes:
    // below 2²⁸.
    const BODY_MAX: usize = 6 + T::BYTES * (DIM_MAX + 1);
}

impl<T: Scalar> LogEntry<T> {
    /// The entry of a point, one number an axis, and its value.
    ///
    /// **Errors**: [`SurrogateError::Dimension`] for more than [`DIM_MAX`] numbers.
    pub fn told(point: &[T], value: T) -> Result<Self, OptimizerError> {
        let point = numbers(point)?;
        Ok(LogEntry::Told { point, value })
    }

    /// The entry of a point that failed, one number an axis.
    ///
    /// **Errors**: as [`LogEntry::told`].
    pub fn failed(point: &[T]) -> Result<Self, OptimizerError> {
        let point = numbers(point)?;
        Ok(LogEntry::Failed { point })
    }
}

/// At most [`DIM_MAX`] numbers.
fn numbers<T: Scalar>(point: &[T]) -> Result<Point<T>, OptimizerError> {
    Point::from_slice(point).map_err(|_| {
        SurrogateError::Dimension {
            expected: DIM_MAX,
            given: point.len(),
        }
        .into()
    })
}

#[cfg(test)]
mod tests;
