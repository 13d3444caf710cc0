//! Evaluations that have no value.

use super::layout::Model;
use super::{Optimizer, OptimizerError};
use crate::linalg::slice;
use crate::math::Scalar;
use crate::surrogate::Observed;
use crate::surrogate::exact::{failed_rows, same_point};

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Tells that a point, a suggested one or any other of the box, has no value: it cannot work
    /// here, or could not be measured. It counts as told and takes a row of the capacity. The model
    /// has the worst value of the rows that have one in its place, updated with every value, so
    /// that a search leaves a region that fails. From a list it is not asked again while a
    /// candidate is left that did not fail; nor is it ever the [best](Optimizer::best), even if it
    /// was told as well.
    ///
    /// Where only the measurement went wrong, measure again and tell that: a failure speaks against
    /// the points around it.
    ///
    /// A program that writes a log asks [`Optimizer::check`] with any finite value, 0 say, before
    /// it writes [`LogEntry::Failed`](super::LogEntry::Failed).
    ///
    /// **Errors**: as [`Optimizer::observe`]. **Cost**: 2n² flops more than that; as long as a row
    /// is there that failed, n² more for every value told.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, LogEntry, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
    /// let storage = || vec![0.0f64; optimizer::storage_len(1, 20)];
    /// let (mut optimizer, mut log) = (Optimizer::new(domain.clone(), Settings::default(), 20, storage())?, vec![]);
    /// for _ in 0..20 {
    ///     let x = optimizer.suggest()?;
    ///     if x[0] > 0.6 {
    ///         optimizer.fail(&x)?; // the motor stalled
    ///         log.push(LogEntry::failed(&x)?);
    ///     } else {
    ///         let y = -(x[0] - 0.4).powi(2);
    ///         optimizer.observe(&x, y)?;
    ///         log.push(LogEntry::told(&x, y)?);
    ///     }
    /// }
    /// let (best, _) = optimizer.best().ok_or("nothing told")?;
    /// assert!((best[0] - 0.4).abs() < 0.05 && optimizer.failed() < 12, "{best:?}");
    /// let mut resumed = Optimizer::resume(domain, Settings::default(), 20, storage(), log)?;
    /// assert_eq!(resumed.suggest()?, optimizer.suggest()?);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn fail(&mut self, point: &[T]) -> Result<Observed, OptimizerError> {
        self.take(point, None)
    }

    /// Rows in use of points that [failed](Optimizer::fail).
    pub fn failed(&self) -> usize {
        self.failed_rows().filter(|failed| *failed).count()
    }

    fn failed_rows(&self) -> impl Iterator<Item = bool> {
        failed_rows(
            self.space.dim(),
            self.capacity,
            self.len,
            self.storage.as_ref(),
        )
    }

    /// Whether a row has a value.
    pub(super) fn any_told(&self) -> bool {
        self.failed_rows().any(|failed| !failed)
    }

    /// Whether a point of the unit box failed.
    pub(super) fn failed_at(&self, unit: &[T]) -> bool {
        let dim = self.space.dim();
        let inputs = slice::head(self.storage.as_ref(), self.len * dim);
        slice::rows(inputs, dim)
            .zip(self.failed_rows())
            .any(|(row, failed)| failed && same_point(row, unit))
    }
}

/// The same of a model's rows.
pub(super) fn failed_at<T: Scalar>(gp: &Model<'_, T>, unit: &[T]) -> bool {
    slice::rows(gp.inputs(), gp.dim())
        .enumerate()
        .any(|(i, row)| gp.has_failed(i) && same_point(row, unit))
}
