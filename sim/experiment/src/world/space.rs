//! Settings in a user's units, as points of the unit box and back.

use sordino_core::math::Scalar;

use super::ObjectiveError;
use super::rows::{Row, Rows};
use crate::scenario::space::{Input, SpaceConfig};

/// The value of one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// The value of a numeric input.
    Number(f64),
    /// The value of a categorical input.
    Name(String),
}

/// Reads one field of an input.
///
/// **Errors**: what would have been accepted.
pub fn read(input: &Input<'_>, text: &str) -> Result<Setting, String> {
    match input {
        Input::Category(names) => match names.iter().find(|name| *name == text) {
            Some(name) => Ok(Setting::Name(name.clone())),
            None => Err(format!("one of {}", names.join(", "))),
        },
        Input::Number {
            range: [low, high],
            integer,
            ..
        } => {
            let number = text
                .parse::<f64>()
                .ok()
                .filter(|x| (low..=high).contains(&x));
            let what = if *integer {
                "a whole number"
            } else {
                "a number"
            };
            let number = number.filter(|x| !integer || x.fract() == 0.0);
            number
                .map(Setting::Number)
                .ok_or_else(|| format!("{what} from {low} to {high}"))
        }
    }
}

/// The settings in the rows of a file.
///
/// **Errors**: a missing column; a field that its input does not admit, with line and column.
pub(super) fn of_rows<'r>(
    space: &SpaceConfig,
    file: &Rows,
    rows: impl Iterator<Item = Row<'r>>,
) -> Result<Vec<Vec<Setting>>, ObjectiveError> {
    let inputs = space.all();
    let columns = inputs
        .iter()
        .map(|(name, _)| file.column(name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut settings = Vec::new();
    for row in rows {
        let mut setting = Vec::with_capacity(inputs.len());
        for ((_, input), column) in inputs.iter().zip(&columns) {
            let value = read(input, row.text(*column));
            setting.push(value.map_err(|admissible| row.refuse(*column, &admissible))?);
        }
        settings.push(setting);
    }
    Ok(settings)
}

/// Appends the coordinates of a setting in the unit box: the place of a number, or of its logarithm
/// where that is taken, in its range; a one for the chosen name and zeros for the others.
pub fn encode(input: &Input<'_>, setting: &Setting, point: &mut Vec<f64>) {
    match (input, setting) {
        (
            Input::Number {
                range: [low, high],
                log,
                ..
            },
            Setting::Number(x),
        ) => {
            let at = |x: f64| if *log { Scalar::ln(x) } else { x };
            point.push(((at(*x) - at(*low)) / (at(*high) - at(*low))).clamp(0.0, 1.0));
        }
        (Input::Category(names), Setting::Name(name)) => {
            point.extend(names.iter().map(|other| f64::from(u8::from(other == name))));
        }
        // Not of this input: nowhere.
        _ => point.extend(std::iter::repeat_n(0.0, input.width())),
    }
}

/// The setting at one coordinate u ∈ [0, 1] of a design, which has one for every input: whole
/// numbers and names take equal shares of it.
pub fn decode(input: &Input<'_>, unit: f64) -> Setting {
    match input {
        Input::Category(names) => Setting::Name(names[share(unit, names.len() as f64)].clone()),
        Input::Number {
            range: [low, high],
            log: false,
            integer: true,
        } => Setting::Number(low + share(unit, high - low + 1.0) as f64),
        Input::Number {
            range: [low, high],
            log: true,
            integer,
        } => {
            let x = Scalar::exp(Scalar::ln(*low) + unit * (Scalar::ln(*high) - Scalar::ln(*low)));
            Setting::Number(if *integer { (x + 0.5).floor() } else { x }.clamp(*low, *high))
        }
        Input::Number {
            range: [low, high], ..
        } => Setting::Number(low + unit * (high - low)),
    }
}

/// Which of `count` equal shares of [0, 1] a coordinate is in.
fn share(unit: f64, count: f64) -> usize {
    ((unit * count) as usize).min(count as usize - 1)
}

/// The setting whose coordinates [`encode`] wrote: numbers to twelve digits, whole numbers exactly
/// whole.
pub fn restore(inputs: &[(&str, Input<'_>)], point: &[f64]) -> Vec<Setting> {
    let mut rest = point;
    let mut settings = Vec::with_capacity(inputs.len());
    for (_, input) in inputs {
        let (own, left) = rest.split_at(input.width().min(rest.len()));
        rest = left;
        settings.push(match input {
            Input::Category(names) => {
                let place = own.iter().position(|x| *x > 0.5).unwrap_or(0);
                Setting::Name(names.get(place).cloned().unwrap_or_default())
            }
            Input::Number {
                range: [low, high],
                log,
                integer,
            } => {
                let u = own.first().copied().unwrap_or(0.0);
                let x = if *log {
                    Scalar::exp(Scalar::ln(*low) + u * (Scalar::ln(*high) - Scalar::ln(*low)))
                } else {
                    low + u * (high - low)
                };
                // The way there and back rounds: what a person wrote down has fewer digits.
                let told = format!("{x:.11e}").parse().unwrap_or(x);
                Setting::Number(if *integer { (x + 0.5).floor() } else { told }.clamp(*low, *high))
            }
        });
    }
    settings
}

/// The points of many settings, row-major; each occurs once, at its first place.
pub fn points(space: &SpaceConfig, settings: &[Vec<Setting>]) -> Vec<f64> {
    let inputs = space.all();
    let mut points = Vec::with_capacity(settings.len() * space.dim());
    for setting in settings {
        inputs
            .iter()
            .zip(setting)
            .for_each(|((_, input), setting)| encode(input, setting, &mut points));
    }
    points
}

/// The setting as it stands in a table: the shortest digits that read back as the same number.
pub fn shown(setting: &Setting) -> String {
    match setting {
        Setting::Number(x) => x.to_string(),
        Setting::Name(name) => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_into_the_box_and_come_back() {
        let names = ["adam".to_owned(), "sgd".to_owned(), "rms, prop".to_owned()];
        let rate = Input::Number {
            range: [1e-4, 1.0],
            log: true,
            integer: false,
        };
        let depth = Input::Number {
            range: [2.0, 5.0],
            log: false,
            integer: true,
        };
        let width = Input::Number {
            range: [1.0, 64.0],
            log: true,
            integer: true,
        };
        let kind = Input::Category(&names);
        let mut point = Vec::new();
        for (input, text) in [
            (&rate, "0.01"),
            (&depth, "5"),
            (&kind, "sgd"),
            (&width, "8"),
        ] {
            encode(input, &read(input, text).unwrap(), &mut point);
        }
        let inputs = [
            ("rate", rate.clone()),
            ("depth", depth.clone()),
            ("kind", kind.clone()),
            ("width", width.clone()),
        ];
        let told: Vec<String> = restore(&inputs, &point).iter().map(shown).collect();
        assert_eq!(told, ["0.01", "5", "sgd", "8"]);
        let expected = [0.5, 1.0, 0.0, 1.0, 0.0, 0.5];
        assert!(
            point
                .iter()
                .zip(expected)
                .all(|(x, y)| (x - y).abs() < 1e-12),
            "{point:?}"
        );
        // Every whole number and every name has an equal share of a design's coordinate.
        let depths: Vec<_> = [0.0, 0.249, 0.25, 0.999, 1.0]
            .map(|u| decode(&depth, u))
            .to_vec();
        assert_eq!(depths, [2.0, 2.0, 3.0, 5.0, 5.0].map(Setting::Number));
        assert_eq!(
            [0.0, 0.34, 1.0].map(|u| shown(&decode(&kind, u))),
            ["adam", "sgd", "rms, prop"]
        );
        assert_eq!(
            [0.0, 0.5, 1.0].map(|u| decode(&width, u)),
            [1.0, 8.0, 64.0].map(Setting::Number)
        );
        assert!(matches!(decode(&rate, 0.5), Setting::Number(x) if (x - 0.01).abs() < 1e-15));
        for (input, text, admissible) in [
            (&rate, "2", "a number from 0.0001 to 1"),
            (&rate, "nan", "a number"),
            (&depth, "2.5", "a whole number from 2 to 5"),
            (&kind, "Adam", "one of adam, sgd, rms, prop"),
        ] {
            assert!(
                read(input, text).unwrap_err().contains(admissible),
                "{text}"
            );
        }
    }
}
