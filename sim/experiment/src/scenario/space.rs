//! Inputs in a user's own units, as points of the unit box: keys that tables and commands share.

use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::{Rule, Ruled, lists};

keys! {
    /// Inputs in a user's own units.
    pub struct SpaceConfig(dim_max: usize) {
        /// The names of the inputs, in order.
        inputs: Vec<String> [given ["rate", "depth", "loss"]] in String::RULE.list(1, 16).different()
            => String::RULE.list(1, dim_max).different();
        /// Inputs that are one of some names; each takes a dimension for every name.
        categorical_inputs: Vec<String> [is Vec::new()] in String::RULE.list(0, 16).different();
        /// Their names, a list for each of them.
        categories: Vec<Vec<String>> [is Vec::new()] in lists(0, 16).each("categorical input")
            => lists(categorical_inputs.len(), categorical_inputs.len()).each("categorical input");
        /// Range of every other input, in their order; becomes [0, 1].
        input_ranges: Vec<[f64; 2]> [given [[1e-5, 0.1], [1, 12]]] in ranges(0, 16)
            => { let n = inputs.len().saturating_sub(categorical_inputs.len()); ranges(n, n) };
        /// Inputs on a logarithmic scale; their range must be positive.
        log_inputs: Vec<String> [is Vec::new()] in String::RULE.list(0, 16).different();
        /// Inputs that are whole numbers.
        integer_inputs: Vec<String> [is Vec::new()] in String::RULE.list(0, 16).different();
    }
}

const fn ranges(least: usize, most: usize) -> Rule {
    <[f64; 2]>::RULE
        .list(least, most)
        .each("input that is no category")
        .because("they are public")
}

/// What one input may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<'s> {
    /// A number of a range.
    Number {
        /// Its least and its largest value.
        range: [f64; 2],
        /// Whether its logarithm is taken.
        log: bool,
        /// Whether it is whole.
        integer: bool,
    },
    /// One of these names.
    Category(&'s [String]),
}

impl Input<'_> {
    /// Number of dimensions that it takes in the unit box.
    pub fn width(&self) -> usize {
        if let Input::Category(names) = self {
            names.len()
        } else {
            1
        }
    }
}

impl SpaceConfig {
    /// The inputs with their names, in order.
    pub fn all(&self) -> Vec<(&str, Input<'_>)> {
        let mut ranges = self.input_ranges.iter();
        let mut all = Vec::with_capacity(self.inputs.len());
        for name in &self.inputs {
            let category = self
                .categorical_inputs
                .iter()
                .position(|other| other == name);
            let input = match category {
                Some(place) => {
                    Input::Category(self.categories.get(place).map_or(&[], Vec::as_slice))
                }
                None => Input::Number {
                    range: ranges.next().copied().unwrap_or([0.0, 1.0]),
                    log: self.log_inputs.contains(name),
                    integer: self.integer_inputs.contains(name),
                },
            };
            all.push((name.as_str(), input));
        }
        all
    }

    /// D: a dimension for every number, and one for every name of a category.
    pub fn dim(&self) -> usize {
        self.all().iter().map(|(_, input)| input.width()).sum()
    }

    /// Checks what no single key can know.
    pub(super) fn check(&self, dim_max: usize) -> Result<(), Problem> {
        for (key, names) in [
            ("objective.categorical_inputs", &self.categorical_inputs),
            ("objective.log_inputs", &self.log_inputs),
            ("objective.integer_inputs", &self.integer_inputs),
        ] {
            let numbers = key != "objective.categorical_inputs";
            let unknown = names.iter().find(|name| {
                !self.inputs.contains(name) || (numbers && self.categorical_inputs.contains(name))
            });
            if let Some(name) = unknown {
                let what = if numbers {
                    "names of `inputs` that are no categories"
                } else {
                    "names that are among `inputs`"
                };
                return Err(Problem::value(key, name, what));
            }
        }
        if let Some(name) = self
            .inputs
            .iter()
            .find(|name| ["agent", "value", "observation"].contains(&name.as_str()))
        {
            return Err(Problem::value(
                "objective.inputs",
                name,
                "names other than agent, value, observation",
            ));
        }
        for (name, input) in self.all() {
            if let Input::Number {
                range: [low, high],
                log,
                integer,
            } = input
            {
                let wrong = if log && !(low > 0.0) {
                    "positive where the logarithm is taken"
                } else if integer && (low.fract() != 0.0 || high.fract() != 0.0) {
                    "whole numbers where the input is whole"
                } else {
                    continue;
                };
                return Err(Problem::value(
                    "objective.input_ranges",
                    format!("[{low}, {high}] of `{name}`"),
                    wrong,
                ));
            }
        }
        let dim = self.dim();
        if dim > dim_max {
            let admissible = format!(
                "at most {dim_max} dimensions, one for each number and for each name of a category"
            );
            return Err(Problem::value(
                "objective.inputs",
                format!("{dim} dimensions"),
                admissible,
            ));
        }
        Ok(())
    }
}
