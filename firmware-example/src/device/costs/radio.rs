//! What a device does beside searching: boot, one private report, frames.

use core::hint::black_box;

use firmware_example::federation;
use sordino_core::features::random_fourier;
use sordino_core::federated::{Config, small};
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Ledger, Simulated, charge::Unwritten};
use sordino_core::random::{Stream, normal};
use sordino_core::wire::{self, Header, Kind, ScalarTag, fragments, frame_len_max};

use super::basics::map;
use super::{DIM, Memory, Operation, Probe};

const M: usize = 64;
const FRAME: usize = frame_len_max(ScalarTag::F32, M);
/// A packet of LoRaWAN at its slowest rate in the EU.
const PACKET: usize = 51;

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "boot: draw M features, D = 2",
        &[(64, 900_000, 2_900_000)],
        |m| 4 * random_fourier::storage_len(DIM, m),
        draw,
    ),
    Operation::new(
        "one report, from the query to the noised reward",
        &[(0, 12_000, 9_800)],
        |_| size_of::<ReporterState>(),
        report,
    ),
    Operation::new(
        "frame of 64 numbers: write",
        &[(0, 16_000, 4_600)],
        |_| FRAME,
        encode,
    ),
    Operation::new(
        "frame of 64 numbers: read",
        &[(0, 16_000, 6_700)],
        |_| FRAME,
        decode,
    ),
    Operation::new(
        "16-bit upload of 64 numbers: write",
        &[(0, 60_000, 220_000)],
        |_| small::frame_len(M),
        encode_small,
    ),
    Operation::new(
        "16-bit upload of 64 numbers: read",
        &[(0, 40_000, 53_000)],
        |_| small::frame_len(M),
        decode_small,
    ),
    Operation::new(
        "frame of 64 numbers in packets of 51 bytes: write",
        &[(0, 60_000, 35_000)],
        |_| FRAME + PACKET,
        cut,
    ),
];

const HEADER: Header = Header {
    version: wire::VERSION,
    kind: Kind::Upload,
    scalar: ScalarTag::F32,
    deployment: 0x0123_4567_89ab_cdef,
    config: 0x0123_4567_89ab_cdef,
    chain: 0x0123_4567_89ab_cdef,
    agent: 3,
    round: 7,
    attempt: 0,
    len: 0,
};

fn draw(memory: &mut Memory, probe: &mut Probe, m: usize) {
    probe.measure(|| {
        black_box(map(black_box(&mut memory.features), m).is_some());
    });
}

fn report(_: &mut Memory, probe: &mut Probe, _: usize) {
    let Ok(one) = Epsilon::new(1.0) else { return };
    let Ok(mechanism) = ClampedLaplace::new(1.5, 20, one) else {
        return;
    };
    let mut source = Simulated::new(Stream::from_seed(8));
    probe.measure(|| {
        let mut state = ReporterState::new(7, one);
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        let mut input = ReporterInput::Query {
            candidate: black_box(3),
        };
        while let Ok(output) = reporter.handle::<f32, _>(input, &mut source) {
            input = match output {
                ReporterOutput::Charge(charge) => match Unwritten.append(charge) {
                    Ok(receipt) => ReporterInput::Charged(receipt),
                },
                ReporterOutput::Evaluate { .. } => ReporterInput::Reward(black_box(0.5)),
                ReporterOutput::Report(report) => {
                    black_box(report.value());
                    break;
                }
            };
        }
    });
}

/// The vector of an upload.
fn vector(memory: &mut Memory) -> &mut [f32] {
    let vector = &mut memory.vectors[..M];
    normal::fill(&mut Stream::from_seed(6), vector);
    vector
}

fn encode(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let vector = vector(memory);
    let mut frame = [0; FRAME];
    probe.measure(|| {
        let _ = black_box(wire::encode(
            HEADER,
            black_box(vector),
            black_box(&mut frame),
        ));
    });
}

fn decode(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let vector = vector(memory);
    let mut frame = [0; FRAME];
    let Ok(used) = wire::encode(HEADER, vector, &mut frame) else {
        return;
    };
    probe.measure(|| {
        if let Ok((_, payload)) = wire::decode(black_box(&frame[..used]), M as u32) {
            let _ = black_box(payload.read(black_box(&mut *vector)));
        }
    });
}

fn encode_small(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let Some(config) = config() else { return };
    let vector = vector(memory);
    let mut frame = [0; small::frame_len(M)];
    probe.measure(|| {
        let _ = black_box(small::encode(
            &config,
            HEADER,
            black_box(vector),
            black_box(&mut frame),
        ));
    });
}

fn decode_small(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let Some(config) = config() else { return };
    let vector = vector(memory);
    let mut frame = [0; small::frame_len(M)];
    if small::encode(&config, HEADER, vector, &mut frame).is_err() {
        return;
    }
    probe.measure(|| {
        let _ = black_box(small::decode(
            &config,
            HEADER,
            black_box(&frame),
            black_box(&mut *vector),
        ));
    });
}

fn cut(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let vector = vector(memory);
    let mut frame = [0; FRAME];
    let Ok(used) = wire::encode(HEADER, vector, &mut frame) else {
        return;
    };
    let mut packet = [0; PACKET];
    let count = fragments::count(used, PACKET).unwrap_or(0);
    probe.measure(|| {
        for index in 0..count {
            let _ = black_box(fragments::piece(
                black_box(&frame[..used]),
                index,
                black_box(&mut packet),
            ));
        }
    });
}

/// The configuration of the scripted federation.
fn config() -> Option<Config> {
    federation::config(federation::SCRIPT).ok()
}
