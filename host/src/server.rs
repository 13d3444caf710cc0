//! The server of one federation as a program runs it: core's machine with its storage, its coins
//! and noise, and its ledger. The simulator and real servers use the same code, for every method:
//! [`Hosted`] is what a method keeps between two calls, a configuration of random draws or the
//! posterior of a federated prior ([`Population`]).
//!
//! | step | what |
//! |---|---|
//! | [`ServerHost::new`] | the ledger comes first: what was spent is what it says, and a stored state must fit it |
//! | [`ServerHost::open`] | the ledger is asked whether the next release fits the budget; sources take a new seed; then the secret sample is drawn |
//! | [`ServerHost::recipe`], [`ServerHost::fill`] | another thread draws the noise while uploads come in; without these two calls it is drawn at the end |
//! | [`ServerHost::upload`], [`ServerHost::merge`] | uploads are added, or partial sums of collectors inside the trust boundary |
//! | [`ServerHost::close`] | the charge is appended to the ledger, and only its receipt releases |
//!
//! **After a crash** the ledger holds every release that left. With secret noise, the broadcast
//! that was being made is opened again with new coins and charged again. With simulated noise, the
//! same release is made again and charged once.

mod hosted;

use std::sync::Arc;

use rand_core::TryCryptoRng;
use serde::{Deserialize, Serialize};
use sordino_core::federated::shares::Opened;
use sordino_core::federated::{
    Config, Counters, Estimator, Partial, Pool, Recipe, Server, ServerError, ServerInput,
    ServerNumbers, ServerOutput, ServerPhase, ServerState, Share, Wiped,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::{NoiseSource, Secret, Simulated};
use sordino_core::random::{Party, Provenance, Purpose, RunSeed};

pub use self::hosted::{Hosted, Population, StoredPosterior, WithPublic};
use crate::entropy::{self, NoEntropy, SystemNoise};
use crate::ledger::{Budgeted, Ledger, LedgerError, Mark};

/// Where the coins and the noise of each broadcast come from.
pub trait Sources {
    /// The source of one broadcast.
    type Source: NoiseSource;

    /// The source of broadcast s, asked for at its opening and again at its release.
    fn of_broadcast(&mut self, broadcast: u32) -> &mut Self::Source;

    /// Called before each opening, and before anything of it is drawn. [`SystemSources`] takes a
    /// new seed here; nothing happens unless a source says otherwise.
    ///
    /// **Errors**: [`NoEntropy`]; nothing is opened then.
    fn renew(&mut self) -> Result<(), NoEntropy> {
        Ok(())
    }
}

/// Coins and noise of a real server: a generator with a new seed from the system at every opening.
///
/// **Privacy**: a copy of the running program (a snapshot of a machine with its memory) that goes
/// on from between two rounds draws other coins and other noise than the original. One that was
/// made *inside* a round holds that round's sample.
pub struct SystemSources(SystemNoise);

impl SystemSources {
    /// A generator that the system seeds.
    ///
    /// **Errors**: [`NoEntropy`].
    pub fn new() -> Result<Self, NoEntropy> {
        entropy::system().map(SystemSources)
    }
}

impl Sources for SystemSources {
    type Source = SystemNoise;

    fn of_broadcast(&mut self, _: u32) -> &mut SystemNoise {
        &mut self.0
    }

    fn renew(&mut self) -> Result<(), NoEntropy> {
        self.0 = entropy::system()?;
        Ok(())
    }
}

/// One cryptographic generator for all broadcasts.
impl<R: TryCryptoRng> Sources for Secret<R> {
    type Source = Self;
    fn of_broadcast(&mut self, _: u32) -> &mut Self {
        self
    }
}

/// A stream for each broadcast of a run, so that a resumed run draws the same noise again. Not
/// private.
#[derive(Debug)]
pub struct SimulatedSources {
    seed: RunSeed,
    party: Party,
    current: (u32, Simulated),
}

impl SimulatedSources {
    /// The streams of a run: (seed, server, release, s).
    pub fn new(seed: RunSeed) -> Self {
        Self::of(seed, Party::Server)
    }

    /// The streams of the helper of a run: (seed, helper, release, s).
    pub fn of_helper(seed: RunSeed) -> Self {
        Self::of(seed, Party::Helper)
    }

    fn of(seed: RunSeed, party: Party) -> Self {
        SimulatedSources {
            seed,
            party,
            current: (0, Self::stream(seed, party, 0)),
        }
    }

    fn stream(seed: RunSeed, party: Party, broadcast: u32) -> Simulated {
        Simulated::new(seed.stream(party, Purpose::Release, broadcast))
    }
}

impl Sources for SimulatedSources {
    type Source = Simulated;
    fn of_broadcast(&mut self, broadcast: u32) -> &mut Simulated {
        if self.current.0 != broadcast {
            self.current = (broadcast, Self::stream(self.seed, self.party, broadcast));
        }
        &mut self.current.1
    }
}

/// A server between two rounds, with the mark of the ledger it belongs to. Written from a borrowed
/// state, which is no copy, and read into one. `K` is what its method keeps: nothing for random
/// draws, the posterior of a federated prior.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredServer<S = ServerState, K = ()> {
    state: S,
    mark: Mark,
    /// Whether the last broadcast took place.
    took_place: bool,
    method: K,
}

impl<K> StoredServer<ServerState, K> {
    /// Broadcasts that it has made.
    pub fn releases(&self) -> u32 {
        self.state.releases()
    }
}

/// A stored server, with the vectors of its last broadcast.
pub type Resumed<'s, T, K = ()> = (StoredServer<ServerState, K>, &'s [T]);

/// Why a server cannot go on. Nothing was released.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The server refused.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The system gave no new seed for an opening.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The ledger does not hold the charges of the stored server: it was replaced, edited or cut.
    #[error(
        "the ledger ({charges} charges) is not the one in which the {releases} releases of the stored server were \
         charged: it was exchanged, edited or cut; nothing is released"
    )]
    OtherLedger {
        /// Releases that the stored server made.
        releases: u32,
        /// Charges that the ledger holds.
        charges: u64,
    },
    /// The server was stored after a broadcast that took place, and the broadcast's vectors are
    /// missing.
    #[error("stored server: {found} numbers of its last broadcast, {expected} expected")]
    NoVectors {
        /// Numbers that are there.
        found: usize,
        /// Numbers of a broadcast.
        expected: usize,
    },
}

/// The kind of these sources, secret or simulated, as a type.
type Made<S> = <<S as Sources>::Source as NoiseSource>::Provenance;

/// The server of one federation: method, state, numbers, sources, ledger. Its sums, noise and
/// sample are wiped when it is dropped.
pub struct ServerHost<T, S: Sources, L = Ledger, M = Arc<Config>> {
    method: M,
    state: ServerState,
    numbers: ServerNumbers<T>,
    took_place: bool,
    /// The last release that took place.
    made: Option<u32>,
    /// The noise of the open broadcast, drawn ahead; wipes itself. Never stored.
    pool: Option<Pool<Made<S>>>,
    sources: S,
    ledger: L,
}

impl<T: Scalar, S: Sources, L: Budgeted, M: Hosted<T>> ServerHost<T, S, L, M>
where
    L: sordino_core::privacy::Ledger<Made<S>, Error = LedgerError>,
{
    /// A server before broadcast 0, or as it was stored, with the vectors of its last broadcast if
    /// agents are still to be sent them ([`Hosted::broadcast_len`]).
    ///
    /// A server that was never stored may have a ledger with charges, from a crash before the first
    /// store. They count.
    ///
    /// **Errors**: [`HostError::OtherLedger`], [`HostError::NoVectors`]; [`HostError::Server`] for
    /// an inconsistent state.
    pub fn new(
        mut method: M,
        sources: S,
        ledger: L,
        stored: Option<Resumed<'_, T, M::Stored>>,
    ) -> Result<Self, HostError> {
        let (released, agents) = method.sizes()?;
        let mut numbers = ServerNumbers::sized(released, agents);
        let (state, took_place) = match stored {
            None => (ServerState::new(), false),
            Some((
                StoredServer {
                    state,
                    mark,
                    took_place,
                    method: kept,
                },
                last,
            )) => {
                let releases = state.releases();
                let charges = ledger.mark().charges();
                if mark.charges() < u64::from(releases) || !ledger.holds(&mark)? {
                    return Err(HostError::OtherLedger { releases, charges });
                }
                method.restore(kept)?;
                if took_place {
                    let found = last.len();
                    let expected = method.broadcast_len();
                    if found != expected {
                        return Err(HostError::NoVectors { found, expected });
                    }
                    numbers.lend().vectors[..found].copy_from_slice(last);
                }
                (state, took_place)
            }
        };
        let made = if took_place {
            state.broadcast().checked_sub(1)
        } else {
            None
        };
        let mut host = ServerHost {
            method,
            state,
            numbers,
            took_place,
            made,
            pool: None,
            sources,
            ledger,
        };
        // What is wrong with the state or the configuration is found out now.
        host.with_server(|_, _| Ok(()))?;
        Ok(host)
    }

    /// The server between two rounds, to be stored. Its charges are made durable first.
    ///
    /// **Errors**: the ledger's.
    pub fn store(&mut self) -> Result<StoredServer<&ServerState, M::Stored>, HostError> {
        self.ledger.sync()?;
        Ok(self.stored())
    }

    /// The server between two rounds as it will be once its ledger is synced: for a host that makes
    /// state, broadcast and charge durable in one step, with [`Deferred`](crate::ledger::Deferred),
    /// and syncs the ledger afterwards.
    pub fn stored(&self) -> StoredServer<&ServerState, M::Stored> {
        let mark = self.ledger.mark();
        let method = self.method.stored();
        StoredServer {
            state: &self.state,
            mark,
            took_place: self.took_place,
            method,
        }
    }

    /// State of the server, to be stored.
    pub fn state(&self) -> &ServerState {
        &self.state
    }

    /// What its method keeps, to be read.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// Its ledger, to be read.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// Its ledger, when all releases are made.
    pub fn into_ledger(self) -> L {
        self.ledger
    }

    /// Makes every charge durable; those of secret noise already are.
    ///
    /// **Errors**: the ledger's.
    pub fn sync(&mut self) -> Result<(), HostError> {
        Ok(self.ledger.sync()?)
    }

    /// The last release that took place, however many were refused since: its index, and its
    /// numbers. Nothing before the first, after one that was refused when its noise was added, and
    /// of a server that was stored after one that was refused.
    pub fn last_release(&self) -> Option<(u32, &[T])> {
        self.made.map(|made| (made, self.numbers.vectors()))
    }

    /// The vectors of the last broadcast; nothing if it did not take place.
    pub fn broadcast(&self) -> Option<&[T]> {
        self.took_place.then_some(self.numbers.vectors())
    }

    fn with_server<R>(
        &mut self,
        act: impl FnOnce(&mut Server<'_, T, M::Estimator<'_>>, &mut S::Source) -> Result<R, ServerError>,
    ) -> Result<R, HostError> {
        let source = self.sources.of_broadcast(self.state.broadcast());
        let estimator = self.method.estimator()?;
        let mut server = Server::attach(estimator, &mut self.state, self.numbers.lend())?;
        Ok(act(&mut server, source)?)
    }

    /// Opens the next broadcast: draws the secret sample. False if the budget refuses it: then
    /// nothing is drawn, and the agents go on without it. Where a method says so
    /// ([`Hosted::ENDS_WHEN_REFUSED`]), a refused release refuses all that follow, even cheaper
    /// ones.
    ///
    /// **Errors**: [`HostError`]; the budget's refusal is not one.
    pub fn open(&mut self) -> Result<bool, HostError> {
        let ended = M::ENDS_WHEN_REFUSED && self.state.releases() < self.state.broadcast();
        let open = !ended && self.admits_next()?;
        self.sources.renew()?;
        // The last broadcast is over; this one has not taken place yet.
        (self.took_place, self.pool) = (false, None);
        let input = if open {
            ServerInput::Open
        } else {
            ServerInput::Skip
        };
        self.with_server(|server, source| server.handle(input, source).map(drop))?;
        Ok(open)
    }

    /// Whether the budget has room for the next release; nothing is spent.
    fn admits_next(&mut self) -> Result<bool, HostError> {
        let release = u64::from(self.state.releases());
        let Some(event) = self.with_server(|server, _| server.event())? else {
            return Ok(true);
        };
        match self.ledger.admits_release(release, &[event]) {
            Ok(()) => Ok(true),
            Err(LedgerError::OverBudget { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The recipe by which another thread can draw the noise of the open broadcast; none if
    /// releases are not private.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless a broadcast is open.
    pub fn recipe(&mut self) -> Result<Option<Recipe>, HostError> {
        self.with_server(|server, _| server.recipe())
    }

    /// Takes the noise of the open broadcast, which [`ServerHost::close`] then uses, once; without
    /// it, noise is drawn there.
    ///
    /// **Errors**: [`ServerError::OtherPool`]; the pool is wiped then.
    pub fn fill(&mut self, pool: Pool<Made<S>>) -> Result<(), HostError> {
        self.with_server(|server, _| server.admits(&pool))?;
        self.pool = Some(pool);
        Ok(())
    }

    /// The secret sample of all agents, for collectors inside the trust boundary; wiped when the
    /// last copy is dropped.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless a broadcast is open.
    pub fn share(&mut self) -> Result<Arc<Share<Wiped<u8>>>, HostError> {
        self.with_server(|server, _| {
            server
                .share(0..server.method().agents())
                .map(|share| Arc::new(share.to_owned()))
        })
    }

    /// Takes one agent's upload.
    ///
    /// **Errors**: [`ServerError`]; nothing changed then.
    pub fn upload(&mut self, agent: u32, broadcast: u32, vector: &[T]) -> Result<(), HostError> {
        let upload = ServerInput::Upload {
            agent,
            broadcast,
            vector,
        };
        self.with_server(|server, source| server.handle(upload, source).map(|_| ()))
    }

    /// Adds a collector's partial sum. Collectors answer in any order.
    ///
    /// **Errors**: [`ServerError::Partial`]; nothing changed then.
    pub fn merge<F: AsRef<[u8]>, N: AsRef<[i64]>>(
        &mut self,
        partial: &Partial<F, N>,
    ) -> Result<(), HostError> {
        self.with_server(|server, _| server.merge(partial))
    }

    /// Adds what a leader opened of two servers' shares, with the noise of its helper in it
    /// ([`crate::shares`]).
    ///
    /// **Errors**: those of [`Server::take`]; nothing changed then.
    pub fn take(&mut self, opened: Opened<'_>) -> Result<(), HostError> {
        self.with_server(|server, _| server.take(opened))
    }

    /// The deadline has passed: charges, writes down, releases. The vectors are then in
    /// [`ServerHost::broadcast`].
    ///
    /// A ledger that fails leaves the server where it is; closing again charges again.
    ///
    /// **Returns** what happened to the vectors: **not releasable**.
    ///
    /// **Errors**: [`HostError`]; nothing is released then.
    pub fn close(&mut self) -> Result<Counters, HostError> {
        if !matches!(
            self.state.phase(),
            ServerPhase::Collecting | ServerPhase::Charging
        ) {
            return Ok(Counters::default());
        }
        let counters = self.state.counters();
        let charge = self.with_server(|server, source| {
            match server.handle(ServerInput::Close, source)? {
                ServerOutput::Charge(charge) => Ok(Some(charge)),
                _ => Ok(None),
            }
        })?;
        if let Some(charge) = charge {
            let receipt = self.ledger.append(charge)?;
            // The numbers are written over from here on, whatever becomes of the release.
            self.made = None;
            match self.pool.take() {
                Some(pool) => {
                    self.with_server(|server, _| server.release_with(receipt, pool).map(|_| ()))?
                }
                None => self.with_server(|server, source| {
                    server
                        .handle(ServerInput::Charged(receipt), source)
                        .map(|_| ())
                })?,
            }
        }
        self.took_place = true;
        self.made = self.state.broadcast().checked_sub(1);
        Ok(counters)
    }

    /// How coins and noise are made.
    pub const fn kind(&self) -> sordino_core::privacy::SourceKind {
        <Made<S> as Provenance>::KIND
    }
}
