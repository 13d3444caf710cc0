//! Mechanisms: each owns its sampler, its sensitivity, its neighbouring relation and its event.
//!
//! | module | release | guarantee |
//! |---|---|---|
//! | [`gaussian`] | noised sum on an integer grid (Poisson-sampled) | Rényi |
//! | [`paper_gaussian`] | the same as the paper writes it, in floating point | none as executed: simulation only |
//! | [`laplace`] | one integer with discrete Laplace noise; one user's reward | pure ε |
//! | [`selection`] | one candidate out of many: permute-and-flip, exponential mechanism | pure ε |
//! | [`projection`] | every row of a table, projected and noised | (ε, δ), exact |
//!
//! **Example**: that of [`gaussian::GridGaussian`].

pub mod gaussian;
pub mod laplace;
pub mod paper_gaussian;
pub mod projection;
pub mod selection;
