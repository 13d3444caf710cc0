//! What the releases of a method cost, one by one and together.

use sordino_core::federated::ServerError;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::prior::Plan;
use sordino_core::privacy::Event;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, GaussianAccountant, PldAccountant, PrivacySpent, RdpAccountant,
};
use sordino_core::privacy::budget::{BudgetError, Filter, GaussianFilter};
use sordino_host::ledger::Accounting;

/// The costs of all releases of a method, public numbers fixed beforehand.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// So many releases, each with this event: sampled Gaussians, by the Rényi accountant.
    Alike {
        /// What one costs.
        event: Event,
        /// How many there are.
        releases: u32,
    },
    /// A plan of Gaussians on everybody, counted exactly.
    Plan(Vec<Event>),
}

impl Cost {
    /// The costs of a method; none if its releases protect nobody.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if there is no mechanism for it.
    pub fn of(protocol: &Protocol) -> Result<Option<Cost>, ServerError> {
        match protocol {
            Protocol::Draws(_) => {
                let releases = protocol.epochs();
                Ok(protocol
                    .event(0)?
                    .map(|event| Cost::Alike { event, releases }))
            }
            Protocol::Prior(prior) => Ok(Some(Cost::of_plan(prior.plan()))),
            Protocol::Campaign(campaign) => Ok(Some(Cost::of_plan(campaign.plan()))),
            Protocol::Vote(_) => Ok(protocol.event(0)?.map(|event| Cost::Plan(vec![event]))),
            Protocol::Own(_) => Ok(None),
        }
    }

    fn of_plan(plan: Plan<'_>) -> Cost {
        Cost::Plan((0..).map_while(|release| plan.event(release)).collect())
    }

    /// Number of releases.
    pub fn releases(&self) -> u32 {
        match self {
            Cost::Alike { releases, .. } => *releases,
            Cost::Plan(events) => events.len() as u32,
        }
    }

    /// What one release costs; beyond the last, the last.
    pub fn event(&self, release: u32) -> Event {
        match self {
            Cost::Alike { event, .. } => *event,
            Cost::Plan(events) => events[(release as usize).min(events.len() - 1)],
        }
    }

    /// How the losses add up in a ledger.
    pub const fn accounting(&self) -> Accounting {
        match self {
            Cost::Alike { .. } => Accounting::Renyi,
            Cost::Plan(_) => Accounting::Gaussian,
        }
    }

    /// How it is counted, for people.
    pub const fn accountant(&self) -> &'static str {
        match self {
            Cost::Alike { .. } => "Renyi, rounded up",
            Cost::Plan(_) => "one Gaussian, exact",
        }
    }

    /// The first `releases` in an accountant.
    fn composed<A: Accountant>(
        &self,
        mut accountant: A,
        releases: u32,
    ) -> Result<A, AccountantError> {
        match self {
            Cost::Alike { event, .. } if releases > 0 => accountant.compose(event, releases)?,
            Cost::Alike { .. } => {}
            Cost::Plan(events) => {
                events
                    .iter()
                    .take(releases as usize)
                    .try_for_each(|event| accountant.compose(event, 1))?;
            }
        }
        Ok(accountant)
    }

    /// ε of the first `releases` at δ, as the ledger counts it; infinite where there is no finite
    /// one.
    ///
    /// **Errors**: [`AccountantError`].
    pub fn epsilon(&self, releases: u32, delta: f64) -> Result<f64, AccountantError> {
        if releases == 0 {
            return Ok(0.0);
        }
        finite(match self {
            Cost::Alike { .. } => self
                .composed(RdpAccountant::new(), releases)?
                .epsilon(delta),
            Cost::Plan(_) => self
                .composed(GaussianAccountant::new(), releases)?
                .epsilon(delta),
        })
    }

    /// The first `releases` by privacy-loss distributions.
    ///
    /// **Errors**: [`AccountantError`].
    pub fn tight(&self, releases: u32) -> Result<PldAccountant, AccountantError> {
        self.composed(PldAccountant::new(), releases)
    }

    /// ε at δ between two contributions of an agent, of the first `releases`; infinite where there
    /// is no finite one.
    ///
    /// **Errors**: [`AccountantError`].
    pub fn between(&self, releases: u32, delta: f64) -> Result<f64, AccountantError> {
        finite(self.tight(releases)?.replace_epsilon(delta))
    }

    /// How many of the first releases cost no more than this ε at δ.
    ///
    /// **Errors**: [`AccountantError`].
    pub fn fitting(&self, epsilon_max: f64, delta: f64) -> Result<u32, AccountantError> {
        let mut fits = 0;
        let mut too_many = self.releases() + 1;
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if self.epsilon(middle, delta)? <= epsilon_max {
                fits = middle
            } else {
                too_many = middle
            }
        }
        Ok(fits)
    }
}

/// Its ε; infinite where there is no finite one.
fn finite(spent: Result<PrivacySpent, AccountantError>) -> Result<f64, AccountantError> {
    match spent {
        Ok(spent) => Ok(spent.epsilon),
        Err(AccountantError::NoFiniteEpsilon { .. }) => Ok(f64::INFINITY),
        Err(error) => Err(error),
    }
}

/// A budget that is spent, counted as the ledger of the method counts.
pub enum Spending {
    /// By Rényi divergences.
    Renyi(Box<Filter>),
    /// Of Gaussians on everybody, exactly.
    Gaussian(GaussianFilter),
}

impl Spending {
    /// A budget (ε, δ).
    ///
    /// **Errors**: [`BudgetError::Config`].
    pub fn new(accounting: Accounting, epsilon_max: f64, delta: f64) -> Result<Self, BudgetError> {
        match accounting {
            Accounting::Gaussian => GaussianFilter::new(epsilon_max, delta).map(Spending::Gaussian),
            Accounting::Renyi | Accounting::Sum => {
                Filter::new(epsilon_max, delta).map(|filter| Spending::Renyi(Box::new(filter)))
            }
        }
    }

    /// Charges the event, or refuses and stays as it was.
    ///
    /// **Errors**: [`BudgetError::Exhausted`]; [`BudgetError::Accountant`] for an event of another
    /// kind.
    pub fn charge(&mut self, event: &Event) -> Result<(), BudgetError> {
        match self {
            Spending::Renyi(filter) => filter.charge(event),
            Spending::Gaussian(filter) => filter.charge(event),
        }
    }
}
