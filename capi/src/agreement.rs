//! What all parties of a federation agree on, as C gives it.

use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::{
    Aggregation, Config, InitialRegion, OwnDraw, Parameters, Public, Signal,
};
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::schedule::{Mixing, WeightConcentration};

use crate::memory::{Plain, Word};
use crate::settings::{SORDINO_DIM_MAX, number_of, shape, yes};
use crate::status::{Refused, Status};

/// The most features of an agent on a device.
pub const SORDINO_FEATURES_MAX: usize = 2048;
/// The most observations of an agent on a device: initial points and rounds.
pub const SORDINO_OBSERVATIONS_MAX: usize = 65536;
/// Bytes of a digest.
pub const SORDINO_DIGEST_BYTES: usize = 32;

/// Nothing is uploaded and nothing broadcast: every agent alone.
pub const SORDINO_AGGREGATION_NONE: u32 = 0;
/// The mean of all uploads, which protects nobody.
pub const SORDINO_AGGREGATION_MEAN: u32 = 1;
/// Secret sampling, clipping, and noise.
pub const SORDINO_AGGREGATION_PRIVATE: u32 = 2;

/// What a federation agrees on, and who this agent is in it. sordino_agent_usual fills in the
/// paper's constants; sordino_agent_digest tells two parties whether they agree.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AgentSettings {
    /// Seed of the agent's own draws: secret, never that of a release, and never the same on two
    /// devices.
    pub seed: u64,
    /// Public seed of the features that all parties share.
    pub feature_seed: u64,
    /// Lengthscale of the features' kernel.
    pub lengthscale: f64,
    /// Variance of the function, unit y squared.
    pub signal_variance: f64,
    /// Ridge term of the shared posterior.
    pub regularization: f64,
    /// Variance of the noise of an observation, unit y squared.
    pub noise_variance: f64,
    /// Public constant that is subtracted from every observation.
    pub offset: f64,
    /// Concentration of the weights of agents at the beginning, 0 to 700.
    pub concentration: f64,
    /// Bound S on what one agent uploads.
    pub clipping_norm: f64,
    /// Probability q with which an agent is in the secret sample.
    pub sampling_probability: f64,
    /// Standard deviation z of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// The list of candidates, `count` points of the unit box in rows; NULL where they are a grid.
    pub points: *const f32,
    /// Points of the list; 0 where the candidates are a grid.
    pub count: u32,
    /// Points of a grid along each axis, at least 2.
    pub per_axis: u32,
    /// Index of this agent among the enrolled.
    pub agent: u32,
    /// Agents enrolled.
    pub agents: u32,
    /// Axes of the domain, 1 to SORDINO_DIM_MAX.
    pub dim: u32,
    /// Parts of the domain along each axis.
    pub splits: [u32; SORDINO_DIM_MAX],
    /// Queries after the initial points.
    pub rounds: u32,
    /// Points before the first upload, at least 1.
    pub initial_points: u32,
    /// Where they are drawn: 1 in the whole domain, 0 in the agent's own part.
    pub initial_whole: u32,
    /// Features that all parties share, 1 to SORDINO_FEATURES_MAX.
    pub features: u32,
    /// Whether every feature vector is scaled to the same norm: 0 or 1.
    pub unit_norm: u32,
    /// Kernel of the features: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
    pub shape: u32,
    /// How fast an agent stops following the broadcasts in round t: 0 as 1/sqrt(t), 1 as 1/t.
    pub mixing: u32,
    /// Broadcasts at full concentration.
    pub hold: u32,
    /// Broadcasts over which it falls to 0.
    pub decay: u32,
    /// SORDINO_AGGREGATION_NONE, SORDINO_AGGREGATION_MEAN or SORDINO_AGGREGATION_PRIVATE.
    pub aggregation: u32,
    /// The server's noise has a standard deviation of 2^m steps, m from 16 to 20.
    pub grid_exponent: u32,
}

// SAFETY: integers, floats, an array and a pointer.
unsafe impl Plain for AgentSettings {}

/// Numbers of frequencies and phases.
pub(crate) fn features_len(dim: usize, features: usize) -> usize {
    random_fourier::storage_len(dim, features)
}

/// An agent of these sizes can be addressed on every target.
pub(crate) fn extent(dim: u32, features: u32, observations: u32) -> Result<(), Refused> {
    let within =
        |field, value: u32, most: usize, admissible| match (1..=most).contains(&(value as usize)) {
            true => Ok(()),
            false => Err(Refused::range(field, f64::from(value), admissible)),
        };
    within("dim", dim, SORDINO_DIM_MAX, "1..=16")?;
    within("features", features, SORDINO_FEATURES_MAX, "1..=2048")?;
    within(
        "observations",
        observations,
        SORDINO_OBSERVATIONS_MAX,
        "1..=65536",
    )
}

/// Initial points and rounds.
pub(crate) fn observations(s: &AgentSettings) -> Result<u32, Refused> {
    s.initial_points
        .checked_add(s.rounds)
        .ok_or_else(|| Refused::range("rounds", f64::from(s.rounds), "1..=65535"))
}

/// Numbers of the list of candidates.
pub(crate) fn points_len(s: &AgentSettings) -> usize {
    if s.dim as usize > SORDINO_DIM_MAX {
        0
    } else {
        (s.count as usize).saturating_mul(s.dim as usize)
    }
}

fn aggregation(s: &AgentSettings) -> Result<Aggregation, Refused> {
    match s.aggregation {
        SORDINO_AGGREGATION_NONE => Ok(Aggregation::None),
        SORDINO_AGGREGATION_MEAN => Ok(Aggregation::Mean),
        SORDINO_AGGREGATION_PRIVATE => Ok(Aggregation::Private {
            clipping_norm: ClippingNorm::new(s.clipping_norm)?,
            sampling_probability: s.sampling_probability,
            noise_multiplier: NoiseMultiplier::new(s.noise_multiplier)?,
            grid_exponent: s.grid_exponent,
            signal: Signal::Vectors,
        }),
        other => Err(Refused::range("aggregation", f64::from(other), "0, 1 or 2")),
    }
}

/// The configuration, checked.
pub(crate) fn config(s: &AgentSettings) -> Result<Config, Refused> {
    let splits = s.splits.get(..s.dim as usize).unwrap_or(&[]);
    Ok(Config::new(Parameters {
        agents: s.agents,
        regions: Regions::new(splits)?,
        rounds: s.rounds,
        initial_points: s.initial_points,
        initial_region: if yes("initial_whole", s.initial_whole)? {
            InitialRegion::Whole
        } else {
            InitialRegion::Own
        },
        feature_count: s.features,
        regularization: s.regularization,
        noise_variance: s.noise_variance,
        offset: s.offset,
        mixing: if yes("mixing", s.mixing)? {
            Mixing::Inverse
        } else {
            Mixing::InverseSqrt
        },
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration {
            start: s.concentration,
            hold: s.hold,
            decay: s.decay,
        },
        aggregation: aggregation(s)?,
    })?)
}

/// Candidates, and the features, which are drawn into `numbers`.
pub(crate) fn public(
    config: &'static Config,
    s: &AgentSettings,
    points: &'static [f32],
    numbers: &'static mut [f32],
) -> Result<Public<'static, f32>, Refused> {
    let dim = s.dim as usize;
    let count = s.features as usize;
    let candidates = if points.is_empty() {
        Candidates::grid(s.per_axis, dim)?
    } else {
        Candidates::list(points, dim)?
    };
    random_fourier::draw(
        s.feature_seed,
        0,
        shape(s.shape)?,
        &[s.lengthscale],
        dim,
        count,
        numbers,
    )?;
    let signal_variance = s.signal_variance as f32;
    let features = RandomFourier::new(
        dim,
        count,
        signal_variance,
        yes("unit_norm", s.unit_norm)?,
        &*numbers,
    )?;
    Ok(Public::streamed(config, candidates, features)?)
}

/// Digest of the public numbers that the configuration does not hold.
pub(crate) fn digest(s: &AgentSettings) -> Digest {
    let bits = [
        s.lengthscale.to_bits(),
        s.signal_variance.to_bits(),
        s.feature_seed,
    ];
    Digest::of(&(bits, [s.per_axis, s.count, s.shape, s.unit_norm]))
}

/// The usual settings of agent 0: the constants of the paper's synthetic experiments, a Matérn 5/2
/// kernel of lengthscale 0.2, a grid of 10 points an axis, S = 10, q = 0.5, z = 1. Seeds are 0:
/// give the agent one of its own.
///
/// # Safety
///
/// `settings` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_usual(
    dim: u32,
    agents: u32,
    rounds: u32,
    features: u32,
    settings: *mut AgentSettings,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    match usual(dim, agents, rounds, features).and_then(|usual| Ok(word.write(settings, usual)?)) {
        Ok(()) => Status::Ok,
        Err(refused) => refused.status,
    }
}

fn usual(dim: u32, agents: u32, rounds: u32, features: u32) -> Result<AgentSettings, Refused> {
    let regions = Regions::whole(dim as usize)?;
    let p = Parameters::usual(agents, regions, rounds, features, Aggregation::None);
    Ok(AgentSettings {
        seed: 0,
        feature_seed: 0,
        lengthscale: 0.2,
        signal_variance: 1.0,
        regularization: p.regularization,
        noise_variance: p.noise_variance,
        offset: p.offset,
        concentration: p.concentration.start,
        clipping_norm: 10.0,
        sampling_probability: 0.5,
        noise_multiplier: 1.0,
        points: core::ptr::null(),
        count: 0,
        per_axis: 10,
        agent: 0,
        agents,
        dim,
        splits: [1; SORDINO_DIM_MAX],
        rounds,
        initial_points: p.initial_points,
        initial_whole: u32::from(p.initial_region == InitialRegion::Whole),
        features,
        unit_norm: 1,
        shape: number_of(sordino_core::kernel::Stationary::Matern52),
        mixing: u32::from(p.mixing == Mixing::Inverse),
        hold: p.concentration.hold,
        decay: p.concentration.decay,
        aggregation: SORDINO_AGGREGATION_PRIVATE,
        grid_exponent: 20,
    })
}

/// Digest of the configuration, SORDINO_DIGEST_BYTES bytes to `digest`: that of the server, if both
/// agree on every number.
///
/// # Safety
///
/// `settings` is NULL or good for one value, `digest` NULL or good for SORDINO_DIGEST_BYTES bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_digest(
    settings: *const AgentSettings,
    digest: *mut u8,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let written = word
        .read(settings)
        .map_err(Refused::from)
        .and_then(|settings| {
            let Digest(bytes) = config(&settings)?.digest();
            Ok(word.copy(&bytes, digest, SORDINO_DIGEST_BYTES)?)
        });
    match written {
        Ok(()) => Status::Ok,
        Err(refused) => refused.status,
    }
}
