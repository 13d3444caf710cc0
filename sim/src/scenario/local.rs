//! Every key of a scenario of the trust model `local`.

use serde::{Deserialize, Serialize};
use sordino_core::local::{Config, Constants, FirstQuery, Parameters, Rewards};

use super::head::Head;
use super::kernel::{KernelConfig, kernel};
use super::reader::{Problem, Section};

/// Who learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalMethod {
    /// Uniform queries.
    Random,
    /// Truncated rewards, exact posterior.
    TgpUcb,
    /// Adaptive truncation of Nyström features.
    AtaGpUcb,
    /// Median of means over epochs.
    MomaGpUcb,
}

impl LocalMethod {
    /// All, in the order of tables.
    pub const ALL: [LocalMethod; 4] =
        [LocalMethod::Random, LocalMethod::TgpUcb, LocalMethod::AtaGpUcb, LocalMethod::MomaGpUcb];

    /// Name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            LocalMethod::Random => "random",
            LocalMethod::TgpUcb => "tgp-ucb",
            LocalMethod::AtaGpUcb => "ata-gp-ucb",
            LocalMethod::MomaGpUcb => "moma-gp-ucb",
        }
    }
}

/// What is optimised.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LocalObjective {
    /// f = Σ weightᵢ·k(centreᵢ, ·) over equally spaced points of [0, 1], centres among them, weights U[−1, 1].
    KernelSum(KernelSum),
    /// 41 light sensors: the folder with `train_sensordata.csv` and `test_sensordata.csv`.
    LightSensor,
    /// 29 stocks: the file `fin.csv`.
    Stocks,
}

impl LocalObjective {
    /// What `--data` must name; nothing if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            LocalObjective::KernelSum(_) => None,
            LocalObjective::LightSensor => Some("the folder of train_sensordata.csv and test_sensordata.csv"),
            LocalObjective::Stocks => Some("fin.csv"),
        }
    }
}

/// A sum of kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelSum {
    /// Candidates.
    pub points: u32,
    /// Terms of the sum.
    pub centers: u32,
    /// The kernel, also the learners'.
    #[serde(flatten)]
    pub kernel: KernelConfig,
    /// The noise of a reward.
    pub noise: RewardNoise,
}

/// The noise of a reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewardNoise {
    /// U[−R, R].
    Uniform,
    /// Student's t with three degrees of freedom: variance 3, no bound.
    StudentT,
}

/// What users do with their rewards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsersConfig {
    /// ε of one report; missing: rewards are sent as they are and nothing is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Reports of one user, each costing ε.
    pub reports_per_user: u32,
    /// Public B ≥ |f|; missing for a sum of kernels: max |f| of the run's function, which only a simulation knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm_bound: Option<f64>,
    /// Public R ≥ |noise of a reward|; missing where nothing is private and the noise has heavy tails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_bound: Option<f64>,
    /// The grid of reports has 2^this steps.
    pub grid_exponent: u32,
}

/// How the learners learn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LearningConfig {
    /// T.
    pub rounds: u32,
    /// What is compared.
    pub methods: Vec<LocalMethod>,
    /// Constants of the widths.
    pub constants: Constants,
    /// Multiplies every width.
    pub width_factor: f64,
    /// λ.
    pub regularization: f64,
    /// δ of the confidence bounds.
    pub failure_probability: f64,
    /// Accuracy of the Nyström approximation.
    pub accuracy: f64,
    /// k of MoMA; missing: that of the constants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_len: Option<u32>,
    /// ATA estimates anew after at most so many rounds.
    pub stride: u32,
}

/// A scenario of the trust model `local`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocalScenario {
    /// Name, seed, runs.
    #[serde(flatten)]
    pub head: Head,
    /// What is optimised.
    pub objective: LocalObjective,
    /// What users do with their rewards.
    pub users: UsersConfig,
    /// How the learners learn.
    pub learning: LearningConfig,
}

impl LocalScenario {
    /// The scenario with every default written out: TOML that reads back as the same scenario.
    pub fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }

    pub(super) fn read(head: Head, mut root: Section) -> Result<Self, Problem> {
        root.only(&["objective", "users", "learning"])?;
        let objective = objective(root.section("objective")?)?;
        let users = users(root.section("users")?, &objective)?;
        let learning = learning(root.section("learning")?)?;
        root.finish()?;
        let scenario = LocalScenario { head, objective, users, learning };
        // Longer epochs than the run: known before anything runs. B does not enter.
        if scenario.learning.methods.contains(&LocalMethod::MomaGpUcb) {
            let bound = scenario.users.norm_bound.unwrap_or(1.0);
            let k = scenario.config(2, bound).map_or(1, |config| config.epoch_len());
            if k > scenario.learning.rounds {
                return Err(Problem::Value {
                    key: "learning.rounds".into(),
                    value: scenario.learning.rounds.to_string(),
                    admissible: format!("at least one epoch of moma-gp-ucb, {k} rounds"),
                });
            }
        }
        Ok(scenario)
    }

    /// What is known of the reports, |f| ≤ `norm_bound`.
    pub fn rewards(&self, norm_bound: f64) -> Rewards {
        match (self.users.noise_bound, self.users.epsilon) {
            (Some(noise_bound), epsilon) => Rewards::Bounded { norm_bound, noise_bound, epsilon },
            // Student's t with three degrees of freedom.
            (None, _) => {
                let moment = norm_bound * norm_bound + 3.0;
                Rewards::HeavyTailed { norm_bound, moment, central_moment: 3.0, moment_order: 1.0 }
            }
        }
    }

    /// The learners' configuration for N candidates.
    ///
    /// **Errors**: what core refuses; none for a scenario that was read from TOML and a B in range.
    pub fn config(&self, candidates: u32, norm_bound: f64) -> Result<Config, sordino_core::local::ConfigError> {
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
            epoch_len: l.epoch_len,
            nystrom_inflation: None,
            stride: l.stride,
        })
    }
}

#[derive(Clone, Copy)]
enum Kind {
    KernelSum,
    LightSensor,
    Stocks,
}

fn objective(mut section: Section) -> Result<LocalObjective, Problem> {
    let kinds = [("kernel-sum", Kind::KernelSum), ("light-sensor", Kind::LightSensor), ("stocks", Kind::Stocks)];
    let kind = section.choice("kind", &kinds, None)?;
    match kind {
        Kind::KernelSum => {
            section.only(&["kind", "points", "centers", "kernel", "lengthscale", "signal_variance", "noise"])?;
        }
        Kind::LightSensor | Kind::Stocks => section.only(&["kind"])?,
    }
    let objective = match kind {
        Kind::KernelSum => LocalObjective::KernelSum(KernelSum {
            points: section.integer("points", 2..=1000, Some(100))? as u32,
            centers: section.integer("centers", 1..=10_000, Some(100))? as u32,
            kernel: kernel(&mut section, None)?,
            noise: section.choice(
                "noise",
                &[("uniform", RewardNoise::Uniform), ("student-t", RewardNoise::StudentT)],
                Some(RewardNoise::Uniform),
            )?,
        }),
        Kind::LightSensor => LocalObjective::LightSensor,
        Kind::Stocks => LocalObjective::Stocks,
    };
    section.finish()?;
    Ok(objective)
}

fn users(mut section: Section, objective: &LocalObjective) -> Result<UsersConfig, Problem> {
    section.only(&["epsilon", "reports_per_user", "norm_bound", "noise_bound", "grid_exponent"])?;
    let positive = "a positive number from 1e-6 to 1e9";
    let epsilon = section.optional_number("epsilon", 1e-5..=256.0, "a number from 1e-5 to 256")?;
    let reports_per_user = section.integer("reports_per_user", 1..=1_000_000, Some(1))? as u32;
    let bound = section.optional_number("norm_bound", 1e-6..=1e9, positive)?;
    let noise = section.optional_number("noise_bound", 1e-6..=1e9, positive)?;
    let missing = |section: &Section, key: &str, why: &str| Problem::MissingKey {
        key: section.path_of(key),
        admissible: format!("{positive}; {why}"),
    };
    let heavy = matches!(objective, LocalObjective::KernelSum(KernelSum { noise: RewardNoise::StudentT, .. }));
    if bound.is_none() && !matches!(objective, LocalObjective::KernelSum(_)) {
        return Err(missing(&section, "norm_bound", "it is public and must not be estimated from rewards"));
    }
    if noise.is_none() && (!heavy || epsilon.is_some()) {
        return Err(missing(&section, "noise_bound", "it is public, and rewards are clamped to ±(B + R)"));
    }
    if let Some(epsilon) = epsilon
        && epsilon * f64::from(reports_per_user) > 256.0
    {
        return Err(Problem::Value {
            key: section.path_of("reports_per_user"),
            value: reports_per_user.to_string(),
            admissible: "a number of reports that costs a user at most ε = 256".into(),
        });
    }
    let grid_exponent = section.integer("grid_exponent", 4..=24, Some(20))? as u32;
    section.finish()?;
    Ok(UsersConfig { epsilon, reports_per_user, norm_bound: bound, noise_bound: noise, grid_exponent })
}

fn learning(mut section: Section) -> Result<LearningConfig, Problem> {
    section.only(&[
        "rounds",
        "methods",
        "constants",
        "width_factor",
        "regularization",
        "failure_probability",
        "accuracy",
        "epoch_len",
        "stride",
    ])?;
    let methods = LocalMethod::ALL.map(|method| (method.name(), method));
    let open = "a number in (0, 1)";
    let (low, high) = (f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
    let config = LearningConfig {
        rounds: section.integer("rounds", 1..=10_000_000, None)? as u32,
        methods: section.choices("methods", &methods, &LocalMethod::ALL)?,
        constants: section.choice(
            "constants",
            &[("theorem", Constants::Theorem), ("order-wise", Constants::OrderWise)],
            Some(Constants::OrderWise),
        )?,
        width_factor: section.number("width_factor", 0.0..=1e3, "a number from 0 to 1000", Some(1.0))?,
        regularization: section.number("regularization", 1e-6..=1e6, "a number from 1e-6 to 1e6", Some(1.0))?,
        failure_probability: section.number("failure_probability", low..=high, open, Some(0.1))?,
        accuracy: section.number("accuracy", low..=high, open, Some(0.5))?,
        epoch_len: match section.integer("epoch_len", 0..=1 << 20, Some(0))? {
            0 => None,
            k => Some(k as u32),
        },
        stride: section.integer("stride", 1..=1 << 20, Some(25))? as u32,
    };
    section.finish()?;
    Ok(config)
}
