//! A site of a campaign: M = 50 landmarks of three coordinates, ten values of its own, in double
//! precision as on every host. Landmarks are not counted as its storage: a device keeps them in
//! flash.

use core::hint::black_box;

use sordino_core::domain::sobol::coordinate;
use sordino_core::federated::prior::{
    Config, Opening, OwnPoints, Parameters, Site, opening_len, own_points_len,
    own_points_scratch_len,
};

use super::{Memory, Operation};

const DIM: usize = 3;
const M: usize = 50;
const N: usize = 10;
const OWN: usize = own_points_len(N, M);
const SCRATCH: usize = own_points_scratch_len(N, M);

/// What it keeps, scratch, what is announced and what is sent.
const fn storage(_: usize) -> usize {
    8 * (OWN + SCRATCH + opening_len(M) + M + 1)
}

/// Bounds are 1.4 times what was measured.
pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "site, M = 50, D = 3: its n points, once",
        &[(N, 22_000_000, 59_000_000)],
        storage,
        |memory, probe, _| {
            with_site(memory, |site, given, own, scratch, _| {
                let (points, values) = given;
                probe.measure(|| {
                    let _ = black_box(OwnPoints::compute(
                        black_box(site),
                        points,
                        values,
                        own,
                        scratch,
                    ));
                });
            });
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "site, M = 50, D = 3: contribution to a release",
        &[(N, 760_000, 1_900_000)],
        storage,
        |memory, probe, _| {
            with_site(
                memory,
                |site, (points, values), own, scratch, (opening, out)| {
                    let Ok(own) = OwnPoints::compute(site, points, values, own, scratch) else {
                        return;
                    };
                    probe.measure(|| {
                        let opening = Opening::read(black_box(&*opening));
                        let _ = black_box(
                            opening.and_then(|opening| own.contribution(&opening, scratch, out)),
                        );
                    });
                },
            );
        },
    )
    .with_stack_max(2048),
];

/// Points and values.
type Given<'a> = (&'a [f64], &'a [f64]);
/// What is announced, and room for what is sent.
type Sent<'a> = (&'a mut [f64], &'a mut [f64]);

/// Hands on a site, what it has measured, storage and scratch for it, and what goes over its link.
fn with_site(
    memory: &mut Memory,
    act: impl FnOnce(Site<'_, f64>, Given<'_>, &mut [f64], &mut [f64], Sent<'_>),
) {
    let Ok(config) = Config::new(Parameters::own_units(50, M as u32, N as u32)) else {
        return;
    };
    let mut rest = &mut memory.doubles[..];
    let mut take = |len: usize| {
        let (part, tail) = core::mem::take(&mut rest).split_at_mut(len);
        rest = tail;
        part
    };
    let [landmarks, points, values] = [M * DIM, N * DIM, N].map(&mut take);
    let [own, scratch, opening, out] = [OWN, SCRATCH, opening_len(M), M + 1].map(take);
    for (list, seed) in [(&mut *landmarks, 3), (&mut *points, 5)] {
        list.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = coordinate((i / DIM) as u32, i % DIM, seed));
    }
    values
        .iter_mut()
        .enumerate()
        .for_each(|(i, value)| *value = 700.0 + ((7 * i) % 11) as f64);
    opening
        .iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = 0.25 + (i % 3) as f64 / 8.0);
    let Ok(site) = Site::known(&config, 0.3, landmarks, DIM) else {
        return;
    };
    act(site, (points, values), own, scratch, (opening, out));
}
