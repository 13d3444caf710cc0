//! Where the numbers of an optimiser lie in its storage.

use crate::acquisition::maximize;
use crate::linalg::slice::{self, head_mut};
use crate::surrogate::exact::{self, ExactGp};
use crate::surrogate::map::{self, AxisKernel};

/// Numbers of storage for `dim` axes and at most `capacity` observations: about n²/2 + (D + 8)n,
/// with `f32`, three axes and 48 observations 7 kB. A fit needs no more.
pub const fn storage_len(dim: usize, capacity: usize) -> usize {
    exact::storage_len(dim, capacity)
        .saturating_add(capacity.saturating_mul(3))
        .saturating_add(search_len(dim) + 4 * dim)
}

/// Numbers that a search and a fit share: one of them is under way at a time.
const fn search_len(dim: usize) -> usize {
    let search = maximize::scratch_len(dim);
    let fit = map::storage_len(dim);
    if search > fit { search } else { fit }
}

/// Storage, divided.
pub(super) struct Parts<'a, T> {
    /// Of the exact posterior.
    pub(super) model: &'a mut [T],
    pub(super) rest: Rest<'a, T>,
    /// 1/lengthscale² of each axis.
    pub(super) scales: &'a mut [T],
}

/// The buffers beside the model.
pub(super) struct Rest<'a, T> {
    pub(super) solved: Solved<'a, T>,
    pub(super) search: &'a mut [T],
    pub(super) point: &'a mut [T],
    pub(super) incumbent: &'a mut [T],
    /// How far a search looks around the incumbent.
    pub(super) spread: &'a mut [T],
}

/// What is solved with the factor, a number for each row.
pub(super) struct Solved<'a, T> {
    /// The whitened residuals L⁻¹(y − m).
    pub(super) whitened: &'a mut [T],
    /// The weights A⁻¹(y − m) of the rows.
    pub(super) alpha: &'a mut [T],
    /// The solved column L⁻¹k(x) of a candidate.
    pub(super) column: &'a mut [T],
}

/// The parts of a storage of [`storage_len`] numbers.
pub(super) fn split<T>(storage: &mut [T], dim: usize, capacity: usize) -> Parts<'_, T> {
    let (model, rest) = slice::split(storage, exact::storage_len(dim, capacity));
    let (whitened, rest) = slice::split(rest, capacity);
    let (alpha, rest) = slice::split(rest, capacity);
    let (column, rest) = slice::split(rest, capacity);
    let (search, rest) = slice::split(rest, search_len(dim));
    let (point, rest) = slice::split(rest, dim);
    let (incumbent, rest) = slice::split(rest, dim);
    let (spread, rest) = slice::split(rest, dim);
    let scales = head_mut(rest, dim);
    let rest = Rest {
        solved: Solved {
            whitened,
            alpha,
            column,
        },
        search,
        point,
        incumbent,
        spread,
    };
    Parts {
        model,
        rest,
        scales,
    }
}

/// The posterior of the rows, in the storage.
pub(super) type Model<'a, T> = ExactGp<T, AxisKernel<'a, T>, &'a mut [T]>;
