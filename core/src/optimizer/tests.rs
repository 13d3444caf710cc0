//! The whole loop: both formats, fits, repeats, refusals.

extern crate std;
mod elsewhere;
mod failed;
mod resumed;
mod slices;
mod uses;

use super::*;
use crate::acquisition::maximize::BoxSearch;
use crate::domain::BoxDomain;
use crate::kernel::Stationary;
use crate::linalg::NotPositiveDefinite;
use crate::random::{Stream, normal};
use crate::space::{Axis, Kind};
use crate::surrogate::exact::WhenFull;
use std::vec;
use std::vec::Vec;

fn branin(x: f64, y: f64) -> f64 {
    use core::f64::consts::PI;
    let a = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * Scalar::cos(x) + 10.0
}

fn run<T: Scalar>(settings: Settings, rounds: usize, fit: bool) -> (f64, Vec<f64>) {
    let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)]).unwrap();
    let mut optimizer =
        Optimizer::new(domain, settings, 40, vec![T::ZERO; storage_len(2, 40)]).unwrap();
    let mut path = Vec::new();
    for round in 0..rounds {
        let x = optimizer.suggest().unwrap();
        assert_eq!(optimizer.suggest().unwrap(), x);
        let y = -branin(x[0].to_f64(), x[1].to_f64());
        optimizer.observe(&x, T::from_f64(y)).unwrap();
        path.extend([x[0].to_f64(), x[1].to_f64()]);
        if fit && round % 8 == 7 {
            optimizer.fit().unwrap();
        }
    }
    (optimizer.best().unwrap().1.to_f64(), path)
}

#[test]
fn finds_branins_maximum_in_both_formats() {
    for (settings, fit) in [
        (Settings::default(), false),
        (Settings::default(), true),
        (
            Settings {
                acquisition: Acquisition::UpperConfidenceBound { width: 2.0 },
                ..Settings::default()
            },
            true,
        ),
    ] {
        let (best, path) = run::<f64>(settings, 40, fit);
        assert!(best > -0.6, "{settings:?} {fit}: {best}");
        assert_eq!(
            run::<f64>(settings, 40, fit),
            (best, path),
            "the same observations, the same suggestions"
        );
    }
    for fit in [false, true] {
        let (best, _) = run::<f32>(Settings::default(), 40, fit);
        assert!(best > -1.0, "{fit}: {best}");
    }
    // Negative control: the first points alone do not find it.
    assert!(run::<f64>(Settings::default(), 6, false).0 < -2.0);
}

#[test]
fn nonsense_constants_and_capacity() {
    let domain = || BoxDomain::new(&[(0.0, 1.0)]).unwrap();
    assert!(Optimizer::new(domain(), Settings::default(), 4, vec![0.0f64; 3]).is_err());
    let window = Settings {
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    let mut optimizer =
        Optimizer::new(domain(), window, 4, vec![0.0f64; storage_len(1, 4)]).unwrap();
    assert!(optimizer.best().is_none() && optimizer.fit().unwrap().is_none());
    for _ in 0..12 {
        let x = optimizer.suggest().unwrap();
        assert!((0.0..=1.0).contains(&x[0]));
        optimizer.observe(&x, 3.0).unwrap();
    }
    assert_eq!(optimizer.len(), 4);
    assert!((optimizer.best().unwrap().1 - 3.0).abs() < 1e-6);
    assert!(
        optimizer.fit().unwrap().is_none(),
        "a constant has no scale"
    );
    assert!(
        optimizer.observe(&[f64::NAN], 0.0).is_err()
            && optimizer.observe(&[0.5], f64::NAN).is_err()
    );
    assert!(optimizer.observe(&[0.5, 0.5], 0.0).is_err());
}

/// Smooth, far from 0, flat on top, quantised, rough, largest in a corner, constant, zero.
const FUNCTIONS: [fn(&[f64]) -> f64; 8] = [
    |x| -bowl(x),
    |x| 1000.0 - bowl(x),
    |x| (1.0 - 4.0 * bowl(x)).min(0.9),
    |x| libm::floor(255.0 * (1.0 - bowl(x))),
    |x| x.iter().map(|x| libm::sin(9.0 * x)).sum(),
    |x| x.iter().sum(),
    |_| 3.0,
    |_| 0.0,
];

fn bowl(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.3) * (x - 0.3)).sum()
}

fn unit_box(dim: usize) -> BoxDomain {
    BoxDomain::new(&vec![(0.0, 1.0); dim]).unwrap()
}

fn bits<T: Scalar>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| x.to_f64().to_bits()).collect()
}

/// (refused observations, failed fits) of default settings with a fit every eight rounds, at exact
/// and noisy values.
fn refusals<T: Scalar>(
    shape: Stationary,
    dim: usize,
    f: fn(&[f64]) -> f64,
    noise_std: f64,
) -> (u32, u32) {
    const ROUNDS: usize = 64;
    let settings = Settings {
        shape,
        ..Settings::default()
    };
    let mut optimizer = Optimizer::new(
        unit_box(dim),
        settings,
        ROUNDS,
        vec![T::ZERO; storage_len(dim, ROUNDS)],
    )
    .unwrap();
    let mut noise = [0.0; ROUNDS];
    let mut failed = 0;
    normal::fill(&mut Stream::from_seed(5), &mut noise);
    for round in 0..ROUNDS {
        let x = optimizer.suggest().unwrap();
        let at: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        let _ = optimizer.observe(&x, T::from_f64(f(&at) + noise_std * noise[round]));
        if round % 8 == 7 {
            failed += u32::from(optimizer.fit().is_err());
        }
        assert!(optimizer.noise_fraction() >= optimizer.noise_floor());
    }
    (optimizer.refused(), failed)
}

#[test]
fn single_precision_with_fits_refuses_nothing() {
    let mut runs = 0;
    let mut broken = Vec::new();
    for shape in [Stationary::Matern52, Stationary::SquaredExponential] {
        for dim in 1..=3 {
            for (index, f) in FUNCTIONS.into_iter().enumerate() {
                for noise_std in [0.0, 0.01] {
                    runs += 1;
                    let found = refusals::<f32>(shape, dim, f, noise_std);
                    if found != (0, 0) {
                        broken.push((shape, dim, index, noise_std, found));
                    }
                }
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} of {runs} runs refused an observation or a fit: {broken:?}",
        broken.len()
    );
}

#[test]
fn the_noise_floor_follows_format_and_capacity() {
    let new = |capacity: usize| {
        Optimizer::new(
            unit_box(1),
            Settings::default(),
            capacity,
            vec![0.0f32; storage_len(1, capacity)],
        )
        .unwrap()
    };
    assert_eq!(new(92).noise_floor(), 400.0 * f32::EPSILON);
    assert_eq!(new(492).noise_floor(), 2000.0 * f32::EPSILON);
    // The prior's mode, unless the format does not resolve it.
    assert!((new(92).noise_fraction() - libm::expf(-5.0)).abs() < 1e-6);
    assert_eq!(new(20_000).noise_fraction(), 4.0 * 20_008.0 * f32::EPSILON);
    for width in [f64::NAN, f64::INFINITY] {
        let settings = Settings {
            acquisition: Acquisition::UpperConfidenceBound { width },
            ..Settings::default()
        };
        let error =
            Optimizer::new(unit_box(1), settings, 4, vec![0.0f32; storage_len(1, 4)]).unwrap_err();
        assert!(matches!(error, OptimizerError::Width { .. }), "{error}");
    }
}

#[test]
fn a_failed_fit_changes_nothing_and_says_what_failed() {
    // Squares of the deviations overflow although those of the model do not: neighbours tell it
    // little that is new. Such values are refused at the door, so they come by another way.
    let mut optimizer = Optimizer::new(
        unit_box(1),
        Settings::default(),
        20,
        vec![0.0f32; storage_len(1, 20)],
    )
    .unwrap();
    let near = (0..12).map(|i| (0.1 + 0.002 * i as f32, -1.2e19));
    for (x, y) in near.chain([(0.9, 1.2e19)]) {
        assert!(optimizer.check(&[x], y).is_err());
        optimizer.parts().unwrap().0.observe(&[x], y).unwrap();
        optimizer.len += 1;
    }
    let before = optimizer.clone();
    let parameters = optimizer.parameters().clone();
    let error = optimizer.fit().unwrap_err();
    assert!(
        matches!(error, OptimizerError::Fit(SurrogateError::NonFinite { .. })),
        "{error}"
    );
    assert_eq!(optimizer.lengthscales(), &parameters.lengthscales[..]);
    assert_eq!(optimizer.noise_fraction(), parameters.noise_fraction);
    assert_eq!(bits(&optimizer.storage), bits(&before.storage));
    let singular = SurrogateError::Singular(NotPositiveDefinite {
        row: 3,
        pivot: -0.5,
        threshold: 1e-6,
    });
    let text = std::format!("{}", OptimizerError::Fit(singular));
    assert!(
        text.starts_with("nothing was fitted: the covariances of the observations have no factor"),
        "{text}"
    );
    assert!(!text.contains("the point"), "no point was given: {text}");
}

fn refused_observations_move_on<T: Scalar>(told: usize) {
    let mut optimizer = Optimizer::new(
        unit_box(2),
        Settings::default(),
        20,
        vec![T::ZERO; storage_len(2, 20)],
    )
    .unwrap();
    for _ in 0..told {
        let x = optimizer.suggest().unwrap();
        optimizer.observe(&x, x[0] - x[1] * x[1]).unwrap();
    }
    let mut seen = Vec::new();
    for refused in 0..12 {
        let x = optimizer.suggest().unwrap();
        assert_eq!(optimizer.suggest().unwrap(), x);
        assert!(
            !seen.contains(&bits(&x)),
            "after {told} and {refused} refused ones {x:?} again"
        );
        seen.push(bits(&x));
        assert!(optimizer.observe(&x, T::INFINITY).is_err());
    }
    assert_eq!((optimizer.len(), optimizer.refused()), (told, 12));
    // Once something was accepted it is the acquisition that is followed again.
    let x = optimizer.suggest().unwrap();
    optimizer.observe(&x, T::ZERO).unwrap();
    let planned = optimizer.suggest().unwrap();
    optimizer.refused = 0;
    // With three values or more the model is asked.
    assert_eq!(optimizer.suggest().unwrap() == planned, told + 1 >= 3);
}

#[test]
fn a_refused_observation_changes_what_is_suggested_next() {
    for told in [0, 3, 9] {
        refused_observations_move_on::<f32>(told);
        refused_observations_move_on::<f64>(told);
    }
}

#[test]
fn repeats_and_zeros_do_not_repeat_one_point() {
    // Nothing but zeros has no scale; an actuator of two positions merges the initial points.
    for levels in [None, Some(1.0f32)] {
        let mut optimizer = Optimizer::new(
            unit_box(1),
            Settings::default(),
            30,
            vec![0.0f32; storage_len(1, 30)],
        )
        .unwrap();
        let mut seen = Vec::new();
        for _ in 0..12 {
            let x = optimizer.suggest().unwrap();
            seen.push(x[0].to_bits());
            let at = levels.map_or(x[0], |levels| libm::roundf(x[0] * levels) / levels);
            optimizer.observe(&[at], 0.0).unwrap();
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 12, "{levels:?}");
    }
}

#[test]
fn a_window_forgets_nothing_for_a_value_that_is_refused() {
    // Nothing is fitted while initial points are told: both have the same parameters.
    let settings = Settings {
        when_full: WhenFull::DropOldest,
        initial_points: 100,
        ..Settings::default()
    };
    let new = || Optimizer::new(unit_box(1), settings, 4, vec![0.0f64; storage_len(1, 4)]).unwrap();
    let mut optimizer = new();
    let mut fresh = new();
    let points = [(0.1, 1.0), (0.4, 2.5), (0.6, -1.0), (0.9, 0.5)];
    for (i, (x, y)) in points.into_iter().enumerate() {
        optimizer.observe(&[x], y).unwrap();
        if i > 0 {
            fresh.observe(&[x], y).unwrap();
        }
    }
    let refused = OptimizerError::Value {
        value: 1e300,
        largest: 1e140,
    };
    assert_eq!(optimizer.observe(&[0.3], 1e300), Err(refused));
    assert_eq!(optimizer.len(), 4, "nothing was forgotten for it");
    for (x, y) in [(0.2, 0.3), (0.3, 1.5)] {
        optimizer.observe(&[x], y).unwrap();
        fresh.observe(&[x], y).unwrap();
        let a = optimizer.best().unwrap();
        let b = fresh.best().unwrap();
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
    }
}

/// Maximal mean and regret after a run on a function, by what `choose` asks.
/// At the border of what is admitted no sum of squares overflows, fits and repetitions included.
/// Beyond it values were taken of which no fit could be made.
fn the_border<T: Scalar>() {
    let largest = value_max::<T>();
    let storage = vec![T::ZERO; storage_len(1, 20)];
    let mut optimizer = Optimizer::new(unit_box(1), Settings::default(), 20, storage).unwrap();
    for beyond in [largest * T::from_f64(1.001), -largest * T::from_f64(1e3)] {
        let refused = OptimizerError::Value {
            value: beyond.to_f64(),
            largest: largest_value::<T>(),
        };
        assert_eq!(optimizer.check(&[T::ZERO], beyond), Err(refused));
        assert_eq!(optimizer.observe(&[T::ZERO], beyond), Err(refused));
    }
    for round in 0..60u32 {
        let x = optimizer.suggest().unwrap();
        // A few points, at which values of both signs are repeated.
        let at = [T::from_f64(libm::round(x[0].to_f64() * 12.0) / 12.0)];
        let sign = if round % 3 == 0 { -T::ONE } else { T::ONE };
        optimizer.observe(&at, sign * largest).unwrap();
        let (best, value) = optimizer.best().unwrap();
        let (mean, std) = optimizer.predict(&best).unwrap();
        assert!(value.is_finite() && mean.is_finite() && std.is_finite());
        if optimizer.len() == 16 {
            break;
        }
    }
    assert!(optimizer.len() >= 12 && optimizer.refused() == 2);
    for _ in 0..2000 {
        optimizer.observe(&[T::ZERO], largest).unwrap();
        optimizer.observe(&[T::ZERO], -largest).unwrap();
        if optimizer.len() >= 18 {
            break;
        }
    }
    assert!(optimizer.suggest().unwrap()[0].is_finite());
}

#[test]
fn values_up_to_the_largest_are_borne_and_none_beyond_is_taken() {
    the_border::<f32>();
    the_border::<f64>();
}

fn regret_of(seed: u32, rounds: usize, f: fn(&[f64]) -> f64, random: bool) -> f64 {
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let mut optimizer = Optimizer::new(
        unit_box(2),
        settings,
        rounds,
        vec![0.0f32; storage_len(2, rounds)],
    )
    .unwrap();
    let mut stream = Stream::from_seed(u64::from(seed));
    let mut best = f64::NEG_INFINITY;
    for _ in 0..rounds {
        let x = if random {
            Point::from_slice(&[stream.unit(), stream.unit()]).unwrap()
        } else {
            optimizer.suggest().unwrap()
        };
        let y = f(&[f64::from(x[0]), f64::from(x[1])]);
        best = best.max(y);
        optimizer.observe(&x, y as f32).unwrap();
    }
    best
}

/// Branin over its box, and a valley that is long in one axis: what isotropic constants were bad
/// at.
#[test]
fn thirty_questions_come_ten_times_nearer_than_random_ones() {
    type Known = (fn(&[f64]) -> f64, f64);
    let functions: [Known; 2] = [
        (
            |x| -branin(15.0 * x[0] - 5.0, 15.0 * x[1]),
            -0.397_887_357_7,
        ),
        (
            |x| {
                -libm::pow(12.0 * (x[0] - 0.37), 2.0) - 0.2 * libm::pow(x[1] - 0.81, 2.0)
                    + libm::cos(30.0 * (x[0] - 0.37))
            },
            1.0,
        ),
    ];
    for (f, top) in functions {
        let median = |random| {
            let mut found: Vec<f64> = (0..9)
                .map(|seed| top - regret_of(seed, 30, f, random))
                .collect();
            found.sort_by(f64::total_cmp);
            found[4]
        };
        let ours = median(false);
        let random = median(true);
        assert!(ours < 0.1 * random, "{ours} against {random}");
    }
}

/// Two axes of different ranges; the upper end of the first is below low + (high − low) in `f32`.
fn uneven() -> BoxDomain {
    BoxDomain::new(&[(0.1, 0.7), (-5.0, 10.0)]).unwrap()
}

fn outside_is_refused<T: Scalar>() {
    let new = || {
        Optimizer::new(
            uneven(),
            Settings::default(),
            12,
            vec![T::ZERO; storage_len(2, 12)],
        )
        .unwrap()
    };
    let mut optimizer = new();
    let mut other = new();
    let number = T::from_f64;
    for round in 0..8 {
        let x = optimizer.suggest().unwrap();
        let y = x[0] - x[1] * x[1];
        for (axis, value) in [(0, 2.0), (0, 0.0999), (1, -5.001), (1, 1e9)] {
            let mut wrong = x.clone();
            wrong[axis] = number(value);
            let error = optimizer.observe(&wrong, y).unwrap_err();
            let (low, high) = uneven().bounds(axis).unwrap();
            let outside = SpaceError::Value {
                axis,
                value: number(value).to_f64(),
                kind: Kind::Real { low, high },
            };
            assert_eq!(error, OptimizerError::Space(outside));
            assert_eq!(optimizer.check(&wrong, y), Err(error));
            let text = std::format!("{error}");
            for part in [
                std::format!("axis {axis}"),
                std::format!("{}", number(value).to_f64()),
            ] {
                assert!(text.contains(&part), "{text}");
            }
            assert!(
                text.contains(&std::format!("{low}")) && text.contains(&std::format!("{high}")),
                "{text}"
            );
        }
        assert_eq!((optimizer.len(), optimizer.refused()), (round, 0));
        // A refusal changed nothing: the other optimiser, which never met one, asks for the same
        // points.
        assert_eq!(bits(&other.suggest().unwrap()), bits(&x), "round {round}");
        optimizer.observe(&x, y).unwrap();
        other.observe(&x, y).unwrap();
    }
    let best = optimizer.best().unwrap().0;
    assert!(uneven().contains(&best).is_ok(), "{best:?}");
    // The ends of the box belong to it, and so does whatever a suggestion can come to.
    for unit in [0.0, 1.0] {
        let corner: Vec<T> = (0..2)
            .map(|axis| uneven().from_unit(axis, number(unit)).unwrap())
            .collect();
        assert_eq!(optimizer.check(&corner, T::ZERO), Ok(()));
    }
    assert_eq!(
        optimizer.check(&[number(0.7), number(10.0)], T::ZERO),
        Ok(())
    );
    // NaN is no place: it is refused as a number, as it always was.
    let nan = optimizer.check(&[number(f64::NAN), T::ZERO], T::ZERO);
    assert!(
        matches!(
            nan,
            Err(OptimizerError::Surrogate(SurrogateError::NonFinite { .. }))
        ),
        "{nan:?}"
    );
}

#[test]
fn a_point_outside_the_box_is_refused_by_axis_value_and_range() {
    outside_is_refused::<f32>();
    outside_is_refused::<f64>();
}

#[test]
fn a_full_optimizer_says_its_capacity_and_what_to_do() {
    let mut optimizer = Optimizer::new(
        unit_box(1),
        Settings::default(),
        3,
        vec![0.0f64; storage_len(1, 3)],
    )
    .unwrap();
    for i in 0..3 {
        optimizer.observe(&[0.3 * f64::from(i)], 1.0).unwrap();
    }
    let error = optimizer.observe(&[0.95], 1.0).unwrap_err();
    assert_eq!(
        error,
        OptimizerError::Surrogate(SurrogateError::Full { capacity: 3 })
    );
    let text = std::format!("{error}");
    for part in ["all 3 rows", "capacity", "larger capacity", "drop_oldest"] {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
    // Negative control: where the oldest may go, nothing is full.
    let window = Settings {
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    let mut optimizer =
        Optimizer::new(unit_box(1), window, 3, vec![0.0f64; storage_len(1, 3)]).unwrap();
    for i in 0..6 {
        assert_eq!(optimizer.check(&[0.15 * f64::from(i)], 1.0), Ok(()));
        optimizer.observe(&[0.15 * f64::from(i)], 1.0).unwrap();
    }
}
