//! The squared exponential kernel: very smooth functions.
//!
//! ```
//! use sordino_core::kernel::{Kernel, SquaredExponential};
//!
//! let k: f64 = SquaredExponential::new(0.5, 2.0)?.covariance(&[0.0], &[0.5]);
//! assert!((k - 2.0 * (-0.5f64).exp()).abs() < 1e-12); // s² e^(−r²/2)
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::radial::{Radial, RadialKernel};
use crate::kernel::Isotropic;
use crate::math::Scalar;

/// k = s² e^(−r²/2). Sample paths are infinitely differentiable.
///
/// ```
/// use sordino_core::kernel::{Kernel, SquaredExponential};
/// let kernel = SquaredExponential::new(0.5, 2.0)?;
/// assert_eq!(kernel.covariance(&[0.1], &[0.1]), 2.0);
/// assert!((kernel.covariance(&[0.0], &[0.5]) - 2.0 * (-0.5f64).exp()).abs() < 1e-15);
/// assert!(SquaredExponential::new(f64::NAN, 2.0).is_err());
/// # Ok::<(), sordino_core::kernel::KernelError>(())
/// ```
pub type SquaredExponential<T, L = Isotropic<T>> = RadialKernel<T, SquaredExponentialShape, L>;

/// Shape e^(−r²/2) of the squared exponential kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SquaredExponentialShape;

impl Radial for SquaredExponentialShape {
    #[inline(always)]
    fn correlation<T: Scalar>(&self, r2: T) -> T {
        (r2 * T::from_f64(-0.5)).exp_nonpositive()
    }
    #[inline(always)]
    fn steepness<T: Scalar>(&self, r2: T) -> T {
        (r2 * T::from_f64(-0.5)).exp_nonpositive()
    }
}
