//! Newcomers on a table of forty-nine settings.

use super::*;

/// Two axes of seven levels; every party has its maximum near the same place, at (4, 2), in one
/// unit.
fn table() -> Parties {
    rough_table(0.0)
}

/// The same with a part of every setting that all parties share: by its sides alone nobody finds
/// the best setting at once.
fn rough_table(rough: f64) -> Parties {
    let axis = |at: usize| (at / 7, at % 7);
    let settings: String = (0..49)
        .map(|at| format!("\n{},{}", axis(at).0, 10 * axis(at).1))
        .collect();
    let mut stream = RunSeed::new(3, 0).stream(Party::World, Purpose::InitialPoints, 0);
    let mut common = RunSeed::new(3, 0).stream(Party::World, Purpose::InitialPoints, 1);
    let common: Vec<f64> = (0..49)
        .map(|_| rough * (common.unit::<f64>() - 0.5))
        .collect();
    let mut values = Vec::new();
    for _ in 0..90 {
        let moved: [f64; 2] = [stream.unit::<f64>() - 0.5, stream.unit::<f64>() - 0.5];
        let value = |at: usize| {
            let (i, j) = axis(at);
            let away = (i as f64 - 4.0 + moved[0]).powi(2) + (j as f64 - 2.0 + moved[1]).powi(2);
            common[at] - away
        };
        values.extend((0..49).map(value));
    }
    Parties::new(&format!("a,b{settings}"), &values).unwrap()
}

const CONDITIONS: Conditions = Conditions {
    contributors: 60,
    epsilon: 2.0,
    own_units: true,
};

#[test]
fn a_file_helps_newcomers_where_functions_are_common_and_its_twins_do_not() {
    let origins = [Origin::Studies, Origin::Votes, Origin::Noise, Origin::Flat];
    let all = repetitions(&table(), &CONDITIONS, &origins, 2, 2, &|| {}).unwrap();
    for repetition in &all {
        let alone = repetition.summed_alone();
        let ratio = |origin| repetition.summed(origin) / alone;
        println!("{:?}", origins.map(|origin| (origin.name(), ratio(origin))));
        assert!(ratio(Origin::Studies) < 0.5, "{repetition:?}");
        // Controls: a file of noise is not read as one of studies, and a flat one leads nowhere.
        assert!(
            ratio(Origin::Noise) > 0.8 && ratio(Origin::Flat) > 0.6,
            "{repetition:?}"
        );
        assert!(repetition.summed(Origin::Permuted).is_nan());
    }
    // Threads change no number.
    assert_eq!(
        all,
        repetitions(&table(), &CONDITIONS, &origins, 2, 1, &|| {}).unwrap()
    );
}

/// Every contributor in a unit of its own costs nothing: values are standardised where they are.
#[test]
fn own_units_cost_at_most_three_percent() {
    let table = table();
    let summed = |own_units| {
        let conditions = Conditions {
            own_units,
            ..CONDITIONS
        };
        let all = repetitions(&table, &conditions, &[Origin::Studies], 3, 2, &|| {}).unwrap();
        all.iter()
            .map(|repetition| repetition.summed(Origin::Studies))
            .sum::<f64>()
    };
    let own = summed(true);
    let common = summed(false);
    assert!(own <= 1.03 * common, "{own} in own units, {common} in one");
    // Not the same studies twice.
    let parties: Vec<usize> = (0..5).collect();
    let values = |own_units| {
        files::studies(
            &table,
            &parties,
            &Conditions {
                own_units,
                ..CONDITIONS
            },
            false,
            0,
        )[0]
        .values
        .clone()
    };
    assert_ne!(values(true), values(false));
}

/// Both arms have the same first points, and the file reaches one of them alone.
#[test]
fn contributors_go_on_with_the_file_that_they_made() {
    let table = rough_table(12.0);
    let of = |epsilon: f64, first, threads| {
        let conditions = Conditions {
            epsilon,
            ..CONDITIONS
        };
        each(2, threads, &|| {}, &|number| {
            continued(&table, &conditions, first, number)
        })
        .unwrap()
    };
    let all = of(2.0, FirstPoints::Searched, 2);
    let noisy = of(0.02, FirstPoints::Searched, 2);
    // A search begins near the best, and contributes another file.
    for (searched, random) in all.iter().zip(&of(2.0, FirstPoints::Random, 2)) {
        assert_eq!(random.alone.len(), ROUNDS);
        assert!(
            random.alone[0] > searched.alone[0],
            "{random:?} {searched:?}"
        );
        assert!(
            random.self_test > 1.0 && random.self_test != searched.self_test,
            "{random:?}"
        );
    }
    for (clear, noisy) in all.iter().zip(&noisy) {
        assert_eq!(clear.alone, noisy.alone);
        assert!(
            clear.self_test > 1.0 && noisy.self_test < clear.self_test,
            "{clear:?} {noisy:?}"
        );
        for regrets in [&clear.alone, &clear.guided, &noisy.guided] {
            assert_eq!(regrets.len(), ROUNDS);
            assert!(regrets.is_sorted_by(|a, b| a >= b), "{regrets:?}");
            assert_eq!(regrets[ROUNDS - 1], 0.0, "{regrets:?}");
        }
    }
    assert!(all.iter().any(|clear| clear.guided != clear.alone));
    // Threads change no number.
    assert_eq!(all, of(2.0, FirstPoints::Searched, 1));
    let few = continued(
        &table,
        &Conditions {
            contributors: 91,
            ..CONDITIONS
        },
        FirstPoints::Random,
        0,
    )
    .unwrap_err();
    assert_eq!(few.to_string(), "90 parties; admissible: at least 91");
}

#[test]
fn a_table_that_is_none_is_refused_by_what_is_wrong() {
    for (settings, values, what) in [
        ("a\n1\nx", vec![1.0, 2.0], "the setting \"x\""),
        ("a,b\n1", vec![1.0], "a setting of 1 numbers"),
        ("a\n1\n2", vec![1.0; 3], "3 values of 2 settings"),
    ] {
        let refused = Parties::new(settings, &values)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(refused.starts_with(what), "{refused}");
    }
    let few = repetition(
        &table(),
        &Conditions {
            contributors: 80,
            ..CONDITIONS
        },
        &[],
        0,
    )
    .unwrap_err();
    assert_eq!(few.to_string(), "90 parties; admissible: at least 104");
}
