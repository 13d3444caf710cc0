//! `sordino sweep` as a user calls it, and what it leaves.

use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use sordino_engine::{Options, Part};
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_lab::driver::sweep::run;
use sordino_lab::sweep::{SweepError, SweepFolder};
use sordino_lab::work::Work;

use crate::bad_input;
use crate::util::{SMALL, done, files, refused, scratch, sordino, text};

const METHODS: &str = "federation.methods=[\"ts\",\"dp-fts-de\"]";

fn index(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap()
}

#[test]
fn threads_change_nothing_and_a_run_is_a_normal_run() {
    let folder = scratch("sweep-threads");
    let sweep = |out: &'static str, threads: &'static str| {
        let noise = "privacy.noise_multiplier=0.5,2";
        let axes = [
            "--set", noise, "--set", METHODS, "--runs", "1", "--seeds", "3..5",
        ];
        done(
            &folder,
            &[
                &["sweep", SMALL, "--out", out, "--threads", threads][..],
                &axes,
            ]
            .concat(),
        );
        files(&folder.join(out))
    };
    let one = sweep("one", "1");
    assert!(one == sweep("three", "3"));
    let index = index(&folder.join("one"));
    assert_eq!(index["entries"].as_array().unwrap().len(), 4);
    assert_eq!(
        index["entries"][1]["folder"],
        "00001-noise_multiplier=0.5-seed=4"
    );
    assert!(index["digest"].is_string());
    // Four runs of two methods and the header; means of two runs each.
    let lines = |name: &str| text(&one[Path::new(name)]).lines().count();
    assert_eq!(
        (lines("index.csv"), lines("summary.csv")),
        (1 + 4 * 2, 1 + 2 * 2)
    );
    // Without the server nothing depends on the noise; with it something does.
    let finals = |method: usize| -> Vec<&Value> {
        [0, 2]
            .iter()
            .map(|entry| &index["entries"][*entry]["methods"][method]["digest"])
            .collect()
    };
    assert_eq!(finals(0)[0], finals(0)[1]);
    assert_ne!(finals(1)[0], finals(1)[1]);
    let settings = [
        "--set",
        "privacy.noise_multiplier=2",
        "--set",
        METHODS,
        "--runs",
        "1",
        "--seed",
        "4",
    ];
    done(
        &folder,
        &[&["run", SMALL, "--out", "single"][..], &settings].concat(),
    );
    let single = files(&folder.join("single"));
    let within = files(&folder.join("one/runs/00003-noise_multiplier=2-seed=4"));
    assert!(single == within);
    // No network: nothing is fetched, nothing is executed. And a folder can be reported on again.
    let page = text(&one[Path::new("report.html")]).to_owned();
    for forbidden in ["http://", "https://", "<script", "@import", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for needed in [
        "Final regret against noise_multiplier",
        "Privacy loss against",
        "prefers-color-scheme:dark",
        "viewport",
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    std::fs::remove_file(folder.join("one/report.html")).unwrap();
    done(&folder, &["report", "one"]);
    assert_eq!(
        std::fs::read_to_string(folder.join("one/report.html")).unwrap(),
        page
    );
    done(
        &folder,
        &["report", "one/runs/00003-noise_multiplier=2-seed=4"],
    );
}

#[test]
fn nothing_begins_if_one_run_is_refused() {
    let folder = scratch("sweep-refused");
    let sweep = |more: &[&str]| {
        refused(
            &folder,
            2,
            &[&["sweep", "default", "--out", "x"][..], more].concat(),
        )
    };
    let message = sweep(&["--set", "privacy.noise_multiplier=1,0"]);
    assert!(
        message.contains(
            "`privacy.noise_multiplier = 0` is not admissible; admissible: a number from 0.05"
        ),
        "{message}"
    );
    assert!(sweep(&["--set", "privacy.noise=1,2"]).contains("unknown key `privacy.noise`"));
    assert!(sweep(&["--seeds", "5..1"]).contains("--seeds: `5..1`"));
    assert!(
        refused(&folder, 2, &["sweep", "defualt", "--out", "x"])
            .contains("there is no scenario `defualt`")
    );
    assert!(!folder.join("x").exists());
    std::fs::create_dir(folder.join("taken")).unwrap();
    assert!(
        refused(&folder, 2, &["sweep", "default", "--out", "taken"]).contains("exists already")
    );
    std::fs::write(folder.join("taken/else"), "").unwrap();
    assert!(
        refused(
            &folder,
            2,
            &["sweep", "default", "--out", "taken", "--resume"]
        )
        .contains("holds no sweep")
    );
}

/// A run that cannot be carried out is named, the others are done, and `--resume` tries it again.
#[test]
fn failed_runs_are_kept_and_tried_again() {
    let folder = scratch("sweep-failed");
    std::fs::write(folder.join("a.csv"), "agent,from,to\n0,0,5\n").unwrap();
    let sweep = [
        "sweep",
        SMALL,
        "--out",
        "s",
        "--resume",
        "--set",
        "faults.trace=a.csv,b.csv",
        "--set",
        METHODS,
    ];
    let output = sordino(&folder, &sweep);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("1 of 2 runs failed: 00001-trace=b.csv; index.csv says why"),
        "{said}"
    );
    let entries = &index(&folder.join("s"))["entries"];
    assert_eq!(
        (&entries[0]["status"], &entries[1]["status"]),
        (&"done".into(), &"failed".into())
    );
    assert!(
        entries[1]["error"]
            .as_str()
            .unwrap()
            .contains("b.csv: cannot be read")
    );
    assert!(folder.join("s/runs/00001-trace=b.csv/error.txt").exists());
    assert!(
        std::fs::read_to_string(folder.join("s/report.html"))
            .unwrap()
            .contains("What is missing")
    );
    let first = std::fs::metadata(folder.join("s/runs/00000-trace=a.csv/rounds.csv"))
        .unwrap()
        .modified()
        .unwrap();
    // Another sweep is refused with the difference.
    let other = refused(&folder, 2, &[&sweep[..], &["--seeds", "1..3"]].concat());
    assert!(
        other.contains("belongs to another sweep (- seeds 5; + seeds 1,2)"),
        "{other}"
    );
    // An interruption before a failed run was tried again is one, though nothing waits.
    let stopped = Options {
        stop: Arc::new(AtomicBool::new(true)),
        ..Options::default()
    };
    let swept = SweepFolder::open(&folder.join("s")).unwrap();
    let work = Work::of_sweep(&swept.plan).unwrap();
    // Parts have all of the work between them.
    let steps = |i| work.steps(Some(Part::new(i, 3).unwrap()));
    let model = swept.plan.load(&swept.plan.points()[0]).unwrap();
    assert_eq!(work.steps(None), 2 * model.steps().count);
    assert_eq!(steps(1) + steps(2) + steps(3), work.steps(None));
    let mut writer = ProgressWriter::new("sweep", "small", "rounds", 1);
    let ended = run(&swept, swept.index().unwrap(), &work, &stopped, &writer);
    writer.finish();
    assert!(matches!(ended, Err(SweepError::Interrupted)), "{ended:?}");
    // Another version's bits may differ, and a table must not mix them.
    let index = folder.join("s/index.json");
    let written = std::fs::read_to_string(&index).unwrap();
    let here = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    std::fs::write(&index, written.replace(here, "\"version\": \"0.0.9\"")).unwrap();
    let older = refused(&folder, 2, &sweep);
    assert!(
        older.contains("s: was begun by sordino 0.0.9, this is"),
        "{older}"
    );
    std::fs::write(&index, written).unwrap();
    std::fs::write(folder.join("b.csv"), "agent,from,to\n1,0,5\n").unwrap();
    // Killed when it had made the folder of its state and nothing in it.
    std::fs::create_dir(folder.join("s/runs/00001-trace=b.csv/state")).unwrap();
    done(&folder, &sweep);
    assert!(
        !folder.join("s/runs/00001-trace=b.csv/error.txt").exists()
            && !folder.join("s/state").exists()
    );
    // What was done is not done again.
    let again = std::fs::metadata(folder.join("s/runs/00000-trace=a.csv/rounds.csv"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(first, again);
    assert!(text(&done(&folder, &sweep).stderr).contains("complete already"));
    // A plan that no sweep wrote is refused.
    let plan = folder.join("s/sweep.toml");
    let written = std::fs::read_to_string(&plan).unwrap();
    assert!(written.contains("seeds = [5]"), "{written}");
    std::fs::write(&plan, written.replace("seeds = [5]", "seeds = []")).unwrap();
    let message = refused(&folder, 2, &["report", "s"]);
    assert!(message.contains("is not as a sweep writes it"), "{message}");
}

#[test]
fn other_trust_models_are_swept_too() {
    let folder = scratch("sweep-local");
    let small = [
        "--set",
        "learning.rounds=200",
        "--set",
        "objective.points=20",
        "--set",
        "learning.width_factor=0.05",
    ];
    let axes = [
        "--set",
        "users.epsilon=1,8",
        "--runs",
        "2",
        "--format",
        "json",
    ];
    let output = done(
        &folder,
        &[&["sweep", "ldp-se", "--out", "s"][..], &small, &axes].concat(),
    );
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["trust"], &answer["noise"]),
        (&"local".into(), &"simulation: not private".into())
    );
    assert_eq!(index(&folder.join("s")), answer);
    // An index that does not say so is read as what it is.
    let mut silent = answer.clone();
    silent.as_object_mut().unwrap().remove("noise");
    let silent: sordino_lab::sweep::index::Index = serde_json::from_value(silent).unwrap();
    assert_eq!(silent.noise, "simulation: not private");
    let method = &answer["entries"][1]["methods"][1];
    assert_eq!(method["measures"][0]["name"], "cumulative_regret");
    assert_eq!(
        (&method["losses"][0]["name"], &method["losses"][0]["value"]),
        (&"epsilon_per_user".into(), &8.0.into())
    );
    let page = std::fs::read_to_string(folder.join("s/report.html")).unwrap();
    assert!(page.contains("Cumulative regret against epsilon") && page.contains("moma-gp-ucb"));
    assert!(folder.join("s/runs/00001-epsilon=8/report.html").exists());
    done(&folder, &["report", "s/runs/00001-epsilon=8"]);
}

/// Every line of standard error is an object with the documented fields, and none tells what only a
/// server knows.
#[test]
fn the_log_is_json_lines() {
    const FIELDS: [&str; 23] = [
        "event",
        "seconds",
        "command",
        "version",
        "scenario",
        "folder",
        "run_number",
        "of",
        "run",
        "method",
        "round",
        "rounds",
        "epsilon_spent",
        "epsilon_left",
        "what",
        "waited_seconds",
        "done",
        "total",
        "unit",
        "rate",
        "remaining_seconds",
        "out",
        "digest",
    ];
    let folder = scratch("sweep-log");
    let lines = |output: &Output| -> Vec<Value> {
        text(&output.stderr)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    };
    let budget = "privacy.max_epsilon=3";
    let arguments = ["--set", METHODS, "--set", budget, "--log", "json"];
    for (head, events) in [
        (
            &["run", SMALL, "--out", "r"][..],
            &["start", "progress", "done"][..],
        ),
        (
            &["sweep", SMALL, "--out", "s"],
            &["start", "run_start", "progress", "run_done", "done"],
        ),
    ] {
        let said = lines(&done(&folder, &[head, &arguments].concat()));
        for event in events {
            assert!(said.iter().any(|line| line["event"] == *event), "{event}");
        }
        for line in &said {
            assert!(
                line.as_object()
                    .unwrap()
                    .keys()
                    .all(|key| FIELDS.contains(&key.as_str()) || key == "message"),
                "{line}"
            );
        }
        let last = said
            .iter()
            .rfind(|line| line["event"] == "progress" && line["method"] == "dp-fts-de")
            .unwrap();
        let spent = last["epsilon_spent"].as_f64().unwrap();
        let left = last["epsilon_left"].as_f64().unwrap();
        // Told is the tight ε; the budget's filter counts more.
        assert!(
            spent > 0.0 && (0.0..3.0).contains(&left) && spent < 3.0 - left,
            "{last}"
        );
        assert!(last["rate"].as_f64().unwrap() > 0.0 && last["remaining_seconds"].is_number());
    }
    let output = sordino(&folder, &["run", SMALL, "--out", "r", "--log", "json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(lines(&output)[0]["event"], "error");
    // Without --log nothing is JSON.
    let output = done(&folder, &["run", SMALL, "--out", "t", "--set", METHODS]);
    assert!(!text(&output.stderr).contains('{'));
}

/// A run's page has paired differences; the pages, tables and pictures of sweeps had the errors of
/// single means alone.
#[test]
fn a_sweep_tells_paired_differences_at_every_point() {
    let folder = scratch("sweep-paired");
    let axes = [
        "--set",
        "privacy.noise_multiplier=0.5,2",
        "--set",
        METHODS,
        "--runs",
        "3",
        "--seeds",
        "3..5",
    ];
    done(
        &folder,
        &[&["sweep", SMALL, "--out", "s"][..], &axes].concat(),
    );
    let index = index(&folder.join("s"));
    let cells = index["paired"].as_array().unwrap();
    let of = |cell: &Value, name: &str| cell[name].as_str().unwrap().to_owned();
    assert_eq!(cells.len(), 2);
    // What is subtracted is what rounds.csv of the run folders says, run by run.
    let sums = |number: usize, method: &str| -> Vec<f64> {
        let run = index["entries"][number]["folder"].as_str().unwrap();
        let rows =
            std::fs::read_to_string(folder.join("s/runs").join(run).join("rounds.csv")).unwrap();
        let of = |run: u32| -> f64 {
            let begins = format!("{run},{method},");
            let rows = rows.lines().filter(|row| row.starts_with(&begins));
            rows.map(|row| row.split(',').nth(3).unwrap().parse::<f64>().unwrap())
                .sum()
        };
        (0..3).map(of).collect()
    };
    for (place, cell) in cells.iter().enumerate() {
        let both = |method| [sums(2 * place, method), sums(2 * place + 1, method)].concat();
        let differences: Vec<f64> = both("dp-fts-de")
            .iter()
            .zip(both("ts"))
            .map(|(a, b)| a - b)
            .collect();
        let mean = differences.iter().sum::<f64>() / 6.0;
        assert_eq!(
            (of(cell, "first"), of(cell, "second")),
            ("dp-fts-de".to_owned(), "ts".to_owned())
        );
        assert_eq!(
            (&cell["compared_by"], &cell["pairs"]),
            (&"summed regret".into(), &6.into())
        );
        assert!(
            (cell["mean"].as_f64().unwrap() - mean).abs() < 1e-9
                && cell["half_width"].as_f64().unwrap() > 0.0
        );
    }
    let page = std::fs::read_to_string(folder.join("s/report.html")).unwrap();
    assert!(
        page.contains("<h2>Paired differences</h2>") && page.contains("<th>noise_multiplier<"),
        "no section"
    );
    assert!(
        page.contains("Paired differences to ts against noise_multiplier"),
        "no picture"
    );
    let table = |more: &[&str]| {
        text(
            &done(
                &folder,
                &[&["report", "s", "--table", "paired"][..], more].concat(),
            )
            .stdout,
        )
        .to_owned()
    };
    let csv = table(&["--format", "csv"]);
    assert_eq!(
        csv,
        std::fs::read_to_string(folder.join("s/paired.csv")).unwrap()
    );
    assert!(
        csv.lines().count() == 3 && csv.contains("\n0.5,dp-fts-de,ts,"),
        "{csv}"
    );
    // The first that is named is the reference.
    assert!(table(&["--methods", "dp-fts-de,ts"]).contains("ts − dp-fts-de"));
    done(
        &folder,
        &["report", "s", "--figure", "paired", "--out", "p.svg"],
    );
    let said = refused(
        &folder,
        2,
        &[
            "report",
            "s",
            "--figure",
            "paired",
            "--axis",
            "logarithmic",
            "--out",
            "q.svg",
        ],
    );
    assert!(
        said.contains("a negative value or no positive one"),
        "{said}"
    );
    // The index of an earlier version, without the numbers of single runs: the folders have them.
    let mut old = index.clone();
    old.as_object_mut().unwrap().remove("paired");
    for entry in old["entries"].as_array_mut().unwrap() {
        assert!(entry.as_object_mut().unwrap().remove("compared").is_some());
    }
    std::fs::write(folder.join("s/index.json"), old.to_string()).unwrap();
    assert_eq!(table(&["--format", "csv"]), csv);
    // Negative control: one method has no difference, and nothing says it has.
    let alone = [
        "--set",
        "federation.methods=[\"ts\"]",
        "--set",
        "privacy.noise_multiplier=0.5,2",
    ];
    done(
        &folder,
        &[&["sweep", SMALL, "--out", "t"][..], &alone].concat(),
    );
    assert!(
        !std::fs::read_to_string(folder.join("t/report.html"))
            .unwrap()
            .contains("<h2>Paired differences")
    );
    assert!(
        text(&done(&folder, &["report", "t", "--table", "paired"]).stdout)
            .contains("no run has two methods")
    );
}

/// The digest of a data file had quotation marks in its column; it and the number of runs, which
/// nobody swept, had columns as a key that was swept.
#[test]
fn a_column_is_a_key_that_was_swept_and_a_value_is_its_value() {
    let folder = scratch("sweep-columns");
    std::fs::write(folder.join("t.toml"), bad_input::TABLE).unwrap();
    let table = "a,b,y\n.1,.2,1\n.2,-.4,2\n-.3,.6,3\n.4,.8,4\n";
    std::fs::write(folder.join("t.csv"), table).unwrap();
    let sweep = [
        "sweep",
        "t.toml",
        "--data",
        "t.csv",
        "--set",
        "curator.epsilon=1,8",
        "--set",
        "name=\"a, b\",c",
        "--set",
        "curator.delta=1e-4",
        "--runs",
        "2",
    ];
    done(&folder, &[&sweep[..], &["--out", "s"]].concat());
    let read = |name: &str| std::fs::read_to_string(folder.join("s").join(name)).unwrap();
    let begins = |name: &str, expected: [&str; 2]| {
        let text = read(name);
        let lines: Vec<&str> = text.lines().take(2).collect();
        assert!(
            lines
                .iter()
                .zip(expected)
                .all(|(line, at)| line.starts_with(at)),
            "{name}: {lines:?}"
        );
    };
    begins(
        "index.csv",
        [
            "number,folder,curator.epsilon,name,seed,",
            "0,00000-epsilon=1-name=_a__b_,1,\"a, b\",",
        ],
    );
    let keys = "curator.epsilon,name,";
    begins(
        "summary.csv",
        [&format!("{keys}method,seeds,"), "1,\"a, b\","],
    );
    begins("paired.csv", [&format!("{keys}first,second,"), ""]);
    // What was set to one value is a setting of the sweep.
    let index = index(&folder.join("s"));
    let digest = sordino_experiment::world::table::digest(&folder.join("t.csv")).unwrap();
    assert_eq!(
        index["settings"],
        serde_json::json!([
            {"key": "curator.delta", "value": "1e-4"},
            {"key": "runs", "value": "2"},
            {"key": "objective.digest", "value": digest.to_string()},
        ])
    );
    assert_eq!(index["axes"][1]["values"], serde_json::json!(["a, b", "c"]));
    let page = read("report.html");
    assert!(page.contains(&format!("objective.digest = {digest}\n")));
    // The sweep itself keeps all as it was written, and its parts together are the same.
    assert!(read("sweep.toml").contains(&format!("values = ['\"{digest}\"']")));
    for part in ["1/2", "2/2"] {
        let out = ["--part", part, "--out", &part[..1]];
        done(&folder, &[&sweep[..], &out].concat());
    }
    done(
        &folder,
        &["merge", "1", "2", "--data", "t.csv", "--out", "m"],
    );
    assert!(files(&folder.join("m")) == files(&folder.join("s")));
    // The same value in two spellings is one.
    let twice = ["sweep", SMALL, "--set", "name=\"a\",a", "--out", "t"];
    assert!(refused(&folder, 2, &twice).contains("is given twice"));
    let numbers = "privacy.noise_multiplier=1,2,1.0";
    let twice = ["sweep", SMALL, "--set", numbers, "--out", "t"];
    assert!(refused(&folder, 2, &twice).contains("is given twice"));
    // An index of format 2 had all of it as axes; another sweep's values are refused.
    let summary = read("summary.csv");
    let with = |delta: &str| {
        let mut old = index.clone();
        old["format"] = 2.into();
        old.as_object_mut().unwrap().remove("settings");
        for entry in old["entries"].as_array_mut().unwrap() {
            let mut values = entry["values"].as_array().unwrap().clone();
            values[1] = match values[1].as_str() {
                Some("c") => "c".into(),
                _ => "\"a, b\"".into(),
            };
            values[0] = if delta.is_empty() {
                "2".into()
            } else {
                values[0].clone()
            };
            values.extend([delta.into(), "2".into(), format!("\"{digest}\"").into()]);
            entry["values"] = values.into();
        }
        std::fs::write(folder.join("s/index.json"), old.to_string()).unwrap();
        ["report", "s", "--table", "summary", "--format", "csv"]
    };
    let shown = done(&folder, &with("1e-4"));
    assert_eq!(text(&shown.stdout), summary);
    assert!(refused(&folder, 2, &with("")).contains("is not of this sweep"));
}

/// An index whose ε was changed became a table and a page of it.
#[test]
fn an_index_that_is_not_of_its_runs_is_no_table() {
    let folder = scratch("sweep-changed");
    let keys = "privacy.noise_multiplier=2,4";
    done(&folder, &["sweep", SMALL, "--set", keys, "--out", "z"]);
    let path = folder.join("z/index.json");
    let index = std::fs::read_to_string(&path).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&index).unwrap();
    let run = read["entries"][0]["folder"].as_str().unwrap().to_owned();
    let figure = [
        "report",
        "z",
        "--figure",
        "regret-epsilon",
        "--out",
        "z.svg",
    ];
    let commands = [
        &["report", "z"][..],
        &["report", "z", "--table", "summary"],
        &figure,
    ];
    let told = || commands.map(|command| refused(&folder, 2, command));
    // Of one method of the first run, each number in turn.
    for (list, key) in [("losses", "value"), ("measures", "mean")] {
        let methods = read["entries"][0]["methods"].as_array_mut().unwrap();
        let method = methods
            .iter_mut()
            .find(|method| method["losses"] != serde_json::json!([]));
        let number = &mut method.unwrap()[list][0][key];
        let before = number.take();
        *number = 0.25.into();
        std::fs::write(&path, read.to_string()).unwrap();
        for message in told() {
            assert!(
                message.contains("index.json: it has ")
                    && message.contains("= 0.2500 of")
                    && message.contains(&run)
                    && message.contains("changed after the sweep"),
                "{message}"
            );
        }
        let methods = read["entries"][0]["methods"].as_array_mut().unwrap();
        let method = methods
            .iter_mut()
            .find(|method| method["losses"] != serde_json::json!([]));
        method.unwrap()[list][0][key] = before;
    }
    // What was taken out, a loss or a whole method, has no dash in its place.
    let methods = read["entries"][0]["methods"].as_array_mut().unwrap();
    let place = methods
        .iter()
        .position(|method| method["losses"] != serde_json::json!([]));
    let whole = methods[place.unwrap()].clone();
    methods[place.unwrap()]["losses"] = serde_json::json!([]);
    let without_loss = read.to_string();
    let methods = read["entries"][0]["methods"].as_array_mut().unwrap();
    methods.remove(place.unwrap());
    for changed in [without_loss, read.to_string()] {
        std::fs::write(&path, changed).unwrap();
        for message in told() {
            assert!(
                message.contains("index.json: it has none where summary.json of ")
                    && message.contains(&run),
                "{message}"
            );
        }
    }
    let methods = read["entries"][0]["methods"].as_array_mut().unwrap();
    methods.insert(place.unwrap(), whole);
    // Of single runs.
    read["entries"][0]["compared"]["methods"][0][1][0] = 1e3.into();
    std::fs::write(&path, read.to_string()).unwrap();
    for message in told() {
        assert!(message.contains("numbers of single runs"), "{message}");
    }
    // As it was; and what is left of a sweep whose runs were removed is its index.
    std::fs::write(&path, index).unwrap();
    for command in commands {
        done(&folder, command);
    }
    let rounds = folder.join("z/runs").join(&run).join("rounds.csv");
    std::fs::remove_file(rounds).unwrap();
    for command in commands {
        done(&folder, command);
    }
    // What is left of the run still says what it was.
    let index = std::fs::read_to_string(&path).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&index).unwrap();
    read["entries"][0]["methods"][0]["measures"][0]["mean"] = 0.25.into();
    std::fs::write(&path, read.to_string()).unwrap();
    for message in told() {
        assert!(message.contains("changed after the sweep"), "{message}");
    }
    std::fs::write(&path, index).unwrap();
    std::fs::remove_dir_all(folder.join("z/runs")).unwrap();
    for command in commands {
        done(&folder, command);
    }
}
