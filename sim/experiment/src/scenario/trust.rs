//! Trust models as a table: how their scenarios are named, documented and read.
//!
//! A table is a slice of [`TrustModel`]s; the program's own stands beside the trust models. To read
//! and to run scenarios, nothing else needs to know which trust models there are. By their names
//! some programs know more of them: what their regret is called (`results` of `sordino-report`), by
//! which keys their runs are paired (`compare` of `sordino-lab`), and that only a federation can be
//! exported and has a digest after every round (`--chain`).

use std::fmt::{self, Debug};

use toml::Value;

use super::head::Head;
use super::reader::{Problem, ScenarioError, Section};
use super::root::with_root;
use super::sections::SectionTables;

/// A trust model; `M` is the type that its scenarios are read as.
pub struct TrustModel<M: ?Sized> {
    /// Value of the key `trust`.
    pub name: &'static str,
    /// Who may see what, in one line for people.
    pub description: &'static str,
    /// The keys of its scenarios below the head, section by section.
    pub sections: fn() -> Vec<SectionTables>,
    /// Reads the root of a scenario that names it.
    pub read: fn(Section) -> Result<Box<M>, Problem>,
}

impl<M: ?Sized> Debug for TrustModel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<M: ?Sized> TrustModel<M> {
    /// All keys of its scenarios, section by section; those above all sections come first.
    pub fn tables(&self) -> Vec<SectionTables> {
        [SectionTables::of::<Head>("")]
            .into_iter()
            .chain((self.sections)())
            .collect()
    }
}

/// The problem, or, where a key above all sections is unknown that one of these sections has, that
/// one.
fn meant(problem: Problem, sections: &[SectionTables]) -> Problem {
    let Problem::UnknownKey { key, admissible } = problem else {
        return problem;
    };
    let within = sections.iter().find(|section| {
        let mut keys = section.tables.iter().flat_map(|table| &table.keys);
        !section.name.is_empty() && !section.many && keys.any(|known| known.name == key)
    });
    match within {
        Some(section) if !admissible.contains(&&*key) => {
            let meant = section.path_of(&key);
            Problem::Within { key, meant }
        }
        _ => Problem::UnknownKey { key, admissible },
    }
}

/// Reads a scenario from TOML after applying the `key=value` settings to it; the key `trust`
/// decides how. Where that key is missing, the first of the models is meant.
///
/// **Errors**: the first problem in the order of the text's sections, with key, value, admissible
/// range and line.
pub fn parse<M: ?Sized>(
    models: &[&TrustModel<M>],
    source: &str,
    text: &str,
    settings: &[String],
) -> Result<Box<M>, ScenarioError> {
    with_root(source, text, settings, |root| read(models, root))
}

/// Reads the section of all keys as the trust model does that it names.
fn read<M: ?Sized>(models: &[&TrustModel<M>], root: Section) -> Result<Box<M>, Problem> {
    let value = root.value("trust");
    let is_meant = |name: &str| value.is_none_or(|value| value.as_str() == Some(name));
    let Some(model) = models.iter().find(|model| is_meant(model.name)) else {
        let found = value.map_or(String::new(), Value::to_string);
        let names = models.iter().map(|model| format!("\"{}\"", model.name));
        let names: Vec<String> = names.collect();
        return Err(Problem::value("trust", found, names.join(", ")));
    };
    (model.read)(root).map_err(|problem| meant(problem, &model.tables()))
}
