//! # sordino-engine
//!
//! The four trust models of [`sordino-sim`] as equals: each runs core's parties against a world and
//! leaves a record.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hub`] | a federation whose agents are elsewhere |
//! | `part` | which jobs are done by which of many processes |
//! | [`contract`] | what each trust model is to the rest of the program |
//! | [`jobs`] | jobs on all cores |
//! | [`federated`] | a trusted server aggregates what agents send it |
//! | [`outsourced`] | a curator's inputs, a modeler that sees them transformed |
//! | [`local`] | nobody trusted: every user perturbs its own reward |
//! | `output` | one party tunes and publishes: private releases beside the best and a random candidate |
//!
//! A scenario is data. [`MODELS`] is the list of trust models; where else a name is known, the head
//! of `scenario::trust` in `sordino-experiment` says.
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod contract;
pub mod federated;
pub mod hub;
pub mod jobs;
pub mod local;
mod output;
pub mod outsourced;
mod part;

pub use contract::{DriverKind, Model, ModelError, Options, Steps, TrustModel};
pub use part::{Part, Share};

use sordino_experiment::scenario::{self, ScenarioError};

/// All trust models; a scenario that names none has the first.
pub const MODELS: &[&TrustModel] = &[
    &federated::TRUST,
    &outsourced::TRUST,
    &local::TRUST,
    &output::TRUST,
];

/// Reads a scenario of any trust model.
///
/// **Errors**: as [`scenario::parse`].
pub fn parse(
    source: &str,
    text: &str,
    settings: &[String],
) -> Result<Box<dyn Model>, ScenarioError> {
    scenario::parse(MODELS, source, text, settings)
}
