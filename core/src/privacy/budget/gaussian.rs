//! A budget over Gaussians on everybody, counted exactly.

use super::BudgetError;
use crate::privacy::accountant::{Accountant, AccountantError, GaussianAccountant, PrivacySpent};
use crate::privacy::event::Event;

/// A budget (ε, δ) over unsampled Gaussians: what was spent is the exact ε of one Gaussian of
/// multiplier 1/√Σ1/z².
///
/// Neither `Copy` nor `Clone`: what is charged to a copy is charged nowhere.
///
/// **Privacy**: for multipliers that are fixed beforehand, the theorem of
/// [`crate::federated::prior`]'s plan. A Rényi filter of the same releases says a tenth more, and
/// refuses a plan of exactly ε its last release.
///
/// **Numerics**: Σ1/z² and ε round up, by parts in 1e-14 altogether: a plan must leave that much,
/// as those do whose multipliers were calibrated to 1e-4.
///
/// ```
/// use sordino_core::privacy::budget::{BudgetError, Filter, GaussianFilter};
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let release = Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceSpecial };
/// // Four of multiplier 2 are one of 1, which spends ε = 4.378 at δ = 1e-5.
/// let (mut exact, mut renyi) = (GaussianFilter::new(4.38, 1e-5)?, Filter::new(4.38, 1e-5)?);
/// for _ in 0..3 {
///     exact.charge(&release)?;
///     renyi.charge(&release)?;
/// }
/// assert!(matches!(renyi.charge(&release), Err(BudgetError::Exhausted { .. })));
/// exact.charge(&release)?;
/// assert!(matches!(exact.charge(&release), Err(BudgetError::Exhausted { .. })));
/// # Ok::<(), BudgetError>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct GaussianFilter {
    accountant: GaussianAccountant,
    epsilon_max: f64,
    delta: f64,
}

impl GaussianFilter {
    /// A budget; ε = 0 admits only what costs nothing at δ, ε = ∞ admits everything of its kind.
    ///
    /// **Errors**: [`BudgetError::Config`] if ε is negative or NaN or δ is not in (0, 1).
    pub fn new(epsilon_max: f64, delta: f64) -> Result<Self, BudgetError> {
        if !(epsilon_max >= 0.0 && delta > 0.0 && delta < 1.0) {
            return Err(BudgetError::Config { epsilon_max, delta });
        }
        Ok(GaussianFilter {
            accountant: GaussianAccountant::new(),
            epsilon_max,
            delta,
        })
    }

    /// The same budget after what an accountant says was spent, however much; as
    /// [`super::Filter::resume`].
    pub fn resume(self, spent: GaussianAccountant) -> Self {
        GaussianFilter {
            accountant: spent,
            ..self
        }
    }

    /// Whether all of these fit together. Nothing is spent.
    ///
    /// **Errors**: [`BudgetError::Exhausted`]; [`BudgetError::Accountant`] for a sampled or other
    /// event.
    pub fn admits(&self, events: &[Event]) -> Result<(), BudgetError> {
        self.after(events).map(|_| ())
    }

    /// Charges the event, or refuses and stays as it was.
    ///
    /// **Errors**: as [`GaussianFilter::admits`].
    pub fn charge(&mut self, event: &Event) -> Result<(), BudgetError> {
        self.accountant = self.after(core::slice::from_ref(event))?;
        Ok(())
    }

    /// What was spent at the filter's δ.
    ///
    /// **Errors**: [`AccountantError::NoFiniteEpsilon`].
    pub fn spent(&self) -> Result<PrivacySpent, AccountantError> {
        self.accountant.epsilon(self.delta)
    }

    /// The ε of the budget.
    pub const fn epsilon_max(&self) -> f64 {
        self.epsilon_max
    }

    /// The δ of the budget.
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    fn after(&self, events: &[Event]) -> Result<GaussianAccountant, BudgetError> {
        let mut after = self.accountant;
        events
            .iter()
            .try_for_each(|event| after.compose(event, 1))?;
        let epsilon = match after.epsilon(self.delta) {
            Ok(spent) => spent.epsilon,
            Err(AccountantError::NoFiniteEpsilon { .. }) => f64::INFINITY,
            Err(error) => return Err(error.into()),
        };
        if epsilon <= self.epsilon_max {
            Ok(after)
        } else {
            Err(BudgetError::Exhausted {
                epsilon,
                epsilon_max: self.epsilon_max,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;
    use crate::privacy::accountant::analytic;
    use crate::privacy::event::NeighboringRelation;

    fn release(noise_multiplier: f64) -> Event {
        Event::Gaussian {
            noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }

    #[test]
    fn a_plan_of_exactly_epsilon_is_not_refused_its_last_release() {
        for (epsilon, delta) in [(0.91, 0.00294), (7.05, 0.00294), (3.0, 1e-9)] {
            // Shares of a plan, as fine as calibrated ones are.
            let mu = (1.0 / analytic::noise_multiplier(epsilon, delta).unwrap()) * (1.0 - 1e-12);
            let shares = [3.0, 3.0, 3.0, 1.0, 1.0, 1.0];
            let plan = shares.map(|share: f64| release((12.0 / share).sqrt() / mu));
            let mut exact = GaussianFilter::new(epsilon, delta).unwrap();
            let mut renyi = Filter::new(epsilon, delta).unwrap();
            assert_eq!(exact.admits(&plan), Ok(()));
            plan.iter().for_each(|event| exact.charge(event).unwrap());
            let spent = exact.spent().unwrap();
            assert!(
                spent.epsilon <= epsilon
                    && spent.epsilon > epsilon * (1.0 - 1e-9)
                    && spent.releases == 6
            );
            // One release more, however cheap, is refused, and costs nothing.
            assert!(matches!(
                exact.charge(&release(1e3)),
                Err(BudgetError::Exhausted { .. })
            ));
            assert_eq!(exact.spent(), Ok(spent));
            // Negative control: the filter that counted before refuses the plan its last release.
            let made = plan
                .iter()
                .take_while(|event| renyi.charge(event).is_ok())
                .count();
            assert!(made < 6, "{made}");
        }
    }

    #[test]
    fn what_is_sampled_is_not_counted_here() {
        let relation = NeighboringRelation::ReplaceSpecial;
        let sampled = |q| Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: 1.0,
            relation,
        };
        let mut filter = GaussianFilter::new(9.0, 1e-5).unwrap();
        let refused = AccountantError::UnsupportedEvent(sampled(0.5));
        assert_eq!(
            filter.charge(&sampled(0.5)),
            Err(BudgetError::Accountant(refused))
        );
        filter.charge(&sampled(1.0)).unwrap();
        let mut beyond = GaussianAccountant::new();
        beyond.compose(&release(0.1), 1).unwrap();
        let resumed = GaussianFilter::new(9.0, 1e-5).unwrap().resume(beyond);
        assert!(matches!(
            resumed.admits(&[release(1e6)]),
            Err(BudgetError::Exhausted { .. })
        ));
        for (epsilon, delta) in [(-1.0, 0.1), (f64::NAN, 0.1), (1.0, 0.0), (1.0, f64::NAN)] {
            assert!(matches!(
                GaussianFilter::new(epsilon, delta),
                Err(BudgetError::Config { .. })
            ));
        }
    }
}
