//! What holds of questions: invariances, slices, restarts, formats, and how a file is read.

use core::task::Poll;

use super::*;

/// A function on the candidates, and a file that knows it up to a little noise.
fn world(seed: u64, dim: usize) -> (Vec<f64>, Vec<f64>, File) {
    let candidates = points(60, dim);
    let mut stream = Stream::from_seed(seed);
    let values = Draws::new(&candidates, dim, 0.15).draw(&mut stream);
    let noisy: Vec<f64> = values
        .iter()
        .map(|y| y + 0.2 * standard::<f64>(&mut stream))
        .collect();
    let file = File::of(&candidates, dim, &noisy, 0.2, 12, 0.04);
    (candidates, values, file)
}

fn with_test(file: &File, self_test: f64) -> File {
    File {
        self_test,
        ..file.clone()
    }
}

#[test]
fn unit_and_offset_change_no_question() {
    for seed in 0..3 {
        for self_test in [-5.0, 0.3, 5.0] {
            let (candidates, values, file) = world(seed, 2);
            let file = with_test(&file, self_test);
            let mut storage = file.storage();
            let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
            let ask = |a: f64, b: f64| {
                let values: Vec<f64> = values.iter().map(|y| a * y + b).collect();
                questions(
                    &mut search(&candidates, 2, Some(&prior), (15, 4)),
                    &values,
                    15,
                )
            };
            let usual = ask(1.0, 0.0);
            for (a, b) in [(1e-6, 0.0), (3.7, -200.0), (1e150, 1e152), (0.02, 30.0)] {
                assert_eq!(ask(a, b), usual, "{seed} {self_test} {a} {b}");
            }
            // Negative control: another sign is another function.
            assert_ne!(ask(-1.0, 0.0), usual);
        }
    }
}

#[test]
fn slices_widths_and_tables_change_no_question() {
    for self_test in [-5.0, 0.3, 5.0] {
        let (candidates, values, file) = world(4, 2);
        let file = with_test(&file, self_test);
        let mut storage = file.storage();
        let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let mut moments = vec![0.0; 2 * values.len()];
        prior
            .moments(&candidates, &mut moments, &mut vec![0.0; prior.count()])
            .unwrap();
        let usual = questions(
            &mut search(&candidates, 2, Some(&prior), (10, 64)),
            &values,
            10,
        );
        for (slice, width, table) in [
            (1, 1, false),
            (7, 3, true),
            (40, 60, false),
            (u32::MAX, 1, true),
        ] {
            let mut search = search(&candidates, 2, Some(&prior), (10, width));
            if table {
                search = search.with_moments(&moments).unwrap();
            }
            let mut pending = 0;
            let mut asked = Vec::new();
            while asked.len() < 10 {
                match search.suggest_step(slice) {
                    Poll::Ready(candidate) => {
                        // Asking again gives the same.
                        assert_eq!(search.suggest_step(slice), Poll::Ready(candidate));
                        asked.push(candidate);
                        search.observe(candidate, values[candidate]).unwrap();
                    }
                    Poll::Pending => pending += 1,
                }
            }
            assert_eq!(asked, usual, "{self_test} {slice} {width} {table}");
            assert_eq!(pending > 0, slice < u32::MAX);
        }
    }
}

#[test]
fn a_log_gives_the_same_questions_and_refusals_change_nothing() {
    let (candidates, values, file) = world(9, 1);
    for self_test in [-5.0, 0.3, 5.0] {
        let file = with_test(&file, self_test);
        let mut storage = file.storage();
        let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let mut first = search(&candidates, 1, Some(&prior), (12, 8));
        // A contributor begins with points of its own, one of them twice.
        for candidate in [40, 3, 3, 22] {
            first.observe(candidate, values[candidate]).unwrap();
        }
        questions(&mut first, &values, 4);
        let log: Vec<LogEntry<f64>> = first.log().collect();
        assert_eq!((log.len(), first.len(), log[1].candidate()), (8, 8, 3));
        let next = first.suggest();
        let storage = vec![0.0; storage_len(prior.count(), 12, 2)];
        let settings = NewcomerSettings::default();
        let mut resumed =
            Newcomer::resume(&candidates, 1, Some(&prior), settings, 12, storage, log).unwrap();
        assert_eq!(resumed.suggest(), next);
        assert_eq!(resumed.best(), first.best());
        // In the middle of a suggestion, too.
        let _ = resumed.suggest_step(3);
        let refused = [
            resumed.observe(60, 1.0),
            resumed.observe(5, f64::NAN),
            resumed.observe(5, f64::INFINITY),
            resumed
                .observe(5, f64::MAX * -values[40].signum())
                .and(resumed.check(5, 1.0)),
        ];
        assert_eq!(
            refused[0],
            Err(NewcomerError::Candidate {
                index: 60,
                candidates: 60
            })
        );
        assert!(matches!(
            refused[1..3],
            [
                Err(NewcomerError::Value { .. }),
                Err(NewcomerError::Value { .. })
            ]
        ));
        if refused[3].is_err() {
            assert_eq!(resumed.suggest(), next);
        }
    }
}

#[test]
fn a_full_search_and_a_difference_that_overflows_are_refused() {
    let candidates = points(5, 1);
    let mut search = search(&candidates, 1, None, (3, 1));
    search.observe(0, -1e308).unwrap();
    assert_eq!(
        search.observe(1, 1.5e308),
        Err(NewcomerError::Value { value: 1.5e308 })
    );
    assert_eq!(search.len(), 1);
    search.observe(1, 7.0).unwrap();
    search.observe(2, 8.0).unwrap();
    let next = search.suggest();
    assert_eq!(
        search.observe(3, 8.0),
        Err(NewcomerError::Full { capacity: 3 })
    );
    assert_eq!((search.suggest(), search.len()), (next, 3));
}

#[test]
fn a_file_that_is_not_to_be_read_is_not_read() {
    let (candidates, values, file) = world(2, 2);
    let alone = questions(&mut search(&candidates, 2, None, (12, 8)), &values, 12);
    let ask = |self_test: f64| {
        let file = with_test(&file, self_test);
        let mut storage = file.storage();
        let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let mut search = search(&candidates, 2, Some(&prior), (12, 8));
        (search.reading(), questions(&mut search, &values, 12))
    };
    assert_eq!(ask(-1.001), (Reading::Unread, alone.clone()));
    // The first three questions of a doubted file are those without one, the others not.
    let (reading, doubted) = ask(-0.999);
    assert_eq!((reading, &doubted[..3]), (Reading::Doubted, &alone[..3]));
    assert_ne!(doubted, alone);
    let (reading, trusted) = ask(1.0);
    assert_eq!(reading, Reading::Trusted);
    // The first question of a trusted file is where its mean is largest.
    let mut storage = file.storage();
    let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
    let mean = |i: usize| {
        prior
            .mean(&candidates[2 * i..][..2], &mut vec![0.0; prior.count()])
            .unwrap()
    };
    let largest = (0..60)
        .max_by(|a, b| mean(*a).total_cmp(&mean(*b)))
        .unwrap();
    assert_eq!(trusted[0], largest);
    assert_ne!(alone[0], largest);
    // The second one is that without a file as long as B is below 3.
    for self_test in [1.0, 2.999] {
        assert_eq!(ask(self_test).1[..2], [largest, alone[1]]);
    }
    let (_, believed) = ask(3.0);
    assert!(believed[0] == largest && believed[1] != alone[1]);
    assert_eq!(believed, ask(57.0).1);
}

#[test]
fn every_candidate_is_asked_once_before_one_is_asked_again() {
    for prior in [false, true] {
        let candidates = points(8, 1);
        let values: Vec<f64> = candidates.iter().map(|x| (7.0 * x).sin()).collect();
        let file = File::of(&candidates, 1, &values, 0.2, 4, 0.01);
        let mut storage = file.storage();
        let attached = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let mut search = search(&candidates, 1, prior.then_some(&attached), (20, 3));
        let mut asked = questions(&mut search, &values, 8);
        asked.sort_unstable();
        assert_eq!(asked, (0..8).collect::<Vec<_>>());
        // All were asked: again, whatever the model says, and no further than the capacity.
        let again = questions(&mut search, &values, 12);
        assert!(again.iter().all(|candidate| *candidate < 8));
        let best = (0..8)
            .max_by(|a, b| values[*a].total_cmp(&values[*b]))
            .unwrap();
        let (found, mean) = search.best().unwrap();
        assert_eq!(found, best);
        assert!((mean - values[best]).abs() < 0.05);
    }
}

#[test]
fn single_and_double_precision_ask_the_same() {
    let mut same = 0;
    for (dim, lengthscale, count) in [(1, 0.2, 12), (2, 0.2, 12), (1, 0.02, 60)] {
        let candidates = points(60, dim);
        let single: Vec<f32> = candidates.iter().map(|x| *x as f32).collect();
        let rounded: Vec<f64> = single.iter().map(|x| f64::from(*x)).collect();
        let values: Vec<f64> = candidates
            .chunks(dim)
            .map(|x| -x.iter().map(|x| (x - 0.37).powi(2)).sum::<f64>())
            .collect();
        let mut file = File::of(&rounded, dim, &values, lengthscale, count, 0.01);
        let to_single = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        file.self_test = 3.0;
        let landmarks = to_single(&file.landmarks);
        let weights = to_single(&file.weights);
        let covariance = to_single(&file.covariance);
        let numbers = PriorNumbers {
            dim,
            landmarks: &landmarks,
            lengthscale: lengthscale as f32,
            weights: &weights,
            covariance: &covariance,
            self_test: 3.0,
        };
        let mut storage = file.storage();
        let mut storage32 = vec![0.0f32; attach_len(weights.len())];
        let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let prior32 = PublicPrior::attach(numbers, &mut storage32).unwrap();
        let values32 = to_single(&values);
        for read in [true, false] {
            let landmarks = if read { prior.count() } else { 0 };
            let room = vec![0f32; storage_len(landmarks, 8, 4)];
            let settings = NewcomerSettings::default();
            let mut search32 =
                Newcomer::new(&single, dim, read.then_some(&prior32), settings, 8, room).unwrap();
            let of_single = questions(&mut search32, &values32, 8);
            let mut search = search(&rounded, dim, read.then_some(&prior), (8, 4));
            let of_double = questions(&mut search, &values, 8);
            same += usize::from(of_single == of_double);
            assert_eq!(
                search32.best().map(|(best, _)| best),
                search.best().map(|(best, _)| best)
            );
        }
    }
    assert_eq!(same, 6);
}

#[test]
fn a_factor_that_the_caller_has_changes_no_bit() {
    let (candidates, values, file) = world(6, 2);
    let mut storage = file.storage();
    let mut scratch = file.storage();
    let prior = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
    let factor = prior.factor().to_vec();
    let lent = PublicPrior::attach_with_factor(file.numbers(), &factor, &mut scratch).unwrap();
    scratch.fill(f64::NAN);
    let mut own = vec![0.0; 2 * values.len()];
    let mut others = vec![0.0; 2 * values.len()];
    prior
        .moments(&candidates, &mut own, &mut vec![0.0; prior.count()])
        .unwrap();
    lent.moments(&candidates, &mut others, &mut vec![0.0; prior.count()])
        .unwrap();
    assert_eq!(own, others);
    let ask = |prior| questions(&mut search(&candidates, 2, Some(prior), (8, 4)), &values, 8);
    assert_eq!(ask(&prior), ask(&lent));
    // One that differs by a bit, one that is too short or too long, and one that is no number.
    let refusal = |factor: &[f64]| {
        PublicPrior::attach_with_factor(file.numbers(), factor, &mut file.storage())
            .err()
            .map(|e| std::format!("{e}"))
    };
    for (index, value) in [
        (0, f64::from_bits(factor[0].to_bits() + 1)),
        (7, f64::NAN),
        (factor.len() - 1, 0.0),
    ] {
        let mut wrong = factor.clone();
        wrong[index] = value;
        let said = std::format!(
            "prior: factor, number {index}: {value:e} is outside that of the landmarks"
        );
        assert_eq!(refusal(&wrong), Some(said));
    }
    assert!(refusal(&factor[1..]).unwrap().contains("factor holds"));
    assert!(
        refusal(&[&factor[..], &[0.0]].concat())
            .unwrap()
            .contains("factor holds")
    );
    // Negative control.
    assert_eq!(refusal(&factor), None);
}
