//! Collecting joint vectors: from uploads to integer sums, for all agents or for a shard of them.
//!
//! Integers are all that is added up, so shards may collect anywhere and in any order. Everybody is in the sample; what
//! a share and a partial sum carry is the opening, and [`super::server::Server::merge`] takes a partial only if it was
//! made for this very opening, with these terms, of agents nobody counted yet, and of a norm that they can have sent.

use super::super::collector::CollectorStorage;
use super::super::encoding::{Counters, UPLOADED};
use super::super::errors::ServerError;
use super::super::partial::{Opening, Partial, Share};
use super::config::Config;
use super::contribution::Mechanism;
use super::error::ReleaseError;
use super::state::Terms;
use crate::digest::Digest;
use crate::math::Scalar;
use crate::privacy::encode::{Encoder, Outcome};

/// What the integers of a release depend on: configuration, terms, multiplier.
pub(super) fn configuration<T: Scalar>(config: &Config, terms: &Terms<T>, noise_multiplier: f64) -> Digest {
    let numbers = [terms.ridge.to_f64(), terms.clip_radius.to_f64(), noise_multiplier];
    Digest::of(&(config, numbers.map(f64::to_bits)))
}

/// Takes the joint vectors of consecutive agents for one release.
///
/// **Example**: that of [`super::server::Server`].
pub struct Collector<'a> {
    encoder: Encoder,
    opening: Opening,
    first: u32,
    agents: u32,
    storage: CollectorStorage<'a>,
}

impl<'a> Collector<'a> {
    /// A collector for the opening and the agents of `share`, in storage that may hold anything.
    ///
    /// **Parameters**: `terms` and `noise_multiplier` of the release; `storage` of M + 1 sums and one byte for each agent
    /// of the share.
    ///
    /// **Errors**: [`ServerError::Storage`] for storage or agents that do not fit; [`ServerError::Reconfigured`] if the
    /// share was made under another configuration, other terms or another multiplier; [`ReleaseError`] for terms that
    /// have no mechanism.
    pub fn new<T: Scalar, F: AsRef<[u8]>>(
        config: &Config,
        terms: &Terms<T>,
        noise_multiplier: f64,
        share: &Share<F>,
        storage: CollectorStorage<'a>,
    ) -> Result<Self, ReleaseError> {
        let (sample, agents) = (share.flags.as_ref(), config.parameters().agents);
        let end = (share.first as usize).saturating_add(sample.len());
        for (what, len, expected, fits) in [
            ("sums", storage.sums.len(), config.contribution_len(), storage.sums.len() == config.contribution_len()),
            ("flags", storage.flags.len(), sample.len(), storage.flags.len() == sample.len()),
            ("flags", end, agents as usize, end <= agents as usize),
        ] {
            if !fits {
                return Err(ServerError::Storage { what, len, expected }.into());
            }
        }
        if share.opening.configuration != configuration(config, terms, noise_multiplier) {
            return Err(ServerError::Reconfigured { broadcast: share.opening.broadcast }.into());
        }
        let encoder = Mechanism::new(config, terms, noise_multiplier)?.encoder()?;
        storage.sums.fill(0);
        storage.flags.iter_mut().zip(sample).for_each(|(own, told)| *own = told & !UPLOADED);
        *storage.counters = Counters::ZERO;
        Ok(Collector { encoder, opening: share.opening, first: share.first, agents, storage })
    }

    /// Takes one joint vector, or refuses it by name.
    ///
    /// **Errors**: as a server's upload; nothing changed then.
    pub fn upload<T: Scalar>(&mut self, agent: u32, release: u32, vector: &[T]) -> Result<(), ServerError> {
        let CollectorStorage { sums, flags, .. } = &mut self.storage;
        let collected = Collected { encoder: &self.encoder, release: self.opening.broadcast, agents: self.agents };
        let outcome = collected.take(self.first, sums, flags, (agent, release), vector)?;
        let counters = &mut *self.storage.counters;
        counters.received += 1;
        counters.clipped += u32::from(matches!(outcome, Outcome::Clipped));
        counters.zeroed += u32::from(matches!(outcome, Outcome::Zeroed));
        Ok(())
    }

    /// No further uploads: what was taken, for [`super::server::Server::merge`].
    pub fn finish(self) -> Partial<&'a [u8], &'a [i64]> {
        let CollectorStorage { sums, flags, counters } = self.storage;
        Partial { opening: self.opening, first: self.first, flags, sums, counters: *counters }
    }
}

/// What is collected, for a server and a collector alike.
pub(super) struct Collected<'e> {
    pub(super) encoder: &'e Encoder,
    pub(super) release: u32,
    pub(super) agents: u32,
}

impl Collected<'_> {
    /// Adds one agent's joint vector to `sums`, clipped and checked in integers; `flags` begin with agent `first`. A
    /// second one is refused.
    pub(super) fn take<T: Scalar>(
        &self,
        first: u32,
        sums: &mut [i64],
        flags: &mut [u8],
        (agent, release): (u32, u32),
        vector: &[T],
    ) -> Result<Outcome, ServerError> {
        let (expected, agents) = (self.release, self.agents);
        if release != expected {
            return Err(ServerError::WrongBroadcast { agent, found: release, expected });
        }
        let (len, expected) = (vector.len(), sums.len());
        if len != expected {
            return Err(ServerError::VectorLength { agent, len, expected });
        }
        let Some(flag) = agent.checked_sub(first).and_then(|i| flags.get_mut(i as usize)) else {
            return Err(ServerError::UnknownAgent { agent, agents });
        };
        if *flag & UPLOADED != 0 {
            return Err(ServerError::DuplicateUpload { agent, broadcast: release });
        }
        let outcome = self.encoder.add(vector, &[1.0], sums)?;
        *flag |= UPLOADED;
        Ok(outcome)
    }
}
