//! `sordino tune` as a user runs it: what leaves, what does not, what is charged, and every way a
//! command can fail.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::util::{command, done, is_ignored, json, said, scratch, text};

struct Case {
    folder: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = scratch(&format!("tune-{name}"));
        let space =
            "design = \"grid\"\n[parameters.x]\nlow = 0\nhigh = 4\ninteger = true\npoints = 5\n";
        std::fs::write(folder.join("space.toml"), space).unwrap();
        Case { folder }
    }

    /// The program in the case's folder, with a state folder of its own.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.folder, arguments);
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        command
    }

    fn tune(&self, command: &str, more: &[&str]) -> Output {
        self.prepared(
            command,
            &[&["--max-epsilon", "100", "--timeout", "20"], more].concat(),
        )
        .output()
        .unwrap()
    }

    /// Expects success.
    fn released(&self, command: &str, more: &[&str]) -> Output {
        let output = self.tune(command, more);
        assert!(output.status.success(), "{more:?}: {}", said(&output));
        output
    }

    fn prepared(&self, command: &str, more: &[&str]) -> Command {
        let all = [
            "tune",
            "--dataset",
            "wards",
            "--space",
            "space.toml",
            "--command",
            command,
        ];
        self.program(&[&all[..], more].concat())
    }

    /// Charges in the ledger: all lines but the first.
    fn charges(&self) -> usize {
        self.ledger().lines().count().saturating_sub(1)
    }

    fn ledger(&self) -> String {
        std::fs::read_to_string(self.folder.join("sordino-ledger.jsonl")).unwrap_or_default()
    }

    fn put(&self, ledger: &str) {
        std::fs::write(self.folder.join("sordino-ledger.jsonl"), ledger).unwrap();
    }
}

/// 0.1, 0.3, 0.5, 0.9, 0.2 for x = 0..4, from the environment and checked against standard input.
const COMMAND: &str = "read line; case \"$line\" in \"{\\\"x\\\":$SORDINO_X}\") ;; *) exit 9;; esac; \
                       echo secret-log >&2; echo training; echo 0.13592 | tr 1 $(echo 13592 | cut -c$((SORDINO_X+1)))";

#[test]
fn releases_the_best_candidate_and_nothing_else() {
    let case = Case::new("release");
    let more = ["--epsilon", "8", "--records", "5000", "--format", "json"];
    let output = case.released(
        "case $SORDINO_X in 3) echo 0.9000;; *) echo 0.${SORDINO_X}000;; esac",
        &more,
    );
    let release = json(&output);
    // The gap to the next candidate, 0.5, is 1,666 sensitivities; the noise has scale 7.5e-5.
    assert_eq!(release["parameters"], serde_json::json!({"x": 3}));
    let score = release["score"].as_f64().unwrap();
    assert!((score - 0.9).abs() < 5e-3 && score != 0.9, "{score}");
    assert_eq!(
        (release["epsilon"].as_f64(), release["noise"].as_str()),
        (Some(8.0), Some("secret noise"))
    );
    assert_eq!(case.charges(), 1);
    // Progress counts; it never tells a score.
    let progress = said(&output);
    assert!(progress.contains("5 of 5 candidates evaluated") && progress.contains("your promise"));
    assert!(
        !progress.contains("0.9") && !progress.contains("0.4"),
        "{progress}"
    );
}

#[test]
fn parameters_arrive_twice_and_the_log_stays_inside() {
    let case = Case::new("channels");
    let more = ["--epsilon", "1", "--minimize", "--score-range", "-1,1"];
    let output = case.released(COMMAND, &more);
    assert!(!said(&output).contains("secret-log"));
    let release = text(&output.stdout);
    assert_eq!(release.lines().count(), 4, "{release}");
    assert!(
        release.starts_with("x = ")
            && release.contains("score = ")
            && release.contains("replacing one scored record")
    );
    // Two releases of the same data are two different draws (a tie of both has probability far
    // below 1e-3).
    let draw = |release: &str| {
        release
            .lines()
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let again = [(); 3].map(|()| text(&case.released(COMMAND, &more).stdout).to_owned());
    assert!(again.iter().any(|again| draw(again) != draw(release)));
    assert_eq!(case.charges(), 4);
    assert!(
        again[2].contains("epsilon 4 of 100 spent in 4 releases, 96 left"),
        "{}",
        again[2]
    );
}

#[test]
fn failures_abort_without_a_charge() {
    for (name, command, reason) in [
        (
            "hang",
            "if [ $SORDINO_X = 2 ]; then sleep 600; fi; echo 1",
            "ran out of time",
        ),
        (
            "exit",
            "if [ $SORDINO_X = 2 ]; then exit 7; fi; echo 1",
            "exit code 7",
        ),
        (
            "nan",
            "if [ $SORDINO_X = 2 ]; then echo nan; fi; if [ $SORDINO_X != 2 ]; then echo 1; fi",
            "NaN",
        ),
        (
            "garbage",
            "if [ $SORDINO_X = 2 ]; then echo 1; echo ok; else echo 1; fi",
            "without a number",
        ),
    ] {
        let case = Case::new(name);
        let mut more = vec!["--epsilon", "1", "--show-errors"];
        if name == "hang" {
            more.extend(["--timeout", "1"]);
        }
        more.extend(["--max-epsilon", "100"]);
        let output = case.prepared(command, &more).output().unwrap();
        let errors = said(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(output.stdout.is_empty());
        assert!(
            errors.contains(reason) && errors.contains("nothing is released"),
            "{name}: {errors}"
        );
        assert_eq!(case.charges(), 0);
        // The other public rule counts it as the worst score, and is accounted.
        if name != "hang" {
            assert!(
                !case
                    .released(command, &["--epsilon", "1", "--on-failure", "lowest"])
                    .stdout
                    .is_empty()
            );
            assert_eq!(case.charges(), 1);
        }
    }
}

/// An exit code is chosen by the data: what a bystander reads must be the same whether, which and
/// how candidates fail.
#[test]
fn standard_error_does_not_tell_which_candidate_failed_or_how() {
    let case = Case::new("silent");
    let lowest = |command: &str, more: &[&str]| {
        said(&case.released(
            command,
            &[&["--epsilon", "1", "--on-failure", "lowest"], more].concat(),
        ))
        .to_owned()
    };
    let bits = "if [ $SORDINO_X = 2 ]; then exit 173; fi; if [ $SORDINO_X = 3 ]; then echo nan; else echo 1; fi";
    // What the first ledger of an account is told is of the account alone.
    let state = case.folder.join("state/sordino/ledgers");
    std::fs::create_dir_all(state).unwrap();
    assert_eq!(lowest(bits, &[]), lowest("echo 1", &[]));
    // Who asks for it is told, and the help says what that is.
    let told = lowest(bits, &["--show-errors"]);
    assert!(
        told.contains("3 of 5 candidates evaluated; this one ended with exit code 173"),
        "{told}"
    );
    assert!(
        told.contains("4 of 5 candidates evaluated; this one ended with NaN"),
        "{told}"
    );
    let help = done(&case.folder, &["tune", "--help"]);
    assert!(text(&help.stdout).contains("not for publication"));
    // The rule that releases nothing tells that something failed, and no more.
    let output = case.tune(bits, &["--epsilon", "1"]);
    let errors = said(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(
        !errors.contains("173") && !errors.contains("NaN") && errors.contains("--show-errors"),
        "{errors}"
    );
}

#[test]
fn budgets_and_bad_arguments_are_refused_before_anything_runs() {
    let case = Case::new("refuse");
    let run = |more: &[&str]| {
        let output = case.prepared("touch ran; echo 1", more).output().unwrap();
        (
            output.status.code(),
            said(&output).to_owned(),
            output.stdout.len(),
        )
    };
    for more in [
        &["--epsilon", "0"][..],
        &["--epsilon", "nan"],
        &["--epsilon", "1"],
        &["--epsilon", "1", "--max-epsilon", "9", "--score-range", "0"],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--score-range",
            "2,1",
        ],
        &["--epsilon", "1", "--max-epsilon", "9", "--records", "0"],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--records",
            "10",
            "--on-failure",
            "lowest",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--ledger",
            "no/such/folder/ledger",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--score",
            "fraction",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--score",
            "fraction",
            "--records",
            "5",
            "--score-range",
            "2",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--records",
            "5000",
            "--decimals",
            "3",
        ],
        &["--epsilon", "1", "--max-epsilon", "9", "--decimals", "3"],
        &["--epsilon", "1", "--max-epsilon", "9", "--jobs", "0"],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--out",
            "no/such/folder.json",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--out",
            "space.toml",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--space",
            "/dev/zero",
        ],
        &[
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--ledger",
            "/dev/null",
        ],
        &["--epsilon", "1", "--max-epsilon", "0.5"],
    ] {
        let (code, errors, len) = run(more);
        assert_eq!((code, len), (Some(2), 0), "{more:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    std::fs::write(
        case.folder.join("space.toml"),
        "[parameters.x]\nlow = 1\nhigh = 0\n",
    )
    .unwrap();
    assert!(run(&["--epsilon", "1"]).1.contains("parameters.x.high"));
    assert!(!case.folder.join("ran").exists() && case.charges() == 0);
}

fn refused(output: &Output, code: i32, reason: &str) {
    let errors = said(output);
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(code), 0),
        "{errors}"
    );
    assert!(errors.contains(reason), "{errors}");
}

/// Item 5 (a), the attacks of the finding: each released, rc 0, and left a ledger without the
/// charge.
#[test]
fn a_ledger_exchanged_during_training_releases_nothing() {
    let case = Case::new("exchanged");
    for attack in [
        "sed -i 's/^//' sordino-ledger.jsonl",
        "rm -f sordino-ledger.jsonl",
        "cp sordino-ledger.jsonl other; mv other sordino-ledger.jsonl",
        "true > sordino-ledger.jsonl",
        "mkfifo pipe; mv pipe sordino-ledger.jsonl",
    ] {
        let command = format!("if [ $SORDINO_X = 0 ]; then {attack}; fi; echo 1");
        let output = case.tune(&command, &["--epsilon", "1"]);
        refused(&output, 1, "nothing is released");
        assert!(
            !said(&output).contains("candidate failed"),
            "{attack}: {}",
            said(&output)
        );
        let _ = std::fs::remove_file(case.folder.join("sordino-ledger.jsonl"));
    }
    // The control: the same command without an attack.
    assert!(case.tune("echo 1", &["--epsilon", "1"]).status.success());
    assert_eq!(case.charges(), 1);
}

/// A loss of about 70 was taken in 0 to 1, larger being better, without a word: every score was
/// clamped to 1, and a meaningless one was published and charged.
#[test]
fn how_a_number_is_taken_is_told_before_anything_runs() {
    let case = Case::new("range");
    let loss = "touch ran; echo 7$SORDINO_X.5000";
    let all = [
        "tune",
        "--dataset",
        "wards",
        "--space",
        "space.toml",
        "--command",
        loss,
    ];
    let all = [
        &all[..],
        &[
            "--epsilon",
            "50",
            "--max-epsilon",
            "100",
            "--records",
            "5000",
        ],
    ]
    .concat();
    let run = |more: &[&str]| case.program(&[&all[..], more].concat()).output().unwrap();
    // With both flags the smallest loss is found, and the line that says how scores are taken comes
    // before any command.
    let output = run(&[
        "--minimize",
        "--score-range",
        "0,100",
        "--decimals",
        "4",
        "--format",
        "json",
    ]);
    let taken = "scores are taken in [0, 100], lower is better";
    let line = said(&output).find(taken);
    let first = said(&output).find("1 of 5 candidates");
    assert!(
        line.zip(first).is_some_and(|(line, first)| line < first),
        "{}",
        said(&output)
    );
    let release = json(&output);
    assert_eq!(release["parameters"], serde_json::json!({"x": 0}));
    assert!(
        (release["score"].as_f64().unwrap() - 70.5).abs() < 0.5,
        "{release}"
    );
    // How many scores lie outside depends on the data: it is not told. A fraction has its range.
    let words = |name: &str, command: &str, more: &[&str]| {
        said(&Case::new(name).released(command, &[&["--epsilon", "1"], more].concat())).to_owned()
    };
    let inside = words("inside", "echo 0.5", &[]);
    let told = "scores are taken in [0, 1], larger is better; one outside counts as the nearer end: give --score-range";
    assert!(
        inside.contains(told) && inside.contains("--minimize for a loss"),
        "{inside}"
    );
    assert_eq!(words("outside", "echo 70.5", &[]), inside);
    let counts = words(
        "counts",
        "echo 4357/5000",
        &["--records", "5000", "--score", "fraction"],
    );
    assert!(
        counts.contains("scores are taken in [0, 1], larger is better;") && !counts.contains(told),
        "{counts}"
    );
}

/// Two processes at once, also when the ledger's inode changes under the first.
#[test]
fn one_process_at_a_time_even_if_the_file_changes() {
    let case = Case::new("two");
    let first =
        "touch started; rm -f sordino-ledger.jsonl; while [ ! -e go ]; do sleep 0.05; done; echo 1";
    let more = ["--epsilon", "1", "--max-epsilon", "9"];
    let mut first = case
        .prepared(first, &more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_file(&case, "started", &mut first);
    refused(
        &case.tune("echo 1", &["--epsilon", "1"]),
        2,
        "in use by another process",
    );
    std::fs::write(case.folder.join("go"), "").unwrap();
    refused(&first.wait_with_output().unwrap(), 1, "nothing is released");
}

fn await_file(case: &Case, name: &str, child: &mut Child) {
    let start = Instant::now();
    while !case.folder.join(name).exists() {
        assert!(
            start.elapsed() < Duration::from_secs(180) && child.try_wait().unwrap().is_none(),
            "no {name}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Item 5 (b): what a ledger is for, what is left of it, and an older copy.
#[test]
fn a_ledger_knows_its_data_set_its_maximum_and_its_age() {
    let case = Case::new("terms");
    let run = |more: &[&str]| {
        case.prepared("echo 0.5000", &[&["--epsilon", "1"], more].concat())
            .output()
            .unwrap()
    };
    refused(&run(&[]), 2, "--max-epsilon");
    let five = [
        "--records",
        "5000",
        "--max-epsilon",
        "2.5",
        "--format",
        "json",
    ];
    let release: serde_json::Value = serde_json::from_slice(&run(&five).stdout).unwrap();
    let number = |key: &str| release[key].as_f64().unwrap();
    assert_eq!(
        (
            number("epsilon_spent"),
            number("epsilon_left"),
            number("epsilon_max")
        ),
        (1.0, 1.5, 2.5)
    );
    assert_eq!(
        (release["dataset"].as_str(), number("releases")),
        (Some("wards"), 1.0)
    );
    let one = case.ledger();
    // It is not asked again, and checked if it is said.
    assert!(run(&["--records", "5000"]).status.success());
    refused(&run(&["--records", "3000"]), 2, "records 5000");
    refused(
        &run(&["--max-epsilon", "9"]),
        2,
        "--max-epsilon 2.5, --max-epsilon 9",
    );
    refused(
        &run(&["--dataset", "ward"]),
        2,
        "cannot be used multiple times",
    );
    let other = [
        "tune",
        "--dataset",
        "ward",
        "--space",
        "space.toml",
        "--command",
        "echo 1",
        "--epsilon",
        "1",
    ];
    refused(
        &case.program(&other).output().unwrap(),
        2,
        "data set \"wards\"",
    );
    refused(
        &run(&["--records", "5000"]),
        2,
        "would make it 3.000; at most ε 0.500 still fits",
    );
    // Cheaper lines, and an older copy.
    let two = case.ledger();
    case.put(&two.replace("\"epsilon\":0.5", "\"epsilon\":0.1"));
    refused(&run(&[]), 2, "line 2");
    case.put(one.lines().next().unwrap());
    refused(&run(&[]), 2, "cut off");
    case.put(&format!("{}\n", one.lines().next().unwrap()));
    refused(&run(&[]), 2, "put its newest copy back");
    // Another folder, or another file, is no fresh budget.
    refused(
        &run(&["--ledger", "fresh.jsonl", "--max-epsilon", "9"]),
        2,
        "sordino-ledger.jsonl",
    );
    assert!(
        run(&[
            "--ledger",
            "fresh.jsonl",
            "--max-epsilon",
            "9",
            "--another-ledger"
        ])
        .status
        .success()
    );
    // Without a state folder nothing runs, unless asked.
    let blind = |more: &[&str]| {
        let all = [
            "--epsilon",
            "1",
            "--max-epsilon",
            "9",
            "--ledger",
            "blind.jsonl",
        ];
        let mut command = case.prepared("echo 1", &[&all[..], more].concat());
        command
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .output()
            .unwrap()
    };
    refused(&blind(&[]), 2, "--no-counter");
    assert!(blind(&["--no-counter"]).status.success());
}

/// The hostile reading: a begins and aborts, b releases, a releases too; and six at once, with six
/// ledgers, all released.
#[test]
fn a_data_set_has_one_budget_whatever_the_number_of_ledgers() {
    let case = Case::new("ledgers");
    let start = |ledger: &str, command: &str| {
        let more = ["--epsilon", "1", "--max-epsilon", "1", "--ledger", ledger];
        case.prepared(command, &more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let run = |ledger: &str, command: &str| start(ledger, command).wait_with_output().unwrap();
    refused(&run("a", "exit 1"), 1, "nothing was charged");
    let names = ["0", "1", "2", "3", "4", "5"];
    let ends: Vec<Output> = names
        .map(|name| start(name, "sleep 0.2; echo 1"))
        .map(|child| child.wait_with_output().unwrap())
        .into();
    assert_eq!(ends.iter().filter(|end| end.status.success()).count(), 1);
    let told = "data set \"wards\"";
    ends.iter()
        .filter(|end| !end.status.success())
        .for_each(|end| refused(end, 2, told));
    for name in names.iter().chain(&["a", "c"]) {
        let again = run(name, "echo 1");
        assert!(!again.status.success(), "{name}: the budget is spent");
    }
    refused(&run("a", "echo 1"), 2, "--another-ledger");
    // Another name is another data set, but not the same one in capitals.
    let named = |name: &str| {
        let all = [
            "tune",
            "--space",
            "space.toml",
            "--command",
            "echo 1",
            "--epsilon",
            "1",
            "--max-epsilon",
            "1",
        ];
        case.program(&[&all[..], &["--ledger", "d", "--dataset", name]].concat())
            .output()
            .unwrap()
    };
    refused(&named("Wards"), 2, "--another-ledger");
    refused(&named("wards "), 2, "no white space at either end");
    assert!(named("wards 2").status.success());
}

/// Cyrillic а, a zero width space, a soft hyphen: each opened a budget of its own for what a person
/// reads as one name.
#[test]
fn a_name_that_looks_like_another_begins_no_ledger() {
    let case = Case::new("alike");
    let named = |ledger: &str, name: &str| {
        let all = [
            "tune",
            "--space",
            "space.toml",
            "--command",
            "echo 1",
            "--epsilon",
            "1",
            "--max-epsilon",
            "1",
        ];
        case.program(&[&all[..], &["--ledger", ledger, "--dataset", name]].concat())
            .output()
            .unwrap()
    };
    assert!(named("a", "wards").status.success());
    for (name, told) in [
        ("w\u{430}rds", "`\u{430}` (U+0430)"),
        ("wa\u{200b}rds", "(U+200B)"),
        ("wa\u{ad}rds", "(U+00AD)"),
        ("\u{ff57}ards", "(U+FF57)"),
    ] {
        refused(&named("b", name), 2, told);
    }
    // Negative control: another name, of another alphabet.
    assert!(named("c", "палаты").status.success());
}

/// A torn last line was refused for ever.
#[test]
fn a_torn_last_line_is_charged_and_tuning_goes_on() {
    let case = Case::new("torn");
    for (round, expected) in [
        (0, "epsilon 1 of"),
        (1, "epsilon 2 of"),
        (2, "epsilon 3 of"),
    ] {
        let output = case.tune("echo 1", &["--epsilon", "1"]);
        assert!(
            text(&output.stdout).contains(expected),
            "{round}: {}",
            said(&output)
        );
        let whole = case.ledger();
        case.put(&whole[..whole.len() - 30 * round - 1]);
    }
    let output = case.tune("echo 1", &["--epsilon", "1", "--no-counter"]);
    assert!(
        text(&output.stdout).contains("epsilon 4 of"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("counts as charged"));
}

/// Item 5 (c): no word of it reached a user.
#[test]
fn the_precondition_is_told_everywhere() {
    let case = Case::new("precondition");
    let sentence = "Training data must be public or disjoint from the scored records";
    for flag in ["-h", "--help"] {
        let help = done(&case.folder, &["tune", flag]);
        let help = text(&help.stdout);
        assert!(
            help.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(sentence),
            "{help}"
        );
    }
    let more = ["--epsilon", "1", "--records", "5000"];
    let output = case.tune("echo 0.5000", &more);
    assert!(said(&output).contains(sentence));
    let release = text(&output.stdout);
    assert!(
        release.contains("one of 5000 scored records")
            && release.contains("training records are not protected")
    );
    let output = case.tune("echo 0.5000", &[&more[..], &["--format", "json"]].concat());
    let release = json(&output);
    assert_eq!(
        release["protects"].as_str(),
        Some("one of 5000 scored records")
    );
    assert_eq!(release["training_records"].as_str(), Some("not protected"));
}

/// Item 5 (d): three decimals at 5,000 records made ε five times too small, and were accepted.
#[test]
fn a_rounded_score_is_refused_and_a_fraction_is_exact() {
    let case = Case::new("rounded");
    let more = ["--epsilon", "1", "--records", "5000", "--show-errors"];
    let output = case.tune(
        "if [ $SORDINO_X = 2 ]; then echo 0.871; else echo 0.8714; fi",
        &more,
    );
    refused(&output, 1, "nothing is released");
    assert!(
        said(&output).contains("3 decimals where 4 are needed"),
        "{}",
        said(&output)
    );
    assert_eq!(case.charges(), 0);
    // The step of the last decimal is part of the sensitivity; more decimals need less noise.
    let noise = |more: &[&str], command: &str| {
        let all = ["--epsilon", "1", "--records", "5000", "--format", "json"];
        let output = case.released(command, &[&all[..], more].concat());
        let release = json(&output);
        (
            release["noise_scale"].as_f64().unwrap(),
            release["score"].as_f64().unwrap(),
        )
    };
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    assert!(close(noise(&[], "echo 0.8714").0, 2.0 * 3e-4));
    assert!(close(
        noise(&["--decimals", "8"], "echo 0.87140000").0,
        2.0 * 2e-4
    ));
    let (scale, score) = noise(&["--score", "fraction"], "echo log; echo 4357/5000");
    assert_eq!(scale, 2.0 * 2e-4);
    assert!(
        (score - 0.8714).abs() < 0.02 && (score * 5000.0 - (score * 5000.0).round()).abs() < 1e-6,
        "{score}"
    );
    let (_, score) = noise(&["--score", "fraction", "--minimize"], "echo 4357/5000");
    assert!((score - 0.8714).abs() < 0.02, "{score}");
    for bad in [
        "echo 0.8714",
        "echo 4357/4999",
        "echo nan/5000",
        "echo 5001/5000",
    ] {
        refused(
            &case.tune(bad, &[&more[..], &["--score", "fraction"]].concat()),
            1,
            "COUNT/5000",
        );
    }
}

/// Item 5 (e): each of the first three ended sordino and left the training command running. The
/// hostile reading: Ctrl-\ still did, and dumped core.
#[test]
fn signals_end_the_command_and_its_group() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        if is_ignored(number) {
            // Started by a shell in the background: then it stays ignored, as `nohup` wants it.
            continue;
        }
        let case = Case::new(&format!("signal-{signal}"));
        let command = "(sleep 3; touch alive) & touch started$SORDINO_X; sleep 600";
        let more = ["--epsilon", "1", "--max-epsilon", "9", "--jobs", "2"];
        let mut child = case
            .prepared(command, &more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        await_file(&case, "started0", &mut child);
        await_file(&case, "started1", &mut child);
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        refused(&output, 128 + number, "nothing was charged");
        assert!(said(&output).contains("run the same command again"));
        std::thread::sleep(Duration::from_secs(4));
        assert!(!case.folder.join("alive").exists(), "{signal}");
        assert_eq!(case.charges(), 0);
        assert!(
            case.prepared("echo 1", &["--epsilon", "1"])
                .output()
                .unwrap()
                .status
                .success()
        );
    }
}

/// Item 5 (e): commands that wait for one another end only if they run at a time.
#[test]
fn jobs_run_at_a_time_and_a_result_file_is_written() {
    let case = Case::new("jobs");
    let command = "touch here$SORDINO_X; while [ $(ls here* | wc -l) -lt 5 ]; do sleep 0.05; done; \
                   case $SORDINO_X in 3) echo 0.9;; *) echo 0.1;; esac";
    let more = [
        "--epsilon",
        "200",
        "--max-epsilon",
        "900",
        "--jobs",
        "5",
        "--out",
        "result.json",
    ];
    let run = |more: &[&str]| case.prepared(command, more).output().unwrap();
    let output = run(&more);
    assert!(output.status.success(), "{}", said(&output));
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(case.folder.join("result.json")).unwrap())
            .unwrap();
    assert_eq!(written["parameters"], serde_json::json!({"x": 3}));
    assert_eq!(written["training_records"].as_str(), Some("not protected"));
    assert!(text(&output.stdout).starts_with("x = 3\n"));
    // A release that was paid for is not overwritten.
    refused(&run(&more), 2, "exists already");
    // The control: one at a time, the first waits for ever.
    for x in 0..5 {
        std::fs::remove_file(case.folder.join(format!("here{x}"))).unwrap();
    }
    let output = run(&["--epsilon", "1", "--timeout", "1"]);
    refused(&output, 1, "nothing is released");
}

/// Item 5 (e): the format of the space file was told nowhere.
#[test]
fn the_space_file_of_the_help_works() {
    let case = Case::new("space");
    let help = done(&case.folder, &["tune", "--help"]);
    let (_, example) = text(&help.stdout).split_once("A space file:").unwrap();
    std::fs::write(case.folder.join("space.toml"), example).unwrap();
    let output = case.released(
        "test -n \"$SORDINO_LEARNING_RATE$SORDINO_KERNEL\" && echo 1",
        &["--epsilon", "1"],
    );
    assert!(said(&output).contains("24 of 24 candidates evaluated"));
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/book/src/output.md");
    let chapter = std::fs::read_to_string(book).unwrap();
    assert!(
        chapter.contains(sordino_host::tune::space::EXAMPLE),
        "the book shows another space file"
    );
    assert!(chapter.contains("Training data must be public or disjoint"));
}
