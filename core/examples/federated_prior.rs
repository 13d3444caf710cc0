//! Summed regret of the federated prior against agents that share nothing, on draws of a Gaussian
//! process: 200 agents, 40 rounds, 1,000 points of [0, 1], at two privacy budgets. An experiment,
//! no proof: the means it prints have errors. Six runs take about half a minute of two cores.
//!
//! `cargo run --release -p sordino-core --example federated_prior [runs] [agents] [all]`; `all`
//! adds agents that differ.

use std::error::Error;
use std::thread;

use sordino_core::domain::Candidates;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::federated::prior::{
    Config, Draw, Factors, Mechanism, Model, Observations, Parameters, PriorError, Public,
    PublicState, Tables, contribution, contribution_scratch_len, draw_designs, factors_len, gram,
    levels, models, nystrom_rows, nystrom_scratch_len, query, query_scratch_len, repeats,
    scratch_len, shares, storage_len, total_mu,
};
use sordino_core::kernel::{Kernel, SquaredExponential};
use sordino_core::linalg::{dot, packed_len, pivoted_cholesky};
use sordino_core::math::{self, Scalar};
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, normal};

const POINTS: u32 = 1000;
const FEATURES: u32 = 50;
const LENGTHSCALE: f64 = 0.03;
const NOISE: f64 = 0.01;
const INITIAL: u32 = 10;
const ROUNDS: u32 = 40;
const RELEASES: [u32; 6] = [0, 0, 0, 4, 8, 16];
const WIDTH: usize = 128;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What all agents share.
struct World {
    config: Config,
    rows: Vec<f64>,
    prior: Vec<f64>,
    rank: usize,
    gram: Vec<f64>,
    designs: Vec<u32>,
}

impl World {
    fn new(agents: u32) -> Result<Self, Box<dyn Error>> {
        let config = Config::new(Parameters::usual(agents, FEATURES, INITIAL, NOISE))?;
        let m = FEATURES as usize;
        let d = POINTS as usize;
        let kernel = SquaredExponential::new(LENGTHSCALE, 1.0)?;
        let grid = |count: usize| {
            (0..count)
                .map(|i| i as f64 / (count - 1) as f64)
                .collect::<Vec<_>>()
        };
        let mut scratch = vec![0.0; nystrom::scratch_len(m)];
        let map = Nystrom::new(
            kernel,
            1,
            grid(m),
            vec![0.0; nystrom::storage_len(m)],
            &mut scratch,
        )?;
        let mut rows = vec![0.0; d * m];
        nystrom_rows(
            &map,
            &Candidates::grid(POINTS, 1)?,
            &mut rows,
            &mut vec![0.0; nystrom_scratch_len(1, m)],
        )?;
        let points = grid(d);
        let mut wide = vec![0.0; d * WIDTH];
        let mut diagonal = vec![0.0; d];
        let reached = pivoted_cholesky(d, WIDTH, &mut wide, &mut diagonal, 1e-8, |i, j| {
            kernel.covariance(&points[i..=i], &points[j..=j])
        });
        let prior = wide
            .chunks(WIDTH)
            .flat_map(|row| row[..reached.rank].to_vec())
            .collect();
        let mut mean = vec![0.0; m * m];
        gram(&config, &rows, &mut mean)?;
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_designs(&config, RunSeed::new(1_000_003, 0), POINTS, &mut designs)?;
        Ok(World {
            config,
            rows,
            prior,
            rank: reached.rank,
            gram: mean,
            designs,
        })
    }

    /// The public context, with the factor or without.
    fn public(&self, factor: bool) -> Result<Public<'_, f64>, PriorError> {
        let tables = Tables {
            prior_rows: if factor { &self.prior } else { &[] },
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(&self.config, &self.rows, tables)
    }

    fn function(&self, seed: RunSeed, party: Party) -> Vec<f64> {
        let mut z = vec![0.0; self.rank];
        normal::fill(&mut seed.stream(party, Purpose::Objective, 0), &mut z);
        self.prior
            .chunks(self.rank)
            .map(|row| dot(row, &z))
            .collect()
    }
}

/// How agents' functions relate.
#[derive(Clone, Copy, PartialEq)]
enum Population {
    /// One function, each value perturbed by U[−.02, .02].
    Common,
    /// Each agent's own draw: sharing cannot help.
    Unrelated,
    /// The common function and one of the agent's own, as large.
    Smooth,
    /// Half of the agents have f, half −f.
    Camps,
}

/// One way to share.
#[derive(Clone, Copy)]
struct Method {
    name: &'static str,
    /// ε at δ = N^−1.1; nothing: no sharing.
    epsilon: Option<f64>,
    /// Count releases of the same data as what they are.
    repeats: bool,
    /// The contributions are replaced by nothing.
    silent: bool,
    /// Model prior ∝ s^power.
    power: u32,
    /// The factor F of the kernel; without it K = ΦΦᵀ, as on a device.
    factor: bool,
}

/// The method itself at an ε.
const fn prior(name: &'static str, epsilon: f64) -> Method {
    Method {
        name,
        epsilon: Some(epsilon),
        repeats: true,
        silent: false,
        power: 0,
        factor: true,
    }
}

const METHODS: &[Method] = &[
    Method {
        epsilon: None,
        ..prior("ts, nothing shared", 0.0)
    },
    prior("prior, eps 7.06", 7.06),
    Method {
        repeats: false,
        ..prior("prior, eps 7.06, c = 1 (the note)", 7.06)
    },
    Method {
        factor: false,
        ..prior("prior, eps 7.06, K = features alone", 7.06)
    },
    prior("prior, eps 0.91", 0.91),
    Method {
        repeats: false,
        ..prior("prior, eps 0.91, c = 1 (the note)", 0.91)
    },
    Method {
        power: 1,
        ..prior("prior, eps 0.91, models ~ s", 0.91)
    },
    Method {
        silent: true,
        ..prior("noise only, eps 7.06", 7.06)
    },
];

/// The function of every agent.
fn functions(world: &World, population: Population, seed: RunSeed) -> Vec<Vec<f64>> {
    let common = world.function(seed, Party::World);
    let of = |n: u32| match population {
        Population::Unrelated => world.function(seed, Party::Agent(n)),
        Population::Smooth => {
            let own = world.function(seed, Party::Agent(n));
            common.iter().zip(own).map(|(f, g)| f + g).collect()
        }
        Population::Camps => common
            .iter()
            .map(|f| if n.is_multiple_of(2) { *f } else { -f })
            .collect(),
        Population::Common => {
            let mut stream = seed.stream(Party::Agent(n), Purpose::Perturbation, 0);
            common
                .iter()
                .map(|f| f + 0.02 * (2.0 * stream.unit::<f64>() - 1.0))
                .collect()
        }
    };
    (0..world.config.parameters().agents).map(of).collect()
}

/// The summed regret of one run: mean over agents of best-so-far regret, summed over rounds 0 to
/// 40; and round 0's.
fn run(
    world: &World,
    method: Method,
    population: Population,
    seed: RunSeed,
) -> Outcome<(f64, f64)> {
    let m = FEATURES as usize;
    let p = *world.config.parameters();
    let public = world.public(method.factor)?;
    let functions = functions(world, population, seed);
    let optimum: Vec<f64> = functions
        .iter()
        .map(|f| f.iter().copied().fold(f64::MIN, f64::max))
        .collect();
    let mut best = vec![f64::MIN; functions.len()];
    let mut logs: Vec<Vec<f64>> = vec![Vec::new(); functions.len()];
    let observe = |n: usize, x: u32, log: &mut Vec<f64>, best: &mut f64| {
        let mut stream = seed.stream(
            Party::Agent(n as u32),
            Purpose::ObservationNoise,
            log.len() as u32 / 2,
        );
        let value = functions[n][x as usize];
        log.extend([
            f64::from(x),
            value + Scalar::sqrt(NOISE) * normal::draw::<f64>(&mut stream),
        ]);
        *best = best.max(value);
    };
    for n in 0..functions.len() {
        let mut stream = seed.stream(Party::Agent(n as u32), Purpose::InitialPoints, 0);
        for _ in 0..INITIAL {
            observe(n, stream.below(POINTS), &mut logs[n], &mut best[n]);
        }
    }
    let regret = |best: &[f64]| {
        optimum.iter().zip(best).map(|(o, b)| o - b).sum::<f64>() / f64::from(p.agents)
    };
    let mut state = PublicState::new(world.config, vec![0.0; storage_len(m)])?;
    let mut scratch = vec![0.0; scratch_len(m, INITIAL as usize)];
    let mut z = [0.0; RELEASES.len()];
    if let Some(epsilon) = method.epsilon {
        let delta = math::pow(f64::from(p.agents), -1.1);
        shares(total_mu(epsilon, delta)?, &[1.0; RELEASES.len()], &mut z)?;
    }
    let sharing: [Model<f64>; 6] = models(method.power);
    let used = method.epsilon.is_some();
    let alone = [sharing[0]];
    let models = if used { &sharing[..] } else { &alone };
    let capacity = (INITIAL + ROUNDS) as usize;
    let mut factors = vec![(0, vec![0.0; factors_len(capacity, levels(models))]); functions.len()];
    let mut work = vec![0.0; query_scratch_len(capacity, m.max(world.rank))];
    let mut weights = vec![0.0; m];
    let mut values = vec![0.0; POINTS as usize];
    let first = regret(&best);
    let mut sum = first;
    for round in 0..ROUNDS {
        for (j, _) in RELEASES
            .iter()
            .enumerate()
            .filter(|(_, at)| used && **at == round)
        {
            release(
                &mut state,
                &public,
                &logs,
                (z[j], method, j),
                seed,
                &mut scratch,
            )?;
        }
        if used {
            let mut stream = seed.stream(Party::World, Purpose::WeightDraw, round + 1);
            state.draw(&mut stream, &mut scratch[..packed_len(m)], &mut weights)?;
            Draw::values_of(&public, &weights, &mut values)?;
        }
        let draw = used.then_some(Draw {
            weights: &weights,
            values: &values,
        });
        for n in 0..functions.len() {
            let observations = Observations::new(&logs[n], POINTS as usize)?;
            let mut stream = seed.stream(Party::Agent(n as u32), Purpose::OwnDraw, round + 1);
            let (rows, numbers) = &mut factors[n];
            let factors = &mut Factors::new(capacity, rows, numbers);
            let next = query(
                &public,
                models,
                draw.as_ref(),
                &observations,
                &mut stream,
                factors,
                &mut work,
            )?;
            observe(n, next.candidate, &mut logs[n], &mut best[n]);
        }
        sum += regret(&best);
    }
    Ok((sum, first))
}

fn release(
    state: &mut PublicState<f64, Vec<f64>>,
    public: &Public<'_, f64>,
    logs: &[Vec<f64>],
    (z, method, j): (f64, Method, usize),
    seed: RunSeed,
    scratch: &mut [f64],
) -> Outcome<()> {
    let terms = state.prepare(public, scratch)?;
    let config = *state.config();
    let mechanism = Mechanism::new(&config, &terms, z)?;
    let encoder = mechanism.encoder()?;
    let len = config.contribution_len();
    let mut sums = vec![0i64; len];
    let mut noise = vec![0i64; len];
    let mut out = vec![0.0; len];
    for log in logs.iter().filter(|_| !method.silent) {
        let observations = Observations::new(log, POINTS as usize)?;
        let mut work = vec![0.0; contribution_scratch_len(observations.len())];
        contribution(
            public,
            &terms,
            state.weights(),
            &observations,
            &mut work,
            &mut out,
        )?;
        encoder.add(&out, &[1.0], &mut sums)?;
    }
    let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, j as u32));
    let pool = mechanism.grid().fill_noise(source, &mut noise)?;
    let everybody = mechanism.grid().everybody()?;
    let released = mechanism.grid().release(
        &mut sums,
        everybody,
        pool,
        mechanism.l2_sensitivity(),
        &mut out,
    )?;
    let c = if method.repeats {
        repeats(&RELEASES, j)
    } else {
        1
    };
    state.update(released.value(), mechanism.noise_std(), c, scratch)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let runs: u32 = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let agents: u32 = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let world = World::new(agents)?;
    println!(
        "{agents} agents, {runs} paired runs, releases at {RELEASES:?}, prior factor of {} columns",
        world.rank
    );
    let populations = [
        (Population::Common, "one common function"),
        (Population::Unrelated, "unrelated functions"),
        (
            Population::Smooth,
            "a smooth function of each agent's own, as large as the common one",
        ),
        (Population::Camps, "two equal camps"),
    ];
    let count = if arguments.next().is_some() {
        populations.len()
    } else {
        2
    };
    for (population, title) in populations.into_iter().take(count) {
        println!("\n{title}: summed regret, mean (standard error), of which round 0; wins over ts");
        let mut baseline: Vec<f64> = Vec::new();
        for method in METHODS {
            let clock = std::time::Instant::now();
            let seeds: Vec<RunSeed> = (0..runs).map(|run| RunSeed::new(2_026, run)).collect();
            let halves = thread::scope(|scope| {
                let workers: Vec<_> = seeds
                    .chunks(seeds.len().div_ceil(2).max(1))
                    .map(|part| {
                        let world = &world;
                        scope.spawn(move || {
                            part.iter()
                                .map(|seed| run(world, *method, population, *seed))
                                .collect::<Outcome<Vec<_>>>()
                        })
                    })
                    .collect();
                workers
                    .into_iter()
                    .map(|worker| worker.join().expect("a worker panicked"))
                    .collect::<Outcome<Vec<_>>>()
            });
            let found: Vec<(f64, f64)> = halves.map_err(|error| error as Box<dyn Error>)?.concat();
            let sums: Vec<f64> = found.iter().map(|pair| pair.0).collect();
            if baseline.is_empty() {
                baseline.clone_from(&sums);
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let centre = mean(&sums);
            let spread = sums
                .iter()
                .map(|x| (x - centre) * (x - centre))
                .sum::<f64>()
                / (sums.len().max(2) - 1) as f64;
            let wins = sums.iter().zip(&baseline).filter(|(a, b)| a < b).count();
            println!(
                "{:36} {centre:6.2} ({:.2})  {:5.2}  {wins:2} of {runs}  ratio {:.2}  [{:.1} s]",
                method.name,
                Scalar::sqrt(spread / sums.len() as f64),
                mean(&found.iter().map(|pair| pair.1).collect::<Vec<_>>()),
                centre / mean(&baseline),
                clock.elapsed().as_secs_f64(),
            );
        }
    }
    Ok(())
}
