//! What the pictures of a sweep share: its main axis, where its values stand, a panel for each
//! combination of the others.

use sordino_experiment::record::distinct;
use sordino_experiment::scenario::FEDERATED;
use sordino_report::palette::Looks;
use sordino_report::svg::{Curve, Point, Points, Ruler};

use super::grid::Axis;
use super::index::{Cell, Index};

/// Panels of one picture; a sweep over several keys may have more.
pub(super) const PANELS_MAX: usize = 12;
/// The axis along which pictures compare: the one with the most values, the first if there are
/// several.
pub(super) fn main_axis(index: &Index) -> Option<usize> {
    let most = index.axes.iter().map(|axis| axis.values.len()).max()?;
    index.axes.iter().position(|axis| axis.values.len() == most)
}

/// The values that tell cells apart besides the main axis, as in `agents = 50`.
pub(super) fn others(index: &Index, values: &[String], main: usize) -> String {
    let shown = index
        .axes
        .iter()
        .zip(values)
        .enumerate()
        .filter(|(i, _)| *i != main);
    shown
        .map(|(_, (axis, value))| format!("{} = {value}", axis.short()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Where the values of an axis stand: numbers at their value, or at its logarithm if they span more
/// than a factor of eight; names side by side.
pub(super) struct Positions {
    pub(super) places: Vec<f64>,
    pub(super) ruler: Ruler,
    logarithmic: bool,
}

impl Positions {
    fn new(axis: &Axis) -> Self {
        let numbers: Option<Vec<f64>> = axis
            .values
            .iter()
            .map(|value| value.parse().ok().filter(|x: &f64| x.is_finite()))
            .collect();
        let mut logarithmic = false;
        let mut places = (0..axis.values.len()).map(|i| i as f64).collect::<Vec<_>>();
        if let Some(numbers) = numbers {
            let (low, high) = extremes(&numbers);
            logarithmic = low > 0.0 && high > 8.0 * low;
            places = if logarithmic {
                numbers.iter().map(|x| x.ln()).collect()
            } else {
                numbers
            };
        }
        let (low, high) = extremes(&places);
        let room = 0.05 * (high - low);
        // Names that would overlap are left out: a twelfth of the axis for each.
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
        for i in order {
            if ticks
                .last()
                .is_none_or(|(before, _)| places[i] - before > (high - low) / 12.0)
            {
                ticks.push((places[i], axis.values[i].clone()));
            }
        }
        Positions {
            ruler: Ruler {
                from: low - room,
                to: high + room,
                ticks,
                points: Points::Joined,
            },
            places,
            logarithmic,
        }
    }

    pub(super) fn name(&self, axis: &Axis) -> String {
        format!(
            "{}{}",
            axis.key,
            if self.logarithmic {
                ", logarithmic"
            } else {
                ""
            }
        )
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
            (low.min(*x), high.max(*x))
        })
}

/// Panels: (the values they hold fixed, their cells with the place on the main axis).
pub(super) fn panels<'c>(
    index: &Index,
    cells: &'c [Cell],
    main: usize,
) -> Vec<(String, Vec<(usize, &'c Cell)>)> {
    let mut panels: Vec<(String, Vec<(usize, &Cell)>)> = Vec::new();
    for cell in cells {
        let Some(place) = index.axes[main]
            .values
            .iter()
            .position(|value| *value == cell.values[main])
        else {
            continue;
        };
        let name = others(index, &cell.values, main);
        match panels.iter_mut().find(|panel| panel.0 == name) {
            Some(panel) => panel.1.push((place, cell)),
            None => panels.push((name, vec![(place, cell)])),
        }
    }
    panels
}

/// What a picture along the main axis is made of.
pub(super) struct Panels<'c> {
    /// The axis that varies.
    pub(super) axis: &'c Axis,
    /// Where its values stand.
    pub(super) positions: Positions,
    /// For each combination of the other keys, its name and its cells with their place on the axis.
    pub(super) panels: Vec<(String, Vec<(usize, &'c Cell)>)>,
}

impl<'c> Panels<'c> {
    pub(super) fn new(index: &'c Index, cells: &'c [Cell], main: usize) -> Self {
        let axis = &index.axes[main];
        Panels {
            axis,
            positions: Positions::new(axis),
            panels: panels(index, cells, main),
        }
    }
}

/// Names of the methods of all cells, in order.
pub(super) fn methods(cells: &[Cell]) -> Vec<&str> {
    distinct(
        cells
            .iter()
            .flat_map(|cell| &cell.methods)
            .map(|method| method.summary.name.as_str()),
    )
}

/// How the methods of a sweep are distinguished.
pub(super) fn looks(index: &Index, cells: &[Cell]) -> Looks {
    Looks::of(methods(cells), index.trust == FEDERATED)
}

/// A curve for each method with a point in a panel: `point` says where it stands in a cell with
/// this place on the main axis.
pub(super) fn curves(
    index: &Index,
    cells: &[Cell],
    panel: &[(usize, &Cell)],
    point: impl Fn(&str, usize, &Cell) -> Option<Point>,
) -> Vec<Curve> {
    let looks = looks(index, cells);
    let mut curves = Vec::new();
    for name in methods(cells) {
        let mut points: Vec<Point> = panel
            .iter()
            .filter_map(|(place, cell)| point(name, *place, cell))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if !points.is_empty() {
            curves.push(Curve {
                class: looks.class(name),
                label: name.to_owned(),
                note: index.kept_by(name),
                points,
            });
        }
    }
    curves
}

/// The title of a panel: what it holds fixed, if it does.
pub(super) fn titled(fixed: &str) -> &str {
    if fixed.is_empty() {
        "All methods"
    } else {
        fixed
    }
}

/// The message about panels that are left out.
pub(super) fn more(panels: usize) -> String {
    match panels {
        0..=PANELS_MAX => String::new(),
        _ => format!(
            " The first {PANELS_MAX} of {panels} combinations of the other keys; the table has all."
        ),
    }
}

/// A text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_they_are_and_names_side_by_side() {
        let axis = |values: &[&str]| Axis {
            key: "a.b".into(),
            values: values.iter().map(|v| v.to_string()).collect(),
        };
        let linear = Positions::new(&axis(&["0", "0.1", "0.5"]));
        assert_eq!(
            (linear.places, linear.logarithmic),
            (vec![0.0, 0.1, 0.5], false)
        );
        let wide = Positions::new(&axis(&["10", "1", "1000"]));
        assert!(wide.logarithmic && wide.ruler.from < 0.0 && wide.ruler.ticks[0].1 == "1");
        let names = Positions::new(&axis(&["matern-5/2", "squared-exponential"]));
        assert_eq!((names.places, names.ruler.ticks.len()), (vec![0.0, 1.0], 2));
        // Crowded names are left out, crowded points are not.
        let many: Vec<String> = (0..40).map(|i| i.to_string()).collect();
        let crowded = Positions::new(&axis(&many.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(crowded.ruler.ticks.len() <= 13 && crowded.places.len() == 40);
    }
}
