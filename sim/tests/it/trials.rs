//! `sordino optimize` where something is mistaken: a command, a folder, a value, a word of the
//! space file. Nothing of a search is lost, and the line says what to do.

use std::path::{Path, PathBuf};

use crate::util::{done, json, refused, said, scratch, sordino, text};

const SPACE: &str = "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n\
                     [parameters.layers]\nlow = 1\nhigh = 8\ninteger = true\n";
const TRAIN: &str = "awk -v r=$SORDINO_RATE 'BEGIN { print (log(r)+4)^2 }'";

fn case(name: &str) -> PathBuf {
    let folder = scratch(&format!("trials-{name}"));
    std::fs::write(folder.join("space.toml"), SPACE).unwrap();
    folder
}

/// The arguments of a search by this command, without a second try.
fn by<'a>(train: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = [
        "optimize",
        "--space",
        "space.toml",
        "--retries",
        "0",
        "--command",
        train,
    ];
    [&first[..], more].concat()
}

/// The table took the place of the numbers behind it.
#[test]
fn a_table_and_a_figure_replace_no_file_of_the_run() {
    let folder = scratch("trials-report");
    let quick = ["run", "output-gp", "--set", "runs=1", "--out", "a"];
    done(&folder, &quick);
    let before = crate::util::files(&folder.join("a"));
    let table = |out| {
        [
            "report", "a", "--table", "summary", "--format", "csv", "--out", out,
        ]
    };
    let figure = |out| {
        [
            "report", "a", "--figure", "regret", "--format", "svg", "--out", out,
        ]
    };
    for out in [
        "a/rounds.csv",
        "a/../a/summary.json",
        "a/README.md",
        "a/ledger.jsonl",
    ] {
        for arguments in [table(out), figure(out)] {
            let message = refused(&folder, 2, &arguments);
            assert!(
                message.contains("is not replaced; name another file"),
                "{message}"
            );
        }
    }
    // Nor do what releases cost, as a table and as a picture.
    std::fs::write(folder.join("l.csv"), "q,z,steps,delta\n.1,1,10,1e-5\n").unwrap();
    let losses = |out| ["privacy", "table", "l.csv", "--out", out];
    let message = refused(&folder, 2, &losses("a/rounds.csv"));
    assert!(message.contains("is not replaced"), "{message}");
    let drawn = |out| {
        let releases = [
            "--sampling-probability=.1",
            "--noise-multiplier=1",
            "--rounds=10",
            "--delta=1e-5",
        ];
        [&["privacy", "compare", "--out", out], &releases[..]].concat()
    };
    let message = refused(&folder, 2, &drawn("a/regret.svg"));
    assert!(message.contains("is not replaced"), "{message}");
    assert_eq!(crate::util::files(&folder.join("a")), before);
    done(&folder, &losses("l2.csv"));
    done(&folder, &drawn("l.svg"));
    // A file that the run does not have is written, also into its folder.
    done(&folder, &table("a/mine.csv"));
    done(&folder, &table("a/mine.csv"));
}

/// Tables of one's own were replaced by those of a search.
#[test]
fn a_folder_that_holds_something_else_stays_as_it_is() {
    let folder = case("folder");
    std::fs::create_dir(folder.join("mine")).unwrap();
    std::fs::write(folder.join("mine/history.csv"), "years of work").unwrap();
    for more in [
        &["--evaluations", "1", "--out", "mine"][..],
        &["--evaluations", "1", "--out", "mine", "--resume"],
    ] {
        let message = refused(&folder, 2, &by(TRAIN, more));
        assert!(
            message.contains("--out mine: holds history.csv and no search"),
            "{message}"
        );
    }
    assert_eq!(read(&folder, "mine/history.csv"), "years of work");
    assert_eq!(crate::util::files(&folder.join("mine")).len(), 1);
    // So does one whose search was lost: eight values were overwritten by one.
    std::fs::write(folder.join("mine/search.jsonl"), "half a line").unwrap();
    for more in [
        &["--evaluations", "1", "--out", "mine"][..],
        &["--evaluations", "1", "--out", "mine", "--resume"],
    ] {
        let message = refused(&folder, 2, &by(TRAIN, more));
        assert!(
            message.contains("holds history.csv and no search"),
            "{message}"
        );
    }
    assert_eq!(read(&folder, "mine/search.jsonl"), "half a line");
    assert_eq!(read(&folder, "mine/history.csv"), "years of work");
    // An empty one, or one in which a process was killed at its beginning, is taken.
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::fs::write(folder.join("empty/.lock"), "1").unwrap();
    std::fs::write(folder.join("empty/search.jsonl"), "half a line").unwrap();
    done(
        &folder,
        &by(TRAIN, &["--evaluations", "1", "--out", "empty"]),
    );
}

/// Keys of a list of candidates do nothing for a search: it says which ones are there, and offers
/// none of them after a typing error.
#[test]
fn keys_of_lists_are_told_and_never_offered() {
    let folder = case("keys");
    let space = format!("candidates = 9\n{SPACE}points = 3\n");
    std::fs::write(folder.join("space.toml"), space).unwrap();
    let output = done(&folder, &by(TRAIN, &["--evaluations", "1"]));
    let unused = "`candidates`, `parameters.layers.points` of the space file: for `sordino tune`, not used here";
    assert!(said(&output).contains(unused), "{}", said(&output));
    std::fs::write(folder.join("space.toml"), format!("{SPACE}dots = 3\n")).unwrap();
    let message = refused(&folder, 2, &by(TRAIN, &["--evaluations", "1"]));
    assert!(
        message.contains("no such key; admissible: low, high,") && !message.contains("points"),
        "{message}"
    );
}

/// A parameter that is a column of the history was refused without a place.
#[test]
fn a_space_that_no_search_has_is_refused_where_it_is_written() {
    let folder = case("space");
    let value = "[parameters.value]\nlow = 0\nhigh = 1\n";
    std::fs::write(folder.join("space.toml"), format!("{SPACE}{value}")).unwrap();
    let message = refused(&folder, 2, &by(TRAIN, &["--evaluations", "1"]));
    assert!(
        message.contains("space.toml:10:13: `value` is a column of the history"),
        "{message}"
    );
    assert!(!folder.join("sordino-optimize").exists());
}

/// `.5` was a text, and a parameter that is searched was none of the space.
#[test]
fn what_is_given_is_read_as_people_write_it() {
    let folder = case("given");
    let load = "[parameters.load]\nlow = 0\nhigh = 1\ncontext = true\n\
                [parameters.ward]\nchoices = [\"1\", \"2\"]\ncontext = true\n";
    std::fs::write(folder.join("space.toml"), format!("{SPACE}{load}")).unwrap();
    let given = |layers| {
        let more = [
            "--evaluations",
            "1",
            "--given",
            "load=.5",
            "--given",
            "ward=1",
            "--given",
            layers,
        ];
        more.into_iter()
            .take(if layers.is_empty() { 6 } else { 8 })
            .collect::<Vec<_>>()
    };
    done(&folder, &by("echo $SORDINO_LOAD$SORDINO_WARD", &given("")));
    assert!(read(&folder, "sordino-optimize/history.csv").ends_with("0.51,0.51\n"));
    let message = refused(&folder, 2, &by(TRAIN, &given("layers=3")));
    assert!(
        message.contains("`layers` is searched and takes no value here"),
        "{message}"
    );
}

/// The line was not shown; and a value out of range was tried again and told in 300 digits.
#[test]
fn a_last_line_that_is_no_number_is_shown() {
    let folder = case("line");
    let long = format!("echo '{}'", "x".repeat(90));
    for (place, (train, told)) in [
        (
            "echo 0,5",
            "last line of its output, which is `0,5`; decimals follow a point",
        ),
        (
            "echo '{\"loss\": 1}'",
            "which is `{\"loss\": 1}`; print the number alone, not as JSON",
        ),
        (
            "echo loss=0.5",
            "which is `loss=0.5`; print the number alone",
        ),
        ("printf 'a\\033[31mb'", "which is `a\\u{1b}[31mb`"),
        (long.as_str(), "xxx…`"),
        (
            "echo 1e300",
            "printed 1e300; admissible: a number up to 1e135",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out{place}");
        let output = sordino(&folder, &by(train, &["--evaluations", "1", "--out", &out]));
        assert!(said(&output).contains(told), "{told}: {}", said(&output));
    }
    // No second try where the value is out of range, although one is admitted.
    let again = "optimize --space space.toml --retries 1 --evaluations 1 --out again --command";
    let mut again: Vec<&str> = again.split(' ').collect();
    again.push("echo 1e300");
    assert!(!said(&sordino(&folder, &again)).contains("tried again"));
    let message = refused(&folder, 2, &by(" ", &["--evaluations", "1"]));
    assert!(message.contains("--command: is empty"), "{message}");
}

/// Each of these ended without a word, or with one of the system's.
#[test]
fn what_is_not_done_is_said() {
    let folder = case("nothing");
    done(&folder, &by(TRAIN, &["--evaluations", "4"]));
    let output = done(&folder, &by(TRAIN, &["--evaluations", "3", "--resume"]));
    let told = "4 values are known, and 3 are wanted, those included: nothing is left to run";
    assert!(said(&output).contains(told), "{}", said(&output));
    let http = [
        "--evaluations",
        "1",
        "--out",
        "b",
        "--prior",
        "http://a.b/c",
    ];
    let message = refused(&folder, 2, &by(TRAIN, &http));
    assert!(
        message.contains(
            "--prior http://a.b/c: admissible: a file, or an address that begins with https://"
        ),
        "{message}"
    );
    done(&folder, &["init", "my.toml"]);
    let before = read(&folder, "my.toml");
    let message = refused(&folder, 2, &["init", "my.toml"]);
    assert!(
        message.contains("my.toml: exists already; name a new file"),
        "{message}"
    );
    assert_eq!(read(&folder, "my.toml"), before);
}

/// A setting that does not fit what the scenario says was blamed on the scenario's line.
#[test]
fn a_setting_that_does_not_fit_is_named() {
    let folder = scratch("trials-set");
    let refuse = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", "default"].into_iter().chain(settings).collect();
        refused(&folder, 2, &arguments)
    };
    let message = refuse(&["federation.agents=1"]);
    assert!(
        message.contains(
            "with --set federation.agents=1: `federation.splits = [2]` is not admissible"
        ),
        "{message}"
    );
    let message = refuse(&["agents=20"]);
    assert!(
        message.contains("unknown key `agents`; did you mean `federation.agents`?"),
        "{message}"
    );
    let message = refuse(&["no_such_key=20"]);
    assert_eq!(message.matches("method").count(), 1, "{message}");
    let message = refuse(&["federation.agents=20", "federation.agents=30"]);
    assert!(
        message.contains("--set: `federation.agents` is set twice"),
        "{message}"
    );
    // Also by an option of its own, which won without a word.
    let folder = scratch("set-and-option");
    for (setting, option) in [("seed=1", "--seed"), ("runs=1", "--runs")] {
        let words = ["run", "default", "--set", setting, option, "2"];
        let output = sordino(&folder, &words);
        let message = text(&output.stderr);
        let key = &option[2..];
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("`{key}` is set twice")),
            "{message}"
        );
    }
}

/// After one value "1.000 ± 1.2e-9 is expected" was told, and of noisy values far too little.
#[test]
fn what_is_expected_is_told_of_a_model_and_without_a_deviation_it_does_not_have() {
    let folder = case("expected");
    let first = ["--evaluations", "1", "--format", "json"];
    assert!(json(&done(&folder, &by(TRAIN, &first)))["recommended"].is_null());
    let output = done(&folder, &by(TRAIN, &["--evaluations", "6", "--resume"]));
    let told = text(&output.stdout);
    assert!(
        told.contains("recommended: ") && told.contains(", where the model expects "),
        "{told}"
    );
    assert!(!told.contains('±'), "{told}");
    let best: serde_json::Value =
        serde_json::from_str(&read(&folder, "sordino-optimize/best.json")).unwrap();
    let keys = best["recommended"].as_object().unwrap().keys();
    assert_eq!(keys.collect::<Vec<_>>(), ["mean", "point"]);
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// A typing error in the command of a search that goes on cost ten points around the best one.
#[test]
fn another_command_is_on_trial_until_it_gives_a_value() {
    let folder = case("command");
    let more = |evaluations: &'static str| ["--evaluations", evaluations, "--out", "a", "--resume"];
    done(&folder, &by(TRAIN, &more("8")));
    let before = read(&folder, "a/search.jsonl");
    let typo = "exec awk -f no-such-file";
    let output = sordino(&folder, &by(typo, &more("14")));
    let message = said(&output).lines().last().unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("3 questions in a row failed")
            && message.contains("none of these questions"),
        "{message}"
    );
    let after = read(&folder, "a/search.jsonl");
    assert!(after.starts_with(&before) && !after.contains("\"failed\""));
    // A shell that knows no such command says so once, and no question has failed.
    let output = sordino(&folder, &by("no-such-command", &more("14")));
    let message = said(&output);
    assert!(
        output.status.code() == Some(1)
            && message.contains("exit code 127: the shell does not find it"),
        "{message}"
    );
    assert_eq!(read(&folder, "a/search.jsonl"), after);
    // The values are still those of the first command.
    let output = done(&folder, &by(TRAIN, &more("14")));
    assert!(
        !said(&output).contains("another command"),
        "{}",
        said(&output)
    );
    assert!(!read(&folder, "a/search.jsonl").contains("\"failed\""));
    // Once another one has given a value, a point at which it failed has failed.
    let once = format!("[ -e once ] || {{ touch once; exit 1; }}; {TRAIN}");
    let output = done(&folder, &by(&once, &more("16")));
    let said = said(&output);
    assert!(
        said.contains("another command than that of the 14 values"),
        "{said}"
    );
    assert_eq!(
        read(&folder, "a/search.jsonl")
            .matches("\"failed\"")
            .count(),
        1
    );
    assert_eq!(read(&folder, "a/command.txt"), once);
}
