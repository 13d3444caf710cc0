//! Maximisation of an acquisition over a box: bounded, in slices, the same bits everywhere.
//!
//! A scan of scrambled Sobol points finds the basins; further points lie around the best point so
//! far, at several scales, where a model that has learned something is usually largest. A
//! quasi-Newton search climbs from the best few of each. The same function and seed give the same
//! bits everywhere.
//!
//! **Example**: that of [`Searching`].

use core::task::Poll;

use serde::{Deserialize, Serialize};

use crate::domain::sobol::{self, hash};
use crate::linalg::ascent::{self, Ascent, Looked};
use crate::linalg::slice;
use crate::math::Scalar;

/// Points that are climbed from, at most.
pub const CLIMBS_MAX: usize = 8;

/// Budget of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxSearch {
    /// Points of the scan over the whole box.
    pub scan: u32,
    /// Points around the best one so far.
    pub near: u32,
    /// Points that are climbed from, the best of either kind in turn; at most [`CLIMBS_MAX`].
    pub climbs: u32,
    /// Evaluations for each climb.
    pub evaluations_per_climb: u32,
}

impl BoxSearch {
    /// 48 points per axis up to 384 and 20 per axis near the best one, three climbs of 8
    /// evaluations and 4 per axis. Four times as many find no better points in the end
    /// (docs/performance.md).
    pub const fn for_dim(dim: usize) -> Self {
        let axes = if dim == 0 {
            1
        } else if dim > 8 {
            8
        } else {
            dim as u32
        };
        BoxSearch {
            scan: 48 * axes,
            near: 20 * axes,
            climbs: 3,
            evaluations_per_climb: 8 + 4 * axes,
        }
    }
}

impl BoxSearch {
    /// The scan over the whole box alone.
    pub(crate) fn over_the_box(self) -> Self {
        BoxSearch {
            near: 0,
            climbs: 1,
            evaluations_per_climb: 0,
            ..self
        }
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxMaximum<T> {
    /// The value at the point returned.
    pub value: T,
    /// Evaluations of the function.
    pub evaluations: u32,
}

/// A function over the unit box with a gradient.
///
/// **Example**: that of [`Searching`].
pub trait Landscape<T> {
    /// The value at x; NaN and −∞ are never the largest.
    fn value(&mut self, x: &[T]) -> T;

    /// The gradient at the point whose value was asked last, one number an axis; 0 where the point
    /// must not move.
    fn gradient(&mut self, x: &[T], out: &mut [T]);

    /// Moves a point of the box to one that can be asked. By default every point can.
    fn settle(&self, _x: &mut [T]) {}

    /// Replaces x by its neighbour number `number`, from 0 on, on axes that have no gradient; false
    /// if there are fewer. By default there are none.
    fn hop(&self, _x: &mut [T], _number: u32) -> bool {
        false
    }
}

/// Where a search looks more closely.
///
/// **Example**: that of [`Searching`].
#[derive(Clone, Copy, Debug)]
pub struct Around<'a, T> {
    /// The best point so far; empty for none.
    pub center: &'a [T],
    /// How far points lie around it, one number an axis, as fractions of a side.
    pub spread: &'a [T],
}

/// Numbers of scratch for `dim` axes.
pub const fn scratch_len(dim: usize) -> usize {
    CLIMBS_MAX * (dim + 1) + 2 * dim + ascent::storage_len(dim)
}

/// A search under way, a few words; it may stop after any number of evaluations, and finds the same
/// bits.
///
/// What it has found so far lies in `best` and `scratch`, which must be handed to every step as the
/// last one left them; the function and what it looks around must be the same.
///
/// ```
/// use core::task::Poll;
/// use sordino_core::acquisition::maximize::{Around, BoxSearch, Landscape, Searching, scratch_len};
/// struct Hill;
/// impl Landscape<f32> for Hill {
///     fn value(&mut self, x: &[f32]) -> f32 {
///         -(x[0] - 0.3) * (x[0] - 0.3)
///     }
///     fn gradient(&mut self, x: &[f32], out: &mut [f32]) {
///         out[0] = -2.0 * (x[0] - 0.3);
///     }
/// }
/// let around = Around { center: &[], spread: &[] };
/// let (mut best, mut scratch) = ([0.0], [0.0; scratch_len(1)]);
/// let mut searching = Searching::begin(BoxSearch::for_dim(1), 0, &mut best, &mut scratch);
/// let mut slices = 1;
/// while searching.step(8, around, &mut best, &mut scratch, &mut Hill) == Poll::Pending {
///     slices += 1; // feed the watchdog
/// }
/// assert!((best[0] - 0.3).abs() < 1e-3 && slices > 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Searching<T> {
    search: BoxSearch,
    seed: u32,
    /// Points of the scan and near the best one that were looked at.
    scanned: u32,
    /// The entry of the list that is climbed from.
    entry: usize,
    ascent: Ascent<T>,
    /// Evaluations of this climb.
    climbed: u32,
    /// The neighbour that is looked at next, and evaluations of neighbours.
    hop: u32,
    hops: u32,
    found: BoxMaximum<T>,
}

/// Scratch, divided.
struct Buffers<'a, T> {
    /// The best points of the scan, each behind its value: first those of the whole box, then those
    /// near the best one.
    top: &'a mut [T],
    point: &'a mut [T],
    gradient: &'a mut [T],
    /// Of the climb under way.
    storage: &'a mut [T],
}

impl<'a, T> Buffers<'a, T> {
    /// Scratch of at least [`scratch_len`] numbers.
    fn of(scratch: &'a mut [T], dim: usize, climbs: usize) -> Self {
        let (top, rest) = slice::split(scratch, climbs * dim.saturating_add(1));
        let (point, rest) = slice::split(rest, dim);
        let (gradient, storage) = slice::split(rest, dim);
        Buffers {
            top,
            point,
            gradient,
            storage,
        }
    }
}

impl<T: Scalar> Searching<T> {
    /// Nothing evaluated yet: `best` at the centre of the box, whose number of axes is its length.
    /// Another `seed` scans other points.
    pub fn begin(search: BoxSearch, seed: u32, best: &mut [T], scratch: &mut [T]) -> Self {
        best.fill(T::from_f64(0.5));
        scratch.fill(-T::INFINITY);
        let found = BoxMaximum {
            value: -T::INFINITY,
            evaluations: 0,
        };
        Searching {
            search,
            seed,
            scanned: 0,
            entry: 0,
            ascent: climb(best.len()),
            climbed: 0,
            hop: 0,
            hops: 0,
            found,
        }
    }

    /// A search that has not begun, over the same points of the scan under another budget.
    pub(crate) fn again(
        &self,
        budget: impl FnOnce(BoxSearch) -> BoxSearch,
        best: &mut [T],
        scratch: &mut [T],
    ) -> Self {
        Self::begin(budget(self.search), self.seed, best, scratch)
    }

    /// Evaluations of the function so far.
    pub(crate) fn evaluations(&self) -> u32 {
        self.found.evaluations
    }

    /// At most `evaluations` more (at least one); the maximum when it is found, and again if asked
    /// again.
    ///
    /// **Cost**: besides the evaluations, of which a climb's also ask for the gradient where they
    /// are better, a comparison with the best few points each. **Panics**: never, if the landscape
    /// does not; scratch that is too short ends the search at the centre of the box.
    pub fn step(
        &mut self,
        evaluations: u32,
        around: Around<'_, T>,
        best: &mut [T],
        scratch: &mut [T],
        landscape: &mut impl Landscape<T>,
    ) -> Poll<BoxMaximum<T>> {
        let dim = best.len();
        if dim == 0 || scratch.len() < scratch_len(dim) {
            return Poll::Ready(self.found);
        }
        let mut buffers = Buffers::of(scratch, dim, self.climbs());
        let mut left = evaluations.max(1);
        let ended = self.scan(&mut left, around, &mut buffers, landscape)
            && self.climb_on(&mut left, best, &mut buffers, landscape)
            && self.hop_on(&mut left, best, buffers.point, landscape);
        if ended {
            Poll::Ready(self.found)
        } else {
            Poll::Pending
        }
    }

    /// Counts one evaluation; false if none is left.
    fn count(&mut self, left: &mut u32) -> bool {
        let any = *left > 0;
        *left -= u32::from(any);
        self.found.evaluations = self.found.evaluations.saturating_add(u32::from(any));
        any
    }

    /// The scan of the box and of the points near the best one; true at its end.
    fn scan(
        &mut self,
        left: &mut u32,
        around: Around<'_, T>,
        buffers: &mut Buffers<'_, T>,
        landscape: &mut impl Landscape<T>,
    ) -> bool {
        let Buffers { top, point, .. } = buffers;
        let width = point.len().saturating_add(1);
        let near = if around.center.len() == point.len() {
            self.search.near
        } else {
            0
        };
        let climbs_of_scan = self.climbs().div_ceil(if near > 0 { 2 } else { 1 });
        while self.scanned < self.search.scan.saturating_add(near) {
            if !self.count(left) {
                return false;
            }
            let is_near = self.scanned >= self.search.scan;
            if is_near {
                self.beside(around, point);
            } else {
                let seed = self.seed;
                point
                    .iter_mut()
                    .enumerate()
                    .for_each(|(axis, x)| *x = sobol::coordinate(self.scanned, axis, seed));
            }
            landscape.settle(point);
            let at = landscape.value(point);
            let (of_scan, of_near) = slice::split(top, climbs_of_scan * width);
            insert(if is_near { of_near } else { of_scan }, width, at, point);
            self.scanned += 1;
        }
        true
    }

    /// The climbs from the best points of the scan; true at the end of the last one.
    fn climb_on(
        &mut self,
        left: &mut u32,
        best: &mut [T],
        buffers: &mut Buffers<'_, T>,
        landscape: &mut impl Landscape<T>,
    ) -> bool {
        let dim = best.len();
        let width = dim.saturating_add(1);
        let Buffers {
            top,
            gradient,
            storage,
            ..
        } = buffers;
        let bounds = |_| (T::ZERO, T::ONE);
        while self.entry < self.climbs() {
            let (at, x) = match slice::part(top, self.entry * width, width).split_first() {
                Some((at, x)) if *at > -T::INFINITY => (*at, x),
                _ => {
                    self.next_climb(dim);
                    continue;
                }
            };
            if self.climbed == 0 {
                slice::copy(x, self.ascent.trial_mut(storage));
                self.keep(at, x, best);
            }
            if !self.count(left) {
                return false;
            }
            self.climbed += 1;
            let value = landscape.value(self.ascent.trial(storage));
            let mut looked = self.ascent.look(value, bounds, storage);
            if looked == Looked::Better {
                self.keep(value, self.ascent.trial(storage), best);
                landscape.gradient(self.ascent.trial(storage), gradient);
                looked = self.ascent.accept(value, gradient, bounds, storage);
            }
            if looked == Looked::Ended || self.climbed >= self.search.evaluations_per_climb {
                self.next_climb(dim);
            }
        }
        true
    }

    /// Where axes have neighbours in place of a gradient, from the best point to a better one
    /// beside it; true at the end.
    fn hop_on(
        &mut self,
        left: &mut u32,
        best: &mut [T],
        point: &mut [T],
        landscape: &mut impl Landscape<T>,
    ) -> bool {
        let budget = self
            .search
            .climbs
            .saturating_mul(self.search.evaluations_per_climb)
            .saturating_mul(2);
        while self.found.value > -T::INFINITY && self.hops < budget {
            slice::copy(best, point);
            if !landscape.hop(point, self.hop) {
                break;
            }
            if !self.count(left) {
                return false;
            }
            self.hops += 1;
            let value = landscape.value(point);
            self.hop = if self.keep(value, point, best) {
                0
            } else {
                self.hop + 1
            };
        }
        true
    }

    /// Takes a point over if it is better than the best so far; whether it is.
    fn keep(&mut self, value: T, point: &[T], best: &mut [T]) -> bool {
        let better = value > self.found.value;
        if better {
            self.found.value = value;
            slice::copy(point, best);
        }
        better
    }

    fn next_climb(&mut self, dim: usize) {
        (self.entry, self.climbed, self.ascent) = (self.entry + 1, 0, climb(dim));
    }

    fn climbs(&self) -> usize {
        (self.search.climbs as usize).clamp(1, CLIMBS_MAX)
    }

    /// A point around the center: on each axis moved or not, at one of four scales, nearly
    /// normally.
    fn beside(&self, around: Around<'_, T>, point: &mut [T]) {
        let number = self.scanned - self.search.scan;
        let scale = T::ONE / T::from_u32(1 << (2 * (number % 4)));
        let of_point = hash(self.seed ^ hash(number.wrapping_add(0x9e37_79b9)));
        let always = of_point as usize % point.len().max(1);
        for (axis, x) in point.iter_mut().enumerate() {
            let word = hash(of_point.wrapping_add(hash(axis as u32)));
            let center = slice::at(around.center, axis);
            *x = center;
            if axis == always || word & 1 == 1 || around.center.len() <= 2 {
                let sum: u32 = hash(word)
                    .to_le_bytes()
                    .iter()
                    .map(|byte| u32::from(*byte))
                    .sum();
                // Four bytes have mean 510 together and a standard deviation of 148.
                let normal = (T::from_u32(sum) - T::from_f64(510.0)) * T::from_f64(1.0 / 148.0);
                *x = (center + normal * scale * slice::at(around.spread, axis))
                    .max(T::ZERO)
                    .min(T::ONE);
            }
        }
    }
}

/// First steps of a fiftieth of a side, none beyond a quarter; done where a step promises less than
/// a thousandth.
fn climb<T: Scalar>(dim: usize) -> Ascent<T> {
    Ascent::new(dim, T::from_f64(0.02), T::from_f64(0.25), T::from_f64(1e-3))
}

/// Puts (value, point) into its place of the falling list, after equals.
fn insert<T: Scalar>(top: &mut [T], width: usize, value: T, point: &[T]) {
    let mut entries = top.chunks_exact(width.max(1));
    let Some(place) = entries.position(|entry| value > slice::at(entry, 0)) else {
        return;
    };
    let rest = slice::tail_mut(top, place * width);
    for i in (width..rest.len()).rev() {
        slice::set(rest, i, slice::at(rest, i - width));
    }
    if let Some((first, entry)) = slice::head_mut(rest, width).split_first_mut() {
        *first = value;
        slice::copy(point, entry);
    }
}

#[cfg(test)]
mod tests;
