//! Dense kernels on slices: dot products in a fixed order, packed triangles, solves.
//!
//! Two shapes of triangle occur, each stored without its zeros:
//!
//! | module | shape | row `i` starts at | grows by |
//! |---|---|---|---|
//! | [`lower`] | L with A = LLᵀ, lower, row-major | i(i+1)/2, i+1 numbers | appending a row |
//! | [`root`] | R with A = RᵀR, upper, row-major, fixed size m | i(2m−i+1)/2, m−i numbers | rotating a vector in |
//!
//! [`symmetric`] has eigenvalues and roots of small symmetric matrices, [`pivoted_cholesky`]
//! low-rank factors.
//!
//! The order of every sum is part of the bit contract: [`dot`] uses four lanes whatever the target.
//!
//! A function that is inlined into a loop and reads what earlier turns of the loop wrote takes the
//! slice whole, not as the half that is done and the half that is written: for two arguments the
//! compiler assumes that they never overlap, and LLVM 22 has extended that over the turns of the
//! loop (see `lower`).
//!
//! **Example**: that of [`lower`].

pub(crate) mod ascent;
pub(crate) mod block;
mod dot;
pub mod lower;
mod lower_update;
mod pivoted;
pub mod root;
pub(crate) mod rows;
pub(crate) mod slice;
pub mod symmetric;

pub(crate) use dot::largest_magnitude;
pub use dot::{axpy, dot, matvec, squared_distance, sum_of_squares};
pub(crate) use pivoted::pivoted_cholesky_with;
pub use pivoted::{PivotedCholesky, pivoted_cholesky};

/// Numbers in a packed triangle of order `n`: n(n+1)/2.
pub const fn packed_len(n: usize) -> usize {
    n * (n + 1) / 2
}

/// A matrix that should have been positive definite was not, at working precision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NotPositiveDefinite {
    /// Row at which the factorisation stopped, 0-based.
    pub row: usize,
    /// The squared pivot found there; it had to exceed `threshold`.
    pub pivot: f64,
    /// The smallest squared pivot that would have been accepted.
    pub threshold: f64,
}

impl core::fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "matrix is not positive definite at row {}: squared pivot {:e}, must exceed {:e}",
            self.row, self.pivot, self.threshold
        )
    }
}

impl core::error::Error for NotPositiveDefinite {}
