//! The server: selects in secret, clips, sums in integers, charges, noises, broadcasts. It is one
//! machine for every method: an [`Estimator`] says how uploads are encoded and what a release
//! means.
//!
//! A release takes two steps, so that a host can make the charge durable before anything leaves:
//! [`ServerInput::Close`] answers [`ServerOutput::Charge`]; a ledger of the host writes it down and
//! gives a receipt; [`ServerInput::Charged`] takes the receipt, draws the noise and answers
//! [`ServerOutput::Broadcast`]. Who was selected, how many, and what was clipped never leave the
//! server; its own flags, sums, noise and counters are wiped when the broadcast is over. Storage of
//! collectors and copies of a [`Share`] are their owners' to wipe.
//!
//! Coins, sums, noise and receipt of a broadcast belong together: they are of one opening, which a
//! nonce names, of one configuration, and of one kind of source. A restored server begins its
//! broadcast again, because two releases from one sample cost more than two charges say; nothing of
//! the opening before fits the new one.
//!
//! The sums are integers: they do not depend on the order of uploads, on threads or on shards.

mod take;

use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::collector::{self, CollectorStorage};
use super::config::Config;
use super::encoding::{Counters, Encoding, SELECTED, UPLOADED};
use super::errors::ServerError;
use super::estimator::Estimator;
use super::messages::{ServerInput, ServerOutput, ServerPhase};
use super::partial::{Opening, Partial, PartialError, Share};
#[cfg(feature = "alloc")]
use super::pool::{Pool, Recipe};
use super::shares::{Modulus, can_be_noised};
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GridGaussian, NoisePool, Sample};
use crate::privacy::{Charge, Receipt};
use crate::random::{NoiseSource, Provenance, SourceKind};

/// What the server keeps between inputs, apart from its numbers: a few words. Prints nothing of the
/// secret sample. Not `Clone`: two servers that go on from one state would release twice from one
/// charge.
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
    /// The opening of the broadcast that is collected, and how its coins were flipped. Never
    /// stored.
    #[serde(skip)]
    opened: Option<(Opening, SourceKind)>,
    /// Answers of a helper that the sums hold. Never stored.
    #[serde(skip)]
    answers: u32,
}

/// A stored state may be older than a release made from it. A server that resumes inside a
/// broadcast opens it again with new coins and is charged again: a second release from the *same*
/// sample would be charged as if it were a fresh one, and that is too little (two releases at (q,
/// z) from one sample are one at (q, z/√2)).
fn begin_again<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ServerPhase, D::Error> {
    Ok(match ServerPhase::deserialize(deserializer)? {
        ServerPhase::Collecting | ServerPhase::Charging => ServerPhase::Idle,
        other => other,
    })
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServerState {
            phase,
            broadcast,
            releases,
            ..
        } = self;
        write!(
            f,
            "ServerState {{ phase: {phase:?}, broadcast: {broadcast}, releases: {releases} }}"
        )
    }
}

impl ServerState {
    /// Before broadcast 0.
    pub const fn new() -> Self {
        ServerState {
            phase: ServerPhase::Idle,
            broadcast: 0,
            releases: 0,
            counters: Counters::ZERO,
            opened: None,
            answers: 0,
        }
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

    /// What happened to the vectors of the broadcast that is collected: **not releasable**, for
    /// simulators. Zero when it is over.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

impl Default for ServerState {
    fn default() -> Self {
        Self::new()
    }
}

/// The server's numbers; [`Config::broadcast_len`] says how many a release of random draws has,
/// [`Estimator::released_len`] that of any method. Prints their lengths, never what they hold.
///
/// **Example**: that of [`Server`].
pub struct ServerStorage<'a, T> {
    /// Integer sums, as many as a release has numbers.
    pub sums: &'a mut [i64],
    /// Integer noise, as many.
    pub noise: &'a mut [i64],
    /// One byte an agent: selected, uploaded.
    pub flags: &'a mut [u8],
    /// The released numbers, as many.
    pub vectors: &'a mut [T],
}

impl<T> fmt::Debug for ServerStorage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ServerStorage {{ coordinates: {}, agents: {} }}",
            self.sums.len(),
            self.flags.len()
        )
    }
}

/// The server at work: an estimator, state and numbers. The estimator of random draws is their
/// [`Config`].
///
/// ```
/// use sordino_core::federated::{
///     Server, ServerError, ServerInput, ServerOutput, ServerPhase, ServerState, ServerStorage,
/// };
/// use sordino_core::privacy::{Receipt, Simulated, charge::Unwritten};
/// # use sordino_core::{domain::Regions, federated::{Aggregation, Config, Parameters}, random::Stream};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
///
/// // Of two agents, M = 16, P = 1: the example of `Config`.
/// let (mut sums, mut noise, mut flags, mut out) = ([0; 16], [0; 16], [0; 2], [0.0; 16]);
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
pub struct Server<'a, T: Scalar, M: Estimator<T> = &'a Config> {
    method: M,
    state: &'a mut ServerState,
    storage: ServerStorage<'a, T>,
    /// How the open release is encoded; nothing between releases of a method that has to be
    /// prepared.
    encoding: Option<M::Encoding>,
}

impl<T: Scalar> Server<'_, T> {
    /// What every release under this configuration costs; nothing if releases are not private.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if the configuration has no mechanism.
    pub fn event_of(config: &Config) -> Result<Option<Event>, ServerError> {
        Estimator::<T>::event(&config, 0)
    }
}

impl<'a, T: Scalar, M: Estimator<T>> Server<'a, T, M> {
    /// Joins a state with the slices it has always had.
    ///
    /// **Errors**: [`ServerError::Storage`]; [`ServerError::State`] for a stored state that makes
    /// no sense; [`ServerError::Mechanism`] if the sums could overflow;
    /// [`ServerError::Reconfigured`] inside a release that was opened under another configuration,
    /// other terms or another multiplier: its sums are on the grid that they were collected on.
    pub fn attach(
        method: M,
        state: &'a mut ServerState,
        storage: ServerStorage<'a, T>,
    ) -> Result<Self, ServerError> {
        let len = method.released_len();
        let agents = method.agents() as usize;
        for (what, found, expected) in [
            ("sums", storage.sums.len(), len),
            ("noise", storage.noise.len(), len),
            ("flags", storage.flags.len(), agents),
            ("vectors", storage.vectors.len(), len),
        ] {
            if found != expected {
                return Err(ServerError::Storage {
                    what,
                    len: found,
                    expected,
                });
            }
        }
        let rounds = method.releases();
        if rounds == 0 && *state == ServerState::new() {
            state.phase = ServerPhase::Done;
        }
        let ServerState {
            phase,
            broadcast,
            releases,
            ref opened,
            ..
        } = *state;
        if releases > broadcast
            || broadcast > rounds
            || (broadcast == rounds) != (phase == ServerPhase::Done)
        {
            return Err(ServerError::State {
                broadcast,
                releases,
                rounds,
            });
        }
        let encoding = method.encoding(broadcast)?;
        if matches!(phase, ServerPhase::Collecting | ServerPhase::Charging) {
            let configuration = encoding.as_ref().map(Encoding::configuration);
            if configuration.is_none()
                || opened.map(|(opening, _)| opening.configuration) != configuration
            {
                return Err(ServerError::Reconfigured { broadcast });
            }
        }
        Ok(Server {
            method,
            state,
            storage,
            encoding,
        })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &ServerState {
        self.state
    }

    /// What its releases mean.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// The share of the secret sample of some agents, for a collector inside the trust boundary.
    /// **Never leaves it**.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Range`].
    pub fn share(&self, agents: Range<u32>) -> Result<Share<&[u8]>, ServerError> {
        let (opening, _) = self.collecting("share")?;
        let Range { start: first, end } = agents;
        match self.storage.flags.get(first as usize..end as usize) {
            Some(flags) => Ok(Share {
                opening,
                first,
                flags,
            }),
            None => Err(ServerError::Range {
                first,
                end,
                agents: self.method.agents(),
            }),
        }
    }

    /// Adds what a collector took, if it was made for this opening and can be what its agents sent.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Partial`]
    /// with the reason; a sum that would overflow ([`ServerError::Mechanism`]). Nothing changed
    /// then.
    pub fn merge<F: AsRef<[u8]>, S: AsRef<[i64]>>(
        &mut self,
        partial: &Partial<F, S>,
    ) -> Result<(), ServerError> {
        let (opening, encoding) = self.collecting("merge")?;
        self.unopened("merge")?;
        // Read once: what is judged is what is added.
        let partial = partial.borrowed();
        let range = partial.judge(encoding, &opening, self.storage.flags)?;
        let flags = partial.flags;
        let sums = partial.sums;
        if self
            .storage
            .sums
            .iter()
            .zip(sums)
            .any(|(sum, part)| sum.checked_add(*part).is_none())
        {
            return Err(EncodeError::SumOverflow.into());
        }
        let Some(own) = self.storage.flags.get_mut(range.clone()) else {
            let agents = self.method.agents() as usize;
            return Err(PartialError::Agents {
                end: range.end,
                agents,
            }
            .into());
        };
        own.iter_mut()
            .zip(flags)
            .for_each(|(own, part)| *own |= part & UPLOADED);
        self.storage
            .sums
            .iter_mut()
            .zip(sums)
            .for_each(|(sum, part)| *sum += part);
        self.state.counters.received += partial.counters.received;
        self.state.counters.clipped += partial.counters.clipped;
        self.state.counters.zeroed += partial.counters.zeroed;
        Ok(())
    }

    /// Whoever chose a part of the sums would learn from what is judged of them: nothing is added
    /// after a helper's answer.
    fn unopened(&self, input: &'static str) -> Result<(), ServerError> {
        if self.state.answers == 0 {
            return Ok(());
        }
        Err(ServerError::UnexpectedInput {
            phase: self.state.phase,
            input,
        })
    }

    /// The opening and its encoding, while uploads are accepted.
    fn collecting(&self, input: &'static str) -> Result<(Opening, &M::Encoding), ServerError> {
        let phase = self.state.phase;
        match (self.state.opened, &self.encoding) {
            (Some((opening, _)), Some(encoding)) if phase == ServerPhase::Collecting => {
                Ok((opening, encoding))
            }
            _ => Err(ServerError::UnexpectedInput { phase, input }),
        }
    }

    /// What the next release costs; nothing if it is not private. Offer it to the budget before
    /// [`ServerInput::Open`], in the order of [`crate::privacy::budget`].
    ///
    /// **Errors**: [`ServerError::Mechanism`] if there is no mechanism for it.
    pub fn event(&self) -> Result<Option<Event>, ServerError> {
        self.method.event(self.state.broadcast)
    }

    /// One step of the machine: one input in, one borrowed output out. `source` makes coins and
    /// noise.
    ///
    /// **Errors**: [`ServerError`]; nothing left then, and nothing changed, but for a release that
    /// its method could not take in: that begins again.
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
            (
                ServerPhase::Collecting,
                ServerInput::Upload {
                    agent,
                    broadcast,
                    vector,
                },
            ) => {
                self.unopened("upload")?;
                let Some(encoding) = &self.encoding else {
                    return Err(ServerError::Reconfigured {
                        broadcast: self.state.broadcast,
                    });
                };
                let mut storage = CollectorStorage {
                    sums: self.storage.sums,
                    flags: self.storage.flags,
                    counters: &mut self.state.counters,
                };
                let upload = collector::Upload {
                    agent,
                    broadcast,
                    vector,
                };
                collector::take(encoding, self.state.broadcast, 0, &mut storage, upload)?;
                Ok(ServerOutput::Wait)
            }
            (ServerPhase::Collecting, ServerInput::CloseEarly) => {
                let received = self.state.counters.received;
                let agents = self.method.agents();
                if received < agents {
                    Err(ServerError::NotEverybody { received, agents })
                } else {
                    self.close::<S>()
                }
            }
            (ServerPhase::Collecting | ServerPhase::Charging, ServerInput::Close) => {
                self.close::<S>()
            }
            (ServerPhase::Charging, ServerInput::Charged(receipt)) => {
                let (mechanism, sample) = self.paid(&receipt)?;
                let ServerStorage {
                    sums,
                    noise,
                    flags,
                    vectors,
                } = &mut self.storage;
                let noise = mechanism.fill_noise(source, noise)?;
                let open = OpenRelease {
                    state: self.state,
                    encoding: &mut self.encoding,
                    sums,
                    flags,
                    vectors,
                };
                open.release(&mut self.method, &mechanism, sample, noise)
            }
            (ServerPhase::Idle | ServerPhase::Charging, ServerInput::Skip) => {
                let broadcast = self.state.broadcast;
                self.next_broadcast();
                Ok(ServerOutput::NoBroadcast { broadcast })
            }
            (phase, input) => Err(ServerError::UnexpectedInput {
                phase,
                input: input.name(),
            }),
        }
    }

    /// Line "select each agent independently with probability q, secretly": before any upload, in
    /// agent order. A mechanism that does not sample flips no coin.
    fn open<S: NoiseSource>(&mut self, source: &mut S) -> Result<(), ServerError> {
        let nonce = source.nonce()?;
        let broadcast = self.state.broadcast;
        self.method.prepare(broadcast)?;
        let Some(encoding) = self.method.encoding(broadcast)? else {
            return Err(ServerError::Reconfigured { broadcast });
        };
        match encoding.mechanism() {
            // What the coins were flipped with is remembered in the state, and asked for at the
            // release.
            Some(mechanism) if mechanism.flips_coins() => {
                drop(mechanism.sample(source, self.storage.flags)?)
            }
            _ => self.storage.flags.fill(SELECTED),
        }
        let selected = self.storage.flags.iter().map(|flag| u32::from(*flag)).sum();
        self.storage.sums.fill(0);
        self.state.counters = Counters {
            selected,
            ..Counters::ZERO
        };
        let opening = Opening {
            nonce,
            broadcast,
            configuration: encoding.configuration(),
        };
        (self.state.opened, self.state.answers) = (Some((opening, source.kind())), 0);
        self.state.phase = ServerPhase::Collecting;
        self.encoding = Some(encoding);
        Ok(())
    }

    fn close<S: NoiseSource>(&mut self) -> Result<ServerOutput<'_, T, S::Provenance>, ServerError> {
        let broadcast = self.state.broadcast;
        let (Some(encoding), Some((opening, _))) = (&self.encoding, self.state.opened) else {
            return Err(ServerError::Reconfigured { broadcast });
        };
        let found = self.state.answers;
        let expected = encoding.noises() - 1;
        if found != expected {
            return Err(ServerError::Answers {
                broadcast,
                found,
                expected,
            });
        }
        if let Some(mechanism) = encoding.mechanism() {
            let charge = Charge::one(
                opening.nonce,
                u64::from(self.state.releases),
                mechanism.event(),
            );
            self.state.phase = ServerPhase::Charging;
            return Ok(ServerOutput::Charge(charge));
        }
        encoding.decode_mean(self.storage.sums, self.storage.vectors);
        self.method.learn(broadcast, self.storage.vectors, 0.0)?;
        self.next_broadcast();
        Ok(ServerOutput::Unprotected {
            broadcast,
            vectors: self.storage.vectors,
        })
    }

    /// Mechanism and sample of the opening that this receipt pays.
    fn paid<P: Provenance>(
        &self,
        receipt: &Receipt<P>,
    ) -> Result<(GridGaussian, Sample<P>), ServerError> {
        let broadcast = self.state.broadcast;
        let mechanism = self.encoding.as_ref().and_then(Encoding::mechanism);
        let (Some(mechanism), Some((opening, coins))) = (mechanism, self.state.opened) else {
            return Err(ServerError::Reconfigured { broadcast });
        };
        if !receipt.pays(opening.nonce, &[mechanism.event()]) {
            return Err(ServerError::OtherReceipt { broadcast });
        }
        let sample = Sample::drawn_before(mechanism.sampling_probability(), coins).ok_or(
            ServerError::MixedSources {
                coins,
                noise: P::KIND,
            },
        )?;
        Ok((*mechanism, sample))
    }

    /// What the noise of the open broadcast is drawn by, ahead and elsewhere; nothing if releases
    /// are not private.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting.
    #[cfg(feature = "alloc")]
    pub fn recipe(&self) -> Result<Option<Recipe>, ServerError> {
        let (opening, encoding) = self.collecting("recipe")?;
        let len = encoding.sums_len();
        Ok(encoding.mechanism().map(|mechanism| Recipe {
            opening,
            mechanism: *mechanism,
            len,
        }))
    }

    /// Whether this noise was drawn for the broadcast that is open.
    ///
    /// **Errors**: [`ServerError::OtherPool`].
    #[cfg(feature = "alloc")]
    pub fn admits<P: Provenance>(&self, pool: &Pool<P>) -> Result<(), ServerError> {
        match self.state.opened {
            Some((opening, _)) if opening == pool.opening => Ok(()),
            _ => Err(ServerError::OtherPool {
                broadcast: self.state.broadcast,
            }),
        }
    }

    /// As [`ServerInput::Charged`], with noise that was drawn ahead: no word is drawn here. Pool
    /// and receipt are spent, also by a refusal, and the pool is wiped.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless the charge was named;
    /// [`ServerError::OtherPool`], [`ServerError::OtherReceipt`], [`ServerError::MixedSources`].
    /// Nothing changed then, and nothing left.
    #[cfg(feature = "alloc")]
    pub fn release_with<P: Provenance>(
        &mut self,
        receipt: Receipt<P>,
        mut pool: Pool<P>,
    ) -> Result<ServerOutput<'_, T, P>, ServerError> {
        let phase = self.state.phase;
        if phase != ServerPhase::Charging {
            return Err(ServerError::UnexpectedInput {
                phase,
                input: "release with noise drawn ahead",
            });
        }
        self.admits(&pool)?;
        let (mechanism, sample) = self.paid(&receipt)?;
        let ServerStorage {
            sums,
            flags,
            vectors,
            ..
        } = &mut self.storage;
        let open = OpenRelease {
            state: self.state,
            encoding: &mut self.encoding,
            sums,
            flags,
            vectors,
        };
        open.release(&mut self.method, &mechanism, sample, pool.noise())
    }

    fn next_broadcast(&mut self) {
        leave(self.state, self.storage.sums, self.storage.flags);
        next_broadcast(self.state, self.method.releases());
    }
}

/// What a release touches, apart from its noise.
struct OpenRelease<'r, T, E> {
    state: &'r mut ServerState,
    encoding: &'r mut Option<E>,
    sums: &'r mut [i64],
    flags: &'r mut [u8],
    vectors: &'r mut [T],
}

impl<'r, T: Scalar, E: Encoding> OpenRelease<'r, T, E> {
    /// Line "add N(0, (zΔ)²I) and broadcast". The noise was drawn before the sums are touched; the
    /// divisor is the public q, never a count; an empty sample releases pure noise. A failure after
    /// the receipt was taken releases nothing, and the next attempt is charged again.
    ///
    /// Of two servers the noised sums, modulo 2³² or 2⁶⁴, are then judged. That they are refused is
    /// seen, and is a function of the release that was charged.
    fn release<P: Provenance, M: Estimator<T, Encoding = E>>(
        self,
        method: &mut M,
        mechanism: &GridGaussian,
        sample: Sample<P>,
        noise: NoisePool<'_, P>,
    ) -> Result<ServerOutput<'r, T, P>, ServerError> {
        let OpenRelease {
            state,
            encoding,
            sums,
            flags,
            vectors,
        } = self;
        let broadcast = state.broadcast;
        let (sensitivity, noise_std) = encoding
            .as_ref()
            .map_or((0.0, 0.0), |e| (e.l2_sensitivity(), e.noise_std()));
        // Of two servers the modulus, and how many agents' shares are in the sums.
        let shared = encoding.as_ref().filter(|e| e.noises() > 1).map(|e| {
            let modulus = Modulus::fitting(mechanism, e.agents());
            (modulus, state.counters.received)
        });
        let release = match shared {
            None => mechanism.release(sums, sample, noise, sensitivity, vectors)?,
            Some((modulus, contributors)) => {
                let centred = |sum: i64| modulus.centred(sum as u64);
                let release = mechanism.release_centred(
                    sums,
                    sample,
                    noise,
                    sensitivity,
                    centred,
                    vectors,
                )?;
                if !can_be_noised(mechanism, contributors, sums) {
                    leave(state, sums, flags);
                    *encoding = None;
                    return Err(PartialError::Bound.into());
                }
                release
            }
        };
        leave(state, sums, flags);
        *encoding = None;
        method.learn(broadcast, release.value(), noise_std)?;
        state.releases += 1;
        next_broadcast(state, method.releases());
        Ok(ServerOutput::Broadcast { broadcast, release })
    }
}

/// Leaves an opening: its sums and its sample are wiped, whatever became of it.
fn leave(state: &mut ServerState, sums: &mut [i64], flags: &mut [u8]) {
    sums.zeroize();
    flags.zeroize();
    (state.counters, state.opened, state.answers) = (Counters::ZERO, None, 0);
    state.phase = ServerPhase::Idle;
}

fn next_broadcast(state: &mut ServerState, rounds: u32) {
    state.broadcast += 1;
    state.phase = if state.broadcast == rounds {
        ServerPhase::Done
    } else {
        ServerPhase::Idle
    };
}
