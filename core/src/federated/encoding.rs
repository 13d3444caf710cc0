//! What turns uploads into integers, and what is counted meanwhile: weights, sensitivity, the mechanism of a broadcast.

use serde::{Deserialize, Serialize};

use super::config::{Aggregation, Config, REGION_WEIGHTS_MAX, Signal};
use crate::math::Scalar;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use crate::privacy::sampling::SamplingProbability;

/// Counts of one broadcast. **Not releasable**: they depend on private vectors and on the secret sample.
///
/// **Example**: that of [`super::Collector`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Uploads taken; public, because everybody uploads in every round.
    pub received: u32,
    /// Agents whose coin came up.
    pub selected: u32,
    /// Selected vectors longer than the clipping radius.
    pub clipped: u32,
    /// Selected vectors that were not finite, or too long to measure: they count as zero.
    pub zeroed: u32,
}

impl Counters {
    pub(super) const ZERO: Self = Counters { received: 0, selected: 0, clipped: 0, zeroed: 0 };

    /// Adds those of other agents; nothing if a count leaves 32 bits.
    #[cfg(feature = "alloc")]
    pub(super) fn add(&mut self, other: &Counters) -> Option<()> {
        for (own, more) in [
            (&mut self.received, other.received),
            (&mut self.selected, other.selected),
            (&mut self.clipped, other.clipped),
            (&mut self.zeroed, other.zeroed),
        ] {
            *own = own.checked_add(more)?;
        }
        Some(())
    }
}

pub(super) const SELECTED: u8 = 1;
pub(super) const UPLOADED: u8 = 2;

/// Fixed-point fraction bits of the mean that protects nobody: order-independent, 10⁻¹² fine.
pub(super) const MEAN_FRACTION: f64 = 1_099_511_627_776.0; // 2⁴⁰
/// Largest sum of them, 2²⁰·2⁴⁰: weights sum to 1.
pub(super) const MEAN_LIMIT: u64 = 1 << 60;

/// The weights of one broadcast.
///
/// An agent's weight in a region depends only on whether it explores it: two numbers a region.
pub(super) struct RoundWeights {
    inside: [f64; REGION_WEIGHTS_MAX],
    outside: [f64; REGION_WEIGHTS_MAX],
    regions: usize,
    pub(super) norm_max: f64,
}

impl RoundWeights {
    /// Softmax weights at broadcast s, and max over enrolled agents of ‖(φ_n⁽¹⁾ … φ_n⁽ᴾ⁾)‖₂.
    pub(super) fn new(config: &Config, broadcast: u32) -> Self {
        let p = config.parameters();
        let concentration = p.concentration.at(broadcast);
        let regions = config.region_count().min(REGION_WEIGHTS_MAX);
        let mut weights = RoundWeights {
            inside: [0.0; REGION_WEIGHTS_MAX],
            outside: [0.0; REGION_WEIGHTS_MAX],
            regions,
            norm_max: 0.0,
        };
        for i in 0..regions {
            let explorers = config.explorers(i as u32);
            weights.inside[i] = crate::schedule::region_weight(concentration, p.agents, explorers, true);
            weights.outside[i] = crate::schedule::region_weight(concentration, p.agents, explorers, false);
        }
        let mut buffer = [0.0; REGION_WEIGHTS_MAX];
        for i in 0..regions {
            if config.explorers(i as u32) > 0 {
                let squares: f64 = weights.of_agent(i, &mut buffer).iter().fold(0.0, |sum, w| sum + w * w);
                weights.norm_max = Scalar::max(weights.norm_max, Scalar::sqrt(squares));
            }
        }
        weights
    }

    /// (φ_n⁽¹⁾ … φ_n⁽ᴾ⁾) of an agent that explores `region`.
    pub(super) fn of_agent<'b>(&self, region: usize, buffer: &'b mut [f64; REGION_WEIGHTS_MAX]) -> &'b [f64] {
        *buffer = self.outside;
        buffer[region] = self.inside[region];
        &buffer[..self.regions]
    }
}

/// What one release of the sum may change at most, in L2, if one enrolled agent's vector is replaced by zero: the tight
/// C_s = max_n‖φ_n‖₂·S/√P, where the paper takes φ_max·S.
///
/// **Equation**: the joint vector of agent n is (φ_n⁽¹⁾ω̂, …, φ_n⁽ᴾ⁾ω̂), of norm ‖φ_n‖₂·‖ω̂‖ ≤ ‖φ_n‖₂·S/√P. (The divisor q
/// is applied after the noise, to both.) The maximum is over all N slots, present or not.
pub fn l2_sensitivity(config: &Config, broadcast: u32) -> Option<f64> {
    match config.parameters().aggregation {
        Aggregation::Private { clipping_norm, .. } => {
            let radius = clipping_norm.value() / Scalar::sqrt(config.region_count() as f64);
            Some(RoundWeights::new(config, broadcast).norm_max * radius)
        }
        _ => None,
    }
}

/// What turns uploads into integers: public constants of one configuration and broadcast.
pub(super) struct Encoding {
    pub(super) mechanism: Option<GridGaussian>,
    pub(super) clipping_radius: f64,
    pub(super) weights: RoundWeights,
    pub(super) signal: Signal,
}

impl Encoding {
    pub(super) fn new(config: &Config, broadcast: u32) -> Result<Self, GaussianError> {
        let (mut mechanism, mut clipping_radius, mut signal) = (None, 0.0, Signal::Vectors);
        if let Aggregation::Private {
            clipping_norm,
            sampling_probability,
            noise_multiplier,
            grid_exponent,
            signal: carried,
        } = config.parameters().aggregation
        {
            let q = SamplingProbability::new(sampling_probability)
                .map_err(|_| GaussianError::Constant(sampling_probability))?;
            mechanism =
                Some(GridGaussian::new(grid_exponent, noise_multiplier.value(), q, config.parameters().agents)?);
            clipping_radius = clipping_norm.value() / Scalar::sqrt(config.region_count() as f64);
            signal = carried;
        }
        Ok(Encoding { mechanism, clipping_radius, weights: RoundWeights::new(config, broadcast), signal })
    }

    /// L2 sensitivity C_s of the sum to one agent: max‖φₙ‖₂ × clipping radius.
    pub(super) fn l2_sensitivity(&self) -> f64 {
        self.weights.norm_max * self.clipping_radius
    }
}
