//! What a file believes along each parameter, the others where it believes the best.

use serde_json::Value;
use sordino_core::domain::sobol::coordinate;
use sordino_experiment::text::{significant, significant_up};
use sordino_host::prior::PriorFile;
use sordino_host::prior::guide::{Believed, Guide};
use sordino_host::space::{Parameter, Values};
use sordino_report::chart::{Chart, Curve, Point, Points, Ruler, Scale};
use sordino_report::figure::compose_over;

use sordino_experiment::command_line::error::CliError;

/// Points that are looked at for the best.
const POINTS: u32 = 1000;
/// Points of a curve over a range of numbers.
const ALONG: u32 = 61;

/// A parameter with the curve along it.
struct Along<'a> {
    parameter: &'a Parameter,
    points: Vec<Point>,
}

/// The picture as SVG: a panel for each parameter, mean and one standard deviation to either side.
///
/// **Errors**: a file whose numbers are no posterior.
pub fn along_parameters(file: &PriorFile) -> Result<String, CliError> {
    let label = &file.label;
    let curves = curves(file)?;
    let all = curves.iter().flat_map(|along| &along.points);
    let low = all
        .clone()
        .map(|point| point.low)
        .fold(f64::INFINITY, f64::min);
    let high = all
        .map(|point| point.high)
        .fold(f64::NEG_INFINITY, f64::max);
    let edge = 0.05 * (high - low).max(1e-9);
    let name = format!(
        "{}, standardised",
        label.value.as_deref().unwrap_or("value")
    );
    let panels: Vec<(Chart, Ruler)> = curves
        .into_iter()
        .map(|along| panel(along, &name, low - edge, high + edge))
        .collect();
    let costs = match label.simulated {
        true => "simulated: protects nobody".to_owned(),
        false => format!(
            "ε {} at δ = {}",
            significant_up(label.epsilon, 3),
            label.delta
        ),
    };
    let lines = [
        &*format!(
            "{}: {} contributors, {costs}",
            label.dataset, label.contributors
        ),
        "Mean of what contributors have in common, and one standard deviation of the file to either side; other parameters \
         where the file believes the best.",
    ];
    let panels: Vec<(&Chart, &Ruler)> =
        panels.iter().map(|(chart, ruler)| (chart, ruler)).collect();
    Ok(compose_over("What the file believes", &lines, &panels))
}

fn is_logarithmic(parameter: &Parameter) -> bool {
    matches!(parameter.values, Values::Number { log: true, .. })
}

/// What is believed along each parameter, through the best of many points.
fn curves(file: &PriorFile) -> Result<Vec<Along<'_>>, CliError> {
    let label = &file.label;
    let guide = Guide::new(file, &label.space, label.goal).map_err(CliError::input)?;
    let space = label.space.core().map_err(CliError::input)?;
    let mut points: Vec<Vec<f64>> = Vec::new();
    for index in 0..POINTS {
        let numbers = (0..space.dim()).map(|axis| {
            let unit = coordinate::<f64>(index, axis, 0);
            space.from_unit(axis, unit).unwrap_or(0.0)
        });
        points.push(numbers.collect());
    }
    let means = guide.believed(&points).map_err(CliError::input)?;
    let best = (0..points.len())
        .max_by(|a, b| means[*a].mean.total_cmp(&means[*b].mean))
        .unwrap_or(0);
    let mut curves = Vec::new();
    for (axis, parameter) in label.space.parameters().iter().enumerate() {
        let steps = space.axes()[axis].count().unwrap_or(ALONG).min(ALONG);
        let mut along: Vec<Vec<f64>> = Vec::new();
        for step in 0..steps {
            let mut point = points[best].clone();
            let unit = if steps == 1 {
                0.5
            } else {
                f64::from(step) / f64::from(steps - 1)
            };
            point[axis] = space.from_unit(axis, unit).unwrap_or(point[axis]);
            along.push(point);
        }
        let believed = guide.believed(&along).map_err(CliError::input)?;
        // Larger is better inside; people see what they measure.
        let sign = label.goal.sign();
        let drawn = along
            .iter()
            .zip(believed)
            .map(|(point, Believed { mean, std })| {
                let x = if is_logarithmic(parameter) {
                    point[axis].log10()
                } else {
                    point[axis]
                };
                Point {
                    x,
                    y: sign * mean,
                    low: sign * mean - std,
                    high: sign * mean + std,
                }
            });
        curves.push(Along {
            parameter,
            points: drawn.collect(),
        });
    }
    Ok(curves)
}

/// Ticks with the names of choices.
fn words(points: &[Point], choices: &[Value]) -> Vec<(f64, String)> {
    points
        .iter()
        .zip(choices)
        .map(|(point, choice)| (point.x, choice.to_string().replace('"', "")))
        .collect()
}

/// The panel of one parameter.
fn panel(along: Along<'_>, value: &str, low: f64, high: f64) -> (Chart, Ruler) {
    let name = &along.parameter.name;
    let logarithmic = is_logarithmic(along.parameter);
    let x_label = if logarithmic {
        format!("{name}, logarithmic")
    } else {
        name.clone()
    };
    let from = along.points.first().map_or(0.0, |point| point.x);
    let to = along.points.last().map_or(1.0, |point| point.x);
    let fifths = (0..5).map(|tick| from + (to - from) * f64::from(tick) / 4.0);
    let ruler = match &along.parameter.values {
        // Places without an order: points that nothing connects, each with its name.
        Values::Choices { choices, ordered } if !ordered => Ruler {
            from: from - 0.5,
            to: to + 0.5,
            ticks: words(&along.points, choices),
            points: Points::Apart,
        },
        Values::Choices { choices, .. } => Ruler {
            from,
            to,
            ticks: words(&along.points, choices),
            points: Points::Band,
        },
        Values::Number {
            integer: true,
            log: false,
            ..
        } => {
            let mut whole: Vec<f64> = fifths.map(f64::round).collect();
            whole.dedup();
            Ruler {
                from,
                to,
                ticks: whole.into_iter().map(|x| (x, x.to_string())).collect(),
                points: Points::Band,
            }
        }
        Values::Number { .. } => {
            let ticks = fifths.map(|x| {
                let number = if logarithmic { 10f64.powf(x) } else { x };
                (x, significant(number, 2))
            });
            Ruler {
                from,
                to,
                ticks: ticks.collect(),
                points: Points::Band,
            }
        }
    };
    let curve = Curve {
        class: "blue",
        label: "the file".into(),
        note: String::new(),
        points: along.points,
    };
    let chart = Chart {
        title: String::new(),
        x_label,
        y_label: value.into(),
        curves: vec![curve],
        scale: Scale::Linear { from: low },
        y_max: high,
    };
    (chart, ruler)
}
