//! Random edits of everything that is read from outside; `cargo xtask fuzz` goes on where this
//! ends.

use sordino_tests::fuzz::{TARGETS, Tally, Target, search};

fn few(name: &str) -> Tally {
    let target: &Target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let tally = search(target, 1, |tally| tally.cases < target.cases).unwrap_or_else(|finding| {
        panic!(
            "{}\n{}",
            finding.what,
            String::from_utf8_lossy(&finding.input)
        )
    });
    // Both ways are taken often; otherwise the edits are too weak or too strong to say anything.
    let least = target.cases / 50;
    assert!(
        tally.read > least && tally.refused > least,
        "{name}: {tally:?}"
    );
    tally
}

macro_rules! targets {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            few($name);
        })*

        #[test]
        fn every_target_has_a_test() {
            assert!(TARGETS.iter().map(|target| target.name).eq([$($name),*]));
        }
    };
}

targets! {
    scenarios "scenario"
    settings "setting"
    traces "trace"
    mine_fields "landmine"
    tables "table"
    ledgers "ledger"
    prior_files "prior"
    checkpoints "checkpoint"
    frames "frame"
}

/// Negative controls: a reader that panics, one that is not complete, one that says too much are
/// all found.
#[test]
fn what_is_wrong_is_found() {
    use sordino_tests::fuzz::Refusal;
    type Check = fn(&[u8]) -> Result<(), Refusal>;
    let wrong: [(Check, &str); 3] = [
        (
            |bytes| {
                if bytes.len() > 9 {
                    panic!("found")
                } else {
                    Ok(())
                }
            },
            "it panicked",
        ),
        (|_| Err(Refusal::Broken("x".into())), "x"),
        (
            |_| Err(Refusal::Line("two\nlines".into())),
            "not one short line",
        ),
    ];
    for (check, expected) in wrong {
        let target = Target {
            check,
            ..TARGETS[2]
        };
        let finding = search(&target, 1, |tally| tally.cases < 100).unwrap_err();
        assert!(finding.what.contains(expected), "{}", finding.what);
    }
}
