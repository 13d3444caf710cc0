//! The numbers of single runs, by which the methods of a sweep are compared, and their paired
//! differences.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sordino_report::differences::{self, Difference};
use sordino_report::results::Results;

/// The numbers by which the methods of one run folder are compared, run by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The quantity in words, as in "summed regret".
    pub by: String,
    /// The name of each method, and a number for each of its runs.
    pub methods: Vec<(String, Vec<f64>)>,
}

impl Compared {
    /// The numbers of a complete run folder.
    ///
    /// `None` if the folder has no curves that can be read: its methods are then in no paired
    /// difference, and tables and page say so.
    pub fn read(folder: &Path) -> Option<Self> {
        Some(Self::of_results(&Results::open(folder).ok()?))
    }

    /// The numbers of a run folder that was read.
    pub fn of_results(results: &Results) -> Self {
        Compared {
            by: results.compared_by(),
            methods: results.worth(),
        }
    }

    /// Whether both have the same numbers, but for rounding.
    pub(super) fn is_same(&self, other: &Compared) -> bool {
        let is_near = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
        self.methods.len() == other.methods.len()
            && self.methods.iter().all(|(name, own)| {
                other.of(name).is_some_and(|there| {
                    own.len() == there.len() && own.iter().zip(there).all(is_near)
                })
            })
    }

    fn of(&self, method: &str) -> Option<&[f64]> {
        self.methods
            .iter()
            .find(|(name, _)| name == method)
            .map(|(_, values)| values.as_slice())
    }
}

/// One method against the reference in one cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedCell {
    /// One value for each axis.
    pub values: Vec<String>,
    /// The quantity that is subtracted, in words.
    pub compared_by: String,
    /// Method − reference over all runs of all seeds; Holm's correction is for all differences of
    /// the sweep.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Every method minus the reference over the runs that have both, cell by cell: a cell has a value
/// for each axis, the names of its methods and the numbers of its folders. A cell without the
/// reference has no difference.
pub fn differences<'c>(
    cells: impl Iterator<Item = (&'c [String], Vec<&'c str>, Vec<&'c Compared>)>,
    reference: &str,
) -> Vec<PairedCell> {
    let mut places = Vec::new();
    let mut pairs = Vec::new();
    for (values, methods, folders) in cells {
        let by = folders
            .first()
            .map_or(String::new(), |first| first.by.clone());
        for method in methods.into_iter().filter(|name| *name != reference) {
            let both = joined(&folders, method, reference);
            if !both[0].1.is_empty() {
                places.push((values.to_vec(), by.clone()));
                pairs.push(both);
            }
        }
    }
    let found = differences::of(pairs.iter().map(|[first, second]| (first, second)));
    places
        .into_iter()
        .zip(found)
        .map(|((values, compared_by), difference)| PairedCell {
            values,
            compared_by,
            difference,
        })
        .collect()
}

/// The numbers of two methods over the runs of all folders that have both.
fn joined(folders: &[&Compared], method: &str, reference: &str) -> [(String, Vec<f64>); 2] {
    let mut both = [
        (method.to_owned(), Vec::new()),
        (reference.to_owned(), Vec::new()),
    ];
    for folder in folders {
        if let (Some(first), Some(second)) = (folder.of(method), folder.of(reference)) {
            both[0].1.extend_from_slice(first);
            both[1].1.extend_from_slice(second);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use sordino_experiment::metrics::Estimate;

    use super::*;

    /// Runs differ by much more than methods: 0, 10, 20, …
    fn folder(own: [f64; 6]) -> Compared {
        let of = |name: &str, own: [f64; 6]| {
            let values = own
                .iter()
                .enumerate()
                .map(|(run, own)| 10.0 * run as f64 + own);
            (name.to_owned(), values.collect::<Vec<f64>>())
        };
        Compared {
            by: "summed regret".into(),
            methods: vec![of("ts", [0.0; 6]), of("x", own)],
        }
    }

    fn found(folders: &[Compared], reference: &str) -> Vec<PairedCell> {
        let values = ["2".to_owned()];
        differences(
            [(&values[..], vec!["ts", "x"], folders.iter().collect())].into_iter(),
            reference,
        )
    }

    #[test]
    fn bars_overlap_where_the_paired_interval_excludes_zero() {
        let folder = |own| [folder(own)];
        let better = folder([-1.0, -1.2, -0.9, -1.1, -0.8, -1.0]);
        let bars: Vec<Estimate> = better[0]
            .methods
            .iter()
            .map(|(_, values)| Estimate::of(values))
            .collect();
        let apart = |a: &Estimate, b: &Estimate| (a.mean - b.mean).abs();
        let errors =
            |a: &Estimate, b: &Estimate| a.standard_error.unwrap() + b.standard_error.unwrap();
        assert!(
            apart(&bars[0], &bars[1]) < 0.1 * errors(&bars[0], &bars[1]),
            "the bars overlap: {bars:?}"
        );
        let cells = found(&better, "ts");
        let [
            PairedCell {
                compared_by,
                difference,
                ..
            },
        ] = &cells[..]
        else {
            panic!("{cells:?}")
        };
        assert_eq!(
            (&**compared_by, difference.name()),
            ("summed regret", "x − ts".to_owned())
        );
        assert!(
            (difference.mean + 1.0).abs() < 1e-9
                && difference.mean + difference.half_width.unwrap() < 0.0
        );
        assert!(
            difference.holm.unwrap() < 1e-4 && difference.smaller == 6,
            "{difference:?}"
        );
        // Negative control: as large on average in the runs' own size, of either sign, it is no
        // difference.
        let same = &found(&folder([-1.0, 1.2, -0.9, 1.1, -0.8, 1.0]), "ts")[0].difference;
        assert!(
            same.mean.abs() < same.half_width.unwrap() && same.holm.unwrap() > 0.3,
            "{same:?}"
        );
        // The reference is the one that is asked for.
        let turned = &found(&better, "x")[0].difference;
        assert_eq!(
            (turned.name(), turned.mean),
            ("ts − x".to_owned(), -difference.mean)
        );
    }

    #[test]
    fn seeds_are_joined_and_folders_without_one_of_the_two_are_left_out() {
        let mut alone = folder([0.0; 6]);
        alone.methods.pop();
        let folders = [folder([1.0; 6]), alone, folder([2.0; 6])];
        let cell = &found(&folders, "ts")[0];
        assert_eq!((cell.difference.pairs, cell.difference.mean), (12, 1.5));
        assert!(found(&folders, "fts").is_empty() && found(&[], "ts").is_empty());
    }
}
