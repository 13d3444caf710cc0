//! Why a search does not go on.

use sordino_core::optimizer::CANDIDATES_MAX;

use crate::prior::guide::GuideError;
use crate::space::SpaceError;
use crate::text::exact;

/// The largest size of a value: far below core's
/// [`optimizer::value_max`](sordino_core::optimizer::value_max), because what is expected of
/// questions under way is told as well, and may be a little more.
pub const VALUE_MAX: f64 = 1e135;
/// The most values that a search holds: its memory is 4·n² bytes.
pub const CAPACITY_MAX: usize = 10_000;

/// Why a search did not go on.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A space or a point that is none.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A candidate that is no point.
    #[error("candidate {place}")]
    Candidate {
        /// Its place in the list, from 0.
        place: usize,
        /// Why it is none of the space's.
        source: SpaceError,
    },
    /// A parameter with the name of another column of the history.
    #[error(
        "`{name}` is a column of the history; admissible: a parameter that is called neither value, best nor evaluation"
    )]
    Column {
        /// The parameter's name.
        name: String,
    },
    /// A list without candidates, or with too many.
    #[error("{count} candidates; admissible: 1 to {CANDIDATES_MAX}")]
    Candidates {
        /// Number of candidates given.
        count: usize,
    },
    /// A place of the list at which there is no candidate.
    #[error("candidate {place} of {count}")]
    Place {
        /// The place, from 0.
        place: usize,
        /// Number of candidates.
        count: usize,
    },
    /// A context was given with a list of candidates, which have a value for every parameter.
    #[error("a space with parameters that are given with each question has no list of candidates")]
    ContextAmongCandidates,
    /// A value that is no finite number.
    #[error("the value is {}; admissible: a finite number up to {VALUE_MAX:e}", exact(*.value))]
    Value {
        /// The value given.
        value: f64,
    },
    /// More observations than fit.
    #[error("{told} values were told; admissible: at most {CAPACITY_MAX}")]
    Full {
        /// Number of values so far.
        told: usize,
    },
    /// A point that is not under way failed.
    #[error("no question under way is {point}")]
    NotAsked {
        /// The point as JSON.
        point: String,
    },
    /// The surrogate refused.
    #[error("the surrogate refused")]
    Surrogate(#[from] sordino_core::optimizer::OptimizerError),
    /// A prior file that is of another search, or none.
    #[error(transparent)]
    Guide(#[from] GuideError),
    /// A search that began with a prior file goes on without one.
    #[error("this search began with the prior file {digest}; give it again")]
    NoPrior {
        /// Digest of the file.
        digest: String,
    },
    /// A stored search began with another prior file, or without one.
    #[error("the search began {}, the file given is {given}", .stored.as_ref().map_or("without a prior file".to_owned(), |stored| format!("with the prior file {stored}")))]
    OtherPrior {
        /// Digest of the one it began with.
        stored: Option<String>,
        /// Digest of the one given.
        given: String,
    },
    /// A stored search that is none.
    #[error("line {line} of the stored search: {what}")]
    Stored {
        /// Its number, 1-based.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

impl SearchError {
    /// A line of a stored search, counted from 0, cannot be read.
    pub(super) fn stored(line: usize, what: impl Into<String>) -> Self {
        SearchError::Stored {
            line: line + 1,
            what: what.into(),
        }
    }
}
