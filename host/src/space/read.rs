//! Reads a `space.toml`: one reader for every command that searches, with one set of refusals.
//!
//! A refusal names the file, line and column, the key, and what is admissible there; an unknown key
//! also the one that was probably meant.

use std::fmt;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::{CHOICES, Goal, Parameter, Space, SpaceError, Values};
use crate::text::{cut, did_you_mean, exact};

/// Space files are read up to this length.
pub const BYTES_MAX: u64 = 1 << 20;
/// The most parameters.
pub const PARAMETERS_MAX: usize = 64;
/// The most candidates of a random design.
const CANDIDATES_MAX: i64 = 100_000;

const KEYS: [&str; 6] = [
    "goal",
    "value",
    "parameters",
    "seed",
    "design",
    "candidates",
];
const OF_PARAMETERS: [&str; 8] = [
    "low", "high", "scale", "integer", "choices", "ordered", "context", "points",
];
/// What a list of candidates is made by, and a search does not use: it is read, and not offered.
const OF_LISTS: [&str; 3] = ["design", "candidates", "points"];

/// What a space file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Search,
    List,
}

/// How a list of candidates is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Draws, uniform in every parameter.
    Random,
    /// All combinations of points.
    Grid,
}

/// What a space file says.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceFile {
    /// The parameters, in the order of their names.
    pub space: Space,
    /// Which values are better, if it says so.
    pub goal: Option<Goal>,
    /// What a value is, in words, if it says so.
    pub value: Option<String>,
    /// How `tune` makes its list, if it says so.
    pub design: Option<Design>,
    /// How many candidates a random design has, if it says so.
    pub candidates: Option<u32>,
    /// Seed of a random design, if it says so.
    pub seed: Option<u64>,
    /// How many points a grid has along each parameter, if it says so.
    pub points: Vec<Option<u32>>,
}

/// Why a space file was refused, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadError {
    /// The file as it was named.
    pub source: String,
    /// Line and column, 1-based, where they are known.
    pub place: Option<(usize, usize)>,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ReadError {}

/// A refusal before its place is known: the keys that lead to it, and the sentence.
struct Refused {
    path: Vec<String>,
    what: String,
}

fn refuse<T>(path: &[&str], admissible: impl fmt::Display) -> Result<T, Refused> {
    let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    Err(Refused {
        what: format!("`{}`: admissible: {admissible}", path.join(".")),
        path,
    })
}

/// The refusal of what a table has at a key, or of its having nothing there.
fn refuse_value<T>(
    table: &Table,
    path: &[&str],
    key: &str,
    admissible: impl fmt::Display,
) -> Result<T, Refused> {
    let found = table.get(key).map_or("missing".to_owned(), written);
    let path: Vec<String> = (path.iter().copied().chain([key]))
        .map(str::to_owned)
        .collect();
    Err(Refused {
        what: format!("`{}` is {found}; admissible: {admissible}", path.join(".")),
        path,
    })
}

/// The most characters of a value that are shown.
const SHOWN_MAX: usize = 60;

/// A value as a refusal shows it: on one line, of bounded length.
fn written(value: &Value) -> String {
    let text = match value {
        Value::Float(x) => exact(*x),
        other => other.to_string(),
    };
    cut(&text, SHOWN_MAX)
}

impl SpaceFile {
    /// Reads a space from TOML for a search; `source` is for messages. The keys of a list of
    /// candidates are read as well, and no refusal offers them.
    ///
    /// **Errors**: [`ReadError`], one line.
    pub fn parse(source: &str, text: &str) -> Result<SpaceFile, ReadError> {
        Self::read(source, text, For::Search)
    }

    /// The same for a list of candidates.
    ///
    /// **Errors**: [`ReadError`], one line.
    pub(crate) fn parse_for_list(source: &str, text: &str) -> Result<SpaceFile, ReadError> {
        Self::read(source, text, For::List)
    }

    /// The keys of this file that make a list of candidates, which a search does not use.
    pub fn of_lists(&self) -> Vec<String> {
        let above = [
            ("design", self.design.is_some()),
            ("candidates", self.candidates.is_some()),
        ];
        let above = above.iter().filter(|(_, given)| *given);
        let above = above.map(|(key, _)| format!("`{key}`"));
        let along = self.space.parameters().iter().zip(&self.points);
        let along = along.filter(|(_, points)| points.is_some());
        above
            .chain(along.map(|(parameter, _)| format!("`parameters.{}.points`", parameter.name)))
            .collect()
    }

    /// The refusal of a parameter for a reason that only its command knows.
    pub fn refusal(source: &str, text: &str, parameter: &str, what: String) -> ReadError {
        let path = ["parameters".to_owned(), parameter.to_owned()];
        ReadError {
            source: source.to_owned(),
            place: find(text, &path),
            what,
        }
    }

    fn read(source: &str, text: &str, wanted: For) -> Result<SpaceFile, ReadError> {
        let error = |place, what| ReadError {
            source: source.to_owned(),
            place,
            what,
        };
        let table: Table = text.parse().map_err(|wrong: toml::de::Error| {
            let place = wrong.span().map(|span| place_of(text, span.start));
            error(
                place,
                format!("not valid TOML: {}", wrong.message().replace('\n', " ")),
            )
        })?;
        file(table, wanted).map_err(|refused| error(find(text, &refused.path), refused.what))
    }
}

/// Line and column of a byte, as editors count them.
fn place_of(text: &str, byte: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |last| last + 1);
    (
        line,
        1 + String::from_utf8_lossy(&before[start..]).chars().count(),
    )
}

/// The place of the last of these keys that is in the text.
fn find(text: &str, path: &[String]) -> Option<(usize, usize)> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut found = None;
    for key in path {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == key) else {
            break;
        };
        found = Some(place_of(text, Spanned::span(name).start));
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    found
}

fn only(table: &Table, path: &[&str], known: &[&'static str], wanted: For) -> Result<(), Refused> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let known: Vec<&str> = (known.iter().copied())
                .filter(|known| wanted == For::List || !OF_LISTS.contains(known))
                .collect();
            let hint = match key.as_str() {
                key if !path.is_empty() && KEYS.contains(&key) => {
                    "; it stands above the first section [parameters.NAME]".to_owned()
                }
                // As Python's `real` has it.
                "log" if known.contains(&"scale") => "; a logarithm is scale = \"log\"".to_owned(),
                key => did_you_mean(key, &known),
            };
            let path: Vec<String> = (path.iter().copied().chain([key.as_str()]))
                .map(str::to_owned)
                .collect();
            let what = format!(
                "`{}`: no such key{hint}; admissible: {}",
                path.join("."),
                known.join(", ")
            );
            Err(Refused { path, what })
        }
    }
}

fn word<T: Copy>(
    table: &Table,
    path: &[&str],
    key: &str,
    words: &[(&str, T)],
) -> Result<Option<T>, Refused> {
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    match words.iter().find(|(word, _)| value.as_str() == Some(word)) {
        Some((_, meaning)) => Ok(Some(*meaning)),
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = value
                .as_str()
                .map_or(String::new(), |given| did_you_mean(given, &known));
            let words: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
            refuse_value(table, path, key, words.join(", ") + &hint)
        }
    }
}

fn flag(table: &Table, path: &[&str], key: &str) -> Result<bool, Refused> {
    match table.get(key) {
        None => Ok(false),
        Some(Value::Boolean(flag)) => Ok(*flag),
        Some(_) => refuse_value(table, path, key, "true, false"),
    }
}

fn whole(
    table: &Table,
    path: &[&str],
    key: &str,
    low: i64,
    high: i64,
) -> Result<Option<i64>, Refused> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(x)) if (low..=high).contains(x) => Ok(Some(*x)),
        Some(_) => {
            let admissible = format!("a whole number from {low} to {high}");
            refuse_value(table, path, key, admissible)
        }
    }
}

fn file(table: Table, wanted: For) -> Result<SpaceFile, Refused> {
    only(&table, &[], &KEYS, wanted)?;
    let goal = word(
        &table,
        &[],
        "goal",
        &[("minimize", Goal::Minimize), ("maximize", Goal::Maximize)],
    )?;
    let design = word(
        &table,
        &[],
        "design",
        &[("random", Design::Random), ("grid", Design::Grid)],
    )?;
    let value = match table.get("value") {
        None => None,
        Some(Value::String(words))
            if (1..=120).contains(&words.chars().count()) && !words.contains('\n') =>
        {
            Some(words.clone())
        }
        Some(_) => {
            let admissible = "1 to 120 characters on one line: what a value is";
            return refuse_value(&table, &[], "value", admissible);
        }
    };
    let candidates = whole(&table, &[], "candidates", 1, CANDIDATES_MAX)?;
    let seed = whole(&table, &[], "seed", 0, i64::MAX)?;
    let Some(Value::Table(all)) = table.get("parameters") else {
        return refuse(
            &["parameters"],
            "one section [parameters.NAME] for each parameter",
        );
    };
    if all.is_empty() || all.len() > PARAMETERS_MAX {
        return refuse(&["parameters"], format!("1 to {PARAMETERS_MAX} parameters"));
    }
    if design == Some(Design::Grid) && candidates.is_some() {
        return refuse(&["candidates"], "nothing: a grid counts its own points");
    }
    let mut points = Vec::with_capacity(all.len());
    let mut parameters = Vec::with_capacity(all.len());
    for (name, table) in all {
        let (parameter, along) = parameter(name, table, wanted)?;
        // Only what is of this parameter alone; what two of them share is found below.
        Space::new(vec![parameter.clone()]).map_err(|error| of_parameter(name, error))?;
        parameters.push(parameter);
        points.push(along);
    }
    let space = Space::new(parameters).map_err(|error| Refused {
        path: vec!["parameters".into()],
        what: error.to_string(),
    })?;
    let candidates = candidates.map(|count| count as u32);
    let seed = seed.map(|seed| seed as u64);
    Ok(SpaceFile {
        space,
        goal,
        value,
        design,
        candidates,
        seed,
        points,
    })
}

/// The refusal of one parameter, at the key that is wrong.
fn of_parameter(name: &str, error: SpaceError) -> Refused {
    let key = match &error {
        SpaceError::Values { what, .. } => what.split(' ').next().map(str::to_owned),
        _ => None,
    };
    let path: Vec<String> = ["parameters".to_owned(), name.to_owned()]
        .into_iter()
        .chain(key)
        .collect();
    let dotted = path.join(".");
    let what = match &error {
        SpaceError::Values {
            what, admissible, ..
        } => format!("`{dotted}`: {what}; admissible: {admissible}"),
        _ => format!("`{dotted}`: admissible: a name of 1 to 64 letters, digits and underscores"),
    };
    Refused { what, path }
}

/// The number of a key of a parameter.
fn bound(table: &Table, name: &str, key: &str) -> Result<f64, Refused> {
    match table.get(key) {
        Some(Value::Float(x)) if x.abs() <= 1e15 => Ok(*x),
        Some(Value::Integer(x)) if x.unsigned_abs() <= 1_000_000_000_000_000 => Ok(*x as f64),
        _ => refuse_value(
            table,
            &["parameters", name],
            key,
            "a number from -1e15 to 1e15",
        ),
    }
}

fn parameter(name: &str, value: &Value, wanted: For) -> Result<(Parameter, Option<u32>), Refused> {
    let path = ["parameters", name];
    let Value::Table(table) = value else {
        return refuse(&path, "low and high, or choices");
    };
    only(table, &path, &OF_PARAMETERS, wanted)?;
    let points = whole(table, &path, "points", 1, 1000)?.map(|points| points as u32);
    let context = flag(table, &path, "context")?;
    let values = if table.contains_key("choices") {
        let other = ["low", "high", "scale", "integer", "points"]
            .into_iter()
            .find(|key| table.contains_key(*key));
        if let Some(other) = other.filter(|key| *key != "points") {
            return refuse(&["parameters", name, other], "nothing beside choices");
        }
        Values::Choices {
            choices: choices(table, name)?,
            ordered: flag(table, &path, "ordered")?,
        }
    } else {
        if table.contains_key("ordered") {
            return refuse(&["parameters", name, "ordered"], "nothing without choices");
        }
        let log =
            word(table, &path, "scale", &[("linear", false), ("log", true)])?.unwrap_or(false);
        Values::Number {
            low: bound(table, name, "low")?,
            high: bound(table, name, "high")?,
            log,
            integer: flag(table, &path, "integer")?,
        }
    };
    Ok((
        Parameter {
            name: name.to_owned(),
            values,
            context,
        },
        points,
    ))
}

/// A choice as JSON: a text, a number or a truth value.
fn choice(value: &Value) -> Option<serde_json::Value> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Integer(x) => Some((*x).into()),
        Value::Float(x) if x.is_finite() => Some((*x).into()),
        Value::Boolean(flag) => Some((*flag).into()),
        _ => None,
    }
}

fn choices(table: &Table, name: &str) -> Result<Vec<serde_json::Value>, Refused> {
    let path = ["parameters", name, "choices"];
    let Some(Value::Array(choices)) = table.get("choices") else {
        return refuse(&path, "a list of texts, numbers or truth values");
    };
    match choices.iter().map(choice).collect::<Option<Vec<_>>>() {
        Some(choices) => Ok(choices),
        None => refuse(&path, CHOICES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_every_key_that_commands_agree_on() {
        let file = SpaceFile::parse(
            "s",
            "goal = \"minimize\"\nvalue = \"validation loss\"\ncandidates = 7\nseed = 3\n[parameters.rate]\nlow = 1e-4\n\
             high = 1\nscale = \"log\"\npoints = 5\n[parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n\
             [parameters.kind]\nchoices = [\"adam\", \"sgd\"]\n[parameters.size]\nchoices = [16, 64]\nordered = true\n\
             [parameters.load]\nlow = 0\nhigh = 1\ncontext = true\n",
        );
        let file = file.unwrap();
        assert_eq!(
            (file.goal, file.value.as_deref()),
            (Some(Goal::Minimize), Some("validation loss"))
        );
        assert_eq!(
            (file.candidates, file.seed, file.design),
            (Some(7), Some(3), None)
        );
        let names: Vec<&str> = file
            .space
            .parameters()
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        assert_eq!(names, ["depth", "kind", "load", "rate", "size"]);
        assert_eq!(file.points, [None, None, None, Some(5), None]);
        assert!(file.space.parameters()[2].context);
        let core = file.space.core().unwrap();
        assert!(core.searched().eq([0, 1, 3, 4]) && core.is_category(1) && !core.is_category(4));
    }

    #[test]
    fn refusals_name_place_key_and_what_is_meant() {
        for (text, said) in [
            ("x", "s:1:2: not valid TOML"),
            (
                "gaol = \"minimize\"\n[parameters.a]\nlow=0\nhigh=1",
                "s:1:1: `gaol`: no such key; did you mean `goal`?; admissible: goal, value, ",
            ),
            (
                "goal = \"minimise\"\n[parameters.a]\nlow=0\nhigh=1",
                "s:1:1: `goal` is \"minimise\"; admissible: \"minimize\", \"maximize\"; did you mean `minimize`?",
            ),
            (
                "value = 3\n[parameters.a]\nlow=0\nhigh=1",
                "s:1:1: `value` is 3; admissible: 1 to 120 characters",
            ),
            (
                "[parameters.a]\nlow = 0\nhihg = 1",
                "s:3:1: `parameters.a.hihg`: no such key; did you mean `high`?; admissible: low, high, ",
            ),
            (
                "[parameters.a]\nlow = 0\nhigh = 1\ngoal = \"minimize\"",
                "s:4:1: `parameters.a.goal`: no such key; it stands above the first section [parameters.NAME]",
            ),
            (
                "[parameters.a]\nlow = 1\nhigh = 2\nlog = true",
                "s:4:1: `parameters.a.log`: no such key; a logarithm is scale = \"log\"; admissible",
            ),
            (
                "[parameters.a]\nlow = 0\n  high = 0",
                "s:3:3: `parameters.a.high`: high is 0 and low is 0; admissible: a number above low",
            ),
            (
                "[parameters.a]\nlow = \"0\"\nhigh = 1",
                "s:2:1: `parameters.a.low` is \"0\"; admissible: a number from -1e15 to 1e15",
            ),
            (
                "[parameters.a]\nlow = 0\nhigh = 1e300",
                "s:3:1: `parameters.a.high` is 1e300; admissible: a number from -1e15 to 1e15",
            ),
            (
                "[parameters.a]\nlow=1\nhigh=2\nscale=\"logarithmic\"",
                "s:4:1: `parameters.a.scale` is \"logarithmic\"; admissible: \"linear\", \"log\"",
            ),
            (
                "[parameters.a]\nhigh = 1",
                "s:1:13: `parameters.a.low` is missing; admissible: a number from -1e15 to 1e15",
            ),
            (
                "[parameters.a]\nlow=1\nhigh=2\nordered=true",
                "s:4:1: `parameters.a.ordered`: admissible: nothing without choices",
            ),
            (
                "[parameters.a]\nchoices=[1]\nlow=1",
                "s:3:1: `parameters.a.low`: admissible: nothing beside choices",
            ),
            (
                "[parameters.a]\nchoices=[1, 2, 1]",
                "s:2:1: `parameters.a.choices`: choices has 1 twice; admissible: different ones",
            ),
            (
                "[parameters.a]\nlow=1\nhigh=2\ncontext=1",
                "s:4:1: `parameters.a.context` is 1; admissible: true, false",
            ),
            (
                "[parameters.a]\nlow=1\nhigh=2\nscale=\"lgo\"",
                "s:4:1: `parameters.a.scale` is \"lgo\"; admissible: \"linear\", \"log\"; did you mean `log`?",
            ),
            (
                "parameters = 3",
                "s:1:1: `parameters`: admissible: one section [parameters.NAME]",
            ),
        ] {
            let refused = SpaceFile::parse("s", text).unwrap_err().to_string();
            assert!(refused.contains(said), "{text}\n{refused}\n{said}");
        }
    }
}
