//! Turns text and `--set` into the table of all keys, and finds out where a refused one is.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::reader::{Problem, ScenarioError, Section};

/// Reads TOML and applies the settings; `read` then takes the keys.
///
/// **Errors**: as [`table`], and the problem of `read` with where it comes from.
pub(super) fn with_root<S>(
    source: &str,
    text: &str,
    settings: &[String],
    read: impl Fn(Section) -> Result<S, Problem>,
) -> Result<S, ScenarioError> {
    let root = table(source, text, settings)?;
    read(Section::root(root)).map_err(|problem| {
        located(source, text, settings, problem, |root| {
            read(Section::root(root)).is_ok()
        })
    })
}

/// The table of a text after the settings were applied to it.
///
/// **Errors**: text that is no TOML, with its line; a setting that is none.
pub fn table(source: &str, text: &str, settings: &[String]) -> Result<Table, ScenarioError> {
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map(|span| line_at(text, span.start));
        let message = e.message().replace('\n', "; ");
        ScenarioError::at(source, line, Problem::Syntax { message })
    })?;
    for setting in settings {
        if apply(&mut table, setting).is_none() {
            let setting = setting.clone();
            return Err(ScenarioError::at(
                "--set",
                None,
                Problem::Setting { setting },
            ));
        }
    }
    Ok(table)
}

/// A problem, with the line or the settings that it comes from; `holds` tells whether another table
/// would have none.
fn located(
    source: &str,
    text: &str,
    settings: &[String],
    problem: Problem,
    holds: impl Fn(Table) -> bool,
) -> ScenarioError {
    let line = problem.key().and_then(|key| line_of(text, key));
    let mut names = settings.iter().map(|setting| name_of(setting));
    if names.any(|name| problem.key().is_some_and(|key| is_about(key, name, line))) {
        return ScenarioError::at("--set", None, problem);
    }
    let is_value = matches!(problem, Problem::Value { .. });
    // What the text says held before these settings.
    if is_value && !settings.is_empty() && holds(text.parse().unwrap_or_default()) {
        let settings = blamed(text, settings, holds);
        let problem = Box::new(problem);
        return ScenarioError::at(source, line, Problem::Set { problem, settings });
    }
    ScenarioError::at(source, line, problem)
}

/// Whether a problem with this key, in this line of the text, is about the setting of this name: a
/// section that only a setting names is the setting's.
fn is_about(key: &str, name: &str, line: Option<usize>) -> bool {
    let below = name.strip_prefix(key);
    below.is_some_and(|rest| rest.is_empty() || (line.is_none() && rest.starts_with('.')))
}

/// Of settings with which a text is refused, the first without which it is not; all if there is
/// none.
fn blamed(text: &str, settings: &[String], holds: impl Fn(Table) -> bool) -> Vec<String> {
    for place in 0..settings.len() {
        let others = [&settings[..place], &settings[place + 1..]].concat();
        if table("", text, &others).is_ok_and(&holds) {
            return vec![settings[place].clone()];
        }
    }
    settings.to_vec()
}

/// Refuses a key that people set twice: which of the values they want, nobody knows.
///
/// **Errors**: [`Problem::Twice`] with the key.
///
/// ```
/// use sordino_experiment::scenario::set_once;
/// let settings = ["runs=2".to_owned(), "runs = 3".to_owned()];
/// assert!(set_once(&settings[..1]).is_ok());
/// assert_eq!(set_once(&settings).unwrap_err().to_string(), "--set: `runs` is set twice, here or by an option of its own; leave one of them out");
/// ```
pub fn set_once(settings: &[String]) -> Result<(), ScenarioError> {
    let twice = (1..settings.len()).find(|place| {
        let name = name_of(&settings[*place]);
        settings[..*place]
            .iter()
            .any(|other| name_of(other) == name)
    });
    twice.map_or(Ok(()), |place| {
        let key = name_of(&settings[place]).to_owned();
        Err(ScenarioError::at("--set", None, Problem::Twice { key }))
    })
}

/// The dotted key of a setting.
pub(super) fn name_of(setting: &str) -> &str {
    setting
        .split_once('=')
        .map_or(setting, |(name, _)| name)
        .trim()
}

/// Writes one `section.key=value` into the table; the value is TOML, or a bare word taken as text.
/// `None` if it is no such setting.
fn apply(table: &mut Table, setting: &str) -> Option<()> {
    let (path, text) = setting.split_once('=')?;
    let keys: Vec<&str> = path.trim().split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return None;
    }
    let text = text.trim();
    let value = format!("x = {text}")
        .parse::<Table>()
        .ok()
        .filter(|parsed| parsed.len() == 1)
        .and_then(|mut parsed| parsed.remove("x"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    let (last, sections) = keys.split_last()?;
    if let ["method", name, rest @ ..] = &keys[..] {
        return own(table, name, rest, value);
    }
    let mut table = table;
    for section in sections {
        let entry = table
            .entry((*section).to_owned())
            .or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut()?;
    }
    table.insert((*last).to_owned(), value);
    Some(())
}

/// Writes `method.NAME.key=value` or `method.NAME.set.section.key=value` into the table
/// `[[method]]` of that name, which is added if there is none. `None` if a table cannot hold such a
/// key.
fn own(root: &mut Table, name: &str, rest: &[&str], value: Value) -> Option<()> {
    let methods = root
        .entry("method")
        .or_insert_with(|| Value::Array(Vec::new()))
        .as_array_mut()?;
    let known = methods
        .iter()
        .position(|method| method.get("name").and_then(Value::as_str) == Some(name));
    let place = known.unwrap_or_else(|| {
        methods.push(Value::Table(Table::from_iter([(
            "name".to_owned(),
            name.into(),
        )])));
        methods.len() - 1
    });
    let method = methods.get_mut(place)?.as_table_mut()?;
    match rest {
        [key] => _ = method.insert((*key).to_owned(), value),
        ["set", section, key @ ..] => {
            let set = method
                .entry("set")
                .or_insert_with(|| Value::Table(Table::new()))
                .as_table_mut()?;
            // The file may have written it as a table.
            if let Some(Value::Table(inner)) = set.get_mut(*section) {
                inner.remove(&key.join("."));
            }
            set.insert([&[*section], key].concat().join("."), value);
        }
        _ => return None,
    }
    Some(())
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}

/// What follows a key at the start of a dotted path; `None` if the path starts with another one. A
/// key in quotes may have dots.
fn after<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    path.strip_prefix(key)
        .filter(|tail| tail.is_empty() || tail.starts_with('.'))
}

/// Whether a table has this `name`.
fn is_named(table: &DeTable<'_>, wanted: &str) -> bool {
    table.iter().any(|(key, value)| {
        let value = value.get_ref();
        key.get_ref() == "name" && matches!(value, DeValue::String(name) if name == wanted)
    })
}

/// Line of a dotted key, or of its deepest section in the text.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut found = None;
    let mut rest = path;
    while !rest.is_empty() {
        let Some((name, value)) = table
            .iter()
            .find(|(name, _)| after(rest, name.get_ref()).is_some())
        else {
            break;
        };
        found = Some(line_at(text, Spanned::span(name).start));
        rest = after(rest, name.get_ref())?.trim_start_matches('.');
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            // An array of tables: the one of that name.
            DeValue::Array(tables) => {
                let (wanted, tail) = rest.split_once('.').unwrap_or((rest, ""));
                let mut all = tables
                    .iter()
                    .filter_map(|one| Some((one.get_ref().as_table()?, one.span())));
                let Some((inner, span)) = all.find(|(table, _)| is_named(table, wanted)) else {
                    break;
                };
                (table, rest, found) = (inner, tail, Some(line_at(text, span.start)));
            }
            _ => break,
        }
    }
    found
}
