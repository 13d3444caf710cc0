//! The publisher: takes the score of every candidate, names the charge, releases one candidate and
//! its noised score.
//!
//! One release goes Scored … Scored → Close → Charge → Charged → Released. What was charged is
//! remembered, and what the scores are scores of: another mechanism releases nothing. Scores are
//! wiped on every way to the end.
//!
//! ```
//! use sordino_core::output::publisher::{Publisher, PublisherInput, PublisherOutput, PublisherState, Score};
//! use sordino_core::output::worst_case::{FailureRule, ScoreScale, WorstCase};
//! use sordino_core::privacy::{Epsilon, Simulated, charge::Unwritten};
//! # use sordino_core::random::Stream;
//!
//! // Three candidates, scored by how many of 1000 records they get right.
//! let (scale, epsilon) = (ScoreScale::per_record(1, 1000)?, Epsilon::new(1.0)?);
//! let mechanism = WorstCase::new(3, scale, epsilon, epsilon, FailureRule::Abort)?;
//! let (mut state, mut levels, mut order) = (PublisherState::new(), [0; 3], [0; 3]);
//! let mut publisher = Publisher::attach(&mechanism, &mut state, &mut levels, &mut order)?;
//! let source = &mut Simulated::new(Stream::from_seed(1)); // a deployment takes a `Secret`
//! for (candidate, right) in [(0, 500), (1, 900), (2, 600)] {
//!     publisher.handle(PublisherInput::Scored { candidate, score: Score::Sum(right) }, source)?;
//! }
//! let PublisherOutput::Charge(charge) = publisher.handle(PublisherInput::Close, source)? else { unreachable!() };
//! assert_eq!(charge.events(), mechanism.events());
//! let paid = publisher.handle(PublisherInput::Charged(Unwritten::receipt(charge)), source)?;
//! let PublisherOutput::Released { candidate, .. } = paid else { unreachable!() };
//! assert_eq!(*candidate.value(), 1); // the next best has probability e^(−150)
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::scale::Given;
use super::worst_case::{FailureRule, WorstCase};
use crate::parameter::{StateError, stored};
use crate::privacy::charge::{Charge, Receipt};
use crate::privacy::mechanism::selection::SelectionError;
use crate::privacy::{NoiseError, NoiseSource, Nonce, Provenance, Release};

/// Where a publisher stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PublisherPhase {
    /// Scores are collected.
    Collecting,
    /// The charge is being made durable.
    Charging,
    /// The result has left; or nothing will, because a candidate failed or the budget refused.
    Done,
}

impl PublisherPhase {
    const fn name(self) -> &'static str {
        match self {
            PublisherPhase::Collecting => "Collecting",
            PublisherPhase::Charging => "Charging",
            PublisherPhase::Done => "Done",
        }
    }
}

/// What a publisher is, apart from its numbers. Prints nothing that depends on the data. Not
/// `Clone`: two publishers that go on from one state would release twice from one charge.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct PublisherState {
    #[serde(deserialize_with = "charge_again")]
    phase: PublisherPhase,
    scored: u32,
    failed: u32,
    /// What the scores are scores of: [`WorstCase::id`] of the mechanism that took the first; 0
    /// before it.
    mechanism: u64,
    /// The release that is open, and the mechanism that was charged for it; another one, of the
    /// same ε or not, releases nothing. Never stored.
    #[serde(skip)]
    opened: Option<(Nonce, WorstCase)>,
}

impl fmt::Debug for PublisherState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PublisherState {{ phase: {:?}, scored: {} }}",
            self.phase, self.scored
        )
    }
}

/// A stored state may be older than a release made from it: a publisher that resumes between charge
/// and release is charged again.
fn charge_again<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<PublisherPhase, D::Error> {
    Ok(match PublisherPhase::deserialize(deserializer)? {
        PublisherPhase::Charging => PublisherPhase::Collecting,
        other => other,
    })
}

impl PublisherState {
    /// Before the first score.
    pub const fn new() -> Self {
        PublisherState {
            phase: PublisherPhase::Collecting,
            scored: 0,
            failed: 0,
            mechanism: 0,
            opened: None,
        }
    }

    /// The phase it is in.
    pub const fn phase(&self) -> PublisherPhase {
        self.phase
    }

    /// Every candidate is scored once, and until the result has left its score is in `levels`,
    /// within 0..=`level_max`. What is refused is told by counts alone.
    fn judge(&self, levels: &[i64], level_max: u64) -> Result<(), StateError> {
        let phase = self.phase.name();
        let candidates = levels.len() as u64;
        let scored = u64::from(self.scored);
        stored(phase, "number of scores", scored, 0..=candidates)?;
        stored(
            phase,
            "number of failures",
            u64::from(self.failed),
            0..=scored,
        )?;
        if self.phase == PublisherPhase::Done {
            return Ok(());
        }
        let there = levels.iter().filter(|level| **level != UNSCORED).count() as u64;
        stored(
            phase,
            "number of scores that are there",
            there,
            scored..=scored,
        )?;
        let strange =
            |level: &&i64| **level != UNSCORED && !(0..=level_max).contains(&level.cast_unsigned());
        stored(
            phase,
            "number of scores out of range",
            levels.iter().filter(strange).count() as u64,
            0..=0,
        )
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
#[derive(Clone, Copy, PartialEq)]
pub enum Score {
    /// A sum of integers over the records ([`super::ScoreScale::per_record`]); clamped to m·G.
    Sum(u64),
    /// A number ([`super::ScoreScale::promised_mean`], [`super::ScoreScale::opaque`]); clamped to
    /// the range. NaN is a failure.
    Number(f64),
    /// It crashed, ran out of time, or said nothing of use.
    Failed,
}

/// One thing that happens to a publisher. Prints its name, never a score.
#[derive(PartialEq)]
pub enum PublisherInput<P: Provenance> {
    /// The score of a candidate.
    Scored {
        /// Index of the candidate.
        candidate: u32,
        /// Its score, or that it has none.
        score: Score,
    },
    /// All candidates are scored. Said again while the charge is being written down, it names the
    /// charge again, for a ledger that failed.
    Close,
    /// The charge is durable, and here is the ledger's receipt: release.
    Charged(Receipt<P>),
    /// The budget refuses: nothing is drawn and nothing leaves.
    Skip,
}

impl<P: Provenance> fmt::Debug for PublisherInput<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PublisherInput::Scored { .. } => "Scored",
            PublisherInput::Close => "Close",
            PublisherInput::Charged(_) => "Charged",
            PublisherInput::Skip => "Skip",
        })
    }
}

/// What a publisher answers. `P` says how selection and noise were made.
#[derive(Debug, PartialEq)]
pub enum PublisherOutput<P: Provenance> {
    /// Nothing yet. The same whatever the score was.
    Wait,
    /// Let a ledger write down both events ([`crate::privacy::Ledger::append`]) and answer
    /// [`PublisherInput::Charged`] with its receipt.
    Charge(Charge<P>),
    /// The release, and all of it.
    Released {
        /// The chosen candidate.
        candidate: Release<u32, P>,
        /// Its noised score.
        score: Release<f64, P>,
    },
    /// Nothing is released: a candidate failed and the public rule says abort.
    Aborted,
    /// Nothing is released: the budget refused.
    Closed,
}

/// Why a publisher refused. Nothing left, and its state is as before unless the variant says
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PublisherError {
    /// The input does not belong to the phase.
    UnexpectedInput(PublisherPhase),
    /// A candidate that does not exist, or was scored before.
    Candidate {
        /// Index of the candidate as given.
        candidate: u32,
        /// Number of candidates.
        candidates: u32,
    },
    /// A number where the scale takes sums over records, or a sum where it takes numbers.
    Kind {
        /// Index of the candidate.
        candidate: u32,
    },
    /// A candidate is not scored yet.
    Missing {
        /// Index of the candidate.
        candidate: u32,
    },
    /// A slice of the wrong length.
    Storage {
        /// Length of the slice given.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// The mechanism costs something else than what was charged.
    OtherMechanism,
    /// A receipt for something else. It is spent; close again to name the charge again.
    OtherReceipt,
    /// A stored state that no publisher of this mechanism can be in, or whose scores are not there.
    State(StateError),
    /// The selection refused, or its source ran dry: the publisher is done and the charge stays.
    /// How many words a selection draws depends on the scores, so trying again until it succeeds
    /// would choose among releases.
    Selection(SelectionError),
    /// No noise: the publisher is done and the charge stays. At `Close`: no name for the opening,
    /// and nothing changed.
    Noise(NoiseError),
}

impl fmt::Display for PublisherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublisherError::UnexpectedInput(phase) => {
                write!(f, "the input does not belong to phase {phase:?}")
            }
            PublisherError::Candidate {
                candidate,
                candidates,
            } => {
                write!(
                    f,
                    "candidate {candidate} of {candidates} does not exist or was scored before"
                )
            }
            PublisherError::Kind { candidate } => {
                write!(
                    f,
                    "candidate {candidate} is scored by a sum where the scale takes numbers, or the reverse"
                )
            }
            PublisherError::Missing { candidate } => {
                write!(f, "candidate {candidate} is not scored yet")
            }
            PublisherError::Storage { found, expected } => {
                write!(f, "storage of {found}, {expected} needed")
            }
            PublisherError::OtherMechanism => {
                f.write_str("the mechanism costs something else than what was charged")
            }
            PublisherError::OtherReceipt => {
                f.write_str("a receipt for something else than this release")
            }
            PublisherError::State(error) => error.fmt(f),
            PublisherError::Selection(error) => error.fmt(f),
            PublisherError::Noise(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PublisherError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            PublisherError::State(error) => error.source(),
            PublisherError::Selection(error) => error.source(),
            PublisherError::Noise(error) => error.source(),
            _ => None,
        }
    }
}

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
    /// **Errors**: [`PublisherError::Storage`], [`PublisherError::State`];
    /// [`PublisherError::OtherMechanism`] if its scores were taken by another one.
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
        state
            .judge(levels, mechanism.scale.levels)
            .map_err(PublisherError::State)?;
        if state.scored > 0 && state.mechanism != mechanism.id() {
            return Err(PublisherError::OtherMechanism);
        }
        Ok(Publisher {
            mechanism,
            state,
            levels,
            order,
        })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &PublisherState {
        self.state
    }

    /// One step of the machine: one input in, one output out.
    ///
    /// **Errors**: [`PublisherError`]; nothing left then, and nothing changed unless the variant
    /// says so.
    pub fn handle<S: NoiseSource>(
        &mut self,
        input: PublisherInput<S::Provenance>,
        source: &mut S,
    ) -> Result<PublisherOutput<S::Provenance>, PublisherError> {
        match (self.state.phase, input) {
            (PublisherPhase::Collecting, PublisherInput::Scored { candidate, score }) => {
                self.score(candidate, score)?;
                Ok(PublisherOutput::Wait)
            }
            (PublisherPhase::Collecting | PublisherPhase::Charging, PublisherInput::Close) => {
                self.close(source)
            }
            (PublisherPhase::Charging, PublisherInput::Charged(receipt)) => {
                self.release(&receipt, source)
            }
            (PublisherPhase::Charging, PublisherInput::Skip) => {
                self.state.phase = PublisherPhase::Done;
                self.wipe();
                Ok(PublisherOutput::Closed)
            }
            (phase, _) => Err(PublisherError::UnexpectedInput(phase)),
        }
    }

    fn score(&mut self, candidate: u32, score: Score) -> Result<(), PublisherError> {
        let scale = &self.mechanism.scale;
        let level = match (score, scale.given) {
            (Score::Sum(sum), Given::Sum) => Some(sum.min(scale.levels) as i64),
            (Score::Number(number), Given::Number) => scale.level(number),
            (Score::Failed, _) => None,
            (Score::Sum(_) | Score::Number(_), _) => {
                return Err(PublisherError::Kind { candidate });
            }
        };
        match self.levels.get_mut(candidate as usize) {
            Some(place) if *place == UNSCORED => *place = level.unwrap_or(0),
            _ => {
                return Err(PublisherError::Candidate {
                    candidate,
                    candidates: self.mechanism.candidates,
                });
            }
        }
        self.state.mechanism = self.mechanism.id();
        self.state.scored += 1;
        self.state.failed += u32::from(level.is_none());
        Ok(())
    }

    fn close<S: NoiseSource>(
        &mut self,
        source: &mut S,
    ) -> Result<PublisherOutput<S::Provenance>, PublisherError> {
        if let Some(candidate) = self.levels.iter().position(|level| *level == UNSCORED) {
            return Err(PublisherError::Missing {
                candidate: candidate as u32,
            });
        }
        if self.state.failed > 0 && self.mechanism.failure == FailureRule::Abort {
            self.state.phase = PublisherPhase::Done;
            self.wipe();
            return Ok(PublisherOutput::Aborted);
        }
        let events = self.mechanism.events();
        let nonce = match self.state.opened {
            Some((nonce, charged)) if charged == *self.mechanism => nonce,
            _ => source.nonce().map_err(PublisherError::Noise)?,
        };
        self.state.phase = PublisherPhase::Charging;
        self.state.opened = Some((nonce, *self.mechanism));
        Ok(PublisherOutput::Charge(Charge::all(nonce, 0, &events)))
    }

    /// Noise first, then permute-and-flip, then the chosen score; a failure of the source releases
    /// nothing.
    fn release<S: NoiseSource>(
        &mut self,
        receipt: &Receipt<S::Provenance>,
        source: &mut S,
    ) -> Result<PublisherOutput<S::Provenance>, PublisherError> {
        let events = self.mechanism.events();
        let Some((nonce, _)) = self
            .state
            .opened
            .filter(|(_, charged)| charged == self.mechanism)
        else {
            return Err(PublisherError::OtherMechanism);
        };
        if !receipt.pays(nonce, &events) {
            return Err(PublisherError::OtherReceipt);
        }
        self.state.phase = PublisherPhase::Done;
        self.state.opened = None;
        let released = self.draw(source);
        self.wipe();
        released
    }

    fn draw<S: NoiseSource>(
        &mut self,
        source: &mut S,
    ) -> Result<PublisherOutput<S::Provenance>, PublisherError> {
        let noise = self
            .mechanism
            .laplace
            .draw_noise(source)
            .map_err(PublisherError::Noise)?;
        let candidate = self
            .mechanism
            .selection
            .permute_and_flip(self.levels, self.order, source)
            .map_err(PublisherError::Selection)?;
        let level = self.levels[*candidate.value() as usize];
        let score = self
            .mechanism
            .laplace
            .release(level, noise)
            .map(|level| self.mechanism.scale.number(level));
        Ok(PublisherOutput::Released { candidate, score })
    }

    /// Scores do not outlive their release, whatever became of it.
    fn wipe(&mut self) {
        self.levels.zeroize();
        self.order.zeroize();
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::ScoreScale;
    use super::*;
    use crate::privacy::Epsilon;

    /// A charge names ε alone. Before the mend a mechanism of another scale passed for the charged
    /// one: scores of which one record may move the whole range left under the noise of a mean over
    /// 256 records.
    #[test]
    fn scores_of_one_scale_do_not_leave_under_another() {
        let e = Epsilon::new(1.0).unwrap();
        let of = |scale: ScoreScale| WorstCase::new(2, scale, e, e, FailureRule::Abort).unwrap();
        let opaque = of(ScoreScale::opaque(0.0, 1.0).unwrap());
        let mean = of(ScoreScale::promised_mean(0.0, 1.0, 256).unwrap());
        let mut state = PublisherState::new();
        let mut levels = [0; 2];
        let mut order = [0; 2];
        let source = &mut crate::random::Simulated::new(crate::random::Stream::from_seed(1));
        let mut publisher =
            Publisher::attach(&opaque, &mut state, &mut levels, &mut order).unwrap();
        for (candidate, score) in [(0, 0.75), (1, 0.25)] {
            publisher
                .handle(
                    PublisherInput::Scored {
                        candidate,
                        score: Score::Number(score),
                    },
                    source,
                )
                .unwrap();
        }
        let Ok(PublisherOutput::Charge(charge)) = publisher.handle(PublisherInput::Close, source)
        else {
            panic!()
        };
        let receipt = crate::privacy::charge::Unwritten::receipt(charge);
        let other = Publisher::attach(&mean, &mut state, &mut levels, &mut order).err();
        assert_eq!(other, Some(PublisherError::OtherMechanism));
        // Stored and read back, too.
        let bytes = postcard::to_slice(&state, &mut [0; 32]).unwrap().to_vec();
        let mut stored: PublisherState = postcard::from_bytes(&bytes).unwrap();
        let other = Publisher::attach(&mean, &mut stored, &mut levels, &mut order).err();
        assert_eq!(other, Some(PublisherError::OtherMechanism));
        // Negative control: the mechanism that was charged releases, and the scores are wiped.
        let mut publisher =
            Publisher::attach(&opaque, &mut state, &mut levels, &mut order).unwrap();
        let released = publisher.handle(PublisherInput::Charged(receipt), source);
        assert!(
            matches!(released, Ok(PublisherOutput::Released { .. })),
            "{released:?}"
        );
        assert_eq!(levels, [0; 2]);
    }

    /// Before the mend scores stayed in the caller's memory when nothing was released.
    #[test]
    fn scores_are_wiped_whatever_became_of_the_release() {
        let e = Epsilon::new(1.0).unwrap();
        let mechanism = WorstCase::new(
            2,
            ScoreScale::opaque(0.0, 1.0).unwrap(),
            e,
            e,
            FailureRule::Abort,
        )
        .unwrap();
        for failed in [true, false] {
            let mut state = PublisherState::new();
            let mut levels = [0; 2];
            let mut order = [0; 2];
            let source = &mut crate::random::Simulated::new(crate::random::Stream::from_seed(1));
            let mut publisher =
                Publisher::attach(&mechanism, &mut state, &mut levels, &mut order).unwrap();
            for candidate in 0..2 {
                let score = if failed && candidate == 1 {
                    Score::Failed
                } else {
                    Score::Number(0.75)
                };
                publisher
                    .handle(PublisherInput::Scored { candidate, score }, source)
                    .unwrap();
            }
            let closed = publisher.handle(PublisherInput::Close, source).unwrap();
            if !failed {
                assert!(matches!(closed, PublisherOutput::Charge(_)));
                publisher.handle(PublisherInput::Skip, source).unwrap();
            }
            assert_eq!((state.phase(), levels), (PublisherPhase::Done, [0; 2]));
        }
    }
}
