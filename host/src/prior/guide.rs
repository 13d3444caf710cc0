//! A search that a prior file guides: which of some points is asked next.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_core::prior::{
    Newcomer, NewcomerError, NewcomerSettings, PriorNumbers, PublicPrior, PublicPriorError, Reading, attach_len,
    storage_len,
};

use super::{PriorFile, PriorFileError, refuse};
use crate::space::{Encoding, Goal, Space};

/// The most values with which the file is still asked; beyond it a search knows more than the file.
pub const VALUES_MAX: usize = 200;
/// The least posterior probability of the file with which it is asked.
const BORNE_OUT: f64 = 0.5;
/// Candidates that are looked at together.
const WIDTH: usize = 64;

/// Why a file cannot guide a search.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GuideError {
    /// It is of another search.
    #[error("the file is of another search: {what} is {found}; admissible: {admissible}")]
    Other {
        /// What differs between the two.
        what: String,
        /// What the search has.
        found: String,
        /// What the file has.
        admissible: String,
    },
    /// Its entries are wrong.
    #[error(transparent)]
    File(#[from] PriorFileError),
    /// Its numbers are no posterior.
    #[error("the numbers of the file are no posterior")]
    Numbers(#[source] PublicPriorError),
}

/// A file, ready to be asked about points of a search.
#[derive(Clone, Debug)]
pub struct Guide {
    pub(super) encoding: Encoding,
    /// For each axis of the file, the axis of the search.
    order: Vec<usize>,
    landmarks: Vec<f64>,
    lengthscale: f64,
    pub(super) weights: Vec<f64>,
    pub(super) covariance: Vec<f64>,
    self_test: f64,
    /// The factor of the landmarks' kernel.
    pub(super) factor: Vec<f64>,
    /// SHA-256 of the file.
    digest: String,
    /// What it says of the list that was asked about last.
    memo: Arc<Mutex<Option<Memo>>>,
}

/// What a file says of a list of points: its mean and its variance at each, pair after pair.
#[derive(Clone, Debug)]
struct Memo {
    points: Arc<[Vec<f64>]>,
    moments: Arc<[f64]>,
}

/// What a file says about a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Believed {
    /// Its mean, larger is better, in standard deviations of a contributor's values.
    pub mean: f64,
    /// Its standard deviation.
    pub std: f64,
}

impl Guide {
    /// Holds a file against a search.
    ///
    /// **Errors**: [`GuideError`].
    pub fn new(file: &PriorFile, space: &Space, goal: Goal) -> Result<Self, GuideError> {
        file.check()?;
        let order = order(file, space, goal)?;
        let wide = |numbers: &[f32]| numbers.iter().copied().map(f64::from).collect::<Vec<_>>();
        let mut guide = Guide {
            encoding: file.encoding()?,
            order,
            landmarks: wide(&file.landmarks),
            lengthscale: f64::from(file.label.lengthscale),
            weights: wide(&file.weights),
            covariance: wide(&file.covariance),
            self_test: file.label.self_test,
            factor: vec![0.0; attach_len(file.features())],
            digest: file.digest(),
            memo: Arc::default(),
        };
        // Once for all: what is read later was found to be a posterior.
        let mut factor = std::mem::take(&mut guide.factor);
        PublicPrior::attach(guide.numbers(), &mut factor).map_err(GuideError::Numbers)?;
        guide.factor = factor;
        Ok(guide)
    }

    pub(super) fn numbers(&self) -> PriorNumbers<'_, f64> {
        PriorNumbers {
            dim: self.encoding.dim(),
            landmarks: &self.landmarks,
            lengthscale: self.lengthscale,
            weights: &self.weights,
            covariance: &self.covariance,
            self_test: self.self_test,
        }
    }

    /// SHA-256 of the file.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How far the file is believed.
    pub fn reading(&self) -> Reading {
        Reading::of(Some(self.self_test))
    }

    /// Whether the file is read with so many values.
    pub fn is_read(&self, values: usize) -> bool {
        self.reading().uses_file() && values <= VALUES_MAX
    }

    /// Coordinates of points of the search.
    fn coordinates(&self, points: &[&[f64]]) -> Vec<f64> {
        let ordered = |point: &[f64]| self.order.iter().map(|axis| point[*axis]).collect::<Vec<_>>();
        points.iter().flat_map(|point| self.encoding.coordinates(&ordered(point))).collect()
    }

    /// What the file says about points of the search, before any value.
    ///
    /// **Errors**: [`GuideError::Numbers`].
    pub fn believed(&self, points: &[Vec<f64>]) -> Result<Vec<Believed>, GuideError> {
        let moments = self.moments(points)?;
        let (pairs, _) = moments.as_chunks::<2>();
        Ok(pairs.iter().map(|[mean, variance]| Believed { mean: *mean, std: variance.max(0.0).sqrt() }).collect())
    }

    /// Mean and variance at each point of a list, pair after pair: computed once for all that share file and list.
    ///
    /// **Errors**: as [`Guide::believed`].
    pub fn moments_of(&self, points: &Arc<[Vec<f64>]>) -> Result<Arc<[f64]>, GuideError> {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memo) = memo.as_ref().filter(|memo| Arc::ptr_eq(&memo.points, points)) {
            return Ok(memo.moments.clone());
        }
        let moments: Arc<[f64]> = self.moments(points)?.into();
        *memo = Some(Memo { points: points.clone(), moments: moments.clone() });
        Ok(moments)
    }

    fn moments(&self, points: &[Vec<f64>]) -> Result<Vec<f64>, GuideError> {
        let mut storage = vec![0.0; self.factor.len()];
        let prior = PublicPrior::attach(self.numbers(), &mut storage).map_err(GuideError::Numbers)?;
        let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        let coordinates = self.coordinates(&points);
        let mut moments = vec![0.0; 2 * points.len()];
        prior.moments(&coordinates, &mut moments, &mut vec![0.0; self.weights.len()]).map_err(GuideError::Numbers)?;
        Ok(moments)
    }

    /// Whether these values of points (larger is better) still speak for the file: the posterior probability that it counts is
    /// at least ½. The next question is that of a search without a file if not.
    ///
    /// **Errors**: [`GuideError`].
    pub fn is_borne_out(&self, told: &[(&[f64], f64)]) -> Result<bool, GuideError> {
        if told.is_empty() {
            return Ok(self.reading().uses_file());
        }
        let mut storage = vec![0.0; self.factor.len()];
        let prior = PublicPrior::attach(self.numbers(), &mut storage).map_err(GuideError::Numbers)?;
        let coordinates = self.coordinates(&told.iter().map(|(numbers, _)| *numbers).collect::<Vec<_>>());
        let storage = vec![0.0; storage_len(self.weights.len(), told.len(), 1)];
        let settings = NewcomerSettings::default();
        let mut search = Newcomer::new(&coordinates, self.encoding.dim(), Some(&prior), settings, told.len(), storage)
            .map_err(wrong)?;
        for (place, (_, value)) in told.iter().enumerate() {
            search.observe(place, *value).map_err(wrong)?;
        }
        Ok(search.trust() >= BORNE_OUT)
    }

    /// Which of `points` is asked next, after these values of points (larger is better), by its place; with the moments of these
    /// points where they are known, which changes no bit.
    ///
    /// **Errors**: [`GuideError`].
    pub fn choose(
        &self,
        told: &[(&[f64], f64)],
        points: &[Vec<f64>],
        moments: Option<&[f64]>,
        seed: u32,
    ) -> Result<usize, GuideError> {
        let seen: Vec<Vec<f64>> = told.iter().map(|(numbers, _)| numbers.to_vec()).collect();
        let moments = match moments {
            Some(moments) => Some([moments, &self.moments(&seen)?].concat()),
            None => None,
        };
        let mut storage = vec![0.0; self.factor.len()];
        let prior = PublicPrior::attach(self.numbers(), &mut storage).map_err(GuideError::Numbers)?;
        // What was told comes last: of equal candidates the first one is asked.
        let all: Vec<&[f64]> =
            points.iter().map(Vec::as_slice).chain(told.iter().map(|(numbers, _)| *numbers)).collect();
        let coordinates = self.coordinates(&all);
        let capacity = told.len().max(1);
        let settings = NewcomerSettings { seed, ..NewcomerSettings::default() };
        let storage = vec![0.0; storage_len(self.weights.len(), capacity, WIDTH)];
        let mut search = Newcomer::new(&coordinates, self.encoding.dim(), Some(&prior), settings, capacity, storage)
            .map_err(wrong)?;
        if let Some(moments) = &moments {
            search = search.with_moments(moments).map_err(wrong)?;
        }
        for (place, (_, value)) in told.iter().enumerate() {
            search.observe(points.len() + place, *value).map_err(wrong)?;
        }
        let chosen = search.suggest();
        // Where a told point is the best of all, the first of the list is asked again.
        Ok(if chosen < points.len() { chosen } else { 0 })
    }
}

fn wrong(error: NewcomerError) -> GuideError {
    GuideError::File(refuse("a candidate", error, "a point of the space"))
}

/// For each parameter of the file, the place of the same one in the search.
fn order(file: &PriorFile, space: &Space, goal: Goal) -> Result<Vec<usize>, GuideError> {
    let other =
        |what: &str, found: String, admissible: String| Err(GuideError::Other { what: what.into(), found, admissible });
    if goal != file.label.goal {
        return other("goal", format!("{goal:?}").to_lowercase(), format!("{:?}", file.label.goal).to_lowercase());
    }
    let theirs = file.label.space.parameters();
    let names = |parameters: &[crate::space::Parameter]| {
        parameters.iter().map(|parameter| parameter.name.clone()).collect::<Vec<_>>().join(", ")
    };
    if space.parameters().len() != theirs.len() {
        return other("the list of parameters", names(space.parameters()), names(theirs));
    }
    let mut order = Vec::with_capacity(theirs.len());
    for parameter in theirs {
        let Some(place) = space.parameters().iter().position(|own| own.name == parameter.name) else {
            return other("the list of parameters", names(space.parameters()), names(theirs));
        };
        let own = &space.parameters()[place];
        if own.values != parameter.values {
            let shown = |values| serde_json::to_string(values).unwrap_or_default();
            return other(&parameter.name, shown(&own.values), shown(&parameter.values));
        }
        order.push(place);
    }
    Ok(order)
}
