//! `sordino optimize` as a user runs it: what is found, what is kept, how it goes on after a kill,
//! what fails.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::util::{command, done, is_ignored, json, refused, said, scratch, sordino, text};

const SPACE: &str = "goal = \"minimize\"\nvalue = \"validation loss\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n\
                     [parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n[parameters.kind]\nchoices = [\"adam\", \"sgd\"]\n";
/// Least 0.25 at depth 5 with sgd, whatever the rate; checks that both ways of a point say the
/// same.
const TRAIN: &str = "read line; case \"$line\" in *\\\"depth\\\":$SORDINO_DEPTH*\\\"kind\\\":\\\"$SORDINO_KIND\\\"*$SORDINO_RATE*) ;; \
                     *) exit 9;; esac; echo training; \
                     awk -v d=$SORDINO_DEPTH -v k=$SORDINO_KIND 'BEGIN { print (d-5)*(d-5) + (k == \"sgd\" ? 0.25 : 1) }'";

fn case(name: &str) -> PathBuf {
    let folder = scratch(&format!("optimize-{name}"));
    std::fs::write(folder.join("space.toml"), SPACE).unwrap();
    folder
}

fn with<'a>(train: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [
        &["optimize", "--space", "space.toml", "--command", train][..],
        more,
    ]
    .concat()
}

fn points(folder: &Path, file: &str) -> Vec<Value> {
    let stored: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
    stored["history"].as_array().unwrap().clone()
}

#[test]
fn it_finds_the_best_and_leaves_it_in_the_folder() {
    let folder = case("best");
    let output = done(
        &folder,
        &with(TRAIN, &["--evaluations", "24", "--format", "json"]),
    );
    let result = json(&output);
    assert_eq!(result["best"]["value"], 0.25);
    assert_eq!(
        (
            &result["best"]["point"]["depth"],
            &result["best"]["point"]["kind"]
        ),
        (&5.into(), &"sgd".into())
    );
    assert_eq!(
        (result["evaluations"].as_u64(), result["failed"].as_u64()),
        (Some(24), Some(0))
    );
    let history = result["history"].as_array().unwrap();
    let least = history
        .iter()
        .map(|told| told["value"].as_f64().unwrap())
        .fold(f64::INFINITY, f64::min);
    assert_eq!((history.len(), least), (24, 0.25));
    let out = folder.join("sordino-optimize");
    let best: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("best.json")).unwrap()).unwrap();
    assert_eq!(best, result);
    // A table that others read, and the picture says what it shows.
    let table = std::fs::read_to_string(out.join("history.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("evaluation,depth,kind,rate,value,best"));
    assert!(
        lines.clone().count() == 24 && lines.last().unwrap().ends_with(",0.25"),
        "{table}"
    );
    let picture = std::fs::read_to_string(out.join("best.svg")).unwrap();
    assert!(
        picture.contains("best so far")
            && picture.contains("validation loss")
            && picture.contains("lower is better")
    );
    // What it waits for, and what it knows.
    let progress = said(&output);
    for needed in [
        "question 24: depth = ",
        "waiting for 1 command",
        "24 of 24: ",
        "; best 0.2500",
    ] {
        assert!(progress.contains(needed), "{needed}: {progress}");
    }
    let told =
        text(&done(&folder, &with(TRAIN, &["--evaluations", "24", "--resume"])).stdout).to_owned();
    assert!(
        told.starts_with("best validation loss: 0.250000 at depth = 5, kind = sgd"),
        "{told}"
    );
}

#[test]
fn the_largest_value_is_found_where_it_is_the_goal() {
    let folder = case("largest");
    std::fs::write(
        folder.join("space.toml"),
        SPACE.replace("minimize", "maximize"),
    )
    .unwrap();
    let result = json(&done(
        &folder,
        &with(TRAIN, &["--evaluations", "20", "--format", "json"]),
    ));
    assert_eq!(
        (&result["best"]["value"], &result["goal"]),
        (&17.0.into(), &"maximize".into())
    );
}

/// A signal that asks ends the command and what it started, and is told as shells tell it.
#[test]
fn a_search_that_is_asked_to_end_leaves_no_command_behind() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        if is_ignored(code - 128) {
            continue;
        }
        let folder = case(&format!("asked-{signal}"));
        let slow = "(sleep 3; touch alive) & touch started; sleep 600";
        let child = command(&folder, &with(slow, &["--evaluations", "3"]))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !folder.join("started").exists() && start.elapsed() < Duration::from_secs(180) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = std::process::Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let told = said(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(
            told.contains("every command was ended") && told.contains("--resume"),
            "{told}"
        );
        std::thread::sleep(Duration::from_secs(4));
        assert!(!folder.join("alive").exists(), "{signal}");
    }
}

/// Every line is an object, also where the command writes lines of its own; its last one is quoted
/// where it fails.
#[test]
fn the_log_for_programs_holds_nothing_else() {
    let folder = case("log");
    let arguments = ["--evaluations", "2", "--retries", "0", "--log", "json"];
    let noisy = format!("echo epoch 1 >&2; {TRAIN}");
    let output = done(&folder, &with(&noisy, &arguments));
    let lines: Vec<serde_json::Value> = said(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let progress: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "progress")
        .collect();
    assert_eq!(progress.len(), 2);
    assert_eq!(
        (&progress[1]["done"], &progress[1]["total"]),
        (&2.into(), &2.into())
    );
    assert!(progress[1]["best"].as_f64() <= progress[1]["value"].as_f64());
    assert_eq!(lines.last().unwrap()["event"], "done");
    let arguments = [&arguments[..], &["--out", "failed"]].concat();
    let output = sordino(
        &folder,
        &with(
            "echo epoch 1 >&2; echo 'no such file' >&2; exit 3",
            &arguments,
        ),
    );
    let last = said(&output).lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    let message = last["message"].as_str().unwrap();
    assert!(
        message.contains("ended with exit code 3; its last words: no such file"),
        "{message}"
    );
}

/// Killed with the command under way, twice, and gone on with: the same questions as in one go. The
/// control is another seed.
#[test]
fn a_killed_search_goes_on_with_the_same_questions() {
    let folder = case("killed");
    let slow = format!("{TRAIN}; sleep 0.05");
    done(
        &folder,
        &with(&slow, &["--evaluations", "16", "--out", "whole"]),
    );
    done(
        &folder,
        &with(
            &slow,
            &["--evaluations", "16", "--out", "other", "--seed", "1"],
        ),
    );
    for least in [4, 11] {
        let arguments = with(
            &slow,
            &["--evaluations", "16", "--out", "parts", "--resume"],
        );
        let mut child = command(&folder, &arguments)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let known =
            || std::fs::read_to_string(folder.join("parts/search.jsonl")).unwrap_or_default();
        while known().matches("told").count() < least && start.elapsed() < Duration::from_secs(180)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            known().matches("told").count() < 16,
            "it had ended by itself"
        );
        // A line that was cut off is written over.
        let half = known() + "{\"told\":{\"poi";
        std::fs::write(folder.join("parts/search.jsonl"), half).unwrap();
    }
    done(
        &folder,
        &with(
            &slow,
            &["--evaluations", "16", "--out", "parts", "--resume"],
        ),
    );
    assert_eq!(
        points(&folder, "parts/best.json"),
        points(&folder, "whole/best.json")
    );
    assert_ne!(
        points(&folder, "other/best.json"),
        points(&folder, "whole/best.json")
    );
    let parts = "parts/search.jsonl";
    let whole = "whole/search.jsonl";
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    assert_eq!(read(parts), read(whole));
}

#[test]
fn several_commands_run_at_a_time_and_none_is_asked_twice() {
    let folder = case("jobs");
    let start = Instant::now();
    let slow = format!("{TRAIN}; sleep 0.3");
    let result = json(&done(
        &folder,
        &with(
            &slow,
            &["--evaluations", "12", "--jobs", "4", "--format", "json"],
        ),
    ));
    let elapsed = start.elapsed();
    // More than one at a time: one after another would sleep for 3.6 s.
    let asked = std::fs::read_to_string(folder.join("sordino-optimize/search.jsonl")).unwrap();
    let order: Vec<bool> = asked
        .lines()
        .skip(1)
        .map(|line| line.starts_with("{\"asked\""))
        .collect();
    assert_eq!(order[..4], [true; 4], "{elapsed:?}");
    let history = result["history"].as_array().unwrap();
    assert_eq!(history.len(), 12);
    for (place, told) in history.iter().enumerate() {
        assert!(
            history[..place]
                .iter()
                .all(|other| other["point"] != told["point"]),
            "{told}"
        );
    }
}

#[test]
fn a_command_that_fails_is_tried_again_and_then_left_out() {
    let folder = case("fails");
    // Fails at first, for every point.
    let once = format!(
        "touch tried; n=$(cat tried | wc -l); echo >> tried; [ $((n % 2)) = 1 ] || exit 7; {TRAIN}"
    );
    let output = done(
        &folder,
        &with(
            &once,
            &["--evaluations", "2", "--out", "again", "--retries", "1"],
        ),
    );
    assert!(
        said(&output).contains("ended with exit code 7; tried again in 1 s (1 of 1 times)"),
        "{}",
        said(&output)
    );
    // Fails for good where the kind is adam.
    let never = format!("[ $SORDINO_KIND = sgd ] || exit 3; {TRAIN}");
    let arguments = [
        "--evaluations",
        "12",
        "--out",
        "never",
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let output = done(&folder, &with(&never, &arguments));
    let result = json(&output);
    assert_eq!(
        (result["evaluations"].as_u64(), &result["best"]["value"]),
        (Some(12), &0.25.into())
    );
    let failed = result["failed"].as_u64().unwrap();
    assert!(
        (1..=10).contains(&failed) && said(&output).contains("the command ended with exit code 3"),
        "{failed}"
    );
    let kinds = result["history"]
        .as_array()
        .unwrap()
        .iter()
        .all(|told| told["point"]["kind"] == "sgd");
    assert!(kinds, "a failed question is no part of the history");
    // A command that never succeeds ends the run, and what was learned is kept.
    let output = sordino(
        &folder,
        &with(
            "exit 4",
            &[
                "--evaluations",
                "14",
                "--out",
                "never",
                "--resume",
                "--retries",
                "0",
            ],
        ),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("3 questions in a row failed"),
        "{}",
        said(&output)
    );
    assert_eq!(points(&folder, "never/best.json").len(), 12);
    done(
        &folder,
        &with(
            TRAIN,
            &["--evaluations", "14", "--out", "never", "--resume"],
        ),
    );
    assert_eq!(points(&folder, "never/best.json").len(), 14);
    // One that hangs is killed; one that prints no number has failed.
    for (train, more, reason) in [
        (
            "sleep 60",
            &["--time-limit", "200ms"][..],
            "ran out of time and was killed",
        ),
        (
            "echo done",
            &[][..],
            "ended without a number on the last line",
        ),
        ("echo 1e200", &[][..], "printed 1"),
    ] {
        let more = [
            &[
                "--evaluations",
                "1",
                "--out",
                "bad",
                "--resume",
                "--retries",
                "0",
            ][..],
            more,
        ]
        .concat();
        let output = sordino(&folder, &with(train, &more));
        assert!(
            output.status.code() == Some(1) && said(&output).contains(reason),
            "{}",
            said(&output)
        );
        // Before any value is known fewer failures end the run.
        assert!(
            said(&output).contains("3 questions in a row failed"),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn a_space_of_few_points_ends_when_all_were_asked() {
    let folder = case("few");
    std::fs::write(
        folder.join("space.toml"),
        "[parameters.n]\nlow = 1\nhigh = 5\ninteger = true\n",
    )
    .unwrap();
    let output = done(
        &folder,
        &with(
            "echo $SORDINO_N",
            &["--evaluations", "9", "--format", "json"],
        ),
    );
    assert!(
        said(&output).contains("the space has 5 points: 5 evaluations"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("names no goal: smaller values are better"));
    let mut asked: Vec<f64> = json(&output)["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|told| told["value"].as_f64().unwrap())
        .collect();
    asked.sort_by(f64::total_cmp);
    assert_eq!(asked, [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn what_is_given_is_in_every_question_and_what_does_not_fit_is_refused() {
    let folder = case("given");
    let given = format!("{SPACE}[parameters.load]\nlow = 0\nhigh = 1\ncontext = true\n");
    std::fs::write(folder.join("space.toml"), given).unwrap();
    let arguments = [
        "--evaluations",
        "3",
        "--given",
        "load=0.5",
        "--format",
        "json",
    ];
    let ended = done(&folder, &with("echo $SORDINO_LOAD", &arguments));
    let result = json(&ended);
    assert_eq!(result["best"]["value"], 0.5);
    let said = text(&ended.stderr);
    let one = "all 3 values are 0.5: does the command read its parameters (SORDINO_<NAME>, or JSON on standard input)?";
    assert!(said.contains(one), "{said}");
    // Of the value that is given now, though the smaller ones were at another.
    let now = [
        "--evaluations",
        "6",
        "--given",
        "load=0.75",
        "--resume",
        "--format",
        "json",
    ];
    let result = json(&done(&folder, &with("echo $SORDINO_LOAD", &now)));
    for found in [&result["best"], &result["recommended"]] {
        assert_eq!(found["point"]["load"], 0.75, "{result}");
    }
    assert_eq!(
        (&result["best"]["value"], &result["given"]["load"]),
        (&0.75.into(), &0.75.into())
    );
    for (more, said) in [
        (
            &[][..],
            "`load` has no value; admissible: a number from 0 to 1; this space takes --given load=VALUE",
        ),
        (
            &["--given", "load=2"][..],
            "`load` is 2; admissible: a number from 0 to 1",
        ),
        (
            &["--given", "laod=1"][..],
            "`laod` is no parameter of this space; did you mean `load`?",
        ),
        (
            &["--given", "load"][..],
            "--given load: admissible: NAME=VALUE",
        ),
        (
            &["--given", "load=1", "--given", "load=1"][..],
            "given twice",
        ),
        (
            &["--given", "load=0.5"][..],
            "holds a search already; --resume goes on with it",
        ),
        (
            &["--given", "load=0.5", "--resume", "--seed", "9"][..],
            "holds a search with another seed",
        ),
    ] {
        let message = refused(
            &folder,
            2,
            &with("echo 1", &[&["--evaluations", "3"], more].concat()),
        );
        assert!(message.contains(said), "{message}");
    }
    // Another command goes on, and says whose values it goes on with.
    let told = |command: &str, evaluations: &str, out: &str| {
        let more = [
            "--evaluations",
            evaluations,
            "--given",
            "load=0.5",
            "--out",
            out,
            "--resume",
        ];
        text(&done(&folder, &with(command, &more)).stderr).to_owned()
    };
    let said = told("echo 1", "2", "new-search");
    assert!(
        said.contains(
            "new-search: holds no search yet; one begins; beside it lie those of sordino-optimize"
        ),
        "{said}"
    );
    let another = "another command than that of the 2 values in new-search: all count";
    let said = told("echo 2", "3", "new-search");
    assert!(
        said.contains(another) && !said.contains("no search yet"),
        "{said}"
    );
    assert!(!told("echo 2", "4", "new-search").contains("another command"));
    std::fs::write(
        folder.join("space.toml"),
        SPACE.replace("high = 8", "high = 9"),
    )
    .unwrap();
    let message = refused(
        &folder,
        2,
        &with("echo 1", &["--evaluations", "3", "--resume"]),
    );
    assert!(
        message.contains("holds a search with another space"),
        "{message}"
    );
    std::fs::write(folder.join("space.toml"), SPACE.replace("scale", "scael")).unwrap();
    let message = refused(
        &folder,
        2,
        &with("echo 1", &["--evaluations", "3", "--out", "new"]),
    );
    assert!(
        message.contains(
            "space.toml:6:1: `parameters.rate.scael`: no such key; did you mean `scale`?"
        ),
        "{message}"
    );
    assert!(!folder.join("new").exists());
}
