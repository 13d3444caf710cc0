//! Scenarios of the trust model `outsourced`: what is said beside every method, independence of
//! threads, files of the user's own, going on after an interruption, refusals.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use sordino_engine::{Model, ModelError, Options};
use sordino_experiment::journal::Journal;
use sordino_experiment::record::Record;
use sordino_lab::execute::executed;

use crate::util::{
    StopAfter, done, files, json, refused, said, scratch, settings, shared_data, shipped, sordino,
    with, without,
};

fn parse(text: &str, set: &[&str]) -> Result<Box<dyn Model>, String> {
    sordino_engine::parse("my.toml", text, &settings(set)).map_err(|error| error.to_string())
}

fn run(name: &str, settings: &[&str]) -> Record {
    executed(&*shipped(name, settings).unwrap(), &Options::default(), &()).unwrap()
}

const SMALL: [&str; 4] = [
    "runs=2",
    "modeler.rounds=12",
    "objective.points_per_axis=12",
    "curator.out_dims=[2, 5]",
];

/// Frozen: a change of any simulated decision is "Value-breaking".
#[test]
fn digest_of_a_small_run_is_frozen() {
    let one = run("outsourced-grid", &SMALL);
    assert_eq!(one.summary.digest, FROZEN);
}
const FROZEN: &str = "467d7932fb6da949c0ed0d9da4c64c6d603425d2d80e4b34aa5d237f3366873b";

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let with = |settings: &[&str], threads| {
        let options = Options {
            threads: NonZeroUsize::new(threads),
            ..Options::default()
        };
        executed(
            &*shipped("outsourced-grid", settings).unwrap(),
            &options,
            &(),
        )
        .unwrap()
    };
    let one = with(&SMALL, 1);
    let three = with(&SMALL, 3);
    assert_eq!(one.files, three.files);
    // 2 runs, 5 methods, rounds 0 to 12.
    assert_eq!(one.file("rounds.csv").lines().count(), 1 + 2 * 5 * 13);
    let mut other = SMALL.to_vec();
    other.push("seed=1");
    assert_ne!(one.file("rounds.csv"), with(&other, 1).file("rounds.csv"));
    // One run is a prefix of two.
    other[0] = "runs=1";
    other[4] = "seed=0";
    let first: Vec<&str> = one
        .file("rounds.csv")
        .lines()
        .filter(|line| line.starts_with("0,"))
        .collect();
    assert_eq!(
        with(&other, 1)
            .file("rounds.csv")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        first
    );
}

/// The key was read, refused out of its range, and then not used.
#[test]
fn the_failure_probability_is_that_of_the_modeler() {
    let rounds = |setting: &str| {
        let settings = [&SMALL[..], &["modeler.rounds=40", setting]].concat();
        run("outsourced-grid", &settings)
            .file("rounds.csv")
            .to_owned()
    };
    assert_eq!(rounds("modeler.failure_probability=0.05"), rounds("runs=2"));
    assert_ne!(
        rounds("modeler.failure_probability=0.05"),
        rounds("modeler.failure_probability=1e-9")
    );
}

#[test]
fn the_papers_projection_is_named_as_not_private_wherever_it_stands() {
    let outcome = run("outsourced-grid", &SMALL);
    let said = "not differentially private";
    for line in outcome
        .table()
        .lines()
        .filter(|line| line.trim_start().starts_with("paper-projection-r"))
    {
        assert!(line.contains(said), "{line}");
    }
    for line in outcome
        .file("rounds.csv")
        .lines()
        .filter(|line| line.contains("paper"))
    {
        assert!(line.contains(said), "{line}");
    }
    for method in &outcome.summary.methods {
        let private = method.name == "gaussian-projection";
        assert_eq!(method.guarantee == "dp", private, "{method:?}");
        assert_eq!(method.losses.is_empty(), !private);
        assert_eq!(method.guarantee == said, method.name.starts_with("paper"));
    }
    for name in ["regret.svg", "report.html", "README.md"] {
        assert!(outcome.file(name).contains(said), "{name}");
    }
    assert!(outcome.table().contains("simulation: not private"));
    // Nothing of it where it does not take part.
    let mut without = SMALL.to_vec();
    without.push("modeler.methods=[\"gp-ucb\", \"random\"]");
    let outcome = run("outsourced-grid", &without);
    assert!(
        !outcome.table().contains(said) && !outcome.table().contains("simulation: not private")
    );
}

#[test]
fn knowing_the_inputs_helps_and_nobody_repeats_rows_unasked() {
    let settings = [
        "runs=3",
        "modeler.rounds=40",
        "objective.points_per_axis=20",
        "curator.out_dims=[10]",
    ];
    let outcome = run("outsourced-grid", &settings);
    let regret = |name: &str| outcome.summary.method(name).unwrap().measures[0].mean;
    assert!(
        regret("gp-ucb") < 0.5 * regret("random"),
        "{}",
        outcome.table()
    );
    // 9 rows, 8 rounds, no repeats: every row is asked for, so nothing is missed.
    let all = [
        "runs=2",
        "modeler.rounds=8",
        "objective.points_per_axis=3",
        "modeler.methods=[\"gp-ucb\"]",
    ];
    let outcome = run("outsourced-branin", &all);
    assert_eq!(outcome.summary.methods[0].measures[0].mean, 0.0);
}

const CSV: &str = "name = \"flats\"\ndescription = \"d\"\ntrust = \"outsourced\"\nruns = 2\n[objective]\nkind = \"csv\"\n\
    inputs = [\"size\", \"floor\"]\ninput_ranges = [[10, 100], [0, 20]]\nlog_inputs = [\"size\"]\noutput = \"rent\"\n\
    log_output = true\ngoal = \"minimize\"\n[curator]\nepsilon = 2\ndelta = 1e-5\nout_dims = [2]\n[modeler]\nrounds = 6\n\
    lengthscales = [0.5, 5]\nsignal_variance = 1\nnoise_variance = 0.01\nprior_mean = 6\nrepeats = false\n";

struct Data(PathBuf);

impl Data {
    fn new(name: &str, text: &str) -> Self {
        let path = scratch(&format!("outsourced-{name}")).join("t.csv");
        std::fs::write(&path, text).unwrap();
        Data(path)
    }

    fn run(&self, settings: &[&str]) -> Result<Record, String> {
        let options = Options {
            data: Some(self.0.clone()),
            ..Options::default()
        };
        executed(&*parse(CSV, settings)?, &options, &()).map_err(|error| {
            assert!(
                matches!(error, ModelError::Input(_)),
                "bad input, exit code 2: {error:?}"
            );
            assert!(!error.to_string().contains('\n'), "{error}");
            error.to_string()
        })
    }
}

#[test]
fn columns_are_found_by_name_and_the_smallest_is_sought() {
    // The order of columns is another, one name has a space, one row lies outside the declared
    // range.
    let rows: String = (0..7)
        .map(|i| format!("x,{},{},{}\n", 500 + 10 * i, i % 4, 20 + 7 * i))
        .collect();
    let data = Data::new(
        "named",
        &format!("note,rent,floor, size\n{rows}y,495,30,50\n"),
    );
    let outcome = data.run(&["modeler.rounds=7"]).unwrap();
    assert_eq!(outcome.summary.facts["rows"], 8);
    assert!(
        outcome
            .table()
            .contains("1 of 8 rows lie outside the declared ranges"),
        "{}",
        outcome.table()
    );
    assert!(
        outcome.table().contains("ln rent: smallest value"),
        "{}",
        outcome.table()
    );
    // All rows asked for: the smallest is found.
    assert_eq!(outcome.summary.methods[0].measures[0].mean, 0.0);
    // Another end, another answer after one query.
    let first = |goal: &str| {
        let outcome = data.run(&["modeler.rounds=1", goal]).unwrap();
        outcome.summary.methods[0].measures[0].mean
    };
    assert_ne!(
        first("objective.goal=minimize"),
        first("objective.goal=maximize")
    );
}

#[test]
fn bad_files_are_refused_with_line_and_column() {
    let good =
        "size,floor,rent\n20,1,500\n30,2,600\n40,3,550\n50,5,700\n60,2,800\n70,9,900\n80,4,650\n";
    assert!(Data::new("good", good).run(&[]).is_ok());
    for (name, from, to, needed) in [
        (
            "nan",
            "30,2,600",
            "30,NaN,600",
            ":3: `floor` is `NaN`; admissible: a number up to 1e12",
        ),
        (
            "nan-output",
            "30,2,600",
            "30,2,nan",
            ":3: `rent` is `nan`; admissible: a positive number",
        ),
        ("infinite", "30,2,600", "inf,2,600", ":3: `size` is `inf`"),
        ("empty", "30,2,600", "30,,600", ":3: `floor` is ``"),
        (
            "log",
            "30,2,600",
            "30,2,0",
            ":3: `rent` is `0`; admissible: a positive number",
        ),
        (
            "column",
            "size,floor",
            "area,floor",
            ":1: there is no column `size`; there are area, floor, rent",
        ),
        (
            "short",
            "30,2,600",
            "30,2",
            ":3: 2 fields; the header has 3",
        ),
    ] {
        let refused = Data::new(name, &good.replace(from, to))
            .run(&[])
            .unwrap_err();
        assert!(refused.contains(needed), "{refused}");
    }
    assert!(
        Data::new("one", "size,floor,rent\n20,1,500\n")
            .run(&[])
            .unwrap_err()
            .contains("1 rows; at least two")
    );
    assert!(
        Data::new("none", "")
            .run(&[])
            .unwrap_err()
            .contains("there is no column")
    );
    // More queries than rows without repeats.
    let refused = Data::new("repeats", good)
        .run(&["modeler.rounds=7"])
        .unwrap_err();
    assert!(
        refused.contains("rounds") && refused.contains("no row is asked twice"),
        "{refused}"
    );
    let missing = executed(&*parse(CSV, &[]).unwrap(), &Options::default(), &()).unwrap_err();
    assert!(missing.to_string().contains("--data"), "{missing}");
}

/// The paper's transformation needs full column rank; the private release and plain GP-UCB need
/// nothing.
#[test]
fn tables_without_full_rank_are_refused_by_the_paper_alone() {
    let few = "size,floor,rent\n20,1,500\n30,2,600\n";
    let collinear =
        "size,floor,rent\n20,1,500\n40,3,600\n60,5,550\n80,7,700\n90,8,710\n30,2,400\n70,6,640\n";
    // Every floor is 10, the middle of its range: after centring with public constants a column of
    // zeros.
    let constant = "size,floor,rent\n20,10,500\n40,10,600\n60,10,550\n80,10,700\n90,10,710\n30,10,400\n70,10,640\n";
    let three = [
        "objective.inputs=[\"size\", \"floor\", \"rent2\"]",
        "objective.input_ranges=[[10, 100], [0, 20], [0, 1]]",
        "modeler.lengthscales=[1, 1, 1]",
        "modeler.rounds=1",
    ];
    // size = 10 floor + 10, centred at (55, 10)… is affine, not linear: shift the range so that it
    // is linear.
    let line = [
        "objective.log_inputs=[]",
        "objective.input_ranges=[[10, 110], [0, 10]]",
        "modeler.lengthscales=[50, 5]",
    ];
    let paper = "modeler.methods=[\"paper-projection\"]";
    let private = "modeler.methods=[\"gp-ucb\", \"random\", \"gaussian-projection\"]";
    let with = |settings: &[&'static str], last| {
        settings.iter().copied().chain([last]).collect::<Vec<_>>()
    };
    let wide = few
        .replace("rent\n", "rent,rent2\n")
        .replace("500\n", "500,0.2\n")
        .replace("600\n", "600,0.3\n");
    for (name, text, settings, needed) in [
        (
            "few",
            wide.as_str(),
            &three[..],
            "2 rows of 3 columns; at least as many rows as columns",
        ),
        (
            "collinear",
            collinear,
            &line[..],
            "the columns depend on each other",
        ),
        (
            "constant",
            constant,
            &[][..],
            "the columns depend on each other",
        ),
    ] {
        let data = Data::new(name, text);
        let refused = data.run(&with(settings, paper)).unwrap_err();
        assert!(refused.contains(needed), "{name}: {refused}");
        assert!(data.run(&with(settings, private)).is_ok(), "{name}");
    }
    // A constant column elsewhere is an input that says nothing: admissible for all.
    assert!(
        Data::new("flat", &constant.replace(",10,", ",4,"))
            .run(&[])
            .is_ok()
    );
}

#[test]
fn refusals_name_the_key() {
    for (setting, key) in [
        ("curator.out_dims=[0]", "curator.out_dims"),
        ("curator.out_dims=[]", "curator.out_dims"),
        ("curator.out_dims=[3, 3]", "curator.out_dims"),
        ("curator.out_dims=[1.5]", "curator.out_dims"),
        ("curator.out_dims=3", "curator.out_dims"),
        ("curator.epsilon=0", "curator.epsilon"),
        ("curator.epsilon=nan", "curator.epsilon"),
        ("curator.delta=0", "curator.delta"),
        ("curator.delta=0.7", "curator.delta"),
        ("curator.largest_norm=26", "curator.largest_norm"),
        (
            "curator.noise=1",
            "unknown key `curator.noise`; admissible here: epsilon",
        ),
        ("modeler.rounds=0", "modeler.rounds"),
        ("modeler.rouns=3", "did you mean `rounds`"),
        ("modeler.lengthscales=[1]", "modeler.lengthscales"),
        ("modeler.lengthscales=[1, 0]", "modeler.lengthscales"),
        ("modeler.noise_variance=0", "modeler.noise_variance"),
        ("modeler.methods=[\"paper\"]", "modeler.methods"),
        ("modeler.repeats=1", "modeler.repeats"),
        (
            "modeler.failure_probability=1",
            "modeler.failure_probability",
        ),
        ("objective.inputs=[]", "objective.inputs"),
        ("objective.inputs=[\"size\", \"size\"]", "objective.inputs"),
        ("objective.input_ranges=[[0, 1]]", "objective.input_ranges"),
        (
            "objective.input_ranges=[[1, 0], [0, 1]]",
            "objective.input_ranges",
        ),
        (
            "objective.input_ranges=[[0, 1], [0, 1]]",
            "positive where the logarithm is taken",
        ),
        ("objective.log_inputs=[\"rent\"]", "objective.log_inputs"),
        ("objective.output=size", "objective.output"),
        ("objective.goal=best", "objective.goal"),
        (
            "objective.points_per_axis=3",
            "unknown key `objective.points_per_axis`",
        ),
        ("objctive.kind=csv", "did you mean `objective`"),
    ] {
        let refused = parse(CSV, &[setting]).unwrap_err();
        assert!(refused.contains(key), "{setting}: {refused}");
    }
    for (key, needed) in [
        ("input_ranges", "public"),
        ("inputs", "missing"),
        ("goal", "missing"),
        ("epsilon", "missing"),
    ] {
        let refused = parse(&without(&format!("{key} "), CSV), &[]).unwrap_err();
        assert!(
            refused.starts_with("my.toml:") && refused.contains(key) && refused.contains(needed),
            "{refused}"
        );
    }
    let refused = shipped("outsourced-branin", &["modeler.rounds=961"]).unwrap_err();
    assert!(
        refused.contains("modeler.rounds") && refused.contains("961 rows"),
        "{refused}"
    );
}

/// Real tables, where the folder with them is there; says so where it is not.
#[test]
fn real_tables_run() {
    let folder = shared_data();
    for (name, path, rows) in [
        (
            "outsourced-hdb",
            "singapore-hdb-geocoded/hdb_resale_data_onemap_enriched.csv",
            1000,
        ),
        (
            "outsourced-loans",
            "lendingclub-sample/loansData_clean.csv",
            2498,
        ),
    ] {
        let path = folder.join(path);
        if !path.exists() {
            eprintln!("{}: not there, {name} is not tested", path.display());
            continue;
        }
        let options = Options {
            data: Some(path),
            ..Options::default()
        };
        let outcome = executed(
            &*shipped(name, &["runs=1", "modeler.rounds=10"]).unwrap(),
            &options,
            &(),
        )
        .unwrap();
        assert_eq!(outcome.summary.facts["rows"], rows);
    }
}

/// Three jobs, an interruption, `--resume`: the same folder as in one go; a second time there is
/// nothing to do.
#[test]
fn an_interrupted_run_goes_on_to_the_same_folder() {
    let folder = scratch("outsourced-resume");
    std::fs::create_dir(folder.join("b")).unwrap();
    let run = |out, more: &[&'static str]| {
        with(
            &[&["run", "outsourced-grid", "--out", out], more].concat(),
            &SMALL,
        )
    };
    done(&folder, &run("a", &[]));
    let scenario = shipped("outsourced-grid", &SMALL).unwrap();
    let journal = Some(Arc::new(
        Journal::create(&folder.join("b"), &scenario.resolved(), None).unwrap(),
    ));
    let progress = StopAfter::new(3);
    let options = Options {
        threads: NonZeroUsize::new(1),
        journal,
        stop: progress.stop.clone(),
        ..Options::default()
    };
    assert!(matches!(
        executed(&*scenario, &options, &progress),
        Err(ModelError::Interrupted)
    ));
    // Three jobs and what they belong to, as a digest and in words.
    assert_eq!(
        std::fs::read_dir(folder.join("b/state")).unwrap().count(),
        5
    );
    let other = sordino(&folder, &run("b", &["--resume", "--seed", "1"]));
    assert_eq!(other.status.code(), Some(2), "{}", said(&other));
    assert!(said(&other).contains("another scenario"));
    done(&folder, &run("b", &["--resume"]));
    assert!(files(&folder.join("a")) == files(&folder.join("b")));
    assert!(said(&done(&folder, &run("b", &["--resume"]))).contains("nothing to resume"));
}

/// The folder says which file it was made from, and another one is refused, when it goes on and
/// when it is made again.
#[test]
fn a_table_that_was_changed_is_refused() {
    let folder = scratch("outsourced-digest");
    let rows: String = (0..9)
        .map(|i| format!("{},{},{}\n", 20 + 7 * i, i % 4, 500 + 10 * i))
        .collect();
    std::fs::write(folder.join("t.toml"), CSV).unwrap();
    std::fs::write(folder.join("t.csv"), format!("size,floor,rent\n{rows}")).unwrap();
    let run = |out: &str, more: &[&str]| {
        let all = [
            "run",
            "t.toml",
            "--data",
            "t.csv",
            "--set",
            "modeler.rounds=2",
            "--format",
            "json",
            "--out",
            out,
        ];
        sordino(&folder, &[&all[..], more].concat())
    };
    let first = run("a", &[]);
    assert!(first.status.success(), "{}", said(&first));
    let resolved = std::fs::read_to_string(folder.join("a/scenario.toml")).unwrap();
    let mut frame = sordino_core::digest::Frame::leaf();
    frame.bytes(&std::fs::read(folder.join("t.csv")).unwrap());
    assert!(
        resolved.contains(&format!("digest = \"{}\"", frame.end())),
        "{resolved}"
    );
    // The folder's scenario makes it again, to the same digest.
    let again = [
        "run",
        "a/scenario.toml",
        "--data",
        "t.csv",
        "--format",
        "json",
        "--out",
        "b",
    ];
    let summary = |output| json(output)["digest"].clone();
    assert_eq!(summary(&done(&folder, &again)), summary(&first));
    std::fs::write(
        folder.join("t.csv"),
        format!("size,floor,rent\n{rows}21,1,999\n"),
    )
    .unwrap();
    let message = refused(&folder, 2, &[&again[..7], &["c"]].concat());
    assert!(
        message.contains("the scenario was made for a file of digest"),
        "{message}"
    );
    let resumed = run("a", &["--resume"]);
    assert_eq!(resumed.status.code(), Some(2));
    assert!(said(&resumed).contains("digest"), "{}", said(&resumed));
}
