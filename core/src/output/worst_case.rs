//! The default: private for every data set, under replacing one of the m scored records.
//!
//! **Theorem.** Candidates public; training data public or disjoint from the scored records; m public. If no candidate's
//! integer score changes by more than Δ between neighbours, permute-and-flip on the scores with ε₁ and discrete Laplace
//! noise on the chosen score with ε₂ are together (ε₁ + ε₂, δ)-private (the second release of a run adds): δ = 0 as long
//! as the range is at most 1024 scales of the noise wide, that is up to about 1024/ε₂ records, and δ = 1e-300 beyond,
//! where a noise that saturates no longer ends on the same clamp for all scores ([`DiscreteLaplace::wide`]).
//! [`WorstCase::events`] says which. Opaque scores are always within.
//!
//! | scores | Δ | rests on |
//! |---|---|---|
//! | [`ScoreScale::per_record`]: sums of one integer in 0..=G for each record | G, exactly | the integers themselves |
//! | [`ScoreScale::promised_mean`]: one number, a mean over m records of values in the range | one m-th of the range | the owner's promise, checked by nobody |
//! | [`ScoreScale::opaque`]: one number | the whole range | the clamp |
//!
//! **Failures**: that a candidate crashed, ran out of time or gave no number is a fact about the data as well. The rule
//! is public and fixed before ([`FailureRule`]): *abort* releases nothing at all; that it aborted is visible and **not
//! accounted**, so it is sound only if failing does not depend on one record. *Lowest* counts the candidate as the worst
//! and is accounted exactly, which needs Δ to be the whole range.
//!
//! **Not protected**: candidates, their number, m, the time it took.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::math;
use crate::parameter::{ConfigError, check};
use crate::privacy::event::NeighboringRelation;
use crate::privacy::mechanism::laplace::{DiscreteLaplace, LaplaceError};
use crate::privacy::mechanism::selection::{Selection, SelectionError};
use crate::privacy::{Epsilon, Event, NoiseError, NoiseSource, SourceKind};

/// Levels of an opaque score.
const LEVELS: u64 = 1 << 20;
/// Levels for each record of a promised mean.
const LEVELS_PER_RECORD: u64 = 1 << 12;

/// What a score is: what it is given as, its range, its integer levels, how far one record moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreScale {
    given: Given,
    low: f64,
    high: f64,
    levels: u64,
    sensitivity: u64,
}

/// What the scores of a scale are given as. A mean computed in floating point and brought to the levels of a sum could
/// move by one level more than the sum's Δ, so a scale takes one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Sum,
    Number,
}

impl ScoreScale {
    /// Sums over m records of integers in 0..=G; as numbers they are means in [0, G].
    ///
    /// **Errors**: [`ConfigError`] unless 1 ≤ G ≤ 65536 and m ≥ 1.
    pub fn per_record(score_max: u32, records: u32) -> Result<Self, ConfigError> {
        check("score_max", f64::from(score_max), (1..=1 << 16).contains(&score_max), "1..=65536")?;
        check("records", f64::from(records), records >= 1, "1..")?;
        let levels = u64::from(score_max) * u64::from(records);
        let (low, high) = (0.0, f64::from(score_max));
        Ok(ScoreScale { given: Given::Sum, low, high, levels, sensitivity: u64::from(score_max) })
    }

    /// Numbers in [low, high] that the owner promises to be means over m records of values in [low, high], so that one
    /// record moves them by at most (high − low)/m, *as given*, rounding included.
    ///
    /// **Errors**: [`ConfigError`] unless low < high are finite and m ≥ 1.
    pub fn promised_mean(low: f64, high: f64, records: u32) -> Result<Self, ConfigError> {
        check("records", f64::from(records), records >= 1, "1..")?;
        let levels = LEVELS_PER_RECORD * u64::from(records);
        // One level more for the rounding of a mean in floating point.
        Self::range(low, high, levels, levels.min(LEVELS_PER_RECORD + 1))
    }

    /// Numbers in [low, high] of which nothing is known: one record may move them through the whole range.
    ///
    /// **Errors**: [`ConfigError`] unless low < high are finite.
    pub fn opaque(low: f64, high: f64) -> Result<Self, ConfigError> {
        Self::range(low, high, LEVELS, LEVELS)
    }

    fn range(low: f64, high: f64, levels: u64, sensitivity: u64) -> Result<Self, ConfigError> {
        let width = high - low;
        check("high - low", width, low < high && width.is_finite() && width > 1e-300, "(0, inf)")?;
        Ok(ScoreScale { given: Given::Number, low, high, levels, sensitivity })
    }

    /// Level of a number: clamped, then rounded down; `None` for NaN.
    fn level(&self, score: f64) -> Option<i64> {
        if score.is_nan() {
            return None;
        }
        let unit = (score.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        Some((math::floor(unit * self.levels as f64) as i64).clamp(0, self.levels as i64))
    }

    /// The number of a noised level, back in the range: post-processing.
    fn number(&self, level: i64) -> f64 {
        let unit = level.clamp(0, self.levels as i64) as f64 / self.levels as f64;
        self.low + unit * (self.high - self.low)
    }

    /// How far one record moves a score, in units of the score.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity as f64 / self.levels as f64 * (self.high - self.low)
    }

    /// Whether one record may move a score through the whole range.
    pub const fn is_opaque(&self) -> bool {
        self.sensitivity >= self.levels
    }
}

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
    candidates: u32,
    scale: ScoreScale,
    failure: FailureRule,
    selection: Selection,
    laplace: DiscreteLaplace,
}

/// Why a mechanism cannot be configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorstCaseError {
    /// A constant out of range.
    Config(ConfigError),
    /// [`FailureRule::Lowest`] with a promised sensitivity: a failure moves a score through the whole range.
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

impl core::error::Error for WorstCaseError {}

impl WorstCase {
    /// A mechanism that spends `epsilon_candidate` on which candidate and `epsilon_value` on its score.
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
        check("candidates", count, (1..=1 << 24).contains(&candidates), "1..=16777216")
            .map_err(WorstCaseError::Config)?;
        if failure == FailureRule::Lowest && !scale.is_opaque() {
            return Err(WorstCaseError::FailureNotCovered);
        }
        let relation = NeighboringRelation::ReplaceOne;
        let selection =
            Selection::new(scale.sensitivity, epsilon_candidate, relation).map_err(WorstCaseError::Selection)?;
        let laplace = DiscreteLaplace::wide(scale.sensitivity, epsilon_value, 0, scale.levels as i64, relation)
            .map_err(WorstCaseError::Laplace)?;
        Ok(WorstCase { candidates, scale, failure, selection, laplace })
    }

    /// What the two releases cost; they add.
    pub fn events(&self) -> [Event; 2] {
        [self.selection.event(), self.laplace.event()]
    }

    /// The scale of the scores.
    pub const fn scale(&self) -> &ScoreScale {
        &self.scale
    }

    /// Scale of the noise on the released score, in units of the score.
    pub fn noise_scale(&self) -> f64 {
        self.scale.sensitivity() / self.laplace.epsilon().value()
    }

    /// With probability 1 − `failure` the chosen candidate's score is within this of the best, in units of the score:
    /// (2Δ/ε₁)·ln(|Λ|/failure), the exponential mechanism's bound, which permute-and-flip never exceeds.
    pub fn candidate_gap(&self, epsilon_candidate: f64, failure: f64) -> f64 {
        2.0 * self.scale.sensitivity() / epsilon_candidate
            * crate::math::Scalar::ln(f64::from(self.candidates) / failure)
    }
}

/// Where a publisher stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublisherPhase {
    /// Scores are collected.
    Collecting,
    /// The charge is being made durable.
    Charging,
    /// The result has left; or nothing will, because a candidate failed or the budget refused.
    Done,
}

/// What a publisher is, apart from its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublisherState {
    #[serde(deserialize_with = "charge_again")]
    phase: PublisherPhase,
    scored: u32,
    failed: u32,
}

/// A stored state may be older than a release made from it: whoever resumes between charge and release is charged again.
fn charge_again<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<PublisherPhase, D::Error> {
    Ok(match PublisherPhase::deserialize(deserializer)? {
        PublisherPhase::Charging => PublisherPhase::Collecting,
        other => other,
    })
}

impl PublisherState {
    /// Before the first score.
    pub const fn new() -> Self {
        PublisherState { phase: PublisherPhase::Collecting, scored: 0, failed: 0 }
    }

    /// Where it stands.
    pub const fn phase(&self) -> PublisherPhase {
        self.phase
    }

    /// Candidates scored or failed: a public count.
    pub const fn scored(&self) -> u32 {
        self.scored
    }
}

impl Default for PublisherState {
    fn default() -> Self {
        Self::new()
    }
}

/// What became of one candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// A sum of integers over the records ([`ScoreScale::per_record`]); clamped to m·G.
    Sum(u64),
    /// A number ([`ScoreScale::promised_mean`], [`ScoreScale::opaque`]); clamped to the range. NaN is a failure.
    Number(f64),
    /// It crashed, ran out of time, or said nothing of use.
    Failed,
}

/// One thing that happens to a publisher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PublisherInput {
    /// The score of a candidate.
    Scored {
        /// Its index.
        candidate: u32,
        /// What became of it.
        score: Score,
    },
    /// All candidates are scored.
    Close,
    /// The charges are durable: release.
    Charged,
    /// The budget refuses: nothing is drawn and nothing leaves.
    Skip,
}

/// What a publisher answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PublisherOutput {
    /// Nothing yet. The same whatever the score was.
    Wait,
    /// Write both down durably, then say [`PublisherInput::Charged`].
    Charge([Event; 2]),
    /// The release, and all of it.
    Released {
        /// The chosen candidate.
        candidate: u32,
        /// Its noised score.
        score: f64,
        /// Secret noise or a simulation.
        kind: SourceKind,
    },
    /// Nothing is released: a candidate failed and the public rule says abort.
    Aborted,
    /// Nothing is released: the budget refused.
    Closed,
}

/// Why a publisher refused. Its state is as before, and nothing left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PublisherError {
    /// The input does not belong to the phase.
    UnexpectedInput(PublisherPhase),
    /// A candidate that does not exist, or was scored before.
    Candidate {
        /// Its index.
        candidate: u32,
        /// How many there are.
        candidates: u32,
    },
    /// A number where the scale takes sums over records, or a sum where it takes numbers.
    Kind {
        /// Its index.
        candidate: u32,
    },
    /// A candidate is not scored yet.
    Missing {
        /// Its index.
        candidate: u32,
    },
    /// A slice of the wrong length.
    Storage {
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// The selection refused.
    Selection(SelectionError),
    /// No noise.
    Noise(NoiseError),
}

impl fmt::Display for PublisherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublisherError::UnexpectedInput(phase) => write!(f, "the input does not belong to phase {phase:?}"),
            PublisherError::Candidate { candidate, candidates } => {
                write!(f, "candidate {candidate} of {candidates} does not exist or was scored before")
            }
            PublisherError::Kind { candidate } => {
                write!(f, "candidate {candidate} is scored by a sum where the scale takes numbers, or the reverse")
            }
            PublisherError::Missing { candidate } => write!(f, "candidate {candidate} is not scored yet"),
            PublisherError::Storage { found, expected } => write!(f, "storage of {found}, {expected} needed"),
            PublisherError::Selection(error) => error.fmt(f),
            PublisherError::Noise(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PublisherError {}

/// Marks a candidate without a score.
const UNSCORED: i64 = -1;

/// A publisher at work: mechanism, state, scores, scratch.
pub struct Publisher<'a> {
    mechanism: &'a WorstCase,
    state: &'a mut PublisherState,
    levels: &'a mut [i64],
    order: &'a mut [u32],
}

impl<'a> Publisher<'a> {
    /// Joins a state with its slices, one number a candidate each; a fresh state clears them.
    ///
    /// **Errors**: [`PublisherError::Storage`].
    pub fn attach(
        mechanism: &'a WorstCase,
        state: &'a mut PublisherState,
        levels: &'a mut [i64],
        order: &'a mut [u32],
    ) -> Result<Self, PublisherError> {
        let expected = mechanism.candidates as usize;
        for found in [levels.len(), order.len()] {
            if found != expected {
                return Err(PublisherError::Storage { found, expected });
            }
        }
        if state.scored == 0 {
            levels.fill(UNSCORED);
        }
        Ok(Publisher { mechanism, state, levels, order })
    }

    /// Where it stands.
    pub fn state(&self) -> &PublisherState {
        self.state
    }

    /// One step of the machine: one input in, one output out.
    ///
    /// **Errors**: [`PublisherError`]; nothing changed then, and nothing left.
    pub fn handle<S: NoiseSource>(
        &mut self,
        input: PublisherInput,
        source: &mut S,
    ) -> Result<PublisherOutput, PublisherError> {
        match (self.state.phase, input) {
            (PublisherPhase::Collecting, PublisherInput::Scored { candidate, score }) => self.score(candidate, score),
            (PublisherPhase::Collecting, PublisherInput::Close) => self.close(),
            (PublisherPhase::Charging, PublisherInput::Charged) => self.release(source),
            (PublisherPhase::Charging, PublisherInput::Skip) => {
                self.state.phase = PublisherPhase::Done;
                Ok(PublisherOutput::Closed)
            }
            (phase, _) => Err(PublisherError::UnexpectedInput(phase)),
        }
    }

    fn score(&mut self, candidate: u32, score: Score) -> Result<PublisherOutput, PublisherError> {
        let scale = &self.mechanism.scale;
        let level = match (score, scale.given) {
            (Score::Sum(sum), Given::Sum) => Some(sum.min(scale.levels) as i64),
            (Score::Number(number), Given::Number) => scale.level(number),
            (Score::Failed, _) => None,
            (Score::Sum(_) | Score::Number(_), _) => return Err(PublisherError::Kind { candidate }),
        };
        match self.levels.get_mut(candidate as usize) {
            Some(place) if *place == UNSCORED => *place = level.unwrap_or(0),
            _ => return Err(PublisherError::Candidate { candidate, candidates: self.mechanism.candidates }),
        }
        self.state.scored += 1;
        self.state.failed += u32::from(level.is_none());
        Ok(PublisherOutput::Wait)
    }

    fn close(&mut self) -> Result<PublisherOutput, PublisherError> {
        if let Some(candidate) = self.levels.iter().position(|level| *level == UNSCORED) {
            return Err(PublisherError::Missing { candidate: candidate as u32 });
        }
        if self.state.failed > 0 && self.mechanism.failure == FailureRule::Abort {
            self.state.phase = PublisherPhase::Done;
            return Ok(PublisherOutput::Aborted);
        }
        self.state.phase = PublisherPhase::Charging;
        Ok(PublisherOutput::Charge(self.mechanism.events()))
    }

    /// Noise first, then permute-and-flip, then the chosen score; a failure of the source releases nothing.
    fn release<S: NoiseSource>(&mut self, source: &mut S) -> Result<PublisherOutput, PublisherError> {
        let noise = self.mechanism.laplace.draw_noise(source).map_err(PublisherError::Noise)?;
        let chosen = self
            .mechanism
            .selection
            .permute_and_flip(self.levels, self.order, source)
            .map_err(PublisherError::Selection)?;
        let candidate = *chosen.value();
        let released = self.mechanism.laplace.release(self.levels[candidate as usize], noise);
        self.state.phase = PublisherPhase::Done;
        let score = self.mechanism.scale.number(*released.value());
        Ok(PublisherOutput::Released { candidate, score, kind: released.kind() })
    }
}
