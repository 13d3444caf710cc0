//! The four engines: observation, prediction, update, draw.

use core::hint::black_box;

use sordino_core::features::RandomFourier;
use sordino_core::kernel::{Kernel, KernelError, Matern52, SquaredExponential};
use sordino_core::linalg::root;
use sordino_core::random::{Stream, normal};
use sordino_core::surrogate::candidates::{self, CandidateGp};
use sordino_core::surrogate::exact::{self, ExactGp};
use sordino_core::surrogate::finite::{self, FiniteGp};
use sordino_core::surrogate::grid::{self, GridGp, Side};
use sordino_core::surrogate::weights::{self, Regularization, WeightPosterior};

use super::basics::map;
use super::{DIM, Memory, Operation, Probe};

/// Points that are predicted together.
const LIST: usize = 16;
/// Candidates of the list that is kept up to date.
const CANDIDATES: usize = 64;
/// Points of either side of the grid of as many.
const SIDE: usize = 16;

const fn rows(n: usize) -> usize {
    4 * exact::storage_len(DIM, n)
}

const fn rows_and_batch(n: usize) -> usize {
    rows(n) + 4 * exact::batch_scratch_len(n)
}

const fn weights(m: usize) -> usize {
    4 * weights::storage_len(m)
}

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "exact SE: observation n",
        &[
            (16, 3_500, 140_000),
            (32, 6_800, 350_000),
            (64, 16_000, 1_100_000),
            (100, 31_000, 2_200_000),
        ],
        rows,
        |memory, probe, n| observe(memory, probe, smooth(), n),
    ),
    Operation::new(
        "exact SE: prediction at n",
        &[
            (16, 2_700, 140_000),
            (32, 5_900, 350_000),
            (64, 15_000, 1_100_000),
            (100, 30_000, 2_200_000),
        ],
        rows,
        |memory, probe, n| predict(memory, probe, smooth(), n),
    ),
    Operation::new(
        "exact SE: 16 predictions together at n",
        &[(64, 250_000, 17_000_000)],
        rows_and_batch,
        |memory, probe, n| predict_list(memory, probe, smooth(), n),
    )
    .with_stack_max(1536),
    Operation::new(
        "exact Matérn 5/2: observation n",
        &[
            (16, 4_900, 160_000),
            (32, 9_700, 390_000),
            (64, 22_000, 1_100_000),
            (100, 40_000, 2_300_000),
        ],
        rows,
        |memory, probe, n| observe(memory, probe, rough(), n),
    ),
    Operation::new(
        "exact Matérn 5/2: prediction at n",
        &[
            (16, 4_200, 160_000),
            (32, 8_900, 390_000),
            (64, 21_000, 1_100_000),
            (100, 39_000, 2_300_000),
        ],
        rows,
        |memory, probe, n| predict(memory, probe, rough(), n),
    ),
    Operation::new(
        "candidates, 64 of them: observation n, all up to date",
        &[
            (16, 12_000, 680_000),
            (32, 17_000, 1_100_000),
            (64, 26_000, 1_700_000),
            (100, 36_000, 2_400_000),
        ],
        |n| 4 * (candidates::storage_len(CANDIDATES, n) + DIM * CANDIDATES),
        candidate_list,
    ),
    Operation::new(
        "grid of 16 x 16: observation n, all up to date",
        &[
            (16, 38_000, 1_900_000),
            (32, 63_000, 3_600_000),
            (64, 120_000, 7_600_000),
            (100, 200_000, 13_000_000),
        ],
        |n| 4 * (grid::storage_len(SIDE, SIDE, n) + 2 * SIDE),
        candidate_grid,
    ),
    Operation::new(
        "finite, N points: observation, all up to date",
        &[
            (16, 2_800, 56_000),
            (32, 7_300, 190_000),
            (64, 22_000, 700_000),
            (100, 48_000, 1_700_000),
        ],
        |count| 4 * finite::storage_len(count),
        finite_domain,
    ),
    Operation::new(
        "weights: update at n = M/4, dual",
        &[
            (16, 3_900, 81_000),
            (32, 7_700, 210_000),
            (64, 17_000, 590_000),
            (100, 29_000, 1_300_000),
        ],
        weights,
        |memory, probe, m| update(memory, probe, m, m / 4),
    ),
    Operation::new(
        "weights: draw at n = M/4, dual",
        &[
            (16, 6_200, 130_000),
            (32, 14_000, 350_000),
            (64, 35_000, 1_100_000),
            (100, 66_000, 2_400_000),
        ],
        weights,
        |memory, probe, m| draw(memory, probe, m, m / 4),
    ),
    Operation::new(
        "weights: update at n = M/2 + 8, primal",
        &[
            (16, 7_300, 220_000),
            (32, 18_000, 670_000),
            (64, 48_000, 2_400_000),
            (100, 98_000, 5_400_000),
        ],
        weights,
        |memory, probe, m| update(memory, probe, m, m / 2 + 8),
    ),
    Operation::new(
        "weights: draw at n = M/2 + 8, primal",
        &[
            (16, 5_700, 120_000),
            (32, 13_000, 320_000),
            (64, 31_000, 960_000),
            (100, 55_000, 2_100_000),
        ],
        weights,
        |memory, probe, m| draw(memory, probe, m, m / 2 + 8),
    ),
    Operation::new(
        "weights: rotation alone",
        &[
            (16, 4_100, 120_000),
            (32, 12_000, 390_000),
            (64, 37_000, 1_500_000),
            (100, 82_000, 3_400_000),
        ],
        weights,
        rotation,
    ),
];

fn smooth() -> Result<SquaredExponential<f32>, KernelError> {
    SquaredExponential::new(0.2, 1.0)
}

fn rough() -> Result<Matern52<f32>, KernelError> {
    Matern52::new(0.2, 1.0)
}

/// Point i of a fixed sequence that fills the square.
fn point(i: usize) -> [f32; DIM] {
    let i = i as f32;
    [i * 0.137 % 1.0, i * 0.291 % 1.0]
}

/// An exact posterior over `count` points, with room for `capacity`; then `measured` with it and
/// what is left of memory.
fn exact_at<K: Kernel<f32>>(
    memory: &mut Memory,
    kernel: Result<K, KernelError>,
    count: usize,
    capacity: usize,
    measured: impl FnOnce(&mut ExactGp<f32, K, &mut [f32]>, &mut [f32]),
) {
    let Ok(kernel) = kernel else { return };
    let (storage, rest) = memory
        .numbers
        .split_at_mut(exact::storage_len(DIM, capacity));
    let Ok(mut gp) = ExactGp::new(kernel, 0.01, DIM, capacity, storage) else {
        return;
    };
    if (0..count).all(|i| gp.observe(&point(i), 0.5).is_ok()) && gp.len() == count {
        measured(&mut gp, rest);
    }
}

/// The `n`th observation.
fn observe<K: Kernel<f32>>(
    memory: &mut Memory,
    probe: &mut Probe,
    kernel: Result<K, KernelError>,
    n: usize,
) {
    exact_at(memory, kernel, n - 1, n, |gp, _| {
        probe.measure(|| {
            let _ = black_box(gp.observe(black_box(&point(n - 1)), 0.3));
        });
    });
}

/// A prediction with `n` observations.
fn predict<K: Kernel<f32>>(
    memory: &mut Memory,
    probe: &mut Probe,
    kernel: Result<K, KernelError>,
    n: usize,
) {
    exact_at(memory, kernel, n, n, |gp, _| {
        probe.measure(|| {
            let _ = black_box(gp.posterior(black_box(&[0.31, 0.62])));
        });
    });
}

/// Predictions at a list of points with `n` observations.
fn predict_list<K: Kernel<f32>>(
    memory: &mut Memory,
    probe: &mut Probe,
    kernel: Result<K, KernelError>,
    n: usize,
) {
    let mut mean = [0.0; LIST];
    let mut variance = [0.0; LIST];
    exact_at(memory, kernel, n, n, |gp, scratch| {
        let points: [[f32; DIM]; LIST] = core::array::from_fn(|i| point(3 * i + 1));
        probe.measure(|| {
            let points = black_box(points.as_flattened());
            let _ = black_box(gp.posteriors(points, &mut mean, &mut variance, scratch));
        });
    });
}

/// The `n`th observation of a list of candidates.
fn candidate_list(memory: &mut Memory, probe: &mut Probe, n: usize) {
    let Ok(kernel) = smooth() else { return };
    let points: [[f32; DIM]; CANDIDATES] = core::array::from_fn(point);
    let storage = &mut memory.numbers[..candidates::storage_len(CANDIDATES, n)];
    let Ok(mut gp) = CandidateGp::new(kernel, 0.01, DIM, points.as_flattened(), n, storage) else {
        return;
    };
    if (0..n - 1).all(|i| gp.observe(i * 5 % CANDIDATES, 0.5).is_ok()) {
        probe.measure(|| {
            let _ = black_box(gp.observe(black_box(7), 0.3));
        });
    }
}

/// The `n`th observation of a grid of as many candidates.
fn candidate_grid(memory: &mut Memory, probe: &mut Probe, n: usize) {
    let axis: [f32; SIDE] = core::array::from_fn(|i| i as f32 / (SIDE - 1) as f32);
    let (Ok(first), Ok(second)) = (smooth(), smooth()) else {
        return;
    };
    let side = |kernel| Side {
        kernel,
        dim: 1,
        points: axis,
    };
    let storage = &mut memory.numbers[..grid::storage_len(SIDE, SIDE, n)];
    let Ok(mut gp) = GridGp::new(side(first), side(second), 0.01, n, storage) else {
        return;
    };
    if (0..n - 1).all(|i| gp.observe(i * 5 % (SIDE * SIDE), 0.5).is_ok()) {
        probe.measure(|| {
            let _ = black_box(gp.observe(black_box(7), 0.3));
        });
    }
}

/// An observation of one of `count` points.
fn finite_domain(memory: &mut Memory, probe: &mut Probe, count: usize) {
    let Ok(kernel) = smooth() else { return };
    let points = memory.vectors.as_chunks_mut::<DIM>().0;
    let points = &mut points[..count];
    points
        .iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = point(i));
    let storage = &mut memory.numbers[..finite::storage_len(count)];
    let Ok(mut gp) = FiniteGp::new(&kernel, 0.01, DIM, points.as_flattened(), storage) else {
        return;
    };
    probe.measure(|| {
        let _ = black_box(gp.observe(black_box(7), 0.3));
    });
}

/// Observation i of a fixed log: its features and its value.
fn observation(map: &RandomFourier<f32, &[f32]>, i: usize, phi: &mut [f32]) -> f32 {
    map.features(&point(i), phi);
    i as f32 * 0.071 % 1.0 - 0.5
}

/// A posterior over the weights of `m` features with `count` observations, and the rest of the log.
fn weights_at(
    memory: &mut Memory,
    m: usize,
    count: usize,
    measured: impl FnOnce(
        &mut WeightPosterior<f32, &mut [f32]>,
        &RandomFourier<f32, &[f32]>,
        &mut [f32],
    ),
) {
    let Some(map) = map(&mut memory.features, m) else {
        return;
    };
    let storage = &mut memory.numbers[..weights::storage_len(m)];
    let Ok(lambda) = Regularization::new(0.01) else {
        return;
    };
    let Ok(mut posterior) = WeightPosterior::new(m, lambda, storage) else {
        return;
    };
    posterior.extend(count, |i, phi| observation(&map, i, phi));
    measured(&mut posterior, &map, &mut memory.vectors[..m]);
}

/// The `count`th observation, with its features.
fn update(memory: &mut Memory, probe: &mut Probe, m: usize, count: usize) {
    weights_at(memory, m, count - 1, |posterior, map, _| {
        probe.measure(|| posterior.extend(black_box(count), |i, phi| observation(map, i, phi)));
    });
}

fn draw(memory: &mut Memory, probe: &mut Probe, m: usize, count: usize) {
    weights_at(memory, m, count, |posterior, _, out| {
        let mut stream = Stream::from_seed(4);
        probe.measure(|| posterior.draw(&mut stream, black_box(out)));
    });
}

fn rotation(memory: &mut Memory, probe: &mut Probe, m: usize) {
    let (factor, rest) = memory.numbers.split_at_mut(m * (m + 1) / 2);
    let c = &mut rest[..m];
    let phi = &mut memory.vectors[..m];
    root::reset(factor, c, 0.01);
    normal::fill(&mut Stream::from_seed(5), phi);
    probe.measure(|| {
        black_box(root::rotate_in(factor, c, black_box(phi), 0.3));
    });
}
