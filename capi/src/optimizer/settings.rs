//! What an optimizer is told beforehand, and what follows from it: sizes, settings of core, use of
//! the flash.

use sordino_core::digest::Digest;
use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{Acquisition, LogEntry, Settings, storage_len};
use sordino_core::snapshot::max_bytes;
use sordino_core::surrogate::exact::WhenFull;

use crate::journal::{Layout, SORDINO_OPTIMIZER_RING};
use crate::memory::{Plain, Word};
use crate::settings::{
    SORDINO_CAPACITY_MAX, SORDINO_DIM_MAX, bytes, extent, number_of, shape, when_full,
};
use crate::status::{Refused, Status};

/// Bytes before the numbers of an optimizer.
pub const SORDINO_OPTIMIZER_HEAD: usize = 1536;
/// Points that its search keeps.
pub const SORDINO_SEARCH_POINTS: usize = 8;
/// Bytes of a slot of its log.
pub const SORDINO_OPTIMIZER_SLOT: usize = 96;
/// The acquisition that asks where an improvement is expected.
pub const SORDINO_EXPECTED_IMPROVEMENT: u32 = 0;
/// The acquisition that asks where mean + width * standard deviation is largest.
pub const SORDINO_UPPER_CONFIDENCE_BOUND: u32 = 1;

const _: () = assert!(max_bytes::<LogEntry<f32>>() == SORDINO_OPTIMIZER_SLOT);

/// What an optimizer is told beforehand; sordino_optimizer_usual fills in what is good enough for a
/// first run.
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
    /// Of SORDINO_UPPER_CONFIDENCE_BOUND what the standard deviation is multiplied by.
    pub width: f64,
    /// Kernel: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
    pub shape: u32,
    /// SORDINO_EXPECTED_IMPROVEMENT or SORDINO_UPPER_CONFIDENCE_BOUND.
    pub acquisition: u32,
    /// Values that are known before anything is modelled: until then points are spread over the
    /// box; 0 means 1 per axis and 1 more, and 3 at least.
    pub initial_points: u32,
    /// Points that are spread over the box in all: those beyond the initial ones are every fifth
    /// question after them; 0 means 2 per axis and 2 more, or the initial points if those are more.
    pub filling_points: u32,
    /// What happens when all rows are in use: 0 refuses, 1 forgets the oldest.
    pub drop_oldest: u32,
    /// Of the initial points and of what a search looks at; any number.
    pub seed: u32,
    /// For values that drift: observations after which one counts half; 0: it never does.
    pub half_life: u32,
    /// Slots of the flash beside those of `capacity` observations: fits that can be stored, one
    /// slot each, also those that suggestions make, 0 to SORDINO_CAPACITY_MAX; suggestions go on
    /// without, and after a reset make theirs again; with drop_oldest any number of fits are, in
    /// SORDINO_OPTIMIZER_RING slots, the least that is admitted then. Slots 0 to
    /// SORDINO_OPTIMIZER_SLOTS(capacity, fits) - 1 are used; without a flash none.
    pub fits: u32,
}

// SAFETY: integers, floats and arrays of them.
unsafe impl Plain for OptimizerSettings {}

pub(super) fn size(dim: u32, capacity: u32) -> Result<usize, Refused> {
    let (dim, capacity) = extent(dim, capacity)?;
    Ok(bytes(SORDINO_OPTIMIZER_HEAD, storage_len(dim, capacity))?)
}

/// Bytes of memory an optimizer takes, as SORDINO_OPTIMIZER_SIZE; 0 if `dim` or `capacity` is out
/// of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_optimizer_size(dim: u32, capacity: u32) -> usize {
    size(dim, capacity).unwrap_or(0)
}

/// The usual settings: Matérn 5/2, expected improvement, the box from 0 to 1 on every axis, as many
/// fits in the flash as observations.
///
/// # Safety
///
/// `settings` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_optimizer_usual(
    dim: u32,
    capacity: u32,
    settings: *mut OptimizerSettings,
) -> Status {
    let usual = Settings::default();
    let filled = OptimizerSettings {
        dim,
        capacity,
        low: [0.0; SORDINO_DIM_MAX],
        high: [1.0; SORDINO_DIM_MAX],
        width: 2.0,
        shape: number_of(usual.shape),
        acquisition: SORDINO_EXPECTED_IMPROVEMENT,
        initial_points: usual.initial_points,
        filling_points: usual.filling_points,
        seed: usual.seed,
        half_life: usual.half_life,
        drop_oldest: u32::from(usual.when_full == WhenFull::DropOldest),
        fits: capacity.clamp(SORDINO_OPTIMIZER_RING as u32, SORDINO_CAPACITY_MAX as u32),
    };
    // SAFETY: our caller gives its word.
    match unsafe { Word::alone() }.write(settings, filled) {
        Ok(()) => Status::Ok,
        Err(status) => status,
    }
}

pub(super) fn settings(s: &OptimizerSettings) -> Result<Settings, Refused> {
    let acquisition = Acquisition::numbered(s.acquisition, s.width)
        .ok_or_else(|| Refused::range("acquisition", f64::from(s.acquisition), "0 or 1"))?;
    Ok(Settings {
        shape: shape(s.shape)?,
        initial_points: s.initial_points,
        filling_points: s.filling_points,
        acquisition,
        search: None,
        when_full: when_full(s.drop_oldest)?,
        seed: s.seed,
        half_life: s.half_life,
    })
}

pub(super) fn domain(s: &OptimizerSettings, dim: usize) -> Result<BoxDomain, Refused> {
    let mut bounds = [(0.0, 1.0); SORDINO_DIM_MAX];
    bounds
        .iter_mut()
        .zip(s.low.iter().zip(&s.high))
        .for_each(|(to, (low, high))| *to = (*low, *high));
    Ok(BoxDomain::new(bounds.get(..dim).unwrap_or(&[]))?)
}

/// How the flash is used, and how many slots of it.
pub(super) fn layout(s: &OptimizerSettings) -> Result<(Layout, u32), Refused> {
    let (_, capacity) = extent(s.dim, s.capacity)?;
    let most = SORDINO_CAPACITY_MAX as u32;
    let ring = SORDINO_OPTIMIZER_RING as u32;
    let (layout, least, used, range) = match when_full(s.drop_oldest)? {
        WhenFull::Refuse => (Layout::Log, 0, s.fits, "0..=4096"),
        WhenFull::DropOldest => (
            Layout::ring(s.capacity),
            ring,
            ring,
            "3..=4096 with drop_oldest",
        ),
    };
    if !(least..=most).contains(&s.fits) {
        return Err(Refused::range("fits", f64::from(s.fits), range));
    }
    Ok((layout, capacity as u32 + used))
}

/// What must not change under a flash: everything but how many slots it has.
pub(super) fn agreement(
    domain: &BoxDomain,
    settings: &Settings,
    capacity: u32,
    layout: Layout,
) -> Digest {
    let name = match layout {
        Layout::Log => "sordino-c optimizer",
        Layout::Ring { .. } => "sordino-c optimizer, ring",
    };
    Digest::of(&(name, domain, settings, capacity))
}
