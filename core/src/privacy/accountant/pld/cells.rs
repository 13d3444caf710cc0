//! Losses of one release as masses on a grid: each cell's P- and Q-mass split onto its ends so that
//! both are kept.
//!
//! Cells need not be equally wide for that. Where hardly any (tilted) mass is left above, they span
//! several steps: a release of q = 0.01 at T = 10,000 has 700 cells in place of 13,000, and the log
//! moment gains 3 % of its error. No cell is wider than half of 1/λ: across a wider one the tilt
//! grows e-fold, and a chord would lift mass by e^(λ·width).

#![cfg(feature = "alloc")]

use crate::math::{self, Scalar};
use alloc::vec;
use alloc::vec::Vec;

use super::kinds::Kind;
use super::masses::{Cell, Pmf, Tail, Weight, between, fraction, split};
use super::opposed;

/// How many standard deviations of one release are kept, so that at most `mass` is given up to
/// infinity: the least x with q·Φ(−x) + (1 − q)·Φ(−x − 1/z) ≤ mass. That it is the least is no
/// matter of the guarantee: what is given up is counted.
pub(super) fn reach(kind: Kind, mass: f64) -> f64 {
    let (q, z) = match kind {
        Kind::Gaussian { z } => (1.0, z),
        Kind::Sampled { q, z } | Kind::Opposed { q, z } => (q, z),
        Kind::Pure { .. } => return 0.0,
    };
    let beyond = |x: f64| q * Tail::at(x).above() + (1.0 - q) * Tail::at(x + 1.0 / z).above();
    let mut low = 1.0;
    let mut high = 38.0;
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        if beyond(middle) <= mass {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

/// The finite losses of one release span at most this.
pub(super) fn loss_range(kind: Kind, reach: f64) -> f64 {
    match kind {
        Kind::Gaussian { z } => 2.0 * reach / z + 1.0 / (z * z),
        Kind::Sampled { q, z } => {
            let top = (1.0 + 2.0 * reach * z) / (2.0 * z * z);
            let top = if top > 700.0 {
                top + Scalar::ln(q)
            } else {
                math::ln_1p(q * math::exp_m1(top))
            };
            let bottom = if q < 1.0 { -math::ln_1p(-q) } else { top };
            top + bottom
        }
        Kind::Opposed { q, z } => 2.0 * opposed::top(q, z, reach),
        Kind::Pure { epsilon } => 2.0 * epsilon,
    }
}

/// Both directions of one release.
pub(super) fn cells(kind: Kind, step: f64, reach: f64, weight: Weight) -> [Pmf; 2] {
    match kind {
        Kind::Gaussian { z } => sampled_gaussian(1.0, z, step, reach, weight),
        Kind::Sampled { q, z } => sampled_gaussian(q, z, step, reach, weight),
        Kind::Opposed { q, z } => opposed::cells(q, z, step, reach, weight),
        Kind::Pure { epsilon } => [
            randomized_response(epsilon, step),
            randomized_response(epsilon, step),
        ],
    }
}

/// Losses ±ε of probability e^ε/(1+e^ε) and 1/(1+e^ε), each split onto its cell's ends.
fn randomized_response(epsilon: f64, step: f64) -> Pmf {
    let mut cells: Vec<(i64, f64)> = Vec::new();
    let likely = 1.0 / (1.0 + Scalar::exp(-epsilon));
    for (loss, p) in [(-epsilon, 1.0 - likely), (epsilon, likely)] {
        let low = math::floor(loss / step);
        let part = -math::exp_m1(-(loss - low * step)) / -math::exp_m1(-step) + 1e-14;
        let upper = p * Scalar::min(part, 1.0);
        for (index, mass) in [
            (low as i64, p - upper),
            (low as i64 + 1, upper * (1.0 + 1e-15)),
        ] {
            match cells.iter_mut().find(|cell| cell.0 == index) {
                Some(cell) => cell.1 += mass,
                None => cells.push((index, mass)),
            }
        }
    }
    Pmf {
        cells,
        infinity: 0.0,
    }
}

/// Where the loss crosses a grid point: e^ε, both tails there.
struct Edge {
    ratio: f64,
    outside: Tail,
    inside: Tail,
}

/// Cells of L = ln(1 − q + q·e^((2x−1)/(2z²))), under the mixture (remove) and of −L under the
/// Gaussian (add).
fn sampled_gaussian(q: f64, z: f64, step: f64, reach: f64, weight: Weight) -> [Pmf; 2] {
    let variance = z * z;
    let top = (1.0 + 2.0 * reach * z) / (2.0 * variance);
    let top = if top > 700.0 {
        top + Scalar::ln(q)
    } else {
        math::ln_1p(q * math::exp_m1(top))
    };
    let bottom = if q < 1.0 {
        math::ln_1p(-q)
    } else {
        -(1.0 + 2.0 * reach * z) / (2.0 * variance)
    };
    let first = math::floor(bottom / step) as i64;
    let last = math::ceil(top / step) as i64 + 1;
    let share = |width: i64| 1.0 / -math::exp_m1(-(width as f64 * step));
    let edge = |i: i64| {
        let epsilon = i as f64 * step;
        let excess = math::exp_m1(epsilon);
        let x = if excess > -q {
            let crossing = if epsilon > 700.0 {
                epsilon - Scalar::ln(q)
            } else {
                math::ln_1p(excess / q)
            };
            variance * crossing + 0.5
        } else {
            f64::NEG_INFINITY
        };
        Edge {
            ratio: excess + 1.0,
            outside: Tail::at(x / z),
            inside: Tail::at((x - 1.0) / z),
        }
    };
    let widest = weight.widest(step);
    let mut low = edge(first);
    let mut at = first;
    let mut remove = vec![(first, 0.0)];
    let mut add = vec![(-first, 0.0)];
    // What lies below the first edge (q = 1 only): up to it in one direction, infinite loss in the
    // other.
    remove[0].1 = (1.0 - q) * low.outside.below() + q * low.inside.below();
    let add_infinity = if q == 1.0 { low.outside.below() } else { 0.0 };
    while at < last {
        let above = (1.0 - q) * low.outside.above() + q * low.inside.above();
        let next = (at + weight.width(above, at as f64 * step, widest)).min(last);
        let high = edge(next);
        let share = share(next - at);
        let (outside, slack_0) = between(low.outside, high.outside);
        let (inside, slack_1) = between(low.inside, high.inside);
        let mixture = (1.0 - q) * outside + q * inside;
        let slack = (1.0 - q) * slack_0 + q * slack_1;
        let cell = Cell {
            mass: mixture,
            slack,
            other: outside,
            other_slack: slack_0,
        };
        let (lower, upper) = split(&cell, low.ratio, next - at, step);
        if let Some(cell) = remove.last_mut() {
            cell.1 += lower;
        }
        remove.push((next, upper));
        // The same cell seen from the other side: losses −high .. −low.
        let mut upper = slack_0;
        let mut lower = 0.0;
        if outside > 0.0 {
            let rest = 1.0 - mixture / (high.ratio * outside)
                + 2e-15
                + (slack / high.ratio + slack_0) / outside;
            let part = outside * fraction(rest * share);
            (upper, lower) = (part + slack_0, outside - part);
        }
        if let Some(cell) = add.last_mut() {
            cell.1 += upper;
        }
        add.push((-next, lower));
        (low, at) = (high, next);
    }
    let remove_infinity = (1.0 - q) * low.outside.above() + q * low.inside.above();
    if let Some(cell) = add.last_mut() {
        cell.1 += low.outside.above();
    }
    add.reverse();
    [
        Pmf {
            cells: remove,
            infinity: remove_infinity,
        },
        Pmf {
            cells: add,
            infinity: add_infinity,
        },
    ]
}
