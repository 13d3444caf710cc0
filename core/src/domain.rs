//! Where a function is defined: boxes, grids, candidate lists, and equal sub-regions of the unit
//! box.
//!
//! Everything above this layer works on the unit box [0, 1]ᴰ; [`BoxDomain`] translates a user's
//! units. Proposals are made over finite [`Candidates`], named by their index: an index is the same
//! on every target, a rounded coordinate is not.
//!
//! ```
//! use sordino_core::domain::{BoxDomain, Candidates, Regions};
//!
//! let volts = BoxDomain::new(&[(0.0, 12.0)])?;
//! assert_eq!(volts.from_unit(0, 0.25f64), Some(3.0));
//! let (grid, mut point) = (Candidates::grid(11, 2)?, [0f64; 2]);
//! grid.point(grid.count() - 1, &mut point);
//! assert_eq!((grid.count(), point), (121, [1.0, 1.0]));
//! let quarters = Regions::new(&[2, 2])?;
//! assert_eq!(quarters.count(), 4);
//! assert_ne!(quarters.region_of(&[0.1f64, 0.1]), quarters.region_of(&[0.9f64, 0.1]));
//! # Ok::<(), sordino_core::domain::DomainError>(())
//! ```

pub mod sobol;

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::math::Scalar;

/// The most input dimensions a bounded list of this crate holds.
pub const DIM_MAX: usize = 16;
/// The most sub-regions a domain may be split into.
pub const REGIONS_MAX: usize = 64;
/// Candidates are counted below 2²⁴, so that their index is exact in every [`Scalar`].
pub const CANDIDATES_MAX: u32 = 1 << 24;

/// Why a domain was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DomainError {
    /// No dimension, or more than [`DIM_MAX`].
    Dimension {
        /// Number of dimensions given.
        dim: usize,
    },
    /// An axis whose bounds are not finite with low < high.
    Bounds {
        /// The axis, 0-based.
        axis: usize,
        /// Lower bound given.
        low: f64,
        /// Upper bound given.
        high: f64,
    },
    /// An axis of which a format does not hold two different ends, or not their distance.
    Format {
        /// The axis, 0-based.
        axis: usize,
        /// Lower bound as given.
        low: f64,
        /// Upper bound as given.
        high: f64,
        /// The format, `"f32"` or `"f64"`.
        format: &'static str,
    },
    /// A list whose length is not a positive multiple of the dimension, or a grid axis without
    /// points.
    Length {
        /// Length of the slice given.
        len: usize,
        /// Number of coordinates of a point.
        dim: usize,
    },
    /// More than [`CANDIDATES_MAX`] candidates.
    TooManyCandidates {
        /// Number of candidates asked for.
        count: u64,
    },
    /// A coordinate that is not a finite number in [0, 1].
    Coordinate {
        /// Index of the candidate.
        candidate: usize,
        /// Axis of the coordinate, 0-based.
        axis: usize,
        /// The value as given.
        value: f64,
    },
    /// A coordinate of a point that is outside its box.
    Outside {
        /// The axis, 0-based.
        axis: usize,
        /// The coordinate given, in the user's units.
        value: f64,
        /// Lower end of the axis.
        low: f64,
        /// Upper end of the axis.
        high: f64,
    },
    /// No region at all, a split of 0, or more than [`REGIONS_MAX`] regions.
    Regions {
        /// The product of the splits.
        count: u64,
    },
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DomainError::Dimension { dim } => write!(f, "dimension {dim} is outside 1..={DIM_MAX}"),
            DomainError::Bounds { axis, low, high } => {
                write!(
                    f,
                    "axis {axis}: bounds [{low}, {high}] must be finite with low < high"
                )
            }
            DomainError::Format {
                axis,
                low,
                high,
                format,
            } => {
                write!(
                    f,
                    "axis {axis}: bounds [{low}, {high}] must differ, by a finite number, when rounded to {format}"
                )
            }
            DomainError::Length { len, dim } => write!(
                f,
                "{len} numbers are not a positive number of {dim}-D points"
            ),
            DomainError::TooManyCandidates { count } => {
                write!(
                    f,
                    "{count} candidates; at most {CANDIDATES_MAX} are admissible"
                )
            }
            DomainError::Coordinate {
                candidate,
                axis,
                value,
            } => {
                write!(
                    f,
                    "candidate {candidate}, axis {axis}: coordinate {value} is outside [0, 1]"
                )
            }
            DomainError::Outside {
                axis,
                value,
                low,
                high,
            } => {
                write!(
                    f,
                    "axis {axis}: {value} is outside the box, [{low}, {high}]"
                )
            }
            DomainError::Regions { count } => {
                write!(f, "{count} sub-regions; 1..={REGIONS_MAX} are admissible")
            }
        }
    }
}

impl core::error::Error for DomainError {}

/// Whether low < high and both are finite, by their bits: a device without double precision links
/// no `f64` comparison for it.
pub(crate) fn below(low: f64, high: f64) -> bool {
    let finite = |x: f64| x.to_bits() >> 52 & 0x7ff != 0x7ff;
    // Sign and magnitude to two's complement: integers in the order of the numbers, both zeros
    // at 0.
    let order = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 {
            i64::MIN.wrapping_sub(bits)
        } else {
            bits
        }
    };
    finite(low) && finite(high) && order(low) < order(high)
}

/// A box in the user's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxDomain {
    low: heapless::Vec<f64, DIM_MAX>,
    high: heapless::Vec<f64, DIM_MAX>,
}

/// The first [`DIM_MAX`] elements: `collect` without its way to panic.
pub(crate) fn collected<T>(elements: impl Iterator<Item = T>) -> heapless::Vec<T, DIM_MAX> {
    let mut list = heapless::Vec::new();
    for element in elements {
        if list.push(element).is_err() {
            break;
        }
    }
    list
}

impl BoxDomain {
    /// The box with these bounds, one pair an axis.
    ///
    /// **Errors**: [`DomainError::Dimension`], [`DomainError::Bounds`].
    pub fn new(bounds: &[(f64, f64)]) -> Result<Self, DomainError> {
        if bounds.is_empty() || bounds.len() > DIM_MAX {
            return Err(DomainError::Dimension { dim: bounds.len() });
        }
        for (axis, &(low, high)) in bounds.iter().enumerate() {
            if !below(low, high) {
                return Err(DomainError::Bounds { axis, low, high });
            }
        }
        Ok(BoxDomain {
            low: collected(bounds.iter().map(|bound| bound.0)),
            high: collected(bounds.iter().map(|bound| bound.1)),
        })
    }

    /// Number of axes.
    pub fn dim(&self) -> usize {
        self.low.len()
    }

    /// Lower and upper end of `axis` in the user's units; `None` if there is no such axis.
    pub fn bounds(&self, axis: usize) -> Option<(f64, f64)> {
        Some((*self.low.get(axis)?, *self.high.get(axis)?))
    }

    /// Whether every coordinate of `point` lies in the box, in the format of `T`. Its ends belong
    /// to the box, and so does every value of [`BoxDomain::from_unit`], which may round to the
    /// number above the upper end. Coordinates beyond the last axis, and axes beyond the last
    /// coordinate, are not looked at.
    ///
    /// **Errors**: [`DomainError::Outside`] naming the first such axis; NaN is outside of every
    /// box.
    ///
    /// ```
    /// use sordino_core::domain::{BoxDomain, DomainError};
    /// let volts = BoxDomain::new(&[(0.0, 12.0)])?;
    /// assert_eq!(volts.contains(&[12.0f32]), Ok(()));
    /// let outside = DomainError::Outside { axis: 0, value: 12.5, low: 0.0, high: 12.0 };
    /// assert_eq!(volts.contains(&[12.5f32]), Err(outside));
    /// assert_eq!(outside.to_string(), "axis 0: 12.5 is outside the box, [0, 12]");
    /// # Ok::<(), DomainError>(())
    /// ```
    pub fn contains<T: Scalar>(&self, point: &[T]) -> Result<(), DomainError> {
        for (axis, x) in point.iter().enumerate() {
            let (Some((low, high)), Some((low_in, high_in))) =
                (self.bounds(axis), self.ends::<T>(axis))
            else {
                break;
            };
            let top = high_in.max(low_in + (high_in - low_in));
            if !(*x >= low_in && *x <= top) {
                return Err(DomainError::Outside {
                    axis,
                    value: x.to_f64(),
                    low,
                    high,
                });
            }
        }
        Ok(())
    }

    /// Coordinate `unit` ∈ [0, 1] of `axis` in the user's units, low + unit·(high − low) in the
    /// format of `unit`; `None` if there is no such axis.
    pub fn from_unit<T: Scalar>(&self, axis: usize, unit: T) -> Option<T> {
        let (low, high) = self.ends::<T>(axis)?;
        Some(low + unit * (high - low))
    }

    /// The inverse of [`BoxDomain::from_unit`].
    pub fn to_unit<T: Scalar>(&self, axis: usize, value: T) -> Option<T> {
        let (low, high) = self.ends::<T>(axis)?;
        Some((value - low) / (high - low))
    }

    /// Whether every axis has two ends, and a finite length, in the format of `T` too: 1e9 and
    /// 1e9 + 1 are one number in `f32`.
    ///
    /// **Errors**: [`DomainError::Format`].
    pub fn check_format<T: Scalar>(&self) -> Result<(), DomainError> {
        for (axis, (low, high)) in self.low.iter().zip(&self.high).enumerate() {
            let side = T::from_f64(*high) - T::from_f64(*low);
            if !(side > T::ZERO && side.is_finite()) {
                return Err(DomainError::Format {
                    axis,
                    low: *low,
                    high: *high,
                    format: T::NAME,
                });
            }
        }
        Ok(())
    }

    fn ends<T: Scalar>(&self, axis: usize) -> Option<(T, T)> {
        let (low, high) = self.bounds(axis)?;
        Some((T::from_f64(low), T::from_f64(high)))
    }
}

/// A finite set of points of the unit box, named by index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Candidates<'a, T> {
    /// Points written out, row-major.
    List {
        /// `count · dim` numbers.
        points: &'a [T],
        /// Number of coordinates of a point.
        dim: usize,
    },
    /// `per_axis`^`dim` points, coordinate i/(per_axis − 1), the last axis fastest; nothing is
    /// stored.
    Grid {
        /// Points along one axis, at least 2.
        per_axis: u32,
        /// Number of axes.
        dim: usize,
    },
}

impl<'a, T: Scalar> Candidates<'a, T> {
    /// A list of points, every coordinate in [0, 1].
    ///
    /// **Errors**: [`DomainError`] naming the first offence.
    pub fn list(points: &'a [T], dim: usize) -> Result<Self, DomainError> {
        if dim == 0 || dim > DIM_MAX {
            return Err(DomainError::Dimension { dim });
        }
        if points.is_empty() || !points.len().is_multiple_of(dim) {
            return Err(DomainError::Length {
                len: points.len(),
                dim,
            });
        }
        let count = (points.len() / dim) as u64;
        if count > u64::from(CANDIDATES_MAX) {
            return Err(DomainError::TooManyCandidates { count });
        }
        for (i, x) in points.iter().enumerate() {
            if !(*x >= T::ZERO && *x <= T::ONE) {
                return Err(DomainError::Coordinate {
                    candidate: i / dim,
                    axis: i % dim,
                    value: x.to_f64(),
                });
            }
        }
        Ok(Candidates::List { points, dim })
    }

    /// A regular grid with both ends of every axis.
    ///
    /// **Errors**: [`DomainError`] naming the first offence.
    pub fn grid(per_axis: u32, dim: usize) -> Result<Self, DomainError> {
        if dim == 0 || dim > DIM_MAX {
            return Err(DomainError::Dimension { dim });
        }
        if per_axis < 2 {
            return Err(DomainError::Length {
                len: per_axis as usize,
                dim,
            });
        }
        let mut count = 1u64;
        for _ in 0..dim {
            count = count.saturating_mul(u64::from(per_axis));
        }
        if count > u64::from(CANDIDATES_MAX) {
            return Err(DomainError::TooManyCandidates { count });
        }
        Ok(Candidates::Grid { per_axis, dim })
    }

    /// Number of candidates.
    pub fn count(&self) -> u32 {
        match *self {
            Candidates::List { points, dim } => (points.len() / dim.max(1)) as u32,
            Candidates::Grid { per_axis, dim } => per_axis.saturating_pow(dim as u32),
        }
    }

    /// Number of coordinates of a point.
    pub fn dim(&self) -> usize {
        match *self {
            Candidates::List { dim, .. } | Candidates::Grid { dim, .. } => dim,
        }
    }

    /// Writes the point named `index`; an index out of range leaves `out` as it was.
    #[inline]
    pub fn point(&self, index: u32, out: &mut [T]) {
        match *self {
            Candidates::List { points, dim } => {
                let start = index as usize * dim;
                if let Some(point) = points.get(start..start + dim) {
                    out.iter_mut().zip(point).for_each(|(to, from)| *to = *from);
                }
            }
            Candidates::Grid { per_axis, dim } => {
                // At least 2, see `grid`.
                let mut rest = index;
                let base = per_axis.max(2);
                let last = T::from_u32(base - 1);
                for x in out.iter_mut().take(dim).rev() {
                    *x = T::from_u32(rest % base) / last;
                    rest /= base;
                }
            }
        }
    }
}

/// The unit box cut into equal boxes: `splits[d]` parts along axis d, numbered row-major, the last
/// axis fastest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regions {
    splits: heapless::Vec<u32, DIM_MAX>,
}

impl Regions {
    /// Equal boxes, `splits[d]` along axis d.
    ///
    /// **Errors**: [`DomainError::Dimension`], [`DomainError::Regions`].
    pub fn new(splits: &[u32]) -> Result<Self, DomainError> {
        let Ok(list) = heapless::Vec::from_slice(splits) else {
            return Err(DomainError::Dimension { dim: splits.len() });
        };
        if splits.is_empty() {
            return Err(DomainError::Dimension { dim: 0 });
        }
        let count = splits
            .iter()
            .fold(1u64, |product, k| product.saturating_mul(u64::from(*k)));
        if count == 0 || count > REGIONS_MAX as u64 {
            return Err(DomainError::Regions { count });
        }
        Ok(Regions { splits: list })
    }

    /// One region: the whole box of `dim` axes.
    pub fn whole(dim: usize) -> Result<Self, DomainError> {
        Self::new([1; DIM_MAX].get(..dim).unwrap_or(&[]))
    }

    /// Parts along each axis.
    pub fn splits(&self) -> &[u32] {
        &self.splits
    }

    /// Number of regions.
    pub fn count(&self) -> u32 {
        self.splits.iter().product()
    }

    /// Region of a point; a border point belongs to the lower index.
    #[inline]
    pub fn region_of<T: Scalar>(&self, point: &[T]) -> u32 {
        let mut region = 0;
        for (&parts, &x) in self.splits.iter().zip(point) {
            let whole = T::from_u32(parts);
            let mut part = 0;
            while part + 1 < parts && x > T::from_u32(part + 1) / whole {
                part += 1;
            }
            region = region * parts + part;
        }
        region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_points_and_indices_agree_with_the_written_list() {
        let grid = Candidates::<f64>::grid(3, 2).unwrap();
        let mut points = [0.0; 18];
        for (i, point) in points.chunks_mut(2).enumerate() {
            grid.point(i as u32, point);
        }
        assert_eq!(points[..8], [0.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0]);
        let list = Candidates::list(&points, 2).unwrap();
        assert_eq!((list.count(), grid.count()), (9, 9));
    }

    #[test]
    fn border_points_belong_to_the_lower_index() {
        let regions = Regions::new(&[2, 2]).unwrap();
        for (point, region) in [
            ([0.5, 0.5], 0),
            ([0.5, 0.51], 1),
            ([0.51, 0.5], 2),
            ([1.0, 1.0], 3),
            ([0.0, 0.0], 0),
        ] {
            assert_eq!(regions.region_of(&point), region, "{point:?}");
        }
        assert_eq!(Regions::new(&[4]).unwrap().region_of(&[0.25f32]), 0);
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        assert_eq!(
            Regions::new(&[2, 0]),
            Err(DomainError::Regions { count: 0 })
        );
        assert_eq!(Regions::new(&[65]), Err(DomainError::Regions { count: 65 }));
        assert!(Candidates::list(&[0.0, f64::NAN], 1).is_err());
        assert!(Candidates::<f32>::grid(5000, 2).is_err());
        let numbers = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -1e-310,
            -0.0,
            0.0,
            1e-310,
            1.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ];
        for (low, high) in numbers
            .iter()
            .flat_map(|low| numbers.iter().map(move |high| (*low, *high)))
        {
            let admissible = low < high && low.is_finite() && high.is_finite();
            assert_eq!(
                BoxDomain::new(&[(low, high)]).is_ok(),
                admissible,
                "{low} {high}"
            );
        }
        let domain = BoxDomain::new(&[(1e-4, 10.0)]).unwrap();
        assert_eq!(domain.from_unit(0, 1.0), Some(10.0));
        assert_eq!(domain.to_unit(0, 1e-4), Some(0.0));
        assert_eq!(domain.from_unit::<f32>(1, 0.0), None);
        let narrow = BoxDomain::new(&[(0.0, 1.0), (1e9, 1e9 + 1.0)]).unwrap();
        let refused = DomainError::Format {
            axis: 1,
            low: 1e9,
            high: 1e9 + 1.0,
            format: "f32",
        };
        assert_eq!(
            (narrow.check_format::<f32>(), narrow.check_format::<f64>()),
            (Err(refused), Ok(()))
        );
        assert!(
            BoxDomain::new(&[(-3e38, 3e38)])
                .unwrap()
                .check_format::<f32>()
                .is_err()
        );
    }
}
