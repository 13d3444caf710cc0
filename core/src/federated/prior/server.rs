//! The server of a federated prior: hands out terms, sums joint vectors in integers, charges, noises, updates.
//!
//! The two steps of a release are those of [`super::super::Server`]: [`Input::Close`] answers [`Output::Charge`], a
//! ledger of the host makes it durable and gives a receipt, and only [`Input::Charged`] draws noise. Everybody
//! contributes: there are no coins. Sums, noise and receipt of a release are of one opening, which a nonce names; a
//! restored server begins its release again, and is charged again.
//!
//! Who answered, how many, and what was clipped never leaves the server except through the noised sums.
//!
//! **Example**: that of [`Server`].

use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::super::encoding::{SELECTED, UPLOADED};
use super::super::errors::ServerError;
use super::super::messages::ServerPhase;
use super::super::partial::{Opening, Partial, Share, norm_within};
use super::collector::{Collected, configuration};
use super::contribution::Mechanism;
pub use super::error::ReleaseError;
use super::error::{PriorError, exactly};
use super::plan;
use super::public::Public;
use super::state::{PublicState, Terms, scratch_len};
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;
use crate::privacy::event::{Event, Release};
use crate::privacy::{Charge, Receipt};
use crate::random::{NoiseSource, Nonce, Provenance};

/// When releases are made and at which multipliers: public, fixed beforehand.
///
/// **Example**: that of [`Server`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan<'a> {
    /// Release j is made before the queries of round `rounds[j]` + 1; not decreasing.
    pub rounds: &'a [u32],
    /// Noise multipliers z_j, one for each release.
    pub noise_multipliers: &'a [f64],
}

impl Plan<'_> {
    /// What release j costs; nothing beyond the last.
    pub fn event(&self, index: u32) -> Option<Event> {
        self.noise_multipliers.get(index as usize).copied().map(plan::event)
    }

    fn check(&self) -> Result<(), PriorError> {
        exactly("multipliers", self.noise_multipliers.len(), self.rounds.len())?;
        match self.rounds.windows(2).find(|pair| pair[1] < pair[0]) {
            Some(pair) => {
                let value = f64::from(pair[1]);
                Err(PriorError::Number { what: "round of a release", value, admissible: "from the one before on" })
            }
            None => Ok(()),
        }
    }
}

/// What the server is told.
///
/// **Example**: that of [`Server`].
#[derive(Debug)]
pub enum Input<'i, T, P: Provenance> {
    /// Begin the next release: its terms are computed.
    Open,
    /// An agent's joint vector.
    Upload {
        /// Index of the agent that uploads.
        agent: u32,
        /// Release that it is for.
        release: u32,
        /// M + 1 numbers, any at all.
        vector: &'i [T],
    },
    /// The deadline has passed, even if some agents have not answered. Said again while charging, it names the charge again.
    Close,
    /// The charge is durable: release.
    Charged(Receipt<P>),
    /// The budget refuses: this release does not take place.
    Skip,
}

impl<T, P: Provenance> Input<'_, T, P> {
    const fn name(&self) -> &'static str {
        match self {
            Input::Open => "open",
            Input::Upload { .. } => "upload",
            Input::Close => "close",
            Input::Charged(_) => "charged",
            Input::Skip => "skip",
        }
    }
}

/// What the server answers.
///
/// **Example**: that of [`Server`].
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Output<'o, T, P: Provenance> {
    /// Tell everybody: contributions to this release are made with these public numbers.
    Terms {
        /// Index of the release, 0-based.
        release: u32,
        /// Noise variance κ and constant C of the release.
        terms: Terms<T>,
        /// Weights w of the public posterior, M numbers.
        weights: &'o [T],
    },
    /// Nothing yet. The same whatever the vector was.
    Wait,
    /// Let a ledger write this down and answer [`Input::Charged`]; or do not, and nothing is released.
    Charge(Charge<P>),
    /// The release was made and is in the public state; everybody may have its numbers too.
    Broadcast {
        /// Index of the release, 0-based.
        release: u32,
        /// The noised sums (Σ u·d, Σ γCu), with the event that was charged.
        sums: Release<&'o [T], P>,
    },
    /// This release does not take place.
    NoBroadcast {
        /// Index of the release, 0-based.
        release: u32,
    },
}

/// What the server keeps between inputs, apart from its numbers. Not `Clone`: two servers that go on from one state would
/// release twice from one charge.
///
/// **Example**: that of [`Server`].
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    release: u32,
    made: u32,
    /// The release that is collected or charged. Never stored.
    #[serde(skip)]
    opened: Option<Opened>,
}

/// A release between its opening and its end: its name, the mechanism whose grid its sums are on, whether it is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Opened {
    nonce: Nonce,
    mechanism: Mechanism,
    closed: bool,
}

impl ServerState {
    /// Before release 0.
    pub const fn new() -> Self {
        ServerState { release: 0, made: 0, opened: None }
    }

    /// The release that is collected, or next to be.
    pub const fn release(&self) -> u32 {
        self.release
    }

    /// Releases made so far, each charged once.
    pub const fn made(&self) -> u32 {
        self.made
    }
}

/// The server's numbers; prints their lengths, never what they hold.
///
/// **Example**: that of [`Server`].
pub struct ServerStorage<'a, T> {
    /// Integer sums, M + 1.
    pub sums: &'a mut [i64],
    /// Integer noise, M + 1.
    pub noise: &'a mut [i64],
    /// One byte an agent: that it is in the sample, and whether it answered.
    pub flags: &'a mut [u8],
    /// The released numbers, M + 1.
    pub released: &'a mut [T],
    /// Scratch of [`scratch_len`].
    pub scratch: &'a mut [T],
}

impl<T> fmt::Debug for ServerStorage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerStorage {{ coordinates: {}, agents: {} }}", self.sums.len(), self.flags.len())
    }
}

/// The server at work: plan, public context, state, posterior and numbers, all borrowed.
///
/// ```
/// use sordino_core::federated::prior::server::{Input, Output, Plan, ReleaseError, Server, ServerState, ServerStorage};
/// use sordino_core::federated::prior::{Collector, PublicState, scratch_len, storage_len};
/// use sordino_core::federated::{CollectorStorage, Counters, ServerPhase};
/// use sordino_core::privacy::{Simulated, charge::Unwritten};
/// # use sordino_core::federated::prior::{Config, Parameters, Public, Tables, draw_designs, gram};
/// # use sordino_core::random::{RunSeed, Stream};
/// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
/// # let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
/// # gram(&config, &feature_rows, &mut mean)?;
/// # draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?;
/// # let public = Public::new(&config, &feature_rows, Tables { gram: &mean, designs: &designs, ..Tables::NONE })?;
/// # let (mut sums, mut noise, mut flags, mut released) = ([0; 3], [0; 3], [0; 2], [0.0; 3]);
/// # let mut scratch = vec![0.0; scratch_len(2, 3)];
/// # let (sums, noise, flags, released) = (&mut sums[..], &mut noise[..], &mut flags[..], &mut released[..]);
/// # let storage = ServerStorage { sums, noise, flags, released, scratch: &mut scratch };
///
/// // `config` and `public` of the example of `Public`; one release, before the first query, at multiplier 1.
/// let plan = Plan { rounds: &[0], noise_multipliers: &[1.0] };
/// let (mut posterior, mut state) = (PublicState::new(config, vec![0.0; storage_len(2)])?, ServerState::new());
/// let mut server = Server::attach(plan, public, &mut state, &mut posterior, storage)?;
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// let Output::Terms { terms, .. } = server.handle(Input::Open, source)? else { unreachable!() };
/// let _ = server.handle(Input::Upload { agent: 0, release: 0, vector: &[0.1, 0.2, 0.1] }, source)?;
/// // A shard takes the upload of agent 1.
/// let (mut sums, mut flags, mut counters) = ([0; 3], [0; 1], Counters::default());
/// let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
/// let mut shard = Collector::new(&config, &terms, 1.0, &server.share(1..2)?, storage)?;
/// shard.upload(1, 0, &[0.1, -0.2, 0.1])?;
/// server.merge(&shard.finish())?;
/// let Output::Charge(charge) = server.handle(Input::Close, source)? else { unreachable!() };
/// let paid = server.handle(Input::Charged(Unwritten::receipt(charge)), source)?;
/// assert!(matches!(paid, Output::Broadcast { release: 0, .. }));
/// assert_eq!((server.state().made(), server.phase()), (1, ServerPhase::Done));
/// assert!(matches!(server.handle(Input::Open, source), Err(ReleaseError::Server(_))));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server<'a, T, S> {
    plan: Plan<'a>,
    public: Public<'a, T>,
    state: &'a mut ServerState,
    posterior: &'a mut PublicState<T, S>,
    storage: ServerStorage<'a, T>,
}

impl<'a, T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Server<'a, T, S> {
    /// Joins a state with its numbers.
    ///
    /// **Errors**: [`PriorError::Length`], [`PriorError::Number`], [`PriorError::Candidate`] for a plan, a context or
    /// storage that do not fit; [`ServerError::State`] for a state that no run of this plan can be in;
    /// [`ServerError::Reconfigured`] inside a release whose terms the posterior no longer has, or whose multiplier, grid
    /// or sensitivity is another now: its sums are on the grid that they were collected on.
    pub fn attach(
        plan: Plan<'a>,
        public: Public<'a, T>,
        state: &'a mut ServerState,
        posterior: &'a mut PublicState<T, S>,
        storage: ServerStorage<'a, T>,
    ) -> Result<Self, ReleaseError> {
        plan.check()?;
        let config = posterior.config();
        public.update(config)?;
        let (len, agents) = (config.contribution_len(), config.parameters().agents as usize);
        for (what, found, expected) in [
            ("sums", storage.sums.len(), len),
            ("noise", storage.noise.len(), len),
            ("flags", storage.flags.len(), agents),
            ("released", storage.released.len(), len),
            ("scratch", storage.scratch.len(), scratch_len(config.features(), config.design_len())),
        ] {
            exactly(what, found, expected)?;
        }
        let (ServerState { release, made, opened }, rounds) = (&*state, plan.rounds.len() as u32);
        if made > release || *release > rounds {
            return Err(ServerError::State { broadcast: *release, releases: *made, rounds }.into());
        }
        let opened = opened.map(|opened| opened.mechanism);
        let server = Server { plan, public, state, posterior, storage };
        if opened.is_some_and(|mechanism| server.mechanism() != Ok(mechanism)) {
            return Err(ServerError::Reconfigured { broadcast: server.state.release }.into());
        }
        Ok(server)
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &ServerState {
        self.state
    }

    /// The public posterior.
    pub fn posterior(&self) -> &PublicState<T, S> {
        self.posterior
    }

    /// The phase it is in.
    pub fn phase(&self) -> ServerPhase {
        match self.state.opened {
            _ if self.state.release as usize >= self.plan.rounds.len() => ServerPhase::Done,
            None => ServerPhase::Idle,
            Some(Opened { closed: false, .. }) => ServerPhase::Collecting,
            Some(Opened { closed: true, .. }) => ServerPhase::Charging,
        }
    }

    /// One step of the machine: one input in, one borrowed output out.
    ///
    /// **Errors**: [`ReleaseError`]; nothing left then. A failure after the noise was drawn begins the release again.
    pub fn handle<N: NoiseSource>(
        &mut self,
        input: Input<'_, T, N::Provenance>,
        source: &mut N,
    ) -> Result<Output<'_, T, N::Provenance>, ReleaseError> {
        let (phase, release) = (self.phase(), self.state.release);
        match (phase, self.state.opened, input) {
            (ServerPhase::Idle, _, Input::Open) => {
                let nonce = source.nonce()?;
                let terms = self.posterior.prepare(&self.public, self.storage.scratch)?;
                let mechanism = self.mechanism()?;
                self.storage.sums.fill(0);
                self.storage.flags.fill(SELECTED);
                self.state.opened = Some(Opened { nonce, mechanism, closed: false });
                Ok(Output::Terms { release, terms, weights: self.posterior.weights() })
            }
            (ServerPhase::Collecting, _, Input::Upload { agent, release: found, vector }) => {
                self.upload(agent, found, vector)?;
                Ok(Output::Wait)
            }
            (ServerPhase::Collecting | ServerPhase::Charging, Some(opened), Input::Close) => {
                self.state.opened = Some(Opened { closed: true, ..opened });
                Ok(Output::Charge(Charge::one(opened.nonce, u64::from(self.state.made), opened.mechanism.event())))
            }
            (ServerPhase::Charging, Some(opened), Input::Charged(receipt)) => self.release(&opened, &receipt, source),
            (ServerPhase::Idle | ServerPhase::Charging, _, Input::Skip) => {
                begin_again(self.state, &mut self.storage);
                self.state.release += 1;
                Ok(Output::NoBroadcast { release })
            }
            (phase, _, input) => Err(ServerError::UnexpectedInput { phase, input: input.name() }.into()),
        }
    }
    /// The mechanism of the release that is prepared.
    fn mechanism(&self) -> Result<Mechanism, ReleaseError> {
        let terms = self.posterior.terms().ok_or(PriorError::NotPrepared)?;
        let (index, len) = (self.state.release as usize, self.plan.noise_multipliers.len());
        match self.plan.noise_multipliers.get(index) {
            Some(z) => Ok(Mechanism::new(self.posterior.config(), &terms, *z)?),
            None => Err(PriorError::Length { what: "multipliers", len, expected: index + 1 }.into()),
        }
    }

    /// Adds one agent's joint vector, clipped and checked in integers; a second one is refused.
    fn upload(&mut self, agent: u32, found: u32, vector: &[T]) -> Result<(), ReleaseError> {
        let (encoder, agents) = (self.mechanism()?.encoder()?, self.storage.flags.len() as u32);
        let collected = Collected { encoder: &encoder, release: self.state.release, agents };
        let ServerStorage { sums, flags, .. } = &mut self.storage;
        collected.take(0, sums, flags, (agent, found), vector)?;
        Ok(())
    }

    /// The opening, while uploads are accepted.
    fn collecting(&self, input: &'static str) -> Result<(Opening, Mechanism), ReleaseError> {
        let phase = self.phase();
        let (Some(Opened { nonce, mechanism, closed: false }), Some(terms)) =
            (self.state.opened, self.posterior.terms())
        else {
            return Err(ServerError::UnexpectedInput { phase, input }.into());
        };
        let z = mechanism.grid().noise_multiplier();
        let configuration = configuration(self.posterior.config(), &terms, z);
        Ok((Opening { nonce, broadcast: self.state.release, configuration }, mechanism))
    }

    /// The opening for a collector of these agents ([`Collector`](super::Collector)). There is no secret sample in it:
    /// everybody contributes.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Range`].
    pub fn share(&self, agents: Range<u32>) -> Result<Share<&[u8]>, ReleaseError> {
        let (opening, _) = self.collecting("share")?;
        let Range { start: first, end } = agents;
        match self.storage.flags.get(first as usize..end as usize) {
            Some(flags) => Ok(Share { opening, first, flags }),
            None => Err(ServerError::Range { first, end, agents: self.storage.flags.len() as u32 }.into()),
        }
    }

    /// Adds what a collector took, if it was made for this opening and can be what its agents sent.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Partial`] with the reason; a sum
    /// that would overflow. Nothing changed then.
    pub fn merge<F: AsRef<[u8]>, N: AsRef<[i64]>>(&mut self, partial: &Partial<F, N>) -> Result<(), ReleaseError> {
        let (opening, mechanism) = self.collecting("merge")?;
        // Read once: what is judged is what is added.
        let partial = partial.borrowed();
        let ServerStorage { sums, flags, .. } = &mut self.storage;
        let radius = mechanism.grid().radius();
        let range = partial
            .judge(sums.len(), &opening, flags, |sums, contributed, _| norm_within(sums, contributed, radius))
            .map_err(ServerError::from)?;
        if sums.iter().zip(partial.sums).any(|(sum, part)| sum.checked_add(*part).is_none()) {
            return Err(EncodeError::SumOverflow.into());
        }
        let own = flags.iter_mut().skip(range.start);
        own.zip(partial.flags).for_each(|(own, part)| *own |= part & UPLOADED);
        sums.iter_mut().zip(partial.sums).for_each(|(sum, part)| *sum += part);
        Ok(())
    }

    /// Takes the receipt, draws the noise, releases, and brings the posterior up to date. Missing agents count as zero;
    /// the divisor is N, however many answered.
    fn release<N: NoiseSource>(
        &mut self,
        opened: &Opened,
        receipt: &Receipt<N::Provenance>,
        source: &mut N,
    ) -> Result<Output<'_, T, N::Provenance>, ReleaseError> {
        let Opened { nonce, mechanism, .. } = *opened;
        let index = self.state.release;
        if !receipt.pays(nonce, &[mechanism.event()]) {
            return Err(ServerError::OtherReceipt { broadcast: index }.into());
        }
        let ServerStorage { sums, noise, flags, released, scratch } = &mut self.storage;
        let (sample, sensitivity) = (mechanism.grid().everybody()?, mechanism.l2_sensitivity());
        let pool = mechanism.grid().fill_noise(source, noise)?;
        let release = mechanism.grid().release(sums, sample, pool, sensitivity, released)?;
        sums.zeroize();
        flags.zeroize();
        self.state.opened = None;
        let repeats = plan::repeats(self.plan.rounds, index as usize);
        let noise_std = T::from_f64(mechanism.noise_std());
        self.posterior.update(release.value(), noise_std, repeats, scratch)?;
        self.state.release += 1;
        self.state.made += 1;
        Ok(Output::Broadcast { release: index, sums: release })
    }
}

/// Leaves an opening: nothing of it is kept.
fn begin_again<T>(state: &mut ServerState, storage: &mut ServerStorage<'_, T>) {
    state.opened = None;
    storage.sums.zeroize();
    storage.flags.zeroize();
}
