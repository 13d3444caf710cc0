//! What the parties of a handed-in method borrow.

use std::sync::Arc;

use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::wire;
use sordino_experiment::scenario::{Method, Scenario};
use sordino_host::space::Encoding;

use super::super::context::{MethodContext, RunContext, wide};
use super::super::error::DriverError;
use super::super::named::Named;
use super::{Aggregator, Chooser, Custom, Ground, Searched};

/// One handed-in method in one run.
pub struct CustomContext<T> {
    /// What every method has: run, faults, marks of frames. Its configuration is that of agents
    /// without a server.
    pub base: MethodContext<T>,
    /// What all parties know.
    pub ground: Ground,
    custom: Custom,
}

/// What all parties of a method in one run know.
pub fn ground<T: Scalar>(scenario: &Scenario, base: &MethodContext<T>) -> Ground {
    let federation = &scenario.federation;
    let surrogate = &scenario.surrogate;
    let (rows, columns) = base.run.rows();
    let candidates = wide(base.run.shared.points());
    let dim = base.run.shared.dim();
    let searched = searched(scenario, &candidates, dim, base.run.seed);
    Ground {
        agents: federation.agents,
        rounds: federation.rounds,
        initial_points: federation.initial_points,
        dim,
        candidates,
        kernel: surrogate.kernel,
        noise_variance: surrogate.noise_variance,
        constant: federation.constant,
        rows: wide(rows),
        columns,
        searched: Some(searched),
    }
}

/// The candidates in the coordinates of the scenario's inputs; as they are if these make no space
/// that can be searched.
fn searched(scenario: &Scenario, candidates: &[f64], dim: usize, seed: RunSeed) -> Searched {
    let space = Named::of(&scenario.objective).map(|named| named.space.core());
    let Ok(Ok(space)) = space else {
        return Searched::boxed(candidates, dim, seed);
    };
    let encoding = Encoding::new(&space);
    let points = Named::numbers(&scenario.objective, candidates, dim);
    Searched {
        inputs: space.searched().count(),
        dim: encoding.dim(),
        coordinates: points
            .iter()
            .flat_map(|numbers| encoding.coordinates(numbers))
            .collect(),
        seed,
    }
}

impl<T: Scalar> CustomContext<T> {
    /// Configures `method` of a scenario.
    ///
    /// **Errors**: as [`MethodContext::new`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        custom: Custom,
        workspace_bytes: Option<usize>,
    ) -> Result<Self, DriverError> {
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        base.config_id = wire::config_id(&(&base.config, custom.digest.0));
        let ground = ground(scenario, &base);
        Ok(CustomContext {
            base,
            ground,
            custom,
        })
    }

    /// The method that was handed in.
    pub fn custom(&self) -> &Custom {
        &self.custom
    }

    /// How its agents choose.
    pub fn agents(&self) -> &dyn Chooser {
        &*self.custom.agents
    }

    /// Its server, if it has one.
    pub fn server(&self) -> Option<&dyn Aggregator> {
        self.custom.server.as_deref()
    }

    /// The length of every message; 0 without a server.
    pub fn message_len(&self) -> usize {
        self.server()
            .map_or(0, |server| server.message_len(&self.ground))
    }
}
