//! Settings that are read, and that no method of the scenario uses: whoever set one believes that
//! it does something.

use std::fmt::{self, Display, Formatter};

use toml::Table;

use super::root;

/// Whether a method uses a key, in a scenario.
pub(super) type UsedBy<S, M> = fn(&S, M) -> bool;

/// Whether a key counts in a scenario.
pub(super) type Counts<S> = fn(&S) -> bool;

/// A setting that does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Unused {
    /// The dotted key.
    pub key: String,
    pub(super) why: Why,
}

/// Why nothing comes of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Why {
    /// No method of the scenario uses it; these would.
    Nobody(Vec<&'static str>),
    /// These methods do not follow it, and others do.
    Some(Vec<String>),
    /// It counts beside this, which the scenario does not say.
    Beside(&'static str),
}

/// The keys of a trust model that not every scenario of it uses; `M` are its methods.
pub(super) struct Uses<S: 'static, M: 'static> {
    /// The methods of a scenario.
    pub methods: fn(&S) -> &[M],
    /// All that there are.
    pub all: &'static [M],
    /// What a method is called.
    pub name: fn(M) -> &'static str,
    /// Keys that not every method uses.
    pub by: &'static [(&'static str, UsedBy<S, M>)],
    /// Keys that count beside some values of others only, and beside which.
    pub beside: &'static [(&'static str, Counts<S>, &'static str)],
}

impl<S, M: Copy> Uses<S, M> {
    /// Which of these dotted keys do nothing in a scenario.
    pub fn unused(&self, scenario: &S, keys: &[&str]) -> Vec<Unused> {
        let here = (self.methods)(scenario);
        let by = self.by.iter().filter(|(key, _)| keys.contains(key));
        let by = by.filter(|(_, uses)| !here.iter().any(|method| uses(scenario, *method)));
        let by = by.map(|(key, uses)| {
            let would = self.all.iter().filter(|method| uses(scenario, **method));
            Unused {
                key: (*key).to_owned(),
                why: Why::Nobody(would.map(|method| (self.name)(*method)).collect()),
            }
        });
        by.chain(beside(self.beside, scenario, keys)).collect()
    }
}

/// Those of the keys that count beside something which the scenario does not say.
pub(super) fn beside<S>(
    table: &[(&str, Counts<S>, &'static str)],
    scenario: &S,
    keys: &[&str],
) -> Vec<Unused> {
    let idle = table
        .iter()
        .filter(|(key, counts, _)| keys.contains(key) && !counts(scenario));
    idle.map(|(key, _, what)| Unused {
        key: (*key).to_owned(),
        why: Why::Beside(what),
    })
    .collect()
}

impl Display for Unused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.why {
            Why::Some(methods) => write!(
                f,
                "`{key}` is set and changes nothing for {}, whose ε is `prior.epsilon`, which the scenario gives: methods no longer \
                 spend the same",
                methods.join(", ")
            ),
            Why::Beside(what) => write!(
                f,
                "`{key}` is set and does nothing: it counts beside {what}, which is not so here"
            ),
            Why::Nobody(would) => {
                let would = if would.is_empty() {
                    "none".to_owned()
                } else {
                    would.join(", ")
                };
                write!(
                    f,
                    "`{key}` is set and does nothing: no method of this scenario uses it. Who would: {would}"
                )
            }
        }
    }
}

/// The dotted keys of `key=value` settings.
pub fn keys_of(settings: &[String]) -> Vec<&str> {
    settings
        .iter()
        .map(|setting| root::name_of(setting))
        .collect()
}

/// Which keys of a text do nothing; `unused` tells of keys, and `read` is what a text amounts to,
/// `None` where it is refused. A key that repeats what holds anyway, as all do in a run folder,
/// nobody meant to change, and one that must be given nobody could leave out.
pub fn of_text(
    text: &str,
    unused: impl Fn(&[&str]) -> Vec<Unused>,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<Unused> {
    // Text that is none is refused by who reads the scenario.
    let table = root::table("", text, &[]).unwrap_or_default();
    let sections = table
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_table()?)));
    let keys: Vec<String> = sections
        .flat_map(|(name, section)| section.keys().map(move |key| format!("{name}.{key}")))
        .collect();
    let dotted: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut told = unused(&dotted);
    if !told.is_empty() {
        let whole = read(text);
        told.retain(|told| {
            let rest = without(&table, &told.key).and_then(|rest| read(&rest));
            rest.is_some() && rest != whole
        });
    }
    told
}

/// The text of a table without one of its dotted keys; `None` if it has none such.
fn without(table: &Table, dotted: &str) -> Option<String> {
    let (section, key) = dotted.split_once('.')?;
    let mut rest = table.clone();
    rest.get_mut(section)?.as_table_mut()?.remove(key)?;
    toml::to_string(&rest).ok()
}
