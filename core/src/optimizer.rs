//! Plain Bayesian optimisation, without privacy: ask for a point, tell its value.
//!
//! What a newcomer needs in ten lines, on a host and on a device: an exact posterior over a box, whose mean and scale
//! follow the data, maximised by expected improvement. The state is the storage and a few words; the same observations
//! and fits give the same suggestions everywhere, also after a restart ([`Optimizer::resume`]).
//!
//! **Numerics**: the noise fraction in use is never below [`Optimizer::noise_floor`], 4(n + 8)·ε at a capacity of n, nor
//! is a row's noise, however often it was repeated: below that the format does not resolve what the other rows leave of a
//! row. Twice the floor of variance left at a point counts as none. In `f64` the floor is 1e-13 at 100 observations and
//! acts on nothing; in `f32` it is 5e-5. What that costs, median regret of 16 shifts each after 60 exact values with fits
//! (a wave, Branin, a bowl, Hartmann 3, ranges 1 to 6): 1e-6 to 1e-4 in one and two dimensions where `f64` comes to 1e-10
//! to 3e-6, and 0.002 to 0.01 in three where `f64` comes to 0.001 to 0.005; at values with noise of 0.01 the point that
//! [`Optimizer::best`] names is as good as in `f64` or better in seven of eight settings.
//!
//! **Example**: that of [`Optimizer`].

mod error;
mod log;
mod refit;
mod settings;
mod suggest;
#[cfg(test)]
mod tests;
mod work;

pub use error::OptimizerError;
pub use log::{LogEntry, Parameters};
pub use settings::{Acquisition, Settings};

use self::work::{Level, Work};
use crate::acquisition::maximize;
use crate::domain::{BoxDomain, DIM_MAX, DomainError, collected};
use crate::kernel::StationaryKernel;
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{lower, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::exact::{self, ExactGp, WhenFull};
use crate::surrogate::fit;
use crate::surrogate::noise::least_resolved;
use crate::surrogate::{Observed, SurrogateError};

/// A point in the user's units.
pub type Point<T> = heapless::Vec<T, DIM_MAX>;

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
///
/// On a device, storage is an array of a `static`: lent, never moved over the stack. Every error of the loop goes into
/// [`OptimizerError`]:
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, OptimizerError, Settings}};
/// const CAPACITY: usize = 20;
/// const STORAGE: usize = optimizer::storage_len(1, CAPACITY);
/// const SCRATCH: usize = optimizer::fit_scratch_len(CAPACITY);
///
/// fn tune(storage: &mut [f32; STORAGE], scratch: &mut [f32; SCRATCH]) -> Result<f32, OptimizerError> {
///     let domain = BoxDomain::new(&[(0.0, 1.0)])?;
///     let mut optimizer = Optimizer::new(domain, Settings::default(), CAPACITY, &mut storage[..])?;
///     for round in 1..=CAPACITY {
///         let x = optimizer.suggest()?;
///         optimizer.observe(&x, 1.0 - (x[0] - 0.3) * (x[0] - 0.3))?;
///         if round % 5 == 0 {
///             optimizer.fit(&mut scratch[..])?;
///         }
///     }
///     Ok(optimizer.best().map_or(0.5, |(point, _)| point[0]))
/// }
///
/// # fn main() -> Result<(), OptimizerError> {
/// # let (storage, scratch) = (&mut [0.0; STORAGE], &mut [0.0; SCRATCH]); // of a `static_cell::StaticCell`, say
/// let best = tune(storage, scratch)?;
/// assert!((best - 0.3).abs() < 0.05, "{best}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Optimizer<T, S> {
    domain: BoxDomain,
    settings: Settings,
    /// The noise fraction is at least the floor.
    parameters: Parameters<T>,
    capacity: usize,
    len: usize,
    /// Observations accepted, those that were merged or forgotten since too.
    told: u32,
    /// Observations refused.
    refused: u32,
    /// The last one was.
    last_refused: bool,
    /// Nothing was told since the last fit.
    fitted: bool,
    work: Work<T>,
    storage: S,
}

struct Parts<'a, T> {
    /// Of the exact posterior.
    model: &'a mut [T],
    /// L⁻¹(y − mean of y).
    whitened: &'a mut [T],
    /// The solved column L⁻¹k(x) of a candidate.
    column: &'a mut [T],
    search: &'a mut [T],
    point: &'a mut [T],
    incumbent: &'a mut [T],
}

fn split<T>(storage: &mut [T], dim: usize, capacity: usize) -> Parts<'_, T> {
    let (model, rest) = slice::split(storage, exact::storage_len(dim, capacity));
    let (whitened, rest) = slice::split(rest, capacity);
    let (column, rest) = slice::split(rest, capacity);
    let (search, rest) = slice::split(rest, maximize::scratch_len(dim));
    let (point, rest) = slice::split(rest, dim);
    Parts { model, whitened, column, search, point, incumbent: head_mut(rest, dim) }
}

type Model<'a, T> = ExactGp<T, StationaryKernel<T>, &'a mut [T]>;

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Nothing observed yet; room for `capacity` observations in `storage` of [`storage_len`].
    ///
    /// **Errors**: [`OptimizerError`].
    pub fn new(domain: BoxDomain, settings: Settings, capacity: usize, storage: S) -> Result<Self, OptimizerError> {
        let (needed, given) = (storage_len(domain.dim(), capacity), storage.as_ref().len());
        if given < needed {
            return Err(SurrogateError::Storage { needed, given }.into());
        }
        domain.check_format::<T>()?;
        if let Acquisition::UpperConfidenceBound { width } = settings.acquisition
            && !T::from_f64(width).is_finite()
        {
            return Err(OptimizerError::Width { width });
        }
        let noise = T::from_f64(settings.noise_fraction);
        // Not `noise >= 0`, which compilers turn into a comparison of the f64.
        if !(noise.abs() == noise && noise.is_finite()) {
            return Err(SurrogateError::NoiseVariance { value: settings.noise_fraction }.into());
        }
        let mut optimizer = Optimizer {
            domain,
            parameters: unfitted(&settings, capacity),
            settings,
            capacity,
            len: 0,
            told: 0,
            refused: 0,
            last_refused: false,
            fitted: false,
            work: Work::None,
            storage,
        };
        optimizer.parts()?;
        Ok(optimizer)
    }

    /// The optimiser that was told and fitted what `log` says, oldest first, under the same domain, settings and
    /// capacity: its suggestions are, bit for bit, those of the one that wrote the log.
    ///
    /// A program asks [`Optimizer::check`], writes a [`LogEntry`], tells the point, and writes one after every fit. What was
    /// refused when the log was written is refused again; [`Optimizer::refused`] counts it.
    ///
    /// **Errors**: as [`Optimizer::new`]; [`SurrogateError::Dimension`] for a point of another box; for fitted parameters
    /// that cannot be those of this optimiser [`OptimizerError::Kernel`], [`SurrogateError::Unresolved`] or
    /// [`SurrogateError::Singular`].
    ///
    /// **Cost**: n² flops an observation, n³/3 a fit; no search.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, LogEntry, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 20.0)])?;
    /// let storage = || vec![0.0f32; optimizer::storage_len(1, 20)];
    /// let (mut optimizer, mut log) = (Optimizer::new(domain.clone(), Settings::default(), 20, storage())?, vec![]);
    /// for round in 1..=12 {
    ///     let x = optimizer.suggest()?;
    ///     let y = -(x[0] - 6.5) * (x[0] - 6.5);
    ///     log.push(LogEntry::told(&x, y)?);
    ///     optimizer.observe(&x, y)?;
    ///     if round == 8 && optimizer.fit(&mut vec![0.0; optimizer::fit_scratch_len(8)])?.is_some() {
    ///         log.push(LogEntry::Fitted(optimizer.parameters()));
    ///     }
    /// }
    /// let mut resumed = Optimizer::resume(domain, Settings::default(), 20, storage(), log)?;
    /// assert_eq!(resumed.suggest()?, optimizer.suggest()?);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn resume(
        domain: BoxDomain,
        settings: Settings,
        capacity: usize,
        storage: S,
        log: impl IntoIterator<Item = LogEntry<T>>,
    ) -> Result<Self, OptimizerError> {
        let mut optimizer = Self::new(domain, settings, capacity, storage)?;
        optimizer.replay(log)?;
        Ok(optimizer)
    }

    /// Forgets everything and becomes the optimiser that [`Optimizer::resume`] makes of `log`, in the same storage.
    ///
    /// A program whose flash has no room for a whole log keeps the end of it, behind one [`LogEntry::Forgotten`] and the
    /// last fit, and replays that whenever it drops an entry: then a reset changes nothing.
    ///
    /// **Errors**: as [`Optimizer::resume`]. What was replayed until then stays.
    pub fn replay(&mut self, log: impl IntoIterator<Item = LogEntry<T>>) -> Result<(), OptimizerError> {
        self.parameters = unfitted(&self.settings, self.capacity);
        (self.len, self.told, self.refused, self.last_refused, self.fitted) = (0, 0, 0, false, false);
        self.work = Work::None;
        for entry in log {
            match entry {
                LogEntry::Told { point, value } => {
                    let observed = self.observe(&point, value);
                    // Any other refusal happened when the log was written as well.
                    if let Err(error @ OptimizerError::Surrogate(SurrogateError::Dimension { .. })) = observed {
                        return Err(error);
                    }
                }
                LogEntry::Fitted(parameters) => self.adopt(parameters)?,
                LogEntry::Forgotten { observations } => self.told = self.told.saturating_add(observations),
            }
        }
        Ok(())
    }

    /// Observations in use.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no observation yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Observations that were accepted since the beginning, those that repeated another or were forgotten since too.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// Whether a fit came after the last accepted observation, also one that found nothing to change. It is kept by
    /// [`Optimizer::resume`]: a program that fits at every eighth observation asks for `told() % 8 == 0 && !just_fitted()`,
    /// and a reset between the observation and the fit neither loses the fit nor makes it twice.
    pub fn just_fitted(&self) -> bool {
        self.fitted
    }

    /// Observations that were refused since the beginning.
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// Lengthscale in use, as a fraction of each side of the box.
    pub fn lengthscale(&self) -> T {
        self.parameters.lengthscale
    }

    /// Noise variance in use, as a fraction of the function's variance.
    pub fn noise_fraction(&self) -> T {
        self.parameters.noise_fraction
    }

    /// Both, for a log: see [`Optimizer::resume`].
    pub fn parameters(&self) -> Parameters<T> {
        self.parameters
    }

    /// The least noise fraction that the format resolves at this capacity: 4(capacity + 8)·ε. Smaller ones are raised.
    pub fn noise_floor(&self) -> T {
        least_resolved(self.capacity)
    }

    /// Whether [`Optimizer::observe`] would take this point and value at the door. A program that writes a log asks
    /// before it writes; the few observations that pass and are then refused (a value whose square overflows beside the
    /// others) belong into the log all the same.
    ///
    /// **Errors**: [`SurrogateError::Dimension`], [`SurrogateError::NonFinite`], [`DomainError::Outside`] with axis, value
    /// and range, [`SurrogateError::Full`] unless the oldest may go.
    ///
    /// ```
    /// use sordino_core::domain::{BoxDomain, DomainError};
    /// use sordino_core::optimizer::{self, Optimizer, OptimizerError, Settings};
    /// let domain = BoxDomain::new(&[(0.0, 1.0), (10.0, 20.0)])?;
    /// let optimizer = Optimizer::new(domain, Settings::default(), 4, vec![0.0; optimizer::storage_len(2, 4)])?;
    /// assert_eq!(optimizer.check(&[0.5, 15.0], 1.0), Ok(()));
    /// let outside = DomainError::Outside { axis: 1, value: 2.0, low: 10.0, high: 20.0 };
    /// assert_eq!(optimizer.check(&[0.5, 2.0], 1.0), Err(OptimizerError::Domain(outside)));
    /// # Ok::<(), OptimizerError>(())
    /// ```
    pub fn check(&self, point: &[T], value: T) -> Result<(), OptimizerError> {
        let (expected, given) = (self.domain.dim(), point.len());
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        if let Some(number) = point.iter().chain(core::iter::once(&value)).find(|number| !number.is_finite()) {
            return Err(SurrogateError::NonFinite { value: number.to_f64() }.into());
        }
        self.domain.contains(point)?;
        if self.len == self.capacity && self.settings.when_full == WhenFull::Refuse {
            return Err(SurrogateError::Full { capacity: self.capacity }.into());
        }
        Ok(())
    }

    /// Tells the value of a point, a suggested one or any other of the box.
    ///
    /// **Errors**: [`OptimizerError`]. A point outside the box ([`DomainError::Outside`]) changes nothing: it is not one
    /// that was asked for. After any other refusal the model is as it was, except that a sliding window may have forgotten
    /// its oldest observation, and the next suggestion is another one.
    pub fn observe(&mut self, point: &[T], value: T) -> Result<Observed, OptimizerError> {
        let checked = self.check(point, value);
        if let Err(error @ OptimizerError::Domain(DomainError::Outside { .. })) = checked {
            return Err(error);
        }
        self.work = Work::None;
        let observed = checked.and_then(|()| self.tell(point, value));
        self.last_refused = observed.is_err();
        self.fitted &= self.last_refused;
        let counter = if self.last_refused { &mut self.refused } else { &mut self.told };
        *counter = counter.saturating_add(1);
        observed
    }

    fn tell(&mut self, point: &[T], value: T) -> Result<Observed, OptimizerError> {
        let in_box = |(axis, x): (usize, &T)| self.domain.to_unit(axis, *x).unwrap_or(T::INFINITY);
        let unit: Point<T> = collected(point.iter().enumerate().map(in_box));
        let (mut gp, _) = self.parts()?;
        let observed = gp.observe(&unit, value);
        // Also after a refusal: a sliding window has dropped a row before it.
        self.len = gp.len();
        Ok(observed?)
    }

    /// The observed point of largest posterior mean, in the user's units, and that mean.
    pub fn best(&mut self) -> Option<(Point<T>, T)> {
        let dim = self.domain.dim();
        if self.len == 0 {
            return None;
        }
        // The same numbers as those a suggestion under way holds there.
        let (mut gp, rest) = self.parts().ok()?;
        let level = level(&mut gp, rest.whitened, rest.column);
        let mut unit: Point<T> = Point::new();
        unit.extend_from_slice(part(gp.inputs(), level.incumbent * dim, dim)).ok()?;
        Some((self.to_user(&unit), level.value))
    }

    /// The parameters of an earlier fit. If they are refused the model is lost.
    fn adopt(&mut self, fitted: Parameters<T>) -> Result<(), OptimizerError> {
        let (n, dim, capacity, least) = (self.len, self.domain.dim(), self.capacity, self.noise_floor());
        let Parameters { lengthscale, noise_fraction } = fitted;
        let kernel = StationaryKernel::with_shape(self.settings.shape, lengthscale, T::ONE)?;
        if noise_fraction < least {
            let (noise_variance, smallest) = (noise_fraction.to_f64(), least.to_f64());
            return Err(SurrogateError::Unresolved { noise_variance, smallest }.into());
        }
        let model = split(self.storage.as_mut(), dim, capacity).model;
        exact::refactor_in_place(&kernel, noise_fraction, least, dim, capacity, n, model)?;
        (self.parameters, self.fitted) = (fitted, true);
        Ok(())
    }

    fn to_user(&self, unit: &[T]) -> Point<T> {
        let user = |(axis, x): (usize, &T)| self.domain.from_unit(axis, *x).unwrap_or(T::INFINITY);
        collected(unit.iter().enumerate().map(user))
    }

    /// The model joined with its numbers, and the other buffers.
    fn parts(&mut self) -> Result<(Model<'_, T>, Rest<'_, T>), OptimizerError> {
        let Parameters { lengthscale, noise_fraction } = self.parameters;
        let kernel = StationaryKernel::with_shape(self.settings.shape, lengthscale, T::ONE)?;
        let dim = self.domain.dim();
        let Parts { model, whitened, column, search, point, incumbent } =
            split(self.storage.as_mut(), dim, self.capacity);
        let gp = ExactGp::resume(kernel, noise_fraction, dim, self.capacity, self.len, model)?
            .with_noise_floor(least_resolved(self.capacity))?
            .when_full(self.settings.when_full);
        Ok((gp, Rest { whitened, column, search, point, incumbent }))
    }
}

/// What the settings say before any fit; the noise fraction is at least the floor.
fn unfitted<T: Scalar>(settings: &Settings, capacity: usize) -> Parameters<T> {
    Parameters {
        lengthscale: T::from_f64(settings.lengthscale),
        noise_fraction: T::from_f64(settings.noise_fraction).max(least_resolved(capacity)),
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
/// largest posterior mean yᵢ − σᵢ²αᵢ, σᵢ² the row's noise.
fn level<T: Scalar>(gp: &mut Model<'_, T>, whitened: &mut [T], column: &mut [T]) -> Level<T> {
    let n = gp.len();
    let count = T::from_u32(n as u32);
    let mean = gp.targets().iter().fold(T::ZERO, |sum, y| sum + *y / count);
    let (whitened, alpha) = (head_mut(whitened, n), head_mut(column, n));
    whitened.iter_mut().zip(gp.targets()).for_each(|(out, y)| *out = *y - mean);
    lower::solve(gp.factor(), whitened);
    slice::copy(whitened, alpha);
    lower::solve_transposed(gp.factor(), alpha);
    let scale = (sum_of_squares(whitened) / count).max(T::EPSILON * (mean * mean));
    let mut level = Level { mean, variance: scale, incumbent: 0, value: -T::INFINITY };
    for (i, (y, alpha)) in gp.targets().iter().zip(alpha.iter()).enumerate() {
        let value = *y - gp.row_noise(i) * *alpha;
        if value > level.value {
            (level.incumbent, level.value) = (i, value);
        }
    }
    level
}
