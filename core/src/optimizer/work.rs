//! What an optimiser has begun in slices.

use crate::acquisition::maximize::Searching;
use crate::math::Scalar;
use crate::surrogate::map::MapFit;

/// What is being done in slices. An observation ends it, and either of them the others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work<T> {
    None,
    Suggest(Suggesting<T>),
    Among(Choosing<T>),
    Fit(MapFit<T>),
}

/// A suggestion under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suggesting<T> {
    pub(super) level: Level<T>,
    pub(super) searching: Searching<T>,
    /// The largest posterior variance at a point that was looked at.
    pub(super) widest: T,
    /// The expected improvement at the best question, once it is found. The search goes on if that
    /// is let go.
    pub(super) gain: Option<T>,
}

/// A choice from a list under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choosing<T> {
    pub(super) level: Level<T>,
    /// Whether a candidate that was asked, and did not fail, may be asked again.
    pub(super) repeats: bool,
    /// Candidates that were looked at.
    pub(super) looked: usize,
    /// The best of those that may be asked.
    pub(super) chosen: Option<usize>,
    pub(super) value: T,
}

impl<T: Scalar> Choosing<T> {
    /// A choice that has not begun.
    pub(super) fn among(level: Level<T>, repeats: bool) -> Self {
        Choosing {
            level,
            repeats,
            looked: 0,
            chosen: None,
            value: -T::INFINITY,
        }
    }
}

/// What the data say about mean and scale, and the best point so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<T> {
    pub(super) mean: T,
    pub(super) variance: T,
    pub(super) incumbent: usize,
    /// Its posterior mean.
    pub(super) value: T,
}
