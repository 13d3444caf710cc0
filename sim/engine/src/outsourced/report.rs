//! Table, CSV, JSON, and the picture: simple regret over rounds with standard errors.

use std::path::PathBuf;

use serde_json::Value;
use sordino_core::digest::combine;
use sordino_core::outsourced::Spectrum;
use sordino_experiment::journal::SUMMARY;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::{Loss, MethodSummary, Record, Summary};
use sordino_experiment::scenario::outsourced::{
    Goal, Kind, OutsourcedObjective, OutsourcedScenario,
};
use sordino_experiment::text::{significant, significant_up};
use sordino_report::columns::Columns;
use sordino_report::curves::{MeanAt, told_rounds};
use sordino_report::differences::few;
use sordino_report::page::Shown;
use sordino_report::palette::RAMP;
use sordino_report::parts::scaled;
use sordino_report::read::ReadError;
use sordino_report::readme::readme;
use sordino_report::results::Results;
use sordino_report::rows::number;
use sordino_report::svg::{Curve, Point};
use sordino_report::table::{or_dash, standard_error};
use sordino_report::view::{Panels, View};

use super::machines::mechanism;
use super::run::{Compared, OutsourcedRun, compares};
use super::table::Source;
use crate::contract::ModelError;

/// The measure of a method in `summary.json`, and whether the paper's transformation raised the
/// singular values.
const REGRET: &str = "simple_regret";
const RAISED: &str = "raised";
/// Facts of the table there: its rows, how many of them were moved into the declared ranges, and
/// the smallest singular value, where the paper's projection takes part.
const ROWS: &str = "rows";
const MOVED: &str = "rows_moved";
const SMALLEST: &str = "smallest_singular_value";

/// What is written for programs.
pub fn record(scenario: &OutsourcedScenario, source: &Source, runs: &[OutsourcedRun]) -> Record {
    let columns = columns(scenario);
    let points = runs.iter().flat_map(|run| {
        run.regret
            .iter()
            .copied()
            .enumerate()
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
        summary: summary(scenario, source, runs),
        files,
        priors: Vec::new(),
    }
}

fn summary(scenario: &OutsourcedScenario, source: &Source, runs: &[OutsourcedRun]) -> Summary {
    let methods = Compared::of(scenario).into_iter().map(|compared| {
        let own: Vec<&OutsourcedRun> = runs.iter().filter(|run| run.compared == compared).collect();
        let last: Vec<f64> = own
            .iter()
            .filter_map(|run| run.regret.last().copied())
            .collect();
        let raised = own.first().and_then(|run| run.raised);
        let private = compared.kind == Kind::GaussianProjection;
        let losses = [
            Loss::new("epsilon", scenario.curator.epsilon),
            Loss::new("delta", scenario.curator.delta),
        ];
        MethodSummary {
            name: compared.name(),
            digest: Some(combine(own.iter().map(|run| &run.digest)).to_string()),
            guarantee: compared.kind.guarantee().to_owned(),
            neighboring_relation: private
                .then(|| "one row shifted by at most 1 in prepared units".to_owned()),
            measures: vec![Estimate::of(&last).measure(REGRET)],
            losses: if private { losses.to_vec() } else { Vec::new() },
            facts: raised
                .map(|raised| (RAISED.to_owned(), raised.into()))
                .into_iter()
                .collect(),
            ..MethodSummary::default()
        }
    });
    let mut facts = serde_json::Map::new();
    facts.insert(ROWS.to_owned(), source.problem.rows().into());
    facts.insert(MOVED.to_owned(), source.moved.into());
    if compares(scenario, Kind::PaperProjection)
        && let Ok(spectrum) = Spectrum::of(&source.problem.table, source.problem.dim)
    {
        facts.insert(SMALLEST.to_owned(), spectrum.smallest().into());
    }
    let digest = combine(runs.iter().map(|run| &run.digest));
    Summary {
        facts,
        ..Summary::new(&scenario.head, &digest, methods.collect())
    }
}

/// A method and what the files say of it.
struct Found<'a> {
    compared: Compared,
    summary: &'a MethodSummary,
    curve: Vec<MeanAt>,
}

impl Found<'_> {
    fn guarantee(&self, scenario: &OutsourcedScenario) -> String {
        match self.compared.kind {
            Kind::GaussianProjection => {
                format!(
                    "ε = {}, δ = {:e}",
                    significant_up(scenario.curator.epsilon, 3),
                    scenario.curator.delta
                )
            }
            kind => kind.guarantee().to_owned(),
        }
    }
}

/// What the table amounts to.
struct TableFacts {
    rows: u64,
    moved: u64,
    smallest: Option<f64>,
}

impl TableFacts {
    fn of(summary: &Summary) -> Result<Self, ReadError> {
        let smallest = summary.facts.get(SMALLEST).and_then(Value::as_f64);
        Ok(TableFacts {
            rows: Self::count(summary, ROWS)?,
            moved: Self::count(summary, MOVED)?,
            smallest,
        })
    }

    /// The whole number that the facts of a summary have under a name.
    fn count(summary: &Summary, name: &str) -> Result<u64, ReadError> {
        let found = summary.facts.get(name).and_then(Value::as_u64);
        found.ok_or_else(|| ReadError::Inconsistent {
            path: PathBuf::from(SUMMARY),
            message: format!("facts: has no `{name}`; a run by this version writes it"),
        })
    }
}

/// What is shown of it.
///
/// **Errors**: a method or a fact that the summary lacks.
pub fn view(scenario: &OutsourcedScenario, results: &Results) -> Result<View, ModelError> {
    let mut methods = Vec::new();
    for compared in Compared::of(scenario) {
        let summary = results.method(&compared.name());
        let summary = summary.map_err(ModelError::input)?;
        methods.push(Found {
            compared,
            summary,
            curve: results.curves.mean(&summary.name),
        });
    }
    let table = TableFacts::of(&results.summary).map_err(ModelError::input)?;
    Ok(View {
        facts: vec![
            ("rows", table.rows.to_string()),
            ("inputs", scenario.objective.dim().to_string()),
            ("rounds", scenario.modeler.rounds.to_string()),
            ("ε", significant_up(scenario.curator.epsilon, 3)),
            ("δ", format!("{:e}", scenario.curator.delta)),
        ],
        shown: shown(scenario, &table, &methods)?,
        below: String::new(),
        panels: panels(scenario, &methods),
        compared: "final regret".to_owned(),
        sections: String::new(),
    })
}

/// What a regret is measured in.
fn unit(scenario: &OutsourcedScenario) -> String {
    match &scenario.objective {
        OutsourcedObjective::Csv(columns) if columns.log_output => format!("ln {}", columns.output),
        OutsourcedObjective::Csv(columns) => columns.output.clone(),
        OutsourcedObjective::Branin(_) => "−ln(Branin + 1)".to_owned(),
        OutsourcedObjective::GpSample(_) => "y".to_owned(),
    }
}

fn shown(
    scenario: &OutsourcedScenario,
    table: &TableFacts,
    methods: &[Found<'_>],
) -> Result<Shown, ModelError> {
    let mut columns = Columns::<Found<'_>>::new().text("method", |method| method.compared.name());
    for round in told_rounds(scenario.modeler.rounds) {
        columns = columns.number(format!("round {round}"), move |method| {
            let at = method.curve.get(round as usize);
            or_dash(at, |at| significant(at.measure.mean, 3))
        });
    }
    let columns = columns
        .number("std. error", |method| {
            let regret = method.summary.measure(REGRET);
            standard_error(regret.and_then(|regret| regret.standard_error))
        })
        .text("protection of the inputs", |method| {
            let is_raised = method.summary.facts.get(RAISED) == Some(&Value::Bool(true));
            method.guarantee(scenario)
                + if is_raised {
                    " (singular values raised)"
                } else {
                    ""
                }
        });
    let sense = match &scenario.objective {
        OutsourcedObjective::Csv(columns) if columns.goal == Goal::Minimize => {
            "smallest value found so far − smallest value of all rows"
        }
        _ => "largest value of all rows − largest value found so far",
    };
    let mut notes = vec![format!(
        "simple regret in {}: {sense}, noise-free, {} rows; mean of {} runs, the standard error of the last column of rounds.",
        unit(scenario),
        table.rows,
        scenario.head.runs
    )];
    if compares(scenario, Kind::PaperProjection) {
        let smallest = table.smallest.map_or(String::new(), |smallest| {
            format!(" (σ_min of this table: {})", significant(smallest, 4))
        });
        notes.push(format!(
            "paper-projection is not differentially private, whatever its ε: if r is at least the number of inputs, \
             one known row more than inputs gives every other row away; \"raised\" means that σ_min was below the paper's threshold{smallest}."
        ));
    }
    if compares(scenario, Kind::GaussianProjection) {
        let mechanism = mechanism(
            scenario.objective.dim(),
            scenario.curator.epsilon,
            scenario.curator.delta,
        )?;
        notes.push(format!(
            "gaussian-projection: noise of standard deviation {} on every prepared coordinate; protects a shift of one row \
             by at most 1 where half the diagonal of the public box is {}; not y, not which rows are asked for.",
            significant(mechanism.noise_std(), 3),
            significant(scenario.curator.largest_norm, 3)
        ));
    }
    if table.moved > 0 {
        notes.push(format!(
            "{} of {} rows lie outside the declared ranges and were moved to their edge (not releasable).",
            table.moved, table.rows
        ));
    }
    notes.extend(few(scenario.head.runs as usize));
    Ok(Shown {
        notes,
        noise: compares(scenario, Kind::GaussianProjection),
        ..Shown::of(&columns, methods)
    })
}

/// A round of a run, with its regret.
type At<'r> = (&'r OutsourcedRun, (usize, f64));

/// Columns of `rounds.csv`: one line for each run, method and round.
fn columns<'c, 'r: 'c>(scenario: &'c OutsourcedScenario) -> Columns<'c, At<'r>> {
    Columns::new()
        .told(
            "run",
            "0-based; runs of one number are paired over methods: same function, initial row, noise of observations",
            |(run, _): &At<'r>| run.run.to_string(),
        )
        .told("method", "its name", |(run, _)| run.compared.name())
        .told("round", "t: 0 after the initial row, then 1 to T", |(_, (round, _))| round.to_string())
        .told(
            "regret",
            "simple: largest value of any row − largest noise-free value of the rows asked for so far",
            |(_, (_, regret))| number(Some(*regret)),
        )
        .told("epsilon", "of the rows that were released before round 0; of private methods only", move |(run, _)| {
            let private = run.compared.kind == Kind::GaussianProjection;
            number(private.then_some(scenario.curator.epsilon))
        })
        .told(
            "guarantee",
            "`dp`, `no protection`, `nothing released`, or `not differentially private`: the paper's projection",
            |(run, _)| run.compared.kind.guarantee().to_owned(),
        )
}

/// The class of a method's curve; the values of r are a ramp.
fn class(scenario: &OutsourcedScenario, compared: &Compared) -> &'static str {
    match compared.kind {
        Kind::Random => "ash",
        Kind::GpUcb => "ink",
        Kind::GaussianProjection => "red",
        Kind::PaperProjection => {
            let place = scenario
                .curator
                .out_dims
                .iter()
                .position(|r| Some(*r) == compared.out_dim);
            RAMP[place.unwrap_or(0).min(RAMP.len() - 1)]
        }
    }
}

/// The label of a method's curve, and the note beside it.
fn label(scenario: &OutsourcedScenario, compared: &Compared) -> (String, String) {
    match compared.out_dim {
        Some(r) => (format!("paper, r = {r}"), "not private".to_owned()),
        None => match compared.kind {
            Kind::GaussianProjection => (
                "private rows".to_owned(),
                format!("ε = {}", significant_up(scenario.curator.epsilon, 3)),
            ),
            kind => (kind.name().to_owned(), kind.guarantee().to_owned()),
        },
    }
}

/// The picture, with the line below its title.
fn panels(scenario: &OutsourcedScenario, methods: &[Found<'_>]) -> Panels {
    let mut curves: Vec<Curve> = methods
        .iter()
        .map(|method| {
            let (label, note) = label(scenario, &method.compared);
            let points = method
                .curve
                .iter()
                .map(|at| Point::mean_of_positive(at.round, at.measure));
            Curve {
                class: class(scenario, &method.compared),
                label,
                note,
                points: points.collect(),
            }
        })
        .collect();
    // The private method is drawn on top.
    curves.sort_by_key(|curve| curve.class == "red");
    let y_label = format!("best so far against the best row, in {}", unit(scenario));
    let chart = scaled("Simple regret", "round", &y_label, curves);
    let band = match scenario.head.runs {
        1 => "One run".to_owned(),
        runs => format!("Mean of {runs} runs, band ± one standard error"),
    };
    let paper = if compares(scenario, Kind::PaperProjection) {
        ". The paper's projection is not differentially private"
    } else {
        ""
    };
    Panels::new(format!("{band}{paper}."), vec![chart])
}
