//! The next point from a list, in one go or in slices.

use core::task::Poll;

use super::failed::failed_at;
use super::level::level;
use super::surface::{Surface, in_unit_box};
use super::work::{Choosing, Work};
use super::{Optimizer, OptimizerError, Point};
use crate::domain::sobol::coordinate;
use crate::domain::{DIM_MAX, DomainError};
use crate::linalg::block::WIDTH;
use crate::linalg::{slice, squared_distance};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;
use crate::surrogate::exact::same_point;

/// Candidates that a list may have, at most.
pub const CANDIDATES_MAX: usize = 10_000;

/// From this noise fraction on a candidate that was asked may be asked again.
const NOISY: f64 = 0.2;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// The candidate to try next, by its index: only those of the list may be asked. `candidates`
    /// are points of the space in the user's units, row-major, 1 to [`CANDIDATES_MAX`]. The first
    /// ones are those nearest to the points of a Sobol sequence, ties and later ones by the
    /// acquisition with the lowest index first.
    ///
    /// A candidate that was asked is not asked again while another is left, unless values are noisy
    /// (a fifth of the variance or more once the model has been fitted to 2D + 8 values) or drift
    /// ([`Settings::half_life`](super::Settings::half_life)); one that
    /// [failed](Optimizer::fail) not even then, while one is left that did not.
    ///
    /// **Errors**: [`SurrogateError::Dimension`] unless the list is whole points,
    /// [`DomainError::TooManyCandidates`], [`SpaceError::Value`](crate::space::SpaceError::Value)
    /// for one that cannot be asked; [`OptimizerError`].
    ///
    /// **Cost**: n² flops a candidate, and a fit where one is due.
    /// [`Optimizer::suggest_among_step`] makes them a few at a time.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 9.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 10, vec![0.0; optimizer::storage_len(1, 10)])?;
    /// let gears: Vec<f64> = (0..10).map(f64::from).collect();
    /// let mut asked = vec![];
    /// for _ in 0..10 {
    ///     let gear = optimizer.suggest_among(&gears)?;
    ///     optimizer.observe(&gears[gear..=gear], -(gears[gear] - 6.0).powi(2))?;
    ///     asked.push(gear);
    /// }
    /// assert!(asked[..7].contains(&6));
    /// asked.sort();
    /// assert_eq!(asked, (0..10).collect::<Vec<_>>());
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn suggest_among(&mut self, candidates: &[T]) -> Result<usize, OptimizerError> {
        loop {
            if let Poll::Ready(candidate) = self.suggest_among_step(u32::MAX, candidates)? {
                return Ok(candidate);
            }
        }
    }

    /// [`Optimizer::suggest_among`] in slices: at most `evaluations` more candidates (at least
    /// one); one evaluation of a fit counts as n. The list must be the same at every step.
    ///
    /// **Errors**: as [`Optimizer::suggest_among`]. **Cost**: besides the evaluations a comparison
    /// with the rows for every candidate of the slice, in the first slice for all.
    pub fn suggest_among_step(
        &mut self,
        evaluations: u32,
        candidates: &[T],
    ) -> Result<Poll<usize>, OptimizerError> {
        let begun = if let Work::Among(choosing) = self.work {
            Some(choosing)
        } else {
            None
        };
        if begun.is_none() {
            self.check_candidates(candidates)?;
            self.gain = None;
        }
        if self.fills_next() {
            return Ok(Poll::Ready(self.nearest_to_design(candidates)));
        }
        if !self.refit_slice(evaluations) {
            return Ok(Poll::Pending);
        }
        let repeats = self.repeats();
        let mut choosing = match begun {
            Some(choosing) => choosing,
            None => {
                let (mut gp, mut rest, questions) = self.parts()?;
                let level = level(&mut gp, &mut rest.solved, questions.given);
                Choosing::among(level, repeats)
            }
        };
        self.work = Work::None;
        let all = candidates.len() / self.space.dim().max(1);
        let left = (evaluations.max(1) as usize).min(all.saturating_sub(choosing.looked));
        self.look_at(&mut choosing, candidates, left)?;
        if choosing.looked < all {
            self.work = Work::Among(choosing);
            return Ok(Poll::Pending);
        }
        // All were asked: the best of them again.
        Ok(Poll::Ready(
            choosing
                .chosen
                .unwrap_or_else(|| self.nearest_to_design(candidates)),
        ))
    }

    pub(super) fn check_candidates(&self, candidates: &[T]) -> Result<(), OptimizerError> {
        let expected = self.space.dim();
        let given = candidates.len();
        if given == 0 || !given.is_multiple_of(expected.max(1)) {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        let count = given / expected.max(1);
        if count > CANDIDATES_MAX {
            return Err(DomainError::TooManyCandidates {
                count: count as u64,
            }
            .into());
        }
        for point in slice::rows(candidates, expected) {
            self.space.check(point)?;
        }
        Ok(())
    }

    /// Whether a candidate that was asked may be asked again before all others were.
    fn repeats(&self) -> bool {
        let enough = self.parameters.told >= 2 * self.space.dim() as u32 + 8;
        self.settings.half_life > 0
            || (enough && self.parameters.noise_fraction >= T::from_f64(NOISY))
    }

    /// Whether a row is of this point of the unit box.
    pub(super) fn was_asked(&self, unit: &[T]) -> bool {
        let dim = self.space.dim();
        slice::rows(slice::head(self.storage.as_ref(), self.len * dim), dim)
            .any(|row| same_point(row, unit))
    }

    /// Looks at `count` more candidates.
    pub(super) fn look_at(
        &mut self,
        choosing: &mut Choosing<T>,
        candidates: &[T],
        count: usize,
    ) -> Result<(), OptimizerError> {
        let dim = self.space.dim();
        let rule = self.settings.acquisition;
        let (gp, rest, questions) = self.parts()?;
        let inputs = gp.inputs();
        let mut surface = Surface::new(&gp, rest.solved, choosing.level, questions, &rule);
        let mut units = [T::ZERO; DIM_MAX * WIDTH];
        let mut values = [T::ZERO; WIDTH];
        let points = slice::head(slice::tail(candidates, choosing.looked * dim), count * dim);
        for points in points.chunks((WIDTH * dim).max(1)) {
            let units = in_unit_box(questions.space, points, &mut units);
            surface.values(units, dim, choosing.value, &mut values);
            for (unit, value) in slice::rows(units, dim).zip(values) {
                let asked = slice::rows(inputs, dim).any(|row| same_point(row, unit));
                let may = !asked || (choosing.repeats && !failed_at(&gp, unit));
                if may && (choosing.chosen.is_none() || value > choosing.value) {
                    (choosing.chosen, choosing.value) = (Some(choosing.looked), value);
                }
                choosing.looked += 1;
            }
        }
        Ok(())
    }

    /// The candidate nearest to the next point of the design that was not asked; of those that did
    /// not fail if each one was, and of all if each one did.
    fn nearest_to_design(&self, candidates: &[T]) -> usize {
        let dim = self.space.dim();
        let element = self.element();
        let design: Point<T> = crate::domain::collected(
            (0..dim).map(|axis| coordinate(element, axis, self.settings.seed)),
        );
        // Of those that were not asked, that did not fail, of all.
        let mut nearest = [None; 3];
        let mut distances = [T::INFINITY; 3];
        for (index, point) in slice::rows(candidates, dim).enumerate() {
            let unit = self.to_unit(point);
            let distance = squared_distance(&unit, &design);
            let among = [!self.was_asked(&unit), !self.failed_at(&unit), true];
            for ((nearest, least), among) in nearest.iter_mut().zip(&mut distances).zip(among) {
                if among && distance < *least {
                    (*nearest, *least) = (Some(index), distance);
                }
            }
        }
        nearest.into_iter().flatten().next().unwrap_or(0)
    }
}
