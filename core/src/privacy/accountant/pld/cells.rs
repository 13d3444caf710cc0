//! Losses of one release as masses on a grid: each cell's P- and Q-mass split onto its ends so that both are kept.
//!
//! Cells need not be equally wide for that. Where hardly any (tilted) mass is left above, they span several steps: a
//! release of q = 0.01 at T = 10,000 has 700 cells in place of 13,000, and the log moment gains 3 % of its error. No cell
//! is wider than half of 1/λ: across a wider one the tilt grows e-fold, and a chord would lift mass by e^(λ·width).

#![cfg(feature = "alloc")]

use crate::math::{self, Scalar};
use alloc::vec;
use alloc::vec::Vec;

use super::kinds::Kind;
use super::opposed;

/// Relative error of one rounded f64 operation, 2⁻⁵³.
pub(super) const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The loss of one release on the grid of one step: masses at grid indices that rise.
pub(super) struct Pmf {
    pub(super) cells: Vec<(i64, f64)>,
    /// Mass of infinite loss.
    pub(super) infinity: f64,
}

/// What decides how wide cells may be: the tilt λ of the sum, and ln E e^(λL) of one release (plus the logarithm of the
/// tilted mass that matters, where that is far below one).
#[derive(Clone, Copy)]
pub(super) struct Weight {
    pub(super) tilt: f64,
    pub(super) moment: f64,
}

impl Weight {
    /// The most steps of a cell.
    pub(super) fn widest(self, step: f64) -> f64 {
        Scalar::min(0.5 / (self.tilt * step), 1e9)
    }

    /// Steps of the cell that begins at `loss`, with the mass `above` it: cells widen as the tilted mass above falls,
    /// m^(−1/3)/10 steps add ∫ m^(−2/3)/100 dm = 3 % to the error.
    pub(super) fn width(self, above: f64, loss: f64, widest: f64) -> i64 {
        let tilted = Scalar::ln(above) + self.tilt * loss - self.moment;
        (Scalar::min(0.1 * Scalar::exp(Scalar::min(tilted, 0.0) / -3.0), widest) as i64).max(1)
    }
}

/// How many standard deviations of one release are kept, so that at most `mass` is given up to infinity: the least x with
/// q·Φ(−x) + (1 − q)·Φ(−x − 1/z) ≤ mass. That it is the least is no matter of the guarantee: what is given up is counted.
pub(super) fn reach(kind: Kind, mass: f64) -> f64 {
    let (q, z) = match kind {
        Kind::Gaussian { z } => (1.0, z),
        Kind::Sampled { q, z } | Kind::Opposed { q, z } => (q, z),
        Kind::Pure { .. } => return 0.0,
    };
    let beyond = |x: f64| q * Tail::at(x).above() + (1.0 - q) * Tail::at(x + 1.0 / z).above();
    let (mut low, mut high) = (1.0, 38.0);
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        if beyond(middle) <= mass { high = middle } else { low = middle }
    }
    high
}

/// The finite losses of one release span at most this.
pub(super) fn loss_range(kind: Kind, reach: f64) -> f64 {
    match kind {
        Kind::Gaussian { z } => 2.0 * reach / z + 1.0 / (z * z),
        Kind::Sampled { q, z } => {
            let top = (1.0 + 2.0 * reach * z) / (2.0 * z * z);
            let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
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
        Kind::Pure { epsilon } => [randomized_response(epsilon, step), randomized_response(epsilon, step)],
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
        for (index, mass) in [(low as i64, p - upper), (low as i64 + 1, upper * (1.0 + 1e-15))] {
            match cells.iter_mut().find(|cell| cell.0 == index) {
                Some(cell) => cell.1 += mass,
                None => cells.push((index, mass)),
            }
        }
    }
    Pmf { cells, infinity: 0.0 }
}

/// The smaller tail at a point of a normal, and which it is.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    value: f64,
    upper: bool,
}

impl Tail {
    pub(super) fn at(x: f64) -> Self {
        Tail { value: 0.5 * math::erfc(x.abs() * core::f64::consts::FRAC_1_SQRT_2), upper: x > 0.0 }
    }

    pub(super) fn above(self) -> f64 {
        if self.upper { self.value } else { 1.0 - self.value }
    }

    pub(super) fn below(self) -> f64 {
        if self.upper { 1.0 - self.value } else { self.value }
    }
}

/// Mass between two points, and a bound on its rounding error.
pub(super) fn between(a: Tail, b: Tail) -> (f64, f64) {
    let mass = match (a.upper, b.upper) {
        (true, true) => a.value - b.value,
        (false, false) => b.value - a.value,
        _ => 1.0 - a.value - b.value,
    };
    let slack = if a.upper == b.upper { Scalar::max(a.value, b.value) } else { 1.0 };
    (Scalar::max(mass, 0.0), 6e-16 * slack)
}

/// Clamped to [0, 1]; NaN, where e^ε overflows, goes up.
fn fraction(x: f64) -> f64 {
    if x < 1.0 { Scalar::max(x, 0.0) } else { 1.0 }
}

/// P- and Q-mass of one cell, each with a bound on its rounding error.
pub(super) struct Cell {
    pub(super) mass: f64,
    pub(super) slack: f64,
    pub(super) other: f64,
    pub(super) other_slack: f64,
}

/// P-mass of a cell for its lower and its upper end, so that its Q-mass is kept too; `ratio` is e^loss at the lower end.
pub(super) fn split(cell: &Cell, ratio: f64, width: i64, step: f64) -> (f64, f64) {
    // The upper end takes what rounding may have lost of the cell's mass.
    if !(cell.mass > 0.0) {
        return (0.0, cell.slack);
    }
    let share = 1.0 / -math::exp_m1(-(width as f64 * step));
    // 1 − r, r = Q·e^low/P, rounded so that mass goes up.
    let rest = 1.0 - cell.other * ratio / cell.mass + 2e-15 + (cell.other_slack * ratio + cell.slack) / cell.mass;
    let part = cell.mass * fraction(rest * share);
    (cell.mass - part, part + cell.slack)
}

/// Where the loss crosses a grid point: e^ε, both tails there.
struct Edge {
    ratio: f64,
    outside: Tail,
    inside: Tail,
}

/// Cells of L = ln(1 − q + q·e^((2x−1)/(2z²))), under the mixture (remove) and of −L under the Gaussian (add).
fn sampled_gaussian(q: f64, z: f64, step: f64, reach: f64, weight: Weight) -> [Pmf; 2] {
    let variance = z * z;
    let top = (1.0 + 2.0 * reach * z) / (2.0 * variance);
    let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
    let bottom = if q < 1.0 { math::ln_1p(-q) } else { -(1.0 + 2.0 * reach * z) / (2.0 * variance) };
    let (first, last) = (math::floor(bottom / step) as i64, math::ceil(top / step) as i64 + 1);
    let share = |width: i64| 1.0 / -math::exp_m1(-(width as f64 * step));
    let edge = |i: i64| {
        let epsilon = i as f64 * step;
        let excess = math::exp_m1(epsilon);
        let x = if excess > -q {
            let crossing = if epsilon > 700.0 { epsilon - Scalar::ln(q) } else { math::ln_1p(excess / q) };
            variance * crossing + 0.5
        } else {
            f64::NEG_INFINITY
        };
        Edge { ratio: excess + 1.0, outside: Tail::at(x / z), inside: Tail::at((x - 1.0) / z) }
    };
    let widest = weight.widest(step);
    let (mut low, mut at) = (edge(first), first);
    let (mut remove, mut add) = (vec![(first, 0.0)], vec![(-first, 0.0)]);
    // What lies below the first edge (q = 1 only): up to it in one direction, infinite loss in the other.
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
        let cell = Cell { mass: mixture, slack, other: outside, other_slack: slack_0 };
        let (lower, upper) = split(&cell, low.ratio, next - at, step);
        if let Some(cell) = remove.last_mut() {
            cell.1 += lower;
        }
        remove.push((next, upper));
        // The same cell seen from the other side: losses −high .. −low.
        let (mut upper, mut lower) = (slack_0, 0.0);
        if outside > 0.0 {
            let rest = 1.0 - mixture / (high.ratio * outside) + 2e-15 + (slack / high.ratio + slack_0) / outside;
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
    [Pmf { cells: remove, infinity: remove_infinity }, Pmf { cells: add, infinity: add_infinity }]
}

/// ln M and its first two derivatives: tilted mean and variance.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// How far the product of exponentials runs before it is set right again.
const RESYNC: u32 = 16;

impl Pmf {
    /// Grid indices of the least and the largest finite loss.
    pub(super) fn ends(&self) -> (i64, i64) {
        (self.cells.first().map_or(0, |cell| cell.0), self.cells.last().map_or(0, |cell| cell.0))
    }

    /// Calls `visit(index, mass·e^(tilt·loss − shift))` for every cell.
    ///
    /// **Numerics**: each value is right to within [`Pmf::rounding`], relative.
    pub(super) fn tilted(&self, step: f64, tilt: f64, shift: f64, mut visit: impl FnMut(i64, f64)) {
        let ratio = Scalar::exp(tilt * step);
        let (mut factor, mut before, mut run) = (0.0, i64::MIN, 0);
        for &(index, mass) in &self.cells {
            if run == 0 || before + 1 != index {
                factor = Scalar::exp(tilt * (index as f64 * step) - shift);
                run = RESYNC;
            } else {
                factor *= ratio;
            }
            (before, run) = (index, run - 1);
            visit(index, mass * factor);
        }
    }

    /// Bound on the relative error of [`Pmf::tilted`]: three roundings of the exponent, one unit of the exponential and
    /// of the product, and for each of at most [`RESYNC`] steps of the recurrence one of the ratio (with its exponent,
    /// below one in a step) and one of the product: 3u·(λ|l| + |shift|) + 3u + 16·(3 + λh)·u.
    pub(super) fn rounding(&self, step: f64, tilt: f64, shift: f64) -> f64 {
        let (first, last) = self.ends();
        let farthest = first.unsigned_abs().max(last.unsigned_abs()) as f64 * step * tilt;
        let steps = f64::from(RESYNC) * (3.0 + tilt * step);
        UNIT_ROUNDOFF * (3.0 * (farthest + shift.abs()) + 4.0 + steps)
    }

    pub(super) fn moment(&self, step: f64, tilt: f64) -> Moment {
        // A shift that keeps the largest exponent finite.
        let mut shift = f64::NEG_INFINITY;
        for (index, mass) in self.cells.iter().step_by(16).chain(self.cells.last()) {
            if *mass > 0.0 {
                shift = Scalar::max(shift, tilt * (*index as f64 * step) + Scalar::ln(*mass));
            }
        }
        if !shift.is_finite() {
            shift = 0.0;
        }
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        let origin = self.ends().0;
        self.tilted(step, tilt, shift, |index, p| {
            let loss = (index - origin) as f64 * step;
            sum += p;
            first += p * loss;
            second += p * loss * loss;
        });
        let mean = first / sum;
        Moment {
            value: shift + Scalar::ln(sum),
            mean: origin as f64 * step + mean,
            variance: second / sum - mean * mean,
        }
    }
}
