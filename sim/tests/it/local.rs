//! Scenarios of the trust model `local`: small runs, independence of threads, refusals.

use std::num::NonZeroUsize;

use sordino_engine::Options;
use sordino_experiment::scenario::Shipped;
use sordino_lab::execute::executed;

use crate::util::{done, scratch, shipped, with, without};

const SMALL: [&str; 5] = [
    "runs=3",
    "learning.rounds=300",
    "objective.points=20",
    "learning.width_factor=0.05",
    "users.epsilon=8",
];

fn execute(settings: &[&str], threads: usize) -> (String, String, String) {
    let options = Options {
        threads: NonZeroUsize::new(threads),
        ..Options::default()
    };
    let outcome = executed(&*shipped("ldp-se", settings).unwrap(), &options, &()).unwrap();
    (
        outcome.table().to_owned(),
        outcome.file("rounds.csv").to_owned(),
        outcome.file("regret.svg").to_owned(),
    )
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let one = execute(&SMALL, 1);
    assert_eq!(one, execute(&SMALL, 3));
    assert_eq!(one.1.lines().count(), 1 + 3 * 4 * 200);
    let mut other = SMALL.to_vec();
    other.push("seed=1");
    assert_ne!(one.1, execute(&other, 1).1);
    // One run is a prefix of three.
    let mut single = SMALL.to_vec();
    single[0] = "runs=1";
    let first: Vec<String> = one
        .1
        .lines()
        .filter(|line| line.starts_with("0,"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        execute(&single, 1).1.lines().skip(1).collect::<Vec<_>>(),
        first
    );
}

#[test]
fn learners_learn_and_users_pay_once() {
    let (table, _, _) = execute(&SMALL, 2);
    for method in ["tgp-ucb", "ata-gp-ucb", "moma-gp-ucb"] {
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with(method))
            .unwrap();
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert!(fields[3].parse::<f64>().unwrap() < 0.8, "{line}");
        assert_eq!(fields[5], "8.000", "{line}");
    }
    // Who asks nobody promises nothing.
    let options = Options::default();
    let outcome = executed(&*shipped("ldp-se", &SMALL).unwrap(), &options, &()).unwrap();
    let claims = |name: &str| {
        let found = outcome.summary.method(name).unwrap();
        let relation = found.neighboring_relation.as_deref();
        (found.guarantee.as_str(), relation, found.losses.len())
    };
    assert_eq!(claims("random"), ("nothing released", None, 0));
    assert_eq!(claims("tgp-ucb"), ("dp", Some("replace_one"), 1));
    // Three reports each: a third of the users, three times the loss.
    let mut thrice = SMALL.to_vec();
    thrice.push("users.reports_per_user=3");
    assert!(execute(&thrice, 2).0.contains("24.00"));
}

#[test]
fn refusals_name_the_key() {
    for (name, setting, key) in [
        ("ldp-se", "users.noise_bound=0", "users.noise_bound"),
        ("ldp-se", "users.noise_bound=nan", "users.noise_bound"),
        ("ldp-se", "users.norm_bound=-1", "users.norm_bound"),
        ("ldp-se", "users.epsilon=0", "users.epsilon"),
        (
            "ldp-se",
            "users.reports_per_user=1000",
            "users.reports_per_user",
        ),
        ("ldp-se", "learning.rounds=3", "learning.rounds"),
        ("ldp-se", "learning.constants=best", "learning.constants"),
        ("ldp-se", "learning.accuracy=1", "learning.accuracy"),
        ("ldp-se", "trust=central", "trust"),
        ("ldp-student-t", "users.epsilon=1", "users.noise_bound"),
    ] {
        let refused = shipped(name, &[setting]).unwrap_err();
        assert!(refused.contains(key), "{refused}");
    }
    // B and R must be given where data are read.
    let text = Shipped::find("ldp-light-sensor").unwrap().text;
    for key in ["norm_bound", "noise_bound"] {
        let error = sordino_engine::parse("my.toml", &without(key, text), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("users.{key}")) && error.contains("public"),
            "{error}"
        );
    }
    let missing = executed(
        &*shipped("ldp-stocks", &[]).unwrap(),
        &Options::default(),
        &(),
    )
    .unwrap_err();
    assert!(missing.to_string().contains("--data"), "{missing}");
}

/// A table kernel from a file with two equal columns is singular, which is admissible.
#[test]
fn tables_are_read_from_files() {
    let folder = scratch("local-tables");
    let path = folder.join("fin.csv");
    std::fs::write(&path, "Date,A,B,C\n1,1,1,5\n2,2,2,3\n3,4,4,4\n4,3,3,4.5\n").unwrap();
    let settings = [
        "runs=2",
        "learning.rounds=100",
        "users.norm_bound=5",
        "users.noise_bound=5",
    ];
    let run = |data: &std::path::Path| {
        let options = Options {
            data: Some(data.to_owned()),
            ..Options::default()
        };
        executed(&*shipped("ldp-stocks", &settings).unwrap(), &options, &())
    };
    assert!(run(&path).unwrap().table().contains("moma-gp-ucb"));
    assert!(run(&folder).unwrap().table().contains("moma-gp-ucb"));
    std::fs::write(&path, "Date,A,B\n1,1,x\n2,2,2\n").unwrap();
    let error = run(&path).unwrap_err().to_string();
    assert!(error.contains("fin.csv:2: column 3 is `x`"), "{error}");
}

/// One round of which a uniform draw may lose nothing: no ratio is told, and the folder is read.
#[test]
fn a_ratio_to_no_regret_is_none() {
    let folder = scratch("local-ratio");
    let settings = [
        "runs=8",
        "learning.rounds=1",
        "objective.points=2",
        "learning.methods=[\"random\", \"tgp-ucb\"]",
    ];
    done(&folder, &with(&["run", "ldp-se", "--out", "a"], &settings));
    let summary = std::fs::read_to_string(folder.join("a/summary.json")).unwrap();
    assert!(!summary.contains("ratio_to_random"), "{summary}");
    done(&folder, &["report", "a"]);
}
