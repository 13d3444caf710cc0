//! `sordino compare`: folders over the same functions beside each other, and what is refused.

use crate::util::{SMALL, done, json, printed, refused, scratch, text, with};

const METHODS: &str = "federation.methods=[\"ts\", \"dp-fts-de\"]";

#[test]
fn folders_over_the_same_functions_are_paired_run_by_run() {
    let folder = scratch("compare");
    let run = |out: &str, settings: &[&str]| {
        let arguments = [
            "run", SMALL, "--format", "json", "--out", out, "--set", METHODS,
        ];
        json(&done(&folder, &with(&arguments, settings)))
    };
    let a = run("a", &["runs=6"]);
    run("b", &["runs=8", "privacy.noise_multiplier=4"]);
    let found = json(&done(
        &folder,
        &["compare", "a", "b", "--format", "json", "--svg", "ab.svg"],
    ));
    assert_eq!(
        (&found["runs"], &found["folders"][1][0]),
        (&6.into(), &"B".into()),
        "ten runs are a prefix of thirty"
    );
    // What differs is what was set.
    let keys: Vec<&str> = found["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d[0].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["privacy.noise_multiplier", "runs"]);
    // `ts` shares nothing: the same bits in both. The other differs by what rounds.csv of both
    // says.
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(
        (pairs.len(), &pairs[0]["same"], &pairs[1]["same"]),
        (2, &true.into(), &false.into())
    );
    assert_eq!(
        (pairs[0]["mean"].as_f64(), pairs[0]["t_test"].as_f64()),
        (Some(0.0), None)
    );
    // Corrected for what was tested, and "the same" is no loss.
    let told = printed(&folder, &["compare", "a", "b"]);
    assert!(
        told.contains("corrected for 1 differences.")
            && told.contains("0 of 6") == (pairs[1]["smaller"] == 0),
        "{told}"
    );
    let sums = |out: &str| -> Vec<f64> {
        let rows = std::fs::read_to_string(folder.join(out).join("rounds.csv")).unwrap();
        let of = |run: u32| -> f64 {
            let begins = format!("{run},dp-fts-de,");
            let rows = rows.lines().filter(|row| row.starts_with(&begins));
            rows.map(|row| row.split(',').nth(3).unwrap().parse::<f64>().unwrap())
                .sum()
        };
        (0..6).map(of).collect()
    };
    let first = sums("a");
    let second = sums("b");
    let mean = first.iter().zip(&second).map(|(a, b)| a - b).sum::<f64>() / 6.0;
    assert!((pairs[1]["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    let smaller = first.iter().zip(&second).filter(|(a, b)| a < b).count();
    assert_eq!(pairs[1]["smaller"], smaller);
    assert_eq!(
        pairs[1]["t_test"], pairs[1]["holm"],
        "one p value needs no correction"
    );
    let regret = a["methods"][1]["measures"][1]["mean"].as_f64().unwrap();
    let entry = &found["entries"][2];
    assert_eq!(
        (&entry["method"], &entry["folder"]),
        (&"dp-fts-de".into(), &"A".into())
    );
    assert!(
        (entry["summed_regret"][0].as_f64().unwrap() - regret).abs() < 1e-9,
        "{entry}"
    );
    let picture = std::fs::read_to_string(folder.join("ab.svg")).unwrap();
    assert!(
        picture.starts_with("<svg") && picture.matches("class=\"line").count() >= 4,
        "{picture}"
    );
    // Tables for people and papers; three folders make three pairs.
    done(
        &folder,
        &[
            "run",
            SMALL,
            "--out",
            "c",
            "--set",
            METHODS,
            "--set",
            "runs=3",
            "--set",
            "federation.mixing=inverse",
        ],
    );
    let output = done(
        &folder,
        &[
            "compare",
            "a",
            "b",
            "c",
            "--methods",
            "dp-fts-de",
            "--format",
            "markdown",
        ],
    );
    let markdown = text(&output.stdout);
    for part in [
        "| dp-fts-de | B − C |",
        "| federation.mixing | \"inverse-sqrt\" | \"inverse-sqrt\" | \"inverse\" |",
        "3 runs, fewer than 5: no standard error, p value",
        "|---|---|---|---|---|---|---|",
    ] {
        assert!(markdown.contains(part), "{markdown}\nexpected {part}");
    }
    let output = done(&folder, &["compare", "a", "b", "--format", "latex"]);
    let latex = text(&output.stdout);
    assert!(
        latex.contains("\\begin{tabular}{lllrrrr}") && latex.contains("privacy.noise\\_multiplier"),
        "{latex}"
    );
    assert!(printed(&folder, &["compare", "a", "b"]).contains("the same bits"));
}

#[test]
fn folders_that_are_not_comparable_are_refused_with_the_reason() {
    let folder = scratch("compare-refused");
    let run = |out: &str, scenario: &str, settings: &[&str]| {
        done(&folder, &with(&["run", scenario, "--out", out], settings));
    };
    run("a", SMALL, &["runs=1", METHODS]);
    run("seed", SMALL, &["runs=1", METHODS, "seed=7"]);
    run(
        "noisy",
        SMALL,
        &["runs=1", METHODS, "objective.noise_variance=0.5"],
    );
    run("long", SMALL, &["runs=1", METHODS, "federation.rounds=15"]);
    run("fts", SMALL, &["runs=1", "federation.methods=[\"fts\"]"]);
    run(
        "local",
        "ldp-se",
        &["runs=1", "learning.rounds=1000", "learning.epoch_len=12"],
    );
    for (arguments, expected) in [
        (
            &["a", "seed"][..],
            "a and seed cannot be compared: seed is 5 in a and 7 in seed",
        ),
        (
            &["a", "noisy"],
            "objective.noise_variance is 0.01 in a and 0.5 in noisy",
        ),
        (
            &["a", "long"],
            "federation.rounds is 14 in a and 15 in long",
        ),
        (
            &["a", "fts"],
            "no method is in more than one of the folders; they have ts, dp-fts-de, fts",
        ),
        (
            &["a", "fts", "--methods", "fts"],
            "no method is in more than one of the folders; they have ts, dp-fts-de, fts",
        ),
        (
            &["a", "a", "--methods", "dp-fst"],
            "--methods dp-fst: is in no folder; there are ts, dp-fts-de",
        ),
        (&["a", "nothing"], "nothing/scenario.toml: cannot be read"),
        (
            &["a", "local"],
            "a is of the trust model `federated` and local of `local`: what they measure cannot be subtracted",
        ),
        (&["a"], "2 values required"),
    ] {
        let message = refused(&folder, 2, &[&["compare"], arguments].concat());
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    // A folder that was changed is no folder.
    let rounds = std::fs::read_to_string(folder.join("a/rounds.csv")).unwrap();
    std::fs::write(
        folder.join("a/rounds.csv"),
        rounds.replacen("0,ts,1,", "0,ts,2,", 1),
    )
    .unwrap();
    assert!(refused(&folder, 2, &["compare", "a", "a"]).contains("out of order"));
}

/// Every trust model is compared with its like: what was changed stands in the tables, and equal
/// settings are the same bits.
#[test]
fn folders_of_every_trust_model_are_compared() {
    let folder = scratch("compare-trust");
    for (scenario, small, changed, key) in [
        (
            "ldp-se",
            &["learning.rounds=1000", "learning.width_factor=0.05"][..],
            "users.epsilon=4",
            "users.epsilon",
        ),
        (
            "outsourced-grid",
            &["objective.points_per_axis=12", "modeler.rounds=12"],
            "curator.epsilon=9",
            "curator.epsilon",
        ),
        (
            "output-gp",
            &["objective.points=40", "prior.rounds=10", "release.draws=20"],
            "release.value_share=0.25",
            "release.value_share",
        ),
    ] {
        let run = |out: &str, more: &[&str]| {
            done(
                &folder,
                &with(
                    &["run", scenario, "--runs", "5", "--out", out],
                    &[small, more].concat(),
                ),
            );
        };
        let [a, b] = ["a", "b"].map(|letter| format!("{scenario}-{letter}"));
        run(&a, &[]);
        run(&b, &[changed]);
        let found = json(&done(
            &folder,
            &["compare", &a, &b, "--format", "json", "--figure", "ab.svg"],
        ));
        assert_eq!(found["differences"][0][0], key, "{scenario}");
        let pairs = found["pairs"].as_array().unwrap();
        assert!(
            pairs.iter().any(|pair| pair["mean"] != 0.0),
            "{scenario}: {pairs:?}"
        );
        assert!(
            std::fs::read_to_string(folder.join("ab.svg"))
                .unwrap()
                .contains("width=\"84mm\"")
        );
        let same = json(&done(&folder, &["compare", &a, &a, "--format", "json"]));
        assert!(
            same["pairs"]
                .as_array()
                .unwrap()
                .iter()
                .all(|pair| pair["mean"] == 0.0),
            "{scenario}"
        );
        let _ = std::fs::remove_dir_all(folder.join("other"));
        done(
            &folder,
            &with(
                &[
                    "run", scenario, "--runs", "5", "--seed", "9", "--out", "other",
                ],
                small,
            ),
        );
        assert!(
            refused(&folder, 2, &["compare", &a, "other"])
                .contains(&format!("seed is 0 in {a} and 9 in other")),
            "{scenario}"
        );
    }
}
