//! What speaks against a file before anything is charged for it: that it may be worth little, or
//! protect less than its label says. All who publish are told the same.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::publish::{Publication, Study};
use crate::day::Day;
use crate::text::first_three;

/// Number of studies times ε below which files of the example's kind were worth nothing:
/// `docs/prior-files.md` has the table.
const STUDIES_TIMES_EPSILON: f64 = 30.0;

/// What speaks against a file of these studies, a sentence each, to be told before anything is
/// charged: that it may be worth little, or protect less than its label says. Names of studies are
/// in it: they are for the publisher alone.
///
/// **Cost**: the values of all studies are sorted once.
pub fn doubts(publication: &Publication, studies: &[Study]) -> Vec<String> {
    let found = [
        if_few(studies.len(), publication.epsilon),
        if_mute(studies),
        if_alike(studies),
        if_future(publication.published.as_deref()),
    ];
    found.into_iter().flatten().collect()
}

/// Says that the day of the label is yet to come.
fn if_future(date: Option<&str>) -> Option<String> {
    let day = date?.parse::<Day>().ok()?;
    (day > Day::latest()).then(|| format!("date {day} is in the future"))
}

/// Says that so few studies seldom make a file that is worth something.
fn if_few(studies: usize, epsilon: f64) -> Option<String> {
    let wanted = (STUDIES_TIMES_EPSILON / epsilon).ceil();
    ((studies as f64) * epsilon < STUDIES_TIMES_EPSILON).then(|| {
        format!(
            "{studies} studies at ε {epsilon}: such a file is seldom worth anything, and costs as much as one that is; our example's \
             was where studies times ε is {STUDIES_TIMES_EPSILON} or more, {wanted} studies here"
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

/// Says which studies have the rows of another, in whatever order: one contributor under two names
/// counts as two, and each protects only itself.
fn if_alike(studies: &[Study]) -> Option<String> {
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
    let shown: Vec<&str> = alike.iter().map(String::as_str).collect();
    (!alike.is_empty()).then(|| {
        format!(
        "{} of {} studies have the same rows as another: {}; if both are one contributor's, the file protects it less than \
         its label says",
        alike.len(),
        studies.len(),
        first_three(&shown, ", ")
        )
    })
}

#[cfg(test)]
mod tests {
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
                .map(|point| (vec![f64::from(point) / 2.0], f64::from(point * index)))
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
            "1 of 30 studies have the same rows as another: s8 and s2;",
            "date 2999-01-31 is in the future",
        ];
        assert_eq!(found.len(), begins.len(), "{found:?}");
        for (told, begin) in found.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}");
        }
    }
}
