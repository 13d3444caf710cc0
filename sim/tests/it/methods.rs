//! Methods of one's own: a base with other keys, random search, pooled data, and those that another
//! program brings.

#[path = "../../examples/own_method.rs"]
mod example;
#[path = "../../examples/own_posterior.rs"]
mod sampler;

use std::num::NonZeroU32;

use sordino_core::random::Stream;
use sordino_engine::federated::custom::{
    Aggregator, Chooser, Custom, CustomError, Ground, Message, Sight,
};
use sordino_engine::federated::{self, Own};
use sordino_engine::{DriverKind, Model, Options};
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{MethodName, Scenario};
use sordino_lab::execute::{self, Place};

use crate::util::{StopAfter, done, files, json, printed, refused, scratch, small};

const SMALL: &str = include_str!("../small.toml");

/// Small, and at its end three methods of its own.
const OWN: &str = r#"
[[method]]
name = "louder"
base = "dp-fts-de"
set = { "privacy.noise_multiplier" = 2, "federation.splits" = [1], "surrogate.features" = 20 }

[[method]]
name = "later"
base = "dp-prior"
set = { prior.releases = [0, 4], "prior.epsilon" = 3, "prior.points_per_axis" = 12 }

[[method]]
name = "inverse"
base = "fts"
set.federation.mixing = "inverse"
"#;
const METHODS: &str = "federation.methods=[\"ts\", \"dp-fts-de\", \"louder\", \"later\", \"inverse\", \"random\", \"pooled\"]";

fn run(scenario: &Scenario) -> Vec<MethodRun> {
    let options = Options {
        driver: DriverKind::Lockstep,
        ..Options::default()
    };
    federated::run(scenario, &options, &()).unwrap_or_else(|error| panic!("{error}"))
}

fn digests(runs: &[MethodRun], name: &str) -> Vec<String> {
    let of = runs.iter().filter(|run| run.method.name() == name);
    of.map(|run| run.digest.to_string()).collect()
}

#[test]
fn a_method_of_ones_own_is_its_base_in_the_scenario_with_its_keys() {
    let whole = small(OWN, &[METHODS]);
    let all = run(&whole);
    for (name, base, settings) in [
        (
            "louder",
            "dp-fts-de",
            &[
                "privacy.noise_multiplier=2",
                "federation.splits=[1]",
                "surrogate.features=20",
            ][..],
        ),
        (
            "later",
            "dp-prior",
            &[
                "prior.releases=[0, 4]",
                "prior.epsilon=3",
                "prior.points_per_axis=12",
            ],
        ),
        ("inverse", "fts", &["federation.mixing=inverse"]),
    ] {
        let only = format!("federation.methods=[\"{base}\"]");
        // Other defaults follow from the keys as they do in a scenario: here the clipping norm is
        // given.
        let alone = run(&small("", &[settings, &[&only]].concat()));
        assert_eq!(digests(&all, name), digests(&alone, base), "{name}");
        assert_eq!(digests(&all, name).len(), 2);
    }
    assert_ne!(
        digests(&all, "louder"),
        digests(&all, "dp-fts-de"),
        "negative control"
    );
    // What is shipped does not notice who stands beside it.
    let shipped = run(&small("", &["federation.methods=[\"ts\", \"dp-fts-de\"]"]));
    for name in ["ts", "dp-fts-de"] {
        assert_eq!(digests(&all, name), digests(&shipped, name));
    }
}

#[test]
fn written_out_it_says_what_differs_and_reads_back_as_itself() {
    let whole = small(OWN, &[METHODS]);
    let text = whole.resolved();
    let again =
        Scenario::parse("again", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.resolved(), text);
    assert_eq!(again, whole);
    let own = |name: &str| {
        again
            .of(again.method(MethodName::new(name)).unwrap())
            .clone()
    };
    assert_eq!(
        (
            own("louder").federation.regions(),
            whole.federation.regions()
        ),
        (1, 3)
    );
    assert_eq!(own("louder").privacy.noise_multiplier.value(), 2.0);
    assert_eq!(own("later").prior.unwrap().plan.releases, [0, 4]);
    // A default that follows from a key that is set follows it, and stays when everything is
    // written out.
    let free = SMALL.replace("clipping_norm = 6.0\n", "");
    let table = "[[method]]\nname = \"wide\"\nbase = \"dp-fts-de\"\nset = { \"surrogate.features\" = 64 }\n";
    let wide = Scenario::parse("wide", &format!("{free}{table}"), &[]).unwrap();
    let again = Scenario::parse("again", &wide.resolved(), &[]).unwrap();
    let norm = |scenario: &Scenario| {
        let view = scenario.of(scenario.method(MethodName::new("wide")).unwrap());
        view.privacy.clipping_norm.value() / scenario.privacy.clipping_norm.value()
    };
    assert_eq!((norm(&wide), norm(&again)), (2.0, 2.0));
    assert!(
        wide.resolved().contains("clipping_norm\" = "),
        "{}",
        wide.resolved()
    );
}

#[test]
fn keys_that_make_the_world_and_tables_that_are_none_are_refused_by_line_and_reason() {
    let first = SMALL.lines().count() + 2;
    let table = |lines: &str| format!("{SMALL}\n[[method]]\n{lines}\n");
    for (lines, line, expected) in [
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"federation.agents\" = 9 }",
            3,
            "`method.a.set.federation.agents = 9` is not \
          admissible; admissible: keys of [surrogate] but `scalar`, of [privacy] but `delta`, of [prior], and federation.splits, \
          federation.mixing, federation.constant; all methods of a run have the same agents",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset.federation.rounds = 9",
            3,
            "regret is compared round by round",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"objective.points_per_axis\" = 9 }",
            3,
            "meet the same functions, candidates",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { runs = 3 }",
            3,
            "all methods of a run are paired",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"federation.initial_points\" = 3 }",
            3,
            "evaluate equally often",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"privacy.delta\" = 0.1 }",
            3,
            "told at one δ",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"surrogate.scalar\" = \"f32\" }",
            3,
            "one format",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"privacy.noise_multiplyer\" = 2 }",
            3,
            "unknown key `method.a.set.privacy.noise_multiplyer`; did you mean `noise_multiplier`?",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"privacy.noise_multiplier\" = -2 }",
            3,
            "`method.a.set.privacy.noise_multiplier = -2` is not admissible; admissible: a number from",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\nset = { \"privacy.sampling_probability\" = 1, \"federation.splits\" = [8] }",
            3,
            "`method.a.set.federation.splits = [8]` is not admissible; admissible: parts whose product",
        ),
        (
            "name = \"a\"\nbase = \"tss\"",
            2,
            "`method.a.base = \"tss\"` is not admissible; admissible: \"ts\", \"fts\",",
        ),
        (
            "name = \"ts\"\nbase = \"fts\"",
            1,
            "a name that no other method has",
        ),
        ("name = \"A b\"\nbase = \"fts\"", 1, "1 to 40 of a to z"),
        (
            "name = \"a\"\nbase = \"ts\"\nsets = 1",
            3,
            "unknown key `method.a.sets`; did you mean `set`?",
        ),
        (
            "name = \"a\"\nbase = \"ts\"\ndigest = \"12\"",
            3,
            "no such key beside the base ts",
        ),
        ("name = \"a\"", 0, "`method.a.base` is missing"),
        (
            "name = \"a\"\nbase = \"ts\"\n[[method]]\nname = \"a\"\nbase = \"fts\"",
            1,
            "a name that no other method has",
        ),
    ] {
        let error = Scenario::parse("f.toml", &table(lines), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("f.toml:{}: ", first + line)) && error.contains(expected),
            "{error}\n{expected}"
        );
    }
    let unknown = Scenario::parse(
        "f",
        SMALL,
        &["federation.methods=[\"ts\", \"mine\"]".to_owned()],
    )
    .unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("`federation.methods = \"mine\"` is not admissible"),
        "{unknown}"
    );
    assert!(
        Scenario::parse("f", &format!("method = 3\n{SMALL}"), &[])
            .unwrap_err()
            .to_string()
            .contains("tables [[method]]")
    );
}

#[test]
fn a_setting_reaches_a_method_of_ones_own_or_begins_one() {
    let value = |scenario: &Scenario, name: &str| {
        scenario
            .of(scenario.method(MethodName::new(name)).unwrap())
            .privacy
            .noise_multiplier
            .value()
    };
    let set = small(
        OWN,
        &[
            "method.louder.set.privacy.noise_multiplier=3",
            "method.new.base=dp-fts",
        ],
    );
    assert_eq!((value(&set, "louder"), value(&set, "new")), (3.0, 1.0));
    let text = ["method.louder.set.privacy.noise_multiplier=-3".to_owned()];
    let error = Scenario::parse("f", &format!("{SMALL}{OWN}"), &text)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("--set: `method.louder.set.privacy.noise_multiplier = -3`"),
        "{error}"
    );
    for wrong in [
        "method.louder=3",
        "method.louder.set=3.x.y=1",
        "method.louder.a.b=1",
    ] {
        assert!(
            Scenario::parse("f", &format!("{SMALL}{OWN}"), &[wrong.to_owned()]).is_err(),
            "{wrong}"
        );
    }
}

/// The folder of a model that was stopped again and again, by both drivers in turn; how many pieces
/// it took.
fn in_pieces(model: &dyn Model, path: &std::path::Path, piece: u32) -> u32 {
    for pieces in 1.. {
        let Place::Open(run) = execute::begin_or_resume(path, model, None).unwrap() else {
            return pieces;
        };
        let progress = StopAfter::new(piece);
        let driver = if pieces % 2 == 0 {
            DriverKind::Tokio
        } else {
            DriverKind::Lockstep
        };
        let options = Options {
            driver,
            shards: NonZeroU32::new(3),
            stop: progress.stop.clone(),
            ..Options::default()
        };
        let _ = run.execute(model, &options, &progress);
    }
    unreachable!()
}

fn whole(model: &dyn Model, path: &std::path::Path) {
    let Place::Open(run) = execute::begin_or_resume(path, model, None).unwrap() else {
        panic!("new")
    };
    run.execute(model, &Options::default(), &()).unwrap();
}

#[test]
fn own_methods_random_and_pooled_are_one_execution_by_every_driver_and_in_pieces() {
    let faults = [
        "faults.dropout=0.2",
        "faults.loss=0.2",
        "faults.broadcast_loss=0.2",
        "faults.straggler=0.2",
        "faults.duplicate=0.3",
        "faults.corrupt=0.1",
        "faults.reorder=0.3",
        "faults.oversize=0.1",
    ];
    let single = ["surrogate.scalar=f32", "surrogate.own_draw=features"];
    for (name, settings) in [("calm", &[][..]), ("faulty", &faults), ("single", &single)] {
        let scenario = small(OWN, &[&[METHODS], settings].concat());
        let reference = run(&scenario);
        let options = Options {
            shards: NonZeroU32::new(4),
            ..Options::default()
        };
        assert_eq!(federated::run(&scenario, &options, &()).unwrap(), reference);
        let folder = scratch(&format!("methods-{name}"));
        whole(&scenario, &folder.join("whole"));
        assert!(in_pieces(&scenario, &folder.join("pieces"), 31) > 3);
        assert_eq!(
            files(&folder.join("whole")),
            files(&folder.join("pieces")),
            "{name}"
        );
    }
}

#[test]
fn a_method_of_ones_own_stands_in_everything_that_a_run_leaves() {
    let folder = scratch("methods-own");
    let scenario = SMALL.replace(
        "methods = [",
        "methods = [\"louder\", \"later\", \"inverse\", ",
    );
    std::fs::write(folder.join("m.toml"), format!("{scenario}{OWN}")).unwrap();
    let summary = json(&done(
        &folder,
        &["run", "m.toml", "--format", "json", "--out", "a"],
    ));
    let epsilon = |name: &str| {
        let methods = summary["methods"].as_array().unwrap();
        let found = methods
            .iter()
            .find(|method| method["name"] == name)
            .unwrap();
        found["losses"]
            .as_array()
            .unwrap()
            .iter()
            .find(|loss| loss["name"] == "epsilon_pld")
            .map(|loss| loss["value"].as_f64().unwrap())
    };
    let louder = epsilon("louder").unwrap();
    let shipped = epsilon("dp-fts-de").unwrap();
    assert!(
        louder < 0.6 * shipped && epsilon("later").unwrap() <= 3.0 && epsilon("inverse").is_none(),
        "{louder} {shipped}"
    );
    let read = |file: &str| std::fs::read_to_string(folder.join("a").join(file)).unwrap();
    for file in [
        "rounds.csv",
        "observations.csv",
        "agents.csv",
        "regret.svg",
        "report.html",
        "table.txt",
        "ledger.jsonl",
    ] {
        assert!(read(file).contains("louder"), "{file}");
    }
    // ε by round is its own.
    let last = |name: &str| -> f64 {
        let lines = read("rounds.csv");
        let line = lines
            .lines()
            .rfind(|line| line.starts_with(&format!("0,{name},13,")))
            .unwrap()
            .to_owned();
        line.rsplit(',').next().unwrap().parse().unwrap()
    };
    assert!((last("louder") - louder).abs() < 1e-3 && (last("dp-fts-de") - shipped).abs() < 1e-3);
    done(&folder, &["report", "a"]);
    let explained = printed(&folder, &["privacy", "explain", "m.toml"]);
    assert!(
        explained.contains("louder: ε = ") && explained.contains("later: ε = "),
        "{explained}"
    );
    // Another folder in which it differs is compared by its name.
    let set = "method.louder.set.privacy.noise_multiplier=4";
    done(&folder, &["run", "m.toml", "--set", set, "--out", "b"]);
    let compared = printed(&folder, &["compare", "a", "b", "--methods", "louder"]);
    assert!(compared.contains("louder"), "{compared}");
    let sweep = [
        "sweep",
        "m.toml",
        "--set",
        "method.louder.set.privacy.noise_multiplier=1,2",
        "--out",
        "s",
    ];
    done(&folder, &sweep);
    let index = std::fs::read_to_string(folder.join("s/summary.csv")).unwrap();
    assert!(
        index.lines().filter(|line| line.contains("louder")).count() >= 2,
        "{index}"
    );
    // The folder's scenario repeats the run, bit by bit.
    let again = json(&done(
        &folder,
        &["run", "a/scenario.toml", "--format", "json", "--out", "c"],
    ));
    assert_eq!(again["digest"], summary["digest"]);
}

#[test]
fn random_search_is_the_lower_end_and_pooled_data_the_upper() {
    let settings = [
        "federation.methods=[\"ts\", \"random\", \"pooled\"]",
        "runs=12",
        "federation.observations=true",
        "objective.lengthscale=0.05",
    ];
    let runs = run(&small("", &settings));
    let sum = |name: &str| -> f64 {
        let of = runs.iter().filter(|run| run.method.name() == name);
        of.map(|run| run.regret.iter().sum::<f64>()).sum()
    };
    assert!(
        sum("pooled") < 0.6 * sum("ts") && sum("random") > sum("ts"),
        "{} {} {}",
        sum("pooled"),
        sum("ts"),
        sum("random")
    );
    // All begin at the same points; what an agent sees of a point is the same.
    let of = |name: &'static str| {
        runs.iter()
            .filter(move |run| run.method.name() == name)
            .flat_map(|run| &run.observations)
    };
    let initial = |name| -> Vec<(u32, u32, u64)> {
        let seen = of(name).filter(|seen| seen.round == 0);
        seen.map(|seen| (seen.agent, seen.candidate, seen.y.to_bits()))
            .collect()
    };
    assert_eq!(initial("ts"), initial("random"));
    assert_eq!(initial("ts"), initial("pooled"));
    assert_eq!(initial("ts").len(), 12 * 7 * 3);
    // Uniform over 60 candidates: chi-square of 59 degrees, below the 0.1 % quantile's complement.
    let chi = |name| -> f64 {
        let mut counts = [0f64; 60];
        of(name)
            .filter(|seen| seen.round > 0)
            .for_each(|seen| counts[seen.candidate as usize] += 1.0);
        let expected = counts.iter().sum::<f64>() / 60.0;
        counts
            .iter()
            .map(|count| (count - expected) * (count - expected) / expected)
            .sum()
    };
    assert!(chi("random") < 98.3, "{}", chi("random"));
    assert!(chi("ts") > 98.3, "negative control: {}", chi("ts"));
}

/// A method that asks core's exact posterior finds more than chance does.
#[test]
fn another_programs_method_asks_the_engines_of_core() {
    let small = ["runs=2", "federation.rounds=6", "federation.agents=9"].map(String::from);
    let runs = sampler::own(&small)
        .unwrap()
        .results(&Options::default(), &())
        .unwrap();
    let summed = |name: &str| -> f64 {
        let of = runs.iter().filter(|run| run.method.name() == name);
        of.map(|run| run.regret.iter().sum::<f64>()).sum()
    };
    assert!(
        summed("sampler") < 0.9 * summed("random"),
        "{} {}",
        summed("sampler"),
        summed("random")
    );
}

#[test]
fn another_programs_methods_are_run_killed_and_resumed_and_claim_nothing() {
    let folder = scratch("methods-custom");
    let small = ["runs=2", "federation.rounds=6", "federation.agents=9"].map(String::from);
    let own = example::own(&small).unwrap();
    whole(&own, &folder.join("whole"));
    assert!(in_pieces(&own, &folder.join("pieces"), 5) > 4);
    assert_eq!(files(&folder.join("whole")), files(&folder.join("pieces")));
    let lockstep = own
        .results(
            &Options {
                driver: DriverKind::Lockstep,
                ..Options::default()
            },
            &(),
        )
        .unwrap();
    let tokio = own
        .results(
            &Options {
                shards: NonZeroU32::new(4),
                ..Options::default()
            },
            &(),
        )
        .unwrap();
    assert_eq!(lockstep, tokio);
    // Noise changes what is done, so these are two methods.
    assert_ne!(
        digests(&lockstep, "rumour"),
        digests(&lockstep, "noisy-rumour")
    );
    let read = |file: &str| std::fs::read_to_string(folder.join("whole").join(file)).unwrap();
    let resolved = read("scenario.toml");
    assert!(
        resolved.contains("base = \"custom\"\ndigest = \""),
        "{resolved}"
    );
    assert!(
        read("table.txt").contains("none claimed")
            && read("summary.json").contains("\"none claimed\"")
    );
    assert!(read("report.html").contains("no guarantee is claimed"));
    // The program reads the folder and compares it; it cannot run the methods, and says why.
    done(&folder, &["report", "whole"]);
    done(&folder, &["compare", "whole", "pieces"]);
    let message = refused(&folder, 2, &["run", "whole/scenario.toml", "--out", "no"]);
    assert!(
        message.contains("the method `rumour` is of a program that uses the library"),
        "{message}"
    );
}

/// Does what it is told to, wrongly.
struct Wrong(u32);

impl Chooser for Wrong {
    fn next(&self, _sight: &Sight<'_>, _coins: &mut Stream) -> u32 {
        self.0
    }

    fn message(&self, _sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        vec![0.0; self.0 as usize]
    }
}

/// Expects one number and sends what it got.
struct Echo(f64);

impl Aggregator for Echo {
    fn message_len(&self, _ground: &Ground) -> usize {
        1
    }

    fn combine(
        &self,
        _ground: &Ground,
        messages: &[Message],
        _kept: &mut Vec<f64>,
        _coins: &mut Stream,
    ) -> Vec<f64> {
        vec![messages[0].numbers[0] + self.0]
    }
}

#[test]
fn methods_that_do_not_fit_or_do_what_they_must_not_are_refused_by_name() {
    let scenario = |digest: &str| {
        let table = format!("\n[[method]]\nname = \"mine\"\nbase = \"custom\"\n{digest}");
        small(&table, &["federation.methods=[\"mine\"]"])
    };
    let own = |custom: Custom| Own::methods(scenario(""), [("mine", custom)]).unwrap();
    let error = |custom: Custom| {
        own(custom)
            .results(&Options::default(), &())
            .unwrap_err()
            .to_string()
    };
    let far = error(Custom::alone("far", Wrong(60)));
    assert!(
        far.contains("method `mine`, agent ")
            && far.contains("queries candidate 60; admissible: below 60"),
        "{far}"
    );
    let long = error(Custom::with_server("long", Wrong(2), Echo(0.0)));
    assert!(
        long.contains("sends 2 numbers, 0 of them not finite; admissible: 1 finite numbers"),
        "{long}"
    );
    let infinite = error(Custom::with_server(
        "infinite",
        Wrong(1),
        Echo(f64::INFINITY),
    ));
    assert!(
        infinite.contains("the server sends 1 numbers, 1 of them not finite"),
        "{infinite}"
    );
    assert!(
        own(Custom::with_server("well", Wrong(1), Echo(0.0)))
            .results(&Options::default(), &())
            .is_ok(),
        "control"
    );
    let well = || Custom::alone("well", Wrong(1));
    let refused = |of: Scenario, methods: &[(&'static str, Custom)]| {
        Own::methods(of, methods.iter().cloned())
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(
        refused(scenario(""), &[]),
        CustomError::Missing("mine".into())
    );
    assert!(matches!(
        refused(scenario(""), &[("mine", well()), ("yours", well())]),
        CustomError::Unknown { .. }
    ));
    let other = format!("digest = \"{}\"\n", "0".repeat(64));
    assert!(matches!(
        refused(scenario(&other), &[("mine", well())]),
        CustomError::Other { .. }
    ));
}
