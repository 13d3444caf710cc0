//! Pictures of a sweep: measures against keys, regret against ε, the cost of releases, curves over
//! rounds.

use sordino_experiment::record::distinct;
use sordino_experiment::text::significant_up;
use sordino_report::chart::Picture;
use sordino_report::curves::{Curves, MethodCurve};
use sordino_report::palette::RAMP;
use sordino_report::parts::{scaled, share_axis, words};
use sordino_report::read::RunFiles;
use sordino_report::results::{epsilon, is_epsilon, over, regret_of};
use sordino_report::svg::{Chart, Curve, Point, Points, Ruler};

use super::folder::SweepFolder;
use super::index::{Cell, Index, Pooled, Status};
use super::paired;
use super::panels::{
    PANELS_MAX, Panels, capital, curves, main_axis, methods, more, others, panels, titled,
};

/// Name of the picture of utility against privacy in a sweep.
pub const REGRET_EPSILON: &str = "regret-epsilon";
/// The sentence that explains bands and bars.
const ERRORS: &str = "Means over all runs of all seeds; the bars are one standard error of each mean alone. Which methods differ is in the paired \
                      differences.";

/// All pictures of a sweep, in the order of its page.
pub fn pictures(folder: &SweepFolder, index: &Index) -> Vec<Picture> {
    let cells = index.cells();
    let main = main_axis(index);
    let mut found: Vec<Picture> = main
        .into_iter()
        .flat_map(|main| over_keys(index, &cells, main))
        .collect();
    found.extend(over_epsilon(index, &cells));
    found.extend(paired::picture(index));
    if let Some(main) = main {
        found.extend(losses(index, &cells, main).ok().flatten());
        found.extend(over_rounds(folder, index, main));
    }
    found
}

/// The remark on methods that do not follow the sweep.
fn kept(index: &Index) -> String {
    index
        .keepers()
        .iter()
        .map(|sentence| format!(" {sentence}"))
        .collect()
}

/// The first two measures against the main axis; more are in the table.
pub(super) fn over_keys(index: &Index, cells: &[Cell], main: usize) -> Vec<Picture> {
    let Panels {
        axis,
        positions,
        panels,
    } = Panels::new(index, cells, main);
    let mut pictures = Vec::new();
    for measure in index.measures().into_iter().take(2) {
        let mut charts: Vec<Chart> = Vec::new();
        for (fixed, panel) in panels.iter().take(PANELS_MAX) {
            let curves = curves(index, cells, panel, |name, place, cell| {
                let found = cell.method(name)?.summary.measure(measure)?;
                Some(Point::mean(positions.places[place], found.into()))
            });
            let x_label = positions.name(axis);
            charts.push(scaled(titled(fixed), &x_label, &words(measure), curves));
        }
        share_axis(&mut charts, &words(measure));
        pictures.push(Picture {
            name: measure.replace('_', "-"),
            title: capital(&format!("{} against {}", words(measure), axis.short())),
            text: format!("{ERRORS}{}{}", kept(index), more(panels.len())),
            charts,
            ruler: Some(positions.ruler.clone()),
        });
    }
    pictures
}

/// The ε that a method pays, if it is positive and finite.
fn paid(method: &Pooled) -> Option<f64> {
    epsilon(&method.summary).filter(|epsilon| *epsilon > 0.0)
}

/// Place of methods that pay nothing: the largest ε among a cell's methods, or among those whose ε
/// changes, if any.
fn dearest(cell: &Cell, changing: &[&str]) -> Option<f64> {
    cell.methods
        .iter()
        .filter(|method| changing.contains(&method.summary.name.as_str()))
        .filter_map(paid)
        .reduce(f64::max)
        .or_else(|| cell.methods.iter().filter_map(paid).reduce(f64::max))
}

/// True if the ε of a method is not the same in all cells of a panel.
fn changes(name: &str, panel: &[(usize, &Cell)]) -> bool {
    let told: Vec<f64> = panel
        .iter()
        .filter_map(|(_, cell)| cell.method(name).and_then(paid))
        .collect();
    told.iter()
        .any(|epsilon| (epsilon / told[0] - 1.0).abs() > 1e-9)
}

/// The first key along which the ε of a method changes while all others are held, and the methods
/// whose ε does.
fn priced<'c>(index: &Index, cells: &'c [Cell]) -> Option<(usize, Vec<&'c str>)> {
    let found = (0..index.axes.len()).map(|axis| {
        let panels = panels(index, cells, axis);
        let changing = methods(cells)
            .into_iter()
            .filter(|name| panels.iter().any(|(_, panel)| changes(name, panel)));
        (axis, changing.collect::<Vec<_>>())
    });
    found.into_iter().find(|(_, changing)| !changing.is_empty())
}

/// A measure against ε, with a panel for each combination of keys that do not change ε; `None` if
/// no key changes it.
pub(super) fn over_epsilon(index: &Index, cells: &[Cell]) -> Option<Picture> {
    let (axis, changing) = priced(index, cells)?;
    let measures = index.measures();
    let measure = measures
        .iter()
        .find(|name| name.starts_with("summed"))
        .or(measures.first())?;
    // Every ε that is drawn, of whichever method, lies on the axis.
    let ruler = over(
        &cells
            .iter()
            .flat_map(|cell| &cell.methods)
            .filter_map(paid)
            .collect::<Vec<_>>(),
    )?;
    let panels = panels(index, cells, axis);
    let mut charts: Vec<Chart> = Vec::new();
    for (fixed, panel) in panels.iter().take(PANELS_MAX) {
        let curves = curves(index, cells, panel, |name, _, cell| {
            let method = cell.method(name)?;
            let x = paid(method).or_else(|| dearest(cell, &changing))?;
            let found = method.summary.measure(measure)?;
            Some(Point::mean(x.ln(), found.into()))
        });
        let x_label = "ε, logarithmic";
        charts.push(scaled(titled(fixed), x_label, &words(measure), curves));
    }
    share_axis(&mut charts, &words(measure));
    Some(Picture {
        name: REGRET_EPSILON.to_owned(),
        title: capital(&format!("{} against ε", words(measure))),
        text: format!(
            "{ERRORS} The ε of {} changes with {}; methods that pay nothing stand at the largest of those in their run.{}{}",
            changing.join(", "),
            index.axes[axis].key,
            kept(index),
            more(panels.len())
        ),
        charts,
        ruler: Some(Ruler {
            points: Points::Joined,
            ..ruler
        }),
    })
}

/// The privacy loss along the main axis.
///
/// **Errors**: a sentence, if the loss is the same everywhere.
pub(super) fn losses(
    index: &Index,
    cells: &[Cell],
    main: usize,
) -> Result<Option<Picture>, String> {
    let names: Vec<&str> = index
        .losses()
        .into_iter()
        .filter(|name| is_epsilon(name))
        .collect();
    let Panels {
        axis,
        positions,
        panels,
    } = Panels::new(index, cells, main);
    let mut charts = Vec::new();
    let mut varies = false;
    for (title, panel) in panels.iter().take(PANELS_MAX) {
        let mut curves: Vec<Curve> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            // Every private method of a cell costs the same, or the dearest is shown: of those that
            // follow the sweep.
            let mut points: Vec<Point> = panel
                .iter()
                .filter_map(|(at, cell)| {
                    let follows =
                        |method: &&Pooled| index.kept(&method.summary.name, main).is_none();
                    let methods = cell.methods.iter().filter(follows);
                    let values = methods.filter_map(|method| method.summary.loss(name)?.value);
                    Some(Point::bare(positions.places[*at], values.reduce(f64::max)?))
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            varies |= points.windows(2).any(|pair| pair[0].y != pair[1].y);
            let class = ["red", "blue", "fern"][place % 3];
            curves.push(Curve {
                class,
                label: words(name),
                note: String::new(),
                points,
            });
        }
        curves.retain(|curve| !curve.points.is_empty());
        let title = if title.is_empty() {
            "What the releases of one run cost"
        } else {
            title
        };
        charts.push(scaled(title, &positions.name(axis), "ε", curves));
    }
    charts.retain(|chart| !chart.curves.is_empty());
    let Some(first) = charts.first() else {
        return Ok(None);
    };
    if !varies {
        let said =
            |curve: &Curve| format!("{} = {}", curve.label, significant_up(curve.points[0].y, 4));
        let said: Vec<String> = first.curves.iter().map(said).collect();
        let key = &axis.key;
        return Err(format!(
            "{} in every run: no key of this sweep changes what privacy costs along {key}.",
            said.join(", ")
        ));
    }
    Ok(Some(Picture {
        name: "epsilon".to_owned(),
        title: format!("Privacy loss against {}", axis.short()),
        text: format!(
            "What all releases of one run cost; of several private methods the dearest.{}",
            kept(index)
        ),
        charts,
        ruler: Some(positions.ruler),
    }))
}

/// Mean curves of the runs of one value of the main axis, over all seeds, and of how many runs the
/// folder could not be read.
fn joined(
    folder: &SweepFolder,
    index: &Index,
    value: &str,
    main: usize,
    fixed: &str,
) -> (Option<Curves>, usize) {
    let entries = index.entries.iter().filter(|entry| {
        entry.status == Status::Done
            && entry.values[main] == value
            && others(index, &entry.values, main) == fixed
    });
    let mut all: Option<Curves> = None;
    let mut left_out = 0;
    for entry in entries {
        match (
            Curves::read(RunFiles::Folder(&folder.run(&entry.folder))),
            &mut all,
        ) {
            (Ok(more), Some(all)) => all.join(more),
            (Ok(first), None) => all = Some(first),
            (Err(_unreadable), _) => left_out += 1,
        }
    }
    (all, left_out)
}

/// Regret over rounds: one chart for each method, one curve for each value of the main axis.
pub(super) fn over_rounds(folder: &SweepFolder, index: &Index, main: usize) -> Option<Picture> {
    let axis = &index.axes[main];
    let first = index
        .entries
        .iter()
        .find(|entry| entry.status == Status::Done)?;
    let fixed = others(index, &first.values, main);
    // Six values at most are told apart: the ends, and what lies evenly between them.
    let count = axis.values.len().min(RAMP.len());
    let chosen = (0..count).map(|i| &axis.values[i * (axis.values.len() - 1) / (count - 1).max(1)]);
    let mut by_value: Vec<(usize, &String, Vec<MethodCurve>)> = Vec::new();
    let mut left_out = 0;
    for (i, value) in chosen.enumerate() {
        let (curves, unreadable) = joined(folder, index, value, main, &fixed);
        left_out += unreadable;
        if let Some(curves) = curves {
            by_value.push((
                i * (RAMP.len() - 1) / (count - 1).max(1),
                value,
                curves.means(),
            ));
        }
    }
    let names = distinct(
        by_value
            .iter()
            .flat_map(|(_, _, curves)| curves)
            .map(|curve| curve.method.as_str()),
    );
    let mut charts: Vec<Chart> = Vec::new();
    for name in names {
        // A method that keeps the key has one curve.
        let kept = index.kept(name, main);
        let shown = by_value
            .iter()
            .take(if kept.is_some() { 1 } else { by_value.len() });
        let curves = shown.filter_map(|(hue, value, curves)| {
            let curve = curves.iter().find(|curve| curve.method == name)?;
            let label = format!("{} = {}", axis.short(), kept.as_ref().unwrap_or(value));
            Some(Curve {
                class: RAMP[*hue],
                label,
                note: String::new(),
                points: curve.points(),
            })
        });
        let y_label = regret_of(&index.trust);
        charts.push(scaled(name, "round", y_label, curves.collect()));
    }
    // A single point is no curve.
    charts.retain(|chart| chart.curves.iter().any(|curve| curve.points.len() > 1));
    let held = if fixed.is_empty() {
        String::new()
    } else {
        format!(" Held fixed: {fixed}.")
    };
    let means = match left_out {
        0 => "Means over all runs of all seeds".to_owned(),
        1 => "Means without one run, whose folder cannot be read".to_owned(),
        count => format!("Means without {count} runs, whose folders cannot be read"),
    };
    (!charts.is_empty()).then(|| Picture {
        name: "rounds".to_owned(),
        title: "Curves".to_owned(),
        text: format!(
            "{means}; the bands are one standard error.{held}{}",
            kept(index)
        ),
        charts,
        ruler: None,
    })
}
