//! Folders and files of runs as hostile hands leave them: of another scenario, half written, in
//! use, endless.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::util::{
    SMALL, charges, command, done, files, refused, said, scratch, sordino, text, with,
};

const METHODS: &str = "federation.methods=[\"ts\",\"dp-fts-de\"]";
const LOCAL: [&str; 7] = [
    "ldp-se",
    "--set",
    "learning.rounds=200",
    "--set",
    "objective.points=20",
    "--set",
    "learning.width_factor=0.05",
];

/// A federated run and one of another trust model: arguments, and a setting that makes another
/// scenario of it.
fn models() -> [(
    &'static str,
    Vec<&'static str>,
    &'static str,
    [&'static str; 2],
); 2] {
    [
        (
            "federated",
            vec!["run", SMALL, "--set", METHODS, "--runs", "1"],
            "privacy.noise_multiplier=2.5",
            [
                "- privacy.noise_multiplier = 1.0",
                "+ privacy.noise_multiplier = 2.5",
            ],
        ),
        (
            "local",
            [&["run"], &LOCAL[..], &["--runs", "2"]].concat(),
            "users.epsilon=7",
            ["- users.epsilon = 1.0", "+ users.epsilon = 7.0"],
        ),
    ]
}

/// Makes a folder one that holds the beginning of the run in a whole one.
fn begin(folder: &Path, place: &str, whole: &Path) {
    let scenario = std::fs::read_to_string(whole.join("scenario.toml")).unwrap();
    std::fs::create_dir(folder.join(place).join("state")).unwrap();
    std::fs::write(
        folder.join(place).join("state/scenario.toml"),
        scenario.split_once('\n').unwrap().1,
    )
    .unwrap();
}

#[test]
fn a_folder_of_another_scenario_is_refused_with_the_difference() {
    let folder = scratch("folders-other");
    for (name, run, setting, lines) in models() {
        let resumed = [&run[..], &["--out", name, "--resume"]].concat();
        done(&folder, &resumed);
        let other = [&resumed[..], &["--set", setting]].concat();
        let message = refused(&folder, 2, &other);
        assert!(message.contains("belongs to another scenario"), "{message}");
        assert!(lines.iter().all(|line| message.contains(line)), "{message}");
        // Negative control: the same scenario is complete, and nothing in the folder changed.
        assert!(said(&done(&folder, &resumed)).contains("complete already"));
    }
    // One that was complete and is not any more is not called so, whatever is wrong with it.
    for (name, run, _, _) in models() {
        let resumed = [&run[..], &["--out", name, "--resume"]].concat();
        for file in ["summary.json", "rounds.csv"] {
            let path = folder.join(name).join(file);
            let before = std::fs::read(&path).unwrap();
            std::fs::write(&path, &before[..before.len() / 2]).unwrap();
            let message = refused(&folder, 2, &resumed);
            assert!(
                message.contains(&format!(
                    "{name}: is sealed as complete and cannot be read as that"
                )) && message.contains(file),
                "{message}"
            );
            std::fs::write(&path, before).unwrap();
        }
        // What is made of the others can be made again.
        std::fs::remove_file(folder.join(name).join("table.txt")).unwrap();
        let told = done(&folder, &resumed);
        let again =
            format!("table.txt is not there any more; `sordino report {name}` makes it again");
        assert!(said(&told).contains(&again), "{}", said(&told));
        done(&folder, &["report", name]);
        assert!(!said(&done(&folder, &resumed)).contains("not there any more"));
    }
    // An unfinished folder of another trust model says the lines, too.
    let (_, run, setting, lines) = &models()[1];
    std::fs::create_dir_all(folder.join("half/table.txt")).unwrap();
    begin(&folder, "half", &folder.join("local"));
    assert_eq!(
        sordino(
            &folder,
            &[&run[..], &["--out", "half", "--resume"]].concat()
        )
        .status
        .code(),
        Some(1)
    );
    let message = refused(
        &folder,
        2,
        &[&run[..], &["--out", "half", "--resume", "--set", setting]].concat(),
    );
    assert!(lines.iter().all(|line| message.contains(line)), "{message}");
}

/// Each file in turn cannot be written, because a folder stands in its place: `summary.json` is not
/// there then.
#[test]
fn the_summary_is_written_last() {
    let folder = scratch("folders-last");
    for (name, run, ..) in models() {
        let whole = format!("{name}-whole");
        done(&folder, &[&run[..], &["--out", &whole]].concat());
        let names: Vec<String> = std::fs::read_dir(folder.join(&whole))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|file| file != "summary.json")
            .collect();
        assert!(names.len() >= 6, "{names:?}");
        for file in names {
            let place = format!("{name}-without-{file}");
            std::fs::create_dir_all(folder.join(&place).join(&file).join("in the way")).unwrap();
            begin(&folder, &place, &folder.join(&whole));
            let arguments = [&run[..], &["--out", &place, "--resume"]].concat();
            let output = sordino(&folder, &arguments);
            assert!(
                !output.status.success() && said(&output).contains(&file),
                "{file}: {}",
                said(&output)
            );
            assert!(
                !folder.join(&place).join("summary.json").exists(),
                "{name}: summary.json without {file}"
            );
            // Negative control: without the obstacle the same command completes the folder.
            std::fs::remove_dir_all(folder.join(&place).join(&file)).unwrap();
            done(&folder, &arguments);
            assert!(folder.join(&place).join("summary.json").exists());
        }
    }
}

/// Waits until a file is there.
fn appeared(path: &Path, child: &mut Child) -> bool {
    let began = Instant::now();
    while !path.exists() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(
            began.elapsed() < Duration::from_secs(180),
            "{}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_folder_has_one_writer_at_a_time() {
    let folder = scratch("folders-lock");
    let long = |head: &'static str, scenario: &[&'static str], runs: &'static str| {
        [&[head], scenario, &["--runs", runs, "--resume", "--out"]].concat()
    };
    for (out, arguments, sign) in [
        (
            "federated",
            long("run", &[SMALL], "100000"),
            "state/scenario.toml",
        ),
        ("local", long("run", &LOCAL, "100000"), "state/head"),
        (
            "sweep",
            long("sweep", &[SMALL, "--seeds", "0..50"], "2000"),
            "index.json",
        ),
    ] {
        let arguments = [&arguments[..], &[out]].concat();
        let mut first = command(&folder, &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert!(appeared(&folder.join(out).join(sign), &mut first));
        // Killed after a minute: where both would be let in, this one would run for hours.
        let mut second = command(&folder, &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while second.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(180) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = second.kill();
        let output = second.wait_with_output().unwrap();
        // Killed: its lock goes with it, the file stays.
        first.kill().unwrap();
        first.wait().unwrap();
        let message = said(&output);
        assert_eq!(output.status.code(), Some(1), "{out}: {message}");
        assert!(
            message.contains("another process writes into this folder: process "),
            "{message}"
        );
        assert!(message.contains(&first.id().to_string()), "{message}");
        assert!(folder.join(out).join(".lock").exists());
        // Negative control: the next one is let in, as far as the scenario.
        let message = refused(&folder, 2, &[&arguments[..], &["--set", "name=x"]].concat());
        assert!(message.contains("belongs to another"), "{message}");
    }
}

/// Runs with little memory and little time; what the program says, or that it had to be stopped.
#[cfg(unix)]
fn briefly(folder: &Path, arguments: &[&str]) -> Result<String, &'static str> {
    let mut child = Command::new("sh")
        .args([
            "-c",
            "ulimit -v 3000000; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_sordino"),
        ])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err("hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    if output.status.code() == Some(2) || output.status.code() == Some(1) {
        Ok(said(&output).to_owned())
    } else {
        Err("dies")
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_read() {
    let folder = scratch("folders-devices");
    assert!(
        Command::new("mkfifo")
            .arg("pipe")
            .current_dir(&folder)
            .status()
            .unwrap()
            .success()
    );
    std::fs::create_dir(folder.join("sub.d")).unwrap();
    let local = [&["run"], &LOCAL[..]].concat();
    done(
        &folder,
        &[
            "run", SMALL, "--set", METHODS, "--runs", "1", "--out", "whole",
        ],
    );
    done(
        &folder,
        &[
            "sweep", SMALL, "--set", METHODS, "--runs", "1", "--out", "sweep",
        ],
    );
    done(
        &folder,
        &[&local[..], &["--runs", "1", "--out", "local"]].concat(),
    );
    for path in ["half/state", "half-local/state"] {
        std::fs::create_dir_all(folder.join(path)).unwrap();
    }
    let tune = [
        "--command",
        "echo 0.5",
        "--epsilon",
        "1",
        "--dataset",
        "d",
        "--max-epsilon",
        "2",
        "--ledger",
        "l",
    ];
    let within = |file: &'static str, arguments: &[&'static str]| (Some(file), arguments.to_vec());
    let cases: Vec<(Option<&str>, Vec<&str>)> = vec![
        (None, vec!["run", "THING"]),
        (None, vec!["sweep", "THING", "--out", "x"]),
        (None, vec!["privacy", "explain", "THING"]),
        (None, vec!["run", "landmine", "--data", "THING"]),
        (None, vec!["run", "ldp-stocks", "--data", "THING"]),
        (None, vec!["run", "outsourced-hdb", "--data", "THING"]),
        (None, vec!["run", SMALL, "--set", "faults.trace=THING"]),
        (None, vec!["privacy", "table", "THING"]),
        (None, [&["tune", "--space", "THING"], &tune[..]].concat()),
        within(
            "half/state/scenario.toml",
            &["run", SMALL, "--out", "half", "--resume"],
        ),
        (
            Some("half-local/state/head"),
            [&local[..], &["--out", "half-local", "--resume"]].concat(),
        ),
        within("whole/scenario.toml", &["report", "whole"]),
        within("whole/transcript.jsonl", &["report", "whole"]),
        within("whole/rounds.csv", &["report", "whole"]),
        within("sweep/sweep.toml", &["report", "sweep"]),
        within("sweep/index.json", &["report", "sweep"]),
        within(
            "whole/scenario.toml",
            &[
                "run", SMALL, "--set", METHODS, "--runs", "1", "--out", "whole", "--resume",
            ],
        ),
    ];
    for (thing, kind) in [
        ("/dev/zero", "a device"),
        ("pipe", "a pipe"),
        ("sub.d", "directory"),
    ] {
        for (file, arguments) in &cases {
            let thing = folder.join(thing);
            let kept = file.map(|file| (folder.join(file), std::fs::read(folder.join(file)).ok()));
            if let Some((path, _)) = &kept {
                let _ = std::fs::remove_file(path);
                std::os::unix::fs::symlink(&thing, path).unwrap();
            }
            let thing = thing.display().to_string();
            let arguments: Vec<String> = arguments
                .iter()
                .map(|word| word.replace("THING", &thing))
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let message = briefly(&folder, &arguments)
                .unwrap_or_else(|how| panic!("{how}: {file:?} {arguments:?}"));
            let folder_named = kind == "directory" && message.contains("folder");
            assert!(
                message.contains(kind) || folder_named,
                "{file:?} {arguments:?}: {message}"
            );
            if let Some((path, bytes)) = kept {
                std::fs::remove_file(&path).unwrap();
                bytes
                    .into_iter()
                    .for_each(|bytes| std::fs::write(&path, bytes).unwrap());
            }
        }
    }
}

#[test]
fn data_that_nobody_reads_are_refused() {
    let folder = scratch("folders-data");
    for scenario in [
        "winequality",
        "default",
        "output-winequality",
        "ldp-se",
        "outsourced-grid",
    ] {
        for head in [&["run"][..], &["sweep", "--out", "s"]] {
            let message = refused(&folder, 2, &[head, &[scenario, "--data", "x.csv"]].concat());
            assert!(
                message.contains(&format!(
                    "--data x.csv: scenario `{scenario}` reads no data"
                )),
                "{message}"
            );
        }
    }
    let message = refused(
        &folder,
        2,
        &["reproduce", "ldp/student-t", "--data", "x.csv"],
    );
    assert!(
        message.contains("--data x.csv: `ldp/student-t` reads no data"),
        "{message}"
    );
    assert!(!folder.join("s").exists() && !folder.join("sordino-runs").exists());
    // Negative control: one that reads data gets as far as the file; and a folder gets advice.
    assert!(
        refused(&folder, 2, &["run", "landmine", "--data", "x.csv"])
            .contains("x.csv: cannot be read")
    );
    std::fs::create_dir(folder.join("d")).unwrap();
    let message = refused(&folder, 2, &["run", "landmine", "--data", "d"]);
    assert!(message.contains(
        "d: is a folder, and this scenario reads one file; name it, as in --data d/landmine.csv"
    ));
    std::fs::write(folder.join("train_sensordata.csv"), "1,2\n").unwrap();
    let message = refused(
        &folder,
        2,
        &["run", "ldp-light-sensor", "--data", "train_sensordata.csv"],
    );
    assert!(
        message.contains("is one file, and this scenario reads two; name their folder"),
        "{message}"
    );
}

#[test]
fn no_two_columns_of_a_sweep_have_one_name() {
    let folder = scratch("folders-columns");
    for (out, runs) in [
        ("fixed", &["--runs", "2"][..]),
        ("swept", &["--set", "runs=1,2"]),
    ] {
        done(
            &folder,
            &[&["sweep", SMALL, "--set", METHODS, "--out", out], runs].concat(),
        );
        for name in ["index.csv", "summary.csv"] {
            let mut reader = csv::Reader::from_path(folder.join(out).join(name)).unwrap();
            let columns: Vec<String> = reader
                .headers()
                .unwrap()
                .iter()
                .map(str::to_owned)
                .collect();
            let twice = columns
                .iter()
                .enumerate()
                .find(|(i, column)| columns[..*i].contains(column));
            assert_eq!(twice, None, "{out}/{name}");
            // The paired runs of a folder, and in the summary those of all seeds beside them.
            let of_all = ("fixed", "summary.csv") == (out, name);
            let runs = if of_all { "runs_in_all" } else { "runs" };
            let runs = columns.iter().position(|column| column == runs).unwrap();
            let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
            let expected = if out == "fixed" {
                ["2", "2"]
            } else {
                ["1", "2"]
            };
            assert_eq!(
                [&rows[0][runs], &rows[rows.len() - 1][runs]],
                expected,
                "{out}/{name}"
            );
        }
        let page = std::fs::read_to_string(folder.join(out).join("report.html")).unwrap();
        assert_eq!(
            page.matches(">runs</th>").count(),
            usize::from(out == "swept")
        );
    }
}

#[test]
fn a_report_of_an_unfinished_folder_says_how_to_go_on_and_draws_what_is_there() {
    let folder = scratch("folders-unfinished");
    for (name, run, ..) in models() {
        // A run that is killed in the middle: the results of one of its runs are there, by every
        // method.
        let run = &run[..run.len() - 2];
        let one = [
            run,
            &[
                "--runs",
                "60",
                "--checkpoint-every",
                "0",
                "--threads",
                "1",
                "--out",
                name,
            ],
        ]
        .concat();
        let files = match name {
            "federated" => &["state/run-00000.dp-fts-de.done", "state/run-00000.ts.done"][..],
            _ => &[
                "state/run-00002.random.done",
                "state/run-00001.moma-gp-ucb.done",
            ],
        };
        // On a machine that is busy otherwise the kill may come too late: then once more.
        for attempt in 0.. {
            let _ = std::fs::remove_dir_all(folder.join(name));
            let mut child = command(&folder, &one)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let seen = files
                .iter()
                .all(|file| appeared(&folder.join(name).join(file), &mut child));
            child.kill().unwrap();
            child.wait().unwrap();
            if seen && !folder.join(name).join("summary.json").exists() {
                break;
            }
            assert!(attempt < 20, "{name}: never killed in the middle");
        }
        let output = done(&folder, &["report", name]);
        let message = said(&output);
        let again = message
            .split("to go on: ")
            .nth(1)
            .unwrap_or_else(|| panic!("{message}"))
            .trim();
        let page = std::fs::read_to_string(folder.join(name).join("report.html")).unwrap();
        assert!(
            page.contains("Unfinished: ") && page.contains(" of 60 runs. "),
            "{name}"
        );
        assert!(page.contains("<svg viewBox"), "{name}");
        // The command is exact: it completes the folder.
        let words: Vec<&str> = again.split(' ').collect();
        assert_eq!(words[0], "sordino", "{again}");
        done(&folder, &words[1..]);
        assert!(folder.join(name).join("summary.json").exists());
        let page = std::fs::read_to_string(folder.join(name).join("report.html")).unwrap();
        assert!(!page.contains("Unfinished: "), "{name}");
    }
    // Nothing finished yet: the same advice as an error; no run folder at all: none.
    std::fs::create_dir_all(folder.join("begun/state")).unwrap();
    let text = std::fs::read_to_string(folder.join("federated/scenario.toml")).unwrap();
    std::fs::write(
        folder.join("begun/state/scenario.toml"),
        text.split_once('\n').unwrap().1,
    )
    .unwrap();
    let message = refused(&folder, 2, &["report", "begun"]);
    assert!(
        message.contains("to go on: sordino run begun/state/scenario.toml --out begun --resume"),
        "{message}"
    );
    std::fs::create_dir(folder.join("empty")).unwrap();
    assert!(refused(&folder, 2, &["report", "empty"]).contains("is this a run folder?"));
}

/// The default scenario's folder is at most 256 kB (its page tells what ε means, in a cell a
/// method) and still says what its README says. Run here with a tenth of the agents on fewer
/// points, which makes numbers no shorter; the digests of all rounds come on request.
#[test]
fn the_default_folder_is_small_and_whole() {
    let folder = scratch("folders-size");
    // With all its agents there are too many observations to be written down unasked.
    let fewer = [
        "federation.agents=20",
        "federation.observations=false",
        "surrogate.features=20",
        "prior.points_per_axis=20",
    ];
    let run = with(&["run", "default"], &fewer);
    done(&folder, &[&run[..], &["--out", "a"]].concat());
    done(
        &folder,
        &[&run[..], &["--chain", "--out", "chained"]].concat(),
    );
    let small = files(&folder.join("a"));
    let chained = files(&folder.join("chained"));
    let of = |name: &str| text(&small[Path::new(name)]);
    let bytes: usize = small.values().map(Vec::len).sum();
    // With 200 agents, each of two counts may have a digit more: 10 runs, 40 broadcasts and two
    // times six and one.
    assert!(
        bytes + 10 * (40 + 2 * 6 + 1) * 2 <= 256_000,
        "{bytes} bytes"
    );
    let readme = of("README.md");
    for name in small
        .keys()
        .map(|path| path.to_str().unwrap())
        .filter(|name| ![".lock", "README.md"].contains(name))
    {
        let prior = name.starts_with("prior-") && name.ends_with(".safetensors");
        let listed = if prior {
            "prior-METHOD.safetensors"
        } else {
            name
        };
        assert!(readme.contains(&format!("| `{listed}` |")), "{name}");
    }
    for column in of("rounds.csv").lines().next().unwrap().split(',') {
        assert!(readme.contains(&format!("`{column}`")), "{column}");
    }
    // Every round of every method and run, every charge.
    let releases = 10 * (40 + 2 * 6 + 1);
    assert_eq!(
        (
            of("rounds.csv").lines().count(),
            charges(of("ledger.jsonl"))
        ),
        (1 + 10 * 7 * 41, releases)
    );
    // The chain changes one file; both folders can be read.
    let differing: Vec<_> = small
        .keys()
        .filter(|name| small[*name] != chained[*name])
        .collect();
    assert_eq!(differing, [Path::new("transcript.jsonl")]);
    let lines = |transcript: &[u8]| -> Vec<serde_json::Value> {
        text(transcript)
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let transcript = Path::new("transcript.jsonl");
    for (small, chained) in lines(&small[transcript])
        .iter()
        .zip(lines(&chained[transcript]))
    {
        assert!(small.get("chain").is_none() && small["digest"] == chained["digest"]);
        assert_eq!(
            chained["chain"]
                .as_array()
                .map(|chain| (chain.len(), &chain[40])),
            Some((41, &chained["digest"]))
        );
    }
    for name in ["a", "chained"] {
        done(&folder, &["report", name]);
    }
    assert!(
        files(&folder.join("a")) == small,
        "a report made again is the same"
    );
    let message = refused(&folder, 2, &["run", "ldp-se", "--chain"]);
    assert!(
        message.contains("ldp-se") && message.contains("transcript.jsonl"),
        "{message}"
    );
}

/// A program that resumes and reads JSON got nothing from a folder that was complete.
#[test]
fn a_complete_folder_that_is_resumed_prints_its_summary() {
    let folder = scratch("folders-complete");
    let run = [
        "run", SMALL, "--set", METHODS, "--runs", "1", "--out", "a", "--format", "json",
    ];
    let first = text(&done(&folder, &run).stdout).to_owned();
    let again = done(&folder, &[&run[..], &["--resume"]].concat());
    assert!(
        !first.is_empty()
            && text(&again.stdout).trim() == first.trim()
            && said(&again).contains("nothing to resume")
    );
    let sweep = [
        "sweep", SMALL, "--set", METHODS, "--runs", "1", "--out", "s", "--format", "json",
        "--resume",
    ];
    let first = text(&done(&folder, &sweep).stdout).to_owned();
    assert_eq!(text(&done(&folder, &sweep).stdout), first);
    // Negative control: for people, one sentence on standard error.
    let people = done(
        &folder,
        &[
            "run", SMALL, "--set", METHODS, "--runs", "1", "--out", "a", "--resume",
        ],
    );
    assert!(people.stdout.is_empty() && said(&people).contains("nothing to resume"));
}

/// A run says which files it was made from, and does not go on with others, nor is it paired.
#[test]
fn a_file_that_was_changed_is_another_one() {
    let folder = scratch("folders-digests");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("away.csv", "agent,from,to\n1,0,2\n");
    let traced = [
        "run",
        SMALL,
        "--set",
        "faults.trace=away.csv",
        "--runs",
        "1",
    ];
    let traced = [&traced[..], &["--out", "a", "--resume"]].concat();
    done(&folder, &traced);
    write("away.csv", "agent,from,to\n1,0,3\n");
    let message = refused(&folder, 2, &traced);
    assert!(message.contains("trace_digest"), "{message}");
    let again = ["run", "a/scenario.toml", "--out", "b"];
    let message = refused(&folder, 2, &again);
    assert!(
        message.contains("away.csv: its digest is") && message.contains("faults.trace_digest"),
        "{message}"
    );
    write("away.csv", "agent,from,to\n1,0,2\n");
    done(&folder, &again);

    let rows = "Date,A,B,C\n1,1,1,5\n2,2,2,3\n3,4,4,4\n4,3,3,4.5\n";
    write("fin.csv", rows);
    write("fen.csv", &rows.replace("4.5", "4.6"));
    let bounds = [
        "learning.rounds=100",
        "users.norm_bound=5",
        "users.noise_bound=5",
    ];
    let stocks = |data: &'static str, out: &'static str| {
        let run = [
            "run",
            "ldp-stocks",
            "--runs",
            "2",
            "--data",
            data,
            "--out",
            out,
        ];
        with(&run, &bounds)
    };
    done(&folder, &stocks("fin.csv", "c"));
    done(&folder, &stocks("fen.csv", "d"));
    let message = refused(&folder, 2, &["compare", "c", "d"]);
    assert!(message.contains("objective.digest"), "{message}");
    let other = ["run", "c/scenario.toml", "--data", "fen.csv", "--out", "e"];
    assert!(refused(&folder, 2, &other).contains("its digest is"));
    // A sweep that was interrupted between two runs.
    let sweep = |data: &'static str| {
        let sweep = [
            "sweep",
            "ldp-stocks",
            "--runs",
            "1",
            "--seeds",
            "1,2",
            "--out",
            "s",
        ];
        with(
            &[&sweep[..], &["--resume", "--data", data]].concat(),
            &bounds,
        )
    };
    done(&folder, &sweep("fin.csv"));
    let message = refused(&folder, 2, &sweep("fen.csv"));
    assert!(message.contains("objective.digest"), "{message}");
    // Of a folder that does not say it nobody knows.
    let scenario = folder.join("d/scenario.toml");
    let text = std::fs::read_to_string(&scenario).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("digest"))
        .collect();
    std::fs::write(&scenario, lines.join("\n")).unwrap();
    let message = refused(&folder, 2, &["compare", "c", "d"]);
    assert!(message.contains("nobody can tell which file"), "{message}");
}
