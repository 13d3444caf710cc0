//! Collecting: from uploads to integer sums, for all agents or for a shard of them.
//!
//! The only thing a federation adds up are integers, so shards may collect anywhere, in any order, and be merged: the
//! sums are the same. A collector is inside the trust boundary: it knows who was selected.

use serde::{Deserialize, Serialize};

use super::config::{Aggregation, Config, REGION_WEIGHTS_MAX, Signal};
use super::messages::ServerError;
use super::partial::{Opening, Partial, Share};
use crate::math::Scalar;
use crate::privacy::encode::Outcome;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use crate::privacy::sampling::SamplingProbability;

/// Counts of one broadcast. **Not releasable**: they depend on private vectors and on the secret sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Uploads taken; public, because everybody uploads in every round.
    pub received: u32,
    /// Agents whose coin came up.
    pub selected: u32,
    /// Selected vectors longer than the clipping radius.
    pub clipped: u32,
    /// Selected vectors that were not finite, or too long to measure: they count as zero.
    pub zeroed: u32,
}

impl Counters {
    pub(super) const ZERO: Self = Counters { received: 0, selected: 0, clipped: 0, zeroed: 0 };
}

pub(super) const SELECTED: u8 = 1;
pub(super) const UPLOADED: u8 = 2;

/// Fixed-point fraction bits of the mean that protects nobody: order-independent, 10⁻¹² fine.
pub(super) const MEAN_FRACTION: f64 = 1_099_511_627_776.0; // 2⁴⁰
/// Largest |ω| it sums; a vector beyond counts as zero.
const MEAN_ENTRY_MAX: f64 = 1_048_576.0; // 2²⁰
/// Largest sum of them, 2²⁰·2⁴⁰: weights sum to 1.
pub(super) const MEAN_LIMIT: u64 = 1 << 60;

/// The weights of one broadcast.
///
/// An agent's weight in a region depends only on whether it explores it: two numbers a region.
pub(super) struct RoundWeights {
    inside: [f64; REGION_WEIGHTS_MAX],
    outside: [f64; REGION_WEIGHTS_MAX],
    regions: usize,
    pub(super) norm_max: f64,
}

impl RoundWeights {
    /// Softmax weights at broadcast s, and max over enrolled agents of ‖(φ_n⁽¹⁾ … φ_n⁽ᴾ⁾)‖₂.
    pub(super) fn new(config: &Config, broadcast: u32) -> Self {
        let p = config.parameters();
        let concentration = p.concentration.at(broadcast);
        let regions = config.region_count().min(REGION_WEIGHTS_MAX);
        let mut weights = RoundWeights {
            inside: [0.0; REGION_WEIGHTS_MAX],
            outside: [0.0; REGION_WEIGHTS_MAX],
            regions,
            norm_max: 0.0,
        };
        for i in 0..regions {
            let explorers = config.explorers(i as u32);
            weights.inside[i] = crate::schedule::region_weight(concentration, p.agents, explorers, true);
            weights.outside[i] = crate::schedule::region_weight(concentration, p.agents, explorers, false);
        }
        let mut buffer = [0.0; REGION_WEIGHTS_MAX];
        for i in 0..regions {
            if config.explorers(i as u32) > 0 {
                let squares: f64 = weights.of_agent(i, &mut buffer).iter().fold(0.0, |sum, w| sum + w * w);
                weights.norm_max = Scalar::max(weights.norm_max, Scalar::sqrt(squares));
            }
        }
        weights
    }

    /// (φ_n⁽¹⁾ … φ_n⁽ᴾ⁾) of an agent that explores `region`.
    fn of_agent<'b>(&self, region: usize, buffer: &'b mut [f64; REGION_WEIGHTS_MAX]) -> &'b [f64] {
        *buffer = self.outside;
        buffer[region] = self.inside[region];
        &buffer[..self.regions]
    }
}

/// What one release of the sum may change at most, in L2, if one enrolled agent's vector is replaced by zero: the tight
/// C_s = max_n‖φ_n‖₂·S/√P, where the paper takes φ_max·S.
///
/// **Equation**: the joint vector of agent n is (φ_n⁽¹⁾ω̂, …, φ_n⁽ᴾ⁾ω̂), of norm ‖φ_n‖₂·‖ω̂‖ ≤ ‖φ_n‖₂·S/√P. (The divisor q
/// is applied after the noise, to both.) The maximum is over all N slots, present or not.
pub fn l2_sensitivity(config: &Config, broadcast: u32) -> Option<f64> {
    match config.parameters().aggregation {
        Aggregation::Private { clipping_norm, .. } => {
            let radius = clipping_norm / Scalar::sqrt(config.region_count() as f64);
            Some(RoundWeights::new(config, broadcast).norm_max * radius)
        }
        _ => None,
    }
}

/// What turns uploads into integers: public constants of one configuration and broadcast.
pub(super) struct Encoding {
    pub(super) mechanism: Option<GridGaussian>,
    pub(super) clipping_radius: f64,
    pub(super) weights: RoundWeights,
    pub(super) signal: Signal,
}

impl Encoding {
    pub(super) fn new(config: &Config, broadcast: u32) -> Result<Self, ServerError> {
        let (mut mechanism, mut clipping_radius, mut signal) = (None, 0.0, Signal::Vectors);
        if let Aggregation::Private {
            clipping_norm,
            sampling_probability,
            noise_multiplier,
            grid_exponent,
            signal: carried,
        } = config.parameters().aggregation
        {
            let q = SamplingProbability::new(sampling_probability)
                .map_err(|_| GaussianError::Constant(sampling_probability))?;
            mechanism = Some(GridGaussian::new(grid_exponent, noise_multiplier, q, config.parameters().agents)?);
            clipping_radius = clipping_norm / Scalar::sqrt(config.region_count() as f64);
            signal = carried;
        }
        Ok(Encoding { mechanism, clipping_radius, weights: RoundWeights::new(config, broadcast), signal })
    }

    /// C_s.
    pub(super) fn l2_sensitivity(&self) -> f64 {
        self.weights.norm_max * self.clipping_radius
    }
}

/// Numbers of a collector, borrowed: P·M sums and one byte for each agent of its range. Prints their lengths, never
/// what they hold.
pub struct CollectorStorage<'a> {
    /// Integer sums.
    pub sums: &'a mut [i64],
    /// Flags of the agents `first..first + flags.len()`.
    pub flags: &'a mut [u8],
    /// What is counted.
    pub counters: &'a mut Counters,
}

impl core::fmt::Debug for CollectorStorage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CollectorStorage {{ coordinates: {}, agents: {} }}", self.sums.len(), self.flags.len())
    }
}

/// Takes the uploads of consecutive agents for one broadcast.
///
/// A server collects by itself; a fleet gives each shard a collector with its share of the secret sample
/// ([`super::Server::share`]) and sums of its own, and merges what they finish with ([`super::Server::merge`]).
pub struct Collector<'a> {
    config: &'a Config,
    encoding: Encoding,
    opening: Opening,
    first: u32,
    storage: CollectorStorage<'a>,
}

impl<'a> Collector<'a> {
    /// A collector for the opening and the agents of `share`, in storage that may hold anything: sums and counters are
    /// set to zero, nobody has uploaded.
    ///
    /// **Errors**: [`ServerError::Storage`] if the sums are not P·M, the flags not one byte for each agent of the share,
    /// or these agents not all enrolled; [`ServerError::Reconfigured`] if the share was made under another
    /// configuration.
    pub fn new<F: AsRef<[u8]>>(
        config: &'a Config,
        share: &Share<F>,
        storage: CollectorStorage<'a>,
    ) -> Result<Self, ServerError> {
        let (len, expected) = (storage.sums.len(), config.broadcast_len());
        if len != expected {
            return Err(ServerError::Storage { what: "sums", len, expected });
        }
        let sample = share.flags.as_ref();
        let (len, expected) = (storage.flags.len(), sample.len());
        if len != expected {
            return Err(ServerError::Storage { what: "flags", len, expected });
        }
        let (opening, first) = (share.opening, share.first);
        let (end, agents) = ((first as usize).saturating_add(expected), config.parameters().agents as usize);
        if end > agents {
            return Err(ServerError::Storage { what: "flags", len: end, expected: agents });
        }
        if opening.configuration != config.digest() {
            return Err(ServerError::Reconfigured { broadcast: opening.broadcast });
        }
        let encoding = Encoding::new(config, opening.broadcast)?;
        storage.sums.fill(0);
        storage.flags.iter_mut().zip(sample).for_each(|(own, told)| *own = told & SELECTED);
        *storage.counters = Counters::ZERO;
        Ok(Collector { config, encoding, opening, first, storage })
    }

    /// No further uploads: what was taken, for [`super::Server::merge`].
    pub fn finish(self) -> Partial<&'a [u8], &'a [i64]> {
        let CollectorStorage { sums, flags, counters } = self.storage;
        Partial { opening: self.opening, first: self.first, flags, sums, counters: *counters }
    }

    /// Takes one upload, or refuses it by name.
    ///
    /// **Errors**: [`ServerError`]; nothing changed then.
    pub fn upload<T: Scalar>(&mut self, agent: u32, broadcast: u32, vector: &[T]) -> Result<(), ServerError> {
        let config = self.config;
        let collected = self.opening.broadcast;
        upload(config, &self.encoding, collected, self.first, &mut self.storage, agent, broadcast, vector)
    }
}

/// Lines "clip" and "sum": a refused upload is an error to its sender; a vector without a finite norm counts as zero and
/// nobody is told.
pub(super) fn upload<T: Scalar>(
    config: &Config,
    encoding: &Encoding,
    collected: u32,
    first: u32,
    storage: &mut CollectorStorage<'_>,
    agent: u32,
    broadcast: u32,
    vector: &[T],
) -> Result<(), ServerError> {
    let expected = config.parameters().feature_count as usize;
    let flag = agent.checked_sub(first).and_then(|i| storage.flags.get_mut(i as usize));
    let Some(flag) = flag else {
        return Err(ServerError::UnknownAgent { agent, agents: config.parameters().agents });
    };
    if broadcast != collected {
        return Err(ServerError::WrongBroadcast { agent, found: broadcast, expected: collected });
    }
    if vector.len() != expected {
        return Err(ServerError::VectorLength { agent, len: vector.len(), expected });
    }
    if *flag & UPLOADED != 0 {
        return Err(ServerError::DuplicateUpload { agent, broadcast });
    }
    *flag |= UPLOADED;
    storage.counters.received += 1;
    // Every vector takes the same way, selected or not: how long a reply takes must not tell the secret sample. Nothing
    // from here on branches on the coin; `tests/tests/upload_work.rs` counts the instructions.
    let selected = *flag & SELECTED & u8::from(encoding.signal == Signal::Vectors);
    let mut buffer = [0.0; REGION_WEIGHTS_MAX];
    let weights = encoding.weights.of_agent(config.region_of_agent(agent) as usize, &mut buffer);
    let outcome = match &encoding.mechanism {
        Some(mechanism) => {
            let encoder = mechanism.encoder(encoding.l2_sensitivity(), encoding.clipping_radius)?;
            encoder.add_if(selected == SELECTED, vector, weights, storage.sums)?
        }
        None => add_to_mean(vector, weights, storage.sums),
    };
    storage.counters.clipped += u32::from(selected) & u32::from(matches!(outcome, Outcome::Clipped));
    storage.counters.zeroed += u32::from(selected) & u32::from(matches!(outcome, Outcome::Zeroed));
    Ok(())
}

/// Adds φ⁽ⁱ⁾ω in fixed point to the mean that protects nobody.
fn add_to_mean<T: Scalar>(vector: &[T], weights: &[f64], sums: &mut [i64]) -> Outcome {
    if vector.iter().any(|x| !(x.to_f64().abs() < MEAN_ENTRY_MAX)) {
        return Outcome::Zeroed;
    }
    for (block, weight) in sums.chunks_exact_mut(vector.len()).zip(weights) {
        for (sum, x) in block.iter_mut().zip(vector) {
            *sum = sum.saturating_add((x.to_f64() * weight * MEAN_FRACTION) as i64);
        }
    }
    Outcome::Kept
}
