//! What is found by those who only look.

use sordino_core::privacy::NeighboringRelation;
use sordino_core::privacy::accountant::analytic;

use super::*;

/// A Gaussian on everybody.
fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian {
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// Everything that a folder holds, with the state folder in it.
fn names(desk: &Desk) -> Vec<std::path::PathBuf> {
    let state = desk.folder.join("state");
    let all = [desk.folder.clone(), state].map(|folder| fs::read_dir(folder).into_iter().flatten());
    let mut names: Vec<_> = all
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    names
}

/// What still fits is admitted, and a hundredth more is not; looking leaves nothing behind.
#[test]
fn what_is_left_of_a_budget_fits_it() {
    let desk = Desk::new("room");
    let asked = Terms {
        accounting: Accounting::Gaussian,
        epsilon_max: Some(3.0),
        delta: 1e-5,
        ..terms()
    };
    let look = || Preview::of(&desk.path, &asked, &desk.options()).unwrap();
    let before = names(&desk);
    let whole = look().left(&[]).unwrap().unwrap();
    assert!(whole <= 3.0 && whole > 2.999, "{whole}");
    assert_eq!(names(&desk), before, "nothing is made");
    let mut ledger = Ledger::open_secret(&desk.path, &asked, &desk.options()).unwrap();
    ledger.charge(0, &[gaussian(2.5), gaussian(4.0)]).unwrap();
    drop(ledger);
    let before = names(&desk);
    let mut preview = look();
    let left = preview.left(&[]).unwrap().unwrap();
    let multiplier = |epsilon| analytic::noise_multiplier(epsilon, 1e-5).unwrap();
    preview.admits(&[gaussian(multiplier(left))]).unwrap();
    let more = preview.admits(&[gaussian(multiplier(1.01 * left))]);
    match more {
        Err(LedgerError::NoRoom {
            path,
            data,
            left: Some(told),
            spent,
            epsilon_max,
            ..
        }) => {
            assert_eq!((path, data), (desk.path.clone(), "wards".into()));
            assert_eq!((told, epsilon_max), (left, 3.0));
            assert_eq!(spent, preview.spent().unwrap().epsilon);
        }
        other => panic!("{other:?}"),
    }
    // After that, nothing fits.
    let rest = [gaussian(multiplier(left))];
    assert!(preview.left(&rest).unwrap().unwrap() < 0.01);
    assert!(preview.spent_after(&rest).unwrap().epsilon <= 3.0);
    assert_eq!(names(&desk), before, "nothing is made");
}

/// A look refuses what opening refuses.
#[test]
fn a_look_refuses_an_older_copy_and_a_ledger_that_is_gone() {
    let desk = Desk::new("look");
    let mut ledger = desk.open().unwrap();
    let first = desk.text();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    ledger.charge(1, &[pure(0.5)]).unwrap();
    drop(ledger);
    let look = || Preview::of(&desk.path, &terms(), &desk.options());
    assert_eq!(look().unwrap().spent().unwrap().epsilon, 1.0);
    fs::write(&desk.path, first).unwrap();
    assert!(matches!(look(), Err(LedgerError::RolledBack { .. })));
    fs::remove_file(&desk.path).unwrap();
    assert!(matches!(
        look(),
        Err(LedgerError::OtherLedger { gone: true, .. })
    ));
}
