//! `sordino prior publish` and `sordino ledger` for who answers for the data: what is told, what is
//! left behind, what is left of the budget.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_host::ledger::contributions::Contributions;

use crate::prior::{case, publish, read};
use crate::util::{command, done, json, printed, refused, said};

/// Every file below a folder.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            names.insert(path);
        }
    }
    names
}

/// The arguments of a publication with this ε instead of 2.
fn of_epsilon(epsilon: &'static str, more: &[&'static str]) -> Vec<&'static str> {
    let mut words = publish(more);
    let place = words.iter().position(|word| *word == "--epsilon").unwrap();
    words[place + 1] = epsilon;
    words
}

/// With a second count, in a state folder of the test's own.
fn counted(folder: &Path, words: &[&'static str]) -> Output {
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| *word != "--no-counter")
        .collect();
    command(folder, &words)
        .env("XDG_STATE_HOME", folder.join("state"))
        .output()
        .unwrap()
}

/// What it said, having failed.
fn failed(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(2), "{}", said(output));
    said(output)
}

#[test]
fn a_spent_budget_says_whose_it_is_and_what_still_fits() {
    let folder = case("room", 60);
    done(&folder, &publish(&["p.safetensors"]));
    let before = names(&folder);
    let over = refused(
        &folder,
        2,
        &of_epsilon("1.9", &["q.safetensors", "--sign", "new.key"]),
    );
    let ledger = std::fs::canonicalize(folder.join("sordino-ledger.jsonl")).unwrap();
    let named = format!(
        "budget spent: the data set \"test\" is named in the ledger {}, which holds ε 2.000 of 2.5 at δ = 0.0001",
        ledger.display()
    );
    assert!(over.contains(&named), "{over}");
    let (_, fits) = over.split_once("at most ε ").unwrap();
    let (fits, _) = fits.split_once(" still fits").unwrap();
    assert!(fits.parse::<f64>().unwrap() > 0.5, "{over}");
    assert_eq!(names(&folder), before, "a refusal leaves nothing behind");
    // What is said to fit does.
    done(
        &folder,
        &of_epsilon(fits.to_owned().leak(), &["q.safetensors"]),
    );
}

#[test]
fn a_dry_run_says_what_publishing_then_costs_and_leaves_nothing() {
    let folder = case("dry", 60);
    let before = names(&folder);
    let more = ["p.safetensors", "--sign", "new.key", "--format", "json"];
    let dry = json(&done(
        &folder,
        &publish(&[&more[..], &["--dry-run"]].concat()),
    ));
    assert_eq!(names(&folder), before);
    let text = printed(&folder, &publish(&["p.safetensors", "--dry-run"]));
    for needed in [
        "a dry run: nothing was charged, and nothing was written",
        "the file would cost ε 2.000 at δ = 0.000100: whether a study was used",
        "ε 0 now, 2.000 of 2.5 after it; at most ε",
    ] {
        assert!(text.contains(needed), "{needed}\n{text}");
    }
    assert_eq!(names(&folder), before);
    let output = done(&folder, &publish(&more));
    let made = json(&output);
    for key in ["epsilon", "replace_epsilon", "delta", "features"] {
        assert_eq!(dry[key], made[key], "{key}");
    }
    assert_eq!(dry["spent_after"], made["spent"]);
    let bytes = std::fs::metadata(folder.join("p.safetensors"))
        .unwrap()
        .len() as f64;
    // A signature is some hundreds of bytes, and numbers of the label have as many digits as they
    // need.
    let expected = dry["bytes"].as_f64().unwrap();
    assert!((bytes - expected).abs() < 600.0, "{bytes} {expected}");
    // A key that was not there is told of, with its name; one that is there is not.
    let key = made["signed_by"].as_str().unwrap();
    let told = format!("a new one was made: new.key, fingerprint {key}");
    assert!(said(&output).contains(&told), "{}", said(&output));
    let words = of_epsilon("0.5", &["q.safetensors", "--sign", "new.key"]);
    let again = done(&folder, &words);
    assert!(!said(&again).contains("a new one was made"));
    // A dry run refuses what publishing refuses.
    let over = refused(&folder, 2, &publish(&["r.safetensors", "--dry-run"]));
    assert!(over.contains("budget spent"), "{over}");
}

#[test]
fn a_ledger_that_is_gone_or_shorter_is_told_of_first() {
    let folder = case("gone", 60);
    let first = counted(&folder, &of_epsilon("1", &["p.safetensors"]));
    assert!(first.status.success(), "{}", said(&first));
    let ledger = std::fs::canonicalize(folder.join("sordino-ledger.jsonl")).unwrap();
    // A copy elsewhere says where the ledger was.
    std::fs::copy(&ledger, folder.join("copy.jsonl")).unwrap();
    let copied = counted(
        &folder,
        &of_epsilon("0.5", &["q.safetensors", "--ledger", "copy.jsonl"]),
    );
    let told = format!("this ledger was last seen at {}", ledger.display());
    assert!(
        copied.status.success() && said(&copied).contains(&told),
        "{}",
        said(&copied)
    );
    let behind = counted(&folder, &of_epsilon("0.5", &["r.safetensors"]));
    let newest = std::fs::canonicalize(folder.join("copy.jsonl")).unwrap();
    let told = format!("which was last seen at {}", newest.display());
    assert!(failed(&behind).contains(&told), "{}", said(&behind));
    // Gone: whatever else is missing.
    std::fs::remove_file(&newest).unwrap();
    let words = of_epsilon("0.5", &["r.safetensors", "--ledger", "copy.jsonl"]);
    let place = words
        .iter()
        .position(|word| *word == "--max-epsilon")
        .unwrap();
    let words = [&words[..place], &words[place + 2..]].concat();
    let gone = counted(&folder, &words);
    let told = format!(
        "has 4 charges in the ledger that was at {} and is gone (as {}",
        newest.display(),
        std::fs::canonicalize(folder.join("state"))
            .unwrap()
            .display()
    );
    assert!(failed(&gone).contains(&told), "{}", said(&gone));
    // Nobody is asked to name a budget for it.
    assert!(!said(&gone).contains("max"), "{}", said(&gone));
    // Without a second count nothing is noticed, and that is said.
    let text = read(&folder, "sordino-ledger.jsonl");
    let cut: String = text.split_inclusive('\n').take(2).collect();
    std::fs::write(&ledger, cut).unwrap();
    let blind = done(&folder, &of_epsilon("0.5", &["s.safetensors"]));
    let told = "--no-counter: nothing notices whether charges are missing in this ledger";
    assert!(said(&blind).contains(told), "{}", said(&blind));
}

#[test]
fn a_budget_has_the_name_that_was_typed() {
    let folder = case("named", 60);
    let words = publish(&["p.safetensors"]);
    let place = words
        .iter()
        .position(|word| *word == "--max-epsilon")
        .unwrap();
    let none = refused(&folder, 2, &[&words[..place], &words[place + 2..]].concat());
    assert!(
        none.contains("--max-epsilon of a ledger: admissible: "),
        "{none}"
    );
    done(&folder, &words);
    let mut other = of_epsilon("0.1", &["q.safetensors"]);
    other[place + 1] = "9";
    let other = refused(&folder, 2, &other);
    assert!(
        other.contains("--max-epsilon 2.5, --max-epsilon 9 was asked for"),
        "{other}"
    );
    for said in [none, other] {
        assert!(
            !said.contains("epsilon_max") && !said.contains(" max_epsilon"),
            "{said}"
        );
    }
}

#[test]
fn studies_with_the_same_rows_and_days_that_cannot_be_are_told_of() {
    let folder = case("alike", 60);
    let path = folder.join("studies.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    // The rows of s5 once more, in another order, under another name.
    let rows = text.lines().filter(|line| line.starts_with("s5,"));
    let again: String = rows
        .rev()
        .map(|row| row.replacen("s5", "copied", 1) + "\n")
        .collect();
    std::fs::write(&path, text + &again).unwrap();
    let output = done(
        &folder,
        &publish(&["p.safetensors", "--date", "2999-01-31", "--dry-run"]),
    );
    for needed in [
        "1 of 61 studies have the same rows as another, all or some: copied and s5 (10 rows)",
        "date 2999-01-31 is in the future",
    ] {
        assert!(said(&output).contains(needed), "{}", said(&output));
    }
    let none = case("not-alike", 60);
    let output = done(
        &none,
        &publish(&["p.safetensors", "--date", "2026-02-28", "--dry-run"]),
    );
    assert!(!said(&output).contains("the same rows") && !said(&output).contains("future"));
    let wrong = refused(
        &none,
        2,
        &publish(&["p.safetensors", "--date", "2026-02-29"]),
    );
    assert!(
        wrong.contains("admissible: a day that there is, as in 2026-11-23"),
        "{wrong}"
    );
}

/// The dry run admitted it, and the refusal left a key, a ledger and its budget.
#[test]
fn noise_that_no_release_has_leaves_nothing() {
    let folder = case("no-noise", 60);
    let before = names(&folder);
    for more in [&[][..], &["--dry-run"]] {
        let words = "prior publish --from studies.csv --space space.toml --epsilon 1e-5 --delta 1e-12 --releases 64 \
                     --dataset test --max-epsilon 1e-5 --sign new.key --no-counter --out p.safetensors";
        let words: Vec<&str> = words
            .split_whitespace()
            .chain(more.iter().copied())
            .collect();
        let said = refused(&folder, 2, &words);
        assert!(
            said.contains(
                "fewer releases, a larger epsilon or a larger delta; nothing was published"
            ),
            "{said}"
        );
        assert_eq!(names(&folder), before);
    }
}

/// Another user, a container or another state folder begins with a new budget.
#[test]
fn the_first_ledger_of_an_account_is_told_of_once() {
    let folder = case("account", 60);
    let told = "no ledger was counted on this account before; charges ";
    for (words, times) in [
        (of_epsilon("0.5", &["p.safetensors", "--dry-run"]), 1),
        (of_epsilon("0.5", &["p.safetensors"]), 1),
        (of_epsilon("0.5", &["q.safetensors"]), 0),
    ] {
        let output = counted(&folder, &words);
        assert!(output.status.success());
        assert_eq!(
            said(&output).matches(told).count(),
            times,
            "{}",
            said(&output)
        );
    }
}

/// A publisher whose data set also joined federations was not told that these are counted apart.
#[test]
fn what_federations_got_of_the_data_set_is_told_before_the_charge() {
    let folder = case("joined", 60);
    let place = folder.join("state/sordino/contributions");
    let event = Event::Gaussian {
        noise_multiplier: 4.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let mut count = Contributions::open(&place, Some("Test"), "a campaign", 0).unwrap();
    count.agree(&[(event, 1)], 1e-5, f64::INFINITY).unwrap();
    for more in [&["p.safetensors", "--dry-run"][..], &["p.safetensors"]] {
        let output = counted(&folder, &publish(more));
        assert!(output.status.success());
        let told = "the data set \"test\" gave, or may give, ε 0.9264 at δ = 0.00001 to 1 federation; that is counted apart, and is \
                    not in this budget";
        assert_eq!(said(&output).matches(told).count(), 1, "{}", said(&output));
    }
}

/// The hint was a ledger that refuses: `tune` counts records, and `publish` studies.
#[test]
fn a_ledger_of_another_command_is_not_proposed() {
    let folder = case("kinds", 60);
    let first = counted(&folder, &publish(&["p.safetensors"]));
    assert!(first.status.success(), "{}", said(&first));
    let tune = "tune --command true --space box.toml --dataset test --ledger tune.jsonl --score-range 0,1 --epsilon 1 --max-epsilon 4 \
                --records 5000";
    let space = "[parameters.rate]\nlow = 0\nhigh = 1\n";
    std::fs::write(folder.join("box.toml"), space).unwrap();
    let words: Vec<&str> = tune.split_whitespace().collect();
    let output = counted(&folder, &words);
    let told = failed(&output);
    for needed in [
        "it counts by \"study\" with the accountant ",
        "which is not what is asked for, so the two cannot share a ledger",
        "; --another-ledger begins or uses one of its own, and the data then give what both budgets admit together",
    ] {
        assert!(told.contains(needed), "{told}");
    }
    assert!(!told.contains("use that one"), "{told}");
}

/// A contributor under two names is in the sum twice, and the label knows one.
#[test]
fn one_contributor_under_several_names_is_refused_or_told_of() {
    let folder = case("names", 60);
    let text = read(&folder, "studies.csv");
    // Re-exports of s5, each with one row of ten that is another.
    let export = |name: &str, dropped: usize| -> String {
        let rows = text.lines().filter(|line| line.starts_with("s5,"));
        let rows = rows.enumerate().filter(|(row, _)| *row != dropped);
        let rows = rows.map(|(_, line)| line.replacen("s5", name, 1) + "\n");
        rows.chain([format!("{name},0.5,a,{dropped}.75\n")])
            .collect()
    };
    let with = |names: &[&str]| {
        let more = names.iter().enumerate();
        let more: String = more.map(|(row, name)| export(name, row)).collect();
        std::fs::write(folder.join("studies.csv"), text.clone() + &more).unwrap();
    };
    let before = names(&folder);
    with(&["ward 0", "ward  0"]);
    for more in [&["p.safetensors"][..], &["p.safetensors", "--dry-run"]] {
        let twice = refused(&folder, 2, &publish(more));
        assert!(
            twice.contains("study ward  0: its name is there twice, also as \"ward 0\""),
            "{twice}"
        );
    }
    with(&["S5"]);
    let twice = refused(&folder, 2, &publish(&["p.safetensors"]));
    assert!(
        twice.contains("study S5: its name is there twice, also as \"s5\""),
        "{twice}"
    );
    assert_eq!(names(&folder), before);
    with(&["other", "s\u{b2}"]);
    let told = done(&folder, &publish(&["p.safetensors", "--dry-run"]));
    for needed in [
        "2 of 62 studies have the same rows as another, all or some: other and s5 (9 rows), s\u{b2} and s5 (9 rows), s\u{b2} and other (8 rows)",
        "1 of 62 studies have a name that looks like another name, by a character that looks like another or like none: \"s\u{b2}\" (U+00B2)",
    ] {
        assert!(said(&told).contains(needed), "{}", said(&told));
    }
}

/// Who asks for it is refused in place of warned, before anything is charged.
#[test]
fn what_is_warned_of_is_refused_where_that_is_asked_for() {
    let folder = case("strict", 60);
    let space = read(&folder, "space.toml").replace("scale = \"log\"\n", "");
    let wide = space.replace("high = 1\n", "high = 400\n");
    std::fs::write(folder.join("space.toml"), wide).unwrap();
    let before = names(&folder);
    let output = counted(&folder, &publish(&["p.safetensors", "--strict"]));
    let told = failed(&output);
    for needed in [
        "all rows lie in a small part of a range, and a file says little of the rest of it: `rate` (from ",
        "% of 0.0001 to 400)",
        "--strict: 1 warning, as told before this line; nothing was published",
    ] {
        assert!(told.contains(needed), "{told}");
    }
    assert_eq!(names(&folder), before);
}

/// Whatever the line ends: the line of an editor, and what is wrong with it.
#[test]
fn a_row_of_another_length_is_told_of_by_its_line() {
    let folder = case("fields", 60);
    let text = read(&folder, "studies.csv");
    let with = |end: &str, more: &str| {
        let lines: Vec<&str> = text.lines().take(13).chain([more]).collect();
        std::fs::write(folder.join("studies.csv"), lines.join(end) + end).unwrap();
        refused(&folder, 2, &publish(&["p.safetensors"]))
    };
    for end in ["\n", "\r\n"] {
        let short = with(end, "s1,0.5,a");
        let found =
            "studies.csv:14: 3 fields; admissible: 4, as in the first line; nothing was published";
        assert!(short.contains(found), "{short}");
        let long = with(end, "s1,0,5,a,1.5");
        let found = ":14: 5 fields; admissible: 4, as in the first line; a text with a comma stands in quotes, and decimals follow";
        assert!(long.contains(found), "{long}");
    }
}

#[test]
fn a_ledger_is_shown_with_both_meanings_of_its_epsilon() {
    let folder = case("shown", 60);
    let made = json(&done(
        &folder,
        &publish(&["p.safetensors", "--format", "json"]),
    ));
    let shown = json(&done(&folder, &["ledger", "--format", "json"]));
    let ledger = &shown["ledgers"][0];
    assert_eq!(ledger["dataset"], "test");
    assert_eq!(
        (&ledger["epsilon"], &ledger["releases"]),
        (&made["spent"], &2.into())
    );
    // The file is all that was released: what is written on it is what was spent.
    let (all, of_file) = (&ledger["replace_epsilon"], &made["replace_epsilon"]);
    assert!((all.as_f64().unwrap() - of_file.as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(
        (&ledger["delta"], &ledger["max_epsilon"]),
        (&1e-4.into(), &2.5.into())
    );
    let left = ledger["left"].as_f64().unwrap();
    assert!(left > 0.5 && left < 2.5, "{left}");
    let day = ledger["charges"][1]["day"].as_str().unwrap();
    assert!(day.len() == 10 && day.starts_with("20"), "{day}");
    assert!(ledger["charges"][0]["epsilon"].as_f64().unwrap() < 2.0);
    let text = printed(&folder, &["ledger", "sordino-ledger.jsonl"]);
    for needed in [
        "test; each study is protected",
        "ε 2.000 of 2.5 at δ = 0.000100: whether one study was used or counted as nothing",
        "at the same δ: between any two things that one study may have contributed",
        "left       at most ε ",
        &format!("2: {day}, ε "),
    ] {
        assert!(text.contains(needed), "{needed}\n{text}");
    }
    let missing = refused(&folder, 2, &["ledger", "none.jsonl"]);
    assert!(missing.contains("none.jsonl"), "{missing}");
}

/// Whose terminal is closed in the middle: a release that was paid for still becomes a file.
#[test]
fn nobody_reads_what_is_said_and_the_file_is_written() {
    let folder = case("unread", 30);
    let mut child = command(&folder, &publish(&["p.safetensors"]))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
    assert!(folder.join("p.safetensors").exists());
    // The error that nobody reads has its code, too.
    let mut child = command(&folder, &publish(&["p.safetensors"]))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_publication_that_is_refused_late_makes_no_key_and_no_key_is_a_ledger() {
    let folder = case("late", 30);
    done(&folder, &publish(&["p.safetensors"]));
    // Another process has the ledger.
    let lock = std::fs::File::open(folder.join("sordino-ledger.jsonl.lock")).unwrap();
    lock.lock().unwrap();
    let words = of_epsilon("0.1", &["q.safetensors", "--sign", "new.key"]);
    let busy = command(&folder, &words).output().unwrap();
    assert!(failed(&busy).contains("in use by another process"));
    assert!(!folder.join("new.key").exists());
    drop(lock);
    for (key, why) in [
        ("./sordino-ledger.jsonl", "is the ledger or its lock"),
        ("sordino-ledger.jsonl.lock", "is the ledger or its lock"),
        ("no/folder/new.key", "No such file or directory"),
    ] {
        let words = of_epsilon("0.1", &["q.safetensors", "--sign", key]);
        let output = command(&folder, &words).output().unwrap();
        assert!(failed(&output).contains(why), "{key}: {}", said(&output));
    }
    // Nor is it one that is yet to begin, whatever it is called: that stayed, empty.
    std::fs::create_dir(folder.join("sub")).unwrap();
    for key in ["l.jsonl", "sub/../l.jsonl", "l.jsonl.lock"] {
        let more = ["q.safetensors", "--ledger", "l.jsonl", "--sign", key];
        let output = command(&folder, &of_epsilon("0.1", &more))
            .output()
            .unwrap();
        assert!(
            failed(&output).contains("is the ledger or its lock"),
            "{key}: {}",
            said(&output)
        );
        assert!(!folder.join("l.jsonl").exists() && !folder.join("l.jsonl.lock").exists());
    }
    // Negative control: with a name of its own it is made.
    done(&folder, &words);
    assert!(folder.join("new.key").exists());
}

/// A charge whose line lost its end counts for who looks as it does for who charges next.
#[test]
fn a_charge_that_is_cut_off_is_shown_as_charged() {
    let folder = case("cut", 60);
    done(&folder, &publish(&["p.safetensors"]));
    let path = folder.join("sordino-ledger.jsonl");
    let shown = || json(&done(&folder, &["ledger", "--format", "json"]))["ledgers"][0].clone();
    let whole = shown();
    assert_eq!(whole["completed"], false);
    let bytes = std::fs::read(&path).unwrap();
    for cut in [1, 20] {
        std::fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        let torn = shown();
        assert_eq!(torn["completed"], true);
        for key in ["epsilon", "replace_epsilon", "left", "releases"] {
            assert_eq!(torn[key], whole[key], "{key}, {cut} bytes less");
        }
        assert!(
            printed(&folder, &["ledger"])
                .contains("the last was cut off in the ledger, and counts as charged")
        );
    }
    // Where nothing tells what it cost, nothing is shown.
    let line = bytes.iter().rposition(|byte| *byte == b'{').unwrap();
    let first = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap();
    std::fs::write(&path, &bytes[..first + 4]).unwrap();
    assert!(line > first);
    let message = refused(&folder, 2, &["ledger"]);
    assert!(message.contains("nothing tells what it cost"), "{message}");
}
