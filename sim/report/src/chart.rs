//! A chart before it is drawn: curves, a scale, a horizontal axis, and the rectangle they are
//! given. Charts that belong together make a named picture.

use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::distinct;

/// A point of a curve and of its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Height of the curve there.
    pub y: f64,
    /// Lower edge of the band.
    pub low: f64,
    /// Upper edge of the band.
    pub high: f64,
}

impl Point {
    /// A point without a band.
    pub fn bare(x: f64, y: f64) -> Self {
        Point {
            x,
            y,
            low: y,
            high: y,
        }
    }

    /// A mean in a band of one standard error to either side.
    pub fn mean(x: f64, at: Estimate) -> Self {
        let error = at.standard_error.unwrap_or(0.0);
        Point {
            x,
            y: at.mean,
            low: at.mean - error,
            high: at.mean + error,
        }
    }

    /// The mean of a number that is never negative: neither is its band.
    pub fn mean_of_positive(x: f64, at: Estimate) -> Self {
        let point = Point::mean(x, at);
        Point {
            low: point.low.max(0.0),
            ..point
        }
    }
}

/// One curve of a chart with its band.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Class of colour and dash, one of those in [`super::palette`].
    pub class: &'static str,
    /// Name at the end of the curve.
    pub label: String,
    /// Note in smaller type after the label.
    pub note: String,
    /// Points from left to right.
    pub points: Vec<Point>,
}

/// How the vertical axis is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Linear, starting at a value that is mostly zero.
    Linear {
        /// The lowest value that is drawn.
        from: f64,
    },
    /// Powers of ten; values below the floor are drawn on it.
    Log {
        /// The lowest value that is drawn.
        floor: f64,
    },
}

/// What the name of a logarithmic axis ends with.
pub const LOGARITHMIC: &str = ", logarithmic";
/// The most decades below the top that a logarithmic axis shows.
const DECADES: i32 = 4;

/// A chart of several curves over a common axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above the plot.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Above the vertical axis.
    pub y_label: String,
    /// The curves, the most important last: it is drawn on top.
    pub curves: Vec<Curve>,
    /// The vertical scale.
    pub scale: Scale,
    /// Upper end of the vertical axis, so that charts can share it.
    pub y_max: f64,
}

impl Chart {
    /// Upper end of the highest band, above zero.
    fn high(&self) -> f64 {
        all_points(&self.curves)
            .map(|point| point.high)
            .fold(f64::MIN_POSITIVE, f64::max)
    }

    /// The least positive value of a curve; infinite if there is none.
    fn least_positive(&self) -> f64 {
        all_points(&self.curves)
            .map(|point| point.y)
            .filter(|y| *y > 0.0)
            .fold(f64::INFINITY, f64::min)
    }
}

/// The points of all curves, one curve after the other.
pub(crate) fn all_points(curves: &[Curve]) -> impl Iterator<Item = &Point> {
    curves.iter().flat_map(|curve| &curve.points)
}

/// A rectangle in the figure, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left end of the plot.
    pub x: f64,
    /// Upper end of the plot.
    pub y: f64,
    /// Width of the plot, without labels.
    pub width: f64,
    /// Height of the plot.
    pub height: f64,
}

impl Frame {
    /// Horizontal position of a value, in pixels.
    pub(super) fn place(&self, ruler: &Ruler, x: f64) -> f64 {
        let span = ruler.to - ruler.from;
        self.x
            + if span > 0.0 {
                (x - ruler.from) / span
            } else {
                0.5
            } * self.width
    }
}

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    /// Value at the left end.
    pub from: f64,
    /// Value at the right end.
    pub to: f64,
    /// Places of the numbers or names below it.
    pub ticks: Vec<(f64, String)>,
    /// How points are drawn.
    pub points: Points,
}

/// How the points of a chart are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// A line with a band.
    Band,
    /// Dots with error bars, and a line through them.
    Joined,
    /// Dots with error bars: places without an order.
    Apart,
}

/// Charts that belong together, shown on a page or as a file of their own.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name by which it is asked for, as in `regret-epsilon`.
    pub name: String,
    /// Heading of its section and of its file.
    pub title: String,
    /// Text that must go with it: plain sentences.
    pub text: String,
    /// Panels, in order.
    pub charts: Vec<Chart>,
    /// Their horizontal axis, if it is not rounds from 0.
    pub ruler: Option<Ruler>,
}

impl Picture {
    /// The picture with vertical axes from 0, or with logarithmic ones down to the least positive
    /// value, at most four decades: the choice that the picture made by itself is another's.
    ///
    /// **Errors**: the title of a chart that has a negative value or no positive one, and so no
    /// logarithm.
    pub fn scaled(mut self, logarithmic: bool) -> Result<Picture, String> {
        // Panels that are compared share an axis.
        let least = self
            .charts
            .iter()
            .map(Chart::least_positive)
            .fold(f64::INFINITY, f64::min);
        let top = self
            .charts
            .iter()
            .map(Chart::high)
            .fold(f64::MIN_POSITIVE, f64::max);
        // Differences go below zero, and their axis with them; they have no logarithm.
        let points = self
            .charts
            .iter()
            .flat_map(|chart| &chart.curves)
            .flat_map(|curve| &curve.points);
        let below = points
            .map(|point| point.low.min(point.y))
            .fold(0.0, f64::min);
        let negative = self
            .charts
            .iter()
            .any(|chart| matches!(chart.scale, Scale::Linear { from } if from < 0.0));
        for chart in &mut self.charts {
            let name = chart.y_label.replace(LOGARITHMIC, "");
            chart.y_label = if logarithmic {
                name + LOGARITHMIC
            } else {
                name
            };
            (chart.scale, chart.y_max) = match logarithmic {
                true if least.is_infinite() || negative => return Err(chart.title.clone()),
                true => (
                    Scale::Log {
                        floor: (0.6 * least).max(top * 10f64.powi(-DECADES)),
                    },
                    top * 1.1,
                ),
                false if negative => (Scale::Linear { from: 1.02 * below }, top * 1.02),
                false => (
                    Scale::Linear { from: 0.0 },
                    chart.high().max(chart.y_max.min(top)) * 1.02,
                ),
            };
        }
        Ok(self)
    }

    /// Names of everything it tells apart: of curves, or of panels whose curve has no name.
    pub fn names(&self) -> Vec<&str> {
        let labels = self
            .charts
            .iter()
            .flat_map(|chart| &chart.curves)
            .map(|curve| curve.label.as_str());
        let titles = self.charts.iter().map(|chart| chart.title.as_str());
        distinct(labels.chain(titles).filter(|name| !name.is_empty()))
    }

    /// Names from which [`Picture::only`] chooses: of curves only, or of panels if the curves have
    /// none.
    pub fn chosen(&self) -> Vec<&str> {
        let labels = self
            .charts
            .iter()
            .flat_map(|chart| &chart.curves)
            .map(|curve| curve.label.as_str());
        let labels = distinct(labels.filter(|label| !label.is_empty()));
        if labels.is_empty() {
            self.names()
        } else {
            labels
        }
    }

    /// The picture with only the wanted curves (by label) or panels (by title), in its own order.
    ///
    /// **Errors**: the first name that the picture does not have.
    pub fn only(mut self, wanted: &[String]) -> Result<Picture, String> {
        if wanted.is_empty() {
            return Ok(self);
        }
        let names = self.names();
        if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(unknown.clone());
        }
        for chart in self
            .charts
            .iter_mut()
            .filter(|chart| !wanted.contains(&chart.title))
        {
            chart.curves.retain(|curve| wanted.contains(&curve.label));
        }
        self.charts.retain(|chart| !chart.curves.is_empty());
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_axis_that_is_asked_for() {
        let chart = |scale, values: &[f64]| Chart {
            title: "t".into(),
            x_label: String::new(),
            y_label: "regret".into(),
            curves: vec![Curve {
                class: "ink",
                label: String::new(),
                note: String::new(),
                points: values
                    .iter()
                    .enumerate()
                    .map(|(x, y)| Point::bare(x as f64, *y))
                    .collect(),
            }],
            scale,
            y_max: 1.0,
        };
        let picture = |values: &[f64]| Picture {
            name: "x".into(),
            title: String::new(),
            text: String::new(),
            charts: vec![chart(Scale::Linear { from: 0.3 }, values)],
            ruler: None,
        };
        let log = picture(&[1.0, 0.5, 0.0]).scaled(true).unwrap();
        assert_eq!(log.charts[0].scale, Scale::Log { floor: 0.3 });
        assert_eq!(log.charts[0].y_label, "regret, logarithmic");
        // Once is enough, and back again.
        let again = log.scaled(true).unwrap();
        assert_eq!(again.charts[0].y_label, "regret, logarithmic");
        let linear = again.scaled(false).unwrap();
        assert_eq!(
            (linear.charts[0].scale, &*linear.charts[0].y_label),
            (Scale::Linear { from: 0.0 }, "regret")
        );
        assert!(linear.charts[0].y_max >= 1.0);
        assert_eq!(picture(&[0.0, 0.0]).scaled(true).unwrap_err(), "t");
    }

    #[test]
    fn a_picture_is_cut_down_to_curves_or_panels() {
        let curve = |label: &str| Curve {
            class: "ink",
            label: label.into(),
            note: String::new(),
            points: vec![Point::bare(0.0, 1.0)],
        };
        let chart = |title: &str, labels: &[&str]| Chart {
            title: title.into(),
            x_label: String::new(),
            y_label: String::new(),
            curves: labels.iter().map(|label| curve(label)).collect(),
            scale: Scale::Linear { from: 0.0 },
            y_max: 1.0,
        };
        let picture = |charts| Picture {
            name: "x".into(),
            title: String::new(),
            text: String::new(),
            charts,
            ruler: None,
        };
        let only = |picture: Picture, wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            picture.only(&wanted).map(|left| {
                let curves = |chart: &Chart| {
                    chart
                        .curves
                        .iter()
                        .map(|curve| curve.label.clone())
                        .collect::<Vec<_>>()
                };
                left.charts
                    .iter()
                    .flat_map(curves)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        let two = || {
            picture(vec![
                chart("all", &["a", "b", "c"]),
                chart("changed", &["c"]),
            ])
        };
        assert_eq!(two().names(), ["a", "b", "c", "all", "changed"]);
        assert_eq!(only(two(), &["b", "a"]), Ok("a b".to_owned()));
        assert_eq!(only(two(), &["changed", "b"]), Ok("b c".to_owned()));
        assert_eq!(
            (only(two(), &[]), only(two(), &["a", "d"])),
            (Ok("a b c c".to_owned()), Err("d".to_owned()))
        );
    }
}
