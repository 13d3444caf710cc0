//! 16-bit uploads and fragments against an independent program (`tests/vectors/small_frames.py`),
//! and the table of `docs/frames.md`.

use sordino_core::domain::Regions;
use sordino_core::federated::{
    Aggregation, Config, InitialRegion, OwnDraw, Parameters, Signal, small, small::SmallError,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::schedule::{Mixing, WeightConcentration};
use sordino_core::wire::{Header, Kind, ScalarTag, VERSION, fragments, frame_len_max};

const ANSWERS: &str = include_str!("../../vectors/small_frames.txt");

/// S = 6, P = 4, M = 8.
fn config() -> Config {
    Config::new(Parameters {
        agents: 5,
        regions: Regions::new(&[4]).unwrap(),
        rounds: 3,
        initial_points: 1,
        initial_region: InitialRegion::Own,
        feature_count: 8,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        own_draw: OwnDraw::Features,
        mixing: Mixing::InverseSqrt,
        concentration: WeightConcentration::UNIFORM,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(6.0).unwrap(),
            sampling_probability: 0.5,
            noise_multiplier: NoiseMultiplier::new(1.0).unwrap(),
            grid_exponent: 20,
            signal: Signal::Vectors,
        },
    })
    .unwrap()
}

fn lines(kind: &str) -> impl Iterator<Item = Vec<&'static str>> + '_ {
    ANSWERS
        .lines()
        .filter_map(move |line| Some(line.strip_prefix(kind)?.split('|').map(str::trim).collect()))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn agree<T: Scalar>() {
    let mut cases = 0;
    for fields in lines("small ") {
        let [header, weights, frame] = fields[..] else {
            panic!("{fields:?}")
        };
        let header: Vec<u64> = header
            .split(' ')
            .map(|word| word.parse().unwrap())
            .collect();
        let header = Header {
            version: VERSION,
            kind: Kind::Upload,
            scalar: ScalarTag::F64,
            deployment: header[0],
            config: header[1],
            chain: header[2],
            agent: header[3] as u32,
            round: header[4] as u32,
            attempt: header[5] as u16,
            len: 0,
        };
        let weights: Vec<T> = weights
            .split(' ')
            .map(|x| T::from_f64(x.parse::<f64>().unwrap() / 8.0))
            .collect();
        let mut found = vec![0; small::frame_len(weights.len())];
        small::encode(&config(), header, &weights, &mut found).unwrap();
        assert_eq!(found, bytes(frame));
        assert_eq!(
            small::decode(&config(), header, &found, &mut [T::ZERO; 8]),
            Ok(header)
        );
        let other = Header {
            chain: header.chain ^ 1,
            ..header
        };
        let refused = small::decode(&config(), other, &found, &mut [T::ZERO; 8]);
        assert!(matches!(refused, Err(SmallError::Tag { .. })));
        cases += 1;
    }
    assert_eq!(cases, 4);
}

#[test]
fn small_frames_are_those_of_the_independent_program_in_both_formats() {
    agree::<f32>();
    agree::<f64>();
}

#[test]
fn fragments_are_those_of_the_independent_program() {
    let mut cases = 0;
    for fields in lines("pieces ") {
        let [packet, length, pieces] = fields[..] else {
            panic!("{fields:?}")
        };
        let frame: Vec<u8> = (0..length.parse::<usize>().unwrap())
            .map(|i| i as u8)
            .collect();
        let mut buffer = vec![0; packet.parse().unwrap()];
        for (index, piece) in pieces.split(' ').enumerate() {
            let used = fragments::piece(&frame, index, &mut buffer).unwrap();
            assert_eq!(buffer[..used], bytes(piece));
        }
        assert_eq!(
            fragments::count(frame.len(), buffer.len()),
            Some(pieces.split(' ').count())
        );
        cases += 1;
    }
    assert_eq!(cases, 3);
}

/// Rows: M, ordinary upload, small upload, broadcast of P = 2, each with its number of packets at
/// 51 and 222 bytes.
#[test]
fn the_table_of_frames_says_what_they_take() {
    let text = include_str!("../../../docs/frames.md");
    let packets = |len: usize, packet| {
        if len <= packet {
            1
        } else {
            fragments::count(len, packet).unwrap()
        }
    };
    let cell = |len: usize| format!("{len} | {} | {}", packets(len, 222), packets(len, 51));
    for m in [16, 32, 64, 100] {
        let upload = frame_len_max(ScalarTag::F32, m);
        let broadcast = frame_len_max(ScalarTag::F32, 2 * m);
        let row = format!(
            "| {m} | {} | {} | {} |",
            cell(upload),
            cell(small::frame_len(m)),
            cell(broadcast)
        );
        assert!(
            text.lines().any(|line| line == row),
            "docs/frames.md lacks {row}"
        );
    }
    assert!(small::frame_len(64) <= 160 && small::frame_len(32) <= 222);
}
