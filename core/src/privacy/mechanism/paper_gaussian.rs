//! The paper's Gaussian mechanism in floating point, which reproduces its printed results and is
//! not private as executed.
//!
//! **Example**: that of [`PaperGaussian`].

use super::gaussian::GaussianError;
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Outcome, clip_factor};
use crate::privacy::event::{Event, Release};
use crate::privacy::sampling::SamplingProbability;
use crate::random::{Simulation, Stream, normal};

/// The release as the paper writes it, in floating point: **simulation only**, it reproduces
/// printed results.
///
/// **Equation**: ω⁽ⁱ⁾ = (1/q)·Σ_selected φ⁽ⁱ⁾·ω̂ + N(0, (z·φ_max·S/q)²·I).
///
/// **Not private as executed**: the low bits of a floating-point Gaussian betray what it was added
/// to (Mironov 2012; Jin et al. 2022), sums depend on their order, and rounding adds to the
/// sensitivity. Its source is a [`Stream`], and its release is marked [`Simulation`]. Its noise is
/// also up to √P larger than needed: φ_max·S in place of the tight max‖φ‖·S/√P.
///
/// **Source**: Dai, Low, Jaillet 2021, Algorithm 1.
///
/// ```
/// use sordino_core::privacy::mechanism::paper_gaussian::PaperGaussian;
/// use sordino_core::privacy::{SamplingProbability, SourceKind};
/// use sordino_core::random::Stream;
///
/// let paper = PaperGaussian::new(1.0, SamplingProbability::new(0.25)?, 8.0, 4, 0.5)?; // z, q, S, P, φ_max
/// assert_eq!((paper.clip_radius(), paper.noise_std()), (4.0, 16.0)); // S/√P and z·φ_max·S/q
/// let (mut sums, mut out) = ([0.0; 4], [0.0f32; 4]);
/// paper.add(&[1.0], &[0.5, 0.1, 0.1, 0.1], &mut sums)?; // one feature in four blocks
/// assert_eq!(sums[0], 0.5 * 1.0 / 0.25);
/// let release = paper.release(&sums, &mut Stream::from_seed(1), &mut out)?;
/// assert_eq!(release.kind(), SourceKind::Simulation);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperGaussian {
    noise_multiplier: f64,
    sampling_probability: SamplingProbability,
    clipping_norm: f64,
    weight_max: f64,
    clip: f64,
}

impl PaperGaussian {
    /// A mechanism: `noise_multiplier` z > 0, `sampling_probability` q > 0, `clipping_norm` S > 0,
    /// `blocks` P ≥ 1, `weight_max` φ_max > 0.
    pub fn new(
        noise_multiplier: f64,
        sampling_probability: SamplingProbability,
        clipping_norm: f64,
        blocks: u32,
        weight_max: f64,
    ) -> Result<Self, GaussianError> {
        if sampling_probability == SamplingProbability::ZERO {
            return Err(GaussianError::NobodySampled);
        }
        let clip = clipping_norm / Scalar::sqrt(f64::from(blocks));
        for x in [noise_multiplier, clipping_norm, weight_max, clip] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(GaussianError::Constant(x));
            }
        }
        Ok(PaperGaussian {
            noise_multiplier,
            sampling_probability,
            clipping_norm,
            weight_max,
            clip,
        })
    }

    /// S/√P, to which every vector is clipped.
    pub const fn clip_radius(&self) -> f64 {
        self.clip
    }

    /// φ_max·S/q, the paper's bound on the joint L2 sensitivity.
    pub fn l2_sensitivity(&self) -> f64 {
        self.weight_max * self.clipping_norm / self.sampling_probability.value()
    }

    /// Standard deviation z·φ_max·S/q of the noise on each number.
    pub fn noise_std(&self) -> f64 {
        self.noise_multiplier * self.l2_sensitivity()
    }

    /// Adds (1/q)·φ⁽ⁱ⁾·ω̂ of one selected party to the sums, laid out as in
    /// [`crate::privacy::encode::Encoder::add`].
    pub fn add<T: Scalar>(
        &self,
        vector: &[T],
        weights: &[f64],
        sums: &mut [f64],
    ) -> Result<Outcome, EncodeError> {
        if vector.is_empty()
            || weights.is_empty()
            || vector.len().checked_mul(weights.len()) != Some(sums.len())
        {
            return Err(EncodeError::Length {
                sums: sums.len(),
                vector: vector.len(),
                weights: weights.len(),
            });
        }
        let Some(clip) = clip_factor(vector, self.clip) else {
            return Ok(Outcome::Zeroed);
        };
        let q = self.sampling_probability.value();
        for (block, weight) in sums.chunks_exact_mut(vector.len()).zip(weights) {
            for (sum, x) in block.iter_mut().zip(vector) {
                *sum += weight * (x.to_f64() * clip) / q;
            }
        }
        Ok(if clip < 1.0 {
            Outcome::Clipped
        } else {
            Outcome::Kept
        })
    }

    /// Adds the noise and rounds to T. The event names the multiplier meant by the paper, z; the
    /// noise in force is at least that.
    pub fn release<'o, T: Scalar>(
        &self,
        sums: &[f64],
        stream: &mut Stream,
        out: &'o mut [T],
    ) -> Result<Release<&'o [T], Simulation>, GaussianError> {
        if sums.len() != out.len() {
            return Err(GaussianError::Length {
                sums: sums.len(),
                other: out.len(),
            });
        }
        let std = self.noise_std();
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = T::from_f64(*sum + std * normal::draw::<f64>(stream));
        }
        let event = Event::sampled(self.sampling_probability.value(), self.noise_multiplier);
        Ok(Release::new(out, event))
    }
}
