//! What the three learners share: inputs, outputs, errors, and where a run stands.

use core::fmt;

use super::config::{Config, FirstQuery};
use crate::acquisition::Maximum;
use crate::acquisition::upper_confidence_bound::bound;
use crate::kernel::KernelError;
use crate::math::Scalar;
use crate::parameter::ConfigError;
use crate::random::{Party, Purpose, RunSeed};
use crate::surrogate::SurrogateError;

/// One thing that happens to a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input<T> {
    /// Begins the first round.
    Start,
    /// The report for the query last asked. Which user it is from does not matter to a learner.
    Report(T),
}

/// What a learner wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Ask a user for a report on this candidate. If that user refuses, ask another: the query
    /// stays.
    Query {
        /// Round of the query, 1-based.
        round: u32,
        /// Index of the candidate.
        candidate: u32,
    },
    /// All T reports are in.
    Done,
}

/// Where a learner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Nothing happened yet.
    Fresh,
    /// A report is awaited.
    Waiting,
    /// All reports are in.
    Done,
}

/// Why a learner refused. Its state is as before.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LearnerError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the learner stands.
        phase: Phase,
        /// Name of the input.
        input: &'static str,
    },
    /// A report that is NaN, infinite or beyond 10¹⁰⁰: it is of no use and changes nothing. Ask
    /// another user.
    ReportNotFinite {
        /// The round it belongs to.
        round: u32,
    },
    /// The configuration names another number of candidates than there are.
    Candidates {
        /// Number of candidates.
        count: usize,
        /// Candidates of the configuration.
        expected: u32,
    },
    /// T reports do not fill one epoch of MoMA-GP-UCB: nothing would ever be learnt.
    EpochTooLong {
        /// Length k of an epoch, rounds.
        epoch_len: u32,
        /// Number of rounds T.
        rounds: u32,
    },
    /// The configuration does not suit this learner.
    Config(ConfigError),
    /// A kernel matrix that is not symmetric, not finite or not square.
    Kernel(KernelError),
    /// A kernel matrix that is not a covariance matrix.
    NotPositiveSemidefinite {
        /// Its smallest eigenvalue.
        eigenvalue: f64,
        /// The smallest that would have been taken for rounding.
        admissible: f64,
    },
    /// The posterior refused.
    Surrogate(SurrogateError),
}

impl fmt::Display for LearnerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LearnerError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            LearnerError::ReportNotFinite { round } => {
                write!(
                    f,
                    "the report of round {round} is not finite, or too large to compute with"
                )
            }
            LearnerError::Candidates { count, expected } => {
                write!(
                    f,
                    "there are {count} candidates, the configuration says {expected}"
                )
            }
            LearnerError::EpochTooLong { epoch_len, rounds } => {
                write!(
                    f,
                    "an epoch takes {epoch_len} reports and the run has {rounds}: not one epoch"
                )
            }
            LearnerError::Config(error) => write!(f, "{error}"),
            LearnerError::Kernel(error) => write!(f, "{error}"),
            LearnerError::NotPositiveSemidefinite {
                eigenvalue,
                admissible,
            } => write!(
                f,
                "the kernel matrix has the eigenvalue {eigenvalue:e}, at least {admissible:e} is admissible: \
                 it is no covariance matrix"
            ),
            LearnerError::Surrogate(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for LearnerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            LearnerError::Config(error) => error.source(),
            LearnerError::Kernel(error) => error.source(),
            LearnerError::Surrogate(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SurrogateError> for LearnerError {
    fn from(error: SurrogateError) -> Self {
        LearnerError::Surrogate(error)
    }
}

impl From<ConfigError> for LearnerError {
    fn from(error: ConfigError) -> Self {
        LearnerError::Config(error)
    }
}

/// A learner of any kind.
///
/// Learners hold no clock and no randomness but named streams: replaying the reports of a run into
/// a new learner gives the same learner, bit by bit. That is how a run is resumed.
pub trait Learner<T: Scalar> {
    /// One step of the machine: one input in, one output out.
    ///
    /// **Errors**: [`LearnerError`]; nothing changed then.
    fn handle(&mut self, input: Input<T>) -> Result<Output, LearnerError>;

    /// The current estimate of every candidate's value.
    fn mean(&self) -> &[T];
}

/// Reports beyond this are refused, so that no sum of them overflows.
const REPORT_MAX: f64 = 1e100;

/// The rounds of a run, and the query that is out.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    phase: Phase,
    round: u32,
    last: u32,
    candidate: u32,
}

impl Rounds {
    pub(super) fn new(rounds: u32) -> Self {
        Rounds {
            phase: Phase::Fresh,
            round: 0,
            last: rounds,
            candidate: 0,
        }
    }

    /// The report of the query that is out, or `None` at the start.
    pub(super) fn accept<T: Scalar>(&self, input: Input<T>) -> Result<Option<T>, LearnerError> {
        match (self.phase, input) {
            (Phase::Fresh, Input::Start) => Ok(None),
            (Phase::Waiting, Input::Report(y))
                if y.abs() <= T::from_f64(REPORT_MAX) && y.is_finite() =>
            {
                Ok(Some(y))
            }
            (Phase::Waiting, Input::Report(_)) => {
                Err(LearnerError::ReportNotFinite { round: self.round })
            }
            (phase, Input::Start) => Err(LearnerError::UnexpectedInput {
                phase,
                input: "Start",
            }),
            (phase, Input::Report(_)) => Err(LearnerError::UnexpectedInput {
                phase,
                input: "Report",
            }),
        }
    }

    /// 1-based round of the query that is out.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// Candidate of the query that is out.
    pub(super) fn candidate(&self) -> u32 {
        self.candidate
    }

    /// True if the query that is out is the last.
    pub(super) fn is_last(&self) -> bool {
        self.round >= self.last
    }

    /// Asks for this candidate next, or ends.
    pub(super) fn next(&mut self, candidate: u32) -> Output {
        if self.is_last() {
            self.phase = Phase::Done;
            return Output::Done;
        }
        self.phase = Phase::Waiting;
        self.round += 1;
        self.candidate = candidate;
        Output::Query {
            round: self.round,
            candidate,
        }
    }
}

/// The first query of a run.
pub(super) fn first_query(config: &Config, seed: RunSeed) -> u32 {
    match config.parameters().first_query {
        FirstQuery::Candidate(first) => first,
        FirstQuery::Random => seed
            .stream(Party::Server, Purpose::InitialPoints, 0)
            .below(config.parameters().candidates),
    }
}

/// argmax of mean + width·std over all candidates; ties to the lowest index.
pub(super) fn maximize<T: Scalar>(moments: impl Iterator<Item = (T, T)>, width: T) -> u32 {
    let mut best = Maximum {
        candidate: 0,
        value: -T::INFINITY,
    };
    for (i, (mean, variance)) in moments.enumerate() {
        let value = bound(mean, variance, width);
        if value > best.value {
            best = Maximum {
                candidate: i as u32,
                value,
            };
        }
    }
    best.candidate
}

pub(super) fn check_count(config: &Config, count: usize) -> Result<(), LearnerError> {
    let expected = config.parameters().candidates;
    if count == expected as usize {
        Ok(())
    } else {
        Err(LearnerError::Candidates { count, expected })
    }
}
