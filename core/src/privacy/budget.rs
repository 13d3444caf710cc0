//! Budgets: a filter that refuses before anything is drawn, an odometer that tells what was spent.
//!
//! **Where a budget refuses**, in the order of a release:
//!
//! 1. *Before the round opens*, offer its event to [`Filter::admits`], which spends nothing. If it
//!    does not fit, the round is skipped ([`ServerInput::Skip`]): no sample is drawn, and no agent
//!    is asked for a vector that cannot be paid for.
//! 2. *In the ledger* ([`Ledger::write`]), before it writes: again [`Filter::admits`], because what
//!    was free when the round opened may be spent by now. This one counts: without its receipt
//!    nothing is released, whoever left out step 1.
//! 3. Make the charge durable, then [`Filter::charge`]. A ledger may charge its filter first: if
//!    writing fails then, the filter has counted too much and never too little.
//! 4. Only then draw the noise. A refusal leaves everything as it was.
//!
//! [`ServerInput::Skip`]: crate::federated::ServerInput::Skip
//! [`Ledger::write`]: super::Ledger::write
//!
//! **Example**: that of [`Filter`].

use core::fmt;

use serde::{Deserialize, Serialize};

use super::accountant::order::{ORDER_COUNT, ORDERS};
use super::accountant::{AccountantError, PrivacySpent, RdpAccountant};
use super::event::Event;

mod gaussian;

pub use gaussian::GaussianFilter;

/// Why a charge was refused. Nothing was charged, nothing may be drawn.
///
/// **Example**: that of [`Filter`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BudgetError {
    /// The loss after this event would exceed the budget.
    Exhausted {
        /// ε after the event, had it been admitted.
        epsilon: f64,
        /// The ε of the budget.
        epsilon_max: f64,
    },
    /// Not a budget: ε must be ≥ 0 and not NaN, δ in (0, 1), or the order is not on the grid.
    Config {
        /// The ε as given.
        epsilon_max: f64,
        /// The δ as given.
        delta: f64,
    },
    /// The event could not be accounted.
    Accountant(AccountantError),
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetError::Exhausted {
                epsilon,
                epsilon_max,
            } => {
                write!(
                    f,
                    "privacy budget spent: epsilon would be {epsilon}, the budget is {epsilon_max}"
                )
            }
            BudgetError::Config { epsilon_max, delta } => {
                write!(f, "no budget: epsilon {epsilon_max}, delta {delta}")
            }
            BudgetError::Accountant(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for BudgetError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            BudgetError::Accountant(error) => error.source(),
            _ => None,
        }
    }
}

impl From<AccountantError> for BudgetError {
    fn from(e: AccountantError) -> Self {
        BudgetError::Accountant(e)
    }
}

/// Why a stored budget is not believed.
///
/// ```
/// use sordino_core::privacy::budget::{Filter, StoredBudgetError};
///
/// let everything = Filter::new(f64::INFINITY, 1e-5)?; // admits everything: written, and never read back
/// let mut bytes = [0; 2048];
/// let stored = postcard::to_slice(&everything, &mut bytes).unwrap();
/// assert!(postcard::from_bytes::<Filter>(stored).is_err()); // in a format that keeps the reason:
/// let reason = StoredBudgetError::Budget { epsilon_max: f64::INFINITY, delta: 1e-5 };
/// assert!(reason.to_string().starts_with("stored budget: epsilon inf is not in [0, inf)"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StoredBudgetError {
    /// Not a budget, or ε is infinite: a filter that admits everything is made in code, where a
    /// reader sees it, and never taken from a file.
    Budget {
        /// ε, admissible in [0, ∞).
        epsilon_max: f64,
        /// δ, admissible in (0, 1).
        delta: f64,
    },
    /// The order named in advance is not on the grid.
    Order {
        /// Its place in [`ORDERS`], admissible below [`ORDER_COUNT`].
        place: u16,
    },
}

impl fmt::Display for StoredBudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredBudgetError::Budget { epsilon_max, delta } => {
                write!(
                    f,
                    "stored budget: epsilon {epsilon_max} is not in [0, inf) or delta {delta} not in (0, 1)"
                )
            }
            StoredBudgetError::Order { place } => {
                write!(
                    f,
                    "stored budget: order {place} of a grid of {ORDER_COUNT} does not exist"
                )
            }
        }
    }
}

impl core::error::Error for StoredBudgetError {}

/// A budget (ε, δ) over any sequence of events.
///
/// Neither `Copy` nor `Clone`: what is charged to a copy is charged nowhere.
///
/// **Privacy**: if the events are fixed ahead or chosen from public numbers, the best order of the
/// grid is used. If an event is chosen from earlier *releases*, the guarantee holds for one order
/// named ahead: [`Filter::at_order`] (Feldman, Zrnic 2021, Theorem 4.3). Choosing events from
/// private state is covered by nothing.
///
/// ```
/// use sordino_core::privacy::accountant::analytic;
/// use sordino_core::privacy::budget::{BudgetError, Filter};
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let release = Event::Gaussian { noise_multiplier: 5.0, relation: NeighboringRelation::ReplaceOne };
/// let mut budget = Filter::new(1.0, 1e-5)?;
/// budget.charge(&release)?; // and only now draw the noise
/// let spent = budget.spent()?;
/// assert!(spent.epsilon >= analytic::epsilon(5.0, 1e-5)?); // never below the truth
/// assert!(matches!(budget.charge(&release), Err(BudgetError::Exhausted { .. })));
/// assert_eq!(budget.spent()?, spent); // a refusal charges nothing
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Filter {
    accountant: RdpAccountant,
    epsilon_max: f64,
    delta: f64,
    order: Option<u16>,
}

/// What a filter is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    accountant: RdpAccountant,
    epsilon_max: f64,
    delta: f64,
    order: Option<u16>,
}

impl TryFrom<Stored> for Filter {
    type Error = StoredBudgetError;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored {
            accountant,
            epsilon_max,
            delta,
            order,
        } = stored;
        if !(epsilon_max >= 0.0 && epsilon_max.is_finite() && delta > 0.0 && delta < 1.0) {
            return Err(StoredBudgetError::Budget { epsilon_max, delta });
        }
        match order {
            Some(place) if usize::from(place) >= ORDER_COUNT => {
                Err(StoredBudgetError::Order { place })
            }
            _ => Ok(Filter {
                accountant,
                epsilon_max,
                delta,
                order,
            }),
        }
    }
}

impl Filter {
    /// A budget; ε = 0 admits only what costs nothing at δ, ε = ∞ admits everything (and cannot be
    /// read back from a file).
    ///
    /// **Errors**: [`BudgetError::Config`] if ε is negative or NaN or δ is not in (0, 1).
    pub fn new(epsilon_max: f64, delta: f64) -> Result<Self, BudgetError> {
        if !(epsilon_max >= 0.0 && delta > 0.0 && delta < 1.0) {
            return Err(BudgetError::Config { epsilon_max, delta });
        }
        Ok(Filter {
            accountant: RdpAccountant::new(),
            epsilon_max,
            delta,
            order: None,
        })
    }

    /// The same budget after what an accountant says was spent, however much: the way back from a
    /// ledger that was made durable ([`crate::privacy::Ledger`]), of which nothing may be
    /// forgotten. Beyond the budget it admits nothing.
    pub fn resume(self, spent: RdpAccountant) -> Self {
        Filter {
            accountant: spent,
            ..self
        }
    }

    /// A budget judged at one order of the grid, for events chosen adaptively from earlier
    /// releases.
    pub fn at_order(epsilon_max: f64, delta: f64, order: f64) -> Result<Self, BudgetError> {
        let place = ORDERS
            .iter()
            .position(|x| *x == order)
            .ok_or(BudgetError::Config { epsilon_max, delta })?;
        Ok(Filter {
            order: Some(place as u16),
            ..Self::new(epsilon_max, delta)?
        })
    }

    /// Whether the event fits. Nothing is spent.
    pub fn admits(&mut self, event: &Event) -> Result<(), BudgetError> {
        let epsilon = match self.after(event) {
            Ok(spent) => spent.epsilon,
            Err(AccountantError::NoFiniteEpsilon { .. }) => f64::INFINITY,
            Err(error) => return Err(error.into()),
        };
        if epsilon <= self.epsilon_max {
            Ok(())
        } else {
            Err(BudgetError::Exhausted {
                epsilon,
                epsilon_max: self.epsilon_max,
            })
        }
    }

    /// Charges the event, or refuses and stays as it was.
    pub fn charge(&mut self, event: &Event) -> Result<(), BudgetError> {
        self.admits(event)?;
        Ok(self.accountant.compose(event, 1)?)
    }

    /// What was spent at the filter's δ: at the order named ahead if there is one, else at the
    /// best.
    pub fn spent(&self) -> Result<PrivacySpent, AccountantError> {
        match self.place() {
            None => self.accountant.epsilon(self.delta),
            Some(i) => self.accountant.epsilon_at(i, self.delta),
        }
    }

    /// The ε of the budget.
    pub const fn epsilon_max(&self) -> f64 {
        self.epsilon_max
    }

    /// The δ of the budget.
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// The accountant, to read other δ. Its [`RdpAccountant::epsilon`] takes the best order; of a
    /// filter [`Filter::at_order`] only [`RdpAccountant::epsilon_at`] that order is a guarantee.
    pub const fn accountant(&self) -> &RdpAccountant {
        &self.accountant
    }

    fn after(&mut self, event: &Event) -> Result<PrivacySpent, AccountantError> {
        match self.place() {
            None => self.accountant.epsilon_after(event, 1, self.delta),
            Some(i) => self.accountant.epsilon_after_at(event, i, self.delta),
        }
    }

    /// Place in [`ORDERS`] of the order named ahead.
    fn place(&self) -> Option<usize> {
        self.order.map(|i| usize::from(i).min(ORDER_COUNT - 1))
    }
}

/// Tells what was spent, refuses nothing. A read-out at a moment chosen from private results is not
/// a guarantee for the whole: that needs a [`Filter`].
///
/// Neither `Copy` nor `Clone`: what is noted in a copy is noted nowhere.
///
/// ```
/// use sordino_core::privacy::accountant::analytic;
/// use sordino_core::privacy::{Event, NeighboringRelation, budget::Odometer};
///
/// let mut odometer = Odometer::new();
/// for _ in 0..4 {
///     odometer.charge(&Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceOne })?;
/// }
/// // Four Gaussians of multiplier 2 are one of 1: μ² = 4/2² = 1.
/// let (spent, truth) = (odometer.spent(1e-5)?, analytic::epsilon(1.0, 1e-5)?);
/// assert_eq!(spent.releases, 4);
/// assert!(truth <= spent.epsilon && spent.epsilon < 1.2 * truth);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Odometer {
    accountant: RdpAccountant,
}

impl Odometer {
    /// An odometer that has spent nothing.
    pub const fn new() -> Self {
        Odometer {
            accountant: RdpAccountant::new(),
        }
    }

    /// Records one release.
    pub fn charge(&mut self, event: &Event) -> Result<(), AccountantError> {
        self.accountant.compose(event, 1)
    }

    /// What was spent, at δ.
    pub fn spent(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        self.accountant.epsilon(delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::order;
    use crate::privacy::event::NeighboringRelation;

    impl Filter {
        /// ε this event is refused for.
        fn cost(&mut self, event: &Event) -> Result<f64, ()> {
            match self.charge(event) {
                Err(BudgetError::Exhausted { epsilon, .. }) => Ok(epsilon),
                _ => Err(()),
            }
        }
    }

    const ROUND: Event = Event::sampled(0.25, 1.0);

    #[test]
    fn refuses_before_anything_and_stays_as_it_was() {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&ROUND, 5).unwrap();
        let five = accountant.epsilon(1e-5).unwrap().epsilon;
        let mut filter = Filter::new(five * (1.0 + 1e-9), 1e-5).unwrap();
        for _ in 0..5 {
            filter.admits(&ROUND).unwrap();
            filter.charge(&ROUND).unwrap();
        }
        let before = filter.spent();
        assert!(matches!(
            filter.charge(&ROUND),
            Err(BudgetError::Exhausted { .. })
        ));
        assert_eq!(filter.spent(), before);
        assert_eq!(filter.accountant().releases(), 5);
    }

    /// What a ledger says was spent counts in full, also beyond the budget: re-charging would
    /// forget what does not fit.
    #[test]
    fn resumes_from_a_ledger_even_beyond_the_budget() {
        let mut recorded = RdpAccountant::new();
        recorded.compose(&ROUND, 5).unwrap();
        let five = recorded.epsilon(1e-5).unwrap();
        let enough = Filter::new(five.epsilon * 2.0, 1e-5)
            .unwrap()
            .resume(recorded.clone());
        assert_eq!(
            (enough.spent(), enough.accountant().releases()),
            (Ok(five), 5)
        );
        let mut beyond = Filter::new(five.epsilon * 0.5, 1e-5)
            .unwrap()
            .resume(recorded);
        let cheap = Event::sampled(1e-6, 100.0);
        assert!(
            Filter::new(five.epsilon * 0.5, 1e-5)
                .unwrap()
                .charge(&cheap)
                .is_ok(),
            "alone it would fit"
        );
        assert!(matches!(
            beyond.charge(&cheap),
            Err(BudgetError::Exhausted { .. })
        ));
        assert_eq!(beyond.spent(), Ok(five));
    }

    #[test]
    fn a_stored_budget_is_judged() {
        let accountant = RdpAccountant::new;
        let stored = |epsilon_max, delta, order| {
            let mut bytes = [0u8; 2000];
            let used = postcard::to_slice(&(accountant(), epsilon_max, delta, order), &mut bytes)
                .unwrap()
                .len();
            let read = postcard::from_bytes::<Filter>(&bytes[..used]).ok();
            let judged = Filter::try_from(Stored {
                accountant: accountant(),
                epsilon_max,
                delta,
                order,
            });
            assert_eq!(read.as_ref(), judged.as_ref().ok(), "both doors");
            judged.err()
        };
        assert_eq!(stored(4.0, 1e-5, None), None);
        assert_eq!(stored(0.0, 1e-5, Some(155)), None);
        for (epsilon_max, delta) in [
            (f64::INFINITY, 1e-5),
            (-1.0, 1e-5),
            (4.0, 0.0),
            (4.0, 1.0),
            (4.0, -1e-5),
            (4.0, f64::INFINITY),
        ] {
            assert_eq!(
                stored(epsilon_max, delta, None),
                Some(StoredBudgetError::Budget { epsilon_max, delta })
            );
        }
        assert!(stored(f64::NAN, 1e-5, None).is_some() && stored(4.0, f64::NAN, None).is_some());
        assert_eq!(
            stored(4.0, 1e-5, Some(156)),
            Some(StoredBudgetError::Order { place: 156 })
        );
    }

    #[test]
    fn edges() {
        for (epsilon, delta) in [
            (-1.0, 0.1),
            (f64::NAN, 0.1),
            (1.0, 0.0),
            (1.0, 1.0),
            (1.0, f64::NAN),
        ] {
            assert!(matches!(
                Filter::new(epsilon, delta),
                Err(BudgetError::Config { .. })
            ));
        }
        assert!(Filter::at_order(1.0, 1e-5, 2.05).is_err());
        assert!(Filter::new(0.0, 1e-5).unwrap().charge(&ROUND).is_err());
        assert!(
            Filter::new(f64::INFINITY, 1e-5)
                .unwrap()
                .charge(&ROUND)
                .is_ok()
        );
        // One order can only admit less than the best of all.
        let mut one = Filter::at_order(9.0, 1e-5, 4.0).unwrap();
        let mut all = Filter::new(9.0, 1e-5).unwrap();
        let count = |filter: &mut Filter| {
            (0..1000)
                .take_while(|_| filter.charge(&ROUND).is_ok())
                .count()
        };
        let narrow = count(&mut one);
        let wide = count(&mut all);
        assert!(narrow <= wide && narrow > 0, "{narrow} {wide}");
        // What it says was spent is what it judges by, and is not the best of all orders.
        let said = one.spent().unwrap();
        let best = one.accountant().epsilon(1e-5).unwrap();
        let place = ORDERS.iter().position(|order| *order == 4.0).unwrap();
        let judged = order::epsilon(4.0, one.accountant().divergence(place), 1e-5);
        assert_eq!(
            (said.epsilon, said.order, said.releases),
            (judged, Some(4.0), narrow as u64)
        );
        assert!(
            best.epsilon < said.epsilon && said.epsilon <= 9.0,
            "{best:?} {said:?}"
        );
        let mut last = Filter::at_order(f64::INFINITY, 1e-5, 4.0).unwrap();
        assert_eq!(
            last.spent(),
            Filter::new(1.0, 1e-5).unwrap().spent(),
            "nothing was spent"
        );
        last.charge(&ROUND).unwrap();
        assert_eq!(
            Ok(last.spent().unwrap().epsilon),
            Filter::at_order(0.0, 1e-5, 4.0).unwrap().cost(&ROUND)
        );
        let mut nonsense = Filter::new(1.0, 0.1).unwrap();
        let bad = Event::PureEpsilon {
            epsilon: f64::NAN,
            relation: NeighboringRelation::ReplaceOne,
        };
        assert!(matches!(
            nonsense.charge(&bad),
            Err(BudgetError::Accountant(_))
        ));
    }
}
