//! Pictures as SVG. Regret curves: the methods, with the ablations beside them; and, for all
//! pictures, how panels are put together and which scale a vertical axis has.

use sordino_experiment::metrics::{MethodStatistics, Statistics};
use sordino_experiment::record::{Twins, distinct};
use sordino_experiment::scenario::{Guarantee, Method, MethodName, Scenario};
use sordino_experiment::text::{significant, significant_up};

use super::advance::wrapped;
use super::chart::LOGARITHMIC;
use super::layout::{Layout, Room, Sizes, aligned};
use super::palette;
use super::svg::{Chart, Curve, Point, Ruler, Scale, line};

/// Note beside the name of a method that releases something and protects nobody.
pub const UNPROTECTED: &str = "no protection";

/// A loss as it stands beside a name.
pub fn epsilon(loss: Option<f64>) -> String {
    loss.map_or("ε = ∞".to_owned(), |epsilon| {
        format!("ε = {}", significant_up(epsilon, 3))
    })
}

/// The regret curve of a method with its band; beside its name stands ε, or that nobody is
/// protected.
pub fn curve(method: &MethodStatistics) -> Curve {
    let note = match (method.guarantee(), method.losses) {
        (Guarantee::NothingReleased | Guarantee::Unclaimed, _) => String::new(),
        (_, Some([loss, _])) => epsilon(loss.tight),
        _ => UNPROTECTED.to_owned(),
    };
    Curve {
        class: palette::of(method.method),
        label: method.method.name().to_owned(),
        note,
        points: method
            .curve
            .iter()
            .enumerate()
            .map(|(round, at)| Point::mean(round as f64, *at))
            .collect(),
    }
}

/// Where a curve lies on another one, notes beside its name which curve that is.
pub(crate) fn mark_twins(curves: &mut [Curve], twins: &Twins<'_>) {
    for curve in curves {
        if let Some(first) = twins.first(&curve.label) {
            curve.note = format!("same as {first}");
        }
    }
}

/// The panels: the methods, then one for each base whose ablations the scenario compares.
pub fn panels(statistics: &Statistics, regret_name: &str) -> Vec<Chart> {
    let all = statistics.methods.iter().flat_map(|method| &method.curve);
    let top = all
        .clone()
        .map(|at| at.mean + at.standard_error.unwrap_or(0.0))
        .fold(f64::MIN_POSITIVE, f64::max);
    let (scale, y_max, scale_name) = scale(all.map(|at| at.mean).filter(|mean| *mean > 0.0), top);
    let mut panels = vec![("Methods".to_owned(), picked(statistics, stands_alone))];
    // A method and what is left of it when one thing is taken away.
    let changed = statistics
        .methods
        .iter()
        .filter(|found| !stands_alone(found.method))
        .filter_map(|found| found.method.base());
    for base in distinct(changed.map(MethodName::name)) {
        let mut curves = picked(statistics, |method| {
            method.base().is_some_and(|of| of.name() == base)
        });
        curves.extend(picked(statistics, |method| method.name() == base));
        panels.push((format!("{base} with one thing changed"), curves));
    }
    panels
        .into_iter()
        .filter(|(_, curves)| !curves.is_empty())
        .map(|(title, curves)| Chart {
            title,
            x_label: "round".into(),
            y_label: format!("{regret_name}, mean over agents{scale_name}; lower is better"),
            curves: told_apart(statistics, curves),
            scale,
            y_max,
        })
        .collect()
}

/// Whether a method is drawn in the first panel, not beside its base.
fn stands_alone(method: Method) -> bool {
    !method.is_ablation() || !method.parts().signal
}

/// Curves of the wanted methods: what is only noise is drawn first, and what it is compared with on
/// top.
fn picked(statistics: &Statistics, wanted: impl Fn(Method) -> bool) -> Vec<Curve> {
    let (silent, heard): (Vec<_>, Vec<_>) = statistics
        .methods
        .iter()
        .filter(|found| wanted(found.method))
        .partition(|found| !found.method.parts().signal && found.method.is_ablation());
    silent.into_iter().chain(heard).map(curve).collect()
}

/// Curves of one panel, of which equal ones lie on one another: only their notes tell them.
fn told_apart(statistics: &Statistics, mut curves: Vec<Curve>) -> Vec<Curve> {
    let names: Vec<String> = curves.iter().map(|curve| curve.label.clone()).collect();
    let drawn = statistics
        .methods
        .iter()
        .filter(|found| names.iter().any(|name| name == found.method.name()));
    mark_twins(&mut curves, &Twins::of(drawn.map(MethodStatistics::named)));
    curves
}

/// The vertical axis for these positive values, up to `top`: scale, upper end, and what to add to
/// its name.
pub fn scale(values: impl Iterator<Item = f64>, top: f64) -> (Scale, f64, &'static str) {
    let least = values.fold(top, f64::min);
    // Curves that fall by more than a factor of thirty are told apart on a logarithmic scale only;
    // a measure that stays far from zero needs no zero.
    if least < top / 30.0 {
        (
            Scale::Log {
                floor: (0.6 * least).max(top * 1e-4),
            },
            top * 1.1,
            LOGARITHMIC,
        )
    } else {
        let from = if least > 0.4 * top {
            least - 0.1 * (top - least)
        } else {
            0.0
        };
        // Values that lie close together far from zero: no more room above than below.
        let above = match 0.1 * (top - least) {
            room if from > 0.0 && room > 0.0 => room.min(0.02 * top),
            _ => 0.02 * top,
        };
        (Scale::Linear { from }, top + above, "")
    }
}

/// The line below the title.
pub(crate) fn subtitle(scenario: &Scenario, statistics: &Statistics) -> String {
    let band = if scenario.runs > 1 {
        format!(
            "Mean of {} paired runs, band ± one standard error",
            scenario.runs
        )
    } else {
        "One run".to_owned()
    };
    match statistics.methods.iter().find_map(|method| method.losses) {
        Some([loss, _]) => format!(
            "{band}; ε (tight) at δ = {}, zero-out. {}.",
            significant(loss.delta, 3),
            super::events::sentences(scenario, statistics).join(". ")
        ),
        None => band,
    }
}

/// Width of a panel with names at the ends of its curves.
const COLUMN: f64 = 610.0;
/// Width of a panel whose curves have no names.
pub const NAMELESS: f64 = 450.0;
/// Between panels.
const GAP: f64 = 14.0;
/// Panels in a row, at most.
const ACROSS: usize = 3;

/// Panels side by side under a title and two lines, over the given horizontal axis or each over its
/// own.
pub fn compose(title: &str, lines: &[&str; 2], panels: &[Chart], ruler: Option<&Ruler>) -> String {
    let rulers: Vec<Ruler> = panels
        .iter()
        .map(|panel| ruler.cloned().unwrap_or_else(|| panel.ruler()))
        .collect();
    let panels: Vec<(&Chart, &Ruler)> = panels.iter().zip(&rulers).collect();
    compose_over(title, lines, &panels, COLUMN)
}

/// The same where each panel comes with its horizontal axis and is about `column` pixels wide:
/// three in a row at most, in rows that are as long as one another.
pub fn compose_over(
    title: &str,
    lines: &[&str; 2],
    panels: &[(&Chart, &Ruler)],
    column: f64,
) -> String {
    const EDGE: f64 = 24.0;
    let room = Room {
        corner: (0.0, 0.0),
        width: column - GAP,
        plot: (370.0, 340.0),
        margins: (46.0, 67.0, 56.0),
        right: 0.0,
        sizes: Sizes::FILE,
        key: false,
        keyed: false,
    };
    let columns = columns(panels.len());
    let rooms = aligned(panels, vec![room; panels.len()], columns);
    // Once to learn how wide everything is, then below the lines that are broken to that width.
    let wide = placed(panels, &rooms, columns, [GAP, 0.0])
        .iter()
        .map(|block| block.corner.0 + block.width + GAP)
        .fold(COLUMN + 30.0, f64::max);
    let top = heading(&mut String::new(), title, lines, wide - 2.0 * EDGE);
    let blocks = placed(panels, &rooms, columns, [GAP, top]);
    let width = wide.ceil();
    let height = blocks
        .iter()
        .map(|block| block.corner.1 + block.height)
        .fold(top + 20.0, f64::max)
        .ceil();
    let mut body = format!("<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n");
    heading(&mut body, title, lines, width - 2.0 * EDGE);
    for ((panel, ruler), block) in panels.iter().zip(&blocks) {
        body.push_str(&panel.draw(block, ruler));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<style>{}</style>\n{body}</svg>\n",
        palette::style(&body, "", "")
    )
}

/// In how many columns panels stand: in as few rows as hold them, and then as few columns as fill
/// these.
fn columns(panels: usize) -> usize {
    let rows = panels.div_ceil(ACROSS).max(1);
    panels.div_ceil(rows).max(1)
}

/// The layouts of panels row by row, the first one at this corner.
fn placed(
    panels: &[(&Chart, &Ruler)],
    rooms: &[Room],
    columns: usize,
    [left, top]: [f64; 2],
) -> Vec<Layout> {
    let mut blocks: Vec<Layout> = Vec::new();
    let mut corner = (left, top);
    for (place, ((panel, ruler), room)) in panels.iter().zip(rooms).enumerate() {
        if place > 0 && place % columns == 0 {
            let above = blocks.iter().map(|block| block.corner.1 + block.height);
            corner = (left, above.fold(top, f64::max) + GAP);
        }
        let layout = Layout::of(panel, ruler, &Room { corner, ..*room });
        corner.0 += layout.width + GAP;
        blocks.push(layout);
    }
    blocks
}

/// Writes title and lines above the panels, broken to a width; returns the height of the last of
/// them.
pub(super) fn heading(out: &mut String, title: &str, lines: &[&str; 2], width: f64) -> f64 {
    let mut y = 12.0;
    for text in wrapped(title, 19.0, true, width) {
        y += 24.0;
        line(out, "title", 24.0, y, "start", &text);
    }
    y += 3.0;
    for text in lines
        .iter()
        .filter(|text| !text.is_empty())
        .flat_map(|text| sentences(text, width))
    {
        y += 19.0;
        line(out, "sub", 24.0, y, "start", &text);
    }
    y
}

/// A line, or, if it is too long, each of its sentences on its own line: a statement about privacy
/// stays in one piece.
fn sentences(text: &str, width: f64) -> Vec<String> {
    let whole = wrapped(text, 13.0, false, width);
    if whole.len() == 1 {
        return whole;
    }
    text.split_inclusive(". ")
        .flat_map(|sentence| wrapped(sentence, 13.0, false, width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pressures in pascal lay on the bottom line, below 2 % of an atmosphere.
    #[test]
    fn values_close_together_far_from_zero_fill_their_axis() {
        let (drawn, top, _) = scale([101_325.0, 101_326.0].into_iter(), 101_327.0);
        let Scale::Linear { from } = drawn else {
            panic!("{drawn:?}");
        };
        assert!(from < 101_325.0 && top - from < 3.0, "{from} {top}");
        // The others are as they were; one value alone has an axis, too.
        assert_eq!(scale([1.0, 2.0].into_iter(), 3.0).1, 3.06);
        assert_eq!(scale([2.0].into_iter(), 2.0).1, 2.04);
    }

    /// Where the horizontal axes of so many panels begin, and how wide all is.
    fn axes(count: usize) -> (Vec<(f64, f64)>, f64) {
        let curve = Curve {
            class: "blue",
            label: String::new(),
            note: String::new(),
            points: vec![Point::bare(0.0, 0.5), Point::bare(1.0, 0.7)],
        };
        let chart = Chart {
            title: String::new(),
            x_label: "x".into(),
            y_label: "y".into(),
            curves: vec![curve],
            scale: Scale::Linear { from: 0.0 },
            y_max: 1.0,
        };
        let ruler = chart.ruler();
        let svg = compose_over("t", &["", ""], &vec![(&chart, &ruler); count], NAMELESS);
        let begins = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<path class=\"base\" d=\"M"))
            .map(|rest| {
                let (x, y) = rest.split('H').next().unwrap().split_once(' ').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            });
        let width = svg.split(" width=\"").nth(1).unwrap();
        let width = width.split('"').next().unwrap().parse().unwrap();
        (begins.collect(), width)
    }

    #[test]
    fn panels_stand_in_even_rows_of_three_at_most() {
        for (count, columns) in [
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 2),
            (5, 3),
            (6, 3),
            (7, 3),
            (16, 3),
        ] {
            let (begins, width) = axes(count);
            assert_eq!(begins.len(), count);
            assert!(
                width <= (columns as f64 * NAMELESS + 30.0).max(COLUMN + 30.0),
                "{width}"
            );
            for (place, begin) in begins.iter().enumerate() {
                // Below the first of its column, beside the first of its row, and on no other.
                assert_eq!(begin.0, begins[place % columns].0, "{count}: {place}");
                assert_eq!(
                    begin.1,
                    begins[place - place % columns].1,
                    "{count}: {place}"
                );
                assert!(
                    begins[..place]
                        .iter()
                        .all(|other| (other.0 - begin.0).abs() > 400.0
                            || (other.1 - begin.1).abs() > 400.0),
                    "{count}: {place}"
                );
            }
        }
    }
}
