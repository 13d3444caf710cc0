//! What the charges of a ledger add up to, and the budget they are held against.

use sordino_core::privacy::accountant::{
    Accountant, AccountantError, GaussianAccountant, RdpAccountant, analytic,
};
use sordino_core::privacy::budget::{BudgetError, Filter, GaussianFilter};
use sordino_core::privacy::{Event, NeighboringRelation};

use super::line::Accounting;
use super::{LedgerError, Terms};

/// What rounding may take away from what is left, as a share.
const SLACK: f64 = 1e-9;

/// What was spent so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// ε; never below the exact value.
    pub epsilon: f64,
    /// The δ that goes with it: a sum, or else the ledger's own δ.
    pub delta: f64,
    /// Number of charges.
    pub charges: u64,
}

/// Losses and their budget.
pub(super) enum Budget {
    /// Sums of ε and δ.
    Sum {
        spent: Sum,
        epsilon_max: f64,
        delta_max: f64,
    },
    /// A filter of core.
    Renyi(Box<Filter>),
    /// The exact filter of core, for Gaussians on everybody.
    Gaussian(GaussianFilter),
}

/// The ε and δ of charges, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    epsilon: f64,
    delta: f64,
    /// That of the charges; nothing before the first.
    relation: Option<NeighboringRelation>,
}

impl Sum {
    /// With one more event.
    ///
    /// **Errors**: [`LedgerError::Accountant`] for an event that is no (ε, δ), is out of range, or
    /// is of another relation.
    fn plus(self, event: &Event) -> Result<Sum, LedgerError> {
        let (epsilon, delta) = loss(event).ok_or(AccountantError::UnsupportedEvent(*event))?;
        if !event.is_valid() {
            return Err(AccountantError::InvalidEvent(*event).into());
        }
        let now = event.relation();
        if let Some(before) = self.relation
            && before != now
        {
            return Err(AccountantError::MixedRelations { before, now }.into());
        }
        Ok(Sum {
            epsilon: add_up(self.epsilon, epsilon),
            delta: add_up(self.delta, delta),
            relation: Some(now),
        })
    }
}

/// a + b for numbers that are not negative, rounded up; exact where the sum is representable.
fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // What rounding took away, exactly (Knuth's two-sum).
    let of_a = sum - b;
    let of_b = sum - (sum - b);
    let lost = (a - of_a) + (b - of_b);
    if lost > 0.0 { sum.next_up() } else { sum }
}

/// (ε, δ) of an event whose loss is stated as such a pair.
pub fn loss(event: &Event) -> Option<(f64, f64)> {
    match *event {
        Event::PureEpsilon { epsilon, .. } => Some((epsilon, 0.0)),
        Event::ApproximateEpsilon { epsilon, delta, .. } => Some((epsilon, delta)),
        _ => None,
    }
}

impl Budget {
    /// The budget of these terms after these events, all of which count, even beyond the budget.
    ///
    /// **Errors**: [`LedgerError::Terms`], [`LedgerError::Accountant`].
    pub fn replay<'e>(
        terms: &Terms,
        events: impl Iterator<Item = &'e Event>,
    ) -> Result<Self, LedgerError> {
        let epsilon_max = terms.epsilon_max.unwrap_or(f64::INFINITY);
        match terms.accounting {
            Accounting::Sum => {
                let mut spent = Sum::default();
                for event in events {
                    spent = spent.plus(event)?;
                }
                Ok(Budget::Sum {
                    spent,
                    epsilon_max,
                    delta_max: terms.delta,
                })
            }
            Accounting::Renyi => Ok(Budget::Renyi(Box::new(renyi(terms, events)?))),
            Accounting::Gaussian => {
                let mut spent = GaussianAccountant::new();
                for event in events {
                    spent.compose(event, 1)?;
                }
                let filter = judged(GaussianFilter::new(epsilon_max, terms.delta), terms.delta)?;
                Ok(Budget::Gaussian(filter.resume(spent)))
            }
        }
    }

    /// Whether all of these fit together; nothing is spent. `before` are the events charged so far.
    pub fn admits<'e>(
        &mut self,
        terms: &Terms,
        before: impl Iterator<Item = &'e Event>,
        events: &'e [Event],
    ) -> Result<(), LedgerError> {
        let Some((last, rest)) = events.split_last() else {
            return Ok(());
        };
        match self {
            Budget::Sum {
                spent,
                epsilon_max,
                delta_max,
            } => {
                let mut after = *spent;
                for event in events {
                    after = after.plus(event)?;
                }
                if after.epsilon <= *epsilon_max && after.delta <= *delta_max {
                    return Ok(());
                }
                Err(LedgerError::OverBudget {
                    epsilon: after.epsilon,
                    epsilon_max: *epsilon_max,
                    delta: after.delta,
                    delta_max: *delta_max,
                })
            }
            Budget::Renyi(filter) if rest.is_empty() => judged(filter.admits(last), terms.delta),
            // Losses only grow: the last event is refused if any is.
            Budget::Renyi(_) => judged(renyi(terms, before.chain(rest))?.admits(last), terms.delta),
            Budget::Gaussian(filter) => judged(filter.admits(events), terms.delta),
        }
    }

    /// ε, from below, that further releases may cost together at the δ of these terms, where that
    /// is one number: sums, and Gaussians. `charged` are the events charged so far.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    pub fn left<'e>(
        &self,
        terms: &Terms,
        charged: impl Iterator<Item = &'e Event>,
    ) -> Result<Option<f64>, LedgerError> {
        let Some(most) = terms.epsilon_max else {
            return Ok(None);
        };
        match self {
            Budget::Sum { spent, .. } => Ok(Some((most - spent.epsilon).max(0.0))),
            Budget::Renyi(_) => Ok(None),
            Budget::Gaussian(_) => {
                let all = weight(analytic::noise_multiplier(most, terms.delta)?);
                let mut spent = GaussianAccountant::new();
                for event in charged {
                    spent.compose(event, 1)?;
                }
                let left = all * (1.0 - SLACK) - weight(spent.noise_multiplier());
                if left < all * SLACK {
                    return Ok(Some(0.0));
                }
                let epsilon = analytic::epsilon(left.sqrt().recip(), terms.delta)?;
                Ok(Some(epsilon * (1.0 - SLACK)))
            }
        }
    }

    /// Counts events that were admitted.
    pub fn charge(&mut self, events: &[Event]) -> Result<(), LedgerError> {
        for event in events {
            match self {
                Budget::Sum { spent, .. } => *spent = spent.plus(event)?,
                Budget::Renyi(filter) => {
                    let delta = filter.delta();
                    judged(filter.charge(event), delta)?;
                }
                Budget::Gaussian(filter) => {
                    let delta = filter.delta();
                    judged(filter.charge(event), delta)?;
                }
            }
        }
        Ok(())
    }

    /// The guarantee (ε, δ) that all charges so far have spent.
    pub fn spent(&self) -> Result<(f64, f64), LedgerError> {
        match self {
            Budget::Sum { spent, .. } => Ok((spent.epsilon, spent.delta)),
            Budget::Renyi(filter) => {
                let spent = filter.spent()?;
                Ok((spent.epsilon, spent.delta))
            }
            Budget::Gaussian(filter) => {
                let spent = filter.spent()?;
                Ok((spent.epsilon, spent.delta))
            }
        }
    }
}

/// 1/z²: Gaussians on everybody are one Gaussian, whose weight is the sum of theirs.
fn weight(noise_multiplier: f64) -> f64 {
    (noise_multiplier * noise_multiplier).recip()
}

/// A filter of these terms after these events, all of which count.
fn renyi<'e>(
    terms: &Terms,
    events: impl Iterator<Item = &'e Event>,
) -> Result<Filter, LedgerError> {
    let epsilon_max = terms.epsilon_max.unwrap_or(f64::INFINITY);
    let mut spent = RdpAccountant::new();
    for event in events {
        spent.compose(event, 1)?;
    }
    let filter = judged(Filter::new(epsilon_max, terms.delta), terms.delta)?;
    Ok(filter.resume(spent))
}

fn judged<T>(result: Result<T, BudgetError>, delta: f64) -> Result<T, LedgerError> {
    result.map_err(|error| match error {
        BudgetError::Exhausted {
            epsilon,
            epsilon_max,
        } => LedgerError::OverBudget {
            epsilon,
            epsilon_max,
            delta,
            delta_max: delta,
        },
        BudgetError::Accountant(error) => LedgerError::Accountant(error),
        _ => LedgerError::Terms {
            key: "the budget",
            admissible: "epsilon_max above 0, delta in (0, 1)",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_up_and_only_if_they_must() {
        assert_eq!(add_up(0.5, 0.25), 0.75);
        assert_eq!(add_up(1e-300, 1e-300), 2e-300);
        assert!(add_up(1.0, 1e-20) > 1.0);
        let mut total = 0.0;
        for _ in 0..10 {
            total = add_up(total, 0.1);
        }
        assert!(total >= 1.0, "{total}");
    }
}
