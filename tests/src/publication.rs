//! A publication for tests: contributors in units of their own, two releases through the server,
//! the self-test replayed.

use sordino_core::federated::prior::{
    Config, Constant, Filter, Landmarks, Observations, Parameters, Plan, Public, PublicState,
    Tables, choose_landmarks, contribution, contribution_scratch_len, draw_distinct_designs, gram,
    kernel_rows, landmarks_scratch_len, scratch_len, self_test_scratch_len, shares, standardise,
    storage_len, total_mu,
};
use sordino_core::federated::{Server, ServerInput, ServerOutput, ServerState, ServerStorage};
use sordino_core::linalg::dot;
use sordino_core::privacy::Event;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, Stream, normal};

use crate::receipts::receipt;

/// What everybody computes of candidates, M, N and n̄.
pub struct Publication {
    /// What everybody agrees on.
    pub config: Config,
    /// Coordinates of the candidates.
    pub points: Vec<f64>,
    /// Number of axes.
    pub dim: usize,
    /// ℓ and the number of landmarks.
    pub landmarks: Landmarks<f64>,
    /// The landmarks among the candidates.
    pub pivots: Vec<u32>,
    /// Features of the candidates.
    pub feature_rows: Vec<f64>,
    /// A factor of the kernel over the candidates, square.
    pub prior_rows: Vec<f64>,
    /// Gram matrix of the features.
    pub gram: Vec<f64>,
    /// Virtual designs.
    pub designs: Vec<u32>,
}

/// The public state of a publication.
pub type State = PublicState<f64, Vec<f64>>;

/// What was released, and what is known by it.
pub struct Published {
    /// The numbers of all releases.
    pub released: Vec<f64>,
    /// Posterior of the server.
    pub posterior: State,
    /// What was charged.
    pub charged: Vec<Event>,
}

impl Publication {
    /// By the public rules, with `designs` virtual designs.
    pub fn new(points: Vec<f64>, dim: usize, m: usize, parameters: Parameters) -> Self {
        let count = points.len() / dim;
        let mut pivots = vec![0; m];
        let mut feature_rows = vec![0.0; count * m];
        let mut scratch = vec![0.0; landmarks_scratch_len(count)];
        let landmarks =
            choose_landmarks(&points, dim, &mut pivots, &mut feature_rows, &mut scratch).unwrap();
        pivots.truncate(landmarks.count);
        feature_rows.truncate(count * landmarks.count);
        let config = Config::new(Parameters {
            feature_count: landmarks.count as u32,
            ..parameters
        })
        .unwrap();
        let mut prior_rows = vec![0.0; count * count];
        kernel_rows(
            landmarks.lengthscale,
            &points,
            dim,
            &mut prior_rows,
            &mut scratch,
        )
        .unwrap();
        let mut mean = vec![0.0; config.features() * config.features()];
        gram(&config, &feature_rows, &mut mean).unwrap();
        let mut designs = vec![0; config.design_len() * config.parameters().designs as usize];
        draw_distinct_designs(&config, RunSeed::new(7, 0), count as u32, &mut designs).unwrap();
        Publication {
            config,
            points,
            dim,
            landmarks,
            pivots,
            feature_rows,
            prior_rows,
            gram: mean,
            designs,
        }
    }

    /// The candidates of [0, 1] at equal distances.
    pub fn line(count: u32, m: usize, parameters: Parameters) -> Self {
        Publication::new(
            (0..count)
                .map(|i| f64::from(i) / f64::from(count - 1))
                .collect(),
            1,
            m,
            parameters,
        )
    }

    /// The same with a constant that is known, or is not.
    pub fn with(self, constant: Constant) -> Self {
        let parameters = Parameters {
            constant,
            ..*self.config.parameters()
        };
        Publication {
            config: Config::new(parameters).unwrap(),
            ..self
        }
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.points.len() / self.dim
    }

    /// The public context.
    pub fn public(&self) -> Public<'_, f64> {
        let tables = Tables {
            prior_rows: &self.prior_rows,
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(&self.config, &self.feature_rows, tables).unwrap()
    }

    /// A posterior before any release.
    pub fn fresh(&self) -> State {
        PublicState::new(self.config, vec![0.0; storage_len(self.config.features())]).unwrap()
    }

    /// Scratch of prepare and update.
    pub fn scratch(&self) -> Vec<f64> {
        vec![0.0; scratch_len(self.config.features(), self.config.design_len())]
    }

    /// Scratch of the self-test.
    pub fn test_scratch(&self) -> Vec<f64> {
        vec![0.0; self_test_scratch_len(self.config.features(), self.config.design_len())]
    }

    /// The joint vector of a log, whose values it standardises, for the release that is prepared;
    /// and u.
    pub fn vector(&self, state: &State, log: &[f64]) -> (Vec<f64>, f64) {
        self.raw(state, &own_units(log))
    }

    /// The same of values as they are.
    pub fn raw(&self, state: &State, log: &[f64]) -> (Vec<f64>, f64) {
        let observations = Observations::new(log, self.candidates()).unwrap();
        let mut scratch = vec![0.0; contribution_scratch_len(observations.len())];
        let mut out = vec![0.0; self.config.contribution_len()];
        let terms = state.terms().unwrap();
        let w = state.weights();
        let u = contribution(
            &self.public(),
            &terms,
            w,
            &observations,
            &mut scratch,
            &mut out,
        )
        .unwrap();
        (out, u)
    }

    /// All releases at these multipliers, through the server.
    pub fn publish(&self, logs: &[Vec<f64>], multipliers: &[f64], seed: RunSeed) -> Published {
        let rounds = vec![0; multipliers.len()];
        let len = self.config.contribution_len();
        let plan = Plan {
            rounds: &rounds,
            noise_multipliers: multipliers,
        };
        let mut state = ServerState::new();
        let mut posterior = self.fresh();
        let mut scratch = self.scratch();
        let mut sums = vec![0; len];
        let mut noise = vec![0; len];
        let mut vectors = vec![0.0; len];
        let mut flags = vec![0; logs.len().max(self.config.parameters().agents as usize)];
        let mut released = Vec::new();
        let mut charged = Vec::new();
        for j in 0..multipliers.len() as u32 {
            let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, j));
            let filter = Filter::new(plan, self.public(), &mut posterior, &mut scratch).unwrap();
            let storage = ServerStorage {
                sums: &mut sums,
                noise: &mut noise,
                flags: &mut flags,
                vectors: &mut vectors,
            };
            let mut server = Server::attach(filter, &mut state, storage).unwrap();
            let _ = server.handle(ServerInput::Open, source).unwrap();
            for (agent, log) in logs.iter().enumerate() {
                let (vector, _) = self.vector(server.method().posterior(), log);
                let input = ServerInput::Upload {
                    agent: agent as u32,
                    broadcast: j,
                    vector: &vector,
                };
                assert_eq!(server.handle(input, source), Ok(ServerOutput::Wait));
            }
            let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
                panic!("a release is charged")
            };
            charged.extend_from_slice(charge.events());
            match server
                .handle(ServerInput::Charged(receipt(charge)), source)
                .unwrap()
            {
                ServerOutput::Broadcast { release, .. } => {
                    released.extend_from_slice(release.value())
                }
                other => panic!("{other:?}"),
            }
        }
        Published {
            released,
            posterior,
            charged,
        }
    }

    /// B, and the posterior, from the releases alone.
    pub fn replay(&self, released: &[f64], multipliers: &[f64]) -> (f64, State) {
        let mut posterior = self.fresh();
        let mut scratch = self.scratch();
        let rounds = vec![0; multipliers.len()];
        let plan = Plan {
            rounds: &rounds,
            noise_multipliers: multipliers,
        };
        let mut filter = Filter::new(plan, self.public(), &mut posterior, &mut scratch).unwrap();
        let test = filter.replay(released, &mut self.test_scratch()).unwrap();
        (test, posterior)
    }

    /// Mean of the file on the candidates, φᵀw.
    pub fn mean(&self, posterior: &State) -> Vec<f64> {
        self.feature_rows
            .chunks(self.config.features())
            .map(|phi| dot(phi, posterior.weights()))
            .collect()
    }

    /// A draw of the Gaussian process whose kernel the file has, on the candidates.
    pub fn function(&self, stream: &mut Stream) -> Vec<f64> {
        let mut z = vec![0.0; self.candidates()];
        normal::fill(stream, &mut z);
        self.prior_rows
            .chunks(self.candidates())
            .map(|row| dot(row, &z))
            .collect()
    }
}

/// Multipliers of two releases that cost (ε, δ) together.
pub fn two_releases(epsilon: f64, delta: f64) -> [f64; 2] {
    let mut z = [0.0; 2];
    shares(total_mu(epsilon, delta).unwrap(), &[1.0; 2], &mut z).unwrap();
    z
}

/// A log with its values standardised.
pub fn own_units(log: &[f64]) -> Vec<f64> {
    let values: Vec<f64> = log.chunks(2).map(|entry| entry[1]).collect();
    let mut z = vec![0.0; values.len()];
    standardise(&values, &mut z).unwrap();
    log.chunks(2)
        .zip(z)
        .flat_map(|(entry, z)| [entry[0], z])
        .collect()
}

/// n values of a function at candidates that differ, with noise of this standard deviation, in
/// units that the stream chooses.
pub fn observed(function: &[f64], n: usize, noise: f64, stream: &mut Stream) -> Vec<f64> {
    let mut at: Vec<usize> = Vec::new();
    while at.len() < n {
        let x = stream.below(function.len() as u32) as usize;
        if !at.contains(&x) {
            at.push(x);
        }
    }
    let scale = (1.5 * normal::draw::<f64>(stream)).exp();
    let offset = 30.0 * normal::draw::<f64>(stream);
    at.into_iter()
        .flat_map(|x| {
            [
                x as f64,
                scale * (function[x] + noise * normal::draw::<f64>(stream)) + offset,
            ]
        })
        .collect()
}

/// Pearson's correlation.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let [ma, mb] = [a, b].map(|x| x.iter().sum::<f64>() / x.len() as f64);
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}
