//! The mark of a row that failed: a scatter of −0, which no row with values has.

use crate::math::Scalar;

/// Whether a scatter is that of a row that failed.
pub(crate) fn is_mark<T: Scalar>(scatter: T) -> bool {
    scatter == T::ZERO && T::ONE / scatter < T::ZERO
}

/// Count and scatter of each row that was told more than once: what repeats say of the noise. What
/// a row was told before it failed says nothing.
pub(crate) fn repeats<'a, T: Scalar>(
    counts: &'a [T],
    scatters: &'a [T],
) -> impl Iterator<Item = (T, T)> + 'a {
    let rows = counts.iter().copied().zip(scatters.iter().copied());
    rows.filter(|(count, scatter)| *count > T::ONE && !is_mark(*scatter))
}
