//! The query of a round: how far an agent's own data bear out the common draw, and where to look next.
//!
//! **Equation**, with m = Φw_t for the common draw w_t of the round and K = FFᵀ: under model (α, s²) the agent's function
//! is αm + s·g, g ~ GP(0, K). Its weight is ∝ e^{prior}·N(yₙ; αmₙ, A), A = s²Kₙ + λI. One model is drawn by weight; then
//! f = αm + F(sζ + s²Fₙᵀa), a = A⁻¹(yₙ − αmₙ − sFₙζ − e), ζ ~ N(0, I), e ~ N(0, λI) (Matheron's rule), and the query is
//! the argmax of f; ties: lowest index.
//!
//! **Numerics**: weights are formed in log space from the largest. With s² = .01 the covariance A is the best conditioned
//! of all; with s² = 1 it is that of the agent's own Gaussian process, so `f32` suffices where it does there.
//!
//! **Privacy**: an agent's own data and public numbers; the query itself is visible to whoever evaluates it.
//!
//! **Source**: Wilson et al. 2020 for the update; the mixture of models is ours.

use super::config::Config;
use super::contribution::{Observations, covariance};
use super::error::{PriorError, at_least, exactly};
use super::public::Public;
use crate::acquisition::thompson;
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{NotPositiveDefinite, axpy, dot, lower, packed_len, sum_of_squares};
use crate::math::Scalar;
use crate::random::{Stream, normal};

/// The most models of one query.
pub const MODELS_MAX: usize = 16;

/// How an agent's function may relate to the common draw m: αm + s·g.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model<T> {
    /// α ≥ 0: 0 ignores the common draw, 1 trusts it.
    pub trust: T,
    /// s² > 0: variance of what is the agent's own, in units of the kernel's.
    pub variance: T,
    /// ln of its prior weight, up to a constant.
    pub log_prior: T,
}

/// The usual models: (0, 1) and (1, s²) for s² in 1, .3, .1, .03, .01; prior weight ∝ s^`power`: 0 for even weights, 1
/// or 2 for a smaller price where nothing can be shared.
pub fn models<T: Scalar>(power: u32) -> [Model<T>; 6] {
    [(0.0, 1.0), (1.0, 1.0), (1.0, 0.3), (1.0, 0.1), (1.0, 0.03), (1.0, 0.01)].map(|(trust, variance)| Model {
        trust: T::from_f64(trust),
        variance: T::from_f64(variance),
        log_prior: T::from_f64(0.5 * f64::from(power) * Scalar::ln(variance)),
    })
}

/// What a query decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<T> {
    /// Where to look.
    pub candidate: u32,
    /// The drawn function there.
    pub value: T,
    /// Which model was drawn. The agent's own affair.
    pub model: usize,
}

/// Numbers of scratch [`query()`] needs for n observations, M features and a prior factor of R columns (M where there is
/// none).
pub const fn query_scratch_len(observations: usize, m: usize, rank: usize) -> usize {
    2 * packed_len(observations) + 3 * observations + m + rank
}

/// The query of one agent.
///
/// **Parameters**: `models` 1 to [`MODELS_MAX`]; `draw` w_t, M numbers ([`super::PublicState::draw`]); `stream` the
/// agent's own of the round: one word for the model, R normals for ζ, n for e; `scratch` of [`query_scratch_len`].
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`], [`PriorError::Singular`].
///
/// **Cost**: n²R flops, a factor (n³/3 flops) for every s² that differs from the one before and one for the draw; D·(M + R)
/// multiply-adds, D·M where there is no factor F.
pub fn query<T: Scalar>(
    config: &Config,
    public: &Public<'_, T>,
    models: &[Model<T>],
    draw: &[T],
    observations: &Observations<'_, T>,
    stream: &mut Stream,
    scratch: &mut [T],
) -> Result<Query<T>, PriorError> {
    public.check(config)?;
    let (m, n) = (config.features(), observations.len());
    let (rows, width) = public.prior(m);
    exactly("draw", draw.len(), m)?;
    at_least("scratch", scratch.len(), query_scratch_len(n, m, width))?;
    let (kernel, rest) = slice::split(scratch, packed_len(n));
    let (factor, rest) = slice::split(rest, packed_len(n));
    let (common, rest) = slice::split(rest, n);
    let (residual, rest) = slice::split(rest, n);
    let (noise, rest) = slice::split(rest, n);
    let (trusted, rest) = slice::split(rest, m);
    let zeta = head_mut(rest, width);
    for (value, (candidate, _)) in common.iter_mut().zip(observations.iter()) {
        *value = dot(public.feature_row(m, candidate), draw);
    }
    let noise_variance = T::from_f64(config.parameters().noise_variance);
    covariance(public, m, observations, T::ZERO, kernel);
    let weights = log_weights(models, noise_variance, kernel, common, observations, factor, residual)?;
    let chosen = pick(slice::head(&weights, models.len()), stream.unit());
    let Some(Model { trust, variance, .. }) = models.get(chosen).copied() else {
        return Err(PriorError::Length { what: "models", len: 0, expected: 1 });
    };
    // A sample of the chosen model.
    let (std, noise_std) = (variance.sqrt(), noise_variance.sqrt());
    normal::fill(stream, zeta);
    zeta.iter_mut().for_each(|z| *z = std * *z);
    normal::fill(stream, noise);
    let prior = |candidate: u32| part(rows, candidate as usize * width, width);
    for (i, (candidate, y)) in observations.iter().enumerate() {
        let own = y - trust * slice::at(common, i) - dot(prior(candidate), zeta);
        slice::set(residual, i, own - noise_std * slice::at(noise, i));
    }
    scaled_factor(kernel, n, variance, noise_variance, factor)?;
    lower::solve(factor, residual);
    lower::solve_transposed(factor, residual);
    for (a, (candidate, _)) in residual.iter().zip(observations.iter()) {
        axpy(variance * *a, prior(candidate), zeta);
    }
    trusted.iter_mut().zip(draw).for_each(|(to, from)| *to = trust * *from);
    let (candidate, value) = maximize(public, m, trusted, zeta);
    Ok(Query { candidate, value, model: chosen })
}

/// ln of every model's weight, up to one constant.
fn log_weights<T: Scalar>(
    models: &[Model<T>],
    noise_variance: T,
    kernel: &[T],
    common: &[T],
    observations: &Observations<'_, T>,
    factor: &mut [T],
    residual: &mut [T],
) -> Result<[T; MODELS_MAX], PriorError> {
    if models.is_empty() || models.len() > MODELS_MAX {
        return Err(PriorError::Length { what: "models", len: models.len(), expected: MODELS_MAX });
    }
    let half = T::from_f64(0.5);
    let (mut weights, mut factored) = ([T::ZERO; MODELS_MAX], None);
    for (weight, Model { trust, variance, log_prior }) in weights.iter_mut().zip(models) {
        if !(*variance > T::ZERO && variance.is_finite() && trust.is_finite() && log_prior.is_finite()) {
            return Err(PriorError::Number {
                what: "variance of a model",
                value: variance.to_f64(),
                admissible: "(0, inf), trust and prior finite",
            });
        }
        if factored != Some(*variance) {
            scaled_factor(kernel, observations.len(), *variance, noise_variance, factor)?;
            factored = Some(*variance);
        }
        for ((r, common), (_, y)) in residual.iter_mut().zip(common).zip(observations.iter()) {
            *r = y - *trust * *common;
        }
        lower::solve(factor, residual);
        *weight = *log_prior - half * (sum_of_squares(residual) + lower::ln_det(factor, observations.len()));
    }
    Ok(weights)
}

/// The factor of s²K + λI, K packed.
fn scaled_factor<T: Scalar>(
    kernel: &[T],
    n: usize,
    variance: T,
    noise_variance: T,
    factor: &mut [T],
) -> Result<(), NotPositiveDefinite> {
    for i in 0..n {
        let row = lower::row_mut(factor, i);
        for (to, k) in row.iter_mut().zip(lower::row(kernel, i)) {
            *to = variance * *k;
        }
        if let Some(diagonal) = row.last_mut() {
            *diagonal += noise_variance;
        }
        lower::append_row(factor, i, T::ZERO)?;
    }
    Ok(())
}

/// The first model at which the sum of weights passes `unit` times the whole.
fn pick<T: Scalar>(log_weights: &[T], unit: T) -> usize {
    let largest = log_weights.iter().fold(-T::INFINITY, |largest, w| largest.max(*w));
    let weight = |w: &T| (*w - largest).exp();
    let mut total = T::ZERO;
    for w in log_weights {
        total += weight(w);
    }
    let (mut sum, target) = (T::ZERO, unit * total);
    for (i, w) in log_weights.iter().enumerate() {
        sum += weight(w);
        if sum > target {
            return i;
        }
    }
    log_weights.len().saturating_sub(1)
}

/// argmax over the candidates of φ(x)·trusted + F(x)·own; `trusted` is destroyed.
fn maximize<T: Scalar>(public: &Public<'_, T>, m: usize, trusted: &mut [T], own: &[T]) -> (u32, T) {
    if public.prior_rows.is_empty() {
        axpy(T::ONE, own, trusted);
        let best = thompson::maximize_rows(public.feature_rows, m, &[], trusted);
        return (best.candidate, best.value);
    }
    let (rows, width) = public.prior(m);
    let mut best = (0, -T::INFINITY);
    for (i, (phi, row)) in public.feature_rows.chunks_exact(m).zip(rows.chunks_exact(width)).enumerate() {
        let value = dot(phi, trusted) + dot(row, own);
        if value > best.1 {
            best = (i as u32, value);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_drawn_by_weight_however_small_the_evidence() {
        let shift = |by: f64| [0.25f64, 0.5, 0.25].map(|p| p.ln() + by);
        for by in [0.0, -1e5, 1e5] {
            let picked = [0.0, 0.2, 0.3, 0.7, 0.8, 0.999].map(|u| pick(&shift(by), u));
            assert_eq!(picked, [0, 0, 1, 1, 2, 2], "{by}");
        }
        // Nothing to choose from, one that is impossible, single precision.
        assert_eq!(pick(&[-f64::INFINITY, 0.0], 0.0), 1);
        assert_eq!(pick(&[-3e4f32, -3e4], 0.6), 1);
        assert_eq!(models::<f64>(0).map(|model| model.log_prior), [0.0; 6]);
        assert!((models::<f64>(2)[5].log_prior - 0.01f64.ln()).abs() < 1e-15);
    }
}
