//! Every key of a scenario of the trust model `output`.

use sordino_core::kernel::Stationary;

use super::keys::{keys, kinds};
use super::reader::{Problem, Section};
use super::rule::{between, names, number, whole};
use super::sections::sections;
use super::unused::{Unused, Uses};

/// Number of records of the red wines.
pub(crate) const WINE_RECORDS: u32 = 1599;

names! {
    /// What is published.
    pub enum OutputMethod {
        /// The best candidate and its score, every candidate evaluated: protects nothing.
        Best = "best",
        /// The candidate with the largest posterior mean after GP-UCB: protects nothing.
        GpUcb = "gp-ucb",
        /// A candidate drawn uniformly; no score.
        Random = "random",
        /// The default: permute-and-flip and discrete Laplace on clamped scores of all candidates.
        /// Private for every data set.
        WorstCase = "worst-case",
        /// Kusner's release after GP-UCB. **Private only under the GP prior.**
        PriorConditional = "prior-conditional",
    }
}

impl OutputMethod {
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
        matches!(
            self,
            OutputMethod::WorstCase | OutputMethod::PriorConditional
        )
    }
}

kinds! {
    /// What is tuned in secret.
    pub enum OutputObjective {
        /// A draw of the very prior that Kusner's release assumes, variance 1, on equally spaced
        /// points of [0, 1].
        GpSample(PriorSample) = "gp-sample",
        /// A support vector machine on red wines: C in [0.01, 100], γ in [0.001, 10], logarithmic
        /// grid; the score counts validation wines that are put on the right side.
        Winequality(WineTuning) = "winequality",
    }
}

keys! {
    /// A draw of the prior.
    pub struct PriorSample {
        /// Number of candidates.
        points: u32 [is 200] in whole(2, 2000);
        /// Scores are clamped to ± this, a public constant.
        score_bound: f64 [is 4.0] in number(1e-3, 1e3);
        /// m: the score is taken for a mean over this number of records, each in the range.
        records: u32 [is 1000] in whole(1, 1_000_000_000);
    }
}

keys! {
    /// Tuning on red wines.
    pub struct WineTuning {
        /// Wines that are public and learned from; the rest of 1,599 is scored on and protected.
        /// Every run draws another split.
        training_records: u32 [is 300] in whole(50, 1500);
        /// Candidates are its square.
        points_per_axis: u32 [is 7] in whole(2, 20);
    }
}

impl OutputObjective {
    /// Number of candidates |Λ|.
    pub fn candidates(&self) -> u32 {
        match self {
            OutputObjective::GpSample(sample) => sample.points,
            OutputObjective::Winequality(wine) => wine.points_per_axis * wine.points_per_axis,
        }
    }

    /// Number of records m.
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

    /// The unit of a score, in words.
    pub const fn unit(&self) -> &'static str {
        match self {
            OutputObjective::GpSample(_) => "y",
            OutputObjective::Winequality(_) => "accuracy",
        }
    }
}

keys! {
    /// What is released.
    pub struct ReleaseConfig {
        /// ε of candidate and score together.
        epsilons: Vec<f64> [is vec![0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 256.0]]
            in number(1e-3, 256.0).list(1, 64).ascending();
        /// Share of ε that is spent on the score.
        value_share: f64 [is 0.5] in number(0.01, 0.99);
        /// What is compared: the best of all candidates and the winner of GP-UCB, both unprotected;
        /// a uniform draw; the two releases.
        methods: Vec<OutputMethod> [like "all" OutputMethod::ALL.to_vec()];
        /// Releases of each run and ε whose mean is shown; simulation only: a real one is made
        /// once.
        draws: u32 [is 100] in whole(1, 100_000);
    }
}

fn standardised<T>(objective: &OutputObjective, value: T) -> Option<T> {
    matches!(objective, OutputObjective::GpSample(_)).then_some(value)
}

keys! {
    /// What Kusner's release and GP-UCB believe; public, and not fitted to the scored records.
    pub struct PriorConfig(objective: &OutputObjective) {
        /// T, evaluations of GP-UCB; `best` and `worst-case` evaluate every candidate.
        rounds: u32 [is 50] in whole(2, 10_000);
        /// Shape of the kernel; its variance is 1, because the release is stated for standardised
        /// scores.
        kernel: Stationary [is Stationary::SquaredExponential];
        /// Distance over which scores stay alike.
        lengthscale: f64 [given 0.1] in number(1e-3, 1e3).unit("units of the unit box");
        /// σ: normal noise added to every standardised score before it is used.
        noise_std: f64 [is 0.1] in number(1e-6, 1e3);
        /// k₁, the smallest covariance of the functions of neighbouring data sets: your promise,
        /// which nothing checks.
        similarity: f64 [given 0.99] in number(0.0, 1.0);
        /// δ of each of both releases; it covers the prior, too.
        delta: f64 [is 0.1] in between(0.0, 1.0);
        /// A score is standardised as (score − mean)/scale.
        mean: f64 [given 0.5, "0 (`gp-sample`)" standardised(objective, 0.0)] in number(-1e6, 1e6);
        /// Unit of the score.
        scale: f64 [given 0.1, "1 (`gp-sample`)" standardised(objective, 1.0)] in number(1e-6, 1e6);
    }
}

sections! {
    /// A scenario of the trust model `output`.
    pub struct OutputScenario of "output" {
        objective: OutputObjective = ();
        release: ReleaseConfig = ();
        prior: PriorConfig = (&objective);
    }
}

/// Who uses what; a test changes each key for each method and holds the results against this table.
const USES: Uses<OutputScenario, OutputMethod> = Uses {
    methods: |scenario| &scenario.release.methods,
    all: &OutputMethod::ALL,
    name: OutputMethod::name,
    by: &[
        ("release.epsilons", releases),
        ("release.value_share", releases),
        ("release.draws", releases),
        ("prior.rounds", searches),
        ("prior.kernel", depends),
        ("prior.lengthscale", depends),
        ("prior.noise_std", searches),
        ("prior.similarity", |_, method| {
            method == OutputMethod::PriorConditional
        }),
        ("prior.delta", searches),
        ("prior.mean", searches),
        ("prior.scale", searches),
    ],
    beside: &[],
};

/// Who releases something.
fn releases(_: &OutputScenario, method: OutputMethod) -> bool {
    method.is_private()
}

/// Who searches by the prior.
fn searches(_: &OutputScenario, method: OutputMethod) -> bool {
    matches!(method, OutputMethod::GpUcb | OutputMethod::PriorConditional)
}

/// The same, or everybody where scores are drawn of the prior; the best candidate loses nothing,
/// whatever they are.
fn depends(scenario: &OutputScenario, method: OutputMethod) -> bool {
    let drawn = matches!(scenario.objective, OutputObjective::GpSample(_));
    searches(scenario, method) || (drawn && method != OutputMethod::Best)
}

impl OutputScenario {
    /// Which of these dotted keys do nothing.
    pub fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        USES.unused(self, keys)
    }

    fn check(&self) -> Result<(), Problem> {
        Ok(())
    }
}
