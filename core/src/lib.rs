//! # sordino-core
//!
//! Differentially private Bayesian optimisation without `std`, without a heap, without a clock: the
//! same program on a microcontroller, in a simulated federation and in a real one, down to the last
//! bit.
//!
//! # The problem
//!
//! Something has settings, trying one of them is expensive, and its result is noisy. *Bayesian
//! optimisation* keeps a Gaussian process of what is known so far and tries next where the process
//! says that a good value is likely. Many parties that search for the best setting of similar
//! things would learn faster together, but what each of them has measured is its secret. This crate
//! holds the searches, the messages between the parties, the noise that makes the messages private,
//! and the accounts of what they cost.
//!
//! Without anybody else, the loop is [`optimizer::Optimizer::suggest`], measure,
//! [`optimizer::Optimizer::observe`].
//!
//! # The loop of an agent
//!
//! A party is a state machine: it is told what happened and says what it wants. It names no clock,
//! socket or file, so the loop is yours, and the same in an interrupt, a task or a simulation:
//!
//! ```
//! use sordino_core::federated::{Agent, AgentError, Input, Output};
//!
//! /// A round: `begin` is [`Input::Start`], or the server's last broadcast. What is sent is what the others may see.
//! fn round(
//!     agent: &mut Agent<'_, f32>,
//!     begin: Input<'_, f32>,
//!     measure: &mut dyn FnMut(&[f32]) -> f32,
//!     send: &mut dyn FnMut(&[f32]),
//! ) -> Result<(), AgentError> {
//!     let mut input = begin;
//!     loop {
//!         input = match agent.handle(input)? {
//!             Output::Evaluate { point, .. } => Input::Observed(measure(point)),
//!             Output::Upload(weights) => return Ok(send(weights)),
//!             Output::Wait | Output::Done => return Ok(()),
//!         };
//!     }
//! }
//! ```
//!
//! An agent is its log of observations: store each before it is handed over ([`snapshot`] has the
//! format), and a reset at any instruction loses nothing.
//!
//! # The loop of a server
//!
//! A release takes two steps. The server names what it will cost; your ledger writes that down;
//! only the ledger's receipt makes the server draw its noise. A host that forgets to charge has
//! nothing to send:
//!
//! ```
//! use sordino_core::federated::{Server, ServerInput, ServerOutput};
//! use sordino_core::privacy::{Ledger, NoiseSource};
//!
//! fn round<S: NoiseSource, L: Ledger<S::Provenance>>(
//!     server: &mut Server<'_, f32>,
//!     uploads: &mut dyn Iterator<Item = (u32, u32, Vec<f32>)>, // agent, round, weights
//!     source: &mut S,
//!     ledger: &mut L,
//!     announce: &mut dyn FnMut(&[f32]),
//! ) -> Result<(), Box<dyn core::error::Error>>
//! where
//!     L::Error: core::error::Error + 'static,
//! {
//!     server.handle(ServerInput::Open, source)?; // the secret sample is drawn, before any upload
//!     for (agent, broadcast, vector) in uploads {
//!         server.handle(ServerInput::Upload { agent, broadcast, vector: &vector }, source)?; // clipped and summed
//!     }
//!     if let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? {
//!         let receipt = ledger.append(charge)?; // durable from here on
//!         if let ServerOutput::Broadcast { release, .. } = server.handle(ServerInput::Charged(receipt), source)? {
//!             announce(release.value());
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # The budget
//!
//! The promise is the ledger's: it writes no charge that would bring ε above what was promised, so
//! nothing beyond it is ever drawn. Offer the event before `Open` as well, and send
//! [`federated::ServerInput::Skip`] if it does not fit: then no sample is drawn for a round that
//! cannot be paid ([`privacy::budget`] has the order). A [`privacy::budget::Filter`] says what
//! still fits; here 200 agents in rounds of q = .25 and z = 2 at ε ≤ 4:
//!
//! ```
//! use sordino_core::privacy::{Charge, Ledger, Private, budget::{BudgetError, Filter}};
//!
//! struct Budgeted {
//!     filter: Filter,
//!     log: Vec<u8>, // a file or flash, waited for until it is durable
//! }
//!
//! impl Ledger<Private> for Budgeted {
//!     type Error = BudgetError;
//!     fn write(&mut self, charge: &Charge<Private>) -> Result<(), BudgetError> {
//!         for event in charge.events() {
//!             self.filter.charge(event)?; // refuses, and then nothing is released
//!             self.log.extend(charge.release().to_le_bytes());
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # use sordino_core::domain::Regions;
//! # use sordino_core::federated::{Aggregation, Config, Parameters, Server};
//! let private = Aggregation::private(4.0, 0.25, 2.0)?; // S, q, z
//! let config = Config::new(Parameters::usual(200, Regions::whole(1)?, 1000, 16, private))?;
//! let event = Server::<f32>::event_of(&config)?.ok_or("a private aggregation has an event")?;
//! let mut budget = Filter::new(4.0, 1e-5)?; // ε, δ
//! let mut rounds = 0;
//! while budget.charge(&event).is_ok() {
//!     rounds += 1;
//! }
//! assert!(rounds > 30 && budget.spent()?.epsilon <= 4.0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! `sordino privacy calibrate` goes the other way, from ε and T to z. What ε means and how q, z, S,
//! P and T are chosen: `docs/book/src/choosing.md`.
//!
//! Both loops as one program: `core/examples/agent_and_server.rs`; over a link that loses things:
//! `core/examples/own_link.rs`. `sordino-host` has the ledger and the entropy of a computer,
//! `sordino-net` a real server, `templates/embassy-agent` an agent on a microcontroller.
//!
//! # What must be kept secret
//!
//! * The *coins and noise* of a release: hand in a cryptographic generator ([`random::Secret`]). A
//!   simulated source ([`random::Simulated`]) makes releases of another type, which no private
//!   ledger pays for.
//! * The *secret sample*, sums and noise inside a round: they are wiped at its end, and must not be
//!   stored or sent.
//! * An agent's *seed*, log and own queries. A query is visible to those who evaluate it.
//!
//! Configuration, candidates, features, broadcasts, charges and ε are public, and nothing in them
//! may be fitted on data that is to be protected.
//!
//! # The modules
//!
//! The modules are layers; each uses only those above it in this list:
//!
//! | module | what it holds |
//! |---|---|
//! | [`math`] | floating-point formats; the only door to transcendental functions |
//! | [`dispatch`] | hot loops for several vector widths |
//! | [`parameter`] | checks of numbers in configurations |
//! | [`digest`] | the chain of hashes that says "same bits" |
//! | [`wire`] | versioned frames for links |
//! | [`snapshot`] | states and logs in flash, whole or not at all |
//! | [`linalg`] | packed triangles, fixed-order sums |
//! | [`random`] | named streams, normal and Laplace draws for simulation; exact integer samplers for privacy |
//! | [`kernel`] | covariance functions |
//! | [`features`] | finite feature maps |
//! | [`domain`] | boxes, grids, candidate lists, sub-regions |
//! | [`space`] | what is searched, in a user's units: real and whole numbers, categories, levels, context |
//! | [`surrogate`] | posteriors |
//! | [`acquisition`] | which candidate next |
//! | [`schedule`] | numbers that move with the round |
//! | [`optimizer`] | ask and tell without privacy |
//! | [`prior`] | a search that begins with what others learned in common |
//! | [`privacy`] | events, exact mechanisms on integer grids, accountants, budgets |
//! | [`federated`] | a trusted server, private towards everybody else |
//! | [`outsourced`] | a curator holds the inputs, a modeler optimises on a transformed copy |
//! | [`local`] | nobody is trusted: every user perturbs their own reward |
//! | [`output`] | one party tunes on its own data and publishes the result |
//!
//! | feature | what it adds |
//! |---|---|
//! | `alloc` | decompositions of run-time size and the tight accountant; changes no number |
//! | `dispatch` | hot loops compiled for several vector widths, chosen at run time on hosts; changes no number |
//! | `defmt` | `defmt::Format` for errors and phases |
//! | `rand_core-09`, `rand_core-06` | adapters for generators of older versions of rand_core |
#![no_std]
// Expected values of tests may come from the host's own functions.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(feature = "alloc")]
extern crate alloc;
// Of the host's library only the square root, which is one instruction (`math`).
#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
extern crate std;

/// Points are its vectors; the version that this crate speaks.
pub use heapless;
/// What a generator handed to [`random::Secret`] implements; the version that this crate speaks.
/// Generators of older versions come in through the features `rand_core-09` and `rand_core-06`.
pub use rand_core;

pub mod acquisition;
pub mod digest;
pub mod dispatch;
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
pub mod prior;
pub mod privacy;
pub mod random;
pub mod schedule;
pub mod snapshot;
pub mod space;
pub mod surrogate;
pub mod wire;
