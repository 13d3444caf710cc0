//! One federation in one process: the loop of an agent, the loop of a server, and a ledger between
//! them.
//!
//! `cargo run --release -p sordino-core --example agent_and_server`. The noise is simulated and
//! protects nobody; with a secret source and a ledger on the disk (`host/examples/server.rs`) both
//! loops stay as they are.

use std::error::Error;

use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::random_fourier;
use sordino_core::federated::{exchange::PublicFeatures, *};
use sordino_core::kernel::Stationary;
use sordino_core::math::Scalar;
use sordino_core::privacy::{Ledger, charge::Unwritten};
use sordino_core::random::{Party, Purpose, RunSeed, Simulated};

const FEATURES: usize = 64;
const AGENTS: u32 = 100;
const ROUNDS: u32 = 15;

/// What an agent measures: waves under a hill at 0.3, which stands a little elsewhere for each.
fn measure(agent: u32, x: f64) -> f64 {
    let away = x - 0.3 - 0.0001 * f64::from(agent);
    Scalar::cos(60.0 * away) - 8.0 * away * away
}

/// A round of an agent: it asks for measurements until it has something to upload, or nothing to
/// do.
fn play(agent: &mut Agent<'_, f64>, begin: Input<'_, f64>) -> Result<Option<Vec<f64>>, AgentError> {
    let name = agent.state().agent();
    let mut input = begin;
    loop {
        input = match agent.handle(input)? {
            Output::Evaluate { point, .. } => Input::Observed(measure(name, point[0])),
            Output::Upload(weights) => return Ok(Some(weights.to_vec())),
            Output::Wait | Output::Done => return Ok(None),
        };
    }
}

/// A round of the server: the secret sample, the uploads, the charge, and only then noise and
/// release.
fn release(
    server: &mut Server<'_, f64>,
    round: u32,
    uploads: &[Vec<f64>],
) -> Result<Vec<f64>, Box<dyn Error>> {
    let source =
        &mut Simulated::new(RunSeed::new(1, 0).stream(Party::Server, Purpose::Release, round));
    server.handle(ServerInput::Open, source)?;
    for (agent, vector) in (0..).zip(uploads) {
        server.handle(
            ServerInput::Upload {
                agent,
                broadcast: round,
                vector,
            },
            source,
        )?;
    }
    let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else {
        unreachable!()
    };
    let receipt = Unwritten.append(charge)?; // of a real ledger: on the disk, or nothing is released
    let paid = server.handle(ServerInput::Charged(receipt), source)?;
    let ServerOutput::Broadcast { release, .. } = paid else {
        unreachable!()
    };
    Ok(release.value().to_vec())
}

fn main() -> Result<(), Box<dyn Error>> {
    let private = Aggregation::private(6.0, 0.5, 1.0)?; // S, q, z
    let config = Config::new(Parameters::usual(
        AGENTS,
        Regions::whole(1)?,
        ROUNDS,
        FEATURES as u32,
        private,
    ))?;
    let mut frequencies = vec![0.0; random_fourier::storage_len(1, FEATURES)];
    let shared = PublicFeatures::new(7, Stationary::SquaredExponential, 0.03, 1.0); // of a public seed
    let public = Public::streamed(
        &config,
        Candidates::grid(500, 1)?,
        shared.draw(1, FEATURES, &mut frequencies)?,
    )?;
    let mut states: Vec<AgentState> = (0..AGENTS)
        .map(|n| AgentState::new(n, RunSeed::new(1, 0)))
        .collect();
    let mut numbers = vec![vec![0.0; storage_len(&public)]; AGENTS as usize];
    let len = config.broadcast_len();
    let mut state = ServerState::new();
    let mut broadcast = Vec::new();
    let storage = ServerStorage {
        sums: &mut vec![0; len],
        noise: &mut vec![0; len],
        flags: &mut vec![0; AGENTS as usize],
        vectors: &mut vec![0.0; len],
    };
    let mut server = Server::attach(&config, &mut state, storage)?;
    for round in 0..=ROUNDS {
        let mut uploads = Vec::new();
        let mut best = 0.0;
        for (state, numbers) in states.iter_mut().zip(&mut numbers) {
            let mut agent = Agent::attach(&public, state, AgentStorage::split(&public, numbers)?)?;
            let shared = Input::Broadcast {
                vectors: &broadcast,
                maximum: None,
            };
            let begin = if round == 0 { Input::Start } else { shared };
            uploads.extend(play(&mut agent, begin)?);
            best += agent
                .observations()
                .map(|(_, y)| y)
                .fold(f64::NEG_INFINITY, f64::max)
                / f64::from(AGENTS);
        }
        println!("round {round:2}: best measurement of an agent, on average {best:.4}");
        if round < ROUNDS {
            broadcast = release(&mut server, round, &uploads)?;
        }
    }
    println!("simulated noise: this run protects nobody");
    Ok(())
}
