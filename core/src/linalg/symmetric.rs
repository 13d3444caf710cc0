//! Eigenvalues and functions of small symmetric matrices, by Jacobi's rotations.
//!
//! Slower than a tridiagonal method for large orders and far smaller; small eigenvalues come out to
//! full relative accuracy for positive definite matrices (Demmel and Veselić 1992). Needs no heap.
//!
//! ```
//! use sordino_core::linalg::symmetric::{eigen, function};
//!
//! let (mut values, mut vectors, mut root) = ([0f64; 2], [0.0; 4], [0.0; 4]);
//! eigen(&mut [5.0, 4.0, 4.0, 5.0], &mut values, &mut vectors);
//! assert!((values[0] + values[1] - 10.0).abs() < 1e-13 && (values[0] * values[1] - 9.0).abs() < 1e-12);
//! function(&values, &vectors, &mut root, f64::sqrt);
//! assert!((root[0] - 2.0).abs() < 1e-13 && (root[1] - 1.0).abs() < 1e-13); // (2 1; 1 2) squared is the matrix
//! ```

use crate::math::Scalar;

/// Sweeps after which a matrix counts as diagonal whatever is left; 6 to 10 are usual.
const SWEEPS_MAX: u32 = 40;

/// Diagonalises the symmetric row-major matrix A of order n = `values.len()`: A = Σ valuesₖ uₖuₖᵀ,
/// uₖ row k of `vectors`.
///
/// **Parameters**: `matrix` (n², destroyed), `vectors` (n²). Eigenvalues come in no particular
/// order, the same on every target. Non-finite entries give non-finite results.
///
/// **Cost**: about 9n³ flops a sweep. **Panics**: never; slices that are too short are left as they
/// are.
pub fn eigen<T: Scalar>(matrix: &mut [T], values: &mut [T], vectors: &mut [T]) {
    let n = values.len();
    if matrix.len() < n * n || vectors.len() < n * n {
        return;
    }
    vectors[..n * n].fill(T::ZERO);
    (0..n).for_each(|i| vectors[i * n + i] = T::ONE);
    for _ in 0..SWEEPS_MAX {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate(matrix, vectors, n, p, q);
            }
        }
        if !rotated {
            break;
        }
    }
    for (i, value) in values.iter_mut().enumerate() {
        *value = matrix[i * n + i];
    }
}

/// Makes entry (p, q) zero; false if it was negligible already.
fn rotate<T: Scalar>(a: &mut [T], vectors: &mut [T], n: usize, p: usize, q: usize) -> bool {
    let app = a[p * n + p];
    let aqq = a[q * n + q];
    let apq = a[p * n + q];
    // Relative to both diagonal entries: this is what keeps small eigenvalues accurate.
    if !(apq * apq > T::EPSILON * T::EPSILON * (app * aqq).abs()) || apq == T::ZERO {
        a[p * n + q] = T::ZERO;
        a[q * n + p] = T::ZERO;
        return false;
    }
    let two = T::ONE + T::ONE;
    let theta = (aqq - app) / (two * apq);
    let t = T::ONE / (theta.abs() + (theta * theta + T::ONE).sqrt());
    let t = if theta < T::ZERO { -t } else { t };
    let cos = T::ONE / (t * t + T::ONE).sqrt();
    let sin = t * cos;
    for k in 0..n {
        if k != p && k != q {
            let x = a[p * n + k];
            let y = a[q * n + k];
            let (x, y) = (cos * x - sin * y, sin * x + cos * y);
            (a[p * n + k], a[k * n + p]) = (x, x);
            (a[q * n + k], a[k * n + q]) = (y, y);
        }
    }
    a[p * n + p] = app - t * apq;
    a[q * n + q] = aqq + t * apq;
    a[p * n + q] = T::ZERO;
    a[q * n + p] = T::ZERO;
    let (head, tail) = vectors.split_at_mut(q * n);
    for (x, y) in head[p * n..(p + 1) * n].iter_mut().zip(&mut tail[..n]) {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
    true
}

/// out ← Σ f(valueₖ) uₖuₖᵀ, a symmetric function of the matrix whose eigenpairs [`eigen`] found;
/// row-major.
///
/// **Cost**: n³ flops.
pub fn function<T: Scalar>(values: &[T], vectors: &[T], out: &mut [T], mut f: impl FnMut(T) -> T) {
    let n = values.len();
    let out = &mut out[..(n * n).min(vectors.len())];
    out.fill(T::ZERO);
    for (value, u) in values.iter().zip(vectors.chunks_exact(n.max(1))) {
        let weight = f(*value);
        for (row, x) in out.chunks_exact_mut(n.max(1)).zip(u) {
            super::axpy(weight * *x, u, row);
        }
    }
}

/// Turns the symmetric positive semidefinite row-major `matrix` of order `n` into the
/// pseudo-inverse of its symmetric root; eigenvalues up to `relative` × the largest count as 0.
/// Returns the rank.
///
/// **Parameters**: `scratch` holds n² + n numbers. **Cost**: that of [`eigen`] and [`function`].
pub fn inverse_root<T: Scalar>(
    matrix: &mut [T],
    n: usize,
    relative: T,
    scratch: &mut [T],
) -> usize {
    if scratch.len() < n * n + n || matrix.len() < n * n {
        return 0;
    }
    let (vectors, values) = scratch.split_at_mut(n * n);
    let values = &mut values[..n];
    eigen(matrix, values, vectors);
    let largest = values
        .iter()
        .fold(T::ZERO, |largest, value| largest.max(*value));
    let kept = |value: T| value > relative * largest && value > T::ZERO;
    let rank = values.iter().filter(|value| kept(**value)).count();
    function(values, vectors, matrix, |value| {
        if kept(value) {
            T::ONE / value.sqrt()
        } else {
            T::ZERO
        }
    });
    rank
}

#[cfg(test)]
mod tests {
    use super::super::dot;
    use super::*;
    use crate::random::Stream;

    const N: usize = 9;

    fn matrix(rank: usize) -> [f64; N * N] {
        let mut stream = Stream::from_seed(rank as u64);
        let b: [[f64; N]; N] = core::array::from_fn(|_| {
            core::array::from_fn(|j| {
                if j < rank {
                    stream.unit::<f64>() - 0.5
                } else {
                    0.0
                }
            })
        });
        core::array::from_fn(|i| dot(&b[i / N], &b[i % N]))
    }

    #[test]
    fn eigenpairs_rebuild_the_matrix_and_are_orthonormal() {
        let mut a = matrix(N);
        let mut values = [0.0; N];
        let mut u = [0.0; N * N];
        let mut back = [0.0; N * N];
        eigen(&mut a, &mut values, &mut u);
        function(&values, &u, &mut back, |x| x);
        for (x, y) in back.iter().zip(matrix(N)) {
            assert!((x - y).abs() < 1e-14);
        }
        for i in 0..N {
            for j in 0..N {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(&u[i * N..][..N], &u[j * N..][..N]) - expected).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn the_inverse_root_is_a_pseudo_inverse() {
        for rank in [0, 1, 4, 9] {
            let mut root = matrix(rank);
            let mut scratch = [0.0; N * N + N];
            assert_eq!(inverse_root(&mut root, N, 1e-10, &mut scratch), rank);
            let a = matrix(rank);
            // A·R·R·A = A, R symmetric.
            let product = |x: &[f64], y: &[f64]| -> [f64; N * N] {
                core::array::from_fn(|i| (0..N).map(|k| x[i / N * N + k] * y[k * N + i % N]).sum())
            };
            let rebuilt = product(&product(&product(&a, &root), &root), &a);
            for (x, y) in rebuilt.iter().zip(a) {
                assert!((x - y).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn nonsense_does_not_panic() {
        let mut a = [f64::NAN; 4];
        eigen(&mut a, &mut [0.0; 2], &mut [0.0; 4]);
        eigen(&mut a, &mut [0.0; 2], &mut []);
        assert_eq!(inverse_root(&mut a, 2, 1e-10, &mut [0.0; 6]), 0);
    }
}
