//! The server: selects in secret, clips, sums in integers, charges, noises, broadcasts.
//!
//! A release takes two steps, so that a host can make the charge durable before anything leaves: [`ServerInput::Close`]
//! answers [`ServerOutput::Charge`]; a ledger of the host writes it down and gives a receipt;
//! [`ServerInput::Charged`] takes the receipt, draws the noise and answers [`ServerOutput::Broadcast`]. Who was selected,
//! how many, and what was clipped never leave the server; its own flags, sums, noise and counters are wiped when the
//! broadcast is over. Storage of collectors and copies of a [`Share`] are their owners' to wipe.
//!
//! Coins, sums, noise and receipt of a broadcast belong together: they are of one opening, which a nonce names, of one
//! configuration, and of one kind of source. A restored server begins its broadcast again, because two releases from one
//! sample cost more than two charges say; nothing of the opening before fits the new one.
//!
//! The sums are integers: they do not depend on the order of uploads, on threads or on shards.

use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::collector::{self, CollectorStorage};
use super::config::Config;
use super::encoding::{Counters, Encoding, MEAN_FRACTION, RoundWeights, SELECTED, UPLOADED};
use super::errors::ServerError;
use super::messages::{ServerInput, ServerOutput, ServerPhase};
use super::partial::{Opening, Partial, PartialError, Share, within};
#[cfg(feature = "alloc")]
use super::pool::{Pool, Recipe};
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GridGaussian, Sample};
use crate::privacy::{Charge, Receipt};
use crate::random::{NoiseSource, Provenance, SourceKind};

/// What the server keeps between inputs, apart from its numbers: a few words. Prints nothing of the secret sample. Not
/// `Clone`: two servers that go on from one state would release twice from one charge.
///
/// **Example**: that of [`Server`].
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerState {
    #[serde(deserialize_with = "begin_again")]
    phase: ServerPhase,
    broadcast: u32,
    releases: u32,
    /// Never stored: they tell of the secret sample.
    #[serde(skip)]
    counters: Counters,
    /// The opening of the broadcast that is collected, and how its coins were flipped. Never stored.
    #[serde(skip)]
    opened: Option<(Opening, SourceKind)>,
}

/// A stored state may be older than a release made from it. A server that resumes inside a broadcast opens it again with
/// new coins and is charged again: a second release from the *same* sample would be charged as if it were a fresh one, and
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

    /// The phase it is in.
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

    /// What happened to the vectors of the broadcast that is collected: **not releasable**, for simulators. Zero when it
    /// is over.
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
///
/// **Example**: that of [`Server`].
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
///
/// ```
/// use sordino_core::federated::{
///     Server, ServerError, ServerInput, ServerOutput, ServerPhase, ServerState, ServerStorage, storage_lens,
/// };
/// use sordino_core::privacy::{Receipt, Simulated, charge::Unwritten};
/// # use sordino_core::{domain::Regions, federated::{Aggregation, Config, Parameters}, random::Stream};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
///
/// let lens = storage_lens(&config); // of two agents, M = 16, P = 1: the example of `Config`
/// let (mut sums, mut noise, mut flags, mut out) = (vec![0; lens.0], vec![0; lens.1], vec![0; lens.2], vec![0.0; lens.3]);
/// let storage = ServerStorage { sums: &mut sums, noise: &mut noise, flags: &mut flags, vectors: &mut out };
/// let mut state = ServerState::new();
/// let mut server = Server::attach(&config, &mut state, storage)?;
/// let source = &mut Simulated::new(Stream::from_seed(1)); // a deployment takes a `Secret`
/// server.handle(ServerInput::Open, source)?;
/// for agent in 0..2 {
///     server.handle(ServerInput::Upload { agent, broadcast: 0, vector: &[0.5; 16] }, source)?;
/// }
/// let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else { unreachable!() };
/// assert_eq!(charge.events().first().copied(), Server::<f64>::event_of(&config)?);
/// let receipt: Receipt<_> = Unwritten::receipt(charge); // a deployment's ledger writes it to a disk
/// let paid = server.handle(ServerInput::Charged(receipt), source)?;
/// assert!(matches!(paid, ServerOutput::Broadcast { broadcast: 0, .. }));
/// assert_eq!((server.state().phase(), server.state().releases()), (ServerPhase::Idle, 1));
/// assert!(matches!(server.handle(ServerInput::Close, source), Err(ServerError::UnexpectedInput { .. })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Server<'a, T> {
    config: &'a Config,
    state: &'a mut ServerState,
    storage: ServerStorage<'a, T>,
    encoding: Encoding,
}

impl<'a, T: Scalar> Server<'a, T> {
    /// Joins a state with the slices it has always had.
    ///
    /// **Errors**: [`ServerError::Storage`]; [`ServerError::State`] for a stored state that makes no sense;
    /// [`ServerError::Mechanism`] if the sums could overflow; [`ServerError::Reconfigured`] inside a broadcast.
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
        let ServerState { phase, broadcast, releases, ref opened, .. } = *state;
        let rounds = config.parameters().rounds;
        if releases > broadcast || broadcast > rounds || (broadcast == rounds) != (phase == ServerPhase::Done) {
            return Err(ServerError::State { broadcast, releases, rounds });
        }
        let inside = matches!(phase, ServerPhase::Collecting | ServerPhase::Charging);
        let digest = config.digest();
        if inside && opened.is_none_or(|(opening, _)| opening.configuration != digest) {
            return Err(ServerError::Reconfigured { broadcast });
        }
        let encoding = Encoding::new(config, broadcast)?;
        Ok(Server { config, state, storage, encoding })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &ServerState {
        self.state
    }

    /// The share of the secret sample of some agents, for a collector inside the trust boundary. **Never leaves it**.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Range`].
    pub fn share(&self, agents: Range<u32>) -> Result<Share<&[u8]>, ServerError> {
        let (opening, _) = self.collecting("share")?;
        let Range { start: first, end } = agents;
        match self.storage.flags.get(first as usize..end as usize) {
            Some(flags) => Ok(Share { opening, first, flags }),
            None => Err(ServerError::Range { first, end, agents: self.config.parameters().agents }),
        }
    }

    /// Adds what a collector took, if it was made for this opening and can be what its agents sent.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Partial`] with the reason; a sum
    /// that would overflow ([`ServerError::Mechanism`]). Nothing changed then.
    pub fn merge<F: AsRef<[u8]>, S: AsRef<[i64]>>(&mut self, partial: &Partial<F, S>) -> Result<(), ServerError> {
        let (opening, _) = self.collecting("merge")?;
        // Read once: what is judged is what is added.
        let partial = partial.borrowed();
        let range = partial.judge(
            self.config.broadcast_len(),
            &opening,
            self.storage.flags,
            |sums, contributed, uploaded| within(sums, contributed, uploaded, &self.encoding),
        )?;
        let (flags, sums) = (partial.flags, partial.sums);
        if self.storage.sums.iter().zip(sums).any(|(sum, part)| sum.checked_add(*part).is_none()) {
            return Err(EncodeError::SumOverflow.into());
        }
        let Some(own) = self.storage.flags.get_mut(range.clone()) else {
            let agents = self.config.parameters().agents as usize;
            return Err(PartialError::Agents { end: range.end, agents }.into());
        };
        own.iter_mut().zip(flags).for_each(|(own, part)| *own |= part & UPLOADED);
        self.storage.sums.iter_mut().zip(sums).for_each(|(sum, part)| *sum += part);
        self.state.counters.received += partial.counters.received;
        self.state.counters.clipped += partial.counters.clipped;
        self.state.counters.zeroed += partial.counters.zeroed;
        Ok(())
    }

    /// The opening, while uploads are accepted.
    fn collecting(&self, input: &'static str) -> Result<(Opening, SourceKind), ServerError> {
        let phase = self.state.phase;
        match self.state.opened {
            Some(opened) if phase == ServerPhase::Collecting => Ok(opened),
            _ => Err(ServerError::UnexpectedInput { phase, input }),
        }
    }

    /// What every release under this configuration costs; nothing if releases are not private.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if the configuration has no mechanism.
    pub fn event_of(config: &Config) -> Result<Option<Event>, ServerError> {
        Ok(Encoding::new(config, 0)?.mechanism.as_ref().map(GridGaussian::event))
    }

    /// What a release of the next broadcast costs; nothing if releases are not private. Offer it to the budget before
    /// [`ServerInput::Open`], in the order of [`crate::privacy::budget`].
    pub fn event(&self) -> Option<Event> {
        self.encoding.mechanism.as_ref().map(GridGaussian::event)
    }

    /// One step of the machine: one input in, one borrowed output out. `source` makes coins and noise.
    ///
    /// **Errors**: [`ServerError`]; nothing changed then, and nothing left.
    pub fn handle<S: NoiseSource>(
        &mut self,
        input: ServerInput<'_, T, S::Provenance>,
        source: &mut S,
    ) -> Result<ServerOutput<'_, T, S::Provenance>, ServerError> {
        match (self.state.phase, input) {
            (ServerPhase::Idle, ServerInput::Open) => {
                self.open(source)?;
                Ok(ServerOutput::Wait)
            }
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
            (ServerPhase::Collecting, ServerInput::CloseEarly) => {
                let (received, agents) = (self.state.counters.received, self.config.parameters().agents);
                if received < agents { Err(ServerError::NotEverybody { received, agents }) } else { self.close::<S>() }
            }
            (ServerPhase::Collecting | ServerPhase::Charging, ServerInput::Close) => self.close::<S>(),
            (ServerPhase::Charging, ServerInput::Charged(receipt)) => self.release(&receipt, source),
            (ServerPhase::Idle | ServerPhase::Charging, ServerInput::Skip) => {
                let broadcast = self.state.broadcast;
                self.next_broadcast();
                Ok(ServerOutput::NoBroadcast { broadcast })
            }
            (phase, input) => Err(ServerError::UnexpectedInput { phase, input: input.name() }),
        }
    }

    /// Line "select each agent independently with probability q, secretly": before any upload, in agent order.
    fn open<S: NoiseSource>(&mut self, source: &mut S) -> Result<(), ServerError> {
        let nonce = source.nonce()?;
        match &self.encoding.mechanism {
            // What the coins were flipped with is remembered in the state, and asked for at the release.
            Some(mechanism) => drop(mechanism.sample(source, self.storage.flags)?),
            None => self.storage.flags.fill(SELECTED),
        }
        let selected = self.storage.flags.iter().map(|flag| u32::from(*flag)).sum();
        self.storage.sums.fill(0);
        self.state.counters = Counters { selected, ..Counters::ZERO };
        let opening = Opening { nonce, broadcast: self.state.broadcast, configuration: self.config.digest() };
        self.state.opened = Some((opening, source.kind()));
        self.state.phase = ServerPhase::Collecting;
        Ok(())
    }

    fn close<S: NoiseSource>(&mut self) -> Result<ServerOutput<'_, T, S::Provenance>, ServerError> {
        match (&self.encoding.mechanism, self.state.opened) {
            (Some(mechanism), Some((opening, _))) => {
                let charge = Charge::one(opening.nonce, u64::from(self.state.releases), mechanism.event());
                self.state.phase = ServerPhase::Charging;
                Ok(ServerOutput::Charge(charge))
            }
            (None, _) => {
                for (x, sum) in self.storage.vectors.iter_mut().zip(self.storage.sums.iter()) {
                    *x = T::from_f64(*sum as f64 / MEAN_FRACTION);
                }
                let broadcast = self.state.broadcast;
                self.next_broadcast();
                Ok(ServerOutput::Unprotected { broadcast, vectors: self.storage.vectors })
            }
            (Some(_), None) => Err(ServerError::Reconfigured { broadcast: self.state.broadcast }),
        }
    }

    /// Line "add N(0, (zΔ)²I) and broadcast". The pool is filled before the sums are touched; the divisor is the public
    /// q, never a count; an empty sample releases pure noise. A failure after the receipt was taken releases nothing, and
    /// the next attempt is charged again.
    fn release<S: NoiseSource>(
        &mut self,
        receipt: &Receipt<S::Provenance>,
        source: &mut S,
    ) -> Result<ServerOutput<'_, T, S::Provenance>, ServerError> {
        let (broadcast, (mechanism, sample)) = (self.state.broadcast, self.paid(receipt)?);
        let sensitivity = self.encoding.l2_sensitivity();
        let pool = mechanism.fill_noise(source, self.storage.noise)?;
        let release = mechanism.release(self.storage.sums, sample, pool, sensitivity, self.storage.vectors)?;
        self.state.releases += 1;
        next_broadcast(self.config, self.state, &mut self.encoding, self.storage.sums, self.storage.flags);
        Ok(ServerOutput::Broadcast { broadcast, release })
    }

    /// Mechanism and sample of the opening that this receipt pays.
    fn paid<P: Provenance>(&self, receipt: &Receipt<P>) -> Result<(GridGaussian, Sample<P>), ServerError> {
        let broadcast = self.state.broadcast;
        let (Some(mechanism), Some((opening, coins))) = (self.encoding.mechanism, self.state.opened) else {
            return Err(ServerError::Reconfigured { broadcast });
        };
        if !receipt.pays(opening.nonce, &[mechanism.event()]) {
            return Err(ServerError::OtherReceipt { broadcast });
        }
        let sample = Sample::drawn_before(mechanism.sampling_probability(), coins)
            .ok_or(ServerError::MixedSources { coins, noise: P::KIND })?;
        Ok((mechanism, sample))
    }

    /// What the noise of the open broadcast is drawn by, ahead and elsewhere; nothing if releases are not private.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting.
    #[cfg(feature = "alloc")]
    pub fn recipe(&self) -> Result<Option<Recipe>, ServerError> {
        let (opening, _) = self.collecting("recipe")?;
        let len = self.config.broadcast_len();
        Ok(self.encoding.mechanism.map(|mechanism| Recipe { opening, mechanism, len }))
    }

    /// Whether this noise was drawn for the broadcast that is open.
    ///
    /// **Errors**: [`ServerError::OtherPool`].
    #[cfg(feature = "alloc")]
    pub fn admits<P: Provenance>(&self, pool: &Pool<P>) -> Result<(), ServerError> {
        match self.state.opened {
            Some((opening, _)) if opening == pool.opening => Ok(()),
            _ => Err(ServerError::OtherPool { broadcast: self.state.broadcast }),
        }
    }

    /// As [`ServerInput::Charged`], with noise that was drawn ahead: no word is drawn here. Pool and receipt are spent, also
    /// by a refusal, and the pool is wiped.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless the charge was named; [`ServerError::OtherPool`],
    /// [`ServerError::OtherReceipt`], [`ServerError::MixedSources`]. Nothing changed then, and nothing left.
    #[cfg(feature = "alloc")]
    pub fn release_with<P: Provenance>(
        &mut self,
        receipt: Receipt<P>,
        mut pool: Pool<P>,
    ) -> Result<ServerOutput<'_, T, P>, ServerError> {
        let ServerState { phase, broadcast, .. } = *self.state;
        if phase != ServerPhase::Charging {
            return Err(ServerError::UnexpectedInput { phase, input: "release with noise drawn ahead" });
        }
        self.admits(&pool)?;
        let (mechanism, sample) = self.paid(&receipt)?;
        let sensitivity = self.encoding.l2_sensitivity();
        let release = mechanism.release(self.storage.sums, sample, pool.noise(), sensitivity, self.storage.vectors)?;
        self.state.releases += 1;
        next_broadcast(self.config, self.state, &mut self.encoding, self.storage.sums, self.storage.flags);
        Ok(ServerOutput::Broadcast { broadcast, release })
    }

    fn next_broadcast(&mut self) {
        next_broadcast(self.config, self.state, &mut self.encoding, self.storage.sums, self.storage.flags);
    }
}

/// Ends a broadcast: its sums and its sample are wiped, whatever became of it.
fn next_broadcast(
    config: &Config,
    state: &mut ServerState,
    encoding: &mut Encoding,
    sums: &mut [i64],
    flags: &mut [u8],
) {
    sums.zeroize();
    flags.zeroize();
    state.counters = Counters::ZERO;
    state.broadcast += 1;
    state.opened = None;
    encoding.weights = RoundWeights::new(config, state.broadcast);
    let over = state.broadcast == config.parameters().rounds;
    state.phase = if over { ServerPhase::Done } else { ServerPhase::Idle };
}
