//! Searching with a public prior: what others learned in common, read from a file by somebody who
//! has little data.
//!
//! A *prior file* is the result of a few private releases: landmarks P, a lengthscale ℓ, weights w,
//! their covariance Σ and a self-test B. Reading it costs no privacy. [`PublicPrior`] checks the
//! numbers and holds them, [`Newcomer`] searches a list of candidates with it, or without one. Both
//! halves of the word are meant: a newcomer begins with no data at all, and a contributor who goes
//! on with the file begins with points of its own. Nobody chooses a constant, and values may be in
//! any unit: y → a·y + b with a > 0 changes no question.
//!
//! # The model
//!
//! k_ℓ(x, x') = exp(−|x − x'|²/2ℓ²), L = chol k_ℓ(P, P), φ(x) = L⁻¹k_ℓ(P, x), m(x) = φ(x)·w. A
//! *hypothesis* is a kernel k of the newcomer's own, whether the file is trusted (τ), and how much
//! of the function is its own (ρ). Under it
//!
//! y = β + A·(τm(x) + g(x)) + noise, g ~ GP(0, Q), Q = ρk + τφᵀΣφ, noise variance A²ν,
//!
//! with an unknown constant β (flat) and an unknown scale A.
//!
//! | | values |
//! |---|---|
//! | k | squared exponential with lengthscales √D·{.03, .06, .12, .25, .5, 1, 2}, those up to .08 for D = 1 only; for 1 < D ≤ 4 also every pattern of √D·{.15, .6} and of √D·{.3, 1.2} by axis |
//! | (τ, ρ) | (0, 1), (1, .1), (1, 1); without a file the first |
//! | ν | 10⁻³; 10⁻² where evaluations are noisy ([`NewcomerSettings`]) |
//! | ln prior | −½ mean_d((ln ℓ_d − √2 − ½ ln D)/√3)², plus ln(1 − p) for τ = 0, ln(p/2) for each with τ = 1 |
//!
//! With n values, y' = y − y₁, K = LLᵀ = Q + νI, a₁ = L⁻¹1, a_y = L⁻¹y', a_m = L⁻¹τm and ⟨a, b⟩ =
//! a·b − (a·a₁)(b·a₁)/(a₁·a₁): Y = ⟨a_y, a_y⟩, X = ⟨a_y, a_m⟩, Z = ⟨a_m, a_m⟩, f = n − 1. The scale
//! has a closed form, u = 1/A = (X + √(X² + 4fY))/(2Y), and A = 1 if f = 0 or all values are equal.
//! The log weight of the hypothesis is ln prior + f ln u − ½(u²Y − 2uX + Z) − Σ ln L_jj − ½
//! ln(a₁·a₁) − ½ ln(2f + uX).
//!
//! At a candidate x, with V = L⁻¹q(x) and β = a₁·(a_y − Aa_m)/(a₁·a₁), the mean is β + Aτm(x) +
//! V·(a_y − Aa_m) − βV·a₁, the variance A²(Q(x, x) − |V|² + (1 − V·a₁)²/(a₁·a₁)). The next question
//! is the candidate of largest expected improvement over the best posterior mean of a visited one,
//! among those that were not visited; ties: lowest index.
//!
//! A candidate that *failed* ([`Newcomer::fail`]) has no value. It counts as visited, and in place
//! of y the model has the worst value told so far, as in `sordino optimize`, so that a search
//! leaves a region that fails. While all that was asked failed, questions cover the box. A
//! candidate that failed is never the best, and is asked again only when all failed.
//!
//! # How far the file is believed
//!
//! B compares, over all releases, "the contributors share a function" with "they do not"
//! ([`Reading`]):
//!
//! | B | first questions | p | expected improvement |
//! |---|---|---|---|
//! | ≥ 3 | the candidate of largest m | .95 | of the hypothesis of largest weight |
//! | \[1, 3) | that, then one that covers the box ([`covers_box`]) | .95 | the same |
//! | \[−1, 1) | three that cover the box | 19·e^{min(B, 0)} to 1 | averaged over hypotheses of weight ≥ .002 |
//! | < −1, or no file | three that cover the box | 0 | averaged in the same way; the file is not read |
//!
//! [`Newcomer::trust`] is the posterior probability that the file counts. Below ½
//! ([`Newcomer::is_borne_out`]) a search that also has an
//! [`Optimizer`](crate::optimizer::Optimizer) does better to ask that one: the file's first points
//! cover nothing. From [`own_model_from`] values on it does better to ask an [`OwnModel`]. That is
//! what every site of a campaign does.
//!
//! **Numerics**: y' is divided by its largest magnitude, so that no unit overflows. A squared pivot
//! is at least ν, which holds without rounding. Expected improvements are added as logarithms.
//! Covariances with observed points need gᵢ = L⁻ᵀΣφ(xᵢ), M numbers an observation, so that one
//! takes M multiply-adds and no solve.
//!
//! Beside a trusted file most candidates are passed over by a bound of what they promise
//! (`screen.rs`), which is the same question at a fraction of the time. It needs the table of
//! moments and storage of observations that are still to come, (3 + D)n + 3M numbers of the (N −
//! n)M that are free.
//!
//! **Privacy**: none is spent. A question is a function of the file and of the newcomer's own data;
//! it is visible to those who evaluate it.
//!
//! **Source**: the method and its constants are this project's; universal kriging and restricted
//! likelihood as in Rasmussen and Williams 2006, section 2.7; Ament et al. 2023 for the logarithm
//! of the expected improvement.
//!
//! **Example**: that of [`Newcomer`].

mod consulted;
mod error;
mod evidence;
mod hypothesis;
mod log;
mod looking;
mod newcomer;
mod own_model;
mod public;
mod reading;
mod rough;
mod screen;
mod storage;
mod suggest;
#[cfg(test)]
mod tests;
mod work;

pub use error::{NewcomerError, PublicPriorError};
pub use log::LogEntry;
pub use newcomer::{Newcomer, NewcomerSettings};
pub use own_model::{OwnModel, own_model_from};
pub use public::{PriorNumbers, PublicPrior};
pub use reading::{Reading, covers_box};
pub use storage::{LANDMARKS_MAX, attach_len, numbers_len, storage_len};
pub use suggest::VALUES_MAX;
