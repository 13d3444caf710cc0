//! A newcomer with a prior file: M = 50 landmarks of three coordinates, 256 candidates, room for 32
//! observations. The file's constants, the factor of its landmarks, the candidates and their
//! moments are not counted as its storage: a device keeps them in flash.

use core::hint::black_box;

use sordino_core::domain::sobol::coordinate;
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::optimizer;
use sordino_core::prior::{
    Newcomer, NewcomerSettings, OwnModel, PriorNumbers, PublicPrior, attach_len, storage_len,
};

use super::{Memory, Operation};

const DIM: usize = 3;
const M: usize = 50;
const CANDIDATES: usize = 256;
const CAPACITY: usize = 32;
/// A file that is read from the first question on.
const TRUSTED: f32 = 5.0;
const STORAGE: usize = storage_len(M, CAPACITY, 1);

const fn attached(_: usize) -> usize {
    4 * attach_len(M)
}

const fn storage(_: usize) -> usize {
    4 * STORAGE
}

const fn with_own(n: usize) -> usize {
    4 * (STORAGE + optimizer::storage_len(DIM, n))
}

/// Bounds are 1.4 times what was measured.
pub(super) const TABLE: &[Operation] = &[
    Operation::new("prior file, M = 50, D = 3: attach", &[(0, 410_000, 21_000_000)], attached, |memory, probe, _| {
        with_file(memory, |numbers, storage, _, _, _| {
            probe.measure(|| {
                let _ = black_box(PublicPrior::attach(black_box(numbers), &mut *storage));
            });
        });
    }),
    Operation::new(
        "prior file, M = 50, D = 3: attach with a factor in flash",
        &[(0, 430_000, 21_000_000)],
        attached,
        |memory, probe, _| {
            with_file(memory, |numbers, storage, scratch, _, _| {
                let Ok(prior) = PublicPrior::attach(numbers, storage) else { return };
                probe.measure(|| {
                    let _ = black_box(PublicPrior::attach_with_factor(black_box(numbers), prior.factor(), scratch));
                });
            });
        },
    ),
    Operation::new(
        "prior file, M = 50, D = 3: suggestion over 256 candidates after n, moments in flash",
        &[(8, 1_400_000, 75_000_000), (31, 7_800_000, 370_000_000)],
        storage,
        |memory, probe, n| with_search(memory, n, true, |search| probe.measure(|| suggest(search))),
    )
    .with_stack_max(2048),
    Operation::new(
        "prior file, M = 50, D = 3: suggestion over 256 candidates after n",
        &[(8, 7_300_000, 360_000_000)],
        storage,
        |memory, probe, n| with_search(memory, n, false, |search| probe.measure(|| suggest(search))),
    )
    .with_stack_max(2048),
    Operation::new(
        "prior file, M = 50, D = 3: dearest slice of one evaluation after n, moments in flash",
        &[(8, 15_000, 510_000), (31, 120_000, 5_400_000)],
        storage,
        |memory, probe, n| {
            with_search(memory, n, true, |search| {
                probe.dearest(|| black_box(search.suggest_step(1)).is_ready());
            });
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "prior file, M = 50, D = 3: model of its own and suggestion over 256 candidates after n, moments in flash",
        &[(16, 4_700_000, 130_000_000)],
        with_own,
        |memory, probe, n| {
            with_searches(memory, n, true, |search, own| {
                probe.measure(|| {
                    let _ = black_box(OwnModel::fit(search, &mut *own).and_then(|mut own| own.suggest(search)));
                });
            });
        },
    )
    .with_stack_max(6144),
    Operation::new(
        "prior file, M = 50, D = 3: observation n",
        &[(8, 61_000, 2_500_000), (31, 66_000, 2_900_000)],
        storage,
        |memory, probe, n| {
            with_search(memory, n - 1, true, |search| {
                let (candidate, value) = told(n - 1);
                probe.measure(|| {
                    let _ = black_box(search.observe(black_box(candidate), value));
                });
            });
        },
    ),
];

type Search<'a> = Newcomer<'a, f32, &'a mut [f32]>;

fn suggest(search: &mut Search<'_>) {
    let _ = black_box(search.suggest());
}

/// Candidate and value i, in a unit of the newcomer's own.
fn told(i: usize) -> (usize, f32) {
    let candidate = 37 * i % CANDIDATES;
    (
        candidate,
        700.0 + 40.0 * Scalar::sin(0.05 * candidate as f32),
    )
}

/// Hands on the numbers of a file, storage for it, storage for searches, candidates, and room for
/// their moments.
fn with_file(
    memory: &mut Memory,
    act: impl FnOnce(PriorNumbers<'_, f32>, &mut [f32], &mut [f32], &[f32], &mut [f32]),
) {
    let (landmarks, rest) = memory.public.split_at_mut(M * DIM);
    let (weights, rest) = rest.split_at_mut(M);
    let (covariance, rest) = rest.split_at_mut(packed_len(M));
    let (candidates, rest) = rest.split_at_mut(CANDIDATES * DIM);
    let moments = &mut rest[..2 * CANDIDATES];
    for (list, seed) in [(&mut *landmarks, 3), (&mut *candidates, 5)] {
        list.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = coordinate((i / DIM) as u32, i % DIM, seed));
    }
    weights
        .iter_mut()
        .enumerate()
        .for_each(|(i, weight)| *weight = Scalar::sin(0.3 * i as f32));
    // A covariance whose rows fall off from their diagonals.
    for row in 0..M {
        for column in 0..=row {
            covariance[packed_len(row) + column] = 0.1 / (1 + 4 * (row - column)) as f32;
        }
    }
    let numbers = PriorNumbers {
        dim: DIM,
        landmarks,
        lengthscale: 0.3,
        weights,
        covariance,
        self_test: TRUSTED,
    };
    let (attached, rest) = memory.numbers.split_at_mut(attach_len(M));
    act(numbers, attached, rest, candidates, moments);
}

/// Hands on a search that was told `n` values.
fn with_search(memory: &mut Memory, n: usize, listed: bool, act: impl FnOnce(&mut Search<'_>)) {
    with_searches(memory, n, listed, |search, _| act(search));
}

/// The same with storage for a model of its own.
fn with_searches(
    memory: &mut Memory,
    n: usize,
    listed: bool,
    act: impl FnOnce(&mut Search<'_>, &mut [f32]),
) {
    with_file(memory, |numbers, attached, storage, candidates, moments| {
        let (storage, own) = storage.split_at_mut(STORAGE);
        let Ok(prior) = PublicPrior::attach(numbers, attached) else {
            return;
        };
        if prior
            .moments(candidates, moments, &mut storage[..M])
            .is_err()
        {
            return;
        }
        let settings = NewcomerSettings::default();
        let search = Newcomer::new(candidates, DIM, Some(&prior), settings, CAPACITY, storage);
        let search = search.and_then(|search| {
            if listed {
                search.with_moments(moments)
            } else {
                Ok(search)
            }
        });
        let Ok(mut search) = search else { return };
        if (0..n)
            .map(told)
            .all(|(candidate, value)| search.observe(candidate, value).is_ok())
        {
            act(&mut search, own);
        }
    });
}
