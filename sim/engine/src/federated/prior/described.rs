//! What the prior file of a run says of its scenario: names and ranges of the axes, the data, the seed.
//!
//! A file's reader knows points by names and computes their coordinates itself. So there is a file where both compute the
//! same ones from names and ranges: numbers, on a linear or logarithmic scale. Whole numbers and names have other
//! coordinates in a file than in a scenario, and a file has one kernel.

use sordino_core::kernel::Stationary;
use sordino_experiment::scenario::outsourced::Goal as ScenarioGoal;
use sordino_experiment::scenario::space::{Input, SpaceConfig};
use sordino_experiment::scenario::{Method, ObjectiveConfig, Scenario};
use sordino_experiment::world::tuning::{COST, GAMMA};
use sordino_host::space::{Goal, Parameter, Space, Values};

/// What a file's label takes from the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The axes with names and ranges.
    pub space: Space,
    /// Which of the user's values are better; inside a simulation larger ones are.
    pub goal: Goal,
    /// Name of the data: the scenario's.
    pub dataset: String,
    /// Where the file is from, in words.
    pub note: String,
    /// The δ that ε is counted at.
    pub delta: f64,
    /// Variance of the surrogate's kernel, unit y².
    pub signal_variance: f64,
}

impl Described {
    /// What the file of a method says; in words why it has none.
    pub fn of(scenario: &Scenario, method: Method) -> Result<Self, String> {
        let kernel = scenario.surrogate.kernel;
        if kernel.kernel != Stationary::SquaredExponential {
            return Err("a prior file has a squared-exponential kernel, and this surrogate another one".into());
        }
        let (values, goal) = axes(&scenario.objective)?;
        let parameters = values.into_iter().map(|(name, values)| Parameter { name, values, context: false });
        let space = Space::new(parameters.collect()).map_err(|error| format!("its axes make no space: {error}"))?;
        let note = format!("simulated by sordino run, method {method}, noise of seed {}: no privacy", scenario.seed);
        let (dataset, delta) = (scenario.name.clone(), scenario.privacy.delta);
        Ok(Described { space, goal, dataset, note, delta, signal_variance: kernel.signal_variance })
    }
}

/// Names and values of the axes, and which values are better; in words why a file cannot say them.
fn axes(objective: &ObjectiveConfig) -> Result<(Vec<(String, Values)>, Goal), String> {
    let number = |low, high, log| Values::Number { low, high, log, integer: false };
    match objective {
        ObjectiveConfig::Table(config) => Ok((inputs(&config.space)?, of(config.goal))),
        ObjectiveConfig::Command(config) => Ok((inputs(&config.space)?, of(config.goal))),
        ObjectiveConfig::Fedhpo(config) => Ok((inputs(&config.space)?, of(config.goal))),
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => {
            let axis = |name: &str, (low, high)| (name.to_owned(), number(low, high, false));
            Ok((vec![axis("cost", COST), axis("gamma", GAMMA)], Goal::Maximize))
        }
        ObjectiveConfig::GpSample(_) | ObjectiveConfig::Function(_) | ObjectiveConfig::Custom(_) => {
            let axis = |place: usize| (format!("x{place}"), number(0.0, 1.0, false));
            Ok(((1..=objective.dim()).map(axis).collect(), Goal::Maximize))
        }
    }
}

fn of(goal: ScenarioGoal) -> Goal {
    match goal {
        ScenarioGoal::Minimize => Goal::Minimize,
        ScenarioGoal::Maximize => Goal::Maximize,
    }
}

fn inputs(space: &SpaceConfig) -> Result<Vec<(String, Values)>, String> {
    let axis = |(name, input): (&str, Input<'_>)| match input {
        Input::Number { range: [low, high], log, integer: false } => {
            Ok((name.to_owned(), Values::Number { low, high, log, integer: false }))
        }
        Input::Number { .. } => Err(format!("`{name}` is a whole number, whose coordinates in a file are others")),
        Input::Category(_) => Err(format!("`{name}` is one of some names, whose coordinates in a file are others")),
    };
    space.all().into_iter().map(axis).collect()
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::Shipped;
    use sordino_experiment::world::space::{Setting, encode};
    use sordino_host::space::Encoding;

    use super::*;

    fn described(name: &str, settings: &[&str]) -> Result<Described, String> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let scenario = Shipped::find(name).unwrap().parse(&settings).unwrap();
        Described::of(&scenario, sordino_experiment::scenario::method::DP_PRIOR)
    }

    #[test]
    fn a_unit_box_has_an_axis_for_each_dimension_and_another_kernel_no_file() {
        let one = described("default", &[]).unwrap();
        assert_eq!((one.space.parameters().len(), one.goal, one.dataset.as_str()), (1, Goal::Maximize, "default"));
        assert!(one.note.contains("no privacy") && one.space.parameters()[0].name == "x1");
        assert_eq!(described("gp-2d", &[]).unwrap().space.parameters().len(), 2);
        let other = described("default", &["surrogate.kernel=\"matern-5/2\""]).unwrap_err();
        assert!(other.contains("squared-exponential"), "{other}");
    }

    /// The reader of a file and the scenario have the same coordinates of every setting that a file can name.
    #[test]
    fn numbers_have_the_coordinates_of_the_scenario_and_other_inputs_no_file() {
        let space = |log: &[&str], integer: &[&str]| SpaceConfig {
            inputs: vec!["rate".into(), "depth".into()],
            categorical_inputs: Vec::new(),
            categories: Vec::new(),
            input_ranges: vec![[1e-4, 1.0], [2.0, 9.0]],
            log_inputs: log.iter().map(ToString::to_string).collect(),
            integer_inputs: integer.iter().map(ToString::to_string).collect(),
        };
        let config = space(&["rate"], &[]);
        let named = inputs(&config).unwrap();
        let parameters = named.into_iter().map(|(name, values)| Parameter { name, values, context: false });
        let file = Space::new(parameters.collect()).unwrap();
        let encoding = Encoding::new(&file.core().unwrap());
        for numbers in [[1e-4, 2.0], [0.03, 5.5], [1.0, 9.0]] {
            let mut here = Vec::new();
            for ((_, input), number) in config.all().iter().zip(numbers) {
                encode(input, &Setting::Number(number), &mut here);
            }
            let there = encoding.coordinates(&numbers);
            assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-12), "{here:?} {there:?}");
        }
        assert!(inputs(&space(&[], &["depth"])).unwrap_err().contains("`depth` is a whole number"));
        let names = SpaceConfig {
            categorical_inputs: vec!["depth".into()],
            categories: vec![vec!["a".into(), "b".into()]],
            input_ranges: vec![[1e-4, 1.0]],
            ..space(&[], &[])
        };
        assert!(inputs(&names).unwrap_err().contains("`depth` is one of some names"));
    }
}
