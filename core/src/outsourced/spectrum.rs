//! Singular values and right singular vectors of a tall table.
#![cfg(feature = "alloc")]

use alloc::vec::Vec;
use core::fmt;

use nalgebra::DMatrix;

use super::preprocess;
use crate::domain::DIM_MAX;
use crate::math::Scalar;

/// Iterations of the singular value decomposition; tens are enough for any table of at most 16
/// columns.
const ITERATIONS: usize = 1000;

/// Why a table has no usable spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SpectrumError {
    /// The table is not whole, or a number is not finite.
    Table(preprocess::PreprocessError),
    /// Fewer rows than columns, or more than [`DIM_MAX`] columns.
    Shape {
        /// Number of rows n.
        rows: usize,
        /// Number of columns d.
        columns: usize,
    },
    /// The smallest singular value is zero at working precision.
    RankDeficient {
        /// The smallest singular value.
        smallest: f64,
        /// The threshold it had to exceed.
        threshold: f64,
    },
    /// The iteration did not converge, or numbers overflowed.
    NotConverged,
}

impl fmt::Display for SpectrumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpectrumError::Table(error) => error.fmt(f),
            SpectrumError::Shape { rows, columns } => {
                write!(
                    f,
                    "{rows} rows of {columns} columns; at least as many rows as columns, at most {DIM_MAX} columns"
                )
            }
            SpectrumError::RankDeficient {
                smallest,
                threshold,
            } => {
                write!(
                    f,
                    "the columns depend on each other: singular value {smallest:e}, must exceed {threshold:e}"
                )
            }
            SpectrumError::NotConverged => write!(f, "the singular values did not converge"),
        }
    }
}

impl core::error::Error for SpectrumError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SpectrumError::Table(error) => error.source(),
            _ => None,
        }
    }
}

/// Singular values, largest first, and right singular vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    values: Vec<f64>,
    /// Row k is the k-th right singular vector.
    vectors: Vec<f64>,
}

impl Spectrum {
    /// Of a row-major table of n ≥ d rows.
    ///
    /// **Numerics**: Householder's R of n×d first, then the singular values of the small R: σ_min
    /// keeps its full relative accuracy, which XᵀX would halve.
    ///
    /// **Errors**: [`SpectrumError`]. **Cost**: 2nd² flops, a copy of the table.
    pub fn of(table: &[f64], dim: usize) -> Result<Self, SpectrumError> {
        Self::within(table, dim, ITERATIONS)
    }

    /// The same with at most `iterations` iterations.
    fn within(table: &[f64], dim: usize, iterations: usize) -> Result<Self, SpectrumError> {
        preprocess::check(table, dim).map_err(SpectrumError::Table)?;
        let rows = table.len() / dim;
        if rows < dim || dim > DIM_MAX {
            return Err(SpectrumError::Shape { rows, columns: dim });
        }
        let r = DMatrix::from_row_slice(rows, dim, table).qr().r();
        if r.iter().any(|x| !x.is_finite()) {
            return Err(SpectrumError::NotConverged);
        }
        let svd = r
            .try_svd(false, true, f64::EPSILON, iterations)
            .ok_or(SpectrumError::NotConverged)?;
        let right = svd.v_t.as_ref().ok_or(SpectrumError::NotConverged)?;
        let values: Vec<f64> = svd.singular_values.iter().copied().collect();
        let vectors = (0..dim)
            .flat_map(|k| (0..dim).map(move |j| (k, j)))
            .map(|at| right[at])
            .collect();
        let spectrum = Spectrum { values, vectors };
        let threshold = rows as f64 * f64::EPSILON * spectrum.values[0];
        let smallest = spectrum.smallest();
        if !(smallest > threshold) {
            return Err(SpectrumError::RankDeficient {
                smallest,
                threshold,
            });
        }
        Ok(spectrum)
    }

    /// The singular values, largest first.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Smallest singular value σ_min.
    pub fn smallest(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0)
    }

    /// Row j of V diag(√(s² + ω²)/s) Vᵀ, which takes X to X̃.
    pub fn raised_row(&self, omega: f64, j: usize, out: &mut [f64]) {
        let dim = self.values.len();
        out.fill(0.0);
        for (s, vector) in self.values.iter().zip(self.vectors.chunks_exact(dim)) {
            let stretch = Scalar::sqrt(1.0 + (omega / s) * (omega / s));
            crate::linalg::axpy(stretch * vector[j], vector, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_grid_has_its_closed_form() {
        // σ_min = 25/√2·√(n(m+1)/(3(m−1))), n = m².
        let m = 100;
        let mut table: Vec<f64> = (0..m * m)
            .flat_map(|i| [(i / m) as f64, (i % m) as f64])
            .collect();
        let mut centre = [0.0; 2];
        let order = preprocess::Order::CentreThenScale;
        let constants = preprocess::Constants::of_data(&table, order, 25.0, &mut centre).unwrap();
        constants.apply(&mut table).unwrap();
        let spectrum = Spectrum::of(&table, 2).unwrap();
        let n = (m * m) as f64;
        let closed = 25.0 / 2f64.sqrt() * (n * (m + 1) as f64 / (3.0 * (m - 1) as f64)).sqrt();
        for s in spectrum.values() {
            assert!((s / closed - 1.0).abs() < 1e-12, "{s} {closed}");
        }
    }

    #[test]
    fn bad_tables_are_typed_errors() {
        let of = |table: &[f64], dim| Spectrum::of(table, dim).map(|_| ()).unwrap_err();
        assert_eq!(
            of(&[1.0, 2.0], 2),
            SpectrumError::Shape {
                rows: 1,
                columns: 2
            }
        );
        assert_eq!(
            of(&[1.0; 34], 17),
            SpectrumError::Shape {
                rows: 2,
                columns: 17
            }
        );
        assert!(matches!(
            of(&[1.0, 0.0, 2.0, 0.0], 2),
            SpectrumError::RankDeficient { .. }
        ));
        assert!(matches!(
            of(&[0.0; 6], 2),
            SpectrumError::RankDeficient { .. }
        ));
        assert!(matches!(
            of(&[1.0, f64::NAN, 2.0, 0.0], 2),
            SpectrumError::Table(_)
        ));
        assert!(matches!(of(&[1.0, 2.0, 2.0], 2), SpectrumError::Table(_)));
        assert!(matches!(of(&[], 0), SpectrumError::Table(_)));
    }

    #[test]
    fn a_decomposition_that_fails_is_a_typed_error() {
        // Numbers whose squares overflow.
        let huge = [1e300, 2e299, 3e300, -1e300, 1.0, 5e299];
        assert_eq!(Spectrum::of(&huge, 2), Err(SpectrumError::NotConverged));
        // An iteration that is not given the time: the failure path of a healthy table.
        let table: Vec<f64> = (0..60).map(|i| ((i * i) % 17) as f64 - 8.0).collect();
        assert_eq!(
            Spectrum::within(&table, 4, 1),
            Err(SpectrumError::NotConverged)
        );
        assert!(Spectrum::within(&table, 4, ITERATIONS).is_ok());
    }
}
