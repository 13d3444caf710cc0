//! Paired differences between every two entries: Student's t, Wilcoxon's signed ranks, Holm's
//! correction.

use serde::{Deserialize, Serialize};
use sordino_experiment::metrics::Paired;
use sordino_experiment::text::significant;

use super::rows::number;
use super::table::or_dash;
use crate::paired::{PAIRS_FEW, holm, t_test, wilcoxon};

/// One entry against another, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Name of the first; the difference is first − second.
    pub first: String,
    /// Name of the second, which is subtracted.
    pub second: String,
    /// Mean difference.
    pub mean: f64,
    /// Half width of its 95 % confidence interval (Student); unknown from a single pair.
    pub half_width: Option<f64>,
    /// Pairs in which the first is smaller.
    pub smaller: usize,
    /// Number of pairs.
    pub pairs: usize,
    /// Two-sided p value of the paired t test.
    pub t_test: Option<f64>,
    /// The t test's p value after Holm's correction for the number of differences.
    pub holm: Option<f64>,
    /// Two-sided p value of Wilcoxon's signed-rank test.
    pub wilcoxon: Option<f64>,
}

/// Heads of the columns of [`Difference::cells`].
pub const HEAD: [&str; 6] = [
    "difference",
    "mean, 95 %",
    "first smaller",
    "p (t)",
    "p (Holm)",
    "p (Wilcoxon)",
];

/// Names of the fields of [`Difference::fields`].
pub const COLUMNS: [&str; 9] = [
    "first",
    "second",
    "mean",
    "half_width",
    "smaller",
    "pairs",
    "p_t",
    "p_holm",
    "p_wilcoxon",
];

/// The differences of every two entries, in order; an entry has a name and a number for each run.
pub fn all(entries: &[(String, Vec<f64>)]) -> Vec<Difference> {
    let pairs = entries
        .iter()
        .enumerate()
        .flat_map(|(i, first)| entries[i + 1..].iter().map(move |other| (first, other)));
    of(pairs)
}

/// The differences of these pairs, in order.
pub fn of<'e>(
    pairs: impl Iterator<Item = (&'e (String, Vec<f64>), &'e (String, Vec<f64>))>,
) -> Vec<Difference> {
    let mut found: Vec<Difference> = pairs
        .map(|(first, second)| difference(first, second))
        .collect();
    let corrected = holm(&found.iter().map(|found| found.t_test).collect::<Vec<_>>());
    found
        .iter_mut()
        .zip(corrected)
        .for_each(|(found, corrected)| found.holm = corrected);
    found
}

/// For how many differences the p values are corrected: those that have one. Two that are the same
/// in every pair have none.
pub fn tested<'d>(found: impl IntoIterator<Item = &'d Difference>) -> usize {
    found
        .into_iter()
        .filter(|found| found.t_test.is_some())
        .count()
}

fn difference(first: &(String, Vec<f64>), second: &(String, Vec<f64>)) -> Difference {
    let paired = Paired::of(&first.1, &second.1);
    let differences: Vec<f64> = first.1.iter().zip(&second.1).map(|(a, b)| a - b).collect();
    Difference {
        first: first.0.clone(),
        second: second.0.clone(),
        mean: paired.mean,
        half_width: paired.half_width,
        smaller: paired.smaller,
        pairs: paired.pairs,
        t_test: t_test(&differences),
        holm: None,
        wilcoxon: wilcoxon(&differences),
    }
}

impl Difference {
    /// Both names, as they stand in a table.
    pub fn name(&self) -> String {
        format!("{} − {}", self.first, self.second)
    }

    /// The mean with its interval.
    pub fn interval(&self) -> String {
        let mean = signed(self.mean);
        self.half_width.map_or(mean.clone(), |half| {
            format!("{mean} ± {}", significant(half, 2))
        })
    }

    /// Its cells in a table; see [`HEAD`].
    pub fn cells(&self) -> Vec<String> {
        let of = format!("{} of {}", self.smaller, self.pairs);
        vec![
            self.name(),
            self.interval(),
            of,
            p(self.t_test),
            p(self.holm),
            p(self.wilcoxon),
        ]
    }

    /// Its numbers to the last bit, empty where there is none; see [`COLUMNS`].
    pub fn fields(&self) -> Vec<String> {
        let mut fields = vec![self.first.clone(), self.second.clone()];
        fields.extend([Some(self.mean), self.half_width].map(number));
        fields.extend([self.smaller.to_string(), self.pairs.to_string()]);
        fields.extend([self.t_test, self.holm, self.wilcoxon].map(number));
        fields
    }
}

/// A number with its sign, also if positive.
pub fn signed(x: f64) -> String {
    let text = significant(x.abs(), 3);
    if x < 0.0 {
        format!("−{text}")
    } else {
        format!("+{text}")
    }
}

/// A p value as it stands in a table; a dash where the test says nothing.
pub fn p(value: Option<f64>) -> String {
    or_dash(value, |p| match p < 1e-6 {
        true => "< 1e-6".to_owned(),
        false => significant(p, 2),
    })
}

/// The caution that few pairs need; `None` where there are enough.
pub fn few(pairs: usize) -> Option<String> {
    (pairs < PAIRS_FEW).then(|| {
        let runs = if pairs == 1 { "1 run".to_owned() } else { format!("{pairs} runs") };
        format!(
            "{runs}, fewer than {PAIRS_FEW}: no standard error, p value, interval or order of methods here is to be believed; \
             ask for more with --runs."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_are_compared_once_and_corrected_for_their_number() {
        let entry = |name: &str, values: [f64; 6]| (name.to_owned(), values.to_vec());
        let found = all(&[
            entry("a", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            entry("b", [2.0, 3.5, 4.0, 5.5, 6.0, 7.5]),
            entry("c", [1.5, 1.0, 3.5, 3.0, 5.5, 5.0]),
        ]);
        let names: Vec<String> = found.iter().map(Difference::name).collect();
        assert_eq!(names, ["a − b", "a − c", "b − c"]);
        assert_eq!(
            (found[0].mean, found[0].smaller, found[0].pairs),
            (-1.25, 6, 6)
        );
        // Six of six in one direction: 2/64, whatever the differences are.
        assert_eq!(found[0].wilcoxon, Some(0.03125));
        let smallest = found
            .iter()
            .filter_map(|found| found.t_test)
            .fold(1.0, f64::min);
        assert!(
            (found[0].holm.unwrap() - 3.0 * smallest).abs() < 1e-12
                && found[0].t_test == Some(smallest)
        );
        assert_eq!(
            found[0].cells()[1..3],
            ["−1.25 ± 0.29".to_owned(), "6 of 6".to_owned()]
        );
        assert_eq!(
            (signed(2.0), p(None), p(Some(1e-9))),
            ("+2.00".to_owned(), "–".to_owned(), "< 1e-6".to_owned())
        );
    }

    #[test]
    fn few_runs_are_warned_of() {
        assert!(
            few(1).unwrap().starts_with("1 run, fewer than 5")
                && few(4).is_some()
                && few(5).is_none()
        );
    }
}
