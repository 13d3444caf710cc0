//! Sums of many losses on one grid: tilted, convolved, read at δ.

#![cfg(feature = "alloc")]

use crate::math::{self, Scalar};
use crate::privacy::accountant::order;
use alloc::vec::Vec;

use super::masses::{Moment, Pmf, UNIT_ROUNDOFF};
use super::options::Options;
use super::spectrum::{Spectrum, Tilted};

/// Which of the two neighbours the data is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    Remove,
    Add,
}

/// The tilts at which one direction is read: by one number each, and by pairs of them where that
/// does not suffice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tilts {
    plain: Option<f64>,
    pairs: f64,
    /// Length of the window for which they were chosen.
    cells: usize,
    /// About where ε lies, as soon as that is known: the first window is made for it.
    answer: Option<f64>,
}

impl Tilts {
    /// The same tilt for both.
    pub(super) fn both(tilt: f64) -> Self {
        Tilts {
            plain: Some(tilt),
            pairs: tilt,
            cells: 1024,
            answer: None,
        }
    }
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
        self.kinds
            .iter()
            .map(move |(pair, times)| (&pair[direction as usize], *times))
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
        self.pmfs(direction).fold(0.0, |sum, (pmf, times)| {
            sum + f64::from(times) * pmf.infinity
        })
    }

    /// A Rényi bound on the grid's own cells certifies that this direction is within δ at ε.
    pub(super) fn certified(
        &self,
        direction: Direction,
        tilt: f64,
        delta: f64,
        epsilon: f64,
    ) -> bool {
        let infinity = self.infinity(direction);
        // No finite loss of this direction exceeds ε at all.
        let largest: i64 = self
            .pmfs(direction)
            .map(|(pmf, times)| i64::from(times) * pmf.ends().1)
            .sum();
        if largest as f64 * self.step <= epsilon && infinity <= delta {
            return true;
        }
        [1.0, 1.2, 1.5, 0.8, 2.0].iter().any(|factor| {
            let order = 1.0 + tilt * factor;
            let bound = order::delta(
                order,
                self.moment(direction, order - 1.0).value / (order - 1.0),
                epsilon,
            );
            bound + infinity <= delta
        })
    }

    /// The tilt that a Rényi accountant of this direction would choose.
    pub(super) fn best_tilt(&self, direction: Direction, start: f64, delta: f64) -> f64 {
        let value = |tilt: f64| {
            order::epsilon(1.0 + tilt, self.moment(direction, tilt).value / tilt, delta)
        };
        let mut best = (start, value(start));
        let mut factor = 2.0;
        for _ in 0..40 {
            let before = best.0;
            for tilt in [before * factor, before / factor] {
                let epsilon = value(tilt);
                if epsilon < best.1 {
                    best = (tilt, epsilon);
                }
            }
            if best.0 == before {
                factor = Scalar::sqrt(factor);
            }
            if factor < 1.1 {
                break;
            }
        }
        best.0
    }

    /// ε at δ in one direction; nothing if the mass given up to infinity exceeds δ.
    pub(super) fn read(
        &self,
        direction: Direction,
        tilts: Tilts,
        delta: f64,
        options: &Options,
        bound: f64,
    ) -> Option<Reading> {
        // The answer may lie so far below the tilted bulk that the bound on rounding covers it: a
        // smaller tilt, then pairs of numbers.
        for (pairs, tilt, attempts) in [(false, tilts.plain, 3), (true, Some(tilts.pairs), 12)] {
            let Some(mut tilt) = tilt else { continue };
            for attempt in 0..attempts {
                match self.read_at(direction, tilt, tilts.answer, delta, options, bound, pairs)? {
                    // This tilt made the window so long: pairs do with another one.
                    Ok(reading)
                        if reading.capped && !pairs && (attempt > 0 || tilts.pairs != tilt) =>
                    {
                        break;
                    }
                    Ok(reading) => return Some(reading),
                    Err(()) => tilt *= 0.75,
                }
            }
        }
        Some(Reading {
            epsilon: bound,
            cells: 0,
            capped: true,
        })
    }

    fn read_at(
        &self,
        direction: Direction,
        tilt: f64,
        before: Option<f64>,
        delta: f64,
        options: &Options,
        bound: f64,
        pairs: bool,
    ) -> Option<Result<Reading, ()>> {
        let step = self.step;
        let infinity = self.infinity(direction);
        if !(infinity < delta) {
            return None;
        }
        let kinds: Vec<Tilted> = self
            .pmfs(direction)
            .map(|(pmf, times)| Tilted::new(pmf, times, step, tilt, pmf.moment(step, tilt).value))
            .collect();
        let mut moment = 0.0;
        self.pmfs(direction)
            .zip(&kinds)
            .for_each(|((_, times), kind)| moment += f64::from(times) * kind.shift);
        let centre = self.moment(direction, tilt);
        let std = Scalar::sqrt(Scalar::max(centre.variance, self.step * self.step));
        // Where ε lies for a normal sum if the tilt is the best one.
        let level_at = |epsilon: f64| {
            Scalar::exp(Scalar::min(
                Scalar::ln(delta) + tilt * epsilon - moment,
                0.0,
            ))
        };
        let mut level = before.map_or(normal_level(&centre, tilt, step), level_at);
        let mut answer =
            before.unwrap_or((centre.mean + Scalar::ln(level) / tilt - std).clamp(0.0, bound));
        let mut least = 4.0;
        for _ in 0..12 {
            let wanted = Scalar::max(
                self.window(direction, tilt, delta, &centre, answer, level),
                least,
            );
            let capped = wanted > options.cells_max as f64;
            let n = if capped {
                options.cells_max
            } else {
                wanted as usize
            };
            let tail_only = answer > OVERFLOW;
            let enough = (!pairs).then_some(1e-8 * level);
            let spectrum = Spectrum::new(&kinds, n.max(4), step, tilt, tail_only, enough);
            let scale = Scale {
                step,
                tilt,
                moment,
                infinity,
                delta,
                tail_only,
            };
            let epsilon = match scale.find(&spectrum, bound) {
                Ok(epsilon) => epsilon,
                Err(Lost::Images) if !capped => {
                    least = 2.0 * spectrum.period() as f64;
                    continue;
                }
                Err(_) => return Some(Err(())),
            };
            // Was the window long enough for the answer it gave?
            (answer, level) = (epsilon, level_at(epsilon));
            let needed = self.window(direction, tilt, delta, &centre, answer, level);
            let n = spectrum.period() as f64;
            if capped || (needed <= 1.05 * n && tail_only == (epsilon > OVERFLOW)) {
                return Some(Ok(Reading {
                    epsilon,
                    cells: spectrum.period(),
                    capped,
                }));
            }
            least = if tail_only == (epsilon > OVERFLOW) {
                1.25 * n
            } else {
                n
            };
        }
        Some(Err(()))
    }

    /// δ at ε = 0 in one direction, in a window of `cells`, rounded up.
    pub(super) fn variation(&self, direction: Direction, tilt: f64, cells: usize) -> f64 {
        let step = self.step;
        let infinity = self.infinity(direction);
        let kinds: Vec<Tilted> = self
            .pmfs(direction)
            .map(|(pmf, times)| Tilted::new(pmf, times, step, tilt, pmf.moment(step, tilt).value))
            .collect();
        let mut moment = 0.0;
        self.pmfs(direction)
            .zip(&kinds)
            .for_each(|((_, times), kind)| moment += f64::from(times) * kind.shift);
        let spectrum = Spectrum::new(&kinds, cells.max(4), step, tilt, false, Some(1e-9));
        let scale = Scale {
            step,
            tilt,
            moment,
            infinity,
            delta: 1.0,
            tail_only: false,
        };
        Scalar::min(scale.delta_at(&spectrum, 0).0, 1.0)
    }

    /// δ·e^(λε − K) against what it is at the answer of a normal sum: far below one if δ sits far
    /// from the tilted bulk.
    pub(super) fn level(&self, direction: Direction, tilt: f64, delta: f64, epsilon: f64) -> f64 {
        let centre = self.moment(direction, tilt);
        let ln = Scalar::ln(delta) + tilt * epsilon - centre.value;
        Scalar::exp(Scalar::max(
            Scalar::min(ln - Scalar::ln(normal_level(&centre, tilt, self.step)), 0.0),
            -60.0,
        ))
    }

    /// The tilts for which the windows are shortest, after an answer was found by `tilts` in a
    /// window that is no short one.
    ///
    /// The tilt of the best Rényi order is a bad one where that order owes its loss to rare large
    /// losses and δ does not: the window must then reach up to them. A tilt may go so far that the
    /// level stays above what rounding covers.
    pub(super) fn shorter(
        &self,
        direction: Direction,
        tilts: Tilts,
        delta: f64,
        found: &Reading,
    ) -> Tilts {
        if found.cells < 4 * tilts.cells {
            return tilts;
        }
        let mut best = Tilts {
            plain: None,
            cells: found.cells,
            answer: Some(found.epsilon),
            ..tilts
        };
        let mut plain = f64::INFINITY;
        let mut pairs = f64::INFINITY;
        for i in -8..=16 {
            let tilt = tilts.plain.unwrap_or(tilts.pairs) * Scalar::exp(-0.3 * f64::from(i));
            let centre = self.moment(direction, tilt);
            let ln_level = Scalar::ln(delta) + tilt * found.epsilon - centre.value;
            let level = Scalar::exp(Scalar::min(ln_level, 0.0));
            let cells = self.window(direction, tilt, delta, &centre, found.epsilon, level);
            if level >= LEVEL_PLAIN && cells < plain {
                (best.plain, plain) = (Some(tilt), cells);
            }
            if level >= LEVEL_PAIRS && cells < pairs {
                (best.pairs, pairs) = (tilt, cells);
            }
        }
        best
    }

    /// Length of a window that is long enough to be accurate at `answer`, where δ·e^(λε − K) is
    /// `level`. It is no matter of the guarantee.
    fn window(
        &self,
        direction: Direction,
        tilt: f64,
        delta: f64,
        centre: &Moment,
        answer: f64,
        level: f64,
    ) -> f64 {
        let cut = 14.0 - Scalar::ln(Scalar::max(level, 1e-300));
        // Chernoff: (K(λ+η) − K(λ) + cut)/η has one minimum in η; for a normal sum it is here, for
        // rare large losses below.
        let mut eta = Scalar::sqrt(2.0 * cut / Scalar::max(centre.variance, 1e-300));
        let mut high = f64::INFINITY;
        for _ in 0..40 {
            let candidate = (self.moment(direction, tilt + eta).value - centre.value + cut) / eta;
            if candidate < high {
                high = candidate;
            } else if high.is_finite() {
                break;
            }
            eta *= 0.5;
        }
        let mut first = 0.0;
        let mut last = 0.0;
        for (pmf, times) in self.pmfs(direction) {
            let (low, top) = pmf.ends();
            first += f64::from(times) * low as f64 * self.step;
            last += f64::from(times) * top as f64 * self.step;
        }
        // Images of the mass below come down by e^(−λ·window), or there is hardly any mass so far
        // below.
        let low = Scalar::max(first, (centre.value - cut) / (tilt + 1.0));
        let images = Scalar::min(
            (14.0 - Scalar::ln(delta)) / tilt,
            answer - Scalar::min(low, answer) + cut / tilt,
        );
        let width = Scalar::max(Scalar::min(high, last) - answer, images);
        math::ceil(width / self.step) + 16.0
    }
}

/// What δ·e^(λε − K) is for a normal sum at the best tilt.
fn normal_level(centre: &Moment, tilt: f64, step: f64) -> f64 {
    let std = Scalar::sqrt(Scalar::max(centre.variance, step * step));
    Scalar::min(0.4 / (std * tilt * (tilt + 1.0)), 1.0)
}

/// Above this ε, where e^ε overflows elsewhere, P(L > ε) is read in place of the smaller δ: up to 1
/// more, and what other libraries print.
const OVERFLOW: f64 = 709.7;

/// The lowest levels at which what rounding allows for stays below [`SURE`] of δ, by one number
/// each and by pairs.
const LEVEL_PLAIN: f64 = 1e-7;
const LEVEL_PAIRS: f64 = 1e-17;

/// The part of δ that an allowance may be.
const SURE: f64 = 2e-4;

/// Why no ε is read from a spectrum.
enum Lost {
    /// The window is so short that its images are more than δ.
    Images,
    /// The allowances for rounding are: another tilt.
    Rounding,
}

/// From a spectrum to ε: what the tilt took away is put back, every allowance added.
struct Scale {
    step: f64,
    tilt: f64,
    moment: f64,
    infinity: f64,
    delta: f64,
    tail_only: bool,
}

impl Scale {
    /// δ at a grid point, rounded up, and how much of it is allowance.
    fn delta_at(&self, spectrum: &Spectrum, e: i64) -> (f64, f64) {
        let exponent = self.tilt * (e as f64 * self.step);
        // Four roundings of each exponent, one of the exponential, and of products and sums.
        let slack = 1.0 + UNIT_ROUNDOFF * (8.0 * (self.moment.abs() + exponent.abs()) + 16.0);
        let scale = Scalar::exp(self.moment - exponent) * slack * spectrum.factor;
        let above = Scalar::max(spectrum.at(e), 0.0) + spectrum.allowance;
        (
            self.infinity * (1.0 + 1e-12) + above * scale,
            spectrum.allowance * scale,
        )
    }

    /// The least ε at which δ suffices.
    fn find(&self, spectrum: &Spectrum, bound: f64) -> Result<f64, Lost> {
        let at = |e: i64| self.delta_at(spectrum, e);
        if at(0).0 <= self.delta {
            return Ok(0.0);
        }
        let most = if self.tail_only { bound + 2.0 } else { bound };
        let mut low = 0;
        let mut high = math::ceil(most / self.step) as i64 + 1;
        // The Rényi bound is one, so what is too much there are images, if it is not the allowance.
        let (most, unsure) = at(high);
        if !(most <= self.delta) {
            return Err(if unsure <= SURE * self.delta {
                Lost::Images
            } else {
                Lost::Rounding
            });
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at(middle).0 <= self.delta {
                high = middle
            } else {
                low = middle
            }
        }
        let ((before, _), (after, unsure)) = (at(low), at(high));
        // So far below the tilted bulk only allowances are left: another tilt.
        if !(unsure <= SURE * self.delta) {
            return Err(Lost::Rounding);
        }
        if self.tail_only {
            return Ok(high as f64 * self.step);
        }
        // Between two grid points δ is linear in e^ε: so is a bound that holds at both.
        let part = if before.is_finite() {
            Scalar::min((before - self.delta) / (before - after), 1.0)
        } else {
            1.0
        };
        Ok((low as f64 * self.step + math::ln_1p(part * math::exp_m1(self.step))) * (1.0 + 1e-13))
    }
}
