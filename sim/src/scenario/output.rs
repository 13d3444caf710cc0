//! Every key of a scenario of the trust model `output`.

use serde::{Deserialize, Serialize};
use sordino_core::kernel::Stationary;

use super::head::Head;
use super::kernel::{KernelConfig, kernel};
use super::reader::{Problem, Section};

/// Records of the red wines.
pub const WINE_RECORDS: u32 = 1599;

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputMethod {
    /// The best candidate and its score, every candidate evaluated: protects nothing.
    Best,
    /// The candidate with the largest posterior mean after GP-UCB: protects nothing.
    GpUcb,
    /// A candidate drawn uniformly; no score.
    Random,
    /// The default: permute-and-flip and discrete Laplace on clamped scores of all candidates. Private for every data
    /// set.
    WorstCase,
    /// Kusner's release after GP-UCB. **Private only under the GP prior.**
    PriorConditional,
}

impl OutputMethod {
    /// All, in the order of tables.
    pub const ALL: [OutputMethod; 5] = [
        OutputMethod::Best,
        OutputMethod::GpUcb,
        OutputMethod::Random,
        OutputMethod::WorstCase,
        OutputMethod::PriorConditional,
    ];

    /// Name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            OutputMethod::Best => "best",
            OutputMethod::GpUcb => "gp-ucb",
            OutputMethod::Random => "random",
            OutputMethod::WorstCase => "worst-case",
            OutputMethod::PriorConditional => "prior-conditional",
        }
    }

    /// What stands beside it in every table and file.
    pub const fn guarantee(self) -> &'static str {
        match self {
            OutputMethod::Best | OutputMethod::GpUcb => "no protection",
            OutputMethod::Random => "nothing released",
            OutputMethod::WorstCase => "dp",
            OutputMethod::PriorConditional => "private only under the GP prior",
        }
    }

    /// Whether it depends on ε.
    pub const fn is_private(self) -> bool {
        matches!(self, OutputMethod::WorstCase | OutputMethod::PriorConditional)
    }
}

/// What is tuned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OutputObjective {
    /// A draw of the very prior that Kusner's release assumes, variance 1, on equally spaced points of [0, 1].
    GpSample(PriorSample),
    /// A support vector machine on red wines: (C, γ) on a logarithmic grid; the score counts validation wines that are
    /// put on the right side.
    Winequality(WineTuning),
}

/// A draw of the prior.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorSample {
    /// Candidates.
    pub points: u32,
    /// Scores are clamped to ± this, a public constant.
    pub score_bound: f64,
    /// m: the score is taken for a mean over so many records, each in the range.
    pub records: u32,
}

/// Tuning on red wines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WineTuning {
    /// Wines that are public and learned from; the others are validated on and protected.
    pub training_records: u32,
    /// Grid points for each of C in [0.01, 100] and γ in [0.001, 10].
    pub points_per_axis: u32,
}

impl OutputObjective {
    /// |Λ|.
    pub fn candidates(&self) -> u32 {
        match self {
            OutputObjective::GpSample(sample) => sample.points,
            OutputObjective::Winequality(wine) => wine.points_per_axis * wine.points_per_axis,
        }
    }

    /// m.
    pub fn records(&self) -> u32 {
        match self {
            OutputObjective::GpSample(sample) => sample.records,
            OutputObjective::Winequality(wine) => WINE_RECORDS - wine.training_records,
        }
    }

    /// Public range of a score.
    pub const fn score_range(&self) -> (f64, f64) {
        match self {
            OutputObjective::GpSample(sample) => (-sample.score_bound, sample.score_bound),
            OutputObjective::Winequality(_) => (0.0, 1.0),
        }
    }

    /// What a score is.
    pub const fn unit(&self) -> &'static str {
        match self {
            OutputObjective::GpSample(_) => "y",
            OutputObjective::Winequality(_) => "accuracy",
        }
    }
}

/// What is released.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleaseConfig {
    /// ε of the whole release (candidate and score), ascending.
    pub epsilons: Vec<f64>,
    /// Share of ε that is spent on the score.
    pub value_share: f64,
    /// What is compared, in the order of tables.
    pub methods: Vec<OutputMethod>,
    /// Releases of each run and ε whose mean is taken; simulation only: a real one is made once.
    pub draws: u32,
}

/// What Kusner's release and GP-UCB believe: public, not fitted to the validation records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorConfig {
    /// T, evaluations of GP-UCB.
    pub rounds: u32,
    /// Shape of the kernel; its variance is 1.
    pub kernel: Stationary,
    /// In units of the unit box.
    pub lengthscale: f64,
    /// σ: noise that is added to a standardised score before it is used.
    pub noise_std: f64,
    /// k₁: the smallest covariance between neighbouring data sets. Promised, checked by nobody.
    pub similarity: f64,
    /// δ of each of both releases, which covers the prior too.
    pub delta: f64,
    /// A score is standardised as (score − this)/`scale`.
    pub mean: f64,
    /// Unit of the score.
    pub scale: f64,
}

/// A scenario of the trust model `output`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputScenario {
    /// Name, seed, runs.
    #[serde(flatten)]
    pub head: Head,
    /// What is tuned.
    pub objective: OutputObjective,
    /// What is released.
    pub release: ReleaseConfig,
    /// What is believed.
    pub prior: PriorConfig,
}

impl OutputScenario {
    /// The scenario with every default written out: TOML that reads back as the same scenario.
    pub fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }

    pub(super) fn read(head: Head, mut root: Section) -> Result<Self, Problem> {
        root.only(&["objective", "release", "prior"])?;
        let objective = objective(root.section("objective")?)?;
        let release = release(root.section("release")?)?;
        let prior = prior(root.section("prior")?, &objective)?;
        root.finish()?;
        Ok(OutputScenario { head, objective, release, prior })
    }
}

fn objective(mut section: Section) -> Result<OutputObjective, Problem> {
    let objective = match section.choice("kind", &[("gp-sample", true), ("winequality", false)], None)? {
        true => {
            section.only(&["kind", "points", "score_bound", "records"])?;
            OutputObjective::GpSample(PriorSample {
                points: section.integer("points", 2..=2000, Some(200))? as u32,
                score_bound: section.number("score_bound", 1e-3..=1e3, "a number from 0.001 to 1000", Some(4.0))?,
                records: section.integer("records", 1..=1_000_000_000, Some(1000))? as u32,
            })
        }
        false => {
            section.only(&["kind", "training_records", "points_per_axis"])?;
            OutputObjective::Winequality(WineTuning {
                training_records: section.integer("training_records", 50..=1500, Some(300))? as u32,
                points_per_axis: section.integer("points_per_axis", 2..=20, Some(7))? as u32,
            })
        }
    };
    section.finish()?;
    Ok(objective)
}

fn release(mut section: Section) -> Result<ReleaseConfig, Problem> {
    section.only(&["epsilons", "value_share", "methods", "draws"])?;
    let methods = OutputMethod::ALL.map(|method| (method.name(), method));
    let epsilons = section.numbers("epsilons", None, 1e-3..=256.0, "a number from 0.001 to 256")?;
    let epsilons = epsilons.unwrap_or_else(|| vec![0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 256.0]);
    if !epsilons.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Problem::Value {
            key: section.path_of("epsilons"),
            value: format!("{epsilons:?}"),
            admissible: "numbers in ascending order".into(),
        });
    }
    let config = ReleaseConfig {
        epsilons,
        value_share: section.number("value_share", 0.01..=0.99, "a number from 0.01 to 0.99", Some(0.5))?,
        methods: section.choices("methods", &methods, &OutputMethod::ALL)?,
        draws: section.integer("draws", 1..=100_000, Some(100))? as u32,
    };
    section.finish()?;
    Ok(config)
}

fn prior(mut section: Section, objective: &OutputObjective) -> Result<PriorConfig, Problem> {
    section.only(&["rounds", "kernel", "lengthscale", "noise_std", "similarity", "delta", "mean", "scale"])?;
    let (mean, scale) = match objective {
        OutputObjective::GpSample(_) => (Some(0.0), Some(1.0)),
        OutputObjective::Winequality(_) => (None, None),
    };
    let shape: KernelConfig = kernel(&mut section, None)?;
    let config = PriorConfig {
        rounds: section.integer("rounds", 2..=10_000, Some(50))? as u32,
        kernel: shape.kernel,
        lengthscale: shape.lengthscale,
        noise_std: section.number("noise_std", 1e-6..=1e3, "a number from 1e-6 to 1000", Some(0.1))?,
        similarity: section.number("similarity", 0.0..=1.0, "a number from 0 to 1", None)?,
        delta: section.number("delta", f64::MIN_POSITIVE..=1.0 - f64::EPSILON, "a number in (0, 1)", Some(0.1))?,
        mean: section.number("mean", -1e6..=1e6, "a number from -1e6 to 1e6", mean)?,
        scale: section.number("scale", 1e-6..=1e6, "a number from 1e-6 to 1e6", scale)?,
    };
    section.finish()?;
    Ok(config)
}
