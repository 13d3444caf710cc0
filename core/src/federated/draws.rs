//! Random draws, summed with region weights (the paper's methods): how a vector of M weights
//! becomes P·M integers, and the estimator whose release is itself what agents are sent.

use super::config::{Aggregation, Config, REGION_WEIGHTS_MAX, Signal};
use super::encoding::{Encoding, sealed};
use super::errors::ServerError;
use super::estimator::Estimator;
use crate::digest::Digest;
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Outcome};
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use crate::privacy::sampling::SamplingProbability;

/// Largest |ω| the mean that protects nobody sums; a vector beyond counts as zero.
const MEAN_ENTRY_MAX: f64 = 1_048_576.0; // 2²⁰
/// Fixed-point fraction bits of the mean that protects nobody: order-independent, 10⁻¹² fine.
const MEAN_FRACTION: f64 = 1_099_511_627_776.0; // 2⁴⁰
/// Largest sum of them, 2²⁰·2⁴⁰: weights sum to 1.
const MEAN_LIMIT: u64 = 1 << 60;

/// The weights of one broadcast.
///
/// An agent's weight in a region depends only on whether it explores it: two numbers a region.
struct RoundWeights {
    inside: [f64; REGION_WEIGHTS_MAX],
    outside: [f64; REGION_WEIGHTS_MAX],
    regions: usize,
    norm_max: f64,
}

impl RoundWeights {
    /// Softmax weights at broadcast s, and max over enrolled agents of ‖(φ_n⁽¹⁾ … φ_n⁽ᴾ⁾)‖₂.
    fn new(config: &Config, broadcast: u32) -> Self {
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
            weights.inside[i] =
                crate::schedule::region_weight(concentration, p.agents, explorers, true);
            weights.outside[i] =
                crate::schedule::region_weight(concentration, p.agents, explorers, false);
        }
        let mut buffer = [0.0; REGION_WEIGHTS_MAX];
        for i in 0..regions {
            if config.explorers(i as u32) > 0 {
                let squares: f64 = weights
                    .of_agent(i, &mut buffer)
                    .iter()
                    .fold(0.0, |sum, w| sum + w * w);
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

/// What one release of the sum may change at most, in L2, if one enrolled agent's vector is
/// replaced by zero: the tight C_s = max_n‖φ_n‖₂·S/√P, where the paper takes φ_max·S.
///
/// **Equation**: the joint vector of agent n is (φ_n⁽¹⁾ω̂, …, φ_n⁽ᴾ⁾ω̂), of norm ‖φ_n‖₂·‖ω̂‖ ≤
/// ‖φ_n‖₂·S/√P. (The divisor q is applied after the noise, to both.) The maximum is over all N
/// slots, present or not.
pub fn l2_sensitivity(config: &Config, broadcast: u32) -> Option<f64> {
    match config.parameters().aggregation {
        Aggregation::Private { clipping_norm, .. } => {
            let radius = clipping_norm.value() / Scalar::sqrt(config.region_count() as f64);
            Some(RoundWeights::new(config, broadcast).norm_max * radius)
        }
        _ => None,
    }
}

/// How the draws of one broadcast are summed: ω of M numbers into P blocks, each weighted by how
/// well its agent knows the region.
///
/// ```
/// use sordino_core::federated::{Draws, Encoding};
/// # use sordino_core::{domain::Regions, federated::{Aggregation, Config, Parameters}};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
///
/// let draws = Draws::new(&config, 0)?; // broadcast 0 of two agents with M = 16 features and one region
/// let mut sums = [0; 16];
/// draws.add_if(true, 1, &[0.5; 16], &mut sums)?;
/// let (norm, radius) = (sums.iter().map(|u| u * u).sum::<i64>(), draws.mechanism().ok_or("not private")?.radius());
/// assert!(norm > 0 && norm <= (radius * radius) as i64); // ‖u‖ ≤ K, the check on which the guarantee rests
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Draws<'a> {
    config: &'a Config,
    mechanism: Option<GridGaussian>,
    clipping_radius: f64,
    broadcast: u32,
    weights: RoundWeights,
    signal: Signal,
}

impl core::fmt::Debug for Draws<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "Draws {{ mechanism: {:?}, clipping_radius: {} }}",
            self.mechanism, self.clipping_radius
        )
    }
}

impl<'a> Draws<'a> {
    /// The encoding of broadcast s under a configuration.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if the sums could overflow.
    pub fn new(config: &'a Config, broadcast: u32) -> Result<Self, ServerError> {
        let mechanism = mechanism(config)?;
        let (clipping_radius, signal) = match config.parameters().aggregation {
            Aggregation::Private {
                clipping_norm,
                signal,
                ..
            } => (
                clipping_norm.value() / Scalar::sqrt(config.region_count() as f64),
                signal,
            ),
            _ => (0.0, Signal::Vectors),
        };
        let weights = RoundWeights::new(config, broadcast);
        Ok(Draws {
            config,
            mechanism,
            clipping_radius,
            broadcast,
            weights,
            signal,
        })
    }
}

/// The mechanism of every broadcast; nothing if releases are not private.
fn mechanism(config: &Config) -> Result<Option<GridGaussian>, GaussianError> {
    let p = config.parameters();
    let Aggregation::Private {
        sampling_probability,
        noise_multiplier,
        grid_exponent,
        ..
    } = p.aggregation
    else {
        return Ok(None);
    };
    let probability = SamplingProbability::new(sampling_probability);
    let probability = probability.map_err(|_| GaussianError::Constant(sampling_probability))?;
    GridGaussian::new(
        grid_exponent,
        noise_multiplier.value(),
        probability,
        p.agents,
    )
    .map(Some)
}

impl sealed::Sealed for Draws<'_> {}

impl Encoding for Draws<'_> {
    fn agents(&self) -> u32 {
        self.config.parameters().agents
    }

    fn upload_len(&self) -> usize {
        self.config.parameters().feature_count as usize
    }

    fn sums_len(&self) -> usize {
        self.config.broadcast_len()
    }

    fn configuration(&self) -> Digest {
        self.config.digest()
    }

    /// Weights change from broadcast to broadcast.
    fn is_of(&self, broadcast: u32) -> bool {
        self.broadcast == broadcast
    }

    fn mechanism(&self) -> Option<&GridGaussian> {
        self.mechanism.as_ref()
    }

    /// C_s = max‖φₙ‖₂ × clipping radius.
    fn l2_sensitivity(&self) -> f64 {
        self.weights.norm_max * self.clipping_radius
    }

    fn add_if<T: Scalar>(
        &self,
        selected: bool,
        agent: u32,
        vector: &[T],
        sums: &mut [i64],
    ) -> Result<Outcome, EncodeError> {
        let mut buffer = [0.0; REGION_WEIGHTS_MAX];
        let weights = self
            .weights
            .of_agent(self.config.region_of_agent(agent) as usize, &mut buffer);
        match &self.mechanism {
            Some(mechanism) => {
                let encoder = mechanism.encoder(self.l2_sensitivity(), self.clipping_radius)?;
                encoder.add_if(selected, vector, weights, sums)
            }
            None => Ok(add_to_mean(vector, weights, sums)),
        }
    }

    fn carries_vectors(&self) -> bool {
        self.signal == Signal::Vectors
    }

    /// Weights sum to 1, so no coordinate passes the limit; one unit each for rounding.
    fn mean_limit(&self, uploaded: u32) -> u64 {
        if uploaded == 0 {
            0
        } else {
            MEAN_LIMIT + u64::from(uploaded)
        }
    }

    fn decode_mean<T: Scalar>(&self, sums: &[i64], out: &mut [T]) {
        for (x, sum) in out.iter_mut().zip(sums) {
            *x = T::from_f64(*sum as f64 / MEAN_FRACTION);
        }
    }
}

/// The release of a broadcast is what agents are sent: there is nothing to learn on the server.
impl<'a, T: Scalar> Estimator<T> for &'a Config {
    type Encoding = Draws<'a>;

    fn agents(&self) -> u32 {
        self.parameters().agents
    }

    fn releases(&self) -> u32 {
        self.parameters().rounds
    }

    fn released_len(&self) -> usize {
        self.broadcast_len()
    }

    fn event(&self, _: u32) -> Result<Option<Event>, ServerError> {
        Ok(mechanism(self)?.as_ref().map(GridGaussian::event))
    }

    fn encoding(&self, index: u32) -> Result<Option<Draws<'a>>, ServerError> {
        Draws::new(self, index).map(Some)
    }
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
