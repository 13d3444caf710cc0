//! One execution, whoever drives it: digests do not depend on driver, threads or shards.

use std::num::{NonZeroU32, NonZeroUsize};

use sordino_core::digest::Digest;
use sordino_core::digest::combine;
use sordino_engine::{DriverKind, Options, federated};
use sordino_experiment::record::{MethodRun, is_report_round};
use sordino_experiment::scenario::{Scenario, method};

use crate::util::small;

/// A small federation in which every part of the protocol takes place.
fn scenario(settings: &[&str]) -> Scenario {
    small("", settings)
}

/// All methods of the federated prior, in a plan with two releases of the same data.
const PRIOR: [&str; 4] = [
    "federation.methods=[\"prior\", \"prior-noise\", \"prior-mean\", \"prior-unsafe\", \"dp-prior\"]",
    "prior.points_per_axis=12",
    "prior.releases=[0, 0, 4]",
    "prior.epsilon=8",
];

fn options(driver: DriverKind, threads: usize, shards: u32) -> Options {
    Options {
        driver,
        threads: NonZeroUsize::new(threads),
        shards: NonZeroU32::new(shards),
        ..Options::default()
    }
}

fn run(scenario: &Scenario, options: &Options) -> Vec<MethodRun> {
    federated::run(scenario, options, &()).unwrap_or_else(|error| panic!("{error}"))
}

fn digest(runs: &[MethodRun]) -> Digest {
    combine(runs.iter().map(|run| &run.digest))
}

#[test]
fn digests_do_not_depend_on_driver_threads_or_shards() {
    let single = ["surrogate.scalar=f32", "surrogate.own_draw=features"];
    for settings in [&[][..], &single, &PRIOR, &[&PRIOR[..], &single].concat()] {
        let scenario = scenario(settings);
        let reference = run(&scenario, &options(DriverKind::Lockstep, 1, 1));
        for threads in [1, 2, 7] {
            for shards in [1, 3, 64] {
                let other = run(&scenario, &options(DriverKind::Tokio, threads, shards));
                assert_eq!(other, reference, "{threads} threads, {shards} shards");
            }
        }
    }
}

/// 2,500 agents are three blocks of the transcript, the last one short. Shards cut them between
/// blocks and within.
#[test]
fn several_blocks_of_agents_are_one_execution() {
    let settings = [
        "federation.agents=2500",
        "federation.rounds=3",
        "runs=1",
        "surrogate.own_draw=features",
    ];
    let methods = "federation.methods=[\"fts\",\"dp-fts-de\"]";
    let scenario = scenario(&[&settings[..], &[methods]].concat());
    let reference = run(&scenario, &options(DriverKind::Lockstep, 1, 1));
    for (threads, shards) in [(1, 1), (2, 3), (7, 64), (2, 2500)] {
        let other = run(&scenario, &options(DriverKind::Tokio, threads, shards));
        assert_eq!(other, reference, "{threads} threads, {shards} shards");
    }
}

/// Quantiles need every agent's number in one place: they are kept at 11 rounds at most.
#[test]
fn quantiles_are_kept_at_report_rounds() {
    let scenario = scenario(&[
        "federation.rounds=45",
        "runs=1",
        "federation.methods=[\"ts\"]",
    ]);
    let [run] = &run(&scenario, &options(DriverKind::Tokio, 2, 3))[..] else {
        panic!("one method, one run")
    };
    let rounds: Vec<u32> = run
        .regret_quantiles
        .iter()
        .map(|(round, _)| *round)
        .collect();
    assert_eq!(rounds, (0..=45).step_by(5).collect::<Vec<_>>());
    for (round, [low, middle, high]) in &run.regret_quantiles {
        assert!(
            0.0 <= *low && low <= middle && middle <= high,
            "round {round}"
        );
        assert!(
            (*low..=*high * 7.0).contains(&run.regret[*round as usize]),
            "round {round}: the mean of seven"
        );
    }
    let all = |rounds| {
        (0..=rounds)
            .filter(|round| is_report_round(*round, rounds))
            .count()
    };
    assert_eq!(
        [1, 14, 20, 21, 40, 45, 46, 10_000].map(all),
        [2, 8, 11, 8, 11, 10, 11, 11]
    );
    assert!((1..500).all(|rounds| all(rounds) <= 11));
}

/// Frozen: a change of any simulated decision is "Value-breaking".
#[test]
fn digest_of_the_small_federation_is_frozen() {
    let runs = run(&scenario(&[]), &options(DriverKind::Lockstep, 1, 1));
    assert_eq!(digest(&runs).to_string(), FROZEN);
}
const FROZEN: &str = "013fb10f37e708965499c0d002c7371215c894d81332909453be1d30287c3901";

#[test]
fn seeds_scenarios_and_methods_matter_and_runs_are_a_prefix() {
    let base = run(&scenario(&[]), &options(DriverKind::Tokio, 2, 2));
    assert_ne!(
        digest(&base),
        digest(&run(
            &scenario(&["seed=6"]),
            &options(DriverKind::Tokio, 2, 2)
        ))
    );
    let more = run(&scenario(&["runs=3"]), &options(DriverKind::Tokio, 2, 2));
    assert_eq!(more[..base.len()], base[..]);
    // Methods are paired: alone or in company, a method does the same.
    let alone = run(
        &scenario(&["federation.methods=[\"dp-fts-de\"]"]),
        &options(DriverKind::Lockstep, 1, 1),
    );
    let company: Vec<_> = base
        .iter()
        .filter(|run| run.method == method::DP_FTS_DE)
        .cloned()
        .collect();
    assert_eq!(alone, company);
}

#[test]
fn exactly_t_releases_and_none_without_privacy() {
    for run in run(&scenario(&[]), &options(DriverKind::Lockstep, 1, 1)) {
        let expected = if ["ts", "fts", "fts-de"].contains(&run.method.name()) {
            0
        } else {
            14
        };
        assert_eq!(
            (run.releases, run.chain.len(), run.regret.len()),
            (expected, 15, 15),
            "{}",
            run.method
        );
        assert!(
            run.regret.windows(2).all(|pair| pair[1] <= pair[0]),
            "best so far never gets worse"
        );
    }
}

/// Every method of the federated prior releases as planned, and each does something else.
#[test]
fn the_prior_releases_by_its_plan_and_its_ablations_differ() {
    let runs = run(&scenario(&PRIOR), &options(DriverKind::Lockstep, 1, 1));
    for run in &runs {
        assert_eq!(
            (run.releases, run.chain.len(), run.regret.len()),
            (3, 15, 15),
            "{}",
            run.method
        );
        assert!(
            run.regret.windows(2).all(|pair| pair[1] <= pair[0]),
            "best so far never gets worse"
        );
        // Initial points are those of `ts`, and the only thing that precedes a release.
        let ts = scenario(&["federation.methods=[\"ts\"]"]);
        assert_eq!(
            run.regret[0],
            self::run(&ts, &options(DriverKind::Lockstep, 1, 1))[run.run as usize].regret[0]
        );
    }
    let mut digests: Vec<String> = runs.iter().map(|run| run.digest.to_string()).collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 10, "two runs of five methods");
}

/// The plan's budget is what is told; a budget of the filter below it ends the releases and nothing
/// else.
#[test]
fn a_spent_budget_ends_the_priors_releases() {
    let free = run(&scenario(&PRIOR), &options(DriverKind::Lockstep, 1, 1));
    let within = |epsilon: &str| {
        let budget = format!("privacy.max_epsilon={epsilon}");
        run(
            &scenario(&[&PRIOR[..], &[budget.as_str()]].concat()),
            &options(DriverKind::Tokio, 2, 3),
        )
    };
    // Unsampled Gaussians are counted exactly: a plan of 8 fits a budget of 8.
    assert!(
        within("8")
            .iter()
            .zip(&free)
            .all(|(within, free)| within.digest == free.digest && within.releases == 3)
    );
    let tight = within("7");
    for (free, tight) in free.iter().zip(&tight) {
        // `prior` protects nobody, so no budget holds it.
        let expected = if free.method == method::PRIOR { 3 } else { 2 };
        assert_eq!(
            (tight.releases, tight.regret.len()),
            (expected, 15),
            "{}",
            tight.method
        );
        assert_eq!(tight.chain[..4], free.chain[..4]);
    }
}

/// A budget for a few releases stops them; the runs go on alone.
#[test]
fn a_spent_budget_ends_the_releases_and_nothing_else() {
    let free = run(&scenario(&[]), &options(DriverKind::Lockstep, 1, 1));
    let tight = run(
        &scenario(&["privacy.max_epsilon=4"]),
        &options(DriverKind::Lockstep, 1, 1),
    );
    for (free, tight) in free
        .iter()
        .zip(&tight)
        .filter(|(free, _)| free.releases > 0)
    {
        let releases = tight.releases as usize;
        assert!(
            releases > 0 && releases < 14,
            "{}: {releases}",
            tight.method
        );
        assert_eq!(tight.chain[..releases], free.chain[..releases]);
        assert_ne!(tight.digest, free.digest);
        assert_eq!(tight.regret.len(), 15);
    }
}

/// With everything going wrong at once the run ends, ε and the noise are what they were, and every
/// wrong frame is refused by name.
#[test]
fn faults_cost_utility_and_nothing_else() {
    let all = [
        "faults.dropout=0.2",
        "faults.outage=0.05",
        "faults.crash=0.03",
        "faults.straggler=0.1",
        "faults.loss=0.1",
        "faults.broadcast_loss=0.1",
        "faults.duplicate=0.15",
        "faults.corrupt=0.1",
        "faults.oversize=0.05",
        "faults.reorder=0.2",
    ];
    for methods in [&[][..], &PRIOR] {
        faulty(&all, methods);
    }
}

fn faulty(all: &[&str], methods: &[&str]) {
    let calm = scenario(methods);
    let faulty = scenario(&[methods, all].concat());
    let calm = run(&calm, &options(DriverKind::Lockstep, 1, 1));
    let reference = run(&faulty, &options(DriverKind::Lockstep, 1, 1));
    assert_eq!(run(&faulty, &options(DriverKind::Tokio, 2, 3)), reference);
    let mut seen = sordino_experiment::world::fault::FaultCounts::default();
    for (calm, faulty) in calm.iter().zip(&reference) {
        assert_eq!(
            (faulty.releases, faulty.regret.len()),
            (calm.releases, 15),
            "{}",
            faulty.method
        );
        // The secret sample is drawn whether or not the selected answer.
        assert_eq!(faulty.selected, calm.selected);
        faulty.faults.iter().for_each(|counts| seen.add(counts));
    }
    for (what, count) in [
        ("absent", seen.absent),
        ("broadcasts lost", seen.broadcasts_lost),
        ("lost", seen.lost),
        ("late", seen.late),
        ("stale", seen.refused_stale),
        ("duplicate", seen.refused_duplicate),
        ("corrupt", seen.refused_corrupt),
        ("oversize", seen.refused_oversize),
    ] {
        assert!(count > 0, "{what}");
    }
    // Duplicates and reordering change nothing at all.
    let harmless = scenario(&[methods, &["faults.duplicate=0.5", "faults.reorder=0.5"]].concat());
    for (calm, other) in calm
        .iter()
        .zip(run(&harmless, &options(DriverKind::Lockstep, 1, 1)))
    {
        assert_eq!(other.digest, calm.digest);
    }
}

/// Agents that share one workspace rebuild their posteriors from their logs: the same bits.
#[test]
fn a_fleet_without_workspaces_decides_the_same() {
    let scenario = scenario(&["federation.methods=[\"dp-fts-de\",\"ts\"]"]);
    let kept = run(&scenario, &options(DriverKind::Lockstep, 1, 1));
    let shared = run(
        &scenario,
        &Options {
            workspace_bytes: Some(0),
            ..options(DriverKind::Tokio, 2, 3)
        },
    );
    assert_eq!(shared, kept);
}
