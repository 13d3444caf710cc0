//! Letting go: when the best question promises next to nothing, and what is asked in its place.
//!
//! A model that takes values for slightly noisy always finds a little to gain beside its best
//! point, and a search that takes it stays there. So of the questions that promise less than
//! [`IDLE`] every second one is asked elsewhere.
//!
//! **Equation**: with d the standard deviation of the rows' values and s_max the largest posterior
//! standard deviation at a point that was looked at, elsewhere is where the acquisition is largest
//! if the posterior standard deviation were s(x)·d/s_max: the least known point is taken for as
//! uncertain as the values are apart.
//!
//! It belongs to the expected improvement. Who sets a width, or a rule, has said how much is to be
//! explored; who searches a list asks each candidate once.
//!
//! **Source**: our own, measured in docs/prior-files.md, "Letting go".

use super::layout::Model;
use super::level::level;
use super::surface::{Surface, in_unit_box};
use super::work::{Choosing, Level, Suggesting};
use super::{Optimizer, OptimizerError};
use crate::acquisition::maximize::BoxSearch;
use crate::acquisition::{Acquisition, log_expected_improvement};
use crate::domain::DIM_MAX;
use crate::domain::sobol::hash;
use crate::linalg::block::WIDTH;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::surrogate::SurrogateError;

/// A question is idle if its expected improvement is less than this part of the standard deviation
/// of the values.
const IDLE: f64 = 0.03;

/// Of the coin's address; any number that nothing else hashes with the seed.
const COIN: u32 = 0x1dea_1135;

/// The standard deviation of the rows that have a value.
fn deviation<T: Scalar>(gp: &Model<'_, T>) -> T {
    let values = || {
        let rows = gp.targets().iter().enumerate();
        rows.filter(|(row, _)| !gp.has_failed(*row))
            .map(|(_, y)| *y)
    };
    let count = T::from_u32(values().count() as u32).max(T::ONE);
    let mean = values().fold(T::ZERO, |sum, y| sum + y / count);
    let square = |y: T| (y - mean) * (y - mean) / count;
    values().fold(T::ZERO, |sum, y| sum + square(y)).sqrt()
}

/// Whether a gain is next to nothing for values that are so far apart.
fn is_idle<T: Scalar>(gain: T, apart: T) -> bool {
    gain < T::from_f64(IDLE) * apart
}

/// The level under which the least known point, of this variance, is as uncertain as the values
/// are apart; none where nothing is uncertain.
fn widened<T: Scalar>(level: Level<T>, widest: T, apart: T) -> Option<Level<T>> {
    let variance = apart * apart * (level.variance / widest);
    (widest > T::ZERO && variance.is_finite()).then_some(Level { variance, ..level })
}

/// Begins the search for another question than the one found, if that promises too little; true if
/// it has begun.
pub(super) fn let_go<T: Scalar>(
    gp: &Model<'_, T>,
    suggesting: &mut Suggesting<T>,
    gain: T,
    point: &mut [T],
    scratch: &mut [T],
) -> bool {
    let apart = deviation(gp);
    let level = widened(suggesting.level, suggesting.widest, apart);
    let Some(level) = level.filter(|_| is_idle(gain, apart)) else {
        return false;
    };
    suggesting.level = level;
    suggesting.searching = suggesting
        .searching
        .again(BoxSearch::over_the_box, point, scratch);
    true
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Whether the next question may be asked elsewhere. A coin, so that what is found is made
    /// precise, too; not every second question, because what is told between two of them may be
    /// even or odd in number. It is a function of seed and log.
    pub(super) fn may_let_go(&self) -> bool {
        let coin = hash(hash(self.settings.seed ^ COIN) ^ hash(self.told));
        self.settings.acquisition == Acquisition::ExpectedImprovement && coin >> 31 == 1
    }

    /// The point of a pool to ask in place of `best`, by its index, for programs that look for
    /// their question among points of their own with [`Optimizer::suggest_among`]: where `best`
    /// promises next to nothing, for every second question. `None` means that `best` is asked.
    /// [`Optimizer::suggest`] does the same by itself.
    ///
    /// `pool` are points of the space in the user's units, row-major, that fill it; those that were
    /// asked are passed over. It is asked after [`Optimizer::suggest_among`], which makes the fit
    /// that is due.
    ///
    /// **Errors**: as [`Optimizer::suggest_among`], of `best` as well.
    ///
    /// **Cost**: 4n² flops; where `best` is idle 2n² more for each point of the pool. It is made in
    /// one go.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 40, vec![0.0; optimizer::storage_len(1, 40)])?;
    /// let pool: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    /// let mut elsewhere = 0;
    /// while optimizer.told() < 40 {
    ///     let mut place = optimizer.suggest_among(&pool)?;
    ///     if let Some(other) = optimizer.elsewhere_among(&pool[place..=place], &pool)? {
    ///         (place, elsewhere) = (other, elsewhere + 1);
    ///     }
    ///     optimizer.observe(&pool[place..=place], -(pool[place] - 0.3).powi(2))?;
    /// }
    /// // The best was found early.
    /// assert!((10..25).contains(&elsewhere), "{elsewhere}");
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn elsewhere_among(
        &mut self,
        best: &[T],
        pool: &[T],
    ) -> Result<Option<usize>, OptimizerError> {
        self.check_candidates(pool)?;
        let dim = self.space.dim();
        if best.len() != dim {
            let (expected, given) = (dim, best.len());
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        self.space.check(best)?;
        if !self.may_let_go() || self.fills_next() {
            return Ok(None);
        }
        let best = self.to_unit(best);
        let (mut gp, mut rest, questions) = self.parts()?;
        let level = level(&mut gp, &mut rest.solved, questions.given);
        let apart = deviation(&gp);
        let mut surface = Surface::new(&gp, rest.solved, level, questions, &());
        surface.posterior(&best);
        let gain = log_expected_improvement::value(surface.mean, surface.variance, level.value);
        if !is_idle(gain.exp(), apart) {
            return Ok(None);
        }
        surface.widest = T::ZERO;
        let mut units = [T::ZERO; DIM_MAX * WIDTH];
        let mut moments = [[T::ZERO; 2]; WIDTH];
        for points in pool.chunks((WIDTH * dim).max(1)) {
            let units = in_unit_box(questions.space, points, &mut units);
            surface.moments(units, dim, &mut moments);
        }
        let Some(level) = widened(level, surface.widest, apart) else {
            return Ok(None);
        };
        let mut choosing = Choosing::among(level, false);
        self.look_at(&mut choosing, pool, slice::rows(pool, dim).count())?;
        Ok(choosing.chosen)
    }
}
