//! Tuner and publisher of one run; at every ε many releases, whose means are kept.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::output::publisher::{PublisherInput, PublisherOutput};
use sordino_core::output::{
    Checked, NoisyTuning, Publisher, PublisherState, Tuner, TunerInput, TunerOutput, TunerState,
    WorstCase, log_len, workspace_len,
};
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_core::surrogate::{FiniteGp, finite, information_gain};
use sordino_experiment::progress::Progress;
use sordino_experiment::scenario::output::{OutputMethod, OutputScenario};

use super::problem::{self, Problem, Source};
use crate::contract::{ModelError, Options};
use crate::jobs;

/// All methods of a run are one job of this name.
pub const JOB: &str = "releases";

/// What one method published at one ε in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The method that was run.
    pub method: OutputMethod,
    /// ε of the whole release; `None` for methods that do not depend on it.
    pub epsilon: Option<f64>,
    /// Worth of the best candidate − worth of the published one, mean over releases.
    pub regret: f64,
    /// |published score − worth of the best candidate|, mean over releases; `None` where no score is published.
    pub error: Option<f64>,
}

/// What all methods did in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputRun {
    /// Index of the run, 0-based.
    pub run: u32,
    /// The last link of the chain over scores, evaluations and releases.
    pub digest: Digest,
    /// In the order of methods, then of ε.
    pub published: Vec<Published>,
}

/// Executes every run. The result is in their order, whatever the threads.
///
/// **Errors**: constants that a mechanism refuses.
pub fn run(
    scenario: &OutputScenario,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<OutputRun>, ModelError> {
    let source = Source::load(scenario)?;
    let template = tuning(scenario, &source, 1.0)?;
    let jobs: Vec<u32> = (0..scenario.head.runs).collect();
    jobs::execute(
        &jobs,
        options,
        progress,
        |run| (*run, JOB.to_owned()),
        |run| one(scenario, &source, &template, *run),
    )
}

/// Kusner's Algorithm 1 at this ε for one of the two releases.
pub fn tuning(
    scenario: &OutputScenario,
    source: &Source,
    epsilon: f64,
) -> Result<Checked<NoisyTuning>, ModelError> {
    let prior = &scenario.prior;
    let count = source.points.len() / source.dim;
    let kernel = problem::kernel(scenario).map_err(ModelError::input)?;
    let storage = vec![0.0; finite::storage_len(count)];
    let variance = prior.noise_std * prior.noise_std;
    let mut posterior = FiniteGp::new(&kernel, variance, source.dim, &source.points, storage)
        .map_err(ModelError::input)?;
    let mut gains = vec![0.0; prior.rounds as usize];
    information_gain::greedy(&mut posterior, &mut gains, &mut []).map_err(ModelError::input)?;
    let tuning = NoisyTuning {
        candidates: count as u32,
        rounds: prior.rounds,
        noise_std: prior.noise_std,
        similarity: prior.similarity,
        information_gain: information_gain::upper_bound(gains.last().copied().unwrap_or(0.0)),
        epsilon: Epsilon::new(epsilon).map_err(ModelError::input)?,
        delta: prior.delta,
    };
    tuning.checked().map_err(ModelError::input)
}

/// μ_T of the standardised scores, their largest observation, and the evaluations as a digest.
struct Tuned {
    mean: Vec<f64>,
    best: f64,
    digest: Digest,
}

fn tune(
    scenario: &OutputScenario,
    source: &Source,
    values: &[f64],
    run: RunSeed,
) -> Result<Tuned, ModelError> {
    let prior = &scenario.prior;
    let rounds = prior.rounds;
    let variance = prior.noise_std * prior.noise_std;
    let mut state = TunerState::new();
    let mut log = vec![0.0; log_len(rounds)];
    let mut workspace = vec![0.0; workspace_len(values.len() as u32, rounds)];
    let kernel = problem::kernel(scenario).map_err(ModelError::input)?;
    let points = &source.points;
    let dim = source.dim;
    let state = &mut state;
    let log = &mut log;
    let workspace = &mut workspace;
    let mut tuner = Tuner::attach(
        kernel,
        variance,
        points,
        dim,
        rounds,
        prior.delta,
        state,
        log,
        workspace,
    )
    .map_err(ModelError::input)?;
    let mut step = TunerInput::Start;
    let mut t = 0;
    let mut frame = Digest::default().frame();
    while let TunerOutput::Evaluate { candidate } = tuner.handle(step).map_err(ModelError::input)? {
        let noise: f64 = normal::draw(&mut run.stream(Party::World, Purpose::ObservationNoise, t));
        let value =
            (values[candidate as usize] - prior.mean) / prior.scale + prior.noise_std * noise;
        frame.u32(candidate);
        frame.scalars(&[value]);
        (step, t) = (TunerInput::Observed(value), t + 1);
    }
    Ok(Tuned {
        mean: tuner.mean().to_vec(),
        best: tuner.best_value(),
        digest: frame.end(),
    })
}

fn one(
    scenario: &OutputScenario,
    source: &Source,
    template: &NoisyTuning,
    run: u32,
) -> Result<OutputRun, ModelError> {
    let seed = RunSeed::new(scenario.head.seed, run);
    let problem = source.realize(scenario, seed);
    let tuned = tune(scenario, source, &problem.values, seed)?;
    let prior = &scenario.prior;
    let release = &scenario.release;
    let values = &problem.values;
    let best = maximum(values);
    let (low, high) = scenario.objective.score_range();
    let mut frame = tuned.digest.frame();
    frame.scalars(values);
    let mut published = Vec::new();
    let count = values.len() as f64;
    for method in &release.methods {
        match method {
            OutputMethod::Best => {
                published.push(Published {
                    method: *method,
                    epsilon: None,
                    regret: 0.0,
                    error: Some(0.0),
                });
            }
            OutputMethod::Random => {
                // Exact: the mean over all candidates.
                let regret = values.iter().map(|value| best - value).sum::<f64>() / count;
                published.push(Published {
                    method: *method,
                    epsilon: None,
                    regret,
                    error: None,
                });
            }
            OutputMethod::GpUcb => {
                let top = maximum(&tuned.mean);
                let chosen = tuned.mean.iter().position(|mean| *mean == top).unwrap_or(0);
                let error = Some((prior.mean + prior.scale * tuned.best - best).abs());
                published.push(Published {
                    method: *method,
                    epsilon: None,
                    regret: best - values[chosen],
                    error,
                });
            }
            OutputMethod::WorstCase | OutputMethod::PriorConditional => {
                for (place, epsilon) in release.epsilons.iter().enumerate() {
                    let worst_case = *method == OutputMethod::WorstCase;
                    let round = 2 * place as u32 + u32::from(worst_case);
                    let mut noise =
                        Simulated::new(seed.stream(Party::Server, Purpose::Release, round));
                    let share =
                        Epsilon::new(epsilon * release.value_share).map_err(ModelError::input)?;
                    let rest = Epsilon::new(epsilon - share.value()).map_err(ModelError::input)?;
                    let mechanism = if worst_case {
                        Some(problem::worst_case(scenario, *epsilon)?)
                    } else {
                        None
                    };
                    let mut regret = 0.0;
                    let mut error = 0.0;
                    for _ in 0..release.draws {
                        let (candidate, score) = if let Some(mechanism) = &mechanism {
                            worst_case_release(mechanism, &problem, &mut noise)?
                        } else {
                            let (candidate, value) =
                                conditional_release(template, &tuned, rest, share, &mut noise)?;
                            // The range is public: clamping what was released costs nothing.
                            (
                                candidate,
                                (prior.mean + prior.scale * value).clamp(low, high),
                            )
                        };
                        frame.u32(candidate);
                        frame.scalars(&[score]);
                        regret += best - values[candidate as usize];
                        error += (score - best).abs();
                    }
                    let draws = f64::from(release.draws);
                    let regret = regret / draws;
                    let error = Some(error / draws);
                    published.push(Published {
                        method: *method,
                        epsilon: Some(*epsilon),
                        regret,
                        error,
                    });
                }
            }
        }
    }
    Ok(OutputRun {
        run,
        digest: frame.end(),
        published,
    })
}

/// One release of the default.
fn worst_case_release(
    mechanism: &WorstCase,
    problem: &Problem,
    noise: &mut Simulated,
) -> Result<(u32, f64), ModelError> {
    let count = problem.scores.len();
    let mut state = PublisherState::new();
    let mut levels = vec![0; count];
    let mut order = vec![0; count];
    let mut publisher = Publisher::attach(mechanism, &mut state, &mut levels, &mut order)
        .map_err(ModelError::input)?;
    for (candidate, score) in (0u32..).zip(&problem.scores) {
        let scored = PublisherInput::Scored {
            candidate,
            score: *score,
        };
        publisher
            .handle(scored, noise)
            .map_err(ModelError::failure)?;
    }
    let receipt = match publisher
        .handle(PublisherInput::Close, noise)
        .map_err(ModelError::failure)?
    {
        PublisherOutput::Charge(charge) => Unwritten::receipt(charge),
        other => {
            return Err(ModelError::failure(format!(
                "nothing is charged: {other:?}"
            )));
        }
    };
    match publisher
        .handle(PublisherInput::Charged(receipt), noise)
        .map_err(ModelError::failure)?
    {
        PublisherOutput::Released { candidate, score } => Ok((*candidate.value(), *score.value())),
        other => Err(ModelError::failure(format!(
            "nothing is released: {other:?}"
        ))),
    }
}

/// The same tuning at another ε.
fn with_epsilon(
    template: &NoisyTuning,
    epsilon: Epsilon,
) -> Result<Checked<NoisyTuning>, ModelError> {
    NoisyTuning {
        epsilon,
        ..*template
    }
    .checked()
    .map_err(ModelError::input)
}

/// One release of Kusner's Algorithm 1: candidate and largest value, standardised.
fn conditional_release(
    template: &NoisyTuning,
    tuned: &Tuned,
    candidate: Epsilon,
    value: Epsilon,
    noise: &mut Simulated,
) -> Result<(u32, f64), ModelError> {
    let mut scratch = vec![0; tuned.mean.len()];
    let chosen = with_epsilon(template, candidate)?
        .release_candidate(&tuned.mean, &mut scratch, noise)
        .map_err(ModelError::failure)?;
    let score = with_epsilon(template, value)?
        .release_value(tuned.best, noise)
        .map_err(ModelError::failure)?;
    Ok((*chosen.value(), *score.value()))
}

fn maximum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
