//! Trust model **federated**: a trusted server sees every agent's vector; other agents and readers of the broadcasts do
//! not learn whether an *enrolled* agent's contributions were used (enrolment and N are public; an agent's own queries
//! are visible to whoever evaluates them).
//!
//! Federated Thompson sampling with distributed exploration (Dai, Low, Jaillet 2021, DP-FTS-DE). Both parties are pure
//! state machines: one input in, one borrowed output out; no clock, no socket, no task.
//!
//! | the paper's line | here |
//! |---|---|
//! | Algorithm 2: N_init points in the own sub-region | `Agent::initial_point` |
//! | line 2–3: u < pₜ, own draw or the server's | `Agent::begin_round` |
//! | line 4: argmax of fₜ ~ GP(μ, β²σ²) | `Agent::own_draw` |
//! | line 6: argmax of φ(x)·ω^(i), x in region i | [`Public`]`::maximize` |
//! | line 7: observe, ω ~ N(ν, λΣ⁻¹), upload | `Agent::record`, `Agent::end_round` |
//! | Algorithm 1, line 3: subset S_t, each agent with probability q | `Server::open` |
//! | line 4: clip to S/√P | [`Collector::upload`], [`crate::privacy::encode`] |
//! | line 5: weighted sums over q | [`Collector::upload`], [`crate::privacy::mechanism::gaussian`] |
//! | line 6: noise of std zφ_max S/q, here zΔ_s ([`l2_sensitivity`]) | `Server::release` |
//!
//! [`exchange`] is what carries them between machines: who asks, who answers, what is said again.
//!
//! [`prior`] is another method under the same trust model, with parties of its own: no paper's.
//!
//! Deviations from the paper, each marked at its line: no βₜ by default (theirs in line 6 is misprinted, their code has
//! none); the authors' temperature schedule; nobody uploads what nobody will read (after query T).

mod agent;
mod collector;
mod config;
mod encoding;
mod errors;
pub mod exchange;
mod log;
mod messages;
mod partial;
pub mod prior;
mod public;
mod server;
pub mod transcript;
mod wiped;

pub use crate::parameter::{ConfigError, StateError};
pub use agent::{Agent, AgentState, AgentStorage, Sizes, Workspace, log_len, storage_len, workspace_len};
pub use collector::{Collector, CollectorStorage};
pub use config::{AGENTS_MAX, Aggregation, Config, InitialRegion, OwnDraw, Parameters, Signal};
pub use encoding::{Counters, l2_sensitivity};
pub use errors::{AgentError, ServerError};
pub use log::{Entry, LogFull};
pub use messages::{Input, Output, Phase, ServerInput, ServerOutput, ServerPhase};
pub use partial::{Opening, Partial, PartialError, Share};
pub use public::{Public, PublicError};
pub use server::{Server, ServerState, ServerStorage, storage_lens};
#[cfg(feature = "alloc")]
pub use wiped::Wiped;
