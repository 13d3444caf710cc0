//! What needs a heap: the tight accountant, the audit, the durable ledger.
//!
//! | module | what it holds |
//! |---|---|
//! | [`audit`] | does the shipped release path lose more than is claimed? |
//! | [`pld`] | privacy-loss distributions: ε within a tolerance of the truth, never below |
//! | `cells` | the losses of one release on a grid |
//! | `grid` | sums of them: tilted, convolved, read |
//! | [`fourier`] | the transform it convolves with |

pub mod audit;
mod cells;
pub mod fourier;
mod grid;
pub mod pld;
