//! Candidates under the hypotheses that count: one by one beside a bound, or in blocks.

use super::consulted::Consulted;
use super::evidence::{Moments, Rows, fit};
use super::hypothesis::Hypotheses;
use super::screen::{Begun, gain_at_most, leaders};
use super::storage::{BlockParts, FitParts};
use super::work::{Best, Bound, Held, Looking};
use crate::acquisition::log_expected_improvement;
use crate::linalg::matvec;
use crate::linalg::slice::{at, head_mut, set};
use crate::math::Scalar;

impl<T: Scalar> Looking<T> {
    /// The next hypothesis that counts, for this block.
    pub(super) fn next_counted(&self) -> Option<usize> {
        self.counted.next(self.next)
    }

    /// Brings the numbers of hypothesis `index` into the storage, unless they are there.
    pub(super) fn bring(
        &mut self,
        index: usize,
        all: &Hypotheses<T>,
        rows: &Rows<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) {
        let mut hypothesis = match self.held.take() {
            Some(held) if held.index == index => {
                self.held = Some(held);
                return;
            }
            Some(held) => held.hypothesis,
            None => all.get(index),
        };
        all.turn_to(&mut hypothesis, index);
        let fitted = fit(rows, &hypothesis, &mut self.correlated, parts);
        let (_, incumbent) = fitted.best_visited(rows, parts);
        self.held = Some(Held {
            index,
            hypothesis,
            fitted,
            incumbent,
        });
    }

    /// Whether nothing is left to do before candidates are looked at.
    pub(super) fn is_prepared(&self) -> bool {
        match self.bound {
            Bound::Waiting | Bound::Begun(_) => false,
            Bound::Ended(_) => self.first.is_some(),
            Bound::Without => true,
        }
    }

    /// Goes on with a bound of what candidates promise under the hypothesis in the storage. There
    /// is none where their moments under the file need be computed, where the covariance of the
    /// observations is none, or where no gain is a number: then the first that is open is asked.
    pub(super) fn bind(
        &mut self,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) {
        let Some(Held {
            hypothesis, fitted, ..
        }) = &self.held
        else {
            return;
        };
        self.bound = match self.bound {
            Bound::Begun(mut begun) => {
                if begun.add(rows, file, parts) {
                    Bound::Begun(begun)
                } else {
                    let ended = begun.end(fitted, hypothesis, rows, parts);
                    ended.map_or(Bound::Without, Bound::Ended)
                }
            }
            Bound::Waiting
                if fitted.holds
                    && (fitted.log_weight - self.total).is_finite()
                    && (!hypothesis.trusts || file.has_table()) =>
            {
                // The spare storage is another's from here on.
                self.correlated = None;
                let begun = Begun::new(fitted, hypothesis, rows, file, parts);
                begun.map_or(Bound::Without, Bound::Begun)
            }
            _ => Bound::Without,
        };
    }

    /// Finds the candidate that is looked at first, of those that were not visited that of largest
    /// m: the better it is, the more others are passed over.
    pub(super) fn begin_with(&mut self, count: usize, rows: &Rows<'_, T>, file: &Consulted<'_, T>) {
        let mut best = Best::NONE;
        for candidate in 0..count {
            let mean = file.said(candidate).mean;
            if (best.chosen.is_none() || mean > best.value) && !rows.is_visited(candidate) {
                best.offer(candidate, mean);
            }
        }
        self.first = Some(best.chosen.unwrap_or(0));
    }

    /// Whether a candidate may not be asked, or cannot be better than the best so far.
    pub(super) fn is_passed_over(
        &self,
        candidate: usize,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        spare: &mut [T],
    ) -> bool {
        let (Some(held), Bound::Ended(screen)) = (&self.held, &self.bound) else {
            return true;
        };
        if !self.is_open(candidate, rows) {
            return true;
        }
        if self.best.chosen.is_none() {
            return false;
        }
        let known = (rows.candidate(candidate), file.said(candidate));
        let most = screen.moments(&held.fitted, &held.hypothesis, rows, file, known, spare);
        let is_less =
            |leader: Moments<T>| most.mean <= leader.mean && most.variance <= leader.variance;
        let log_share = held.fitted.log_weight - self.total;
        self.leaders.into_iter().flatten().any(is_less)
            || gain_at_most(log_share, most, held.incumbent) < self.best.value
    }

    /// A candidate by its moments.
    pub(super) fn look_at(
        &mut self,
        candidate: usize,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        parts: &mut FitParts<'_, T>,
        block: &mut BlockParts<'_, T>,
    ) {
        let Some(held) = &self.held else { return };
        let Held {
            hypothesis,
            fitted,
            incumbent,
            ..
        } = held;
        let point = rows.candidate(candidate);
        let shared = head_mut(block.shared, rows.len());
        if hypothesis.trusts {
            let row = file.kernel_row(point, parts.scratch);
            matvec(file.links, row, shared);
        }
        let said = file.said(candidate);
        let found = fitted.moments(hypothesis, rows, point, shared, said, parts);
        let value = log_expected_improvement::value(found.mean, found.variance, *incumbent);
        let before = self.best.chosen;
        // A gain that is no number is −∞, as in a block.
        let gain = log_sum(-T::INFINITY, fitted.log_weight - self.total + value);
        self.best.offer(candidate, gain);
        if self.best.chosen != before {
            self.leaders = leaders(found, value, *incumbent);
        }
    }

    /// Whether a candidate may be asked.
    fn is_open(&self, candidate: usize, rows: &Rows<'_, T>) -> bool {
        if self.repeats && (rows.all_failed() || !rows.has_failed(candidate)) {
            return true;
        }
        !rows.is_visited(candidate)
    }
}

/// Whether the candidate at this place of the block may be asked.
pub(super) fn is_loaded_open<T: Scalar>(block: &BlockParts<'_, T>, place: usize) -> bool {
    at(block.variances, place) >= T::ZERO
}

/// Fills a block with candidates from `start` on. One that may not be asked has a negative
/// variance.
pub(super) fn load<T: Scalar>(
    looking: &Looking<T>,
    start: usize,
    width: usize,
    rows: &Rows<'_, T>,
    parts: &mut FitParts<'_, T>,
    block: &mut BlockParts<'_, T>,
    file: &Consulted<'_, T>,
) {
    for place in 0..width {
        let candidate = start + place;
        let open = looking.is_open(candidate, rows);
        set(block.gains, place, -T::INFINITY);
        set(block.variances, place, if open { T::ZERO } else { -T::ONE });
        if open && looking.consults {
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
pub(super) fn add_gains<T: Scalar>(
    looking: &Looking<T>,
    start: usize,
    width: usize,
    rows: &Rows<'_, T>,
    parts: &mut FitParts<'_, T>,
    block: &mut BlockParts<'_, T>,
    file: &Consulted<'_, T>,
) {
    let Some(held) = &looking.held else {
        return;
    };
    let log_share = held.fitted.log_weight - looking.total;
    for place in 0..width {
        if !is_loaded_open(block, place) {
            continue;
        }
        let point = rows.candidate(start + place);
        let shared = file.shared(block, place, rows.len());
        let said = Moments {
            mean: at(block.means, place),
            variance: at(block.variances, place),
        };
        let found = held
            .fitted
            .moments(&held.hypothesis, rows, point, shared, said, parts);
        let gain =
            log_share + log_expected_improvement::value(found.mean, found.variance, held.incumbent);
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
