//! Hyper-parameters of a standardised model by maximum a posteriori: one lengthscale for each axis
//! and the noise fraction.
//!
//! **Equation**: y ~ N(m·1, s²A), A = R + diag(max(ν/cᵢ, floor)), R the correlations with
//! lengthscales ℓ and ν the noise variance as a fraction of s². Mean and scale are where the
//! likelihood is largest given the rest, m = 1ᵀA⁻¹y / 1ᵀA⁻¹1 and s² = ((y − m)ᵀA⁻¹(y − m) + Σ
//! scatterᵢ/ν)/N, N the number of observations with repeats. What is left is
//!
//! −(N/2) ln s² − ½ ln det A − ½ Σ ((cᵢ − 1) ln ν + ln cᵢ) + ln p(ℓ) + ln p(ν),
//!
//! a function of ln ℓ and ln ν alone, which adding a constant to the values or multiplying them
//! does not change. Its gradient is ½ Σᵢⱼ (αᵢαⱼ/s² − A⁻¹ᵢⱼ) ∂Aᵢⱼ/∂θ with α = A⁻¹(y − m): at the
//! best mean and scale theirs is 0.
//!
//! Prior: ln ℓ ~ N(√2 + ½ ln D, 3) for a box of side 1, ln ν ~ N(−4, 1), as densities of ℓ and ν.
//!
//! **Source**: Hvarfner, Hellsten and Nardi 2024, and BoTorch 0.12, for the priors; Rasmussen and
//! Williams 2006, equations 5.8 and 5.9.

use super::SurrogateError;
use super::exact::storage::{Parts, split};
use super::fit::{DIM_LIMIT, invert};
use super::mark;
use super::noise::RowNoise;
use crate::kernel::{InverseSquares, Kernel, Lengthscales, Radial, RadialKernel, Stationary};
use crate::linalg::ascent::{self, Ascent, Looked};
use crate::linalg::slice::{self, at, head, head_mut, set};
use crate::linalg::{dot, lower, sum_of_squares};
use crate::math::Scalar;

/// Least and largest lengthscale, as fractions of a side.
pub(crate) const LENGTHSCALES: (f64, f64) = (0.01, 100.0);
/// Least and largest noise fraction; the format's floor is above the least in `f32`.
pub(crate) const NOISES: (f64, f64) = (1e-6, 1.0);
/// Mean of ln ν under the prior.
const NOISE_LOCATION: f64 = -4.0;

/// The kernel with one lengthscale an axis, given by 1/ℓ².
pub(crate) type AxisKernel<'a, T> = RadialKernel<T, Stationary, InverseSquares<&'a [T]>>;

/// Signal variance 1.
pub(crate) fn kernel<T: Scalar>(
    shape: Stationary,
    scales: &[T],
    categories: u32,
) -> Result<AxisKernel<'_, T>, crate::kernel::KernelError> {
    RadialKernel::build(shape, InverseSquares { scales, categories }, T::ONE)
}

/// Location √2 + ½ ln D of the logarithm of a lengthscale.
fn location<T: Scalar>(dim: usize) -> T {
    T::from_f64(core::f64::consts::SQRT_2) + T::from_f64(0.5) * T::from_u32(dim as u32).ln()
}

/// The lengthscale where the prior is densest, and the noise fraction.
pub(crate) fn mode<T: Scalar>(dim: usize) -> (T, T) {
    (
        (location::<T>(dim) - T::from_f64(3.0)).exp(),
        T::from_f64(NOISE_LOCATION - 1.0).exp(),
    )
}

/// Mean and scale of the values given the rest, in their unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale<T> {
    pub(crate) mean: T,
    /// The scale s², unit y².
    pub(crate) variance: T,
}

/// Turns values into L⁻¹(y − m) in place and finds m and s². `ones` becomes L⁻¹1; `center` is
/// subtracted first.
pub(crate) fn scale<T: Scalar>(
    factor: &[T],
    center: T,
    scatter: T,
    observations: T,
    values: &mut [T],
    ones: &mut [T],
) -> Scale<T> {
    values.iter_mut().for_each(|y| *y -= center);
    ones.fill(T::ONE);
    lower::solve(factor, values);
    lower::solve(factor, ones);
    let shift = dot(ones, values) / sum_of_squares(ones);
    values
        .iter_mut()
        .zip(ones.iter())
        .for_each(|(z, one)| *z -= shift * *one);
    Scale {
        mean: center + shift,
        variance: (sum_of_squares(values) + scatter) / observations,
    }
}

/// Numbers that a search keeps between two slices, for `dim` axes.
pub(crate) const fn storage_len(dim: usize) -> usize {
    ascent::storage_len(dim + 1) + 2 * (dim + 1)
}

/// A fit under way, a few words; θ = (ln ℓ, ln ν) and the rest lie in storage of the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapFit<T> {
    ascent: Ascent<T>,
    /// The least noise fraction.
    least: T,
    /// Which start is searched from.
    start: u32,
    evaluated: u32,
    evaluations: u32,
    best: T,
}

/// Rows of an exact posterior, whose factor gives way to that of each evaluation.
pub(crate) struct Rows<'a, T> {
    pub(crate) model: &'a mut [T],
    pub(crate) dim: usize,
    pub(crate) capacity: usize,
    pub(crate) len: usize,
    pub(crate) shape: Stationary,
    /// Axes where coordinates are equal or not, by bits.
    pub(crate) categories: u32,
    pub(crate) floor: T,
    /// Three lists of at least `len` numbers.
    pub(crate) values: &'a mut [T],
    pub(crate) ones: &'a mut [T],
    pub(crate) alpha: &'a mut [T],
}

/// Evaluations from the first start, and from each further one.
const EVALUATIONS: (u32, u32) = (24, 24);

impl<T: Scalar> MapFit<T> {
    /// Begins at the parameters in use.
    pub(crate) fn begin(
        lengthscales: &[T],
        noise_fraction: T,
        least: T,
        storage: &mut [T],
    ) -> Self {
        let dim = lengthscales.len();
        let ascent = begin(dim + 1);
        for (i, value) in lengthscales
            .iter()
            .chain(core::iter::once(&noise_fraction))
            .enumerate()
        {
            let (low, high) = bounds(i, dim, least);
            set(ascent.trial_mut(storage), i, value.ln().max(low).min(high));
        }
        MapFit {
            ascent,
            least,
            start: 0,
            evaluated: 0,
            evaluations: 0,
            best: -T::INFINITY,
        }
    }

    /// One evaluation; whether there are more.
    pub(crate) fn step(&mut self, rows: &mut Rows<'_, T>, storage: &mut [T]) -> bool {
        let dim = rows.dim;
        let (searched, kept) = slice::split(storage, ascent::storage_len(dim + 1));
        let (best, gradient) = slice::split(kept, dim + 1);
        let gradient = head_mut(gradient, dim + 1);
        (self.evaluated, self.evaluations) = (self.evaluated + 1, self.evaluations + 1);
        let least = self.least;
        let value = rows
            .value(self.ascent.trial(searched))
            .unwrap_or(-T::INFINITY);
        let mut looked = self.ascent.look(value, |i| bounds(i, dim, least), searched);
        if looked == Looked::Better {
            rows.gradient(self.ascent.trial(searched), gradient);
            looked = self
                .ascent
                .accept(value, gradient, |i| bounds(i, dim, least), searched);
        }
        let budget = if self.start == 0 {
            EVALUATIONS.0
        } else {
            EVALUATIONS.1
        };
        if looked != Looked::Ended && self.evaluated < budget {
            return true;
        }
        if self.ascent.value() > self.best {
            self.best = self.ascent.value();
            slice::copy(self.ascent.best(searched), best);
        }
        (self.start, self.evaluated) = (self.start + 1, 0);
        self.ascent = begin(dim + 1);
        let (lengthscale, noise) = mode::<T>(dim);
        for i in 0..=dim {
            let (low, high) = bounds(i, dim, least);
            let from = if i < dim { lengthscale } else { noise };
            set(
                self.ascent.trial_mut(searched),
                i,
                from.ln().max(low).min(high),
            );
        }
        self.start < 2
    }

    /// What was found: ln of the posterior density up to a constant, evaluations; nothing if no
    /// point had a value.
    pub(crate) fn found(&self) -> Option<(T, u32)> {
        (self.best > -T::INFINITY).then_some((self.best, self.evaluations))
    }

    /// (ln ℓ, ln ν) of what was found.
    pub(crate) fn parameters<'a>(&self, dim: usize, storage: &'a [T]) -> &'a [T] {
        slice::part(storage, ascent::storage_len(dim + 1), dim + 1)
    }
}

fn begin<T: Scalar>(count: usize) -> Ascent<T> {
    Ascent::new(count, T::from_f64(0.5), T::from_f64(2.0), T::from_f64(2e-3))
}

/// Of the logarithm of parameter `i`.
fn bounds<T: Scalar>(i: usize, dim: usize, least: T) -> (T, T) {
    if i < dim {
        (
            T::from_f64(LENGTHSCALES.0).ln(),
            T::from_f64(LENGTHSCALES.1).ln(),
        )
    } else {
        (
            T::from_f64(NOISES.0).max(least).ln(),
            T::from_f64(NOISES.1).ln(),
        )
    }
}

impl<T: Scalar> Rows<'_, T> {
    /// The factor of A and the value at θ; `values` then holds L⁻¹(y − m).
    fn value(&mut self, theta: &[T]) -> Result<T, SurrogateError> {
        let dim = self.dim;
        let n = self.len;
        let mut inverse_squares = [T::ZERO; DIM_LIMIT];
        let inverse_squares = inverse_squares_of(theta, dim, &mut inverse_squares);
        let noise = at(theta, dim).exp();
        let row_noise = RowNoise::new(noise, self.floor)?;
        let kernel = kernel(self.shape, inverse_squares, self.categories)
            .map_err(|_| SurrogateError::NoiseVariance { value: 0.0 })?;
        let Parts {
            inputs,
            targets,
            counts,
            scatters,
            factor,
            ..
        } = split(self.model, dim, self.capacity);
        let inputs = head(inputs, n * dim);
        for (i, x) in slice::rows(inputs, dim).enumerate() {
            let row = lower::row_mut(factor, i);
            kernel.covariances(x, inputs, row);
            let diagonal = T::ONE + row_noise.of(at(counts, i));
            set(row, i, diagonal);
            let threshold = T::from_u32(i as u32 + 8) * T::EPSILON * diagonal;
            lower::append_row(factor, i, threshold).map_err(SurrogateError::Singular)?;
        }
        let (mean, deviation) = moments(head(targets, n));
        let mut repeats = T::ZERO;
        let mut ln_counts = T::ZERO;
        let mut scatter = T::ZERO;
        for (count, own) in mark::repeats(head(counts, n), head(scatters, n)) {
            repeats += count - T::ONE;
            ln_counts += count.ln();
            scatter += own / deviation / deviation;
        }
        let values = head_mut(self.values, n);
        values
            .iter_mut()
            .zip(targets.iter())
            .for_each(|(to, y)| *to = (*y - mean) / deviation);
        let observations = T::from_u32(n as u32) + repeats;
        let found = scale(
            factor,
            T::ZERO,
            scatter / noise,
            observations,
            values,
            head_mut(self.ones, n),
        );
        let half = T::from_f64(0.5);
        let value = -half * (observations * found.variance.ln() + lower::ln_det(factor, n))
            - half * (repeats * noise.ln() + ln_counts)
            + ln_prior(theta, dim);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(SurrogateError::NonFinite {
                value: value.to_f64(),
            })
        }
    }

    /// The gradient at the θ that [`Rows::value`] was last asked for.
    fn gradient(&mut self, theta: &[T], gradient: &mut [T]) {
        let dim = self.dim;
        let n = self.len;
        let half = T::from_f64(0.5);
        let mut weights = [T::ZERO; DIM_LIMIT];
        let scales = inverse_squares_of(theta, dim, &mut weights);
        let lengthscales = InverseSquares {
            scales,
            categories: self.categories,
        };
        let noise = at(theta, dim).exp();
        let Parts {
            inputs,
            targets,
            counts,
            scatters,
            whitened,
            factor,
            ..
        } = split(self.model, dim, self.capacity);
        let (_, deviation) = moments(head(targets, n));
        let mut repeats = T::ZERO;
        let mut scatter = T::ZERO;
        for (count, own) in mark::repeats(head(counts, n), head(scatters, n)) {
            repeats += count - T::ONE;
            scatter += own / deviation / deviation;
        }
        let values = head(self.values, n);
        let observations = T::from_u32(n as u32) + repeats;
        let variance = (sum_of_squares(values) + scatter / noise) / observations;
        let alpha = head_mut(self.alpha, n);
        slice::copy(values, alpha);
        lower::solve_transposed(factor, alpha);
        invert(factor, n, whitened);
        gradient.fill(T::ZERO);
        let mut trace = T::ZERO;
        let inputs = head(inputs, n * dim);
        for (i, x) in slice::rows(inputs, dim).enumerate() {
            let inverse = lower::row(factor, i);
            let scaled = at(alpha, i) / variance;
            let before = alpha
                .iter()
                .zip(head(inverse, i))
                .zip(slice::rows(inputs, dim));
            for ((alpha_j, inverse), other) in before {
                let r2 = lengthscales.squared_distance(x, other);
                let weight = (scaled * *alpha_j - *inverse) * self.shape.steepness(r2);
                lengthscales.add_parts(x, other, weight, gradient);
            }
            let own = noise / at(counts, i);
            if own >= self.floor {
                trace += half * (scaled * at(alpha, i) - at(inverse, i)) * own;
            }
        }
        set(
            gradient,
            dim,
            trace + half * (scatter / (noise * variance) - repeats),
        );
        let location = location::<T>(dim);
        for (i, (out, theta)) in gradient.iter_mut().zip(theta).enumerate() {
            let (from, third) = if i < dim {
                (*theta - location, T::from_f64(1.0 / 3.0))
            } else {
                (*theta - T::from_f64(NOISE_LOCATION), T::ONE)
            };
            *out -= T::ONE + from * third;
        }
    }
}

/// ln p(ℓ) + ln p(ν) up to a constant, as densities of ℓ and ν.
fn ln_prior<T: Scalar>(theta: &[T], dim: usize) -> T {
    let location = location::<T>(dim);
    let half = T::from_f64(0.5);
    let mut sum = T::ZERO;
    for theta in head(theta, dim) {
        let from = *theta - location;
        sum -= *theta + half * from * from * T::from_f64(1.0 / 3.0);
    }
    let from = at(theta, dim) - T::from_f64(NOISE_LOCATION);
    sum - at(theta, dim) - half * from * from
}

/// 1/ℓ² of the leading logarithms.
pub(crate) fn inverse_squares_of<'a, T: Scalar>(
    theta: &[T],
    dim: usize,
    out: &'a mut [T],
) -> &'a [T] {
    let out = head_mut(out, dim);
    out.iter_mut()
        .zip(theta)
        .for_each(|(to, theta)| *to = (*theta * T::from_f64(-2.0)).exp());
    out
}

/// Mean and standard deviation (of n, not n − 1) of the values.
pub(crate) fn moments<T: Scalar>(values: &[T]) -> (T, T) {
    let count = T::from_u32(values.len() as u32);
    let mean = values.iter().fold(T::ZERO, |sum, y| sum + *y / count);
    let variance = values
        .iter()
        .fold(T::ZERO, |sum, y| sum + (*y - mean) * (*y - mean) / count);
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests;
