//! `sordino tune` as a user runs it: what leaves, what does not, what is charged, and every way a command can fail.

use std::path::PathBuf;
use std::process::{Command, Output};

struct Case {
    folder: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = std::env::temp_dir().join(format!("sordino-tune-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let space = "design = \"grid\"\n[parameters.x]\nlow = 0\nhigh = 4\ninteger = true\npoints = 5\n";
        std::fs::write(folder.join("space.toml"), space).unwrap();
        Case { folder }
    }

    fn tune(&self, command: &str, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_sordino"))
            .current_dir(&self.folder)
            .args(["tune", "--space", "space.toml", "--command", command, "--timeout", "20"])
            .args(more)
            .output()
            .unwrap()
    }

    fn charges(&self) -> usize {
        std::fs::read_to_string(self.folder.join("sordino-ledger.jsonl")).map_or(0, |text| text.lines().count())
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// 0.1, 0.3, 0.5, 0.9, 0.2 for x = 0..4, from the environment and checked against standard input.
const COMMAND: &str = "read line; case \"$line\" in \"{\\\"x\\\":$SORDINO_X}\") ;; *) exit 9;; esac; \
                       echo secret-log >&2; echo training; echo 0.13592 | tr 1 $(echo 13592 | cut -c$((SORDINO_X+1)))";

#[test]
fn releases_the_best_candidate_and_nothing_else() {
    let case = Case::new("release");
    let more = ["--epsilon", "8", "--records", "5000", "--format", "json"];
    let output = case.tune("case $SORDINO_X in 3) echo 0.9;; *) echo 0.$SORDINO_X;; esac", &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let release: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // The gap to the next candidate, 0.5, is 2,500 sensitivities; the noise has scale 5e-5.
    assert_eq!(release["parameters"], serde_json::json!({"x": 3}));
    let score = release["score"].as_f64().unwrap();
    assert!((score - 0.9).abs() < 5e-3 && score != 0.9, "{score}");
    assert_eq!((release["epsilon"].as_f64(), release["noise"].as_str()), (Some(8.0), Some("secret noise")));
    assert_eq!(case.charges(), 2);
    // Progress counts; it never tells a score.
    let progress = text(&output.stderr);
    assert!(progress.contains("5 of 5 candidates evaluated") && progress.contains("your promise"));
    assert!(!progress.contains("0.9") && !progress.contains("0.4"), "{progress}");
}

#[test]
fn parameters_arrive_twice_and_the_log_stays_inside() {
    let case = Case::new("channels");
    let output = case.tune(COMMAND, &["--epsilon", "1", "--minimize", "--score-range", "-1,1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("secret-log"));
    let release = text(&output.stdout);
    assert_eq!(release.lines().count(), 3, "{release}");
    assert!(release.starts_with("x = ") && release.contains("score = ") && release.contains("replacing any record"));
    // Two releases of the same data are two different draws (a tie of both has probability far below 1e-3).
    let again = text(&case.tune(COMMAND, &["--epsilon", "1", "--minimize", "--score-range", "-1,1"]).stdout);
    let third = text(&case.tune(COMMAND, &["--epsilon", "1", "--minimize", "--score-range", "-1,1"]).stdout);
    let fourth = text(&case.tune(COMMAND, &["--epsilon", "1", "--minimize", "--score-range", "-1,1"]).stdout);
    assert!(release != again || release != third || release != fourth);
    assert_eq!(case.charges(), 8);
}

#[test]
fn failures_abort_without_a_charge() {
    for (name, command, said) in [
        ("hang", "if [ $SORDINO_X = 2 ]; then sleep 600; fi; echo 1", "ran out of time"),
        ("exit", "if [ $SORDINO_X = 2 ]; then exit 7; fi; echo 1", "exit code 7"),
        ("nan", "if [ $SORDINO_X = 2 ]; then echo nan; fi; if [ $SORDINO_X != 2 ]; then echo 1; fi", "NaN"),
        ("garbage", "if [ $SORDINO_X = 2 ]; then echo 1; echo ok; else echo 1; fi", "without a number"),
    ] {
        let case = Case::new(name);
        let mut more = vec!["--epsilon", "1", "--show-errors"];
        if name == "hang" {
            more.extend(["--timeout", "1"]);
        }
        let output = Command::new(env!("CARGO_BIN_EXE_sordino"))
            .current_dir(&case.folder)
            .args(["tune", "--space", "space.toml", "--command", command])
            .args(&more)
            .output()
            .unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(output.stdout.is_empty());
        assert!(errors.contains(said) && errors.contains("nothing is released"), "{name}: {errors}");
        assert_eq!(case.charges(), 0);
        // The other public rule counts it as the worst score, and is accounted.
        if name != "hang" {
            let output = case.tune(command, &["--epsilon", "1", "--on-failure", "lowest"]);
            assert!(output.status.success() && !output.stdout.is_empty(), "{}", text(&output.stderr));
            assert_eq!(case.charges(), 2);
        }
    }
}

/// An exit code is chosen by the data: what a bystander reads must be the same whether, which and how candidates fail.
#[test]
fn standard_error_does_not_tell_which_candidate_failed_or_how() {
    let case = Case::new("silent");
    let said = |command: &str, more: &[&str]| {
        let output = case.tune(command, &[&["--epsilon", "1", "--on-failure", "lowest"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let bits = "if [ $SORDINO_X = 2 ]; then exit 173; fi; if [ $SORDINO_X = 3 ]; then echo nan; else echo 1; fi";
    assert_eq!(said(bits, &[]), said("echo 1", &[]));
    // Who asks for it is told, and the help says what that is.
    let told = said(bits, &["--show-errors"]);
    assert!(told.contains("3 of 5 candidates evaluated; this one ended with exit code 173"), "{told}");
    assert!(told.contains("4 of 5 candidates evaluated; this one ended with NaN"), "{told}");
    let help = Command::new(env!("CARGO_BIN_EXE_sordino")).args(["tune", "--help"]).output().unwrap();
    assert!(text(&help.stdout).contains("not for publication"));
    // The rule that releases nothing tells that something failed, and no more.
    let output = case.tune(bits, &["--epsilon", "1"]);
    let errors = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(!errors.contains("173") && !errors.contains("NaN") && errors.contains("--show-errors"), "{errors}");
}

#[test]
fn budgets_and_bad_arguments_are_refused_before_anything_runs() {
    let case = Case::new("refuse");
    let run = |more: &[&str]| {
        let output = case.tune("touch ran; echo 1", more);
        (output.status.code(), text(&output.stderr), output.stdout.len())
    };
    for more in [
        &["--epsilon", "0"][..],
        &["--epsilon", "nan"],
        &["--epsilon", "1", "--score-range", "0"],
        &["--epsilon", "1", "--score-range", "2,1"],
        &["--epsilon", "1", "--records", "0"],
        &["--epsilon", "1", "--records", "10", "--on-failure", "lowest"],
        &["--epsilon", "1", "--max-epsilon", "0.5"],
        &["--epsilon", "1", "--ledger", "no/such/folder/ledger"],
    ] {
        let (code, errors, len) = run(more);
        assert_eq!((code, len), (Some(2), 0), "{more:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    std::fs::write(case.folder.join("space.toml"), "[parameters.x]\nlow = 1\nhigh = 0\n").unwrap();
    assert!(run(&["--epsilon", "1"]).1.contains("parameters.x.high"));
    std::fs::write(case.folder.join("sordino-ledger.jsonl"), "{\"sch").unwrap();
    assert_eq!(run(&["--epsilon", "1"]).0, Some(2));
    assert!(!case.folder.join("ran").exists() && case.charges() == 1);
}
