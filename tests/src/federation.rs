//! A small federation with everything written out: what tests of the protocol run.

use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::transcript::{AgentLeaf, block_leaves, link};
use sordino_core::federated::*;
use sordino_core::kernel::{Kernel, SquaredExponential, Stationary};
use sordino_core::linalg::pivoted_cholesky;
use sordino_core::privacy::event::Event;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, normal};
use sordino_core::schedule::{Mixing, WeightConcentration};

use crate::receipts::receipt;

/// Number of agents.
pub const N: u32 = 6;
/// Number of regions.
pub const P: u32 = 2;
/// Number of rounds.
pub const T: u32 = 12;
/// Initial points.
pub const N_INIT: u32 = 3;
/// Number of features.
pub const M: usize = 16;
/// Number of candidates.
pub const GRID: u32 = 50;
/// Regularisation and noise variance.
pub const LAMBDA: f64 = 0.01;
/// Clipping norm of a contribution.
pub const S: f64 = 6.0;
/// Sampling probability.
pub const Q: f64 = 0.5;
/// Noise multiplier.
pub const Z: f64 = 0.8;
/// Exponent of the grid: a step is 2⁻²⁰.
pub const GRID_EXPONENT: u32 = 20;

/// Seed of the run.
pub fn run_seed() -> RunSeed {
    RunSeed::new(77, 3)
}

/// The function of an agent: a wave, shifted a little for each.
pub fn f(agent: u32, x: f64) -> f64 {
    (x - 0.31 - 0.01 * f64::from(agent)) * (0.9 - x) * 4.0
        + 0.5 * (-60.0 * (x - 0.75) * (x - 0.75)).exp()
}

/// Its noisy value.
pub fn observe(agent: u32, x: f64, number: u32) -> f64 {
    let noise: f64 = normal::draw(&mut run_seed().stream(
        Party::Agent(agent),
        Purpose::ObservationNoise,
        number,
    ));
    f(agent, x) + 0.1 * noise
}

/// What every agent shares: candidates, features with their rows, the factor of the prior.
pub struct Shared {
    /// Coordinates of the candidates.
    pub points: Vec<f64>,
    /// Frequencies and phases.
    pub features: Vec<f64>,
    /// Features of every candidate.
    pub rows: Vec<f64>,
    /// Factor of the prior.
    pub prior: Vec<f64>,
    /// Number of columns of the prior's factor.
    pub rank: usize,
}

/// Builds what all parties share.
pub fn shared() -> Shared {
    let points: Vec<f64> = (0..GRID)
        .map(|i| f64::from(i) / f64::from(GRID - 1))
        .collect();
    let mut features = vec![0.0; random_fourier::storage_len(1, M)];
    random_fourier::draw(
        5,
        3,
        Stationary::SquaredExponential,
        &[0.1],
        1,
        M,
        &mut features,
    )
    .unwrap();
    let map = RandomFourier::new(1, M, 1.0, true, &features[..]).unwrap();
    let mut rows = vec![0.0; GRID as usize * M];
    for (row, x) in rows.chunks_exact_mut(M).zip(&points) {
        map.features(&[*x], row);
    }
    let kernel = SquaredExponential::new(0.1, 1.0).unwrap();
    let rank = 20;
    let n = GRID as usize;
    let mut prior = vec![0.0; n * rank];
    let mut diagonal = vec![0.0; n];
    pivoted_cholesky(n, rank, &mut prior, &mut diagonal, 0.0, |i, j| {
        kernel.covariance(&points[i..=i], &points[j..=j])
    });
    Shared {
        points,
        features,
        rows,
        prior,
        rank,
    }
}

/// The parameters of the federation, DP-FTS-DE.
pub fn parameters(own_draw: OwnDraw) -> Parameters {
    Parameters {
        agents: N,
        regions: Regions::new(&[P]).unwrap(),
        rounds: T,
        initial_points: N_INIT,
        initial_region: InitialRegion::Own,
        feature_count: M as u32,
        regularization: LAMBDA,
        noise_variance: LAMBDA,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw,
        concentration: WeightConcentration::PAPER,
        aggregation: private(S, Q),
    }
}

/// Private aggregation with this clipping norm and sampling probability.
pub fn private(clipping_norm: f64, sampling_probability: f64) -> Aggregation {
    Aggregation::Private {
        clipping_norm: ClippingNorm::new(clipping_norm).expect("an admissible norm"),
        sampling_probability,
        noise_multiplier: NoiseMultiplier::new(Z).expect("an admissible multiplier"),
        grid_exponent: GRID_EXPONENT,
        signal: Signal::Vectors,
    }
}

/// The public context: with a factor of the prior if own draws are joint, and with rows of
/// candidates if their regions are given.
pub fn public<'a>(shared: &'a Shared, config: &'a Config, region_of: &'a [u32]) -> Public<'a, f64> {
    let rows = (!region_of.is_empty()).then_some(CandidateRows {
        features: &shared.rows,
        region_of,
    });
    let candidates = if rows.is_some() {
        Candidates::list(&shared.points, 1)
    } else {
        Candidates::grid(GRID, 1)
    };
    let features = RandomFourier::new(1, M, 1.0, true, &shared.features[..]).unwrap();
    let prior_rows = if config.parameters().own_draw == OwnDraw::Joint {
        &shared.prior[..]
    } else {
        &[]
    };
    Public::new(
        config,
        candidates.unwrap(),
        features,
        Tables {
            rows,
            prior_rows,
            ..Tables::NONE
        },
    )
    .unwrap()
}

/// What a federation did.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The last link of the chain.
    pub chain: Digest,
    /// Every query in order of rounds, agents, queries.
    pub queries: Vec<u32>,
    /// Every broadcast.
    pub broadcasts: Vec<Vec<f64>>,
    /// Events of every charge.
    pub charges: Vec<Event>,
}

/// Round `t` of agent `n`, to its upload or without one; gives its leaf.
fn play(
    mut agent: Agent<'_, f64>,
    (t, n): (u32, u32),
    broadcast: &[f64],
    queries: &mut Vec<u32>,
    upload: impl FnOnce(&[f64]),
) -> Digest {
    let mut input = if t == 0 {
        Input::Start
    } else {
        Input::Broadcast {
            vectors: broadcast,
            maximum: None,
        }
    };
    let mut leaf = AgentLeaf::new(n, t, if t == 0 { N_INIT } else { 1 });
    loop {
        match agent.handle(input).unwrap() {
            Output::Evaluate {
                candidate,
                point,
                number,
            } => {
                let y = observe(n, point[0], number);
                leaf.observation(candidate, y);
                queries.push(candidate);
                input = Input::Observed(y);
            }
            Output::Upload(vector) => {
                upload(vector);
                break leaf.end(vector);
            }
            Output::Wait | Output::Done => break leaf.end::<f64>(&[]),
        }
    }
}

/// Runs the machines of `sordino_core::federated` to the end. `tamper(t, n, vector)` may change an
/// upload on its way.
pub fn run(
    shared: &Shared,
    parameters: Parameters,
    cached: bool,
    mut tamper: impl FnMut(u32, u32, &mut [f64]),
) -> Transcript {
    let config = Config::new(parameters).unwrap();
    let region_of: Vec<u32> = shared.points.iter().map(|x| u32::from(*x > 0.5)).collect();
    let public = public(shared, &config, if cached { &region_of } else { &[] });
    let mut states: Vec<AgentState> = (0..N).map(|n| AgentState::new(n, run_seed())).collect();
    let mut storages = vec![vec![0.0; storage_len(&public)]; N as usize];
    let mut server_state = ServerState::new();
    let mut numbers = ServerNumbers::new(&config);
    let mut done = Transcript {
        chain: Digest::default(),
        queries: Vec::new(),
        broadcasts: Vec::new(),
        charges: Vec::new(),
    };
    let mut broadcast = Vec::new();
    for t in 0..=T {
        let mut server = Server::attach(&config, &mut server_state, numbers.lend()).unwrap();
        let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, t));
        if t < T {
            server.handle(ServerInput::Open, source).unwrap();
        }
        let mut leaves = Vec::new();
        for n in 0..N {
            let state = &mut states[n as usize];
            let storage = &mut storages[n as usize];
            let storage = AgentStorage::split(&public, storage).unwrap();
            let agent = Agent::attach(&public, state, storage).unwrap();
            leaves.push(play(
                agent,
                (t, n),
                &broadcast,
                &mut done.queries,
                |vector| {
                    let mut sent = vector.to_vec();
                    tamper(t, n, &mut sent);
                    let upload = ServerInput::Upload {
                        agent: n,
                        broadcast: t,
                        vector: &sent,
                    };
                    assert_eq!(server.handle(upload, source), Ok(ServerOutput::Wait));
                },
            ));
        }
        broadcast.clear();
        if t < T {
            let charge = match server.handle(ServerInput::Close, source).unwrap() {
                ServerOutput::Charge(charge) => charge,
                other => panic!("{other:?}"),
            };
            done.charges.extend_from_slice(charge.events());
            match server
                .handle(ServerInput::Charged(receipt(charge)), source)
                .unwrap()
            {
                ServerOutput::Broadcast { release, .. } => {
                    broadcast.extend_from_slice(release.value())
                }
                other => panic!("{other:?}"),
            }
            done.broadcasts.push(broadcast.clone());
        }
        done.chain = link(&done.chain, t, block_leaves(&leaves), &broadcast);
    }
    done
}
