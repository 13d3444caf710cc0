//! The exact Gaussian process: observe points and values, ask for mean and variance anywhere.

use core::ffi::c_void;

use sordino_core::kernel::StationaryKernel;
use sordino_core::surrogate::exact::{ExactGp, storage_len};
use sordino_core::surrogate::{Observed, Posterior};

use crate::memory::{Handle, Object, Plain, build, look, with};
use crate::settings::{bytes, extent, shape, when_full};
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of a Gaussian process.
pub const SORDINO_GP_HEAD: usize = 192;

type Body = ExactGp<f32, StationaryKernel<f32>, &'static mut [f32]>;

/// An exact Gaussian process with rows appended one by one.
pub struct Gp {
    _handle: Handle<Body>,
}

impl Object for Gp {
    type Body = Body;
    const TAG: u32 = 0x5eed_0001;
}

const _: () = assert!(size_of::<Gp>() + 8 <= SORDINO_GP_HEAD);

/// What a Gaussian process is told beforehand.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GpSettings {
    /// Coordinates of a point, 1 to SORDINO_DIM_MAX.
    pub dim: u32,
    /// Observations there is room for, 1 to SORDINO_CAPACITY_MAX.
    pub capacity: u32,
    /// Kernel: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
    pub shape: u32,
    /// What happens when all rows are in use: 0 refuses, 1 forgets the oldest.
    pub drop_oldest: u32,
    /// Lengthscale of every coordinate, positive.
    pub lengthscale: f32,
    /// Variance of the function, positive, unit y squared.
    pub signal_variance: f32,
    /// Variance of the noise of an observation, not negative, unit y squared.
    pub noise_variance: f32,
    /// Constant mean of the prior, unit y.
    pub prior_mean: f32,
}

// SAFETY: integers and floats.
unsafe impl Plain for GpSettings {}

fn size(dim: u32, capacity: u32) -> Result<usize, Refused> {
    let (dim, capacity) = extent(dim, capacity)?;
    Ok(bytes(SORDINO_GP_HEAD, storage_len(dim, capacity))?)
}

/// Bytes of memory a Gaussian process takes, as SORDINO_GP_SIZE; 0 if `dim` or `capacity` is out of
/// range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_gp_size(dim: u32, capacity: u32) -> usize {
    size(dim, capacity).unwrap_or(0)
}

/// Builds an empty Gaussian process in `memory` of `len` bytes and writes its address to `gp`.
/// `refusal` may be NULL.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used;
/// `settings`, `gp` and `refusal` are NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_new(
    memory: *mut c_void,
    len: usize,
    settings: *const GpSettings,
    gp: *mut *mut Gp,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, gp, refusal, |arena, word| {
            let s = word.read(settings)?;
            arena.require(size(s.dim, s.capacity)?)?;
            let (dim, capacity) = extent(s.dim, s.capacity)?;
            let kernel =
                StationaryKernel::with_shape(shape(s.shape)?, s.lengthscale, s.signal_variance)?;
            let numbers = arena.numbers(storage_len(dim, capacity))?;
            let gp = ExactGp::new(kernel, s.noise_variance, dim, capacity, numbers)?;
            Ok(gp
                .with_prior_mean(s.prior_mean)?
                .when_full(when_full(s.drop_oldest)?))
        })
    }
}

/// Adds the value `y` of the point of `dim` coordinates at `point`. One that repeats another at
/// working precision is averaged into it; `row` then gets the index of that one, else that of the
/// new row. `row` may be NULL.
///
/// # Safety
///
/// `gp` is NULL or what sordino_gp_new wrote; `point` is NULL or good for `dim` numbers, `row` NULL
/// or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_observe(
    gp: *mut Gp,
    point: *const f32,
    dim: usize,
    y: f32,
    row: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(gp, |gp, word| {
            let index = match gp.observe(word.list(point, dim)?, y)? {
                Observed::Appended => gp.len().saturating_sub(1),
                Observed::Merged { index } => index,
            };
            word.offer(row, index as u32)?;
            Ok(Status::Ok)
        })
    }
}

/// Mean and variance of the function at a point; the noise of an observation is not added.
///
/// # Safety
///
/// `gp` is NULL or what sordino_gp_new wrote; `point` is NULL or good for `dim` numbers, `mean` and
/// `variance` NULL or good for one.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_posterior(
    gp: *mut Gp,
    point: *const f32,
    dim: usize,
    mean: *mut f32,
    variance: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(gp, |gp, word| {
            word.admit(mean, 1)?;
            word.admit(variance, 1)?;
            if mean == variance {
                return Err(Status::Overlap.into());
            }
            let posterior: Posterior<f32> = gp.posterior(word.list(point, dim)?)?;
            word.write(mean, posterior.mean)?;
            word.write(variance, posterior.variance)?;
            Ok(Status::Ok)
        })
    }
}

/// Removes observation `row`; later ones move up.
///
/// # Safety
///
/// `gp` is NULL or what sordino_gp_new wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_remove(gp: *mut Gp, row: u32) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(gp, |gp, _| {
            gp.remove(row as usize)?;
            Ok(Status::Ok)
        })
    }
}

/// Forgets all observations.
///
/// # Safety
///
/// `gp` is NULL or what sordino_gp_new wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_clear(gp: *mut Gp) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(gp, |gp, _| {
            gp.clear();
            Ok(Status::Ok)
        })
    }
}

/// Rows in use (merged observations count once), and the logarithm of the likelihood of all
/// observations; each may be NULL.
///
/// # Safety
///
/// `gp` is NULL or what sordino_gp_new wrote; `rows` and `log_likelihood` are NULL or good for one
/// value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_gp_describe(
    gp: *const Gp,
    rows: *mut u32,
    log_likelihood: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(gp, |gp, word| {
            word.offer(rows, gp.len() as u32)?;
            if !log_likelihood.is_null() {
                word.write(log_likelihood, gp.log_marginal_likelihood())?;
            }
            Ok(Status::Ok)
        })
    }
}
