//! Sums round up; every accountant by the one trait: the order of their answers, inverses,
//! refusals.

use super::*;

#[test]
fn additions_round_up() {
    // Every number below is a multiple of 2^-56: 128-bit integers say what the sum is.
    let unit = 1.0 / f64::from(1u32 << 28) / f64::from(1u32 << 28);
    let count = 1u32 << 20;
    let exact = u128::from(count) * (0.1 / unit) as u128;
    let mut up = 0.0;
    for _ in 0..count {
        up = add_up(up, 1, 0.1);
    }
    let integer = |x: f64| (x / unit) as u128;
    assert!(integer(up) >= exact && integer(up) as f64 / exact as f64 - 1.0 < 5e-10);
    assert!(integer(add_up(0.0, count, 0.1)) >= exact);
    // What a plain sum does depends on the number of terms: somewhere on the way it falls below.
    let mut plain = 0.0;
    let mut below = 0;
    for n in 1..1000u32 {
        plain += 0.1;
        below += u32::from(integer(plain) < u128::from(n) * integer(0.1));
    }
    assert!(
        below > 100,
        "the plain sum was below the exact one {below} times"
    );
    assert_eq!(add_up(0.25, 7, 0.0), 0.25);
    assert_eq!(add_up(0.25, 0, f64::INFINITY), 0.25);
    assert_eq!(add_up(f64::INFINITY, 1, 1.0), f64::INFINITY);
}

#[cfg(feature = "alloc")]
mod by_trait {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use super::*;

    const RELATION: NeighboringRelation = NeighboringRelation::ReplaceSpecial;

    /// The tight one first, then looser and looser.
    fn all() -> [(&'static str, Box<dyn Accountant>); 4] {
        [
            ("gaussian", Box::new(GaussianAccountant::new())),
            ("pld", Box::new(PldAccountant::new())),
            ("rdp", Box::new(RdpAccountant::new())),
            ("moments", Box::new(MomentsAccountant::new())),
        ]
    }

    #[test]
    fn each_is_above_the_one_before_and_its_delta_inverts_its_epsilon() {
        let gaussian = Event::Gaussian {
            noise_multiplier: 2.0,
            relation: RELATION,
        };
        for (events, delta) in [
            (&[(Event::sampled(0.25, 1.0), 40)][..], 0.00294),
            (&[(Event::sampled(0.25, 0.5), 40)], 1e-5),
            (
                &[
                    (Event::sampled(0.25, 1.0), 20),
                    (Event::sampled(0.25, 2.0), 20),
                ],
                1e-5,
            ),
            (
                &[
                    (gaussian, 3),
                    (Event::sampled(1.0, 4.0), 2),
                    (Event::sampled(0.0, 1.0), 9),
                ],
                1e-6,
            ),
        ] {
            let mut before = 0.0;
            let mut answered = 0;
            for (name, mut accountant) in all() {
                if !events.iter().all(|(event, _)| accountant.supports(event)) {
                    continue;
                }
                events
                    .iter()
                    .for_each(|(event, count)| accountant.compose(event, *count).unwrap());
                let spent = accountant.epsilon(delta).unwrap();
                // The first two are both exact where both answer.
                assert!(
                    spent.epsilon >= before * (1.0 - 1e-9),
                    "{name}: {spent:?} {before}"
                );
                assert_eq!(
                    spent.releases,
                    events
                        .iter()
                        .map(|(_, count)| u64::from(*count))
                        .sum::<u64>(),
                    "{name}"
                );
                let back = accountant.delta(spent.epsilon).unwrap();
                assert!((back / delta - 1.0).abs() < 5e-3, "{name}: {back}");
                // Negative control: a smaller ε needs a larger δ.
                assert!(
                    accountant.delta(0.9 * spent.epsilon).unwrap() > 1.05 * delta,
                    "{name}"
                );
                (before, answered) = (spent.epsilon, answered + 1);
            }
            assert!(answered >= 3);
        }
    }

    #[test]
    fn each_refuses_by_name_and_stays_as_it_was() {
        let other = NeighboringRelation::AddOrRemoveOne;
        for (name, mut accountant) in all() {
            let first = Event::sampled(1.0, 1.0);
            accountant.compose(&first, 0).unwrap();
            assert_eq!(accountant.epsilon(0.1).unwrap().epsilon, 0.0, "{name}");
            assert_eq!(accountant.delta(0.0).unwrap(), 0.0, "{name}");
            accountant.compose(&first, 3).unwrap();
            let before = (accountant.epsilon(1e-5), accountant.delta(1.0));
            let now = Event::Gaussian {
                noise_multiplier: 1.0,
                relation: other,
            };
            let mixed = AccountantError::MixedRelations {
                before: RELATION,
                now: other,
            };
            assert_eq!(accountant.compose(&now, 1), Err(mixed), "{name}");
            assert_eq!(accountant.compose(&now, 0), Err(mixed), "{name}");
            assert_eq!(
                accountant.compose(&Event::sampled(1.0, 0.0), 1),
                Err(AccountantError::InvalidEvent(Event::sampled(1.0, 0.0)))
            );
            let unknown = [
                Event::sampled(0.5, 1.0),
                Event::PureEpsilon {
                    epsilon: 1.0,
                    relation: RELATION,
                },
                Event::ApproximateEpsilon {
                    epsilon: 1.0,
                    delta: 1e-9,
                    relation: RELATION,
                },
            ];
            for event in unknown
                .into_iter()
                .filter(|event| !accountant.supports(event))
                .collect::<Vec<_>>()
            {
                assert_eq!(
                    accountant.compose(&event, 1),
                    Err(AccountantError::UnsupportedEvent(event)),
                    "{name}"
                );
            }
            for delta in [0.0, 1.0, f64::NAN] {
                assert!(
                    matches!(accountant.epsilon(delta), Err(AccountantError::Delta(_))),
                    "{name}"
                );
            }
            for epsilon in [-1.0, f64::NAN] {
                assert!(
                    matches!(accountant.delta(epsilon), Err(AccountantError::Epsilon(_))),
                    "{name}"
                );
            }
            assert_eq!(
                (accountant.epsilon(1e-5), accountant.delta(1.0)),
                before,
                "{name}"
            );
        }
        let fixed = Event::FixedSizeSampledGaussian {
            sampled: 1,
            population: 2,
            noise_multiplier: 1.0,
        };
        let who: Vec<_> = all()
            .into_iter()
            .filter(|(_, accountant)| accountant.supports(&fixed))
            .map(|(n, _)| n)
            .collect();
        assert_eq!(who, ["rdp"]);
    }

    #[test]
    fn the_gaussian_accountant_is_never_below_the_closed_form_and_hardly_above() {
        let composed = |z: f64, count: u32| {
            let mut accountant = GaussianAccountant::new();
            accountant
                .compose(
                    &Event::Gaussian {
                        noise_multiplier: z,
                        relation: RELATION,
                    },
                    count,
                )
                .unwrap();
            accountant
        };
        // 16 releases at z = 4 are one at z = 1; 4.3777 there at δ = 1e-5 (Balle, Wang).
        let many = composed(4.0, 16).epsilon(1e-5).unwrap();
        let one = analytic::epsilon(1.0, 1e-5).unwrap();
        assert!(
            many.epsilon >= one
                && many.epsilon < one * (1.0 + 1e-12)
                && (one - 4.3777).abs() < 1e-3
        );
        for z in [1e-300, 1e-3, 0.3, 7.7, 1e200] {
            assert!(composed(z, 1).noise_multiplier() <= z, "{z}");
        }
        assert!(matches!(
            composed(1e-300, 1).epsilon(0.5),
            Err(AccountantError::NoFiniteEpsilon { .. })
        ));
        assert_eq!(composed(1e-300, 1).delta(5.0), Ok(1.0));
    }
}
