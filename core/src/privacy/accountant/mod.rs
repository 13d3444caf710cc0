//! Accountants: events → (ε, δ). They err upwards: a guarantee is never below the truth.
//!
//! [`Accountant`] is what all of them can do. Which one to ask:
//!
//! | accountant | knows | tight? |
//! |---|---|---|
//! | `PldAccountant` (feature `alloc`) | every event but fixed-size samples | within about 1e-4 of the truth, relative: the number to cite |
//! | [`RdpAccountant`] | every event, fixed-size samples too | 15–35 % above; what a budget's filter may count, and all a device has room for |
//! | [`GaussianAccountant`] | Gaussians without sampling | exact |
//! | [`MomentsAccountant`] | Gaussians, sampled or not | 30–50 % above: to compare with papers |
//!
//! | module | what | tight? |
//! |---|---|---|
//! | `pld` (feature `alloc`) | privacy-loss distributions, convolved: every event but fixed-size samples | within about 1e-4 of the truth, relative |
//! | [`rdp`] | the Rényi accountant, every event, heterogeneous rounds | 15–35 % above the truth |
//! | [`moments`] | the classic moments accountant, as papers print it | 30–50 % above |
//! | [`poisson`] | Rényi divergence of the Poisson-sampled Gaussian at any order | exact |
//! | [`fixed_size`] | the same for a subset of fixed size, under replace-one | upper bound |
//! | [`analytic`] | the unsampled Gaussian; [`gaussian`] adds many of them up | exact |
//! | [`pure`] | equal releases of pure ε | exact |
//! | [`replace`] | ε between any two contributions, where events compare with nothing; how often a guess is right | |
//! | [`order`] | the grid of Rényi orders and the conversion to (ε, δ) | |
//!
//! The central-limit approximation is not a bound, and is nowhere exposed as one.
//!
//! **Example**: that of [`Accountant`].

pub mod analytic;
pub mod fixed_size;
pub mod gaussian;
pub mod moments;
pub mod order;
#[cfg(feature = "alloc")]
pub mod pld;
pub mod poisson;
pub mod pure;
pub mod rdp;
pub mod replace;
#[cfg(test)]
mod tests;

use core::fmt;

use super::event::{Event, NeighboringRelation};
use crate::math::Scalar;

pub use gaussian::GaussianAccountant;
pub use moments::MomentsAccountant;
#[cfg(feature = "alloc")]
pub use pld::PldAccountant;
pub use rdp::RdpAccountant;

/// Why a loss cannot be computed.
///
/// **Example**: that of [`RdpAccountant`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AccountantError {
    /// A number of the event is out of range ([`Event::is_valid`]).
    InvalidEvent(Event),
    /// This accountant does not know this kind of event.
    UnsupportedEvent(Event),
    /// Events under two different neighbouring relations do not add.
    MixedRelations {
        /// What was composed before.
        before: NeighboringRelation,
        /// Relation of the event that came now.
        now: NeighboringRelation,
    },
    /// δ is not in (0, 1).
    Delta(f64),
    /// ε is negative or NaN.
    Epsilon(f64),
    /// No finite ε at this δ: the δ spent by (ε, δ) events reaches it, or the loss overflows.
    NoFiniteEpsilon {
        /// The δ that was asked for.
        delta: f64,
        /// δ already spent.
        delta_spent: f64,
    },
    /// The events protect a shift by one unit and no replacement: nothing bounds what two
    /// contributions tell apart.
    OneUnitOnly,
}

impl fmt::Display for AccountantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccountantError::InvalidEvent(event) => write!(f, "a number of {event:?} is out of range"),
            AccountantError::UnsupportedEvent(event) => write!(f, "this accountant does not know {event:?}"),
            AccountantError::MixedRelations { before, now } => {
                write!(f, "losses under \"{before}\" and \"{now}\" do not add")
            }
            AccountantError::Delta(delta) => write!(f, "delta {delta} is not in (0, 1)"),
            AccountantError::Epsilon(epsilon) => write!(f, "epsilon {epsilon} is negative or not a number"),
            AccountantError::NoFiniteEpsilon { delta, delta_spent } => {
                write!(f, "no finite epsilon at delta {delta}: {delta_spent} of it is spent, or the loss overflows")
            }
            AccountantError::OneUnitOnly => {
                f.write_str("these releases protect a shift by one unit, and nothing between any two contributions")
            }
        }
    }
}

impl core::error::Error for AccountantError {}

impl NeighboringRelation {
    /// Whether a loss under this relation adds to what was composed before: only to one under the
    /// same relation, and to nothing.
    ///
    /// **Errors**: [`AccountantError::MixedRelations`].
    ///
    /// ```
    /// use sordino_core::privacy::NeighboringRelation::{AddOrRemoveOne, ReplaceOne};
    ///
    /// assert!(ReplaceOne.adds_to(None).is_ok() && ReplaceOne.adds_to(Some(ReplaceOne)).is_ok());
    /// assert!(ReplaceOne.adds_to(Some(AddOrRemoveOne)).is_err());
    /// ```
    pub fn adds_to(self, before: Option<Self>) -> Result<(), AccountantError> {
        match before {
            Some(before) if before != self => {
                Err(AccountantError::MixedRelations { before, now: self })
            }
            _ => Ok(()),
        }
    }
}

/// Why a stored accountant is not believed: no sequence of charges leads to it, and it would lower
/// the next sum.
///
/// A format that keeps the reason shows it; postcard only says that the bytes hold no accountant:
///
/// ```
/// use sordino_core::privacy::NeighboringRelation;
/// use sordino_core::privacy::accountant::{RdpAccountant, StoredError, order::Row};
///
/// let mut bytes = [0; 2048];
/// let one_release_under_no_relation = (Row::ZERO, 0.0, 1u64, 0u64, None::<NeighboringRelation>);
/// let stored = postcard::to_slice(&one_release_under_no_relation, &mut bytes).unwrap();
/// assert!(postcard::from_bytes::<RdpAccountant>(stored).is_err());
/// assert!(StoredError::Contradiction { releases: 1, costly: 0 }.to_string().ends_with("contradict each other"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StoredError {
    /// A log moment is negative or not a number.
    Negative {
        /// Index of the stored number.
        place: usize,
        /// The number as stored.
        value: f64,
    },
    /// δ spent is negative or not a number.
    Delta(f64),
    /// The loss falls with the order; that of every event rises.
    Falling {
        /// Index of the lower number.
        place: usize,
    },
    /// Releases, those of them that cost something, the relation and what was spent contradict each
    /// other: something is spent exactly if a release cost something, and there is a relation
    /// exactly if there is a release.
    Contradiction {
        /// Number of releases.
        releases: u64,
        /// Number of those that cost something, at most all.
        costly: u64,
    },
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredError::Negative { place, value } => {
                write!(f, "stored log moment {place} is {value}, not in [0, inf]")
            }
            StoredError::Delta(delta) => {
                write!(f, "stored delta spent is {delta}, not in [0, inf)")
            }
            StoredError::Falling { place } => {
                write!(
                    f,
                    "stored loss at place {place} is below the one before; losses rise with the order"
                )
            }
            StoredError::Contradiction { releases, costly } => {
                write!(
                    f,
                    "stored loss, relation, {releases} releases and {costly} costly ones contradict each other"
                )
            }
        }
    }
}

impl core::error::Error for StoredError {}

/// What both accountants require of stored numbers at rising orders.
///
/// A release is costly if it costs something at the lowest order; it then does at every order.
fn judge(losses: &[f64], releases: u64, costly: u64, related: bool) -> Result<(), StoredError> {
    // Additions round up by 2 units at most, at one order and not at the next: honest losses fall
    // by no more than that. The number of releases is as little believed as the losses: it excuses
    // no more than 2e9 additions would.
    let slack = (1e-9 + 5e-16 * releases as f64).min(1e-6);
    if let Some(i) = losses
        .windows(2)
        .position(|pair| !(pair[1] >= pair[0] * (1.0 - slack)))
    {
        return Err(StoredError::Falling { place: i + 1 });
    }
    let spent = losses.first().is_some_and(|loss| *loss > 0.0);
    let nothing = losses.iter().all(|loss| *loss == 0.0);
    if costly > releases
        || spent != (costly > 0)
        || (releases == 0 && !nothing)
        || (releases == 0) == related
    {
        return Err(StoredError::Contradiction { releases, costly });
    }
    Ok(())
}

/// Adds up the losses of releases and converts the sum; implemented by every accountant of this
/// module.
///
/// **Numerics**: one-sided. ε and δ are never below those of the events composed.
///
/// ```
/// use sordino_core::privacy::accountant::{Accountant, MomentsAccountant, RdpAccountant};
/// use sordino_core::privacy::Event;
///
/// let event = Event::sampled(0.25, 1.0);
/// let mut epsilons = [0.0; 2];
/// let accountants: [&mut dyn Accountant; 2] = [&mut RdpAccountant::new(), &mut MomentsAccountant::new()];
/// for (accountant, epsilon) in accountants.into_iter().zip(&mut epsilons) {
///     assert!(accountant.supports(&event));
///     accountant.compose(&event, 40).unwrap();
///     *epsilon = accountant.epsilon(0.00294).unwrap().epsilon;
/// }
/// assert!((epsilons[0] - 8.362).abs() < 0.002 && (epsilons[1] - 9.91).abs() < 0.002);
/// ```
pub trait Accountant {
    /// Whether [`Accountant::compose`] knows this kind of event; a number out of range is another
    /// matter.
    fn supports(&self, event: &Event) -> bool;

    /// Adds `count` releases of one event; none fix no relation.
    ///
    /// **Errors**: [`AccountantError::InvalidEvent`], [`AccountantError::UnsupportedEvent`],
    /// [`AccountantError::MixedRelations`]; what was spent is unchanged.
    fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError>;

    /// ε of everything composed, at δ in (0, 1).
    ///
    /// **Errors**: [`AccountantError::Delta`], [`AccountantError::NoFiniteEpsilon`].
    fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError>;

    /// δ of everything composed, at ε ≥ 0; at most 1.
    ///
    /// **Errors**: [`AccountantError::Epsilon`].
    fn delta(&self, epsilon: f64) -> Result<f64, AccountantError>;

    /// The relation of everything composed; nothing before the first event.
    fn relation(&self) -> Option<NeighboringRelation>;

    /// ε between any two contributions that an agent may have sent, at the same δ ([`replace`]);
    /// what [`Accountant::epsilon`] says where events compare two contributions already.
    ///
    /// **Errors**: as [`Accountant::epsilon`]; [`AccountantError::OneUnitOnly`] where replacing is
    /// not covered.
    fn replace_epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        by_nothing(self, delta)
    }

    /// How often the best guess which of two neighbours the data is ("used or counted as nothing")
    /// is right at most, where both are as likely: (1 + δ(0))/2, [`best_guess`].
    ///
    /// **Errors**: as [`Accountant::delta`].
    fn best_guess(&self) -> Result<f64, AccountantError> {
        self.delta(0.0).map(best_guess)
    }
}

/// How often the best guess "used or counted as nothing" is right at most, where both are as likely
/// beforehand.
///
/// **Equation**: (1 + δ(0))/2; δ at ε = 0 is the total variation between the two worlds, and nobody
/// guesses better (Neyman and Pearson).
///
/// **Parameters**: δ(0) in \[0, 1\]; anything else counts as 1.
///
/// ```
/// use sordino_core::privacy::accountant::{analytic, best_guess};
///
/// assert_eq!((best_guess(0.0), best_guess(1.0), best_guess(f64::NAN)), (0.5, 1.0, 1.0));
/// let once = best_guess(analytic::delta(1.0, 0.0)); // one Gaussian of multiplier 1: Φ(½)
/// assert!((once - 0.691_462_461).abs() < 1e-9);
/// ```
pub fn best_guess(total_variation: f64) -> f64 {
    if (0.0..=1.0).contains(&total_variation) {
        0.5 + 0.5 * total_variation
    } else {
        1.0
    }
}

/// Whether losses under a relation compare with nothing (`true`) or already with any other
/// (`false`).
///
/// **Errors**: [`AccountantError::OneUnitOnly`] where replacing is not covered at all.
const fn with_nothing(relation: NeighboringRelation) -> Result<bool, AccountantError> {
    match relation {
        NeighboringRelation::ReplaceSpecial | NeighboringRelation::AddOrRemoveOne => Ok(true),
        NeighboringRelation::ReplaceOne => Ok(false),
        NeighboringRelation::ShiftOne { .. } => Err(AccountantError::OneUnitOnly),
    }
}

/// ε between two contributions by way of "nothing": 2ε′, the least for which δ(ε′)·(1 + e^ε′) ≤ δ.
fn by_nothing<A: Accountant + ?Sized>(
    accountant: &A,
    delta: f64,
) -> Result<PrivacySpent, AccountantError> {
    let spent = accountant.epsilon(delta)?;
    match accountant.relation().map(with_nothing) {
        None | Some(Ok(false)) => return Ok(spent),
        Some(Err(error)) => return Err(error),
        Some(Ok(true)) => {}
    }
    let enough = |epsilon: f64| {
        let group = (1.0 + Scalar::exp(epsilon)) * (1.0 + 1e-14);
        accountant
            .delta(epsilon)
            .is_ok_and(|at| at * group <= delta)
    };
    let order = None;
    let at_edge = false;
    let quality = Quality::Upper;
    if enough(0.0) {
        return Ok(PrivacySpent {
            epsilon: 0.0,
            order,
            at_edge,
            quality,
            ..spent
        });
    }
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        // e^ε overflows.
        if high > 512.0 {
            return Err(AccountantError::NoFiniteEpsilon {
                delta,
                delta_spent: 0.0,
            });
        }
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if enough(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Ok(PrivacySpent {
        epsilon: 2.0 * high,
        order,
        at_edge,
        quality,
        ..spent
    })
}

/// How close to the truth an ε is. None is below it.
///
/// ```
/// use sordino_core::privacy::accountant::{Accountant, GaussianAccountant, Quality};
///
/// assert_eq!(GaussianAccountant::new().epsilon(1e-5)?.quality, Quality::Exact);
/// assert_eq!(Quality::Exact.name(), "exact");
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Closed form: right but for rounding.
    Exact,
    /// Within the tolerance asked for, 1e-4 unless told otherwise.
    Tight,
    /// An upper bound, whose distance is not known.
    Upper,
}

impl Quality {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Quality::Exact => "exact",
            Quality::Tight => "tight",
            Quality::Upper => "upper",
        }
    }
}

/// A loss, with what is needed to judge it.
///
/// **Example**: that of [`RdpAccountant`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacySpent {
    /// ε ≥ 0 of the guarantee.
    pub epsilon: f64,
    /// The δ it is for.
    pub delta: f64,
    /// How close it is to the truth.
    pub quality: Quality,
    /// The Rényi order that gave it; nothing if no event was composed, or if the accountant has no
    /// orders.
    pub order: Option<f64>,
    /// The order is the first or last of the grid: a wider grid might say less.
    pub at_edge: bool,
    /// Number of releases composed.
    pub releases: u64,
}

/// spent + count·loss for what is not negative, never below the exact value; nothing is added for a
/// count or a loss of 0, whatever the other is.
pub(super) fn add_up(spent: f64, count: impl Into<f64>, loss: f64) -> f64 {
    let count = count.into();
    if count == 0.0 || loss == 0.0 {
        spent
    } else {
        (spent + (count * loss).next_up()).next_up()
    }
}
