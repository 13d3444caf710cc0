//! What the loss of one release is: events, compared with nothing or between two contributions.

#![cfg(feature = "alloc")]

use crate::math::{self, Scalar};
use crate::privacy::Event;
use crate::privacy::accountant::{AccountantError, analytic, poisson, rdp, replace, with_nothing};

use super::opposed;

/// Which two worlds are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compared {
    /// Those of the events' own relation.
    Neighbours,
    /// Any two contributions, where the events' relation compares one with nothing.
    Contributions,
}

/// The loss of one release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// N(1) against N(0).
    Gaussian { z: f64 },
    /// (1 − q)N(0) + qN(1) against N(0): two directions.
    Sampled { q: f64, z: f64 },
    /// (1 − q)N(0) + qN(1) against (1 − q)N(0) + qN(−1): its own mirror image, 0 < q < 1.
    Opposed { q: f64, z: f64 },
    /// Randomised response, which every ε-private mechanism is no worse than.
    Pure { epsilon: f64 },
}

impl Kind {
    /// The loss of one release of a valid event.
    ///
    /// **Errors**: [`AccountantError::UnsupportedEvent`] for fixed-size samples,
    /// [`AccountantError::OneUnitOnly`].
    pub(super) fn of(event: &Event, compared: Compared) -> Result<Self, AccountantError> {
        let apart = match compared {
            Compared::Neighbours => false,
            Compared::Contributions => with_nothing(event.relation())?,
        };
        let gaussian = |z: f64| Kind::Gaussian {
            z: if apart { 0.5 * z } else { z },
        };
        Ok(match *event {
            Event::Gaussian {
                noise_multiplier, ..
            } => gaussian(noise_multiplier),
            Event::PoissonSampledGaussian {
                sampling_probability: 1.0,
                noise_multiplier,
                ..
            } if apart => gaussian(noise_multiplier),
            Event::PoissonSampledGaussian {
                sampling_probability: q,
                noise_multiplier: z,
                ..
            } => {
                if apart && q > 0.0 {
                    Kind::Opposed { q, z }
                } else {
                    Kind::Sampled { q, z }
                }
            }
            Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => {
                Kind::Pure {
                    epsilon: if apart { 2.0 * epsilon } else { epsilon },
                }
            }
            Event::FixedSizeSampledGaussian { .. } => {
                return Err(AccountantError::UnsupportedEvent(*event));
            }
        })
    }

    /// δ that one release of an event puts aside: between two contributions once, and e^ε times
    /// once more.
    pub(super) fn delta_of(event: &Event, compared: Compared) -> f64 {
        let Event::ApproximateEpsilon {
            epsilon,
            delta,
            relation,
        } = *event
        else {
            return 0.0;
        };
        match (compared, with_nothing(relation)) {
            (Compared::Contributions, Ok(true)) => {
                delta * (1.0 + Scalar::exp(epsilon)) * (1.0 + 1e-14)
            }
            _ => delta,
        }
    }

    /// Nobody is sampled: nothing is lost.
    pub(super) fn is_nothing(self) -> bool {
        matches!(self, Kind::Sampled { q: 0.0, .. })
    }

    /// The multiplier of a Gaussian on everything, +∞ on nothing.
    pub(super) const fn unsampled(self) -> Option<f64> {
        match self {
            Kind::Gaussian { z } | Kind::Sampled { q: 1.0, z } => Some(z),
            Kind::Sampled { q: 0.0, .. } => Some(f64::INFINITY),
            _ => None,
        }
    }

    /// Rényi divergence of one release at any order.
    pub(super) fn divergence(self, order: f64) -> f64 {
        match self {
            Kind::Gaussian { z } => order / (2.0 * z * z),
            Kind::Sampled { q, z } => poisson::divergence(q, z, order),
            Kind::Opposed { q, z } => replace::divergence(q, z, order),
            Kind::Pure { epsilon } => rdp::pure_divergence(epsilon, order),
        }
    }

    /// ε of one release alone, where it has a closed form.
    pub(super) fn once(self, target: f64) -> Option<Result<f64, AccountantError>> {
        match self {
            Kind::Sampled { q, z } => Some(single(q, z, target)),
            Kind::Opposed { q, z } => Some(opposed::once(q, z, target)),
            Kind::Gaussian { .. } | Kind::Pure { .. } => None,
        }
    }
}

/// ε of one Poisson-sampled Gaussian: δ(ε) = q·δ_Gauss(ln(1 + (e^ε − 1)/q)), which for ε ≥ 0 is the
/// larger direction.
fn single(q: f64, z: f64, target: f64) -> Result<f64, AccountantError> {
    if q == 0.0 || target >= q {
        return Ok(0.0);
    }
    let inner = analytic::epsilon(z, target / q)?;
    // ε = ln(1 + q(e^inner − 1)), rounded up.
    let epsilon = if inner > 700.0 {
        inner + Scalar::ln(q)
    } else {
        math::ln_1p(q * math::exp_m1(inner))
    };
    Ok(Scalar::max(epsilon * (1.0 + 1e-12), 0.0))
}
