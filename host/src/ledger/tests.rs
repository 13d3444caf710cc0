//! The ledger under everything that happens to files: edits, exchanges, older copies, deaths
//! between two writes.

use std::fs;
use std::path::PathBuf;

use super::*;
use sordino_core::privacy::NeighboringRelation;

/// What a hostile reading of the mends found.
mod hostile;
/// What is left, and what may be told between two contributions.
mod left;
/// Charges that become durable with what they pay for.
mod planned;
/// What is found by those who only look.
mod previews;
/// Charges, deaths, edits and older copies in any order.
mod sequences;

struct Desk {
    folder: PathBuf,
    path: PathBuf,
}

impl Desk {
    fn new(name: &str) -> Desk {
        let folder =
            std::env::temp_dir().join(format!("sordino-host-ledger-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        Desk {
            path: folder.join("ledger.jsonl"),
            folder,
        }
    }

    fn options(&self) -> Options {
        Options {
            counter: CounterPlace::Folder(self.folder.join("state")),
            another: false,
            next: vec![pure(0.5)],
        }
    }

    fn alone(&self) -> Options {
        Options {
            counter: CounterPlace::Nowhere,
            ..self.options()
        }
    }

    fn open(&self) -> Result<Ledger, LedgerError> {
        Ledger::open_secret(&self.path, &terms(), &self.options())
    }

    fn open_alone(&self) -> Result<Ledger, LedgerError> {
        Ledger::open_secret(&self.path, &terms(), &self.alone())
    }

    fn simulated(&self) -> Result<Ledger, LedgerError> {
        Ledger::open_simulated(&self.path, &terms())
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn pure(epsilon: f64) -> Event {
    Event::PureEpsilon {
        epsilon,
        relation: NeighboringRelation::ReplaceOne,
    }
}

fn round(noise_multiplier: f64) -> Event {
    let relation = NeighboringRelation::ReplaceSpecial;
    Event::PoissonSampledGaussian {
        sampling_probability: 0.25,
        noise_multiplier,
        relation,
    }
}

fn terms() -> Terms {
    Terms {
        data: "wards".into(),
        unit: "scored record".into(),
        records: Some(5000),
        accounting: Accounting::Sum,
        epsilon_max: Some(2.0),
        delta: 0.0,
    }
}

fn rounds() -> Terms {
    Terms {
        unit: "agent".into(),
        accounting: Accounting::Renyi,
        epsilon_max: Some(4.0),
        delta: 1e-5,
        ..terms()
    }
}

/// The same `--counter` was two places: a server counted in the folder, and a site looked for
/// ledgers in a folder of it.
#[test]
fn a_state_folder_has_the_counts_of_ledgers_in_a_folder_of_its_own() {
    let desk = Desk::new("under");
    let state = desk.folder.join("state");
    let place = CounterPlace::Folder(state.join("ledgers"));
    assert_eq!(CounterPlace::under(&state).unwrap(), place);
    fs::create_dir_all(state.join("contributions")).unwrap();
    assert_eq!(CounterPlace::under(&state).unwrap(), place);
    // One that an earlier program counted in goes on: a new count would not see an older copy.
    let options = Options {
        counter: CounterPlace::Folder(state.clone()),
        ..desk.options()
    };
    let mut ledger = Ledger::open_secret(&desk.path, &terms(), &options).unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    drop(ledger);
    assert_eq!(
        CounterPlace::under(&state).unwrap(),
        CounterPlace::Folder(state.clone())
    );
    fs::write(desk.folder.join("file"), "").unwrap();
    assert!(CounterPlace::under(&desk.folder.join("file")).is_err());
}

#[test]
fn charges_outlive_the_program_and_the_budget_holds() {
    let desk = Desk::new("outlive");
    let mut ledger = desk.open().unwrap();
    assert!(
        matches!(desk.open(), Err(LedgerError::Busy { .. })),
        "locked"
    );
    ledger.charge(0, &[pure(0.5), pure(0.5)]).unwrap();
    drop(ledger);
    let mut ledger = desk.open().unwrap();
    // A new party begins at release 0 again: under secret noise that is another draw and another
    // charge.
    ledger.charge(0, &[pure(0.5)]).unwrap();
    assert_eq!(
        ledger.spent().unwrap(),
        Spent {
            epsilon: 1.5,
            delta: 0.0,
            charges: 2
        }
    );
    let before = desk.text();
    let refused = ledger.charge(1, &[pure(0.25), pure(0.5)]).unwrap_err();
    assert!(
        matches!(
            refused,
            LedgerError::OverBudget {
                epsilon: 2.25,
                epsilon_max: 2.0,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(desk.text(), before, "refused before it is written");
    assert!(matches!(
        ledger.charge(7, &[pure(0.1)]),
        Err(LedgerError::Gap {
            release: 7,
            charges: 2
        })
    ));
    assert!(
        matches!(
            ledger.charge(2, &[round(1.0)]),
            Err(LedgerError::Accountant(_))
        ),
        "not a pure event"
    );
    ledger.charge(2, &[pure(0.5)]).unwrap();
    assert_eq!(
        (ledger.len(), ledger.kind(), ledger.notes().len()),
        (3, SourceKind::Secret, 0)
    );
    assert!(
        desk.text()
            .lines()
            .all(|line| line.contains("\"noise\":\"secret noise\""))
    );
}

/// Issue 10, item 4: twelve lines at z = 1 rewritten to z = 9 were believed.
#[test]
fn a_tampered_line_is_refused_with_its_number() {
    let desk = Desk::new("tampered");
    let open = |options: &Options| Ledger::open_secret(&desk.path, &rounds(), options);
    let mut ledger = open(&desk.options()).unwrap();
    for release in 0..4 {
        ledger.charge(release, &[round(2.0)]).unwrap();
    }
    let spent = ledger.spent().unwrap();
    drop(ledger);
    let text = desk.text();
    assert_eq!(open(&desk.options()).unwrap().spent().unwrap(), spent);
    let lines: Vec<&str> = text.lines().collect();
    let cheaper = lines[2].replace("\"noise_multiplier\":2.0", "\"noise_multiplier\":9.0");
    assert_ne!(cheaper, lines[2]);
    for (damaged, number) in [
        (text.replace(lines[2], &cheaper), 3),
        (text.replace(&format!("{}\n", lines[3]), ""), 4),
        (text.replace(lines[1], lines[2]), 2),
        (
            text.replace("\"epsilon_max\":4.0", "\"epsilon_max\":9.0"),
            1,
        ),
        (text.replace(lines[2], "{}"), 3),
        (text.replace(lines[0], "x"), 1),
    ] {
        fs::write(&desk.path, &damaged).unwrap();
        for options in [desk.options(), desk.alone()] {
            match open(&options).err() {
                Some(LedgerError::Damaged { line, .. }) => assert_eq!(line, number, "{damaged}"),
                other => panic!("{other:?}: {damaged}"),
            }
        }
    }
    // The same under simulated noise.
    fs::remove_file(&desk.path).unwrap();
    let mut ledger = Ledger::open_simulated(&desk.path, &rounds()).unwrap();
    ledger.charge(0, &[round(2.0)]).unwrap();
    ledger.charge(1, &[round(2.0)]).unwrap();
    drop(ledger);
    fs::write(&desk.path, desk.text().replacen("r\":2.0", "r\":9.0", 1)).unwrap();
    let refused = Ledger::open_simulated(&desk.path, &rounds()).err();
    assert!(
        matches!(refused, Some(LedgerError::Damaged { line: 2, .. })),
        "{refused:?}"
    );
}

/// Findings 3: `sed -i`, an editor's save or `rm` between opening and charging took the charge with
/// it.
#[test]
fn a_ledger_exchanged_while_open_charges_nothing() {
    type Attack = (&'static str, fn(&Desk));
    let exchange: [Attack; 4] = [
        ("replaced by a copy", |desk| {
            fs::copy(&desk.path, desk.folder.join("copy")).unwrap();
            fs::rename(desk.folder.join("copy"), &desk.path).unwrap();
        }),
        ("removed", |desk| fs::remove_file(&desk.path).unwrap()),
        ("cut in place", |desk| {
            fs::OpenOptions::new()
                .write(true)
                .open(&desk.path)
                .unwrap()
                .set_len(10)
                .unwrap();
        }),
        ("written to by another", |desk| {
            let mut file = fs::OpenOptions::new()
                .append(true)
                .open(&desk.path)
                .unwrap();
            std::io::Write::write_all(&mut file, b"x\n").unwrap();
        }),
    ];
    for (what, attack) in exchange {
        let desk = Desk::new("exchanged");
        let mut ledger = desk.open().unwrap();
        ledger.charge(0, &[pure(0.5)]).unwrap();
        attack(&desk);
        // The lock holds, whatever became of the file.
        assert!(
            matches!(desk.open(), Err(LedgerError::Busy { .. })),
            "{what}"
        );
        assert!(
            matches!(
                ledger.charge(1, &[pure(0.5)]),
                Err(LedgerError::Replaced { .. })
            ),
            "{what}"
        );
        assert_eq!(ledger.len(), 1, "{what}");
    }
}

#[test]
fn an_older_copy_is_refused_and_says_what_to_do() {
    let desk = Desk::new("rollback");
    let mut ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(0.25)]).unwrap();
    let early = desk.text();
    ledger.charge(1, &[pure(0.25)]).unwrap();
    let middle = desk.text();
    ledger.charge(2, &[pure(0.25)]).unwrap();
    drop(ledger);
    let newest = desk.text();
    fs::write(&desk.path, &early).unwrap();
    let refused = desk.open().err().unwrap();
    assert!(
        matches!(
            refused,
            LedgerError::RolledBack {
                found: 1,
                known: 3,
                ..
            }
        ),
        "{refused}"
    );
    assert!(refused.to_string().contains("put its newest copy back"));
    // One line behind is what a death between the two writes leaves: the line is added, to the
    // byte.
    fs::write(&desk.path, &middle).unwrap();
    let ledger = desk.open().unwrap();
    assert_eq!(
        (ledger.spent().unwrap().epsilon, ledger.notes().len()),
        (0.75, 1)
    );
    drop(ledger);
    assert_eq!(desk.text(), newest);
    // Another history of the same ledger.
    fs::write(&desk.path, &early).unwrap();
    let mut other = desk.open_alone().unwrap();
    for release in 1..4 {
        other.charge(release, &[pure(0.125)]).unwrap();
    }
    drop(other);
    assert!(matches!(desk.open(), Err(LedgerError::RolledBack { .. })));
    // Longer than known, with the same beginning: charges made on another machine.
    fs::write(&desk.path, &newest).unwrap();
    let mut ledger = desk.open_alone().unwrap();
    ledger.charge(3, &[pure(0.25)]).unwrap();
    drop(ledger);
    assert_eq!(desk.open().unwrap().len(), 4);
    // Moved, it says where it was.
    let moved = desk.folder.join("moved.jsonl");
    fs::rename(&desk.path, &moved).unwrap();
    let ledger = Ledger::open_secret(&moved, &terms(), &desk.options()).unwrap();
    let told = format!("last seen at {}", desk.path.display());
    assert!(ledger.notes()[0].contains(&told), "{:?}", ledger.notes());
    drop(ledger);
    fs::rename(&moved, &desk.path).unwrap();
    drop(desk.open().unwrap());
    // A copy under another name is the same ledger: it cannot be open twice, nor be charged beside
    // the first.
    let copy = desk.folder.join("copy.jsonl");
    fs::copy(&desk.path, &copy).unwrap();
    let open_copy = || Ledger::open_secret(&copy, &terms(), &desk.options());
    let mut ledger = desk.open().unwrap();
    assert!(matches!(open_copy(), Err(LedgerError::Busy { .. })));
    ledger.charge(4, &[pure(0.25)]).unwrap();
    ledger.charge(5, &[pure(0.25)]).unwrap();
    drop(ledger);
    match open_copy().err() {
        Some(LedgerError::RolledBack {
            found: 4,
            known: 6,
            seen,
            ..
        }) => assert_eq!(seen, desk.path),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_ledger_of_a_data_set_is_refused() {
    let desk = Desk::new("second");
    let mut ledger = desk.open().unwrap();
    // Removed while empty: nothing is lost, and nothing is held against it.
    drop(ledger);
    fs::remove_file(&desk.path).unwrap();
    ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(2.0)]).unwrap();
    drop(ledger);
    fs::rename(&desk.path, desk.folder.join("away.jsonl")).unwrap();
    match desk.open().err() {
        Some(LedgerError::OtherLedger {
            path,
            charges: 1,
            gone: true,
            ..
        }) => assert_eq!(path, desk.path),
        other => panic!("{other:?}"),
    }
    // It is told first, whatever else is missing.
    let without = Terms {
        epsilon_max: None,
        ..terms()
    };
    let refused = Ledger::open_secret(&desk.path, &without, &desk.options());
    let told = refused.err().unwrap().to_string();
    assert!(
        told.contains(&format!("was at {} and is gone", desk.path.display())),
        "{told}"
    );
    assert!(!desk.path.exists(), "refused before it is made");
    let another = Terms {
        data: "other wards".into(),
        ..terms()
    };
    assert!(Ledger::open_secret(&desk.path, &another, &desk.options()).is_ok());
    fs::remove_file(&desk.path).unwrap();
    assert!(
        Ledger::open_secret(
            &desk.path,
            &terms(),
            &Options {
                another: true,
                ..desk.options()
            }
        )
        .is_ok()
    );
}

#[test]
fn the_first_line_is_checked_by_name() {
    let desk = Desk::new("head");
    let without = Terms {
        epsilon_max: None,
        ..terms()
    };
    let open = |terms: &Terms| Ledger::open_secret(&desk.path, terms, &desk.options());
    assert!(matches!(
        open(&without),
        Err(LedgerError::Terms {
            key: "max_epsilon",
            ..
        })
    ));
    assert!(!desk.path.exists());
    drop(open(&terms()).unwrap());
    let not_asked = Terms {
        epsilon_max: None,
        records: None,
        ..terms()
    };
    assert_eq!(open(&not_asked).unwrap().terms(), &terms());
    for (asked, key) in [
        (
            Terms {
                data: "other".into(),
                ..terms()
            },
            "data set",
        ),
        (
            Terms {
                unit: "agent".into(),
                ..terms()
            },
            "unit",
        ),
        (
            Terms {
                records: Some(3000),
                ..terms()
            },
            "records",
        ),
        (
            Terms {
                epsilon_max: Some(3.0),
                ..terms()
            },
            "max_epsilon",
        ),
        (
            Terms {
                delta: 1e-9,
                ..terms()
            },
            "delta",
        ),
        (
            Terms {
                accounting: Accounting::Renyi,
                delta: 1e-5,
                ..terms()
            },
            "accountant",
        ),
    ] {
        match open(&asked).err() {
            Some(LedgerError::Mismatch { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{other:?}"),
        }
    }
    let refused = open(&Terms {
        records: Some(3000),
        ..terms()
    })
    .err()
    .unwrap()
    .to_string();
    assert!(
        refused.contains("records 5000") && refused.contains("records 3000"),
        "{refused}"
    );
    assert!(matches!(
        desk.simulated(),
        Err(LedgerError::Mismatch { key: "noise", .. })
    ));
    for bad in [
        Terms {
            data: String::new(),
            ..terms()
        },
        Terms {
            data: "a\nb".into(),
            ..terms()
        },
        Terms {
            data: " wards".into(),
            ..terms()
        },
        Terms {
            data: "wards\u{a0}".into(),
            ..terms()
        },
        Terms {
            unit: "agent ".into(),
            ..terms()
        },
        Terms {
            epsilon_max: Some(f64::NAN),
            ..terms()
        },
        Terms {
            epsilon_max: Some(f64::INFINITY),
            ..terms()
        },
        Terms {
            delta: 0.0,
            ..rounds()
        },
        Terms {
            delta: 1.0,
            ..terms()
        },
    ] {
        assert!(
            matches!(open(&bad), Err(LedgerError::Terms { .. })),
            "{bad:?}"
        );
    }
}

/// A torn line was refused for ever under secret noise, with no way back.
#[test]
fn a_torn_last_line_counts_as_charged() {
    let desk = Desk::new("torn");
    let mut ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(0.25)]).unwrap();
    let one = desk.text();
    ledger.charge(1, &[pure(1.0)]).unwrap();
    drop(ledger);
    let two = desk.text();
    for cut in 0..=two.len() - one.len() {
        let left = &two[..two.len() - cut];
        // The second count knows the line in full.
        fs::write(&desk.path, left).unwrap();
        assert_eq!(
            desk.open().unwrap().spent().unwrap().epsilon,
            1.25,
            "{left}"
        );
        assert_eq!(desk.text(), two);
        // Without it: what the line says, or what the next charge costs (0.5).
        fs::write(&desk.path, left).unwrap();
        let epsilon = desk.open_alone().unwrap().spent().unwrap().epsilon;
        let told = left[one.len()..].contains("]");
        let expected = if left.len() == one.len() {
            0.25
        } else if told {
            1.25
        } else {
            0.75
        };
        assert_eq!(epsilon, expected, "{left}");
        assert_eq!(
            desk.open_alone().unwrap().spent().unwrap().epsilon,
            expected,
            "completed for good"
        );
    }
    // What an ext4 leaves after a loss of power: zero bytes.
    fs::write(&desk.path, format!("{one}\0\0\0")).unwrap();
    assert_eq!(desk.open_alone().unwrap().spent().unwrap().epsilon, 0.75);
    fs::write(&desk.path, format!("{one}\0\0\0")).unwrap();
    let unknown = Options {
        next: Vec::new(),
        ..desk.alone()
    };
    assert!(matches!(
        Ledger::open_secret(&desk.path, &terms(), &unknown),
        Err(LedgerError::Damaged { line: 3, .. })
    ));
    // A first line that is cut off is no ledger.
    fs::write(&desk.path, "{\"sch").unwrap();
    assert!(matches!(
        desk.open(),
        Err(LedgerError::Damaged { line: 1, .. })
    ));
}

#[test]
fn simulated_charges_count_once_and_torn_lines_are_dropped() {
    let desk = Desk::new("simulated");
    let mut ledger = desk.simulated().unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    ledger.charge(1, &[pure(0.5)]).unwrap();
    ledger.sync().unwrap();
    drop(ledger);
    let two = desk.text();
    let one = two
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    for cut in 1..two.len() {
        fs::write(&desk.path, &two[..cut]).unwrap();
        let mut ledger = desk.simulated().unwrap();
        let expected = if cut == two.len() {
            2
        } else {
            usize::from(cut >= one.len())
        };
        assert_eq!(ledger.len(), expected, "{cut}");
        ledger.charge(0, &[pure(0.5)]).unwrap();
        ledger.charge(1, &[pure(0.5)]).unwrap();
        ledger.charge(1, &[pure(0.5)]).unwrap();
        assert!(matches!(
            ledger.charge(0, &[pure(0.25)]),
            Err(LedgerError::Changed { release: 0 })
        ));
        assert_eq!(ledger.spent().unwrap().epsilon, 1.0);
        drop(ledger);
        assert_eq!(desk.text(), two, "the same bytes as without the death");
    }
    let extra: Vec<_> = fs::read_dir(&desk.folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(extra, ["ledger.jsonl"], "no lock, no counter");
    let mut memory = Ledger::in_memory(&Terms {
        epsilon_max: None,
        ..rounds()
    })
    .unwrap();
    for release in 0..30 {
        memory.charge(release, &[round(0.5)]).unwrap();
    }
    memory.sync().unwrap();
    assert!(memory.spent().unwrap().epsilon > 20.0 && memory.entries()[29].release == 29);
}

/// Findings 7: a host that takes its budget from a checkpoint spends 7.8 of 4 in fourteen releases.
#[test]
fn a_budget_comes_back_from_the_ledger() {
    let desk = Desk::new("resumed");
    let mut total = 0;
    // Every life forgets all but the ledger.
    for _ in 0..40 {
        let mut ledger = Ledger::open_secret(&desk.path, &rounds(), &desk.options()).unwrap();
        match ledger.charge(0, &[round(1.0)]) {
            Ok(()) => total += 1,
            Err(LedgerError::OverBudget { epsilon, .. }) => assert!(epsilon > 4.0),
            Err(other) => panic!("{other}"),
        }
        assert!(ledger.spent().unwrap().epsilon <= 4.0);
    }
    assert!((2..14).contains(&total), "{total}");
    let mut ledger = Ledger::open_secret(&desk.path, &rounds(), &desk.options()).unwrap();
    // Two that fit one by one and not together.
    let small = round(20.0);
    let mut count = 0;
    while ledger.admits(&vec![small; count + 1]).is_ok() {
        count += 1;
        assert!(count < 10_000);
    }
    assert!(count > 1 && ledger.admits(&[small]).is_ok(), "{count}");
    ledger.charge(0, &vec![small; count]).unwrap();
    assert!(ledger.charge(0, &[small]).is_err());
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let desk = Desk::new("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&desk.path)
            .status()
            .unwrap()
            .success()
    );
    for opened in [desk.open(), desk.simulated()] {
        assert!(matches!(
            opened.err(),
            Some(LedgerError::File(FileError::NotRegular { .. }))
        ));
    }
    let zero = Ledger::open_secret(std::path::Path::new("/dev/null"), &terms(), &desk.options());
    assert!(zero.is_err());
    let none = Ledger::open_secret(&desk.folder.join("no/such"), &terms(), &desk.options());
    assert!(matches!(none, Err(LedgerError::File(_))));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_refused_unless_asked() {
    let desk = Desk::new("state");
    fs::write(
        desk.folder.join("state"),
        "a file where the folder should be",
    )
    .unwrap();
    assert!(matches!(desk.open(), Err(LedgerError::Counter { .. })));
    assert!(!desk.path.exists());
    assert!(desk.open_alone().is_ok());
    fs::remove_file(desk.folder.join("state")).unwrap();
    // From now on it is counted, and says that it cannot know what was before.
    let mut ledger = desk.open_alone().unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    drop(ledger);
    assert_eq!(desk.open().unwrap().notes().len(), 1);
    let counter = fs::read_dir(desk.folder.join("state"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let counter = counter
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .unwrap();
    fs::write(counter, "{").unwrap();
    assert!(matches!(
        desk.open(),
        Err(LedgerError::CounterDamaged { .. })
    ));
}

/// A ledger of Gaussians on everybody counts exactly: a plan of ε gets its last release, one
/// release more is refused.
#[test]
fn a_ledger_of_gaussians_counts_exactly() {
    let desk = Desk::new("gaussian");
    let release = |noise_multiplier| Event::Gaussian {
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    // Four of multiplier 2 are one of 1: 4.378 at 1e-5 (Balle and Wang).
    let exactly = Terms {
        accounting: Accounting::Gaussian,
        epsilon_max: Some(4.38),
        ..rounds()
    };
    let open = |terms: &Terms| Ledger::open_secret(&desk.path, terms, &desk.options());
    let mut ledger = open(&exactly).unwrap();
    ledger.charge(0, &[release(2.0), release(2.0)]).unwrap();
    drop(ledger);
    assert!(
        desk.text()
            .lines()
            .next()
            .unwrap()
            .contains("\"accountant\":\"gaussian\"")
    );
    let mut ledger = open(&exactly).unwrap();
    ledger.charge(1, &[release(2.0)]).unwrap();
    ledger.admits(&[release(2.0)]).unwrap();
    assert!(matches!(
        ledger.admits(&[release(2.0), release(10.0)]),
        Err(LedgerError::OverBudget { .. })
    ));
    ledger.charge(2, &[release(2.0)]).unwrap();
    let spent = ledger.spent().unwrap();
    assert!(
        (spent.epsilon - 4.3777).abs() < 1e-3 && spent.charges == 3 && spent.delta == 1e-5,
        "{spent:?}"
    );
    assert!(matches!(
        ledger.charge(3, &[release(10.0)]),
        Err(LedgerError::OverBudget { .. })
    ));
    // What it cannot count it refuses, and it is no other ledger.
    assert!(matches!(
        ledger.charge(3, &[round(9.0)]),
        Err(LedgerError::Accountant(_))
    ));
    drop(ledger);
    assert!(matches!(
        open(&Terms {
            accounting: Accounting::Renyi,
            ..exactly
        }),
        Err(LedgerError::Mismatch { .. })
    ));
    // Negative control: by Rényi divergences the fourth does not fit.
    let renyi = Desk::new("gaussian-renyi");
    let terms = Terms {
        accounting: Accounting::Renyi,
        epsilon_max: Some(4.38),
        ..rounds()
    };
    let mut ledger = Ledger::open_secret(&renyi.path, &terms, &renyi.options()).unwrap();
    (0..3).for_each(|index| ledger.charge(index, &[release(2.0)]).unwrap());
    assert!(matches!(
        ledger.charge(3, &[release(2.0)]),
        Err(LedgerError::OverBudget { .. })
    ));
}
