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

/// Bounds are 1.4 times what was measured. Before a suggestion after 32 values no fit is due, after
/// 63 all of one is.
pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "suggestion after n, expected improvement",
        &[
            (6, 700_000, 17_000_000),
            (32, 1_700_000, 67_000_000),
            (63, 33_000_000, 1_200_000_000),
        ],
        storage,
        |memory, probe, n| suggest(memory, probe, Acquisition::ExpectedImprovement, n),
    )
    .with_stack_max(2560),
    Operation::new(
        "suggestion after n, upper confidence bound",
        &[(6, 730_000, 16_000_000), (32, 1_700_000, 66_000_000)],
        storage,
        |memory, probe, n| {
            suggest(
                memory,
                probe,
                Acquisition::UpperConfidenceBound { width: 2.0 },
                n,
            );
        },
    )
    .with_stack_max(2560),
    Operation::new(
        "suggestion after n, three axes, no fit due",
        &[(32, 2_900_000, 120_000_000)],
        |_| 4 * optimizer::storage_len(3, ROOM),
        |memory, probe, n| suggest_of_three(memory, probe, HELD, n),
    )
    .with_stack_max(2560),
    Operation::new(
        "the same, idle and asked elsewhere",
        &[(32, 4_400_000, 180_000_000)],
        |_| 4 * optimizer::storage_len(3, ROOM),
        |memory, probe, n| suggest_of_three(memory, probe, LET_GO, n),
    )
    .with_stack_max(2560),
    Operation::new(
        "fit at n, three axes, all of it",
        &[(32, 16_000_000, 480_000_000)],
        |_| 4 * optimizer::storage_len(3, ROOM),
        |memory, probe, n| {
            with_three(memory, HELD, n, |optimizer| {
                probe.measure(|| {
                    let _ = black_box(optimizer.fit());
                });
            });
        },
    )
    .with_stack_max(2560),
    Operation::new(
        "observation n of the optimizer",
        &[
            (6, 4_000, 52_000),
            (32, 20_000, 410_000),
            (63, 72_000, 1_600_000),
        ],
        storage,
        |memory, probe, n| {
            // No fit is due before it, which it would make.
            let settings = Settings {
                initial_points: 6,
                ..Settings::default()
            };
            with(memory, settings, n - 1, |optimizer| {
                let (x, y) = told(n - 1);
                probe.measure(|| {
                    let _ = black_box(optimizer.observe(black_box(&x), y));
                });
            });
        },
    )
    .with_stack_max(1536),
    Operation::new(
        "suggestion after n, dearest slice of 4 evaluations",
        &[
            (6, 35_000, 800_000),
            (32, 160_000, 4_200_000),
            (63, 320_000, 8_200_000),
        ],
        storage,
        |memory, probe, n| {
            with(memory, Settings::default(), n, |optimizer| {
                // The slices of a fit have a row of their own.
                let _ = optimizer.fit();
                probe
                    .dearest(|| !matches!(black_box(optimizer.suggest_step(4)), Ok(Poll::Pending)));
            });
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "fit at n, dearest slice of one evaluation",
        &[(32, 640_000, 20_000_000), (63, 2_200_000, 73_000_000)],
        storage,
        fit,
    )
    .with_stack_max(2560),
];

/// A fit of `n` observations.
fn fit(memory: &mut Memory, probe: &mut Probe, n: usize) {
    with(memory, Settings::default(), n, |optimizer| {
        probe.dearest(|| !matches!(black_box(optimizer.fit_step(1)), Ok(Poll::Pending)));
    });
}

/// Point i of a fixed sequence that fills the box, and its value: a hill at (6.5, 18).
fn told(i: usize) -> ([f32; DIM], f32) {
    let x = [
        20.0 * (i as f32 * 0.137 % 1.0),
        1.0 + 49.0 * (i as f32 * 0.291 % 1.0),
    ];
    let a = (x[0] - 6.5) / 4.0;
    let b = (x[1] - 18.0) / 12.0;
    (x, 40.0 - 10.0 * (a * a + b * b))
}

/// An optimizer that was told `count` values.
fn with(
    memory: &mut Memory,
    settings: Settings,
    count: usize,
    measured: impl FnOnce(&mut Optimizer<f32, &mut [f32]>),
) {
    let Ok(domain) = BoxDomain::new(&[(0.0, 20.0), (1.0, 50.0)]) else {
        return;
    };
    let (numbers, _) = memory
        .numbers
        .split_at_mut(optimizer::storage_len(DIM, CAPACITY));
    let Ok(mut optimizer) = Optimizer::new(domain, settings, CAPACITY, numbers) else {
        return;
    };
    let all = (0..count)
        .map(told)
        .all(|(x, y)| optimizer.observe(&x, y).is_ok());
    if all && optimizer.len() == count {
        measured(&mut optimizer);
    }
}

/// Observations that the one of three axes has room for.
const ROOM: usize = 48;

/// Seeds under which the question after 32 values, which is idle, is asked all the same, and is
/// asked elsewhere.
const HELD: u32 = 2;
const LET_GO: u32 = 0;

/// An optimizer of three axes that was told `count` values: a hill that depends on its axes
/// differently.
fn with_three(
    memory: &mut Memory,
    seed: u32,
    count: usize,
    measured: impl FnOnce(&mut Optimizer<f32, &mut [f32]>),
) {
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let Ok(domain) = BoxDomain::new(&[(0.0, 1.0); 3]) else {
        return;
    };
    let (numbers, _) = memory.numbers.split_at_mut(optimizer::storage_len(3, ROOM));
    let Ok(mut optimizer) = Optimizer::new(domain, settings, ROOM, numbers) else {
        return;
    };
    for i in 0..count {
        let x: [f32; 3] = [0.137, 0.291, 0.473].map(|step| i as f32 * step % 1.0);
        let a = x[0] - 0.3;
        let b = x[1] - 0.6;
        let c = x[2] - 0.8;
        if optimizer
            .observe(&x, 1.0 - a * a - 4.0 * b * b - 0.2 * c * c + a * b)
            .is_err()
        {
            return;
        }
    }
    measured(&mut optimizer);
}

/// The suggestion of three axes after `n` observations, without a fit.
fn suggest_of_three(memory: &mut Memory, probe: &mut Probe, seed: u32, n: usize) {
    with_three(memory, seed, n, |optimizer| {
        let _ = optimizer.fit();
        probe.measure(|| {
            let _ = black_box(optimizer.suggest());
        });
    });
}

/// The suggestion after `n` observations.
fn suggest(memory: &mut Memory, probe: &mut Probe, acquisition: Acquisition, n: usize) {
    with(
        memory,
        Settings {
            acquisition,
            ..Settings::default()
        },
        n,
        |optimizer| {
            probe.measure(|| {
                let _ = black_box(optimizer.suggest());
            });
        },
    );
}
