//! The server: selects in secret, clips, sums in integers, charges, noises, broadcasts.
//!
//! A release takes two steps, so that a host can make the charge durable before anything leaves: [`ServerInput::Close`]
//! answers [`ServerOutput::Charge`]; the host writes it down; [`ServerInput::Charged`] draws the noise and answers
//! [`ServerOutput::Broadcast`]. Who was selected, how many, and what was clipped never leave the server.
//!
//! The sums are integers: they do not depend on the order of uploads, on threads or on shards.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::config::{Aggregation, Config, REGION_WEIGHTS_MAX, Signal};
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Outcome};
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use crate::privacy::sampling::SamplingProbability;
use crate::random::{NoiseError, NoiseSource};

/// Where the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerPhase {
    /// Between broadcasts.
    Idle,
    /// Uploads are accepted.
    Collecting,
    /// The charge is being written down.
    Charging,
    /// All T broadcasts are over.
    Done,
}

/// What the server keeps between inputs, apart from its numbers: a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    phase: ServerPhase,
    broadcast: u32,
    releases: u32,
    received: u32,
    counters: Counters,
}

impl ServerState {
    /// Before broadcast 0.
    pub const fn new() -> Self {
        ServerState { phase: ServerPhase::Idle, broadcast: 0, releases: 0, received: 0, counters: Counters::ZERO }
    }

    /// Where it stands.
    pub fn phase(&self) -> ServerPhase {
        self.phase
    }

    /// The index s of the broadcast that is collected, or next to be.
    pub fn broadcast(&self) -> u32 {
        self.broadcast
    }

    /// Releases made so far, each charged once.
    pub fn releases(&self) -> u32 {
        self.releases
    }

    /// Uploads of this broadcast so far; public, because everybody uploads in every round.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// What happened to the vectors of this broadcast: **not releasable**, for simulators.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

impl Default for ServerState {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts of one broadcast. **Not releasable**: they depend on private vectors and on the secret sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Agents whose coin came up.
    pub selected: u32,
    /// Selected vectors longer than the clipping radius.
    pub clipped: u32,
    /// Selected vectors that were not finite, or too long to measure: they count as zero.
    pub zeroed: u32,
}

impl Counters {
    const ZERO: Self = Counters { selected: 0, clipped: 0, zeroed: 0 };
}

/// The server's numbers; [`storage_lens`] says how many.
#[derive(Debug)]
pub struct ServerStorage<'a, T> {
    /// Integer sums, P·M.
    pub sums: &'a mut [i64],
    /// Integer noise, P·M.
    pub noise: &'a mut [i64],
    /// One byte an agent: selected, uploaded.
    pub flags: &'a mut [u8],
    /// The broadcast, P·M.
    pub vectors: &'a mut [T],
}

/// Lengths of (sums, noise, flags, vectors).
pub fn storage_lens(config: &Config) -> (usize, usize, usize, usize) {
    let len = config.broadcast_len();
    (len, len, config.parameters().agents as usize, len)
}

/// One thing that happens to the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerInput<'i, T> {
    /// Begin collecting the next broadcast: the secret sample is drawn.
    Open,
    /// An agent's weights.
    Upload {
        /// Who.
        agent: u32,
        /// For which broadcast.
        broadcast: u32,
        /// M numbers, any at all.
        vector: &'i [T],
    },
    /// No further uploads: deadline passed or everybody answered.
    Close,
    /// The charge is durable: release.
    Charged,
    /// The budget refuses: this broadcast does not take place, nothing is drawn for it any more, agents go on alone.
    Skip,
}

/// What the server answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerOutput<'o, T> {
    /// Nothing yet. The same whatever the vector was.
    Wait,
    /// Write this down durably, then say [`ServerInput::Charged`]; or do not, and nothing is released.
    Charge(Event),
    /// Send these P·M numbers to everybody.
    Broadcast {
        /// Its index s.
        broadcast: u32,
        /// The vectors ω⁽¹⁾ … ω⁽ᴾ⁾.
        vectors: &'o [T],
    },
    /// Tell everybody that broadcast s does not take place.
    NoBroadcast {
        /// Its index s.
        broadcast: u32,
    },
}

/// Why the server refused an input. Its state is as before, and nothing left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the server stands.
        phase: ServerPhase,
        /// What it was given.
        input: &'static str,
    },
    /// An upload of an agent that is not enrolled.
    UnknownAgent {
        /// Its index.
        agent: u32,
        /// N.
        agents: u32,
    },
    /// A second upload of one agent for one broadcast; the first stands.
    DuplicateUpload {
        /// Its index.
        agent: u32,
        /// The broadcast.
        broadcast: u32,
    },
    /// An upload for another broadcast than the one collected.
    WrongBroadcast {
        /// Its index.
        agent: u32,
        /// For which broadcast it was.
        found: u32,
        /// Which one is collected.
        expected: u32,
    },
    /// A vector that does not have M entries.
    VectorLength {
        /// Its index.
        agent: u32,
        /// Entries received.
        len: usize,
        /// M.
        expected: usize,
    },
    /// A slice of the wrong length.
    Storage {
        /// Which.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// The entropy source failed: an error of the round, whatever the data.
    Noise(NoiseError),
    /// The mechanism refused; never depends on a vector.
    Mechanism(GaussianError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ServerError::UnexpectedInput { phase, input } => write!(f, "{input} does not belong to phase {phase:?}"),
            ServerError::UnknownAgent { agent, agents } => {
                write!(f, "agent {agent} is not among the {agents} enrolled")
            }
            ServerError::DuplicateUpload { agent, broadcast } => {
                write!(f, "agent {agent} already uploaded for broadcast {broadcast}")
            }
            ServerError::WrongBroadcast { agent, found, expected } => {
                write!(f, "agent {agent} uploaded for broadcast {found}, {expected} is collected")
            }
            ServerError::VectorLength { agent, len, expected } => {
                write!(f, "agent {agent} uploaded {len} numbers, {expected} expected")
            }
            ServerError::Storage { what, len, expected } => {
                write!(f, "server {what}: {len} entries, {expected} needed")
            }
            ServerError::Noise(ref error) => write!(f, "{error}"),
            ServerError::Mechanism(ref error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for ServerError {}

impl From<NoiseError> for ServerError {
    fn from(error: NoiseError) -> Self {
        ServerError::Noise(error)
    }
}

impl From<GaussianError> for ServerError {
    fn from(error: GaussianError) -> Self {
        ServerError::Mechanism(error)
    }
}

impl From<EncodeError> for ServerError {
    fn from(error: EncodeError) -> Self {
        ServerError::Mechanism(error.into())
    }
}

const SELECTED: u8 = 1;
const UPLOADED: u8 = 2;

/// Fixed-point fraction bits of the mean that protects nobody: order-independent, 10⁻¹² fine.
const MEAN_FRACTION: f64 = 1_099_511_627_776.0; // 2⁴⁰
/// Largest |ω| it sums; a vector beyond counts as zero. 2²⁰·2⁴⁰ stays below 2⁶³ because weights sum to 1.
const MEAN_LIMIT: f64 = 1_048_576.0;

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

/// The server at work: configuration, state and numbers, all borrowed.
pub struct Server<'a, T> {
    config: &'a Config,
    state: &'a mut ServerState,
    storage: ServerStorage<'a, T>,
    mechanism: Option<GridGaussian>,
    clipping_radius: f64,
    signal: Signal,
    weights: RoundWeights,
}

impl<'a, T: Scalar> Server<'a, T> {
    /// Joins a state with the slices it has always had.
    ///
    /// **Errors**: [`ServerError::Storage`]; [`ServerError::Mechanism`] if the sums could overflow.
    pub fn attach(
        config: &'a Config,
        state: &'a mut ServerState,
        storage: ServerStorage<'a, T>,
    ) -> Result<Self, ServerError> {
        let (sums, noise, flags, vectors) = storage_lens(config);
        for (what, len, expected) in [
            ("sums", storage.sums.len(), sums),
            ("noise", storage.noise.len(), noise),
            ("flags", storage.flags.len(), flags),
            ("vectors", storage.vectors.len(), vectors),
        ] {
            if len != expected {
                return Err(ServerError::Storage { what, len, expected });
            }
        }
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
        let weights = RoundWeights::new(config, state.broadcast);
        Ok(Server { config, state, storage, mechanism, clipping_radius, signal, weights })
    }

    /// Where it stands.
    pub fn state(&self) -> &ServerState {
        self.state
    }

    /// What a release of the next broadcast costs; nothing if releases are not private. Offer it to a filter before
    /// [`ServerInput::Open`].
    pub fn event(&self) -> Option<Event> {
        self.mechanism.as_ref().map(GridGaussian::event)
    }

    /// One step of the machine: one input in, one borrowed output out. `source` makes coins and noise.
    ///
    /// **Errors**: [`ServerError`]; nothing changed then, and nothing left.
    pub fn handle<S: NoiseSource>(
        &mut self,
        input: ServerInput<'_, T>,
        source: &mut S,
    ) -> Result<ServerOutput<'_, T>, ServerError> {
        match (self.state.phase, input) {
            (ServerPhase::Idle, ServerInput::Open) => self.open(source),
            (ServerPhase::Collecting, ServerInput::Upload { agent, broadcast, vector }) => {
                self.upload(agent, broadcast, vector)
            }
            (ServerPhase::Collecting, ServerInput::Close) => self.close(),
            (ServerPhase::Charging, ServerInput::Charged) => self.release(source),
            (ServerPhase::Idle | ServerPhase::Charging, ServerInput::Skip) => {
                let broadcast = self.state.broadcast;
                self.storage.sums.fill(0);
                self.next_broadcast();
                Ok(ServerOutput::NoBroadcast { broadcast })
            }
            (phase, input) => Err(ServerError::UnexpectedInput {
                phase,
                input: match input {
                    ServerInput::Open => "Open",
                    ServerInput::Upload { .. } => "Upload",
                    ServerInput::Close => "Close",
                    ServerInput::Charged => "Charged",
                    ServerInput::Skip => "Skip",
                },
            }),
        }
    }

    /// Line "select each agent independently with probability q, secretly": before any upload, in agent order.
    fn open<S: NoiseSource>(&mut self, source: &mut S) -> Result<ServerOutput<'_, T>, ServerError> {
        let mut selected = 0;
        for flag in self.storage.flags.iter_mut() {
            let heads = match &self.mechanism {
                Some(mechanism) => mechanism.sampling_probability().coin(source)?,
                None => true,
            };
            *flag = if heads { SELECTED } else { 0 };
            selected += u32::from(heads);
        }
        self.storage.sums.fill(0);
        self.state.received = 0;
        self.state.counters = Counters { selected, ..Counters::ZERO };
        self.state.phase = ServerPhase::Collecting;
        Ok(ServerOutput::Wait)
    }

    /// Lines "clip" and "sum": a refused upload is an error to its sender; a vector without a finite norm counts as
    /// zero and nobody is told.
    fn upload(&mut self, agent: u32, broadcast: u32, vector: &[T]) -> Result<ServerOutput<'_, T>, ServerError> {
        let (agents, expected) = (self.config.parameters().agents, self.config.parameters().feature_count as usize);
        if agent >= agents {
            return Err(ServerError::UnknownAgent { agent, agents });
        }
        if broadcast != self.state.broadcast {
            return Err(ServerError::WrongBroadcast { agent, found: broadcast, expected: self.state.broadcast });
        }
        if vector.len() != expected {
            return Err(ServerError::VectorLength { agent, len: vector.len(), expected });
        }
        let flag = &mut self.storage.flags[agent as usize];
        if *flag & UPLOADED != 0 {
            return Err(ServerError::DuplicateUpload { agent, broadcast });
        }
        *flag |= UPLOADED;
        let selected = *flag & SELECTED != 0;
        self.state.received += 1;
        if selected && self.signal == Signal::Vectors {
            let mut buffer = [0.0; REGION_WEIGHTS_MAX];
            let region = self.config.region_of_agent(agent) as usize;
            let row = self.weights.of_agent(region, &mut buffer);
            let outcome = match &self.mechanism {
                Some(mechanism) => {
                    let sensitivity = self.weights.norm_max * self.clipping_radius;
                    mechanism.encoder(sensitivity, self.clipping_radius)?.add(vector, row, self.storage.sums)?
                }
                None => add_to_mean(vector, row, self.storage.sums),
            };
            self.state.counters.clipped += u32::from(matches!(outcome, Outcome::Clipped));
            self.state.counters.zeroed += u32::from(matches!(outcome, Outcome::Zeroed));
        }
        Ok(ServerOutput::Wait)
    }

    fn close(&mut self) -> Result<ServerOutput<'_, T>, ServerError> {
        match &self.mechanism {
            Some(mechanism) => {
                let event = mechanism.event();
                self.state.phase = ServerPhase::Charging;
                Ok(ServerOutput::Charge(event))
            }
            None => {
                for (x, sum) in self.storage.vectors.iter_mut().zip(self.storage.sums.iter()) {
                    *x = T::from_f64(*sum as f64 / MEAN_FRACTION);
                }
                Ok(self.end_broadcast())
            }
        }
    }

    /// Line "add N(0, (zΔ)²I) and broadcast". The pool is filled before the sums are touched; the divisor is the public
    /// q, never a count; an empty sample releases pure noise.
    fn release<S: NoiseSource>(&mut self, source: &mut S) -> Result<ServerOutput<'_, T>, ServerError> {
        if let Some(mechanism) = &self.mechanism {
            let sensitivity = self.weights.norm_max * self.clipping_radius;
            let pool = mechanism.fill_noise(source, self.storage.noise)?;
            let _charged = mechanism.release(self.storage.sums, pool, sensitivity, self.storage.vectors)?;
            self.state.releases += 1;
        }
        Ok(self.end_broadcast())
    }

    fn next_broadcast(&mut self) {
        self.state.broadcast += 1;
        self.weights = RoundWeights::new(self.config, self.state.broadcast);
        let over = self.state.broadcast == self.config.parameters().rounds;
        self.state.phase = if over { ServerPhase::Done } else { ServerPhase::Idle };
    }

    fn end_broadcast(&mut self) -> ServerOutput<'_, T> {
        let broadcast = self.state.broadcast;
        self.next_broadcast();
        ServerOutput::Broadcast { broadcast, vectors: self.storage.vectors }
    }
}

/// Adds φ⁽ⁱ⁾ω in fixed point to the mean that protects nobody.
fn add_to_mean<T: Scalar>(vector: &[T], weights: &[f64], sums: &mut [i64]) -> Outcome {
    if vector.iter().any(|x| !(x.to_f64().abs() < MEAN_LIMIT)) {
        return Outcome::Zeroed;
    }
    for (block, weight) in sums.chunks_exact_mut(vector.len()).zip(weights) {
        for (sum, x) in block.iter_mut().zip(vector) {
            *sum = sum.saturating_add((x.to_f64() * weight * MEAN_FRACTION) as i64);
        }
    }
    Outcome::Kept
}
