//! Mechanisms: each owns its sampler, its sensitivity, its neighbouring relation and its event.
//!
//! | module | release | guarantee |
//! |---|---|---|
//! | [`gaussian`] | noised sum on an integer grid (Poisson-sampled); the paper's floating-point form, simulation only | Rényi |

pub mod gaussian;
