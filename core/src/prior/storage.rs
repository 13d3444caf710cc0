//! Where the numbers of a search lie in its storage.

use crate::linalg::packed_len;
use crate::linalg::slice::{self, head_mut};

/// The most landmarks a file may have.
pub const LANDMARKS_MAX: usize = 4096;

/// Numbers of storage that [`super::PublicPrior::attach`] needs: M(M + 1)/2.
pub const fn attach_len(landmarks: usize) -> usize {
    packed_len(landmarks)
}

/// Numbers of a file of M landmarks in D dimensions when they stand in one row
/// ([`super::PriorNumbers::read`]): 2 + MD + M + M(M + 1)/2.
pub const fn numbers_len(landmarks: usize, dim: usize) -> usize {
    2 + landmarks * (dim + 1) + packed_len(landmarks)
}

/// Numbers of storage for a prior of `landmarks` landmarks (0 without one), at most `capacity`
/// observations, and `width` candidates that are looked at together: n² + nM + max(n, M) + 6n +
/// (n + 3)·width.
///
/// A width of 1 is enough for a device with a trusted file. Where hypotheses are averaged each is
/// factored again for every `width` candidates: 64 on a host. No width changes a question.
///
/// ```
/// use sordino_core::prior::{attach_len, storage_len};
/// // 32 evaluations on a device, the last of which is told to nobody: 50 landmarks, f32.
/// assert!(4 * (attach_len(50) + storage_len(50, 31, 1)) <= 16 * 1024);
/// // With the factor of the landmarks in flash, all are told, and a quarter of it is left.
/// assert!(4 * storage_len(50, 32, 1).max(attach_len(50)) <= 12 * 1024);
/// ```
pub const fn storage_len(landmarks: usize, capacity: usize, width: usize) -> usize {
    // n² + n of two triangles. What no address reaches is more than any storage holds.
    capacity
        .saturating_mul(capacity.saturating_add(landmarks).saturating_add(6))
        .saturating_add(scratch_len(landmarks, capacity))
        .saturating_add(capacity.saturating_add(3).saturating_mul(width))
}

/// Numbers that a row of the landmarks and one of the observations share: one of them is in use at
/// a time.
const fn scratch_len(landmarks: usize, capacity: usize) -> usize {
    if landmarks > capacity {
        landmarks
    } else {
        capacity
    }
}

/// Storage, divided.
pub(super) struct Parts<'a, T> {
    /// Candidate of each observation, as a number.
    pub(super) asked: &'a mut [T],
    /// Value of each observation, in the user's unit.
    pub(super) values: &'a mut [T],
    /// m of each observation.
    pub(super) means: &'a mut [T],
    /// g of the observations in use, M numbers each; the others are `spare`.
    pub(super) links: &'a mut [T],
    /// φᵢᵀΣφⱼ of the observations, packed.
    pub(super) shared: &'a mut [T],
    /// Of the hypothesis at hand.
    pub(super) fit: FitParts<'a, T>,
    /// Of the candidates at hand.
    pub(super) block: BlockParts<'a, T>,
}

/// The numbers of the hypothesis at hand.
pub(super) struct FitParts<'a, T> {
    /// L of Q + νI, packed.
    pub(super) factor: &'a mut [T],
    /// a₁ = L⁻¹1, one number an observation.
    pub(super) ones: &'a mut [T],
    /// a_y, then a_y − A·a_m − β·a₁.
    pub(super) residual: &'a mut [T],
    /// A row of landmarks, or one of observations.
    pub(super) scratch: &'a mut [T],
    /// Links of observations that are still to come: free until the next one is told.
    pub(super) spare: &'a mut [T],
}

/// The numbers of the candidates at hand.
pub(super) struct BlockParts<'a, T> {
    /// φᵢᵀΣφ(x) for every observation i, a row for each candidate.
    pub(super) shared: &'a mut [T],
    /// m(x) of each candidate.
    pub(super) means: &'a mut [T],
    /// φ(x)ᵀΣφ(x) of each candidate; negative of one that may not be asked.
    pub(super) variances: &'a mut [T],
    /// Logarithm of the expected improvement of each candidate so far.
    pub(super) gains: &'a mut [T],
}

/// The parts of a storage of [`storage_len`] numbers, `rows` of which are in use.
pub(super) fn split<T>(
    storage: &mut [T],
    landmarks: usize,
    (rows, capacity): (usize, usize),
    width: usize,
) -> Parts<'_, T> {
    let (asked, rest) = slice::split(storage, capacity);
    let (values, rest) = slice::split(rest, capacity);
    let (means, rest) = slice::split(rest, capacity);
    let (links, rest) = slice::split(rest, capacity * landmarks);
    let (links, spare) = slice::split(links, rows * landmarks);
    let (shared, rest) = slice::split(rest, packed_len(capacity));
    let (factor, rest) = slice::split(rest, packed_len(capacity));
    let (ones, rest) = slice::split(rest, capacity);
    let (residual, rest) = slice::split(rest, capacity);
    let (scratch, rest) = slice::split(rest, scratch_len(landmarks, capacity));
    let fit = FitParts {
        factor,
        ones,
        residual,
        scratch,
        spare,
    };
    let (block, rest) = slice::split(rest, capacity * width);
    let (block_means, rest) = slice::split(rest, width);
    let (variances, rest) = slice::split(rest, width);
    let gains = head_mut(rest, width);
    let block = BlockParts {
        shared: block,
        means: block_means,
        variances,
        gains,
    };
    Parts {
        asked,
        values,
        means,
        links,
        shared,
        fit,
        block,
    }
}
