//! The agent of a federated prior: contributes when a release is announced, looks where the round's
//! draw and its own data say.
//!
//! | when | it is told | it answers |
//! |---|---|---|
//! | once | [`Input::Start`] | its initial points, one after the other |
//! | before a release | [`Input::Terms`] | its joint vector |
//! | every round | [`Input::Draw`], or [`Input::NoDraw`] if there is none | where to look |
//! | then | [`Input::Observed`] | nothing, until the next round |
//!
//! Uploads happen when a release is announced, from everybody, whatever the data are.
//!
//! **Example**: that of [`Agent`].

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::agent::Workspace;
use super::super::messages::Phase;
use super::config::Config;
use super::contribution::{Observations, contribution, contribution_scratch_len};
use super::error::{PriorError, at_least, exactly};
use super::evidence::{Factors, Model, factors_len, levels};
use super::public::Public;
use super::query::{Draw, query, query_scratch_len};
use super::state::Terms;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed};
use crate::snapshot::{Stored, varint_max};

/// Numbers in an agent's log, by its initial points and rounds: a candidate and a value each.
pub const fn log_len(initial_points: usize, rounds: usize) -> usize {
    2 * (initial_points + rounds)
}

/// Numbers of the workspace for n observations in all, M features, a prior factor of `rank` columns
/// (M where there is none) and models of so many [`levels`]: their factors, which an agent may keep
/// ([`Workspace::Owned`]), M + 1, and the larger of a contribution's and a query's scratch. With
/// the log 12,728 numbers for n = 64, M = 50 without a prior factor, 5 levels: 50.9 kB in `f32`.
pub const fn workspace_len(observations: usize, m: usize, rank: usize, levels: usize) -> usize {
    let first = contribution_scratch_len(observations);
    let second = query_scratch_len(observations, rank);
    factors_len(observations, levels) + m + 1 + if first > second { first } else { second }
}

/// What the agent is told.
///
/// **Example**: that of [`Agent`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input<'i, T> {
    /// Begin with the initial points.
    Start,
    /// The value observed where it was told to look.
    Observed(T),
    /// A release is made: contribute.
    Terms {
        /// Noise variance κ and constant C of the release.
        terms: Terms<T>,
        /// Weights w of the public posterior, M numbers.
        weights: &'i [T],
    },
    /// The common draw of the next round: query.
    Draw(Draw<'i, T>),
    /// There is no draw this round: query by its own data alone.
    NoDraw,
    /// A round passed without this agent.
    Missed,
}

impl<T> Input<'_, T> {
    const fn name(&self) -> &'static str {
        match self {
            Input::Start => "start",
            Input::Observed(_) => "observed",
            Input::Terms { .. } => "terms",
            Input::Draw(_) => "draw",
            Input::NoDraw => "no draw",
            Input::Missed => "missed",
        }
    }
}

/// What the agent answers.
///
/// **Example**: that of [`Agent`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum Output<'o, T> {
    /// Observe this candidate.
    Evaluate(u32),
    /// Send these M + 1 numbers to the server.
    Upload(&'o [T]),
    /// Do nothing until the next input.
    Wait,
    /// All rounds are over.
    Done,
}

/// Why an input was refused; nothing changed.
///
/// **Example**: that of [`Agent`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AgentError {
    /// An input that does not belong to the phase.
    UnexpectedInput {
        /// Phase of the agent.
        phase: Phase,
        /// Name of the input.
        input: &'static str,
    },
    /// An index that is not enrolled.
    NotEnrolled {
        /// Index of the agent.
        agent: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// A stored state that no run can have been in.
    State {
        /// Observations made, according to the state.
        observations: u32,
        /// The round it is in, according to the state.
        round: u32,
        /// Number of rounds T.
        rounds: u32,
    },
    /// A step of the method.
    Prior(PriorError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AgentError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            AgentError::NotEnrolled { agent, agents } => {
                write!(f, "agent {agent} is not among the {agents} enrolled")
            }
            AgentError::State {
                observations,
                round,
                rounds,
            } => {
                write!(
                    f,
                    "stored agent: {observations} observations in round {round} of {rounds}"
                )
            }
            AgentError::Prior(ref error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            AgentError::Prior(error) => error.source(),
            _ => None,
        }
    }
}

impl From<PriorError> for AgentError {
    fn from(error: PriorError) -> Self {
        AgentError::Prior(error)
    }
}

/// What the agent keeps between inputs, apart from its log.
///
/// **Example**: that of [`Agent`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    agent: u32,
    seed: RunSeed,
    phase: Phase,
    round: u32,
    observations: u32,
    pending: u32,
    #[serde(skip)]
    kept: KeptRows,
}

/// Observations whose rows the factors in the workspace hold: known only to the very state that was
/// joined with that workspace. A copy, or a state that was stored, begins with none; equality does
/// not look here.
#[derive(Debug, Default)]
struct KeptRows(u32);

impl Clone for KeptRows {
    fn clone(&self) -> Self {
        KeptRows(0)
    }
}

impl PartialEq for KeptRows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Stored for AgentState {
    const KIND: u8 = 0xa2;
    // Agent, seed, phase, round, observations, candidate.
    const BODY_MAX: usize = varint_max(32) + varint_max(64) + 1 + 3 * varint_max(32);
}

impl AgentState {
    /// Agent n before its start; `seed` is its own source of draws, secret in a real federation.
    pub const fn new(agent: u32, seed: RunSeed) -> Self {
        AgentState {
            agent,
            seed,
            phase: Phase::Fresh,
            round: 0,
            observations: 0,
            pending: 0,
            kept: KeptRows(0),
        }
    }

    /// Index of the agent.
    pub const fn agent(&self) -> u32 {
        self.agent
    }

    /// The phase it is in.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Queries begun after the initial points.
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// Observations in its log.
    pub const fn observations(&self) -> u32 {
        self.observations
    }

    /// The candidate being evaluated: what a device that was reset goes on with.
    pub const fn pending(&self) -> u32 {
        self.pending
    }

    /// Whether a run of T rounds can be here.
    fn judge(&self, config: &Config, rounds: u32, candidates: usize) -> Result<(), AgentError> {
        let p = config.parameters();
        if self.agent >= p.agents {
            return Err(AgentError::NotEnrolled {
                agent: self.agent,
                agents: p.agents,
            });
        }
        let AgentState {
            phase,
            round,
            observations,
            ..
        } = *self;
        // Missed rounds leave fewer observations than rounds.
        let first = p.initial_points;
        let holds = match phase {
            Phase::Fresh => round == 0 && observations == 0,
            Phase::Initial => round == 0 && observations < first,
            Phase::Evaluating => {
                (1..=rounds).contains(&round) && (first..first + round).contains(&observations)
            }
            Phase::Waiting => round < rounds && (first..=first + round).contains(&observations),
            Phase::Done => round == rounds && (first..=first + round).contains(&observations),
        };
        if !holds || self.pending as usize >= candidates {
            return Err(AgentError::State {
                observations,
                round,
                rounds,
            });
        }
        Ok(())
    }
}

/// The agent at work: what is public, its state and its numbers, all borrowed.
///
/// ```
/// use sordino_core::federated::Workspace;
/// use sordino_core::federated::prior::agent::{Agent, AgentError, AgentState, Input, Output, log_len, workspace_len};
/// use sordino_core::federated::prior::{Terms, levels, models};
/// # use sordino_core::{federated::prior::{Config, Parameters, Public, Tables}, random::RunSeed};
/// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
/// # let public = Public::new(&config, &feature_rows, Tables::NONE)?;
///
/// // `config` and `public` of the example of `Public`: M = 2, three initial points. Five rounds follow.
/// let (models, mut log) = (models(0), [0.0; log_len(3, 5)]);
/// let mut workspace = vec![0.0; workspace_len(3 + 5, 2, 2, levels(&models))];
/// let (mut state, workspace) = (AgentState::new(0, RunSeed::new(1, 0)), Workspace::Owned(&mut workspace));
/// let mut agent = Agent::attach(&public, &models, 5, &mut state, &mut log, workspace)?;
/// let mut input = Input::Start;
/// while let Output::Evaluate(candidate) = agent.handle(input)? {
///     input = Input::Observed(f64::from(candidate)); // what is measured there
/// }
/// assert_eq!(agent.state().observations(), 3);
/// let terms = Terms { ridge: 0.1, clip_radius: 1.0, response: 1.0 }; // the server's
/// let Output::Upload(joint) = agent.handle(Input::Terms { terms, weights: &[0.0; 2] })? else { unreachable!() };
/// let squares: f64 = joint.iter().map(|x| x * x).sum();
/// assert!(joint.len() == 3 && squares <= 1.0 + 0.25 * 0.25 + 1e-12); // C²(1 + γ²)
/// assert!(matches!(agent.handle(Input::Observed(1.0)), Err(AgentError::UnexpectedInput { .. })));
/// let _asked = agent.handle(Input::NoDraw)?;
/// assert_eq!(agent.trust(), Some(0.0)); // by its own data alone
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Agent<'a, T> {
    public: &'a Public<'a, T>,
    models: &'a [Model<T>],
    rounds: u32,
    state: &'a mut AgentState,
    log: &'a mut [T],
    factors: &'a mut [T],
    scratch: &'a mut [T],
    /// The trust of the model that it asked by last.
    trust: Option<T>,
}

impl<'a, T: Scalar> Agent<'a, T> {
    /// Joins a state with its log ([`log_len`]) and a workspace ([`workspace_len`]) for T =
    /// `rounds`. A query of round t costs t² with a workspace that is kept and t³ with one that is
    /// lent, and is the same to the last bit.
    ///
    /// **Parameters**: `models` as for [`super::query()`]; without a draw only the first with trust
    /// 0 is used, so there should be one.
    ///
    /// **Errors**: [`AgentError::NotEnrolled`], [`AgentError::State`], [`AgentError::Prior`] for
    /// what does not fit, what was stored in the log included.
    pub fn attach(
        public: &'a Public<'a, T>,
        models: &'a [Model<T>],
        rounds: u32,
        state: &'a mut AgentState,
        log: &'a mut [T],
        workspace: Workspace<'a, T>,
    ) -> Result<Self, AgentError> {
        let config = public.config();
        let workspace = match workspace {
            Workspace::Owned(workspace) => workspace,
            Workspace::Borrowed(workspace) => {
                state.kept = KeptRows(0);
                workspace
            }
        };
        let (_, rank) = public.prior();
        let expected = log_len(config.design_len(), rounds as usize);
        exactly("log", log.len(), expected)?;
        let levels = levels(models);
        at_least(
            "workspace",
            workspace.len(),
            workspace_len(expected / 2, config.features(), rank, levels),
        )?;
        let candidates = public.candidates();
        state.judge(config, rounds, candidates)?;
        Observations::new(
            slice::head(log, 2 * state.observations as usize),
            candidates,
        )?;
        if !models.iter().any(|model| model.trust == T::ZERO) {
            return Err(PriorError::Length {
                what: "models with trust 0",
                len: 0,
                expected: 1,
            }
            .into());
        }
        let (factors, scratch) = slice::split(workspace, factors_len(expected / 2, levels));
        Ok(Agent {
            public,
            models,
            rounds,
            state,
            log,
            factors,
            scratch,
            trust: None,
        })
    }

    /// The trust α of the model of its last query: 0 where the agent asked by its own data alone,
    /// as it does without a draw. Nothing before this machine's first query; initial points are
    /// none.
    pub fn trust(&self) -> Option<T> {
        self.trust
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &AgentState {
        self.state
    }

    /// One step of the machine: one input in, one borrowed output out.
    ///
    /// **Errors**: [`AgentError`]; nothing changed then. An agent whose contribution is refused
    /// sends nothing.
    pub fn handle(&mut self, input: Input<'_, T>) -> Result<Output<'_, T>, AgentError> {
        match (self.state.phase, input) {
            (Phase::Fresh, Input::Start) => {
                self.state.phase = Phase::Initial;
                Ok(self.initial_point())
            }
            (Phase::Initial, Input::Observed(y)) => {
                self.record(y)?;
                if self.state.observations < self.public.config().parameters().initial_points {
                    return Ok(self.initial_point());
                }
                Ok(self.end_round())
            }
            (Phase::Evaluating, Input::Observed(y)) => {
                self.record(y)?;
                Ok(self.end_round())
            }
            (Phase::Waiting, Input::Terms { terms, weights }) => self.contribute(&terms, weights),
            (Phase::Waiting, Input::Draw(draw)) => self.begin_round(Some(&draw)),
            (Phase::Waiting, Input::NoDraw) => self.begin_round(None),
            (Phase::Waiting, Input::Missed) => {
                self.state.round += 1;
                Ok(self.end_round())
            }
            (phase, input) => Err(AgentError::UnexpectedInput {
                phase,
                input: input.name(),
            }),
        }
    }

    /// Initial point i: one word of the stream (agent, initial points, i), uniform with replacement
    /// over the candidates, as the virtual designs are.
    fn initial_point(&mut self) -> Output<'_, T> {
        let count = self.public.candidates() as u32;
        let party = Party::Agent(self.state.agent);
        let mut stream =
            self.state
                .seed
                .stream(party, Purpose::InitialPoints, self.state.observations);
        self.state.pending = stream.below(count);
        Output::Evaluate(self.state.pending)
    }

    /// Adds (candidate, y) to the log.
    fn record(&mut self, y: T) -> Result<(), AgentError> {
        if !y.is_finite() {
            let value = y.to_f64();
            return Err(PriorError::Number {
                what: "observation",
                value,
                admissible: "(-inf, inf)",
            }
            .into());
        }
        let start = 2 * self.state.observations as usize;
        let len = self.log.len();
        let Some([candidate, value]) = self.log.get_mut(start..start + 2) else {
            return Err(PriorError::Length {
                what: "log",
                len,
                expected: start + 2,
            }
            .into());
        };
        (*candidate, *value) = (T::from_u32(self.state.pending), y);
        self.state.observations += 1;
        Ok(())
    }

    fn end_round(&mut self) -> Output<'_, T> {
        if self.state.round == self.rounds {
            self.state.phase = Phase::Done;
            return Output::Done;
        }
        self.state.phase = Phase::Waiting;
        Output::Wait
    }

    /// Release step 2.
    fn contribute(&mut self, terms: &Terms<T>, weights: &[T]) -> Result<Output<'_, T>, AgentError> {
        for (what, value) in [("ridge", terms.ridge), ("clip_radius", terms.clip_radius)] {
            if !(value > T::ZERO && value.is_finite()) {
                return Err(PriorError::Number {
                    what,
                    value: value.to_f64(),
                    admissible: "(0, inf)",
                }
                .into());
            }
        }
        let log = slice::head(self.log, 2 * self.state.observations as usize);
        let observations = Observations::new(log, self.public.candidates())?;
        let (upload, scratch) = slice::split(self.scratch, self.public.config().contribution_len());
        contribution(self.public, terms, weights, &observations, scratch, upload)?;
        Ok(Output::Upload(upload))
    }

    /// The query of the next round.
    fn begin_round(&mut self, draw: Option<&Draw<'_, T>>) -> Result<Output<'_, T>, AgentError> {
        let round = self.state.round + 1;
        let log = slice::head(self.log, 2 * self.state.observations as usize);
        let observations = Observations::new(log, self.public.candidates())?;
        let mut stream =
            self.state
                .seed
                .stream(Party::Agent(self.state.agent), Purpose::OwnDraw, round);
        let mut factors = Factors::new(self.log.len() / 2, &mut self.state.kept.0, self.factors);
        let models = self.models;
        let scratch = &mut *self.scratch;
        let next = query(
            self.public,
            models,
            draw,
            &observations,
            &mut stream,
            &mut factors,
            scratch,
        )?;
        self.trust = models.get(next.model).map(|model| model.trust);
        self.state.pending = next.candidate;
        self.state.round = round;
        self.state.phase = Phase::Evaluating;
        Ok(Output::Evaluate(next.candidate))
    }
}
