//! Tests across the engines: one posterior, whatever computes it.

extern crate std;

use super::*;
use crate::features::{RandomFourier, random_fourier};
use crate::kernel::{Kernel, SquaredExponential, Stationary, StationaryKernel};
use crate::linalg::{lower, packed_len};
use crate::random::Stream;
use std::vec;
use std::vec::Vec;

mod grid;
mod properties;

fn points(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::from_seed(seed);
    (0..n * dim).map(|_| stream.unit()).collect()
}

#[test]
fn three_engines_hold_one_posterior() {
    const N: usize = 300;
    let grid = points(N, 2, 1);
    let mut stream = Stream::from_seed(2);
    for shape in Stationary::ALL {
        let kernel = StationaryKernel::with_shape(shape, 0.25, 1.4).unwrap();
        let mut rows =
            ExactGp::new(kernel, 0.01, 2, 60, vec![0.0; exact::storage_len(2, 60)]).unwrap();
        let storage = vec![0.0; candidates::storage_len(N, 60)];
        let mut list = CandidateGp::new(kernel, 0.01, 2, &grid[..], 60, storage).unwrap();
        let mut full =
            FiniteGp::new(&kernel, 0.01, 2, &grid, vec![0.0; finite::storage_len(N)]).unwrap();
        for t in 0..60 {
            // Every fifth is a repeat.
            let i = if t % 5 == 4 {
                7
            } else {
                stream.below(N as u32) as usize
            };
            let y = stream.unit::<f64>() - 0.3;
            rows.observe(&grid[2 * i..2 * i + 2], y).unwrap();
            list.observe(i, y).unwrap();
            full.observe(i, y).unwrap();
        }
        let mut covariances = vec![0.0; N];
        list.covariances(7, &mut covariances).unwrap();
        let mut mean = vec![0.0; N];
        let mut packed = vec![0.0; packed_len(N)];
        joint::posterior_covariance(&rows, &grid, &mut mean, &mut packed, &mut vec![0.0; N * 60])
            .unwrap();
        for i in 0..N {
            let exact = rows.posterior(&grid[2 * i..2 * i + 2]).unwrap();
            for other in [list.posterior(i).unwrap(), full.posterior(i).unwrap()] {
                assert!(
                    (exact.mean - other.mean).abs() < 1e-11
                        && (exact.variance - other.variance).abs() < 1e-11
                );
            }
            let column = lower::row(full.covariance(), i.max(7))[i.min(7)];
            assert!((column - covariances[i]).abs() < 1e-11);
            assert!((column - lower::row(&packed, i.max(7))[i.min(7)]).abs() < 1e-11);
            assert_eq!(mean[i].to_bits(), exact.mean.to_bits());
        }
    }
}

#[test]
fn finite_engines_refuse_and_stay_as_they_were() {
    let kernel = SquaredExponential::new(0.2, 1.0).unwrap();
    let grid = [0.0, 0.5, 1.0];
    let mut list = CandidateGp::new(
        kernel,
        0.0,
        1,
        grid,
        3,
        vec![0.0; candidates::storage_len(3, 3)],
    )
    .unwrap();
    let mut full =
        FiniteGp::new(&kernel, 1e-9, 1, &grid, vec![0.0; finite::storage_len(3)]).unwrap();
    list.observe(1, 2.0).unwrap();
    full.observe(1, 2.0).unwrap();
    let before = list.mean().to_vec();
    let before_full = full.mean().to_vec();
    assert!(matches!(
        list.observe(1, 1.0),
        Err(SurrogateError::Singular(_))
    ));
    for y in [f64::NAN, f64::INFINITY, -1e308] {
        assert!(matches!(list.observe(0, y), Err(SurrogateError::NonFinite { .. })) || y == -1e308);
        assert!(full.observe(0, y).is_err() || y == -1e308);
        if y == -1e308 {
            assert!(
                list.mean()
                    .iter()
                    .chain(full.mean())
                    .all(|m| f64::is_finite(*m))
            );
        } else {
            assert_eq!((list.mean(), full.mean()), (&before[..], &before_full[..]));
        }
    }
    assert_eq!(
        list.observe(3, 0.0),
        Err(SurrogateError::Index { index: 3, len: 3 })
    );
    assert!(
        full.observe(3, 0.0).is_err() && list.posterior(3).is_err() && full.posterior(3).is_err()
    );
    assert!(CandidateGp::new(kernel, -1.0, 1, grid, 3, vec![0.0; 99]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 2, grid, 3, vec![0.0; 99]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 1, grid, 3, vec![0.0; 14]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 1, [f64::NAN], 3, vec![0.0; 99]).is_err());
    assert!(FiniteGp::new(&kernel, 0.1, 1, &grid, vec![0.0; 11]).is_err());
    assert!(FiniteGp::with_prior(0.1, 1, vec![0.0; 3], |c| c[0] = f64::NAN).is_err());
}

#[test]
fn joint_draws_at_a_thousand_candidates_succeed() {
    for n in [50, 200] {
        let data = points(n, 2, 5);
        let kernel = SquaredExponential::new(0.2, 1.0).unwrap();
        let mut gp = ExactGp::new(kernel, 0.01, 2, n, vec![0.0; exact::storage_len(2, n)]).unwrap();
        for x in data.chunks(2) {
            gp.observe(x, libm::sin(6.0 * x[0]) * libm::cos(5.0 * x[1]))
                .unwrap();
        }
        let m = 1000;
        let grid = points(m, 2, 9);
        let mut factor = vec![0.0; packed_len(m)];
        let mut scratch = vec![0.0; m * n + m];
        let mut out = vec![0.0; m];
        let jitter = joint::draw_exact(
            &gp,
            &grid,
            &mut Stream::from_seed(6),
            &mut factor,
            &mut scratch,
            &mut out,
        )
        .unwrap();
        assert!(jitter.relative <= 1e-9 && jitter.tries >= 2, "{jitter:?}");
        assert!(out.iter().all(|f| f64::is_finite(*f)));
    }
}

/// z-scores of mean and covariance of draws against the exact posterior at three points; 4,000
/// draws.
fn moments(draw: &mut dyn FnMut(&mut Stream, &mut [f64; 3]), mean: &[f64], packed: &[f64]) -> f64 {
    let draws = 4000.0;
    let mut stream = Stream::from_seed(31);
    let mut sum = [0.0; 3];
    let mut products = [0.0; 6];
    for _ in 0..4000 {
        let mut f = [0.0; 3];
        draw(&mut stream, &mut f);
        for i in 0..3 {
            let a = f[i] - mean[i];
            sum[i] += a / draws;
            for j in 0..=i {
                products[packed_len(i) + j] += a * (f[j] - mean[j]) / draws;
            }
        }
    }
    let c = |i: usize, j: usize| packed[packed_len(i.max(j)) + i.min(j)];
    let mut worst = 0.0f64;
    for i in 0..3 {
        worst = worst.max(sum[i].abs() / Scalar::sqrt(c(i, i) / draws));
        for j in 0..=i {
            let std = Scalar::sqrt((c(i, i) * c(j, j) + c(i, j) * c(i, j)) / draws);
            worst = worst.max((products[packed_len(i) + j] - c(i, j)).abs() / std);
        }
    }
    worst
}

/// Level: nine z-scores below 4.5 each, 6e-5 in all.
const LIMIT: f64 = 4.5;

#[test]
fn joint_and_pathwise_draws_have_the_posterior_law_and_the_test_can_fail() {
    let kernel = SquaredExponential::new(0.3, 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, 0.05, 1, 4, vec![0.0; exact::storage_len(1, 4)]).unwrap();
    for (x, y) in [(0.1, 0.5), (0.15, 0.9), (0.6, -1.0), (0.95, 0.2)] {
        gp.observe(&[x], y).unwrap();
    }
    let tests = [0.05, 0.4, 0.7];
    let mut mean = [0.0; 3];
    let mut packed = [0.0; 6];
    joint::posterior_covariance(&gp, &tests, &mut mean, &mut packed, &mut [0.0; 12]).unwrap();
    for wrong in [1.0, 1.08] {
        let mut factor = [0.0; 6];
        let mut scratch = [0.0; 15];
        let worst = moments(
            &mut |stream, out| {
                joint::draw_exact(&gp, &tests, stream, &mut factor, &mut scratch, out).unwrap();
                out.iter_mut()
                    .zip(mean)
                    .for_each(|(f, mean)| *f = mean + wrong * (*f - mean));
            },
            &mean,
            &packed,
        );
        // Negative control: 8 % too wide is 17 % too much variance, 7 standard errors.
        assert_eq!(worst < LIMIT, wrong == 1.0, "joint {worst}");
    }
    // The same points as a finite domain, observed ones first.
    let domain = [0.1, 0.15, 0.6, 0.95, 0.05, 0.4, 0.7];
    let mut full =
        FiniteGp::new(&kernel, 0.05, 1, &domain, vec![0.0; finite::storage_len(7)]).unwrap();
    for (i, y) in [0.5, 0.9, -1.0, 0.2].into_iter().enumerate() {
        full.observe(i, y).unwrap();
    }
    for wrong in [1.0, 1.08] {
        let mut factor = [0.0; 28];
        let mut all = [0.0; 7];
        let worst = moments(
            &mut |stream, out| {
                joint::draw_finite(&full, stream, &mut factor, &mut all).unwrap();
                out.iter_mut()
                    .zip(all[4..].iter().zip(mean))
                    .for_each(|(out, (f, m))| *out = m + wrong * (f - m));
            },
            &mean,
            &packed,
        );
        assert_eq!(worst < LIMIT, wrong == 1.0, "finite {worst}");
    }
    // A prior whose features are exact: then the paths have the exact law, too.
    let grid = [0.1, 0.15, 0.6, 0.95, 0.05, 0.4, 0.7];
    let prior = ExactFeatures::new(&kernel, &grid);
    for wrong in [1.0, 1.08] {
        let worst = moments(
            &mut |stream, out| {
                let mut weights = [0.0; 7];
                let mut update = [0.0; 4];
                let mut scratch = [0.0; 7];
                let draw = pathwise::PathwiseDraw::new(
                    &gp,
                    &prior,
                    stream,
                    &mut weights,
                    &mut update,
                    &mut scratch,
                )
                .unwrap();
                for ((x, mean), out) in tests.iter().zip(mean).zip(out) {
                    *out = mean
                        + wrong * (draw.value(&gp, &prior, &[*x], &mut scratch).unwrap() - mean);
                }
            },
            &mean,
            &packed,
        );
        assert_eq!(worst < LIMIT, wrong == 1.0, "pathwise {worst}");
    }
}

#[test]
fn lists_and_points_have_the_same_bits() {
    fn check<T: Scalar>() {
        const N: usize = 37;
        let grid: Vec<T> = points(N, 2, 21).into_iter().map(T::from_f64).collect();
        let number = T::from_f64;
        let kernel =
            StationaryKernel::with_shape(Stationary::Matern52, number(0.3), T::ONE).unwrap();
        let mut list = CandidateGp::new(
            kernel,
            number(0.01),
            2,
            &grid[..],
            N,
            vec![T::ZERO; candidates::storage_len(N, N)],
        )
        .unwrap();
        let mut full = FiniteGp::new(
            &kernel,
            number(0.01),
            2,
            &grid,
            vec![T::ZERO; finite::storage_len(N)],
        )
        .unwrap();
        let mut rows = ExactGp::new(
            kernel,
            number(0.01),
            2,
            N,
            vec![T::ZERO; exact::storage_len(2, N)],
        )
        .unwrap();
        let mut frequencies = vec![T::ZERO; 3 * 20];
        random_fourier::draw(3, 0, Stationary::Matern52, &[0.3], 2, 20, &mut frequencies).unwrap();
        let map = RandomFourier::new(2, 20, T::ONE, false, &frequencies[..]).unwrap();
        let mut stream = Stream::from_seed(22);
        let mut mean = vec![T::ZERO; N];
        let mut variance = vec![T::ZERO; N];
        let same = |a: T, b: T| a.to_f64().to_bits() == b.to_f64().to_bits();
        for n in 0..N {
            list.posteriors(&mut mean, &mut variance).unwrap();
            let of = |i: usize| list.posterior(i).unwrap();
            assert!((0..N).all(|i| same(of(i).mean, mean[i]) && same(of(i).variance, variance[i])));
            full.posteriors(&mut mean, &mut variance).unwrap();
            let of = |i: usize| full.posterior(i).unwrap();
            assert!((0..N).all(|i| same(of(i).mean, mean[i]) && same(of(i).variance, variance[i])));
            let mut weights = vec![T::ZERO; 20];
            let mut update = vec![T::ZERO; n];
            let mut scratch = vec![T::INFINITY; pathwise::batch_scratch_len(20, n)];
            let drawn = pathwise::PathwiseDraw::new(
                &rows,
                &map,
                &mut stream,
                &mut weights,
                &mut update,
                &mut [T::ZERO; N],
            )
            .unwrap();
            drawn
                .values(&rows, &map, &grid, &mut mean, &mut scratch)
                .unwrap();
            for (x, value) in grid.chunks(2).zip(&mean) {
                assert!(
                    same(drawn.value(&rows, &map, x, &mut scratch).unwrap(), *value),
                    "{n}"
                );
            }
            assert!(
                drawn
                    .values(&rows, &map, &grid[1..], &mut mean, &mut scratch)
                    .is_err()
            );
            if n > 0 {
                assert!(
                    drawn
                        .values(&rows, &map, &grid, &mut mean, &mut scratch[1..])
                        .is_err()
                );
            }
            let y = stream.unit();
            list.observe(n, y).unwrap();
            full.observe(n, y).unwrap();
            rows.observe(&grid[2 * n..2 * n + 2], y).unwrap();
        }
        assert!(list.posteriors(&mut mean[1..], &mut variance).is_err());
        assert!(full.posteriors(&mut mean, &mut variance[1..]).is_err());
    }
    check::<f32>();
    check::<f64>();
}

/// Rows of the factor of the kernel matrix of a few points: φ(x)·φ(x') = k(x, x') exactly, on these
/// points.
struct ExactFeatures {
    points: Vec<f64>,
    factor: Vec<f64>,
}

impl ExactFeatures {
    fn new<K: Kernel<f64>>(kernel: &K, points: &[f64]) -> Self {
        let mut factor = vec![0.0; packed_len(points.len())];
        for (i, x) in points.iter().enumerate() {
            kernel.covariances(&[*x], points, lower::row_mut(&mut factor, i));
        }
        lower::factor(&mut factor, points.len(), 0.0).unwrap();
        ExactFeatures {
            points: points.to_vec(),
            factor,
        }
    }
}

impl crate::features::FeatureMap<f64> for ExactFeatures {
    fn count(&self) -> usize {
        self.points.len()
    }
    fn dim(&self) -> usize {
        1
    }
    fn features(&self, x: &[f64], out: &mut [f64]) {
        let i = self.points.iter().position(|p| *p == x[0]).unwrap();
        out.fill(0.0);
        out[..i + 1].copy_from_slice(lower::row(&self.factor, i));
    }
}

#[test]
fn greedy_gain_is_the_determinant_and_below_its_bound() {
    let grid = points(12, 2, 7);
    let kernel = SquaredExponential::new(0.4, 1.0).unwrap();
    let mut gp = FiniteGp::new(&kernel, 0.3, 2, &grid, vec![0.0; finite::storage_len(12)]).unwrap();
    let mut gains = [0.0; 6];
    let mut indices = [0; 6];
    information_gain::greedy(&mut gp, &mut gains, &mut indices).unwrap();
    for t in 1..=6 {
        let mut matrix = vec![0.0; packed_len(t)];
        for i in 0..t {
            let x = &grid[2 * indices[i] as usize..][..2];
            let row = lower::row_mut(&mut matrix, i);
            for (j, out) in row.iter_mut().enumerate() {
                let other = &grid[2 * indices[j] as usize..][..2];
                *out = kernel.covariance(x, other) / 0.3 + if i == j { 1.0 } else { 0.0 };
            }
        }
        lower::factor(&mut matrix, t, 0.0).unwrap();
        assert!((gains[t - 1] - 0.5 * lower::ln_det(&matrix, t)).abs() < 1e-12);
    }
    assert!((information_gain::upper_bound(1.0) - 1.581_976_706_869_326).abs() < 1e-12);
    assert!(information_gain::RunGain::new(0.0).is_err());
}
