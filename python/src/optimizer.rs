//! Ask and tell: core's optimiser with the log that it is restored from.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Frame;
use sordino_core::domain::BoxDomain;
use sordino_core::kernel::Stationary;
use sordino_core::optimizer::{self, Acquisition, LogEntry, OptimizerError, Settings};
use sordino_core::surrogate::SurrogateError;
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

/// Ask and tell over a box; it maximises. Threads that ask at once wait for each other.
#[pyclass(module = "sordino._native", frozen)]
pub struct Optimizer(Mutex<Made>);

struct Made {
    state: State,
    inner: optimizer::Optimizer<f64, Vec<f64>>,
}

impl Optimizer {
    /// Does something with it when no other thread does, without the interpreter's lock, which that thread may want.
    fn held<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Made) -> T + Send) -> T {
        py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn refused(error: OptimizerError) -> PyErr {
    match error {
        OptimizerError::Surrogate(SurrogateError::Full { capacity }) => error::InputError::new_err(format!(
            "all {capacity} observations of the capacity are in use; admissible: an Optimizer with a larger capacity (1 to \
             {CAPACITY_MAX}), or with when_full=\"drop-oldest\""
        )),
        error => error::input(error),
    }
}

/// Refuses a point that is not one of the box, before it is written down anywhere.
fn inside(bounds: &[(f64, f64)], point: &[f64]) -> PyResult<()> {
    let (expected, given) = (bounds.len(), point.len());
    if given != expected {
        return Err(error::InputError::new_err(format!("a point of {given} numbers; admissible: {expected}")));
    }
    for (axis, (x, (low, high))) in point.iter().zip(bounds).enumerate() {
        // What is suggested is low + u·(high − low), which may round to the number above `high`.
        if !(x >= low && *x <= high.max(low + (high - low))) {
            let said = format!("point[{axis}] is {x}; admissible: {low} to {high}, the box of this optimizer");
            return Err(error::InputError::new_err(said));
        }
    }
    Ok(())
}

impl State {
    fn made(self) -> PyResult<Optimizer> {
        let domain = BoxDomain::new(&self.bounds).map_err(error::input)?;
        let capacity = self.capacity as usize;
        let storage = vec![0.0; optimizer::storage_len(domain.dim(), capacity)];
        let log = self.log.iter().cloned();
        let inner = optimizer::Optimizer::resume(domain, self.settings, capacity, storage, log).map_err(refused)?;
        Ok(Optimizer(Mutex::new(Made { state: self, inner })))
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
    fn suggest(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.held(py, |made| made.inner.suggest().map(|point| point.to_vec())).map_err(refused)
    }

    /// Tells the value of a point of the box.
    fn observe(&self, py: Python<'_>, point: Vec<f64>, value: f64) -> PyResult<()> {
        self.held(py, |made| {
            inside(&made.state.bounds, &point)?;
            let entry = LogEntry::told(&point, value).map_err(refused)?;
            let observed = made.inner.observe(&point, value);
            // Refused or not: what is suggested next depends on it.
            made.state.log.push(entry);
            observed.map(|_| ()).map_err(refused)
        })
    }

    /// Fits lengthscale and noise to what was observed; false with fewer than three observations or equal values.
    fn fit(&self, py: Python<'_>) -> PyResult<bool> {
        self.held(py, |made| {
            let mut scratch = vec![0.0; optimizer::fit_scratch_len(made.inner.len())];
            let found = made.inner.fit(&mut scratch).map_err(refused)?;
            if found.is_some() {
                made.state.log.push(LogEntry::Fitted(made.inner.parameters()));
            }
            Ok(found.is_some())
        })
    }

    /// The observed point of largest posterior mean, and that mean.
    fn best(&self, py: Python<'_>) -> Option<(Vec<f64>, f64)> {
        self.held(py, |made| made.inner.best().map(|(point, mean)| (point.to_vec(), mean)))
    }

    /// Bounds, observations in use, refused ones, lengthscale, noise fraction, capacity.
    fn facts(&self, py: Python<'_>) -> (Vec<(f64, f64)>, usize, u32, f64, f64, u32) {
        self.held(py, |Made { state, inner }| {
            let bounds = state.bounds.clone();
            (bounds, inner.len(), inner.refused(), inner.lengthscale(), inner.noise_fraction(), state.capacity)
        })
    }

    /// Everything, as bytes: a mark, a digest, settings and core's log.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let body = self.held(py, |made| postcard::to_allocvec(&made.state)).map_err(error::failure)?;
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
