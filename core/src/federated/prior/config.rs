//! What all parties of a federated prior agree on. Everything here is public, and none of it is fitted on private data.

use serde::{Deserialize, Serialize};

use super::super::config::{enrolled, grid};
use crate::parameter::{ConfigError, check, checked, whole};

/// The numbers a federated prior is described by, before they are checked.
///
/// **Example**: that of [`super::Public`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// N, enrolled agents: the divisor of every mean, however many answer.
    pub agents: u32,
    /// M, features of the population's weights.
    pub feature_count: u32,
    /// Observations of one virtual design: the points an agent looks at before the first release.
    pub initial_points: u32,
    /// V, virtual designs; 256 in our experiments.
    pub designs: u32,
    /// λ, observation noise variance, unit y².
    pub noise_variance: f64,
    /// γ: the clip factor's coordinate is γC times the factor; ¼ in our experiments.
    pub clip_weight: f64,
    /// The clip factor expected where the model holds, in (0, 1]; .92 in our experiments.
    pub clip_mean: f64,
    /// Standard deviation of that expectation; .2 in our experiments.
    pub clip_std: f64,
    /// m: the noise has standard deviation 2ᵐ grid units.
    pub grid_exponent: u32,
}

impl Parameters {
    /// The constants of our experiments for N agents, M features, initial points and λ.
    pub const fn usual(agents: u32, feature_count: u32, initial_points: u32, noise_variance: f64) -> Self {
        Parameters {
            agents,
            feature_count,
            initial_points,
            designs: 256,
            noise_variance,
            clip_weight: 0.25,
            clip_mean: 0.92,
            clip_std: 0.2,
            grid_exponent: 20,
        }
    }
}

/// Checked [`Parameters`].
///
/// **Example**: that of [`super::Public`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Config(Parameters);

checked!(Config);

impl Config {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`] naming the first field outside its range.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let p = &parameters;
        enrolled(p.agents)?;
        whole("feature_count", p.feature_count, 1..=1 << 12, "1..=4096")?;
        whole("initial_points", p.initial_points, 1..=1 << 12, "1..=4096")?;
        whole("designs", p.designs, 1..=1 << 16, "1..=65536")?;
        grid(p.grid_exponent)?;
        let variance = p.noise_variance;
        check("noise_variance", variance, (1e-12..=1e12).contains(&variance), "[1e-12, 1e12]")?;
        check("clip_weight", p.clip_weight, (0.01..=10.0).contains(&p.clip_weight), "[0.01, 10]")?;
        check("clip_mean", p.clip_mean, (0.1..=1.0).contains(&p.clip_mean), "[0.1, 1]")?;
        check("clip_std", p.clip_std, (1e-3..=1e3).contains(&p.clip_std), "[1e-3, 1e3]")?;
        Ok(Config(parameters))
    }

    /// Number of features M.
    pub fn features(&self) -> usize {
        self.0.feature_count as usize
    }

    /// Observations of a virtual design.
    pub fn design_len(&self) -> usize {
        self.0.initial_points as usize
    }

    /// Coordinates of a contribution: M and the clip factor's.
    pub fn contribution_len(&self) -> usize {
        self.features() + 1
    }
}
