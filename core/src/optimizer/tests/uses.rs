//! Spaces, context, lists, advice, drift.

use super::*;

/// What is found among whole numbers, a logarithm and a category: the values that count, and how
/// often a question repeated.
fn mixed<T: Scalar>(seed: u32, rounds: usize) -> (f64, usize) {
    let axes = [
        Axis::integer(1, 6),
        Axis::real(1e-4, 1.0).log(),
        Axis::category(3),
        Axis::ordinal(4),
    ];
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let space = Space::new(&axes).unwrap();
    let mut optimizer = Optimizer::new(
        space.clone(),
        settings,
        rounds,
        vec![T::ZERO; storage_len(4, rounds)],
    )
    .unwrap();
    let mut seen = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for _ in 0..rounds {
        let x = optimizer.suggest().unwrap();
        assert_eq!(space.check(&x), Ok(()));
        seen.push(bits(&x));
        let at: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        let rate = libm::log10(at[1]) + 2.5;
        let y = -0.3 * (at[0] - 4.0).abs()
            - rate * rate
            - if at[2] == 1.0 { 0.0 } else { 1.0 }
            - 0.6 * (at[3] - 2.0).abs();
        best = best.max(y);
        optimizer.observe(&x, T::from_f64(y)).unwrap();
    }
    let asked = seen.len();
    seen.sort();
    seen.dedup();
    (best, asked - seen.len())
}

#[test]
fn whole_numbers_logarithms_and_categories_are_searched_and_not_repeated() {
    for seed in 0..4 {
        let double = mixed::<f64>(seed, 40);
        let single = mixed::<f32>(seed, 40);
        assert!(double.0 > -0.1 && single.0 > -0.1, "{double:?} {single:?}");
        assert_eq!((double.1, single.1), (0, 0));
    }
    // Negative control: the first points alone do not find it.
    assert!((0..4).any(|seed| mixed::<f64>(seed, 10).0 < -0.2));
}

#[test]
fn a_space_of_few_questions_is_asked_through_before_one_repeats() {
    let space = Space::new(&[
        Axis::integer(1, 4),
        Axis::category(3),
        Axis::integer(1, 8).log().given(),
    ])
    .unwrap();
    for load in [1.0f32, 5.0] {
        let mut optimizer = Optimizer::new(
            space.clone(),
            Settings::default(),
            30,
            vec![0.0; storage_len(3, 30)],
        )
        .unwrap();
        assert_eq!(optimizer.suggest(), Err(OptimizerError::NoContext));
        assert!(optimizer.given(&[9.0]).is_err() && optimizer.given(&[1.0, 2.0]).is_err());
        optimizer.given(&[load]).unwrap();
        let mut seen = Vec::new();
        for _ in 0..12 {
            let x = optimizer.suggest().unwrap();
            assert_eq!(x[2], load);
            assert!(!seen.contains(&bits(&x)), "{x:?} again");
            seen.push(bits(&x));
            optimizer.observe(&x, x[0] - x[1]).unwrap();
        }
        // All twelve were asked; another one is one of them, and under another context all are new.
        let again = optimizer.suggest().unwrap();
        assert!(seen.contains(&bits(&again)));
        optimizer.given(&[3.0]).unwrap();
        let other = optimizer.suggest().unwrap();
        assert_eq!(other[2], 3.0);
        assert_eq!(optimizer.best().unwrap().0[2], 3.0);
    }
}

/// Not the order of the choices counts, but whether they are the same: the value of a category that
/// was seen says nothing of the next number.
#[test]
fn categories_have_no_order() {
    let space = Space::new(&[Axis::category(9), Axis::real(0.0, 1.0)]).unwrap();
    let mut optimizer = Optimizer::new(
        space,
        Settings::default(),
        30,
        vec![0.0f64; storage_len(2, 30)],
    )
    .unwrap();
    for i in 0..12 {
        let x = [
            f64::from(if i % 2 == 0 { 0 } else { 8 }),
            f64::from(i) / 12.0,
        ];
        optimizer.observe(&x, x[0]).unwrap();
    }
    let near = [
        optimizer.predict(&[1.0, 0.5]).unwrap(),
        optimizer.predict(&[7.0, 0.5]).unwrap(),
    ];
    assert!(
        (near[0].0 - near[1].0).abs() < 1e-9 && (near[0].1 - near[1].1).abs() < 1e-9,
        "{near:?}"
    );
    // Negative control: what was seen differs.
    let seen = [
        optimizer.predict(&[0.0, 0.5]).unwrap(),
        optimizer.predict(&[8.0, 0.5]).unwrap(),
    ];
    assert!(seen[1].0 - seen[0].0 > 4.0, "{seen:?}");
}

/// On a hill what is recommended is used; what is suggested is for learning.
#[test]
fn what_is_recommended_is_good_once_it_is_known() {
    let hill = |x: &[f64]| 1.0 - 4.0 * bowl(x) + 0.01 * libm::sin(20.0 * x[0]);
    let top = (0..=10_000)
        .map(|i| hill(&[f64::from(i) / 1e4, 0.3]))
        .fold(0.0, f64::max);
    for seed in 0..4 {
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        let mut optimizer =
            Optimizer::new(unit_box(2), settings, 60, vec![0.0f32; storage_len(2, 60)]).unwrap();
        let mut used = 0.0;
        let mut stopped = 60;
        for round in 0..60 {
            let x = optimizer.suggest().unwrap();
            if !optimizer.worth_asking(1e-4) {
                stopped = stopped.min(round);
            }
            optimizer
                .observe(&x, hill(&[f64::from(x[0]), f64::from(x[1])]) as f32)
                .unwrap();
            if round >= 40 {
                let found = optimizer.recommend().unwrap();
                let value = hill(&[f64::from(found.point[0]), f64::from(found.point[1])]);
                assert!(
                    (f64::from(found.mean) - value).abs() < 0.05 && found.std < 0.05,
                    "{found:?}"
                );
                used += (top - value) / 20.0;
            }
        }
        assert!(used < 0.005, "{used}");
        assert!((8..60).contains(&stopped), "worth asking until {stopped}");
    }
}

/// Two values of one point, with nine of others in between: who forgets believes the later one.
#[test]
fn a_half_life_believes_what_is_newer() {
    let mean_at_the_point = |half_life| {
        // Nothing is fitted meanwhile.
        let settings = Settings {
            half_life,
            initial_points: 100,
            ..Settings::default()
        };
        let mut optimizer =
            Optimizer::new(unit_box(1), settings, 40, vec![0.0f64; storage_len(1, 40)]).unwrap();
        optimizer.observe(&[0.5], 0.0).unwrap();
        for i in 0..9 {
            optimizer
                .observe(
                    &[if i % 2 == 0 { 0.0 } else { 0.9 } + 0.01 * f64::from(i)],
                    f64::from(i % 2),
                )
                .unwrap();
        }
        optimizer.observe(&[0.5], 1.0).unwrap();
        optimizer.predict(&[0.5]).unwrap().0
    };
    let forgets = mean_at_the_point(3);
    let never = mean_at_the_point(0);
    // 10/3 half-lives: weights of 1 and 1/10.
    assert!(
        forgets > 0.85 && (0.4..0.6).contains(&never),
        "{forgets} {never}"
    );
}

/// Neighbours on a long list of few axes are alike to single precision, but are not one: each is a
/// row, or the search would ask one of them for ever.
#[test]
fn a_long_list_in_single_precision_is_not_asked_one_candidate_again_and_again() {
    let list: Vec<f32> = (0..=4000).map(|k| k as f32 / 4000.0).collect();
    let storage = vec![0.0; storage_len(1, 64)];
    let mut optimizer = Optimizer::new(unit_box(1), Settings::default(), 64, storage).unwrap();
    let mut asked = Vec::new();
    for _ in 0..40 {
        let candidate = optimizer.suggest_among(&list).unwrap();
        assert!(!asked.contains(&candidate), "{candidate} of {asked:?}");
        asked.push(candidate);
        let x = list[candidate];
        optimizer.observe(&[x], -(x - 0.3) * (x - 0.3)).unwrap();
    }
    assert_eq!(optimizer.len(), 40);
    assert!(asked.contains(&1200), "{asked:?}");
}

/// What a rule of one's own found, or an older fit, is not what the next suggestion promises.
#[test]
fn the_gain_is_that_of_the_last_suggestion() {
    let storage = vec![0.0; storage_len(1, 20)];
    let mut optimizer = Optimizer::new(unit_box(1), Settings::default(), 20, storage).unwrap();
    for i in 0..10 {
        let x = 0.1 * f64::from(i);
        optimizer.observe(&[x], (6.0 * x).sin()).unwrap();
    }
    let expected = optimizer.suggest().unwrap();
    let gain = optimizer.expected_gain().unwrap();
    optimizer
        .suggest_by(&|_: f64, variance: f64, _: f64| variance)
        .unwrap();
    let other = optimizer.expected_gain().unwrap();
    assert_ne!(gain.to_bits(), other.to_bits());
    assert_eq!(optimizer.suggest().unwrap(), expected);
    assert_eq!(optimizer.expected_gain(), Some(gain));
    optimizer.fit().unwrap().unwrap();
    assert_eq!(optimizer.expected_gain(), None);
    optimizer.suggest().unwrap();
    assert!(optimizer.expected_gain().is_some());
    optimizer.suggest_among(&[0.2, 0.4]).unwrap();
    assert_eq!(optimizer.expected_gain(), None);
}

/// A row of a thousand half-lives ago says nothing, and the model goes on.
#[test]
fn a_half_life_of_one_observation_never_ends_a_search() {
    let settings = Settings {
        half_life: 1,
        ..Settings::default()
    };
    let storage = vec![0.0f32; storage_len(1, 300)];
    let mut optimizer = Optimizer::new(unit_box(1), settings, 300, storage).unwrap();
    for i in 0..300u32 {
        let x = i as f32 * 0.618 % 1.0;
        optimizer.observe(&[x], (9.0 * x).sin()).unwrap();
    }
    let (_, value) = optimizer.best().unwrap();
    assert!(value.is_finite() && optimizer.refused() == 0);
}

/// On a small machine the product of a large capacity wrapped to a small number of numbers.
#[test]
fn a_capacity_that_no_storage_has_is_refused() {
    let made = |capacity| Optimizer::new(unit_box(1), Settings::default(), capacity, vec![0.0; 99]);
    for capacity in [usize::MAX, usize::MAX / 2, 1 << (usize::BITS / 2)] {
        let Err(OptimizerError::Surrogate(SurrogateError::Storage { needed, given })) =
            made(capacity)
        else {
            panic!("{capacity} was taken");
        };
        assert!(needed > usize::MAX / 4 && given == 99);
    }
}

#[test]
fn candidates_of_a_list_are_chosen_in_slices_and_not_repeated() {
    use core::task::Poll;
    let list: Vec<f32> = (0..200)
        .map(|i| i as f32 * 0.37 % 1.0)
        .flat_map(|x| [x, x * 7.0 % 1.0])
        .collect();
    let hill = |c: usize| {
        1.0 - (list[2 * c] - 0.6) * (list[2 * c] - 0.6)
            - 2.0 * (list[2 * c + 1] - 0.3) * (list[2 * c + 1] - 0.3)
    };
    let best = (0..200).map(hill).fold(0.0, f32::max);
    let run = |slice: u32| {
        let mut optimizer = Optimizer::new(
            unit_box(2),
            Settings::default(),
            30,
            vec![0.0; storage_len(2, 30)],
        )
        .unwrap();
        let mut asked = Vec::new();
        for _ in 0..25 {
            let candidate = loop {
                if let Poll::Ready(candidate) = optimizer.suggest_among_step(slice, &list).unwrap()
                {
                    break candidate;
                }
                let _ = optimizer.best();
            };
            asked.push(candidate);
            optimizer
                .observe(&list[2 * candidate..2 * candidate + 2], hill(candidate))
                .unwrap();
        }
        asked
    };
    let whole = run(u32::MAX);
    assert!(
        whole.iter().any(|candidate| hill(*candidate) == best),
        "{whole:?}"
    );
    for slice in [1, 7, 100] {
        assert_eq!(run(slice), whole);
    }
    let mut distinct = whole.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 25);
    let mut optimizer = Optimizer::new(
        unit_box(2),
        Settings::default(),
        30,
        vec![0.0f32; storage_len(2, 30)],
    )
    .unwrap();
    let wrong = |error| {
        matches!(
            error,
            Err(OptimizerError::Surrogate(SurrogateError::Dimension { .. }))
        )
    };
    assert!(
        wrong(optimizer.suggest_among(&[])) && wrong(optimizer.suggest_among(&[0.1, 0.2, 0.3]))
    );
    assert!(
        optimizer.suggest_among(&[0.5, 1.5]).is_err()
            && optimizer.suggest_among(&[0.5; 20_002]).is_err()
    );
    assert_eq!(optimizer.suggest_among(&[0.5, 0.5]), Ok(0));
}

/// Many points at once, whole blocks and what is left, have the bits of one at a time.
#[test]
fn what_is_predicted_of_many_is_what_is_predicted_of_each() {
    fn of<T: Scalar>() {
        let space = Space::new(&[Axis::real(0.0, 4.0), Axis::real(-1.0, 1.0)]).unwrap();
        let storage = vec![T::ZERO; storage_len(2, 30)];
        let mut optimizer = Optimizer::new(space, Settings::default(), 30, storage).unwrap();
        let mut none = [(T::ZERO, T::ZERO)];
        let point = [T::ONE, T::ZERO];
        assert!(optimizer.predict_all(&point, &mut none).is_err());
        for _ in 0..12 {
            let x = optimizer.suggest().unwrap();
            let y = x[0] * x[1] - x[0] * x[0];
            optimizer.observe(&x, y).unwrap();
        }
        let points: Vec<T> = (0..74)
            .map(|n| T::from_f64(if n % 2 == 0 { f64::from(n) / 20.0 } else { 0.3 }))
            .collect();
        let mut found = vec![(T::ZERO, T::ZERO); 37];
        optimizer.predict_all(&points, &mut found).unwrap();
        for (point, (mean, std)) in points.chunks_exact(2).zip(&found) {
            assert_eq!(bits(&[*mean, *std]), {
                let (mean, std) = optimizer.predict(point).unwrap();
                bits(&[mean, std])
            });
        }
        assert!(found.iter().any(|(_, std)| *std > T::ZERO));
        // Numbers that are no points, points outside, and room for another number of them.
        assert!(optimizer.predict_all(&points[1..], &mut found).is_err());
        assert!(optimizer.predict_all(&points, &mut found[1..]).is_err());
        assert!(
            optimizer
                .predict_all(&[T::ONE, T::from_f64(1.5)], &mut none)
                .is_err()
        );
    }
    of::<f32>();
    of::<f64>();
}
