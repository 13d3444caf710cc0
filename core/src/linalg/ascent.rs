//! Maximisation of a smooth function over a box by a quasi-Newton method, one evaluation at a time.
//!
//! **Equation**: the direction is H∇f on the axes that are free (not held by a bound that the
//! gradient pushes against), H the inverse of the negative Hessian, updated by BFGS where s·y > 0;
//! the step is cut by interpolation until f grows by 10⁻⁴ of what the gradient promises (Armijo).
//! Points are clamped to the box (projection).
//!
//! **Source**: Nocedal and Wright 2006, equations 6.17 and 6.20, section 3.1; Bertsekas 1982 for
//! the projection.
//!
//! The caller evaluates: whether there is a further point to look at is in what [`Ascent`] answers,
//! so a search can stop and go on after any evaluation, with the same bits. The numbers lie in a
//! slice of the caller.

use super::slice::{self, at, head_mut, set};
use super::{dot, packed_len};
use crate::math::Scalar;

/// Numbers of storage for `count` parameters: best point, its gradient, trial point, direction and
/// the packed H.
pub(crate) const fn storage_len(count: usize) -> usize {
    4 * count + packed_len(count)
}

/// A search under way, a few words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ascent<T> {
    count: usize,
    /// Value of the best point; −∞ before the first.
    value: T,
    /// Share of the direction that is being tried.
    step: T,
    /// The largest move of a parameter in one step, and in the first.
    reach: T,
    first: T,
    /// A step that promises less ends the search.
    tolerance: T,
    /// H holds curvature.
    curved: bool,
    /// Steps that brought less than the tolerance in a row.
    idle: u32,
}

/// What a value was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It is the new best: [`Ascent::accept`] wants its gradient.
    Better,
    /// Another trial point stands.
    Again,
    /// The search has ended.
    Ended,
}

struct Parts<'a, T> {
    best: &'a mut [T],
    gradient: &'a mut [T],
    trial: &'a mut [T],
    direction: &'a mut [T],
    inverse: &'a mut [T],
}

fn split<T>(storage: &mut [T], count: usize) -> Parts<'_, T> {
    let (best, rest) = slice::split(storage, count);
    let (gradient, rest) = slice::split(rest, count);
    let (trial, rest) = slice::split(rest, count);
    let (direction, rest) = slice::split(rest, count);
    Parts {
        best,
        gradient,
        trial,
        direction,
        inverse: head_mut(rest, packed_len(count)),
    }
}

impl<T: Scalar> Ascent<T> {
    /// Begins at the point that [`Ascent::trial_mut`] will hold. `first` and `reach` bound the
    /// first and every move of a parameter; a step that promises, or brought twice, less than
    /// `tolerance` is the last.
    pub(crate) fn new(count: usize, first: T, reach: T, tolerance: T) -> Self {
        let value = -T::INFINITY;
        Ascent {
            count,
            value,
            step: T::ONE,
            reach,
            first,
            tolerance,
            curved: false,
            idle: 0,
        }
    }

    /// The best value; −∞ before the first.
    pub(crate) fn value(&self) -> T {
        self.value
    }

    /// The best point.
    pub(crate) fn best<'a>(&self, storage: &'a [T]) -> &'a [T] {
        slice::head(storage, self.count)
    }

    /// The point to be evaluated.
    pub(crate) fn trial<'a>(&self, storage: &'a [T]) -> &'a [T] {
        slice::part(storage, 2 * self.count, self.count)
    }

    /// Where the first point is written.
    pub(crate) fn trial_mut<'a>(&self, storage: &'a mut [T]) -> &'a mut [T] {
        split(storage, self.count).trial
    }

    /// Takes in the value of the trial point; NaN and −∞ are no values.
    pub(crate) fn look(
        &mut self,
        value: T,
        bounds: impl Fn(usize) -> (T, T),
        storage: &mut [T],
    ) -> Looked {
        if !(self.value > -T::INFINITY) {
            return if value > -T::INFINITY && value < T::INFINITY {
                Looked::Better
            } else {
                Looked::Ended
            };
        }
        let parts = split(storage, self.count);
        let promised = (parts
            .trial
            .iter()
            .zip(parts.best.iter())
            .zip(parts.gradient.iter()))
        .fold(T::ZERO, |sum, ((trial, best), gradient)| {
            sum + (*trial - *best) * *gradient
        });
        if value < T::INFINITY
            && value >= self.value + T::from_f64(1e-4) * promised.max(T::ZERO)
            && value > self.value
        {
            return Looked::Better;
        }
        if !(promised > self.tolerance * T::from_f64(0.1)) {
            return Looked::Ended;
        }
        // The parabola through the value, its slope and the new value; at least a tenth, at most a
        // half.
        let lost = promised + (self.value - value);
        let cut = if lost.is_finite() {
            T::from_f64(0.5) * promised / lost
        } else {
            T::ZERO
        };
        self.step *= cut.max(T::from_f64(0.1)).min(T::from_f64(0.5));
        if self.propose(bounds, storage) {
            Looked::Again
        } else {
            Looked::Ended
        }
    }

    /// Takes in the gradient at the trial point, which is the new best: the next one is proposed,
    /// or the search has ended.
    pub(crate) fn accept(
        &mut self,
        value: T,
        gradient: &[T],
        bounds: impl Fn(usize) -> (T, T),
        storage: &mut [T],
    ) -> Looked {
        let begun = self.value > -T::INFINITY;
        let parts = split(storage, self.count);
        if begun {
            // In place of direction and old point: s, and y = old gradient − new gradient.
            for i in 0..self.count {
                set(parts.direction, i, at(parts.trial, i) - at(parts.best, i));
                set(parts.best, i, at(parts.gradient, i) - at(gradient, i));
            }
            self.update(parts.direction, parts.best, parts.inverse, parts.gradient);
            self.idle = if value - self.value > self.tolerance {
                0
            } else {
                self.idle + 1
            };
        } else {
            identity(parts.inverse, T::ONE);
        }
        self.value = value;
        slice::copy(parts.trial, parts.best);
        slice::copy(gradient, parts.gradient);
        if self.idle >= 2 || !gradient.iter().all(|g| g.is_finite()) {
            return Looked::Ended;
        }
        self.direct(&bounds, storage);
        let parts = split(storage, self.count);
        let mut slope = dot(parts.direction, parts.gradient);
        if !(slope > T::ZERO) && self.curved {
            identity(split(storage, self.count).inverse, T::ONE);
            self.curved = false;
            self.direct(&bounds, storage);
            let parts = split(storage, self.count);
            slope = dot(parts.direction, parts.gradient);
        }
        if !(slope > self.tolerance) && (self.curved || !(slope > T::ZERO)) {
            return Looked::Ended;
        }
        let largest = split(storage, self.count)
            .direction
            .iter()
            .fold(T::ZERO, |m, d| m.max(d.abs()));
        let reach = if self.curved { self.reach } else { self.first };
        self.step = if self.curved {
            T::ONE.min(reach / largest)
        } else {
            reach / largest
        };
        if self.propose(bounds, storage) {
            Looked::Again
        } else {
            Looked::Ended
        }
    }

    /// The direction H∇f of the free axes.
    fn direct(&self, bounds: &impl Fn(usize) -> (T, T), storage: &mut [T]) {
        let parts = split(storage, self.count);
        for i in 0..self.count {
            set(
                parts.trial,
                i,
                if free(bounds(i), at(parts.best, i), at(parts.gradient, i)) {
                    T::ONE
                } else {
                    T::ZERO
                },
            );
        }
        for i in 0..self.count {
            let mut sum = T::ZERO;
            for j in 0..self.count {
                sum += element(parts.inverse, i, j) * at(parts.gradient, j) * at(parts.trial, j);
            }
            set(parts.direction, i, sum * at(parts.trial, i));
        }
    }

    /// The trial point of the step; false if it is where we are.
    fn propose(&self, bounds: impl Fn(usize) -> (T, T), storage: &mut [T]) -> bool {
        let parts = split(storage, self.count);
        let mut moved = false;
        for i in 0..self.count {
            let (low, high) = bounds(i);
            let before = at(parts.best, i);
            let to = (before + self.step * at(parts.direction, i))
                .max(low)
                .min(high);
            moved |= to != before;
            set(parts.trial, i, to);
        }
        moved
    }

    /// H ← (I − ρsyᵀ)H(I − ρysᵀ) + ρssᵀ, ρ = 1/(s·y); `product` is overwritten.
    fn update(&mut self, s: &[T], y: &[T], inverse: &mut [T], product: &mut [T]) {
        let curvature = dot(s, y);
        let length = dot(y, y);
        if !(curvature > T::EPSILON.sqrt() * (dot(s, s) * length).sqrt()) || !curvature.is_finite()
        {
            return;
        }
        if !self.curved {
            identity(inverse, curvature / length);
            self.curved = true;
        }
        for i in 0..self.count {
            let sum =
                (0..self.count).fold(T::ZERO, |sum, j| sum + element(inverse, i, j) * at(y, j));
            set(product, i, sum);
        }
        let scale = (T::ONE + dot(y, product) / curvature) / curvature;
        for i in 0..self.count {
            for j in 0..=i {
                let cross = at(product, i) * at(s, j) + at(s, i) * at(product, j);
                let place = packed_len(i) + j;
                set(
                    inverse,
                    place,
                    at(inverse, place) + scale * at(s, i) * at(s, j) - cross / curvature,
                );
            }
        }
    }
}

/// Whether a parameter may move along its gradient.
fn free<T: Scalar>((low, high): (T, T), x: T, gradient: T) -> bool {
    let held = (x <= low && gradient <= T::ZERO) || (x >= high && gradient >= T::ZERO);
    !held
}

fn element<T: Scalar>(packed: &[T], i: usize, j: usize) -> T {
    let (row, column) = if i < j { (j, i) } else { (i, j) };
    at(packed, packed_len(row) + column)
}

fn identity<T: Scalar>(packed: &mut [T], diagonal: T) {
    packed.fill(T::ZERO);
    let mut row = 0;
    while packed_len(row) + row < packed.len() {
        set(packed, packed_len(row) + row, diagonal);
        row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluations until it ends, and where.
    fn climb<const N: usize>(
        start: [f64; N],
        f: impl Fn(&[f64]) -> (f64, [f64; N]),
    ) -> (u32, [f64; N], f64) {
        let mut storage = [0.0; 64];
        let mut ascent = Ascent::new(N, 0.1, 0.5, 1e-10);
        ascent.trial_mut(&mut storage).copy_from_slice(&start);
        let mut evaluations = 0;
        loop {
            evaluations += 1;
            assert!(evaluations < 500);
            let (value, gradient) = f(ascent.trial(&storage));
            let mut looked = ascent.look(value, |_| (0.0, 1.0), &mut storage);
            if looked == Looked::Better {
                looked = ascent.accept(value, &gradient, |_| (0.0, 1.0), &mut storage);
            }
            if looked == Looked::Ended {
                let mut best = [0.0; N];
                best.copy_from_slice(ascent.best(&storage));
                return (evaluations, best, ascent.value());
            }
        }
    }

    /// A narrow curved ridge with its top at (0.6, 0.36).
    fn ridge(x: &[f64]) -> (f64, [f64; 2]) {
        let a = x[1] - x[0] * x[0];
        let b = x[0] - 0.6;
        (
            -100.0 * a * a - b * b,
            [400.0 * x[0] * a - 2.0 * b, -200.0 * a],
        )
    }

    #[test]
    fn climbs_a_curved_ridge_and_stops_on_borders() {
        let (evaluations, best, value) = climb([0.1, 0.9], ridge);
        assert!(
            (best[0] - 0.6).abs() < 1e-3 && value > -1e-6 && evaluations < 80,
            "{evaluations} {best:?} {value}"
        );
        let (evaluations, best, _) = climb([0.4, 0.4, 0.4], |x| {
            let d = [x[0] - 0.3, x[1] - 1.5, x[2] + 0.5];
            (
                -d[0] * d[0] - d[1] * d[1] - d[2] * d[2],
                [-2.0 * d[0], -2.0 * d[1], -2.0 * d[2]],
            )
        });
        assert!(
            (best[0] - 0.3).abs() < 1e-4 && best[1..] == [1.0, 0.0] && evaluations < 30,
            "{evaluations} {best:?}"
        );
        // Negative control: with a gradient that is wrong it does not come there.
        let (_, _, value) = climb([0.1, 0.9], |x| (ridge(x).0, [ridge(x).1[1], ridge(x).1[0]]));
        assert!(value < -1e-3, "{value}");
    }

    #[test]
    fn a_start_without_a_value_ends_and_later_ones_are_left() {
        assert_eq!(climb([0.5], |_| (f64::NAN, [1.0])).0, 1);
        let (_, best, value) = climb([0.2], |x| {
            if x[0] < 0.7 {
                (x[0], [1.0])
            } else {
                (f64::NAN, [1.0])
            }
        });
        assert!(best[0] > 0.6 && value < 0.7, "{best:?} {value}");
    }
}
