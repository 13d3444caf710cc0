//! The methods that an exchange carries, each with its public numbers.
//!
//! A federation's history is cut into **epochs**: frame e carries what release e − 1 made known,
//! the agent then makes the queries of epoch e by itself, and contributes to release e. After the
//! last frame it goes on alone.
//!
//! | method | an epoch | frames |
//! |---|---|---|
//! | draws | one round of queries | T + 1 |
//! | federated prior | the rounds between two releases of the plan, none or many | releases + 1 |
//! | campaign | first points, then releases with no round between them, then all rounds | releases + 1 |
//! | vote | the initial points, then all rounds | 2 |
//! | own | one round of queries | T + 1 |

use serde::{Deserialize, Serialize};

use super::super::config::Config;
use super::super::errors::ServerError;
use super::super::estimator::Estimator;
use super::super::prior::{CampaignProtocol, PriorProtocol};
use super::features::PublicFeatures;
use super::own::OwnProtocol;
use super::vote::VoteProtocol;
use crate::privacy::event::Event;

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
#[expect(
    clippy::large_enum_variant,
    reason = "there is one in a program, and no heap to put it on"
)]
pub enum Protocol {
    /// Random draws, clipped and summed ([`super::super`]).
    Draws(DrawsProtocol),
    /// A posterior of what the agents' functions have in common ([`super::super::prior`]).
    Prior(PriorProtocol),
    /// A prior file that agents with units of their own make together.
    Campaign(CampaignProtocol),
    /// One private vote, then every agent for itself.
    Vote(VoteProtocol),
    /// A method of somebody's own, for which no guarantee is claimed.
    Own(OwnProtocol),
}

impl Protocol {
    /// The numbers of a federation that shares draws; none of another method.
    pub fn draws(&self) -> Option<&DrawsProtocol> {
        match self {
            Protocol::Draws(draws) => Some(draws),
            Protocol::Prior(_) | Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => {
                None
            }
        }
    }

    /// The numbers of a campaign; none of another method.
    pub fn campaign(&self) -> Option<&CampaignProtocol> {
        match self {
            Protocol::Campaign(campaign) => Some(campaign),
            Protocol::Draws(_) | Protocol::Prior(_) | Protocol::Vote(_) | Protocol::Own(_) => None,
        }
    }

    /// The numbers of a federated prior; none of another method.
    pub fn prior(&self) -> Option<&PriorProtocol> {
        match self {
            Protocol::Prior(prior) => Some(prior),
            Protocol::Draws(_) | Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => {
                None
            }
        }
    }

    /// N, enrolled agents.
    pub fn agents(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().agents,
            Protocol::Prior(prior) => prior.config.parameters().agents,
            Protocol::Campaign(campaign) => campaign.config.parameters().agents,
            Protocol::Vote(vote) => vote.ballot.parameters().agents,
            Protocol::Own(own) => own.agents,
        }
    }

    /// T, queries of an agent after its initial points.
    pub fn rounds(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().rounds,
            Protocol::Prior(prior) => prior.rounds,
            Protocol::Campaign(campaign) => campaign.rounds,
            Protocol::Vote(vote) => vote.rounds,
            Protocol::Own(own) => own.rounds,
        }
    }

    /// Queries of an agent before the first round.
    pub fn initial_points(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().initial_points,
            Protocol::Prior(prior) => prior.config.parameters().initial_points,
            Protocol::Campaign(campaign) => campaign.config.parameters().initial_points,
            Protocol::Vote(vote) => vote.ballot.parameters().initial_points,
            Protocol::Own(own) => own.initial_points,
        }
    }

    /// c₀, subtracted from every value that is observed.
    pub fn offset(&self) -> f64 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().offset,
            Protocol::Prior(prior) => prior.offset,
            Protocol::Campaign(_) => 0.0,
            Protocol::Vote(vote) => vote.ballot.parameters().offset,
            Protocol::Own(own) => own.offset,
        }
    }

    /// Releases of a whole federation: frames are numbered from 0 to this.
    pub fn epochs(&self) -> u32 {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().rounds,
            Protocol::Prior(prior) => prior.releases(),
            Protocol::Campaign(campaign) => campaign.releases(),
            Protocol::Vote(_) => VoteProtocol::RELEASES,
            Protocol::Own(own) => own.rounds,
        }
    }

    /// The last round of epoch e: agents query up to it, and then contribute.
    pub fn last_round(&self, epoch: u32) -> u32 {
        match self {
            Protocol::Draws(_) | Protocol::Own(_) => epoch,
            Protocol::Prior(prior) => prior.last_round(epoch),
            Protocol::Campaign(campaign) => campaign.last_round(epoch),
            Protocol::Vote(vote) => vote.last_round(epoch),
        }
    }

    /// Numbers of a contribution.
    pub fn upload_len(&self) -> usize {
        match self {
            Protocol::Draws(draws) => draws.config.parameters().feature_count as usize,
            Protocol::Prior(prior) => prior.config.contribution_len(),
            Protocol::Campaign(campaign) => campaign.config.contribution_len(),
            Protocol::Vote(vote) => vote.ballot.parameters().feature_count as usize,
            Protocol::Own(own) => own.message_len as usize,
        }
    }

    /// Numbers of a release; of a method of somebody's own the most that its server may send.
    pub fn released_len(&self) -> usize {
        match self {
            Protocol::Draws(draws) => draws.config.broadcast_len(),
            Protocol::Prior(prior) => prior.config.contribution_len(),
            Protocol::Campaign(campaign) => campaign.config.contribution_len(),
            Protocol::Vote(vote) => vote.ballot.broadcast_len(),
            Protocol::Own(own) => own.released_max as usize,
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
            Protocol::Vote(vote) if release < VoteProtocol::RELEASES => {
                Estimator::<f64>::event(&&vote.ballot, release)
            }
            Protocol::Vote(_) | Protocol::Own(_) => Ok(None),
        }
    }
}
