//! One private vote for the best candidate, as an exchange carries it.

use serde::{Deserialize, Serialize};

use super::super::config::{Aggregation, Config, Signal};
use super::features::PublicFeatures;
use crate::parameter::{ConfigError, check, whole};

/// Everything public that both sides of a vote compute with, apart from the candidates.
///
/// After its initial points an agent sends a vector with a single 1, at the best candidate that it
/// has observed. The server releases their noised mean, once. Agents play the winner of the
/// smoothed shares, and go on alone.
///
/// **Privacy**: the release is one of [`Draws`](super::super::Draws) with clipping norm 1 and
/// everybody in the sample.
///
/// ```
/// use sordino_core::domain::Regions;
/// use sordino_core::federated::exchange::{Protocol, PublicFeatures, VoteProtocol};
/// use sordino_core::federated::{Aggregation, Config, Parameters};
/// use sordino_core::kernel::Stationary;
///
/// let noised = Aggregation::private(1.0, 1.0, 0.5)?; // one vote each, of everybody
/// let ballot = Config::new(Parameters::usual(20, Regions::whole(1)?, 1, 50, noised))?; // 50 candidates
/// let features = PublicFeatures::new(7, Stationary::SquaredExponential, 0.2, 1.0);
/// let vote = VoteProtocol { ballot, rounds: 40, feature_count: 16, features };
/// assert_eq!((vote.check(50), vote.noise_std()), (Ok(()), Some(0.5 / 20.0)));
/// assert_eq!(vote.check(60).map_err(|error| error.field), Err("feature_count"));
/// let protocol = Protocol::Vote(vote);
/// assert_eq!((protocol.epochs(), protocol.last_round(0), protocol.last_round(1)), (1, 0, 40));
/// assert!(protocol.event(0)?.is_some() && protocol.event(1)?.is_none());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VoteProtocol {
    /// The one release, with a number for each candidate. Agents, initial points, noise variance,
    /// offset and own draws are those of the whole federation.
    pub ballot: Config,
    /// T, queries of an agent after its initial points.
    pub rounds: u32,
    /// M, shared features of an agent's own draws; unused where it draws jointly.
    pub feature_count: u32,
    /// Where they come from, and the kernel that smooths the shares.
    pub features: PublicFeatures,
}

impl VoteProtocol {
    /// Releases of a whole federation.
    pub const RELEASES: u32 = 1;

    /// Refuses numbers that no vote over this many candidates has; those of the ballot were checked
    /// as it was made, those of the kernel are where it is.
    ///
    /// **Errors**: [`ConfigError`] naming the first outside its range.
    pub fn check(&self, candidates: usize) -> Result<(), ConfigError> {
        let ballot = self.ballot.parameters();
        whole("rounds", self.rounds, 1..=1 << 20, "1..=1048576")?;
        whole("features", self.feature_count, 1..=1 << 14, "1..=16384")?;
        whole("rounds of the ballot", ballot.rounds, 1..=1, "1")?;
        whole("regions", ballot.regions.count(), 1..=1, "1")?;
        let count = ballot.feature_count;
        let tolerance = self.features.prior_tolerance;
        check(
            "feature_count",
            f64::from(count),
            count as usize == candidates,
            "the number of candidates",
        )?;
        check(
            "prior_tolerance",
            tolerance,
            (0.0..1.0).contains(&tolerance),
            "[0, 1)",
        )?;
        match ballot.aggregation {
            Aggregation::Private {
                clipping_norm,
                sampling_probability,
                signal: Signal::Vectors,
                ..
            } => {
                check(
                    "clipping_norm",
                    clipping_norm.value(),
                    clipping_norm.value() == 1.0,
                    "1: one vote",
                )?;
                check(
                    "sampling_probability",
                    sampling_probability,
                    sampling_probability == 1.0,
                    "1: everybody",
                )
            }
            _ => Err(ConfigError {
                field: "aggregation",
                value: 0.0,
                admissible: "private, of vectors",
            }),
        }
    }

    /// The standard deviation of the noise on every share, of which N votes make 1; none for a
    /// ballot without noise.
    pub fn noise_std(&self) -> Option<f64> {
        let ballot = self.ballot.parameters();
        match ballot.aggregation {
            Aggregation::Private {
                noise_multiplier, ..
            } => Some(noise_multiplier.value() / f64::from(ballot.agents)),
            Aggregation::None | Aggregation::Mean => None,
        }
    }

    /// The last round of epoch e: 0 before the release, all of them after it.
    pub const fn last_round(&self, epoch: u32) -> u32 {
        if epoch < Self::RELEASES {
            0
        } else {
            self.rounds
        }
    }
}
