//! Curator and modeler of every run and method, in parallel.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::random::RunSeed;
use sordino_experiment::progress::Progress;
use sordino_experiment::scenario::outsourced::{Kind, OutsourcedScenario};

use super::machines::{Method, regrets};
use super::table::Source;
use crate::contract::{ModelError, Options};
use crate::jobs;

/// Whether a method is among those that the scenario compares.
pub(super) fn compares(scenario: &OutsourcedScenario, method: Kind) -> bool {
    scenario.modeler.methods.contains(&method)
}

/// A method of a scenario: the paper's projection counts once for each r.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Its place in the list of methods.
    pub kind: Kind,
    /// r, of the paper's projection.
    pub out_dim: Option<u32>,
}

impl Compared {
    /// All methods of a scenario, in the order of tables.
    pub fn of(scenario: &OutsourcedScenario) -> Vec<Compared> {
        let mut all = Vec::new();
        for kind in scenario.modeler.methods.iter().copied() {
            let out_dims: Vec<Option<u32>> = match kind {
                Kind::PaperProjection => scenario
                    .curator
                    .out_dims
                    .iter()
                    .copied()
                    .map(Some)
                    .collect(),
                _ => vec![None],
            };
            let compared = out_dims
                .into_iter()
                .map(|out_dim| Compared { kind, out_dim });
            all.extend(compared);
        }
        all
    }

    /// Name in tables.
    pub fn name(&self) -> String {
        match self.out_dim {
            Some(r) => format!("{}-r{r}", self.kind.name()),
            None => self.kind.name().to_owned(),
        }
    }

    fn method(&self, scenario: &OutsourcedScenario) -> Method {
        let epsilon = scenario.curator.epsilon;
        let delta = scenario.curator.delta;
        match self.kind {
            Kind::GpUcb => Method::Plain,
            Kind::Random => Method::Random,
            Kind::PaperProjection => Method::Paper {
                epsilon,
                delta,
                out_dim: self.out_dim.map_or(1, |r| r as usize),
            },
            Kind::GaussianProjection => Method::Private {
                epsilon,
                delta,
                noise_variance: scenario.modeler.private_noise_variance,
            },
        }
    }
}

/// What one method did in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutsourcedRun {
    /// The method that was run.
    pub compared: Compared,
    /// Index of the run, 0-based.
    pub run: u32,
    /// The last link of the chain over released rows, queries and values.
    pub digest: Digest,
    /// Simple regret after the initial row and after each query.
    pub regret: Vec<f64>,
    /// Whether the paper's transformation raised the singular values.
    pub raised: Option<bool>,
}

/// Executes every method of every run. The result is in the order of runs, then of methods,
/// whatever the threads.
///
/// **Errors**: what a machine refuses: a table without full rank, say.
pub fn run(
    scenario: &OutsourcedScenario,
    source: &Source,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<OutsourcedRun>, ModelError> {
    let compared = Compared::of(scenario);
    let jobs: Vec<(u32, Compared)> = (0..scenario.head.runs)
        .flat_map(|run| compared.iter().map(move |compared| (run, *compared)))
        .collect();
    jobs::execute(
        &jobs,
        options,
        progress,
        |(run, compared)| (*run, compared.name()),
        |(run, compared)| one(scenario, source, *run, *compared),
    )
}

fn one(
    scenario: &OutsourcedScenario,
    source: &Source,
    run: u32,
    compared: Compared,
) -> Result<OutsourcedRun, ModelError> {
    let seed = RunSeed::new(scenario.head.seed, run);
    let values = source.values(seed);
    let played = source.problem.play(
        &values,
        compared.method(scenario),
        scenario.modeler.rounds,
        seed,
    )?;
    Ok(OutsourcedRun {
        compared,
        run,
        digest: played.digest,
        regret: regrets(&values, &played.queries),
        raised: played.raised,
    })
}
