//! The posterior over a finite domain, kept in full: a step costs the same whatever came before.
//!
//! **Equation**: with c the posterior covariances of the observed point and d = variance + σ², mean
//! += c(y − mean)/d and C −= ccᵀ/d: a Kalman update. A repeat is a step like any other, so the
//! number of observations has no bound.
//!
//! **Numerics**: covariances are subtracted, so errors are absolute. With k the largest prior
//! variance a variance is off by at most (8 + k/σ²)·ε·k ([`FiniteGp::variance_error`]) and a mean
//! after t steps by 8·(t + k/σ²)·ε·max |y|. Noise below 1024·ε·k (`f32`: 1.2e-4 k, `f64`: 2.3e-13
//! k), where the first would exceed k/1000, is refused. The symmetric update that recomputes the
//! observed row as c·σ²/d, and bounding c by Cauchy and Schwarz, were measured and gain nothing:
//! what is lost is lost in the prior's rounded entries. For less noise there are the other engines,
//! which factor.
//!
//! **Example**: that of [`FiniteGp`].

use super::exact::storage::check_finite;
use super::{Observed, Posterior, SurrogateError, clamp};
use crate::dispatch;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, at, head, head_mut, part};
use crate::linalg::{NotPositiveDefinite, axpy, largest_magnitude, lower, packed_len};
use crate::math::Scalar;

/// Numbers that [`FiniteGp`] needs for N points: N(N+1)/2 for the covariance, N means, N of
/// scratch.
pub const fn storage_len(points: usize) -> usize {
    packed_len(points) + 2 * points
}

/// The posterior over N points named by index; it starts as a prior given by a kernel or by its
/// moments.
///
/// ```
/// use sordino_core::{kernel::Matern52, surrogate::{finite, FiniteGp}};
/// let points = [0.0f64, 0.25, 0.5, 0.75, 1.0];
/// let mut gp = FiniteGp::new(&Matern52::new(0.2, 1.0)?, 0.01, 1, &points, vec![0.0; finite::storage_len(5)])?;
/// for _ in 0..1000 {
///     gp.observe(2, 1.0)?;
/// }
/// assert!((gp.posterior(2)?.variance - 0.01 / 1000.01).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FiniteGp<T, S> {
    storage: S,
    noise_variance: T,
    count: usize,
    observations: u64,
    variance_max: T,
    variance_clamps: u32,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> FiniteGp<T, S> {
    /// The prior with covariance `kernel` over `points`, row-major of `dim` columns;
    /// `noise_variance` in y².
    ///
    /// **Errors**: [`SurrogateError::NoiseVariance`]; [`SurrogateError::Unresolved`] if σ² <
    /// 1024·ε·(largest variance); [`SurrogateError::Dimension`], [`SurrogateError::NonFinite`],
    /// [`SurrogateError::Storage`]. **Cost**: N(N+1)/2 covariances.
    pub fn new<K: Kernel<T>>(
        kernel: &K,
        noise_variance: T,
        dim: usize,
        points: &[T],
        storage: S,
    ) -> Result<Self, SurrogateError> {
        if dim == 0 || points.is_empty() || !points.len().is_multiple_of(dim) {
            return Err(SurrogateError::Dimension {
                expected: dim.max(1),
                given: points.len(),
            });
        }
        check_finite(points)?;
        let count = points.len() / dim;
        Self::with_prior(noise_variance, count, storage, |covariance| {
            for (i, x) in points.chunks_exact(dim).enumerate() {
                kernel.covariances(x, points, lower::row_mut(covariance, i));
            }
        })
    }

    /// A prior of mean zero whose packed lower covariance `fill` writes.
    ///
    /// **Errors**: as [`FiniteGp::new`]; [`SurrogateError::NonFinite`] if a variance is not finite
    /// or negative.
    pub fn with_prior(
        noise_variance: T,
        count: usize,
        mut storage: S,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Self, SurrogateError> {
        if !(noise_variance >= T::ZERO && noise_variance.is_finite()) {
            return Err(SurrogateError::NoiseVariance {
                value: noise_variance.to_f64(),
            });
        }
        let needed = storage_len(count);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        let (mean, rest) = slice::split(storage.as_mut(), 2 * count);
        mean.fill(T::ZERO);
        let covariance = head_mut(rest, packed_len(count));
        fill(covariance);
        let mut variance_max = T::ZERO;
        for i in 0..count {
            let variance = at(lower::row(covariance, i), i);
            if !(variance >= T::ZERO && variance.is_finite()) {
                return Err(SurrogateError::NonFinite {
                    value: variance.to_f64(),
                });
            }
            variance_max = variance_max.max(variance);
        }
        let smallest = T::from_f64(1024.0) * T::EPSILON * variance_max;
        if !(noise_variance >= smallest) {
            return Err(SurrogateError::Unresolved {
                noise_variance: noise_variance.to_f64(),
                smallest: smallest.to_f64(),
            });
        }
        Ok(FiniteGp {
            storage,
            noise_variance,
            count,
            observations: 0,
            variance_max,
            variance_clamps: 0,
        })
    }

    /// Adds one observation y of point `index`.
    ///
    /// **Errors**: [`SurrogateError::Index`]; [`SurrogateError::NonFinite`];
    /// [`SurrogateError::Singular`] if the variance plus σ² does not exceed 16ε·(largest prior
    /// variance): only for a prior without variance. Nothing has changed then.
    ///
    /// **Cost**: N² + O(N) flops.
    pub fn observe(&mut self, index: usize, y: T) -> Result<Observed, SurrogateError> {
        let count = self.count;
        if index >= count {
            return Err(SurrogateError::Index { index, len: count });
        }
        let (mean, rest) = slice::split(self.storage.as_mut(), count);
        let (column, covariance) = slice::split(rest, count);
        let covariance = head_mut(covariance, packed_len(count));
        // Read before write: the pivot column changes with the rest.
        copy_column(covariance, index, column);
        let denominator = at(column, index) + self.noise_variance;
        let threshold = T::from_f64(16.0) * T::EPSILON * (self.variance_max + self.noise_variance);
        if !(denominator > threshold) {
            return Err(SurrogateError::Singular(NotPositiveDefinite {
                row: index,
                pivot: denominator.to_f64(),
                threshold: threshold.to_f64(),
            }));
        }
        let gain = (y - at(mean, index)) / denominator;
        let bound = largest_magnitude(mean);
        if !(bound + gain.abs() * self.variance_max.max(T::ONE)).is_finite() {
            return Err(SurrogateError::NonFinite { value: y.to_f64() });
        }
        let clamps = &mut self.variance_clamps;
        dispatch::run_short(
            #[inline(always)]
            |_| {
                axpy(gain, column, mean);
                let mut rest = covariance;
                for (i, c) in column.iter().enumerate() {
                    let (row, tail) = slice::split(rest, i + 1);
                    rest = tail;
                    axpy(-(*c / denominator), column, row);
                    if let Some(variance) = row.last_mut() {
                        *variance = clamp(*variance, clamps);
                    }
                }
            },
        );
        self.observations += 1;
        Ok(Observed::Appended)
    }

    /// Mean and variance of point `index`.
    ///
    /// **Errors**: [`SurrogateError::Index`].
    pub fn posterior(&self, index: usize) -> Result<Posterior<T>, SurrogateError> {
        if index >= self.count {
            return Err(SurrogateError::Index {
                index,
                len: self.count,
            });
        }
        Ok(Posterior {
            mean: at(self.mean(), index),
            variance: at(lower::row(self.covariance(), index), index),
        })
    }

    /// Means and variances of all points, in order, with the bits of [`FiniteGp::posterior`].
    ///
    /// **Errors**: [`SurrogateError::Dimension`] unless both lists have a place for each; nothing
    /// is written then.
    pub fn posteriors(&self, mean: &mut [T], variance: &mut [T]) -> Result<(), SurrogateError> {
        super::copy_moments(self.mean(), self.diagonal(), mean, variance)
    }

    fn diagonal(&self) -> impl Iterator<Item = T> {
        (0..self.count).map(|i| {
            lower::row(self.covariance(), i)
                .last()
                .copied()
                .unwrap_or(T::ZERO)
        })
    }

    /// Posterior means of all points.
    pub fn mean(&self) -> &[T] {
        head(self.storage.as_ref(), self.count)
    }

    /// Posterior covariance, packed lower triangle.
    pub fn covariance(&self) -> &[T] {
        part(
            self.storage.as_ref(),
            2 * self.count,
            packed_len(self.count),
        )
    }

    /// Posterior variances of all points, into `out`.
    pub fn variances(&self, out: &mut [T]) {
        out.iter_mut()
            .zip(self.diagonal())
            .for_each(|(out, variance)| *out = variance);
    }

    /// Number of points.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Observations so far.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// Noise variance σ², unit y².
    pub fn noise_variance(&self) -> T {
        self.noise_variance
    }

    /// Bound of the rounding error of every variance: (8 + k/σ²)·ε·k, k the largest prior variance.
    /// A variance below it is not known to any digit.
    pub fn variance_error(&self) -> T {
        let k = self.variance_max;
        if !(k > T::ZERO) {
            return T::ZERO;
        }
        (T::from_f64(8.0) + k / self.noise_variance) * T::EPSILON * k
    }

    /// How many posterior variances came out negative by rounding and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.variance_clamps
    }
}

/// Column `index` of the symmetric matrix whose packed lower triangle is given.
fn copy_column<T: Scalar>(packed: &[T], index: usize, out: &mut [T]) {
    let row = lower::row(packed, index);
    slice::copy(row, out);
    let head = row.len();
    let mut at = packed_len(index + 1) + index;
    for (i, out) in out.iter_mut().enumerate().skip(head) {
        *out = packed.get(at).copied().unwrap_or(T::ZERO);
        at += i + 1;
    }
}

#[cfg(test)]
mod tests;
