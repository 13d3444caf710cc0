//! Gaussian releases without sampling: together they are one Gaussian, so nothing is lost.
//!
//! **Equation**: noise multipliers z₁, z₂, … compose to 1/√(Σ 1/zᵢ²); its (ε, δ) is that of
//! [`super::analytic`].
//!
//! **Source**: Dong, Roth, Su 2022, Corollary 3.3; Balle, Wang 2018, Theorem 8.
//!
//! **Example**: that of [`GaussianAccountant`].

use super::order::check_delta;
use super::{Accountant, AccountantError, PrivacySpent, Quality, add_up, analytic, with_nothing};
use crate::math::Scalar;
use crate::privacy::event::{Event, NeighboringRelation};

/// Adds up unsampled Gaussians, exactly but for rounding, which goes up.
///
/// ```
/// use sordino_core::privacy::accountant::{Accountant, GaussianAccountant, analytic};
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let mut accountant = GaussianAccountant::new();
/// accountant.compose(&Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceOne }, 4)?;
/// assert!((accountant.noise_multiplier() - 1.0).abs() < 1e-14); // 1/√(4/2²)
/// assert!((accountant.epsilon(1e-5)?.epsilon - analytic::epsilon(1.0, 1e-5)?).abs() < 1e-10);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GaussianAccountant {
    /// Σ 1/z², rounded up.
    precision: f64,
    releases: u64,
    relation: Option<NeighboringRelation>,
}

impl GaussianAccountant {
    /// An accountant that has spent nothing.
    pub const fn new() -> Self {
        GaussianAccountant {
            precision: 0.0,
            releases: 0,
            relation: None,
        }
    }

    /// The noise multiplier of all releases as one, rounded down; +∞ before the first.
    pub fn noise_multiplier(&self) -> f64 {
        // A root and a quotient: each rounds by half a unit.
        if self.precision == 0.0 {
            f64::INFINITY
        } else {
            (1.0 / Scalar::sqrt(self.precision)) * (1.0 - 4e-16)
        }
    }

    fn epsilon_of(&self, z: f64, delta: f64) -> Result<PrivacySpent, AccountantError> {
        check_delta(delta)?;
        if !(z > 0.0) {
            return Err(AccountantError::NoFiniteEpsilon {
                delta,
                delta_spent: 0.0,
            });
        }
        Ok(PrivacySpent {
            epsilon: analytic::epsilon(z, delta)?,
            delta,
            quality: Quality::Exact,
            order: None,
            at_edge: false,
            releases: self.releases,
        })
    }
}

/// 1/z², rounded up, of an event that is a Gaussian on everything or on nothing.
fn precision(event: &Event) -> Option<f64> {
    let z = match *event {
        Event::Gaussian {
            noise_multiplier, ..
        } => noise_multiplier,
        Event::PoissonSampledGaussian {
            sampling_probability: 0.0,
            ..
        } => return Some(0.0),
        Event::PoissonSampledGaussian {
            sampling_probability: 1.0,
            noise_multiplier,
            ..
        } => noise_multiplier,
        _ => return None,
    };
    // Positive also where z² overflows.
    Some((1.0 / (z * z) * (1.0 + 4e-16)).next_up())
}

impl Accountant for GaussianAccountant {
    /// Gaussians, and sampled ones with probability 1 or 0.
    fn supports(&self, event: &Event) -> bool {
        precision(event).is_some()
    }

    fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        if !event.is_valid() {
            return Err(AccountantError::InvalidEvent(*event));
        }
        let precision = precision(event).ok_or(AccountantError::UnsupportedEvent(*event))?;
        event.relation().adds_to(self.relation)?;
        if count == 0 {
            return Ok(());
        }
        self.relation = Some(event.relation());
        self.precision = add_up(self.precision, count, precision);
        self.releases = self.releases.saturating_add(count.into());
        Ok(())
    }

    fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        self.epsilon_of(self.noise_multiplier(), delta)
    }

    fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        if epsilon >= 0.0 {
            Ok(analytic::delta(self.noise_multiplier(), epsilon))
        } else {
            Err(AccountantError::Epsilon(epsilon))
        }
    }

    fn relation(&self) -> Option<NeighboringRelation> {
        self.relation
    }

    /// Exact: two contributions lie at most two sensitivities apart, so the multiplier halves.
    fn replace_epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        let whole = self.noise_multiplier();
        let z = match self.relation.map(with_nothing) {
            Some(Err(error)) => return Err(error),
            Some(Ok(true)) => 0.5 * whole,
            None | Some(Ok(false)) => whole,
        };
        self.epsilon_of(z, delta)
    }
}
