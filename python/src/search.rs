//! Ask and tell over a named space: the search of `sordino optimize`. Points cross as JSON.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::Value;
use sordino_host::search::{Estimate, Head, Search as HostSearch, SearchError};
use sordino_host::space::{Goal, Parameter, Point, Space, SpaceError, SpaceFile};
use sordino_host::text::chain;

use crate::error::{self, InputError};
use crate::prior::Prior;

pub(crate) const GOALS: [(&str, Goal); 2] =
    [("minimize", Goal::Minimize), ("maximize", Goal::Maximize)];

/// A search; threads that ask at once wait for each other.
#[pyclass(module = "sordino._native", frozen)]
pub struct Search(Mutex<HostSearch>);

fn refused(error: SearchError) -> PyErr {
    InputError::new_err(chain(&error))
}

pub(crate) fn of_space(error: SpaceError) -> PyErr {
    InputError::new_err(chain(&error))
}

pub(crate) fn value(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|error| InputError::new_err(format!("no point: {error}")))
}

fn text(point: Point) -> String {
    Value::Object(point).to_string()
}

pub(crate) fn space(parameters: &str) -> PyResult<Space> {
    let parameters: Vec<Parameter> = serde_json::from_str(parameters)
        .map_err(|error| InputError::new_err(format!("no parameters: {error}")))?;
    Space::new(parameters).map_err(of_space)
}

/// Checks parameters as a space to search.
#[pyfunction]
pub fn check_space(parameters: &str) -> PyResult<()> {
    space(parameters)?.core().map(|_| ()).map_err(of_space)
}

/// The parameters of a space file, its goal, and what a value is.
#[pyfunction]
pub fn space_of_toml(
    source: &str,
    toml: &str,
) -> PyResult<(String, Option<&'static str>, Option<String>)> {
    let file = SpaceFile::parse(source, toml).map_err(error::input)?;
    file.space
        .core()
        .map_err(|error| InputError::new_err(format!("{source}: {}", chain(&error))))?;
    let goal = GOALS
        .iter()
        .find(|(_, goal)| Some(*goal) == file.goal)
        .map(|(name, _)| *name);
    Ok((
        serde_json::to_string(&file.space).map_err(error::failure)?,
        goal,
        file.value,
    ))
}

impl Search {
    /// Does something with it when no other thread does, without the interpreter's lock, which that
    /// thread may want.
    fn held<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut HostSearch) -> Result<T, SearchError> + Send,
    ) -> PyResult<T> {
        py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
            .map_err(refused)
    }
}

#[pymethods]
impl Search {
    /// Nothing asked yet.
    #[new]
    fn new(
        parameters: &str,
        goal: &str,
        seed: u64,
        candidates: Option<&str>,
        prior: Option<&Prior>,
    ) -> PyResult<Self> {
        let candidates = match candidates {
            None => None,
            Some(list) => Some(
                serde_json::from_str::<Vec<Point>>(list)
                    .map_err(|error| InputError::new_err(format!("no candidates: {error}")))?,
            ),
        };
        let head = Head::new(
            space(parameters)?,
            error::named("goal", goal, &GOALS)?,
            seed,
        )
        .among(candidates);
        let begun = match prior {
            None => HostSearch::new(head),
            Some(prior) => HostSearch::guided(head, &prior.file),
        };
        Ok(Search(Mutex::new(begun.map_err(refused)?)))
    }

    /// The next question.
    fn ask(&self, py: Python<'_>, context: &str) -> PyResult<String> {
        let context = value(context)?;
        self.held(py, |search| search.ask(&context).map(text))
    }

    /// Tells the value of a point.
    fn tell(&self, py: Python<'_>, point: &str, told: f64) -> PyResult<()> {
        let point = value(point)?;
        self.held(py, |search| search.tell(&point, told))
    }

    /// A question has no value and will not have one.
    fn fail(&self, py: Python<'_>, point: &str) -> PyResult<()> {
        let point = value(point)?;
        self.held(py, |search| search.fail(&point))
    }

    /// The best value told, and where.
    fn best(&self, py: Python<'_>, context: Option<&str>) -> PyResult<Option<(String, f64)>> {
        let context = context.map(value).transpose()?;
        self.held(py, |search| {
            let found = match &context {
                None => search.best(),
                Some(context) => search.best_given(context)?,
            };
            Ok(found.map(|(point, best)| (text(point), best)))
        })
    }

    /// Whether the last question was of a search that reads its file.
    fn reads_prior(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        self.held(py, |search| Ok(search.reads_file()))
    }

    /// The point of the best posterior mean, mean and standard deviation.
    fn recommend(
        &self,
        py: Python<'_>,
        context: Option<&str>,
    ) -> PyResult<Option<(String, f64, f64)>> {
        let context = context.map(value).transpose()?;
        self.held(py, |search| {
            let found = match &context {
                None => search.recommend()?,
                Some(context) => search.recommend_given(context)?,
            };
            Ok(found.map(|(point, Estimate { mean, std })| (text(point), mean, std)))
        })
    }

    /// Means and standard deviations at these points.
    fn predict(&self, py: Python<'_>, points: Vec<String>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let points = points
            .iter()
            .map(|point| value(point))
            .collect::<PyResult<Vec<_>>>()?;
        let found = self.held(py, |search| search.predict(&points))?;
        Ok(found
            .iter()
            .map(|estimate| (estimate.mean, estimate.std))
            .unzip())
    }

    /// Points with their values, in the order in which they were told.
    fn history(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        self.held(py, |search| {
            Ok(search
                .history()
                .map(|(point, told)| (text(point), told))
                .collect())
        })
    }

    /// Questions under way, oldest first.
    fn pending(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.held(py, |search| {
            Ok(search.pending().into_iter().map(text).collect())
        })
    }

    /// Parameters, goal, values told, questions that failed.
    fn facts(&self, py: Python<'_>) -> PyResult<(String, &'static str, usize, usize)> {
        self.held(py, |search| {
            let head = search.head();
            let goal = GOALS
                .iter()
                .find(|(_, goal)| *goal == head.goal)
                .map_or("", |(name, _)| *name);
            let parameters = serde_json::to_string(&head.space).unwrap_or_default();
            Ok((parameters, goal, search.len(), search.failed()))
        })
    }

    /// The whole search as lines of JSON.
    fn to_text(&self, py: Python<'_>) -> PyResult<String> {
        self.held(py, |search| Ok(search.to_text()))
    }

    /// The search of such a text.
    #[staticmethod]
    fn parse(py: Python<'_>, stored: &str, prior: Option<&Prior>) -> PyResult<Self> {
        let search = py.detach(|| match prior {
            None => HostSearch::parse(stored),
            Some(prior) => HostSearch::parse_guided(stored, &prior.file),
        });
        let search = search.map_err(refused)?;
        Ok(Search(Mutex::new(search)))
    }
}
