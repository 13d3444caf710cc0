//! Digest, draws, features, maximum.

use core::hint::black_box;

use sordino_core::acquisition::thompson;
use sordino_core::digest::Frame;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::kernel::Stationary;
use sordino_core::random::exact::Bits;
use sordino_core::random::{Simulated, Stream, normal};

use super::{DIM, Memory, Mode, Operation, Probe};

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "digest of 64 numbers",
        &[(0, 16_000, 37_000)],
        |_| 0,
        digest,
    ),
    Operation::new("64 normal draws", &[(0, 13_000, 240_000)], |_| 0, normals),
    Operation::new(
        "one exact normal draw (Karney, m = 16)",
        &[(0, 1_500, 2_600)],
        |_| 0,
        karney,
    ),
    Operation::new(
        "M features, D = 2",
        &[(64, 10_000, 210_000), (100, 16_000, 330_000)],
        |m| 4 * random_fourier::storage_len(DIM, m),
        features,
    ),
    Operation::new(
        "Thompson maximum over 64 candidates, M features",
        &[(64, 600_000, 15_000_000)],
        |m| 4 * (DIM + m),
        maximum,
    ),
];

fn digest(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let values = &memory.vectors[..64];
    probe.measure(|| {
        let mut frame = Frame::leaf();
        frame.scalars(black_box(values));
        black_box(frame.end());
    });
}

fn normals(memory: &mut Memory, probe: &mut Probe, _: usize) {
    let mut stream = Stream::from_seed(1);
    probe.measure(|| normal::fill(&mut stream, black_box(&mut memory.vectors[..64])));
}

fn karney(_: &mut Memory, probe: &mut Probe, _: usize) {
    // The cost varies from draw to draw: the mean of 64.
    let mut source = Simulated::new(Stream::from_seed(2));
    let mut bits = Bits::new(&mut source);
    probe.measure(|| {
        for _ in 0..64 {
            let _ = black_box(bits.normal_floor(16));
        }
    });
    if matches!(probe.mode, Mode::Instructions) {
        probe.result /= 64;
    }
}

/// The shared features in `storage`.
pub(super) fn map(storage: &mut [f32], m: usize) -> Option<RandomFourier<f32, &[f32]>> {
    let storage = &mut storage[..random_fourier::storage_len(DIM, m)];
    random_fourier::draw(
        1,
        0,
        Stationary::SquaredExponential,
        &[0.2],
        DIM,
        m,
        storage,
    )
    .ok()?;
    RandomFourier::new(DIM, m, 1.0, true, &*storage).ok()
}

fn features(memory: &mut Memory, probe: &mut Probe, m: usize) {
    let Some(map) = map(&mut memory.features, m) else {
        return;
    };
    probe.measure(|| map.features(black_box(&[0.3, 0.6]), black_box(&mut memory.vectors[..m])));
}

fn maximum(memory: &mut Memory, probe: &mut Probe, m: usize) {
    let Some(map) = map(&mut memory.features, m) else {
        return;
    };
    let (Ok(candidates), Ok(whole)) = (Candidates::grid(8, DIM), Regions::whole(DIM)) else {
        return;
    };
    let (weights, scratch) = memory.vectors.split_at_mut(m);
    normal::fill(&mut Stream::from_seed(3), weights);
    probe.measure(|| {
        let scratch = &mut scratch[..DIM + m];
        black_box(thompson::maximize_streamed(
            &candidates,
            &map,
            &whole,
            black_box(weights),
            scratch,
        ));
    });
}
