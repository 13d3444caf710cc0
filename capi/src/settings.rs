//! Words of settings that C gives as numbers: every number that is none is refused by name.

use sordino_core::domain::DIM_MAX;
use sordino_core::kernel::Stationary;
use sordino_core::surrogate::exact::WhenFull;

use crate::status::{Refused, Status};

/// Squared exponential kernel.
pub const SORDINO_SQUARED_EXPONENTIAL: u32 = 0;
/// Matérn kernel, 1/2.
pub const SORDINO_MATERN_12: u32 = 1;
/// Matérn kernel, 3/2.
pub const SORDINO_MATERN_32: u32 = 2;
/// Matérn kernel, 5/2.
pub const SORDINO_MATERN_52: u32 = 3;
/// The most coordinates of a point.
pub const SORDINO_DIM_MAX: usize = 16;
/// The most observations that a Gaussian process or an optimizer has room for.
pub const SORDINO_CAPACITY_MAX: usize = 4096;

const _: () = assert!(SORDINO_DIM_MAX == DIM_MAX);

/// The kernel that a number names.
pub(crate) fn shape(number: u32) -> Result<Stationary, Refused> {
    match number {
        SORDINO_SQUARED_EXPONENTIAL => Ok(Stationary::SquaredExponential),
        SORDINO_MATERN_12 => Ok(Stationary::Matern12),
        SORDINO_MATERN_32 => Ok(Stationary::Matern32),
        SORDINO_MATERN_52 => Ok(Stationary::Matern52),
        _ => Err(Refused::range(
            "shape",
            f64::from(number),
            "SORDINO_SQUARED_EXPONENTIAL to SORDINO_MATERN_52",
        )),
    }
}

/// The number of a kernel.
pub(crate) const fn number_of(shape: Stationary) -> u32 {
    match shape {
        Stationary::SquaredExponential => SORDINO_SQUARED_EXPONENTIAL,
        Stationary::Matern12 => SORDINO_MATERN_12,
        Stationary::Matern32 => SORDINO_MATERN_32,
        Stationary::Matern52 => SORDINO_MATERN_52,
    }
}

/// Whether a number says yes.
pub(crate) fn yes(field: &'static str, number: u32) -> Result<bool, Refused> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Refused::range(field, f64::from(number), "0 or 1")),
    }
}

/// What happens when all rows are in use.
pub(crate) fn when_full(drop_oldest: u32) -> Result<WhenFull, Refused> {
    Ok(if yes("drop_oldest", drop_oldest)? {
        WhenFull::DropOldest
    } else {
        WhenFull::Refuse
    })
}

/// A model of this many coordinates and rows can be addressed on every target.
pub(crate) fn extent(dim: u32, capacity: u32) -> Result<(usize, usize), Refused> {
    if !(1..=SORDINO_DIM_MAX).contains(&(dim as usize)) {
        return Err(Refused::range("dim", f64::from(dim), "1..=16"));
    }
    if !(1..=SORDINO_CAPACITY_MAX).contains(&(capacity as usize)) {
        return Err(Refused::range("capacity", f64::from(capacity), "1..=4096"));
    }
    Ok((dim as usize, capacity as usize))
}

/// The sum of a head and `count` numbers, in bytes.
pub(crate) fn bytes(head: usize, count: usize) -> Result<usize, Status> {
    count
        .checked_mul(4)
        .and_then(|numbers| numbers.checked_add(head))
        .ok_or(Status::TooShort)
}
