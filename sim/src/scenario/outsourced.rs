//! Every key of a scenario of the trust model `outsourced`.

use serde::{Deserialize, Serialize};
use sordino_core::domain::DIM_MAX;
use sordino_core::kernel::Stationary;
use sordino_core::outsourced::preprocess::LARGEST_NORM;
use sordino_core::privacy::mechanism::projection::GaussianProjection;

use super::head::Head;
use super::kernel::{KernelConfig, kernel};
use super::reader::{Problem, Section};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// GP-UCB on the inputs themselves: protects nothing.
    GpUcb,
    /// Rows drawn uniformly.
    Random,
    /// The paper's projection, once for every r of `curator.out_dims`. **Not differentially private.**
    PaperProjection,
    /// Gaussian noise on every row: private.
    GaussianProjection,
}

impl Kind {
    /// All, in the order of tables.
    pub const ALL: [Kind; 4] = [Kind::GpUcb, Kind::Random, Kind::PaperProjection, Kind::GaussianProjection];

    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::GpUcb => "gp-ucb",
            Kind::Random => "random",
            Kind::PaperProjection => "paper-projection",
            Kind::GaussianProjection => "gaussian-projection",
        }
    }

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

/// What is optimised: a value for every row of a table of inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OutsourcedObjective {
    /// Draws of a Gaussian process on a grid over the unit box.
    GpSample(GridSample),
    /// −ln(Branin + 1) on a grid over [−5, 10] × [0, 15], seen as the unit square.
    Branin {
        /// Grid points in each dimension.
        points_per_axis: u32,
    },
    /// Columns of a CSV file of the user's own: `--data FILE`.
    Csv(CsvColumns),
}

/// A Gaussian process on a grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridSample {
    /// 1 or 2.
    pub dim: usize,
    /// Grid points in each dimension.
    pub points_per_axis: u32,
    /// Its kernel, in units of the unit box.
    #[serde(flatten)]
    pub kernel: KernelConfig,
    /// Variance of the normal noise of an observation.
    pub noise_variance: f64,
}

/// Columns of a CSV file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CsvColumns {
    /// Names of the input columns.
    pub inputs: Vec<String>,
    /// **Public** range of each, in the file's units: what lies outside is moved to its edge. Known without the data.
    pub input_ranges: Vec<[f64; 2]>,
    /// Those inputs of which the logarithm is taken, after the range.
    pub log_inputs: Vec<String>,
    /// Name of the column that is optimised.
    pub output: String,
    /// Whether its logarithm is taken.
    pub log_output: bool,
    /// Which end is sought.
    pub goal: Goal,
}

/// Which end is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The largest value.
    Maximize,
    /// The smallest value.
    Minimize,
}

impl OutsourcedObjective {
    /// d.
    pub fn dim(&self) -> usize {
        match self {
            OutsourcedObjective::GpSample(sample) => sample.dim,
            OutsourcedObjective::Branin { .. } => 2,
            OutsourcedObjective::Csv(columns) => columns.inputs.len(),
        }
    }
}

/// What leaves the curator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CuratorConfig {
    /// ε of the private release, and the one the paper claims for its own.
    pub epsilon: f64,
    /// δ of both.
    pub delta: f64,
    /// r of the paper's projection, one method each.
    pub out_dims: Vec<u32>,
    /// Half the diagonal of the box of public ranges becomes this norm; a shift of a row by 1 is then what is protected.
    pub largest_norm: f64,
}

/// What the modeler believes; public, and nothing of it fitted to the curator's rows or values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelerConfig {
    /// Queries T after the initial row.
    pub rounds: u32,
    /// What is compared, in the order of tables.
    pub methods: Vec<Kind>,
    /// Shape of the kernel.
    pub kernel: Stationary,
    /// One for each input, in its units (logarithms where they are taken; the unit box for grids).
    pub lengthscales: Vec<f64>,
    /// Unit y².
    pub signal_variance: f64,
    /// Unit y².
    pub noise_variance: f64,
    /// The same on noisy rows, where it must cover what their noise does to y.
    pub private_noise_variance: f64,
    /// Constant mean of y (of its logarithm; before the sign of `minimize`).
    pub prior_mean: f64,
    /// Probability with which the confidence bound may fail; no privacy parameter.
    pub failure_probability: f64,
    /// Whether a row may be queried again.
    pub repeats: bool,
}

/// A scenario of the trust model `outsourced`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutsourcedScenario {
    /// Name, seed, runs.
    #[serde(flatten)]
    pub head: Head,
    /// What is optimised.
    pub objective: OutsourcedObjective,
    /// What leaves the curator.
    pub curator: CuratorConfig,
    /// What the modeler believes.
    pub modeler: ModelerConfig,
}

impl OutsourcedObjective {
    /// What `--data` must name; nothing if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        matches!(self, OutsourcedObjective::Csv(_)).then_some("a CSV file")
    }
}

impl OutsourcedScenario {
    /// The scenario with every default written out: TOML that reads back as the same scenario.
    pub fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }

    pub(super) fn read(head: Head, mut root: Section) -> Result<Self, Problem> {
        root.only(&["objective", "curator", "modeler"])?;
        let objective = objective(root.section("objective")?)?;
        let curator = curator(root.section("curator")?, objective.dim())?;
        let modeler = modeler(root.section("modeler")?, &objective)?;
        root.finish()?;
        Ok(OutsourcedScenario { head, objective, curator, modeler })
    }
}

#[derive(Clone, Copy)]
enum Source {
    GpSample,
    Branin,
    Csv,
}

fn objective(mut section: Section) -> Result<OutsourcedObjective, Problem> {
    let kinds = [("gp-sample", Source::GpSample), ("branin", Source::Branin), ("csv", Source::Csv)];
    let objective = match section.choice("kind", &kinds, None)? {
        Source::GpSample => {
            section.only(&[
                "kind",
                "dim",
                "points_per_axis",
                "kernel",
                "lengthscale",
                "signal_variance",
                "noise_variance",
            ])?;
            let dim = section.integer("dim", 1..=2, Some(2))? as usize;
            let most = if dim == 1 { 20_000 } else { 200 };
            OutsourcedObjective::GpSample(GridSample {
                dim,
                points_per_axis: section.integer("points_per_axis", 2..=most, None)? as u32,
                kernel: kernel(&mut section, None)?,
                noise_variance: section.number("noise_variance", 0.0..=1e6, "a number from 0 to 1e6", Some(0.0))?,
            })
        }
        Source::Branin => {
            section.only(&["kind", "points_per_axis"])?;
            let points_per_axis = section.integer("points_per_axis", 2..=200, Some(31))? as u32;
            OutsourcedObjective::Branin { points_per_axis }
        }
        Source::Csv => OutsourcedObjective::Csv(columns(&mut section)?),
    };
    section.finish()?;
    Ok(objective)
}

fn columns(section: &mut Section) -> Result<CsvColumns, Problem> {
    section.only(&["kind", "inputs", "input_ranges", "log_inputs", "output", "log_output", "goal"])?;
    let refuse = |section: &Section, key: &str, value: String, admissible: &str| Problem::Value {
        key: section.path_of(key),
        value,
        admissible: admissible.to_owned(),
    };
    let names = "a list of names of columns, 1 to 16";
    let inputs = section
        .texts("inputs")?
        .ok_or_else(|| Problem::MissingKey { key: section.path_of("inputs"), admissible: names.to_owned() })?;
    if inputs.is_empty() || inputs.len() > DIM_MAX {
        return Err(refuse(section, "inputs", format!("{} names", inputs.len()), names));
    }
    let input_ranges = section.intervals("input_ranges", inputs.len())?.ok_or_else(|| Problem::MissingKey {
        key: section.path_of("input_ranges"),
        admissible: format!(
            "{} intervals [low, high]; they are public and must not be measured on the data",
            inputs.len()
        ),
    })?;
    let log_inputs = section.texts("log_inputs")?.unwrap_or_default();
    for name in &log_inputs {
        match inputs.iter().position(|input| input == name) {
            None => return Err(refuse(section, "log_inputs", name.clone(), "names that are among `inputs`")),
            Some(i) if !(input_ranges[i][0] > 0.0) => {
                let value = format!("{:?} of `{name}`", input_ranges[i]);
                return Err(refuse(section, "input_ranges", value, "positive where the logarithm is taken"));
            }
            Some(_) => {}
        }
    }
    let output = section.text("output")?;
    if inputs.contains(&output) {
        return Err(refuse(section, "output", output, "a column that is not among `inputs`"));
    }
    Ok(CsvColumns {
        inputs,
        input_ranges,
        log_inputs,
        output,
        log_output: section.flag("log_output", false)?,
        goal: section.choice("goal", &[("maximize", Goal::Maximize), ("minimize", Goal::Minimize)], None)?,
    })
}

fn curator(mut section: Section, dim: usize) -> Result<CuratorConfig, Problem> {
    section.only(&["epsilon", "delta", "out_dims", "largest_norm"])?;
    let out_dims: Vec<u32> = match section.numbers("out_dims", None, 1.0..=1024.0, "a whole number from 1 to 1024")? {
        None => vec![10],
        Some(list)
            if list.len() <= 6 && list.iter().enumerate().all(|(i, r)| r.fract() == 0.0 && !list[..i].contains(r)) =>
        {
            list.iter().map(|r| *r as u32).collect()
        }
        Some(list) => {
            return Err(Problem::Value {
                key: section.path_of("out_dims"),
                value: format!("{list:?}"),
                admissible: "1 to 6 different whole numbers from 1 to 1024".into(),
            });
        }
    };
    let config = CuratorConfig {
        epsilon: section.number("epsilon", 1e-3..=256.0, "a number from 0.001 to 256", None)?,
        delta: section.number("delta", 1e-15..=0.5, "a number from 1e-15 to 0.5", None)?,
        out_dims,
        largest_norm: section.number(
            "largest_norm",
            1e-3..=LARGEST_NORM,
            "a number from 0.001 to 25",
            Some(LARGEST_NORM),
        )?,
    };
    // Known before anything runs: some (ε, δ) no noise reaches.
    GaussianProjection::identity(dim, config.epsilon, config.delta, LARGEST_NORM, 20).map_err(|error| {
        Problem::Value {
            key: section.path_of("epsilon"),
            value: format!("{} at delta = {}", config.epsilon, config.delta),
            admissible: format!("what the Gaussian mechanism reaches ({error})"),
        }
    })?;
    section.finish()?;
    Ok(config)
}

fn modeler(mut section: Section, objective: &OutsourcedObjective) -> Result<ModelerConfig, Problem> {
    section.only(&[
        "rounds",
        "methods",
        "kernel",
        "lengthscales",
        "signal_variance",
        "noise_variance",
        "private_noise_variance",
        "prior_mean",
        "failure_probability",
        "repeats",
    ])?;
    let dim = objective.dim();
    let (shape, scales, signal, noise) = match objective {
        OutsourcedObjective::GpSample(sample) => {
            let kernel = sample.kernel;
            let noise = sample.noise_variance.max(1e-9);
            (kernel.kernel, Some(vec![kernel.lengthscale; dim]), Some(kernel.signal_variance), Some(noise))
        }
        _ => (Stationary::SquaredExponential, None, None, None),
    };
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind));
    let shapes = Stationary::ALL.map(|kind| (kind.name(), kind));
    let rounds = section.integer("rounds", 1..=10_000, None)? as u32;
    let positive = "a number from 1e-9 to 1e9";
    let lengthscales = section.numbers("lengthscales", Some(dim), 1e-9..=1e9, positive)?.or(scales);
    let lengthscales = lengthscales.ok_or_else(|| Problem::MissingKey {
        key: section.path_of("lengthscales"),
        admissible: format!("a list of {dim}, each {positive}; public, not fitted to the data"),
    })?;
    let signal_variance = section.number("signal_variance", 1e-9..=1e9, positive, signal)?;
    let noise_variance = section.number("noise_variance", 1e-9..=1e9, positive, noise)?;
    let config = ModelerConfig {
        rounds,
        methods: section.choices("methods", &kinds, &Kind::ALL)?,
        kernel: section.choice("kernel", &shapes, Some(shape))?,
        lengthscales,
        signal_variance,
        noise_variance,
        private_noise_variance: section.number(
            "private_noise_variance",
            1e-9..=1e9,
            positive,
            Some(noise_variance.max(0.1 * signal_variance)),
        )?,
        prior_mean: section.number("prior_mean", -1e12..=1e12, "a number from -1e12 to 1e12", Some(0.0))?,
        failure_probability: section.number(
            "failure_probability",
            f64::MIN_POSITIVE..=1.0 - f64::EPSILON,
            "a number in (0, 1)",
            Some(0.05),
        )?,
        repeats: section.flag("repeats", true)?,
    };
    let rows = match objective {
        OutsourcedObjective::GpSample(sample) => Some(sample.points_per_axis.pow(dim as u32)),
        OutsourcedObjective::Branin { points_per_axis } => Some(points_per_axis * points_per_axis),
        OutsourcedObjective::Csv(_) => None,
    };
    if let Some(rows) = rows.filter(|rows| !config.repeats && rounds >= *rows) {
        return Err(Problem::Value {
            key: section.path_of("rounds"),
            value: rounds.to_string(),
            admissible: format!("fewer than the {rows} rows, because `repeats = false`"),
        });
    }
    section.finish()?;
    Ok(config)
}
