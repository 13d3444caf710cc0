//! Mechanisms: each owns its sampler, its sensitivity, its neighbouring relation and its event.
//!
//! | module | release | guarantee |
//! |---|---|---|
//! | [`gaussian`] | noised sum on an integer grid (Poisson-sampled); the paper's floating-point form, simulation only | Rényi |
//! | [`laplace`] | one integer with discrete Laplace noise; one user's reward | pure ε |
//! | [`selection`] | one candidate out of many: permute-and-flip, exponential mechanism | pure ε |
//! | [`projection`] | every row of a table, projected and noised | (ε, δ), exact |

pub mod gaussian;
pub mod laplace;
pub mod projection;
pub mod selection;
