//! A TOML table from which every key is taken once.
//!
//! Keys are read by the rules of their tables ([`keys`](super::keys)) rather than by derived
//! deserialisers alone: every refusal then names the full key, its value, what is admissible, and
//! the line of the text.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use sordino_host::text::{did_you_mean, nearest};
use toml::{Table, Value};

use super::keys::Key;
use super::rule::Rule;
use crate::text::Quoted;

/// Why a scenario was refused, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{file}{}: {problem}", .line.map_or(String::new(), |line| format!(":{line}")))]
pub struct ScenarioError {
    /// File or shipped name.
    pub file: String,
    /// 1-based line of the text, where it is known.
    pub line: Option<usize>,
    /// What is wrong with the text.
    pub problem: Problem,
}

impl ScenarioError {
    /// A problem of a file, and its line where it is known.
    pub(super) fn at(file: &str, line: Option<usize>, problem: Problem) -> Self {
        ScenarioError {
            file: file.to_owned(),
            line,
            problem,
        }
    }
}

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {}", Quoted(.message))]
    Syntax {
        /// The TOML reader's message, on one line.
        message: String,
    },
    /// A key that has no meaning here.
    #[error("unknown key `{}`; {}", Quoted(.key), meant(.key, .admissible))]
    UnknownKey {
        /// Dotted name of the key.
        key: String,
        /// The keys that are admissible here.
        admissible: Vec<&'static str>,
    },
    /// A key above all sections that stands in one of them.
    #[error("unknown key `{}`; did you mean `{meant}`?", Quoted(.key))]
    Within {
        /// The key as it was given.
        key: String,
        /// Its dotted name.
        meant: String,
    },
    /// A key that must be given.
    #[error("`{key}` is missing; admissible: {admissible}")]
    MissingKey {
        /// Dotted name of the key.
        key: String,
        /// The values that the key admits.
        admissible: String,
    },
    /// A value that is of another kind or outside its range.
    #[error("`{} = {}` is not admissible; admissible: {admissible}", Quoted(.key), Quoted(.value))]
    Value {
        /// Dotted name of the key.
        key: String,
        /// The value as TOML.
        value: String,
        /// The values that would have been accepted.
        admissible: String,
    },
    /// A value of the text that does not fit these settings; without them the text is admissible.
    #[error("with {}: {problem}", set(.settings))]
    Set {
        /// What does not fit.
        problem: Box<Problem>,
        /// The settings as they were given.
        settings: Vec<String>,
    },
    /// A key that is set twice.
    #[error("`{}` is set twice, here or by an option of its own; leave one of them out", Quoted(.key))]
    Twice {
        /// Dotted name of the key.
        key: String,
    },
    /// A `--set` that is not `key=value`.
    #[error(
        "`{}` is not a setting; write --set section.key=value, as in --set federation.agents=50",
        Quoted(.setting)
    )]
    Setting {
        /// The setting as it was given.
        setting: String,
    },
}

impl Problem {
    /// A value of a dotted key that other keys rule out.
    pub(super) fn value(key: &str, value: impl Display, admissible: impl Into<String>) -> Problem {
        Problem::Value {
            key: key.to_owned(),
            value: value.to_string(),
            admissible: admissible.into(),
        }
    }

    /// An unknown name, with the one that was probably meant.
    pub(super) fn no_name(key: &str, name: &str, names: &[&str]) -> Problem {
        let all: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        Problem::value(
            key,
            format!("\"{name}\""),
            all.join(", ") + &did_you_mean(name, names),
        )
    }

    /// A missing dotted key that other keys make necessary.
    pub(super) fn missing(key: &str, rule: &Rule) -> Problem {
        Problem::MissingKey {
            key: key.to_owned(),
            admissible: rule.wanted(),
        }
    }

    /// The dotted key that it is about, where it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Problem::UnknownKey { key, .. }
            | Problem::Within { key, .. }
            | Problem::MissingKey { key, .. }
            | Problem::Value { key, .. } => Some(key),
            Problem::Set { problem, .. } => problem.key(),
            Problem::Syntax { .. } | Problem::Setting { .. } | Problem::Twice { .. } => None,
        }
    }
}

/// Settings as they were given.
fn set(settings: &[String]) -> String {
    let all: Vec<String> = settings
        .iter()
        .map(|setting| format!("--set {}", Quoted(setting)))
        .collect();
    all.join(" ")
}

/// The key that was probably meant by an unknown one, or else the admissible keys.
fn meant(key: &str, admissible: &[&str]) -> String {
    match nearest(key.rsplit('.').next().unwrap_or(key), admissible) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("admissible here: {}", admissible.join(", ")),
    }
}

/// A table from which keys are taken one by one.
#[derive(Clone, Debug)]
pub struct Section {
    path: String,
    table: Table,
    taken: Vec<&'static str>,
}

impl Section {
    /// The root of a document.
    pub fn root(table: Table) -> Self {
        Section {
            path: String::new(),
            table,
            taken: Vec::new(),
        }
    }

    /// The value of a key that has not been taken yet.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.table.get(key)
    }

    /// Whether no key is left.
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(super) fn refuse(
        &self,
        key: &str,
        value: impl Display,
        admissible: impl Into<String>,
    ) -> Problem {
        Problem::value(&self.path_of(key), value, admissible)
    }

    /// A sub-table; a missing one is empty.
    ///
    /// **Errors**: a value that is not a table.
    pub fn section(&mut self, key: &'static str) -> Result<Section, Problem> {
        let path = self.path_of(key);
        match self.table.remove(key) {
            None => Ok(Section {
                path,
                ..Section::root(Table::new())
            }),
            Some(Value::Table(table)) => Ok(Section {
                path,
                ..Section::root(table)
            }),
            Some(other) => Err(self.refuse(key, other, format!("a section [{path}]"))),
        }
    }

    /// The tables of an array of tables, `[[key]]`; a missing one is empty. The path of a table
    /// ends with its name.
    ///
    /// **Errors**: a value that is not an array of tables.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Section>, Problem> {
        self.taken.push(key);
        let path = self.path_of(key);
        let Some(value) = self.table.remove(key) else {
            return Ok(Vec::new());
        };
        let tables = value
            .as_array()
            .map(|all| all.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
        let Some(Some(tables)) = tables else {
            return Err(self.refuse(key, value, format!("tables [[{path}]]")));
        };
        let mut sections = Vec::new();
        for (place, table) in tables.into_iter().enumerate() {
            let name = table
                .get("name")
                .and_then(Value::as_str)
                .map_or(place.to_string(), str::to_owned);
            sections.push(Section {
                path: format!("{path}.{name}"),
                ..Section::root(table.clone())
            });
        }
        Ok(sections)
    }

    /// The keys that have not been taken yet.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Dotted name of the section.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A value that the rule admits, if there is one.
    ///
    /// **Errors**: one that the rule does not admit.
    pub fn optional<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        rule: &Rule,
    ) -> Result<Option<T>, Problem> {
        self.taken.push(key);
        let Some(value) = self.table.remove(key) else {
            return Ok(None);
        };
        rule.check(&value)
            .map_err(|refused| self.refuse(key, refused.value, refused.admissible))?;
        let shown = value.to_string();
        value
            .try_into()
            .map(Some)
            .map_err(|_| self.refuse(key, shown, rule.admissible()))
    }

    /// A value that the rule admits, or the default; if there is no default, the key must be given.
    ///
    /// **Errors**: one that the rule does not admit, or none at all.
    pub fn required<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        rule: &Rule,
        default: Option<T>,
    ) -> Result<T, Problem> {
        match self.optional(key, rule)?.or(default) {
            Some(value) => Ok(value),
            None => Err(Problem::missing(&self.path_of(key), rule)),
        }
    }

    /// Refuses every key that is not one of these. Called before they are taken, so that a misspelt
    /// key is reported rather than the missing key that was meant.
    ///
    /// **Errors**: the first key that is not one of these.
    pub fn only(&self, keys: &[Key]) -> Result<(), Problem> {
        self.only_names(keys.iter().map(|key| key.name).collect())
    }

    /// Refuses every key that has neither one of these names nor was taken already.
    pub(super) fn only_names(&self, names: Vec<&'static str>) -> Result<(), Problem> {
        let mut admissible: Vec<&str> = self.taken.clone();
        for name in names {
            // A list of tables has been taken, and is one of the sections.
            if !admissible.contains(&name) {
                admissible.push(name);
            }
        }
        match self
            .table
            .keys()
            .find(|key| !admissible.contains(&key.as_str()))
        {
            None => Ok(()),
            Some(key) => Err(Problem::UnknownKey {
                key: self.path_of(key),
                admissible,
            }),
        }
    }
}
