//! `sordino privacy` and `sordino audit` as a user calls them.

use std::path::Path;

use serde_json::Value;

use crate::util::{self, scratch};

/// Runs the words of a line and expects success.
fn done(folder: &Path, line: &str) -> String {
    util::printed(folder, &line.split_whitespace().collect::<Vec<_>>())
}

fn json(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&done(folder, &format!("{line} --format json"))).unwrap()
}

/// Runs the words of a line and expects code 2.
fn refused(folder: &Path, line: &str) -> String {
    util::refused(folder, 2, &line.split_whitespace().collect::<Vec<_>>())
}

const PAPER: &str = "--sampling-probability 0.25 --noise-multiplier 1 --rounds 40";
/// The δ of the papers, 200^-1.1.
const DELTA: f64 = 0.002_943_520_093_262_371_6;

#[test]
fn epsilon_by_three_accountants_is_ordered() {
    let folder = scratch("privacy-epsilon");
    let epsilon = |name: &str| {
        let line = format!("privacy epsilon {PAPER} --delta {DELTA} --accountant {name}");
        json(&folder, &line)["epsilon"].as_f64().unwrap()
    };
    let moments = epsilon("moments");
    let rdp = epsilon("rdp");
    let pld = epsilon("pld");
    // 7.05: the tight value of dp-accounting; 9.91: the paper's.
    assert!(
        (pld - 7.05).abs() < 0.01 && pld < rdp && rdp < moments && (moments - 9.91).abs() < 0.01
    );
    assert!(
        done(
            &folder,
            &format!("privacy epsilon {PAPER} --delta 1e-5 --accountant rdp")
        )
        .contains("RDP")
    );
}

#[test]
fn the_tight_accountant_is_asked_where_none_is_named() {
    let folder = scratch("privacy-default");
    let said = done(&folder, &format!("privacy epsilon {PAPER} --delta {DELTA}"));
    assert!(
        said.starts_with("ε = 7.05") && said.contains("(PLD accountant, tight;"),
        "{said}"
    );
    assert!(done(&folder, &format!("privacy delta {PAPER} --epsilon 7.06")).contains("PLD"));
    let rest = "--sampling-probability 0.25 --rounds 40";
    let answer = json(
        &folder,
        &format!("privacy calibrate --epsilon 7.0546 --delta {DELTA} {rest}"),
    );
    assert_eq!(answer["accountant"], "pld");
    assert!(
        (answer["noise_multiplier"].as_f64().unwrap() - 1.0).abs() < 1e-3,
        "{answer}"
    );
}

#[test]
fn delta_is_the_inverse_of_epsilon() {
    let folder = scratch("privacy-delta");
    for name in ["moments", "rdp", "pld"] {
        let there = json(
            &folder,
            &format!("privacy epsilon {PAPER} --delta {DELTA} --accountant {name}"),
        );
        let epsilon = there["epsilon"].as_f64().unwrap();
        let back = json(
            &folder,
            &format!("privacy delta {PAPER} --epsilon {epsilon} --accountant {name}"),
        );
        let delta = back["delta"].as_f64().unwrap();
        assert!((delta / DELTA - 1.0).abs() < 5e-3, "{name}: {delta}");
        // Negative control: a smaller ε needs a larger δ.
        let less = json(
            &folder,
            &format!(
                "privacy delta {PAPER} --epsilon {} --accountant {name}",
                epsilon * 0.9
            ),
        );
        assert!(less["delta"].as_f64().unwrap() > 1.2 * DELTA, "{name}");
    }
    assert_eq!(
        json(
            &folder,
            &format!("privacy delta {PAPER} --epsilon 0 --accountant moments")
        )["delta"],
        1.0
    );
    for bad in ["-1", "NaN", "inf", "x"] {
        assert!(
            refused(&folder, &format!("privacy delta {PAPER} --epsilon={bad}"))
                .contains("--epsilon")
        );
    }
}

#[test]
fn table_keeps_the_rows_and_appends_the_losses() {
    let folder = scratch("privacy-table");
    let write = |text: &str| std::fs::write(folder.join("a.csv"), text).unwrap();
    write(
        "delta,note,steps,q,z\n0.0029435200932623716,\"a, b\",40,0.25,1\n1e-05,,1,1,1.0\n1e-5,x,1,0,2\n",
    );
    let said = done(&folder, "privacy table a.csv");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "delta,note,steps,q,z,epsilon_rdp,epsilon_pld,epsilon_moments,quality"
    );
    assert!(
        lines[1].starts_with("0.0029435200932623716,\"a, b\",40,0.25,1,8.36")
            && lines[1].ends_with(",tight")
    );
    assert!(lines[2].starts_with("1e-05,,1,1,1.0,") && lines[2].ends_with(",exact"));
    let pld: Vec<f64> = csv::Reader::from_reader(said.as_bytes())
        .records()
        .map(|record| record.unwrap()[6].parse().unwrap())
        .collect();
    // 4.3777: Balle and Wang's δ of the Gaussian at z = 1 is 1e-5 there.
    assert!(
        (pld[0] - 7.05).abs() < 0.01 && (pld[1] - 4.3777).abs() < 1e-3 && pld[2] == 0.0,
        "{pld:?}"
    );
    done(&folder, "privacy table a.csv --out b.csv");
    assert_eq!(std::fs::read_to_string(folder.join("b.csv")).unwrap(), said);

    let cases = [
        ("", "a.csv:1:"),
        ("q,z,steps\n", "a.csv:1: no column `delta`"),
        ("q,z,steps,delta,q\n", "a.csv:1: column 5: the name `q`"),
        (
            "q,z,steps,delta,quality\n",
            "a.csv:1: column 5: the name `quality`",
        ),
        (
            "q,z,steps,delta\n0.5,1,1,0.1\n0.5,1,1\n",
            "a.csv:3: column 4: 3 fields where the header has 4",
        ),
        (
            "z,q,steps,delta\n1,1.5,1,0.1\n",
            "a.csv:2: column 2 (`q`): `1.5` is not admissible: a probability",
        ),
        (
            "q,z,steps,delta\n0.5,1,1,0.1\n0.5,0,1,0.1\n",
            "a.csv:3: column 2 (`z`): `0`",
        ),
        (
            "q,z,steps,delta\n0.5,NaN,1,0.1\n",
            "a.csv:2: column 2 (`z`): `NaN`",
        ),
        (
            "q,z,steps,delta\n0.5,1,1.5,0.1\n",
            "a.csv:2: column 3 (`steps`): `1.5`",
        ),
        (
            "q,z,steps,delta\n0.5,1,-1,0.1\n",
            "a.csv:2: column 3 (`steps`): `-1`",
        ),
        (
            "q,z,steps,delta\n0.5,1,1,1\n",
            "a.csv:2: column 4 (`delta`): `1`",
        ),
        (
            "q,z,steps,delta\n0.5,1,1,\n",
            "a.csv:2: column 4 (`delta`): ``",
        ),
    ];
    for (text, needed) in cases {
        write(text);
        let message = refused(&folder, "privacy table a.csv");
        assert!(message.contains(needed), "{needed}: {message}");
    }
    std::fs::write(folder.join("a.csv"), b"q,z,steps,delta\n0.5,\xff,1,0.1\n").unwrap();
    assert!(refused(&folder, "privacy table a.csv").contains("a.csv:2: column 2: not UTF-8"));
    assert!(refused(&folder, "privacy table nowhere.csv").contains("nowhere.csv: cannot be read"));
}

#[test]
fn calibrate_finds_what_is_left_out_and_meets_the_target() {
    let folder = scratch("privacy-calibrate");
    let target = "privacy calibrate --epsilon 8.3625 --delta 0.0029435200932623716";
    let target = &format!("{target} --accountant rdp");
    // RDP says 8.362 at q 0.25, z 1, T 40.
    let cases = [
        (
            "--sampling-probability 0.25 --rounds 40",
            "noise_multiplier",
            1.0,
        ),
        (
            "--sampling-probability 0.25 --noise-multiplier 1",
            "rounds",
            40.0,
        ),
        (
            "--noise-multiplier 1 --rounds 40",
            "sampling_probability",
            0.25,
        ),
    ];
    for (given, found, value) in cases {
        let answer = json(&folder, &format!("{target} {given}"));
        assert_eq!(answer["found"], found);
        assert!(
            (answer[found].as_f64().unwrap() / value - 1.0).abs() < 1e-3,
            "{answer}"
        );
        assert!(
            answer["epsilon_rdp"].as_f64().unwrap() <= 8.3625
                && answer["epsilon_pld"].as_f64().unwrap() < 7.1
        );
        assert!(done(&folder, &format!("{target} {given}")).contains(&found.replace('_', " ")));
    }
    // The tight accountant asks for less noise, and its own ε stays within the target.
    let tight = "privacy calibrate --epsilon 7.0546 --delta 0.0029435200932623716 --accountant pld";
    for (given, found, value) in cases {
        let answer = json(&folder, &format!("{tight} {given}"));
        assert_eq!(
            (&answer["found"], &answer["accountant"]),
            (&found.into(), &"pld".into())
        );
        assert!(
            (answer[found].as_f64().unwrap() / value - 1.0).abs() < 1e-3,
            "{answer}"
        );
        assert!(
            answer["epsilon_pld"].as_f64().unwrap() <= 7.0546
                && answer["epsilon_rdp"].as_f64().unwrap() > 8.3
        );
        assert!(done(&folder, &format!("{tight} {given}")).contains("by the PLD accountant"));
    }
    assert!(refused(&folder, target).contains("exactly two"));
    assert!(refused(&folder, &format!("{target} {PAPER}")).contains("exactly two"));
    let strict = "privacy calibrate --epsilon 0.01 --delta 1e-9 --sampling-probability 1 --noise-multiplier 1";
    assert!(refused(&folder, strict).contains("one release costs epsilon"));
    for bad in ["0", "-1", "NaN", "inf"] {
        refused(
            &folder,
            &format!(
                "privacy calibrate --epsilon={bad} --delta 0.1 --rounds 1 --noise-multiplier 1"
            ),
        );
    }
}

#[test]
fn explain_says_who_from_whom_for_every_shipped_scenario() {
    let folder = scratch("privacy-explain");
    for shipped in sordino_experiment::scenario::SHIPPED {
        let said = done(&folder, &format!("privacy explain {}", shipped.name));
        for needed in [
            "Who is protected from whom",
            "compared",
            "What is not protected",
            "What it costs",
            "simulat",
        ] {
            assert!(said.contains(needed), "{}: {needed}: {said}", shipped.name);
        }
    }
    let federated = done(&folder, "privacy explain default");
    for needed in [
        "Not from the server",
        "Zero-out",
        "200 agents",
        "PLD (tight)",
        "With fts: nobody",
        "With alone, ts: nothing leaves",
    ] {
        assert!(federated.contains(needed), "{needed}: {federated}");
    }
    // Both events, each with its methods and its ε.
    for needed in [
        "Each agent enters one with probability 0.25, in secret",
        "With prior-noise, dp-prior: 6 releases, after the rounds [0, 0, 0, 4, 8, 16]. Every agent enters each",
        "prior-noise, dp-prior: ε = 7.055",
        "after 6 releases by PLD (exact; what the budget's filter counts)",
        "With vote: 1 release, of one vote of every agent",
        "vote: ε = 7.055 at δ = 0.00294 after 1 release by PLD",
        "- dp-fts-de: ε = 7.055",
    ] {
        assert!(federated.contains(needed), "{needed}: {federated}");
    }
    let open = done(
        &folder,
        "privacy explain default --set federation.methods=[\"fts\"]",
    );
    assert!(
        open.contains("no method of this scenario is private") && !open.contains("ε ="),
        "{open}"
    );
    let local = json(&folder, "privacy explain ldp-se");
    assert_eq!(local["trust"], "local");
    assert!(
        local["cost"][0]
            .as_str()
            .unwrap()
            .starts_with("ε = 1 for each report")
    );
    let outsourced = done(&folder, "privacy explain outsourced-hdb");
    for needed in [
        "outsourced (a curator holds the inputs",
        "With paper-projection: nobody. It is not differentially private",
        "in latitude, 0.0117 in longitude",
        "The values y of the rows that are asked for",
        "ε = 3 at δ = 1e-5, once",
    ] {
        assert!(outsourced.contains(needed), "{needed}: {outsourced}");
    }
    let plain = done(
        &folder,
        "privacy explain outsourced-grid --set modeler.methods=[\"gp-ucb\"]",
    );
    assert!(
        plain.contains("no method of this scenario is private")
            && plain.contains("No loss is bounded"),
        "{plain}"
    );
    let output = json(&folder, "privacy explain output-winequality");
    assert_eq!(output["trust"], "output");
    let said = |key: &str| {
        let sentences = output[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|sentence| sentence.as_str().unwrap());
        sentences.collect::<Vec<_>>().join("\n")
    };
    assert!(
        said("protected").contains("each of the 1299 records"),
        "{}",
        said("protected")
    );
    assert!(said("protected").contains("For your own data set it promises nothing"));
    assert!(said("relation").contains("counts are whole numbers, so this is exact"));
    assert!(said("not_protected").contains("The training records"));
    assert!(said("cost").contains("ε from 0.1 to 256 for candidate and score together"));
    assert!(
        said("cost").contains("δ = 1e-300 from ε = 3 to 256"),
        "{}",
        said("cost")
    );
    let open = done(
        &folder,
        "privacy explain output-gp --set release.methods=[\"best\"]",
    );
    assert!(
        open.contains("no method of this scenario is private") && !open.contains("ε ="),
        "{open}"
    );
    assert!(refused(&folder, "privacy explain nowhere").contains("there is no scenario"));
}

#[test]
fn compare_draws_three_curves() {
    let folder = scratch("privacy-compare");
    let said = done(
        &folder,
        &format!("privacy compare {PAPER} --delta 1e-5 --out a.svg"),
    );
    let picture = std::fs::read_to_string(folder.join("a.svg")).unwrap();
    for class in ["red", "blue", "green"] {
        assert!(
            picture.contains(&format!("class=\"line {class}")),
            "{class}"
        );
    }
    for name in ["moments", "RDP", "PLD"] {
        assert!(
            said.contains(name) && picture.contains(&format!(">{name}<")),
            "{name}"
        );
    }
    let output = util::sordino(
        &folder,
        &format!("privacy compare {PAPER} --delta 1e-5 --out no/a.svg")
            .split(' ')
            .collect::<Vec<_>>(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        refused(
            &folder,
            &format!("privacy compare {PAPER} --delta 1 --out b.svg")
        )
        .contains("--delta")
    );
}

/// Without `--out` it was an error. The table is that beside the picture, and its numbers are those
/// of `privacy epsilon`.
#[test]
fn compare_prints_its_table_without_a_picture() {
    let folder = scratch("privacy-compare-table");
    let said = done(&folder, &format!("privacy compare {PAPER} --delta 1e-5"));
    assert_eq!(
        said,
        done(
            &folder,
            &format!("privacy compare {PAPER} --delta 1e-5 --out a.svg")
        )
    );
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        1,
        "one picture, where it was asked for"
    );
    for (row, accountant) in [("PLD", "pld"), ("RDP", "rdp"), ("moments", "moments")] {
        let row = said.lines().find(|line| line.starts_with(row)).unwrap();
        let told: f64 = row.split("ε = ").nth(1).unwrap().parse().unwrap();
        let question = format!("privacy epsilon {PAPER} --delta 1e-5 --accountant {accountant}");
        let epsilon = json(&folder, &question)["epsilon"].as_f64().unwrap();
        assert!((told / epsilon - 1.0).abs() < 1e-3, "{row}: {epsilon}");
    }
}

#[test]
fn audit_passes_the_shipped_paths_and_rejects_its_controls() {
    let folder = scratch("audit");
    let answer = json(&folder, "audit --runs 5000");
    assert_eq!(
        (
            answer["runs"].as_u64(),
            answer["rounds"].as_u64(),
            answer["passed"].as_bool()
        ),
        (Some(5000), Some(40), Some(true))
    );
    assert!(answer["confidence"].as_f64().unwrap() > 0.999_99);
    assert_eq!(answer["smallest_defect_seen"], "noise 40 % low");
    let lines = answer["lines"].as_array().unwrap();
    let rejected = |value: bool| {
        lines
            .iter()
            .filter(|line| line["rejected"] == value)
            .count()
    };
    // Six shipped paths, each on seeded and on secret noise; fourteen controls that so few runs can
    // see; the finer ones are not run and say so.
    assert_eq!((rejected(false), rejected(true), lines.len()), (12, 14, 40));
    assert!(
        lines
            .iter()
            .all(|line| line["runs"].is_u64() || line["needs_runs"].as_u64() > Some(5000))
    );
    assert!(
        lines
            .iter()
            .all(|line| line["runs"].is_u64() == line["rejected"].is_boolean())
    );
    let on = |noise: &str| {
        lines
            .iter()
            .filter(|line| line["noise"] == noise && line["rejected"] == false)
            .count()
    };
    assert_eq!((on("seeded"), on("secret")), (6, 6));
    assert!(refused(&folder, "audit --runs 10").contains("--runs"));
}

/// ε between two contributions and the best guess, wherever ε is shown; `tests/vectors/replace.csv`
/// has both numbers.
#[test]
fn epsilon_between_two_contributions_and_the_best_guess_are_shown() {
    let folder = scratch("privacy-between");
    let answer = json(&folder, &format!("privacy epsilon {PAPER} --delta {DELTA}"));
    let between = answer["epsilon_between_contributions"].as_f64().unwrap();
    let guess = answer["best_guess"].as_f64().unwrap();
    assert!(
        (between - 12.1818).abs() < 2e-3 && (guess - 0.80051).abs() < 2e-4,
        "{answer}"
    );
    let said = done(&folder, &format!("privacy epsilon {PAPER} --delta {DELTA}"));
    assert!(
        said.contains("between any two things that an agent may have sent: ε = 12.18"),
        "{said}"
    );
    assert!(
        said.contains("is right at most 80.1 % of the time"),
        "{said}"
    );

    let explained = done(&folder, "privacy explain default");
    for needed in [
        "ε = 12.19 at δ",
        "ε = 18.7",
        "at most 80.1 % of the time",
        "at most 84.6 % of the time",
        "not the probability",
    ] {
        assert!(explained.contains(needed), "{needed}\n{explained}");
    }
    // The caution that `run` says is said here, too; not where δ is small.
    let small = done(&folder, "privacy explain default --set privacy.delta=1e-5");
    let said = "picked at random, would be within it";
    assert!(
        explained.contains(said) && !small.contains("picked at random"),
        "{small}"
    );
}
