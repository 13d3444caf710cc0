//! A scenario to begin with: every key of a trust model with its meaning; optional keys are
//! commented out.

use std::fmt::Write;

use toml::Table as Toml;

use super::keys::{Key, Preset, Table};
use super::reader::{Problem, ScenarioError};
use super::sections::SectionTables;
use super::trust::{TrustModel, parse};

/// The text of a scenario of this trust model, with the first kind of its objective; it runs as it
/// stands. `resolved` writes out every key of a scenario.
///
/// **Errors**: none, unless an example in the tables of keys is not admissible.
pub fn starter<M: ?Sized>(
    trust: &TrustModel<M>,
    resolved: impl Fn(&M) -> String,
) -> Result<String, ScenarioError> {
    let sections = trust.tables();
    // The reader itself says which keys must be given: what is missing is given until nothing is.
    let mut given = vec![("trust".to_owned(), format!("\"{}\"", trust.name))];
    let scenario = loop {
        let text: String = given
            .iter()
            .map(|(path, value)| format!("{path} = {value}\n"))
            .collect();
        match parse(&[trust], "starter", &text, &[]) {
            Ok(scenario) => break scenario,
            Err(error) => match &error.problem {
                Problem::MissingKey { key, .. } if given.iter().all(|(path, _)| path != key) => {
                    let Some(value) = example(&sections, key) else {
                        return Err(error);
                    };
                    given.push((key.clone(), value));
                }
                _ => return Err(error),
            },
        }
    };
    let resolved: Toml = resolved(&scenario).parse().unwrap_or_default();
    let mut text = format!(
        "# A scenario of the trust model `{}`: {}.\n# `sordino run FILE` runs it. A key behind `#` has the value that holds \
         if it is missing; `sordino scenario keys` tells all.\n",
        trust.name, trust.description
    );
    for section in &sections {
        if !section.name.is_empty() {
            // Of a section that there may be several of none is begun.
            let off = if section.many { "# " } else { "" };
            let _ = write!(text, "\n# {}\n{off}{}\n", section.about, section.head());
        }
        let values = if section.name.is_empty() {
            Some(&resolved)
        } else {
            resolved.get(section.name).and_then(|v| v.as_table())
        };
        let Some(table) = section.tables.first() else {
            continue;
        };
        if !table.kinds.is_empty() {
            let _ = writeln!(text, "# {}", kinds(section));
        }
        for (name, _) in table.kinds.iter().take(1) {
            let _ = writeln!(text, "kind = \"{name}\"");
        }
        for key in &table.keys {
            let _ = writeln!(
                text,
                "# {}\n# {}; {}",
                key.sentence,
                key.rule.admissible(),
                key.said_default()
            );
            let value = values
                .and_then(|values| values.get(key.name))
                .map(ToString::to_string);
            let path = section.path_of(key.name);
            let _ = match given.iter().find(|(given, _)| *given == path) {
                Some((_, value)) => writeln!(text, "{} = {value}", key.name),
                None => writeln!(
                    text,
                    "# {} = {}",
                    key.name,
                    value.or_else(|| example_of(key)).unwrap_or_default()
                ),
            };
        }
    }
    Ok(text)
}

/// The kinds of a section in one line.
fn kinds(section: &SectionTables) -> String {
    let kinds = section.tables.iter().flat_map(|table| &table.kinds);
    kinds
        .map(|(name, about)| format!("\"{name}\": {about}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The example of a dotted key, as TOML.
fn example(sections: &[SectionTables], path: &str) -> Option<String> {
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    let table: &Table = sections
        .iter()
        .find(|known| known.name == section)?
        .tables
        .first()?;
    match table.kinds.first() {
        Some((kind, _)) if name == "kind" => Some(format!("\"{kind}\"")),
        _ => example_of(table.keys.iter().find(|key| key.name == name)?),
    }
}

fn example_of(key: &Key) -> Option<String> {
    match &key.preset {
        Preset::Given(example, _) | Preset::Absent(example) => Some((*example).to_owned()),
        Preset::Constant(value) => Some(value.clone()),
        Preset::Computed(_) => None,
    }
}
