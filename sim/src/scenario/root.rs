//! Text and `--set` to the section of all keys.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::reader::{Problem, ScenarioError, Section};

/// Reads TOML with settings applied; `read` takes the keys.
pub(super) fn with_root<S>(
    source: &str,
    text: &str,
    settings: &[String],
    read: impl FnOnce(Section) -> Result<S, Problem>,
) -> Result<S, ScenarioError> {
    let error = |line, problem| ScenarioError { file: source.to_owned(), line, problem };
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map(|span| line_at(text, span.start));
        error(line, Problem::Syntax { message: e.message().replace('\n', "; ") })
    })?;
    for setting in settings {
        apply(&mut table, setting).map_err(|problem| ScenarioError { file: "--set".into(), line: None, problem })?;
    }
    read(Section::root(table)).map_err(|problem| {
        let set = problem.key().is_some_and(|key| {
            settings.iter().any(|setting| setting.split_once('=').is_some_and(|(name, _)| name.trim() == key))
        });
        if set {
            ScenarioError { file: "--set".into(), line: None, problem }
        } else {
            error(problem.key().and_then(|key| line_of(text, key)), problem)
        }
    })
}

/// Writes one `section.key=value` into the table; the value is TOML, or a bare word taken as text.
fn apply(table: &mut Table, setting: &str) -> Result<(), Problem> {
    let malformed = || Problem::Setting { setting: setting.to_owned() };
    let (path, text) = setting.split_once('=').ok_or_else(malformed)?;
    let keys: Vec<&str> = path.trim().split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(malformed());
    }
    let text = text.trim();
    let value = format!("x = {text}")
        .parse::<Table>()
        .ok()
        .filter(|parsed| parsed.len() == 1)
        .and_then(|mut parsed| parsed.remove("x"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    let (last, sections) = keys.split_last().ok_or_else(malformed)?;
    let mut table = table;
    for section in sections {
        let entry = table.entry((*section).to_owned()).or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut().ok_or_else(malformed)?;
    }
    table.insert((*last).to_owned(), value);
    Ok(())
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Line of a dotted key, or of the deepest of its sections that the text has.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (root.get_ref(), None);
    for key in path.split('.') {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref().as_ref() == key) else {
            break;
        };
        found = Some(line_at(text, Spanned::span(name).start));
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    found
}
