//! The next point, in one go or in slices.

use core::task::Poll;

use super::elsewhere::let_go;
use super::level::level;
use super::surface::{Questions, Surface};
use super::work::{Suggesting, Work};
use super::{Optimizer, OptimizerError, Point};
use crate::acquisition::maximize::{Around, BoxSearch, Searching};
use crate::acquisition::{Rule, log_expected_improvement};
use crate::domain::collected;
use crate::domain::sobol::{coordinate, hash};
use crate::linalg::slice::{self, part};
use crate::math::Scalar;

/// After the initial points every so manyth question fills the box. The sequence's elements at
/// these places lie in all parts of the box, because the number is odd.
const FILLING: u32 = 5;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// The point to try next, in the user's units. Asking again without telling gives the same
    /// point; after a refused observation it is the next point of a Sobol sequence, so that a
    /// refusal is not met for ever.
    ///
    /// A model that takes values for slightly noisy always finds a little to gain beside its best
    /// point. So with expected improvement, where the best question promises less than 3 % of the
    /// values' standard deviation, every second one, by a coin of seed and number, is asked
    /// elsewhere: where the same rule points once the least known of the points looked at is taken
    /// for as uncertain as the values are apart. docs/prior-files.md, "Letting go", has what it is
    /// worth.
    ///
    /// **Errors**: [`OptimizerError`]. **Cost**: at most [`BoxSearch`]'s evaluations of n² flops
    /// each, those of the climbs twice; where the question is asked elsewhere those of its scan
    /// once more; and a fit where one is due: see [`Optimizer::fit`]. [`Optimizer::suggest_step`]
    /// makes them a few at a time.
    pub fn suggest(&mut self) -> Result<Point<T>, OptimizerError> {
        loop {
            if let Poll::Ready(point) = self.suggest_step(u32::MAX)? {
                return Ok(point);
            }
        }
    }

    /// [`Optimizer::suggest`] in slices: at most `evaluations` more of the acquisition (at least
    /// one), for a program that feeds a watchdog or has other work. One of a fit counts as n, n the
    /// observations. The same point, bit for bit, whatever the slices are.
    ///
    /// An observation in between begins again.
    ///
    /// **Errors**: [`OptimizerError`]. **Cost**: `evaluations` of n² flops each, or n³ where a fit
    /// is due; in the first slice 4n² more.
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
        let rule = self.settings.acquisition;
        self.advance(evaluations, &rule, true)
    }

    /// [`Optimizer::suggest`] by an acquisition of your own: any function of mean, variance and the
    /// best mean so far, in your unit. It is followed at every question: nothing is asked
    /// elsewhere.
    ///
    /// **Errors**, **cost**: as [`Optimizer::suggest`].
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 20, vec![0.0; optimizer::storage_len(1, 20)])?;
    /// for i in 0..6 {
    ///     optimizer.observe(&[0.1 * f64::from(i)], f64::from(i))?;
    /// }
    /// // Where least is known: far from all that was observed.
    /// let x = optimizer.suggest_by(&|_mean: f64, variance: f64, _best: f64| variance)?;
    /// assert!(x[0] > 0.9, "{x:?}");
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn suggest_by(&mut self, rule: &impl Rule<T>) -> Result<Point<T>, OptimizerError> {
        if matches!(self.work, Work::Suggest(_)) {
            self.work = Work::None;
        }
        loop {
            if let Poll::Ready(point) = self.suggest_step_by(u32::MAX, rule)? {
                return Ok(point);
            }
        }
    }

    /// [`Optimizer::suggest_by`] in slices; the same rule at every step.
    ///
    /// **Errors**, **cost**: as [`Optimizer::suggest_step`].
    pub fn suggest_step_by(
        &mut self,
        evaluations: u32,
        rule: &impl Rule<T>,
    ) -> Result<Poll<Point<T>>, OptimizerError> {
        self.advance(evaluations, rule, false)
    }

    /// Whether the next question is a point that fills the box, whatever the model says: the
    /// initial ones, then every fifth until there are
    /// [`filling_points`](super::Settings::filling_points); also after a refused observation.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 20, vec![0.0; optimizer::storage_len(1, 20)])?;
    /// let mut fills = vec![];
    /// for number in 0..20 {
    ///     if optimizer.fills_next() {
    ///         fills.push(number);
    ///     }
    ///     let x = optimizer.suggest()?;
    ///     optimizer.observe(&x, x[0])?;
    /// }
    /// assert_eq!(fills, [0, 1, 2, 7]);
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn fills_next(&self) -> bool {
        if !self.is_begun() || self.last_refused {
            return true;
        }
        let (initial, all) = self.settings.points(self.space.dim());
        let later = self.values().saturating_sub(initial);
        later % FILLING == FILLING - 1 && later / FILLING < all.saturating_sub(initial)
    }

    /// Values that were told, without what failed: a failure says nothing of the function, and a
    /// point that fills the box is asked in its place.
    fn values(&self) -> u32 {
        self.told.saturating_sub(self.failed() as u32)
    }

    /// Whether enough values are known for a model. Where rows failed, they are those that the rows
    /// still have: failures may have taken the others' places, and what all failed says nothing of
    /// the function.
    pub(super) fn is_begun(&self) -> bool {
        let (initial, _) = self.settings.points(self.space.dim());
        let failed = self.failed();
        let known = self.len - failed;
        self.values() >= initial
            && (failed == 0 || known >= self.capacity.min(initial as usize).max(1))
    }

    /// A slice of the fit that is due; true if none is left. One that fails leaves the parameters.
    pub(super) fn refit_slice(&mut self, evaluations: u32) -> bool {
        if !self.fit_is_due() {
            return true;
        }
        let rows = u32::try_from(self.len).unwrap_or(u32::MAX).max(1);
        !matches!(self.fit_step(evaluations / rows), Ok(Poll::Pending))
    }

    /// A slice of a suggestion, whose end is `kept` for those who ask again.
    fn advance(
        &mut self,
        evaluations: u32,
        rule: &impl Rule<T>,
        kept: bool,
    ) -> Result<Poll<Point<T>>, OptimizerError> {
        if self.given.is_none() && self.space.axes().iter().any(|axis| axis.context) {
            return Err(OptimizerError::NoContext);
        }
        if self.fills_next() {
            return self.proposed(-T::INFINITY).map(Poll::Ready);
        }
        if !self.refit_slice(evaluations) {
            return Ok(Poll::Pending);
        }
        self.seek(evaluations, rule, kept)
    }

    /// [`Optimizer::advance`] where the model is asked and no fit is due.
    // A frame of its own: on a device that of a fit does not lie below it.
    #[inline(never)]
    fn seek(
        &mut self,
        evaluations: u32,
        rule: &impl Rule<T>,
        kept: bool,
    ) -> Result<Poll<Point<T>>, OptimizerError> {
        let begun = if let Work::Suggest(suggesting) = &self.work {
            Some(*suggesting)
        } else {
            None
        };
        self.work = Work::None;
        let mut suggesting = match begun {
            Some(suggesting) => suggesting,
            None => self.begin_suggestion()?,
        };
        let mut left = evaluations.max(1);
        let searched = loop {
            let before = suggesting.searching.evaluations();
            let searched = self.search(&mut suggesting, left, rule)?;
            left = left.saturating_sub(suggesting.searching.evaluations().saturating_sub(before));
            if searched.is_pending() || suggesting.gain.is_some() {
                break searched;
            }
            if !self.goes_on(&mut suggesting, kept)? {
                break searched;
            }
            if left == 0 {
                break Poll::Pending;
            }
        };
        if kept || searched.is_pending() {
            self.work = Work::Suggest(suggesting);
        }
        match searched {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(found) => {
                self.gain = suggesting.gain;
                self.proposed(found).map(Poll::Ready)
            }
        }
    }

    /// The point that a search left, or where it found nothing the next one of a Sobol sequence, in
    /// the user's units.
    // A frame of its own: on a device it does not lie below that of the search.
    #[inline(never)]
    fn proposed(&mut self, found: T) -> Result<Point<T>, OptimizerError> {
        let seed = self.settings.seed;
        let element = self.element();
        let dim = self.space.dim();
        if found > -T::INFINITY {
            let unit: Point<T> = collected(self.parts()?.1.point.iter().copied());
            return Ok(self.to_user(&unit));
        }
        // Nowhere an improvement: all values are 0, say.
        let mut unit: Point<T> = collected((0..dim).map(|axis| coordinate(element, axis, seed)));
        self.space.snap(&mut unit);
        self.put_context(&mut unit);
        if self.space.count().is_some() && self.was_asked(&unit) {
            self.unasked(hash(seed ^ element), &mut unit);
        }
        Ok(self.to_user(&unit))
    }

    /// Looks for a question that was not asked, from number `start` on; where all were, the point
    /// stays. Of n + 1 questions one was not asked, n the rows.
    fn unasked(&self, start: u32, unit: &mut Point<T>) -> bool {
        let Some(count) = self.space.count() else {
            return true;
        };
        let mut candidate = unit.clone();
        for number in 0..count.min(self.len as u64 + 1) {
            let mut rest = (u64::from(start) + number) % count.max(1);
            for axis in self.space.searched() {
                let values = self
                    .space
                    .axes()
                    .get(axis)
                    .and_then(|axis| axis.count())
                    .unwrap_or(1)
                    .max(1);
                let index = (rest % u64::from(values)) as u32;
                rest /= u64::from(values);
                slice::set(
                    &mut candidate,
                    axis,
                    self.space.cell(axis, index).unwrap_or(T::ZERO),
                );
            }
            if !self.was_asked(&candidate) {
                unit.clone_from(&candidate);
                return true;
            }
        }
        false
    }

    /// Whether no question is asked twice: there are others, and the space counts on some axis.
    fn once(&self) -> bool {
        if self.space.count().is_none() {
            // Beside whole numbers and choices; among real numbers alone a corner may be worth
            // another look.
            return self.space.axes().iter().any(|axis| axis.count().is_some());
        }
        let mut unit: Point<T> = collected((0..self.space.dim()).map(|_| T::ZERO));
        self.put_context(&mut unit);
        self.unasked(0, &mut unit)
    }

    /// Of the Sobol sequence: as many as were told or refused are behind it.
    pub(super) fn element(&self) -> u32 {
        self.told.saturating_add(self.refused)
    }

    fn begin_suggestion(&mut self) -> Result<Suggesting<T>, OptimizerError> {
        let dim = self.space.dim();
        let search = self.settings.search.unwrap_or(BoxSearch::for_dim(dim));
        let seed = hash(self.settings.seed ^ hash(self.told.wrapping_add(1)));
        let (mut gp, mut rest, questions) = self.parts()?;
        let level = level(&mut gp, &mut rest.solved, questions.given);
        slice::copy(
            part(gp.inputs(), level.incumbent * dim, dim),
            rest.incumbent,
        );
        Ok(Suggesting {
            level,
            searching: Searching::begin(search, seed, rest.point, rest.search),
            widest: T::ZERO,
            gain: None,
        })
    }

    /// A slice of the search; the largest value of the acquisition at its end.
    fn search(
        &mut self,
        suggesting: &mut Suggesting<T>,
        evaluations: u32,
        rule: &impl Rule<T>,
    ) -> Result<Poll<T>, OptimizerError> {
        let once = self.once();
        let (gp, rest, questions) = self.parts()?;
        let questions = Questions { once, ..questions };
        let mut surface = Surface::new(&gp, rest.solved, suggesting.level, questions, rule);
        let around = Around {
            center: rest.incumbent,
            spread: rest.spread,
        };
        let searched =
            suggesting
                .searching
                .step(evaluations, around, rest.point, rest.search, &mut surface);
        suggesting.widest = suggesting.widest.max(surface.widest);
        Ok(searched.map(|found| found.value))
    }

    /// Notes what the point that a search left promises; whether that is let go, and the search
    /// goes on elsewhere.
    fn goes_on(
        &mut self,
        suggesting: &mut Suggesting<T>,
        kept: bool,
    ) -> Result<bool, OptimizerError> {
        let may_let_go = kept && self.may_let_go();
        let level = suggesting.level;
        let (gp, rest, questions) = self.parts()?;
        let mut surface = Surface::new(&gp, rest.solved, level, questions, &());
        surface.posterior(rest.point);
        let gain =
            log_expected_improvement::value(surface.mean, surface.variance, level.value).exp();
        suggesting.gain = Some(gain);
        Ok(may_let_go && let_go(&gp, suggesting, gain, rest.point, rest.search))
    }
}
