//! The paper's transformation of the table. **Not differentially private.**

use core::fmt;

#[cfg(feature = "alloc")]
use crate::linalg::dot;
use crate::math::Scalar;

#[cfg(feature = "alloc")]
use super::spectrum::{Spectrum, SpectrumError};

/// The threshold for singular values.
///
/// **Equation**: ω = 16·√(r ln(2/δ))·ln(16r/δ)/ε. The paper's text has √r·ln(2/δ); its appendix,
/// its tables and its authors' code need the root over both.
///
/// **Source**: Kharkovskii, Dai, Low 2020, Algorithm 1, line 1, after Blocki, Blum, Datta,
/// Sheffet 2012.
pub fn omega(out_dim: u32, epsilon: f64, delta: f64) -> f64 {
    let r = f64::from(out_dim);
    16.0 * Scalar::sqrt(r * Scalar::ln(2.0 / delta)) * Scalar::ln(16.0 * r / delta) / epsilon
}

/// r from which on all squared distances are kept within 1 ± ν with probability 1 − μ: 8
/// ln(n²/μ)/ν², for ν < 1/2.
///
/// **Source**: the same, Lemma 1 (Johnson and Lindenstrauss).
pub fn distortion_dimension(rows: u32, distortion: f64, failure_probability: f64) -> f64 {
    let n = f64::from(rows);
    8.0 * Scalar::ln(n * n / failure_probability) / (distortion * distortion)
}

/// The paper's transformation, Z = r^(−1/2)·X̃M. **Not differentially private**, for any ε, δ, r
/// and either branch: its Theorem 1 is false for n ≥ d + 2 rows in general position; the module
/// `outsourced::attack` (feature `alloc`) shows it. For reproducing its utility.
///
/// No [`crate::privacy::Release`] comes from it and no accountant hears of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperProjection<'p> {
    /// d×r, row by row: r^(−1/2)·V diag(√(s² + ω²)/s) Vᵀ·M, or r^(−1/2)·M.
    matrix: &'p [f64],
    dim: usize,
    out_dim: usize,
    raised: bool,
    distortion: f64,
}

/// Why the paper's transformation cannot be made.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PaperError {
    /// No singular values.
    Spectrum(SpectrumError),
    /// r = 0 or above 1024, or M does not hold d·r finite numbers.
    Matrix {
        /// Length of the slice given.
        found: usize,
        /// Length of a d × r matrix, d·r.
        expected: usize,
    },
    /// ε or δ give no threshold.
    Target {
        /// Threshold ω as computed.
        omega: f64,
    },
}

#[cfg(feature = "alloc")]
impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaperError::Spectrum(error) => error.fmt(f),
            PaperError::Matrix { found, expected } => {
                write!(
                    f,
                    "a projection of {found} finite numbers where {expected} belong, at least 1 column"
                )
            }
            PaperError::Target { omega } => {
                write!(f, "epsilon and delta give the threshold {omega}")
            }
        }
    }
}

#[cfg(feature = "alloc")]
impl core::error::Error for PaperError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            PaperError::Spectrum(error) => error.source(),
            _ => None,
        }
    }
}

impl<'p> PaperProjection<'p> {
    /// Algorithm 1 on a prepared table; `gaussian` holds M, d×r standard normal numbers row by row,
    /// and is overwritten with the matrix that is applied.
    ///
    /// **Numerics**: X̃ = U diag(√(s² + ω²)) Vᵀ is formed as X·(V diag(√(s² + ω²)/s) Vᵀ), which
    /// needs no U.
    ///
    /// **Errors**: [`PaperError`]; `gaussian` is as it was then.
    ///
    /// **Cost**: those of [`Spectrum::of`], d²r flops.
    #[cfg(feature = "alloc")]
    pub fn new(
        table: &[f64],
        dim: usize,
        epsilon: f64,
        delta: f64,
        gaussian: &'p mut [f64],
    ) -> Result<Self, PaperError> {
        let found = gaussian.len();
        let out_dim = found.checked_div(dim).unwrap_or(0);
        if out_dim == 0
            || out_dim > 1024
            || found != dim * out_dim
            || gaussian.iter().any(|x| !x.is_finite())
        {
            return Err(PaperError::Matrix {
                found,
                expected: dim * out_dim.max(1),
            });
        }
        let omega = omega(out_dim as u32, epsilon, delta);
        if !(epsilon > 0.0 && delta > 0.0 && delta < 1.0 && omega > 0.0 && omega.is_finite()) {
            return Err(PaperError::Target { omega });
        }
        let spectrum = Spectrum::of(table, dim).map_err(PaperError::Spectrum)?;
        let raised = spectrum.smallest() < omega;
        let mut distortion = 1.0;
        if raised {
            distortion += (omega / spectrum.smallest()) * (omega / spectrum.smallest());
            let mut column = [0.0; crate::domain::DIM_MAX];
            let mut row = [0.0; crate::domain::DIM_MAX];
            for k in 0..out_dim {
                (0..dim).for_each(|j| column[j] = gaussian[j * out_dim + k]);
                for j in 0..dim {
                    spectrum.raised_row(omega, j, &mut row[..dim]);
                    gaussian[j * out_dim + k] = dot(&row[..dim], &column[..dim]);
                }
            }
        }
        let root = Scalar::sqrt(out_dim as f64);
        gaussian.iter_mut().for_each(|x| *x /= root);
        Ok(PaperProjection {
            matrix: gaussian,
            dim,
            out_dim,
            raised,
            distortion,
        })
    }

    /// Rows of Z from rows of X; as many as both hold.
    pub fn apply(&self, table: &[f64], out: &mut [f64]) {
        for (row, out) in table
            .chunks_exact(self.dim)
            .zip(out.chunks_exact_mut(self.out_dim))
        {
            out.fill(0.0);
            for (x, matrix) in row.iter().zip(self.matrix.chunks_exact(self.out_dim)) {
                crate::linalg::axpy(*x, matrix, out);
            }
        }
    }

    /// Number of input columns d.
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// Number of projected columns r.
    pub const fn out_dim(&self) -> usize {
        self.out_dim
    }

    /// Whether a singular value was below ω, so that all were raised. The branch alone depends on
    /// the data.
    pub const fn raised(&self) -> bool {
        self.raised
    }

    /// C′ = 1 + \[raised\]·ω²/σ_min² of Theorem 2: squared distances stay within (1 − ν) and (1 +
    /// ν)C′.
    pub const fn distortion(&self) -> f64 {
        self.distortion
    }
}

impl fmt::Display for PaperProjection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = if self.raised {
            "raised"
        } else {
            "as they were"
        };
        write!(
            f,
            "projection to {} numbers, singular values {branch}: not differentially private",
            self.out_dim
        )
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_threshold_is_the_corrected_one() {
        // notes: a 100 × 100 grid has σ_min 1030.88; e^1.1 passes up to r = 11, e^1.5 up to 22.
        let pass = |r, power: f64| omega(r, power.exp(), 1e-5) <= 1030.8785;
        assert!(
            pass(11, 1.1)
                && !pass(12, 1.1)
                && pass(15, 1.3)
                && !pass(16, 1.3)
                && pass(22, 1.5)
                && !pass(23, 1.5)
        );
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        let table = [1.0, 0.0, 0.0, 1.0, -1.0, 1.0];
        let new = |m: &mut [f64], epsilon, delta| {
            PaperProjection::new(&table, 2, epsilon, delta, m).map(|_| ())
        };
        assert!(matches!(
            new(&mut [], 1.0, 1e-5),
            Err(PaperError::Matrix {
                found: 0,
                expected: 2
            })
        ));
        assert!(new(&mut [1.0; 3], 1.0, 1e-5).is_err());
        assert!(new(&mut [f64::NAN; 2], 1.0, 1e-5).is_err());
        for (epsilon, delta) in [
            (0.0, 1e-5),
            (-1.0, 1e-5),
            (f64::NAN, 1e-5),
            (1.0, 0.0),
            (1.0, 1.0),
        ] {
            assert!(matches!(
                new(&mut [1.0; 2], epsilon, delta),
                Err(PaperError::Target { .. })
            ));
        }
        let mut matrix = [1.0; 2];
        let flat = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
        let refused = PaperProjection::new(&flat, 2, 1.0, 1e-5, &mut matrix).unwrap_err();
        assert!(matches!(
            refused,
            PaperError::Spectrum(SpectrumError::RankDeficient { .. })
        ));
        // A decomposition that fails releases nothing and changes nothing.
        let huge = [1e300, 2e299, 3e300, -1e300, 1.0, 5e299];
        let refused = PaperProjection::new(&huge, 2, 1.0, 1e-5, &mut matrix).unwrap_err();
        assert_eq!(refused, PaperError::Spectrum(SpectrumError::NotConverged));
        assert_eq!(matrix, [1.0; 2]);
    }

    #[test]
    fn says_what_it_is() {
        let table: Vec<f64> = [3.0, 0.0, 0.0, 1.0, -1.0, 1.0].to_vec();
        let mut m = [1.0, 0.5];
        let projection = PaperProjection::new(&table, 2, 1.0, 1e-5, &mut m).unwrap();
        assert!(projection.raised() && projection.distortion() > 1.0 && projection.out_dim() == 1);
        assert!(std::format!("{projection}").contains("not differentially private"));
    }
}
