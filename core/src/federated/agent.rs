//! The agent: queries its own function, uploads weights, follows the server or its own posterior.
//!
//! A party is two things: [`AgentState`], a few words that serialise, and a slice of numbers. [`Agent::attach`] joins
//! them for as long as both are borrowed. The slice is a *log* (what was observed) and a *workspace* (posteriors that
//! can be rebuilt from the log): a device keeps both, a fleet keeps a log for each agent and one workspace for each
//! thread, with the same bits.

use serde::{Deserialize, Serialize};

use super::config::{Aggregation, Config, InitialRegion, OwnDraw};
use super::messages::{AgentError, Input, Output, Phase};
use super::public::Public;
use crate::domain::Regions;
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed};
use crate::surrogate::weights::{self, WeightPosterior};

/// What an agent is, apart from its numbers: a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    agent: u32,
    seed: RunSeed,
    phase: Phase,
    round: u32,
    observations: u32,
    pending: u32,
    shared_digested: u32,
    own_digested: u32,
}

impl AgentState {
    /// Agent `agent` before its first point. `seed` drives its own draws, never a release.
    pub fn new(agent: u32, seed: RunSeed) -> Self {
        AgentState {
            agent,
            seed,
            phase: Phase::Fresh,
            round: 0,
            observations: 0,
            pending: 0,
            shared_digested: 0,
            own_digested: 0,
        }
    }

    /// Its index among the enrolled.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// The round it is in: 0 during the initial points, then 1..=T.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Observations in its log.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// Says that the workspace this state was joined with is gone: posteriors are rebuilt from the log.
    pub fn forget_workspace(&mut self) {
        self.shared_digested = 0;
        self.own_digested = 0;
    }

    /// The candidate being evaluated.
    pub fn pending(&self) -> u32 {
        self.pending
    }
}

/// Numbers in an agent's log: candidate and value of every observation of a whole run.
pub fn log_len(config: &Config) -> usize {
    2 * config.observations_max()
}

/// Numbers in the workspace: posteriors, the vector to upload, an own draw, one point with its features.
pub fn workspace_len<T>(config: &Config, public: &Public<'_, T>) -> usize {
    let p = config.parameters();
    let m = p.feature_count as usize;
    let (dim, rank) = (p.regions.splits().len(), public.prior_rank);
    let own = if p.own_draw == OwnDraw::Joint { weights::storage_len(rank) } else { 0 };
    weights::storage_len(m) + own + m + m.max(rank) + dim + m.max(rank)
}

/// Numbers an agent that keeps its workspace takes in all.
pub fn storage_len<T>(config: &Config, public: &Public<'_, T>) -> usize {
    log_len(config) + workspace_len(config, public)
}

struct Workspace<'a, T> {
    shared: &'a mut [T],
    own: &'a mut [T],
    upload: &'a mut [T],
    draw: &'a mut [T],
    scratch: &'a mut [T],
}

fn split<'a, T>(workspace: &'a mut [T], config: &Config, public: &Public<'_, T>) -> Workspace<'a, T> {
    let p = config.parameters();
    let (m, rank) = (p.feature_count as usize, public.prior_rank);
    let own_len = if p.own_draw == OwnDraw::Joint { weights::storage_len(rank) } else { 0 };
    let (shared, rest) = workspace.split_at_mut(weights::storage_len(m));
    let (own, rest) = rest.split_at_mut(own_len);
    let (upload, rest) = rest.split_at_mut(m);
    let (draw, scratch) = rest.split_at_mut(m.max(rank));
    Workspace { shared, own, upload, draw, scratch }
}

/// An agent at work: configuration, public context, state and numbers, all borrowed.
pub struct Agent<'a, T> {
    config: &'a Config,
    public: &'a Public<'a, T>,
    state: &'a mut AgentState,
    log: &'a mut [T],
    parts: Workspace<'a, T>,
}

impl<'a, T: Scalar> Agent<'a, T> {
    /// Joins a state with the slice it has always had, of at least [`storage_len`] numbers.
    ///
    /// **Errors**: [`AgentError::Storage`], [`AgentError::NotEnrolled`], [`AgentError::Public`].
    pub fn attach(
        config: &'a Config,
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        storage: &'a mut [T],
    ) -> Result<Self, AgentError> {
        let (len, expected) = (storage.len(), storage_len(config, public));
        let split = log_len(config);
        match storage.split_at_mut_checked(split) {
            Some((log, workspace)) if len >= expected => Self::join(config, public, state, log, workspace),
            _ => Err(AgentError::Storage { len, expected }),
        }
    }

    /// Joins a state with its log and a workspace that anybody may have used before: posteriors are rebuilt from the
    /// log when they are needed.
    ///
    /// **Errors**: as [`Agent::attach`].
    pub fn attach_with_workspace(
        config: &'a Config,
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        log: &'a mut [T],
        workspace: &'a mut [T],
    ) -> Result<Self, AgentError> {
        state.forget_workspace();
        Self::attach_parts(config, public, state, log, workspace)
    }

    /// Joins a state with the log and the workspace it has always had, where they do not lie side by side.
    ///
    /// **Errors**: as [`Agent::attach`].
    pub fn attach_parts(
        config: &'a Config,
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        log: &'a mut [T],
        workspace: &'a mut [T],
    ) -> Result<Self, AgentError> {
        if log.len() < log_len(config) || workspace.len() < workspace_len(config, public) {
            let (len, expected) = (log.len() + workspace.len(), storage_len(config, public));
            return Err(AgentError::Storage { len, expected });
        }
        Self::join(config, public, state, log, workspace)
    }

    fn join(
        config: &'a Config,
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        log: &'a mut [T],
        workspace: &'a mut [T],
    ) -> Result<Self, AgentError> {
        public.check(config).map_err(AgentError::Public)?;
        let agents = config.parameters().agents;
        if state.agent >= agents {
            return Err(AgentError::NotEnrolled { agent: state.agent, agents });
        }
        let parts = split(workspace, config, public);
        Ok(Agent { config, public, state, log, parts })
    }

    /// Where it stands.
    pub fn state(&self) -> &AgentState {
        self.state
    }

    /// The observations so far, (candidate, value − offset) in order.
    pub fn observations(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        self.log.chunks_exact(2).take(self.state.observations as usize).map(|entry| (candidate_of(entry[0]), entry[1]))
    }

    /// One step of the machine: one input in, one borrowed output out.
    ///
    /// **Errors**: [`AgentError`]; nothing changed then.
    pub fn handle(&mut self, input: Input<'_, T>) -> Result<Output<'_, T>, AgentError> {
        match (self.state.phase, input) {
            (Phase::Fresh, Input::Start) => {
                self.state.phase = Phase::Initial;
                self.state.pending = self.initial_point(0);
                Ok(self.evaluate())
            }
            (Phase::Initial, Input::Observed(y)) => {
                self.record(y)?;
                if self.state.observations < self.config.parameters().initial_points {
                    self.state.pending = self.initial_point(self.state.observations);
                    Ok(self.evaluate())
                } else {
                    Ok(self.end_round())
                }
            }
            (Phase::Evaluating, Input::Observed(y)) => {
                self.record(y)?;
                Ok(self.end_round())
            }
            (Phase::Waiting, Input::Broadcast(vectors)) => {
                self.check_broadcast(vectors)?;
                self.begin_round(Some(vectors));
                Ok(self.evaluate())
            }
            (Phase::Waiting, Input::NoBroadcast) => {
                self.begin_round(None);
                Ok(self.evaluate())
            }
            (Phase::Waiting, Input::Missed) => {
                self.state.round += 1;
                if self.state.round == self.config.parameters().rounds {
                    self.state.phase = Phase::Done;
                    return Ok(Output::Done);
                }
                Ok(Output::Wait)
            }
            (phase, input) => Err(AgentError::UnexpectedInput { phase, input: input.name() }),
        }
    }

    fn evaluate(&mut self) -> Output<'_, T> {
        let dim = self.public.candidates.dim();
        let point = &mut self.parts.scratch[..dim];
        self.public.candidates.point(self.state.pending, point);
        Output::Evaluate { candidate: self.state.pending, point, number: self.state.observations }
    }

    /// Initial point i: one word of the stream (agent, initial points) picks a candidate of the region, uniformly and
    /// with replacement.
    fn initial_point(&mut self, i: u32) -> u32 {
        let p = self.config.parameters();
        let own = self.config.region_of_agent(self.state.agent);
        let count = self.public.candidates.count();
        let mut stream = self.state.seed.stream(self.party(), Purpose::InitialPoints, i);
        if p.initial_region == InitialRegion::Whole || p.regions.count() == 1 {
            return stream.below(count);
        }
        let point = &mut self.parts.scratch[..self.public.candidates.dim()];
        let mut inside = |candidate: &u32| self.public.region(&p.regions, *candidate, point) == own;
        let eligible = (0..count).filter(&mut inside).count() as u32;
        let chosen = stream.below(eligible) as usize;
        // A region without a candidate falls back on the whole list: `below(0)` is 0 and the search finds nothing.
        (0..count).filter(&mut inside).nth(chosen).unwrap_or_else(|| stream.below(count))
    }

    fn party(&self) -> Party {
        Party::Agent(self.state.agent)
    }

    /// Line "observe y, add (x, y − c₀)".
    fn record(&mut self, y: T) -> Result<(), AgentError> {
        if !y.is_finite() {
            return Err(AgentError::ObservationNotFinite { round: self.state.round });
        }
        let start = 2 * self.state.observations as usize;
        if let Some(entry) = self.log.get_mut(start..start + 2) {
            entry[0] = T::from_u32(self.state.pending);
            entry[1] = y - T::from_f64(self.config.parameters().offset);
        }
        self.state.observations += 1;
        Ok(())
    }

    /// Line "draw ω ~ N(ν, λΣ⁻¹) and upload it".
    fn end_round(&mut self) -> Output<'_, T> {
        let p = self.config.parameters();
        if self.state.round == p.rounds {
            self.state.phase = Phase::Done;
            return Output::Done;
        }
        self.state.phase = Phase::Waiting;
        if p.aggregation == Aggregation::None {
            return Output::Wait;
        }
        let mut stream = self.state.seed.stream(self.party(), Purpose::WeightDraw, self.state.round);
        self.shared_posterior(|posterior, upload, _| posterior.draw(&mut stream, upload));
        Output::Upload(self.parts.upload)
    }

    fn check_broadcast(&self, vectors: &[T]) -> Result<(), AgentError> {
        let (len, expected) = (vectors.len(), self.config.broadcast_len());
        if len != expected {
            return Err(AgentError::BroadcastLength { len, expected });
        }
        match vectors.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(AgentError::BroadcastNotFinite { index }),
            None => Ok(()),
        }
    }

    /// Lines "if u < pₜ maximise the own draw, else the broadcast": picks the query of the next round.
    fn begin_round(&mut self, broadcast: Option<&[T]>) {
        let p = self.config.parameters();
        let round = self.state.round + 1;
        let own = match broadcast {
            None => true,
            Some(_) => {
                let coin: f64 = self.state.seed.stream(self.party(), Purpose::Mixing, round).unit();
                coin < p.mixing.own_draw_probability(round)
            }
        };
        let candidate = match broadcast {
            Some(vectors) if !own => match self.public.broadcast_maximum {
                Some(candidate) => candidate,
                None => self.public.maximize(&p.regions, vectors, self.parts.scratch).candidate,
            },
            _ => self.own_draw(round),
        };
        self.state.pending = candidate;
        self.state.round = round;
        self.state.phase = Phase::Evaluating;
    }

    /// Line "maximise f ~ GP(μ, β²σ²)".
    fn own_draw(&mut self, round: u32) -> u32 {
        let width = self.public.confidence_widths.get(round as usize - 1).copied().unwrap_or(T::ONE);
        let mut stream = self.state.seed.stream(self.party(), Purpose::OwnDraw, round);
        match self.config.parameters().own_draw {
            OwnDraw::Features => {
                self.shared_posterior(|posterior, upload, draw| {
                    posterior.draw(&mut stream, draw);
                    widen(posterior, width, draw, upload);
                });
                let m = self.public.features.count();
                // One weight vector for the whole domain; the splits are those of one region.
                let whole = Regions::whole(self.public.candidates.dim());
                match whole {
                    Ok(whole) => self.public.maximize(&whole, &self.parts.draw[..m], self.parts.scratch).candidate,
                    Err(_) => 0,
                }
            }
            OwnDraw::Joint => {
                let (public, log, rank) = (self.public, &*self.log, self.public.prior_rank);
                let lambda = T::from_f64(self.config.parameters().noise_variance);
                let (count, done) = (self.state.observations as usize, self.state.own_digested as usize);
                if let Ok(mut posterior) = WeightPosterior::resume(rank, lambda, done, &mut *self.parts.own) {
                    posterior.extend(count, |i, phi| {
                        let (candidate, y) = entry(log, i);
                        if let Some(row) = public.prior_rows.get(candidate * rank..(candidate + 1) * rank) {
                            phi.copy_from_slice(row);
                        }
                        y
                    });
                    posterior.draw(&mut stream, self.parts.draw);
                    widen(&mut posterior, width, self.parts.draw, self.parts.scratch);
                    self.state.own_digested = self.state.observations;
                }
                thompson_rows(public.prior_rows, rank, self.parts.draw)
            }
        }
    }

    /// Brings the shared posterior up to the log and hands it on with the upload and draw buffers.
    fn shared_posterior(&mut self, act: impl FnOnce(&mut WeightPosterior<T, &mut [T]>, &mut [T], &mut [T])) {
        let (public, log) = (self.public, &*self.log);
        let p = self.config.parameters();
        let (m, lambda) = (p.feature_count as usize, T::from_f64(p.regularization));
        let point = &mut self.parts.scratch[..public.candidates.dim()];
        let done = self.state.shared_digested as usize;
        if let Ok(mut posterior) = WeightPosterior::resume(m, lambda, done, &mut *self.parts.shared) {
            posterior.extend(self.state.observations as usize, |i, phi| {
                let (candidate, y) = entry(log, i);
                public.feature_row(candidate as u32, point, phi);
                y
            });
            act(&mut posterior, self.parts.upload, self.parts.draw);
            self.state.shared_digested = self.state.observations;
        }
    }
}

fn thompson_rows<T: Scalar>(rows: &[T], rank: usize, draw: &[T]) -> u32 {
    crate::acquisition::thompson::maximize_rows(rows, rank, &[], draw.get(..rank).unwrap_or(&[])).candidate
}

/// ω ← ν + width·(ω − ν).
fn widen<T: Scalar>(posterior: &mut WeightPosterior<T, &mut [T]>, width: T, draw: &mut [T], mean: &mut [T]) {
    if width == T::ONE {
        return;
    }
    let m = posterior.feature_count();
    if let (Some(mean), Some(draw)) = (mean.get_mut(..m), draw.get_mut(..m)) {
        posterior.mean(mean);
        for (omega, nu) in draw.iter_mut().zip(mean) {
            *omega = *nu + width * (*omega - *nu);
        }
    }
}

/// Observation i of a log: candidate and value.
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
