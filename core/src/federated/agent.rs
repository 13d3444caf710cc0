//! The agent: queries its own function, uploads weights, follows the server or its own posterior.
//!
//! A party is two things: [`AgentState`], a few words that serialise, and numbers, [`AgentStorage`]. [`Agent::attach`]
//! joins them for as long as both are borrowed. The numbers are a *log* (what was observed) and a *workspace*
//! (posteriors that can be rebuilt from the log): a device keeps both, a fleet keeps a log for each agent and one
//! workspace for each thread, with the same bits.
//!
//! `attach` is the one door: configuration, public numbers, state and log are checked there, in the format computed
//! with. What can be refused afterwards is an input, or a draw that came out NaN or infinite.

mod state;
mod storage;

pub use self::state::AgentState;
pub use self::storage::{AgentStorage, Workspace, log_len, storage_len, workspace_len};

use self::state::Digested;
use super::config::{Aggregation, Config, InitialRegion, OwnDraw};
use super::messages::{AgentError, Input, Output, Phase};
use super::public::Public;
use crate::acquisition::thompson;
use crate::domain::Regions;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::random::{Party, Purpose};
use crate::surrogate::WeightPosterior;
use crate::surrogate::weights::Regularization;

/// An agent at work: configuration, public context, state and numbers, all borrowed.
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
}

impl<'a, T: Scalar> Agent<'a, T> {
    /// Joins a state with its numbers.
    ///
    /// **Errors**: [`AgentError`]: [`AgentError::Public`], [`AgentError::NotEnrolled`], [`AgentError::State`] and
    /// [`AgentError::Log`] for what was stored, [`AgentError::Number`] for what the format of `T` cannot hold,
    /// [`AgentError::Storage`], [`AgentError::Posterior`].
    ///
    /// **Cost**: one look at every observation in the log.
    pub fn attach(
        config: &'a Config,
        public: &'a Public<'a, T>,
        state: &'a mut AgentState,
        storage: AgentStorage<'a, T>,
    ) -> Result<Self, AgentError> {
        public.check(config).map_err(AgentError::Public)?;
        let p = config.parameters();
        if state.agent >= p.agents {
            return Err(AgentError::NotEnrolled { agent: state.agent, agents: p.agents });
        }
        let AgentStorage { log, workspace } = storage;
        let workspace = match workspace {
            Workspace::Kept(workspace) => workspace,
            Workspace::Lent(workspace) => {
                state.digested = Digested::default();
                workspace
            }
        };
        for (what, len, expected) in
            [("log", log.len(), log_len(config)), ("workspace", workspace.len(), workspace_len(config, public))]
        {
            if len < expected {
                return Err(AgentError::Storage { what, len, expected });
            }
        }
        state.judge(config, public.candidates.count())?;
        judge_log(log, state.observations, public.candidates.count())?;
        let lambda = regularization("regularization", p.regularization)?;
        let noise_variance = regularization("noise_variance", p.noise_variance)?;
        let offset = number("offset", p.offset, "(-inf, inf)", T::is_finite)?;
        for width in public.confidence_widths {
            number("confidence_widths", width.to_f64(), "[0, inf)", |w: T| w >= T::ZERO && w.is_finite())?;
        }
        let storage::Parts { shared, own, upload, draw, scratch } = storage::parts(workspace, config, public);
        let posterior = |width, lambda, digested: u32, numbers| {
            WeightPosterior::resume(width, lambda, digested as usize, numbers).map_err(AgentError::Posterior)
        };
        let shared = posterior(p.feature_count as usize, lambda, state.digested.shared, shared)?;
        let own = match p.own_draw {
            OwnDraw::Features => None,
            OwnDraw::Joint => Some(posterior(public.prior_rank, noise_variance, state.digested.own, own)?),
        };
        let whole = Regions::whole(public.candidates.dim()).map_err(AgentError::Domain)?;
        Ok(Agent { config, public, state, log, shared, own, upload, draw, scratch, offset, whole })
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
    /// **Errors**: [`AgentError`]; nothing changed then, except where the variant says so.
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
                    self.end_round()
                }
            }
            (Phase::Evaluating, Input::Observed(y)) => {
                self.record(y)?;
                self.end_round()
            }
            (Phase::Waiting, Input::Broadcast { vectors, maximum }) => {
                self.check_broadcast(vectors, maximum)?;
                self.begin_round(Some((vectors, maximum)))?;
                Ok(self.evaluate())
            }
            (Phase::Waiting, Input::NoBroadcast) => {
                self.begin_round(None)?;
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

    /// Says its last output again: the point that is awaited, or the upload of its round, drawn again from its address,
    /// the same bits. For an agent that was restarted, and for a server that was and lacks the upload. Of a round that
    /// was [`Input::Missed`] there was no upload; the one that is drawn then was never sent, and need not be.
    ///
    /// **Returns** [`Output::Wait`] before the beginning and if nothing is ever uploaded.
    ///
    /// **Errors**: [`AgentError::UploadNotFinite`], as when the upload was drawn first. The state is as before.
    pub fn repeat(&mut self) -> Result<Output<'_, T>, AgentError> {
        match self.state.phase {
            Phase::Initial | Phase::Evaluating => Ok(self.evaluate()),
            Phase::Waiting => self.upload(),
            Phase::Fresh => Ok(Output::Wait),
            Phase::Done => Ok(Output::Done),
        }
    }

    fn evaluate(&mut self) -> Output<'_, T> {
        let dim = self.public.candidates.dim();
        let point = &mut self.scratch[..dim];
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
        let point = &mut self.scratch[..self.public.candidates.dim()];
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
        let value = y - self.offset;
        if !(y.is_finite() && value.is_finite()) {
            return Err(AgentError::ObservationNotFinite { round: self.state.round });
        }
        let (start, len) = (2 * self.state.observations as usize, self.log.len());
        let Some([candidate, place]) = self.log.get_mut(start..start + 2) else {
            return Err(AgentError::Storage { what: "log", len, expected: start + 2 });
        };
        (*candidate, *place) = (T::from_u32(self.state.pending), value);
        self.state.observations += 1;
        Ok(())
    }

    /// Line "draw ω ~ N(ν, λΣ⁻¹) and upload it". The round is over whatever the draw is.
    fn end_round(&mut self) -> Result<Output<'_, T>, AgentError> {
        let p = self.config.parameters();
        if self.state.round == p.rounds {
            self.state.phase = Phase::Done;
            return Ok(Output::Done);
        }
        self.state.phase = Phase::Waiting;
        self.upload()
    }

    /// The draw of the round, a function of seed, round and log.
    fn upload(&mut self) -> Result<Output<'_, T>, AgentError> {
        if self.config.parameters().aggregation == Aggregation::None {
            return Ok(Output::Wait);
        }
        let mut stream = self.state.seed.stream(self.party(), Purpose::WeightDraw, self.state.round);
        self.digest_log();
        self.shared.draw(&mut stream, self.upload);
        match self.upload.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(AgentError::UploadNotFinite { index }),
            None => Ok(Output::Upload(self.upload)),
        }
    }

    fn check_broadcast(&self, vectors: &[T], maximum: Option<u32>) -> Result<(), AgentError> {
        let (len, expected) = (vectors.len(), self.config.broadcast_len());
        if len != expected {
            return Err(AgentError::BroadcastLength { len, expected });
        }
        if let Some(index) = vectors.iter().position(|x| !x.is_finite()) {
            return Err(AgentError::BroadcastNotFinite { index });
        }
        let candidates = self.public.candidates.count();
        match maximum {
            Some(found) if found >= candidates => Err(AgentError::BroadcastMaximum { found, candidates }),
            _ => Ok(()),
        }
    }

    /// Lines "if u < pₜ maximise the own draw, else the broadcast": picks the query of the next round. An own draw that
    /// is refused leaves the agent waiting.
    fn begin_round(&mut self, broadcast: Option<(&[T], Option<u32>)>) -> Result<(), AgentError> {
        let p = self.config.parameters();
        let round = self.state.round + 1;
        let own = match broadcast {
            None => true,
            Some(_) => {
                let coin = self.state.seed.stream(self.party(), Purpose::Mixing, round).word();
                p.mixing.own_draw(round, coin)
            }
        };
        self.state.pending = match broadcast {
            Some((_, Some(maximum))) if !own => maximum,
            Some((vectors, None)) if !own => self.public.maximize(&p.regions, vectors, self.scratch).candidate,
            _ => self.own_draw(round)?,
        };
        self.state.round = round;
        self.state.phase = Phase::Evaluating;
        Ok(())
    }

    /// Line "maximise f ~ GP(μ, β²σ²)".
    fn own_draw(&mut self, round: u32) -> Result<u32, AgentError> {
        let width = self.public.confidence_widths.get(round as usize - 1).copied().unwrap_or(T::ONE);
        let mut stream = self.state.seed.stream(self.party(), Purpose::OwnDraw, round);
        let (public, count) = (self.public, self.state.observations);
        match &mut self.own {
            None => {
                self.digest_log();
                self.shared.draw(&mut stream, self.draw);
                widen(&mut self.shared, width, self.draw, self.upload);
                let draw = finite(self.draw, public.features.count())?;
                Ok(public.maximize(&self.whole, draw, self.scratch).candidate)
            }
            Some(own) => {
                let (log, rank) = (&*self.log, public.prior_rank);
                own.extend(count as usize, |i, phi| {
                    let (candidate, y) = entry(log, i);
                    let row = slice::part(public.prior_rows, candidate * rank, rank);
                    phi.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
                    y
                });
                self.state.digested.own = count;
                own.draw(&mut stream, self.draw);
                widen(own, width, self.draw, self.scratch);
                Ok(thompson::maximize_rows(public.prior_rows, rank, &[], finite(self.draw, rank)?).candidate)
            }
        }
    }

    /// Brings the shared posterior up to the log.
    fn digest_log(&mut self) {
        let (public, log) = (self.public, &*self.log);
        let point = &mut self.scratch[..public.candidates.dim()];
        self.shared.extend(self.state.observations as usize, |i, phi| {
            let (candidate, y) = entry(log, i);
            public.feature_row(candidate as u32, point, phi);
            y
        });
        self.state.digested.shared = self.state.observations;
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
    if holds(rounded) { Ok(rounded) } else { Err(AgentError::Number { field, value, format: T::NAME, admissible }) }
}

/// A ridge term of the configuration in the format computed with.
fn regularization<T: Scalar>(field: &'static str, value: f64) -> Result<Regularization<T>, AgentError> {
    let refused = |_| AgentError::Number { field, value, format: T::NAME, admissible: "(0, inf)" };
    Regularization::from_f64(value).map_err(refused)
}

/// Whether the first entries of a log are observations.
fn judge_log<T: Scalar>(log: &[T], observations: u32, candidates: u32) -> Result<(), AgentError> {
    let admissible = |entry: &[T; 2]| {
        let candidate = candidate_of(entry[0]);
        candidate < candidates && T::from_u32(candidate) == entry[0] && entry[1].is_finite()
    };
    match log.as_chunks().0.iter().take(observations as usize).position(|entry| !admissible(entry)) {
        Some(entry) => Err(AgentError::Log { entry: entry as u32, candidates }),
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
fn widen<T: Scalar>(posterior: &mut WeightPosterior<T, &mut [T]>, width: T, draw: &mut [T], mean: &mut [T]) {
    if width == T::ONE {
        return;
    }
    let m = posterior.feature_count();
    let (mean, draw) = (slice::head_mut(mean, m), slice::head_mut(draw, m));
    posterior.mean(mean);
    for (omega, nu) in draw.iter_mut().zip(mean) {
        *omega = *nu + width * (*omega - *nu);
    }
}

/// Observation i of a log: candidate and value. All that are asked for are there: `attach` judged them.
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
