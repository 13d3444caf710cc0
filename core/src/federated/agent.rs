//! The agent: queries its own function, uploads weights, follows the server or its own posterior.
//!
//! A party is two things: [`AgentState`], a few words that serialise, and numbers,
//! [`AgentStorage`]. [`Agent::attach`] joins them for as long as both are borrowed. The numbers are
//! a *log* (what was observed) and a *workspace* (posteriors that can be rebuilt from the log): a
//! device keeps both, a fleet keeps a log for each agent and one workspace for each thread, with
//! the same bits.
//!
//! `attach` is the one door: configuration, public numbers, state and log are checked there, in the
//! format computed with. What can be refused afterwards is an input, or a draw that came out NaN or
//! infinite.

mod effort;
mod state;
mod storage;
mod work;

use core::task::Poll;

pub use self::state::AgentState;
pub use self::storage::{AgentStorage, Sizes, Workspace, log_len, storage_len, workspace_len};

use self::effort::{Effort, Work};
use self::state::Digested;
use super::config::{Config, OwnDraw};
use super::errors::AgentError;
use super::messages::{Output, Phase};
use super::public::Public;
use crate::domain::Regions;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::random::Party;
use crate::surrogate::WeightPosterior;
use crate::surrogate::weights::Regularization;

/// An agent at work: configuration, public context, state and numbers, all borrowed.
///
/// ```
/// use sordino_core::federated::{Agent, AgentError, AgentState, AgentStorage, Input, Output, Phase, storage_len};
/// # use sordino_core::domain::{Candidates, Regions};
/// # use sordino_core::features::{RandomFourier, random_fourier};
/// use sordino_core::federated::{Aggregation, Config, Parameters, Public};
/// # use sordino_core::kernel::Stationary;
/// use sordino_core::random::RunSeed;
///
/// // S = 6, q = 0.5, z = 1: where nothing is aggregated, agents upload nothing.
/// let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 2, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let mut frequencies = [0.0; random_fourier::storage_len(1, 16)];
/// # random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 16, &mut frequencies)?;
/// # let features = RandomFourier::new(1, 16, 1.0, true, &frequencies[..])?;
/// # let public = Public::streamed(&config, Candidates::grid(50, 1)?, features)?;
///
/// // `public` is made of `config` as in the example of `Public`.
/// let (mut state, mut numbers) = (AgentState::new(0, RunSeed::new(1, 0)), vec![0.0; storage_len(&public)]);
/// let mut agent = Agent::attach(&public, &mut state, AgentStorage::split(&public, &mut numbers)?)?;
/// let (mut input, mut uploaded) = (Input::Start, 0);
/// while uploaded == 0 {
///     input = match agent.handle(input)? {
///         Output::Evaluate { point, .. } => Input::Observed(1.0 - point[0] * point[0]),
///         Output::Upload(weights) => {
///             uploaded = weights.len();
///             break;
///         }
///         Output::Wait | Output::Done => break,
///     };
/// }
/// assert_eq!((uploaded, agent.observations().count()), (16, 10)); // M weights, from the initial points
/// let early = agent.handle(Input::Start);
/// assert!(matches!(early, Err(AgentError::UnexpectedInput { phase: Phase::Waiting, .. })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Agent<'a, T> {
    config: &'a Config,
    public: &'a Public<'a, T>,
    state: &'a mut AgentState,
    log: &'a mut [T],
    /// The posterior whose draws are uploaded.
    shared: WeightPosterior<T, &'a mut [T]>,
    /// The posterior of joint own draws; without it they are made from the shared one.
    own: Option<WeightPosterior<T, &'a mut [T]>>,
    upload: &'a mut [T],
    draw: &'a mut [T],
    scratch: &'a mut [T],
    offset: T,
    /// The domain as one region: an own draw is one weight vector for all of it.
    whole: Regions,
    /// What is being done in slices, and the name of the input it is for.
    work: Work<T>,
    begun: Option<&'static str>,
}

impl<'a, T: Scalar> Agent<'a, T> {
    /// Joins a state with its numbers.
    ///
    /// **Errors**: [`AgentError`]: [`AgentError::NotEnrolled`], [`AgentError::State`] and
    /// [`AgentError::Log`] for what was stored, [`AgentError::Number`] for what the format of `T`
    /// cannot hold, [`AgentError::Storage`], [`AgentError::Posterior`].
    ///
    /// **Cost**: one look at every observation in the log.
    pub fn attach(
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        storage: AgentStorage<'a, T>,
    ) -> Result<Self, AgentError> {
        let config = public.config();
        let p = config.parameters();
        if state.agent >= p.agents {
            return Err(AgentError::NotEnrolled {
                agent: state.agent,
                agents: p.agents,
            });
        }
        let AgentStorage { log, workspace } = storage;
        let workspace = match workspace {
            Workspace::Owned(workspace) => workspace,
            Workspace::Borrowed(workspace) => {
                state.digested = Digested::default();
                workspace
            }
        };
        for (what, len, expected) in [
            ("log", log.len(), log_len(config)),
            ("workspace", workspace.len(), workspace_len(public)),
        ] {
            if len < expected {
                return Err(AgentError::Storage {
                    what,
                    len,
                    expected,
                });
            }
        }
        let candidates = public.candidates();
        state.judge(config, candidates.count())?;
        judge_log(log, state.observations, candidates.count())?;
        if state.digested.shared.max(state.digested.own) > state.observations {
            // An observation that was given up in the middle of its slices.
            state.digested = Digested::default();
        }
        let lambda = regularization("regularization", p.regularization)?;
        let noise_variance = regularization("noise_variance", p.noise_variance)?;
        let offset = number("offset", p.offset, "(-inf, inf)", T::is_finite)?;
        let storage::Parts {
            shared,
            own,
            upload,
            draw,
            scratch,
        } = storage::parts(workspace, public);
        let posterior = |width, lambda, digested: u32, numbers| {
            WeightPosterior::resume(width, lambda, digested as usize, numbers)
                .map_err(AgentError::Posterior)
        };
        let shared = posterior(
            p.feature_count as usize,
            lambda,
            state.digested.shared,
            shared,
        )?;
        let own = match p.own_draw {
            OwnDraw::Features => None,
            OwnDraw::Joint => Some(posterior(
                public.prior().1,
                noise_variance,
                state.digested.own,
                own,
            )?),
        };
        let whole = Regions::whole(candidates.dim()).map_err(AgentError::Domain)?;
        Ok(Agent {
            config,
            public,
            state,
            log,
            shared,
            own,
            upload,
            draw,
            scratch,
            offset,
            whole,
            work: Work::None,
            begun: None,
        })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &AgentState {
        self.state
    }

    /// The observations so far, (candidate, value − offset) in order.
    pub fn observations(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        self.log
            .chunks_exact(2)
            .take(self.state.observations as usize)
            .map(|entry| (candidate_of(entry[0]), entry[1]))
    }

    /// Says its last output again: the point that is awaited, or the upload of its round, drawn
    /// again from its address, the same bits. For an agent that was restarted, and for a server
    /// that was and lacks the upload. Of a round that was [`Input::Missed`](super::Input::Missed)
    /// there was no upload; the one drawn now was never sent, and need not be.
    ///
    /// **Returns** [`Output::Wait`] before the beginning and if nothing is ever uploaded.
    ///
    /// **Errors**: [`AgentError::UploadNotFinite`], as when the upload was drawn first. The state
    /// is as before.
    pub fn repeat(&mut self) -> Result<Output<'_, T>, AgentError> {
        match self.state.phase {
            Phase::Initial | Phase::Evaluating => Ok(self.evaluate()),
            Phase::Waiting => {
                self.forget_work();
                loop {
                    if let Poll::Ready(answer) =
                        self.upload(self.state.observations, &mut Effort::unlimited())?
                    {
                        return Ok(self.output(answer));
                    }
                }
            }
            Phase::Fresh => Ok(Output::Wait),
            Phase::Done => Ok(Output::Done),
        }
    }

    fn evaluate(&mut self) -> Output<'_, T> {
        let dim = self.public.candidates().dim();
        let point = slice::head_mut(self.scratch, dim);
        self.public.candidates().point(self.state.pending, point);
        Output::Evaluate {
            candidate: self.state.pending,
            point,
            number: self.state.observations,
        }
    }

    fn party(&self) -> Party {
        Party::Agent(self.state.agent)
    }

    fn check_broadcast(&self, vectors: &[T], maximum: Option<u32>) -> Result<(), AgentError> {
        let len = vectors.len();
        let expected = self.config.broadcast_len();
        if len != expected {
            return Err(AgentError::BroadcastLength { len, expected });
        }
        if let Some(index) = vectors.iter().position(|x| !x.is_finite()) {
            return Err(AgentError::BroadcastNotFinite { index });
        }
        let candidates = self.public.candidates().count();
        match maximum {
            Some(found) if found >= candidates => {
                Err(AgentError::BroadcastMaximum { found, candidates })
            }
            _ => Ok(()),
        }
    }
}

/// `value`, as the format holds it, if that is what `admissible` says.
fn number<T: Scalar>(
    field: &'static str,
    value: f64,
    admissible: &'static str,
    holds: impl FnOnce(T) -> bool,
) -> Result<T, AgentError> {
    let rounded = T::from_f64(value);
    if holds(rounded) {
        Ok(rounded)
    } else {
        Err(AgentError::Number {
            field,
            value,
            format: T::NAME,
            admissible,
        })
    }
}

/// A ridge term of the configuration in the format computed with.
fn regularization<T: Scalar>(
    field: &'static str,
    value: f64,
) -> Result<Regularization<T>, AgentError> {
    let refused = |_| AgentError::Number {
        field,
        value,
        format: T::NAME,
        admissible: "(0, inf)",
    };
    Regularization::from_f64(value).map_err(refused)
}

/// Whether the first entries of a log are observations.
fn judge_log<T: Scalar>(log: &[T], observations: u32, candidates: u32) -> Result<(), AgentError> {
    let admissible = |entry: &[T; 2]| {
        let candidate = candidate_of(entry[0]);
        candidate < candidates && T::from_u32(candidate) == entry[0] && entry[1].is_finite()
    };
    match log
        .as_chunks()
        .0
        .iter()
        .take(observations as usize)
        .position(|entry| !admissible(entry))
    {
        Some(entry) => Err(AgentError::Log {
            entry: entry as u32,
            candidates,
        }),
        None => Ok(()),
    }
}

/// The first `len` numbers of an own draw, all finite.
fn finite<T: Scalar>(draw: &[T], len: usize) -> Result<&[T], AgentError> {
    let draw = slice::head(draw, len);
    match draw.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(AgentError::DrawNotFinite { index }),
        None => Ok(draw),
    }
}

/// ω ← ν + width·(ω − ν).
fn widen<T: Scalar>(
    posterior: &mut WeightPosterior<T, &mut [T]>,
    width: T,
    draw: &mut [T],
    mean: &mut [T],
) {
    if width == T::ONE {
        return;
    }
    let m = posterior.feature_count();
    let mean = slice::head_mut(mean, m);
    let draw = slice::head_mut(draw, m);
    posterior.mean(mean);
    for (omega, nu) in draw.iter_mut().zip(mean) {
        *omega = *nu + width * (*omega - *nu);
    }
}

/// Observation i of a log: candidate and value. All that are asked for are there: `attach` judged
/// them.
fn entry<T: Scalar>(log: &[T], i: usize) -> (usize, T) {
    match log.get(2 * i..2 * i + 2) {
        Some(entry) => (candidate_of(entry[0]) as usize, entry[1]),
        None => (0, T::ZERO),
    }
}

/// A candidate's index, stored as a number: exact, because there are fewer than 2²⁴.
fn candidate_of<T: Scalar>(x: T) -> u32 {
    x.to_u32()
}

#[cfg(test)]
mod tests;
