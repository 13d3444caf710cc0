//! Gaussian-process posteriors, one engine per file, chosen by what is known beforehand.
//!
//! | module | knows beforehand | a step costs (flops) | numbers stored |
//! |---|---|---|---|
//! | [`exact`] | at most n observations, anywhere | n² | n²/2 + (D + 5)n |
//! | [`candidates`] | N candidates, at most n observations | 2Nn | N(n + 2) |
//! | [`grid`] | a grid of N₁ times N₂ candidates with a product kernel, at most n observations | 2Nn | 2N + n(N₁ + N₂) + n²/2 |
//! | [`finite`] | N points, any number of observations | N² | N²/2 + 2N |
//! | [`weights`] | a finite feature map of M features | 3M², or 2nM + n² while n ≤ M/2 | about M²/2 + M |
//!
//! | module | beside the engines |
//! |---|---|
//! | [`fit`] | hyper-parameters by maximum marginal likelihood |
//! | [`joint`] | joint draws at a list of points, with a jitter ladder that reports what it used |
//! | [`pathwise`] | draws as functions: a prior of features plus an exact update |
//! | [`information_gain`] | greedy, its upper bound, of a run |
//!
//! All speak one vocabulary: `observe` takes a point and its value (`extend` the log, where
//! features are all that is kept), `posterior` gives the [`Posterior`] of a point, `posteriors`
//! those of a list with the same bits, sixteen side by side where something is to be solved; `draw`
//! is a draw, [`joint`] of values, [`pathwise`] of a function, of weights.
//!
//! **Example**: that of [`ExactGp`].

pub mod candidates;
pub mod exact;
pub mod finite;
pub mod fit;
pub mod grid;
pub mod information_gain;
pub mod joint;
pub(crate) mod map;
pub(crate) mod mark;
pub(crate) mod noise;
pub mod pathwise;
#[cfg(test)]
mod tests;
pub mod weights;

pub use candidates::CandidateGp;
pub use exact::ExactGp;
pub use finite::FiniteGp;
pub use grid::GridGp;
pub use weights::WeightPosterior;

use crate::linalg::NotPositiveDefinite;
use crate::math::Scalar;

/// Mean and variance of the latent function at one point; the noise of an observation is not added.
///
/// **Example**: that of [`ExactGp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posterior<T> {
    /// Posterior mean, unit y.
    pub mean: T,
    /// Posterior variance, unit y², never negative.
    pub variance: T,
}

/// What became of an observation.
///
/// **Example**: that of [`exact::WhenRepeated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// A new row was appended.
    Appended,
    /// The value was averaged into the observation with this index, which it repeats at working
    /// precision.
    Merged {
        /// Index of that observation.
        index: usize,
    },
}

/// Why a surrogate refuses.
///
/// ```
/// use sordino_core::kernel::SquaredExponential;
/// use sordino_core::surrogate::{ExactGp, SurrogateError, exact};
///
/// let refused = ExactGp::new(SquaredExponential::new(0.2, 1.0)?, 0.01, 2, 8, [0.0; 3]).err();
/// assert_eq!(refused, Some(SurrogateError::Storage { needed: exact::storage_len(2, 8), given: 3 }));
/// # Ok::<(), sordino_core::kernel::KernelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SurrogateError {
    /// A point has the wrong number of coordinates, or a list is not a whole number of points.
    Dimension {
        /// Numbers expected (for a list: a multiple of it).
        expected: usize,
        /// Length of the slice given.
        given: usize,
    },
    /// A slice is too short.
    Storage {
        /// Numbers needed.
        needed: usize,
        /// Length of the slice given.
        given: usize,
    },
    /// The noise variance is negative, infinite or NaN.
    NoiseVariance {
        /// The value given.
        value: f64,
    },
    /// The noise variance is so small that the engine's rounding errors would drown it; another
    /// engine, or `f64`.
    Unresolved {
        /// The value given.
        noise_variance: f64,
        /// The smallest that is accepted, for this prior and number format.
        smallest: f64,
    },
    /// A coordinate, value or constant is NaN or infinite, or so large that the posterior would
    /// overflow.
    NonFinite {
        /// The offending value.
        value: f64,
    },
    /// All rows are in use and the configuration does not allow to drop the oldest.
    Full {
        /// The most observations the model can hold.
        capacity: usize,
    },
    /// The point is determined by the others at working precision, and none of them is the same
    /// point.
    Singular(NotPositiveDefinite),
    /// There is no observation with this index.
    Index {
        /// The index given.
        index: usize,
        /// Number of observations.
        len: usize,
    },
}

impl core::fmt::Display for SurrogateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SurrogateError::Dimension { expected, given } => {
                write!(
                    f,
                    "a point of {expected} coordinates was expected, {given} numbers were given"
                )
            }
            SurrogateError::Storage { needed, given } => {
                write!(
                    f,
                    "storage for {needed} numbers is needed, {given} were given"
                )
            }
            SurrogateError::NoiseVariance { value } => {
                write!(
                    f,
                    "the noise variance is {value:e}; it must be finite and not negative"
                )
            }
            SurrogateError::Unresolved {
                noise_variance,
                smallest,
            } => {
                write!(
                    f,
                    "the noise variance {noise_variance:e} drowns in rounding; {smallest:e} is the least here"
                )
            }
            SurrogateError::NonFinite { value } => {
                write!(f, "{value:e} is not finite, or too large to compute with")
            }
            SurrogateError::Full { capacity } => write!(f, "all {capacity} rows are in use"),
            SurrogateError::Singular(inner) => {
                write!(
                    f,
                    "the point is determined by the others at working precision: {inner}"
                )
            }
            SurrogateError::Index { index, len } => {
                write!(f, "there is no observation {index}; there are {len}")
            }
        }
    }
}

impl core::error::Error for SurrogateError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SurrogateError::Singular(error) => Some(error),
            _ => None,
        }
    }
}

/// What an engine that is always up to date answers to a list: copies.
fn copy_moments<T: Scalar>(
    means: &[T],
    variances: impl Iterator<Item = T>,
    mean: &mut [T],
    variance: &mut [T],
) -> Result<(), SurrogateError> {
    for given in [mean.len(), variance.len()] {
        if given != means.len() {
            return Err(SurrogateError::Dimension {
                expected: means.len(),
                given,
            });
        }
    }
    mean.iter_mut()
        .zip(means)
        .for_each(|(out, mean)| *out = *mean);
    variance
        .iter_mut()
        .zip(variances)
        .for_each(|(out, variance)| *out = variance);
    Ok(())
}

/// Zero in place of a negative variance, counted.
#[inline]
fn clamp<T: Scalar>(variance: T, clamps: &mut u32) -> T {
    if variance < T::ZERO {
        *clamps = clamps.saturating_add(1);
        return T::ZERO;
    }
    variance
}
