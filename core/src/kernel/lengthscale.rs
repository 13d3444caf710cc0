//! What turns a difference of two points into r².
//!
//! ```
//! use sordino_core::kernel::{Kernel, Stationary, StationaryKernel};
//!
//! let kernel = StationaryKernel::ard_with_shape(Stationary::SquaredExponential, [0.2, 0.4], 1.0)?;
//! let k: f64 = kernel.covariance(&[0.0, 0.0], &[0.2, 0.4]); // r² = 1 + 1
//! assert!((k - (-1f64).exp()).abs() < 1e-12);
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::KernelError;
use crate::linalg::{slice, squared_distance};
use crate::math::Scalar;

/// Lengthscales of a stationary kernel, unit of the inputs.
pub trait Lengthscales<T: Scalar> {
    /// r² = Σ (aᵢ − bᵢ)²/lengthscaleᵢ².
    fn squared_distance(&self, a: &[T], b: &[T]) -> T;

    /// Lengthscale of coordinate `index`.
    fn lengthscale(&self, index: usize) -> T;

    /// Free lengthscales: 1, or one per coordinate.
    fn count(&self) -> usize;

    /// Adds weight · (the part of r² that lengthscale j scales) to outⱼ, for every j: −½ ∂r²/∂ln
    /// lengthscaleⱼ.
    fn add_parts(&self, a: &[T], b: &[T], weight: T, out: &mut [T]);

    /// outᵢ ← r²(x, pointᵢ), bits of [`Lengthscales::squared_distance`].
    #[inline(always)]
    fn squared_distances(&self, x: &[T], points: &[T], out: &mut [T]) {
        for (out, point) in out.iter_mut().zip(slice::rows(points, x.len())) {
            *out = self.squared_distance(x, point);
        }
    }
}

fn check<T: Scalar>(index: usize, lengthscale: T) -> Result<T, KernelError> {
    let inverse_squared = T::ONE / (lengthscale * lengthscale);
    let usable = lengthscale > T::ZERO && inverse_squared > T::ZERO && inverse_squared.is_finite();
    if usable {
        Ok(inverse_squared)
    } else {
        Err(KernelError::Lengthscale {
            index,
            value: lengthscale.to_f64(),
        })
    }
}

pub(super) fn check_list<T: Scalar>(list: &[T]) -> Result<(), KernelError> {
    if list.is_empty() {
        return Err(KernelError::NoLengthscales);
    }
    for (index, lengthscale) in list.iter().enumerate() {
        check(index, *lengthscale)?;
    }
    Ok(())
}

/// One lengthscale for all coordinates. **Cost**: one multiplication after the sum of squared
/// differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Isotropic<T> {
    lengthscale: T,
    inverse_squared: T,
}

impl<T: Scalar> Isotropic<T> {
    /// **Errors**: [`KernelError::Lengthscale`] unless positive and finite, its square and inverse
    /// square too.
    pub fn new(lengthscale: T) -> Result<Self, KernelError> {
        Ok(Isotropic {
            lengthscale,
            inverse_squared: check(0, lengthscale)?,
        })
    }
}

impl<T: Scalar> Lengthscales<T> for Isotropic<T> {
    #[cfg_attr(feature = "dispatch", inline(always))]
    #[cfg_attr(not(feature = "dispatch"), inline)]
    fn squared_distance(&self, a: &[T], b: &[T]) -> T {
        squared_distance(a, b) * self.inverse_squared
    }
    fn lengthscale(&self, _index: usize) -> T {
        self.lengthscale
    }
    fn count(&self) -> usize {
        1
    }
    fn add_parts(&self, a: &[T], b: &[T], weight: T, out: &mut [T]) {
        if let Some(out) = out.first_mut() {
            *out += weight * self.squared_distance(a, b);
        }
    }
    #[cfg_attr(feature = "dispatch", inline(always))]
    #[cfg_attr(not(feature = "dispatch"), inline)]
    fn squared_distances(&self, x: &[T], points: &[T], out: &mut [T]) {
        // Small dimensions by name, so that the loop vectorises; sums in the order of
        // `squared_distance`.
        match *x {
            [x0] => {
                for (p, out) in points.iter().zip(out) {
                    let d = x0 - *p;
                    *out = d * d * self.inverse_squared;
                }
            }
            [x0, x1] => {
                for ([p0, p1], out) in points.as_chunks().0.iter().zip(out) {
                    let d0 = x0 - *p0;
                    let d1 = x1 - *p1;
                    *out = (d0 * d0 + d1 * d1) * self.inverse_squared;
                }
            }
            [x0, x1, x2] => {
                for ([p0, p1, p2], out) in points.as_chunks().0.iter().zip(out) {
                    let d0 = x0 - *p0;
                    let d1 = x1 - *p1;
                    let d2 = x2 - *p2;
                    *out = (d0 * d0 + d1 * d1 + d2 * d2) * self.inverse_squared;
                }
            }
            _ => {
                for (out, p) in out.iter_mut().zip(slice::rows(points, x.len())) {
                    *out = self.squared_distance(x, p);
                }
            }
        }
    }
}

/// One lengthscale per coordinate, in storage of the caller. Coordinates beyond the list do not
/// count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ard<S>(S);

impl<S> Ard<S> {
    /// **Errors**: [`KernelError::NoLengthscales`] for an empty list; [`KernelError::Lengthscale`]
    /// at the first value that is not positive and finite, its square and inverse square too.
    pub fn new<T: Scalar>(lengthscales: S) -> Result<Self, KernelError>
    where
        S: AsRef<[T]>,
    {
        check_list(lengthscales.as_ref())?;
        Ok(Ard(lengthscales))
    }
}

impl<T: Scalar, S: AsRef<[T]>> Lengthscales<T> for Ard<S> {
    #[inline(always)]
    fn squared_distance(&self, a: &[T], b: &[T]) -> T {
        let mut sum = T::ZERO;
        for ((a, b), lengthscale) in a.iter().zip(b).zip(self.0.as_ref()) {
            let d = (*a - *b) / *lengthscale;
            sum += d * d;
        }
        sum
    }
    fn lengthscale(&self, index: usize) -> T {
        self.0.as_ref().get(index).copied().unwrap_or(T::INFINITY)
    }
    fn count(&self) -> usize {
        self.0.as_ref().len()
    }
    fn add_parts(&self, a: &[T], b: &[T], weight: T, out: &mut [T]) {
        for (((a, b), lengthscale), out) in a.iter().zip(b).zip(self.0.as_ref()).zip(out) {
            let d = (*a - *b) / *lengthscale;
            *out += weight * (d * d);
        }
    }
}

/// One lengthscale per coordinate, given as 1/lengthscale²: no division for a distance. In storage
/// of the caller, who has checked that they are positive and finite; coordinates beyond the list do
/// not count.
///
/// On an axis whose bit is set in `categories` two coordinates are equal, or at distance 1 from
/// each other: √2 times less than if each choice had an axis of its own, so the kernel is positive
/// definite as that one is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InverseSquares<S> {
    /// 1/lengthscale² of each axis.
    pub(crate) scales: S,
    /// Bit i is that of axis i.
    pub(crate) categories: u32,
}

impl<S> InverseSquares<S> {
    /// How far two coordinates of an axis are from each other.
    #[inline(always)]
    pub(crate) fn apart<T: Scalar>(&self, axis: usize, a: T, b: T) -> T {
        if self.categories >> (axis & 31) & 1 == 0 {
            a - b
        } else if a == b {
            T::ZERO
        } else {
            T::ONE
        }
    }
}

impl<T: Scalar, S: AsRef<[T]>> Lengthscales<T> for InverseSquares<S> {
    #[inline(always)]
    fn squared_distance(&self, a: &[T], b: &[T]) -> T {
        let mut sum = T::ZERO;
        for (axis, ((a, b), scale)) in a.iter().zip(b).zip(self.scales.as_ref()).enumerate() {
            let d = self.apart(axis, *a, *b);
            sum += d * d * *scale;
        }
        sum
    }
    fn lengthscale(&self, index: usize) -> T {
        T::ONE / slice::at(self.scales.as_ref(), index).sqrt()
    }
    fn count(&self) -> usize {
        self.scales.as_ref().len()
    }
    fn add_parts(&self, a: &[T], b: &[T], weight: T, out: &mut [T]) {
        for (axis, (((a, b), scale), out)) in a
            .iter()
            .zip(b)
            .zip(self.scales.as_ref())
            .zip(out)
            .enumerate()
        {
            let d = self.apart(axis, *a, *b);
            *out += weight * (d * d * *scale);
        }
    }
    #[cfg_attr(feature = "dispatch", inline(always))]
    #[cfg_attr(not(feature = "dispatch"), inline)]
    fn squared_distances(&self, x: &[T], points: &[T], out: &mut [T]) {
        // As of `Isotropic`: small dimensions by name.
        let known = if self.categories == 0 {
            self.scales.as_ref()
        } else {
            &[]
        };
        match (x, known) {
            ([x0], [w0]) => {
                for (p, out) in points.iter().zip(out) {
                    let d = *x0 - *p;
                    *out = T::ZERO + d * d * *w0;
                }
            }
            ([x0, x1], [w0, w1]) => {
                for ([p0, p1], out) in points.as_chunks().0.iter().zip(out) {
                    let d0 = *x0 - *p0;
                    let d1 = *x1 - *p1;
                    *out = T::ZERO + d0 * d0 * *w0 + d1 * d1 * *w1;
                }
            }
            ([x0, x1, x2], [w0, w1, w2]) => {
                for ([p0, p1, p2], out) in points.as_chunks().0.iter().zip(out) {
                    let d0 = *x0 - *p0;
                    let d1 = *x1 - *p1;
                    let d2 = *x2 - *p2;
                    *out = T::ZERO + d0 * d0 * *w0 + d1 * d1 * *w1 + d2 * d2 * *w2;
                }
            }
            _ => {
                for (out, p) in out.iter_mut().zip(slice::rows(points, x.len())) {
                    *out = self.squared_distance(x, p);
                }
            }
        }
    }
}
