//! The loss between two opposed contributions of a Poisson-sampled Gaussian: +1 against −1, in
//! units of the sensitivity.
//!
//! **Equation**: L(x) = ln a(x) − ln a(−x), a(x) = 1 − q + q·e^((2x−1)/(2z²)): odd and rising, so
//! that L(x) = ε at x = z²·(ε/2 + asinh(((1 − q)/q)·e^(1/(2z²))·sinh(ε/2))).
//!
//! The pair is its own mirror image, so one direction says everything. That it dominates every
//! other pair of contributions is proven in [`crate::privacy::accountant::replace`]. Cells are
//! those of [`super::cells`], with another Q.

#![cfg(feature = "alloc")]

use alloc::vec;

use crate::math::{self, Scalar};
use crate::privacy::accountant::AccountantError;
use crate::privacy::accountant::analytic::bisect;
use crate::privacy::accountant::replace::ln_mixture;

use super::masses::{Cell, Pmf, Tail, Weight, between, split};

/// The loss L at x, as in the equation above.
fn loss(q: f64, z: f64, x: f64) -> f64 {
    let half = 0.5 / (z * z);
    ln_mixture(q, (2.0 * x - 1.0) * half) - ln_mixture(q, (-2.0 * x - 1.0) * half)
}

/// The largest finite loss that is kept, `reach` deviations beyond 1; the least is its negative.
pub(super) fn top(q: f64, z: f64, reach: f64) -> f64 {
    loss(q, z, 1.0 + reach * z)
}

/// Where the loss is ε.
fn crossing(q: f64, z: f64, epsilon: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let half = 0.5 * epsilon.abs();
    // ln sinh.
    let grown = math::exp_m1(half);
    let ln_sinh = if half > 20.0 {
        half - core::f64::consts::LN_2
    } else {
        Scalar::ln(0.5 * (grown + grown / (grown + 1.0)))
    };
    // asinh(e^y).
    let y = ln_sinh + math::ln_1p(-q) - Scalar::ln(q) + 0.5 / (z * z);
    let asinh = if y > 0.0 {
        let below = Scalar::exp(-y);
        y + Scalar::ln(1.0 + Scalar::sqrt(1.0 + below * below))
    } else {
        let t = Scalar::exp(y);
        math::ln_1p(t + t * t / (1.0 + Scalar::sqrt(1.0 + t * t)))
    };
    let x = z * z * (half + asinh);
    if epsilon < 0.0 { -x } else { x }
}

/// Tails of N(0), N(1), N(−1) at one point.
#[derive(Clone, Copy)]
struct Tails {
    outside: Tail,
    inside: Tail,
    under: Tail,
}

impl Tails {
    fn at(x: f64, z: f64) -> Self {
        Tails {
            outside: Tail::at(x / z),
            inside: Tail::at((x - 1.0) / z),
            under: Tail::at((x + 1.0) / z),
        }
    }

    /// P(X > x) under the data.
    fn above(self, q: f64) -> f64 {
        (1.0 - q) * self.outside.above() + q * self.inside.above()
    }
}

/// Cells of L under (1 − q)N(0) + qN(1); the second direction is the first, and stays empty.
pub(super) fn cells(q: f64, z: f64, step: f64, reach: f64, weight: Weight) -> [Pmf; 2] {
    let top = top(q, z, reach);
    let last = math::ceil(top / step) as i64 + 1;
    let widest = weight.widest(step);
    let edge = |i: i64| Tails::at(crossing(q, z, i as f64 * step), z);
    let mut low = edge(-last);
    let mut at = -last;
    // What lies below the first edge is lifted to it.
    let mut cells = vec![(at, (1.0 - q) * low.outside.below() + q * low.inside.below())];
    while at < last {
        let width = weight.width(low.above(q), at as f64 * step, widest);
        let next = (at + width).min(last);
        let high = edge(next);
        let (outside, slack_0) = between(low.outside, high.outside);
        let (inside, slack_1) = between(low.inside, high.inside);
        let (under, slack_2) = between(low.under, high.under);
        let cell = Cell {
            mass: (1.0 - q) * outside + q * inside,
            slack: (1.0 - q) * slack_0 + q * slack_1,
            other: (1.0 - q) * outside + q * under,
            other_slack: (1.0 - q) * slack_0 + q * slack_2,
        };
        let (lower, upper) = split(&cell, Scalar::exp(at as f64 * step), next - at, step);
        if let Some(cell) = cells.last_mut() {
            cell.1 += lower;
        }
        cells.push((next, upper));
        (low, at) = (high, next);
    }
    [
        Pmf {
            cells,
            infinity: low.above(q),
        },
        Pmf {
            cells: vec![(0, 1.0)],
            infinity: 0.0,
        },
    ]
}

/// δ of one release at ε, rounded up: the best set is a half-line, because the loss rises with x.
fn delta(q: f64, z: f64, epsilon: f64) -> f64 {
    let x = crossing(q, z, epsilon);
    let tails = Tails::at(x, z);
    let mass = tails.above(q);
    let other = (1.0 - q) * tails.outside.above() + q * tails.under.above();
    // Tails are good to a few units, and as much more as their exponent is large.
    let reach = (x.abs() + 1.0) / z;
    let rounding = mass * 1e-14 * (4.0 + reach * reach + epsilon) + f64::MIN_POSITIVE;
    // NaN, where e^ε overflows, goes up.
    let delta = mass - Scalar::exp(epsilon) * other + rounding;
    if delta <= mass + rounding {
        Scalar::min(delta, 1.0)
    } else {
        1.0
    }
}

/// ε of one release, from above.
pub(super) fn once(q: f64, z: f64, target: f64) -> Result<f64, AccountantError> {
    let enough = |epsilon: f64| delta(q, z, epsilon) <= target;
    if enough(0.0) {
        return Ok(0.0);
    }
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        if high > 700.0 {
            // That of everybody, where e^ε overflows.
            return crate::privacy::accountant::analytic::epsilon(0.5 * z, target);
        }
    }
    Ok(bisect(0.0, high, enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_inverts_the_loss() {
        for (q, z) in [(0.25, 1.0), (1e-4, 0.6), (0.99, 8.0), (0.5, 0.2)] {
            for epsilon in [1e-9, 1e-3, 0.3, 1.0, 7.0, 60.0] {
                let x = crossing(q, z, epsilon);
                let back = loss(q, z, x);
                assert!(
                    (back - epsilon).abs() < 1e-12 * (1.0 + epsilon + 1.0 / (z * z)),
                    "{q} {z} {epsilon}: {back}"
                );
                assert_eq!(crossing(q, z, -epsilon), -x);
            }
        }
    }

    /// One round by Simpson's rule over ∫(p − e^ε·p′)₊, which knows no crossing and no tail.
    #[test]
    fn one_release_is_what_quadrature_says() {
        for (q, z, epsilon) in [
            (0.25, 1.0, 0.5),
            (0.3, 1.0, 2.0),
            (0.05, 0.7, 1.5),
            (0.8, 5.0, 0.2),
            (0.25, 4.0, 0.0),
        ] {
            let density = |x: f64, at: f64| {
                (-(x - at) * (x - at) / (2.0 * z * z)).exp() / (z * 2.506_628_274_631_000_2)
            };
            let value = |x: f64| {
                let nobody = (1.0 - q) * density(x, 0.0);
                let p = nobody + q * density(x, 1.0);
                let other = nobody + q * density(x, -1.0);
                f64::max(p - epsilon.exp() * other, 0.0)
            };
            let low = -12.0 * z - 2.0;
            let high = 12.0 * z + 2.0;
            let n = 400_000;
            let h = (high - low) / f64::from(n);
            let weight = |i: i32| {
                if i == 0 || i == n {
                    1.0
                } else if i % 2 == 1 {
                    4.0
                } else {
                    2.0
                }
            };
            let truth = (0..=n)
                .map(|i| weight(i) * value(low + f64::from(i) * h))
                .sum::<f64>()
                * h
                / 3.0;
            let found = delta(q, z, epsilon);
            assert!(
                found >= truth * (1.0 - 1e-7) && found <= truth * (1.0 + 1e-6),
                "{q} {z} {epsilon}: {found} {truth}"
            );
            let back = once(q, z, truth).unwrap();
            assert!((back - epsilon).abs() < 1e-5, "{back} {epsilon}");
            // Negative control: against nothing the same release loses less.
            assert!(q * crate::privacy::accountant::analytic::delta(z, 0.0) < delta(q, z, 0.0));
        }
    }
}
