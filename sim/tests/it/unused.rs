//! Settings that no method of a scenario uses: which they are is found by trying, and told.

use std::path::Path;

use sordino_engine::{Options, federated, parse};
use sordino_experiment::scenario::unused::keys_of;
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
const EVERYBODY: [&str; 16] = [
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
    "faults.trace_digest",
    // No result follows from these two either, which is what they are there to show.
    "faults.duplicate",
    "faults.reorder",
    // Nothing that is computed follows from it: what is said of a run does.
    "privacy.delta",
];

/// The keys of a trust model's scenarios in these sections, as `sordino scenario keys` has them.
fn keys(trust: &str, sections: &[&str]) -> Vec<String> {
    let folder = scratch("unused-keys");
    let text = printed(&folder, &["scenario", "keys", "--trust", trust]);
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
        }
        let key = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
            .and_then(|rest| rest.split(' ').next());
        if let Some(key) = key.filter(|_| sections.contains(&section)) {
            found.push(format!("{section}.{key}"));
        }
    }
    found.sort();
    found
}

/// The keys of settings, and further ones.
fn known<'s>(changed: &[&'s str], more: &[&'s str]) -> Vec<&'s str> {
    let tried = changed
        .iter()
        .map(|setting| setting.split_once('=').unwrap().0);
    let mut known: Vec<&str> = tried.chain(more.iter().copied()).collect();
    known.sort();
    known
}

/// A key that is new is changed above or below, or its author says there that every method uses it.
#[test]
fn every_key_of_a_method_is_tried() {
    assert_eq!(keys("federated", &SECTIONS), known(&CHANGED, &EVERYBODY));
    for other in &OTHERS {
        let found = keys(other.trust, other.sections);
        let of_methods = |setting: &&&str| !setting.starts_with("objective.");
        let changed: Vec<&str> = other.changed.iter().filter(of_methods).copied().collect();
        assert_eq!(found, known(&changed, other.everybody));
    }
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
                let told = alone.unused(&keys_of(&setting));
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

/// What a scenario of another trust model is made small by, the key of its methods, these, and its
/// keys with another value than the usual one.
struct Other {
    name: &'static str,
    trust: &'static str,
    sections: &'static [&'static str],
    small: &'static [&'static str],
    methods: (&'static str, &'static [&'static str]),
    changed: &'static [&'static str],
    /// Keys that every method uses.
    everybody: &'static [&'static str],
}

const OTHERS: [Other; 3] = [
    Other {
        name: "ldp-se",
        trust: "local",
        sections: &["users", "learning"],
        small: &["runs=1", "learning.rounds=400", "objective.points=30"],
        methods: (
            "learning.methods",
            &["random", "tgp-ucb", "ata-gp-ucb", "moma-gp-ucb"],
        ),
        changed: &[
            "users.epsilon=0.2",
            "users.reports_per_user=2",
            "users.norm_bound=9",
            "users.grid_exponent=4",
            "learning.constants=\"theorem\"",
            "learning.width_factor=0.01",
            "learning.regularization=30",
            "learning.failure_probability=0.9",
            "learning.accuracy=0.9",
            "learning.epoch_len=3",
            "learning.stride=1",
        ],
        everybody: &["users.noise_bound", "learning.rounds", "learning.methods"],
    },
    Other {
        name: "output-gp",
        trust: "output",
        sections: &["release", "prior"],
        small: &["runs=1", "objective.points=40", "release.draws=5"],
        methods: (
            "release.methods",
            &[
                "best",
                "gp-ucb",
                "random",
                "worst-case",
                "prior-conditional",
            ],
        ),
        changed: &[
            "release.epsilons=[2, 5]",
            "release.value_share=0.1",
            "release.draws=6",
            "prior.rounds=3",
            "prior.kernel=\"matern-1/2\"",
            "prior.lengthscale=0.02",
            "prior.noise_std=1",
            "prior.similarity=0.2",
            "prior.delta=1e-9",
            "prior.mean=2",
            "prior.scale=4",
        ],
        everybody: &["release.methods"],
    },
    Other {
        name: "outsourced-grid",
        trust: "outsourced",
        sections: &["curator", "modeler"],
        small: &[
            "runs=1",
            "objective.points_per_axis=12",
            "curator.out_dims=[3]",
            "modeler.rounds=120",
            "modeler.lengthscales=[2, 2]",
            "objective.noise_variance=0.1",
        ],
        methods: (
            "modeler.methods",
            &[
                "gp-ucb",
                "random",
                "paper-projection",
                "gaussian-projection",
            ],
        ),
        changed: &[
            "objective.noise_variance=0.5",
            "curator.epsilon=1",
            "curator.delta=0.01",
            "curator.out_dims=[2]",
            "curator.largest_norm=5",
            "modeler.kernel=\"matern-1/2\"",
            "modeler.lengthscales=[0.5, 0.5]",
            "modeler.signal_variance=9",
            "modeler.noise_variance=0.4",
            "modeler.private_noise_variance=2",
            "modeler.prior_mean=3",
            "modeler.failure_probability=0.9",
            "modeler.repeats=false",
        ],
        everybody: &["modeler.rounds", "modeler.methods"],
    },
];

impl Other {
    /// What one method came to, with these settings more.
    fn came_to(&self, method: &str, more: &[&str]) -> (String, Vec<String>) {
        let (key, _) = self.methods;
        let of = format!("{key}=[\"{method}\"]");
        let all = [self.small, &[&*of], more].concat();
        let shipped = Shipped::find(self.name).unwrap().text;
        let model = parse(self.name, shipped, &settings(&all)).unwrap();
        let keys: Vec<&str> = more
            .iter()
            .map(|setting| setting.split_once('=').unwrap().0)
            .collect();
        let told = model
            .unused(&keys)
            .iter()
            .map(ToString::to_string)
            .collect();
        let record = model.compute(&Options::default(), &()).unwrap();
        (format!("{:?}", record.summary.methods), told)
    }
}

/// As above, for the other trust models: by all that the summary says of a method, its digest where
/// it has one.
#[test]
fn in_every_trust_model_a_setting_is_told_of_exactly_where_it_changes_nothing() {
    let mut wrong = Vec::new();
    // What counts with other constants alone.
    let theorem = Other {
        small: &[
            "runs=1",
            "learning.rounds=400",
            "objective.points=30",
            "learning.constants=\"theorem\"",
            "learning.epoch_len=20",
        ],
        changed: &["learning.accuracy=0.9"],
        ..OTHERS[0]
    };
    // Where the noise of noisy rows follows from that of the values.
    let branin = Other {
        name: "outsourced-branin",
        small: &[
            "runs=1",
            "objective.points_per_axis=12",
            "modeler.rounds=20",
        ],
        changed: &["modeler.noise_variance=0.9", "modeler.signal_variance=30"],
        ..OTHERS[2]
    };
    for other in OTHERS.iter().chain([&theorem, &branin]) {
        for method in other.methods.1 {
            let (before, _) = other.came_to(method, &[]);
            for changed in other.changed {
                let (after, told) = other.came_to(method, &[changed]);
                if told.is_empty() != (before != after) {
                    wrong.push(format!("{}, {method}, {changed}: {told:?}", other.name));
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
            .unused(&keys_of(&both))
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
        let told = scenario.unused(&keys_of(&noise));
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
    assert!(again(&both).unused(&keys_of(&both)).is_empty());
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
    assert!(scenario(&own).unused(&keys_of(&features)).is_empty());
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
    let told = scenario(&["federation.methods=[\"ts\"]"]).unused(&keys_of(&features));
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

/// What is told on the way of a run that is done.
fn told_of(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let said = text(&done(folder, arguments).stderr).to_owned();
    let told = said.lines().filter(|line| line.contains("does nothing"));
    told.map(|line| {
        line.replacen("Warning: ", "", 1)
            .trim_end_matches('.')
            .to_owned()
    })
    .collect()
}

/// A key that counts beside another one only, in every trust model, on the command line and in a
/// file; what a file repeats, and what it says for methods that are left out for once, is no
/// setting.
#[test]
fn what_a_file_says_in_vain_is_told_too() {
    let folder = scratch("unused-file");
    let run = |scenario: &str, set: &[&str], out: &str| {
        told_of(&folder, &with(&["run", scenario, "--out", out], set))
    };
    let crash = "`faults.crash_rounds` is set and does nothing: it counts beside `faults.crash` above 0, which is not so here";
    let short = [
        "runs=1",
        "federation.rounds=2",
        "federation.methods=[\"ts\"]",
    ];
    let with_crash = [&short[..], &["faults.crash_rounds=4"]].concat();
    assert_eq!(run(SMALL, &with_crash, "a"), [crash]);
    // The folder's scenario has every key: what is told of is what its file gave for others.
    let federated = run("a/scenario.toml", &[], "b");
    let keys = ["federation.splits", "privacy.clipping_norm"];
    let begin =
        |key| format!("`{key}` is set and does nothing: no method of this scenario uses it");
    assert_eq!(federated.len(), keys.len(), "{federated:?}");
    for (told, key) in federated.iter().zip(keys) {
        assert!(told.starts_with(&begin(key)), "{told}");
    }
    let all = ["federation.methods=[\"dp-fts\"]"];
    assert_eq!(run("a/scenario.toml", &all, "c"), [""; 0]);
    // A file of methods that use what it says, asked for one that does not.
    assert_eq!(run(SMALL, &short, "d"), [""; 0]);

    let local = [
        "runs=1",
        "learning.rounds=50",
        "learning.methods=[\"tgp-ucb\"]",
    ];
    let stride = "`learning.stride` is set and does nothing: no method of this scenario uses it. Who would: ata-gp-ucb";
    let with_stride = [&local[..], &["learning.stride=7"]].concat();
    assert_eq!(run("ldp-se", &with_stride, "e"), [stride]);
    assert_eq!(run("e/scenario.toml", &[], "f"), [stride]);
    assert_eq!(run("ldp-se", &local, "g"), [""; 0]);
    // Without an epsilon nobody counts reports.
    let open = std::fs::read_to_string(folder.join("g/scenario.toml")).unwrap();
    let lines = open.lines().filter(|line| !line.starts_with("epsilon"));
    let open: Vec<&str> = lines
        .map(|line| match line.split_once(" = ") {
            Some(("reports_per_user", _)) => "reports_per_user = 3",
            _ => line,
        })
        .collect();
    std::fs::write(folder.join("open.toml"), open.join("\n")).unwrap();
    let reports = "`users.reports_per_user` is set and does nothing: it counts beside `users.epsilon`, which is not so here";
    assert_eq!(run("open.toml", &[], "h"), [reports]);
    // A grid along what nothing uses, of a file that says something in vain.
    let grid = [
        "--set",
        "users.grid_exponent=8,9",
        "--seeds",
        "1",
        "--out",
        "i",
    ];
    let told = told_of(&folder, &[&["sweep", "open.toml"][..], &grid].concat());
    let grid = reports.replace("reports_per_user", "grid_exponent");
    assert_eq!(told, [grid, reports.to_owned()]);
}
