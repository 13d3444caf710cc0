//! The tables of keys for people and editors: Markdown for `sim/experiment/scenarios/README.md`,
//! text for a terminal, JSON schema.

use std::fmt::Write;

use serde_json::{Map, Value as Json, json};

use super::keys::{Key, Preset, Table};
use super::sections::SectionTables;
use super::trust::TrustModel;

impl SectionTables {
    /// Its heading and a table for each kind, in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = match self.name {
            "" => format!("{}\n", self.about),
            _ => format!("`{}`: {}\n", self.head(), lower(self.about)),
        };
        for table in &self.tables {
            for (kind, about) in &table.kinds {
                let _ = write!(text, "\n`kind = \"{kind}\"`: {}\n", lower(about));
            }
            if table.keys.is_empty() {
                continue;
            }
            text.push_str("\n| key | range | default | meaning |\n|---|---|---|---|\n");
            for key in &table.keys {
                let range = key.rule.brief();
                let default = key.default_in("`");
                let _ = writeln!(
                    text,
                    "| `{}` | {range} | {default} | {} |",
                    key.name, key.sentence
                );
            }
        }
        text
    }

    /// Its heading and a table for each kind, for a terminal.
    pub fn text(&self) -> String {
        let mut text = if self.name.is_empty() {
            String::new()
        } else {
            format!("{}  # {}\n", self.head(), self.about)
        };
        for table in &self.tables {
            for (kind, about) in &table.kinds {
                let _ = writeln!(text, "kind = \"{kind}\"  # {about}");
            }
            let width = table
                .keys
                .iter()
                .map(|key| key.name.len())
                .max()
                .unwrap_or(0);
            for key in &table.keys {
                let _ = writeln!(
                    text,
                    "  {:width$}  {}; {}",
                    key.name,
                    key.rule.admissible(),
                    key.said_default()
                );
                let _ = writeln!(text, "  {:width$}  {}", "", key.sentence);
            }
        }
        text
    }

    pub(super) fn schema(&self) -> Json {
        let mut kinds: Vec<Json> = self.tables.iter().map(Table::schema).collect();
        let one = match (kinds.len(), kinds.pop()) {
            (1, Some(only)) => only,
            (_, last) => json!({"oneOf": kinds.into_iter().chain(last).collect::<Vec<_>>()}),
        };
        if self.many {
            json!({"type": "array", "items": one})
        } else {
            one
        }
    }
}

impl Table {
    fn schema(&self) -> Json {
        let mut properties = Map::new();
        let mut required: Vec<&str> = Vec::new();
        if !self.kinds.is_empty() {
            let names: Vec<&str> = self.kinds.iter().map(|(name, _)| *name).collect();
            properties.insert("kind".into(), json!({"enum": names}));
            required.push("kind");
        }
        for key in &self.keys {
            properties.insert(key.name.into(), key.schema());
        }
        required.extend(
            self.keys
                .iter()
                .filter(|key| matches!(key.preset, Preset::Given(_, None)))
                .map(|key| key.name),
        );
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

impl Key {
    /// "must be given", or what holds if it is not.
    pub(super) fn said_default(&self) -> String {
        match self.default_in("").as_str() {
            "" => "must be given".to_owned(),
            default => format!("default: {default}"),
        }
    }

    fn schema(&self) -> Json {
        let mut schema = self.rule.schema();
        schema["description"] = format!("{} ({})", self.sentence, self.said_default()).into();
        if let Some(value) = self.constant() {
            schema["default"] = value;
        }
        schema
    }

    /// The default as JSON, if it is a constant.
    fn constant(&self) -> Option<Json> {
        let Preset::Constant(value) = &self.preset else {
            return None;
        };
        let table: toml::Table = format!("x = {value}").parse().ok()?;
        serde_json::to_value(&table["x"]).ok()
    }
}

impl<M: ?Sized> TrustModel<M> {
    /// All keys of its scenarios, for a terminal.
    pub fn keys_text(&self) -> String {
        let sections: Vec<String> = self.tables().iter().map(SectionTables::text).collect();
        format!(
            "# trust = \"{}\": {}\n\n{}",
            self.name,
            self.description,
            sections.join("\n")
        )
    }

    /// Schema of its scenarios; `meant` says that a scenario which names no trust model is of this
    /// one.
    fn schema(&self, meant: bool) -> Json {
        let mut sections = self.tables().into_iter();
        let mut schema = sections.next().map_or(Json::Null, |head| head.schema());
        schema["title"] = self.name.into();
        schema["description"] = self.description.into();
        schema["properties"]["trust"] = json!({"const": self.name});
        if !meant && let Some(required) = schema["required"].as_array_mut() {
            required.push("trust".into());
        }
        for section in sections {
            schema["properties"][section.name] = section.schema();
            schema["properties"][section.name]["description"] = section.about.into();
        }
        schema
    }
}

/// The JSON schema of scenarios of these trust models, for editors. Checks across keys are left to
/// `sordino`.
pub fn json_schema<M: ?Sized>(models: &[&TrustModel<M>]) -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sordino scenario",
        "oneOf": models.iter().enumerate().map(|(place, model)| model.schema(place == 0)).collect::<Vec<_>>(),
    })
}

/// A README with its tables of keys made again: the text between `<!-- keys TRUST.SECTION -->` and
/// `<!-- end -->`.
///
/// **Errors**: the name of a table that does not exist.
pub fn with_tables<M: ?Sized>(models: &[&TrustModel<M>], readme: &str) -> Result<String, String> {
    let mut parts = readme.split("<!-- keys ");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").ok_or("a marker without an end")?;
        let (_, rest) = rest
            .split_once("<!-- end -->")
            .ok_or_else(|| format!("{name}: no <!-- end -->"))?;
        let (trust, section) = name.split_once('.').unwrap_or((name, ""));
        let sections = models
            .iter()
            .find(|known| known.name == trust)
            .map(|known| known.tables())
            .unwrap_or_default();
        let section = sections
            .iter()
            .find(|known| known.name == section)
            .ok_or_else(|| format!("{name}: no such table"))?;
        let _ = write!(
            text,
            "<!-- keys {name} -->\n{}<!-- end -->{rest}",
            section.markdown()
        );
    }
    Ok(text)
}

/// A sentence as a continuation of another: without its capital, unless that belongs to a name or a
/// symbol.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first)
            if letters
                .clone()
                .next()
                .is_some_and(|second| second.is_lowercase() || second == ' ') =>
        {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}
