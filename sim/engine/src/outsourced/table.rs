//! The curator's table, prepared with public constants, and a value for every row.

use std::path::Path;

use sordino_core::math::Scalar;
use sordino_core::outsourced::preprocess::{Constants, isotropic};
use sordino_core::random::RunSeed;
use sordino_experiment::benchmark::TestFunction;
use sordino_experiment::scenario::GpSampleConfig;
use sordino_experiment::scenario::outsourced::{
    BraninGrid, CsvColumns, OutsourcedObjective, OutsourcedScenario,
};
use sordino_experiment::world::gp_sample::{GpSamples, grid};
use sordino_experiment::world::rows::{Row, Rows};
use sordino_experiment::world::{Family, ObjectiveError};

use super::machines::Problem;
use crate::contract::ModelError;

/// Largest number of rows times queries, so that a run's posterior stays within a gigabyte.
const NUMBERS_MAX: u64 = 1 << 27;

/// The declared ranges of a file's columns, in the unit in which they are computed with.
pub(super) fn ends(columns: &CsvColumns) -> Vec<[f64; 2]> {
    let ranges = columns.inputs.iter().zip(&columns.input_ranges);
    ranges
        .map(|(name, [low, high])| {
            if columns.log_inputs.contains(name) {
                [Scalar::ln(*low), Scalar::ln(*high)]
            } else {
                [*low, *high]
            }
        })
        .collect()
}

/// What all runs share: the table and where its values come from.
pub struct Source {
    /// Table and beliefs.
    pub problem: Problem,
    values: Values,
    /// Rows of a file outside the declared ranges, moved to their edge. Simulation only: *not
    /// releasable*.
    pub moved: usize,
}

enum Values {
    Fixed(Vec<f64>),
    Drawn(GpSamples),
}

impl Source {
    /// Reads data, prepares the table.
    ///
    /// **Errors**: missing or malformed data with line and column; a table too large for the rounds
    /// asked for.
    pub fn load(scenario: &OutsourcedScenario, data: Option<&Path>) -> Result<Source, ModelError> {
        let modeler = &scenario.modeler;
        let mut observation_variance = 0.0;
        let mut sign = 1.0;
        let mut moved = 0;
        let (mut table, ranges, values) = match &scenario.objective {
            OutsourcedObjective::GpSample(sample) => {
                let config =
                    GpSampleConfig::plain(sample.dim, sample.points_per_axis, sample.kernel);
                observation_variance = sample.noise_variance;
                let family = GpSamples::new(&config, 1).map_err(ModelError::input)?;
                let points = grid(sample.points_per_axis, sample.dim);
                (points, vec![[0.0, 1.0]; sample.dim], Values::Drawn(family))
            }
            OutsourcedObjective::Branin(BraninGrid { points_per_axis }) => (
                grid(*points_per_axis, 2),
                vec![[0.0, 1.0]; 2],
                Values::Fixed(branin(*points_per_axis)),
            ),
            OutsourcedObjective::Csv(columns) => {
                let path = data.ok_or_else(|| {
                    ModelError::input("this scenario reads a CSV file; name it with --data PATH")
                })?;
                sign = columns.goal.sign();
                let read = read(path, columns).map_err(ModelError::input)?;
                moved = read.moved;
                (read.inputs, ends(columns), Values::Fixed(read.values))
            }
        };
        let dim = scenario.objective.dim();
        let rows = (table.len() / dim) as u64;
        if rows * (u64::from(modeler.rounds) + 1) > NUMBERS_MAX {
            return Err(ModelError::input(format!(
                "{rows} rows times {} queries are more than {NUMBERS_MAX} numbers; fewer rounds or rows",
                modeler.rounds + 1
            )));
        }
        let (factor, centre) = scale(
            &ranges,
            &modeler.lengthscales,
            scenario.curator.largest_norm,
        );
        isotropic(&mut table, &modeler.lengthscales).map_err(ModelError::input)?;
        let logarithms: Vec<bool> = match &scenario.objective {
            OutsourcedObjective::Csv(columns) => columns
                .inputs
                .iter()
                .map(|name| columns.log_inputs.contains(name))
                .collect(),
            _ => vec![false; dim],
        };
        let constants = Constants::public(&centre, factor)
            .and_then(|constants| constants.of_columns(&modeler.lengthscales, &logarithms))
            .map_err(ModelError::input)?;
        constants.apply(&mut table).map_err(ModelError::input)?;
        let problem = Problem {
            table,
            dim,
            origin: constants.origin(),
            kernel: modeler.kernel,
            lengthscale: factor,
            signal_variance: modeler.signal_variance,
            noise_variance: modeler.noise_variance,
            prior_mean: sign * modeler.prior_mean,
            failure_probability: modeler.failure_probability,
            observation_variance,
            repeats: modeler.repeats,
        };
        Ok(Source {
            problem,
            values,
            moved,
        })
    }

    /// The value of every row in one run.
    pub fn values(&self, run: RunSeed) -> Vec<f64> {
        match &self.values {
            Values::Fixed(values) => values.clone(),
            Values::Drawn(family) => family.realize(run).values(0),
        }
    }
}

/// Public constants: the middle of the box of ranges in units of the lengthscales, and the factor
/// that takes half its diagonal to `largest_norm`. The kernel's lengthscale in prepared units is
/// that factor.
pub fn scale(ranges: &[[f64; 2]], lengthscales: &[f64], largest_norm: f64) -> (f64, Vec<f64>) {
    let sides = ranges
        .iter()
        .zip(lengthscales)
        .map(|([low, high], lengthscale)| (high - low) / lengthscale);
    let diagonal = sides.fold(0.0, |sum, side| sum + side * side);
    let centre = ranges
        .iter()
        .zip(lengthscales)
        .map(|([low, high], l)| 0.5 * (low + high) / l)
        .collect();
    (2.0 * largest_norm / Scalar::sqrt(diagonal), centre)
}

/// −ln(Branin + 1) on a grid over [−5, 10] × [0, 15].
pub fn branin(points_per_axis: u32) -> Vec<f64> {
    grid(points_per_axis, 2)
        .chunks(2)
        .map(|unit| -Scalar::ln(1.0 - TestFunction::Branin.value(unit)))
        .collect()
}

struct Read {
    inputs: Vec<f64>,
    values: Vec<f64>,
    moved: usize,
}

/// The field of a column, a number up to 1e12.
fn number(row: &Row<'_>, column: usize) -> Result<f64, ObjectiveError> {
    row.number(column, |x| x.abs() <= 1e12, "a number up to 1e12")
}

/// Named columns of a CSV file with a header, logarithms taken, values turned so that more is
/// better.
fn read(path: &Path, columns: &CsvColumns) -> Result<Read, ObjectiveError> {
    let rows = Rows::read(path)?;
    rows.check_digest("objective.digest", rows.digest(), columns.digest.as_deref())?;
    let inputs = columns
        .inputs
        .iter()
        .map(|name| rows.column(name))
        .collect::<Result<Vec<_>, _>>()?;
    let output = rows.column(&columns.output)?;
    let logs: Vec<bool> = columns
        .inputs
        .iter()
        .map(|name| columns.log_inputs.contains(name))
        .collect();
    let mut found = Read {
        inputs: Vec::new(),
        values: Vec::new(),
        moved: 0,
    };
    for row in rows.iter() {
        let mut outside = false;
        for (j, place) in inputs.iter().enumerate() {
            let x = number(&row, *place)?;
            let [low, high] = columns.input_ranges[j];
            outside |= !(low..=high).contains(&x);
            let x = x.clamp(low, high);
            found.inputs.push(if logs[j] { Scalar::ln(x) } else { x });
        }
        found.moved += usize::from(outside);
        let y = if columns.log_output {
            Scalar::ln(row.number(
                output,
                |x| x > 0.0 && x <= 1e12,
                "a positive number up to 1e12",
            )?)
        } else {
            number(&row, output)?
        };
        found.values.push(columns.goal.sign() * y);
    }
    if found.values.len() < 2 {
        return Err(rows.error(format!(
            "{} rows; at least two are needed",
            found.values.len()
        )));
    }
    Ok(found)
}
