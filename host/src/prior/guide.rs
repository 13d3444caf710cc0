//! A search that a prior file guides: which of some points is asked next.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_core::optimizer::{self, OptimizerError};
use sordino_core::prior::{
    Newcomer, NewcomerError, NewcomerSettings, OwnModel, PriorNumbers, PublicPrior,
    PublicPriorError, Reading, VALUES_MAX, attach_len, covers_box, storage_len,
};

use super::{PriorFile, PriorFileError, refuse};
use crate::space::{Encoding, Goal, Parameter, Space, Values};

/// Candidates that are looked at together.
const WIDTH: usize = 64;

/// Why a file cannot guide a search.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GuideError {
    /// It is of another search.
    #[error(
        "the prior file is of another search: {what} of the file is {admissible}, of this search {found}; a search with a file has its \
         goal and exactly its parameters, as its label lists them (`sordino prior show`)"
    )]
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
    /// The search's own model of what the file does not explain.
    #[error("what the file does not explain has no model")]
    Own(#[source] OptimizerError),
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

/// Numbers of a file in double precision.
fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}

impl Guide {
    /// Holds a file against a search.
    ///
    /// **Errors**: [`GuideError`].
    pub fn new(file: &PriorFile, space: &Space, goal: Goal) -> Result<Self, GuideError> {
        file.check()?;
        let order = order(file, space, goal)?;
        let mut guide = Guide {
            encoding: file.encoding()?,
            order,
            landmarks: wide(&file.landmarks),
            lengthscale: f64::from(file.label.lengthscale),
            weights: wide(&file.weights),
            covariance: wide(&file.covariance),
            // As those who get the numbers alone have it.
            self_test: f64::from(file.label.self_test as f32),
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

    /// The file as core searches with it.
    pub(super) fn attached(&self) -> Result<PublicPrior<'_, f64>, GuideError> {
        PublicPrior::attach_again(self.numbers(), &self.factor).map_err(GuideError::Numbers)
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

    /// Whether the question after so many values is one of the file, if they speak for it: those
    /// that cover the box ([`covers_box`]) are not.
    pub fn is_asked(&self, values: usize) -> bool {
        self.is_read(values) && !covers_box(Some(self.self_test), values)
    }

    /// Coordinates of points of the search.
    fn coordinates(&self, points: &[&[f64]]) -> Vec<f64> {
        points
            .iter()
            .flat_map(|point| {
                let ordered: Vec<f64> = self.order.iter().map(|axis| point[*axis]).collect();
                self.encoding.coordinates(&ordered)
            })
            .collect()
    }

    /// What the file says about points of the search, before any value.
    ///
    /// **Errors**: [`GuideError::Numbers`].
    pub fn believed(&self, points: &[Vec<f64>]) -> Result<Vec<Believed>, GuideError> {
        let moments = self.moments(points)?;
        let (pairs, _) = moments.as_chunks::<2>();
        Ok(pairs
            .iter()
            .map(|[mean, variance]| Believed {
                mean: *mean,
                std: variance.max(0.0).sqrt(),
            })
            .collect())
    }

    /// Mean and variance at each point of a list, pair after pair: computed once for all that share
    /// file and list.
    ///
    /// **Errors**: as [`Guide::believed`].
    pub fn moments_of(&self, points: &Arc<[Vec<f64>]>) -> Result<Arc<[f64]>, GuideError> {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memo) = memo
            .as_ref()
            .filter(|memo| Arc::ptr_eq(&memo.points, points))
        {
            return Ok(memo.moments.clone());
        }
        let moments: Arc<[f64]> = self.moments(points)?.into();
        *memo = Some(Memo {
            points: points.clone(),
            moments: moments.clone(),
        });
        Ok(moments)
    }

    fn moments(&self, points: &[Vec<f64>]) -> Result<Vec<f64>, GuideError> {
        let prior = self.attached()?;
        let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        let coordinates = self.coordinates(&points);
        let mut moments = vec![0.0; 2 * points.len()];
        prior
            .moments(
                &coordinates,
                &mut moments,
                &mut vec![0.0; self.weights.len()],
            )
            .map_err(GuideError::Numbers)?;
        Ok(moments)
    }

    /// A search over these points, with what was told of some of them last: a place in `points` and
    /// a value, larger is better.
    fn newcomer<R>(
        &self,
        told: &[(&[f64], f64)],
        (points, moments): (&[Vec<f64>], Option<&[f64]>),
        (seed, width): (u32, usize),
        act: impl FnOnce(&mut Newcomer<'_, f64, Vec<f64>>) -> Result<R, GuideError>,
    ) -> Result<R, GuideError> {
        let known = told.iter().map(|(numbers, _)| *numbers);
        let moments = match moments {
            Some(moments) => Some(
                [
                    moments,
                    &self.moments(&known.clone().map(<[f64]>::to_vec).collect::<Vec<_>>())?,
                ]
                .concat(),
            ),
            None => None,
        };
        let prior = self.attached()?;
        // What was told comes last: of equal candidates the first one is asked.
        let all: Vec<&[f64]> = points.iter().map(Vec::as_slice).chain(known).collect();
        let coordinates = self.coordinates(&all);
        let capacity = told.len().max(1);
        let settings = NewcomerSettings {
            seed,
            ..NewcomerSettings::default()
        };
        let storage = vec![0.0; storage_len(self.weights.len(), capacity, width)];
        let mut search = Newcomer::new(
            &coordinates,
            self.encoding.dim(),
            Some(&prior),
            settings,
            capacity,
            storage,
        )
        .map_err(wrong)?;
        if let Some(moments) = &moments {
            search = search.with_moments(moments).map_err(wrong)?;
        }
        for (place, (_, value)) in told.iter().enumerate() {
            search
                .observe(points.len() + place, *value)
                .map_err(wrong)?;
        }
        act(&mut search)
    }

    /// Whether these values of points (larger is better) still speak for the file. The next
    /// question is that of a search without a file if not.
    ///
    /// **Errors**: [`GuideError`].
    pub fn is_borne_out(&self, told: &[(&[f64], f64)]) -> Result<bool, GuideError> {
        if told.is_empty() {
            return Ok(self.reading().uses_file());
        }
        self.newcomer(
            told,
            (&[], None),
            (0, 1),
            |search| Ok(search.is_borne_out()),
        )
    }

    /// What is expected at `points` by a search that knows these values of points (larger is
    /// better), in their unit: what the file says and they say together. Before the first value it
    /// is the file's mean. Told of questions under way, it is no evidence of the file.
    ///
    /// **Errors**: [`GuideError`].
    pub fn expected(
        &self,
        told: &[(&[f64], f64)],
        points: &[Vec<f64>],
    ) -> Result<Vec<f64>, GuideError> {
        let mut means = vec![0.0; points.len()];
        self.newcomer(told, (points, None), (0, 1), |search| {
            search.predict(0, &mut means).map_err(wrong)
        })?;
        Ok(means)
    }

    /// The model of a search's own, fitted to these values of points (larger is better), of which
    /// there is at least one.
    ///
    /// **Errors**: [`GuideError`].
    pub fn own_model(
        &self,
        told: &[(&[f64], f64)],
        seed: u32,
    ) -> Result<OwnModel<f64, Vec<f64>>, GuideError> {
        let storage = vec![0.0; optimizer::storage_len(self.encoding.dim(), told.len())];
        self.newcomer(told, (&[], None), (seed, 1), |search| {
            OwnModel::fit(search, storage).map_err(GuideError::Own)
        })
    }

    /// Which of `points` is asked next, after these values of points (larger is better), by its
    /// place; with the moments of these points where they are known, which changes no bit; by a
    /// model of the search's own, if there is one already.
    ///
    /// **Errors**: [`GuideError`].
    pub fn choose(
        &self,
        told: &[(&[f64], f64)],
        points: &[Vec<f64>],
        moments: Option<&[f64]>,
        seed: u32,
        own: Option<&mut OwnModel<f64, Vec<f64>>>,
    ) -> Result<usize, GuideError> {
        let chosen = self.newcomer(told, (points, moments), (seed, WIDTH), |search| match own {
            Some(own) => own.suggest(search).map_err(GuideError::Own),
            None => Ok(search.suggest()),
        })?;
        // Where a told point is the best of all, the first of the list is asked again.
        Ok(if chosen < points.len() { chosen } else { 0 })
    }
}

/// The refusal of a candidate by the model of a newcomer.
pub(super) fn wrong(error: NewcomerError) -> GuideError {
    GuideError::File(refuse("a candidate", error, "a point of the space"))
}

/// The refusal of a file of another search.
fn other<T>(what: &str, found: String, admissible: String) -> Result<T, GuideError> {
    Err(GuideError::Other {
        what: what.into(),
        found,
        admissible,
    })
}

/// What values a parameter has, in words that differ where the values do.
fn shown(values: &Values) -> String {
    let more = match values {
        Values::Number { log: true, .. } => " on a logarithmic scale",
        Values::Choices { ordered: true, .. } => ", in this order",
        _ => "",
    };
    values.admissible() + more
}

/// The names of parameters, with commas between them.
fn names(parameters: &[Parameter]) -> String {
    parameters
        .iter()
        .map(|parameter| parameter.name.clone())
        .collect::<Vec<_>>()
        .join(", ")
}

/// For each parameter of the file, the place of the same one in the search.
fn order(file: &PriorFile, space: &Space, goal: Goal) -> Result<Vec<usize>, GuideError> {
    if goal != file.label.goal {
        return other(
            "goal",
            format!("{goal:?}").to_lowercase(),
            format!("{:?}", file.label.goal).to_lowercase(),
        );
    }
    let theirs = file.label.space.parameters();
    if space.parameters().len() != theirs.len() {
        return other(
            "the list of parameters",
            names(space.parameters()),
            names(theirs),
        );
    }
    let mut order = Vec::with_capacity(theirs.len());
    for parameter in theirs {
        let Some(place) = space
            .parameters()
            .iter()
            .position(|own| own.name == parameter.name)
        else {
            return other(
                "the list of parameters",
                names(space.parameters()),
                names(theirs),
            );
        };
        let own = &space.parameters()[place];
        if own.values != parameter.values {
            return other(
                &parameter.name,
                shown(&own.values),
                shown(&parameter.values),
            );
        }
        order.push(place);
    }
    Ok(order)
}
