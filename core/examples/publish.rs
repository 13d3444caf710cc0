//! What a prior file is worth: 66 contributors with ten noisy values each, in units of their own,
//! publish once, in two releases; the correlation of the file's mean with the functions of
//! newcomers. Draws of a Gaussian process, in one dimension (lengthscale .03) and two (.1), at ε 1
//! and ¼. An experiment, no proof.
//!
//! `cargo run --release -p sordino-core --example publish [runs] [contributors]`

use std::error::Error;

use sordino_core::federated::prior::{
    Config, Filter, Observations, Parameters, Plan, PriorError, Public, PublicState, Tables,
    choose_landmarks, contribution, contribution_scratch_len, draw_distinct_designs, gram,
    kernel_rows, landmarks_scratch_len, scratch_len, self_test_scratch_len, shares, standardise,
    storage_len, total_mu,
};
use sordino_core::federated::{Server, ServerInput, ServerOutput, ServerState, ServerStorage};
use sordino_core::linalg::{dot, sum_of_squares};
use sordino_core::math;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, Stream, normal};

const CANDIDATES: u32 = 1000;
const LANDMARKS: usize = 100;
const POINTS: u32 = 10;
const NOISE: f64 = 0.1;
const NEWCOMERS: u32 = 24;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What everybody computes of public numbers.
struct World {
    config: Config,
    lengthscale: f64,
    features: Vec<f64>,
    kernel: Vec<f64>,
    gram: Vec<f64>,
    designs: Vec<u32>,
    /// F with FFᵀ the kernel that functions are drawn from, which nobody knows.
    truth: Vec<f64>,
}

impl World {
    fn new(dim: usize, contributors: u32, true_lengthscale: f64) -> Outcome<Self> {
        let count = CANDIDATES as usize;
        let mut stream = RunSeed::new(7, 0).stream(Party::World, Purpose::Objective, 0);
        // Coordinates that `f32` holds: a file has no others.
        let coordinate = |i: usize| match dim {
            1 => (i as f32 / (CANDIDATES - 1) as f32).into(),
            _ => f64::from(stream.unit::<f32>()),
        };
        let points: Vec<f64> = (0..count * dim).map(coordinate).collect();
        let mut pivots = vec![0; LANDMARKS];
        let mut features = vec![0.0; count * LANDMARKS];
        let mut scratch = vec![0.0; landmarks_scratch_len(count)];
        let chosen = choose_landmarks(&points, dim, &mut pivots, &mut features, &mut scratch)?;
        features.truncate(count * chosen.count);
        let config = Config::new(Parameters::own_units(
            contributors,
            chosen.count as u32,
            POINTS,
        ))?;
        let mut mean = vec![0.0; chosen.count * chosen.count];
        gram(&config, &features, &mut mean)?;
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_distinct_designs(&config, RunSeed::new(1, 0), CANDIDATES, &mut designs)?;
        let mut kernel = vec![0.0; count * count];
        let mut truth = vec![0.0; count * count];
        kernel_rows(chosen.lengthscale, &points, dim, &mut kernel, &mut scratch)?;
        kernel_rows(true_lengthscale, &points, dim, &mut truth, &mut scratch)?;
        Ok(World {
            config,
            lengthscale: chosen.lengthscale,
            features,
            kernel,
            gram: mean,
            designs,
            truth,
        })
    }

    fn public(&self) -> Result<Public<'_, f64>, PriorError> {
        let tables = Tables {
            prior_rows: &self.kernel,
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(&self.config, &self.features, tables)
    }

    fn function(&self, seed: RunSeed) -> Vec<f64> {
        let mut z = vec![0.0; CANDIDATES as usize];
        normal::fill(
            &mut seed.stream(Party::World, Purpose::Objective, 0),
            &mut z,
        );
        self.truth.chunks(z.len()).map(|row| dot(row, &z)).collect()
    }
}

/// A party's function: the common one, perturbed by U[−.02, .02] at each point.
fn perturbed(common: &[f64], stream: &mut Stream) -> Vec<f64> {
    common
        .iter()
        .map(|f| f + 0.02 * (2.0 * stream.unit::<f64>() - 1.0))
        .collect()
}

/// What a contributor knows: candidates and values, standardised, after its units were anything.
fn log_of(common: &[f64], stream: &mut Stream) -> Outcome<Vec<f64>> {
    let function = perturbed(common, stream);
    let mut at: Vec<u32> = Vec::new();
    while at.len() < POINTS as usize {
        let x = stream.below(CANDIDATES);
        if !at.contains(&x) {
            at.push(x);
        }
    }
    let scale = math::Scalar::exp(1.5 * normal::draw::<f64>(stream));
    let offset = 30.0 * normal::draw::<f64>(stream);
    let mut observe =
        |x: &u32| scale * (function[*x as usize] + NOISE * normal::draw::<f64>(stream)) + offset;
    let values: Vec<f64> = at.iter().map(&mut observe).collect();
    let mut z = vec![0.0; values.len()];
    standardise(&values, &mut z)?;
    Ok(at
        .iter()
        .zip(z)
        .flat_map(|(x, z)| [f64::from(*x), z])
        .collect())
}

/// Every release through the server, as a publisher makes them who holds all studies; all numbers
/// that were released.
fn publish(world: &World, logs: &[Vec<f64>], plan: Plan<'_>, seed: RunSeed) -> Outcome<Vec<f64>> {
    let m = world.config.features();
    let len = world.config.contribution_len();
    let mut posterior = PublicState::new(world.config, vec![0.0; storage_len(m)])?;
    let mut state = ServerState::new();
    let mut scratch = vec![0.0; scratch_len(m, POINTS as usize)];
    let mut sums = vec![0; len];
    let mut noise = vec![0; len];
    let mut vectors = vec![0.0; len];
    let mut flags = vec![0; logs.len()];
    let mut released = Vec::new();
    for j in 0..plan.rounds.len() as u32 {
        let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, j));
        let filter = Filter::new(plan, world.public()?, &mut posterior, &mut scratch)?;
        let storage = ServerStorage {
            sums: &mut sums,
            noise: &mut noise,
            flags: &mut flags,
            vectors: &mut vectors,
        };
        let mut server = Server::attach(filter, &mut state, storage)?;
        let _ = server.handle(ServerInput::Open, source)?;
        for (agent, log) in (0..).zip(logs) {
            let observations = Observations::new(log, CANDIDATES as usize)?;
            let mut work = vec![0.0; contribution_scratch_len(observations.len())];
            let mut vector = vec![0.0; len];
            let terms = server
                .method()
                .terms()
                .ok_or("a release that is open has terms")?;
            let weights = server.method().posterior().weights();
            contribution(
                &world.public()?,
                &terms,
                weights,
                &observations,
                &mut work,
                &mut vector,
            )?;
            let _ = server.handle(
                ServerInput::Upload {
                    agent,
                    broadcast: j,
                    vector: &vector,
                },
                source,
            )?;
        }
        let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else {
            return Err("a release is charged".into());
        };
        match server.handle(ServerInput::Charged(Unwritten::receipt(charge)), source)? {
            ServerOutput::Broadcast { release, .. } => released.extend_from_slice(release.value()),
            _ => return Err("what is paid is released".into()),
        }
    }
    Ok(released)
}

/// Mean correlation of the file's mean with newcomers' functions, and B.
fn run(world: &World, epsilon: f64, seed: RunSeed) -> Outcome<(f64, f64)> {
    let contributors = world.config.parameters().agents;
    let delta = math::Scalar::min(1e-3, math::pow(f64::from(contributors), -1.1));
    let mut multipliers = [0.0; 2];
    shares(total_mu(epsilon, delta)?, &[1.0; 2], &mut multipliers)?;
    let plan = Plan {
        rounds: &[0, 0],
        noise_multipliers: &multipliers,
    };
    let common = world.function(seed);
    let stream = |n| seed.stream(Party::Agent(n), Purpose::InitialPoints, 0);
    let logs = (0..contributors)
        .map(|n| log_of(&common, &mut stream(n)))
        .collect::<Outcome<Vec<_>>>()?;
    let released = publish(world, &logs, plan, seed)?;
    // From here on anybody: the releases are all that is needed.
    let m = world.config.features();
    let n = POINTS as usize;
    let mut posterior = PublicState::new(world.config, vec![0.0; storage_len(m)])?;
    let mut scratch = vec![0.0; scratch_len(m, n)];
    let mut filter = Filter::new(plan, world.public()?, &mut posterior, &mut scratch)?;
    let test = filter.replay(&released, &mut vec![0.0; self_test_scratch_len(m, n)])?;
    let mean: Vec<f64> = world
        .features
        .chunks(m)
        .map(|phi| dot(phi, posterior.weights()))
        .collect();
    let newcomers = contributors..contributors + NEWCOMERS;
    let sum: f64 = newcomers
        .map(|n| correlation(&mean, &perturbed(&common, &mut stream(n))))
        .sum();
    Ok((sum / f64::from(NEWCOMERS), test))
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|x| x - mean).collect()
    };
    let a = centred(a);
    let b = centred(b);
    dot(&a, &b) / math::Scalar::sqrt(sum_of_squares(&a) * sum_of_squares(&b))
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let runs: u32 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let contributors: u32 = arguments.next().map_or(Ok(66), |text| text.parse())?;
    println!(
        "{contributors} contributors, {runs} files a line: mean correlation with newcomers (standard error), B"
    );
    for (dim, lengthscale) in [(1, 0.03), (2, 0.1)] {
        let world = World::new(dim, contributors, lengthscale)?;
        for epsilon in [1.0, 0.25] {
            let found = (0..runs).map(|run| self::run(&world, epsilon, RunSeed::new(2_026, run)));
            let found = found.collect::<Outcome<Vec<_>>>()?;
            let mean = found.iter().map(|pair| pair.0).sum::<f64>() / f64::from(runs);
            let squares: f64 = found
                .iter()
                .map(|pair| (pair.0 - mean) * (pair.0 - mean))
                .sum();
            let error = math::Scalar::sqrt(squares / f64::from(runs.max(2) - 1) / f64::from(runs));
            let tests: Vec<String> = found.iter().map(|pair| format!("{:.1}", pair.1)).collect();
            println!(
                "{dim}-D, lengthscale {lengthscale} (the file's: {}), epsilon {epsilon}: {mean:.3} ({error:.3}); B {}",
                world.lengthscale,
                tests.join(" ")
            );
        }
    }
    Ok(())
}
