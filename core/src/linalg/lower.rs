//! The growing Cholesky factor: A = LLᵀ with L lower triangular, packed by rows.
//!
//! No library has it: dense factors are square and cannot grow by a row in place. All functions take the packed
//! slice and the order `n` in use; the slice may be longer.

use super::{NotPositiveDefinite, dot, packed_len};
use crate::math::Scalar;

/// Row `i` of a packed lower triangle, i+1 numbers, the diagonal last. Empty if the slice does not hold it.
#[inline]
pub fn row<T>(factor: &[T], i: usize) -> &[T] {
    let start = packed_len(i);
    factor.get(start..start + i + 1).unwrap_or(&[])
}

/// Mutable [`row`].
#[inline]
pub fn row_mut<T>(factor: &mut [T], i: usize) -> &mut [T] {
    let start = packed_len(i);
    factor.get_mut(start..start + i + 1).unwrap_or(&mut [])
}

/// Turns row `n`, which holds (a₀ … aₙ₋₁, aₙₙ) of the grown matrix, into row `n` of its factor.
///
/// **Equation**: l = L⁻¹a, pivot² = aₙₙ − l·l.
///
/// **Errors**: [`NotPositiveDefinite`] if not pivot² > `threshold` (NaN included); the row then holds (l, aₙₙ) and
/// rows before it are untouched, so that the caller may repair and try [`finish_row`] again.
///
/// **Cost**: n² + O(n) flops.
pub fn append_row<T: Scalar>(factor: &mut [T], n: usize, threshold: T) -> Result<T, NotPositiveDefinite> {
    let start = packed_len(n).min(factor.len());
    let (done, rest) = factor.split_at_mut(start);
    let len = rest.len().min(n + 1);
    let row = &mut rest[..len];
    if let Some((_, l)) = row.split_last_mut() {
        solve(done, l);
    }
    finish_row(row, threshold)
}

/// The last step of [`append_row`]: `row` holds (l, aₙₙ); replaces aₙₙ by the pivot and returns it.
///
/// **Errors**: as [`append_row`]; nothing is changed then.
pub fn finish_row<T: Scalar>(row: &mut [T], threshold: T) -> Result<T, NotPositiveDefinite> {
    let n = row.len().saturating_sub(1);
    let (squared, pivot) = match row.split_last() {
        Some((diagonal, l)) => {
            let squared = *diagonal - dot(l, l);
            (squared, squared.sqrt())
        }
        None => (T::ZERO, T::ZERO),
    };
    if !(squared > threshold) {
        return Err(NotPositiveDefinite { row: n, pivot: squared.to_f64(), threshold: threshold.to_f64() });
    }
    if let Some(last) = row.last_mut() {
        *last = pivot;
    }
    Ok(pivot)
}

/// b ← L⁻¹b for the leading `b.len()` rows. **Cost**: n² flops.
#[inline]
pub fn solve<T: Scalar>(factor: &[T], b: &mut [T]) {
    let mut rest = factor;
    for i in 0..b.len() {
        let Some((row, tail)) = rest.split_at_checked(i + 1) else {
            return;
        };
        rest = tail;
        let (done, current) = b.split_at_mut(i);
        if let (Some((pivot, l)), Some(x)) = (row.split_last(), current.first_mut()) {
            *x = (*x - dot(l, done)) / *pivot;
        }
    }
}

/// b ← L⁻ᵀb for the leading `b.len()` rows. **Cost**: n² flops.
pub fn solve_transposed<T: Scalar>(factor: &[T], b: &mut [T]) {
    let mut rest = match factor.get(..packed_len(b.len())) {
        Some(all) => all,
        None => return,
    };
    for i in (0..b.len()).rev() {
        let Some((head, row)) = rest.split_at_checked(packed_len(i)) else {
            return;
        };
        rest = head;
        let (done, current) = b.split_at_mut(i);
        if let (Some((pivot, l)), Some(x)) = (row.split_last(), current.first_mut()) {
            *x /= *pivot;
            super::axpy(-*x, l, done);
        }
    }
}

/// Factors the packed lower triangle of a symmetric matrix of order `n` in place.
///
/// **Errors**: [`NotPositiveDefinite`] at the first row whose squared pivot does not exceed `threshold`.
/// **Cost**: n³/3 flops.
pub fn factor<T: Scalar>(matrix: &mut [T], n: usize, threshold: T) -> Result<(), NotPositiveDefinite> {
    for i in 0..n {
        append_row(matrix, i, threshold)?;
    }
    Ok(())
}

/// 2 Σ ln Lᵢᵢ = ln det A over the leading `n` rows.
pub fn ln_det<T: Scalar>(factor: &[T], n: usize) -> T {
    let mut sum = T::ZERO;
    for i in 0..n {
        if let Some(pivot) = row(factor, i).last() {
            sum += pivot.ln();
        }
    }
    sum + sum
}

#[cfg(test)]
mod tests {
    use super::*;

    // A = LLᵀ with L = [[2],[1,3],[0.5,−1,1.5]]
    const A: [f64; 6] = [4.0, 2.0, 10.0, 1.0, -2.5, 3.5];
    const L: [f64; 6] = [2.0, 1.0, 3.0, 0.5, -1.0, 1.5];

    #[test]
    fn factors_and_solves() {
        let mut a = A;
        factor(&mut a, 3, 0.0).unwrap();
        assert_eq!(a, L);
        let mut b = [2.0, -3.0, 4.0];
        solve(&a, &mut b);
        solve_transposed(&a, &mut b);
        let full = [[4.0, 2.0, 1.0], [2.0, 10.0, -2.5], [1.0, -2.5, 3.5]];
        for (row, expected) in full.iter().zip([2.0, -3.0, 4.0]) {
            assert!((dot(row, &b) - expected).abs() < 1e-12);
        }
        assert!((ln_det(&a, 3) - libm::log(81.0)).abs() < 1e-12);
    }

    #[test]
    fn refuses_an_indefinite_row_and_leaves_the_rest() {
        let mut a = [1.0, 2.0, 1.0];
        let error = factor(&mut a, 2, 0.0).unwrap_err();
        assert_eq!((error.row, error.pivot), (1, -3.0));
        assert_eq!(a[0], 1.0);
        let mut nan = [f64::NAN];
        assert!(factor(&mut nan, 1, 0.0).is_err());
    }
}
