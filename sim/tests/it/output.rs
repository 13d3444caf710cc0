//! Scenarios of the trust model `output`: what more ε and more records buy, what is said beside
//! every release, independence of threads, refusals.

use std::num::NonZeroUsize;

use sordino_engine::Options;
use sordino_experiment::record::Record;
use sordino_experiment::scenario::Shipped;
use sordino_lab::execute::executed;

use crate::util::{shipped, without};

fn run(name: &str, settings: &[&str], threads: usize) -> Record {
    let options = Options {
        threads: NonZeroUsize::new(threads),
        ..Options::default()
    };
    executed(&*shipped(name, settings).unwrap(), &options, &()).unwrap()
}

/// Regret or score error of a method at an ε (none: of a method that does not depend on it).
fn mean(outcome: &Record, method: &str, epsilon: Option<f64>, what: &str) -> f64 {
    let name = epsilon.map_or(method.to_owned(), |epsilon| {
        format!("{method} at ε = {epsilon}")
    });
    outcome
        .summary
        .method(&name)
        .unwrap()
        .measure(what)
        .unwrap()
        .mean
}

const SMALL: [&str; 5] = [
    "runs=4",
    "objective.points=60",
    "release.epsilons=[0.3, 3, 200]",
    "release.draws=200",
    "prior.rounds=20",
];

/// Frozen: a change of any simulated decision is "Value-breaking".
#[test]
fn digest_of_a_small_run_is_frozen() {
    let one = run("output-gp", &SMALL, 1);
    assert_eq!(one.summary.digest, FROZEN);
}
const FROZEN: &str = "157de60a6b918a000d7fcf07ea075e233f86f5b45a8eb0de6850c132e8985b64";

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let one = run("output-gp", &SMALL, 1);
    let three = run("output-gp", &SMALL, 3);
    assert_eq!(one.files, three.files);
    // 4 runs; three methods without ε, two at three ε.
    assert_eq!(one.file("rounds.csv").lines().count(), 1 + 4 * (3 + 2 * 3));
    let mut other = SMALL.to_vec();
    other.push("seed=1");
    assert_ne!(
        one.file("rounds.csv"),
        run("output-gp", &other, 1).file("rounds.csv")
    );
    other[0] = "runs=1";
    other[5] = "seed=0";
    let first: Vec<&str> = one
        .file("rounds.csv")
        .lines()
        .filter(|line| line.starts_with("0,"))
        .collect();
    assert_eq!(
        run("output-gp", &other, 1)
            .file("rounds.csv")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        first
    );
}

/// 800 releases at every ε. What is asserted differs by factors of two and more, many standard
/// errors.
#[test]
fn epsilon_and_records_buy_utility() {
    let outcome = run("output-gp", &SMALL, 2);
    let random = mean(&outcome, "random", None, "regret");
    for method in ["worst-case", "prior-conditional"] {
        let at = |epsilon| mean(&outcome, method, Some(epsilon), "regret");
        assert!(at(200.0) < 0.5 * at(0.3), "{}", outcome.table());
        let error = |epsilon| mean(&outcome, method, Some(epsilon), "score_error");
        assert!(error(200.0) < 0.5 * error(0.3), "{}", outcome.table());
    }
    // Kusner's release is a uniform draw at ε = 0.3, the default is not.
    let conditional = mean(&outcome, "prior-conditional", Some(0.3), "regret");
    assert!(
        (0.8..1.2).contains(&(conditional / random)),
        "{}",
        outcome.table()
    );
    assert!(mean(&outcome, "worst-case", Some(0.3), "regret") < 0.5 * random);
    assert_eq!(mean(&outcome, "best", None, "regret"), 0.0);
    // With one record the default knows as little.
    let mut few = SMALL.to_vec();
    few.push("objective.records=1");
    let few = run("output-gp", &few, 2);
    assert!(
        mean(&few, "worst-case", Some(0.3), "regret") > 0.7 * random,
        "{}",
        few.table()
    );
}

#[test]
fn red_wines_are_tuned_and_every_release_says_what_it_is() {
    let settings = [
        "runs=1",
        "objective.training_records=60",
        "objective.points_per_axis=3",
        "release.epsilons=[0.1, 100]",
        "release.draws=20",
        "prior.rounds=5",
    ];
    let outcome = run("output-winequality", &settings, 2);
    assert_eq!(
        (
            &outcome.summary.facts["candidates"],
            &outcome.summary.facts["records"]
        ),
        (&9.into(), &1539.into())
    );
    assert!(
        mean(&outcome, "worst-case", Some(100.0), "regret")
            < 0.25 * mean(&outcome, "random", None, "regret")
    );
    for release in &outcome.summary.methods {
        assert_eq!(
            release.guarantee == "dp",
            release.name.starts_with("worst-case")
        );
        assert_eq!(
            release.guarantee == "private only under the GP prior",
            release.name.starts_with("prior-conditional")
        );
    }
    for line in outcome
        .file("rounds.csv")
        .lines()
        .filter(|line| line.contains("prior-conditional"))
    {
        assert!(line.contains("only under the GP prior"), "{line}");
    }
    assert!(
        outcome
            .table()
            .contains("nobody knows whether the prior is true")
    );
    for name in ["regret.svg", "report.html"] {
        assert!(outcome.file(name).contains("prior-conditional"), "{name}");
    }
    assert!(
        outcome
            .file("report.html")
            .contains("For your own data set it promises nothing")
    );
}

#[test]
fn refusals_name_the_key() {
    for (name, setting, key) in [
        ("output-gp", "release.epsilons=[]", "release.epsilons"),
        ("output-gp", "release.epsilons=[3, 1]", "ascending"),
        ("output-gp", "release.epsilons=[0]", "release.epsilons"),
        ("output-gp", "release.epsilons=[257]", "release.epsilons"),
        ("output-gp", "release.epsilons=1", "release.epsilons"),
        ("output-gp", "release.value_share=1", "release.value_share"),
        ("output-gp", "release.draws=0", "release.draws"),
        (
            "output-gp",
            "release.methods=[\"median\"]",
            "release.methods",
        ),
        ("output-gp", "release.mehtods=[]", "did you mean `methods`"),
        ("output-gp", "prior.rounds=1", "prior.rounds"),
        ("output-gp", "prior.noise_std=0", "prior.noise_std"),
        ("output-gp", "prior.similarity=1.1", "prior.similarity"),
        ("output-gp", "prior.delta=1", "prior.delta"),
        ("output-gp", "prior.delta=nan", "prior.delta"),
        ("output-gp", "objective.records=0", "objective.records"),
        (
            "output-gp",
            "objective.score_bound=0",
            "objective.score_bound",
        ),
        (
            "output-gp",
            "objective.training_records=100",
            "unknown key `objective.training_records`",
        ),
        (
            "output-winequality",
            "objective.points=100",
            "unknown key `objective.points`",
        ),
        (
            "output-winequality",
            "objective.training_records=1599",
            "objective.training_records",
        ),
        ("output-winequality", "prior.scale=0", "prior.scale"),
        ("output-gp", "users.epsilon=1", "unknown key `users`"),
    ] {
        let refused = shipped(name, &[setting]).unwrap_err();
        assert!(refused.contains(key), "{setting}: {refused}");
    }
    // What only the owner can know has no default.
    let text = Shipped::find("output-winequality").unwrap().text;
    for key in ["similarity", "mean", "scale"] {
        let refused = sordino_engine::parse("my.toml", &without(key, text), &[])
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(&format!("`prior.{key}` is missing")),
            "{refused}"
        );
    }
}

/// δ of core's two events at every ε, against what is said beside it.
#[test]
fn delta_is_told_as_it_is_charged() {
    use sordino_core::output::{FailureRule, ScoreScale, WorstCase};
    use sordino_core::privacy::{Epsilon, Event};
    let charged = |epsilon: f64| -> f64 {
        let half = Epsilon::new(epsilon / 2.0).unwrap();
        let scale = ScoreScale::per_record(1, 1599 - 300).unwrap();
        let mechanism = WorstCase::new(49, scale, half, half, FailureRule::Abort).unwrap();
        let delta = |event: &Event| {
            if let Event::ApproximateEpsilon { delta, .. } = event {
                *delta
            } else {
                0.0
            }
        };
        mechanism.events().iter().map(delta).sum()
    };
    let epsilons = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 256.0];
    assert_eq!(
        epsilons.map(charged),
        [0.0, 0.0, 0.0, 1e-300, 1e-300, 1e-300, 1e-300, 1e-300]
    );
    let said = |settings: &[&str]| {
        let cost = shipped("output-winequality", settings)
            .unwrap()
            .explain()
            .unwrap()
            .cost;
        cost.into_iter()
            .find(|sentence| sentence.starts_with("worst-case"))
            .unwrap()
    };
    let sentence = said(&[]);
    assert!(
        sentence.contains("pure (δ = 0) from ε = 0.1 to 1, δ = 1e-300 from ε = 3 to 256"),
        "{sentence}"
    );
    // Negative control: where nothing is charged, nothing is said.
    assert!(!said(&["release.epsilons=[0.1, 1]"]).contains("1e-300"));
    let small = [
        "runs=1",
        "release.epsilons=[1, 3]",
        "objective.points_per_axis=2",
        "prior.rounds=2",
        "release.draws=1",
    ];
    let outcome = run(
        "output-winequality",
        &[&small[..], &["release.methods=[\"worst-case\"]"]].concat(),
        1,
    );
    let deltas: Vec<_> = outcome
        .summary
        .methods
        .iter()
        .map(|at| at.loss("delta").unwrap().value)
        .collect();
    assert_eq!(deltas, [Some(0.0), Some(1e-300)]);
}
