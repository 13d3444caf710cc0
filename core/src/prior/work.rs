//! What a suggestion has begun in slices.

use super::evidence::{Fitted, Moments};
use super::hypothesis::Hypothesis;
use super::screen::{Begun, Screen};
use crate::math::Scalar;

/// What has been begun in slices.
#[derive(Clone, Debug)]
pub(super) enum Work<T> {
    None,
    First(Best<T>),
    Weigh(Weighing<T>),
    Sift(Sifting<T>),
    Look(Looking<T>),
    Done(usize),
}

/// The best of the candidates so far; ties: lowest index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best<T> {
    /// Candidates that were looked at.
    pub(super) looked: usize,
    pub(super) chosen: Option<usize>,
    pub(super) value: T,
}

impl<T: Scalar> Best<T> {
    pub(super) const NONE: Self = Best {
        looked: 0,
        chosen: None,
        value: T::ZERO,
    };

    /// A candidate and its value.
    pub(super) fn offer(&mut self, candidate: usize, value: T) {
        let is_better = self
            .chosen
            .is_none_or(|chosen| value > self.value || (value == self.value && candidate < chosen));
        if is_better {
            (self.chosen, self.value) = (Some(candidate), value);
        }
    }
}

/// Weights of hypotheses so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighing<T> {
    pub(super) next: usize,
    pub(super) largest: T,
    pub(super) likeliest: usize,
    /// Σ weight/largest weight.
    pub(super) sum: T,
    /// The kernel whose correlations are in the storage.
    pub(super) correlated: Option<usize>,
}

impl<T: Scalar> Weighing<T> {
    pub(super) const NONE: Self = Weighing {
        next: 0,
        largest: T::ZERO,
        likeliest: 0,
        sum: T::ZERO,
        correlated: None,
    };

    pub(super) fn add(&mut self, log_weight: T) {
        if self.next == 0 || log_weight > self.largest {
            let before = if self.next == 0 {
                T::ZERO
            } else {
                (self.largest - log_weight).exp()
            };
            (self.largest, self.likeliest) = (log_weight, self.next);
            self.sum = self.sum * before + T::ONE;
        } else {
            self.sum += (log_weight - self.largest).exp();
        }
        self.next += 1;
    }

    /// Logarithm of the sum of all weights.
    pub(super) fn total(&self) -> T {
        self.largest + self.sum.ln()
    }
}

/// The hypotheses that count: a bit for each, in words, so that nothing needs more than their
/// alignment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted([u32; 4]);

impl Counted {
    pub(super) fn insert(&mut self, hypothesis: usize) {
        if let Some(word) = self.0.get_mut(hypothesis / 32) {
            *word |= 1 << (hypothesis % 32);
        }
    }

    pub(super) fn holds(&self, hypothesis: usize) -> bool {
        self.next(hypothesis) == Some(hypothesis)
    }

    /// The first that counts, from `from` on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let mut mask = u32::MAX << (from % 32);
        for (index, word) in self.0.iter().enumerate().skip(from / 32) {
            let rest = word & mask;
            if rest != 0 {
                return Some(32 * index + rest.trailing_zeros() as usize);
            }
            mask = u32::MAX;
        }
        None
    }
}

/// The hypotheses that count so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sifting<T> {
    pub(super) next: usize,
    pub(super) total: T,
    pub(super) counted: Counted,
    /// The kernel whose correlations are in the storage.
    pub(super) correlated: Option<usize>,
}

/// A hypothesis whose numbers are in the storage.
#[derive(Clone, Debug)]
pub(super) struct Held<T> {
    pub(super) index: usize,
    pub(super) hypothesis: Hypothesis<T>,
    pub(super) fitted: Fitted<T>,
    /// The best posterior mean of a visited candidate under it.
    pub(super) incumbent: T,
}

/// How far a bound of what candidates promise has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<T> {
    Waiting,
    Begun(Begun<T>),
    Ended(Screen<T>),
    /// There is none: no room, or K rounds too much.
    Without,
}

/// Expected improvements of a block of candidates, hypothesis by hypothesis.
#[derive(Clone, Debug)]
pub(super) struct Looking<T> {
    pub(super) counted: Counted,
    pub(super) total: T,
    pub(super) held: Option<Held<T>>,
    /// The kernel whose correlations are in the storage.
    pub(super) correlated: Option<usize>,
    /// Hypotheses below this are done with this block.
    pub(super) next: usize,
    /// Of the one hypothesis that counts beside a trusted file.
    pub(super) bound: Bound<T>,
    /// The candidate that is looked at first.
    pub(super) first: Option<usize>,
    /// Candidates of no larger moments than one of these are not better than the best so far.
    pub(super) leaders: [Option<Moments<T>>; 2],
    /// The candidate at hand is not passed over.
    pub(super) stays: bool,
    /// A hypothesis that counts trusts the file.
    pub(super) consults: bool,
    /// The block was loaded.
    pub(super) loaded: bool,
    /// Visited candidates may be asked: no other is left.
    pub(super) repeats: bool,
    pub(super) best: Best<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypotheses_that_count_are_found_in_order() {
        let all = [0, 1, 31, 32, 63, 64, 101, 127];
        let mut counted = Counted::default();
        assert_eq!(counted.next(0), None);
        all.iter()
            .rev()
            .for_each(|hypothesis| counted.insert(*hypothesis));
        for from in 0..130 {
            assert_eq!(
                counted.next(from),
                all.into_iter().find(|hypothesis| *hypothesis >= from),
                "{from}"
            );
        }
    }
}
