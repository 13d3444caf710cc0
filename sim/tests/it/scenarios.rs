//! Scenario files: what is shipped reads back, what is wrong is refused with key, value, range and line.

use sordino_sim::model::federated::context::config;
use sordino_sim::scenario::{AnyScenario, Method, SHIPPED, Scenario, Shipped};

#[test]
fn shipped_scenarios_read_back_from_their_resolved_form() {
    for shipped in SHIPPED {
        let scenario = shipped.load(&[]).unwrap();
        assert_eq!(scenario.head().name, shipped.name);
        let again = AnyScenario::parse("resolved", &scenario.resolved(), &[]).unwrap();
        assert_eq!(again, scenario, "{}", scenario.resolved());
    }
}

#[test]
fn default_is_the_published_experiment() {
    let scenario = Shipped::find("default").unwrap().parse(&[]).unwrap();
    let (federation, surrogate, privacy) = (&scenario.federation, &scenario.surrogate, &scenario.privacy);
    assert_eq!((federation.agents, federation.rounds, federation.initial_points), (200, 40, 10));
    assert_eq!((federation.regions(), federation.methods.len(), scenario.runs), (2, 10, 10));
    assert_eq!((surrogate.features, surrogate.regularization, surrogate.kernel.lengthscale), (50, 0.01, 0.03));
    assert_eq!((privacy.sampling_probability, privacy.noise_multiplier, privacy.clipping_norm), (0.25, 1.0, 11.0));
    assert!((privacy.delta - 0.002_943_520_093).abs() < 1e-12);
}

fn refusal(from: &str, to: &str) -> String {
    let text = Shipped::find("default").unwrap().text;
    assert!(text.contains(from), "{from}");
    Scenario::parse("my.toml", &text.replacen(from, to, 1), &[]).unwrap_err().to_string()
}

#[test]
fn every_refusal_names_key_value_range_and_line() {
    let cases = [
        (
            "agents = 200",
            "agents = 0",
            "my.toml:18: `federation.agents = 0` is not admissible; admissible: a whole number from 1 to 1000000",
        ),
        (
            "agents = 200",
            "agents = 2.5",
            "my.toml:18: `federation.agents = 2.5` is not admissible; admissible: a whole number from 1 to 1000000",
        ),
        (
            "agents = 200",
            "agents = -1",
            "my.toml:18: `federation.agents = -1` is not admissible; admissible: a whole number from 1 to 1000000",
        ),
        ("agents = 200", "agnets = 200", "my.toml:18: unknown key `federation.agnets`; did you mean `agents`?"),
        (
            "agents = 200",
            "",
            "my.toml:17: `federation.agents` is missing; admissible: a whole number from 1 to 1000000",
        ),
        (
            "rounds = 40",
            "rounds = 40\ncolour = 1",
            "my.toml:20: unknown key `federation.colour`; admissible here: agents, rounds",
        ),
        (
            "rounds = 40",
            "rounds = 40\nconstnt = 1",
            "my.toml:20: unknown key `federation.constnt`; did you mean `constant`?",
        ),
        ("[privacy]", "[privcy]", "my.toml:29: unknown key `privcy`; did you mean `privacy`?"),
        (
            "splits = [2]",
            "splits = [2, 2]",
            "my.toml:21: `federation.splits = [2, 2]` is not admissible; admissible: a list of 1 whole numbers from 1 to 64, one for each dimension",
        ),
        (
            "\"ts\", \"fts\"",
            "\"ts\", \"ts\"",
            "my.toml:23: `federation.methods = \"ts\"` is not admissible; admissible: every name at most once",
        ),
        ("\"ts\", \"fts\"", "\"ts\", \"ftss\"", "admissible: \"ts\", \"fts\", \"fts-de\""),
        (
            "lengthscale = 0.03",
            "lengthscale = nan",
            "my.toml:12: `objective.lengthscale = NaN` is not admissible; admissible: a number from 0.001 to 1000",
        ),
        (
            "lengthscale = 0.03",
            "lengthscale = \"short\"",
            "my.toml:12: `objective.lengthscale = \"short\"` is not admissible",
        ),
        (
            "kind = \"gp-sample\"",
            "kind = \"gp\"",
            "my.toml:8: `objective.kind = \"gp\"` is not admissible; admissible: \"gp-sample\", \"landmine\", \"winequality\"",
        ),
        (
            "kind = \"gp-sample\"",
            "kind = \"landmine\"",
            "my.toml:9: unknown key `objective.dim`; admissible here: kind, candidates",
        ),
        (
            "noise_multiplier = 1.0",
            "noise_multiplier = 0",
            "my.toml:31: `privacy.noise_multiplier = 0` is not admissible; admissible: a number from 0.05 to 1000",
        ),
        ("runs = 10", "runs = 10\nruns = 11", "my.toml:6: not valid TOML: duplicate key"),
        ("[objective]", "[objective", "my.toml:7: not valid TOML"),
    ];
    for (from, to, expected) in cases {
        let message = refusal(from, to);
        assert!(message.starts_with(expected) || message.contains(expected), "{to}: {message}\nexpected {expected}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn mended_what_core_refuses_is_refused_with_key_and_line() {
    let few = refusal("agents = 200", "agents = 1");
    let expected = "my.toml:21: `federation.splits = [2]` is not admissible; admissible: parts whose product is at most the \
                    number of agents, 1: every region needs one that explores it";
    assert_eq!(few, expected);
    let long = refusal("clipping_norm = 11.0", "clipping_norm = 2e6");
    let expected =
        "my.toml:32: `privacy.clipping_norm = 2000000` is not admissible; admissible: a number from 1e-6 to 1e6";
    assert_eq!(long, expected);
}

fn set(settings: &[&str]) -> Result<Scenario, String> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Shipped::find("default").unwrap().parse(&settings).map_err(|error| error.to_string())
}

/// The section of the federated prior: what is missing follows from the scenario, what is wrong is refused with its reason.
#[test]
fn the_priors_section_has_defaults_that_follow_and_refusals_that_say_why() {
    let prior = |settings: &[&str]| set(settings).map(|scenario| scenario.prior.unwrap());
    let shipped = prior(&[]).unwrap();
    assert_eq!((&shipped.releases[..], shipped.points_per_axis), (&[0, 0, 0, 4, 8, 16][..], 50));
    // As much as 40 sampled releases of multiplier 1, by privacy-loss distributions.
    assert!((shipped.epsilon - 7.054).abs() < 1e-3, "{}", shipped.epsilon);
    assert_eq!(prior(&["federation.rounds=6"]).unwrap().releases, [0, 0, 0, 4]);
    assert!(prior(&["privacy.noise_multiplier=4"]).unwrap().epsilon < 0.95);
    let unequal = prior(&["prior.releases=[0,3]", "prior.shares=[3,1]", "prior.epsilon=1"]).unwrap();
    assert!((unequal.noise_multipliers[1] / unequal.noise_multipliers[0] - 3f64.sqrt()).abs() < 1e-12);
    for (setting, needed) in [
        ("prior.releases=[0,40]", "from 0 to 39"),
        ("prior.releases=[4,0]", "none before the one it follows"),
        ("prior.releases=[0.5]", "whole rounds"),
        ("prior.releases=[]", "a list of 1 to 64"),
        ("prior.shares=[1]", "a list of 6"),
        ("prior.shares=[1,1,1,1,1,0]", "0.001 to 1000"),
        ("prior.epsilon=0", "`prior.epsilon = 0`"),
        ("prior.points_per_axis=1", "2 to 512"),
        ("prior.rounds=[0]", "unknown key `prior.rounds`"),
        ("objective.own_lengthscale=0.1", "beside an own_variance above 0"),
        ("objective.flipped=1.5", "a probability from 0 to 1"),
    ] {
        let refusal = set(&[setting]).unwrap_err();
        assert!(refusal.contains(needed) && refusal.starts_with("--set: "), "{setting}: {refusal}");
    }
    // What no noise multiplier can keep is refused; the message says what was asked.
    let refusal = set(&["prior.epsilon=0.01", "privacy.delta=1e-15"]).unwrap_err();
    assert!(refusal.contains("at ε = 0.01 and δ = 1e-15"), "{refusal}");
    // No method and no key: no section.
    let methods = "federation.methods=[\"ts\"]";
    let text = Shipped::find("winequality").unwrap().text;
    assert!(Scenario::parse("wine", text, &[methods.to_owned()]).unwrap().prior.is_none());
}

#[test]
fn settings_are_applied_before_the_check() {
    let scenario =
        set(&["federation.agents=50", "surrogate.kernel=matern-5/2", "federation.methods=[\"ts\"]"]).unwrap();
    assert_eq!((scenario.federation.agents, scenario.federation.methods.len()), (50, 1));
    assert_eq!(scenario.surrogate.kernel.kernel.name(), "matern-5/2");
    // δ follows the number of agents.
    assert!((scenario.privacy.delta - 50f64.powf(-1.1)).abs() < 1e-15);
    assert_eq!(
        set(&["federation.agents=zero"]).unwrap_err(),
        "--set: `federation.agents = \"zero\"` is not admissible; admissible: a whole number from 1 to 1000000"
    );
    assert!(set(&["federation.agents"]).unwrap_err().contains("is not a setting"));
    assert!(set(&["seed.x=1"]).unwrap_err().contains("is not a setting"));
    assert!(set(&["privacy.budget=1"]).unwrap_err().contains("unknown key `privacy.budget`"));
    // A value cannot smuggle in another key.
    assert!(set(&["seed=1\nruns=2"]).unwrap_err().contains("`seed = "));
}

/// What the parser admits core admits, and the other way round.
#[test]
fn mended_parser_and_core_have_one_range() {
    let shipped = set(&[]).unwrap();
    let refusal = |setting: &str| set(&[setting]).unwrap_err();
    for x in [1e-7, 9.99e-7, 1e-6, 1.0, 1e6, 1.001e6, 1e8, 1e9, 1e10] {
        let mut scenario = shipped.clone();
        scenario.privacy.clipping_norm = x;
        let setting = format!("privacy.clipping_norm={x:e}");
        assert_eq!(set(&[&setting]).is_ok(), config(&scenario, Method::DpFtsDe).is_ok(), "{setting}");
    }
    for x in [0.005, 0.01, 0.049, 0.05, 1.0, 1e3, 1001.0, 1e4, 1e5] {
        let mut scenario = shipped.clone();
        scenario.privacy.noise_multiplier = x;
        let setting = format!("privacy.noise_multiplier={x:e}");
        assert_eq!(set(&[&setting]).is_ok(), config(&scenario, Method::DpFtsDe).is_ok(), "{setting}");
    }
    assert_eq!(
        refusal("privacy.clipping_norm=1e8"),
        "--set: `privacy.clipping_norm = 100000000` is not admissible; admissible: a number from 1e-6 to 1e6"
    );
}

/// The keys that a refusal names are those of the table, with their order.
#[test]
fn mended_every_key_of_faults_is_documented() {
    let readme = include_str!("../../scenarios/README.md");
    let table = readme.split("`[faults]`").nth(1).expect("a section on faults").split("\n\n").nth(1).unwrap();
    let documented: Vec<&str> = table.lines().skip(2).map(|row| row.split('`').nth(1).unwrap()).collect();
    let message = set(&["faults.sabotage=1"]).unwrap_err();
    let admissible: Vec<&str> = message.split("admissible here: ").nth(1).unwrap().split(", ").collect();
    assert_eq!(documented, admissible);
    assert_eq!(documented.len(), 12);
    // Ranges and defaults as they are in effect.
    let resolved = set(&["faults.dropout=0.5"]).unwrap().resolved();
    for (row, key) in table.lines().skip(2).zip(&documented).filter(|(_, key)| **key != "trace") {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (low, high) = cells[2].split_once(" to ").unwrap();
        for (value, admitted) in [(low, true), (high, true), ("-1", false), ("65", false)] {
            assert_eq!(set(&[&format!("faults.{key}={value}")]).is_ok(), admitted, "{key} = {value}");
        }
        let line = resolved.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        let in_effect: f64 = line.split(" = ").nth(1).unwrap().parse().unwrap();
        assert!(*key == "dropout" || in_effect == cells[3].parse::<f64>().unwrap(), "{line}: {row}");
    }
    assert!(readme.contains("the header `agent,from,to`"));
}
