//! What commands on prior files and ledgers tell somebody who sees them for the first time.

use std::process::Output;

use crate::prior::{case, publish, read};
use crate::util::{command, done, json, printed, refused, said, text};

/// A ledger for `mine` refused `Mine`, and the second count refused a ledger of its own for `Mine`.
#[test]
fn names_that_differ_in_case_alone_are_told_of() {
    let folder = case("case", 60);
    done(&folder, &publish(&["p.safetensors"]));
    let mut words = publish(&["q.safetensors"]);
    let place = words.iter().position(|word| *word == "test").unwrap();
    words[place] = "Test";
    let case = refused(&folder, 2, &words);
    assert!(
        case.contains("differ only in case or white space"),
        "{case}"
    );
    assert!(!case.contains("--ledger"), "{case}");
    words[place] = "other";
    let other = refused(&folder, 2, &words);
    assert!(
        other.contains("; if these are the same data, write the name as the ledger does; else --ledger names a file of its own"),
        "{other}"
    );
}

/// What a space has to say alike is in the text, not in JSON alone.
#[test]
fn scales_and_pictures_are_told_of() {
    let folder = case("scales", 60);
    done(&folder, &publish(&["p.safetensors"]));
    let words = ["prior", "show", "p.safetensors", "--out", "p.svg"];
    let shown = done(&folder, &words);
    assert!(
        said(&shown).contains("p.svg is written"),
        "{}",
        said(&shown)
    );
    let shown = text(&shown.stdout);
    let rate = shown.lines().find(|line| line.contains("rate: ")).unwrap();
    assert!(rate.ends_with(", on a logarithmic scale"), "{rate}");
    let kind = shown.lines().find(|line| line.contains("kind: ")).unwrap();
    assert!(!kind.contains("scale") && !kind.contains("order"), "{kind}");
    let c = printed(
        &folder,
        &["prior", "export", "p.safetensors", "--lang", "c"],
    );
    assert_eq!(c.matches("digest of its label and numbers").count(), 1);
    assert_eq!(
        c.matches("Of this export, made of the digest above")
            .count(),
        1
    );
}

/// An older copy was shown as the truth.
#[test]
fn an_older_copy_of_a_ledger_is_warned_of() {
    let folder = case("older", 60);
    let counted = |words: &[&str]| -> Output {
        let words = words.iter().copied().filter(|word| *word != "--no-counter");
        let words: Vec<&str> = words.collect();
        let mut command = command(&folder, &words);
        let output = command.env("XDG_STATE_HOME", folder.join("state")).output();
        output.unwrap()
    };
    let made = counted(&publish(&["p.safetensors"]));
    assert!(made.status.success(), "{}", said(&made));
    let shown = counted(&["ledger"]);
    assert!(!text(&shown.stdout).contains("WARNING"));
    let whole = read(&folder, "sordino-ledger.jsonl");
    for (lines, needed) in [
        (
            1,
            "holds 0 charges, or others than the 2 that were made in it",
        ),
        (
            2,
            "its last charge, which the second count knows, is missing",
        ),
    ] {
        let cut: String = whole.split_inclusive('\n').take(lines).collect();
        std::fs::write(folder.join("sordino-ledger.jsonl"), &cut).unwrap();
        let shown = counted(&["ledger"]);
        let shown = text(&shown.stdout);
        let warning = shown.lines().find(|line| line.starts_with("WARNING"));
        assert!(warning.unwrap().contains(needed), "{shown}");
        let facts = json(&counted(&["ledger", "--format", "json"]));
        let warning = facts["ledgers"][0]["warning"].as_str();
        assert!(warning.unwrap().contains(needed), "{facts}");
        assert_eq!(read(&folder, "sordino-ledger.jsonl"), cut);
    }
}
