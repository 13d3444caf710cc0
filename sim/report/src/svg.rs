//! A small chart: axes, curves with bands, labels at the curves' ends that do not overlap.
//!
//! Written here because the plotting crates at hand name curves in a legend box and fix their
//! colours when they draw; a figure that is read on a phone or by a colour-blind person wants the
//! name beside the curve, and one that is part of a page wants the page's light or dark. Curves
//! therefore carry classes, and one style sheet colours them.

use std::fmt::Write as _;

use super::advance::width;
pub use super::chart::{Chart, Curve, Frame, Point, Points, Ruler, Scale};
use super::layout::{KEY_SAMPLE, Key, LEADER, Layout, NOTE_BELOW, NOTE_GAP};
use super::names::{Dot, beside};

/// From the dot of one curve to that of the next at the same place.
const BESIDE: f64 = 2.5;
/// The largest size at which names of curves are shown.
const NAME_SIZE: f64 = 15.0;

/// Text with XML's special characters escaped.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A dot and a bar for every point, beside those of the other curves.
fn marks(
    out: &mut String,
    curve: &Curve,
    place: f64,
    px: &impl Fn(f64) -> f64,
    py: &impl Fn(f64) -> f64,
) {
    for point in &curve.points {
        let x = px(point.x) + BESIDE * place;
        let class = curve.class;
        if point.low < point.high {
            let _ = writeln!(
                out,
                r#"<path class="leader {class}" style="stroke-width:2" d="M{x:.1} {:.1}V{:.1}"/>"#,
                py(point.low),
                py(point.high)
            );
        }
        dot(out, class, x, py(point.y));
    }
}

fn dot(out: &mut String, class: &str, x: f64, y: f64) {
    let _ = writeln!(
        out,
        r#"<circle class="band {class}" style="fill-opacity:1" cx="{x:.1}" cy="{y:.1}" r="3.2"/>"#
    );
}

impl Chart {
    fn fraction(&self, y: f64) -> f64 {
        match self.scale {
            Scale::Linear { from } => ((y - from) / (self.y_max - from)).clamp(0.0, 1.0),
            Scale::Log { floor } => {
                ((y.max(floor) / floor).ln() / (self.y_max / floor).ln()).clamp(0.0, 1.0)
            }
        }
    }

    /// The axis from 0 to the last point of any curve.
    pub fn ruler(&self) -> Ruler {
        let x_max = self
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.x)
            .fold(1.0, f64::max);
        // There is no half of a round.
        let whole = self
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .all(|point| point.x.fract() == 0.0);
        let ticks = ticks(0.0, x_max, 5)
            .into_iter()
            .filter(|x| !whole || x.fract() == 0.0);
        let ticks = ticks.map(|x| (x, plain(x))).collect();
        Ruler {
            from: 0.0,
            to: x_max,
            ticks,
            points: Points::Band,
        }
    }

    /// The chart as a group of elements, over a horizontal axis; every text stands where `layout`
    /// has room for it.
    pub fn draw(&self, layout: &Layout, ruler: &Ruler) -> String {
        format!(
            "<g>\n{}{}</g>\n",
            self.axes(layout),
            self.curves(layout, ruler)
        )
    }

    /// Axes, their numbers and names, without the title.
    pub(super) fn axes(&self, layout: &Layout) -> String {
        let frame = layout.frame;
        let left = frame.x;
        let right = frame.x + frame.width;
        let bottom = frame.y + frame.height;
        let mut out = String::new();
        let mut before = f64::INFINITY;
        let mut grid = String::new();
        above(
            &mut out,
            "axis",
            (left, frame.y - 8.0),
            layout.line,
            &layout.y_label,
        );
        for (i, text) in layout.x_label.iter().enumerate() {
            let y = bottom + 36.0 + layout.below_ticks + i as f64 * layout.line;
            line(&mut out, "axis", layout.x_label_end, y, "end", text);
        }
        for (y, text) in self.y_ticks() {
            let y = self.place(&frame, y);
            if y < bottom - 0.5 {
                let _ = write!(grid, "M{left:.1} {y:.1}H{right:.1}");
            }
            // A number that would lie on the one below it is left out.
            if before - y >= layout.tick {
                line(&mut out, "tick", left - 7.0, y + 4.0, "end", &text);
                before = y;
            }
        }
        let _ = writeln!(out, r#"<path class="grid" d="{grid}"/>"#);
        let _ = writeln!(
            out,
            r#"<path class="base" d="M{left:.1} {bottom:.1}H{right:.1}"/>"#
        );
        for (x, text, below) in &layout.x_ticks {
            line(
                &mut out,
                "tick",
                *x,
                bottom + 18.0 + *below as f64 * layout.below_ticks,
                "middle",
                text,
            );
        }
        out
    }

    /// Title, bands, lines, and the names of curves.
    pub(super) fn curves(&self, layout: &Layout, ruler: &Ruler) -> String {
        let frame = layout.frame;
        let (px, py) = (
            |x: f64| frame.place(ruler, x),
            |y: f64| self.place(&frame, y),
        );
        let mut out = String::new();
        let second = (layout.y_label.len() - 1) as f64 * layout.line;
        above(
            &mut out,
            "panel",
            (frame.x, frame.y - 26.0 - second),
            layout.line + 2.0,
            &layout.title,
        );
        for (place, curve) in self.curves.iter().enumerate() {
            if ruler.points != Points::Band {
                marks(
                    &mut out,
                    curve,
                    place as f64 - 0.5 * (self.curves.len() as f64 - 1.0),
                    &px,
                    &py,
                );
            } else {
                self.band(&mut out, curve, &px, &py);
            }
        }
        let joined = if ruler.points == Points::Apart {
            &[][..]
        } else {
            &self.curves
        };
        for (curve, last) in joined.iter().zip((0..self.curves.len()).rev()) {
            let main = if last == 0 { " main" } else { "" };
            let _ = writeln!(
                out,
                r#"<path class="line {}{main}" d="{}"/>"#,
                curve.class,
                path(curve.points.iter().map(|point| (px(point.x), py(point.y))))
            );
        }
        match &layout.key {
            Some(key) => {
                self.key(&mut out, layout, key, ruler.points != Points::Band);
                self.names_at_dots(&mut out, layout, ruler, (&px, &py));
            }
            None => self.labels(&mut out, layout, &py),
        }
        out
    }

    /// Names below the plot, each after a piece of its curve.
    fn key(&self, out: &mut String, layout: &Layout, key: &Key, marks: bool) {
        for ((curve, (label, note)), (x, y)) in
            self.curves.iter().zip(&layout.labels).zip(&key.places)
        {
            let class = curve.class;
            let _ = writeln!(
                out,
                r#"<path class="line {class}" d="M{x:.1} {:.1}h22"/>"#,
                y - 4.5
            );
            if marks {
                dot(out, class, x + 11.0, y - 4.5);
            }
            let _ = writeln!(
                out,
                r#"<text class="label {class}" x="{:.1}" y="{y:.1}">{}<tspan class="note" dx="{NOTE_GAP}">{}</tspan></text>"#,
                x + KEY_SAMPLE,
                escape(label),
                escape(note)
            );
        }
    }

    /// Where all names stand in a key and dots have no curve, a name beside each dot: colours alone
    /// tell nobody apart. Names go where no dot, bar or other name is, with a leader if that is
    /// further up or down. Where they do not all find a place there is none, and the key remains.
    fn names_at_dots(
        &self,
        out: &mut String,
        layout: &Layout,
        ruler: &Ruler,
        (px, py): (&impl Fn(f64) -> f64, &impl Fn(f64) -> f64),
    ) {
        let frame = &layout.frame;
        if ruler.points == Points::Band
            || self.curves.len() < 2
            || self.curves.iter().any(|curve| curve.points.len() > 2)
        {
            return;
        }
        let middle = 0.5 * (self.curves.len() as f64 - 1.0);
        let mut dots = Vec::new();
        for (place, (curve, (label, _))) in self.curves.iter().zip(&layout.labels).enumerate() {
            let Some(point) = curve.points.last() else {
                return;
            };
            let x = px(point.x) + BESIDE * (place as f64 - middle);
            let long = width(label, NAME_SIZE, true);
            dots.push(Dot {
                x,
                y: py(point.y),
                high: py(point.high),
                low: py(point.low),
                long,
            });
        }
        let room = [
            frame.x,
            frame.x + frame.width,
            frame.y,
            frame.y + frame.height,
        ];
        let Some(names) = beside(&dots, room) else {
            return;
        };
        for (((curve, (label, _)), dot), name) in
            self.curves.iter().zip(&layout.labels).zip(&dots).zip(names)
        {
            let (class, anchor, air) = if name.ends {
                (curve.class, "end", 2.0)
            } else {
                (curve.class, "start", -2.0)
            };
            if (name.y - dot.y).abs() > 3.0 {
                let x = dot.x;
                let y = dot.y;
                let to = name.x + air;
                let _ = writeln!(
                    out,
                    r#"<path class="leader {class}" d="M{x:.1} {y:.1}L{to:.1} {:.1}"/>"#,
                    name.y
                );
            }
            line(
                out,
                &format!("label {class}"),
                name.x,
                name.y + 4.5,
                anchor,
                label,
            );
        }
    }

    fn place(&self, frame: &Frame, y: f64) -> f64 {
        frame.y + frame.height * (1.0 - self.fraction(y))
    }

    fn band(
        &self,
        out: &mut String,
        curve: &Curve,
        px: &impl Fn(f64) -> f64,
        py: &impl Fn(f64) -> f64,
    ) {
        if curve.points.iter().all(|point| point.low == point.high) {
            return;
        }
        let upper = curve
            .points
            .iter()
            .map(|point| (px(point.x), py(point.high)));
        let lower = curve
            .points
            .iter()
            .rev()
            .map(|point| (px(point.x), py(point.low)));
        let _ = writeln!(
            out,
            r#"<path class="band {}" d="{}Z"/>"#,
            curve.class,
            path(upper.chain(lower))
        );
    }

    /// Names at the curves' ends, pushed apart, with a thin leader each.
    fn labels(&self, out: &mut String, layout: &Layout, py: &impl Fn(f64) -> f64) {
        let frame = &layout.frame;
        let right = frame.x + frame.width;
        let bottom = frame.y + frame.height;
        // A label with its note below it is two lines, the middle of which is its place.
        let (gap, up) = if layout.stacked {
            (NOTE_BELOW + 19.0, 0.5 * NOTE_BELOW)
        } else {
            (18.0, 0.0)
        };
        let mut ends: Vec<(f64, &Curve, &(String, String))> = self
            .curves
            .iter()
            .zip(&layout.labels)
            .filter(|(_, (label, note))| !label.is_empty() || !note.is_empty())
            .filter_map(|(curve, label)| curve.points.last().map(|end| (py(end.y), curve, label)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wishes: Vec<f64> = ends.iter().map(|end| end.0).collect();
        let places = spread(&wishes, gap, frame.y + 3.0 + up, bottom + 2.0 - up);
        for ((end, curve, (label, note)), place) in ends.iter().zip(&places) {
            let class = curve.class;
            let _ = writeln!(
                out,
                r#"<path class="leader {class}" d="M{:.1} {end:.1}L{:.1} {place:.1}"/>"#,
                right + 2.0,
                right + 14.0,
            );
            let x = right + LEADER;
            let beside = if layout.stacked && !note.is_empty() {
                format!(r#"x="{x:.1}" dy="{NOTE_BELOW}""#)
            } else {
                format!(r#"dx="{NOTE_GAP}""#)
            };
            let up = if note.is_empty() { 0.0 } else { up };
            let _ = writeln!(
                out,
                r#"<text class="label {class}" x="{x:.1}" y="{:.1}">{}<tspan class="note" {beside}>{}</tspan></text>"#,
                place + 4.5 - up,
                escape(label),
                escape(note)
            );
        }
    }

    /// Where numbers stand beside the vertical axis.
    pub(super) fn y_ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear { from } => ticks(from, self.y_max, 5)
                .into_iter()
                .map(|y| (y, plain(y)))
                .collect(),
            Scale::Log { floor } => {
                let mut ticks = Vec::new();
                let mut y = 10f64.powf(floor.log10().ceil());
                while y <= self.y_max * 1.0001 {
                    ticks.push((y, plain(y)));
                    y *= 10.0;
                }
                // What lies on the floor may be anything below it, zero included.
                if self
                    .curves
                    .iter()
                    .flat_map(|curve| &curve.points)
                    .any(|point| point.y < floor)
                {
                    ticks.retain(|(y, _)| *y > 1.5 * floor);
                    ticks.insert(
                        0,
                        (
                            floor,
                            format!("≤ {}", sordino_experiment::text::significant(floor, 1)),
                        ),
                    );
                }
                ticks
            }
        }
    }
}

/// Round numbers from `low` to `high`, at most about `count` steps.
pub fn ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![low];
    }
    let raw = span / f64::from(count);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= raw)
        .unwrap_or(raw);
    let first = (low / step - 1e-9).ceil();
    (0..=count)
        .map(|i| (first + f64::from(i)) * step)
        .filter(|tick| *tick <= high + 1e-9 * span)
        .collect()
}

/// Numbers that are one of `steps` times a power of ten, from `low` > 0 to `high`, ascending.
pub(crate) fn powers(low: f64, high: f64, steps: &[f64]) -> Vec<f64> {
    let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    powers
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|x| (low * 0.999..=high * 1.001).contains(x))
        .collect()
}

/// Round numbers for a logarithmic axis from `low` > 0 to `high`, at most about `count` steps: 1, 2
/// and 5 times powers of ten, or these powers, or every so many of them; [`ticks`] where the axis
/// is too short for two such numbers.
pub fn log_ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let most = count as usize + 1;
    let fine = powers(low, high, &[1.0, 2.0, 5.0]);
    let coarse = powers(low, high, &[1.0]);
    match (fine.len(), coarse.len()) {
        (..2, _) => ticks(low, high, count),
        (found, _) if found <= most => fine,
        (_, found) => {
            let every = found.div_ceil(most);
            coarse.into_iter().step_by(every).collect()
        }
    }
}

/// Places near the wishes (ascending), at least `gap` apart, from `least` up to `limit` if there is
/// room for all: neighbours that would overlap form a block around their mean wish.
fn spread(wishes: &[f64], gap: f64, least: f64, limit: f64) -> Vec<f64> {
    // (sum of the wishes of the block's first line, lines)
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let start = |block: &(f64, usize)| {
        let lines = block.1 as f64;
        (block.0 / lines)
            .min(limit - (lines - 1.0) * gap)
            .max(least)
    };
    for wish in wishes {
        blocks.push((*wish, 1));
        while let [.., before, last] = blocks.as_slice() {
            if start(before) + before.1 as f64 * gap <= start(last) {
                break;
            }
            // The last block's lines wish the first one that much higher.
            let merged = (
                before.0 + last.0 - last.1 as f64 * before.1 as f64 * gap,
                before.1 + last.1,
            );
            blocks.truncate(blocks.len() - 2);
            blocks.push(merged);
        }
    }
    blocks
        .iter()
        .flat_map(|block| (0..block.1).map(|line| start(block) + line as f64 * gap))
        .collect()
}

/// A tick's number without binary rounding errors; with an exponent below a hundred-thousandth.
pub fn plain(x: f64) -> String {
    if x != 0.0 && x.abs() < 0.99e-5 {
        let rounded = format!("{x:.9e}").parse::<f64>();
        return format!("{:e}", rounded.unwrap_or(x));
    }
    let rounded = (x * 1e6).round() / 1e6;
    format!("{rounded}")
}

/// A line through points, to a tenth of a pixel. After the first point it has steps from one
/// rounded point to the next, without optional separators: half as long as absolute points, and
/// nothing drifts.
fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    let mut at = [0, 0];
    for (i, (x, y)) in points.enumerate() {
        let to = [x, y].map(|x| (x * 10.0).round() as i64);
        d.push_str(["M", "l", ""][i.min(2)]);
        for (axis, (from, to)) in at.iter().zip(to).enumerate() {
            let number = tenths(to - from);
            if (axis == 1 || i > 1) && !number.starts_with('-') {
                d.push(' ');
            }
            d.push_str(&number);
        }
        at = to;
    }
    d
}

fn tenths(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    let n = n.unsigned_abs();
    match (n / 10, n % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// Lines of text above one another, the last at `at`.
fn above(out: &mut String, class: &str, at: (f64, f64), step: f64, lines: &[String]) {
    for (text, back) in lines
        .iter()
        .zip((0..lines.len()).rev())
        .filter(|(text, _)| !text.is_empty())
    {
        line(out, class, at.0, at.1 - back as f64 * step, "start", text);
    }
}

/// One line of text.
pub fn line(out: &mut String, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
    let anchor = if anchor == "start" {
        String::new()
    } else {
        format!(r#" text-anchor="{anchor}""#)
    };
    let _ = writeln!(
        out,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}"{anchor}>{}</text>"#,
        escape(text)
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_steps_between_rounded_points() {
        assert_eq!(super::path([].into_iter()), "");
        let points = [
            (60.04, 148.5),
            (69.26, 149.94),
            (78.0, 149.96),
            (77.5, -0.25),
            (77.52, -0.25),
        ];
        // 60, 148.5; 69.3, 149.9; 78, 150; 77.5, −0.3.
        assert_eq!(
            super::path(points.into_iter()),
            "M60 148.5l9.3 1.4 8.7 .1-.5-150.3 0 0"
        );
    }

    use super::super::layout::{Room, Sizes};
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 40.0, 5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks(0.0, 0.9, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8]);
        assert_eq!(
            ticks(0.21, 0.33, 5),
            [0.225, 0.25, 0.275, 0.30000000000000004, 0.325]
        );
        assert_eq!(ticks(0.0, f64::NAN, 5), [0.0]);
        assert_eq!(plain(0.6000000000000001), "0.6");
        let chart = |last: f64| {
            let points = vec![Point::bare(0.0, 1.0), Point::bare(last, 1.0)];
            let curve = Curve {
                class: "ink",
                label: String::new(),
                note: String::new(),
                points,
            };
            let scale = Scale::Linear { from: 0.0 };
            let title = String::new();
            Chart {
                title,
                x_label: String::new(),
                y_label: String::new(),
                curves: vec![curve],
                scale,
                y_max: 1.0,
            }
        };
        let shown = |last| {
            chart(last)
                .ruler()
                .ticks
                .into_iter()
                .map(|(_, text)| text)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(12.0), ["0", "5", "10"], "rounds are whole");
        assert_eq!(shown(12.5), ["0", "2.5", "5", "7.5", "10", "12.5"]);
    }

    #[test]
    fn crowded_labels_gather_around_their_wish() {
        assert_eq!(
            spread(&[10.0, 50.0, 51.0, 52.0], 10.0, 0.0, 100.0),
            [10.0, 41.0, 51.0, 61.0]
        );
        assert_eq!(spread(&[98.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert_eq!(
            spread(&[1.0, 2.0, 3.0], 10.0, 0.0, 100.0),
            [0.0, 10.0, 20.0]
        );
        assert_eq!(
            spread(&[50.0, 50.0, 50.0], 40.0, 0.0, 60.0),
            [0.0, 40.0, 80.0]
        );
        assert!(spread(&[], 10.0, 0.0, 100.0).is_empty());
    }

    /// In the width of a column names stand in a key, and colours alone told dots apart.
    #[test]
    fn dots_have_their_names_beside_them_where_names_stand_in_a_key() {
        let drawn = |points: &[f64]| {
            let curve = |(place, label): (usize, &str)| Curve {
                class: "ink",
                label: label.into(),
                note: "ε 0.84".into(),
                points: points
                    .iter()
                    .map(|x| Point::bare(place as f64 + x, 1.0 + 0.01 * place as f64))
                    .collect(),
            };
            let curves: Vec<Curve> = ["random", "ts", "dp-prior", "dp-fts-de"]
                .into_iter()
                .enumerate()
                .map(curve)
                .collect();
            let scale = Scale::Linear { from: 0.0 };
            let y_max = 2.0;
            let chart = Chart {
                title: String::new(),
                x_label: String::new(),
                y_label: String::new(),
                curves,
                scale,
                y_max,
            };
            let room = Room {
                corner: (0.0, 0.0),
                width: 300.0,
                plot: (300.0, 160.0),
                margins: (50.0, 46.0, 46.0),
                right: 0.0,
                sizes: Sizes::FILE,
                key: true,
                keyed: true,
            };
            let ruler = Ruler {
                from: -0.5,
                to: 3.5,
                ticks: Vec::new(),
                points: Points::Joined,
            };
            let layout = Layout::of(&chart, &ruler, &room);
            (chart.draw(&layout, &ruler), layout.frame)
        };
        let (svg, frame) = drawn(&[0.0]);
        let number = |line: &str, name: &str| -> f64 {
            line.split(&format!(" {name}=\""))
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        for label in ["random", "ts", "dp-prior", "dp-fts-de"] {
            let named: Vec<&str> = svg
                .lines()
                .filter(|line| line.ends_with(&format!(">{label}</text>")))
                .collect();
            let [name] = named[..] else {
                panic!("{label}: {named:?}")
            };
            let x = number(name, "x");
            let long = width(label, 13.0, true);
            let (from, to) = if name.contains("anchor=\"end\"") {
                (x - long, x)
            } else {
                (x, x + long)
            };
            assert!(
                from >= frame.x - 4.0 && to <= frame.x + frame.width + 4.0,
                "{name}"
            );
        }
        // Negative control: curves have names in the key alone.
        assert!(!drawn(&[0.0, 0.1, 0.2]).0.contains(">dp-prior</text>"));
    }

    #[test]
    fn labels_keep_their_distance_and_text_is_escaped() {
        let curve = |label: &str| Curve {
            class: "ts",
            label: label.into(),
            note: String::new(),
            points: vec![Point::bare(0.0, 1.0), Point::bare(1.0, 0.0)],
        };
        let chart = Chart {
            title: "a < b".into(),
            x_label: String::new(),
            y_label: String::new(),
            curves: vec![curve("one"), curve("two"), curve("three")],
            scale: Scale::Linear { from: 0.0 },
            y_max: 1.0,
        };
        let sizes = Sizes::FILE;
        let room = Room {
            corner: (0.0, 0.0),
            width: 200.0,
            plot: (100.0, 100.0),
            margins: (50.0, 46.0, 46.0),
            right: 0.0,
            sizes,
            key: false,
            keyed: false,
        };
        let ruler = chart.ruler();
        let svg = chart.draw(&Layout::of(&chart, &ruler, &room), &ruler);
        assert!(svg.contains("a &lt; b"));
        let mut places: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("class=\"label"))
            .map(|line| {
                line.split("y=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        places.sort_by(f64::total_cmp);
        assert!(
            places.windows(2).all(|pair| pair[1] - pair[0] >= 17.9),
            "{places:?}"
        );
    }
}
