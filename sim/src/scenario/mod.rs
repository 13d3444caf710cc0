//! What is run: a TOML file, read once into values that cannot be wrong afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | `reader` | a TOML table from which every key is taken once: its type, its admissible range, its line |
//! | `root` | text and `--set` to such a table |
//! | [`trust`], [`method`] | trust models and federated methods by their names |
//! | `head`, `kernel`, `faults` | keys that several trust models share; what goes wrong |
//! | [`federated`], [`outsourced`], [`local`], [`output`] | every key of a trust model, its range and its default |
//! | `prior` | `[prior]` of `federated`: releases, shares, features and ε of the federated prior |
//! | [`any`] | a scenario of any of them |
//! | `shipped` | the scenarios compiled into the program |
//!
//! The meaning of every key is in `sim/scenarios/README.md`.

pub mod any;
mod faults;
pub mod federated;
mod head;
mod kernel;
pub mod local;
pub mod method;
pub mod output;
pub mod outsourced;
mod prior;
mod reader;
mod root;
mod shipped;
pub mod trust;

pub use any::AnyScenario;
pub use faults::FaultConfig;
pub use federated::{
    Differences, FederationConfig, GpSampleConfig, ObjectiveConfig, PrivacyConfig, ScalarKind, Scenario,
    SurrogateConfig, TuningConfig,
};
pub use head::Head;
pub use kernel::KernelConfig;
pub use method::{Guarantee, Method};
pub use prior::PriorConfig;
pub use reader::{Problem, ScenarioError, nearest};
pub use shipped::{SHIPPED, Shipped};
pub use trust::Trust;
