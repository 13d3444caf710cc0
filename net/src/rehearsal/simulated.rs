//! The simulator's half of every method that is rehearsed, and what its orders mean on a network.

use std::sync::Arc;

use sordino_engine::federated::DriverError;
use sordino_engine::federated::campaign::context::{CampaignContext, campaign_of};
use sordino_engine::federated::campaign::shard::CampaignOrder;
use sordino_engine::federated::collective::Order;
use sordino_engine::federated::context::{MethodContext, RunContext, ScenarioContext};
use sordino_engine::federated::custom::context::CustomContext;
use sordino_engine::federated::custom::shard::CustomOrder;
use sordino_engine::federated::prior::context::{PriorContext, PriorNumbers, landmarks, protocol};
use sordino_engine::federated::prior::shard::PriorOrder;
use sordino_engine::federated::run::Federated;
use sordino_engine::federated::vote::context::VoteContext;
use sordino_experiment::scenario::{Method, Scenario};

use crate::party::{CampaignParty, Draws, Number, Prior, Served, Voting};
use crate::terms::{Terms, TermsError};

/// A method that the simulator runs and real federations have.
pub(super) trait Simulated<T: Number>: Served<T> {
    /// Its half in the simulator.
    type Context: Rehearsed<T>;

    /// What its agents compute with.
    ///
    /// **Errors**: as [`Served::new`].
    fn party(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        Self::new(terms)
    }

    /// That half, for one run.
    ///
    /// **Errors**: numbers that do not fit.
    fn simulated(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        shared: Arc<ScenarioContext<T>>,
    ) -> Result<Arc<Self::Context>, DriverError>;
}

/// What an order of the simulator means on a network.
pub(super) trait Rehearsed<T: Number>: Federated<Number = T> {
    /// The epoch whose answers hold what the order asks for.
    fn epoch(&self, order: &Self::Order) -> u32;

    /// The numbers in the frame of an epoch up to that of the order; none if there was no release
    /// before it.
    fn frame(&self, order: &Self::Order, epoch: u32) -> Option<Arc<[T]>>;

    /// Whether the order takes uploads, and for which release.
    fn takes(&self, order: &Self::Order) -> Option<u32>;
}

impl<T: Number> Simulated<T> for Draws<T> {
    type Context = MethodContext<T>;

    fn simulated(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        _: Arc<ScenarioContext<T>>,
    ) -> Result<Arc<MethodContext<T>>, DriverError> {
        MethodContext::new(scenario, method, run, None).map(Arc::new)
    }
}

impl<T: Number> Rehearsed<T> for MethodContext<T> {
    fn epoch(&self, order: &Order<T>) -> u32 {
        order.round
    }

    fn frame(&self, order: &Order<T>, epoch: u32) -> Option<Arc<[T]>> {
        order.broadcast.clone().filter(|_| epoch == order.round)
    }

    fn takes(&self, order: &Order<T>) -> Option<u32> {
        order.share.as_ref().map(|_| order.round)
    }
}

impl<T: Number> Simulated<T> for Prior<T> {
    type Context = PriorContext<T>;

    fn simulated(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        shared: Arc<ScenarioContext<T>>,
    ) -> Result<Arc<PriorContext<T>>, DriverError> {
        let dim = shared.dim();
        let objective = run.objective.clone();
        let landmarks = landmarks(scenario, dim);
        let protocol = protocol(scenario, method, &landmarks, dim, run.seed)?
            .ok_or(DriverError::NoPlan(method))?;
        let numbers = PriorNumbers::new(&protocol, &landmarks, objective.candidates(), dim)?;
        PriorContext::new(scenario, method, run, shared, numbers, None).map(Arc::new)
    }
}

impl<T: Number> Rehearsed<T> for PriorContext<T> {
    fn epoch(&self, order: &PriorOrder<T>) -> u32 {
        match order {
            PriorOrder::Release { release, .. } => *release,
            PriorOrder::Query { round, .. } => self
                .protocol
                .release_rounds
                .iter()
                .filter(|after| *after < round)
                .count() as u32,
        }
    }

    fn frame(&self, order: &PriorOrder<T>, epoch: u32) -> Option<Arc<[T]>> {
        let (PriorOrder::Query { last, .. } | PriorOrder::Release { last, .. }) = order;
        last.as_ref()
            .filter(|(index, _)| Some(*index) == epoch.checked_sub(1))
            .map(|(_, sums)| sums.clone())
    }

    fn takes(&self, order: &PriorOrder<T>) -> Option<u32> {
        match order {
            PriorOrder::Release { release, .. } => Some(*release),
            PriorOrder::Query { .. } => None,
        }
    }
}

impl<T: Number> Simulated<T> for Voting<T> {
    type Context = VoteContext<T>;

    fn simulated(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        _: Arc<ScenarioContext<T>>,
    ) -> Result<Arc<VoteContext<T>>, DriverError> {
        VoteContext::new(scenario, method, run, None).map(Arc::new)
    }
}

/// The ballots of the initial points, then one epoch with all rounds, whose frame has the shares.
impl<T: Number> Rehearsed<T> for VoteContext<T> {
    fn epoch(&self, order: &Order<T>) -> u32 {
        order.round.min(1)
    }

    fn frame(&self, order: &Order<T>, epoch: u32) -> Option<Arc<[T]>> {
        order.broadcast.clone().filter(|_| epoch == 1)
    }

    fn takes(&self, order: &Order<T>) -> Option<u32> {
        order.share.as_ref().map(|_| order.round)
    }
}

impl Simulated<f64> for CampaignParty {
    type Context = CampaignContext<f64>;

    fn party(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        CampaignParty::rehearsed(terms)
    }

    fn simulated(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<f64>>,
        shared: Arc<ScenarioContext<f64>>,
    ) -> Result<Arc<CampaignContext<f64>>, DriverError> {
        let campaign = campaign_of(scenario, method, run.objective.candidates(), shared.dim())?;
        CampaignContext::new(scenario, method, run, &campaign, None).map(Arc::new)
    }
}

/// The first points and every release have an epoch each, all other queries the last one.
impl Rehearsed<f64> for CampaignContext<f64> {
    fn epoch(&self, order: &CampaignOrder) -> u32 {
        match (&order.release, order.round) {
            (Some((release, ..)), _) => *release,
            (None, 0) => 0,
            (None, _) => self.releases().plan().noise_multipliers.len() as u32,
        }
    }

    fn frame(&self, order: &CampaignOrder, epoch: u32) -> Option<Arc<[f64]>> {
        let mut made = order.released.chunks_exact(self.contribution_len());
        made.nth(epoch.checked_sub(1)? as usize).map(Arc::from)
    }

    fn takes(&self, order: &CampaignOrder) -> Option<u32> {
        order.release.as_ref().map(|(release, ..)| *release)
    }
}

/// One round an epoch, as often as its server listens and once more.
impl<T: Number> Rehearsed<T> for CustomContext<T> {
    fn epoch(&self, order: &CustomOrder) -> u32 {
        order.round
    }

    fn frame(&self, order: &CustomOrder, epoch: u32) -> Option<Arc<[T]>> {
        let sent = order
            .broadcast
            .as_deref()
            .filter(|_| epoch == order.round)?;
        Some(sent.iter().map(|x| T::from_f64(*x)).collect())
    }

    fn takes(&self, order: &CustomOrder) -> Option<u32> {
        order.collecting.then_some(order.round)
    }
}
