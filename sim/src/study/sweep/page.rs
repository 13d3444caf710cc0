//! The page of a sweep: one table, and pictures that compare the values of its keys.

use std::fmt::Write as _;

use super::folder::SweepFolder;
use super::grid::Axis;
use super::index::{Cell, Index, Status};
use crate::record::distinct;
use crate::report::charts::{element, element_over};
use crate::report::curves::{Curves, MethodCurve};
use crate::report::html::{document, section};
use crate::report::palette::RAMP;
use crate::report::parts::{header, look, numbers, points, scaled, swatch, words};
use crate::report::svg::{Chart, Curve, Point, Ruler, escape};
use crate::text::significant;

/// Panels of one picture; a sweep over several keys may have more.
const PANELS_MAX: usize = 12;

/// The whole page. Of runs whose folder cannot be read the curves are left out, and the page says so.
pub fn page(folder: &SweepFolder, index: &Index) -> String {
    let mut out = String::new();
    let varying: Vec<&Axis> = index.axes.iter().filter(|axis| axis.varies()).collect();
    let facts = [
        ("trust model", index.trust.clone()),
        ("runs", index.entries.len().to_string()),
        ("done", index.count(Status::Done).to_string()),
        ("failed", index.count(Status::Failed).to_string()),
        ("keys compared", varying.len().to_string()),
        ("seeds", index.seeds.len().to_string()),
    ];
    header(&mut out, &format!("sweep, sordino {}", index.version), &index.scenario, &index.description, &facts, true);
    let cells = index.cells();
    failures(&mut out, index);
    let main = main_axis(index);
    if let Some(main) = main {
        // More than two measures are in the table.
        for measure in index.measures().into_iter().take(2) {
            comparison(&mut out, index, &cells, main, measure);
        }
        losses(&mut out, index, &cells, main);
    }
    table(&mut out, index, &cells);
    if let Some(main) = main {
        curves(&mut out, folder, index, main);
    }
    runs(&mut out, index);
    document(&format!("{}: sweep", index.scenario), &out)
}

/// The axis along which pictures compare: the first of those with the most values.
fn main_axis(index: &Index) -> Option<usize> {
    let most = index.axes.iter().map(|axis| axis.values.len()).max()?;
    index.axes.iter().position(|axis| axis.varies() && axis.values.len() == most)
}

/// What tells two cells apart beside the main axis, as in `agents = 50`.
fn others(index: &Index, values: &[String], main: usize) -> String {
    let shown = index.axes.iter().zip(values).enumerate().filter(|(i, (axis, _))| *i != main && axis.varies());
    shown.map(|(_, (axis, value))| format!("{} = {value}", axis.short())).collect::<Vec<_>>().join(", ")
}

/// Where the values of an axis stand: numbers where they are, with their logarithms if they span more than a factor of
/// eight; names side by side.
struct Positions {
    places: Vec<f64>,
    ruler: Ruler,
    logarithmic: bool,
}

impl Positions {
    fn new(axis: &Axis) -> Self {
        let numbers: Option<Vec<f64>> =
            axis.values.iter().map(|value| value.parse().ok().filter(|x: &f64| x.is_finite())).collect();
        let (mut logarithmic, mut places) = (false, (0..axis.values.len()).map(|i| i as f64).collect::<Vec<_>>());
        if let Some(numbers) = numbers {
            let (low, high) = extremes(&numbers);
            logarithmic = low > 0.0 && high > 8.0 * low;
            places = if logarithmic { numbers.iter().map(|x| x.ln()).collect() } else { numbers };
        }
        let (low, high) = extremes(&places);
        let room = 0.05 * (high - low);
        // Names that would overlap are left out: a twelfth of the axis for each.
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
        for i in order {
            if ticks.last().is_none_or(|(before, _)| places[i] - before > (high - low) / 12.0) {
                ticks.push((places[i], axis.values[i].clone()));
            }
        }
        Positions { ruler: Ruler { from: low - room, to: high + room, ticks, marks: true }, places, logarithmic }
    }

    fn name(&self, axis: &Axis) -> String {
        format!("{}{}", axis.key, if self.logarithmic { ", logarithmic" } else { "" })
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)))
}

/// Panels: (what they hold fixed, their cells with the place on the main axis).
fn panels<'c>(index: &Index, cells: &'c [Cell], main: usize) -> Vec<(String, Vec<(usize, &'c Cell)>)> {
    let mut panels: Vec<(String, Vec<(usize, &Cell)>)> = Vec::new();
    for cell in cells {
        let Some(place) = index.axes[main].values.iter().position(|value| *value == cell.values[main]) else {
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

/// Names of the methods of all cells, in order.
fn methods(cells: &[Cell]) -> Vec<&str> {
    distinct(cells.iter().flat_map(|cell| &cell.methods).map(|method| method.summary.name.as_str()))
}

/// One curve for each method along the main axis; `value` is (mean, error) of a method in a cell.
fn along(
    positions: &Positions,
    panel: &[(usize, &Cell)],
    names: &[&str],
    value: impl Fn(&super::index::Pooled) -> Option<(f64, f64)>,
) -> Vec<Curve> {
    let curve = |(place, name): (usize, &&str)| {
        let mut points: Vec<Point> = panel
            .iter()
            .filter_map(|(at, cell)| {
                let method = cell.methods.iter().find(|method| method.summary.name == **name)?;
                let (mean, error) = value(method)?;
                Some(Point { x: positions.places[*at], y: mean, low: mean - error, high: mean + error })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve { class: look(name, place), label: (*name).to_owned(), note: String::new(), points }
    };
    names.iter().enumerate().map(curve).filter(|curve| !curve.points.is_empty()).collect()
}

fn figures(charts: &[Chart], positions: &Positions) -> String {
    let figures: String = charts
        .iter()
        .map(|chart| format!("<figure>{}</figure>\n", element_over(chart, &positions.ruler, (270.0, 260.0), 140.0)))
        .collect();
    format!("<div class=\"pair\">\n{figures}</div>\n")
}

fn comparison(out: &mut String, index: &Index, cells: &[Cell], main: usize, measure: &str) {
    let (axis, positions) = (&index.axes[main], Positions::new(&index.axes[main]));
    let (names, panels) = (methods(cells), panels(index, cells, main));
    let mut charts: Vec<Chart> = panels
        .iter()
        .take(PANELS_MAX)
        .map(|(name, panel)| {
            let value = |method: &super::index::Pooled| {
                let measure = method.summary.measure(measure)?;
                Some((measure.mean, measure.standard_error.unwrap_or(0.0)))
            };
            let title = if name.is_empty() { "All methods" } else { name };
            scaled(title, &positions.name(axis), &words(measure), along(&positions, panel, &names, value))
        })
        .collect();
    // Panels that are compared share their axis.
    let all: Vec<Curve> = charts.iter().flat_map(|chart| chart.curves.clone()).collect();
    let common = scaled("", "", &words(measure), all);
    for chart in &mut charts {
        (chart.scale, chart.y_max, chart.y_label) = (common.scale, common.y_max, common.y_label.clone());
    }
    let more = if panels.len() > PANELS_MAX {
        format!(" The first {PANELS_MAX} of {} combinations of the other keys; the table has all.", panels.len())
    } else {
        String::new()
    };
    let text = format!("Means over all runs of all seeds; the bars are one standard error.{more}");
    let title = format!("{} against {}", words(measure), axis.short());
    section(out, &escape(&capital(&title)), &text, &figures(&charts, &positions));
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What privacy costs along the main axis: nothing if it costs the same everywhere.
fn losses(out: &mut String, index: &Index, cells: &[Cell], main: usize) {
    let names: Vec<&str> = index.losses().into_iter().filter(|name| name.starts_with("epsilon")).collect();
    let (axis, positions) = (&index.axes[main], Positions::new(&index.axes[main]));
    let panels = panels(index, cells, main);
    let (mut charts, mut varies) = (Vec::new(), false);
    for (title, panel) in panels.iter().take(PANELS_MAX) {
        let mut curves: Vec<Curve> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            // Every private method of a cell costs the same, or the dearest is shown.
            let mut points: Vec<Point> = panel
                .iter()
                .filter_map(|(at, cell)| {
                    let values = cell.methods.iter().filter_map(|method| method.summary.loss(name)?.value);
                    Some(Point::bare(positions.places[*at], values.reduce(f64::max)?))
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            varies |= points.windows(2).any(|pair| pair[0].y != pair[1].y);
            let class = ["red", "blue", "fern"][place % 3];
            let label = words(name);
            curves.push(Curve { class, label, note: String::new(), points });
        }
        curves.retain(|curve| !curve.points.is_empty());
        let title = if title.is_empty() { "What the releases of one run cost" } else { title };
        charts.push(scaled(title, &positions.name(axis), "ε", curves));
    }
    charts.retain(|chart| !chart.curves.is_empty());
    let Some(first) = charts.first() else { return };
    if !varies {
        let said: Vec<String> = first
            .curves
            .iter()
            .map(|curve| format!("{} = {}", curve.label, significant(curve.points[0].y, 4)))
            .collect();
        let text = format!(
            "{} in every run: no key of this sweep changes what privacy costs along <code>{}</code>.",
            escape(&said.join(", ")),
            escape(&axis.key)
        );
        return section(out, "Privacy loss", &text, "");
    }
    section(out, &format!("Privacy loss against {}", escape(axis.short())), "", &figures(&charts, &positions));
}

fn table(out: &mut String, index: &Index, cells: &[Cell]) {
    let (measures, losses) = (index.measures(), index.losses());
    let varying: Vec<usize> = (0..index.axes.len()).filter(|i| index.axes[*i].varies()).collect();
    let mut body = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    varying.iter().for_each(|i| {
        let _ = write!(body, "<th>{}</th>", escape(index.axes[*i].short()));
    });
    body.push_str("<th class=\"name\">method</th><th>runs in all</th>");
    for name in measures.iter().chain(&losses) {
        let _ = write!(body, "<th>{}</th>", escape(&words(name)));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    let names = methods(cells);
    for cell in cells {
        for method in &cell.methods {
            body.push_str("<tr>");
            varying.iter().for_each(|i| {
                let _ = write!(body, "<td>{}</td>", escape(&cell.values[*i]));
            });
            let name = &method.summary.name;
            let place = names.iter().position(|known| known == name).unwrap_or(0);
            let (swatch, cells) = (swatch(name, place), numbers(&method.summary, &measures, &losses));
            let _ = writeln!(body, "<th scope=\"row\">{swatch}</th><td>{}</td>{cells}</tr>", method.runs);
        }
    }
    body.push_str("</tbody></table></div>\n<p class=\"fine\">± one standard error over all runs of all seeds.</p>\n");
    section(out, "All combinations", "", &body);
}

/// Mean curves of the runs of one value of the main axis, over all seeds.
fn joined(folder: &SweepFolder, index: &Index, value: &str, main: usize, fixed: &str) -> Option<Curves> {
    let entries = index.entries.iter().filter(|entry| {
        entry.status == Status::Done && entry.values[main] == value && others(index, &entry.values, main) == fixed
    });
    let mut read = entries.filter_map(|entry| Curves::read(&folder.run(&entry.folder)).ok());
    let mut first = read.next()?;
    read.for_each(|more| first.join(more));
    Some(first)
}

/// Regret over rounds: one chart for each method, one curve for each value of the main axis.
fn curves(out: &mut String, folder: &SweepFolder, index: &Index, main: usize) {
    let axis = &index.axes[main];
    let Some(first) = index.entries.iter().find(|entry| entry.status == Status::Done) else { return };
    let fixed = others(index, &first.values, main);
    // Six values at most are told apart: the ends, and what lies evenly between them.
    let count = axis.values.len().min(RAMP.len());
    let chosen: Vec<&String> =
        (0..count).map(|i| &axis.values[i * (axis.values.len() - 1) / (count - 1).max(1)]).collect();
    let mut measure = String::new();
    let mut by_value: Vec<(usize, &String, Vec<MethodCurve>)> = Vec::new();
    for (i, value) in chosen.iter().enumerate() {
        if let Some(curves) = joined(folder, index, value, main, &fixed) {
            measure.clone_from(&curves.measure);
            by_value.push((i * (RAMP.len() - 1) / (count - 1).max(1), value, curves.means()));
        }
    }
    let names = distinct(by_value.iter().flat_map(|(_, _, curves)| curves).map(|curve| curve.method.as_str()));
    let charts: String = names
        .iter()
        .map(|name| {
            let curves = by_value
                .iter()
                .filter_map(|(hue, value, curves)| {
                    let curve = curves.iter().find(|curve| curve.method == *name)?;
                    let label = format!("{} = {value}", axis.short());
                    Some(Curve { class: RAMP[*hue], label, note: String::new(), points: points(curve) })
                })
                .collect();
            let chart = scaled(name, "round", &words(&measure), curves);
            format!("<figure>{}</figure>\n", element(&chart, (270.0, 220.0), 176.0))
        })
        .collect();
    if charts.is_empty() {
        return;
    }
    let held = if fixed.is_empty() { String::new() } else { format!(" Held fixed: {}.", escape(&fixed)) };
    let text = format!("Means over all runs of all seeds; the bands are one standard error.{held}");
    section(out, "Curves", &text, &format!("<div class=\"pair\">\n{charts}</div>\n"));
}

fn failures(out: &mut String, index: &Index) {
    let waiting = index.count(Status::Waiting);
    let failed: Vec<_> = index.entries.iter().filter(|entry| entry.status == Status::Failed).collect();
    if waiting + failed.len() == 0 {
        return;
    }
    let mut body = String::new();
    if waiting > 0 {
        let _ = writeln!(body, "<p>{waiting} of {} runs are still to come.</p>", index.entries.len());
    }
    if !failed.is_empty() {
        body.push_str("<ul>\n");
        for entry in &failed {
            let error = entry.error.as_deref().unwrap_or("");
            let _ = writeln!(body, "<li><code>{}</code>: {}</li>", escape(&entry.folder), escape(error));
        }
        body.push_str("</ul>\n");
    }
    section(out, "What is missing", "The rest of this page is about the runs that are done.", &body);
}

fn runs(out: &mut String, index: &Index) {
    let mut body = String::from(
        "<details><summary>All runs</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th>folder</th><th>seed</th>\
         <th>status</th><th class=\"name\">digest</th></tr></thead>\n<tbody>\n",
    );
    for entry in &index.entries {
        let name = escape(&entry.folder);
        let link =
            if entry.status == Status::Done { format!("<a href=\"runs/{name}/report.html\">{name}</a>") } else { name };
        let digest = entry.digest.as_deref().unwrap_or("–");
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{link}</th><td>{}</td><td>{}</td><td class=\"digest\">{}</td></tr>",
            entry.seed,
            entry.status.name(),
            escape(digest)
        );
    }
    body.push_str("</tbody></table></div></details>\n");
    let settings: String = index
        .axes
        .iter()
        .map(|axis| format!("{} = {}\n", axis.key, axis.values.join(", ")))
        .chain([format!("seeds = {}\n", index.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))])
        .collect();
    let _ = writeln!(body, "<pre>{}</pre>", escape(&settings));
    let text = match &index.digest {
        Some(digest) => format!("Digest of all runs: <span class=\"digest\">{digest}</span>"),
        None => "No digest: not all runs are done.".into(),
    };
    section(out, "Provenance", &text, &body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_they_are_and_names_side_by_side() {
        let axis = |values: &[&str]| Axis { key: "a.b".into(), values: values.iter().map(|v| v.to_string()).collect() };
        let linear = Positions::new(&axis(&["0", "0.1", "0.5"]));
        assert_eq!((linear.places, linear.logarithmic), (vec![0.0, 0.1, 0.5], false));
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
