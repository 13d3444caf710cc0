//! Table, CSV, JSON, and the picture of the paper's figure 2: cumulative regret with standard errors.

use sordino_core::digest::Digest;
use sordino_core::digest::combine;

use super::explain::explain;
use super::run::{LocalRun, curve_rounds};
use crate::metrics::Estimate;
use crate::record::{self, Loss, Record, Summary};
use crate::report::differences::few;
use crate::report::page::Shown;
use crate::report::pictured::Pictured;
use crate::report::rows::{csv, number};
use crate::report::svg::{Chart, Curve, Point, Scale};
use crate::scenario::local::{LocalMethod, LocalScenario};
use crate::text::significant;

/// One method over all runs.
struct MethodSummary {
    method: LocalMethod,
    digest: Digest,
    regret: Estimate,
    /// Mean over runs of the regret's ratio to random's on the same function; only if `random` takes part.
    ratio: Option<Estimate>,
    curve: Vec<Estimate>,
    epsilon_spent: f64,
}

fn summarize(scenario: &LocalScenario, runs: &[LocalRun]) -> Vec<MethodSummary> {
    let of = |method: LocalMethod| -> Vec<&LocalRun> { runs.iter().filter(|run| run.method == method).collect() };
    let random = of(LocalMethod::Random);
    let methods = scenario.learning.methods.iter().map(|method| {
        let own = of(*method);
        let ratios: Vec<f64> = own.iter().zip(&random).map(|(own, random)| own.regret() / random.regret()).collect();
        let points = own.iter().map(|run| run.curve.len()).min().unwrap_or(0);
        let at = |i: usize| Estimate::of(&own.iter().map(|run| run.curve[i]).collect::<Vec<_>>());
        MethodSummary {
            method: *method,
            digest: combine(own.iter().map(|run| &run.digest)),
            regret: Estimate::of(&own.iter().map(|run| run.regret()).collect::<Vec<_>>()),
            ratio: (!ratios.is_empty()).then(|| Estimate::of(&ratios)),
            curve: (0..points).map(at).collect(),
            epsilon_spent: own.iter().map(|run| run.epsilon_spent).fold(0.0, f64::max),
        }
    });
    methods.collect()
}

/// Columns of `rounds.csv`.
const COLUMNS: &[(&str, &str)] = &[
    ("run", "0-based; runs of one number are paired over methods: same function, same noise of rewards"),
    ("method", "its name"),
    ("round", "t, 1 to T; at most 200 rounds are kept, the last one always"),
    ("regret", "cumulative: max f − f of what was played, summed over rounds 1 to t"),
    (
        "epsilon",
        "the most that any one user's reports up to that round spend; empty if nobody is asked or nothing is private",
    ),
];

/// What is shown and written.
pub fn record(scenario: &LocalScenario, runs: &[LocalRun]) -> Record {
    let methods = summarize(scenario, runs);
    let digest = combine(runs.iter().map(|run| &run.digest));
    let shown = shown(scenario, &methods);
    let (line, chart) = figure(scenario, &methods);
    let pictured = Pictured {
        head: &scenario.head,
        resolved: scenario.resolved(),
        explanation: explain(scenario),
        facts: vec![
            ("rounds", scenario.learning.rounds.to_string()),
            ("ε per report", scenario.users.epsilon.map_or("none".to_owned(), |epsilon| significant(epsilon, 3))),
            ("reports per user", scenario.users.reports_per_user.to_string()),
        ],
        shown,
        line,
        charts: vec![chart],
        ruler: None,
        rounds: rounds(scenario, runs),
        columns: COLUMNS,
        summary: summary(scenario, &methods, &digest),
    };
    pictured.record()
}

/// What the reports promise, in words.
fn guarantee(scenario: &LocalScenario) -> String {
    let users = &scenario.users;
    match users.epsilon {
        Some(epsilon) => format!(
            "ε = {epsilon} per report, {} per user: one user's reward, towards everybody; not that the user takes part, \
             which candidate, when",
            if users.reports_per_user == 1 {
                "one report".to_owned()
            } else {
                format!("{} reports (ε = {})", users.reports_per_user, epsilon * f64::from(users.reports_per_user))
            }
        ),
        None => "no privacy: rewards are sent as they are".to_owned(),
    }
}

fn shown(scenario: &LocalScenario, methods: &[MethodSummary]) -> Shown {
    let columns = ["method", "cumulative regret", "std. error", "ratio to random", "std. error", "ε spent per user"];
    let error = |estimate: Estimate, digits: usize| {
        estimate.standard_error.map_or("–".to_owned(), |error| significant(error, digits))
    };
    let row = |method: &MethodSummary| {
        let ratio = method.ratio;
        let spent = match (scenario.users.epsilon, method.method) {
            (_, LocalMethod::Random) => "nobody is asked".to_owned(),
            (None, _) => "not private".to_owned(),
            (Some(_), _) => significant(method.epsilon_spent, 4),
        };
        vec![
            method.method.name().to_owned(),
            significant(method.regret.mean, 4),
            error(method.regret, 2),
            ratio.map_or("–".to_owned(), |ratio| format!("{:.3}", ratio.mean)),
            ratio.map_or("–".to_owned(), |ratio| error(ratio, 2)),
            spent,
        ]
    };
    let rounds = scenario.learning.rounds;
    let mut notes = vec![
        format!(
            "cumulative regret: max f − f of what was played, summed over rounds 1 to {rounds}; mean of {} runs. The ratio is \
             formed function by function.",
            scenario.head.runs
        ),
        format!("{}.", guarantee(scenario)),
    ];
    notes.extend(few(scenario.head.runs as usize));
    Shown {
        columns: columns.map(str::to_owned).to_vec(),
        rows: methods.iter().map(row).collect(),
        looks: Vec::new(),
        words: vec![5],
        notes,
        cautions: Vec::new(),
        noise: scenario.users.epsilon.is_some(),
    }
}

fn summary(scenario: &LocalScenario, methods: &[MethodSummary], digest: &Digest) -> Summary {
    let private = scenario.users.epsilon.is_some();
    let methods = methods.iter().map(|method| record::MethodSummary {
        name: method.method.name().to_owned(),
        digest: Some(method.digest.to_string()),
        guarantee: if private { "dp" } else { "no protection" }.to_owned(),
        neighboring_relation: private.then(|| "replace_one".to_owned()),
        measures: std::iter::once(method.regret.measure("cumulative_regret"))
            .chain(method.ratio.map(|ratio| ratio.measure("ratio_to_random")))
            .collect(),
        losses: private.then(|| Loss::new("epsilon_per_user", method.epsilon_spent)).into_iter().collect(),
        ..record::MethodSummary::default()
    });
    Summary::new(&scenario.head, digest, methods.collect())
}

/// One line for each run, method and kept round.
fn rounds(scenario: &LocalScenario, runs: &[LocalRun]) -> String {
    let kept = curve_rounds(scenario.learning.rounds);
    let users = scenario.learning.rounds.div_ceil(scenario.users.reports_per_user);
    let row = |run: &LocalRun, (round, regret): (&u32, &f64)| {
        // Users take their turns, so that all have reported as often as the first one or once less.
        let spent = scenario.users.epsilon.filter(|_| run.epsilon_spent > 0.0);
        let spent = spent.map(|epsilon| (epsilon * f64::from(round.div_ceil(users))).min(run.epsilon_spent));
        [run.run.to_string(), run.method.name().to_owned(), round.to_string(), number(Some(*regret)), number(spent)]
    };
    let rows = runs.iter().flat_map(|run| kept.iter().zip(&run.curve).map(|at| row(run, at)));
    csv(COLUMNS.iter().map(|(name, _)| *name), rows)
}

/// The line below the title, and the picture.
fn figure(scenario: &LocalScenario, methods: &[MethodSummary]) -> (String, Chart) {
    let kept = curve_rounds(scenario.learning.rounds);
    let class = |method: LocalMethod| match method {
        LocalMethod::Random => "ash",
        LocalMethod::TgpUcb => "ink",
        LocalMethod::AtaGpUcb => "blue",
        LocalMethod::MomaGpUcb => "red",
    };
    let curves: Vec<Curve> = methods
        .iter()
        .map(|method| Curve {
            class: class(method.method),
            label: method.method.name().to_owned(),
            note: method.ratio.map_or(String::new(), |ratio| format!("{:.2} of random", ratio.mean)),
            points: std::iter::once(Point::bare(0.0, 0.0))
                .chain(kept.iter().zip(&method.curve).map(|(t, at)| Point::mean_of_positive(f64::from(*t), *at)))
                .collect(),
        })
        .collect();
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.high);
    let chart = Chart {
        title: "Cumulative regret".into(),
        x_label: "round".into(),
        y_label: "sum of max f − f(played)".into(),
        y_max: 1.02 * highest.fold(f64::MIN_POSITIVE, f64::max),
        curves,
        scale: Scale::Linear { from: 0.0 },
    };
    let band = match scenario.head.runs {
        1 => "one run".to_owned(),
        runs => format!("mean of {runs} runs, band: ± one standard error"),
    };
    let line = format!(
        "{band}. {}",
        match scenario.users.epsilon {
            Some(epsilon) => format!("ε = {epsilon} per report."),
            None => "No privacy.".to_owned(),
        }
    );
    (line, chart)
}
