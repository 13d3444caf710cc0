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
use crate::journal::{Journal, Layout, SORDINO_OPTIMIZER_RING, erase};
use crate::memory::{Handle, Object, Plain, Word, build, look, with};
use crate::settings::{SORDINO_CAPACITY_MAX, SORDINO_DIM_MAX, bytes, extent, number_of, shape, when_full};
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
    journal: Option<Journal>,
    dim: usize,
    /// What is in memory is not what the flash says: it is made again before anything else.
    stale: bool,
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
    /// Slots of the flash beside those of `capacity` observations: fits that can be stored, one slot each, 0 to
    /// SORDINO_CAPACITY_MAX; with drop_oldest any number of fits are, in SORDINO_OPTIMIZER_RING slots, the least that is
    /// admitted then. Slots 0 to SORDINO_OPTIMIZER_SLOTS(capacity, fits) - 1 are used; without a flash none.
    pub fits: u32,
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

/// The usual settings: Matérn 5/2, expected improvement, the box from 0 to 1 on every axis, as many fits in the flash as
/// observations.
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
        fits: capacity.clamp(SORDINO_OPTIMIZER_RING as u32, SORDINO_CAPACITY_MAX as u32),
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

/// How the flash is used, and how many slots of it.
fn layout(s: &OptimizerSettings) -> Result<(Layout, u32), Refused> {
    let (_, capacity) = extent(s.dim, s.capacity)?;
    let (most, ring) = (SORDINO_CAPACITY_MAX as u32, SORDINO_OPTIMIZER_RING as u32);
    let (layout, least, used, range) = match when_full(s.drop_oldest)? {
        WhenFull::Refuse => (Layout::Log, 0, s.fits, "0..=4096"),
        WhenFull::DropOldest => (Layout::ring(s.capacity), ring, ring, "3..=4096 with drop_oldest"),
    };
    if !(least..=most).contains(&s.fits) {
        return Err(Refused::range("fits", f64::from(s.fits), range));
    }
    Ok((layout, capacity as u32 + used))
}

/// What must not change under a flash: everything but how many slots it has.
fn agreement(domain: &BoxDomain, settings: &Settings, capacity: u32, layout: Layout) -> Digest {
    let name = match layout {
        Layout::Log => "sordino-c optimizer",
        Layout::Ring { .. } => "sordino-c optimizer, ring",
    };
    Digest::of(&(name, domain, settings, capacity))
}

/// Builds an optimizer in `memory` of `len` bytes, tells it again what its flash holds, and writes its address to
/// `optimizer`. `flash` and `refusal` may be NULL.
///
/// With a flash every point is stored before the call that tells it returns, in a slot of SORDINO_OPTIMIZER_SLOT bytes, and
/// so is every fit: after a reset the optimizer asks for the same point as before. Without one a reset forgets everything.
/// Without drop_oldest slots are filled from the first on, until all are in use; a flash may end before
/// SORDINO_OPTIMIZER_SLOTS(capacity, fits), where `read` fails. With it the newest `capacity` observations stay, in
/// slots that are written in turn.
///
/// What another kind, version, box, capacity or setting has stored is SORDINO_STATUS_STORED_FOREIGN, and what no cut can have
/// left (a slot that cannot be read as an entry, and entries behind it) SORDINO_STATUS_STORED_DAMAGED: nothing is built and
/// nothing is written. Go back to the settings, or give the data up with sordino_optimizer_erase. A torn slot at the end is
/// a write that was cut off, and is written again.
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
            let numbers = arena.numbers(storage_len(dim, capacity))?;
            let journal = match flash {
                None => None,
                Some(flash) => {
                    let (layout, slots) = layout(&s)?;
                    Some(Journal::open(flash, agreement(&domain, &settings, s.capacity, layout), layout, slots)?)
                }
            };
            let mut body =
                Body { optimizer: CoreOptimizer::new(domain, settings, capacity, numbers)?, journal, dim, stale: true };
            body.refresh()?;
            Ok(body)
        })
    }
}

/// Erases the slots of an optimizer of these settings, whatever they hold: all its observations and fits are given up. If
/// the power fails meanwhile, do it again. `refusal` may be NULL.
///
/// # Safety
///
/// The pointers are NULL or good for one value; the callbacks do what their docs say.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_erase(
    settings_at: *const OptimizerSettings,
    flash: *const Flash,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let erased = || -> Result<(), Refused> {
        let (layout, slots) = layout(&word.read(settings_at)?)?;
        let flash = word.read(flash)?.admit(true)?.ok_or(Status::Null)?;
        erase(&flash, layout, slots)
    };
    match erased() {
        Ok(()) => Status::Ok,
        Err(refused) => word.refuse(&refused, refusal),
    }
}

impl Body {
    /// Makes the optimizer in memory what the flash says, if it is not.
    fn refresh(&mut self) -> Result<(), Refused> {
        if let (true, Some(journal)) = (self.stale, &self.journal) {
            journal.replay(&mut self.optimizer)?;
        }
        self.stale = false;
        Ok(())
    }

    /// Makes the optimizer what the flash says once an entry is stored. What was told stands, so a flash that cannot be read
    /// now is the next call's matter.
    fn settle(&mut self) {
        let _ = self.refresh();
    }

    /// Refuses an entry for which the flash has no slot.
    fn require_slot(&self) -> Result<(), Refused> {
        let full = self.journal.as_ref().is_some_and(|journal| !journal.has_room());
        if full { Err(Status::Full.into()) } else { Ok(()) }
    }

    /// Tells a point, and writes it down once it is taken.
    fn tell(&mut self, point: &[f32], y: f32) -> Result<(), Refused> {
        self.refresh()?;
        self.require_slot()?;
        let entry = LogEntry::told(point, y)?;
        self.optimizer.observe(point, y)?;
        if let Some(journal) = &mut self.journal {
            // If the write fails, the flash holds what it held, and so does the optimizer from the next call on.
            self.stale = true;
            let stored = journal.tell(&entry);
            let other = stored.inspect_err(|_| self.settle())?;
            // Refusals are not stored: what they did to the optimizer ends here, as it would in a reset.
            self.stale = other || self.optimizer.refused() > 0;
            self.settle();
        }
        Ok(())
    }

    /// A slice of a fit, which is written down when it is done.
    fn fit(&mut self, evaluations: u32, scratch: &mut [f32]) -> Result<Poll<bool>, Refused> {
        self.refresh()?;
        self.require_slot()?;
        let Poll::Ready(found) = self.optimizer.fit_step(evaluations, scratch)? else { return Ok(Poll::Pending) };
        if let Some(journal) = &mut self.journal {
            self.stale = true;
            let stored = journal.fit(self.optimizer.parameters());
            self.stale = stored.inspect_err(|_| self.settle())?;
            self.settle();
        }
        Ok(Poll::Ready(found.is_some()))
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
        with(optimizer, |body, word| {
            body.refresh()?;
            match body.optimizer.suggest_step(evaluations)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.copy(&found, point, dim)?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// Tells the value `y` of a point of `dim` coordinates, a suggested one or any other of the box.
///
/// What is refused is not stored: SORDINO_STATUS_OUTSIDE, SORDINO_STATUS_LENGTH and a full flash change nothing. After a value
/// that is not finite, or of which there is no room among the rows, the next suggestion is another point, until
/// something is told or the device is reset. If the flash fails, the point was not told.
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
            body.tell(point, y)?;
            Ok(Status::Ok)
        })
    }
}

/// Fits lengthscale and noise to the observations: at most `evaluations` more of the likelihood, at least one;
/// SORDINO_STATUS_PENDING until it is done. `fitted` gets 1, or 0 if there was nothing to fit (fewer than three
/// observations, or values that are all the same); it may be NULL.
///
/// If the flash fails, the fit was not made; SORDINO_STATUS_FULL, before anything is done, if it has no slot for it.
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
        with(optimizer, |body, word| {
            if !fitted.is_null() {
                word.admit(fitted, 1)?;
            }
            match body.fit(evaluations, word.scratch(scratch, len)?)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.offer(fitted, u32::from(found))?;
                    Ok(Status::Ok)
                }
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
            body.refresh()?;
            let (best, value) = body.optimizer.best().ok_or(Status::Index)?;
            word.copy(&best, point, dim)?;
            word.write(mean, value)?;
            Ok(Status::Ok)
        })
    }
}

/// Observations in use; those told since the beginning, also what repeated another or was forgotten; slots of the flash in
/// use; and 1 if nothing was told since the last fit, else 0, also after a reset. Each may be NULL.
///
/// A program that fits at every eighth observation does it when `told` is a multiple of eight and `just_fitted` is 0: then a reset between the observation and the fit neither loses the fit nor makes it twice.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; the other pointers are NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_describe(
    optimizer: *const Optimizer,
    observations: *mut u32,
    told: *mut u32,
    stored: *mut u32,
    just_fitted: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(optimizer, |body, word| {
            let (entries, fitted) = match &body.journal {
                // A write failed, and the flash could not be read since.
                Some(_) if body.stale => return Err(Status::Flash.into()),
                Some(journal) => (journal.stored(), journal.just_fitted()),
                None => (0, body.optimizer.just_fitted()),
            };
            word.offer(observations, body.optimizer.len() as u32)?;
            word.offer(told, body.optimizer.told())?;
            word.offer(stored, entries)?;
            word.offer(just_fitted, u32::from(fitted))?;
            Ok(Status::Ok)
        })
    }
}
