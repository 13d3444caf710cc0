//! A small local experiment with everything written out: what tests of the trust model `local` run.

use sordino_core::digest::Digest;
use sordino_core::digest::link;
use sordino_core::kernel::SquaredExponential;
use sordino_core::local::*;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed};

use crate::receipts::reporter_paid;

/// Number of candidates.
pub const N: u32 = 25;
/// Rounds: enough that strides, truncation and left-over rounds occur.
pub const T: u32 = 150;
/// Bound B of the function's norm.
pub const B: f64 = 1.0;
/// Bound R of the noise.
pub const R: f64 = 0.5;
/// The ε of a report.
pub const EPSILON: f64 = 2.0;
/// Plays of an epoch; 150 = 21·7 + 3.
pub const EPOCH_LEN: u32 = 7;

/// Seed of the run.
pub fn run_seed() -> RunSeed {
    RunSeed::new(4, 1)
}

/// The candidates.
pub fn points() -> Vec<f64> {
    (0..N).map(|i| f64::from(i) / f64::from(N - 1)).collect()
}

/// Kernel of the prior.
pub fn kernel() -> SquaredExponential<f64, sordino_core::kernel::Isotropic<f64>> {
    SquaredExponential::new(0.2, 1.0).unwrap()
}

/// The function that is optimised.
pub fn f(x: f64) -> f64 {
    0.9 * (-20.0 * (x - 0.7) * (x - 0.7)).exp() - 0.4 * (-30.0 * (x - 0.2) * (x - 0.2)).exp()
}

/// The parameters: widths shrunk so that the learners learn something in 150 rounds.
pub fn parameters() -> Parameters {
    Parameters {
        candidates: N,
        rounds: T,
        rewards: Rewards::Bounded {
            norm_bound: B,
            noise_bound: R,
            epsilon: Some(EPSILON),
        },
        constants: Constants::OrderWise,
        width_factor: 0.1,
        regularization: 1.0,
        failure_probability: 0.1,
        accuracy: 0.5,
        first_query: FirstQuery::Random,
        epoch_len: Some(EPOCH_LEN),
        nystrom_inflation: None,
        stride: 1,
    }
}

/// The report of the user of round t on a candidate, made by the user's own machine.
pub fn report(round: u32, candidate: u32) -> f64 {
    let user = round - 1;
    let epsilon = Epsilon::new(EPSILON).unwrap();
    let mechanism = ClampedLaplace::new(B + R, 20, epsilon).unwrap();
    let mut state = ReporterState::new(user, epsilon);
    let mut reporter = Reporter::attach(&mechanism, &mut state);
    let source =
        &mut Simulated::new(run_seed().stream(Party::Agent(user), Purpose::Release, round));
    let charge = reporter
        .handle::<f64, _>(ReporterInput::Query { candidate }, source)
        .unwrap();
    reporter
        .handle::<f64, _>(reporter_paid(charge), source)
        .unwrap();
    let noise: f64 = run_seed()
        .stream(Party::Agent(user), Purpose::ObservationNoise, round)
        .unit();
    let reward = f(points()[candidate as usize]) + R * (2.0 * noise - 1.0);
    match reporter
        .handle(ReporterInput::Reward(reward), source)
        .unwrap()
    {
        ReporterOutput::Report(release) => release.into_parts().0,
        other => panic!("{other:?}"),
    }
}

/// Runs a learner to its end: the last link of the chain, the queries, the final means.
pub fn run(learner: &mut dyn Learner<f64>) -> (Digest, Vec<u32>, Vec<f64>) {
    let mut chain = Digest::default();
    let mut queries = Vec::new();
    let mut input = Input::Start;
    while let Output::Query { round, candidate } = learner.handle(input).unwrap() {
        let y = report(round, candidate);
        chain = link(&chain, round, candidate, y);
        queries.push(candidate);
        input = Input::Report(y);
    }
    (chain, queries, learner.mean().to_vec())
}
