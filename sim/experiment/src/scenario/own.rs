//! A scenario's own methods, the tables `[[method]]`: each is a shipped method with other values of
//! some keys, or, of base `custom`, one whose parties a program hands in.
//!
//! Such a method is its base in the scenario read again with `set` applied, so defaults that follow
//! from a changed key change too. Every key in which the two scenarios then differ is written out.

use serde::Serialize;
use toml::{Table, Value};

use super::keys::keys;
use super::method::{BASES, CUSTOM, Method, MethodName, NAME_MAX};
use super::reader::{Problem, Section};
use super::rule::one_of;

keys! {
    /// A method of your own: a shipped one with other values of some keys. It stands beside the
    /// others in everything that a run leaves, with its own ε.
    pub struct OwnKeys {
        /// Its name; 1 to 40 of a to z, 0 to 9, `-`, `_`, `.`, a letter first.
        name: String [given "mine"];
        /// The method that it is, but for `set`.
        base: MethodName [given "dp-fts-de"] in one_of(BASES);
        /// Keys with their values, as in `{ "privacy.noise_multiplier" = 2 }`: of `[surrogate]`,
        /// `[privacy]`, `[prior]`, `federation.{splits, mixing, constant}`.
        set: Option<Table> [none { "privacy.noise_multiplier" = 2 }];
        /// Of the base `custom`, a method of a program that uses the library: digest of that
        /// method.
        digest: Option<String> [none "the program's"];
    }
}

/// The keys that all methods of a run have in common: the beginning of each key, and why.
const COMMON: [(&str, &str); 15] = [
    ("trust", "all methods of a run are of one trust model"),
    ("name", "it is the scenario's"),
    ("description", "it is the scenario's"),
    (
        "seed",
        "all methods of a run meet the same functions and noise",
    ),
    ("runs", "all methods of a run are paired"),
    (
        "objective",
        "all methods of a run meet the same functions, candidates and noise",
    ),
    ("faults", "all methods of a run meet the same faults"),
    ("method", "a method does not define methods"),
    (
        "federation.agents",
        "all methods of a run have the same agents",
    ),
    ("federation.rounds", "regret is compared round by round"),
    (
        "federation.initial_points",
        "all methods of a run may evaluate equally often",
    ),
    ("federation.methods", "a method is one"),
    ("federation.observations", "it is the folder's"),
    (
        "surrogate.scalar",
        "all methods of a run compute in one format",
    ),
    ("privacy.delta", "ε of all methods is told at one δ"),
];

/// The keys that a method may set instead.
const FREE: &str = "keys of [surrogate] but `scalar`, of [privacy] but `delta`, of [prior], and federation.splits, \
                    federation.mixing, federation.constant";

/// One of a scenario's own methods, read; `S` is the type of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnMethod<S> {
    /// The method's keys; `set` holds every key that differs.
    pub keys: OwnKeys,
    /// Its name, its base and what its parties do.
    pub method: Method,
    /// The scenario as the method sees it.
    pub scenario: Box<S>,
}

impl<S> Serialize for OwnMethod<S> {
    fn serialize<W: serde::Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        self.keys.serialize(serializer)
    }
}

/// The keys of all own methods, in order, with the paths of their tables.
///
/// **Errors**: a table that is inadmissible by itself: an unknown key, a name already taken, an
/// unknown base.
pub(super) fn declared(sections: Vec<Section>) -> Result<Vec<(String, OwnKeys)>, Problem> {
    let mut found: Vec<(String, OwnKeys)> = Vec::new();
    for section in sections {
        let path = section.path().to_owned();
        let keys = OwnKeys::read(section)?;
        let OwnKeys {
            name, base, digest, ..
        } = &keys;
        if !is_name(name) {
            let admissible =
                format!("1 to {NAME_MAX} of a to z, 0 to 9, -, _ and ., a letter first");
            return Err(refused(&path, "name", name, admissible));
        }
        let taken = found.iter().any(|(_, other)| other.name == *name);
        if taken || name == CUSTOM || Method::from_name(name).is_some() {
            let admissible = "a name that no other method has".to_owned();
            return Err(refused(&path, "name", name, admissible));
        }
        if let Some(digest) = digest.as_ref()
            && base.name() != CUSTOM
        {
            let admissible = format!("no such key beside the base {base}");
            return Err(refused(&path, "digest", digest, admissible));
        }
        found.push((path, keys));
    }
    Ok(found)
}

/// Whether a text has the form of a method's name.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c))
        && text.len() <= NAME_MAX
}

/// Refuses a text under a key of the table at `path`.
fn refused(path: &str, key: &str, text: &str, admissible: String) -> Problem {
    Problem::value(&format!("{path}.{key}"), format!("\"{text}\""), admissible)
}

/// Why a key is common to all methods of a run; `None` if a method may set it.
fn why_common(key: &str) -> Option<&'static str> {
    COMMON
        .iter()
        .find(|(start, _)| key == *start || key.starts_with(&format!("{start}.")))
        .map(|(_, why)| *why)
}

impl<S: Serialize> OwnMethod<S> {
    /// Reads the scenario again as the method with these keys sees it. `root` is the scenario's
    /// text without the tables `[[method]]`, `whole` the scenario that was read from it, and `read`
    /// reads a scenario from another table.
    pub(super) fn read(
        (path, mut keys): (String, OwnKeys),
        place: usize,
        root: &Table,
        whole: &S,
        read: impl FnOnce(Section, Method) -> Result<S, Problem>,
    ) -> Result<Self, Problem> {
        let method = match Method::from_name(keys.base.name()) {
            Some(base) => base.of_scenario(MethodName::new(&keys.name), place),
            None => Method::custom(MethodName::new(&keys.name), place),
        };
        let set = flat(keys.set.as_ref().unwrap_or(&Table::new()));
        let mut table = root.clone();
        for (key, value) in &set {
            if let Some(why) = why_common(key) {
                let admissible = format!("{FREE}; {why}");
                return Err(Problem::value(
                    &format!("{path}.set.{key}"),
                    value,
                    admissible,
                ));
            }
            if !put(&mut table, key, value.clone()) {
                return Err(Problem::value(&format!("{path}.set.{key}"), value, FREE));
            }
        }
        // What a program brings is read as agents alone: it has no key of its own.
        let base = Method::from_name(keys.base.name()).map_or("ts", Method::name);
        put(
            &mut table,
            "federation.methods",
            Value::Array(vec![base.into()]),
        );
        let scenario =
            read(Section::root(table), method).map_err(|problem| blamed(problem, &path, &set))?;
        let own = flat(&written(&scenario));
        let all = flat(&written(whole));
        let differing: Table = own
            .into_iter()
            .filter(|(key, value)| why_common(key).is_none() && all.get(key) != Some(value))
            .collect();
        keys.set = Some(differing).filter(|set| !set.is_empty());
        Ok(OwnMethod {
            keys,
            method,
            scenario: Box::new(scenario),
        })
    }
}

fn written(scenario: &impl Serialize) -> Table {
    Table::try_from(scenario).unwrap_or_default()
}

/// Dotted keys with their values, whether they were written with dots or as tables.
fn flat(table: &Table) -> Table {
    let mut flattened = Table::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                flattened.extend(
                    flat(inner)
                        .into_iter()
                        .map(|(name, value)| (format!("{key}.{name}"), value)),
                );
            }
            value => _ = flattened.insert(key.clone(), value.clone()),
        }
    }
    flattened
}

/// Writes a dotted key; false if something along its path is not a table.
fn put(table: &mut Table, key: &str, value: Value) -> bool {
    match key.split_once('.') {
        None => _ = table.insert(key.to_owned(), value),
        Some((section, rest)) => match table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()))
        {
            Value::Table(inner) => return put(inner, rest, value),
            _ => return false,
        },
    }
    true
}

/// A problem of the scenario as the method sees it, reported for the method's own table.
fn blamed(problem: Problem, path: &str, set: &Table) -> Problem {
    match problem {
        Problem::UnknownKey { key, admissible } => Problem::UnknownKey {
            key: format!("{path}.set.{key}"),
            admissible,
        },
        Problem::Value {
            key,
            value,
            admissible,
        } if set.contains_key(&key) => Problem::Value {
            key: format!("{path}.set.{key}"),
            value,
            admissible,
        },
        Problem::Value {
            key,
            value,
            admissible,
        } => {
            let said: Vec<String> = set
                .iter()
                .map(|(key, value)| format!("{key} = {value}"))
                .collect();
            let admissible = format!(
                "keys with which every other is admissible; `{key} = {value}` is not: {admissible}"
            );
            Problem::Value {
                key: format!("{path}.set"),
                value: said.join(", "),
                admissible,
            }
        }
        other => other,
    }
}
