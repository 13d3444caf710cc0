//! A search over a list of candidates that begins with a prior file, or without one.

use core::ffi::c_void;
use core::task::Poll;

use sordino_core::prior::{
    Newcomer as CoreNewcomer, NewcomerSettings as CoreSettings, storage_len,
};

use crate::memory::{Arena, Handle, Object, Plain, Word, build, look, with};
use crate::optimizer::SORDINO_CANDIDATES_MAX;
use crate::prior::{self, Prior, SORDINO_LANDMARKS_MAX};
use crate::settings::{bytes, extent};
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of a newcomer.
pub const SORDINO_NEWCOMER_HEAD: usize = 768;

type Body = CoreNewcomer<'static, f32, &'static mut [f32]>;

/// A search over a list of candidates; it maximises.
pub struct Newcomer {
    _handle: Handle<Body>,
}

impl Object for Newcomer {
    type Body = Body;
    const TAG: u32 = 0x5eed_0007;
}

// The file it reads lies beside it.
const _: () =
    assert!(size_of::<Newcomer>() + size_of::<prior::Body>() + 16 <= SORDINO_NEWCOMER_HEAD);

/// What a newcomer is told beforehand; sordino_newcomer_usual fills in what nobody needs to choose.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NewcomerSettings {
    /// Coordinates of a candidate, 1 to SORDINO_DIM_MAX; with a file as many as it has.
    pub dim: u32,
    /// Values and failures there is room for, 1 to SORDINO_CAPACITY_MAX.
    pub capacity: u32,
    /// Candidates that are looked at together, 1 to SORDINO_CANDIDATES_MAX: 1 is enough with a file
    /// that is trusted; else every hypothesis is computed again for as many. No width changes a
    /// question.
    pub width: u32,
    /// Of the questions that cover the box; any number.
    pub seed: u32,
    /// Noise variance of an evaluation as a fraction of the squared scale of the function, 1e-6 to
    /// 1: 1e-3 as usual, 1e-2 where evaluations would give another value the next time.
    pub noise_fraction: f64,
    /// Candidates one after the other, coordinates from 0 to 1; a candidate's name is its index.
    pub candidates: *const f32,
    /// How many numbers that is, not how many candidates: `dim` times 1 to SORDINO_CANDIDATES_MAX.
    /// Of an exported file it is SORDINO_PRIOR_CANDIDATES_LEN.
    pub candidates_len: usize,
    /// What sordino_prior_moments says of them, or NULL: then it is computed at every question.
    pub moments: *const f32,
    /// 2 times the number of candidates, or 0.
    pub moments_len: usize,
}

// SAFETY: integers, floats and pointers.
unsafe impl Plain for NewcomerSettings {}

/// What a newcomer was told: a candidate and its value, or that it failed.
///
/// A stored index means what the file and the list of candidates make of it: store
/// SORDINO_PRIOR_DIGEST of the exported file with the log, and erase the log if it differs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NewcomerEntry {
    /// Index of the candidate.
    pub candidate: u32,
    /// Its value, in the user's unit, larger is better; of one that failed it is not looked at.
    pub value: f32,
    /// 0 of a value that was told, anything else of a candidate that failed.
    pub failed: u32,
}

// SAFETY: integers and a float.
unsafe impl Plain for NewcomerEntry {}

/// Bytes for so many landmarks, observations and candidates that are looked at together, and how
/// many numbers.
fn size(landmarks: usize, capacity: u32, width: u32) -> Result<(usize, usize), Refused> {
    let (_, capacity) = extent(1, capacity)?;
    if !(1..=SORDINO_CANDIDATES_MAX).contains(&(width as usize)) {
        return Err(Refused::range("width", f64::from(width), "1..=10000"));
    }
    // At most 7.5·10⁷ numbers, which a device of 32 bits can address.
    let numbers = storage_len(
        landmarks.min(SORDINO_LANDMARKS_MAX),
        capacity,
        width as usize,
    );
    Ok((bytes(SORDINO_NEWCOMER_HEAD, numbers)?, numbers))
}

/// Bytes of memory a newcomer takes, as SORDINO_NEWCOMER_SIZE, with a file of so many landmarks, 0
/// without one; 0 if a number is out of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_newcomer_size(landmarks: u32, capacity: u32, width: u32) -> usize {
    if landmarks as usize > SORDINO_LANDMARKS_MAX {
        return 0;
    }
    size(landmarks as usize, capacity, width).map_or(0, |(bytes, _)| bytes)
}

/// The usual settings: width 1, seed 0, a noise fraction of 1e-3, no moments.
///
/// # Safety
///
/// `settings` is NULL or good for one value; `candidates` is not looked at.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_usual(
    dim: u32,
    capacity: u32,
    candidates: *const f32,
    candidates_len: usize,
    settings: *mut NewcomerSettings,
) -> Status {
    let CoreSettings {
        noise_fraction,
        seed,
    } = CoreSettings::default();
    let filled = NewcomerSettings {
        dim,
        capacity,
        width: 1,
        seed,
        noise_fraction,
        candidates,
        candidates_len,
        moments: core::ptr::null(),
        moments_len: 0,
    };
    // SAFETY: our caller gives its word.
    match unsafe { Word::alone() }.write(settings, filled) {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

/// Builds a search in `memory` of `len` bytes, tells it again what `log` of `log_len` entries says,
/// oldest first, and writes its address to `newcomer`. `prior` is the file to begin with, or NULL;
/// `log` is NULL and 0 for a search that begins; `refusal` may be NULL.
///
/// The state is the log: after a reset the same entries in the same order give the same questions,
/// bit for bit. A program that must survive one stores an entry before it tells it. A value that
/// was told by mistake is taken back by a log without its entry.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used; `prior`
/// is NULL or what sordino_prior_attach wrote, and its memory stays as it is while the newcomer is
/// used, as do the lists of the settings, which are NULL or good for as many numbers as are named
/// beside them; `log` is NULL or good for `log_len` entries; the other pointers are NULL or good
/// for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_open(
    memory: *mut c_void,
    len: usize,
    settings: *const NewcomerSettings,
    prior: *const Prior,
    log: *const NewcomerEntry,
    log_len: usize,
    newcomer: *mut *mut Newcomer,
    refusal: *mut Refusal,
) -> Status {
    let mut file = None;
    if !prior.is_null() {
        // SAFETY: what our caller promises is what is asked for.
        let found = unsafe {
            look(prior, |prior, _| {
                file = Some(*prior);
                Ok(Status::Ok)
            })
        };
        if found != Status::Ok {
            // SAFETY: our caller gives its word.
            return unsafe { Word::alone() }.refuse(&found.into(), refusal);
        }
    }
    // SAFETY: as above.
    unsafe {
        build(memory, len, newcomer, refusal, |arena, word| {
            let settings = word.read(settings)?;
            let log = word.list(log, log_len)?;
            if !prior.is_null() {
                word.admit(prior, 1)?;
            }
            let mut search = empty(&settings, file, arena, word)?;
            for entry in log {
                if entry.failed == 0 {
                    search.observe(entry.candidate as usize, entry.value)?;
                } else {
                    search.fail(entry.candidate as usize)?;
                }
            }
            Ok(search)
        })
    }
}

/// A search that was told nothing.
fn empty(
    settings: &NewcomerSettings,
    file: Option<prior::Body>,
    arena: &mut Arena,
    word: Word,
) -> Result<Body, Refused> {
    let (bytes, numbers) = size(
        file.map_or(0, |file| file.count()),
        settings.capacity,
        settings.width,
    )?;
    arena.require(bytes)?;
    let file = match file {
        Some(file) => {
            let numbers = file.numbers();
            for list in [
                numbers.landmarks,
                numbers.weights,
                numbers.covariance,
                file.factor(),
            ] {
                word.elsewhere(list)?;
            }
            Some(&*arena.place(file)?)
        }
        None => None,
    };
    let candidates = word.kept(settings.candidates, settings.candidates_len)?;
    let moments = word.kept(settings.moments, settings.moments_len)?;
    let NewcomerSettings {
        noise_fraction,
        seed,
        ..
    } = *settings;
    let dim = settings.dim as usize;
    let capacity = settings.capacity as usize;
    let storage = arena.numbers(numbers)?;
    let search = CoreNewcomer::new(
        candidates,
        dim,
        file,
        CoreSettings {
            noise_fraction,
            seed,
        },
        capacity,
        storage,
    )?;
    Ok(if moments.is_empty() {
        search
    } else {
        search.with_moments(moments)?
    })
}

/// The candidate to evaluate next: its index to `candidate`. At most `evaluations` more are made,
/// at least one: an evaluation is a hypothesis that is weighed, or a candidate under one;
/// SORDINO_STATUS_PENDING until the search is done, with the same candidate whatever the slices
/// are. One that was told, or failed, is not asked again while another is left.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote; `candidate` is NULL or good for one
/// number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_suggest(
    newcomer: *mut Newcomer,
    evaluations: u32,
    candidate: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, word| {
            word.admit(candidate, 1)?;
            match search.suggest_step(evaluations) {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(found) => {
                    word.write(candidate, found as u32)?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// Whether sordino_newcomer_observe would take the value `y` of a candidate: ask before it is
/// stored, because sordino_newcomer_open refuses a log with a value that was not taken. Changes
/// nothing. SORDINO_STATUS_INDEX, SORDINO_STATUS_NOT_FINITE and SORDINO_STATUS_FULL as there.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_check(
    newcomer: *mut Newcomer,
    candidate: u32,
    y: f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, _| {
            search.check(candidate as usize, y)?;
            Ok(Status::Ok)
        })
    }
}

/// Tells the value `y` of a candidate, asked for or not, for the first time or again. Larger is
/// better: of an exported file, tell SORDINO_PRIOR_SIGN times what was measured.
/// SORDINO_STATUS_INDEX, SORDINO_STATUS_NOT_FINITE and SORDINO_STATUS_FULL change nothing.
///
/// Whether a finite value can be right only the caller knows. Check the range of the sensor first,
/// and tell no sentinel such as 9999: it could be the best value of all.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_observe(
    newcomer: *mut Newcomer,
    candidate: u32,
    y: f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, _| {
            search.observe(candidate as usize, y)?;
            Ok(Status::Ok)
        })
    }
}

/// Tells that a candidate, asked for or not, has no value: it cannot work here, or could not be
/// measured. It takes a place of the capacity, is not asked again while one is left that did not
/// fail, and is never the best. The model has the worst value told so far in its place, so that the
/// search leaves a region that fails. Where only the measurement went wrong, measure again.
/// SORDINO_STATUS_INDEX and SORDINO_STATUS_FULL change nothing.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_fail(newcomer: *mut Newcomer, candidate: u32) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, _| {
            search.fail(candidate as usize)?;
            Ok(Status::Ok)
        })
    }
}

/// The candidate to use: of those that were told and never failed the one whose posterior mean is
/// largest, and that mean in the user's unit. SORDINO_STATUS_EMPTY if there is none. `mean` may be
/// NULL. A suggestion that is not done begins again.
///
/// After the last try use this one: the last suggestion is a question, and may be a poor candidate.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote; `candidate` and `mean` are NULL or good
/// for one number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_best(
    newcomer: *mut Newcomer,
    candidate: *mut u32,
    mean: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, word| {
            word.admit(candidate, 1)?;
            let (best, value) = search.best().ok_or(Status::Empty)?;
            word.offer(mean, value)?;
            word.write(candidate, best as u32)?;
            Ok(Status::Ok)
        })
    }
}

/// The posterior probability that the file counts, 0 to 1, to `probability`. While it is below ½
/// the values speak against the file, and beyond 200 values and failures a search knows more than
/// any file: a device then does better to ask a sordino_optimizer, told all values, by
/// sordino_optimizer_suggest_among. 0 without a file and with one that is not read. A suggestion
/// that is not done begins again.
///
/// All at once, not in slices: every hypothesis is weighed twice, n³/6 multiply-adds each after n
/// observations.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote; `probability` is NULL or good for one
/// number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_trust(
    newcomer: *mut Newcomer,
    probability: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(newcomer, |search, word| {
            word.admit(probability, 1)?;
            word.write(probability, search.trust())?;
            Ok(Status::Ok)
        })
    }
}

/// Values told, candidates that failed, candidates in all, and how the file is read
/// (SORDINO_READING_*); each may be NULL.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote; the other pointers are NULL or good for
/// one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_describe(
    newcomer: *const Newcomer,
    observations: *mut u32,
    failures: *mut u32,
    candidates: *mut u32,
    reading: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(newcomer, |search, word| {
            word.offer(observations, search.len() as u32)?;
            word.offer(failures, search.failed() as u32)?;
            word.offer(candidates, search.count() as u32)?;
            word.offer(reading, prior::number_of(search.reading()))?;
            Ok(Status::Ok)
        })
    }
}

/// Entry `index` of what was told, values and failures, oldest first, from 0 on.
/// SORDINO_STATUS_INDEX behind the last.
///
/// # Safety
///
/// `newcomer` is NULL or what sordino_newcomer_open wrote; `entry` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_newcomer_told(
    newcomer: *const Newcomer,
    index: usize,
    entry: *mut NewcomerEntry,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(newcomer, |search, word| {
            let told = search.log().nth(index).ok_or(Status::Index)?;
            let value = told.value();
            word.write(
                entry,
                NewcomerEntry {
                    candidate: told.candidate() as u32,
                    value: value.unwrap_or_default(),
                    failed: u32::from(value.is_none()),
                },
            )?;
            Ok(Status::Ok)
        })
    }
}
