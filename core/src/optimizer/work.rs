//! What an optimiser has begun in slices.

use crate::acquisition::maximize::Searching;
use crate::surrogate::fit::Fitting;

/// What is being done in slices. An observation ends it, and either of the two the other.
#[derive(Clone, Debug)]
pub(super) enum Work<T> {
    None,
    Suggest(Suggesting<T>),
    Fit(Refit<T>),
}

/// A suggestion under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suggesting<T> {
    pub(super) level: Level<T>,
    pub(super) searching: Searching<T>,
}

/// A fit under way: of lengthscale, signal variance and noise variance.
pub(super) type Refit<T> = Fitting<T, 3>;

/// What the data say about mean and scale, and the best point so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<T> {
    pub(super) mean: T,
    pub(super) variance: T,
    pub(super) incumbent: usize,
    /// Its posterior mean.
    pub(super) value: T,
}
