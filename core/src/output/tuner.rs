//! The tuner: GP-UCB over a finite public list of candidates. Its history is private; only a
//! release may leave.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::acquisition::upper_confidence_bound;
use crate::kernel::Kernel;
use crate::math::Scalar;
use crate::parameter::{ConfigError, StateError, check, stored};
use crate::schedule::confidence::tuning_width;
use crate::surrogate::{CandidateGp, SurrogateError, candidates};

/// Where a tuner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TunerPhase {
    /// Nothing happened yet.
    Fresh,
    /// A candidate is being evaluated.
    Evaluating,
    /// All T evaluations are made.
    Done,
}

/// What a tuner is, apart from its numbers. Prints nothing that depends on the data.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunerState {
    phase: TunerPhase,
    observations: u32,
    pending: u32,
}

impl TunerState {
    /// Before the first evaluation.
    pub const fn new() -> Self {
        TunerState {
            phase: TunerPhase::Fresh,
            observations: 0,
            pending: 0,
        }
    }

    /// The phase it is in.
    pub const fn phase(&self) -> TunerPhase {
        self.phase
    }

    /// Evaluations so far.
    pub const fn observations(&self) -> u32 {
        self.observations
    }
}

impl Default for TunerState {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TunerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "TunerState {{ phase: {:?}, observations: {} }}",
            self.phase, self.observations
        )
    }
}

/// One thing that happens to a tuner. Prints its name, never a value.
#[derive(Clone, Copy, PartialEq)]
pub enum TunerInput<T> {
    /// Begins the first round.
    Start,
    /// The value of the candidate last asked for.
    Observed(T),
}

impl<T> fmt::Debug for TunerInput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TunerInput::Start => "Start",
            TunerInput::Observed(_) => "Observed",
        })
    }
}

/// What a tuner wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunerOutput {
    /// Evaluate this candidate. **Not releasable**: which one depends on the data.
    Evaluate {
        /// Index of the candidate to evaluate.
        candidate: u32,
    },
    /// Finished; release through a mechanism.
    Done,
}

/// Why a tuner refused. Its state is as before.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TunerError {
    /// A constant out of range.
    Config(ConfigError),
    /// The input does not belong to the phase.
    UnexpectedInput(TunerPhase),
    /// A value that is NaN or infinite.
    ObservationNotFinite {
        /// The candidate it belongs to.
        candidate: u32,
    },
    /// The log has the wrong length.
    Storage {
        /// Length of the slice given.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// A stored state that cannot occur with this number of candidates and rounds.
    State(StateError),
    /// The surrogate refused.
    Surrogate(SurrogateError),
}

impl fmt::Display for TunerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TunerError::Config(error) => error.fmt(f),
            TunerError::UnexpectedInput(phase) => {
                write!(f, "the input does not belong to phase {phase:?}")
            }
            TunerError::ObservationNotFinite { candidate } => {
                write!(f, "the value of candidate {candidate} is not finite")
            }
            TunerError::Storage { found, expected } => {
                write!(f, "log of {found} numbers, {expected} needed")
            }
            TunerError::State(error) => error.fmt(f),
            TunerError::Surrogate(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TunerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            TunerError::Config(error) => error.source(),
            TunerError::State(error) => error.source(),
            TunerError::Surrogate(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SurrogateError> for TunerError {
    fn from(error: SurrogateError) -> Self {
        TunerError::Surrogate(error)
    }
}

/// Whether a stored state can occur in a run of `rounds` rounds over `candidates` candidates.
fn judge(state: &TunerState, candidates: u64, rounds: u64) -> Result<(), StateError> {
    let (name, observations, candidate_max) = match state.phase {
        TunerPhase::Fresh => ("Fresh", 0..=0, 0),
        TunerPhase::Evaluating => ("Evaluating", 0..=rounds - 1, candidates.saturating_sub(1)),
        TunerPhase::Done => ("Done", rounds..=rounds, candidates.saturating_sub(1)),
    };
    stored(
        name,
        "number of observations",
        u64::from(state.observations),
        observations,
    )?;
    stored(
        name,
        "candidate",
        u64::from(state.pending),
        0..=candidate_max,
    )
}

/// Numbers in the log of T evaluations.
pub const fn log_len(rounds: u32) -> usize {
    2 * rounds as usize
}

/// Numbers in the workspace of T evaluations over `candidates` points.
pub const fn workspace_len(candidates: u32, rounds: u32) -> usize {
    candidates::storage_len(candidates as usize, rounds as usize)
}

/// A tuner at work.
pub struct Tuner<'a, T, K> {
    rounds: u32,
    delta: f64,
    state: &'a mut TunerState,
    log: &'a mut [T],
    posterior: CandidateGp<T, K, &'a [T], &'a mut [T]>,
}

impl<'a, T: Scalar, K: Kernel<T>> Tuner<'a, T, K> {
    /// Joins a state with its log and a workspace that anybody may have used before.
    ///
    /// **Parameters**: `points` candidates of `dim` numbers; `rounds` T ≥ 2; `delta` in (0, 1) the
    /// failure probability of the confidence widths; kernel and noise variance public and never
    /// fitted on the validation data.
    ///
    /// **Errors**: [`TunerError::Config`], [`TunerError::Storage`], [`TunerError::Surrogate`].
    pub fn attach(
        kernel: K,
        noise_variance: T,
        points: &'a [T],
        dim: usize,
        rounds: u32,
        delta: f64,
        state: &'a mut TunerState,
        log: &'a mut [T],
        workspace: &'a mut [T],
    ) -> Result<Self, TunerError> {
        check("rounds", f64::from(rounds), rounds >= 2, "2..").map_err(TunerError::Config)?;
        check("delta", delta, delta > 0.0 && delta < 1.0, "(0, 1)").map_err(TunerError::Config)?;
        if log.len() != log_len(rounds) {
            return Err(TunerError::Storage {
                found: log.len(),
                expected: log_len(rounds),
            });
        }
        let candidates = points.len() / dim.max(1);
        judge(state, candidates as u64, u64::from(rounds)).map_err(TunerError::State)?;
        let mut posterior = CandidateGp::new(
            kernel,
            noise_variance,
            dim,
            points,
            rounds as usize,
            workspace,
        )?;
        for entry in log.chunks_exact(2).take(state.observations as usize) {
            posterior.observe(entry[0].to_u32() as usize, entry[1])?;
        }
        Ok(Tuner {
            rounds,
            delta,
            state,
            log,
            posterior,
        })
    }

    /// μ_T, for the mechanisms. **Not releasable.**
    pub fn mean(&self) -> &[T] {
        self.posterior.mean()
    }

    /// The evaluations so far, (candidate, value) in order. **Not releasable.**
    pub fn observations(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let entries = self
            .log
            .chunks_exact(2)
            .take(self.state.observations as usize);
        entries.map(|entry| (entry[0].to_u32(), entry[1]))
    }

    /// max vₜ, for the mechanisms; −∞ before the first. **Not releasable.**
    pub fn best_value(&self) -> T {
        self.observations()
            .fold(-T::INFINITY, |best, (_, v)| best.max(v))
    }

    /// One step of the machine: one input in, one output out.
    ///
    /// **Errors**: [`TunerError`]; nothing changed then.
    pub fn handle(&mut self, input: TunerInput<T>) -> Result<TunerOutput, TunerError> {
        match (self.state.phase, input) {
            (TunerPhase::Fresh, TunerInput::Start) => Ok(self.propose()),
            (TunerPhase::Evaluating, TunerInput::Observed(v)) => {
                self.record(v)?;
                Ok(self.propose())
            }
            (phase, _) => Err(TunerError::UnexpectedInput(phase)),
        }
    }

    fn record(&mut self, v: T) -> Result<(), TunerError> {
        let candidate = self.state.pending;
        if !v.is_finite() {
            return Err(TunerError::ObservationNotFinite { candidate });
        }
        self.posterior.observe(candidate as usize, v)?;
        let start = 2 * self.state.observations as usize;
        if let Some(entry) = self.log.get_mut(start..start + 2) {
            entry[0] = T::from_u32(candidate);
            entry[1] = v;
        }
        self.state.observations += 1;
        Ok(())
    }

    /// Line "λₜ = argmax μ + √βₜ·σ".
    fn propose(&mut self) -> TunerOutput {
        if self.state.observations == self.rounds {
            self.state.phase = TunerPhase::Done;
            return TunerOutput::Done;
        }
        let t = u64::from(self.state.observations) + 1;
        let width = T::from_f64(tuning_width(
            self.posterior.candidates() as u64,
            t,
            self.delta,
        ));
        let best = upper_confidence_bound::maximize(
            self.posterior.mean(),
            self.posterior.variance(),
            width,
        );
        self.state.phase = TunerPhase::Evaluating;
        self.state.pending = best.candidate;
        TunerOutput::Evaluate {
            candidate: best.candidate,
        }
    }
}
