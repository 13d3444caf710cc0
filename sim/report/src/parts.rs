//! Parts of pages that do not know whose results they show.

use std::fmt::Write as _;

use super::chart::all_points;
use super::differences::{self, Difference};
use super::html::section;
use super::svg::{Chart, Curve, Scale, escape};
use super::{figure, table};

/// A name with spaces, as in `final regret`.
pub fn words(name: &str) -> String {
    name.replace('_', " ")
        .replace("epsilon", "ε")
        .replace("pld", "PLD")
        .replace("delta", "δ")
}

/// Name, description, facts and, with `noise`, the statement that none of it is private.
pub fn header(
    out: &mut String,
    eyebrow: &str,
    name: &str,
    description: &str,
    facts: &[(&str, String)],
    noise: bool,
) {
    let _ = write!(
        out,
        "<header>\n<p class=\"eyebrow\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<dl class=\"facts\">",
        escape(eyebrow),
        escape(name),
        escape(description)
    );
    for (name, value) in facts {
        let _ = write!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(name),
            escape(value)
        );
    }
    out.push_str("</dl>\n");
    if noise {
        let _ = writeln!(
            out,
            "<p class=\"warning\"><strong>{}</strong></p>",
            escape(table::NOT_PRIVATE)
        );
    }
    out.push_str("</header>\n");
}

/// A piece of a curve of this class.
pub fn line(class: &str) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"line {class}\" d=\"M1 5H27\"/></svg>"
    )
}

/// A table with more rows than this is folded.
const ROWS_OPEN: usize = 15;

/// The section of paired differences between every two methods, each with a number for each run;
/// absent with one run.
pub fn differences(out: &mut String, worth: &[(String, Vec<f64>)], name: &str) {
    let found = differences::all(worth);
    if found.iter().all(|found| found.pairs < 2) {
        return;
    }
    let text = format!(
        "Differences of {} between every two methods, run by run: below zero the first is better. p of the t test, after Holm's correction for {} \
         tests, and of Wilcoxon's signed ranks; in colour where Holm's is below .05.",
        words(name),
        found.len()
    );
    let rows: Vec<_> = found.iter().map(|found| (Vec::new(), found)).collect();
    paired(out, &text, &[], &rows);
}

/// A section of paired differences under a text, each behind the cells that say where it is from,
/// which have these heads.
pub fn paired(out: &mut String, text: &str, lead: &[&str], rows: &[(Vec<String>, &Difference)]) {
    // Closing tags that HTML does not need are half of such a table.
    let heads = lead.iter().copied().chain(differences::HEAD);
    let head: String = heads.map(|head| format!("<th>{}", escape(head))).collect();
    let mut body = format!("<div class=\"scroll\"><table>\n<thead><tr>{head}</thead>\n<tbody>\n");
    for (lead, found) in rows {
        let class = match found.holm {
            Some(p) if p < 0.05 && found.mean < 0.0 => " class=\"better\"",
            Some(p) if p < 0.05 => " class=\"worse\"",
            _ => "",
        };
        let cells = found.cells();
        body.push_str("<tr>");
        lead.iter().for_each(|cell| {
            let _ = write!(body, "<td>{}", escape(cell));
        });
        let _ = write!(
            body,
            "<th>{}<td{class}>{}",
            escape(&cells[0]),
            escape(&cells[1])
        );
        cells[2..].iter().for_each(|cell| {
            let _ = write!(body, "<td>{}", escape(cell));
        });
        body.push('\n');
    }
    body.push_str("</tbody></table></div>\n");
    // On a phone, and with many methods, it is longer than all the rest.
    if rows.len() > ROWS_OPEN {
        body = format!(
            "<details class=\"print\"><summary>All {} differences</summary>\n{body}</details>\n",
            rows.len()
        );
    }
    section(out, "Paired differences", &escape(text), &body);
}

/// A chart whose vertical axis fits its curves.
pub fn scaled(title: &str, x_label: &str, y_label: &str, curves: Vec<Curve>) -> Chart {
    let top = all_points(&curves)
        .map(|point| point.high)
        .fold(f64::MIN_POSITIVE, f64::max);
    let heights = all_points(&curves).map(|point| point.y);
    let (scale, y_max, name) = figure::scale(heights.filter(|y| *y > 0.0), top);
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: format!("{y_label}{name}"),
        curves,
        scale,
        y_max,
    }
}

/// A chart whose vertical axis goes from zero to a little above its curves, and to no less than
/// `least`.
pub fn from_zero(
    title: &str,
    x_label: &str,
    y_label: &str,
    curves: Vec<Curve>,
    least: f64,
) -> Chart {
    let top = all_points(&curves)
        .map(|point| point.high)
        .fold(least, f64::max);
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        curves,
        scale: Scale::Linear { from: 0.0 },
        y_max: top * 1.05,
    }
}

/// A chart of differences: its vertical axis holds zero, all curves and their bars.
pub fn around_zero(title: &str, x_label: &str, y_label: &str, curves: Vec<Curve>) -> Chart {
    let top = all_points(&curves)
        .map(|point| point.high)
        .fold(0.0, f64::max);
    let bottom = all_points(&curves)
        .map(|point| point.low)
        .fold(0.0, f64::min);
    let room = (0.05 * (top - bottom)).max(f64::MIN_POSITIVE);
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        curves,
        scale: Scale::Linear {
            from: bottom - room,
        },
        y_max: top + room,
    }
}

/// Gives charts that are compared the same vertical axis, of this name.
pub fn share_axis(charts: &mut [Chart], name: &str) {
    let all: Vec<Curve> = charts
        .iter()
        .flat_map(|chart| chart.curves.clone())
        .collect();
    let common = scaled("", "", name, all);
    for chart in charts {
        (chart.scale, chart.y_max, chart.y_label) =
            (common.scale, common.y_max, common.y_label.clone());
    }
}
