//! What the parties of a federated prior borrow: public numbers of a scenario, then what one method makes of them.

use std::sync::Arc;

use sordino_core::domain::Candidates;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::federated::ServerError;
use sordino_core::federated::prior::{
    Config, Model, Parameters, Plan, PriorError, Public, Tables, draw_designs, gram, models, nystrom_rows,
    nystrom_scratch_len,
};
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::wire;
use sordino_host::server::WithPublic;

use super::super::context::{MethodContext, RunContext, ScenarioContext};
use super::super::error::DriverError;
use crate::scenario::{Guarantee, Method, PriorConfig, Scenario};

/// The multiplier of `prior`: noise of a thousandth of the sensitivity neither protects nor disturbs.
const UNPROTECTED: f64 = 1.0 / 1024.0;
/// ln of the prior weight of a model that is never drawn.
const NEVER: f64 = -1e30;

/// Features of every candidate, their Gram matrix and the virtual designs: the same in all runs of a scenario.
pub struct PriorNumbers<T> {
    config: Config,
    prior: PriorConfig,
    feature_rows: Vec<T>,
    gram: Vec<T>,
    designs: Vec<u32>,
}

impl<T: Scalar> PriorNumbers<T> {
    /// Nyström features on a regular grid of inducing points, at the candidates; `None` if the scenario has no prior.
    ///
    /// Features are computed in double precision and then rounded, as the joint factor is.
    ///
    /// **Errors**: [`DriverError`] for features or designs that cannot be built.
    pub fn new(scenario: &Scenario, candidates: &[f64], dim: usize) -> Result<Option<Arc<Self>>, DriverError> {
        let Some(prior) = &scenario.prior else { return Ok(None) };
        let (federation, surrogate) = (&scenario.federation, &scenario.surrogate);
        let inducing = prior.plan.inducing(dim);
        let m = inducing.len() / dim;
        let config = Config::new(Parameters {
            grid_exponent: scenario.privacy.grid_exponent,
            ..Parameters::usual(federation.agents, m as u32, federation.initial_points, surrogate.noise_variance)
        })?;
        let kernel = surrogate.kernel.build::<f64>()?;
        let (storage, mut scratch) = (vec![0.0; nystrom::storage_len(m)], vec![0.0; nystrom::scratch_len(m)]);
        let map = Nystrom::new(kernel, dim, inducing, storage, &mut scratch)?;
        let count = candidates.len() / dim;
        let mut rows = vec![0.0; count * m];
        let list = Candidates::list(candidates, dim)?;
        nystrom_rows(&map, &list, &mut rows, &mut vec![0.0; nystrom_scratch_len(dim, m)]).map_err(refused)?;
        let feature_rows: Vec<T> = rows.into_iter().map(T::from_f64).collect();
        let mut mean = vec![T::ZERO; m * m];
        gram(&config, &feature_rows, &mut mean).map_err(refused)?;
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_designs(&config, RunSeed::new(surrogate.feature_seed, 0), count as u32, &mut designs).map_err(refused)?;
        Ok(Some(Arc::new(PriorNumbers { config, prior: prior.clone(), feature_rows, gram: mean, designs })))
    }
}

fn refused(error: PriorError) -> DriverError {
    ServerError::from(error).into()
}

/// One method of the federated prior in one run.
pub struct PriorContext<T> {
    /// What every method has: run, budget, faults, marks of frames. Its configuration is that of agents without a server.
    pub base: MethodContext<T>,
    /// How an agent's function may relate to the common draw.
    pub models: Vec<Model<T>>,
    noise_multipliers: Vec<f64>,
    shared: Arc<ScenarioContext<T>>,
    numbers: Arc<PriorNumbers<T>>,
}

impl<T: Scalar> PriorContext<T> {
    /// Configures `method` of a scenario.
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
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        let mut noise_multipliers = numbers.prior.noise_multipliers.clone();
        if method.guarantee() != Guarantee::DifferentialPrivacy {
            noise_multipliers.fill(UNPROTECTED);
            base.budget.0 = f64::INFINITY;
        }
        base.config_id = wire::config_id(&(&numbers.config, &numbers.prior.plan.releases, &noise_multipliers));
        let mut models = models::<T>(0).to_vec();
        if !method.parts().own_model {
            let own = models.iter_mut().filter(|model| model.trust == T::ZERO);
            own.for_each(|model| model.log_prior = T::from_f64(NEVER));
        }
        Ok(PriorContext { base, models, noise_multipliers, shared, numbers })
    }

    /// What all parties agree on.
    pub fn config(&self) -> &Config {
        &self.numbers.config
    }

    /// When releases are made, and at which multipliers.
    pub fn plan(&self) -> Plan<'_> {
        Plan { rounds: &self.numbers.prior.plan.releases, noise_multipliers: &self.noise_multipliers }
    }

    /// The public context of all parties.
    ///
    /// **Errors**: none once [`PriorContext::new`] has made one.
    pub fn public(&self) -> Result<Public<'_, T>, DriverError> {
        WithPublic::public(self).map_err(refused)
    }

    /// Number of rounds T.
    pub fn rounds(&self) -> u32 {
        self.base.config.parameters().rounds
    }

    /// c₀, which every agent subtracts from what it observes.
    pub fn offset(&self) -> T {
        T::from_f64(self.base.config.parameters().offset)
    }
}

impl<T: Scalar> WithPublic<T> for PriorContext<T> {
    fn public(&self) -> Result<Public<'_, T>, PriorError> {
        let PriorNumbers { config, feature_rows, gram, designs, .. } = &*self.numbers;
        let tables = Tables { prior_rows: self.shared.prior(), gram, designs };
        Public::new(config, feature_rows, tables)
    }
}
