//! The charts of the report page beyond the regret curves.

use std::fmt::Write as _;

use sordino_experiment::metrics::{
    MethodStatistics, SMALL_DELTA, Statistics, half_width, loss_curve,
};
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{Guarantee, Scenario};
use sordino_experiment::text::significant;
use sordino_experiment::world::fault::FaultCounts;

use super::layout::{Layout, Room, Sizes};
use super::parts::from_zero;
use super::svg::{Chart, Curve, Point, Ruler, escape, line};
use super::{advance, figure, palette};

/// Number of release counts at which the second loss curve is computed: a millisecond each.
const SMALL_POINTS: u32 = 16;

/// One chart as an element of a page, over the given horizontal axis or its own; `labels` is the
/// room wanted to the right of the plot, which becomes narrower if the labels need more.
pub fn element(chart: &Chart, ruler: Option<&Ruler>, plot: (f64, f64), labels: f64) -> String {
    let ruler = ruler.cloned().unwrap_or_else(|| chart.ruler());
    let layout = Layout::of(chart, &ruler, &room(plot, labels, Sizes::PAGE));
    framed(chart, &layout, &chart.draw(&layout, &ruler))
}

/// Small charts side by side, in larger type; axes equal to those of the first chart are drawn only
/// once in the page.
pub fn small(charts: &[Chart], plot: (f64, f64), labels: f64) -> String {
    const FIRST: &str = "<use href=\"#axes\"/>\n";
    let mut out = String::new();
    let mut first = None;
    for chart in charts {
        let ruler = chart.ruler();
        let layout = Layout::of(chart, &ruler, &room(plot, labels, Sizes::SMALL));
        let own = chart.axes(&layout);
        let axes = match &first {
            None => format!("<g id=\"axes\">\n{own}</g>\n"),
            Some(known) if *known == own => FIRST.to_owned(),
            Some(_) => own.clone(),
        };
        first.get_or_insert(own);
        let _ = writeln!(
            out,
            "<figure>{}</figure>",
            framed(chart, &layout, &(axes + &chart.curves(&layout, &ruler)))
        );
    }
    out
}

fn room(plot: (f64, f64), labels: f64, sizes: Sizes) -> Room {
    Room {
        corner: (0.0, 0.0),
        width: 56.0 + plot.0 + labels,
        plot,
        margins: (50.0, 46.0, 46.0),
        right: 0.0,
        sizes,
        key: false,
        keyed: false,
    }
}

fn framed(chart: &Chart, layout: &Layout, drawn: &str) -> String {
    let width = layout.width.ceil();
    let height = layout.height.ceil();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{drawn}</svg>\n",
        escape(&chart.title)
    )
}

/// The tight ε over releases, at the scenario's δ and at [`SMALL_DELTA`]. `None` if nothing private
/// was released.
pub fn losses(scenario: &Scenario, statistics: &Statistics) -> Option<Chart> {
    let delta = scenario.privacy.delta;
    let mut curves = Vec::new();
    for paid in statistics.paid.iter().filter(|paid| paid.losses.len() > 1) {
        let method = paid.main()?;
        let releases = paid.losses.last().map(|(count, _)| *count)?;
        if curves.is_empty() && method.samples() && delta != SMALL_DELTA {
            // An error would have stopped who asked for the same at the scenario's δ.
            let event = scenario.of(method).privacy.event();
            let small = loss_curve(&event, releases, SMALL_DELTA, SMALL_POINTS).ok()?;
            curves = vec![
                over_releases("fern", &small, SMALL_DELTA),
                over_releases("green", &paid.losses, delta),
            ];
        } else {
            let more = over_releases(palette::of(method), &paid.losses, delta);
            curves.push(Curve {
                label: method.name().to_owned(),
                ..more
            });
        }
    }
    if curves.is_empty() {
        return None;
    }
    Some(from_zero(
        "Privacy loss",
        "releases",
        "ε, zero-out",
        curves,
        f64::MIN_POSITIVE,
    ))
}

/// The curve of ε over the number of releases, with the name of its δ.
fn over_releases(class: &'static str, losses: &[(u32, Option<f64>)], delta: f64) -> Curve {
    let points = losses
        .iter()
        .filter_map(|(count, epsilon)| epsilon.map(|y| Point::bare(f64::from(*count), y)));
    let last = losses.last().and_then(|(_, epsilon)| *epsilon);
    Curve {
        class,
        label: format!("δ {}", significant(delta, 2)),
        note: figure::epsilon(last),
        points: points.collect(),
    }
}

/// One small chart for each method: the median over agents, and the range from the 10 % to the 90 %
/// quantile.
pub fn spreads(statistics: &Statistics, regret_name: &str) -> Vec<Chart> {
    let kept = statistics
        .methods
        .iter()
        .filter(|method| !method.spread.is_empty());
    let all = kept.clone().flat_map(|method| &method.spread);
    let (scale, y_max, _) = figure::scale(
        all.clone()
            .flat_map(|(_, three)| three)
            .copied()
            .filter(|x| *x > 0.0),
        all.map(|(_, three)| three[2])
            .fold(f64::MIN_POSITIVE, f64::max),
    );
    kept.map(|method| Chart {
        title: method.method.name().into(),
        x_label: "round".into(),
        y_label: regret_name.into(),
        curves: vec![Curve {
            class: palette::of(method.method),
            label: String::new(),
            note: String::new(),
            points: method
                .spread
                .iter()
                .map(|(round, [low, middle, high])| Point {
                    x: f64::from(*round),
                    y: *middle,
                    low: *low,
                    high: *high,
                })
                .collect(),
        }],
        scale,
        y_max,
    })
    .collect()
}

/// What happened on the links, by round: means over methods and runs. `None` without faults.
pub fn faults(results: &[MethodRun]) -> Option<Chart> {
    let with: Vec<&MethodRun> = results
        .iter()
        .filter(|result| !result.faults.is_empty())
        .collect();
    let rounds = with.iter().map(|result| result.faults.len()).min()?;
    let curves: Vec<Curve> = FaultCounts::NAMES
        .iter()
        .enumerate()
        .filter(|(i, _)| (0..rounds).any(|round| mean_faults(&with, *i, round) > 0.0))
        .map(|(i, name)| Curve {
            class: palette::DISTINCT[i],
            label: name.replace('_', " "),
            note: String::new(),
            points: (0..rounds)
                .map(|round| Point::bare(round as f64, mean_faults(&with, i, round)))
                .collect(),
        })
        .collect();
    Some(from_zero(
        "Faults by round (not releasable)",
        "round",
        "agents or frames",
        curves,
        1.0,
    ))
}

/// How many faults of kind `i` a round had: the mean over results.
fn mean_faults(with: &[&MethodRun], i: usize, round: usize) -> f64 {
    with.iter()
        .map(|result| f64::from(result.faults[round].values()[i]))
        .sum::<f64>()
        / with.len() as f64
}

/// Share of uploads that were clipped, by broadcast. Simulation only. `None` if no method clips.
pub fn clipping(statistics: &Statistics) -> Option<Chart> {
    let curves: Vec<Curve> = statistics
        .methods
        .iter()
        .filter(|method| {
            method.guarantee() == Guarantee::DifferentialPrivacy && method.clipped_share.len() > 1
        })
        .map(|method| Curve {
            class: palette::of(method.method),
            label: method.method.name().into(),
            note: String::new(),
            points: method
                .clipped_share
                .iter()
                .enumerate()
                .map(|(broadcast, share)| Point::bare(broadcast as f64, 100.0 * share))
                .collect(),
        })
        .collect();
    let title = "Clipped vectors (not releasable)";
    (!curves.is_empty()).then(|| from_zero(title, "broadcast", "% of uploads", curves, 1.0))
}

/// What stands beside a method's row: its ε, or why it has none.
fn protection(method: &MethodStatistics) -> String {
    match (method.guarantee(), method.losses) {
        (guarantee @ Guarantee::NothingReleased, _) => guarantee.name().to_owned(),
        (guarantee @ Guarantee::Unclaimed, _) => guarantee.name().to_owned(),
        (_, Some([loss, _])) => figure::epsilon(loss.tight),
        _ => figure::UNPROTECTED.to_owned(),
    }
}

/// Utility against privacy: a row for each method, summed regret with its 95 % interval (Student's,
/// as in the table; none from a single run), ε beside it.
pub fn utility(statistics: &Statistics, regret_name: &str) -> String {
    const ROW: f64 = 30.0;
    let sizes = Sizes::PAGE;
    let interval = |method: &MethodStatistics| half_width(&method.sums).unwrap_or(0.0);
    let mut methods: Vec<&MethodStatistics> = statistics.methods.iter().collect();
    methods.sort_by(|a, b| a.summed_regret.mean.total_cmp(&b.summed_regret.mean));
    let high = methods
        .iter()
        .map(|m| m.summed_regret.mean + interval(m))
        .fold(f64::MIN_POSITIVE, f64::max);
    let low = methods
        .iter()
        .map(|m| m.summed_regret.mean - interval(m))
        .fold(high, f64::min);
    let from = if low > 0.4 * high {
        low - 0.05 * (high - low)
    } else {
        low.min(0.0)
    };
    let names = methods
        .iter()
        .map(|method| advance::width(method.method.name(), sizes.label, true));
    let notes = methods
        .iter()
        .map(|method| advance::width(&protection(method), sizes.tick, false));
    let left = names.fold(0.0, f64::max) + 20.0;
    let right = notes.fold(0.0, f64::max) + 18.0;
    let plot = (590.0 - left - right).clamp(220.0, 330.0);
    let px = |x: f64| left + ((x - from) / (high * 1.02 - from)).clamp(0.0, 1.0) * plot;
    let width = (left + plot + right).ceil();
    let height = 34.0 + ROW * methods.len() as f64 + 44.0;
    let bottom = 34.0 + ROW * methods.len() as f64;
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Utility against privacy\">\n"
    );
    line(
        &mut out,
        "panel",
        8.0,
        16.0,
        "start",
        "Utility against privacy",
    );
    for tick in super::svg::ticks(from, high, 5) {
        let x = px(tick);
        let _ = writeln!(out, r#"<path class="grid" d="M{x:.1} 28V{bottom:.1}"/>"#);
        line(
            &mut out,
            "tick",
            x,
            bottom + 16.0,
            "middle",
            &super::svg::plain(tick),
        );
    }
    line(
        &mut out,
        "axis",
        left + plot,
        bottom + 34.0,
        "end",
        &format!("summed {regret_name}, 95 % interval"),
    );
    for (i, method) in methods.iter().enumerate() {
        let y = 34.0 + ROW * (i as f64 + 0.5);
        let class = palette::of(method.method);
        let half = interval(method);
        let name = method.method.name();
        let mean = method.summed_regret.mean;
        let _ = writeln!(
            out,
            r#"<text class="label {class}" x="8" y="{:.1}">{name}</text>"#,
            y + 4.5
        );
        let _ = writeln!(
            out,
            r#"<path class="leader {class}" style="stroke-width:3" d="M{:.1} {y:.1}H{:.1}"/>"#,
            px(mean - half),
            px(mean + half)
        );
        let _ = writeln!(
            out,
            r#"<circle class="band {class}" style="fill-opacity:1" cx="{:.1}" cy="{y:.1}" r="5"/>"#,
            px(mean)
        );
        line(
            &mut out,
            "tick",
            left + plot + 14.0,
            y + 4.5,
            "start",
            &protection(method),
        );
    }
    out.push_str("</svg>\n");
    out
}
