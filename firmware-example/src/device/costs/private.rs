//! Encoding, accounting, an agent of a federation.

use core::hint::black_box;

use firmware_example::federation;
use sordino_core::features::random_fourier;
use sordino_core::federated::{Input, Sizes};
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::{Event, NeighboringRelation, SamplingProbability};
use sordino_core::random::{Stream, normal};

use super::{Memory, Operation, Probe};

/// Features of an upload.
const M: usize = 64;
/// Numbers of the scripted agent (D = 1, 36 observations), its features and a broadcast of two
/// vectors.
const AGENT: usize = Sizes::new(1, M, 36).storage() + random_fourier::storage_len(1, M) + 2 * M;

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "clip and encode 64 numbers into 2 blocks",
        &[(0, 140_000, 280_000)],
        |_| 16 * M,
        encode,
    ),
    Operation::new(
        "RDP accountant, f64: a new event and ε",
        &[(0, 73_000_000, 200_000_000)],
        |_| size_of::<RdpAccountant>(),
        account,
    )
    .with_stack_max(2560),
    Operation::new(
        "RDP accountant, f64: the same event again and ε",
        &[(0, 2_900_000, 7_900_000)],
        |_| size_of::<RdpAccountant>(),
        again,
    ),
    Operation::new(
        "federated agent, M = 64: broadcast to query",
        &[(0, 600_000, 14_000_000)],
        |_| 4 * AGENT,
        agent_query,
    ),
    Operation::new(
        "federated agent, M = 64: observation 34 to upload",
        &[(0, 80_000, 3_300_000)],
        |_| 4 * AGENT,
        agent_upload,
    ),
    Operation::new(
        "the whole scripted federation, 7 rounds",
        &[(0, 7_500_000, 200_000_000)],
        |_| 4 * AGENT,
        federation,
    )
    .with_stack_max(3072),
];

fn encode(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let Some(encoder) = SamplingProbability::new(0.25)
        .ok()
        .and_then(|q| GridGaussian::new(16, 1.0, q, 200).ok())
        .and_then(|mechanism| mechanism.encoder(1.0, 1.0).ok())
    else {
        return;
    };
    let vector = &mut memory.vectors[..M];
    normal::fill(&mut Stream::from_seed(6), vector);
    probe.measure(|| {
        let _ = black_box(encoder.add(
            black_box(vector),
            &[0.6, 0.4],
            &mut memory.integers[..2 * M],
        ));
    });
}

/// One round of a Poisson-sampled Gaussian mechanism: charged, and converted to ε at δ = 1e-5.
fn charge(accountant: &mut RdpAccountant) {
    let event = Event::PoissonSampledGaussian {
        sampling_probability: 0.25,
        noise_multiplier: 1.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let _ = black_box(accountant.compose(black_box(&event), 1));
    let _ = black_box(accountant.epsilon(black_box(1e-5)));
}

fn account(memory: &mut Memory, probe: &mut Probe, _: usize) {
    memory.accountant = RdpAccountant::new();
    probe.measure(|| charge(&mut memory.accountant));
}

fn again(memory: &mut Memory, probe: &mut Probe, _: usize) {
    memory.accountant = RdpAccountant::new();
    charge(&mut memory.accountant);
    probe.measure(|| charge(&mut memory.accountant));
}

/// Round 4: the maximum over 64 candidates, of the broadcast or of an own draw.
fn agent_query(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let _ = federation::play_until(
        federation::SCRIPT,
        &mut memory.numbers[..AGENT],
        3,
        |agent, broadcast, _| {
            probe.measure(|| {
                let _ = black_box(agent.handle(Input::Broadcast {
                    vectors: black_box(broadcast),
                    maximum: None,
                }));
            });
        },
    );
}

/// Round 4: the posterior takes one observation, and a draw becomes the upload.
fn agent_upload(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let _ = federation::play_until(
        federation::SCRIPT,
        &mut memory.numbers[..AGENT],
        3,
        |agent, broadcast, value| {
            let _ = agent.handle(Input::Broadcast {
                vectors: broadcast,
                maximum: None,
            });
            probe.measure(|| {
                let _ = black_box(agent.handle(Input::Observed(black_box(value))));
            });
        },
    );
}

fn federation(memory: &mut Memory, probe: &mut Probe, _: usize) {
    probe.measure(|| {
        let _ = black_box(federation::play(
            black_box(federation::SCRIPT),
            &mut memory.numbers[..AGENT],
            |_| {},
        ));
    });
}
