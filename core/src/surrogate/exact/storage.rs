//! The one slice of the exact posterior and its named parts.

use crate::linalg::block::WIDTH;
use crate::linalg::{packed_len, slice};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;

/// Numbers that [`ExactGp`](super::ExactGp) needs: inputs, values, counts, scatters, packed factor,
/// z and one row of scratch.
///
/// capacity·(capacity + 1)/2 + capacity·(dim + 5); with `f32`, D = 2 and capacity 64 that is 10,112
/// bytes. What no address reaches is the largest number there is, which no storage holds.
pub const fn storage_len(dim: usize, capacity: usize) -> usize {
    let triangle = capacity.saturating_mul(capacity.saturating_add(1)) / 2;
    triangle.saturating_add(capacity.saturating_mul(dim.saturating_add(5)))
}

/// Numbers of scratch that [`ExactGp::posteriors`](super::ExactGp::posteriors) needs for
/// `observations` observations.
pub const fn batch_scratch_len(observations: usize) -> usize {
    observations * WIDTH
}

/// The named parts of the storage.
pub(in crate::surrogate) struct Parts<'a, T> {
    /// capacity × dim, row-major.
    pub(in crate::surrogate) inputs: &'a mut [T],
    /// y − m, averaged over repeats.
    pub(in crate::surrogate) targets: &'a mut [T],
    /// How many observations each row stands for.
    pub(in crate::surrogate) counts: &'a mut [T],
    /// Sum of squared deviations of those observations from their mean.
    pub(in crate::surrogate) scatters: &'a mut [T],
    /// z = L⁻¹(y − m).
    pub(in crate::surrogate) whitened: &'a mut [T],
    pub(in crate::surrogate) scratch: &'a mut [T],
    /// L, packed by rows.
    pub(in crate::surrogate) factor: &'a mut [T],
}

pub(in crate::surrogate) fn split<T>(
    storage: &mut [T],
    dim: usize,
    capacity: usize,
) -> Parts<'_, T> {
    fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
        let (part, tail) = slice::split(core::mem::take(rest), len);
        *rest = tail;
        part
    }
    let mut rest = storage;
    Parts {
        inputs: take(&mut rest, capacity * dim),
        targets: take(&mut rest, capacity),
        counts: take(&mut rest, capacity),
        scatters: take(&mut rest, capacity),
        whitened: take(&mut rest, capacity),
        scratch: take(&mut rest, capacity),
        factor: take(&mut rest, packed_len(capacity)),
    }
}

pub(in crate::surrogate) fn check_finite<T: Scalar>(x: &[T]) -> Result<(), SurrogateError> {
    match x.iter().find(|x| !x.is_finite()) {
        Some(bad) => Err(SurrogateError::NonFinite {
            value: bad.to_f64(),
        }),
        None => Ok(()),
    }
}
