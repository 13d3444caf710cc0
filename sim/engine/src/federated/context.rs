//! What the parties of a run borrow: the public context and its caches, built once at the right
//! level.
//!
//! All levels are shared by reference count: a task may outlive the loop that started it.
//!
//! | level | holds |
//! |---|---|
//! | [`ScenarioContext`] | candidates, the factor of the prior over them |
//! | [`RunContext`] | the run's features of every candidate, the optimum of every agent held here |
//! | [`MethodContext`] | the configuration of a method and the region of every candidate |

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use sordino_core::acquisition::{Outline, outline};
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::random_fourier;
use sordino_core::federated::exchange::PublicFeatures;
use sordino_core::federated::{
    Aggregation, CandidateRows, Config, InitialRegion, OwnDraw, Parameters, Public, Signal, Tables,
};
use sordino_core::kernel::Kernel;
use sordino_core::linalg::pivoted_cholesky;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::schedule::WeightConcentration;
use sordino_core::wire::{self, Header, Kind, ScalarTag};
use sordino_experiment::metrics::{loss_after, losses};
use sordino_experiment::progress::{Stage, Step};
use sordino_experiment::scenario::method::{Kind as MethodKind, ReleaseKind};
use sordino_experiment::scenario::{Guarantee, Method, Scenario};
use sordino_experiment::world::Objective;
use sordino_experiment::world::fault::FaultPlan;
use sordino_experiment::world::per_agent::PerAgent;

use super::error::DriverError;

/// Candidates and the factor of the prior over them, in the format of the agents.
#[derive(Clone)]
pub struct ScenarioContext<T> {
    points: Arc<Vec<T>>,
    dim: usize,
    prior_rows: Arc<Vec<T>>,
    /// Which of its rows can be a maximum; nothing without joint draws.
    prior_outline: Option<Arc<Outline<Vec<f32>>>>,
    /// Largest prior variance that the factor misses at any candidate; 0 without joint draws.
    pub prior_residual: f64,
    /// The tight ε over releases of private methods: of methods that share draws, and of the
    /// federated prior.
    losses: BTreeMap<ReleaseKind, Losses>,
}

impl<T: Scalar> ScenarioContext<T> {
    /// Builds both from the candidates of an objective, for the shipped methods of a scenario.
    ///
    /// **Errors**: as [`ScenarioContext::of`].
    pub fn new(scenario: &Scenario, candidates: &[f64], dim: usize) -> Result<Self, DriverError> {
        let shipped: Vec<Method> = scenario
            .methods()
            .filter(|method| method.place().is_none())
            .collect();
        Self::of(scenario, &shipped, candidates, dim)
    }

    /// The same for these methods, whose keys are those of `scenario`.
    ///
    /// **Errors**: a kernel or candidates that are not admissible; the accountant's.
    pub fn of(
        scenario: &Scenario,
        methods: &[Method],
        candidates: &[f64],
        dim: usize,
    ) -> Result<Self, DriverError> {
        let points: Arc<Vec<T>> = Arc::new(candidates.iter().map(|x| T::from_f64(*x)).collect());
        Candidates::list(&points, dim)?;
        let surrogate = &scenario.surrogate;
        let mut factor = Vec::new();
        let mut residual = 0.0;
        if surrogate.own_draw == OwnDraw::Joint {
            (factor, residual) = prior_factor(
                &surrogate.kernel.build()?,
                candidates,
                dim,
                surrogate.prior_tolerance,
            );
        }
        let prior_rows: Arc<Vec<T>> = Arc::new(factor.into_iter().map(T::from_f64).collect());
        let count = candidates.len() / dim.max(1);
        let rank = prior_rows.len().checked_div(count).unwrap_or(0);
        let storage = vec![0.0; outline::storage_len(count, rank)];
        let prior_outline = Outline::new(&prior_rows, rank, storage).map(Arc::new);
        let losses = private_losses(scenario, methods)?;
        Ok(ScenarioContext {
            points,
            dim,
            prior_rows,
            prior_outline,
            prior_residual: residual,
            losses,
        })
    }

    /// The same for methods of another scenario with the same candidates, whose agents hold the
    /// same prior beliefs.
    ///
    /// **Errors**: the accountant's.
    pub fn with_methods(
        &self,
        scenario: &Scenario,
        methods: &[Method],
    ) -> Result<Self, DriverError> {
        Ok(ScenarioContext {
            losses: private_losses(scenario, methods)?,
            ..self.clone()
        })
    }

    /// The points of all candidates, count × D.
    pub fn points(&self) -> &[T] {
        &self.points
    }

    /// Dimension D of a candidate.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The tight ε of the first `releases` releases of a private method, as the table and
    /// `rounds.csv` show it.
    pub fn epsilon(&self, method: Method, releases: u32) -> Option<f64> {
        let losses = self.losses.get(&method.releases())?;
        loss_after(losses, releases)
    }

    /// The factor of the prior over the candidates; empty without joint draws.
    pub fn prior(&self) -> &[T] {
        &self.prior_rows
    }

    /// The candidates.
    pub fn candidates(&self) -> Candidates<'_, T> {
        Candidates::List {
            points: &self.points,
            dim: self.dim,
        }
    }
}

/// F with K ≈ FFᵀ over the candidates, and the largest variance it lacks.
///
/// The rank is not known beforehand: the factor is tried at growing widths (its columns do not
/// depend on the width) and packed to the rank it reached.
pub fn prior_factor(
    kernel: &impl Kernel<f64>,
    candidates: &[f64],
    dim: usize,
    tolerance: f64,
) -> (Vec<f64>, f64) {
    let n = candidates.len() / dim;
    // With n columns the factor is whole, whatever the tolerance.
    prior_factor_within(kernel, candidates, dim, tolerance, n).unwrap_or_default()
}

/// The same with at most this many columns; `None` if these are too few for the tolerance.
///
/// **Cost**: at most 4/3·n·`columns_max`² multiply-adds, and n·`columns_max` numbers twice.
pub fn prior_factor_within(
    kernel: &impl Kernel<f64>,
    candidates: &[f64],
    dim: usize,
    tolerance: f64,
    columns_max: usize,
) -> Option<(Vec<f64>, f64)> {
    let n = candidates.len() / dim;
    let point = |i: usize| &candidates[i * dim..(i + 1) * dim];
    let tolerance = tolerance * kernel.variance(point(0));
    let mut diagonal = vec![0.0; n];
    let columns_max = columns_max.min(n);
    let mut width = columns_max.min(64);
    loop {
        let mut factor = vec![0.0; n * width];
        let reached = pivoted_cholesky(n, width, &mut factor, &mut diagonal, tolerance, |i, j| {
            kernel.covariance(point(i), point(j))
        });
        if reached.residual <= tolerance || width == n {
            let rank = reached.rank.max(1);
            let packed = factor
                .chunks_exact(width)
                .flat_map(|row| row[..rank].iter().copied())
                .collect();
            return Some((packed, reached.residual));
        }
        if width == columns_max {
            return None;
        }
        width = columns_max.min(2 * width);
    }
}

/// The numbers in double precision, which holds those of every format.
pub(super) fn wide<T: Scalar>(numbers: &[T]) -> Vec<f64> {
    numbers.iter().map(|x| x.to_f64()).collect()
}

/// ε after each number of releases.
type Losses = Vec<(u32, Option<f64>)>;

/// The tight ε over all releases that a run can make, of private methods with the keys of
/// `scenario`.
fn private_losses(
    scenario: &Scenario,
    methods: &[Method],
) -> Result<BTreeMap<ReleaseKind, Losses>, DriverError> {
    let mut all = BTreeMap::new();
    for method in methods
        .iter()
        .filter(|method| method.guarantee() == Guarantee::DifferentialPrivacy)
    {
        if let Entry::Vacant(place) = all.entry(method.releases()) {
            place.insert(losses(scenario, *method, scenario.planned(*method))?);
        }
    }
    Ok(all)
}

/// What the releases of a method may cost together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// ε; infinite if the scenario names none.
    pub epsilon_max: f64,
    /// δ, at which ε is told.
    pub delta: f64,
}

/// The functions of one run and its public features.
#[derive(Clone)]
pub struct RunContext<T> {
    /// The run's seed.
    pub seed: RunSeed,
    /// Index of the run, 0-based.
    pub index: u32,
    /// The functions of all agents.
    pub objective: Arc<dyn Objective>,
    optima: Arc<PerAgent<f64>>,
    /// What all runs share.
    pub shared: Arc<ScenarioContext<T>>,
    public: PublicFeatures,
    features: Arc<Vec<T>>,
    feature_rows: Arc<Vec<T>>,
}

impl<T: Scalar> RunContext<T> {
    /// Draws the features from the public seed of run `index` and evaluates them at every
    /// candidate.
    pub fn new(
        scenario: &Scenario,
        shared: Arc<ScenarioContext<T>>,
        index: u32,
        objective: impl Into<Arc<dyn Objective>>,
    ) -> Result<Self, DriverError> {
        let objective = objective.into();
        let dim = shared.dim;
        let m = scenario.surrogate.features as usize;
        let mut features = vec![T::ZERO; random_fourier::storage_len(dim, m)];
        let public = public_features(scenario, index);
        let map = public.draw(dim, m, &mut features)?;
        let mut feature_rows = vec![T::ZERO; shared.points.len() / dim * m];
        for (row, point) in feature_rows
            .chunks_exact_mut(m)
            .zip(shared.points.chunks_exact(dim))
        {
            map.features(point, row);
        }
        let optima = Arc::new(PerAgent::new(objective.agents()));
        let seed = scenario.run_seed(index);
        let features = Arc::new(features);
        let feature_rows = Arc::new(feature_rows);
        Ok(RunContext {
            seed,
            index,
            objective,
            optima,
            shared,
            public,
            features,
            feature_rows,
        })
    }

    /// The same functions and features, with the shared part of another scenario whose agents hold
    /// the same prior beliefs.
    pub fn with_shared(&self, shared: Arc<ScenarioContext<T>>) -> Self {
        RunContext {
            shared,
            ..self.clone()
        }
    }

    /// The value against which an agent's regret is measured; found once, and only for agents held
    /// here.
    pub fn optimum(&self, agent: u32) -> f64 {
        *self
            .optima
            .get(agent, |agent| self.objective.optimum(agent))
    }

    /// A row φ(x) for each candidate with k(x, x′) ≈ φ(x)·φ(x′), and its length: the factor of the
    /// prior where agents draw jointly, the public features elsewhere.
    pub fn rows(&self) -> (&[T], usize) {
        let rows = if self.shared.prior_rows.is_empty() {
            &self.feature_rows
        } else {
            &self.shared.prior_rows
        };
        (
            rows,
            rows.len() * self.shared.dim / self.shared.points.len().max(1),
        )
    }
}

/// Where the shared features of run `run` come from.
pub fn public_features(scenario: &Scenario, run: u32) -> PublicFeatures {
    let surrogate = &scenario.surrogate;
    PublicFeatures {
        seed: surrogate.feature_seed,
        run,
        kernel: surrogate.kernel.kernel,
        lengthscale: surrogate.kernel.lengthscale,
        signal_variance: surrogate.kernel.signal_variance,
        unit_norm: surrogate.normalize_features,
        prior_tolerance: surrogate.prior_tolerance,
    }
}

/// The mark on frames of a simulated run: a digest of its seed, which does not reveal the seed.
pub fn simulated_deployment(seed: RunSeed) -> u64 {
    wire::config_id(&("simulated deployment", seed.value()))
}

/// Default of [`MethodContext::workspace_bytes`].
const WORKSPACE_BYTES: usize = 1 << 28;

/// One method in one run: its configuration, and everything its agents borrow.
pub struct MethodContext<T> {
    /// The method that is run.
    pub method: Method,
    /// The configuration all parties share.
    pub config: Config,
    /// The run it belongs to.
    pub run: Arc<RunContext<T>>,
    /// Beyond which nothing is released.
    pub budget: Budget,
    /// Workspaces are kept for every agent up to this many bytes; beyond, agents of a shard share
    /// one and rebuild their posteriors from their logs, with the same bits.
    pub workspace_bytes: usize,
    /// Whether every observation is written down.
    pub observed: bool,
    /// What goes wrong.
    pub faults: FaultPlan,
    /// The mark on frames of this configuration.
    pub config_id: u64,
    /// The mark on frames of this run: a digest of its seed, which does not reveal the seed.
    pub deployment: u64,
    region_of: Vec<u32>,
}

impl<T: Scalar> MethodContext<T> {
    /// Configures `method` of a scenario.
    pub fn new(
        scenario: &Scenario,
        method: Method,
        run: Arc<RunContext<T>>,
        workspace_bytes: Option<usize>,
    ) -> Result<Self, DriverError> {
        let config = config(scenario, method)?;
        let workspace_bytes = workspace_bytes.unwrap_or(WORKSPACE_BYTES);
        let regions = &config.parameters().regions;
        let shared = &run.shared;
        let region_of = shared
            .points
            .chunks_exact(shared.dim)
            .map(|point| regions.region_of(point))
            .collect();
        let config_id = sordino_core::wire::config_id(&config);
        let budget = Budget {
            epsilon_max: scenario.privacy.max_epsilon.unwrap_or(f64::INFINITY),
            delta: scenario.privacy.delta,
        };
        let faults = FaultPlan::new(&scenario.faults, scenario.federation.agents)?;
        Ok(MethodContext {
            method,
            budget,
            workspace_bytes,
            observed: scenario.federation.observations,
            faults,
            config_id,
            deployment: simulated_deployment(run.seed),
            region_of,
            run,
            config,
        })
    }

    /// The public context of the agents.
    pub fn public(&self) -> Result<Public<'_, T>, DriverError> {
        let run = &*self.run;
        let shared = &*self.run.shared;
        let count = self.config.parameters().feature_count as usize;
        let features = run.public.map(shared.dim, count, &run.features)?;
        let rows = Some(CandidateRows {
            features: &run.feature_rows,
            region_of: &self.region_of,
        });
        let prior_outline = shared.prior_outline.as_deref().map(Outline::borrow);
        let tables = Tables {
            rows,
            prior_rows: &shared.prior_rows,
            prior_outline,
            ..Tables::NONE
        };
        Ok(Public::new(
            &self.config,
            shared.candidates(),
            features,
            tables,
        )?)
    }
}

impl<T> MethodContext<T> {
    /// The header of a frame of this run; its payload decides format and length.
    pub(crate) fn frame_header(&self, kind: Kind, agent: u32, round: u32) -> Header {
        let deployment = self.deployment;
        let config = self.config_id;
        let version = wire::VERSION;
        let scalar = ScalarTag::F64;
        // A simulated link has one history and no restarts.
        Header {
            version,
            kind,
            scalar,
            deployment,
            config,
            chain: 0,
            agent,
            round,
            attempt: 0,
            len: 0,
        }
    }

    /// This method in a stage of `round`.
    pub fn step(&self, round: u32, stage: Stage) -> Step {
        let rounds = self.config.parameters().rounds;
        Step {
            run: self.run.index,
            method: self.method,
            round,
            rounds,
            stage,
        }
    }
}

/// The configuration that a method's name stands for: the scenario's numbers, with what the method
/// changes.
pub fn config(scenario: &Scenario, method: Method) -> Result<Config, DriverError> {
    let federation = &scenario.federation;
    let surrogate = &scenario.surrogate;
    let privacy = &scenario.privacy;
    let whole = vec![1; federation.splits.len()];
    let parts = method.parts();
    let regions = Regions::new(if parts.split {
        &federation.splits
    } else {
        &whole
    })?;
    let concentration = if parts.region_weights {
        WeightConcentration {
            start: privacy.weight_concentration,
            ..WeightConcentration::PAPER
        }
    } else {
        WeightConcentration::UNIFORM
    };
    let aggregation = match parts.kind {
        // The others have a server of their own, or none.
        MethodKind::Alone
        | MethodKind::Prior
        | MethodKind::Random
        | MethodKind::Optimizer
        | MethodKind::Vote
        | MethodKind::Campaign
        | MethodKind::Pooled
        | MethodKind::Custom => Aggregation::None,
        MethodKind::Draws if !parts.private => Aggregation::Mean,
        MethodKind::Draws => Aggregation::Private {
            clipping_norm: privacy.clipping_norm,
            sampling_probability: privacy.sampling_probability,
            noise_multiplier: privacy.noise_multiplier,
            grid_exponent: privacy.grid_exponent,
            signal: if parts.signal {
                Signal::Vectors
            } else {
                Signal::Nothing
            },
        },
    };
    Config::new(Parameters {
        agents: federation.agents,
        regions,
        rounds: federation.rounds,
        initial_points: federation.initial_points,
        initial_region: if parts.initial_in_region {
            InitialRegion::Own
        } else {
            InitialRegion::Whole
        },
        feature_count: surrogate.features,
        regularization: surrogate.regularization,
        noise_variance: surrogate.noise_variance,
        offset: federation.constant,
        mixing: federation.mixing,
        own_draw: surrogate.own_draw,
        concentration,
        aggregation,
    })
    .map_err(DriverError::Config)
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::Shipped;

    use super::*;

    /// Progress told the ε of a scenario's own method for the shipped one that it is based on.
    #[test]
    fn every_method_is_told_the_loss_of_its_own_keys() {
        let text = format!(
            "{}\n[[method]]\nname = \"mine\"\nbase = \"campaign\"\nset = {{ \"prior.epsilon\" = 1.0 }}\n",
            Shipped::find("default").unwrap().text
        );
        let settings = [
            "federation.methods=[\"mine\", \"campaign\"]",
            "prior.epsilon=3",
        ]
        .map(str::to_owned);
        let scenario = Scenario::parse("t", &text, &settings).unwrap();
        let [mine, shipped] = [0, 1].map(|place| scenario.methods().nth(place).unwrap());
        let candidates = [0.1, 0.6];
        let told = |of: &Scenario, method: Method| {
            let context = ScenarioContext::<f64>::of(of, &[method], &candidates, 1).unwrap();
            context.epsilon(method, 2).unwrap()
        };
        let [own, other] = [told(scenario.of(mine), mine), told(&scenario, shipped)];
        assert!(
            own <= 1.001 && own > 0.99 && other <= 3.001 && other > 2.99,
            "{own} {other}"
        );
    }

    /// A frame once carried the run seed itself: anybody who saw one upload could draw every coin
    /// of the run.
    #[test]
    fn a_frame_does_not_carry_the_seed() {
        let scenario = Shipped::find("firmware").unwrap().parse(&[]).unwrap();
        let functions = sordino_experiment::world::load(&scenario, None)
            .unwrap()
            .realize(scenario.run_seed(0));
        let shared =
            ScenarioContext::<f32>::new(&scenario, functions.candidates(), functions.dim())
                .unwrap();
        let run = Arc::new(RunContext::new(&scenario, Arc::new(shared), 0, functions).unwrap());
        let seed = run.seed.value();
        let first = scenario.methods().next().unwrap();
        let method = MethodContext::new(&scenario, first, run, None).unwrap();
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::F32, 1)];
        let contains = |header: Header, frame: &mut [u8]| {
            let used = wire::encode(header, &[0.5f32], frame).unwrap();
            // The header's numbers are of variable length: 64 bits are ten bytes of seven bits.
            let seed = postcard::to_allocvec(&seed).unwrap();
            frame[..used].windows(seed.len()).any(|bytes| bytes == seed)
        };
        let header = method.frame_header(Kind::Upload, 3, 7);
        assert!(!contains(header, &mut frame));
        // Negative control: it would be seen.
        assert!(contains(
            Header {
                deployment: seed,
                ..header
            },
            &mut frame
        ));
    }
}
