//! Red wines of Cortez, Cerdeira, Almeida, Matos, Reis 2009, compiled in (`data/wines.in`): 1,599
//! rows, 11 measurements; is the quality 6 or better?
//!
//! Wine i belongs to agent i mod 16 (100 each, the last has 99). Within an agent and a label, every
//! other wine is a test row. Measurements are centred and scaled by the public constants below,
//! which are round numbers near those of the published description of the data; nothing is fitted
//! here.

use super::tuning::{Rows, Task};
use crate::scenario::output::WINE_RECORDS;

/// Number of agents.
pub const AGENTS: usize = 16;
const MEASUREMENTS: usize = 11;
// A wine of pH 3.14 is not meant to be π.
#[allow(clippy::approx_constant)]
static WINES: [[f64; MEASUREMENTS + 1]; WINE_RECORDS as usize] = include!("../../data/wines.in");
/// (centre, scale): acidities, sugar, chlorides, sulphur dioxides, density, pH, sulphates, alcohol.
const SCALES: [(f64, f64); MEASUREMENTS] = [
    (8.3, 1.7),
    (0.53, 0.18),
    (0.27, 0.19),
    (2.5, 1.4),
    (0.087, 0.047),
    (16.0, 10.0),
    (46.0, 33.0),
    (0.9967, 0.0019),
    (3.3, 0.15),
    (0.66, 0.17),
    (10.4, 1.07),
];

/// Number of wines.
pub const ROWS: u32 = WINE_RECORDS;

/// One task: the machine learns from the wines named by `train` and is judged on those named by
/// `test`.
///
/// **Panics**: if a number is not below [`ROWS`].
pub fn task(train: &[u32], test: &[u32]) -> Task {
    Task {
        width: MEASUREMENTS,
        train: rows(train),
        test: rows(test),
    }
}

/// The wines at these places.
fn rows(places: &[u32]) -> Rows {
    let mut rows = Rows::default();
    for place in places {
        push(&mut rows, &WINES[*place as usize]);
    }
    rows
}

/// Appends a wine: its label, and its measurements centred and scaled.
fn push(rows: &mut Rows, wine: &[f64; MEASUREMENTS + 1]) {
    rows.positive.push(wine[MEASUREMENTS] >= 6.0);
    rows.features.extend(
        wine.iter()
            .zip(SCALES)
            .map(|(x, (centre, scale))| (x - centre) / scale),
    );
}

/// The agents' data.
pub fn tasks() -> Vec<Task> {
    let mut tasks = vec![
        Task {
            width: MEASUREMENTS,
            ..Task::default()
        };
        AGENTS
    ];
    for (i, wine) in WINES.iter().enumerate() {
        let task = &mut tasks[i % AGENTS];
        let positive = wine[MEASUREMENTS] >= 6.0;
        let same = |kept: &[bool]| kept.iter().filter(|other| **other == positive).count();
        let rows = if same(&task.train.positive) <= same(&task.test.positive) {
            &mut task.train
        } else {
            &mut task.test
        };
        push(rows, wine);
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_agents_with_halves_of_both_labels() {
        let tasks = tasks();
        // The first wine of the published file.
        assert_eq!(
            WINES[0],
            [
                7.4, 0.7, 0.0, 1.9, 0.076, 11.0, 34.0, 0.9978, 3.51, 0.56, 9.4, 5.0
            ]
        );
        for (n, task) in tasks.iter().enumerate() {
            let rows = task.train.positive.len() + task.test.positive.len();
            assert_eq!(rows, if n == 15 { 99 } else { 100 });
            assert!(task.train.positive.len().abs_diff(task.test.positive.len()) <= 2);
            assert!(task.train.has_both_labels() && task.test.has_both_labels());
        }
    }
}
