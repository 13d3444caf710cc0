//! Scenario files: what is shipped reads back, what is wrong is refused with key, value, range and
//! line.

use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_engine::{MODELS, federated};
use sordino_experiment::scenario::{SHIPPED, Scenario, Shipped, with_tables};

use crate::util::{done, json, refused, scratch, text};

#[test]
fn shipped_scenarios_read_back_from_their_resolved_form() {
    for shipped in SHIPPED {
        let scenario = sordino_engine::parse(shipped.name, shipped.text, &[]).unwrap();
        assert_eq!(scenario.head().name, shipped.name);
        let again = sordino_engine::parse("resolved", &scenario.resolved(), &[]).unwrap();
        assert_eq!(
            format!("{again:?}"),
            format!("{scenario:?}"),
            "{}",
            scenario.resolved()
        );
    }
}

#[test]
fn default_is_the_published_experiment() {
    let scenario = Shipped::find("default").unwrap().parse(&[]).unwrap();
    let federation = &scenario.federation;
    let surrogate = &scenario.surrogate;
    let privacy = &scenario.privacy;
    assert_eq!(
        (
            federation.agents,
            federation.rounds,
            federation.initial_points
        ),
        (200, 40, 10)
    );
    assert_eq!(
        (
            federation.regions(),
            federation.methods.len(),
            scenario.runs
        ),
        (2, 7, 10)
    );
    assert_eq!(
        (
            surrogate.features,
            surrogate.regularization,
            surrogate.kernel.lengthscale
        ),
        (50, 0.01, 0.03)
    );
    assert_eq!(
        (
            privacy.sampling_probability,
            privacy.noise_multiplier.value(),
            privacy.clipping_norm.value()
        ),
        (0.25, 1.0, 11.0)
    );
    assert!((privacy.delta - 0.002_943_520_093).abs() < 1e-12);
}

fn refusal(from: &str, to: &str) -> String {
    let text = Shipped::find("default").unwrap().text;
    assert!(text.contains(from), "{from}");
    Scenario::parse("my.toml", &text.replacen(from, to, 1), &[])
        .unwrap_err()
        .to_string()
}

/// What stands in the shipped scenario, what replaces it, how the refusal begins or what it holds.
const REFUSALS: &[(&str, &str, &str)] = &[
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
    (
        "agents = 200",
        "agnets = 200",
        "my.toml:18: unknown key `federation.agnets`; did you mean `agents`?",
    ),
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
    (
        "[privacy]",
        "[privcy]",
        "my.toml:29: unknown key `privcy`; did you mean `privacy`?",
    ),
    (
        "splits = [2]",
        "splits = [2, 2]",
        "my.toml:21: `federation.splits = [2, 2]` is not admissible; admissible: a list of 1 whole numbers from 1 to 64, one for each dimension",
    ),
    (
        "\"ts\", \"vote\"",
        "\"ts\", \"ts\"",
        "my.toml:23: `federation.methods = \"ts\"` is not admissible; admissible: every name at most once",
    ),
    (
        "\"ts\", \"vote\"",
        "\"ts\", \"ftss\"",
        "admissible: \"ts\", \"fts\", \"fts-de\"",
    ),
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
        "my.toml:8: `objective.kind = \"gp\"` is not admissible; admissible: \"gp-sample\", \"function\", \"table\", \"fedhpo\", \"command\", \"landmine\", \"winequality\", \"custom\"",
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
    (
        "runs = 10",
        "runs = 10\nruns = 11",
        "my.toml:6: not valid TOML: duplicate key",
    ),
    ("[objective]", "[objective", "my.toml:7: not valid TOML"),
];

#[test]
fn every_refusal_names_key_value_range_and_line() {
    for (from, to, expected) in REFUSALS {
        let message = refusal(from, to);
        assert!(
            message.starts_with(expected) || message.contains(expected),
            "{to}: {message}\nexpected {expected}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_core_refuses_is_refused_with_key_and_line() {
    let few = refusal("agents = 200", "agents = 1");
    let expected = "my.toml:21: `federation.splits = [2]` is not admissible; admissible: parts whose product is at most the \
                    number of agents, 1: every region needs one that explores it";
    assert_eq!(few, expected);
    let long = refusal("clipping_norm = 11.0", "clipping_norm = 2e6");
    let expected = "my.toml:32: `privacy.clipping_norm = 2000000` is not admissible; admissible: a number from 1e-6 to 1e6";
    assert_eq!(long, expected);
}

fn set(settings: &[&str]) -> Result<Scenario, String> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Shipped::find("default")
        .unwrap()
        .parse(&settings)
        .map_err(|error| error.to_string())
}

/// The section of the federated prior: what is missing follows from the scenario, what is wrong is
/// refused with its reason.
#[test]
fn the_priors_section_has_defaults_that_follow_and_refusals_that_say_why() {
    let prior = |settings: &[&str]| set(settings).map(|scenario| scenario.prior.unwrap());
    let plan = |settings: &[&str]| prior(settings).unwrap().plan;
    let shipped = plan(&[]);
    assert_eq!(
        (&shipped.releases[..], shipped.points_per_axis),
        (&[0, 0, 0, 4, 8, 16][..], 50)
    );
    // As much as 40 sampled releases of multiplier 1, by privacy-loss distributions.
    assert!(
        (shipped.epsilon - 7.054).abs() < 1e-3,
        "{}",
        shipped.epsilon
    );
    assert_eq!(plan(&["federation.rounds=6"]).releases, [0, 0, 0, 4]);
    assert!(plan(&["privacy.noise_multiplier=4"]).epsilon < 0.95);
    let unequal = prior(&[
        "prior.releases=[0,3]",
        "prior.shares=[3,1]",
        "prior.epsilon=1",
    ])
    .unwrap();
    assert!(
        (unequal.noise_multipliers[1] / unequal.noise_multipliers[0] - 3f64.sqrt()).abs() < 1e-12
    );
    for (setting, needed) in [
        (
            "prior.releases=[0,40]",
            "a list of 1 to 64 whole numbers from 0 to 39",
        ),
        (
            "prior.releases=[4,0]",
            "rounds none of which is before the one it follows",
        ),
        ("prior.releases=[0.5]", "whole numbers"),
        ("prior.releases=[]", "a list of 1 to 64"),
        (
            "prior.shares=[1]",
            "a list of 6 numbers from 0.001 to 1000, one for each release",
        ),
        ("prior.shares=[1,1,1,1,1,0]", "0.001 to 1000"),
        ("prior.epsilon=0", "`prior.epsilon = 0`"),
        ("prior.points_per_axis=1", "2 to 512"),
        ("prior.rounds=[0]", "unknown key `prior.rounds`"),
        ("objective.flipped=1.5", "a number from 0 to 1"),
    ] {
        let refusal = set(&[setting]).unwrap_err();
        assert!(
            refusal.contains(needed) && refusal.starts_with("--set: "),
            "{setting}: {refusal}"
        );
    }
    // What no noise multiplier can keep is refused; the message says what was asked.
    let refusal = set(&["prior.epsilon=0.01", "privacy.delta=1e-15"]).unwrap_err();
    assert!(
        refusal.contains("an ε that at δ = 1e-15 and with these shares gives"),
        "{refusal}"
    );
    // No method and no key: no section.
    let text = Shipped::find("winequality").unwrap().text;
    let alone = Scenario::parse("wine", text, &["federation.methods=[\"ts\"]".to_owned()]).unwrap();
    assert!(alone.prior.is_none());
}

#[test]
fn settings_are_applied_before_the_check() {
    let scenario = set(&[
        "federation.agents=50",
        "surrogate.kernel=matern-5/2",
        "federation.methods=[\"ts\"]",
    ])
    .unwrap();
    assert_eq!(
        (
            scenario.federation.agents,
            scenario.federation.methods.len()
        ),
        (50, 1)
    );
    assert_eq!(scenario.surrogate.kernel.kernel.name(), "matern-5/2");
    // δ follows the number of agents.
    assert!((scenario.privacy.delta - 50f64.powf(-1.1)).abs() < 1e-15);
    assert_eq!(
        set(&["federation.agents=zero"]).unwrap_err(),
        "--set: `federation.agents = \"zero\"` is not admissible; admissible: a whole number from 1 to 1000000"
    );
    assert!(
        set(&["federation.agents"])
            .unwrap_err()
            .contains("is not a setting")
    );
    assert!(set(&["seed.x=1"]).unwrap_err().contains("is not a setting"));
    assert!(
        set(&["privacy.budget=1"])
            .unwrap_err()
            .contains("unknown key `privacy.budget`")
    );
    // A value cannot smuggle in another key.
    assert!(set(&["seed=1\nruns=2"]).unwrap_err().contains("`seed = "));
}

/// What the parser admits core admits, and the other way round.
#[test]
fn parser_and_core_have_one_range() {
    let refusal = |setting: &str| set(&[setting]).unwrap_err();
    for x in [1e-7, 9.99e-7, 1e-6, 1.0, 1e6, 1.001e6, 1e8, 1e9, 1e10] {
        let setting = format!("privacy.clipping_norm={x:e}");
        assert_eq!(
            set(&[&setting]).is_ok(),
            ClippingNorm::new(x).is_ok(),
            "{setting}"
        );
    }
    for x in [0.005, 0.01, 0.049, 0.05, 1.0, 1e3, 1001.0, 1e4, 1e5] {
        let setting = format!("privacy.noise_multiplier={x:e}");
        assert_eq!(
            set(&[&setting]).is_ok(),
            NoiseMultiplier::new(x).is_ok(),
            "{setting}"
        );
    }
    assert_eq!(
        refusal("privacy.clipping_norm=1e8"),
        "--set: `privacy.clipping_norm = 100000000` is not admissible; admissible: a number from 1e-6 to 1e6"
    );
}

const README: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/experiment/scenarios/README.md"
);

/// Written again with `SORDINO_WRITE=1`.
#[test]
fn the_readme_has_the_tables_of_keys() {
    let readme = std::fs::read_to_string(README).unwrap();
    let made = with_tables(MODELS, &readme).unwrap();
    if std::env::var_os("SORDINO_WRITE").is_some() {
        std::fs::write(README, &made).unwrap();
    } else {
        assert!(
            made == readme,
            "sim/experiment/scenarios/README.md is not what the tables of keys say: SORDINO_WRITE=1 cargo test -p sordino-sim --test it readme"
        );
    }
    // Every section has its place.
    for (trust, section) in MODELS
        .iter()
        .flat_map(|t| t.tables().into_iter().map(move |s| (t, s)))
    {
        assert!(
            section.name.is_empty()
                || readme.contains(&format!("<!-- keys {}.{} -->", trust.name, section.name))
        );
    }
    assert!(with_tables(MODELS, "<!-- keys federated.nothing --><!-- end -->").is_err());
    assert!(readme.contains("the header `agent,from,to`"));
}

/// The ends of a range are admitted, what is outside is refused, and a default is what holds.
#[test]
fn ranges_and_defaults_of_the_faults_are_those_in_effect() {
    let sections = federated::TRUST.tables();
    let faults = sections
        .iter()
        .find(|section| section.name == "faults")
        .unwrap();
    let keys = &faults.tables[0].keys;
    assert_eq!(keys.len(), 13);
    let message = set(&["faults.sabotage=1"]).unwrap_err();
    let admissible: Vec<&str> = message
        .split("admissible here: ")
        .nth(1)
        .unwrap()
        .split(", ")
        .collect();
    assert_eq!(
        keys.iter().map(|key| key.name).collect::<Vec<_>>(),
        admissible
    );
    let resolved = set(&["faults.dropout=0.5"]).unwrap().resolved();
    for key in keys.iter().filter(|key| !key.name.starts_with("trace")) {
        let name = key.name;
        let brief = key.rule.brief();
        let (low, high) = brief.split_once(" to ").unwrap();
        for (value, admitted) in [(low, true), (high, true), ("-1", false), ("65", false)] {
            assert_eq!(
                set(&[&format!("faults.{name}={value}")]).is_ok(),
                admitted,
                "{name} = {value}"
            );
        }
        let line = resolved
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")))
            .unwrap();
        let in_effect: f64 = line.split(" = ").nth(1).unwrap().parse().unwrap();
        assert!(
            name == "dropout" || in_effect == key.default_in("").parse::<f64>().unwrap(),
            "{line}"
        );
    }
}

/// A starter runs as it is written, and says what each of its keys is.
#[test]
fn init_writes_a_scenario_that_runs() {
    let folder = scratch("init");
    for trust in MODELS {
        let file = format!("{}.toml", trust.name);
        done(&folder, &["init", &file, "--trust", trust.name]);
        let text = std::fs::read_to_string(folder.join(&file)).unwrap();
        for section in trust.tables() {
            for key in &section.tables[0].keys {
                let line = |line: &str| {
                    line.trim_start_matches("# ")
                        .starts_with(&format!("{} = ", key.name))
                };
                assert!(
                    text.lines().any(line) && text.contains(key.sentence),
                    "{} of {file}",
                    key.name
                );
            }
        }
        // What stands behind `#` is admissible, too: each line for itself.
        let lines: Vec<&str> = text.lines().collect();
        let end = lines
            .iter()
            .position(|line| line.starts_with("# [["))
            .unwrap_or(lines.len());
        for (i, line) in lines[..end].iter().enumerate() {
            let Some(key) = line
                .strip_prefix("# ")
                .filter(|key| key.split(' ').nth(1) == Some("="))
            else {
                continue;
            };
            let text: Vec<&str> = lines
                .iter()
                .enumerate()
                .map(|(j, line)| if i == j { key } else { line })
                .collect();
            sordino_engine::parse(&file, &text.join("\n"), &[])
                .unwrap_or_else(|error| panic!("{error}"));
        }
        // A table of which there may be several: as a whole, but for the key of another base.
        let is_toml = |key: &&str| key.starts_with("[[") || key.split(' ').nth(1) == Some("=");
        let own = lines[end..]
            .iter()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(is_toml);
        let own = own.filter(|key| !key.starts_with("digest"));
        let whole: Vec<&str> = lines[..end].iter().copied().chain(own).collect();
        assert_eq!(
            whole.iter().filter(|line| line.starts_with("[[")).count(),
            usize::from(end < lines.len())
        );
        sordino_engine::parse(&file, &whole.join("\n"), &[])
            .unwrap_or_else(|error| panic!("{error}"));
        done(
            &folder,
            &["run", &file, "--out", trust.name, "--format", "json"],
        );
        assert!(folder.join(trust.name).join("summary.json").exists());
        assert!(refused(&folder, 2, &["init", &file]).contains("exists already; name a new file"));
    }
}

/// The schema has every key, and what is shipped keeps to it as far as kinds and names go.
#[test]
fn the_schema_has_every_key_with_its_range() {
    let folder = scratch("schema");
    let schema = json(&done(&folder, &["scenario", "keys", "--json-schema"]));
    let models = schema["oneOf"].as_array().unwrap();
    assert_eq!(models.len(), MODELS.len());
    let multiplier = &models[0]["properties"]["privacy"]["properties"]["noise_multiplier"];
    assert_eq!(
        (
            multiplier["minimum"].as_f64(),
            multiplier["maximum"].as_f64()
        ),
        (Some(0.05), Some(1000.0))
    );
    let said = done(&folder, &["scenario", "keys"]);
    for (trust, model) in MODELS.iter().zip(models) {
        for section in trust.tables() {
            let schema = if section.name.is_empty() {
                model
            } else {
                &model["properties"][section.name]
            };
            let schema = if section.many {
                &schema["items"]
            } else {
                schema
            };
            for table in &section.tables {
                let kinds = schema["oneOf"]
                    .as_array()
                    .map_or(vec![schema], |kinds| kinds.iter().collect());
                for key in &table.keys {
                    assert!(
                        kinds
                            .iter()
                            .any(|kind| kind["properties"][key.name].is_object()),
                        "{}",
                        key.name
                    );
                    assert!(text(&said.stdout).contains(key.sentence), "{}", key.name);
                }
            }
        }
    }
    // Every key of a resolved scenario is in the schema.
    for shipped in SHIPPED {
        let scenario = sordino_engine::parse(shipped.name, shipped.text, &[]).unwrap();
        let model = models
            .iter()
            .find(|model| model["title"] == scenario.head().trust.as_str())
            .unwrap();
        for (name, value) in scenario.resolved().parse::<toml::Table>().unwrap() {
            let schema = &model["properties"][&name];
            assert!(schema.is_object(), "{name}");
            let kinds = schema["oneOf"]
                .as_array()
                .map_or(vec![schema], |kinds| kinds.iter().collect());
            for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
                assert!(
                    kinds.iter().any(|kind| kind["properties"][key].is_object()),
                    "{}: {name}.{key}",
                    shipped.name
                );
            }
        }
    }
}
