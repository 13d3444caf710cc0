//! The reporter: a user's device that perturbs the own reward before anything leaves it.
//!
//! One query goes Query → Charge → Charged → Evaluate → Reward → Report. The budget is charged before the reward even
//! exists, so that a host can make the charge durable first, and the state that is stored never holds a reward. A
//! device that fails in between has paid for nothing: never too little. What was charged is remembered: another
//! mechanism than the charged one is refused.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::math::Scalar;
use crate::privacy::epsilon::{PureBudget, UserBudgetError};
use crate::privacy::event::{Event, Release};
use crate::privacy::mechanism::laplace::ClampedLaplace;
use crate::privacy::{Epsilon, NoiseError, NoiseSource};

/// Where a reporter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReporterPhase {
    /// Nothing is asked.
    Idle,
    /// The charge is to be made durable.
    Charging,
    /// The reward is being observed.
    Evaluating,
}

/// What a reporter is: a few words, and no reward. Neither `Copy` nor `Clone`: a budget charged in a copy would be
/// charged nowhere.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct ReporterState {
    user: u32,
    budget: PureBudget,
    phase: ReporterPhase,
    candidate: u32,
    reports: u32,
    /// What the query that is open was charged.
    #[serde(skip)]
    charged: Option<Epsilon>,
}

/// What a reporter is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    user: u32,
    budget: PureBudget,
    #[serde(rename = "phase")]
    _phase: ReporterPhase,
    candidate: u32,
    reports: u32,
}

/// A stored reporter that sent more reports than its budget was charged for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredReporterError {
    /// Reports that left; each costs 2⁻²⁰ at least.
    pub reports: u32,
    /// ε spent.
    pub spent: f64,
}

impl fmt::Display for StoredReporterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reports cannot have cost epsilon {}: each costs 2^-20 at least", self.reports, self.spent)
    }
}

impl core::error::Error for StoredReporterError {}

impl TryFrom<Stored> for ReporterState {
    type Error = StoredReporterError;

    /// A stored state may be older than a report made from it: a reporter that resumes must be asked, and is charged,
    /// again. So the phase that was stored is not taken over.
    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { user, budget, candidate, reports, .. } = stored;
        let spent = budget.spent();
        if spent * (Epsilon::DENOMINATOR as f64) < f64::from(reports) {
            return Err(StoredReporterError { reports, spent });
        }
        Ok(ReporterState { user, budget, phase: ReporterPhase::Idle, candidate, reports, charged: None })
    }
}

impl ReporterState {
    /// User `user` with a budget that all reports of this person share, whoever asks for them.
    pub const fn new(user: u32, epsilon_max: Epsilon) -> Self {
        ReporterState {
            user,
            budget: PureBudget::new(epsilon_max),
            phase: ReporterPhase::Idle,
            candidate: 0,
            reports: 0,
            charged: None,
        }
    }

    /// The user's id.
    pub const fn user(&self) -> u32 {
        self.user
    }

    /// What is spent and left.
    pub const fn budget(&self) -> &PureBudget {
        &self.budget
    }

    /// Where it stands.
    pub const fn phase(&self) -> ReporterPhase {
        self.phase
    }

    /// Reports that left.
    pub const fn reports(&self) -> u32 {
        self.reports
    }
}

/// One thing that happens to a reporter. Prints its name, never a reward.
#[derive(Clone, Copy, PartialEq)]
pub enum ReporterInput<T> {
    /// The learner asks for the reward of this candidate.
    Query {
        /// Its index.
        candidate: u32,
    },
    /// The charge is durable.
    Charged,
    /// The reward that was observed. NaN counts as the public value 0, anything else is clamped.
    Reward(T),
}

impl<T> ReporterInput<T> {
    const fn name(&self) -> &'static str {
        match self {
            ReporterInput::Query { .. } => "Query",
            ReporterInput::Charged => "Charged",
            ReporterInput::Reward(_) => "Reward",
        }
    }
}

impl<T> fmt::Debug for ReporterInput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a reporter wants next.
#[derive(Debug)]
pub enum ReporterOutput<T, S: NoiseSource> {
    /// Make the reporter's state durable, in which this is charged already, then answer [`ReporterInput::Charged`].
    Charge(Event),
    /// Observe the reward of this candidate and answer [`ReporterInput::Reward`].
    Evaluate {
        /// Its index.
        candidate: u32,
    },
    /// Send this to the learner.
    Report(Release<T, S::Provenance>),
}

/// Why a reporter refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReporterError {
    /// The input does not belong to the phase. Nothing changed.
    UnexpectedInput {
        /// Where the reporter stands.
        phase: ReporterPhase,
        /// What it was given.
        input: &'static str,
    },
    /// The user's budget does not hold another report. Nothing was charged or observed.
    Budget(UserBudgetError),
    /// No noise could be made. Nothing left; the charge stays.
    Noise(NoiseError),
    /// The mechanism is not the one that was charged. Nothing changed.
    OtherMechanism {
        /// The ε that was charged.
        charged: f64,
        /// That of the mechanism.
        epsilon: f64,
    },
}

impl fmt::Display for ReporterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReporterError::UnexpectedInput { phase, input } => write!(f, "{input} does not belong to phase {phase:?}"),
            ReporterError::Budget(error) => write!(f, "{error}"),
            ReporterError::Noise(error) => write!(f, "{error}"),
            ReporterError::OtherMechanism { charged, epsilon } => {
                write!(f, "epsilon {charged} was charged, the mechanism spends {epsilon}")
            }
        }
    }
}

impl core::error::Error for ReporterError {}

/// A reporter at work: mechanism and state, both borrowed.
///
/// **Privacy**: exact pure ε per report under replacing this user's reward by any other
/// ([`ClampedLaplace`]); k reports of one user cost k·ε. Not protected: that the user takes part, the candidate, the
/// time.
///
/// ```
/// use sordino_core::local::*;
/// use sordino_core::privacy::{Epsilon, Simulated, mechanism::laplace::ClampedLaplace};
/// use sordino_core::random::Stream;
/// let one = Epsilon::new(1.0)?;
/// let mechanism = ClampedLaplace::new(1.0 + 0.5, 20, one)?; // B + R
/// let mut state = ReporterState::new(7, one);
/// let mut reporter = Reporter::attach(&mechanism, &mut state);
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// assert!(matches!(reporter.handle::<f32, _>(ReporterInput::Query { candidate: 3 }, source)?, ReporterOutput::Charge(_)));
/// assert!(matches!(reporter.handle::<f32, _>(ReporterInput::Charged, source)?, ReporterOutput::Evaluate { candidate: 3 }));
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

    /// One step of the machine: one input in, one output out. Words are drawn from `source` at `Reward` only.
    ///
    /// **Errors**: [`ReporterError`].
    pub fn handle<T: Scalar, S: NoiseSource>(
        &mut self,
        input: ReporterInput<T>,
        source: &mut S,
    ) -> Result<ReporterOutput<T, S>, ReporterError> {
        let own = self.mechanism.mechanism().epsilon();
        if let Some(charged) = self.state.charged.filter(|charged| *charged != own) {
            return Err(ReporterError::OtherMechanism { charged: charged.value(), epsilon: own.value() });
        }
        match (self.state.phase, input) {
            (ReporterPhase::Idle, ReporterInput::Query { candidate }) => {
                self.charge()?;
                self.state.candidate = candidate;
                self.state.charged = Some(own);
                self.state.phase = ReporterPhase::Charging;
                Ok(ReporterOutput::Charge(self.mechanism.event()))
            }
            (ReporterPhase::Charging, ReporterInput::Charged) => {
                self.state.phase = ReporterPhase::Evaluating;
                Ok(ReporterOutput::Evaluate { candidate: self.state.candidate })
            }
            (ReporterPhase::Evaluating, ReporterInput::Reward(reward)) => {
                // Whatever becomes of the noise, this query is over.
                self.state.phase = ReporterPhase::Idle;
                self.state.charged = None;
                let release = self.mechanism.privatize(reward, source).map_err(ReporterError::Noise)?;
                self.state.reports += 1;
                Ok(ReporterOutput::Report(release))
            }
            (phase, input) => Err(ReporterError::UnexpectedInput { phase, input: input.name() }),
        }
    }

    fn charge(&mut self) -> Result<(), ReporterError> {
        let epsilon = self.mechanism.mechanism().epsilon();
        let user = self.state.user;
        self.state.budget.charge(epsilon).map_err(|error| {
            ReporterError::Budget(match error {
                UserBudgetError::Exhausted { epsilon_left, .. } => UserBudgetError::Exhausted { user, epsilon_left },
                UserBudgetError::UnknownUser(_) => UserBudgetError::UnknownUser(user),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::random::source::tests::Failing;
    use crate::random::{Secret, Simulated, Stream};

    fn mechanism() -> ClampedLaplace {
        ClampedLaplace::new(2.0, 16, Epsilon::new(0.5).unwrap()).unwrap()
    }

    /// What the state is, to compare with: no state.
    fn copy(state: &ReporterState) -> std::string::String {
        std::format!("{state:?}")
    }

    #[test]
    fn mended_stored_reports_were_paid_for() {
        let stored = |spent: u64, reports: u32| {
            let mut bytes = [0u8; 40];
            let state = (7u32, (spent, 1u64 << 20), ReporterPhase::Evaluating, 3u32, reports);
            let used = postcard::to_slice(&state, &mut bytes).unwrap().len();
            postcard::from_bytes::<ReporterState>(&bytes[..used])
        };
        let back = stored(1 << 19, 1).unwrap();
        assert_eq!((back.phase(), back.reports(), back.budget().left()), (ReporterPhase::Idle, 1, 0.5));
        assert!(
            stored(0, 0).is_ok() && stored(1000, 1000).is_ok() && stored(999, 1000).is_err() && stored(0, 1).is_err()
        );
    }

    #[test]
    fn the_budget_is_charged_first_and_refuses_last() {
        let mechanism = mechanism();
        let mut state = ReporterState::new(9, Epsilon::new(1.0).unwrap());
        let source = &mut Simulated::new(Stream::from_seed(3));
        for spent in [0.5, 1.0] {
            let mut reporter = Reporter::attach(&mechanism, &mut state);
            let output = reporter.handle::<f64, _>(ReporterInput::Query { candidate: 4 }, source).unwrap();
            assert!(matches!(output, ReporterOutput::Charge(Event::PureEpsilon { epsilon: 0.5, .. })));
            assert_eq!(reporter.state.budget.spent(), spent);
            assert!(reporter.handle(ReporterInput::Reward(1.0), source).is_err(), "a reward before the charge");
            let output = reporter.handle::<f64, _>(ReporterInput::Charged, source).unwrap();
            assert!(matches!(output, ReporterOutput::Evaluate { candidate: 4 }));
            // NaN is the public value 0; the report is finite.
            match reporter.handle(ReporterInput::Reward(f64::NAN), source).unwrap() {
                ReporterOutput::Report(release) => assert!(release.value().is_finite()),
                other => panic!("{other:?}"),
            }
        }
        let before = copy(&state);
        let refused =
            Reporter::attach(&mechanism, &mut state).handle::<f64, _>(ReporterInput::Query { candidate: 1 }, source);
        let exhausted = UserBudgetError::Exhausted { user: 9, epsilon_left: 0.0 };
        assert_eq!(refused.unwrap_err(), ReporterError::Budget(exhausted));
        assert_eq!((copy(&state), state.reports()), (before, 2));
    }

    /// Two learners that share one user's state: what the first was charged does not pay the second's report.
    #[test]
    fn a_report_costs_what_was_charged() {
        let (cheap, dear) = (mechanism(), ClampedLaplace::new(2.0, 16, Epsilon::new(8.0).unwrap()).unwrap());
        let mut state = ReporterState::new(1, Epsilon::new(1.0).unwrap());
        let source = &mut Simulated::new(Stream::from_seed(5));
        Reporter::attach(&cheap, &mut state).handle::<f64, _>(ReporterInput::Query { candidate: 0 }, source).unwrap();
        let other = ReporterError::OtherMechanism { charged: 0.5, epsilon: 8.0 };
        for input in [ReporterInput::Charged, ReporterInput::Reward(1.0)] {
            let before = copy(&state);
            assert_eq!(Reporter::attach(&dear, &mut state).handle(input, source).unwrap_err(), other);
            assert_eq!(copy(&state), before);
            Reporter::attach(&cheap, &mut state).handle(input, source).unwrap();
        }
        assert_eq!((state.reports(), state.budget().spent()), (1, 0.5));
        assert_eq!(std::format!("{:?}", ReporterInput::Reward(0.123)), "Reward");
    }

    #[test]
    fn without_entropy_nothing_leaves_and_the_charge_stays() {
        let mechanism = mechanism();
        let mut state = ReporterState::new(0, Epsilon::new(1.0).unwrap());
        let mut source = Secret::new(Failing { left: 0, inner: Stream::from_seed(1) });
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        reporter.handle::<f64, _>(ReporterInput::Query { candidate: 0 }, &mut source).unwrap();
        reporter.handle::<f64, _>(ReporterInput::Charged, &mut source).unwrap();
        let error = reporter.handle(ReporterInput::Reward(0.0), &mut source).unwrap_err();
        assert_eq!(error, ReporterError::Noise(NoiseError::Entropy));
        assert_eq!((state.phase(), state.reports(), state.budget().spent()), (ReporterPhase::Idle, 0, 0.5));
    }
}
