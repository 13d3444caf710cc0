//! Posteriors.
//!
//! | module | knows | cost of a step |
//! |---|---|---|
//! | [`weights`] | a finite feature map | O(M²), or O(n·M) while n ≤ M/2 |

pub mod weights;

pub use weights::WeightPosterior;
