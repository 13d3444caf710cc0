//! Bayesian linear regression on features: the posterior over weights ω, its mean and its draws.
//!
//! **Equation**: Σ = ΦᵀΦ + λI, ν = Σ⁻¹Φᵀy, ω ~ N(ν, λΣ⁻¹), for n rows φ(xᵢ) of M features.
//!
#![doc = include_str!("../../equations/weight_posterior.html")]
//!
//! Two forms of one law, chosen by [`Form::of`] from (n, M) alone, because their bits differ:
//! * *dual*, while n ≤ M/2: G = ΦΦᵀ + λI is factored by rows; ω = w + ΦᵀG⁻¹(y − Φw − e), w ~ N(0,
//!   I), e ~ N(0, λI) (Hoffman and Ribak 1991; Wilson et al. 2020).
//! * *primal*, afterwards: \[R | c\] of [`root`]; ω = R⁻¹(c + √λ z), z ~ N(0, I).
//!
//! The posterior is a function of the *log* of observations: [`WeightPosterior::extend`] digests
//! observations 0, 1, 2 … in order and asks the caller for each. A device extends by one at a time;
//! a fleet that keeps nothing but logs rebuilds in scratch memory; both perform the same operations
//! on the same numbers, so they agree to the last bit.
//!
//! **Example**: that of [`WeightPosterior`].

mod batch;

use core::fmt;
use core::task::Poll;

pub use self::batch::batch_scratch_len;
use super::clamp;
use crate::dispatch;
use crate::linalg::rows::{add_rows_here, dots_here};
use crate::linalg::slice::{self, head_mut, move_back, part_mut, set};
use crate::linalg::{lower, packed_len, root, sum_of_squares};
use crate::math::Scalar;
use crate::random::{Stream, normal};

/// Which of the two computations is in use.
///
/// **Example**: that of [`WeightPosterior`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// n×n: at most M/2 observations.
    Dual,
    /// M×M: more than M/2 observations.
    Primal,
}

impl Form {
    /// The form for `observations` rows of `feature_count` features.
    pub const fn of(observations: usize, feature_count: usize) -> Self {
        if observations <= feature_count / 2 {
            Form::Dual
        } else {
            Form::Primal
        }
    }
}

/// How the oldest observation left a posterior.
///
/// **Example**: that of [`WeightPosterior`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// By a deletion or a rotation.
    Removed,
    /// The rest of the window was digested again.
    Rebuilt,
}

/// Why a posterior could not be set up.
///
/// **Example**: that of [`Regularization`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WeightsError {
    /// There is no feature, M = 0.
    NoFeatures,
    /// λ not finite and positive in the format computed with.
    Regularization {
        /// The value given.
        value: f64,
    },
    /// A list that is not a whole number of features, or not as many as there are places for the
    /// answers.
    Features {
        /// Length of the slice given.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// A buffer shorter than [`storage_len`] or [`batch_scratch_len`].
    Storage {
        /// Length of the slice given.
        len: usize,
        /// The length needed.
        expected: usize,
    },
}

impl fmt::Display for WeightsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WeightsError::NoFeatures => write!(f, "a weight posterior needs at least one feature"),
            WeightsError::Regularization { value } => {
                write!(f, "regularization {value} must be finite and positive")
            }
            WeightsError::Features { len, expected } => {
                write!(f, "{len} features, {expected} expected")
            }
            WeightsError::Storage { len, expected } => {
                write!(f, "storage of {len} numbers, {expected} needed")
            }
        }
    }
}

impl core::error::Error for WeightsError {}

/// λ in the format a posterior computes with: finite and positive there, not only before it was
/// rounded.
///
/// ```
/// use sordino_core::surrogate::weights::{Regularization, WeightsError};
///
/// assert_eq!(Regularization::<f32>::from_f64(0.5)?.value(), 0.5);
/// let tiny = Regularization::<f32>::from_f64(1e-50);
/// assert_eq!(tiny, Err(WeightsError::Regularization { value: 1e-50 }));
/// # Ok::<(), WeightsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regularization<T>(T);

impl<T: Scalar> Regularization<T> {
    /// A λ that is a number of the format already.
    ///
    /// **Errors**: [`WeightsError::Regularization`] unless it is finite and positive.
    pub fn new(value: T) -> Result<Self, WeightsError> {
        if value > T::ZERO && value.is_finite() {
            Ok(Regularization(value))
        } else {
            Err(WeightsError::Regularization {
                value: value.to_f64(),
            })
        }
    }

    /// λ rounded to the format: 1e-50 is 0 in `f32`, and refused there.
    ///
    /// **Errors**: [`WeightsError::Regularization`], with the number as it was given.
    pub fn from_f64(value: f64) -> Result<Self, WeightsError> {
        Self::new(T::from_f64(value)).map_err(|_| WeightsError::Regularization { value })
    }

    /// Regularisation λ > 0 of the ridge regression.
    pub fn value(self) -> T {
        self.0
    }
}

/// Numbers a posterior over `m` features takes, whatever the number of observations.
///
/// The larger of dual ((m/2) rows of features, their packed factor, y and a residual) and primal
/// (packed root, right-hand side, one feature vector): 2,640 at m = 64, 10.3 kB in `f32`.
pub const fn storage_len(m: usize) -> usize {
    let h = m / 2;
    let dual = h * m + packed_len(h) + 2 * h;
    let primal = packed_len(m) + 2 * m;
    if dual > primal { dual } else { primal }
}

struct Dual<'a, T> {
    rows: &'a mut [T],
    factor: &'a mut [T],
    y: &'a mut [T],
    residual: &'a mut [T],
}

struct Primal<'a, T> {
    root: &'a mut [T],
    rhs: &'a mut [T],
    /// One feature vector, and what storage is left.
    phi: &'a mut [T],
    spare: &'a mut [T],
}

fn split_dual<T>(storage: &mut [T], m: usize) -> Dual<'_, T> {
    let h = m / 2;
    let (rows, rest) = slice::split(storage, h * m);
    let (factor, rest) = slice::split(rest, packed_len(h));
    let (y, rest) = slice::split(rest, h);
    Dual {
        rows,
        factor,
        y,
        residual: head_mut(rest, h),
    }
}

fn split_primal<T>(storage: &mut [T], m: usize) -> Primal<'_, T> {
    let (root, rest) = slice::split(storage, packed_len(m));
    let (rhs, rest) = slice::split(rest, m);
    let (phi, spare) = slice::split(rest, m);
    Primal {
        root,
        rhs,
        phi,
        spare,
    }
}

/// The posterior over the weights of M features.
///
/// ```
/// use sordino_core::surrogate::weights::{Forgotten, Form, Regularization, WeightPosterior, storage_len};
///
/// // One feature that is always 1, λ = ½: ν = Σy/(n + λ), with variance λ/(n + λ).
/// let mut posterior = WeightPosterior::new(1, Regularization::new(0.5)?, [0.0; storage_len(1)])?;
/// let y = [1.0, 2.0, 3.0];
/// let replay = |i: usize, phi: &mut [f64]| {
///     phi[0] = 1.0;
///     y[i]
/// };
/// posterior.extend(3, replay);
/// let mut mean = [0.0];
/// posterior.mean(&mut mean);
/// assert!((mean[0] - 6.0 / 3.5).abs() < 1e-14 && (posterior.variance(&mut [1.0]) - 0.5 / 3.5).abs() < 1e-14);
/// assert_eq!(posterior.form(), Form::Primal); // 3 > M/2
/// assert_eq!(posterior.forget_oldest(&mut [1.0], y[0], replay), Forgotten::Removed);
/// posterior.mean(&mut mean);
/// assert!((mean[0] - 5.0 / 2.5).abs() < 1e-14);
/// # Ok::<(), sordino_core::surrogate::weights::WeightsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WeightPosterior<T, S> {
    feature_count: usize,
    regularization: T,
    observations: usize,
    /// Rows in a root that is being built; 0 if none is.
    rebuilt: usize,
    storage: S,
    variance_clamps: u32,
    pivot_floors: u32,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> WeightPosterior<T, S> {
    /// The prior ω ~ N(0, I): no observations yet. `storage` needs [`storage_len`] numbers; their
    /// content is ignored.
    ///
    /// **Errors**: [`WeightsError::NoFeatures`], [`WeightsError::Storage`].
    pub fn new(
        feature_count: usize,
        regularization: Regularization<T>,
        storage: S,
    ) -> Result<Self, WeightsError> {
        Self::resume(feature_count, regularization, 0, storage)
    }

    /// A posterior that already digested `observations` rows into this very storage.
    ///
    /// **Errors**: [`WeightsError::NoFeatures`], [`WeightsError::Storage`].
    pub fn resume(
        feature_count: usize,
        regularization: Regularization<T>,
        observations: usize,
        storage: S,
    ) -> Result<Self, WeightsError> {
        if feature_count == 0 {
            return Err(WeightsError::NoFeatures);
        }
        let len = storage.as_ref().len();
        let expected = storage_len(feature_count);
        if len < expected {
            return Err(WeightsError::Storage { len, expected });
        }
        Ok(WeightPosterior {
            feature_count,
            regularization: regularization.value(),
            observations,
            rebuilt: 0,
            storage,
            variance_clamps: 0,
            pivot_floors: 0,
        })
    }

    /// Forgets everything: the prior again.
    pub fn clear(&mut self) {
        (self.observations, self.rebuilt) = (0, 0);
    }

    /// Observations digested so far.
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// Number of features M.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// The form in use.
    pub fn form(&self) -> Form {
        Form::of(self.observations, self.feature_count)
    }

    /// Digests observations up to `count` (no-op if there are as many already). `replay(i, phi)`
    /// writes the features of observation i into `phi` and returns its y.
    ///
    /// When n passes M/2 the primal form is built from observation 0, so `replay` may be asked for
    /// old ones.
    ///
    /// **Cost** per observation: dual n·M + n² flops, primal 3M² flops.
    /// [`WeightPosterior::extend_step`] takes them a few at a time. **Panics**: never, if `replay`
    /// does not.
    pub fn extend(&mut self, count: usize, mut replay: impl FnMut(usize, &mut [T]) -> T) {
        let mut rows = usize::MAX;
        while self.extend_step(count, &mut rows, &mut replay).is_pending() {
            rows = usize::MAX;
        }
    }

    /// [`WeightPosterior::extend`] in slices: digests at most `rows` observations, from which it
    /// subtracts those it digested. The same bits, whatever the slices are.
    ///
    /// Until the primal form, which is built from observation 0, holds `count` of them, the
    /// posterior says that it holds none, and is the prior.
    pub fn extend_step(
        &mut self,
        count: usize,
        rows: &mut usize,
        mut replay: impl FnMut(usize, &mut [T]) -> T,
    ) -> Poll<()> {
        if count <= self.observations {
            return Poll::Ready(());
        }
        let m = self.feature_count;
        let lambda = self.regularization;
        match Form::of(count, m) {
            Form::Dual => {
                self.rebuilt = 0;
                let end = count.min(self.observations.saturating_add(*rows));
                *rows -= end - self.observations;
                let dual = split_dual(self.storage.as_mut(), m);
                for n in self.observations..end {
                    let (old, rest) = slice::split(dual.rows, n * m);
                    let phi = head_mut(rest, m);
                    set(dual.y, n, replay(n, phi));
                    let start = packed_len(n);
                    crate::linalg::matvec(old, phi, part_mut(dual.factor, start, n));
                    let diagonal = sum_of_squares(phi) + lambda;
                    set(dual.factor, start + n, diagonal);
                    // Every pivot² of ΦΦᵀ + λI is at least λ; below that, or below what rounding
                    // leaves of it, it is noise.
                    let least = lambda.max(T::from_u32(n as u32 + 8) * T::EPSILON * diagonal);
                    if lower::append_row(dual.factor, n, least).is_err() {
                        set(dual.factor, start + n, least.sqrt());
                        self.pivot_floors = self.pivot_floors.saturating_add(1);
                    }
                }
                self.observations = end;
            }
            Form::Primal => {
                let primal = split_primal(self.storage.as_mut(), m);
                // A posterior in the primal form goes on; one in the dual form is rebuilt, and so
                // is one without rows.
                let mut done = self.observations;
                if Form::of(done, m) == Form::Dual {
                    if self.rebuilt == 0 {
                        root::reset(primal.root, primal.rhs, lambda);
                    }
                    (self.observations, done) = (0, self.rebuilt);
                }
                let end = count.min(done.saturating_add(*rows));
                *rows -= end - done;
                let mut n = done;
                // Two together where that is faster, and storage has room for the features of both.
                while cfg!(feature = "dispatch") && n + 2 <= end && primal.spare.len() >= m {
                    let second = head_mut(primal.spare, m);
                    let ys = [replay(n, primal.phi), replay(n + 1, second)];
                    root::rotate_all_in(primal.root, primal.rhs, [&mut *primal.phi, second], ys);
                    n += 2;
                }
                for n in n..end {
                    let y = replay(n, primal.phi);
                    root::rotate_in(primal.root, primal.rhs, primal.phi, y);
                }
                if Form::of(end, m) == Form::Primal {
                    (self.observations, self.rebuilt) = (end, 0);
                } else {
                    self.rebuilt = end;
                }
            }
        }
        if self.observations == count {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Removes the oldest observation, for a sliding window: observation i becomes i − 1.
    ///
    /// **Parameters**: `phi` the features of the oldest (destroyed), `y` its value; `replay` writes
    /// the features of observation i as numbered *after* the removal, and is asked only if the
    /// posterior must be rebuilt.
    ///
    /// **Numerics**: dual, a row of the factor is deleted (backward stable); primal, the rotation
    /// is undone where that keeps half the digits, else the root is rebuilt, and so it is where the
    /// form changes. A window's bits depend on what has left it: only [`WeightPosterior::extend`]
    /// is a function of the log alone.
    ///
    /// **Cost**: dual 3n² flops and n·M moves, primal 4M² flops, rebuilding n·3M².
    pub fn forget_oldest(
        &mut self,
        phi: &mut [T],
        y: T,
        replay: impl FnMut(usize, &mut [T]) -> T,
    ) -> Forgotten {
        let m = self.feature_count;
        let n = self.observations;
        if n == 0 {
            return Forgotten::Removed;
        }
        (self.observations, self.rebuilt) = (n - 1, 0);
        match (Form::of(n, m), self.form()) {
            (Form::Dual, _) => {
                let dual = split_dual(self.storage.as_mut(), m);
                lower::delete_row(dual.factor, n, 0, &mut [], dual.residual);
                move_back(dual.rows, m, 0, (n - 1) * m);
                move_back(dual.y, 1, 0, n - 1);
                return Forgotten::Removed;
            }
            (Form::Primal, Form::Primal) => {
                let primal = split_primal(self.storage.as_mut(), m);
                let phi = phi.get_mut(..m).unwrap_or(&mut []);
                let half_the_digits = T::EPSILON.sqrt();
                if root::rotate_out(primal.root, primal.rhs, phi, y, primal.phi, half_the_digits)
                    .is_ok()
                {
                    return Forgotten::Removed;
                }
            }
            (Form::Primal, Form::Dual) => {}
        }
        self.observations = 0;
        self.extend(n - 1, replay);
        Forgotten::Rebuilt
    }

    /// Writes the mean ν into the first M numbers of `out`. **Cost**: dual n² + n·M multiply-adds,
    /// primal M²/2.
    pub fn mean(&mut self, out: &mut [T]) {
        let m = self.feature_count;
        let n = self.observations;
        let form = self.form();
        let out = out.get_mut(..m).unwrap_or(&mut []);
        match form {
            Form::Dual => {
                let dual = split_dual(self.storage.as_mut(), m);
                let alpha = head_mut(dual.residual, n);
                slice::copy(dual.y, alpha);
                lower::solve(dual.factor, alpha);
                lower::solve_transposed(dual.factor, alpha);
                out.fill(T::ZERO);
                add_rows(dual.rows, alpha, out);
            }
            Form::Primal => {
                let primal = split_primal(self.storage.as_mut(), m);
                slice::copy(primal.rhs, out);
                root::solve(primal.root, out);
            }
        }
    }

    /// Writes a draw ω ~ N(ν, λΣ⁻¹) into the first M numbers of `out`.
    ///
    /// **Cost**: dual 2n·M + n² multiply-adds and M, then n normals; primal M²/2 multiply-adds and
    /// M normals.
    pub fn draw(&mut self, stream: &mut Stream, out: &mut [T]) {
        let m = self.feature_count;
        let n = self.observations;
        let form = self.form();
        let lambda = self.regularization;
        let out = out.get_mut(..m).unwrap_or(&mut []);
        let noise_std = lambda.sqrt();
        normal::fill(stream, out);
        match form {
            Form::Dual => {
                let dual = split_dual(self.storage.as_mut(), m);
                let residual = head_mut(dual.residual, n);
                normal::fill(stream, residual);
                let rows = slice::rows(dual.rows, m);
                dispatch::run_short(
                    #[inline(always)]
                    |width| {
                        dots_here(
                            width,
                            rows,
                            out,
                            residual.iter_mut().zip(dual.y.iter()),
                            |(r, y), explained| {
                                *r = *y - explained - noise_std * *r;
                            },
                        );
                    },
                );
                lower::solve(dual.factor, residual);
                lower::solve_transposed(dual.factor, residual);
                add_rows(dual.rows, residual, out);
            }
            Form::Primal => {
                let primal = split_primal(self.storage.as_mut(), m);
                for (z, c) in out.iter_mut().zip(primal.rhs.iter()) {
                    *z = *c + noise_std * *z;
                }
                root::solve(primal.root, out);
            }
        }
    }

    /// Variance λφᵀΣ⁻¹φ of φ·ω; `phi` is destroyed. **Cost**: dual n·M + n² flops, primal M² flops.
    pub fn variance(&mut self, phi: &mut [T]) -> T {
        let m = self.feature_count;
        let n = self.observations;
        let form = self.form();
        let phi = phi.get_mut(..m).unwrap_or(&mut []);
        match form {
            Form::Dual => {
                let dual = split_dual(self.storage.as_mut(), m);
                let column = head_mut(dual.residual, n);
                crate::linalg::matvec(dual.rows, phi, column);
                lower::solve(dual.factor, column);
                clamp(
                    sum_of_squares(phi) - sum_of_squares(column),
                    &mut self.variance_clamps,
                )
            }
            Form::Primal => {
                let primal = split_primal(self.storage.as_mut(), m);
                root::solve_transposed(primal.root, phi);
                self.regularization * sum_of_squares(phi)
            }
        }
    }

    /// How many pivots of the dual form were raised to (n + 8)·ε·(‖φ‖² + λ), or to λ, because
    /// rounding left no more of them: those observations count as if their noise were as large.
    pub fn pivot_floors(&self) -> u32 {
        self.pivot_floors
    }

    /// How many posterior variances came out negative by rounding and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.variance_clamps
    }
}

/// out ← out + Σ coefficientᵢ · rowᵢ, in order of i.
fn add_rows<T: Scalar>(rows: &[T], coefficients: &[T], out: &mut [T]) {
    let rows = coefficients
        .iter()
        .copied()
        .zip(slice::rows(rows, out.len()));
    dispatch::run_short(
        #[inline(always)]
        |_| add_rows_here(rows, out),
    );
}

#[cfg(test)]
mod tests;
