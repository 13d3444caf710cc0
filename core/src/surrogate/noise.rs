//! The noise of a row that stands for several observations.

use super::SurrogateError;
use crate::math::Scalar;

/// Noise variance of single observations, and the least that a row may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowNoise<T> {
    /// Noise variance σ², unit y².
    pub(super) variance: T,
    /// Least noise variance of a row, unit y².
    pub(super) floor: T,
}

impl<T: Scalar> RowNoise<T> {
    /// **Errors**: [`SurrogateError::NoiseVariance`] unless both are finite and not negative.
    pub(super) fn new(variance: T, floor: T) -> Result<Self, SurrogateError> {
        match [variance, floor]
            .iter()
            .find(|x| !(**x >= T::ZERO && x.is_finite()))
        {
            Some(bad) => Err(SurrogateError::NoiseVariance {
                value: bad.to_f64(),
            }),
            None => Ok(RowNoise { variance, floor }),
        }
    }

    /// max(σ²/c, floor), of a row that stands for `count` observations.
    pub(super) fn of(&self, count: T) -> T {
        (self.variance / count).max(self.floor)
    }

    /// What a row's noise loses when its count grows by one; without a floor σ²/(c(c + 1)), which
    /// cancels nothing.
    pub(super) fn removed(&self, count: T) -> T {
        let grown = count + T::ONE;
        if self.floor > T::ZERO {
            self.of(count) - self.of(grown)
        } else {
            self.variance / (count * grown)
        }
    }
}

/// The least noise variance, relative to the variance of the prior, that keeps every squared pivot
/// of a factor of `rows` rows above the threshold (rows + 8)·ε at which it counts as rounding: four
/// times that threshold. In `f32` 5e-5 at 100 rows, in `f64` 1e-13.
pub(crate) fn least_resolved<T: Scalar>(rows: usize) -> T {
    let rows = u32::try_from(rows.saturating_add(8)).unwrap_or(u32::MAX);
    T::from_u32(4) * T::from_u32(rows) * T::EPSILON
}
