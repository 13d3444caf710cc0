//! Why an audit has no outcome. None of these is a pass.

use sordino_experiment::command_line::error::CliError;
use std::error::Error;
use std::fmt;
use std::ops::Range;

use sordino_core::federated::shares::ShareError;
use sordino_core::federated::{ConfigError, ServerError};
use sordino_core::local::ReporterError;
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::privacy::epsilon::NotAnEpsilon;
use sordino_core::privacy::mechanism::laplace::LaplaceError;
use sordino_core::privacy::{Event, NoiseError};
use sordino_host::entropy::NoEntropy;
use sordino_host::prior::publish::PublishError;

use super::defect::Defect;

/// Why an audit has no outcome: something refused, failed or gave a wrong answer. No score is left
/// out or counted as zero, because missing scores would look like a mechanism that leaks nothing.
#[derive(Debug)]
pub enum AuditError {
    /// Fewer runs than the statistics need.
    Runs {
        /// Runs asked for.
        runs: u32,
        /// The fewest runs allowed.
        runs_min: u32,
    },
    /// An error probability outside (0, 1).
    ErrorProbability(f64),
    /// A control that this path does not have.
    NoSuchControl(Defect),
    /// A control that must know the seed, with secret noise, which has none.
    NeedsSeed(Defect),
    /// The accountant has no δ for the claim.
    Claim(AccountantError),
    /// The federation to be audited was refused.
    Config(ConfigError),
    /// The ε of the local report was refused.
    Epsilon(NotAnEpsilon),
    /// The mechanism of the local report was refused.
    Laplace(LaplaceError),
    /// The system gave no seed for secret noise.
    Entropy(NoEntropy),
    /// A run of the audit failed.
    Run {
        /// Number of the run, from 0.
        run: u32,
        /// The round it failed in, from 0.
        round: u32,
        /// Why the run failed.
        error: RunError,
    },
    /// A publication failed.
    Publication {
        /// Number of the run, from 0.
        run: u32,
        /// Why nothing was published.
        error: Box<PublishError>,
    },
    /// A worker panicked; its runs are lost.
    Worker {
        /// The runs that the worker had to do.
        runs: Range<u32>,
        /// Message of the panic.
        message: String,
    },
    /// A worker returned a number of scores other than its number of runs.
    Scores {
        /// Number of scores that came.
        found: usize,
        /// Number of scores expected.
        expected: usize,
    },
}

/// Why one run of an audit failed.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The server refused an input, a share, a partial or a release.
    #[error("the server refused: {0}")]
    Server(#[from] ServerError),
    /// One of two servers refused, or an agent of theirs.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The reporter refused.
    #[error("the reporter refused: {0}")]
    Reporter(#[from] ReporterError),
    /// The source gave no coin or no noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The party charged an event other than the claimed one.
    #[error("{found:?} was charged, {claimed:?} is claimed")]
    Charge {
        /// The event that was charged.
        found: Event,
        /// The event that is claimed.
        claimed: Event,
    },
    /// The party gave another answer than expected.
    #[error("{expected} was expected")]
    Answer {
        /// The answer that was expected.
        expected: &'static str,
    },
    /// The party released something that is not a number.
    #[error("{0} was released")]
    NotFinite(f64),
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the audit has no outcome: ")?;
        match self {
            AuditError::Runs { runs, runs_min } => {
                write!(f, "{runs} runs, at least {runs_min} are needed")
            }
            AuditError::ErrorProbability(error) => {
                write!(f, "an error probability of {error} is not in (0, 1)")
            }
            AuditError::NoSuchControl(defect) => write!(f, "this path has no control {defect:?}"),
            AuditError::NeedsSeed(defect) => {
                write!(
                    f,
                    "the control {defect:?} foresees coins and noise, which secret noise does not let it"
                )
            }
            AuditError::Claim(error) => write!(f, "the claim cannot be accounted for: {error}"),
            AuditError::Config(error) => write!(f, "the federation was refused: {error}"),
            AuditError::Epsilon(error) => write!(f, "the local report was refused: {error}"),
            AuditError::Laplace(error) => write!(f, "the local report was refused: {error}"),
            AuditError::Entropy(error) => write!(f, "{error}"),
            AuditError::Run { run, round, error } => {
                write!(f, "run {run} failed in round {round}: {error}")
            }
            AuditError::Publication { run, error } => {
                write!(f, "the publication of run {run} failed: {error}")
            }
            AuditError::Worker { runs, message } => {
                write!(
                    f,
                    "the worker of runs {} to {} panicked: {message}",
                    runs.start, runs.end
                )
            }
            AuditError::Scores { found, expected } => {
                write!(f, "{found} scores came of {expected} runs")
            }
        }
    }
}

impl Error for AuditError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AuditError::Claim(error) => Some(error),
            AuditError::Config(error) => Some(error),
            AuditError::Epsilon(error) => Some(error),
            AuditError::Laplace(error) => Some(error),
            AuditError::Entropy(error) => Some(error),
            AuditError::Run { error, .. } => Some(error),
            AuditError::Publication { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl AuditError {
    /// Makes an error of a run and its round out of what failed in it.
    pub(super) fn in_run<E: Into<RunError>>(run: u32, round: u32) -> impl Fn(E) -> Self {
        move |error| AuditError::Run {
            run,
            round,
            error: error.into(),
        }
    }
}

/// Refuses an error probability outside (0, 1), with which no bound would exceed anything.
pub(super) fn check_error(error: f64) -> Result<(), AuditError> {
    if error > 0.0 && error < 1.0 {
        Ok(())
    } else {
        Err(AuditError::ErrorProbability(error))
    }
}

impl From<AuditError> for CliError {
    fn from(error: AuditError) -> Self {
        CliError::failure(error)
    }
}
