//! The private vote: what it costs, what it may leak, that it shares something, and that agents
//! alone need nobody.

use std::num::{NonZeroU32, NonZeroUsize};

use sordino_core::federated::{Draws, Encoding, Estimator};
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::{Event, NoiseMultiplier};
use sordino_engine::federated::vote::context::ballot;
use sordino_engine::{DriverKind, Options, federated};
use sordino_experiment::metrics::vote_event;
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::Scenario;

use crate::util::{done, json, printed, scratch, small};

const SMALL: &str = include_str!("../small.toml");
const METHODS: [&str; 3] = [
    "federation.methods=[\"ts\", \"vote\", \"alone\", \"dp-prior\"]",
    "prior.epsilon=3",
    "prior.points_per_axis=12",
];

fn run(scenario: &Scenario, options: &Options) -> Vec<MethodRun> {
    federated::run(scenario, options, &()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn both_drivers_print_one_digest_also_on_links_that_fail() {
    for faults in [
        &[][..],
        &[
            "faults.loss=0.3",
            "faults.broadcast_loss=0.3",
            "faults.dropout=0.2",
        ],
    ] {
        let scenario = small("", &[&METHODS[..], faults].concat());
        let lockstep = run(
            &scenario,
            &Options {
                driver: DriverKind::Lockstep,
                ..Options::default()
            },
        );
        let threads = NonZeroUsize::new(3);
        let shards = NonZeroU32::new(4);
        let tokio = run(
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
            lockstep.iter().map(|run| run.releases).collect::<Vec<_>>()[..4],
            [0, 1, 0, 5]
        );
    }
}

/// Everything that a vote can change: one agent's ballot is used, or counts as nothing.
#[test]
fn one_vote_changes_the_sum_by_at_most_its_sensitivity() {
    let scenario = small("", &METHODS);
    let config = {
        use sordino_engine::federated::context;
        let vote = scenario.methods().find(|method| method.is_vote()).unwrap();
        context::config(&scenario, vote).unwrap()
    };
    let noise_multiplier = NoiseMultiplier::new(1.0).unwrap();
    let config = ballot(
        &config,
        60,
        noise_multiplier,
        scenario.privacy.grid_exponent,
    )
    .unwrap();
    let encoding = Draws::new(&config, 0).unwrap();
    // Every one of seven agents counts a seventh, and a vote has norm 1.
    assert!((encoding.l2_sensitivity() - 1.0 / 7.0).abs() < 1e-15);
    let radius = encoding.mechanism().unwrap().radius() as f64;
    let norm = |with: &[f64]| {
        let mut sums = vec![0i64; 60];
        encoding.add_if(true, 3, with, &mut sums).unwrap();
        sums.iter()
            .map(|x| (*x as f64) * (*x as f64))
            .sum::<f64>()
            .sqrt()
    };
    let one_hot = |place: usize| {
        let mut ballot = vec![0.0; 60];
        ballot[place] = 1.0;
        ballot
    };
    for place in [0, 17, 59] {
        let changed = norm(&one_hot(place));
        // Not above the radius to which the noise is scaled, and the whole of it is used.
        assert!(
            changed <= radius && changed > 0.99 * radius,
            "{changed} {radius}"
        );
    }
    // Negative control: who votes for everything, or with more weight, is cut down to one vote's
    // norm.
    for wrong in [
        vec![1.0; 60],
        vec![50.0; 60],
        one_hot(4).iter().map(|x| 7.0 * x).collect(),
    ] {
        let changed = norm(&wrong);
        assert!(
            changed <= radius && changed > 0.9 * radius,
            "{changed} {radius}"
        );
    }
    // Without the cut it would be more: seven votes are.
    let mut all = vec![0i64; 60];
    for agent in 0..7 {
        encoding.add_if(true, agent, &one_hot(9), &mut all).unwrap();
    }
    assert!(all[9] as f64 > 6.9 * radius);
}

#[test]
fn a_vote_is_charged_once_and_costs_what_the_plan_of_the_prior_costs() {
    let scenario = small("", &METHODS);
    let event = vote_event(&scenario);
    let delta = scenario.privacy.delta;
    let epsilon = |event: &Event| {
        let mut accountant = PldAccountant::new();
        accountant.compose(event, 1).unwrap();
        accountant.epsilon(delta).unwrap().epsilon
    };
    assert!(
        epsilon(&event) <= 3.0 && epsilon(&event) > 0.99 * 3.0,
        "{}",
        epsilon(&event)
    );
    let Event::PoissonSampledGaussian {
        sampling_probability,
        noise_multiplier,
        relation,
    } = event
    else {
        panic!("{event:?}")
    };
    // Negative control: noise that is 5 % smaller costs more than was promised.
    let noise_multiplier = 0.95 * noise_multiplier;
    assert!(
        epsilon(&Event::PoissonSampledGaussian {
            sampling_probability,
            noise_multiplier,
            relation
        }) > 3.0
    );
    // What the server charges is that event.
    let vote = scenario.methods().find(|method| method.is_vote()).unwrap();
    let base = federated::context::config(&scenario, vote).unwrap();
    let together = scenario.prior.as_ref().unwrap().together().unwrap();
    let config = ballot(&base, 60, together, scenario.privacy.grid_exponent).unwrap();
    assert_eq!(Estimator::<f64>::event(&&config, 0).unwrap(), Some(event));
    let folder = scratch("vote-charged");
    std::fs::write(folder.join("small.toml"), SMALL).unwrap();
    let set: Vec<&str> = METHODS
        .iter()
        .flat_map(|setting| ["--set", setting])
        .collect();
    let run = [
        &["run", "small.toml", "--out", "f", "--format", "json"],
        &set[..],
    ]
    .concat();
    let summary = json(&done(&folder, &run));
    let methods = summary["methods"].as_array().unwrap();
    let of = |name: &str| {
        methods
            .iter()
            .find(|method| method["name"] == name)
            .unwrap_or_else(|| panic!("{summary}"))
    };
    let told = of("vote").to_string();
    assert!(
        told.contains("\"dp\"") && of("alone").to_string().contains("nothing released"),
        "{told}"
    );
    let ledger = std::fs::read_to_string(folder.join("f/ledger.jsonl")).unwrap();
    // Charges of equal releases in all runs are one line.
    let line = |name: &str| {
        ledger
            .lines()
            .find(|line| line.contains(&format!("\"method\":\"{name}\"")))
    };
    let charged: serde_json::Value = serde_json::from_str(line("vote").unwrap()).unwrap();
    assert_eq!(
        (&charged["first_release"], &charged["last_release"]),
        (&0.into(), &0.into())
    );
    let multiplier = charged["events"][0]["poisson_sampled_gaussian"]["noise_multiplier"].as_f64();
    assert_eq!(
        (charged["events"].as_array().map(Vec::len), multiplier),
        (Some(1), Some(together.value()))
    );
    assert!(
        line("alone").is_none() && line("dp-prior").is_some(),
        "{ledger}"
    );
    // Tables, pictures and the words.
    let table = std::fs::read_to_string(folder.join("f/table.txt")).unwrap();
    assert!(
        table.contains("vote") && table.contains("1 Gaussian release of multiplier"),
        "{table}"
    );
    assert!(
        std::fs::read_to_string(folder.join("f/regret.svg"))
            .unwrap()
            .contains(">vote<")
    );
    let explained = printed(
        &folder,
        &[&["privacy", "explain", "small.toml"], &set[..]].concat(),
    );
    assert!(
        explained.contains("With vote: 1 release, of one vote of every agent"),
        "{explained}"
    );
    assert!(
        explained.contains("vote: ε = 2.99") || explained.contains("vote: ε = 3"),
        "{explained}"
    );
    // A budget that does not admit it: nothing is released, and agents go on alone.
    let poor = [
        "run",
        "small.toml",
        "--out",
        "g",
        "--set",
        "privacy.max_epsilon=1",
    ];
    done(&folder, &[&poor, &set[..]].concat());
    let table = std::fs::read_to_string(folder.join("g/table.txt")).unwrap();
    assert!(
        table.contains("no release: the first would exceed privacy.max_epsilon = 1"),
        "{table}"
    );
}

/// Agents with nearly one function: where noise is small, everybody's first own question is as good
/// as the best of all initial points; agents that share nothing are far from that. The control is
/// noise that drowns the votes.
#[test]
fn the_winner_of_a_vote_is_worth_asking() {
    let after_first = |epsilon: &str| {
        let settings = [
            "federation.methods=[\"ts\", \"vote\"]",
            "federation.agents=60",
            "federation.rounds=2",
            "runs=6",
            "prior.points_per_axis=12",
            epsilon,
        ];
        let runs = run(&small("", &settings), &Options::default());
        let mean = |name: &str| {
            let of: Vec<f64> = runs
                .iter()
                .filter(|run| run.method.name() == name)
                .map(|run| run.regret[1])
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        (mean("vote"), mean("ts"))
    };
    let (vote, alone) = after_first("prior.epsilon=20");
    assert!(vote < 0.6 * alone, "{vote} {alone}");
    let (drowned, _) = after_first("prior.epsilon=0.02");
    assert!(drowned > vote, "{drowned} {vote}");
}
