//! Plain Bayesian optimisation, without privacy: ask for a point, tell its value.
//!
//! What a newcomer needs in ten lines, on a host and on a device, with nothing to choose. The model
//! is an exact posterior over a box with one lengthscale for each axis; mean, scale, lengthscales
//! and noise follow the data, the last two by maximum a posteriori under priors that grow with the
//! number of axes. It refits by itself. The next point is where the expected improvement is
//! largest, or where that promises next to nothing, every second time, elsewhere
//! ([`Optimizer::suggest`]). The state is the storage and a few words; the same observations give
//! the same suggestions everywhere, also after a restart ([`Optimizer::resume`]).
//!
//! **When it refits**: before a suggestion, once the initial points are told: after every value
//! until 2D + 16 are told, D axes, then at growing gaps, a quarter of what was told beyond 2D + 8.
//! A fit that is due is made before the next value is taken at the latest, so what was fitted is a
//! function of the values in their order and of nothing else. A log needs no entry for it; an entry
//! saves the time ([`Optimizer::take_fit`]).
//!
//! **Numerics**: the noise fraction in use is never below [`Optimizer::noise_floor`], 4(n + 8)·ε at
//! a capacity of n, nor is a row's noise, however often it was repeated: below that the format does
//! not resolve what the other rows leave of a row. Twice the floor of variance left at a point
//! counts as none. In `f64` the floor is 1e-13 at 100 observations and acts on nothing; in `f32` it
//! is 5e-5.
//!
//! **Source**: Hvarfner, Hellsten and Nardi 2024 (priors); Ament et al. 2023 (acquisition).
//!
//! **Example**: that of [`Optimizer`].

mod advise;
mod among;
mod context;
mod elsewhere;
mod error;
mod failed;
mod layout;
mod level;
mod log;
mod refit;
mod settings;
mod suggest;
mod surface;
#[cfg(test)]
mod tests;
mod work;

pub use advise::Recommendation;
pub use among::CANDIDATES_MAX;
pub use error::OptimizerError;
pub use layout::storage_len;
pub use log::{LogEntry, Parameters};
pub use refit::Fit;
pub use settings::Settings;

pub use crate::acquisition::Acquisition;

use self::layout::{Model, Parts, Rest, split};
use self::surface::Questions;
use self::work::Work;
use crate::domain::{DIM_MAX, collected};
use crate::math::Scalar;
use crate::space::{Space, SpaceError};
use crate::surrogate::exact::{self, ExactGp, WhenFull};
use crate::surrogate::map;
use crate::surrogate::noise::least_resolved;
use crate::surrogate::{Observed, SurrogateError};

/// The largest magnitude of a value that is told: 1e14 in `f32`, 1e140 in `f64`.
///
/// **Numerics**: with a noise fraction of 4(n + 8)·ε or more, n values y have ‖L⁻¹y‖² ≤ y²/(4ε),
/// far below the largest number; so has the scatter of ten thousand repetitions.
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, OptimizerError, Settings}};
/// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
/// let mut optimizer = Optimizer::new(domain, Settings::default(), 4, vec![0.0f64; optimizer::storage_len(1, 4)])?;
/// optimizer.observe(&[0.1], optimizer::value_max())?;
/// let refused = optimizer.observe(&[0.2], 2e140).map_err(|error| error.to_string());
/// assert_eq!(refused, Err("the value 2e140 is outside [-1e140, 1e140]: count it in a larger unit".into()));
/// # Ok::<(), OptimizerError>(())
/// ```
pub fn value_max<T: Scalar>() -> T {
    T::from_f64(largest_value::<T>())
}

fn largest_value<T: Scalar>() -> f64 {
    if T::BYTES == 4 { 1e14 } else { 1e140 }
}

/// A point in the user's units.
pub type Point<T> = heapless::Vec<T, DIM_MAX>;

/// Ask and tell over a box, or any [`Space`]. It maximises.
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
/// On a device, storage is an array of a `static`: lent, never moved over the stack. Every error of
/// the loop goes into
/// [`OptimizerError`]:
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Optimizer, OptimizerError, Settings}};
/// const CAPACITY: usize = 20;
/// const STORAGE: usize = optimizer::storage_len(1, CAPACITY);
///
/// fn tune(storage: &mut [f32; STORAGE]) -> Result<f32, OptimizerError> {
///     let domain = BoxDomain::new(&[(0.0, 1.0)])?;
///     let mut optimizer = Optimizer::new(domain, Settings::default(), CAPACITY, &mut storage[..])?;
///     for _ in 0..CAPACITY {
///         let x = optimizer.suggest()?;
///         optimizer.observe(&x, 1.0 - (x[0] - 0.3) * (x[0] - 0.3))?;
///     }
///     Ok(optimizer.best().map_or(0.5, |(point, _)| point[0]))
/// }
///
/// # fn main() -> Result<(), OptimizerError> {
/// # let storage = &mut [0.0; STORAGE]; // of a `static_cell::StaticCell`, say
/// let best = tune(storage)?;
/// assert!((best - 0.3).abs() < 0.05, "{best}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Optimizer<T, S> {
    space: Space,
    /// The context of the next question, at its axes.
    given: Option<Point<T>>,
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
    /// A fit was made that [`Optimizer::take_fit`] has not handed out.
    untaken: bool,
    /// The factor in the storage is that of the parameters: not while a fit is under way.
    factored: bool,
    /// The expected improvement at the best question that was found last, unit y.
    gain: Option<T>,
    work: Work<T>,
    storage: S,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Nothing observed yet; room for `capacity` observations in `storage` of [`storage_len`].
    ///
    /// **Errors**: [`OptimizerError`].
    pub fn new(
        space: impl Into<Space>,
        settings: Settings,
        capacity: usize,
        storage: S,
    ) -> Result<Self, OptimizerError> {
        let space = space.into();
        let needed = storage_len(space.dim(), capacity);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given }.into());
        }
        space.check_format::<T>()?;
        if let Acquisition::UpperConfidenceBound { width } = settings.acquisition
            && !T::from_f64(width).is_finite()
        {
            return Err(OptimizerError::Width { width });
        }
        let mut optimizer = Optimizer {
            parameters: unfitted(space.dim(), capacity),
            space,
            given: None,
            settings,
            capacity,
            len: 0,
            told: 0,
            refused: 0,
            last_refused: false,
            untaken: false,
            factored: true,
            gain: None,
            work: Work::None,
            storage,
        };
        optimizer.parts()?;
        Ok(optimizer)
    }

    /// The optimiser that was told and fitted what `log` says, oldest first, under the same domain,
    /// settings and capacity: its suggestions are, bit for bit, those of the one that wrote the
    /// log.
    ///
    /// A program asks [`Optimizer::check`], writes a [`LogEntry`] and tells the point. Fits are
    /// made again where they were made; an entry of [`Optimizer::take_fit`] saves that. What was
    /// refused when the log was written is refused again; [`Optimizer::refused`] counts it.
    ///
    /// **Errors**: as [`Optimizer::new`]; [`SurrogateError::Dimension`] and [`SpaceError::Value`]
    /// for a point of another box; [`OptimizerError::Told`] for a fit of more than was told; for
    /// fitted parameters that cannot be those of this optimiser [`OptimizerError::Kernel`],
    /// [`SurrogateError::Unresolved`] or [`SurrogateError::Singular`].
    ///
    /// **Cost**: n² flops an observation; n³/3 a fit that the log has, at most 48 n³ one that it
    /// has not. About four times the last fit is what all of them take.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, LogEntry, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 20.0)])?;
    /// let storage = || vec![0.0f32; optimizer::storage_len(1, 20)];
    /// let (mut optimizer, mut log) = (Optimizer::new(domain.clone(), Settings::default(), 20, storage())?, vec![]);
    /// for _ in 0..12 {
    ///     let x = optimizer.suggest()?;
    ///     let y = -(x[0] - 6.5) * (x[0] - 6.5);
    ///     log.push(LogEntry::told(&x, y)?);
    ///     optimizer.observe(&x, y)?;
    /// }
    /// let mut resumed = Optimizer::resume(domain, Settings::default(), 20, storage(), log)?;
    /// assert_eq!(resumed.suggest()?, optimizer.suggest()?);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn resume(
        space: impl Into<Space>,
        settings: Settings,
        capacity: usize,
        storage: S,
        log: impl IntoIterator<Item = LogEntry<T>>,
    ) -> Result<Self, OptimizerError> {
        let mut optimizer = Self::new(space, settings, capacity, storage)?;
        optimizer.replay(log)?;
        Ok(optimizer)
    }

    /// Forgets everything and becomes the optimiser that [`Optimizer::resume`] makes of `log`, in
    /// the same storage.
    ///
    /// A program whose flash has no room for a whole log keeps the end of it, behind one
    /// [`LogEntry::Forgotten`] and the last fit, and replays that whenever it drops an entry: then
    /// a reset changes nothing.
    ///
    /// **Errors**: as [`Optimizer::resume`]. What was replayed until then stays.
    pub fn replay(
        &mut self,
        log: impl IntoIterator<Item = LogEntry<T>>,
    ) -> Result<(), OptimizerError> {
        self.parameters = unfitted(self.space.dim(), self.capacity);
        (self.len, self.told, self.refused, self.last_refused) = (0, 0, 0, false);
        (self.untaken, self.factored, self.gain) = (false, true, None);
        self.work = Work::None;
        for entry in log {
            match entry {
                LogEntry::Told { point, value } => {
                    replayed(self.observe(&point, value))?;
                }
                LogEntry::Failed { point } => replayed(self.fail(&point))?,
                LogEntry::Fitted(parameters) => self.adopt(parameters)?,
                LogEntry::Forgotten { observations } => {
                    self.told = self.told.saturating_add(observations)
                }
            }
        }
        // A program that keeps the end of its log has the last fit before observations that the fit
        // knew, so this is seen at the end.
        let (fitted, told) = (self.parameters.told, self.told);
        if fitted > told {
            // What was replayed stays, and has its fits when they are due.
            self.parameters.told = told;
            return Err(OptimizerError::Told { fitted, told });
        }
        Ok(())
    }

    /// Rows in use: observations, and points that [failed](Optimizer::fail).
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no row is in use yet: nothing was told, and nothing failed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Observations and failures that were accepted since the beginning, those that repeated
    /// another or were forgotten since too.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// Whether a fit came after the last accepted observation, also one that found nothing to
    /// change.
    pub fn just_fitted(&self) -> bool {
        self.told > 0 && self.parameters.told >= self.told
    }

    /// Observations that were refused since the beginning.
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// Lengthscales in use, one for each axis, as fractions of its side of the box.
    pub fn lengthscales(&self) -> &[T] {
        &self.parameters.lengthscales
    }

    /// Noise variance in use, as a fraction of the function's variance.
    pub fn noise_fraction(&self) -> T {
        self.parameters.noise_fraction
    }

    /// Both, for a log: see [`Optimizer::take_fit`].
    pub fn parameters(&self) -> &Parameters<T> {
        &self.parameters
    }

    /// The least noise fraction that the format resolves at this capacity: 4(capacity + 8)·ε.
    /// Smaller ones are raised.
    pub fn noise_floor(&self) -> T {
        least_resolved(self.capacity)
    }

    /// Whether [`Optimizer::observe`] would take this point and value at the door. A program that
    /// writes a log asks before it writes; the few observations that pass and are then refused
    /// (points that the format hardly tells apart) belong into the log all the same.
    ///
    /// **Errors**: [`SurrogateError::Dimension`], [`SurrogateError::NonFinite`],
    /// [`OptimizerError::Value`] beyond [`value_max`],
    /// [`SpaceError::Value`] with axis, value and range, [`SurrogateError::Full`] unless the oldest
    /// may go.
    ///
    /// ```
    /// use sordino_core::domain::BoxDomain;
    /// use sordino_core::optimizer::{self, Optimizer, OptimizerError, Settings};
    /// use sordino_core::space::{Kind, SpaceError};
    /// let domain = BoxDomain::new(&[(0.0, 1.0), (10.0, 20.0)])?;
    /// let optimizer = Optimizer::new(domain, Settings::default(), 4, vec![0.0; optimizer::storage_len(2, 4)])?;
    /// assert_eq!(optimizer.check(&[0.5, 15.0], 1.0), Ok(()));
    /// let outside = SpaceError::Value { axis: 1, value: 2.0, kind: Kind::Real { low: 10.0, high: 20.0 } };
    /// assert_eq!(optimizer.check(&[0.5, 2.0], 1.0), Err(OptimizerError::Space(outside)));
    /// # Ok::<(), OptimizerError>(())
    /// ```
    pub fn check(&self, point: &[T], value: T) -> Result<(), OptimizerError> {
        let expected = self.space.dim();
        let given = point.len();
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        if let Some(number) = point
            .iter()
            .chain(core::iter::once(&value))
            .find(|number| !number.is_finite())
        {
            return Err(SurrogateError::NonFinite {
                value: number.to_f64(),
            }
            .into());
        }
        self.space.check(point)?;
        if value.abs() > value_max() {
            return Err(OptimizerError::Value {
                value: value.to_f64(),
                largest: largest_value::<T>(),
            });
        }
        if self.len == self.capacity && self.settings.when_full == WhenFull::Refuse {
            return Err(SurrogateError::Full {
                capacity: self.capacity,
            }
            .into());
        }
        Ok(())
    }

    /// Tells the value of a point, a suggested one or any other of the box.
    ///
    /// **Errors**: [`OptimizerError`]. A point that cannot be asked ([`SpaceError::Value`]) changes
    /// nothing: it is not one that was asked for. After any other refusal the model is as it was,
    /// except that a sliding window may have forgotten its oldest observation, and the next
    /// suggestion is another one. Ask [`Optimizer::check`] where a value may not be finite.
    ///
    /// **Cost**: n² flops. Where a fit is due that [`Optimizer::suggest`] did not make, because
    /// it was not asked, all of it is made here: at most 48 n³.
    pub fn observe(&mut self, point: &[T], value: T) -> Result<Observed, OptimizerError> {
        self.take(point, Some(value))
    }

    /// A point, and its value if it has one.
    fn take(&mut self, point: &[T], value: Option<T>) -> Result<Observed, OptimizerError> {
        let checked = self.check(point, value.unwrap_or(T::ZERO));
        if let Err(error @ OptimizerError::Space(SpaceError::Value { .. })) = checked {
            return Err(error);
        }
        if checked.is_ok() {
            self.catch_up();
        }
        (self.work, self.gain) = (Work::None, None);
        let observed = checked.and_then(|()| self.tell(point, value));
        self.last_refused = observed.is_err();
        let counter = if self.last_refused {
            &mut self.refused
        } else {
            &mut self.told
        };
        *counter = counter.saturating_add(1);
        observed
    }

    fn tell(&mut self, point: &[T], value: Option<T>) -> Result<Observed, OptimizerError> {
        let unit = self.to_unit(point);
        if self.settings.half_life > 0 {
            self.fade();
        }
        let (mut gp, ..) = self.parts()?;
        let observed = match value {
            Some(value) => gp.observe(&unit, value),
            None => gp.fail(&unit),
        };
        // What was told may be the worst value now, or the worst was forgotten.
        gp.impute();
        // Also after a refusal: a sliding window has dropped a row before it.
        self.len = gp.len();
        Ok(observed?)
    }

    /// Lets every observation count a little less.
    fn fade(&mut self) {
        let dim = self.space.dim();
        let capacity = self.capacity;
        let kept = (T::from_f64(-core::f64::consts::LN_2) / T::from_u32(self.settings.half_life))
            .exp_nonpositive();
        exact::fade(
            kept,
            dim,
            capacity,
            self.len,
            split(self.storage.as_mut(), dim, capacity).model,
        );
        self.factored = self.len == 0;
    }

    /// The parameters of an earlier fit. If they are refused the model is lost.
    fn adopt(&mut self, fitted: Parameters<T>) -> Result<(), OptimizerError> {
        if self.parameters == fitted {
            // The fit was made again already: its entry stands behind the value that brought it
            // about.
            self.untaken = false;
            return Ok(());
        }
        let dim = self.space.dim();
        let least = self.noise_floor();
        let expected = dim;
        let given = fitted.lengthscales.len();
        if given != expected {
            return Err(SurrogateError::Dimension { expected, given }.into());
        }
        for lengthscale in &fitted.lengthscales {
            crate::kernel::Isotropic::new(*lengthscale)?;
        }
        if !(fitted.noise_fraction >= least && fitted.noise_fraction.is_finite()) {
            return Err(SurrogateError::Unresolved {
                noise_variance: fitted.noise_fraction.to_f64(),
                smallest: least.to_f64(),
            }
            .into());
        }
        (self.parameters, self.factored, self.untaken, self.work) =
            (fitted, false, false, Work::None);
        self.factor()
    }

    /// The factor of the parameters in use, if the storage holds another.
    fn factor(&mut self) -> Result<(), OptimizerError> {
        if self.factored {
            return Ok(());
        }
        let n = self.len;
        let dim = self.space.dim();
        let capacity = self.capacity;
        let least = self.noise_floor();
        self.write_scales();
        let Parts { model, scales, .. } = split(self.storage.as_mut(), dim, capacity);
        let kernel = map::kernel(self.settings.shape, scales, categories(&self.space))?;
        exact::refactor_in_place(
            &kernel,
            self.parameters.noise_fraction,
            least,
            dim,
            capacity,
            n,
            model,
        )?;
        self.factored = true;
        Ok(())
    }

    fn write_scales(&mut self) {
        let dim = self.space.dim();
        let capacity = self.capacity;
        let Parts { scales, rest, .. } = split(self.storage.as_mut(), dim, capacity);
        let axes = scales
            .iter_mut()
            .zip(rest.spread)
            .zip(&self.parameters.lengthscales);
        for ((scale, spread), lengthscale) in axes {
            *scale = T::ONE / (*lengthscale * *lengthscale);
            *spread = T::from_f64(0.3) * lengthscale.min(T::ONE);
        }
    }

    fn to_user(&self, unit: &[T]) -> Point<T> {
        let user = |(axis, x): (usize, &T)| self.space.from_unit(axis, *x).unwrap_or(T::INFINITY);
        collected(unit.iter().enumerate().map(user))
    }

    fn to_unit(&self, point: &[T]) -> Point<T> {
        let in_box = |(axis, x): (usize, &T)| self.space.to_unit(axis, *x).unwrap_or(T::INFINITY);
        collected(point.iter().enumerate().map(in_box))
    }

    /// The model joined with its numbers, the other buffers, and what may be asked: any point
    /// under the context, also one that was asked.
    fn parts(&mut self) -> Result<Joined<'_, T>, OptimizerError> {
        self.factor()?;
        self.write_scales();
        let dim = self.space.dim();
        let Parts {
            model,
            rest,
            scales,
        } = split(self.storage.as_mut(), dim, self.capacity);
        let kernel = map::kernel(self.settings.shape, &*scales, categories(&self.space))?;
        let floor = least_resolved(self.capacity);
        let gp = ExactGp::resume(
            kernel,
            self.parameters.noise_fraction,
            dim,
            self.capacity,
            self.len,
            model,
        )?
        .with_noise_floor(floor)?
        .when_full(self.settings.when_full);
        let questions = Questions {
            space: &self.space,
            given: self.given.as_deref(),
            once: false,
            unresolved: floor + floor,
        };
        Ok((gp, rest, questions))
    }
}

/// What became of an entry of a log: any refusal but that of a point of another box happened when
/// the log was written as well.
fn replayed(observed: Result<Observed, OptimizerError>) -> Result<(), OptimizerError> {
    match observed {
        Err(
            error @ (OptimizerError::Surrogate(SurrogateError::Dimension { .. })
            | OptimizerError::Space(_)),
        ) => Err(error),
        _ => Ok(()),
    }
}

/// Axes that are categories, by bits.
fn categories(space: &Space) -> u32 {
    (0..space.dim())
        .filter(|axis| space.is_category(*axis))
        .fold(0, |bits, axis| bits | 1 << (axis & 31))
}

/// A model with its numbers.
type Joined<'a, T> = (Model<'a, T>, Rest<'a, T>, Questions<'a, T>);

/// What the priors say before any fit; the noise fraction is at least the floor.
fn unfitted<T: Scalar>(dim: usize, capacity: usize) -> Parameters<T> {
    let (lengthscale, noise) = map::mode::<T>(dim);
    let lengthscales = collected((0..dim).map(|_| lengthscale));
    Parameters {
        lengthscales,
        noise_fraction: noise.max(least_resolved(capacity)),
        told: 0,
    }
}
