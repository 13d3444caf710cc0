//! The four trust models: each runs core's parties against a world and leaves a record.
//!
//! | module | trust model |
//! |---|---|
//! | [`federated`] | a trusted server aggregates what agents send it |
//! | [`outsourced`] | a curator's inputs, a modeler that sees them transformed |
//! | [`local`] | nobody trusted: every user perturbs the own reward |
//! | [`output`] | one party tunes and publishes: private releases beside the best and a random candidate |
//! | [`experiment`], [`jobs`] | the frame of the last three; their jobs on all cores |
//!
//! A scenario is data; [`engine`] is the one place that chooses what executes it.

pub mod experiment;
pub mod federated;
pub mod jobs;
pub mod local;
pub mod output;
pub mod outsourced;

pub use experiment::{Experiment, ExperimentError, Options};

use crate::scenario::{AnyScenario, Scenario};

/// What executes a scenario.
#[derive(Debug)]
pub enum Engine {
    /// [`federated::run()`]: rounds of broadcasts.
    Rounds(Box<Scenario>),
    /// Jobs that know nothing of each other.
    Jobs(Box<dyn Experiment>),
}

/// Chooses by the trust model.
pub fn engine(scenario: AnyScenario) -> Engine {
    match scenario {
        AnyScenario::Federated(scenario) => Engine::Rounds(scenario),
        AnyScenario::Outsourced(scenario) => Engine::Jobs(scenario),
        AnyScenario::Local(scenario) => Engine::Jobs(scenario),
        AnyScenario::Output(scenario) => Engine::Jobs(scenario),
    }
}
