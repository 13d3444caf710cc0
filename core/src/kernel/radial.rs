//! What kernels of the scaled distance share: k(x, x') = s² ρ(r²) for a shape ρ.
//!
//! **Example**: that of [`super::squared_exponential`].

use super::{Ard, Isotropic, Kernel, KernelError, Lengthscales};
use crate::dispatch;
use crate::math::Scalar;

/// ρ, the correlation as a function of r².
pub trait Radial {
    /// ρ(r²), r² ≥ 0; ρ(0) = 1 exactly.
    fn correlation<T: Scalar>(&self, r2: T) -> T;

    /// −2 dρ/d(r²), so that ∂k/∂ln lengthscaleᵢ = s² · steepness · (xᵢ − x'ᵢ)²/lengthscaleᵢ².
    fn steepness<T: Scalar>(&self, r2: T) -> T;

    /// Replaces each r² by s² ρ(r²), the bits of [`Radial::correlation`]. Runs inside of a kernel
    /// of [`dispatch`]: `#[inline(always)]`.
    #[cfg_attr(feature = "dispatch", inline(always))]
    #[cfg_attr(not(feature = "dispatch"), inline)]
    fn covariances<T: Scalar>(&self, signal_variance: T, values: &mut [T]) {
        for value in values {
            *value = signal_variance * self.correlation(*value);
        }
    }
}

/// A stationary kernel of shape `F` with lengthscales `L`; use it by the names
/// [`SquaredExponential`], [`Matern12`], [`Matern32`], [`Matern52`] and, where the shape is chosen
/// at run time, [`StationaryKernel`].
///
/// [`SquaredExponential`]: super::SquaredExponential
/// [`Matern12`]: super::Matern12
/// [`Matern32`]: super::Matern32
/// [`Matern52`]: super::Matern52
/// [`StationaryKernel`]: super::StationaryKernel
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadialKernel<T, F, L = Isotropic<T>> {
    shape: F,
    lengthscales: L,
    signal_variance: T,
}

impl<T: Scalar, F: Radial + Default> RadialKernel<T, F, Isotropic<T>> {
    /// One `lengthscale` (unit of the inputs) for all coordinates; `signal_variance` in y².
    ///
    /// **Errors**: [`KernelError`] unless both are positive and finite.
    pub fn new(lengthscale: T, signal_variance: T) -> Result<Self, KernelError> {
        Self::build(F::default(), Isotropic::new(lengthscale)?, signal_variance)
    }
}

impl<T: Scalar, S: AsRef<[T]>, F: Radial + Default> RadialKernel<T, F, Ard<S>> {
    /// One lengthscale per coordinate (ARD), in storage of the caller; `signal_variance` in y².
    ///
    /// **Errors**: [`KernelError`] unless all are positive and finite and there is at least one
    /// lengthscale.
    pub fn ard(lengthscales: S, signal_variance: T) -> Result<Self, KernelError> {
        Self::build(F::default(), Ard::new(lengthscales)?, signal_variance)
    }
}

impl<T: Scalar, F: Radial, L: Lengthscales<T>> RadialKernel<T, F, L> {
    pub(crate) fn build(
        shape: F,
        lengthscales: L,
        signal_variance: T,
    ) -> Result<Self, KernelError> {
        super::check_signal_variance(signal_variance)?;
        Ok(RadialKernel {
            shape,
            lengthscales,
            signal_variance,
        })
    }

    /// Signal variance s², unit y².
    pub fn signal_variance(&self) -> T {
        self.signal_variance
    }

    /// Lengthscale of coordinate `index`.
    pub fn lengthscale(&self, index: usize) -> T {
        self.lengthscales.lengthscale(index)
    }

    /// The lengthscales.
    pub fn lengthscales(&self) -> &L {
        &self.lengthscales
    }

    /// Shape ρ of the kernel, a function of the distance.
    pub fn shape(&self) -> &F {
        &self.shape
    }
}

impl<T: Scalar, F: Radial, L: Lengthscales<T>> Kernel<T> for RadialKernel<T, F, L> {
    #[inline]
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        self.signal_variance
            * self
                .shape
                .correlation(self.lengthscales.squared_distance(a, b))
    }

    #[inline]
    fn variance(&self, _x: &[T]) -> T {
        self.signal_variance
    }

    #[inline]
    fn covariances(&self, x: &[T], points: &[T], out: &mut [T]) {
        if x.is_empty() {
            out.fill(self.signal_variance);
            return;
        }
        let count = out.len().min(points.len() / x.len());
        let out = &mut out[..count];
        dispatch::run(
            #[inline(always)]
            |_| {
                self.lengthscales.squared_distances(x, points, out);
                self.shape.covariances(self.signal_variance, out);
            },
        );
    }

    // All distances, then all exponentials: a row of a few is not long enough to hide what one
    // takes.
    fn covariance_rows(&self, inputs: &[T], points: &[T], dim: usize, width: usize, out: &mut [T]) {
        dispatch::run(
            #[inline(always)]
            |_| {
                for (input, row) in inputs
                    .chunks_exact(dim.max(1))
                    .zip(out.chunks_exact_mut(width.max(1)))
                {
                    self.lengthscales.squared_distances(input, points, row);
                }
                self.shape.covariances(self.signal_variance, out);
            },
        );
    }
}
