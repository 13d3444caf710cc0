//! Composition of pure-ε releases.
//!
//! | function | guarantee |
//! |---|---|
//! | sum of ε ([`crate::privacy::epsilon`]) | pure: the ε add, exactly, in integers |
//! | [`optimal_delta`], [`optimal_epsilon`] | (ε, δ) of k equal releases, the smallest there is (Kairouz, Oh, Viswanath 2015, Theorem 3.3) |
//!
//! ```
//! use sordino_core::privacy::accountant::pure::{optimal_delta, optimal_epsilon};
//!
//! // One release of ε₀ = 1 at ε = 0: δ is the total variation of randomised response, (e − 1)/(e + 1).
//! let e = core::f64::consts::E;
//! assert!((optimal_delta(1.0, 1, 0.0) - (e - 1.0) / (e + 1.0)).abs() < 1e-9);
//! assert!(optimal_epsilon(0.1, 100, 1e-5)? < 100.0 * 0.1); // less than the sum
//! # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
//! ```

use super::AccountantError;
use super::analytic::bisect;
use super::order::check_delta;
use crate::math::{self, Scalar};

/// δ at ε of k releases of ε₀ each; rounded up. Tight: randomised response attains it.
///
/// **Equation**: δ = Σ_l C(k,l)·max(0, e^((k−l)ε₀) − e^(ε+lε₀))/(1+e^ε₀)^k. **Cost**: k
/// exponentials.
pub fn optimal_delta(epsilon_each: f64, count: u32, epsilon: f64) -> f64 {
    if !(epsilon_each >= 0.0 && epsilon >= 0.0) {
        return 1.0;
    }
    let k = f64::from(count);
    let each = epsilon_each;
    let ln_norm = k * (each + math::ln_1p(Scalar::exp(-each)));
    let mut ln_choose = 0.0;
    let mut l = 0.0;
    let mut sum = 0.0;
    while l <= k {
        // e^((k−l)ε₀) − e^(ε+lε₀) = e^((k−l)ε₀)·(1 − e^(ε−(k−2l)ε₀))
        let gap = (k - 2.0 * l) * each - epsilon;
        if !(gap > 0.0) {
            break;
        }
        sum += Scalar::exp(ln_choose + (k - l) * each - ln_norm) * -math::exp_m1(-gap);
        l += 1.0;
        ln_choose += Scalar::ln((k - l + 1.0) / l);
    }
    // Exponents of the size of ln_norm carry its rounding, and ln_choose that of up to k additions.
    let rounding = 4.0 * f64::EPSILON * (k + 1.0) * (ln_norm + k + 1.0);
    Scalar::min(sum * Scalar::exp(Scalar::max(rounding, 1e-11)), 1.0)
}

/// ε at δ of k releases of ε₀ each, never above k·ε₀; certified from above.
pub fn optimal_epsilon(epsilon_each: f64, count: u32, delta: f64) -> Result<f64, AccountantError> {
    check_delta(delta)?;
    if !(epsilon_each >= 0.0 && epsilon_each.is_finite()) {
        return Err(AccountantError::Epsilon(epsilon_each));
    }
    let enough = |epsilon| optimal_delta(epsilon_each, count, epsilon) <= delta;
    if enough(0.0) {
        return Ok(0.0);
    }
    Ok(bisect(0.0, epsilon_each * f64::from(count), enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_release_is_randomised_response() {
        // k = 1: δ = max(0, e^ε₀ − e^ε)/(1 + e^ε₀).
        for epsilon in [0.0f64, 0.3, 0.9] {
            let plain = (1f64.exp() - epsilon.exp()) / (1.0 + 1f64.exp());
            assert!((optimal_delta(1.0, 1, epsilon) - plain).abs() < 1e-10);
        }
        assert_eq!(optimal_delta(1.0, 1, 1.0), 0.0);
        assert_eq!(optimal_delta(f64::NAN, 1, 1.0), 1.0);
    }

    #[test]
    fn never_worse_than_adding_and_much_better_for_many() {
        assert!(optimal_epsilon(1.0, 3, 1e-12).unwrap() <= 3.0);
        let many = optimal_epsilon(0.1, 100, 1e-5).unwrap();
        assert!(many < 5.0 && many > 2.0, "{many}");
        assert!(optimal_delta(0.1, 100, many) <= 1e-5);
        assert!(optimal_epsilon(0.1, 100, 0.0).is_err());
        assert_eq!(optimal_epsilon(0.0, 100, 0.1), Ok(0.0));
    }
}
