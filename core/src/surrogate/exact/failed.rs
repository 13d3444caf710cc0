//! Rows without a value: points at which an evaluation failed.
//!
//! The model has the least value of the other rows in their place, always that of now. A row that
//! failed has a scatter of −0, which no row with values has: the mark takes no memory. What such a
//! row was told before says nothing of the noise any more.

use super::ExactGp;
use super::storage::split;
use crate::kernel::Kernel;
use crate::linalg::lower;
use crate::linalg::slice::{self, head, head_mut, set};
use crate::math::Scalar;
use crate::surrogate::mark::is_mark;
use crate::surrogate::{Observed, SurrogateError};

/// Of each of the first `len` rows of a storage, whether it failed.
pub(crate) fn failed_rows<T: Scalar>(
    dim: usize,
    capacity: usize,
    len: usize,
    storage: &[T],
) -> impl Iterator<Item = bool> {
    slice::part(storage, capacity * (dim + 2), len)
        .iter()
        .map(|scatter| is_mark(*scatter))
}

impl<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>> ExactGp<T, K, S> {
    /// Takes a point that has no value; [`ExactGp::impute`] gives it one. A row that it repeats has
    /// none any more either, and what is told of such a row later changes nothing.
    ///
    /// **Errors**: as [`ExactGp::observe`]. **Cost**: that of it.
    pub(crate) fn fail(&mut self, x: &[T]) -> Result<Observed, SurrogateError> {
        let observed = self.observe(x, self.prior_mean + self.least())?;
        let index = match observed {
            Observed::Appended => self.len.saturating_sub(1),
            Observed::Merged { index } => index,
        };
        let parts = split(self.storage.as_mut(), self.dim, self.capacity);
        set(parts.scatters, index, -T::ZERO);
        Ok(observed)
    }

    /// Whether the row failed.
    pub(crate) fn has_failed(&self, index: usize) -> bool {
        is_mark(slice::at(self.scatters(), index))
    }

    /// Whether a row failed.
    pub(crate) fn any_failed(&self) -> bool {
        self.scatters().iter().any(|scatter| is_mark(*scatter))
    }

    /// The least value of a row that has one, less the prior mean; 0 if none has.
    fn least(&self) -> T {
        let rows = self.targets().iter().zip(self.scatters());
        let told = rows.filter(|(_, scatter)| !is_mark(**scatter));
        told.map(|(target, _)| *target)
            .reduce(|least, target| least.min(target))
            .unwrap_or(T::ZERO)
    }

    /// Gives the rows that failed the least value of now; nothing is done where none did.
    ///
    /// **Cost**: n² flops.
    pub(crate) fn impute(&mut self) {
        if !self.any_failed() {
            return;
        }
        let least = self.least();
        let n = self.len;
        let parts = split(self.storage.as_mut(), self.dim, self.capacity);
        for (target, scatter) in head_mut(parts.targets, n).iter_mut().zip(&*parts.scatters) {
            if is_mark(*scatter) {
                *target = least;
            }
        }
        let whitened = head_mut(parts.whitened, n);
        slice::copy(head(parts.targets, n), whitened);
        lower::solve(parts.factor, whitened);
    }
}
