//! The Rényi accountant: any sequence of events, each with its own parameters.
//!
//! **Equation**: at every order α of [`ORDERS`] the divergences of the events add (Mironov 2017,
//! Proposition 1); the sum is converted once, ε = min over α ([`super::order::epsilon`]). Losses ε
//! themselves are never added.
//!
#![doc = include_str!("../../../equations/renyi_composition.html")]
//!
//! | event | divergence at order α |
//! |---|---|
//! | Gaussian | α/(2z²) |
//! | Poisson-sampled Gaussian | [`super::poisson`], exact |
//! | fixed-size subset | [`super::fixed_size`], an upper bound |
//! | pure ε | that of randomised response, which dominates every ε-private mechanism |
//! | (ε, δ) | as pure ε, and δ is put aside |
//!
//! **Example**: that of [`RdpAccountant`].

use serde::{Deserialize, Serialize};

use super::order::{self, ORDER_COUNT, ORDERS, ROUND_UP, Row, check_delta};
use super::{
    Accountant, AccountantError, PrivacySpent, Quality, StoredError, add_up, fixed_size, judge,
    poisson,
};
use crate::math::{self, Scalar};
use crate::privacy::event::{Event, NeighboringRelation};

/// Adds up Rényi divergences on the grid of orders. About 2.6 kB, no heap.
///
/// **Numerics**: every addition rounds up, by at most 2 units in the last place: what is spent is
/// never less than the sum of what was charged, and 5e-10 of it more after a million additions.
///
/// ```
/// use sordino_core::privacy::accountant::{AccountantError, PrivacySpent, RdpAccountant, order::ORDERS};
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let relation = NeighboringRelation::ReplaceSpecial;
/// let mut accountant = RdpAccountant::new();
/// accountant.compose(&Event::Gaussian { noise_multiplier: 4.0, relation }, 8)?;
/// for (i, order) in ORDERS.iter().enumerate() {
///     assert!((accountant.divergence(i) - 8.0 * order / (2.0 * 16.0)).abs() < 1e-8); // 8·α/(2z²)
/// }
/// let PrivacySpent { epsilon, order, releases, .. } = accountant.epsilon(1e-5)?;
/// assert!(epsilon.is_finite() && order.is_some() && releases == 8);
/// let other = Event::PureEpsilon { epsilon: 0.1, relation: NeighboringRelation::ReplaceOne };
/// assert!(matches!(accountant.compose(&other, 1), Err(AccountantError::MixedRelations { .. })));
/// # Ok::<(), AccountantError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct RdpAccountant {
    spent: Row,
    delta_spent: f64,
    releases: u64,
    /// Releases whose divergence is positive at the lowest order.
    costly: u64,
    relation: Option<NeighboringRelation>,
    #[serde(skip)]
    cached: Cached,
}

/// The divergences of the last event seen: rounds are mostly alike, and a dry check comes before
/// each charge.
#[derive(Clone, Debug, PartialEq)]
struct Cached {
    event: Option<Event>,
    row: Row,
}

impl Cached {
    const NOTHING: Self = Cached {
        event: None,
        row: Row::ZERO,
    };

    /// The divergences of an event.
    fn look_up(&mut self, event: &Event) -> Result<&Row, AccountantError> {
        if self.event != Some(*event) {
            self.event = None;
            divergences(event, &mut self.row)?;
            self.event = Some(*event);
        }
        Ok(&self.row)
    }
}

/// What an accountant is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    spent: Row,
    delta_spent: f64,
    releases: u64,
    costly: u64,
    relation: Option<NeighboringRelation>,
}

impl TryFrom<Stored> for RdpAccountant {
    type Error = StoredError;

    /// Refuses what no sequence of charges leads to: it would lower the next sum.
    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored {
            spent,
            delta_spent,
            releases,
            costly,
            relation,
        } = stored;
        // A row reads no negative divergence and no NaN.
        if !(delta_spent >= 0.0 && delta_spent.is_finite()) {
            return Err(StoredError::Delta(delta_spent));
        }
        judge(&spent.0, releases, costly, relation.is_some())?;
        if releases == 0 && delta_spent > 0.0 {
            return Err(StoredError::Contradiction { releases, costly });
        }
        Ok(RdpAccountant {
            spent,
            delta_spent,
            releases,
            costly,
            relation,
            cached: Cached::NOTHING,
        })
    }
}

impl Default for RdpAccountant {
    fn default() -> Self {
        Self::new()
    }
}

impl RdpAccountant {
    /// Nothing spent. `const`: a device places it in a static.
    pub const fn new() -> Self {
        RdpAccountant {
            spent: Row::ZERO,
            delta_spent: 0.0,
            releases: 0,
            costly: 0,
            relation: None,
            cached: Cached::NOTHING,
        }
    }

    /// Adds `count` releases of one event.
    ///
    /// **Errors**: [`AccountantError::InvalidEvent`], [`AccountantError::UnsupportedEvent`],
    /// [`AccountantError::MixedRelations`]; what was spent is unchanged.
    ///
    /// **Cost**: a new event: one evaluation of 156 divergences (below 1 ms on a host); the same
    /// event again: 156 additions.
    pub fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        event.relation().adds_to(self.relation)?;
        let Row(row) = self.cached.look_up(event)?;
        for (spent, divergence) in self.spent.0.iter_mut().zip(row) {
            *spent = add_up(*spent, count, *divergence);
        }
        self.delta_spent = add_up(self.delta_spent, count, delta_of(event));
        if count > 0 {
            self.relation = Some(event.relation());
        }
        self.releases = self.releases.saturating_add(count.into());
        if row[0] > 0.0 {
            self.costly = self.costly.saturating_add(count.into());
        }
        Ok(())
    }

    /// ε at δ.
    ///
    /// **Errors**: [`AccountantError::Delta`]; [`AccountantError::NoFiniteEpsilon`].
    pub fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        convert(delta, |i| self.spent.0[i], self.delta_spent, self.releases)
    }

    /// ε at δ judged at the i-th order of [`ORDERS`] alone: what holds where that order was named
    /// ahead of the events.
    pub fn epsilon_at(&self, i: usize, delta: f64) -> Result<PrivacySpent, AccountantError> {
        if self.releases == 0 {
            return self.epsilon(delta);
        }
        let at = |j: usize| {
            if j == i {
                self.spent.0[j]
            } else {
                f64::INFINITY
            }
        };
        convert(delta, at, self.delta_spent, self.releases)
    }

    /// What [`RdpAccountant::epsilon`] would say after `count` more releases of the event. Spends
    /// nothing.
    pub fn epsilon_after(
        &mut self,
        event: &Event,
        count: u32,
        delta: f64,
    ) -> Result<PrivacySpent, AccountantError> {
        event.relation().adds_to(self.relation)?;
        let Row(row) = self.cached.look_up(event)?;
        convert(
            delta,
            |i| add_up(self.spent.0[i], count, row[i]),
            add_up(self.delta_spent, count, delta_of(event)),
            self.releases.saturating_add(count.into()),
        )
    }

    /// What [`RdpAccountant::epsilon_at`] would say after one more release of the event. Spends
    /// nothing.
    pub fn epsilon_after_at(
        &mut self,
        event: &Event,
        i: usize,
        delta: f64,
    ) -> Result<PrivacySpent, AccountantError> {
        event.relation().adds_to(self.relation)?;
        let Row(row) = self.cached.look_up(event)?;
        let at = |j: usize| {
            if j == i {
                add_up(self.spent.0[j], 1, row[j])
            } else {
                f64::INFINITY
            }
        };
        convert(
            delta,
            at,
            add_up(self.delta_spent, 1, delta_of(event)),
            self.releases.saturating_add(1),
        )
    }

    /// δ at ε ≥ 0: the smallest over the orders, plus what (ε, δ) events put aside.
    pub fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        if !(epsilon >= 0.0) {
            return Err(AccountantError::Epsilon(epsilon));
        }
        let mut smallest = 1.0;
        for (order, spent) in ORDERS.iter().zip(&self.spent.0) {
            smallest = Scalar::min(smallest, order::delta(*order, *spent, epsilon));
        }
        Ok(Scalar::min(add_up(self.delta_spent, 1, smallest), 1.0))
    }

    /// Divergence spent at the i-th order of [`ORDERS`]; +∞ beyond the last.
    pub fn divergence(&self, i: usize) -> f64 {
        *self.spent.0.get(i).unwrap_or(&f64::INFINITY)
    }

    /// δ put aside by (ε, δ) events.
    pub const fn delta_spent(&self) -> f64 {
        self.delta_spent
    }

    /// Number of releases composed.
    pub const fn releases(&self) -> u64 {
        self.releases
    }

    /// The relation of everything composed; nothing before the first event.
    pub const fn relation(&self) -> Option<NeighboringRelation> {
        self.relation
    }
}

impl Accountant for RdpAccountant {
    /// Every event has a Rényi bound here.
    fn supports(&self, _event: &Event) -> bool {
        true
    }

    fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        self.compose(event, count)
    }

    fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        self.epsilon(delta)
    }

    fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        self.delta(epsilon)
    }

    fn relation(&self) -> Option<NeighboringRelation> {
        self.relation
    }
}

/// ε at δ: the smallest over the orders, with the δ that (ε, δ) events put aside taken off.
fn convert(
    delta: f64,
    divergence: impl Fn(usize) -> f64,
    delta_spent: f64,
    releases: u64,
) -> Result<PrivacySpent, AccountantError> {
    check_delta(delta)?;
    let mut spent = PrivacySpent {
        epsilon: f64::INFINITY,
        delta,
        quality: Quality::Upper,
        order: None,
        at_edge: false,
        releases,
    };
    if delta_spent == 0.0 && (0..ORDER_COUNT).all(|i| divergence(i) == 0.0) {
        spent.epsilon = 0.0;
        return Ok(spent);
    }
    let left = left_of(delta, delta_spent);
    if left > 0.0 {
        for (i, order) in ORDERS.iter().enumerate() {
            let epsilon = order::epsilon(*order, divergence(i), left);
            if epsilon < spent.epsilon {
                spent.epsilon = epsilon;
                spent.order = Some(*order);
                spent.at_edge = i == 0 || i + 1 == ORDER_COUNT;
            }
        }
    }
    if spent.epsilon.is_finite() {
        Ok(spent)
    } else {
        Err(AccountantError::NoFiniteEpsilon { delta, delta_spent })
    }
}

/// The δ for the conversion of what has divergences, after this much was spent by events that have
/// a δ themselves; rounded down, and 0 or less where nothing is left.
pub(crate) fn left_of(delta: f64, delta_spent: f64) -> f64 {
    if delta_spent == 0.0 {
        delta
    } else {
        (delta - delta_spent).next_down()
    }
}

pub(crate) fn delta_of(event: &Event) -> f64 {
    match *event {
        Event::ApproximateEpsilon { delta, .. } => delta,
        _ => 0.0,
    }
}

/// The Rényi divergences of one event at every order of [`ORDERS`], rounded up.
pub fn divergences(event: &Event, row: &mut Row) -> Result<(), AccountantError> {
    if !event.is_valid() {
        return Err(AccountantError::InvalidEvent(*event));
    }
    match *event {
        Event::Gaussian {
            noise_multiplier, ..
        } => poisson::divergences(1.0, noise_multiplier, &ORDERS, &mut row.0),
        Event::PoissonSampledGaussian {
            sampling_probability,
            noise_multiplier,
            ..
        } => {
            poisson::divergences(sampling_probability, noise_multiplier, &ORDERS, &mut row.0);
        }
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => {
            for (slot, order) in row.0.iter_mut().zip(&ORDERS) {
                *slot = pure_divergence(epsilon, *order);
            }
        }
        Event::FixedSizeSampledGaussian {
            sampled,
            population,
            noise_multiplier,
        } => {
            let fraction = f64::from(sampled) / f64::from(population);
            fixed_size::divergences(fraction, noise_multiplier, &ORDERS, &mut row.0);
        }
    }
    Ok(())
}

/// Divergence of randomised response with e^ε : 1, the worst of all ε-private mechanisms; never
/// above ε.
///
/// **Equation**: (α−1)·r = ln[(e^(αε) + e^((1−α)ε))/(1+e^ε)], where the bracket − 1 = (e^(αε) −
/// 1)(1 − e^(−(α−1)ε))/(1 + e^ε): no cancellation for small ε. **Source**: Mironov 2017,
/// Proposition 5.
pub fn pure_divergence(epsilon: f64, order: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let excess_ln = poisson::ln_exp_m1(order * epsilon)
        + Scalar::ln(-math::exp_m1(-(order - 1.0) * epsilon))
        - epsilon
        - math::ln_1p(Scalar::exp(-epsilon));
    let ln_a = if excess_ln > 40.0 {
        excess_ln
    } else {
        math::ln_1p(Scalar::exp(excess_ln))
    };
    Scalar::min(ln_a / (order - 1.0) * ROUND_UP, epsilon)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn fresh_accountants_owe_nothing_and_composition_adds() {
        let mut accountant = RdpAccountant::new();
        assert_eq!(accountant.epsilon(1e-5).unwrap().epsilon, 0.0);
        let dry = accountant
            .epsilon_after(&Event::sampled(0.25, 1.0), 40, 1e-5)
            .unwrap();
        assert_eq!(accountant.releases(), 0);
        for _ in 0..40 {
            accountant.compose(&Event::sampled(0.25, 1.0), 1).unwrap();
        }
        let spent = accountant.epsilon(1e-5).unwrap();
        assert!(
            (spent.epsilon - dry.epsilon).abs() < 1e-9
                && spent.order == dry.order
                && spent.releases == 40
        );
        assert!(!spent.at_edge);
        let back = accountant.delta(spent.epsilon).unwrap();
        assert!((back / 1e-5 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn refuses_what_does_not_add() {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&Event::sampled(0.25, 1.0), 1).unwrap();
        let before = accountant.clone();
        let pure = Event::PureEpsilon {
            epsilon: 1.0,
            relation: NeighboringRelation::ReplaceOne,
        };
        assert!(matches!(
            accountant.compose(&pure, 1),
            Err(AccountantError::MixedRelations { .. })
        ));
        assert!(matches!(
            accountant.compose(&Event::sampled(0.25, 0.0), 1),
            Err(AccountantError::InvalidEvent(_))
        ));
        assert_eq!(accountant.epsilon(1e-5), before.epsilon(1e-5));
        for delta in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(matches!(
                accountant.epsilon(delta),
                Err(AccountantError::Delta(_))
            ));
        }
        assert!(accountant.delta(f64::NAN).is_err());
    }

    #[test]
    fn pure_events_stay_below_their_sum_and_put_delta_aside() {
        let relation = NeighboringRelation::ReplaceOne;
        let mut accountant = RdpAccountant::new();
        accountant
            .compose(
                &Event::PureEpsilon {
                    epsilon: 0.1,
                    relation,
                },
                100,
            )
            .unwrap();
        let spent = accountant.epsilon(1e-5).unwrap().epsilon;
        assert!(
            spent < 10.0 * 0.6,
            "advanced composition must be seen: {spent}"
        );
        for (epsilon, order) in [(1e-8, 1.1), (0.5, 2.0), (30.0, 5.0), (700.0, 1024.0)] {
            let r = pure_divergence(epsilon, order);
            assert!(
                r > 0.0 && r <= epsilon && r <= order * epsilon * epsilon / 2.0 * (1.0 + 1e-9),
                "{epsilon} {order}"
            );
        }
        // Against the plain formula.
        let e = 0.5f64;
        let a = 2.5f64;
        let plain = (((a * e).exp() + ((1.0 - a) * e).exp()) / (1.0 + e.exp())).ln() / (a - 1.0);
        assert!((pure_divergence(e, a) / plain - 1.0).abs() < 1e-10);

        let mut accountant = RdpAccountant::new();
        accountant
            .compose(
                &Event::ApproximateEpsilon {
                    epsilon: 0.5,
                    delta: 1e-6,
                    relation,
                },
                3,
            )
            .unwrap();
        assert!(accountant.epsilon(1e-5).is_ok());
        assert!(matches!(
            accountant.epsilon(3e-6),
            Err(AccountantError::NoFiniteEpsilon { .. })
        ));
    }

    fn bytes_of(accountant: &RdpAccountant) -> [u8; 2000] {
        let mut bytes = [0u8; 2000];
        postcard::to_slice(accountant, &mut bytes).unwrap();
        bytes
    }

    /// Bytes of an accountant, with one number overwritten: read back or refused.
    fn forge(
        accountant: &RdpAccountant,
        place: usize,
        bytes: &[u8],
    ) -> Result<RdpAccountant, StoredError> {
        let mut stored = bytes_of(accountant);
        stored[place..place + bytes.len()].copy_from_slice(bytes);
        let read: Stored = postcard::from_bytes(&stored).unwrap();
        RdpAccountant::try_from(read)
    }

    #[test]
    fn a_stored_loss_must_be_one_that_charges_lead_to() {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&Event::sampled(0.25, 1.0), 100).unwrap();
        assert_eq!(
            bytes_of(&forge(&accountant, 0, &[]).unwrap()),
            bytes_of(&accountant)
        );
        // 100 releases, a relation, and nothing spent.
        let zeros = [0; 8 * ORDER_COUNT];
        let refused = StoredError::Contradiction {
            releases: 100,
            costly: 100,
        };
        assert_eq!(forge(&accountant, 0, &zeros).unwrap_err(), refused);
        // One order that is cheap would be the best.
        assert_eq!(
            forge(&accountant, 8 * 40, &[0; 8]).unwrap_err(),
            StoredError::Falling { place: 40 }
        );
        assert!(matches!(
            forge(&accountant, 0, &[0; 8]),
            Err(StoredError::Contradiction { .. })
        ));
        // Fewer releases than costly ones; an infinite δ.
        let releases = 8 * ORDER_COUNT + 8;
        assert!(matches!(
            forge(&accountant, releases, &[99]),
            Err(StoredError::Contradiction { releases: 99, .. })
        ));
        let infinite = forge(&accountant, releases - 8, &f64::INFINITY.to_le_bytes());
        assert_eq!(infinite.unwrap_err(), StoredError::Delta(f64::INFINITY));
        // What costs nothing is honest, and so is what costs almost nothing.
        for (q, z) in [(0.0, 1.0), (1e-19, 0.1), (1e-300, 1.0), (1.0, 1e-3)] {
            let mut honest = RdpAccountant::new();
            honest.compose(&Event::sampled(q, z), 1000).unwrap();
            assert_eq!(
                bytes_of(&forge(&honest, 0, &[]).unwrap()),
                bytes_of(&honest),
                "{q} {z}"
            );
        }
    }

    #[test]
    fn honest_losses_are_believed() {
        let mut stream = crate::random::Stream::from_seed(10);
        let mut number = |low: f64, high: f64| low * (high / low).powf(stream.unit::<f64>());
        for i in 0..600 {
            let relation = NeighboringRelation::ReplaceOne;
            let mut accountant = RdpAccountant::new();
            let event = match i % 3 {
                0 => Event::sampled(number(1e-19, 1.0), number(1e-2, 1e4)),
                1 => Event::PureEpsilon {
                    epsilon: number(1e-12, 1e3),
                    relation,
                },
                _ => {
                    let population = number(1.0, 1e6) as u32;
                    let sampled = (f64::from(population) * number(1e-6, 1.0)) as u32;
                    let noise_multiplier = number(0.1, 1e3);
                    Event::FixedSizeSampledGaussian {
                        sampled: sampled.max(1),
                        population,
                        noise_multiplier,
                    }
                }
            };
            accountant.compose(&event, number(1.0, 1e4) as u32).unwrap();
            (0..20).for_each(|_| accountant.compose(&event, 1).unwrap());
            assert_eq!(
                bytes_of(&forge(&accountant, 0, &[]).unwrap()),
                bytes_of(&accountant),
                "{event:?}"
            );
        }
    }

    #[test]
    fn survives_a_checkpoint() {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&Event::sampled(0.35, 1.6), 7).unwrap();
        let mut bytes = [0u8; 2000];
        let used = postcard::to_slice(&accountant, &mut bytes).unwrap().len();
        let back: RdpAccountant = postcard::from_bytes(&bytes[..used]).unwrap();
        assert_eq!(back.epsilon(1e-5), accountant.epsilon(1e-5));
        // A negative divergence is refused: it would lower the loss.
        bytes[..8].copy_from_slice(&(-1.0f64).to_le_bytes());
        assert!(postcard::from_bytes::<RdpAccountant>(&bytes[..used]).is_err());
    }

    /// As a hostile reader has it: the slack for rounding grows with the releases that are
    /// claimed, without a bound.
    #[test]
    fn many_claimed_releases_do_not_excuse_a_row_that_falls() {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&Event::sampled(0.25, 1.0), 100).unwrap();
        let mut stored: Stored = postcard::from_bytes(&bytes_of(&accountant)).unwrap();
        stored.releases = u64::MAX;
        assert!(RdpAccountant::try_from(stored).is_ok(), "the control");
        let mut stored: Stored = postcard::from_bytes(&bytes_of(&accountant)).unwrap();
        (stored.spent.0[100], stored.releases) = (0.0, u64::MAX);
        let read = RdpAccountant::try_from(stored).map(|read| read.epsilon(1e-5).unwrap().epsilon);
        assert!(
            read.is_err(),
            "{read:?} after {:?}",
            accountant.epsilon(1e-5).unwrap().epsilon
        );
    }
}
