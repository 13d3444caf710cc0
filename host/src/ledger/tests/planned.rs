//! A death at every step between planning a charge and writing it down costs nothing that did not
//! leave, and never forgets what did.

use super::*;

#[test]
fn a_plan_is_written_down_once_and_by_whoever_finds_it() {
    let desk = Desk::new("planned");
    let mut ledger = desk.open().unwrap();
    ledger.charge(0, &[pure(0.5)]).unwrap();
    // Planned, and the process dies before anything was made durable: nothing left, nothing is
    // charged.
    let planned = ledger.plan(1, &[pure(0.25)]).unwrap().unwrap();
    let journal = serde_json::to_string(&planned).unwrap();
    drop(ledger);
    assert_eq!(desk.open().unwrap().len(), 1);
    // The journal holds it, and the process dies before the ledger does: the next opening writes it
    // down.
    let read: Planned = serde_json::from_str(&journal).unwrap();
    assert_eq!(read, planned);
    let deferred = Deferred::new(desk.open().unwrap(), Some(&read)).unwrap();
    assert_eq!(
        (deferred.ledger().len(), Budgeted::mark(&deferred)),
        (2, read.mark)
    );
    drop(deferred);
    // And once, however often it is found.
    drop(Deferred::new(desk.open().unwrap(), Some(&read)).unwrap());
    let mut ledger = desk.open().unwrap();
    assert_eq!(
        ledger
            .entries()
            .iter()
            .map(|entry| entry.events[0])
            .collect::<Vec<_>>(),
        [pure(0.5), pure(0.25)]
    );
    // What follows something else, or would be charged in the place of something else, is refused
    // by name.
    ledger.settle(&read).unwrap();
    let other = Planned {
        entry: Entry {
            events: vec![pure(0.125)],
            ..read.entry.clone()
        },
        ..read.clone()
    };
    let changed = |result| matches!(result, Err(LedgerError::Changed { release: 1 }));
    let later = Planned {
        entry: Entry {
            sequence: 2,
            ..other.entry.clone()
        },
        ..other.clone()
    };
    let far = Planned {
        entry: Entry {
            sequence: 9,
            ..other.entry.clone()
        },
        ..other
    };
    assert!(changed(ledger.settle(&later)) && changed(ledger.settle(&far)));
    let before = Planned {
        mark: Mark {
            charges: 2,
            ..later.mark
        },
        entry: later.entry,
    };
    assert!(ledger.settle(&before).is_err());
    assert_eq!(ledger.len(), 2);
}
