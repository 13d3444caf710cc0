//! What is run: a TOML file, read once into values that cannot be wrong afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | `reader` | a TOML table from which every key is taken once: its type, its admissible range, its line |
//! | [`local`], [`output`], [`outsourced`] | every key of a scenario of these trust models |
//! | `federated` | text and `--set` to [`Scenario`]: every key, its range and its default |
//! | [`trust`] | which trust model a scenario is of; scenarios of any |
//! | `shipped` | the scenarios compiled into the program |
//!
//! The meaning of every key is in `sim/scenarios/README.md`.

use serde::Serialize;
use sordino_core::federated::OwnDraw;
use sordino_core::kernel::{KernelError, Stationary, StationaryKernel};
use sordino_core::math::Scalar;
use sordino_core::schedule::Mixing;

use crate::model::federated::Method;
use crate::world::fault::FaultConfig;

pub(crate) mod federated;
pub mod local;
pub mod output;
pub mod outsourced;
pub(crate) mod reader;
mod shipped;
pub mod trust;

pub use reader::{Problem, ScenarioError, nearest};
pub use shipped::{SHIPPED, Shipped};
pub use trust::{AnyScenario, Trust};

/// One experiment: functions, federation, surrogate, privacy. Every field is in its admissible range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Name in tables and folders.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Seed of everything that is simulated.
    pub seed: u64,
    /// Number of paired runs, at least 1.
    pub runs: u32,
    /// What is optimised.
    pub objective: ObjectiveConfig,
    /// Who takes part and how.
    pub federation: FederationConfig,
    /// What the agents believe about their functions.
    pub surrogate: SurrogateConfig,
    /// What a release may tell.
    pub privacy: PrivacyConfig,
    /// What goes wrong; nothing by default.
    #[serde(skip_serializing_if = "FaultConfig::is_none")]
    pub faults: FaultConfig,
}

/// What is optimised.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ObjectiveConfig {
    /// Draws of a Gaussian process on a grid over [0, 1]^dim, perturbed for each agent.
    GpSample(GpSampleConfig),
    /// SVM tuning on the landmine fields: 29 agents, data by path.
    Landmine(TuningConfig),
    /// SVM tuning on the red wines of linfa-datasets: 16 agents of 100 rows.
    Winequality(TuningConfig),
}

impl ObjectiveConfig {
    /// What the regret of this objective is called.
    pub fn regret_name(&self) -> &'static str {
        match self {
            ObjectiveConfig::GpSample(_) => "regret",
            ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => "1 - AUC",
        }
    }

    /// What `--data` must name; nothing if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            ObjectiveConfig::Landmine(_) => Some(crate::world::landmine::FILE),
            ObjectiveConfig::GpSample(_) | ObjectiveConfig::Winequality(_) => None,
        }
    }
}

/// A Gaussian process on a grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpSampleConfig {
    /// Dimension, 1 or 2.
    pub dim: usize,
    /// Grid points in each dimension, from 0 to 1 inclusive.
    pub points_per_axis: u32,
    /// Covariance of the common function.
    #[serde(flatten)]
    pub kernel: KernelConfig,
    /// Variance of the normal noise of an observation.
    pub noise_variance: f64,
    /// An agent's function is the common one plus U[−a, a] at every point, independently; this is a.
    pub perturbation: f64,
}

/// Tuning of a support vector machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningConfig {
    /// Length of the fixed list of candidates.
    pub candidates: u32,
}

/// An isotropic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelConfig {
    /// Which one.
    pub kernel: Stationary,
    /// Lengthscale, in units of the unit box.
    pub lengthscale: f64,
    /// Variance at a point.
    pub signal_variance: f64,
}

impl KernelConfig {
    /// The kernel in the format asked for.
    ///
    /// **Errors**: none for a configuration that was read from a scenario, whose ranges are inside the kernel's.
    pub fn build<T: Scalar>(&self) -> Result<StationaryKernel<T>, KernelError> {
        StationaryKernel::with_shape(self.kernel, T::from_f64(self.lengthscale), T::from_f64(self.signal_variance))
    }
}

/// Who takes part and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FederationConfig {
    /// Number of enrolled agents N.
    pub agents: u32,
    /// Number of queries T after the initial points; there are T releases.
    pub rounds: u32,
    /// Initial points of each agent.
    pub initial_points: u32,
    /// Number of equal parts in each dimension; P is their product.
    pub splits: Vec<u32>,
    /// How the probability of using the server's vector falls.
    pub mixing: Mixing,
    /// What is compared, in the order of tables; no duplicates.
    pub methods: Vec<Method>,
    /// The public constant c₀ that every agent subtracts from its observations.
    pub constant: f64,
}

impl FederationConfig {
    /// Number of regions P.
    pub fn regions(&self) -> u32 {
        self.splits.iter().product()
    }
}

/// What the agents believe about their functions. Public, and nothing of it fitted to private data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurrogateConfig {
    /// Kernel of the agents' Gaussian processes and of the public features.
    #[serde(flatten)]
    pub kernel: KernelConfig,
    /// Noise variance in the own posterior.
    pub noise_variance: f64,
    /// Number of random Fourier features M, the length of an uploaded vector.
    pub features: u32,
    /// Public seed of the features.
    pub feature_seed: u64,
    /// λ in the posterior of the uploaded weights.
    pub regularization: f64,
    /// Features rescaled so that every φ(x) has norm √signal_variance.
    pub normalize_features: bool,
    /// How an agent draws from its own posterior.
    pub own_draw: OwnDraw,
    /// Largest variance that the factor of the prior may lack at any candidate (`own_draw = "joint"`).
    pub prior_tolerance: f64,
    /// Format in which agents compute.
    pub scalar: ScalarKind,
}

/// A floating-point format by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalarKind {
    /// Double precision.
    F64,
    /// Single precision.
    F32,
}

/// What a release may tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrivacyConfig {
    /// Probability q with which each agent is selected for a release.
    pub sampling_probability: f64,
    /// Standard deviation of the noise over the sensitivity of the release.
    pub noise_multiplier: f64,
    /// Norm S to which an agent's joint vector is clipped.
    pub clipping_norm: f64,
    /// The integer grid has 2^this units.
    pub grid_exponent: u32,
    /// δ at which ε is stated.
    pub delta: f64,
    /// a of the softmax weights by which the agents of a region count more in it.
    pub weight_concentration: f64,
    /// The filter refuses a release that would lead beyond this ε at `delta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_epsilon: Option<f64>,
}

impl Scenario {
    /// Reads a scenario from TOML, after the `key=value` settings were applied to it.
    ///
    /// **Errors**: the first problem in the order of the text's sections, with key, value, admissible range and line.
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<Scenario, ScenarioError> {
        federated::with_root(source, text, settings, federated::federated)
    }

    /// Rounds of all methods in all runs, the initial ones included.
    pub fn steps(&self) -> u64 {
        let federation = &self.federation;
        u64::from(self.runs) * federation.methods.len() as u64 * (u64::from(federation.rounds) + 1)
    }

    /// The scenario with every default written out: a TOML file that reads back as the same scenario.
    pub fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }
}
