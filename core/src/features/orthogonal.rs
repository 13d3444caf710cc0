//! Orthogonal random frequencies: blocks of D directions at right angles, with independent lengths.
//!
//! In many dimensions (8 and more) the error of φ(x)·φ(x') falls; in two there is nothing to gain.
//! The lengths must be χ with D degrees of freedom as drawn here: equal lengths give the features
//! of another kernel.
//!
//! **Source**: Yu et al. 2016.
//!
//! ```
//! use sordino_core::features::{RandomFourier, orthogonal, random_fourier};
//! use sordino_core::kernel::Stationary;
//!
//! let (dim, count) = (8, 64);
//! let mut storage = vec![0.0; random_fourier::storage_len(dim, count)];
//! let scratch = &mut vec![0.0; dim * dim + dim];
//! orthogonal::draw(7, 0, Stationary::SquaredExponential, &[0.5], dim, count, &mut storage, scratch)?;
//! let dot: f64 = (0..dim).map(|i| storage[i] * storage[dim + i]).sum();
//! assert!(dot.abs() < 1e-9); // the first two frequencies are at right angles
//! let map = RandomFourier::new(dim, count, 1.0, true, storage)?;
//! assert_eq!((map.dim(), map.count()), (8, 64));
//! # Ok::<(), sordino_core::features::FeatureError>(())
//! ```

use super::{FeatureError, random_fourier};
use crate::kernel::Stationary;
use crate::linalg::{axpy, dot, sum_of_squares};
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed, normal};

/// Draws frequencies (row-major) and phases into `storage`, laid out as by
/// [`random_fourier::draw`], for the same maps.
///
/// **Parameters**: as [`random_fourier::draw`]; `scratch` holds dim² + dim numbers. The streams
/// differ: another stream is used, so that the same seed gives unrelated features.
///
/// **Cost**: D³ flops a block; per block D² normals, then per feature D normals for the length, 2ν
/// for Matérn, a word for the phase, all `f64`.
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
    scratch: &mut [f64],
) -> Result<(), FeatureError> {
    random_fourier::check(lengthscales, dim, count, storage.len())?;
    let len = scratch.len();
    let expected = dim * dim + dim;
    if len < expected {
        return Err(FeatureError::Storage { len, expected });
    }
    let degrees = kernel.degrees_of_freedom().unwrap_or(0) as usize;
    let mut stream =
        RunSeed::new(feature_seed, run_index).stream(Party::World, Purpose::Features, 1);
    let (frequencies, phases) = storage.split_at_mut(count * dim);
    let (block, vector) = scratch.split_at_mut(dim * dim);
    let vector = &mut vector[..dim];
    for (frequencies, phases) in frequencies
        .chunks_mut(dim * dim)
        .zip(phases.chunks_mut(dim))
    {
        directions(&mut stream, dim, block);
        for ((frequency, phase), direction) in frequencies
            .chunks_exact_mut(dim)
            .zip(phases)
            .zip(block.chunks_exact(dim))
        {
            normal::fill(&mut stream, vector);
            let mut length = Scalar::sqrt(sum_of_squares(vector));
            if degrees > 0 {
                let mut chi = [0.0; 8];
                normal::fill(&mut stream, &mut chi[..degrees]);
                length *= Scalar::sqrt(degrees as f64 / sum_of_squares(&chi[..degrees]));
            }
            for (axis, (s, u)) in frequency.iter_mut().zip(direction).enumerate() {
                let lengthscale = lengthscales
                    .get(axis)
                    .or(lengthscales.first())
                    .copied()
                    .unwrap_or(1.0);
                *s = T::from_f64(length * u / lengthscale);
            }
            *phase = T::from_f64(stream.unit::<f64>() * core::f64::consts::TAU);
        }
    }
    Ok(())
}

/// `dim` orthonormal rows, uniformly distributed: Gram-Schmidt of normal vectors, applied twice.
fn directions(stream: &mut crate::random::Stream, dim: usize, block: &mut [f64]) {
    normal::fill(stream, block);
    for i in 0..dim {
        let (done, rest) = block.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        for _ in 0..2 {
            for other in done.chunks_exact(dim) {
                let along = dot(row, other);
                axpy(-along, other, row);
            }
            let norm = Scalar::sqrt(sum_of_squares(row));
            row.iter_mut().for_each(|x| *x /= norm);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::features::{FeatureMap, PairedFourier, RandomFourier};
    use crate::kernel::{Kernel, StationaryKernel};
    use std::vec;

    /// Mean squared error of φ(x)·φ(x') over 40 seeds, D = 8, M = 64, points at half a lengthscale
    /// to two.
    fn error(kernel: Stationary, truth: Stationary, orthogonal: bool, paired: bool) -> f64 {
        const D: usize = 8;
        const M: usize = 64;
        let exact = StationaryKernel::with_shape(truth, 0.7, 1.0).unwrap();
        let count = if paired { M / 2 } else { M };
        let mut sum = 0.0;
        for seed in 0..40 {
            let mut storage = vec![0.0; random_fourier::storage_len(D, count)];
            if orthogonal {
                draw(
                    seed,
                    0,
                    kernel,
                    &[0.7],
                    D,
                    count,
                    &mut storage,
                    &mut [0.0; D * D + D],
                )
                .unwrap();
            } else {
                random_fourier::draw(seed, 0, kernel, &[0.7], D, count, &mut storage).unwrap();
            }
            for scale in [0.1, 0.2, 0.4] {
                let x = [0.0; D];
                let y = [scale; D];
                let mut a = vec![0.0; M];
                let mut b = vec![0.0; M];
                if paired {
                    let map = PairedFourier::new(D, count, 1.0, &storage[..]).unwrap();
                    map.features(&x, &mut a);
                    map.features(&y, &mut b);
                    assert!((sum_of_squares(&a) - 1.0).abs() < 1e-12);
                } else {
                    let map = RandomFourier::new(D, count, 1.0, false, &storage[..]).unwrap();
                    map.features(&x, &mut a);
                    map.features(&y, &mut b);
                }
                let d = dot(&a, &b) - exact.covariance(&x, &y);
                sum += d * d / 120.0;
            }
        }
        sum
    }

    #[test]
    fn orthogonal_and_paired_features_err_less_than_plain_ones() {
        for kernel in [Stationary::SquaredExponential, Stationary::Matern52] {
            let run = |orthogonal, paired| error(kernel, kernel, orthogonal, paired);
            let plain = run(false, false);
            let paired = run(false, true);
            let orthogonal = run(true, true);
            assert!(
                paired < plain && orthogonal < 0.8 * paired,
                "{kernel:?}: {plain} {paired} {orthogonal}"
            );
        }
        // Negative control: features of another kernel are seen.
        let right = Stationary::SquaredExponential;
        let other = Stationary::Matern12;
        assert!(error(right, other, true, true) > 2.0 * error(other, other, true, true));
    }

    #[test]
    fn blocks_are_orthogonal() {
        let mut storage = vec![0.0f64; random_fourier::storage_len(3, 7)];
        draw(
            1,
            0,
            Stationary::SquaredExponential,
            &[1.0],
            3,
            7,
            &mut storage,
            &mut [0.0; 12],
        )
        .unwrap();
        for block in storage[..21].chunks(9) {
            for (i, a) in block.chunks(3).enumerate() {
                for b in block.chunks(3).take(i) {
                    assert!(dot(a, b).abs() < 1e-13);
                }
            }
        }
        assert!(
            draw(
                1,
                0,
                Stationary::Matern12,
                &[1.0],
                3,
                7,
                &mut storage,
                &mut [0.0; 11]
            )
            .is_err()
        );
    }
}
