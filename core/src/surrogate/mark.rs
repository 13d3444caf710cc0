//! The mark of a row that failed: a scatter of −0, which no row with values has.

use crate::math::Scalar;

/// Whether a scatter is that of a row that failed.
pub(crate) fn is_mark<T: Scalar>(scatter: T) -> bool {
    scatter == T::ZERO && T::ONE / scatter < T::ZERO
}
