//! Table, CSV, JSON, and the picture of the paper's figure 2: cumulative regret with standard
//! errors.

use sordino_core::digest::combine;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::{Loss, Measure, MethodSummary, Record, Summary};
use sordino_experiment::scenario::Guarantee;
use sordino_experiment::scenario::local::{LocalMethod, LocalScenario};
use sordino_experiment::text::{significant, significant_up};
use sordino_report::columns::Columns;
use sordino_report::curves::Curves;
use sordino_report::differences::few;
use sordino_report::page::Shown;
use sordino_report::read::ReadError;
use sordino_report::readme::readme;
use sordino_report::results::Results;
use sordino_report::rows::number;
use sordino_report::svg::{Chart, Curve, Point, Scale};
use sordino_report::table::{or_dash, standard_error};
use sordino_report::view::{Panels, View};

use super::run::{LocalRun, curve_rounds};

/// The measures and the loss of a method in `summary.json`: cumulative regret, its ratio to that of
/// random on the same function, and the most that any one user spent.
const REGRET: &str = "cumulative_regret";
const RATIO: &str = "ratio_to_random";
const SPENT: &str = "epsilon_per_user";

/// What is written for programs.
pub fn record(scenario: &LocalScenario, runs: &[LocalRun]) -> Record {
    let columns = columns(scenario);
    let kept = curve_rounds(scenario.learning.rounds);
    let points = runs.iter().flat_map(|run| {
        kept.iter()
            .copied()
            .zip(run.curve.iter().copied())
            .map(move |at| (run, at))
    });
    let files = vec![
        ("rounds.csv", columns.csv(points)),
        (
            "README.md",
            readme(&scenario.head.trust, &[], columns.meanings(), ""),
        ),
    ];
    Record {
        summary: summary(scenario, runs),
        files,
        priors: Vec::new(),
    }
}

/// The runs of one method, in their order.
fn runs_of(runs: &[LocalRun], method: LocalMethod) -> Vec<&LocalRun> {
    runs.iter().filter(|run| run.method == method).collect()
}

fn summary(scenario: &LocalScenario, runs: &[LocalRun]) -> Summary {
    let random = runs_of(runs, LocalMethod::Random);
    let private = scenario.users.epsilon.is_some();
    let methods = scenario.learning.methods.iter().map(|method| {
        let own = runs_of(runs, *method);
        let regrets: Vec<f64> = own.iter().map(|run| run.regret()).collect();
        // Function by function; only if `random` takes part, and lost something in every run.
        let ratios: Option<Vec<f64>> = own
            .iter()
            .zip(&random)
            .map(|(own, random)| (random.regret() > 0.0).then(|| own.regret() / random.regret()))
            .collect();
        let ratio = ratios
            .filter(|ratios| !ratios.is_empty())
            .map(|ratios| Estimate::of(&ratios).measure(RATIO));
        let spent = own.iter().map(|run| run.epsilon_spent).fold(0.0, f64::max);
        let guarantee = match (*method, private) {
            // It asks nobody.
            (LocalMethod::Random, _) => Guarantee::NothingReleased.name(),
            (_, true) => Guarantee::DifferentialPrivacy.name(),
            (_, false) => "no protection",
        };
        let is_dp = guarantee == Guarantee::DifferentialPrivacy.name();
        MethodSummary {
            name: method.name().to_owned(),
            digest: Some(combine(own.iter().map(|run| &run.digest)).to_string()),
            guarantee: guarantee.to_owned(),
            neighboring_relation: is_dp.then(|| "replace_one".to_owned()),
            measures: std::iter::once(Estimate::of(&regrets).measure(REGRET))
                .chain(ratio)
                .collect(),
            losses: is_dp.then(|| Loss::new(SPENT, spent)).into_iter().collect(),
            ..MethodSummary::default()
        }
    });
    let digest = combine(runs.iter().map(|run| &run.digest));
    Summary::new(&scenario.head, &digest, methods.collect())
}

/// What is shown of it.
///
/// **Errors**: a method that the summary lacks.
pub fn view(scenario: &LocalScenario, results: &Results) -> Result<View, ReadError> {
    let methods = scenario
        .learning
        .methods
        .iter()
        .map(|method| Ok((*method, results.method(method.name())?)))
        .collect::<Result<Vec<_>, ReadError>>()?;
    Ok(View {
        facts: vec![
            ("rounds", scenario.learning.rounds.to_string()),
            (
                "ε per report",
                scenario
                    .users
                    .epsilon
                    .map_or("none".to_owned(), |epsilon| significant_up(epsilon, 3)),
            ),
            (
                "reports per user",
                scenario.users.reports_per_user.to_string(),
            ),
        ],
        shown: shown(scenario, &methods),
        below: String::new(),
        panels: panels(scenario, &methods, &results.curves),
        compared: "final regret".to_owned(),
        sections: String::new(),
    })
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
                format!(
                    "{} reports (ε = {})",
                    users.reports_per_user,
                    epsilon * f64::from(users.reports_per_user)
                )
            }
        ),
        None => "no privacy: rewards are sent as they are".to_owned(),
    }
}

/// A method and what the summary says of it.
type Found<'a> = (LocalMethod, &'a MethodSummary);

/// The standard error of a measure.
fn error(measure: Option<&Measure>) -> String {
    standard_error(measure.and_then(|measure| measure.standard_error))
}

fn shown(scenario: &LocalScenario, methods: &[Found<'_>]) -> Shown {
    let columns = Columns::<Found<'_>>::new()
        .text("method", |(_, summary)| summary.name.clone())
        .number("cumulative regret", |(_, summary)| {
            or_dash(summary.measure(REGRET), |regret| {
                significant(regret.mean, 4)
            })
        })
        .number("std. error", |(_, summary)| error(summary.measure(REGRET)))
        .number("ratio to random", |(_, summary)| {
            or_dash(summary.measure(RATIO), |ratio| format!("{:.3}", ratio.mean))
        })
        .number("std. error", |(_, summary)| error(summary.measure(RATIO)))
        .text("ε spent per user", |(method, summary)| {
            match (method, summary.loss(SPENT).and_then(|loss| loss.value)) {
                (LocalMethod::Random, _) => "nobody is asked".to_owned(),
                (_, None) => "not private".to_owned(),
                (_, Some(spent)) => significant_up(spent, 4),
            }
        });
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
        notes,
        noise: scenario.users.epsilon.is_some(),
        ..Shown::of(&columns, methods)
    }
}

/// A kept round of a run, with its regret.
type At<'r> = (&'r LocalRun, (u32, f64));

/// Columns of `rounds.csv`: one line for each run, method and kept round.
fn columns<'c, 'r: 'c>(scenario: &'c LocalScenario) -> Columns<'c, At<'r>> {
    let users = scenario
        .learning
        .rounds
        .div_ceil(scenario.users.reports_per_user);
    Columns::new()
        .told(
            "run",
            "0-based; runs of one number are paired over methods: same function, same noise of rewards",
            |(run, _): &At<'r>| run.run.to_string(),
        )
        .told("method", "its name", |(run, _)| run.method.name().to_owned())
        .told("round", "t, 1 to T; at most 200 rounds are kept, the last one always", |(_, (round, _))| {
            round.to_string()
        })
        .told(
            "regret",
            "cumulative: max f − f of what was played, summed over rounds 1 to t",
            |(_, (_, regret))| number(Some(*regret)),
        )
        .told(
            "epsilon",
            "the most that any one user's reports up to that round spend; empty if nobody is asked or nothing is private",
            move |(run, (round, _))| {
                let epsilon = scenario.users.epsilon.filter(|_| run.epsilon_spent > 0.0);
                // Users take their turns, so that all have reported as often as the first one or
                // once less.
                let reports = f64::from(round.div_ceil(users));
                number(epsilon.map(|epsilon| (epsilon * reports).min(run.epsilon_spent)))
            },
        )
}

/// The class of a method's curve.
fn class(method: LocalMethod) -> &'static str {
    match method {
        LocalMethod::Random => "ash",
        LocalMethod::TgpUcb => "ink",
        LocalMethod::AtaGpUcb => "blue",
        LocalMethod::MomaGpUcb => "red",
    }
}

/// The picture, with the line below its title.
fn panels(scenario: &LocalScenario, methods: &[Found<'_>], found: &Curves) -> Panels {
    let mut curves = Vec::new();
    for (method, summary) in methods {
        let points = found
            .mean(&summary.name)
            .into_iter()
            .map(|at| Point::mean_of_positive(at.round, at.measure));
        curves.push(Curve {
            class: class(*method),
            label: summary.name.clone(),
            note: summary.measure(RATIO).map_or(String::new(), |ratio| {
                format!("{:.2} of random", ratio.mean)
            }),
            points: std::iter::once(Point::bare(0.0, 0.0))
                .chain(points)
                .collect(),
        });
    }
    let highest = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.high);
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
    Panels::new(line, vec![chart])
}
