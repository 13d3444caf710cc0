//! Hyper-parameters by maximum marginal likelihood.
//!
//! **Equation**: with A = K + σ²I and α = A⁻¹y, ln p = −½ yᵀα − ½ ln det A − (n/2) ln 2π and ∂ln
//! p/∂θ = ½ Σᵢⱼ (αᵢαⱼ − A⁻¹ᵢⱼ) ∂Aᵢⱼ/∂θ, θ the logarithms of lengthscales, signal variance and noise
//! variance.
//!
//! The search is resilient propagation (iRprop⁻; Igel and Hüsken 2003) inside a box, from several
//! starts: it uses only the signs of the gradient, needs no line search and a few words per
//! parameter, so a device can afford it, and the same data give the same bits everywhere. Source of
//! the gradient: Rasmussen and Williams 2006, equation 5.9.
//!
//! **Example**: that of [`FitConfig`].

mod search;

use core::task::Poll;

pub use self::search::Fitting;
use super::SurrogateError;
use super::mark::is_mark;
use crate::kernel::LogGradient;
use crate::linalg::slice::{self, at, head, head_mut, set};
use crate::linalg::{axpy, lower, packed_len, sum_of_squares};
use crate::math::Scalar;

/// The most parameters that can be fitted: 16 lengthscales, signal and noise variance.
pub const PARAMETERS_MAX: usize = 18;

/// The most lengthscales.
pub(super) const DIM_LIMIT: usize = PARAMETERS_MAX - 2;

/// Constant ln 2π of the log likelihood.
pub(super) const LN_TWO_PI: f64 = 1.837_877_066_409_345_3;

/// Values at points, some of which stand for several observations of one point.
///
/// **Equation**: c observations of one point, mean ȳ, scatter s = Σ (yᵢ − ȳ)², are one observation
/// ȳ of noise variance σ²/c and, independent of it, what they say of the noise: ln p(y₁ … y_c) = ln
/// p(ȳ) − ½ ((c − 1) ln 2πσ² + ln c + s/σ²). Count, mean and scatter are all that the likelihood
/// asks of repeats, so merging them loses nothing.
///
/// ```
/// use sordino_core::kernel::{Stationary, StationaryKernel};
/// use sordino_core::surrogate::fit::{Observations, log_marginal_likelihood, scratch_len};
///
/// let kernel = StationaryKernel::with_shape(Stationary::Matern52, 0.3, 1.0)?;
/// let ln_p = |data: &Observations<'_, f64>| {
///     log_marginal_likelihood(&kernel, 0.1, data, &mut [], &mut [0.0; scratch_len(3)])
/// };
/// // Two values of one point say as much as their mean, their number and their scatter.
/// let single = ln_p(&Observations::single(&[0.2, 0.2, 0.7], &[1.0, 2.0, 0.0]))?;
/// let (points, y) = (&[0.2, 0.7], &[1.5, 0.0]);
/// let merged = ln_p(&Observations { points, y, counts: &[2.0, 1.0], scatters: &[0.5, 0.0] })?;
/// assert!((single - merged).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observations<'a, T> {
    /// Row-major, one per value.
    pub points: &'a [T],
    /// Values, averaged over repeats.
    pub y: &'a [T],
    /// Observations that each value stands for, at least 1; where the list ends, 1.
    pub counts: &'a [T],
    /// Their scatters; where the list ends, 0. Repeats with a scatter of −0 say nothing of the
    /// noise.
    pub scatters: &'a [T],
}

impl<'a, T: Scalar> Observations<'a, T> {
    /// Observations without repeats, one for each point.
    pub const fn single(points: &'a [T], y: &'a [T]) -> Self {
        Observations {
            points,
            y,
            counts: &[],
            scatters: &[],
        }
    }

    /// Coordinates of a point, if all numbers are admissible.
    fn check(&self) -> Result<usize, SurrogateError> {
        let Observations {
            points,
            y,
            counts,
            scatters,
        } = *self;
        let n = y.len();
        if n == 0 || points.is_empty() || !points.len().is_multiple_of(n) {
            return Err(SurrogateError::Dimension {
                expected: n,
                given: points.len(),
            });
        }
        super::exact::storage::check_finite(points)?;
        super::exact::storage::check_finite(y)?;
        let wrong = counts
            .iter()
            .find(|count| !(**count >= T::ONE && count.is_finite()));
        if let Some(bad) = wrong.or(scatters
            .iter()
            .find(|scatter| !(**scatter >= T::ZERO && scatter.is_finite())))
        {
            return Err(SurrogateError::NonFinite {
                value: bad.to_f64(),
            });
        }
        Ok((points.len() / n).max(1))
    }

    fn count(&self, i: usize) -> T {
        self.counts.get(i).copied().unwrap_or(T::ONE)
    }

    /// What the repeats say of the noise: Σ −½ ((c − 1) ln 2πσ² + ln c + s/σ²), and its derivative
    /// with respect to ln σ². Both 0 without noise, where a repeat is no observation.
    pub(super) fn ln_within(&self, noise_variance: T) -> (T, T) {
        let mut value = T::ZERO;
        let mut slope = T::ZERO;
        if !(noise_variance > T::ZERO) {
            return (value, slope);
        }
        let half = T::from_f64(0.5);
        for (i, count) in self.counts.iter().enumerate() {
            let extra = *count - T::ONE;
            let scatter = self.scatters.get(i).copied().unwrap_or(T::ZERO);
            if extra > T::ZERO && !is_mark(scatter) {
                let scatter = scatter / noise_variance;
                value += -half
                    * (extra * (T::from_f64(LN_TWO_PI) + noise_variance.ln())
                        + count.ln()
                        + scatter);
                slope += half * (scatter - extra);
            }
        }
        (value, slope)
    }
}

/// Numbers of scratch for n observations: n(n + 1)/2 + 2n.
pub const fn scratch_len(observations: usize) -> usize {
    packed_len(observations) + 2 * observations
}

/// ln p(y | X) of a kernel and a noise variance; its gradient with respect to the logarithms of the
/// kernel's parameters and, last, of the noise variance goes into the front of `gradient`.
///
/// **Parameters**: `scratch` of [`scratch_len`].
///
/// **Errors**: [`SurrogateError::Dimension`], [`SurrogateError::Storage`],
/// [`SurrogateError::NonFinite`] (a count below 1 and a negative scatter too),
/// [`SurrogateError::NoiseVariance`] unless positive; [`SurrogateError::Singular`].
///
/// **Cost**: n³ flops, n(n + 1) covariances and gradients.
pub fn log_marginal_likelihood<T: Scalar, K: LogGradient<T>>(
    kernel: &K,
    noise_variance: T,
    data: &Observations<'_, T>,
    gradient: &mut [T],
    scratch: &mut [T],
) -> Result<T, SurrogateError> {
    likelihood(kernel, noise_variance, T::ZERO, data, gradient, scratch)
}

/// [`log_marginal_likelihood`] of the model whose rows have a noise variance of at least `floor`
/// times the prior's: max(σ²/c, floor·k(x, x)).
fn likelihood<T: Scalar, K: LogGradient<T>>(
    kernel: &K,
    noise_variance: T,
    floor: T,
    data: &Observations<'_, T>,
    gradient: &mut [T],
    scratch: &mut [T],
) -> Result<T, SurrogateError> {
    let dim = data.check()?;
    let points = data.points;
    let y = data.y;
    let n = data.y.len();
    if !(noise_variance > T::ZERO && noise_variance.is_finite()) {
        return Err(SurrogateError::NoiseVariance {
            value: noise_variance.to_f64(),
        });
    }
    let needed = scratch_len(n);
    let given = scratch.len();
    if given < needed {
        return Err(SurrogateError::Storage { needed, given });
    }
    let (alpha, rest) = slice::split(scratch, n);
    let (spare, matrix) = slice::split(rest, n);
    let matrix = head_mut(matrix, packed_len(n));
    for (i, x) in slice::rows(points, dim).enumerate() {
        let row = lower::row_mut(matrix, i);
        kernel.covariances(x, points, row);
        let variance = kernel.variance(x);
        let diagonal = variance + (noise_variance / data.count(i)).max(floor * variance);
        set(row, i, diagonal);
        let threshold = T::from_u32(i as u32 + 8) * T::EPSILON * diagonal;
        lower::append_row(matrix, i, threshold).map_err(SurrogateError::Singular)?;
    }
    slice::copy(y, alpha);
    lower::solve(matrix, alpha);
    let half = T::from_f64(0.5);
    let constant = T::from_f64(LN_TWO_PI) * T::from_u32(n as u32);
    let (within, slope) = data.ln_within(noise_variance);
    let value = -half * (sum_of_squares(alpha) + lower::ln_det(matrix, n) + constant) + within;
    if !value.is_finite() {
        return Err(SurrogateError::NonFinite {
            value: value.to_f64(),
        });
    }
    lower::solve_transposed(matrix, alpha);
    invert(matrix, n, spare);
    let parameters = kernel.parameter_count().min(gradient.len());
    let (of_kernel, of_noise) = slice::split(gradient, parameters);
    of_kernel.fill(T::ZERO);
    let mut trace = T::ZERO;
    for (i, (x, alpha_i)) in slice::rows(points, dim).zip(alpha.iter()).enumerate() {
        let inverse = lower::row(matrix, i);
        let before = alpha
            .iter()
            .zip(head(inverse, i))
            .zip(slice::rows(points, dim));
        for ((alpha_j, inverse), other) in before {
            // (i, j) and (j, i) together: twice a half.
            kernel.add_log_gradient(x, other, *alpha_i * *alpha_j - *inverse, of_kernel);
        }
        let own = half * (*alpha_i * *alpha_i - at(inverse, i));
        if noise_variance / data.count(i) >= floor * kernel.variance(x) {
            kernel.add_log_gradient(x, x, own, of_kernel);
            trace += own / data.count(i);
        } else {
            // On the floor the row's noise follows the kernel's variance.
            kernel.add_log_gradient(x, x, own + own * floor, of_kernel);
        }
    }
    if let Some(out) = of_noise.first_mut() {
        *out = trace * noise_variance + slope;
    }
    Ok(value)
}

/// The packed factor L of order `n` becomes the packed lower triangle of (LLᵀ)⁻¹; `spare` holds n
/// numbers.
pub(super) fn invert<T: Scalar>(matrix: &mut [T], n: usize, spare: &mut [T]) {
    // L⁻¹ row by row: row i is −(Lᵢ₀..ᵢ₋₁ L⁻¹)/Lᵢᵢ.
    for i in 0..n {
        let (done, rest) = slice::split(matrix, packed_len(i));
        let (sum, Some((pivot, row))) =
            (head_mut(spare, i), head_mut(rest, i + 1).split_last_mut())
        else {
            return;
        };
        sum.fill(T::ZERO);
        for (k, l) in row.iter().enumerate() {
            axpy(*l, lower::row(done, k), sum);
        }
        *pivot = T::ONE / *pivot;
        for (out, sum) in row.iter_mut().zip(sum.iter()) {
            *out = -(*sum * *pivot);
        }
    }
    // L⁻ᵀL⁻¹: row i needs rows i and below, which are still L⁻¹.
    for i in 0..n {
        let (head, below) = slice::split(matrix, packed_len(i + 1));
        let row = slice::tail_mut(head, packed_len(i));
        let scale = at(row, i);
        row.iter_mut().for_each(|x| *x *= scale);
        let mut rest = &below[..];
        for k in i + 1..n {
            let Some((other, tail)) = rest.split_at_checked(k + 1) else {
                return;
            };
            rest = tail;
            axpy(at(other, i), other, row);
        }
    }
}

/// How a fit ended.
///
/// **Example**: that of [`FitConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every step had shrunk below 1e-4 in the logarithm.
    Converged,
    /// The budget of evaluations was used up; the best parameters seen are returned.
    Budget,
}

/// What a fit found.
///
/// **Example**: that of [`FitConfig`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<T> {
    /// ln p at the parameters returned.
    pub log_marginal_likelihood: T,
    /// Evaluations of likelihood and gradient.
    pub evaluations: u32,
    /// How the search from the best start ended.
    pub ending: Ending,
    /// Parameters that lie on a bound.
    pub at_bound: u32,
}

/// Bounds and budget of a fit.
///
/// ```
/// use sordino_core::kernel::{Stationary, StationaryKernel};
/// use sordino_core::surrogate::fit::{
///     Ending, Fit, FitConfig, Observations, log_marginal_likelihood, maximize, scratch_len,
/// };
///
/// let x: Vec<f64> = (0..12).map(|i| f64::from(i) / 11.0).collect();
/// let y: Vec<f64> = x.iter().map(|x| (6.0 * x).sin()).collect();
/// let (data, mut scratch) = (Observations::single(&x, &y), vec![0.0; scratch_len(12)]);
/// // Lengthscale, signal variance, and last the noise variance.
/// let bounds = &[(0.05, 2.0), (0.1, 10.0), (1e-4, 1.0)];
/// let config = FitConfig { bounds, starts: 2, evaluations_per_start: 60 };
/// let kernel = |p: &[f64]| StationaryKernel::with_shape(Stationary::SquaredExponential, p[0], p[1]).ok();
/// let mut found = [0.5, 1.0, 0.1];
/// let Fit { log_marginal_likelihood: best, ending, .. } =
///     maximize(&config, &mut found, &data, &mut scratch, kernel)?;
/// let at_found = kernel(&found).ok_or("no kernel")?;
/// let again = log_marginal_likelihood(&at_found, found[2], &data, &mut [], &mut scratch)?;
/// assert!((best - again).abs() < 1e-9 && ending == Ending::Converged);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitConfig<'a, T> {
    /// Smallest and largest value of each parameter, in its own unit (not the logarithm); the noise
    /// variance last.
    pub bounds: &'a [(T, T)],
    /// Starts: the parameters given, then points of a Halton sequence in the logarithms.
    pub starts: u32,
    /// Evaluations for each start; 40 usually do.
    pub evaluations_per_start: u32,
}

/// Maximises ln p over the parameters, which hold the first start and receive the result (values,
/// not logarithms; the noise variance last).
///
/// **Parameters**: `kernel(values)` makes the kernel from all parameters but the last; `scratch` of
/// [`scratch_len`].
///
/// **Errors**: [`SurrogateError::Dimension`] if bounds and parameters differ in number, are none or
/// more than [`PARAMETERS_MAX`]; [`SurrogateError::NonFinite`] for a bound that is not positive and
/// finite or out of order, or a parameter that is not positive and finite (one outside the bounds
/// starts on them); those of [`log_marginal_likelihood`] if no start could be evaluated.
/// `parameters` are as they were then.
///
/// **Cost**: starts · evaluations_per_start · n³ flops at most.
pub fn maximize<T: Scalar, K: LogGradient<T>>(
    config: &FitConfig<'_, T>,
    parameters: &mut [T],
    data: &Observations<'_, T>,
    scratch: &mut [T],
    mut kernel: impl FnMut(&[T]) -> Option<K>,
) -> Result<Fit<T>, SurrogateError> {
    let mut fitting = Fitting::<T, PARAMETERS_MAX>::begin(config, parameters)?;
    loop {
        if let Poll::Ready(found) = fitting.step(u32::MAX, T::ZERO, data, scratch, &mut kernel) {
            let fit = found?;
            slice::copy(fitting.parameters(), parameters);
            return Ok(fit);
        }
    }
}

/// Element `index` of the Halton sequence in the base that belongs to `axis`, in (0, 1): the digits
/// of `index`, mirrored at the point.
///
/// **Numerics**: `f32` divides the mirrored digits, as an integer, by a power of the base, without
/// `f64` arithmetic: the correctly rounded element while that power is below 2²⁴, which is what
/// rounding the `f64` sum gives.
pub(crate) fn halton<T: Scalar>(index: u32, axis: usize) -> T {
    const PRIMES: [u32; PARAMETERS_MAX] = [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61,
    ];
    // Never 0, and the compiler sees it.
    let base = PRIMES
        .get(axis % PARAMETERS_MAX)
        .copied()
        .unwrap_or(2)
        .max(2);
    let mut rest = index;
    if T::BYTES == 4 {
        let mut mirrored = T::ZERO;
        let mut power = T::ONE;
        let whole = T::from_u32(base);
        while rest > 0 {
            (mirrored, power) = (mirrored * whole + T::from_u32(rest % base), power * whole);
            rest /= base;
        }
        return mirrored / power;
    }
    let mut fraction = 1.0;
    let mut value = 0.0;
    while rest > 0 {
        fraction /= f64::from(base);
        value += fraction * f64::from(rest % base);
        rest /= base;
    }
    T::from_f64(value)
}

#[cfg(test)]
mod tests;
