//! A small population for tests of the federated prior: candidates, features, factor, and agents
//! with data of their own.

use sordino_core::domain::Candidates;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::federated::prior::{
    Config, Parameters, Public, Tables, draw_designs, gram, nystrom_rows, nystrom_scratch_len,
};
use sordino_core::kernel::{Kernel, SquaredExponential};
use sordino_core::linalg::{dot, pivoted_cholesky};
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

/// Signal variance 1 on a regular grid of [0, 1].
pub struct World<T> {
    /// What everybody agrees on.
    pub config: Config,
    /// Features of the candidates, D × M.
    pub feature_rows: Vec<T>,
    /// Factor of the prior, D × `rank`.
    pub prior_rows: Vec<T>,
    /// Columns of the factor.
    pub rank: usize,
    /// Gram matrix of the features, M × M.
    pub gram: Vec<T>,
    /// Candidates of the designs, V of them.
    pub designs: Vec<u32>,
    /// The kernel itself at candidates i and j, for dense checks.
    pub lengthscale: f64,
    /// Number of candidates D.
    pub candidates: u32,
}

impl<T: Scalar> World<T> {
    /// `candidates` points, Nyström features on a regular grid of M points, and the factor of the
    /// kernel itself.
    pub fn new(
        parameters: Parameters,
        candidates: u32,
        lengthscale: f64,
        public_seed: RunSeed,
    ) -> Self {
        let config = Config::new(parameters).unwrap();
        let m = config.features();
        let d = candidates as usize;
        let kernel = SquaredExponential::new(T::from_f64(lengthscale), T::ONE).unwrap();
        let list = |count: usize| -> Vec<T> {
            (0..count)
                .map(|i| T::from_u32(i as u32) / T::from_u32(count as u32 - 1))
                .collect()
        };
        let storage = vec![T::ZERO; nystrom::storage_len(m)];
        let mut scratch = vec![T::ZERO; nystrom::scratch_len(m)];
        let map = Nystrom::new(kernel, 1, list(m), storage, &mut scratch).unwrap();
        let mut feature_rows = vec![T::ZERO; d * m];
        let mut scratch = vec![T::ZERO; nystrom_scratch_len(1, m)];
        nystrom_rows(
            &map,
            &Candidates::grid(candidates, 1).unwrap(),
            &mut feature_rows,
            &mut scratch,
        )
        .unwrap();
        let points = list(d);
        let mut wide = vec![T::ZERO; d * 128];
        let mut diagonal = vec![T::ZERO; d];
        let tolerance = T::from_f64(if T::BYTES == 4 { 1e-5 } else { 1e-8 });
        let reached = pivoted_cholesky(d, 128, &mut wide, &mut diagonal, tolerance, |i, j| {
            kernel.covariance(&points[i..=i], &points[j..=j])
        });
        let prior_rows = wide
            .chunks(128)
            .flat_map(|row| row[..reached.rank].to_vec())
            .collect();
        let mut mean = vec![T::ZERO; m * m];
        gram(&config, &feature_rows, &mut mean).unwrap();
        let mut designs = vec![0; parameters.designs as usize * config.design_len()];
        draw_designs(&config, public_seed, candidates, &mut designs).unwrap();
        let rank = reached.rank;
        World {
            config,
            feature_rows,
            prior_rows,
            rank,
            gram: mean,
            designs,
            lengthscale,
            candidates,
        }
    }

    /// The public context, with the factor or without.
    pub fn public(&self, with_factor: bool) -> Public<'_, T> {
        let prior_rows = if with_factor {
            &self.prior_rows[..]
        } else {
            &[]
        };
        let tables = Tables {
            prior_rows,
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(&self.config, &self.feature_rows, tables).unwrap()
    }

    /// A draw of the Gaussian process on the candidates.
    pub fn function(&self, seed: RunSeed, party: Party) -> Vec<f64> {
        let mut z = vec![T::ZERO; self.rank];
        normal::fill(&mut seed.stream(party, Purpose::Objective, 0), &mut z);
        self.prior_rows
            .chunks(self.rank)
            .map(|row| dot(row, &z).to_f64())
            .collect()
    }
}

/// Agents of the small world.
pub const N: u32 = 12;
/// Features of the small world.
pub const M: usize = 9;
/// Observations of an agent of the small world.
pub const POINTS: u32 = 5;
/// The weight of the clip coordinate.
pub const GAMMA: f64 = 0.25;

/// Forty candidates, lengthscale .2, noise variance .05.
pub fn small(agents: u32) -> World<f64> {
    let parameters = Parameters {
        designs: 32,
        clip_weight: GAMMA,
        ..Parameters::usual(agents, M as u32, POINTS, 0.05)
    };
    World::new(parameters, 40, 0.2, RunSeed::new(7, 0))
}

/// Logs of all agents: a common function, plus `own` times one of the agent's, at uniform points.
pub fn logs(world: &World<f64>, seed: RunSeed, own: f64) -> Vec<Vec<f64>> {
    let p = world.config.parameters();
    let common = world.function(seed, Party::World);
    (0..p.agents)
        .map(|n| {
            let mine = world.function(seed, Party::Agent(n));
            let mut stream = seed.stream(Party::Agent(n), Purpose::InitialPoints, 0);
            (0..POINTS)
                .flat_map(|_| {
                    let x = stream.below(world.candidates) as usize;
                    let noise = p.noise_variance.sqrt() * normal::draw::<f64>(&mut stream);
                    [x as f64, common[x] + own * mine[x] + noise]
                })
                .collect()
        })
        .collect()
}
