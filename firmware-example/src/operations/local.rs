//! Rows of the trust model `local`: a user's reports, and the learner that needs no heap.

use sordino_core::kernel::Matern52;
use sordino_core::local::{
    Config, Constants, FirstQuery, Input, Learner, Output, Parameters, Reporter, ReporterInput,
    ReporterOutput, ReporterState, Rewards, TgpUcb, tgp,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{RunSeed, Stream};

use super::{Emit, Fold};

/// Number of candidates.
const N: usize = 8;

pub(super) fn rows(emit: Emit<'_>) {
    emit("local::reporter f64", &reports::<f64>);
    emit("local::reporter f32", &reports::<f32>);
    emit("local::tgp f64", &learner::<f64>);
    emit("local::tgp f32", &learner::<f32>);
}

/// Rewards inside and outside the bounds and no numbers at all, until the budget is spent.
fn reports<T: Scalar>(fold: &mut Fold) {
    let (Ok(epsilon), Ok(budget)) = (Epsilon::new(0.7), Epsilon::new(20.0)) else {
        return;
    };
    let Ok(mechanism) = ClampedLaplace::new(1.3, 20, epsilon) else {
        return;
    };
    let mut state = ReporterState::new(5, budget);
    let mut source = Simulated::new(Stream::from_seed(50));
    for i in 0..32u32 {
        let reward = match i % 8 {
            6 => T::INFINITY,
            7 => T::INFINITY * T::ZERO,
            _ => T::from_f64(0.4 * f64::from(i % 8) - 0.9),
        };
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        let mut event = ReporterInput::Query { candidate: i };
        while let Ok(output) = reporter.handle(event, &mut source) {
            match output {
                ReporterOutput::Charge(charge) => {
                    event = ReporterInput::Charged(Unwritten::receipt(charge))
                }
                ReporterOutput::Evaluate { .. } => event = ReporterInput::Reward(reward),
                ReporterOutput::Report(release) => {
                    fold.add(*release.value());
                    break;
                }
            }
        }
        fold.add(state.budget().left());
    }
}

/// Forty rounds over eight candidates.
fn learner<T: Scalar>(fold: &mut Fold) {
    let parameters = Parameters {
        candidates: N as u32,
        rounds: 40,
        rewards: Rewards::Bounded {
            norm_bound: 1.0,
            noise_bound: 0.3,
            epsilon: Some(2.0),
        },
        constants: Constants::Theorem,
        width_factor: 0.05,
        regularization: 1.0,
        failure_probability: 0.1,
        accuracy: 0.5,
        first_query: FirstQuery::Random,
        epoch_len: None,
        nystrom_inflation: None,
        stride: 1,
    };
    let (Ok(config), Ok(kernel)) = (
        Config::new(parameters),
        Matern52::new(T::from_f64(0.2), T::ONE),
    ) else {
        return;
    };
    let points: [T; N] = core::array::from_fn(|i| T::from_u32(i as u32) * T::from_f64(0.125));
    let storage = [T::ZERO; tgp::storage_len(N)];
    let Ok(mut learner) = TgpUcb::new(config, RunSeed::new(5, 0), &kernel, 1, &points, storage)
    else {
        return;
    };
    let mut noise = Stream::from_seed(51);
    let mut event = Input::Start;
    while let Ok(Output::Query { round, candidate }) = learner.handle(event) {
        fold.word(u64::from(round) << 32 | u64::from(candidate));
        let wave = T::from_u32(candidate) * T::from_f64(0.2) - T::from_f64(0.7);
        event = Input::Report(wave + T::from_f64(4.0) * (noise.unit::<T>() - T::from_f64(0.5)));
    }
    fold.all(learner.mean());
    fold.word(learner.truncated().into());
}
