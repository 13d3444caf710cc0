//! Repeated points: averaged into the row they repeat.

use super::ExactGp;
use super::storage::split;
use crate::kernel::Kernel;
use crate::linalg::{lower, packed_len, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::{Observed, SurrogateError};

impl<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>> ExactGp<T, K, S> {
    /// The observation most correlated with x, if 1 − ρ² ≤ `tolerance`. **Cost**: n covariances.
    pub(super) fn nearest(&self, x: &[T], tolerance: T) -> Option<usize> {
        let variance = self.kernel.variance(x);
        let (mut nearest, mut best) = (None, T::ZERO);
        for (i, other) in self.inputs().chunks_exact(self.dim).enumerate() {
            let k = self.kernel.covariance(x, other);
            let explained = k * k / self.kernel.variance(other);
            if k > T::ZERO && explained > best {
                (nearest, best) = (Some(i), explained);
            }
        }
        if variance - best <= tolerance * variance { nearest } else { None }
    }

    /// Averages `target` into observation `index`.
    pub(super) fn merge(&mut self, index: usize, target: T) -> Result<Observed, SurrogateError> {
        let n = self.len;
        let parts = split(self.storage.as_mut(), self.dim, self.capacity);
        // c → c + 1 observations: σ²/c − σ²/(c+1) leaves the diagonal. 1 − ‖L⁻¹v‖² ≥ c/(c+1), so this cannot fail but
        // for rounding.
        let count = parts.counts[index];
        let grown = count + T::ONE;
        let before = parts.targets[index];
        let change = (target - before) / grown;
        let after = before + change;
        // Welford: (y − old mean)(y − new mean).
        let scatter = parts.scatters[index] + change * change * (grown * count);
        let z = &mut parts.whitened[..n];
        parts.targets[index] = after;
        z.copy_from_slice(&parts.targets[..n]);
        lower::solve(parts.factor, z);
        // Twice the square: the smaller noise variance makes z larger, by less than √2.
        if !((sum_of_squares(z) * T::from_f64(2.0)).is_finite() && scatter.is_finite()) {
            parts.targets[index] = before;
            z.copy_from_slice(&parts.targets[..n]);
            lower::solve(parts.factor, z);
            return Err(SurrogateError::NonFinite { value: target.to_f64() });
        }
        parts.counts[index] = grown;
        parts.scatters[index] = scatter;
        let removed = (self.noise_variance / (count * grown)).sqrt();
        if removed > T::ZERO {
            let v = &mut parts.scratch[..n - index];
            v.fill(T::ZERO);
            v[0] = removed;
            // The row past the last one is free and serves as a second scratch.
            let (factor, spare) = parts.factor.split_at_mut(packed_len(n));
            if lower::rank_one_downdate(factor, index, v, spare, T::EPSILON).is_err() {
                parts.counts[index] = count;
            }
            z.copy_from_slice(&parts.targets[..n]);
            lower::solve(parts.factor, z);
        }
        Ok(Observed::Merged { index })
    }
}
