//! What all runs and methods of an execution share, and what the parties of one method in one run
//! borrow.

use std::sync::Arc;

use sordino_core::domain::Regions;
use sordino_core::math::Scalar;
use sordino_experiment::scenario::method::Kind;
use sordino_experiment::scenario::{Method, Scenario};
use sordino_experiment::world::{Family, Objective};
use sordino_host::campaign::Campaign;

use super::super::contract::Options;
use super::brought::Brought;
use super::campaign::context::{CampaignContext, campaigns};
use super::context::{MethodContext, RunContext, ScenarioContext};
use super::custom::CustomError;
use super::custom::context::CustomContext;
use super::error::DriverError;
use super::kept;
use super::prior::context::{PriorContext, PriorNumbers};
use super::vote::context::VoteContext;

/// What the parties of a method borrow, whatever its kind.
pub enum Context<T> {
    /// Agents that share draws, or nothing.
    Draws(Arc<MethodContext<T>>),
    /// Agents of a federated prior.
    Prior(Arc<PriorContext<T>>),
    /// Agents that vote once.
    Vote(Arc<VoteContext<T>>),
    /// Sites of a campaign.
    Campaign(Arc<CampaignContext<T>>),
    /// Agents that were handed in, or are built in the same form.
    Custom(Arc<CustomContext<T>>),
}

/// What all runs and methods of an execution share.
pub struct Job<'j, T> {
    workspace_bytes: Option<usize>,
    brought: &'j Brought,
    /// The scenario, then the scenario as each of its own methods sees it.
    variants: Vec<Variant<'j, T>>,
}

/// A scenario, and what is built from it once.
struct Variant<'j, T> {
    scenario: &'j Scenario,
    shared: Arc<ScenarioContext<T>>,
    prior: Option<Arc<PriorNumbers<T>>>,
    campaigns: Vec<(Method, Arc<Campaign>)>,
}

/// The index of a method's variant.
fn variant(method: Method) -> usize {
    method.place().map_or(0, |place| place + 1)
}

impl<'j, T: Scalar> Job<'j, T> {
    /// Builds it from functions and what was brought.
    ///
    /// **Errors**: [`DriverError`] for a method that this program does not have, or a region
    /// without a candidate.
    pub fn new(
        scenario: &'j Scenario,
        family: &dyn Family,
        brought: &'j Brought,
        options: &Options,
    ) -> Result<Self, DriverError> {
        // Before anything is computed: a method that this program does not have.
        scenario
            .methods()
            .try_for_each(|method| brought.handed_in(method).map(|_| ()))?;
        let objective = family.realize(scenario.run_seed(0));
        let candidates = objective.candidates();
        let dim = objective.dim();
        if let Some(journal) = &options.journal {
            kept::keep(journal, scenario, &*objective)?;
        }
        let mut variants: Vec<Variant<'j, T>> = Vec::new();
        let own = scenario.own.iter().map(|own| &*own.scenario);
        for (place, seen) in std::iter::once(scenario).chain(own).enumerate() {
            let methods: Vec<Method> = scenario
                .methods()
                .filter(|method| variant(*method) == place)
                .collect();
            if methods.iter().any(|method| method.parts().split) {
                regions_have_candidates(seen, candidates, dim)?;
            }
            let alike = variants
                .iter()
                .find(|other| other.scenario.surrogate == seen.surrogate);
            let shared = match alike {
                Some(other) => other.shared.with_methods(seen, &methods)?,
                None => ScenarioContext::of(seen, &methods, candidates, dim)?,
            };
            variants.push(Variant {
                scenario: seen,
                shared: Arc::new(shared),
                prior: PriorNumbers::of(seen, &methods, candidates, dim)?,
                campaigns: campaigns(seen, &methods, candidates, dim)?,
            });
        }
        Ok(Job {
            workspace_bytes: options.workspace_bytes,
            brought,
            variants,
        })
    }

    /// One run, as every variant has it.
    ///
    /// **Errors**: features that cannot be drawn.
    pub fn run(
        &self,
        index: u32,
        objective: Box<dyn Objective>,
    ) -> Result<Vec<Arc<RunContext<T>>>, DriverError> {
        let objective: Arc<dyn Objective> = objective.into();
        let mut runs: Vec<Arc<RunContext<T>>> = Vec::new();
        for variant in &self.variants {
            let alike = self
                .variants
                .iter()
                .zip(&runs)
                .find(|(other, _)| other.scenario.surrogate == variant.scenario.surrogate);
            let run = match alike {
                Some((_, run)) => run.with_shared(variant.shared.clone()),
                None => RunContext::new(
                    variant.scenario,
                    variant.shared.clone(),
                    index,
                    objective.clone(),
                )?,
            };
            runs.push(Arc::new(run));
        }
        Ok(runs)
    }

    /// What the parties of a method borrow in one run.
    ///
    /// **Errors**: [`DriverError`] for a method that this program does not have, or numbers that do
    /// not fit.
    pub fn context(
        &self,
        method: Method,
        runs: &[Arc<RunContext<T>>],
    ) -> Result<Context<T>, DriverError> {
        let Variant {
            scenario,
            shared,
            prior,
            campaigns,
        } = &self.variants[variant(method)];
        let run = runs[variant(method)].clone();
        if let Some(custom) = self.brought.handed_in(method)? {
            let context = CustomContext::new(scenario, method, run, custom, self.workspace_bytes)?;
            return Ok(Context::Custom(Arc::new(context)));
        }
        Ok(match method.parts().kind {
            Kind::Prior => {
                let numbers = prior.clone().ok_or(DriverError::NoPlan(method))?;
                let shared = shared.clone();
                let bytes = self.workspace_bytes;
                let context = PriorContext::new(scenario, method, run, shared, numbers, bytes)?;
                Context::Prior(Arc::new(context))
            }
            Kind::Campaign => {
                let found = campaigns.iter().find(|(of, _)| *of == method);
                let (_, campaign) = found.ok_or_else(|| DriverError::NoCampaign {
                    method,
                    why: "it is not among the methods of the scenario".into(),
                })?;
                let bytes = self.workspace_bytes;
                let context = CampaignContext::new(scenario, method, run, campaign, bytes)?;
                Context::Campaign(Arc::new(context))
            }
            Kind::Vote => {
                let context = VoteContext::new(scenario, method, run, self.workspace_bytes)?;
                Context::Vote(Arc::new(context))
            }
            Kind::Draws | Kind::Alone => {
                let context = MethodContext::new(scenario, method, run, self.workspace_bytes)?;
                Context::Draws(Arc::new(context))
            }
            // All of these are handed in, or refused above.
            Kind::Random | Kind::Optimizer | Kind::Pooled | Kind::Custom => {
                return Err(CustomError::Missing(method.name().to_owned()).into());
            }
        })
    }
}

/// Refuses a region without a candidate: its agents would have nothing to explore.
fn regions_have_candidates(
    scenario: &Scenario,
    candidates: &[f64],
    dim: usize,
) -> Result<(), DriverError> {
    let regions = Regions::new(&scenario.federation.splits)?;
    let mut found = vec![false; regions.count() as usize];
    candidates
        .chunks_exact(dim)
        .for_each(|point| found[regions.region_of(point) as usize] = true);
    match found.iter().position(|found| !found) {
        Some(region) => Err(DriverError::EmptyRegion {
            region: region as u32,
            regions: regions.count(),
        }),
        None => Ok(()),
    }
}
