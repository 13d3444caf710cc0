//! What an optimiser is told beforehand.

use serde::{Deserialize, Serialize};

use crate::acquisition::maximize::BoxSearch;
use crate::kernel::Stationary;
use crate::surrogate::exact::WhenFull;

/// What is maximised to find the next point.
///
/// **Example**: that of [`Settings`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Acquisition {
    /// Expected improvement over the best posterior mean at an observed point.
    ExpectedImprovement,
    /// Mean + width · standard deviation.
    UpperConfidenceBound {
        /// Multiplies the standard deviation; 2 is usual.
        width: f64,
    },
}

/// Settings; [`Settings::default`] is meant to be good enough for a first run.
///
/// ```
/// use sordino_core::domain::BoxDomain;
/// use sordino_core::optimizer::{self, Acquisition, Optimizer, OptimizerError, Settings};
///
/// let begin = |settings| {
///     Optimizer::new(BoxDomain::new(&[(0.0, 1.0)])?, settings, 10, vec![0.0; optimizer::storage_len(1, 10)])
/// };
/// let noisy = begin(Settings { noise_fraction: 0.01, ..Settings::default() })?;
/// assert_eq!(noisy.noise_fraction(), 0.01);
/// let acquisition = Acquisition::UpperConfidenceBound { width: f64::INFINITY };
/// let refused = begin(Settings { acquisition, ..Settings::default() }).err();
/// assert_eq!(refused, Some(OptimizerError::Width { width: f64::INFINITY }));
/// # Ok::<(), OptimizerError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Smoothness of the function; Matérn 5/2.
    pub shape: Stationary,
    /// Lengthscale as a fraction of each side of the box; 0.25, until [`Optimizer::fit`](super::Optimizer::fit) finds
    /// better.
    pub lengthscale: f64,
    /// Noise variance as a fraction of the function's variance; 1e-4. Raised to what the format resolves, see
    /// [`Optimizer::noise_floor`](super::Optimizer::noise_floor).
    pub noise_fraction: f64,
    /// Points of a Halton sequence that are suggested until as many observations were accepted; 0 means 2 per axis and 2
    /// more.
    pub initial_points: u32,
    /// Expected improvement.
    pub acquisition: Acquisition,
    /// Budget of a suggestion; `None`: [`BoxSearch::for_dim`].
    pub search: Option<BoxSearch>,
    /// Refuse, or forget the oldest.
    pub when_full: WhenFull,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            shape: Stationary::Matern52,
            lengthscale: 0.25,
            noise_fraction: 1e-4,
            initial_points: 0,
            acquisition: Acquisition::ExpectedImprovement,
            search: None,
            when_full: WhenFull::Refuse,
        }
    }
}
