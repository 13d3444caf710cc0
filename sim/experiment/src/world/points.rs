//! Candidates: the points of a design, or the rows of a file.

use std::path::Path;

use super::ObjectiveError;
use super::rows::Rows;
use super::space::{self, Setting};
use crate::benchmark::{Design, design};
use crate::scenario::DesignConfig;
use crate::scenario::space::{Input, SpaceConfig};

/// The most candidates that are read from a file.
const CANDIDATES_MAX: usize = 20_000;

/// The list of candidates that a scenario was made for.
///
/// **Errors**: a file that cannot be read, or of another digest than the scenario says.
fn list(config: &DesignConfig, path: &Path) -> Result<Rows, ObjectiveError> {
    let rows = Rows::read(path)?;
    rows.check_digest(
        "objective.list_digest",
        rows.digest(),
        config.list_digest.as_deref(),
    )?;
    Ok(rows)
}

/// Candidates in [0, 1]^dim, row-major: the points of a design, or columns x1 to xD of `data`.
///
/// **Errors**: no file where one is needed, or a malformed one, with line and column.
pub fn candidates(
    config: &DesignConfig,
    dim: usize,
    data: Option<&Path>,
) -> Result<Vec<f64>, ObjectiveError> {
    if config.design != Design::List {
        return Ok(design::points(
            config.design,
            config.candidates,
            dim,
            config.design_seed,
        ));
    }
    let path = data.ok_or(ObjectiveError::NoData {
        file: "a CSV list of candidates, columns x1 to xD in [0, 1]",
    })?;
    let rows = list(config, path)?;
    let columns = (1..=dim)
        .map(|d| rows.column(&format!("x{d}")))
        .collect::<Result<Vec<_>, _>>()?;
    let mut points = Vec::new();
    for row in rows.iter() {
        for column in &columns {
            points.push(row.number(
                *column,
                |x| (0.0..=1.0).contains(&x),
                "a number from 0 to 1",
            )?);
        }
    }
    let count = points.len() / dim;
    if !(2..=CANDIDATES_MAX).contains(&count) {
        return Err(rows.count_error(count, "2 to 20000 candidates"));
    }
    Ok(points)
}

/// Refuses a design with so few points along an axis that names of a category would never be asked
/// for.
fn every_name_is_there(
    inputs: &[(&str, Input<'_>)],
    all: &[Vec<Setting>],
) -> Result<(), ObjectiveError> {
    for (place, (input, kind)) in inputs.iter().enumerate() {
        let Input::Category(names) = kind else {
            continue;
        };
        let missing: Vec<&str> = names
            .iter()
            .filter(|name| {
                !all.iter().any(|settings| {
                    matches!(settings.get(place), Some(Setting::Name(other)) if other == *name)
                })
            })
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            return Err(ObjectiveError::Names {
                input: (*input).to_owned(),
                missing: missing.join(", "),
            });
        }
    }
    Ok(())
}

/// Settings in a user's units: from a design with one coordinate for each input, or from rows of
/// `data`. Each occurs once, at its first place.
///
/// **Errors**: as [`candidates`].
pub fn settings(
    space: &SpaceConfig,
    config: &DesignConfig,
    data: Option<&Path>,
) -> Result<Vec<Vec<Setting>>, ObjectiveError> {
    let inputs = space.all();
    let all: Vec<Vec<Setting>> = if config.design == Design::List {
        let path = data.ok_or(ObjectiveError::NoData {
            file: "a CSV list of candidates, a column for each input",
        })?;
        let rows = list(config, path)?;
        let all = space::of_rows(space, &rows, rows.iter())?;
        if !(2..=CANDIDATES_MAX).contains(&all.len()) {
            return Err(rows.count_error(all.len(), "2 to 20000 candidates"));
        }
        all
    } else {
        let points = design::points(
            config.design,
            config.candidates,
            inputs.len(),
            config.design_seed,
        );
        let all: Vec<Vec<Setting>> = points
            .chunks_exact(inputs.len())
            .map(|point| {
                inputs
                    .iter()
                    .zip(point)
                    .map(|((_, input), u)| space::decode(input, *u))
                    .collect()
            })
            .collect();
        every_name_is_there(&inputs, &all)?;
        all
    };
    let mut seen = std::collections::BTreeSet::new();
    Ok(all
        .into_iter()
        .filter(|setting| seen.insert(setting.iter().map(space::shown).collect::<Vec<_>>()))
        .collect())
}
