//! Claims about the sampled Gaussian, and how hard the audit looks.

use sordino_core::privacy::{Event, NeighboringRelation};

use super::outcome::EPSILONS;

/// A claim about the sampled Gaussian, and how hard the audit looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianAudit {
    /// Sampling probability claimed.
    pub sampling_probability: f64,
    /// Noise multiplier claimed.
    pub noise_multiplier: f64,
    /// Number of releases claimed.
    pub rounds: u32,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Seed of the scenario.
    pub seed: u64,
}

/// δ claimed at each of [`EPSILONS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim(pub(super) [f64; EPSILONS.len()]);

impl GaussianAudit {
    /// The size asked for in the notes: 200,000 runs of 40 rounds at q = 0.25, z = 1.
    pub const fn standard(seed: u64) -> Self {
        GaussianAudit {
            sampling_probability: 0.25,
            noise_multiplier: 1.0,
            rounds: 40,
            runs: 200_000,
            error: 1e-6,
            seed,
        }
    }

    /// The event that one round is claimed to cost.
    pub const fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: self.sampling_probability,
            noise_multiplier: self.noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }
}
