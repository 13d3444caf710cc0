//! What a publisher is told before anything is charged: that the file may be worth little, or protect
//! less than its label says.

use std::cmp::Ordering;
use std::collections::HashMap;

use sordino_experiment::progress::log::note;
use sordino_experiment::text::first_three;
use sordino_host::day::Day;
use sordino_host::prior::publish::Study;

use super::arguments::Arguments;

/// Number of studies times ε below which files of the example's kind were worth nothing:
/// `docs/prior-files.md` has the table.
const STUDIES_TIMES_EPSILON: f64 = 30.0;

/// Says before anything is charged what speaks against the file.
pub fn before(arguments: &Arguments, studies: &[Study]) {
    if_few(studies.len(), arguments.epsilon);
    if_mute(studies);
    if_alike(studies);
    if let Some(day) = arguments.date.filter(|day| *day > Day::latest()) {
        note(&format!("--date {day} is in the future"));
    }
}

/// Says that so few studies seldom make a file that is worth something.
fn if_few(studies: usize, epsilon: f64) {
    if (studies as f64) * epsilon < STUDIES_TIMES_EPSILON {
        let wanted = (STUDIES_TIMES_EPSILON / epsilon).ceil();
        note(&format!(
            "{studies} studies at ε {epsilon}: such a file is seldom worth anything, and costs as much as one that is; our example's \
             was where studies times ε is {STUDIES_TIMES_EPSILON} or more, {wanted} studies here"
        ));
    }
}

/// Says which studies say little or nothing: those whose values are all the same,
/// or of fewer than three different points.
fn if_mute(studies: &[Study]) {
    let mute: Vec<&str> = studies
        .iter()
        .filter(|study| {
            let mut points: Vec<&[f64]> =
                study.values.iter().map(|(point, _)| &point[..]).collect();
            points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
            points.dedup();
            let first = study.values.first().map(|(_, value)| *value);
            points.len() < 3 || study.values.iter().all(|(_, value)| Some(*value) == first)
        })
        .map(|study| study.name.as_str())
        .collect();
    if !mute.is_empty() {
        note(&format!(
            "{} of {} studies have one value only, or fewer than three different points, and say little or nothing: {}",
            mute.len(),
            studies.len(),
            first_three(&mute, ", ")
        ));
    }
}

/// Says which studies have the rows of another, in whatever order: one contributor under two names
/// counts as two, and each protects only itself.
fn if_alike(studies: &[Study]) {
    let mut first: HashMap<Vec<Vec<u64>>, &str> = HashMap::new();
    let mut alike = Vec::new();
    for study in studies {
        let rows = study.values.iter().map(|(point, value)| {
            let numbers = point.iter().chain([value]);
            numbers.map(|x| x.to_bits()).collect()
        });
        let mut rows: Vec<Vec<u64>> = rows.collect();
        rows.sort_unstable();
        match first.get(&rows) {
            Some(other) => alike.push(format!("{} and {other}", study.name)),
            None => drop(first.insert(rows, &study.name)),
        }
    }
    if alike.is_empty() {
        return;
    }
    let shown: Vec<&str> = alike.iter().map(String::as_str).collect();
    note(&format!(
        "{} of {} studies have the same rows as another: {}; if both are one contributor's, the file protects it less than \
         its label says",
        alike.len(),
        studies.len(),
        first_three(&shown, ", ")
    ));
}
