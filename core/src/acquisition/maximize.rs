//! Maximisation of an acquisition over a box: deterministic, bounded, without derivatives.
//!
//! A scan of the Halton sequence finds the basins, compass search climbs the best few: one coordinate at a time, up, then
//! down; the step halves when no coordinate helps. The same function gives the same bits everywhere.

use serde::{Deserialize, Serialize};

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
/// **Cost**: scan + starts + climbs · evaluations_per_climb evaluations at most.
///
/// **Panics**: never; scratch that is too short leaves `best` at the centre of the box, value −∞.
pub fn over_box<T: Scalar>(
    search: BoxSearch,
    starts: &[T],
    best: &mut [T],
    scratch: &mut [T],
    mut value: impl FnMut(&[T]) -> T,
) -> BoxMaximum<T> {
    let dim = best.len();
    let half = T::from_f64(0.5);
    best.fill(half);
    let mut found = BoxMaximum { value: -T::INFINITY, evaluations: 0 };
    let width = dim + 1;
    if dim == 0 || scratch.len() < scratch_len(dim) {
        return found;
    }
    let climbs = (search.climbs as usize).clamp(1, CLIMBS_MAX);
    let (top, rest) = scratch.split_at_mut(climbs * width);
    let point = &mut rest[..dim];
    // `top` holds (value, point) in falling order.
    top.chunks_exact_mut(width).for_each(|entry| entry[0] = -T::INFINITY);
    let listed = starts.len() / dim;
    for index in 0..listed + search.scan as usize {
        if index < listed {
            for (x, start) in point.iter_mut().zip(&starts[index * dim..]) {
                *x = if start.is_finite() { start.max(T::ZERO).min(T::ONE) } else { half };
            }
        } else {
            let element = (index - listed) as u32 + 1;
            point.iter_mut().enumerate().for_each(|(axis, x)| *x = halton(element, axis));
        }
        let at = value(point);
        found.evaluations += 1;
        insert(top, width, at, point);
    }
    // A step of the scan's own spacing.
    let spacing = pow(T::from_u32(search.scan.max(1)), -T::ONE / T::from_u32(dim as u32));
    for entry in top.chunks_exact_mut(width) {
        let (at, x) = entry.split_at_mut(1);
        if !(at[0] > -T::INFINITY) {
            continue;
        }
        let mut left = search.evaluations_per_climb;
        climb(&mut at[0], x, spacing, &mut left, &mut value);
        found.evaluations += search.evaluations_per_climb - left;
        if at[0] > found.value {
            found.value = at[0];
            best.copy_from_slice(x);
        }
    }
    found
}

/// Puts (value, point) into its place of the falling list, after equals.
fn insert<T: Scalar>(top: &mut [T], width: usize, value: T, point: &[T]) {
    let count = top.len() / width;
    let Some(place) = (0..count).find(|i| value > top[i * width]) else { return };
    top.copy_within(place * width..(count - 1) * width, (place + 1) * width);
    let entry = &mut top[place * width..(place + 1) * width];
    entry[0] = value;
    entry[1..].copy_from_slice(point);
}

fn climb<T: Scalar>(at: &mut T, x: &mut [T], step: T, left: &mut u32, value: &mut impl FnMut(&[T]) -> T) {
    let (mut step, smallest) = (step, T::EPSILON.sqrt());
    while step > smallest {
        let mut moved = false;
        for axis in 0..x.len() {
            let before = x[axis];
            for target in [(before + step).min(T::ONE), (before - step).max(T::ZERO)] {
                if target == before {
                    continue;
                }
                if *left == 0 {
                    return;
                }
                *left -= 1;
                x[axis] = target;
                let new = value(x);
                if new > *at {
                    (*at, moved) = (new, true);
                    break;
                }
                x[axis] = before;
            }
        }
        if !moved {
            step *= T::from_f64(0.5);
        }
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
}
