//! The density against the definition, its gradient against differences, and what standardised
//! means.

extern crate std;
use super::*;
use crate::surrogate::exact::{self, ExactGp};
use std::vec;
use std::vec::Vec;

const DIM: usize = 2;
const N: usize = 12;

/// A model of some rows, one of which stands for three observations.
fn model(shift: f64, factor: f64) -> Vec<f64> {
    let mut storage = vec![0.0; exact::storage_len(DIM, N)];
    let kernel = crate::kernel::Matern52::new(0.3, 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, 1e-9, DIM, N, &mut storage[..]).unwrap();
    for i in 0..N {
        let x = [i as f64 * 0.37 % 1.0, i as f64 * 0.71 % 1.0];
        let y = libm::sin(5.0 * x[0]) + 0.1 * x[1] + 0.05 * (i % 3) as f64;
        gp.observe(&x, shift + factor * y).unwrap();
        if i == 5 {
            gp.observe(&x, shift + factor * (y + 0.3)).unwrap();
            gp.observe(&x, shift + factor * (y - 0.4)).unwrap();
        }
    }
    assert!(gp.len() == N && gp.counts()[5] == 3.0 && gp.scatters()[5] > 0.0);
    storage
}

fn evaluated<R>(storage: &mut [f64], act: impl FnOnce(&mut Rows<'_, f64>) -> R) -> R {
    let mut values = [0.0; N];
    let mut ones = [0.0; N];
    let mut alpha = [0.0; N];
    act(&mut Rows {
        model: storage,
        dim: DIM,
        capacity: N,
        len: N,
        shape: Stationary::Matern52,
        categories: 0,
        floor: 1e-13,
        values: &mut values,
        ones: &mut ones,
        alpha: &mut alpha,
    })
}

#[test]
fn the_gradient_is_that_of_the_value() {
    let mut storage = model(0.0, 1.0);
    for theta in [[-1.0, 0.5, -4.0], [-2.0, -0.3, -7.0], [0.7, 1.9, -1.0]] {
        let mut gradient = [0.0; 3];
        evaluated(&mut storage, |rows| {
            rows.value(&theta).unwrap();
            rows.gradient(&theta, &mut gradient);
        });
        for i in 0..3 {
            let at = |by: f64, storage: &mut [f64]| {
                let mut moved = theta;
                moved[i] += by;
                evaluated(storage, |rows| rows.value(&moved).unwrap())
            };
            let expected = (at(1e-5, &mut storage) - at(-1e-5, &mut storage)) / 2e-5;
            assert!(
                (gradient[i] - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                "{i} {} {expected}",
                gradient[i]
            );
        }
    }
}

#[test]
fn mean_and_scale_are_the_best_ones_of_the_likelihood_of_all_observations() {
    // The value less the prior, against ln p of the observations at the profile of mean and scale
    // and at others.
    let mut storage = model(0.0, 1.0);
    let theta = [-1.0, 0.5, -3.0];
    let value = evaluated(&mut storage, |rows| rows.value(&theta).unwrap()) - ln_prior(&theta, DIM);
    let parts = split(&mut storage[..], DIM, N);
    let points = parts.inputs.to_vec();
    let targets = parts.targets.to_vec();
    let counts = parts.counts.to_vec();
    let scatters = parts.scatters.to_vec();
    let (_, deviation) = moments(&targets);
    let lengthscales = [libm::exp(-1.0), libm::exp(0.5)];
    let ln_p = |mean: f64, variance: f64| {
        let kernel = crate::kernel::StationaryKernel::ard_with_shape(
            Stationary::Matern52,
            lengthscales,
            variance,
        )
        .unwrap();
        let y: Vec<f64> = targets
            .iter()
            .map(|y| (y - moments(&targets).0) / deviation - mean)
            .collect();
        let scatters: Vec<f64> = scatters.iter().map(|s| s / deviation / deviation).collect();
        let data = crate::surrogate::fit::Observations {
            points: &points,
            y: &y,
            counts: &counts,
            scatters: &scatters,
        };
        let mut scratch = [0.0; crate::surrogate::fit::scratch_len(N)];
        crate::surrogate::fit::log_marginal_likelihood(
            &kernel,
            variance * libm::exp(-3.0),
            &data,
            &mut [],
            &mut scratch,
        )
        .unwrap()
    };
    let mut best = f64::NEG_INFINITY;
    for i in 0..400 {
        for j in 0..400 {
            best = best.max(ln_p(f64::from(i) * 0.01 - 2.0, 0.02 * f64::from(j + 1)));
        }
    }
    // Up to constants of n: N/2 (1 + ln 2π).
    let observations = 14.0;
    let constant = 0.5 * observations * (1.0 + 1.837_877_066_409_345_3);
    assert!(
        (value - constant - best).abs() < 2e-3,
        "{} {best}",
        value - constant
    );
}

#[test]
fn adding_and_multiplying_changes_nothing() {
    let theta = [-1.0, 0.5, -4.0];
    let plain = evaluated(&mut model(0.0, 1.0), |rows| rows.value(&theta).unwrap());
    let moved = evaluated(&mut model(1e4, -250.0), |rows| rows.value(&theta).unwrap());
    assert!((plain - moved).abs() < 1e-6, "{plain} {moved}");
    // Negative control: another lengthscale is another value.
    let other = evaluated(&mut model(0.0, 1.0), |rows| {
        rows.value(&[-1.1, 0.5, -4.0]).unwrap()
    });
    assert!((plain - other).abs() > 1e-3);
}
