//! What an optimiser resumed from a log suggests, and which logs it refuses.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

/// Runs with repeats and refusals, writing a log; at every tenth entry an optimiser resumed from it
/// goes on beside the first, by turns from all entries and from those without the fits.
fn resumes<T: Scalar + Serialize + DeserializeOwned>(
    settings: Settings,
    capacity: usize,
    f: fn(&[f64]) -> f64,
) {
    let storage = || vec![T::ZERO; storage_len(2, capacity)];
    let domain = BoxDomain::new(&[(0.0, 20.0), (1.0, 50.0)]).unwrap();
    let settings: Settings = through_postcard(&settings);
    let mut runs = vec![Optimizer::new(domain.clone(), settings, capacity, storage()).unwrap()];
    let mut log: Vec<LogEntry<T>> = Vec::new();
    let mut fits = 0;
    for round in 0..36 {
        let x = runs[0].suggest().unwrap();
        for other in &mut runs[1..] {
            assert_eq!(bits(&other.suggest().unwrap()), bits(&x), "round {round}");
        }
        // The second axis has eight positions: repeats.
        let second = libm::round((x[1].to_f64() - 1.0) / 7.0) * 7.0 + 1.0;
        let at = [x[0], T::from_f64(second)];
        let y = f(&[x[0].to_f64() / 20.0, (second - 1.0) / 49.0]);
        let value = if round % 9 == 4 {
            T::INFINITY
        } else {
            T::from_f64(y)
        };
        if let Some(fitted) = runs[0].take_fit() {
            fits += 1;
            log.push(fitted);
        }
        log.push(LogEntry::told(&at, value).unwrap());
        let observed = runs
            .iter_mut()
            .map(|run| run.observe(&at, value).ok())
            .collect::<Vec<_>>();
        assert!(observed.iter().all(|o| *o == observed[0]));
        if round % 10 == 9 {
            let all = round % 20 == 9;
            let kept = log
                .iter()
                .filter(|entry| all || matches!(entry, LogEntry::Told { .. }));
            let stored: Vec<LogEntry<T>> = kept.map(through_postcard).collect();
            runs.push(
                Optimizer::resume(domain.clone(), settings, capacity, storage(), stored).unwrap(),
            );
        }
    }
    let best: Vec<_> = runs
        .iter_mut()
        .map(|run| run.best().map(|(x, y)| (bits(&x), y.to_f64().to_bits())))
        .collect();
    assert!(runs.len() == 4 && best.iter().all(|b| *b == best[0]) && fits > 10);
    // Negative control: a value that was another is seen.
    if let Some(LogEntry::Told { value, .. }) = log
        .iter_mut()
        .rev()
        .find(|e| matches!(e, LogEntry::Told { .. }))
    {
        *value += T::from_f64(0.1) * (T::ONE + value.abs());
    }
    let mut other = Optimizer::resume(domain, settings, capacity, storage(), log).unwrap();
    assert_ne!(
        bits(&other.suggest().unwrap()),
        bits(&runs[0].suggest().unwrap())
    );
}

/// A fit that was asked for where none was due changes what is asked, and the log must have it.
#[test]
fn a_fit_that_was_asked_for_belongs_into_the_log() {
    let new = || {
        Optimizer::new(
            unit_box(1),
            Settings::default(),
            60,
            vec![0.0f64; storage_len(1, 60)],
        )
        .unwrap()
    };
    let mut asked = new();
    let mut other = new();
    let mut log = Vec::new();
    for i in 0..45 {
        let x = f64::from(i * 29 % 45) / 45.0;
        log.push(LogEntry::told(&[x], libm::sin(20.0 * x * x)).unwrap());
        asked.observe(&[x], libm::sin(20.0 * x * x)).unwrap();
        other.observe(&[x], libm::sin(20.0 * x * x)).unwrap();
        asked.take_fit();
    }
    assert!(!asked.just_fitted() && asked.suggest().unwrap() == other.suggest().unwrap());
    assert!(asked.take_fit().is_none(), "none is due between 43 and 51");
    let found = asked.fit().unwrap().unwrap();
    assert!(
        found.evaluations > 1 && asked.just_fitted() && asked.parameters() != other.parameters()
    );
    log.extend(asked.take_fit());
    assert!(asked.take_fit().is_none(), "it is handed out once");
    let mut resumed = new();
    resumed.replay(log.iter().cloned()).unwrap();
    assert_eq!(resumed.parameters(), asked.parameters());
    assert_eq!(resumed.suggest(), asked.suggest());
    // Negative control: without the entry it is the other one.
    log.pop();
    resumed.replay(log).unwrap();
    assert_eq!(resumed.suggest(), other.suggest());
    assert_eq!(resumed.parameters(), other.parameters());
}

fn through_postcard<V: Serialize + DeserializeOwned>(value: &V) -> V {
    let mut buffer = [0; 96];
    let used = postcard::to_slice(value, &mut buffer).unwrap();
    postcard::from_bytes(used).unwrap()
}

#[test]
fn a_resumed_optimizer_suggests_the_same_points() {
    let ucb = Acquisition::UpperConfidenceBound { width: 2.0 };
    let smooth = Settings {
        shape: Stationary::SquaredExponential,
        acquisition: ucb,
        ..Settings::default()
    };
    let drifting = Settings {
        half_life: 20,
        ..Settings::default()
    };
    let window = Settings {
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    for f in [FUNCTIONS[2], FUNCTIONS[3], FUNCTIONS[4]] {
        for (settings, capacity) in [
            (Settings::default(), 36),
            (smooth, 36),
            (window, 12),
            (drifting, 36),
        ] {
            resumes::<f32>(settings, capacity, f);
            resumes::<f64>(settings, capacity, f);
        }
    }
}

#[test]
fn a_log_that_cannot_be_this_optimizers_is_refused() {
    let resume = |log: &[LogEntry<f32>]| {
        let storage = vec![0.0f32; storage_len(1, 8)];
        Optimizer::resume(
            unit_box(1),
            Settings::default(),
            8,
            storage,
            log.iter().cloned(),
        )
    };
    let told: Vec<_> = (0..5)
        .map(|i| LogEntry::told(&[0.2 * i as f32], i as f32).unwrap())
        .collect();
    assert_eq!(resume(&told).unwrap().len(), 5);
    let fitted = |lengthscale, noise_fraction| {
        let lengthscales = Point::from_slice(&[lengthscale]).unwrap();
        LogEntry::Fitted(Parameters {
            lengthscales,
            noise_fraction,
            told: 5,
        })
    };
    assert!(resume(&[&told[..], &[fitted(0.5, 1e-3)]].concat()).is_ok());
    for bad in [
        fitted(0.5, 1e-7),
        fitted(0.5, f32::NAN),
        fitted(-0.5, 1e-3),
        fitted(f32::NAN, 1e-3),
    ] {
        assert!(resume(&[&told[..], &[bad]].concat()).is_err());
    }
    assert!(
        resume(&[LogEntry::told(&[0.1, 0.2], 1.0).unwrap()]).is_err(),
        "of another box"
    );
    let lengthscales = Point::from_slice(&[0.5, 0.5]).unwrap();
    assert!(
        resume(&[LogEntry::Fitted(Parameters {
            lengthscales,
            noise_fraction: 0.1,
            told: 0
        })])
        .is_err()
    );
    assert!(LogEntry::told(&[0.0f32; 17], 1.0).is_err());
}

/// A log of another box is refused by the point that shows it, not read as if that had been refused
/// before; and a fit of more than the log tells is another log's.
#[test]
fn a_log_of_another_box_is_refused() {
    let resumed = |log: Vec<LogEntry<f64>>| {
        let storage = vec![0.0; storage_len(1, 8)];
        Optimizer::resume(unit_box(1), Settings::default(), 8, storage, log)
    };
    let told = |x: f64| LogEntry::told(&[x], 1.0).unwrap();
    assert_eq!(resumed(vec![told(0.3), told(0.6)]).unwrap().len(), 2);
    for beyond in [told(13.0), LogEntry::failed(&[13.0]).unwrap()] {
        let found = resumed(vec![told(0.3), beyond]).err();
        assert!(
            matches!(
                found,
                Some(OptimizerError::Space(SpaceError::Value { value: 13.0, .. }))
            ),
            "{found:?}"
        );
    }
    let fitted = |count| {
        LogEntry::Fitted(Parameters {
            lengthscales: Point::from_slice(&[0.3]).unwrap(),
            noise_fraction: 1e-3,
            told: count,
        })
    };
    // The end of a longer log: the fit knew what follows it.
    let forgotten = LogEntry::Forgotten { observations: 4 };
    assert!(resumed(vec![forgotten, fitted(5), told(0.3)]).is_ok());
    assert_eq!(
        resumed(vec![told(0.3), fitted(u32::MAX)]).err(),
        Some(OptimizerError::Told {
            fitted: u32::MAX,
            told: 1
        })
    );
    // What was replayed stays, and its fits are due as they would be.
    let storage = vec![0.0; storage_len(1, 8)];
    let mut begun = Optimizer::new(unit_box(1), Settings::default(), 8, storage).unwrap();
    let mut log: Vec<_> = [0.2, 0.5, 0.9].map(told).into();
    log.push(fitted(u32::MAX));
    assert!(begun.replay(log).is_err() && begun.len() == 3);
    begun.observe(&[0.7], 2.0).unwrap();
    assert!(begun.fit_is_due());
}

/// A program that never asks has the entry of a fit behind the value that brought it about. The
/// fit was made again by then, and making the factor anew would change its last bits.
#[test]
fn the_entry_of_a_fit_may_stand_behind_the_value_that_brought_it_about() {
    let settings = Settings {
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    let storage = || vec![0.0f32; storage_len(2, 12)];
    let mut optimizer = Optimizer::new(unit_box(2), settings, 12, storage()).unwrap();
    let mut log = Vec::new();
    let mut fits = 0;
    for i in 0..40u32 {
        let point = [i as f32 * 0.618 % 1.0, i as f32 * 0.755 % 1.0];
        let value = libm::sinf(7.0 * point[0]) - point[1];
        log.push(LogEntry::told(&point, value).unwrap());
        optimizer.observe(&point, value).unwrap();
        let fit = optimizer.take_fit();
        fits += usize::from(fit.is_some());
        log.extend(fit);
        let mut resumed =
            Optimizer::resume(unit_box(2), settings, 12, storage(), log.clone()).unwrap();
        let [found, expected] = [&mut resumed, &mut optimizer].map(|optimizer| {
            let (mean, std) = optimizer.predict(&[0.3, 0.7]).unwrap();
            bits(&[mean, std])
        });
        assert_eq!(found, expected, "after {} values", i + 1);
    }
    assert!(fits > 10);
}
