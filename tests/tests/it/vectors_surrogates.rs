//! Known answers for kernels and posteriors (`tests/vectors/gp_posterior.json`, computed with 60
//! decimal digits).

use serde_json::Value;
use sordino_core::kernel::Kernel;
use sordino_core::linalg::{dot, lower};
use sordino_core::math::Scalar;
use sordino_core::surrogate::exact::{self, WhenRepeated};
use sordino_core::surrogate::{ExactGp, SurrogateError};
use sordino_tests::{cases, kernel, number, numbers, rows, vectors};

fn likelihood(case: &Value) -> f64 {
    number(&case["log_marginal_likelihood"])
}

/// Largest absolute errors of mean, covariance and likelihood; `None` if the matrix is
/// singular at the working precision and the model said so.
fn errors<T: Scalar>(case: &Value) -> Option<(f64, f64, f64)> {
    let noise = T::from_f64(number(&case["noise_variance"]));
    let list = |row: &Vec<f64>| row.iter().map(|x| T::from_f64(*x)).collect::<Vec<T>>();
    let x = rows(&case["X"]);
    let y = numbers(&case["y"]);
    let tests: Vec<Vec<T>> = rows(&case["Xs"]).iter().map(list).collect();
    let n = y.len();
    let dim = tests[0].len();
    let kernel = kernel::<T>(case);
    let storage = vec![T::ZERO; exact::storage_len(dim, n)];
    let mut gp = ExactGp::new(kernel, noise, dim, n, storage)
        .unwrap()
        .when_repeated(WhenRepeated::Refuse);
    for (x, y) in x.iter().zip(&y) {
        match gp.observe(&list(x), T::from_f64(*y)) {
            Ok(_) => {}
            Err(SurrogateError::Singular(_)) => return None,
            Err(other) => panic!("{other}"),
        }
    }
    let mean = numbers(&case["mean"]);
    let var = numbers(&case["var"]);
    let cov = rows(&case["cov"]);
    assert_eq!(
        (x.len(), mean.len(), var.len(), cov.len()),
        (n, tests.len(), tests.len(), tests.len())
    );
    let columns: Vec<Vec<T>> = tests
        .iter()
        .map(|test| {
            let mut v = vec![T::ZERO; n];
            kernel.covariances(test, gp.inputs(), &mut v);
            lower::solve(gp.factor(), &mut v);
            v
        })
        .collect();
    let mut mean_error = 0.0f64;
    let mut cov_error = 0.0f64;
    for (i, test) in tests.iter().enumerate() {
        let found = gp.posterior(test).unwrap();
        mean_error = mean_error.max((found.mean.to_f64() - mean[i]).abs());
        cov_error = cov_error.max((found.variance.to_f64() - var[i]).abs());
        for (j, other) in tests.iter().enumerate() {
            let c = kernel.covariance(test, other) - dot(&columns[i], &columns[j]);
            cov_error = cov_error.max((c.to_f64() - cov[i][j]).abs());
        }
    }
    let likelihood_error = (gp.log_marginal_likelihood().to_f64() - likelihood(case)).abs();
    Some((mean_error, cov_error, likelihood_error))
}

#[test]
fn vectors_gp_posterior() {
    let file = vectors("gp_posterior.json");
    for case in cases(&file, "cases") {
        let name = case["name"].as_str().unwrap();
        let tolerance = if name.contains("near_duplicates") {
            1e-9
        } else {
            1e-10
        };
        let (mean, cov, error) = errors::<f64>(case).unwrap();
        let close = error <= 1e-8 * likelihood(case).abs();
        assert!(
            mean < tolerance && cov < tolerance && close,
            "{name}: {mean:e} {cov:e} {error:e}"
        );
    }
}

/// Single precision: errors grow with the condition of K + σ²I, at most n·(prior variance)/(noise
/// variance) + 1; those of the covariance in units of the prior variance, those of the mean of the
/// largest value, those of the likelihood of the sum of squares that it contains.
#[test]
fn vectors_gp_posterior_in_single_precision() {
    let file = vectors("gp_posterior.json");
    for case in cases(&file, "cases") {
        let name = case["name"].as_str().unwrap();
        let y = numbers(&case["y"]);
        let variance = number(&case["variance"]);
        let noise = number(&case["noise_variance"]);
        let n = y.len() as f64;
        let bound = 2.0 * f64::from(f32::EPSILON) * (1.0 + n * variance / noise);
        let Some((mean, cov, error)) = errors::<f32>(case) else {
            let rounding = 2.0 * (n + 8.0) * f64::from(f32::EPSILON) * variance;
            assert!(noise < rounding, "{name}: refused without need");
            continue;
        };
        let largest = y.iter().fold(0.0f64, |largest, y| largest.max(y.abs()));
        let squares = y.iter().map(|y| y * y).sum::<f64>() / noise;
        let within = mean <= bound * largest && cov <= bound * variance;
        let likely = error <= bound * (n + squares + likelihood(case).abs());
        assert!(
            within && likely,
            "{name}: {mean:e} {cov:e} {error:e} {bound:e}"
        );
    }
}
