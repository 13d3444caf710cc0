//! A program of the user's as objective: asked once for each question, kept alive, killed and
//! resumed, its failures named.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::util::{command, done, json, refused, said, scratch, sordino, text, with};

/// A Python function, as the book shows it; it writes down every start and every question.
const PROGRAM: &str = r#"
import json, sys, time, os
open("starts.txt", "a").write("start\n")
for line in sys.stdin:
    q = json.loads(line)
    open("asked.txt", "a").write(line)
    x = q["x"]
    time.sleep(float(os.environ.get("PAUSE", "0")))
    assert isinstance(x["depth"], int) and x["optimizer"] in ("adam", "sgd")
    off = 0.02 * q["agent"]
    print((x["rate"] - 0.3 - off) ** 2 + 0.01 * x["depth"] + (0.1 if x["optimizer"] == "sgd" else 0.0))
"#;

const SCENARIO: &str = "name = \"c\"\ndescription = \"a program\"\nruns = 2\n[objective]\nkind = \"command\"\n\
    command = \"python3 train.py\"\ninputs = [\"rate\", \"depth\", \"optimizer\"]\ncategorical_inputs = [\"optimizer\"]\n\
    categories = [[\"adam\", \"sgd\"]]\ninput_ranges = [[0, 1], [1, 3]]\ninteger_inputs = [\"depth\"]\ncandidates = 40\n\
    goal = \"minimize\"\nnoise_variance = 1e-4\n[federation]\nagents = 4\nrounds = 5\ninitial_points = 2\n\
    methods = [\"ts\", \"fts\", \"dp-fts\"]\n[surrogate]\nlengthscale = 0.5\nnoise_variance = 1e-4\nfeatures = 12\n\
    signal_variance = 0.05\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n";

fn beside(folder: &Path, program: &str) {
    std::fs::write(folder.join("c.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("train.py"), program).unwrap();
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn a_python_function_is_started_once_for_each_thread_and_asked_once_for_each_question() {
    let folder = scratch("command-runs");
    beside(&folder, PROGRAM);
    let run = |driver, out| {
        json(&done(
            &folder,
            &[
                "run",
                "c.toml",
                "--driver",
                driver,
                "--threads",
                "1",
                "--format",
                "json",
                "--out",
                out,
            ],
        ))
    };
    let first = run("lockstep", "a");
    assert_eq!(lines(&folder.join("starts.txt")), 1);
    let table = std::fs::read_to_string(folder.join("a/values.csv")).unwrap();
    assert!(
        table.starts_with("agent,rate,depth,optimizer,observation,value\n"),
        "{table}"
    );
    // Each question of the folder was asked once, in two runs of three methods.
    assert_eq!(lines(&folder.join("asked.txt")), table.lines().count() - 1);
    assert!(table.lines().count() > 30);
    let second = run("tokio", "b");
    assert_eq!(first["digest"], second["digest"]);
    assert_eq!(
        table,
        std::fs::read_to_string(folder.join("b/values.csv")).unwrap()
    );
    done(&folder, &["report", "a"]);
    // Regret counts from `optimum`, in units of the answers.
    let measure = first["methods"][0]["measures"][0]["mean"].as_f64().unwrap();
    assert!((0.01..0.3).contains(&measure), "{measure}");
}

#[test]
fn a_run_that_is_killed_goes_on_and_asks_nothing_twice() {
    let folder = scratch("command-killed");
    beside(&folder, PROGRAM);
    done(
        &folder,
        &["run", "c.toml", "--threads", "1", "--out", "whole"],
    );
    let asked = lines(&folder.join("asked.txt"));
    std::fs::remove_file(folder.join("asked.txt")).unwrap();
    let arguments = [
        "run",
        "c.toml",
        "--threads",
        "1",
        "--driver",
        "lockstep",
        "--out",
        "cut",
        "--resume",
    ];
    let mut child = command(&folder, &arguments)
        .env("PAUSE", "0.05")
        .spawn()
        .unwrap();
    let start = Instant::now();
    while lines(&folder.join("asked.txt")) < 12 && start.elapsed() < Duration::from_secs(180) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The question under way may be asked again; nothing that was answered is.
    let before = lines(&folder.join("cut/state/answers.csv")).saturating_sub(1);
    assert!(before >= 11, "{before}");
    // As a crash may leave it: half a line.
    let table = folder.join("cut/state/answers.csv");
    let half = std::fs::read_to_string(&table).unwrap() + "3,0.25,";
    std::fs::write(&table, half).unwrap();
    std::fs::remove_file(folder.join("asked.txt")).unwrap();
    done(&folder, &arguments);
    assert_eq!(lines(&folder.join("asked.txt")), asked - before);
    for file in [
        "rounds.csv",
        "values.csv",
        "summary.json",
        "transcript.jsonl",
    ] {
        let read = |run: &str| std::fs::read(folder.join(run).join(file)).unwrap();
        assert!(read("whole") == read("cut"), "{file}");
    }
}

#[test]
fn a_program_that_fails_is_one_named_error_and_what_it_answered_is_kept() {
    let folder = scratch("command-fails");
    // Fails for agent 2, whenever it is asked.
    let failing = PROGRAM.replace(
        "    off =",
        "    if q[\"agent\"] == 2: raise ValueError(\"no data\")\n    off =",
    );
    beside(&folder, &failing);
    let arguments = [
        "run",
        "c.toml",
        "--threads",
        "1",
        "--driver",
        "lockstep",
        "--out",
        "a",
    ];
    let output = sordino(&folder, &arguments);
    let message = said(&output).lines().last().unwrap_or_default().to_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    for part in [
        "error: objective.command, asked 3 times for {\"agent\":2",
        "exit code 1",
        "ValueError: no data",
    ] {
        assert!(message.contains(part), "{message}\nexpected {part}");
    }
    assert!(lines(&folder.join("a/state/answers.csv")) > 3);
    // Mended, it goes on.
    std::fs::write(folder.join("train.py"), PROGRAM).unwrap();
    std::fs::remove_file(folder.join("asked.txt")).unwrap();
    done(&folder, &[&arguments[..], &["--resume"]].concat());
    let first = std::fs::read_to_string(folder.join("asked.txt")).unwrap();
    assert!(first.starts_with("{\"agent\":2"), "{first}");
    for (command, settings, expected) in [
        (
            "sleep 30",
            "objective.time_limit=0.1",
            "gave no answer within 0.1 s and was killed",
        ),
        (
            "while read q; do echo high; done",
            "runs=1",
            "answered `high`; admissible: one line with a finite number",
        ),
        ("./no-such-program", "runs=1", "exit code 127"),
    ] {
        let command = format!("objective.command={command}");
        let output = sordino(
            &folder,
            &[
                "run",
                "c.toml",
                "--set",
                &command,
                "--set",
                settings,
                "--set",
                "objective.retries=0",
                "--out",
                "no",
            ],
        );
        let message = text(&output.stderr).to_owned();
        assert!(
            message.contains(expected) && output.status.code() == Some(1),
            "{message}\nexpected {expected}"
        );
        assert!(
            !folder.join("no").exists(),
            "nothing was answered, so nothing is left"
        );
    }
}

/// A program that fails now and then, and whose answers differ: the run is the same as its table
/// says.
#[test]
fn a_program_is_tried_again_and_may_be_noisy() {
    let folder = scratch("command-noisy");
    let noisy = PROGRAM
        .replace(
            "    off =",
            "    if not os.path.exists(\"failed\"):\n        open(\"failed\", \"w\"); sys.exit(1)\n    off =",
        )
        .replace("print((", "import random; print(1e-3 * random.random() * (q[\"observation\"] > 0) + (");
    beside(&folder, &noisy);
    let output = done(
        &folder,
        &[
            "run",
            "c.toml",
            "--threads",
            "2",
            "--set",
            "objective.noisy=true",
            "--out",
            "a",
        ],
    );
    let healed = said(&output).contains("exit code 1 instead of answering")
        && said(&output).contains("it is asked again");
    assert!(
        healed,
        "a failure that a second try heals is told: {}",
        said(&output)
    );
    let table = std::fs::read_to_string(folder.join("a/values.csv")).unwrap();
    let of = |observation: &str| {
        table
            .lines()
            .filter(|line| line.split(',').nth(4) == Some(observation))
            .count()
    };
    assert!(of("0") > 10 && of("1") > 4 && of("7") >= 4, "{table}");
    assert!(folder.join("failed").exists());
}

#[test]
fn candidates_of_a_list_are_asked_in_the_users_units() {
    let folder = scratch("command-list");
    beside(&folder, PROGRAM);
    let rows = "optimizer,depth,rate\nadam,1,0.25\nsgd,3,0.5\nadam,1,0.25\nadam,2,0.75\n";
    std::fs::write(folder.join("list.csv"), rows).unwrap();
    let design = ["--set", "objective.design=list"];
    done(
        &folder,
        &[
            &["run", "c.toml", "--data", "list.csv", "--out", "a"][..],
            &design,
        ]
        .concat(),
    );
    let table = std::fs::read_to_string(folder.join("a/values.csv")).unwrap();
    let settings: std::collections::BTreeSet<String> = table
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .skip(1)
                .take(3)
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    assert!(
        settings
            .iter()
            .all(|one| ["0.25,1,adam", "0.5,3,sgd", "0.75,2,adam"].contains(&one.as_str()))
    );
    assert_eq!(settings.len(), 3, "{table}");
    std::fs::write(
        folder.join("list.csv"),
        "optimizer,depth,rate\nadam,1,7\nsgd,1,0.1\n",
    )
    .unwrap();
    let message = refused(
        &folder,
        2,
        &[
            &["run", "c.toml", "--data", "list.csv", "--out", "no"][..],
            &design,
        ]
        .concat(),
    );
    assert!(
        message.contains("list.csv:2: `rate` is `7`; admissible: a number from 0 to 1"),
        "{message}"
    );
    std::fs::write(
        folder.join("list.csv"),
        "rate,depth,rate,optimizer\n.1,1,.2,sgd\n.1,2,.2,sgd\n",
    )
    .unwrap();
    let message = refused(
        &folder,
        2,
        &[
            &["run", "c.toml", "--data", "list.csv", "--out", "no"][..],
            &design,
        ]
        .concat(),
    );
    assert!(
        message.contains("list.csv:1: column `rate` is there twice"),
        "{message}"
    );
    // The folder says which list it was: another is refused, also when the run is complete; with
    // its like it is compared.
    std::fs::write(folder.join("list.csv"), format!("{rows}sgd,2,0.5\n")).unwrap();
    let again = [
        &[
            "run", "c.toml", "--data", "list.csv", "--resume", "--out", "a",
        ][..],
        &design,
    ]
    .concat();
    let message = refused(&folder, 2, &again);
    assert!(
        message.contains("belongs to another scenario") && message.contains("list_digest"),
        "{message}"
    );
    std::fs::write(folder.join("list.csv"), rows).unwrap();
    assert!(text(&done(&folder, &again).stderr).contains("complete already"));
    done(&folder, &["compare", "a", "a"]);
    std::fs::write(folder.join("other.csv"), rows.replace("0.75", "0.8")).unwrap();
    done(
        &folder,
        &[
            &["run", "c.toml", "--data", "other.csv", "--out", "b"][..],
            &design,
        ]
        .concat(),
    );
    assert!(refused(&folder, 2, &["compare", "a", "b"]).contains("objective.list_digest is"));
    // Observations stand there in the unit box and in the user's own units, of which less is better
    // here.
    let lines = std::fs::read_to_string(folder.join("a/observations.csv")).unwrap();
    assert!(lines.starts_with(
        "run,method,agent,round,source,candidate,x1,x2,x3,x4,y,value,rate,depth,optimizer,own_y,own_value\n"
    ));
    for line in lines.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        assert!(settings.contains(&fields[12..15].join(",")), "{line}");
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        assert_eq!(
            (number(10), number(11)),
            (-number(15), -number(16)),
            "{line}"
        );
    }
    let best = std::fs::read_to_string(folder.join("a/agents.csv")).unwrap();
    assert!(
        best.lines()
            .next()
            .unwrap()
            .ends_with("best_value,rate,depth,optimizer,own_value"),
        "{best}"
    );
}

/// A grid of two points an axis has no candidate with the middle one of three names.
#[test]
fn a_design_that_leaves_names_out_is_refused() {
    let folder = scratch("command-names");
    beside(&folder, PROGRAM);
    let set = [
        "objective.categories=[[\"adam\", \"lion\", \"sgd\"]]",
        "objective.design=grid",
        "objective.candidates=8",
    ];
    let message = refused(&folder, 2, &with(&["run", "c.toml", "--out", "no"], &set));
    assert!(
        message.contains("the design has no candidate with lion as `optimizer`"),
        "{message}"
    );
}

/// A program that prints more than its answers: nothing it says is taken for the answer to another
/// question.
#[test]
fn a_program_that_prints_more_is_stopped_by_name() {
    for (name, before, expected) in [
        (
            "words",
            "    print(\"loading\")\n",
            "answered `loading`; admissible: one line with a finite number",
        ),
        (
            "number",
            "    print(12345)\n",
            "wrote a line that nobody asked for",
        ),
    ] {
        let folder = scratch(&format!("command-prints-{name}"));
        beside(
            &folder,
            &PROGRAM.replace("    off =", &format!("{before}    off =")),
        );
        let output = sordino(
            &folder,
            &[
                "run",
                "c.toml",
                "--threads",
                "1",
                "--driver",
                "lockstep",
                "--out",
                "a",
            ],
        );
        let message = text(&output.stderr).to_owned();
        assert!(
            output.status.code() == Some(1) && message.contains(expected),
            "{message}"
        );
        // Of the two numbers of a program that cannot be told apart, none but the first was ever
        // written down.
        assert!(lines(&folder.join("a/state/answers.csv")) <= 2, "{name}");
    }
}

/// A disk that is full is a failure that says what could not be written, and with room again the
/// run goes on to the same bits. It was told as bad input, and as a file that cannot be read.
#[test]
fn a_full_disk_is_no_bad_input() {
    let folder = scratch("command-full");
    beside(&folder, PROGRAM);
    const SHORT: &str =
        "--set objective.candidates=400 --set runs=1 --set 'federation.methods=[\"ts\"]'";
    let program = env!("CARGO_BIN_EXE_sordino");
    for (settings, blocks, place) in [
        ("", 4, "a/state/answers.csv: cannot be written"),
        (SHORT, 6, "a/state/candidates.csv: cannot be written"),
    ] {
        let run = format!("'{program}' run c.toml {settings} --resume --format json --out");
        let sh = |line: &str| {
            Command::new("sh")
                .args(["-c", line])
                .current_dir(&folder)
                .output()
                .unwrap()
        };
        // A file that would be longer than so many blocks of 512 bytes cannot be written.
        let output = sh(&format!("ulimit -f {blocks}; trap '' XFSZ; exec {run} a"));
        let message = said(&output).lines().last().unwrap_or_default().to_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains(place) && message.contains("File too large"),
            "{message}"
        );
        assert_eq!(
            json(&sh(&format!("{run} a")))["digest"],
            json(&sh(&format!("{run} whole")))["digest"]
        );
        for made in ["a", "whole"] {
            std::fs::remove_dir_all(folder.join(made)).unwrap();
        }
    }
}
