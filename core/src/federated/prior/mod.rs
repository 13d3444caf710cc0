//! The **federated prior**: a private posterior of what the agents' functions have in common, used
//! by every agent as the prior mean of its own Gaussian process, as far as its own data bear it
//! out.
//!
//! The trust model is that of [`super`]; the method is ours, no paper's. A release is a
//! *measurement* of the population's weights w* whose error covariance is public, so a Kalman step
//! keeps a public posterior N(w, Σ) of them. That is post-processing and costs nothing. Few
//! releases carry it, everybody contributes (q = 1), and there is no secret sample to protect.
//!
//! | step | what | here |
//! |---|---|---|
//! | public | candidates, features φ with φ(x)·φ(x') ≈ k(x, x'), virtual initial designs | [`Public`], [`nystrom_rows`], [`gram`], [`draw_designs`] |
//! | budget | μ from (ε, δ); multipliers z_j with Σ 1/z_j² ≤ μ²; the event | [`total_mu`], [`shares`], [`event`] |
//! | release, 1 | κ, Ā, S(a), clipping radius C = √tr S(h) | [`PublicState::prepare`] |
//! | release, 2 | the innovation d of an agent, its clip factor u, the joint vector (u·d, γCu) | [`contribution()`], [`Mechanism`] |
//! | release, 3 | mean innovation s, mean clip factor ḡ | [`PublicState::update`] |
//! | release, 4 | Kalman step in Joseph's form | [`PublicState::update`] |
//! | release, 5 | heterogeneity h | [`PublicState::update`] |
//! | nothing to choose | own units, a constant that nobody knows, lengthscale and landmarks by a public rule | [`standardise`], [`Constant::Projected`], [`choose_landmarks`] |
//! | self-test | B: a function in common, or none | [`PublicState::self_test`], [`Filter::replay`] |
//! | sums of shards | integer sums of a part of the agents, and the server that believes none | [`Collector`](crate::federated::Collector), [`Server::merge`](crate::federated::Server::merge) |
//! | the machines | a party each: one input in, one borrowed output out | [`agent`]; [`Filter`] in the [`Server`](crate::federated::Server) of every method |
//! | on a link | what is agreed, and an agent that keeps the posterior itself | [`PriorProtocol`], [`CampaignProtocol`], [`Member`] |
//! | on a device | the context of a member, made at every boot; what it stores, and how it goes on | [`context()`], [`Released`], [`MemberStorage::learn_again`] |
//! | a site alone | what a site of a campaign contributes without candidates or virtual designs, as a device has none | [`Site`], [`OwnPoints`], [`Opening`] |
//! | query | a common draw w + Σ^{1/2}ξ, models weighed by evidence, Matheron update, argmax | [`PublicState::draw`], [`Factors`], [`query()`] |
//!
//! **Equation** of the Kalman step, for c releases of the same data: H = ḡĀ, R = σ²I + cḡ²(S(a) −
//! ĀΣĀᵀ)/N, a = h (in own units max(h, 1)), G = ΣHᵀ(HΣHᵀ + R)⁻¹; then w ← w + Gs and Σ ← (I −
//! GH)Σ(I − GH)ᵀ + GRGᵀ.
//!
#![doc = include_str!("../../../equations/kalman.html")]
//!
//! Where this differs from the note it began as, and why:
//! * **The same data released c times** are not c independent samples of the population: the
//!   sampling part of R is multiplied by c ([`PublicState::update`] has the proof).
//! * **An agent's own part** counts in R as a = max(h, 1) where agents have units of their own: the
//!   note has h there, too, which is 0 until clipping shows more.
//! * **The draw** under a model (α, s²) is αm + s·g₀ + s²k(A)⁻¹(residual − s·g₀ − e), A = s²K + λI.
//!   Scaling a draw that is conditioned on the *unscaled* residuals by s, as the note's words can
//!   be read, shrinks what the data say by s.
//! * **h never falls**: by C² = tr S(h) the measured excess is h + C²(ḡ⁻² − 1)/tr E\[AAᵀ\] ≥ h, so
//!   the note's second branch, h ← min(h, excess), never does anything. It is left out; no number
//!   moves.
//! * K is the covariance of the factor FFᵀ that draws are made from; no kernel is evaluated inside
//!   the method.
//!
//! **A prior file** is published once, in two releases at round 0, by N contributors who choose no
//! constant (`core/examples/publish.rs` has all of it):
//! 1. Everybody: [`choose_landmarks`] on public candidates, [`Parameters::own_units`],
//!    [`draw_distinct_designs`], [`gram`], [`kernel_rows`]. A contributor whose points are no
//!    candidates takes them as its own: [`landmark_rows`] and [`kernel_rows`] of its points, and a
//!    [`Public`] of these without tables.
//! 2. Contributor: [`standardise`] once; for each release [`contribution()`] with its terms and
//!    weights.
//! 3. Publisher: a [`Filter`] in the [`Server`](crate::federated::Server) of every method, for each
//!    release open, uploads, close, charge, receipt, release. A publisher who holds all studies
//!    computes step 2 too; nothing else changes.
//! 4. Anybody: [`Filter::replay`] of the released numbers has w, Σ and h to the last bit, and B.
//!
//! A release without the machines, step by step:
//!
//! ```
//! use sordino_core::federated::prior::{
//!     Mechanism, Observations, PublicState, Terms, contribution, contribution_scratch_len, scratch_len, storage_len,
//! };
//! use sordino_core::privacy::Simulated;
//! # use sordino_core::federated::prior::{Config, Parameters, Public, Tables, draw_designs, gram};
//! # use sordino_core::random::{RunSeed, Stream};
//! # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
//! # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
//! # let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
//! # gram(&config, &feature_rows, &mut mean)?;
//! # draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?;
//! # let public = Public::new(&config, &feature_rows, Tables { gram: &mean, designs: &designs, ..Tables::NONE })?;
//!
//! // `config` and `public` of the example of `Public`: two agents, two features, four candidates.
//! let (mut state, mut scratch) = (PublicState::new(config, vec![0.0; storage_len(2)])?, vec![0.0; scratch_len(2, 3)]);
//! let terms: Terms<f64> = state.prepare(&public, &mut scratch)?;
//! let mechanism = Mechanism::new(&config, &terms, 1.0)?; // z = 1
//! let (mut sums, mut noise, mut out) = ([0; 3], [0; 3], [0.0; 3]);
//! for log in [[0.0, 1.0, 3.0, -1.0], [0.0, 0.9, 1.0, 0.8]] {
//!     let observations = Observations::new(&log, 4)?;
//!     let work = &mut [0.0; contribution_scratch_len(2)];
//!     contribution(&public, &terms, state.weights(), &observations, work, &mut out)?;
//!     mechanism.encoder()?.add(&out, &[1.0], &mut sums)?;
//! }
//! let pool = mechanism.grid().fill_noise(&mut Simulated::new(Stream::from_seed(1)), &mut noise)?;
//! let (everybody, delta) = (mechanism.grid().everybody()?, mechanism.l2_sensitivity());
//! let released = mechanism.grid().release(&mut sums, everybody, pool, delta, &mut out)?;
//! state.update(released.value(), mechanism.noise_std(), 1, &mut scratch)?;
//! assert!(state.covariance()[0] < 1.0); // Σ was I: a measurement makes it smaller
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

pub mod agent;
mod bound;
mod config;
mod constant;
mod context;
mod contribution;
mod design;
mod error;
mod evidence;
mod filter;
mod joint;
mod landmarks;
mod member;
mod plan;
mod protocol;
mod public;
mod query;
mod self_test;
mod site;
mod state;
mod stored;

pub use config::{Config, Parameters};
pub use constant::{Constant, Units, standardise};
pub use context::{
    ContextError, ContextStorage, MemberSizes, context, rounded_rows, rounded_rows_scratch_len,
};
pub use contribution::{
    Mechanism, Observations, contribution, contribution_scratch_len, l2_sensitivity,
};
pub use error::PriorError;
pub use evidence::{Factors, MODELS_MAX, Model, factors_len, levels, models};
pub use filter::{Filter, Plan};
pub use joint::JointVectors;
pub use landmarks::{
    LENGTHSCALES, Landmarks, choose_landmarks, kernel_rows, landmark_rows,
    landmark_rows_scratch_len, landmarks_at, landmarks_scratch_len,
};
pub use member::{
    Member, MemberError, MemberState, MemberStorage, member_scratch_len, posterior_len,
};
pub use plan::{event, mu_spent, repeats, shares, total_mu};
pub use protocol::{
    Behaviour, CAMPAIGN_RULES, CampaignProtocol, LEVELS, PriorProtocol, RELEASES_MAX,
};
pub use public::{
    Public, Tables, draw_designs, draw_distinct_designs, gram, nystrom_rows, nystrom_scratch_len,
};
pub use query::{Draw, Query, query, query_scratch_len};
pub use self_test::self_test_scratch_len;
pub use site::{
    Opening, OwnPoints, POINTS_MIN, Site, opening_len, own_points_len, own_points_scratch_len,
};
pub use state::{PublicState, Terms, scratch_len, storage_len};
pub use stored::Released;
