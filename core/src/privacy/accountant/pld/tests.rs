//! The tight accountant against sums made by hand, other windows, and far finer grids.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::privacy::accountant::pure;
use crate::privacy::{Event, NeighboringRelation};

use super::cells;
use super::kinds::Kind;
use super::masses::{Pmf, Weight};
use super::spectrum::{Spectrum, Tilted};
use super::{Options, Quality};
use crate::privacy::accountant::pld;

const STEP: f64 = 0.02;
const TILT: f64 = 2.0;

fn release(tilt: f64) -> Pmf {
    let [remove, _] = cells::cells(
        Kind::Sampled { q: 0.25, z: 1.0 },
        STEP,
        8.0,
        Weight { tilt, moment: 0.0 },
    );
    remove
}

/// Masses of the sum of `count` releases, one convolution after the other; index of the first.
fn by_hand(one: &Pmf, count: usize) -> (i64, Vec<f64>) {
    let (first, last) = one.ends();
    let mut dense = vec![0.0; (last - first + 1) as usize];
    one.cells
        .iter()
        .for_each(|(index, p)| dense[(index - first) as usize] += p);
    let mut sum = vec![1.0];
    for _ in 0..count {
        let mut next = vec![0.0; sum.len() + dense.len() - 1];
        for (i, a) in sum.iter().enumerate() {
            dense
                .iter()
                .enumerate()
                .for_each(|(j, b)| next[i + j] += a * b);
        }
        sum = next;
    }
    (first * count as i64, sum)
}

/// Σ p(1 − e^(ε − l)) over the losses above ε = e·h, and at most `top` if it is given.
fn delta_by_hand(sum: &(i64, Vec<f64>), e: i64, top: Option<i64>) -> f64 {
    let each = sum.1.iter().enumerate().map(|(i, p)| (sum.0 + i as i64, p));
    let within = each.filter(|(index, _)| *index > e && top.is_none_or(|top| *index <= top));
    within
        .map(|(index, p)| p * -((e - index) as f64 * STEP).exp_m1())
        .sum()
}

#[test]
fn every_window_errs_upwards_and_a_long_one_hardly() {
    let one = release(TILT);
    let count = 3;
    let e = 40;
    let sum = by_hand(&one, count);
    let truth = delta_by_hand(&sum, e, None);
    let moment = one.moment(STEP, TILT).value;
    let kinds = [Tilted::new(&one, count as u32, STEP, TILT, moment)];
    let scale = (count as f64 * moment - TILT * e as f64 * STEP).exp();
    for n in [4usize, 7, 16, 33, 64, 100, 250, 400, 1000, 3000] {
        for enough in [Some(1e-12), Some(0.0), None] {
            let spectrum = Spectrum::new(&kinds, n, STEP, TILT, false, enough);
            let at = spectrum.at(e) * scale;
            let allowance = spectrum.allowance * scale;
            assert!(
                at + allowance >= truth * (1.0 - 1e-12),
                "{n}: {at} < {truth}"
            );
            assert!(allowance < 1e-11 * truth, "{n}: {allowance:e}");
            if n >= 1000 {
                assert!(at <= truth * (1.0 + 1e-6), "{n}: {at} {truth}");
            }
        }
    }
    // Negative control: leaving out what lies beyond the window is below the truth.
    assert!(delta_by_hand(&sum, e, Some(e + 100)) < truth * (1.0 - 1e-4));
}

#[test]
fn wide_cells_lose_nothing_and_hardly_gain() {
    // Both directions: mass is kept, and e^(−L) of the mixture's losses is the Gaussian's mass.
    for (q, z) in [(0.01, 1.0), (0.25, 0.7), (1.0, 2.0)] {
        let dense = cells::cells(
            Kind::Sampled { q, z },
            1e-3,
            7.0,
            Weight {
                tilt: 3.0,
                moment: -300.0,
            },
        );
        let sparse = cells::cells(
            Kind::Sampled { q, z },
            1e-3,
            7.0,
            Weight {
                tilt: 1.0,
                moment: 3.0,
            },
        );
        for (dense, sparse) in dense.iter().zip(&sparse) {
            assert!(
                sparse.cells.len() < dense.cells.len()
                    && sparse.cells.windows(2).all(|pair| pair[0].0 < pair[1].0)
            );
            let mass: f64 = sparse.cells.iter().map(|cell| cell.1).sum::<f64>() + sparse.infinity;
            assert!(
                (1.0 - 1e-14..1.0 + 1e-11).contains(&mass),
                "{q} {z}: {mass}"
            );
            assert!(sparse.cells.iter().all(|cell| cell.1 >= 0.0));
            // δ of one release at every fifth grid point: never lower than with equal cells, but
            // for rounding.
            let delta = |pmf: &Pmf, e: i64| {
                let above = pmf.cells.iter().filter(|cell| cell.0 > e);
                above
                    .map(|(l, p)| p * -((e - l) as f64 * 1e-3).exp_m1())
                    .sum::<f64>()
                    + pmf.infinity
            };
            for e in (dense.ends().0..dense.ends().1).step_by(5) {
                let narrow = delta(dense, e);
                let wide = delta(sparse, e);
                assert!(
                    wide >= narrow * (1.0 - 1e-12) - 1e-15,
                    "{q} {z} {e}: {wide:e} {narrow:e}"
                );
            }
        }
    }
}

#[test]
fn randomised_response_composes_as_in_closed_form() {
    let relation = NeighboringRelation::ReplaceOne;
    for (epsilon, count, delta) in [(0.1, 100, 1e-5), (0.5, 20, 1e-6), (1.0, 8, 1e-3)] {
        let truth = pure::optimal_epsilon(epsilon, count, delta).unwrap();
        let loss = pld::epsilon(
            &[(Event::PureEpsilon { epsilon, relation }, count)],
            delta,
            &Options::default(),
        )
        .unwrap();
        assert!(
            loss.epsilon >= truth * (1.0 - 1e-9) && loss.epsilon <= truth * (1.0 + 2e-4),
            "{loss:?} {truth}"
        );
    }
}

#[test]
fn what_is_called_tight_is_within_its_tolerance_of_a_far_finer_run() {
    let finer = Options {
        tolerance: 2e-6,
        cells_max: 1 << 22,
    };
    for (q, z, count, delta) in [
        (0.25, 1.0, 40, 2.9e-3),
        (0.01, 1.0, 10_000, 1e-5),
        (0.35, 1.6, 60, 1e-5),
        (0.001, 0.7, 100, 1e-6),
        (0.05, 4.0, 1000, 1e-10),
    ] {
        let rounds = [(Event::sampled(q, z), count)];
        let loss = pld::epsilon(&rounds, delta, &Options::default()).unwrap();
        let fine = pld::epsilon(&rounds, delta, &finer).unwrap();
        assert_eq!(
            (loss.quality, fine.quality),
            (Quality::Tight, Quality::Tight)
        );
        assert!(
            loss.epsilon >= fine.epsilon * (1.0 - 4e-6),
            "{q} {z} {count}: {loss:?} {fine:?}"
        );
        assert!(
            loss.epsilon <= fine.epsilon * (1.0 + 1e-4),
            "{q} {z} {count}: {loss:?} {fine:?}"
        );
    }
    // Two kinds of rounds lie between their like.
    let mixed = [
        (Event::sampled(0.25, 1.0), 20),
        (Event::sampled(0.25, 2.0), 20),
    ];
    let epsilon = |rounds: &[pld::Rounds]| {
        pld::epsilon(rounds, 1e-5, &Options::default())
            .unwrap()
            .epsilon
    };
    let mixed = epsilon(&mixed);
    assert!(
        mixed > epsilon(&[(Event::sampled(0.25, 1.0), 20)])
            && mixed < epsilon(&[(Event::sampled(0.25, 1.0), 40)])
    );
}

#[test]
fn a_loss_that_one_number_cannot_tell_from_rounding() {
    // Best estimate of the oracle: 0.0207559; the Rényi bound is 0.78.
    let loss = pld::epsilon(
        &[(Event::sampled(1e-4, 1.0), 10)],
        1e-10,
        &Options::default(),
    )
    .unwrap();
    assert!((0.020755..0.020777).contains(&loss.epsilon), "{loss:?}");
}

#[test]
fn few_rounds_and_rare_large_losses_are_tight() {
    // (q, z, T, δ) that were answered by an upper bound (issue 10), and ε of a grid seven times as
    // fine.
    for (q, z, count, delta, truth) in [
        (0.754_926, 15.741_398_6, 6, 1.023_21e-7, 0.537_31),
        (1e-4, 0.7, 40, 1e-5, 0.009_146),
        (0.021_284_6, 15.793_563_6, 2, 5.0188e-10, 0.009_988_09),
        (1.245_531e-4, 0.780_697_7, 4994, 1.515_76e-9, 0.303_410_5),
    ] {
        let loss =
            pld::epsilon(&[(Event::sampled(q, z), count)], delta, &Options::default()).unwrap();
        assert_eq!(
            loss.quality,
            Quality::Tight,
            "{q} {z} {count} {delta:e}: {loss:?}"
        );
        assert!(
            (loss.epsilon / truth - 1.0).abs() < 3e-4,
            "{q} {z} {count} {delta:e}: {loss:?}"
        );
    }
}

/// Random settings (q from 1e-4 to 1, z from 0.3 to 30, T to 10,000, δ from 1e-12 to 1e-3, all but
/// T on a logarithmic scale as T is, too) of ε in (0.001, 60]; returns those answered by an upper
/// bound alone.
fn not_tight(wanted: usize, seed: u64) -> Vec<String> {
    let mut stream = crate::random::Stream::from_seed(seed);
    let mut number = |low: f64, high: f64| low * (high / low).powf(stream.unit::<f64>());
    let mut found = Vec::new();
    let mut seen = 0;
    while seen < wanted {
        let q = number(1e-4, 1.0);
        let z = number(0.3, 30.0);
        let count = number(1.0, 10_001.0) as u32;
        let delta = number(1e-12, 1e-3);
        let loss =
            pld::epsilon(&[(Event::sampled(q, z), count)], delta, &Options::default()).unwrap();
        if loss.epsilon > 1e-3 && loss.epsilon <= 60.0 {
            seen += 1;
            if loss.quality == Quality::Upper {
                found.push(format!("q {q} z {z} T {count} delta {delta:e}: {loss:?}"));
            }
        }
    }
    found
}

#[test]
fn random_settings_are_tight() {
    let found = not_tight(60, 10);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
#[ignore = "500 settings: ten seconds in release, minutes in debug"]
fn five_hundred_random_settings_are_tight() {
    // Before the mend 9 of them were not, two of those among the first 60.
    let found = not_tight(500, 10);
    assert!(found.is_empty(), "{} of 500: {found:#?}", found.len());
}

#[test]
fn weights_in_pairs_never_fall_below_those_of_one_number_each() {
    // The same window by both formats, at a level at which either sees the other's error.
    let one = release(TILT);
    let kinds = [Tilted::new(
        &one,
        40,
        STEP,
        TILT,
        one.moment(STEP, TILT).value,
    )];
    for (n, tail_only) in [(256, false), (1024, false), (1024, true)] {
        let [plain, pairs] =
            [Some(0.0), None].map(|enough| Spectrum::new(&kinds, n, STEP, TILT, tail_only, enough));
        assert!(
            pairs.allowance < 1e-20 && plain.allowance < 1e-10,
            "{:e} {:e}",
            pairs.allowance,
            plain.allowance
        );
        let mut largest = 0.0f64;
        for e in 0..n as i64 {
            let a = plain.at(e);
            let b = pairs.at(e);
            largest = largest.max(b);
            assert!(
                (a - b).abs() <= plain.allowance + pairs.allowance + 1e-11 * b,
                "{n} {e}: {a:e} {b:e}"
            );
        }
        assert!(largest > 1e-3, "the comparison sees something: {largest:e}");
    }
}
