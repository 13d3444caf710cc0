//! What the parties of a federated prior borrow: public numbers of a scenario, then what one method
//! makes of them.

use std::sync::Arc;

use sordino_core::domain::Candidates;
use sordino_core::federated::ServerError;
use sordino_core::federated::exchange::candidates_digest;
use sordino_core::federated::prior::{
    Behaviour, Config, Model, Parameters, Plan, PriorError, PriorProtocol, Public, Tables,
    draw_designs, gram, rounded_rows, rounded_rows_scratch_len,
};
use sordino_core::federated::shares::Trust;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::wire;
use sordino_experiment::scenario::{Guarantee, Method, Scenario};
use sordino_host::server::WithPublic;

use super::super::context::{MethodContext, RunContext, ScenarioContext};
use super::super::error::DriverError;
use super::described::Described;

/// The multiplier of `prior`: noise of a thousandth of the sensitivity neither protects nor
/// disturbs.
const UNPROTECTED: f64 = 1.0 / 1024.0;
/// The inducing points of a scenario's prior in \[0, 1\]^dim, row-major; nothing if it has no
/// prior.
pub fn landmarks(scenario: &Scenario, dim: usize) -> Vec<f64> {
    scenario
        .prior
        .as_ref()
        .map(|prior| prior.plan.inducing(dim))
        .unwrap_or_default()
}

/// What the parties of a federated prior agree on, apart from candidates: for `method`, with common
/// draws from `draw_seed`. `None` if the scenario has no prior.
///
/// **Errors**: a configuration that is not admissible.
pub fn protocol(
    scenario: &Scenario,
    method: Method,
    landmarks: &[f64],
    dim: usize,
    draw_seed: RunSeed,
) -> Result<Option<PriorProtocol>, DriverError> {
    let Some(prior) = &scenario.prior else {
        return Ok(None);
    };
    let federation = &scenario.federation;
    let surrogate = &scenario.surrogate;
    let parts = method.parts();
    let agents = federation.agents;
    let points = federation.initial_points;
    let m = (landmarks.len() / dim) as u32;
    let private = method.guarantee() == Guarantee::DifferentialPrivacy;
    // Noise that protects nobody is one server's.
    let trust = if private {
        scenario.privacy.servers()
    } else {
        Trust::OneServer
    };
    let usual = Parameters {
        trust,
        ..Parameters::usual(agents, m, points, surrogate.noise_variance)
    };
    let mut protocol = PriorProtocol {
        config: Config::new(Parameters {
            grid_exponent: scenario.privacy.grid_exponent,
            ..usual
        })?,
        rounds: federation.rounds,
        offset: federation.constant,
        release_rounds: prior.plan.releases.iter().copied().collect(),
        noise_multipliers: prior.noise_multipliers.iter().copied().collect(),
        kernel: surrogate.kernel.kernel,
        lengthscale: surrogate.kernel.lengthscale,
        signal_variance: surrogate.kernel.signal_variance,
        own_draw: surrogate.own_draw,
        prior_tolerance: surrogate.prior_tolerance,
        landmarks: candidates_digest(&Candidates::list(landmarks, dim)?, &mut vec![0.0; dim]),
        design_seed: RunSeed::new(surrogate.feature_seed, 0),
        draw_seed,
        behaviour: Behaviour {
            follows_draws: parts.follows_draws,
            own_model: parts.own_model,
            signal: parts.signal,
        },
    };
    if !private {
        protocol.noise_multipliers.fill(UNPROTECTED);
    }
    Ok(Some(protocol))
}

/// Features of every candidate, their Gram matrix and the virtual designs: the same in all runs of
/// a scenario.
pub struct PriorNumbers<T> {
    config: Config,
    feature_rows: Vec<T>,
    gram: Vec<T>,
    designs: Vec<u32>,
}

impl<T: Scalar> PriorNumbers<T> {
    /// What the methods of a federated prior among these have in common in all runs; nothing where
    /// none is one.
    ///
    /// **Errors**: [`DriverError`] for a configuration that is not admissible, and for features or
    /// designs that cannot be built.
    pub fn of(
        scenario: &Scenario,
        methods: &[Method],
        candidates: &[f64],
        dim: usize,
    ) -> Result<Option<Arc<Self>>, DriverError> {
        let Some(method) = methods.iter().find(|method| method.is_prior()) else {
            return Ok(None);
        };
        let landmarks = landmarks(scenario, dim);
        let protocol = protocol(scenario, *method, &landmarks, dim, scenario.run_seed(0))?;
        protocol
            .map(|protocol| PriorNumbers::new(&protocol, &landmarks, candidates, dim))
            .transpose()
    }

    /// Nyström features on the landmarks, at the candidates.
    ///
    /// Features are computed in double precision and then rounded, as the joint factor is.
    ///
    /// **Errors**: [`DriverError`] for features or designs that cannot be built.
    pub fn new(
        protocol: &PriorProtocol,
        landmarks: &[f64],
        candidates: &[f64],
        dim: usize,
    ) -> Result<Arc<Self>, DriverError> {
        let config = protocol.config;
        let m = protocol.config.features();
        let [landmarks, list] = [
            Candidates::list(landmarks, dim)?,
            Candidates::list(candidates, dim)?,
        ];
        let count = list.count();
        let mut feature_rows = vec![T::ZERO; count as usize * m];
        let scratch = &mut vec![0.0; rounded_rows_scratch_len(dim, m)];
        rounded_rows(protocol, &landmarks, &list, &mut feature_rows, scratch)?;
        let mut mean = vec![T::ZERO; m * m];
        gram(&config, &feature_rows, &mut mean).map_err(refused)?;
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_designs(&config, protocol.design_seed, count, &mut designs).map_err(refused)?;
        Ok(Arc::new(PriorNumbers {
            config,
            feature_rows,
            gram: mean,
            designs,
        }))
    }

    /// The public context of all parties: designs are weighed, and own draws made, by this factor
    /// of the prior over the candidates.
    ///
    /// **Errors**: [`PriorError::Length`] for a factor of other candidates.
    pub fn public<'a>(&'a self, prior_rows: &'a [T]) -> Result<Public<'a, T>, PriorError> {
        let PriorNumbers {
            config,
            feature_rows,
            gram,
            designs,
        } = self;
        Public::new(
            config,
            feature_rows,
            Tables {
                prior_rows,
                gram,
                designs,
            },
        )
    }
}

fn refused(error: PriorError) -> DriverError {
    ServerError::from(error).into()
}

/// One method of the federated prior in one run.
pub struct PriorContext<T> {
    /// What every method has: run, budget, faults, marks of frames. Its configuration is that of
    /// agents without a server.
    pub base: MethodContext<T>,
    /// How an agent's function may relate to the common draw.
    pub models: [Model<T>; 6],
    /// What its parties agree on.
    pub protocol: PriorProtocol,
    /// Its inducing points in \[0, 1\]^dim, row-major.
    pub(super) landmarks: Vec<f64>,
    /// What its file says of the scenario, or why there is none.
    pub(super) described: Result<Described, String>,
    shared: Arc<ScenarioContext<T>>,
    numbers: Arc<PriorNumbers<T>>,
}

impl<T: Scalar> PriorContext<T> {
    /// Configures `method` of a scenario that has a prior.
    ///
    /// **Errors**: as [`MethodContext::new`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        shared: Arc<ScenarioContext<T>>,
        numbers: Arc<PriorNumbers<T>>,
        workspace_bytes: Option<usize>,
    ) -> Result<Self, DriverError> {
        let dim = shared.dim();
        let seed = run.seed;
        let missing = DriverError::Check("a federated prior of a scenario without [prior]");
        let landmarks = landmarks(scenario, dim);
        let protocol = protocol(scenario, method, &landmarks, dim, seed)?.ok_or(missing)?;
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        if method.guarantee() != Guarantee::DifferentialPrivacy {
            base.budget.epsilon_max = f64::INFINITY;
        }
        let rounds = protocol.release_rounds.as_slice();
        let multipliers = protocol.noise_multipliers.as_slice();
        base.config_id = wire::config_id(&(&protocol.config, rounds, multipliers));
        let described = Described::of(scenario, method);
        Ok(PriorContext {
            base,
            models: protocol.models(),
            protocol,
            landmarks,
            described,
            shared,
            numbers,
        })
    }

    /// What all parties agree on.
    pub fn config(&self) -> &Config {
        &self.protocol.config
    }

    /// When releases are made, and at which multipliers.
    pub fn plan(&self) -> Plan<'_> {
        self.protocol.plan()
    }

    /// The public context of all parties.
    ///
    /// **Errors**: none once [`PriorContext::new`] has made one.
    pub fn public(&self) -> Result<Public<'_, T>, DriverError> {
        WithPublic::public(self).map_err(refused)
    }

    /// Number of rounds T.
    pub fn rounds(&self) -> u32 {
        self.protocol.rounds
    }

    /// c₀, which every agent subtracts from what it observes.
    pub fn offset(&self) -> T {
        T::from_f64(self.protocol.offset)
    }
}

impl<T: Scalar> WithPublic<T> for PriorContext<T> {
    fn public(&self) -> Result<Public<'_, T>, PriorError> {
        self.numbers.public(self.shared.prior())
    }
}
