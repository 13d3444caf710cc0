//! Forward substitution for several right-hand sides side by side, with the bits of one at a time.
//!
//! `block[i]` holds entry i of each of the W columns. One entry of the factor is used W times; the
//! lanes of the fixed-order sum are taken one after the other, so that W partial sums stay in
//! registers. Where registers are wide two (AVX2) or four (AVX-512) rows of the factor share what
//! is loaded of the block.

use super::dot::{LANES, tree};
use super::packed_len;
use super::slice;
use crate::dispatch::{self, Width};
use crate::math::Scalar;

/// Columns that the batch predictors carry together. Any number gives the same bits.
pub(crate) const WIDTH: usize = 16;

/// L⁻¹ times the block, in its place.
pub(crate) fn solve<T: Scalar, const W: usize>(factor: &[T], block: &mut [[T; W]]) {
    dispatch::run(
        #[inline(always)]
        |width| solve_here(width, factor, block),
    );
}

/// [`solve`] inside of a kernel.
#[inline(always)]
pub(crate) fn solve_here<T: Scalar, const W: usize>(
    width: Width,
    factor: &[T],
    block: &mut [[T; W]],
) {
    match width {
        Width::Baseline => solve_singly(factor, block, 0),
        Width::Avx2 | Width::Avx512 => {
            let mut rest = factor;
            let mut i = 0;
            while i + 4 <= block.len() {
                let Some((rows, tail)) = rest.split_at_checked(4 * i + 10) else {
                    return;
                };
                if solve_four_rows(width, rows, block, i).is_none() {
                    return;
                }
                (rest, i) = (tail, i + 4);
            }
            solve_singly(factor, block, i);
        }
    }
}

/// Rows i..i+4, i a multiple of 4. `None` if the slices do not hold them. The block comes whole,
/// see [`super::lower`]'s function of this name.
#[inline(always)]
fn solve_four_rows<T: Scalar, const W: usize>(
    width: Width,
    rows: &[T],
    block: &mut [[T; W]],
    i: usize,
) -> Option<()> {
    let (r0, rows) = rows.split_at_checked(i + 1)?;
    let (r1, rows) = rows.split_at_checked(i + 2)?;
    let (r2, r3) = rows.split_at_checked(i + 3)?;
    let (l0, [a00]) = slice::split_last_chunk(r0)?;
    let (l1, [a10, a11]) = slice::split_last_chunk(r1)?;
    let (l2, [a20, a21, a22]) = slice::split_last_chunk(r2)?;
    let (l3, [a30, a31, a32, a33]) = slice::split_last_chunk(r3)?;
    // Whole chunks, as i is a multiple of 4.
    let done = block.get(..i)?.as_chunks().0;
    let [l0, l1, l2, l3] = [l0, l1, l2, l3].map(|l| l.as_chunks().0);
    let lanes = if width == Width::Avx512 {
        four_rows(l0, l1, l2, l3, done)
    } else {
        let [s0, s1] = two_rows(l0, l1, done);
        let [s2, s3] = two_rows(l2, l3, done);
        [s0, s1, s2, s3]
    };
    let [s0, mut s1, mut s2, mut s3] = lanes;
    let [x0, x1, x2, x3] = block.get_mut(i..)?.first_chunk_mut()?;
    finish(x0, sum(s0), *a00);
    s1[0] = accumulate(s1[0], *a10, x0);
    finish(x1, sum(s1), *a11);
    s2[0] = accumulate(s2[0], *a20, x0);
    s2[1] = accumulate(s2[1], *a21, x1);
    finish(x2, sum(s2), *a22);
    s3[0] = accumulate(s3[0], *a30, x0);
    s3[1] = accumulate(s3[1], *a31, x1);
    s3[2] = accumulate(s3[2], *a32, x2);
    finish(x3, sum(s3), *a33);
    Some(())
}

/// All lanes of a row's sums, for W columns.
type Lanes<T, const W: usize> = [[T; W]; LANES];

#[inline(always)]
fn four_rows<T: Scalar, const W: usize>(
    l0: &[[T; LANES]],
    l1: &[[T; LANES]],
    l2: &[[T; LANES]],
    l3: &[[T; LANES]],
    block: &[Lanes<T, W>],
) -> [Lanes<T, W>; 4] {
    let mut sums = [[[T::ZERO; W]; LANES]; 4];
    for lane in 0..LANES {
        let mut a = [T::ZERO; W];
        let mut b = [T::ZERO; W];
        let mut c = [T::ZERO; W];
        let mut d = [T::ZERO; W];
        for ((((v, l0), l1), l2), l3) in block.iter().zip(l0).zip(l1).zip(l2).zip(l3) {
            a = accumulate(a, l0[lane], &v[lane]);
            b = accumulate(b, l1[lane], &v[lane]);
            c = accumulate(c, l2[lane], &v[lane]);
            d = accumulate(d, l3[lane], &v[lane]);
        }
        [sums[0][lane], sums[1][lane], sums[2][lane], sums[3][lane]] = [a, b, c, d];
    }
    sums
}

#[inline(always)]
fn two_rows<T: Scalar, const W: usize>(
    l0: &[[T; LANES]],
    l1: &[[T; LANES]],
    block: &[Lanes<T, W>],
) -> [Lanes<T, W>; 2] {
    let mut sums = [[[T::ZERO; W]; LANES]; 2];
    for lane in 0..LANES {
        let mut a = [T::ZERO; W];
        let mut b = [T::ZERO; W];
        for ((v, l0), l1) in block.iter().zip(l0).zip(l1) {
            a = accumulate(a, l0[lane], &v[lane]);
            b = accumulate(b, l1[lane], &v[lane]);
        }
        [sums[0][lane], sums[1][lane]] = [a, b];
    }
    sums
}

/// Row by row from row `start` on: W sums fit the registers of a plain x86-64.
fn solve_singly<T: Scalar, const W: usize>(factor: &[T], block: &mut [[T; W]], start: usize) {
    let mut rest = super::slice::tail(factor, packed_len(start));
    for i in start..block.len() {
        let Some((row, tail)) = rest.split_at_checked(i + 1) else {
            return;
        };
        rest = tail;
        let (done, current) = slice::split(block, i);
        let (Some((pivot, l)), Some(current)) = (row.split_last(), current.first_mut()) else {
            return;
        };
        finish(current, dot(l, done), *pivot);
    }
}

/// R⁻ᵀ times the block, in its place; R of order `block.len()`, packed as in [`super::root`].
///
/// [`super::root::solve_transposed`] subtracts from the entries that follow; here each entry
/// gathers what is subtracted from it, in the same order.
pub(crate) fn solve_root_transposed<T: Scalar, const W: usize>(root: &[T], block: &mut [[T; W]]) {
    dispatch::run(
        #[inline(always)]
        |_| solve_root_transposed_here(root, block),
    );
}

#[inline(always)]
fn solve_root_transposed_here<T: Scalar, const W: usize>(root: &[T], block: &mut [[T; W]]) {
    let m = block.len();
    let Some(root) = root.get(..packed_len(m)) else {
        return;
    };
    let mut diagonal = 0;
    for j in 0..m {
        let (done, current) = slice::split(block, j);
        let (Some(x), Some(pivot)) = (current.first_mut(), root.get(diagonal)) else {
            return;
        };
        *x = subtract_column(root, m, done, *x);
        x.iter_mut().for_each(|x| *x /= *pivot);
        diagonal += m - j;
    }
}

/// x − Σᵢ Rᵢⱼ · doneᵢ, j = `done.len()`, one after the other.
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline(never))]
fn subtract_column<T: Scalar, const W: usize>(
    root: &[T],
    m: usize,
    done: &[[T; W]],
    mut x: [T; W],
) -> [T; W] {
    let mut at = done.len();
    let mut step = m;
    for v in done {
        let Some(r) = root.get(at) else { return x };
        for w in 0..W {
            x[w] += -v[w] * *r;
        }
        step -= 1;
        at += step;
    }
    x
}

#[inline(always)]
fn finish<T: Scalar, const W: usize>(x: &mut [T; W], sum: [T; W], pivot: T) {
    for (x, sum) in x.iter_mut().zip(sum) {
        *x = (*x - sum) / pivot;
    }
}

#[inline(always)]
fn sum<T: Scalar, const W: usize>(lanes: [[T; W]; LANES]) -> [T; W] {
    core::array::from_fn(|w| tree([lanes[0][w], lanes[1][w], lanes[2][w], lanes[3][w]]))
}

/// [`super::dot`] of `l` with each of the W columns of `block`.
pub(crate) fn dot<T: Scalar, const W: usize>(l: &[T], block: &[[T; W]]) -> [T; W] {
    sum([
        lane::<T, W, 0>(l, block),
        lane::<T, W, 1>(l, block),
        lane::<T, W, 2>(l, block),
        lane::<T, W, 3>(l, block),
    ])
}

/// [`super::sum_of_squares`] of each of the W columns of `block`.
pub(crate) fn sum_of_squares<T: Scalar, const W: usize>(block: &[[T; W]]) -> [T; W] {
    dispatch::run(
        #[inline(always)]
        |_| {
            let (fours, rest) = block.as_chunks::<LANES>();
            let mut lanes = [[T::ZERO; W]; LANES];
            for (lane, total) in lanes.iter_mut().enumerate() {
                let mut squares = [T::ZERO; W];
                for v in fours.iter().map(|four| &four[lane]).chain(rest.get(lane)) {
                    for w in 0..W {
                        squares[w] += v[w] * v[w];
                    }
                }
                *total = squares;
            }
            sum(lanes)
        },
    )
}

/// sum + l·v. By value: sums that are updated in place are kept in memory.
#[inline(always)]
fn accumulate<T: Scalar, const W: usize>(mut sum: [T; W], l: T, v: &[T; W]) -> [T; W] {
    for w in 0..W {
        sum[w] += l * v[w];
    }
    sum
}

/// Lane `LANE` of the sums. A function of its own: the accumulators stay in registers only as its
/// locals.
#[inline(never)]
fn lane<T: Scalar, const W: usize, const LANE: usize>(l: &[T], block: &[[T; W]]) -> [T; W] {
    let mut sum = [T::ZERO; W];
    let (l4, l_rest) = l.as_chunks::<LANES>();
    let (v4, v_rest) = block.as_chunks::<LANES>();
    for (l, v) in l4.iter().zip(v4) {
        sum = accumulate(sum, l[LANE], &v[LANE]);
    }
    if let (Some(l), Some(v)) = (l_rest.get(LANE), v_rest.get(LANE)) {
        sum = accumulate(sum, *l, v);
    }
    sum
}
