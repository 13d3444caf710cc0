//! The exact posterior of observations: core's engine for methods that users write.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sordino_core::kernel::{Ard, Stationary, StationaryKernel};
use sordino_core::linalg::packed_len;
use sordino_core::random::Stream;
use sordino_core::surrogate::exact::{batch_scratch_len, storage_len};
use sordino_core::surrogate::{ExactGp, joint};

use crate::error;

/// Memory is 4·n² bytes.
const CAPACITY_MAX: u32 = 10_000;

const KERNELS: [(&str, Stationary); 4] = [
    ("squared-exponential", Stationary::SquaredExponential),
    ("matern-1/2", Stationary::Matern12),
    ("matern-3/2", Stationary::Matern32),
    ("matern-5/2", Stationary::Matern52),
];

/// Points of one joint draw: its covariance has half as many numbers as their square, and m³/3
/// operations factor it.
const DRAWN_MAX: usize = 5_000;

type Engine = ExactGp<f64, StationaryKernel<f64, Ard<Vec<f64>>>, Vec<f64>>;

/// Mean, standard deviation and joint draws given observations. Threads that ask at once wait for
/// each other.
#[pyclass(module = "sordino._native", frozen)]
pub struct Posterior(Mutex<Engine>);

impl Posterior {
    /// Does something with the engine when no other thread does, without the interpreter's lock.
    fn held<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Engine) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// The number of points in a flat list.
fn count(points: &[f64], dim: usize) -> PyResult<usize> {
    if points.len().is_multiple_of(dim) {
        return Ok(points.len() / dim);
    }
    Err(error::InputError::new_err(format!(
        "{} coordinates are no whole number of points of {dim}",
        points.len()
    )))
}

#[pymethods]
impl Posterior {
    /// The posterior of as many values as there are points in the flat list, with a lengthscale for
    /// each coordinate.
    #[new]
    fn new(
        py: Python<'_>,
        points: Vec<f64>,
        values: Vec<f64>,
        lengthscales: Vec<f64>,
        signal_variance: f64,
        noise_variance: f64,
        prior_mean: f64,
        kernel: &str,
    ) -> PyResult<Self> {
        let shape = error::named("kernel", kernel, &KERNELS)?;
        let dim = lengthscales.len();
        let observations = values.len();
        if dim == 0 || count(&points, dim)? != observations {
            let said = format!(
                "{} coordinates, {observations} values, {dim} lengthscales",
                points.len()
            );
            return Err(error::InputError::new_err(format!(
                "{said}; admissible: a value for each point"
            )));
        }
        if observations > CAPACITY_MAX as usize {
            let said = format!("{observations} observations; admissible: at most {CAPACITY_MAX}");
            return Err(error::InputError::new_err(said));
        }
        let kernel = StationaryKernel::ard_with_shape(shape, lengthscales, signal_variance)
            .map_err(error::input)?;
        py.detach(|| {
            let storage = vec![0.0; storage_len(dim, observations)];
            let engine = ExactGp::new(kernel, noise_variance, dim, observations, storage);
            let mut engine = engine
                .and_then(|engine| engine.with_prior_mean(prior_mean))
                .map_err(error::input)?;
            for (point, value) in points.chunks_exact(dim).zip(&values) {
                engine.observe(point, *value).map_err(error::input)?;
            }
            Ok(Posterior(Mutex::new(engine)))
        })
    }

    /// Posterior mean and variance of the function, without noise, at each point of a flat list.
    fn moments(&self, py: Python<'_>, points: Vec<f64>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        self.held(py, |engine| {
            let asked = count(&points, engine.dim())?;
            let mut mean = vec![0.0; asked];
            let mut variance = vec![0.0; asked];
            let mut scratch = vec![0.0; batch_scratch_len(engine.len())];
            engine
                .posteriors(&points, &mut mean, &mut variance, &mut scratch)
                .map_err(error::input)?;
            Ok((mean, variance))
        })
    }

    /// One function drawn from the posterior, at each point of a flat list.
    fn draw(&self, py: Python<'_>, points: Vec<f64>, seed: u64) -> PyResult<Vec<f64>> {
        self.held(py, |engine| {
            let asked = count(&points, engine.dim())?;
            if asked > DRAWN_MAX {
                let said =
                    format!("a joint draw at {asked} points; admissible: at most {DRAWN_MAX}");
                return Err(error::InputError::new_err(said));
            }
            let mut factor = vec![0.0; packed_len(asked)];
            let mut drawn = vec![0.0; asked];
            let mut scratch = vec![0.0; asked * engine.len() + asked];
            let stream = &mut Stream::from_seed(seed);
            joint::draw_exact(
                engine,
                &points,
                stream,
                &mut factor,
                &mut scratch,
                &mut drawn,
            )
            .map_err(error::input)?;
            Ok(drawn)
        })
    }
}
