//! Repeated points: averaged into the row they repeat.

use super::ExactGp;
use super::storage::split;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, at, head_mut, set};
use crate::linalg::{lower, packed_len, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::mark::is_mark;
use crate::surrogate::{Observed, SurrogateError};

/// Whether two points are one at working precision: each coordinate within 8ε of the other's, of
/// its size where that is above 1. In the unit box that is what translating there and back rounds.
pub(crate) fn same_point<T: Scalar>(a: &[T], b: &[T]) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| (*a - *b).abs() <= T::from_f64(8.0) * T::EPSILON * a.abs().max(T::ONE))
}

impl<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>> ExactGp<T, K, S> {
    /// The observation most correlated with x, if 1 − ρ² ≤ `tolerance`. **Cost**: n covariances.
    pub(super) fn nearest(&self, x: &[T], tolerance: T) -> Option<usize> {
        let variance = self.kernel.variance(x);
        let mut nearest = None;
        let mut best = T::ZERO;
        for (i, other) in self.inputs().chunks_exact(self.dim.max(1)).enumerate() {
            let k = self.kernel.covariance(x, other);
            let explained = k * k / self.kernel.variance(other);
            if k > T::ZERO && explained > best {
                (nearest, best) = (Some(i), explained);
            }
        }
        if variance - best <= tolerance * variance {
            nearest
        } else {
            None
        }
    }

    /// The first observation of the point x, if 1 − ρ² ≤ `tolerance` too: where the kernel is
    /// flatter than the format resolves, points that differ have ρ = 1.
    pub(super) fn repeated(&self, x: &[T], tolerance: T) -> Option<usize> {
        let variance = self.kernel.variance(x);
        self.inputs()
            .chunks_exact(self.dim.max(1))
            .position(|other| {
                let k = self.kernel.covariance(x, other);
                same_point(other, x)
                    && k > T::ZERO
                    && variance - k * k / self.kernel.variance(other) <= tolerance * variance
            })
    }

    /// Averages `target` into observation `index`.
    pub(super) fn merge(&mut self, index: usize, target: T) -> Result<Observed, SurrogateError> {
        let n = self.len;
        let parts = split(self.storage.as_mut(), self.dim, self.capacity);
        // c → c + 1 observations: σ²/c − σ²/(c+1), or what a floor leaves of it, leaves the
        // diagonal. 1 − ‖L⁻¹v‖² ≥ c/(c+1), so this cannot fail but for rounding.
        if is_mark(at(parts.scatters, index)) {
            return Ok(Observed::Merged { index });
        }
        let count = at(parts.counts, index);
        let grown = count + T::ONE;
        let before = at(parts.targets, index);
        let change = (target - before) / grown;
        let after = before + change;
        // Welford: (y − old mean)(y − new mean).
        let scatter = at(parts.scatters, index) + change * change * (grown * count);
        let z = head_mut(parts.whitened, n);
        set(parts.targets, index, after);
        slice::copy(parts.targets, z);
        lower::solve(parts.factor, z);
        // Twice the square: the smaller noise variance makes z larger, by less than √2.
        if !((sum_of_squares(z) * T::from_f64(2.0)).is_finite() && scatter.is_finite()) {
            set(parts.targets, index, before);
            slice::copy(parts.targets, z);
            lower::solve(parts.factor, z);
            return Err(SurrogateError::NonFinite {
                value: target.to_f64(),
            });
        }
        set(parts.counts, index, grown);
        set(parts.scatters, index, scatter);
        let removed = self.noise.removed(count).max(T::ZERO).sqrt();
        if removed > T::ZERO {
            let v = head_mut(parts.scratch, n - index);
            v.fill(T::ZERO);
            set(v, 0, removed);
            // The row past the last one is free and serves as a second scratch.
            let (factor, spare) = slice::split(parts.factor, packed_len(n));
            if lower::rank_one_downdate(factor, index, v, spare, T::EPSILON).is_err() {
                set(parts.counts, index, count);
            }
            slice::copy(parts.targets, z);
            lower::solve(parts.factor, z);
        }
        Ok(Observed::Merged { index })
    }
}
