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
    pub(super) const NONE: Self = Best { looked: 0, chosen: None, value: T::ZERO };

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
    pub(super) const NONE: Self = Weighing { next: 0, largest: T::ZERO, likeliest: 0, sum: T::ZERO };

    pub(super) fn add(&mut self, log_weight: T) {
        if self.next == 0 || log_weight > self.largest {
            let before = if self.next == 0 { T::ZERO } else { (self.largest - log_weight).exp() };
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

/// The hypotheses that count so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sifting<T> {
    pub(super) next: usize,
    pub(super) total: T,
    pub(super) counted: u128,
}

/// Expected improvements of a block of candidates, hypothesis by hypothesis.
#[derive(Clone, Debug)]
pub(super) struct Looking<T> {
    /// Bit h is that of hypothesis h.
    pub(super) counted: u128,
    pub(super) total: T,
    /// The hypothesis whose numbers stand in the storage, and the best posterior mean of a visited candidate under it.
    pub(super) fitted: Option<(usize, Fitted<T>, T)>,
    /// Hypotheses below this are done with this block.
    pub(super) next: usize,
    /// The block was loaded.
    pub(super) loaded: bool,
    /// Visited candidates may be asked: no other is left.
    pub(super) repeats: bool,
    pub(super) best: Best<T>,
}
