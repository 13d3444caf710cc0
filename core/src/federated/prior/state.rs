//! The public posterior N(w, Σ) of the population's weights and the heterogeneity h: release steps
//! 1, 3, 4 and 5.
//!
//! **Model**: the population has weights w* ~ N(w, Σ); agent n has w* + δₙ, δₙ ~ N(0, hI); it looks
//! at a random design v and observes y = Φ_v(w* + δₙ) + noise of variance λ.
//!
//! **Equation**, step 1, with p = tr(ḠΣ)/tr Ḡ + h, κ = λ/p, B_v = Φ_vᵀ(K_v + κI)⁻¹, A_v = B_vΦ_v,
//! means over V designs: Ā = mean A_v; S(h) = mean \[A_v(Σ + hI)A_vᵀ + λB_vB_vᵀ\]; C = √tr S(h),
//! the root mean square of an innovation's norm.
//!
//! Where the constant is projected out ([`Constant::Projected`](super::Constant::Projected)) B_v =
//! Φ_vᵀP(K_v + κI), and p is at least 1e-3.
//!
//! **Theorem** (step 4). For dₙ = A_v(w* − w + δₙ) + B_v·noise with independent designs and δₙ ~
//! N(0, aI), the mean s = Σ ḡdₙ/N + noise of std σ has Cov(s, w*) = ḡĀΣ and Cov(s) = HΣHᵀ + R, H =
//! ḡĀ, R = σ²I + ḡ²(S(a) − ĀΣĀᵀ)/N, and the Kalman step with these is the best linear estimate of
//! w* from all releases' s. **Proof.** E\[dₙ | w*\] = Ā(w* − w), hence the first. Cov(dₙ) = S(a),
//! and Cov(dₙ, dₘ) = ĀΣĀᵀ for n ≠ m, since designs, deviations and noise of two agents are
//! independent given w*; so Cov(Σdₙ/N) = ĀΣĀᵀ + (S(a) − ĀΣĀᵀ)/N. ∎ Taking u as its mean ḡ for every
//! agent, and designs of later rounds as initial ones, is an approximation: utility rests on it,
//! privacy does not.
//!
//! **An agent's own part in R** is a = h where the constant is known, and a = max(h, 1) where it is
//! projected out: at least as large as what the population's was believed to be before anything was
//! released. h is what clipping has shown, and clipping shows nothing while few are clipped. With a
//! = h a filter takes agents for copies of one function: the less noise a release has, the more it
//! believes that their mean is the population's, and sites that went on with such a file did worse
//! by it than with one of a smaller ε (`docs/prior-files.md`). Where agents are copies a = 1 costs:
//! `dp-prior` with true constants would lose a tenth by it. C is of h: noise is made for it.
//!
//! **Repeats.** Releases of the same data share their sampling error, of covariance E = ḡ²(S(a) −
//! ĀΣĀᵀ)/N; only their noises are independent. With R_j = σ²I + c·E for each of c such releases,
//! their fusion has error covariance (Σ_j R_j⁻¹)⁻¹ = R_j/c = σ²I/c + E, which is that of their
//! mean, the best there is of c measurements x + e + noise_j: exact while Ā, S and ḡ stay as they
//! are between the c releases. Without the factor a filter that meets no noise believes the sample
//! of agents to be c times as large as it is.
//!
//! **Bounds of h.** Where hardly anybody answers, ḡ stands at its floor .1 and step 5 multiplies h
//! by about 1/ḡ² = 100 at every release.
//! * h ≤ N/2⁻²³, in members of every precision. **Theorem.** A release changes no eigenvalue of Σ ⪯
//!   I by more than a fraction N/a. **Proof.** Both mean A_vΣA_vᵀ ⪰ ĀΣĀᵀ and mean A_vA_vᵀ ⪰ ĀĀᵀ,
//!   since a scatter around a mean is not negative; so R ⪰ ḡ²(S(a) − ĀΣĀᵀ)/N ⪰ (a/N)HHᵀ, HᵀR⁻¹H ⪯
//!   (N/a)I, and Σ'⁻¹ = Σ⁻¹ + HᵀR⁻¹H ⪯ (1 + N/a)Σ⁻¹. ∎ From the bound on posterior and prior are
//!   one to f32's precision, and a larger h says nothing more.
//! * κ ≥ nε·tr Ḡ, n the points of a design and ε the member's precision, unless κ is smaller
//!   without h. tr Ḡ is the mean of K_v's diagonal, and a smaller ridge is lost in the rounding of
//!   K_v + κI, which then has no factor. In f64 hardly any is that small; in f32 it is from h of
//!   some thousands on, where functions have hardly anything in common. The theorem above holds for
//!   every κ: A_v and S are computed with the member's own.

use serde::{Deserialize, Serialize};

use super::bound::judge_release;
use super::config::Config;
use super::design::{Design, design_len};
use super::error::{PriorError, at_least, exactly, judge};
use super::public::Public;
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{axpy, dot, lower, matvec, packed_len};
use crate::math::Scalar;
use crate::random::Stream;
use crate::surrogate::joint::{draw_with_factor, factor_with_jitter};

/// Below this mean clip factor agents differ by more than h says.
const CLIPPED: f64 = 0.85;

/// What f32 rounds 1 by, of the bound of h in members of every precision.
const PRECISION: f64 = f32::EPSILON as f64;

/// The smallest mean clip factor that is believed.
const CLIP_MIN: f64 = 0.1;

/// Numbers the public state takes for M features: w, Σ, Ā, S.
pub const fn storage_len(m: usize) -> usize {
    m + 3 * m * m
}

/// Numbers of scratch for M features and designs of n points: the larger of step 1's and step 4's.
pub const fn scratch_len(m: usize, n: usize) -> usize {
    let moments = design_len(m, n);
    let update = 4 * m * m + packed_len(m) + m;
    if moments > update { moments } else { update }
}

/// What a release is made with: public numbers, functions of earlier releases alone.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms<T> {
    /// κ, the ridge of an agent's innovation.
    pub ridge: T,
    /// C, to which an innovation is clipped.
    pub clip_radius: T,
    /// tr mean A_vA_vᵀ: how much one unit of heterogeneity adds to C².
    pub response: T,
}

/// w, Σ and h, and the moments of the release that is prepared. A few words; its numbers are
/// `storage`.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Debug, PartialEq)]
pub struct PublicState<T, S> {
    config: Config,
    heterogeneity: T,
    clip_factor: T,
    terms: Option<Terms<T>>,
    storage: S,
}

struct Parts<'a, T> {
    weights: &'a mut [T],
    covariance: &'a mut [T],
    response: &'a mut [T],
    scatter: &'a mut [T],
}

fn parts<T>(storage: &mut [T], m: usize) -> Parts<'_, T> {
    let (weights, rest) = slice::split(storage, m);
    let (covariance, rest) = slice::split(rest, m * m);
    let (response, rest) = slice::split(rest, m * m);
    Parts {
        weights,
        covariance,
        response,
        scatter: head_mut(rest, m * m),
    }
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> PublicState<T, S> {
    /// Before any release: w = 0, Σ = I, h = 0. `storage` holds [`storage_len`] numbers, whose
    /// content is ignored.
    ///
    /// **Errors**: [`PriorError::Length`].
    pub fn new(config: Config, mut storage: S) -> Result<Self, PriorError> {
        let m = config.features();
        at_least("storage", storage.as_ref().len(), storage_len(m))?;
        storage.as_mut().fill(T::ZERO);
        let covariance = parts(storage.as_mut(), m).covariance;
        covariance
            .iter_mut()
            .step_by(m + 1)
            .for_each(|x| *x = T::ONE);
        Ok(PublicState {
            config,
            heterogeneity: T::ZERO,
            clip_factor: T::ONE,
            terms: None,
            storage,
        })
    }

    /// The posterior whose w and Σ `storage` already holds, as an earlier one left it; no release
    /// is prepared.
    ///
    /// **Errors**: [`PriorError::Length`]; [`PriorError::Number`] for a stored number that no
    /// posterior has: h below 0, ḡ outside [.1, 1], a variance that is not positive, anything that
    /// is not finite.
    pub fn resume(
        config: Config,
        heterogeneity: T,
        clip_factor: T,
        storage: S,
    ) -> Result<Self, PriorError> {
        let m = config.features();
        at_least("storage", storage.as_ref().len(), storage_len(m))?;
        let clip = clip_factor;
        judge(
            "clip factor",
            clip,
            clip >= T::from_f64(CLIP_MIN) && clip <= T::ONE,
            "[0.1, 1]",
        )?;
        let stored = slice::head(storage.as_ref(), m + m * m);
        judge_posterior(
            heterogeneity,
            slice::head(stored, m),
            slice::tail(stored, m),
        )?;
        Ok(PublicState {
            config,
            heterogeneity,
            clip_factor,
            terms: None,
            storage,
        })
    }

    /// The same where the moments of a release with these terms still lie in the storage.
    pub(super) fn with_terms(self, terms: Option<Terms<T>>) -> Self {
        PublicState { terms, ..self }
    }

    /// The configuration it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Weights w of the posterior mean, M numbers.
    pub fn weights(&self) -> &[T] {
        part(self.storage.as_ref(), 0, self.config.features())
    }

    /// Σ, M × M numbers, symmetric to the last bit.
    pub fn covariance(&self) -> &[T] {
        let m = self.config.features();
        part(self.storage.as_ref(), m, m * m)
    }

    /// Ā of the last [`PublicState::prepare`], M × M numbers.
    pub fn mean_response(&self) -> &[T] {
        let m = self.config.features();
        part(self.storage.as_ref(), m + m * m, m * m)
    }

    /// S(a) of the last [`PublicState::prepare`], M × M numbers, symmetric to the last bit.
    pub fn scatter(&self) -> &[T] {
        let m = self.config.features();
        part(self.storage.as_ref(), m + 2 * m * m, m * m)
    }

    /// h, variance of an agent's own weights around the population's, in prior variances of a
    /// weight: 0 to N·2²³: beyond it a release tells posterior from prior in no f32.
    pub fn heterogeneity(&self) -> T {
        self.heterogeneity
    }

    /// ḡ of the last update; 1 before the first.
    pub fn clip_factor(&self) -> T {
        self.clip_factor
    }

    /// The terms of the release that is prepared, if one is.
    pub fn terms(&self) -> Option<Terms<T>> {
        self.terms
    }

    /// Step 1: the terms of the next release.
    ///
    /// **Parameters**: `scratch` of [`scratch_len`].
    ///
    /// **Errors**: [`PriorError::Length`], [`PriorError::Candidate`], [`PriorError::Singular`],
    /// [`PriorError::Number`] if C is not a positive number; no release is prepared then.
    ///
    /// **Cost**: V·n·(2.5M² + n·M) multiply-adds for designs of n points.
    pub fn prepare(
        &mut self,
        public: &Public<'_, T>,
        scratch: &mut [T],
    ) -> Result<Terms<T>, PriorError> {
        self.terms = None;
        let (gram, designs) = public.update(&self.config)?;
        let m = self.config.features();
        let n = self.config.design_len();
        at_least("scratch", scratch.len(), scratch_len(m, n))?;
        let h = self.heterogeneity;
        let p = *self.config.parameters();
        let own_part = p.constant.own_part(h);
        let noise_variance = T::from_f64(p.noise_variance);
        let Parts {
            covariance,
            response,
            scatter,
            ..
        } = parts(self.storage.as_mut(), m);
        let total = trace(gram, m);
        let common = mean_variance(gram, covariance, m, total);
        // With a variance beyond this the ridge is lost in the rounding of the matrix that it is
        // added to.
        let resolved = noise_variance / (T::from_u32(p.initial_points) * T::EPSILON * total);
        let ridge = p
            .constant
            .ridge(noise_variance, (common + h).min(resolved.max(common)));
        if !(ridge > T::ZERO && ridge.is_finite()) {
            return Err(PriorError::Number {
                what: "ridge",
                value: ridge.to_f64(),
                admissible: "(0, inf)",
            });
        }
        response.fill(T::ZERO);
        scatter.fill(T::ZERO);
        let mut squares = T::ZERO;
        for design in designs.chunks_exact(n) {
            let mut moments = Design::split(scratch, m, n);
            moments.gather(public, design, ridge)?;
            moments.innovation_covariance(covariance, own_part, noise_variance);
            squares += moments.accumulate(response, scatter);
        }
        let share = T::ONE / T::from_u32(p.designs);
        response.iter_mut().for_each(|x| *x *= share);
        let mut trace = T::ZERO;
        for i in 0..m {
            for j in 0..=i {
                let value = slice::at(scatter, i * m + j) * share;
                slice::set(scatter, i * m + j, value);
                slice::set(scatter, j * m + i, value);
            }
            trace += slice::at(scatter, i * m + i);
        }
        let response = squares * share;
        // tr S(h), of which the scatter has a larger own part.
        let clip_radius = (trace - (own_part - h) * response).sqrt();
        if !(clip_radius > T::ZERO && clip_radius.is_finite()) {
            return Err(PriorError::Number {
                what: "clip_radius",
                value: clip_radius.to_f64(),
                admissible: "(0, inf)",
            });
        }
        let terms = Terms {
            ridge,
            clip_radius,
            response,
        };
        self.terms = Some(terms);
        Ok(terms)
    }

    /// Steps 3 to 5: takes a decoded release, (Σ u·d, Σ γCu) with its noise, into w, Σ and h.
    /// Spends the terms.
    ///
    /// **Parameters**: `released` M + 1 numbers; `noise_std` σ of each, that of all servers, in the
    /// same unit; `repeats` c ≥ 1, how many releases are made of the same data
    /// ([`super::repeats`]); `scratch` of [`scratch_len`].
    ///
    /// **Errors**: [`PriorError::NotPrepared`], [`PriorError::Length`], [`PriorError::Number`] for
    /// a release that is not finite, or after which the posterior would not be (what
    /// [`PublicState::resume`] refuses); [`PriorError::Norm`] unless ‖released‖ ≤ (N·Δ +
    /// σ(√(M + 1) + 9))·(1 + 2⁻⁹), Δ = C√(1 + γ²), which is longer than N contributions and their
    /// noise can be: a release of honest servers is refused with probability at most 2.6e-18;
    /// [`PriorError::Singular`]. w, Σ, h and the terms are as before then.
    ///
    /// **Cost**: about 6.5M³ multiply-adds.
    pub fn update(
        &mut self,
        released: &[T],
        noise_std: T,
        repeats: u32,
        scratch: &mut [T],
    ) -> Result<(), PriorError> {
        let terms = self.terms.ok_or(PriorError::NotPrepared)?;
        let m = self.config.features();
        exactly("release", released.len(), m + 1)?;
        at_least(
            "scratch",
            scratch.len(),
            scratch_len(m, self.config.design_len()),
        )?;
        judge_release(&self.config, terms.clip_radius, released, noise_std)?;
        let p = *self.config.parameters();
        let agents = T::from_u32(p.agents);
        let std = noise_std / agents;
        let clip = mean_clip_factor(&self.config, &terms, slice::at(released, m) / agents, std);
        let parts = parts(self.storage.as_mut(), m);
        let sampling = clip * clip * T::from_u32(repeats.max(1)) / agents;
        let mut step = Step::split(scratch, m);
        step.gain(&parts, clip, sampling, std * std)?;
        step.apply(&parts, clip, released, agents);
        // C² = tr S(h) = tr S(0) + h·response, so ((C/ḡ)² − tr S(0))/response = h + C²(ḡ⁻² −
        // 1)/response.
        let mut heterogeneity = self.heterogeneity;
        if clip < T::from_f64(CLIPPED) {
            let radius = terms.clip_radius;
            heterogeneity += radius * radius * (T::ONE / (clip * clip) - T::ONE) / terms.response;
            // One that is no number stays none, and is refused below.
            let most = heterogeneity_max(agents).max(self.heterogeneity);
            if heterogeneity > most {
                heterogeneity = most;
            }
        }
        // What is stored is what a device reads after a reset: nothing that `resume` would refuse.
        judge_posterior(heterogeneity, step.mean, step.covariance)?;
        slice::copy(step.mean, parts.weights);
        slice::copy(step.covariance, parts.covariance);
        (self.heterogeneity, self.clip_factor) = (heterogeneity, clip);
        self.terms = None;
        Ok(())
    }

    /// A draw w + Lξ with LLᵀ = Σ into `out`, M numbers: one for all agents, from a public stream
    /// of the round.
    ///
    /// **Parameters**: `scratch` of M(M + 1)/2 numbers.
    ///
    /// **Errors**: [`PriorError::Length`]; [`PriorError::Singular`] if Σ has no factor even with
    /// jitter.
    ///
    /// **Cost**: M³/3 flops, M normals. **Privacy**: post-processing.
    pub fn draw(
        &self,
        stream: &mut Stream,
        scratch: &mut [T],
        out: &mut [T],
    ) -> Result<(), PriorError> {
        let m = self.config.features();
        exactly("draw", out.len(), m)?;
        at_least("scratch", scratch.len(), packed_len(m))?;
        let factor = head_mut(scratch, packed_len(m));
        let covariance = self.covariance();
        factor_with_jitter(factor, m, |matrix| {
            for (i, row) in covariance.chunks_exact(m).enumerate() {
                slice::copy(row, lower::row_mut(matrix, i));
            }
        })?;
        draw_with_factor(stream, self.weights(), factor, out);
        Ok(())
    }
}

/// Refuses h below 0, a variance that is not positive, anything that is not finite.
fn judge_posterior<T: Scalar>(
    heterogeneity: T,
    weights: &[T],
    covariance: &[T],
) -> Result<(), PriorError> {
    let h = heterogeneity;
    judge(
        "heterogeneity",
        h,
        h >= T::ZERO && h.is_finite(),
        "[0, inf)",
    )?;
    for x in weights.iter().chain(covariance) {
        judge("posterior", *x, x.is_finite(), "(-inf, inf)")?;
    }
    for x in covariance.iter().step_by(weights.len() + 1) {
        judge("posterior variance", *x, *x > T::ZERO, "(0, inf)")?;
    }
    Ok(())
}

/// N/2⁻²³, from which on no release tells posterior from prior in f32.
fn heterogeneity_max<T: Scalar>(agents: T) -> T {
    agents / T::from_f64(PRECISION)
}

/// tr Ḡ: the prior variance of the population's function, averaged over the candidates, unit y².
fn trace<T: Scalar>(gram: &[T], m: usize) -> T {
    let mut total = T::ZERO;
    gram.iter().step_by(m + 1).for_each(|g| total += *g);
    total
}

/// tr(ḠΣ)/tr Ḡ: the posterior variance of the population's function, averaged over the candidates,
/// per unit of prior variance; `total` is tr Ḡ.
fn mean_variance<T: Scalar>(gram: &[T], covariance: &[T], m: usize, total: T) -> T {
    let mut weighted = T::ZERO;
    for (g, c) in gram.chunks_exact(m).zip(covariance.chunks_exact(m)) {
        weighted += dot(g, c);
    }
    weighted / total
}

/// ḡ: the noised mean of u, shrunk towards what is expected by inverse variances, in [.1, 1].
pub(super) fn mean_clip_factor<T: Scalar>(config: &Config, terms: &Terms<T>, mean: T, std: T) -> T {
    let p = config.parameters();
    let scale = T::from_f64(p.clip_weight) * terms.clip_radius;
    let noised = mean / scale;
    let spread = std / scale;
    let precision = T::ONE / (spread * spread);
    let expected = T::ONE / T::from_f64(p.clip_std * p.clip_std);
    // Without noise the mean is what it is.
    let clip = if precision.is_finite() {
        (noised * precision + T::from_f64(p.clip_mean) * expected) / (precision + expected)
    } else {
        noised
    };
    clip.max(T::from_f64(CLIP_MIN)).min(T::ONE)
}

/// The matrices of one Kalman step, each M × M where nothing else is said.
struct Step<'a, T> {
    /// ĀΣ, then J = I − GH.
    work: &'a mut [T],
    /// Noise covariance R of the step.
    noise: &'a mut [T],
    /// Kalman gain G of the step.
    gain: &'a mut [T],
    /// Σ after the step.
    covariance: &'a mut [T],
    /// L of HΣHᵀ + R; its first numbers then serve as one row.
    factor: &'a mut [T],
    /// w after the step.
    mean: &'a mut [T],
    m: usize,
}

impl<'a, T: Scalar> Step<'a, T> {
    fn split(scratch: &'a mut [T], m: usize) -> Self {
        let (work, rest) = slice::split(scratch, m * m);
        let (noise, rest) = slice::split(rest, m * m);
        let (gain, rest) = slice::split(rest, m * m);
        let (covariance, rest) = slice::split(rest, m * m);
        let (factor, rest) = slice::split(rest, packed_len(m));
        Step {
            work,
            noise,
            gain,
            covariance,
            factor,
            mean: head_mut(rest, m),
            m,
        }
    }

    /// G = ΣHᵀ(HΣHᵀ + R)⁻¹ with H = ḡĀ, R = σ²I + (c·ḡ²/N)(S − ĀΣĀᵀ).
    fn gain(
        &mut self,
        parts: &Parts<'_, T>,
        clip: T,
        sampling: T,
        variance: T,
    ) -> Result<(), PriorError> {
        let m = self.m;
        let response = || parts.response.chunks_exact(m);
        for (a, u) in response().zip(self.work.chunks_exact_mut(m)) {
            matvec(parts.covariance, a, u);
        }
        for (i, u) in self.work.chunks_exact(m).enumerate() {
            for (j, a) in response().enumerate().take(i + 1) {
                let signal = dot(u, a);
                let mut noise = sampling * (slice::at(parts.scatter, i * m + j) - signal);
                if i == j {
                    noise += variance;
                }
                slice::set(self.noise, i * m + j, noise);
                slice::set(self.noise, j * m + i, noise);
                slice::set(
                    lower::row_mut(self.factor, i),
                    j,
                    clip * clip * signal + noise,
                );
            }
        }
        lower::factor(self.factor, m, T::ZERO)?;
        for (i, g) in self.gain.chunks_exact_mut(m).enumerate() {
            for (x, u) in g.iter_mut().zip(self.work.chunks_exact(m)) {
                *x = clip * slice::at(u, i);
            }
            lower::solve(self.factor, g);
            lower::solve_transposed(self.factor, g);
        }
        Ok(())
    }

    /// w + Gs and (I − GH)Σ(I − GH)ᵀ + GRGᵀ.
    fn apply(&mut self, parts: &Parts<'_, T>, clip: T, released: &[T], agents: T) {
        let m = self.m;
        for (i, (j, g)) in self
            .work
            .chunks_exact_mut(m)
            .zip(self.gain.chunks_exact(m))
            .enumerate()
        {
            j.fill(T::ZERO);
            slice::set(j, i, T::ONE);
            for (x, a) in g.iter().zip(parts.response.chunks_exact(m)) {
                axpy(-(clip * *x), a, j);
            }
            let change = dot(g, slice::head(released, m)) / agents;
            slice::set(self.mean, i, slice::at(parts.weights, i) + change);
        }
        // The packed factor is done with; M(M + 1)/2 ≥ M, so its first M numbers serve as a row.
        let row = head_mut(self.factor, m);
        for i in 0..m {
            matvec(parts.covariance, part(self.work, i * m, m), row);
            for (j, other) in self.work.chunks_exact(m).enumerate().take(i + 1) {
                slice::set(self.covariance, i * m + j, dot(row, other));
            }
            matvec(self.noise, part(self.gain, i * m, m), row);
            for (j, other) in self.gain.chunks_exact(m).enumerate().take(i + 1) {
                let value = slice::at(self.covariance, i * m + j) + dot(row, other);
                slice::set(self.covariance, i * m + j, value);
                slice::set(self.covariance, j * m + i, value);
            }
        }
    }
}
