//! Rényi divergence of the Gaussian on a secret subset of fixed size without replacement, under
//! replace-one.
//!
//! **Equation** (integer α, γ = sampled/population, z relative to the *replace-one* sensitivity):
//! (α−1)·r(α) = ln(1 + γ²C(α,2)·min{4(e^{ε₂}−1), 2e^{ε₂}} + Σ_{j≥3}
//! γʲC(α,j)·min{4√(B₍₂⌊j/2⌋₎·B₍₂⌈j/2⌉₎), 2e^{(j−1)ε_j}}), ε_j = j/(2z²), B_l =
//! E_{x∼N(0,z²)}[(e^((2x−1)/(2z²)) − 1)^l]. For even l the integrand is positive: B is integrated
//! without the alternating sum, which cancels. Fractional orders: the chord of (α−1)·r between
//! integers (convex).
//!
//! **Relation**: a guarantee under replace-one, with the change 2S of one clipped vector for
//! another. It is *not* comparable with add-or-remove numbers at the same noise: with z relative to
//! S it is far worse, not slightly better.
//!
//! **Source**: Wang, Balle, Kasiviswanathan 2019, Theorem 27. Above order 256 only its second bound
//! is used.
//!
//! ```
//! use sordino_core::privacy::accountant::fixed_size::divergence;
//!
//! // Drawing a tenth of the records instead of all makes a release cheaper, and the whole costs what no sample costs.
//! assert!(divergence(0.1, 2.0, 4.0) < divergence(1.0, 2.0, 4.0));
//! assert!((divergence(1.0, 2.0, 4.0) - 4.0 / (2.0 * 4.0)).abs() < 1e-6); // α/(2z²)
//! ```

use super::order::ROUND_UP;
use super::poisson::ln_exp_m1;
use crate::math::{self, Scalar};

/// Largest order for which the differences B_l are integrated.
const EXACT_MAX: usize = 256;

/// r(α) for γ in (0, 1], z > 0, α > 1; rounded up.
///
/// A whole batch of orders is cheaper by [`divergences`].
pub fn divergence(fraction: f64, noise_multiplier: f64, order: f64) -> f64 {
    let mut out = [0.0];
    divergences(fraction, noise_multiplier, &[order], &mut out);
    out[0]
}

/// r(α) for many orders: `out[i]` for `orders[i]`. **Cost**: the differences once, about
/// 130·(256+18z)/h exponents of which most are skipped; then α exponentials for each order. 2 kB of
/// stack.
pub fn divergences(fraction: f64, noise_multiplier: f64, orders: &[f64], out: &mut [f64]) {
    let z = noise_multiplier;
    if !(fraction > 0.0 && fraction <= 1.0 && z > 0.0) {
        return out.fill(f64::INFINITY);
    }
    let mut order_max = 0.0;
    for order in orders {
        if *order <= EXACT_MAX as f64 && *order > order_max {
            order_max = *order;
        }
    }
    let differences = Differences::new(z, order_max + 2.0);
    for (slot, order) in out.iter_mut().zip(orders) {
        if !(*order > 1.0) {
            *slot = f64::INFINITY;
            continue;
        }
        let floor = math::floor(*order);
        let low = scaled(fraction, z, floor, &differences);
        let chord = if floor == *order {
            low
        } else {
            low + (order - floor) * (scaled(fraction, z, floor + 1.0, &differences) - low)
        };
        // A mixture over subsets is no worse than its worst subset: never above the unsampled
        // mechanism.
        *slot = Scalar::min(chord / (order - 1.0), order / (2.0 * z * z)) * ROUND_UP;
    }
}

/// (α−1)·r(α) at an integer order ≥ 1.
fn scaled(fraction: f64, z: f64, order: f64, differences: &Differences) -> f64 {
    if order < 2.0 {
        return 0.0;
    }
    let inverse = 1.0 / (2.0 * z * z);
    let renyi = |j: f64| j * inverse;
    let ln_fraction = Scalar::ln(fraction);
    // Terms in log space: their sum is 1 plus positives.
    let mut largest = 0.0;
    let mut sum = 1.0;
    let mut ln_choose = Scalar::ln(order);
    let mut j = 1.0;
    while j < order {
        ln_choose += Scalar::ln((order - j) / (j + 1.0));
        j += 1.0;
        let bound = if j == 2.0 {
            Scalar::min(
                Scalar::ln(4.0) + ln_exp_m1(renyi(2.0)),
                Scalar::ln(2.0) + renyi(2.0),
            )
        } else {
            let crude = Scalar::ln(2.0) + (j - 1.0) * renyi(j);
            let low = math::floor(j / 2.0);
            let high = math::ceil(j / 2.0);
            Scalar::min(
                Scalar::ln(4.0) + (differences.at(low) + differences.at(high)) / 2.0,
                crude,
            )
        };
        let exponent = j * ln_fraction + ln_choose + bound;
        if exponent > largest {
            sum = sum * Scalar::exp(largest - exponent) + 1.0;
            largest = exponent;
        } else {
            sum += Scalar::exp(exponent - largest);
        }
    }
    largest + Scalar::ln(sum)
}

const HALVES: usize = EXACT_MAX / 2 + 1;

/// ln B_l for even l = 2h, by the trapezoid rule in log space on one grid for all l; +∞ (the crude
/// bound takes over) beyond the largest asked for, and where the grid would be too long.
struct Differences {
    ln: [f64; HALVES],
}

impl Differences {
    fn new(z: f64, l_max: f64) -> Self {
        const REACH: f64 = 9.0;
        let variance = z * z;
        let step = if z / 2.0 < 0.6 * variance {
            z / 2.0
        } else {
            0.6 * variance
        };
        let count = math::ceil((l_max + 2.0 * REACH * z) / step);
        let mut largest = [f64::NEG_INFINITY; HALVES];
        if !(count < 20_000.0) || l_max <= 2.0 {
            return Differences {
                ln: [f64::INFINITY; HALVES],
            };
        }
        let mut sums = [0.0; HALVES];
        for i in 0..=count as u32 {
            let x = f64::from(i) * step - REACH * z;
            let v = (x - 0.5) / variance;
            let ln_size = if v > 0.0 {
                ln_exp_m1(v)
            } else {
                Scalar::ln(-math::exp_m1(v))
            };
            let ln_density = -x * x / (2.0 * variance);
            for ((largest, sum), half) in largest.iter_mut().zip(sums.iter_mut()).zip(0u16..) {
                let l = 2.0 * f64::from(half);
                let exponent = l * ln_size + ln_density;
                if l > l_max || x > l + REACH * z || exponent < *largest - 45.0 {
                    continue;
                }
                if exponent > *largest {
                    *sum = *sum * Scalar::exp(*largest - exponent) + 1.0;
                    *largest = exponent;
                } else {
                    *sum += Scalar::exp(exponent - *largest);
                }
            }
        }
        let mut ln = [f64::INFINITY; HALVES];
        for (((slot, largest), sum), half) in ln.iter_mut().zip(largest).zip(sums).zip(0u16..) {
            if 2.0 * f64::from(half) <= l_max {
                // The terms left out, e^(−45) of the largest each, are covered by the last factor.
                let value = largest
                    + Scalar::ln(sum * step / (z * 2.506_628_274_631_000_2))
                    + 1e-15 * count;
                *slot = if value.is_nan() { f64::INFINITY } else { value };
            }
        }
        Differences { ln }
    }

    fn at(&self, half: f64) -> f64 {
        *self.ln.get(half as usize).unwrap_or(&f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_agree_with_their_alternating_sum() {
        // l = 4: Σ (−1)^(4−i) C(4,i) e^{i(i−1)/(2z²)}.
        for z in [0.7f64, 1.0, 2.0] {
            let e = |i: f64| (i * (i - 1.0) / (2.0 * z * z)).exp();
            let plain = e(4.0) - 4.0 * e(3.0) + 6.0 * e(2.0) - 4.0 * e(1.0) + 1.0;
            assert!(
                (Differences::new(z, 6.0).at(2.0) - plain.ln()).abs() < 1e-9,
                "{z}"
            );
        }
    }

    /// 120-digit decimals, ε at T = 1, δ = 1e-10, order 256. The alternating sum in `f64` gives
    /// 0.1137.
    #[test]
    fn small_differences_do_not_cancel() {
        let ours = super::super::order::epsilon(256.0, divergence(0.1, 10.0, 256.0), 1e-10);
        assert!(
            (ours / 0.087_852_448_418_103_12 - 1.0).abs() < 1e-9,
            "{ours}"
        );
    }

    #[test]
    fn never_above_the_unsampled_mechanism_and_monotone() {
        for z in [0.5, 1.0, 4.0] {
            let mut last = 0.0;
            for order in [1.5, 2.0, 3.0, 7.3, 8.0, 64.0, 256.0, 300.0] {
                let r = divergence(0.1, z, order);
                assert!(
                    r >= last && r <= order / (2.0 * z * z) * (1.0 + 1e-9),
                    "{z} {order}"
                );
                assert!(divergence(0.2, z, order) >= r);
                last = r;
            }
        }
        assert_eq!(divergence(0.0, 1.0, 2.0), f64::INFINITY);
        assert_eq!(divergence(0.5, f64::NAN, 2.0), f64::INFINITY);
    }
}
