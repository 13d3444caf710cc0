//! Logs that resets read.

extern crate std;
use super::*;
use crate::domain::BoxDomain;
use crate::optimizer::{Optimizer, Settings, storage_len};
use crate::surrogate::exact::WhenFull;
use std::vec;
use std::vec::Vec;

const ROUNDS: u32 = 13;

fn resumed(log: &[LogEntry<f32>]) -> Optimizer<f32, Vec<f32>> {
    let domain = BoxDomain::new(&[(-1.0, 3.0), (0.0, 1.0)]).unwrap();
    let storage = vec![0.0; storage_len(2, ROUNDS as usize)];
    Optimizer::resume(
        domain,
        Settings::default(),
        ROUNDS as usize,
        storage,
        log.iter().cloned(),
    )
    .unwrap()
}

/// What a device asks for from its boot on, until the power fails at act number `cut`: every entry
/// that is written and every call that changes the optimiser is an act.
fn boot(
    log: &mut Vec<LogEntry<f32>>,
    acts: &mut u32,
    cut: u32,
    kind: Kind,
    asked: &mut Vec<[u32; 3]>,
) -> bool {
    let mut optimizer = resumed(log);
    let mut act = || {
        *acts += 1;
        *acts != cut
    };
    while optimizer.told() < ROUNDS {
        let told = optimizer.told();
        let x = optimizer.suggest().unwrap();
        if !act() {
            return false;
        }
        if let (Kind::Written, Some(fitted)) = (kind, optimizer.take_fit()) {
            log.push(fitted);
            if !act() {
                return false;
            }
        }
        asked.retain(|seen| seen[0] != told);
        asked.push([told, x[0].to_bits(), x[1].to_bits()]);
        let y = -(x[0] - 2.0) * (x[0] - 2.0) - x[1];
        let written = if kind == Kind::Rounded {
            libm::roundf(y)
        } else {
            y
        };
        log.push(LogEntry::told(&x, written).unwrap());
        if !act() {
            return false;
        }
        optimizer.observe(&x, y).unwrap();
        if !act() {
            return false;
        }
    }
    true
}

/// What a program writes down of fits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Those of suggestions.
    Written,
    /// No fit is written.
    Left,
    /// None, and values are rounded before they are written.
    Rounded,
}

/// The questions of a run whose power is cut once, at act number `cut`.
fn run(cut: u32, kind: Kind) -> (Vec<[u32; 3]>, u32) {
    let mut log = Vec::new();
    let mut acts = 0;
    let mut asked = Vec::new();
    while !boot(&mut log, &mut acts, cut, kind, &mut asked) {}
    (asked, acts)
}

#[test]
fn a_reset_neither_loses_a_fit_nor_makes_another() {
    let (written, acts) = run(0, Kind::Written);
    let (left, fewer) = run(0, Kind::Left);
    assert!(
        written == left
            && written.len() == ROUNDS as usize
            && fewer == 3 * ROUNDS
            && acts > fewer + 3
    );
    for kind in [Kind::Written, Kind::Left] {
        for cut in 1..=acts {
            assert_eq!(run(cut, kind).0, written, "cut at act {cut}");
        }
    }
    // Negative control: a log that is not what was told asks for something else after some cut.
    let (uncut, acts) = run(0, Kind::Rounded);
    assert!((1..=acts).any(|cut| run(cut, Kind::Rounded).0 != uncut));
}

#[test]
fn just_fitted_is_of_the_log_and_refusals_do_not_end_it() {
    let told = |i: u32| LogEntry::told(&[i as f32 * 0.25, 0.5], i as f32).unwrap();
    let mut log: Vec<_> = (0..5).map(told).collect();
    assert!(!resumed(&log).just_fitted() && resumed(&log).told() == 5);
    let mut optimizer = resumed(&log);
    optimizer.fit().unwrap();
    log.extend(optimizer.take_fit());
    assert!(optimizer.just_fitted() && resumed(&log).just_fitted());
    assert!(optimizer.observe(&[0.1, 0.1], f32::NAN).is_err() && optimizer.just_fitted());
    log.push(told(6));
    assert!(!resumed(&log).just_fitted());
    let mut empty = resumed(&[]);
    assert!(!empty.just_fitted() && empty.fit().unwrap().is_none() && !empty.just_fitted());
}

/// A window that is smaller than the initial points, and a log of which only the window is left.
#[test]
fn a_log_that_was_shortened_still_knows_how_much_was_told() {
    let settings = Settings {
        initial_points: 6,
        when_full: WhenFull::DropOldest,
        ..Settings::default()
    };
    let domain = BoxDomain::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
    let mut optimizer =
        Optimizer::new(domain, settings, 4, vec![0.0f64; storage_len(2, 4)]).unwrap();
    let mut log = Vec::new();
    for round in 0..12_u32 {
        let x = optimizer.suggest().unwrap();
        let element = |axis| crate::domain::sobol::coordinate::<f64>(round, axis, 0);
        // Six initial points, then the model is asked, although the window holds four.
        assert_eq!(
            x[..] == [element(0), element(1)],
            round < 6,
            "round {round}"
        );
        log.push(LogEntry::told(&x, x[0] - x[1] * x[1]).unwrap());
        let observations = log.len().saturating_sub(4) as u32;
        let window = log.iter().skip(observations as usize).cloned();
        optimizer
            .replay(
                [LogEntry::Forgotten { observations }]
                    .into_iter()
                    .chain(window),
            )
            .unwrap();
        assert_eq!(
            (optimizer.told(), optimizer.len()),
            (round + 1, log.len().min(4))
        );
    }
    let before = (optimizer.suggest().unwrap(), optimizer.best().unwrap());
    // What is replayed is the whole state: once more, with a fit in between that is forgotten, it
    // is the same.
    optimizer.fit().unwrap();
    let end = log[8..].iter().cloned();
    optimizer
        .replay(
            [LogEntry::Forgotten { observations: 8 }]
                .into_iter()
                .chain(end),
        )
        .unwrap();
    assert_eq!(
        (optimizer.suggest().unwrap(), optimizer.best().unwrap()),
        before
    );
}
