//! What an optimiser is resumed from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{OptimizerError, Point};
use crate::domain::DIM_MAX;
use crate::math::Scalar;
use crate::snapshot::Stored;
use crate::surrogate::SurrogateError;

/// What [`Optimizer::fit`](super::Optimizer::fit) fits.
///
/// **Example**: that of [`LogEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters<T> {
    /// Lengthscale as a fraction of each side of the box, positive.
    pub lengthscale: T,
    /// Noise variance as a fraction of the function's variance, positive.
    pub noise_fraction: T,
}

/// One line of the log that [`Optimizer::resume`](super::Optimizer::resume) reads; with postcard at most
/// 2 + 4(D + 1) bytes in `f32`, 2 + 8(D + 1) in `f64`.
///
/// ```
/// use sordino_core::domain::BoxDomain;
/// use sordino_core::optimizer::{self, LogEntry, Optimizer, Parameters, Settings};
///
/// let fitted = LogEntry::Fitted(Parameters { lengthscale: 0.1, noise_fraction: 0.01 });
/// let log = [LogEntry::told(&[0.2], 1.0)?, LogEntry::told(&[0.8], 2.0)?, fitted];
/// let (domain, storage) = (BoxDomain::new(&[(0.0, 1.0)])?, vec![0.0; optimizer::storage_len(1, 10)]);
/// let mut resumed = Optimizer::resume(domain, Settings::default(), 10, storage, log)?;
/// assert_eq!((resumed.len(), resumed.lengthscale()), (2, 0.1));
/// assert_eq!(resumed.best().map(|(point, _)| point[0]), Some(0.8));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogEntry<T> {
    /// What [`Optimizer::observe`](super::Optimizer::observe) was told, refused or not.
    Told {
        /// In the user's units, one number an axis.
        point: Point<T>,
        /// The value observed there.
        value: T,
    },
    /// [`Optimizer::parameters`](super::Optimizer::parameters) after a fit.
    Fitted(Parameters<T>),
}

impl<T: Scalar + Serialize + DeserializeOwned> Stored for LogEntry<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xf4 } else { 0xf8 };
    // Which entry, number of axes, one number an axis, the value.
    const BODY_MAX: usize = 2 + T::BYTES * (DIM_MAX + 1);
}

impl<T: Scalar> LogEntry<T> {
    /// The entry of a point, one number an axis, and its value.
    ///
    /// **Errors**: [`SurrogateError::Dimension`] for more than [`DIM_MAX`] numbers.
    pub fn told(point: &[T], value: T) -> Result<Self, OptimizerError> {
        match Point::from_slice(point) {
            Ok(point) => Ok(LogEntry::Told { point, value }),
            Err(_) => Err(SurrogateError::Dimension { expected: DIM_MAX, given: point.len() }.into()),
        }
    }
}
