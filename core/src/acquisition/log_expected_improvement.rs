//! Expected improvement, in the logarithm: where the improvement underflows its logarithm still has a slope.

use super::Maximum;
use crate::math::{Scalar, erfc, ln_1p};

/// ln E max(f − incumbent, 0) for f ~ N(mean, variance), by `f64` whatever `T` is.
///
/// **Equation**: ln std + ln h(u), u = (mean − incumbent)/std, h(u) = φ(u) + uΦ(u). For u > −1 as it stands; below,
/// ln h = −u²/2 − ½ ln 2π + ln(1 − |u| Φ(−|u|)/φ(u)), and below −20 the last term by its asymptotic series.
///
/// **Numerics**: relative error of h below 1e-12 for u ≥ −20 and below 1e-11 beyond. Variance 0 gives the logarithm of
/// the improvement itself, −∞ if there is none. NaN gives −∞.
///
/// **Source**: Ament et al. 2023, equation 9.
pub fn value<T: Scalar>(mean: T, variance: T, incumbent: T) -> f64 {
    let (gain, variance) = (mean.to_f64() - incumbent.to_f64(), variance.to_f64());
    if gain.is_nan() || variance.is_nan() {
        return f64::NEG_INFINITY;
    }
    let std = Scalar::sqrt(variance.max(0.0));
    if !(std > 0.0) {
        return if gain > 0.0 { Scalar::ln(gain) } else { f64::NEG_INFINITY };
    }
    Scalar::ln(std) + ln_h(gain / std)
}

/// ½ ln 2π.
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
/// **Cost**: O(N), a logarithm and an exponential a candidate. Without a candidate the result is candidate 0 at −∞.
pub fn maximize<T: Scalar>(mean: &[T], variance: &[T], incumbent: T) -> Maximum<f64> {
    let mut best = Maximum { candidate: 0, value: f64::NEG_INFINITY };
    for (i, (mean, variance)) in mean.iter().zip(variance).enumerate() {
        let value = value(*mean, *variance, incumbent);
        if value > best.value {
            best = Maximum { candidate: i as u32, value };
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
            assert!(error < 1e-11 + 4e-16 * expected.abs(), "{u}: {found} {expected}");
            assert!(
                (value(u * 0.5 + 2.0, 0.25, 2.0) - (expected + Scalar::ln(0.5))).abs() < 1e-9 * (1.0 + expected.abs())
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
        assert!(value(-1e30f32, 1e-30, 0.0) < -1e80);
        assert_eq!(maximize(&[0.0, 0.0], &[1.0, 1.0f32], -1.0).candidate, 0);
        assert_eq!(maximize(&[0.0, -50.0, -49.0], &[0.0, 1.0, 1.0f64], 0.0).candidate, 2);
    }
}
