//! Every key of a scenario of the trust model `federated`.

use serde::Serialize;
use sordino_core::federated::OwnDraw;
use sordino_core::privacy::{ClippingNorm, Event, NeighboringRelation, NoiseMultiplier};
use sordino_core::schedule::Mixing;

use super::faults::FaultConfig;
use super::head::Head;
use super::kernel::KernelConfig;
use super::keys::{keys, kinds};
use super::method::Method;
use super::prior::{PriorConfig, PriorPlan};
use super::reader::{Problem, ScenarioError, Section};
use super::root::with_root;
use super::rule::{Rule, names, number, whole};
use super::sections::SectionTables;

/// Name of the file with the mine fields, or of the file in a folder.
pub const LANDMINE_FILE: &str = "landmine.csv";
/// The most agents that a scenario may have.
const AGENTS_MAX: u64 = 1_000_000;
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

kinds! {
    /// What is optimised.
    pub enum ObjectiveConfig {
        /// Draws of a Gaussian process on a grid over [0, 1]^dim, perturbed for each agent.
        GpSample(GpSampleConfig) = "gp-sample",
        /// SVM tuning on the mine fields: 29 agents, `--data landmine.csv`.
        Landmine(TuningConfig) = "landmine",
        /// SVM tuning on the red wines of linfa-datasets: 16 agents of 100 rows.
        Winequality(TuningConfig) = "winequality",
    }
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

keys! {
    /// A Gaussian process on a grid.
    pub struct GpSampleConfig {
        /// Dimension of the grid.
        dim: usize [is 1] in whole(1, 2);
        /// Grid points in each dimension, from 0 to 1 inclusive; at most 100 in two dimensions.
        points_per_axis: u32 [given 100] in whole(2, 20_000) => whole(2, if dim == 1 { 20_000 } else { 100 });
        /// Covariance of the common function.
        kernel: KernelConfig [group "" None];
        /// Variance of the normal noise of an observation.
        noise_variance: f64 [given 0.01] in number(0.0, 1e6);
        /// a: an agent's function is the common one plus U[−a, a], independently at every point.
        perturbation: f64 [is 0.0] in number(0.0, 1e3);
        /// How agents' functions differ besides.
        differences: Differences [group "" kernel.lengthscale];
    }
}

keys! {
    /// How agents' functions differ; coins are the agent's own, independent of its region.
    pub struct Differences(lengthscale: f64) {
        /// Variance of a smooth function of each agent's own, a draw of a Gaussian process, which is added; unit y².
        own_variance: f64 [is 0.0] in number(0.0, 1e6);
        /// Its lengthscale; its kernel is of the common one's shape.
        own_lengthscale: f64 [like "`lengthscale`" lengthscale] in number(1e-3, 1e3).unit("units of the unit box");
        /// Probability that an agent has an independent draw in place of the common function.
        unrelated: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an agent has minus that function.
        flipped: f64 [is 0.0] in number(0.0, 1.0);
    }
}

impl Copy for Differences {}

impl Differences {
    /// Agents differ point by point at most.
    pub const NONE: Self = Differences { own_variance: 0.0, own_lengthscale: 1.0, unrelated: 0.0, flipped: 0.0 };

    /// Whether agents differ by more than points.
    pub fn is_none(&self) -> bool {
        *self == Differences { own_lengthscale: self.own_lengthscale, ..Differences::NONE }
    }
}

keys! {
    /// Tuning of a support vector machine.
    pub struct TuningConfig {
        /// Length of the fixed list of (C, γ).
        candidates: u32 [is 1000] in whole(16, 10_000);
    }
}

impl ObjectiveConfig {
    pub(super) fn dim(&self) -> usize {
        if let ObjectiveConfig::GpSample(config) = self { config.dim } else { 2 }
    }

    fn parts_max(&self) -> u64 {
        u64::from(if let ObjectiveConfig::GpSample(config) = self {
            config.points_per_axis.min(REGIONS_MAX)
        } else {
            4
        })
    }

    /// The number of agents that the data decide.
    fn agents(&self) -> Option<u32> {
        match self {
            ObjectiveConfig::GpSample(_) => None,
            ObjectiveConfig::Landmine(_) => Some(29),
            ObjectiveConfig::Winequality(_) => Some(16),
        }
    }

    fn truth(&self) -> Option<&GpSampleConfig> {
        if let ObjectiveConfig::GpSample(config) = self { Some(config) } else { None }
    }
}

keys! {
    /// Who takes part and how.
    pub struct FederationConfig(objective: &ObjectiveConfig) {
        /// Enrolled agents N.
        agents: u32 [given 50, "29 (`landmine`), 16 (`winequality`), and no other" objective.agents()]
            in whole(1, AGENTS_MAX)
            => objective.agents().map_or(whole(1, AGENTS_MAX), |agents| whole(u64::from(agents), u64::from(agents)));
        /// Queries T after the initial points; exactly T releases.
        rounds: u32 [given 20] in whole(1, 10_000);
        /// Number of points drawn uniformly in the agent's own region before the first query.
        initial_points: u32 [given 5] in whole(1, 1_000);
        /// Equal parts in each dimension; P is their product, at most 64 and at most the number of agents.
        splits: Vec<u32> [like "all 1" vec![1; objective.dim()]]
            in parts(u64::from(REGIONS_MAX), 1, 2) => parts(objective.parts_max(), objective.dim(), objective.dim());
        /// Probability 1−p_t of using the server's vector in query t: 1/√t or 1/t.
        mixing: Mixing [is Mixing::InverseSqrt];
        /// What is compared, in the order of tables.
        methods: Vec<Method> [like "all" Method::ALL.to_vec()];
        /// c₀: one public constant that every agent subtracts from its observations.
        constant: f64 [is 0.0] in number(-1e6, 1e6);
    }
}

const fn parts(parts_max: u64, least: usize, most: usize) -> Rule {
    whole(1, parts_max).list(least, most).each("dimension")
}

impl FederationConfig {
    /// Number of regions P.
    pub fn regions(&self) -> u32 {
        self.splits.iter().product()
    }

    fn check(&self) -> Result<(), Problem> {
        let most = REGIONS_MAX.min(self.agents);
        if self.regions() <= most {
            return Ok(());
        }
        let admissible = if most == REGIONS_MAX {
            format!("parts whose product is at most {most}")
        } else {
            let why = "every region needs one that explores it";
            format!("parts whose product is at most the number of agents, {most}: {why}")
        };
        Err(Problem::value("federation.splits", format!("{:?}", self.splits), admissible))
    }
}

names! {
    /// A floating-point format by name.
    pub enum ScalarKind {
        /// Double precision.
        F64 = "f64",
        /// Single precision.
        F32 = "f32",
    }
}

keys! {
    /// What the agents believe about their functions; public, and nothing of it fitted to private data.
    pub struct SurrogateConfig(objective: &ObjectiveConfig) {
        /// Kernel of the agents' Gaussian processes and of the public features.
        kernel: KernelConfig [group "the objective's" objective.truth().map(|truth| truth.kernel)];
        /// Noise variance in the agent's own posterior, unit y².
        noise_variance: f64 [given 0.01, "the objective's, at least 1e-6"
            objective.truth().map(|truth| truth.noise_variance.max(1e-6))] in number(1e-9, 1e6);
        /// M, length of a vector for one region.
        features: u32 [given 30] in whole(2, 4096);
        /// Public; run i draws its features from hash(`feature_seed`, i).
        feature_seed: u64 [is 0];
        /// λ in the posterior of the uploaded weights; it decides their norms and so what `clipping_norm` means.
        regularization: f64 [like "`noise_variance`" noise_variance] in number(1e-9, 1e6);
        /// Whether φ(x) is rescaled to norm √`signal_variance`.
        normalize_features: bool [is true];
        /// The agent's own draw: joint over the candidates, or weights of the public features.
        own_draw: OwnDraw [is OwnDraw::Joint];
        /// `joint`: variance that the factor of the prior may lack at any candidate.
        prior_tolerance: f64 [is 1e-8] in number(1e-14, 1.0).unit("units of y squared");
        /// Format in which the agents compute.
        scalar: ScalarKind [is ScalarKind::F64];
    }
}

fn prior_norm(federation: &FederationConfig, surrogate: &SurrogateConfig) -> Result<ClippingNorm, Problem> {
    let norm = 1.1 * (f64::from(surrogate.features) * f64::from(federation.regions())).sqrt();
    ClippingNorm::new(norm).map_err(|error| Problem::value("privacy.clipping_norm", norm, error.admissible))
}

keys! {
    /// What a release may tell; of the private methods.
    pub struct PrivacyConfig(federation: &FederationConfig, surrogate: &SurrogateConfig) {
        /// q: each agent is selected independently, in secret.
        sampling_probability: f64 [given 0.25] in number(1e-6, 1.0);
        /// Noise standard deviation over the sensitivity of the release.
        noise_multiplier: NoiseMultiplier [given 1.0];
        /// S: an agent's vector is clipped to S/√P. An unclipped one has about the norm of its prior draw, √(M·P).
        clipping_norm: ClippingNorm [like "1.1·√(M·P)" prior_norm(federation, surrogate)?];
        /// Releases are integers on a grid of 2^this units.
        grid_exponent: u32 [is 20] in whole(16, 20);
        /// δ at which ε is told; tables show δ = 1e-5 beside it.
        delta: f64 [like "N^−1.1" f64::from(federation.agents).powf(-1.1).min(0.5)] in number(1e-15, 0.5);
        /// a: how much more the agents of a region count in it at first.
        weight_concentration: f64 [is 15.0] in number(0.0, 100.0);
        /// The filter refuses a release that would lead beyond this ε (Rényi accountant, at `delta`).
        max_epsilon: Option<f64> [none 10.0] in number(1e-6, 1e6);
    }
}

impl PrivacyConfig {
    /// One release of the private methods but the federated prior.
    pub fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: self.sampling_probability,
            noise_multiplier: self.noise_multiplier.value(),
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }
}

impl Scenario {
    /// Reads a scenario from TOML, after the `key=value` settings were applied to it.
    ///
    /// **Errors**: the first problem in the order of the text's sections, with key, value, admissible range and line.
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<Scenario, ScenarioError> {
        with_root(source, text, settings, Scenario::read)
    }

    /// What it has in common with scenarios of the other trust models.
    pub fn head(&self) -> Head {
        let (name, description) = (self.name.clone(), self.description.clone());
        Head { trust: "federated".to_owned(), name, description, seed: self.seed, runs: self.runs }
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

    pub(crate) fn read(mut root: Section) -> Result<Self, Problem> {
        let sections: Vec<_> = Scenario::sections().iter().map(|section| section.name).collect();
        let Head { name, description, seed, runs, .. } = Head::take_before(&mut root, &sections, "federated")?;
        let objective = ObjectiveConfig::read(root.section("objective")?)?;
        let federation = FederationConfig::read(root.section("federation")?, &objective)?;
        federation.check()?;
        let surrogate = SurrogateConfig::read(root.section("surrogate")?, &objective)?;
        let privacy = PrivacyConfig::read(root.section("privacy")?, &federation, &surrogate)?;
        let required = federation.methods.iter().any(|method| method.is_prior());
        let spent = (&privacy.event(), federation.rounds, privacy.delta);
        let prior = PriorConfig::read(root.section("prior")?, required, objective.dim(), spent)?;
        let faults = FaultConfig::read(root.section("faults")?)?;
        Ok(Scenario { name, description, seed, runs, objective, federation, surrogate, privacy, prior, faults })
    }

    pub(crate) fn sections() -> Vec<SectionTables> {
        vec![
            SectionTables::of::<ObjectiveConfig>("objective"),
            SectionTables::of::<FederationConfig>("federation"),
            SectionTables::of::<SurrogateConfig>("surrogate"),
            SectionTables::of::<PrivacyConfig>("privacy"),
            SectionTables::of::<PriorPlan>("prior"),
            SectionTables::of::<FaultConfig>("faults"),
        ]
    }
}
