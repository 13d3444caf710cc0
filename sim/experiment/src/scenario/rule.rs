//! What a key admits, stated once: the reader checks it; refusals, tables and the JSON schema show
//! it.

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_host::text::did_you_mean;
use toml::Value;

/// What one value may be, alone or in a list.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Number {
        low: f64,
        high: f64,
        open: bool,
    },
    Whole {
        low: u64,
        high: u64,
    },
    Flag,
    Text,
    OneOf(&'static [&'static str]),
    /// One of these, or a name defined elsewhere in the scenario.
    Named(&'static [&'static str]),
    Interval,
    Names,
    Keys,
}

/// The values that a key admits. NaN and infinite numbers are in no range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    item: Item,
    unit: &'static str,
    reason: &'static str,
    /// Fewest and most values of a list; `None` if the key has a single value.
    list: Option<(usize, usize)>,
    each: &'static str,
    different: bool,
    ascending: bool,
}

/// A value that a rule does not admit: its offending part, and what would have been accepted.
pub(super) struct Inadmissible {
    pub(super) value: String,
    pub(super) admissible: String,
}

impl Inadmissible {
    fn new(value: &Value, admissible: String) -> Self {
        Inadmissible {
            value: shown(value),
            admissible,
        }
    }
}

const fn rule(item: Item) -> Rule {
    Rule {
        item,
        unit: "",
        reason: "",
        list: None,
        each: "",
        different: false,
        ascending: false,
    }
}

/// A number from `low` to `high`.
pub const fn number(low: f64, high: f64) -> Rule {
    rule(Item::Number {
        low,
        high,
        open: false,
    })
}

/// A number strictly between `low` and `high`.
pub const fn between(low: f64, high: f64) -> Rule {
    rule(Item::Number {
        low,
        high,
        open: true,
    })
}

/// A whole number from `low` to `high`.
pub const fn whole(low: u64, high: u64) -> Rule {
    rule(Item::Whole { low, high })
}

/// `least` to `most` lists of at least two different names.
pub const fn lists(least: usize, most: usize) -> Rule {
    rule(Item::Names).list(least, most)
}

/// One of these names.
pub(crate) const fn one_of(names: &'static [&'static str]) -> Rule {
    rule(Item::OneOf(names))
}

/// One of these names, or the name of a table `[[method]]`; the reader of the whole scenario knows
/// those.
pub const fn named(names: &'static [&'static str]) -> Rule {
    rule(Item::Named(names))
}

impl Rule {
    /// Names the unit of the number.
    pub const fn unit(self, unit: &'static str) -> Rule {
        Rule { unit, ..self }
    }

    /// States why the key must be given, for the refusal if it is missing.
    pub const fn because(self, reason: &'static str) -> Rule {
        Rule { reason, ..self }
    }

    /// A list of `least` to `most` such values.
    pub const fn list(self, least: usize, most: usize) -> Rule {
        Rule {
            list: Some((least, most)),
            ..self
        }
    }

    /// Requires one value in the list for each of these.
    pub const fn each(self, each: &'static str) -> Rule {
        Rule { each, ..self }
    }

    /// Requires that no value stands in the list twice.
    pub const fn different(self) -> Rule {
        Rule {
            different: true,
            ..self
        }
    }

    /// Requires that every number of the list is above the one before.
    pub const fn ascending(self) -> Rule {
        Rule {
            ascending: true,
            ..self
        }
    }

    /// The ends of the range, or the names with `quote` around each.
    fn range(&self, quote: &str) -> String {
        match self.item {
            Item::Number {
                low,
                high,
                open: false,
            } => format!("{} to {}", end(low), end(high)),
            Item::Number {
                low,
                high,
                open: true,
            } => format!("({}, {})", end(low), end(high)),
            Item::Whole { low, high } if low == high => low.to_string(),
            Item::Whole { low, high } => format!("{low} to {high}"),
            Item::Flag => format!("{quote}true{quote}, {quote}false{quote}"),
            Item::Text => "one line".to_owned(),
            Item::OneOf(names) => joined(names, quote),
            Item::Named(names) => {
                format!("{}, the names of [[method]] tables", joined(names, quote))
            }
            Item::Interval => "[low, high]".to_owned(),
            Item::Names => "[name, name, …]".to_owned(),
            Item::Keys => "{ key = value, … }".to_owned(),
        }
    }

    /// The rule in short, for the column of ranges in a table.
    pub fn brief(&self) -> String {
        match self.list {
            None => self.with_unit(self.range("`")),
            Some(_) => self.admissible().replace('"', "`"),
        }
    }

    /// The admissible values in words, for a refusal.
    pub fn admissible(&self) -> String {
        let range = self.range("\"");
        let many = self.list.is_some();
        let said = match self.item {
            Item::Number { open: false, .. } if many => format!("numbers from {range}"),
            Item::Number { open: false, .. } => format!("a number from {range}"),
            Item::Number { open: true, .. } if many => format!("numbers in {range}"),
            Item::Number { open: true, .. } => format!("a number in {range}"),
            Item::Whole { .. } if many => format!("whole numbers from {range}"),
            Item::Whole { low, high } if low != high => format!("a whole number from {range}"),
            Item::OneOf(_) | Item::Named(_) if many => {
                return format!("a list of at least one of {range}");
            }
            Item::Whole { .. } | Item::OneOf(_) | Item::Named(_) => range,
            Item::Flag => "true or false".to_owned(),
            Item::Text => if many { "names" } else { "one line of text" }.to_owned(),
            Item::Interval => {
                "intervals [low, high] of numbers from -1e12 to 1e12, low below high".to_owned()
            }
            Item::Names => "lists of at least two different names".to_owned(),
            Item::Keys => "keys with their values, { \"section.key\" = value, … }".to_owned(),
        };
        let Some((least, most)) = self.list else {
            return self.with_unit(said);
        };
        let count = if least == most {
            most.to_string()
        } else {
            format!("{least} to {most}")
        };
        let different = if self.different { "different " } else { "" };
        let ascending = if self.ascending {
            ", in ascending order"
        } else {
            ""
        };
        let each = if self.each.is_empty() {
            String::new()
        } else {
            format!(", one for each {}", self.each)
        };
        self.with_unit(format!(
            "a list of {count} {different}{said}{ascending}{each}"
        ))
    }

    fn with_unit(&self, said: String) -> String {
        if self.unit.is_empty() {
            said
        } else {
            format!("{said}, in {}", self.unit)
        }
    }

    /// The admissible values and why the key must be given, for a refusal of a scenario that lacks
    /// it.
    pub(super) fn wanted(&self) -> String {
        let admissible = self.admissible();
        if self.reason.is_empty() {
            admissible
        } else {
            format!("{admissible}; {}", self.reason)
        }
    }

    /// Refuses a value of another type or outside the range.
    pub(super) fn check(&self, value: &Value) -> Result<(), Inadmissible> {
        let Some((least, most)) = self.list else {
            return if self.item.admits(value) {
                Ok(())
            } else {
                let admissible = self.admissible() + &self.near(value);
                Err(Inadmissible::new(value, admissible))
            };
        };
        let Some(items) = value
            .as_array()
            .filter(|items| !items.is_empty() || least == 0)
        else {
            return Err(Inadmissible::new(value, self.admissible()));
        };
        let wrong = items.iter().find(|item| !self.item.admits(item));
        let twice = items
            .iter()
            .enumerate()
            .find(|(i, item)| self.different && items[..*i].contains(item));
        let falls = self.ascending
            && !items
                .windows(2)
                .all(|pair| number_of(&pair[0]) < number_of(&pair[1]));
        match (self.item, wrong, twice) {
            // Of a list of names the one that is wrong is told, not all of them.
            (Item::OneOf(_) | Item::Named(_), Some(item), _) => {
                let admissible = self.range("\"") + &self.near(item);
                Err(Inadmissible::new(item, admissible))
            }
            (Item::OneOf(_) | Item::Named(_), None, Some((_, item))) => {
                let admissible = "every name at most once".to_owned();
                Err(Inadmissible::new(item, admissible))
            }
            (_, None, None) if !falls && (least..=most).contains(&items.len()) => Ok(()),
            _ => Err(Inadmissible::new(value, self.admissible())),
        }
    }

    /// The name that was probably meant by a text that is not a name.
    fn near(&self, value: &Value) -> String {
        match (self.item, value.as_str()) {
            (Item::OneOf(names), Some(text)) => did_you_mean(text, names),
            _ => String::new(),
        }
    }

    /// The rule as JSON schema; conditions that depend on other keys are left to the reader.
    pub(super) fn schema(&self) -> Json {
        let item = match self.item {
            Item::Number {
                low,
                high,
                open: false,
            } => json!({"type": "number", "minimum": low, "maximum": high}),
            Item::Number {
                low,
                high,
                open: true,
            } => {
                json!({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high})
            }
            Item::Whole { low, high } => {
                json!({"type": "integer", "minimum": low, "maximum": high})
            }
            Item::Flag => json!({"type": "boolean"}),
            Item::Text => json!({"type": "string", "minLength": 1}),
            Item::OneOf(names) => json!({"enum": names}),
            Item::Named(names) => {
                json!({"anyOf": [{"enum": names}, {"type": "string", "minLength": 1}]})
            }
            Item::Interval => {
                json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
            }
            Item::Names => {
                json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true})
            }
            Item::Keys => json!({"type": "object"}),
        };
        let Some((least, most)) = self.list else {
            return item;
        };
        json!({"type": "array", "items": item, "minItems": least, "maxItems": most, "uniqueItems": self.different})
    }

    /// A list of different values: at least one, at most all.
    const fn some(self) -> Rule {
        self.list(
            1,
            if let Item::OneOf(names) = self.item {
                names.len()
            } else {
                64
            },
        )
        .different()
    }
}

impl Item {
    fn admits(&self, value: &Value) -> bool {
        match *self {
            Item::Number { low, high, open } => number_of(value).is_some_and(|x| {
                x.is_finite()
                    && if open {
                        low < x && x < high
                    } else {
                        low <= x && x <= high
                    }
            }),
            Item::Whole { low, high } => value
                .as_integer()
                .and_then(|x| u64::try_from(x).ok())
                .is_some_and(|x| (low..=high).contains(&x)),
            Item::Flag => value.is_bool(),
            Item::Keys => value.is_table(),
            Item::Text | Item::Named(_) => value
                .as_str()
                .is_some_and(|text| !text.trim().is_empty() && !text.contains('\n')),
            Item::OneOf(names) => value.as_str().is_some_and(|name| names.contains(&name)),
            Item::Names => value.as_array().is_some_and(|names| {
                let twice = names
                    .iter()
                    .enumerate()
                    .any(|(i, name)| names[..i].contains(name));
                names.len() >= 2 && !twice && names.iter().all(|name| Item::Text.admits(name))
            }),
            Item::Interval => match value
                .as_array()
                .map(|ends| ends.iter().map(number_of).collect::<Vec<_>>())
            {
                Some(ends) => {
                    matches!(ends[..], [Some(low), Some(high)] if low < high && low.abs().max(high.abs()) <= 1e12)
                }
                None => false,
            },
        }
    }
}

fn number_of(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|x| x as f64))
}

/// Names with `quote` around each.
fn joined(names: &[&str], quote: &str) -> String {
    names
        .iter()
        .map(|name| format!("{quote}{name}{quote}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The value as a refusal quotes it: numbers without TOML's decorations.
fn shown(value: &Value) -> String {
    value
        .as_float()
        .map_or_else(|| value.to_string(), |x| x.to_string())
}

/// An end of a range, without an exponent where it is readable without one.
pub(super) fn end(x: f64) -> String {
    if x == 0.0 || (1e-3..1e5).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// A type that a key may have, with the values it admits unless the key's rule is narrower.
pub(super) trait Ruled {
    const RULE: Rule;
}

macro_rules! ruled {
    ($($Type:ty: $rule:expr;)+) => {
        $(impl Ruled for $Type {
            const RULE: Rule = $rule;
        })+
    };
}

ruled! {
    f64: number(f64::MIN, f64::MAX);
    u32: whole(0, u32::MAX as u64);
    u64: whole(0, i64::MAX as u64);
    usize: whole(0, u32::MAX as u64);
    bool: rule(Item::Flag);
    String: rule(Item::Text);
    PathBuf: rule(Item::Text);
    [f64; 2]: rule(Item::Interval);
    toml::Table: rule(Item::Keys);
    NoiseMultiplier: number(NoiseMultiplier::RANGE.0, NoiseMultiplier::RANGE.1);
    ClippingNorm: number(ClippingNorm::RANGE.0, ClippingNorm::RANGE.1);
}

impl<T: Ruled> Ruled for Option<T> {
    const RULE: Rule = T::RULE;
}

impl<T: Ruled> Ruled for Vec<T> {
    const RULE: Rule = T::RULE.some();
}

/// An enumeration whose values stand in scenarios by their names.
macro_rules! names {
    ($(#[$meta:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $Enum {
            $($(#[$doc])* #[serde(rename = $name)] $Variant,)+
        }

        impl $Enum {
            /// All, in the order of tables.
            pub const ALL: [$Enum; [$($name),+].len()] = [$($Enum::$Variant),+];

            /// The name in scenarios, tables and file names.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Enum::$Variant => $name,)+
                }
            }
        }

        $crate::scenario::rule::names!($Enum: $($name)+);
    };
    ($Enum:ty: $($name:literal)+) => {
        impl $crate::scenario::rule::Ruled for $Enum {
            const RULE: $crate::scenario::rule::Rule = $crate::scenario::rule::one_of(&[$($name),+]);
        }
    };
}
pub(super) use names;

names!(sordino_core::schedule::Mixing: "inverse-sqrt" "inverse");
names!(sordino_core::federated::OwnDraw: "joint" "features");
names!(sordino_core::federated::shares::Trust: "one-server" "two-servers");
names!(sordino_core::local::Constants: "theorem" "order-wise");
names!(sordino_core::kernel::Stationary: "squared-exponential" "matern-1/2" "matern-3/2" "matern-5/2");
