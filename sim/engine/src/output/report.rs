//! Table, CSV, JSON, and the picture: utility over ε.

use sordino_core::digest::combine;
use sordino_core::math::Scalar;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::{Loss, MethodSummary, Record, Summary};
use sordino_experiment::scenario::output::{OutputMethod, OutputObjective, OutputScenario};
use sordino_experiment::text::{significant, significant_up};
use sordino_report::columns::Columns;
use sordino_report::differences::few;
use sordino_report::page::Shown;
use sordino_report::parts::scaled;
use sordino_report::read::ReadError;
use sordino_report::readme::readme;
use sordino_report::results::Results;
use sordino_report::rows::number;
use sordino_report::svg::{Chart, Curve, Point, Points, Ruler, plain};
use sordino_report::table::{or_dash, standard_error};
use sordino_report::view::{Panels, View};

use super::problem::{compares, worst_case_delta};
use super::run::{OutputRun, Published};

/// The measures of a method in `summary.json`.
const REGRET: &str = "regret";
const ERROR: &str = "score_error";

/// One method at one ε over all runs.
struct Row {
    method: OutputMethod,
    epsilon: Option<f64>,
    regret: Estimate,
    error: Option<Estimate>,
}

/// The rows of a table, in the order in which a run publishes.
fn rows(scenario: &OutputScenario, results: &Results) -> Result<Vec<Row>, ReadError> {
    let release = &scenario.release;
    let mut rows = Vec::new();
    for method in release.methods.iter().copied() {
        let epsilons = match method.is_private() {
            true => release.epsilons.iter().copied().map(Some).collect(),
            false => vec![None],
        };
        for epsilon in epsilons {
            let summary = results.method(&name_at(method, epsilon))?;
            let regret = summary.measure(REGRET).map(Estimate::from);
            rows.push(Row {
                method,
                epsilon,
                regret: regret.unwrap_or_default(),
                error: summary.measure(ERROR).map(Estimate::from),
            });
        }
    }
    Ok(rows)
}

/// What is written for programs.
pub fn record(scenario: &OutputScenario, runs: &[OutputRun]) -> Record {
    let columns = columns(scenario);
    let published = runs
        .iter()
        .flat_map(|run| run.published.iter().map(move |published| (run, published)));
    let files = vec![
        ("rounds.csv", columns.csv(published)),
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

/// What is shown of it.
///
/// **Errors**: a method that the summary lacks.
pub fn view(scenario: &OutputScenario, results: &Results) -> Result<View, ReadError> {
    let rows = rows(scenario, results)?;
    let band = match scenario.head.runs {
        1 => "One run".to_owned(),
        runs => format!("Mean of {runs} runs, band ± one standard error"),
    };
    let prior = if compares(scenario, OutputMethod::PriorConditional) {
        "; prior-conditional is private only if the GP prior is true"
    } else {
        ""
    };
    let panels = Panels::new(format!("{band}{prior}."), charts(scenario, &rows));
    Ok(View {
        facts: vec![
            ("candidates", scenario.objective.candidates().to_string()),
            ("records", scenario.objective.records().to_string()),
            (
                "share of ε on the score",
                significant(scenario.release.value_share, 2),
            ),
            ("releases per run and ε", scenario.release.draws.to_string()),
        ],
        shown: shown(scenario, &rows),
        below: String::new(),
        panels: Panels {
            ruler: Some(ruler(&scenario.release.epsilons)),
            ..panels
        },
        compared: "final regret".to_owned(),
        sections: String::new(),
    })
}

fn protection(scenario: &OutputScenario, row: &Row) -> String {
    match (row.method, row.epsilon) {
        (OutputMethod::WorstCase, Some(epsilon)) => {
            let delta = worst_case_delta(scenario, epsilon).ok();
            let delta = delta
                .filter(|delta| *delta > 0.0)
                .map_or(String::new(), |delta| format!(", δ = {delta:e}"));
            format!("ε = {}{delta}", significant_up(epsilon, 3))
        }
        (OutputMethod::PriorConditional, Some(epsilon)) => format!(
            "ε = {}, δ = {}, only under the GP prior",
            significant_up(epsilon, 3),
            significant(2.0 * scenario.prior.delta, 2)
        ),
        (method, _) => method.guarantee().to_owned(),
    }
}

fn shown(scenario: &OutputScenario, rows: &[Row]) -> Shown {
    let columns = Columns::<Row>::new()
        .text("method", |row| row.method.name().to_owned())
        .number("ε", |row| {
            or_dash(row.epsilon, |epsilon| significant_up(epsilon, 3))
        })
        .number("regret", |row| significant(row.regret.mean, 3))
        .number("std. error", |row| {
            standard_error(row.regret.standard_error)
        })
        .number("score error", |row| {
            or_dash(row.error, |error| significant(error.mean, 3))
        })
        .number("std. error", |row| {
            standard_error(row.error.and_then(|error| error.standard_error))
        })
        .text("protection of one record", |row| protection(scenario, row));
    let unit = scenario.objective.unit();
    let records = scenario.objective.records();
    let mut notes = vec![format!(
        "regret in {unit}: best candidate − published candidate; score error: published score (clamped to its \
         public range) against the best candidate's worth; mean of {} runs, {} releases each.",
        scenario.head.runs, scenario.release.draws
    )];
    if compares(scenario, OutputMethod::WorstCase) {
        let rests = match scenario.objective {
            OutputObjective::GpSample(_) => "the promise that a score is a mean over them",
            OutputObjective::Winequality(_) => "the integers that are summed",
        };
        notes.push(format!(
            "worst-case: ε for replacing one of {records} records, whatever the data; rests on {rests}. Every candidate is \
             evaluated."
        ));
    }
    if compares(scenario, OutputMethod::PriorConditional) {
        let wrong = match scenario.objective {
            OutputObjective::GpSample(_) => "Here the prior is true by construction",
            OutputObjective::Winequality(_) => {
                "Here nobody knows whether the prior is true: read its ε as no guarantee"
            }
        };
        notes.push(format!(
            "prior-conditional: private only under the GP prior, and if k₁ = {} is the smallest covariance of neighbouring \
             data sets. {wrong}.",
            scenario.prior.similarity
        ));
    }
    notes.extend(few(scenario.head.runs as usize));
    let noise = scenario
        .release
        .methods
        .iter()
        .any(|method| method.is_private());
    Shown {
        notes,
        noise,
        ..Shown::of(&columns, rows)
    }
}

/// What a release of a private method costs: ε and, where it is known, δ.
fn losses(scenario: &OutputScenario, method: OutputMethod, epsilon: f64) -> Vec<Loss> {
    let delta = match method {
        OutputMethod::PriorConditional => Some(2.0 * scenario.prior.delta),
        _ => worst_case_delta(scenario, epsilon).ok(),
    };
    let mut losses = vec![Loss::new("epsilon", epsilon)];
    losses.extend(delta.map(|delta| Loss::new("delta", delta)));
    losses
}

fn summary(scenario: &OutputScenario, runs: &[OutputRun]) -> Summary {
    let places = runs
        .iter()
        .map(|run| run.published.len())
        .min()
        .unwrap_or(0);
    let methods = (0..places).map(|place| {
        let own: Vec<&Published> = runs.iter().map(|run| &run.published[place]).collect();
        let method = own[0].method;
        let epsilon = own[0].epsilon;
        let regrets: Vec<f64> = own.iter().map(|published| published.regret).collect();
        let errors: Vec<f64> = own.iter().filter_map(|published| published.error).collect();
        let error = (errors.len() == own.len()).then(|| Estimate::of(&errors).measure(ERROR));
        MethodSummary {
            name: name_at(method, epsilon),
            digest: None,
            guarantee: method.guarantee().to_owned(),
            neighboring_relation: epsilon.map(|_| "replace_one".to_owned()),
            measures: std::iter::once(Estimate::of(&regrets).measure(REGRET))
                .chain(error)
                .collect(),
            losses: epsilon.map_or(Vec::new(), |epsilon| losses(scenario, method, epsilon)),
            ..MethodSummary::default()
        }
    });
    let candidates = scenario.objective.candidates();
    let records = scenario.objective.records();
    let facts = [
        ("candidates", candidates.into()),
        ("records", records.into()),
    ];
    let facts = facts
        .map(|(name, number)| (name.to_owned(), number))
        .into_iter()
        .collect();
    let digest = combine(runs.iter().map(|run| &run.digest));
    Summary {
        facts,
        ..Summary::new(&scenario.head, &digest, methods.collect())
    }
}

/// The name of a method at an ε: a method at several ε counts once for each.
fn name_at(method: OutputMethod, epsilon: Option<f64>) -> String {
    epsilon.map_or(method.name().to_owned(), |epsilon| {
        format!("{} at ε = {epsilon}", method.name())
    })
}

/// What was published at one ε of one run.
type At<'r> = (&'r OutputRun, &'r Published);

/// Columns of `rounds.csv`: one line for each run, method and ε.
fn columns<'c, 'r: 'c>(scenario: &'c OutputScenario) -> Columns<'c, At<'r>> {
    Columns::new()
        .told(
            "run",
            "0-based; runs of one number are paired over methods: same scores, same evaluations",
            |(run, _): &At<'r>| run.run.to_string(),
        )
        .told("method", "its name, with its ε where it has one, as in summary.json", |(_, published)| {
            name_at(published.method, published.epsilon)
        })
        .told("round", "T, the number of evaluations before the release", |_| scenario.prior.rounds.to_string())
        .told(
            "regret",
            "worth of the best candidate − worth of the published one, mean over the releases of this run and ε",
            |(_, published)| number(Some(published.regret)),
        )
        .told("epsilon", "of the whole release; empty where nothing depends on it", |(_, published)| {
            number(published.epsilon)
        })
        .told(
            "guarantee",
            "`dp`, `private only under the GP prior`, `no protection`, `nothing released`",
            |(_, published)| published.method.guarantee().to_owned(),
        )
        .told(
            "score_error",
            "|published score − worth of the best candidate|, the same mean; empty where no score is published",
            |(_, published)| number(published.error),
        )
}

/// ln ε, with a number at every ε that has room for one.
fn ruler(epsilons: &[f64]) -> Ruler {
    let places: Vec<f64> = epsilons
        .iter()
        .map(|epsilon| Scalar::ln(*epsilon))
        .collect();
    let from = places.first().copied().unwrap_or(0.0);
    let to = places.last().copied().unwrap_or(0.0);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (place, epsilon) in places.iter().zip(epsilons) {
        if ticks
            .last()
            .is_none_or(|(last, _)| place - last > 0.08 * (to - from))
        {
            ticks.push((*place, plain(*epsilon)));
        }
    }
    // A single point is no line.
    Ruler {
        from,
        to,
        ticks,
        points: if epsilons.len() < 2 {
            Points::Joined
        } else {
            Points::Band
        },
    }
}

/// Regret of the published candidate, and error of the published score, over ε.
fn charts(scenario: &OutputScenario, rows: &[Row]) -> Vec<Chart> {
    let unit = scenario.objective.unit();
    vec![
        chart(
            scenario,
            "Published candidate",
            &format!("regret in {unit}"),
            rows,
            |row| Some(row.regret),
        ),
        chart(
            scenario,
            "Published score",
            &format!("error against the best candidate, in {unit}"),
            rows,
            |row| row.error,
        ),
    ]
}

/// The class of a method's curve.
fn class(method: OutputMethod) -> &'static str {
    match method {
        OutputMethod::Best => "ink",
        OutputMethod::GpUcb => "blue",
        OutputMethod::Random => "ash",
        OutputMethod::WorstCase => "red",
        OutputMethod::PriorConditional => "amber",
    }
}

fn chart(
    scenario: &OutputScenario,
    title: &str,
    y_label: &str,
    rows: &[Row],
    of: impl Fn(&Row) -> Option<Estimate>,
) -> Chart {
    let epsilons = &scenario.release.epsilons;
    let mut curves = Vec::new();
    for method in &scenario.release.methods {
        let own = rows.iter().filter(|row| row.method == *method);
        let mut points = Vec::new();
        for (row, at) in own.filter_map(|row| of(row).map(|at| (row, at))) {
            // What does not depend on ε is a line through all of them.
            for x in row
                .epsilon
                .as_slice()
                .iter()
                .chain(epsilons.iter().filter(|_| row.epsilon.is_none()))
            {
                points.push(Point::mean_of_positive(Scalar::ln(*x), at));
            }
        }
        let note = match method {
            OutputMethod::WorstCase => "",
            OutputMethod::PriorConditional => "under prior",
            method => method.guarantee(),
        };
        curves.push(Curve {
            class: class(*method),
            label: method.name().to_owned(),
            note: note.to_owned(),
            points,
        });
    }
    curves.retain(|curve: &Curve| !curve.points.is_empty());
    // The default is drawn on top.
    curves.sort_by_key(|curve| curve.class == "red");
    scaled(
        title,
        "ε of candidate and score together, logarithmic",
        y_label,
        curves,
    )
}
