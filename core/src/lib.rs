//! # sordino-core
//!
//! Differentially private Bayesian optimisation without `std`, without a heap, without a clock: the same program on a
//! microcontroller, in a simulated federation and in a real one, down to the last bit.
//!
//! The modules are layers; each uses only those above it in this list:
//!
//! | module | what it holds |
//! |---|---|
//! | [`math`] | floating-point formats; the only door to transcendental functions |
//! | [`parameter`] | checks of numbers in configurations |
//! | [`digest`] | the chain of hashes that says "same bits" |
//! | [`wire`] | versioned frames for links |
//! | [`snapshot`] | states and logs in flash, whole or not at all |
//! | [`linalg`] | packed triangles, fixed-order sums |
//! | [`random`] | named streams, normal and Laplace draws for simulation; exact integer samplers for privacy |
//! | [`kernel`] | covariance functions |
//! | [`features`] | finite feature maps |
//! | [`domain`] | boxes, grids, candidate lists, sub-regions |
//! | [`surrogate`] | posteriors |
//! | [`acquisition`] | which candidate next |
//! | [`schedule`] | numbers that move with the round |
//! | [`optimizer`] | ask and tell without privacy |
//! | [`privacy`] | events, exact mechanisms on integer grids, accountants, budgets |
//! | [`federated`] | a trusted server, private towards everybody else |
//! | [`outsourced`] | a curator holds the inputs, a modeler optimises on a transformed copy |
//! | [`local`] | nobody trusted: every user perturbs the own reward |
//! | [`output`] | one party tunes on its own data and publishes the result |
//!
//! | feature | what it adds |
//! |---|---|
//! | `alloc` | decompositions of run-time size and the tight accountant; changes no number |
//! | `defmt` | `defmt::Format` for errors and phases |
//! | `rand_core-09`, `rand_core-06` | adapters for generators of older versions of rand_core |
#![no_std]
// Expected values of tests may come from the host's own functions.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(feature = "alloc")]
extern crate alloc;

/// Points are its vectors; the version that this crate speaks.
pub use heapless;
/// What a generator handed to [`random::Secret`] implements; the version that this crate speaks. Generators of older
/// versions come in through the features `rand_core-09` and `rand_core-06`.
pub use rand_core;

pub mod acquisition;
pub mod digest;
pub mod domain;
pub mod features;
pub mod federated;
pub mod kernel;
pub mod linalg;
pub mod local;
pub mod math;
pub mod optimizer;
pub mod output;
pub mod outsourced;
pub mod parameter;
pub mod privacy;
pub mod random;
pub mod schedule;
pub mod snapshot;
pub mod surrogate;
pub mod wire;
