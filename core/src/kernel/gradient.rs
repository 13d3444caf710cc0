//! Derivatives with respect to the logarithms of the parameters, for maximum marginal likelihood.
//!
//! ```
//! use sordino_core::kernel::{Kernel, LogGradient, SquaredExponential};
//!
//! let kernel = SquaredExponential::new(0.5, 2.0)?;
//! let mut gradient = [0.0; 2]; // lengthscale, signal variance
//! kernel.add_log_gradient(&[0.1], &[0.6], 1.0, &mut gradient);
//! let k = kernel.covariance(&[0.1f64], &[0.6]);
//! // ∂k/∂ln lengthscale = k·r² with r = 1, ∂k/∂ln s² = k.
//! assert!((gradient[0] - k).abs() < 1e-12 && (gradient[1] - k).abs() < 1e-12);
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::{Kernel, Lengthscales, Radial, RadialKernel};
use crate::linalg::slice;
use crate::math::Scalar;

/// A kernel whose parameters can be fitted. Parameters come in the order: lengthscales, then the
/// signal variance.
pub trait LogGradient<T: Scalar>: Kernel<T> {
    /// Number of parameters.
    fn parameter_count(&self) -> usize;

    /// outⱼ ← outⱼ + weight · ∂k(a, b)/∂ln parameterⱼ.
    fn add_log_gradient(&self, a: &[T], b: &[T], weight: T, out: &mut [T]);
}

impl<T: Scalar, F: Radial, L: Lengthscales<T>> LogGradient<T> for RadialKernel<T, F, L> {
    fn parameter_count(&self) -> usize {
        self.lengthscales().count() + 1
    }

    fn add_log_gradient(&self, a: &[T], b: &[T], weight: T, out: &mut [T]) {
        let r2 = self.lengthscales().squared_distance(a, b);
        let weight = weight * self.signal_variance();
        let count = self.lengthscales().count().min(out.len());
        let (lengthscales, signal) = slice::split(out, count);
        self.lengthscales()
            .add_parts(a, b, weight * self.shape().steepness(r2), lengthscales);
        if let Some(out) = signal.first_mut() {
            *out += weight * self.shape().correlation(r2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Stationary, StationaryKernel};

    #[test]
    fn agrees_with_finite_differences() {
        let a = [0.1, 0.7, 0.2];
        let b = [0.4, 0.3, 0.25];
        let parameters = [0.3f64, 0.5, 0.9, 1.7];
        let value = |shape, p: &[f64]| {
            StationaryKernel::ard_with_shape(shape, &p[..3], p[3])
                .unwrap()
                .covariance(&a, &b)
        };
        for shape in Stationary::ALL {
            let mut found = [0.0; 4];
            let kernel =
                StationaryKernel::ard_with_shape(shape, &parameters[..3], parameters[3]).unwrap();
            assert_eq!(kernel.parameter_count(), 4);
            kernel.add_log_gradient(&a, &b, 1.0, &mut found);
            for j in 0..4 {
                let mut up = parameters;
                let mut down = parameters;
                up[j] *= libm::exp(1e-5);
                down[j] *= libm::exp(-1e-5);
                let expected = (value(shape, &up) - value(shape, &down)) / 2e-5;
                assert!(
                    (found[j] - expected).abs() < 1e-8,
                    "{shape:?} {j}: {} {expected}",
                    found[j]
                );
            }
            let isotropic = StationaryKernel::with_shape(shape, 0.4, 1.0).unwrap();
            let mut one = [0.0; 2];
            let mut all = [0.0; 4];
            isotropic.add_log_gradient(&a, &b, 2.0, &mut one);
            StationaryKernel::ard_with_shape(shape, [0.4; 3], 1.0)
                .unwrap()
                .add_log_gradient(&a, &b, 2.0, &mut all);
            assert!(
                (one[0] - all[0] - all[1] - all[2]).abs() < 1e-12
                    && (one[1] - all[3]).abs() < 1e-12
            );
            // Coincident points: no gradient, no NaN.
            let mut zero = [0.0; 4];
            kernel.add_log_gradient(&a, &a, 1.0, &mut zero);
            assert_eq!(zero, [0.0, 0.0, 0.0, 1.7]);
        }
    }
}
