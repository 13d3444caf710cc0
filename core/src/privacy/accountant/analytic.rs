//! The Gaussian mechanism exactly: δ as a function of ε, and both inverses.
//!
//! **Equation** (μ = L2 sensitivity/noise std = 1/noise multiplier): δ(ε) = Φ(−a) − e^ε·Φ(−b) with
//! a = ε/μ − μ/2, b = ε/μ + μ/2. Since e^ε·φ(b) = φ(a), this is φ(a)·(R(a) − R(b)), R(x) =
//! Φ(−x)/φ(x) Mills' ratio: nothing overflows, and only R(a) − R(b) cancels, harmlessly, where μ is
//! small.
//!
#![doc = include_str!("../../../equations/gaussian_delta.html")]
//!
//! T unsampled releases of multipliers z_i are one release of μ² = Σ 1/z_i²: exact, not a bound.
//!
//! **Source**: Balle, Wang 2018, Theorem 8.
//!
//! ```
//! use sordino_core::math;
//! use sordino_core::privacy::accountant::analytic::{delta, epsilon, noise_multiplier};
//!
//! let z = noise_multiplier(1.0, 1e-5)?;
//! assert!(delta(z, 1.0) <= 1e-5 && delta(0.999 * z, 1.0) > 1e-5); // the least there is
//! assert!((epsilon(z, 1e-5)? - 1.0).abs() < 1e-9);
//! // At ε = 0, δ is the total variation 2Φ(μ/2) − 1 = erf(μ/√8).
//! assert!((delta(1.0, 0.0) - math::erf(1.0 / 8f64.sqrt())).abs() < 1e-12);
//! # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
//! ```

use super::AccountantError;
use super::order::check_delta;
use crate::math::{self, Scalar};

const ROOT_2: f64 = core::f64::consts::SQRT_2;
const ROOT_2_PI: f64 = 2.506_628_274_631_000_2;

/// Mills' ratio Φ(−x)/φ(x), x ≥ 0: by erfc below 25, by its continued fraction above.
fn mills(x: f64) -> f64 {
    if x < 25.0 {
        return 0.5 * math::erfc(x / ROOT_2) * ROOT_2_PI * Scalar::exp(x * x / 2.0);
    }
    // 1/(x + 1/(x + 2/(x + 3/(x + …))))
    let mut tail = x;
    let mut k = 30.0;
    while k > 0.0 {
        tail = x + k / tail;
        k -= 1.0;
    }
    1.0 / tail
}

/// δ of the Gaussian mechanism at ε, noise multiplier z > 0; rounded up. 1 for nonsense.
pub fn delta(noise_multiplier: f64, epsilon: f64) -> f64 {
    if !(noise_multiplier > 0.0 && epsilon >= 0.0) {
        return 1.0;
    }
    let mu = 1.0 / noise_multiplier;
    if mu == 0.0 {
        return 0.0;
    }
    let a = epsilon / mu - mu / 2.0;
    let b = epsilon / mu + mu / 2.0;
    let density = Scalar::exp(-a * a / 2.0) / ROOT_2_PI;
    let (first, second) = if a < 0.0 {
        (0.5 * math::erfc(a / ROOT_2), density * mills(b))
    } else {
        (density * mills(a), density * mills(b))
    };
    // ε/μ and μ/2 are rounded, by a share of b in all: where noise is tiny, a has lost digits to
    // that.
    let cancelled = 4e-16 * (1.0 + a.abs()) * b;
    let rounding = first * (1e-14 * (4.0 + a * a) + (cancelled - 4e-14).max(0.0));
    let delta = first - second + rounding;
    // Of finite noise δ is never 0, and a number that is none is refused.
    if delta < 1.0 {
        delta.max(f64::MIN_POSITIVE)
    } else {
        1.0
    }
}

/// ε at δ in (0, 1), from above: δ(ε) ≤ δ holds at the value returned.
pub fn epsilon(noise_multiplier: f64, target_delta: f64) -> Result<f64, AccountantError> {
    check_delta(target_delta)?;
    let enough = |epsilon: f64| delta(noise_multiplier, epsilon) <= target_delta;
    if enough(0.0) {
        return Ok(0.0);
    }
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        if high > 1e15 {
            return Err(AccountantError::NoFiniteEpsilon {
                delta: target_delta,
                delta_spent: 0.0,
            });
        }
    }
    Ok(bisect(0.0, high, enough))
}

/// The smallest noise multiplier that is (ε, δ)-private, from above: z(returned) is certified.
///
/// **Errors**: [`AccountantError::Delta`]; [`AccountantError::Epsilon`] for a negative or NaN ε.
pub fn noise_multiplier(target_epsilon: f64, target_delta: f64) -> Result<f64, AccountantError> {
    check_delta(target_delta)?;
    if !(target_epsilon >= 0.0) {
        return Err(AccountantError::Epsilon(target_epsilon));
    }
    let enough = |z: f64| delta(z, target_epsilon) <= target_delta;
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        if high > 1e15 {
            return Err(AccountantError::Delta(target_delta));
        }
    }
    Ok(bisect(0.0, high, enough))
}

/// The textbook multiplier √(2 ln(1.25/δ))/ε, for comparison: valid for ε < 1 only, and larger than
/// needed.
pub fn classical_noise_multiplier(epsilon: f64, delta: f64) -> f64 {
    Scalar::sqrt(2.0 * Scalar::ln(1.25 / delta)) / epsilon
}

/// The upper end of the last interval: `enough` holds there.
pub(crate) fn bisect(mut low: f64, mut high: f64, mut enough: impl FnMut(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if !(middle > low && middle < high) {
            break;
        }
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_certified_and_tight() {
        for z in [0.1, 0.5, 1.0, 4.0, 30.0] {
            for d in [1e-10, 1e-5, 0.01] {
                let e = epsilon(z, d).unwrap();
                assert!(delta(z, e) <= d);
                if e > 0.0 {
                    assert!(delta(z, e * (1.0 - 1e-9)) > d, "tight: z {z} delta {d}");
                    let back = noise_multiplier(e, d).unwrap();
                    assert!((back / z - 1.0).abs() < 1e-8, "{z}: {back}");
                }
            }
        }
    }

    /// Next to no noise: the arguments have lost digits. From the formula in 60 digits (mpmath).
    #[test]
    fn delta_is_from_above_where_noise_is_tiny() {
        for (z, e, expected) in [
            (0.00107, 438_669.465_214_921_05, 0.018_413_492_267_594_347),
            (1.3e-5, 2_959_265_317.690_935, 2.535_992_576_174_126_7e-19),
        ] {
            let found = delta(z, e);
            assert!(
                found >= expected && found < expected * (1.0 + 1e-5),
                "{z} {e}: {found:e}"
            );
        }
        // Smaller than any number is not none.
        assert!(delta(1e-3, 1e8) > 0.0);
    }

    #[test]
    fn mills_has_no_seam_and_edges_hold() {
        let asymptotic = |x: f64| (1.0 - 1.0 / (x * x) + 3.0 / x.powi(4) - 15.0 / x.powi(6)) / x;
        for x in [24.0, 24.999_999, 25.0, 26.0, 300.0] {
            assert!((mills(x) / asymptotic(x) - 1.0).abs() < 1e-9, "{x}");
        }
        assert_eq!(
            (
                delta(0.0, 1.0),
                delta(f64::NAN, 1.0),
                delta(1.0, f64::NAN),
                delta(1.0, -1.0)
            ),
            (1.0, 1.0, 1.0, 1.0)
        );
        assert!(epsilon(1.0, 0.0).is_err() && noise_multiplier(f64::NAN, 0.1).is_err());
        assert!(delta(1e-9, 1.0) <= 1.0 && delta(1e9, 0.0) < 1e-9);
        assert!(epsilon(1e-3, 1e-5).unwrap() > 4e5);
    }
}
