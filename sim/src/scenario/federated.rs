//! A scenario of the trust model `federated`: every key, its type, its range, its default.

use serde::Serialize;
use sordino_core::federated::{CLIPPING_NORM, NOISE_MULTIPLIER, OwnDraw};
use sordino_core::schedule::Mixing;

use super::faults::{FaultConfig, faults};
use super::head::Head;
use super::kernel::{KernelConfig, kernel};
use super::method::Method;
use super::prior::{PriorConfig, prior};
use super::reader::{Problem, ScenarioError, Section};
use super::root::with_root;
use super::trust::Trust;

/// Name of the file with the mine fields, or of the file in a folder.
pub const LANDMINE_FILE: &str = "landmine.csv";
/// Agents of the model-tuning objectives: their data sets decide.
const LANDMINE_AGENTS: u64 = 29;
const WINE_AGENTS: u64 = 16;
/// The most sub-regions that core's domain may be split into.
const REGIONS_MAX: u32 = 64;

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
    /// The federated prior; nothing if neither a method nor a key asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<PriorConfig>,
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
            ObjectiveConfig::Landmine(_) => Some(LANDMINE_FILE),
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
    /// How agents' functions differ besides; not at all by default.
    #[serde(flatten)]
    pub differences: Differences,
}

/// How agents' functions differ: coins are the agent's own, independent of its region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Differences {
    /// Variance of a smooth function of the agent's own, a draw of a Gaussian process that is added.
    #[serde(skip_serializing_if = "is_zero")]
    pub own_variance: f64,
    /// Its lengthscale; not looked at where the variance is 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub own_lengthscale: f64,
    /// Probability that an agent's function is an independent draw in place of the common one.
    #[serde(skip_serializing_if = "is_zero")]
    pub unrelated: f64,
    /// Probability that an agent has minus the common function.
    #[serde(skip_serializing_if = "is_zero")]
    pub flipped: f64,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

/// Tuning of a support vector machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningConfig {
    /// Length of the fixed list of candidates.
    pub candidates: u32,
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
        with_root(source, text, settings, federated)
    }

    /// What it has in common with scenarios of the other trust models.
    pub fn head(&self) -> Head {
        let (name, description) = (self.name.clone(), self.description.clone());
        Head { trust: Trust::Federated, name, description, seed: self.seed, runs: self.runs }
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

pub(super) fn federated(mut root: Section) -> Result<Scenario, Problem> {
    root.choice("trust", &[(Trust::Federated.name(), ())], Some(()))?;
    root.only(&[
        "name",
        "description",
        "seed",
        "runs",
        "objective",
        "federation",
        "surrogate",
        "privacy",
        "prior",
        "faults",
    ])?;
    let name = root.text("name")?;
    let description = root.text("description")?;
    let seed = root.integer("seed", 0..=i64::MAX as u64, Some(0))?;
    let runs = root.integer("runs", 1..=100_000, Some(10))? as u32;
    let objective = objective(root.section("objective")?)?;
    let federation = federation(root.section("federation")?, &objective)?;
    let surrogate = surrogate(root.section("surrogate")?, &objective)?;
    let privacy = privacy(root.section("privacy")?, &federation, &surrogate)?;
    let required = federation.methods.iter().any(|method| method.is_prior());
    let prior = prior(root.section("prior")?, required, &objective, &federation, &privacy)?;
    let faults = faults(root.section("faults")?)?;
    root.finish()?;
    Ok(Scenario { name, description, seed, runs, objective, federation, surrogate, privacy, prior, faults })
}

#[derive(Clone, Copy)]
enum Kind {
    GpSample,
    Landmine,
    Winequality,
}

fn objective(mut section: Section) -> Result<ObjectiveConfig, Problem> {
    let kinds = [("gp-sample", Kind::GpSample), ("landmine", Kind::Landmine), ("winequality", Kind::Winequality)];
    let objective = match section.choice("kind", &kinds, None)? {
        Kind::GpSample => {
            section.only(&[
                "kind",
                "dim",
                "points_per_axis",
                "kernel",
                "lengthscale",
                "signal_variance",
                "noise_variance",
                "perturbation",
                "own_variance",
                "own_lengthscale",
                "unrelated",
                "flipped",
            ])?;
            let dim = section.integer("dim", 1..=2, Some(1))? as usize;
            let most = if dim == 1 { 20_000 } else { 100 };
            let points_per_axis = section.integer("points_per_axis", 2..=most, None)? as u32;
            let kernel = kernel(&mut section, None)?;
            ObjectiveConfig::GpSample(GpSampleConfig {
                dim,
                points_per_axis,
                kernel,
                noise_variance: section.number("noise_variance", 0.0..=1e6, "a number from 0 to 1e6", None)?,
                perturbation: section.number("perturbation", 0.0..=1e3, "a number from 0 to 1000", Some(0.0))?,
                differences: differences(&mut section, kernel.lengthscale)?,
            })
        }
        Kind::Landmine => ObjectiveConfig::Landmine(tuning(&mut section)?),
        Kind::Winequality => ObjectiveConfig::Winequality(tuning(&mut section)?),
    };
    section.finish()?;
    Ok(objective)
}

fn differences(section: &mut Section, lengthscale: f64) -> Result<Differences, Problem> {
    let own_variance = section.number("own_variance", 0.0..=1e6, "a number from 0 to 1e6", Some(0.0))?;
    let path = section.path_of("own_lengthscale");
    let own = section.optional_number("own_lengthscale", 1e-3..=1e3, "a number from 0.001 to 1000")?;
    if let Some(given) = own.filter(|_| own_variance == 0.0) {
        let admissible = "a lengthscale beside an own_variance above 0".to_owned();
        return Err(Problem::Value { key: path, value: given.to_string(), admissible });
    }
    let mut probability = |key| section.number(key, 0.0..=1.0, "a probability from 0 to 1", Some(0.0));
    Ok(Differences {
        own_variance,
        own_lengthscale: if own_variance > 0.0 { own.unwrap_or(lengthscale) } else { 0.0 },
        unrelated: probability("unrelated")?,
        flipped: probability("flipped")?,
    })
}

fn tuning(section: &mut Section) -> Result<TuningConfig, Problem> {
    section.only(&["kind", "candidates"])?;
    Ok(TuningConfig { candidates: section.integer("candidates", 16..=10_000, Some(1000))? as u32 })
}

fn federation(mut section: Section, objective: &ObjectiveConfig) -> Result<FederationConfig, Problem> {
    let parts_max = match objective {
        ObjectiveConfig::GpSample(config) => config.points_per_axis.min(REGIONS_MAX),
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => 4,
    };
    let (dim, agents, agents_default) = match objective {
        ObjectiveConfig::GpSample(config) => (config.dim, 1..=1_000_000, None),
        ObjectiveConfig::Landmine(_) => (2, LANDMINE_AGENTS..=LANDMINE_AGENTS, Some(LANDMINE_AGENTS)),
        ObjectiveConfig::Winequality(_) => (2, WINE_AGENTS..=WINE_AGENTS, Some(WINE_AGENTS)),
    };
    let methods = Method::ALL.map(|method| (method.name(), method));
    section.only(&["agents", "rounds", "initial_points", "splits", "mixing", "methods", "constant"])?;
    let path = section.path_of("splits");
    let config = FederationConfig {
        agents: section.integer("agents", agents, agents_default)? as u32,
        rounds: section.integer("rounds", 1..=10_000, None)? as u32,
        initial_points: section.integer("initial_points", 1..=1_000, None)? as u32,
        splits: section
            .integers("splits", dim, 1..=u64::from(parts_max), 1)?
            .into_iter()
            .map(|parts| parts as u32)
            .collect(),
        mixing: section.choice(
            "mixing",
            &[("inverse-sqrt", Mixing::InverseSqrt), ("inverse", Mixing::Inverse)],
            Some(Mixing::InverseSqrt),
        )?,
        methods: section.choices("methods", &methods, &Method::ALL)?,
        constant: section.number("constant", -1e6..=1e6, "a number from -1e6 to 1e6", Some(0.0))?,
    };
    section.finish()?;
    if config.regions() > REGIONS_MAX {
        return Err(Problem::Value {
            key: path,
            value: format!("{:?}", config.splits),
            admissible: format!("parts whose product is at most {REGIONS_MAX}"),
        });
    }
    if config.regions() > config.agents {
        return Err(Problem::Value {
            key: path,
            value: format!("{:?}", config.splits),
            admissible: format!(
                "parts whose product is at most the number of agents, {}: every region needs one that explores it",
                config.agents
            ),
        });
    }
    Ok(config)
}

fn surrogate(mut section: Section, objective: &ObjectiveConfig) -> Result<SurrogateConfig, Problem> {
    let truth = match objective {
        ObjectiveConfig::GpSample(config) => Some((config.kernel, config.noise_variance)),
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => None,
    };
    section.only(&[
        "kernel",
        "lengthscale",
        "signal_variance",
        "noise_variance",
        "features",
        "feature_seed",
        "regularization",
        "normalize_features",
        "own_draw",
        "prior_tolerance",
        "scalar",
    ])?;
    let positive = "a number from 1e-9 to 1e6";
    let kernel = kernel(&mut section, truth.map(|(kernel, _)| kernel))?;
    // A noise-free objective still needs a positive noise variance in the surrogate.
    let noise = truth.map(|(_, noise)| noise.max(1e-6));
    let noise_variance = section.number("noise_variance", 1e-9..=1e6, positive, noise)?;
    let config = SurrogateConfig {
        kernel,
        noise_variance,
        features: section.integer("features", 2..=4096, None)? as u32,
        feature_seed: section.integer("feature_seed", 0..=i64::MAX as u64, Some(0))?,
        regularization: section.number("regularization", 1e-9..=1e6, positive, Some(noise_variance))?,
        normalize_features: section.flag("normalize_features", true)?,
        own_draw: section.choice(
            "own_draw",
            &[("joint", OwnDraw::Joint), ("features", OwnDraw::Features)],
            Some(OwnDraw::Joint),
        )?,
        prior_tolerance: section.number(
            "prior_tolerance",
            1e-14..=1.0,
            "a number from 1e-14 to 1, in units of y squared",
            Some(1e-8),
        )?,
        scalar: section.choice(
            "scalar",
            &[("f64", ScalarKind::F64), ("f32", ScalarKind::F32)],
            Some(ScalarKind::F64),
        )?,
    };
    section.finish()?;
    Ok(config)
}

fn privacy(
    mut section: Section,
    federation: &FederationConfig,
    surrogate: &SurrogateConfig,
) -> Result<PrivacyConfig, Problem> {
    section.only(&[
        "sampling_probability",
        "noise_multiplier",
        "clipping_norm",
        "grid_exponent",
        "delta",
        "weight_concentration",
        "max_epsilon",
    ])?;
    let agents = f64::from(federation.agents);
    let length = f64::from(surrogate.features) * f64::from(federation.regions());
    let config = PrivacyConfig {
        sampling_probability: section.number(
            "sampling_probability",
            1e-6..=1.0,
            "a probability from 1e-6 to 1",
            None,
        )?,
        noise_multiplier: section.number_within("noise_multiplier", NOISE_MULTIPLIER, None)?,
        // An unclipped vector has about the norm of its prior draw, √M in each of P regions.
        clipping_norm: section.number_within("clipping_norm", CLIPPING_NORM, Some(1.1 * length.sqrt()))?,
        grid_exponent: section.integer("grid_exponent", 16..=20, Some(20))? as u32,
        delta: section.number("delta", 1e-15..=0.5, "a number from 1e-15 to 0.5", Some(agents.powf(-1.1).min(0.5)))?,
        weight_concentration: section.number(
            "weight_concentration",
            0.0..=100.0,
            "a number from 0 to 100",
            Some(15.0),
        )?,
        max_epsilon: section.optional_number("max_epsilon", 1e-6..=1e6, "a number from 1e-6 to 1e6")?,
    };
    section.finish()?;
    Ok(config)
}
