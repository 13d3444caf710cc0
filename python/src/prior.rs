//! Prior files: what others learned of the same parameters.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_core::privacy::Event;
use sordino_host::day::Day;
use sordino_host::ledger::{
    Accounting, CounterPlace, Ledger, Options, Preview, Terms, is_of_ledger,
};
use sordino_host::prior::doubts::doubts;
use sordino_host::prior::guide::{Believed, Guide};
use sordino_host::prior::label::event;
use sordino_host::prior::publish::{
    Publication, PublishError, Study, check, check_budget, noise_multipliers, publish, with_ledger,
};
use sordino_host::prior::worth::facts;
use sordino_host::prior::{LoadError, PriorFile};
use sordino_host::server::SystemSources;
use sordino_host::signature::{KeyError, SigningKey};
use sordino_host::text::{chain, plain};

use crate::error::{InputError, RunError, named};
use crate::search::{GOALS, of_space, space, value};

/// A prior file that was checked.
#[pyclass(module = "sordino._native", frozen)]
pub struct Prior {
    pub(crate) file: PriorFile,
    guide: Guide,
}

impl Prior {
    fn of(file: PriorFile) -> PyResult<Self> {
        let guide = Guide::new(&file, &file.label.space, file.label.goal);
        let guide = guide.map_err(|error| InputError::new_err(chain(&error)))?;
        Ok(Prior { file, guide })
    }
}

#[pymethods]
impl Prior {
    /// The file at a path.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = py.detach(|| PriorFile::load(&path));
        Self::of(loaded.map_err(|error: LoadError| InputError::new_err(chain(&error)))?)
    }

    /// The file with these bytes.
    #[staticmethod]
    fn parse(bytes: &[u8]) -> PyResult<Self> {
        Self::of(PriorFile::parse(bytes).map_err(|error| InputError::new_err(error.to_string()))?)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.to_bytes())
    }

    /// Writes it, durably: the old file or the new one is left by a crash.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.file.save(&path))
            .map_err(|error| RunError::new_err(error.to_string()))
    }

    /// Its label and what follows from its numbers, as JSON.
    fn facts(&self, py: Python<'_>) -> PyResult<String> {
        let found = py.detach(|| facts(&self.file));
        found
            .map(|facts| facts.to_string())
            .map_err(|error| InputError::new_err(chain(&error)))
    }

    /// Whether its noise can be predicted: then it protects nobody.
    fn simulated(&self) -> bool {
        self.file.label.simulated
    }

    /// Parameters, goal, and what a value is.
    fn searched(&self) -> PyResult<(String, &'static str, Option<String>)> {
        let label = &self.file.label;
        let goal = GOALS
            .iter()
            .find(|(_, goal)| *goal == label.goal)
            .map_or("", |(name, _)| *name);
        Ok((
            serde_json::to_string(&label.space).map_err(crate::error::failure)?,
            goal,
            label.value.clone(),
        ))
    }

    /// Means and standard deviations at these points, standardised, as the user counts.
    fn believed(&self, points: Vec<String>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let label = &self.file.label;
        let points = points
            .iter()
            .map(|text| label.space.numbers(&value(text)?).map_err(of_space))
            .collect::<PyResult<Vec<_>>>()?;
        let found = self
            .guide
            .believed(&points)
            .map_err(|error| InputError::new_err(chain(&error)))?;
        let sign = label.goal.sign();
        Ok(found
            .iter()
            .map(|Believed { mean, std }| (0.0 + sign * mean, *std))
            .unzip())
    }
}

/// What Python gives for a publication beside the studies.
#[derive(FromPyObject)]
pub struct Asked {
    #[pyo3(item)]
    parameters: String,
    #[pyo3(item)]
    goal: String,
    #[pyo3(item)]
    value: Option<String>,
    #[pyo3(item)]
    epsilon: f64,
    #[pyo3(item)]
    delta: f64,
    #[pyo3(item)]
    releases: u32,
    #[pyo3(item)]
    features: u32,
    #[pyo3(item)]
    dataset: String,
    #[pyo3(item)]
    max_epsilon: Option<f64>,
    #[pyo3(item)]
    ledger: PathBuf,
    #[pyo3(item)]
    another_ledger: bool,
    #[pyo3(item)]
    counter: bool,
    #[pyo3(item)]
    by: Option<String>,
    #[pyo3(item)]
    note: Option<String>,
    #[pyo3(item)]
    date: Option<String>,
    #[pyo3(item)]
    sign: Option<PathBuf>,
}

/// A study as Python gives it: its name, points as JSON and values.
type Given = (String, Vec<(String, f64)>);

/// A study, its points as numbers of the space.
fn study((name, values): Given, publication: &Publication) -> PyResult<Study> {
    let values = values
        .into_iter()
        .map(|(point, told)| {
            let numbers = publication.space.numbers(&value(&point)?);
            let numbers = numbers
                .map_err(|error| InputError::new_err(format!("study {name}: {}", chain(&error))))?;
            Ok((numbers, told))
        })
        .collect::<PyResult<Vec<_>>>()?;
    Ok(Study { name, values })
}

/// A key that cannot be used.
fn unsigned(error: KeyError) -> PyErr {
    InputError::new_err(format!("sign: {}", chain(&error)))
}

/// What went wrong when releases may have been charged.
fn after(error: impl std::fmt::Display) -> PyErr {
    RunError::new_err(format!("{error}; releases that were charged stay charged"))
}

/// Charges, releases, and makes a file of studies.
#[pyfunction]
pub fn publish_prior(py: Python<'_>, studies: Vec<Given>, asked: Asked) -> PyResult<Prior> {
    let publication = Publication {
        space: space(&asked.parameters)?,
        goal: named("goal", &asked.goal, &GOALS)?,
        value: asked.value,
        epsilon: asked.epsilon,
        delta: asked.delta,
        releases: asked.releases,
        features: asked.features,
        dataset: asked.dataset.clone(),
        by: asked.by,
        note: asked.note,
        published: asked.date,
    };
    let studies = studies
        .into_iter()
        .map(|given| study(given, &publication))
        .collect::<PyResult<Vec<_>>>()?;
    let terms = Terms {
        data: asked.dataset,
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: asked.max_epsilon,
        delta: asked.delta,
    };
    if let Some(key) = &asked.sign
        && is_of_ledger(key, &asked.ledger).map_err(|error| InputError::new_err(chain(&error)))?
    {
        let key = key.display();
        return Err(InputError::new_err(format!(
            "sign: {key} is the ledger or its lock"
        )));
    }
    let key = asked.sign.as_deref().map(SigningKey::find).transpose();
    let key = key.map_err(unsigned)?.flatten();
    if let Some(date) = &publication.published {
        date.parse::<Day>()
            .map_err(|what| InputError::new_err(format!("date: {what}")))?;
    }
    let place = Place {
        path: &asked.ledger,
        another: asked.another_ledger,
        counter: asked.counter,
    };
    // Before anything is begun: a program that makes errors of warnings pays nothing.
    py.detach(|| previewed(&publication, &studies, &terms, &place))
        .map_err(|error| InputError::new_err(chain(&error)))?;
    for doubt in doubts(&publication, &studies) {
        let doubt = CString::new(plain(&doubt)).map_err(crate::error::failure)?;
        // That of the line that calls `sordino.publish`.
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &doubt, 2)?;
    }
    py.detach(|| {
        let (ledger, sources) = ready(&publication, &terms, &place)
            .map_err(|error| InputError::new_err(chain(&error)))?;
        // A key that is missing is made once nothing else is refused.
        let key = match (key, &asked.sign) {
            (None, Some(path)) => Some(SigningKey::open(path).map_err(unsigned)?),
            (key, _) => key,
        };
        // From here on releases may be charged, whatever goes wrong.
        let published = publish(&publication, &studies, sources, ledger, |_| {});
        let (file, ledger) = published.map_err(|error| after(chain(&error)))?;
        let file = with_ledger(file, &ledger);
        let file = match &key {
            Some(key) => file.sign(key).map_err(after)?,
            None => file,
        };
        Prior::of(file).map_err(after)
    })
}

/// Where charges are kept.
struct Place<'a> {
    path: &'a Path,
    another: bool,
    counter: bool,
}

impl Place<'_> {
    /// How the ledger is opened for releases with these events.
    fn options(&self, events: &[Event]) -> Result<Options, PublishError> {
        let counter = if self.counter {
            CounterPlace::of_user()?
        } else {
            CounterPlace::Nowhere
        };
        Ok(Options {
            counter,
            another: self.another,
            next: events[..1].to_vec(),
        })
    }
}

/// The events of a publication's releases.
fn events(publication: &Publication) -> Result<Vec<Event>, PublishError> {
    let multipliers = noise_multipliers(publication)?;
    Ok(multipliers.iter().map(|z| event(*z)).collect())
}

/// Checks studies and budget, and that a ledger at this place has room for all releases. What is
/// refused leaves nothing behind.
fn previewed(
    publication: &Publication,
    studies: &[Study],
    terms: &Terms,
    place: &Place,
) -> Result<(), PublishError> {
    check(publication, studies)?;
    let multipliers = noise_multipliers(publication)?;
    check_budget(&multipliers, publication.delta, terms.epsilon_max)?;
    let events = events(publication)?;
    Ok(Preview::of(place.path, terms, &place.options(&events)?)?.admits(&events)?)
}

/// What was previewed, opened: the ledger with room for all releases, entropy.
fn ready(
    publication: &Publication,
    terms: &Terms,
    place: &Place,
) -> Result<(Ledger, SystemSources), PublishError> {
    let events = events(publication)?;
    let mut ledger = Ledger::open_secret(place.path, terms, &place.options(&events)?)?;
    ledger.admits(&events)?;
    Ok((
        ledger.on(Day::today()),
        SystemSources::new().map_err(sordino_host::server::HostError::from)?,
    ))
}
