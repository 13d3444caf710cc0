//! The **federated prior**: a private posterior of what the agents' functions have in common, used by every agent as the
//! prior mean of its own Gaussian process, as far as its own data bear it out.
//!
//! The trust model is that of [`super`]; the method is ours, no paper's. A release is a *measurement* of the
//! population's weights w* whose error covariance is public, so a Kalman step keeps a public posterior N(w, Σ) of them.
//! That is post-processing and costs nothing. Few releases carry it, everybody contributes (q = 1), and there is no
//! secret sample to protect.
//!
//! | step | what | here |
//! |---|---|---|
//! | public | candidates, features φ with φ(x)·φ(x') ≈ k(x, x'), virtual initial designs | [`Public`], [`nystrom_rows`], [`gram`], [`draw_designs`] |
//! | budget | μ from (ε, δ); multipliers z_j with Σ 1/z_j² ≤ μ²; the event | [`total_mu`], [`shares`], [`event`] |
//! | release, 1 | κ, Ā, S(h), clipping radius C = √tr S(h) | [`PublicState::prepare`] |
//! | release, 2 | the innovation d of an agent, its clip factor u, the joint vector (u·d, γCu) | [`contribution()`], [`Mechanism`] |
//! | release, 3 | mean innovation s, mean clip factor ḡ | [`PublicState::update`] |
//! | release, 4 | Kalman step in Joseph's form | [`PublicState::update`] |
//! | release, 5 | heterogeneity h | [`PublicState::update`] |
//! | sums of shards | integer sums of a part of the agents, and the server that believes none | [`Collector`], [`server::Server::merge`] |
//! | the machines | a party each: one input in, one borrowed output out | [`agent`], [`server`] |
//! | query | a common draw w + Σ^{1/2}ξ, models weighed by evidence, Matheron update, argmax | [`PublicState::draw`], [`Factors`], [`query()`] |
//!
//! Where this differs from the note it began as, and why:
//! * **The same data released c times** are no c independent samples of the population: the sampling part of R is
//!   multiplied by c ([`PublicState::update`] has the proof).
//! * **The draw** under a model (α, s²) is αm + s·g₀ + s²k(A)⁻¹(residual − s·g₀ − e), A = s²K + λI. Scaling a draw that is
//!   conditioned on the *unscaled* residuals by s, as the note's words can be read, shrinks what the data say by s.
//! * **h never falls**: by C² = tr S(h) the measured excess is h + C²(ḡ⁻² − 1)/tr E\[AAᵀ\] ≥ h, so the note's second
//!   branch, h ← min(h, excess), never does anything. It is left out; no number moves.
//! * K is the covariance of the factor FFᵀ that draws are made from; no kernel is evaluated inside the method.

pub mod agent;
mod collector;
mod config;
mod contribution;
mod error;
mod evidence;
mod plan;
mod public;
mod query;
pub mod server;
mod state;

pub use collector::Collector;
pub use config::{Config, Parameters};
pub use contribution::{Mechanism, Observations, contribution, contribution_scratch_len, l2_sensitivity};
pub use error::PriorError;
pub use evidence::{Factors, MODELS_MAX, Model, factors_len, levels, models};
pub use plan::{event, mu_spent, repeats, shares, total_mu};
pub use public::{Public, draw_designs, gram, nystrom_rows, nystrom_scratch_len};
pub use query::{Draw, Query, query, query_scratch_len};
pub use state::{PublicState, Terms, scratch_len, storage_len};
