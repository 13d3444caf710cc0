//! What the parties of a vote borrow, and what everybody makes of the released shares.

use std::sync::Arc;

use sordino_core::domain::Regions;
use sordino_core::federated::{Aggregation, Config, Parameters, Signal};
use sordino_core::linalg::{packed_len, root};
use sordino_core::math::Scalar;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::schedule::WeightConcentration;
use sordino_core::wire;

use super::super::context::{MethodContext, RunContext};
use super::super::custom::Ground;
use super::super::custom::builtin::largest;
use super::super::custom::context::ground;
use super::super::error::DriverError;
use crate::scenario::{Method, Scenario};

/// One vote in one run.
pub struct VoteContext<T> {
    /// What every method has: run, faults, marks of frames. Its configuration is that of agents without a server.
    pub base: MethodContext<T>,
    /// What all parties know.
    pub ground: Ground,
    /// The ballot: a release of vectors with a number for each candidate.
    pub ballot: Arc<Config>,
    /// Standard deviation of the noise on every share.
    pub noise_std: f64,
}

impl<T: Scalar> VoteContext<T> {
    /// Configures the vote of a scenario.
    ///
    /// **Errors**: as [`MethodContext::new`]; more candidates than a release may have numbers.
    pub fn new(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        workspace_bytes: Option<usize>,
    ) -> Result<Self, DriverError> {
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        let ground = ground(scenario, &base);
        let missing = DriverError::Check("a vote without the plan whose ε it spends");
        let noise_multiplier = scenario.prior.as_ref().and_then(|prior| prior.together()).ok_or(missing)?;
        let ballot = ballot(&base.config, ground.count(), noise_multiplier, scenario.privacy.grid_exponent)?;
        base.config_id = wire::config_id(&(&base.config, &ballot));
        // Each of N votes counts 1/N.
        let noise_std = noise_multiplier.value() / f64::from(ground.agents);
        Ok(VoteContext { base, ground, ballot: Arc::new(ballot), noise_std })
    }

    /// The candidate that everybody plays first: the largest mean of a Gaussian process with the scenario's kernel, up to
    /// its scale, that was fitted to the released shares; the first of equals.
    ///
    /// **Equation**: sharesᵢ = 1/K + f(xᵢ) + N(0, τ²), f ~ GP(0, s²k/k(0)), s² = max(mean (sharesᵢ − 1/K)² − τ², τ²/100): a
    /// function of public numbers alone.
    pub fn winner(&self, shares: &[f64]) -> u32 {
        let ground = &self.ground;
        let (count, noise) = (shares.len().max(1) as f64, self.noise_std * self.noise_std);
        let spread = shares.iter().map(|share| (share - 1.0 / count) * (share - 1.0 / count) / count).sum::<f64>();
        let scale = Scalar::max(spread - noise, noise / 100.0) / ground.kernel.signal_variance;
        let mut numbers = vec![0.0; packed_len(ground.columns) + ground.columns];
        let (factor, rhs) = numbers.split_at_mut(packed_len(ground.columns));
        root::reset(factor, rhs, noise / scale);
        for (candidate, share) in (0..).zip(shares) {
            root::rotate_in(factor, rhs, &mut ground.row(candidate).to_vec(), share - 1.0 / count);
        }
        let mut weights = rhs.to_vec();
        root::solve(factor, &mut weights);
        largest(ground, &weights)
    }
}

/// The configuration of the one release: everybody's vector with a single 1, over all candidates.
///
/// **Errors**: [`DriverError::Config`] for more candidates than a release may have numbers.
pub fn ballot(
    config: &Config,
    candidates: u32,
    noise_multiplier: NoiseMultiplier,
    grid_exponent: u32,
) -> Result<Config, DriverError> {
    let clipping_norm = ClippingNorm::new(1.0).map_err(|_| DriverError::Check("a clipping norm of 1"))?;
    Config::new(Parameters {
        regions: Regions::whole(config.parameters().regions.splits().len())?,
        rounds: 1,
        feature_count: candidates,
        concentration: WeightConcentration::UNIFORM,
        aggregation: Aggregation::Private {
            clipping_norm,
            sampling_probability: 1.0,
            noise_multiplier,
            grid_exponent,
            signal: Signal::Vectors,
        },
        ..config.parameters().clone()
    })
    .map_err(DriverError::Config)
}
