//! The four shapes by name, for a kernel that is chosen at run time.
//!
//! ```
//! use sordino_core::kernel::{Kernel, Matern52, Stationary, StationaryKernel};
//!
//! let chosen = StationaryKernel::with_shape(Stationary::Matern52, 0.5, 2.0)?; // from a configuration
//! let fixed = Matern52::new(0.5, 2.0)?;
//! assert_eq!(chosen.covariance(&[0.1f64], &[0.4]), fixed.covariance(&[0.1], &[0.4]));
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use serde::{Deserialize, Serialize};

use super::matern::{Matern12Shape, Matern32Shape, Matern52Shape};
use super::radial::{Radial, RadialKernel};
use super::squared_exponential::SquaredExponentialShape;
use super::{Ard, Isotropic, KernelError};
use crate::math::Scalar;

/// The four shapes by name, for scenarios and spectral densities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stationary {
    /// Squared exponential, ρ = e^(−r²/2).
    #[serde(rename = "squared-exponential")]
    SquaredExponential,
    /// Matérn with ν = 1/2, ρ = e^(−r).
    #[serde(rename = "matern-1/2")]
    Matern12,
    /// ρ = (1 + a) e^(−a), a = √3 r.
    #[serde(rename = "matern-3/2")]
    Matern32,
    /// ρ = (1 + a + a²/3) e^(−a), a = √5 r.
    #[serde(rename = "matern-5/2")]
    Matern52,
}

impl Stationary {
    /// All four, in the order of smoothness.
    pub const ALL: [Stationary; 4] = [
        Stationary::Matern12,
        Stationary::Matern32,
        Stationary::Matern52,
        Stationary::SquaredExponential,
    ];

    /// The name used in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Stationary::SquaredExponential => "squared-exponential",
            Stationary::Matern12 => "matern-1/2",
            Stationary::Matern32 => "matern-3/2",
            Stationary::Matern52 => "matern-5/2",
        }
    }

    /// 2ν, the degrees of freedom of the spectral density's Student t; none for the squared
    /// exponential (normal).
    pub const fn degrees_of_freedom(self) -> Option<u32> {
        match self {
            Stationary::SquaredExponential => None,
            Stationary::Matern12 => Some(1),
            Stationary::Matern32 => Some(3),
            Stationary::Matern52 => Some(5),
        }
    }
}

/// A kernel whose shape is a value: one concrete type for every scenario.
///
/// **Numerics**: the bits of the kernel with the same shape as a type.
pub type StationaryKernel<T, L = Isotropic<T>> = RadialKernel<T, Stationary, L>;

impl Radial for Stationary {
    #[inline]
    fn correlation<T: Scalar>(&self, r2: T) -> T {
        match self {
            Stationary::SquaredExponential => SquaredExponentialShape.correlation(r2),
            Stationary::Matern12 => Matern12Shape.correlation(r2),
            Stationary::Matern32 => Matern32Shape.correlation(r2),
            Stationary::Matern52 => Matern52Shape.correlation(r2),
        }
    }
    fn steepness<T: Scalar>(&self, r2: T) -> T {
        match self {
            Stationary::SquaredExponential => SquaredExponentialShape.steepness(r2),
            Stationary::Matern12 => Matern12Shape.steepness(r2),
            Stationary::Matern32 => Matern32Shape.steepness(r2),
            Stationary::Matern52 => Matern52Shape.steepness(r2),
        }
    }
    // The choice is made once per list, not once per point.
    #[cfg_attr(feature = "dispatch", inline(always))]
    #[cfg_attr(not(feature = "dispatch"), inline)]
    fn covariances<T: Scalar>(&self, signal_variance: T, values: &mut [T]) {
        match self {
            Stationary::SquaredExponential => {
                SquaredExponentialShape.covariances(signal_variance, values)
            }
            Stationary::Matern12 => Matern12Shape.covariances(signal_variance, values),
            Stationary::Matern32 => Matern32Shape.covariances(signal_variance, values),
            Stationary::Matern52 => Matern52Shape.covariances(signal_variance, values),
        }
    }
}

impl<T: Scalar> StationaryKernel<T> {
    /// The kernel of `shape` with one `lengthscale` for all coordinates.
    ///
    /// **Errors**: [`KernelError`] unless both numbers are positive and finite.
    pub fn with_shape(
        shape: Stationary,
        lengthscale: T,
        signal_variance: T,
    ) -> Result<Self, KernelError> {
        Self::build(shape, Isotropic::new(lengthscale)?, signal_variance)
    }
}

impl<T: Scalar, S: AsRef<[T]>> StationaryKernel<T, Ard<S>> {
    /// The kernel of `shape` with one lengthscale per coordinate, in storage of the caller.
    ///
    /// **Errors**: [`KernelError`] unless all are positive and finite and there is at least one
    /// lengthscale.
    pub fn ard_with_shape(
        shape: Stationary,
        lengthscales: S,
        signal_variance: T,
    ) -> Result<Self, KernelError> {
        Self::build(shape, Ard::new(lengthscales)?, signal_variance)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, Matern12, Matern32, Matern52, SquaredExponential};
    use super::*;
    use crate::random::Stream;

    #[test]
    fn values_by_hand() {
        // r = 0.5/0.25 = 2, s² = 3.
        let at = |kernel: &dyn Fn(&[f64], &[f64]) -> f64| kernel(&[0.1, 0.3], &[0.4, 0.7]);
        let expected = [
            3.0 * libm::exp(-2.0),
            3.0 * libm::exp(-2.0),
            3.0 * (1.0 + libm::sqrt(12.0)) * libm::exp(-libm::sqrt(12.0)),
            3.0 * (1.0 + libm::sqrt(20.0) + 20.0 / 3.0) * libm::exp(-libm::sqrt(20.0)),
        ];
        let se = SquaredExponential::new(0.25, 3.0).unwrap();
        let m12 = Matern12::new(0.25, 3.0).unwrap();
        let m32 = Matern32::new(0.25, 3.0).unwrap();
        let m52 = Matern52::new(0.25, 3.0).unwrap();
        let found = [
            at(&|a, b| se.covariance(a, b)),
            at(&|a, b| m12.covariance(a, b)),
            at(&|a, b| m32.covariance(a, b)),
            at(&|a, b| m52.covariance(a, b)),
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn lists_names_and_types_agree_to_the_bit() {
        let mut stream = Stream::from_seed(3);
        for dim in 0..6 {
            let points: [f64; 40] = core::array::from_fn(|_| stream.unit());
            let x: [f64; 5] = core::array::from_fn(|_| stream.unit());
            let x = &x[..dim];
            let scales: [f64; 5] = core::array::from_fn(|_| stream.unit::<f64>() + 0.1);
            for shape in Stationary::ALL {
                let plain = StationaryKernel::with_shape(shape, 0.3, 1.7).unwrap();
                let ard = StationaryKernel::ard_with_shape(shape, &scales[..], 1.7).unwrap();
                let mut out = [0.0; 8];
                let mut ard_out = [0.0; 8];
                plain.covariances(x, &points, &mut out);
                ard.covariances(x, &points, &mut ard_out);
                for i in 0..8 {
                    let point = &points[i * dim..][..dim];
                    assert_eq!(out[i].to_bits(), plain.covariance(x, point).to_bits());
                    assert_eq!(out[i].to_bits(), plain.covariance(point, x).to_bits());
                    assert_eq!(ard_out[i].to_bits(), ard.covariance(x, point).to_bits());
                }
                assert_eq!(plain.covariance(x, x), 1.7);
            }
            let typed = Matern52::new(0.3, 1.7).unwrap();
            let named = StationaryKernel::with_shape(Stationary::Matern52, 0.3, 1.7).unwrap();
            assert_eq!(
                typed.covariance(x, &points[..dim]).to_bits(),
                named.covariance(x, &points[..dim]).to_bits()
            );
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
            assert!(matches!(
                SquaredExponential::new(bad, 1.0),
                Err(KernelError::Lengthscale { index: 0, .. })
            ));
        }
        for bad in [0.0f32, -1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(
                Matern12::new(1.0, bad),
                Err(KernelError::SignalVariance { .. })
            ));
        }
        assert_eq!(
            SquaredExponential::<f64, _>::ard([0.0; 0], 1.0).unwrap_err(),
            KernelError::NoLengthscales
        );
        let error = Matern32::ard([1.0, -0.5], 1.0).unwrap_err();
        assert_eq!(
            error,
            KernelError::Lengthscale {
                index: 1,
                value: -0.5
            }
        );
    }

    #[test]
    fn overflowing_distances_are_far_not_nan() {
        for shape in Stationary::ALL {
            let kernel = StationaryKernel::with_shape(shape, 0.1f32, 1.0).unwrap();
            assert_eq!(kernel.covariance(&[1e38], &[-3e38]), 0.0, "{shape:?}");
            assert_eq!(shape.steepness(f32::INFINITY), 0.0, "{shape:?}");
        }
    }

    #[test]
    fn steepness_is_the_derivative() {
        for shape in Stationary::ALL {
            for r2 in [0.01, 0.3, 1.0, 4.0, 9.0] {
                let h = 1e-6 * r2;
                let slope =
                    (shape.correlation::<f64>(r2 + h) - shape.correlation(r2 - h)) / (2.0 * h);
                assert!(
                    (-2.0 * slope - shape.steepness(r2)).abs() < 1e-6 * shape.steepness(r2),
                    "{shape:?} {r2}"
                );
            }
        }
    }
}
