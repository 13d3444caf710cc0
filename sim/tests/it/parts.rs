//! `--part i/n` and `sordino merge` as users and schedulers call them: the whole is the undivided
//! run, byte for byte.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bad_input;
use crate::util::{SMALL, command, done, files, json, refused, said, scratch, sordino, text, with};

/// Three methods, two of them with a ledger.
const METHODS: &str = "federation.methods=[\"ts\",\"fts-de\",\"dp-fts-de\"]";

/// Executes all parts of `what` into `NAME-1`, …, and puts them together in `whole-NAME`; the
/// folders of the parts.
fn in_parts(folder: &Path, name: &str, of: u32, what: &[&str]) -> Vec<String> {
    let parts: Vec<String> = (1..=of).map(|number| format!("{name}-{number}")).collect();
    for (number, out) in (1..).zip(&parts) {
        let part = format!("{number}/{of}");
        let threads = format!("{}", 1 + number % 3);
        done(
            folder,
            &[
                what,
                &["--part", &part, "--out", out, "--threads", &threads],
            ]
            .concat(),
        );
        assert!(!folder.join(out).join("summary.json").exists());
    }
    let whole = format!("whole-{name}");
    // In whatever order they are named.
    let named: Vec<&str> = parts.iter().rev().map(String::as_str).collect();
    done(
        folder,
        &[&["merge"][..], &named, &["--out", &whole]].concat(),
    );
    parts
}

/// The same names and bytes.
fn same(folder: &Path, one: &str, other: &str) {
    let one = files(&folder.join(one));
    let other = files(&folder.join(other));
    assert!(
        one.keys().eq(other.keys()),
        "{:?}\n{:?}",
        one.keys(),
        other.keys()
    );
    for (path, bytes) in &one {
        assert!(*bytes == other[path], "{}", path.display());
    }
    assert!(one.len() > 5);
}

#[test]
fn parts_of_a_run_make_the_undivided_run() {
    let folder = scratch("parts-run");
    let observed = "federation.observations=true";
    let what = [
        "run", SMALL, "--runs", "3", "--set", METHODS, "--set", observed,
    ];
    done(&folder, &[&what[..], &["--out", "undivided"]].concat());
    for of in [1, 3, 4] {
        let name = format!("of-{of}");
        in_parts(&folder, &name, of, &what);
        same(&folder, &format!("whole-{name}"), "undivided");
    }
    // What is told of the transcript is the merge's to say.
    done(
        &folder,
        &[&what[..], &["--chain", "--out", "chained"]].concat(),
    );
    done(
        &folder,
        &[
            "merge",
            "of-3-1",
            "of-3-2",
            "of-3-3",
            "--chain",
            "--out",
            "chained-parts",
        ],
    );
    same(&folder, "chained-parts", "chained");
    // Results are printed as by the run, and the parts are left as they are.
    let printed = done(
        &folder,
        &[
            "merge", "of-3-3", "of-3-1", "of-3-2", "--format", "json", "--out", "again",
        ],
    );
    let summary = std::fs::read(folder.join("undivided/summary.json")).unwrap();
    assert_eq!(
        json(&printed),
        serde_json::from_slice::<serde_json::Value>(&summary).unwrap()
    );
}

#[test]
fn parts_of_a_sweep_make_the_undivided_sweep() {
    let folder = scratch("parts-sweep");
    let noise = "privacy.noise_multiplier=0.5,2";
    // Points of unlike numbers of jobs.
    let methods = "federation.methods=[\"ts\"],[\"ts\",\"fts-de\",\"dp-fts-de\"]";
    let what = [
        "sweep", SMALL, "--set", noise, "--set", methods, "--runs", "1", "--seeds", "0..2",
    ];
    done(&folder, &[&what[..], &["--out", "undivided"]].concat());
    let parts = in_parts(&folder, "of-3", 3, &what);
    same(&folder, "whole-of-3", "undivided");
    // Two points of one job and two of three, under two seeds: sixteen jobs, dealt evenly.
    let jobs: Vec<u64> = parts
        .iter()
        .map(|part| {
            let mark: serde_json::Value = serde_json::from_slice(
                &std::fs::read(folder.join(part).join("part.json")).unwrap(),
            )
            .unwrap();
            assert_eq!(mark["jobs_in_all"], 16);
            mark["jobs"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(
        (
            jobs.iter().sum::<u64>(),
            jobs.iter().min(),
            jobs.iter().max()
        ),
        (16, Some(&5), Some(&6))
    );
    let other = [
        &what[..6],
        &[
            "--runs", "1", "--seeds", "1..3", "--part", "2/3", "--out", "other",
        ],
    ]
    .concat();
    done(&folder, &other);
    let message = refused(
        &folder,
        2,
        &["merge", "of-3-1", "other", "of-3-3", "--out", "x"],
    );
    assert!(
        message.contains(
            "other: part 2/3 is not of the execution of of-3-1 (- seeds 0,1; + seeds 1,2)"
        ),
        "{message}"
    );
    // A job that is lost from one of its runs is named.
    let lost = files(&folder.join("of-3-2"))
        .into_keys()
        .find(|path| path.to_str().unwrap().ends_with(".done"))
        .unwrap();
    std::fs::remove_file(folder.join("of-3-2").join(&lost)).unwrap();
    let message = refused(
        &folder,
        2,
        &["merge", "of-3-1", "of-3-2", "of-3-3", "--out", "x"],
    );
    assert!(
        message.contains("of-3-2: part 2/3 lacks run-00000."),
        "{message}"
    );
    assert!(!folder.join("x").exists());
}

/// Who merges needs the data, and they are those of the parts.
#[test]
fn parts_of_what_reads_data_are_merged_with_the_same_data() {
    let folder = scratch("parts-data");
    std::fs::write(folder.join("t.toml"), bad_input::TABLE).unwrap();
    let table = ".1,.2,1\n.2,-.4,2\n-.3,.6,3\n.4,.8,4\n";
    std::fs::write(folder.join("t.csv"), format!("a,b,y\n{table}")).unwrap();
    let sweep = [
        "sweep",
        "t.toml",
        "--data",
        "t.csv",
        "--set",
        "curator.epsilon=1,8",
        "--seeds",
        "0..2",
    ];
    let run = ["run", "t.toml", "--data", "t.csv", "--runs", "2"];
    std::fs::write(folder.join("other.csv"), "a,b,y\n.1,.2,1\n.3,-.4,2\n").unwrap();
    for (name, what) in [("swept", &sweep[..]), ("single", &run[..])] {
        let undivided = format!("{name}-undivided");
        done(&folder, &[what, &["--out", &undivided]].concat());
        let parts = [format!("{name}-1"), format!("{name}-2")];
        for (part, out) in ["1/2", "2/2"].iter().zip(&parts) {
            done(&folder, &[what, &["--part", part, "--out", out]].concat());
        }
        let merge = ["merge", &parts[0], &parts[1], "--out", "whole"];
        let message = refused(&folder, 2, &merge);
        assert!(message.contains("name it with --data PATH"), "{message}");
        let other = [&merge[..], &["--data", "other.csv"]].concat();
        let message = refused(&folder, 2, &other);
        assert!(message.contains("other data"), "{message}");
        assert!(!folder.join("whole").exists());
        done(&folder, &[&merge[..], &["--data", "t.csv"]].concat());
        same(&folder, "whole", &undivided);
        std::fs::remove_dir_all(folder.join("whole")).unwrap();
    }
}

/// A part that could not begin leaves nothing that stands in its own way.
#[test]
fn a_part_that_could_not_begin_is_begun_again() {
    let folder = scratch("parts-again");
    std::fs::write(folder.join("t.toml"), bad_input::TABLE).unwrap();
    let part = [
        "run", "t.toml", "--part", "1/2", "--runs", "2", "--out", "p", "--data", "t.csv",
    ];
    std::fs::write(folder.join("t.csv"), "a,b,y\n.1,0,1\n.2,0,2\n").unwrap();
    refused(&folder, 2, &part);
    std::fs::write(folder.join("t.csv"), "a,b,y\n.1,.2,1\n.2,-.4,2\n-.3,.6,3\n").unwrap();
    done(&folder, &part);
    // A name that was mistyped; its file is read before anything else is done.
    let rows = "Date,A,B,C\n1,1,1,5\n2,2,2,3\n3,4,4,4\n4,3,3,4.5\n";
    std::fs::write(folder.join("fin.csv"), rows).unwrap();
    let of = |data| {
        let stocks = [
            "run",
            "ldp-stocks",
            "--part",
            "1/2",
            "--runs",
            "2",
            "--out",
            "q",
        ];
        let stocks = [&stocks[..], &["--data", data]].concat();
        with(
            &stocks,
            &[
                "learning.rounds=100",
                "users.norm_bound=5",
                "users.noise_bound=5",
            ],
        )
    };
    assert!(refused(&folder, 2, &of("fni.csv")).contains("fni.csv"));
    assert!(!folder.join("q").exists());
    done(&folder, &of("fin.csv"));
}

#[test]
fn every_trust_model_is_cut() {
    let folder = scratch("parts-trust");
    let local = [
        "learning.rounds=200",
        "objective.points=20",
        "learning.width_factor=0.05",
    ];
    let output = ["objective.points=60", "prior.rounds=8", "release.draws=20"];
    let outsourced = [
        "modeler.rounds=12",
        "objective.points_per_axis=12",
        "curator.out_dims=[2, 5]",
    ];
    for (name, settings) in [
        ("ldp-se", local),
        ("output-gp", output),
        ("outsourced-grid", outsourced),
    ] {
        let what = with(&["run", name, "--runs", "3"], &settings);
        let undivided = format!("undivided-{name}");
        done(&folder, &[&what[..], &["--out", &undivided]].concat());
        in_parts(&folder, name, 2, &what);
        same(&folder, &format!("whole-{name}"), &undivided);
    }
}

/// A part is killed in the middle, gone on with, and the whole is the same.
#[test]
fn a_part_is_killed_and_resumed() {
    let folder = scratch("parts-killed");
    let what = [
        "run",
        SMALL,
        "--runs",
        "2",
        "--set",
        METHODS,
        "--set",
        "federation.rounds=120",
        "--checkpoint-every",
        "0",
    ];
    done(&folder, &[&what[..], &["--out", "undivided"]].concat());
    done(
        &folder,
        &[&what[..], &["--part", "1/2", "--out", "one"]].concat(),
    );
    let second = [&what[..], &["--part", "2/2", "--out", "two", "--resume"]].concat();
    let state = folder.join("two/state");
    let of_kind = |ending: &str| {
        let names = std::fs::read_dir(&state).into_iter().flatten().flatten();
        names
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|found| found == ending)
            })
            .count()
    };
    let began = Instant::now();
    let mut child = command(&folder, &second)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while of_kind("checkpoint") == 0 {
        assert!(began.elapsed() < Duration::from_secs(180) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Not complete: it is named, and nothing is put together.
    let message = refused(&folder, 2, &["merge", "one", "two", "--out", "whole"]);
    assert!(
        message
            .contains("two: part 2/2 is not complete; execute it again with --part 2/2 --resume"),
        "{message}"
    );
    done(&folder, &second);
    assert!(of_kind("done") == 3 && of_kind("checkpoint") == 0);
    assert!(said(&done(&folder, &second)).contains("part 2/2 is complete already"));
    done(&folder, &["merge", "one", "two", "--out", "whole"]);
    same(&folder, "whole", "undivided");
}

#[test]
fn missing_doubled_and_foreign_parts_are_refused_by_name() {
    let folder = scratch("parts-refused");
    let what = [
        "run",
        SMALL,
        "--runs",
        "2",
        "--set",
        METHODS,
        "--set",
        "federation.rounds=4",
    ];
    in_parts(&folder, "p", 3, &what);
    let merge = |parts: &[&str]| {
        let message = refused(
            &folder,
            2,
            &[&["merge"][..], parts, &["--out", "x"]].concat(),
        );
        assert!(!folder.join("x").exists(), "{message}");
        message
    };
    assert!(merge(&["p-1", "p-3"]).contains("1 of 3 parts are missing: 2/3"));
    assert!(
        merge(&["p-1", "p-2", "p-2"])
            .contains("part 2/3 is given twice: p-2 and p-2; every part once")
    );
    assert!(
        merge(&["p-1", "nowhere", "p-3"])
            .contains("nowhere: holds no part of an execution (no part.json)")
    );
    // Another scenario, another cut.
    let part = |out: &str, part: &str, more: &[&str]| {
        done(
            &folder,
            &[&what[..], &["--part", part, "--out", out], more].concat(),
        );
    };
    part("other", "2/3", &["--seed", "9"]);
    let message = merge(&["p-1", "other", "p-3"]);
    assert!(
        message.contains("other: part 2/3 is not of the execution of p-1 (- seed = 5; + seed = 9)"),
        "{message}"
    );
    part("cut", "2/4", &[]);
    assert!(merge(&["p-1", "p-2", "p-3", "cut"]).contains("it is cut into 4 parts, not into 3"));
    // What is taken stays as it is.
    let message = refused(
        &folder,
        2,
        &["merge", "p-1", "p-2", "p-3", "--out", "whole-p"],
    );
    assert!(
        message.contains("whole-p: exists already, and nothing is overwritten: name a new folder")
            && !message.contains("--resume"),
        "{message}"
    );
    // A part's folder is no run's, and no other part's.
    let resume = |out: &str, more: &[&str]| {
        refused(
            &folder,
            2,
            &[&what[..], &["--out", out, "--resume"], more].concat(),
        )
    };
    assert!(
        resume("p-1", &[])
            .contains("p-1: holds part 1/3 of an execution; go on with it by --part 1/3")
    );
    assert!(resume("p-1", &["--part", "2/3"]).contains("p-1: holds part 1/3"));
    assert!(
        resume("p-1", &["--part", "1/3", "--seed", "9"])
            .contains("another scenario, other settings")
    );
    assert!(
        resume("whole-p", &["--part", "1/3"]).contains("whole-p: holds no part of an execution")
    );
    assert!(refused(&folder, 2, &["report", "p-1"]).contains("holds part 1/3"));
    // Six jobs make no seven parts; a part that there is not.
    let none = [&what[..], &["--part", "7/7", "--out", "y"]].concat();
    assert!(
        refused(&folder, 2, &none)
            .contains("part 7/7 has nothing to do: there are 6 jobs; admissible: at most 6")
    );
    let none = [&what[..], &["--part", "4/3", "--out", "y"]].concat();
    assert!(refused(&folder, 2, &none).contains("admissible: I/N with whole numbers"));
    assert!(!folder.join("y").exists());
}

#[test]
fn a_part_that_was_changed_is_refused() {
    let folder = scratch("parts-changed");
    let what = [
        "run",
        SMALL,
        "--runs",
        "2",
        "--set",
        METHODS,
        "--set",
        "federation.rounds=4",
    ];
    in_parts(&folder, "p", 2, &what);
    let merge = || sordino(&folder, &["merge", "p-1", "p-2", "--out", "x"]);
    let path = |name: &str| folder.join(name);
    let changed = |name: &str, to: &dyn Fn(Vec<u8>) -> Vec<u8>, expected: &str| {
        let good = std::fs::read(path(name)).unwrap();
        std::fs::write(path(name), to(good.clone())).unwrap();
        let output = merge();
        assert!(
            !output.status.success() && said(&output).contains(expected),
            "{name}: {}",
            said(&output)
        );
        assert!(!path("x").exists());
        std::fs::write(path(name), good).unwrap();
    };
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let other = |bytes: Vec<u8>| {
        text(&bytes)
            .replace(&version, "\"version\": \"0.0.1\"")
            .into_bytes()
    };
    changed(
        "p-2/part.json",
        &other,
        "part 2/2 was made by sordino 0.0.1",
    );
    let format = |bytes: Vec<u8>| {
        text(&bytes)
            .replace("\"format\": 1", "\"format\": 7")
            .into_bytes()
    };
    changed("p-2/part.json", &format, "format 7 is unknown");
    changed(
        "p-2/state/head",
        &|_| vec![7; 32],
        "p-2: of other data or another version",
    );
    let result = files(&path("p-2"))
        .into_keys()
        .find(|name| name.extension().is_some_and(|e| e == "done"))
        .unwrap();
    let result = format!("p-2/{}", result.display());
    let bent = |mut bytes: Vec<u8>| {
        bytes[40] ^= 1;
        bytes
    };
    changed(
        &result,
        &bent,
        "is damaged: it does not have the digest it ends with",
    );
    // A result under the name of another part's job.
    let stray = files(&path("p-1"))
        .into_keys()
        .find(|name| name.extension().is_some_and(|e| e == "done"))
        .unwrap();
    std::fs::copy(path("p-1").join(&stray), path("p-2").join(&stray)).unwrap();
    assert!(
        said(&merge()).contains("p-2: part 2/2 holds another part's run-00000."),
        "{}",
        said(&merge())
    );
    std::fs::remove_file(path("p-2").join(&stray)).unwrap();
    // Negative control: as they were, they make a whole.
    assert!(merge().status.success());
}
