//! Trust model **outsourced**: a curator holds the inputs, a modeler runs the optimisation on a
//! transformed copy. With [`Protection::Gaussian`], the default, the release of the transformed
//! table is (ε, δ)-private for a shift of *one input row by at most 1* in scaled units (largest
//! norm 25): **not** y, **not** which rows are queried, **not** n, **not** hyper-parameters fitted
//! on the data, and only if centring and scaling constants are public. With [`Protection::Paper`],
//! the published algorithm, it is **not differentially private at all**: Theorem 1 of the paper is
//! false for n ≥ d + 2 rows in general position (the columns of Z lie in the column space of X, and
//! neighbours have different ones), and anyone who knows d + 1 rows can recover every other one
//! (module `attack`, feature `alloc`).
//!
//! PO-GP-UCB (Kharkovskii, Dai, Low 2020). Both parties are pure state machines: one input in, one
//! output out.
//!
//! | the paper's line | here |
//! |---|---|
//! | preprocessing: one lengthscale, logarithms, centred, largest norm 25 | [`preprocess`] |
//! | Algorithm 1, line 1: ω = 16√(r ln(2/δ)) ln(16r/δ)/ε | [`omega`] |
//! | line 2–5: singular values, raised if one is below ω | `Spectrum`, `PaperProjection::new` (feature `alloc`) |
//! | line 6: Z = r^(−1/2) X̃M | [`PaperProjection::apply`] |
//! | (default) Z = XP + E | [`crate::privacy::mechanism::projection`] |
//! | Algorithm 2, line 2: one random initial row | [`random_row`] |
//! | line 4: argmax μ̃ + √βₜ·σ̃, βₜ = 2 ln(nt²π²/(6δ′)) | `Modeler::query` |
//! | line 5: the curator evaluates and replies | [`CuratorOutput::Evaluate`], [`CuratorOutput::Reply`] |
//! | line 6: update | `Modeler::record` |
//!
//! Deviations: the text misprints the root in ω (the factor r ln(2/δ) stands under it as a whole);
//! δ′ = δ_ucb/2, queries are counted from 1 after the initial row.
//!
//! **Example**: that of [`preprocess`]; the release itself,
//! [`crate::privacy::mechanism::projection::GaussianProjection`].

pub mod attack;
mod config;
mod curator;
mod modeler;
mod paper;
pub mod preprocess;
mod spectrum;

pub use crate::parameter::ConfigError;
pub use config::{Config, Parameters};
pub use curator::{
    Curator, CuratorError, CuratorInput, CuratorOutput, CuratorPhase, CuratorState, Protection,
};
pub use modeler::{
    Modeler, ModelerError, ModelerInput, ModelerOutput, ModelerPhase, ModelerState, log_len,
    random_row, workspace_len,
};
#[cfg(feature = "alloc")]
pub use paper::PaperError;
pub use paper::{PaperProjection, distortion_dimension, omega};
#[cfg(feature = "alloc")]
pub use spectrum::{Spectrum, SpectrumError};
