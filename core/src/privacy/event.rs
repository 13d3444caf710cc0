//! What a release costs, and the release that carries it.
//!
//! **Example**: that of [`Event`].

use core::fmt;
use core::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::shift::ShiftUnit;
use crate::random::{Provenance, SourceKind};

/// Which two inputs a guarantee compares. Losses under different relations are not comparable.
///
/// ```
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let event = Event::FixedSizeSampledGaussian { sampled: 10, population: 100, noise_multiplier: 1.0 };
/// assert_eq!(event.relation(), NeighboringRelation::ReplaceOne);
/// assert_eq!(event.relation().to_string(), "replace one");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NeighboringRelation {
    /// One record more or less; the number of records is protected.
    AddOrRemoveOne,
    /// One record exchanged for any other; the number of records is public.
    ReplaceOne,
    /// One record exchanged for a special empty one ("zero-out"): an absent agent keeps its slot
    /// and its public weight and contributes zero.
    #[doc(alias = "zero-out")]
    ReplaceSpecial,
    /// One record moved by at most the unit named, where replacing it altogether is *not* covered.
    /// Shifts by different units are different relations: their losses do not add.
    ShiftOne {
        /// The distance that is protected, in the data owner's own units.
        unit: ShiftUnit,
    },
}

impl fmt::Display for NeighboringRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NeighboringRelation::AddOrRemoveOne => "add or remove one",
            NeighboringRelation::ReplaceOne => "replace one",
            NeighboringRelation::ShiftOne { unit } => {
                return write!(f, "shift one by at most {unit}");
            }
            NeighboringRelation::ReplaceSpecial => "replace one by nothing (zero-out)",
        })
    }
}

/// One release, as accountants see it.
///
/// Noise multipliers are noise std ÷ L2 sensitivity *under the relation named*. Plain data:
/// accountants refuse values out of range ([`Event::is_valid`]), wherever they come from.
///
/// ```
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let relation = NeighboringRelation::AddOrRemoveOne;
/// let sampled = |q| Event::PoissonSampledGaussian { sampling_probability: q, noise_multiplier: 1.0, relation };
/// assert_eq!(sampled(0.1).relation(), relation);
/// assert!(sampled(0.1).is_valid());
/// assert!(!sampled(1.1).is_valid() && !sampled(f64::NAN).is_valid());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// Gaussian noise on everything.
    Gaussian {
        /// Noise std ÷ L2 sensitivity, > 0.
        noise_multiplier: f64,
        /// The relation the sensitivity is for.
        relation: NeighboringRelation,
    },
    /// Each record included independently with the sampling probability, in secret; then Gaussian
    /// noise.
    PoissonSampledGaussian {
        /// Inclusion probability in [0, 1], never below the one used.
        sampling_probability: f64,
        /// Noise std ÷ L2 sensitivity, > 0.
        noise_multiplier: f64,
        /// [`NeighboringRelation::AddOrRemoveOne`] or [`NeighboringRelation::ReplaceSpecial`].
        relation: NeighboringRelation,
    },
    /// A secret uniform subset of fixed size without replacement, then Gaussian noise; under
    /// [`NeighboringRelation::ReplaceOne`].
    FixedSizeSampledGaussian {
        /// Size of the subset, 1 ≤ sampled ≤ population.
        sampled: u32,
        /// Number of records.
        population: u32,
        /// Noise std ÷ *replace-one* L2 sensitivity (twice the clipping norm), > 0.
        noise_multiplier: f64,
    },
    /// Any mechanism of pure ε: discrete Laplace, permute-and-flip.
    PureEpsilon {
        /// The bound ε ≥ 0 of the loss.
        epsilon: f64,
        /// Neighbouring relation of the bound.
        relation: NeighboringRelation,
    },
    /// Any mechanism of (ε, δ).
    ApproximateEpsilon {
        /// The bound ε ≥ 0 of the loss.
        epsilon: f64,
        /// δ in [0, 1], added to every bound by e^ε.
        delta: f64,
        /// Neighbouring relation of the bound.
        relation: NeighboringRelation,
    },
}

impl Event {
    /// One Poisson-sampled Gaussian release, where an absent agent contributes nothing
    /// ([`NeighboringRelation::ReplaceSpecial`]).
    ///
    /// **Parameters**: the inclusion probability; noise std ÷ L2 sensitivity.
    ///
    /// ```
    /// use sordino_core::privacy::{Event, NeighboringRelation};
    ///
    /// let event = Event::sampled(0.25, 1.0);
    /// assert!(event.is_valid() && event.relation() == NeighboringRelation::ReplaceSpecial);
    /// ```
    pub const fn sampled(sampling_probability: f64, noise_multiplier: f64) -> Self {
        Event::PoissonSampledGaussian {
            sampling_probability,
            noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }

    /// The relation under which this event's loss is meant.
    pub const fn relation(&self) -> NeighboringRelation {
        match *self {
            Event::Gaussian { relation, .. }
            | Event::PoissonSampledGaussian { relation, .. }
            | Event::PureEpsilon { relation, .. }
            | Event::ApproximateEpsilon { relation, .. } => relation,
            Event::FixedSizeSampledGaussian { .. } => NeighboringRelation::ReplaceOne,
        }
    }

    /// Every number is in its range (NaN is not), and the relation is one the event is defined for.
    pub fn is_valid(&self) -> bool {
        let multiplier = |z: f64| z > 0.0 && z.is_finite();
        match *self {
            Event::Gaussian {
                noise_multiplier, ..
            } => multiplier(noise_multiplier),
            Event::PoissonSampledGaussian {
                sampling_probability: q,
                noise_multiplier,
                relation,
            } => {
                multiplier(noise_multiplier)
                    && (0.0..=1.0).contains(&q)
                    && !matches!(
                        relation,
                        NeighboringRelation::ReplaceOne | NeighboringRelation::ShiftOne { .. }
                    )
            }
            Event::FixedSizeSampledGaussian {
                sampled,
                population,
                noise_multiplier,
            } => multiplier(noise_multiplier) && sampled >= 1 && sampled <= population,
            Event::PureEpsilon { epsilon, .. } => epsilon >= 0.0 && epsilon.is_finite(),
            Event::ApproximateEpsilon { epsilon, delta, .. } => {
                epsilon >= 0.0 && epsilon.is_finite() && (0.0..=1.0).contains(&delta)
            }
        }
    }
}

/// A noised value together with what it cost and how its noise was made. Only mechanisms make one.
///
/// **Privacy**: code that publishes should take `Release<_, Private>`; a simulated release is
/// another type and prints "simulation: not private". Its value cannot be exchanged from outside: a
/// cheap release would become a release of anything, the data included. So this is all that can be
/// done with one:
///
/// ```
/// use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
/// use sordino_core::privacy::{Epsilon, Simulated};
/// use sordino_core::random::Stream;
///
/// let mechanism = ClampedLaplace::new(1.0, 16, Epsilon::new(0.5).unwrap()).unwrap();
/// let release = mechanism.privatize(0.7f64, &mut Simulated::new(Stream::from_seed(1))).unwrap();
/// let (value, event) = release.into_parts();
/// assert!(value.is_finite() && event == mechanism.event());
/// ```
///
/// and this is not:
///
/// ```compile_fail,E0624
/// # use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
/// # use sordino_core::privacy::{Epsilon, Simulated};
/// # use sordino_core::random::Stream;
/// # let mechanism = ClampedLaplace::new(1.0, 16, Epsilon::new(0.5).unwrap()).unwrap();
/// # let release = mechanism.privatize(0.7f64, &mut Simulated::new(Stream::from_seed(1))).unwrap();
/// let stolen = release.map(|_| "the data");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Release<V, P: Provenance> {
    value: V,
    event: Event,
    provenance: PhantomData<P>,
}

impl<V, P: Provenance> Release<V, P> {
    pub(in crate::privacy) const fn new(value: V, event: Event) -> Self {
        Release {
            value,
            event,
            provenance: PhantomData,
        }
    }

    /// The noised value.
    pub const fn value(&self) -> &V {
        &self.value
    }

    /// The event that the release was charged with.
    pub const fn event(&self) -> Event {
        self.event
    }

    /// Secret noise or a simulation.
    pub const fn kind(&self) -> SourceKind {
        P::KIND
    }

    /// The same release with its value read in another unit: post-processing, at no further cost.
    ///
    /// For mechanisms of this crate alone, since nothing keeps `read` from looking at protected
    /// data.
    pub(crate) fn map<W>(self, read: impl FnOnce(V) -> W) -> Release<W, P> {
        Release {
            value: read(self.value),
            event: self.event,
            provenance: PhantomData,
        }
    }

    /// Takes the release apart into value and event.
    pub fn into_parts(self) -> (V, Event) {
        (self.value, self.event)
    }
}

impl<V: fmt::Display, P: Provenance> fmt::Display for Release<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.value, P::KIND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_not_valid() {
        use NeighboringRelation::*;
        let sampled = |q, z, relation| Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: z,
            relation,
        };
        assert!(
            sampled(0.0, 1.0, ReplaceSpecial).is_valid()
                && sampled(1.0, 1e-300, AddOrRemoveOne).is_valid()
        );
        for bad in [
            sampled(f64::NAN, 1.0, ReplaceSpecial),
            sampled(-0.1, 1.0, ReplaceSpecial),
            sampled(1.1, 1.0, ReplaceSpecial),
            sampled(0.5, 0.0, ReplaceSpecial),
            sampled(0.5, f64::INFINITY, ReplaceSpecial),
            sampled(0.5, 1.0, ReplaceOne),
            Event::PureEpsilon {
                epsilon: f64::NAN,
                relation: ReplaceOne,
            },
            Event::ApproximateEpsilon {
                epsilon: 1.0,
                delta: 1.5,
                relation: ReplaceOne,
            },
            Event::FixedSizeSampledGaussian {
                sampled: 3,
                population: 2,
                noise_multiplier: 1.0,
            },
        ] {
            assert!(!bad.is_valid(), "{bad:?}");
        }
    }
}
