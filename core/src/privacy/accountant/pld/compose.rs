//! The tight accountant as others are: events one after the other.

#![cfg(feature = "alloc")]

use alloc::vec::Vec;

use super::{Loss, Options, Rounds};
use crate::privacy::accountant::{Accountant, AccountantError, PrivacySpent, best_guess};
use crate::privacy::event::{Event, NeighboringRelation};

/// Remembers the events, equal neighbours as one with its count, and convolves them when asked.
///
/// **Cost**: composing is free; ε costs what [`super::epsilon`] does, about a millisecond for equal
/// rounds, and δ twenty times that. Nothing is kept between two questions.
///
/// ```
/// use sordino_core::privacy::accountant::{Accountant, PldAccountant, Quality, RdpAccountant};
/// use sordino_core::privacy::Event;
///
/// let event = Event::sampled(0.25, 1.0);
/// let (mut tight, mut upper) = (PldAccountant::new(), RdpAccountant::new());
/// tight.compose(&event, 40)?;
/// upper.compose(&event, 40)?;
/// let (tight, upper) = (tight.epsilon(1e-5)?, upper.epsilon(1e-5)?);
/// assert_eq!(tight.quality, Quality::Tight);
/// assert!(tight.epsilon < upper.epsilon);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PldAccountant {
    rounds: Vec<Rounds>,
    releases: u64,
    options: Options,
}

impl PldAccountant {
    /// Nothing spent; [`Options::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing spent; answers as accurate as these options ask for.
    pub const fn with(options: Options) -> Self {
        PldAccountant {
            rounds: Vec::new(),
            releases: 0,
            options,
        }
    }

    /// The relation of everything composed; nothing before the first event.
    pub fn relation(&self) -> Option<NeighboringRelation> {
        self.rounds.first().map(|(event, _)| event.relation())
    }

    fn spent(&self, delta: f64, loss: Loss) -> PrivacySpent {
        PrivacySpent {
            epsilon: loss.epsilon,
            delta,
            quality: loss.quality,
            order: None,
            at_edge: false,
            releases: self.releases,
        }
    }
}

impl Accountant for PldAccountant {
    fn supports(&self, event: &Event) -> bool {
        !matches!(event, Event::FixedSizeSampledGaussian { .. })
    }

    fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        if !event.is_valid() {
            return Err(AccountantError::InvalidEvent(*event));
        }
        if !self.supports(event) {
            return Err(AccountantError::UnsupportedEvent(*event));
        }
        event.relation().adds_to(self.relation())?;
        if count == 0 {
            return Ok(());
        }
        self.releases = self.releases.saturating_add(count.into());
        if let Some((last, times)) = self.rounds.last_mut()
            && last == event
            && let Some(sum) = times.checked_add(count)
        {
            *times = sum;
        } else {
            self.rounds.push((*event, count));
        }
        Ok(())
    }

    fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        let loss = super::epsilon(&self.rounds, delta, &self.options)?;
        Ok(self.spent(delta, loss))
    }

    fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        // The search below ends at e^-700.
        if self.rounds.is_empty() && epsilon >= 0.0 {
            return Ok(0.0);
        }
        super::delta(&self.rounds, epsilon, &self.options)
    }

    fn relation(&self) -> Option<NeighboringRelation> {
        self.relation()
    }

    /// By the privacy-loss distributions of the pair that dominates: tight.
    fn replace_epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        let loss = super::replace_epsilon(&self.rounds, delta, &self.options)?;
        Ok(self.spent(delta, loss))
    }

    /// From the same distributions at ε = 0 ([`super::total_variation`]).
    fn best_guess(&self) -> Result<f64, AccountantError> {
        super::total_variation(&self.rounds, &self.options).map(best_guess)
    }
}
