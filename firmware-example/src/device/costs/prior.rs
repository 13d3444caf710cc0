//! The agent of a federated prior: M = 50 features, 256 candidates, 64 observations in all. Its
//! public context, one row of features for each candidate, is not counted as its storage: a device
//! keeps it in flash.

use core::hint::black_box;

use sordino_core::federated::prior::agent::{Agent, AgentState, Input, log_len, workspace_len};
use sordino_core::federated::prior::{Config, Draw, Parameters, Public, Tables, Terms, models};
use sordino_core::federated::{Phase, Workspace};
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;

use super::{Memory, Operation};
use crate::device::memory::PUBLIC;

const M: usize = 50;
const CANDIDATES: usize = PUBLIC / M;
const INITIAL: usize = 10;
/// The last query is made with 63 observations; what it finds is the 64th.
const OBSERVATIONS: usize = 64;
const ROUNDS: usize = OBSERVATIONS - INITIAL;
const LOG: usize = log_len(INITIAL, ROUNDS);
const WORKSPACE: usize = workspace_len(OBSERVATIONS, M, M, 5);

const fn storage(_: usize) -> usize {
    4 * (LOG + WORKSPACE)
}

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "prior agent, M = 50: draw to query after n, factors kept",
        &[(31, 180_000, 7_000_000), (63, 340_000, 15_000_000)],
        storage,
        |memory, probe, n| {
            agent(memory, n, true, |agent, draw| {
                probe.measure(|| query(agent, draw))
            })
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "prior agent, M = 50: draw to query after n, factors rebuilt",
        &[(63, 2_400_000, 100_000_000)],
        storage,
        |memory, probe, n| {
            agent(memory, n, false, |agent, draw| {
                probe.measure(|| query(agent, draw))
            })
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "prior agent, M = 50: terms to joint vector of n",
        &[(31, 250_000, 7_600_000), (63, 1_000_000, 36_000_000)],
        storage,
        |memory, probe, n| {
            agent(memory, n, false, |agent, draw| {
                probe.measure(|| contribute(agent, draw))
            })
        },
    ),
];

fn query(agent: &mut Agent<'_, f32>, draw: &[f32]) {
    let _ = black_box(agent.handle(Input::Draw(Draw {
        weights: black_box(draw),
        values: &[],
    })));
}

fn contribute(agent: &mut Agent<'_, f32>, weights: &[f32]) {
    let terms = Terms {
        ridge: 0.02,
        clip_radius: 3.0,
        response: 8.0,
    };
    let _ = black_box(agent.handle(Input::Terms {
        terms: black_box(terms),
        weights: black_box(weights),
    }));
}

/// Bumps whose products are a squared exponential of lengthscale .03 and variance 1.
pub(super) fn features(rows: &mut [f32], m: usize) {
    let width = 0.03 / Scalar::sqrt(2.0f32);
    let spacing = 1.0 / (m as f32 - 1.0);
    let height = Scalar::sqrt(spacing / (width * Scalar::sqrt(core::f32::consts::PI)));
    for (i, row) in rows.chunks_exact_mut(m).enumerate() {
        let x = i as f32 / (CANDIDATES as f32 - 1.0);
        for (j, phi) in row.iter_mut().enumerate() {
            let distance = (x - j as f32 * spacing) / width;
            *phi = height * Scalar::exp(-0.5 * distance * distance);
        }
    }
}

/// Hands on an agent that waits after n observations, its factors kept up to the last but one or of
/// nothing, and a draw.
fn agent(memory: &mut Memory, n: usize, kept: bool, act: impl FnOnce(&mut Agent<'_, f32>, &[f32])) {
    features(&mut memory.public, M);
    let Ok(config) = Config::new(Parameters::usual(200, M as u32, INITIAL as u32, 0.01)) else {
        return;
    };
    let Ok(public) = Public::new(&config, &memory.public, Tables::NONE) else {
        return;
    };
    let (log, workspace) = memory.numbers.split_at_mut(LOG);
    for (i, entry) in log.chunks_exact_mut(2).enumerate() {
        let candidate = 37 * i % CANDIDATES;
        entry.copy_from_slice(&[candidate as f32, Scalar::sin(0.05 * candidate as f32)]);
    }
    let draw = &mut memory.vectors[..M];
    draw.iter_mut()
        .enumerate()
        .for_each(|(i, weight)| *weight = Scalar::sin(0.3 * i as f32));
    // A stored state is its fields in order: what a device restores.
    let before = n - usize::from(kept);
    let stored = (
        7u32,
        RunSeed::new(1, 0),
        Phase::Waiting,
        (before - INITIAL) as u32,
        before as u32,
        0u32,
    );
    let mut bytes = [0; 64];
    let Ok(bytes) = postcard::to_slice(&stored, &mut bytes) else {
        return;
    };
    let Ok(mut state) = postcard::from_bytes::<AgentState>(bytes) else {
        return;
    };
    let models = models(0);
    let rounds = ROUNDS as u32;
    let workspace = Workspace::Owned(workspace);
    let Ok(mut agent) = Agent::attach(&public, &models, rounds, &mut state, log, workspace) else {
        return;
    };
    if kept {
        query(&mut agent, draw);
        let _ = agent.handle(Input::Observed(0.3));
    }
    act(&mut agent, draw);
}
