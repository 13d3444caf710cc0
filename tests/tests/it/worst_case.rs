//! The worst-case release of trust model output: an audit that can fail, failures, scales, what a
//! wide range costs.

use sordino_core::output::ScoreScale;
use sordino_core::output::publisher::*;
use sordino_core::output::worst_case::*;
use sordino_core::privacy::{Epsilon, Event, Simulated};
use sordino_core::random::Stream;
use sordino_tests::receipts::{publisher_elsewhere, receipt};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

/// One release of scores.
fn publish(mechanism: &WorstCase, scores: &[Score], source: &mut Simulated) -> (u32, f64) {
    let mut state = PublisherState::new();
    let mut levels = vec![0; scores.len()];
    let mut order = vec![0; scores.len()];
    let mut publisher = Publisher::attach(mechanism, &mut state, &mut levels, &mut order).unwrap();
    for (i, score) in scores.iter().enumerate() {
        let input = PublisherInput::Scored {
            candidate: i as u32,
            score: *score,
        };
        assert_eq!(publisher.handle(input, source), Ok(PublisherOutput::Wait));
    }
    let Ok(PublisherOutput::Charge(charge)) = publisher.handle(PublisherInput::Close, source)
    else {
        panic!("free")
    };
    assert_eq!(charge.events(), mechanism.events());
    match publisher.handle(PublisherInput::Charged(receipt(charge)), source) {
        Ok(PublisherOutput::Released { candidate, score }) => (*candidate.value(), *score.value()),
        other => panic!("{other:?}"),
    }
}

/// Lower bound, at level 1e-6 a side by normal quantiles, of the ε that separates two neighbouring
/// data sets. Power: a sensitivity declared four times too small must exceed the budget.
#[test]
fn an_audit_of_the_worst_case_release_can_fail() {
    // 10 records scored 0..=4 for 2 candidates; one record replaced moves each sum by at most 4.
    let a = [20u64, 20];
    let b = [24u64, 16];
    let mut source = Simulated::new(Stream::from_seed(9));
    let n = 40_000;
    let mut lower = |scale: ScoreScale, stretch: u64| {
        let mechanism =
            WorstCase::new(2, scale, epsilon(0.5), epsilon(0.5), FailureRule::Abort).unwrap();
        let mut count = |sums: [u64; 2]| {
            // The event that tells them apart best: candidate 0 with a high score.
            let middle = 2.2;
            let hits = (0..n).filter(|_| {
                let (candidate, score) = publish(
                    &mechanism,
                    &sums.map(|s| Score::Sum(s * stretch)),
                    &mut source,
                );
                candidate == 0 && score > middle
            });
            hits.count() as f64 / f64::from(n)
        };
        let p = count(b);
        let q = count(a);
        let error = |p: f64| 4.9 * (p * (1.0 - p) / f64::from(n)).sqrt();
        ((p - error(p)) / (q + error(q))).ln()
    };
    let honest = lower(ScoreScale::per_record(4, 10).unwrap(), 1);
    assert!(honest <= 1.0 && honest > 0.3, "{honest}");
    // Sums four times as large under the same declared range of one record.
    let broken = lower(ScoreScale::per_record(4, 40).unwrap(), 4);
    assert!(broken > 1.0, "{broken}");
}

#[test]
fn failures_abort_or_are_accounted() {
    let e = epsilon(1.0);
    let promised = ScoreScale::promised_mean(0.0, 1.0, 500).unwrap();
    let opaque = ScoreScale::opaque(0.0, 1.0).unwrap();
    assert!((promised.sensitivity() - 1.0 / 500.0).abs() < 1e-6 && opaque.sensitivity() == 1.0);
    let refused = WorstCase::new(2, promised, e, e, FailureRule::Lowest).unwrap_err();
    assert_eq!(refused, WorstCaseError::FailureNotCovered);
    let mut source = Simulated::new(Stream::from_seed(1));
    for (scale, rule) in [
        (promised, FailureRule::Abort),
        (opaque, FailureRule::Abort),
        (opaque, FailureRule::Lowest),
    ] {
        for bad in [Score::Failed, Score::Number(f64::NAN)] {
            let mechanism = WorstCase::new(2, scale, e, e, rule).unwrap();
            let mut state = PublisherState::new();
            let mut levels = [0; 2];
            let mut order = [0; 2];
            let mut publisher =
                Publisher::attach(&mechanism, &mut state, &mut levels, &mut order).unwrap();
            let mut scored = |candidate, score| {
                publisher.handle(PublisherInput::Scored { candidate, score }, &mut source)
            };
            assert_eq!(
                scored(0, Score::Number(f64::INFINITY)),
                Ok(PublisherOutput::Wait)
            );
            assert!(
                matches!(scored(0, bad), Err(PublisherError::Candidate { .. })),
                "a second score"
            );
            assert!(matches!(
                scored(2, bad),
                Err(PublisherError::Candidate { .. })
            ));
            let missing = Err(PublisherError::Missing { candidate: 1 });
            assert_eq!(
                publisher.handle(PublisherInput::Close, &mut source),
                missing
            );
            assert!(
                publisher
                    .handle(publisher_elsewhere(&mechanism), &mut source)
                    .is_err()
            );
            let input = PublisherInput::Scored {
                candidate: 1,
                score: bad,
            };
            assert_eq!(
                publisher.handle(input, &mut source),
                Ok(PublisherOutput::Wait)
            );
            let closed = publisher
                .handle(PublisherInput::Close, &mut source)
                .unwrap();
            if rule == FailureRule::Abort {
                assert_eq!(closed, PublisherOutput::Aborted);
            } else {
                assert!(matches!(closed, PublisherOutput::Charge(_)));
                assert_eq!(
                    publisher.handle(PublisherInput::Skip, &mut source),
                    Ok(PublisherOutput::Closed)
                );
            }
            assert_eq!(publisher.state().phase(), PublisherPhase::Done);
            assert!(
                publisher
                    .handle(publisher_elsewhere(&mechanism), &mut source)
                    .is_err()
            );
        }
    }
}

/// The value's noise at 100,000 records is 1/m of the range over ε, although that range is wider
/// than 1024 scales.
#[test]
fn many_records_cost_little() {
    let scale = ScoreScale::promised_mean(0.0, 1.0, 100_000).unwrap();
    let mechanism =
        WorstCase::new(3, scale, epsilon(1.0), epsilon(1.0), FailureRule::Abort).unwrap();
    let [candidate, value] = mechanism.events();
    assert!(matches!(candidate, Event::PureEpsilon { epsilon, .. } if epsilon == 1.0));
    assert!(
        matches!(value, Event::ApproximateEpsilon { epsilon, delta, .. } if epsilon == 1.0 && delta < 1e-299)
    );
    let mut source = Simulated::new(Stream::from_seed(3));
    let means = [0.5, 0.9, 0.2].map(Score::Number);
    let mut error = 0.0;
    for _ in 0..500 {
        let (candidate, score) = publish(&mechanism, &means, &mut source);
        assert_eq!(candidate, 1, "a gap of 40,000 sensitivities");
        error += (score - 0.9).abs() / 500.0;
    }
    // E|Laplace| = scale, standard error scale/√500: five of them.
    assert!(
        (error / mechanism.noise_scale() - 1.0).abs() < 5.0 / 500f64.sqrt(),
        "{error}"
    );
    assert!((mechanism.noise_scale() / 1e-5 - 1.0).abs() < 1e-3);
}

/// A mean brought to the levels of a sum could move by one level more than the sum's sensitivity.
#[test]
fn a_scale_takes_sums_or_numbers_and_not_both() {
    let sums = ScoreScale::per_record(4, 10).unwrap();
    let numbers = ScoreScale::promised_mean(0.0, 4.0, 10).unwrap();
    for (scale, right, wrong) in [
        (sums, Score::Sum(7), Score::Number(0.7)),
        (numbers, Score::Number(0.7), Score::Sum(7)),
    ] {
        let mechanism =
            WorstCase::new(1, scale, epsilon(1.0), epsilon(1.0), FailureRule::Abort).unwrap();
        let mut state = PublisherState::new();
        let mut levels = [0];
        let mut order = [0];
        let mut publisher =
            Publisher::attach(&mechanism, &mut state, &mut levels, &mut order).unwrap();
        let mut source = Simulated::new(Stream::from_seed(1));
        let mut scored = |score| {
            publisher.handle(
                PublisherInput::Scored {
                    candidate: 0,
                    score,
                },
                &mut source,
            )
        };
        assert_eq!(scored(wrong), Err(PublisherError::Kind { candidate: 0 }));
        assert_eq!(scored(right), Ok(PublisherOutput::Wait));
        assert_eq!(
            scored(right),
            Err(PublisherError::Candidate {
                candidate: 0,
                candidates: 1
            })
        );
    }
}

/// Up to 1024 scales of the noise the score's release is purely private; beyond, its δ is charged.
#[test]
fn wide_ranges_are_charged_their_delta() {
    let delta = |scale: ScoreScale, value: f64| {
        let mechanism =
            WorstCase::new(3, scale, epsilon(1.0), epsilon(value), FailureRule::Abort).unwrap();
        let [_, event] = mechanism.events();
        if let Event::ApproximateEpsilon { delta, .. } = event {
            delta
        } else {
            0.0
        }
    };
    for (value, m) in [(1.0, 1024), (0.5, 2048), (256.0, 4)] {
        for scale in [
            |m| ScoreScale::per_record(4, m),
            |m| ScoreScale::promised_mean(0.0, 1.0, m),
        ] {
            let both = [
                delta(scale(m).unwrap(), value),
                delta(scale(m + 1).unwrap(), value),
            ];
            assert_eq!(both, [0.0, 1e-300]);
        }
        assert_eq!(delta(ScoreScale::opaque(0.0, 1.0).unwrap(), value), 0.0);
    }
}
