//! Reporter and learner of one run; all runs of all methods in parallel.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::digest::link;
use sordino_core::local::{
    AtaGpUcb, Input, Learner, MomaGpUcb, Output, Reporter, ReporterInput, ReporterOutput,
    ReporterState, TgpUcb, tgp,
};
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_experiment::progress::Progress;
use sordino_experiment::scenario::local::{LocalMethod, LocalScenario};

use super::problem::{Problem, Source};
use crate::contract::{ModelError, Options};
use crate::jobs;

/// Points of a regret curve that are kept.
const CURVE_POINTS: u32 = 200;

/// What one method did in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalRun {
    /// The method that was run.
    pub method: LocalMethod,
    /// Index of the run, 0-based.
    pub run: u32,
    /// The last link of the chain over all reports.
    pub digest: Digest,
    /// Cumulative noise-free regret after the rounds of `curve_rounds`.
    pub curve: Vec<f64>,
    /// The largest ε that any user spent; 0 where nothing is private.
    pub epsilon_spent: f64,
}

impl LocalRun {
    /// Cumulative regret after the last round.
    pub fn regret(&self) -> f64 {
        self.curve.last().copied().unwrap_or(0.0)
    }
}

/// The rounds at which curves are kept, the last one always.
pub fn curve_rounds(rounds: u32) -> Vec<u32> {
    let points = rounds.min(CURVE_POINTS);
    (1..=points)
        .map(|i| (u64::from(rounds) * u64::from(i) / u64::from(points)) as u32)
        .collect()
}

/// Executes every method of every run. The result is in the order of runs, then of methods,
/// whatever the threads.
///
/// **Errors**: missing or malformed data; a value of B in some run that core refuses.
pub fn run(
    scenario: &LocalScenario,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<LocalRun>, ModelError> {
    let source = Source::load(scenario, options.data.as_deref())?;
    let jobs: Vec<(u32, LocalMethod)> = (0..scenario.head.runs)
        .flat_map(|run| scenario.learning.methods.iter().map(move |m| (run, *m)))
        .collect();
    jobs::execute(
        &jobs,
        options,
        progress,
        |(run, method)| (*run, method.name().to_owned()),
        |(run, method)| one(scenario, &source, *run, *method),
    )
}

fn one(
    scenario: &LocalScenario,
    source: &Source,
    run: u32,
    method: LocalMethod,
) -> Result<LocalRun, ModelError> {
    let seed = RunSeed::new(scenario.head.seed, run);
    let problem = source.realize(scenario, seed);
    let bound = scenario.users.norm_bound.unwrap_or(problem.largest);
    let mut users = Users::new(scenario, bound, seed)?;
    let kernel = &problem.kernel;
    let config = scenario
        .config(kernel.count() as u32, bound)
        .map_err(ModelError::input)?;
    let mut learner: Box<dyn Learner<f64>> = match method {
        LocalMethod::Random => return Ok(random(scenario, &problem, users, run, seed)),
        LocalMethod::TgpUcb => {
            let indices: Vec<f64> = (0..kernel.count()).map(|i| i as f64).collect();
            let storage = vec![0.0; tgp::storage_len(kernel.count())];
            Box::new(
                TgpUcb::new(config, seed, kernel.as_kernel(), 1, &indices, storage)
                    .map_err(ModelError::input)?,
            )
        }
        LocalMethod::AtaGpUcb => {
            Box::new(AtaGpUcb::new(config, seed, (**kernel).clone()).map_err(ModelError::input)?)
        }
        LocalMethod::MomaGpUcb => {
            Box::new(MomaGpUcb::new(config, seed, (**kernel).clone()).map_err(ModelError::input)?)
        }
    };
    let mut record = Record::new(scenario, &problem);
    let mut event = Input::Start;
    while let Output::Query { round, candidate } =
        learner.handle(event).map_err(ModelError::failure)?
    {
        let report = users.report(round, candidate, &problem)?;
        record.play(round, candidate, report);
        event = Input::Report(report);
    }
    Ok(record.end(method, run, &users))
}

fn random(
    scenario: &LocalScenario,
    problem: &Problem,
    users: Users,
    run: u32,
    seed: RunSeed,
) -> LocalRun {
    let mut stream = seed.stream(Party::Server, Purpose::RandomPolicy, 0);
    let mut record = Record::new(scenario, problem);
    for round in 1..=scenario.learning.rounds {
        // Nobody is asked: what is played does not depend on it.
        record.play(round, stream.below(problem.values.len() as u32), 0.0);
    }
    record.end(LocalMethod::Random, run, &users)
}

/// All users of a run, each with a device of their own.
struct Users {
    mechanism: Option<ClampedLaplace>,
    states: Vec<ReporterState>,
    seed: RunSeed,
}

impl Users {
    fn new(scenario: &LocalScenario, norm_bound: f64, seed: RunSeed) -> Result<Self, ModelError> {
        let users = &scenario.users;
        let (Some(epsilon), Some(noise_bound)) = (users.epsilon, users.noise_bound) else {
            return Ok(Users {
                mechanism: None,
                states: Vec::new(),
                seed,
            });
        };
        let epsilon = Epsilon::new(epsilon).map_err(ModelError::input)?;
        let mechanism = ClampedLaplace::new(norm_bound + noise_bound, users.grid_exponent, epsilon)
            .map_err(ModelError::input)?;
        // Exact: ε is a multiple of 2⁻²⁰.
        let budget = Epsilon::new(epsilon.value() * f64::from(users.reports_per_user))
            .map_err(ModelError::input)?;
        let count = scenario.learning.rounds.div_ceil(users.reports_per_user);
        let states = (0..count)
            .map(|user| ReporterState::new(user, budget))
            .collect();
        Ok(Users {
            mechanism: Some(mechanism),
            states,
            seed,
        })
    }

    /// The report of this round's user.
    fn report(&mut self, round: u32, candidate: u32, problem: &Problem) -> Result<f64, ModelError> {
        let Some(mechanism) = &self.mechanism else {
            return Ok(problem.reward(round, candidate));
        };
        let user = (round - 1) as usize % self.states.len();
        let source = &mut Simulated::new(self.seed.stream(
            Party::Agent(user as u32),
            Purpose::Release,
            round,
        ));
        let mut reporter = Reporter::attach(mechanism, &mut self.states[user]);
        let mut event = ReporterInput::Query { candidate };
        loop {
            match reporter
                .handle(event, source)
                .map_err(ModelError::failure)?
            {
                ReporterOutput::Charge(charge) => {
                    event = ReporterInput::Charged(Unwritten::receipt(charge))
                }
                ReporterOutput::Evaluate { candidate } => {
                    event = ReporterInput::Reward(problem.reward(round, candidate));
                }
                ReporterOutput::Report(release) => return Ok(release.into_parts().0),
            }
        }
    }
}

struct Record<'a> {
    problem: &'a Problem,
    kept: Vec<u32>,
    digest: Digest,
    regret: f64,
    curve: Vec<f64>,
}

impl<'a> Record<'a> {
    fn new(scenario: &LocalScenario, problem: &'a Problem) -> Self {
        let kept = curve_rounds(scenario.learning.rounds);
        Record {
            problem,
            kept,
            digest: Digest::default(),
            regret: 0.0,
            curve: Vec::new(),
        }
    }

    fn play(&mut self, round: u32, candidate: u32, report: f64) {
        self.digest = link(&self.digest, round, candidate, report);
        self.regret += self.problem.optimum - self.problem.values[candidate as usize];
        if self.kept.get(self.curve.len()) == Some(&round) {
            self.curve.push(self.regret);
        }
    }

    fn end(self, method: LocalMethod, run: u32, users: &Users) -> LocalRun {
        let epsilon_spent = users
            .states
            .iter()
            .map(|state| state.budget().spent())
            .fold(0.0, f64::max);
        LocalRun {
            method,
            run,
            digest: self.digest,
            curve: self.curve,
            epsilon_spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_with_the_last_round() {
        assert_eq!(curve_rounds(3), [1, 2, 3]);
        let rounds = curve_rounds(10_000);
        assert_eq!((rounds.len(), rounds[0], rounds[199]), (200, 50, 10_000));
        assert_eq!(curve_rounds(333).last(), Some(&333));
    }
}
