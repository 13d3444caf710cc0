//! The posterior over a known list of candidates, of which few are ever observed.
//!
//! **Equation**: row t of V = L⁻¹K(observed, all) is (k(xₜ, ·) − Σ_{s<t} V_s(xₜ) V_s)/pivot,
//! pivot² = variance(xₜ) + σ²; then mean += z V_t, variance −= V_t², z = (y − mean(xₜ))/pivot.
//! Means and variances of all candidates are always up to date: nothing is solved for when they are
//! read. Where the candidates are a grid and the kernel is a product of its sides,
//! [`grid`](super::grid) needs a fraction of the memory.
//!
//! **Source**: the update formulas of Chevalier, Ginsbourger and Emery 2014, for one point at a
//! time.
//!
//! **Example**: that of [`CandidateGp`].

use core::cmp::Ordering;

use super::exact::storage::check_finite;
use super::{Observed, Posterior, SurrogateError, clamp};
use crate::dispatch;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, at, head, head_mut, part, part_mut, quarters, tail};
use crate::linalg::{NotPositiveDefinite, largest_magnitude};
use crate::math::Scalar;

/// Candidates that are brought up to date together, so that their sums stay in the first cache.
/// Their parts of all rows of V lie one after the other, so that memory is read in order: block b
/// holds candidates b·BLOCK and on, its rows begin at b·BLOCK·capacity.
const BLOCK: usize = 256;

/// Numbers that [`CandidateGp`] needs for `candidates` points and at most `capacity` observations:
/// candidates·(capacity + 2).
pub const fn storage_len(candidates: usize, capacity: usize) -> usize {
    candidates * (capacity + 2)
}

/// The posterior over `points`, row-major, borrowed or owned; observations are of candidates, named
/// by index.
///
/// ```
/// use sordino_core::{kernel::SquaredExponential, surrogate::{candidates, CandidateGp}};
/// let points = [0.0f64, 0.25, 0.5, 0.75, 1.0];
/// let storage = vec![0.0; candidates::storage_len(5, 10)];
/// let mut gp = CandidateGp::new(SquaredExponential::new(0.2, 1.0)?, 0.01, 1, points, 10, storage)?;
/// gp.observe(2, 1.0)?;
/// assert!((gp.mean()[2] - 1.0 / 1.01).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CandidateGp<T, K, P, S> {
    kernel: K,
    points: P,
    storage: S,
    noise_variance: T,
    dim: usize,
    candidates: usize,
    capacity: usize,
    len: usize,
    variance_clamps: u32,
}

impl<T: Scalar, K: Kernel<T>, P: AsRef<[T]>, S: AsRef<[T]> + AsMut<[T]>> CandidateGp<T, K, P, S> {
    /// The prior over the candidates; room for `capacity` observations, repeats included.
    ///
    /// **Errors**: [`SurrogateError::NoiseVariance`], [`SurrogateError::Dimension`],
    /// [`SurrogateError::NonFinite`], [`SurrogateError::Storage`].
    pub fn new(
        kernel: K,
        noise_variance: T,
        dim: usize,
        points: P,
        capacity: usize,
        storage: S,
    ) -> Result<Self, SurrogateError> {
        if !(noise_variance >= T::ZERO && noise_variance.is_finite()) {
            return Err(SurrogateError::NoiseVariance {
                value: noise_variance.to_f64(),
            });
        }
        let given = points.as_ref().len();
        if dim == 0 || given == 0 || !given.is_multiple_of(dim) {
            return Err(SurrogateError::Dimension {
                expected: dim.max(1),
                given,
            });
        }
        check_finite(points.as_ref())?;
        let candidates = given / dim;
        let needed = storage_len(candidates, capacity);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        let mut gp = CandidateGp {
            kernel,
            points,
            storage,
            noise_variance,
            dim,
            candidates,
            capacity,
            len: 0,
            variance_clamps: 0,
        };
        gp.clear();
        Ok(gp)
    }

    /// Forgets all observations: the prior again.
    pub fn clear(&mut self) {
        self.len = 0;
        let (mean, rest) = slice::split(self.storage.as_mut(), self.candidates);
        mean.fill(T::ZERO);
        for (point, variance) in self.points.as_ref().chunks_exact(self.dim.max(1)).zip(rest) {
            *variance = self.kernel.variance(point);
        }
    }

    /// Adds one observation y of candidate `index`.
    ///
    /// **Numerics**: the squared pivot, the candidate's variance plus σ², must exceed (n +
    /// 8)·ε·(k(x, x) + σ²): below that the candidate is known and nothing can be learnt from it. A
    /// repeat with noise is a row like any other.
    ///
    /// **Errors**: [`SurrogateError::Index`], [`SurrogateError::NonFinite`],
    /// [`SurrogateError::Full`], [`SurrogateError::Singular`]; nothing has changed then.
    ///
    /// **Cost**: 2N(n + 2) flops and N covariances for N candidates after n observations.
    pub fn observe(&mut self, index: usize, y: T) -> Result<Observed, SurrogateError> {
        let n = self.len;
        let count = self.candidates;
        let dim = self.dim;
        if index >= count {
            return Err(SurrogateError::Index { index, len: count });
        }
        if n == self.capacity {
            return Err(SurrogateError::Full {
                capacity: self.capacity,
            });
        }
        let points = self.points.as_ref();
        let (all_means, rest) = slice::split(self.storage.as_mut(), count);
        let (all_variances, rows) = slice::split(rest, count);
        let x = part(points, index * dim, dim);
        let squared = at(all_variances, index) + self.noise_variance;
        let threshold = T::from_u32(n as u32 + 8)
            * T::EPSILON
            * (self.kernel.variance(x) + self.noise_variance);
        if !(squared > threshold) {
            return Err(SurrogateError::Singular(NotPositiveDefinite {
                row: n,
                pivot: squared.to_f64(),
                threshold: threshold.to_f64(),
            }));
        }
        let pivot = squared.sqrt();
        let z = (y - at(all_means, index)) / pivot;
        // |mean| ≤ |old mean| + std·|z|.
        let bound = largest_magnitude(all_means);
        if !(z * z).is_finite()
            || !(bound + z.abs() * self.kernel.variance(x).max(T::ONE)).is_finite()
        {
            return Err(SurrogateError::NonFinite { value: y.to_f64() });
        }
        let inverse = T::ONE / pivot;
        let (home, home_len) = block_of(index, count);
        let blocks = count.div_ceil(BLOCK);
        for turn in 0..blocks {
            // To and fro: what was used last is still in the cache.
            let number = if n.is_multiple_of(2) {
                turn
            } else {
                blocks - 1 - turn
            };
            let start = BLOCK * number;
            let end = (start + BLOCK).min(count);
            let len = end - start;
            let (before, rest) = slice::split(rows, start * self.capacity);
            let (block, after) = slice::split(rest, len * self.capacity);
            let (done, row) = slice::split(block, n * len);
            let done = &*done;
            let row = head_mut(row, len);
            let known = Known {
                rows: match home.cmp(&start) {
                    Ordering::Less => part(before, home * self.capacity, n * home_len),
                    Ordering::Equal => done,
                    Ordering::Greater => part(after, (home - end) * self.capacity, n * home_len),
                },
                len: home_len,
                at: index - home,
            };
            self.kernel
                .covariances(x, part(points, start * dim, len * dim), row);
            let means = part_mut(all_means, start, len);
            let variances = part_mut(all_variances, start, len);
            dispatch::run(
                #[inline(always)]
                |_| {
                    subtract_rows(done, known, row);
                    let columns = row.iter_mut().zip(means).zip(variances.iter_mut());
                    for ((v, mean), variance) in columns {
                        *v *= inverse;
                        *mean += *v * z;
                        *variance -= *v * *v;
                    }
                },
            );
            for variance in variances {
                *variance = clamp(*variance, &mut self.variance_clamps);
            }
        }
        self.len += 1;
        Ok(Observed::Appended)
    }

    /// Posterior means of all candidates.
    pub fn mean(&self) -> &[T] {
        head(self.storage.as_ref(), self.candidates)
    }

    /// Posterior variances of all candidates.
    pub fn variance(&self) -> &[T] {
        part(self.storage.as_ref(), self.candidates, self.candidates)
    }

    /// Mean and variance of candidate `index`.
    ///
    /// **Errors**: [`SurrogateError::Index`].
    pub fn posterior(&self, index: usize) -> Result<Posterior<T>, SurrogateError> {
        match (self.mean().get(index), self.variance().get(index)) {
            (Some(mean), Some(variance)) => Ok(Posterior {
                mean: *mean,
                variance: *variance,
            }),
            _ => Err(SurrogateError::Index {
                index,
                len: self.candidates,
            }),
        }
    }

    /// Means and variances of all candidates, in order, with the bits of
    /// [`CandidateGp::posterior`].
    ///
    /// **Errors**: [`SurrogateError::Dimension`] unless both lists have a place for each; nothing
    /// is written then.
    pub fn posteriors(&self, mean: &mut [T], variance: &mut [T]) -> Result<(), SurrogateError> {
        super::copy_moments(self.mean(), self.variance().iter().copied(), mean, variance)
    }

    /// Posterior covariances of candidate `index` with all, into `out`.
    ///
    /// **Errors**: [`SurrogateError::Index`]; [`SurrogateError::Dimension`] unless `out` has a
    /// number per candidate. **Cost**: 2Nn flops, N covariances.
    pub fn covariances(&self, index: usize, out: &mut [T]) -> Result<(), SurrogateError> {
        let count = self.candidates;
        let dim = self.dim;
        if index >= count {
            return Err(SurrogateError::Index { index, len: count });
        }
        if out.len() != count {
            return Err(SurrogateError::Dimension {
                expected: count,
                given: out.len(),
            });
        }
        let points = self.points.as_ref();
        self.kernel
            .covariances(part(points, index * dim, dim), points, out);
        let rows = tail(self.storage.as_ref(), 2 * count);
        let n = self.len;
        let (home, home_len) = block_of(index, count);
        let known = Known {
            rows: part(rows, home * self.capacity, n * home_len),
            len: home_len,
            at: index - home,
        };
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let done = part(rows, block * BLOCK * self.capacity, n * out.len());
            dispatch::run(
                #[inline(always)]
                |_| subtract_rows(done, known, out),
            );
        }
        Ok(())
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Observations so far, repeats included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no observation yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Noise variance σ², unit y².
    pub fn noise_variance(&self) -> T {
        self.noise_variance
    }

    /// How many posterior variances came out negative by rounding and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.variance_clamps
    }
}

/// The block that a candidate lies in: its first candidate, and how many it has.
const fn block_of(index: usize, count: usize) -> (usize, usize) {
    let home = index - index % BLOCK;
    (
        home,
        if count - home < BLOCK {
            count - home
        } else {
            BLOCK
        },
    )
}

/// V_s(index) for all earlier rows s: the rows of the candidate's block, their length, and its
/// place in them.
#[derive(Clone, Copy)]
struct Known<'a, T> {
    rows: &'a [T],
    len: usize,
    at: usize,
}

/// out ← out − Σ_s V_s(index) · V_s, in order of s, V_s the rows of the block of `out`; four rows
/// at a time, so that the block is read and written a quarter as often.
#[inline(always)]
fn subtract_rows<T: Scalar>(rows: &[T], known: Known<'_, T>, out: &mut [T]) {
    let width = out.len();
    let factor = |s: usize| at(known.rows, s * known.len + known.at);
    let mut rest = rows;
    let mut s = 0;
    while let Some((four, others)) = rest
        .split_at_checked(4 * width)
        .filter(|(four, _)| !four.is_empty())
    {
        let Some([r0, r1, r2, r3]) = quarters(four, width) else {
            return;
        };
        let c0 = factor(s);
        let c1 = factor(s + 1);
        let c2 = factor(s + 2);
        let c3 = factor(s + 3);
        let mut out = &mut *out;
        let mut rows = [r0, r1, r2, r3];
        if !cfg!(feature = "dispatch") {
            // By fours with a name, which costs a device one instruction less for each.
            let (chunks, others) = out.as_chunks_mut::<4>();
            let [(a, r0), (b, r1), (c, r2), (d, r3)] = rows.map(|row| row.as_chunks::<4>());
            for ((((out, v0), v1), v2), v3) in chunks.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                for i in 0..4 {
                    out[i] = (((out[i] - c0 * v0[i]) - c1 * v1[i]) - c2 * v2[i]) - c3 * v3[i];
                }
            }
            (out, rows) = (others, [r0, r1, r2, r3]);
        }
        let [r0, r1, r2, r3] = rows;
        for ((((out, v0), v1), v2), v3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
            *out = (((*out - c0 * *v0) - c1 * *v1) - c2 * *v2) - c3 * *v3;
        }
        (rest, s) = (others, s + 4);
    }
    while let Some((row, others)) = rest
        .split_at_checked(width)
        .filter(|(row, _)| !row.is_empty())
    {
        crate::linalg::axpy(-factor(s), row, out);
        (rest, s) = (others, s + 1);
    }
}
