//! Hostile files and lists are refused by name.

use super::*;

fn file() -> File {
    let candidates = points(30, 2);
    let values: Vec<f64> = candidates.chunks(2).map(|x| x[0] - x[1]).collect();
    File::of(&candidates, 2, &values, 0.3, 6, 0.1)
}

fn refusal(file: &File) -> Option<PublicPriorError> {
    PublicPrior::attach(file.numbers(), &mut file.storage()).err()
}

fn changed(change: impl Fn(&mut File)) -> Option<PublicPriorError> {
    let mut changed = file();
    change(&mut changed);
    refusal(&changed)
}

/// The refusal of a number.
fn number(
    what: &'static str,
    index: usize,
    value: f64,
    admissible: &'static str,
) -> Option<PublicPriorError> {
    Some(PublicPriorError::Number {
        what,
        index,
        value,
        admissible,
    })
}

#[test]
fn a_file_is_refused_for_each_number_that_cannot_be() {
    assert_eq!(refusal(&file()), None);
    let dimension = |dim| Some(PublicPriorError::Dimension { dim });
    assert_eq!(
        (changed(|f| f.dim = 0), changed(|f| f.dim = 17)),
        (dimension(0), dimension(17))
    );
    let landmarks = Some(PublicPriorError::Landmarks { len: 11, dim: 2 });
    assert_eq!(changed(|f| f.landmarks.truncate(11)), landmarks);
    assert_eq!(
        changed(|f| f.landmarks.clear()),
        Some(PublicPriorError::Landmarks { len: 0, dim: 2 })
    );
    let many = 2 * (LANDMARKS_MAX + 1);
    assert_eq!(
        changed(|f| f.landmarks = vec![0.5; many]),
        Some(PublicPriorError::Landmarks { len: many, dim: 2 })
    );
    let length = |what, len, expected| {
        Some(PublicPriorError::Length {
            what,
            len,
            expected,
        })
    };
    assert_eq!(changed(|f| f.weights.truncate(5)), length("weights", 5, 6));
    assert_eq!(
        changed(|f| f.covariance.push(0.0)),
        length("covariance", 22, 21)
    );
    let short = PublicPrior::attach(file().numbers(), &mut [0.0; 20]).err();
    assert_eq!(short, length("storage", 20, 21));
    assert_eq!(
        changed(|f| f.landmarks[3] = 1.5),
        number("landmarks", 3, 1.5, "[0, 1]")
    );
    assert_eq!(
        changed(|f| f.weights[2] = 2e6),
        number("weights", 2, 2e6, "[-1e6, 1e6]")
    );
    let infinite = f64::INFINITY;
    assert_eq!(
        changed(|f| f.covariance[4] = infinite),
        number("covariance", 4, infinite, "[-1e6, 1e6]")
    );
    assert_eq!(
        changed(|f| f.self_test = infinite),
        number("self-test", 0, infinite, "(-inf, inf)")
    );
    for lengthscale in [0.0, -1.0, 1e-200, infinite] {
        let admissible = "(0, inf), its square and inverse square too";
        assert_eq!(
            changed(|f| f.lengthscale = lengthscale),
            number("lengthscale", 0, lengthscale, admissible)
        );
    }
    let admissible = "(0, 1e6] on the diagonal";
    assert_eq!(
        changed(|f| f.covariance[5] = 0.0),
        number("covariance", 5, 0.0, admissible)
    );
    // NaN, wherever it stands; it is equal to nothing.
    let nan: [fn(&mut File); 5] = [
        |f| f.landmarks[7] = f64::NAN,
        |f| f.weights[0] = f64::NAN,
        |f| f.covariance[9] = f64::NAN,
        |f| f.lengthscale = f64::NAN,
        |f| f.self_test = f64::NAN,
    ];
    for change in nan {
        let Some(PublicPriorError::Number { value, .. }) = changed(change) else {
            panic!("NaN was taken")
        };
        assert!(value.is_nan());
    }
}

#[test]
fn landmarks_that_repeat_and_covariances_that_are_none_are_refused() {
    let same = changed(|f| f.landmarks.copy_within(0..2, 4));
    assert!(
        matches!(same, Some(PublicPriorError::Singular(error)) if error.row == 2),
        "{same:?}"
    );
    // So smooth that the landmarks are one to the kernel.
    assert!(matches!(
        changed(|f| f.lengthscale = 1e4),
        Some(PublicPriorError::Singular(_))
    ));
    let indefinite = changed(|f| f.covariance[packed_len(3) + 1] = 0.11);
    assert!(
        matches!(indefinite, Some(PublicPriorError::Covariance(error)) if error.row == 3),
        "{indefinite:?}"
    );
    // Semi-definite is one: a row that is another.
    assert_eq!(changed(|f| f.covariance[packed_len(3) + 1] = 0.1), None);
}

#[test]
fn lists_tables_and_settings_are_refused_by_name() {
    let numbers = file();
    let mut storage = file().storage();
    let prior = PublicPrior::attach(numbers.numbers(), &mut storage).unwrap();
    let candidates = points(10, 2);
    let room = || vec![0.0; storage_len(6, 4, 1)];
    let settings = NewcomerSettings::default();
    let refused = |candidates: &[f64], dim, capacity, room: Vec<f64>| {
        Newcomer::new(candidates, dim, Some(&prior), settings, capacity, room).err()
    };
    assert_eq!(refused(&candidates, 2, 4, room()), None);
    let dimension = |dim| {
        Some(NewcomerError::Dimension {
            dim,
            prior: Some(2),
        })
    };
    assert_eq!(
        (
            refused(&candidates, 1, 4, room()),
            refused(&candidates, 0, 4, room())
        ),
        (dimension(1), dimension(0))
    );
    let list = |len| Some(NewcomerError::Candidates { len, dim: 2 });
    assert_eq!(
        (
            refused(&[], 2, 4, room()),
            refused(&candidates[1..], 2, 4, room())
        ),
        (list(0), list(19))
    );
    let many = 2 * (crate::optimizer::CANDIDATES_MAX + 1);
    assert_eq!(refused(&vec![0.5; many], 2, 4, room()), list(many));
    assert_eq!(
        refused(&[0.1, 0.2, 0.3, 1.1], 2, 4, room()),
        Some(NewcomerError::Coordinate {
            candidate: 1,
            axis: 1,
            value: 1.1
        })
    );
    assert!(matches!(
        refused(&[0.1, f64::NAN], 2, 4, room()),
        Some(NewcomerError::Coordinate { axis: 1, .. })
    ));
    assert_eq!(
        refused(&candidates, 2, 0, room()),
        Some(NewcomerError::Capacity { capacity: 0 })
    );
    let needed = storage_len(6, 4, 1);
    let given = storage_len(6, 4, 1) - 1;
    assert_eq!(
        refused(&candidates, 2, 4, vec![0.0; given]),
        Some(NewcomerError::Storage { needed, given })
    );
    for noise_fraction in [0.0, -1.0, 1.5, f64::NAN] {
        let settings = NewcomerSettings {
            noise_fraction,
            ..settings
        };
        let refused = Newcomer::new(&candidates, 2, Some(&prior), settings, 4, room()).err();
        assert!(matches!(refused, Some(NewcomerError::NoiseFraction { .. })));
    }
    let mut moments = vec![0.0; 20];
    prior
        .moments(&candidates, &mut moments, &mut [0.0; 6])
        .unwrap();
    let with = |table: &[f64]| {
        let search = Newcomer::new(&candidates, 2, Some(&prior), settings, 4, room()).unwrap();
        search.with_moments(table).err()
    };
    assert_eq!(with(&moments), None);
    let of = |candidate, rows| {
        Some(NewcomerError::Moments {
            candidate,
            rows,
            candidates: 10,
        })
    };
    assert_eq!(with(&moments[..18]), of(9, 9));
    let but = |place: usize, value: f64| {
        let mut other = moments.clone();
        other[place] = value;
        with(&other)
    };
    assert_eq!((but(6, f64::NAN), but(7, -1.0)), (of(3, 10), of(3, 10)));
    // Of another file: the last candidate has another mean.
    let another = |candidate| Some(NewcomerError::MomentsOfAnother { candidate });
    assert_eq!(but(18, moments[18] + 0.01), another(9));
    assert_eq!(but(0, moments[0] + 0.01), another(0));
}

/// A number of any size up to the most that is admitted, of both signs.
fn wild(stream: &mut Stream) -> f32 {
    let magnitude = 10f32.powf(stream.unit::<f32>() * 14.0 - 8.0);
    if stream.unit::<f32>() < 0.5 {
        magnitude
    } else {
        -magnitude
    }
}

#[test]
fn whatever_is_attached_can_be_searched_with() {
    let mut attached = 0;
    for seed in 0..400 {
        let mut stream = Stream::from_seed(seed);
        let dim = 1 + stream.below(3) as usize;
        let count = 1 + stream.below(8) as usize;
        let landmarks: Vec<f32> = (0..count * dim).map(|_| stream.unit()).collect();
        let weights: Vec<f32> = (0..count).map(|_| wild(&mut stream)).collect();
        let mut covariance = vec![0f32; packed_len(count)];
        for row in 0..count {
            lower::row_mut(&mut covariance, row)
                .iter_mut()
                .for_each(|x| *x = 1e-4 * wild(&mut stream));
            *lower::row_mut(&mut covariance, row).last_mut().unwrap() = wild(&mut stream).abs();
        }
        let lengthscale = wild(&mut stream).abs().max(1e-3);
        let self_test = stream.unit::<f32>() * 4.0 - 0.9;
        let numbers = PriorNumbers {
            dim,
            landmarks: &landmarks,
            lengthscale,
            weights: &weights,
            covariance: &covariance,
            self_test,
        };
        let mut storage = vec![0.0; attach_len(count)];
        let Ok(prior) = PublicPrior::attach(numbers, &mut storage) else {
            continue;
        };
        attached += 1;
        let candidates: Vec<f32> = (0..12 * dim).map(|_| stream.unit()).collect();
        let room = vec![0.0; storage_len(count, 12, 5)];
        let mut search = Newcomer::new(
            &candidates,
            dim,
            Some(&prior),
            NewcomerSettings::default(),
            12,
            room,
        )
        .unwrap();
        let scale = wild(&mut stream);
        let mut asked: Vec<usize> = (0..12)
            .map(|_| {
                let candidate = search.suggest();
                search
                    .observe(candidate, scale * standard::<f32>(&mut stream))
                    .unwrap();
                assert!(search.best().unwrap().1.is_finite(), "{seed}");
                candidate
            })
            .collect();
        asked.sort_unstable();
        assert_eq!(asked, (0..12).collect::<Vec<_>>(), "{seed}");
    }
    assert!((40..400).contains(&attached), "{attached}");
}
