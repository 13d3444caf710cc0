//! **Private only under the GP prior**: the guarantees of this file hold with probability 1 − δ
//! over the draw of the pair (f_V, f_V′) from a Gaussian process with the stated kernel, *not* for
//! a given pair of data sets; a data set on which the prior is wrong gets no guarantee (f = 20 sin
//! 6x against its negative moves the mean by 3.7 times the bound, 100 sin 6x by 14.5 times).
//!
//! Kusner, Gardner, Garnett, Weinberger 2015, Algorithms 1 and 2. Besides the prior they need: k₁
//! the *minimum* over all neighbouring data sets; kernels, σ and |Λ| public and never fitted on V;
//! γ_T the upper bound of the information gain with λ = σ². Nothing else may be released about V:
//! any other release conditions the prior. No accountant composes these losses; two releases of one
//! run add to (2ε, 2δ).
//!
//! **Looser than printed**: the noise at the argmax is treated as one normal; the failure events of
//! the value's proof sum to 5δ/3; its Theorem 4 fails for very large T. **Of use**: only for ε
//! above about 4Δ ln|Λ| over the span of μ, that is from 30 to 300 in the paper's own settings;
//! below, the candidate is a uniform draw.
//!
//! ```
//! use sordino_core::output::prior_conditional::NoiseFreeTuning;
//! use sordino_core::privacy::Epsilon;
//!
//! let (candidates, rounds, similarity, rate_constant, rate) = (100, 20, 0.9, 1.0, 0.5);
//! let (dim, epsilon, delta) = (1, Epsilon::new(4.0)?, 0.05);
//! let tuning = NoiseFreeTuning { candidates, rounds, similarity, rate_constant, rate, dim, epsilon, delta };
//! let distance = 2.0 * (0.1 * (200f64 / 0.05).ln()).sqrt(); // 2√((1 − k₁) ln(2|Λ|/δ))
//! assert!((tuning.neighbor_distance() - distance).abs() < 1e-12);
//! assert!(NoiseFreeTuning { rounds: 1, ..tuning }.checked().is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use super::Checked;
use crate::math::{self, Scalar};
use crate::parameter::{ConfigError, check};
use crate::privacy::event::NeighboringRelation;
use crate::privacy::mechanism::laplace::DiscreteLaplace;
use crate::privacy::mechanism::selection::{Selection, SelectionError};
use crate::privacy::{Epsilon, NoiseError, NoiseSource, Provenance, Release, SourceKind};
use crate::schedule::confidence::tuning_width;

/// Grid units in one sensitivity.
const UNITS: u64 = 1 << 20;
/// Lengths and scales for which no term of a sensitivity overflows or vanishes.
pub(super) const SCALES: core::ops::RangeInclusive<f64> = 1e-100..=1e100;
/// The same in words.
pub(super) const SCALES_ADMISSIBLE: &str = "[1e-100, 1e100]";

fn sqrt(x: f64) -> f64 {
    Scalar::sqrt(x)
}

fn ln(x: f64) -> f64 {
    Scalar::ln(x)
}

/// A value that is (ε, δ)-private only under the GP prior.
///
/// Not a [`crate::privacy::Release`]: it carries no event, and no accountant may add it to others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct PriorConditional<V, P: Provenance> {
    value: V,
    epsilon: f64,
    delta: f64,
    provenance: PhantomData<P>,
}

impl<V, P: Provenance> PriorConditional<V, P> {
    /// The value that may be published.
    pub const fn value(&self) -> &V {
        &self.value
    }

    /// ε, under the prior.
    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// δ, which covers the prior too.
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// Secret noise or a simulation.
    pub const fn kind(&self) -> SourceKind {
        P::KIND
    }
}

impl<V: fmt::Display, P: Provenance> fmt::Display for PriorConditional<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = &self.value;
        let epsilon = self.epsilon;
        let delta = self.delta;
        write!(
            f,
            "{value} [({epsilon}, {delta})-private under the GP prior only; {}]",
            P::KIND
        )
    }
}

/// Why nothing was released.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReleaseError {
    /// A mean or value that is NaN or infinite.
    NotFinite {
        /// Index of the number.
        index: usize,
    },
    /// A slice of the wrong length.
    Length {
        /// Length of the slice given.
        found: usize,
        /// Numbers expected.
        expected: usize,
    },
    /// The selection refused.
    Selection(SelectionError),
    /// The Laplace mechanism does not fit the grid.
    Scale,
    /// The source of noise failed; nothing leaves.
    Noise(NoiseError),
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReleaseError::NotFinite { index } => write!(f, "number {index} is not finite"),
            ReleaseError::Length { found, expected } => {
                write!(f, "{found} numbers where {expected} belong")
            }
            ReleaseError::Selection(error) => error.fmt(f),
            ReleaseError::Scale => f.write_str("the scale of the noise does not fit the grid"),
            ReleaseError::Noise(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ReleaseError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ReleaseError::Selection(error) => error.source(),
            ReleaseError::Noise(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SelectionError> for ReleaseError {
    fn from(error: SelectionError) -> Self {
        ReleaseError::Selection(error)
    }
}

impl From<NoiseError> for ReleaseError {
    fn from(error: NoiseError) -> Self {
        ReleaseError::Noise(error)
    }
}

/// The grid's step, sensitivity/2²⁰. Refused where it is not a normal number, or one whose
/// multiples are not finite: there a sensitivity is not 2²⁰ steps, and of a step of 0 only the sign
/// of a release is left, that of the value.
fn step_of(sensitivity: f64) -> Result<f64, ReleaseError> {
    let step = sensitivity / UNITS as f64;
    if (1e-290..=1e290).contains(&step) {
        Ok(step)
    } else {
        Err(ReleaseError::Scale)
    }
}

/// value + discrete Laplace of scale sensitivity/ε on a grid of sensitivity/2²⁰, clamped to ±500
/// scales before.
pub(super) fn laplace<S: NoiseSource>(
    value: f64,
    sensitivity: f64,
    epsilon: Epsilon,
    source: &mut S,
) -> Result<Release<f64, S::Provenance>, ReleaseError> {
    if !value.is_finite() {
        return Err(ReleaseError::NotFinite { index: 0 });
    }
    let step = step_of(sensitivity)?;
    // 500 scales in grid units; ε ≥ 2⁻²⁰ keeps them below 2⁵⁰.
    let bound = (500.0 * UNITS as f64 / epsilon.value()).min(1e15) as i64;
    // One unit more than the ideal sensitivity for the rounding of the division.
    let mechanism = DiscreteLaplace::new(
        UNITS + 1,
        epsilon,
        -bound,
        bound,
        NeighboringRelation::ReplaceOne,
    )
    .map_err(|_| ReleaseError::Scale)?;
    let noise = mechanism.draw_noise(source)?;
    let index = math::floor(value / step).clamp(-bound as f64, bound as f64) as i64;
    Ok(mechanism
        .release(index, noise)
        .map(|index| index as f64 * step))
}

/// Algorithm 1: the values of the run carry noise of known σ > 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyTuning {
    /// Number of candidates |Λ|.
    pub candidates: u32,
    /// Number of rounds T ≥ 2.
    pub rounds: u32,
    /// σ > 0, true standard deviation of the validation noise.
    pub noise_std: f64,
    /// k₁ in [0, 1]: the smallest covariance between neighbouring data sets.
    pub similarity: f64,
    /// γ_T, the *upper bound* of the information gain
    /// ([`crate::surrogate::information_gain::upper_bound`], λ = σ²).
    pub information_gain: f64,
    /// ε of one release.
    pub epsilon: Epsilon,
    /// δ of one release.
    pub delta: f64,
}

impl NoisyTuning {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`].
    pub fn checked(self) -> Result<Checked<Self>, ConfigError> {
        check(
            "candidates",
            f64::from(self.candidates),
            self.candidates >= 1,
            "1..",
        )?;
        check("rounds", f64::from(self.rounds), self.rounds >= 2, "2..")?;
        // Where σ⁻² overflows C₁ is 0, and the bound of the regret with it.
        check(
            "noise_std",
            self.noise_std,
            SCALES.contains(&self.noise_std),
            SCALES_ADMISSIBLE,
        )?;
        check(
            "similarity",
            self.similarity,
            (0.0..=1.0).contains(&self.similarity),
            "[0, 1]",
        )?;
        let gain = self.information_gain;
        check(
            "information_gain",
            gain,
            gain >= 0.0 && gain.is_finite(),
            "[0, inf)",
        )?;
        check(
            "delta",
            self.delta,
            self.delta > 0.0 && self.delta < 1.0,
            "(0, 1)",
        )?;
        Ok(Checked(self))
    }

    /// Width √β of the confidence interval in a round, in posterior standard deviations.
    fn width(&self, round: u64) -> f64 {
        tuning_width(u64::from(self.candidates), round, self.delta)
    }

    /// c = 2√((1 − k₁) ln(3|Λ|/δ)): how far neighbouring functions lie apart.
    pub fn neighbor_distance(&self) -> f64 {
        2.0 * sqrt((1.0 - self.similarity) * ln(3.0 * f64::from(self.candidates) / self.delta))
    }

    /// q_σ = σ√(8 ln(3/δ)).
    pub fn noise_distance(&self) -> f64 {
        self.noise_std * sqrt(8.0 * ln(3.0 / self.delta))
    }

    /// Ω = √(C₁Tβ_Tγ_T), C₁ = 8/ln(1 + σ⁻²): bound of the cumulative regret.
    pub fn regret_bound(&self) -> f64 {
        let c1 = 8.0 / math::ln_1p(1.0 / (self.noise_std * self.noise_std));
        let t = f64::from(self.rounds);
        sqrt(c1 * t * self.information_gain) * self.width(u64::from(self.rounds))
    }

    /// Δ_λ = 2√β_{T+1} + c.
    pub fn candidate_sensitivity(&self) -> f64 {
        2.0 * self.width(u64::from(self.rounds) + 1) + self.neighbor_distance()
    }

    /// Δ_v = Ω/T + c + q_σ.
    pub fn value_sensitivity(&self) -> f64 {
        self.regret_bound() / f64::from(self.rounds)
            + self.neighbor_distance()
            + self.noise_distance()
    }

    /// Scale Δ_v/ε of the Laplace noise of a value.
    pub fn value_scale(&self) -> f64 {
        self.value_sensitivity() / self.epsilon.value()
    }

    /// Theorem 2: μ at λ̃ lies within (2Δ_λ/ε)(ln|Λ| + a) of the largest, with probability 1 − (δ +
    /// e^{−a}).
    pub fn candidate_gap(&self, a: f64) -> f64 {
        2.0 * self.candidate_sensitivity() / self.epsilon.value()
            * (ln(f64::from(self.candidates)) + a)
    }

    /// Theorem 4: ṽ lies within σ√(8 ln(1/δ)) + Ω/T + aΔ_v/ε of the maximum, with probability 1 −
    /// (δ + e^{−a}).
    pub fn value_gap(&self, a: f64) -> f64 {
        self.noise_std * sqrt(8.0 * ln(1.0 / self.delta))
            + self.regret_bound() / f64::from(self.rounds)
            + a * self.value_scale()
    }

    /// Probabilities of the exponential mechanism, ∝ exp(εμ/(2Δ_λ)), into `out`: for reports, not
    /// for drawing.
    pub fn probabilities(&self, mean: &[f64], out: &mut [f64]) {
        let best = mean
            .iter()
            .fold(f64::NEG_INFINITY, |a, b| Scalar::max(a, *b));
        let rate = self.epsilon.value() / (2.0 * self.candidate_sensitivity());
        let mut sum = 0.0;
        for (out, mu) in out.iter_mut().zip(mean) {
            *out = Scalar::exp(rate * (*mu - best));
            sum += *out;
        }
        out.iter_mut().for_each(|p| *p /= sum);
    }
}

impl Checked<NoisyTuning> {
    /// λ̃, by the exponential mechanism on μ_T in integers. `scratch` holds |Λ| numbers.
    ///
    /// **Errors**: [`ReleaseError`]; nothing was released then.
    pub fn release_candidate<S: NoiseSource>(
        &self,
        mean: &[f64],
        scratch: &mut [i64],
        source: &mut S,
    ) -> Result<PriorConditional<u32, S::Provenance>, ReleaseError> {
        let expected = self.candidates as usize;
        for found in [mean.len(), scratch.len()] {
            if found != expected {
                return Err(ReleaseError::Length { found, expected });
            }
        }
        if let Some(index) = mean.iter().position(|x| !x.is_finite()) {
            return Err(ReleaseError::NotFinite { index });
        }
        let step = step_of(self.candidate_sensitivity())?;
        for (utility, mu) in scratch.iter_mut().zip(mean) {
            *utility = math::floor(*mu / step) as i64;
        }
        let mechanism = Selection::new(UNITS + 1, self.epsilon, NeighboringRelation::ReplaceOne)?;
        let (value, _) = mechanism.exponential(scratch, source)?.into_parts();
        Ok(self.conditional(value))
    }

    /// ṽ = max vₜ + Laplace(Δ_v/ε).
    ///
    /// **Errors**: [`ReleaseError`]; nothing was released then.
    pub fn release_value<S: NoiseSource>(
        &self,
        best_value: f64,
        source: &mut S,
    ) -> Result<PriorConditional<f64, S::Provenance>, ReleaseError> {
        let (value, _) =
            laplace(best_value, self.value_sensitivity(), self.epsilon, source)?.into_parts();
        Ok(self.conditional(value))
    }

    fn conditional<V, P: Provenance>(&self, value: V) -> PriorConditional<V, P> {
        PriorConditional {
            value,
            epsilon: self.epsilon.value(),
            delta: self.delta,
            provenance: PhantomData,
        }
    }
}

/// Algorithm 2: noise-free values, a sampler with an exponential rate (de Freitas, Smola, Zoghi
/// 2012, not in this crate), whose constants A and τ are the caller's promise. Only the mechanism
/// is here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFreeTuning {
    /// Number of candidates |Λ|.
    pub candidates: u32,
    /// Number of rounds T ≥ 2.
    pub rounds: u32,
    /// Similarity k₁ of neighbouring data sets, in [0, 1].
    pub similarity: f64,
    /// Constant A > 0 of the decay.
    pub rate_constant: f64,
    /// Rate τ > 0 of the decay.
    pub rate: f64,
    /// d ≥ 1, dimension of the candidates.
    pub dim: u32,
    /// ε of one release.
    pub epsilon: Epsilon,
    /// δ of one release.
    pub delta: f64,
}

impl NoiseFreeTuning {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`].
    pub fn checked(self) -> Result<Checked<Self>, ConfigError> {
        check(
            "candidates",
            f64::from(self.candidates),
            self.candidates >= 1,
            "1..",
        )?;
        check("rounds", f64::from(self.rounds), self.rounds >= 2, "2..")?;
        check(
            "similarity",
            self.similarity,
            (0.0..=1.0).contains(&self.similarity),
            "[0, 1]",
        )?;
        let positive = |x: f64| x > 0.0 && x.is_finite();
        check(
            "rate_constant",
            self.rate_constant,
            positive(self.rate_constant),
            "(0, inf)",
        )?;
        check("rate", self.rate, positive(self.rate), "(0, inf)")?;
        check("dim", f64::from(self.dim), self.dim >= 1, "1..")?;
        check(
            "delta",
            self.delta,
            self.delta > 0.0 && self.delta < 1.0,
            "(0, 1)",
        )?;
        Ok(Checked(self))
    }

    /// c = 2√((1 − k₁) ln(2|Λ|/δ)).
    pub fn neighbor_distance(&self) -> f64 {
        2.0 * sqrt((1.0 - self.similarity) * ln(2.0 * f64::from(self.candidates) / self.delta))
    }

    /// A·e^{−τT/(ln T)^{d/4}}.
    pub fn regret_term(&self) -> f64 {
        let t = f64::from(self.rounds);
        self.rate_constant
            * Scalar::exp(-self.rate * t / math::pow(ln(t), f64::from(self.dim) / 4.0))
    }

    /// Sum of [`NoiseFreeTuning::regret_term`] and [`NoiseFreeTuning::neighbor_distance`].
    pub fn value_sensitivity(&self) -> f64 {
        self.regret_term() + self.neighbor_distance()
    }

    /// Sensitivity over ε.
    pub fn value_scale(&self) -> f64 {
        self.value_sensitivity() / self.epsilon.value()
    }

    /// Theorem 6: f̃ lies within the regret term + a·scale of the maximum, with probability 1 −
    /// (δ + e^{−a}).
    pub fn value_gap(&self, a: f64) -> f64 {
        self.regret_term() + a * self.value_scale()
    }
}

impl Checked<NoiseFreeTuning> {
    /// f̃ = f(λ_T) + Laplace.
    ///
    /// **Errors**: [`ReleaseError`]; nothing was released then.
    pub fn release_value<S: NoiseSource>(
        &self,
        value: f64,
        source: &mut S,
    ) -> Result<PriorConditional<f64, S::Provenance>, ReleaseError> {
        let (value, _) =
            laplace(value, self.value_sensitivity(), self.epsilon, source)?.into_parts();
        Ok(PriorConditional {
            value,
            epsilon: self.epsilon.value(),
            delta: self.delta,
            provenance: PhantomData,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Simulated, Stream};

    fn tuning() -> NoisyTuning {
        NoisyTuning {
            candidates: 2,
            rounds: 20,
            noise_std: 0.1,
            similarity: 0.9,
            information_gain: 5.0,
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: 0.05,
        }
    }

    /// Before the mend σ⁻² overflowed, C₁ was 0, and the bound of the regret was missing in the
    /// noise of a value.
    #[test]
    fn the_bound_of_the_regret_does_not_vanish() {
        let quiet = NoisyTuning {
            noise_std: 1e-170,
            ..tuning()
        };
        assert_eq!(quiet.regret_bound(), 0.0, "what is lost");
        assert!(
            NoisyTuning {
                noise_std: 1e-100,
                ..tuning()
            }
            .regret_bound()
                > 0.1 * tuning().regret_bound()
        );
        for noise_std in [1e-170, 1e-101, 1e101, f64::INFINITY, f64::NAN, 0.0, -1.0] {
            assert_eq!(
                NoisyTuning {
                    noise_std,
                    ..tuning()
                }
                .checked()
                .unwrap_err()
                .field,
                "noise_std"
            );
        }
        assert!(
            NoisyTuning {
                noise_std: 1e-100,
                ..tuning()
            }
            .checked()
            .is_ok()
        );
        // A δ for which a logarithm is infinite leaves no scale.
        let sharp = NoisyTuning {
            candidates: u32::MAX,
            delta: 5e-324,
            ..tuning()
        }
        .checked()
        .unwrap();
        let source = &mut Simulated::new(Stream::from_seed(1));
        assert_eq!(sharp.release_value(0.0, source), Err(ReleaseError::Scale));
    }
}
