//! What to use, and whether to go on asking.

use super::level::level;
use super::surface::{Questions, Surface, in_unit_box};
use super::{Optimizer, OptimizerError, Point};
use crate::domain::DIM_MAX;
use crate::linalg::block::WIDTH;
use crate::linalg::slice::{self, part};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;

/// The point to use, and what is known of its value.
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Recommendation, Settings}};
/// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
/// let mut optimizer = Optimizer::new(domain, Settings::default(), 4, vec![0.0; optimizer::storage_len(1, 4)])?;
/// optimizer.observe(&[0.5], 2.0)?;
/// let Recommendation { point, .. } = optimizer.recommend().ok_or("nothing observed")?;
/// assert_eq!(point[..], [0.5]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation<T> {
    /// An observed point, in the user's units.
    pub point: Point<T>,
    /// Posterior mean there, in the user's unit.
    pub mean: T,
    /// Posterior standard deviation there.
    pub std: T,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// The observed point of largest posterior mean, in the user's units, and that mean; nothing if
    /// there is none that did not [fail](Optimizer::fail). [`Optimizer::recommend`] says how sure
    /// it is.
    pub fn best(&mut self) -> Option<(Point<T>, T)> {
        let dim = self.space.dim();
        if !self.any_told() {
            return None;
        }
        // The same numbers as those a suggestion under way holds there.
        let (mut gp, mut rest, questions) = self.parts().ok()?;
        let level = level(&mut gp, &mut rest.solved, questions.given);
        let mut unit: Point<T> = Point::new();
        unit.extend_from_slice(part(gp.inputs(), level.incumbent * dim, dim))
            .ok()?;
        let is_row_failed = gp.has_failed(level.incumbent);
        self.put_context(&mut unit);
        if is_row_failed || self.failed_at(&unit) {
            return None;
        }
        Some((self.to_user(&unit), level.value))
    }

    /// The point to use: the observed one of largest posterior mean, with its uncertainty.
    /// [`Optimizer::suggest`] is for learning: it asks where something better may be, which often
    /// is worse. Nothing before the first observation.
    ///
    /// **Cost**: 4n² flops.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 20.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 40, vec![0.0; optimizer::storage_len(1, 40)])?;
    /// let efficiency = |x: f64| 0.9 - (x - 13.0).powi(2) / 400.0;
    /// while optimizer.worth_asking(0.001) && optimizer.len() < 40 {
    ///     let x = optimizer.suggest()?;
    ///     optimizer.observe(&x, efficiency(x[0]))?;
    ///     optimizer.suggest()?; // which finds what the next question is worth
    /// }
    /// let used = optimizer.recommend().ok_or("nothing observed")?;
    /// assert!(optimizer.len() < 20 && 0.9 - efficiency(used.point[0]) < 0.001, "{used:?}");
    /// assert!((used.mean - 0.9).abs() < 0.01 && used.std < 0.01);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn recommend(&mut self) -> Option<Recommendation<T>> {
        let (point, _) = self.best()?;
        let (mean, std) = self.predict(&point).ok()?;
        Some(Recommendation { point, mean, std })
    }

    /// Posterior mean and standard deviation of the function at a point of the box, in the user's
    /// units.
    ///
    /// **Errors**: [`SurrogateError::Dimension`],
    /// [`SpaceError::Value`](crate::space::SpaceError::Value); [`SurrogateError::Index`] before the
    /// first value: there is no scale.
    pub fn predict(&mut self, point: &[T]) -> Result<(T, T), OptimizerError> {
        let expected = self.space.dim();
        let given = point.len();
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        self.space.check(point)?;
        if !self.any_told() {
            return Err(SurrogateError::Index { index: 0, len: 0 }.into());
        }
        let unit = self.to_unit(point);
        let (mut gp, mut rest, questions) = self.parts()?;
        // A context asks for other means only, not for other numbers of the model.
        let level = level(&mut gp, &mut rest.solved, None);
        // Here a variance counts however little it is.
        let questions = Questions {
            unresolved: T::ZERO,
            ..questions
        };
        let mut surface = Surface::new(&gp, rest.solved, level, questions, &());
        surface.posterior(&unit);
        Ok((surface.mean, surface.variance.sqrt()))
    }

    /// Mean and standard deviation at each of these points, row-major: [`Optimizer::predict`] of
    /// many, with the same bits. On hosts sixteen are looked at together.
    ///
    /// **Errors**: as [`Optimizer::predict`], of the first point that has one;
    /// [`SurrogateError::Dimension`] unless `out` has room for as many as there are points.
    /// **Cost**: n² flops a point, and 3n² once.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 9.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 4, vec![0.0; optimizer::storage_len(1, 4)])?;
    /// optimizer.observe(&[2.0], 1.5)?;
    /// optimizer.observe(&[7.0], 0.5)?;
    /// let mut found = [(0.0, 0.0); 3];
    /// optimizer.predict_all(&[0.0, 4.5, 9.0], &mut found)?;
    /// assert_eq!(found[1], optimizer.predict(&[4.5])?);
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn predict_all(&mut self, points: &[T], out: &mut [(T, T)]) -> Result<(), OptimizerError> {
        let dim = self.space.dim();
        let expected = out.len() * dim;
        let given = points.len();
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        if !self.any_told() {
            return Err(SurrogateError::Index { index: 0, len: 0 }.into());
        }
        for point in slice::rows(points, dim) {
            self.space.check(point)?;
        }
        let (mut gp, mut rest, questions) = self.parts()?;
        let level = level(&mut gp, &mut rest.solved, None);
        // Here a variance counts however little it is.
        let questions = Questions {
            unresolved: T::ZERO,
            ..questions
        };
        let mut surface = Surface::new(&gp, rest.solved, level, questions, &());
        let mut units = [T::ZERO; DIM_MAX * WIDTH];
        let mut moments = [[T::ZERO; 2]; WIDTH];
        for (points, out) in points
            .chunks((WIDTH * dim).max(1))
            .zip(out.chunks_mut(WIDTH))
        {
            let units = in_unit_box(questions.space, points, &mut units);
            surface.moments(units, dim, &mut moments);
            for (found, [mean, variance]) in out.iter_mut().zip(moments) {
                *found = (mean, variance.sqrt());
            }
        }
        Ok(())
    }

    /// The expected improvement over the best posterior mean at the point that was suggested last,
    /// in the user's unit; where the question was asked elsewhere because this promised next to
    /// nothing, at the point that it was asked in place of. Nothing since an observation or a fit,
    /// for points that fill the box, and for candidates of a list.
    pub fn expected_gain(&self) -> Option<T> {
        self.gain
    }

    /// Whether the next question is worth its price: false once the point that was suggested last
    /// promised less than `threshold`, in the user's unit. True where that is not known.
    ///
    /// **Example**: that of [`Optimizer::recommend`].
    pub fn worth_asking(&self, threshold: T) -> bool {
        !self.gain.is_some_and(|gain| gain < threshold)
    }
}
