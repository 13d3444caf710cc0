//! 16-bit uploads: what comes back, what is refused, and what a dishonest device can do.

extern crate std;
use super::*;
use crate::domain::Regions;
use crate::federated::{InitialRegion, OwnDraw, Parameters, Signal};
use crate::privacy::encode::{Encoder, Outcome};
use crate::privacy::{ClippingNorm, NoiseMultiplier};
use crate::schedule::{Mixing, WeightConcentration};
use crate::wire::{ScalarTag, VERSION, frame_len_max};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config as Runs, RngAlgorithm, TestRng, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use std::cell::Cell;
use std::vec;
use std::vec::Vec;

fn config(features: u32, aggregation: Aggregation) -> Config {
    Config::new(Parameters {
        agents: 5,
        regions: Regions::new(&[2, 2]).unwrap(),
        rounds: 3,
        initial_points: 1,
        initial_region: InitialRegion::Own,
        feature_count: features,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        own_draw: OwnDraw::Features,
        mixing: Mixing::InverseSqrt,
        concentration: WeightConcentration::UNIFORM,
        aggregation,
    })
    .unwrap()
}

/// S = 6 in four regions: r = 3.
fn private(features: u32) -> Config {
    config(
        features,
        Aggregation::Private {
            clipping_norm: ClippingNorm::new(6.0).unwrap(),
            sampling_probability: 0.5,
            noise_multiplier: NoiseMultiplier::new(1.0).unwrap(),
            grid_exponent: 20,
            signal: Signal::Vectors,
        },
    )
}

const HEADER: Header = Header {
    version: VERSION,
    kind: Kind::Upload,
    scalar: ScalarTag::F64,
    deployment: 0x0123_4567_89ab_cdef,
    config: 42,
    chain: 7,
    agent: 3,
    round: 9,
    attempt: 1,
    len: 0,
};

fn runner(seed: u8) -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    TestRunner::new_with_rng(
        Runs {
            cases: 1000,
            failure_persistence: None,
            ..Runs::default()
        },
        rng,
    )
}

fn norm<T: Scalar>(vector: &[T]) -> f64 {
    vector
        .iter()
        .map(|x| x.to_f64() * x.to_f64())
        .sum::<f64>()
        .sqrt()
}

/// What comes out of the frame of a vector.
fn there_and_back<T: Scalar>(config: &Config, weights: &[T]) -> (Vec<u8>, Vec<T>) {
    let mut frame = vec![0; frame_len(weights.len())];
    assert_eq!(encode(config, HEADER, weights, &mut frame), Ok(frame.len()));
    let mut found = vec![T::ZERO; weights.len()];
    let header = decode(
        config,
        Header {
            agent: 0,
            round: 0,
            attempt: 0,
            ..HEADER
        },
        &frame,
        &mut found,
    );
    assert_eq!(header, Ok(HEADER));
    (frame, found)
}

/// Small, and at most one step from what the server would have clipped it to; never longer than
/// that.
fn close<T: Scalar>() {
    let config = private(16);
    let radius = 3.0;
    runner(1)
        .run(&vec(-4.0f64..4.0, 16), |numbers| {
            let weights: Vec<T> = numbers.iter().map(|x| T::from_f64(*x)).collect();
            let factor = (radius / norm(&weights)).min(1.0);
            let (_, found) = there_and_back(&config, &weights);
            for (x, y) in weights.iter().zip(&found) {
                let exact = factor * x.to_f64();
                let y = y.to_f64();
                let rounding = 4.0 * T::EPSILON.to_f64() * exact.abs();
                prop_assert!(
                    (exact - y).abs() <= radius / STEPS * (1.0 + 1e-9) + rounding,
                    "{exact} {y}"
                );
                prop_assert!(
                    y.abs() <= exact.abs() * (1.0 + 1e-9) + rounding,
                    "{exact} {y}"
                );
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_vector_comes_back_within_a_step_in_both_formats() {
    close::<f32>();
    close::<f64>();
}

#[test]
fn devices_with_the_same_numbers_send_the_same_bytes() {
    let config = private(16);
    runner(2)
        .run(&vec(-4.0f32..4.0, 16), |single| {
            let double: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
            prop_assert_eq!(
                there_and_back(&config, &single).0,
                there_and_back(&config, &double).0
            );
            Ok(())
        })
        .unwrap();
}

/// The proof in the module's text, tried: whatever bytes come, what is added has norm at most K.
#[test]
fn whatever_a_device_sends_the_integer_check_bounds_what_is_added() {
    let config = private(8);
    let radius = 1u64 << 20;
    let weights = [0.3, 0.1, 0.2, 0.4];
    let norm_max = norm(&weights);
    let encoder = Encoder::new(radius, 3.0 * norm_max, 3.0).unwrap();
    let outcomes = Cell::new([0; 4]);
    runner(3)
        .run(&vec(any::<i16>(), 8), |numbers| {
            // A dishonest device: any multiples, with a checksum that fits them.
            let mut frame = vec![0; frame_len(8)];
            encode(&config, HEADER, &[0.0f64; 8], &mut frame).unwrap();
            for (pair, q) in frame[super::HEADER..]
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(&numbers)
            {
                *pair = q.to_le_bytes();
            }
            let (front, sum) = frame.split_last_chunk_mut::<4>().unwrap();
            *sum = checksum(front).to_le_bytes();
            let mut vector = [0.0f64; 8];
            decode(&config, HEADER, &frame, &mut vector).unwrap();
            let mut sums = [0i64; 32];
            let outcome = encoder.add(&vector, &weights, &mut sums).unwrap();
            let mut counted = outcomes.get();
            counted[outcome as usize] += 1;
            outcomes.set(counted);
            let squares: u128 = sums
                .iter()
                .map(|u| u128::from(u.unsigned_abs()).pow(2))
                .sum();
            prop_assert!(squares <= u128::from(radius).pow(2));
            Ok(())
        })
        .unwrap();
    // Negative control: without the server's clip and check these vectors would be too long.
    assert!(
        outcomes.get()[Outcome::Clipped as usize] > 900,
        "{:?}",
        outcomes.get()
    );
}

#[test]
fn the_server_does_not_clip_again_what_the_device_clipped() {
    let config = private(8);
    let weights = [0.3, 0.1, 0.2, 0.4];
    let encoder = Encoder::new(1 << 20, 3.0 * norm(&weights), 3.0).unwrap();
    runner(4)
        .run(&vec(-9.0f64..9.0, 8), |numbers| {
            let (_, found) = there_and_back(&config, &numbers);
            let mut sums = [[0i64; 32]; 2];
            let small = encoder.add(&found, &weights, &mut sums[0]).unwrap();
            encoder.add(&numbers, &weights, &mut sums[1]).unwrap();
            prop_assert_eq!(small, Outcome::Kept);
            // A step of the device's grid is at most K/32767 of the server's, and a truncation.
            let step = f64::from(1 << 20) / STEPS + 1.0;
            prop_assert!(
                sums[0]
                    .iter()
                    .zip(sums[1])
                    .all(|(a, b)| (a - b).abs() as f64 <= step + 1.0)
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_changed_or_foreign_frame_is_refused_and_any_bytes_are_answered() {
    let config = private(8);
    let (frame, sent) = there_and_back(&config, &[0.5f32; 8]);
    let mut found = [0.0f32; 8];
    for bit in 0..8 * frame.len() {
        let mut changed = frame.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(
            decode(&config, HEADER, &changed, &mut found).is_err(),
            "bit {bit}"
        );
    }
    for other in [
        Header {
            deployment: 1,
            ..HEADER
        },
        Header {
            config: 1,
            ..HEADER
        },
        Header { chain: 1, ..HEADER },
    ] {
        assert!(matches!(
            decode(&config, other, &frame, &mut found),
            Err(SmallError::Tag { .. })
        ));
    }
    assert_eq!(found, [0.0; 8], "what was refused changes nothing");
    let expected = Err(SmallError::Features {
        len: 8,
        expected: 16,
    });
    assert_eq!(
        decode(&private(16), HEADER, &frame, &mut [0.0f32; 16]),
        expected
    );
    runner(5)
        .run(&vec(any::<u8>(), 0..60), |bytes| {
            prop_assert!(decode(&config, HEADER, &bytes, &mut [0.0f32; 8]).is_err());
            Ok(())
        })
        .unwrap();
    assert!(sent.iter().all(|x| (x - 0.5).abs() < 1e-4));
}

#[test]
fn refuses_what_has_no_small_form() {
    let out = &mut [0; 64];
    let unprotected = config(8, Aggregation::Mean);
    assert_eq!(
        encode(&unprotected, HEADER, &[0.5f32; 8], out),
        Err(SmallError::Unclipped)
    );
    let config = private(8);
    assert_eq!(
        encode(&config, HEADER, &[f32::NAN; 8], out),
        Err(SmallError::NotFinite)
    );
    assert_eq!(
        encode(&config, HEADER, &[1e300f64; 8], out),
        Err(SmallError::NotFinite)
    );
    assert_eq!(
        encode(&config, HEADER, &[0.5f32; 7], out),
        Err(SmallError::Features {
            len: 7,
            expected: 8
        })
    );
    let short = Err(SmallError::Buffer {
        len: 36,
        needed: 37,
    });
    assert_eq!(encode(&config, HEADER, &[0.5f32; 8], &mut out[..36]), short);
}

#[test]
fn a_gateway_makes_the_ordinary_frame_of_it() {
    let config = private(8);
    let (frame, sent) = there_and_back(&config, &[0.25f64, -0.5, 3.0, 0.0, 1.0, -1.0, 0.125, 2.0]);
    let mut wide = [0; frame_len_max(ScalarTag::F64, 8)];
    let used = widen(&config, HEADER, &frame, &mut [0.0f64; 8], &mut wide).unwrap();
    let (header, payload) = wire::decode(&wide[..used], 8).unwrap();
    let mut found = [0.0f64; 8];
    payload.read(&mut found).unwrap();
    assert_eq!(
        (header, &found[..]),
        (Header { len: 8, ..HEADER }, &sent[..])
    );
}

/// What the table in docs says, and the packets of a radio: LoRaWAN in the EU takes 51 bytes at its
/// slowest rate (DR0) and 222 at DR5.
#[test]
fn frames_are_as_small_as_they_are_said_to_be() {
    let sizes = [16, 32, 64, 100].map(|m| (frame_len(m), frame_len_max(ScalarTag::F32, m)));
    assert_eq!(sizes, [(53, 121), (85, 185), (149, 313), (221, 457)]);
}
