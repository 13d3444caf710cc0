//! Likelihood, gradient, repeats, search.

extern crate std;

use super::*;
use crate::kernel::{Kernel, SquaredExponential, Stationary, StationaryKernel};
use crate::random::{Stream, normal};
use crate::surrogate::{ExactGp, exact, joint};
use std::vec;
use std::vec::Vec;

fn points(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::from_seed(seed);
    (0..n * dim).map(|_| stream.unit()).collect()
}

#[test]
fn likelihood_gradient_agrees_with_finite_differences() {
    let x = points(15, 2, 8);
    let mut y = vec![0.0; 15];
    normal::fill(&mut Stream::from_seed(9), &mut y);
    let mut scratch = vec![0.0; scratch_len(15)];
    for shape in Stationary::ALL {
        let parameters = [0.3, 0.6, 1.3, 0.2];
        let mut value = |p: &[f64; 4], gradient: &mut [f64]| {
            let kernel = StationaryKernel::ard_with_shape(shape, &p[..2], p[2]).unwrap();
            log_marginal_likelihood(
                &kernel,
                p[3],
                &Observations::single(&x, &y),
                gradient,
                &mut scratch,
            )
            .unwrap()
        };
        let mut gradient = [0.0; 4];
        let at = value(&parameters, &mut gradient);
        for j in 0..4 {
            let mut up = parameters;
            let mut down = parameters;
            up[j] *= libm::exp(1e-5);
            down[j] *= libm::exp(-1e-5);
            let slope = (value(&up, &mut [0.0; 4]) - value(&down, &mut [0.0; 4])) / 2e-5;
            assert!(
                (slope - gradient[j]).abs() < 1e-6 * (1.0 + slope.abs()),
                "{shape:?} {j}: {slope} {}",
                gradient[j]
            );
        }
        let kernel = StationaryKernel::ard_with_shape(shape, &parameters[..2], 1.3).unwrap();
        let mut gp =
            ExactGp::new(kernel, 0.2, 2, 15, vec![0.0; exact::storage_len(2, 15)]).unwrap();
        x.chunks(2).zip(&y).for_each(|(x, y)| {
            gp.observe(x, *y).unwrap();
        });
        assert!((gp.log_marginal_likelihood() - at).abs() < 1e-11);
    }
}

#[test]
fn merged_repeats_have_the_likelihood_and_the_gradient_of_single_ones() {
    let points = [0.1, 0.4, 0.45, 0.9];
    let noise = 0.03;
    let kernel = StationaryKernel::with_shape(Stationary::Matern32, 0.3, 1.4).unwrap();
    let mut stream = Stream::from_seed(14);
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut means = [0.0; 4];
    let mut counts = [0.0; 4];
    let mut scatters = [0.0; 4];
    for (i, repeats) in [3, 1, 5, 2].into_iter().enumerate() {
        let mut values = vec![0.0; repeats];
        normal::fill(&mut stream, &mut values);
        let mean = values.iter().sum::<f64>() / repeats as f64;
        (means[i], counts[i]) = (mean, repeats as f64);
        scatters[i] = values.iter().map(|y| (y - mean) * (y - mean)).sum();
        x.extend(vec![points[i]; repeats]);
        y.extend(values);
    }
    let merged = Observations {
        points: &points,
        y: &means,
        counts: &counts,
        scatters: &scatters,
    };
    let evaluate = |data: &Observations<'_, f64>| {
        let mut gradient = [0.0; 3];
        let mut scratch = vec![0.0; scratch_len(11)];
        let value =
            log_marginal_likelihood(&kernel, noise, data, &mut gradient, &mut scratch).unwrap();
        [value, gradient[0], gradient[1], gradient[2]]
    };
    let expected = evaluate(&Observations::single(&x, &y));
    let found = evaluate(&merged);
    let close = |a: f64, b: f64| Scalar::abs(a - b) < 1e-10 * (1.0 + Scalar::abs(b));
    assert!(
        found.iter().zip(expected).all(|(a, b)| close(*a, b)),
        "{found:?} {expected:?}"
    );
    // Negative control: without scatters, or counted once, it is another number.
    for fewer in [
        Observations {
            scatters: &[],
            ..merged
        },
        Observations::single(&points, &means),
    ] {
        assert!(!close(evaluate(&fewer)[0], expected[0]));
    }
    for (count, scatter) in [
        (0.5, 0.0),
        (f64::NAN, 0.0),
        (1.0, -1.0),
        (2.0, f64::INFINITY),
    ] {
        let wrong = Observations {
            counts: &[count],
            scatters: &[scatter],
            ..merged
        };
        let mut scratch = vec![0.0; scratch_len(4)];
        assert!(
            log_marginal_likelihood(&kernel, noise, &wrong, &mut [0.0; 3], &mut scratch).is_err()
        );
    }
}

#[test]
fn a_fit_learns_the_noise_from_repeats_that_were_merged() {
    // Assumed noise so small that repeats are merged; the values scatter by 0.1.
    let kernel = SquaredExponential::new(0.3, 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, 1e-12, 1, 8, vec![0.0; exact::storage_len(1, 8)]).unwrap();
    let mut stream = Stream::from_seed(15);
    for i in 0..60 {
        let x = f64::from(i % 6) / 5.0;
        gp.observe(
            &[x],
            libm::sin(4.0 * x) + 0.1 * normal::draw::<f64>(&mut stream),
        )
        .unwrap();
    }
    assert_eq!(gp.len(), 6);
    let bounds = [(0.05, 2.0), (0.1, 10.0), (1e-8, 1.0)];
    let config = FitConfig {
        bounds: &bounds,
        starts: 3,
        evaluations_per_start: 60,
    };
    let run = |data: &Observations<'_, f64>| {
        let mut p = [0.3, 1.0, 1e-4];
        let make = |p: &[f64]| SquaredExponential::new(p[0], p[1]).ok();
        maximize(&config, &mut p, data, &mut vec![0.0; scratch_len(6)], make).unwrap();
        p[2]
    };
    let found = run(&gp.observations());
    assert!(found > 0.006 && found < 0.016, "{found}");
    // Control: the means alone do not say it.
    let alone = run(&Observations::single(gp.inputs(), gp.targets()));
    assert!(!(alone > 0.006 && alone < 0.016), "{alone}");
}

#[test]
fn a_fit_recovers_what_made_the_data_and_is_deterministic() {
    // 80 values of a process with lengthscales 0.15 and 0.8, s² = 2, σ² = 0.01.
    let n = 80;
    let truth = [0.15, 0.8, 2.0, 0.01];
    let x = points(n, 2, 10);
    let kernel =
        StationaryKernel::ard_with_shape(Stationary::Matern52, &truth[..2], truth[2]).unwrap();
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
    let config = FitConfig {
        bounds: &bounds,
        starts: 4,
        evaluations_per_start: 60,
    };
    let mut scratch = vec![0.0; scratch_len(n)];
    let data = Observations::single(&x, &y);
    let mut run = |first: [f64; 4]| {
        let mut p = first;
        let make = |p: &[f64]| {
            StationaryKernel::ard_with_shape(Stationary::Matern52, [p[0], p[1]], p[2]).ok()
        };
        let found = maximize(&config, &mut p, &data, &mut scratch, make).unwrap();
        (found, p)
    };
    let (found, p) = run([1.0, 1.0, 1.0, 0.1]);
    assert!(
        found.log_marginal_likelihood > gradient_free(&x, &y, &truth),
        "{found:?}"
    );
    for (found, truth) in p.iter().zip(truth) {
        assert!(
            (found / truth).abs() < 2.5 && (truth / found).abs() < 2.5,
            "{p:?}"
        );
    }
    assert_eq!(run([1.0, 1.0, 1.0, 0.1]), (found, p));
    // From anywhere, the same optimum to the search's own accuracy.
    let (other, q) = run([0.03, 3.0, 0.3, 1e-5]);
    assert!(
        (other.log_marginal_likelihood - found.log_marginal_likelihood).abs() < 1e-3,
        "{p:?} {q:?}"
    );
    // Bounds hold; nonsense is refused.
    let tight = FitConfig {
        bounds: &[(0.5, 0.6), (0.5, 0.6), (1.0, 1.0), (0.1, 0.1)],
        ..config
    };
    let mut p = [1.0; 4];
    let make =
        |p: &[f64]| StationaryKernel::ard_with_shape(Stationary::Matern52, [p[0], p[1]], p[2]).ok();
    let found = maximize(&tight, &mut p, &data, &mut vec![0.0; scratch_len(n)], make).unwrap();
    assert!(p[0] >= 0.5 && p[0] <= 0.6 && p[2] == 1.0 && p[3] == 0.1 && found.at_bound >= 2);
    let broken = FitConfig {
        bounds: &[(0.5, f64::NAN); 4],
        ..config
    };
    assert!(maximize(&broken, &mut p, &data, &mut vec![0.0; scratch_len(n)], make).is_err());
}

fn gradient_free(x: &[f64], y: &[f64], p: &[f64; 4]) -> f64 {
    let kernel = StationaryKernel::ard_with_shape(Stationary::Matern52, &p[..2], p[2]).unwrap();
    let mut scratch = vec![0.0; scratch_len(y.len())];
    log_marginal_likelihood(
        &kernel,
        p[3],
        &Observations::single(x, y),
        &mut [0.0; 4],
        &mut scratch,
    )
    .unwrap()
}

#[test]
fn the_likelihood_on_the_floor_has_its_gradient() {
    let x = points(12, 1, 18);
    let mut y = vec![0.0; 12];
    let mut scratch = vec![0.0; scratch_len(12)];
    normal::fill(&mut Stream::from_seed(19), &mut y);
    // The row of 40 is on the floor of 0.01 times the signal, the others are above it.
    let mut counts = vec![1.0; 12];
    counts[5] = 40.0;
    let data = Observations {
        points: &x,
        y: &y,
        counts: &counts,
        scatters: &[],
    };
    let mut value = |p: &[f64; 3], floor: f64, gradient: &mut [f64]| {
        let kernel = StationaryKernel::with_shape(Stationary::Matern52, p[0], p[1]).unwrap();
        likelihood(&kernel, p[2], floor, &data, gradient, &mut scratch).unwrap()
    };
    let parameters = [0.3, 1.3, 0.05];
    let mut gradient = [0.0; 3];
    let at = value(&parameters, 0.01, &mut gradient);
    for j in 0..3 {
        let mut up = parameters;
        let mut down = parameters;
        up[j] *= libm::exp(1e-5);
        down[j] *= libm::exp(-1e-5);
        let slope = (value(&up, 0.01, &mut [0.0; 3]) - value(&down, 0.01, &mut [0.0; 3])) / 2e-5;
        assert!(
            (slope - gradient[j]).abs() < 1e-6 * (1.0 + slope.abs()),
            "{j}: {slope} {}",
            gradient[j]
        );
    }
    // Negative control: without the floor it is another number and another gradient.
    let mut other = [0.0; 3];
    assert!(
        (value(&parameters, 0.0, &mut other) - at).abs() > 1e-3
            && (other[1] - gradient[1]).abs() > 1e-3
    );
}

#[test]
fn single_precision_elements_are_the_double_ones_rounded() {
    for axis in 0..PARAMETERS_MAX {
        for index in 0..20_000 {
            let single = halton::<f32>(index, axis);
            let double = halton::<f64>(index, axis);
            assert_eq!(
                single.to_bits(),
                (double as f32).to_bits(),
                "{index} {axis}"
            );
        }
    }
    // Beyond 2²⁴ both roundings and the sum are off by a few units.
    for index in [1 << 25, u32::MAX / 3, u32::MAX] {
        assert!((f64::from(halton::<f32>(index, 1)) - halton::<f64>(index, 1)).abs() < 1e-6);
    }
}
