//! ε between two contributions, and how often the best guess is right, against an independent
//! program (`tests/vectors/replace.py`): never below the truth, and close to it.

use sordino_core::privacy::accountant::{
    Accountant, MomentsAccountant, PldAccountant, Quality, RdpAccountant, analytic,
};
use sordino_core::privacy::{Event, NeighboringRelation};

const ANSWERS: &str = include_str!("../../vectors/replace.csv");

/// A row of the answers: q, z, T, δ, ε between two contributions, δ at ε = 0 against nothing.
struct Row {
    event: Event,
    count: u32,
    delta: f64,
    epsilon: f64,
    variation: f64,
}

fn rows() -> Vec<Row> {
    let mut lines = ANSWERS.lines();
    assert_eq!(
        lines.next(),
        Some("q,z,steps,delta,epsilon,total_variation,gap")
    );
    let row = |line: &str| {
        let numbers: Vec<f64> = line
            .split(',')
            .map(|number| number.parse().unwrap())
            .collect();
        let [q, z, steps, delta, epsilon, variation, gap] = numbers[..] else {
            panic!("{line}")
        };
        assert!(gap < 1e-8, "the program's own accuracy: {line}");
        let relation = NeighboringRelation::ReplaceSpecial;
        let event = Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: z,
            relation,
        };
        Row {
            event,
            count: steps as u32,
            delta,
            epsilon,
            variation,
        }
    };
    lines.map(row).collect()
}

fn composed<A: Accountant + Default>(row: &Row) -> A {
    let mut accountant = A::default();
    accountant.compose(&row.event, row.count).unwrap();
    accountant
}

#[test]
fn epsilon_between_two_contributions_is_never_below_the_truth_and_close() {
    let mut twice = 0;
    let mut more = 0;
    for row in rows() {
        let tight: PldAccountant = composed(&row);
        let found = tight.replace_epsilon(row.delta).unwrap();
        let truth = row.epsilon;
        let said = format!("{:?} × {}: {found:?}, {truth}", row.event, row.count);
        assert!(
            found.epsilon >= truth * (1.0 - 1e-8),
            "below the truth: {said}"
        );
        assert!(
            found.epsilon <= truth * (1.0 + 2e-4) && found.quality != Quality::Upper,
            "not tight: {said}"
        );
        assert_eq!((found.delta, found.releases), (row.delta, row.count.into()));
        // Looser accountants are looser.
        let [upper, paper] = [
            composed::<RdpAccountant>(&row).replace_epsilon(row.delta),
            composed::<MomentsAccountant>(&row).replace_epsilon(row.delta),
        ]
        .map(|spent| spent.unwrap().epsilon);
        assert!(upper > truth && paper > upper, "{upper} {paper} {said}");
        // Against nothing it is less. Twice that much is no bound at the same δ: some rows need
        // more.
        let against = tight.epsilon(row.delta).unwrap().epsilon;
        assert!(against < truth, "{said}");
        if 2.0 * against < truth {
            more += 1
        } else {
            twice += 1
        }
    }
    assert!(
        twice > 0 && more > 0,
        "negative control: 2ε at the same δ fails for {more} of {}",
        twice + more
    );
}

#[test]
fn the_best_guess_is_never_below_the_truth_and_close() {
    for row in rows() {
        let guess = composed::<PldAccountant>(&row).best_guess().unwrap();
        let truth = 0.5 + 0.5 * row.variation;
        assert!(
            guess >= truth - 1e-12 && guess <= truth + 2e-4,
            "{:?} × {}: {guess} {truth}",
            row.event,
            row.count
        );
        assert!(composed::<RdpAccountant>(&row).best_guess().unwrap() >= guess - 2e-4);
        // Negative control: the guess of half as many releases is told apart.
        if row.count > 1 {
            let half = Row {
                count: row.count / 2,
                ..row
            };
            assert!(
                composed::<PldAccountant>(&half).best_guess().unwrap() < truth - 1e-3,
                "{:?}",
                half.event
            );
        }
    }
}

/// What the reading of this program found: the federated prior at ε 7.05 and .91, by the same δ.
#[test]
fn the_examples_of_our_texts_are_what_the_accountants_say() {
    let delta = 200f64.powf(-1.1);
    let relation = NeighboringRelation::ReplaceSpecial;
    for (z, against, between, sampled_between) in [(1.0, 7.05, 18.7, 12.2), (4.0, 0.91, 2.16, 2.05)]
    {
        let sampled = Event::PoissonSampledGaussian {
            sampling_probability: 0.25,
            noise_multiplier: z,
            relation,
        };
        let mut forty = PldAccountant::new();
        forty.compose(&sampled, 40).unwrap();
        let spent = forty.epsilon(delta).unwrap().epsilon;
        // Everybody in each of few releases, at the same ε: one Gaussian.
        let mut prior = PldAccountant::new();
        let multiplier = analytic::noise_multiplier(spent, delta).unwrap();
        prior
            .compose(
                &Event::Gaussian {
                    noise_multiplier: multiplier,
                    relation,
                },
                1,
            )
            .unwrap();
        let prior_between = prior.replace_epsilon(delta).unwrap();
        let near = |found: f64, printed: f64| (found / printed - 1.0).abs() < 4e-3;
        assert!(
            near(spent, against) && near(prior_between.epsilon, between),
            "{spent} {prior_between:?}"
        );
        assert_eq!(prior_between.quality, Quality::Exact);
        let found = forty.replace_epsilon(delta).unwrap().epsilon;
        assert!(near(found, sampled_between), "{found}");
    }
}

/// Random settings: a tight answer, never below ε against nothing, and rising with q and T.
#[test]
fn random_settings_between_contributions_are_tight_and_ordered() {
    let mut stream = sordino_core::random::Stream::from_seed(24);
    let mut number = |low: f64, high: f64| low * (high / low).powf(stream.unit::<f64>());
    let mut seen = 0;
    while seen < 40 {
        let q = number(1e-3, 1.0);
        let z = number(0.4, 20.0);
        let delta = number(1e-9, 1e-3);
        let count = number(1.0, 2000.0) as u32;
        let relation = NeighboringRelation::ReplaceSpecial;
        let of = |q: f64, count: u32| {
            let event = Event::PoissonSampledGaussian {
                sampling_probability: q,
                noise_multiplier: z,
                relation,
            };
            let mut accountant = PldAccountant::new();
            accountant.compose(&event, count).unwrap();
            accountant
        };
        let found = of(q, count).replace_epsilon(delta).unwrap();
        if !(found.epsilon > 1e-3 && found.epsilon < 80.0) {
            continue;
        }
        seen += 1;
        let said = format!("q {q} z {z} T {count} delta {delta:e}: {found:?}");
        assert_ne!(found.quality, Quality::Upper, "{said}");
        assert!(
            found.epsilon >= of(q, count).epsilon(delta).unwrap().epsilon * (1.0 - 1e-9),
            "{said}"
        );
        let more = of(q, count + 1 + count / 4)
            .replace_epsilon(delta)
            .unwrap()
            .epsilon;
        let rarer = of(0.8 * q, count).replace_epsilon(delta).unwrap().epsilon;
        assert!(
            more >= found.epsilon * (1.0 - 2e-4) && rarer <= found.epsilon * (1.0 + 2e-4),
            "{said}"
        );
    }
}
