//! Forward substitution for several right-hand sides side by side, with the bits of one at a time.
//!
//! `block[i]` holds entry i of each of the W columns. One entry of the factor is used W times; the lanes of the
//! fixed-order sum are taken one after the other, so that W partial sums stay in registers. Where registers are wide
//! (AVX2 and up) two rows of the factor share what is loaded of the block.

use super::dot::{LANES, tree};
use super::packed_len;
use crate::math::Scalar;

/// Columns that the batch predictors carry together. Any number gives the same bits.
pub(crate) const WIDTH: usize = 16;

/// L⁻¹ times the block, in its place.
pub(crate) fn solve<T: Scalar, const W: usize>(factor: &[T], block: &mut [[T; W]]) {
    if cfg!(target_feature = "avx2") { solve_in_pairs(factor, block) } else { solve_singly(factor, block) }
}

/// Row by row: W sums fit the registers of a plain x86-64.
pub(crate) fn solve_singly<T: Scalar, const W: usize>(factor: &[T], block: &mut [[T; W]]) {
    let mut rest = factor;
    for i in 0..block.len() {
        let Some((row, tail)) = rest.split_at_checked(i + 1) else { return };
        rest = tail;
        let (done, current) = block.split_at_mut(i);
        let (Some((pivot, l)), Some(current)) = (row.split_last(), current.first_mut()) else { return };
        finish(current, dot(l, done), *pivot);
    }
}

/// Two rows at a time: 2W sums.
pub(crate) fn solve_in_pairs<T: Scalar, const W: usize>(factor: &[T], block: &mut [[T; W]]) {
    let mut rest = factor;
    for i in (0..block.len()).step_by(2) {
        let Some((first, tail)) = rest.split_at_checked(i + 1) else { return };
        rest = tail;
        let (done, current) = block.split_at_mut(i);
        let (Some((pivot, l)), Some((x, others))) = (first.split_last(), current.split_first_mut()) else { return };
        let (Some(y), Some((second, tail))) = (others.first_mut(), rest.split_at_checked(i + 2)) else {
            finish(x, dot(l, done), *pivot);
            return;
        };
        rest = tail;
        let Some((m, [between, last])) = second.split_last_chunk() else { return };
        let pairs = [
            lane_pair::<T, W, 0>(l, m, done),
            lane_pair::<T, W, 1>(l, m, done),
            lane_pair::<T, W, 2>(l, m, done),
            lane_pair::<T, W, 3>(l, m, done),
        ];
        finish(x, sum(pairs.map(|pair| pair.0)), *pivot);
        let mut lanes = pairs.map(|pair| pair.1);
        // Entry i of the second row comes last in its lane.
        for (lane, x) in lanes[i % LANES].iter_mut().zip(x.iter()) {
            *lane += *between * *x;
        }
        finish(y, sum(lanes), *last);
    }
}

/// R⁻ᵀ times the block, in its place; R of order `block.len()`, packed as in [`super::root`].
///
/// [`super::root::solve_transposed`] subtracts from the entries that follow; here each entry gathers what is subtracted
/// from it, in the same order.
pub(crate) fn solve_root_transposed<T: Scalar, const W: usize>(root: &[T], block: &mut [[T; W]]) {
    let m = block.len();
    let Some(root) = root.get(..packed_len(m)) else { return };
    let mut diagonal = 0;
    for j in 0..m {
        let (done, current) = block.split_at_mut(j);
        let (Some(x), Some(pivot)) = (current.first_mut(), root.get(diagonal)) else { return };
        *x = subtract_column(root, m, done, *x);
        x.iter_mut().for_each(|x| *x /= *pivot);
        diagonal += m - j;
    }
}

/// x − Σᵢ Rᵢⱼ · doneᵢ, j = `done.len()`, one after the other.
#[inline(never)]
fn subtract_column<T: Scalar, const W: usize>(root: &[T], m: usize, done: &[[T; W]], mut x: [T; W]) -> [T; W] {
    let (mut at, mut step) = (done.len(), m);
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
    sum([lane::<T, W, 0>(l, block), lane::<T, W, 1>(l, block), lane::<T, W, 2>(l, block), lane::<T, W, 3>(l, block)])
}

/// [`super::sum_of_squares`] of each of the W columns of `block`.
pub(crate) fn sum_of_squares<T: Scalar, const W: usize>(block: &[[T; W]]) -> [T; W] {
    let mut lanes = [[T::ZERO; W]; LANES];
    for (i, v) in block.iter().enumerate() {
        for (lane, v) in lanes[i % LANES].iter_mut().zip(v) {
            *lane += *v * *v;
        }
    }
    sum(lanes)
}

/// sum + l·v. By value: sums that are updated in place are kept in memory.
#[inline(always)]
fn accumulate<T: Scalar, const W: usize>(mut sum: [T; W], l: T, v: &[T; W]) -> [T; W] {
    for w in 0..W {
        sum[w] += l * v[w];
    }
    sum
}

/// Lane `LANE` of the sums. A function of its own: the accumulators stay in registers only as its locals.
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

/// [`lane`] of two rows.
#[inline(never)]
fn lane_pair<T: Scalar, const W: usize, const LANE: usize>(l: &[T], m: &[T], block: &[[T; W]]) -> ([T; W], [T; W]) {
    let (mut a, mut b) = ([T::ZERO; W], [T::ZERO; W]);
    let (l4, l_rest) = l.as_chunks::<LANES>();
    let (m4, m_rest) = m.as_chunks::<LANES>();
    let (v4, v_rest) = block.as_chunks::<LANES>();
    for ((l, m), v) in l4.iter().zip(m4).zip(v4) {
        a = accumulate(a, l[LANE], &v[LANE]);
        b = accumulate(b, m[LANE], &v[LANE]);
    }
    if let (Some(l), Some(m), Some(v)) = (l_rest.get(LANE), m_rest.get(LANE), v_rest.get(LANE)) {
        a = accumulate(a, *l, v);
        b = accumulate(b, *m, v);
    }
    (a, b)
}
