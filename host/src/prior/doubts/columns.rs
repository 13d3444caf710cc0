//! What studies leave open: parameters that never change, choices that nobody tried, numbers that
//! are levels of a grid, rows that are there twice.

use std::cmp::Ordering;

use super::super::publish::Study;
use crate::space::{Parameter, Space, Values};
use crate::text::{first_three, significant};

/// The one value that a parameter has in all studies, if it has one only.
fn constant(studies: &[Study], axis: usize) -> Option<f64> {
    let mut values = studies.iter().flat_map(|study| &study.values);
    let first = values.next()?.0[axis];
    values
        .all(|(point, _)| point[axis] == first)
        .then_some(first)
}

/// Says which parameters never change: a file learns nothing of them.
pub(super) fn if_constant(space: &Space, studies: &[Study]) -> Option<String> {
    let first = studies.iter().find_map(|study| study.values.first())?;
    let shown = space.point(&first.0);
    let parameters = space.parameters();
    let found: Vec<String> = parameters
        .iter()
        .enumerate()
        .filter(|(axis, _)| constant(studies, *axis).is_some())
        .map(|(_, parameter)| {
            let value = shown.get(&parameter.name).map(ToString::to_string);
            format!("`{}` ({})", parameter.name, value.unwrap_or_default())
        })
        .collect();
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} of {} parameters have one value in all rows of all {} studies, and the file learns nothing of them: {}; leave such a \
             column out of table and space, or add studies that vary it",
            found.len(),
            parameters.len(),
            studies.len(),
            first_three(&names, ", ")
        )
    })
}

/// Says which choices no study tried. A parameter that never changes is another doubt.
pub(super) fn if_untried(space: &Space, studies: &[Study]) -> Option<String> {
    let mut found = Vec::new();
    for (axis, parameter) in space.parameters().iter().enumerate() {
        let Values::Choices { choices, .. } = &parameter.values else {
            continue;
        };
        let mut is_tried = vec![false; choices.len()];
        for (point, _) in studies.iter().flat_map(|study| &study.values) {
            if let Some(tried) = is_tried.get_mut(point[axis] as usize) {
                *tried = true;
            }
        }
        let untried = choices.iter().zip(&is_tried).filter(|(_, tried)| !**tried);
        let untried: Vec<String> = untried.map(|(choice, _)| choice.to_string()).collect();
        if untried.is_empty() || constant(studies, axis).is_some() {
            continue;
        }
        let names: Vec<&str> = untried.iter().map(String::as_str).collect();
        found.push(format!(
            "{} of {} of `{}` ({})",
            untried.len(),
            choices.len(),
            parameter.name,
            first_three(&names, ", ")
        ));
    }
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "no study tried some choices, of which the file knows nothing of their own: {}; leave them out of the space, or add studies \
             that try them",
            first_three(&names, ", ")
        )
    })
}

/// More values than these are taken for those of a range.
const LEVELS_MAX: usize = 32;
/// So many rows for each value make it a level and no accident.
const ROWS_A_LEVEL: usize = 10;

/// The number of values that a parameter has in all studies, if it is a number and these are levels
/// of a grid.
fn levels(parameter: &Parameter, axis: usize, studies: &[Study]) -> Option<usize> {
    let Values::Number {
        low, high, integer, ..
    } = parameter.values
    else {
        return None;
    };
    let rows = studies.iter().flat_map(|study| &study.values);
    let mut values: Vec<f64> = rows.map(|(point, _)| point[axis]).collect();
    let rows = values.len();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let count = values.len();
    // Most of the whole numbers that there are: the range says what they are.
    let is_range = integer && high - low < 2.0 * count as f64;
    ((2..=LEVELS_MAX).contains(&count) && rows >= ROWS_A_LEVEL * count && !is_range)
        .then_some(count)
}

/// Says which numbers are levels of a grid. A range is read as all numbers between: landmarks and
/// virtual designs lie where nobody evaluates, and the better the file is known the more it
/// misleads (`docs/prior-files.md`, "Say what your columns are").
pub(super) fn if_gridded(space: &Space, studies: &[Study]) -> Option<String> {
    let parameters = space.parameters().iter().enumerate();
    let found: Vec<String> = parameters
        .filter_map(|(axis, parameter)| {
            let count = levels(parameter, axis, studies)?;
            Some(format!("`{}` ({count} values)", parameter.name))
        })
        .collect();
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "levels of a grid stand as a range, and a file of many studies misleads by that: {}; name them in the space as choices with \
             ordered = true",
            first_three(&names, ", ")
        )
    })
}

/// A parameter whose rows lie in a smaller part of its range than this leaves nearly all of it
/// untried.
const PART_MIN: f64 = 0.1;

/// Says of which parameters all rows lie in a small part of the range: a file says little of the
/// rest, and its lengthscale is that of the whole range.
pub(super) fn if_narrow(space: &Space, studies: &[Study]) -> Option<String> {
    let core = space.core().ok()?;
    let mut found = Vec::new();
    for (axis, parameter) in space.parameters().iter().enumerate() {
        let Values::Number { low, high, .. } = parameter.values else {
            continue;
        };
        let rows = studies.iter().flat_map(|study| &study.values);
        let values = rows.map(|(point, _)| point[axis]);
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| {
            (x.min(least), x.max(most))
        });
        let part = core.to_unit(axis, most)? - core.to_unit(axis, least)?;
        // One value in all rows is another doubt.
        if most > least && part < PART_MIN {
            found.push(format!(
                "`{}` (from {least} to {most}, {} % of {low} to {high})",
                parameter.name,
                significant(100.0 * part, 2)
            ));
        }
    }
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "all rows lie in a small part of a range, and a file says little of the rest of it: {}; take the range that was searched, or \
             scale = \"log\" where values have many magnitudes",
            first_three(&names, ", ")
        )
    })
}

/// Rows of a study beyond the first of the same settings and value.
fn repeated(study: &Study) -> usize {
    let mut rows: Vec<&(Vec<f64>, f64)> = study.values.iter().collect();
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    rows.dedup();
    study.values.len() - rows.len()
}

/// Says which studies have a row more than once. Settings that were tried again and had another
/// value are repeats, as they should be.
pub(super) fn if_repeated(studies: &[Study]) -> Option<String> {
    let found: Vec<String> = studies
        .iter()
        .map(|study| (study, repeated(study)))
        .filter(|(_, rows)| *rows > 0)
        .map(|(study, rows)| {
            let many = if rows == 1 { "" } else { "s" };
            format!("{} ({rows} row{many})", study.name)
        })
        .collect();
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} of {} studies have rows that were there before, with the same settings and the same value: {}; each counts again, so \
             leave out what was exported twice, and keep what was measured twice",
            found.len(),
            studies.len(),
            first_three(&names, ", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::SpaceFile;

    const SPACE: &str = "[parameters.depth]\nlow = 1\nhigh = 9\ninteger = true\n[parameters.kind]\nchoices = [\"a\", \"b\", \"c\"]\n\
                         [parameters.rate]\nlow = 0\nhigh = 1";

    fn space() -> Space {
        SpaceFile::parse("s", SPACE).unwrap().space
    }

    /// Studies of depth, kind and rate.
    fn studies(rows: &[[f64; 4]]) -> Vec<Study> {
        let halves = rows.split_at(rows.len() / 2);
        let study = |(name, rows): (&str, &[[f64; 4]])| Study {
            name: name.into(),
            values: rows.iter().map(|row| (row[..3].to_vec(), row[3])).collect(),
        };
        [("x", halves.0), ("y", halves.1)].map(study).to_vec()
    }

    #[test]
    fn a_column_that_never_changes_is_named_with_its_value() {
        let rows = [
            [4.0, 1.0, 0.5, 1.0],
            [4.0, 1.0, 0.25, 2.0],
            [4.0, 1.0, 0.5, 3.0],
            [4.0, 1.0, 0.5, 4.0],
        ];
        let told = if_constant(&space(), &studies(&rows)).unwrap();
        let begin = "2 of 3 parameters have one value in all rows of all 2 studies, and the file learns nothing of them: `depth` (4), \
                     `kind` (\"b\"); leave";
        assert!(told.starts_with(begin), "{told}");
        // What never changes is told once.
        assert_eq!(if_untried(&space(), &studies(&rows)), None);
        // Each study has one depth, and together they have two.
        let mut varied = rows;
        (varied[2][0], varied[3][0]) = (5.0, 5.0);
        (varied[2][1], varied[3][1]) = (0.0, 2.0);
        assert_eq!(if_constant(&space(), &studies(&varied)), None);
        assert_eq!(if_untried(&space(), &studies(&varied)), None);
        varied[2][1] = 1.0;
        let told = if_untried(&space(), &studies(&varied)).unwrap();
        assert!(told.contains(": 1 of 3 of `kind` (\"a\"); leave"), "{told}");
    }

    #[test]
    fn levels_of_a_grid_are_told_apart_from_a_range() {
        // Depths 1 to 9 are all that there are, rates four levels.
        let row = |i: u32, rate: f64| [f64::from(1 + i % 9), f64::from(i % 3), rate, f64::from(i)];
        let gridded: Vec<_> = (0..40).map(|i| row(i, f64::from(i % 4) / 4.0)).collect();
        let told = if_gridded(&space(), &studies(&gridded)).unwrap();
        assert!(told.contains(": `rate` (4 values); name"), "{told}");
        assert_eq!(if_gridded(&space(), &studies(&gridded[..38])), None);
        let free: Vec<_> = (0..400).map(|i| row(i, f64::from(i) / 400.0)).collect();
        assert_eq!(if_gridded(&space(), &studies(&free)), None);
    }

    #[test]
    fn rows_that_are_there_twice_are_counted_and_measurements_are_not() {
        let mut rows = [
            [4.0, 1.0, 0.5, 1.0],
            [4.0, 1.0, 0.5, 1.5],
            [5.0, 1.0, 0.5, 1.0],
            [4.0, 1.0, 0.5, 1.0],
            [5.0, 0.0, 0.5, 3.0],
            [6.0, 2.0, 0.5, 3.0],
        ];
        // The same settings with another value, and the same row in two studies.
        assert_eq!(if_repeated(&studies(&rows)), None);
        rows[2] = rows[0];
        let told = if_repeated(&studies(&rows)).unwrap();
        assert!(
            told.starts_with("1 of 2 studies") && told.contains(": x (1 row); each"),
            "{told}"
        );
        rows[1] = rows[0];
        let told = if_repeated(&studies(&rows)).unwrap();
        assert!(told.contains(": x (2 rows); each"), "{told}");
    }
}
