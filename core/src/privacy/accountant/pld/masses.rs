//! Masses on a grid: those of one release, how wide its cells are, how a cell's mass is split onto
//! its ends.

#![cfg(feature = "alloc")]

use alloc::vec::Vec;

use crate::math::{self, Scalar};

/// Relative error of one rounded f64 operation, 2⁻⁵³.
pub(super) const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The loss of one release on the grid of one step: masses at grid indices that rise.
pub(super) struct Pmf {
    pub(super) cells: Vec<(i64, f64)>,
    /// Mass of infinite loss.
    pub(super) infinity: f64,
}

/// What decides how wide cells may be: the tilt λ of the sum, and ln E e^(λL) of one release (plus
/// the logarithm of the tilted mass that matters, where that is far below one).
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

    /// Steps of the cell that begins at `loss`, with the mass `above` it: cells widen as the tilted
    /// mass above falls, m^(−1/3)/10 steps add ∫ m^(−2/3)/100 dm = 3 % to the error.
    pub(super) fn width(self, above: f64, loss: f64, widest: f64) -> i64 {
        let tilted = Scalar::ln(above) + self.tilt * loss - self.moment;
        (Scalar::min(0.1 * Scalar::exp(Scalar::min(tilted, 0.0) / -3.0), widest) as i64).max(1)
    }
}

/// The smaller tail at a point of a normal, and which it is.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    value: f64,
    upper: bool,
}

impl Tail {
    pub(super) fn at(x: f64) -> Self {
        Tail {
            value: 0.5 * math::erfc(x.abs() * core::f64::consts::FRAC_1_SQRT_2),
            upper: x > 0.0,
        }
    }

    pub(super) fn above(self) -> f64 {
        if self.upper {
            self.value
        } else {
            1.0 - self.value
        }
    }

    pub(super) fn below(self) -> f64 {
        if self.upper {
            1.0 - self.value
        } else {
            self.value
        }
    }
}

/// Mass between two points, and a bound on its rounding error.
pub(super) fn between(a: Tail, b: Tail) -> (f64, f64) {
    let mass = match (a.upper, b.upper) {
        (true, true) => a.value - b.value,
        (false, false) => b.value - a.value,
        _ => 1.0 - a.value - b.value,
    };
    let slack = if a.upper == b.upper {
        Scalar::max(a.value, b.value)
    } else {
        1.0
    };
    (Scalar::max(mass, 0.0), 6e-16 * slack)
}

/// Clamped to [0, 1]; NaN, where e^ε overflows, goes up.
pub(super) fn fraction(x: f64) -> f64 {
    if x < 1.0 { Scalar::max(x, 0.0) } else { 1.0 }
}

/// P- and Q-mass of one cell, each with a bound on its rounding error.
pub(super) struct Cell {
    pub(super) mass: f64,
    pub(super) slack: f64,
    pub(super) other: f64,
    pub(super) other_slack: f64,
}

/// P-mass of a cell for its lower and its upper end, so that its Q-mass is kept too; `ratio` is
/// e^loss at the lower end.
pub(super) fn split(cell: &Cell, ratio: f64, width: i64, step: f64) -> (f64, f64) {
    // The upper end takes what rounding may have lost of the cell's mass.
    if !(cell.mass > 0.0) {
        return (0.0, cell.slack);
    }
    let share = 1.0 / -math::exp_m1(-(width as f64 * step));
    // 1 − r, r = Q·e^low/P, rounded so that mass goes up.
    let rest = 1.0 - cell.other * ratio / cell.mass
        + 2e-15
        + (cell.other_slack * ratio + cell.slack) / cell.mass;
    let part = cell.mass * fraction(rest * share);
    (cell.mass - part, part + cell.slack)
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
        (
            self.cells.first().map_or(0, |cell| cell.0),
            self.cells.last().map_or(0, |cell| cell.0),
        )
    }

    /// Calls `visit(index, mass·e^(tilt·loss − shift))` for every cell.
    ///
    /// **Numerics**: each value is right to within [`Pmf::rounding`], relative.
    pub(super) fn tilted(&self, step: f64, tilt: f64, shift: f64, mut visit: impl FnMut(i64, f64)) {
        let ratio = Scalar::exp(tilt * step);
        let mut factor = 0.0;
        let mut before = i64::MIN;
        let mut run = 0;
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

    /// Bound on the relative error of [`Pmf::tilted`]: three roundings of the exponent, one unit of
    /// the exponential and of the product, and for each of at most [`RESYNC`] steps of the
    /// recurrence one of the ratio (with its exponent, below one in a step) and one of the product:
    /// 3u·(λ|l| + |shift|) + 3u + 16·(3 + λh)·u.
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
        let mut sum = 0.0;
        let mut first = 0.0;
        let mut second = 0.0;
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
