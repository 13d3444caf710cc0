//! The one door to transcendental functions.
//!
//! Addition, subtraction, multiplication, division and comparison are IEEE 754 on every target that
//! sordino supports; everything else differs between system libraries. So this file alone calls
//! [`libm`] (pinned exactly), and where speed asks for it has polynomials of its own: plain
//! arithmetic, hence the same bits in debug and release, on x86-64, on a Cortex-M with or without a
//! floating-point unit, and in WebAssembly.
//!
//! **Accuracy** (tested below against `libm` in a wider format over the whole range stated):
//!
//! | function | range | error |
//! |---|---|---|
//! | [`Scalar::exp_nonpositive`] `f64` | `x ≤ 0` | 2 units in the last place down to 1e-307, 0 below −708 |
//! | [`Scalar::exp_nonpositive`] `f32` | `x ≤ 0` | 2 units in the last place down to 1e-37, 0 below −87 |
//! | [`Scalar::cos`], [`Scalar::sin`] `f32` | every finite `x` | 1.2e-7 absolute, no `f64` inside |
//! | everything else | | that of `libm` 0.2.16 |
//!
//! ```
//! use sordino_core::math::{Scalar, erf, ln_gamma};
//!
//! assert_eq!((erf(0.0), Scalar::max(1f32, 2.0)), (0.0, 2.0));
//! assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-13); // Γ(5) = 4!
//! ```

use core::fmt::{Debug, Display};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The correctly rounded square root, which every IEEE 754 processor has: one result, whatever the
/// way to it.
///
/// `libm` writes the instruction down in its SSE form, which cannot be vectorised and waits for
/// hundreds of cycles amidst wide vectors; where there may be such, the compiler chooses the form.
#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
#[allow(clippy::disallowed_methods)]
mod square_root {
    #[inline(always)]
    pub fn double(x: f64) -> f64 {
        x.sqrt()
    }
    #[inline(always)]
    pub fn single(x: f32) -> f32 {
        x.sqrt()
    }
}
#[cfg(not(all(feature = "dispatch", target_arch = "x86_64")))]
mod square_root {
    pub use libm::{sqrt as double, sqrtf as single};
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating-point format the library computes in: [`f32`] on devices with a single-precision
/// unit, [`f64`] on hosts.
///
/// Sealed: the bit-for-bit promise of the library is tested for these two types only.
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// The number zero.
    const ZERO: Self;
    /// The number one.
    const ONE: Self;
    /// Distance from 1 to the next larger number.
    const EPSILON: Self;
    /// +∞, the start of every minimum.
    const INFINITY: Self;
    /// Bytes of the little-endian form, 4 or 8.
    const BYTES: usize;
    /// Name in messages and tables, `"f32"` or `"f64"`.
    const NAME: &'static str;

    /// The nearest number of this format (ties to even).
    fn from_f64(x: f64) -> Self;
    /// The same number as `f64`; exact.
    fn to_f64(self) -> f64;
    /// A count as a number; exact below 2²⁴.
    fn from_u32(x: u32) -> Self;
    /// The integer part as a count: negative numbers and NaN give 0, large ones saturate.
    fn to_u32(self) -> u32;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Absolute value |x|.
    fn abs(self) -> Self;
    /// Correctly rounded square root.
    fn sqrt(self) -> Self;
    /// Exponential eˣ by `libm`.
    fn exp(self) -> Self;
    /// eˣ for x ≤ 0 by a branch-free polynomial that compilers vectorise; for kernels. NaN and x >
    /// 0 give unspecified values.
    fn exp_nonpositive(self) -> Self;
    /// ln x by `libm`.
    fn ln(self) -> Self;
    /// Power xʸ by `libm`.
    fn pow(self, y: Self) -> Self;
    /// cos x, x in radians. `f32`: integer range reduction, no `f64` arithmetic; non-finite gives
    /// NaN.
    fn cos(self) -> Self;
    /// sin x, x in radians. `f32`: integer range reduction, no `f64` arithmetic; non-finite gives
    /// NaN.
    fn sin(self) -> Self;
    /// Appends the little-endian bytes at the front of `out`, which must hold [`Scalar::BYTES`]
    /// bytes; extra bytes stay.
    fn write_le(self, out: &mut [u8]);
    /// Reads [`Scalar::BYTES`] little-endian bytes; a shorter slice reads as zero bytes at the end.
    fn read_le(bytes: &[u8]) -> Self;
    /// A number in [0, 1) from the top bits of a random word: 53 for `f64`, 24 for `f32`.
    fn unit(word: u64) -> Self;
    /// Two independent numbers in [0, 1): `f32` takes both from the halves of one word, `f64` one
    /// word each.
    fn unit_pair(next: impl FnMut() -> u64) -> (Self, Self);

    /// The larger of two numbers; if they do not compare, `self`.
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
    /// The smaller of two numbers; if they do not compare, `self`.
    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f64::EPSILON;
    const INFINITY: Self = f64::INFINITY;
    const BYTES: usize = 8;
    const NAME: &'static str = "f64";

    #[inline]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn from_u32(x: u32) -> Self {
        f64::from(x)
    }
    #[inline]
    fn to_u32(self) -> u32 {
        self as u32
    }
    #[inline]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        square_root::double(self)
    }
    #[inline]
    fn exp(self) -> Self {
        libm::exp(self)
    }
    #[inline(always)]
    fn exp_nonpositive(self) -> Self {
        // x = n·ln 2 + r, |r| ≤ ln 2 / 2; n by the addition that pushes the fraction out of the
        // significand.
        const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2⁵²
        const LN2_HIGH: f64 = 6.931_471_803_691_238e-1; // 32 significant bits: n · LN2_HIGH is exact
        const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        let shifted = self * core::f64::consts::LOG2_E + SHIFT;
        let n = shifted - SHIFT;
        let r = (self - n * LN2_HIGH) - n * LN2_LOW;
        let mut p = 1.0 / 6_227_020_800.0;
        p = p * r + 1.0 / 479_001_600.0;
        p = p * r + 1.0 / 39_916_800.0;
        p = p * r + 1.0 / 3_628_800.0;
        p = p * r + 1.0 / 362_880.0;
        p = p * r + 1.0 / 40_320.0;
        p = p * r + 1.0 / 5_040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
        if self < -708.0 { 0.0 } else { p * power }
    }
    #[inline]
    fn ln(self) -> Self {
        libm::log(self)
    }
    #[inline]
    fn pow(self, y: Self) -> Self {
        libm::pow(self, y)
    }
    #[inline]
    fn cos(self) -> Self {
        libm::cos(self)
    }
    #[inline]
    fn sin(self) -> Self {
        libm::sin(self)
    }
    #[inline]
    fn write_le(self, out: &mut [u8]) {
        for (to, from) in out.iter_mut().zip(self.to_le_bytes()) {
            *to = from;
        }
    }
    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        let mut raw = [0; 8];
        for (to, from) in raw.iter_mut().zip(bytes) {
            *to = *from;
        }
        f64::from_le_bytes(raw)
    }
    #[inline]
    fn unit(word: u64) -> Self {
        (word >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0) // 2⁻⁵³
    }
    #[inline]
    fn unit_pair(mut next: impl FnMut() -> u64) -> (Self, Self) {
        let first = Self::unit(next());
        (first, Self::unit(next()))
    }
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const EPSILON: Self = f32::EPSILON;
    const INFINITY: Self = f32::INFINITY;
    const BYTES: usize = 4;
    const NAME: &'static str = "f32";

    #[inline]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn from_u32(x: u32) -> Self {
        x as f32
    }
    #[inline]
    fn to_u32(self) -> u32 {
        self as u32
    }
    #[inline]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        square_root::single(self)
    }
    #[inline]
    fn exp(self) -> Self {
        libm::expf(self)
    }
    #[inline(always)]
    fn exp_nonpositive(self) -> Self {
        const SHIFT: f32 = 12_582_912.0; // 1.5 · 2²³
        const LN2_HIGH: f32 = 0.693_359_4; // 11 significant bits: n · LN2_HIGH is exact
        const LN2_LOW: f32 = -2.121_944_4e-4;
        let shifted = self * core::f32::consts::LOG2_E + SHIFT;
        let n = shifted - SHIFT;
        let r = (self - n * LN2_HIGH) - n * LN2_LOW;
        let mut p = 1.0 / 5_040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
        if self < -87.0 { 0.0 } else { p * power }
    }
    #[inline]
    fn ln(self) -> Self {
        libm::logf(self)
    }
    #[inline]
    fn pow(self, y: Self) -> Self {
        libm::powf(self, y)
    }
    #[inline]
    fn cos(self) -> Self {
        if !f32::is_finite(self) {
            return f32::NAN;
        }
        cos_of_turns(turns(self))
    }
    #[inline]
    fn sin(self) -> Self {
        if !f32::is_finite(self) {
            return f32::NAN;
        }
        // sin x = cos(x − ¼ turn)
        cos_of_turns(turns(self).wrapping_sub(1 << 30))
    }
    #[inline]
    fn write_le(self, out: &mut [u8]) {
        for (to, from) in out.iter_mut().zip(self.to_le_bytes()) {
            *to = from;
        }
    }
    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        let mut raw = [0; 4];
        for (to, from) in raw.iter_mut().zip(bytes) {
            *to = *from;
        }
        f32::from_le_bytes(raw)
    }
    #[inline]
    fn unit(word: u64) -> Self {
        (word >> 40) as f32 * (1.0 / 16_777_216.0) // 2⁻²⁴
    }
    #[inline]
    fn unit_pair(mut next: impl FnMut() -> u64) -> (Self, Self) {
        let word = next();
        (Self::unit(word), Self::unit(word << 32))
    }
}

/// The fraction of a turn in x radians, `frac(x / 2π) · 2³²`, by integers alone (Payne and Hanek
/// 1983).
///
/// With x = m·2ᵉ and m < 2²⁴, the bits of 1/2π above 2^(−e) only add whole turns to m·2ᵉ/2π and are
/// never read; the 64 bits below them decide the fraction to within 2²⁴·2⁻⁶⁴ of a turn.
#[inline]
fn turns(x: f32) -> u32 {
    /// The first 192 bits of 1/2π after the binary point.
    const INVERSE_TWO_PI: [u32; 6] = [
        0x28be_60db,
        0x9391_054a,
        0x7f09_d5f4,
        0x7d4d_3770,
        0x36d8_a566,
        0x4f10_e410,
    ];
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    let significand = (bits & 0x007f_ffff) | if exponent > 0 { 0x0080_0000 } else { 0 };
    let e = exponent.max(1) - 150;
    let window = if e <= 0 {
        let first = u64::from(INVERSE_TWO_PI[0]) << 32 | u64::from(INVERSE_TWO_PI[1]);
        if e > -64 { first >> -e } else { 0 }
    } else {
        let word = e as usize / 32;
        let bit = e as usize % 32;
        let at = |i: usize| u64::from(*INVERSE_TWO_PI.get(i).unwrap_or(&0));
        let high = at(word) << 32 | at(word + 1);
        if bit == 0 {
            high
        } else {
            high << bit | at(word + 2) >> (32 - bit)
        }
    };
    let fraction = (window.wrapping_mul(u64::from(significand)) >> 32) as u32;
    if bits >> 31 == 1 {
        fraction.wrapping_neg()
    } else {
        fraction
    }
}

/// cos(2π·t/2³²): nearest quarter turn, then a Taylor polynomial on [−π/4, π/4].
#[inline]
fn cos_of_turns(t: u32) -> f32 {
    const RADIANS: f32 = 1.462_918_1e-9; // 2π / 2³²
    let quarter = t.wrapping_add(1 << 29) >> 30;
    let rest = t.wrapping_sub(quarter << 30) as i32;
    let r = rest as f32 * RADIANS;
    let s = r * r;
    let value = if quarter & 1 == 0 {
        // Horner on 1 − s/2 + s²/4! − s³/6! + s⁴/8!
        (((1.0 / 40_320.0 * s - 1.0 / 720.0) * s + 1.0 / 24.0) * s - 0.5) * s + 1.0
    } else {
        // −sin r, because cos(π/2 + r) = −sin r
        -r * ((((1.0 / 362_880.0 * s - 1.0 / 5_040.0) * s + 1.0 / 120.0) * s - 1.0 / 6.0) * s + 1.0)
    };
    if quarter >> 1 & 1 == 1 { -value } else { value }
}

/// eˣ − 1 without cancellation near 0, `f64`, by `libm`.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// ln(1 + x) without cancellation near 0, `f64`, by `libm`.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// Writes the little-endian bytes of numbers one after the other, of as many as `out` has room for.
///
/// ```
/// use sordino_core::math::{read_all_le, write_all_le};
///
/// let mut bytes = [0; 8];
/// write_all_le(&[1.5f32, -2.0], &mut bytes);
/// assert!(read_all_le::<f32>(&bytes).eq([1.5, -2.0]));
/// assert_eq!(read_all_le::<f32>(&bytes[..7]).count(), 1); // three bytes are no number
/// ```
#[inline]
pub fn write_all_le<T: Scalar>(values: &[T], out: &mut [u8]) {
    for (bytes, x) in out.chunks_exact_mut(T::BYTES).zip(values) {
        x.write_le(bytes);
    }
}

/// The numbers whose little-endian bytes these are; what is left over at the end is passed over.
///
/// **Example**: that of [`write_all_le`].
#[inline]
pub fn read_all_le<T: Scalar>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> {
    bytes.chunks_exact(T::BYTES).map(T::read_le)
}

/// xʸ, [`Scalar::pow`].
#[inline]
pub fn pow<T: Scalar>(x: T, y: T) -> T {
    x.pow(y)
}

/// The error function, `f64`, by `libm`.
#[inline]
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// The complementary error function 1 − erf x without cancellation, `f64`, by `libm`.
#[inline]
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// ln |Γ(x)|, `f64`, by `libm`.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The largest integer not above x, `f64`.
#[inline]
pub fn floor(x: f64) -> f64 {
    libm::floor(x)
}

/// The smallest integer not below x, `f64`.
#[inline]
pub fn ceil(x: f64) -> f64 {
    libm::ceil(x)
}

/// The integer part of x, rounded toward zero, `f64`.
#[inline]
pub fn trunc(x: f64) -> f64 {
    libm::trunc(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps64(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn exp_nonpositive_is_within_two_units_in_the_last_place() {
        let mut worst = (0, 0);
        for i in 0..200_000u32 {
            let x = -706.0 * (f64::from(i) / 200_000.0) * (f64::from(i) / 200_000.0);
            worst.0 = worst.0.max(ulps64(x.exp_nonpositive(), libm::exp(x)));
            let y = (x / 8.2) as f32;
            let exact = libm::exp(f64::from(y)) as f32;
            worst.1 = worst.1.max(u64::from(
                y.exp_nonpositive().to_bits().abs_diff(exact.to_bits()),
            ));
        }
        assert!(worst.0 <= 2 && worst.1 <= 2, "{worst:?}");
        assert_eq!(0.0f64.exp_nonpositive(), 1.0);
        assert_eq!((-0.0f32).exp_nonpositive(), 1.0);
        assert_eq!((-1e300f64).exp_nonpositive(), 0.0);
        assert_eq!((-1e30f32).exp_nonpositive(), 0.0);
        assert_eq!(f64::NEG_INFINITY.exp_nonpositive(), 0.0);
    }

    #[test]
    fn cos_and_sin_hold_their_bound_over_every_exponent() {
        let mut worst = 0.0f64;
        // A prime stride walks through every exponent and both signs.
        for bits in (0..u32::MAX).step_by(10_007) {
            let x = f32::from_bits(bits);
            if !f32::is_finite(x) {
                assert!(Scalar::cos(x).is_nan() && Scalar::sin(x).is_nan());
                continue;
            }
            let exact = f64::from(x);
            worst = worst.max((f64::from(Scalar::cos(x)) - libm::cos(exact)).abs());
            worst = worst.max((f64::from(Scalar::sin(x)) - libm::sin(exact)).abs());
        }
        assert!(worst < 1.2e-7, "{worst}");
    }

    #[test]
    fn bytes_round_trip_and_short_slices_do_not_panic() {
        let mut raw = [0; 8];
        (-0.1f64).write_le(&mut raw);
        assert_eq!(f64::read_le(&raw), -0.1);
        1.5f32.write_le(&mut raw[..2]);
        assert!(f32::read_le(&raw[..1]).is_finite());
    }
}
