//! Nyström features: the kernel as a few of its own points see it.
//!
//! **Equation**: φ(x) = K_D^{−1/2} k_D(x) with the symmetric root, so that φ(x)·φ(x') = k_D(x)ᵀ
//! K_D⁺ k_D(x') for the dictionary D. Repeated or dependent points are allowed: the root is a
//! pseudo-inverse, eigenvalues up to 1e−10 times the largest (`f32`: 1e−5) count as 0. The
//! numerical rank, not the number of points, is the m of the bounds.
//!
//! **Source**: Calandriello et al. 2019; Zhou and Tan 2021, section 4.
//!
//! ```
//! use sordino_core::features::{Nystrom, nystrom::{scratch_len, storage_len}};
//! use sordino_core::kernel::{Kernel, SquaredExponential};
//!
//! let (kernel, points) = (SquaredExponential::new(0.5, 1.0)?, [0.0, 0.5, 1.0]);
//! let map = Nystrom::new(kernel, 1, points, [0f64; storage_len(3)], &mut [0.0; scratch_len(3)])?;
//! let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
//! map.features(&[0.5], &mut first, &mut [0.0; 3]);
//! map.features(&[0.2], &mut second, &mut [0.0; 3]);
//! let product: f64 = first.iter().zip(second).map(|(a, b)| a * b).sum();
//! // Exact wherever one of the two points is in the dictionary.
//! assert!((product - kernel.covariance(&[0.5], &[0.2])).abs() < 1e-9);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use super::FeatureError;
use crate::kernel::Kernel;
use crate::linalg::{matvec, symmetric};
use crate::math::Scalar;

/// Numbers that the root takes: m².
pub const fn storage_len(points: usize) -> usize {
    points * points
}

/// Numbers of scratch that [`Nystrom::new`] needs: m² + m.
pub const fn scratch_len(points: usize) -> usize {
    points * points + points
}

/// Features of a kernel on a dictionary of m points, m features of which `rank` are independent.
#[derive(Clone, Debug)]
pub struct Nystrom<K, D, S> {
    kernel: K,
    dictionary: D,
    root: S,
    dim: usize,
    count: usize,
    rank: usize,
}

impl<K, D, S> Nystrom<K, D, S> {
    /// The features of `dictionary`, m points of `dim` coordinates, row-major.
    ///
    /// **Parameters**: `storage` of [`storage_len`], `scratch` of [`scratch_len`].
    ///
    /// **Errors**: [`FeatureError::Empty`]; [`FeatureError::Storage`] for any slice that is too
    /// short, and for a dictionary that is not a whole number of points;
    /// [`FeatureError::NonFinite`].
    ///
    /// **Cost**: about 10 sweeps of 9m³ flops.
    pub fn new<T: Scalar>(
        kernel: K,
        dim: usize,
        dictionary: D,
        mut storage: S,
        scratch: &mut [T],
    ) -> Result<Self, FeatureError>
    where
        K: Kernel<T>,
        D: AsRef<[T]>,
        S: AsRef<[T]> + AsMut<[T]>,
    {
        let points = dictionary.as_ref();
        if dim == 0 || points.is_empty() {
            return Err(FeatureError::Empty {
                count: points.len(),
                dim,
            });
        }
        let count = points.len() / dim;
        if let Some(index) = points.iter().position(|x| !x.is_finite()) {
            return Err(FeatureError::NonFinite { index });
        }
        let lens = [
            (points.len(), count * dim),
            (storage.as_ref().len(), storage_len(count)),
            (scratch.len(), scratch_len(count)),
        ];
        for (i, (len, expected)) in lens.into_iter().enumerate() {
            if len < expected || (i == 0 && len != expected) {
                return Err(FeatureError::Storage { len, expected });
            }
        }
        let root = &mut storage.as_mut()[..count * count];
        for (x, row) in points.chunks_exact(dim).zip(root.chunks_exact_mut(count)) {
            kernel.covariances(x, points, row);
        }
        let relative = T::from_f64(if T::BYTES == 4 { 1e-5 } else { 1e-10 });
        let rank = symmetric::inverse_root(root, count, relative, scratch);
        Ok(Nystrom {
            kernel,
            dictionary,
            root: storage,
            dim,
            count,
            rank,
        })
    }

    /// Numerical rank of K_D.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Points of the dictionary, repeats included; the number of features.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of input coordinates D.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Writes φ(x) into the first m numbers of `out`; `scratch` holds m numbers.
    ///
    /// **Cost**: 2m² flops, m covariances. **Panics**: never; slices that are too short leave `out`
    /// as it was.
    pub fn features<T: Scalar>(&self, x: &[T], out: &mut [T], scratch: &mut [T])
    where
        K: Kernel<T>,
        D: AsRef<[T]>,
        S: AsRef<[T]>,
    {
        let m = self.count;
        let (Some(out), Some(column)) = (out.get_mut(..m), scratch.get_mut(..m)) else {
            return;
        };
        self.kernel.covariances(x, self.dictionary.as_ref(), column);
        matvec(&self.root.as_ref()[..m * m], column, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Matern32;
    use crate::linalg::dot;

    #[test]
    fn gram_is_exact_on_the_dictionary_and_repeats_change_nothing() {
        let kernel = Matern32::new(0.4, 1.3).unwrap();
        let plain = [0.0, 0.3, 0.9];
        let repeated = [0.0, 0.3, 0.9, 0.3, 0.0];
        let a = Nystrom::new(kernel, 1, plain, [0.0; 9], &mut [0.0; 12]).unwrap();
        let b = Nystrom::new(kernel, 1, repeated, [0.0; 25], &mut [0.0; 30]).unwrap();
        assert_eq!((a.rank(), a.count(), b.rank(), b.count()), (3, 3, 3, 5));
        let tests = [0.0, 0.3, 0.9, 0.5];
        for x in tests {
            for y in tests {
                let gram = |map: &dyn Fn(f64, &mut [f64; 5])| {
                    let mut p = [0.0; 5];
                    let mut q = [0.0; 5];
                    map(x, &mut p);
                    map(y, &mut q);
                    dot(&p, &q)
                };
                let g = gram(&|x, out| a.features(&[x], out, &mut [0.0; 3]));
                let h = gram(&|x, out| b.features(&[x], out, &mut [0.0; 5]));
                assert!((g - h).abs() < 1e-12);
                if x != 0.5 && y != 0.5 {
                    assert!((g - kernel.covariance(&[x], &[y])).abs() < 1e-12);
                } else if x == y {
                    assert!(g < 1.3 - 0.05, "between the points something is missing");
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let kernel = Matern32::new(0.4f32, 1.3).unwrap();
        assert!(Nystrom::new(kernel, 1, [0.0; 0], [0.0; 9], &mut [0.0; 12]).is_err());
        assert!(Nystrom::new(kernel, 2, [0.0; 3], [0.0; 9], &mut [0.0; 12]).is_err());
        assert!(Nystrom::new(kernel, 1, [0.0; 3], [0.0; 8], &mut [0.0; 12]).is_err());
        assert!(Nystrom::new(kernel, 1, [0.0; 3], [0.0; 9], &mut [0.0; 11]).is_err());
        assert!(Nystrom::new(kernel, 1, [f32::NAN; 3], [0.0; 9], &mut [0.0; 12]).is_err());
    }
}
