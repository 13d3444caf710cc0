//! Sums of many losses on one grid: tilted, convolved, read.

use sordino_core::math::{self, Scalar};
use sordino_core::privacy::accountant::order;

use super::cells::{Moment, Pmf};
use super::fourier::{Complex, Plan};
use super::pld::Options;

/// Which of the two neighbours the data is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    Remove,
    Add,
}

pub(super) struct Reading {
    pub(super) epsilon: f64,
    pub(super) cells: usize,
    pub(super) capped: bool,
}

pub(super) struct Grid {
    pub(super) kinds: Vec<([Pmf; 2], u32)>,
    pub(super) step: f64,
    pub(super) capped: bool,
}

impl Grid {
    pub(super) fn pmfs(&self, direction: Direction) -> impl Iterator<Item = (&Pmf, u32)> {
        self.kinds.iter().map(move |(pair, times)| (&pair[direction as usize], *times))
    }

    pub(super) fn moment(&self, direction: Direction, tilt: f64) -> Moment {
        let mut all = Moment::default();
        for (pmf, times) in self.pmfs(direction) {
            let one = pmf.moment(self.step, tilt);
            all.value += f64::from(times) * one.value;
            all.mean += f64::from(times) * one.mean;
            all.variance += f64::from(times) * one.variance;
        }
        all
    }

    pub(super) fn infinity(&self, direction: Direction) -> f64 {
        self.pmfs(direction).fold(0.0, |sum, (pmf, times)| sum + f64::from(times) * pmf.infinity)
    }

    /// A Rényi bound on the grid's own cells certifies that this direction is within δ at ε.
    pub(super) fn certified(&self, direction: Direction, tilt: f64, delta: f64, epsilon: f64) -> bool {
        let infinity = self.infinity(direction);
        // No finite loss of this direction exceeds ε at all.
        let largest: i64 =
            self.pmfs(direction).map(|(pmf, times)| i64::from(times) * (pmf.first + pmf.mass.len() as i64 - 1)).sum();
        if largest as f64 * self.step <= epsilon && infinity <= delta {
            return true;
        }
        [1.0, 1.2, 1.5, 0.8, 2.0].iter().any(|factor| {
            let order = 1.0 + tilt * factor;
            let bound = order::delta(order, self.moment(direction, order - 1.0).value / (order - 1.0), epsilon);
            bound + infinity <= delta
        })
    }

    /// The tilt that a Rényi accountant of this direction would choose.
    pub(super) fn best_tilt(&self, direction: Direction, start: f64, delta: f64) -> f64 {
        let value = |tilt: f64| order::epsilon(1.0 + tilt, self.moment(direction, tilt).value / tilt, delta);
        let mut best = (start, value(start));
        for factor in [2.0, 1.5, 1.2, 1.1] {
            for tilt in [best.0 * factor, best.0 / factor] {
                let epsilon = value(tilt);
                if epsilon < best.1 {
                    best = (tilt, epsilon);
                }
            }
        }
        best.0
    }

    /// ε at δ in one direction; nothing if the mass given up to infinity exceeds δ.
    pub(super) fn read(
        &self,
        direction: Direction,
        tilt: f64,
        delta: f64,
        options: &Options,
        bound: f64,
    ) -> Option<Reading> {
        let mut tilt = tilt;
        // The answer is mostly above half the Rényi bound; a window that starts there is the shortest.
        let mut floor = 0.5 * bound;
        for _ in 0..20 {
            match self.read_at(direction, tilt, delta, floor, options)? {
                Ok(reading) => return Some(reading),
                // The window lies above the answer: lower it to 0, then tilt less.
                Err(()) if floor > 0.0 => floor = -2.0 * self.step,
                Err(()) => tilt *= 0.75,
            }
        }
        Some(Reading { epsilon: bound, cells: 0, capped: true })
    }

    pub(super) fn read_at(
        &self,
        direction: Direction,
        tilt: f64,
        delta: f64,
        floor: f64,
        options: &Options,
    ) -> Option<Result<Reading, ()>> {
        let step = self.step;
        let centre = self.moment(direction, tilt);
        // Chernoff bounds: less than 1e-6 of the tilted sum lies above the window.
        const CUT: f64 = 14.0;
        let small = Scalar::ln(delta) - CUT;
        let (mut untilted, mut untilted_tilt) = ((centre.value - small) / tilt, tilt);
        let spread = Scalar::sqrt(2.0 * CUT / Scalar::max(centre.variance, 1e-300));
        let (mut high, mut high_tilt) = (f64::INFINITY, tilt);
        let mut high_moment = centre.value;
        // (K(λ+η) − K(λ) + CUT)/η has one minimum in η; for a normal sum it is at `spread`, for rare large losses below.
        let mut eta = spread;
        for _ in 0..40 {
            let up = self.moment(direction, tilt + eta);
            let candidate = (up.value - centre.value + CUT) / eta;
            let other = (up.value - small) / (tilt + eta);
            if other < untilted {
                (untilted, untilted_tilt) = (other, tilt + eta);
            }
            if candidate < high {
                (high, high_tilt, high_moment) = (candidate, tilt + eta, up.value);
            } else if high.is_finite() {
                break;
            }
            eta *= 0.5;
        }
        // And less than 1e-6·δ of the sum itself.
        high = Scalar::max(high, untilted);
        // Mass below the window lands e^(−λ·width) times its own size at the top: at most 1e-6·δ in all. Or there is so
        // little of it (the moments at 0 and −1 are those of probabilities, ln M ≤ 0) that it does not matter.
        let low = Scalar::max(high + small / tilt, (centre.value - CUT) / (tilt + 1.0));
        let low = Scalar::min(low, floor);
        high = Scalar::max(high, low + 16.0 * step);
        let (mut first, mut last) = (0i64, 0i64);
        for (pmf, times) in self.pmfs(direction) {
            first += i64::from(times) * pmf.first;
            last += i64::from(times) * (pmf.first + pmf.mass.len() as i64 - 1);
        }
        let low_index = (math::floor(low / step) as i64).max(first);
        let high_index = (math::ceil(high / step) as i64).min(last);
        let wanted = (high_index - low_index + 1).max(4) as usize;
        let capped = wanted > options.cells_max;
        let mut plan = Plan::new(wanted.min(options.cells_max));
        let n = plan.len();
        let top_index = low_index + n as i64 - 1;
        // Mass above the window wraps into it from below: it is added back by Chernoff's bound at its own tilt.
        let top = (top_index + 1) as f64 * step;
        let above = if top_index >= last {
            0.0
        } else {
            let chernoff = Scalar::min(high_moment - high_tilt * top, centre.value - tilt * top);
            Scalar::exp(Scalar::min(chernoff, (untilted - top) * untilted_tilt + small))
        };
        let given_up = self.infinity(direction) + above;
        if !(self.infinity(direction) < delta) {
            return None;
        }
        if !(given_up < delta) {
            return Some(Err(()));
        }
        let mut spectrum: Vec<Complex> = Vec::new();
        let mut buffer = vec![0.0; n];
        for (pmf, times) in self.pmfs(direction) {
            buffer.fill(0.0);
            let shift = pmf.moment(step, tilt).value;
            let start = pmf.first.rem_euclid(n as i64) as usize;
            pmf.tilted(step, tilt, shift, |i, p| buffer[(start + i) % n] += p);
            let mut one = plan.forward(&buffer);
            one.iter_mut().for_each(|c| *c = c.power(times));
            if spectrum.is_empty() {
                spectrum = one;
            } else {
                spectrum.iter_mut().zip(one).for_each(|(a, b)| *a = a.times(b));
            }
        }
        let tilted = plan.inverse(&spectrum);
        let count: f64 = self.pmfs(direction).map(|(_, times)| f64::from(times)).sum();
        let rounding = 1e-15 * f64::from(n.trailing_zeros()) * (1.0 + count * 1e-2) / n as f64;
        // From the top down: δ at a grid point is Σ p(1 − e^(ε−l)) over the losses above it.
        let target = (delta - given_up) * (1.0 - 1e-9);
        let shrink = Scalar::exp(-step);
        let (mut sum, mut weighted, mut unsure) = (0.0, 0.0, 0.0);
        let mut index = top_index;
        while index >= low_index.min(-1) {
            let loss = index as f64 * step;
            if index < low_index {
                return Some(Err(()));
            }
            // Above 709 the second term is left out: a bound within 1 of the truth, and what other libraries print.
            let overflow = loss > 709.7;
            let here = if overflow { sum } else { sum - weighted };
            if here > target || index < 0 {
                // So far below the tilted bulk only rounding is left: another tilt.
                if unsure > 2e-4 * target {
                    return Some(Err(()));
                }
                // Between this grid point and the one above: e^ε = (Σp − δ)/Σp·e^(−l).
                let epsilon = if overflow {
                    loss + step
                } else if sum > target {
                    loss + Scalar::ln((sum - target) / weighted)
                } else {
                    0.0
                };
                let epsilon = Scalar::min(Scalar::max(epsilon, 0.0), (index + 1) as f64 * step);
                let epsilon = Scalar::max(epsilon, 0.0) * (1.0 + 1e-10);
                return Some(Ok(Reading { epsilon, cells: n, capped }));
            }
            let at = index.rem_euclid(n as i64) as usize;
            let factor = Scalar::exp(centre.value - tilt * loss);
            let p = (Scalar::max(tilted[at], 0.0) + rounding) * factor;
            unsure += rounding * factor;
            sum += p;
            // Σ p·e^(l′−l) for the next grid point l′ below.
            weighted = (weighted + p) * shrink;
            index -= 1;
        }
        Some(Ok(Reading { epsilon: 0.0, cells: n, capped }))
    }
}
