//! Where the parts of a chart stand: every text gets the room that it needs in the widest common
//! font.

use super::advance::{fitted, width, wrapped};
use super::chart::{Chart, Frame, Ruler};

/// A label at a curve's end is cut beyond this.
const LABEL_MAX: f64 = 300.0;
/// A name below the horizontal axis is cut beyond this.
const TICK_MAX: f64 = 150.0;
/// Distance from the right end of the plot to the labels.
pub const LEADER: f64 = 18.0;
/// Gap between a label and its note on the same line.
pub const NOTE_GAP: f64 = 6.0;
/// Distance from a label's baseline to the baseline of a note below it.
pub const NOTE_BELOW: f64 = 16.0;
/// Gap between two lines of an axis' name.
const LINE_GAP: f64 = 4.0;
/// Margin left free at the edges.
const EDGE: f64 = 4.0;

/// Sizes of type in pixels: the largest at which the style sheets may show a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Title of a chart.
    pub panel: f64,
    /// Size of the names of axes, pixels.
    pub axis: f64,
    /// Numbers at axes.
    pub tick: f64,
    /// Names of curves.
    pub label: f64,
    /// Notes beside the names of curves.
    pub note: f64,
}

impl Sizes {
    /// A picture in a file of its own.
    pub const FILE: Sizes = Sizes {
        panel: 14.0,
        axis: 12.0,
        tick: 12.0,
        label: 13.0,
        note: 12.0,
    };
    /// A picture on a page, whose type is larger on a phone.
    pub const PAGE: Sizes = Sizes {
        panel: 14.0,
        axis: 14.0,
        tick: 14.0,
        label: 15.0,
        note: 14.0,
    };
    /// One of several small pictures side by side on a page.
    pub const SMALL: Sizes = Sizes {
        panel: 19.0,
        axis: 17.0,
        tick: 17.0,
        label: 15.0,
        note: 14.0,
    };
}

/// The room that a chart is given; all in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Upper left corner of the chart.
    pub corner: (f64, f64),
    /// Total width wanted; more is taken only if the plot would become too narrow.
    pub width: f64,
    /// Largest width and height of the plot.
    pub plot: (f64, f64),
    /// Least margins: left of the plot, above it with one line of each text, below it.
    pub margins: (f64, f64, f64),
    /// Least margin right of the plot.
    pub right: f64,
    /// Sizes of type in this picture.
    pub sizes: Sizes,
    /// Whether names of curves may stand in a key below the plot where they would take too much
    /// width or height. If so, `width` is kept exactly.
    pub key: bool,
    /// Whether they stand there in any case, as in the panels beside this one.
    pub keyed: bool,
}

/// Names of curves below the plot.
#[derive(Clone, Debug)]
pub struct Key {
    /// Left end of each on its baseline.
    pub places: Vec<(f64, f64)>,
    /// Height of all of it.
    pub height: f64,
}

/// Width of the piece of curve before a name in the key.
pub const KEY_SAMPLE: f64 = 30.0;
/// Height from one row of the key to the next.
const KEY_ROW: f64 = 18.0;
/// Share of the width that the plot keeps where names stand beside it.
const PLOT_LEAST: f64 = 0.52;

/// A chart's texts, broken into lines, and their places.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Frame of the plot, pixels.
    pub frame: Frame,
    /// Upper left corner of everything.
    pub corner: (f64, f64),
    /// Width of everything.
    pub width: f64,
    /// Height of everything.
    pub height: f64,
    /// Whether notes stand below their labels.
    pub stacked: bool,
    /// The key, if names of curves do not stand at the curves' ends.
    pub key: Option<Key>,
    /// Lines of the title.
    pub title: Vec<String>,
    /// Name of the vertical axis.
    pub y_label: Vec<String>,
    /// Name of the horizontal axis.
    pub x_label: Vec<String>,
    /// Right end of that name, anchored there.
    pub x_label_end: f64,
    /// Places and texts below the horizontal axis, centred, and on which of two lines.
    pub x_ticks: Vec<(f64, String, usize)>,
    /// Name and note of each curve.
    pub labels: Vec<(String, String)>,
    /// Height of a line of an axis' name.
    pub line: f64,
    /// How much lower the name of the horizontal axis stands because of a second line of names.
    pub below_ticks: f64,
    /// Height of a number at an axis.
    pub tick: f64,
}

impl Layout {
    /// Lays out a chart over a horizontal axis.
    pub fn of(chart: &Chart, ruler: &Ruler, room: &Room) -> Layout {
        let sizes = &room.sizes;
        let ticks = chart.y_ticks();
        let tick = widest(ticks.iter().map(|(_, text)| width(text, sizes.tick, false)));
        let left = room.margins.0.max(tick + 7.0 + EDGE);
        let names: Vec<(f64, String)> = ruler
            .ticks
            .iter()
            .map(|(x, text)| (*x, fitted(text, sizes.tick, false, TICK_MAX)))
            .collect();
        let half = names
            .last()
            .map_or(0.0, |(_, text)| 0.5 * width(text, sizes.tick, false));

        let labels = labels(chart, room);
        let sides: Vec<(f64, f64)> = labels.iter().map(|label| sides(label, sizes)).collect();
        let wholes: Vec<f64> = sides
            .iter()
            .map(|(a, b)| if *b > 0.0 { a + NOTE_GAP + b } else { *a })
            .collect();
        let beside = widest(wholes.iter().copied());
        let below = widest(sides.iter().map(|(a, b)| a.max(*b)));
        let (room_for, most) = if room.key {
            (room.width * (1.0 - PLOT_LEAST), room.width)
        } else {
            (room.width - room.plot.0, room.plot.0)
        };
        let stacked = left + right_of_plot(beside) > room_for
            && below < beside
            && room.holds(labels.len(), NOTE_BELOW + 19.0);
        let beside_plot = right_of_plot(if stacked { below } else { beside });
        let in_key = room.key
            && (room.keyed || left + beside_plot > room_for || !room.holds(labels.len(), 18.0))
            && beside > 0.0;
        let right = if in_key { 0.0 } else { beside_plot }
            .max(half + EDGE)
            .max(room.right);
        let least = if room.key { 0.0 } else { 0.72 * most };
        let plot = (room.width - left - right).clamp(least, most);
        let total = room.width.max(left + plot + right);

        let y_label = wrapped(&chart.y_label, sizes.axis, false, total - left - EDGE);
        let title = wrapped(&chart.title, sizes.panel, true, total - left - EDGE);
        let x_label = wrapped(&chart.x_label, sizes.axis, false, total - 2.0 * EDGE);
        let line = sizes.axis + LINE_GAP;
        let top = room.margins.1 + extra(&title, sizes.panel + LINE_GAP) + extra(&y_label, line);
        let frame = Frame {
            x: room.corner.0 + left,
            y: room.corner.1 + top,
            width: plot,
            height: room.plot.1,
        };
        let long = widest(x_label.iter().map(|text| width(text, sizes.axis, false)));
        let edges = (room.corner.0, room.corner.0 + total);
        let x_ticks = spaced(&names, &frame, ruler, edges, sizes.tick);
        let below_ticks = if x_ticks.iter().any(|tick| tick.2 > 0) {
            sizes.tick + LINE_GAP
        } else {
            0.0
        };
        let bottom = top + room.plot.1 + room.margins.2 + extra(&x_label, line) + below_ticks;
        let key = in_key.then(|| key(room, bottom, &wholes));
        Layout {
            x_label_end: (frame.x + plot).max(room.corner.0 + EDGE + long),
            x_ticks,
            height: bottom + key.as_ref().map_or(0.0, |key| key.height),
            stacked: stacked && key.is_none(),
            key,
            below_ticks,
            frame,
            corner: room.corner,
            width: total,
            title,
            y_label,
            x_label,
            labels,
            line,
            tick: sizes.tick,
        }
    }

    /// Margin left of the plot.
    fn left(&self) -> f64 {
        self.frame.x - self.corner.0
    }

    /// Margin right of the plot.
    fn right(&self) -> f64 {
        self.corner.0 + self.width - self.frame.x - self.frame.width
    }

    /// Margin above the plot.
    fn above(&self) -> f64 {
        self.frame.y - self.corner.1
    }
}

impl Room {
    /// Whether the plot is high enough for lines of this height beside it.
    fn holds(&self, lines: usize, line: f64) -> bool {
        lines as f64 * line <= self.plot.1 + 20.0
    }
}

/// The largest of these widths.
fn widest(widths: impl Iterator<Item = f64>) -> f64 {
    widths.fold(0.0, f64::max)
}

/// Widths of a curve's name and of its note, which may be empty.
fn sides((label, note): &(String, String), sizes: &Sizes) -> (f64, f64) {
    let note = if note.is_empty() {
        0.0
    } else {
        width(note, sizes.note, false)
    };
    (width(label, sizes.label, true), note)
}

/// Room right of the plot for texts of this width; none for none.
fn right_of_plot(text: f64) -> f64 {
    if text > 0.0 {
        LEADER + text + EDGE
    } else {
        0.0
    }
}

/// Height of all lines of a text but the first.
fn extra(lines: &[String], line: f64) -> f64 {
    (lines.len() - 1) as f64 * line
}

/// The layouts of panels in their rooms.
fn laid_out(panels: &[(&Chart, &Ruler)], rooms: &[Room]) -> Vec<Layout> {
    panels
        .iter()
        .zip(rooms)
        .map(|((chart, ruler), room)| Layout::of(chart, ruler, room))
        .collect()
}

/// The rooms of panels that stand row by row in `columns` columns, with margins such that plots of
/// one column begin and end at the same places, plots of one row stand at the same height, and
/// either all panels have a key or none.
pub fn aligned(panels: &[(&Chart, &Ruler)], mut rooms: Vec<Room>, columns: usize) -> Vec<Room> {
    if laid_out(panels, &rooms)
        .iter()
        .any(|layout| layout.key.is_some())
    {
        rooms.iter_mut().for_each(|room| room.keyed = true);
    }
    let found = laid_out(panels, &rooms);
    for column in 0..columns.min(rooms.len()) {
        let own = found.iter().skip(column).step_by(columns);
        let left = widest(own.clone().map(Layout::left));
        let right = widest(own.clone().map(Layout::right));
        if own.count() > 1 {
            rooms
                .iter_mut()
                .skip(column)
                .step_by(columns)
                .for_each(|room| (room.margins.0, room.right) = (left, right));
        }
    }
    // Texts above the plot are broken to the width that is left.
    let found = laid_out(panels, &rooms);
    for (rooms, found) in rooms.chunks_mut(columns).zip(found.chunks(columns)) {
        let most = found.iter().map(Layout::above).fold(0.0, f64::max);
        rooms
            .iter_mut()
            .zip(found)
            .for_each(|(room, layout)| room.margins.1 += most - layout.above());
    }
    rooms
}

/// Names and notes of curves, cut where the picture has no room for them.
fn labels(chart: &Chart, room: &Room) -> Vec<(String, String)> {
    let sizes = &room.sizes;
    let most = if room.key {
        (room.width - KEY_SAMPLE - 2.0 * EDGE).min(LABEL_MAX)
    } else {
        LABEL_MAX
    };
    let mut cut = Vec::new();
    for curve in &chart.curves {
        let label = fitted(&curve.label, sizes.label, true, most);
        // In a key both stand on one line.
        let left = if room.key {
            most - width(&label, sizes.label, true) - NOTE_GAP
        } else {
            most
        };
        let note = if curve.note.is_empty() || left < 20.0 {
            ""
        } else {
            &curve.note
        };
        cut.push((label, fitted(note, sizes.note, false, left.max(0.0))));
    }
    cut
}

/// The key for names of these widths, below `bottom`: in columns if two fit side by side, else one
/// after the other.
fn key(room: &Room, bottom: f64, widths: &[f64]) -> Key {
    const BETWEEN: f64 = 14.0;
    let left = room.corner.0 + EDGE;
    let right = room.corner.0 + room.width - EDGE;
    let widest = KEY_SAMPLE + widths.iter().copied().fold(0.0, f64::max);
    let aligned = left + 2.0 * widest + BETWEEN <= right;
    let mut x = left;
    let mut row = 0;
    let mut places = Vec::new();
    for width in widths {
        let own = if aligned { widest } else { KEY_SAMPLE + width };
        if x > left && x + own > right {
            (x, row) = (left, row + 1);
        }
        places.push((
            x,
            room.corner.1 + bottom + 0.6 * KEY_ROW + f64::from(row) * KEY_ROW,
        ));
        x += own + BETWEEN;
    }
    Key {
        places,
        height: f64::from(row + 1) * KEY_ROW,
    }
}

/// Texts below the axis, moved inside the picture. A number that would touch the text before it is
/// left out; a name is first tried on a second line.
fn spaced(
    names: &[(f64, String)],
    frame: &Frame,
    ruler: &Ruler,
    edges: (f64, f64),
    size: f64,
) -> Vec<(f64, String, usize)> {
    let mut kept = Vec::new();
    let mut ends = [f64::NEG_INFINITY; 2];
    for (x, text) in names {
        let half = 0.5 * width(text, size, false);
        let place = frame
            .place(ruler, *x)
            .max(edges.0 + half + 1.0)
            .min(edges.1 - half - 1.0);
        let lines = if text.parse::<f64>().is_ok() { 1 } else { 2 };
        if let Some(free) = (0..lines).find(|free| place - half > ends[*free]) {
            ends[free] = place + half + 4.0;
            kept.push((place, text.clone(), free));
        }
    }
    kept
}
