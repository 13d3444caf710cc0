//! Points without a value.

use super::*;
use core::task::Poll;

fn line<T: Scalar>(capacity: usize, settings: Settings) -> Optimizer<T, Vec<T>> {
    let storage = vec![T::ZERO; storage_len(1, capacity)];
    Optimizer::new(unit_box(1), settings, capacity, storage).unwrap()
}

/// Initial points throughout, so that nothing is fitted.
fn unfitted_settings() -> Settings {
    Settings {
        initial_points: 1000,
        ..Settings::default()
    }
}

fn beliefs<T: Scalar>(optimizer: &mut Optimizer<T, Vec<T>>) -> Vec<u64> {
    let moments = (0..9).map(|i| {
        let (mean, std) = optimizer
            .predict(&[T::from_f64(0.12 * f64::from(i))])
            .unwrap();
        [mean, std]
    });
    bits(&moments.flatten().collect::<Vec<T>>())
}

/// Bit for bit the model that was told the worst value in its place, whichever that is by now.
fn counts_as_the_worst<T: Scalar>() {
    let mut failing = line::<T>(6, unfitted_settings());
    let mut told: Vec<(f64, Option<f64>)> = Vec::new();
    for (x, y) in [
        (0.3, None),
        (0.9, Some(5.0)),
        (0.5, Some(3.0)),
        (0.1, None),
        (0.7, Some(-1.0)),
        (0.2, Some(0.5)),
    ] {
        let point = [T::from_f64(x)];
        match y {
            Some(y) => failing.observe(&point, T::from_f64(y)).unwrap(),
            None => failing.fail(&point).unwrap(),
        };
        told.push((x, y));
        let Some(worst) = told.iter().filter_map(|(_, y)| *y).reduce(f64::min) else {
            continue;
        };
        let mut plain = line::<T>(6, unfitted_settings());
        for (x, y) in &told {
            let y = T::from_f64(y.unwrap_or(worst));
            plain.observe(&[T::from_f64(*x)], y).unwrap();
        }
        assert_eq!(beliefs(&mut failing), beliefs(&mut plain), "{told:?}");
    }
    assert_eq!((failing.len(), failing.failed(), failing.told()), (6, 2, 6));
    let full = failing.fail(&[T::ONE]);
    assert_eq!(full, Err(SurrogateError::Full { capacity: 6 }.into()));
    assert_eq!((failing.failed(), failing.refused()), (2, 1));
}

#[test]
fn a_failure_counts_as_the_worst_value_of_now_in_both_formats() {
    counts_as_the_worst::<f32>();
    counts_as_the_worst::<f64>();
}

#[test]
fn before_the_first_value_nothing_is_known() {
    let mut optimizer = line::<f64>(20, Settings::default());
    let mut asked = Vec::new();
    // Beyond the initial points, too.
    for round in 0..9u32 {
        let x = optimizer.suggest().unwrap();
        assert!(!asked.contains(&x[0].to_bits()), "round {round}");
        asked.push(x[0].to_bits());
        optimizer.fail(&x).unwrap();
        assert_eq!((optimizer.best(), optimizer.recommend()), (None, None));
        let nothing = Err(SurrogateError::Index { index: 0, len: 0 }.into());
        assert_eq!(optimizer.predict(&[0.5]), nothing);
        assert!(optimizer.expected_gain().is_none());
    }
    // A value far below 0, which the model had in place of the failures until now.
    optimizer.observe(&[0.5], -1e6).unwrap();
    assert_eq!(optimizer.best().unwrap().0[..], [0.5]);
    assert!(optimizer.predict(&[f64::from_bits(asked[0])]).unwrap().0 <= -1e6 + 1e-3);
}

/// What failed is never the best, even if it is told as well: as a row of its own, or where the
/// noise is so small that a repetition is averaged into its row.
#[test]
fn what_failed_is_never_the_best_even_if_it_is_told() {
    for noise_fraction in [1e-2, 1e-12] {
        let fitted = Parameters {
            lengthscales: Point::from_slice(&[0.3]).unwrap(),
            noise_fraction,
            told: 0,
        };
        let begin = || {
            let mut optimizer = line::<f64>(8, unfitted_settings());
            optimizer
                .replay([LogEntry::Fitted(fitted.clone())])
                .unwrap();
            optimizer.observe(&[0.2], 1.0).unwrap();
            optimizer
        };
        let mut after = begin();
        after.fail(&[0.8]).unwrap();
        after.observe(&[0.8], 9.0).unwrap();
        let mut before = begin();
        before.observe(&[0.8], 9.0).unwrap();
        // Negative control: it was the best.
        assert_eq!(before.best().unwrap().0[..], [0.8]);
        before.fail(&[0.8]).unwrap();
        let rows = if noise_fraction > 1e-8 { 3 } else { 2 };
        for optimizer in [&mut after, &mut before] {
            assert_eq!((optimizer.len(), optimizer.told()), (rows, 3));
            assert_eq!(optimizer.failed(), 1);
            assert_eq!(optimizer.best().unwrap().0[..], [0.2]);
        }
        // The only one that did not fail fails.
        after.fail(&[0.2]).unwrap();
        assert_eq!(after.best(), None);
    }
}

#[test]
fn a_search_leaves_a_region_that_fails() {
    // Beyond .6 nothing works.
    let mut optimizer = line::<f64>(40, Settings::default());
    let mut fails = 0;
    for _ in 0..24 {
        let x = optimizer.suggest().unwrap();
        if x[0] > 0.6 {
            fails += 1;
            optimizer.fail(&x).unwrap();
        } else {
            let y = -(x[0] - 0.4) * (x[0] - 0.4);
            optimizer.observe(&x, y).unwrap();
        }
    }
    let (best, _) = optimizer.best().unwrap();
    assert!((best[0] - 0.4).abs() < 0.05, "{best:?}");
    assert_eq!(optimizer.failed(), fails);
    assert!((1..=12).contains(&fails), "{fails} questions failed");
}

/// From a list one that failed is not even asked again where the others are.
#[test]
fn of_a_list_those_that_failed_are_asked_last() {
    let list: Vec<f64> = (0..5).map(|i| 0.25 * f64::from(i)).collect();
    // What drifts may be asked again.
    let settings = Settings {
        half_life: 30,
        ..Settings::default()
    };
    let mut optimizer = line::<f64>(60, settings);
    let mut asked = [0; 5];
    for _ in 0..40 {
        let place = optimizer.suggest_among(&list).unwrap();
        asked[place] += 1;
        match place {
            1 | 3 => optimizer.fail(&[list[place]]).unwrap(),
            _ => optimizer.observe(&[list[place]], list[place]).unwrap(),
        };
    }
    assert!(asked[1] <= 1 && asked[3] <= 1, "{asked:?}");
    assert!(asked[0] + asked[2] + asked[4] >= 38);
    // Where all fail one of them is asked.
    let mut optimizer = line::<f64>(60, settings);
    let mut asked = Vec::new();
    for _ in 0..8 {
        let place = optimizer.suggest_among(&list).unwrap();
        asked.push(place);
        optimizer.fail(&[list[place]]).unwrap();
    }
    asked.truncate(5);
    asked.sort_unstable();
    assert_eq!(asked, [0, 1, 2, 3, 4]);
}

/// Under another context the same choice may work.
#[test]
fn a_failure_is_of_its_context() {
    let space = Space::new(&[Axis::real(0.0, 1.0), Axis::real(0.0, 1.0).given()]).unwrap();
    let storage = vec![0.0f64; storage_len(2, 9)];
    let mut optimizer = Optimizer::new(space, unfitted_settings(), 9, storage).unwrap();
    optimizer.observe(&[0.2, 0.0], 1.0).unwrap();
    optimizer.observe(&[0.8, 0.0], 5.0).unwrap();
    optimizer.fail(&[0.8, 1.0]).unwrap();
    optimizer.given(&[0.0]).unwrap();
    assert_eq!(optimizer.best().unwrap().0[..], [0.8, 0.0]);
    optimizer.given(&[1.0]).unwrap();
    assert_eq!(optimizer.best().unwrap().0[..], [0.2, 1.0]);
}

/// A log says what failed; so does the end of one that lost its beginning.
#[test]
fn a_log_with_failures_is_the_search() {
    for when_full in [WhenFull::Refuse, WhenFull::DropOldest] {
        let settings = Settings {
            when_full,
            ..Settings::default()
        };
        let capacity = if when_full == WhenFull::Refuse { 16 } else { 7 };
        let mut optimizer = line::<f32>(capacity, settings);
        let mut log = Vec::new();
        for round in 0..16 {
            let x = loop {
                if let Poll::Ready(x) = optimizer.suggest_step(7).unwrap() {
                    break x;
                }
            };
            assert_eq!(optimizer.suggest().unwrap(), x);
            if round % 3 == 1 {
                optimizer.fail(&x).unwrap();
                log.push(LogEntry::failed(&x).unwrap());
            } else {
                optimizer.observe(&x, x[0] * x[0]).unwrap();
                log.push(LogEntry::told(&x, x[0] * x[0]).unwrap());
            }
            let dropped = log.len().saturating_sub(capacity);
            if dropped > 0 {
                let forgotten = LogEntry::Forgotten {
                    observations: dropped as u32,
                };
                let window = log.iter().skip(dropped).cloned();
                optimizer
                    .replay([forgotten].into_iter().chain(window))
                    .unwrap();
            }
            let storage = vec![0.0; storage_len(1, capacity)];
            let forgotten = LogEntry::Forgotten {
                observations: dropped as u32,
            };
            let window = log.iter().skip(dropped).cloned();
            let entries = [forgotten].into_iter().chain(window);
            let mut resumed =
                Optimizer::resume(unit_box(1), settings, capacity, storage, entries).unwrap();
            assert_eq!(resumed.suggest().unwrap(), optimizer.suggest().unwrap());
            assert_eq!(resumed.failed(), optimizer.failed());
            assert_eq!(resumed.best(), optimizer.best());
        }
        assert!(optimizer.failed() >= 2);
    }
}

/// A point that is none changes nothing; one refused at the door is another question.
#[test]
fn a_point_outside_does_not_fail() {
    let mut optimizer = line::<f64>(4, Settings::default());
    let next = optimizer.suggest().unwrap();
    assert!(matches!(
        optimizer.fail(&[1.5]),
        Err(OptimizerError::Space(SpaceError::Value { axis: 0, .. }))
    ));
    assert_eq!((optimizer.len(), optimizer.refused()), (0, 0));
    assert_eq!(optimizer.suggest().unwrap(), next);
    assert!(optimizer.fail(&[0.1, 0.2]).is_err());
    assert_eq!((optimizer.failed(), optimizer.refused()), (0, 1));
}

/// What failed says nothing of the function, so that a point that fills the box is asked in its
/// place, and the later ones come after as many values as without failures.
#[test]
fn failures_do_not_count_as_points_that_fill_the_box() {
    let filled = |fails: &[u32]| {
        let mut optimizer = Optimizer::new(
            unit_box(2),
            Settings::default(),
            24,
            vec![0.0f64; storage_len(2, 24)],
        )
        .unwrap();
        let mut filled = Vec::new();
        for round in 0..24 {
            if optimizer.fills_next() {
                filled.push(round);
            }
            let x = optimizer.suggest().unwrap();
            if fails.contains(&round) {
                optimizer.fail(&x).unwrap();
            } else {
                optimizer.observe(&x, x[0] - x[1] * x[1]).unwrap();
            }
        }
        filled
    };
    // Three at first, then every fifth, until there are six.
    assert_eq!(filled(&[]), [0, 1, 2, 7, 12, 17]);
    assert_eq!(filled(&[1, 2]), [0, 1, 2, 3, 4, 9, 14, 19]);
    assert_eq!(filled(&[4, 6, 9]), [0, 1, 2, 9, 10, 15, 20]);
}

/// Values that were averaged into a row, which then failed, say nothing of the noise any more: the
/// model is that of a search whose point failed at once.
#[test]
fn what_a_failed_point_was_told_before_says_nothing_of_the_noise() {
    let spread = |told: &[f64], fails: bool| {
        let fitted = Parameters {
            lengthscales: Point::from_slice(&[0.3]).unwrap(),
            noise_fraction: 1e-10,
            told: 0,
        };
        let mut optimizer = line::<f64>(8, unfitted_settings());
        optimizer.replay([LogEntry::Fitted(fitted)]).unwrap();
        for (x, y) in [(0.1, 1.0), (0.4, -1.0), (0.6, 0.5)] {
            optimizer.observe(&[x], y).unwrap();
        }
        for y in told {
            optimizer.observe(&[0.95], *y).unwrap();
        }
        if fails {
            optimizer.fail(&[0.95]).unwrap();
        }
        assert_eq!(optimizer.len(), 4, "repeats are averaged into their row");
        optimizer.predict(&[0.25]).unwrap().1
    };
    let at_once = spread(&[], true);
    let after = spread(&[0.2, 0.4, 0.3], true);
    assert!((after / at_once - 1.0).abs() < 1e-3, "{after} {at_once}");
    // Negative control: values that did not fail say much of it, here that it is larger.
    assert!(spread(&[0.2, 0.4, 0.3], false) > 10.0 * at_once);
}

/// The same of a fit, whose likelihood counts repeats: without a scatter they would say that there
/// is no noise.
#[test]
fn a_fit_learns_no_noise_from_a_point_that_failed() {
    let fitted = |told: usize| {
        let begun = Parameters {
            lengthscales: Point::from_slice(&[0.3]).unwrap(),
            noise_fraction: 1e-10,
            told: 0,
        };
        let mut optimizer = line::<f64>(12, unfitted_settings());
        optimizer.replay([LogEntry::Fitted(begun)]).unwrap();
        for (i, y) in [0.9, -0.8, 0.4, 0.7, -0.6, 0.1].into_iter().enumerate() {
            optimizer.observe(&[0.15 * i as f64], y).unwrap();
        }
        for _ in 0..told {
            optimizer.observe(&[0.95], 0.3).unwrap();
        }
        optimizer.fail(&[0.95]).unwrap();
        assert_eq!(optimizer.len(), 7, "repeats are averaged into their row");
        optimizer.fit().unwrap().unwrap();
        optimizer.noise_fraction()
    };
    let at_once = fitted(0);
    for told in [1, 3, 7] {
        let after = fitted(told);
        assert!(after > 0.5 * at_once, "{told}: {after} {at_once}");
    }
}

/// Six failures and one value in a window of four rows: one value is no model.
#[test]
fn a_window_full_of_failures_asks_no_model() {
    let settings = Settings {
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    let mut optimizer = line::<f64>(4, settings);
    for i in 0..6 {
        optimizer.fail(&[0.1 * f64::from(i)]).unwrap();
    }
    optimizer.observe(&[0.9], 1.0).unwrap();
    assert!(optimizer.fills_next() && !optimizer.fit_is_due());
    optimizer.observe(&[0.8], 1.0).unwrap();
    assert!(optimizer.fills_next());
    optimizer.observe(&[0.7], 2.0).unwrap();
    assert_eq!((optimizer.len(), optimizer.failed()), (4, 1));
    assert!(!optimizer.fills_next() && optimizer.fit_is_due());
}
