//! Two ledgers of one data set, and files beside and under a ledger that are not what they seem.

use super::*;

/// Hostile reading of the mends: two ledgers begun before either holds a charge both know their
/// counters afterwards, and the question whether the data set has charges elsewhere is asked for
/// unknown ones only. Budget 2, spent 4.
#[test]
fn two_ledgers_of_one_data_set_do_not_both_spend_the_budget() {
    let desk = Desk::new("both");
    let open = |name: &str| Ledger::open_secret(&desk.folder.join(name), &terms(), &desk.options());
    // A first run that aborted: it began a ledger and charged nothing.
    drop(open("first.jsonl").unwrap());
    let mut second = open("second.jsonl").unwrap();
    second.charge(0, &[pure(2.0)]).unwrap();
    drop(second);
    let refused = open("first.jsonl").and_then(|mut first| first.charge(0, &[pure(2.0)]));
    assert!(
        matches!(refused, Err(LedgerError::OtherLedger { .. })),
        "{refused:?}"
    );
}

/// The same with both open at once: the question is asked at opening, hours before the charge.
#[test]
fn two_open_ledgers_of_one_data_set_do_not_both_spend_the_budget() {
    let desk = Desk::new("at-once");
    let open = |name: &str| Ledger::open_secret(&desk.folder.join(name), &terms(), &desk.options());
    let first = open("first.jsonl");
    let second = open("second.jsonl");
    let charged =
        [first, second].map(|ledger| ledger.and_then(|mut ledger| ledger.charge(0, &[pure(2.0)])));
    assert!(
        matches!(charged, [Ok(()), Err(LedgerError::DataSetBusy { .. })]),
        "{charged:?}"
    );
    // The second has its own say once the first is closed: the budget is spent elsewhere.
    assert!(matches!(
        open("second.jsonl"),
        Err(LedgerError::OtherLedger { charges: 1, .. })
    ));
}

/// A temporary file of a predictable name is opened through whatever link lies there.
#[test]
fn a_link_beside_the_ledger_is_not_followed() {
    let desk = Desk::new("beside");
    let victim = desk.folder.join("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, desk.folder.join("ledger.jsonl.new")).unwrap();
    drop(desk.open());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

/// A file that is no ledger, and has no line feed, is emptied.
#[test]
fn a_file_that_is_no_ledger_is_left_alone() {
    let desk = Desk::new("no-ledger");
    fs::write(&desk.path, "precious").unwrap();
    let opened = desk.simulated().map(|_| ());
    assert!(
        matches!(opened, Err(LedgerError::Damaged { line: 1, .. })),
        "{opened:?}"
    );
    assert_eq!(desk.text(), "precious");
    // The control: what a death leaves of the first line is begun again.
    fs::remove_file(&desk.path).unwrap();
    drop(desk.simulated().unwrap());
    let whole = desk.text();
    for cut in 0..whole.len() {
        fs::write(&desk.path, &whole[..cut]).unwrap();
        drop(desk.simulated().unwrap());
        assert_eq!(desk.text(), whole, "{cut}");
    }
}

/// Completing a torn ledger widens who may read it.
#[test]
fn a_completed_ledger_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new("mode");
    drop(desk.open().unwrap());
    fs::set_permissions(&desk.path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&desk.path, format!("{}{{\"seq", desk.text())).unwrap();
    drop(desk.open().unwrap());
    assert_eq!(
        fs::metadata(&desk.path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// The question is asked again before a charge: a count that came in meanwhile, past the lock, is
/// seen.
#[test]
fn a_charge_asks_again_whether_another_ledger_has_charges() {
    let desk = Desk::new("again");
    let mut ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    let before = desk.text();
    let counts = || {
        fs::read_dir(desk.folder.join("state"))
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
    };
    let own = counts()
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .unwrap();
    let count = fs::read_to_string(&own).unwrap();
    let elsewhere = desk.folder.join("state/00.json");
    fs::write(&elsewhere, &count).unwrap();
    let refused = ledger.charge(1, &[pure(0.5)]);
    assert!(
        matches!(refused, Err(LedgerError::OtherLedger { .. })),
        "{refused:?}"
    );
    assert_eq!(
        (desk.text(), fs::read_to_string(&own).unwrap()),
        (before, count),
        "nothing was written"
    );
    // It is not broken by that.
    fs::remove_file(elsewhere).unwrap();
    ledger.charge(1, &[pure(0.5)]).unwrap();
}

/// "Another ledger" is said once for a ledger and remembered for that one alone.
#[test]
fn another_ledger_is_remembered_for_the_one_it_was_said_for() {
    let desk = Desk::new("remembered");
    let open = |name: &str, another: bool| {
        Ledger::open_secret(
            &desk.folder.join(name),
            &terms(),
            &Options {
                another,
                ..desk.options()
            },
        )
    };
    let charge = |name: &str, another: bool| {
        open(name, another).and_then(|mut ledger| ledger.charge(0, &[pure(0.5)]))
    };
    charge("a", false).unwrap();
    assert!(matches!(
        charge("b", false),
        Err(LedgerError::OtherLedger { .. })
    ));
    assert!(!desk.folder.join("b").exists());
    // The same is said before anything is made; not where it was admitted.
    let may_begin_at = |name: &str, another: bool| {
        Ledger::may_begin(
            &desk.folder.join(name),
            &terms(),
            &Options {
                another,
                ..desk.options()
            },
        )
    };
    let may_begin = |another: bool| may_begin_at("not there/b", another);
    assert!(matches!(
        may_begin(false),
        Err(LedgerError::OtherLedger {
            charges: 1,
            gone: false,
            ..
        })
    ));
    assert!(may_begin(true).is_ok());
    // In the place of one that is gone, whichever way it is written.
    let aside = desk.folder.join("aside");
    std::fs::rename(desk.folder.join("a"), &aside).unwrap();
    for place in ["a", "./a"] {
        let refused = may_begin_at(place, false).unwrap_err();
        assert!(
            matches!(refused, LedgerError::OtherLedger { gone: true, .. }),
            "{refused}"
        );
        let said = refused.to_string();
        assert!(
            said.contains("and is gone") && said.contains("put its newest copy back"),
            "{said}"
        );
    }
    std::fs::rename(&aside, desk.folder.join("a")).unwrap();
    charge("b", true).unwrap();
    charge("b", false).unwrap();
    // The first one was never told that there is another beside it.
    assert!(matches!(
        charge("a", false),
        Err(LedgerError::OtherLedger { charges: 2, .. })
    ));
    charge("a", true).unwrap();
    charge("a", false).unwrap();
    charge("b", false).unwrap();
    // Only one at a time, whatever was said.
    let held = open("a", false).unwrap();
    assert!(matches!(
        open("b", true),
        Err(LedgerError::DataSetBusy { .. })
    ));
    drop(held);
    drop(open("b", true).unwrap());
}

/// A capital letter or a second space is no new data set; another name is.
#[test]
fn a_name_that_a_slip_makes_different_is_the_same_data_set() {
    let desk = Desk::new("slip");
    let open = |name: &str, data: &str| {
        Ledger::open_secret(
            &desk.folder.join(name),
            &Terms {
                data: data.into(),
                ..terms()
            },
            &desk.options(),
        )
    };
    open("a", "Northern wards")
        .unwrap()
        .charge(0, &[pure(2.0)])
        .unwrap();
    for data in ["northern wards", "NORTHERN WARDS", "Northern  wards"] {
        let refused = open("b", data).map(|_| ());
        assert!(
            matches!(&refused, Err(LedgerError::OtherLedger { data, .. }) if **data == *"Northern wards"),
            "{data}"
        );
    }
    let held = open("b", "Northern wards 2").unwrap();
    // Nor is it busy for a ledger of another.
    drop(open("a", "Northern wards").unwrap());
    drop(held);
}

/// With another state folder an older copy without charges was taken in silence.
#[test]
fn a_ledger_seen_for_the_first_time_is_told_also_if_it_is_empty() {
    let desk = Desk::new("first-time");
    drop(desk.open().unwrap());
    assert_eq!(desk.open().unwrap().notes().len(), 0, "it was begun here");
    let elsewhere = Options {
        counter: CounterPlace::Folder(desk.folder.join("a/b/c")),
        ..desk.options()
    };
    let open = || Ledger::open_secret(&desk.path, &terms(), &elsewhere).unwrap();
    assert!(open().notes()[0].contains("seen for the first time here"));
    assert_eq!(open().notes().len(), 0, "known from now on");
    assert_eq!(desk.open().unwrap().notes().len(), 0);
}

/// Two servers of one data set: the first had no charge yet, and the second made its folder before
/// its ledger refused.
#[test]
fn a_ledger_without_a_charge_that_is_open_is_seen_before_anything_is_made() {
    let desk = Desk::new("begun");
    let options = desk.options();
    let may_begin = || Ledger::may_begin(&desk.folder.join("b"), &terms(), &options);
    may_begin().unwrap();
    let held = Ledger::open_secret(&desk.folder.join("a"), &terms(), &options).unwrap();
    assert!(matches!(may_begin(), Err(LedgerError::DataSetBusy { .. })));
    drop(held);
    may_begin().unwrap();
    // Nothing stays locked.
    Ledger::open_secret(&desk.folder.join("b"), &terms(), &options).unwrap();
}

/// Whoever published data that have a ledger of `tune` was sent to a ledger that refuses.
#[test]
fn a_ledger_of_another_unit_is_not_proposed() {
    let desk = Desk::new("units");
    let mut ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    drop(ledger);
    let of_studies = Terms {
        unit: "study".into(),
        ..terms()
    };
    let path = desk.folder.join("second.jsonl");
    let options = desk.options();
    let opened = Ledger::open_secret(&path, &of_studies, &options).map(|_| ());
    let looked = Preview::of(&path, &of_studies, &options).map(|_| ());
    for refused in [opened, looked] {
        let said = refused.unwrap_err().to_string();
        let unit = format!("it counts by {:?} with the accountant ", terms().unit);
        assert!(
            said.contains(&unit) && said.contains("cannot share a ledger"),
            "{said}"
        );
        assert!(!said.contains("use that one"), "{said}");
    }
    // One of the same unit is.
    let said = Preview::of(&path, &terms(), &options)
        .map(|_| ())
        .unwrap_err();
    assert!(said.to_string().contains("use that one"), "{said}");
}

/// Another user, a container or another state folder begins with a new budget.
#[test]
fn the_first_ledger_of_an_account_says_what_is_not_known() {
    let desk = Desk::new("first");
    let told = "no ledger was counted on this account before; charges ";
    let notes = |ledger: &Ledger| ledger.notes().to_vec();
    let looked = Preview::of(&desk.path, &terms(), &desk.options()).unwrap();
    assert!(looked.notes()[0].starts_with(told), "{:?}", looked.notes());
    let first = notes(&desk.open().unwrap());
    assert!(first.len() == 1 && first[0].starts_with(told), "{first:?}");
    assert!(
        first[0].contains("other users, on other machines"),
        "{first:?}"
    );
    // Once: neither of the same one again, nor of another one.
    assert_eq!(notes(&desk.open().unwrap()), Vec::<String>::new());
    let other = Terms {
        data: "others".into(),
        ..terms()
    };
    let other = Ledger::open_secret(&desk.folder.join("other.jsonl"), &other, &desk.options());
    assert_eq!(notes(&other.unwrap()), Vec::<String>::new());
}

/// Sigma at the end of a word is another character in lower case.
#[test]
fn final_sigma_opens_no_second_budget() {
    assert!(means_the_same(
        "\u{3bf}\u{3b4}\u{3bf}\u{3c3}",
        "\u{39f}\u{394}\u{39f}\u{3a3}"
    ));
}
