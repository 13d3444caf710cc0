//! `sordino report --figure` and `--table`: what a folder has, at which width, and what is refused.

use crate::util::{SMALL, done, json, refused, said, scratch, text};

const METHODS: &str = "federation.methods=[\"ts\", \"dp-fts-de\", \"dp-prior\"]";

#[test]
fn a_figure_has_the_width_and_the_methods_that_were_asked_for() {
    let folder = scratch("figures");
    done(
        &folder,
        &[
            "run",
            SMALL,
            "--out",
            "a",
            "--set",
            METHODS,
            "--set",
            "prior.epsilon=8",
        ],
    );
    done(
        &folder,
        &[
            "run",
            SMALL,
            "--out",
            "six",
            "--runs",
            "6",
            "--set",
            "federation.methods=[\"ts\", \"fts\"]",
        ],
    );
    let figure = |more: &[&str]| {
        let output = done(
            &folder,
            &[
                &["report", "a", "--figure", "regret", "--out", "a.svg"][..],
                more,
            ]
            .concat(),
        );
        assert!(
            said(&output).contains("warning: 2 runs, fewer than 5"),
            "{}",
            said(&output)
        );
        std::fs::read_to_string(folder.join("a.svg")).unwrap()
    };
    let whole = figure(&[]);
    let two = figure(&["--methods", "ts,dp-prior", "--no-title", "--width", "6cm"]);
    assert!(
        whole.contains("width=\"84mm\"")
            && whole.contains(">small: regret<")
            && whole.contains(">dp-fts-de<")
    );
    assert!(
        two.contains("width=\"60mm\"")
            && !two.contains(">small: regret<")
            && !two.contains(">dp-fts-de<")
    );
    assert!(!whole.contains("@media"), "a paper is white");
    // Two methods with an ε each stand at their places, what pays nothing as a line; without any ε
    // they stand side by side.
    let utility = |folder: &std::path::Path, of: &str| {
        done(
            folder,
            &[
                "report", of, "--figure", "utility", "--width", "174mm", "--out", "u.svg",
            ],
        );
        std::fs::read_to_string(folder.join("u.svg")).unwrap()
    };
    let priced = utility(&folder, "a");
    let free = utility(&folder, "six");
    assert!(
        priced.contains("ε, logarithmic") && priced.matches("ε = ").count() == 2,
        "{priced}"
    );
    assert_eq!(
        priced.matches("<circle").count(),
        4,
        "a dot for each ε, two for the line"
    );
    assert!(
        free.contains("methods, the best first") && free.matches("<circle").count() == 2,
        "{free}"
    );
    assert!(!free.contains("ε = "), "{free}");
    for (arguments, expected) in [
        (
            &["--figure", "regrets", "--out", "x.svg"][..],
            "--figure regrets: is not there; a has regret, utility, epsilon, privacy-loss",
        ),
        (
            &["--figure", "regrets", "--out", "x.svg"],
            "did you mean `regret`?",
        ),
        (
            &["--figure", "regret", "--methods", "fts", "--out", "x.svg"],
            "--methods fts: is not in the figure regret, which has ts",
        ),
        (
            &["--figure", "regret", "--width", "30mm", "--out", "x.svg"],
            "admissible: 40 to 1000 mm",
        ),
        (
            &["--figure", "regret", "--out", "x.eps"],
            "x.eps: a figure is svg, pdf or png",
        ),
        (&["--figure", "regret"], "--out"),
        (&["--no-title"], "--no-title is for --figure"),
        (
            &["--table", "summary", "--width", "50mm"],
            "--width is for --figure; it changes no table",
        ),
        (
            &["--table", "paired", "--methods", "fts"],
            "--methods fts: is not in a, which has ts, dp-fts-de, dp-prior",
        ),
    ] {
        let message = refused(&folder, 2, &[&["report", "a"], arguments].concat());
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    let message = refused(&folder, 2, &["report", SMALL]);
    assert!(message.contains("a file; the folder of a run"), "{message}");
    let message = refused(
        &folder,
        2,
        &["report", "six", "--table", "summary", "--format", "pdf"],
    );
    assert!(
        message.contains("a table is text, markdown, latex, csv or json"),
        "{message}"
    );
    // Only the SVG needs no other program.
    let alone = folder.join("alone");
    std::fs::create_dir(&alone).unwrap();
    // A copy that a child of another test inherits while it is written cannot be executed.
    std::fs::hard_link(env!("CARGO_BIN_EXE_sordino"), alone.join("sordino")).unwrap();
    let mut command = std::process::Command::new(alone.join("sordino"));
    command
        .args(["report", "a", "--figure", "regret", "--out", "x.pdf"])
        .current_dir(&folder)
        .env("PATH", "");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("cargo build --release -p sordino-figures"),
        "{}",
        said(&output)
    );
}

/// The tables say what `rounds.csv` says, and all pairs of methods are there.
#[test]
fn tables_are_those_of_the_numbers() {
    let folder = scratch("tables");
    done(
        &folder,
        &[
            "run",
            SMALL,
            "--out",
            "a",
            "--set",
            METHODS,
            "--set",
            "prior.epsilon=8",
            "--set",
            "runs=6",
        ],
    );
    let table =
        |arguments: &[&str]| done(&folder, &[&["report", "a", "--table"], arguments].concat());
    let found = json(&table(&["paired", "--format", "json"]));
    let names: Vec<String> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            format!(
                "{} {}",
                pair["first"].as_str().unwrap(),
                pair["second"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(names, ["ts dp-fts-de", "ts dp-prior", "dp-fts-de dp-prior"]);
    let rounds = std::fs::read_to_string(folder.join("a/rounds.csv")).unwrap();
    let sum = |run: u32, method: &str| -> f64 {
        let rows = rounds
            .lines()
            .filter(|row| row.starts_with(&format!("{run},{method},")));
        rows.map(|row| row.split(',').nth(3).unwrap().parse::<f64>().unwrap())
            .sum()
    };
    let mean = (0..6)
        .map(|run| sum(run, "ts") - sum(run, "dp-prior"))
        .sum::<f64>()
        / 6.0;
    assert!(
        (found[1]["mean"].as_f64().unwrap() - mean).abs() < 1e-9,
        "{found}"
    );
    assert!(said(&table(&["paired"])).is_empty(), "six runs are not few");
    let latex = table(&["summary", "--format", "latex"]);
    assert!(
        text(&latex.stdout)
            .contains("\\begin{tabular}{llrrrrr}\n\\toprule\nmethod & protection & final regret")
    );
    let csv = table(&["summary", "--format", "csv", "--methods", "dp-prior"]);
    let begins = "method,guarantee,final_regret,final_regret_standard_error,summed_regret,summed_regret_standard_error,";
    assert!(
        text(&csv.stdout).starts_with(begins) && text(&csv.stdout).lines().count() == 2,
        "{}",
        text(&csv.stdout)
    );
    table(&["paired", "--format", "markdown", "--out", "paired.md"]);
    assert!(
        std::fs::read_to_string(folder.join("paired.md"))
            .unwrap()
            .contains("| ts − dp-prior |")
    );
}

/// A sweep in which ε changes has regret against ε; one in which it does not, has not.
#[test]
fn a_sweep_has_regret_against_epsilon_where_epsilon_changes() {
    let folder = scratch("figures-sweep");
    let sweep = |out: &str, axis: &str| {
        done(
            &folder,
            &[
                "sweep",
                SMALL,
                "--set",
                METHODS,
                "--set",
                "prior.epsilon=8",
                "--set",
                axis,
                "--runs",
                "1",
                "--out",
                out,
            ],
        );
        refused(
            &folder,
            2,
            &["report", out, "--figure", "?", "--out", "x.svg"],
        )
    };
    assert!(
        sweep("z", "privacy.noise_multiplier=0.5,1,2")
            .contains("z has final-regret, summed-regret, regret-epsilon, epsilon, rounds; utility is regret-epsilon")
    );
    assert!(!sweep("s", "privacy.clipping_norm=1,2").contains("epsilon"));
    let message = refused(
        &folder,
        2,
        &["report", "s", "--figure", "utility", "--out", "x.svg"],
    );
    assert!(
        message.contains("because no key of this sweep changes the ε of a method"),
        "{message}"
    );
    let foreign = &[
        "report",
        "z",
        "--figure",
        "utility",
        "--out",
        "x.svg",
        "--methods",
        "ts,foo",
    ];
    let message = refused(&folder, 2, foreign);
    assert!(
        message.contains("--methods foo") && !message.contains("All methods"),
        "{message}"
    );
    done(
        &folder,
        &[
            "report",
            "z",
            "--figure",
            "regret-epsilon",
            "--out",
            "z.svg",
        ],
    );
    done(
        &folder,
        &["report", "z", "--figure", "utility", "--out", "u.svg"],
    );
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(
        read("u.svg"),
        read("z.svg"),
        "a sweep's utility against privacy is its regret over ε"
    );
    let picture = std::fs::read_to_string(folder.join("z.svg")).unwrap();
    // Three methods at three values of ε.
    assert!(picture.matches("<circle").count() >= 9, "{picture}");
    let page = std::fs::read_to_string(folder.join("z/report.html")).unwrap();
    assert!(page.contains("Summed regret against ε"));
}

/// Where one private method's ε is fixed and another's changes, every point lies within the
/// picture.
#[test]
fn regret_against_epsilon_holds_every_point_where_one_method_keeps_its_epsilon() {
    let folder = scratch("figures-fixed");
    // The dearest never changes: only ε of the other method does.
    let fixed = ["--set", METHODS, "--set", "prior.epsilon=100"];
    let swept = [
        "--set",
        "privacy.noise_multiplier=1,2,4",
        "--set",
        "runs=1",
        "--out",
        "z",
    ];
    done(&folder, &[&["sweep", SMALL][..], &fixed, &swept].concat());
    done(
        &folder,
        &[
            "report",
            "z",
            "--figure",
            "regret-epsilon",
            "--out",
            "z.svg",
            "--width",
            "174mm",
        ],
    );
    let picture = std::fs::read_to_string(folder.join("z.svg")).unwrap();
    let number = |text: &str, name: &str| -> f64 {
        text.split(&format!("{name}=\""))
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let width = picture
        .split("viewBox=\"0 0 ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap();
    let places: Vec<f64> = picture
        .split("<circle")
        .skip(1)
        .map(|circle| number(circle, "cx"))
        .collect();
    assert!(
        places.len() >= 9 && places.iter().all(|x| (0.0..=width).contains(x)),
        "{width}: {places:?}"
    );
    let mut distinct: Vec<String> = places.iter().map(|x| format!("{x:.1}")).collect();
    distinct.sort();
    distinct.dedup();
    assert!(
        distinct.len() >= 4,
        "three ε that change and the one that does not: {distinct:?}"
    );
}

#[test]
fn few_runs_are_warned_of_once() {
    let folder = scratch("figures-few");
    let run = |out: &str, set: &str| {
        done(
            &folder,
            &[
                "run",
                SMALL,
                "--set",
                METHODS,
                "--set",
                "prior.epsilon=8",
                "--set",
                set,
                "--out",
                out,
            ],
        )
    };
    let first = run("a", "privacy.noise_multiplier=1");
    run("b", "privacy.noise_multiplier=2");
    // How often it stands on standard output and on standard error.
    let warned = |output: &std::process::Output| {
        [text(&output.stdout), said(output)]
            .map(|text| text.matches("2 runs, fewer than 5").count())
    };
    assert_eq!(warned(&first), [1, 0], "the table of a run says so");
    for (arguments, expected) in [
        (&["compare", "a", "b"][..], [1, 0]),
        (&["compare", "a", "b", "--format", "markdown"], [1, 0]),
        (&["compare", "a", "b", "--format", "json"], [0, 1]),
        (&["report", "a", "--table", "summary"], [1, 0]),
        (
            &["report", "a", "--table", "paired", "--format", "latex"],
            [1, 0],
        ),
        (
            &["report", "a", "--table", "summary", "--format", "csv"],
            [0, 1],
        ),
        (
            &["report", "a", "--table", "summary", "--out", "a.txt"],
            [0, 1],
        ),
        (
            &["report", "a", "--figure", "regret", "--out", "a.svg"],
            [0, 1],
        ),
    ] {
        assert_eq!(warned(&done(&folder, arguments)), expected, "{arguments:?}");
    }
}
