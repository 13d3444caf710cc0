//! Trust model **local**: nobody is trusted; every user perturbs their own reward, and the learner
//! and everybody else see only the perturbed one. Protected is one user's *reward*. Not protected:
//! that the user takes part, which candidate was evaluated, when. ε is the price of *one* report; a
//! user who answers k times has spent k·ε. The guarantee rests on the clamp to the public ±(B + R):
//! a reward beyond it is sent as the bound, with bias, never as it is. Without privacy
//! ([`Rewards::HeavyTailed`], or no ε) rewards travel as they are and nothing is protected.
//!
//! Locally private Bayesian optimisation (Zhou, Tan 2021). Reporter and learners are pure state
//! machines: one input in, one output out; no clock, no socket, no task.
//!
//! | the paper's line | here |
//! |---|---|
//! | Algorithm 1 (CTL): clamp, Laplace noise of scale 2(B + R)/ε | [`Reporter`], [`crate::privacy::mechanism::laplace::ClampedLaplace`] |
//! | Algorithm 2 (TGP-UCB), lines 5–8: ŷ = y·\[\|y\| ≤ b_t\] | `TgpUcb::learn` |
//! | line 4: argmax μ̂ + βσ̂ | `TgpUcb::propose` |
//! | Algorithm 3 (ATA-GP-UCB): dictionary by resampling all plays | `dictionary::resample` |
//! | K_D^{−1/2}k_D(x), V, σ̃² | `Dictionary`, `DictionaryPosterior` |
//! | lines 8–11: u, r̂ with the current b, θ | `ata::truncated_mean` |
//! | Algorithm 4 (MoMA-GP-UCB): θ_j, r_j, j* | `moma::median_of_means` |
//! | left-over rounds | `MomaGpUcb`: the current argmax again |
//!
//! Deviations, each marked at its learner: TGP-UCB's line 6 prints μ̃ where μ̂ is meant, line 10's
//! first term is k(x, x), not k_t(x, x), and γ is the run's information gain, which the bound
//! admits ([`tgp::TgpUcb`]); ATA's line 9 prints b_τ where the theorem and the authors' code use
//! the current threshold (`ata::AtaGpUcb`); MoMA's k is a parameter, because the theorem's leaves
//! 29 epochs of T = 10⁴, and its left-over rounds replay the point that would be played next
//! (`moma::MomaGpUcb`).
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | bounds, moments, constants of the theorems or of the experiments |
//! | `reporter` | the user's device |
//! | `learner` | inputs, outputs, errors of the three learners |
//! | [`tgp`] | no heap |
//! | `dictionary`, `ata`, `moma` | feature `alloc`: their dictionaries grow and shrink |
//!
//! What the paper claims and what is true: with the theorems' constants all three explore almost
//! uniformly for T ≤ 10⁴; with constants dropped MoMA is better than ATA and TGP; with widths tuned
//! for each they are equal. The advantage lies in the size of the proven widths, not in the
//! estimators. `sordino reproduce ldp/…` shows all three.
//!
//! **Example**: that of [`tgp`]; reporters and their ledger as one program,
//! `core/examples/reporter.rs`.

#[cfg(feature = "alloc")]
pub mod ata;
mod config;
#[cfg(feature = "alloc")]
pub mod dictionary;
mod learner;
#[cfg(feature = "alloc")]
pub mod moma;
mod reporter;
pub mod tgp;

pub use crate::parameter::ConfigError;
#[cfg(feature = "alloc")]
pub use ata::AtaGpUcb;
pub use config::{Config, Constants, FirstQuery, Parameters, Rewards};
#[cfg(feature = "alloc")]
pub use dictionary::KernelMatrix;
pub use learner::{Input, Learner, LearnerError, Output, Phase};
#[cfg(feature = "alloc")]
pub use moma::MomaGpUcb;
pub use reporter::{
    Reporter, ReporterError, ReporterInput, ReporterOutput, ReporterPhase, ReporterState,
};
pub use tgp::TgpUcb;
