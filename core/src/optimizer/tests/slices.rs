//! Suggestions and fits in slices.

use super::*;

/// Suggestions and fits in slices of `slice` evaluations; what was suggested and fitted, and how
/// many slices it took.
fn sliced<T: Scalar>(slice: u32) -> (Vec<f64>, u32) {
    use core::task::Poll;
    let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)]).unwrap();
    let settings = Settings {
        search: Some(BoxSearch {
            scan: 60,
            near: 20,
            climbs: 2,
            evaluations_per_climb: 15,
        }),
        ..Settings::default()
    };
    let mut optimizer =
        Optimizer::new(domain, settings, 20, vec![T::ZERO; storage_len(2, 20)]).unwrap();
    let mut path = Vec::new();
    let mut steps = 0;
    for round in 0..14 {
        let x = loop {
            steps += 1;
            if let Poll::Ready(x) = optimizer.suggest_step(slice).unwrap() {
                break x;
            }
            // A look at the best point in between changes nothing.
            let _ = optimizer.best();
        };
        path.extend(x.iter().map(|x| x.to_f64()));
        optimizer
            .observe(&x, T::from_f64(-branin(x[0].to_f64(), x[1].to_f64())))
            .unwrap();
        if round % 4 == 3 {
            let found = loop {
                steps += 1;
                if let Poll::Ready(found) = optimizer.fit_step(slice).unwrap() {
                    break found.unwrap();
                }
                let _ = optimizer.best();
            };
            path.extend(optimizer.lengthscales().iter().map(|l| l.to_f64()));
            path.extend([found.log_posterior, optimizer.noise_fraction()].map(T::to_f64));
            path.push(f64::from(found.evaluations));
        }
    }
    (path, steps)
}

#[test]
fn slices_suggest_and_fit_the_same_bits() {
    let whole = sliced::<f64>(u32::MAX);
    let once = sliced::<f32>(u32::MAX);
    assert_eq!(whole.1, 14 + 3);
    for slice in [1, 5, 64] {
        let double = sliced::<f64>(slice);
        let single = sliced::<f32>(slice);
        assert_eq!(double.0, whole.0, "{slice}");
        assert_eq!(single.0, once.0, "{slice}");
        assert!(double.1 > whole.1 + 10 && single.1 > once.1 + 10);
    }
}

#[test]
fn an_observation_between_slices_begins_again() {
    use core::task::Poll;
    let domain = BoxDomain::new(&[(0.0, 1.0)]).unwrap();
    let mut optimizer = Optimizer::new(
        domain,
        Settings::default(),
        20,
        vec![0.0f64; storage_len(1, 20)],
    )
    .unwrap();
    let mut other = optimizer.clone();
    for i in 0..8 {
        let x = f64::from(i) / 8.0;
        for optimizer in [&mut optimizer, &mut other] {
            optimizer.observe(&[x], Scalar::sin(7.0 * x)).unwrap();
        }
        // Only one of them is interrupted, in a suggestion and in a fit.
        if i > 4 && !optimizer.fills_next() {
            assert_eq!(optimizer.suggest_step(3), Ok(Poll::Pending));
            optimizer.suggest().unwrap();
            assert!(other.suggest().is_ok());
            assert_eq!(optimizer.fit_step(1).unwrap(), Poll::Pending);
        }
    }
    assert_eq!(optimizer.suggest(), other.suggest());
    assert_eq!(optimizer.fit(), other.fit());
    assert_eq!(optimizer.suggest(), other.suggest());
}
