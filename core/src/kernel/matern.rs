//! Matérn kernels of half-integer order: functions of limited smoothness.
//!
//! ```
//! use sordino_core::kernel::{Kernel, Matern12};
//!
//! let k: f64 = Matern12::new(0.5, 2.0)?.covariance(&[0.0], &[0.5]);
//! assert!((k - 2.0 * (-1f64).exp()).abs() < 1e-12); // s² e^(−r)
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::radial::{Radial, RadialKernel};
use crate::kernel::Isotropic;
use crate::math::Scalar;

/// Matérn 1/2 (exponential): k = s² e^(−r). Continuous paths, nowhere differentiable.
pub type Matern12<T, L = Isotropic<T>> = RadialKernel<T, Matern12Shape, L>;
/// Matérn 3/2: k = s² (1 + a) e^(−a), a = √3 r. Paths differentiable once.
pub type Matern32<T, L = Isotropic<T>> = RadialKernel<T, Matern32Shape, L>;
/// Matérn 5/2: k = s² (1 + a + a²/3) e^(−a), a = √5 r. Paths differentiable twice.
pub type Matern52<T, L = Isotropic<T>> = RadialKernel<T, Matern52Shape, L>;

/// Shape e^(−r) of the Matérn kernel with ν = 1/2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matern12Shape;
/// (1 + a) e^(−a), a = √3 r.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matern32Shape;
/// (1 + a + a²/3) e^(−a), a = √5 r.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matern52Shape;

/// Beyond this r² every correlation is 0; the cap keeps ∞ · 0 out when distances overflow.
const FAR: f64 = 1e8;

impl Radial for Matern12Shape {
    #[inline(always)]
    fn correlation<T: Scalar>(&self, r2: T) -> T {
        (-r2.sqrt()).exp_nonpositive()
    }
    #[inline(always)]
    fn steepness<T: Scalar>(&self, r2: T) -> T {
        // e^(−r)/r; at r = 0 it multiplies a difference of exactly 0, so any finite value does.
        let r = r2.sqrt();
        if r > T::ZERO {
            (-r).exp_nonpositive() / r
        } else {
            T::ZERO
        }
    }
}

impl Radial for Matern32Shape {
    #[inline(always)]
    fn correlation<T: Scalar>(&self, r2: T) -> T {
        let a = (r2.min(T::from_f64(FAR)) * T::from_f64(3.0)).sqrt();
        (T::ONE + a) * (-a).exp_nonpositive()
    }
    #[inline(always)]
    fn steepness<T: Scalar>(&self, r2: T) -> T {
        let a = (r2 * T::from_f64(3.0)).sqrt();
        T::from_f64(3.0) * (-a).exp_nonpositive()
    }
}

impl Radial for Matern52Shape {
    #[inline(always)]
    fn correlation<T: Scalar>(&self, r2: T) -> T {
        let b = r2.min(T::from_f64(FAR)) * T::from_f64(5.0);
        let a = b.sqrt();
        (T::ONE + a + b * T::from_f64(1.0 / 3.0)) * (-a).exp_nonpositive()
    }
    #[inline(always)]
    fn steepness<T: Scalar>(&self, r2: T) -> T {
        let a = (r2.min(T::from_f64(FAR)) * T::from_f64(5.0)).sqrt();
        T::from_f64(5.0 / 3.0) * (T::ONE + a) * (-a).exp_nonpositive()
    }
}
