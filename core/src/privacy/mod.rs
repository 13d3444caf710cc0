//! Private releases: who is protected from whom is a type, noise is integers, and nothing leaves
//! without its event.
//!
//! | module | what it holds |
//! |---|---|
//! | [`event`] | what a release costs: mechanism, parameters, neighbouring relation |
//! | [`shift`] | how far a protected shift goes, in the data owner's units |
//! | [`quantity`] | noise multiplier and clipping norm, checked once |
//! | [`sampling`] | exact coins for Poisson sampling |
//! | [`epsilon`] | pure ε as an exact rational; budgets per person |
//! | [`sensitivity`] | the weighted sum's sensitivity, tight and the paper's |
//! | [`encode`] | clip, scale, truncate to the integer grid; the exact integer norm check |
//! | [`mechanism`] | the samplers that own their sensitivity and their event |
//! | [`accountant`] | events → (ε, δ), never below the truth |
//! | [`budget`] | the filter that refuses, the odometer that tells |
//! | [`charge`] | the charge a release names, the receipt a ledger gives for it, without which nothing leaves |
//! | [`calibrate`] | a target (ε, δ) → noise, rounds, sampling |
//!
//! The order in every release: the event is offered to the filter; a ledger writes the charge down
//! and gives a receipt; the noise is drawn; the data is touched; value and event leave together.
//! Privacy rests on integers: the norm check of [`encode`], the samplers of
//! [`crate::random::exact`], the coin thresholds of [`sampling`]. Floating point before the check
//! and after the noise cannot weaken it.
//!
//! **Example**: a budget and what is charged to it, [`budget::Filter`]; a mechanism,
//! [`mechanism::gaussian::GridGaussian`].

pub mod accountant;
pub mod budget;
pub mod calibrate;
pub mod charge;
pub mod encode;
pub mod epsilon;
pub mod event;
pub mod mechanism;
pub mod quantity;
pub mod sampling;
pub mod sensitivity;
pub mod shift;

pub use crate::random::{
    NoiseError, NoiseSource, Nonce, Private, Provenance, Secret, Simulated, Simulation, SourceKind,
};
pub use charge::{Charge, Ledger, Receipt};
pub use epsilon::Epsilon;
pub use event::{Event, NeighboringRelation, Release};
pub use quantity::{ClippingNorm, NoiseMultiplier};
pub use sampling::SamplingProbability;
pub use shift::ShiftUnit;
