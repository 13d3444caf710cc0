//! What is tuned: candidates, what each is worth, and the scores that a release may use.

use sordino_core::kernel::{KernelError, StationaryKernel};
use sordino_core::math::Scalar;
use sordino_core::output::{FailureRule, Score, ScoreScale, WorstCase};
use sordino_core::privacy::{Epsilon, Event};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_experiment::scenario::output::{
    OutputMethod, OutputObjective, OutputScenario, WineTuning,
};
use sordino_experiment::scenario::{GpSampleConfig, KernelConfig};
use sordino_experiment::world::gp_sample::{GpSamples, grid};
use sordino_experiment::world::{Family, tuning, winequality};

use crate::contract::ModelError;

/// What all runs share.
pub struct Source {
    /// Candidates, `dim` numbers each, in the unit box.
    pub points: Vec<f64>,
    /// Number of hyperparameters, 1 or 2.
    pub dim: usize,
    family: Option<GpSamples>,
}

/// One run's candidates.
pub struct Problem {
    /// What each candidate is worth.
    pub values: Vec<f64>,
    /// The same values as the scores from which a private release is made.
    pub scores: Vec<Score>,
}

/// The kernel of the prior, variance 1.
///
/// **Errors**: none for a scenario that was read from TOML.
pub fn kernel(scenario: &OutputScenario) -> Result<StationaryKernel<f64>, KernelError> {
    StationaryKernel::with_shape(scenario.prior.kernel, scenario.prior.lengthscale, 1.0)
}

/// What a score is: its range, how far one record moves it.
///
/// **Errors**: none for a scenario that was read from TOML.
pub fn scale(scenario: &OutputScenario) -> Result<ScoreScale, ModelError> {
    match &scenario.objective {
        OutputObjective::GpSample(sample) => {
            ScoreScale::promised_mean(-sample.score_bound, sample.score_bound, sample.records)
        }
        OutputObjective::Winequality(_) => ScoreScale::per_record(1, scenario.objective.records()),
    }
    .map_err(ModelError::input)
}

/// The default release at this ε of candidate and score together.
///
/// **Errors**: an ε that is outside a mechanism's range once it is split.
pub fn worst_case(scenario: &OutputScenario, epsilon: f64) -> Result<WorstCase, ModelError> {
    let share = Epsilon::new(epsilon * scenario.release.value_share).map_err(ModelError::input)?;
    let rest = Epsilon::new(epsilon - share.value()).map_err(ModelError::input)?;
    WorstCase::new(
        scenario.objective.candidates(),
        scale(scenario)?,
        rest,
        share,
        FailureRule::Abort,
    )
    .map_err(ModelError::input)
}

/// Whether a method is among those that the scenario compares.
pub(super) fn compares(scenario: &OutputScenario, method: OutputMethod) -> bool {
    scenario.release.methods.contains(&method)
}

/// δ of the default release at this ε, as its two events are charged; they add.
///
/// **Errors**: as [`worst_case`].
pub fn worst_case_delta(scenario: &OutputScenario, epsilon: f64) -> Result<f64, ModelError> {
    let events = worst_case(scenario, epsilon)?.events();
    let deltas = events.iter().map(|event| match event {
        Event::ApproximateEpsilon { delta, .. } => *delta,
        _ => 0.0,
    });
    Ok(deltas.sum())
}

impl Source {
    /// Builds the candidates and, where functions are drawn from the prior, its factor.
    ///
    /// **Errors**: a prior too rough for its grid.
    pub fn load(scenario: &OutputScenario) -> Result<Source, ModelError> {
        match &scenario.objective {
            OutputObjective::GpSample(sample) => {
                let kernel = scenario.prior.kernel;
                let lengthscale = scenario.prior.lengthscale;
                let kernel = KernelConfig {
                    kernel,
                    lengthscale,
                    signal_variance: 1.0,
                };
                let config = GpSampleConfig::plain(1, sample.points, kernel);
                let family = Some(GpSamples::new(&config, 1).map_err(ModelError::input)?);
                Ok(Source {
                    points: grid(sample.points, 1),
                    dim: 1,
                    family,
                })
            }
            OutputObjective::Winequality(wine) => Ok(Source {
                points: grid(wine.points_per_axis, 2),
                dim: 2,
                family: None,
            }),
        }
    }

    /// One run: another function, or another split of the wines.
    pub fn realize(&self, scenario: &OutputScenario, run: RunSeed) -> Problem {
        match (&scenario.objective, &self.family) {
            (OutputObjective::Winequality(wine), _) => wines(wine, &self.points, run),
            (OutputObjective::GpSample(_), Some(family)) => {
                let values = family.realize(run).values(0);
                let scores = values.iter().map(|value| Score::Number(*value)).collect();
                Problem { values, scores }
            }
            // A family was made for every scenario of this kind.
            (OutputObjective::GpSample(_), None) => Problem {
                values: Vec::new(),
                scores: Vec::new(),
            },
        }
    }
}

/// C = 10^(4u − 2), γ = 10^(4v − 3).
fn cost_and_gamma_logarithmic(point: &[f64]) -> (f64, f64) {
    (
        power_of_ten(4.0 * point[0] - 2.0),
        power_of_ten(4.0 * point[1] - 3.0),
    )
}

/// 10ˣ, the same bits on every platform.
fn power_of_ten(x: f64) -> f64 {
    Scalar::exp(x * std::f64::consts::LN_10)
}

fn wines(wine: &WineTuning, points: &[f64], run: RunSeed) -> Problem {
    let mut order: Vec<u32> = (0..winequality::ROWS).collect();
    let mut stream = run.stream(Party::World, Purpose::Candidates, 0);
    for i in (1..order.len()).rev() {
        order.swap(i, stream.below(i as u32 + 1) as usize);
    }
    let (train, test) = order.split_at(wine.training_records as usize);
    let candidates: Vec<(f64, f64)> = points
        .chunks_exact(2)
        .map(cost_and_gamma_logarithmic)
        .collect();
    let sums = tuning::correct(&winequality::task(train, test), &candidates);
    let records = test.len() as f64;
    Problem {
        values: sums.iter().map(|sum| *sum as f64 / records).collect(),
        scores: sums.iter().map(|sum| Score::Sum(*sum)).collect(),
    }
}
