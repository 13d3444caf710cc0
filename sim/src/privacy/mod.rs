//! What needs a heap: the tight accountant and calibration by it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`calibrate`] | parameters for a target, by the tight accountant |
//! | [`pld`] | privacy-loss distributions: ε within a tolerance of the truth, never below |
//! | `cells` | the losses of one release on a grid |
//! | `grid` | sums of them: tilted, read at δ |
//! | `spectrum` | δ on the grid from Fourier coefficients, with a bound on every error |
//! | [`double`] | the numbers the transform calculates with, one or a pair |
//! | [`fourier`] | the transform where all coefficients are needed |

pub mod calibrate;
mod cells;
pub mod double;
pub mod fourier;
mod grid;
pub mod pld;
mod spectrum;
#[cfg(test)]
mod tests;
