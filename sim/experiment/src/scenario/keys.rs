//! One line for each key: from a table of such lines, `keys!` makes the struct, its reader, and the
//! contents of tables, schema and starter. `kinds!` chooses between such tables by the key `kind`.
//!
//! A line is `name: Type [default] in rule => rule here;` under its sentence. The rule is a
//! [`Rule`]; if there is none, the type's own rule holds. After `=>` stands a rule that depends on
//! the keys read before. Defaults:
//!
//! | default | meaning |
//! |---|---|
//! | `[given EXAMPLE]` | it must be given |
//! | `[given EXAMPLE, "words" VALUE]` | it must be given unless `VALUE` is `Some` |
//! | `[is VALUE]` | this constant |
//! | `[like "words" VALUE]` | computed from what was read before |
//! | `[none EXAMPLE]` | it may be missing, and the field is an `Option` |
//! | `[group "words" VALUE]` | not a key but a table of keys, read with this argument |

use super::rule::{Rule, end};

/// A key as tables, schema and starter show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name inside its section.
    pub name: &'static str,
    /// What it admits, whatever the other keys are.
    pub rule: Rule,
    /// What holds if it is missing.
    pub preset: Preset,
    /// The meaning of the key, as a sentence.
    pub sentence: &'static str,
}

/// The value that holds if a key is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Preset {
    /// Nothing: it must be given, as in this TOML, unless the words name where its value comes
    /// from.
    Given(&'static str, Option<&'static str>),
    /// A constant, as TOML.
    Constant(String),
    /// A value computed as the words say.
    Computed(&'static str),
    /// Nothing; it may be given, as in this TOML.
    Absent(&'static str),
}

impl Key {
    /// The default for a table, as `quote`d TOML or in words; empty if there is none.
    pub fn default_in(&self, quote: &str) -> String {
        match &self.preset {
            Preset::Given(_, None) => String::new(),
            Preset::Constant(value) => {
                let value = value
                    .parse()
                    .map_or_else(|_| value.trim_matches('"').to_owned(), end);
                format!("{quote}{value}{quote}")
            }
            Preset::Given(_, Some(words)) | Preset::Computed(words) => (*words).to_owned(),
            Preset::Absent(_) => "none".to_owned(),
        }
    }

    /// The key as part of a group whose missing values come from elsewhere, as the words say.
    pub(super) fn of_group(mut self, words: &'static str) -> Key {
        if !words.is_empty() {
            self.preset = match self.preset {
                Preset::Given(example, _) => Preset::Given(example, Some(words)),
                _ => Preset::Computed(words),
            };
        }
        self
    }
}

/// The keys of a section, or of one kind of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Values of the key `kind` that have these keys, with their meanings; empty if the section has
    /// no kinds.
    pub kinds: Vec<(&'static str, &'static str)>,
    /// Its keys in the order of the resolved scenario.
    pub keys: Vec<Key>,
}

/// A type that is read from a section.
pub(super) trait Documented {
    /// What the section is about.
    const ABOUT: &'static str;

    /// All keys it may have.
    fn tables() -> Vec<Table>;
}

macro_rules! keys {
    (
        $(#[doc = $about:literal])+
        $(#[derive($Also:ident)])?
        pub struct $Struct:ident $(($($given:ident: $Given:ty),+))? {
            $($(#[doc = $doc:literal])+ $name:ident: $ty:ty [$($default:tt)+] $(in $rule:expr $(=> $here:expr)?)?;)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq $(, $Also)?)]
        pub struct $Struct {
            $($(#[doc = $doc])+ pub $name: $ty,)*
        }

        #[allow(unused_variables, reason = "a section without keys reads nothing")]
        impl $Struct {
            /// Takes its keys from a section that may have others.
            pub(super) fn take(section: &mut Section $($(, $given: $Given)+)?) -> Result<Self, Problem> {
                $(let $name: $ty =
                    $crate::scenario::keys::take!(section, $name, $ty, [$($default)+], $(($rule) $(($here))?)?);)*
                Ok($Struct { $($name),* })
            }

            /// Reads a section that has these keys and no others.
            #[allow(dead_code, reason = "a group is only taken")]
            pub(super) fn read(mut section: Section $($(, $given: $Given)+)?) -> Result<Self, Problem> {
                section.only(&<Self as $crate::scenario::keys::Documented>::tables()[0].keys)?;
                Self::take(&mut section $($(, $given)+)?)
            }

            pub(super) fn put_all<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::scenario::keys::put!(self.$name, $name, [$($default)+], map);)*
                Ok(())
            }
        }

        impl $crate::scenario::keys::Documented for $Struct {
            const ABOUT: &'static str = concat!($($about),+);

            fn tables() -> Vec<$crate::scenario::keys::Table> {
                let keys: Vec<Vec<$crate::scenario::keys::Key>> = vec![$($crate::scenario::keys::tell!(
                    $name, $ty, [$($default)+], concat!($($doc),+), $(($rule))?
                )),*];
                vec![$crate::scenario::keys::Table { kinds: Vec::new(), keys: keys.concat() }]
            }
        }

        impl serde::Serialize for $Struct {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serde::Serializer::serialize_map(serializer, None)?;
                self.put_all(&mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };
}

macro_rules! take {
    ($section:ident, $name:ident, $ty:ty, [group $words:literal $value:expr], ) => {
        <$ty>::take($section, $value)?
    };
    ($section:ident, $name:ident, $ty:ty, [none $example:expr], $($rule:tt)*) => {
        $section.optional(stringify!($name), &$crate::scenario::keys::rule!($ty, $($rule)*))?
    };
    ($section:ident, $name:ident, $ty:ty, $default:tt, $($rule:tt)*) => {
        $section.required(
            stringify!($name),
            &$crate::scenario::keys::rule!($ty, $($rule)*),
            $crate::scenario::keys::value!($default),
        )?
    };
}

/// The value of a key that is missing, if there is one.
macro_rules! value {
    ([given $example:expr]) => {
        None
    };
    ([given $example:expr, $words:literal $value:expr]) => {
        $value
    };
    ([is $value:expr]) => {
        Some($value)
    };
    ([like $words:literal $value:expr]) => {
        Some($value)
    };
}

/// The rule that holds here: the narrowest that is written down.
macro_rules! rule {
    ($ty:ty, ) => {
        <$ty as $crate::scenario::rule::Ruled>::RULE
    };
    ($ty:ty, ($rule:expr)) => {
        $rule
    };
    ($ty:ty, ($rule:expr) ($here:expr)) => {
        $here
    };
}

macro_rules! put {
    ($value:expr, $name:ident, [group $($rest:tt)*], $map:ident) => {
        $value.put_all($map)?
    };
    ($value:expr, $name:ident, [none $($rest:tt)*], $map:ident) => {
        if let Some(value) = &$value {
            $map.serialize_entry(stringify!($name), value)?
        }
    };
    ($value:expr, $name:ident, $default:tt, $map:ident) => {
        $map.serialize_entry(stringify!($name), &$value)?
    };
}

macro_rules! tell {
    ($name:ident, $ty:ty, [group $words:literal $value:expr], $doc:expr, ) => {
        <$ty as $crate::scenario::keys::Documented>::tables()
            .into_iter()
            .flat_map(|table| table.keys)
            .map(|key| key.of_group($words))
            .collect()
    };
    ($name:ident, $ty:ty, $default:tt, $doc:expr, $($rule:tt)*) => {
        vec![$crate::scenario::keys::Key {
            name: stringify!($name),
            rule: $crate::scenario::keys::rule!($ty, $($rule)*),
            preset: $crate::scenario::keys::preset!($ty, $default),
            sentence: $doc.trim_ascii(),
        }]
    };
}

macro_rules! preset {
    ($ty:ty, [given $example:expr]) => {
        $crate::scenario::keys::Preset::Given(stringify!($example), None)
    };
    ($ty:ty, [given $example:expr, $words:literal $value:expr]) => {
        $crate::scenario::keys::Preset::Given(stringify!($example), Some($words))
    };
    ($ty:ty, [is $value:expr]) => {{
        let value: $ty = $value;
        $crate::scenario::keys::Preset::Constant(
            toml::Value::try_from(value).map_or_else(|e| e.to_string(), |v| v.to_string()),
        )
    }};
    ($ty:ty, [like $words:literal $value:expr]) => {
        $crate::scenario::keys::Preset::Computed($words)
    };
    ($ty:ty, [none $example:expr]) => {
        $crate::scenario::keys::Preset::Absent(stringify!($example))
    };
}

/// One of several structs of keys, chosen by the key `kind`.
macro_rules! kinds {
    ($(#[doc = $about:literal])+ pub enum $Enum:ident {
        $($(#[doc = $doc:literal])+ $Variant:ident($Keys:ty) = $name:literal,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "kind")]
        pub enum $Enum {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $Variant($Keys),)+
        }

        impl $Enum {
            pub(super) fn read(mut section: Section) -> Result<Self, Problem> {
                let kind: String =
                    section.required("kind", &$crate::scenario::rule::one_of(&[$($name),+]), None)?;
                match kind.as_str() {
                    $($name => <$Keys>::read(section).map($Enum::$Variant),)+
                    _ => Err(section.refuse("kind", kind, "")),
                }
            }
        }

        impl $crate::scenario::keys::Documented for $Enum {
            const ABOUT: &'static str = concat!($($about),+);

            fn tables() -> Vec<$crate::scenario::keys::Table> {
                let mut tables: Vec<$crate::scenario::keys::Table> = Vec::new();
                $(for mut table in <$Keys as $crate::scenario::keys::Documented>::tables() {
                    let kind = ($name, concat!($($doc),+).trim_ascii());
                    match tables.iter_mut().find(|other| other.keys == table.keys) {
                        Some(same) => same.kinds.push(kind),
                        None => {
                            table.kinds.push(kind);
                            tables.push(table);
                        }
                    }
                })+
                tables
            }
        }
    };
}

pub(super) use {keys, kinds, preset, put, rule, take, tell, value};

#[cfg(test)]
mod tests {
    use super::super::reader::{Problem, Section};
    use super::super::rule::number;
    use super::super::sections::SectionTables;

    keys! {
        /// A toy section of one key.
        pub struct Toy {
            /// How loud it is, beside its neighbours.
            loudness: f64 [is 0.5] in number(0.25, 2.0).unit("sone");
        }
    }

    fn read(text: &str) -> Result<Toy, Problem> {
        let mut root = Section::root(text.parse().unwrap());
        Toy::read(root.section("toy")?)
    }

    /// The one line above makes its reader, its refusal, its row, its schema, its text and its
    /// resolved form.
    #[test]
    fn a_key_is_one_line() {
        assert_eq!(read("").unwrap(), Toy { loudness: 0.5 });
        assert_eq!(read("toy.loudness = 1").unwrap(), Toy { loudness: 1.0 });
        let admissible = "a number from 0.25 to 2, in sone";
        assert_eq!(
            read("toy.loudness = 3").unwrap_err(),
            Problem::value("toy.loudness", 3, admissible)
        );
        let unknown = Problem::UnknownKey {
            key: "toy.loudnes".into(),
            admissible: vec!["loudness"],
        };
        assert_eq!(read("toy.loudnes = 1").unwrap_err(), unknown);
        assert_eq!(
            toml::to_string(&Toy { loudness: 1.0 }).unwrap(),
            "loudness = 1.0\n"
        );

        let section = SectionTables::of::<Toy>("toy");
        let row = "| `loudness` | 0.25 to 2, in sone | `0.5` | How loud it is, beside its neighbours. |\n";
        assert!(section.markdown().contains(row), "{}", section.markdown());
        assert!(
            section
                .text()
                .contains("loudness  a number from 0.25 to 2, in sone; default: 0.5\n")
        );
        let schema = &section.schema()["properties"]["loudness"];
        assert_eq!(
            (&schema["minimum"], &schema["maximum"], &schema["default"]),
            (&0.25.into(), &2.0.into(), &0.5.into())
        );
        assert_eq!(
            schema["description"],
            "How loud it is, beside its neighbours. (default: 0.5)"
        );
    }
}
