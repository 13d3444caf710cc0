//! Private release of a tuning result (Kusner, Gardner, Garnett, Weinberger 2015): coverage of its
//! theorems on draws of the prior that they assume, and the ε above which its releases are
//! informative.
//!
//! The validation functions of neighbouring data sets are f and f′ = k₁f + √(1 − k₁²)g. γ_T is the
//! upper bound on the information gain, as the privacy constants need it.

use rayon::prelude::*;
use sordino_core::kernel::{SquaredExponential, Stationary};
use sordino_core::output::{
    Checked, LipschitzTuning, NoiseFreeTuning, NoisyTuning, ScoreScale, Tuner, TunerInput,
    TunerOutput, TunerState, WorstCase, log_len, workspace_len,
};
use sordino_core::output::{ConfigError, FailureRule};
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_core::surrogate::{FiniteGp, finite, information_gain};
use sordino_experiment::pool::pool;
use sordino_experiment::scenario::{GpSampleConfig, KernelConfig};
use sordino_experiment::world::Family;
use sordino_experiment::world::gp_sample::{GpSamples, grid};

use super::{Band, Experiment, Options, Outcome, ReproduceError};

/// Number of candidates |Λ|.
const POINTS: usize = 200;
const DELTA: f64 = 0.1;
/// a of Theorems 2, 4, 6, 8.
const TAIL: f64 = 2.0;
const SEED: u64 = 2015;

/// The catalogue's entries.
pub const EXPERIMENTS: &[Experiment] = &[Experiment {
    name: "dp-bo/coverage",
    description: "Theorems 1 to 4, 6, 8 under their prior; at which ε a release is of use (200 runs, a minute)",
    runs: 200,
    reads_data: false,
    measure: coverage,
}];

struct Setting {
    lengthscale: f64,
    rounds: u32,
    noise_std: f64,
    similarity: f64,
}

const SETTINGS: &[Setting] = &[
    Setting {
        lengthscale: 0.1,
        rounds: 50,
        noise_std: 0.1,
        similarity: 0.99,
    },
    Setting {
        lengthscale: 0.1,
        rounds: 50,
        noise_std: 0.1,
        similarity: 0.5,
    },
    Setting {
        lengthscale: 0.1,
        rounds: 10,
        noise_std: 0.5,
        similarity: 0.9,
    },
    Setting {
        lengthscale: 0.05,
        rounds: 200,
        noise_std: 0.1,
        similarity: 0.99,
    },
    Setting {
        lengthscale: 0.1,
        rounds: 1000,
        noise_std: 0.1,
        similarity: 0.99,
    },
];

impl Setting {
    fn name(&self) -> String {
        let Setting {
            lengthscale,
            rounds,
            noise_std,
            similarity,
        } = self;
        format!("l {lengthscale}, T {rounds}, σ {noise_std}, k₁ {similarity}")
    }

    fn family(&self) -> Result<GpSamples, ReproduceError> {
        let kernel = Stationary::SquaredExponential;
        let kernel = KernelConfig {
            kernel,
            lengthscale: self.lengthscale,
            signal_variance: 1.0,
        };
        GpSamples::new(&GpSampleConfig::plain(1, POINTS as u32, kernel), 1)
            .map_err(ReproduceError::new)
    }

    fn mechanism(&self, epsilon: f64) -> Result<Checked<NoisyTuning>, ReproduceError> {
        let kernel = SquaredExponential::new(self.lengthscale, 1.0).map_err(ReproduceError::new)?;
        let variance = self.noise_std * self.noise_std;
        let storage = vec![0.0; finite::storage_len(POINTS)];
        let mut prior = FiniteGp::new(&kernel, variance, 1, &grid(POINTS as u32, 1), storage)
            .map_err(ReproduceError::new)?;
        let mut gains = vec![0.0; self.rounds as usize];
        information_gain::greedy(&mut prior, &mut gains, &mut []).map_err(ReproduceError::new)?;
        let greedy = gains.last().copied().unwrap_or(0.0);
        let tuning = NoisyTuning {
            candidates: POINTS as u32,
            rounds: self.rounds,
            noise_std: self.noise_std,
            similarity: self.similarity,
            information_gain: information_gain::upper_bound(greedy),
            epsilon: epsilon_of(epsilon)?,
            delta: DELTA,
        };
        tuning.checked().map_err(ReproduceError::new)
    }

    /// μ_T and max v on one function.
    fn tune(
        &self,
        values: &[f64],
        run: RunSeed,
        party: Party,
    ) -> Result<(Vec<f64>, f64), ReproduceError> {
        let kernel = SquaredExponential::new(self.lengthscale, 1.0).map_err(ReproduceError::new)?;
        let points = grid(POINTS as u32, 1);
        let variance = self.noise_std * self.noise_std;
        let mut state = TunerState::new();
        let mut log = vec![0.0; log_len(self.rounds)];
        let mut workspace = vec![0.0; workspace_len(POINTS as u32, self.rounds)];
        let mut tuner = Tuner::attach(
            kernel,
            variance,
            &points,
            1,
            self.rounds,
            DELTA,
            &mut state,
            &mut log,
            &mut workspace,
        )
        .map_err(ReproduceError::new)?;
        let mut input = TunerInput::Start;
        let mut t = 0;
        while let TunerOutput::Evaluate { candidate } =
            tuner.handle(input).map_err(ReproduceError::new)?
        {
            let noise: f64 = normal::draw(&mut run.stream(party, Purpose::ObservationNoise, t));
            input = TunerInput::Observed(values[candidate as usize] + self.noise_std * noise);
            t += 1;
        }
        Ok((tuner.mean().to_vec(), tuner.best_value()))
    }
}

fn epsilon_of(value: f64) -> Result<Epsilon, ReproduceError> {
    Epsilon::new(value).map_err(ReproduceError::new)
}

fn maximum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// δ + e^{−a} and three binomial standard errors.
fn allowed(n: f64) -> f64 {
    let p = DELTA + (-TAIL).exp();
    p + 3.0 * (p * (1.0 - p) / n).sqrt()
}

/// The ε at which the candidate of Algorithm 1 is held against a uniform draw.
const EPSILONS: [f64; 4] = [1.0, 10.0, 100.0, 256.0];

/// The measurements of one run of one setting.
struct Measured {
    /// sup |μ − μ′| over candidates.
    candidate_shift: f64,
    /// |max v − max v′|.
    value_shift: f64,
    /// Exact probability that Theorem 2's bound is missed at ε = 100.
    candidate_missed: f64,
    /// Whether one release misses Theorem 4's bound at ε = 1.
    value_missed: bool,
    /// Expected regret of λ̃ at each of [`EPSILONS`].
    regrets: [f64; EPSILONS.len()],
    /// Expected regret of a uniform draw.
    uniform_regret: f64,
}

fn measure(setting: &Setting, family: &GpSamples, run: u32) -> Result<Measured, ReproduceError> {
    let [f, g] = [SEED, SEED + 1].map(|seed| family.realize(RunSeed::new(seed, run)).values(0));
    let k = setting.similarity;
    let neighbor: Vec<f64> = f
        .iter()
        .zip(&g)
        .map(|(f, g)| k * f + (1.0 - k * k).sqrt() * g)
        .collect();
    let run = RunSeed::new(SEED, run);
    let (mean, best) = setting.tune(&f, run, Party::World)?;
    let (other_mean, other_best) = setting.tune(&neighbor, run, Party::Server)?;
    let shift = mean
        .iter()
        .zip(&other_mean)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    let mut p = vec![0.0; POINTS];
    let top = maximum(&f);
    let mut regrets = [0.0; EPSILONS.len()];
    let template = setting.mechanism(100.0)?;
    for (regret, epsilon) in regrets.iter_mut().zip(EPSILONS) {
        NoisyTuning {
            epsilon: epsilon_of(epsilon)?,
            ..*template
        }
        .probabilities(&mean, &mut p);
        *regret = p.iter().zip(&f).map(|(p, f)| p * (top - f)).sum();
    }
    let uniform_regret = f.iter().map(|f| (top - f) / POINTS as f64).sum();
    template.probabilities(&mean, &mut p);
    let floor = maximum(&mean) - template.candidate_gap(TAIL);
    let candidate_missed = mean
        .iter()
        .zip(&p)
        .filter(|(mu, _)| **mu < floor)
        .map(|(_, p)| p)
        .sum();
    let single = NoisyTuning {
        epsilon: epsilon_of(1.0)?,
        ..*template
    }
    .checked()
    .map_err(ReproduceError::new)?;
    let mut source = Simulated::new(run.stream(Party::Server, Purpose::Release, 0));
    let released = *single
        .release_value(best, &mut source)
        .map_err(ReproduceError::new)?
        .value();
    let value_missed = (released - top).abs() > single.value_gap(TAIL);
    Ok(Measured {
        candidate_shift: shift,
        value_shift: (best - other_best).abs(),
        candidate_missed,
        value_missed,
        regrets,
        uniform_regret,
    })
}

/// The share of runs that pass a test.
fn share(measured: &[Measured], test: impl Fn(&&Measured) -> bool) -> f64 {
    measured.iter().filter(test).count() as f64 / measured.len() as f64
}

fn coverage(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let pool = pool(options.threads).map_err(ReproduceError::new)?;
    let mut outcome = Outcome::default();
    let n = f64::from(runs);
    for (place, setting) in SETTINGS.iter().enumerate() {
        let family = setting.family()?;
        let measured: Vec<Measured> = pool.install(|| {
            (0..runs)
                .into_par_iter()
                .map(|run| measure(setting, &family, run))
                .collect::<Result<_, _>>()
        })?;
        let mechanism = setting.mechanism(1.0)?;
        let candidate = mechanism.candidate_sensitivity();
        let value = mechanism.value_sensitivity();
        let name = setting.name();
        let moved = share(&measured, |m| m.candidate_shift > candidate);
        outcome.bands.push(Band::within(
            format!("Theorem 1 violated ({name})"),
            moved,
            0.0,
            DELTA,
        ));
        let missed = measured.iter().map(|m| m.candidate_missed).sum::<f64>() / n;
        outcome.bands.push(Band::within(
            format!("Theorem 2 violated, ε = 100 ({name})"),
            missed,
            0.0,
            DELTA + (-TAIL).exp(),
        ));
        let moved = share(&measured, |m| m.value_shift > value);
        outcome.bands.push(Band::within(
            format!("Theorem 3 violated ({name})"),
            moved,
            0.0,
            DELTA,
        ));
        let missed = share(&measured, |m| m.value_missed);
        outcome.bands.push(Band::within(
            format!("Theorem 4 violated, ε = 1 ({name})"),
            missed,
            0.0,
            allowed(n),
        ));
        let worst = measured
            .iter()
            .map(|m| m.candidate_shift)
            .fold(0.0, f64::max);
        outcome.bands.push(Band::above(
            format!("Theorem 1 is loose: Δ over largest change ({name})"),
            candidate / worst,
            2.0,
        ));
        if place == 0 {
            usefulness(&measured, &mut outcome);
        }
    }
    laplace_tails(runs, &mut outcome)?;
    worst_case(&mut outcome)?;
    Ok(outcome)
}

/// The mean of a number of each run.
fn mean(measured: &[Measured], number: impl Fn(&Measured) -> f64) -> f64 {
    measured.iter().map(number).sum::<f64>() / measured.len() as f64
}

/// The ε from which the candidate is better than a uniform draw.
fn usefulness(measured: &[Measured], outcome: &mut Outcome) {
    let uniform = mean(measured, |m| m.uniform_regret);
    let [at_1, at_10, at_100, at_256] =
        std::array::from_fn(|place| mean(measured, |m| m.regrets[place]));
    outcome.bands.push(Band::within(
        "regret of λ̃ over a uniform draw's, ε = 1",
        at_1 / uniform,
        0.9,
        1.0,
    ));
    outcome.bands.push(Band::within(
        "regret of λ̃ over a uniform draw's, ε = 10",
        at_10 / uniform,
        0.6,
        0.95,
    ));
    outcome.bands.push(Band::within(
        "regret of λ̃ over a uniform draw's, ε = 100",
        at_100 / uniform,
        0.05,
        0.4,
    ));
    outcome.bands.push(Band::below(
        "regret of λ̃ over a uniform draw's, ε = 256",
        at_256 / uniform,
        0.2,
    ));
    outcome.remarks.push(format!(
        "Algorithm 1 chooses nearly at random at the epsilon people use: expected regret {at_1:.2} at epsilon 1, {at_10:.2} at \
         10, {at_100:.2} at 100, {at_256:.2} at 256, against {uniform:.2} of a uniform draw. Its sensitivity does not fall with T or \
         with more data."
    ));
}

/// Algorithm 3 with regularisation between these bounds.
fn lipschitz(low: f64, high: f64) -> Result<Checked<LipschitzTuning>, ReproduceError> {
    let tuning = LipschitzTuning {
        loss_max: 1.0,
        records: 40,
        lipschitz: 0.25,
        regularization_min: low,
        regularization_max: high,
        epsilon: epsilon_of(1.0)?,
    };
    tuning
        .checked()
        .map_err(|error: ConfigError| ReproduceError::new(error))
}

/// Theorems 6 and 8: the tail of the Laplace draw, Theorem 8 with equality.
fn laplace_tails(runs: u32, outcome: &mut Outcome) -> Result<(), ReproduceError> {
    let free = NoiseFreeTuning {
        candidates: POINTS as u32,
        rounds: 30,
        similarity: 0.99,
        rate_constant: 2.0,
        rate: 0.3,
        dim: 1,
        epsilon: epsilon_of(1.0)?,
        delta: DELTA,
    }
    .checked()
    .map_err(ReproduceError::new)?;
    let mut source =
        Simulated::new(RunSeed::new(SEED, 0).stream(Party::Server, Purpose::Release, 1));
    let draws = 100 * runs;
    let mut missed = 0;
    for _ in 0..draws {
        let value = *free
            .release_value(1.0 - free.regret_term(), &mut source)
            .map_err(ReproduceError::new)?
            .value();
        missed += u32::from((value - 1.0).abs() > free.value_gap(TAIL));
    }
    let share = f64::from(missed) / f64::from(draws);
    outcome.bands.push(Band::within(
        "Theorem 6 violated, ε = 1",
        share,
        0.0,
        allowed(f64::from(draws)),
    ));
    let tuning = lipschitz(0.5, 2.0)?;
    let mut missed = 0;
    for _ in 0..draws {
        let value = *tuning
            .release_value(0.3, &mut source)
            .map_err(ReproduceError::new)?
            .value();
        missed += u32::from((value - 0.3).abs() > tuning.gap(TAIL));
    }
    let share = f64::from(missed) / f64::from(draws);
    let p = (-TAIL).exp();
    let error = 4.0 * (p * (1.0 - p) / f64::from(draws)).sqrt();
    outcome.bands.push(Band::within(
        "Theorem 8 violated, an equality",
        share,
        p - error,
        p + error,
    ));
    for (low, high, expected) in [(0.01, 0.1, 22.5), (0.1, 1.0, 2.28), (0.5, 2.0, 0.39)] {
        let sensitivity = lipschitz(low, high)?.paper_sensitivity();
        let name = format!("Algorithm 3, sensitivity as printed on [{low}, {high}]");
        outcome.bands.push(Band::within(
            name,
            sensitivity,
            expected * 0.98,
            expected * 1.02,
        ));
    }
    Ok(())
}

/// The default release, for comparison: on m records all of its errors fall with m.
fn worst_case(outcome: &mut Outcome) -> Result<(), ReproduceError> {
    let half = epsilon_of(0.5)?;
    let scale = ScoreScale::promised_mean(0.0, 1.0, 10_000).map_err(ReproduceError::new)?;
    let mechanism = WorstCase::new(POINTS as u32, scale, half, half, FailureRule::Abort)
        .map_err(ReproduceError::new)?;
    let gap = mechanism.candidate_gap(0.5, DELTA);
    outcome.bands.push(Band::below(
        "worst-case default, 10,000 records, ε = 1: distance to the best score",
        gap,
        0.005,
    ));
    outcome.remarks.push(
        "Algorithms 1 and 2 are private only under the GP prior; for a given data set they promise nothing. The default \
         release is private for every data set, and its error falls with the number of records."
            .to_owned(),
    );
    Ok(())
}
