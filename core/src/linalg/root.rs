//! The square-root information form [R | c]: Σ = RᵀR, Rᵀc = Σ φᵢyᵢ, R upper triangular, packed by
//! rows.
//!
//! Carrying the right-hand side along the rotations makes the posterior mean one back substitution,
//! R⁻¹c, and a draw another: R⁻¹(c + √λ z). Backward stable, also in `f32` at low noise, where
//! covariance updates are not (Golub and Van Loan, chapter 6; Gill, Golub, Murray and Saunders
//! 1974).
//!
//! ```
//! use sordino_core::linalg::root::{reset, rotate_in, solve};
//!
//! // Ridge regression on one feature, λ = 1: (3·5)/(3² + 1).
//! let (mut root, mut weights) = ([0f64], [0.0]);
//! reset(&mut root, &mut weights, 1.0);
//! rotate_in(&mut root, &mut weights, &mut [3.0], 5.0);
//! solve(&root, &mut weights);
//! assert!((weights[0] - 1.5).abs() < 1e-14);
//! ```

use super::dot::dot_long;
use super::slice::{split, tail_mut};
use super::{NotPositiveDefinite, dot, packed_len};
use crate::dispatch;
use crate::math::Scalar;

/// Sets R = √λ·I and c = 0 for order `c.len()`: Σ = λI, no data.
pub fn reset<T: Scalar>(root: &mut [T], c: &mut [T], regularization: T) {
    let m = c.len();
    c.fill(T::ZERO);
    root.fill(T::ZERO);
    let diagonal = regularization.sqrt();
    let mut start = 0;
    for i in 0..m {
        if let Some(entry) = root.get_mut(start) {
            *entry = diagonal;
        }
        start += m - i;
    }
}

/// Rotates one observation in: Σ ← Σ + φφᵀ, Rᵀc ← Rᵀc + φy. `phi` is destroyed.
///
/// Returns what is left of y, the part of the residual that the posterior explains by noise.
///
/// **Cost**: 3m² + O(m) flops, m square roots.
pub fn rotate_in<T: Scalar>(root: &mut [T], c: &mut [T], phi: &mut [T], y: T) -> T {
    dispatch::run_short(
        #[inline(always)]
        |_| rotate_in_here(root, c, phi, y),
    )
}

/// [`rotate_in`] inside of a kernel. With the feature `dispatch` four rows of R are rotated while φ
/// is read and written once: a device would run out of registers.
#[inline(always)]
fn rotate_in_here<T: Scalar>(root: &mut [T], c: &mut [T], phi: &mut [T], y: T) -> T {
    let mut rest = root;
    let mut c = c;
    let mut phi = phi;
    let mut y = y;
    while cfg!(feature = "dispatch")
        && phi.len() >= 4
        && c.len() >= 4
        && rest.len() > 4 * (phi.len() - 2)
    {
        let (rows, tail) = split(core::mem::take(&mut rest), 4 * phi.len() - 6);
        let (four, others) = split(core::mem::take(&mut c), 4);
        rotate_in_four(rows, four, phi, &mut y);
        (rest, c) = (tail, others);
        phi = tail_mut(core::mem::take(&mut phi), 4);
    }
    for c_k in c.iter_mut() {
        let Some((row, tail)) = core::mem::take(&mut rest).split_at_mut_checked(phi.len()) else {
            return y;
        };
        rest = tail;
        let (Some((diagonal, row)), Some((head, others))) = (
            row.split_first_mut(),
            core::mem::take(&mut phi).split_first_mut(),
        ) else {
            return y;
        };
        let (cos, sin) = onto(diagonal, *head);
        turn(cos, sin, c_k, &mut y);
        rotate(cos, sin, row, others);
        phi = others;
    }
    y
}

/// Rotates `N` observations in, one after the other: the bits of as many calls of [`rotate_in`].
/// `phis` are destroyed.
///
/// A rotation waits for the square root and the division of the row before. While the first
/// observation is at a block of rows, the second is at the block before, and so on: what one waits
/// for, another computes.
///
/// **Cost**: N times that of [`rotate_in`].
pub(crate) fn rotate_all_in<T: Scalar, const N: usize>(
    root: &mut [T],
    c: &mut [T],
    phis: [&mut [T]; N],
    ys: [T; N],
) {
    dispatch::run_short(
        #[inline(always)]
        |_| rotate_all_in_here(root, c, phis, ys),
    );
}

#[inline(always)]
fn rotate_all_in_here<T: Scalar, const N: usize>(
    root: &mut [T],
    c: &mut [T],
    mut phis: [&mut [T]; N],
    mut ys: [T; N],
) {
    let mut rest = root;
    let mut c = c;
    let mut left = phis.iter().map(|phi| phi.len()).min().unwrap_or(0);
    let mut blocks: [Option<(&mut [T], &mut [T])>; N] = [const { None }; N];
    loop {
        blocks.rotate_right(1);
        blocks[0] = None;
        if left >= 4 && c.len() >= 4 && rest.len() > 4 * (left - 2) {
            let (rows, tail) = split(core::mem::take(&mut rest), 4 * left - 6);
            let (four, others) = split(core::mem::take(&mut c), 4);
            blocks[0] = Some((rows, four));
            (rest, c, left) = (tail, others, left - 4);
        }
        let mut idle = true;
        for ((block, phi), y) in blocks.iter_mut().zip(&mut phis).zip(&mut ys) {
            if let Some((rows, four)) = block {
                rotate_in_four(rows, four, phi, y);
                *phi = tail_mut(core::mem::take(phi), 4);
                idle = false;
            }
        }
        if idle {
            break;
        }
    }
    for (phi, y) in phis.into_iter().zip(ys) {
        rotate_in_here(&mut *rest, &mut *c, phi, y);
    }
}

/// [`rotate_in`] for four rows, which are of m, m − 1, m − 2 and m − 3 numbers for φ of m.
#[inline(always)]
fn rotate_in_four<T: Scalar>(rows: &mut [T], c: &mut [T], phi: &mut [T], y: &mut T) {
    let m = phi.len();
    let (r0, rows) = split(rows, m);
    let (r1, rows) = split(rows, m.saturating_sub(1));
    let (r2, r3) = split(rows, m.saturating_sub(2));
    let (
        Some(([d0, a01, a02, a03], r0)),
        Some(([d1, a12, a13], r1)),
        Some(([d2, a23], r2)),
        Some(([d3], r3)),
    ) = (
        r0.split_first_chunk_mut(),
        r1.split_first_chunk_mut(),
        r2.split_first_chunk_mut(),
        r3.split_first_chunk_mut(),
    )
    else {
        return;
    };
    let (Some(([x0, x1, x2, x3], phi)), Some(([c0, c1, c2, c3], _))) =
        (phi.split_first_chunk_mut(), c.split_first_chunk_mut())
    else {
        return;
    };
    let (cos0, sin0) = onto(d0, *x0);
    turn(cos0, sin0, a01, x1);
    turn(cos0, sin0, a02, x2);
    turn(cos0, sin0, a03, x3);
    turn(cos0, sin0, c0, y);
    let (cos1, sin1) = onto(d1, *x1);
    turn(cos1, sin1, a12, x2);
    turn(cos1, sin1, a13, x3);
    turn(cos1, sin1, c1, y);
    let (cos2, sin2) = onto(d2, *x2);
    turn(cos2, sin2, a23, x3);
    turn(cos2, sin2, c2, y);
    let (cos3, sin3) = onto(d3, *x3);
    turn(cos3, sin3, c3, y);
    turn_rows(
        [(cos0, sin0), (cos1, sin1), (cos2, sin2), (cos3, sin3)],
        [r0, r1, r2, r3],
        phi,
    );
}

/// Four rotations of (rowᵢ, φ), one after the other, element by element.
///
/// Chunks are counted from the end: the next four rows then load what these stored in whole chunks,
/// where a processor hands stored numbers on without waiting for the cache. What is left at the
/// beginning is rotated first: the next four rotations begin with it.
#[inline(always)]
fn turn_rows<T: Scalar>(rotations: [(T, T); 4], rows: [&mut [T]; 4], phi: &mut [T]) {
    let [(r0, a8), (r1, b8), (r2, c8), (r3, d8)] = rows.map(|row| row.as_rchunks_mut::<8>());
    let (rest, phi8) = phi.as_rchunks_mut::<8>();
    let [(r0, a), (r1, b), (r2, c), (r3, d)] =
        [r0, r1, r2, r3].map(|row| row.as_rchunks_mut::<4>());
    let (rest, phi) = rest.as_rchunks_mut::<4>();
    let [r0, r1, r2, r3] = [r0, r1, r2, r3].map(|row| row.as_chunks_mut::<1>().0);
    for ((((x, a), b), c), d) in rest
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(r0)
        .zip(r1)
        .zip(r2)
        .zip(r3)
    {
        turn_chunk(rotations, [a, b, c, d], x);
    }
    for ((((x, a), b), c), d) in phi.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        turn_chunk(rotations, [a, b, c, d], x);
    }
    for ((((x, a), b), c), d) in phi8.iter_mut().zip(a8).zip(b8).zip(c8).zip(d8) {
        turn_chunk(rotations, [a, b, c, d], x);
    }
}

/// [`turn_rows`] for N elements, by value: what is updated in place stays in memory.
#[inline(always)]
fn turn_chunk<T: Scalar, const N: usize>(
    rotations: [(T, T); 4],
    rows: [&mut [T; N]; 4],
    phi: &mut [T; N],
) {
    let mut x = *phi;
    for (row, (cos, sin)) in rows.into_iter().zip(rotations) {
        let old = *row;
        let mut new = x;
        for i in 0..N {
            new[i] = cos * old[i] + sin * x[i];
        }
        for i in 0..N {
            x[i] = cos * x[i] - sin * old[i];
        }
        *row = new;
    }
    *phi = x;
}

/// Takes one observation out again, for a sliding window: Σ ← Σ − φφᵀ, Rᵀc ← Rᵀc − φy. `phi` is
/// destroyed.
///
/// **Parameters**: `scratch` holds m numbers.
///
/// **Errors**: [`NotPositiveDefinite`] unless 1 − φᵀΣ⁻¹φ > `threshold`, decided before anything is
/// changed: a downdate can be impossible or have lost its digits (√ε is a fair threshold); the
/// caller then rotates what is left of the window into a fresh root.
///
/// **Cost**: 4m² + O(m) flops. **Source**: LINPACK dchdd (Stewart 1979).
pub fn rotate_out<T: Scalar>(
    root: &mut [T],
    c: &mut [T],
    phi: &mut [T],
    y: T,
    scratch: &mut [T],
    threshold: T,
) -> Result<(), NotPositiveDefinite> {
    let m = c.len();
    let refuse = |pivot: T| NotPositiveDefinite {
        row: m,
        pivot: pivot.to_f64(),
        threshold: threshold.to_f64(),
    };
    let (Some(p), Some(swept)) = (phi.get_mut(..m), scratch.get_mut(..m)) else {
        return Err(refuse(T::ZERO));
    };
    solve_transposed(root, p);
    let rest = T::ONE - dot(p, p);
    if !(rest > threshold && rest > T::ZERO) {
        return Err(refuse(rest));
    }
    // Q[R | c; 0 | η] = [R' | c'; φ | y] for the rotations that carry (p, √rest) to (0, 1).
    let mut alpha = rest.sqrt();
    let mut swept_c = (y - dot(p, c)) / alpha;
    swept.fill(T::ZERO);
    let mut left = match root.get_mut(..packed_len(m)) {
        Some(left) => left,
        None => return Err(refuse(T::ZERO)),
    };
    for (k, (p, c)) in p.iter().zip(c).enumerate().rev() {
        let (head, row) = split(left, left.len().saturating_sub(m - k));
        left = head;
        let radius = (alpha * alpha + *p * *p).sqrt();
        let cos = alpha / radius;
        let sin = *p / radius;
        alpha = radius;
        // With the sign of the sine turned this is the rotation of an update.
        rotate(cos, -sin, row, tail_mut(swept, k));
        let x = *c;
        let s = swept_c;
        *c = cos * x - sin * s;
        swept_c = cos * s + sin * x;
    }
    Ok(())
}

/// The rotation (cos, sin) that brings (diagonal, head) to (radius, 0); sets the diagonal.
#[inline(always)]
fn onto<T: Scalar>(diagonal: &mut T, head: T) -> (T, T) {
    let radius = (*diagonal * *diagonal + head * head).sqrt();
    let rotation = (*diagonal / radius, head / radius);
    *diagonal = radius;
    rotation
}

/// (a, b) ← (cos·a + sin·b, cos·b − sin·a).
#[inline(always)]
fn turn<T: Scalar>(cos: T, sin: T, a: &mut T, b: &mut T) {
    let x = *a;
    let y = *b;
    *a = cos * x + sin * y;
    *b = cos * y - sin * x;
}

/// (a, b) ← (cos·a + sin·b, cos·b − sin·a), element by element.
#[cfg_attr(feature = "dispatch", inline(always))]
#[cfg_attr(not(feature = "dispatch"), inline)]
fn rotate<T: Scalar>(cos: T, sin: T, a: &mut [T], b: &mut [T]) {
    a.iter_mut().zip(b).for_each(|(a, b)| turn(cos, sin, a, b));
}

/// b ← R⁻¹b, order `b.len()`. **Cost**: m² flops.
pub fn solve<T: Scalar>(root: &[T], b: &mut [T]) {
    dispatch::run_short(
        #[inline(always)]
        |_| solve_here(root, b),
    );
}

#[inline(always)]
fn solve_here<T: Scalar>(root: &[T], b: &mut [T]) {
    let m = b.len();
    let Some(mut rest) = root.get(..packed_len(m)) else {
        return;
    };
    for i in (0..m).rev() {
        let Some((head, row)) = rest.split_at_checked(rest.len() - (m - i)) else {
            return;
        };
        rest = head;
        let (current, done) = split(b, i + 1);
        if let (Some((diagonal, row)), Some(x)) = (row.split_first(), current.last_mut()) {
            *x = (*x - dot_long(row, done)) / *diagonal;
        }
    }
}

/// b ← R⁻ᵀb, order `b.len()`; ‖R⁻ᵀφ‖² = φᵀΣ⁻¹φ. **Cost**: m² flops.
pub fn solve_transposed<T: Scalar>(root: &[T], b: &mut [T]) {
    dispatch::run_short(
        #[inline(always)]
        |_| solve_transposed_here(root, b),
    );
}

#[inline(always)]
fn solve_transposed_here<T: Scalar>(root: &[T], b: &mut [T]) {
    let m = b.len();
    let mut rest = root;
    for i in 0..m {
        let Some((row, tail)) = rest.split_at_checked(m - i) else {
            return;
        };
        rest = tail;
        let (current, later) = split(b, i + 1);
        if let (Some((diagonal, row)), Some(x)) = (row.split_first(), current.last_mut()) {
            *x /= *diagonal;
            super::axpy(-*x, row, later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_build_the_normal_equations() {
        const M: usize = 3;
        let rows = [
            [1.0, 0.5, -0.3],
            [0.2, -1.0, 0.7],
            [0.4, 0.4, 0.4],
            [2.0, 0.0, -1.0f64],
        ];
        let y = [0.3, -1.2, 2.0, 0.7];
        let mut root = [0.0; packed_len(M)];
        let mut c = [0.0; M];
        reset(&mut root, &mut c, 0.1);
        for (row, y) in rows.iter().zip(y) {
            rotate_in(&mut root, &mut c, &mut row.clone(), y);
        }
        solve(&root, &mut c);
        // (ΦᵀΦ + λI) ν = Φᵀy
        for i in 0..M {
            let mut residual = 0.1 * c[i];
            for (row, y) in rows.iter().zip(y) {
                residual += row[i] * (dot(row, &c) - y);
            }
            assert!(residual.abs() < 1e-13, "{residual}");
        }
        let mut phi = rows[0];
        solve_transposed(&root, &mut phi);
        assert!(sum(&phi) < 1.0);
    }

    #[test]
    fn rotating_out_undoes_rotating_in_or_refuses() {
        const M: usize = 4;
        let row = |i: usize| -> [f64; M] {
            core::array::from_fn(|j| 0.9 - 0.37 * ((i * 5 + j * 3) % 7) as f64)
        };
        let build = |from: usize| {
            let mut root = [0.0; packed_len(M)];
            let mut c = [0.0; M];
            reset(&mut root, &mut c, 0.05);
            (from..9).for_each(|i| {
                rotate_in(&mut root, &mut c, &mut row(i), i as f64 - 3.0);
            });
            (root, c)
        };
        let (mut root, mut c) = build(0);
        let (expected, expected_c) = build(2);
        let mut scratch = [0.0; M];
        for i in 0..2 {
            rotate_out(
                &mut root,
                &mut c,
                &mut row(i),
                i as f64 - 3.0,
                &mut scratch,
                1e-8,
            )
            .unwrap();
        }
        for (x, y) in root
            .iter()
            .chain(&c)
            .zip(expected.iter().chain(&expected_c))
        {
            assert!((x - y).abs() < 1e-12, "{x} {y}");
        }
        // What never was in cannot be taken out.
        let before = (root, c);
        let error =
            rotate_out(&mut root, &mut c, &mut [9.0; M], 1.0, &mut scratch, 1e-8).unwrap_err();
        assert!(error.pivot < 0.0);
        assert_eq!((root, c), before);
        assert!(rotate_out(&mut root, &mut c, &mut row(3), 0.0, &mut [], 1e-8).is_err());
    }

    #[test]
    fn observations_rotated_in_together_have_the_bits_of_one_after_the_other() {
        const M: usize = 37;
        let row = |i: usize| -> [f32; M] {
            core::array::from_fn(|j| 0.9 - 0.11 * ((i * 5 + j * 3) % 17) as f32)
        };
        for m in 0..=M {
            let mut root = [0.0; packed_len(M)];
            let mut c = [0.0; M];
            reset(&mut root[..packed_len(m)], &mut c[..m], 0.05);
            let mut expected = root;
            let mut expected_c = c;
            let [mut a, mut b, mut d] = [row(1), row(2), row(3)];
            for (i, phi) in [a, b, d].iter_mut().enumerate() {
                rotate_in(
                    &mut expected[..packed_len(m)],
                    &mut expected_c[..m],
                    &mut phi[..m],
                    i as f32 - 0.4,
                );
            }
            let phis = [&mut a[..m], &mut b[..m], &mut d[..m]];
            rotate_all_in(
                &mut root[..packed_len(m)],
                &mut c[..m],
                phis,
                [-0.4, 0.6, 1.6],
            );
            assert_eq!(root.map(f32::to_bits), expected.map(f32::to_bits), "{m}");
            assert_eq!(c.map(f32::to_bits), expected_c.map(f32::to_bits), "{m}");
        }
    }

    fn sum(x: &[f64]) -> f64 {
        dot(x, x)
    }
}
