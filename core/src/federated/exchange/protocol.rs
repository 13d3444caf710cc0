//! The methods that an exchange carries, each with its public numbers.
//!
//! A federation's history is cut into **epochs**: frame e carries what release e − 1 made known, the agent then makes the
//! queries of epoch e by itself, and contributes to release e. After the last frame it goes on alone.
//!
//! | method | an epoch | frames |
//! |---|---|---|
//! | draws | one round of queries | T + 1 |
//! | federated prior | the rounds between two releases of the plan, none or many | releases + 1 |
//! | campaign | first points, then releases with no round between them, then all rounds | releases + 1 |

use serde::{Deserialize, Serialize};

use super::super::config::Config;
use super::super::errors::ServerError;
use super::super::estimator::Estimator;
use super::super::prior::{CampaignProtocol, PriorProtocol};
use crate::features::{FeatureError, RandomFourier, random_fourier};
use crate::kernel::Stationary;
use crate::math::Scalar;
use crate::privacy::event::Event;

/// Where the shared features come from.
///
/// **Example**: that of [`Agreement`](super::Agreement).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublicFeatures {
    /// The public seed, as [`crate::features::random_fourier::draw`] takes it.
    pub seed: u64,
    /// The index of the run under that seed.
    pub run: u32,
    /// The shape of the kernel.
    pub kernel: Stationary,
    /// Its lengthscale on the unit box, > 0.
    pub lengthscale: f64,
    /// s², > 0, unit y².
    pub signal_variance: f64,
    /// Whether every φ(x) is rescaled to norm s.
    pub unit_norm: bool,
    /// Share of the prior variance that the factor of joint own draws may lack, in [0, 1).
    pub prior_tolerance: f64,
}

impl PublicFeatures {
    /// The usual ones: of run 0, all of norm s, with a factor that lacks nothing.
    pub const fn new(seed: u64, kernel: Stationary, lengthscale: f64, signal_variance: f64) -> Self {
        PublicFeatures { seed, run: 0, kernel, lengthscale, signal_variance, unit_norm: true, prior_tolerance: 0.0 }
    }

    /// Draws the features of a domain of `dim` axes into `storage` and puts the map around them.
    ///
    /// **Parameters**: `count` M; `storage` of [`random_fourier::storage_len`] numbers.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn draw<'f, T: Scalar>(
        &self,
        dim: usize,
        count: usize,
        storage: &'f mut [T],
    ) -> Result<RandomFourier<T, &'f [T]>, FeatureError> {
        random_fourier::draw(self.seed, self.run, self.kernel, &[self.lengthscale], dim, count, storage)?;
        self.map(dim, count, storage)
    }

    /// The map around features that were drawn before.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn map<'f, T: Scalar>(
        &self,
        dim: usize,
        count: usize,
        storage: &'f [T],
    ) -> Result<RandomFourier<T, &'f [T]>, FeatureError> {
        RandomFourier::new(dim, count, T::from_f64(self.signal_variance), self.unit_norm, storage)
    }
}

/// Agents share draws of their posteriors, round by round.
///
/// **Example**: that of [`Agreement`](super::Agreement).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawsProtocol {
    /// The numbers of the federation.
    pub config: Config,
    /// The shared features.
    pub features: PublicFeatures,
}

/// A method with its public numbers; the first byte of an agreement says which it is.
///
/// **Example**: that of [`Agreement`](super::Agreement).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "there is one in a program, and no heap to put it on")]
pub enum Protocol {
    /// Random draws, clipped and summed ([`super::super`]).
    Draws(DrawsProtocol),
    /// A posterior of what the agents' functions have in common ([`super::super::prior`]).
    Prior(PriorProtocol),
    /// A prior file that agents with units of their own make together.
    Campaign(CampaignProtocol),
}

impl Protocol {
    /// The numbers of a federation that shares draws; none of another method.
    pub fn draws(&self) -> Option<&DrawsProtocol> {
        match self {
            Protocol::Draws(draws) => Some(draws),
            Protocol::Prior(_) | Protocol::Campaign(_) => None,
        }
    }

    /// N, enrolled agents.
    pub fn agents(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().agents,
            Protocol::Prior(prior) => prior.config.parameters().agents,
            Protocol::Campaign(campaign) => campaign.config.parameters().agents,
        }
    }

    /// T, queries of an agent after its initial points.
    pub fn rounds(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().rounds,
            Protocol::Prior(prior) => prior.rounds,
            Protocol::Campaign(campaign) => campaign.rounds,
        }
    }

    /// Queries of an agent before the first round.
    pub fn initial_points(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().initial_points,
            Protocol::Prior(prior) => prior.config.parameters().initial_points,
            Protocol::Campaign(campaign) => campaign.config.parameters().initial_points,
        }
    }

    /// c₀, subtracted from every value that is observed.
    pub fn offset(&self) -> f64 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().offset,
            Protocol::Prior(prior) => prior.offset,
            Protocol::Campaign(_) => 0.0,
        }
    }

    /// Releases of a whole federation: frames are numbered from 0 to this.
    pub fn epochs(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().rounds,
            Protocol::Prior(prior) => prior.releases(),
            Protocol::Campaign(campaign) => campaign.releases(),
        }
    }

    /// The last round of epoch e: agents query up to it, and then contribute.
    pub fn last_round(&self, epoch: u32) -> u32 {
        match self {
            Protocol::Draws(_) => epoch,
            Protocol::Prior(prior) => prior.last_round(epoch),
            Protocol::Campaign(campaign) => campaign.last_round(epoch),
        }
    }

    /// Numbers of a contribution.
    pub fn upload_len(&self) -> usize {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().feature_count as usize,
            Protocol::Prior(prior) => prior.config.contribution_len(),
            Protocol::Campaign(campaign) => campaign.config.contribution_len(),
        }
    }

    /// Numbers of a release.
    pub fn released_len(&self) -> usize {
        match self {
            Protocol::Draws(draws) => draws.config.broadcast_len(),
            Protocol::Prior(prior) => prior.config.contribution_len(),
            Protocol::Campaign(campaign) => campaign.config.contribution_len(),
        }
    }

    /// What release e costs; none if it is not private, or beyond the last.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if there is no mechanism for it.
    pub fn event(&self, release: u32) -> Result<Option<Event>, ServerError> {
        match self {
            Protocol::Draws(draws) => Estimator::<f64>::event(&&draws.config, release),
            Protocol::Prior(prior) => Ok(prior.plan().event(release)),
            Protocol::Campaign(campaign) => Ok(campaign.plan().event(release)),
        }
    }
}
