//! The server: selects in secret, clips, sums in integers, charges, noises, broadcasts.
//!
//! A release takes two steps, so that a host can make the charge durable before anything leaves: [`ServerInput::Close`]
//! answers [`ServerOutput::Charge`]; the host writes it down; [`ServerInput::Charged`] draws the noise and answers
//! [`ServerOutput::Broadcast`]. Who was selected, how many, and what was clipped never leave the server.
//!
//! Coins, sums and noise of a broadcast belong together: they are of one configuration and of one kind of source, and a
//! restored server begins its broadcast again, because two releases from one sample cost more than two charges say.
//!
//! The sums are integers: they do not depend on the order of uploads, on threads or on shards.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::collector::{self, CollectorStorage, Counters, Encoding, MEAN_FRACTION, RoundWeights, SELECTED, UPLOADED};
use super::config::{Aggregation, Config};
use super::messages::{ServerError, ServerInput, ServerOutput};
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::GridGaussian;
use crate::random::{NoiseSource, SourceKind};

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

/// What the server keeps between inputs, apart from its numbers: a few words. Prints nothing of the secret sample.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    #[serde(deserialize_with = "begin_again")]
    phase: ServerPhase,
    broadcast: u32,
    releases: u32,
    counters: Counters,
    /// Under what the broadcast that is collected was opened.
    #[serde(skip)]
    opened: Option<Opened>,
}

/// What coins and sums of one broadcast were made with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Opened {
    aggregation: Aggregation,
    coins: Option<SourceKind>,
}

/// A stored state may be older than a release made from it. Whoever resumes inside a broadcast opens it again with new
/// coins and is charged again: a second release from the *same* sample would be charged as if it were a fresh one, and
/// that is too little (two releases at (q, z) from one sample are one at (q, z/√2)).
fn begin_again<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ServerPhase, D::Error> {
    Ok(match ServerPhase::deserialize(deserializer)? {
        ServerPhase::Collecting | ServerPhase::Charging => ServerPhase::Idle,
        other => other,
    })
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServerState { phase, broadcast, releases, .. } = self;
        write!(f, "ServerState {{ phase: {phase:?}, broadcast: {broadcast}, releases: {releases} }}")
    }
}

impl ServerState {
    /// Before broadcast 0.
    pub const fn new() -> Self {
        ServerState { phase: ServerPhase::Idle, broadcast: 0, releases: 0, counters: Counters::ZERO, opened: None }
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
    /// **Errors**: [`ServerError::Storage`]; [`ServerError::Mechanism`] if the sums could overflow;
    /// [`ServerError::Reconfigured`] inside a broadcast.
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
        let inside = matches!(state.phase, ServerPhase::Collecting | ServerPhase::Charging);
        if inside && state.opened.is_none_or(|opened| opened.aggregation != config.parameters().aggregation) {
            return Err(ServerError::Reconfigured { broadcast: state.broadcast });
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

    /// Adds what a collector took for `broadcast`: `flags` of the agents from `first` on, as it left them.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::WrongPartial`] for a late one;
    /// [`ServerError::PartialOfNobody`]; [`ServerError::Storage`];
    /// [`ServerError::DuplicateUpload`] if an agent of it was taken before, here or by another collector; a sum that
    /// would overflow ([`ServerError::Mechanism`]). Nothing changed then.
    pub fn merge(
        &mut self,
        broadcast: u32,
        first: u32,
        flags: &[u8],
        sums: &[i64],
        counters: &Counters,
    ) -> Result<(), ServerError> {
        if self.state.phase != ServerPhase::Collecting {
            return Err(ServerError::UnexpectedInput { phase: self.state.phase, input: "merge" });
        }
        if broadcast != self.state.broadcast {
            return Err(ServerError::WrongPartial { found: broadcast, expected: self.state.broadcast });
        }
        if flags.iter().all(|flag| flag & UPLOADED == 0) && sums.iter().any(|sum| *sum != 0) {
            return Err(ServerError::PartialOfNobody);
        }
        let (len, expected) = (sums.len(), self.storage.sums.len());
        if len != expected {
            return Err(ServerError::Storage { what: "partial sums", len, expected });
        }
        if self.storage.sums.iter().zip(sums).any(|(sum, part)| sum.checked_add(*part).is_none()) {
            return Err(EncodeError::SumOverflow.into());
        }
        let (agents, range) = (self.storage.flags.len(), first as usize..(first as usize).saturating_add(flags.len()));
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
            (phase, input) => Err(ServerError::UnexpectedInput { phase, input: input.name() }),
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
        let coins = self.encoding.mechanism.as_ref().map(|_| source.kind());
        self.state.opened = Some(Opened { aggregation: self.config.parameters().aggregation, coins });
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
            let (coins, noise) = (self.state.opened.and_then(|opened| opened.coins), source.kind());
            if let Some(coins) = coins.filter(|coins| *coins != noise) {
                return Err(ServerError::MixedSources { coins, noise });
            }
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
        self.state.opened = None;
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
