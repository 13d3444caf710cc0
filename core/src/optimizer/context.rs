//! The context of a question: what is given and not searched.

use super::surface::put;
use super::work::Work;
use super::{Optimizer, OptimizerError, Point};
use crate::math::Scalar;
#[cfg(doc)]
use crate::space::SpaceError;
use crate::surrogate::SurrogateError;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// The context of the questions that follow, one number for each axis that the space says is
    /// given ([`Axis::given`](crate::space::Axis::given)), in the order of these axes: a load, a
    /// room, a temperature. [`Optimizer::suggest`], [`Optimizer::best`] and
    /// [`Optimizer::recommend`] answer for it. It is not part of the log: what is told says its
    /// context itself.
    ///
    /// **Errors**: [`SurrogateError::Dimension`], [`SpaceError::Value`]; the context is as it was.
    ///
    /// ```
    /// use sordino_core::optimizer::{self, Optimizer, OptimizerError, Settings};
    /// use sordino_core::space::{Axis, Space};
    /// let space = Space::new(&[Axis::real(0.0, 1.0), Axis::real(0.0, 1.0).given()])?;
    /// let mut optimizer = Optimizer::new(space, Settings::default(), 40, vec![0.0; optimizer::storage_len(2, 40)])?;
    /// // The best valve follows the load.
    /// for round in 0..40 {
    ///     let load = f64::from(round % 5) / 4.0;
    ///     optimizer.given(&[load])?;
    ///     let x = optimizer.suggest()?;
    ///     assert_eq!(x[1], load);
    ///     optimizer.observe(&x, -(x[0] - 0.2 - 0.5 * load).powi(2))?;
    /// }
    /// optimizer.given(&[0.6])?; // which was never asked
    /// let best = optimizer.recommend().ok_or("nothing observed")?;
    /// assert!((best.point[0] - 0.5).abs() < 0.1 && best.point[1] == 0.6, "{best:?}");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn given(&mut self, context: &[T]) -> Result<(), OptimizerError> {
        let axes = self.space.axes();
        let expected = axes.iter().filter(|axis| axis.context).count();
        let given = context.len();
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        let mut values = context.iter();
        let mut unit = Point::new();
        for (place, axis) in axes.iter().enumerate() {
            let value = if axis.context {
                values.next().copied()
            } else {
                None
            };
            if let Some(value) = value {
                self.space.check_value(place, value)?;
            }
            let coordinate = value.and_then(|value| self.space.to_unit(place, value));
            unit.extend(core::iter::once(
                coordinate.unwrap_or(T::from_f64(f64::NAN)),
            ));
        }
        if self
            .given
            .as_deref()
            .is_none_or(|before| !same(before, &unit))
        {
            (self.work, self.gain) = (Work::None, None);
            self.given = (expected > 0).then_some(unit);
        }
        Ok(())
    }

    /// Replaces the coordinates that are given.
    pub(super) fn put_context(&self, unit: &mut [T]) {
        if let Some(given) = &self.given {
            put(given, unit);
        }
    }
}

/// Whether two contexts are the same.
fn same<T: Scalar>(a: &[T], b: &[T]) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| a == b || !(a.is_finite() || b.is_finite()))
}
