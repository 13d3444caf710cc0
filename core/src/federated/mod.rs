//! Trust model **federated**: a trusted server sees every agent's vector; other agents and readers
//! of the broadcasts do not learn whether an *enrolled* agent's contributions were used (enrolment
//! and N are public; an agent's own queries are visible to those who evaluate them).
//!
//! Federated Thompson sampling with distributed exploration (Dai, Low, Jaillet 2021, DP-FTS-DE).
//! Both parties are pure state machines: one input in, one borrowed output out; no clock, no
//! socket, no task.
//!
//! | the paper's line | here |
//! |---|---|
//! | Algorithm 2: N_init points in the agent's sub-region | `Agent::initial_point` |
//! | line 2–3: u < pₜ, own draw or the server's | `Agent::begin_round` |
//! | line 4: argmax of fₜ ~ GP(μ, β²σ²) | `Agent::own_draw` |
//! | line 6: argmax of φ(x)·ω^(i), x in region i | [`Public`]`::maximize` |
//! | line 7: observe, ω ~ N(ν, λΣ⁻¹), upload | `Agent::record`, `Agent::end_round` |
//! | Algorithm 1, line 3: subset S_t, each agent with probability q | `Server::open` |
//! | line 4: clip to S/√P | [`Collector::upload`], [`crate::privacy::encode`] |
//! | line 5: weighted sums over q | [`Collector::upload`], [`crate::privacy::mechanism::gaussian`] |
//! | line 6: noise of std zφ_max S/q, here zΔ_s ([`l2_sensitivity`]) | `Server::release` |
//!
//! # In which order
//!
//! Both parties, once: [`Config::new`] checks the numbers that all agree on;
//! [`random_fourier::draw`] makes the features from a public seed; [`Public::streamed`] joins them
//! with the candidates ([`Public::new`] with a host's tables) and checks that they fit. Then, for
//! t = 0 … T:
//!
//! | the agent | the server |
//! |---|---|
//! | [`AgentState::new`] at the beginning, or the stored one | [`ServerState::new`] at the beginning, or the stored one |
//! | [`AgentStorage::split`], [`Agent::attach`]: all checks are here | [`Server::attach`] |
//! | | [`ServerInput::Open`], if t < T and the budget admits [`Server::event`]; else [`ServerInput::Skip`] |
//! | [`Input::Start`] (t = 0), [`Input::Broadcast`], [`Input::NoBroadcast`] or [`Input::Missed`] | |
//! | for every [`Output::Evaluate`]: measure, store, [`Input::Observed`] | |
//! | [`Output::Upload`]: send; [`Output::Wait`], [`Output::Done`]: nothing to send | [`ServerInput::Upload`] for each that arrives |
//! | | at the deadline [`ServerInput::Close`]; the [`ServerOutput::Charge`] to the ledger |
//! | | [`ServerInput::Charged`] with its receipt; the [`ServerOutput::Broadcast`] to everybody |
//!
//! An input at the wrong moment is refused by name and changes nothing.
//! `core/examples/agent_and_server.rs` is this table as a program.
//!
//! [`random_fourier::draw`]: crate::features::random_fourier::draw
//!
//! [`exchange`] is what carries them between machines: who asks, who answers, what is said again.
//! [`small`] is an upload in 16 bits a number, for radios. [`shares`] splits the trusted server in
//! two, of which one is honest.
//!
//! [`prior`] is another method under the same trust model, with parties of its own: no paper's.
//!
//! Deviations from the paper, each marked at its line: no βₜ by default (theirs in line 6 is
//! misprinted, their code has none); the authors' temperature schedule; nobody uploads what nobody
//! will read (after query T).
//!
//! **Example**: in the order of the tour, the numbers all agree on, [`Config`]; what everybody can
//! compute, [`Public`]; what an agent stores, [`AgentState`] and [`Entry`]; an agent's round,
//! [`Agent`]; many agents with one workspace, [`AgentStorage`]; a server's round with its charge
//! and receipt, [`Server`]; a shard of it, [`Collector`]; the terms of a real federation,
//! [`exchange::Agreement`]; a round between machines, [`exchange`].

mod agent;
mod collector;
mod config;
mod draws;
mod encoding;
mod errors;
mod estimator;
pub mod exchange;
mod log;
mod member;
mod messages;
mod numbers;
mod packed;
mod partial;
mod pool;
pub mod prior;
mod public;
mod server;
pub mod shares;
pub mod small;
pub mod transcript;
mod wiped;

pub use crate::parameter::{ConfigError, StateError};
pub use agent::{
    Agent, AgentState, AgentStorage, Sizes, Workspace, log_len, storage_len, workspace_len,
};
pub use collector::{Collector, CollectorStorage};
pub use config::{AGENTS_MAX, Aggregation, Config, InitialRegion, OwnDraw, Parameters, Signal};
pub use draws::{Draws, l2_sensitivity};
pub use encoding::{Counters, Encoding};
pub use errors::{AgentError, ServerError};
pub use estimator::Estimator;
pub use log::{Entry, LogFull};
pub use member::{Frame, Member, Next};
pub use messages::{Input, Output, Phase, ServerInput, ServerOutput, ServerPhase};
#[cfg(feature = "alloc")]
pub use numbers::ServerNumbers;
#[cfg(feature = "alloc")]
pub use packed::Packed;
pub use partial::{Opening, Partial, PartialError, Share};
#[cfg(feature = "alloc")]
pub use pool::{Pool, Recipe};
pub use public::{CandidateRows, Public, PublicError, Tables};
pub use server::{Server, ServerState, ServerStorage};
#[cfg(feature = "alloc")]
pub use wiped::Wiped;
