//! The reporter: a user's device that perturbs its own reward before anything leaves it.
//!
//! One query goes Query → Charge → Charged → Evaluate → Reward → Report. The budget is charged
//! before the reward even exists, and the device's ledger gives a receipt for it: an append-only
//! log, or the stored state itself, in which the query is charged already. The state that is stored
//! never holds a reward. A device that fails in between has paid for nothing: never too little.
//! What was charged is remembered: another mechanism than the charged one is refused.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::math::Scalar;
use crate::parameter::{StateError, stored};
use crate::privacy::charge::{Charge, Receipt};
use crate::privacy::epsilon::{PureBudget, UserBudgetError};
use crate::privacy::event::Release;
use crate::privacy::mechanism::laplace::ClampedLaplace;
use crate::privacy::{Epsilon, NoiseError, NoiseSource, Nonce, Provenance};
use crate::snapshot::{self, varint_max};

/// Where a reporter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReporterPhase {
    /// No query is being answered.
    Idle,
    /// The charge is to be made durable.
    Charging,
    /// The reward is being observed.
    Evaluating,
}

/// What a reporter is: a few words, and no reward. Not `Clone`: a budget charged in a copy would be
/// charged nowhere.
///
/// A stored one is judged when it is read: more reports than the budget can have paid for, or a
/// budget that is not an ε, are a [`StateError`]. Zeroed flash reads as a budget of 0, which admits
/// nothing.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct ReporterState {
    user: u32,
    budget: PureBudget,
    phase: ReporterPhase,
    candidate: u32,
    reports: u32,
    /// The query that is open, and what it was charged. Never stored.
    #[serde(skip)]
    opened: Option<(Nonce, Epsilon)>,
}

/// The stored form.
#[derive(Deserialize)]
struct Stored {
    user: u32,
    budget: PureBudget,
    phase: ReporterPhase,
    candidate: u32,
    reports: u32,
}

impl TryFrom<Stored> for ReporterState {
    type Error = StateError;

    /// A stored state may be older than a report made from it: a reporter that resumes must be
    /// asked, and is charged, again.
    fn try_from(state: Stored) -> Result<Self, StateError> {
        let Stored {
            user,
            budget,
            phase,
            candidate,
            reports,
        } = state;
        // The least that a report costs is one unit of 2⁻²⁰; both products are exact.
        let units = |epsilon: f64| (epsilon * Epsilon::DENOMINATOR as f64) as u64;
        stored(
            phase.name(),
            "number of reports",
            u64::from(reports),
            0..=units(budget.spent()),
        )?;
        stored(
            phase.name(),
            "budget left (of 2^-20)",
            units(budget.left()),
            0..=256 * Epsilon::DENOMINATOR,
        )?;
        Ok(ReporterState {
            user,
            budget,
            phase: ReporterPhase::Idle,
            candidate,
            reports,
            opened: None,
        })
    }
}

impl snapshot::Stored for ReporterState {
    const KIND: u8 = 0xb1;
    // User, spent, budget, phase, candidate, reports.
    const BODY_MAX: usize = varint_max(32) + 2 * varint_max(64) + 1 + 2 * varint_max(32);
}

impl ReporterPhase {
    const fn name(self) -> &'static str {
        match self {
            ReporterPhase::Idle => "Idle",
            ReporterPhase::Charging => "Charging",
            ReporterPhase::Evaluating => "Evaluating",
        }
    }
}

impl ReporterState {
    /// User `user` with a budget that all reports of this person share, to any learner.
    pub const fn new(user: u32, epsilon_max: Epsilon) -> Self {
        ReporterState {
            user,
            budget: PureBudget::new(epsilon_max),
            phase: ReporterPhase::Idle,
            candidate: 0,
            reports: 0,
            opened: None,
        }
    }

    /// Identifier of the user.
    pub const fn user(&self) -> u32 {
        self.user
    }

    /// The budget: what is spent, and what is left.
    pub const fn budget(&self) -> &PureBudget {
        &self.budget
    }

    /// The phase it is in.
    pub const fn phase(&self) -> ReporterPhase {
        self.phase
    }

    /// Number of reports that have left.
    pub const fn reports(&self) -> u32 {
        self.reports
    }
}

/// One thing that happens to a reporter. Prints its name, never a reward.
#[derive(PartialEq)]
pub enum ReporterInput<T, P: Provenance> {
    /// The learner asks for the reward of this candidate. Said again while the charge is being
    /// written down, it names the charge again, for a ledger that failed, and takes nothing more
    /// from the budget.
    Query {
        /// Index of the candidate to evaluate.
        candidate: u32,
    },
    /// The charge is durable, and here is the ledger's receipt.
    Charged(Receipt<P>),
    /// The reward that was observed. NaN counts as the public value 0, anything else is clamped.
    Reward(T),
}

impl<T, P: Provenance> ReporterInput<T, P> {
    const fn name(&self) -> &'static str {
        match self {
            ReporterInput::Query { .. } => "Query",
            ReporterInput::Charged(_) => "Charged",
            ReporterInput::Reward(_) => "Reward",
        }
    }
}

impl<T, P: Provenance> fmt::Debug for ReporterInput<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a reporter wants next.
#[derive(Debug)]
pub enum ReporterOutput<T, S: NoiseSource> {
    /// Let a ledger write this down, or make the reporter's state durable, in which it is charged
    /// already ([`crate::privacy::Ledger`]), and answer [`ReporterInput::Charged`] with the
    /// receipt.
    Charge(Charge<S::Provenance>),
    /// Observe the reward of this candidate and answer [`ReporterInput::Reward`].
    Evaluate {
        /// Index of the candidate to evaluate.
        candidate: u32,
    },
    /// Send this to the learner.
    Report(Release<T, S::Provenance>),
}

/// Why a reporter refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReporterError {
    /// The input does not belong to the phase. Nothing changed.
    UnexpectedInput {
        /// Where the reporter stands.
        phase: ReporterPhase,
        /// Name of the input.
        input: &'static str,
    },
    /// The user's budget does not hold another report. Nothing was charged or observed.
    Budget(UserBudgetError),
    /// No noise could be made. Nothing left; the charge stays.
    Noise(NoiseError),
    /// A receipt for another query. Nothing changed; the receipt is spent.
    OtherReceipt,
    /// The mechanism is not the one that was charged. Nothing changed.
    OtherMechanism {
        /// The ε that was charged.
        charged: f64,
        /// The one of the mechanism.
        epsilon: f64,
    },
}

impl fmt::Display for ReporterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReporterError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            ReporterError::Budget(error) => write!(f, "{error}"),
            ReporterError::Noise(error) => write!(f, "{error}"),
            ReporterError::OtherReceipt => f.write_str("a receipt for another query"),
            ReporterError::OtherMechanism { charged, epsilon } => {
                write!(
                    f,
                    "epsilon {charged} was charged, the mechanism spends {epsilon}"
                )
            }
        }
    }
}

impl core::error::Error for ReporterError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ReporterError::Budget(error) => error.source(),
            ReporterError::Noise(error) => error.source(),
            _ => None,
        }
    }
}

/// A reporter at work: mechanism and state, both borrowed.
///
/// **Privacy**: exact pure ε per report under replacing this user's reward by any other
/// ([`ClampedLaplace`]); k reports of one user cost k·ε. Not protected: that the user takes part,
/// the candidate, the time.
///
/// ```
/// use sordino_core::local::*;
/// use sordino_core::privacy::{Epsilon, Ledger, Simulated, charge::Unwritten, mechanism::laplace::ClampedLaplace};
/// use sordino_core::random::Stream;
/// let one = Epsilon::new(1.0)?;
/// let mechanism = ClampedLaplace::new(1.0 + 0.5, 20, one)?; // B + R
/// let mut state = ReporterState::new(7, one);
/// let mut reporter = Reporter::attach(&mechanism, &mut state);
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// let ReporterOutput::Charge(charge) = reporter.handle::<f32, _>(ReporterInput::Query { candidate: 3 }, source)? else { panic!() };
/// let receipt = Unwritten.append(charge)?; // a device's own ledger: what it wrote survives a reset
/// assert!(matches!(reporter.handle::<f32, _>(ReporterInput::Charged(receipt), source)?, ReporterOutput::Evaluate { candidate: 3 }));
/// let ReporterOutput::Report(report) = reporter.handle(ReporterInput::Reward(0.8f32), source)? else { panic!() };
/// assert!(report.value().is_finite() && state.budget().left() == 0.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reporter<'a> {
    mechanism: &'a ClampedLaplace,
    state: &'a mut ReporterState,
}

impl<'a> Reporter<'a> {
    /// Joins a state with the public mechanism.
    pub fn attach(mechanism: &'a ClampedLaplace, state: &'a mut ReporterState) -> Self {
        Reporter { mechanism, state }
    }

    /// One step of the machine: one input in, one output out. Words are drawn from `source` at
    /// `Query`, for the name of the opening, and at `Reward`, for the noise.
    ///
    /// **Errors**: [`ReporterError`].
    pub fn handle<T: Scalar, S: NoiseSource>(
        &mut self,
        input: ReporterInput<T, S::Provenance>,
        source: &mut S,
    ) -> Result<ReporterOutput<T, S>, ReporterError> {
        let own = self.mechanism.mechanism().epsilon();
        if let Some((_, charged)) = self.state.opened.filter(|(_, charged)| *charged != own) {
            return Err(ReporterError::OtherMechanism {
                charged: charged.value(),
                epsilon: own.value(),
            });
        }
        match (self.state.phase, input) {
            (ReporterPhase::Idle, ReporterInput::Query { candidate }) => {
                let nonce = source.nonce().map_err(ReporterError::Noise)?;
                self.charge()?;
                self.state.candidate = candidate;
                self.state.opened = Some((nonce, own));
                self.state.phase = ReporterPhase::Charging;
                Ok(ReporterOutput::Charge(self.named(nonce)))
            }
            (ReporterPhase::Charging, input) => match (self.state.opened, input) {
                (Some((nonce, _)), ReporterInput::Query { candidate })
                    if candidate == self.state.candidate =>
                {
                    Ok(ReporterOutput::Charge(self.named(nonce)))
                }
                (Some((nonce, _)), ReporterInput::Charged(receipt)) => {
                    if !receipt.pays(nonce, &[self.mechanism.event()]) {
                        return Err(ReporterError::OtherReceipt);
                    }
                    self.state.phase = ReporterPhase::Evaluating;
                    Ok(ReporterOutput::Evaluate {
                        candidate: self.state.candidate,
                    })
                }
                (_, input) => Err(self.unexpected(&input)),
            },
            (ReporterPhase::Evaluating, ReporterInput::Reward(reward)) => {
                // Whatever becomes of the noise, this query is over.
                self.state.phase = ReporterPhase::Idle;
                self.state.opened = None;
                let release = self
                    .mechanism
                    .privatize(reward, source)
                    .map_err(ReporterError::Noise)?;
                self.state.reports += 1;
                Ok(ReporterOutput::Report(release))
            }
            (_, input) => Err(self.unexpected(&input)),
        }
    }

    fn named<P: Provenance>(&self, nonce: Nonce) -> Charge<P> {
        Charge::one(nonce, u64::from(self.state.reports), self.mechanism.event())
    }

    fn unexpected<T, P: Provenance>(&self, input: &ReporterInput<T, P>) -> ReporterError {
        ReporterError::UnexpectedInput {
            phase: self.state.phase,
            input: input.name(),
        }
    }

    fn charge(&mut self) -> Result<(), ReporterError> {
        let epsilon = self.mechanism.mechanism().epsilon();
        let user = self.state.user;
        self.state.budget.charge(epsilon).map_err(|error| {
            ReporterError::Budget(match error {
                UserBudgetError::Exhausted { epsilon_left, .. } => {
                    UserBudgetError::Exhausted { user, epsilon_left }
                }
                UserBudgetError::UnknownUser(_) => UserBudgetError::UnknownUser(user),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::privacy::charge::Ledger;
    use crate::privacy::charge::tests::InMemory;
    use crate::random::source::tests::Failing;
    use crate::random::{Secret, Simulated, Stream};

    fn paid<T: core::fmt::Debug, S: NoiseSource>(
        output: ReporterOutput<T, S>,
    ) -> ReporterInput<T, S::Provenance> {
        match output {
            ReporterOutput::Charge(charge) => match InMemory::default().append(charge) {
                Ok(receipt) => ReporterInput::Charged(receipt),
                Err(never) => match never {},
            },
            _ => panic!("a query is charged"),
        }
    }

    fn bytes(state: &ReporterState) -> std::vec::Vec<u8> {
        postcard::to_slice(state, &mut [0; 64]).unwrap().to_vec()
    }

    fn mechanism() -> ClampedLaplace {
        ClampedLaplace::new(2.0, 16, Epsilon::new(0.5).unwrap()).unwrap()
    }

    #[test]
    fn stored_reports_were_paid_for() {
        let stored = |spent: u64, reports: u32| {
            let mut bytes = [0u8; 40];
            let state = (
                7u32,
                (spent, 1u64 << 20),
                ReporterPhase::Evaluating,
                3u32,
                reports,
            );
            let used = postcard::to_slice(&state, &mut bytes).unwrap().len();
            postcard::from_bytes::<ReporterState>(&bytes[..used])
        };
        let back = stored(1 << 19, 1).unwrap();
        assert_eq!(
            (back.phase(), back.reports(), back.budget().left()),
            (ReporterPhase::Idle, 1, 0.5)
        );
        assert!(
            stored(0, 0).is_ok()
                && stored(1000, 1000).is_ok()
                && stored(999, 1000).is_err()
                && stored(0, 1).is_err()
        );
    }

    #[test]
    fn the_budget_is_charged_first_and_refuses_last() {
        let mechanism = mechanism();
        let mut state = ReporterState::new(9, Epsilon::new(1.0).unwrap());
        let source = &mut Simulated::new(Stream::from_seed(3));
        for spent in [0.5, 1.0] {
            let mut reporter = Reporter::attach(&mechanism, &mut state);
            let output = reporter
                .handle::<f64, _>(ReporterInput::Query { candidate: 4 }, source)
                .unwrap();
            assert!(
                matches!(&output, ReporterOutput::Charge(charge) if charge.events() == [mechanism.event()])
            );
            assert_eq!(reporter.state.budget.spent(), spent);
            assert!(
                reporter.handle(ReporterInput::Reward(1.0), source).is_err(),
                "a reward before the charge"
            );
            let output = reporter.handle::<f64, _>(paid(output), source).unwrap();
            assert!(matches!(output, ReporterOutput::Evaluate { candidate: 4 }));
            // NaN is the public value 0; the report is finite.
            match reporter
                .handle(ReporterInput::Reward(f64::NAN), source)
                .unwrap()
            {
                ReporterOutput::Report(release) => assert!(release.value().is_finite()),
                other => panic!("{other:?}"),
            }
        }
        let before = bytes(&state);
        let refused = Reporter::attach(&mechanism, &mut state)
            .handle::<f64, _>(ReporterInput::Query { candidate: 1 }, source);
        let exhausted = UserBudgetError::Exhausted {
            user: 9,
            epsilon_left: 0.0,
        };
        assert_eq!(refused.unwrap_err(), ReporterError::Budget(exhausted));
        assert_eq!((bytes(&state), state.reports()), (before, 2));
    }

    /// Two learners that share one user's state: what the first was charged does not pay the
    /// second's report.
    #[test]
    fn a_report_costs_what_was_charged() {
        let cheap = mechanism();
        let dear = ClampedLaplace::new(2.0, 16, Epsilon::new(8.0).unwrap()).unwrap();
        let mut state = ReporterState::new(1, Epsilon::new(1.0).unwrap());
        let source = &mut Simulated::new(Stream::from_seed(5));
        let query = || ReporterInput::Query { candidate: 0 };
        let asked = Reporter::attach(&cheap, &mut state)
            .handle::<f64, _>(query(), source)
            .unwrap();
        let again = Reporter::attach(&cheap, &mut state)
            .handle::<f64, _>(query(), source)
            .unwrap();
        assert_eq!(
            state.budget().spent(),
            0.5,
            "a ledger that failed is asked again, the budget is not charged twice"
        );
        let other = ReporterError::OtherMechanism {
            charged: 0.5,
            epsilon: 8.0,
        };
        for (wrong, right) in [
            (paid(asked), paid(again)),
            (ReporterInput::Reward(1.0), ReporterInput::Reward(1.0)),
        ] {
            let before = bytes(&state);
            assert_eq!(
                Reporter::attach(&dear, &mut state)
                    .handle(wrong, source)
                    .unwrap_err(),
                other
            );
            assert_eq!(bytes(&state), before);
            Reporter::attach(&cheap, &mut state)
                .handle(right, source)
                .unwrap();
        }
        assert_eq!((state.reports(), state.budget().spent()), (1, 0.5));
        assert_eq!(
            std::format!(
                "{:?}",
                ReporterInput::<f64, crate::random::Simulation>::Reward(0.123)
            ),
            "Reward"
        );
    }

    /// A receipt pays the query it was made for: not one of another user, not a later one of the
    /// same.
    #[test]
    fn a_receipt_serves_one_query() {
        let mechanism = mechanism();
        let source = &mut Simulated::new(Stream::from_seed(5));
        let other = &mut Simulated::new(Stream::from_seed(6));
        let mut one = ReporterState::new(1, Epsilon::new(1.0).unwrap());
        let mut two = ReporterState::new(2, Epsilon::new(1.0).unwrap());
        let query = || ReporterInput::Query { candidate: 0 };
        let first = Reporter::attach(&mechanism, &mut one)
            .handle::<f64, _>(query(), source)
            .unwrap();
        let second = Reporter::attach(&mechanism, &mut two)
            .handle::<f64, _>(query(), other)
            .unwrap();
        let refused = Reporter::attach(&mechanism, &mut two)
            .handle(paid(first), other)
            .unwrap_err();
        assert_eq!(
            (refused, two.phase()),
            (ReporterError::OtherReceipt, ReporterPhase::Charging)
        );
        Reporter::attach(&mechanism, &mut two)
            .handle(paid(second), other)
            .unwrap();
        // A state that was stored while it was charging must be asked again, and an old receipt
        // pays nothing there.
        let old = Reporter::attach(&mechanism, &mut one)
            .handle::<f64, _>(query(), source)
            .unwrap();
        let mut restored: ReporterState = postcard::from_bytes(&bytes(&one)).unwrap();
        let refused = Reporter::attach(&mechanism, &mut restored)
            .handle(paid(old), source)
            .unwrap_err();
        assert!(
            matches!(
                refused,
                ReporterError::UnexpectedInput {
                    phase: ReporterPhase::Idle,
                    ..
                }
            ),
            "{refused:?}"
        );
    }

    #[test]
    fn without_entropy_nothing_leaves_and_the_charge_stays() {
        let mechanism = mechanism();
        let mut state = ReporterState::new(0, Epsilon::new(1.0).unwrap());
        let query = || ReporterInput::Query { candidate: 0 };
        let mut dry = Secret::new(Failing {
            left: 1,
            inner: Stream::from_seed(1),
        });
        let refused = Reporter::attach(&mechanism, &mut state)
            .handle::<f64, _>(query(), &mut dry)
            .unwrap_err();
        assert_eq!(
            (refused, state.budget().spent()),
            (ReporterError::Noise(NoiseError::Entropy), 0.0)
        );
        let mut source = Secret::new(Failing {
            left: 2,
            inner: Stream::from_seed(1),
        });
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        let asked = reporter.handle::<f64, _>(query(), &mut source).unwrap();
        reporter.handle::<f64, _>(paid(asked), &mut source).unwrap();
        let error = reporter
            .handle(ReporterInput::Reward(0.0), &mut source)
            .unwrap_err();
        assert_eq!(error, ReporterError::Noise(NoiseError::Entropy));
        assert_eq!(
            (state.phase(), state.reports(), state.budget().spent()),
            (ReporterPhase::Idle, 0, 0.5)
        );
    }
}
