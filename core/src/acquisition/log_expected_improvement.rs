//! Expected improvement, in the logarithm: where the improvement underflows its logarithm still has
//! a slope.
//!
//! ```
//! use sordino_core::acquisition::log_expected_improvement::value;
//!
//! // At a mean equal to the incumbent the expected improvement is σφ(0) = σ/√(2π).
//! let expected = (2.0 / core::f64::consts::TAU.sqrt()).ln();
//! assert!((value(1.0, 4.0, 1.0) - expected).abs() < 1e-12);
//! ```

use super::Maximum;
use crate::math::{Scalar, erfc, ln_1p};

/// ln E max(f − incumbent, 0) for f ~ N(mean, variance), in the format of its arguments.
///
/// **Equation**: ln std + ln h(u), u = (mean − incumbent)/std, h(u) = φ(u) + uΦ(u). With t = |u|
/// and R(t) = h(−t)/φ(t) = 1 − tΦ(−t)/φ(t):
/// * `f64`: for u > −1 as it stands; below, ln h = −u²/2 − ½ ln 2π + ln R(−u), and below −20 R by
///   its asymptotic series.
/// * `f32`: (2 + t)²R(t) by a polynomial in (t − 3.5)/(t + 3.5); h(u) = u + φ(u)R(u) for u > 0,
///   else ln h as above. No `f64` arithmetic: a device without double precision takes 40 times as
///   long for the other form.
///
#[doc = include_str!("../../equations/log_expected_improvement.html")]
///
/// **Numerics**: `f64`: relative error of h below 1e-12 for u ≥ −20 and below 1e-11 beyond. `f32`:
/// error of ln h below 4e-7 + 3e-7·|ln h| for every u; below −2.6e19 it is −∞. Variance 0 gives the
/// logarithm of the improvement itself, −∞ if there is none. NaN gives −∞.
///
/// **Source**: Ament et al. 2023, equation 9.
pub fn value<T: Scalar>(mean: T, variance: T, incumbent: T) -> T {
    let gain = mean - incumbent;
    let nan = |x: T| !(x >= T::ZERO || x < T::ZERO);
    if nan(gain) || nan(variance) {
        return -T::INFINITY;
    }
    let std = variance.max(T::ZERO).sqrt();
    let u = gain / std;
    // Certain, or as good as: u does not fit the format.
    if !(std > T::ZERO) || u >= T::INFINITY {
        return if gain > T::ZERO {
            gain.ln()
        } else {
            -T::INFINITY
        };
    }
    // The format is known to the compiler, which keeps one of the two.
    std.ln()
        + if T::BYTES == 4 {
            ln_h_single(u)
        } else {
            T::from_f64(ln_h(u.to_f64()))
        }
}

/// A number that [`value`] is not above, without an exponential or a logarithm: from h(u) ≤ φ(u)
/// for u ≤ 0 and ln x ≤ x − 1, −u²/2 − ½ ln 2π + std − 1, and 10⁻⁵·(1 + u²) for what both round. +∞
/// for u > 0, and without a variance.
///
/// ```
/// use sordino_core::acquisition::log_expected_improvement::{bound, value};
/// let (low, high) = (value(-3.0, 0.25, 0.0), bound(-3.0, 0.25, 0.0));
/// assert!(low <= high && high < -18.0);
/// assert_eq!(bound(1.0, 0.25, 0.0), f64::INFINITY);
/// ```
pub fn bound<T: Scalar>(mean: T, variance: T, incumbent: T) -> T {
    let number = T::from_f64;
    let std = variance.max(T::ZERO).sqrt();
    let u = (mean - incumbent) / std;
    if !(u <= T::ZERO && std > T::ZERO) {
        return T::INFINITY;
    }
    let square = u * u;
    // −½ and the 10⁻⁵ together, so that a square that overflows is −∞.
    (std - number(1.0 - 1e-5 + HALF_LN_TWO_PI)) - number(0.5 - 1e-5) * square
}

/// (2 + t)²·R(t) as a polynomial in s = (t − 3.5)/(t + 3.5), lowest power first: interpolation of
/// R, computed in `f64`, at the twelve Chebyshev nodes of s; relative error 2.3e-8 for all t ≥ 0
/// before rounding.
const SINGLE: [f64; 12] = [
    2.027_137_504,
    -1.620_871_088,
    0.666_623_082_2,
    0.063_698_158_11,
    -0.216_985_406_4,
    0.074_384_687_56,
    0.025_343_395_09,
    -0.020_746_956_07,
    -0.002_355_010_869,
    0.004_062_578_255,
    0.000_236_465_845_1,
    -0.000_527_425_326_7,
];

/// ln(φ(u) + uΦ(u)) to single precision, in the arithmetic of `T` alone.
#[inline]
fn ln_h_single<T: Scalar>(u: T) -> T {
    let number = T::from_f64;
    let t = u.abs();
    // (t − 3.5)/(t + 3.5), written so that an infinite t gives 1.
    let s = T::ONE - number(7.0) / (t + number(3.5));
    let polynomial = SINGLE
        .iter()
        .rev()
        .fold(T::ZERO, |sum, c| sum * s + number(*c));
    let shifted = t + number(2.0);
    let ratio = polynomial / (shifted * shifted);
    let ln_density = -(number(0.5) * t * t) - number(HALF_LN_TWO_PI);
    if u > T::ZERO {
        (u + ln_density.exp_nonpositive() * ratio).ln()
    } else {
        ln_density + ratio.ln()
    }
}

/// ½ ln 2π, rounded to f64.
const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// ln(φ(u) + uΦ(u)).
fn ln_h(u: f64) -> f64 {
    let density = Scalar::exp(-0.5 * u * u - HALF_LN_TWO_PI);
    if u > -1.0 {
        return Scalar::ln(density + u * 0.5 * erfc(-u * core::f64::consts::FRAC_1_SQRT_2));
    }
    let rest = if u > -20.0 {
        // −|u| Φ(−|u|)/φ(u)
        let mills = 0.5 * erfc(-u * core::f64::consts::FRAC_1_SQRT_2) / density;
        ln_1p(u * mills)
    } else {
        // 1 − |u|·Mills(|u|) = u⁻² − 3u⁻⁴ + 15u⁻⁶ − … (−1)ᵏ (2k + 1)!! u^(−2k−2)
        let inverse = 1.0 / (u * u);
        let mut series = 1.0;
        for k in (1..=7).rev() {
            series = 1.0 - f64::from(2 * k + 1) * inverse * series;
        }
        Scalar::ln(inverse) + Scalar::ln(series)
    };
    -0.5 * u * u - HALF_LN_TWO_PI + rest
}

/// argmax of [`value`] over candidates; ties go to the lowest index.
///
/// **Cost**: O(N), a logarithm and an exponential a candidate. Without a candidate the result is
/// candidate 0 at −∞.
pub fn maximize<T: Scalar>(mean: &[T], variance: &[T], incumbent: T) -> Maximum<T> {
    let mut best = Maximum {
        candidate: 0,
        value: -T::INFINITY,
    };
    for (i, (mean, variance)) in mean.iter().zip(variance).enumerate() {
        let value = value(*mean, *variance, incumbent);
        if value > best.value {
            best = Maximum {
                candidate: i as u32,
                value,
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_sixty_digits() {
        for (u, expected) in EXPECTED {
            let found = ln_h(u);
            let error = (found - expected).abs();
            assert!(
                error < 1e-11 + 4e-16 * expected.abs(),
                "{u}: {found} {expected}"
            );
            assert!(
                (value(u * 0.5 + 2.0, 0.25, 2.0) - (expected + Scalar::ln(0.5))).abs()
                    < 1e-9 * (1.0 + expected.abs())
            );
        }
    }

    #[test]
    fn the_bound_is_never_below() {
        let mut tight = 0;
        for exponent in -12..=12 {
            let std = libm::pow(10.0, f64::from(exponent) / 2.0);
            for step in -4000..=400 {
                let u = f64::from(step) / 100.0;
                for (mean, variance, incumbent) in
                    [(u * std, std * std, 0.0), (3.0 + u * std, std * std, 3.0)]
                {
                    let low = value(mean, variance, incumbent);
                    let high = bound(mean, variance, incumbent);
                    assert!(low <= high, "{u} {std}: {low} {high}");
                    tight += usize::from(
                        exponent == 0 && (-10.0..-3.0).contains(&u) && high - low < 6.0,
                    );
                    let mean = mean as f32;
                    let variance = variance as f32;
                    let incumbent = incumbent as f32;
                    let low = value(mean, variance, incumbent);
                    let high = bound(mean, variance, incumbent);
                    assert!(low <= high, "{u} {std}: {low} {high}");
                }
            }
        }
        assert_eq!(tight, 1400, "one that passes nothing over would hold too");
        for (mean, variance) in [
            (f64::NAN, 1.0),
            (0.0, f64::NAN),
            (-1.0, 0.0),
            (-1.0, -1.0),
            (-f64::INFINITY, 1.0),
        ] {
            assert!(
                !(value(mean, variance, 0.0) > bound(mean, variance, 0.0)),
                "{mean} {variance}"
            );
        }
    }

    /// (u, ln h(u)) by mpmath with 60 digits.
    #[allow(clippy::excessive_precision)]
    const EXPECTED: [(f64, f64); 12] = [
        (-10000.0, -50000019.339619307157),
        (-300.0, -45012.326536814554207),
        (-50.0, -1258.7441828684608531),
        (-20.5, -217.09186837038312513),
        (-20.0, -206.91783850942509785),
        (-19.5, -196.99258561722833326),
        (-5.0, -16.744301162660990143),
        (-1.0, -2.4851210257126413368),
        (-0.5, -1.6205162643873199193),
        (0.0, -0.91893853320467274178),
        (1.0, 0.080026218849306940029),
        (10.0, core::f64::consts::LN_10),
    ];

    /// The largest error of ln h in units of what is promised of it, over every magnitude of u and
    /// both signs.
    fn worst(of: impl Fn(f32) -> f32) -> f64 {
        let mut worst = 0.0f64;
        // A prime stride through all magnitudes from 1e-6 to 1e9, then a fine grid where the curve
        // bends.
        let magnitudes = (1e-6f32.to_bits()..1e9f32.to_bits())
            .step_by(1_009)
            .map(f32::from_bits);
        for t in magnitudes.chain((0..100_000u32).map(|i| i as f32 / 4096.0)) {
            for u in [t, -t] {
                let exact = ln_h(f64::from(u));
                worst = worst.max((f64::from(of(u)) - exact).abs() / (4e-7 + 3e-7 * exact.abs()));
            }
        }
        worst
    }

    #[test]
    fn single_precision_keeps_its_bound_for_every_u() {
        assert!(
            worst(ln_h_single::<f32>) < 1.0,
            "{}",
            worst(ln_h_single::<f32>)
        );
        // Negative controls: an error in the sixth digit of the density, and of u, is seen.
        assert!(
            worst(|u| ln_h_single(u) + 2e-6) > 1.0 && worst(|u| ln_h_single(u * 1.000_002)) > 1.0
        );
    }

    #[test]
    fn single_precision_ranks_points_as_double_does() {
        let mut stream = crate::random::Stream::from_seed(23);
        let mut ranked = 0;
        let mut swapped = 0;
        for _ in 0..20_000 {
            let mut point = || {
                (
                    stream.unit::<f32>() * 6.0 - 5.0,
                    stream.unit::<f32>() * 0.5 + 1e-4,
                )
            };
            let a = point();
            let b = point();
            let single = |(mean, variance): (f32, f32)| f64::from(value(mean, variance, 0.25));
            let double =
                |(mean, variance): (f32, f32)| value(f64::from(mean), f64::from(variance), 0.25);
            for p in [a, b] {
                let found = single(p);
                let exact = double(p);
                assert!(
                    (found - exact).abs() < 2e-6 + 2e-6 * exact.abs(),
                    "{p:?}: {found} {exact}"
                );
            }
            if (double(a) - double(b)).abs() > 1e-5 * (1.0 + double(a).abs()) {
                ranked += 1;
                swapped += u32::from((single(a) < single(b)) != (double(a) < double(b)));
            }
        }
        assert!(ranked > 19_000 && swapped == 0, "{swapped} of {ranked}");
    }

    #[test]
    fn is_increasing_and_never_nan() {
        let mut last = f64::NEG_INFINITY;
        for i in -4000..=4000 {
            let found = ln_h(f64::from(i) / 50.0);
            assert!(found > last, "{i}");
            last = found;
        }
        assert_eq!(value(1.0, 0.0, 2.0), f64::NEG_INFINITY);
        assert_eq!(value(3.0, 0.0, 2.0), 0.0);
        assert_eq!(value(f64::NAN, 1.0, 0.0), f64::NEG_INFINITY);
        assert!(value(-1e30f64, 1e-30, 0.0) < -1e80);
        assert_eq!(
            (value(1.0f32, 0.0, 2.0), value(3.0f32, 0.0, 2.0)),
            (f32::NEG_INFINITY, 0.0)
        );
        assert_eq!(
            (value(f32::NAN, 1.0, 0.0), value(0.0, f32::NAN, 0.0)),
            (f32::NEG_INFINITY, f32::NEG_INFINITY)
        );
        assert_eq!(
            (value(-1e30f32, 1e-30, 0.0), value(1e30f32, 1e-30, 0.0)),
            (f32::NEG_INFINITY, Scalar::ln(1e30f32))
        );
        assert_eq!(maximize(&[0.0, 0.0], &[1.0, 1.0f32], -1.0).candidate, 0);
        assert_eq!(
            maximize(&[0.0, -50.0, -49.0], &[0.0, 1.0, 1.0f64], 0.0).candidate,
            2
        );
    }
}
