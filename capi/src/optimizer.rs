//! Ask and tell over a box, without privacy.

mod body;
mod settings;

use core::ffi::c_void;
use core::task::Poll;

use sordino_core::optimizer::{Optimizer as CoreOptimizer, storage_len};

pub use settings::{
    OptimizerSettings, SORDINO_EXPECTED_IMPROVEMENT, SORDINO_OPTIMIZER_HEAD,
    SORDINO_OPTIMIZER_SLOT, SORDINO_SEARCH_POINTS, SORDINO_UPPER_CONFIDENCE_BOUND,
    sordino_optimizer_size, sordino_optimizer_usual,
};

use self::body::Body;
use self::settings::{agreement, domain, layout, settings, size};
use crate::callback::Flash;
use crate::journal::{Journal, erase};
use crate::memory::{Handle, Object, Word, build, look, with};
use crate::settings::extent;
use crate::status::{Refusal, Refused, Status};

/// Candidates that sordino_optimizer_suggest_among may be given, at most.
pub const SORDINO_CANDIDATES_MAX: usize = 10000;

/// An optimizer that maximises over a box.
pub struct Optimizer {
    _handle: Handle<Body>,
}

impl Object for Optimizer {
    type Body = Body;
    const TAG: u32 = 0x5eed_0002;
}

const _: () = assert!(size_of::<Optimizer>() + 8 <= SORDINO_OPTIMIZER_HEAD);

/// Builds an optimizer in `memory` of `len` bytes, tells it again what its flash holds, and writes
/// its address to `optimizer`. `flash` and `refusal` may be NULL.
///
/// With a flash every point is stored before the call that tells it returns, in a slot of
/// SORDINO_OPTIMIZER_SLOT bytes, and so is every fit: after a reset the optimizer asks for the same
/// point as before. Without one a reset forgets everything. Without drop_oldest slots are filled
/// from the first on, until all are in use; a flash may end before
/// SORDINO_OPTIMIZER_SLOTS(capacity, fits), where `read` fails. With it the newest `capacity`
/// observations stay, in slots that are written in turn.
///
/// What another kind, version, box, capacity or setting has stored is
/// SORDINO_STATUS_STORED_FOREIGN, and what no cut can have left (a slot that cannot be read as an
/// entry, and entries behind it) SORDINO_STATUS_STORED_DAMAGED: nothing is built and nothing is
/// written. Go back to the settings, or give the data up with sordino_optimizer_erase. A torn slot
/// at the end is a write that was cut off, and is written again.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used; the
/// other pointers are NULL or good for one value; the callbacks do what their docs say.
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
            let domain = domain(&s, dim)?;
            let settings = settings(&s)?;
            let flash = if flash.is_null() {
                None
            } else {
                word.read(flash)?.admit(false)?
            };
            let numbers = arena.numbers(storage_len(dim, capacity))?;
            let journal = match flash {
                None => None,
                Some(flash) => {
                    let (layout, slots) = layout(&s)?;
                    Some(Journal::open(
                        flash,
                        agreement(&domain, &settings, s.capacity, layout),
                        layout,
                        slots,
                    )?)
                }
            };
            let optimizer = CoreOptimizer::new(domain, settings, capacity, numbers)?;
            let mut body = Body {
                optimizer,
                journal,
                dim,
                capacity: s.capacity,
                stale: true,
            };
            body.refresh()?;
            Ok(body)
        })
    }
}

/// Erases the slots of an optimizer of these settings, whatever they hold: all its observations and
/// fits are given up. If the power fails meanwhile, do it again. `refusal` may be NULL.
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

/// An acquisition of the program's own: how much a point is worth asking whose posterior has this
/// mean and variance; `best` is the largest posterior mean at an observed point. Negative infinity:
/// not at all. It should be smooth.
// SAFETY: a pointer of C, called in `sordino_optimizer_suggest_by` alone.
pub type Rule =
    Option<unsafe extern "C" fn(context: *mut c_void, mean: f32, variance: f32, best: f32) -> f32>;

/// The point to try next: `dim` numbers to `point`, in the user's units. At most `evaluations` more
/// of the acquisition are made, at least one; SORDINO_STATUS_PENDING until the search is done, with
/// the same point whatever the slices are.
///
/// Where the best question promises less than 3 % of the values' standard deviation, every second
/// one is asked where less is known (expected improvement only).
///
/// Where a fit is due it comes first, one evaluation of the likelihood counting as many as there
/// are observations, and is stored in the flash where there is a slot for it; else it is made again
/// after a reset. If the flash fails, nothing was done.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers.
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
            if !body.prepare(evaluations)? {
                return Ok(Status::Pending);
            }
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

/// The point to try next by an acquisition of the program's own, as sordino_optimizer_suggest.
/// `rule` is called with `context` and is the same at every slice; it must not use the optimizer.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers; `rule` does what its doc says.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_suggest_by(
    optimizer: *mut Optimizer,
    evaluations: u32,
    rule: Rule,
    context: *mut c_void,
    point: *mut f32,
    dim: usize,
) -> Status {
    let Some(rule) = rule else {
        return Status::Null;
    };
    let rule = |mean: f32, variance: f32, best: f32| {
        // SAFETY: numbers, and what belongs to the caller, whose word is that the rule does what
        // its doc says.
        unsafe { rule(context, mean, variance, best) }
    };
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            if !body.prepare(evaluations)? {
                return Ok(Status::Pending);
            }
            match body.optimizer.suggest_step_by(evaluations, &rule)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.copy(&found, point, dim)?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// The candidate to try next: its number to `candidate`. Only those of the list may be asked:
/// `count` points of `dim` numbers each, 1 to SORDINO_CANDIDATES_MAX, the same at every slice. One
/// that was asked is not asked again while another is left, unless values are noisy or drift. Else
/// as sordino_optimizer_suggest.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `candidates` is NULL or good for
/// `count` times `dim` numbers, `candidate` NULL or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_suggest_among(
    optimizer: *mut Optimizer,
    evaluations: u32,
    candidates: *const f32,
    count: usize,
    dim: usize,
    candidate: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            if dim != body.dim || count == 0 || count > SORDINO_CANDIDATES_MAX {
                return Err(Status::Length.into());
            }
            let list = word.list(candidates, count * dim)?;
            word.admit(candidate, 1)?;
            if !body.prepare(evaluations)? {
                return Ok(Status::Pending);
            }
            match body.optimizer.suggest_among_step(evaluations, list)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.write(candidate, found as u32)?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// The point to use: the observed one of largest posterior mean, that mean and the posterior
/// standard deviation there. SORDINO_STATUS_EMPTY if nothing was observed, or all of it failed.
/// `mean` and `std` may be NULL.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers, the others NULL or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_recommend(
    optimizer: *mut Optimizer,
    point: *mut f32,
    dim: usize,
    mean: *mut f32,
    std: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            body.refresh()?;
            let used = body.optimizer.recommend().ok_or(Status::Empty)?;
            word.copy(&used.point, point, dim)?;
            word.offer(mean, used.mean)?;
            word.offer(std, used.std)?;
            Ok(Status::Ok)
        })
    }
}

/// What is expected of a point of the box: posterior mean and standard deviation of the function
/// there, in the unit of the values. SORDINO_STATUS_EMPTY if nothing was observed, or all of it
/// failed; SORDINO_STATUS_OUTSIDE for a point outside the box. `std` may be NULL.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers, the others NULL or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_predict(
    optimizer: *mut Optimizer,
    point: *const f32,
    dim: usize,
    mean: *mut f32,
    std: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            let point = word.list(point, dim)?;
            word.admit(mean, 1)?;
            body.refresh()?;
            if body.optimizer.failed() == body.optimizer.len() {
                return Err(Status::Empty.into());
            }
            let (expected, deviation) = body.optimizer.predict(point)?;
            word.offer(std, deviation)?;
            word.write(mean, expected)?;
            Ok(Status::Ok)
        })
    }
}

/// The expected improvement, in the unit of the values, of the point that was suggested last;
/// infinity while that is not known: after an observation or a fit, for points that fill the box,
/// and for candidates of a list. A program stops asking where it is below what a question costs.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `gain` is NULL or good for one number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_gain(
    optimizer: *const Optimizer,
    gain: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(optimizer, |body, word| {
            word.write(
                gain,
                body.optimizer.expected_gain().unwrap_or(f32::INFINITY),
            )?;
            Ok(Status::Ok)
        })
    }
}

/// Tells the value `y` of a point of `dim` coordinates, a suggested one or any other of the box.
///
/// A fit that is due is finished first, in one piece, which takes as long as sordino_optimizer_fit.
/// A suggestion that was asked for in slices to its end has done it.
///
/// What is refused is not stored: SORDINO_STATUS_OUTSIDE, SORDINO_STATUS_LENGTH and a full flash
/// change nothing. After a value that is not finite or beyond 1e14 (SORDINO_STATUS_RANGE), or of
/// which there is no room among the rows, the next suggestion is another point, until something is
/// told or the device is reset. If the flash fails, the point was not told.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers.
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
            body.tell(point, Some(y))?;
            Ok(Status::Ok)
        })
    }
}

/// Tells that a point of `dim` coordinates, a suggested one or any other of the box, has no value:
/// it cannot work here, or could not be measured. It takes a row of the capacity and a slot of the
/// flash as an observation does, is not asked again from a list while a candidate is left that did
/// not fail, and is never the best. The model has the worst value of the other rows in its place,
/// so that the search leaves a region that fails. Where only the measurement went wrong, measure
/// again.
///
/// Refused as sordino_optimizer_observe, with a value that is finite.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_fail(
    optimizer: *mut Optimizer,
    point: *const f32,
    dim: usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            let point = word.list(point, dim)?;
            if dim != body.dim {
                return Err(Status::Length.into());
            }
            body.tell(point, None)?;
            Ok(Status::Ok)
        })
    }
}

/// Fits lengthscales and noise to the observations now: at most `evaluations` more of the
/// likelihood, at least one. Nobody needs to call it, suggestions fit where it is due.
///
/// SORDINO_STATUS_PENDING until it is done. `fitted` gets 1, or 0 if there was nothing to fit
/// (fewer than three observations, or values that are all the same); it may be NULL.
///
/// If the flash fails, the fit was not made; SORDINO_STATUS_FULL, before anything is done, if none
/// of the slots for fits is left: those that suggestions made take theirs first.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `fitted` is NULL or good for one
/// number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_fit(
    optimizer: *mut Optimizer,
    evaluations: u32,
    fitted: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(optimizer, |body, word| {
            if !fitted.is_null() {
                word.admit(fitted, 1)?;
            }
            match body.fit(evaluations)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.offer(fitted, u32::from(found))?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// The observed point of largest posterior mean, in the user's units, and that mean.
/// SORDINO_STATUS_EMPTY if nothing was observed, or all of it failed.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or good for `dim`
/// numbers, `mean` NULL or good for one.
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
            let (best, value) = body.optimizer.best().ok_or(Status::Empty)?;
            word.copy(&best, point, dim)?;
            word.write(mean, value)?;
            Ok(Status::Ok)
        })
    }
}

/// Observations and failures in use; those told since the beginning, also what repeated another or
/// was forgotten; slots of the flash in use; and 1 if nothing was told since the last fit, else 0.
/// Each may be NULL.
///
/// # Safety
///
/// `optimizer` is NULL or what sordino_optimizer_open wrote; the other pointers are NULL or good
/// for one value.
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
            let entries = match &body.journal {
                // A write failed, and the flash could not be read since.
                Some(_) if body.stale => return Err(Status::Flash.into()),
                Some(journal) => journal.stored(),
                None => 0,
            };
            let fitted = body.optimizer.just_fitted();
            word.offer(observations, body.optimizer.len() as u32)?;
            word.offer(told, body.optimizer.told())?;
            word.offer(stored, entries)?;
            word.offer(just_fitted, u32::from(fitted))?;
            Ok(Status::Ok)
        })
    }
}
