//! Exponentials of four digits, for bounds: an exponent's whole part as a number's own, a cubic for
//! the rest.

use crate::linalg::{dot, slice, sum_of_squares};
use crate::math::Scalar;

/// The relative error of [`roughly`].
pub(super) const ROUGHNESS: f64 = 1.2e-4;
/// 2ᶠ, 0 ≤ f ≤ 1, by powers of f, lowest first: least relative error, 7.5e-5 (Remez).
const CUBIC: [f64; 4] = [
    0.999_925_218_6,
    0.695_833_540_5,
    0.226_067_155_4,
    0.078_024_522_67,
];

/// Sums of aᵢk and bᵢk over points and their weights aᵢ, bᵢ and cᵢ, of which the exponent of k has
/// the last, [`roughly`].
#[inline(always)]
pub(super) fn add<T: Scalar, P>(
    points: impl Iterator<Item = P>,
    weights: &[[T; 3]],
    exponent: impl Fn(P, T) -> T,
) -> (T, T) {
    let mut first = T::ZERO;
    let mut second = T::ZERO;
    for (point, [a, b, c]) in points.zip(weights) {
        let k = roughly(exponent(point, *c));
        first += *a * k;
        second += *b * k;
    }
    (first, second)
}

/// Sums of aᵢk and bᵢk over a row-major list of points, k = 2^(scale·|x − pointᵢ|²), [`roughly`];
/// cᵢ is scale·|pointᵢ|².
#[inline]
pub(super) fn isotropic_sums<T: Scalar>(
    scale: T,
    x: &[T],
    points: &[T],
    weights: &[[T; 3]],
) -> (T, T) {
    let offset = scale * sum_of_squares(x);
    let twice = -(scale + scale);
    match *x {
        [x0, x1, x2] => {
            let (x0, x1, x2) = (twice * x0, twice * x1, twice * x2);
            let points = points.as_chunks().0.iter();
            add(points, weights, |[p0, p1, p2]: &[T; 3], own| {
                offset + own + x0 * *p0 + x1 * *p1 + x2 * *p2
            })
        }
        _ => add(slice::rows(points, x.len()), weights, |point: &[T], own| {
            offset + own + twice * dot(x, point)
        }),
    }
}

/// 2ᵗ for −126 ≤ t ≤ 0 to a relative error of [`ROUGHNESS`]; 0 below.
#[inline(always)]
fn roughly<T: Scalar>(t: T) -> T {
    let number = T::from_f64;
    let shifted = t + number(127.0);
    // Whole numbers below 0 are 0, of which the power is 0, too.
    let whole = shifted.to_u32();
    let rest = shifted - T::from_u32(whole);
    let power = f32::from_bits(whole << 23);
    let cubic = ((number(CUBIC[3]) * rest + number(CUBIC[2])) * rest + number(CUBIC[1])) * rest
        + number(CUBIC[0]);
    cubic * number(f64::from(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_of_the_exponential_hold() {
        let mut worst = 0.0f64;
        for i in 0..=500_000u32 {
            let t = -126.0 * f64::from(i) / 500_000.0;
            let exact = libm::exp2(t);
            worst = worst.max((roughly(t) / exact - 1.0).abs());
            let single = t as f32;
            let exact = libm::exp2(f64::from(single));
            worst = worst.max((f64::from(roughly(single)) / exact - 1.0).abs());
        }
        assert!(worst > 7e-5 && worst < 0.9 * ROUGHNESS, "{worst}");
        for t in [-126.5f32, -127.5, -1e4, -1e12] {
            assert_eq!((roughly(t), roughly(f64::from(t))), (0.0, 0.0), "{t}");
        }
    }
}
