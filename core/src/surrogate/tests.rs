//! Tests across the engines: one posterior, whatever computes it.

extern crate std;

use super::*;
use crate::kernel::{Kernel, SquaredExponential, Stationary, StationaryKernel};
use crate::linalg::{dot, lower, packed_len};
use crate::random::{Stream, normal};
use std::vec;
use std::vec::Vec;

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
        let mut rows = ExactGp::new(kernel, 0.01, 2, 60, vec![0.0; exact::storage_len(2, 60)]).unwrap();
        let storage = vec![0.0; candidates::storage_len(N, 60)];
        let mut list = CandidateGp::new(kernel, 0.01, 2, &grid[..], 60, storage).unwrap();
        let mut full = FiniteGp::new(&kernel, 0.01, 2, &grid, vec![0.0; finite::storage_len(N)]).unwrap();
        for t in 0..60 {
            // Every fifth is a repeat.
            let i = if t % 5 == 4 { 7 } else { stream.below(N as u32) as usize };
            let y = stream.unit::<f64>() - 0.3;
            rows.observe(&grid[2 * i..2 * i + 2], y).unwrap();
            list.observe(i, y).unwrap();
            full.observe(i, y).unwrap();
        }
        let mut covariances = vec![0.0; N];
        list.covariances(7, &mut covariances).unwrap();
        let (mut mean, mut packed) = (vec![0.0; N], vec![0.0; packed_len(N)]);
        joint::posterior_covariance(&rows, &grid, &mut mean, &mut packed, &mut vec![0.0; N * 60]).unwrap();
        for i in 0..N {
            let exact = rows.posterior(&grid[2 * i..2 * i + 2]).unwrap();
            for other in [list.posterior(i).unwrap(), full.posterior(i).unwrap()] {
                assert!((exact.mean - other.mean).abs() < 1e-11 && (exact.variance - other.variance).abs() < 1e-11);
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
    let mut list = CandidateGp::new(kernel, 0.0, 1, grid, 3, vec![0.0; candidates::storage_len(3, 3)]).unwrap();
    let mut full = FiniteGp::new(&kernel, 0.0, 1, &grid, vec![0.0; finite::storage_len(3)]).unwrap();
    list.observe(1, 2.0).unwrap();
    full.observe(1, 2.0).unwrap();
    let (before, before_full) = (list.mean().to_vec(), full.mean().to_vec());
    assert!(matches!(list.observe(1, 1.0), Err(SurrogateError::Singular(_))));
    assert!(matches!(full.observe(1, 1.0), Err(SurrogateError::Singular(_))));
    for y in [f64::NAN, f64::INFINITY, -1e308] {
        assert!(matches!(list.observe(0, y), Err(SurrogateError::NonFinite { .. })) || y == -1e308);
        assert!(full.observe(0, y).is_err() || y == -1e308);
        if y == -1e308 {
            assert!(list.mean().iter().chain(full.mean()).all(|m| f64::is_finite(*m)));
        } else {
            assert_eq!((list.mean(), full.mean()), (&before[..], &before_full[..]));
        }
    }
    assert_eq!(list.observe(3, 0.0), Err(SurrogateError::Index { index: 3, len: 3 }));
    assert!(full.observe(3, 0.0).is_err() && list.posterior(3).is_err() && full.posterior(3).is_err());
    assert!(CandidateGp::new(kernel, -1.0, 1, grid, 3, vec![0.0; 99]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 2, grid, 3, vec![0.0; 99]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 1, grid, 3, vec![0.0; 14]).is_err());
    assert!(CandidateGp::new(kernel, 0.1, 1, [f64::NAN], 3, vec![0.0; 99]).is_err());
    assert!(FiniteGp::new(&kernel, 0.1, 1, &grid, vec![0.0; 11]).is_err());
    assert!(FiniteGp::with_prior(0.1, 1, vec![0.0; 3], |c| c[0] = f64::NAN).is_err());
}

/// Largest relative error of a finite posterior's variances in `f32` after `steps` observations, against `f64`.
fn drift(noise: f64, steps: u32) -> f64 {
    const N: usize = 100;
    let grid = points(N, 2, 3);
    let single: Vec<f32> = grid.iter().map(|x| *x as f32).collect();
    let (wide, narrow) = (SquaredExponential::new(0.2, 1.0).unwrap(), SquaredExponential::new(0.2f32, 1.0).unwrap());
    let mut a = FiniteGp::new(&wide, noise, 2, &grid, vec![0.0; finite::storage_len(N)]).unwrap();
    let mut b = FiniteGp::new(&narrow, noise as f32, 2, &single, vec![0.0; finite::storage_len(N)]).unwrap();
    let mut stream = Stream::from_seed(4);
    for _ in 0..steps {
        let i = stream.below(N as u32) as usize;
        a.observe(i, 0.5).unwrap();
        let _ = b.observe(i, 0.5);
    }
    (0..N).fold(0.0, |worst: f64, i| {
        let (x, y) = (a.posterior(i).unwrap().variance, f64::from(b.posterior(i).unwrap().variance));
        worst.max((y - x).abs() / x)
    })
}

#[test]
fn single_precision_holds_at_ordinary_noise_and_is_known_to_fail_at_low_noise() {
    assert!(drift(1e-2, 1000) < 2e-3, "{}", drift(1e-2, 1000));
    assert!(drift(1e-6, 1000) > 1e-2, "the warning in the module's documentation would be out of date");
}

#[test]
fn joint_draws_at_a_thousand_candidates_succeed() {
    for n in [50, 200] {
        let data = points(n, 2, 5);
        let kernel = SquaredExponential::new(0.2, 1.0).unwrap();
        let mut gp = ExactGp::new(kernel, 0.01, 2, n, vec![0.0; exact::storage_len(2, n)]).unwrap();
        for x in data.chunks(2) {
            gp.observe(x, libm::sin(6.0 * x[0]) * libm::cos(5.0 * x[1])).unwrap();
        }
        let m = 1000;
        let grid = points(m, 2, 9);
        let (mut factor, mut scratch, mut out) = (vec![0.0; packed_len(m)], vec![0.0; m * n + m], vec![0.0; m]);
        let jitter =
            joint::draw_exact(&gp, &grid, &mut Stream::from_seed(6), &mut factor, &mut scratch, &mut out).unwrap();
        assert!(jitter.relative <= 1e-9 && jitter.tries >= 2, "{jitter:?}");
        assert!(out.iter().all(|f| f64::is_finite(*f)));
    }
}

/// z-scores of mean and covariance of draws against the exact posterior at three points; 4,000 draws.
fn moments(draw: &mut dyn FnMut(&mut Stream, &mut [f64; 3]), mean: &[f64], packed: &[f64]) -> f64 {
    let draws = 4000.0;
    let mut stream = Stream::from_seed(31);
    let (mut sum, mut products) = ([0.0; 3], [0.0; 6]);
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
    let (mut mean, mut packed) = ([0.0; 3], [0.0; 6]);
    joint::posterior_covariance(&gp, &tests, &mut mean, &mut packed, &mut [0.0; 12]).unwrap();
    for wrong in [1.0, 1.08] {
        let (mut factor, mut scratch) = ([0.0; 6], [0.0; 15]);
        let worst = moments(
            &mut |stream, out| {
                joint::draw_exact(&gp, &tests, stream, &mut factor, &mut scratch, out).unwrap();
                out.iter_mut().zip(mean).for_each(|(f, mean)| *f = mean + wrong * (*f - mean));
            },
            &mean,
            &packed,
        );
        // Negative control: 8 % too wide is 17 % too much variance, 7 standard errors.
        assert_eq!(worst < LIMIT, wrong == 1.0, "joint {worst}");
    }
    // A prior whose features are exact: then the paths have the exact law, too.
    let grid = [0.1, 0.15, 0.6, 0.95, 0.05, 0.4, 0.7];
    let prior = ExactFeatures::new(&kernel, &grid);
    for wrong in [1.0, 1.08] {
        let worst = moments(
            &mut |stream, out| {
                let (mut weights, mut update, mut scratch) = ([0.0; 7], [0.0; 4], [0.0; 7]);
                let draw =
                    pathwise::PathwiseDraw::new(&gp, &prior, stream, &mut weights, &mut update, &mut scratch).unwrap();
                for ((x, mean), out) in tests.iter().zip(mean).zip(out) {
                    *out = mean + wrong * (draw.value(&gp, &prior, &[*x], &mut scratch).unwrap() - mean);
                }
            },
            &mean,
            &packed,
        );
        assert_eq!(worst < LIMIT, wrong == 1.0, "pathwise {worst}");
    }
}

/// Rows of the factor of the kernel matrix of a few points: φ(x)·φ(x') = k(x, x') exactly, on these points.
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
        ExactFeatures { points: points.to_vec(), factor }
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
    let (mut gains, mut indices) = ([0.0; 6], [0; 6]);
    information_gain::greedy(&mut gp, &mut gains, &mut indices).unwrap();
    for t in 1..=6 {
        let mut matrix = vec![0.0; packed_len(t)];
        for i in 0..t {
            let (x, row) = (&grid[2 * indices[i] as usize..][..2], lower::row_mut(&mut matrix, i));
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

#[test]
fn likelihood_gradient_agrees_with_finite_differences() {
    let x = points(15, 2, 8);
    let mut y = vec![0.0; 15];
    normal::fill(&mut Stream::from_seed(9), &mut y);
    let mut scratch = vec![0.0; fit::scratch_len(15)];
    for shape in Stationary::ALL {
        let parameters = [0.3, 0.6, 1.3, 0.2];
        let mut value = |p: &[f64; 4], gradient: &mut [f64]| {
            let kernel = StationaryKernel::ard_with_shape(shape, &p[..2], p[2]).unwrap();
            fit::log_marginal_likelihood(&kernel, p[3], &x, &y, gradient, &mut scratch).unwrap()
        };
        let mut gradient = [0.0; 4];
        let at = value(&parameters, &mut gradient);
        for j in 0..4 {
            let (mut up, mut down) = (parameters, parameters);
            up[j] *= libm::exp(1e-5);
            down[j] *= libm::exp(-1e-5);
            let slope = (value(&up, &mut [0.0; 4]) - value(&down, &mut [0.0; 4])) / 2e-5;
            assert!((slope - gradient[j]).abs() < 1e-6 * (1.0 + slope.abs()), "{shape:?} {j}: {slope} {}", gradient[j]);
        }
        let kernel = StationaryKernel::ard_with_shape(shape, &parameters[..2], 1.3).unwrap();
        let mut gp = ExactGp::new(kernel, 0.2, 2, 15, vec![0.0; exact::storage_len(2, 15)]).unwrap();
        x.chunks(2).zip(&y).for_each(|(x, y)| {
            gp.observe(x, *y).unwrap();
        });
        assert!((gp.log_marginal_likelihood() - at).abs() < 1e-11);
    }
}

#[test]
fn a_fit_recovers_what_made_the_data_and_is_deterministic() {
    // 80 values of a process with lengthscales 0.15 and 0.8, s² = 2, σ² = 0.01.
    let (n, truth) = (80, [0.15, 0.8, 2.0, 0.01]);
    let x = points(n, 2, 10);
    let kernel = StationaryKernel::ard_with_shape(Stationary::Matern52, &truth[..2], truth[2]).unwrap();
    let mut factor = vec![0.0; packed_len(n)];
    for (i, point) in x.chunks(2).enumerate() {
        let row = lower::row_mut(&mut factor, i);
        kernel.covariances(point, &x, row);
        row[i] += truth[3];
    }
    lower::factor(&mut factor, n, 0.0).unwrap();
    let mut y = vec![0.0; n];
    joint::draw_with_factor(&mut Stream::from_seed(11), &[], &factor, &mut y);
    let bounds = [(0.02, 5.0), (0.02, 5.0), (0.05, 20.0), (1e-6, 1.0)];
    let config = fit::FitConfig { bounds: &bounds, starts: 4, evaluations_per_start: 60 };
    let mut scratch = vec![0.0; fit::scratch_len(n)];
    let mut run = |first: [f64; 4]| {
        let mut p = first;
        let make = |p: &[f64]| StationaryKernel::ard_with_shape(Stationary::Matern52, [p[0], p[1]], p[2]).ok();
        let found = fit::maximize(&config, &mut p, &x, &y, &mut scratch, make).unwrap();
        (found, p)
    };
    let (found, p) = run([1.0, 1.0, 1.0, 0.1]);
    assert!(found.log_marginal_likelihood > gradient_free(&x, &y, &truth), "{found:?}");
    for (found, truth) in p.iter().zip(truth) {
        assert!((found / truth).abs() < 2.5 && (truth / found).abs() < 2.5, "{p:?}");
    }
    assert_eq!(run([1.0, 1.0, 1.0, 0.1]), (found, p));
    // From anywhere, the same optimum to the search's own accuracy.
    let (other, q) = run([0.03, 3.0, 0.3, 1e-5]);
    assert!((other.log_marginal_likelihood - found.log_marginal_likelihood).abs() < 1e-3, "{p:?} {q:?}");
    // Bounds hold; nonsense is refused.
    let tight = fit::FitConfig { bounds: &[(0.5, 0.6), (0.5, 0.6), (1.0, 1.0), (0.1, 0.1)], ..config };
    let mut p = [1.0; 4];
    let make = |p: &[f64]| StationaryKernel::ard_with_shape(Stationary::Matern52, [p[0], p[1]], p[2]).ok();
    let found = fit::maximize(&tight, &mut p, &x, &y, &mut vec![0.0; fit::scratch_len(n)], make).unwrap();
    assert!(p[0] >= 0.5 && p[0] <= 0.6 && p[2] == 1.0 && p[3] == 0.1 && found.at_bound >= 2);
    let broken = fit::FitConfig { bounds: &[(0.5, f64::NAN); 4], ..config };
    assert!(fit::maximize(&broken, &mut p, &x, &y, &mut vec![0.0; fit::scratch_len(n)], make).is_err());
}

fn gradient_free(x: &[f64], y: &[f64], p: &[f64; 4]) -> f64 {
    let kernel = StationaryKernel::ard_with_shape(Stationary::Matern52, &p[..2], p[2]).unwrap();
    let mut scratch = vec![0.0; fit::scratch_len(y.len())];
    fit::log_marginal_likelihood(&kernel, p[3], x, y, &mut [0.0; 4], &mut scratch).unwrap()
}

#[test]
fn random_kernels_sizes_and_data_give_no_nan_and_no_panic() {
    let mut stream = Stream::from_seed(12);
    let mut refused = 0;
    for case in 0..400u32 {
        let dim = 1 + stream.below(3) as usize;
        let n = stream.below(24) as usize;
        let ten = |stream: &mut Stream, low: f64, high: f64| {
            crate::math::pow(10.0, low + stream.unit::<f64>() * (high - low))
        };
        let shape = Stationary::ALL[stream.below(4) as usize];
        let (lengthscale, signal) = (ten(&mut stream, -3.0, 3.0), ten(&mut stream, -6.0, 6.0));
        let noise = if case % 4 == 0 { 0.0 } else { ten(&mut stream, -20.0, 2.0) };
        let scale = ten(&mut stream, -6.0, 6.0);
        let kernel = StationaryKernel::with_shape(shape, lengthscale, signal).unwrap();
        let mut gp = ExactGp::new(kernel, noise, dim, n, vec![0.0; exact::storage_len(dim, n)]).unwrap();
        let (mut seen, mut grid) = (Vec::new(), Vec::new());
        for i in 0..n {
            let mut x: Vec<f64> = (0..dim).map(|_| scale * stream.unit::<f64>()).collect();
            if i % 3 == 2 {
                // A repeat, exact or nearly.
                x = grid[..dim].to_vec();
                x[0] *= 1.0 + f64::from(i as u32 % 2) * 1e-12;
            }
            grid.extend_from_slice(&x);
            let y = ten(&mut stream, -6.0, 6.0);
            match gp.observe(&x, y) {
                Ok(_) => seen.push(y),
                Err(SurrogateError::Singular(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            if case % 7 == 0 && i % 5 == 4 && !gp.is_empty() {
                gp.remove(gp.len() / 2).unwrap();
            }
        }
        let tests = points(5, dim, u64::from(case));
        let (mut mean, mut variance) = ([0.0; 5], [0.0; 5]);
        gp.posteriors(&tests, &mut mean, &mut variance, &mut vec![0.0; exact::batch_scratch_len(gp.len())]).unwrap();
        for (x, (mean, variance)) in tests.chunks(dim).zip(mean.iter().zip(variance)) {
            let found = gp.posterior(x).unwrap();
            assert!(found.mean.is_finite() && found.variance >= 0.0 && found.variance <= signal * 1.000_001);
            assert_eq!((found.mean.to_bits(), found.variance.to_bits()), (mean.to_bits(), variance.to_bits()));
        }
        assert!(gp.log_marginal_likelihood().is_finite());
        if !grid.is_empty() {
            let count = grid.len() / dim;
            let mut list =
                CandidateGp::new(kernel, noise, dim, &grid[..], n, vec![0.0; candidates::storage_len(count, n)])
                    .unwrap();
            let mut full = FiniteGp::new(&kernel, noise, dim, &grid, vec![0.0; finite::storage_len(count)]).unwrap();
            for _ in 0..n {
                let i = stream.below(count as u32) as usize;
                let _ = list.observe(i, 1.0);
                let _ = full.observe(i, 1.0);
            }
            let all = list.mean().iter().chain(list.variance()).chain(full.mean()).chain(full.covariance());
            assert!(all.into_iter().all(|x| f64::is_finite(*x)), "case {case}");
            let (mut factor, mut out) = (vec![0.0; packed_len(count)], vec![0.0; count]);
            match joint::draw_finite(&full, &mut stream, &mut factor, &mut out) {
                Ok(_) => assert!(out.iter().all(|x| f64::is_finite(*x))),
                Err(SurrogateError::Singular(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        let _ = dot(&mean, &variance);
    }
    assert!(refused < 1500, "{refused}");
}
