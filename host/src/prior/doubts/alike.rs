//! Studies that may be one contributor's: each protects only itself.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::publish::Study;
use crate::ledger::look_alike;
use crate::text::first_three;

/// So many rows that two studies alone have are no accident.
const ROWS_ALIKE: usize = 3;
/// A study is compared with so many others that have the same row.
const COMPARED: usize = 8;
/// Where one point in so many is of more than one study, points are a grid.
const GRID: usize = 10;

/// A row with the place of its study.
type Row<'a> = (&'a [f64], f64, usize);

/// Two studies, the later one first.
type Pair = (usize, usize);

fn by_point(a: &Row, b: &Row) -> Ordering {
    let each = a.0.iter().zip(b.0).map(|(x, y)| x.total_cmp(y));
    each.fold(Ordering::Equal, Ordering::then)
}

fn by_value(a: &Row, b: &Row) -> Ordering {
    a.1.total_cmp(&b.1)
}

fn by_all(a: &Row, b: &Row) -> Ordering {
    by_point(a, b).then(by_value(a, b)).then(a.2.cmp(&b.2))
}

/// Half of the smaller of two studies of these sizes, two rows at least.
fn half(sizes: &[usize], pair: Pair) -> usize {
    sizes[pair.0].min(sizes[pair.1]).div_ceil(2).max(2)
}

/// The rows of all studies, each once in a study. -0 is 0.
fn rows(studies: &[Study]) -> Vec<Row<'_>> {
    let studies = studies.iter().enumerate();
    let all = studies.flat_map(|(place, study)| {
        study
            .values
            .iter()
            .map(move |(x, y)| (&x[..], y + 0.0, place))
    });
    let mut rows: Vec<Row> = all.collect();
    rows.sort_unstable_by(by_all);
    rows.dedup_by(|a, b| by_all(a, b).is_eq());
    rows
}

/// How many rows two studies share, where rows of one key (all of one value, or of one point) are
/// one row: then no other study has this key beside something else. `rows` are sorted by the key,
/// then by study.
fn shared(
    rows: &[Row],
    key: fn(&Row, &Row) -> Ordering,
    other: fn(&Row, &Row) -> Ordering,
) -> BTreeMap<Pair, usize> {
    let mut shared = BTreeMap::new();
    for group in rows.chunk_by(|a, b| key(a, b).is_eq()) {
        if group.iter().any(|row| other(row, &group[0]).is_ne()) {
            continue;
        }
        for (place, row) in group.iter().enumerate() {
            for before in &group[..place.min(COMPARED)] {
                *shared.entry((row.2, before.2)).or_default() += 1;
            }
        }
    }
    shared
}

/// Whether few points are of more than one study: nobody evaluated a grid.
fn is_no_grid(by_points: &[Row]) -> bool {
    let points: Vec<&[Row]> = by_points.chunk_by(|a, b| by_point(a, b).is_eq()).collect();
    let of_several = points
        .iter()
        .filter(|group| group.iter().any(|row| row.2 != group[0].2));
    of_several.count() * GRID <= points.len()
}

/// Pairs of studies that are the same to the last row, in whatever order.
fn equal(studies: &[Study]) -> Vec<Pair> {
    let mut first = HashMap::new();
    let pairs = studies.iter().enumerate().filter_map(|(place, study)| {
        let rows = study.values.iter().map(|(point, value)| {
            let numbers = point.iter().chain([value]);
            numbers.map(|x| (x + 0.0).to_bits()).collect()
        });
        let mut rows: Vec<Vec<u64>> = rows.collect();
        rows.sort_unstable();
        let before = *first.entry(rows).or_insert(place);
        (before != place).then_some((place, before))
    });
    pairs.collect()
}

/// Pairs of studies with rows of each other, and how many rows they share.
///
/// A row counts if its value is at no other point: in tables of few values, where equal rows are
/// natural, none does. Three such rows make a pair, or half of the smaller study. Where points are
/// no grid, rows whose point has no other value count too, and half of the smaller study makes a
/// pair. Studies that are equal to the last row always do.
///
/// **Not found**: rows that were rounded, or converted to another unit.
fn pairs(studies: &[Study]) -> BTreeMap<Pair, usize> {
    let mut rows = rows(studies);
    let mut sizes = vec![0_usize; studies.len()];
    rows.iter().for_each(|row| sizes[row.2] += 1);
    let of_points = shared(&rows, by_point, by_value);
    let no_grid = is_no_grid(&rows);
    let mut pairs: BTreeMap<Pair, usize> = of_points
        .into_iter()
        .filter(|(pair, rows)| no_grid && *rows >= half(&sizes, *pair))
        .collect();
    let of_all = equal(studies).into_iter();
    pairs.extend(of_all.map(|pair| (pair, studies[pair.0].values.len())));
    rows.sort_unstable_by(|a, b| by_value(a, b).then(by_point(a, b)).then(a.2.cmp(&b.2)));
    for (pair, rows) in shared(&rows, by_value, by_point) {
        if rows >= half(&sizes, pair).min(ROWS_ALIKE) {
            let known = pairs.entry(pair).or_default();
            *known = rows.max(*known);
        }
    }
    pairs
}

/// Says which studies have rows of another: one contributor under two names counts as two, and each
/// protects only itself.
///
/// **Cost**: the rows of all studies are sorted three times.
pub(super) fn if_alike(studies: &[Study]) -> Option<String> {
    let pairs = pairs(studies);
    let told = pairs.iter().map(|((study, other), rows)| {
        format!(
            "{} and {} ({rows} rows)",
            studies[*study].name, studies[*other].name
        )
    });
    let told: Vec<String> = told.collect();
    let shown: Vec<&str> = told.iter().map(String::as_str).collect();
    let later: HashSet<usize> = pairs.keys().map(|pair| pair.0).collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "{} of {} studies have the same rows as another, all or some: {}; if both are one contributor's, the file protects it \
             less than its label says",
            later.len(),
            studies.len(),
            first_three(&shown, ", ")
        )
    })
}

/// Says which names people take for another: no program sees whether both are one contributor.
pub(super) fn if_disguised(studies: &[Study]) -> Option<String> {
    let found = studies.iter().filter_map(|study| {
        let sign = u32::from(look_alike(&study.name)?);
        Some(format!("\"{}\" (U+{sign:04X})", study.name.escape_debug()))
    });
    let found: Vec<String> = found.collect();
    let shown: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} of {} studies have a name that looks like another name, by a character that looks like another or like none: {}; if one \
             contributor is there under two such names, the file protects it less than its label says",
            found.len(),
            studies.len(),
            first_three(&shown, ", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that a test can repeat.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % most
        }
    }

    /// A study of these settings and values.
    fn study(name: &str, rows: impl IntoIterator<Item = (usize, f64)>) -> Study {
        let rows = rows.into_iter();
        Study {
            name: name.into(),
            values: rows.map(|(x, y)| (vec![x as f64], y)).collect(),
        }
    }

    /// Studies of ten rows each, each point one of `points`, each value one of `values`.
    fn drawn(studies: usize, points: usize, values: usize) -> Vec<Study> {
        let mut draws = Draws(7);
        let mut rows = || [0; 10].map(|_| (draws.below(points), draws.below(values) as f64));
        (0..studies)
            .map(|i| study(&format!("s{i}"), rows()))
            .collect()
    }

    /// The study at this place once more with one row dropped and one of its own.
    fn exported_again(studies: &[Study], place: usize) -> Study {
        let mut again = studies[place].clone();
        again.name += " again";
        again.values[9] = (vec![0.5], 0.123_456);
        again
    }

    /// One row that differed silenced the doubt, and one contributor counted as three.
    #[test]
    fn one_contributor_under_three_names_is_told_of() {
        for (points, values) in [(1 << 30, 1 << 30), (343, 1 << 30), (1 << 30, 2)] {
            let mut studies = drawn(60, points, values);
            studies.push(exported_again(&studies, 4));
            studies.push(exported_again(&studies, 4));
            studies[61].values[9].1 = 7.0;
            studies[61].name = "s4 once more".into();
            let told = if_alike(&studies).unwrap();
            let begin = "2 of 62 studies have the same rows as another, all or some: s4 again and s4 (9 rows), s4 once \
                         more and s4 (9 rows), s4 once more and s4 again (9 rows); if both";
            assert!(told.starts_with(begin), "{points} {values}: {told}");
        }
        // Small studies: half of the smaller one.
        let small = [
            study("a", [(0, 0.25), (1, 0.5), (2, 0.75)]),
            study("b", [(0, 0.25), (1, 0.5), (3, 0.875)]),
        ];
        assert!(if_alike(&small).unwrap().contains("b and a (2 rows)"));
    }

    #[test]
    fn equal_rows_of_coarse_tables_are_not_told_of() {
        for points in [5, 9, 100, 343, 1 << 30] {
            for values in [2, 10, 100, 1000] {
                let told = if_alike(&drawn(66, points, values));
                assert_eq!(told, None, "{points} points, {values} values");
            }
        }
        // All begin with the same design, and say yes or no.
        let mut studies = drawn(66, 1 << 30, 2);
        let design = drawn(1, 1 << 30, 2)[0].clone();
        for (place, study) in studies.iter_mut().enumerate() {
            for (row, (point, _)) in design.values.iter().take(8).enumerate() {
                study.values[row] = (point.clone(), f64::from((place >> (row % 6)) as u32 & 1));
            }
        }
        assert_eq!(if_alike(&studies), None);
    }

    /// The tables that are shipped are of seven levels an axis, and of values of four decimals: no
    /// two of their agents are one. One that is there twice is found among 66.
    #[test]
    fn agents_of_the_shipped_tables_are_not_told_of() {
        const SETTINGS: usize = 343;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/experiment/data");
        for table in ["employment", "planes", "wages"] {
            let bytes = std::fs::read(format!("{folder}/{table}-values.bin")).unwrap();
            let pairs = bytes.as_chunks().0.iter();
            let values: Vec<f64> = pairs
                .map(|pair| f64::from(i16::from_le_bytes(*pair)) / 1e4)
                .collect();
            let mut draws = Draws(11);
            for (studies, points) in [
                (66, 10),
                (133, 10),
                (usize::MAX, 10),
                (66, 100),
                (5, SETTINGS),
            ] {
                let agents = values.chunks_exact(SETTINGS).take(studies).enumerate();
                let mut studies: Vec<Study> = agents
                    .map(|(i, values)| {
                        let settings = (0..points).map(|x| match points {
                            SETTINGS => x,
                            _ => draws.below(SETTINGS),
                        });
                        study(&format!("s{i}"), settings.map(|x| (x, values[x])))
                    })
                    .collect();
                let told = if_alike(&studies);
                assert_eq!(told, None, "{table}: {} studies", studies.len());
                if studies.len() == 66 {
                    studies.push(exported_again(&studies, 4));
                    let told = if_alike(&studies).unwrap();
                    assert!(told.contains("s4 again and s4 ("), "{table}: {told}");
                }
            }
        }
    }

    #[test]
    fn names_that_look_like_another_are_told_of() {
        let rows = [(0, 0.25), (1, 0.5), (2, 0.75)];
        let names = ["ward 0", "w\u{430}rd 0", "ward\u{200b} 0"];
        let studies = names.map(|name| study(name, rows));
        let told = if_disguised(&studies).unwrap();
        let begin = "2 of 3 studies have a name that looks like another name";
        assert!(told.starts_with(begin), "{told}");
        assert!(
            told.contains("\"w\u{430}rd 0\" (U+0430), \"ward\\u{200b} 0\" (U+200B); if"),
            "{told}"
        );
        assert_eq!(if_disguised(&studies[..1]), None);
    }
}
