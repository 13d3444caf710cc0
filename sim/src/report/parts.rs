//! Parts of pages that do not know whose results they show.

use std::fmt::Write as _;

use super::curves::MethodCurve;
use super::palette::{self, DISTINCT};
use super::svg::{Chart, Curve, Point, escape};
use super::{figure, table};
use crate::record::MethodSummary;
use crate::scenario::Method;
use crate::text::significant;

/// The class of a method: a federated one has its own, others that of their place.
pub fn look(name: &str, place: usize) -> &'static str {
    Method::from_name(name).map_or(DISTINCT[place % DISTINCT.len()], palette::of)
}

/// A name with spaces, as in `final regret`.
pub fn words(name: &str) -> String {
    name.replace('_', " ").replace("epsilon", "ε").replace("pld", "PLD").replace("delta", "δ")
}

/// Name, description, facts, and, where there is `noise`, that nothing of it is private.
pub fn header(out: &mut String, eyebrow: &str, name: &str, description: &str, facts: &[(&str, String)], noise: bool) {
    let _ = write!(
        out,
        "<header>\n<p class=\"eyebrow\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<dl class=\"facts\">",
        escape(eyebrow),
        escape(name),
        escape(description)
    );
    for (name, value) in facts {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    out.push_str("</dl>\n");
    if noise {
        let _ = writeln!(out, "<p class=\"warning\"><strong>{}</strong></p>", escape(table::NOT_PRIVATE));
    }
    out.push_str("</header>\n");
}

/// A piece of a curve of this class.
pub fn line(class: &str) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"line {class}\" d=\"M1 5H27\"/></svg>"
    )
}

/// A method's name with a piece of its line.
pub fn swatch(name: &str, place: usize) -> String {
    line(look(name, place)) + &escape(name)
}

/// Cells of the measures and losses of a method.
pub fn numbers(method: &MethodSummary, measures: &[&str], losses: &[&str]) -> String {
    let mut out = String::new();
    for name in measures {
        match method.measure(name) {
            None => out.push_str("<td>–</td>"),
            Some(measure) => {
                let error = measure.standard_error.map_or(String::new(), |error| {
                    format!(" <span class=\"error\">± {}</span>", significant(error, 2))
                });
                let _ = write!(out, "<td>{}{error}</td>", significant(measure.mean, 4));
            }
        }
    }
    for name in losses {
        let text = method
            .loss(name)
            .map_or("–".to_owned(), |loss| loss.value.map_or("∞".to_owned(), |value| significant(value, 3)));
        let _ = write!(out, "<td>{text}</td>");
    }
    out
}

/// The points of a mean curve.
pub fn points(curve: &MethodCurve) -> Vec<Point> {
    curve.points.iter().map(|(x, y, error)| Point { x: *x, y: *y, low: y - error, high: y + error }).collect()
}

/// A chart whose vertical axis fits its curves.
pub fn scaled(title: &str, x_label: &str, y_label: &str, curves: Vec<Curve>) -> Chart {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let top = all().map(|point| point.high).fold(f64::MIN_POSITIVE, f64::max);
    let (scale, y_max, name) = figure::scale(all().map(|point| point.y).filter(|y| *y > 0.0), top);
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: format!("{y_label}{name}"),
        curves,
        scale,
        y_max,
    }
}
