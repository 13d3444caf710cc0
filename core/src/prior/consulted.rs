//! What a file says of the candidates at hand.

use super::evidence::Moments;
use super::public::PublicPrior;
use super::storage::{BlockParts, FitParts};
use crate::linalg::matvec;
use crate::linalg::slice::{self, at, part, set};
use crate::math::Scalar;

/// The file, as the candidates of a block need it.
pub(super) struct Consulted<'a, T> {
    pub(super) prior: Option<&'a PublicPrior<'a, T>>,
    pub(super) moments: Option<&'a [T]>,
    /// g of each observation.
    pub(super) links: &'a [T],
    pub(super) capacity: usize,
}

impl<T: Scalar> Consulted<'_, T> {
    /// φᵢᵀΣφ(x) of the observations, m(x) and φᵀΣφ of a candidate at x, to a place of the block.
    pub(super) fn load(
        &self,
        candidate: usize,
        x: &[T],
        n: usize,
        fit: &mut FitParts<'_, T>,
        block: &mut BlockParts<'_, T>,
        place: usize,
    ) {
        let Some(prior) = self.prior else { return };
        let row = slice::head_mut(fit.scratch, prior.count());
        prior.kernel_row(x, row);
        matvec(
            self.links,
            row,
            slice::part_mut(block.shared, place * self.capacity, n),
        );
        let (mean, variance) = moments_of(prior, self.moments, candidate, row);
        set(block.means, place, mean);
        set(block.variances, place, variance);
    }

    /// Whether m and φᵀΣφ of candidates need not be computed.
    pub(super) fn has_table(&self) -> bool {
        self.moments.is_some()
    }

    /// m and φᵀΣφ of a candidate by the table; 0 without one.
    pub(super) fn said(&self, candidate: usize) -> Moments<T> {
        let table = self.moments.unwrap_or(&[]);
        Moments {
            mean: at(table, 2 * candidate),
            variance: at(table, 2 * candidate + 1),
        }
    }

    /// What [`Consulted::sums`] needs of each landmark, beside weights of 0, and the largest
    /// magnitude that cancels there.
    pub(super) fn squares(&self, out: &mut [[T; 3]]) -> T {
        self.prior.map_or(T::ZERO, |prior| prior.squares(out))
    }

    /// γ·k(P, x) and δ·k(P, x), roughly.
    pub(super) fn sums(&self, x: &[T], weights: &[[T; 3]]) -> (T, T) {
        let sums = self.prior.map(|prior| prior.rough_sums(x, weights));
        sums.unwrap_or((T::ZERO, T::ZERO))
    }

    /// k(P, x) into as many numbers as there are landmarks.
    pub(super) fn kernel_row<'s>(&self, x: &[T], scratch: &'s mut [T]) -> &'s [T] {
        let Some(prior) = self.prior else { return &[] };
        let row = slice::head_mut(scratch, prior.count());
        prior.kernel_row(x, row);
        row
    }

    /// φᵢᵀΣφ(x) of n observations at a place of the block.
    pub(super) fn shared<'b>(
        &self,
        block: &'b BlockParts<'_, T>,
        place: usize,
        n: usize,
    ) -> &'b [T] {
        part(block.shared, place * self.capacity, n)
    }
}

/// m and φᵀΣφ of a candidate: by the table, or from k(P, x), which is lost.
pub(super) fn moments_of<T: Scalar>(
    prior: &PublicPrior<'_, T>,
    moments: Option<&[T]>,
    candidate: usize,
    row: &mut [T],
) -> (T, T) {
    if let Some(moments) = moments {
        return (at(moments, 2 * candidate), at(moments, 2 * candidate + 1));
    }
    prior.whiten(row);
    (prior.mean_at(row), prior.variance_at(row))
}
