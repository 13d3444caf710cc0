//! A search over a list of points, by their places in it.

use std::sync::Arc;

use sordino_core::optimizer::CANDIDATES_MAX;

use super::engine::{Engine, Proposal};
use super::error::{CAPACITY_MAX, SearchError, VALUE_MAX};
use crate::prior::guide::Guide;
use crate::space::Space;

/// What is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The place of the point in the list.
    pub place: usize,
    /// Whether it was chosen with what others learned. It was not where there is no file, where the
    /// file is not read, and where the values speak against it: then it is the question of a search
    /// alone.
    pub is_guided: bool,
}

/// The same search as [`Search`](super::Search) over candidates, without names and without a list
/// of what happened: what a site of a campaign asks, and a simulation of many of them. Larger
/// values are better.
///
/// ```
/// use sordino_host::search::Listed;
/// use sordino_host::space::SpaceFile;
///
/// let space = SpaceFile::parse("s", "[parameters.x]\nlow = 0\nhigh = 1")?.space;
/// let points: Vec<Vec<f64>> = (0..=20).map(|n| vec![f64::from(n) / 20.0]).collect();
/// let mut search = Listed::new(&space, points.into(), (0, 0), None)?;
/// let mut asked = vec![];
/// for _ in 0..12 {
///     let place = search.ask()?.place;
///     search.observe(place, -(place as f64 - 7.0).powi(2))?;
///     asked.push(place);
/// }
/// assert!(asked.contains(&7) && search.len() == 12, "{asked:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Listed {
    engine: Engine,
    points: Arc<[Vec<f64>]>,
    /// No parameter is given with a question.
    given: Vec<Option<f64>>,
    told: usize,
}

impl Listed {
    /// Before the first value, over these points in the space's numbers, with a seed. `first`
    /// points fill the space before a model is asked, where those are more than of a search for
    /// itself ([`Search::ask`](super::Search::ask)); values told before the first question count as
    /// such. `guide` is what others learned, if it begins with that.
    ///
    /// **Errors**: [`SearchError`]: a space that core cannot search, one with parameters that are
    /// given with each question, no point or too many.
    pub fn new(
        space: &Space,
        points: Arc<[Vec<f64>]>,
        (seed, first): (u64, u32),
        guide: Option<Arc<Guide>>,
    ) -> Result<Self, SearchError> {
        let core = space.core()?;
        if core.axes().iter().any(|axis| axis.context) {
            return Err(SearchError::ContextAmongCandidates);
        }
        if points.is_empty() || points.len() > CANDIDATES_MAX {
            return Err(SearchError::Candidates {
                count: points.len(),
            });
        }
        let given = vec![None; core.dim()];
        Ok(Listed {
            engine: Engine::new(core, Some(points.clone()), (seed, first), guide)?,
            points,
            given,
            told: 0,
        })
    }

    /// Number of values told.
    pub fn len(&self) -> usize {
        self.told
    }

    /// Whether no value was told yet.
    pub fn is_empty(&self) -> bool {
        self.told == 0
    }

    /// Tells the value of the point at this place; larger is better.
    ///
    /// **Errors**: [`SearchError`] for a place that is none, a value that is no number or too
    /// large; nothing was changed then.
    pub fn observe(&mut self, place: usize, value: f64) -> Result<(), SearchError> {
        let count = self.points.len();
        let point = self
            .points
            .get(place)
            .ok_or(SearchError::Place { place, count })?;
        if !(value.abs() <= VALUE_MAX) {
            return Err(SearchError::Value { value });
        }
        if self.told >= CAPACITY_MAX {
            return Err(SearchError::Full { told: self.told });
        }
        self.engine.observe(point, value)?;
        self.told += 1;
        Ok(())
    }

    /// The point to ask next.
    ///
    /// **Errors**: [`SearchError`], the surrogate's.
    ///
    /// **Cost**: as [`Search::ask`](super::Search::ask).
    pub fn ask(&self) -> Result<Asked, SearchError> {
        let Proposal {
            numbers, is_guided, ..
        } = self.engine.propose(&self.given, &[], &[])?;
        // A question is one of the points, and a point that occurs twice is its first.
        let place = self.points.iter().position(|point| *point == numbers);
        Ok(Asked {
            place: place.unwrap_or(0),
            is_guided,
        })
    }
}
