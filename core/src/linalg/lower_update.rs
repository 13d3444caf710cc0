//! Changes of a packed Cholesky factor that are not appends: rank-one updates and downdates,
//! deletion of a row.

use super::slice::{at, head_mut, move_back, part_mut, split};
use super::{NotPositiveDefinite, packed_len};
use crate::math::Scalar;

/// A ← A + vvᵀ on the trailing block of A = LLᵀ whose first row is `first`; v, of `v.len()`
/// numbers, is destroyed.
///
/// `rhs` is what stands beside L: with Lz = y it holds z from `first` on, and after the rotations
/// L'z' = y' where y' = y + v·`extra`; pass empty slice and zero if there is none.
///
/// **Numerics**: Givens rotations, backward stable; never fails for finite input. **Cost**: 3m² +
/// O(m) flops, m square roots, m = `v.len()`. **Source**: Gill, Golub, Murray and Saunders 1974.
pub fn rank_one_update<T: Scalar>(
    factor: &mut [T],
    first: usize,
    v: &mut [T],
    rhs: &mut [T],
    extra: T,
) {
    let mut extra = extra;
    for k in 0..v.len() {
        let diagonal = packed_len(first + k) + first + k;
        let (Some(pivot), Some((&mut head, below))) = (
            factor.get_mut(diagonal),
            v.get_mut(k..).and_then(|v| v.split_first_mut()),
        ) else {
            return;
        };
        let radius = (*pivot * *pivot + head * head).sqrt();
        let cos = *pivot / radius;
        let sin = head / radius;
        *pivot = radius;
        let mut index = diagonal;
        for (i, v) in below.iter_mut().enumerate() {
            // Down the column: row r of a packed triangle is r + 1 numbers.
            index += first + k + i + 1;
            if let Some(l) = factor.get_mut(index) {
                let x = *l;
                let y = *v;
                *l = cos * x + sin * y;
                *v = cos * y - sin * x;
            }
        }
        if let Some(z) = rhs.get_mut(k) {
            let x = *z;
            let y = extra;
            *z = cos * x + sin * y;
            extra = cos * y - sin * x;
        }
    }
}

/// A ← A − vvᵀ on the trailing block whose first row is `first`; v is destroyed. A downdate can be
/// impossible.
///
/// **Errors**: [`NotPositiveDefinite`] unless 1 − ‖L⁻¹v‖² > `threshold`, decided before anything is
/// changed; the caller then factors it again.
///
/// **Parameters**: `scratch` holds `v.len()` numbers.
/// **Cost**: 5m² + O(m) flops. **Source**: LINPACK dchdd (Stewart 1979).
pub fn rank_one_downdate<T: Scalar>(
    factor: &mut [T],
    first: usize,
    v: &mut [T],
    scratch: &mut [T],
    threshold: T,
) -> Result<(), NotPositiveDefinite> {
    // p = L⁻¹v over the trailing block, column by column, in `v`'s place; `scratch` then becomes
    // the swept row.
    let m = v.len();
    for i in 0..m {
        let start = packed_len(first + i) + first;
        let (done, current) = split(v, i);
        let row = factor
            .get(start..start + i + 1)
            .and_then(|row| row.split_last());
        if let (Some((pivot, l)), Some(x)) = (row, current.first_mut()) {
            *x = (*x - super::dot(l, done)) / *pivot;
        }
    }
    let rest = T::ONE - super::sum_of_squares(v);
    if !(rest > threshold) {
        return Err(NotPositiveDefinite {
            row: first,
            pivot: rest.to_f64(),
            threshold: threshold.to_f64(),
        });
    }
    // Rotations that carry (p, √rest) to (0, 1), from the last entry up, applied to the columns of
    // (L, 0).
    let mut alpha = rest.sqrt();
    let swept = match scratch.get_mut(..m) {
        Some(swept) => swept,
        None => {
            return Err(NotPositiveDefinite {
                row: first,
                pivot: 0.0,
                threshold: threshold.to_f64(),
            });
        }
    };
    swept.fill(T::ZERO);
    for k in (0..m).rev() {
        let p = v.get(k).copied().unwrap_or(T::ZERO);
        let radius = (alpha * alpha + p * p).sqrt();
        let cos = alpha / radius;
        let sin = p / radius;
        alpha = radius;
        for (i, s) in swept.iter_mut().enumerate().skip(k) {
            if let Some(l) = factor.get_mut(packed_len(first + i) + first + k) {
                let x = *l;
                let y = *s;
                *l = cos * x - sin * y;
                *s = cos * y + sin * x;
            }
        }
    }
    Ok(())
}

/// Removes row and column `index` from A = LLᵀ of order `n`; the packed factor of order n − 1
/// remains at the front.
///
/// `rhs` (n numbers, z with Lz = y) loses entry `index` and is rotated along; pass an empty slice
/// if there is none. `scratch` holds n numbers.
///
/// **Numerics**: what is removed is *added* to the rows below it: an update, backward stable.
/// **Cost**: 3(n − index)² flops and n²/2 moves. **Source**: Osborne 2010, appendix B.
pub fn delete_row<T: Scalar>(
    factor: &mut [T],
    n: usize,
    index: usize,
    rhs: &mut [T],
    scratch: &mut [T],
) {
    if index >= n || factor.len() < packed_len(n) || scratch.len() + index + 1 < n {
        return;
    }
    let below = n - index - 1;
    let column = head_mut(scratch, below);
    for (i, entry) in column.iter_mut().enumerate() {
        let from = packed_len(index + 1 + i);
        let to = packed_len(index + i);
        *entry = at(factor, from + index);
        move_back(factor, from, to, index);
        move_back(factor, from + index + 1, to + index, 1 + i);
    }
    let mut extra = T::ZERO;
    if rhs.len() >= n {
        extra = at(rhs, index);
        move_back(rhs, index + 1, index, below);
    }
    let rhs = part_mut(rhs, index, below);
    rank_one_update(factor, index, column, rhs, extra);
}

#[cfg(test)]
mod tests {
    use super::super::lower::{factor, row, solve};
    use super::*;
    use crate::random::Stream;

    const N: usize = 7;

    /// A random symmetric positive definite matrix, packed.
    fn matrix(seed: u64) -> [f64; packed_len(N)] {
        let mut stream = Stream::from_seed(seed);
        let b: [[f64; N]; N] =
            core::array::from_fn(|_| core::array::from_fn(|_| stream.unit::<f64>() - 0.5));
        let mut a = [0.0; packed_len(N)];
        for i in 0..N {
            for j in 0..=i {
                a[packed_len(i) + j] =
                    super::super::dot(&b[i], &b[j]) + if i == j { 0.2 } else { 0.0 };
            }
        }
        a
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn update_and_downdate_are_inverse_and_match_a_new_factor() {
        for first in 0..N {
            let v: [f64; N] = core::array::from_fn(|i| 0.3 - 0.1 * i as f64);
            let m = N - first;
            let mut l = matrix(1);
            factor(&mut l, N, 0.0).unwrap();
            let before = l;
            let mut expected = matrix(1);
            for i in 0..m {
                for j in 0..=i {
                    expected[packed_len(first + i) + first + j] += v[i] * v[j];
                }
            }
            factor(&mut expected, N, 0.0).unwrap();
            let mut used = v;
            let mut scratch = [0.0; N];
            rank_one_update(&mut l, first, &mut used[..m], &mut [], 0.0);
            assert!(close(&l, &expected), "update at {first}");
            used = v;
            rank_one_downdate(&mut l, first, &mut used[..m], &mut scratch, 0.0).unwrap();
            assert!(close(&l, &before), "downdate at {first}");
        }
    }

    #[test]
    fn an_impossible_downdate_changes_nothing() {
        let mut l = matrix(2);
        factor(&mut l, N, 0.0).unwrap();
        let before = l;
        let mut v = [10.0; N];
        let mut scratch = [0.0; N];
        let error = rank_one_downdate(&mut l, 0, &mut v, &mut scratch, 0.0).unwrap_err();
        assert!(error.pivot < 0.0);
        assert_eq!(l, before);
    }

    #[test]
    fn deletion_equals_a_factor_that_never_had_the_row() {
        let y: [f64; N] = core::array::from_fn(|i| 1.0 - 0.4 * i as f64);
        for index in 0..N {
            let full = matrix(3);
            let mut l = full;
            let mut z = y;
            let mut scratch = [0.0; N];
            factor(&mut l, N, 0.0).unwrap();
            solve(&l, &mut z);
            delete_row(&mut l, N, index, &mut z, &mut scratch);
            let mut expected = [0.0; packed_len(N)];
            let mut rhs = [0.0; N];
            for (at, i) in (0..N).filter(|i| *i != index).enumerate() {
                let kept = row(&full, i)
                    .iter()
                    .enumerate()
                    .filter(|(j, _)| *j != index);
                kept.zip(&mut expected[packed_len(at)..])
                    .for_each(|((_, from), to)| *to = *from);
                rhs[at] = y[i];
            }
            factor(&mut expected, N - 1, 0.0).unwrap();
            solve(&expected, &mut rhs[..N - 1]);
            assert!(close(&l[..packed_len(N - 1)], &expected), "{index}");
            assert!(close(&z[..N - 1], &rhs), "{index}");
        }
    }
}
