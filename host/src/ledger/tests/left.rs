//! What is left of a budget, and the ε between two contributions, in all that is told.

use sordino_core::privacy::accountant::analytic;

use super::*;

/// A sample's noise, as large as that of the Gaussian beside it.
fn sampled(sampling_probability: f64) -> Event {
    Event::PoissonSampledGaussian {
        sampling_probability,
        noise_multiplier: 2.0,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// A vote charges a sample of everybody, which is a Gaussian by another name; it was counted as
/// spent, and neither taken from what is left nor told between two contributions.
#[test]
fn a_sample_of_everybody_is_a_gaussian_in_all_that_is_told() {
    let relation = NeighboringRelation::ReplaceSpecial;
    let terms = Terms {
        data: "votes".into(),
        unit: "agent".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: Some(4.0),
        delta: 1e-3,
    };
    let told = |events: &[Event]| {
        let budget = Budget::replay(&terms, events.iter()).unwrap();
        let spent = budget.spent().unwrap().0;
        let left = budget.left(&terms, events.iter()).unwrap().unwrap();
        (spent, left, between(&terms, events.iter()).unwrap())
    };
    let gaussian = Event::Gaussian {
        noise_multiplier: 2.0,
        relation,
    };
    let (spent, left, two) = told(&[gaussian, gaussian]);
    assert_eq!(told(&[gaussian, sampled(1.0)]), (spent, left, two));
    assert!(left < 4.0 - 0.5 && two.unwrap() > 2.0 * spent);
    // What is left is admitted, and no more: both together are the whole budget.
    let next = |epsilon: f64| {
        let noise_multiplier = analytic::noise_multiplier(epsilon, terms.delta).unwrap();
        let event = Event::Gaussian {
            noise_multiplier,
            relation,
        };
        let mut budget = Budget::replay(&terms, [gaussian, gaussian].iter()).unwrap();
        budget.admits(&terms, [gaussian, gaussian].iter(), &[event])
    };
    assert!(next(left).is_ok() && next(left * 1.001).is_err());
    // Of a real sample, by the tight accountant: more than ε, and less than of everybody.
    let terms = Terms {
        accounting: Accounting::Renyi,
        ..terms
    };
    let mut tight = PldAccountant::new();
    tight.compose(&sampled(0.5), 3).unwrap();
    let spent = tight.epsilon(terms.delta).unwrap().epsilon;
    let [half, all] = [0.5, 1.0].map(|q| between(&terms, [sampled(q); 3].iter()).unwrap().unwrap());
    assert_eq!(half, tight.replace_epsilon(terms.delta).unwrap().epsilon);
    assert!(half > spent && half < all);
    // Beside the first ε, which is of Rényi divergences, the second is no smaller; a tenth in a
    // sample once is where the tight one is.
    for (sampling_probability, noise_multiplier, count) in [(0.1, 1.0, 5), (0.01, 1.0, 1)] {
        let event = Event::PoissonSampledGaussian {
            sampling_probability,
            noise_multiplier,
            relation,
        };
        let events = vec![event; count];
        let first = Budget::replay(&terms, events.iter()).unwrap();
        let two = between(&terms, events.iter()).unwrap().unwrap();
        assert!(two >= first.spent().unwrap().0, "{two}");
    }
    assert_eq!(between(&terms, [].iter()).unwrap(), Some(0.0));
    // Events in turn are two kinds, not two hundred; and many kinds have a bound as well.
    let in_turn: Vec<Event> = (0..200).map(|i| sampled([0.1, 0.2][i % 2])).collect();
    let sorted: Vec<Event> = (0..200).map(|i| sampled([0.1, 0.2][i / 100])).collect();
    let [turns, lots] = [&in_turn, &sorted].map(|all| between(&terms, all.iter()).unwrap());
    assert!((turns.unwrap() / lots.unwrap() - 1.0).abs() < 1e-9);
    let kinds: Vec<Event> = (1..40).map(|i| sampled(f64::from(i) / 1000.0)).collect();
    assert!(between(&terms, kinds.iter()).unwrap().unwrap().is_finite());
    // What compares two contributions already has one number, and what is no Gaussian none.
    let pure = Event::PureEpsilon {
        epsilon: 1.0,
        relation,
    };
    assert_eq!(between(&terms, [pure].iter()).unwrap(), None);
    let other = Event::Gaussian {
        noise_multiplier: 2.0,
        relation: NeighboringRelation::ReplaceOne,
    };
    assert_eq!(between(&terms, [other].iter()).unwrap(), None);
}
