//! The posterior over a grid of two lists of points, whose kernel is a product of one kernel for
//! each list.
//!
//! **Equation**: candidate (a, b) has the covariance kₜ(a, b) = k₁(aₜ, a) k₂(bₜ, b) with
//! observation t. Row t of V = L⁻¹K(observed, all), of which [`candidates`](super::candidates)
//! stores every entry, is Σ_{s≤t} (L⁻¹)ₜₛ kₛ(a, b): it is made from the t + 1 rows k₁(aₛ, ·) and
//! k₂(bₛ, ·) when it is needed and stored nowhere. Then mean += z V_t, variance −= V_t², z = (y −
//! mean(xₜ))/pivot, as there. Means and variances of the whole grid are always up to date.
//!
//! A grid of more axes is one of two lists as well: the points of the first axes and those of the
//! others. A list may be a [`Table`](crate::kernel::Table) of tasks or machines beside one of
//! settings.
//!
//! **Numerics**: rows of L⁻¹ grow as σ falls, so errors are absolute: with k the largest prior
//! variance a variance is off by at most (8 + k/σ²)·ε·k, as in [`finite`](super::finite), and noise
//! below 1024·ε·k is refused. For less noise there are the other engines. Bits differ from theirs
//! by rounding; every vector width and target has the same ones.
//!
//! **Source**: the product of sums is how Gaussian processes on grids avoid their matrices (Saatçi
//! 2011, chapter 5); here it serves the update formulas of Chevalier, Ginsbourger and Emery 2014
//! and needs no complete grid of observations.
//!
//! **Example**: that of [`GridGp`].

use super::exact::storage::check_finite;
use super::{Observed, Posterior, SurrogateError, clamp};
use crate::dispatch;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, at, head, head_mut, part, part_mut, tail};
use crate::linalg::{NotPositiveDefinite, axpy, dot, largest_magnitude, lower, packed_len};
use crate::math::Scalar;

/// Rows of covariances are padded to a multiple of this, so that tiles of the grid are full; what
/// lies beyond is 0.
const PAD: usize = 4;
/// Columns of a wide tile, where vectors are at hand: with four rows its sums fill half of the
/// registers of AVX-512.
const WIDE: usize = 16;

/// Numbers that [`GridGp`] needs for a grid of `first` times `second` points and at most `capacity`
/// observations: 2 for each point, and for each observation its two rows of covariances (padded to
/// fours), its row of L⁻¹, two of scratch.
pub const fn storage_len(first: usize, second: usize, capacity: usize) -> usize {
    2 * first * second + capacity * (padded(first) + padded(second) + 2) + packed_len(capacity)
}

const fn padded(len: usize) -> usize {
    len.next_multiple_of(PAD)
}

/// One side of a grid: a list of points and the kernel between them.
///
/// ```
/// use sordino_core::{kernel::{Matern52, Table}, surrogate::{grid::{self, Side}, GridGp}};
/// // Two machines whose results are alike, and ten settings that both may try.
/// let machines = Side { kernel: Table::new(2, [1.0, 0.8, 0.8, 1.0])?, dim: 1, points: [0.0, 1.0] };
/// let settings: Vec<f64> = (0..10).map(|i| f64::from(i) / 9.0).collect();
/// let settings = Side { kernel: Matern52::new(0.3, 1.0)?, dim: 1, points: settings };
/// let mut gp = GridGp::new(machines, settings, 0.01, 20, vec![0.0; grid::storage_len(2, 10, 20)])?;
/// gp.observe(4, 1.0)?; // on the first machine
/// assert!(gp.mean()[10 + 4] > 0.7); // is news of the second
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Side<K, P> {
    /// The factor of the kernel that sees this side. Signal variances multiply: one side has s²,
    /// the other 1.
    pub kernel: K,
    /// Coordinates of a point, at least 1.
    pub dim: usize,
    /// The points, row-major, borrowed or owned.
    pub points: P,
}

impl<K, P> Side<K, P> {
    /// Checked lengths: how many points there are.
    fn count<T: Scalar>(&self) -> Result<usize, SurrogateError>
    where
        P: AsRef<[T]>,
    {
        let dim = self.dim;
        let points = self.points.as_ref();
        if dim == 0 || points.is_empty() || !points.len().is_multiple_of(dim) {
            return Err(SurrogateError::Dimension {
                expected: dim.max(1),
                given: points.len(),
            });
        }
        check_finite(points)?;
        Ok(points.len() / dim)
    }

    /// The coordinates of point `index`; empty where there is none.
    fn point<T: Scalar>(&self, index: usize) -> &[T]
    where
        P: AsRef<[T]>,
    {
        part(self.points.as_ref(), index * self.dim, self.dim)
    }

    /// Prior variances of all points, in order.
    fn variances<T: Scalar>(&self) -> impl Iterator<Item = T>
    where
        P: AsRef<[T]>,
        K: Kernel<T>,
    {
        slice::rows(self.points.as_ref(), self.dim).map(|point| self.kernel.variance(point))
    }
}

/// The posterior over all pairs of a point of the first side and one of the second; candidate
/// i·(points of the second) + j is the pair (i, j).
///
/// ```
/// use sordino_core::{kernel::SquaredExponential, surrogate::{grid::{self, Side}, GridGp}};
/// let axis = [0.0f64, 0.25, 0.5, 0.75, 1.0];
/// let side = |signal_variance| SquaredExponential::new(0.2, signal_variance).map(|kernel| Side { kernel, dim: 1, points: axis });
/// // s² e^(−r²/2) over the 25 points of a square: a product of its two coordinates.
/// let mut gp = GridGp::new(side(2.0)?, side(1.0)?, 0.01, 10, vec![0.0; grid::storage_len(5, 5, 10)])?;
/// gp.observe(7, 1.0)?; // at (0.25, 0.5)
/// assert!((gp.mean()[7] - 2.0 / 2.01).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GridGp<T, A, P, B, Q, S> {
    first: Side<A, P>,
    second: Side<B, Q>,
    storage: S,
    noise_variance: T,
    variance_max: T,
    shape: Shape,
    len: usize,
    variance_clamps: u32,
}

/// How the storage is cut.
#[derive(Clone, Copy, Debug)]
struct Shape {
    first: usize,
    second: usize,
    capacity: usize,
}

/// The storage, cut.
struct Parts<'a, T> {
    mean: &'a mut [T],
    variance: &'a mut [T],
    /// k₁(aₛ, ·), a padded row for each observation.
    first: &'a mut [T],
    /// k₂(bₛ, ·), likewise.
    second: &'a mut [T],
    /// L⁻¹, packed lower.
    inverse: &'a mut [T],
    /// A number for each observation: covariances with one candidate.
    known: &'a mut [T],
    /// Likewise: what weights the observations' rows.
    weights: &'a mut [T],
}

impl Shape {
    fn cut<T>(self, storage: &mut [T]) -> Parts<'_, T> {
        let count = self.first * self.second;
        let (mean, rest) = slice::split(storage, count);
        let (variance, rest) = slice::split(rest, count);
        let (first, rest) = slice::split(rest, self.capacity * padded(self.first));
        let (second, rest) = slice::split(rest, self.capacity * padded(self.second));
        let (inverse, rest) = slice::split(rest, packed_len(self.capacity));
        let (known, rest) = slice::split(rest, self.capacity);
        Parts {
            mean,
            variance,
            first,
            second,
            inverse,
            known,
            weights: head_mut(rest, self.capacity),
        }
    }

    const fn count(self) -> usize {
        self.first * self.second
    }

    /// outₛ ← k(xₛ, candidate `index`) for the leading observations s.
    fn covariances<T: Scalar>(self, first: &[T], second: &[T], index: usize, out: &mut [T]) {
        let (a, b) = self.pair(index);
        let first = slice::rows(first, padded(self.first));
        let second = slice::rows(second, padded(self.second));
        for ((out, first), second) in out.iter_mut().zip(first).zip(second) {
            *out = at(first, a) * at(second, b);
        }
    }

    /// The two places of a candidate.
    fn pair(self, index: usize) -> (usize, usize) {
        let second = self.second.max(1);
        (index / second, index % second)
    }
}

impl<T, A, P, B, Q, S> GridGp<T, A, P, B, Q, S>
where
    T: Scalar,
    A: Kernel<T>,
    P: AsRef<[T]>,
    B: Kernel<T>,
    Q: AsRef<[T]>,
    S: AsRef<[T]> + AsMut<[T]>,
{
    /// The prior over the grid; room for `capacity` observations, repeats included;
    /// `noise_variance` in y².
    ///
    /// **Errors**: [`SurrogateError::NoiseVariance`]; [`SurrogateError::Unresolved`] if σ² <
    /// 1024·ε·(largest variance); [`SurrogateError::Dimension`], [`SurrogateError::NonFinite`],
    /// [`SurrogateError::Storage`].
    pub fn new(
        first: Side<A, P>,
        second: Side<B, Q>,
        noise_variance: T,
        capacity: usize,
        storage: S,
    ) -> Result<Self, SurrogateError> {
        if !(noise_variance >= T::ZERO && noise_variance.is_finite()) {
            return Err(SurrogateError::NoiseVariance {
                value: noise_variance.to_f64(),
            });
        }
        let shape = Shape {
            first: first.count()?,
            second: second.count()?,
            capacity,
        };
        let needed = storage_len(shape.first, shape.second, capacity);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        let largest = |variances: &mut dyn Iterator<Item = T>| {
            variances.fold(T::ZERO, |largest, v| largest.max(v))
        };
        let variance_max = largest(&mut first.variances()) * largest(&mut second.variances());
        if !variance_max.is_finite() {
            return Err(SurrogateError::NonFinite {
                value: variance_max.to_f64(),
            });
        }
        let smallest = T::from_f64(1024.0) * T::EPSILON * variance_max;
        if !(noise_variance >= smallest) {
            return Err(SurrogateError::Unresolved {
                noise_variance: noise_variance.to_f64(),
                smallest: smallest.to_f64(),
            });
        }
        let mut gp = GridGp {
            first,
            second,
            storage,
            noise_variance,
            variance_max,
            shape,
            len: 0,
            variance_clamps: 0,
        };
        gp.clear();
        Ok(gp)
    }

    /// Forgets all observations: the prior again.
    pub fn clear(&mut self) {
        self.len = 0;
        let Parts { mean, variance, .. } = self.shape.cut(self.storage.as_mut());
        mean.fill(T::ZERO);
        let mut rest = variance;
        for first in self.first.variances() {
            let (row, others) = slice::split(rest, self.shape.second);
            for (variance, second) in row.iter_mut().zip(self.second.variances()) {
                *variance = first * second;
            }
            rest = others;
        }
    }

    /// Adds one observation y of candidate `index`.
    ///
    /// **Errors**: [`SurrogateError::Index`], [`SurrogateError::NonFinite`],
    /// [`SurrogateError::Full`], [`SurrogateError::Singular`] if the squared pivot does not exceed
    /// (n + 8)·ε·(k(x, x) + σ²); nothing has changed then.
    ///
    /// **Cost**: 2N(n + 3) + 2n² flops for N candidates after n observations, and a covariance for
    /// each point of both sides.
    pub fn observe(&mut self, index: usize, y: T) -> Result<Observed, SurrogateError> {
        let n = self.len;
        let shape = self.shape;
        if index >= shape.count() {
            return Err(SurrogateError::Index {
                index,
                len: shape.count(),
            });
        }
        if n == shape.capacity {
            return Err(SurrogateError::Full {
                capacity: shape.capacity,
            });
        }
        let (a, b) = shape.pair(index);
        let x1 = self.first.point(a);
        let x2 = self.second.point(b);
        let Parts {
            mean,
            variance,
            first,
            second,
            inverse,
            known,
            ..
        } = shape.cut(self.storage.as_mut());
        let wide1 = padded(shape.first);
        let wide2 = padded(shape.second);
        let known = head_mut(known, n);
        shape.covariances(first, second, index, known);
        let (done, row) = slice::split(inverse, packed_len(n));
        let row = head_mut(row, n + 1);
        let explained = solve_row(done, known, row);
        let prior =
            self.first.kernel.variance(x1) * self.second.kernel.variance(x2) + self.noise_variance;
        let squared = prior - explained;
        let threshold = T::from_u32(n as u32 + 8) * T::EPSILON * prior;
        if !(squared > threshold) {
            return Err(SurrogateError::Singular(NotPositiveDefinite {
                row: n,
                pivot: squared.to_f64(),
                threshold: threshold.to_f64(),
            }));
        }
        let pivot = squared.sqrt();
        let z = (y - at(mean, index)) / pivot;
        // |mean| ≤ |old mean| + std·|z|.
        let bound = largest_magnitude(mean);
        if !(z * z).is_finite() || !(bound + z.abs() * self.variance_max.max(T::ONE)).is_finite() {
            return Err(SurrogateError::NonFinite { value: y.to_f64() });
        }
        slice::set(row, n, -T::ONE);
        let scale = -T::ONE / pivot;
        row.iter_mut().for_each(|entry| *entry *= scale);
        new_row(
            &self.first,
            x1,
            part_mut(first, n * wide1, wide1),
            shape.first,
        );
        new_row(
            &self.second,
            x2,
            part_mut(second, n * wide2, wide2),
            shape.second,
        );
        let first = &*first;
        let second = &*second;
        let clamps = &mut self.variance_clamps;
        dispatch::run(
            #[inline(always)]
            |_| {
                combine(row, first, second, shape, |start, row| {
                    let mean = part_mut(mean, start, row.len());
                    let variance = part_mut(variance, start, row.len());
                    let mut negative = false;
                    for ((v, mean), variance) in row.iter().zip(mean).zip(variance.iter_mut()) {
                        *mean += *v * z;
                        let left = *variance - *v * *v;
                        negative |= left < T::ZERO;
                        *variance = left;
                    }
                    if negative {
                        variance
                            .iter_mut()
                            .for_each(|variance| *variance = clamp(*variance, clamps));
                    }
                });
            },
        );
        self.len += 1;
        Ok(Observed::Appended)
    }

    /// Posterior means of all candidates.
    pub fn mean(&self) -> &[T] {
        head(self.storage.as_ref(), self.shape.count())
    }

    /// Posterior variances of all candidates.
    pub fn variance(&self) -> &[T] {
        part(
            self.storage.as_ref(),
            self.shape.count(),
            self.shape.count(),
        )
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
                len: self.shape.count(),
            }),
        }
    }

    /// Means and variances of all candidates, in order, with the bits of [`GridGp::posterior`].
    ///
    /// **Errors**: [`SurrogateError::Dimension`] unless both lists have a place for each; nothing
    /// is written then.
    pub fn posteriors(&self, mean: &mut [T], variance: &mut [T]) -> Result<(), SurrogateError> {
        super::copy_moments(self.mean(), self.variance().iter().copied(), mean, variance)
    }

    /// Posterior covariances of candidate `index` with all, into `out`.
    ///
    /// **Errors**: [`SurrogateError::Index`]; [`SurrogateError::Dimension`] unless `out` has a
    /// number per candidate. **Cost**: 2Nn + 2n² flops, and a covariance for each point of both
    /// sides.
    pub fn covariances(&mut self, index: usize, out: &mut [T]) -> Result<(), SurrogateError> {
        let n = self.len;
        let shape = self.shape;
        if index >= shape.count() {
            return Err(SurrogateError::Index {
                index,
                len: shape.count(),
            });
        }
        if out.len() != shape.count() {
            return Err(SurrogateError::Dimension {
                expected: shape.count(),
                given: out.len(),
            });
        }
        let (x1, x2) = self.point(index);
        // The second side's row, in the place of the first; from the last row to it, each is its
        // multiple.
        self.second.kernel.covariances(
            x2,
            self.second.points.as_ref(),
            head_mut(out, shape.second),
        );
        for a in (0..shape.first).rev() {
            let factor = self.first.kernel.covariance(x1, self.first.point(a));
            let (row, later) = slice::split(out, shape.second);
            match a.checked_sub(1) {
                Some(before) => {
                    let place = part_mut(later, before * shape.second, shape.second);
                    place
                        .iter_mut()
                        .zip(row)
                        .for_each(|(out, second)| *out = factor * *second);
                }
                None => row.iter_mut().for_each(|out| *out *= factor),
            }
        }
        let Parts {
            first,
            second,
            inverse,
            known,
            weights,
            ..
        } = shape.cut(self.storage.as_mut());
        let known = head_mut(known, n);
        let weights = head_mut(weights, n);
        shape.covariances(first, second, index, known);
        solve_row(inverse, known, weights);
        let first = &*first;
        let second = &*second;
        let weights = &*weights;
        dispatch::run(
            #[inline(always)]
            |_| {
                combine(weights, first, second, shape, |start, row| {
                    part_mut(out, start, row.len())
                        .iter_mut()
                        .zip(row)
                        .for_each(|(out, known)| *out -= *known);
                });
            },
        );
        Ok(())
    }

    /// The points of candidate `index` on the first and on the second side; empty where there is no
    /// such candidate.
    pub fn point(&self, index: usize) -> (&[T], &[T]) {
        let (a, b) = self.shape.pair(index);
        (
            self.first.point(a),
            self.second.point(if a < self.shape.first {
                b
            } else {
                self.shape.second
            }),
        )
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.shape.count()
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

/// Covariances of the point with all of its side, zeros beyond them.
fn new_row<T: Scalar, K: Kernel<T>, P: AsRef<[T]>>(
    side: &Side<K, P>,
    point: &[T],
    row: &mut [T],
    count: usize,
) {
    let (row, padding) = slice::split(row, count);
    side.kernel.covariances(point, side.points.as_ref(), row);
    padding.fill(T::ZERO);
}

/// weights ← (L⁻¹known)ᵀL⁻¹, 0 where there are more; returns |L⁻¹known|².
fn solve_row<T: Scalar>(inverse: &[T], known: &[T], weights: &mut [T]) -> T {
    weights.fill(T::ZERO);
    let mut explained = T::ZERO;
    for s in 0..known.len() {
        let done = lower::row(inverse, s);
        let u = dot(done, head(known, s + 1));
        axpy(u, done, head_mut(weights, s + 1));
        explained += u * u;
    }
    explained
}

/// Calls `visit` with parts of the row Σₛ coefficientₛ k₁(aₛ, a) k₂(bₛ, b) over the grid, each with
/// the index of its first candidate: tiles of the grid, whose sums stay in registers; every sum is
/// taken in the order of s.
#[inline(always)]
fn combine<T: Scalar>(
    coefficients: &[T],
    first: &[T],
    second: &[T],
    shape: Shape,
    mut visit: impl FnMut(usize, &[T]),
) {
    let wide1 = padded(shape.first);
    let wide2 = padded(shape.second);
    let mut a = 0;
    while a < shape.first {
        let mut b = 0;
        while cfg!(feature = "dispatch") && b + WIDE <= shape.second {
            let tile = tile::<T, WIDE>(coefficients, tail(first, a), wide1, tail(second, b), wide2);
            show(&tile, a, b, shape, &mut visit);
            b += WIDE;
        }
        while b < shape.second {
            let tile = tile::<T, PAD>(coefficients, tail(first, a), wide1, tail(second, b), wide2);
            show(&tile, a, b, shape, &mut visit);
            b += PAD;
        }
        a += PAD;
    }
}

/// The rows of a tile that are of the grid, and of each what is.
#[inline(always)]
fn show<T: Scalar, const W: usize>(
    tile: &[[T; W]; PAD],
    a: usize,
    b: usize,
    shape: Shape,
    visit: &mut impl FnMut(usize, &[T]),
) {
    for (row, a) in tile.iter().zip(a..shape.first) {
        visit(a * shape.second + b, head(row, W.min(shape.second - b)));
    }
}

/// Four rows and W columns of the sum, of which `first` and `second` begin at the first ones.
#[inline(always)]
fn tile<T: Scalar, const W: usize>(
    coefficients: &[T],
    mut first: &[T],
    wide1: usize,
    mut second: &[T],
    wide2: usize,
) -> [[T; W]; PAD] {
    let [mut s0, mut s1, mut s2, mut s3] = [[T::ZERO; W]; PAD];
    for c in coefficients {
        let (Some([a0, a1, a2, a3]), Some(row)) =
            (first.first_chunk::<PAD>(), second.first_chunk::<W>())
        else {
            break;
        };
        s0 = accumulate(s0, *c * *a0, row);
        s1 = accumulate(s1, *c * *a1, row);
        s2 = accumulate(s2, *c * *a2, row);
        s3 = accumulate(s3, *c * *a3, row);
        (first, second) = (tail(first, wide1), tail(second, wide2));
    }
    [s0, s1, s2, s3]
}

/// sum + w·row. By value: sums that are updated in place are kept in memory.
#[inline(always)]
fn accumulate<T: Scalar, const W: usize>(mut sum: [T; W], weight: T, row: &[T; W]) -> [T; W] {
    for w in 0..W {
        sum[w] += weight * row[w];
    }
    sum
}
