//! What a file believes along each parameter, the others where it believes the best.

use serde_json::Value;
use sordino_core::domain::sobol::coordinate;
use sordino_experiment::text::significant_up;
use sordino_host::prior::PriorFile;
use sordino_host::prior::guide::{Believed, Guide};
use sordino_host::space::{Goal, Parameter, Values};
use sordino_report::chart::{Chart, Curve, LOGARITHMIC, Point, Points, Ruler, Scale};
use sordino_report::figure::{NAMELESS, compose_over};
use sordino_report::svg::{log_ticks, plain, ticks};

use sordino_experiment::command_line::error::CliError;

/// Points that are looked at for the best.
const POINTS: u32 = 1000;
/// Points of a curve over a range of numbers.
const ALONG: u32 = 61;
/// Steps between the numbers below an axis, at most about.
const STEPS: u32 = 5;

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
    let better = match label.goal {
        Goal::Minimize => "lower",
        Goal::Maximize => "higher",
    };
    let lines = [
        &*format!(
            "{}: {} contributors, {costs}. In all panels {better} is better.",
            label.dataset, label.contributors
        ),
        "Mean of what contributors have in common, and one standard deviation of the file to either side; other parameters \
         where the file believes the best.",
    ];
    let panels: Vec<(&Chart, &Ruler)> =
        panels.iter().map(|(chart, ruler)| (chart, ruler)).collect();
    Ok(compose_over(
        "What the file believes",
        &lines,
        &panels,
        NAMELESS,
    ))
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

/// Round numbers along a parameter between two of its values, where the curve has them.
fn round(from: f64, to: f64, logarithmic: bool, whole: bool) -> Vec<(f64, String)> {
    let numbers = if logarithmic {
        log_ticks(10f64.powf(from), 10f64.powf(to), STEPS)
    } else {
        ticks(from, to, STEPS)
    };
    numbers
        .into_iter()
        .filter(|x| !whole || (x - x.round()).abs() < 1e-9)
        .map(|x| (if logarithmic { x.log10() } else { x }, plain(x)))
        .collect()
}

/// The panel of one parameter.
fn panel(along: Along<'_>, value: &str, low: f64, high: f64) -> (Chart, Ruler) {
    let name = &along.parameter.name;
    let logarithmic = is_logarithmic(along.parameter);
    let x_label = if logarithmic {
        format!("{name}{LOGARITHMIC}")
    } else {
        name.clone()
    };
    let from = along.points.first().map_or(0.0, |point| point.x);
    let to = along.points.last().map_or(1.0, |point| point.x);
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
        Values::Number { integer, .. } => Ruler {
            from,
            to,
            ticks: round(from, to, logarithmic, *integer),
            points: Points::Band,
        },
    };
    // One curve a panel: the lines above all panels say what it is.
    let curve = Curve {
        class: "blue",
        label: String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(from: f64, to: f64, logarithmic: bool, whole: bool) -> Vec<String> {
        let [from, to] = [from, to].map(|x| if logarithmic { x.log10() } else { x });
        let ticks = round(from, to, logarithmic, whole);
        assert!(
            ticks
                .iter()
                .all(|(x, _)| (from - 1e-3..=to + 1e-3).contains(x)),
            "{ticks:?}"
        );
        ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn numbers_below_an_axis_are_round_and_few() {
        assert_eq!(
            shown(0.07, 0.93, false, false),
            ["0.2", "0.4", "0.6", "0.8"]
        );
        assert_eq!(shown(-5.0, 10.0, false, false), ["-5", "0", "5", "10"]);
        assert_eq!(shown(1.0, 12.0, false, true), ["5", "10"]);
        assert_eq!(shown(1.0, 3.0, false, true), ["1", "2", "3"]);
        assert_eq!(shown(7.0, 7.0, false, true), ["7"]);
        // Logarithmic: 1, 2, 5; powers of ten; every second one; and less than between two of
        // these.
        assert_eq!(
            shown(0.03, 1.5, true, false),
            ["0.05", "0.1", "0.2", "0.5", "1"]
        );
        assert_eq!(
            shown(1e-4, 1.0, true, false),
            ["0.0001", "0.001", "0.01", "0.1", "1"]
        );
        assert_eq!(
            shown(1e-6, 1.0, true, false),
            ["1e-6", "0.0001", "0.01", "1"]
        );
        assert_eq!(
            shown(0.3, 0.45, true, false),
            ["0.3", "0.35", "0.4", "0.45"]
        );
        assert_eq!(
            shown(1.0, 64.0, true, true),
            ["1", "2", "5", "10", "20", "50"]
        );
        assert_eq!(shown(3.0, 4.0, true, true), ["3", "4"]);
    }
}
