//! The next point, in one go or in slices.

use core::task::Poll;

use super::work::{Suggesting, Work};
use super::{Acquisition, Optimizer, OptimizerError, Point, level};
use crate::acquisition::maximize::{BoxSearch, Searching};
use crate::acquisition::{log_expected_improvement, upper_confidence_bound};
use crate::domain::collected;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, head, head_mut, part};
use crate::linalg::{dot, lower, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::fit::halton;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// The point to try next, in the user's units. Asking again without telling gives the same point; after a refused
    /// observation it is the next point of a Halton sequence, so that a refusal is not met for ever.
    ///
    /// **Errors**: [`OptimizerError`]. **Cost**: at most [`BoxSearch`]'s evaluations of n² flops each; no random draw.
    /// [`Optimizer::suggest_step`] makes them a few at a time.
    pub fn suggest(&mut self) -> Result<Point<T>, OptimizerError> {
        loop {
            if let Poll::Ready(point) = self.suggest_step(u32::MAX)? {
                return Ok(point);
            }
        }
    }

    /// [`Optimizer::suggest`] in slices: at most `evaluations` more of the acquisition (at least one), for a program that
    /// feeds a watchdog or has other work. The same point, bit for bit, whatever the slices are.
    ///
    /// An observation in between, or a fit, begins again.
    ///
    /// **Errors**: [`OptimizerError`]. **Cost**: `evaluations` of n² flops each, in the first slice 3n² more.
    ///
    /// ```
    /// use core::task::Poll;
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 20.0)])?;
    /// let storage = vec![0.0f32; optimizer::storage_len(1, 20)];
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 20, storage)?;
    /// for i in 0..6 {
    ///     optimizer.observe(&[3.0 * i as f32], i as f32)?;
    /// }
    /// let x = loop {
    ///     match optimizer.suggest_step(16)? {
    ///         Poll::Ready(x) => break x,
    ///         Poll::Pending => {} // feed the watchdog
    ///     }
    /// };
    /// assert_eq!(x, optimizer.suggest()?);
    /// # Ok::<(), sordino_core::optimizer::OptimizerError>(())
    /// ```
    pub fn suggest_step(&mut self, evaluations: u32) -> Result<Poll<Point<T>>, OptimizerError> {
        let initial = match self.settings.initial_points {
            0 => 2 * self.domain.dim() as u32 + 2,
            points => points,
        };
        let planned = !(self.told < initial || self.len == 0 || self.last_refused);
        let begun = if let Work::Suggest(suggesting) = &self.work { Some(*suggesting) } else { None };
        self.work = Work::None;
        let mut found = -T::INFINITY;
        if planned {
            let mut suggesting = match begun {
                Some(suggesting) => suggesting,
                None => self.begin_suggestion()?,
            };
            match self.search(&mut suggesting, evaluations)? {
                Poll::Ready(value) => found = value,
                Poll::Pending => {
                    self.work = Work::Suggest(suggesting);
                    return Ok(Poll::Pending);
                }
            }
        }
        self.proposed(found).map(Poll::Ready)
    }

    /// The point that a search left, or where it found nothing the next one of a Halton sequence, in the user's units.
    // A frame of its own: on a device it does not lie below that of the search.
    #[inline(never)]
    fn proposed(&mut self, found: T) -> Result<Point<T>, OptimizerError> {
        let element = self.told.saturating_add(self.refused).saturating_add(1);
        let (_, rest) = self.parts()?;
        // Nowhere an improvement: all values are 0, say.
        if !(found > -T::INFINITY) {
            rest.point.iter_mut().enumerate().for_each(|(axis, x)| *x = halton(element, axis));
        }
        let unit: Point<T> = collected(rest.point.iter().copied());
        Ok(self.to_user(&unit))
    }

    fn begin_suggestion(&mut self) -> Result<Suggesting<T>, OptimizerError> {
        let dim = self.domain.dim();
        let search = self.settings.search.unwrap_or(BoxSearch::for_dim(dim));
        let (mut gp, rest) = self.parts()?;
        let level = level(&mut gp, rest.whitened, rest.column);
        slice::copy(part(gp.inputs(), level.incumbent * dim, dim), rest.incumbent);
        Ok(Suggesting { level, searching: Searching::begin(search, rest.point, rest.search) })
    }

    /// A slice of the search; the largest value of the acquisition at its end.
    fn search(&mut self, suggesting: &mut Suggesting<T>, evaluations: u32) -> Result<Poll<T>, OptimizerError> {
        let (len, acquisition) = (self.len, self.settings.acquisition);
        let unresolved = self.noise_floor() + self.noise_floor();
        let (gp, rest) = self.parts()?;
        let level = suggesting.level;
        let (whitened, column) = (head(rest.whitened, len), head_mut(rest.column, len));
        let value = |x: &[T]| {
            gp.kernel().covariances(x, gp.inputs(), column);
            lower::solve(gp.factor(), column);
            let mean = level.mean + dot(column, whitened);
            // Less than that is what the rows' floor leaves: asking there again would teach nothing.
            let left = T::ONE - sum_of_squares(column);
            let variance = if left > unresolved { level.variance * left } else { T::ZERO };
            match acquisition {
                Acquisition::ExpectedImprovement => log_expected_improvement::value(mean, variance, level.value),
                Acquisition::UpperConfidenceBound { width } => {
                    upper_confidence_bound::bound(mean, variance, T::from_f64(width))
                }
            }
        };
        Ok(suggesting
            .searching
            .step(evaluations, rest.incumbent, rest.point, rest.search, value)
            .map(|found| found.value))
    }
}
