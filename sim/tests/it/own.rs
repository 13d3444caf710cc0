//! Objectives of a user's own in `federated`: test functions, tables, functions of another program.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use sordino_core::random::RunSeed;
use sordino_engine::federated::{self, Own};
use sordino_engine::{DriverKind, Model, Options};
use sordino_experiment::benchmark::{Design, design};
use sordino_experiment::scenario::{ObjectiveConfig, Scenario};
use sordino_experiment::world::function::Functions;
use sordino_experiment::world::{Family, Objective};
use sordino_lab::execute::{self, Place};

use crate::util::{done, files, json, refused, scratch, text, with};

/// From the command line, by both drivers: one digest, one folder; the page is made again from the
/// folder.
#[test]
fn hartmann_in_six_dimensions_has_one_digest() {
    let folder = scratch("own-hartmann");
    let small = [
        "--runs",
        "2",
        "--set",
        "federation.rounds=4",
        "--format",
        "json",
    ];
    let run = |driver, out, threads| {
        let arguments = [
            &[
                "run",
                "hartmann6",
                "--driver",
                driver,
                "--threads",
                threads,
                "--out",
                out,
            ],
            &small[..],
        ];
        json(&done(&folder, &arguments.concat()))
    };
    let lockstep = run("lockstep", "a", "1");
    let tokio = run("tokio", "b", "2");
    assert_eq!(lockstep["digest"], tokio["digest"]);
    assert_eq!(files(&folder.join("a")), files(&folder.join("b")));
    let page = std::fs::read(folder.join("a/report.html")).unwrap();
    done(&folder, &["report", "a"]);
    assert_eq!(page, std::fs::read(folder.join("a/report.html")).unwrap());
    let scenario = std::fs::read_to_string(folder.join("a/scenario.toml")).unwrap();
    // Beyond two dimensions own draws go by features; constants are the formula's.
    for line in [
        "own_draw = \"features\"",
        "signal_variance = 0.1",
        "constant = 0.2",
        "design = \"sobol\"",
    ] {
        assert!(scenario.contains(line), "{line}\n{scenario}");
    }
}

#[test]
fn every_function_and_every_design_runs_and_misfits_are_refused_by_name() {
    let folder = scratch("own-functions");
    let mut list = "x2,x1\n".to_owned();
    (0..50).for_each(|i| {
        writeln!(
            list,
            "{},{}",
            f64::from(i) / 49.0,
            f64::from(i * 7 % 50) / 50.0
        )
        .unwrap()
    });
    std::fs::write(folder.join("points.csv"), list).unwrap();
    let base = "name = \"f\"\ndescription = \"d\"\nruns = 1\n[objective]\nkind = \"function\"\n";
    let rest = "[federation]\nagents = 6\nrounds = 2\ninitial_points = 2\nmethods = [\"ts\", \"dp-fts-de\"]\n[surrogate]\n\
                lengthscale = 0.3\nfeatures = 8\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n";
    let write = |keys: &str| {
        // A list has its own length.
        let count = if keys.contains("list") {
            ""
        } else {
            "candidates = 64\n"
        };
        let text = format!("{base}{count}{keys}\n{rest}");
        std::fs::write(folder.join("f.toml"), text).unwrap()
    };
    for (keys, dim) in [
        ("function = \"branin\"\ndesign = \"grid\"\nscale = 0.2", 2),
        (
            "function = \"hartmann3\"\ndesign = \"latin-hypercube\"\nshift = 0.1",
            3,
        ),
        ("function = \"ackley\"\ndim = 16", 16),
        ("function = \"levy\"\ndim = 1", 1),
        ("function = \"rosenbrock\"\ndim = 5", 5),
    ] {
        write(keys);
        let out = format!("out-{dim}");
        done(&folder, &["run", "f.toml", "--out", &out]);
        let resolved = std::fs::read_to_string(folder.join(out).join("scenario.toml")).unwrap();
        assert!(resolved.contains(&format!("dim = {dim}\n")), "{resolved}");
    }
    write("function = \"branin\"\ndesign = \"list\"");
    done(
        &folder,
        &["run", "f.toml", "--data", "points.csv", "--out", "listed"],
    );
    for (keys, arguments, expected) in [
        (
            "function = \"hartman6\"",
            &[][..],
            "`objective.function = \"hartman6\"` is not admissible",
        ),
        (
            "function = \"branin\"\ndim = 3",
            &[],
            "`objective.dim = 3` is not admissible; admissible: 2",
        ),
        (
            "function = \"rosenbrock\"\ndim = 1",
            &[],
            "a whole number from 2 to 16",
        ),
        (
            "function = \"ackley\"\ndim = 10\ndesign = \"grid\"",
            &[],
            "`objective.candidates = 64`",
        ),
        (
            "function = \"ackley\"\ndim = 15\ndesign = \"grid\"",
            &[],
            "\"sobol\", \"latin-hypercube\", \"list\"",
        ),
        ("function = \"branin\"\ndesign = \"list\"", &[], "--data"),
        (
            "function = \"branin\"\ndesign = \"list\"",
            &["--data", "f.toml"],
            "f.toml",
        ),
        (
            "function = \"branin\"\n",
            &["--data", "points.csv"],
            "reads no data",
        ),
    ] {
        write(keys);
        let message = refused(
            &folder,
            2,
            &[&["run", "f.toml", "--out", "no"], arguments].concat(),
        );
        assert!(message.contains(expected), "{message}\nexpected {expected}");
        assert!(!folder.join("no").exists());
    }
    // A part of the domain in which no candidate lies.
    write("function = \"branin\"\ndesign = \"list\"");
    std::fs::write(folder.join("points.csv"), "x1,x2\n0.1,0.1\n0.2,0.4\n").unwrap();
    let arguments = [
        "run",
        "f.toml",
        "--data",
        "points.csv",
        "--set",
        "federation.splits=[2,1]",
        "--out",
        "no",
    ];
    let output = crate::util::sordino(&folder, &arguments);
    assert!(
        text(&output.stderr).contains("region 1 of 2 has no candidate"),
        "{}",
        text(&output.stderr)
    );
}

/// Three agents, 3 · 2 · 2 settings of a rate, a whole number and a name.
fn table(value: impl Fn(usize, f64, u32, &str) -> f64) -> String {
    let mut text = "agent,optimizer,rate,depth,value\n".to_owned();
    for (n, agent) in ["ward b", "ward a", "ward c"].iter().enumerate() {
        for rate in [1e-4, 1e-2, 1.0] {
            for depth in [2, 5] {
                for optimizer in ["adam", "sgd"] {
                    writeln!(
                        text,
                        "{agent},{optimizer},{rate},{depth},{}",
                        value(n, rate, depth, optimizer)
                    )
                    .unwrap();
                }
            }
        }
    }
    text
}

fn loss(n: usize, rate: f64, depth: u32, optimizer: &str) -> f64 {
    let good = (rate.log10() + 2.0).abs()
        + f64::from(depth) / 10.0
        + if optimizer == "sgd" { 0.3 } else { 0.0 };
    good + n as f64
}

const TABLE: &str = "name = \"t\"\ndescription = \"losses of three wards\"\nruns = 2\n[objective]\nkind = \"table\"\n\
    inputs = [\"rate\", \"depth\", \"optimizer\"]\ncategorical_inputs = [\"optimizer\"]\n\
    categories = [[\"adam\", \"sgd\"]]\ninput_ranges = [[1e-4, 1], [1, 5]]\nlog_inputs = [\"rate\"]\n\
    integer_inputs = [\"depth\"]\nnoise_variance = 0.01\ngoal = \"minimize\"\n[federation]\nrounds = 8\n\
    initial_points = 2\nmethods = [\"ts\", \"fts\", \"dp-fts\"]\n[surrogate]\nlengthscale = 0.5\nnoise_variance = 0.01\n\
    features = 12\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n";

fn scenario_beside(folder: &Path, table: &str) {
    std::fs::write(folder.join("t.toml"), TABLE).unwrap();
    std::fs::write(folder.join("t.csv"), table).unwrap();
}

#[test]
fn a_table_of_ones_own_is_run_told_and_resumed() {
    let folder = scratch("own-table");
    scenario_beside(&folder, &table(loss));
    let arguments = [
        "run", "t.toml", "--data", "t.csv", "--format", "json", "--out",
    ];
    let summary = json(&done(&folder, &[&arguments[..], &["a"]].concat()));
    // The mean of a table is 1.5 above its best; sharing finds more of that than not sharing.
    let regret = |method: usize| {
        summary["methods"][method]["measures"][0]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(regret(1) < regret(0) && regret(0) < 0.6, "{summary}");
    let resolved = std::fs::read_to_string(folder.join("a/scenario.toml")).unwrap();
    assert!(
        resolved.contains("agents = 3\n") && resolved.contains("own_draw = \"features\""),
        "{resolved}"
    );
    let digest = resolved
        .lines()
        .find_map(|line| line.strip_prefix("digest = "))
        .unwrap();
    let bytes = std::fs::read(folder.join("t.csv")).unwrap();
    let mut frame = sordino_core::digest::Frame::leaf();
    frame.bytes(&bytes);
    assert_eq!(
        digest.trim_matches('"'),
        frame.end().to_string(),
        "what sha256sum says"
    );
    // The folder's scenario repeats the run; another table under it is refused.
    done(&folder, &["report", "a"]);
    let again = json(&done(
        &folder,
        &[
            "run",
            "a/scenario.toml",
            "--data",
            "t.csv",
            "--format",
            "json",
            "--out",
            "b",
        ],
    ));
    assert_eq!(again["digest"], summary["digest"]);
    std::fs::write(
        folder.join("t2.csv"),
        table(|n, r, d, o| loss(n, r, d, o) + 0.1),
    )
    .unwrap();
    let message = refused(
        &folder,
        2,
        &["run", "a/scenario.toml", "--data", "t2.csv", "--out", "no"],
    );
    assert!(
        message.contains("the scenario was made for a file of digest"),
        "{message}"
    );
    // A sweep reads the table for every run.
    let sweep = [
        "sweep",
        "t.toml",
        "--data",
        "t.csv",
        "--set",
        "privacy.noise_multiplier=1,2",
        "--out",
        "s",
    ];
    done(&folder, &sweep);
    assert!(folder.join("s/index.csv").exists());
}

#[test]
fn tables_that_do_not_fit_are_refused_by_line_column_and_reason() {
    let folder = scratch("own-table-refused");
    let good = table(loss);
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    for (what, text, expected) in [
        (
            "a missing column",
            good.replacen("depth", "Depth", 1),
            "t.csv:1: there is no column `depth`; there are agent, optimizer, rate, Depth, value",
        ),
        (
            "a range",
            good.replacen("0.0001,2,", "7,2,", 1),
            "t.csv:2: `rate` is `7`; admissible: a number from 0.0001 to 1",
        ),
        (
            "no whole number",
            good.replacen(",2,", ",2.5,", 1),
            "`depth` is `2.5`; admissible: a whole number from 1 to 5",
        ),
        (
            "a name",
            good.replacen("sgd", "Sgd", 1),
            "t.csv:3: `optimizer` is `Sgd`; admissible: one of adam, sgd",
        ),
        (
            "no number",
            joined(&[&lines[..1], &["a,sgd,1,2,many"], &lines[1..]].concat()),
            "`value` is `many`",
        ),
        (
            "a hole",
            joined(&lines[..36]),
            "agent `ward c` has no value at the inputs of line 13",
        ),
        (
            "twice",
            joined(&[&lines[..], &lines[3..4]].concat()),
            "lines 4 and 38 are one agent at the same inputs",
        ),
        ("a short row", good.clone() + "x,sgd\n", "t.csv:38"),
        // Of two agents: a private method of one is refused before.
        (
            "one candidate",
            joined(&[&lines[..2], &[format!("x{}", lines[1]).as_str()]].concat()),
            "1; admissible: 2 to 20000 different settings",
        ),
    ] {
        scenario_beside(&folder, &text);
        let message = refused(
            &folder,
            2,
            &["run", "t.toml", "--data", "t.csv", "--out", "no"],
        );
        assert!(
            message.contains(expected),
            "{what}: {message}\nexpected {expected}"
        );
        assert!(!folder.join("no").exists(), "{what}");
    }
    scenario_beside(&folder, &good);
    for (settings, expected) in [
        (
            &["objective.log_inputs=[\"optimizer\"]"][..],
            "names of `inputs` that are no categories",
        ),
        (
            &["objective.categories=[[\"adam\"]]"],
            "lists of at least two different names",
        ),
        (
            &["objective.input_ranges=[[0, 1], [1, 5]]"],
            "positive where the logarithm is taken",
        ),
        (
            &["objective.input_ranges=[[1e-4, 1], [1.5, 5]]"],
            "whole numbers where the input is whole",
        ),
        (
            &["objective.input_ranges=[[1e-4, 1]]"],
            "one for each input that is no category",
        ),
        (
            &[
                "objective.inputs=[\"value\", \"depth\", \"optimizer\"]",
                "objective.log_inputs=[]",
            ],
            "other than agent, value",
        ),
        (&["federation.agents=5"], "3 agents; federation.agents = 5"),
        (&["objective.digest=\"12\""], "64 hexadecimal digits"),
    ] {
        let message = refused(
            &folder,
            2,
            &with(
                &["run", "t.toml", "--data", "t.csv", "--out", "no"],
                settings,
            ),
        );
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    let message = refused(&folder, 2, &["run", "t.toml", "--out", "no"]);
    assert!(
        message.contains("this scenario reads a CSV table; name it with --data PATH"),
        "{message}"
    );
}

/// Functions handed over by a program: here those of `kind = "function"`, so that digests can be
/// compared.
struct Mine(Functions);

impl Family for Mine {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        self.0.realize(run)
    }
}

fn function_and_custom() -> (Scenario, Scenario, Arc<Mine>) {
    let small = [
        "runs=2",
        "federation.rounds=4",
        "federation.agents=12",
        "objective.candidates=128",
    ]
    .map(String::from);
    let shipped = sordino_experiment::scenario::Shipped::find("hartmann6")
        .unwrap()
        .parse(&small)
        .unwrap();
    let ObjectiveConfig::Function(config) = &shipped.objective else {
        panic!("hartmann6 is a function")
    };
    let points = design::points(Design::Sobol, 128, 6, 0);
    let family = Arc::new(Mine(Functions::new(config, 12, points)));
    let mut toml: toml::Table = shipped.resolved().parse().unwrap();
    let objective: toml::Table = "kind = \"custom\"\nfunction = \"my wells\"\ndim = 6"
        .parse()
        .unwrap();
    toml.insert("objective".into(), toml::Value::Table(objective));
    (
        shipped,
        Scenario::parse("custom", &toml.to_string(), &[]).unwrap(),
        family,
    )
}

#[test]
fn functions_of_another_program_run_by_every_driver_and_their_folder_says_whose_they_are() {
    let folder = scratch("own-custom");
    let (shipped, custom, family) = function_and_custom();
    let options = |driver| Options {
        driver,
        ..Options::default()
    };
    let theirs = federated::run(&shipped, &options(DriverKind::Tokio), &()).unwrap();
    let own = Own::new(custom.clone(), family.clone()).unwrap();
    for driver in [DriverKind::Lockstep, DriverKind::Tokio] {
        assert_eq!(own.results(&options(driver), &()).unwrap(), theirs);
    }
    let path = folder.join("mine");
    let Place::Open(run) = execute::begin_or_resume(&path, &own, None).unwrap() else {
        panic!("new")
    };
    let record = run.execute(&own, &Options::default(), &()).unwrap();
    assert!(matches!(
        execute::begin_or_resume(&path, &own, None).unwrap(),
        Place::Complete
    ));
    let resolved = std::fs::read_to_string(path.join("scenario.toml")).unwrap();
    let digest = format!("digest = \"{}\"", family.digest());
    assert!(
        resolved.contains("kind = \"custom\"\nfunction = \"my wells\"")
            && resolved.contains(&digest),
        "{resolved}"
    );
    // The program reads the folder, and says why it cannot run it.
    done(&folder, &["report", "mine"]);
    assert_eq!(
        record.file("report.html"),
        std::fs::read_to_string(path.join("report.html")).unwrap()
    );
    let message = refused(&folder, 2, &["run", "mine/scenario.toml", "--out", "no"]);
    assert!(
        message.contains("the functions `my wells` are of a program that uses the library"),
        "{message}"
    );
}

#[test]
fn functions_that_are_not_the_scenarios_are_refused() {
    let (shipped, custom, family) = function_and_custom();
    let refused = |scenario: Scenario| {
        Own::new(scenario, family.clone())
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(refused(shipped).contains("kind custom"));
    let mut other = custom.clone();
    other.federation.agents = 13;
    assert!(refused(other).contains("agents 12, the scenario says 13"));
    let mut other = custom.clone();
    if let ObjectiveConfig::Custom(config) = &mut other.objective {
        config.digest = Some("0".repeat(64));
    }
    assert!(refused(other).contains("digest"));
    assert!(Own::new(custom, family.clone()).unwrap().reads().is_none());
}

/// Every observation stands in the folder with its point, and what it adds up to is what
/// `rounds.csv` says.
#[test]
fn observations_are_written_down_and_their_best_is_the_regret() {
    let folder = scratch("own-observations");
    let methods = "federation.methods=[\"ts\", \"dp-fts-de\", \"dp-prior\"]";
    let arguments = [
        "run",
        crate::util::SMALL,
        "--set",
        methods,
        "--set",
        "prior.epsilon=8",
        "--set",
        "faults.dropout=0.2",
    ];
    done(
        &folder,
        &[&arguments[..], &["--driver", "lockstep", "--out", "a"]].concat(),
    );
    done(
        &folder,
        &[&arguments[..], &["--threads", "2", "--out", "b"]].concat(),
    );
    let read =
        |out: &str, file: &str| std::fs::read_to_string(folder.join(out).join(file)).unwrap();
    let text = read("a", "observations.csv");
    assert_eq!(
        (&text, read("a", "agents.csv")),
        (&read("b", "observations.csv"), read("b", "agents.csv"))
    );
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("run,method,agent,round,source,candidate,x1,y,value")
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    // Two runs, three methods, seven agents: three initial points each, then a query in each round
    // that is not missed.
    let initial = rows.iter().filter(|row| row[4] == "initial").count();
    assert_eq!(initial, 2 * 3 * 7 * 3);
    let most = 2 * 3 * 7 * (3 + 14);
    assert!(
        (most * 7 / 10..most * 9 / 10).contains(&rows.len()),
        "{} of {most}",
        rows.len()
    );
    let sources = |method: &str| -> std::collections::BTreeSet<&str> {
        rows.iter()
            .filter(|row| row[1] == method)
            .map(|row| row[4])
            .collect()
    };
    assert_eq!(
        sources("ts").into_iter().collect::<Vec<_>>(),
        ["initial", "own"]
    );
    assert_eq!(
        sources("dp-fts-de").into_iter().collect::<Vec<_>>(),
        ["initial", "own", "server"]
    );
    assert!(sources("dp-prior").contains("prior"));
    for row in &rows {
        let candidate: f64 = row[5].parse().unwrap();
        let x: f64 = row[6].parse().unwrap();
        assert!((x - candidate / 59.0).abs() < 1e-12, "{row:?}");
    }
    // The mean over agents of the best value falls short of the optimum by the regret: the
    // difference of two methods of one run knows no optimum.
    let best = |method: &str| -> f64 {
        let lines = read("a", "agents.csv");
        let own = lines
            .lines()
            .filter(|line| line.starts_with(&format!("0,{method},")));
        own.map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap())
            .sum::<f64>()
            / 7.0
    };
    let regret = |method: &str| -> f64 {
        let lines = read("a", "rounds.csv");
        let last = lines
            .lines()
            .rfind(|line| line.starts_with(&format!("0,{method},14,")))
            .unwrap();
        last.split(',').nth(3).unwrap().parse().unwrap()
    };
    let of_best = best("ts") - best("dp-fts-de");
    let of_regret = regret("dp-fts-de") - regret("ts");
    // `rounds.csv` has five digits.
    assert!(
        (of_best - of_regret).abs() < 1e-4 && of_best.abs() > 1e-3,
        "{of_best} {of_regret}"
    );
    // Not asked for, they are not there, and nothing else changes.
    done(
        &folder,
        &[
            &arguments[..],
            &["--set", "federation.observations=false", "--out", "c"],
        ]
        .concat(),
    );
    assert!(!folder.join("c/observations.csv").exists() && folder.join("c/rounds.csv").exists());
    let digest = |out: &str| {
        serde_json::from_str::<serde_json::Value>(&read(out, "summary.json")).unwrap()["digest"]
            .clone()
    };
    assert_eq!(digest("a"), digest("c"));
}
