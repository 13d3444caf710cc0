//! Sums of products in a fixed order.

use super::slice::{self, head, head_mut, quarters};
use crate::dispatch::{self, Width};
use crate::math::Scalar;

/// Lanes of every reduction. Four is two to seven times faster than one on x86-64 and free on a
/// Cortex-M; the number is part of the bit contract.
pub(super) const LANES: usize = 4;

#[inline(always)]
pub(super) fn tree<T: Scalar>(lane: [T; LANES]) -> T {
    (lane[0] + lane[1]) + (lane[2] + lane[3])
}

/// lane + a·b, lane by lane. By value: accumulators that are updated in place stay scalar or in
/// memory.
#[inline(always)]
pub(super) fn accumulate<T: Scalar>(
    mut lane: [T; LANES],
    a: &[T; LANES],
    b: &[T; LANES],
) -> [T; LANES] {
    for i in 0..LANES {
        lane[i] += a[i] * b[i];
    }
    lane
}

/// Adds what is left after the last whole chunk, element i to lane i.
#[inline(always)]
fn finish<T: Scalar>(mut lane: [T; LANES], a: &[T], b: &[T]) -> [T; LANES] {
    // Spelt out, because a loop over the lanes would take them through memory.
    match (a, b) {
        ([a0], [b0]) => lane[0] += *a0 * *b0,
        ([a0, a1], [b0, b1]) => {
            lane[0] += *a0 * *b0;
            lane[1] += *a1 * *b1;
        }
        ([a0, a1, a2], [b0, b1, b2]) => {
            lane[0] += *a0 * *b0;
            lane[1] += *a1 * *b1;
            lane[2] += *a2 * *b2;
        }
        _ => {}
    }
    lane
}

/// Σ aᵢbᵢ over the shorter length.
///
/// **Numerics**: element i is added to lane i mod 4, each lane in order of i; the lanes are summed
/// as (0+1)+(2+3).
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline)]
pub fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    let n = a.len().min(b.len());
    let (a, a_rest) = a[..n].as_chunks::<LANES>();
    let (b, b_rest) = b[..n].as_chunks::<LANES>();
    let mut lane = [T::ZERO; LANES];
    for (x, y) in a.iter().zip(b) {
        lane = accumulate(lane, x, y);
    }
    tree(finish(lane, a_rest, b_rest))
}

/// [`dot`] of long slices, the same bits. A device, without vectors, takes two chunks a turn: fewer
/// instructions from some twenty numbers on, more for the short rows of an optimizer that begins.
#[inline(always)]
pub(super) fn dot_long<T: Scalar>(a: &[T], b: &[T]) -> T {
    if cfg!(feature = "dispatch") {
        return dot(a, b);
    }
    let n = a.len().min(b.len());
    let (a, a_rest) = slice::head(a, n).as_chunks::<LANES>();
    let (b, b_rest) = slice::head(b, n).as_chunks::<LANES>();
    let (a_pairs, a_last) = a.as_chunks::<2>();
    let (b_pairs, b_last) = b.as_chunks::<2>();
    let mut lane = [T::ZERO; LANES];
    for ([x0, x1], [y0, y1]) in a_pairs.iter().zip(b_pairs) {
        lane = accumulate(lane, x0, y0);
        lane = accumulate(lane, x1, y1);
    }
    for (x, y) in a_last.iter().zip(b_last) {
        lane = accumulate(lane, x, y);
    }
    tree(finish(lane, a_rest, b_rest))
}

/// Σ aᵢ², in the order of [`dot`].
#[inline]
pub fn sum_of_squares<T: Scalar>(a: &[T]) -> T {
    dot(a, a)
}

/// Σ (aᵢ − bᵢ)² over the shorter length, serial: the dimension of an input is small, and
/// differences keep coincident points at distance exactly 0.
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline)]
pub fn squared_distance<T: Scalar>(a: &[T], b: &[T]) -> T {
    let mut sum = T::ZERO;
    for (x, y) in a.iter().zip(b) {
        let d = *x - *y;
        sum += d * d;
    }
    sum
}

/// max |xᵢ|, 0 for an empty list; a NaN does not count. The order of a maximum does not matter.
pub(crate) fn largest_magnitude<T: Scalar>(x: &[T]) -> T {
    let larger = |so_far: T, x: &T| so_far.max(x.abs());
    if !cfg!(feature = "dispatch") {
        return x.iter().fold(T::ZERO, larger);
    }
    dispatch::run(
        #[inline(always)]
        |_| {
            let (chunks, rest) = x.as_chunks::<16>();
            let mut lanes = [T::ZERO; 16];
            for chunk in chunks {
                for i in 0..16 {
                    lanes[i] = larger(lanes[i], &chunk[i]);
                }
            }
            lanes.iter().chain(rest).fold(T::ZERO, larger)
        },
    )
}

/// y ← y + a·x over the shorter length.
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline)]
pub fn axpy<T: Scalar>(a: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * *x;
    }
}

/// out ← A·x for a row-major A of `out.len()` rows and `x.len()` columns.
///
/// **Numerics**: every entry has exactly the bits of [`dot`] of its row; rows advance together only
/// for speed, four of them, eight where vectors are wide.
///
/// **Panics**: never; rows that `matrix` does not hold in full read as missing and leave `out` as
/// it was.
pub fn matvec<T: Scalar>(matrix: &[T], x: &[T], out: &mut [T]) {
    dispatch::run_short(
        #[inline(always)]
        |width| matvec_here(width, matrix, x, out),
    );
}

/// [`matvec`] inside of a kernel.
#[inline(always)]
pub(crate) fn matvec_here<T: Scalar>(width: Width, matrix: &[T], x: &[T], out: &mut [T]) {
    let m = x.len();
    if m == 0 {
        out.fill(T::ZERO);
        return;
    }
    let rows = out.len().min(matrix.len() / m);
    let mut matrix = head(matrix, rows * m);
    let mut out = head_mut(out, rows);
    if width > Width::Baseline {
        let eights = rows - rows % 8;
        let mut lanes = [[T::ZERO; LANES]; WAITING];
        for (rows, out) in head(matrix, eights * m)
            .chunks((WAITING * m).max(1))
            .zip(head_mut(out, eights).chunks_mut(WAITING))
        {
            sums_together(rows, x, &mut lanes, out);
        }
        (matrix, out) = (
            slice::tail(matrix, eights * m),
            slice::tail_mut(out, eights),
        );
    }
    let mut blocks = matrix.chunks_exact((4 * m).max(1));
    let mut outs = out.chunks_exact_mut(4);
    for (block, out) in blocks.by_ref().zip(outs.by_ref()) {
        let Some([r0, r1, r2, r3]) = quarters(block, m) else {
            return;
        };
        slice::copy(&dot_four_rows(r0, r1, r2, r3, x), out);
    }
    for (out, row) in outs
        .into_remainder()
        .iter_mut()
        .zip(slice::rows(blocks.remainder(), m))
    {
        *out = dot(row, x);
    }
}

/// Rows whose lanes wait in memory until they are added up, all in one loop: next to the products
/// of its row, the sum of a row's lanes would be a tenth of the time.
const WAITING: usize = 64;

/// [`dot`] of some eights of rows, at most [`WAITING`] rows.
#[inline(always)]
fn sums_together<T: Scalar>(rows: &[T], x: &[T], lanes: &mut [[T; LANES]; WAITING], out: &mut [T]) {
    let m = x.len();
    for (block, lanes) in rows
        .chunks_exact((8 * m).max(1))
        .zip(lanes.as_chunks_mut::<8>().0)
    {
        let upper = head(block, 4 * m);
        let lower = slice::tail(block, 4 * m);
        let (Some(upper), Some(lower)) = (quarters(upper, m), quarters(lower, m)) else {
            return;
        };
        *lanes = eight_rows(upper, lower, x);
    }
    let whole = m - m % LANES;
    if whole < m {
        for (lane, row) in lanes.iter_mut().zip(slice::rows(rows, m)) {
            *lane = finish(*lane, slice::tail(row, whole), slice::tail(x, whole));
        }
    }
    for (out, lane) in out.iter_mut().zip(lanes) {
        *out = tree(*lane);
    }
}

/// [`dot`] of four rows.
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline)]
pub(super) fn dot_four_rows<T: Scalar>(r0: &[T], r1: &[T], r2: &[T], r3: &[T], x: &[T]) -> [T; 4] {
    let lanes = four_rows(r0, r1, r2, r3, x);
    let whole = x.len() - x.len() % LANES;
    close(
        &lanes,
        [r0, r1, r2, r3].map(|row| slice::tail(row, whole)),
        slice::tail(x, whole),
    )
}

/// [`dot`] of eight rows.
#[inline(always)]
pub(super) fn dot_eight_rows<T: Scalar>(upper: [&[T]; 4], lower: [&[T]; 4], x: &[T]) -> [T; 8] {
    let [l0, l1, l2, l3, l4, l5, l6, l7] = eight_rows(upper, lower, x);
    let whole = x.len() - x.len() % LANES;
    let (rest, x) = (|row| slice::tail(row, whole), slice::tail(x, whole));
    let [s0, s1, s2, s3] = close(&[l0, l1, l2, l3], upper.map(rest), x);
    let [s4, s5, s6, s7] = close(&[l4, l5, l6, l7], lower.map(rest), x);
    [s0, s1, s2, s3, s4, s5, s6, s7]
}

/// The lanes of [`dot`] for eight rows at once, over the whole chunks: as many chains of additions
/// as keep two wide adders busy.
#[inline(always)]
pub(super) fn eight_rows<T: Scalar>(
    upper: [&[T]; 4],
    lower: [&[T]; 4],
    x: &[T],
) -> [[T; LANES]; 8] {
    let chunks = |row| <[T]>::as_chunks::<LANES>(row).0;
    let [a, b, c, d] = upper.map(chunks);
    let [e, f, g, h] = lower.map(chunks);
    let zero = [T::ZERO; LANES];
    let mut l0 = zero;
    let mut l1 = zero;
    let mut l2 = zero;
    let mut l3 = zero;
    let mut l4 = zero;
    let mut l5 = zero;
    let mut l6 = zero;
    let mut l7 = zero;
    let first = a.iter().zip(b).zip(c).zip(d);
    let second = e.iter().zip(f).zip(g).zip(h);
    for ((x, (((a, b), c), d)), (((e, f), g), h)) in
        x.as_chunks::<LANES>().0.iter().zip(first).zip(second)
    {
        l0 = accumulate(l0, a, x);
        l1 = accumulate(l1, b, x);
        l2 = accumulate(l2, c, x);
        l3 = accumulate(l3, d, x);
        l4 = accumulate(l4, e, x);
        l5 = accumulate(l5, f, x);
        l6 = accumulate(l6, g, x);
        l7 = accumulate(l7, h, x);
    }
    [l0, l1, l2, l3, l4, l5, l6, l7]
}

/// The lanes of [`dot`] for four rows at once, over the whole chunks: x is read once, and four
/// chains of additions hide each other's latency.
#[inline(always)]
pub(super) fn four_rows<T: Scalar>(
    r0: &[T],
    r1: &[T],
    r2: &[T],
    r3: &[T],
    x: &[T],
) -> [[T; LANES]; 4] {
    let x = x.as_chunks::<LANES>().0;
    let r0 = r0.as_chunks::<LANES>().0;
    let r1 = r1.as_chunks::<LANES>().0;
    let r2 = r2.as_chunks::<LANES>().0;
    let r3 = r3.as_chunks::<LANES>().0;
    let zero = [T::ZERO; LANES];
    let mut l0 = zero;
    let mut l1 = zero;
    let mut l2 = zero;
    let mut l3 = zero;
    for ((((x, a), b), c), d) in x.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
        l0 = accumulate(l0, a, x);
        l1 = accumulate(l1, b, x);
        l2 = accumulate(l2, c, x);
        l3 = accumulate(l3, d, x);
    }
    [l0, l1, l2, l3]
}

/// What is left after the last whole chunk of four rows, and their tree sums. Not inlined where
/// there are vectors: seen together with the loop before it, it makes compilers pair lanes of
/// different rows, which do not lie beside each other in memory. A Cortex-M has none, and saves the
/// way through memory.
#[cfg_attr(target_arch = "arm", inline(always))]
#[cfg_attr(not(target_arch = "arm"), inline(never))]
fn close<T: Scalar>(lanes: &[[T; LANES]; 4], rows: [&[T]; 4], x: &[T]) -> [T; 4] {
    if cfg!(feature = "dispatch") && x.is_empty() {
        return trees(lanes);
    }
    let mut sums = [T::ZERO; 4];
    for ((sum, lane), row) in sums.iter_mut().zip(lanes).zip(rows) {
        *sum = tree(finish(*lane, row, x));
    }
    sums
}

/// [`tree`] of four rows: lane by lane, which is what vectors add.
#[inline(always)]
fn trees<T: Scalar>(lanes: &[[T; LANES]; 4]) -> [T; 4] {
    let [a, b, c, d] = *lanes;
    let first = [a[0], b[0], c[0], d[0]];
    let second = [a[1], b[1], c[1], d[1]];
    let third = [a[2], b[2], c[2], d[2]];
    let fourth = [a[3], b[3], c[3], d[3]];
    let mut left = first;
    let mut right = third;
    for i in 0..4 {
        left[i] += second[i];
    }
    for i in 0..4 {
        right[i] += fourth[i];
    }
    for i in 0..4 {
        left[i] += right[i];
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matvec_has_the_bits_of_dot() {
        let a: [f64; 7 * 11] = core::array::from_fn(|i| 1.0 / (i as f64 + 1.0) - 0.03);
        let x: [f64; 11] = core::array::from_fn(|i| 0.7 - i as f64 * 0.13);
        let mut out = [0.0; 7];
        matvec(&a, &x, &mut out);
        for (row, y) in a.chunks(11).zip(out) {
            assert_eq!(dot(row, &x).to_bits(), y.to_bits());
        }
        // Fewer outputs than rows, and fewer rows than outputs.
        let mut few = [0.0; 3];
        matvec(&a, &x, &mut few);
        assert_eq!(few, out[..3]);
        let mut many = [7.0; 9];
        matvec(&a, &x, &mut many);
        assert_eq!((&many[..7], &many[7..]), (&out[..], &[7.0, 7.0][..]));
        // Every way that a width may choose, with rests of rows and of columns.
        for width in Width::ALL {
            for (m, rows) in [(1, 77), (2, 23), (3, 20), (4, 19), (7, 11), (11, 7)] {
                let mut out = [0.0; 77];
                matvec_here(width, &a, &x[..m], &mut out[..rows]);
                for (row, y) in a.chunks(m).zip(&out[..rows]) {
                    assert_eq!(
                        dot(row, &x[..m]).to_bits(),
                        y.to_bits(),
                        "{width:?} {rows}x{m}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_largest_magnitude_is_found_wherever_it_is() {
        for len in 0..50 {
            for place in 0..len {
                let mut x = [0.25f64; 50];
                (x[place], x[len / 2]) = (-3.0, if place == len / 2 { -3.0 } else { f64::NAN });
                assert_eq!(largest_magnitude(&x[..len]), 3.0);
            }
        }
        assert_eq!(largest_magnitude::<f32>(&[]), 0.0);
    }

    #[test]
    fn long_products_have_the_bits_of_dot() {
        let x: [f64; 41] = core::array::from_fn(|i| 1.0 / (i as f64 + 1.0) - 0.03);
        for n in 0..=41usize {
            for m in [n, n.saturating_sub(1), 41] {
                let a = &x[..n];
                let b = &x[41 - m..];
                assert_eq!(dot_long(a, b).to_bits(), dot(a, b).to_bits(), "{n} {m}");
            }
        }
    }

    #[test]
    fn dot_adds_in_the_stated_order() {
        let a = [1e16, 1.0, -1e16, 1.0, 3.0f64];
        // Lanes: 1e16 + 3, 1, −1e16, 1.
        assert_eq!(dot(&a, &[1.0; 5]), ((1e16 + 3.0) + 1.0) + (-1e16 + 1.0));
    }
}
