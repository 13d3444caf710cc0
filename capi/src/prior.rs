//! A prior file: what others learned in common, as constants that stay where they are, in flash
//! say.

use core::ffi::c_void;

use sordino_core::prior::{
    LANDMARKS_MAX, PriorNumbers as CoreNumbers, PublicPrior, Reading, attach_len as factor_len,
};

use crate::memory::{Handle, Object, Plain, Word, build, look};
use crate::optimizer::SORDINO_CANDIDATES_MAX;
use crate::settings::bytes;
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of a prior file; all of its memory where the factor of its landmarks is
/// given.
pub const SORDINO_PRIOR_HEAD: usize = 192;
/// The most landmarks of a prior file.
pub const SORDINO_LANDMARKS_MAX: usize = 4096;
/// A search without a file.
pub const SORDINO_READING_ALONE: u32 = 0;
/// The self-test is below -1 or no number: the search is that without the file.
pub const SORDINO_READING_UNREAD: u32 = 1;
/// The self-test is from -1 to 1: three questions without the file, then with it.
pub const SORDINO_READING_DOUBTED: u32 = 2;
/// The self-test is 1 or more: the search begins where the file believes the best. Below 3 its
/// second question covers the box.
pub const SORDINO_READING_TRUSTED: u32 = 3;

pub(crate) type Body = PublicPrior<'static, f32>;

/// A prior file that was checked.
pub struct Prior {
    _handle: Handle<Body>,
}

impl Object for Prior {
    type Body = Body;
    const TAG: u32 = 0x5eed_0006;
}

const _: () = assert!(size_of::<Prior>() + 8 <= SORDINO_PRIOR_HEAD);
const _: () = assert!(SORDINO_LANDMARKS_MAX == LANDMARKS_MAX);

/// The numbers of a prior file, as `sordino prior export --lang c` writes them. Lengths are in
/// numbers, not in bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PriorNumbers {
    /// Coordinates of a landmark, 1 to SORDINO_DIM_MAX.
    pub dim: u32,
    /// Lengthscale of the file's kernel, positive.
    pub lengthscale: f32,
    /// The file's self-test: it says how the file is read (SORDINO_READING_*).
    pub self_test: f32,
    /// Landmarks one after the other, from 0 to 1: at most SORDINO_LANDMARKS_MAX of `dim`
    /// coordinates.
    pub landmarks: *const f32,
    /// `dim` times the number of landmarks.
    pub landmarks_len: usize,
    /// A weight for each landmark.
    pub weights: *const f32,
    /// The number of landmarks.
    pub weights_len: usize,
    /// Covariance of the weights: the lower triangle, row by row.
    pub covariance: *const f32,
    /// SORDINO_PACKED of the number of landmarks.
    pub covariance_len: usize,
    /// What sordino_prior_factor says of this file, or NULL: then it is computed, and kept in the
    /// object's memory.
    pub factor: *const f32,
    /// SORDINO_PACKED of the number of landmarks, or 0.
    pub factor_len: usize,
}

// SAFETY: integers, floats and pointers.
unsafe impl Plain for PriorNumbers {}

impl PriorNumbers {
    /// These numbers where they are, without a factor.
    pub(crate) fn of_core(numbers: &CoreNumbers<'_, f32>) -> Self {
        let CoreNumbers {
            dim,
            landmarks,
            lengthscale,
            weights,
            covariance,
            self_test,
        } = *numbers;
        PriorNumbers {
            dim: dim as u32,
            lengthscale,
            self_test,
            landmarks: landmarks.as_ptr(),
            landmarks_len: landmarks.len(),
            weights: weights.as_ptr(),
            weights_len: weights.len(),
            covariance: covariance.as_ptr(),
            covariance_len: covariance.len(),
            factor: core::ptr::null(),
            factor_len: 0,
        }
    }
}

/// Bytes of memory a prior file takes, as SORDINO_PRIOR_SIZE, without a factor that is given; 0 if
/// `landmarks` is out of range.
// SAFETY: the name begins with that of the library; it takes a number and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_prior_size(landmarks: u32) -> usize {
    if !(1..=SORDINO_LANDMARKS_MAX).contains(&(landmarks as usize)) {
        return 0;
    }
    bytes(SORDINO_PRIOR_HEAD, factor_len(landmarks as usize)).unwrap_or(0)
}

/// Checks the numbers of a prior file, builds it in `memory` of `len` bytes, and writes its address
/// to `prior`. `refusal` may be NULL. It is called once, after a reset say; the numbers stay where
/// they are.
///
/// Without a factor `scratch` may be NULL and the memory holds SORDINO_PRIOR_SIZE bytes. With one
/// it holds SORDINO_PRIOR_HEAD, and `scratch` of SORDINO_PACKED(landmarks) numbers is free
/// afterwards, for a newcomer say.
///
/// SORDINO_STATUS_RANGE names the list, the number and what it may be, NaN included,
/// SORDINO_STATUS_LENGTH is a list of another length, SORDINO_STATUS_SINGULAR two landmarks that
/// are nearly the same.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used;
/// `numbers`, `prior` and `refusal` are NULL or good for one value, its lists NULL or good for as
/// many numbers as are named beside them, which stay as they are while the object, or a newcomer
/// with it, is used; `scratch` is NULL or good for `scratch_len` numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_prior_attach(
    memory: *mut c_void,
    len: usize,
    numbers: *const PriorNumbers,
    scratch: *mut f32,
    scratch_len: usize,
    prior: *mut *mut Prior,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, prior, refusal, |arena, word| {
            let given = word.read(numbers)?;
            let numbers = lists(&given, word)?;
            let count = numbers.weights.len().min(SORDINO_LANDMARKS_MAX);
            if given.factor_len == 0 {
                arena.require(bytes(SORDINO_PRIOR_HEAD, factor_len(count))?)?;
                let factor = arena.numbers(factor_len(count))?;
                return Ok(PublicPrior::attach(numbers, factor)?);
            }
            arena.require(SORDINO_PRIOR_HEAD)?;
            let factor = word.kept(given.factor, given.factor_len)?;
            for list in [
                numbers.landmarks,
                numbers.weights,
                numbers.covariance,
                factor,
            ] {
                word.apart(list.as_ptr(), list.len(), scratch, scratch_len)?;
            }
            if scratch_len < factor_len(count) {
                let admissible = "SORDINO_PACKED(landmarks) numbers, at least";
                return Err(Refused::short("scratch_len", scratch_len, admissible));
            }
            Ok(PublicPrior::attach_with_factor(
                numbers,
                factor,
                word.scratch(scratch, scratch_len)?,
            )?)
        })
    }
}

/// The lists of a file, which the object keeps.
fn lists(given: &PriorNumbers, word: Word) -> Result<CoreNumbers<'static, f32>, Refused> {
    Ok(CoreNumbers {
        dim: given.dim as usize,
        landmarks: word.kept(given.landmarks, given.landmarks_len)?,
        lengthscale: given.lengthscale,
        weights: word.kept(given.weights, given.weights_len)?,
        covariance: word.kept(given.covariance, given.covariance_len)?,
        self_test: given.self_test,
    })
}

/// The number of a reading.
pub(crate) const fn number_of(reading: Reading) -> u32 {
    match reading {
        Reading::Alone => SORDINO_READING_ALONE,
        Reading::Unread => SORDINO_READING_UNREAD,
        Reading::Doubted => SORDINO_READING_DOUBTED,
        Reading::Trusted => SORDINO_READING_TRUSTED,
    }
}

/// How the file is read (SORDINO_READING_*), its landmarks and their coordinates; each may be NULL.
///
/// # Safety
///
/// `prior` is NULL or what sordino_prior_attach wrote; the other pointers are NULL or good for one
/// value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_prior_describe(
    prior: *const Prior,
    reading: *mut u32,
    landmarks: *mut u32,
    dim: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(prior, |prior, word| {
            word.offer(reading, number_of(Reading::of(Some(prior.self_test()))))?;
            word.offer(landmarks, prior.count() as u32)?;
            word.offer(dim, prior.dim() as u32)?;
            Ok(Status::Ok)
        })
    }
}

/// The factor of the landmarks to `factor`, SORDINO_PACKED(landmarks) numbers: kept as constants,
/// they save as much memory in sordino_prior_attach. They are the same bits on every machine.
///
/// # Safety
///
/// `prior` is NULL or what sordino_prior_attach wrote; `factor` is NULL or good for `len` numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_prior_factor(
    prior: *const Prior,
    factor: *mut f32,
    len: usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(prior, |prior, word| {
            word.copy(prior.factor(), factor, len)?;
            Ok(Status::Ok)
        })
    }
}

/// What the file says of every candidate, its mean and its variance, to `moments` of 2 times
/// `count` numbers. A newcomer that is given them, in flash say, answers a few times faster.
/// `candidates` are `count` points of the file's dimension.
///
/// # Safety
///
/// `prior` is NULL or what sordino_prior_attach wrote; `candidates` is NULL or good for `count`
/// times the dimension numbers, `moments` NULL or good for 2 times `count`, `scratch` NULL or good
/// for `scratch_len`, at least as many as there are landmarks.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_prior_moments(
    prior: *const Prior,
    candidates: *const f32,
    count: usize,
    moments: *mut f32,
    scratch: *mut f32,
    scratch_len: usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(prior, |prior, word| {
            if count == 0 || count > SORDINO_CANDIDATES_MAX {
                return Err(Status::Length.into());
            }
            if scratch_len < prior.count() {
                return Err(Status::TooShort.into());
            }
            let room = 2 * count;
            let needed = prior.count();
            word.apart(moments.cast_const(), room, scratch, needed)?;
            word.apart(candidates, count * prior.dim(), scratch, needed)?;
            let (list, out) = word.apart(candidates, count * prior.dim(), moments, room)?;
            prior.moments(list, out, word.scratch(scratch, needed)?)?;
            Ok(Status::Ok)
        })
    }
}
