//! A scenario of one trust model: the head and its sections, each read once.

use super::keys::{Documented, Table};

/// A section as tables, schema and starter show it.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionTables {
    /// Its name; empty for the keys above all sections.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// One table, or one for each kind.
    pub tables: Vec<Table>,
    /// Whether there may be several, `[[name]]`.
    pub many: bool,
}

impl SectionTables {
    pub(super) fn of<C: Documented>(name: &'static str) -> Self {
        SectionTables {
            name,
            about: C::ABOUT.trim_ascii(),
            tables: C::tables(),
            many: false,
        }
    }

    /// Marks a section that may stand several times.
    pub(super) fn many(self) -> Self {
        SectionTables { many: true, ..self }
    }

    /// The dotted name of one of its keys.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    /// Its header in TOML; empty for the keys above all sections.
    pub(super) fn head(&self) -> String {
        match (self.name, self.many) {
            ("", _) => String::new(),
            (name, true) => format!("[[{name}]]"),
            (name, false) => format!("[{name}]"),
        }
    }
}

/// The struct of a scenario with its head, its sections in the order in which they are read, and
/// its `check` of what no single key can know.
macro_rules! sections {
    (
        $(#[doc = $about:literal])+
        pub struct $Scenario:ident of $trust:literal { $($section:ident: $Config:ty = ($($given:expr),*);)+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $Scenario {
            /// Name, seed and number of runs.
            #[serde(flatten)]
            pub head: $crate::scenario::Head,
            $(#[doc = concat!("Section `", stringify!($section), "`.")] pub $section: $Config,)+
        }

        impl $Scenario {
            /// Reads a scenario from TOML, after the `key=value` settings were applied to it.
            ///
            /// **Errors**: the first problem in the order of the text's sections, with key, value,
            /// admissible range and line.
            pub fn parse(
                source: &str,
                text: &str,
                settings: &[String],
            ) -> Result<Self, $crate::scenario::ScenarioError> {
                $crate::scenario::root::with_root(source, text, settings, Self::read)
            }

            /// The scenario with every default written out: TOML that reads back as the same
            /// scenario.
            pub fn resolved(&self) -> String {
                toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
            }

            /// Reads the root of a scenario.
            pub fn read(mut root: Section) -> Result<Self, Problem> {
                let sections = [$(stringify!($section)),+];
                let head = $crate::scenario::Head::take_before(&mut root, &sections, $trust)?;
                $(let $section = <$Config>::read(root.section(stringify!($section))?, $($given),*)?;)+
                let scenario = $Scenario { head, $($section),+ };
                scenario.check()?;
                Ok(scenario)
            }

            /// What it may say below the head.
            pub fn sections() -> Vec<$crate::scenario::sections::SectionTables> {
                vec![$($crate::scenario::sections::SectionTables::of::<$Config>(stringify!($section))),+]
            }
        }
    };
}
pub(super) use sections;
