//! Random Fourier features: the shared language of a federation.
//!
//! One public 64-bit seed gives every agent, device and server the same features, so that a weight
//! vector means the same function everywhere. Frequencies and phases are drawn in `f64` and rounded
//! to `T`: a device's `f32` features are a host's `f64` features, rounded.
//!
//! ```
//! use sordino_core::features::random_fourier::{RandomFourier, draw, storage_len};
//! use sordino_core::kernel::Stationary;
//!
//! let mut storage = vec![0f64; storage_len(1, 4096)];
//! draw(7, 0, Stationary::SquaredExponential, &[0.5], 1, 4096, &mut storage)?; // 7 is the public seed
//! let map = RandomFourier::new(1, 4096, 1.0, false, storage)?;
//! let (mut a, mut b) = (vec![0.0; 4096], vec![0.0; 4096]);
//! map.features(&[0.2], &mut a);
//! map.features(&[0.7], &mut b);
//! let product: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
//! assert!((product - (-0.5f64).exp()).abs() < 5.0 / 64.0); // k = e^(−½) up to five times 1/√M
//! # Ok::<(), sordino_core::features::FeatureError>(())
//! ```

use core::fmt;

use crate::kernel::Stationary;
use crate::linalg::{dot, slice, sum_of_squares};
use crate::math::Scalar;
use crate::random::{Party, Purpose};
use crate::random::{RunSeed, normal};

/// Why features were refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FeatureError {
    /// No feature or no dimension.
    Empty {
        /// Features asked for.
        count: usize,
        /// Dimension asked for.
        dim: usize,
    },
    /// A lengthscale that is not finite and positive, or neither one nor one per axis.
    Lengthscale {
        /// Lengthscales given.
        len: usize,
        /// The first offending value, or the first value if only the number is wrong.
        value: f64,
    },
    /// A signal variance that is not finite and positive.
    SignalVariance {
        /// The value given.
        value: f64,
    },
    /// A buffer of the wrong length.
    Storage {
        /// Length of the slice given.
        len: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A point of a dictionary that is NaN or infinite.
    NonFinite {
        /// Index of the number.
        index: usize,
    },
    /// A number of quadrature nodes per axis that is odd or outside 2..=64.
    Nodes {
        /// The value given.
        nodes: usize,
    },
    /// Too few quadrature nodes for the box: the features would repeat within it.
    Aliasing {
        /// Nodes per axis given.
        nodes: usize,
        /// Largest error of the kernel within the box, as a fraction of the signal variance.
        error: f64,
        /// A distance along one axis at which it occurs.
        distance: f64,
        /// The smallest number of nodes that would do, if at most 64.
        enough: Option<usize>,
    },
}

impl fmt::Display for FeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FeatureError::Empty { count, dim } => {
                write!(
                    f,
                    "{count} features in {dim} dimensions; both must be positive"
                )
            }
            FeatureError::Lengthscale { len, value } => {
                write!(
                    f,
                    "{len} lengthscale(s) with {value}: one, or one an axis, each finite and positive"
                )
            }
            FeatureError::SignalVariance { value } => {
                write!(f, "signal variance {value} must be finite and positive")
            }
            FeatureError::Storage { len, expected } => {
                write!(f, "feature storage of {len} numbers, {expected} needed")
            }
            FeatureError::NonFinite { index } => {
                write!(f, "number {index} of the dictionary is not finite")
            }
            FeatureError::Nodes { nodes } => write!(
                f,
                "{nodes} nodes per axis; an even number in 2..=64 is needed"
            ),
            FeatureError::Aliasing {
                nodes,
                error,
                distance,
                enough,
            } => {
                write!(
                    f,
                    "{nodes} nodes per axis alias: at distance {distance} the kernel is off by {error} of its variance; "
                )?;
                match enough {
                    Some(enough) => write!(f, "{enough} nodes would do"),
                    None => write!(f, "64 nodes would not do either, use random features"),
                }
            }
        }
    }
}

impl core::error::Error for FeatureError {}

/// φⱼ(x) = √(2s²/M)·cos(sⱼ·x + bⱼ), j = 1..M, optionally rescaled to ‖φ(x)‖ = s.
///
#[doc = include_str!("../../equations/random_fourier.html")]
///
/// **Storage**: `storage_len(dim, count)` numbers, the frequencies row-major, then the phases. It
/// may be borrowed: what nobody changes is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomFourier<T, S> {
    dim: usize,
    count: usize,
    signal_variance: T,
    amplitude: T,
    unit_norm: bool,
    storage: S,
}

/// Numbers that frequencies and phases take: count·(dim + 1).
pub const fn storage_len(dim: usize, count: usize) -> usize {
    count * (dim + 1)
}

impl<T: Scalar, S: AsRef<[T]>> RandomFourier<T, S> {
    /// Features from frequencies and phases that exist already (see [`draw`] for where they come
    /// from).
    ///
    /// **Parameters**: `signal_variance` s² > 0; `unit_norm` rescales every φ(x) to norm √s²
    /// exactly, as the authors' code does and their paper does not say.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn new(
        dim: usize,
        count: usize,
        signal_variance: T,
        unit_norm: bool,
        storage: S,
    ) -> Result<Self, FeatureError> {
        if dim == 0 || count == 0 {
            return Err(FeatureError::Empty { count, dim });
        }
        if !(signal_variance > T::ZERO && signal_variance.is_finite()) {
            return Err(FeatureError::SignalVariance {
                value: signal_variance.to_f64(),
            });
        }
        let len = storage.as_ref().len();
        let expected = storage_len(dim, count);
        if len != expected {
            return Err(FeatureError::Storage { len, expected });
        }
        let amplitude = ((signal_variance + signal_variance) / T::from_u32(count as u32)).sqrt();
        Ok(RandomFourier {
            dim,
            count,
            signal_variance,
            amplitude,
            unit_norm,
            storage,
        })
    }

    /// Number of features M.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of input coordinates D.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Signal variance s² of the kernel, unit y².
    pub fn signal_variance(&self) -> T {
        self.signal_variance
    }

    /// Borrows the same features.
    pub fn as_slice(&self) -> RandomFourier<T, &[T]> {
        RandomFourier {
            dim: self.dim,
            count: self.count,
            signal_variance: self.signal_variance,
            amplitude: self.amplitude,
            unit_norm: self.unit_norm,
            storage: self.storage.as_ref(),
        }
    }

    /// Writes φ(x) into the first M numbers of `out`.
    ///
    /// **Cost**: M·(D multiply-adds + one cosine). **Panics**: never; a shorter `x` reads as zeros.
    #[inline]
    pub fn features(&self, x: &[T], out: &mut [T]) {
        let storage = self.storage.as_ref();
        let Some((frequencies, phases)) = storage.split_at_checked(self.count * self.dim) else {
            return;
        };
        let (known, _) = slice::split(out, self.count.min(phases.len()));
        // All angles before the first cosine, which needs the registers for itself.
        match *x {
            [x0, x1] if self.dim == 2 => {
                for ((angle, phase), [s0, s1]) in
                    known.iter_mut().zip(phases).zip(frequencies.as_chunks().0)
                {
                    *angle = *phase + *s0 * x0 + *s1 * x1;
                }
            }
            _ => {
                for ((angle, phase), frequency) in known
                    .iter_mut()
                    .zip(phases)
                    .zip(slice::rows(frequencies, self.dim))
                {
                    *angle = frequency
                        .iter()
                        .zip(x)
                        .fold(*phase, |angle, (s, x)| angle + *s * *x);
                }
            }
        }
        known
            .iter_mut()
            .for_each(|phi| *phi = self.amplitude * phi.cos());
        if self.unit_norm {
            let out = out.get_mut(..self.count).unwrap_or(&mut []);
            let norm2 = sum_of_squares(out);
            if norm2 > T::ZERO {
                let scale = (self.signal_variance / norm2).sqrt();
                out.iter_mut().for_each(|phi| *phi *= scale);
            }
        }
    }

    /// φ(x)·weights without storing the features of more than one point: `scratch` holds M numbers.
    #[inline]
    pub fn value(&self, x: &[T], weights: &[T], scratch: &mut [T]) -> T {
        self.features(x, scratch);
        dot(scratch.get(..self.count).unwrap_or(&[]), weights)
    }
}

/// Draws frequencies and phases into `storage` (see [`storage_len`]) from a public seed.
///
/// **Equation**: sⱼ = gⱼ/ℓ for the squared exponential; sⱼ = gⱼ/ℓ · √(2ν/χ²₂ᵥ) for Matérn ν, one χ²
/// a feature shared by all coordinates (the multivariate Student-t, not a product of univariate
/// ones); bⱼ uniform on [0, 2π). ℓ per axis.
///
/// **Parameters**: `lengthscales` one for all axes or one an axis, input units, finite and
/// positive.
///
/// **Cost**: per feature, in this order: D normals (pairs), 2ν normals for Matérn, one word for the
/// phase, all `f64`.
///
/// **Source**: Rahimi and Recht 2007; the spectral density of Matérn kernels, Rasmussen and
/// Williams 2006, eq. 4.15.
///
/// **Errors**: [`FeatureError`]; `storage` is untouched then.
pub fn draw<T: Scalar>(
    feature_seed: u64,
    run_index: u32,
    kernel: Stationary,
    lengthscales: &[f64],
    dim: usize,
    count: usize,
    storage: &mut [T],
) -> Result<(), FeatureError> {
    check(lengthscales, dim, count, storage.len())?;
    let degrees = kernel.degrees_of_freedom().unwrap_or(0) as usize;
    let mut stream =
        RunSeed::new(feature_seed, run_index).stream(Party::World, Purpose::Features, 0);
    let (frequencies, phases) = slice::split(storage, count * dim);
    let mut gaussian = [0.0f64; 8];
    for (frequency, phase) in frequencies.chunks_exact_mut(dim.max(1)).zip(phases) {
        // Drawn in f64 whatever T is: unscaled normals wait in chunks so that no buffer of D is
        // needed.
        let mut start = stream.clone();
        let mut left = dim;
        while left > 0 {
            let take = left.min(gaussian.len());
            normal::fill(&mut stream, &mut gaussian[..take]);
            left -= take;
        }
        let tail = if degrees > 0 {
            normal::fill(&mut stream, &mut gaussian[..degrees]);
            Scalar::sqrt(degrees as f64 / sum_of_squares(&gaussian[..degrees]))
        } else {
            1.0
        };
        for (block, out) in frequency.chunks_mut(gaussian.len()).enumerate() {
            normal::fill(&mut start, &mut gaussian[..out.len()]);
            for (i, s) in out.iter_mut().enumerate() {
                let axis = block * gaussian.len() + i;
                let lengthscale = lengthscales
                    .get(axis)
                    .or(lengthscales.first())
                    .copied()
                    .unwrap_or(1.0);
                *s = T::from_f64(gaussian[i] / lengthscale * tail);
            }
        }
        *phase = T::from_f64(stream.unit::<f64>() * core::f64::consts::TAU);
    }
    Ok(())
}

/// What every drawing of frequencies and phases asks of its arguments.
pub(super) fn check(
    lengthscales: &[f64],
    dim: usize,
    count: usize,
    len: usize,
) -> Result<(), FeatureError> {
    if dim == 0 || count == 0 {
        return Err(FeatureError::Empty { count, dim });
    }
    let expected = storage_len(dim, count);
    if len != expected {
        return Err(FeatureError::Storage { len, expected });
    }
    check_lengthscales(lengthscales, dim)
}

/// One lengthscale or one an axis, each finite and positive.
pub(super) fn check_lengthscales(lengthscales: &[f64], dim: usize) -> Result<(), FeatureError> {
    let wrong = lengthscales.iter().find(|l| !(**l > 0.0 && l.is_finite()));
    if wrong.is_some() || (lengthscales.len() != 1 && lengthscales.len() != dim) {
        let value = *wrong.or(lengthscales.first()).unwrap_or(&f64::NAN);
        return Err(FeatureError::Lengthscale {
            len: lengthscales.len(),
            value,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::kernel::{Kernel, StationaryKernel};
    use std::vec;

    #[test]
    fn inner_products_approach_every_kernel_and_the_wrong_kernel_is_rejected() {
        // M = 4,000: the error of an inner product has standard deviation below 1/√M = 0.016; 4.5
        // of them.
        const M: usize = 4000;
        let points = [[0.0, 0.0], [0.1, 0.05], [0.3, -0.2], [0.5, 0.5]];
        let all = [
            Stationary::SquaredExponential,
            Stationary::Matern12,
            Stationary::Matern32,
            Stationary::Matern52,
        ];
        let error = |features: Stationary, kernel: Stationary| {
            let lengthscales = [0.3, 0.2];
            let mut storage = vec![0.0; storage_len(2, M)];
            draw(7, 0, features, &lengthscales, 2, M, &mut storage).unwrap();
            let map = RandomFourier::new(2, M, 1.5, false, storage).unwrap();
            let exact = StationaryKernel::ard_with_shape(kernel, &lengthscales[..], 1.5).unwrap();
            let mut worst = 0.0f64;
            let mut a = vec![0.0; M];
            let mut b = vec![0.0; M];
            for x in points {
                for y in points {
                    map.features(&x, &mut a);
                    map.features(&y, &mut b);
                    worst = worst.max((dot(&a, &b) - exact.covariance(&x, &y)).abs());
                }
            }
            worst
        };
        for kernel in all {
            assert!(error(kernel, kernel) < 1.5 * 4.5 / 63.0, "{kernel:?}");
        }
        assert!(error(Stationary::SquaredExponential, Stationary::Matern12) > 1.5 * 4.5 / 63.0);
    }

    #[test]
    fn single_precision_is_the_double_rounded() {
        let mut wide = vec![0.0f64; 30];
        let mut narrow = vec![0.0f32; 30];
        draw(3, 1, Stationary::Matern32, &[0.1], 2, 10, &mut wide).unwrap();
        draw(3, 1, Stationary::Matern32, &[0.1], 2, 10, &mut narrow).unwrap();
        assert!(wide.iter().zip(&narrow).all(|(w, n)| *w as f32 == *n));
    }

    #[test]
    fn refuses_nonsense() {
        let mut storage = [0.0f64; 4];
        let mut draw =
            |l: &[f64], count| draw(0, 0, Stationary::Matern12, l, 1, count, &mut storage);
        assert_eq!(
            draw(&[0.0], 2),
            Err(FeatureError::Lengthscale { len: 1, value: 0.0 })
        );
        assert!(matches!(
            draw(&[f64::NAN], 2),
            Err(FeatureError::Lengthscale { .. })
        ));
        assert_eq!(
            draw(&[0.1, 0.1], 2),
            Err(FeatureError::Lengthscale { len: 2, value: 0.1 })
        );
        assert_eq!(
            draw(&[0.1], 3),
            Err(FeatureError::Storage {
                len: 4,
                expected: 6
            })
        );
        assert!(RandomFourier::new(1, 2, -1.0f64, true, [0.0; 4]).is_err());
    }
}
