//! Ask and tell: core's optimiser with the log that it is restored from.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Frame;
use sordino_core::domain::BoxDomain;
use sordino_core::kernel::Stationary;
use sordino_core::optimizer::{self, Acquisition, LogEntry, OptimizerError, Settings};
use sordino_core::surrogate::exact::WhenFull;

use crate::error;

/// Of the form of what [`Optimizer::save`] gives; the digest of the rest follows.
const MARK: &[u8] = b"sordino optimizer 1\n";
/// Bytes of the digest.
const DIGEST: usize = 32;
/// Memory is 4·n² bytes.
const CAPACITY_MAX: u32 = 10_000;
/// More are no first design.
const INITIAL_MAX: u32 = 1_000_000;

const KERNELS: [(&str, Stationary); 4] = [
    ("squared-exponential", Stationary::SquaredExponential),
    ("matern-1/2", Stationary::Matern12),
    ("matern-3/2", Stationary::Matern32),
    ("matern-5/2", Stationary::Matern52),
];
const WHEN_FULL: [(&str, WhenFull); 2] = [("refuse", WhenFull::Refuse), ("drop-oldest", WhenFull::DropOldest)];

/// All that an optimiser is made of again.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    bounds: Vec<(f64, f64)>,
    settings: Settings,
    capacity: u32,
    log: Vec<LogEntry<f64>>,
}

/// Ask and tell over a box; it maximises.
#[pyclass(module = "sordino._native")]
pub struct Optimizer {
    state: State,
    inner: optimizer::Optimizer<f64, Vec<f64>>,
}

fn refused(error: OptimizerError) -> PyErr {
    error::input(error)
}

impl State {
    fn made(self) -> PyResult<Optimizer> {
        let domain = BoxDomain::new(&self.bounds).map_err(error::input)?;
        let capacity = self.capacity as usize;
        let storage = vec![0.0; optimizer::storage_len(domain.dim(), capacity)];
        let log = self.log.iter().cloned();
        let inner = optimizer::Optimizer::resume(domain, self.settings, capacity, storage, log).map_err(refused)?;
        Ok(Optimizer { state: self, inner })
    }
}

fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    let mut frame = Frame::leaf();
    frame.bytes(bytes);
    frame.end().0
}

#[pymethods]
impl Optimizer {
    /// Nothing observed yet.
    #[new]
    fn new(
        bounds: Vec<(f64, f64)>,
        capacity: i64,
        kernel: &str,
        lengthscale: f64,
        noise_fraction: f64,
        initial_points: i64,
        confidence_width: Option<f64>,
        when_full: &str,
    ) -> PyResult<Self> {
        let settings = Settings {
            shape: error::named("kernel", kernel, &KERNELS)?,
            lengthscale,
            noise_fraction,
            initial_points: error::whole("initial_points", initial_points, 0, INITIAL_MAX)?,
            acquisition: confidence_width
                .map_or(Acquisition::ExpectedImprovement, |width| Acquisition::UpperConfidenceBound { width }),
            search: None,
            when_full: error::named("when_full", when_full, &WHEN_FULL)?,
        };
        let capacity = error::whole("capacity", capacity, 1, CAPACITY_MAX)?;
        State { bounds, settings, capacity, log: Vec::new() }.made()
    }

    /// The point to try next.
    fn suggest(&mut self, py: Python<'_>) -> PyResult<Vec<f64>> {
        py.detach(|| self.inner.suggest()).map(|point| point.to_vec()).map_err(refused)
    }

    /// Tells the value of a point.
    fn observe(&mut self, py: Python<'_>, point: Vec<f64>, value: f64) -> PyResult<()> {
        let (expected, given) = (self.state.bounds.len(), point.len());
        if given != expected {
            return Err(error::InputError::new_err(format!("a point of {given} numbers; admissible: {expected}")));
        }
        let entry = LogEntry::told(&point, value).map_err(refused)?;
        let observed = py.detach(|| self.inner.observe(&point, value));
        // Refused or not: what is suggested next depends on it.
        self.state.log.push(entry);
        observed.map(|_| ()).map_err(refused)
    }

    /// Fits lengthscale and noise to what was observed; false with fewer than three observations or equal values.
    fn fit(&mut self, py: Python<'_>) -> PyResult<bool> {
        let mut scratch = vec![0.0; optimizer::fit_scratch_len(self.inner.len())];
        let found = py.detach(|| self.inner.fit(&mut scratch)).map_err(refused)?;
        if found.is_some() {
            self.state.log.push(LogEntry::Fitted(self.inner.parameters()));
        }
        Ok(found.is_some())
    }

    /// The observed point of largest posterior mean, and that mean.
    fn best(&mut self) -> Option<(Vec<f64>, f64)> {
        self.inner.best().map(|(point, mean)| (point.to_vec(), mean))
    }

    /// Bounds, observations in use, refused ones, lengthscale, noise fraction, capacity.
    fn facts(&self) -> (Vec<(f64, f64)>, usize, u32, f64, f64, u32) {
        let Optimizer { state, inner } = self;
        let bounds = state.bounds.clone();
        (bounds, inner.len(), inner.refused(), inner.lengthscale(), inner.noise_fraction(), state.capacity)
    }

    /// Everything, as bytes: a mark, a digest, settings and core's log.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let body = postcard::to_allocvec(&self.state).map_err(error::failure)?;
        Ok(PyBytes::new(py, &[MARK, &digest(&body), &body].concat()))
    }

    /// The optimiser of such bytes: its suggestions are, bit for bit, those of the one that was saved.
    #[staticmethod]
    fn restore(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let rest =
            bytes.strip_prefix(MARK).ok_or_else(|| error::input("these bytes are no optimizer of this version"))?;
        let (found, body) =
            rest.split_first_chunk::<DIGEST>().ok_or_else(|| error::input("these bytes end too soon"))?;
        if *found != digest(body) {
            return Err(error::input("these bytes are damaged: their digest differs"));
        }
        let state: State = postcard::from_bytes(body).map_err(error::input)?;
        error::whole("capacity", i64::from(state.capacity), 1, CAPACITY_MAX)?;
        py.detach(|| state.made())
    }
}
