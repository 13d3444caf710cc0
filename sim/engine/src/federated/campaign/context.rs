//! What the parties of a campaign borrow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sordino_core::math::Scalar;
use sordino_core::optimizer;
use sordino_core::wire;
use sordino_experiment::record::Source;
use sordino_experiment::scenario::{CAMPAIGN_RELEASES, Method, Scenario};
use sordino_host::campaign::{Campaign, Rehearsal, Releases, SiteError, search_seed};
use sordino_host::prior::label::check_text;
use sordino_host::prior::publish::Publication;
use sordino_host::search::Listed;

use super::super::context::{MethodContext, RunContext};
use super::super::error::DriverError;
use super::super::named::Named;

/// Features of the file, at most, unless the scenario says otherwise: as of a file whose publisher
/// does not.
const FEATURES: u32 = 100;
/// Kept searches have at most this many numbers together; the others are made again from their
/// logs, with the same bits.
const KEPT_MAX: usize = 1 << 24;
/// Room of a search at least.
const ROOM: usize = 64;

/// The campaigns among these methods: each has a file of its own, with its own name on it.
///
/// **Errors**: as [`campaign_of`].
pub fn campaigns(
    scenario: &Scenario,
    methods: &[Method],
    candidates: &[f64],
    dim: usize,
) -> Result<Vec<(Method, Arc<Campaign>)>, DriverError> {
    let campaigns = methods.iter().filter(|method| method.is_campaign());
    campaigns
        .map(|method| Ok((*method, campaign_of(scenario, *method, candidates, dim)?)))
        .collect()
}

/// What is public of a scenario's campaign over these candidates: the same in all its runs, and for
/// those who rehearse it.
///
/// **Errors**: [`DriverError::NoCampaign`], [`DriverError::NoPlan`], [`DriverError::Site`].
///
/// **Cost**: a kernel matrix of at most 1,000 points and its factors.
pub fn campaign_of(
    scenario: &Scenario,
    method: Method,
    candidates: &[f64],
    dim: usize,
) -> Result<Arc<Campaign>, DriverError> {
    let none = |why| DriverError::NoCampaign { method, why };
    let Named { space, goal, .. } = Named::of(&scenario.objective).map_err(none)?;
    // A name that no file has is not worth a run.
    let name =
        check_text("dataset", Some(&scenario.name)).map_or("a scenario", |()| &scenario.name);
    let prior = scenario.prior.as_ref().ok_or(DriverError::NoPlan(method))?;
    let note = format!(
        "simulated by sordino run, method {method}, noise of seed {}: no privacy",
        scenario.seed
    );
    let publication = Publication {
        space,
        goal,
        value: None,
        epsilon: prior.plan.epsilon,
        delta: scenario.privacy.delta,
        releases: CAMPAIGN_RELEASES,
        features: prior.plan.features.unwrap_or(FEATURES),
        dataset: name.to_owned(),
        by: None,
        note: Some(note),
        published: None,
    };
    let federation = &scenario.federation;
    let rehearsal = Rehearsal {
        points: Named::numbers(&scenario.objective, candidates, dim),
        first_points: federation.initial_points,
        rounds: federation.rounds,
    };
    match Campaign::rehearsed(publication, rehearsal, federation.agents) {
        Ok(campaign) => Ok(Arc::new(campaign)),
        Err(SiteError::Refused(refused)) => Err(none(refused.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// One campaign in one run.
pub struct CampaignContext<T> {
    /// What every method has: run, budget, faults, marks of frames. Its configuration is that of
    /// agents without a server.
    pub base: MethodContext<T>,
    /// With what its own releases say.
    releases: Releases,
    points: Arc<[Vec<f64>]>,
    /// Searches of agents, and whether they began with the file.
    kept: Mutex<BTreeMap<u32, (bool, Listed)>>,
}

impl<T: Scalar> CampaignContext<T> {
    /// Configures the campaign of a scenario.
    ///
    /// **Errors**: as [`MethodContext::new`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        campaign: &Campaign,
        workspace_bytes: Option<usize>,
    ) -> Result<Self, DriverError> {
        let mut base = MethodContext::new(scenario, method, run, workspace_bytes)?;
        let releases = campaign.releases().of_another();
        let config = releases.context().config();
        let plan = releases.plan();
        base.config_id = wire::config_id(&(&base.config, config, plan.noise_multipliers));
        Ok(CampaignContext {
            base,
            releases,
            points: campaign.points().clone(),
            kept: Mutex::default(),
        })
    }

    /// What follows from releases.
    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// Numbers of a contribution.
    pub fn contribution_len(&self) -> usize {
        self.releases().context().config().contribution_len()
    }

    /// A candidate in the space's numbers.
    pub(super) fn point(&self, candidate: u32) -> &[f64] {
        self.points
            .get(candidate as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// The candidate that an agent asks next, which has this log and heard these sums, and whose
    /// choice it is.
    ///
    /// **Errors**: [`DriverError::Site`].
    pub(super) fn next(
        &self,
        agent: u32,
        log: &[(u32, f64)],
        released: &[f64],
    ) -> Result<(u32, Source), DriverError> {
        let guided = !released.is_empty();
        let kept = self
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&agent);
        let mut search =
            match kept.filter(|(began, search)| *began == guided && search.len() <= log.len()) {
                Some((_, search)) => search,
                None => {
                    let seed = search_seed(self.base.run.seed, agent);
                    let first = self.base.config.parameters().initial_points;
                    let points = self.points.clone();
                    self.releases.search(points, (seed, first), released)?
                }
            };
        for (candidate, value) in &log[search.len()..] {
            search
                .observe(*candidate as usize, *value)
                .map_err(SiteError::from)?;
        }
        let asked = search.ask().map_err(SiteError::from)?;
        let parameters = self.base.config.parameters();
        let room = log.len().max(ROOM).next_power_of_two();
        let dim = self.releases().context().encoding().dim();
        if optimizer::storage_len(dim, room) * parameters.agents as usize <= KEPT_MAX {
            self.kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(agent, (guided, search));
        }
        let source = match asked.is_guided {
            true => Source::Prior,
            false => Source::Own,
        };
        Ok((asked.place as u32, source))
    }
}
