//! The finite posterior in single precision: its bounds and its refusal.

extern crate std;

use super::*;
use crate::kernel::{Stationary, StationaryKernel};
use crate::random::{Stream, normal};
use std::vec;
use std::vec::Vec;

fn points(n: usize) -> Vec<f64> {
    let mut stream = Stream::from_seed(3);
    (0..2 * n).map(|_| stream.unit()).collect()
}

/// Largest errors of a finite posterior in `f32` over 1,000 observations, as fractions of the
/// documented bounds: (variance, mean).
fn drift<K: Kernel<f64>, L: Kernel<f32>>(
    wide: &K,
    narrow: &L,
    noise: f64,
    largest_first: bool,
) -> (f64, f64) {
    const N: usize = 60;
    let grid = points(N);
    let single: Vec<f32> = grid.iter().map(|x| *x as f32).collect();
    let mut a = FiniteGp::new(wide, noise, 2, &grid, vec![0.0; storage_len(N)]).unwrap();
    let mut b = FiniteGp::new(narrow, noise as f32, 2, &single, vec![0.0; storage_len(N)]).unwrap();
    let mut stream = Stream::from_seed(4);
    let mut worst = (0.0f64, 0.0f64);
    let mut largest = 0.0f64;
    for t in 1..=1000 {
        let at = |i: &usize| a.posterior(*i).unwrap().variance;
        let i = if largest_first {
            (0..N).max_by(|i, j| at(i).total_cmp(&at(j))).unwrap()
        } else {
            stream.below(N as u32) as usize
        };
        let y =
            libm::sin(6.0 * grid[2 * i]) + Scalar::sqrt(noise) * normal::draw::<f64>(&mut stream);
        largest = largest.max(Scalar::abs(y));
        a.observe(i, y).unwrap();
        b.observe(i, y as f32).unwrap();
        let epsilon = f64::from(f32::EPSILON);
        let of_variance = f64::from(b.variance_error());
        let of_mean = 8.0 * (f64::from(t) + wide.variance(&[]) / noise) * epsilon * largest;
        for i in 0..N {
            let x = a.posterior(i).unwrap();
            let y = b.posterior(i).unwrap();
            worst.0 = worst
                .0
                .max(Scalar::abs(x.variance - f64::from(y.variance)) / of_variance);
            worst.1 = worst
                .1
                .max(Scalar::abs(x.mean - f64::from(y.mean)) / of_mean);
        }
    }
    worst
}

#[test]
fn single_precision_keeps_its_bounds_down_to_the_least_noise_that_is_accepted() {
    let mut worst = (0.0f64, 0.0f64);
    for shape in [Stationary::SquaredExponential, Stationary::Matern52] {
        for lengthscale in [0.05, 0.2, 1.0] {
            let wide = StationaryKernel::with_shape(shape, lengthscale, 1.0).unwrap();
            let narrow = StationaryKernel::with_shape(shape, lengthscale as f32, 1.0).unwrap();
            for noise in [1.0, 0.1, 1e-2, 1.3e-4] {
                for largest_first in [false, true] {
                    let found = drift(&wide, &narrow, noise, largest_first);
                    assert!(
                        found.0 < 1.0 && found.1 < 1.0,
                        "{shape:?} {lengthscale} {noise} {found:?}"
                    );
                    worst = (worst.0.max(found.0), worst.1.max(found.1));
                }
            }
            let least = 1024.0 * f32::EPSILON;
            let storage = vec![0.0; storage_len(2)];
            let refused =
                FiniteGp::new(&narrow, 0.99 * least, 1, &[0.0, 1.0], storage).unwrap_err();
            assert!(
                matches!(refused, SurrogateError::Unresolved { smallest, .. } if smallest == f64::from(least))
            );
            for (noise, accepted) in [
                (1e-12, true),
                (0.0, false),
                (-1.0, false),
                (f64::NAN, false),
            ] {
                let storage = vec![0.0; storage_len(2)];
                assert_eq!(
                    FiniteGp::new(&wide, noise, 1, &[0.0, 1.0], storage).is_ok(),
                    accepted
                );
            }
        }
    }
    // Control: the bounds are not idle.
    assert!(worst.0 > 0.2 && worst.1 > 0.1, "{worst:?}");
}
