//! A chart before it is drawn: curves, a scale, a horizontal axis, the rectangle they are given.

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
        Point { x, y, low: y, high: y }
    }
}

/// One curve of a chart with its band.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Class of colour and dash, one of those in [`super::palette`].
    pub class: &'static str,
    /// What stands at its end.
    pub label: String,
    /// Smaller, after the label.
    pub note: String,
    /// From left to right.
    pub points: Vec<Point>,
}

/// How the vertical axis is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From a value, mostly zero.
    Linear {
        /// The lowest value that is drawn.
        from: f64,
    },
    /// Powers of ten; what is smaller than the floor is drawn on it.
    Log {
        /// The lowest value that is drawn.
        floor: f64,
    },
}

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
    /// Upper end of the vertical axis; to share it between charts.
    pub y_max: f64,
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
    /// Where a value of the horizontal axis stands.
    pub(super) fn place(&self, ruler: &Ruler, x: f64) -> f64 {
        let span = ruler.to - ruler.from;
        self.x + if span > 0.0 { (x - ruler.from) / span } else { 0.5 } * self.width
    }
}

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    /// Value at the left end.
    pub from: f64,
    /// Value at the right end.
    pub to: f64,
    /// Where numbers or names stand below it.
    pub ticks: Vec<(f64, String)>,
    /// Points are marked and have bars of error instead of a band.
    pub marks: bool,
}
