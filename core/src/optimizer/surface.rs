//! The acquisition as a function of the point, with its gradient.

use super::layout::{Model, Solved};
use super::work::Level;
use crate::acquisition::maximize::Landscape;
use crate::acquisition::rule::{Rule, slopes};
use crate::kernel::{Kernel, Lengthscales, Radial};
use crate::linalg::block::{self, WIDTH};
use crate::linalg::{dot, lower, slice, sum_of_squares};
use crate::math::Scalar;
use crate::space::Space;
use crate::surrogate::exact::same_point;
use crate::surrogate::map::AxisKernel;

/// Points in the user's units, row-major, in the unit box; `units` has room for them.
pub(super) fn in_unit_box<'a, T: Scalar>(
    space: &Space,
    points: &[T],
    units: &'a mut [T],
) -> &'a [T] {
    let dim = space.dim().max(1);
    for (number, (unit, x)) in units.iter_mut().zip(points).enumerate() {
        *unit = space.to_unit(number % dim, *x).unwrap_or(T::INFINITY);
    }
    slice::head(units, points.len())
}

/// Coordinates that are given replace those of a point; the others are NaN.
pub(super) fn put<T: Scalar>(given: &[T], unit: &mut [T]) {
    for (x, given) in unit.iter_mut().zip(given) {
        if given.is_finite() {
            *x = *given;
        }
    }
}

/// Points that may be asked, and when asking one would teach nothing.
#[derive(Clone, Copy)]
pub(super) struct Questions<'a, T> {
    pub(super) space: &'a Space,
    /// Coordinates of the context; NaN on other axes.
    pub(super) given: Option<&'a [T]>,
    /// A point that was asked is not asked again.
    pub(super) once: bool,
    /// A variance left below this is none: asking there again would teach nothing.
    pub(super) unresolved: T,
}

/// A rule over the posterior of the rows, in the unit box.
pub(super) struct Surface<'a, T, R> {
    pub(super) kernel: &'a AxisKernel<'a, T>,
    pub(super) inputs: &'a [T],
    pub(super) factor: &'a [T],
    /// The whitened residuals L⁻¹(y − m).
    pub(super) whitened: &'a [T],
    /// The weights A⁻¹(y − m) of the rows.
    pub(super) alpha: &'a [T],
    /// One number a row.
    pub(super) column: &'a mut [T],
    pub(super) level: Level<T>,
    pub(super) questions: Questions<'a, T>,
    pub(super) rule: &'a R,
    /// Of the point that was looked at last, in y and y².
    pub(super) mean: T,
    pub(super) variance: T,
    /// The largest variance at a point that was looked at.
    pub(super) widest: T,
}

impl<'a, T: Scalar, R> Surface<'a, T, R> {
    /// The posterior of the rows under a rule; `solved` holds what
    /// [`level`](super::level::level) left there.
    pub(super) fn new(
        gp: &'a Model<'a, T>,
        solved: Solved<'a, T>,
        level: Level<T>,
        questions: Questions<'a, T>,
        rule: &'a R,
    ) -> Self {
        let n = gp.len();
        Surface {
            kernel: gp.kernel(),
            inputs: gp.inputs(),
            factor: gp.factor(),
            whitened: slice::head(solved.whitened, n),
            alpha: slice::head(solved.alpha, n),
            column: slice::head_mut(solved.column, n),
            level,
            questions,
            rule,
            mean: level.mean,
            variance: level.variance,
            widest: T::ZERO,
        }
    }

    /// Posterior mean and variance at x; `column` then holds L⁻¹k(x).
    pub(super) fn posterior(&mut self, x: &[T]) {
        self.kernel.covariances(x, self.inputs, self.column);
        lower::solve(self.factor, self.column);
        self.conclude(dot(self.column, self.whitened), sum_of_squares(self.column));
    }

    /// Mean and variance, from vᵀL⁻¹(y − m) and vᵀv, v = L⁻¹k(x).
    fn conclude(&mut self, explained: T, square: T) {
        self.mean = self.level.mean + explained;
        let left = T::ONE - square;
        // Less than that is what the rows' floor leaves.
        self.variance = if left > self.questions.unresolved {
            self.level.variance * left
        } else {
            T::ZERO
        };
        self.widest = self.widest.max(self.variance);
    }
}

/// Rows up to which hosts look at several points together: 16 kB of stack.
const ROWS: usize = 128;

impl<T: Scalar, R> Surface<'_, T, R> {
    /// Mean and variance at each of at most [`WIDTH`] points of `dim` coordinates, row-major. On
    /// hosts they share what is loaded of the factor; the bits are those of one at a time.
    pub(super) fn moments(&mut self, points: &[T], dim: usize, out: &mut [[T; 2]; WIDTH]) {
        if self.is_whole_block(points, dim) {
            self.moments_together(points, dim, out);
        } else {
            for (moments, point) in out.iter_mut().zip(slice::rows(points, dim)) {
                self.posterior(point);
                *moments = [self.mean, self.variance];
            }
        }
    }

    /// Whether these points are looked at together.
    fn is_whole_block(&self, points: &[T], dim: usize) -> bool {
        cfg!(feature = "dispatch") && self.column.len() <= ROWS && points.len() == WIDTH * dim
    }

    fn moments_together(&mut self, points: &[T], dim: usize, out: &mut [[T; 2]; WIDTH]) {
        // What is not needed is not cleared either.
        match self.column.len() {
            ..=32 => self.moments_within::<32>(points, dim, out),
            33..=64 => self.moments_within::<64>(points, dim, out),
            _ => self.moments_within::<ROWS>(points, dim, out),
        }
    }

    fn moments_within<const ROWS: usize>(
        &mut self,
        points: &[T],
        dim: usize,
        out: &mut [[T; 2]; WIDTH],
    ) {
        let mut block = [[T::ZERO; WIDTH]; ROWS];
        let Some(block) = block.get_mut(..self.column.len()) else {
            return;
        };
        self.kernel
            .covariance_rows(self.inputs, points, dim, WIDTH, block.as_flattened_mut());
        block::solve(self.factor, block);
        let means = block::dot(self.whitened, block);
        let squares = block::sum_of_squares(block);
        for ((moments, mean), square) in out.iter_mut().zip(means).zip(squares) {
            self.conclude(mean, square);
            *moments = [self.mean, self.variance];
        }
    }
}

impl<T: Scalar, R: Rule<T>> Surface<'_, T, R> {
    /// [`Landscape::value`] of each of at most [`WIDTH`] points of `dim` coordinates, row-major; −∞
    /// instead of one that is below `best` as its bound shows. On hosts they share what is loaded
    /// of the factor; the bits are those of one at a time.
    pub(super) fn values(&mut self, points: &[T], dim: usize, best: T, out: &mut [T; WIDTH]) {
        if !self.questions.once && self.is_whole_block(points, dim) {
            let mut moments = [[T::ZERO; 2]; WIDTH];
            self.moments_together(points, dim, &mut moments);
            for (value, [mean, variance]) in out.iter_mut().zip(moments) {
                let passed_over = self.rule.bound(mean, variance, self.level.value) < best;
                *value = if passed_over {
                    -T::INFINITY
                } else {
                    self.rule.value(mean, variance, self.level.value)
                };
            }
        } else {
            for (value, point) in out.iter_mut().zip(slice::rows(points, dim)) {
                *value = self.value(point);
            }
        }
    }
}

impl<T: Scalar, R: Rule<T>> Landscape<T> for Surface<'_, T, R> {
    fn value(&mut self, x: &[T]) -> T {
        if self.questions.once && slice::rows(self.inputs, x.len()).any(|row| same_point(row, x)) {
            return -T::INFINITY;
        }
        self.posterior(x);
        self.rule.value(self.mean, self.variance, self.level.value)
    }

    /// Σᵢ (a_m αᵢ − 2 a_v s² (A⁻¹k)ᵢ) ∇k(x, xᵢ), with the slopes a_m and a_v of the rule.
    fn gradient(&mut self, x: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        let (of_mean, of_variance) = slopes(self.rule, self.mean, self.variance, self.level.value);
        lower::solve_transposed(self.factor, self.column);
        let share = (of_variance + of_variance) * self.level.variance;
        let lengthscales = *self.kernel.lengthscales();
        let rows = slice::rows(self.inputs, x.len()).zip(self.alpha.iter().zip(self.column.iter()));
        for (row, (alpha, solved)) in rows {
            let r2 = lengthscales.squared_distance(x, row);
            let weight = (share * *solved - of_mean * *alpha) * self.kernel.shape().steepness(r2);
            for (((out, x), row), scale) in out.iter_mut().zip(x).zip(row).zip(lengthscales.scales)
            {
                *out += weight * (*x - *row) * *scale;
            }
        }
        for (axis, (out, what)) in out.iter_mut().zip(self.questions.space.axes()).enumerate() {
            let given = self
                .questions
                .given
                .is_some_and(|given| slice::at(given, axis).is_finite());
            if given || what.count().is_some() {
                *out = T::ZERO;
            }
        }
    }

    fn settle(&self, x: &mut [T]) {
        self.questions.space.snap(x);
        if let Some(given) = self.questions.given {
            put(given, x);
        }
    }

    fn hop(&self, x: &mut [T], number: u32) -> bool {
        let mut left = number as usize;
        for axis in self.questions.space.searched() {
            let before = slice::at(x, axis);
            let mut neighbours = self.questions.space.neighbours(axis, before);
            // Categories have as many as there are choices: some sixteen of them here, the scan has
            // seen others.
            let count = neighbours.by_ref().take(16).count();
            if left < count {
                if let Some(to) = self.questions.space.neighbours(axis, before).nth(left) {
                    slice::set(x, axis, to);
                }
                return true;
            }
            left -= count;
        }
        false
    }
}
