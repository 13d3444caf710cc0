//! Scenarios: a TOML file, read once into values that cannot be invalid afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rule`] | what a key admits: checked, and written as English, Markdown and JSON schema |
//! | [`keys`] | one line for each key, from which struct, reader, refusals and tables are made |
//! | `reader` | a TOML table from which every key is taken once; refusals with key, value, range, line |
//! | `root` | makes such a table from text and `--set` |
//! | `trust`, [`method`] | the table of trust models, by which a scenario is read; federated methods by their names |
//! | `head`, `kernel`, `faults` | keys that several trust models share; what goes wrong |
//! | [`objective`], `design`, [`space`] | what a federation optimises; candidate designs; inputs in the user's units |
//! | `fedhpo` | an objective that is a table of federated trainings |
//! | [`federated`], [`outsourced`], [`local`], [`output`] | each trust model's tables, and checks across keys |
//! | `own` | `[[method]]` of `federated`: a base with other values of some keys |
//! | `prior` | `[prior]` of `federated`: releases, shares, features and ε of the federated prior |
//! | [`unused`] | settings that no method of a scenario uses: a warning, never a refusal |
//! | `sections` | a scenario as its head and sections |
//! | `tell`, `starter` | the tables for README, terminal and editors; a scenario to start from |
//! | `shipped` | the scenarios compiled into the program |
//!
//! The meaning of every key is in `sim/experiment/scenarios/README.md`, whose tables are made here,
//! and in `sordino scenario keys`.

mod design;
mod faults;
pub mod federated;
mod fedhpo;
mod head;
mod kernel;
pub mod keys;
pub mod local;
pub mod method;
pub mod objective;
pub mod output;
pub mod outsourced;
pub(crate) mod own;
mod prior;
mod reader;
mod root;
pub mod rule;
mod sections;
mod shipped;
pub mod space;
mod starter;
mod tell;
pub(crate) mod trust;
pub mod unused;
mod used;

pub use design::DesignConfig;
pub use faults::FaultConfig;
pub use federated::{FederationConfig, PrivacyConfig, ScalarKind, Scenario, SurrogateConfig};
pub use fedhpo::FedhpoConfig;
pub use head::{FEDERATED, Head};
pub use kernel::KernelConfig;
pub use method::{Guarantee, Method, MethodName};
pub use objective::{
    CommandConfig, CustomConfig, Differences, FunctionConfig, GpSampleConfig, LandmineConfig,
    ObjectiveConfig, TableConfig, TuningConfig,
};
pub use own::{OwnKeys, OwnMethod};
pub use prior::{CAMPAIGN_RELEASES, PriorConfig, PriorPlan};
pub use reader::{Problem, ScenarioError, Section};
pub use root::{set_once, table};
pub use sections::SectionTables;
pub use shipped::{SHIPPED, Shipped, conclusion};
pub use starter::starter;
pub use tell::{json_schema, with_tables};
pub use trust::{TrustModel, parse};
