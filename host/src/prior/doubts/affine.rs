//! Studies that are one study in two units.

use std::cmp::Ordering;

use super::super::publish::Study;
use crate::text::first_three;

/// Two studies of fewer shared points are not compared.
const SHARED_MIN: usize = 5;
/// How far an image may be from a study, in ranges of its values: units are converted with at least
/// so many digits.
const ROUNDING: f64 = 1e-6;
/// Bits beyond those of the number of pairs that values have to agree in: one table in so many
/// thousand is told of by accident.
const SURPRISE: f64 = 12.0;
/// Rows that are looked at, for all pairs together, at most by so much.
const ROWS_LOOKED_AT: usize = 200_000_000;

/// Mean value at each point, by the point's number among all of them, ascending.
type Means = Vec<(usize, f64)>;

fn by_point(a: &[f64], b: &[f64]) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

/// The means of all studies. A mean of repeats has the same image as they have.
fn means(studies: &[Study]) -> Vec<Means> {
    let rows = studies.iter().flat_map(|study| &study.values);
    let mut points: Vec<&[f64]> = rows.map(|(point, _)| &point[..]).collect();
    points.sort_by(|a, b| by_point(a, b));
    points.dedup();
    let means = studies.iter().map(|study| means_at(&points, study));
    means.collect()
}

/// The means of a study, by the numbers of its points.
fn means_at(points: &[&[f64]], study: &Study) -> Means {
    let numbered = study.values.iter().filter_map(|(point, value)| {
        let number = points.binary_search_by(|other| by_point(other, point));
        number.ok().map(|number| (number, *value))
    });
    let mut numbered: Vec<(usize, f64)> = numbered.collect();
    numbered.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = numbered.chunk_by(|a, b| a.0 == b.0);
    let means = groups.map(|group| {
        let sum: f64 = group.iter().map(|(_, value)| value).sum();
        (group[0].0, sum / group.len() as f64)
    });
    means.collect()
}

/// Values of both at the points that they share.
fn shared(a: &Means, b: &Means) -> Vec<(f64, f64)> {
    let mut shared = Vec::new();
    let mut rest = b.iter().peekable();
    for (point, value) in a {
        while rest.next_if(|(other, _)| other < point).is_some() {}
        if let Some((_, other)) = rest.next_if(|(other, _)| other == point) {
            shared.push((*value, *other));
        }
    }
    shared
}

/// How many values there are, and in how many bits one of them could differ: those of their range
/// by the step of which all distances are multiples, as far as rounding leaves it. Shares of thirty
/// test cases have few, whatever their digits.
fn resolution(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let Some((low, high)) = values.first().zip(values.last()) else {
        return (0, 0.0);
    };
    let least = ROUNDING * (high - low);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let step = gaps.fold(0.0, |step, gap| common_step(step, gap, least));
    let levels = (high - low) / step.max(least);
    (values.len(), levels.max(1.0).log2())
}

/// The largest step of which both are multiples, up to `least`: Euclid's.
fn common_step(mut a: f64, mut b: f64, least: f64) -> f64 {
    while b > least {
        let rest = a % b;
        // A hair below a multiple is one.
        (a, b) = (b, rest.min(b - rest));
    }
    a
}

/// Whether the second values are an image y = a·x + b, a ≠ 0, of the first, and not the same: by
/// more than `bits` that agree.
fn is_image(pairs: &[(f64, f64)], bits: f64) -> bool {
    if pairs.len() < SHARED_MIN || pairs.iter().all(|(x, y)| x == y) {
        return false;
    }
    let least = pairs.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let ends = least.zip(pairs.iter().max_by(|a, b| a.0.total_cmp(&b.0)));
    let Some(((low, at_low), (high, at_high))) = ends else {
        return false;
    };
    let range = (at_high - at_low).abs();
    if !(range > 0.0 && high > low) {
        return false;
    }
    let slope = (at_high - at_low) / (high - low);
    let mut off = pairs
        .iter()
        .map(|(x, y)| (y - at_low - slope * (x - low)).abs());
    if !off.all(|off| off <= ROUNDING * range) {
        return false;
    }
    // Two points have an image always; the others agree by accident in few bits.
    let (count, each) = resolution(pairs.iter().map(|(x, _)| *x));
    count >= SHARED_MIN && (count - 2) as f64 * each >= bits
}

/// Studies that are an earlier one in another unit, with the first such and the points they share.
///
/// **Not found**: values that were rounded to fewer than six digits; tables of few values; in very
/// large tables, studies far from each other.
fn images(studies: &[Study]) -> Vec<(usize, usize, usize)> {
    let means = means(studies);
    let rows: usize = means.iter().map(Vec::len).sum();
    let near = (ROWS_LOOKED_AT / rows.max(1)).max(1);
    let pairs = studies.len().max(2).pow(2) as f64 / 2.0;
    let bits = pairs.log2() + SURPRISE;
    let mut found = Vec::new();
    for (place, study) in means.iter().enumerate() {
        for (before, other) in means[..place]
            .iter()
            .enumerate()
            .skip(place.saturating_sub(near))
        {
            let pairs = shared(study, other);
            if is_image(&pairs, bits) {
                // Whose else it is one of follows, and all pairs may be very many.
                found.push((place, before, pairs.len()));
                break;
            }
        }
    }
    found
}

/// Says which studies are another one in other units: one contributor under two names counts as
/// two, and each protects only itself.
///
/// **Cost**: all pairs of studies are held against each other, up to some hundred million rows.
pub(super) fn if_image(studies: &[Study]) -> Option<String> {
    let images = images(studies);
    let told: Vec<String> = images
        .iter()
        .map(|(study, other, points)| {
            let [study, other] = [*study, *other].map(|place| &studies[place].name);
            format!("{study} and {other} ({points} points)")
        })
        .collect();
    let shown: Vec<&str> = told.iter().map(String::as_str).collect();
    (!images.is_empty()).then(|| {
        format!(
            "{} of {} studies are another one in other units, value by value at all settings that both have: {}; if both are one \
             contributor's, keep one of them, for the file protects it less than its label says",
            images.len(),
            studies.len(),
            first_three(&shown, ", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study of ten settings from this one on, with a value for each.
    fn study(name: &str, from: usize, value: impl Fn(usize) -> f64) -> Study {
        Study {
            name: name.into(),
            values: (from..from + 10)
                .map(|x| (vec![x as f64], value(x)))
                .collect(),
        }
    }

    /// No sum of others, with many digits.
    fn wild(x: usize, seed: usize) -> f64 {
        ((x * x * 7 + x * 3 + seed * 11) as f64).sqrt().sin()
    }

    #[test]
    fn one_study_in_two_units_is_told_of() {
        let celsius = |x: usize| 20.0 + 5.0 * wild(x, 1);
        let mut studies = vec![
            study("a", 0, celsius),
            study("b", 0, |x| wild(x, 2)),
            // Half of the settings, in Fahrenheit, to nine digits.
            study("c", 5, |x| (1.8e8 * celsius(x) + 32e8).round() / 1e8),
        ];
        let told = if_image(&studies).unwrap();
        let begin = "1 of 3 studies are another one in other units, value by value at all settings that both have: c and a (5 points);";
        assert!(told.starts_with(begin), "{told}");
        // The other direction of better.
        studies[2] = study("c", 0, |x| -3.0 * celsius(x));
        assert!(if_image(&studies).unwrap().contains("c and a (10 points)"));
        // Fewer than five settings, the same values, one other value.
        studies[2] = study("c", 6, |x| -3.0 * celsius(x));
        assert_eq!(if_image(&studies), None);
        studies[2] = study("c", 0, celsius);
        assert_eq!(if_image(&studies), None);
        studies[2] = study("c", 0, |x| -3.0 * celsius(x) + f64::from(u8::from(x == 4)));
        assert_eq!(if_image(&studies), None);
    }

    #[test]
    fn tables_of_few_values_have_images_by_accident() {
        for values in [2, 3, 5, 10, 20] {
            let of = |seed: usize| {
                study(&seed.to_string(), 0, |x| {
                    ((wild(x, seed) + 1.0) * values as f64 / 2.0).floor() / 30.0
                })
            };
            let studies: Vec<Study> = (0..133).map(of).collect();
            assert_eq!(if_image(&studies), None, "{values}");
        }
    }

    /// All agents of the shipped tables, at all settings.
    #[test]
    fn agents_of_the_shipped_tables_are_no_images() {
        const SETTINGS: usize = 343;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/experiment/data");
        for table in ["employment", "planes", "wages"] {
            let bytes = std::fs::read(format!("{folder}/{table}-values.bin")).unwrap();
            let pairs = bytes.as_chunks().0.iter();
            let values: Vec<f64> = pairs
                .map(|pair| f64::from(i16::from_le_bytes(*pair)) / 1e4)
                .collect();
            for settings in [5, 10, SETTINGS] {
                let agents = values.chunks_exact(SETTINGS).take(133).enumerate();
                let studies = agents.map(|(i, values)| Study {
                    name: format!("s{i}"),
                    values: (0..settings)
                        .map(|x| x * SETTINGS / settings)
                        .map(|x| (vec![x as f64], values[x]))
                        .collect(),
                });
                let told = if_image(&studies.collect::<Vec<_>>());
                assert_eq!(told, None, "{table}: {settings} settings");
            }
        }
    }
}
