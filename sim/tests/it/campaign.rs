//! The simulated campaign: it releases what real sites would, uses no constant of the scenario, and
//! its file is left.

use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use sordino_engine::federated::named::Named;
use sordino_engine::federated::{self, DriverError};
use sordino_engine::{DriverKind, Options};
use sordino_experiment::journal::Journal;
use sordino_experiment::record::{MethodRun, Source};
use sordino_experiment::scenario::Scenario;
use sordino_experiment::world::gp_sample::grid;
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::prior::PriorFile;
use sordino_host::prior::guide::Guide;
use sordino_host::prior::publish::{Prepared, Publication, Study};
use sordino_host::server::SimulatedSources;
use sordino_host::space::{Goal, Space};

use crate::util::{SMALL, StopAfter, charges, done, json, printed, refused, scratch, small, with};

const SET: [&str; 6] = [
    "federation.methods=[\"ts\", \"campaign\", \"alone\"]",
    "federation.agents=24",
    "federation.initial_points=10",
    "federation.rounds=6",
    "privacy.delta=0.004",
    "prior.epsilon=3",
];

fn execute(scenario: &Scenario, options: &Options) -> Vec<MethodRun> {
    federated::run(scenario, options, &()).unwrap_or_else(|error| panic!("{error}"))
}

fn only(settings: &[&str]) -> MethodRun {
    let one = ["federation.methods=[\"campaign\"]", "runs=1"];
    execute(
        &small("", &[&SET[..], &one, settings].concat()),
        &Options::default(),
    )
    .remove(0)
}

/// The sums that leave are those of a party that holds everybody's first points and publishes them,
/// and so is the file, but for its note and for the contributors whose points the label does not
/// tell.
#[test]
fn what_is_released_is_what_the_studies_would_publish() {
    let run = only(&[]);
    let scenario = small("", &SET);
    let Named { space, .. } = Named::of(&scenario.objective).unwrap();
    let numbers = Named::numbers(&scenario.objective, &grid(60, 1), 1);
    let study = |agent: u32| {
        let own = run
            .observations
            .iter()
            .filter(|observed| observed.agent == agent && observed.round == 0);
        let values: Vec<_> = own
            .map(|observed| (numbers[observed.candidate as usize].clone(), observed.y))
            .collect();
        assert_eq!(values.len(), 10);
        Study {
            name: agent.to_string(),
            values,
        }
    };
    let studies: Vec<Study> = (0..24).map(study).collect();
    let publication = Publication {
        space,
        goal: Goal::Maximize,
        value: None,
        epsilon: 3.0,
        delta: 0.004,
        releases: 2,
        features: 100,
        dataset: "small".into(),
        by: None,
        note: None,
        published: None,
    };
    let data = "d".into();
    let unit = "agent".into();
    let accounting = Accounting::Gaussian;
    let terms = Terms {
        data,
        unit,
        records: None,
        accounting,
        epsilon_max: None,
        delta: 0.004,
    };
    let published = |studies: &[Study]| {
        let enrolled: Vec<Option<&Study>> = studies.iter().map(Some).collect();
        let sources = SimulatedSources::new(scenario.run_seed(0));
        let prepared = Prepared::among(&publication, 24, numbers.clone(), 10).unwrap();
        prepared
            .publish(
                &enrolled,
                sources,
                Ledger::in_memory(&terms).unwrap(),
                |_| {},
            )
            .unwrap()
    };
    let whole = published(&studies);
    let sums: Vec<f64> = whole
        .releases
        .iter()
        .flat_map(|release| release.sum.clone())
        .collect();
    assert_eq!(run.released, sums);
    let left = PriorFile::parse(&run.prior.as_ref().unwrap().as_ref().unwrap().bytes).unwrap();
    assert!(left.label.simulated && left.label.note.as_ref().unwrap().contains("no privacy"));
    assert_eq!(
        (left.weights, left.covariance, left.landmarks),
        (
            whole.file.weights,
            whole.file.covariance,
            whole.file.landmarks
        )
    );
    assert_eq!(
        (left.label.epsilon, left.label.self_test),
        (whole.file.label.epsilon, whole.file.label.self_test)
    );
    assert!(
        left.label.epsilon <= 3.0 && left.label.epsilon > 2.999,
        "{}",
        left.label.epsilon
    );
    // Negative control: another value of one agent is another sum.
    let mut other = studies;
    other[5].values[2].1 += 0.5;
    assert_ne!(published(&other).releases[0].sum, whole.releases[0].sum);
}

/// No constant of the scenario is used, and no unit either.
#[test]
fn nothing_is_chosen() {
    let usual = only(&[]);
    for settings in [
        &["surrogate.lengthscale=0.7", "surrogate.signal_variance=9"][..],
        &["surrogate.noise_variance=3", "surrogate.features=8"],
        &["federation.constant=-4"],
        &[
            "surrogate.kernel=\"matern-5/2\"",
            "surrogate.own_draw=\"features\"",
        ],
        &[
            "privacy.clipping_norm=1",
            "privacy.sampling_probability=0.1",
            "privacy.noise_multiplier=5",
        ],
        &[
            "prior.releases=[0, 3]",
            "prior.points_per_axis=5",
            "prior.shares=[3, 1]",
        ],
        &[
            "surrogate.regularization=0.5",
            "surrogate.feature_seed=9",
            "surrogate.normalize_features=false",
        ],
        &[
            "privacy.grid_exponent=18",
            "privacy.weight_concentration=2",
            "federation.splits=[2]",
        ],
    ] {
        let other = only(settings);
        assert_eq!(
            (usual.digest, &usual.regret, &usual.released),
            (other.digest, &other.regret, &other.released)
        );
    }
    // Negative controls: what it does depend on.
    for settings in [
        &["prior.epsilon=1"][..],
        &["federation.initial_points=9"],
        &["privacy.delta=0.001"],
    ] {
        assert_ne!(usual.released, only(settings).released, "{settings:?}");
    }
}

#[test]
fn both_drivers_shards_and_stops_print_one_digest_also_on_links_that_fail() {
    for faults in [
        &[][..],
        &[
            "faults.loss=0.3",
            "faults.broadcast_loss=0.3",
            "faults.dropout=0.2",
        ],
    ] {
        let scenario = small("", &[&SET[..], faults].concat());
        let lockstep = execute(
            &scenario,
            &Options {
                driver: DriverKind::Lockstep,
                ..Options::default()
            },
        );
        let threads = NonZeroUsize::new(3);
        let shards = NonZeroU32::new(5);
        let tokio = execute(
            &scenario,
            &Options {
                driver: DriverKind::Tokio,
                threads,
                shards,
                ..Options::default()
            },
        );
        assert_eq!(lockstep, tokio, "{faults:?}");
        assert_eq!(
            lockstep.iter().map(|run| run.releases).collect::<Vec<_>>(),
            [0, 2, 0, 0, 2, 0]
        );
        // Stopped in every round.
        let folder = scratch(&format!("campaign-pieces-{}", faults.len()));
        let mut journal = Journal::create(&folder, &scenario.resolved(), None).unwrap();
        let results = loop {
            let progress = StopAfter::new(1);
            let driver = DriverKind::Lockstep;
            let stop = progress.stop.clone();
            let options = Options {
                driver,
                journal: Some(Arc::new(journal)),
                stop,
                ..Options::default()
            };
            match federated::run(&scenario, &options, &progress) {
                Err(DriverError::Interrupted) => {
                    journal = Journal::resume(&folder, &scenario.resolved(), None).unwrap();
                }
                results => break results.unwrap(),
            }
        };
        assert_eq!(results, lockstep, "{faults:?}");
    }
}

#[test]
fn a_campaign_is_charged_twice_and_told_as_what_it_is() {
    let folder = scratch("campaign-charged");
    let summary = json(&done(
        &folder,
        &with(&["run", SMALL, "--out", "f", "--format", "json"], &SET),
    ));
    let methods = summary["methods"].as_array().unwrap();
    let told = methods
        .iter()
        .find(|method| method["name"] == "campaign")
        .unwrap();
    let epsilon = told["losses"][0]["value"].as_f64().unwrap();
    assert!(
        (epsilon - 3.0).abs() < 0.01
            && told["facts"]["event"]
                .as_str()
                .unwrap()
                .starts_with("2 Gaussian"),
        "{told}"
    );
    let ledger = std::fs::read_to_string(folder.join("f/ledger.jsonl")).unwrap();
    let charged: Vec<&str> = ledger
        .lines()
        .filter(|line| line.contains("\"method\":\"campaign\""))
        .collect();
    assert!(
        charged.iter().all(|line| line.contains("\"gaussian\"")) && charges(&ledger) == 4,
        "{ledger}"
    );
    let table = std::fs::read_to_string(folder.join("f/table.txt")).unwrap();
    assert!(
        table.contains("campaign: 2 Gaussian releases of multiplier"),
        "{table}"
    );
    let rounds = std::fs::read_to_string(folder.join("f/rounds.csv")).unwrap();
    let row = rounds
        .lines()
        .find(|line| line.starts_with("0,campaign,0,"))
        .unwrap();
    assert!(row.contains(",3.0") || row.contains(",2.99"), "{row}");
    let file = "f/prior-campaign.safetensors";
    assert!(printed(&folder, &["prior", "show", file]).contains("NOBODY: this is a simulation"));
    let explained = printed(&folder, &with(&["privacy", "explain", SMALL], &SET));
    assert!(
        explained.contains("With campaign: 2 releases, before the first question"),
        "{explained}"
    );
    // A budget with room for one release, and for none: a file of one, and none.
    let poor = |out: &'static str, most: &'static str| {
        done(
            &folder,
            &[
                &with(&["run", SMALL, "--out", out], &SET)[..],
                &["--set", most],
            ]
            .concat(),
        );
        std::fs::read_to_string(folder.join(out).join("table.txt")).unwrap()
    };
    let one = poor("one", "privacy.max_epsilon=2.5");
    assert!(one.contains("campaign: 1 of 2 Gaussian releases"), "{one}");
    let shown = printed(
        &folder,
        &["prior", "show", "one/prior-campaign.safetensors"],
    );
    assert!(shown.contains("1 release"), "{shown}");
    let none = poor("none", "privacy.max_epsilon=1");
    assert!(
        none.contains("campaign: no release: the first would exceed"),
        "{none}"
    );
    let readme = std::fs::read_to_string(folder.join("none/README.md")).unwrap();
    assert!(
        readme.contains("No `prior-campaign.safetensors`: no release took place"),
        "{readme}"
    );
}

/// Losses with names, a logarithm, a category, whole numbers, and a unit for each agent.
#[test]
fn losses_of_a_table_are_minimised() {
    let folder = scratch("campaign-table");
    let mut table = "agent,rate,kind,depth,value\n".to_owned();
    for agent in 0..30 {
        for place in 0..36 {
            let exponent = place % 6;
            let kind = ["a", "b"][place / 6 % 2];
            let depth = 1 + place / 12;
            let away = (exponent as f64 - 2.0).powi(2)
                + if kind == "a" { 0.0 } else { 2.0 }
                + (depth as f64 - 2.0).powi(2);
            let value = f64::from(10 * agent) + (1.0 + f64::from(agent % 7)) * away;
            writeln!(table, "{agent},1e-{exponent},{kind},{depth},{value}").unwrap();
        }
    }
    std::fs::write(folder.join("t.csv"), table).unwrap();
    let text = "name = \"t\"\ndescription = \"t\"\nruns = 6\n[objective]\nkind = \"table\"\n\
                inputs = [\"rate\", \"kind\", \"depth\"]\n\
                categorical_inputs = [\"kind\"]\ncategories = [[\"a\", \"b\"]]\ninput_ranges = [[1e-5, 1], [1, 3]]\n\
                log_inputs = [\"rate\"]\ninteger_inputs = [\"depth\"]\ngoal = \"minimize\"\n[federation]\nrounds = 3\n\
                initial_points = 6\nmethods = [\"alone\", \"campaign\"]\n[surrogate]\nlengthscale = 0.5\nnoise_variance = 0.01\n\
                features = 20\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n[prior]\nepsilon = 10\n";
    std::fs::write(folder.join("t.toml"), text).unwrap();
    let summary = json(&done(
        &folder,
        &[
            "run", "t.toml", "--data", "t.csv", "--out", "f", "--format", "json",
        ],
    ));
    let after = |name: &str| {
        let methods = summary["methods"].as_array().unwrap();
        let found = methods
            .iter()
            .find(|method| method["name"] == name)
            .unwrap();
        found["regret_at"]["2"].as_f64().unwrap()
    };
    // A setting is TOML, in whatever quotes, also where the number of agents is the table's. A
    // second reader of settings knew one kind of quotes, and missed `federation.agents`.
    let kind = "objective.kind='table'";
    let more = ["--set", kind, "--runs", "1", "--out", "quoted"];
    done(
        &folder,
        &[&["run", "t.toml", "--data", "t.csv"][..], &more].concat(),
    );
    // The place of the best setting is common, and the unit of a loss is not.
    assert!(after("campaign") < 0.85 * after("alone"), "{summary}");
    let file = PriorFile::load(&folder.join("f/prior-campaign.safetensors")).unwrap();
    assert_eq!(
        (file.label.goal, file.label.space.parameters().len()),
        (Goal::Minimize, 3)
    );
    let guide = Guide::new(&file, &file.label.space, Goal::Minimize).unwrap();
    // Larger is better inside a file: the least losses are where exponent, kind and depth are 2, a
    // and 2.
    let believed = guide
        .believed(&[
            vec![1e-2, 0.0, 2.0],
            vec![1e-2, 1.0, 2.0],
            vec![1e-5, 0.0, 2.0],
        ])
        .unwrap();
    assert!(
        believed[0].mean > believed[1].mean && believed[1].mean > believed[2].mean,
        "{believed:?}"
    );
    // Neither method asks its users for constants, so nothing is doubted.
    assert!(
        !std::fs::read_to_string(folder.join("f/README.md"))
            .unwrap()
            .contains("misled")
    );
    // Where nothing is released, agents of a campaign ask what agents alone ask, whatever their
    // inputs are, from three first points on; and that differs from run to run.
    let asked = |epsilon_max: &str, out: &str| -> Vec<Vec<String>> {
        let settings = [
            "federation.initial_points=3",
            "federation.rounds=9",
            epsilon_max,
        ];
        let words = ["run", "t.toml", "--data", "t.csv", "--out", out];
        done(&folder, &with(&words, &settings));
        let rows = std::fs::read_to_string(folder.join(out).join("observations.csv")).unwrap();
        let mut names = rows.lines().next().unwrap().split(',');
        let [run, method, source, candidate] = ["run", "method", "source", "candidate"]
            .map(|wanted| names.clone().position(|name| name == wanted).unwrap());
        assert!(names.any(|name| name == "candidate"));
        let of = |wanted: [&str; 2]| -> Vec<String> {
            let rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
            rows.filter(|row| [row[run], row[method]] == wanted && row[source] != "initial")
                .map(|row| row[candidate].to_owned())
                .collect()
        };
        ["alone", "campaign"]
            .into_iter()
            .flat_map(|method| ["0", "1"].map(|run| of([run, method])))
            .collect()
    };
    let same = asked("privacy.max_epsilon=0.00001", "none");
    assert!(same[0].len() == 270 && same[..2] == same[2..], "{same:?}");
    assert_ne!(same[0], same[1]);
    // Negative control: a file is heard.
    let other = asked("privacy.max_epsilon=100", "some");
    assert!(other[..2] == same[..2] && other[2..] != same[2..]);
}

/// Whose choice the queries after the first points were, by the file that a run left: of a file
/// that is read, and of which the values speak for it.
fn chosen(run: &MethodRun, space: &Space, points: &[Vec<f64>]) -> (PriorFile, Vec<Source>) {
    let left = run.prior.as_ref().unwrap().as_ref().unwrap();
    let file = PriorFile::parse(&left.bytes).unwrap();
    let guide = Guide::new(&file, space, Goal::Maximize).unwrap();
    let mut told: Vec<Vec<(&[f64], f64)>> = vec![Vec::new(); 24];
    let mut sources = Vec::new();
    for observed in &run.observations {
        let known = &mut told[observed.agent as usize];
        if observed.round > 0 {
            let is_file = guide.is_asked(known.len()) && guide.is_borne_out(known).unwrap();
            sources.push(if is_file { Source::Prior } else { Source::Own });
        }
        known.push((&points[observed.candidate as usize], observed.y));
    }
    (file, sources)
}

/// All queries after the first were told as those of the file, also where it was not read or the
/// agent's own values spoke against it.
#[test]
fn a_question_of_a_search_alone_is_the_agents_own() {
    let methods = "federation.methods=[\"campaign\", \"campaign-noise\"]";
    let scenario = small("", &[&SET[..], &[methods, "runs=1"]].concat());
    let Named { space, .. } = Named::of(&scenario.objective).unwrap();
    let points = Named::numbers(&scenario.objective, &grid(60, 1), 1);
    let mut found = Vec::new();
    for run in execute(&scenario, &Options::default()) {
        let asked = run.observations.iter().filter(|seen| seen.round > 0);
        let sources: Vec<Source> = asked.map(|seen| seen.source).collect();
        let (file, expected) = chosen(&run, &space, &points);
        assert_eq!(sources, expected, "{}", run.method);
        let own = sources.iter().filter(|of| **of == Source::Own).count();
        found.push((file.label.self_test, own, sources.len()));
    }
    let [(good, some, of), (noise, all, _)] = found[..] else {
        panic!("{found:?}")
    };
    assert!(good > 1.0 && (1..of).contains(&some), "{found:?}");
    assert!(noise < -1.0 && all == of, "{found:?}");
}

/// An agent of a federated prior asks by a model; one of trust 0 does not follow the common draw.
#[test]
fn a_query_by_a_model_that_follows_no_draw_is_the_agents_own() {
    let count = |settings: &[&str]| {
        let one = ["federation.methods=[\"dp-prior\"]", "runs=1"];
        let scenario = small("", &[&SET[..], &one, settings].concat());
        let run = execute(&scenario, &Options::default()).remove(0);
        let count = |source| {
            let of = run.observations.iter().filter(|seen| seen.source == source);
            of.count()
        };
        [Source::Initial, Source::Own, Source::Prior].map(count)
    };
    // Where the releases say little, agents' own values often speak for their own model.
    let [initial, own, prior] = count(&["prior.epsilon=0.3"]);
    assert_eq!((initial, own + prior), (240, 144));
    assert!(own > 0 && prior > 0, "{own} {prior}");
    // Controls: with more said all follow it, and where nothing is released nobody can.
    assert_eq!(count(&[]), [240, 0, 144]);
    assert_eq!(count(&["privacy.max_epsilon=0.00001"]), [240, 144, 0]);
}

#[test]
fn what_no_campaign_can_be_is_refused_by_name() {
    let folder = scratch("campaign-refused");
    let run = |set: &[&str]| {
        refused(
            &folder,
            2,
            &with(&["run", SMALL, "--out", "f"], &[&SET[..], set].concat()),
        )
    };
    let few = run(&["federation.initial_points=2"]);
    assert!(
        few.contains("federation.initial_points = 2` is not admissible; admissible: at least 3 with `campaign`"),
        "{few}"
    );
    let loud = run(&["prior.epsilon=1e6"]);
    assert!(
        loud.contains("each release of `campaign` a noise multiplier from 0.05"),
        "{loud}"
    );
    let long = run(&["federation.rounds=9995"]);
    assert!(
        long.contains(
            "method campaign: evaluations of each agent is 10005; admissible: at most 10000"
        ),
        "{long}"
    );
    let two = run(&["privacy.trust=\"two-servers\""]);
    assert!(
        two.contains("one-server with the private method `campaign`"),
        "{two}"
    );
}

/// Zeros in the place of contributions: the same charge and the same kind of file, which says that
/// it is of noise and knows nothing.
#[test]
fn the_ablation_of_a_campaign_is_its_noise_alone() {
    let folder = scratch("campaign-noise");
    let settings = [
        "federation.methods=[\"campaign\", \"campaign-noise\", \"alone\"]",
        "federation.agents=60",
        "prior.epsilon=10",
        "privacy.delta=0.001",
    ];
    let words = ["run", SMALL, "--out", "f", "--format", "json"];
    let summary = json(&done(
        &folder,
        &with(&words, &[&SET[..], &settings].concat()),
    ));
    let [shared, noise, alone] = ["campaign", "campaign-noise", "alone"].map(|name| {
        let methods = summary["methods"].as_array().unwrap();
        methods
            .iter()
            .find(|method| method["name"] == name)
            .unwrap()
    });
    assert_eq!(shared["losses"], noise["losses"]);
    let after = |method: &serde_json::Value| method["regret_at"]["6"].as_f64().unwrap();
    assert!(
        after(shared) < 0.5 * after(noise) && after(noise) > 0.5 * after(alone),
        "{summary}"
    );
    let [shared, noise] = ["campaign", "campaign-noise"].map(|method| {
        PriorFile::load(&folder.join(format!("f/prior-{method}.safetensors")))
            .unwrap()
            .label
    });
    assert!(
        shared.self_test > 10.0 && noise.self_test < 3.0,
        "{} {}",
        shared.self_test,
        noise.self_test
    );
    assert!(noise.note.unwrap().contains("method campaign-noise,"));
}

/// Agents with nearly one function, whose values have a scale and an offset that nobody told the
/// method.
#[test]
fn a_campaign_shares_what_is_common() {
    let settings = ["federation.agents=60", "federation.rounds=4", "runs=2"];
    let summed = |epsilon: &str| {
        let runs = execute(
            &small("", &[&SET[..], &settings, &[epsilon]].concat()),
            &Options::default(),
        );
        let of = |name: &str| {
            let own = runs.iter().filter(|run| run.method.name() == name);
            own.map(|run| run.regret[1..].iter().sum::<f64>())
                .sum::<f64>()
        };
        (of("campaign"), of("alone"))
    };
    let (campaign, alone) = summed("prior.epsilon=10");
    assert!(campaign < 0.5 * alone, "{campaign} {alone}");
    // Negative control: what is drowned is not believed, and costs little.
    let (drowned, same) = summed("prior.epsilon=0.02");
    assert_eq!(same, alone);
    assert!(
        drowned > campaign && drowned < 1.2 * alone,
        "{drowned} {alone}"
    );
}
