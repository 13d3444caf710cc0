//! A member of a federated prior: an agent that keeps the public posterior itself.
//!
//! The posterior is a function of the releases alone, so nobody has to believe the server's: a
//! member recomputes it from the released sums, with the code that the server learns by. The
//! queries between two releases need no frame.
//!
//! | frame | then |
//! |---|---|
//! | 0 | initial points, rounds up to that of release 0, contribution to release 0 |
//! | e, with the sums of release e − 1 | they are learned; rounds up to that of release e, contribution to it |
//! | J, the last | the remaining rounds; nothing is contributed |
//!
//! A member that missed an epoch learns what was released and makes up for its queries in the next.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::agent::Workspace;
use super::super::encoding::Encoding;
use super::super::errors::ServerError;
use super::super::estimator::Estimator;
use super::super::member::{self, Frame, Next};
use super::super::messages::Phase;
use super::agent::{Agent, AgentError, AgentState, Input, Output};
use super::error::{PriorError, at_least};
use super::evidence::Model;
use super::filter::Filter;
use super::joint::JointVectors;
use super::protocol::PriorProtocol;
use super::public::Public;
use super::query::Draw;
use super::state::{PublicState, Terms, scratch_len, storage_len};
use crate::linalg::packed_len;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed};

/// Numbers of the posterior that a member keeps, for M features.
pub const fn posterior_len(m: usize) -> usize {
    storage_len(m)
}

/// Numbers of a member's scratch for M features and designs of n points.
pub const fn member_scratch_len(m: usize, n: usize) -> usize {
    let filter = scratch_len(m, n);
    let draw = packed_len(m) + m;
    if filter > draw { filter } else { draw }
}

/// Why a member refuses something; it is then as before.
///
/// **Example**: that of [`Member`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemberError {
    /// Its agent refuses.
    Agent(AgentError),
    /// What was released cannot be learned.
    Learn(ServerError),
    /// A frame before the first or after the last.
    Frame {
        /// Frames taken before.
        taken: u32,
        /// Frames of the whole federation.
        frames: u32,
    },
    /// Releases that are not those which a stored state had learned.
    Releases {
        /// Releases that were found.
        found: u32,
        /// Releases of the state.
        learned: u32,
    },
}

impl fmt::Display for MemberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberError::Agent(error) => error.fmt(f),
            MemberError::Learn(error) => write!(f, "what was released: {error}"),
            MemberError::Frame { taken, frames } => {
                write!(
                    f,
                    "a frame that does not come after {taken} of {frames} frames"
                )
            }
            MemberError::Releases { found, learned } => {
                write!(
                    f,
                    "{found} releases were found, which are not the {learned} that it had learned"
                )
            }
        }
    }
}

impl core::error::Error for MemberError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            MemberError::Agent(error) => Some(error),
            MemberError::Learn(error) => Some(error),
            MemberError::Frame { .. } | MemberError::Releases { .. } => None,
        }
    }
}

impl From<AgentError> for MemberError {
    fn from(error: AgentError) -> Self {
        MemberError::Agent(error)
    }
}

impl From<PriorError> for MemberError {
    fn from(error: PriorError) -> Self {
        MemberError::Agent(AgentError::Prior(error))
    }
}

impl From<ServerError> for MemberError {
    fn from(error: ServerError) -> Self {
        MemberError::Learn(error)
    }
}

/// What a member keeps between frames, apart from its numbers.
///
/// **Example**: that of [`Member`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct MemberState<T> {
    agent: AgentState,
    frames: u32,
    releases: u32,
    heterogeneity: T,
    clip_factor: T,
    #[serde(skip)]
    prepared: Prepared<T>,
}

/// The terms whose moments the kept posterior holds: known only to the very state that was joined
/// with it. A copy, or a state that was stored, prepares them again; equality does not look here.
#[derive(Debug)]
struct Prepared<T>(Option<Terms<T>>);

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Prepared(None)
    }
}

impl<T> Clone for Prepared<T> {
    fn clone(&self) -> Self {
        Prepared(None)
    }
}

impl<T> PartialEq for Prepared<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T: Scalar> MemberState<T> {
    /// Agent n before its first frame; `seed` is its own source of draws, secret in a real
    /// federation.
    pub const fn new(agent: u32, seed: RunSeed) -> Self {
        let agent = AgentState::new(agent, seed);
        let heterogeneity = T::ZERO;
        let clip_factor = T::ONE;
        MemberState {
            agent,
            frames: 0,
            releases: 0,
            heterogeneity,
            clip_factor,
            prepared: Prepared(None),
        }
    }

    /// The state of its agent.
    pub const fn agent(&self) -> &AgentState {
        &self.agent
    }

    /// Frames that it has taken.
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// Releases that it has learned.
    pub const fn releases(&self) -> u32 {
        self.releases
    }

    /// Whether this is the posterior that it had, as far as its words tell.
    pub(super) fn has_learned<S: AsRef<[T]> + AsMut<[T]>>(
        &self,
        posterior: &PublicState<T, S>,
    ) -> bool {
        self.heterogeneity == posterior.heterogeneity()
            && self.clip_factor == posterior.clip_factor()
    }
}

/// The numbers of a member, all borrowed.
///
/// **Example**: that of [`Member`].
pub struct MemberStorage<'a, T> {
    /// [`log_len`](super::agent::log_len) numbers.
    pub log: &'a mut [T],
    /// [`workspace_len`](super::agent::workspace_len) numbers.
    pub workspace: Workspace<'a, T>,
    /// [`posterior_len`] numbers, the member's own from frame to frame; of them w and Σ, the first
    /// M + M², are to be stored.
    pub posterior: &'a mut [T],
    /// [`member_scratch_len`] numbers, whatever they hold.
    pub scratch: &'a mut [T],
}

/// Takes in the sums of release `index` as its server does; what the release was made with is
/// prepared if it is not yet.
pub(super) fn learn_release<T: Scalar, S: AsRef<[T]> + AsMut<[T]>>(
    filter: &mut Filter<'_, T, S>,
    index: u32,
    sums: &[T],
) -> Result<(), MemberError> {
    if filter.terms().is_none() {
        filter.prepare(index)?;
    }
    let encoding = filter.encoding(index)?.ok_or(PriorError::NotPrepared)?;
    Ok(filter.learn(index, sums, encoding.noise_std())?)
}

/// The posterior over the numbers that it lies in, and scratch.
type Borrowed<'b, T> = (PublicState<T, &'b mut [T]>, &'b mut [T]);

/// A member at work: what was agreed, its state and its numbers, all borrowed.
///
/// ```
/// use sordino_core::federated::prior::{
///     Behaviour, Member, MemberError, MemberState, MemberStorage, PriorProtocol, levels, member_scratch_len, posterior_len,
/// };
/// use sordino_core::federated::{Frame, Member as _, Next, OwnDraw, Workspace};
/// # use sordino_core::federated::prior::agent::{log_len, workspace_len};
/// # use sordino_core::federated::prior::{Config, Parameters, Public, Tables, draw_designs, gram};
/// # use sordino_core::{digest::Digest, kernel::Stationary, random::RunSeed};
/// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
/// # let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
/// # gram(&config, &feature_rows, &mut mean)?;
/// # draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?;
/// # let public = Public::new(&config, &feature_rows, Tables { gram: &mean, designs: &designs, ..Tables::NONE })?;
///
/// // `config` and `public` of the example of `Public`: M = 2. Releases before the queries of rounds 1 and 3, of five.
/// let protocol = PriorProtocol {
///     config,
///     rounds: 5,
///     offset: 0.0,
///     release_rounds: [0, 2].into_iter().collect(),
///     noise_multipliers: [3.0, 3.0].into_iter().collect(),
///     kernel: Stationary::SquaredExponential,
///     lengthscale: 0.2,
///     signal_variance: 1.0,
///     own_draw: OwnDraw::Features,
///     prior_tolerance: 0.0,
///     landmarks: Digest::default(),
///     design_seed: RunSeed::new(7, 0), // public
///     draw_seed: RunSeed::new(8, 0),   // public
///     behaviour: Behaviour::USUAL,
/// };
/// let (models, mut state) = (protocol.models(), MemberState::new(0, RunSeed::new(1, 0)));
/// let (mut log, mut posterior) = (vec![0.0; log_len(3, 5)], vec![0.0; posterior_len(2)]);
/// let mut workspace = vec![0.0; workspace_len(3 + 5, 2, 2, levels(&models))];
/// let mut scratch = vec![0.0; member_scratch_len(2, 3)];
/// let (workspace, log) = (Workspace::Owned(&mut workspace), &mut log);
/// let storage = MemberStorage { log, workspace, posterior: &mut posterior, scratch: &mut scratch };
/// let mut member = Member::attach(&protocol, public, &models, &mut state, storage)?;
/// let mut queries = [0; 3];
/// for (frame, queries) in [Frame::Start, Frame::Released(&[0.3, 0.1, 1.8]), Frame::Nothing].into_iter().zip(&mut queries) {
///     member.enter(frame)?;
///     while let Next::Query { candidate, .. } = member.next()? {
///         member.observed(f64::from(candidate))?; // what is measured there
///         *queries += 1;
///     }
/// }
/// assert_eq!(queries, [3, 2, 3]); // initial points; rounds 1 and 2; 3 to 5
/// assert_eq!(member.enter(Frame::Nothing), Err(MemberError::Frame { taken: 3, frames: 3 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Member<'a, T> {
    protocol: &'a PriorProtocol,
    public: Public<'a, T>,
    models: &'a [Model<T>],
    state: &'a mut MemberState<T>,
    storage: MemberStorage<'a, T>,
}

impl<'a, T: Scalar> Member<'a, T> {
    /// Joins a state with its numbers.
    ///
    /// **Parameters**: `public` with Ḡ and designs; `models` those of the protocol
    /// ([`PriorProtocol::models`]).
    ///
    /// **Errors**: [`MemberError::Agent`] as of [`Agent::attach`], and for a stored posterior that
    /// no release can have left.
    pub fn attach(
        protocol: &'a PriorProtocol,
        public: Public<'a, T>,
        models: &'a [Model<T>],
        state: &'a mut MemberState<T>,
        storage: MemberStorage<'a, T>,
    ) -> Result<Self, MemberError> {
        protocol.check()?;
        let config = public.config();
        if *config != protocol.config {
            return Err(PriorError::OtherConfig.into());
        }
        let m = config.features();
        let n = config.design_len();
        at_least("scratch", storage.scratch.len(), member_scratch_len(m, n))?;
        at_least("posterior", storage.posterior.len(), posterior_len(m))?;
        if state.frames == 0 {
            PublicState::new(*config, &mut *storage.posterior)?;
        } else {
            PublicState::resume(
                *config,
                state.heterogeneity,
                state.clip_factor,
                &mut *storage.posterior,
            )?;
        }
        let mut member = Member {
            protocol,
            public,
            models,
            state,
            storage,
        };
        member.agent()?;
        Ok(member)
    }

    /// The state it works on.
    pub fn state(&self) -> &MemberState<T> {
        self.state
    }

    /// The observations so far, (candidate, value − offset) in order.
    pub fn observations(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let entries = self
            .storage
            .log
            .chunks_exact(2)
            .take(self.state.agent.observations() as usize);
        entries.map(|entry| (slice::at(entry, 0).to_u32(), slice::at(entry, 1)))
    }

    /// How its contribution to the release of its epoch becomes integers: what it hides by a mask
    /// where there are two servers ([`shares`](super::super::shares)). Nothing before the first
    /// frame and after the last.
    ///
    /// **Errors**: [`MemberError`], as of a contribution.
    pub fn encoding(&mut self) -> Result<Option<JointVectors>, MemberError> {
        let config = self.protocol.config;
        let epoch = self.state.frames.checked_sub(1).map(|epoch| epoch as usize);
        let multiplier = epoch
            .and_then(|epoch| self.protocol.noise_multipliers.get(epoch))
            .copied();
        let Some(noise_multiplier) = multiplier else {
            return Ok(None);
        };
        let terms = self.terms()?;
        Ok(Some(JointVectors::new(&config, &terms, noise_multiplier)?))
    }

    fn agent(&mut self) -> Result<Agent<'_, T>, AgentError> {
        let workspace = self.storage.workspace.lend();
        let public = &self.public;
        let log = &mut *self.storage.log;
        Agent::attach(
            public,
            self.models,
            self.protocol.rounds,
            &mut self.state.agent,
            log,
            workspace,
        )
    }

    fn posterior(&mut self) -> Result<Borrowed<'_, T>, PriorError> {
        let MemberState {
            heterogeneity,
            clip_factor,
            ref prepared,
            ..
        } = *self.state;
        let config = self.protocol.config;
        let posterior = PublicState::resume(
            config,
            heterogeneity,
            clip_factor,
            &mut *self.storage.posterior,
        )?;
        Ok((posterior.with_terms(prepared.0), &mut *self.storage.scratch))
    }

    /// The terms of the release of its epoch, kept until the release is learned.
    fn terms(&mut self) -> Result<Terms<T>, MemberError> {
        let public = self.public;
        let (mut posterior, scratch) = self.posterior()?;
        let terms = match posterior.terms() {
            Some(terms) => terms,
            None => posterior.prepare(&public, scratch)?,
        };
        self.state.prepared = Prepared(Some(terms));
        Ok(terms)
    }

    /// Takes in the sums of a release as its server does.
    fn learn(&mut self, index: u32, sums: &[T]) -> Result<(), MemberError> {
        let plan = self.protocol.plan();
        let public = self.public;
        let (mut posterior, scratch) = self.posterior()?;
        let len = scratch_len(public.config().features(), public.config().design_len());
        let mut filter = Filter::new(plan, public, &mut posterior, slice::head_mut(scratch, len))?;
        learn_release(&mut filter, index, sums)?;
        let heterogeneity = posterior.heterogeneity();
        let clip_factor = posterior.clip_factor();
        (self.state.heterogeneity, self.state.clip_factor) = (heterogeneity, clip_factor);
        self.state.prepared = Prepared(None);
        self.state.releases += 1;
        Ok(())
    }

    /// Begins the next round with the common draw, which is nothing before the first release.
    fn begin_round(&mut self) -> Result<u32, MemberError> {
        let round = self.state.agent.round() + 1;
        let m = self.protocol.config.features();
        let behaviour = self.protocol.behaviour;
        let seed = self.protocol.draw_seed;
        let is_shared = self.state.releases > 0;
        if is_shared {
            let (posterior, scratch) = self.posterior()?;
            let (draw, scratch) = slice::split(scratch, m);
            slice::copy(posterior.weights(), draw);
            if behaviour.follows_draws {
                let mut stream = seed.stream(Party::World, Purpose::WeightDraw, round);
                posterior.draw(&mut stream, slice::head_mut(scratch, packed_len(m)), draw)?;
            }
        }
        let Member {
            protocol,
            public,
            models,
            state,
            storage,
        } = self;
        let workspace = storage.workspace.lend();
        let weights = slice::head(storage.scratch, m);
        let input = if is_shared {
            Input::Draw(Draw {
                weights,
                values: &[],
            })
        } else {
            Input::NoDraw
        };
        let mut agent = Agent::attach(
            public,
            models,
            protocol.rounds,
            &mut state.agent,
            storage.log,
            workspace,
        )?;
        match agent.handle(input)? {
            Output::Evaluate(candidate) => Ok(candidate),
            _ => Ok(state.agent.pending()),
        }
    }

    /// What it contributes to the release of its epoch.
    fn contribution(&mut self) -> Result<Next<'_, T>, MemberError> {
        if !self.protocol.behaviour.signal {
            let zeros = slice::head_mut(
                self.storage.scratch,
                self.protocol.config.contribution_len(),
            );
            zeros.fill(T::ZERO);
            return Ok(Next::Give(zeros));
        }
        let terms = self.terms()?;
        let Member {
            protocol,
            public,
            models,
            state,
            storage,
        } = self;
        let workspace = storage.workspace.lend();
        let m = protocol.config.features();
        let len = protocol.config.contribution_len();
        let weights = slice::head(storage.posterior, m);
        let mut agent = Agent::attach(
            public,
            models,
            protocol.rounds,
            &mut state.agent,
            storage.log,
            workspace,
        )?;
        let given = slice::head_mut(storage.scratch, len);
        match agent.handle(Input::Terms { terms, weights })? {
            Output::Upload(numbers) => slice::copy(numbers, given),
            _ => return Ok(Next::Give(&[])),
        }
        Ok(Next::Give(given))
    }
}

impl<T: Scalar> member::Member<T> for Member<'_, T> {
    type Error = MemberError;

    fn enter(&mut self, frame: Frame<'_, T>) -> Result<(), MemberError> {
        let taken = self.state.frames;
        let frames = self.protocol.releases() + 1;
        if taken >= frames || (taken == 0) != (frame == Frame::Start) {
            return Err(MemberError::Frame { taken, frames });
        }
        match frame.numbers() {
            Some(sums) => self.learn(taken - 1, sums)?,
            None if taken == 0 => {
                let _initial_point = self.agent()?.handle(Input::Start)?;
            }
            None => {}
        }
        self.state.frames = taken + 1;
        Ok(())
    }

    fn next(&mut self) -> Result<Next<'_, T>, MemberError> {
        let agent = &self.state.agent;
        let epoch = self.state.frames.saturating_sub(1);
        let number = agent.observations();
        let candidate = agent.pending();
        match agent.phase() {
            Phase::Initial | Phase::Evaluating => Ok(Next::Query { candidate, number }),
            Phase::Waiting if agent.round() < self.protocol.last_round(epoch) => Ok(Next::Query {
                candidate: self.begin_round()?,
                number,
            }),
            Phase::Waiting if epoch < self.protocol.releases() => self.contribution(),
            Phase::Fresh | Phase::Waiting | Phase::Done => Ok(Next::Give(&[])),
        }
    }

    fn observed(&mut self, value: T) -> Result<(), MemberError> {
        let value = value - T::from_f64(self.protocol.offset);
        let _ends_its_round = self.agent()?.handle(Input::Observed(value))?;
        Ok(())
    }
}
