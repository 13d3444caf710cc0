//! What a suggestion has begun in slices.

use super::evidence::Fitted;
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

    /// The next candidate and its value.
    pub(super) fn offer(&mut self, candidate: usize, value: T) {
        if self.chosen.is_none() || value > self.value {
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
}

impl<T: Scalar> Weighing<T> {
    pub(super) const NONE: Self = Weighing {
        next: 0,
        largest: T::ZERO,
        likeliest: 0,
        sum: T::ZERO,
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
}

/// Expected improvements of a block of candidates, hypothesis by hypothesis.
#[derive(Clone, Debug)]
pub(super) struct Looking<T> {
    pub(super) counted: Counted,
    pub(super) total: T,
    /// The hypothesis whose numbers stand in the storage, and the best posterior mean of a visited
    /// candidate under it.
    pub(super) fitted: Option<(usize, Fitted<T>, T)>,
    /// Hypotheses below this are done with this block.
    pub(super) next: usize,
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
