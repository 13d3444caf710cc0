//! Every key of a scenario of the trust model `local`.

use sordino_core::local::{Config, Constants, FirstQuery, Parameters, Rewards};

use super::design::hexadecimal;
use super::kernel::{KernelConfig, KernelDefault};
use super::keys::{keys, kinds};
use super::reader::{Problem, Section};
use super::rule::{Rule, between, names, number, whole};
use super::sections::sections;
use super::unused::{Unused, Uses};

names! {
    /// Method by which the server learns.
    pub enum LocalMethod {
        /// Uniform queries.
        Random = "random",
        /// Truncated rewards, exact posterior.
        TgpUcb = "tgp-ucb",
        /// Adaptive truncation of Nyström features.
        AtaGpUcb = "ata-gp-ucb",
        /// Median of means over epochs.
        MomaGpUcb = "moma-gp-ucb",
    }
}

names! {
    /// The noise of a reward.
    pub enum RewardNoise {
        /// Uniform noise U[−R, R].
        Uniform = "uniform",
        /// Student's t with three degrees of freedom: variance 3, no bound.
        StudentT = "student-t",
    }
}

kinds! {
    /// What is optimised.
    pub enum LocalObjective {
        /// f = Σ weightᵢ·k(centreᵢ, ·) over equally spaced points of [0, 1], centres among them,
        /// weights U[−1, 1].
        KernelSum(KernelSum) = "kernel-sum",
        /// 41 light sensors: the folder with `train_sensordata.csv` and `test_sensordata.csv`.
        LightSensor(ReadingsConfig) = "light-sensor",
        /// 29 stocks: the file `fin.csv`.
        Stocks(ReadingsConfig) = "stocks",
    }
}

keys! {
    /// Objectives that the data decide.
    pub struct ReadingsConfig {
        /// SHA-256 of the file, or of the digests of both one after the other, filled in from
        /// `--data`: a run folder says what it was made from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

keys! {
    /// A sum of kernels.
    pub struct KernelSum {
        /// Candidates, equally spaced in [0, 1].
        points: u32 [is 100] in whole(2, 1000);
        /// Terms of the sum.
        centers: u32 [is 100] in whole(1, 10_000);
        /// The kernel, also the learners'.
        kernel: KernelConfig [group "" KernelDefault::NONE];
        /// The noise of a reward: U[−R, R], or Student's t with three degrees of freedom.
        noise: RewardNoise [is RewardNoise::Uniform];
    }
}

impl LocalObjective {
    /// The data that `--data` must name; `None` if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            LocalObjective::KernelSum(_) => None,
            LocalObjective::LightSensor(_) => {
                Some("the folder of train_sensordata.csv and test_sensordata.csv")
            }
            LocalObjective::Stocks(_) => Some("fin.csv"),
        }
    }
}

/// Range of the bounds B and R.
const fn bound() -> Rule {
    number(1e-6, 1e9)
}

keys! {
    /// What users do with their rewards.
    pub struct UsersConfig {
        /// ε of one report; missing: rewards travel as they are and nothing is private.
        epsilon: Option<f64> [none 1.0] in number(1e-5, 256.0);
        /// Number of reports of one user; each costs ε, and together at most 256.
        reports_per_user: u32 [is 1] in whole(1, 1_000_000);
        /// B, public; for `kernel-sum` it may be missing: max |f| of the run's function, which only
        /// a simulation knows.
        norm_bound: Option<f64> [none 1.0] in bound();
        /// R, public; rewards are clamped to ±(B + R). It may be missing for `student-t` without ε
        /// alone.
        noise_bound: Option<f64> [none 1.0] in bound();
        /// Reports are integers on a grid of 2^this steps.
        grid_exponent: u32 [is 20] in whole(4, 24);
    }
}

keys! {
    /// How the learners learn.
    pub struct LearningConfig {
        /// T; at least one epoch of `moma-gp-ucb`.
        rounds: u32 [given 1000] in whole(1, 10_000_000);
        /// What is compared, in the order of tables.
        methods: Vec<LocalMethod> [like "all" LocalMethod::ALL.to_vec()];
        /// Constants of the widths: the theorems', or dropped as in the paper's experiments.
        constants: Constants [is Constants::OrderWise];
        /// Multiplies every width.
        width_factor: f64 [is 1.0] in number(0.0, 1e3);
        /// Regularization λ of the posteriors.
        regularization: f64 [is 1.0] in number(1e-6, 1e6);
        /// δ of the confidence bounds; no privacy parameter.
        failure_probability: f64 [is 0.1] in between(0.0, 1.0);
        /// Accuracy of the Nyström approximation; no privacy parameter.
        accuracy: f64 [is 0.5] in between(0.0, 1.0);
        /// k of `moma-gp-ucb`; missing or 0: that of the constants (12 or 334 at T = 10⁴).
        epoch_len: Option<u32> [none 12] in whole(0, 1 << 20);
        /// `ata-gp-ucb` estimates again every round while t < 64, then every ⌊t/64⌋ rounds, at most
        /// every `stride`.
        stride: u32 [is 25] in whole(1, 1 << 20);
    }
}

sections! {
    /// A scenario of the trust model `local`.
    pub struct LocalScenario of "local" {
        objective: LocalObjective = ();
        users: UsersConfig = ();
        learning: LearningConfig = ();
    }
}

/// Who uses what; a test changes each key for each method and holds the regrets against this table.
const USES: Uses<LocalScenario, LocalMethod> = Uses {
    methods: |scenario| &scenario.learning.methods,
    all: &LocalMethod::ALL,
    name: LocalMethod::name,
    by: &[
        ("users.epsilon", learns),
        ("users.reports_per_user", learns),
        ("users.norm_bound", learns),
        ("users.grid_exponent", learns),
        ("learning.constants", learns),
        ("learning.width_factor", learns),
        ("learning.regularization", learns),
        ("learning.failure_probability", learns),
        ("learning.accuracy", approximates),
        ("learning.epoch_len", |_, method| {
            method == LocalMethod::MomaGpUcb
        }),
        ("learning.stride", |_, method| {
            method == LocalMethod::AtaGpUcb
        }),
    ],
    beside: &[
        ("users.reports_per_user", is_private, "`users.epsilon`"),
        ("users.grid_exponent", is_private, "`users.epsilon`"),
        (
            "learning.accuracy",
            |scenario| scenario.learning.constants == Constants::Theorem,
            "`learning.constants` \"theorem\"",
        ),
    ],
};

/// Who asks users.
fn learns(_: &LocalScenario, method: LocalMethod) -> bool {
    method != LocalMethod::Random
}

/// Who approximates the posterior.
fn approximates(_: &LocalScenario, method: LocalMethod) -> bool {
    matches!(method, LocalMethod::AtaGpUcb | LocalMethod::MomaGpUcb)
}

fn is_private(scenario: &LocalScenario) -> bool {
    scenario.users.epsilon.is_some()
}

impl LocalScenario {
    /// Which of these dotted keys do nothing.
    pub fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        USES.unused(self, keys)
    }

    fn check(&self) -> Result<(), Problem> {
        let LocalScenario {
            objective,
            users,
            learning,
            ..
        } = self;
        if let LocalObjective::LightSensor(readings) | LocalObjective::Stocks(readings) = objective
            && let Some(digest) = &readings.digest
        {
            hexadecimal("objective.digest", digest)?;
        }
        let heavy = matches!(objective, LocalObjective::KernelSum(sum) if sum.noise == RewardNoise::StudentT);
        if users.norm_bound.is_none() && !matches!(objective, LocalObjective::KernelSum(_)) {
            let rule = bound().because("it is public and must not be estimated from rewards");
            return Err(Problem::missing("users.norm_bound", &rule));
        }
        if users.noise_bound.is_none() && (!heavy || users.epsilon.is_some()) {
            let rule = bound().because("it is public, and rewards are clamped to ±(B + R)");
            return Err(Problem::missing("users.noise_bound", &rule));
        }
        if users
            .epsilon
            .is_some_and(|epsilon| epsilon * f64::from(users.reports_per_user) > 256.0)
        {
            let admissible = "a number of reports that costs a user at most ε = 256";
            return Err(Problem::value(
                "users.reports_per_user",
                users.reports_per_user,
                admissible,
            ));
        }
        // Longer epochs than the run: known before anything runs. B does not enter.
        if learning.methods.contains(&LocalMethod::MomaGpUcb) {
            let k = self
                .config(2, users.norm_bound.unwrap_or(1.0))
                .map_or(1, |config| config.epoch_len());
            if k > learning.rounds {
                let admissible = format!("at least one epoch of moma-gp-ucb, {k} rounds");
                return Err(Problem::value(
                    "learning.rounds",
                    learning.rounds,
                    admissible,
                ));
            }
        }
        Ok(())
    }

    /// The public bounds of the rewards, given |f| ≤ `norm_bound`.
    pub fn rewards(&self, norm_bound: f64) -> Rewards {
        match (self.users.noise_bound, self.users.epsilon) {
            (Some(noise_bound), epsilon) => Rewards::Bounded {
                norm_bound,
                noise_bound,
                epsilon,
            },
            // Student's t with three degrees of freedom.
            (None, _) => {
                let moment = norm_bound * norm_bound + 3.0;
                Rewards::HeavyTailed {
                    norm_bound,
                    moment,
                    central_moment: 3.0,
                    moment_order: 1.0,
                }
            }
        }
    }

    /// The learners' configuration for N candidates.
    ///
    /// **Errors**: those of core; none for a scenario that was read from TOML and a B in range.
    pub fn config(
        &self,
        candidates: u32,
        norm_bound: f64,
    ) -> Result<Config, sordino_core::local::ConfigError> {
        let l = &self.learning;
        Config::new(Parameters {
            candidates,
            rounds: l.rounds,
            rewards: self.rewards(norm_bound),
            constants: l.constants,
            width_factor: l.width_factor,
            regularization: l.regularization,
            failure_probability: l.failure_probability,
            accuracy: l.accuracy,
            first_query: FirstQuery::Random,
            // Core knows a length or none; 0 is this file's word for none.
            epoch_len: l.epoch_len.filter(|&epoch_len| epoch_len > 0),
            nystrom_inflation: None,
            stride: l.stride,
        })
    }
}
