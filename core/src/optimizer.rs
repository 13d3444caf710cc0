//! Plain Bayesian optimisation, without privacy: ask for a point, tell its value.
//!
//! What a newcomer needs in ten lines, on a host and on a device: an exact posterior over a box, whose mean and scale
//! follow the data, maximised by expected improvement. The state is the storage and a few words; the same observations
//! give the same suggestions everywhere.

use crate::acquisition::maximize::{self, BoxSearch};
use crate::acquisition::{log_expected_improvement, upper_confidence_bound};
use crate::domain::{BoxDomain, DIM_MAX};
use crate::kernel::{Kernel, KernelError, Stationary, StationaryKernel};
use crate::linalg::{dot, lower, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::exact::{self, ExactGp, WhenFull};
use crate::surrogate::fit::{self, Fit, FitConfig, Observations, halton};
use crate::surrogate::{Observed, SurrogateError};

/// A point in the user's units.
pub type Point<T> = heapless::Vec<T, DIM_MAX>;

/// What is maximised to find the next point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Acquisition {
    /// Expected improvement over the best posterior mean at an observed point.
    ExpectedImprovement,
    /// Mean + width · standard deviation.
    UpperConfidenceBound {
        /// Multiplies the standard deviation; 2 is usual.
        width: f64,
    },
}

/// Settings; [`Settings::default`] is meant to be good enough for a first run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Smoothness of the function; Matérn 5/2.
    pub shape: Stationary,
    /// Lengthscale as a fraction of each side of the box; 0.25, until [`Optimizer::fit`] finds better.
    pub lengthscale: f64,
    /// Noise variance as a fraction of the function's variance; 1e-4.
    pub noise_fraction: f64,
    /// Points of a Halton sequence that are tried first; 0 means 2 per axis and 2 more.
    pub initial_points: u32,
    /// Expected improvement.
    pub acquisition: Acquisition,
    /// Budget of a suggestion; `None`: [`BoxSearch::for_dim`].
    pub search: Option<BoxSearch>,
    /// Refuse, or forget the oldest.
    pub when_full: WhenFull,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            shape: Stationary::Matern52,
            lengthscale: 0.25,
            noise_fraction: 1e-4,
            initial_points: 0,
            acquisition: Acquisition::ExpectedImprovement,
            search: None,
            when_full: WhenFull::Refuse,
        }
    }
}

/// Why an optimiser refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptimizerError {
    /// A lengthscale that is not positive and finite.
    Kernel(KernelError),
    /// The surrogate refuses: storage, noise, capacity, numbers.
    Surrogate(SurrogateError),
}

impl From<KernelError> for OptimizerError {
    fn from(error: KernelError) -> Self {
        OptimizerError::Kernel(error)
    }
}

impl From<SurrogateError> for OptimizerError {
    fn from(error: SurrogateError) -> Self {
        OptimizerError::Surrogate(error)
    }
}

impl core::fmt::Display for OptimizerError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            OptimizerError::Kernel(error) => error.fmt(f),
            OptimizerError::Surrogate(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for OptimizerError {}

/// Numbers of storage for `dim` axes and at most `capacity` observations.
pub const fn storage_len(dim: usize, capacity: usize) -> usize {
    exact::storage_len(dim, capacity) + 2 * capacity + maximize::scratch_len(dim) + 2 * dim
}

/// Numbers of scratch for [`Optimizer::fit`] with `observations` observations.
pub const fn fit_scratch_len(observations: usize) -> usize {
    fit::scratch_len(observations) + 2 * observations
}

/// Ask and tell over a box. It maximises.
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, Settings}};
/// let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)])?;
/// let storage = vec![0.0f64; optimizer::storage_len(2, 40)];
/// let mut optimizer = Optimizer::new(domain, Settings::default(), 40, storage)?;
/// for _ in 0..30 {
///     let x = optimizer.suggest()?;
///     optimizer.observe(&x, -(x[0] - 3.0).powi(2) - (x[1] - 2.0).powi(2))?;
/// }
/// let (best, _) = optimizer.best().ok_or("nothing observed")?;
/// assert!((best[0] - 3.0).abs() < 0.2 && (best[1] - 2.0).abs() < 0.2, "{best:?}");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Optimizer<T, S> {
    domain: BoxDomain,
    settings: Settings,
    lengthscale: T,
    noise_fraction: T,
    capacity: usize,
    len: usize,
    storage: S,
}

struct Parts<'a, T> {
    /// Of the exact posterior.
    model: &'a mut [T],
    /// L⁻¹(y − mean of y).
    whitened: &'a mut [T],
    /// L⁻¹k(x).
    column: &'a mut [T],
    search: &'a mut [T],
    point: &'a mut [T],
    incumbent: &'a mut [T],
}

fn split<T>(storage: &mut [T], dim: usize, capacity: usize) -> Parts<'_, T> {
    let (model, rest) = storage.split_at_mut(exact::storage_len(dim, capacity));
    let (whitened, rest) = rest.split_at_mut(capacity);
    let (column, rest) = rest.split_at_mut(capacity);
    let (search, rest) = rest.split_at_mut(maximize::scratch_len(dim));
    let (point, rest) = rest.split_at_mut(dim);
    Parts { model, whitened, column, search, point, incumbent: &mut rest[..dim] }
}

type Model<'a, T> = ExactGp<T, StationaryKernel<T>, &'a mut [T]>;

/// What the data say about mean and scale, and the best point so far.
struct Level<T> {
    mean: T,
    variance: T,
    incumbent: usize,
    /// Its posterior mean.
    value: T,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Nothing observed yet; room for `capacity` observations in `storage` of [`storage_len`].
    ///
    /// **Errors**: [`OptimizerError`].
    pub fn new(domain: BoxDomain, settings: Settings, capacity: usize, storage: S) -> Result<Self, OptimizerError> {
        let (needed, given) = (storage_len(domain.dim(), capacity), storage.as_ref().len());
        if given < needed {
            return Err(SurrogateError::Storage { needed, given }.into());
        }
        let mut optimizer = Optimizer {
            domain,
            settings,
            lengthscale: T::from_f64(settings.lengthscale),
            noise_fraction: T::from_f64(settings.noise_fraction),
            capacity,
            len: 0,
            storage,
        };
        optimizer.parts()?;
        Ok(optimizer)
    }

    /// Observations in use.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Nothing observed yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lengthscale in use, as a fraction of each side of the box.
    pub fn lengthscale(&self) -> T {
        self.lengthscale
    }

    /// Noise variance in use, as a fraction of the function's variance.
    pub fn noise_fraction(&self) -> T {
        self.noise_fraction
    }

    /// The point to try next, in the user's units. Asking again without telling gives the same point.
    ///
    /// **Errors**: [`OptimizerError`]. **Cost**: at most [`BoxSearch`]'s evaluations of n² flops each; no random draw.
    pub fn suggest(&mut self) -> Result<Point<T>, OptimizerError> {
        let dim = self.domain.dim();
        let initial = match self.settings.initial_points {
            0 => 2 * dim + 2,
            points => points as usize,
        };
        let (len, settings) = (self.len, self.settings);
        let (mut gp, rest) = self.parts()?;
        if len < initial {
            rest.point.iter_mut().enumerate().for_each(|(axis, x)| *x = halton(len as u32 + 1, axis));
        } else {
            let level = level(&mut gp, rest.whitened, rest.column);
            let (whitened, column) = (&rest.whitened[..len], &mut rest.column[..len]);
            rest.incumbent.copy_from_slice(&gp.inputs()[level.incumbent * dim..][..dim]);
            let acquisition = |x: &[T]| {
                gp.kernel().covariances(x, gp.inputs(), column);
                lower::solve(gp.factor(), column);
                let mean = level.mean + dot(column, whitened);
                let variance = level.variance * (T::ONE - sum_of_squares(column)).max(T::ZERO);
                match settings.acquisition {
                    Acquisition::ExpectedImprovement => {
                        T::from_f64(log_expected_improvement::value(mean, variance, level.value))
                    }
                    Acquisition::UpperConfidenceBound { width } => {
                        upper_confidence_bound::bound(mean, variance, T::from_f64(width))
                    }
                }
            };
            let search = settings.search.unwrap_or(BoxSearch::for_dim(dim));
            maximize::over_box(search, rest.incumbent, rest.point, rest.search, acquisition);
        }
        let mut unit: Point<T> = Point::new();
        unit.extend_from_slice(rest.point).unwrap_or(());
        Ok(self.to_user(&unit))
    }

    /// Tells the value of a point, a suggested one or any other of the box (outside it the model still holds).
    ///
    /// **Errors**: [`OptimizerError`]; what is not finite is refused and nothing has changed.
    pub fn observe(&mut self, point: &[T], value: T) -> Result<Observed, OptimizerError> {
        let dim = self.domain.dim();
        if point.len() != dim {
            return Err(SurrogateError::Dimension { expected: dim, given: point.len() }.into());
        }
        let unit: Point<T> = point
            .iter()
            .enumerate()
            .map(|(axis, x)| T::from_f64(self.domain.to_unit(axis, x.to_f64()).unwrap_or(f64::NAN)))
            .collect();
        let (mut gp, _) = self.parts()?;
        let observed = gp.observe(&unit, value)?;
        self.len = gp.len();
        Ok(observed)
    }

    /// The observed point of largest posterior mean, in the user's units, and that mean.
    pub fn best(&mut self) -> Option<(Point<T>, T)> {
        let dim = self.domain.dim();
        if self.len == 0 {
            return None;
        }
        let (mut gp, rest) = self.parts().ok()?;
        let level = level(&mut gp, rest.whitened, rest.column);
        let mut unit: Point<T> = Point::new();
        unit.extend_from_slice(&gp.inputs()[level.incumbent * dim..][..dim]).ok()?;
        Some((self.to_user(&unit), level.value))
    }

    /// Refits lengthscale and noise by maximum marginal likelihood: three starts of 40 evaluations.
    ///
    /// **Parameters**: `scratch` of [`fit_scratch_len`].
    ///
    /// **Errors**: [`OptimizerError`]; the parameters are as they were. Fewer than three observations change nothing and
    /// give `None`.
    ///
    /// **Cost**: up to 120 n³ flops.
    pub fn fit(&mut self, scratch: &mut [T]) -> Result<Option<Fit<T>>, OptimizerError> {
        let (n, dim, capacity) = (self.len, self.domain.dim(), self.capacity);
        if n < 3 {
            return Ok(None);
        }
        let (needed, given) = (fit_scratch_len(n), scratch.len());
        if given < needed {
            return Err(SurrogateError::Storage { needed, given }.into());
        }
        let (y, scratch) = scratch.split_at_mut(n);
        let (scatters, scratch) = scratch.split_at_mut(n);
        let (gp, _) = self.parts()?;
        let count = T::from_u32(n as u32);
        let mean = gp.targets().iter().fold(T::ZERO, |sum, y| sum + *y / count);
        let deviation = gp.targets().iter().fold(T::ZERO, |sum, y| sum + (*y - mean) * (*y - mean) / count).sqrt();
        if !(deviation > T::ZERO) {
            return Ok(None);
        }
        y.iter_mut().zip(gp.targets()).for_each(|(out, y)| *out = (*y - mean) / deviation);
        scatters.iter_mut().zip(gp.scatters()).for_each(|(out, scatter)| *out = *scatter / deviation / deviation);
        let data = Observations { points: gp.inputs(), y, counts: gp.counts(), scatters };
        let number = T::from_f64;
        let floor = number(if T::BYTES == 4 { 1e-4 } else { 1e-8 });
        let bounds = [(number(0.02), number(4.0)), (number(0.05), number(20.0)), (floor, T::ONE)];
        let config = FitConfig { bounds: &bounds, starts: 3, evaluations_per_start: 40 };
        let mut parameters = [gp.kernel().lengthscale(0), T::ONE, gp.noise_variance().max(floor)];
        let shape = *gp.kernel().shape();
        let make = |p: &[T]| match *p {
            [lengthscale, signal] => StationaryKernel::with_shape(shape, lengthscale, signal).ok(),
            _ => None,
        };
        let found = fit::maximize(&config, &mut parameters, &data, scratch, make)?;
        let [lengthscale, signal, noise] = parameters;
        // The same observations under the new parameters: rows are factored anew, averages of repeats stay rows.
        let kernel = StationaryKernel::with_shape(shape, lengthscale, T::ONE)?;
        let model = split(self.storage.as_mut(), dim, capacity).model;
        if let Err(error) = exact::refactor(&kernel, noise / signal, dim, capacity, n, model) {
            // Back to the parameters that are known to do.
            let kernel = StationaryKernel::with_shape(shape, self.lengthscale, T::ONE)?;
            exact::refactor(&kernel, self.noise_fraction, dim, capacity, n, model)?;
            return Err(error.into());
        }
        (self.lengthscale, self.noise_fraction) = (lengthscale, noise / signal);
        Ok(Some(found))
    }

    fn to_user(&self, unit: &[T]) -> Point<T> {
        let user = |(axis, x): (usize, &T)| T::from_f64(self.domain.from_unit(axis, x.to_f64()).unwrap_or(f64::NAN));
        unit.iter().enumerate().map(user).collect()
    }

    /// The model joined with its numbers, and the other buffers.
    fn parts(&mut self) -> Result<(Model<'_, T>, Rest<'_, T>), OptimizerError> {
        let kernel = StationaryKernel::with_shape(self.settings.shape, self.lengthscale, T::ONE)?;
        let dim = self.domain.dim();
        let Parts { model, whitened, column, search, point, incumbent } =
            split(self.storage.as_mut(), dim, self.capacity);
        let gp = ExactGp::resume(kernel, self.noise_fraction, dim, self.capacity, self.len, model)?
            .when_full(self.settings.when_full);
        Ok((gp, Rest { whitened, column, search, point, incumbent }))
    }
}

struct Rest<'a, T> {
    whitened: &'a mut [T],
    column: &'a mut [T],
    search: &'a mut [T],
    point: &'a mut [T],
    incumbent: &'a mut [T],
}

/// Mean m = average of y; scale (y − m)ᵀA⁻¹(y − m)/n, the likelihood's maximum given the rest; the observed point of
/// largest posterior mean yᵢ − σ²αᵢ/cᵢ.
fn level<T: Scalar>(gp: &mut Model<'_, T>, whitened: &mut [T], column: &mut [T]) -> Level<T> {
    let n = gp.len();
    let count = T::from_u32(n as u32);
    let mean = gp.targets().iter().fold(T::ZERO, |sum, y| sum + *y / count);
    let (whitened, alpha) = (&mut whitened[..n], &mut column[..n]);
    whitened.iter_mut().zip(gp.targets()).for_each(|(out, y)| *out = *y - mean);
    lower::solve(gp.factor(), whitened);
    alpha.copy_from_slice(whitened);
    lower::solve_transposed(gp.factor(), alpha);
    let scale = (sum_of_squares(whitened) / count).max(T::EPSILON * (mean * mean));
    let mut level = Level { mean, variance: scale, incumbent: 0, value: -T::INFINITY };
    for (i, ((y, alpha), repeats)) in gp.targets().iter().zip(alpha.iter()).zip(gp.counts()).enumerate() {
        let value = *y - gp.noise_variance() / *repeats * *alpha;
        if value > level.value {
            (level.incumbent, level.value) = (i, value);
        }
    }
    level
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn branin(x: f64, y: f64) -> f64 {
        use core::f64::consts::PI;
        let a = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
        a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * Scalar::cos(x) + 10.0
    }

    fn run<T: Scalar>(settings: Settings, rounds: usize, fit: bool) -> (f64, Vec<f64>) {
        let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)]).unwrap();
        let mut optimizer = Optimizer::new(domain, settings, 40, vec![T::ZERO; storage_len(2, 40)]).unwrap();
        let mut path = Vec::new();
        for round in 0..rounds {
            let x = optimizer.suggest().unwrap();
            assert_eq!(optimizer.suggest().unwrap(), x);
            let y = -branin(x[0].to_f64(), x[1].to_f64());
            optimizer.observe(&x, T::from_f64(y)).unwrap();
            path.extend([x[0].to_f64(), x[1].to_f64()]);
            if fit && round % 8 == 7 {
                optimizer.fit(&mut vec![T::ZERO; fit_scratch_len(40)]).unwrap();
            }
        }
        (optimizer.best().unwrap().1.to_f64(), path)
    }

    #[test]
    fn finds_branins_maximum_in_both_formats() {
        for (settings, fit) in [
            (Settings::default(), false),
            (Settings::default(), true),
            (Settings { acquisition: Acquisition::UpperConfidenceBound { width: 2.0 }, ..Settings::default() }, true),
        ] {
            let (best, path) = run::<f64>(settings, 36, fit);
            assert!(best > -0.6, "{settings:?} {fit}: {best}");
            assert_eq!(run::<f64>(settings, 36, fit), (best, path), "the same observations, the same suggestions");
        }
        let (best, _) = run::<f32>(Settings { noise_fraction: 1e-3, ..Settings::default() }, 36, false);
        assert!(best > -1.0, "{best}");
        // Negative control: the first points alone do not find it.
        assert!(run::<f64>(Settings::default(), 6, false).0 < -2.0);
    }

    #[test]
    fn nonsense_constants_and_capacity() {
        let domain = || BoxDomain::new(&[(0.0, 1.0)]).unwrap();
        assert!(Optimizer::new(domain(), Settings::default(), 4, vec![0.0f64; 3]).is_err());
        let broken = Settings { lengthscale: -1.0, ..Settings::default() };
        assert!(Optimizer::new(domain(), broken, 4, vec![0.0f64; storage_len(1, 4)]).is_err());
        let window = Settings { when_full: WhenFull::DropOldest, ..Settings::default() };
        let mut optimizer = Optimizer::new(domain(), window, 4, vec![0.0f64; storage_len(1, 4)]).unwrap();
        assert!(optimizer.best().is_none() && optimizer.fit(&mut []).unwrap().is_none());
        for _ in 0..12 {
            let x = optimizer.suggest().unwrap();
            assert!((0.0..=1.0).contains(&x[0]));
            optimizer.observe(&x, 3.0).unwrap();
        }
        assert_eq!(optimizer.len(), 4);
        assert!((optimizer.best().unwrap().1 - 3.0).abs() < 1e-6);
        assert!(optimizer.fit(&mut [0.0; fit_scratch_len(4)]).unwrap().is_none(), "a constant has no scale");
        assert!(optimizer.observe(&[f64::NAN], 0.0).is_err() && optimizer.observe(&[0.5], f64::NAN).is_err());
        assert!(optimizer.observe(&[0.5, 0.5], 0.0).is_err());
    }
}
