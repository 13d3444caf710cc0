//! Covariance functions.
//!
//! | module | kernel k(x, x'), r² = Σ (xᵢ − x'ᵢ)²/lengthscaleᵢ² |
//! |---|---|
//! | [`radial`] | s² ρ(r²) for any shape ρ: what the next three share |
//! | [`squared_exponential`] | s² e^(−r²/2) |
//! | [`matern`] | s² times a polynomial of r and e^(−√(2ν) r), ν = 1/2, 3/2, 5/2 |
//! | [`stationary`] | any of these four, chosen at run time by the enum [`Stationary`] |
//! | [`linear`] | s² Σ xᵢx'ᵢ/lengthscaleᵢ² |
//! | [`table`] | an explicit matrix over a finite domain |
//! | [`scaled`] | a kernel times a scalar, a kernel times a kernel |
//! | [`gradient`] | ∂k/∂ln of lengthscales and signal variance |
//! | [`lengthscale`] | one lengthscale for all coordinates, or one each (ARD), borrowed from the caller |
//!
//! s² is the signal variance, unit y². Distances are formed from differences, never from norms:
//! coincident points are at distance exactly 0.
//!
//! **Example**: that of [`squared_exponential`].

pub mod gradient;
pub mod lengthscale;
pub mod linear;
pub mod matern;
pub mod radial;
pub mod scaled;
pub mod squared_exponential;
pub mod stationary;
pub mod table;

pub use gradient::LogGradient;
pub(crate) use lengthscale::InverseSquares;
pub use lengthscale::{Ard, Isotropic, Lengthscales};
pub use linear::Linear;
pub use matern::{Matern12, Matern32, Matern52};
pub use radial::{Radial, RadialKernel};
pub use scaled::{Product, Scaled};
pub use squared_exponential::SquaredExponential;
pub use stationary::{Stationary, StationaryKernel};
pub use table::Table;

use crate::math::Scalar;

/// A covariance function. Points are slices of equal length; the surrogates check lengths, a kernel
/// does not.
pub trait Kernel<T: Scalar> {
    /// Covariance k(a, b), unit y².
    fn covariance(&self, a: &[T], b: &[T]) -> T;

    /// Prior variance k(x, x), unit y².
    fn variance(&self, x: &[T]) -> T;

    /// outᵢ ← k(x, pointᵢ) for the leading points of a row-major list of `x.len()` columns; as many
    /// as both `points` and `out` hold.
    ///
    /// **Numerics**: every entry has exactly the bits of [`Kernel::covariance`].
    fn covariances(&self, x: &[T], points: &[T], out: &mut [T]) {
        if x.is_empty() {
            out.fill(self.variance(x));
            return;
        }
        for (point, out) in points.chunks_exact(x.len().max(1)).zip(out) {
            *out = self.covariance(x, point);
        }
    }

    /// [`Kernel::covariances`] of every input with the points, a row of `width` numbers each.
    /// Points are of `dim` coordinates; entries for which there is no point hold any number.
    ///
    /// **Numerics**: as [`Kernel::covariances`].
    fn covariance_rows(&self, inputs: &[T], points: &[T], dim: usize, width: usize, out: &mut [T]) {
        for (input, row) in inputs
            .chunks_exact(dim.max(1))
            .zip(out.chunks_exact_mut(width.max(1)))
        {
            self.covariances(input, points, row);
        }
    }
}

impl<T: Scalar, K: Kernel<T> + ?Sized> Kernel<T> for &K {
    fn covariance_rows(&self, inputs: &[T], points: &[T], dim: usize, width: usize, out: &mut [T]) {
        (**self).covariance_rows(inputs, points, dim, width, out);
    }
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        (**self).covariance(a, b)
    }
    fn variance(&self, x: &[T]) -> T {
        (**self).variance(x)
    }
    fn covariances(&self, x: &[T], points: &[T], out: &mut [T]) {
        (**self).covariances(x, points, out);
    }
}

fn check_signal_variance<T: Scalar>(value: T) -> Result<(), KernelError> {
    if value > T::ZERO && value.is_finite() {
        Ok(())
    } else {
        Err(KernelError::SignalVariance {
            value: value.to_f64(),
        })
    }
}

/// Why a kernel cannot be made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum KernelError {
    /// A lengthscale is not a positive finite number whose square and inverse square are.
    Lengthscale {
        /// Coordinate, 0-based.
        index: usize,
        /// The value given.
        value: f64,
    },
    /// The list of lengthscales is empty.
    NoLengthscales,
    /// The signal variance is not positive and finite.
    SignalVariance {
        /// The value given.
        value: f64,
    },
    /// A table is empty or not square.
    TableLength {
        /// Numbers expected.
        expected: usize,
        /// Length of the slice given.
        given: usize,
    },
    /// An entry of a table is not finite, not symmetric, or not positive on the diagonal.
    TableEntry {
        /// Its row, 0-based.
        row: usize,
        /// Its column, 0-based.
        column: usize,
        /// The value as given.
        value: f64,
    },
}

impl core::fmt::Display for KernelError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            KernelError::Lengthscale { index, value } => {
                write!(
                    f,
                    "lengthscale {index} is {value:e}; it must be positive and finite, its square too"
                )
            }
            KernelError::NoLengthscales => write!(f, "the list of lengthscales is empty"),
            KernelError::SignalVariance { value } => {
                write!(
                    f,
                    "the signal variance is {value:e}; it must be positive and finite"
                )
            }
            KernelError::TableLength { expected, given } => {
                write!(
                    f,
                    "a table of {expected} numbers was expected, {given} were given; it must be square, not empty"
                )
            }
            KernelError::TableEntry { row, column, value } => write!(
                f,
                "table entry ({row}, {column}) is {value:e}; entries must be finite and symmetric, the diagonal positive"
            ),
        }
    }
}

impl core::error::Error for KernelError {}
