//! Ask and tell in single precision.

use core::hint::black_box;
use core::task::Poll;

use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{self, Acquisition, Optimizer, Settings};

use super::{DIM, Memory, Operation, Probe};

/// Observations there is room for.
const CAPACITY: usize = 64;

const fn storage(_: usize) -> usize {
    4 * optimizer::storage_len(DIM, CAPACITY)
}

pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "suggestion after n, expected improvement",
        &[(6, 2_000_000, 51_000_000), (32, 7_000_000, 300_000_000), (63, 16_000_000, 760_000_000)],
        storage,
        |memory, probe, n| suggest(memory, probe, Acquisition::ExpectedImprovement, n),
    )
    .with_stack_max(1536),
    Operation::new(
        "suggestion after n, upper confidence bound",
        &[(6, 2_000_000, 40_000_000), (32, 7_000_000, 280_000_000)],
        storage,
        |memory, probe, n| {
            suggest(memory, probe, Acquisition::UpperConfidenceBound { width: 2.0 }, n);
        },
    )
    .with_stack_max(1536),
    Operation::new(
        "observation n of the optimizer",
        &[(6, 4_000, 50_000), (32, 20_000, 410_000), (63, 56_000, 1_200_000)],
        storage,
        |memory, probe, n| {
            with(memory, Settings::default(), n - 1, |optimizer, _| {
                let (x, y) = told(n - 1);
                probe.measure(|| {
                    let _ = black_box(optimizer.observe(black_box(&x), y));
                });
            });
        },
    ),
    Operation::new(
        "suggestion after n, dearest slice of 4 evaluations",
        &[(6, 20_000, 310_000), (32, 60_000, 2_100_000), (63, 180_000, 5_900_000)],
        storage,
        |memory, probe, n| {
            with(memory, Settings::default(), n, |optimizer, _| {
                probe.dearest(|| !matches!(black_box(optimizer.suggest_step(4)), Ok(Poll::Pending)));
            });
        },
    )
    .with_stack_max(1024),
    Operation::new(
        "fit at n, dearest slice of one evaluation",
        &[(32, 900_000, 22_000_000), (63, 4_000_000, 110_000_000)],
        |n| storage(n) + 4 * optimizer::fit_scratch_len(n),
        fit,
    )
    .with_stack_max(1536),
];

/// A fit of `n` observations.
fn fit(memory: &mut Memory, probe: &mut Probe, n: usize) {
    with(memory, Settings::default(), n, |optimizer, scratch| {
        let scratch = &mut scratch[..optimizer::fit_scratch_len(n)];
        probe.dearest(|| !matches!(black_box(optimizer.fit_step(1, scratch)), Ok(Poll::Pending)));
    });
}

/// Point i of a fixed sequence that fills the box, and its value: a hill at (6.5, 18).
fn told(i: usize) -> ([f32; DIM], f32) {
    let x = [20.0 * (i as f32 * 0.137 % 1.0), 1.0 + 49.0 * (i as f32 * 0.291 % 1.0)];
    let (a, b) = ((x[0] - 6.5) / 4.0, (x[1] - 18.0) / 12.0);
    (x, 40.0 - 10.0 * (a * a + b * b))
}

/// An optimizer that was told `count` values.
fn with(
    memory: &mut Memory,
    settings: Settings,
    count: usize,
    measured: impl FnOnce(&mut Optimizer<f32, &mut [f32]>, &mut [f32]),
) {
    let Ok(domain) = BoxDomain::new(&[(0.0, 20.0), (1.0, 50.0)]) else { return };
    let (numbers, scratch) = memory.numbers.split_at_mut(optimizer::storage_len(DIM, CAPACITY));
    let Ok(mut optimizer) = Optimizer::new(domain, settings, CAPACITY, numbers) else { return };
    let all = (0..count).map(told).all(|(x, y)| optimizer.observe(&x, y).is_ok());
    if all && optimizer.len() == count {
        measured(&mut optimizer, scratch);
    }
}

/// The suggestion after `n` observations.
fn suggest(memory: &mut Memory, probe: &mut Probe, acquisition: Acquisition, n: usize) {
    with(memory, Settings { acquisition, ..Settings::default() }, n, |optimizer, _| {
        probe.measure(|| {
            let _ = black_box(optimizer.suggest());
        });
    });
}
