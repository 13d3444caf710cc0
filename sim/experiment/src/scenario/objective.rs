//! What a federation optimises: the section `[objective]` of `federated`, a table of keys for each
//! kind.

use sordino_core::domain::{DIM_MAX, REGIONS_MAX};

use super::design::{DesignConfig, hexadecimal};
use super::fedhpo::FedhpoConfig;
use super::kernel::{KernelConfig, KernelDefault};
use super::keys::{keys, kinds};
use super::outsourced::Goal;
use super::reader::{Problem, Section};
use super::rule::{names, number, whole};
use super::space::SpaceConfig;
use crate::benchmark::fedhpo::CLIENTS;
use crate::benchmark::{Design, Measured, TestFunction};

/// Name of the file with the mine fields, also inside a folder that `--data` names.
pub const LANDMINE_FILE: &str = "landmine.csv";
/// The most agents that a scenario may have.
pub(super) const AGENTS_MAX: u64 = 1_000_000;

names!(TestFunction: "branin" "hartmann3" "hartmann6" "ackley" "levy" "rosenbrock");
names!(Measured: "planes" "employment" "wages");

kinds! {
    /// What is optimised.
    pub enum ObjectiveConfig {
        /// Draws of a Gaussian process on a grid over [0, 1]^dim, perturbed for each agent.
        GpSample(GpSampleConfig) = "gp-sample",
        /// A standard test function over its usual box, shifted and scaled for each agent; negated,
        /// because more is better.
        Function(FunctionConfig) = "function",
        /// A table of your own, `--data FILE.csv`: columns `agent`, the inputs, `value`; every
        /// agent at the same inputs.
        Table(TableConfig) = "table",
        /// A benchmark of federated training, of the shape of FedHPO-Bench (`tabular.csv`), or with
        /// a row for each round.
        Fedhpo(FedhpoConfig) = "fedhpo",
        /// A program of your own, started once for each thread: it reads lines of JSON and answers
        /// each with a number.
        Command(CommandConfig) = "command",
        /// SVM tuning on the mine fields: 29 agents, `--data landmine.csv`.
        Landmine(LandmineConfig) = "landmine",
        /// SVM tuning on red wines: 16 agents of 100 rows.
        Winequality(TuningConfig) = "winequality",
        /// Functions of a program that uses this library (`sim/examples/own_objective.rs`);
        /// `sordino` reads its run folders.
        Custom(CustomConfig) = "custom",
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
        kernel: KernelConfig [group "" KernelDefault::NONE];
        /// Variance of the normal noise of an observation.
        noise_variance: f64 [given 0.01] in number(0.0, 1e6);
        /// a: an agent's function is the common one plus U[−a, a], independently at every point.
        perturbation: f64 [is 0.0] in number(0.0, 1e3);
        /// How agents' functions differ besides.
        differences: Differences [group "" kernel.lengthscale];
    }
}

impl GpSampleConfig {
    /// One function for all agents, seen without noise.
    pub fn plain(dim: usize, points_per_axis: u32, kernel: KernelConfig) -> Self {
        let noise_variance = 0.0;
        let perturbation = 0.0;
        let differences = Differences::NONE;
        GpSampleConfig {
            dim,
            points_per_axis,
            kernel,
            noise_variance,
            perturbation,
            differences,
        }
    }
}

keys! {
    /// How agents' functions differ; coins are the agent's own, independent of its region.
    pub struct Differences(lengthscale: f64) {
        /// Variance of a smooth function that is added for each agent, an independent draw of a
        /// Gaussian process; unit y².
        own_variance: f64 [is 0.0] in number(0.0, 1e6);
        /// Its lengthscale; its kernel is of the common one's shape.
        own_lengthscale: f64 [like "`lengthscale`" lengthscale] in number(1e-3, 1e3).unit("units of the unit box");
        /// Probability that an agent has an independent draw in place of the common function.
        unrelated: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an agent has the negated common function.
        flipped: f64 [is 0.0] in number(0.0, 1.0);
    }
}

impl Copy for Differences {}

impl Differences {
    /// No differences other than point by point.
    pub const NONE: Self = Differences {
        own_variance: 0.0,
        own_lengthscale: 1.0,
        unrelated: 0.0,
        flipped: 0.0,
    };

    /// Whether agents differ at most point by point.
    pub fn is_none(&self) -> bool {
        *self
            == Differences {
                own_lengthscale: self.own_lengthscale,
                ..Differences::NONE
            }
    }
}

keys! {
    /// Tuning of a support vector machine.
    pub struct TuningConfig {
        /// Length of the fixed list of (C, γ).
        candidates: u32 [is 1000] in whole(16, 10_000);
    }
}

keys! {
    /// Tuning on the mine fields.
    pub struct LandmineConfig {
        /// Length of the fixed list of (C, γ).
        candidates: u32 [is 1000] in whole(16, 10_000);
        /// SHA-256 of the file, filled in from `--data`: a run folder says which one it was made
        /// from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

keys! {
    /// A test function.
    pub struct FunctionConfig {
        /// Which function, by its usual name.
        function: TestFunction [given "hartmann6"];
        /// Dimension D; if the function has its own, it must be that.
        dim: usize [like "the function's own, else 2" function.dim().unwrap_or(2)] in whole(1, DIM_MAX as u64)
            => function.dim().map_or(whole(function.dim_min() as u64, DIM_MAX as u64), |d| whole(d as u64, d as u64));
        /// The candidates.
        points: DesignConfig [group "" dim];
        /// An agent's function is moved by U[−shift, shift] along every axis.
        shift: f64 [is 0.0] in number(0.0, 0.5).unit("units of the unit box");
        /// It is multiplied by U[1−scale, 1+scale].
        scale: f64 [is 0.0] in number(0.0, 0.99);
        /// Variance of the normal noise of an observation.
        noise_variance: f64 [like "a hundredth of the function's variance" function.constants(dim).1 / 100.0]
            in number(0.0, 1e9);
    }
}

keys! {
    /// A table of values.
    pub struct TableConfig {
        /// A table that is compiled in (`sim/experiment/data/`), in place of `--data`.
        shipped: Option<Measured> [none "planes"];
        /// The inputs in their own units.
        space: SpaceConfig [group "" DIM_MAX];
        /// Variance of the normal noise that is added to a value for every observation.
        noise_variance: f64 [is 0.0] in number(0.0, 1e6);
        /// Whether larger or smaller values are better.
        goal: Goal [given "minimize"];
        /// SHA-256 of the file, filled in from `--data`: a run folder says which table it was made
        /// from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

keys! {
    /// A program that is asked for values.
    pub struct CommandConfig {
        /// The command, run by `sh -c`; it reads
        /// `{"agent": 3, "observation": 0, "x": {"rate": 0.1}}` and writes `0.93`.
        command: String [given "python train.py"];
        /// The inputs in their own units.
        space: SpaceConfig [group "" DIM_MAX];
        /// The candidates; a design has one coordinate for each input.
        points: DesignConfig [group "" space.inputs.len()];
        /// Whether answers to the same setting differ. If so, the program is asked for observation
        /// k ≥ 1 of an agent, and for observation 0 to learn the value that regret is measured by;
        /// otherwise only for observation 0.
        noisy: bool [is false];
        /// Variance of the normal noise that is added to an answer for every observation.
        noise_variance: f64 [is 0.0] in number(0.0, 1e6);
        /// Whether larger or smaller values are better.
        goal: Goal [given "minimize"];
        /// The best possible answer, from which regret is measured, in units of the answers.
        optimum: f64 [is 0.0] in number(-1e12, 1e12);
        /// Longest time for one answer; then the program is killed.
        time_limit: f64 [is 600.0] in number(0.01, 86_400.0).unit("seconds");
        /// How often a failed question is repeated, each time of a restarted program, before the
        /// run ends with an error.
        retries: u32 [is 2] in whole(0, 100);
    }
}

keys! {
    /// Functions of another program.
    pub struct CustomConfig {
        /// Name of the functions.
        function: String [given "mine"];
        /// Dimension D of a candidate.
        dim: usize [given 2] in whole(1, DIM_MAX as u64);
        /// Digest of the functions, filled in by the program: a run folder says what it was made
        /// from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

impl ObjectiveConfig {
    /// The name of this objective's regret.
    pub fn regret_name(&self) -> &'static str {
        match self {
            ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => "1 - AUC",
            ObjectiveConfig::Command(_) => "distance to `optimum`",
            _ => "regret",
        }
    }

    /// The data that `--data` must name; `None` if no data are read.
    pub fn reads(&self) -> Option<&'static str> {
        match self {
            ObjectiveConfig::Landmine(_) => Some(LANDMINE_FILE),
            ObjectiveConfig::Table(config) if config.shipped.is_none() => Some("a CSV table"),
            ObjectiveConfig::Fedhpo(config) if !config.shipped => {
                Some("a CSV table of federated trainings")
            }
            ObjectiveConfig::Function(config) if config.points.design == Design::List => {
                Some("a CSV list of candidates")
            }
            ObjectiveConfig::Command(config) if config.points.design == Design::List => {
                Some("a CSV list of candidates")
            }
            _ => None,
        }
    }

    /// Dimension of a candidate.
    pub fn dim(&self) -> usize {
        match self {
            ObjectiveConfig::GpSample(config) => config.dim,
            ObjectiveConfig::Function(config) => config.dim,
            ObjectiveConfig::Table(config) => config.space.dim(),
            ObjectiveConfig::Fedhpo(config) => config.space.dim(),
            ObjectiveConfig::Command(config) => config.space.dim(),
            ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => 2,
            ObjectiveConfig::Custom(config) => config.dim,
        }
    }

    /// The most parts into which one dimension may be cut so that regular candidates fill every
    /// part.
    pub(super) fn parts_max(&self) -> u64 {
        match self {
            ObjectiveConfig::GpSample(config) => {
                u64::from(config.points_per_axis).min(REGIONS_MAX as u64)
            }
            ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => 4,
            _ => REGIONS_MAX as u64,
        }
    }

    /// The number of agents, where the data decide it.
    pub(super) fn agents(&self) -> Option<u32> {
        match self {
            ObjectiveConfig::Landmine(_) => Some(29),
            ObjectiveConfig::Winequality(_) => Some(16),
            ObjectiveConfig::Table(config) => config.shipped.map(Measured::agents),
            ObjectiveConfig::Fedhpo(config) => config.shipped.then_some(CLIENTS),
            _ => None,
        }
    }

    /// The known part of the values' kernel: all of it where they are draws of a Gaussian process.
    pub(super) fn kernel(&self) -> KernelDefault {
        let kernel = if let ObjectiveConfig::GpSample(config) = self {
            Some(config.kernel)
        } else {
            None
        };
        KernelDefault {
            kernel,
            variance: self.constants().map(|(_, variance)| variance),
        }
    }

    /// Variance of an observation's noise, where the objective states it.
    pub(super) fn noise_variance(&self) -> Option<f64> {
        match self {
            ObjectiveConfig::GpSample(config) => Some(config.noise_variance),
            ObjectiveConfig::Function(config) => Some(config.noise_variance),
            _ => None,
        }
    }

    /// Mean and variance of the values, where a formula makes them public.
    pub(super) fn constants(&self) -> Option<(f64, f64)> {
        if let ObjectiveConfig::Function(config) = self {
            Some(config.function.constants(config.dim))
        } else {
            None
        }
    }

    /// Checks what no single key can know.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let digest = match self {
            ObjectiveConfig::Table(config) => {
                config.space.check(DIM_MAX)?;
                &config.digest
            }
            ObjectiveConfig::Fedhpo(config) => {
                config.check()?;
                &config.digest
            }
            ObjectiveConfig::Command(config) => {
                config.points.check()?;
                return config.space.check(DIM_MAX);
            }
            ObjectiveConfig::Function(config) => return config.points.check(),
            ObjectiveConfig::Custom(config) => &config.digest,
            ObjectiveConfig::Landmine(config) => &config.digest,
            _ => return Ok(()),
        };
        digest
            .as_ref()
            .map_or(Ok(()), |text| hexadecimal("objective.digest", text))
    }
}
