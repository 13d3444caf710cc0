//! An explicit covariance matrix over a finite domain: sensors, stocks, anything with indices
//! instead of coordinates.
//!
//! ```
//! use sordino_core::kernel::{Kernel, Table};
//!
//! let sensors = Table::new(2, [1.0, 0.5, 0.5, 2.0])?;
//! assert_eq!((sensors.covariance(&[0.0], &[1.0]), sensors.variance(&[1.0])), (0.5, 2.0));
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::{Kernel, KernelError};
use crate::math::Scalar;

/// k(i, j) = matrix entry; a point is one coordinate, its index as a number.
///
/// An index outside the table has covariance 0 with everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table<T, S> {
    matrix: S,
    size: usize,
    number: core::marker::PhantomData<T>,
}

impl<T: Scalar, S: AsRef<[T]>> Table<T, S> {
    /// `matrix`: size × size numbers, row-major, symmetric to the bit, finite, with positive
    /// diagonal, unit y². That it is positive definite is not checked here; a surrogate finds out.
    ///
    /// **Errors**: [`KernelError::TableLength`], [`KernelError::TableEntry`] naming the first
    /// offending entry.
    pub fn new(size: usize, matrix: S) -> Result<Self, KernelError> {
        let entries = matrix.as_ref();
        if size == 0 || entries.len() != size * size {
            return Err(KernelError::TableLength {
                expected: size * size,
                given: entries.len(),
            });
        }
        for (row, list) in entries.chunks_exact(size).enumerate() {
            for (column, value) in list.iter().enumerate() {
                let mirrored = entries.get(column * size + row) == Some(value);
                if !(value.is_finite() && mirrored && (row != column || *value > T::ZERO)) {
                    return Err(KernelError::TableEntry {
                        row,
                        column,
                        value: value.to_f64(),
                    });
                }
            }
        }
        Ok(Table {
            matrix,
            size,
            number: core::marker::PhantomData,
        })
    }

    /// Number of points.
    pub fn size(&self) -> usize {
        self.size
    }

    fn index(&self, x: &[T]) -> Option<usize> {
        let x = *x.first()?;
        // `!(…)` also refuses NaN.
        if !(x >= T::ZERO && x < T::from_u32(self.size as u32)) {
            None
        } else {
            Some(x.to_u32() as usize)
        }
    }
}

impl<T: Scalar, S: AsRef<[T]>> Kernel<T> for Table<T, S> {
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        match (self.index(a), self.index(b)) {
            (Some(i), Some(j)) => self
                .matrix
                .as_ref()
                .get(i * self.size + j)
                .copied()
                .unwrap_or(T::ZERO),
            _ => T::ZERO,
        }
    }

    fn variance(&self, x: &[T]) -> T {
        self.covariance(x, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_and_refuses() {
        let kernel = Table::new(2, [2.0, 0.5, 0.5, 1.0]).unwrap();
        assert_eq!(
            (kernel.covariance(&[0.0], &[1.0]), kernel.variance(&[1.0])),
            (0.5, 1.0)
        );
        assert_eq!(
            (
                kernel.variance(&[2.0]),
                kernel.variance(&[-1.0]),
                kernel.variance(&[f64::NAN])
            ),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(
            Table::new(2, [2.0, 0.5, 0.4, 1.0]).unwrap_err(),
            KernelError::TableEntry {
                row: 0,
                column: 1,
                value: 0.5
            }
        );
        assert!(Table::new(2, [1.0f32; 3]).is_err() && Table::new(1, [0.0f32]).is_err());
        assert!(Table::new(1, [f64::NAN]).is_err());
    }
}
