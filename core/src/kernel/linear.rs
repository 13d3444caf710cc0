//! The linear kernel: functions w·x with independent normal weights.
//!
//! ```
//! use sordino_core::kernel::{Kernel, Linear};
//!
//! let kernel = Linear::new([2.0], 3.0)?;
//! assert_eq!(kernel.covariance(&[1.0, 0.0], &[4.0, 5.0]), 3.0 * (1.0 * 4.0) / 4.0); // s² Σ xᵢx'ᵢ/ℓ²
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::{Kernel, KernelError};
use crate::math::Scalar;

/// k(x, x') = s² Σ xᵢx'ᵢ/lengthscaleᵢ²; one lengthscale for all coordinates or one each.
///
/// The functions are w·x with w ~ N(0, s²/lengthscale²): no more than D of them are independent, so
/// that without observation noise the D + 1st observation is refused or merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear<T, S> {
    lengthscales: S,
    signal_variance: T,
}

impl<T: Scalar, S: AsRef<[T]>> Linear<T, S> {
    /// `lengthscales`: one for all coordinates, or one each, in units of the inputs;
    /// `signal_variance` in y².
    ///
    /// **Errors**: [`KernelError`] unless all are positive and finite.
    pub fn new(lengthscales: S, signal_variance: T) -> Result<Self, KernelError> {
        super::lengthscale::check_list(lengthscales.as_ref())?;
        super::check_signal_variance(signal_variance)?;
        Ok(Linear {
            lengthscales,
            signal_variance,
        })
    }
}

impl<T: Scalar, S: AsRef<[T]>> Kernel<T> for Linear<T, S> {
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        let list = self.lengthscales.as_ref();
        let mut sum = T::ZERO;
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let lengthscale = list.get(i).or(list.first()).copied().unwrap_or(T::ONE);
            sum += (*a / lengthscale) * (*b / lengthscale);
        }
        self.signal_variance * sum
    }

    fn variance(&self, x: &[T]) -> T {
        self.covariance(x, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        let kernel = Linear::new([2.0, 0.5], 3.0).unwrap();
        assert_eq!(
            kernel.covariance(&[1.0, 2.0], &[4.0, -1.0]),
            3.0 * (1.0 - 8.0)
        );
        assert_eq!(kernel.variance(&[2.0, 1.0]), 15.0);
        assert_eq!(
            Linear::new([2.0], 1.0)
                .unwrap()
                .covariance(&[2.0, 2.0], &[4.0, 4.0]),
            4.0
        );
        assert!(Linear::new([0.0], 1.0).is_err() && Linear::new([1.0], f64::NAN).is_err());
        assert!(Linear::<f64, [f64; 0]>::new([], 1.0).is_err());
    }
}
