//! The next question, in one go or in slices.
//!
//! Its stages: points that cover the box, by the file's self-test; with a trusted file and no data,
//! the largest m; else weigh all hypotheses, sift those that count, and look at every
//! candidate under each of them.

use core::task::Poll;

use super::evidence::{Rows, fit};
use super::hypothesis::Hypothesis;
use super::looking::{add_gains, is_loaded_open, load};
use super::newcomer::Newcomer;
use super::reading::{Reading, covers_box};
use super::storage::FitParts;
use super::work::{Best, Bound, Counted, Looking, Sifting, Weighing, Work};
use crate::domain::sobol::coordinate;
use crate::linalg::slice::at;
use crate::linalg::squared_distance;
use crate::math::Scalar;
use crate::optimizer::Point;

/// The most values with which a file is still asked.
pub const VALUES_MAX: usize = 200;
/// The least posterior probability of a file with which it is asked.
const BORNE_OUT: f64 = 0.5;
/// A hypothesis counts from this weight on.
const WEIGHT_MIN: f64 = 0.002;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Newcomer<'_, T, S> {
    /// The candidate to evaluate next, by its index. Asking again without telling gives the same
    /// one. A visited candidate is asked again once all were visited, one that
    /// [failed](Newcomer::fail) once all failed.
    ///
    /// **Cost**: with a trusted file all hypotheses at n³/6 multiply-adds, and for each candidate M
    /// exponentials and nM + n²/2 multiply-adds, M² more without [`Newcomer::with_moments`]. With
    /// it, and with room for a few observations more, of most candidates a bound says that they
    /// cannot be the one: M + n exponentials of four digits and 2(M + n) multiply-adds.
    /// Averaged, hypotheses are weighed twice, and each that counts takes n³/6 for every `width`
    /// candidates and n²/2 for every candidate.
    pub fn suggest(&mut self) -> usize {
        loop {
            if let Poll::Ready(candidate) = self.suggest_step(u32::MAX) {
                return candidate;
            }
        }
    }

    /// [`Newcomer::suggest`] in slices: at most `evaluations` more, at least one. An evaluation is
    /// a hypothesis that is weighed, a candidate under one hypothesis, or one of some n/4 parts
    /// of what comes before the candidates; a block of `width` candidates (see
    /// [`super::storage_len`]) is not divided.
    pub fn suggest_step(&mut self, evaluations: u32) -> Poll<usize> {
        if self.covers_first() {
            return Poll::Ready(self.nearest_to_design());
        }
        let mut left = evaluations.max(1);
        while left > 0 && !matches!(self.work, Work::Done(_)) {
            match self.work {
                Work::None if self.rows == 0 => self.work = Work::First(Best::NONE),
                Work::None => self.work = Work::Weigh(Weighing::NONE),
                Work::First(best) => self.look_at_means(best, &mut left),
                Work::Weigh(weighing) => self.weigh(weighing, &mut left),
                Work::Sift(sifting) => self.sift(sifting, &mut left),
                Work::Look(_) => self.look(&mut left),
                Work::Done(_) => {}
            }
        }
        match self.work {
            Work::Done(candidate) => Poll::Ready(candidate),
            _ => Poll::Pending,
        }
    }

    /// Whether the next question covers the box: by the self-test, and wherever all that was asked
    /// failed, which says nothing of the function.
    fn covers_first(&self) -> bool {
        covers_box(self.self_test(), self.rows) || (self.is_empty() && self.rows > 0)
    }

    /// More candidates of the first question: the largest m.
    fn look_at_means(&mut self, mut best: Best<T>, left: &mut u32) {
        while best.looked < self.count() {
            if *left == 0 {
                self.work = Work::First(best);
                return;
            }
            *left -= 1;
            let (mean, _) = self.file_at(best.looked);
            best.offer(best.looked, mean);
            best.looked += 1;
        }
        self.work = Work::Done(best.chosen.unwrap_or(0));
    }

    /// More hypotheses are weighed. Stages are functions that nobody inlines, so that no stack has
    /// room for two.
    #[inline(never)]
    fn weigh(&mut self, mut weighing: Weighing<T>, left: &mut u32) {
        let all = self.hypotheses;
        let count = all.count();
        let mut hypothesis = all.get(weighing.next);
        let (rows, mut parts, ..) = self.parts();
        while weighing.next < count {
            if *left == 0 {
                self.work = Work::Weigh(weighing);
                return;
            }
            *left -= 1;
            all.turn_to(&mut hypothesis, weighing.next);
            let fitted = fit(&rows, &hypothesis, &mut weighing.correlated, &mut parts);
            weighing.add(fitted.log_weight);
        }
        match self.reading {
            Reading::Trusted => {
                let mut likeliest = Counted::default();
                likeliest.insert(weighing.likeliest);
                self.begin_to_look(likeliest, weighing.total());
            }
            _ => {
                self.work = Work::Sift(Sifting {
                    next: 0,
                    total: weighing.total(),
                    counted: Counted::default(),
                    correlated: weighing.correlated,
                });
            }
        }
    }

    /// More hypotheses are kept or left out.
    #[inline(never)]
    fn sift(&mut self, mut sifting: Sifting<T>, left: &mut u32) {
        let all = self.hypotheses;
        let count = all.count();
        let mut hypothesis = all.get(sifting.next);
        let (rows, mut parts, ..) = self.parts();
        while sifting.next < count {
            if *left == 0 {
                self.work = Work::Sift(sifting);
                return;
            }
            *left -= 1;
            all.turn_to(&mut hypothesis, sifting.next);
            let fitted = fit(&rows, &hypothesis, &mut sifting.correlated, &mut parts);
            let weight = (fitted.log_weight - sifting.total).exp();
            if weight >= T::from_f64(WEIGHT_MIN) {
                sifting.counted.insert(sifting.next);
            }
            sifting.next += 1;
        }
        self.begin_to_look(sifting.counted, sifting.total);
    }

    /// The posterior probability that the file counts, Σ of the weights of the hypotheses with τ =
    /// 1: its prior before the second observation, 0 where no file is read. Below ½ the values
    /// contradict the file. Ask an [`Optimizer`](crate::optimizer::Optimizer) that was told the
    /// same values: it fills the space first, which the file's points did not.
    ///
    /// **Cost**: that of weighing all hypotheses twice, n³/6 multiply-adds each.
    ///
    /// ```
    /// use sordino_core::prior::{Newcomer, NewcomerSettings, storage_len};
    /// let storage = vec![0.0; storage_len(0, 5, 1)];
    /// let mut alone = Newcomer::new(&[0.0, 0.5, 1.0], 1, None, NewcomerSettings::default(), 5, storage)?;
    /// assert_eq!(alone.trust(), 0.0);
    /// # Ok::<(), sordino_core::prior::NewcomerError>(())
    /// ```
    pub fn trust(&mut self) -> T {
        if !self.reading.uses_file() {
            return T::ZERO;
        }
        if !matches!(self.work, Work::Done(_)) {
            self.work = Work::None;
        }
        let all = self.hypotheses;
        let mut hypothesis = all.get(0);
        let (rows, mut parts, ..) = self.parts();
        let mut weighing = Weighing::NONE;
        let mut trusting = T::ZERO;
        for index in 0..all.count() {
            all.turn_to(&mut hypothesis, index);
            let weight = weight_or_prior(&rows, &hypothesis, &mut weighing.correlated, &mut parts);
            weighing.add(weight);
        }
        let total = weighing.total();
        for index in (0..all.count()).filter(|index| all.trusts(*index)) {
            all.turn_to(&mut hypothesis, index);
            let weight = weight_or_prior(&rows, &hypothesis, &mut weighing.correlated, &mut parts);
            trusting += (weight - total).exp();
        }
        // Rounding may lift it above 1. Weights that compare with nothing are no reason to trust.
        if trusting >= T::ZERO {
            trusting.min(T::ONE)
        } else {
            T::ZERO
        }
    }

    /// Whether what was told still speaks for the file: it is read, [`Newcomer::trust`] is at least
    /// ½, and no more than [`VALUES_MAX`] values and failures were told, beyond which a search
    /// knows more than any file. If not, the next question is that of an
    /// [`Optimizer`](crate::optimizer::Optimizer) that was told the same and never had the file.
    ///
    /// **Cost**: that of [`Newcomer::trust`].
    ///
    /// ```
    /// use sordino_core::prior::{Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, storage_len};
    /// let file = |self_test| PriorNumbers {
    ///     dim: 1,
    ///     landmarks: &[0.2, 0.8],
    ///     lengthscale: 0.2,
    ///     weights: &[2.0, -1.0],
    ///     covariance: &[0.1, 0.0, 0.1],
    ///     self_test,
    /// };
    /// let mut factors = [[0.0; attach_len(2)]; 2];
    /// let [good, bad] = &mut factors;
    /// let [good, bad] = [PublicPrior::attach(file(5.0), good)?, PublicPrior::attach(file(-5.0), bad)?];
    /// for (prior, borne_out) in [(&good, true), (&bad, false)] {
    ///     let storage = vec![0.0; storage_len(2, 3, 1)];
    ///     let mut search = Newcomer::new(&[0.1, 0.5, 0.9], 1, Some(prior), NewcomerSettings::default(), 3, storage)?;
    ///     assert_eq!(search.is_borne_out(), borne_out);
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn is_borne_out(&mut self) -> bool {
        self.reading.uses_file()
            && self.rows <= VALUES_MAX
            && (self.rows == 0 || self.trust() >= T::from_f64(BORNE_OUT))
    }

    fn begin_to_look(&mut self, counted: Counted, total: T) {
        let repeats = self.rows >= self.count()
            && (0..self.count()).all(|candidate| self.is_visited(candidate));
        let consults = (0..self.hypotheses.count())
            .any(|index| counted.holds(index) && self.hypotheses.trusts(index));
        self.work = Work::Look(Looking {
            counted,
            total,
            held: None,
            correlated: None,
            bound: Bound::Waiting,
            first: None,
            leaders: [None; 2],
            stays: false,
            consults,
            next: 0,
            loaded: false,
            repeats,
            best: Best::NONE,
        });
    }

    /// More candidates.
    #[inline(never)]
    fn look(&mut self, left: &mut u32) {
        let Work::Look(mut looking) = core::mem::replace(&mut self.work, Work::None) else {
            return;
        };
        let has_one_hypothesis = self.reading == Reading::Trusted;
        let chosen = if has_one_hypothesis && !looking.is_prepared() {
            *left -= 1;
            self.prepare(&mut looking);
            None
        } else if matches!(looking.bound, Bound::Ended(_)) {
            self.look_one_by_one(&mut looking, left)
        } else {
            self.look_in_blocks(&mut looking, left)
        };
        self.work = match chosen {
            Some(candidate) => Work::Done(candidate),
            None => Work::Look(looking),
        };
    }

    /// A part of what one hypothesis for all candidates takes before the first of them.
    #[inline(never)]
    fn prepare(&mut self, looking: &mut Looking<T>) {
        let hypotheses = self.hypotheses;
        let count = self.count();
        let (rows, mut parts, _, file) = self.parts();
        if looking.held.is_none() {
            let index = looking.counted.next(0).unwrap_or(0);
            looking.bring(index, &hypotheses, &rows, &mut parts);
        } else if matches!(looking.bound, Bound::Ended(_)) {
            looking.begin_with(count, &rows, &file);
        } else {
            looking.bind(&rows, &file, &mut parts);
        }
    }

    /// More candidates of one hypothesis; the one to evaluate, once all were looked at.
    #[inline(never)]
    fn look_one_by_one(&mut self, looking: &mut Looking<T>, left: &mut u32) -> Option<usize> {
        let count = self.count();
        let first = looking.first.unwrap_or(0);
        let (rows, mut parts, mut block, file) = self.parts();
        while looking.best.looked < count {
            if *left == 0 {
                return None;
            }
            *left -= 1;
            let place = first + looking.best.looked;
            let candidate = if place < count { place } else { place - count };
            // What is not passed over is an evaluation more.
            if !looking.stays && looking.is_passed_over(candidate, &rows, &file, parts.spare) {
                looking.best.looked += 1;
            } else if looking.stays {
                looking.look_at(candidate, &rows, &file, &mut parts, &mut block);
                looking.best.looked += 1;
                looking.stays = false;
            } else {
                looking.stays = true;
            }
        }
        Some(looking.best.chosen.unwrap_or(0))
    }

    /// More blocks of candidates, hypothesis by hypothesis; the one to evaluate, once all were
    /// looked at.
    #[inline(never)]
    fn look_in_blocks(&mut self, looking: &mut Looking<T>, left: &mut u32) -> Option<usize> {
        let hypotheses = self.hypotheses;
        let most = self.width;
        let count = self.count();
        let (rows, mut parts, mut block, file) = self.parts();
        while looking.best.looked < count {
            if *left == 0 {
                return None;
            }
            let start = looking.best.looked;
            let width = most.min(count - start);
            *left = left.saturating_sub(width as u32);
            if !looking.loaded {
                load(looking, start, width, &rows, &mut parts, &mut block, &file);
                looking.loaded = true;
            }
            if let Some(index) = looking.next_counted() {
                looking.bring(index, &hypotheses, &rows, &mut parts);
                add_gains(looking, start, width, &rows, &mut parts, &mut block, &file);
                looking.next = index + 1;
            }
            if looking.next_counted().is_none() {
                for place in (0..width).filter(|place| is_loaded_open(&block, *place)) {
                    looking.best.offer(start + place, at(block.gains, place));
                }
                (looking.best.looked, looking.next, looking.loaded) = (start + width, 0, false);
            }
        }
        Some(looking.best.chosen.unwrap_or(0))
    }

    /// The candidate nearest to the next point of a Sobol sequence that was not visited; if each
    /// one was, of those that did not fail, or of all.
    fn nearest_to_design(&self) -> usize {
        let seed = self.settings().seed;
        let design: Point<T> = crate::domain::collected(
            (0..self.dim()).map(|axis| coordinate(self.rows as u32, axis, seed)),
        );
        let mut fresh = Best::NONE;
        let mut sound = Best::NONE;
        let mut any = Best::NONE;
        for candidate in 0..self.count() {
            let nearness = -squared_distance(self.point(candidate), &design);
            any.offer(candidate, nearness);
            if !self.is_visited(candidate) {
                fresh.offer(candidate, nearness);
            }
            if !self.has_failed(candidate) {
                sound.offer(candidate, nearness);
            }
        }
        let chosen = fresh.chosen.or(sound.chosen).or(any.chosen);
        chosen.unwrap_or(0)
    }
}

/// The logarithm of a hypothesis' weight, of its prior where nothing was observed.
fn weight_or_prior<T: Scalar>(
    rows: &Rows<'_, T>,
    hypothesis: &Hypothesis<T>,
    correlated: &mut Option<usize>,
    parts: &mut FitParts<'_, T>,
) -> T {
    if rows.len() == 0 {
        hypothesis.ln_prior
    } else {
        fit(rows, hypothesis, correlated, parts).log_weight
    }
}
