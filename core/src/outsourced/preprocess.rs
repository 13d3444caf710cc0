//! From a table in the owner's units to one whose distances mean something: logarithms, one
//! lengthscale for all columns, centre and scale.
//!
//! **Privacy**: constants measured on the data move *every* row when one row moves: by at least g
//! in all nd entries on a grid of step g, so the sensitivity is 1 + √(nd)·g at least, and without a
//! bound for the centre. A private release therefore takes [`Constants::public`] only;
//! [`Constants::of_data`] is for the paper's experiments and says so in its [`Origin`].
//!
//! ```
//! use sordino_core::outsourced::preprocess::{check, isotropic, logarithm};
//!
//! let mut table = [1.0, 10.0, core::f64::consts::E, 20.0]; // two rows
//! check(&table, 2)?;
//! logarithm(&mut table, &[true, false])?;
//! isotropic(&mut table, &[0.5, 10.0])?; // one lengthscale each
//! assert_eq!(table, [0.0, 1.0, 2.0, 2.0]);
//! assert!(logarithm(&mut [-1.0, 1.0], &[true, false]).is_err());
//! # Ok::<(), sordino_core::outsourced::preprocess::PreprocessError>(())
//! ```

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::linalg::{squared_distance, sum_of_squares};
use crate::math::Scalar;
use crate::privacy::shift::{NotAShift, ShiftUnit};

/// The paper's largest norm of a row after scaling.
pub const LARGEST_NORM: f64 = 25.0;

/// When the largest norm is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// x ← (x − mean)·norm/max‖x − mean‖: the paper's text; all its statements on synthetic grids
    /// follow from it.
    CentreThenScale,
    /// x ← (x − mean)·norm/max‖x‖: the authors' code; the Branin experiment follows from it.
    ScaleThenCentre,
}

/// Where centring and scaling constants come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Known without the data.
    Public {
        /// What a distance of 1 in the prepared table is for its owner: the shift that a private
        /// release protects.
        unit: ShiftUnit,
    },
    /// Measured on the data.
    Data,
}

/// Why a table cannot be prepared.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PreprocessError {
    /// The table is empty or no whole number of rows, or a list of columns has another length.
    Shape {
        /// Length of the slice given.
        found: usize,
        /// Numbers expected (for a table: a positive multiple of it).
        expected: usize,
    },
    /// A number that is NaN or infinite, or became so.
    NotFinite {
        /// Index of the row.
        row: usize,
        /// Index of the column.
        column: usize,
    },
    /// The logarithm of a number that is not positive.
    Logarithm {
        /// Index of the row.
        row: usize,
        /// Index of the column.
        column: usize,
        /// The number as given.
        value: f64,
    },
    /// A lengthscale or a factor that is not positive and finite.
    NotPositive {
        /// Index of the number.
        index: usize,
        /// The number as given.
        value: f64,
    },
    /// All rows agree in a column: it says nothing, and the table has no full rank.
    ConstantColumn {
        /// Index of the column.
        column: usize,
    },
}

impl fmt::Display for PreprocessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PreprocessError::Shape { found, expected } => {
                write!(f, "{found} numbers where {expected} belong")
            }
            PreprocessError::NotFinite { row, column } => {
                write!(f, "row {row}, column {column} is not finite")
            }
            PreprocessError::Logarithm { row, column, value } => {
                write!(f, "row {row}, column {column}: {value} has no logarithm")
            }
            PreprocessError::NotPositive { index, value } => {
                write!(
                    f,
                    "constant {index} is {value}; it must be positive and finite"
                )
            }
            PreprocessError::ConstantColumn { column } => {
                write!(f, "all rows agree in column {column}")
            }
        }
    }
}

impl core::error::Error for PreprocessError {}

/// Checks that a row-major table is whole and finite.
///
/// **Errors**: [`PreprocessError::Shape`], [`PreprocessError::NotFinite`].
pub fn check(table: &[f64], dim: usize) -> Result<(), PreprocessError> {
    if dim == 0 || table.is_empty() || !table.len().is_multiple_of(dim) {
        return Err(PreprocessError::Shape {
            found: table.len(),
            expected: dim.max(1),
        });
    }
    match table.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(PreprocessError::NotFinite {
            row: i / dim,
            column: i % dim,
        }),
        None => Ok(()),
    }
}

/// x ← ln x in the columns that are flagged.
///
/// **Errors**: [`PreprocessError::Shape`], [`PreprocessError::NotFinite`],
/// [`PreprocessError::Logarithm`]; the table is as it was then.
pub fn logarithm(table: &mut [f64], flags: &[bool]) -> Result<(), PreprocessError> {
    let dim = flags.len();
    check(table, dim)?;
    let bad = (0..table.len()).find(|i| flags[i % dim] && !(table[*i] > 0.0));
    if let Some(i) = bad {
        return Err(PreprocessError::Logarithm {
            row: i / dim,
            column: i % dim,
            value: table[i],
        });
    }
    for row in table.chunks_exact_mut(dim) {
        row.iter_mut()
            .zip(flags)
            .filter(|(_, flag)| **flag)
            .for_each(|(x, _)| *x = Scalar::ln(*x));
    }
    Ok(())
}

/// x ← x/lengthscale column by column: a kernel with one lengthscale each becomes one with
/// lengthscale 1 for all.
///
/// **Errors**: [`PreprocessError::Shape`], [`PreprocessError::NotPositive`],
/// [`PreprocessError::NotFinite`].
pub fn isotropic(table: &mut [f64], lengthscales: &[f64]) -> Result<(), PreprocessError> {
    check(table, lengthscales.len())?;
    if let Some(index) = lengthscales
        .iter()
        .position(|x| !(*x > 0.0 && x.is_finite()))
    {
        return Err(PreprocessError::NotPositive {
            index,
            value: lengthscales[index],
        });
    }
    for row in table.chunks_exact_mut(lengthscales.len()) {
        row.iter_mut()
            .zip(lengthscales)
            .for_each(|(x, lengthscale)| *x /= *lengthscale);
    }
    check(table, lengthscales.len())
}

/// What is subtracted from every row, and what the difference is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants<'c> {
    centre: &'c [f64],
    factor: f64,
    origin: Origin,
}

impl<'c> Constants<'c> {
    /// Constants known without the data: the middle of the admissible box and its half diagonal,
    /// say.
    ///
    /// **Errors**: [`PreprocessError::NotFinite`] (row 0), [`PreprocessError::NotPositive`],
    /// [`PreprocessError::Shape`].
    pub fn public(centre: &'c [f64], factor: f64) -> Result<Self, PreprocessError> {
        check(centre, centre.len())?;
        Self::new(centre, factor, |unit| Origin::Public { unit })
    }

    /// The same constants for a table of which [`isotropic`] divided the columns by `lengthscales`,
    /// after [`logarithm`] was taken where `logarithms` says so: then one prepared unit is that
    /// many of those.
    ///
    /// **Errors**: [`PreprocessError::Shape`] if the lists are not one number for each column;
    /// [`PreprocessError::NotPositive`] if no positive finite unit is left.
    pub fn of_columns(
        self,
        lengthscales: &[f64],
        logarithms: &[bool],
    ) -> Result<Self, PreprocessError> {
        let expected = self.centre.len();
        for found in [lengthscales.len(), logarithms.len()] {
            if found != expected {
                return Err(PreprocessError::Shape { found, expected });
            }
        }
        let Origin::Public { unit } = self.origin else {
            return Ok(self);
        };
        let unit = unit
            .of_columns(lengthscales, logarithms)
            .map_err(not_positive)?;
        Ok(Constants {
            origin: Origin::Public { unit },
            ..self
        })
    }

    /// Constants measured on the table itself; `centre` takes the means of the columns.
    ///
    /// **Privacy**: not private, whatever noise is added afterwards.
    ///
    /// **Errors**: [`PreprocessError`]; a constant column is one.
    pub fn of_data(
        table: &[f64],
        order: Order,
        norm: f64,
        centre: &'c mut [f64],
    ) -> Result<Self, PreprocessError> {
        let dim = centre.len();
        check(table, dim)?;
        let rows = (table.len() / dim) as f64;
        for (column, mean) in centre.iter_mut().enumerate() {
            let values = table.iter().skip(column).step_by(dim);
            if values.clone().all(|x| *x == table[column]) {
                return Err(PreprocessError::ConstantColumn { column });
            }
            // The mean of the differences to the first row: exact where the column nearly stands
            // still.
            let first = table[column];
            *mean = first + values.fold(0.0, |sum, x| sum + (*x - first)) / rows;
        }
        let mut largest = 0.0;
        for row in table.chunks_exact(dim) {
            let squares = match order {
                Order::CentreThenScale => squared_distance(row, centre),
                Order::ScaleThenCentre => sum_of_squares(row),
            };
            largest = Scalar::max(largest, squares);
        }
        Self::new(centre, norm / Scalar::sqrt(largest), |_| Origin::Data)
    }

    fn new(
        centre: &'c [f64],
        factor: f64,
        origin: impl Fn(ShiftUnit) -> Origin,
    ) -> Result<Self, PreprocessError> {
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(PreprocessError::NotPositive {
                index: 0,
                value: factor,
            });
        }
        let unit = ShiftUnit::new(1.0 / factor).map_err(not_positive)?;
        Ok(Constants {
            centre,
            factor,
            origin: origin(unit),
        })
    }

    /// x ← (x − centre)·factor.
    ///
    /// **Errors**: [`PreprocessError::Shape`], [`PreprocessError::NotFinite`].
    pub fn apply(&self, table: &mut [f64]) -> Result<(), PreprocessError> {
        check(table, self.centre.len())?;
        for row in table.chunks_exact_mut(self.centre.len()) {
            row.iter_mut()
                .zip(self.centre)
                .for_each(|(x, centre)| *x = (*x - *centre) * self.factor);
        }
        check(table, self.centre.len())
    }

    /// What is subtracted.
    pub const fn centre(&self) -> &[f64] {
        self.centre
    }

    /// What the difference is multiplied by.
    pub const fn factor(&self) -> f64 {
        self.factor
    }

    /// Where they come from, and what one prepared unit is for the owner.
    pub const fn origin(&self) -> Origin {
        self.origin
    }
}

fn not_positive(error: NotAShift) -> PreprocessError {
    PreprocessError::NotPositive {
        index: 0,
        value: error.distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_orders_differ_as_the_experiments_need() {
        let table = [0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0];
        let mut centre = [0.0; 2];
        let constants =
            Constants::of_data(&table, Order::CentreThenScale, 25.0, &mut centre).unwrap();
        let mut scaled = table;
        constants.apply(&mut scaled).unwrap();
        assert!(
            (scaled[0].hypot(scaled[1]) - 25.0).abs() < 1e-12 && constants.origin() == Origin::Data
        );
        let before = Constants::of_data(&table, Order::ScaleThenCentre, 25.0, &mut centre).unwrap();
        assert!((before.factor() - 25.0 / 8f64.sqrt()).abs() < 1e-12);
        assert_eq!(before.centre(), [1.0, 1.0]);
    }

    #[test]
    fn lengthscales_and_logarithms() {
        let mut table = [1.0, 8.0, 2.0, 4.0];
        isotropic(&mut table, &[2.0, 4.0]).unwrap();
        assert_eq!(table, [0.5, 2.0, 1.0, 1.0]);
        logarithm(&mut table, &[false, true]).unwrap();
        assert_eq!(table, [0.5, 2f64.ln(), 1.0, 0.0]);
        let refused = logarithm(&mut table, &[true, true]).unwrap_err();
        assert_eq!(
            refused,
            PreprocessError::Logarithm {
                row: 1,
                column: 1,
                value: 0.0
            }
        );
        assert_eq!(table[0], 0.5);
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        let mut centre = [0.0; 2];
        let mut of = |table: &[f64]| {
            Constants::of_data(table, Order::CentreThenScale, 25.0, &mut centre).map(|_| ())
        };
        assert_eq!(
            of(&[1.0, 2.0, 3.0]),
            Err(PreprocessError::Shape {
                found: 3,
                expected: 2
            })
        );
        assert_eq!(
            of(&[]),
            Err(PreprocessError::Shape {
                found: 0,
                expected: 2
            })
        );
        assert_eq!(
            of(&[1.0, 2.0, f64::NAN, 1.0]),
            Err(PreprocessError::NotFinite { row: 1, column: 0 })
        );
        assert_eq!(
            of(&[1.0, 2.0, 3.0, 2.0]),
            Err(PreprocessError::ConstantColumn { column: 1 })
        );
        assert!(matches!(
            of(&[1e200, 2.0, 3.0, 1.0]),
            Err(PreprocessError::NotPositive { .. })
        ));
        assert!(Constants::public(&[0.0, f64::INFINITY], 1.0).is_err());
        assert!(Constants::public(&[], 1.0).is_err());
        assert!(
            Constants::public(&[0.0], 0.0).is_err() && Constants::public(&[0.0], f64::NAN).is_err()
        );
        assert!(isotropic(&mut [1.0, 2.0], &[1.0, 0.0]).is_err());
        assert!(isotropic(&mut [1e300, 2.0], &[1e-300, 1.0]).is_err());
    }
}
