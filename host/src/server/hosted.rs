//! What a method keeps between two calls of its server: nothing but its configuration, or a
//! posterior.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::{
    Filter, Plan, PriorError, Public, PublicState, Terms, scratch_len, storage_len,
};
use sordino_core::federated::{Config, Estimator, ServerError};
use sordino_core::math::{Scalar, read_all_le, write_all_le};

use super::HostError;

/// A method as a server hosts it. [`super::ServerHost`] asks it for an estimator at every call.
pub trait Hosted<T: Scalar> {
    /// What its releases mean.
    type Estimator<'e>: Estimator<T>
    where
        Self: 'e;
    /// What is stored of it between two releases.
    type Stored: Serialize + DeserializeOwned;
    /// Whether a release that the budget refuses refuses all that follow, so that the releases made
    /// are the first of a plan.
    const ENDS_WHEN_REFUSED: bool;

    /// Its estimator, for one call.
    ///
    /// **Errors**: the method's, for numbers that do not fit each other.
    fn estimator(&mut self) -> Result<Self::Estimator<'_>, ServerError>;

    /// Numbers of the last release that agents are still to be sent, and that are therefore stored
    /// with the server.
    fn broadcast_len(&self) -> usize;

    /// What is to be stored.
    fn stored(&self) -> Self::Stored;

    /// Goes on as it was stored.
    ///
    /// **Errors**: [`HostError`] for numbers that no release can have left.
    fn restore(&mut self, stored: Self::Stored) -> Result<(), HostError>;

    /// Numbers in a release, and agents.
    ///
    /// **Errors**: as [`Hosted::estimator`].
    fn sizes(&mut self) -> Result<(usize, u32), ServerError> {
        let estimator = self.estimator()?;
        Ok((estimator.released_len(), estimator.agents()))
    }
}

impl<T: Scalar> Hosted<T> for Arc<Config> {
    type Estimator<'e> = &'e Config;
    type Stored = ();
    const ENDS_WHEN_REFUSED: bool = false;

    fn estimator(&mut self) -> Result<&Config, ServerError> {
        Ok(self)
    }

    fn broadcast_len(&self) -> usize {
        Config::broadcast_len(self)
    }

    fn stored(&self) {}

    fn restore(&mut self, (): ()) -> Result<(), HostError> {
        Ok(())
    }
}

/// Who holds the public numbers of a federated prior.
pub trait WithPublic<T> {
    /// The public context of all parties.
    ///
    /// **Errors**: [`PriorError`] if its parts do not fit each other.
    fn public(&self) -> Result<Public<'_, T>, PriorError>;
}

impl<T, C: WithPublic<T>> WithPublic<T> for Arc<C> {
    fn public(&self) -> Result<Public<'_, T>, PriorError> {
        C::public(self)
    }
}

/// The posterior of a federated prior as it is stored.
#[derive(Serialize, Deserialize)]
pub struct StoredPosterior {
    heterogeneity: f64,
    clip_factor: f64,
    /// w and Σ, little-endian.
    numbers: Vec<u8>,
}

/// A federated prior as a server hosts it: plan, public numbers, posterior.
pub struct Population<T, C> {
    context: C,
    rounds: Vec<u32>,
    noise_multipliers: Vec<f64>,
    posterior: PublicState<T, Vec<T>>,
    scratch: Vec<T>,
    sends_sums: bool,
}

impl<T: Scalar, C: WithPublic<T>> Population<T, C> {
    /// Before release 0 of a plan.
    ///
    /// **Errors**: [`PriorError`] for public numbers that do not fit each other.
    pub fn new(context: C, plan: Plan<'_>) -> Result<Self, PriorError> {
        let config = *context.public()?.config();
        let m = config.features();
        let n = config.design_len();
        Ok(Population {
            context,
            rounds: plan.rounds.to_vec(),
            noise_multipliers: plan.noise_multipliers.to_vec(),
            posterior: PublicState::new(config, vec![T::ZERO; storage_len(m)])?,
            scratch: vec![T::ZERO; scratch_len(m, n)],
            sends_sums: false,
        })
    }

    /// The same for agents that keep the posterior themselves: they are sent the released sums,
    /// which are therefore stored.
    pub fn that_sends_sums(self) -> Self {
        Population {
            sends_sums: true,
            ..self
        }
    }

    /// The public posterior.
    pub fn posterior(&self) -> &PublicState<T, Vec<T>> {
        &self.posterior
    }

    /// The round after which release `index` is made; nothing after the last.
    pub fn round_of(&self, index: u32) -> Option<u32> {
        self.rounds.get(index as usize).copied()
    }

    /// Terms and multiplier of release `index`, if it is open.
    pub fn open_terms(&self, index: u32) -> Option<(Terms<T>, f64)> {
        self.posterior
            .terms()
            .zip(self.noise_multipliers.get(index as usize).copied())
    }
}

impl<T: Scalar, C: WithPublic<T>> Hosted<T> for Population<T, C> {
    type Estimator<'e>
        = Filter<'e, T, Vec<T>>
    where
        Self: 'e;
    type Stored = StoredPosterior;
    const ENDS_WHEN_REFUSED: bool = true;

    fn estimator(&mut self) -> Result<Filter<'_, T, Vec<T>>, ServerError> {
        let plan = Plan {
            rounds: &self.rounds,
            noise_multipliers: &self.noise_multipliers,
        };
        Ok(Filter::new(
            plan,
            self.context.public()?,
            &mut self.posterior,
            &mut self.scratch,
        )?)
    }

    /// Nothing where agents are sent the posterior, which is stored.
    fn broadcast_len(&self) -> usize {
        if self.sends_sums {
            self.posterior.config().contribution_len()
        } else {
            0
        }
    }

    fn stored(&self) -> StoredPosterior {
        let weights = self.posterior.weights();
        let covariance = self.posterior.covariance();
        let mut numbers = vec![0; (weights.len() + covariance.len()) * T::BYTES];
        let (front, back) = numbers.split_at_mut(weights.len() * T::BYTES);
        write_all_le(weights, front);
        write_all_le(covariance, back);
        let h = self.posterior.heterogeneity();
        let clip = self.posterior.clip_factor();
        StoredPosterior {
            heterogeneity: h.to_f64(),
            clip_factor: clip.to_f64(),
            numbers,
        }
    }

    fn restore(&mut self, stored: StoredPosterior) -> Result<(), HostError> {
        let StoredPosterior {
            heterogeneity,
            clip_factor,
            numbers,
        } = stored;
        let config = *self.posterior.config();
        let m = config.features();
        let expected = m + m * m;
        if numbers.len() != expected * T::BYTES {
            return Err(HostError::NoVectors {
                found: numbers.len() / T::BYTES,
                expected,
            });
        }
        let mut storage = vec![T::ZERO; storage_len(m)];
        for (to, from) in storage.iter_mut().zip(read_all_le(&numbers)) {
            *to = from;
        }
        let h = T::from_f64(heterogeneity);
        let clip = T::from_f64(clip_factor);
        self.posterior =
            PublicState::resume(config, h, clip, storage).map_err(ServerError::from)?;
        Ok(())
    }
}
