//! Several rows at once, wherever they lie: dot products with one vector, and sums of multiples.

use super::dot::{axpy, dot, dot_eight_rows, dot_four_rows};
use crate::dispatch::Width;
use crate::math::Scalar;

/// `put(target, row·x)` for every row and its target, in order, with the bits of [`dot`]; as many
/// as there are of both.
///
/// With the feature `dispatch` four or eight rows advance together; a device has no registers for
/// that.
#[inline(always)]
pub(crate) fn dots_here<'r, T: Scalar, I>(
    width: Width,
    mut rows: impl Iterator<Item = &'r [T]>,
    x: &[T],
    mut targets: impl Iterator<Item = I>,
    mut put: impl FnMut(I, T),
) {
    if !cfg!(feature = "dispatch") {
        rows.zip(targets)
            .for_each(|(row, target)| put(target, dot(row, x)));
        return;
    }
    loop {
        let mut eight: [&[T]; 8] = [&[]; 8];
        let mut count = 0;
        for (to, row) in eight.iter_mut().zip(rows.by_ref()) {
            *to = row;
            count += 1;
        }
        let [a, b, c, d, e, f, g, h] = eight;
        let upper = [a, b, c, d];
        let lower = [e, f, g, h];
        let whole = |rows: &[&[T]]| rows.iter().all(|row| row.len() == x.len());
        let mut sums = [T::ZERO; 8];
        let mut done = 0;
        if width > Width::Baseline && count == 8 && whole(&eight) {
            (sums, done) = (dot_eight_rows(upper, lower, x), 8);
        }
        for (four, sums) in [upper, lower].iter().zip(sums.chunks_exact_mut(4)) {
            if done + 4 > count || !whole(four) {
                break;
            }
            sums.copy_from_slice(&dot_four_rows(four[0], four[1], four[2], four[3], x));
            done += 4;
        }
        for (sum, row) in sums.iter_mut().zip(eight).take(count).skip(done) {
            *sum = dot(row, x);
        }
        for (target, sum) in targets.by_ref().take(count).zip(sums) {
            put(target, sum);
        }
        if count < 8 {
            return;
        }
    }
}

/// out ← out + Σ factorᵢ·rowᵢ, in order: every entry has the bits of one [`axpy`] a row.
///
/// With the feature `dispatch` four rows are added while `out` is read and written once.
#[inline(always)]
pub(crate) fn add_rows_here<'r, T: Scalar>(
    mut rows: impl Iterator<Item = (T, &'r [T])>,
    out: &mut [T],
) {
    if !cfg!(feature = "dispatch") {
        rows.for_each(|(factor, row)| axpy(factor, row, out));
        return;
    }
    loop {
        let mut four: [(T, &[T]); 4] = [(T::ZERO, &[]); 4];
        let mut count = 0;
        for (to, row) in four.iter_mut().zip(rows.by_ref()) {
            *to = row;
            count += 1;
        }
        if count == 4 && four.iter().all(|(_, row)| row.len() >= out.len()) {
            let [(f0, r0), (f1, r1), (f2, r2), (f3, r3)] = four;
            for ((((out, a), b), c), d) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
                *out = (((*out + f0 * *a) + f1 * *b) + f2 * *c) + f3 * *d;
            }
        } else {
            four.iter()
                .take(count)
                .for_each(|(factor, row)| axpy(*factor, row, out));
        }
        if count < 4 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_together_have_the_bits_of_rows_alone() {
        let a: [f32; 23 * 9] = core::array::from_fn(|i| 1.0 / (i as f32 + 0.7) - 0.06);
        let x: [f32; 9] = core::array::from_fn(|i| 0.9 - i as f32 * 0.17);
        // From the last row on; some are too long or too short.
        let row = |i: usize| &a[(22 - i) * 9..][..if i % 11 == 10 { 8 } else { 9 }];
        for count in 0..23 {
            for width in Width::ALL {
                let mut seen = [0.0; 23];
                let rows = (0..count).map(row);
                dots_here(width, rows, &x, seen.iter_mut(), |to, sum| *to = sum);
                for (i, sum) in seen.iter().enumerate() {
                    let expected = if i < count { dot(row(i), &x) } else { 0.0 };
                    assert_eq!(
                        sum.to_bits(),
                        expected.to_bits(),
                        "{width:?} {i} of {count}"
                    );
                }
            }
            let mut together = x;
            let mut alone = x;
            add_rows_here((0..count).map(|i| (0.3 + i as f32, row(i))), &mut together);
            (0..count).for_each(|i| axpy(0.3 + i as f32, row(i), &mut alone));
            assert_eq!(together.map(f32::to_bits), alone.map(f32::to_bits));
        }
    }
}
