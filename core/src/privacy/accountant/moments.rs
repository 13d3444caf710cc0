//! The classic moments accountant, the one papers print.
//!
//! **Equation**: ε = min over λ = 1..32 of (Σ α(λ) + ln(1/δ))/λ, α(λ) = λ·r(λ+1). Rényi divergences at integer orders
//! 2..33 and the conversion of Abadi et al. 2016; 30 to 50 % above the truth.
//!
//! **Source**: Abadi et al. 2016, Theorem 2; Dai, Low, Jaillet 2021, §5.

use serde::{Deserialize, Serialize};

use super::order::check_delta;
use super::{AccountantError, PrivacySpent, poisson};
use crate::math::Scalar;
use crate::privacy::event::{Event, NeighboringRelation};

const MOMENTS: usize = 32;

/// Adds up log moments of Gaussian and Poisson-sampled Gaussian releases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentsAccountant {
    log_moments: [f64; MOMENTS],
    releases: u64,
    relation: Option<NeighboringRelation>,
}

impl Default for MomentsAccountant {
    fn default() -> Self {
        Self::new()
    }
}

impl MomentsAccountant {
    /// Nothing spent.
    pub const fn new() -> Self {
        MomentsAccountant { log_moments: [0.0; MOMENTS], releases: 0, relation: None }
    }

    /// Adds `count` releases of one event.
    ///
    /// **Errors**: [`AccountantError::InvalidEvent`], [`AccountantError::UnsupportedEvent`] (not Gaussian),
    /// [`AccountantError::MixedRelations`]; the accountant is unchanged.
    pub fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        if !event.is_valid() {
            return Err(AccountantError::InvalidEvent(*event));
        }
        let (q, z) = match *event {
            Event::Gaussian { noise_multiplier, .. } => (1.0, noise_multiplier),
            Event::PoissonSampledGaussian { sampling_probability, noise_multiplier, .. } => {
                (sampling_probability, noise_multiplier)
            }
            _ => return Err(AccountantError::UnsupportedEvent(*event)),
        };
        let now = event.relation();
        match self.relation {
            Some(before) if before != now => return Err(AccountantError::MixedRelations { before, now }),
            _ => self.relation = Some(now),
        }
        for (moment, lambda) in self.log_moments.iter_mut().zip(1u8..) {
            let lambda = f64::from(lambda);
            *moment += f64::from(count) * lambda * poisson::divergence(q, z, lambda + 1.0);
        }
        self.releases += u64::from(count);
        Ok(())
    }

    /// ε at δ; `order` is λ + 1.
    pub fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        check_delta(delta)?;
        let mut spent = PrivacySpent { epsilon: 0.0, delta, order: None, at_edge: false, releases: self.releases };
        if self.log_moments.iter().all(|moment| *moment == 0.0) {
            return Ok(spent);
        }
        spent.epsilon = f64::INFINITY;
        for (moment, lambda) in self.log_moments.iter().zip(1u8..) {
            let epsilon = (moment - Scalar::ln(delta)) / f64::from(lambda);
            if epsilon < spent.epsilon {
                spent.epsilon = epsilon;
                spent.order = Some(f64::from(lambda) + 1.0);
                spent.at_edge = lambda as usize == MOMENTS;
            }
        }
        if spent.epsilon.is_finite() {
            Ok(spent)
        } else {
            Err(AccountantError::NoFiniteEpsilon { delta, delta_spent: 0.0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composing_is_adding() {
        let event = Event::PoissonSampledGaussian {
            sampling_probability: 0.25,
            noise_multiplier: 1.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let (mut once, mut many) = (MomentsAccountant::new(), MomentsAccountant::new());
        once.compose(&event, 40).unwrap();
        (0..40).for_each(|_| many.compose(&event, 1).unwrap());
        let (a, b) = (once.epsilon(1e-5).unwrap(), many.epsilon(1e-5).unwrap());
        assert!((a.epsilon - b.epsilon).abs() < 1e-12 && a.order == b.order && a.releases == 40);
        assert_eq!(MomentsAccountant::new().epsilon(0.5).unwrap().epsilon, 0.0);
        assert!(once.epsilon(0.0).is_err() && once.epsilon(1.0).is_err() && once.epsilon(f64::NAN).is_err());
        let pure = Event::PureEpsilon { epsilon: 1.0, relation: NeighboringRelation::ReplaceSpecial };
        assert!(matches!(once.compose(&pure, 1), Err(AccountantError::UnsupportedEvent(_))));
    }
}
