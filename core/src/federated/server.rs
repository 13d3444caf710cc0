//! The server: selects in secret, clips, sums in integers, charges, noises, broadcasts.
//!
//! A release takes two steps, so that a host can make the charge durable before anything leaves: [`ServerInput::Close`]
//! answers [`ServerOutput::Charge`]; the host writes it down; [`ServerInput::Charged`] draws the noise and answers
//! [`ServerOutput::Broadcast`]. Who was selected, how many, and what was clipped never leave the server.
//!
//! The sums are integers: they do not depend on the order of uploads, on threads or on shards.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::collector::{self, CollectorStorage, Counters, Encoding, MEAN_FRACTION, RoundWeights, SELECTED, UPLOADED};
use super::config::Config;
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use crate::random::{NoiseError, NoiseSource, SourceKind};

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
    #[serde(deserialize_with = "charge_again")]
    phase: ServerPhase,
    broadcast: u32,
    releases: u32,
    counters: Counters,
}

/// A stored state may be older than a release made from it: whoever resumes between charge and release closes again and
/// is charged again. Never too little.
fn charge_again<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ServerPhase, D::Error> {
    Ok(match ServerPhase::deserialize(deserializer)? {
        ServerPhase::Charging => ServerPhase::Collecting,
        other => other,
    })
}

impl ServerState {
    /// Before broadcast 0.
    pub const fn new() -> Self {
        ServerState { phase: ServerPhase::Idle, broadcast: 0, releases: 0, counters: Counters::ZERO }
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

/// The server's numbers; [`storage_lens`] says how many. Prints their lengths, never what they hold.
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

impl<T> fmt::Debug for ServerStorage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerStorage {{ coordinates: {}, agents: {} }}", self.sums.len(), self.flags.len())
    }
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
        /// How the noise was made; nothing if there is none and nobody is protected. A server that deploys must see
        /// [`SourceKind::Secret`].
        kind: Option<SourceKind>,
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

/// The server at work: configuration, state and numbers, all borrowed.
pub struct Server<'a, T> {
    config: &'a Config,
    state: &'a mut ServerState,
    storage: ServerStorage<'a, T>,
    encoding: Encoding,
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
        let encoding = Encoding::new(config, state.broadcast)?;
        Ok(Server { config, state, storage, encoding })
    }

    /// Where it stands.
    pub fn state(&self) -> &ServerState {
        self.state
    }

    /// The secret sample of the broadcast that is collected, one byte an agent, for collectors inside the trust
    /// boundary. **Never leaves it**: who sees it loses nothing less than the amplification by sampling.
    pub fn selection(&self) -> &[u8] {
        self.storage.flags
    }

    /// Adds what a collector took for this broadcast: `flags` of the agents from `first` on, as it left them.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Storage`];
    /// [`ServerError::DuplicateUpload`] if an agent of it was taken before, here or by another collector; a sum that
    /// would overflow ([`ServerError::Mechanism`]). Nothing changed then.
    pub fn merge(&mut self, first: u32, flags: &[u8], sums: &[i64], counters: &Counters) -> Result<(), ServerError> {
        if self.state.phase != ServerPhase::Collecting {
            return Err(ServerError::UnexpectedInput { phase: self.state.phase, input: "merge" });
        }
        let (len, expected) = (sums.len(), self.storage.sums.len());
        if len != expected {
            return Err(ServerError::Storage { what: "partial sums", len, expected });
        }
        if self.storage.sums.iter().zip(sums).any(|(sum, part)| sum.checked_add(*part).is_none()) {
            return Err(EncodeError::SumOverflow.into());
        }
        let (agents, range) = (self.storage.flags.len(), first as usize..first as usize + flags.len());
        let Some(own) = self.storage.flags.get_mut(range.clone()) else {
            return Err(ServerError::Storage { what: "partial flags", len: range.end, expected: agents });
        };
        if let Some(twice) = own.iter().zip(flags).position(|(own, part)| own & part & UPLOADED != 0) {
            let agent = first + twice as u32;
            return Err(ServerError::DuplicateUpload { agent, broadcast: self.state.broadcast });
        }
        own.iter_mut().zip(flags).for_each(|(own, part)| *own |= part & UPLOADED);
        self.storage.sums.iter_mut().zip(sums).for_each(|(sum, part)| *sum += part);
        self.state.counters.received += counters.received;
        self.state.counters.clipped += counters.clipped;
        self.state.counters.zeroed += counters.zeroed;
        Ok(())
    }

    /// What a release of the next broadcast costs; nothing if releases are not private. Offer it to a filter before
    /// [`ServerInput::Open`].
    pub fn event(&self) -> Option<Event> {
        self.encoding.mechanism.as_ref().map(GridGaussian::event)
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
                let collected = self.state.broadcast;
                let mut storage = CollectorStorage {
                    sums: self.storage.sums,
                    flags: self.storage.flags,
                    counters: &mut self.state.counters,
                };
                collector::upload(self.config, &self.encoding, collected, 0, &mut storage, agent, broadcast, vector)?;
                Ok(ServerOutput::Wait)
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
            let heads = match &self.encoding.mechanism {
                Some(mechanism) => mechanism.sampling_probability().coin(source)?,
                None => true,
            };
            *flag = if heads { SELECTED } else { 0 };
            selected += u32::from(heads);
        }
        self.storage.sums.fill(0);
        self.state.counters = Counters { selected, ..Counters::ZERO };
        self.state.phase = ServerPhase::Collecting;
        Ok(ServerOutput::Wait)
    }

    fn close(&mut self) -> Result<ServerOutput<'_, T>, ServerError> {
        match &self.encoding.mechanism {
            Some(mechanism) => {
                let event = mechanism.event();
                self.state.phase = ServerPhase::Charging;
                Ok(ServerOutput::Charge(event))
            }
            None => {
                for (x, sum) in self.storage.vectors.iter_mut().zip(self.storage.sums.iter()) {
                    *x = T::from_f64(*sum as f64 / MEAN_FRACTION);
                }
                Ok(self.end_broadcast(None))
            }
        }
    }

    /// Line "add N(0, (zΔ)²I) and broadcast". The pool is filled before the sums are touched; the divisor is the public
    /// q, never a count; an empty sample releases pure noise.
    fn release<S: NoiseSource>(&mut self, source: &mut S) -> Result<ServerOutput<'_, T>, ServerError> {
        let mut kind = None;
        if let Some(mechanism) = &self.encoding.mechanism {
            let sensitivity = self.encoding.l2_sensitivity();
            let pool = mechanism.fill_noise(source, self.storage.noise)?;
            let release = mechanism.release(self.storage.sums, pool, sensitivity, self.storage.vectors)?;
            kind = Some(release.kind());
            self.state.releases += 1;
        }
        Ok(self.end_broadcast(kind))
    }

    fn next_broadcast(&mut self) {
        self.state.broadcast += 1;
        self.encoding.weights = RoundWeights::new(self.config, self.state.broadcast);
        let over = self.state.broadcast == self.config.parameters().rounds;
        self.state.phase = if over { ServerPhase::Done } else { ServerPhase::Idle };
    }

    fn end_broadcast(&mut self, kind: Option<SourceKind>) -> ServerOutput<'_, T> {
        let broadcast = self.state.broadcast;
        self.next_broadcast();
        ServerOutput::Broadcast { broadcast, vectors: self.storage.vectors, kind }
    }
}
