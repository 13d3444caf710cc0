//! Settings that no method of a scenario uses: which they are is found by trying, and told.

use sordino_engine::Options;
use sordino_engine::federated;
use sordino_experiment::scenario::{Method, MethodName, Scenario, Shipped, method};

use crate::util::{SMALL, done, printed, scratch, settings, text, with};

/// Keys with another value than the usual one.
const CHANGED: [&str; 30] = [
    "federation.splits={split}",
    "federation.mixing=\"inverse\"",
    "federation.constant=3",
    "surrogate.kernel=\"matern-5/2\"",
    "surrogate.lengthscale=0.11",
    "surrogate.signal_variance=2",
    "surrogate.noise_variance=3",
    "surrogate.features=13",
    "surrogate.feature_seed=5",
    "surrogate.regularization=0.2",
    "surrogate.normalize_features=false",
    "surrogate.own_draw=\"{draws}\"",
    "surrogate.prior_tolerance=0.9",
    "privacy.sampling_probability=0.3",
    "privacy.noise_multiplier=2.5",
    "privacy.clipping_norm=0.5",
    "privacy.grid_exponent=16",
    "privacy.weight_concentration=1",
    "privacy.max_epsilon=0.01",
    "prior.releases=[0, 1]",
    "prior.shares=[3, 1, 1, 1]",
    "prior.points_per_axis=9",
    "prior.inducing_points=11",
    "prior.features=7",
    "prior.epsilon=0.7",
    "faults.straggler=0.9",
    "faults.loss=0.9",
    "faults.broadcast_loss=0.9",
    "faults.corrupt=0.9",
    "faults.oversize=0.9",
];

/// Sections whose keys are tried.
const SECTIONS: [&str; 5] = ["federation", "surrogate", "privacy", "prior", "faults"];

/// Keys that every method uses, or that say how a federation is simulated and not what a method
/// does.
const EVERYBODY: [&str; 15] = [
    "federation.agents",
    "federation.rounds",
    "federation.initial_points",
    "federation.methods",
    "federation.observations",
    "surrogate.scalar",
    "privacy.trust",
    "faults.dropout",
    "faults.outage",
    "faults.crash",
    "faults.crash_rounds",
    "faults.trace",
    // No result follows from these two either, which is what they are there to show.
    "faults.duplicate",
    "faults.reorder",
    // Nothing that is computed follows from it: what is said of a run does.
    "privacy.delta",
];

/// A key that is new is changed above, or its author says here that every method uses it.
#[test]
fn every_key_of_a_method_is_tried() {
    let keys = printed(
        &scratch("unused-keys"),
        &["scenario", "keys", "--trust", "federated"],
    );
    let mut section = "";
    let mut found = Vec::new();
    for line in keys.lines() {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
        }
        let key = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
            .and_then(|rest| rest.split(' ').next());
        if let Some(key) = key.filter(|_| SECTIONS.contains(&section)) {
            found.push(format!("{section}.{key}"));
        }
    }
    let tried = CHANGED
        .iter()
        .map(|setting| setting.split_once('=').unwrap().0);
    let mut known: Vec<&str> = tried.chain(EVERYBODY).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}

/// What a setting is changed in.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// A line, joint draws.
    Line,
    /// Six dimensions, draws of features.
    Cube,
}

impl Base {
    fn methods(self) -> Vec<Method> {
        // In six dimensions a campaign takes longer than all others, and uses nothing else there.
        let slow = |method: &Method| matches!(self, Base::Cube) && method.is_campaign();
        Method::SHIPPED
            .into_iter()
            .filter(|method| !slow(method))
            .collect()
    }

    fn scenario(self, more: &[String]) -> Scenario {
        let names: Vec<String> = self
            .methods()
            .iter()
            .map(|method| format!("\"{}\"", method.name()))
            .collect();
        let methods = format!("federation.methods=[{}]", names.join(", "));
        let mut set = settings(&[
            "runs=1",
            &methods,
            "federation.agents=6",
            "federation.rounds=6",
        ]);
        set.push("federation.initial_points=4".into());
        let (name, own) = match self {
            Base::Line => (
                "default",
                ["objective.points_per_axis=30", "surrogate.features=16"],
            ),
            Base::Cube => (
                "hartmann6",
                ["objective.candidates=60", "prior.inducing_points=12"],
            ),
        };
        set.extend(
            own.iter()
                .map(ToString::to_string)
                .chain(more.iter().cloned()),
        );
        Scenario::parse(name, Shipped::find(name).unwrap().text, &set)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The setting, with the split and the draws that it does not usually have.
    fn setting(self, changed: &str) -> String {
        let (split, draws) = match self {
            Base::Line => ("[3]", "features"),
            Base::Cube => ("[3, 1, 1, 1, 1, 1]", "joint"),
        };
        changed.replace("{split}", split).replace("{draws}", draws)
    }
}

fn digests(scenario: &Scenario) -> Vec<(MethodName, String)> {
    let runs = federated::run(scenario, &Options::default(), &()).unwrap();
    runs.into_iter()
        .map(|run| (run.method, run.digest.to_string()))
        .collect()
}

/// What a run is changed by is used, and nothing else: each key is changed for each shipped method.
/// (`privacy.delta` changes what is told of a run.)
#[test]
fn a_setting_is_told_of_exactly_where_it_changes_no_digest() {
    let mut wrong = Vec::new();
    for base in [Base::Line, Base::Cube] {
        let usual = digests(&base.scenario(&[]));
        for changed in CHANGED {
            let setting = [base.setting(changed)];
            let changed = base.scenario(&setting);
            for ((method, before), (_, after)) in usual.iter().zip(digests(&changed)) {
                // As it is beside the usual value: what decides about others is not what is set.
                let mut alone = base.scenario(&[]);
                alone.federation.methods = vec![*method];
                let told = alone.unused(&setting);
                // Its usual clipping norm follows from the split, and `default` gives another.
                let given = matches!(base, Base::Line)
                    && setting[0].contains("splits")
                    && *method == method::DP_FTS;
                if told.is_empty() != (*before != after) && !given {
                    wrong.push(format!("{}, {base:?}, {method}: {told:?}", setting[0]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The ε of a plan follows from what samples cost, unless it is set.
#[test]
fn the_noise_of_samples_does_nothing_to_a_plan_whose_loss_is_set() {
    let both = settings(&["prior.epsilon=0.7", "privacy.noise_multiplier=2.5"]);
    let before = Base::Line.scenario(&both[..1]);
    let after = Base::Line.scenario(&both);
    for ((method, before), (_, after)) in digests(&before).iter().zip(digests(&after)) {
        let mut alone = Base::Line.scenario(&[]);
        alone.federation.methods = vec![*method];
        let told = alone
            .unused(&both)
            .iter()
            .any(|told| told.key == "privacy.noise_multiplier");
        assert_eq!(told, *before == after, "{method}");
    }
}

/// A folder's scenario has every key: whoever goes on from it sets the noise of samples, and the
/// plans beside them stay at the ε that was written out.
#[test]
fn an_epsilon_that_is_given_holds_methods_where_they_are() {
    let noise = settings(&["privacy.noise_multiplier=2.5"]);
    let told = |scenario: &Scenario| {
        let told = scenario.unused(&noise);
        told.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let usual = Base::Line.scenario(&[]);
    let written = usual.prior.as_ref().unwrap().plan.epsilon;
    let text = toml::to_string(&usual).unwrap();
    let again = |set: &[String]| Scenario::parse("t", &text, set).unwrap();
    assert_eq!(told(&usual), [""; 0]);
    let mut changed = again(&noise);
    assert_eq!(changed.prior.as_ref().unwrap().plan.epsilon, written);
    let said = told(&changed);
    assert!(
        said.len() == 1
            && said[0].contains("changes nothing for ")
            && said[0].contains("dp-prior, ")
            && !said[0].contains("dp-fts"),
        "{said:?}"
    );
    changed.federation.methods = vec![method::DP_PRIOR.named()];
    assert!(
        told(&changed)[0].contains("does nothing"),
        "{:?}",
        told(&changed)
    );
    // What is set on the same line is seen.
    let both = settings(&["privacy.noise_multiplier=2.5", "prior.epsilon=0.7"]);
    assert!(again(&both).unused(&both).is_empty());
}

/// A method of the scenario's own with other keys uses what the scenario's do not.
#[test]
fn a_method_with_keys_of_its_own_is_judged_by_them() {
    let own = [
        "method.m.base=ts",
        "method.m.set.surrogate.own_draw=\"features\"",
        "federation.methods=[\"m\"]",
    ];
    let features = settings(&["surrogate.features=13"]);
    let scenario = |set: &[&str]| {
        Scenario::parse("d", Shipped::find("default").unwrap().text, &settings(set)).unwrap()
    };
    assert!(scenario(&own).unused(&features).is_empty());
    let idle = [
        "method.m.base=campaign",
        "method.m.set.surrogate.lengthscale=0.3",
        "federation.methods=[\"m\"]",
    ];
    assert_eq!(
        scenario(&idle)
            .unused(&[])
            .iter()
            .map(|told| told.key.as_str())
            .collect::<Vec<_>>(),
        ["method.m.set.surrogate.lengthscale"]
    );
    let told = scenario(&["federation.methods=[\"ts\"]"]).unused(&features);
    assert_eq!(
        told.iter()
            .map(|told| told.key.as_str())
            .collect::<Vec<_>>(),
        ["surrogate.features"]
    );
}

#[test]
fn what_does_nothing_is_told_before_a_run_and_a_sweep() {
    let folder = scratch("unused");
    let said = |arguments: &[&str]| text(&done(&folder, arguments).stderr).to_owned();
    let alone = [
        "federation.methods=[\"ts\"]",
        "runs=1",
        "federation.rounds=2",
    ];
    let told = said(&with(
        &["run", SMALL, "--out", "a"],
        &[&alone[..], &["privacy.noise_multiplier=3"]].concat(),
    ));
    let expected = "Warning: `privacy.noise_multiplier` is set and does nothing: no method of this scenario uses it. Who would: \
                    dp-fts, dp-fts-de";
    assert!(told.contains(expected), "{told}");
    // Used by one of two, or not set at all: nothing is told.
    let both = [
        "federation.methods=[\"ts\", \"dp-fts\"]",
        "runs=1",
        "federation.rounds=2",
        "privacy.noise_multiplier=3",
    ];
    assert!(!said(&with(&["run", SMALL, "--out", "b"], &both)).contains("does nothing"));
    assert!(!said(&with(&["run", SMALL, "--out", "c"], &alone)).contains("does nothing"));
    // A grid along something that nothing uses.
    let grid = [&alone[..], &["privacy.clipping_norm=1,2"]].concat();
    let told = said(&with(
        &["sweep", SMALL, "--seeds", "1", "--out", "d"],
        &grid,
    ));
    assert_eq!(
        told.matches("`privacy.clipping_norm` is set and does nothing")
            .count(),
        1,
        "{told}"
    );
    // Along methods, one of which uses it.
    let grid = [
        "federation.methods=[\"ts\"],[\"dp-fts\"]",
        "runs=1",
        "federation.rounds=2",
        "privacy.clipping_norm=3",
    ];
    let told = said(&with(
        &["sweep", SMALL, "--seeds", "1", "--out", "e"],
        &grid,
    ));
    assert!(!told.contains("does nothing"), "{told}");
}
