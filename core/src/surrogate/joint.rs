//! Joint draws of function values at a list of points.
//!
//! A posterior covariance is positive semidefinite only in exact arithmetic: at a thousand points
//! its smallest computed eigenvalue is about −1e-13. So its factor is taken on a ladder of jitter,
//! relative to the mean of the diagonal, and the jitter that was needed is reported: `f64` none,
//! 1e-12, 1e-11, … 1e-6; `f32` none, 1e-6, … 1e-3; then a typed error.
//!
//! **Example**: that of [`Jitter`].

use super::{ExactGp, FiniteGp, SurrogateError};
use crate::kernel::Kernel;
use crate::linalg::slice::{self, head_mut, set};
use crate::linalg::{NotPositiveDefinite, dot, lower, matvec, packed_len};
use crate::math::Scalar;
use crate::random::{Stream, normal};

/// What was added to every diagonal entry before a factor was found.
///
/// ```
/// use sordino_core::surrogate::joint::{Jitter, factor_with_jitter};
///
/// let mut factor = [0.0; 3];
/// // The covariance of a point with itself, twice: singular.
/// let fill = |matrix: &mut [f64]| matrix.copy_from_slice(&[1.0, 1.0, 1.0]);
/// let Jitter { relative, absolute, tries } = factor_with_jitter(&mut factor, 2, fill)?;
/// assert!(relative > 0.0 && tries > 1);
/// assert_eq!(absolute, relative); // the mean of the diagonal is 1
/// # Ok::<(), sordino_core::linalg::NotPositiveDefinite>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// The addition as a fraction of the mean diagonal; 0 if none was needed.
    pub relative: f64,
    /// The addition itself, unit of the matrix.
    pub absolute: f64,
    /// Factorisations tried.
    pub tries: u32,
}

/// Fills the packed lower triangle of order `n` and factors it, with as little jitter as does.
///
/// **Parameters**: `fill` writes the matrix; it is called before every try, so that no second copy
/// is stored.
///
/// **Errors**: [`NotPositiveDefinite`] of the last try.
///
/// **Cost**: n³/3 flops a try.
pub fn factor_with_jitter<T: Scalar>(
    matrix: &mut [T],
    n: usize,
    mut fill: impl FnMut(&mut [T]),
) -> Result<Jitter, NotPositiveDefinite> {
    let single = T::BYTES == 4;
    let (first, last) = if single { (1e-6, 2e-3) } else { (1e-12, 2e-6) };
    let mut relative = 0.0;
    let mut tries = 0;
    loop {
        fill(matrix);
        let mut sum = T::ZERO;
        for i in 0..n {
            sum += lower::row(matrix, i).last().copied().unwrap_or(T::ZERO);
        }
        let absolute = T::from_f64(relative * sum.to_f64() / n.max(1) as f64);
        for i in 0..n {
            if let Some(diagonal) = lower::row_mut(matrix, i).last_mut() {
                *diagonal += absolute;
            }
        }
        tries += 1;
        match lower::factor(matrix, n, T::ZERO) {
            Ok(()) => {
                return Ok(Jitter {
                    relative,
                    absolute: absolute.to_f64(),
                    tries,
                });
            }
            Err(error) => {
                relative = if relative == 0.0 {
                    first
                } else {
                    relative * 10.0
                };
                if relative > last {
                    return Err(error);
                }
            }
        }
    }
}

/// out ← mean + Lz for the packed factor L of order `out.len()`, z ~ N(0, I) drawn from `stream` in
/// order.
///
/// **Cost**: n² flops, n normals.
pub fn draw_with_factor<T: Scalar>(stream: &mut Stream, mean: &[T], factor: &[T], out: &mut [T]) {
    normal::fill(stream, out);
    for i in (0..out.len()).rev() {
        let value = mean.get(i).copied().unwrap_or(T::ZERO) + dot(lower::row(factor, i), out);
        set(out, i, value);
    }
}

/// Posterior means and packed posterior covariance of the latent function at a row-major list of
/// points.
///
/// **Parameters**: `scratch` holds m·n numbers for m points and n observations.
///
/// **Errors**: those of [`ExactGp::posterior`]; [`SurrogateError::Storage`].
///
/// **Cost**: mn² + m²n flops, m(m + 1)/2 + mn covariances.
pub fn posterior_covariance<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>>(
    gp: &ExactGp<T, K, S>,
    points: &[T],
    mean: &mut [T],
    covariance: &mut [T],
    scratch: &mut [T],
) -> Result<(), SurrogateError> {
    let n = gp.len();
    let m = mean.len();
    let dim = gp.dim();
    if points.len() != m * dim {
        return Err(SurrogateError::Dimension {
            expected: m * dim,
            given: points.len(),
        });
    }
    super::exact::storage::check_finite(points)?;
    for (needed, given) in [(m * n, scratch.len()), (packed_len(m), covariance.len())] {
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
    }
    for (i, x) in points.chunks_exact(dim.max(1)).enumerate() {
        let (done, rest) = slice::split(scratch, i * n);
        let v = head_mut(rest, n);
        gp.kernel().covariances(x, gp.inputs(), v);
        lower::solve(gp.factor(), v);
        set(mean, i, gp.prior_mean() + dot(v, gp.whitened()));
        let row = lower::row_mut(covariance, i);
        // k(x, x') − v·v', the products first and in rows of four.
        let (last, row) = match row.split_last_mut() {
            Some(parts) => parts,
            None => continue,
        };
        matvec(done, v, row);
        for (c, other) in row.iter_mut().zip(points.chunks_exact(dim.max(1))) {
            *c = gp.kernel().covariance(x, other) - *c;
        }
        *last = gp.kernel().variance(x) - dot(v, v);
    }
    Ok(())
}

/// A joint draw from the exact posterior at a row-major list of points into `out`.
///
/// **Parameters**: `factor` holds m(m + 1)/2 numbers, `scratch` m·n + m.
///
/// **Errors**: those of [`posterior_covariance`]; [`SurrogateError::Singular`] if the ladder ends.
///
/// **Cost**: [`posterior_covariance`] and m³/3 flops, again for every rung of the ladder.
pub fn draw_exact<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>>(
    gp: &ExactGp<T, K, S>,
    points: &[T],
    stream: &mut Stream,
    factor: &mut [T],
    scratch: &mut [T],
    out: &mut [T],
) -> Result<Jitter, SurrogateError> {
    let m = out.len();
    let needed = m * gp.len() + m;
    let given = scratch.len();
    if given < needed {
        return Err(SurrogateError::Storage { needed, given });
    }
    let (mean, rest) = slice::split(scratch, m);
    let mut failed = None;
    let jitter = factor_with_jitter(factor, m, |covariance| {
        failed = failed.or(posterior_covariance(gp, points, mean, covariance, rest).err());
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let jitter = jitter.map_err(SurrogateError::Singular)?;
    draw_with_factor(stream, mean, factor, out);
    Ok(jitter)
}

/// A joint draw from a finite posterior into `out`; `factor` holds N(N + 1)/2 numbers.
///
/// **Errors**: [`SurrogateError::Storage`]; [`SurrogateError::Dimension`] unless `out` has a number
/// per point; [`SurrogateError::Singular`] if the ladder ends.
pub fn draw_finite<T: Scalar, S: AsRef<[T]> + AsMut<[T]>>(
    gp: &FiniteGp<T, S>,
    stream: &mut Stream,
    factor: &mut [T],
    out: &mut [T],
) -> Result<Jitter, SurrogateError> {
    let n = gp.count();
    if out.len() != n {
        return Err(SurrogateError::Dimension {
            expected: n,
            given: out.len(),
        });
    }
    let needed = packed_len(n);
    let given = factor.len();
    if given < needed {
        return Err(SurrogateError::Storage { needed, given });
    }
    let factor = head_mut(factor, needed);
    let jitter = factor_with_jitter(factor, n, |matrix| slice::copy(gp.covariance(), matrix));
    let jitter = jitter.map_err(SurrogateError::Singular)?;
    draw_with_factor(stream, gp.mean(), factor, out);
    Ok(jitter)
}
