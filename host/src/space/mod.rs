//! What is searched, with names: the parameters of a `space.toml`, or of a program.
//!
//! One domain for `sordino tune`, `sordino optimize` and Python. `read` reads the file; a
//! [`Space`] takes points as JSON objects in the user's units to numbers of [`sordino_core::space`]
//! and back, and to the environment of a command.
//!
//! ```
//! let file = sordino_host::space::SpaceFile::parse("space.toml", "
//!     goal = \"minimize\"
//!     [parameters.depth]
//!     low = 1
//!     high = 8
//!     integer = true
//!     [parameters.kind]
//!     choices = [\"adam\", \"sgd\"]
//! ")?;
//! let point = serde_json::json!({"depth": 3, "kind": "sgd"});
//! let numbers = file.space.numbers(&point)?;
//! assert_eq!(numbers, [3.0, 1.0]);
//! assert_eq!(serde_json::Value::from(file.space.point(&numbers)), point);
//! assert_eq!(file.space.environment(&file.space.point(&numbers))[1], ("SORDINO_KIND".into(), "sgd".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sordino_core::space::{Axis, Space as CoreSpace, SpaceError as CoreError};

use crate::text::{cut, did_you_mean, exact};

mod encoding;
pub(crate) mod read;

pub use encoding::Encoding;
pub use read::{BYTES_MAX, PARAMETERS_MAX, ReadError, SpaceFile};

/// A point: the value of every parameter by its name, in the user's units.
pub type Point = Map<String, Value>;

/// What the values of a parameter are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Values {
    /// Numbers from low to high, both included.
    Number {
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
        /// Whether distances are those of the logarithm.
        #[serde(default)]
        log: bool,
        /// Whether they are whole.
        #[serde(default)]
        integer: bool,
    },
    /// One of these texts, numbers or truth values.
    Choices {
        /// What a value may be.
        choices: Vec<Value>,
        /// Whether they stand in an order, at equal distances.
        #[serde(default)]
        ordered: bool,
    },
}

/// One parameter of a space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// 1 to 64 letters, digits and underscores.
    pub name: String,
    /// What its values are.
    pub values: Values,
    /// Whether it is given with every question and not searched.
    #[serde(default)]
    pub context: bool,
}

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// The smaller the better.
    Minimize,
    /// The larger the better.
    Maximize,
}

impl Goal {
    /// What a value is multiplied with so that larger is better.
    pub fn sign(self) -> f64 {
        if self == Goal::Minimize { -1.0 } else { 1.0 }
    }

    /// What the better of two values is, in words.
    pub fn better(self) -> &'static str {
        if self == Goal::Minimize {
            "smaller"
        } else {
            "larger"
        }
    }

    /// Whether `value` is better than `other`.
    pub fn prefers(self, value: f64, other: f64) -> bool {
        self.sign() * value > self.sign() * other
    }
}

/// Why parameters make no space, or a point is none of a space.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpaceError {
    /// A parameter's name is none.
    #[error(
        "`{name}` is no name of a parameter; admissible: 1 to 64 letters, digits and underscores"
    )]
    Name {
        /// The name as it was given.
        name: String,
    },
    /// Two parameters are one variable of the environment.
    #[error("two parameters share the environment variable {variable}")]
    Shared {
        /// Name of the variable.
        variable: String,
    },
    /// A parameter whose values are none.
    #[error("`{name}`: {what}; admissible: {admissible}")]
    Values {
        /// Name of the parameter.
        name: String,
        /// Which key, and its value.
        what: String,
        /// What is admissible.
        admissible: &'static str,
    },
    /// No space to search, for a reason that is of no single parameter.
    #[error("the parameters make no space to search")]
    Core(#[source] CoreError),
    /// A parameter that has no value.
    #[error("`{name}` has no value; admissible: {admissible}")]
    Missing {
        /// Name of the parameter.
        name: String,
        /// What is admissible.
        admissible: String,
    },
    /// A name that is no parameter.
    #[error("`{name}` is no parameter of this space{hint}; admissible: {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The one that was probably meant.
        hint: String,
        /// The parameters.
        known: String,
    },
    /// A value was given for a parameter that is searched.
    #[error(
        "`{name}` is searched and takes no value here; `context = true` makes it one that is given; admissible: {known}"
    )]
    Searched {
        /// Name of the parameter.
        name: String,
        /// The parameters that are given.
        known: String,
    },
    /// A value that its parameter does not admit.
    #[error("`{name}` is {value}; admissible: {admissible}")]
    Value {
        /// Name of the parameter.
        name: String,
        /// The value as JSON.
        value: String,
        /// What is admissible.
        admissible: String,
    },
    /// Something that is no object of names and values.
    #[error("{value} is no point; admissible: an object with a value for each of {known}")]
    NoPoint {
        /// What was given.
        value: String,
        /// The parameters.
        known: String,
    },
}

impl Values {
    /// What is admissible, in words.
    pub fn admissible(&self) -> String {
        match self {
            Values::Number {
                low,
                high,
                integer: true,
                ..
            } => format!("a whole number from {low} to {high}"),
            Values::Number { low, high, .. } => format!("a number from {low} to {high}"),
            Values::Choices { choices, .. } => {
                format!(
                    "one of {}",
                    choices
                        .iter()
                        .map(Value::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
        }
    }

    /// The number of a value: itself, or the place of a choice.
    fn number(&self, value: &Value) -> Option<f64> {
        match self {
            Values::Number {
                low, high, integer, ..
            } => value
                .as_f64()
                .filter(|x| *x >= *low && *x <= *high && !(*integer && x.fract() != 0.0)),
            Values::Choices { choices, .. } => {
                let place =
                    choices
                        .iter()
                        .position(|choice| match (choice.as_f64(), value.as_f64()) {
                            (Some(one), Some(other)) => one == other,
                            _ => choice == value,
                        });
                place.map(|place| place as f64)
            }
        }
    }

    /// The value of a number.
    fn value(&self, number: f64) -> Value {
        match self {
            Values::Number { integer: true, .. } => Value::from(number as i64),
            Values::Number { .. } => Value::from(number),
            Values::Choices { choices, .. } => {
                choices.get(number as usize).cloned().unwrap_or(Value::Null)
            }
        }
    }

    fn axis(&self) -> Option<Axis> {
        let axis = match self {
            Values::Number {
                low,
                high,
                integer: true,
                ..
            } => Axis::integer(whole(*low)?, whole(*high)?),
            Values::Number { low, high, .. } => Axis::real(*low, *high),
            Values::Choices {
                choices,
                ordered: true,
            } => Axis::ordinal(choices.len() as u32),
            Values::Choices { choices, .. } => Axis::category(choices.len() as u32),
        };
        Some(if matches!(self, Values::Number { log: true, .. }) {
            axis.log()
        } else {
            axis
        })
    }
}

/// The whole number that this is, if it is one.
fn whole(x: f64) -> Option<i32> {
    ((x as i32) as f64 == x).then_some(x as i32)
}

impl Parameter {
    /// The refusal of its values.
    fn refuse<T>(&self, what: String, admissible: &'static str) -> Result<T, SpaceError> {
        Err(SpaceError::Values {
            name: self.name.clone(),
            what,
            admissible,
        })
    }

    /// The axis of a search that has its values.
    fn axis(&self) -> Result<Axis, SpaceError> {
        match self.values.axis() {
            Some(axis) if self.context => Ok(axis.given()),
            Some(axis) => Ok(axis),
            None => self.refuse(
                self.values.admissible(),
                "whole numbers from -2147483648 to 2147483647, for a search",
            ),
        }
    }

    /// The number of its value at a point.
    fn number(&self, point: &Point) -> Result<f64, SpaceError> {
        let name = self.name.clone();
        let admissible = self.values.admissible();
        let Some(value) = point.get(&name) else {
            return Err(SpaceError::Missing { name, admissible });
        };
        self.values.number(value).ok_or_else(|| SpaceError::Value {
            name,
            value: value.to_string(),
            admissible,
        })
    }

    /// Checks what does not depend on the other parameters.
    ///
    /// **Errors**: [`SpaceError::Name`], [`SpaceError::Values`].
    fn check(&self) -> Result<(), SpaceError> {
        let name = &self.name;
        if !is_name(name) {
            return Err(SpaceError::Name { name: name.clone() });
        }
        match &self.values {
            Values::Number {
                low,
                high,
                log,
                integer,
            } => {
                let outside = [("low", low), ("high", high)]
                    .into_iter()
                    .find(|(_, x)| !(x.abs() <= 1e15));
                if let Some((key, x)) = outside {
                    self.refuse(
                        format!("{key} is {}", exact(*x)),
                        "a number from -1e15 to 1e15",
                    )
                } else if !(low < high) {
                    self.refuse(
                        format!("high is {high} and low is {low}"),
                        "a number above low",
                    )
                } else if *log && !(*low > 0.0) {
                    self.refuse(
                        format!("low is {low}"),
                        "a positive number where scale is \"log\"",
                    )
                } else if *integer && (low.fract() != 0.0 || high.fract() != 0.0) {
                    let key = if low.fract() == 0.0 { "high" } else { "low" };
                    self.refuse(
                        format!("{key} is {}", if key == "low" { low } else { high }),
                        "a whole number where integer is true",
                    )
                } else {
                    Ok(())
                }
            }
            Values::Choices { choices, .. } => {
                let plain = choices
                    .iter()
                    .all(|choice| choice.is_string() || choice.is_number() || choice.is_boolean());
                if !plain || choices.is_empty() || choices.len() > CHOICES_MAX {
                    let found = Value::from(choices.clone()).to_string();
                    return self.refuse(format!("choices is {}", cut(&found, SHOWN_MAX)), CHOICES);
                }
                // As tables and environment variables write them.
                let written: Vec<String> = choices.iter().map(text_of).collect();
                match (1..written.len()).find(|place| written[..*place].contains(&written[*place]))
                {
                    Some(place) => self.refuse(
                        format!("choices has {} twice", written[place]),
                        "different ones, as a table writes them: a text \"1\" is a number 1 there",
                    ),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The most choices of a parameter.
pub const CHOICES_MAX: usize = 1000;
/// What was found is shown up to this many characters.
const SHOWN_MAX: usize = 200;

/// Whether a parameter may have this name: 1 to 64 letters and digits of ASCII, and underscores.
pub fn is_name(name: &str) -> bool {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    letters && !name.is_empty() && name.len() <= 64
}

/// What choices may be.
const CHOICES: &str = "1 to 1000 texts, numbers or truth values";

/// Named parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Space {
    parameters: Vec<Parameter>,
}

/// The environment variable of a parameter.
pub fn variable(name: &str) -> String {
    format!("SORDINO_{}", name.to_ascii_uppercase())
}

/// A value as a command reads it from its environment: texts without quotes.
fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A point as environment variables `SORDINO_<NAME>`; texts without quotes.
pub fn environment(point: &Point) -> Vec<(String, String)> {
    point
        .iter()
        .map(|(name, value)| (variable(name), text_of(value)))
        .collect()
}

impl Space {
    /// A space of these parameters, in this order.
    ///
    /// **Errors**: [`SpaceError`] naming the first parameter that is none.
    pub fn new(parameters: Vec<Parameter>) -> Result<Self, SpaceError> {
        for parameter in &parameters {
            parameter.check()?;
        }
        let mut variables: Vec<String> = parameters
            .iter()
            .map(|parameter| variable(&parameter.name))
            .collect();
        variables.sort_unstable();
        if let Some(pair) = variables.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SpaceError::Shared {
                variable: pair[0].clone(),
            });
        }
        Ok(Space { parameters })
    }

    /// The parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The same as core searches it: an axis a parameter.
    ///
    /// **Errors**: [`SpaceError::Core`] for 0 or more than 16 parameters, or none that is searched;
    /// [`SpaceError::Values`] for whole numbers beyond 32 bits.
    pub fn core(&self) -> Result<CoreSpace, SpaceError> {
        let axes = self
            .parameters
            .iter()
            .map(Parameter::axis)
            .collect::<Result<Vec<_>, _>>()?;
        let space = CoreSpace::new(&axes).map_err(SpaceError::Core)?;
        space.check_format::<f64>().map_err(SpaceError::Core)?;
        Ok(space)
    }

    fn known(&self) -> Vec<&str> {
        self.parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect()
    }

    /// The numbers of a point, one a parameter in their order.
    ///
    /// **Errors**: [`SpaceError`] naming parameter, value and what is admissible.
    pub fn numbers(&self, point: &Value) -> Result<Vec<f64>, SpaceError> {
        self.part(point, |_| true)
            .map(|numbers| numbers.into_iter().flatten().collect())
    }

    /// The numbers of those parameters that are given with a question; `None` for those that are
    /// searched.
    ///
    /// **Errors**: as [`Space::numbers`]; a value for a parameter that is searched is refused too.
    pub fn context(&self, point: &Value) -> Result<Vec<Option<f64>>, SpaceError> {
        self.part(point, |parameter| parameter.context)
    }

    fn part(
        &self,
        point: &Value,
        wanted: impl Fn(&Parameter) -> bool,
    ) -> Result<Vec<Option<f64>>, SpaceError> {
        let names: Vec<&str> = self
            .parameters
            .iter()
            .filter(|parameter| wanted(parameter))
            .map(|parameter| &*parameter.name)
            .collect();
        let Value::Object(point) = point else {
            return Err(SpaceError::NoPoint {
                value: point.to_string(),
                known: self.known().join(", "),
            });
        };
        if let Some(name) = point.keys().find(|key| !names.contains(&key.as_str())) {
            let hint = did_you_mean(name, &names);
            let known = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            if self.known().contains(&name.as_str()) {
                let name = name.clone();
                return Err(SpaceError::Searched { name, known });
            }
            return Err(SpaceError::Unknown {
                name: name.clone(),
                hint,
                known,
            });
        }
        self.parameters
            .iter()
            .map(|parameter| match wanted(parameter) {
                true => parameter.number(point).map(Some),
                false => Ok(None),
            })
            .collect()
    }

    /// The point of such numbers.
    pub fn point(&self, numbers: &[f64]) -> Point {
        let named = self.parameters.iter().zip(numbers);
        named
            .map(|(parameter, x)| (parameter.name.clone(), parameter.values.value(*x)))
            .collect()
    }

    /// A point as environment variables `SORDINO_<NAME>`; texts without quotes.
    pub fn environment(&self, point: &Point) -> Vec<(String, String)> {
        let names = self.parameters.iter().map(|parameter| &parameter.name);
        names
            .filter_map(|name| Some((variable(name), text_of(point.get(name)?))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn space() -> Space {
        let number = |low, high, log, integer| Values::Number {
            low,
            high,
            log,
            integer,
        };
        let choices = |choices: Value, ordered| Values::Choices {
            choices: choices.as_array().unwrap().clone(),
            ordered,
        };
        let parameters = [
            ("rate", number(1e-4, 1.0, true, false), false),
            ("depth", number(1.0, 8.0, false, true), false),
            (
                "kind",
                choices(json!(["adam", "sgd", 3, true]), false),
                false,
            ),
            ("width", choices(json!([16, 64, 256]), true), false),
            ("load", number(0.0, 1.0, false, false), true),
        ];
        let parameter = |(name, values, context): (&str, _, _)| Parameter {
            name: name.into(),
            values,
            context,
        };
        Space::new(parameters.map(parameter).to_vec()).unwrap()
    }

    #[test]
    fn points_go_to_numbers_and_back() {
        let point = json!({"rate": 0.01, "depth": 3, "kind": true, "width": 64, "load": 0.5});
        let numbers = space().numbers(&point).unwrap();
        assert_eq!(numbers, [0.01, 3.0, 3.0, 1.0, 0.5]);
        assert_eq!(Value::from(space().point(&numbers)), point);
        let core = space().core().unwrap();
        assert!(core.check(&numbers).is_ok() && core.is_category(2) && !core.is_category(3));
        assert!(core.searched().eq(0..4));
        let given = space().context(&json!({"load": 0.25})).unwrap();
        assert_eq!(given, [None, None, None, None, Some(0.25)]);
        // JSON of another writer: 3.0 is 3.
        let floats = json!({"rate": 1, "depth": 3.0, "kind": 3.0, "width": 16.0, "load": 0});
        assert_eq!(space().numbers(&floats).unwrap(), [1.0, 3.0, 2.0, 0.0, 0.0]);
        let stored: Space =
            serde_json::from_str(&serde_json::to_string(&space()).unwrap()).unwrap();
        assert_eq!(stored, space());
    }

    #[test]
    fn a_point_that_is_none_is_refused_by_name_and_range() {
        let good = json!({"rate": 0.01, "depth": 3, "kind": "sgd", "width": 64, "load": 0.5});
        for (name, value, said) in [
            (
                "rate",
                json!(2),
                "`rate` is 2; admissible: a number from 0.0001 to 1",
            ),
            (
                "rate",
                json!("0.1"),
                "`rate` is \"0.1\"; admissible: a number",
            ),
            (
                "depth",
                json!(2.5),
                "`depth` is 2.5; admissible: a whole number from 1 to 8",
            ),
            (
                "kind",
                json!("Adam"),
                "`kind` is \"Adam\"; admissible: one of \"adam\", \"sgd\", 3, true",
            ),
            (
                "width",
                json!(32),
                "`width` is 32; admissible: one of 16, 64, 256",
            ),
            ("load", json!(null), "`load` is null"),
            (
                "deptj",
                json!(3),
                "`deptj` is no parameter of this space; did you mean `depth`?",
            ),
        ] {
            let mut point = good.clone();
            point[name] = value;
            let refused = space().numbers(&point).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        let missing = space()
            .numbers(&json!({"rate": 0.1}))
            .unwrap_err()
            .to_string();
        assert_eq!(
            missing,
            "`depth` has no value; admissible: a whole number from 1 to 8"
        );
        assert!(
            space()
                .numbers(&json!([1, 2]))
                .unwrap_err()
                .to_string()
                .contains("is no point")
        );
        // What is searched is not given with a question.
        let given = space()
            .context(&json!({"load": 0.5, "depth": 3}))
            .unwrap_err()
            .to_string();
        assert!(
            given.contains("`depth` is searched and takes no value")
                && given.ends_with("admissible: load"),
            "{given}"
        );
    }
}
