//! The program as a user calls it.

use std::path::Path;

use serde_json::Value;
use sordino_experiment::record::Summary;

use crate::util::{done, files, json, printed, refused, scratch, sordino, text, with};

const SMALL: [&str; 4] = [
    "federation.agents=12",
    "federation.rounds=12",
    "objective.points_per_axis=60",
    "surrogate.features=20",
];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    with(&[&["run", "default", "--runs", "2"], more].concat(), &SMALL)
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn run_answers_with_the_promised_object() {
    let folder = scratch("cli-json");
    let output = done(&folder, &small(&["--format", "json", "--out", "a"]));
    let answer = json(&output);
    // Alphabetical: serde_json's map. The text keeps the order of the promise.
    assert_eq!(
        keys(&answer),
        [
            "cautions", "digest", "methods", "noise", "runs", "scenario", "seed", "trust",
            "version"
        ]
    );
    // So few agents that their δ is large.
    let cautions: Vec<&str> = answer["cautions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|said| said.as_str())
        .collect();
    assert!(
        matches!(cautions[..], [caution] if caution.starts_with("δ = ")),
        "{cautions:?}"
    );
    let begin = "{\n  \"version\": 2,\n  \"scenario\": \"default\",\n  \"trust\": \"federated\",\n  \"seed\": 0,\n  \"runs\": 2,";
    assert!(text(&output.stdout).trim_start().starts_with(begin));
    // What is written is what is read.
    let summary =
        Summary::parse(&std::fs::read_to_string(folder.join("a/summary.json")).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(&summary).unwrap(), answer);
    assert_eq!(answer["digest"].as_str().unwrap().len(), 64);
    let methods = answer["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 7);
    for (method, read) in methods.iter().zip(&summary.methods) {
        let said = [
            "digest",
            "guarantee",
            "losses",
            "measures",
            "name",
            "neighboring_relation",
            "regret_at",
        ];
        // Two private methods of one ε pay for different events: the summary says which.
        let private = !matches!(read.name.as_str(), "alone" | "ts" | "fts");
        let found = keys(method);
        assert!(
            found.iter().filter(|key| **key != "facts").eq(&said)
                && found.contains(&"facts") == private
        );
        if private {
            let event = method["facts"]["event"].as_str().unwrap();
            let whom = match read.name.as_str() {
                "vote" => "1 Gaussian release of multiplier",
                "dp-fts-de" => "each of a secret 0.25 of",
                _ => "each of all agents",
            };
            assert!(
                event.contains("Gaussian release") && event.contains(whom),
                "{event}"
            );
        }
        assert_eq!(
            keys(&method["measures"][0]),
            ["mean", "name", "standard_error"]
        );
        assert!(read.measure("summed_regret").unwrap().mean > 0.0);
        assert_eq!(
            read.measure("final_regret").unwrap().mean,
            read.regret_at[&12]
        );
        assert_eq!(keys(&method["regret_at"]), ["10", "12", "2"]);
        let expected = match read.name.as_str() {
            "alone" | "ts" => "nothing released",
            "fts" => "none",
            _ => "dp",
        };
        assert_eq!(read.guarantee, expected);
        if expected == "dp" {
            assert_eq!(
                read.neighboring_relation.as_deref(),
                Some("replace_special")
            );
            let losses = ["epsilon_pld", "delta", "epsilon_pld_at_1e-5"]
                .map(|name| read.loss(name).unwrap().value);
            assert!(
                losses[0] < losses[2] && losses[1] > Some(1e-5),
                "{losses:?}"
            );
            // Between two contributions more is lost, at either δ; a guess is better than a coin.
            let between = [
                "epsilon_between_contributions",
                "epsilon_between_contributions_at_1e-5",
            ]
            .map(|name| method["facts"][name].as_f64());
            assert!(
                losses[0] < between[0] && losses[2] < between[1],
                "{losses:?} {between:?}"
            );
            let guess = method["facts"]["best_guess"].as_f64().unwrap();
            assert!(guess > 0.5 && guess < 1.0, "{guess}");
        } else {
            assert!(
                method["losses"] == serde_json::json!([])
                    && method["neighboring_relation"].is_null()
            );
        }
    }
    assert!(text(&output.stderr).contains("simulation: not private"));
    let said = [
        "between any two things that an agent may have sent ε is",
        "the best guess whether its contributions were used",
    ];
    for file in ["table.txt", "report.html"] {
        let page = std::fs::read_to_string(folder.join("a").join(file)).unwrap();
        assert!(said.iter().all(|said| page.contains(said)), "{file}");
    }
}

#[test]
fn epsilon_by_round_ends_at_the_tight_one_of_the_summary() {
    let folder = scratch("cli-epsilon");
    let output = done(&folder, &small(&["--format", "json", "--out", "a"]));
    let summary = Summary::parse(text(&output.stdout)).unwrap();
    let rounds = std::fs::read_to_string(folder.join("a/rounds.csv")).unwrap();
    assert!(rounds.lines().next().unwrap().ends_with(",epsilon"));
    for method in &summary.methods {
        let name = format!("0,{},", method.name);
        let of = |run: &str| -> Vec<&str> {
            let start = format!("{run},{},", method.name);
            let fields = rounds.lines().filter(|line| line.starts_with(&start));
            fields
                .map(|line| line.rsplit(',').next().unwrap())
                .collect()
        };
        // Both runs made the same releases: what they cost is said once.
        let losses = of("0");
        assert_eq!((losses.len(), of("1")), (13, vec![""; 13]));
        match method.loss("epsilon_pld").and_then(|loss| loss.value) {
            None => assert!(losses.iter().all(|loss| loss.is_empty()), "{name}"),
            Some(last) => {
                let losses: Vec<f64> = losses.iter().map(|loss| loss.parse().unwrap()).collect();
                // One release after each round but the last, or where the prior's plan has one, or
                // before the first; rounded up.
                let rises: Vec<bool> = losses.windows(2).map(|pair| pair[0] < pair[1]).collect();
                let planned = |round: usize| match method.name.as_str() {
                    "vote" => false,
                    "dp-fts-de" => round < 12,
                    _ => [4, 8].contains(&round),
                };
                assert_eq!(
                    rises,
                    (1..13).map(planned).collect::<Vec<_>>(),
                    "{losses:?}"
                );
                assert!(losses.is_sorted() && losses[0] > 0.0, "{losses:?}");
                assert!(
                    losses[12] >= last && losses[12] < last + 2e-4,
                    "{losses:?} {last}"
                );
            }
        }
    }
}

/// Every object that a program may read a loss from says that nobody is protected by it.
#[test]
fn whatever_is_simulated_says_so_in_json() {
    let folder = scratch("cli-label");
    let label =
        |value: &Value, of: &str| assert_eq!(value["noise"], "simulation: not private", "{of}");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let object = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    label(
        &json(&done(&folder, &small(&["--format", "json", "--out", "f"]))),
        "run",
    );
    label(&object(&read("f/summary.json")), "summary.json");
    label(
        &object(read("f/transcript.jsonl").lines().next().unwrap()),
        "transcript.jsonl",
    );
    let charges = read("f/ledger.jsonl");
    charges
        .lines()
        .for_each(|line| label(&object(line), "ledger.jsonl"));
    assert!(charges.lines().count() > 0 && read("f/README.md").contains("`noise`"));
    for (name, settings) in [
        (
            "ldp-se",
            &[
                "learning.rounds=100",
                "objective.points=10",
                "learning.width_factor=0.05",
            ][..],
        ),
        (
            "outsourced-grid",
            &[
                "objective.points_per_axis=6",
                "modeler.rounds=3",
                "curator.out_dims=[2]",
            ],
        ),
        (
            "output-gp",
            &[
                "objective.points=20",
                "objective.records=50",
                "prior.rounds=5",
            ],
        ),
    ] {
        let arguments = [
            "run", name, "--runs", "1", "--format", "json", "--out", name,
        ];
        label(&json(&done(&folder, &with(&arguments, settings))), name);
        label(&object(&read(&format!("{name}/summary.json"))), name);
        assert!(read(&format!("{name}/README.md")).contains("`noise`"));
    }
}

#[test]
fn drivers_and_threads_leave_equal_folders_and_the_resolved_scenario_repeats_them() {
    let folder = scratch("cli-folders");
    done(&folder, &small(&["--out", "a", "--threads", "1"]));
    done(&folder, &small(&["--out", "b", "--threads", "2"]));
    done(&folder, &small(&["--out", "c", "--driver", "lockstep"]));
    done(&folder, &["run", "a/scenario.toml", "--out", "d"]);
    let first = files(&folder.join("a"));
    for other in ["b", "c", "d"] {
        assert!(first == files(&folder.join(other)), "{other}");
    }
    // Negative control: another seed is seen.
    done(&folder, &small(&["--out", "e", "--seed", "1"]));
    let rounds =
        |name: &str| std::fs::read_to_string(folder.join(name).join("rounds.csv")).unwrap();
    assert_ne!(rounds("a"), rounds("e"));
    // 2 runs, 7 methods, 13 rounds, and the header; every line has ten fields.
    assert_eq!(rounds("a").lines().count(), 1 + 2 * 7 * 13);
    assert!(
        rounds("a")
            .lines()
            .all(|line| line.split(',').count() == 10)
    );
}

#[test]
fn text_names_loss_relation_and_simulation() {
    let folder = scratch("cli-text");
    let output = done(&folder, &small(&[]));
    let said = text(&output.stdout);
    for needed in [
        "dp-fts-de",
        "ε tight",
        "δ 1e-5",
        "never below the truth; neighbouring",
        "zero-out",
        "simulation: not private",
        "digest ",
    ] {
        assert!(said.contains(needed), "{needed}: {said}");
    }
    assert!(text(&output.stderr).contains("sordino-runs/0001-default"));
    done(&folder, &small(&["--set", "name=a second/one"]));
    assert!(
        folder
            .join("sordino-runs/0002-a-second-one/regret.svg")
            .exists()
    );
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let folder = scratch("cli-bad");
    let refused = |code, arguments: &[&str]| refused(&folder, code, arguments);
    assert!(
        refused(2, &["run", "defualt"]).contains(
            "there is no scenario `defualt`; did you mean `default`? Shipped are default, "
        )
    );
    assert!(refused(2, &["run", "no.toml"]).contains("no.toml: cannot be read"));
    assert!(
        refused(2, &["run", "--set", "federation.agents=0"])
            .contains("a whole number from 1 to 1000000")
    );
    assert!(refused(2, &["run", "--runs", "0"]).contains("--runs"));
    assert!(refused(2, &["run", "--threads", "0"]).contains("--threads"));
    assert!(refused(2, &["run", "--driver", "mpi"]).contains("lockstep, tokio"));
    assert!(refused(2, &["walk"]).contains("walk"));
    assert!(refused(2, &["run", "landmine"]).contains("--data PATH"));
    assert!(
        refused(2, &["run", "landmine", "--data", "no.csv"]).contains("no.csv: cannot be read")
    );
    std::fs::write(
        folder.join("bad.toml"),
        "name = \"x\"\ndescription = \"y\"\n[objective]\nkind = 3\n",
    )
    .unwrap();
    assert!(
        refused(2, &["run", "bad.toml"])
            .contains("bad.toml:4: `objective.kind = 3` is not admissible")
    );
    std::fs::write(folder.join("bytes.toml"), [0xff, 0xfe]).unwrap();
    refused(2, &["run", "bytes.toml"]);
    std::fs::create_dir(folder.join("taken")).unwrap();
    assert!(refused(2, &["run", "--out", "taken"]).contains("exists already"));
    assert!(
        refused(2, &["privacy", "epsilon", "--sampling-probability", "2"])
            .contains("a probability in (0, 1]")
    );
    // What failed left no folder behind.
    assert_eq!(
        std::fs::read_dir(folder.join("sordino-runs"))
            .into_iter()
            .flatten()
            .count(),
        0
    );
    // A place that cannot be written is neither usage nor input.
    std::fs::write(folder.join("file"), "").unwrap();
    refused(1, &["run", "--out", "file/inside"]);
}

#[test]
fn list_names_every_scenario_below_its_trust_model() {
    let output = done(&scratch("cli-list"), &["list"]);
    let mut trust = "";
    let mut found = Vec::new();
    for line in text(&output.stdout).lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(head) => trust = head.split(':').next().unwrap(),
            None => found.push((trust, line.split_whitespace().next().unwrap())),
        }
    }
    for (trust, names) in [
        (
            "federated",
            &["default", "gp-2d", "firmware", "winequality", "landmine"][..],
        ),
        (
            "outsourced",
            &[
                "outsourced-grid",
                "outsourced-branin",
                "outsourced-hdb",
                "outsourced-loans",
            ],
        ),
        (
            "local",
            &[
                "ldp-se",
                "ldp-matern",
                "ldp-student-t",
                "ldp-light-sensor",
                "ldp-stocks",
            ],
        ),
        ("output", &["output-gp", "output-winequality"]),
    ] {
        for name in names {
            assert!(
                found.contains(&(trust, *name)),
                "{trust}, {name}: {found:?}"
            );
        }
    }
    assert_eq!(found.len(), sordino_experiment::scenario::SHIPPED.len());
}

#[test]
fn report_reads_a_run_folder_back_and_refuses_a_changed_one() {
    let folder = scratch("cli-report");
    done(&folder, &small(&["--out", "a"]));
    let page = folder.join("a/report.html");
    let first = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert_eq!(printed(&folder, &["report", "a"]).trim(), "a/report.html");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), first);
    for needed in [
        "prefers-color-scheme:dark",
        "Privacy loss",
        "Paired differences",
        "not releasable",
        "viewport",
    ] {
        assert!(first.contains(needed), "{needed}");
    }
    // No network: nothing is fetched, nothing is executed.
    for forbidden in ["http://", "https://", "<script", "@import", "url("] {
        assert!(!first.contains(forbidden), "{forbidden}");
    }
    let refused = |file: &str, from: &str, to: &str| {
        let path = folder.join("a").join(file);
        let good = std::fs::read_to_string(&path).unwrap();
        assert!(good.contains(from));
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let message = refused(&folder, 2, &["report", "a"]);
        std::fs::write(&path, good).unwrap();
        message
    };
    assert!(
        refused("transcript.jsonl", "\"releases\":12", "\"releases\":-1")
            .contains("transcript.jsonl:")
    );
    assert!(
        refused("transcript.jsonl", "\"run\":0", "\"run\":7").contains("is not in the transcript")
    );
    assert!(refused("transcript.jsonl", "\"digest\":\"", "\"digest\":\"0").contains("digest"));
    assert!(refused("rounds.csv", "0,alone,1,", "0,alone,2,").contains("round 2 is out of order"));
    assert!(refused("rounds.csv", "0,alone,1,", "0,enola,1,").contains("rounds.csv:3"));
    assert!(refused("scenario.toml", "rounds = 12", "rounds = 13").contains("incomplete"));
    assert!(refused("scenario.toml", "rounds = 12", "rounds = 0").contains("scenario.toml:"));
    assert!(nowhere(&folder).contains("is this a run folder?"));
    done(&folder, &["report", "a"]);
}

fn nowhere(folder: &Path) -> String {
    refused(folder, 2, &["report", "nowhere"])
}

/// The paper's privacy losses, to every printed digit.
#[test]
fn privacy_epsilon_prints_the_papers_losses() {
    let folder = scratch("cli-privacy");
    let table = [
        (200, 40, 0.15, 1.0, "5.93"),
        (200, 40, 0.25, 1.0, "9.91"),
        (200, 40, 0.5, 1.0, "20.12"),
        (200, 40, 0.25, 1.2, "7.39"),
        (200, 40, 0.25, 1.5, "5.22"),
        (29, 60, 0.35, 1.0, "15.17"),
        (29, 60, 0.35, 1.6, "7.12"),
        (29, 60, 0.35, 2.0, "5.14"),
        (29, 60, 0.35, 3.0, "3.05"),
        (29, 60, 0.35, 4.0, "2.16"),
        (29, 60, 0.1, 1.0, "3.75"),
        (29, 60, 0.15, 1.0, "5.98"),
        (29, 60, 0.2, 1.0, "7.69"),
        (29, 60, 0.25, 1.0, "9.82"),
    ];
    for (agents, rounds, q, z, printed) in table {
        let numbers = [q, z, f64::from(agents).powf(-1.1)].map(|x: f64| x.to_string());
        let rounds: i32 = rounds;
        let answer = json(&done(
            &folder,
            &[
                "privacy",
                "epsilon",
                "--sampling-probability",
                &numbers[0],
                "--noise-multiplier",
                &numbers[1],
                "--rounds",
                &rounds.to_string(),
                "--delta",
                &numbers[2],
                "--accountant",
                "moments",
                "--format",
                "json",
            ],
        ));
        let said = [
            "accountant",
            "best_guess",
            "epsilon",
            "epsilon_between_contributions",
            "neighboring_relation",
            "order",
        ];
        assert_eq!(keys(&answer), said);
        assert_eq!(
            format!("{:.2}", answer["epsilon"].as_f64().unwrap()),
            printed
        );
    }
}

#[test]
fn reproduce_prints_bands_and_leaves_pictures() {
    let folder = scratch("cli-reproduce");
    let catalogue = done(&folder, &["reproduce"]);
    for name in ["fig2a", "fig2b", "fig2c", "fig2d", "ablations", "landmine"] {
        assert!(
            text(&catalogue.stdout).contains(&format!("dp-fts-de/{name} ")),
            "{name}"
        );
    }
    assert!(refused(&folder, 2, &["reproduce", "dp-fts-de/fig9"]).contains("dp-fts-de/fig2a"));
    // Two runs say nothing about regret; the losses do not depend on runs. So the code is 0 or 1.
    let arguments = [
        "reproduce",
        "dp-fts-de/fig2d",
        "--runs",
        "2",
        "--format",
        "json",
        "--out",
        "a",
    ];
    let output = sordino(&folder, &arguments);
    let answer = json(&output);
    assert_eq!(
        keys(&answer),
        ["bands", "experiment", "remarks", "runs", "runs_of_bands"]
    );
    assert!(answer["runs"] == 2 && answer["runs_of_bands"].as_u64() > Some(2));
    let bands = answer["bands"].as_array().unwrap();
    assert!(
        bands
            .iter()
            .all(|band| keys(band) == ["expected", "holds", "measured", "name"])
    );
    assert!(
        bands[..3].iter().all(|band| band["holds"] == true),
        "{bands:?}"
    );
    assert_eq!(
        output.status.code(),
        Some(i32::from(bands.iter().any(|band| band["holds"] == false)))
    );
    for name in [
        "bands.txt",
        "figure.svg",
        "report.html",
        "summed.csv",
        "rounds.csv",
    ] {
        assert!(folder.join("a").join(name).exists(), "{name}");
    }
}
