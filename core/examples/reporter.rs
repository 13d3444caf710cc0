//! 2,000 users, one private reward each, and nobody to trust:
//! `cargo run --release -p sordino-core --example reporter`.
//!
//! Each user's device tries the setting that the learner asks for, perturbs the reward itself and
//! sends one number with ε = 2. The learner finds a good setting from the perturbed numbers alone.
//! The noise of this example is simulated.

use std::error::Error;

use sordino_core::kernel::SquaredExponential;
use sordino_core::local::{
    Config, Constants, FirstQuery, Input, Learner, Output, Parameters, Reporter, ReporterInput,
    ReporterOutput, ReporterState, Rewards, TgpUcb, tgp,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Ledger, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed};

const SETTINGS: u32 = 50;
const USERS: u32 = 2000;
const BOUND: f64 = 1.0; // |reward| ≤ B
const NOISE: f64 = 0.1; // |noise of a measurement| ≤ R

/// The device of one user: charge, measure, perturb, report.
fn report(user: u32, setting: u32, mechanism: &ClampedLaplace) -> Result<f64, Box<dyn Error>> {
    let mut state = ReporterState::new(user, mechanism.mechanism().epsilon());
    let mut reporter = Reporter::attach(mechanism, &mut state);
    let source =
        &mut Simulated::new(RunSeed::new(3, 0).stream(Party::Agent(user), Purpose::Release, 0));
    let mut input = ReporterInput::Query { candidate: setting };
    loop {
        input = match reporter.handle::<f64, _>(input, source)? {
            ReporterOutput::Charge(charge) => ReporterInput::Charged(Unwritten.append(charge)?),
            ReporterOutput::Evaluate { candidate } => {
                let x = f64::from(candidate) / f64::from(SETTINGS - 1);
                ReporterInput::Reward(Scalar::exp(-30.0 * (x - 0.7) * (x - 0.7)))
            }
            ReporterOutput::Report(release) => return Ok(*release.value()),
        };
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let epsilon = Epsilon::new(2.0)?;
    let mechanism = ClampedLaplace::new(BOUND + NOISE, 20, epsilon)?;
    let rewards = Rewards::Bounded {
        norm_bound: BOUND,
        noise_bound: NOISE,
        epsilon: Some(epsilon.value()),
    };
    let config = Config::new(Parameters {
        candidates: SETTINGS,
        rounds: USERS,
        rewards,
        constants: Constants::OrderWise,
        width_factor: 0.1,
        regularization: 1.0,
        failure_probability: 0.1,
        accuracy: 0.1,
        first_query: FirstQuery::Random,
        epoch_len: None,
        nystrom_inflation: None,
        stride: 1,
    })?;
    let points: Vec<f64> = (0..SETTINGS)
        .map(|i| f64::from(i) / f64::from(SETTINGS - 1))
        .collect();
    let kernel = SquaredExponential::new(0.15, 1.0)?;
    let storage = vec![0.0; tgp::storage_len(SETTINGS as usize)];
    let mut learner = TgpUcb::new(config, RunSeed::new(3, 0), &kernel, 1, &points, storage)?;
    let mut input = Input::Start;
    let mut asked = vec![0u32; SETTINGS as usize];
    while let Output::Query { round, candidate } = learner.handle(input)? {
        asked[candidate as usize] += 1;
        input = Input::Report(report(round, candidate, &mechanism)?);
    }
    let mean = learner.mean();
    let best = (0..mean.len())
        .max_by(|a, b| mean[*a].total_cmp(&mean[*b]))
        .ok_or("there are settings")?;
    println!(
        "best setting by the learner's mean: {:.2} (the truth: 0.70), asked {} times",
        points[best], asked[best]
    );
    println!(
        "each of {USERS} users paid epsilon {} for one report; the noise was simulated",
        epsilon.value()
    );
    Ok(())
}
