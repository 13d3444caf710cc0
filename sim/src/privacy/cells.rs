//! Losses of one release as masses on a grid: each cell's P- and Q-mass split onto its ends so that both are kept.

use sordino_core::math::{self, Scalar};
use sordino_core::privacy::Event;

/// The loss of one release on the grid of one step.
pub(super) struct Pmf {
    /// Grid index of the first cell.
    pub(super) first: i64,
    pub(super) mass: Vec<f64>,
    /// Mass of infinite loss.
    pub(super) infinity: f64,
}

/// The finite losses of one event span at most this.
pub(super) fn loss_range(event: &Event, reach: f64) -> f64 {
    match *event {
        Event::Gaussian { noise_multiplier: z, .. } => 2.0 * reach / z + 1.0 / (z * z),
        Event::PoissonSampledGaussian { sampling_probability: q, noise_multiplier: z, .. } => {
            let top = (1.0 + 2.0 * reach * z) / (2.0 * z * z);
            let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
            let bottom = if q < 1.0 { -math::ln_1p(-q) } else { top };
            top + bottom
        }
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => 2.0 * epsilon,
        Event::FixedSizeSampledGaussian { .. } => 0.0,
    }
}

/// Both directions of one event.
pub(super) fn cells(event: &Event, step: f64, reach: f64) -> [Pmf; 2] {
    match *event {
        Event::Gaussian { noise_multiplier, .. } => sampled_gaussian(1.0, noise_multiplier, step, reach),
        Event::PoissonSampledGaussian { sampling_probability, noise_multiplier, .. } => {
            sampled_gaussian(sampling_probability, noise_multiplier, step, reach)
        }
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => {
            [randomized_response(epsilon, step), randomized_response(epsilon, step)]
        }
        Event::FixedSizeSampledGaussian { .. } => [empty(), empty()],
    }
}

pub(super) fn empty() -> Pmf {
    Pmf { first: 0, mass: vec![0.0], infinity: 1.0 }
}

/// Losses ±ε of probability e^ε/(1+e^ε) and 1/(1+e^ε), each split onto its cell's ends.
pub(super) fn randomized_response(epsilon: f64, step: f64) -> Pmf {
    let first = math::floor(-epsilon / step) as i64;
    let last = math::ceil(epsilon / step) as i64;
    let mut mass = vec![0.0; (last - first + 2) as usize];
    let likely = 1.0 / (1.0 + Scalar::exp(-epsilon));
    for (loss, p) in [(epsilon, likely), (-epsilon, 1.0 - likely)] {
        let low = math::floor(loss / step);
        let part = -math::exp_m1(-(loss - low * step)) / -math::exp_m1(-step) + 1e-14;
        let upper = p * Scalar::min(part, 1.0);
        let at = (low as i64 - first) as usize;
        mass[at] += p - upper;
        mass[at + 1] += upper;
    }
    Pmf { first, mass, infinity: 0.0 }
}

/// The smaller tail at a point of a normal, and which it is.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    pub(super) value: f64,
    upper: bool,
}

pub(super) fn tail(x: f64) -> Tail {
    Tail { value: 0.5 * math::erfc(x.abs() * std::f64::consts::FRAC_1_SQRT_2), upper: x > 0.0 }
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

/// Cells of L = ln(1 − q + q·e^((2x−1)/(2z²))), under the mixture (remove) and of −L under the Gaussian (add).
pub(super) fn sampled_gaussian(q: f64, z: f64, step: f64, reach: f64) -> [Pmf; 2] {
    let variance = z * z;
    // Where the loss crosses ε.
    let cross = |excess: f64| variance * math::ln_1p(excess / q) + 0.5;
    let top = (1.0 + 2.0 * reach * z) / (2.0 * variance);
    let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
    let bottom = if q < 1.0 { math::ln_1p(-q) } else { -(1.0 + 2.0 * reach * z) / (2.0 * variance) };
    let (first, last) = (math::floor(bottom / step) as i64, math::ceil(top / step) as i64 + 1);
    let n = (last - first) as usize;
    let (mut remove, mut add) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let share = 1.0 / -math::exp_m1(-step);
    let edge = |i: i64| {
        let epsilon = i as f64 * step;
        let excess = math::exp_m1(epsilon);
        let x = if excess > -q {
            if epsilon > 700.0 { variance * (epsilon - Scalar::ln(q)) + 0.5 } else { cross(excess) }
        } else {
            f64::NEG_INFINITY
        };
        (excess + 1.0, tail(x / z), tail((x - 1.0) / z))
    };
    let (mut ratio_low, mut t0, mut t1) = edge(first);
    // What lies below the first edge (q = 1 only): up to it in one direction, infinite loss in the other.
    let below = |t: Tail| if t.upper { 1.0 - t.value } else { t.value };
    let (below_0, below_1) = (below(t0), below(t1));
    remove[0] += (1.0 - q) * below_0 + q * below_1;
    let mut add_infinity = 0.0;
    if q == 1.0 {
        add_infinity = below_0;
    }
    for i in 0..n {
        let (ratio_high, u0, u1) = edge(first + i as i64 + 1);
        let ((outside, slack_0), (inside, slack_1)) = (between(t0, u0), between(t1, u1));
        let mixture = (1.0 - q) * outside + q * inside;
        let slack = (1.0 - q) * slack_0 + q * slack_1;
        if mixture > 0.0 {
            // 1 − r, r = Q·e^low/P, rounded so that mass goes up.
            let rest = 1.0 - outside * ratio_low / mixture + 2e-15 + (slack_0 * ratio_low + slack) / mixture;
            let upper = mixture * Scalar::min(Scalar::max(rest * share, 0.0), 1.0);
            remove[i + 1] += upper;
            remove[i] += mixture - upper;
        }
        if outside > 0.0 {
            // The same cell seen from the other side: losses −high .. −low.
            let rest = 1.0 - mixture / (ratio_high * outside) + 2e-15 + (slack / ratio_high + slack_0) / outside;
            let upper = outside * Scalar::min(Scalar::max(rest * share, 0.0), 1.0);
            add[n - i] += upper;
            add[n - i - 1] += outside - upper;
        }
        (ratio_low, t0, t1) = (ratio_high, u0, u1);
    }
    let above = |t: Tail| if t.upper { t.value } else { 1.0 - t.value };
    let remove_infinity = (1.0 - q) * above(t0) + q * above(t1);
    add[0] += above(t0);
    [Pmf { first, mass: remove, infinity: remove_infinity }, Pmf { first: -last, mass: add, infinity: add_infinity }]
}

/// ln M and its first two derivatives: tilted mean and variance.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// How far the product of exponentials runs before it is set right again.
const RESYNC: usize = 32;

impl Pmf {
    /// Calls `visit(loss, mass·e^(tilt·loss − shift))` for every cell.
    pub(super) fn tilted(&self, step: f64, tilt: f64, shift: f64, mut visit: impl FnMut(usize, f64)) {
        let ratio = Scalar::exp(tilt * step);
        for (block, masses) in self.mass.chunks(RESYNC).enumerate() {
            let start = self.first + (block * RESYNC) as i64;
            let mut factor = Scalar::exp(tilt * (start as f64 * step) - shift);
            for (i, mass) in masses.iter().enumerate() {
                visit(block * RESYNC + i, mass * factor);
                factor *= ratio;
            }
        }
    }

    pub(super) fn moment(&self, step: f64, tilt: f64) -> Moment {
        // A shift that keeps the largest exponent finite.
        let mut shift = f64::NEG_INFINITY;
        for (i, mass) in self.mass.iter().enumerate().step_by(16) {
            if *mass > 0.0 {
                let exponent = tilt * ((self.first + i as i64) as f64 * step) + Scalar::ln(*mass);
                shift = Scalar::max(shift, exponent);
            }
        }
        if !shift.is_finite() {
            shift = 0.0;
        }
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        let origin = self.first as f64 * step;
        self.tilted(step, tilt, shift, |i, p| {
            let loss = i as f64 * step;
            sum += p;
            first += p * loss;
            second += p * loss * loss;
        });
        let mean = first / sum;
        Moment { value: shift + Scalar::ln(sum), mean: origin + mean, variance: second / sum - mean * mean }
    }
}
