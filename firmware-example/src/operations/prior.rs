//! Rows of the federated prior: a federation of four agents and its server, every decision, every
//! joint vector, every posterior.

use core::array;

use sordino_core::domain::Candidates;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::federated::prior::agent::{
    Agent, AgentState, Input, Output, log_len, workspace_len,
};
use sordino_core::federated::prior::{
    Config, Draw, Filter, Model, Parameters, Plan, Public, PublicState, Tables, draw_designs, gram,
    models, nystrom_rows, nystrom_scratch_len, scratch_len, storage_len,
};
use sordino_core::federated::{
    Server, ServerInput, ServerOutput, ServerState, ServerStorage, Workspace,
};
use sordino_core::kernel::SquaredExponential;
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::privacy::Simulated;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use super::{Emit, Fold};

const AGENTS: usize = 4;
const M: usize = 6;
const CANDIDATES: usize = 16;
const POINTS: usize = 3;
const DESIGNS: usize = 5;
const ROUNDS: u32 = 4;
/// Two releases of one data set, and one of another.
const RELEASES: [u32; 3] = [0, 0, 2];
const MULTIPLIERS: [f64; 3] = [2.0, 2.0, 0.9];
const LOG: usize = log_len(POINTS, ROUNDS as usize);
const WORKSPACE: usize = workspace_len(LOG / 2, M, M, 5);
const SEED: RunSeed = RunSeed::new(60, 0);

pub(super) fn rows(emit: Emit<'_>) {
    emit("federated::prior f64", &federation::<f64>);
    emit("federated::prior f32", &federation::<f32>);
}

/// What everybody knows, and the function that the agents look for.
struct World<T> {
    rows: [T; CANDIDATES * M],
    gram: [T; M * M],
    designs: [u32; DESIGNS * POINTS],
    truth: [T; M],
}

impl<T: Scalar> World<T> {
    fn new(config: &Config) -> Option<Self> {
        let kernel = SquaredExponential::new(T::from_f64(0.2), T::ONE).ok()?;
        let list: [T; M] = array::from_fn(|i| T::from_u32(i as u32) / T::from_u32(M as u32 - 1));
        let mut scratch = [T::ZERO; nystrom::scratch_len(M)];
        let map = Nystrom::new(
            kernel,
            1,
            list,
            [T::ZERO; nystrom::storage_len(M)],
            &mut scratch,
        )
        .ok()?;
        let mut rows = [T::ZERO; CANDIDATES * M];
        let mut mean = [T::ZERO; M * M];
        let candidates = Candidates::grid(CANDIDATES as u32, 1).ok()?;
        nystrom_rows(
            &map,
            &candidates,
            &mut rows,
            &mut [T::ZERO; nystrom_scratch_len(1, M)],
        )
        .ok()?;
        gram(config, &rows, &mut mean).ok()?;
        let mut designs = [0; DESIGNS * POINTS];
        let mut truth = [T::ZERO; M];
        draw_designs(config, SEED, CANDIDATES as u32, &mut designs).ok()?;
        normal::fill(
            &mut SEED.stream(Party::World, Purpose::Objective, 0),
            &mut truth,
        );
        Some(World {
            rows,
            gram: mean,
            designs,
            truth,
        })
    }

    fn public<'a>(&'a self, config: &'a Config) -> Option<Public<'a, T>> {
        let tables = Tables {
            prior_rows: &[],
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(config, &self.rows, tables).ok()
    }

    /// What agent n sees at a candidate: the common function and a little of its own.
    fn value(&self, agent: usize, candidate: u32) -> T {
        let row = self
            .rows
            .chunks_exact(M)
            .nth(candidate as usize)
            .unwrap_or(&[]);
        let mut value = T::from_f64(0.05) * T::from_u32(agent as u32 * 7 % 3);
        row.iter()
            .zip(&self.truth)
            .for_each(|(phi, weight)| value += *phi * *weight);
        value
    }
}

/// The agents, who share one workspace.
struct Agents<T> {
    states: [AgentState; AGENTS],
    logs: [[T; LOG]; AGENTS],
    workspace: [T; WORKSPACE],
}

impl<T: Scalar> Agents<T> {
    /// Tells agent n something and lets it observe until it waits; its joint vector, if it sends
    /// one.
    fn tell(
        &mut self,
        (config, world, models): (&Config, &World<T>, &[Model<T>]),
        n: usize,
        input: Input<'_, T>,
        fold: &mut Fold,
    ) -> Option<[T; M + 1]> {
        let state = self.states.get_mut(n)?;
        let log = self.logs.get_mut(n)?;
        let public = world.public(config)?;
        let workspace = Workspace::Borrowed(&mut self.workspace);
        let mut agent = Agent::attach(&public, models, ROUNDS, state, log, workspace).ok()?;
        let mut candidate = match agent.handle(input).ok()? {
            Output::Upload(vector) => {
                fold.all(vector);
                return vector.try_into().ok();
            }
            Output::Evaluate(candidate) => candidate,
            Output::Wait | Output::Done => return None,
        };
        loop {
            fold.word(u64::from(candidate));
            match agent
                .handle(Input::Observed(world.value(n, candidate)))
                .ok()?
            {
                Output::Evaluate(next) => candidate = next,
                _ => return None,
            }
        }
    }
}

fn federation<T: Scalar>(fold: &mut Fold) {
    // What is refused leaves its numbers out, and the row says so on every target alike.
    let _ = play::<T>(fold);
}

fn play<T: Scalar>(fold: &mut Fold) -> Option<()> {
    let parameters = Parameters {
        designs: DESIGNS as u32,
        grid_exponent: 16,
        ..Parameters::usual(AGENTS as u32, M as u32, POINTS as u32, 0.01)
    };
    let config = Config::new(parameters).ok()?;
    let world = World::new(&config)?;
    let models = models::<T>(1);
    let mut agents = Agents {
        states: array::from_fn(|n| AgentState::new(n as u32, SEED)),
        logs: [[T::ZERO; LOG]; AGENTS],
        workspace: [T::ZERO; WORKSPACE],
    };
    let everything = (&config, &world, &models[..]);
    for n in 0..AGENTS {
        agents.tell(everything, n, Input::Start, fold);
    }
    let mut posterior = PublicState::new(config, [T::ZERO; storage_len(M)]).ok()?;
    let mut state = ServerState::new();
    let mut source = Simulated::new(SEED.stream(Party::Server, Purpose::Release, 0));
    for round in 0..ROUNDS {
        for _ in RELEASES.iter().filter(|release| **release == round) {
            release(
                everything,
                &mut state,
                &mut posterior,
                &mut agents,
                &mut source,
                fold,
            )?;
            fold.all(posterior.weights());
            fold.all(posterior.covariance());
            fold.all(&[posterior.heterogeneity(), posterior.clip_factor()]);
        }
        let mut factor = [T::ZERO; packed_len(M)];
        let mut weights = [T::ZERO; M];
        let mut stream = SEED.stream(Party::World, Purpose::WeightDraw, round + 1);
        posterior
            .draw(&mut stream, &mut factor, &mut weights)
            .ok()?;
        for n in 0..AGENTS {
            // Now and then an agent hears nothing, or is away.
            let input = match (n + round as usize) % 5 {
                3 => Input::NoDraw,
                4 => Input::Missed,
                _ => Input::Draw(Draw {
                    weights: &weights,
                    values: &[],
                }),
            };
            agents.tell(everything, n, input, fold);
        }
    }
    Some(())
}

/// One release through the server: terms, joint vectors, charge, receipt, broadcast.
fn release<T: Scalar>(
    everything: (&Config, &World<T>, &[Model<T>]),
    state: &mut ServerState,
    posterior: &mut PublicState<T, [T; storage_len(M)]>,
    agents: &mut Agents<T>,
    source: &mut Simulated,
    fold: &mut Fold,
) -> Option<()> {
    let plan = Plan {
        rounds: &RELEASES,
        noise_multipliers: &MULTIPLIERS,
    };
    let storage = ServerStorage {
        sums: &mut [0; M + 1],
        noise: &mut [0; M + 1],
        flags: &mut [0; AGENTS],
        vectors: &mut [T::ZERO; M + 1],
    };
    let scratch = &mut [T::ZERO; scratch_len(M, POINTS)];
    let filter = Filter::new(plan, everything.1.public(everything.0)?, posterior, scratch).ok()?;
    let mut server = Server::attach(filter, state, storage).ok()?;
    let _ = server.handle(ServerInput::Open, source).ok()?;
    let broadcast = server.state().broadcast();
    let terms = server.method().terms()?;
    let weights: [T; M] = server.method().posterior().weights().try_into().ok()?;
    fold.all(&[terms.ridge, terms.clip_radius, terms.response]);
    for n in 0..AGENTS {
        if let Some(vector) = agents.tell(
            everything,
            n,
            Input::Terms {
                terms,
                weights: &weights,
            },
            fold,
        ) {
            let input = ServerInput::Upload {
                agent: n as u32,
                broadcast,
                vector: &vector,
            };
            let _ = server.handle(input, source).ok()?;
        }
    }
    let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source).ok()? else {
        return None;
    };
    match server
        .handle(ServerInput::Charged(Unwritten::receipt(charge)), source)
        .ok()?
    {
        ServerOutput::Broadcast { release, .. } => fold.all(release.value()),
        _ => return None,
    }
    Some(())
}
