//! What may be set.

use serde::{Deserialize, Serialize};

use crate::acquisition::Acquisition;
use crate::acquisition::maximize::BoxSearch;
use crate::kernel::Stationary;
use crate::surrogate::exact::WhenFull;

/// Settings; [`Settings::default`] is meant to be good enough: there is nothing to choose.
///
/// ```
/// use sordino_core::domain::BoxDomain;
/// use sordino_core::optimizer::{self, Acquisition, Optimizer, OptimizerError, Settings};
///
/// let begin = |settings| {
///     Optimizer::new(BoxDomain::new(&[(0.0, 1.0)])?, settings, 10, vec![0.0; optimizer::storage_len(1, 10)])
/// };
/// let (mut one, mut other) = (begin(Settings::default())?, begin(Settings { seed: 1, ..Settings::default() })?);
/// assert_ne!(one.suggest()?, other.suggest()?);
/// let acquisition = Acquisition::UpperConfidenceBound { width: f64::INFINITY };
/// let refused = begin(Settings { acquisition, ..Settings::default() }).err();
/// assert_eq!(refused, Some(OptimizerError::Width { width: f64::INFINITY }));
/// # Ok::<(), OptimizerError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Smoothness of the function; Matérn 5/2.
    pub shape: Stationary,
    /// Points of a scrambled Sobol sequence that are suggested until as many observations were
    /// accepted; 0 means 2 per axis and 2 more.
    pub initial_points: u32,
    /// Expected improvement.
    pub acquisition: Acquisition,
    /// Budget of a suggestion; `None`: [`BoxSearch::for_dim`].
    pub search: Option<BoxSearch>,
    /// Refuse, or forget the oldest.
    pub when_full: WhenFull,
    /// Of the initial points and of the points that a search looks at; any number.
    pub seed: u32,
    /// For values that drift: accepted observations after which one counts half, its noise variance
    /// twice; the noise fraction is .01 at least then. 0: it never does.
    pub half_life: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            shape: Stationary::Matern52,
            initial_points: 0,
            acquisition: Acquisition::ExpectedImprovement,
            search: None,
            when_full: WhenFull::Refuse,
            seed: 0,
            half_life: 0,
        }
    }
}
