//! An agent of two servers, with a contribution of 51 numbers: keys once in a run, a share for each
//! release. What its flash takes to store an attempt is not counted.

use core::convert::Infallible;
use core::hint::black_box;

use sordino_core::digest::Digest;
use sordino_core::federated::shares::{AgentKey, Attempts, Modulus, SecretKey, Store};
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::random::{Stream, normal};

use super::{Memory, Operation, Probe};

/// Numbers of a contribution of M = 50 features.
const NUMBERS: usize = 51;
const SHARE: usize = Modulus::Bits32.share_len(NUMBERS);

/// Integers and share.
const fn storage(_: usize) -> usize {
    8 * NUMBERS + SHARE
}

/// Bounds are 1.4 times what was measured.
pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "two servers: public key of an agent, X25519 once",
        &[(0, 1_900_000, 15_000_000)],
        |_| 64,
        |_, probe, _| {
            let secret = SecretKey::new(black_box([1; 32]));
            probe.measure(|| {
                black_box(secret.public_key());
            });
        },
    )
    .with_stack_max(2560),
    Operation::new(
        "two servers: agreement with the helper, X25519 twice",
        &[(0, 3_900_000, 29_000_000)],
        |_| 64,
        |_, probe, _| {
            let secret = SecretKey::new(black_box([1; 32]));
            let helper = SecretKey::new([2; 32]).public_key();
            probe.measure(|| {
                let _ = black_box(secret.with_helper(black_box(&helper)));
            });
        },
    )
    .with_stack_max(3584),
    Operation::new(
        "two servers: mask and share of 51 integers",
        &[(0, 33_000, 56_000)],
        storage,
        |memory, probe, _| {
            with_key(|key, attempts| {
                let integers = &mut memory.integers[..NUMBERS];
                integers
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, x)| *x = 977 * i as i64 - 20_000);
                probe.measure(|| share(key, attempts, integers));
            });
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "two servers: clip, encode, mask and share of 51 numbers",
        &[(0, 110_000, 190_000)],
        storage,
        encoded,
    )
    .with_stack_max(2560),
];

/// What a release takes of an agent whose joint vector is there.
fn encoded(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let mechanism = GridGaussian::unsampled(20, 4.0, 200).ok();
    let Some(encoder) = mechanism.and_then(|mechanism| mechanism.encoder(1.0, 1.0).ok()) else {
        return;
    };
    let vector = &mut memory.vectors[..NUMBERS];
    let integers = &mut memory.integers[..NUMBERS];
    normal::fill(&mut Stream::from_seed(6), vector);
    with_key(|key, attempts| {
        probe.measure(|| {
            integers.fill(0);
            let _ = black_box(encoder.add(black_box(vector), &[1.0], integers));
            share(key, attempts, integers);
        });
    });
}

fn share(key: &AgentKey, attempts: &mut Attempts, integers: &mut [i64]) {
    let mut share = [0; SHARE];
    if let Ok(attempt) = attempts.reserve(0, &mut Flash) {
        let _ = black_box(
            key.mask(attempt, Modulus::Bits32)
                .split(black_box(integers), &mut share),
        );
    }
    black_box(share);
}

/// Hands on what agent and helper have in common, and attempts of a run.
fn with_key(act: impl FnOnce(&AgentKey, &mut Attempts)) {
    let agent = SecretKey::new([1; 32]);
    let helper = SecretKey::new([2; 32]);
    if let Ok(key) = agent.with_helper(&helper.public_key()) {
        act(&key, &mut Attempts::new(Digest([7; 32])));
    }
}

/// A flash that takes no time.
pub(super) struct Flash;

impl Store for Flash {
    type Error = Infallible;
    fn store(&mut self, attempts: &Attempts) -> Result<(), Infallible> {
        black_box(attempts);
        Ok(())
    }
}
