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
    /// Values that are known before the model is asked: until then points of a scrambled Sobol
    /// sequence are suggested; 0 means 1 per axis and 1 more, and 3 at least.
    pub initial_points: u32,
    /// How many points of that sequence there are in all: those beyond the initial ones are every
    /// fifth suggestion after them. 0 means 2 per axis and 2 more, or the initial points if those
    /// are more; fewer than those are as many. Points that [failed](super::Optimizer::fail) count
    /// towards neither.
    pub filling_points: u32,
    /// Expected improvement.
    pub acquisition: Acquisition,
    /// Budget of a suggestion; `None`: [`BoxSearch::for_dim`].
    pub search: Option<BoxSearch>,
    /// Refuse, or forget the oldest.
    pub when_full: WhenFull,
    /// Of the initial points and of the points that a search looks at; any number.
    pub seed: u32,
    /// For values that drift: accepted observations after which one counts half, its noise variance
    /// twice; a fit then finds a noise fraction of .01 at least. 0: it never does.
    pub half_life: u32,
}

/// Values before the model is asked, where nobody says how many.
fn first(axes: usize) -> u32 {
    (axes as u32 + 1).max(3)
}

/// Points that fill the box in all, where nobody says how many.
fn filling(axes: usize, initial_points: u32) -> u32 {
    (2 * axes as u32 + 2).max(initial_points)
}

impl Settings {
    /// Settings of a search over `parameters` parameters. A choice of five has five axes and is one
    /// parameter. `known` values told before the first question count as initial points.
    ///
    /// ```
    /// use sordino_core::optimizer::Settings;
    /// let (new, known) = (Settings::of_parameters(2, 0), Settings::of_parameters(2, 10));
    /// assert_eq!((new.initial_points, new.filling_points), (3, 6));
    /// assert_eq!((known.initial_points, known.filling_points), (10, 10));
    /// ```
    pub fn of_parameters(parameters: usize, known: u32) -> Self {
        let initial_points = first(parameters).max(known);
        Settings {
            initial_points,
            filling_points: filling(parameters, initial_points),
            ..Settings::default()
        }
    }

    /// The initial points and all that fill the box, with so many axes.
    pub(super) fn points(&self, axes: usize) -> (u32, u32) {
        let initial = match self.initial_points {
            0 => first(axes),
            points => points,
        };
        let all = match self.filling_points {
            0 => filling(axes, initial),
            points => points,
        };
        (initial, all)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            shape: Stationary::Matern52,
            initial_points: 0,
            filling_points: 0,
            acquisition: Acquisition::ExpectedImprovement,
            search: None,
            when_full: WhenFull::Refuse,
            seed: 0,
            half_life: 0,
        }
    }
}
