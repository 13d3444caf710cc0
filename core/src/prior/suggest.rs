//! The next question, in one go or in slices.
//!
//! Its stages: points that cover the box, by the file's self-test; with a trusted file and no data,
//! the largest m; else weigh all hypotheses, sift those that count, and look at every
//! candidate under each of them.

use core::task::Poll;

use super::evidence::{Moments, Rows, fit};
use super::hypothesis::Hypotheses;
use super::newcomer::{Consulted, Newcomer};
use super::reading::{Reading, covers_box};
use super::storage::{BlockParts, FitParts};
use super::work::{Best, Counted, Looking, Sifting, Weighing, Work};
use crate::acquisition::log_expected_improvement;
use crate::domain::sobol::coordinate;
use crate::linalg::slice::{at, set};
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
    /// exponentials and nM + n²/2 multiply-adds, M² more without [`Newcomer::with_moments`].
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
    /// a hypothesis that is weighed, or a candidate under one hypothesis; a block of `width`
    /// candidates (see [`super::storage_len`]) is not divided.
    pub fn suggest_step(&mut self, evaluations: u32) -> Poll<usize> {
        if self.covers_first() {
            return Poll::Ready(self.nearest_to_design());
        }
        let mut left = evaluations.max(1);
        while left > 0 && !matches!(self.work, Work::Done(_)) {
            self.work = match core::mem::replace(&mut self.work, Work::None) {
                Work::None if self.rows == 0 => Work::First(Best::NONE),
                Work::None => Work::Weigh(Weighing::NONE),
                Work::First(best) => self.look_at_means(best, &mut left),
                Work::Weigh(weighing) => self.weigh(weighing, &mut left),
                Work::Sift(sifting) => self.sift(sifting, &mut left),
                Work::Look(looking) => self.look(looking, &mut left),
                Work::Done(candidate) => Work::Done(candidate),
            };
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
    fn look_at_means(&mut self, mut best: Best<T>, left: &mut u32) -> Work<T> {
        while best.looked < self.count() {
            if *left == 0 {
                return Work::First(best);
            }
            *left -= 1;
            let (mean, _) = self.file_at(best.looked);
            best.offer(best.looked, mean);
            best.looked += 1;
        }
        Work::Done(best.chosen.unwrap_or(0))
    }

    /// More hypotheses are weighed.
    fn weigh(&mut self, mut weighing: Weighing<T>, left: &mut u32) -> Work<T> {
        while weighing.next < self.hypotheses.count() {
            if *left == 0 {
                return Work::Weigh(weighing);
            }
            *left -= 1;
            weighing.add(self.log_weight(weighing.next));
        }
        match self.reading {
            Reading::Trusted => {
                let mut likeliest = Counted::default();
                likeliest.insert(weighing.likeliest);
                self.begin_to_look(likeliest, weighing.total())
            }
            _ => Work::Sift(Sifting {
                next: 0,
                total: weighing.total(),
                counted: Counted::default(),
            }),
        }
    }

    /// More hypotheses are kept or left out.
    fn sift(&mut self, mut sifting: Sifting<T>, left: &mut u32) -> Work<T> {
        while sifting.next < self.hypotheses.count() {
            if *left == 0 {
                return Work::Sift(sifting);
            }
            *left -= 1;
            let weight = (self.log_weight(sifting.next) - sifting.total).exp();
            if weight >= T::from_f64(WEIGHT_MIN) {
                sifting.counted.insert(sifting.next);
            }
            sifting.next += 1;
        }
        self.begin_to_look(sifting.counted, sifting.total)
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
        let mut all = Weighing::NONE;
        for hypothesis in 0..self.hypotheses.count() {
            let weight = self.weight_or_prior(hypothesis);
            all.add(weight);
        }
        let mut trusting = T::ZERO;
        for hypothesis in 0..self.hypotheses.count() {
            if self.hypotheses.get(hypothesis).trusts {
                trusting += (self.weight_or_prior(hypothesis) - all.total()).exp();
            }
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

    /// The logarithm of a hypothesis' weight, of its prior where nothing was observed.
    fn weight_or_prior(&mut self, hypothesis: usize) -> T {
        if self.rows == 0 {
            self.hypotheses.get(hypothesis).ln_prior
        } else {
            self.log_weight(hypothesis)
        }
    }

    pub(super) fn log_weight(&mut self, hypothesis: usize) -> T {
        let hypothesis = self.hypotheses.get(hypothesis);
        let (rows, mut parts, ..) = self.parts();
        fit(&rows, hypothesis, &mut parts).log_weight
    }

    fn begin_to_look(&self, counted: Counted, total: T) -> Work<T> {
        let repeats = self.rows >= self.count()
            && (0..self.count()).all(|candidate| self.is_visited(candidate));
        Work::Look(Looking {
            counted,
            total,
            fitted: None,
            next: 0,
            loaded: false,
            repeats,
            best: Best::NONE,
        })
    }

    /// More blocks of candidates, hypothesis by hypothesis.
    fn look(&mut self, mut looking: Looking<T>, left: &mut u32) -> Work<T> {
        let hypotheses = self.hypotheses;
        let most = self.width;
        let count = self.count();
        let (rows, mut parts, mut block, file) = self.parts();
        while looking.best.looked < count {
            if *left == 0 {
                return Work::Look(looking);
            }
            let start = looking.best.looked;
            let width = most.min(count - start);
            *left = left.saturating_sub(width as u32);
            if !looking.loaded {
                load(&looking, start, width, &rows, &mut parts, &mut block, &file);
                looking.loaded = true;
            }
            if let Some(index) = looking.next_counted() {
                looking.bring(index, &hypotheses, &rows, &mut parts);
                add_gains(&looking, start, width, &rows, &mut parts, &mut block, &file);
                looking.next = index + 1;
            }
            if looking.next_counted().is_none() {
                for place in (0..width).filter(|place| is_open(&block, *place)) {
                    looking.best.offer(start + place, at(block.gains, place));
                }
                (looking.best.looked, looking.next, looking.loaded) = (start + width, 0, false);
            }
        }
        Work::Done(looking.best.chosen.unwrap_or(0))
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

impl<T: Scalar> Looking<T> {
    /// The next hypothesis that counts, for this block.
    fn next_counted(&self) -> Option<usize> {
        self.counted.next(self.next)
    }

    /// Brings the numbers of hypothesis `index` into the storage, unless they are there.
    fn bring(
        &mut self,
        index: usize,
        all: &Hypotheses<T>,
        rows: &Rows<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) {
        if self
            .fitted
            .as_ref()
            .is_some_and(|(fitted, ..)| *fitted == index)
        {
            return;
        }
        let fitted = fit(rows, all.get(index), parts);
        let (_, incumbent) = fitted.best_visited(rows, parts);
        self.fitted = Some((index, fitted, incumbent));
    }
}

/// Whether the candidate at this place of the block may be asked.
fn is_open<T: Scalar>(block: &BlockParts<'_, T>, place: usize) -> bool {
    at(block.variances, place) >= T::ZERO
}

/// Fills a block with candidates from `start` on. One that may not be asked has a negative
/// variance.
fn load<T: Scalar>(
    looking: &Looking<T>,
    start: usize,
    width: usize,
    rows: &Rows<'_, T>,
    parts: &mut FitParts<'_, T>,
    block: &mut BlockParts<'_, T>,
    file: &Consulted<'_, T>,
) {
    let any = looking.repeats && rows.all_failed();
    for place in 0..width {
        let candidate = start + place;
        let repeated = looking.repeats && (any || !rows.has_failed(candidate));
        let open = repeated || !rows.hold(candidate);
        set(block.gains, place, -T::INFINITY);
        set(block.variances, place, if open { T::ZERO } else { -T::ONE });
        if open {
            file.load(
                candidate,
                rows.candidate(candidate),
                rows.len(),
                parts,
                block,
                place,
            );
        }
    }
}

/// Adds the weighted expected improvement of each candidate of the block under the hypothesis in
/// the storage.
fn add_gains<T: Scalar>(
    looking: &Looking<T>,
    start: usize,
    width: usize,
    rows: &Rows<'_, T>,
    parts: &mut FitParts<'_, T>,
    block: &mut BlockParts<'_, T>,
    file: &Consulted<'_, T>,
) {
    let Some((_, fitted, incumbent)) = &looking.fitted else {
        return;
    };
    let log_share = fitted.log_weight - looking.total;
    for place in 0..width {
        if !is_open(block, place) {
            continue;
        }
        let point = rows.candidate(start + place);
        let shared = file.shared(block, place, rows.len());
        let said = Moments {
            mean: at(block.means, place),
            variance: at(block.variances, place),
        };
        let found = fitted.moments(rows, point, shared, said, parts);
        let gain =
            log_share + log_expected_improvement::value(found.mean, found.variance, *incumbent);
        let sum = log_sum(at(block.gains, place), gain);
        set(block.gains, place, sum);
    }
}

/// ln(eᵃ + eᵇ) without overflow.
fn log_sum<T: Scalar>(a: T, b: T) -> T {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if !(small > -T::INFINITY) {
        return large;
    }
    large + (T::ONE + (small - large).exp()).ln()
}
