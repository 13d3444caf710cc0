//! Numbers at the edges, at every door: the documented answer or a typed error, and nothing charged
//! without a release.

use sordino_core::output::publisher::PublisherPhase;
use sordino_core::output::{PublisherState, ScoreScale};
use sordino_core::outsourced::{CuratorPhase, CuratorState};
use sordino_core::privacy::accountant::pld::{self, Options};
use sordino_core::privacy::accountant::{
    AccountantError, MomentsAccountant, RdpAccountant, analytic, poisson, pure,
};
use sordino_core::privacy::budget::Filter;
use sordino_core::privacy::calibrate::{self, Target};
use sordino_core::privacy::encode::Encoder;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::mechanism::laplace::{ClampedLaplace, DiscreteLaplace};
use sordino_core::privacy::mechanism::paper_gaussian::PaperGaussian;
use sordino_core::privacy::mechanism::projection::GaussianProjection;
use sordino_core::privacy::mechanism::selection::Selection;
use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, SamplingProbability};
use sordino_core::random::{Simulated, Stream};
use sordino_tests::receipts::reporter_paid;

/// Where arithmetic ends.
const EDGES: [f64; 20] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    1e-308,
    f64::EPSILON,
    0.5,
    1.0 - f64::EPSILON,
    1.0,
    1.0 + f64::EPSILON,
    2.0,
    1e18,
    1e308,
    -1e308,
    -1.0,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const RELATION: NeighboringRelation = NeighboringRelation::ReplaceSpecial;

fn source() -> Simulated {
    Simulated::new(Stream::from_seed(3))
}

#[test]
fn constructors_of_mechanisms() {
    let half = SamplingProbability::new(0.5).unwrap();
    let one = Epsilon::new(1.0).unwrap();
    for x in EDGES {
        let positive = x > 0.0 && x.is_finite();
        let q = SamplingProbability::new(x);
        assert_eq!(q.is_ok(), (0.0..=1.0).contains(&x), "probability {x:e}");
        assert!(
            q.is_ok_and(|q| q.value() >= x) || q.is_err(),
            "never below what was asked for: {x:e}"
        );
        if let Ok(epsilon) = Epsilon::new(x) {
            assert!(
                positive && epsilon.value() > 0.0 && epsilon.value() <= x,
                "epsilon {x:e}"
            );
        }
        if let Ok(mechanism) = GridGaussian::new(20, x, half, 10) {
            assert!(
                positive && mechanism.effective_noise_multiplier() >= x,
                "multiplier {x:e}"
            );
            assert!(mechanism.event().is_valid());
        }
        assert!(
            positive || PaperGaussian::new(x, half, 1.0, 1, 1.0).is_err(),
            "{x:e}"
        );
        assert!(
            positive
                || Encoder::new(1 << 20, x, 1.0).is_err() && Encoder::new(1 << 20, 1.0, x).is_err(),
            "{x:e}"
        );
        assert!(
            positive || ClampedLaplace::new(x, 20, one).is_err(),
            "{x:e}"
        );
        assert!(
            positive || GaussianProjection::identity(2, 1.0, 1e-5, x, 20).is_err(),
            "norm {x:e}"
        );
        // (0, δ) is a guarantee, and a strong one.
        assert!(
            x == 0.0 || positive || GaussianProjection::identity(2, x, 1e-5, 1.0, 20).is_err(),
            "epsilon {x:e}"
        );
        let open = x > 0.0 && x < 1.0;
        assert!(
            open || GaussianProjection::identity(2, 1.0, x, 1.0, 20).is_err(),
            "delta {x:e}"
        );
        assert_eq!(Target::new(x, 0.1).is_ok(), positive, "target {x:e}");
        assert_eq!(Target::new(1.0, x).is_ok(), open, "target delta {x:e}");
        assert_eq!(Filter::new(x, 0.1).is_ok(), x >= 0.0, "budget {x:e}");
        assert_eq!(Filter::new(1.0, x).is_ok(), open, "budget delta {x:e}");
        assert!(ScoreScale::opaque(x, x).is_err() && ScoreScale::opaque(f64::NAN, x).is_err());
        assert!(
            ScoreScale::opaque(x, f64::INFINITY).is_err()
                && ScoreScale::promised_mean(0.0, x, 0).is_err()
        );
    }
    assert!(
        GridGaussian::new(20, 1.0, SamplingProbability::new(0.0).unwrap(), 10).is_err(),
        "q = 0 releases nothing"
    );
    assert!(DiscreteLaplace::new(0, one, 0, 1, RELATION).is_err());
    assert!(DiscreteLaplace::new(1, one, 1, 0, RELATION).is_err());
    assert!(DiscreteLaplace::new(1, one, i64::MIN, i64::MAX, RELATION).is_err());
    assert!(Selection::new(0, one, RELATION).is_err());
}

#[test]
fn every_reward_becomes_a_finite_report_within_its_range() {
    let mechanism = ClampedLaplace::new(1.5, 20, Epsilon::new(1.0).unwrap()).unwrap();
    let zero = *mechanism.privatize(0.0f64, &mut source()).unwrap().value();
    for x in EDGES {
        let report = *mechanism.privatize(x, &mut source()).unwrap().value();
        assert!(report.is_finite(), "{x:e}");
        // Same noise: what the reward moved is at most the clamped range.
        assert!(
            (report - zero).abs() <= 1.5 + 1e-5,
            "{x:e}: {report} {zero}"
        );
        let single = *mechanism
            .privatize(x as f32, &mut source())
            .unwrap()
            .value();
        assert!(single.is_finite(), "{x:e}");
    }
}

#[test]
fn accountants_refuse_alike_and_charge_nothing() {
    let event = |q, z| Event::PoissonSampledGaussian {
        sampling_probability: q,
        noise_multiplier: z,
        relation: RELATION,
    };
    let valid = event(0.25, 1.0);
    for x in EDGES {
        for (event, admissible) in [
            (event(x, 1.0), (0.0..=1.0).contains(&x)),
            (
                Event::Gaussian {
                    noise_multiplier: x,
                    relation: RELATION,
                },
                x > 0.0 && x.is_finite(),
            ),
            (event(0.25, x), x > 0.0 && x.is_finite()),
            (
                Event::PureEpsilon {
                    epsilon: x,
                    relation: RELATION,
                },
                x >= 0.0 && x.is_finite(),
            ),
            (
                Event::ApproximateEpsilon {
                    epsilon: 1.0,
                    delta: x,
                    relation: RELATION,
                },
                (0.0..=1.0).contains(&x),
            ),
        ] {
            let mut accountant = RdpAccountant::new();
            accountant.compose(&valid, 3).unwrap();
            let before = accountant.epsilon(1e-5).unwrap();
            let composed = accountant.compose(&event, 2);
            let mut filter = Filter::new(f64::INFINITY, 1e-5).unwrap();
            let charged = filter.charge(&event);
            if !admissible {
                assert!(
                    matches!(composed, Err(AccountantError::InvalidEvent(_))),
                    "{event:?}"
                );
                assert!(
                    charged.is_err() && filter.accountant().releases() == 0,
                    "{event:?}"
                );
                assert_eq!(accountant.epsilon(1e-5).unwrap(), before, "{event:?}");
                assert!(
                    pld::epsilon(&[(event, 1)], 1e-5, &Options::default()).is_err(),
                    "{event:?}"
                );
                assert!(
                    MomentsAccountant::new().compose(&event, 1).is_err(),
                    "{event:?}"
                );
            } else if composed.is_ok()
                && let Ok(after) = accountant.epsilon(1e-5)
            {
                assert!(after.epsilon >= before.epsilon, "{event:?}: {after:?}");
            }
        }
        let open = x > 0.0 && x < 1.0;
        let mut accountant = RdpAccountant::new();
        accountant.compose(&valid, 1).unwrap();
        assert!(
            open || matches!(accountant.epsilon(x), Err(AccountantError::Delta(_))),
            "{x:e}"
        );
        assert!(
            open || matches!(
                pld::epsilon(&[(valid, 1)], x, &Options::default()),
                Err(AccountantError::Delta(_))
            )
        );
        assert!(
            open || matches!(analytic::epsilon(1.0, x), Err(AccountantError::Delta(_))),
            "{x:e}"
        );
        assert!(open || pure::optimal_epsilon(1.0, 2, x).is_err(), "{x:e}");
        assert!(
            x >= 0.0
                || accountant.delta(x).is_err()
                    && pld::delta(&[(valid, 1)], x, &Options::default()).is_err()
        );
        let divergence = poisson::divergence(0.25, 1.0, 2.0);
        assert!(divergence > 0.0 && divergence.is_finite());
    }
    // q = 0 costs nothing; q = 1 is the Gaussian mechanism; a budget of nothing admits nothing that
    // costs.
    let epsilon = |q| {
        pld::epsilon(&[(event(q, 2.0), 7)], 1e-5, &Options::default())
            .unwrap()
            .epsilon
    };
    assert_eq!(epsilon(0.0), 0.0);
    let gaussian = analytic::epsilon(2.0 / 7f64.sqrt(), 1e-5).unwrap();
    assert!((epsilon(1.0) / gaussian - 1.0).abs() < 1e-9);
    let mut nothing = Filter::new(0.0, 1e-5).unwrap();
    assert!(nothing.charge(&valid).is_err() && nothing.charge(&event(0.0, 1.0)).is_ok());
    // More noise than any grid holds: still an upper bound, and at once.
    for z in [1e99, 1e101, 1e155, 1e308, f64::MAX, f64::INFINITY] {
        for order in [1.5, 2.0, 32.0] {
            let divergence = poisson::divergence(0.25, z, order);
            assert!(
                divergence > 0.0 && divergence < 1e-190,
                "{z:e} {order}: {divergence:e}"
            );
        }
    }
    // What cannot be met is an error, not a loop.
    let target = Target::new(1e-9, 1e-300).unwrap();
    assert!(calibrate::noise_multiplier(&target, SamplingProbability::ONE, u32::MAX).is_err());
}

/// The hardest corners of the tight accountant end, with an answer or a name.
#[test]
fn the_tight_accountant_ends() {
    let few = Options {
        tolerance: 1e-2,
        cells_max: 1 << 14,
    };
    for q in [5e-324, 1e-12, 1.0 - f64::EPSILON] {
        for z in [0.05, 1e6, 1e150] {
            for delta in [1e-300, 0.999_999] {
                let event = Event::PoissonSampledGaussian {
                    sampling_probability: q,
                    noise_multiplier: z,
                    relation: RELATION,
                };
                match pld::epsilon(&[(event, 2)], delta, &few) {
                    Ok(loss) => assert!(
                        loss.epsilon >= 0.0 && loss.epsilon.is_finite(),
                        "{q:e} {z:e} {delta:e}"
                    ),
                    Err(error) => assert!(
                        matches!(error, AccountantError::NoFiniteEpsilon { .. }),
                        "{error}"
                    ),
                }
            }
        }
    }
}

#[test]
fn laplace_noise_of_another_scale_says_nothing() {
    let mechanism = |epsilon| {
        DiscreteLaplace::new(100, Epsilon::new(epsilon).unwrap(), 0, 100, RELATION).unwrap()
    };
    let strict = mechanism(0.5);
    let loose = mechanism(4.0);
    // The quiet noise of the loose mechanism must not serve the strict one: the same output
    // whatever the value.
    let outputs: Vec<i64> = [0, 50, 100]
        .iter()
        .map(|x| {
            *strict
                .release(*x, loose.draw_noise(&mut source()).unwrap())
                .value()
        })
        .collect();
    assert!(outputs.iter().all(|x| *x == outputs[0]), "{outputs:?}");
    // Negative control: its own noise does.
    let own = |x| {
        *strict
            .release(x, strict.draw_noise(&mut source()).unwrap())
            .value()
    };
    assert_ne!(own(0), own(100));
}

#[test]
fn an_upload_outside_the_sample_takes_the_same_way_and_adds_nothing() {
    let encoder = Encoder::new(1 << 20, 2.0, 2.0).unwrap();
    let mut stream = Stream::from_seed(9);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5000 {
        let vector: Vec<f64> = (0..4)
            .map(|_| EDGES[stream.below(20) as usize] * stream.unit::<f64>())
            .collect();
        let weights = [stream.unit::<f64>(), stream.unit::<f64>()];
        let mut inside = [7i64; 8];
        let mut outside = [7i64; 8];
        let selected = encoder.add_if(true, &vector, &weights, &mut inside);
        let passed = encoder.add_if(false, &vector, &weights, &mut outside);
        // The same branches: kept, clipped, shrunk or zeroed alike.
        assert_eq!(selected, passed, "{vector:?}");
        assert_eq!(outside, [7; 8], "{vector:?}");
        seen.insert(format!("{selected:?}"));
    }
    assert!(seen.len() >= 3, "{seen:?}");
    // Not even an overflow tells.
    assert!(
        encoder
            .add_if(false, &[1.0], &[1.0], &mut [i64::MAX])
            .is_ok()
    );
    assert!(
        encoder
            .add_if(true, &[1.0], &[1.0], &mut [i64::MAX])
            .is_err()
    );
}

/// Postcard writes the variant's number first: 1 is `Charging` in all three.
#[test]
fn a_state_stored_between_charge_and_release_is_charged_again() {
    let stored = |fresh: Vec<u8>| {
        let mut bytes = fresh;
        bytes[0] = 1;
        bytes
    };
    let bytes = stored(postcard::to_allocvec(&PublisherState::new()).unwrap());
    assert_eq!(
        postcard::from_bytes::<PublisherState>(&bytes)
            .unwrap()
            .phase(),
        PublisherPhase::Collecting
    );
    let bytes = stored(postcard::to_allocvec(&CuratorState::new()).unwrap());
    assert_eq!(
        postcard::from_bytes::<CuratorState>(&bytes)
            .unwrap()
            .phase(),
        CuratorPhase::Fresh
    );

    use sordino_core::local::{Reporter, ReporterInput, ReporterPhase, ReporterState};
    let one = Epsilon::new(1.0).unwrap();
    let mechanism = ClampedLaplace::new(1.0, 20, one).unwrap();
    for steps in 1..=2 {
        let mut state = ReporterState::new(7, one);
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        let charge = reporter
            .handle::<f64, _>(ReporterInput::Query { candidate: 3 }, &mut source())
            .unwrap();
        if steps == 2 {
            reporter
                .handle::<f64, _>(reporter_paid(charge), &mut source())
                .unwrap();
        }
        assert_ne!(state.phase(), ReporterPhase::Idle);
        let mut back: ReporterState =
            postcard::from_bytes(&postcard::to_allocvec(&state).unwrap()).unwrap();
        assert_eq!(
            (back.phase(), back.budget().left()),
            (ReporterPhase::Idle, 0.0)
        );
        // The budget is spent already: the next question is refused, and no reward is taken.
        let mut reporter = Reporter::attach(&mechanism, &mut back);
        assert!(
            reporter
                .handle::<f64, _>(ReporterInput::Reward(0.3), &mut source())
                .is_err()
        );
        assert!(
            reporter
                .handle::<f64, _>(ReporterInput::Query { candidate: 3 }, &mut source())
                .is_err()
        );
    }
}

/// ε₀ = ln 2 and ε = j·ln 2 make every term of the optimal composition a fraction: δ is exact in
/// integers.
#[test]
fn optimal_composition_is_above_the_exact_fraction_and_close_to_it() {
    for k in [1u32, 2, 5, 17, 40, 60] {
        for j in 0..k {
            let mut choose = 1u128;
            let mut numerator = 0u128;
            for l in 0..=k {
                let plus = 1u128 << (k - l);
                let minus = 1u128 << (j + l).min(100);
                if plus > minus {
                    numerator += choose * (plus - minus);
                }
                choose = choose * u128::from(k - l) / u128::from(l + 1);
            }
            let exact = numerator as f64 / 3u128.pow(k) as f64;
            let ln_2 = std::f64::consts::LN_2;
            let ours = pure::optimal_delta(ln_2, k, f64::from(j) * ln_2);
            assert!(
                ours >= exact * (1.0 - 1e-15) && ours <= exact * (1.0 + 1e-8),
                "{k} {j}: {ours:e} {exact:e}"
            );
        }
    }
}
