//! Ask and tell over a box, without privacy.

use core::ffi::c_void;
use core::task::Poll;

use sordino_core::digest::Digest;
use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{
    Acquisition, LogEntry, Optimizer as CoreOptimizer, Settings, fit_scratch_len, storage_len,
};
use sordino_core::snapshot::max_bytes;
use sordino_core::surrogate::exact::WhenFull;

use crate::callback::Flash;
use crate::memory::{Handle, Object, Plain, Word, build, with};
use crate::settings::{SORDINO_DIM_MAX, bytes, extent, number_of, shape, when_full};
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of an optimizer.
pub const SORDINO_OPTIMIZER_HEAD: usize = 1088;
/// Points that its search keeps.
pub const SORDINO_SEARCH_POINTS: usize = 17;
/// Bytes of a slot of its log.
pub const SORDINO_OPTIMIZER_SLOT: usize = 92;
/// The acquisition that asks where an improvement is expected.
pub const SORDINO_EXPECTED_IMPROVEMENT: u32 = 0;
/// The acquisition that asks where mean + width * standard deviation is largest.
pub const SORDINO_UPPER_CONFIDENCE_BOUND: u32 = 1;

/// An optimizer, and the log that it is.
pub(crate) struct Body {
    optimizer: CoreOptimizer<f32, &'static mut [f32]>,
    flash: Option<Flash>,
    agreement: Digest,
    entries: u32,
    dim: usize,
    /// The last fit is not in the log yet: the flash failed.
    unsaved: bool,
}

/// An optimizer that maximises over a box.
pub struct Optimizer {
    _handle: Handle<Body>,
}

impl Object for Optimizer {
    type Body = Body;
    const TAG: u32 = 0x5eed_0002;
}

const _: () = assert!(size_of::<Optimizer>() + 8 <= SORDINO_OPTIMIZER_HEAD);
const _: () = assert!(max_bytes::<LogEntry<f32>>() == SORDINO_OPTIMIZER_SLOT);

/// What an optimizer is told beforehand; sordino_optimizer_usual fills in what is good enough for a first run.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OptimizerSettings {
    /// Axes of the box, 1 to SORDINO_DIM_MAX.
    pub dim: u32,
    /// Observations there is room for, 1 to SORDINO_CAPACITY_MAX.
    pub capacity: u32,
    /// Lower end of every axis, in the user's units.
    pub low: [f64; SORDINO_DIM_MAX],
    /// Upper end of every axis.
    pub high: [f64; SORDINO_DIM_MAX],
    /// Lengthscale as a fraction of each side of the box, until a fit finds better.
    pub lengthscale: f64,
    /// Noise variance as a fraction of the function's variance; raised to what the format resolves.
    pub noise_fraction: f64,
    /// Of SORDINO_UPPER_CONFIDENCE_BOUND what the standard deviation is multiplied by.
    pub width: f64,
    /// Kernel: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
    pub shape: u32,
    /// SORDINO_EXPECTED_IMPROVEMENT or SORDINO_UPPER_CONFIDENCE_BOUND.
    pub acquisition: u32,
    /// Points that are spread over the box before anything is modelled; 0 means 2 per axis and 2 more.
    pub initial_points: u32,
    /// What happens when all rows are in use: 0 refuses, 1 forgets the oldest.
    pub drop_oldest: u32,
}

// SAFETY: integers, floats and arrays of them.
unsafe impl Plain for OptimizerSettings {}

fn size(dim: u32, capacity: u32) -> Result<usize, Refused> {
    let (dim, capacity) = extent(dim, capacity)?;
    Ok(bytes(SORDINO_OPTIMIZER_HEAD, storage_len(dim, capacity))?)
}

/// Bytes of memory an optimizer takes, as SORDINO_OPTIMIZER_SIZE; 0 if `dim` or `capacity` is out of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_optimizer_size(dim: u32, capacity: u32) -> usize {
    size(dim, capacity).unwrap_or(0)
}

/// Numbers of scratch for sordino_optimizer_fit with this many observations.
// SAFETY: the name begins with that of the library; it takes a number and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_optimizer_fit_scratch(observations: u32) -> usize {
    match extent(1, observations) {
        Ok((_, observations)) => fit_scratch_len(observations),
        Err(_) => 0,
    }
}

/// The usual settings: Matérn 5/2, expected improvement, the box from 0 to 1 on every axis.
///
/// # Safety
///
/// `settings` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_usual(dim: u32, capacity: u32, settings: *mut OptimizerSettings) -> Status {
    let usual = Settings::default();
    let filled = OptimizerSettings {
        dim,
        capacity,
        low: [0.0; SORDINO_DIM_MAX],
        high: [1.0; SORDINO_DIM_MAX],
        lengthscale: usual.lengthscale,
        noise_fraction: usual.noise_fraction,
        width: 2.0,
        shape: number_of(usual.shape),
        acquisition: SORDINO_EXPECTED_IMPROVEMENT,
        initial_points: usual.initial_points,
        drop_oldest: u32::from(usual.when_full == WhenFull::DropOldest),
    };
    // SAFETY: our caller gives its word.
    match unsafe { Word::alone() }.write(settings, filled) {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

fn settings(s: &OptimizerSettings) -> Result<Settings, Refused> {
    let acquisition = match s.acquisition {
        SORDINO_EXPECTED_IMPROVEMENT => Acquisition::ExpectedImprovement,
        SORDINO_UPPER_CONFIDENCE_BOUND => Acquisition::UpperConfidenceBound { width: s.width },
        other => return Err(Refused::range("acquisition", f64::from(other), "0 or 1")),
    };
    Ok(Settings {
        shape: shape(s.shape)?,
        lengthscale: s.lengthscale,
        noise_fraction: s.noise_fraction,
        initial_points: s.initial_points,
        acquisition,
        search: None,
        when_full: when_full(s.drop_oldest)?,
    })
}

fn domain(s: &OptimizerSettings, dim: usize) -> Result<BoxDomain, Refused> {
    let mut bounds = [(0.0, 1.0); SORDINO_DIM_MAX];
    bounds.iter_mut().zip(s.low.iter().zip(&s.high)).for_each(|(to, (low, high))| *to = (*low, *high));
    Ok(BoxDomain::new(bounds.get(..dim).unwrap_or(&[]))?)
}

/// Builds an optimizer in `memory` of `len` bytes, tells it again what its flash holds, and writes its address to
/// `optimizer`. `flash` and `refusal` may be NULL.
///
/// With a flash every point is in slot 0, 1, 2, … before it is told, SORDINO_OPTIMIZER_SLOT bytes each; after a reset the
/// optimizer asks for the same point as before. Without one a reset forgets everything.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used; the other pointers are NULL or
/// good for one value; the callbacks do what their docs say.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_open(
    memory: *mut c_void,
    len: usize,
    settings_at: *const OptimizerSettings,
    flash: *const Flash,
    optimizer: *mut *mut Optimizer,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, optimizer, refusal, |arena, word| {
            let s = word.read(settings_at)?;
            arena.require(size(s.dim, s.capacity)?)?;
            let (dim, capacity) = extent(s.dim, s.capacity)?;
            let (domain, settings) = (domain(&s, dim)?, settings(&s)?);
            let flash = if flash.is_null() { None } else { word.read(flash)?.admit(false)? };
            let agreement = Digest::of(&("sordino-c optimizer", &domain, &settings, s.capacity));
            let numbers = arena.numbers(storage_len(dim, capacity))?;
            let mut failed = None;
            let mut entries = 0;
            let log = core::iter::from_fn(|| match flash?.entry::<LogEntry<f32>>(entries, entries, &agreement) {
                Ok(entry) => {
                    entries += u32::from(entry.is_some());
                    entry
                }
                Err(status) => {
                    failed = Some(status);
                    None
                }
            });
            let optimizer = CoreOptimizer::resume(domain, settings, capacity, numbers, log)?;
            match failed {
                Some(status) => Err(status.into()),
                None => Ok(Body { optimizer, flash, agreement, entries, dim, unsaved: false }),
            }
        })
    }
}

impl Body {
    /// Writes an entry behind the last one, and before it the fit that could not be written when it was made.
    fn store(&mut self, entry: Option<&LogEntry<f32>>) -> Result<(), Refused> {
        let Some(flash) = self.flash else { return Ok(()) };
        if self.unsaved {
            let fitted = LogEntry::Fitted(self.optimizer.parameters());
            flash.store(self.entries, &fitted, self.entries, &self.agreement)?;
            (self.entries, self.unsaved) = (self.entries + 1, false);
        }
        if let Some(entry) = entry {
            flash.store(self.entries, entry, self.entries, &self.agreement)?;
            self.entries += 1;
        }
        Ok(())
    }
}

/// The point to try next: `dim` numbers to `point`, in the user's units. At most `evaluations` more of the acquisition
/// are made, at least one; SORDINO_STATUS_PENDING until the search is done, with the same point whatever the slices are.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim` numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_suggest(
    optimizer: *mut Optimizer,
    evaluations: u32,
    point: *mut f32,
    dim: usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| match body.optimizer.suggest_step(evaluations)? {
            Poll::Pending => Ok(Status::Pending),
            Poll::Ready(found) => {
                word.copy(&found, point, dim)?;
                Ok(Status::Ok)
            }
        })
    }
}

/// Tells the value `y` of a point of `dim` coordinates, a suggested one or any other of the box.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim` numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_observe(
    optimizer: *mut Optimizer,
    point: *const f32,
    dim: usize,
    y: f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            let point = word.list(point, dim)?;
            if dim != body.dim {
                return Err(Status::Length.into());
            }
            body.store(Some(&LogEntry::told(point, y)?))?;
            body.optimizer.observe(point, y)?;
            Ok(Status::Ok)
        })
    }
}

/// Fits lengthscale and noise to the observations: at most `evaluations` more of the likelihood, at least one;
/// SORDINO_STATUS_PENDING until it is done. `fitted` gets 1, or 0 if there was nothing to fit (fewer than three
/// observations, or values that are all the same); it may be NULL.
///
/// If the flash fails the fit stands, and is written before the next entry.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `scratch` is NULL or good for `len` numbers that nobody else
/// uses meanwhile, `fitted` NULL or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_fit(
    optimizer: *mut Optimizer,
    evaluations: u32,
    scratch: *mut f32,
    len: usize,
    fitted: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| match body.optimizer.fit_step(evaluations, word.scratch(scratch, len)?)? {
            Poll::Pending => Ok(Status::Pending),
            Poll::Ready(found) => {
                body.unsaved = true;
                word.offer(fitted, u32::from(found.is_some()))?;
                body.store(None)?;
                Ok(Status::Ok)
            }
        })
    }
}

/// The observed point of largest posterior mean, in the user's units, and that mean. SORDINO_STATUS_INDEX if nothing was
/// observed.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim` numbers, `mean` NULL or good
/// for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_best(
    optimizer: *mut Optimizer,
    point: *mut f32,
    dim: usize,
    mean: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            let (best, value) = body.optimizer.best().ok_or(Status::Index)?;
            word.copy(&best, point, dim)?;
            word.write(mean, value)?;
            Ok(Status::Ok)
        })
    }
}

/// Observations in use, and entries of the log (points that were told, and fits) in the flash; each may be NULL.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; the other pointers are NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_describe(
    optimizer: *mut Optimizer,
    observations: *mut u32,
    stored: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            word.offer(observations, body.optimizer.len() as u32)?;
            word.offer(stored, body.entries)?;
            Ok(Status::Ok)
        })
    }
}
