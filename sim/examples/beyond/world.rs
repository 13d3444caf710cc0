//! A federation to try things on: functions of a Gaussian process on a list of candidates in one to
//! six dimensions, and what its parties know of it.

use std::error::Error;

use sordino_core::federated::prior::{
    Config, Parameters, PriorError, Public, PublicState, Tables, draw_designs, gram, storage_len,
};
use sordino_core::kernel::{Kernel, SquaredExponential};
use sordino_core::linalg::{axpy, dot, lower, packed_len, pivoted_cholesky, symmetric};
use sordino_core::random::{Party, Purpose, RunSeed, normal};

/// Candidates of every world.
pub const POINTS: usize = 1000;
/// λ, the variance of the noise that is there.
pub const NOISE: f64 = 0.01;
/// Rounds after the initial points.
pub const ROUNDS: u32 = 40;
/// Columns of a factor of K at most; what is beyond them belongs to no function.
const RANK_MAX: usize = 300;

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The features φ of the population's weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Features {
    /// The first M columns of the pivoted Cholesky factor of K: Nyström at M candidates, each where
    /// most is missing.
    Greedy(usize),
    /// The M largest eigenfunctions of K on the candidates.
    Eigen(usize),
    /// M random cosines.
    Fourier(usize),
}

/// One thing to try; [`Case::DEFAULT`] is the method as it is shipped.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// N, enrolled agents.
    pub agents: u32,
    /// D, axes of the unit box.
    pub dim: usize,
    /// The lengthscale of the functions.
    pub lengthscale: f64,
    /// Lengthscales that the parties take for possible; empty: they know it. One: they take it for
    /// that.
    pub assumed: &'static [f64],
    /// Noise variances that agents take for possible; empty: they know it.
    pub noises: &'static [f64],
    pub features: Features,
    /// Rounds after which a release follows.
    pub releases: &'static [u32],
    /// Shares of Σ1/z²; empty: equal.
    pub shares: &'static [f64],
    /// ε of everything at δ = N^−1.1; nothing: agents share nothing.
    pub epsilon: Option<f64>,
    /// Noise variance of a release over its sampling variance, chosen from releases before;
    /// nothing: planned ahead.
    pub adaptive: Option<f64>,
    /// Initial points of agent n: entry n mod their number.
    pub sizes: &'static [u32],
    /// Variance of a smooth function of each agent's own.
    pub own: f64,
    /// Agents follow the posterior's mean instead of a draw of the round.
    pub mean: bool,
    /// Noise on devices, sums through secure aggregation: the fraction of agents that may be
    /// missing.
    pub dropouts: Option<f64>,
}

impl Case {
    pub const DEFAULT: Case = Case {
        agents: 200,
        dim: 1,
        lengthscale: 0.03,
        assumed: &[],
        noises: &[],
        features: Features::Greedy(50),
        releases: &[0, 0, 0, 4, 8, 16],
        shares: &[],
        epsilon: Some(7.05),
        adaptive: None,
        sizes: &[10],
        own: 0.0,
        mean: false,
        dropouts: None,
    };

    /// Agents that share nothing.
    pub const fn alone(self) -> Case {
        Case {
            epsilon: None,
            ..self
        }
    }

    /// Initial points, on average, as the virtual designs have them.
    pub fn initial(&self) -> u32 {
        self.sizes.iter().sum::<u32>() / self.sizes.len() as u32
    }
}

/// F with K ≈ FFᵀ on the candidates, and its kernel.
pub struct Factor {
    pub lengthscale: f64,
    pub rows: Vec<f64>,
    pub rank: usize,
}

impl Factor {
    fn new(points: &[f64], dim: usize, lengthscale: f64) -> Outcome<Self> {
        let kernel = SquaredExponential::new(lengthscale, 1.0)?;
        let at = |i: usize| &points[i * dim..(i + 1) * dim];
        let mut wide = vec![0.0; POINTS * RANK_MAX];
        let mut diagonal = vec![0.0; POINTS];
        let covariance = |i: usize, j: usize| kernel.covariance(at(i), at(j));
        let rank =
            pivoted_cholesky(POINTS, RANK_MAX, &mut wide, &mut diagonal, 1e-8, covariance).rank;
        let rows = wide
            .chunks(RANK_MAX)
            .flat_map(|row| row[..rank].to_vec())
            .collect();
        Ok(Factor {
            lengthscale,
            rows,
            rank,
        })
    }

    /// A draw of the process on the candidates.
    pub fn draw(&self, seed: RunSeed, party: Party) -> Vec<f64> {
        let mut z = vec![0.0; self.rank];
        normal::fill(&mut seed.stream(party, Purpose::Objective, 0), &mut z);
        self.rows
            .chunks(self.rank)
            .map(|row| dot(row, &z))
            .collect()
    }
}

/// What a case is tried on.
pub struct World {
    pub case: Case,
    pub points: Vec<f64>,
    /// Of the functions.
    pub truth: Factor,
    /// What agents take for possible; the first is also the public side's.
    pub assumed: Vec<Factor>,
    pub config: Config,
    features: Vec<f64>,
    gram: Vec<f64>,
    designs: Vec<u32>,
}

impl World {
    pub fn new(case: Case) -> Outcome<Self> {
        let dim = case.dim;
        let mut stream = RunSeed::new(9, 0).stream(Party::World, Purpose::Candidates, dim as u32);
        let points: Vec<f64> = match dim {
            1 => (0..POINTS)
                .map(|i| i as f64 / (POINTS - 1) as f64)
                .collect(),
            _ => (0..POINTS * dim).map(|_| stream.unit()).collect(),
        };
        let truth = Factor::new(&points, dim, case.lengthscale)?;
        let lengthscales = if case.assumed.is_empty() {
            vec![case.lengthscale]
        } else {
            case.assumed.to_vec()
        };
        let assumed = lengthscales
            .iter()
            .map(|l| Factor::new(&points, dim, *l))
            .collect::<Outcome<Vec<_>>>()?;
        let features = rows(&case, &points, &assumed[0]);
        let m = features.len() / POINTS;
        let config = Config::new(Parameters::usual(
            case.agents,
            m as u32,
            case.initial(),
            NOISE,
        ))?;
        let mut mean = vec![0.0; m * m];
        gram(&config, &features, &mut mean)?;
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_designs(
            &config,
            RunSeed::new(1_000_003, 0),
            POINTS as u32,
            &mut designs,
        )?;
        Ok(World {
            case,
            points,
            truth,
            assumed,
            config,
            features,
            gram: mean,
            designs,
        })
    }

    /// What is public, with the factor of one of the kernels that are taken for possible.
    pub fn public<'a>(
        &'a self,
        config: &'a Config,
        kernel: usize,
    ) -> Result<Public<'a, f64>, PriorError> {
        let tables = Tables {
            prior_rows: &self.assumed[kernel].rows,
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(config, &self.features, tables)
    }

    /// The public posterior before any release: N(0, I), or under several kernels the mean over
    /// them of what they say about the weights: W FₖFₖᵀWᵀ with W = (ΦᵀΦ + 10⁻⁶I)⁻¹Φᵀ.
    pub fn posterior(&self) -> Outcome<PublicState<f64, Vec<f64>>> {
        let m = self.config.features();
        let mut storage = vec![0.0; storage_len(m)];
        if self.assumed.len() == 1 {
            return Ok(PublicState::new(self.config, storage)?);
        }
        let mut factor = vec![0.0; packed_len(m)];
        for i in 0..m {
            for (j, x) in lower::row_mut(&mut factor, i).iter_mut().enumerate() {
                *x = self.gram[i * m + j] * POINTS as f64 + if i == j { 1e-6 } else { 0.0 };
            }
        }
        lower::factor(&mut factor, m, 0.0)?;
        let share = 1.0 / self.assumed.len() as f64;
        for kernel in &self.assumed {
            for column in 0..kernel.rank {
                let mut w = vec![0.0; m];
                for (phi, row) in self.features.chunks(m).zip(kernel.rows.chunks(kernel.rank)) {
                    axpy(row[column], phi, &mut w);
                }
                lower::solve(&factor, &mut w);
                lower::solve_transposed(&factor, &mut w);
                for (i, x) in w.iter().enumerate() {
                    axpy(share * x, &w, &mut storage[m + i * m..m + (i + 1) * m]);
                }
            }
        }
        Ok(PublicState::resume(self.config, 0.0, 1.0, storage)?)
    }
}

/// Φ, a row of M numbers for every candidate.
fn rows(case: &Case, points: &[f64], factor: &Factor) -> Vec<f64> {
    let rank = factor.rank;
    let first = |rows: &[f64], m: usize| {
        rows.chunks(rank)
            .flat_map(|row| row[..m.min(rank)].to_vec())
            .collect()
    };
    match case.features {
        Features::Greedy(m) => first(&factor.rows, m),
        Features::Eigen(m) => {
            let mut square = vec![0.0; rank * rank];
            for row in factor.rows.chunks(rank) {
                row.iter()
                    .zip(square.chunks_mut(rank))
                    .for_each(|(x, to)| axpy(*x, row, to));
            }
            let mut values = vec![0.0; rank];
            let mut vectors = vec![0.0; rank * rank];
            symmetric::eigen(&mut square, &mut values, &mut vectors);
            let mut order: Vec<usize> = (0..rank).collect();
            order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
            let largest: Vec<&[f64]> = order
                .iter()
                .take(m)
                .map(|j| &vectors[j * rank..(j + 1) * rank])
                .collect();
            factor
                .rows
                .chunks(rank)
                .flat_map(|row| largest.iter().map(|v| dot(row, v)).collect::<Vec<_>>())
                .collect()
        }
        Features::Fourier(m) => {
            let mut stream = RunSeed::new(77, 0).stream(Party::World, Purpose::Features, 0);
            let mut frequencies = vec![0.0; m * case.dim];
            normal::fill(&mut stream, &mut frequencies);
            let phases: Vec<f64> = (0..m)
                .map(|_| std::f64::consts::TAU * stream.unit::<f64>())
                .collect();
            let value = |x: &[f64], i: usize| {
                let turned =
                    dot(&frequencies[i * case.dim..(i + 1) * case.dim], x) / factor.lengthscale;
                (2.0 / m as f64).sqrt() * (turned + phases[i]).cos()
            };
            points
                .chunks(case.dim)
                .flat_map(|x| (0..m).map(|i| value(x, i)).collect::<Vec<_>>())
                .collect()
        }
    }
}
