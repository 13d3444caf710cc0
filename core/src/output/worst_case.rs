//! The default: private for every data set, under replacing one of the m scored records.
//!
//! **Theorem.** Candidates public; training data public or disjoint from the scored records; m
//! public. If no candidate's integer score changes by more than Δ between neighbours,
//! permute-and-flip on the scores with ε₁ and discrete Laplace noise on the chosen score with ε₂
//! are together (ε₁ + ε₂, δ)-private (the second release of a run adds): δ = 0 as long as the range
//! is at most 1024 scales of the noise wide, that is up to about 1024/ε₂ records, and δ = 1e-300
//! beyond, where a noise that saturates no longer ends on the same clamp for all scores
//! ([`DiscreteLaplace::wide`]). [`WorstCase::events`] says which. Opaque scores are always within.
//!
//! | scores | Δ | rests on |
//! |---|---|---|
//! | [`ScoreScale::per_record`]: sums of one integer in 0..=G for each record | G, exactly | the owner's promise that each record adds one integer of its own; nothing is rounded |
//! | [`ScoreScale::promised_mean`]: one number, a mean over m records of values in the range | one m-th of the range | the owner's promise, checked by nobody |
//! | [`ScoreScale::opaque`]: one number | the whole range | the clamp |
//!
//! **Failures**: that a candidate crashed, ran out of time or gave no number is a fact about the
//! data as well. The rule is public and fixed before ([`FailureRule`]): *abort* releases nothing at
//! all; that it aborted is visible and **not accounted**, so it is sound only if failing does not
//! depend on one record. *Lowest* counts the candidate as the worst and is accounted exactly, which
//! needs Δ to be the whole range.
//!
//! **Not protected**: candidates, their number, m, the time it took.
//!
//! ```
//! use sordino_core::output::worst_case::{FailureRule, ScoreScale, WorstCase, WorstCaseError};
//! use sordino_core::privacy::{Epsilon, Event, NeighboringRelation};
//!
//! // Accuracy over 1000 records, of which each counts 0 or 1.
//! let (scale, epsilon, relation) = (ScoreScale::per_record(1, 1000)?, Epsilon::new(0.5)?, NeighboringRelation::ReplaceOne);
//! let mechanism = WorstCase::new(20, scale, epsilon, epsilon, FailureRule::Abort)?;
//! assert_eq!(mechanism.events(), [Event::PureEpsilon { epsilon: 0.5, relation }; 2]); // the candidate, its score
//! let lenient = WorstCase::new(20, scale, epsilon, epsilon, FailureRule::Lowest);
//! assert_eq!(lenient, Err(WorstCaseError::FailureNotCovered));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;

use serde::{Deserialize, Serialize};

use super::scale::Given;
pub use super::scale::ScoreScale;
use crate::digest::Digest;
use crate::parameter::{ConfigError, check};
use crate::privacy::event::NeighboringRelation;
use crate::privacy::mechanism::laplace::{DiscreteLaplace, LaplaceError};
use crate::privacy::mechanism::selection::{Selection, SelectionError};
use crate::privacy::{Epsilon, Event};

/// What a failed candidate means; public, fixed before anything runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureRule {
    /// Nothing is released.
    #[default]
    Abort,
    /// It counts as the lowest score; only where the sensitivity is the whole range.
    Lowest,
}

/// The mechanism: public constants, both samplers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstCase {
    pub(super) candidates: u32,
    pub(super) scale: ScoreScale,
    pub(super) failure: FailureRule,
    pub(super) selection: Selection,
    pub(super) laplace: DiscreteLaplace,
}

/// Why a mechanism cannot be configured.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WorstCaseError {
    /// A constant out of range.
    Config(ConfigError),
    /// [`FailureRule::Lowest`] with a promised sensitivity: a failure moves a score through the
    /// whole range.
    FailureNotCovered,
    /// The selection refused.
    Selection(SelectionError),
    /// The Laplace mechanism refused.
    Laplace(LaplaceError),
}

impl fmt::Display for WorstCaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorstCaseError::Config(error) => error.fmt(f),
            WorstCaseError::FailureNotCovered => f.write_str(
                "a failure counted as the lowest score moves it through the whole range: abort, or promise nothing",
            ),
            WorstCaseError::Selection(error) => error.fmt(f),
            WorstCaseError::Laplace(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WorstCaseError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            WorstCaseError::Config(error) => error.source(),
            WorstCaseError::Selection(error) => error.source(),
            WorstCaseError::Laplace(error) => error.source(),
            _ => None,
        }
    }
}

impl WorstCase {
    /// A mechanism that spends `epsilon_candidate` on which candidate and `epsilon_value` on its
    /// score.
    ///
    /// **Errors**: [`WorstCaseError`].
    pub fn new(
        candidates: u32,
        scale: ScoreScale,
        epsilon_candidate: Epsilon,
        epsilon_value: Epsilon,
        failure: FailureRule,
    ) -> Result<Self, WorstCaseError> {
        let count = f64::from(candidates);
        check(
            "candidates",
            count,
            (1..=1 << 24).contains(&candidates),
            "1..=16777216",
        )
        .map_err(WorstCaseError::Config)?;
        if failure == FailureRule::Lowest && !scale.is_opaque() {
            return Err(WorstCaseError::FailureNotCovered);
        }
        let relation = NeighboringRelation::ReplaceOne;
        let selection = Selection::new(scale.sensitivity, epsilon_candidate, relation)
            .map_err(WorstCaseError::Selection)?;
        let laplace = DiscreteLaplace::wide(
            scale.sensitivity,
            epsilon_value,
            0,
            scale.levels as i64,
            relation,
        )
        .map_err(WorstCaseError::Laplace)?;
        Ok(WorstCase {
            candidates,
            scale,
            failure,
            selection,
            laplace,
        })
    }

    /// What the two releases cost; they add.
    pub fn events(&self) -> [Event; 2] {
        [self.selection.event(), self.laplace.event()]
    }

    /// A name of all its constants, from 64 bits of their digest: two mechanisms of one name are
    /// the same.
    pub fn id(&self) -> u64 {
        let ScoreScale {
            given,
            low,
            high,
            levels,
            sensitivity,
        } = self.scale;
        let scale = (
            given == Given::Sum,
            low.to_bits(),
            high.to_bits(),
            levels,
            sensitivity,
        );
        let digest = Digest::of(&(self.candidates, scale, self.events(), self.failure));
        u64::from_le_bytes(core::array::from_fn(|i| digest.0[i]))
    }

    /// |Λ|, the number of candidates.
    pub const fn candidates(&self) -> u32 {
        self.candidates
    }

    /// The scale of the scores.
    pub const fn scale(&self) -> &ScoreScale {
        &self.scale
    }

    /// Scale of the noise on the released score, in units of the score.
    pub fn noise_scale(&self) -> f64 {
        self.scale.sensitivity() / self.laplace.epsilon().value()
    }

    /// With probability 1 − `failure` the chosen candidate's score is within this of the best, in
    /// units of the score: (2Δ/ε₁)·ln(|Λ|/failure), the exponential mechanism's bound, which
    /// permute-and-flip never exceeds.
    pub fn candidate_gap(&self, epsilon_candidate: f64, failure: f64) -> f64 {
        2.0 * self.scale.sensitivity() / epsilon_candidate
            * crate::math::Scalar::ln(f64::from(self.candidates) / failure)
    }
}
