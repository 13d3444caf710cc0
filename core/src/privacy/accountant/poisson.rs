//! Rényi divergence of the Poisson-sampled Gaussian at integer and at fractional orders, without
//! cancellation.
//!
//! **Equation**: r(α) = ln A(α)/(α−1), A(α) = E_{x∼N(0,z²)}[(1+y)^α], y = q(e^((2x−1)/(2z²)) − 1).
//! This direction, with the data against without, is the larger of the two for Gaussians (Mironov,
//! Talwar, Zhang 2019, Theorem 5).
//!
#![doc = include_str!("../../../equations/sampled_gaussian.html")]
//!
//! * Integer α: A − 1 = Σ_{k≥2} C(α,k)(1−q)^(α−k)q^k(e^((k²−k)/(2z²)) − 1). The terms k = 0, 1 are
//!   whole in Σ C… = 1 and drop out, so that all terms are positive: nothing cancels, however close
//!   to 1 A is.
//! * Fractional α: A − 1 = E\[(1+y)^α − 1 − αy\], since E\[y\] = 0: the integrand is ≥ 0. Trapezoid
//!   rule of step h = min(z/2, 0.6·z²) over [−9z, α+9z]: the integrand is analytic in the strip |Im
//!   x| < πz², so that the error falls like e^(−2π·πz²/h); a series in y below 0.01. One grid of x
//!   serves all orders.
//! * Below z = 0.1, where the loss is in the hundreds, ln A is interpolated between the
//!   neighbouring integers: ln A is convex in α, so the chord is an upper bound.
//!
//! **Numerics**: relative error below 1e-12 against 40-digit values
//! (`tests/vectors/rdp_orders.csv`), pushed up by 1e-11. **Cost**: integer order α: α logarithms
//! and exponentials; all fractional orders up to 10.9 together: about (11+18z)/h abscissae, one
//! exponential for each order that reaches there.
//!
//! ```
//! use sordino_core::privacy::accountant::poisson::divergence;
//!
//! // At order 2 there is a closed form: ln(1 + q²(e^(1/z²) − 1)).
//! let (q, z) = (0.1, 1.5f64);
//! let closed = (1.0 + q * q * ((1.0 / (z * z)).exp() - 1.0)).ln();
//! assert!((divergence(q, z, 2.0) / closed - 1.0).abs() < 1e-9);
//! ```

use super::order::ROUND_UP;
use crate::math::{self, Scalar};

/// r(α) for q in [0, 1], z > 0, α > 1; +∞ where it overflows. Rounded up.
///
/// A whole batch of fractional orders is cheaper by [`divergences`].
pub fn divergence(sampling_probability: f64, noise_multiplier: f64, order: f64) -> f64 {
    let mut out = [0.0];
    divergences(sampling_probability, noise_multiplier, &[order], &mut out);
    out[0]
}

/// r(α) for many orders: `out[i]` for `orders[i]`; extra places of either slice are left alone.
pub fn divergences(q: f64, z: f64, orders: &[f64], out: &mut [f64]) {
    // A divergence falls with z: that of less noise is a bound, where z² or the grid would
    // overflow.
    let z = if z > MULTIPLIER_MAX {
        MULTIPLIER_MAX
    } else {
        z
    };
    let pairs = || orders.iter().copied().zip(0..);
    for (order, i) in pairs() {
        let Some(slot) = out.get_mut(i) else { continue };
        *slot = if !(order > 1.0) || !(z > 0.0) || !(0.0..=1.0).contains(&q) {
            f64::INFINITY
        } else if q == 0.0 {
            0.0
        } else if q == 1.0 {
            order / (2.0 * z * z)
        } else if math::floor(order) == order {
            ln_a_integer(q, z, order) / (order - 1.0)
        } else {
            continue;
        };
    }
    if q > 0.0 && q < 1.0 && z > 0.0 {
        for (orders, out) in orders.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            fractional(q, z, orders, out);
        }
    }
    for (_, i) in pairs() {
        if let Some(slot) = out.get_mut(i) {
            *slot *= ROUND_UP;
        }
    }
}

/// A sum of exponentials in log space: (largest exponent, Σ e^(exponent − largest)).
struct LogSum {
    largest: f64,
    sum: f64,
}

impl LogSum {
    const EMPTY: Self = LogSum {
        largest: f64::NEG_INFINITY,
        sum: 0.0,
    };

    fn add(&mut self, exponent: f64) {
        if exponent > self.largest {
            self.sum = self.sum * Scalar::exp(self.largest - exponent) + 1.0;
            self.largest = exponent;
        } else if exponent > self.largest - 745.0 {
            self.sum += Scalar::exp(exponent - self.largest);
        }
    }

    fn ln(&self) -> f64 {
        self.largest + Scalar::ln(self.sum)
    }
}

/// ln(1 + e^s) without overflow.
fn ln_1p_exp(s: f64) -> f64 {
    if s > 40.0 {
        s
    } else {
        math::ln_1p(Scalar::exp(s))
    }
}

/// ln(e^v − 1), v > 0.
pub(super) fn ln_exp_m1(v: f64) -> f64 {
    if v > 40.0 {
        v
    } else {
        Scalar::ln(math::exp_m1(v))
    }
}

/// ln A at an integer order ≥ 1, 0 < q < 1.
fn ln_a_integer(q: f64, z: f64, order: f64) -> f64 {
    let ln_in = Scalar::ln(q);
    let ln_out = math::ln_1p(-q);
    let inverse = 1.0 / (2.0 * z * z);
    let mut k = 1.0;
    let mut ln_choose = Scalar::ln(order);
    let mut sum = LogSum::EMPTY;
    while k < order {
        ln_choose += Scalar::ln((order - k) / (k + 1.0));
        k += 1.0;
        sum.add(ln_choose + k * ln_in + (order - k) * ln_out + ln_exp_m1((k * k - k) * inverse));
    }
    if order < 2.0 {
        0.0
    } else {
        ln_1p_exp(sum.ln())
    }
}

/// Orders that share one pass over the grid.
const BATCH: usize = 104;
/// Below this the step 0.6·z² would make the grid long.
const MULTIPLIER_MIN: f64 = 0.1;
/// Above this z² or the grid's ends overflow, and all is counted as this: r is below 1e-190.
const MULTIPLIER_MAX: f64 = 1e100;
/// Half width of the grid in standard deviations: e^(−40.5) = 3e-18 of the mass is cut.
const REACH: f64 = 9.0;

/// Fills the places of fractional orders; at most [`BATCH`] at a time.
fn fractional(q: f64, z: f64, orders: &[f64], out: &mut [f64]) {
    // The chord of ln A between the neighbouring integers: an upper bound, and the normaliser of
    // the exponentials.
    let mut below = 0.0;
    let mut ln_below = 0.0;
    let mut ln_above = 0.0;
    let mut order_max = 0.0;
    for (order, slot) in orders.iter().zip(out.iter_mut()) {
        let floor = math::floor(*order);
        if floor == *order || !(*order > 1.0) {
            continue;
        }
        if floor != below {
            ln_below = if floor == below + 1.0 {
                ln_above
            } else {
                ln_a_integer(q, z, floor)
            };
            ln_above = ln_a_integer(q, z, floor + 1.0);
            below = floor;
        }
        *slot = ln_below + (order - floor) * (ln_above - ln_below);
        if *order > order_max {
            order_max = *order;
        }
    }
    if (MULTIPLIER_MIN..=MULTIPLIER_MAX).contains(&z) && order_max > 1.0 {
        quadrature(q, z, order_max, orders, out);
    }
    for (order, slot) in orders.iter().zip(out.iter_mut()) {
        if math::floor(*order) != *order && *order > 1.0 {
            *slot /= order - 1.0;
        }
    }
}

/// Replaces the chords in `out` by ln A.
fn quadrature(q: f64, z: f64, order_max: f64, orders: &[f64], out: &mut [f64]) {
    let variance = z * z;
    let step = if z / 2.0 < 0.6 * variance {
        z / 2.0
    } else {
        0.6 * variance
    };
    let ln_in = Scalar::ln(q);
    let mut sums = [0.0; BATCH];
    let count = math::ceil((order_max + 2.0 * REACH * z) / step) as u32;
    for i in 0..=count {
        let x = f64::from(i) * step - REACH * z;
        let exponent = -x * x / (2.0 * variance);
        let v = (x - 0.5) / variance;
        let (y, ln_ratio) = if v > 300.0 {
            (f64::INFINITY, ln_in + v)
        } else {
            let y = q * math::exp_m1(v);
            (y, math::ln_1p(y))
        };
        let density = Scalar::exp(exponent);
        for ((order, chord), sum) in orders.iter().zip(out.iter()).zip(sums.iter_mut()) {
            if math::floor(*order) == *order || !(*order > 1.0) || x > order + REACH * z {
                continue;
            }
            *sum += if *chord > 1.0 {
                Scalar::exp(order * ln_ratio + exponent - chord)
            } else {
                density * excess(*order, y, ln_ratio)
            };
        }
    }
    let weight = step / (z * 2.506_628_274_631_000_2); // √(2π)
    for ((order, slot), sum) in orders.iter().zip(out.iter_mut()).zip(sums.iter()) {
        if math::floor(*order) == *order || !(*order > 1.0) {
            continue;
        }
        let mut ln_a = if *slot > 1.0 {
            *slot + Scalar::ln(sum * weight)
        } else {
            math::ln_1p(sum * weight)
        };
        // Where the chord is far above, their difference cancels, and no relative push covers what
        // is lost.
        if *slot > 1.0 && ln_a < 0.1 {
            ln_a = math::ln_1p(excess_alone(q, z, *order, step, count) * weight);
        }
        // The chord is a proved bound: never above it.
        if ln_a < *slot {
            *slot = ln_a;
        }
    }
}

/// The sum over the grid for one order of small A − 1: nothing overflows, because no term is above
/// the sum.
fn excess_alone(q: f64, z: f64, order: f64, step: f64, count: u32) -> f64 {
    let mut sum = 0.0;
    for i in 0..=count {
        let x = f64::from(i) * step - REACH * z;
        if x > order + REACH * z {
            break;
        }
        let exponent = -x * x / (2.0 * z * z);
        let v = (x - 0.5) / (z * z);
        let y = if v > 300.0 {
            Scalar::exp(Scalar::ln(q) + v)
        } else {
            q * math::exp_m1(v)
        };
        let ln_ratio = if y < f64::INFINITY {
            math::ln_1p(y)
        } else {
            Scalar::ln(q) + v
        };
        sum += if order * ln_ratio > 40.0 {
            // 1 + αy is below e^(−30) of it; leaving it out errs upwards.
            Scalar::exp(order * ln_ratio + exponent)
        } else {
            Scalar::exp(exponent) * excess(order, y, ln_ratio)
        };
    }
    sum
}

/// (1+y)^α − 1 − αy ≥ 0, with `ln_ratio` = ln(1+y).
fn excess(order: f64, y: f64, ln_ratio: f64) -> f64 {
    if y.abs() < 0.01 {
        // α(α−1)/2·y²·(1 + (α−2)/3·y·(1 + (α−3)/4·y·(…)))
        let mut series = 1.0;
        let mut k = 9.0;
        while k > 2.0 {
            series = 1.0 + (order - k + 1.0) / k * y * series;
            k -= 1.0;
        }
        order * (order - 1.0) / 2.0 * y * y * series
    } else {
        math::exp_m1(order * ln_ratio) - order * y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_orders_agree_with_the_plain_sum() {
        // PAPERS: ln[Σ C(α,k)(1−q)^(α−k)q^k e^((k²−k)/(2z²))]/(α−1), here α = 3 by hand.
        let q = 0.25f64;
        let z = 1.0;
        let a = (1.0 - q).powi(3)
            + 3.0 * (1.0 - q).powi(2) * q
            + 3.0 * (1.0 - q) * q * q * 1.0f64.exp()
            + q.powi(3) * 3.0f64.exp();
        assert!((divergence(q, z, 3.0) / (a.ln() / 2.0) - 1.0).abs() < 1e-10);
    }

    #[test]
    fn enormous_multipliers_end() {
        for z in [1e100, 1.1e100, 1e154, 1e200, f64::MAX] {
            let loss = divergence(0.5, z, 1.5);
            assert!((0.0..1e-150).contains(&loss), "{z:e}: {loss:e}");
        }
    }

    #[test]
    fn fractional_orders_approach_integers_and_obey_the_chord() {
        for (q, z) in [
            (0.25, 1.0),
            (1e-4, 0.3),
            (0.5, 4.0),
            (0.01, 0.15),
            (0.9, 0.05),
        ] {
            for order in [2.0, 3.0, 7.0] {
                let at = divergence(q, z, order);
                for near in [order - 1e-6, order + 1e-6] {
                    assert!(
                        (divergence(q, z, near) / at - 1.0).abs() < 1e-4,
                        "{q} {z} {near}"
                    );
                }
            }
            let mut last = 0.0;
            for i in 11..109 {
                let r = divergence(q, z, f64::from(i) / 10.0);
                assert!(r >= last && r.is_finite(), "{q} {z} {i}: {r} after {last}");
                last = r;
            }
        }
    }

    #[test]
    fn no_divergence_is_negative_or_falls_with_the_order() {
        // ln A(2) is 7 here, ln A(1.3) nothing: their difference was −3e-15.
        for (q, z) in [
            (2.115_641_044_093_842_3e-17, 0.109_148_106_004_985_6),
            (1e-19, 0.105),
            (1e-12, 0.15),
            (0.5, 1.0),
        ] {
            let mut row = [0.0; 156];
            divergences(q, z, &crate::privacy::accountant::order::ORDERS, &mut row);
            assert!(
                row[0] >= 0.0
                    && row
                        .windows(2)
                        .all(|pair| pair[1] >= pair[0] * (1.0 - 1e-12)),
                "{q} {z}: {row:?}"
            );
        }
    }

    #[test]
    fn batches_are_single_orders() {
        let orders = [1.1, 2.0, 2.5, 10.9, 11.0, 64.0];
        let mut out = [0.0; 6];
        divergences(0.1, 0.7, &orders, &mut out);
        for (order, r) in orders.iter().zip(out) {
            assert!((divergence(0.1, 0.7, *order) / r - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn edges() {
        assert_eq!(divergence(0.0, 1.0, 2.0), 0.0);
        assert!((divergence(1.0, 2.0, 2.5) - 0.3125).abs() < 1e-10);
        for (q, z, order) in [
            (f64::NAN, 1.0, 2.0),
            (0.5, 0.0, 2.0),
            (0.5, f64::NAN, 1.5),
            (0.5, 1.0, 1.0),
            (2.0, 1.0, 2.0),
        ] {
            assert_eq!(divergence(q, z, order), f64::INFINITY);
        }
        // Extreme but finite.
        assert!(divergence(0.5, 1e-3, 1.5).is_finite() && divergence(1e-18, 1e3, 1.1) >= 0.0);
    }
}
