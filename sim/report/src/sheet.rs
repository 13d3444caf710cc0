//! A picture as a file with a width in millimetres, for papers and slides: on white, in type the
//! size of captions.
//!
//! One unit of the picture is two thirds of a point, so that the twelve units of axes and notes are
//! 8 pt and the thirteen of curves' names 8.7 pt, however wide the picture is: it is laid out at
//! its width, never scaled to it.

use super::chart::{Chart, Picture, Ruler};
use super::figure::heading;
use super::layout::{Layout, Room, Sizes, aligned};
use super::palette;
use super::svg::escape;

/// Units of the picture in a millimetre.
const UNITS: f64 = 1.5 * 72.0 / 25.4;
/// Least width of a panel, in units; narrower panels are stacked.
const PANEL_LEAST: f64 = 330.0;
/// Gap between two panels.
const GAP: f64 = 16.0;

/// Admissible widths in millimetres: from half a column to a poster.
pub const WIDTHS: std::ops::RangeInclusive<f64> = 40.0..=1000.0;
/// Height in millimetres for which no journal page has room together with a caption.
pub const TOO_HIGH: f64 = 230.0;
/// Width of a column in most journals, in millimetres.
pub const COLUMN: f64 = 84.0;

/// How a picture becomes a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Width in millimetres, one of [`WIDTHS`].
    pub width: f64,
    /// Whether its title and text stand above it; a caption may say them instead.
    pub title: bool,
}

impl Sheet {
    /// The picture as SVG, and its height in millimetres.
    pub fn drawn(&self, picture: &Picture) -> (String, f64) {
        let width = self.width * UNITS;
        let mut body = String::new();
        let mut y = 0.0;
        if self.title {
            y = heading(
                &mut body,
                &picture.title,
                &[&picture.text, ""],
                width - 48.0,
            );
        }
        let abreast = (((width + GAP) / (PANEL_LEAST + GAP)).floor() as usize)
            .clamp(1, picture.charts.len().max(1));
        let panel = (width - (abreast - 1) as f64 * GAP) / abreast as f64;
        let charts: Vec<Chart> = picture
            .charts
            .iter()
            .map(|chart| self.shown(chart, picture))
            .collect();
        let rulers: Vec<Ruler> = charts
            .iter()
            .map(|chart| picture.ruler.clone().unwrap_or_else(|| chart.ruler()))
            .collect();
        let panels: Vec<(&Chart, &Ruler)> = charts.iter().zip(&rulers).collect();
        let rooms = aligned(
            &panels,
            charts.iter().map(|chart| room(panel, chart)).collect(),
            abreast,
        );
        for (panels, rooms) in panels.chunks(abreast).zip(rooms.chunks(abreast)) {
            let mut bottom = y;
            for (place, ((chart, ruler), room)) in panels.iter().zip(rooms).enumerate() {
                let corner = (place as f64 * (panel + GAP), y);
                let layout = Layout::of(chart, ruler, &Room { corner, ..*room });
                bottom = layout.height.max(bottom - y) + y;
                body.push_str(&chart.draw(&layout, ruler));
            }
            y = bottom + 6.0;
        }
        let height = y.ceil();
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.2} {height}\" width=\"{}mm\" \
             height=\"{:.2}mm\" role=\"img\" aria-label=\"{}\">\n<style>{}</style>\n\
             <rect class=\"ground\" width=\"{width:.2}\" height=\"{height}\"/>\n{body}</svg>\n",
            self.width,
            height / UNITS,
            escape(&picture.title),
            palette::paper(&body)
        );
        (svg, height / UNITS)
    }

    /// The chart without a redundant title: a single panel's title already stands in the caption.
    fn shown(&self, chart: &Chart, picture: &Picture) -> Chart {
        let mut chart = chart.clone();
        if picture.charts.len() < 2 {
            chart.title.clear();
        }
        chart
    }
}

fn room(width: f64, chart: &Chart) -> Room {
    let above = if chart.title.is_empty() { 26.0 } else { 48.0 };
    let height = (0.5 * width).clamp(120.0, 260.0);
    Room {
        corner: (0.0, 0.0),
        width,
        plot: (width, height),
        margins: (40.0, above, 46.0),
        right: 0.0,
        sizes: Sizes::FILE,
        key: true,
        keyed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Curve, Point, Scale};
    use super::*;

    fn picture(labels: &[&str], panels: usize) -> Picture {
        let curve = |label: &&str| Curve {
            class: "blue",
            label: (*label).to_owned(),
            note: "ε = 7.05".into(),
            points: vec![Point::bare(0.0, 1.0), Point::bare(40.0, 0.2)],
        };
        let chart = |i: usize| Chart {
            title: format!("panel {i}"),
            x_label: "round".into(),
            y_label: "regret".into(),
            curves: labels.iter().map(curve).collect(),
            scale: Scale::Linear { from: 0.0 },
            y_max: 1.0,
        };
        let charts = (0..panels).map(chart).collect();
        Picture {
            name: "x".into(),
            title: "A title".into(),
            text: "Said.".into(),
            charts,
            ruler: None,
        }
    }

    #[test]
    fn a_sheet_has_the_width_that_was_asked_for_and_names_go_where_they_have_room() {
        let few = picture(&["ts", "fts"], 1);
        let many: Vec<String> = (0..13).map(|i| format!("a-method-of-ours-{i}")).collect();
        let many = picture(&many.iter().map(String::as_str).collect::<Vec<_>>(), 1);
        for width in [40.0, 60.0, 84.0, 174.0, 1000.0] {
            for picture in [&few, &many] {
                let sheet = Sheet {
                    width,
                    title: false,
                };
                let svg = sheet.drawn(picture).0;
                let start = format!(r#"viewBox="0 0 {:.2} "#, width * UNITS);
                assert!(
                    svg.contains(&start) && svg.contains(&format!(r#"width="{width}mm""#)),
                    "{width}"
                );
                assert!(
                    !svg.contains("A title</text>")
                        && Sheet {
                            title: true,
                            ..sheet
                        }
                        .drawn(picture)
                        .0
                        .contains("A title<")
                );
            }
        }
        let leaders = |picture: &Picture, width| {
            Sheet {
                width,
                title: false,
            }
            .drawn(picture)
            .0
            .matches("leader")
            .count()
        };
        // A class in the style sheet, and one for each curve that is named at its end.
        let named = leaders(&few, 84.0);
        let keyed = leaders(&many, 84.0);
        assert!(named == keyed + 2, "{named} {keyed}");
        // A unit is two thirds of a point, in every width: 84 mm are 238.1 pt.
        assert!((84.0 * UNITS / 1.5 - 238.11).abs() < 0.01);
    }

    #[test]
    fn panels_stand_beside_each_other_where_they_have_room() {
        let height = |width: f64| {
            let svg = Sheet {
                width,
                title: false,
            }
            .drawn(&picture(&["ts"], 2))
            .0;
            let view = svg
                .split("viewBox=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .to_owned();
            view.split(' ').nth(3).unwrap().parse::<f64>().unwrap()
        };
        assert!(
            height(84.0) > 1.6 * height(174.0),
            "{} {}",
            height(84.0),
            height(174.0)
        );
        let (svg, high) = Sheet {
            width: 84.0,
            title: false,
        }
        .drawn(&picture(&["ts"], 4));
        assert!(
            high > TOO_HIGH && svg.contains(&format!(r#"height="{high:.2}mm""#)),
            "{high}"
        );
    }

    /// Left, right and lower end of each plot, from its base line.
    fn plots(svg: &str) -> Vec<[String; 3]> {
        let bases = svg
            .lines()
            .filter_map(|line| line.split("class=\"base\" d=\"M").nth(1));
        let ends = |base: &str| {
            let ends: Vec<&str> = base.split(['"', ' ', 'H']).take(3).collect();
            [ends[0], ends[2], ends[1]].map(str::to_owned)
        };
        bases.map(ends).collect()
    }

    #[test]
    fn plots_of_a_column_and_of_a_row_are_aligned() {
        // Panels that would lie differently: longer numbers, longer names, a title of two lines.
        let mut picture = picture(&["ts", "fts"], 4);
        picture.charts[1].curves[0].label = "a-method-of-ours".into();
        picture.charts[2].y_max = 1e-7;
        picture.charts[3].title =
            "a title that has no room on one line because it says very much about its panel".into();
        for width in [60.0, 84.0, 174.0, 300.0] {
            let (svg, _) = Sheet {
                width,
                title: false,
            }
            .drawn(&picture);
            let found = plots(&svg);
            let columns = found.iter().filter(|plot| plot[2] == found[0][2]).count();
            assert_eq!(
                (found.len(), columns),
                (
                    4,
                    if width < 100.0 {
                        1
                    } else {
                        (width / 80.0) as usize
                    }
                ),
                "{width}"
            );
            for (i, plot) in found.iter().enumerate() {
                assert_eq!(
                    plot[..2],
                    found[i % columns][..2],
                    "{width} mm: left and right of panel {i}"
                );
                assert_eq!(
                    plot[2],
                    found[i - i % columns][2],
                    "{width} mm: lower end of panel {i}"
                );
            }
            // All have a key or none.
            assert!([0, 8].contains(&svg.matches("h22\"").count()), "{svg}");
        }
    }
}
