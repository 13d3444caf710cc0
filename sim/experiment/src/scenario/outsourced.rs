//! Every key of a scenario of the trust model `outsourced`.

use sordino_core::domain::DIM_MAX;
use sordino_core::kernel::Stationary;
use sordino_core::outsourced::preprocess::LARGEST_NORM;
use sordino_core::privacy::mechanism::projection::GaussianProjection;

use super::design::hexadecimal;
use super::kernel::{KernelConfig, KernelDefault};
use super::keys::{keys, kinds};
use super::reader::{Problem, Section};
use super::rule::{Rule, Ruled, between, names, number, whole};
use super::sections::sections;
use super::unused::{Unused, Uses};

names! {
    /// What is compared.
    pub enum Kind {
        /// GP-UCB on the inputs themselves: protects nothing.
        GpUcb = "gp-ucb",
        /// Rows drawn uniformly.
        Random = "random",
        /// The paper's projection, once for every r of `curator.out_dims`. **Not differentially
        /// private.**
        PaperProjection = "paper-projection",
        /// Gaussian noise on every row: private.
        GaussianProjection = "gaussian-projection",
    }
}

impl Kind {
    /// What stands beside it in every table, file and picture.
    pub const fn guarantee(self) -> &'static str {
        match self {
            Kind::GpUcb => "no protection",
            Kind::Random => "nothing released",
            Kind::PaperProjection => "not differentially private",
            Kind::GaussianProjection => "dp",
        }
    }
}

names! {
    /// Whether larger or smaller values are better.
    pub enum Goal {
        /// The largest value.
        Maximize = "maximize",
        /// The smallest value.
        Minimize = "minimize",
    }
}

impl Goal {
    /// What turns a value so that more is better.
    pub const fn sign(self) -> f64 {
        match self {
            Goal::Maximize => 1.0,
            Goal::Minimize => -1.0,
        }
    }
}

kinds! {
    /// What is optimised: a value for every row of a table of inputs.
    pub enum OutsourcedObjective {
        /// Draws of a Gaussian process on a grid over the unit box.
        GpSample(GridSample) = "gp-sample",
        /// −ln(Branin + 1) on a grid over [−5, 10] × [0, 15], seen as the unit square.
        Branin(BraninGrid) = "branin",
        /// Columns of a CSV file of your own: `--data FILE`.
        Csv(CsvColumns) = "csv",
    }
}

keys! {
    /// A Gaussian process on a grid.
    pub struct GridSample {
        /// Dimension of the grid.
        dim: usize [is 2] in whole(1, 2);
        /// Grid points in each dimension; at most 200 in two dimensions.
        points_per_axis: u32 [given 15] in whole(2, 20_000) => whole(2, if dim == 1 { 20_000 } else { 200 });
        /// Kernel of the function.
        kernel: KernelConfig [group "" KernelDefault::NONE];
        /// Variance of the normal noise of an observation.
        noise_variance: f64 [is 0.0] in number(0.0, 1e6);
    }
}

keys! {
    /// The grid of Branin's function.
    pub struct BraninGrid {
        /// Grid points in each dimension.
        points_per_axis: u32 [is 31] in whole(2, 200);
    }
}

keys! {
    /// Columns of a CSV file.
    pub struct CsvColumns {
        /// Columns of the inputs, found by the header.
        inputs: Vec<String> [given ["area", "floor"]] in String::RULE.list(1, DIM_MAX).different();
        /// **Public** range of each input in the file's units; a row outside is moved to its edge.
        /// Never measured on the data: centre and scale come from it, and constants of the data
        /// would void the guarantee.
        input_ranges: Vec<[f64; 2]> [given [[10, 200], [1, 50]]] in ranges(1, DIM_MAX) => ranges(inputs.len(), inputs.len());
        /// Inputs that are replaced by their logarithm, after the range is applied; the range must
        /// be positive.
        log_inputs: Vec<String> [is Vec::new()] in String::RULE.list(0, DIM_MAX).different();
        /// The column that is optimised; not among the inputs.
        output: String [given "price"];
        /// Whether its logarithm is taken; it must be positive then.
        log_output: bool [is false];
        /// Whether larger or smaller values are better.
        goal: Goal [given "minimize"];
        /// SHA-256 of the file, filled in from `--data`: a run folder says which table it was made
        /// from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

const fn ranges(least: usize, most: usize) -> Rule {
    <[f64; 2]>::RULE
        .list(least, most)
        .each("input")
        .because("they are public and must not be measured on the data")
}

impl OutsourcedObjective {
    /// Number of columns d.
    pub fn dim(&self) -> usize {
        match self {
            OutsourcedObjective::GpSample(sample) => sample.dim,
            OutsourcedObjective::Branin(_) => 2,
            OutsourcedObjective::Csv(columns) => columns.inputs.len(),
        }
    }

    /// The data that `--data` must name; `None` if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        matches!(self, OutsourcedObjective::Csv(_)).then_some("a CSV file")
    }
}

keys! {
    /// What leaves the curator.
    pub struct CuratorConfig {
        /// ε of `gaussian-projection`, one release; also what the paper's formula is given.
        epsilon: f64 [given 3.0] in number(1e-3, 256.0);
        /// δ of both mechanisms.
        delta: f64 [given 1e-5] in number(1e-15, 0.5);
        /// r of `paper-projection`, one method each.
        out_dims: Vec<u32> [is vec![10]] in whole(1, 1024).list(1, 6).different();
        /// Half the diagonal of the box of ranges becomes this norm; a smaller one makes a unit
        /// longer, protects more and costs more.
        largest_norm: f64 [is LARGEST_NORM] in number(1e-3, LARGEST_NORM);
    }
}

/// The defaults of `modeler` that come from the objective: kernel, lengthscales, signal and noise
/// variance.
fn truth(objective: &OutsourcedObjective) -> Option<(KernelConfig, f64)> {
    match objective {
        OutsourcedObjective::GpSample(sample) => {
            Some((sample.kernel, sample.noise_variance.max(1e-9)))
        }
        _ => None,
    }
}

keys! {
    /// What the modeler believes; public, and none of it fitted to the curator's rows or values.
    pub struct ModelerConfig(objective: &OutsourcedObjective) {
        /// T, queries after one random initial row.
        rounds: u32 [given 20] in whole(1, 10_000);
        /// What is compared, in the order of tables.
        methods: Vec<Kind> [like "all" Kind::ALL.to_vec()];
        /// The covariance function.
        kernel: Stationary [like "the objective's; `squared-exponential`"
            truth(objective).map_or(Stationary::SquaredExponential, |(kernel, _)| kernel.kernel)];
        /// In units of the inputs, of their logarithms where they are taken, of the unit box for
        /// grids.
        lengthscales: Vec<f64> [given [20, 5], "the objective's (`gp-sample`)"
            truth(objective).map(|(kernel, _)| vec![kernel.lengthscale; objective.dim()])]
            in scales(1, DIM_MAX) => scales(objective.dim(), objective.dim());
        /// Variance at a point, unit y².
        signal_variance: f64 [given 1.0, "the objective's (`gp-sample`)"
            truth(objective).map(|(kernel, _)| kernel.signal_variance)] in number(1e-9, 1e9);
        /// Variance of an observation, unit y².
        noise_variance: f64 [given 0.01, "the objective's (`gp-sample`)" truth(objective).map(|(_, noise)| noise)]
            in number(1e-9, 1e9);
        /// The same on noisy rows, where it must cover what their noise does to y.
        private_noise_variance: f64 [like "the larger of `noise_variance` and a tenth of `signal_variance`"
            private_noise(noise_variance, signal_variance)] in number(1e-9, 1e9);
        /// Constant mean of y (of its logarithm; before the sign of `minimize`).
        prior_mean: f64 [is 0.0] in number(-1e12, 1e12);
        /// Probability with which the confidence bound may fail; no privacy parameter.
        failure_probability: f64 [is 0.05] in between(0.0, 1.0);
        /// Whether a row may be asked for again.
        repeats: bool [is true];
    }
}

const fn scales(least: usize, most: usize) -> Rule {
    number(1e-9, 1e9)
        .list(least, most)
        .each("input")
        .because("public, not fitted to the data")
}

sections! {
    /// A scenario of the trust model `outsourced`.
    pub struct OutsourcedScenario of "outsourced" {
        objective: OutsourcedObjective = ();
        curator: CuratorConfig = ();
        modeler: ModelerConfig = (&objective);
    }
}

/// Who uses what; a test changes each key for each method and holds the regrets against this table.
const USES: Uses<OutsourcedScenario, Kind> = Uses {
    methods: |scenario| &scenario.modeler.methods,
    all: &Kind::ALL,
    name: Kind::name,
    by: &[
        ("objective.noise_variance", searches),
        ("curator.epsilon", releases),
        ("curator.delta", releases),
        ("curator.out_dims", |_, kind| kind == Kind::PaperProjection),
        ("curator.largest_norm", releases),
        ("modeler.kernel", searches),
        ("modeler.lengthscales", searches),
        ("modeler.signal_variance", searches),
        ("modeler.noise_variance", |scenario, kind| match kind {
            Kind::GpUcb | Kind::PaperProjection => true,
            Kind::GaussianProjection => scenario.modeler.is_derived(),
            Kind::Random => false,
        }),
        ("modeler.private_noise_variance", |_, kind| {
            kind == Kind::GaussianProjection
        }),
        ("modeler.prior_mean", searches),
        ("modeler.failure_probability", searches),
        ("modeler.repeats", searches),
    ],
    beside: &[],
};

/// Who asks for rows by a model.
fn searches(_: &OutsourcedScenario, kind: Kind) -> bool {
    kind != Kind::Random
}

/// Whose rows leave the curator.
fn releases(_: &OutsourcedScenario, kind: Kind) -> bool {
    matches!(kind, Kind::PaperProjection | Kind::GaussianProjection)
}

impl ModelerConfig {
    /// Whether the noise of noisy rows is what follows from the others.
    fn is_derived(&self) -> bool {
        self.private_noise_variance == private_noise(self.noise_variance, self.signal_variance)
    }
}

/// The noise of noisy rows where the scenario does not say it.
fn private_noise(noise_variance: f64, signal_variance: f64) -> f64 {
    noise_variance.max(0.1 * signal_variance)
}

impl OutsourcedScenario {
    /// Which of these dotted keys do nothing.
    pub fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        USES.unused(self, keys)
    }

    fn check(&self) -> Result<(), Problem> {
        if let OutsourcedObjective::Csv(columns) = &self.objective {
            columns.check()?;
        }
        let CuratorConfig { epsilon, delta, .. } = self.curator;
        let dim = self.objective.dim();
        // Known before anything runs: some (ε, δ) no noise reaches.
        GaussianProjection::identity(dim, epsilon, delta, LARGEST_NORM, 20).map_err(|error| {
            let admissible = format!("what the Gaussian mechanism reaches ({error})");
            Problem::value(
                "curator.epsilon",
                format!("{epsilon} at delta = {delta}"),
                admissible,
            )
        })?;
        let rows = match &self.objective {
            OutsourcedObjective::GpSample(sample) => sample.points_per_axis.pow(dim as u32),
            OutsourcedObjective::Branin(grid) => grid.points_per_axis * grid.points_per_axis,
            OutsourcedObjective::Csv(_) => u32::MAX,
        };
        let ModelerConfig {
            rounds, repeats, ..
        } = self.modeler;
        if !repeats && rounds >= rows {
            let admissible = format!("fewer than the {rows} rows, because `repeats = false`");
            return Err(Problem::value("modeler.rounds", rounds, admissible));
        }
        Ok(())
    }
}

impl CsvColumns {
    fn check(&self) -> Result<(), Problem> {
        for name in &self.log_inputs {
            match self.inputs.iter().position(|input| input == name) {
                None => {
                    return Err(Problem::value(
                        "objective.log_inputs",
                        name,
                        "names that are among `inputs`",
                    ));
                }
                Some(i) if !(self.input_ranges[i][0] > 0.0) => {
                    let value = format!("{:?} of `{name}`", self.input_ranges[i]);
                    return Err(Problem::value(
                        "objective.input_ranges",
                        value,
                        "positive where the logarithm is taken",
                    ));
                }
                Some(_) => {}
            }
        }
        if self.inputs.contains(&self.output) {
            return Err(Problem::value(
                "objective.output",
                &self.output,
                "a column that is not among `inputs`",
            ));
        }
        self.digest
            .as_ref()
            .map_or(Ok(()), |text| hexadecimal("objective.digest", text))
    }
}
