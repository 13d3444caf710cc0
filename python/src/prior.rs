//! Prior files: what others learned of the same parameters.

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sordino_host::day::Day;
use sordino_host::ledger::contributions::given;
use sordino_host::ledger::{CounterPlace, Ledger, LedgerError, Options, Preview, is_of_ledger};
use sordino_host::prior::guide::{Believed, Guide};
use sordino_host::prior::publish::{Checked, Publication, Study};
use sordino_host::prior::worth::facts;
use sordino_host::prior::{LoadError, PriorFile};
use sordino_host::server::SystemSources;
use sordino_host::signature::{KeyError, SigningKey};
use sordino_host::text::{chain, plain};

use crate::error::{InputError, LedgerWarning, RunError, named};
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
        .enumerate()
        .map(|(place, (point, told))| {
            let numbers = publication.space.numbers(&value(&point)?);
            let numbers = numbers.map_err(|error| {
                let row = place + 1;
                InputError::new_err(format!("study {name}: row {row}: {}", chain(&error)))
            })?;
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

/// What was wrong before.
fn before(error: impl std::error::Error + 'static) -> PyErr {
    InputError::new_err(chain(&error))
}

/// What a publication would cost, as JSON.
#[pyfunction]
pub fn publication_cost(py: Python<'_>, studies: Vec<Given>, asked: Asked) -> PyResult<String> {
    let (publication, studies) = publication(studies, &asked)?;
    let checked = Checked::new(&publication, &studies, asked.max_epsilon).map_err(before)?;
    signing(&asked)?;
    let preview = py.detach(|| previewed(&checked, &asked)).map_err(before)?;
    warn(py, &checked, &asked, &preview)?;
    let cost = py.detach(|| checked.cost(&preview)).map_err(before)?;
    serde_json::to_string(&cost).map_err(crate::error::failure)
}

/// Charges, releases, and makes a file of studies.
#[pyfunction]
pub fn publish_prior(py: Python<'_>, studies: Vec<Given>, asked: Asked) -> PyResult<Prior> {
    let (publication, studies) = publication(studies, &asked)?;
    let checked = Checked::new(&publication, &studies, asked.max_epsilon).map_err(before)?;
    let key = signing(&asked)?;
    // Before anything is begun: a program that makes errors of warnings pays nothing.
    let preview = py.detach(|| previewed(&checked, &asked)).map_err(before)?;
    warn(py, &checked, &asked, &preview)?;
    let made = py.detach(|| {
        let sources = SystemSources::new().map_err(before)?;
        let prepared = checked.prepare(|_| {}).map_err(before)?;
        // Nothing is charged yet, and it takes some seconds until here.
        Python::attach(|py| py.check_signals())?;
        // The ledger is made when all that is slow is done: one without a charge would bind its
        // place to this data set.
        let ledger = opened(&checked, &asked).map_err(before)?;
        // A key that is missing is made once nothing else is refused.
        let key = match (key, &asked.sign) {
            (None, Some(path)) => Some(SigningKey::open(path).map_err(unsigned)?),
            (key, _) => key,
        };
        // From here on releases may be charged, whatever goes wrong.
        let made = checked.publish(&prepared, sources, ledger, key.as_ref(), |_| {});
        made.map_err(|error| after(chain(&error)))
    })?;
    let prior = Prior::of(made.0).map_err(after)?;
    match py.check_signals() {
        Ok(()) => Ok(prior),
        Err(interrupt) => Err(rescued(py, &prior, interrupt)),
    }
}

/// The interruption of a publication whose file is paid for: the file is saved, and told of.
fn rescued(py: Python<'_>, prior: &Prior, interrupt: PyErr) -> PyErr {
    let place = std::env::temp_dir().join(format!("{}.safetensors", prior.file.digest()));
    let told = match prior.file.save(&place) {
        Ok(()) => format!(
            "the releases are charged, and the file is at {}",
            place.display()
        ),
        Err(error) => format!("the releases are charged; the file is lost: {error}"),
    };
    PyErr::from_type(interrupt.get_type(py), told)
}

/// What is to be published, and the studies in the space's numbers.
fn publication(studies: Vec<Given>, asked: &Asked) -> PyResult<(Publication, Vec<Study>)> {
    if let Some(date) = &asked.date {
        date.parse::<Day>()
            .map_err(|what| InputError::new_err(format!("date: {what}")))?;
    }
    let publication = Publication {
        space: space(&asked.parameters)?,
        goal: named("goal", &asked.goal, &GOALS)?,
        value: asked.value.clone(),
        epsilon: asked.epsilon,
        delta: asked.delta,
        releases: asked.releases,
        features: asked.features,
        dataset: asked.dataset.clone(),
        by: asked.by.clone(),
        note: asked.note.clone(),
        published: asked.date.clone(),
    };
    let studies = studies
        .into_iter()
        .map(|given| study(given, &publication))
        .collect::<PyResult<Vec<_>>>()?;
    Ok((publication, studies))
}

/// The key that signs, if it is there already.
fn signing(asked: &Asked) -> PyResult<Option<SigningKey>> {
    let Some(path) = &asked.sign else {
        return Ok(None);
    };
    if is_of_ledger(path, &asked.ledger).map_err(before)? {
        let path = path.display();
        return Err(InputError::new_err(format!(
            "sign: {path} is the ledger or its lock"
        )));
    }
    SigningKey::find(path).map_err(unsigned)
}

/// Warns of what speaks against the file, of what is unusual about the ledger, and of what
/// federations got of the same data; the line that is named is the one that calls
/// `sordino.publish`.
fn warn(py: Python<'_>, checked: &Checked, asked: &Asked, ledger: &Preview) -> PyResult<()> {
    let path = ledger.path().display();
    let notes = ledger.notes().iter().map(|told| format!("{path}: {told}"));
    let given = given(&counter(asked).map_err(before)?, &asked.dataset).map_err(before)?;
    let of_studies = py.get_type::<PyUserWarning>();
    let of_ledger = py.get_type::<LedgerWarning>();
    let doubts = checked.doubts().into_iter();
    let doubts = doubts.map(|doubt| (doubt, &of_studies));
    let notes = notes.chain(given).map(|note| (note, &of_ledger));
    for (told, category) in doubts.chain(notes) {
        let told = CString::new(plain(&told)).map_err(crate::error::failure)?;
        PyErr::warn(py, category, &told, 2)?;
    }
    Ok(())
}

/// Where the second count is kept.
fn counter(asked: &Asked) -> Result<CounterPlace, LedgerError> {
    if asked.counter {
        CounterPlace::of_user()
    } else {
        Ok(CounterPlace::Nowhere)
    }
}

/// How the ledger is opened.
fn options(checked: &Checked, asked: &Asked) -> Result<Options, LedgerError> {
    Ok(Options {
        counter: counter(asked)?,
        another: asked.another_ledger,
        next: checked.first().to_vec(),
    })
}

/// The ledger as it would be opened, with room for all releases; nothing is made or written.
fn previewed(checked: &Checked, asked: &Asked) -> Result<Preview, LedgerError> {
    let options = options(checked, asked)?;
    let mut preview = Preview::of(&asked.ledger, &checked.terms(), &options)?;
    preview.admits(checked.events())?;
    Ok(preview)
}

/// What was previewed, opened.
fn opened(checked: &Checked, asked: &Asked) -> Result<Ledger, LedgerError> {
    let options = options(checked, asked)?;
    let mut ledger = Ledger::open_secret(&asked.ledger, &checked.terms(), &options)?;
    ledger.admits(checked.events())?;
    Ok(ledger.on(Day::today()))
}
