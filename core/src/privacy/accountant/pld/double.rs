//! Numbers of the transform: `f64`, and pairs of them for losses that one `f64` cannot tell from
//! its rounding.
//!
//! At q = 10⁻⁴ and δ = 10⁻¹⁰ no tilt helps: almost all mass stays where nobody was selected, and δ
//! is 10⁻¹⁰ of it. A proven bound on the rounding of a transform in `f64` is 10⁻¹²; in pairs it is
//! 10⁻²⁸.
//!
//! **Numerics**: the sum of two pairs is right to 3·2⁻¹⁰⁶, the product to 8·2⁻¹⁰⁶, both relative to
//! the result (Joldes, Muller, Popescu 2017, Algorithms 6 and 10); 2⁻¹⁰⁰ covers both, and what a
//! complex product makes of them. Products of two `f64` are split after Dekker 1971: no fused
//! operation, the same bits everywhere.
//!
//! **Example**: that of [`Double`].

#![cfg(feature = "alloc")]

use alloc::vec::Vec;
use core::ops::{Add, Mul, Neg, Sub};

use crate::math::Scalar;

/// What a transform calculates with.
///
/// **Example**: that of [`Double`].
pub trait Real:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// Bound on the relative error of one operation.
    const UNIT: f64;
    /// Widens an f64; exact.
    fn from_f64(x: f64) -> Self;
    /// The nearest f64.
    fn to_f64(self) -> f64;
    /// 1/x for x ≠ 0, good to two units.
    fn inverse(self) -> Self;
    /// (cos, sin) of −2π/2ᵏ·j for all j < `count`, and a bound on the absolute error.
    fn roots(k: u32, count: usize) -> (Vec<[Self; 2]>, f64);
}

impl Real for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    fn from_f64(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn inverse(self) -> Self {
        1.0 / self
    }
    fn roots(k: u32, count: usize) -> (Vec<[Self; 2]>, f64) {
        // j/2ᵏ is exact; two roundings of an angle below π, sine and cosine good to 1.5 units.
        let scale = 1.0 / (1u64 << k) as f64;
        let root = |j: usize| {
            let angle = -2.0 * core::f64::consts::PI * (j as f64 * scale);
            [Scalar::cos(angle), Scalar::sin(angle)]
        };
        ((0..count).map(root).collect(), 8.0 * Self::UNIT)
    }
}

/// high + low, |low| at most half a unit of high.
///
/// ```
/// use sordino_core::privacy::accountant::pld::double::{Double, Real};
///
/// fn what_is_left<F: Real>() -> f64 {
///     let (one, little) = (F::from_f64(1.0), F::from_f64(1e-20));
///     (one + little - one).to_f64()
/// }
/// assert_eq!(what_is_left::<f64>(), 0.0);
/// assert!((what_is_left::<Double>() / 1e-20 - 1.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Double {
    high: f64,
    low: f64,
}

/// a + b and what it lost; Knuth.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The same for |a| ≥ |b|; Dekker.
#[inline(always)]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// The upper and lower 26 bits.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a; // 2²⁷ + 1
    let high = scaled - (scaled - a);
    (high, a - high)
}

#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a1, a2) = split(a);
    let (b1, b2) = split(b);
    (product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)
}

impl Add for Double {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        let (high, low) = two_sum(self.high, o.high);
        let (t, e) = two_sum(self.low, o.low);
        let (high, low) = fast_two_sum(high, low + t);
        let (high, low) = fast_two_sum(high, low + e);
        Double { high, low }
    }
}

impl Neg for Double {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Double {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Sub for Double {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Mul for Double {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        let (high, low) = two_product(self.high, o.high);
        let (high, low) = fast_two_sum(high, low + (self.high * o.low + self.low * o.high));
        Double { high, low }
    }
}

impl Double {
    /// √x by one step of Newton from the `f64` root: error below 2⁻¹⁰⁰.
    fn sqrt(self) -> Self {
        let root = Scalar::sqrt(self.high);
        let rest = self - Self::from_f64(root) * Self::from_f64(root);
        Self::from_f64(root) + Self::from_f64(rest.high / (2.0 * root))
    }
}

impl Real for Double {
    const UNIT: f64 = 7.888609052210118e-31; // 2⁻¹⁰⁰
    fn from_f64(x: f64) -> Self {
        Double { high: x, low: 0.0 }
    }
    fn to_f64(self) -> f64 {
        self.high
    }
    /// Two steps of Newton.
    fn inverse(self) -> Self {
        let mut y = Self::from_f64(1.0 / self.high);
        for _ in 0..2 {
            y = y + y * (Self::from_f64(1.0) - self * y);
        }
        y
    }
    fn roots(k: u32, count: usize) -> (Vec<[Self; 2]>, f64) {
        let one = Self::from_f64(1.0);
        // −2π/2ᵏ by halving: cos(x/2) = √((1 + cos x)/2), sin(x/2) = sin x/(2 cos(x/2)), from a
        // quarter turn.
        let mut cos = Self::default();
        let mut sin = -one;
        match k {
            0 => (cos, sin) = (one, Self::default()),
            1 => (cos, sin) = (-one, Self::default()),
            _ => {
                for _ in 2..k {
                    cos = ((one + cos) * Self::from_f64(0.5)).sqrt();
                    sin = sin * Self::from_f64(0.5) * cos.inverse();
                }
            }
        }
        let mut roots = Vec::with_capacity(count);
        let mut at = [one, Self::default()];
        for _ in 0..count {
            roots.push(at);
            at = [at[0] * cos - at[1] * sin, at[0] * sin + at[1] * cos];
        }
        // Six operations a halving, k of them; the first root's error and a product's for each step
        // of the table.
        (
            roots,
            (6.0 * f64::from(k) + 6.0) * count as f64 * Self::UNIT,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_hold_what_one_number_loses() {
        let third = Double::from_f64(3.0).inverse();
        let rest = third * Double::from_f64(3.0) - Double::from_f64(1.0);
        assert!(rest.high.abs() < 1e-30, "{rest:?}");
        let tiny = Double::from_f64(1.0) + Double::from_f64(1e-25) - Double::from_f64(1.0);
        assert!((tiny.high / 1e-25 - 1.0).abs() < 1e-6);
        let root = Double::from_f64(2.0).sqrt();
        assert!((root * root - Double::from_f64(2.0)).high.abs() < 1e-30);
        // The second half of π from a root: sin(2π/2⁶⁰)·2⁶⁰ = 2π, to the last pair.
        let (roots, _) = Double::roots(60, 2);
        let pi = roots[1][1] * Double::from_f64(-((1u64 << 59) as f64));
        assert!(
            (pi.high - core::f64::consts::PI).abs() < 1e-15
                && (pi.low / 1.2246467991473532e-16 - 1.0).abs() < 1e-6
        );
    }

    #[test]
    fn roots_of_both_agree_and_close_the_circle() {
        let (short, error) = f64::roots(10, 512);
        let (long, _) = Double::roots(10, 512);
        for (a, b) in short.iter().zip(&long) {
            assert!(
                (a[0] - b[0].to_f64()).abs() <= error + 2e-16
                    && (a[1] - b[1].to_f64()).abs() <= error + 2e-16
            );
            let norm = b[0] * b[0] + b[1] * b[1] - Double::from_f64(1.0);
            assert!(norm.high.abs() < 1e-27);
        }
    }
}
