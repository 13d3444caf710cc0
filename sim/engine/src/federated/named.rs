//! The axes of a scenario with their names, ranges and goal, as those know them who search outside
//! a simulation.

use sordino_experiment::scenario::ObjectiveConfig;
use sordino_experiment::scenario::outsourced::Goal as ScenarioGoal;
use sordino_experiment::scenario::space::{Input, SpaceConfig};
use sordino_experiment::world::space::{Setting, restore};
use sordino_experiment::world::tuning::{COST, GAMMA};
use sordino_host::space::{Goal, Parameter, Space, Values};

/// What is searched, with names.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The axes with names and ranges.
    pub space: Space,
    /// Which of the user's values are better; inside a simulation larger ones are.
    pub goal: Goal,
    /// Why the coordinates that the space gives a point are not the scenario's, in words; nothing
    /// where they are.
    pub elsewhere: Option<String>,
}

impl Named {
    /// The axes of an objective; in words why there is no such space.
    pub fn of(objective: &ObjectiveConfig) -> Result<Self, String> {
        let (axes, goal) = match spaced(objective) {
            Some((space, goal)) => (space.all().into_iter().map(axis).collect(), goal),
            None => (boxed(objective), Goal::Maximize),
        };
        let space = Space::new(axes).map_err(|error| format!("its axes make no space: {error}"))?;
        space
            .core()
            .map_err(|error| format!("its axes make no space that can be searched: {error}"))?;
        let elsewhere = spaced(objective)
            .and_then(|(space, _)| space.all().into_iter().find_map(other_coordinates));
        Ok(Named {
            space,
            goal,
            elsewhere,
        })
    }

    /// Points of the scenario, row by row of coordinates, in the space's numbers, one a parameter.
    pub fn numbers(objective: &ObjectiveConfig, points: &[f64], dim: usize) -> Vec<Vec<f64>> {
        let of_space = spaced(objective).map(|(space, _)| space.all());
        let ranges: Vec<[f64; 2]> = boxed(objective)
            .iter()
            .map(|axis| range(&axis.values))
            .collect();
        let points = points.chunks_exact(dim.max(1));
        points
            .map(|point| match &of_space {
                Some(inputs) => inputs
                    .iter()
                    .zip(restore(inputs, point))
                    .map(|((_, input), set)| held(input, set))
                    .collect(),
                None => point
                    .iter()
                    .zip(&ranges)
                    .map(|(u, [low, high])| low + u * (high - low))
                    .collect(),
            })
            .collect()
    }
}

/// The user's own inputs, and which values are better; nothing for functions on a box.
fn spaced(objective: &ObjectiveConfig) -> Option<(&SpaceConfig, Goal)> {
    match objective {
        ObjectiveConfig::Table(config) => Some((&config.space, goal(config.goal))),
        ObjectiveConfig::Command(config) => Some((&config.space, goal(config.goal))),
        ObjectiveConfig::Fedhpo(config) => Some((&config.space, goal(config.goal))),
        _ => None,
    }
}

/// The goal of a scenario as that of a space.
fn goal(goal: ScenarioGoal) -> Goal {
    match goal {
        ScenarioGoal::Minimize => Goal::Minimize,
        ScenarioGoal::Maximize => Goal::Maximize,
    }
}

/// The axes of functions on a box.
fn boxed(objective: &ObjectiveConfig) -> Vec<Parameter> {
    match objective {
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => {
            vec![
                number_axis("cost".to_owned(), COST.into()),
                number_axis("gamma".to_owned(), GAMMA.into()),
            ]
        }
        _ => (1..=objective.dim())
            .map(|place| number_axis(format!("x{place}"), [0.0, 1.0]))
            .collect(),
    }
}

/// An axis of numbers between these two.
fn number_axis(name: String, [low, high]: [f64; 2]) -> Parameter {
    Parameter {
        name,
        values: Values::Number {
            low,
            high,
            log: false,
            integer: false,
        },
        context: false,
    }
}

fn range(values: &Values) -> [f64; 2] {
    match values {
        Values::Number { low, high, .. } => [*low, *high],
        Values::Choices { .. } => [0.0, 1.0],
    }
}

fn axis((name, input): (&str, Input<'_>)) -> Parameter {
    let values = match input {
        Input::Number {
            range: [low, high],
            log,
            integer,
        } => Values::Number {
            low,
            high,
            log,
            integer,
        },
        Input::Category(names) => Values::Choices {
            choices: names.iter().map(|name| name.as_str().into()).collect(),
            ordered: false,
        },
    };
    Parameter {
        name: name.to_owned(),
        values,
        context: false,
    }
}

fn other_coordinates((name, input): (&str, Input<'_>)) -> Option<String> {
    match input {
        Input::Number { integer: false, .. } => None,
        Input::Number { .. } => Some(format!(
            "`{name}` is a whole number, whose coordinates in a file are others"
        )),
        Input::Category(_) => Some(format!(
            "`{name}` is one of some names, whose coordinates in a file are others"
        )),
    }
}

/// A setting as a number of the space: itself, or the place of its name.
fn held(input: &Input<'_>, setting: Setting) -> f64 {
    match (input, setting) {
        (_, Setting::Number(x)) => x,
        (Input::Category(names), Setting::Name(name)) => {
            names.iter().position(|other| *other == name).unwrap_or(0) as f64
        }
        (Input::Number { .. }, Setting::Name(_)) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::{Scenario, Shipped};
    use sordino_experiment::world::space::encode;
    use sordino_host::space::Encoding;

    use super::*;

    fn objective(name: &str, settings: &[&str]) -> ObjectiveConfig {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Shipped::find(name)
            .unwrap()
            .parse(&settings)
            .unwrap()
            .objective
    }

    fn table(keys: &str) -> ObjectiveConfig {
        let text = format!(
            "name = \"t\"\ndescription = \"t\"\n[objective]\nkind = \"command\"\ncommand = \"true\"\ngoal = \"minimize\"\n\
             {keys}\n[surrogate]\nnoise_variance = 0.1\nkernel = \"squared-exponential\"\nlengthscale = 0.2\nfeatures = 9\n\
             [federation]\nagents = 3\nrounds = 2\ninitial_points = 3\nmethods = [\"ts\"]\n[privacy]\nsampling_probability = 0.5\n\
             noise_multiplier = 1"
        );
        Scenario::parse("t", &text, &[]).unwrap().objective
    }

    #[test]
    fn a_box_has_an_axis_for_each_dimension_and_its_points_are_numbers() {
        let one = objective("default", &[]);
        let named = Named::of(&one).unwrap();
        assert_eq!(
            (named.space.parameters().len(), named.goal, named.elsewhere),
            (1, Goal::Maximize, None)
        );
        assert_eq!(named.space.parameters()[0].name, "x1");
        assert_eq!(Named::numbers(&one, &[0.0, 0.25], 1), [[0.0], [0.25]]);
        assert_eq!(
            Named::of(&objective("gp-2d", &[]))
                .unwrap()
                .space
                .parameters()
                .len(),
            2
        );
    }

    /// Names, whole numbers and logarithms: every point of the scenario is one of the space, and
    /// the same setting.
    #[test]
    fn settings_are_numbers_of_the_space() {
        let objective = table(
            "inputs = [\"rate\", \"kind\", \"depth\"]\ncategorical_inputs = [\"kind\"]\ncategories = [[\"a\", \"b\", \"c\"]]\n\
             input_ranges = [[1e-4, 1.0], [2, 9]]\nlog_inputs = [\"rate\"]\ninteger_inputs = [\"depth\"]",
        );
        let named = Named::of(&objective).unwrap();
        assert!(
            named
                .elsewhere
                .unwrap()
                .contains("`kind` is one of some names")
        );
        let (space, _) = spaced(&objective).unwrap();
        let mut points = Vec::new();
        let settings = [(0.01, "c", 5.0), (1e-4, "a", 2.0), (1.0, "b", 9.0)];
        for (rate, kind, depth) in settings {
            let setting = [
                Setting::Number(rate),
                Setting::Name(kind.into()),
                Setting::Number(depth),
            ];
            space
                .all()
                .iter()
                .zip(&setting)
                .for_each(|((_, input), setting)| encode(input, setting, &mut points));
        }
        let numbers = Named::numbers(&objective, &points, space.dim());
        let expected = settings
            .map(|(rate, kind, depth)| vec![rate, f64::from(kind.as_bytes()[0] - b'a'), depth]);
        assert_eq!(numbers, expected);
        let core = named.space.core().unwrap();
        numbers
            .iter()
            .for_each(|numbers| core.check(numbers).unwrap());
    }

    /// Where the coordinates are said to be the same, they are.
    #[test]
    fn numbers_have_the_coordinates_of_the_scenario() {
        let objective = table(
            "inputs = [\"rate\", \"loss\"]\ninput_ranges = [[1e-4, 1.0], [2, 9]]\nlog_inputs = [\"rate\"]",
        );
        let named = Named::of(&objective).unwrap();
        assert_eq!(named.elsewhere, None);
        let encoding = Encoding::new(&named.space.core().unwrap());
        let points = [0.0, 0.0, 0.62, 0.5, 1.0, 1.0];
        let numbers = Named::numbers(&objective, &points, 2);
        let there = numbers
            .iter()
            .flat_map(|numbers| encoding.coordinates(numbers));
        for (here, there) in points.into_iter().zip(there) {
            assert!((here - there).abs() < 1e-11, "{here} {there}");
        }
        let whole =
            table("inputs = [\"depth\"]\ninput_ranges = [[2, 9]]\ninteger_inputs = [\"depth\"]");
        assert!(
            Named::of(&whole)
                .unwrap()
                .elsewhere
                .unwrap()
                .contains("`depth` is a whole number")
        );
    }
}
