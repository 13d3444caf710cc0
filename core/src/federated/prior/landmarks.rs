//! The landmarks and the lengthscale of a prior file: a public rule of public candidates, which no
//! private value enters.
//!
//! **Equation**: k(x, x') = exp(−|x − x'|²/2ℓ²). ℓ is the shortest of [`LENGTHSCALES`] for which
//! min(M, ⌈C/2⌉) columns of the pivoted Cholesky factor of k over the C candidates keep 95 % of the
//! mean variance. The pivots of M columns are the landmarks P, and its rows are φ(x) = L⁻¹k(P, x),
//! L = chol k(P, P).
//!
//! **Theorem.** Row x of M pivoted columns is L⁻¹k(P, x). **Proof.** With the pivots first the M
//! columns are those of a Cholesky factor: their rows at the pivots are L, lower triangular with
//! LLᵀ = k(P, P), and column by column the row f of x solves Lf = k(P, x). ∎ So φ is known anywhere
//! from ℓ and P alone ([`landmark_rows`]), and L is well conditioned.
//!
//! **Few candidates**: where M of them are all, any ℓ keeps everything, the shortest one as well,
//! for which neighbours share nothing. Hence the half. Where that is less than M, ℓ is at most ½,
//! for choices without an order are as far apart as the box is wide: no ℓ says one half of them by
//! the other. It is longer only where M columns of ½ keep less than 95 %.
//!
//! **Why a rule**: a kernel chosen from private values would cost a release. Over 150 files the
//! rule tied with one.

use super::error::{PriorError, at_least, exactly};
use crate::kernel::{Kernel, SquaredExponential};
use crate::linalg::{lower, packed_len, pivoted_cholesky, pivoted_cholesky_with, slice};
use crate::math::Scalar;

/// The lengthscales a file may have, on the unit box, shortest first.
pub const LENGTHSCALES: [f64; 12] = [
    0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22, 0.33, 0.5, 0.75, 1.1, 1.6,
];

/// The share of the mean variance that the features must keep.
const KEPT: f64 = 0.95;

/// The longest lengthscale that is chosen by half of the candidates. Choices without an order
/// are as far apart as the box is wide, so that no lengthscale keeps much of them in half.
const FEW_MAX: f64 = 0.5;

/// A candidate whose variance the landmarks leave below this is no landmark.
const RESIDUAL_MIN: f64 = 1e-6;

/// Numbers of scratch [`choose_landmarks`] needs for so many candidates.
pub const fn landmarks_scratch_len(candidates: usize) -> usize {
    candidates
}

/// What [`choose_landmarks`] chose.
///
/// **Example**: that of [`choose_landmarks`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Landmarks<T> {
    /// ℓ, on the unit box, one of [`LENGTHSCALES`].
    pub lengthscale: T,
    /// Number of landmarks, at most what was asked for.
    pub count: usize,
    /// The share of the mean variance that their features keep, in (0, 1]. Below .95 only if no
    /// lengthscale does better: the file is then blind for what is shorter than its longest one.
    pub kept: T,
}

/// Chooses ℓ and landmarks among candidates on the unit box, and computes the rows φ.
///
/// **Parameters**: `points`, C × `dim` coordinates, row-major; `pivots`, M numbers, the most
/// landmarks; `rows`, C × M numbers; `scratch` of [`landmarks_scratch_len`]. Afterwards the first
/// `count` pivots are indices of candidates, and the first C × `count` numbers of `rows` are Φ, a
/// row a candidate.
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`] for a coordinate outside [0, 1].
///
/// **Numerics**: the same bits at every vector width; ties go to the lowest index. Landmarks of
/// `f32` and `f64` may differ: a publisher computes in `f64` with coordinates that `f32` holds.
///
/// **Cost**: C·M² multiply-adds for each lengthscale that is too short, and for the one that is
/// chosen.
///
/// ```
/// use sordino_core::federated::prior::{Landmarks, choose_landmarks, landmarks_scratch_len};
///
/// let points: Vec<f64> = (0..101).map(|i| f64::from(i) / 100.0).collect();
/// let (mut pivots, mut rows) = ([0; 8], [0.0; 101 * 8]);
/// let mut scratch = [0.0; landmarks_scratch_len(101)];
/// let chosen: Landmarks<f64> = choose_landmarks(&points, 1, &mut pivots, &mut rows, &mut scratch)?;
/// assert_eq!((chosen.lengthscale, chosen.count, pivots[0]), (0.15, 8, 0));
/// assert!(chosen.kept >= 0.95); // and at .1 eight landmarks would keep less
/// assert_eq!(rows[0], 1.0); // the first landmark has its whole variance in its first feature
/// # Ok::<(), sordino_core::federated::prior::PriorError>(())
/// ```
pub fn choose_landmarks<T: Scalar>(
    points: &[T],
    dim: usize,
    pivots: &mut [u32],
    rows: &mut [T],
    scratch: &mut [T],
) -> Result<Landmarks<T>, PriorError> {
    let candidates = check(points, dim, pivots.len(), rows.len(), scratch.len())?;
    let m = pivots.len();
    let residuals = slice::head_mut(scratch, candidates);
    let columns = m.min(candidates.div_ceil(2));
    let mut chosen = Landmarks {
        lengthscale: T::ZERO,
        count: 0,
        kept: T::ZERO,
    };
    let longest = if columns < m { FEW_MAX } else { f64::INFINITY };
    let mut tried = 0;
    while let Some(ell) = LENGTHSCALES.get(tried).filter(|ell| **ell <= longest) {
        tried += 1;
        let lengthscale = T::from_f64(*ell);
        let pivots = slice::head_mut(pivots, columns);
        let rows = slice::head_mut(rows, candidates * columns);
        chosen = greedy(lengthscale, (points, dim), pivots, rows, residuals)?;
        if chosen.kept >= T::from_f64(KEPT) {
            break;
        }
    }
    if columns < m {
        // With all M; where these are not all candidates, a file must not be blind either.
        for ell in LENGTHSCALES.iter().skip(tried.saturating_sub(1)) {
            chosen = greedy(T::from_f64(*ell), (points, dim), pivots, rows, residuals)?;
            if chosen.kept >= T::from_f64(KEPT) {
                break;
            }
        }
    }
    pack(rows, candidates, m, chosen.count);
    Ok(chosen)
}

/// The same for a lengthscale that is given: which of some points carry features that say what all
/// of them would.
///
/// **Parameters**: ℓ, unit of the box, > 0; the rest as of [`choose_landmarks`].
///
/// **Errors**: as [`choose_landmarks`]; [`PriorError::Number`] for a lengthscale that is none.
///
/// **Cost**: C·M² multiply-adds.
///
/// ```
/// use sordino_core::federated::prior::{landmarks_at, landmarks_scratch_len};
///
/// // Of five points, of which two nearly coincide, four are landmarks.
/// let points = [0.0, 0.25, 0.5, 0.75, 0.750_001];
/// let (mut pivots, mut rows) = ([0; 5], [0.0; 25]);
/// let mut scratch = [0.0; landmarks_scratch_len(5)];
/// let kept = landmarks_at(0.2, &points, 1, &mut pivots, &mut rows, &mut scratch)?;
/// assert_eq!((kept.count, kept.lengthscale), (4, 0.2));
/// # Ok::<(), sordino_core::federated::prior::PriorError>(())
/// ```
pub fn landmarks_at<T: Scalar>(
    lengthscale: T,
    points: &[T],
    dim: usize,
    pivots: &mut [u32],
    rows: &mut [T],
    scratch: &mut [T],
) -> Result<Landmarks<T>, PriorError> {
    let candidates = check(points, dim, pivots.len(), rows.len(), scratch.len())?;
    let kept = greedy(
        lengthscale,
        (points, dim),
        pivots,
        rows,
        slice::head_mut(scratch, candidates),
    )?;
    pack(rows, candidates, pivots.len(), kept.count);
    Ok(kept)
}

/// Checks lengths, and says how many candidates there are.
fn check<T: Scalar>(
    points: &[T],
    dim: usize,
    m: usize,
    rows: usize,
    scratch: usize,
) -> Result<usize, PriorError> {
    let candidates = on_the_unit_box(points, dim)?;
    exactly("feature rows", rows, candidates * m)?;
    at_least("scratch", scratch, landmarks_scratch_len(candidates))?;
    if m == 0 {
        return Err(PriorError::Length {
            what: "landmarks",
            len: 0,
            expected: 1,
        });
    }
    Ok(candidates)
}

/// Pivots and rows of one lengthscale; the rows are M numbers wide.
fn greedy<T: Scalar>(
    lengthscale: T,
    (points, dim): (&[T], usize),
    pivots: &mut [u32],
    rows: &mut [T],
    residuals: &mut [T],
) -> Result<Landmarks<T>, PriorError> {
    let m = pivots.len();
    let candidates = residuals.len();
    let kernel = kernel(lengthscale)?;
    let covariance =
        |i: usize, j: usize| kernel.covariance(point(points, dim, i), point(points, dim, j));
    let least = T::from_f64(RESIDUAL_MIN);
    let reached = pivoted_cholesky_with(
        candidates,
        m,
        rows,
        residuals,
        least,
        covariance,
        |step, i| {
            slice::set(pivots, step, i as u32);
        },
    );
    let mut left = T::ZERO;
    residuals
        .iter()
        .for_each(|residual| left += residual.max(T::ZERO));
    let kept = T::ONE - left / T::from_u32(candidates as u32);
    Ok(Landmarks {
        lengthscale,
        count: reached.rank,
        kept,
    })
}

/// Rows of `m` numbers, of which the first `count` are kept.
fn pack<T: Scalar>(rows: &mut [T], candidates: usize, m: usize, count: usize) {
    for candidate in 1..candidates {
        slice::move_back(rows, candidate * m, candidate * count, count);
    }
}

/// Numbers of scratch [`landmark_rows`] needs for M landmarks.
pub const fn landmark_rows_scratch_len(landmarks: usize) -> usize {
    packed_len(landmarks)
}

/// φ(x) = L⁻¹k(P, x) of any points on the unit box, n × M numbers: for those who have a file and
/// not its candidates, and for contributors whose points are none of these.
///
/// **Parameters**: `landmarks`, M × `dim` coordinates in the order of the pivots; `points`, n ×
/// `dim`; `scratch` of [`landmark_rows_scratch_len`].
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`] for a coordinate outside [0, 1] or a
/// lengthscale that is none; [`PriorError::Singular`] for landmarks that coincide.
///
/// **Cost**: M³/3 flops once, M² flops and M covariances a point.
pub fn landmark_rows<T: Scalar>(
    lengthscale: T,
    landmarks: &[T],
    dim: usize,
    points: &[T],
    out: &mut [T],
    scratch: &mut [T],
) -> Result<(), PriorError> {
    let m = on_the_unit_box(landmarks, dim)?;
    let n = on_the_unit_box(points, dim)?;
    exactly("feature rows", out.len(), n * m)?;
    at_least("scratch", scratch.len(), landmark_rows_scratch_len(m))?;
    let kernel = kernel(lengthscale)?;
    let factor = slice::head_mut(scratch, packed_len(m));
    for i in 0..m {
        let seen = slice::head(landmarks, (i + 1) * dim);
        kernel.covariances(point(landmarks, dim, i), seen, lower::row_mut(factor, i));
        lower::append_row(factor, i, T::ZERO)?;
    }
    for i in 0..n {
        let phi = slice::part_mut(out, i * m, m);
        kernel.covariances(point(points, dim, i), landmarks, phi);
        lower::solve(factor, phi);
    }
    Ok(())
}

/// F with FFᵀ = k over n points on the unit box, n × n numbers, for
/// [`Tables::prior_rows`](super::Tables::prior_rows): what features alone cannot express. Points
/// may coincide. Returns the rank; columns beyond it are 0.
///
/// **Parameters**: `scratch` of n numbers.
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`] for a coordinate outside [0, 1] or a
/// lengthscale that is none.
///
/// **Cost**: n·rank² flops, n·rank covariances.
pub fn kernel_rows<T: Scalar>(
    lengthscale: T,
    points: &[T],
    dim: usize,
    out: &mut [T],
    scratch: &mut [T],
) -> Result<usize, PriorError> {
    let n = on_the_unit_box(points, dim)?;
    exactly("prior rows", out.len(), n * n)?;
    at_least("scratch", scratch.len(), n)?;
    let kernel = kernel(lengthscale)?;
    let tolerance = T::from_f64(64.0) * T::EPSILON;
    let covariance =
        |i: usize, j: usize| kernel.covariance(point(points, dim, i), point(points, dim, j));
    Ok(pivoted_cholesky(n, n, out, scratch, tolerance, covariance).rank)
}

/// The kernel of a file.
fn kernel<T: Scalar>(lengthscale: T) -> Result<SquaredExponential<T>, PriorError> {
    let refused = |_| PriorError::Number {
        what: "lengthscale",
        value: lengthscale.to_f64(),
        admissible: "(0, inf)",
    };
    SquaredExponential::new(lengthscale, T::ONE).map_err(refused)
}

fn point<T>(points: &[T], dim: usize, index: usize) -> &[T] {
    slice::part(points, index * dim, dim)
}

/// How many points these are: at least one, of finite coordinates in [0, 1].
fn on_the_unit_box<T: Scalar>(points: &[T], dim: usize) -> Result<usize, PriorError> {
    let count = points.len().checked_div(dim).unwrap_or(0);
    if count == 0 || count * dim != points.len() {
        return Err(PriorError::Length {
            what: "coordinates",
            len: points.len(),
            expected: count.max(1) * dim.max(1),
        });
    }
    match points.iter().find(|x| !(**x >= T::ZERO && **x <= T::ONE)) {
        Some(x) => Err(PriorError::Number {
            what: "coordinate",
            value: x.to_f64(),
            admissible: "[0, 1]",
        }),
        None => Ok(count),
    }
}
