//! Products: a kernel times a scalar, a kernel times a kernel.
//!
//! ```
//! use sordino_core::kernel::{Kernel, Product, Scaled, SquaredExponential};
//!
//! let first = SquaredExponential::new(0.5, 1.0)?;
//! let twice = Scaled::new(2.0, first)?;
//! assert_eq!(twice.covariance(&[0.1], &[0.4]), 2.0 * first.covariance(&[0.1], &[0.4]));
//! let product = Product::new(1, first, first); // the first coordinate, and the rest
//! let (a, b) = (first.covariance(&[0.1], &[0.4]), first.covariance(&[0.9], &[0.5]));
//! assert_eq!(product.covariance(&[0.1, 0.9], &[0.4, 0.5]), a * b);
//! # Ok::<(), sordino_core::kernel::KernelError>(())
//! ```

use super::{Kernel, KernelError};
use crate::math::Scalar;

/// factor · k(x, x'), factor > 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled<T, K> {
    factor: T,
    kernel: K,
}

impl<T: Scalar, K: Kernel<T>> Scaled<T, K> {
    /// **Errors**: [`KernelError::SignalVariance`] unless `factor` is positive and finite.
    pub fn new(factor: T, kernel: K) -> Result<Self, KernelError> {
        super::check_signal_variance(factor)?;
        Ok(Scaled { factor, kernel })
    }
}

impl<T: Scalar, K: Kernel<T>> Kernel<T> for Scaled<T, K> {
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        self.factor * self.kernel.covariance(a, b)
    }
    fn variance(&self, x: &[T]) -> T {
        self.factor * self.kernel.variance(x)
    }
    fn covariances(&self, x: &[T], points: &[T], out: &mut [T]) {
        self.kernel.covariances(x, points, out);
        for value in out {
            *value = self.factor * *value;
        }
    }
}

/// k₁(x, x') · k₂(x, x') on the two halves of a point: the first `split` coordinates and the rest.
///
/// What a prior over (validation set, hyper-parameter) or (task, input) is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product<A, B> {
    split: usize,
    first: A,
    second: B,
}

impl<A, B> Product<A, B> {
    /// `first` sees coordinates before `split`, `second` the others; a shorter point gives `second`
    /// nothing.
    pub fn new(split: usize, first: A, second: B) -> Self {
        Product {
            split,
            first,
            second,
        }
    }

    fn halves<'a, T>(&self, x: &'a [T]) -> (&'a [T], &'a [T]) {
        x.split_at(self.split.min(x.len()))
    }
}

impl<T: Scalar, A: Kernel<T>, B: Kernel<T>> Kernel<T> for Product<A, B> {
    fn covariance(&self, a: &[T], b: &[T]) -> T {
        let (a1, a2) = self.halves(a);
        let (b1, b2) = self.halves(b);
        self.first.covariance(a1, b1) * self.second.covariance(a2, b2)
    }
    fn variance(&self, x: &[T]) -> T {
        let (x1, x2) = self.halves(x);
        self.first.variance(x1) * self.second.variance(x2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Matern32, SquaredExponential};

    #[test]
    fn products_are_products() {
        let a = SquaredExponential::new(0.3, 2.0).unwrap();
        let b = Matern32::new(0.5, 1.0).unwrap();
        let product = Product::new(1, a, Scaled::new(3.0, b).unwrap());
        let x = [0.1, 0.2, 0.3];
        let y = [0.4, 0.0, 0.9];
        let expected = a.covariance(&x[..1], &y[..1]) * (3.0 * b.covariance(&x[1..], &y[1..]));
        assert_eq!(product.covariance(&x, &y), expected);
        assert_eq!(product.variance(&x), 6.0);
        let scaled = Scaled::new(0.5, a).unwrap();
        let mut out = [0.0; 3];
        scaled.covariances(&x[..1], &y, &mut out);
        for (y, out) in y.iter().zip(out) {
            assert_eq!(out, scaled.covariance(&x[..1], &[*y]));
        }
        assert!(Scaled::new(0.0, a).is_err());
    }
}
