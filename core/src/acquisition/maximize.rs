//! Maximisation of an acquisition over a box: deterministic, bounded, without derivatives.
//!
//! A scan of the Halton sequence finds the basins, compass search climbs the best few: one coordinate at a time, up, then
//! down; the step halves when no coordinate helps. The same function gives the same bits everywhere.
//!
//! **Example**: that of [`Searching`].

use core::task::Poll;

use serde::{Deserialize, Serialize};

use crate::linalg::slice;
use crate::math::{Scalar, pow};
use crate::surrogate::fit::halton;

/// Points that are climbed from, at most.
pub const CLIMBS_MAX: usize = 16;

/// Budget of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxSearch {
    /// Points of the scan.
    pub scan: u32,
    /// Best points of the scan that are climbed from, at most [`CLIMBS_MAX`].
    pub climbs: u32,
    /// Evaluations for each climb.
    pub evaluations_per_climb: u32,
}

impl BoxSearch {
    /// 256 points per axis up to 2,048, four climbs of 40 evaluations per axis.
    pub const fn for_dim(dim: usize) -> Self {
        let axes = if dim == 0 {
            1
        } else if dim > 8 {
            8
        } else {
            dim as u32
        };
        BoxSearch { scan: 256 * axes, climbs: 4, evaluations_per_climb: 40 * axes }
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

/// Numbers of scratch for `dim` axes.
pub const fn scratch_len(dim: usize) -> usize {
    (CLIMBS_MAX + 1) * (dim + 1)
}

/// Maximises `value` over the unit box into `best`, whose length is the number of axes.
///
/// **Parameters**: `starts`: further points, row-major, that compete with the scan for the climbs (the incumbent, say);
/// `scratch` of [`scratch_len`]. A NaN value counts as −∞. Ties: the first point seen.
///
/// **Cost**: scan + starts + climbs · evaluations_per_climb evaluations at most. [`Searching`] makes them a few at a time.
///
/// **Panics**: never; scratch that is too short leaves `best` at the centre of the box, value −∞.
pub fn over_box<T: Scalar>(
    search: BoxSearch,
    starts: &[T],
    best: &mut [T],
    scratch: &mut [T],
    mut value: impl FnMut(&[T]) -> T,
) -> BoxMaximum<T> {
    let mut searching = Searching::begin(search, best, scratch);
    loop {
        if let Poll::Ready(found) = searching.step(u32::MAX, starts, best, scratch, &mut value) {
            return found;
        }
    }
}

/// A search under way, a few words: [`over_box`] in slices of a number of evaluations, with the same bits.
///
/// What it has found so far lies in `best` and `scratch`, which must be handed to every step as the last one left them;
/// `starts` and the function must be the same.
///
/// ```
/// use core::task::Poll;
/// use sordino_core::acquisition::maximize::{BoxSearch, Searching, over_box, scratch_len};
/// let value = |x: &[f32]| -(x[0] - 0.3) * (x[0] - 0.3);
/// let (search, mut best, mut scratch) = (BoxSearch::for_dim(1), [0.0], [0.0; scratch_len(1)]);
/// let mut searching = Searching::begin(search, &mut best, &mut scratch);
/// let mut slices = 1;
/// while searching.step(20, &[], &mut best, &mut scratch, value) == Poll::Pending {
///     slices += 1; // feed the watchdog
/// }
/// let (sliced, steps) = (best, slices);
/// over_box(search, &[], &mut best, &mut scratch, value);
/// assert!(best == sliced && steps > 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Searching<T> {
    search: BoxSearch,
    /// Starts and points of the scan that were looked at.
    scanned: usize,
    /// The entry of the list that is climbed from.
    entry: usize,
    climb: Climb<T>,
    found: BoxMaximum<T>,
}

impl<T: Scalar> Searching<T> {
    /// Nothing evaluated yet: `best` at the centre of the box, whose number of axes is its length.
    pub fn begin(search: BoxSearch, best: &mut [T], scratch: &mut [T]) -> Self {
        best.fill(T::from_f64(0.5));
        scratch.fill(-T::INFINITY);
        let found = BoxMaximum { value: -T::INFINITY, evaluations: 0 };
        Searching { search, scanned: 0, entry: 0, climb: Climb::new(search, best.len()), found }
    }

    /// At most `evaluations` more (at least one); the maximum when it is found, and again if asked again.
    ///
    /// **Cost**: besides the evaluations, a comparison with the best few points each. **Panics**: never, if `value` does
    /// not; scratch that is too short ends the search at the centre of the box.
    pub fn step(
        &mut self,
        evaluations: u32,
        starts: &[T],
        best: &mut [T],
        scratch: &mut [T],
        mut value: impl FnMut(&[T]) -> T,
    ) -> Poll<BoxMaximum<T>> {
        let dim = best.len();
        if dim == 0 || scratch.len() < scratch_len(dim) {
            return Poll::Ready(self.found);
        }
        let width = dim.saturating_add(1);
        let (top, point) = slice::split(scratch, self.climbs() * width);
        let point = slice::head_mut(point, dim);
        let listed = starts.len() / dim;
        let mut left = evaluations.max(1);
        while self.scanned < listed.saturating_add(self.search.scan as usize) {
            if left == 0 {
                return Poll::Pending;
            }
            left -= 1;
            if self.scanned < listed {
                for (x, start) in point.iter_mut().zip(slice::tail(starts, self.scanned * dim)) {
                    *x = if start.is_finite() { start.max(T::ZERO).min(T::ONE) } else { T::from_f64(0.5) };
                }
            } else {
                let element = (self.scanned - listed) as u32 + 1;
                point.iter_mut().enumerate().for_each(|(axis, x)| *x = halton(element, axis));
            }
            let at = value(point);
            insert(top, width, at, point);
            self.scanned += 1;
            self.found.evaluations = self.found.evaluations.saturating_add(1);
        }
        // `top` holds (value, point) in falling order; what was not filled is −∞.
        while let Some((at, x)) = top.chunks_exact_mut(width).nth(self.entry).and_then(<[T]>::split_first_mut) {
            if *at > -T::INFINITY {
                let evaluated = left;
                let ended = self.climb.run(at, x, &mut left, &mut value);
                self.found.evaluations = self.found.evaluations.saturating_add(evaluated - left);
                if !ended {
                    return Poll::Pending;
                }
                if *at > self.found.value {
                    self.found.value = *at;
                    slice::copy(x, best);
                }
            }
            self.entry += 1;
            self.climb = Climb::new(self.search, dim);
        }
        Poll::Ready(self.found)
    }

    fn climbs(&self) -> usize {
        (self.search.climbs as usize).clamp(1, CLIMBS_MAX)
    }
}

/// Puts (value, point) into its place of the falling list, after equals.
fn insert<T: Scalar>(top: &mut [T], width: usize, value: T, point: &[T]) {
    let mut entries = top.chunks_exact(width.max(1));
    let Some(place) = entries.position(|entry| value > slice::at(entry, 0)) else { return };
    let rest = slice::tail_mut(top, place * width);
    for i in (width..rest.len()).rev() {
        slice::set(rest, i, slice::at(rest, i - width));
    }
    if let Some((first, entry)) = slice::head_mut(rest, width).split_first_mut() {
        *first = value;
        slice::copy(point, entry);
    }
}

/// Where a compass search stands: one coordinate at a time, up, then down; the step halves when none helped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Climb<T> {
    step: T,
    axis: usize,
    down: bool,
    moved: bool,
    /// Evaluations it may still make.
    left: u32,
}

impl<T: Scalar> Climb<T> {
    /// Begins with a step of the scan's own spacing.
    fn new(search: BoxSearch, dim: usize) -> Self {
        let spacing = pow(T::from_u32(search.scan.max(1)), -T::ONE / T::from_u32(dim as u32));
        Climb { step: spacing, axis: 0, down: false, moved: false, left: search.evaluations_per_climb }
    }

    /// Goes on from `x`, of value `at`, until the climb ends, which is true, or `budget` evaluations are used up.
    fn run(&mut self, at: &mut T, x: &mut [T], budget: &mut u32, value: &mut impl FnMut(&[T]) -> T) -> bool {
        let smallest = T::EPSILON.sqrt();
        while self.step > smallest {
            let Some(before) = x.get(self.axis).copied() else {
                // All coordinates were tried.
                if !self.moved {
                    self.step *= T::from_f64(0.5);
                }
                (self.axis, self.down, self.moved) = (0, false, false);
                continue;
            };
            let target = if self.down { (before - self.step).max(T::ZERO) } else { (before + self.step).min(T::ONE) };
            let mut better = false;
            if target != before {
                if self.left == 0 {
                    return true;
                }
                if *budget == 0 {
                    return false;
                }
                (self.left, *budget) = (self.left - 1, *budget - 1);
                slice::set(x, self.axis, target);
                let new = value(x);
                better = new > *at;
                if better {
                    (*at, self.moved) = (new, true);
                } else {
                    slice::set(x, self.axis, before);
                }
            }
            if better || self.down {
                self.axis += 1;
            }
            self.down = !(better || self.down);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_maxima_inside_and_on_the_border() {
        let mut scratch = [0.0f64; scratch_len(2)];
        let mut best = [0.0; 2];
        let bowl = |x: &[f64]| -(x[0] - 0.31) * (x[0] - 0.31) - 2.0 * (x[1] - 0.77) * (x[1] - 0.77);
        let search = BoxSearch { scan: 64, climbs: 2, evaluations_per_climb: 200 };
        let found = over_box(search, &[], &mut best, &mut scratch, bowl);
        assert!((best[0] - 0.31).abs() < 1e-6 && (best[1] - 0.77).abs() < 1e-6, "{best:?}");
        assert!(found.evaluations <= 64 + 400 && found.value == bowl(&best));
        over_box(search, &[], &mut best, &mut scratch, |x| x[0] - 3.0 * x[1]);
        assert_eq!(best, [1.0, 0.0]);
    }

    #[test]
    fn starts_compete_and_nan_never_wins() {
        let mut scratch = [0.0f64; scratch_len(1)];
        let mut best = [0.0; 1];
        // A needle that the scan misses.
        let needle = |x: &[f64]| if (x[0] - 0.123_456).abs() < 1e-6 { 1.0 } else { 0.0 };
        let search = BoxSearch::for_dim(1);
        assert_eq!(over_box(search, &[], &mut best, &mut scratch, needle).value, 0.0);
        assert_eq!(over_box(search, &[0.123_456], &mut best, &mut scratch, needle).value, 1.0);
        assert_eq!(best, [0.123_456]);
        let found =
            over_box(search, &[f64::NAN], &mut best, &mut scratch, |x| if x[0] < 0.5 { f64::NAN } else { -x[0] });
        assert!(found.value == -0.5 && best == [0.5]);
        let nothing = over_box(search, &[], &mut best, &mut scratch, |_| f64::NAN);
        assert_eq!((nothing.value, best), (f64::NEG_INFINITY, [0.5]));
        assert_eq!(over_box(search, &[], &mut best, &mut [], needle).value, f64::NEG_INFINITY);
    }

    /// One way only, from the beginning to the end: the loop that [`Searching`] takes apart.
    fn in_one_go(
        search: BoxSearch,
        starts: &[f64],
        best: &mut [f64],
        mut value: impl FnMut(&[f64]) -> f64,
    ) -> BoxMaximum<f64> {
        extern crate std;
        let dim = best.len();
        best.fill(0.5);
        let mut found = BoxMaximum { value: f64::NEG_INFINITY, evaluations: 0 };
        let mut seen = std::vec::Vec::new();
        for start in starts.chunks(dim) {
            seen.push(start.iter().map(|x| x.clamp(0.0, 1.0)).collect::<std::vec::Vec<f64>>());
        }
        for element in 1..=search.scan {
            seen.push((0..dim).map(|axis| halton(element, axis)).collect());
        }
        let mut top: std::vec::Vec<(f64, std::vec::Vec<f64>)> = seen.into_iter().map(|x| (value(&x), x)).collect();
        found.evaluations += top.len() as u32;
        top.sort_by(|a, b| b.0.total_cmp(&a.0));
        top.truncate(search.climbs as usize);
        for (mut at, mut x) in top {
            let (mut step, mut left) = (pow(f64::from(search.scan), -1.0 / dim as f64), search.evaluations_per_climb);
            'climb: while step > Scalar::sqrt(f64::EPSILON) {
                let mut moved = false;
                for axis in 0..dim {
                    let before = x[axis];
                    for target in [(before + step).min(1.0), (before - step).max(0.0)] {
                        if target == before {
                            continue;
                        }
                        if left == 0 {
                            break 'climb;
                        }
                        left -= 1;
                        found.evaluations += 1;
                        x[axis] = target;
                        let new = value(&x);
                        if new > at {
                            (at, moved) = (new, true);
                            break;
                        }
                        x[axis] = before;
                    }
                }
                if !moved {
                    step *= 0.5;
                }
            }
            if at > found.value {
                found.value = at;
                best.copy_from_slice(&x);
            }
        }
        found
    }

    #[test]
    fn slices_of_any_size_are_the_search_in_one_go() {
        let value = |x: &[f64]| {
            let bumps: f64 = x.iter().map(|x| Scalar::sin(9.0 * x) + Scalar::cos(23.0 * x)).sum();
            bumps - (x[0] - 0.4) * (x[0] - 0.4)
        };
        for (dim, budget) in [(1, 200), (2, 7), (3, 25), (2, 0)] {
            let search = BoxSearch { scan: 40, climbs: 3, evaluations_per_climb: budget };
            let (starts, mut expected_at) = ([0.3, 1.7, 0.9, 0.1, 0.2, 0.8], [0.0; 3]);
            let expected = in_one_go(search, &starts, &mut expected_at[..dim], value);
            for slice in [1, 2, 3, 7, 40, 41, 1000, u32::MAX] {
                let (mut best, mut scratch) = ([9.0; 3], [9.0; scratch_len(3)]);
                let best = &mut best[..dim];
                let mut searching = Searching::begin(search, best, &mut scratch);
                let (mut steps, mut evaluated) = (1, 0u32);
                let found = loop {
                    let before = evaluated;
                    let step = searching.step(slice, &starts, best, &mut scratch, |x| {
                        evaluated += 1;
                        value(x)
                    });
                    assert!(evaluated - before <= slice);
                    match step {
                        Poll::Ready(found) => break found,
                        Poll::Pending => steps += 1,
                    }
                };
                assert_eq!((found, evaluated), (expected, expected.evaluations), "{dim} {slice}");
                assert_eq!(best, &expected_at[..dim]);
                assert!(steps >= evaluated.div_ceil(slice));
                // Asked again, it says the same and evaluates nothing.
                assert_eq!(searching.step(1, &starts, best, &mut scratch, |_| f64::NAN), Poll::Ready(expected));
            }
        }
    }
}
