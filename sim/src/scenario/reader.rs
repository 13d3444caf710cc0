//! A TOML table from which every key is taken once.
//!
//! A scenario is read by hand rather than by derived deserialisers: name, type, range and default of a key then stand
//! in one line, and every refusal can name the whole key, its value, what is admissible and where the text says it.

use std::fmt::Display;
use std::ops::RangeBounds;

use toml::{Table, Value};

use crate::text::Quoted;

/// Why a scenario was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioError {
    /// File or shipped name.
    pub source: String,
    /// 1-based line of the text, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The text is not TOML.
    Syntax {
        /// What the TOML reader says, on one line.
        message: String,
    },
    /// A key that means nothing here.
    UnknownKey {
        /// Dotted key.
        key: String,
        /// What would mean something.
        admissible: Vec<&'static str>,
    },
    /// A key that must be given.
    MissingKey {
        /// Dotted key.
        key: String,
        /// What it should hold.
        admissible: String,
    },
    /// A value that is of another kind or outside its range.
    Value {
        /// Dotted key.
        key: String,
        /// The value as TOML.
        value: String,
        /// What would have been taken.
        admissible: String,
    },
    /// A `--set` that is not `key=value`.
    Setting {
        /// As it was given.
        setting: String,
    },
}

impl Problem {
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Problem::UnknownKey { key, .. } | Problem::MissingKey { key, .. } | Problem::Value { key, .. } => Some(key),
            Problem::Syntax { .. } | Problem::Setting { .. } => None,
        }
    }
}

impl Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.problem {
            Problem::Syntax { message } => write!(f, ": not valid TOML: {}", Quoted(message)),
            Problem::UnknownKey { key, admissible } => {
                write!(f, ": unknown key `{}`", Quoted(key))?;
                let last = key.rsplit('.').next().unwrap_or(key);
                match nearest(last, admissible) {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => write!(f, "; admissible here: {}", admissible.join(", ")),
                }
            }
            Problem::MissingKey { key, admissible } => write!(f, ": `{key}` is missing; admissible: {admissible}"),
            Problem::Value { key, value, admissible } => {
                write!(f, ": `{} = {}` is not admissible; admissible: {admissible}", Quoted(key), Quoted(value))
            }
            Problem::Setting { setting } => {
                write!(
                    f,
                    ": `{}` is not a setting; write --set section.key=value, as in --set federation.agents=50",
                    Quoted(setting)
                )
            }
        }
    }
}

impl std::error::Error for ScenarioError {}

/// The admissible name nearest to a misspelt one, if any is near.
pub fn nearest<'a>(name: &str, admissible: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| {
        let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), other.chars().collect());
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for i in 1..=a.len() {
            let mut diagonal = std::mem::replace(&mut row[0], i);
            for j in 1..=b.len() {
                let substitute = diagonal + usize::from(a[i - 1] != b[j - 1]);
                diagonal = row[j];
                row[j] = substitute.min(row[j] + 1).min(row[j - 1] + 1);
            }
        }
        row[b.len()]
    };
    let near = admissible.iter().map(|other| (distance(other), *other)).min()?;
    (near.0 <= 2.max(name.len() / 4)).then_some(near.1)
}

/// A table whose keys are taken one by one; what is left at the end is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    path: String,
    table: Table,
}

impl Section {
    pub(crate) fn root(table: Table) -> Self {
        Section { path: String::new(), table }
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether no key is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn refuse(&self, key: &str, value: impl Display, admissible: impl Into<String>) -> Problem {
        Problem::Value { key: self.path_of(key), value: value.to_string(), admissible: admissible.into() }
    }

    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.table.remove(key)
    }

    /// A sub-table; a missing one is empty.
    pub(crate) fn section(&mut self, key: &'static str) -> Result<Section, Problem> {
        let path = self.path_of(key);
        match self.take(key) {
            None => Ok(Section { path, table: Table::new() }),
            Some(Value::Table(table)) => Ok(Section { path, table }),
            Some(other) => Err(self.refuse(key, other, format!("a section [{path}]"))),
        }
    }

    /// A line of text.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<String, Problem> {
        match self.take(key) {
            Some(Value::String(text)) if !text.trim().is_empty() && !text.contains('\n') => Ok(text),
            Some(other) => Err(self.refuse(key, other, "one line of text")),
            None => Err(Problem::MissingKey { key: self.path_of(key), admissible: "one line of text".into() }),
        }
    }

    /// A line of text, if there is one.
    pub(crate) fn optional_text(&mut self, key: &'static str) -> Result<Option<String>, Problem> {
        if self.table.contains_key(key) { self.text(key).map(Some) } else { Ok(None) }
    }

    /// A truth value, or the default.
    pub(crate) fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, Problem> {
        match self.take(key) {
            None => Ok(default),
            Some(Value::Boolean(flag)) => Ok(flag),
            Some(other) => Err(self.refuse(key, other, "true or false")),
        }
    }

    /// A whole number within `range`, or the default; without a default it must be given.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        default: Option<u64>,
    ) -> Result<u64, Problem> {
        let admissible = if range.start() == range.end() {
            format!("{}", range.start())
        } else {
            format!("a whole number from {} to {}", range.start(), range.end())
        };
        match (self.take(key), default) {
            (Some(Value::Integer(x)), _) => match u64::try_from(x) {
                Ok(x) if range.contains(&x) => Ok(x),
                _ => Err(self.refuse(key, x, admissible)),
            },
            (Some(other), _) => Err(self.refuse(key, other, admissible)),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(Problem::MissingKey { key: self.path_of(key), admissible }),
        }
    }

    /// A number within `range` (described by `admissible`), or the default; NaN is in no range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: impl RangeBounds<f64>,
        admissible: &str,
        default: Option<f64>,
    ) -> Result<f64, Problem> {
        match self.optional_number(key, range, admissible)?.or(default) {
            Some(x) => Ok(x),
            None => Err(Problem::MissingKey { key: self.path_of(key), admissible: admissible.into() }),
        }
    }

    /// A number within a range that core names, or the default; the refusal tells that range.
    pub(crate) fn number_within(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<f64>,
        default: Option<f64>,
    ) -> Result<f64, Problem> {
        let end = |x: f64| if (0.01..1e5).contains(&x) { format!("{x}") } else { format!("{x:e}") };
        let admissible = format!("a number from {} to {}", end(*range.start()), end(*range.end()));
        self.number(key, range, &admissible, default)
    }

    /// A number within `range`, if it is given.
    pub(crate) fn optional_number(
        &mut self,
        key: &'static str,
        range: impl RangeBounds<f64>,
        admissible: &str,
    ) -> Result<Option<f64>, Problem> {
        let x = match self.take(key) {
            None => return Ok(None),
            Some(Value::Float(x)) => x,
            Some(Value::Integer(x)) => x as f64,
            Some(other) => return Err(self.refuse(key, other, admissible)),
        };
        if x.is_finite() && range.contains(&x) { Ok(Some(x)) } else { Err(self.refuse(key, x, admissible)) }
    }

    /// One of several names, or the default.
    pub(crate) fn choice<C: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, C)],
        default: Option<C>,
    ) -> Result<C, Problem> {
        let value = self.take(key);
        self.choose(key, value, choices, default)
    }

    fn choose<C: Copy>(
        &self,
        key: &'static str,
        value: Option<Value>,
        choices: &[(&'static str, C)],
        default: Option<C>,
    ) -> Result<C, Problem> {
        let quoted: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let admissible = quoted.join(", ");
        match value {
            Some(Value::String(name)) => match choices.iter().find(|(choice, _)| *choice == name) {
                Some((_, choice)) => Ok(*choice),
                None => Err(self.refuse(key, Value::String(name), admissible)),
            },
            Some(other) => Err(self.refuse(key, other, admissible)),
            None => default.ok_or_else(|| Problem::MissingKey { key: self.path_of(key), admissible }),
        }
    }

    /// A list of names without duplicates, at least one; or the default.
    pub(crate) fn choices<C: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, C)],
        default: &[C],
    ) -> Result<Vec<C>, Problem> {
        let items = match self.take(key) {
            None => return Ok(default.to_vec()),
            Some(Value::Array(items)) if !items.is_empty() => items,
            Some(other) => return Err(self.refuse(key, other, "a list of at least one name")),
        };
        let mut chosen = Vec::new();
        for item in items {
            let shown = item.clone();
            let choice = self.choose(key, Some(item), choices, None)?;
            if chosen.contains(&choice) {
                return Err(self.refuse(key, shown, "every name at most once"));
            }
            chosen.push(choice);
        }
        Ok(chosen)
    }

    /// A list of exactly `length` whole numbers within `range`.
    pub(crate) fn integers(
        &mut self,
        key: &'static str,
        length: usize,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> Result<Vec<u64>, Problem> {
        let admissible = format!(
            "a list of {length} whole numbers from {} to {}, one for each dimension",
            range.start(),
            range.end()
        );
        let items = match self.take(key) {
            None => return Ok(vec![default; length]),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(key, other, admissible)),
        };
        let numbers: Option<Vec<u64>> = items
            .iter()
            .map(|item| item.as_integer().and_then(|x| u64::try_from(x).ok()).filter(|x| range.contains(x)))
            .collect();
        match numbers {
            Some(numbers) if numbers.len() == length => Ok(numbers),
            _ => Err(self.refuse(key, Value::Array(items), admissible)),
        }
    }

    /// A list of `count` numbers (any count from 1 to 64 if that is missing) within `range`; `admissible` describes one.
    pub(crate) fn numbers(
        &mut self,
        key: &'static str,
        count: Option<usize>,
        range: impl RangeBounds<f64>,
        admissible: &str,
    ) -> Result<Option<Vec<f64>>, Problem> {
        let admissible = match count {
            Some(count) => format!("a list of {count}, each {admissible}"),
            None => format!("a list of 1 to 64, each {admissible}"),
        };
        let items = match self.take(key) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(key, other, admissible)),
        };
        let number = |item: &Value| item.as_float().or_else(|| item.as_integer().map(|x| x as f64));
        let numbers: Option<Vec<f64>> =
            items.iter().map(|item| number(item).filter(|x| x.is_finite() && range.contains(x))).collect();
        match numbers {
            Some(numbers) if count.map_or((1..=64).contains(&numbers.len()), |count| numbers.len() == count) => {
                Ok(Some(numbers))
            }
            _ => Err(self.refuse(key, Value::Array(items), admissible)),
        }
    }

    /// `count` intervals [low, high] with low < high, or nothing.
    pub(crate) fn intervals(&mut self, key: &'static str, count: usize) -> Result<Option<Vec<[f64; 2]>>, Problem> {
        let admissible = format!("a list of {count} intervals [low, high] of finite numbers, low below high");
        let items = match self.take(key) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(key, other, admissible)),
        };
        let number = |item: &Value| item.as_float().or_else(|| item.as_integer().map(|x| x as f64));
        let interval = |item: &Value| match item.as_array().map(Vec::as_slice) {
            Some([low, high]) => {
                let (low, high) = (number(low)?, number(high)?);
                (low < high && low.abs() <= 1e12 && high.abs() <= 1e12).then_some([low, high])
            }
            _ => None,
        };
        match items.iter().map(interval).collect::<Option<Vec<_>>>() {
            Some(intervals) if intervals.len() == count => Ok(Some(intervals)),
            _ => Err(self.refuse(key, Value::Array(items), admissible)),
        }
    }

    /// A list of different lines of text, or nothing.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Option<Vec<String>>, Problem> {
        let admissible = "a list of different names";
        let items = match self.take(key) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(key, other, admissible)),
        };
        let mut texts: Vec<String> = Vec::new();
        for item in &items {
            match item.as_str() {
                Some(text) if !text.trim().is_empty() && !text.contains('\n') && !texts.iter().any(|t| t == text) => {
                    texts.push(text.to_owned());
                }
                _ => return Err(self.refuse(key, Value::Array(items.clone()), admissible)),
            }
        }
        Ok(Some(texts))
    }

    /// Refuses every key that is not one of these. Asked before anything is taken, so that a misspelt key is named
    /// rather than the one it was meant to be.
    pub(crate) fn only(&self, keys: &'static [&'static str]) -> Result<(), Problem> {
        match self.table.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(Problem::UnknownKey { key: self.path_of(key), admissible: keys.to_vec() }),
        }
    }

    /// Ends the section. A key that [`Section::only`] admitted and nobody took is refused, not ignored.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.table.keys().next() {
            None => Ok(()),
            Some(key) => Err(Problem::UnknownKey { key: self.path_of(key), admissible: Vec::new() }),
        }
    }
}
