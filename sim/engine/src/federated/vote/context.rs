//! What the parties of a vote borrow, and what they agree on.

use std::sync::Arc;

use sordino_core::domain::Regions;
use sordino_core::federated::exchange::VoteProtocol;
use sordino_core::federated::{Aggregation, Config, Parameters, Signal};
use sordino_core::math::Scalar;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::schedule::WeightConcentration;
use sordino_core::wire;
use sordino_experiment::scenario::{Method, Scenario};

use super::super::context::{MethodContext, RunContext, config, public_features};
use super::super::custom::Ground;
use super::super::custom::context::ground;
use super::super::error::DriverError;
use super::voter::Voter;

/// One vote in one run.
pub struct VoteContext<T> {
    /// What every method has: run, faults, marks of frames. Its configuration is that of agents
    /// without a server.
    pub base: MethodContext<T>,
    /// What all parties know.
    pub ground: Ground,
    /// The ballot: a release of vectors with a number for each candidate.
    pub ballot: Arc<Config>,
    /// How its agents choose and vote.
    pub voter: Voter,
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
        let index = run.index;
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        let ground = ground(scenario, &base);
        let protocol = protocol(scenario, method, index, ground.count())?;
        let voter = Voter::of(&protocol).ok_or(DriverError::Check("a ballot without noise"))?;
        let ballot = protocol.ballot;
        base.config_id = wire::config_id(&(&base.config, &ballot));
        Ok(VoteContext {
            base,
            ground,
            ballot: Arc::new(ballot),
            voter,
        })
    }
}

/// What the parties of a vote over so many candidates agree on, in a run of a scenario.
///
/// **Errors**: more candidates than a release may have numbers; [`DriverError::NoPlan`], because a
/// vote spends the ε of the plan.
pub fn protocol(
    scenario: &Scenario,
    method: Method,
    run: u32,
    candidates: u32,
) -> Result<VoteProtocol, DriverError> {
    let together = scenario.prior.as_ref().and_then(|prior| prior.together());
    let noise_multiplier = together.ok_or(DriverError::NoPlan(method))?;
    let alone = config(scenario, method)?;
    Ok(VoteProtocol {
        ballot: ballot(
            &alone,
            candidates,
            noise_multiplier,
            scenario.privacy.grid_exponent,
        )?,
        rounds: scenario.federation.rounds,
        feature_count: scenario.surrogate.features,
        features: public_features(scenario, run),
    })
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
    let clipping_norm =
        ClippingNorm::new(1.0).map_err(|_| DriverError::Check("a clipping norm of 1"))?;
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
