//! The picture of `sordino optimize`: every value, and the best so far.

use sordino_experiment::text::significant;
use sordino_host::search::Search;
use sordino_host::space::{Goal, Point as Setting};
use sordino_report::chart::{Chart, Curve, Point, Scale};
use sordino_report::figure::{compose, scale};

/// Where the evaluation at this place of the list is drawn: the first at one.
fn at(place: usize) -> f64 {
    place as f64 + 1.0
}

/// The picture as SVG; nothing before the first value.
pub fn best_so_far(search: &Search, value: Option<&str>) -> Option<String> {
    let all = so_far(search);
    let (_, _, best) = all.last()?;
    let name = value.unwrap_or("value");
    let goal = search.head().goal;
    let values = all
        .iter()
        .enumerate()
        .map(|(place, (_, told, _))| Point::bare(at(place), *told))
        .collect();
    let mut steps = Vec::new();
    for (place, (_, _, known)) in all.iter().enumerate() {
        // The best stays until another one is known.
        let before = place.checked_sub(1).and_then(|before| all.get(before));
        steps.extend(before.map(|(_, _, before)| Point::bare(at(place), *before)));
        steps.push(Point::bare(at(place), *known));
    }
    let curves = vec![
        Curve {
            class: "ash",
            label: "each value".into(),
            note: String::new(),
            points: values,
        },
        Curve {
            class: "blue",
            label: "best so far".into(),
            note: significant(*best, digits(search).saturating_sub(2)),
            points: steps,
        },
    ];
    let low = all.iter().map(|told| told.1).fold(f64::INFINITY, f64::min);
    let high = all
        .iter()
        .map(|told| told.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let (scale, y_max, kind) = if low > 0.0 && goal == Goal::Minimize {
        scale(all.iter().map(|told| told.1), high)
    } else {
        let edge = if high > low {
            0.05 * (high - low)
        } else {
            high.abs().max(1.0) * 0.05
        };
        (Scale::Linear { from: low - edge }, high + edge, "")
    };
    let better = if goal == Goal::Minimize {
        "lower is better"
    } else {
        "higher is better"
    };
    let chart = Chart {
        title: String::new(),
        x_label: "evaluation".into(),
        y_label: format!("{name}{kind}; {better}"),
        curves,
        scale,
        y_max,
    };
    let failed = match search.failed() {
        0 => String::new(),
        1 => "; 1 question failed and is not shown".to_owned(),
        count => format!("; {count} questions failed and are not shown"),
    };
    let began = search
        .head()
        .prior
        .as_ref()
        .map_or(String::new(), |digest| {
            format!("; begun with the prior file {digest:.8}…")
        });
    let line = format!(
        "{} evaluations, seed {}{began}{failed}.",
        all.len(),
        search.head().seed
    );
    Some(compose("Best so far", &[name, &line], &[chart], None))
}

/// How many digits tell values of a search apart: six, and more where all lie close together far
/// from zero.
pub fn digits(search: &Search) -> usize {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for (_, value) in search.history() {
        low = low.min(value);
        high = high.max(value);
    }
    let largest = low.abs().max(high.abs());
    if high > low {
        let lost = (largest / (high - low)).log10().ceil().max(0.0);
        (3 + lost as usize).clamp(6, 15)
    } else {
        6
    }
}

/// Points, values and the best so far, in order.
pub fn so_far(search: &Search) -> Vec<(Setting, f64, f64)> {
    let goal = search.head().goal;
    let mut best = None;
    let all = search.history().map(|(point, value)| {
        let known = best
            .filter(|known| !goal.prefers(value, *known))
            .unwrap_or(value);
        best = Some(known);
        (point, value, known)
    });
    all.collect()
}
