//! What the prior file of a run says of its scenario: names and ranges of the axes, the data, the
//! seed.
//!
//! A file's reader knows points by names and computes their coordinates itself. So there is a file
//! where both compute the same ones from names and ranges: numbers, on a linear or logarithmic
//! scale. Whole numbers and names have other coordinates in a file than in a scenario, and a file
//! has one kernel.

use sordino_core::kernel::Stationary;
use sordino_experiment::scenario::{Method, Scenario};
use sordino_host::space::{Goal, Space};

use super::super::named::Named;

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
            return Err(
                "a prior file has a squared-exponential kernel, and this surrogate another one"
                    .into(),
            );
        }
        let Named {
            space,
            goal,
            elsewhere,
        } = Named::of(&scenario.objective)?;
        if let Some(why) = elsewhere {
            return Err(why);
        }
        let note = format!(
            "simulated by sordino run, method {method}, noise of seed {}: no privacy",
            scenario.seed
        );
        let dataset = scenario.name.clone();
        let delta = scenario.privacy.delta;
        Ok(Described {
            space,
            goal,
            dataset,
            note,
            delta,
            signal_variance: kernel.signal_variance,
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::Shipped;

    use super::*;

    fn described(name: &str, settings: &[&str]) -> Result<Described, String> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let scenario = Shipped::find(name).unwrap().parse(&settings).unwrap();
        Described::of(&scenario, sordino_experiment::scenario::method::DP_PRIOR)
    }

    #[test]
    fn a_scenario_is_described_and_another_kernel_has_no_file() {
        let one = described("default", &[]).unwrap();
        assert_eq!(
            (one.space.parameters().len(), one.goal, one.dataset.as_str()),
            (1, Goal::Maximize, "default")
        );
        assert!(one.note.contains("no privacy"), "{}", one.note);
        let other = described("default", &["surrogate.kernel=\"matern-5/2\""]).unwrap_err();
        assert!(other.contains("squared-exponential"), "{other}");
    }
}
