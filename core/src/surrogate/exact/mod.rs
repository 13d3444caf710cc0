//! The exact posterior with rows appended one by one: the engine for points that are not known
//! beforehand.
//!
//! **Equation**: with A = K + σ²I = LLᵀ and z = L⁻¹(y − m), the posterior at x is m + v·z and k(x,
//! x) − v·v, where v = L⁻¹k(x). Keeping z beside L makes an observation one row and a prediction
//! one forward substitution; no vector of weights is ever solved for.
//!
#![doc = include_str!("../../../equations/posterior.html")]
//!
//! **Source**: Rasmussen and Williams 2006, algorithm 2.1, in the incremental form of Osborne 2010,
//! appendix B.
//!
//! **Example**: that of [`ExactGp`].

mod failed;
mod refactor;
mod repeats;
pub(super) mod storage;
#[cfg(test)]
mod tests;

pub(crate) use failed::failed_rows;
pub use refactor::{refactor, refactor_scratch_len};
pub use storage::{batch_scratch_len, storage_len};

pub(crate) use refactor::{fade, refactor_in_place};
pub(crate) use repeats::same_point;

use serde::{Deserialize, Serialize};

use self::storage::{Parts, check_finite, split};
use super::fit::{LN_TWO_PI, Observations};
use super::noise::RowNoise;
use super::{Observed, Posterior, SurrogateError, clamp};
use crate::kernel::Kernel;
use crate::linalg::block::{self as block_of, WIDTH};
use crate::linalg::slice::{self, head, head_mut, move_back, part, part_mut, set};
use crate::linalg::{dot, lower, packed_len, sum_of_squares};
use crate::math::Scalar;

/// What happens when all rows are in use.
///
/// ```
/// use sordino_core::kernel::SquaredExponential;
/// use sordino_core::surrogate::{ExactGp, exact, exact::WhenFull};
///
/// let kernel = SquaredExponential::new(0.2, 1.0)?;
/// let two_rows = vec![0.0; exact::storage_len(1, 2)];
/// let mut window = ExactGp::new(kernel, 0.01, 1, 2, two_rows)?.when_full(WhenFull::DropOldest);
/// for x in [0.1, 0.5, 0.9] {
///     window.observe(&[x], 1.0)?;
/// }
/// assert_eq!(window.inputs(), [0.5, 0.9]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenFull {
    /// The observation is refused with [`SurrogateError::Full`].
    #[default]
    Refuse,
    /// The oldest observation is dropped: a sliding window.
    DropOldest,
}

/// What happens when a point repeats another at working precision.
///
/// ```
/// use sordino_core::kernel::SquaredExponential;
/// use sordino_core::surrogate::{ExactGp, Observed, SurrogateError, exact, exact::WhenRepeated};
///
/// let kernel = SquaredExponential::new(0.2, 1.0)?;
/// let model = || ExactGp::new(kernel, 0.0, 1, 4, vec![0.0; exact::storage_len(1, 4)]); // no noise
/// let mut merging = model()?;
/// merging.observe(&[0.5], 1.0)?;
/// assert_eq!(merging.observe(&[0.5], 2.0)?, Observed::Merged { index: 0 });
/// assert_eq!(merging.posterior(&[0.5])?.mean, 1.5);
/// let mut strict = model()?.when_repeated(WhenRepeated::Refuse);
/// strict.observe(&[0.5], 1.0)?;
/// assert!(matches!(strict.observe(&[0.5], 2.0), Err(SurrogateError::Singular(_))));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenRepeated {
    /// The two are averaged: c observations of one point are one observation with noise variance
    /// σ²/c.
    #[default]
    Merge,
    /// The observation is refused with [`SurrogateError::Singular`].
    Refuse,
}

/// The exact posterior of a Gaussian process with constant prior mean (default 0) and noise
/// variance σ².
///
/// A few words; the numbers live in `storage`, which belongs to the caller.
///
/// ```
/// use sordino_core::{kernel::SquaredExponential, surrogate::{exact, ExactGp, Posterior}};
/// const LEN: usize = exact::storage_len(2, 8);
/// let mut gp = ExactGp::new(SquaredExponential::new(0.2, 1.0)?, 0.01, 2, 8, [0.0f64; LEN])?;
/// gp.observe(&[0.1, 0.7], 1.3)?;
/// let Posterior { mean, variance } = gp.posterior(&[0.1, 0.7])?;
/// assert!((mean - 1.3 / 1.01).abs() < 1e-12 && (variance - 0.01 / 1.01).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactGp<T, K, S> {
    kernel: K,
    storage: S,
    noise: RowNoise<T>,
    prior_mean: T,
    dim: usize,
    capacity: usize,
    len: usize,
    when_full: WhenFull,
    when_repeated: WhenRepeated,
    variance_clamps: u32,
}

impl<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>> ExactGp<T, K, S> {
    /// An empty model for points of `dim` coordinates; `noise_variance` ≥ 0 in y².
    ///
    /// **Errors**: [`SurrogateError::Storage`] if `storage` holds less than [`storage_len`];
    /// [`SurrogateError::NoiseVariance`]; [`SurrogateError::Dimension`] if `dim` is 0.
    pub fn new(
        kernel: K,
        noise_variance: T,
        dim: usize,
        capacity: usize,
        storage: S,
    ) -> Result<Self, SurrogateError> {
        Self::resume(kernel, noise_variance, dim, capacity, 0, storage)
    }

    /// The model whose first `len` rows `storage` already holds, as an earlier one left it: a
    /// device after sleep, an agent whose storage lies in an arena, a checkpoint. Options are to be
    /// set again.
    ///
    /// **Errors**: as [`ExactGp::new`]; [`SurrogateError::Full`] if `len` exceeds the capacity;
    /// [`SurrogateError::NonFinite`] if what is stored is not finite.
    pub fn resume(
        kernel: K,
        noise_variance: T,
        dim: usize,
        capacity: usize,
        len: usize,
        storage: S,
    ) -> Result<Self, SurrogateError> {
        let noise = RowNoise::new(noise_variance, T::ZERO)?;
        if dim == 0 {
            return Err(SurrogateError::Dimension {
                expected: 1,
                given: 0,
            });
        }
        let needed = storage_len(dim, capacity);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        if len > capacity {
            return Err(SurrogateError::Full { capacity });
        }
        let mut gp = ExactGp {
            kernel,
            storage,
            noise,
            prior_mean: T::ZERO,
            dim,
            capacity,
            len,
            when_full: WhenFull::default(),
            when_repeated: WhenRepeated::default(),
            variance_clamps: 0,
        };
        if len > 0 {
            let parts = gp.parts();
            let used = [
                head(parts.inputs, len * dim),
                head(parts.targets, len),
                head(parts.counts, len),
                head(parts.scatters, len),
                head(parts.whitened, len),
                head(parts.factor, packed_len(len)),
            ];
            if let Some(bad) = used
                .iter()
                .flat_map(|part| part.iter())
                .find(|x| !x.is_finite())
            {
                return Err(SurrogateError::NonFinite {
                    value: bad.to_f64(),
                });
            }
        }
        Ok(gp)
    }

    /// A constant prior mean m, unit y, in place of 0; before the first observation.
    ///
    /// **Errors**: [`SurrogateError::NonFinite`]; [`SurrogateError::Full`] once there are
    /// observations.
    pub fn with_prior_mean(mut self, prior_mean: T) -> Result<Self, SurrogateError> {
        if !prior_mean.is_finite() {
            return Err(SurrogateError::NonFinite {
                value: prior_mean.to_f64(),
            });
        }
        if self.len > 0 {
            return Err(SurrogateError::Full { capacity: self.len });
        }
        self.prior_mean = prior_mean;
        Ok(self)
    }

    /// The least noise variance of a row, in y²; default 0. A row of c merged observations has
    /// max(σ²/c, floor): without a floor many repeats bring it below what the format resolves, and
    /// rows after it are rounding errors.
    ///
    /// **Errors**: [`SurrogateError::NoiseVariance`] for a floor that is negative, infinite or NaN.
    /// A model that is resumed needs the floor it had.
    pub fn with_noise_floor(mut self, floor: T) -> Result<Self, SurrogateError> {
        self.noise = RowNoise::new(self.noise.variance, floor)?;
        Ok(self)
    }

    /// Sets what happens when all rows are in use; default: refuse.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Sets what happens when a point repeats another; default: merge.
    pub fn when_repeated(mut self, when_repeated: WhenRepeated) -> Self {
        self.when_repeated = when_repeated;
        self
    }

    /// Adds one observation y of the point x.
    ///
    /// **Numerics**: the new squared pivot is the variance that the other observations leave at x
    /// plus σ². Below (n + 8)·ε·(k(x, x) + σ²) it is rounding error: if the correlation ρ with the
    /// nearest observation has 1 − ρ² ≤ √ε the two are merged, else the point is refused. Below
    /// √ε·(k(x, x) + σ²) it has lost half its digits: a point that equals another at working
    /// precision, 1 − ρ² ≤ (n + 8)·ε and each coordinate within 8ε of the other's (of its size
    /// where that is above 1), is merged, any other appended.
    ///
    /// **Errors**: [`SurrogateError::Dimension`]; [`SurrogateError::NonFinite`] for x, y, or a y so
    /// large that squares overflow; [`SurrogateError::Full`]; [`SurrogateError::Singular`]. The
    /// model is as it was, except that a sliding window has already dropped its oldest observation:
    /// also where the new one is merged.
    ///
    /// **Cost**: n² + O(n) flops, n covariances.
    pub fn observe(&mut self, x: &[T], y: T) -> Result<Observed, SurrogateError> {
        self.check_point(x)?;
        if !y.is_finite() {
            return Err(SurrogateError::NonFinite { value: y.to_f64() });
        }
        if self.len == self.capacity {
            match self.when_full {
                WhenFull::DropOldest if self.len > 0 => self.remove(0)?,
                _ => {
                    return Err(SurrogateError::Full {
                        capacity: self.capacity,
                    });
                }
            }
        }
        let n = self.len;
        let dim = self.dim;
        let diagonal = self.kernel.variance(x) + self.noise.of(T::ONE);
        let rounding = T::from_u32(n as u32 + 8) * T::EPSILON;
        let suspicious = match self.when_repeated {
            WhenRepeated::Merge => T::EPSILON.sqrt().max(rounding),
            WhenRepeated::Refuse => rounding,
        };
        let target = y - self.prior_mean;
        let parts = split(self.storage.as_mut(), dim, self.capacity);
        let row = lower::row_mut(parts.factor, n);
        if let Some((last, row)) = row.split_last_mut() {
            self.kernel.covariances(x, head(parts.inputs, n * dim), row);
            *last = diagonal;
        }
        let pivot = match lower::append_row(parts.factor, n, suspicious * diagonal) {
            Ok(pivot) => pivot,
            Err(error) if self.when_repeated == WhenRepeated::Refuse => {
                return Err(SurrogateError::Singular(error));
            }
            Err(error) => {
                let hopeless = !(T::from_f64(error.pivot) > rounding * diagonal);
                let other = if hopeless {
                    self.nearest(x, T::EPSILON.sqrt().max(rounding))
                } else {
                    self.repeated(x, rounding)
                };
                if let Some(index) = other {
                    return self.merge(index, target);
                }
                let parts = split(self.storage.as_mut(), dim, self.capacity);
                lower::finish_row(lower::row_mut(parts.factor, n), rounding * diagonal)
                    .map_err(SurrogateError::Singular)?
            }
        };
        let parts = split(self.storage.as_mut(), dim, self.capacity);
        let (done, rest) = slice::split(parts.whitened, n);
        let row = head(lower::row(parts.factor, n), n);
        let z = (target - dot(row, done)) / pivot;
        // Bounds every later mean: |v·z| ≤ ‖v‖‖z‖.
        if !(sum_of_squares(done) + z * z).is_finite() {
            return Err(SurrogateError::NonFinite { value: y.to_f64() });
        }
        set(rest, 0, z);
        set(parts.targets, n, target);
        set(parts.counts, n, T::ONE);
        set(parts.scatters, n, T::ZERO);
        slice::copy(x, part_mut(parts.inputs, n * dim, dim));
        self.len += 1;
        Ok(Observed::Appended)
    }

    /// Mean and variance at x.
    ///
    /// **Errors**: [`SurrogateError::Dimension`], [`SurrogateError::NonFinite`].
    /// **Cost**: n² + O(n) flops, n covariances.
    pub fn posterior(&mut self, x: &[T]) -> Result<Posterior<T>, SurrogateError> {
        self.check_point(x)?;
        let n = self.len;
        let parts = split(self.storage.as_mut(), self.dim, self.capacity);
        let v = head_mut(parts.scratch, n);
        self.kernel
            .covariances(x, head(parts.inputs, n * self.dim), v);
        lower::solve(parts.factor, v);
        let mean = self.prior_mean + dot(v, head(parts.whitened, n));
        let variance = self.kernel.variance(x) - sum_of_squares(v);
        Ok(Posterior {
            mean,
            variance: clamp(variance, &mut self.variance_clamps),
        })
    }

    /// Means and variances at a row-major list of points, as many as `mean` and `variance` hold: 5
    /// to 12 times faster than one by one, with the same bits.
    ///
    /// **Parameters**: `scratch` holds [`batch_scratch_len`] (observations) numbers. **Errors**:
    /// [`SurrogateError::Dimension`] unless `points` are `mean.len()` = `variance.len()` whole
    /// points; [`SurrogateError::NonFinite`]; [`SurrogateError::Storage`]. Nothing is written then.
    pub fn posteriors(
        &mut self,
        points: &[T],
        mean: &mut [T],
        variance: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), SurrogateError> {
        let n = self.len;
        let dim = self.dim;
        if points.len() != mean.len() * dim || mean.len() != variance.len() {
            return Err(SurrogateError::Dimension {
                expected: mean.len() * dim,
                given: points.len(),
            });
        }
        check_finite(points)?;
        let needed = batch_scratch_len(n);
        let given = scratch.len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        let parts = split(self.storage.as_mut(), dim, self.capacity);
        let block = head_mut(scratch.as_chunks_mut::<WIDTH>().0, n);
        let lists = points
            .chunks((WIDTH * dim).max(1))
            .zip(mean.chunks_mut(WIDTH))
            .zip(variance.chunks_mut(WIDTH));
        for ((points, mean), variance) in lists {
            if mean.len() < WIDTH {
                block.as_flattened_mut().fill(T::ZERO);
            }
            self.kernel.covariance_rows(
                head(parts.inputs, n * dim),
                points,
                dim,
                WIDTH,
                block.as_flattened_mut(),
            );
            block_of::solve(parts.factor, block);
            let means = block_of::dot(head(parts.whitened, n), block);
            let squares = block_of::sum_of_squares(block);
            for ((mean, variance), (found, (square, point))) in mean.iter_mut().zip(variance).zip(
                means
                    .iter()
                    .zip(squares.iter().zip(points.chunks_exact(dim))),
            ) {
                *mean = self.prior_mean + *found;
                *variance = clamp(
                    self.kernel.variance(point) - *square,
                    &mut self.variance_clamps,
                );
            }
        }
        Ok(())
    }

    /// Removes observation `index`; later ones move up.
    ///
    /// **Errors**: [`SurrogateError::Index`]. **Cost**: 3(n − index)² flops, stable: it is an
    /// update.
    pub fn remove(&mut self, index: usize) -> Result<(), SurrogateError> {
        let n = self.len;
        let dim = self.dim;
        if index >= n {
            return Err(SurrogateError::Index { index, len: n });
        }
        let parts = split(self.storage.as_mut(), dim, self.capacity);
        lower::delete_row(
            parts.factor,
            n,
            index,
            head_mut(parts.whitened, n),
            parts.scratch,
        );
        let later = n - index - 1;
        for list in [parts.targets, parts.counts, parts.scatters] {
            move_back(list, index + 1, index, later);
        }
        move_back(parts.inputs, (index + 1) * dim, index * dim, later * dim);
        self.len -= 1;
        Ok(())
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// rhs ← (K + σ²I)⁻¹ rhs, for draws by Matheron's rule and for gradients.
    ///
    /// **Errors**: [`SurrogateError::Dimension`] unless `rhs` holds one number per observation.
    /// **Cost**: 2n² flops.
    pub fn solve(&self, rhs: &mut [T]) -> Result<(), SurrogateError> {
        if rhs.len() != self.len {
            return Err(SurrogateError::Dimension {
                expected: self.len,
                given: rhs.len(),
            });
        }
        let factor = self.factor();
        lower::solve(factor, rhs);
        lower::solve_transposed(factor, rhs);
        Ok(())
    }

    /// ln p(y | X) = −½ zᵀz − ½ ln det(K + σ²I) − (n/2) ln 2π of all observations, those that were
    /// merged too (see [`Observations`] for how they count).
    pub fn log_marginal_likelihood(&self) -> T {
        let half = T::from_f64(0.5);
        let constant = T::from_f64(LN_TWO_PI) * T::from_u32(self.len as u32);
        let rows = -half
            * (sum_of_squares(self.whitened()) + lower::ln_det(self.factor(), self.len) + constant);
        rows + self.observations().ln_within(self.noise.variance).0
    }

    /// What is stored, for [`fit`](super::fit): inputs, values less the prior mean, and how often
    /// each was repeated.
    pub fn observations(&self) -> Observations<'_, T> {
        Observations {
            points: self.inputs(),
            y: self.targets(),
            counts: self.counts(),
            scatters: self.scatters(),
        }
    }

    /// Observations in use; merged ones count once.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no observation yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most observations it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Kernel of the prior.
    pub fn kernel(&self) -> &K {
        &self.kernel
    }

    /// Noise variance σ², unit y².
    pub fn noise_variance(&self) -> T {
        self.noise.variance
    }

    /// Noise variance of row `index`, unit y²: σ² over its repeats, not below the floor. σ² where
    /// there is no such row.
    pub fn row_noise(&self, index: usize) -> T {
        self.noise
            .of(self.counts().get(index).copied().unwrap_or(T::ONE))
    }

    /// Constant mean m of the prior, unit y.
    pub fn prior_mean(&self) -> T {
        self.prior_mean
    }

    /// The inputs in use, row-major.
    pub fn inputs(&self) -> &[T] {
        head(self.storage.as_ref(), self.len * self.dim)
    }

    /// The values in use less the prior mean; repeats averaged.
    pub fn targets(&self) -> &[T] {
        self.column(0)
    }

    /// How many observations each row stands for.
    pub fn counts(&self) -> &[T] {
        self.column(1)
    }

    /// Σ (y − their mean)² of the observations that each row stands for, unit y².
    pub fn scatters(&self) -> &[T] {
        self.column(2)
    }

    /// The factor L, packed by rows.
    pub fn factor(&self) -> &[T] {
        part(
            self.storage.as_ref(),
            self.capacity * (self.dim + 5),
            packed_len(self.len),
        )
    }

    /// The whitened residuals z = L⁻¹(y − m).
    pub fn whitened(&self) -> &[T] {
        self.column(3)
    }

    /// How many posterior variances came out negative by rounding and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.variance_clamps
    }

    /// Gives the storage back.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// Of the lists of one number per row that follow the inputs, number `index`.
    fn column(&self, index: usize) -> &[T] {
        part(
            self.storage.as_ref(),
            self.capacity * (self.dim + index),
            self.len,
        )
    }

    fn parts(&mut self) -> Parts<'_, T> {
        split(self.storage.as_mut(), self.dim, self.capacity)
    }

    fn check_point(&self, x: &[T]) -> Result<(), SurrogateError> {
        if x.len() != self.dim {
            return Err(SurrogateError::Dimension {
                expected: self.dim,
                given: x.len(),
            });
        }
        check_finite(x)
    }
}
