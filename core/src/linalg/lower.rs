//! The growing Cholesky factor: A = LLᵀ with L lower triangular, packed by rows.
//!
//! No library has it: dense factors are square and cannot grow by a row in place. All functions
//! take the packed slice and the order `n` in use; the slice may be longer.
//!
//! ```
//! use sordino_core::linalg::lower::{factor, ln_det, solve, solve_transposed};
//!
//! let mut packed = [4f64, 2.0, 3.0]; // (4 2; 2 3) = LLᵀ with L = (2 0; 1 √2)
//! factor(&mut packed, 2, 0.0)?;
//! assert_eq!(packed, [2.0, 1.0, 2f64.sqrt()]);
//! assert!((ln_det(&packed, 2) - 8f64.ln()).abs() < 1e-14);
//! let mut b = [8.0, 7.0];
//! solve(&packed, &mut b);
//! solve_transposed(&packed, &mut b);
//! assert!((b[0] - 1.25).abs() < 1e-14 && (b[1] - 1.5).abs() < 1e-14); // A·b is (8, 7) again
//! # Ok::<(), sordino_core::linalg::NotPositiveDefinite>(())
//! ```

use super::dot::{accumulate, dot, eight_rows, four_rows, tree};
use super::{NotPositiveDefinite, packed_len, slice};

pub use super::lower_update::{delete_row, rank_one_downdate, rank_one_update};
use crate::dispatch::{self, Width};
use crate::math::Scalar;

/// Row `i` of a packed lower triangle, i+1 numbers, the diagonal last. Empty if the slice does not
/// hold it.
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
/// **Errors**: [`NotPositiveDefinite`] if not pivot² > `threshold` (NaN included); the row then
/// holds (l, aₙₙ) and rows before it are untouched, so that the caller may repair and try
/// [`finish_row`] again.
///
/// **Cost**: n² + O(n) flops.
pub fn append_row<T: Scalar>(
    factor: &mut [T],
    n: usize,
    threshold: T,
) -> Result<T, NotPositiveDefinite> {
    let start = packed_len(n).min(factor.len());
    let (done, rest) = slice::split(factor, start);
    let (row, _) = slice::split(rest, n + 1);
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
        return Err(NotPositiveDefinite {
            row: n,
            pivot: squared.to_f64(),
            threshold: threshold.to_f64(),
        });
    }
    if let Some(last) = row.last_mut() {
        *last = pivot;
    }
    Ok(pivot)
}

/// b ← L⁻¹b for the leading `b.len()` rows. **Cost**: n² flops.
///
/// **Numerics**: entry i has the bits of (bᵢ − [`dot`](lᵢ, b before i))/pivot; four rows advance
/// together only for speed.
// On a device one function with a frame of its own: copies of it in its callers cost them stack and
// flash.
#[cfg_attr(feature = "dispatch", inline)]
#[cfg_attr(not(feature = "dispatch"), inline(never))]
pub fn solve<T: Scalar>(factor: &[T], b: &mut [T]) {
    dispatch::run_short(
        #[inline(always)]
        |width| solve_here(width, factor, b),
    );
}

/// The first row from which eight advance together; before, four.
const EIGHT_FROM: usize = 96;

/// [`solve`] inside of a kernel.
#[inline(always)]
pub(crate) fn solve_here<T: Scalar>(width: Width, factor: &[T], b: &mut [T]) {
    let mut rest = factor;
    let mut i = 0;
    while i + 4 <= b.len() {
        // Where there are registers for them, and rows are long, twice as many chains of additions.
        let eight = width > Width::Baseline && i >= EIGHT_FROM && i + 8 <= b.len();
        let Some((rows, tail)) = rest.split_at_checked(if eight { 8 * i + 36 } else { 4 * i + 10 })
        else {
            break;
        };
        let solved = if eight {
            solve_eight_rows(rows, b, i)
        } else {
            solve_four_rows(rows, b, i)
        };
        if solved.is_none() {
            return;
        }
        rest = tail;
        i += if eight { 8 } else { 4 };
    }
    while i < b.len() {
        let Some((row, tail)) = rest.split_at_checked(i + 1) else {
            return;
        };
        rest = tail;
        let (done, current) = slice::split(b, i);
        if let (Some((pivot, l)), Some(x)) = (row.split_last(), current.first_mut()) {
            *x = (*x - dot(l, done)) / *pivot;
        }
        i += 1;
    }
}

/// Row n ← L⁻¹ row n for several packed factors of order n, each at the front of `stride` numbers
/// of `factors`: the bits of [`solve`] of each.
///
/// A substitution waits for its own quotients most of the time; the others are computed meanwhile.
pub(crate) fn solve_side_by_side<T: Scalar>(factors: &mut [T], stride: usize, n: usize) {
    dispatch::run_short(
        #[inline(always)]
        |_| {
            let mut i = 0;
            while i < n {
                let step = if i + 4 <= n { 4 } else { 1 };
                for factor in factors.chunks_exact_mut(stride.max(1)) {
                    let (rows, b) = slice::split(factor, packed_len(n));
                    let b = slice::head_mut(b, n);
                    if step == 4 {
                        if solve_four_rows(slice::part(rows, packed_len(i), 4 * i + 10), b, i)
                            .is_none()
                        {
                            // Shorter than its order says: nothing to solve.
                            return;
                        }
                        continue;
                    }
                    let (done, current) = slice::split(b, i);
                    if let (Some((pivot, l)), Some(x)) =
                        (row(rows, i).split_last(), current.first_mut())
                    {
                        *x = (*x - dot(l, done)) / *pivot;
                    }
                }
                i += step;
            }
        },
    );
}

/// Rows i..i+4 of a forward substitution, i a multiple of 4. `None` if the slices do not hold them.
///
/// `b` comes whole. Given as what is done and what is not, two slices that the compiler takes for
/// disjoint, rustc 1.95 (LLVM 22.1.2) reads what is done before the loop over i, although the turn
/// before wrote it: wrong numbers on Cortex-M0 and wasm, found by `surrogate::pathwise` of the
/// digests.
#[inline(always)]
fn solve_four_rows<T: Scalar>(rows: &[T], b: &mut [T], i: usize) -> Option<()> {
    let ([l0, l1, l2, l3], corner) = four_of(rows, i)?;
    // Whole chunks, as i is a multiple of 4.
    let lanes = four_rows(l0, l1, l2, l3, b.get(..i)?);
    let x = b.get_mut(i..)?.first_chunk_mut()?;
    *x = finish_four(corner, &lanes, *x);
    Some(())
}

/// Rows i..i+8 in the same way, i a multiple of 4: what is done is read once for all of them.
#[inline(always)]
fn solve_eight_rows<T: Scalar>(rows: &[T], b: &mut [T], i: usize) -> Option<()> {
    let (upper, lower) = rows.split_at_checked(4 * i + 10)?;
    let (upper, upper_corner) = four_of(upper, i)?;
    let (lower, lower_corner) = four_of(lower, i + 4)?;
    let [l0, l1, l2, l3, l4, l5, l6, l7] = eight_rows(upper, lower, b.get(..i)?);
    let [n4, n5, n6, n7] = lower.map(|row| slice::tail(row, i).first_chunk());
    let (x, rest) = b.get_mut(i..)?.split_first_chunk_mut()?;
    *x = finish_four_apart(upper_corner, &[l0, l1, l2, l3], *x);
    let lanes = [
        accumulate(l4, n4?, x),
        accumulate(l5, n5?, x),
        accumulate(l6, n6?, x),
        accumulate(l7, n7?, x),
    ];
    let next = rest.first_chunk_mut()?;
    *next = finish_four_apart(lower_corner, &lanes, *next);
    Some(())
}

/// The last entries of four rows: from the column of the first pivot on.
type Corner<'a, T> = (&'a [T; 1], &'a [T; 2], &'a [T; 3], &'a [T; 4]);

/// Four packed rows, the first of which has `i` numbers before its pivot: as many of each, and
/// their corner.
#[inline(always)]
fn four_of<T>(rows: &[T], i: usize) -> Option<([&[T]; 4], Corner<'_, T>)> {
    let (r0, rows) = rows.split_at_checked(i + 1)?;
    let (r1, rows) = rows.split_at_checked(i + 2)?;
    let (r2, r3) = rows.split_at_checked(i + 3)?;
    let (l0, c0) = slice::split_last_chunk(r0)?;
    let (l1, c1) = slice::split_last_chunk(r1)?;
    let (l2, c2) = slice::split_last_chunk(r2)?;
    let (l3, c3) = slice::split_last_chunk(r3)?;
    Some(([l0, l1, l2, l3], (c0, c1, c2, c3)))
}

/// [`finish_four`] in a function of its own: seen together with the loop over eight rows, it makes
/// compilers pair lanes of different rows, which do not lie beside each other in memory.
#[inline(never)]
fn finish_four_apart<T: Scalar>(corner: Corner<'_, T>, lanes: &[[T; 4]; 4], b: [T; 4]) -> [T; 4] {
    finish_four(corner, lanes, b)
}

/// Four entries of a substitution, whose rows have the lanes of all columns before the corner. By
/// value: see above.
#[inline(always)]
fn finish_four<T: Scalar>(corner: Corner<'_, T>, lanes: &[[T; 4]; 4], b: [T; 4]) -> [T; 4] {
    let ([a00], [a10, a11], [a20, a21, a22], [a30, a31, a32, a33]) = corner;
    let [lanes0, mut lanes1, mut lanes2, mut lanes3] = *lanes;
    let x0 = (b[0] - tree(lanes0)) / *a00;
    lanes1[0] += *a10 * x0;
    let x1 = (b[1] - tree(lanes1)) / *a11;
    lanes2[0] += *a20 * x0;
    lanes2[1] += *a21 * x1;
    let x2 = (b[2] - tree(lanes2)) / *a22;
    lanes3[0] += *a30 * x0;
    lanes3[1] += *a31 * x1;
    lanes3[2] += *a32 * x2;
    let x3 = (b[3] - tree(lanes3)) / *a33;
    [x0, x1, x2, x3]
}

/// b ← L⁻ᵀb for the leading `b.len()` rows. **Cost**: n² flops.
pub fn solve_transposed<T: Scalar>(factor: &[T], b: &mut [T]) {
    dispatch::run_short(
        #[inline(always)]
        |_| solve_transposed_here(factor, b),
    );
}

#[inline(always)]
fn solve_transposed_here<T: Scalar>(factor: &[T], b: &mut [T]) {
    let mut rest = match factor.get(..packed_len(b.len())) {
        Some(all) => all,
        None => return,
    };
    for i in (0..b.len()).rev() {
        let Some((head, row)) = rest.split_at_checked(packed_len(i)) else {
            return;
        };
        rest = head;
        let (done, current) = slice::split(b, i);
        if let (Some((pivot, l)), Some(x)) = (row.split_last(), current.first_mut()) {
            *x /= *pivot;
            super::axpy(-*x, l, done);
        }
    }
}

/// Factors the packed lower triangle of a symmetric matrix of order `n` in place.
///
/// **Errors**: [`NotPositiveDefinite`] at the first row whose squared pivot does not exceed
/// `threshold`. **Cost**: n³/3 flops.
pub fn factor<T: Scalar>(
    matrix: &mut [T],
    n: usize,
    threshold: T,
) -> Result<(), NotPositiveDefinite> {
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
    use super::super::block;
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
    fn blocked_solves_have_the_bits_of_the_definition() {
        let mut factor = [0.0f64; packed_len(23)];
        for i in 0..23 {
            for (j, l) in row_mut(&mut factor, i).iter_mut().enumerate() {
                *l = if i == j {
                    1.0 + 0.1 * i as f64
                } else {
                    0.3 - 0.07 * ((3 * i + 5 * j) % 11) as f64
                };
            }
        }
        for n in 0..=23 {
            let start: [f64; 23] = core::array::from_fn(|i| 1.0 / (i as f64 + 0.3));
            let mut plain = start;
            let mut fast = start;
            for i in 0..n {
                let (done, current) = plain.split_at_mut(i);
                let (pivot, l) = row(&factor, i).split_last().unwrap();
                current[0] = (current[0] - dot(l, done)) / pivot;
            }
            solve(&factor, &mut fast[..n]);
            let block: [[f64; 3]; 23] =
                core::array::from_fn(|i| [start[i], -start[i], 2.0 * start[i]]);
            let blocks = Width::ALL.map(|width| {
                let mut solved = block;
                block::solve_here(width, &factor, &mut solved[..n]);
                solved
            });
            // Three factors of order n side by side, their right-hand sides below.
            let mut beside = [[0.0; packed_len(24)]; 3];
            for (factors, sign) in beside.iter_mut().zip([1.0, -1.0, 2.0]) {
                factors[..packed_len(n)].copy_from_slice(&factor[..packed_len(n)]);
                row_mut(factors, n)
                    .iter_mut()
                    .zip(start)
                    .for_each(|(to, from)| *to = sign * from);
            }
            solve_side_by_side(beside.as_flattened_mut(), packed_len(24), n);
            for i in 0..n {
                assert_eq!(plain[i].to_bits(), fast[i].to_bits());
                for (factors, sign) in beside.iter().zip([1.0, -1.0, 2.0]) {
                    assert_eq!(row(factors, n)[i].to_bits(), (sign * plain[i]).to_bits());
                }
                let expected = [plain[i], -plain[i], 2.0 * plain[i]].map(f64::to_bits);
                assert!(
                    blocks
                        .iter()
                        .all(|solved| solved[i].map(f64::to_bits) == expected),
                    "row {i} of {n}"
                );
            }
        }
    }

    /// Long enough for eight rows at a time, with every rest, at every width.
    #[test]
    fn long_solves_have_the_bits_of_the_definition() {
        const N: usize = EIGHT_FROM + 21;
        let mut factor = [0.0f64; packed_len(N)];
        for i in 0..N {
            for (j, l) in row_mut(&mut factor, i).iter_mut().enumerate() {
                *l = if i == j {
                    2.0 + 0.1 * i as f64
                } else {
                    0.3 - 0.07 * ((3 * i + 5 * j) % 11) as f64
                };
            }
        }
        let start: [f64; N] = core::array::from_fn(|i| 1.0 / (i as f64 + 0.3));
        let mut plain = start;
        for i in 0..N {
            let (done, current) = plain.split_at_mut(i);
            let (pivot, l) = row(&factor, i).split_last().unwrap();
            current[0] = (current[0] - dot(l, done)) / pivot;
        }
        for n in EIGHT_FROM - 1..=N {
            for width in Width::ALL {
                let mut fast = start;
                solve_here(width, &factor, &mut fast[..n]);
                assert!(
                    fast[..n]
                        .iter()
                        .zip(plain)
                        .all(|(x, y)| x.to_bits() == y.to_bits()),
                    "{width:?}, {n}"
                );
                assert_eq!(fast[n..], start[n..]);
            }
            // A factor that ends too early leaves the rest as it was.
            let mut short = start;
            solve_here(Width::Avx2, &factor[..packed_len(n) - 1], &mut short[..n]);
            assert_eq!(short[n - 1], start[n - 1], "{n}");
        }
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
