//! What speaks against a file before anything is charged for it: that it may be worth little, or
//! protect less than its label says. All who publish are told the same.

use std::cmp::Ordering;

use super::publish::{Publication, Study};
use crate::day::Day;
use crate::text::first_three;

mod affine;
mod alike;
mod columns;

use affine::if_image;
use alike::{if_alike, if_disguised};
use columns::{if_constant, if_gridded, if_narrow, if_repeated, if_untried};

/// Number of studies times ε below which files of the example's kind were worth nothing:
/// `docs/prior-files.md` has the table.
const STUDIES_TIMES_EPSILON: f64 = 30.0;

/// What speaks against a file of these studies, a sentence each, to be told before anything is
/// charged: that it may be worth little, or protect less than its label says. Names of studies are
/// in it: they are for the publisher alone.
///
/// **Cost**: the rows of all studies are sorted a few times, and pairs of studies are held against
/// each other, up to some hundred million rows.
pub fn doubts(publication: &Publication, studies: &[Study]) -> Vec<String> {
    let found = [
        if_few(studies.len(), "studies", publication.epsilon),
        if_mute(studies),
        if_outlying(studies),
        if_constant(&publication.space, studies),
        if_untried(&publication.space, studies),
        if_gridded(&publication.space, studies),
        if_narrow(&publication.space, studies),
        if_repeated(studies),
        if_alike(studies),
        if_image(studies),
        if_disguised(studies),
        if_future(publication.published.as_deref()),
    ];
    found.into_iter().flatten().collect()
}

/// Says that the day of the label is yet to come.
fn if_future(date: Option<&str>) -> Option<String> {
    let day = date?.parse::<Day>().ok()?;
    (day > Day::latest()).then(|| format!("date {day} is in the future"))
}

/// Says that so few contributors, of this name in the plural, seldom make a file that is worth
/// something.
pub fn if_few(contributors: usize, name: &str, epsilon: f64) -> Option<String> {
    let wanted = (STUDIES_TIMES_EPSILON / epsilon).ceil();
    ((contributors as f64) * epsilon < STUDIES_TIMES_EPSILON).then(|| {
        format!(
            "{contributors} {name} at ε {epsilon}: such a file is seldom worth anything, and costs as much as one that is; our example's \
             was where {name} times ε is {STUDIES_TIMES_EPSILON} or more, {wanted} {name} here"
        )
    })
}

/// Says which studies say little or nothing: those whose values are all the same,
/// or of fewer than three different points.
fn if_mute(studies: &[Study]) -> Option<String> {
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
    (!mute.is_empty()).then(|| {
        format!(
            "{} of {} studies have one value only, or fewer than three different points, and say little or nothing: {}",
            mute.len(),
            studies.len(),
            first_three(&mute, ", ")
        )
    })
}

/// How many times the range of the others a gap is beyond which a value is no measurement.
/// Losses of heavy tails (Student's t of 3 degrees, log-normal of σ 1.5) stay far below it.
const GAP: f64 = 100.0;
/// Fewer values than these have a range that may be small by accident.
const OTHERS_MIN: usize = 4;

/// Whether a value lies beyond the others of its study by [`GAP`] times their range, above or below
/// them; several of the kind may be there, but fewer than the others.
fn has_outlier(study: &Study) -> bool {
    let mut values: Vec<f64> = study.values.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let far = |others: &[f64], gap: f64| {
        let range = others[others.len() - 1] - others[0];
        range > 0.0 && gap > GAP * range
    };
    (1..values.len()).any(|place| {
        let (low, high) = values.split_at(place);
        let gap = high[0] - low[low.len() - 1];
        if low.len() > high.len() {
            low.len() >= OTHERS_MIN && far(low, gap)
        } else {
            high.len() > low.len() && high.len() >= OTHERS_MIN && far(high, gap)
        }
    })
}

/// Says which studies have values that stand for failures: beside 9999 or -1e9 all else of a study
/// is alike.
fn if_outlying(studies: &[Study]) -> Option<String> {
    // Whose it is, and not which: warnings end in logs.
    let found: Vec<&str> = studies
        .iter()
        .filter(|study| has_outlier(study))
        .map(|study| study.name.as_str())
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} of {} studies have a value far outside their others, by more than {GAP} times the range of those: {}; beside it the \
             others count as alike, so leave failed evaluations out instead of giving them a value",
            found.len(),
            studies.len(),
            first_three(&found, ", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::space::{Goal, SpaceFile};

    #[test]
    fn each_doubt_is_told_and_nobody_is_doubted_for_nothing() {
        let space = SpaceFile::parse("s", "[parameters.x]\nlow = 0\nhigh = 1");
        let publication = |epsilon, published: Option<&str>| Publication {
            space: space.as_ref().unwrap().space.clone(),
            goal: Goal::Minimize,
            value: None,
            epsilon,
            delta: 1e-5,
            releases: 2,
            features: 100,
            dataset: "d".into(),
            by: None,
            note: None,
            published: published.map(str::to_owned),
        };
        let study = |index: u32| Study {
            name: format!("s{index}"),
            values: (0..3)
                .map(|point| {
                    let x = (f64::from(point) + f64::from(index) / 100.0) / 3.0;
                    (vec![x], f64::from(point * index))
                })
                .collect(),
        };
        let mut studies: Vec<Study> = (1..=30).map(study).collect();
        let fine = publication(1.0, Some("2026-02-28"));
        assert_eq!(doubts(&fine, &studies), Vec::<String>::new());
        studies[4]
            .values
            .iter_mut()
            .for_each(|(_, value)| *value = 3.0);
        studies[7] = Study {
            name: "s8".into(),
            values: studies[1].values.iter().rev().cloned().collect(),
        };
        let found = doubts(&publication(0.5, Some("2999-01-31")), &studies);
        let begins = [
            "30 studies at ε 0.5: such a file is seldom worth anything",
            "1 of 30 studies have one value only, or fewer than three different points, and say little or nothing: s5",
            "1 of 30 studies have the same rows as another, all or some: s8 and s2 (3 rows);",
            "date 2999-01-31 is in the future",
        ];
        assert_eq!(found.len(), begins.len(), "{found:?}");
        for (told, begin) in found.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}");
        }
    }

    /// A study of these values.
    fn of_values(index: usize, values: impl IntoIterator<Item = f64>) -> Study {
        let values = values.into_iter().enumerate();
        Study {
            name: format!("s{index}"),
            values: values.map(|(i, y)| (vec![i as f64], y)).collect(),
        }
    }

    /// One value of 9999 in each study made a file that was charged and worth nothing.
    #[test]
    fn values_that_stand_for_failures_are_told_of() {
        let plain =
            |index: usize| (0..10).map(move |i| 0.3 + 0.07 * f64::from(i * 3 % 10) + index as f64);
        for sentinel in [9999.0, -1e9, 1e30] {
            for more in 1..=3 {
                let with = |index| plain(index).chain(std::iter::repeat_n(sentinel, more));
                let studies: Vec<Study> = (0..5).map(|i| of_values(i, with(i))).collect();
                let told = if_outlying(&studies).unwrap();
                let begin = "5 of 5 studies have a value far outside their others, by more than 100 times the range of those: s0, s1";
                assert!(
                    told.starts_with(begin) && told.contains("and 2 more; "),
                    "{told}"
                );
            }
        }
        assert_eq!(if_outlying(&[of_values(0, plain(0))]), None);
    }

    #[test]
    fn losses_of_heavy_tails_and_the_examples_are_not_doubted() {
        let mut state = 7u64;
        let mut unit = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 12) as f64 + 0.5) / (1u64 << 52) as f64
        };
        let mut normal = || (-2.0 * unit().ln()).sqrt() * (core::f64::consts::TAU * unit()).cos();
        let mut studies = Vec::new();
        for index in 0..300 {
            let log_normal: Vec<f64> = (0..10).map(|_| (1.5 * normal()).exp()).collect();
            let student: Vec<f64> = (0..10)
                .map(|_| {
                    let squares: f64 = (0..3).map(|_| normal().powi(2)).sum();
                    normal() / (squares / 3.0).sqrt()
                })
                .collect();
            let exponential: Vec<f64> = (0..10)
                .map(|_| normal().powi(2) + normal().powi(2))
                .collect();
            // Most choices are as good as each other, and one is bad.
            let plateau: Vec<f64> = (0..10).map(|i| if i == 3 { 0.9 } else { 0.1 }).collect();
            studies
                .extend([log_normal, student, exponential, plateau].map(|of| of_values(index, of)));
        }
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../docs/examples/wards/studies.csv"
        );
        let table = std::fs::read_to_string(path).unwrap();
        let mut wards: HashMap<&str, Vec<f64>> = HashMap::new();
        for line in table.lines().skip(1) {
            let (name, rest) = line.split_once(',').unwrap();
            let value = rest.rsplit(',').next().unwrap().parse().unwrap();
            wards.entry(name).or_default().push(value);
        }
        assert!(wards.len() > 50);
        studies.extend(wards.into_values().map(|values| of_values(0, values)));
        assert_eq!(if_outlying(&studies), None);
    }
}
