//! Table, CSV, JSON, and the picture: simple regret over rounds with standard errors.

use sordino_core::digest::Digest;
use sordino_core::digest::combine;
use sordino_core::outsourced::Spectrum;

use super::explain::explain;
use super::run::{Compared, OutsourcedRun};
use super::table::Source;
use crate::metrics::Estimate;
use crate::model::contract::ModelError;
use crate::record::{self, Loss, Record, Summary};
use crate::report::differences::few;
use crate::report::page::Shown;
use crate::report::palette::RAMP;
use crate::report::parts::scaled;
use crate::report::pictured::Pictured;
use crate::report::rows::{csv, number};
use crate::report::svg::{Chart, Curve, Point};
use crate::report::told_rounds;
use crate::scenario::outsourced::{Goal, Kind, OutsourcedObjective, OutsourcedScenario};
use crate::text::significant;

/// Columns of `rounds.csv`.
const COLUMNS: &[(&str, &str)] = &[
    ("run", "0-based; runs of one number are paired over methods: same function, initial row, noise of observations"),
    ("method", "its name"),
    ("round", "t: 0 after the initial row, then 1 to T"),
    ("regret", "simple: largest value of any row − largest noise-free value of the rows asked for so far"),
    ("epsilon", "of the rows that were released before round 0; of private methods only"),
    ("guarantee", "`dp`, `no protection`, `nothing released`, or `not differentially private`: the paper's projection"),
];

/// One method over all runs.
struct MethodSummary {
    compared: Compared,
    digest: Digest,
    curve: Vec<Estimate>,
    raised: Option<bool>,
}

impl MethodSummary {
    fn last(&self) -> Estimate {
        self.curve.last().copied().unwrap_or_default()
    }

    fn guarantee(&self, scenario: &OutsourcedScenario) -> String {
        match self.compared.kind {
            Kind::GaussianProjection => {
                format!("ε = {}, δ = {:e}", significant(scenario.curator.epsilon, 3), scenario.curator.delta)
            }
            kind => kind.guarantee().to_owned(),
        }
    }
}

/// What is shown and written.
pub fn record(scenario: &OutsourcedScenario, source: &Source, runs: &[OutsourcedRun]) -> Result<Record, ModelError> {
    let methods: Vec<MethodSummary> = Compared::of(scenario)
        .into_iter()
        .map(|compared| {
            let own: Vec<&OutsourcedRun> = runs.iter().filter(|run| run.compared == compared).collect();
            let points = own.iter().map(|run| run.regret.len()).min().unwrap_or(0);
            let at = |i: usize| Estimate::of(&own.iter().map(|run| run.regret[i]).collect::<Vec<_>>());
            MethodSummary {
                compared,
                digest: combine(own.iter().map(|run| &run.digest)),
                curve: (0..points).map(at).collect(),
                raised: own.first().and_then(|run| run.raised),
            }
        })
        .collect();
    let digest = combine(runs.iter().map(|run| &run.digest));
    let noise_std = source.problem.mechanism(scenario.curator.epsilon, scenario.curator.delta)?.noise_std();
    let shown = shown(scenario, source, &methods, noise_std);
    let (line, chart) = chart(scenario, &methods);
    let pictured = Pictured {
        head: &scenario.head,
        resolved: scenario.resolved(),
        explanation: explain(scenario),
        facts: vec![
            ("rows", source.problem.rows().to_string()),
            ("inputs", source.problem.dim.to_string()),
            ("rounds", scenario.modeler.rounds.to_string()),
            ("ε", significant(scenario.curator.epsilon, 3)),
            ("δ", format!("{:e}", scenario.curator.delta)),
        ],
        shown,
        line,
        charts: vec![chart],
        ruler: None,
        rounds: rounds(scenario, runs),
        columns: COLUMNS,
        summary: summary(scenario, source, &methods, &digest),
    };
    Ok(pictured.record())
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

fn shown(scenario: &OutsourcedScenario, source: &Source, methods: &[MethodSummary], noise_std: f64) -> Shown {
    let told = told_rounds(scenario.modeler.rounds);
    let mut columns = vec!["method".to_owned()];
    columns.extend(told.iter().map(|round| format!("round {round}")));
    columns.extend(["std. error", "protection of the inputs"].map(str::to_owned));
    let row = |method: &MethodSummary| {
        let mut row = vec![method.compared.name()];
        row.extend(
            told.iter()
                .map(|round| method.curve.get(*round as usize).map_or("–".to_owned(), |at| significant(at.mean, 3))),
        );
        row.push(method.last().standard_error.map_or("–".to_owned(), |error| significant(error, 2)));
        let branch = match method.raised {
            Some(true) => " (singular values raised)",
            _ => "",
        };
        row.push(method.guarantee(scenario) + branch);
        row
    };
    let has = |kind| scenario.modeler.methods.contains(&kind);
    let sense = match &scenario.objective {
        OutsourcedObjective::Csv(columns) if columns.goal == Goal::Minimize => {
            "smallest value found so far − smallest value of all rows"
        }
        _ => "largest value of all rows − largest value found so far",
    };
    let mut notes = vec![format!(
        "simple regret in {}: {sense}, noise-free, {} rows; mean of {} runs, the standard error of the last column of rounds.",
        unit(scenario),
        source.problem.rows(),
        scenario.head.runs
    )];
    if has(Kind::PaperProjection) {
        let smallest = match Spectrum::of(&source.problem.table, source.problem.dim) {
            Ok(spectrum) => format!(" (σ_min of this table: {})", significant(spectrum.smallest(), 4)),
            Err(_) => String::new(),
        };
        notes.push(format!(
            "paper-projection is not differentially private, whatever its ε: if r is at least the number of inputs, \
             one known row more than inputs gives every other row away; \"raised\" means that σ_min was below the paper's threshold{smallest}."
        ));
    }
    if has(Kind::GaussianProjection) {
        notes.push(format!(
            "gaussian-projection: noise of standard deviation {} on every prepared coordinate; protects a shift of one row \
             by at most 1 where half the diagonal of the public box is {}; not y, not which rows are asked for.",
            significant(noise_std, 3),
            significant(scenario.curator.largest_norm, 3)
        ));
    }
    if source.moved > 0 {
        notes.push(format!(
            "{} of {} rows lie outside the declared ranges and were moved to their edge (not releasable).",
            source.moved,
            source.problem.rows()
        ));
    }
    notes.extend(few(scenario.head.runs as usize));
    let words = vec![columns.len() - 1];
    let (rows, noise) = (methods.iter().map(row).collect(), has(Kind::GaussianProjection));
    Shown { columns, rows, looks: Vec::new(), words, notes, cautions: Vec::new(), noise }
}

fn summary(scenario: &OutsourcedScenario, source: &Source, methods: &[MethodSummary], digest: &Digest) -> Summary {
    let methods = methods.iter().map(|method| {
        let private = method.compared.kind == Kind::GaussianProjection;
        let losses = [Loss::new("epsilon", scenario.curator.epsilon), Loss::new("delta", scenario.curator.delta)];
        record::MethodSummary {
            name: method.compared.name(),
            digest: Some(method.digest.to_string()),
            guarantee: method.compared.kind.guarantee().to_owned(),
            neighboring_relation: private.then(|| "one row shifted by at most 1 in prepared units".to_owned()),
            measures: vec![method.last().measure("simple_regret")],
            losses: if private { losses.to_vec() } else { Vec::new() },
            facts: method.raised.map(|raised| ("raised".to_owned(), raised.into())).into_iter().collect(),
            ..record::MethodSummary::default()
        }
    });
    let facts = std::iter::once(("rows".to_owned(), source.problem.rows().into())).collect();
    Summary { facts, ..Summary::new(&scenario.head, digest, methods.collect()) }
}

/// One line for each run, method and round.
fn rounds(scenario: &OutsourcedScenario, runs: &[OutsourcedRun]) -> String {
    let row = |run: &OutsourcedRun, (round, regret): (usize, &f64)| {
        let (name, kind) = (run.compared.name(), run.compared.kind);
        let epsilon = (kind == Kind::GaussianProjection).then_some(scenario.curator.epsilon);
        let address = [run.run.to_string(), name, round.to_string()];
        address.into_iter().chain([number(Some(*regret)), number(epsilon), kind.guarantee().to_owned()])
    };
    let rows = runs.iter().flat_map(|run| run.regret.iter().enumerate().map(|at| row(run, at)));
    csv(COLUMNS.iter().map(|(name, _)| *name), rows)
}

/// The line below the title, and the picture.
fn chart(scenario: &OutsourcedScenario, methods: &[MethodSummary]) -> (String, Chart) {
    // The values of r are a ramp.
    let class = |compared: &Compared| match compared.kind {
        Kind::Random => "ash",
        Kind::GpUcb => "ink",
        Kind::GaussianProjection => "red",
        Kind::PaperProjection => {
            let place = scenario.curator.out_dims.iter().position(|r| Some(*r) == compared.out_dim);
            RAMP[place.unwrap_or(0).min(RAMP.len() - 1)]
        }
    };
    let label = |compared: &Compared| match compared.out_dim {
        Some(r) => (format!("paper, r = {r}"), "not private".to_owned()),
        None => match compared.kind {
            Kind::GaussianProjection => {
                ("private rows".to_owned(), format!("ε = {}", significant(scenario.curator.epsilon, 3)))
            }
            kind => (kind.name().to_owned(), kind.guarantee().to_owned()),
        },
    };
    let mut curves: Vec<Curve> = methods
        .iter()
        .map(|method| {
            let (label, note) = label(&method.compared);
            let points = method.curve.iter().enumerate();
            let points = points.map(|(round, at)| Point::mean_of_positive(round as f64, *at));
            Curve { class: class(&method.compared), label, note, points: points.collect() }
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
    let paper = if scenario.modeler.methods.contains(&Kind::PaperProjection) {
        ". The paper's projection is not differentially private"
    } else {
        ""
    };
    (format!("{band}{paper}."), chart)
}
