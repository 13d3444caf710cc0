//! What was measured as a table in Markdown and as a figure.

use sordino_experiment::metrics::Paired;
use sordino_experiment::text::{significant, significant_up};
use sordino_report::figure::compose;
use sordino_report::svg::{Chart, Curve, Point, Points, Ruler, Scale};
use sordino_report::table::or_dash;

use super::run::Found;

/// A case that was measured.
pub struct Row {
    /// Its name; in figures, what stands before a colon is its curve's.
    pub name: String,
    /// Where it stands in a figure.
    pub x: f64,
    pub found: Vec<Found>,
    /// M, features of the population.
    pub features: usize,
}

impl Row {
    fn sums(&self) -> Vec<f64> {
        self.found.iter().map(|found| found.sum).collect()
    }

    /// The mean of what runs spent; where all spent the same it is that, to the last bit.
    fn epsilon(&self) -> f64 {
        let first = self.found[0].epsilon;
        let beyond: f64 = self.found.iter().map(|found| found.epsilon - first).sum();
        first + beyond / self.found.len() as f64
    }

    /// Mean and standard error.
    fn mean(&self) -> (f64, f64) {
        let sums = self.sums();
        let n = sums.len() as f64;
        let mean = sums.iter().sum::<f64>() / n;
        let squares = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
    }
}

/// Several cases that are compared with one of them.
#[derive(Default)]
pub struct Table {
    pub title: &'static str,
    /// What the horizontal axis of the figure shows; empty: no figure.
    pub axis: &'static str,
    /// Whether it is logarithmic.
    pub logarithmic: bool,
    /// Rows are compared with the last before them whose name ends so.
    pub against: &'static str,
    pub rows: Vec<Row>,
}

impl Table {
    /// A row for every case: summed regret, ε that was spent, difference from the row it is
    /// compared with.
    pub fn markdown(&self) -> String {
        let classes = self
            .rows
            .iter()
            .any(|row| row.found.iter().any(|found| found.by_size.len() > 1));
        let mut out = String::from(
            "| case | M | ε spent | summed regret | s.e. | minus reference (95 %) | smaller in |",
        );
        out += if classes {
            " by size |\n|---|---|---|---|---|---|---|---|\n"
        } else {
            "\n|---|---|---|---|---|---|---|\n"
        };
        let mut reference: Option<&Row> = None;
        for row in &self.rows {
            if row.name.ends_with(self.against) {
                reference = Some(row);
            }
            let (mean, error) = row.mean();
            let paid = Some(row.epsilon()).filter(|spent| *spent > 0.0);
            let epsilon = or_dash(paid, |spent| significant_up(spent, 3));
            let compared = reference
                .filter(|other| other.name != row.name)
                .map(|other| {
                    let paired = Paired::of(&row.sums(), &other.sums());
                    let half = paired
                        .half_width
                        .map_or("?".into(), |half| significant(half, 2));
                    format!(
                        "{} ± {half} | {} of {}",
                        significant(paired.mean, 2),
                        paired.smaller,
                        paired.pairs
                    )
                });
            let compared = compared.unwrap_or_else(|| "reference | ".into());
            let mean = significant(mean, 3);
            let error = significant(error, 2);
            out += &format!(
                "| {} | {} | {epsilon} | {mean} | {error} | {compared} |",
                row.name, row.features
            );
            if classes {
                let by = |i: usize| {
                    row.found.iter().map(|found| found.by_size[i]).sum::<f64>()
                        / row.found.len() as f64
                };
                let by: Vec<String> = (0..row.found[0].by_size.len())
                    .map(|i| significant(by(i), 3))
                    .collect();
                out += &format!(" {} |", by.join(", "));
            }
            out.push('\n');
        }
        out
    }

    /// The means over x, a curve for each word before a colon; nothing without an axis.
    pub fn figure(&self, runs: u32) -> Option<String> {
        const CLASSES: [&str; 8] = ["ink", "blue", "red", "amber", "fern", "pink", "sky", "ash"];
        if self.axis.is_empty() {
            return None;
        }
        let place = |x: f64| if self.logarithmic { x.log10() } else { x };
        let mut curves: Vec<Curve> = Vec::new();
        for row in &self.rows {
            let label = row.name.split(':').next().unwrap_or("");
            let (y, error) = row.mean();
            let point = Point {
                x: place(row.x),
                y,
                low: y - error,
                high: y + error,
            };
            match curves.iter_mut().find(|curve| curve.label == label) {
                Some(curve) => curve.points.push(point),
                None => {
                    let class = CLASSES[curves.len() % CLASSES.len()];
                    curves.push(Curve {
                        class,
                        label: label.to_owned(),
                        note: String::new(),
                        points: vec![point],
                    });
                }
            }
        }
        curves
            .iter_mut()
            .for_each(|curve| curve.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
        let top = curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.high)
            .fold(0.0, f64::max);
        let mut at: Vec<f64> = self.rows.iter().map(|row| row.x).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        let first = place(at[0]);
        let last = place(at[at.len() - 1]);
        let margin = 0.04 * (last - first).max(0.1);
        let ticks = at.iter().map(|x| (place(*x), x.to_string())).collect();
        let ruler = Ruler {
            from: first - margin,
            to: last + margin,
            ticks,
            points: Points::Joined,
        };
        let chart = Chart {
            title: String::new(),
            x_label: self.axis.into(),
            y_label: "summed regret; lower is better".into(),
            curves,
            scale: Scale::Linear { from: 0.0 },
            y_max: 1.05 * top,
        };
        let said = format!(
            "Mean of {runs} paired functions, bar ± one standard error; simulation: not private"
        );
        Some(compose(self.title, &[&said, ""], &[chart], Some(&ruler)))
    }
}
