//! What is searched: real numbers, whole numbers, categories and ordered levels, in the units of a
//! user.
//!
//! A [`Space`] generalises [`BoxDomain`]: everything above it works on the unit box, and the space
//! translates. Names of axes and of choices belong to the host; here a choice is its number,
//! from 0. An axis may be *context*: its value is given with every question (the load, the
//! temperature outside) and is not searched.
//!
//! **Equation**: an axis with ends a < b has the unit coordinate u(x) = (x − a)/(b − a), or (ln x −
//! ln a)/(ln b − ln a) on a logarithmic scale. The numbers low..=high of a whole axis have the ends
//! low − ½ and high + ½; the choices 0..k of a category, and ordered levels, −½ and k − ½. The
//! value of u is the number whose cell holds u, so every one of them has an equal share (of the
//! logarithm, where that is taken), and its own coordinate is the middle of its cell. That is the
//! rounding of Garrido-Merchán and Hernández-Lobato, 2020: a surrogate that sees snapped
//! coordinates alone believes the same of everything that rounds to one question.
//!
//! **Numerics**: coordinates are computed in the format asked for, with the logarithm of
//! [`crate::math`], hence the same bits on every target. Whole numbers and choices come back
//! exactly; [`Space::check_format`] refuses what a format does not resolve.
//!
//! ```
//! use sordino_core::space::{Axis, Space};
//!
//! let space = Space::new(&[Axis::real(1e-4, 1.0).log(), Axis::integer(1, 8), Axis::category(3)])?;
//! let mut point = [0.5f64, 0.3, 0.9];
//! space.snap(&mut point); // coordinates of a question that can be asked
//! let asked: Vec<f64> = (0..3).filter_map(|axis| space.from_unit(axis, point[axis])).collect();
//! assert!((asked[0] - 0.01).abs() < 1e-15);
//! assert_eq!(asked[1..], [3.0, 2.0]);
//! assert!(space.check(&asked).is_ok());
//! let refused = space.check(&[0.01f64, 2.5, 0.0]).unwrap_err();
//! assert_eq!(refused.to_string(), "axis 1: 2.5 is not a whole number from 1 to 8");
//! # Ok::<(), sordino_core::space::SpaceError>(())
//! ```

mod error;
#[cfg(test)]
mod tests;

pub use error::SpaceError;

use serde::{Deserialize, Serialize};

use crate::domain::{BoxDomain, DIM_MAX, below, collected};
use crate::math::Scalar;

/// The most choices of a category, and the most ordered levels.
pub const CHOICES_MAX: u32 = 1 << 16;

/// What the values of an axis are.
///
/// **Example**: that of [`Axis`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Kind {
    /// Real numbers from low to high, both finite, low < high.
    Real {
        /// The least value, in the user's unit.
        low: f64,
        /// The largest value, in the user's unit.
        high: f64,
    },
    /// Whole numbers low..=high, low < high.
    Integer {
        /// The least value.
        low: i32,
        /// The largest value.
        high: i32,
    },
    /// One of `choices` things without an order, called 0..`choices`; 1 to [`CHOICES_MAX`].
    Category {
        /// Number of choices.
        choices: u32,
    },
    /// One of `levels` things in an order, at equal distances, called 0..`levels`; 1 to
    /// [`CHOICES_MAX`].
    Ordinal {
        /// Number of levels.
        levels: u32,
    },
}

/// One input: what its values are, on which scale, and whether it is searched.
///
/// ```
/// use sordino_core::space::{Axis, Kind};
/// let width = Axis::integer(1, 1024).log();
/// assert_eq!((width.kind, width.log, width.context), (Kind::Integer { low: 1, high: 1024 }, true, false));
/// assert!(Axis::real(-20.0, 40.0).given().context); // the temperature outside
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What the values are.
    pub kind: Kind,
    /// Whether distances are those of the logarithm; for positive real and whole numbers.
    pub log: bool,
    /// Whether the value is given with every question and not searched.
    pub context: bool,
}

impl Axis {
    /// Real numbers from `low` to `high`.
    pub const fn real(low: f64, high: f64) -> Self {
        Axis {
            kind: Kind::Real { low, high },
            log: false,
            context: false,
        }
    }

    /// Whole numbers from `low` to `high`, both included.
    pub const fn integer(low: i32, high: i32) -> Self {
        Axis {
            kind: Kind::Integer { low, high },
            log: false,
            context: false,
        }
    }

    /// One of `choices` things without an order.
    pub const fn category(choices: u32) -> Self {
        Axis {
            kind: Kind::Category { choices },
            log: false,
            context: false,
        }
    }

    /// One of `levels` things in an order.
    pub const fn ordinal(levels: u32) -> Self {
        Axis {
            kind: Kind::Ordinal { levels },
            log: false,
            context: false,
        }
    }

    /// The same on a logarithmic scale.
    pub const fn log(self) -> Self {
        Axis { log: true, ..self }
    }

    /// The same as context: given with every question, not searched.
    pub const fn given(self) -> Self {
        Axis {
            context: true,
            ..self
        }
    }

    /// Number of different values; `None` if they are real.
    pub const fn count(&self) -> Option<u32> {
        match self.kind {
            Kind::Real { .. } => None,
            // Below 2³² for every pair of i32 but the widest, which `Space::new` refuses.
            Kind::Integer { low, high } => Some((high.wrapping_sub(low) as u32).wrapping_add(1)),
            Kind::Category { choices: count } | Kind::Ordinal { levels: count } => Some(count),
        }
    }

    /// Whether it is a category, whose choices have no order: two are equal or they are not.
    pub const fn is_category(&self) -> bool {
        matches!(self.kind, Kind::Category { .. })
    }

    fn check(&self, axis: usize) -> Result<(), SpaceError> {
        let (positive, number) = match self.kind {
            Kind::Real { low, high } if !below(low, high) => {
                return Err(SpaceError::Bounds { axis, low, high });
            }
            // By its sign: a device links no comparison of f64 for it.
            Kind::Real { low, .. } => (low.to_bits() >> 63 == 0 && low.to_bits() != 0, true),
            Kind::Integer { low, high }
                if low >= high || high.checked_sub(low).is_none_or(|side| side == i32::MAX) =>
            {
                return Err(SpaceError::Integers { axis, low, high });
            }
            Kind::Integer { low, .. } => (low > 0, true),
            Kind::Category { choices: count } | Kind::Ordinal { levels: count } => {
                if !(1..=CHOICES_MAX).contains(&count) {
                    return Err(SpaceError::Choices { axis, count });
                }
                (false, false)
            }
        };
        if self.log && !(positive && number) {
            return Err(SpaceError::Logarithm { axis });
        }
        Ok(())
    }

    /// The least value in the format of `T`.
    fn low<T: Scalar>(&self) -> T {
        match self.kind {
            Kind::Real { low, .. } => T::from_f64(low),
            Kind::Integer { low, .. } => whole(low),
            Kind::Category { .. } | Kind::Ordinal { .. } => T::ZERO,
        }
    }

    /// The largest value in the format of `T`.
    fn high<T: Scalar>(&self) -> T {
        match self.kind {
            Kind::Real { high, .. } => T::from_f64(high),
            Kind::Integer { high, .. } => whole(high),
            Kind::Category { choices: count } | Kind::Ordinal { levels: count } => {
                T::from_u32(count.saturating_sub(1))
            }
        }
    }

    /// What distances are measured of: x, or ln x.
    fn scaled<T: Scalar>(&self, x: T) -> T {
        if self.log { x.ln() } else { x }
    }

    /// The ends of the axis, scaled: those of its values, half a step further out if they are
    /// counted.
    fn ends<T: Scalar>(&self) -> (T, T) {
        let out = if self.count().is_some() {
            T::ONE / (T::ONE + T::ONE)
        } else {
            T::ZERO
        };
        (
            self.scaled(self.low::<T>() - out),
            self.scaled(self.high::<T>() + out),
        )
    }

    /// The value whose number is `index`, from the least one.
    fn nth<T: Scalar>(&self, index: u32) -> T {
        match self.kind {
            Kind::Integer { low, .. } => whole(low.wrapping_add_unsigned(index)),
            _ => T::from_u32(index),
        }
    }

    /// The number, from the least one, of a value of this axis; of any other the next below that
    /// there is.
    fn index<T: Scalar>(&self, value: T) -> u32 {
        let last = self.count().unwrap_or(1).saturating_sub(1);
        (value - self.low::<T>()).to_u32().min(last)
    }

    fn unit_of<T: Scalar>(&self, value: T) -> T {
        let (a, b) = self.ends::<T>();
        ((self.scaled(value) - a) / (b - a))
            .max(T::ZERO)
            .min(T::ONE)
    }

    fn value_at<T: Scalar>(&self, unit: T) -> T {
        let (a, b) = self.ends::<T>();
        let inside = |x: T| x.max(self.low()).min(self.high());
        let Some(count) = self.count() else {
            let at = a + unit * (b - a);
            return inside(if self.log { at.exp() } else { at });
        };
        if !self.log {
            return self.nth(
                (unit * T::from_u32(count))
                    .to_u32()
                    .min(count.saturating_sub(1)),
            );
        }
        let half = T::ONE / (T::ONE + T::ONE);
        self.nth(self.index((a + unit * (b - a)).exp() + half))
    }

    fn check_value<T: Scalar>(&self, axis: usize, x: T) -> Result<(), SpaceError> {
        let low = self.low::<T>();
        let high = self.high::<T>();
        // Written so that NaN is outside.
        let inside = x >= low && x <= high;
        let holds = inside && (self.count().is_none() || self.nth::<T>(self.index(x)) == x);
        if holds {
            Ok(())
        } else {
            Err(SpaceError::Value {
                axis,
                value: x.to_f64(),
                kind: self.kind,
            })
        }
    }

    /// Whether a format tells every two values of this axis apart, and their coordinates.
    fn is_resolved<T: Scalar>(&self) -> bool {
        let low = self.low::<T>();
        let high = self.high::<T>();
        let (a, b) = self.ends::<T>();
        let Some(count) = self.count() else {
            let side = b - a;
            return low < high && side > T::ZERO && side.is_finite();
        };
        if count < 2 {
            return true;
        }
        // Neighbours are nearest to each other at the upper end, in both scales, and farthest from
        // 0 at one of both.
        let apart = self.unit_of(high) - self.unit_of(high - T::ONE);
        let margin = T::from_u32(8) * T::EPSILON;
        let exact = |x: i32| x.unsigned_abs() <= 1 << 24 || T::BYTES == 8;
        let whole = match self.kind {
            Kind::Integer { low, high } => exact(low) && exact(high),
            _ => true,
        };
        whole && apart > margin
    }
}

fn whole<T: Scalar>(x: i32) -> T {
    let size = T::from_u32(x.unsigned_abs());
    if x < 0 { -size } else { size }
}

/// Up to [`DIM_MAX`] axes, of which at least one is searched.
///
/// A point in the user's units has one number an axis, the number of the choice for a category or a
/// level; a unit point has one coordinate in [0, 1] an axis.
///
/// ```
/// use sordino_core::space::{Axis, Space};
/// let space = Space::new(&[Axis::integer(1, 4), Axis::category(3), Axis::real(0.0, 1.0).given()])?;
/// assert_eq!((space.dim(), space.count()), (3, Some(12)));
/// assert!(space.searched().eq([0, 1]));
/// let depth = space.to_unit(0, 3.0f32).unwrap_or(0.0);
/// assert_eq!(depth, 0.625); // the middle of the third quarter
/// assert!(space.neighbours(0, depth).eq([0.375, 0.875]));
/// # Ok::<(), sordino_core::space::SpaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Axes", into = "Axes")]
pub struct Space {
    axes: Axes,
}

type Axes = heapless::Vec<Axis, DIM_MAX>;

impl TryFrom<Axes> for Space {
    type Error = SpaceError;
    fn try_from(axes: Axes) -> Result<Self, SpaceError> {
        Space::new(&axes)
    }
}

impl From<Space> for Axes {
    fn from(space: Space) -> Self {
        space.axes
    }
}

impl From<&BoxDomain> for Space {
    /// Real numbers on a linear scale, all of them searched.
    fn from(domain: &BoxDomain) -> Self {
        let bounds = (0..domain.dim()).filter_map(|axis| domain.bounds(axis));
        Space {
            axes: collected(bounds.map(|(low, high)| Axis::real(low, high))),
        }
    }
}

impl From<BoxDomain> for Space {
    fn from(domain: BoxDomain) -> Self {
        Space::from(&domain)
    }
}

impl Space {
    /// The space with these axes.
    ///
    /// **Errors**: [`SpaceError`] naming the first axis that is none: no axis or too many, none
    /// that is searched, bounds that are not finite with low < high, a logarithm of what is not
    /// positive or has no scale, no choice or too many.
    pub fn new(axes: &[Axis]) -> Result<Self, SpaceError> {
        let list: Axes = match heapless::Vec::from_slice(axes) {
            Ok(list) if !axes.is_empty() => list,
            _ => return Err(SpaceError::Dimension { dim: axes.len() }),
        };
        for (axis, what) in axes.iter().enumerate() {
            what.check(axis)?;
        }
        if axes.iter().all(|axis| axis.context) {
            return Err(SpaceError::NothingSearched);
        }
        Ok(Space { axes: list })
    }

    /// Number of axes, those of context too.
    pub fn dim(&self) -> usize {
        self.axes.len()
    }

    /// The axes in order.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The axes that are searched, in order, 0-based; the others are given with every question.
    pub fn searched(&self) -> impl Iterator<Item = usize> {
        self.axes
            .iter()
            .enumerate()
            .filter(|(_, axis)| !axis.context)
            .map(|(place, _)| place)
    }

    /// Whether `axis` is a category: a kernel asks there whether two coordinates are equal, and not
    /// how far apart.
    pub fn is_category(&self, axis: usize) -> bool {
        self.axes.get(axis).is_some_and(Axis::is_category)
    }

    /// Number of different questions under one context, saturating; `None` if an axis that is
    /// searched is real.
    pub fn count(&self) -> Option<u64> {
        let mut product = 1u64;
        for axis in self.axes.iter().filter(|axis| !axis.context) {
            product = product.saturating_mul(u64::from(axis.count()?));
        }
        Some(product)
    }

    /// Whether `point`, in the user's units, can be asked: one number an axis, each of its range,
    /// whole or the number of a choice where it has to be.
    ///
    /// **Errors**: [`SpaceError::Coordinates`]; [`SpaceError::Value`] naming the first axis, its
    /// value and what it admits. NaN is outside of every range.
    pub fn check<T: Scalar>(&self, point: &[T]) -> Result<(), SpaceError> {
        if point.len() != self.dim() {
            return Err(SpaceError::Coordinates {
                expected: self.dim(),
                given: point.len(),
            });
        }
        for (place, (axis, x)) in self.axes.iter().zip(point).enumerate() {
            axis.check_value(place, *x)?;
        }
        Ok(())
    }

    /// Whether `value` can be one of `axis`, in the user's unit; true where there is no such axis.
    ///
    /// **Errors**: [`SpaceError::Value`].
    pub fn check_value<T: Scalar>(&self, axis: usize, value: T) -> Result<(), SpaceError> {
        self.axes
            .get(axis)
            .map_or(Ok(()), |what| what.check_value(axis, value))
    }

    /// The coordinate of the value number `index` of an axis of counted values, from the least one.
    pub(crate) fn cell<T: Scalar>(&self, axis: usize, index: u32) -> Option<T> {
        let what = self.axes.get(axis)?;
        let last = what.count()?.saturating_sub(1);
        Some(what.unit_of(what.nth::<T>(index.min(last))))
    }

    /// The value of `axis` at the coordinate `unit`, in the user's units and within the range;
    /// coordinates outside [0, 1] are those of the nearer end, NaN is that of the lower one. `None`
    /// if there is no such axis.
    pub fn from_unit<T: Scalar>(&self, axis: usize, unit: T) -> Option<T> {
        // NaN does not compare, so it is the ZERO that stays.
        Some(self.axes.get(axis)?.value_at(T::ZERO.max(unit).min(T::ONE)))
    }

    /// The coordinate of a value of `axis`: the inverse of [`Space::from_unit`], exactly for whole
    /// numbers and choices, within rounding for real numbers. `None` if there is no such axis.
    pub fn to_unit<T: Scalar>(&self, axis: usize, value: T) -> Option<T> {
        Some(self.axes.get(axis)?.unit_of(value))
    }

    /// Moves every coordinate of a unit point to that of the question it rounds to: the middle of
    /// its cell for whole numbers and choices, itself for real numbers of [0, 1]. What was snapped
    /// stays. Coordinates beyond the last axis stay too.
    pub fn snap<T: Scalar>(&self, point: &mut [T]) {
        for (axis, u) in self.axes.iter().zip(point) {
            *u = T::ZERO.max(*u).min(T::ONE);
            if axis.count().is_some() {
                *u = axis.unit_of(axis.value_at(*u));
            }
        }
    }

    /// Coordinates that lie next to `unit` on an axis of whole numbers or levels (one or two of
    /// them); all other choices of a category; nothing for real numbers or where there is no such
    /// axis. For a local search.
    pub fn neighbours<T: Scalar>(&self, axis: usize, unit: T) -> impl Iterator<Item = T> {
        let known = self
            .axes
            .get(axis)
            .and_then(|axis| Some((*axis, axis.count()?)));
        let (what, count) = known.unwrap_or((Axis::category(1), 1));
        let own = what.index::<T>(what.value_at(T::ZERO.max(unit).min(T::ONE)));
        let (from, to) = if what.is_category() {
            (0, count)
        } else {
            (own.saturating_sub(1), own.saturating_add(2).min(count))
        };
        (from..to)
            .filter(move |other| *other != own)
            .map(move |other| what.unit_of(what.nth::<T>(other)))
    }

    /// Whether the format of `T` tells every two values of each axis apart, and their coordinates:
    /// 1e9 and 1e9 + 1 are one number in `f32`, and so are the coordinates of a million whole
    /// numbers.
    ///
    /// **Errors**: [`SpaceError::Format`].
    pub fn check_format<T: Scalar>(&self) -> Result<(), SpaceError> {
        match self
            .axes
            .iter()
            .enumerate()
            .find(|(_, what)| !what.is_resolved::<T>())
        {
            Some((axis, what)) => Err(SpaceError::Format {
                axis,
                kind: what.kind,
                format: T::NAME,
            }),
            None => Ok(()),
        }
    }
}
